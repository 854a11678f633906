"""Filters: blur, motion, sharpening, resampling and median, fitted to the change and made again."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image
from scipy import fft, ndimage

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from isca_gui.core.comparison.pair import Floats, Pair

    Array = NDArray[np.float64]
    Transfer = Callable[[int, float], Floats]

_SPOT = 160
MEDIAN_SIDES = (3, 5, 7, 9, 11)
# The rest is small at the very scale only, so none between is left out.
_SCALES = np.arange(0.1, 0.97, 0.03)
_FINER = np.arange(-0.06, 0.061, 0.01)
# How a picture is made smaller and larger again.
_RESAMPLING = (
    (Image.Resampling.BICUBIC, Image.Resampling.BICUBIC),
    (Image.Resampling.LANCZOS, Image.Resampling.LANCZOS),
    (Image.Resampling.BILINEAR, Image.Resampling.BILINEAR),
    (Image.Resampling.BOX, Image.Resampling.BICUBIC),
    (Image.Resampling.BOX, Image.Resampling.NEAREST),
    (Image.Resampling.BILINEAR, Image.Resampling.NEAREST),
    (Image.Resampling.NEAREST, Image.Resampling.NEAREST),
)
_FIT_SIDE = 768


class Fit(NamedTuple):
    """A filter that was fitted: its parameters, and what applies it to one channel."""

    parameters: dict[str, float]
    make: Callable[[Floats], Floats]


def median_features(pair: Pair) -> dict[str, float]:
    """Return what median filters of three sizes leave of the change, on three spots."""
    height, width = pair.reference_luma.shape
    side = min(_SPOT, height, width)
    middle = (height // 2 - side // 2, width // 2 - side // 2)
    corners = ((0, 0), (height - side, width - side))
    found = {}
    for size in (3, 5, 7):
        spots = (*corners, middle) if size == 3 else (middle,)
        left = 0.0
        changed = 0.0
        for top, start in spots:
            place = (slice(top, top + side), slice(start, start + side))
            reference = np.rint(pair.reference_luma[place]).astype(np.uint8)
            copy = pair.copy_luma[place]
            filtered = ndimage.median_filter(reference, size=size).astype(np.float32)
            inside = slice(size // 2 + 1, -(size // 2 + 1))
            left += float(np.square(copy - filtered)[inside, inside].mean())
            changed += float(np.square(copy - reference)[inside, inside].mean())
        found[f"median{size}"] = float(np.log10((left + 0.05) / (changed + 0.05)))
    return found


def fit_filter(kind: str, pair: Pair) -> Fit:
    """Return the filter of a kind that makes the copy's luma of the reference's best.

    Parameters
    ----------
    kind
        blur, motion-blur, sharpening, resampling or median.
    pair
        The two pictures; of large ones the middle is used.
    """
    part = _middle(pair)
    return _FITS[kind](part.reference_luma, part.copy_luma)


def _middle(pair: Pair) -> Pair:
    """Return the middle of a large pair: a filter is the same everywhere."""
    height, width = pair.reference_luma.shape
    if max(height, width) <= _FIT_SIDE:
        return pair
    top = max(0, (height - _FIT_SIDE) // 2) // 8 * 8
    left = max(0, (width - _FIT_SIDE) // 2) // 8 * 8
    return pair.crop(top, min(top + _FIT_SIDE, height), left, min(left + _FIT_SIDE, width))


def _blur(reference: Floats, copy: Floats) -> Fit:
    """Fit a Gaussian, sampled as most programs do it or exact as in the paper's data."""
    first = _cosine(reference)
    second = _cosine(copy)
    fits = []
    for transfer in (_exact_gaussian, _sampled_gaussian):
        sigma = _best(functools.partial(_left, first, second, transfer), 0.2, 25.0)
        fits.append((_left(first, second, transfer, sigma), sigma, transfer))
    _, sigma, transfer = min(fits, key=lambda fit: fit[0])
    return Fit({"sigma": sigma}, lambda channel: _filtered(_cosine(channel), transfer, sigma))


def _sharpening(reference: Floats, copy: Floats) -> Fit:
    """Fit unsharp masking: the picture plus an amount of its difference to a Gaussian blur."""
    spectrum = _cosine(reference)
    unclipped = (copy > 1) & (copy < 254)
    change = (copy - reference)[unclipped]
    best = (np.inf, 0.0, 1.0)
    for radius in np.geomspace(0.4, 6, 14):
        detail = reference - _filtered(spectrum, _exact_gaussian, float(radius))
        inside = detail[unclipped]
        amount = float((change * inside).sum() / ((inside * inside).sum() + 1e-6))
        made = np.clip(reference + np.float32(amount) * detail, 0, 255)
        best = min(best, (_mean_square(copy - made), amount, float(radius)))
    _, amount, radius = best

    def make(channel: Floats) -> Floats:
        detail = channel - _filtered(_cosine(channel), _exact_gaussian, radius)
        found: Floats = np.clip(channel + np.float32(amount) * detail, 0, 255)
        return found

    return Fit({"amount": amount, "radius": radius}, make)


def _motion(reference: Floats, copy: Floats) -> Fit:
    """Fit a straight line of equal weights by its transfer function, length and angle."""
    window = np.outer(np.hanning(reference.shape[0]), np.hanning(reference.shape[1]))
    first = fft.rfft2((reference - reference.mean()) * window)
    second = fft.rfft2((copy - copy.mean()) * window)
    fy = np.fft.fftfreq(reference.shape[0])[:, None]
    fx = np.fft.rfftfreq(reference.shape[1])[None, :]
    near = np.hypot(fy, fx) < 0.25
    power = np.square(np.abs(first[near]))
    cross = (second * first.conj()).real[near]
    ys = np.broadcast_to(fy, near.shape)[near]
    xs = np.broadcast_to(fx, near.shape)[near]

    def left(values: Array) -> float:
        length, angle = values
        transfer = np.sinc(length * (xs * np.cos(angle) - ys * np.sin(angle)))
        return float((transfer * transfer * power - 2 * transfer * cross).sum())

    starts = [
        np.array([length, angle])
        for length in np.geomspace(2, 30, 12)
        for angle in np.arange(12) * np.pi / 12
    ]
    # It takes as long to load as the rest of the comparison, and few copies need it.
    from scipy import optimize

    length, angle = optimize.minimize(left, min(starts, key=left), method="Nelder-Mead").x
    parameters = {"length": abs(float(length)), "angle": float(np.rad2deg(angle) % 180)}
    return Fit(parameters, lambda channel: _moved(channel, float(length), float(angle)))


def _moved(channel: Floats, length: float, angle: float) -> Floats:
    """Return a channel moved along a line while it was exposed; its rim is mirrored."""
    rim = min(int(abs(length) / 2) + 2, min(channel.shape) // 2)
    wide = np.pad(channel, rim, mode="symmetric")
    fy = np.fft.fftfreq(wide.shape[0])[:, None]
    fx = np.fft.rfftfreq(wide.shape[1])[None, :]
    transfer = np.sinc(length * (fx * np.cos(angle) - fy * np.sin(angle)))
    moved = fft.irfft2(fft.rfft2(wide) * transfer, s=wide.shape)
    found: Floats = moved[rim:-rim, rim:-rim].astype(np.float32)
    return found


def _resampling(reference: Floats, copy: Floats) -> Fit:
    """Try scales and filters of scaling down and back up, then scales between the best two."""

    def rest(scale: float, filters: int) -> tuple[float, float, int]:
        made = _resampled(reference, scale, filters)
        return _mean_square(copy - made), scale, filters

    tried = [
        rest(float(scale), filters) for filters in range(len(_RESAMPLING)) for scale in _SCALES
    ]
    exact = _repeated_scale(copy)
    if exact is not None:
        tried += [rest(exact, filters) for filters in range(len(_RESAMPLING))]
    _, coarse, filters = min(tried)
    finer = [rest(float(coarse + step), filters) for step in _FINER if 0.05 < coarse + step < 1]
    _, scale, filters = min(finer)
    return Fit({"scale": scale}, lambda channel: _resampled(channel, scale, filters))


def _repeated_scale(copy: Floats) -> float | None:
    """Return the scale at which pixels were repeated, or None where they were not.

    Between pixels of the smaller picture whole columns are the same, so that counting the others
    gives its width exactly.
    """
    columns = int(np.any(np.diff(copy, axis=1) != 0, axis=0).sum()) + 1
    rows = int(np.any(np.diff(copy, axis=0) != 0, axis=1).sum()) + 1
    scale = columns / copy.shape[1]
    is_even = abs(scale - rows / copy.shape[0]) < 0.02
    return scale if is_even and 0.05 < scale < 0.97 else None


def _resampled(channel: Floats, scale: float, filters: int) -> Floats:
    picture = Image.fromarray(channel)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    down, up = _RESAMPLING[filters]
    smaller = picture.resize(size, down)
    return np.asarray(smaller.resize(picture.size, up), np.float32)


def _median(reference: Floats, copy: Floats) -> Fit:
    # A spot is enough to tell the sizes apart, and large medians are slow.
    spot = _busiest_spot(np.square(copy - reference))
    rests = []
    for side in MEDIAN_SIDES:
        rests.append(_mean_square(copy[spot] - _median_filtered(reference[spot], side)))
        # The rest grows on both sides of the right size.
        if len(rests) > 1 and rests[-1] > rests[-2]:
            break
    side = MEDIAN_SIDES[int(np.argmin(rests))]
    return Fit({"side": float(side)}, lambda channel: _median_filtered(channel, side))


def _busiest_spot(change: Floats) -> tuple[slice, slice]:
    """Return the square, of three by three spread over a picture, where most has changed."""
    height, width = change.shape
    tall = min(_SPOT, height)
    wide = min(_SPOT, width)
    spots = [
        (slice(top, top + tall), slice(left, left + wide))
        for top in np.linspace(0, height - tall, 3).astype(int)
        for left in np.linspace(0, width - wide, 3).astype(int)
    ]
    return max(spots, key=lambda spot: float(change[spot].mean()))


def _median_filtered(channel: Floats, side: int) -> Floats:
    whole = np.rint(channel).astype(np.uint8)
    found: Floats = ndimage.median_filter(whole, size=side).astype(np.float32)
    return found


_FITS: dict[str, Callable[[Floats, Floats], Fit]] = {
    "blur": _blur,
    "motion-blur": _motion,
    "sharpening": _sharpening,
    "resampling": _resampling,
    "median": _median,
}


def _cosine(picture: Floats) -> Floats:
    """Return the cosine transform: the mirrored picture's spectrum, where a filter is a product."""
    found: Floats = fft.dctn(picture, norm="ortho")
    return found


def _exact_gaussian(size: int, sigma: float) -> Floats:
    frequency = np.arange(size) / (2 * size)
    found: Floats = np.exp(-2 * np.square(np.pi * sigma * frequency)).astype(np.float32)
    return found


def _sampled_gaussian(size: int, sigma: float) -> Floats:
    """Return the transfer of a Gaussian taken at whole pixels, which differs below one pixel."""
    frequency = np.arange(size) / (2 * size)
    places = np.arange(1, int(np.ceil(4 * sigma)) + 2)
    weights = np.exp(-0.5 * np.square(places / sigma))
    waves = np.cos(2 * np.pi * np.outer(frequency, places)) @ weights
    found: Floats = ((1 + 2 * waves) / (1 + 2 * weights.sum())).astype(np.float32)
    return found


def _filtered(spectrum: Floats, transfer: Transfer, value: float) -> Floats:
    height, width = spectrum.shape
    product = spectrum * transfer(height, value)[:, None] * transfer(width, value)
    found: Floats = fft.idctn(product, norm="ortho")
    return found


def _left(first: Floats, second: Floats, transfer: Transfer, value: float) -> float:
    """Return the mean squared rest, by Parseval's theorem without going back to pixels."""
    height, width = first.shape
    made = first * transfer(height, value)[:, None] * transfer(width, value)
    return _mean_square(second - made)


def _best(left: Callable[[float], float], low: float, high: float) -> float:
    """Return the value that leaves least: on a grid, then between its neighbours."""
    grid = np.geomspace(low, high, 16)
    rests = [left(float(value)) for value in grid]
    place = int(np.argmin(rests))
    from scipy import optimize

    bounds = (np.log(grid[max(place - 1, 0)]), np.log(grid[min(place + 1, len(grid) - 1)]))
    found = optimize.minimize_scalar(
        lambda logarithm: left(float(np.exp(logarithm))),
        bounds=bounds,
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(np.exp(found.x))


def _mean_square(values: Floats) -> float:
    return float(np.mean(np.square(values), dtype=np.float64))
