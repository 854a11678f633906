"""The scikit-learn estimators: their contract, and that they are the program's own method."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from isca_gui.core.distortion.dataset import Dataset, Entry
from isca_gui.core.model import training
from isca_gui.core.model.estimators import ISCA, KernelISCA, _signed
from isca_gui.core.pictures.blocks import centre
from isca_gui.core.progress import run
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.solvers import admm
from isca_gui.core.solvers.kernels import KERNELS
from isca_gui.core.solvers.steps import SolverError
from tests import reference as ref

if TYPE_CHECKING:
    from isca_gui.core.model.model import Model

SIDE, Q, N = 4, 16, 11
TYPES = ("float32", "float64")

# Checks of scikit-learn that an estimator is allowed to fail, and why. There is none: a new entry
# needs a reason here, and one that no longer fails is an error.
EXPECTED_FAILED: dict[str, str] = {}
SKIPPED = {
    "check_array_api_input": "scikit-learn skips it for every estimator without SCIPY_ARRAY_API",
}


def rows(count: int = N, features: int = Q, seed: int = 1, dtype: str = "float32") -> np.ndarray:
    """One block in several pictures: a common structure, disturbed, in [0, 1]."""
    rng = np.random.default_rng(seed)
    noise = 0.15 * rng.normal(size=(count, features))
    return np.clip(rng.uniform(size=features) + noise, 0, 1).astype(dtype)


def model_of(X: np.ndarray, **more: object) -> Model:
    """Train a model of a single block on the same data."""
    pictures = X.astype(np.float32).reshape(len(X), SIDE, SIDE)
    entries = [Entry("original" if index == 0 else "blur", 0, 0, 0, 0) for index in range(len(X))]
    choice = {"block": SIDE, "precision": str(X.dtype), **more}
    return run(training.train(Dataset(pictures, tuple(entries)), TrainingSettings(**choice)))  # type: ignore[arg-type]


# --- scikit-learn's own checks --------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        ISCA(),
        ISCA(solver="admm", max_iter=3),
        KernelISCA(),
        KernelISCA(kernel="sigmoid"),
        KernelISCA(solver="admm", max_iter=3),
    ],
    ids=repr,
)
def test_check_estimator(estimator: BaseEstimator, monkeypatch: pytest.MonkeyPatch) -> None:
    # The checks ask for 1, 2 and 4 components: compiling for each takes a minute, plain NumPy does
    # the same.
    monkeypatch.setattr(admm, "MOST_COMPONENTS", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="sklearn")
        results = check_estimator(estimator, expected_failed_checks=EXPECTED_FAILED, on_skip=None)
    ended = {result["check_name"]: result["status"] for result in results}
    assert len(ended) > 30
    assert {name for name, status in ended.items() if status == "xfail"} == set(EXPECTED_FAILED)
    assert {name for name, status in ended.items() if status == "skipped"} <= set(SKIPPED)


def test_scikit_learn_is_loaded_on_demand_only() -> None:
    code = (
        "import sys, isca_gui.core.model.training, isca_gui.core.recognition.evaluation\n"
        "print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_inside_a_pipeline_and_a_grid_search() -> None:
    X, y = np.concatenate([rows(seed=1), rows(seed=2)]), np.repeat([0, 1], N)
    search = GridSearchCV(
        make_pipeline(ISCA(), KNeighborsClassifier(1)), {"isca__n_components": [1, 3]}, cv=3
    )
    assert search.fit(X, y).best_score_ == 1
    assert list(ISCA(2).fit(X).get_feature_names_out()) == ["isca0", "isca1"]


# --- the same as the paper's equations ------------------------------------------------------------


def test_admm_is_the_published_iteration() -> None:
    X = rows(dtype="float64")
    found = ISCA(3, solver="admm", max_iter=7, random_state=5).fit(X)
    random = np.random.default_rng(5)
    U, V, J = (random.random((1, Q, 3)) for _ in range(3))
    centred = centre(X)[0][np.newaxis]
    U, V, J, errors, objectives = ref.isca_epochs(centred, U, V, J, 1.0, 0.1, 7)
    np.testing.assert_allclose(found.components_, _signed(ref.project_stiefel(U[0]).T), atol=1e-10)
    assert found.error_ == pytest.approx(errors[-1], abs=1e-10)
    assert found.objective_ == pytest.approx(objectives[-1], abs=1e-10)
    assert found.n_iter_ == 7


@pytest.mark.parametrize("l", [1.0, 255.0])
def test_the_direct_solver_stands_where_the_equations_are_stationary(l: float) -> None:  # noqa: E741
    X = rows(40, dtype="float64") * l
    found = ISCA(3, tol=1e-6, max_iter=2000, data_range=l).fit(X)
    U, c = found.components_.T, ref.constant_c(Q) * l**2
    centred = X - X.mean(axis=1, keepdims=True)
    gradient = sum(ref.gradient(U, x, c) for x in centred) / len(X)
    assert np.abs(gradient - U @ (U.T @ gradient)).max() < 1e-6
    assert found.objective_ == pytest.approx(ref.average_error(centred[None], [U], c), abs=1e-12)
    assert found.objective_ == found.error_


def test_values_on_another_scale_give_the_same_subspace() -> None:
    X = rows(dtype="float64")
    small = ISCA(3).fit(X)
    # A power of two does not round.
    large = ISCA(3, data_range=256).fit(256 * X)
    np.testing.assert_array_equal(small.components_, large.components_)
    assert small.objective_ == large.objective_


def test_kernel_admm_is_the_published_iteration() -> None:
    X = rows(6, dtype="float64")
    found = KernelISCA(3, solver="admm", metric="published", max_iter=3, random_state=4).fit(X)
    K = ref.double_centre(ref.normalise(ref.kernel_matrix(X, ref.kernel_rbf)))
    _, _, Delta = ref.decompose(K)
    random = np.random.default_rng(4)
    width = len(Delta)
    Theta = random.random((6, 3))
    W, J = (random.random((width, 3)) for _ in range(2))
    # Signs of the eigenvectors are free: take those of the program, so that W and J mean the same.
    Delta = Delta * np.sign(np.sum(Delta * found._fitted.coordinates[0].T, axis=1))[:, None]
    Theta, _, _ = ref.kernel_isca_steps(K, Delta, Theta, W, J, 0.1, 0.1, 18, ref.constant_c(Q))
    basis = ref.project_stiefel(Delta @ Theta)
    theta = Delta.T @ np.diag(1 / np.sum(Delta**2, axis=1)) @ basis
    np.testing.assert_allclose(found.components_, _signed(theta.T), atol=1e-8)
    np.testing.assert_allclose(found.transform(X), K @ _signed(theta.T).T, atol=1e-8)


# --- the same as the program ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("solver", ["direct", "admm"])
def test_equals_a_model_of_one_block(dtype: str, solver: str) -> None:
    X = rows().astype(dtype)
    model = model_of(X, solver=solver, epochs=20, tolerance=0.0, seed=7)
    found = ISCA(solver=solver, max_iter=20, tol=0, random_state=7).fit(X)
    assert found.components_.dtype == dtype
    np.testing.assert_array_equal(found.components_, _signed(model.basis[0].T))
    last = model.steps[-1]
    assert (found.n_iter_, found.objective_, found.error_) == (
        last.epoch,
        last.objective,
        last.error,
    )
    sign = np.sign(np.sum(found.components_ * model.basis[0].T, axis=1))
    pictures = X.astype(np.float32).reshape(-1, SIDE, SIDE)
    np.testing.assert_allclose(found.transform(X), model.transform(pictures)[0] * sign, atol=1e-6)
    back = np.stack([model.reconstruct(picture).ravel() for picture in pictures])
    np.testing.assert_allclose(found.reconstruct(X), back, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("solver", ["direct", "admm"])
def test_equals_a_kernel_model_of_one_block(kernel: str, solver: str) -> None:
    X = rows()
    model = model_of(
        X, method="kernel-isca", kernel=kernel, solver=solver, metric="natural", epochs=9
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KernelISCA(kernel=kernel, solver=solver, max_iter=9).fit(X)
    assert model.kernel is not None
    np.testing.assert_array_equal(found.components_, _signed(model.kernel.theta[0].T))
    new = rows(5, seed=9)
    sign = np.sign(np.sum(found.components_ * model.kernel.theta[0].T, axis=1))
    expected = model.transform(new.reshape(-1, SIDE, SIDE))[0] * sign
    np.testing.assert_allclose(found.transform(new), expected, atol=1e-5)


def test_defaults_are_the_programs() -> None:
    X = rows()
    assert len(ISCA().fit(X).components_) == TrainingSettings().components
    np.testing.assert_array_equal(
        ISCA().fit(X).components_, _signed(model_of(X, solver="direct").basis[0].T)
    )


# --- properties -----------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    count=st.integers(1, 12),
    features=st.integers(2, 12),
    components=st.integers(1, 12),
    seed=st.integers(0, 99),
    flat=st.booleans(),
    dtype=st.sampled_from(TYPES),
)
def test_any_size(
    count: int, features: int, components: int, seed: int, flat: bool, dtype: str
) -> None:
    """The basis is orthonormal with few samples, two features or nothing in the picture."""
    X = np.full((count, features), 0.5, dtype) if flat else rows(count, features, seed, dtype)
    estimator = ISCA(components, random_state=seed, tol=0, max_iter=15)
    if components > features:
        with pytest.raises(ValueError, match="n_components"):
            estimator.fit(X)
        return
    found = estimator.fit(X)
    accuracy = 1e-5 if dtype == "float32" else 1e-12
    U = found.components_
    np.testing.assert_allclose(U @ U.T, np.eye(components), atol=accuracy)
    assert (np.take_along_axis(U, np.abs(U).argmax(axis=1)[:, None], 1) > 0).all()
    assert 0 - accuracy <= found.objective_ <= 1
    projected = found.transform(X)
    assert projected.shape == (count, components)
    back = found.inverse_transform(projected)
    shifted = found.transform(back + 3)
    np.testing.assert_allclose(shifted, found.transform(back), atol=100 * accuracy)
    again = clone(estimator).fit(X)
    assert again.components_.tobytes() == U.tobytes()


@settings(max_examples=40)
@given(
    count=st.integers(1, 12),
    features=st.integers(2, 8),
    components=st.integers(1, 12),
    kernel=st.sampled_from(sorted(KERNELS)),
    black=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_size_with_kernels(
    count: int, features: int, components: int, kernel: str, black: bool, seed: int
) -> None:
    X = np.zeros((count, features)) if black else rows(count, features, seed, "float64")
    estimator = KernelISCA(components, kernel=kernel, tol=0, max_iter=10)
    if components > count:
        with pytest.raises(ValueError, match="n_components"):
            estimator.fit(X)
        return
    projected = estimator.fit_transform(X)
    assert projected.shape == (count, components)
    assert np.isfinite(projected).all()
    # what is projected cannot be longer than the block itself in feature space, 1 before it is
    # centred
    assert (np.linalg.norm(projected, axis=1) < 2).all()


def test_all_components_reconstruct_everything() -> None:
    X = rows(dtype="float64")
    found = ISCA(Q).fit(X)
    np.testing.assert_allclose(found.reconstruct(X), X, atol=1e-9)
    np.testing.assert_allclose(found.inverse_transform(found.transform(X)), centre(X)[0], atol=1e-9)
    assert found.objective_ == pytest.approx(0, abs=1e-12)


def test_keeps_more_structure_than_pca() -> None:
    X = rows(60, seed=3, dtype="float64") * np.linspace(0.05, 1, 60)[:, None]
    centred = centre(X)[0]
    pca = PCA(3).fit(centred).components_.T
    assert ISCA(3, tol=1e-5).fit(X).objective_ < ref.average_error(
        centred[None], [pca], ref.constant_c(Q)
    )


def test_seeds() -> None:
    X = rows(dtype="float64")
    first, second = ISCA(2, random_state=1).fit(X), ISCA(2, random_state=2).fit(X)
    assert not np.array_equal(first.components_, second.components_)
    drawn = [ISCA(2, random_state=np.random.RandomState(3)).fit(X).components_ for _ in range(2)]
    np.testing.assert_array_equal(*drawn)
    ISCA(2, random_state=None).fit(X)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 17}, "n_components"),
        ({"n_components": 2.5}, "n_components"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1}, "tol"),
        ({"solver": "newton"}, "solver"),
        ({"rho": 0}, "rho"),
        ({"eta": np.nan}, "eta"),
        *(
            ({"data_range": wrong}, "data_range")
            for wrong in (0, -1, np.nan, np.inf, 1e30, 1e200, 10**400)
        ),
        ({"random_state": -1}, "seed"),
    ],
)
def test_wrong_parameters_are_refused_when_fitting(wrong: dict[str, object], message: str) -> None:
    estimator = ISCA(**wrong)  # type: ignore[arg-type]
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(rows())


@pytest.mark.parametrize(
    "wrong", [{"kernel": "cubic"}, {"gamma": 0}, {"degree": 99}, {"metric": "euclid"}]
)
def test_wrong_kernels_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        KernelISCA(**wrong).fit(rows())  # type: ignore[arg-type]


def test_a_kernel_has_no_way_back() -> None:
    found = KernelISCA(2).fit(rows())
    with pytest.raises(NotImplementedError, match="Use ISCA"):
        found.inverse_transform(found.transform(rows()))


def test_projections_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match="5 features, but there are 3"):
        ISCA(3).fit(rows()).inverse_transform(np.ones((2, 5)))


@pytest.mark.parametrize("method", ["transform", "inverse_transform", "reconstruct"])
def test_it_must_be_fitted(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(ISCA(), method)(rows())


def test_says_when_it_has_not_converged() -> None:
    with pytest.warns(ConvergenceWarning, match="within 2 iterations"):
        ISCA(max_iter=2, tol=1e-12).fit(rows())
    # The published iteration runs all its epochs and does not warn.
    ISCA(max_iter=2, solver="admm").fit(rows())


def test_divergence_is_an_error() -> None:
    with pytest.raises(SolverError, match="diverged"):
        ISCA(solver="admm", eta=100.0).fit(rows())
