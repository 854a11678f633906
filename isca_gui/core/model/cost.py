"""What a training will cost: time, memory and disk, told before it is paid.

The time is measured, not looked up: a part from the middle of the very picture is distorted and
trained with the same settings, and the time grows with the number of blocks. Memory and disk follow
from the sizes of the arrays.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.distortion import dataset as datasets
from isca_gui.core.model import banded_training, training
from isca_gui.core.model.descriptor import EXTRA
from isca_gui.core.pictures.blocks import BlockGrid
from isca_gui.core.progress import Progress, relay
from isca_gui.core.solvers.steps import Step

if TYPE_CHECKING:
    from collections.abc import Generator

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.distortion.dataset_spec import DatasetSpec
    from isca_gui.core.distortion.distortions import Picture
    from isca_gui.core.settings import TrainingSettings

# Pixels of a side of the part that is measured, and epochs of ADMM it is trained for.
_SIDE = 256
_EPOCHS = 4
# The program itself with its libraries, in bytes.
_PROGRAM = 170e6
# Bytes per pixel that measuring and distorting large pictures take.
_DISTORTING = 60
# Bytes of coordinates that a problem holds at most.
_COORDINATES = 640 * 2**20
# The larger share of what is free, above which one should be asked first.
ASK_ABOVE = 0.6
MEASURING = "measuring this computer"


@dataclass(frozen=True)
class Cost:
    """Seconds, bytes of memory at the peak, bytes of the model's file and of temporary files."""

    seconds: float
    memory: float
    disk: float
    temporary: float = 0.0


def estimate(
    reference: Picture,
    spec: DatasetSpec,
    settings: TrainingSettings,
    threads: int | None = None,
) -> Generator[Progress, None, Cost]:
    """Return what making a dataset of a picture and training on it will cost.

    Parameters
    ----------
    reference
        Shape (height, width).
    spec, settings
        What to make of it, and how to train.
    threads
        How many threads will be used; None takes one per core.
    """
    settings = settings.resolved()
    shape = (reference.shape[0], reference.shape[1])
    part = _middle(reference)
    # The first call pays for imports and caches, which the training will not pay again.
    few = replace(spec, levels=spec.levels[:1])
    yield from relay(datasets.generate(part, few, threads), _measuring)
    begun = time.perf_counter()
    made = yield from relay(datasets.generate(part, spec, threads), _measuring)
    distorting = time.perf_counter() - begun
    trained = yield from _training_seconds(made, settings, threads)
    images = 1 + len(spec.kinds) * len(spec.levels)
    growth = reference.size / part.size
    banded = not datasets.held_bytes(shape, images)
    # In bands every picture is made twice: when its strength is found, and to be trained on.
    seconds = growth * (distorting * (1.7 if banded else 1.0) + trained)
    return Cost(
        seconds,
        memory_bytes(shape, images, settings),
        file_bytes(shape, images, settings),
        _spooled(shape, spec) if banded else 0.0,
    )


def memory_bytes(shape: tuple[int, int], images: int, settings: TrainingSettings) -> float:
    """Return about how much memory a training takes at its peak.

    Parameters
    ----------
    shape
        Height and width of the pictures.
    images
        How many there are, with the reference.
    settings
        How to train.
    """
    grid = BlockGrid(*shape, settings.block)
    size = np.dtype(settings.precision).itemsize
    basis = grid.count * grid.pixels * settings.components * size
    descriptors = 4.0 * grid.count * images * (settings.components + EXTRA)
    pictures = 4.0 * images * grid.count * grid.pixels
    if datasets.held_bytes(shape, images):
        coordinates = min(pictures * size / 4, _COORDINATES)
        if settings.uses_kernel:
            coordinates = float(size * grid.count * images * min(images, 2 * grid.pixels))
        states = 7 if settings.iterative else 3
        return _PROGRAM + pictures + coordinates + states * basis + descriptors
    model = basis / size * (2 + size) + descriptors
    distorting = _DISTORTING * shape[0] * shape[1]
    return _PROGRAM + max(model + 3 * banded_training.BAND, distorting) + 4.0 * shape[0] * shape[1]


def file_bytes(shape: tuple[int, int], images: int, settings: TrainingSettings) -> float:
    """Return about how large a model's file will be; the arguments are those of `memory_bytes`."""
    grid = BlockGrid(*shape, settings.block)
    size = np.dtype(settings.precision).itemsize
    matrix = float(grid.count * grid.pixels * settings.components)
    numbers = float(grid.count * images * (settings.components + EXTRA))
    if settings.uses_kernel:
        width = min(images, 2 * grid.pixels)
        theta = grid.count * images * settings.components * size
        pictures = 4.0 * images * shape[0] * shape[1]
        return pictures + theta + 4 * numbers + 3 * size * matrix / grid.pixels * width
    offset = size * matrix / settings.components if settings.method == "pca" else 0.0
    if not datasets.held_bytes(shape, images):
        return 2 * matrix + 1.5 * numbers + offset
    if 3 * size * matrix + 4 * numbers <= 8e6:
        return 3 * size * matrix + 4 * numbers + offset
    return (size + 4) * matrix + 2 * numbers + offset


def pictures_that_fit(
    shape: tuple[int, int], settings: TrainingSettings, memory: float, most: int
) -> int:
    """Return how many training pictures, up to `most`, so much memory is enough for."""
    for images in range(most, 1, -1):
        if memory_bytes(shape, images, settings) <= memory:
            return images
    return 0


def _middle(reference: Picture) -> Picture:
    """Return a part from the middle of a picture, whose blocks are whole."""
    height, width = reference.shape
    top = max(0, (height - _SIDE) // 2) // 8 * 8
    left = max(0, (width - _SIDE) // 2) // 8 * 8
    return np.ascontiguousarray(reference[top : top + _SIDE, left : left + _SIDE])


def _training_seconds(
    made: Dataset, settings: TrainingSettings, threads: int | None
) -> Generator[Progress, None, float]:
    """Return the seconds of a whole training, of which ADMM does the first epochs only."""
    epochs = settings.epochs or 1
    few = settings
    if settings.iterative and settings.solver == "admm":
        few = replace(settings, epochs=min(_EPOCHS, epochs))
        # Compiling is not part of every training.
        yield from relay(training.train(made, replace(few, epochs=1), threads), _measuring)
    steps: list[Step] = []

    def note(report: object) -> Progress:
        if isinstance(report, Step):
            steps.append(report)
        return Progress(0, 1, MEASURING)

    begun = time.perf_counter()
    yield from relay(training.train(made, few, threads), note)
    whole = time.perf_counter() - begun
    if few is settings or len(steps) < 2:
        return whole
    each = (steps[-1].seconds - steps[0].seconds) / (len(steps) - 1)
    return whole + each * (epochs - len(steps))


def _spooled(shape: tuple[int, int], spec: DatasetSpec) -> float:
    """Return about how many bytes of temporary files a training in bands writes."""
    kinds = {"blur": 4.0, "jpeg": 1.0}
    local = {"contrast", "luminance", "gaussian-noise", "impulse"}
    each = sum(0.0 if kind in local else kinds.get(kind, 4.0) for kind in spec.kinds)
    return each * len(spec.levels) * shape[0] * shape[1]


def _measuring(_: object) -> Progress:
    return Progress(0, 1, MEASURING)
