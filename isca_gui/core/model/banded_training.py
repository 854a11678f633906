"""Train on pictures that are too large to be held: band by band, each to its end.

Blocks know nothing of each other. So a band of block rows is distorted, cut, trained and described
before the next one begins, and the memory is that of a band, whatever the size of the picture. All
numbers are those of a training on whole pictures; only V and J are not kept, so such a model cannot
be trained further.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from isca_gui.core.distortion.on_demand import Bands
from isca_gui.core.model.descriptor import EXTRA, describe_training
from isca_gui.core.model.model import Model, TrainingExamples
from isca_gui.core.pictures.blocks import BlockGrid
from isca_gui.core.progress import Cancelled, Progress
from isca_gui.core.settings import SettingsError
from isca_gui.core.solvers import baselines, driver
from isca_gui.core.solvers.problem import LANES, linear_problem
from isca_gui.core.solvers.steps import CONVERGED, MAX_EPOCHS, State, Step

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.distortion.on_demand import PicturesOnDemand
    from isca_gui.core.parallel import Workers
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.steps import Array, Result

    Returned = TypeVar("Returned")

TRAINING_BLOCKS = "training blocks"
# Bytes of pictures in a band; its coordinates take as much again.
BAND = 128 * 2**20
# The type in which U is kept. Blocks are described by what is kept, so that it serves as well.
KEPT = np.dtype(np.float16)
# Rows of pixels between places where blocks of JPEG begin.
_CODED = 8


def train_in_bands(
    dataset: Dataset,
    pictures: PicturesOnDemand,
    settings: TrainingSettings,
    digest: str,
    workers: Workers,
) -> Generator[Progress | Step, bool | None, Model]:
    """Train a linear model; stopped before the last band, there is nothing to keep.

    Parameters
    ----------
    dataset
        The dataset, with its entries.
    pictures
        Its pictures.
    settings
        How to train, `resolved`.
    digest
        That of the dataset.
    workers
        The threads to work on.
    """
    if settings.uses_kernel:
        raise SettingsError(
            "a kernel model holds all its training pictures, which are too large here; "
            "use isca or pca, fewer levels, or a smaller picture",
            field="method",
        )
    height, width = dataset.reference.shape
    grid = BlockGrid(height, width, settings.block)
    parts = _Parts(grid, settings, len(pictures))
    try:
        with Bands(pictures) as bands:
            yield from bands.prepare(workers)
            for low, high in band_rows(grid, len(pictures)):
                top = low * grid.side
                bottom = min(high * grid.side, height)
                band = yield from _silent(bands.read(top, bottom, workers), parts)
                yield from _train_band(band, low * grid.columns, parts, workers)
    except Cancelled:
        raise Cancelled(
            f"Stopped after {parts.done} of {grid.count} blocks, so there is no model to keep."
        ) from None
    yield parts.steps()[-1]
    return parts.model(dataset, digest)


def band_rows(grid: BlockGrid, images: int) -> list[tuple[int, int]]:
    """Return the first and last row of blocks of each band.

    Bands begin where sixteen blocks that are worked on side by side begin, and where blocks of
    JPEG do, so that no number depends on them.
    """
    step = math.lcm(LANES // math.gcd(LANES, grid.columns), _CODED // math.gcd(_CODED, grid.side))
    row = 4 * images * grid.columns * grid.pixels
    rows = max(1, BAND // (row * step)) * step
    return [(low, min(low + rows, grid.rows)) for low in range(0, grid.rows, rows)]


@dataclass(eq=False)
class _Parts:
    """What is kept of the bands: bases, descriptors and figures of the blocks so far."""

    grid: BlockGrid
    settings: TrainingSettings
    images: int
    done: int = 0
    results: list[tuple[int, Result]] = field(default_factory=list)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        p = self.settings.components
        shape = (self.grid.count, self.grid.pixels, p)
        self.u: Array = np.empty(shape, KEPT)
        self.offset: Array | None = None
        if self.settings.method == "pca":
            self.offset = np.empty(shape[:2], self.settings.precision)
        self.descriptors: NDArray[np.float32] = np.empty(
            (self.grid.count, self.images, p + EXTRA), np.float32
        )

    @property
    def progress(self) -> Progress:
        return Progress(self.done, self.grid.count, TRAINING_BLOCKS)

    def steps(self) -> tuple[Step, ...]:
        """Return the figures of all blocks after every epoch, as if they had run side by side.

        A band that ended sooner stays where it was.
        """
        longest = max(len(result.steps) for _, result in self.results)
        return tuple(self._step(epoch) for epoch in range(longest))

    def _step(self, epoch: int) -> Step:
        found = [
            (count, result.steps[min(epoch, len(result.steps) - 1)])
            for count, result in self.results
        ]
        shares = np.array([count for count, _ in found]) / self.grid.count

        def mean(name: str) -> float:
            return float(shares @ np.array([getattr(step, name) for _, step in found]))

        def root(name: str) -> float:
            squares = np.square([getattr(step, name) for _, step in found])
            return float(np.sqrt(shares @ squares))

        return Step(
            epoch=epoch + 1,
            error=mean("error"),
            objective=mean("objective"),
            primal=root("primal"),
            dual=root("dual"),
            orthonormality=max(step.orthonormality for _, step in found),
            gradient=root("gradient"),
            seconds=sum(step.seconds for _, step in found),
        )

    def model(self, dataset: Dataset, digest: str) -> Model:
        steps = self.steps()
        ends = {result.end for _, result in self.results}
        # V and J are nothing that recognition needs; an array of one zero stands for them.
        nothing = np.broadcast_to(np.zeros(1, self.u.dtype), self.u.shape)
        state = State(
            self.u,
            nothing,
            nothing,
            epoch=steps[-1].epoch,
            seconds=steps[-1].seconds,
            objective=steps[-1].objective,
            whole=False,
        )
        levels = tuple(entry.achieved_mse for entry in dataset.entries)
        return Model(
            self.settings,
            self.grid,
            state,
            MAX_EPOCHS if MAX_EPOCHS in ends else CONVERGED,
            steps,
            self.offset,
            dataset=digest,
            known=TrainingExamples(dataset.labels, levels, self.descriptors),
        )


def _train_band(
    band: NDArray[np.float32], first: int, parts: _Parts, workers: Workers
) -> Generator[Progress, bool | None, None]:
    """Train and describe the blocks of a band (image, row, column), from block `first` on."""
    settings = parts.settings
    grid = BlockGrid(band.shape[1], band.shape[2], settings.block)
    problem = yield from _silent(
        linear_problem(band, grid, settings.precision, workers, first, parts.grid.count), parts
    )
    offset = None
    if settings.method == "pca":
        result, offset = yield from _silent(baselines.pca(problem, settings, workers), parts)
    elif settings.method == "random":
        result = yield from _silent(baselines.random(problem, settings, workers), parts)
    else:
        result = yield from _silent(driver.solve(problem, settings, workers), parts)
    del problem
    here = slice(first, first + grid.count)
    kept = replace(result.state, u=result.state.u.astype(KEPT))
    model = Model(settings, grid, kept, result.end, offset=offset)
    found = yield from _silent(describe_training(model, band, workers), parts)
    parts.u[here] = kept.u
    if parts.offset is not None and offset is not None:
        parts.offset[here] = offset
    parts.descriptors[here] = found
    # Only the figures are kept: matrices of all bands would take three times the memory.
    empty = np.empty((0, 0, 0), parts.u.dtype)
    state = State(empty, empty, empty)
    parts.results.append((grid.count, type(result)(state, result.end, result.steps)))
    parts.done += grid.count
    yield parts.progress


def _silent(
    task: Generator[Any, Any, Returned], parts: _Parts
) -> Generator[Progress, bool | None, Returned]:
    """Run a task of a band; each of its reports becomes one about the blocks that are done."""
    with contextlib.closing(task):
        while True:
            try:
                next(task)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if (yield parts.progress):
                raise Cancelled("Stopped within a band.")
