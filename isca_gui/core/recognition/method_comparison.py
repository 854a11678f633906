"""Compare methods on the same data, always beside a random subspace and the plain pixels."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from isca_gui.core.model import training
from isca_gui.core.model.descriptor import describe_all
from isca_gui.core.model.model import Model, TrainingExamples
from isca_gui.core.pictures.blocks import BlockGrid
from isca_gui.core.progress import Progress, relay
from isca_gui.core.recognition import evaluation
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.solvers.steps import CONVERGED, State, Step

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.recognition.evaluation import FreshScores, LeaveOneOut

    Result = TypeVar("Result")

RANDOM = "random"
PIXELS = "pixels"
# A comparison reports its progress in this many parts.
_PARTS = 1000
# Seconds on one core for 256×256 pixels and 121 pictures. They only divide a progress bar.
_DESCRIBING = 0.4
_PCA = 0.5
_KERNEL = 2.7
_DIRECT = 3.1
_EPOCH = 0.1
_KERNEL_EPOCH = 0.15
_LEAVING_ONE_OUT = 2.5
_MAKING = 0.03
_RECOGNISING = 0.02
# Recognising by pixels takes this many times as long: there are so many more numbers to compare.
_PIXELS_FACTOR = 3.0
# Labels of fresh pictures: six kinds, their fifteen pairs, and four that are untrained.
_LABELS = 25


@dataclass(frozen=True, eq=False)
class Row:
    """One method's row: how long it trained, in seconds, and how well it recognises.

    `fresh` is None where no fresh pictures were asked for.
    """

    name: str
    settings: TrainingSettings
    seconds: float
    leave_one_out: LeaveOneOut
    fresh: FreshScores | None


def compare(
    dataset: Dataset,
    settings: Sequence[TrainingSettings],
    fresh_count: int = 0,
    seed: int = 1,
    *,
    descriptor: str = "extended",
    rule: str = "evidence",
    threads: int | None = None,
) -> Generator[Progress, None, tuple[Row, ...]]:
    """Train with all settings, then score leave-one-out and the same fresh pictures.

    The last two rows are `random`, with the components of the first settings, and `pixels`, unless
    they are among the settings. Settings of the same name are numbered. The reports count
    thousandths of the whole.

    Parameters
    ----------
    dataset
        What is trained on.
    settings
        One row each.
    fresh_count
        Fresh pictures per kind, per pair of kinds and per untrained kind; 0 makes none.
    seed
        Seed of the fresh pictures.
    descriptor, rule
        How pictures are recognised, see `Recogniser`.
    threads
        How many threads to use; None takes one per core.
    """
    lines = _named(settings)
    bar = _Bar(lines, fresh_count)
    recognisers = []
    left_out = []
    seconds = []
    for name, each in lines.items():
        start = time.perf_counter()
        train = train_pixels if name == PIXELS else _train
        cost = _training_cost(name, each)
        model = yield from bar.follow(train(dataset, each, threads), name, cost)
        seconds.append(time.perf_counter() - start)
        task = evaluation.leave_one_out(model, descriptor, rule, threads)
        left_out.append((yield from bar.follow(task, name, _leaving_cost(name))))
        if fresh_count:
            recognisers.append(Recogniser(model, descriptor))
    fresh: Sequence[FreshScores | None] = [None] * len(lines)
    if fresh_count:
        pictures = evaluation.score_fresh(
            recognisers, dataset.reference, fresh_count, seed, rule=rule, threads=threads
        )
        fresh = yield from bar.follow(pictures, "all", bar.rest)
    rows = zip(lines.items(), seconds, left_out, fresh, strict=True)
    return tuple(Row(name, each, took, left, new) for (name, each), took, left, new in rows)


def _named(settings: Sequence[TrainingSettings]) -> dict[str, TrainingSettings]:
    """Return the settings of all rows by their names, with the two that are always compared."""
    first = settings[0] if settings else TrainingSettings()
    lines: dict[str, TrainingSettings] = {}
    for each in settings:
        name = name_of(each)
        earlier = sum(name_of(other) == name for other in lines.values())
        lines[f"{name} ({earlier + 1})" if earlier else name] = each
    lines.setdefault(RANDOM, replace(first, method=RANDOM))
    lines[PIXELS] = pixel_settings(first)
    return lines


def name_of(settings: TrainingSettings) -> str:
    """Return what sets settings apart: `isca`, `isca:direct`, `kernel-isca:rbf`."""
    words = [settings.method]
    if settings.uses_kernel:
        words.append(settings.kernel)
    if settings.solver == "direct" and settings.iterative:
        words.append("direct")
    return ":".join(words)


def pixel_settings(settings: TrainingSettings) -> TrainingSettings:
    """Return settings whose subspace is the whole space: one component per pixel of a block."""
    return replace(settings, method=RANDOM, components=settings.block**2)


def train_pixels(
    dataset: Dataset, settings: TrainingSettings, threads: int | None = None
) -> Generator[Progress, None, Model]:
    """Return a model whose U is the identity, so that it compares the pixels themselves.

    Its extended descriptor's distances are those of the blocks, to the last digit; the structural
    one leaves out the blocks' means.
    """
    settings = pixel_settings(settings).resolved()
    height, width = dataset.reference.shape
    grid = BlockGrid(height, width, settings.block)
    identity = np.eye(grid.pixels, dtype=np.float32)
    # The identity is the same in every block, so it is broadcast rather than copied.
    u = np.broadcast_to(identity, (grid.count, *identity.shape))
    nothing = np.broadcast_to(np.float32(0), u.shape)
    state = State(u, u, nothing, epoch=1)
    step = Step(1, 0.0, 0.0)
    model = Model(settings, grid, state, CONVERGED, (step,), dataset=dataset.digest())
    # U is orthonormal already; this fills the cache of the property that would work it out.
    vars(model)["basis"] = u
    found = yield from describe_all(model, dataset.pictures, "describing pixels", threads)
    levels = tuple(entry.achieved_mse for entry in dataset.entries)
    known = TrainingExamples(dataset.labels, levels, found)
    whole = replace(model, known=known)
    vars(whole)["basis"] = u
    return whole


def _train(
    dataset: Dataset, settings: TrainingSettings, threads: int | None
) -> Generator[Progress, None, Model]:
    """Train a model and report whole epochs; what comes before and after them counts as none."""
    task = training.train(dataset, settings, threads)
    epochs = settings.resolved().epochs or 1
    done = 0

    def whole_epochs(report: object) -> Progress:
        nonlocal done
        if isinstance(report, Step):
            done = report.epoch
        return Progress(min(done, epochs), epochs, "training")

    return (yield from relay(task, whole_epochs))


class _Bar:
    """Turns the progress of stages into that of the whole, by what each stage is likely to cost."""

    def __init__(self, lines: dict[str, TrainingSettings], fresh_count: int) -> None:
        costs = [_training_cost(name, each) + _leaving_cost(name) for name, each in lines.items()]
        models = len(lines) - 1 + _PIXELS_FACTOR
        self._total = sum(costs) + _LABELS * fresh_count * (_MAKING + _RECOGNISING * models)
        self._done = 0.0

    @property
    def rest(self) -> float:
        """The cost of all that is still to be done."""
        return self._total - self._done

    def follow(
        self, task: Generator[Progress, None, Result], name: str, cost: float
    ) -> Generator[Progress, None, Result]:
        """Yield a stage's progress as parts of the whole and return its result."""

        def part_of_whole(report: Progress) -> Progress:
            inside = cost * report.done / max(report.total, 1)
            place = round(_PARTS * (self._done + inside) / self._total)
            return Progress(min(place, _PARTS), _PARTS, f"{name}: {report.what}")

        result = yield from relay(task, part_of_whole)
        self._done += cost
        return result


def _training_cost(name: str, settings: TrainingSettings) -> float:
    if name == PIXELS or settings.method == RANDOM:
        return _DESCRIBING
    if settings.method == "pca":
        return _DESCRIBING + _PCA
    kernel = _KERNEL if settings.uses_kernel else 0.0
    if settings.method == "kernel-pca":
        return _DESCRIBING + kernel
    if settings.solver == "direct":
        return _DESCRIBING + kernel + _DIRECT
    epoch = _KERNEL_EPOCH if settings.uses_kernel else _EPOCH
    return _DESCRIBING + kernel + (settings.resolved().epochs or 1) * epoch


def _leaving_cost(name: str) -> float:
    return _LEAVING_ONE_OUT * (_PIXELS_FACTOR if name == PIXELS else 1)
