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
# How far the copy follows the pattern that subsampling leaves, from which on it is named; 1 is all
# the way. What the luma follows as well does not count.
_FOLLOWS = 0.5
_SUREST_NOISE = 8.0
# Noise is named above this deviation in Cb and Cr, and above this multiple of the luma's.
_LEAST_NOISE = 2.5
_NOISE_OVER_LUMA = 1.5
# Blur is named above this deviation in pixels.
_LEAST_BLUR = 1.4
_BLURS = (0.6, 0.8, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0)
# The share of the pixels at the strongest edges, which codecs keep and a blur does not.
_STRONGEST = 0.03
# Chroma with less structure than this shows no blur.
_LEAST_EDGE = 4.0
# Blocks of a codec have less structure inside than across their borders, below this ratio.
_BLOCKY = 0.8


@dataclass(frozen=True)
class Detail:
    """What was found: the subsampling such as "4:2:0", and deviations; None for what was not."""

    subsampling: str | None = None
    noise: float | None = None
    blur: float | None = None


def detail_findings(predicted: Floats, copy: Floats) -> Detail:
    """Return what was done to the fine structure of the chroma.

    Parameters
    ----------
    predicted
        Luma, Cb and Cr of the copy as the reference and its global changes predict them, shape
        (3, height, width), 0 to 255.
    copy
        The same of the copy.
    """
    luma_blur = _blur_of(predicted[:1], copy[:1])
    if luma_blur > 0:
        predicted = np.stack([ndimage.gaussian_filter(plane, luma_blur) for plane in predicted])
    subsampling = _subsampling(predicted, copy)
    chroma = predicted[1:]
    if subsampling is not None:
        chroma = np.stack([_subsampled(plane, subsampling) for plane in chroma])
    blur = _blur_of(chroma, copy[1:])
    found_blur = None
    if blur >= _LEAST_BLUR and not _is_blocky(copy[1:]):
        found_blur = blur
        # What a strong blur leaves no longer shows how it was sampled.
        subsampling = subsampling if blur < 2 * _LEAST_BLUR else None
    if blur > 0:
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


def _subsampling(predicted: Floats, copy: Floats) -> str | None:
    """Return the subsampling whose pattern the copy's chroma follows and its luma does not."""
    follows = []
    for axis in (1, 0):
        chroma, sure = _pattern(predicted[1:], copy[1:], axis)
        luma, _ = _pattern(predicted[:1], copy[:1], axis)
        follows.append(sure and chroma > _FOLLOWS and luma < _FOLLOWS * chroma)
    return {(True, True): "4:2:0", (True, False): "4:2:2", (False, True): "4:4:0"}.get(
        (follows[0], follows[1])
    )


def _pattern(predicted: Floats, copy: Floats, axis: int) -> tuple[float, bool]:
    """Return how far a copy follows the pattern of pairs along an axis, and whether that is sure.

    Averaging over pairs that begin at even places, and over those that begin at odd ones, blurs
    alike; the two differ in a pattern that nothing but subsampling leaves. The copy's change is
    regressed on it, which noise and quantisation hardly disturb.
    """
    above = 0.0
    below = 0.0
    rest = 0.0
    for plane, made in zip(predicted, copy, strict=True):
        # The other axis is smoothed, because it may be subsampled too.
        smooth = ndimage.convolve1d(plane, np.array([1, 3, 3, 1]) / 8, axis=1 - axis)
        even = _halved(smooth, axis, 0)
        odd = _halved(smooth, axis, 1)
        pattern = (even - odd) / 2
        change = made - (even + odd) / 2
        above += float(np.sum(pattern * change))
        below += float(np.sum(pattern**2))
        rest += float(np.mean(change**2))
    if below <= 0:
        return 0.0, False
    # The standard error of the regression, with the noise taken as white.
    error = np.sqrt(rest / len(predicted) / below)
    follows = above / below
    return follows, bool(follows > _SUREST_NOISE * error)


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


def _is_blocky(chroma: Floats) -> bool:
    """Whether blocks of 8 or 16 pixels have less structure inside than across their borders."""
    for side in (8, 16):
        aligned = sum(_variance_inside(plane, side, 0) for plane in chroma)
        across = sum(_variance_inside(plane, side, side // 2) for plane in chroma)
        if aligned < _BLOCKY * across:
            return True
    return False


def _variance_inside(plane: Floats, side: int, offset: int) -> float:
    blocks = _blocks(plane[offset:, offset:], side)
    return float(np.median(blocks.var(axis=(1, 2)))) if len(blocks) else 0.0


def _blocks(plane: Floats, side: int) -> Floats:
    rows = plane.shape[0] // side
    columns = plane.shape[1] // side
    cut = plane[: rows * side, : columns * side].reshape(rows, side, columns, side)
    return cut.swapaxes(1, 2).reshape(-1, side, side)


# --- noise --------------------------------------------------------------------------------------


def _noise(
    chroma: Floats, copy_chroma: Floats, luma: Floats, copy_luma: Floats
) -> float | None:
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
