"""ISCA and kernel ISCA as scikit-learn estimators of one block; a row of X is one picture of it.

Only this module needs scikit-learn, so nothing else in the program imports it. The solvers, the
kernels and the numbers are the program's own: `ISCA` learns what a model of one block learns from
the same data.
"""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils import check_random_state, check_scalar
    from sklearn.utils.validation import check_array, check_is_fitted, validate_data
except ImportError as error:  # pragma: no cover - the tests need scikit-learn
    raise ImportError(
        "The estimators need scikit-learn 1.6 or newer: pip install 'isca-gui[sklearn]'."
    ) from error

from isca_gui.core.parallel import Workers
from isca_gui.core.pictures import ssim
from isca_gui.core.pictures.blocks import centre
from isca_gui.core.progress import run
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.solvers import driver, kernels
from isca_gui.core.solvers.objective import polar
from isca_gui.core.solvers.problem import Problem, kernel_settings
from isca_gui.core.solvers.steps import MAX_EPOCHS
from isca_gui.core.storage.json_types import is_finite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.floating[Any]]

PAPER_COMPONENTS = 4
# Data of any other type become float64.
_TYPES = (np.float64, np.float32)


class _Subspace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What both estimators share: checking, solving, and the attributes of a fitted one."""

    _method = ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _checked(self, X: ArrayLike, *, fitting: bool) -> Array:
        # One feature is nothing once its mean is removed, and SSIM divides by q − 1.
        least = 2 if fitting else 1
        rows = validate_data(self, X, reset=fitting, dtype=_TYPES, ensure_min_features=least)
        return np.asarray(rows)

    def _settings(self, X: Array, most: int, **more: Any) -> TrainingSettings:
        """Return the parameters as the program's settings; `most` components can be asked for."""
        components = self.n_components
        if components is None:
            components = min(PAPER_COMPONENTS, most)
        check_scalar(components, "n_components", Integral, min_val=1, max_val=most)
        if self.max_iter is not None:
            check_scalar(self.max_iter, "max_iter", Integral, min_val=1, max_val=1_000_000)
        if self.tol is not None:
            check_scalar(self.tol, "tol", Real, min_val=0, max_val=1)
        # The side of the block only limits the number of components here.
        side = math.isqrt(max(X.shape[1], components) - 1) + 1
        return TrainingSettings(
            self._method,
            self.solver,
            components=int(components),
            block=min(max(side, 2), 64),
            epochs=self.max_iter,
            tolerance=self.tol,
            rho=self.rho,
            eta=self.eta,
            seed=_seed(self.random_state),
            precision=X.dtype.name,
            **more,
        ).resolved()

    def _solve(self, problem: Problem, settings: TrainingSettings) -> Array:
        """Return the orthonormalised basis (coordinate, component) and note how training ended."""
        workers = Workers(1)
        try:
            result = run(driver.solve(problem, settings, workers))
        finally:
            workers.close()
        last = result.steps[-1]
        self.n_iter_ = last.epoch
        self.objective_ = last.objective
        self.error_ = last.error
        if result.end == MAX_EPOCHS and settings.tolerance:
            warnings.warn(
                f"{type(self).__name__} has not converged within {last.epoch} iterations. "
                "Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return np.asarray(polar(result.state.u)[0])


class ISCA(_Subspace):
    """Image structural component analysis of one block: the subspace that keeps most structure.

    Minimises the SSIM distance between the rows x of X, each with its own mean removed, and their
    reconstructions UUᵀx (the paper's Eq. 6, averaged over the rows).

    Parameters
    ----------
    n_components
        Number of basis vectors p, at most the number of features; None takes the paper's 4, or all
        features if there are fewer. It may be larger than the number of samples; vectors that the
        data do not determine are random.
    solver
        "direct" descends on the manifold of subspaces; "admm" is the published iteration.
    max_iter, tol
        None takes the program's values: 200, and 2e-3 for "direct" or 0 (all iterations) for
        "admm".
    rho, eta
        ADMM's penalty (None: the paper's 1) and learning rate.
    data_range
        The difference between the largest and the smallest possible value, l in SSIM's constants.
    random_state
        Seed of the starting point; an int gives what the program gives for that seed.

    Attributes
    ----------
    components_ : (n_components, n_features), orthonormal rows; the entry of largest magnitude in
        each is positive
    objective_, error_ : the mean SSIM distance for `components_`, and for U as iterated, which is
        the published figure
    n_iter_ : iterations, or epochs of ADMM
    """

    _method = "isca"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        solver: str = "direct",
        max_iter: int | None = None,
        tol: float | None = None,
        rho: float | None = None,
        eta: float = 0.1,
        data_range: float = 1.0,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.rho = rho
        self.eta = eta
        self.data_range = data_range
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the subspace of X (samples, features); `y` is ignored."""
        rows = self._checked(X, fitting=True)
        settings = self._settings(rows, rows.shape[1])
        c = ssim.constant(rows.shape[1]) * self._squared_range(rows.dtype)
        centred = centre(rows)[0].astype(rows.dtype)
        basis = self._solve(Problem([centred[np.newaxis]], c), settings)
        self.components_ = _signed(basis.T)
        return self

    def _squared_range(self, dtype: np.dtype[Any]) -> float:
        check_scalar(self.data_range, "data_range", Real, min_val=0, include_boundaries="neither")
        squared = math.inf
        if is_finite(self.data_range):
            squared = float(self.data_range) * float(self.data_range)
        if not squared <= float(np.finfo(dtype).max):
            given = str(self.data_range)[:20]
            raise ValueError(
                f"data_range == {given}, must be finite, and its square within {dtype}."
            )
        return squared

    def transform(self, X: ArrayLike) -> Array:
        """Return the projections Uᵀx (samples, n_components) of rows less their means."""
        check_is_fitted(self)
        rows = self._checked(X, fitting=False)
        return np.asarray(centre(rows)[0] @ self.components_.T, rows.dtype)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return the rows UUᵀx, without their means, of projections (samples, n_components).

        The mean of a row is not part of its projection; see `reconstruct`.
        """
        check_is_fitted(self)
        projected = check_array(X, dtype=_TYPES)
        if projected.shape[1] != len(self.components_):
            raise ValueError(
                f"X has {projected.shape[1]} features, "
                f"but there are {len(self.components_)} components."
            )
        return np.asarray(projected @ self.components_, projected.dtype)

    def reconstruct(self, X: ArrayLike) -> Array:
        """Return the reconstructions of rows, with the mean of each put back: UUᵀx + mean."""
        check_is_fitted(self)
        rows = self._checked(X, fitting=False)
        centred, means = centre(rows)
        basis = self.components_.astype(np.float64)
        return np.asarray(centred @ basis.T @ basis + means[:, np.newaxis], rows.dtype)


class KernelISCA(_Subspace):
    """ISCA in the feature space of a kernel, normalised and centred; rows keep their means.

    Parameters
    ----------
    n_components
        At most the number of samples; None takes the paper's 4, or as many as there are samples.
    kernel, gamma, coef0, degree
        "linear", "rbf", "sigmoid", "polynomial" or "cosine", with parameters as in scikit-learn;
        `gamma` None is 1 / n_features.
    metric
        The metric of ADMM's update. "published" may diverge with many samples, "natural" does not.
    solver, max_iter, tol, rho, eta, random_state
        As for `ISCA`; the paper's epochs and ρ are 100 and 0.1 here.

    Attributes
    ----------
    components_ : (n_components, samples of fit), Θᵀ: a row x is projected to Θᵀk(x)
    X_fit_ : the samples that a row is compared with
    objective_, error_, n_iter_ : as for `ISCA`
    """

    _method = "kernel-isca"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: str = "rbf",
        gamma: float | None = None,
        coef0: float = 1.0,
        degree: int = 3,
        solver: str = "direct",
        metric: str = "natural",
        max_iter: int | None = None,
        tol: float | None = None,
        rho: float | None = None,
        eta: float = 0.1,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.solver = solver
        self.metric = metric
        self.max_iter = max_iter
        self.tol = tol
        self.rho = rho
        self.eta = eta
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the subspace of X (samples, features) in feature space; `y` is ignored."""
        rows = self._checked(X, fitting=True)
        samples, features = rows.shape
        settings = self._settings(
            rows,
            samples,
            kernel=self.kernel,
            gamma=1 / features if self.gamma is None else self.gamma,
            coef0=self.coef0,
            degree=self.degree,
            metric=self.metric,
        )
        self._kernel = kernel_settings(settings)
        fitted = kernels.mercer(
            rows[np.newaxis], self._kernel, settings.components, settings.precision
        )
        basis = self._solve(
            Problem([fitted.coordinates], ssim.constant(features), fitted), settings
        )
        values = fitted.eigenvalues[0]
        inverse = np.divide(1, values, out=np.zeros_like(values), where=values > 0)
        # Θ = ΔᵀΥ⁻¹B of the orthonormalised basis B in Mercer coordinates, as for a kernel model.
        self.components_ = _signed((fitted.coordinates[0] @ (inverse[:, np.newaxis] * basis)).T)
        self._fitted = fitted
        self.X_fit_ = rows.copy()
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return the projections Θᵀk(x) of rows (samples, n_components)."""
        check_is_fitted(self)
        rows = self._checked(X, fitting=False)
        near, _ = kernels.similarities(
            rows[np.newaxis], self.X_fit_[np.newaxis], self._fitted, self._kernel
        )
        return np.asarray(near[0] @ self.components_.T, rows.dtype)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Raise NotImplementedError: a point in feature space has no preimage in pixels."""
        raise NotImplementedError(
            "KernelISCA has no inverse: ΘΘᵀk has one number per training sample, not per feature. "
            "Use ISCA."
        )


def _signed(rows: Array) -> Array:
    """Return rows whose entry of largest magnitude is positive: either sign would be as good."""
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, np.newaxis], axis=1)
    return np.asarray(np.where(largest < 0, -rows, rows))


def _seed(random_state: int | np.random.RandomState | None) -> int:
    """Return the program's seed: a number as it is, else one drawn as scikit-learn draws."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
