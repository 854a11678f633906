"""Kernels, their Mercer coordinates, and kernel ISCA against the paper's formulas for Θ."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.metrics import pairwise

from isca_gui.core import settings as settings_module
from isca_gui.core.distortion.dataset import Dataset, Entry, generate
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import training
from isca_gui.core.parallel import Workers
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.solvers import admm, driver, kernels
from isca_gui.core.solvers.kernels import KERNELS, KernelSettings
from tests import reference as ref

N, SIDE, Q = 20, 8, 64
NAMES = ("linear", "rbf", "sigmoid", "polynomial", "cosine")
LITERAL = {
    "linear": lambda s: ref.kernel_linear,
    "rbf": lambda s: partial(ref.kernel_rbf, gamma=s.gamma),
    "sigmoid": lambda s: partial(ref.kernel_sigmoid, gamma=s.gamma, coef0=s.coef0),
    "polynomial": lambda s: partial(
        ref.kernel_polynomial, gamma=s.gamma, coef0=s.coef0, degree=s.degree
    ),
    "cosine": lambda s: ref.kernel_cosine,
}
SKLEARN = {
    "linear": lambda x, y, s: pairwise.linear_kernel(x, y),
    "rbf": lambda x, y, s: pairwise.rbf_kernel(x, y, s.gamma),
    "sigmoid": lambda x, y, s: pairwise.sigmoid_kernel(x, y, s.gamma, s.coef0),
    "polynomial": lambda x, y, s: pairwise.polynomial_kernel(x, y, s.degree, s.gamma, s.coef0),
    "cosine": lambda x, y, s: pairwise.cosine_similarity(x, y),
}


def pictures(images=N, height=2 * SIDE, width=3 * SIDE, seed=8):
    rng = np.random.default_rng(seed)
    contrast = rng.uniform(0.4, 1.2, (images, 1, 1))
    noise = 0.15 * rng.normal(size=(images, height, width))
    return np.clip(contrast * rng.random((height, width)) + noise, 0, 1).astype(np.float32)


def dataset_of(stack):
    entries = [
        Entry("original" if index == 0 else "blur", 0.0, 0.0, 0.0, 0) for index in range(len(stack))
    ]
    return Dataset(np.array(stack, np.float32), tuple(entries))


def blocks_of(stack, side=SIDE):
    """Blocks (block, image, pixel), means not removed."""
    return np.array(
        [
            [
                picture[top : top + side, left : left + side].astype(np.float64).ravel()
                for picture in stack
            ]
            for top in range(0, stack.shape[1], side)
            for left in range(0, stack.shape[2], side)
        ]
    )


def problem_of(stack, settings):
    with Workers(2) as workers:
        return run(training.problem_for(dataset_of(stack), settings, workers))


def solve(problem, settings, state):
    with Workers(2) as workers:
        return run(driver.solve(problem, settings, workers, state))


def kernel_of(name, gamma=1 / Q, coef0=1.0, degree=3):
    return KernelSettings(name, gamma, coef0, degree)


@pytest.fixture(scope="module")
def paper():
    """The paper's dataset of a part of a sample picture: kernels with small eigenvalues."""
    reference = image.read(samples.resolve("sample:camera"))[100:164, 200:264]
    return run(generate(np.ascontiguousarray(reference), DatasetSpec()))


# --- the table of kernels ------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("numbers", [{}, {"gamma": 0.3, "coef0": -0.4, "degree": 2}])
def test_kernels_equal_those_of_scikit_learn(name, numbers):
    settings = kernel_of(name, **numbers)
    blocks = blocks_of(pictures())
    new = blocks_of(pictures(images=3, seed=9))
    found = KERNELS[name](new, blocks, settings)
    assert tuple(KERNELS) == settings_module.KERNELS
    assert set(KERNELS) == set(NAMES)
    for block, kernel in enumerate(found):
        wanted = SKLEARN[name](new[block], blocks[block], settings)
        np.testing.assert_allclose(kernel, wanted, rtol=1e-12, atol=1e-12)


def test_gamma_is_one_by_the_number_of_pixels_unless_given():
    stack = pictures()
    free = problem_of(stack, TrainingSettings("kernel-isca", kernel="rbf", precision="float64"))
    given = problem_of(
        stack, TrainingSettings("kernel-isca", kernel="rbf", gamma=1 / 64, precision="float64")
    )
    other = problem_of(
        stack, TrainingSettings("kernel-isca", kernel="rbf", gamma=0.5, precision="float64")
    )
    np.testing.assert_array_equal(free.coordinates, given.coordinates)
    assert not np.array_equal(free.coordinates, other.coordinates)
    assert free.c == pytest.approx(63 * 0.03**2)


# --- normalisation, centring, Mercer coordinates -------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_coordinates_give_the_normalised_centred_kernel_back(name):
    settings = kernel_of(name, gamma=0.2)
    blocks = blocks_of(pictures())
    fitted = kernels.mercer(blocks, settings, 4)
    for block, x in enumerate(blocks):
        raw = ref.kernel_matrix(x, LITERAL[name](settings))
        psi, upsilon, delta = ref.decompose(ref.double_centre(ref.normalise(raw)))
        z, values = fitted.coordinates[block], fitted.eigenvalues[block]
        np.testing.assert_allclose(z @ z.T, delta.T @ delta, rtol=0, atol=1e-10)
        kept = len(psi.T)
        np.testing.assert_allclose(values[:kept], np.diag(upsilon), rtol=1e-9, atol=1e-12)
        assert not values[kept:].any()
        np.testing.assert_allclose(z.T @ z, np.diag(values), rtol=0, atol=1e-10)  # ΔΔᵀ = Υ
        assert np.all(np.diff(values) <= 0)
        np.testing.assert_allclose(fitted.self_similarity[block], np.diag(raw), rtol=1e-12)
        if name != "sigmoid":  # nothing was clipped
            centred = ref.double_centre(ref.normalise(raw))
            np.testing.assert_allclose(z @ z.T, centred, rtol=0, atol=1e-6)


def test_an_indefinite_sigmoid_kernel_is_clipped():
    x = blocks_of(pictures())[:1]
    settings = kernel_of("sigmoid", gamma=0.3, coef0=-1.0)
    raw = ref.kernel_matrix(x[0], LITERAL["sigmoid"](settings))
    centred = ref.double_centre(ref.normalise(raw))
    assert np.linalg.eigvalsh(centred)[0] < -1e-3  # else this proves nothing
    fitted = kernels.mercer(x, settings, 4)
    assert fitted.eigenvalues.min() >= 0
    _, _, delta = ref.decompose(centred)
    z = fitted.coordinates[0]
    np.testing.assert_allclose(z @ z.T, delta.T @ delta, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_similarities_of_new_blocks_are_normalised_and_centred_by_the_training(name):
    settings = kernel_of(name, gamma=0.2)
    blocks, new = blocks_of(pictures()), blocks_of(pictures(images=3, seed=9))
    fitted = kernels.mercer(blocks, settings, 4)
    near, own = kernels.similarities(new, blocks, fitted, settings)
    kernel = LITERAL[name](settings)
    for block, x in enumerate(blocks):
        raw = ref.kernel_matrix(x, kernel)
        normalised = ref.normalise(raw)
        for index, y in enumerate(new[block]):
            k = ref.normalise_vector(
                np.array([kernel(y, other) for other in x]), kernel(y, y), np.diag(raw)
            )
            wanted = ref.centre_vector(k, normalised)
            np.testing.assert_allclose(near[block, index], wanted, rtol=0, atol=1e-12)
            # ‖φ(y) − mean of φ‖² = k(y, y) − 2·mean k(y, ·) + mean K
            assert own[block, index] == pytest.approx(
                1 - 2 * k.mean() + normalised.mean(), abs=1e-12
            )


@pytest.mark.parametrize("name", NAMES)
def test_similarities_of_training_blocks_are_columns_of_the_kernel(name):
    settings = kernel_of(name)
    blocks = blocks_of(pictures())
    fitted = kernels.mercer(blocks, settings, 4)
    near, own = kernels.similarities(blocks, blocks, fitted, settings)
    for block, x in enumerate(blocks):
        centred = ref.double_centre(ref.normalise(ref.kernel_matrix(x, LITERAL[name](settings))))
        np.testing.assert_allclose(near[block], centred, rtol=0, atol=1e-12)
        np.testing.assert_allclose(own[block], np.diag(centred), rtol=0, atol=1e-12)


# --- degenerate ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_black_blocks_give_zeros_and_never_nan(name):
    settings = kernel_of(name)
    blocks = blocks_of(pictures())
    blocks[0] = 0  # black in all images
    blocks[1, ::2] = 0  # in every other image
    blocks[2, 3] = 0  # in one
    with np.errstate(all="raise"):
        fitted = kernels.mercer(blocks, settings, 4)
        near, own = kernels.similarities(blocks, blocks, fitted, settings)
    for part in (fitted.coordinates, fitted.eigenvalues, fitted.column_means, near, own):
        assert np.isfinite(part).all()
    for block, x in enumerate(blocks):
        centred = ref.double_centre(ref.normalise(ref.kernel_matrix(x, LITERAL[name](settings))))
        np.testing.assert_allclose(near[block], centred, rtol=0, atol=1e-12)
    assert not fitted.coordinates[0].any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_blocks_constant_over_the_images_have_no_coordinates_but_a_model(name, precision):
    stack = pictures()
    stack[:, :SIDE] = stack[0, :SIDE]
    settings = TrainingSettings("kernel-isca", kernel=name, epochs=3, precision=precision)
    problem = problem_of(stack, settings)
    assert not problem.coordinates[:3].any()
    assert problem.coordinates[3:].any()
    model = run(training.train(dataset_of(stack), settings))
    for part in (model.state.u, model.state.v, model.state.j, model.basis, model.transform(stack)):
        assert np.isfinite(part).all()
    np.testing.assert_allclose(model.transform(stack)[:3], 0, atol=1e-6)


# --- kernel ISCA is the paper's ------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("components", [3, 4, 9])
def test_twenty_steps_equal_the_formula_for_theta(name, components):
    settings = TrainingSettings(
        "kernel-isca", kernel=name, components=components, epochs=1, precision="float64"
    )
    problem = problem_of(pictures(), settings)
    assert problem.coordinates.shape[:2] == (6, N)
    begin = admm.random_start(problem, settings)
    result = solve(problem, settings, begin)
    errors = []
    for block, z in enumerate(problem.coordinates):
        delta, values = z.T, problem.mercer.eigenvalues[block]
        kernel = delta.T @ delta
        # any Θ with ΔΘ = A: here ΔᵀΥ⁻¹A
        inverse = np.divide(1, values, out=np.zeros_like(values), where=values > 0)
        theta = delta.T @ (inverse[:, None] * begin.u[block])
        np.testing.assert_allclose(delta @ theta, begin.u[block], rtol=0, atol=1e-12)
        w, j = begin.v[block], begin.j[block]
        for step in range(N):
            k, own = kernel[:, step], kernel[step, step]
            theta, w, j = ref.kernel_isca_step(
                theta, w, j, delta, k, own, 0.1, 0.1, ref.constant_c(Q)
            )
            errors.append(ref.f_kernel(theta, k, own, ref.constant_c(Q)))
        np.testing.assert_allclose(result.state.u[block], delta @ theta, rtol=0, atol=1e-10)
        np.testing.assert_allclose(result.state.v[block], w, rtol=0, atol=1e-10)
        np.testing.assert_allclose(result.state.j[block], j, rtol=0, atol=1e-10)
    assert result.steps[0].error == pytest.approx(np.mean(errors), abs=1e-10)


@pytest.mark.parametrize("components", [3, 9])
def test_the_start_is_a_uniform_theta(components):
    settings = TrainingSettings(
        "kernel-isca", kernel="rbf", components=components, precision="float64"
    )
    problem = problem_of(pictures(), settings)
    begin = admm.random_start(problem, settings)
    for z, a in zip(problem.coordinates, begin.u, strict=True):
        # A = ΔΘ with 0 ≤ Θ < 1: |A| is at most the sum of |Δ| over the images
        assert np.all(np.abs(a) <= np.abs(z).sum(axis=0)[:, None] + 1e-12)
        assert np.any(a != 0)


@pytest.mark.parametrize("components", [3, 9])
def test_the_natural_metric_is_linear_isca_on_the_coordinates(components):
    settings = TrainingSettings(
        "kernel-isca",
        kernel="rbf",
        components=components,
        epochs=2,
        metric="natural",
        precision="float64",
    )
    problem = problem_of(pictures(), settings)
    begin = admm.random_start(problem, settings)
    result = solve(problem, settings, begin)
    for block, z in enumerate(problem.coordinates):
        a, w, j = begin.u[block], begin.v[block], begin.j[block]
        for step in range(2 * N):
            a, w, j = ref.isca_step(a, w, j, z[step % N], 0.1, 0.1, ref.constant_c(Q))
        np.testing.assert_allclose(result.state.u[block], a, rtol=0, atol=1e-9)
        np.testing.assert_allclose(result.state.v[block], w, rtol=0, atol=1e-9)
        np.testing.assert_allclose(result.state.j[block], j, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_objective_is_that_of_the_orthonormalised_basis(name):
    settings = TrainingSettings("kernel-isca", kernel=name, epochs=2, precision="float64")
    problem = problem_of(pictures(), settings)
    result = solve(problem, settings, admm.random_start(problem, settings))
    wanted = ref.objective(problem.coordinates, result.state.u, problem.c)
    assert result.steps[-1].objective == pytest.approx(wanted, abs=1e-10)


# --- projections out of the model ----------------------------------------------------------------


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", ["kernel-isca", "kernel-pca"])
def test_a_training_picture_is_projected_as_in_training(paper, method, name, precision):
    settings = TrainingSettings(method, kernel=name, epochs=2, precision=precision)
    problem = problem_of(paper.pictures, settings)
    model = run(training.train(paper, settings))
    projected = model.transform(paper.pictures)
    assert projected.shape == (64, len(paper.pictures), 4)
    np.testing.assert_allclose(projected, problem.coordinates @ model.basis, rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        model.transform(paper.pictures[5:6]), projected[:, 5:6], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_new_picture_is_projected_by_its_similarities(name):
    stack, new = pictures(), pictures(images=2, seed=9)
    settings = TrainingSettings("kernel-isca", kernel=name, epochs=2, precision="float64")
    problem = problem_of(stack, settings)
    model = run(training.train(dataset_of(stack), settings))
    found = model.transform(new)
    kernel = LITERAL[name](kernel_of(name))
    for block, x in enumerate(blocks_of(stack)):
        raw = ref.kernel_matrix(x, kernel)
        normalised, values = ref.normalise(raw), problem.mercer.eigenvalues[block]
        theta = problem.coordinates[block] @ (
            np.divide(1, values, out=np.zeros_like(values), where=values > 0)[:, None]
            * model.basis[block]
        )
        for index, y in enumerate(blocks_of(new)[block]):
            k = ref.normalise_vector(
                np.array([kernel(y, other) for other in x]), kernel(y, y), np.diag(raw)
            )
            wanted = theta.T @ ref.centre_vector(k, normalised)
            np.testing.assert_allclose(found[block, index], wanted, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_theta_satisfies_the_constraint(name):
    stack = pictures()
    settings = TrainingSettings("kernel-isca", kernel=name, epochs=2, precision="float64")
    problem = problem_of(stack, settings)
    model = run(training.train(dataset_of(stack), settings))
    for block, z in enumerate(problem.coordinates):
        theta = model.kernel.theta[block]
        np.testing.assert_allclose(z.T @ theta, model.basis[block], rtol=0, atol=1e-8)  # ΔΘ = B
        # ΘᵀKΘ = I
        np.testing.assert_allclose(theta.T @ (z @ z.T) @ theta, np.eye(4), rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["linear", "rbf", "sigmoid"])
@pytest.mark.parametrize("metric", ["published", "natural"])
def test_w_is_orthonormal_after_training_in_float32(paper, name, metric):
    settings = TrainingSettings("kernel-isca", kernel=name, metric=metric, epochs=5)
    model = run(training.train(paper, settings))
    for part in (model.state.v, model.basis):
        exact = part.astype(np.float64)
        off = float(np.abs(exact.swapaxes(1, 2) @ exact - np.eye(4)).max())
        assert off < 1e-5
