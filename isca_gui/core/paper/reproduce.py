"""The paper's Section 6 from start to end: data, eight methods, Figures 1 to 5, Table 1, a report.

The result of each stage is stored in the folder `work` with a stamp of everything that determines
it. An interrupted reproduction continues with the first stage that is missing, and ends in the same
results.
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
    TrialPicture,
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

# The total of all progress reports.
PARTS = 10_000
_DATASET = "dataset"
_TESTS = "tests"
# The estimated time of each stage on two cores for 4096 blocks and 121 pictures, in seconds.
# Training times are in the table of methods.
_DATASET_SECONDS = 2.0
_TESTS_SECONDS = 0.5
_OUTPUT_SECONDS = 12.0
_RECOGNITION_SECONDS = 8.0
_KERNEL_TESTS_SECONDS = 2.0
_LEAST_SECONDS = 0.5
_BLOCKS = 4096
_PICTURES = 121


@dataclass(frozen=True)
class Results:
    """The files that were written, and their contents."""

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
    """Run the paper's experiments on a picture, write a report, and return the results.

    Closing the generator stops it; called again with the same picture and folder, it continues.

    Parameters
    ----------
    reference
        The picture, shape (height, width), with values in [0, 1].
    folder
        The folder to write: a new or empty one, or that of an earlier reproduction.
    quick
        Whether to use every second pixel and fewer levels and epochs.
    threads
        The number of threads; None uses all cores.
    name
        The name of the picture in the report.
    overwrite
        Whether to replace a report on another picture.
    """
    target = open_folder(folder)
    reference = shrunk(np.ascontiguousarray(reference), quick=quick)
    run = _Run(reference, target / WORK, plan(quick=quick), threads)
    if not overwrite:
        check_finished(target, run.digest, quick)
    yield run.scale.at("checking for finished stages")
    training_set = yield from run.dataset()
    if len(training_set.entries) < 2:
        raise PaperError(
            "This picture cannot be distorted to any of the levels. Choose another picture."
        )
    tests = yield from run.tests()
    methods = []
    for method in run.plan.methods:
        methods.append((yield from run.method(method, training_set, tests)))
    isca = yield from run.model(run.plan.methods[0], training_set)
    findings = Findings(
        name=name,
        plan=run.plan,
        dataset=training_set,
        digest=run.digest,
        tests=tuple(_trial_pictures(tests)),
        methods=tuple(methods),
        seconds=dict(run.seconds),
    )
    task = output.write(target, findings, isca, tests)
    written = yield from run.scale.during("output", task, _share)
    yield Progress(PARTS, PARTS, "done")
    return Results(written.report, written.results, written.figures, written.tables, findings)


class _Scale:
    """The progress of all stages on one scale, in proportion to their expected times."""

    def __init__(self, weights: dict[str, float]) -> None:
        total = sum(weights.values())
        self._parts = {stage: PARTS * weight / total for stage, weight in weights.items()}
        self._finished: set[str] = set()
        self._most = 0

    def skip(self, *stages: str) -> None:
        """Count stages as finished."""
        self._finished.update(stages)

    def at(self, what: str, stage: str | None = None, share: float = 0.0) -> Progress:
        """Return the progress after all finished stages and a share of one more.

        It never goes back, even if an estimate is corrected downwards.
        """
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
        """Run a task as a stage, or as part of one, and return its result.

        Parameters
        ----------
        stage
            The name of the stage.
        task
            The generator to run.
        share
            Returns how much of the task is done, from 0 to 1, given one of its reports.
        what
            The description to show; None shows that of the task's own reports.
        part
            Where in the stage the task begins and ends, from 0 to 1.
        """
        low, high = part

        def on_this_scale(report: Any) -> Progress:
            return self.at(what or report.what, stage, low + (high - low) * share(report))

        answer = yield from relay(task, on_this_scale)
        if high >= 1.0:
            self.skip(stage)
        return answer


class _Run:
    """The stages, each of which is read from the cache or computed."""

    def __init__(self, reference: Picture, folder: Path, plan: Plan, threads: int | None) -> None:
        self.reference = reference
        self.plan = plan
        self._threads = threads
        self.digest = dataset_folder.reference_hash(reference)
        self._cache = StageCache(folder, f"{self.digest} {reference.shape} {plan.dataset}")
        self.seconds: dict[str, float] = {}
        self.scale = _Scale(self._weights())
        for method in plan.methods:
            if self._cached_method(method) is not None:
                self.scale.skip(f"train {method.key}", f"recognise {method.key}")

    def dataset(self) -> Generator[Progress, None, Dataset]:
        """Return the training pictures."""
        task = dataset.generate(self.reference, self.plan.dataset, self._threads)
        return (yield from self._pictures(_DATASET, asdict(self.plan.dataset), task))

    def tests(self) -> Generator[Progress, None, Dataset]:
        """Return the test pictures, after the reference."""
        task = _make_tests(self.reference, self._threads)
        return (yield from self._pictures(_TESTS, [TEST_LABELS, TEST_MSE, TEST_SEED], task))

    def method(
        self, method: Method, training_set: Dataset, tests: Dataset
    ) -> Generator[Progress, None, MethodResult]:
        """Train a method, recognise all pictures with it, and return the results."""
        train = f"train {method.key}"
        recognise = f"recognise {method.key}"
        cached = self._cached_method(method)
        if cached is not None:
            result, self.seconds[train], self.seconds[recognise] = cached
            return result
        model = yield from self.model(method, training_set)
        start = time.perf_counter()
        result = yield from self._recognise(method, model, tests)
        self.seconds[recognise] = time.perf_counter() - start
        seconds = [self.seconds[train], self.seconds[recognise]]
        # The key "found" belongs to the file format.
        document = {"found": asdict(result), "seconds": seconds}
        self._cache.keep(method.key, self._stamp(method), document)
        # Kernel models are large, and are not needed any more.
        if method.settings.uses_kernel:
            self._cache.drop_model(method.key)
        return result

    def model(self, method: Method, training_set: Dataset) -> Generator[Progress, None, Model]:
        """Return the model of a method, trained if it is not in the cache."""
        stage = f"train {method.key}"
        record = f"{method.key}-training"
        settings = method.settings.resolved()
        yield self.scale.at(f"{method.title}: preparing", stage)
        trained = self._cache.kept(record, self._stamp(method))
        model = None
        if trained is not None:
            model = self._cache.load_model(method.key, settings, training_set.digest())
        if model is None:
            start = time.perf_counter()
            task = training.train(training_set, method.settings, self._threads)
            what = f"{method.title}: training"
            model = yield from self.scale.during(stage, task, _Epochs(method), what, (0.0, 0.99))
            self._cache.save_model(method.key, model)
            trained = {"seconds": time.perf_counter() - start}
            self._cache.keep(record, self._stamp(method), trained)
        self.scale.skip(stage)
        self.seconds.setdefault(stage, float((trained or {}).get("seconds", 0.0)))
        return model

    def _recognise(
        self, method: Method, model: Model, tests: Dataset
    ) -> Generator[Progress, None, MethodResult]:
        """Leave one out and recognise the test pictures, both as published and extended."""
        stage = f"recognise {method.key}"
        confusions = []
        trials = []
        for place, (how, make_result) in enumerate(
            ((PUBLISHED, TrialResult.by_votes), (EXTENDED, TrialResult.by_evidence))
        ):
            low = place / 2
            left_out = evaluation.leave_one_out(model, *how, self._threads)
            what = f"{method.title}: leave-one-out"
            found = yield from self.scale.during(stage, left_out, _share, what, (low, low + 0.4))
            confusions.append(Confusion.of(found))
            task = _recognise_tests(model, tests, how, make_result, self._threads)
            what = f"{method.title}: test pictures"
            part = (low + 0.4, low + 0.5)
            trials.append((yield from self.scale.during(stage, task, _share, what, part)))
        curves = {
            name: tuple(float(getattr(step, name)) for step in model.steps) for name in CURVES
        }
        reconstruction: tuple[float, ...] = ()
        if model.kernel is None:
            reconstruction = tuple(_reconstruction_ssim(model, tests))
        return MethodResult(
            key=method.key,
            settings=asdict(model.settings),
            end=model.end,
            curves=curves,
            published=confusions[0],
            extended=confusions[1],
            published_tests=trials[0],
            extended_tests=trials[1],
            reconstruction=reconstruction,
        )

    def _cached_method(self, method: Method) -> tuple[MethodResult, float, float] | None:
        """Return a stored result with the seconds of training and recognition."""
        kept = self._cache.kept(method.key, self._stamp(method))
        if kept is None:
            return None
        try:
            train, recognise = map(float, kept["seconds"])
            return MethodResult.read(kept["found"]), train, recognise
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    def _stamp(self, method: Method) -> str:
        return self._cache.stamp(method.key, asdict(method.settings.resolved()))

    def _pictures(
        self, name: str, settings: object, task: Generator[Progress, None, Dataset]
    ) -> Generator[Progress, None, Dataset]:
        """Return pictures from the cache, or make and store them."""
        stamp = self._cache.stamp(name, settings)
        kept = self._cache.kept(name, stamp)
        if kept is not None:
            load = self._cache.load_dataset(name, str(kept.get("digest")))
            what = f"reading the {name}"
            made = yield from self.scale.during(name, load, _share, what, (0.0, 0.5))
            if made is not None:
                self.scale.skip(name)
                self.seconds[name] = float(kept.get("seconds", 0.0))
                return made
        start = time.perf_counter()
        made = yield from self.scale.during(name, task, _share, f"making the {name}", (0.0, 0.5))
        save = self._cache.save_dataset(name, made)
        yield from self.scale.during(name, save, _share, f"saving the {name}", (0.5, 1.0))
        self.seconds[name] = time.perf_counter() - start
        self._cache.keep(name, stamp, {"digest": made.digest(), "seconds": self.seconds[name]})
        return made

    def _weights(self) -> dict[str, float]:
        """Return the estimated seconds of each stage, of which only the ratios matter."""
        height, width = self.reference.shape
        pictures = 1 + len(self.plan.dataset.kinds) * len(self.plan.dataset.levels)
        blocks = BlockGrid(height, width, 8).count / _BLOCKS
        size = blocks * pictures / _PICTURES
        weights = {
            _DATASET: _DATASET_SECONDS * size + 0.3,
            _TESTS: _TESTS_SECONDS * blocks + 0.3,
            "output": _OUTPUT_SECONDS * (0.5 + 0.5 * min(blocks, 4.0)),
        }
        for method in self.plan.methods:
            kernel = _KERNEL_TESTS_SECONDS * method.settings.uses_kernel
            recognise = (_RECOGNITION_SECONDS * pictures / _PICTURES + kernel) * size
            weights[f"train {method.key}"] = method.seconds * size + _LEAST_SECONDS
            weights[f"recognise {method.key}"] = recognise + _LEAST_SECONDS
        return weights


class _Epochs:
    """Computes the finished share of a training, including the work before and after its epochs."""

    def __init__(self, method: Method) -> None:
        self._epochs = method.settings.resolved().epochs or 1
        self._before = method.before
        self._after = method.after
        self._epoch = 0

    def __call__(self, report: Any) -> float:
        if isinstance(report, Step):
            self._epoch = report.epoch
            within = 0.0
        else:
            within = report.done / max(report.total, 1)
        if self._epoch == 0:
            return self._before * within
        if self._epoch >= self._epochs:
            return 1 - self._after + self._after * within
        epochs = 1 - self._before - self._after
        return self._before + epochs * (self._epoch + within) / self._epochs


def _share(report: Progress) -> float:
    return report.done / max(report.total, 1)


def _make_tests(reference: Picture, threads: int | None) -> Generator[Progress, None, Dataset]:
    """Return the twelve test pictures, with noise of their own; unreachable ones are left out."""

    def make(label: str) -> tuple[Picture, Entry] | Unreachable:
        seed = picture_seed(TEST_SEED, label, TEST_MSE)
        try:
            one = strength_search.distort(reference, label, TEST_MSE, seed)
        except UnreachableError as error:
            return Unreachable(error.kind, error.target, error.maximum)
        return one.picture, Entry(label, TEST_MSE, one.achieved_mse, one.strength, one.seed)

    with Workers(threads) as workers:
        ordered = yield from workers.collect(make, TEST_LABELS, "test pictures")
    reached = [one for one in ordered if not isinstance(one, Unreachable)]
    entries = (Entry(ORIGINAL, 0.0, 0.0, 0.0, TEST_SEED), *(entry for _, entry in reached))
    missed = tuple(one for one in ordered if isinstance(one, Unreachable))
    pictures = np.stack([reference, *(picture for picture, _ in reached)])
    return Dataset(pictures, entries, None, missed)


def _trial_pictures(tests: Dataset) -> Generator[TrialPicture, None, None]:
    """Yield a record of each test picture; the figures of unreachable ones are None."""
    for image, label in enumerate(TEST_LABELS, start=1):
        if label not in tests.labels:
            seed = picture_seed(TEST_SEED, label, TEST_MSE)
            yield TrialPicture(image, label, TEST_MSE, None, None, seed, None)
            continue
        place = tests.labels.index(label)
        entry = tests.entries[place]
        yield TrialPicture(
            image=image,
            label=label,
            target_mse=TEST_MSE,
            achieved_mse=entry.achieved_mse,
            strength=entry.strength,
            seed=entry.seed,
            ssim=float(ssim.ssim_map(tests.reference, tests.pictures[place]).mean()),
        )


def _recognise_tests(
    model: Model,
    tests: Dataset,
    how: tuple[str, str],
    make_result: Callable[[int, Any], TrialResult],
    threads: int | None,
) -> Generator[Progress, None, tuple[TrialResult, ...]]:
    """Recognise all test pictures with a descriptor and a rule."""
    descriptor, rule = how
    recogniser = Recogniser(model, descriptor)
    # Prepared here, because otherwise each of the threads would do it.
    recogniser.neighbours.prepare()

    def one(index: int) -> TrialResult:
        verdict = recogniser.recognise(tests.pictures[index], rule).verdict
        return make_result(1 + TEST_LABELS.index(tests.labels[index]), verdict)

    with Workers(threads) as workers:
        found = yield from workers.collect(one, range(1, len(tests.labels)), "test pictures")
    return tuple(found)


def _reconstruction_ssim(model: Model, tests: Dataset) -> Generator[float, None, None]:
    """Yield the SSIM of each test picture with its reconstruction."""
    for picture in tests.pictures[1:]:
        yield float(ssim.ssim_map(picture, model.reconstruct(picture)).mean())
