"""The paper's Section 6 end to end: data, eight methods, Figures 1 to 5, Table 1, and a report.

Each stage's result is kept in the folder `work` with a stamp of all that decides it. Interrupted, the
reproduction goes on with the first stage that is not there, and ends in the same results.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from isca_gui.core.distortion import dataset, dataset_folder, strength_search
from isca_gui.core.distortion.dataset import Dataset, Entry, Unreachable, picture_seed
from isca_gui.core.distortion.distortions import ORIGINAL
from isca_gui.core.distortion.strength_search import UnreachableError
from isca_gui.core.model import training
from isca_gui.core.paper import output
from isca_gui.core.paper.plan import (
    EXTENDED,
    PUBLISHED,
    TEST_LABELS,
    TEST_MSE,
    TEST_SEED,
    plan,
    shrunk,
)
from isca_gui.core.paper.results import (
    CURVES,
    Confusion,
    Findings,
    MethodResult,
    Probe,
    TrialResult,
)
from isca_gui.core.paper.stage_cache import (
    WORK,
    PaperError,
    StageCache,
    check_finished,
    open_folder,
)
from isca_gui.core.parallel import Workers
from isca_gui.core.pictures import ssim
from isca_gui.core.pictures.blocks import BlockGrid
from isca_gui.core.progress import Progress, relay
from isca_gui.core.recognition import evaluation
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.solvers.steps import Step

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator
    from pathlib import Path

    from isca_gui.core.distortion.distortions import Picture
    from isca_gui.core.model.model import Model
    from isca_gui.core.paper.plan import Method, Plan

    Result = TypeVar("Result")

PARTS = 10_000  # of the one scale of progress
_DATASET, _TESTS = "dataset", "tests"
# About what the stages take on two cores, in seconds; training is in the table of methods.
_DATASET_SECONDS, _TESTS_SECONDS, _OUTPUT_SECONDS = 2.0, 0.5, 12.0
_RECOGNITION_SECONDS, _KERNEL_TESTS_SECONDS, _LEAST_SECONDS = 8.0, 2.0, 0.5
_BLOCKS, _PICTURES = 4096, 121  # in that case


@dataclass(frozen=True)
class Results:
    """What was written, and what was found."""

    report: Path
    results: Path
    figures: tuple[Path, ...]
    tables: tuple[Path, ...]
    findings: Findings


def reproduce(
    reference: Picture,
    folder: str | os.PathLike[str],
    *,
    quick: bool = False,
    threads: int | None = None,
    name: str = "picture",
    overwrite: bool = False,
) -> Generator[Progress, None, Results]:
    """Run the paper's experiments on a picture and write a report; `name` is what the picture is called.

    Closing the generator stops it; called again with the same picture and folder, it goes on from there.
    The report on another picture is replaced only with `overwrite`.
    """
    target = open_folder(folder)
    run = _Run(
        shrunk(np.ascontiguousarray(reference), quick=quick),
        target / WORK,
        plan(quick=quick),
        threads,
    )
    if not overwrite:
        check_finished(target, run.digest, quick)
    yield run.scale.at("looking at what is there")
    made = yield from run.dataset()
    if len(made.entries) < 2:
        raise PaperError(
            "This picture cannot be distorted to any of the levels. Choose another picture."
        )
    tests = yield from run.tests()
    found = []
    for method in run.plan.methods:
        found.append((yield from run.method(method, made, tests)))
    isca = yield from run.model(run.plan.methods[0], made)
    findings = Findings(
        name, run.plan, made, run.digest, tuple(_described(tests)), tuple(found), dict(run.seconds)
    )
    task = output.write(target, findings, isca, tests)
    written = yield from run.scale.during("output", task, _share)
    yield Progress(PARTS, PARTS, "done")
    return Results(*written, findings)


class _Scale:
    """One scale of progress over all stages, each as long as it is expected to take."""

    def __init__(self, weights: dict[str, float]) -> None:
        total = sum(weights.values())
        self._parts = {stage: PARTS * weight / total for stage, weight in weights.items()}
        self._finished: set[str] = set()
        self._most = 0

    def skip(self, *stages: str) -> None:
        """Count stages as done."""
        self._finished.update(stages)

    def at(self, what: str, stage: str | None = None, share: float = 0.0) -> Progress:
        """Say where we are: all finished stages and a share of another; never less than before."""
        done = sum(self._parts[name] for name in self._finished)
        if stage is not None and stage not in self._finished:
            done += self._parts[stage] * min(max(share, 0.0), 1.0)
        self._most = max(self._most, min(int(done), PARTS - 1))
        return Progress(self._most, PARTS, what)

    def during(
        self,
        stage: str,
        task: Generator[Any, None, Result],
        share: Callable[[Any], float],
        what: str | None = None,
        part: tuple[float, float] = (0.0, 1.0),
    ) -> Generator[Progress, None, Result]:
        """Run a task as a stage, or as a part of one; `share` says how far a report of the task is."""
        low, high = part

        def on_this_scale(report: Any) -> Progress:
            return self.at(what or report.what, stage, low + (high - low) * share(report))

        answer = yield from relay(task, on_this_scale)
        if high >= 1.0:
            self.skip(stage)
        return answer


class _Run:
    """The stages, each taken from what is kept or made anew."""

    def __init__(self, reference: Picture, folder: Path, how: Plan, threads: int | None) -> None:
        self.reference, self.plan, self._threads = reference, how, threads
        self.digest = dataset_folder.reference_hash(reference)
        origin = f"{self.digest} {reference.shape} {how.dataset}"
        self._work = StageCache(folder, origin)
        self.seconds: dict[str, float] = {}
        self.scale = _Scale(self._weights())
        for method in how.methods:
            if self._kept(method) is not None:
                self.scale.skip(f"train {method.key}", f"recognise {method.key}")

    def dataset(self) -> Generator[Progress, None, Dataset]:
        """Make the training pictures."""
        task = dataset.generate(self.reference, self.plan.dataset, self._threads)
        return (yield from self._pictures(_DATASET, asdict(self.plan.dataset), task))

    def tests(self) -> Generator[Progress, None, Dataset]:
        """Make the test pictures, behind the reference."""
        task = _make_tests(self.reference, self._threads)
        return (yield from self._pictures(_TESTS, [TEST_LABELS, TEST_MSE, TEST_SEED], task))

    def method(
        self, method: Method, made: Dataset, tests: Dataset
    ) -> Generator[Progress, None, MethodResult]:
        """Train a method and recognise with it; models of kernels are large and are not kept after that."""
        kept = self._kept(method)
        if kept is not None:
            found, self.seconds[f"train {method.key}"], self.seconds[f"recognise {method.key}"] = (
                kept
            )
            return found
        model = yield from self.model(method, made)
        start = time.perf_counter()
        found = yield from self._recognised(method, model, tests)
        self.seconds[f"recognise {method.key}"] = time.perf_counter() - start
        seconds = [self.seconds[f"{stage} {method.key}"] for stage in ("train", "recognise")]
        self._work.keep(
            method.key, self._stamp(method), {"found": asdict(found), "seconds": seconds}
        )
        if method.settings.uses_kernel:
            self._work.drop_model(method.key)
        return found

    def model(self, method: Method, made: Dataset) -> Generator[Progress, None, Model]:
        """Train a method, or take its model if it is there."""
        stage, settings, digest = f"train {method.key}", method.settings.resolved(), made.digest()
        yield self.scale.at(f"{method.title}: preparing", stage)
        known = self._work.kept(f"{method.key}-training", self._stamp(method))
        model = self._work.load_model(method.key, settings, digest) if known is not None else None
        if model is None:
            start = time.perf_counter()
            task = training.train(made, method.settings, self._threads)
            what = f"{method.title}: training"
            model = yield from self.scale.during(stage, task, _Epochs(method), what, (0.0, 0.99))
            self._work.save_model(method.key, model)
            taken = time.perf_counter() - start
            self._work.keep(f"{method.key}-training", self._stamp(method), {"seconds": taken})
        self.scale.skip(stage)
        taken = (self._work.kept(f"{method.key}-training", self._stamp(method)) or {}).get(
            "seconds", 0.0
        )
        self.seconds.setdefault(stage, float(taken))
        return model

    def _recognised(
        self, method: Method, model: Model, tests: Dataset
    ) -> Generator[Progress, None, MethodResult]:
        """Leave one out and recognise the test pictures, as published and as the program does by itself."""
        stage, confusions, answers = f"recognise {method.key}", [], []
        for place, (how, answer) in enumerate(
            ((PUBLISHED, TrialResult.by_votes), (EXTENDED, TrialResult.by_evidence))
        ):
            low = place / 2
            left_out = evaluation.leave_one_out(model, *how, self._threads)
            what = f"{method.title}: leaving one out"
            found = yield from self.scale.during(stage, left_out, _share, what, (low, low + 0.4))
            confusions.append(Confusion.of(found))
            task = _answers(model, tests, how, answer, self._threads)
            what = f"{method.title}: test pictures"
            answers.append(
                (yield from self.scale.during(stage, task, _share, what, (low + 0.4, low + 0.5)))
            )
        steps = {name: tuple(float(getattr(step, name)) for step in model.steps) for name in CURVES}
        return MethodResult(
            key=method.key,
            settings=asdict(model.settings),
            end=model.end,
            curves=steps,
            published=confusions[0],
            extended=confusions[1],
            published_tests=answers[0],
            extended_tests=answers[1],
            reconstruction=() if model.kernel is not None else tuple(_reconstructed(model, tests)),
        )

    def _kept(self, method: Method) -> tuple[MethodResult, float, float] | None:
        kept = self._work.kept(method.key, self._stamp(method))
        try:
            if kept is None:
                return None
            train, recognise = map(float, kept["seconds"])
            return MethodResult.read(kept["found"]), train, recognise
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    def _stamp(self, method: Method) -> str:
        return self._work.stamp(method.key, asdict(method.settings.resolved()))

    def _pictures(
        self, name: str, settings: object, task: Generator[Progress, None, Dataset]
    ) -> Generator[Progress, None, Dataset]:
        """Take pictures from what is kept, or make and keep them."""
        stamp = self._work.stamp(name, settings)
        kept = self._work.kept(name, stamp)
        if kept is not None:
            load = self._work.load_dataset(name, str(kept.get("digest")))
            made = yield from self.scale.during(
                name, load, _share, f"reading the {name}", (0.0, 0.5)
            )
            if made is not None:
                self.scale.skip(name)
                self.seconds[name] = float(kept.get("seconds", 0.0))
                return made
        start = time.perf_counter()
        made = yield from self.scale.during(name, task, _share, f"making the {name}", (0.0, 0.5))
        save = self._work.save_dataset(name, made)
        yield from self.scale.during(name, save, _share, f"saving the {name}", (0.5, 1.0))
        self.seconds[name] = time.perf_counter() - start
        self._work.keep(name, stamp, {"digest": made.digest(), "seconds": self.seconds[name]})
        return made

    def _weights(self) -> dict[str, float]:
        """Give about the seconds of every stage; only their ratios matter."""
        height, width = self.reference.shape
        pictures = 1 + len(self.plan.dataset.kinds) * len(self.plan.dataset.levels)
        blocks = BlockGrid(height, width, 8).count / _BLOCKS
        size = blocks * pictures / _PICTURES
        weights = {_DATASET: _DATASET_SECONDS * size + 0.3, _TESTS: _TESTS_SECONDS * blocks + 0.3}
        for method in self.plan.methods:
            kernel = _KERNEL_TESTS_SECONDS * method.settings.uses_kernel
            recognise = (_RECOGNITION_SECONDS * pictures / _PICTURES + kernel) * size
            weights[f"train {method.key}"] = method.seconds * size + _LEAST_SECONDS
            weights[f"recognise {method.key}"] = recognise + _LEAST_SECONDS
        return {**weights, "output": _OUTPUT_SECONDS * (0.5 + 0.5 * min(blocks, 4.0))}


class _Epochs:
    """How far a training is: what comes before the epochs, the epochs, and what comes after."""

    def __init__(self, method: Method) -> None:
        self._epochs = method.settings.resolved().epochs or 1
        self._before, self._after, self._epoch = method.before, method.after, 0

    def __call__(self, report: Any) -> float:
        if isinstance(report, Step):
            self._epoch, within = report.epoch, 0.0
        else:
            within = report.done / max(report.total, 1)
        if self._epoch == 0:
            return self._before * within
        if self._epoch >= self._epochs:
            return 1 - self._after + self._after * within
        return (
            self._before + (1 - self._before - self._after) * (self._epoch + within) / self._epochs
        )


def _share(report: Progress) -> float:
    return report.done / max(report.total, 1)


def _make_tests(reference: Picture, threads: int | None) -> Generator[Progress, None, Dataset]:
    """Make the twelve test pictures with noise of their own; what cannot be reached is left out."""

    def make(label: str) -> tuple[Picture, Entry] | Unreachable:
        try:
            one = strength_search.distort(
                reference, label, TEST_MSE, picture_seed(TEST_SEED, label, TEST_MSE)
            )
        except UnreachableError as error:
            return Unreachable(error.kind, error.target, error.maximum)
        return one.picture, Entry(label, TEST_MSE, one.achieved_mse, one.strength, one.seed)

    with Workers(threads) as workers:
        ordered = yield from workers.collect(make, TEST_LABELS, "test pictures")
    reached = [one for one in ordered if not isinstance(one, Unreachable)]
    entries = (Entry(ORIGINAL, 0.0, 0.0, 0.0, TEST_SEED), *(entry for _, entry in reached))
    missed = tuple(one for one in ordered if isinstance(one, Unreachable))
    return Dataset(
        np.stack([reference, *(picture for picture, _ in reached)]), entries, None, missed
    )


def _described(tests: Dataset) -> Generator[Probe, None, None]:
    """List all test pictures, with None for what an unreachable one does not have."""
    for image, label in enumerate(TEST_LABELS, start=1):
        if label not in tests.labels:
            yield Probe(
                image, label, TEST_MSE, None, None, picture_seed(TEST_SEED, label, TEST_MSE), None
            )
            continue
        place = tests.labels.index(label)
        entry = tests.entries[place]
        alike = float(ssim.ssim_map(tests.reference, tests.pictures[place]).mean())
        yield Probe(image, label, TEST_MSE, entry.achieved_mse, entry.strength, entry.seed, alike)


def _answers(
    model: Model,
    tests: Dataset,
    how: tuple[str, str],
    answer: Callable[[int, Any], TrialResult],
    threads: int | None,
) -> Generator[Progress, None, tuple[TrialResult, ...]]:
    """Recognise all test pictures."""
    descriptor, rule = how
    recogniser = Recogniser(model, descriptor)
    recogniser.neighbours.prepare()  # once, before the threads start

    def one(index: int) -> TrialResult:
        verdict = recogniser.recognise(tests.pictures[index], rule).verdict
        return answer(1 + TEST_LABELS.index(tests.labels[index]), verdict)

    with Workers(threads) as workers:
        found = yield from workers.collect(one, range(1, len(tests.labels)), "test pictures")
    return tuple(found)


def _reconstructed(model: Model, tests: Dataset) -> Generator[float, None, None]:
    """Give the SSIM of each test picture with its reconstruction."""
    for picture in tests.pictures[1:]:
        yield float(ssim.ssim_map(picture, model.reconstruct(picture)).mean())
