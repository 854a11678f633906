"""A picture at several sizes, and its structure: what two pictures of one scene have in common."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image
from scipy import ndimage

from isca_gui.core.alignment.placement import Placement, oriented
from isca_gui.core.alignment.resampling import bring

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_SMALLEST = 48
# Structure is what is left between a Gaussian of this deviation and two means over squares of this
# side; the third is the neighbourhood whose contrast it is divided by.
_FINE = 1.0
_COARSE = 9
_AROUND = 17
# Contrast below this share of the mean, and below this many grey levels, is not raised.
_LEAST_SHARE = 0.3
_LEAST_CONTRAST = 0.3


class Pyramid:
    """The luma of a picture, each level half as large as the one before; levels are made once.

    Parameters
    ----------
    picture
        Luma on the scale 0 to 255, shape (height, width).
    """

    def __init__(self, picture: Floats) -> None:
        self.picture = picture
        self._turned: dict[tuple[int, int, bool], Floats] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the whole picture."""
        return self.picture.shape[0], self.picture.shape[1]

    @functools.cached_property
    def levels(self) -> list[Floats]:
        """The picture, and its halves."""
        found = [self.picture]
        while min(found[-1].shape) >= 2 * _SMALLEST:
            smaller = Image.fromarray(found[-1]).reduce(2)
            found.append(np.asarray(smaller, np.float32))
        return found

    def level(self, index: int, turn: int = 0, mirrored: bool = False) -> Floats:
        """Return a level, mirrored and turned."""
        key = (index, turn, mirrored)
        if key not in self._turned:
            turned: NDArray[Any] = oriented(self.levels[index], turn, mirrored)
            self._turned[key] = np.ascontiguousarray(turned)
        return self._turned[key]

    def bring(self, placement: Placement, shape: tuple[int, ...]) -> Floats:
        """Return the picture on the pixels of a copy of a shape, from the level that suffices."""
        step = min(placement.steps(shape))
        index = int(np.clip(np.floor(np.log2(max(step, 1.0))), 0, len(self.levels) - 1))
        source = self.level(index, placement.turn, placement.mirrored)
        scale = 2.0**-index
        nearer = Placement(
            placement.left * scale,
            placement.top * scale,
            placement.right * scale,
            placement.bottom * scale,
            angle=placement.angle,
        )
        return bring(source, nearer, shape)

    def sized(self, longest: int) -> Floats:
        """Return the whole picture with a long side of at most so many pixels."""
        factor = min(1.0, longest / max(self.shape))
        if factor == 1.0:
            return self.picture
        shape = tuple(max(1, round(size * factor)) for size in self.shape)
        return self.bring(Placement(0.0, 0.0, float(self.shape[1]), float(self.shape[0])), shape)


def structure(picture: Floats) -> Floats:
    """Return the detail of a picture divided by the contrast around it.

    What changes the tone changes it little, and a part that was covered weighs no more than others.
    """
    fine = ndimage.gaussian_filter(picture, _FINE, mode="nearest", truncate=3)
    coarse = ndimage.uniform_filter(fine, _COARSE, mode="nearest")
    detail = fine - ndimage.uniform_filter(coarse, _COARSE, mode="nearest")
    around = np.sqrt(ndimage.uniform_filter(detail * detail, _AROUND, mode="nearest") + 1e-6)
    least = _LEAST_SHARE * float(around.mean()) + _LEAST_CONTRAST
    found: Floats = detail / (around + np.float32(least))
    return found
