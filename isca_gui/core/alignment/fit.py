"""How well a placement and a kernel make the copy from the reference."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from isca_gui.core.alignment.resampling import bring, covered, kernels_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.alignment.placement import Placement
    from isca_gui.core.alignment.pyramid import Pyramid
    from isca_gui.core.alignment.resampling import Window

    Floats = NDArray[np.float32]

# Pictures of more pixels are looked at in windows of this side.
_LARGE = 150_000
_WINDOW = 128
_SPOTS = (0.03, 0.5, 0.97)
_BINS = 64
_RIM = 4
_LEAST_PIXELS = 100
_COMMON = ("bicubic", "bilinear")
# Deviation in pixels of the smoothing before pictures with damage are compared.
_SMOOTH = 1.2


def spread_windows(shape: tuple[int, ...]) -> list[Window]:
    """Return all of a small picture as one window, or nine that are spread over a large one."""
    height, width = shape
    if height * width <= _LARGE:
        return [(0, height, 0, width)]
    tall = min(_WINDOW, height)
    wide = min(_WINDOW, width)
    return [
        (top, top + tall, left, left + wide)
        for top in (int((height - tall) * down) for down in _SPOTS)
        for left in (int((width - wide) * right) for right in _SPOTS)
    ]


class Fit:
    """What is left of a copy when it is made again from the reference.

    Parameters
    ----------
    reference, copy
        The two pictures.
    """

    def __init__(self, reference: Pyramid, copy: Pyramid) -> None:
        self.reference = reference
        self.copy = copy

    @functools.cached_property
    def windows(self) -> list[Window]:
        """The parts of the copy that are looked at."""
        return spread_windows(self.copy.shape)

    def rest(self, placement: Placement, kernel: str, smooth: bool = False) -> float:
        """Return the mean squared rest, after any change of tone.

        Parameters
        ----------
        placement
            Where the copy lies in the reference.
        kernel
            A name of `resampling.KERNELS`.
        smooth
            Whether both are smoothed before, so that a kernel that blurs has no advantage where
            the copy has lost its detail or has noise.
        """
        made = []
        copied = []
        source = self.reference.level(0, placement.turn, placement.mirrored)
        for window in self.windows:
            mask = covered(placement, source.shape, self.copy.shape, window)
            if mask.sum() < _LEAST_PIXELS:
                continue
            top, bottom, left, right = window
            part = bring(source, placement, self.copy.shape, kernel, window)
            ours = self.copy.picture[top:bottom, left:right]
            if smooth:
                part, ours = _smoothed(part, mask), _smoothed(ours, mask)
            made.append(np.clip(part[mask], 0, 255))
            copied.append(ours[mask])
        if not made:
            return float("inf")
        return _after_tone(np.concatenate(made), np.concatenate(copied))

    def spread(self, placement: Placement) -> float:
        """Return by how much the pictures of two common kernels differ, mean squared."""
        source = self.reference.level(0, placement.turn, placement.mirrored)
        total = 0.0
        for window in self.windows:
            first, second = (
                bring(source, placement, self.copy.shape, kernel, window) for kernel in _COMMON
            )
            total += float(np.mean(np.square(first - second), dtype=np.float64))
        return total / len(self.windows)

    def kernels(
        self, placement: Placement, names: tuple[str, ...] | None = None
    ) -> list[tuple[float, str]]:
        """Return what each kernel leaves, least first."""
        tried = names or kernels_for(placement, self.copy.shape)
        return sorted((self.rest(placement, kernel), kernel) for kernel in tried)


def _smoothed(picture: Floats, mask: NDArray[np.bool_]) -> Floats:
    """Return a picture smoothed where a mask is, without what lies beyond."""
    if mask.all():
        found: Floats = ndimage.gaussian_filter(picture, _SMOOTH, mode="nearest", truncate=3)
        return found
    weight = mask.astype(np.float32)
    share = ndimage.gaussian_filter(weight, _SMOOTH, mode="nearest", truncate=3)
    blurred = ndimage.gaussian_filter(picture * weight, _SMOOTH, mode="nearest", truncate=3)
    masked: Floats = blurred / np.maximum(share, 1e-3)
    return masked


def _after_tone(made: Floats, copied: Floats) -> float:
    """Return the mean squared rest beside a curve of straight pieces from made to copied values."""
    place = made * np.float32((_BINS - 1) / 255)
    lower = np.minimum(place.astype(np.intp), _BINS - 2)
    share = place - lower
    values = copied - made
    # Least squares on hat functions: a matrix with three diagonals.
    diagonal = np.bincount(lower, np.square(1 - share), _BINS)
    diagonal += np.bincount(lower + 1, np.square(share), _BINS)
    beside = np.bincount(lower, share * (1 - share), _BINS)[:-1]
    right = np.bincount(lower, values * (1 - share), _BINS)
    right += np.bincount(lower + 1, values * share, _BINS)
    matrix = np.diag(diagonal + 1e-3) + np.diag(beside, 1) + np.diag(beside, -1)
    curve = np.linalg.solve(matrix, right)
    rest = float(np.mean(np.square(values), dtype=np.float64))
    return max(0.0, rest - float(curve @ right) / len(values))
