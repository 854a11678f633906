"""Methods compared on the same data, always with a random subspace and the plain pixels beside them."""

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

RANDOM, PIXELS = "random", "pixels"
_GLANCE = 0.05  # seconds between two reports of work that has none of its own
_PARTS = 1000  # of the whole, in the reports of a comparison
# Seconds of one core for 256×256 pixels and 121 pictures: shares of a progress bar, nothing else.
_DESCRIBING, _PCA, _KERNEL, _DIRECT, _EPOCH, _KERNEL_EPOCH = 0.4, 0.5, 2.7, 3.1, 0.1, 0.15
_LEAVING_ONE_OUT, _MAKING, _RECOGNISING = 2.5, 0.03, 0.02
_PIXELS = 3.0  # times as long, since there are so many more numbers to compare
_LABELS = 25  # of fresh pictures: six kinds, their pairs, and four that are untrained


@dataclass(frozen=True, eq=False)
class Row:
    """One method's line: how long it trained, in seconds, and how well it recognises.

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
    """Train all settings on a dataset, leave each of its pictures out once, recognise the same fresh ones.

    The last two rows are `random`, with the components of the first settings, and `pixels`, unless they are
    among the settings. Settings of the same name are numbered. The reports count thousandths of the whole.
    """
    first = settings[0] if settings else TrainingSettings()
    lines: dict[str, TrainingSettings] = {}
    for each in settings:
        name, earlier = (
            name_of(each),
            sum(name_of(other) == name_of(each) for other in lines.values()),
        )
        lines[f"{name} ({earlier + 1})" if earlier else name] = each
    lines.setdefault(RANDOM, replace(first, method=RANDOM))
    lines[PIXELS] = pixel_settings(first)
    bar = _Bar(lines, fresh_count)
    recognisers, found, seconds = [], [], []
    for name, each in lines.items():
        start = time.perf_counter()
        train = (
            train_pixels(dataset, each, threads)
            if name == PIXELS
            else _train(dataset, each, threads)
        )
        model = yield from bar.follow(train, name, _training_cost(name, each))
        seconds.append(time.perf_counter() - start)
        task = evaluation.leave_one_out(model, descriptor, rule, threads)
        found.append((yield from bar.follow(task, name, _leaving_cost(name))))
        if fresh_count:
            recognisers.append(Recogniser(model, descriptor))
    fresh: Sequence[FreshScores | None] = [None] * len(lines)
    if fresh_count:
        pictures = evaluation.fresh_all(
            recognisers, dataset.reference, fresh_count, seed, rule=rule, threads=threads
        )
        fresh = yield from bar.follow(pictures, "all", bar.rest)
    rows = zip(lines.items(), seconds, found, fresh, strict=True)
    return tuple(Row(name, each, took, left, new) for (name, each), took, left, new in rows)


def name_of(settings: TrainingSettings) -> str:
    """Name settings by what sets them apart: `isca`, `isca:direct`, `kernel-isca:rbf`."""
    words = [settings.method]
    words += [settings.kernel] if settings.uses_kernel else []
    words += ["direct"] if settings.solver == "direct" and settings.iterative else []
    return ":".join(words)


def pixel_settings(settings: TrainingSettings) -> TrainingSettings:
    """Give settings whose subspace is the whole space: as many components as a block has pixels."""
    return replace(settings, method=RANDOM, components=settings.block**2)


def train_pixels(
    dataset: Dataset, settings: TrainingSettings, threads: int | None = None
) -> Generator[Progress, None, Model]:
    """Make a model whose U is the identity, so that what it compares are the pixels themselves.

    Its extended descriptor's distances are those of the blocks, to the last digit; the structural one leaves
    out the blocks' means.
    """
    settings = pixel_settings(settings).resolved()
    height, width = dataset.reference.shape
    grid = BlockGrid(height, width, settings.block)
    identity = np.eye(grid.pixels, dtype=np.float32)
    u = np.broadcast_to(
        identity, (grid.count, *identity.shape)
    )  # no copy: it is the same in every block
    nothing = np.broadcast_to(np.float32(0), u.shape)
    step = Step(1, 0.0, 0.0)
    model = Model(
        settings, grid, State(u, u, nothing, epoch=1), CONVERGED, (step,), dataset=dataset.digest()
    )
    vars(model)["basis"] = u  # orthonormal already
    found = yield from describe_all(model, dataset.pictures, "describing pixels", threads)
    levels = tuple(entry.achieved_mse for entry in dataset.entries)
    known = TrainingExamples(dataset.labels, levels, found)
    whole = replace(model, known=known)
    vars(whole)["basis"] = u
    return whole


def _train(
    dataset: Dataset, settings: TrainingSettings, threads: int | None
) -> Generator[Progress, None, Model]:
    """Train, reporting whole epochs; what comes before the first and after the last has no length."""
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
    """Turns the reports of stages into those of the whole, by what each stage is likely to cost."""

    def __init__(self, lines: dict[str, TrainingSettings], fresh_count: int) -> None:
        costs = [_training_cost(name, each) + _leaving_cost(name) for name, each in lines.items()]
        one = _MAKING + _RECOGNISING * sum(_PIXELS if name == PIXELS else 1 for name in lines)
        self._total = sum(costs) + _LABELS * fresh_count * one
        self._done = 0.0

    @property
    def rest(self) -> float:
        """The cost of all that is not done."""
        return self._total - self._done

    def follow(
        self, task: Generator[Progress, None, Result], name: str, cost: float
    ) -> Generator[Progress, None, Result]:
        """Hand on a stage's reports as parts of the whole."""

        def part_of_whole(report: Progress) -> Progress:
            inside = cost * report.done / max(report.total, 1)
            place = round(_PARTS * (self._done + inside) / self._total)
            return Progress(min(place, _PARTS), _PARTS, f"{name}: {report.what}")

        result = yield from relay(task, part_of_whole)
        self._done += cost
        return result


def _training_cost(name: str, settings: TrainingSettings) -> float:
    resolved = settings.resolved()
    if name == PIXELS or settings.method == RANDOM:
        return _DESCRIBING
    if settings.method == "pca":
        return _DESCRIBING + _PCA
    kernel = _KERNEL if settings.uses_kernel else 0.0
    if settings.method == "kernel-pca":
        return _DESCRIBING + kernel
    if settings.solver == "direct":
        return _DESCRIBING + kernel + _DIRECT
    return _DESCRIBING + kernel + (resolved.epochs or 1) * (_KERNEL_EPOCH if kernel else _EPOCH)


def _leaving_cost(name: str) -> float:
    return _LEAVING_ONE_OUT * (_PIXELS if name == PIXELS else 1)
