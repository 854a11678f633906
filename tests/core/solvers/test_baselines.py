"""PCA, kernel PCA and random projection against scikit-learn, behind the same interface as ISCA."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.decomposition import PCA, KernelPCA
from sklearn.metrics import pairwise

from isca_gui.core.distortion.dataset import Dataset, Entry, generate
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import training
from isca_gui.core.model.model import NotInvertible
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.solvers.steps import CONVERGED, Step
from tests import reference as ref

P, SIDE = 4, 8
KERNELS = {
    "linear": pairwise.linear_kernel,
    "rbf": pairwise.rbf_kernel,
    "sigmoid": pairwise.sigmoid_kernel,
    "polynomial": pairwise.polynomial_kernel,
    "cosine": pairwise.cosine_similarity,
}
METHODS = ("isca", "kernel-isca", "pca", "kernel-pca", "random")


def pictures(images=30, height=24, width=16, seed=3):
    """Pictures with a few strong patterns, so that the leading components stand apart."""
    rng = np.random.default_rng(seed)
    patterns = np.random.default_rng(0).normal(size=(6, height, width))
    weights = rng.normal(size=(images, 6)) * np.array([0.15, 0.1, 0.07, 0.05, 0.02, 0.01])
    noise = 0.005 * rng.normal(size=(images, height, width))
    return np.clip(0.5 + np.tensordot(weights, patterns, 1) + noise, 0, 1).astype(np.float32)


def dataset_of(stack):
    entries = [
        Entry("original" if index == 0 else "blur", 0.0, 0.0, 0.0, 0) for index in range(len(stack))
    ]
    return Dataset(np.array(stack, np.float32), tuple(entries))


def blocks_of(stack, side=SIDE):
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


def centred_blocks(stack, side=SIDE):
    blocks = blocks_of(stack, side)
    return blocks - blocks.mean(axis=2, keepdims=True)


def assert_up_to_sign(found, wanted, tolerance):
    signs = np.sign(np.sum(found * wanted, axis=0))
    np.testing.assert_allclose(found, wanted * signs, rtol=0, atol=tolerance)


# --- PCA -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_pca_equals_that_of_scikit_learn(precision):
    stack, new = pictures(), pictures(images=5, seed=4)
    model = run(training.train(dataset_of(stack), TrainingSettings("pca", precision=precision)))
    assert model.end == CONVERGED
    projected, projected_new = model.transform(stack), model.transform(new)
    for block, x in enumerate(centred_blocks(stack)):
        pca = PCA(P, svd_solver="full").fit(x)
        assert (
            subspace_angles(model.basis[block].astype(np.float64), pca.components_.T).max() < 1e-4
        )
        assert_up_to_sign(model.basis[block], pca.components_.T, 1e-4)
        assert_up_to_sign(projected[block], pca.transform(x), 1e-5)
        signs = np.sign(np.sum(projected[block] * pca.transform(x), axis=0))
        wanted = pca.transform(centred_blocks(new)[block]) * signs
        np.testing.assert_allclose(projected_new[block], wanted, rtol=0, atol=1e-5)
        np.testing.assert_allclose(model.offset[block], pca.mean_, rtol=0, atol=1e-6)


def test_pca_on_the_papers_dataset_equals_that_of_scikit_learn():
    reference = image.read(samples.resolve("sample:camera"))[100:164, 200:264]
    made = run(generate(np.ascontiguousarray(reference), DatasetSpec()))
    model = run(training.train(made, TrainingSettings("pca")))
    for block, x in enumerate(centred_blocks(made.pictures)):
        pca = PCA(P, svd_solver="full").fit(x)
        assert (
            subspace_angles(model.basis[block].astype(np.float64), pca.components_.T).max() < 1e-4
        )


def test_pca_reconstructs_as_scikit_learn_does():
    stack = pictures()
    model = run(training.train(dataset_of(stack), TrainingSettings("pca")))
    rebuilt = model.reconstruct(stack[3])
    assert rebuilt.shape == stack[3].shape
    assert rebuilt.dtype == np.float32
    means = blocks_of(stack)[:, 3].mean(axis=1)
    for block, x in enumerate(centred_blocks(stack)):
        pca = PCA(P, svd_solver="full").fit(x)
        wanted = pca.inverse_transform(pca.transform(x[3:4]))[0] + means[block]
        found = blocks_of(rebuilt[None])[block, 0]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


def test_signs_are_fixed():
    model = run(
        training.train(dataset_of(pictures()), TrainingSettings("pca", precision="float64"))
    )
    largest = np.abs(model.basis).argmax(axis=1)
    assert np.all(np.take_along_axis(model.basis, largest[:, None], axis=1) > 0)


# --- kernel PCA ----------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", KERNELS)
def test_kernel_pca_equals_that_of_scikit_learn(name, precision):
    stack, new = pictures(), pictures(images=5, seed=4)
    settings = TrainingSettings("kernel-pca", kernel=name, precision=precision)
    model = run(training.train(dataset_of(stack), settings))
    assert model.end == CONVERGED
    projected, projected_new = model.transform(stack), model.transform(new)
    for block, x in enumerate(blocks_of(stack)):
        y = blocks_of(new)[block]
        raw = KERNELS[name](x)
        own, own_new = np.sqrt(np.diag(raw)), np.sqrt([KERNELS[name](one[None])[0, 0] for one in y])
        pca = KernelPCA(P, kernel="precomputed", eigen_solver="dense")
        wanted = pca.fit_transform(raw / np.outer(own, own))
        assert subspace_angles(projected[block].astype(np.float64), wanted).max() < 1e-4
        assert_up_to_sign(projected[block], wanted, 1e-6)
        signs = np.sign(np.sum(projected[block] * wanted, axis=0))
        fresh = pca.transform(KERNELS[name](y, x) / np.outer(own_new, own)) * signs
        np.testing.assert_allclose(projected_new[block], fresh, rtol=0, atol=1e-5)


# --- random --------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("components", [1, 4, 16, 64])
def test_random_is_orthonormal_and_seeded(precision, components):
    made = dataset_of(pictures())
    first, again, other = (
        run(
            training.train(
                made, TrainingSettings("random", components=components, seed=s, precision=precision)
            )
        )
        for s in (1, 1, 2)
    )
    exact = first.basis.astype(np.float64)
    assert first.basis.dtype == precision
    assert np.abs(exact.swapaxes(1, 2) @ exact - np.eye(components)).max() < 1e-5
    np.testing.assert_array_equal(first.basis, again.basis)
    assert not np.array_equal(first.basis, other.basis)
    assert not np.array_equal(first.basis[0], first.basis[1])


def test_random_subspaces_have_no_direction():
    stack = np.random.default_rng(0).random((1, 256, 256))
    model = run(training.train(dataset_of(stack), TrainingSettings("random")))
    mean = np.mean(model.basis.astype(np.float64) @ model.basis.swapaxes(1, 2), axis=0)
    np.testing.assert_allclose(mean, np.eye(64) * P / 64, atol=0.02)  # of 1024 projections


# --- in the units of ISCA ------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["admm", "direct"])
@pytest.mark.parametrize("method", ["isca", "pca", "random"])
def test_the_figure_is_the_distance_to_the_models_own_reconstruction(method, solver):
    stack = pictures()
    reports = []
    settings = TrainingSettings(method, solver, epochs=10, precision="float64")
    model = run(training.train(dataset_of(stack), settings), reports.append)
    steps = [report for report in reports if isinstance(report, Step)]
    means = blocks_of(stack).mean(axis=2, keepdims=True)
    rebuilt = blocks_of(np.stack([model.reconstruct(picture) for picture in stack])) - means
    pairs = zip(centred_blocks(stack).reshape(-1, 64), rebuilt.reshape(-1, 64), strict=True)
    wanted = np.mean([ref.ssim_distance(x, again, ref.constant_c(64)) for x, again in pairs])
    assert steps[-1].objective == pytest.approx(wanted, abs=1e-6)  # pictures are float32
    if method != "isca":
        assert len(steps) == len(model.steps) == 1
        assert steps[0].error == steps[0].objective


def test_isca_beats_the_baselines_in_its_own_measure():
    made = dataset_of(pictures())
    settings = (
        TrainingSettings(solver="direct"),
        TrainingSettings("pca"),
        TrainingSettings("random"),
    )
    isca, pca, random = (run(training.train(made, one)).steps[-1].objective for one in settings)
    assert isca <= pca < random


# --- the same model ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_the_time_is_reported(method):
    model = run(training.train(dataset_of(pictures()), TrainingSettings(method, epochs=2)))
    assert 0 < model.steps[-1].seconds <= model.state.seconds


@pytest.mark.parametrize("method", METHODS)
def test_shapes_are_the_same_for_all_methods(method):
    stack = pictures(images=6, height=21, width=19)  # nine blocks, the last ones continued
    model = run(training.train(dataset_of(stack), TrainingSettings(method, kernel="rbf", epochs=2)))
    assert model.transform(stack).shape == (9, 6, P)
    assert model.transform(stack[:1]).shape == (9, 1, P)
    assert model.state.u.shape == model.state.v.shape == model.state.j.shape
    exact = model.basis.astype(np.float64)
    assert np.abs(exact.swapaxes(1, 2) @ exact - np.eye(P)).max() < 1e-5
    if method.startswith("kernel"):
        with pytest.raises(NotInvertible, match="one number per training picture"):
            model.reconstruct(stack[0])
        with pytest.raises(NotInvertible, match="cannot be shown as a picture"):
            model.basis_picture("U", 0)
        return
    assert model.reconstruct(stack[0]).shape == (21, 19)
    for which, part in (("U", model.state.u), ("V", model.state.v), ("J", model.state.j)):
        for component in range(P):
            shown = model.basis_picture(which, component)
            assert shown.shape == (21, 19)
            assert shown.dtype == np.float32
            np.testing.assert_array_equal(
                shown[:8, :8].ravel(), part[0, :, component].astype(np.float32)
            )
            np.testing.assert_array_equal(
                shown[16:, 16:], part[8, :, component].reshape(8, 8)[:5, :3].astype(np.float32)
            )


@pytest.mark.parametrize("method", ["isca", "pca", "random"])
@pytest.mark.parametrize("solver", ["admm", "direct"])
@pytest.mark.parametrize(("block", "components"), [(2, 4), (3, 9), (8, 64)])
def test_all_components_reconstruct_any_picture(method, solver, block, components):
    stack = pictures(images=5)
    settings = TrainingSettings(method, solver, block=block, components=components, epochs=3)
    model = run(training.train(dataset_of(stack), settings))
    for picture in (*stack, pictures(images=1, seed=9)[0]):
        np.testing.assert_allclose(model.reconstruct(picture), picture, rtol=0, atol=1e-5)


@pytest.mark.parametrize("method", ["isca", "pca", "random"])
def test_fewer_components_reconstruct_less(method):
    stack = pictures()
    model = run(training.train(dataset_of(stack), TrainingSettings(method, epochs=20)))
    basis, offset = model.basis.astype(np.float64), 0.0 if model.offset is None else model.offset
    x = centred_blocks(stack)[:, 2]
    errors = []
    for components in (1, 2, 3, 4):
        rebuilt = model.reconstruct(stack[2], components)
        some = basis[:, :, :components]
        inside = np.einsum("bqp,bp->bq", some, np.einsum("bqp,bq->bp", some, x - offset)) + offset
        means = blocks_of(stack)[:, 2].mean(axis=1, keepdims=True)
        np.testing.assert_allclose(
            blocks_of(rebuilt[None])[:, 0], inside + means, rtol=0, atol=1e-5
        )
        errors.append(np.sum((rebuilt - stack[2]) ** 2))
    assert errors == sorted(errors, reverse=True)
    np.testing.assert_array_equal(model.reconstruct(stack[2]), model.reconstruct(stack[2], 4))
