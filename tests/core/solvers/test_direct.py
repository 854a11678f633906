"""The direct solver: below ADMM on real pictures, monotone, and at a stationary point."""

from __future__ import annotations

import numpy as np
import pytest

from isca_gui.core.distortion.dataset import Dataset, Entry, generate
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import training
from isca_gui.core.parallel import Workers
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.settings import EXACT_TOLERANCE, TrainingSettings
from isca_gui.core.solvers import direct, driver
from isca_gui.core.solvers.steps import CONVERGED, SolverError, Step
from tests import reference as ref

CORNERS = {"camera": (100, 200), "astronaut": (60, 180), "coffee": (120, 200)}


def pictures(images=9, height=24, width=32, seed=3):
    rng = np.random.default_rng(seed)
    contrast = rng.uniform(0.4, 1.2, (images, 1, 1))
    noise = 0.15 * rng.normal(size=(images, height, width))
    return np.clip(contrast * rng.random((height, width)) + noise, 0, 1).astype(np.float32)


def dataset_of(stack):
    entries = [
        Entry("original" if index == 0 else "blur", 0.0, 0.0, 0.0, 0) for index in range(len(stack))
    ]
    return Dataset(np.array(stack, np.float32), tuple(entries))


def problem_of(stack, settings):
    with Workers(2) as workers:
        return run(training.problem_for(dataset_of(stack), settings, workers))


def solve(problem, settings, state=None):
    with Workers(2) as workers:
        return run(driver.solve(problem, settings, workers, state))


def objectives(coordinates, bases, c):
    """The mean of f over the images for every block."""
    energy = np.sum(coordinates**2, axis=2)
    kept = np.sum((coordinates @ bases) ** 2, axis=2)
    return np.mean((energy - kept) / (energy + kept + c), axis=1)


@pytest.fixture(scope="module", params=CORNERS)
def paper(request):
    """The paper's 121 pictures of a part of a sample picture."""
    top, left = CORNERS[request.param]
    reference = image.read(samples.resolve(f"sample:{request.param}"))[
        top : top + 96, left : left + 96
    ]
    made = run(generate(np.ascontiguousarray(reference), DatasetSpec()))
    assert len(made.pictures) == 121
    return made


# --- lower than ADMM -----------------------------------------------------------------------------


def test_it_ends_below_two_hundred_epochs_of_admm(paper):
    published = run(training.train(paper, TrainingSettings()))
    assert published.steps[-1].epoch == 200
    exact = TrainingSettings(solver="direct", tolerance=EXACT_TOLERANCE)
    model = run(training.train(paper, exact))
    assert model.steps[-1].objective <= published.steps[-1].objective
    assert model.end == CONVERGED
    assert model.steps[-1].gradient < 1e-3
    falling = [step.objective for step in model.steps]
    assert all(np.diff(falling) <= 1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "sigmoid"])
def test_it_ends_below_admm_in_feature_space(kernel):
    top, left = CORNERS["camera"]
    reference = image.read(samples.resolve("sample:camera"))[top : top + 48, left : left + 48]
    made = run(generate(np.ascontiguousarray(reference), DatasetSpec()))
    for metric in ("published", "natural"):
        settings = TrainingSettings(
            "kernel-isca", kernel=kernel, metric=metric, precision="float64"
        )
        published = run(training.train(made, settings))
        assert published.steps[-1].epoch == 100
        settings = TrainingSettings(
            "kernel-isca",
            "direct",
            kernel,
            metric=metric,
            precision="float64",
            tolerance=EXACT_TOLERANCE,
        )
        model = run(training.train(made, settings))
        assert model.end == CONVERGED
        assert model.steps[-1].gradient < 1e-3
        assert model.steps[-1].objective <= published.steps[-1].objective


# --- ends when answers no longer change -----------------------------------------------------------


def test_the_default_end_gives_the_verdicts_of_the_exact_end(paper):
    """Every third training picture, recognised by the others."""
    default = run(training.train(paper, TrainingSettings(solver="direct")))
    exact = run(training.train(paper, TrainingSettings(solver="direct", tolerance=EXACT_TOLERANCE)))
    assert default.end == exact.end == CONVERGED
    assert default.state.epoch < exact.state.epoch
    sooner, later = Recogniser(default), Recogniser(exact)
    for index in range(1, len(paper.entries), 3):
        first = sooner.leave_one_out(index)
        second = later.leave_one_out(index)
        assert first.verdict.label == second.verdict.label
        assert first.verdict.parts == second.verdict.parts
        assert np.mean(first.winner == second.winner) > 0.9


def test_a_block_does_not_depend_on_the_blocks_beside_it(paper):
    """Which is what lets large pictures be trained in bands."""
    whole = run(training.train(paper, TrainingSettings(solver="direct")))
    rows = 8 * (paper.reference.shape[0] // 16)
    band = Dataset(paper.pictures[:, :rows].copy(), paper.entries)
    part = run(training.train(band, TrainingSettings(solver="direct")))
    np.testing.assert_array_equal(whole.state.u[: part.grid.count], part.state.u)


# --- monotone ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "kernel"), [("isca", "linear"), ("kernel-isca", "rbf")])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_f_never_rises_in_any_block(method, kernel, precision):
    stack = pictures(images=15)
    settings = {"method": method, "solver": "direct", "kernel": kernel, "precision": precision}
    problem = problem_of(stack, TrainingSettings(**settings))
    z = problem.coordinates.astype(np.float64)
    state, before = None, None
    for epoch in range(1, 41):
        result = solve(problem, TrainingSettings(**settings, epochs=epoch, tolerance=1e-12), state)
        state = result.state
        assert state.epoch == epoch
        here = objectives(z, state.u.astype(np.float64), problem.c)
        if before is not None:
            assert np.all(here <= before + (1e-13 if precision == "float64" else 1e-6))
        before = here
        assert result.steps[-1].objective == pytest.approx(here.mean(), abs=1e-6)
        assert result.steps[-1].error == result.steps[-1].objective


# --- what it reports -----------------------------------------------------------------------------


@pytest.mark.parametrize("components", [1, 4, 9])
def test_gradient_and_multiplier_are_those_of_the_reference(components):
    stack = pictures()
    settings = TrainingSettings(
        solver="direct", components=components, epochs=5, precision="float64"
    )
    problem = problem_of(stack, settings)
    result = solve(problem, settings)
    squares = []
    for block, x in enumerate(problem.coordinates):
        u = result.state.u[block]
        g = sum(ref.gradient(u, one, problem.c) for one in x) / len(x)
        squares.append(np.sum((g - u @ (u.T @ g)) ** 2))
        np.testing.assert_allclose(result.state.j[block], -g, rtol=0, atol=1e-10)
    step = result.steps[-1]
    assert step.gradient == pytest.approx(np.sqrt(np.mean(squares)), abs=1e-10)
    assert step.objective == pytest.approx(
        ref.average_error(problem.coordinates, result.state.u, problem.c)
    )
    np.testing.assert_array_equal(result.state.u, result.state.v)
    assert (step.primal, step.dual) == (0, 0)
    gram = result.state.u.swapaxes(1, 2) @ result.state.u
    assert step.orthonormality == pytest.approx(np.abs(gram - np.eye(components)).max(), abs=1e-15)
    assert step.orthonormality < 1e-12


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_basis_is_orthonormal_and_seeded(precision):
    made = dataset_of(pictures())
    first, again, other = (
        run(
            training.train(
                made, TrainingSettings(solver="direct", epochs=3, seed=seed, precision=precision)
            )
        )
        for seed in (4, 4, 5)
    )
    np.testing.assert_array_equal(first.state.u, again.state.u)
    assert not np.array_equal(first.state.u, other.state.u)
    exact = first.state.v.astype(np.float64)
    assert np.abs(exact.swapaxes(1, 2) @ exact - np.eye(4)).max() < 1e-5


def test_copies_of_the_basis_are_kept_when_asked_for():
    made = dataset_of(pictures())
    settings = TrainingSettings(solver="direct", epochs=4, tolerance=1e-12, keep_every=2)
    reports = []
    model = run(training.train(made, settings), reports.append)
    steps = [report for report in reports if isinstance(report, Step)]
    assert [step.basis is not None for step in steps] == [False, True, False, True]
    np.testing.assert_array_equal(steps[-1].basis, model.state.u)
    assert not np.array_equal(steps[1].basis, model.state.u)


# --- known answers -------------------------------------------------------------------------------


def test_one_image_is_reconstructed_without_error():
    stack = pictures(images=1)
    settings = TrainingSettings(solver="direct", epochs=2000, tolerance=1e-7, precision="float64")
    model = run(training.train(dataset_of(stack), settings))
    assert model.end == CONVERGED
    assert 0 <= model.steps[-1].objective + 1e-12 < 1e-10
    np.testing.assert_allclose(model.reconstruct(stack[0]), stack[0], atol=1e-4)


def test_data_within_a_subspace_are_reconstructed_without_error():
    rng = np.random.default_rng(0)
    patterns = rng.normal(size=(3, 16, 16))  # three patterns, four components
    stack = 0.5 + np.tensordot(rng.uniform(-0.05, 0.05, (12, 3)), patterns, 1)
    assert stack.min() > 0
    assert stack.max() < 1
    settings = TrainingSettings(solver="direct", epochs=3000, tolerance=1e-7, precision="float64")
    model = run(training.train(dataset_of(stack), settings))
    assert model.end == CONVERGED
    assert model.steps[-1].objective < 1e-8


def test_the_order_of_the_images_does_not_matter():
    stack = pictures()
    order = np.random.default_rng(2).permutation(len(stack))
    settings = TrainingSettings(solver="direct", epochs=5, precision="float64")
    first, second = (
        run(training.train(dataset_of(some), settings)) for some in (stack, stack[order])
    )
    np.testing.assert_allclose(first.state.u, second.state.u, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("block", "components"), [(2, 4), (3, 9), (4, 16)])
def test_all_components_leave_nothing_to_descend(block, components):
    settings = TrainingSettings(
        solver="direct", block=block, components=components, precision="float64"
    )
    model = run(training.train(dataset_of(pictures()), settings))
    assert model.end == CONVERGED
    assert model.steps[-1].epoch == 1
    assert abs(model.steps[-1].objective) < 1e-12


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_more_precision_is_advised_only_where_there_is_more(precision):
    settings = TrainingSettings(solver="direct", precision=precision)
    problem = problem_of(pictures(), settings)
    problem.c = np.nan
    with Workers(1) as workers:
        solver = direct.Direct(problem, settings.resolved(), workers)
        run(solver.start(None))
        with pytest.raises(SolverError, match=r"diverged in iteration 7\. ") as error:
            run(solver.step(7))
    assert ("float64" in str(error.value)) == (precision == "float32")
