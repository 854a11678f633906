"""What was done to the fine structure of the colours: subsampling, noise and blur.

All of it is measured against a prediction of the copy's chroma, and against the luma: what was done
to the luma as well, such as a blur of the whole picture, is no finding about colours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage
from scipy.fft import dctn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

_SIDE = 8
# Chroma with weaker third differences shows no subsampling.
_LEAST_DETAIL = 1.5
# What rounding to 8 bits leaves of third differences, the share of the reference's that is kept at
# most, and by how much those at even places are larger at least.
_ROUNDING = 1.2
_KEPT = 0.4
_UNEVEN = 1.12
_KEPT_IF_DOWN = (0.9, 1.07)
# The share of steps within pairs where values are repeated.
_REPEATED = 0.15
# How much larger steps at the borders of a codec's blocks are, in the mean of their roots, which a
# few strong edges do not sway.
_BLOCKY = 1.3
# The least share of a picture that is not clipped, for the rest to be left out.
_LEAST_INSIDE = 0.1
# Noise is named above this deviation in Cb and Cr, and above this multiple of the luma's.
_LEAST_NOISE = 2.5
_NOISE_OVER_LUMA = 1.5
# Blur is named above this deviation in pixels.
_LEAST_BLUR = 1.9
# Codecs remove so much detail of the chroma that they blur it as well.
_LEAST_BLUR_OF_CODEC = 2.9
_BLURS = (0.6, 0.8, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0)
# The share of the pixels at the strongest edges, which codecs keep and a blur does not.
_STRONGEST = 0.03
# Weaker edges show no blur.
_LEAST_EDGE = 4.0


@dataclass(frozen=True)
class Detail:
    """What was found: the subsampling such as "4:2:0", and deviations; None for what was not."""

    subsampling: str | None = None
    noise: float | None = None
    blur: float | None = None


def detail_findings(
    predicted: Floats, copy: Floats, inside: NDArray[np.bool_] | None = None
) -> Detail:
    """Return what was done to the fine structure of the chroma.

    Parameters
    ----------
    predicted
        Luma, Cb and Cr of the copy as the reference and its global changes predict them, shape
        (3, height, width), 0 to 255.
    copy
        The same of the copy.
    inside
        Where the copy is not clipped, shape (height, width); everywhere by default.
    """
    if inside is None or inside.mean() < _LEAST_INSIDE:
        inside = np.ones(copy.shape[1:], dtype=bool)
    luma_blur = _blur_of(predicted[:1], copy[:1])
    if luma_blur > 0:
        predicted = np.stack([ndimage.gaussian_filter(plane, luma_blur) for plane in predicted])
    subsampling = _subsampling(predicted, copy, inside)
    chroma = predicted[1:]
    if subsampling is not None:
        chroma = np.stack([_subsampled(plane, subsampling) for plane in chroma])
    codec = subsampling is not None or any(_has_blocks(copy[1:], axis) for axis in (0, 1))
    blur = _blur_of(chroma, copy[1:])
    found_blur = None
    if blur >= (_LEAST_BLUR_OF_CODEC if codec else _LEAST_BLUR):
        found_blur = blur
        chroma = np.stack([ndimage.gaussian_filter(plane, blur) for plane in chroma])
    noise = _noise(chroma, copy[1:], predicted[:1], copy[:1])
    return Detail(subsampling, noise, found_blur)


# --- subsampling --------------------------------------------------------------------------------


def _halved(plane: Floats, axis: int, phase: int) -> Floats:
    """Return a plane averaged over pairs along an axis and interpolated again.

    Parameters
    ----------
    plane
        Shape (height, width).
    axis
        The axis of the pairs.
    phase
        0 for pairs that begin at even places, as codecs make them, 1 for the others.
    """
    moved = np.moveaxis(plane, axis, 0)
    length = (len(moved) - phase) // 2 * 2
    inner = moved[phase : phase + length]
    halves = (inner[0::2] + inner[1::2]) / 2
    padded = np.concatenate([halves[:1], halves, halves[-1:]])
    found = moved.copy()
    found[phase : phase + length : 2] = (3 * halves + padded[:-2]) / 4
    found[phase + 1 : phase + length : 2] = (3 * halves + padded[2:]) / 4
    return np.moveaxis(found, 0, axis)


def _subsampled(plane: Floats, subsampling: str) -> Floats:
    if subsampling != "4:4:0":
        plane = _halved(plane, 1, 0)
    if subsampling != "4:2:2":
        plane = _halved(plane, 0, 0)
    return plane


def _subsampling(predicted: Floats, copy: Floats, inside: NDArray[np.bool_]) -> str | None:
    """Return the subsampling of the copy's chroma that neither its luma nor the reference has."""

    def halved(axis: int, most: tuple[float, float] = (_KEPT, _UNEVEN)) -> bool:
        chroma = _is_halved(copy[1:], predicted[1:], axis, inside, most)
        return chroma and not _is_halved(copy[:1], predicted[:1], axis, inside, most)

    down = halved(0)
    # Halved down only is so rare that a weaker sign of halving across will do then.
    across = halved(1, _KEPT_IF_DOWN) if down else halved(1)
    if across:
        return "4:2:0" if down else "4:2:2"
    return "4:4:0" if down else None


def _is_halved(
    copy: Floats,
    predicted: Floats,
    axis: int,
    inside: NDArray[np.bool_],
    bounds: tuple[float, float],
) -> bool:
    """Whether the copy was interpolated from half as many values along an axis.

    Interpolated linearly, as decoders do, four values in a row that begin at an odd place hang
    together: their third difference is 0. Those that begin at an even place do not. Repeated
    values are equal in pairs. Blocks of 8 pixels, whose borders lie between pairs as well, are
    told by the borders that blocks of 16 do not have.

    Parameters
    ----------
    copy, predicted
        Planes of both, shape (plane, height, width).
    axis
        0 for down, 1 for across.
    inside
        Where the copy is not clipped.
    bounds
        The share of the third differences that may be kept, and how uneven they must be.
    """

    def energy(planes: Floats, order: int, start: int) -> float:
        return _energy(planes, axis, inside, (order, start))

    odd = energy(copy, 3, 1)
    even = energy(copy, 3, 0)
    before = (energy(predicted, 3, 0) + energy(predicted, 3, 1)) / 2
    if before < _LEAST_DETAIL or _has_blocks(copy, axis):
        return False
    kept = (odd - _ROUNDING) / before
    # A reference that was subsampled itself is as uneven already.
    uneven = energy(predicted, 3, 0) / max(energy(predicted, 3, 1), _ROUNDING)
    if kept < bounds[0] and even > bounds[1] * odd * max(uneven, 1):
        return True
    repeated = energy(copy, 1, 0) < _REPEATED * energy(copy, 1, 1)
    return repeated and energy(predicted, 1, 0) > 0.5 * energy(predicted, 1, 1)


def _energy(
    planes: Floats, axis: int, inside: NDArray[np.bool_], difference: tuple[int, int]
) -> float:
    """Return the mean square of differences along an axis.

    Parameters
    ----------
    planes
        Shape (plane, height, width).
    axis
        0 for down, 1 for across.
    inside
        Where they count.
    difference
        Its order, and whether those count that begin at even (0) or at odd places (1).
    """
    order, start = difference
    made = np.moveaxis(np.diff(planes, order, axis=axis + 1), axis + 1, 0)[start::2]
    open_ = np.moveaxis(inside, axis, 0)
    length = len(open_) - order
    whole = np.logical_and.reduce([open_[k : k + length] for k in range(order + 1)])[start::2]
    if not whole.any():
        return 0.0
    return float(np.mean(np.mean(made**2, axis=1)[whole]))


def _has_blocks(planes: Floats, axis: int) -> bool:
    """Whether steps are larger at the borders of blocks of 8 that are not those of blocks of 16."""
    steps = np.mean(np.sqrt(np.abs(np.diff(planes, axis=axis + 1))), axis=(0, 2 - axis))
    places = np.arange(len(steps)) % 16
    border = steps[places == 7]
    others = steps[(places % 2 == 1) & (places != 7) & (places != 15)]
    if not len(border) or not len(others):
        return False
    return bool(border.mean() > _BLOCKY * others.mean())


# --- blur ---------------------------------------------------------------------------------------


def _blur_of(predicted: Floats, copy: Floats) -> float:
    """Return the deviation of the blur that explains the strongest edges best; 0 for none."""
    masks = [_strongest(plane) for plane in predicted]
    if not any(mask.any() for mask in masks):
        return 0.0

    def error(sigma: float) -> float:
        total = 0.0
        for plane, made, mask in zip(predicted, copy, masks, strict=True):
            blurred = ndimage.gaussian_filter(plane, sigma) if sigma else plane
            total += float(np.sum((made - blurred)[mask] ** 2))
        return total

    errors = {0.0: error(0.0)}
    for sigma in _BLURS:
        errors[sigma] = error(sigma)
        if errors[sigma] > 1.5 * min(errors.values()) + 1:
            break
    best = min(errors, key=lambda sigma: errors[sigma])
    return best if errors[best] < 0.8 * errors[0.0] else 0.0


def _strongest(plane: Floats) -> NDArray[np.bool_]:
    """Return where the strongest edges of a plane are; nowhere in one without edges."""
    detail = np.abs(plane - ndimage.gaussian_filter(plane, 1.5))
    least = max(float(np.quantile(detail, 1 - _STRONGEST)), _LEAST_EDGE)
    mask: NDArray[np.bool_] = detail >= least
    return mask if mask.sum() >= 200 else np.zeros_like(mask)


def _blocks(plane: Floats, side: int) -> Floats:
    rows = plane.shape[0] // side
    columns = plane.shape[1] // side
    cut = plane[: rows * side, : columns * side].reshape(rows, side, columns, side)
    return cut.swapaxes(1, 2).reshape(-1, side, side)


# --- noise --------------------------------------------------------------------------------------


def _noise(chroma: Floats, copy_chroma: Floats, luma: Floats, copy_luma: Floats) -> float | None:
    """Return the deviation of noise in Cb and Cr where there is more of it than in the luma."""
    colour = max(_added(chroma, copy_chroma, high) for high in (False, True))
    grey = max(_added(luma, copy_luma, high) for high in (False, True))
    if colour < _LEAST_NOISE or colour < _NOISE_OVER_LUMA * grey:
        return None
    return colour


def _added(predicted: Floats, copy: Floats, high: bool) -> float:
    """Return the deviation of what was added to most blocks, in a band of frequencies.

    A codec takes structure away and adds some at edges; noise adds to every block, and does not
    depend on what was there.
    """
    index = np.add.outer(np.arange(_SIDE), np.arange(_SIDE))
    band = index >= 6 if high else (index >= 1) & (index <= 3)
    residual = 0.0
    energy = 0.0
    for plane, made in zip(predicted, copy, strict=True):
        before = dctn(_blocks(plane, _SIDE), axes=(1, 2), norm="ortho")[:, band]
        after = dctn(_blocks(made, _SIDE), axes=(1, 2), norm="ortho")[:, band]
        residual += float(np.median(np.mean((after - before) ** 2, axis=1))) / len(predicted)
        grown = np.mean(after**2, axis=1) - np.mean(before**2, axis=1)
        energy += float(np.median(grown)) / len(predicted)
    return float(np.sqrt(max(min(residual, 1.3 * energy), 0)))
