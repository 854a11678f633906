"""Descriptors: the few numbers per block and picture that nearest neighbours are found by.

The paper compares the coordinates in the subspace only, Uᵀx or Θᵀk: `structural`. `extended` adds
three numbers: the block's mean (times √q, so that it weighs as much as it does in pixels), the
length of what lies outside the subspace, and that part's 4-norm, which a few wrong pixels raise
more than many slightly wrong ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.parallel import Workers
from isca_gui.core.pictures.blocks import centre
from isca_gui.core.progress import Progress, relay
from isca_gui.core.solvers.problem import PIECE, block_pieces

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.model.model import Model

DESCRIPTORS = {
    "extended": "coordinates in the subspace, mean, and two norms of what lies outside it",
    "structural": "coordinates in the subspace only, as in the paper",
}
DESCRIBING = "describing the pictures"
# How many numbers `extended` adds.
EXTRA = 3


def describe(model: Model, pictures: NDArray[Any]) -> NDArray[np.float32]:
    """Return the descriptors (block, image, p + 3) of pictures (image, height, width)."""
    found = np.empty(_shape(model, pictures), np.float32)
    known = iter(()) if model.kernel is None else block_pieces(model.kernel.pictures, model.grid)
    for index, blocks in enumerate(block_pieces(pictures, model.grid)):
        _fill(found, model, index * PIECE, blocks, next(known, None))
    return found


def describe_training(
    model: Model, pictures: NDArray[Any], workers: Workers
) -> Generator[Progress, object, NDArray[np.float32]]:
    """Return the descriptors of all training pictures, worked out on all threads.

    A request to stop is not passed on, because a model without descriptors cannot recognise.
    """
    found = np.empty(_shape(model, pictures), np.float32)
    size = model.grid.columns * max(1, -(-PIECE // model.grid.columns))  # whole rows of blocks

    def work(low: int, high: int) -> None:
        top, bottom = (place // model.grid.columns * model.grid.side for place in (low, high))
        blocks = model.grid.split_rows(pictures, top, bottom)
        known = (
            None
            if model.kernel is None
            else model.grid.split_rows(model.kernel.pictures, top, bottom)
        )
        _fill(found, model, low, blocks, known)

    yield Progress(0, 1, DESCRIBING)
    model.basis  # noqa: B018 - worked out once, not by every thread
    task = workers.each(work, model.grid.count, size)
    yield from relay(task, lambda report: replace(report, what=DESCRIBING))
    return found


def describe_all(
    model: Model, pictures: NDArray[Any], what: str, threads: int | None = None
) -> Generator[Progress, None, NDArray[np.float32]]:
    """Return the descriptors of pictures as a task of its own, which reports `what` it does."""
    with Workers(threads) as workers:
        task = describe_training(model, pictures, workers)
        return (yield from relay(task, lambda report: replace(report, what=what)))


def _shape(model: Model, pictures: NDArray[Any]) -> tuple[int, int, int]:
    return model.grid.count, len(pictures), model.settings.components + EXTRA


# What rounding leaves may underflow to zero: it is nothing beside one grey level.
@np.errstate(under="ignore")
def _fill(
    found: NDArray[np.float32],
    model: Model,
    start: int,
    blocks: NDArray[Any],
    known: NDArray[Any] | None,
) -> None:
    """Write the descriptors of some blocks (block, image, pixel) into their place among all."""
    here = slice(start, start + len(blocks))
    inside = model.project(blocks, here, known)
    outside, means = centre(blocks)
    if model.kernel is None:
        if model.offset is not None:
            outside -= model.offset[here, None]
        outside -= inside @ np.swapaxes(model.basis[here], 1, 2)
    p = inside.shape[2]
    found[here, :, :p] = inside
    found[here, :, p] = means * np.sqrt(model.grid.pixels)
    squares = np.square(outside)
    found[here, :, p + 1] = np.sqrt(squares.sum(axis=-1))
    found[here, :, p + 2] = np.sqrt(np.sqrt(np.square(squares).sum(axis=-1)))
