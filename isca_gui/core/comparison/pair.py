"""A reference and its copy, laid on one another."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

# Rec. 601, as in JPEG: the luma of a decoded JPEG file is the luma that was quantised.
LUMA_WEIGHTS = np.array([0.299, 0.587, 0.114], dtype=np.float32)
SMALLEST_SIDE = 32


class ComparisonError(Exception):
    """Two pictures cannot be compared; the message says why."""


def luma(picture: Floats) -> Floats:
    """Return the luma of a grey or colour picture, shape (height, width)."""
    if picture.ndim == 2:
        return picture
    return np.ascontiguousarray(picture @ LUMA_WEIGHTS)


@dataclass(frozen=True, eq=False)
class Pair:
    """A reference and a copy of the same size, float32 on the scale 0 to 255.

    Parameters
    ----------
    reference, copy
        Grey (height, width) or colour (height, width, 3); both of the same shape.
    was_colour
        Whether the reference has colours that the copy has not.
    """

    reference: Floats
    copy: Floats
    was_colour: bool = False

    @functools.cached_property
    def reference_luma(self) -> Floats:
        """The reference's luma."""
        return luma(self.reference)

    @functools.cached_property
    def copy_luma(self) -> Floats:
        """The copy's luma."""
        return luma(self.copy)

    @functools.cached_property
    def change(self) -> Floats:
        """Copy minus reference, in luma."""
        return self.copy_luma - self.reference_luma

    @functools.cached_property
    def mse(self) -> float:
        """Mean squared change of the luma."""
        return float(np.mean(np.square(self.change), dtype=np.float64))

    @property
    def channels(self) -> list[tuple[Floats, Floats]]:
        """The channels of reference and copy, one pair each."""
        if self.reference.ndim == 2:
            return [(self.reference, self.copy)]
        return [(self.reference[..., k], self.copy[..., k]) for k in range(3)]

    def crop(self, top: int, bottom: int, left: int, right: int) -> Pair:
        """Return a part of both pictures."""
        place = (slice(top, bottom), slice(left, right))
        return Pair(
            np.ascontiguousarray(self.reference[place]), np.ascontiguousarray(self.copy[place])
        )


def make_pair(reference: NDArray[Any], copy: NDArray[Any]) -> Pair:
    """Return a pair of two pictures in [0, 1]; where only one has colour, both become grey.

    Raises
    ------
    ComparisonError
        If the sizes differ, the pictures are too small, or something is no picture at all.
    """
    for name, picture in (("reference", reference), ("copy", copy)):
        check_picture(name, picture)
    if reference.shape[:2] != copy.shape[:2]:
        raise ComparisonError(size_differs(reference.shape, copy.shape))
    if min(reference.shape[:2]) < SMALLEST_SIDE:
        raise ComparisonError(
            f"pictures to compare must have at least {SMALLEST_SIDE}×{SMALLEST_SIDE} pixels; "
            f"these have {reference.shape[1]}×{reference.shape[0]}"
        )
    scaled = [np.asarray(each, np.float32) * np.float32(255) for each in (reference, copy)]
    if scaled[0].ndim != scaled[1].ndim:
        scaled = [luma(each) for each in scaled]
    return Pair(scaled[0], scaled[1], was_colour=reference.ndim > copy.ndim)


def size_differs(reference: tuple[int, ...], copy: tuple[int, ...]) -> str:
    """Return why pictures of two shapes cannot lie on one another pixel by pixel."""
    return (
        f"the copy has {copy[1]}×{copy[0]} pixels, the reference {reference[1]}×{reference[0]}. "
        "Only copies of the same size lie on it pixel by pixel."
    )


def check_picture(name: str, picture: NDArray[Any]) -> None:
    """Raise a ComparisonError where something is no picture."""
    if picture.ndim != 2 and picture.shape[2:] != (3,):
        raise ComparisonError(
            f"the {name} is neither grey (height, width) nor RGB (height, width, 3) but has the "
            f"shape {picture.shape}"
        )
    if not np.isfinite(picture).all():
        raise ComparisonError(f"the {name} has values that are NaN or infinite")
