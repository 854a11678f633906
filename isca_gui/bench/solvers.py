"""How long the solvers take, beside the literal reference, batched NumPy and scikit-learn."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.bench.figure import Figure, seconds
from isca_gui.core.distortion import dataset
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import training
from isca_gui.core.parallel import Workers
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run
from isca_gui.core.settings import EXACT_TOLERANCE, TrainingSettings
from isca_gui.core.solvers import admm, numpy_epochs
from isca_gui.core.solvers.steps import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.solvers.problem import Problem

# Blocks on which slow references are timed.
_FEW = 64


def measure(threads: int | None) -> Iterator[Figure]:
    """Measure on 512×512, 121 pictures, 8×8 blocks, four components, float32."""
    reference = image.read(samples.resolve("sample:camera"))
    made = run(dataset.generate(reference, DatasetSpec(), threads))
    linear = TrainingSettings()
    # The first training compiles the loops.
    run(training.train(made, TrainingSettings(epochs=1), threads))
    steps, whole = _trained(made, linear, threads)
    epoch = np.median(np.diff([0.0, *(step.seconds for step in steps)]))
    yield Figure("ADMM: one epoch, 512×512, 121 pictures", float(epoch), "s")
    with Workers(1) as workers:
        problem = run(training.problem_for(made, linear, workers))
    literal = _literal_seconds(problem)
    if literal is not None:
        yield Figure(
            "ADMM: epoch of tests/reference.py / ours", float(literal / epoch), "×", least=400
        )
    plain = seconds(lambda: _batched_epoch(problem)) * problem.count / (4 * _FEW)
    yield Figure("ADMM: epoch in batched NumPy / ours", plain / epoch, "×", least=8)
    yield from _kernel(made, float(epoch), threads)
    yield from _direct(made, steps, whole, threads)


def _kernel(made: Dataset, epoch: float, threads: int | None) -> Iterator[Figure]:
    # With this γ the kernels have nearly full rank.
    settings = TrainingSettings(method="kernel-isca", kernel="rbf", gamma=10.0, epochs=25)
    with Workers(threads) as workers:
        prepared = seconds(lambda: run(training.problem_for(made, settings, workers)))
        width = run(training.problem_for(made, settings, workers)).width
    yield Figure("kernels: Gram matrices and eigenvectors of all blocks", prepared, "s", most=10)
    steps, _ = _trained(made, settings, threads)
    taken = np.diff([0.0, *(step.seconds for step in steps)])
    # Bases get worse conditioned with time.
    for part, some in (("first", taken[:5]), ("late", taken[-10:])):
        name = f"kernel ISCA: {part} epoch ({width} coordinates) / linear epoch"
        yield Figure(name, float(np.median(some)) / epoch, "×", most=3.5)


def _direct(
    made: Dataset, admm_steps: list[Step], whole: float, threads: int | None
) -> Iterator[Figure]:
    goal = admm_steps[-1].objective
    yield Figure("ADMM: objective after 200 epochs", goal, "")
    whole_training = seconds(
        lambda: run(training.train(made, TrainingSettings(solver="direct"), threads))
    )
    yield Figure("direct: whole training to an answer", whole_training, "s", most=3)
    steps, took = _trained(
        made, TrainingSettings(solver="direct", tolerance=EXACT_TOLERANCE), threads
    )
    reached = next((step.seconds for step in steps if step.objective <= goal), math.inf)
    yield Figure("direct: objective at the end", steps[-1].objective, "", most=goal)
    yield Figure("direct: gradient norm at the end", steps[-1].gradient, "", most=1e-3)
    yield Figure("direct: time to ADMM's objective / 200 epochs", reached / whole, "×", most=1 / 15)
    if importlib.util.find_spec("sklearn") is not None:
        with Workers(1) as workers:
            problem = run(training.problem_for(made, TrainingSettings(), workers))
        loop = seconds(lambda: _sklearn_loop(problem)) * problem.count / (4 * _FEW)
        yield Figure(
            "scikit-learn PCA in a loop / direct to ADMM's objective", loop / reached, "×", least=1
        )
        yield Figure("scikit-learn PCA in a loop / direct to its exact end", loop / took, "×")
        name = "scikit-learn PCA in a loop / direct, whole training to an answer"
        yield Figure(name, loop / whole_training, "×", least=12)


def measure_growth(threads: int | None) -> Iterator[Figure]:
    """Fit the exponent of time against pixels and against pictures; 1 is linear."""
    reference = np.tile(image.read(samples.resolve("sample:camera")), (2, 2))
    for solver in ("admm", "direct"):
        by_pixels = []
        by_images = []
        for side in (256, 512, 1024):
            by_pixels.append(
                (side * side, _per_epoch(reference[:side, :side], 31, solver, threads))
            )
            yield Figure(f"{solver}: epoch, {side}×{side}, 31 pictures", by_pixels[-1][1], "s")
        for images in (31, 61, 121):
            by_images.append((images, _per_epoch(reference[:512, :512], images, solver, threads)))
            yield Figure(f"{solver}: epoch, 512×512, {images} pictures", by_images[-1][1], "s")
        yield Figure(
            f"{solver}: exponent of time against pixels", _exponent(by_pixels), "", most=1.1
        )
        yield Figure(
            f"{solver}: exponent of time against pictures", _exponent(by_images), "", most=1.1
        )


def _per_epoch(reference: np.ndarray, images: int, solver: str, threads: int | None) -> float:
    levels = tuple(45.0 * index for index in range(1, (images - 1) // 6 + 1))
    made = run(dataset.generate(reference, DatasetSpec(levels=levels), threads))
    steps, _ = _trained(made, TrainingSettings(solver=solver, epochs=9, tolerance=1e-9), threads)
    return float(np.median(np.diff([step.seconds for step in steps])))


def _exponent(points: list[tuple[int, float]]) -> float:
    sizes, times = np.log(np.array(points)).T
    return float(np.polyfit(sizes, times, 1)[0])


def _trained(
    made: Dataset, settings: TrainingSettings, threads: int | None
) -> tuple[list[Step], float]:
    """Train; return the steps and the seconds that the solver itself took."""
    steps: list[Step] = []

    def collect(report: object) -> None:
        if isinstance(report, Step):
            steps.append(report)

    run(training.train(made, settings, threads), collect)
    return steps, steps[-1].seconds


def _literal_seconds(problem: Problem) -> float | None:
    """Return the seconds of an epoch of the literal reference, or None outside a source tree."""
    path = Path(__file__).parents[2] / "tests" / "reference.py"
    spec = importlib.util.spec_from_file_location("isca_reference", path)
    if not path.exists() or spec is None or spec.loader is None:
        return None
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    state = admm.random_start(problem, TrainingSettings())
    x, u, v, j = (
        part[:_FEW].astype(np.float64) for part in (problem.coordinates, state.u, state.v, state.j)
    )
    taken = seconds(lambda: reference.isca_epochs(x, u, v, j, 1.0, 0.1, 1))
    return taken * problem.count / _FEW


def _batched_epoch(problem: Problem) -> None:
    few = 4 * _FEW
    state = admm.random_start(problem, TrainingSettings())
    begin = (state.u[:few], state.v[:few], state.j[:few])
    ones = np.ones((few, problem.width), problem.dtype)
    numpy_epochs.admm_epoch(
        problem.coordinates[:few], ones, begin, 1.0, 0.1, problem.c, np.zeros(1, np.uint8)
    )


def _sklearn_loop(problem: Problem) -> None:
    from sklearn.decomposition import PCA

    for block in problem.coordinates[: 4 * _FEW]:
        PCA(n_components=4).fit(block)
