"""Where a copy was changed: blocks, regions, and the rectangle in which a region is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.comparison.pair import Pair

    Mask = NDArray[np.bool_]

SIDE = 8
_BAND = 64 * SIDE
_CHANGED = 0.75
_VOTE = 0.34
# A region has at least this many blocks, and this share of all blocks.
_FEWEST_BLOCKS = 9
_LEAST_SHARE = 0.002
_MOST_REGIONS = 8
# Reference blocks below this deviation show nothing of a blur or a codec, wherever it was.
_FLAT = 4.0
_UNTOUCHED_SHARE = 0.05
# Sparse impulses everywhere hit more blocks than this between the areas that look changed.
_STRAY_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Region:
    """A connected part of the picture that was changed.

    Parameters
    ----------
    blocks
        The blocks that belong to it, shape (rows, columns) of the whole grid.
    top, bottom, left, right
        The largest rectangle inside, in pixels.
    """

    blocks: Mask
    top: int
    bottom: int
    left: int
    right: int

    @property
    def share(self) -> float:
        """Share of the picture's blocks."""
        return float(self.blocks.mean())


@dataclass(frozen=True, eq=False)
class BlockMaps:
    """What is known of each block, shape (rows, columns); blocks on the rim may be smaller.

    Parameters
    ----------
    largest
        The largest change of any sample.
    errors
        The mean squared change of the luma.
    activity
        The standard deviation of the reference's luma.
    """

    largest: NDArray[np.float64]
    errors: NDArray[np.float64]
    activity: NDArray[np.float64]

    @property
    def changed(self) -> Mask:
        """The blocks with any visible change."""
        found: Mask = self.largest >= _CHANGED
        return found


def measure_blocks(pair: Pair) -> BlockMaps:
    """Return the maps of a pair, worked out in bands of rows to keep memory small."""
    bands = [
        _measure_band(pair, top, top + _BAND) for top in range(0, pair.reference.shape[0], _BAND)
    ]
    return BlockMaps(
        largest=np.concatenate([band[0] for band in bands]),
        errors=np.concatenate([band[1] for band in bands]),
        activity=np.concatenate([band[2] for band in bands]),
    )


def _measure_band(pair: Pair, top: int, bottom: int) -> tuple[NDArray[np.float64], ...]:
    reference = pair.reference_luma[top:bottom]
    change = pair.copy_luma[top:bottom] - reference
    size = np.abs(change)
    if pair.reference.ndim == 3:
        samples = np.abs(pair.copy[top:bottom] - pair.reference[top:bottom])
        size = np.maximum(size, samples.max(2))
    count = _pixels(reference.shape)
    mean = _per_block(reference, np.add) / count
    variance = _per_block(reference * reference, np.add) / count - mean**2
    return (
        _per_block(size, np.maximum),
        _per_block(change * change, np.add) / count,
        np.sqrt(np.maximum(variance, 0)),
    )


def smoothed(changed: Mask) -> Mask:
    """Return the blocks around which a third is changed: sparse impulses become an area."""
    share = ndimage.uniform_filter(changed.astype(np.float32), 3, mode="nearest")
    found: Mask = share >= _VOTE
    return found


def damaged_regions(maps: BlockMaps, height: int, width: int) -> list[Region]:
    """Return the regions of a damage in parts of the picture; none if it is everywhere.

    A damage of the whole picture leaves flat blocks untouched. It is in parts only where blocks
    with structure are untouched as well, and lie together.
    """
    changed = maps.changed
    area = smoothed(changed)
    lively = maps.activity > _FLAT
    if not lively.any():
        lively = np.ones_like(lively)
    untouched = ndimage.binary_opening(~area, np.ones((3, 3)))
    if untouched[lively].mean() < _UNTOUCHED_SHARE or changed[untouched].mean() > _STRAY_SHARE:
        return []
    labels, count = ndimage.label(area, np.ones((3, 3)))
    regions = []
    for label in range(1, count + 1):
        blocks = labels == label
        if blocks.sum() < max(_FEWEST_BLOCKS, _LEAST_SHARE * blocks.size):
            continue
        regions.append(_region(blocks, changed, height, width))
    regions.sort(key=lambda region: -region.share)
    return regions[:_MOST_REGIONS]


def _region(blocks: Mask, changed: Mask, height: int, width: int) -> Region:
    """Return a region with its rectangle, without the rim that smoothing has added."""
    inside = (
        blocks
        & ndimage.binary_closing(np.pad(changed, 2, mode="edge"), np.ones((3, 3)))[2:-2, 2:-2]
    )
    top, bottom, left, right = largest_rectangle(inside if inside.any() else blocks)
    return Region(
        blocks,
        top * SIDE,
        min(bottom * SIDE, height),
        left * SIDE,
        min(right * SIDE, width),
    )


def largest_rectangle(mask: Mask) -> tuple[int, int, int, int]:
    """Return top, bottom, left, right of the largest rectangle of True, ends exclusive."""
    best = (0, 0, 0, 0, 0)
    heights = np.zeros(mask.shape[1], dtype=np.int64)
    for row, line in enumerate(mask):
        heights = np.where(line, heights + 1, 0)
        best = max(best, _largest_under(heights, row))
    return best[1], best[2], best[3], best[4]


def _largest_under(heights: NDArray[np.int64], row: int) -> tuple[int, int, int, int, int]:
    """Return area, top, bottom, left, right of the largest rectangle under a skyline."""
    best = (0, 0, 0, 0, 0)
    open_columns: list[tuple[int, int]] = []
    for column, height in enumerate([*heights.tolist(), 0]):
        start = column
        while open_columns and open_columns[-1][1] >= height:
            start, tall = open_columns.pop()
            area = tall * (column - start)
            if area > best[0]:
                best = (area, row + 1 - tall, row + 1, start, column)
        open_columns.append((start, height))
    return best


def spread(blocks: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the values of blocks for each pixel of a picture of a shape."""
    whole = np.repeat(np.repeat(blocks, SIDE, axis=0), SIDE, axis=1)
    found: NDArray[Any] = whole[: shape[0], : shape[1]]
    return found


def place_in_words(blocks: Mask) -> str:
    """Return where most of an area lies, such as "upper left"."""
    rows, columns = np.nonzero(blocks)
    vertical = _third(rows.mean() / max(blocks.shape[0] - 1, 1), ("upper", "", "lower"))
    horizontal = _third(columns.mean() / max(blocks.shape[1] - 1, 1), ("left", "", "right"))
    words = " ".join(word for word in (vertical, horizontal) if word)
    return words or "middle"


def _third(place: float, names: tuple[str, str, str]) -> str:
    if place < 0.4:
        return names[0]
    return names[1] if place <= 0.6 else names[2]


def _starts(size: int) -> NDArray[np.intp]:
    return np.arange(0, size, SIDE)


def _per_block(values: NDArray[np.float32], combine: np.ufunc) -> NDArray[np.float64]:
    rows = combine.reduceat(values, _starts(values.shape[0]), axis=0)
    found: NDArray[np.float64] = combine.reduceat(
        rows, _starts(values.shape[1]), axis=1, dtype=np.float64
    )
    return found


def _pixels(shape: tuple[int, ...]) -> NDArray[np.int64]:
    heights = np.diff([*_starts(shape[0]), shape[0]])
    widths = np.diff([*_starts(shape[1]), shape[1]])
    return np.outer(heights, widths)
