"""Steps that the damages share: random strengths, rounding, whole blocks, quantisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Picture = NDArray[np.uint8]
    Floats = NDArray[Any]


def log_uniform(random: np.random.Generator, low: float, high: float) -> float:
    """Return a number between two bounds whose logarithm is uniform."""
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def to_bytes(values: Floats) -> Picture:
    """Round to 8 bits; what is darker than black or brighter than white is cut off."""
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def whole_blocks(picture: Picture, side: int) -> Floats:
    """Return the picture with channels, extended to whole blocks by its last row and column."""
    values = np.atleast_3d(picture).astype(np.float64)
    height, width = values.shape[:2]
    return np.pad(values, [(0, -height % side), (0, -width % side), (0, 0)], mode="edge")


def cut_to(values: Floats, picture: Picture) -> Picture:
    """Return values as pixels of the shape of a picture, without what whole blocks have added."""
    cut = values[: picture.shape[0], : picture.shape[1]]
    return to_bytes(cut.reshape(picture.shape))


def quantised(values: Floats, step: Any) -> Floats:
    """Round to multiples of a step, with a dead zone around zero as encoders have it."""
    rounded: Floats = np.sign(values) * np.floor(np.abs(values) / step + 0.4) * step
    return rounded
