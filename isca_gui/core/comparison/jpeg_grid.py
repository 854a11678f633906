"""Where the grid of a JPEG begins in a copy that was cropped afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.comparison.codec_traces import cosine_transform, square_blocks
from isca_gui.core.comparison.jpeg_lattice import find_lattice

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from isca_gui.core.comparison.pair import Floats, Pair

SIDE = 8
# The surplus of zeros is counted on so many blocks, spread over the picture.
_BLOCKS = 700
_NEAR_ZERO = 0.7
_SMOOTHEST = 2.0
# Grids that are tested with the lattice of a table, besides the one at the corner.
_TESTED = 3
# The other grid has to fit this much better than the one at the corner, and this well at all.
_BETTER = 0.1
_LEAST_FIT = 0.3
_LARGEST = 768


def find_offset(pair: Pair) -> tuple[int, int]:
    """Return the row and the column, 0 to 7, at which the grid of the copy's JPEG begins.

    Where no grid is seen it is (0, 0). Zeros that the reference has on the same grid do not count:
    it may have been a JPEG itself.

    Parameters
    ----------
    pair
        The two pictures.
    """
    surplus = _zeros(pair.copy_luma) - _zeros(pair.reference_luma)
    ranked = np.argsort(-surplus, axis=None)[:_TESTED]
    part = _part(pair.copy)
    fits = {(0, 0): _fit(part, 0, 0)}
    for place in ranked:
        top, left = np.unravel_index(int(place), surplus.shape)
        fits.setdefault((int(top), int(left)), _fit(part, int(top), int(left)))
    best = max(fits, key=lambda place: fits[place])
    if fits[best] < max(_LEAST_FIT, fits[0, 0] + _BETTER):
        return 0, 0
    return best


def _part(picture: Floats) -> Floats:
    """Return the middle of a large picture, from a multiple of eight on."""
    height, width = picture.shape[:2]
    top = max(0, (height - _LARGEST) // 2) // SIDE * SIDE
    left = max(0, (width - _LARGEST) // 2) // SIDE * SIDE
    return picture[top : top + _LARGEST, left : left + _LARGEST]


def _fit(picture: Floats, top: int, left: int) -> float:
    lattice = find_lattice(picture, top, left)
    return lattice.fit if lattice is not None else 0.0


def _zeros(picture: Floats) -> NDArray[np.float64]:
    """Return the share of coefficients near zero on every grid, shape (8, 8)."""
    frequency = np.add.outer(np.arange(SIDE), np.arange(SIDE))
    band = (frequency >= 2) & (frequency <= 9)
    found = np.zeros((SIDE, SIDE))
    for top in range(SIDE):
        for left in range(SIDE):
            blocks = square_blocks(picture, SIDE, top, left)
            blocks = blocks[:: max(1, len(blocks) // _BLOCKS)]
            lively = blocks[blocks.std((1, 2)) > _SMOOTHEST]
            if len(lively):
                found[top, left] = (np.abs(cosine_transform(lively)[:, band]) < _NEAR_ZERO).mean()
    return found


def made_on_grid(
    make: Callable[[Floats], Floats], picture: Floats, offset: tuple[int, int]
) -> Floats:
    """Return what a function makes of a picture whose grid of blocks begins at an offset.

    Parameters
    ----------
    make
        Works on blocks from the upper left corner on.
    picture
        Grey (height, width) or colour (height, width, 3).
    offset
        Row and column at which a block begins, 0 to 7.
    """
    if offset == (0, 0):
        return make(picture)
    rim = [(-offset[0] % SIDE, 0), (-offset[1] % SIDE, 0)]
    rim += [(0, 0)] * (picture.ndim - 2)
    made = make(np.pad(picture, rim, mode="edge"))
    return made[rim[0][0] :, rim[1][0] :]
