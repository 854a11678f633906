"""A copy of any size and place laid on its reference, so that it can be judged like any other.

The reference is brought to the copy's pixels, resampled as the copy was, and the rim without data
is left out; what the interpolation does is then no change.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.alignment.align import NONE, Aligner
from isca_gui.core.alignment.words import in_words
from isca_gui.core.comparison.jpeg_grid import find_offset
from isca_gui.core.comparison.pair import (
    SMALLEST_SIDE,
    ComparisonError,
    Pair,
    check_picture,
    luma,
    make_pair,
    size_differs,
)
from isca_gui.core.comparison.regions import SIDE, Region, largest_rectangle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.alignment.align import Alignment
    from isca_gui.core.comparison.pair import Floats

# What has no data in the map of classes.
NO_DATA = -1
# Resamplers round in their own ways: a change below this is their rounding.
_ROUNDING_MSE = 0.6
_ROUNDING_MOST = 6.0
# A change by a filter below this share of what two resampling filters differ by is one more of
# them.
_OTHER_FILTER = 0.5
# Words that have a capital letter inside a sentence as well.
_NAMES = ("WebP", "Gaussian")


@dataclass(frozen=True, eq=False)
class Laid:
    """A reference and a copy on the same pixels.

    Parameters
    ----------
    alignment
        How the copy lies on the reference.
    whole
        Both pictures on the copy's pixels; where the reference has no data, the copy's own.
    data
        Which blocks of the copy have data, shape (rows, columns).
    rows, columns
        The largest rectangle of blocks with data.
    """

    alignment: Alignment
    whole: Pair
    data: NDArray[np.bool_]
    rows: slice
    columns: slice

    @functools.cached_property
    def pair(self) -> Pair:
        """The part that is judged."""
        if self.data.all():
            return self.whole
        height, width = self.whole.copy.shape[:2]
        return self.whole.crop(
            self.rows.start * SIDE,
            min(self.rows.stop * SIDE, height),
            self.columns.start * SIDE,
            min(self.columns.stop * SIDE, width),
        )

    @functools.cached_property
    def offset(self) -> tuple[int, int]:
        """Where a JPEG's grid begins in the part that is judged: row and column, 0 to 7."""
        return (0, 0) if self.alignment.is_same else find_offset(self.pair)

    def is_rounding(self, largest: float) -> bool:
        """Whether the change is no more than how resamplers round."""
        if not self.alignment.is_resampled:
            return False
        return self.pair.mse < _ROUNDING_MSE and largest <= _ROUNDING_MOST

    def is_interpolation(self) -> bool:
        """Whether the change is less than that by another way to interpolate."""
        if not self.alignment.is_resampled:
            return False
        return self.pair.mse < _OTHER_FILTER * self.alignment.spread

    def in_blocks(self, found: NDArray[Any], beyond: float) -> NDArray[Any]:
        """Return values of the judged blocks among all blocks of the copy.

        Parameters
        ----------
        found
            Shape (rows, columns) of the part that is judged.
        beyond
            The value of all other blocks.
        """
        if self.data.all():
            return found
        filled = np.full(self.data.shape, beyond, found.dtype)
        filled[self.rows, self.columns] = found
        return filled

    def in_copy(self, region: Region) -> Region:
        """Return a region of the judged part as one of the copy."""
        if self.data.all():
            return region
        top = self.rows.start * SIDE
        left = self.columns.start * SIDE
        return Region(
            self.in_blocks(region.blocks, False),
            region.top + top,
            region.bottom + top,
            region.left + left,
            region.right + left,
        )

    def made_in_copy(self, made: Floats) -> Floats:
        """Return a picture made of the judged part inside the reference on the copy's pixels."""
        if self.data.all():
            return made
        filled = self.whole.reference.copy()
        height, width = made.shape[:2]
        top = self.rows.start * SIDE
        left = self.columns.start * SIDE
        filled[top : top + height, left : left + width] = made
        return filled

    @property
    def offset_in_copy(self) -> tuple[float, float]:
        """The offset of the grid along x and y; the judged part begins at a multiple of eight."""
        return float(self.offset[1]), float(self.offset[0])


def lay(reference: NDArray[Any], copy: NDArray[Any], alignment: Alignment) -> Laid:
    """Return a reference and its copy on the copy's pixels.

    Parameters
    ----------
    reference, copy
        Pictures in [0, 1]: grey (height, width) or colour (height, width, 3).
    alignment
        How the copy lies on the reference.
    """
    if alignment.is_same:
        pair = make_pair(reference, copy)
        data = np.ones([-(-size // SIDE) for size in copy.shape[:2]], dtype=bool)
        return Laid(alignment, pair, data, slice(0, data.shape[0]), slice(0, data.shape[1]))
    theirs, ours = (np.asarray(each, np.float32) * np.float32(255) for each in (reference, copy))
    if theirs.ndim != ours.ndim:
        theirs, ours = luma(theirs), luma(ours)
    brought = alignment.bring(theirs)
    if np.abs(ours - np.rint(ours)).max() < 1e-3:
        # The copy has 8 bits, so that what made it has rounded as well.
        brought = np.rint(brought)
    valid = alignment.valid
    brought[~valid] = ours[~valid]
    data = _whole_blocks(valid)
    top, bottom, left, right = largest_rectangle(data)
    if min(bottom - top, right - left) * SIDE < SMALLEST_SIDE:
        raise ComparisonError(
            f"less than {SMALLEST_SIDE}×{SMALLEST_SIDE} pixels of the reference are in the copy"
        )
    pair = Pair(brought, ours, was_colour=reference.ndim > copy.ndim)
    return Laid(alignment, pair, data, slice(top, bottom), slice(left, right))


def _whole_blocks(valid: NDArray[np.bool_]) -> NDArray[np.bool_]:
    rows = np.arange(0, valid.shape[0], SIDE)
    columns = np.arange(0, valid.shape[1], SIDE)
    along = np.logical_and.reduceat(valid, rows, axis=0)
    found: NDArray[np.bool_] = np.logical_and.reduceat(along, columns, axis=1)
    return found


def found_alignment(
    reference: NDArray[Any], copy: NDArray[Any], mode: str, aligner: Aligner | None
) -> Alignment:
    """Return how a copy lies on a reference, after both were checked.

    Parameters
    ----------
    reference, copy
        Pictures in [0, 1].
    mode
        One of `align.MODES`.
    aligner
        That of the reference, if there is one.

    Raises
    ------
    ComparisonError
        If something is no picture, is too small, or has another size where nothing may be moved.
    """
    for name, picture in (("reference", reference), ("copy", copy)):
        check_picture(name, picture)
        if min(picture.shape[:2]) < SMALLEST_SIDE:
            raise ComparisonError(
                f"pictures to compare must have at least {SMALLEST_SIDE}×{SMALLEST_SIDE} pixels; "
                f"the {name} has {picture.shape[1]}×{picture.shape[0]}"
            )
    if mode == NONE and reference.shape[:2] != copy.shape[:2]:
        raise ComparisonError(size_differs(reference.shape, copy.shape))
    return (aligner or Aligner(reference)).align(copy, mode)


def after_geometry(alignment: Alignment, said: str) -> str:
    """Return an answer after what was done to the geometry.

    Parameters
    ----------
    alignment
        How the copy lies on the reference.
    said
        The answer about the pixels.
    """
    words = in_words(alignment)
    if not words:
        return said
    if said.startswith("The same picture"):
        beginning = "The same picture in grey" if "grey" in said else "The same picture"
        return f"{beginning}, {words[0].lower()}{words[1:]}."
    if said.startswith(("Not recognised", "Differs")):
        return f"{words}. {said}"
    return f"{words}; then {_continued(said)}"


def _continued(said: str) -> str:
    """Return a sentence as the continuation of another; names such as JPEG stay as they are."""
    if not said[1:2].islower() or said.startswith(_NAMES):
        return said
    return said[0].lower() + said[1:]
