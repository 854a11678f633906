"""The published iteration against the literal reference, step by step, and what it reports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isca_gui.core.distortion.dataset import Dataset, Entry
from isca_gui.core.model import training
from isca_gui.core.parallel import Workers
from isca_gui.core.progress import run
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.solvers import admm, driver
from isca_gui.core.solvers.objective import polar
from isca_gui.core.solvers.steps import State
from tests import reference as ref

IMAGES, SIDE, ROWS, COLUMNS = 7, 8, 3, 4  # twelve blocks
COMPILED, BATCHED = (1, 3, 4, 8), (9, 16)


def pictures(images=IMAGES, height=ROWS * SIDE, width=COLUMNS * SIDE, seed=3):
    """A common structure, brightened, faded and disturbed from picture to picture, in [0, 1]."""
    rng = np.random.default_rng(seed)
    contrast = rng.uniform(0.4, 1.2, (images, 1, 1))
    noise = 0.1 * rng.normal(size=(images, height, width))
    return np.clip(contrast * rng.random((height, width)) + noise, 0, 1).astype(np.float32)


def dataset_of(stack):
    entries = [
        Entry("original" if index == 0 else "blur", 0.0, 0.0, 0.0, 0) for index in range(len(stack))
    ]
    return Dataset(np.array(stack, np.float32), tuple(entries))


def centred_blocks(stack, side=SIDE):
    """Return the centred blocks (block, image, pixel) of pictures that hold whole blocks only."""
    blocks = [
        [
            picture[top : top + side, left : left + side].astype(np.float64).ravel()
            for picture in stack
        ]
        for top in range(0, stack.shape[1], side)
        for left in range(0, stack.shape[2], side)
    ]
    return np.array(blocks) - np.mean(blocks, axis=2, keepdims=True)


def solve(stack, settings, state=None):
    """Start and end of ADMM on pictures."""
    with Workers(2) as workers:
        problem = run(training.problem_for(dataset_of(stack), settings, workers))
        begin = admm.random_start(problem, settings) if state is None else state
        return begin, run(driver.solve(problem, settings, workers, begin))


def literal(stack, begin, settings, epochs):
    start = (part.astype(np.float64) for part in (begin.u, begin.v, begin.j))
    settings = settings.resolved()
    return ref.isca_epochs(centred_blocks(stack), *start, settings.rho, settings.eta, epochs)


def assert_state(state, u, v, j, tolerance):
    for found, wanted in ((state.u, u), (state.v, v), (state.j, j)):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)


def unorthonormality(matrices):
    exact = matrices.astype(np.float64)
    return float(np.abs(exact.swapaxes(1, 2) @ exact - np.eye(exact.shape[2])).max())


# --- equal to the paper --------------------------------------------------------------------------


@pytest.mark.parametrize("components", COMPILED + BATCHED)
def test_three_epochs_in_float64_equal_the_reference(components):
    stack = pictures()
    settings = TrainingSettings(
        components=components, epochs=3, precision="float64", seed=components
    )
    begin, result = solve(stack, settings)
    u, v, j, errors, objectives = literal(stack, begin, settings, 3)
    assert_state(result.state, u, v, j, 1e-9)
    assert result.state.u.shape == (12, 64, components)
    assert [step.epoch for step in result.steps] == [1, 2, 3]
    np.testing.assert_allclose([step.error for step in result.steps], errors, rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        [step.objective for step in result.steps], objectives, rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("components", COMPILED + BATCHED)
def test_one_epoch_in_float32_equals_the_reference(components):
    stack = pictures()
    settings = TrainingSettings(components=components, epochs=1, precision="float32", seed=1)
    begin, result = solve(stack, settings)
    assert begin.u.dtype == result.state.u.dtype == np.float32
    u, v, j, errors, objectives = literal(stack, begin, settings, 1)
    assert_state(result.state, u, v, j, 1e-3)
    assert result.steps[0].error == pytest.approx(errors[0], abs=1e-5)
    assert result.steps[0].objective == pytest.approx(objectives[0], abs=1e-5)


@pytest.mark.parametrize("components", [4, 9])
@pytest.mark.parametrize(("rho", "eta"), [(0.3, 0.2), (2.5, 0.05)])
def test_other_rates_equal_the_reference(components, rho, eta):
    stack = pictures(images=4)
    settings = TrainingSettings(
        components=components, epochs=3, rho=rho, eta=eta, precision="float64"
    )
    begin, result = solve(stack, settings)
    assert_state(result.state, *literal(stack, begin, settings, 3)[:3], 1e-9)


@pytest.mark.parametrize("components", [4, 9])
def test_one_image_is_the_single_image_case(components):
    stack = pictures(images=1)
    settings = TrainingSettings(components=components, epochs=20, precision="float64")
    begin, result = solve(stack, settings)
    u, v, j, errors, objectives = literal(stack, begin, settings, 20)
    assert_state(result.state, u, v, j, 1e-9)
    assert result.steps[-1].error == pytest.approx(errors[-1], abs=1e-10)
    assert result.steps[-1].objective == pytest.approx(objectives[-1], abs=1e-10)


@pytest.mark.parametrize("components", [4, 9])
def test_images_are_taken_in_order(components):
    stack = pictures()
    order = np.array([3, 0, 6, 1, 5, 2, 4])
    settings = TrainingSettings(components=components, epochs=2, precision="float64")
    begin, plain = solve(stack, settings)
    same, permuted = solve(stack[order], settings)
    np.testing.assert_array_equal(begin.u, same.u)
    assert_state(permuted.state, *literal(stack[order], begin, settings, 2)[:3], 1e-9)
    assert np.abs(permuted.state.u - plain.state.u).max() > 1e-4  # the order does matter


def test_blocks_do_not_know_each_other():
    stack = pictures()
    settings = TrainingSettings(epochs=2, precision="float64")
    begin, whole = solve(stack, settings)
    last = State(*(part[-1:].copy() for part in (begin.u, begin.v, begin.j)))
    _, alone = solve(stack[:, -SIDE:, -SIDE:], settings, last)
    assert_state(
        alone.state, *(part[-1:] for part in (whole.state.u, whole.state.v, whole.state.j)), 1e-12
    )


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_start_is_uniform_and_seeded(precision):
    stack = pictures(images=2, height=64, width=64)
    first, _ = solve(stack, TrainingSettings(epochs=1, seed=5, precision=precision))
    again, _ = solve(stack, TrainingSettings(epochs=1, seed=5, precision=precision))
    other, _ = solve(stack, TrainingSettings(epochs=1, seed=6, precision=precision))
    for name in "uvj":
        drawn = getattr(first, name)
        assert drawn.dtype == precision
        np.testing.assert_array_equal(drawn, getattr(again, name))
        assert not np.array_equal(drawn, getattr(other, name))
        assert drawn.min() >= 0
        assert drawn.max() <= 1  # rounding to float32 may reach it
        assert abs(drawn.mean() - 0.5) < 0.01
        assert abs(drawn.var() - 1 / 12) < 0.003
    assert not np.array_equal(first.u, first.v)
    assert not np.array_equal(first.v, first.j)


# --- what it reports -----------------------------------------------------------------------------


@pytest.mark.parametrize("components", [3, 16])
def test_residuals_are_as_defined(components):
    stack = pictures()
    settings = TrainingSettings(
        components=components, epochs=4, rho=0.7, precision="float64", keep_every=2
    )
    begin, result = solve(stack, settings)
    v_before = begin.v
    for step in result.steps:
        u, v, _, _, _ = literal(stack, begin, settings, step.epoch)
        primal = np.sqrt(np.mean(np.sum((u - v) ** 2, axis=(1, 2))))
        dual = 0.7 * np.sqrt(np.mean(np.sum((v - v_before) ** 2, axis=(1, 2))))
        assert step.primal == pytest.approx(primal, abs=1e-9)
        assert step.dual == pytest.approx(dual, abs=1e-9)
        assert step.orthonormality == pytest.approx(unorthonormality(u), abs=1e-9)
        assert np.isnan(step.gradient)
        if step.epoch % 2:
            assert step.basis is None
        else:
            np.testing.assert_allclose(step.basis, u, rtol=0, atol=1e-9)
        v_before = v
    seconds = [step.seconds for step in result.steps]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0


@pytest.mark.parametrize("components", [1, 4, 8, 9])
def test_v_is_orthonormal_after_training(components):
    settings = TrainingSettings(components=components, epochs=60)
    _, result = solve(pictures(images=20), settings)
    assert result.state.v.dtype == np.float32
    assert unorthonormality(result.state.v) < 1e-5


# --- the nearest orthonormal ---------------------------------------------------------------------


def conditioned(condition, dtype, count=12, rows=64, columns=4):
    """Matrices with singular values from 1 down to 1/condition."""
    rng = np.random.default_rng(int(condition))
    left = np.linalg.qr(rng.normal(size=(count, rows, columns)))[0]
    right = np.linalg.qr(rng.normal(size=(count, columns, columns)))[0]
    values = np.geomspace(1, 1 / condition, columns)
    return ((left * values) @ right.swapaxes(1, 2)).astype(dtype), left @ right.swapaxes(1, 2)


CONDITIONS = (1, 10, 30, 100, 300, 1e3, 1e4, 1e6, 1e9, 1e20)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_polar_factor_is_orthonormal_whatever_the_condition(dtype, condition):
    matrices, exact = conditioned(condition, dtype)
    found = polar(matrices)
    assert found.dtype == dtype
    assert unorthonormality(found) < 1e-5
    # With a worse condition, rounding the matrix alone has turned its smallest part.
    if condition * np.finfo(dtype).eps < 1e-6:
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-3 if dtype == "float32" else 1e-5)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_v_is_orthonormal_whatever_the_condition(precision, condition):
    # Black pictures and vanishing rates leave U as it is, so that V is the polar factor of U.
    # Sixteen blocks fill a group of the compiled loops; an empty place in it would call for
    # singular vectors.
    matrices, _ = conditioned(condition, precision, count=16)
    black = np.zeros((1, 4 * SIDE, 4 * SIDE), np.float32)
    nothing = np.zeros_like(matrices)
    settings = TrainingSettings(epochs=1, rho=1e-6, eta=1e-9, precision=precision)
    _, result = solve(black, settings, State(matrices, nothing, nothing))
    assert unorthonormality(result.state.v) < 1e-5


@pytest.mark.parametrize("components", [1, 4, 8, 9])
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["zero", "equal columns", "one block of all", "tiny", "large"])
def test_a_start_without_full_rank_is_repaired(components, precision, kind):
    stack = pictures(images=3)
    rng = np.random.default_rng(0)
    shape = (12, 64, components)
    u, v, j = (rng.random(shape).astype(precision) for _ in range(3))
    if kind == "zero":
        u, v, j = (np.zeros(shape, precision) for _ in range(3))
    elif kind == "equal columns":
        u, v, j = (np.ones(shape, precision) for _ in range(3))
    elif kind == "one block of all":
        for part in (u, v, j):
            part[5] = 0
    else:
        u, v, j = (part * part.dtype.type(1e-12 if kind == "tiny" else 100) for part in (u, v, j))
    settings = TrainingSettings(components=components, epochs=1, precision=precision)
    _, result = solve(stack, settings, State(u, v, j))
    for part in (result.state.u, result.state.v, result.state.j):
        assert np.isfinite(part).all()
    assert unorthonormality(result.state.v) < 1e-5
    if kind == "one block of all" and precision == "float64":
        others = np.arange(12) != 5
        wanted = literal(stack, State(u, v, j), settings, 1)
        for found, part in zip(
            (result.state.u, result.state.v, result.state.j), wanted, strict=False
        ):
            np.testing.assert_allclose(found[others], part[others], rtol=0, atol=1e-9)


# --- invariances ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.1, 0.5, 0.9])
def test_scaled_intensities_change_f_as_c_predicts(scale):
    stack = pictures()
    scaled = (stack * np.float32(scale)).astype(np.float32)
    exact = scaled.astype(np.float64) / scale  # what was scaled, without float32's rounding
    settings = TrainingSettings(epochs=3, precision="float64")
    begin, result = solve(scaled, settings)
    c = ref.constant_c(64)
    blocks = centred_blocks(exact)
    u = literal(scaled, begin, settings, 3)[0]
    predicted = ref.objective(blocks, u, c / scale**2)
    assert result.steps[-1].objective == pytest.approx(predicted, abs=1e-10)
    assert ref.objective(blocks, u, 100 * c) < predicted < ref.objective(blocks, u, 0.0)


def test_a_turned_subspace_keeps_the_distances_of_projections():
    stack = pictures()
    for method, kernel in (("isca", "linear"), ("kernel-isca", "rbf")):
        settings = TrainingSettings(method=method, kernel=kernel, epochs=3, precision="float64")
        model = run(training.train(dataset_of(stack), settings))
        turn = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 4, 4)))[0]
        kernel_part = model.kernel and replace(model.kernel, theta=model.kernel.theta @ turn)
        turned = replace(
            model, state=replace(model.state, u=model.state.u @ turn), kernel=kernel_part
        )
        first, second = model.transform(stack), turned.transform(stack)
        assert np.abs(first - second).max() > 1e-3
        between = [np.linalg.norm(y[:, :, None] - y[:, None], axis=-1) for y in (first, second)]
        np.testing.assert_allclose(*between, rtol=0, atol=1e-12)
        if method == "isca":
            picture = stack[2]
            np.testing.assert_allclose(
                model.reconstruct(picture), turned.reconstruct(picture), atol=1e-6
            )
