"""Epochs of ADMM in batched NumPy, for more components than the compiled loops are made for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.solvers.objective import polar, reconstruction_errors

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Workers
    from isca_gui.core.progress import Progress
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.problem import Problem
    from isca_gui.core.solvers.steps import Array

    Matrices = tuple[Array, Array, Array]


def admm_epoch(
    data: Array,
    metric: Array,
    state: Matrices,
    rho: float,
    eta: float,
    c: float,
    stop: NDArray[np.uint8],
) -> tuple[Matrices, Array]:
    """Run one epoch of Eq. 15 (or 23); return the new A, V and J, and the mean error (block,).

    Parameters
    ----------
    data
        Coordinates z (block, image, r).
    metric
        Υ of the update, (block, r) or anything that broadcasts to it; ones for linear ISCA.
    state
        A, V and J, each (block, r, p); they are left as they are.
    rho, eta, c
        The penalty ρ, the learning rate η and the constant of f.
    stop
        One flag that another thread may set; the epoch is then left at once and counts for nothing.
    """
    a, v, j = state
    total = np.zeros(len(data))
    weights = metric[..., None]
    for image in range(data.shape[1]):
        if stop[0]:
            break
        z = data[:, image]
        y = np.einsum("brp,br->bp", a, z)
        energy = np.sum(z * z, axis=1)
        kept = np.sum(y * y, axis=1)
        beta = energy + kept + c
        # −G of Eq. 7 is 2(1 + f)/β·z·yᵀ with y = Aᵀz.
        factor = 2 * (1 + (energy - kept) / beta) / beta
        descent = (factor[:, None] * z)[:, :, None] * y[:, None, :]
        a = a + eta * weights * (descent - rho * (a - v + j))
        v = polar(a + j)
        j = j + a - v
        kept = np.sum(np.square(np.einsum("brp,br->bp", a, z)), axis=1)
        total += (energy - kept) / (energy + kept + c)
    return (a, v, j), total / data.shape[1]


class NumpyEpochs:
    """ADMM epochs with the interface of `CompiledEpochs`."""

    def __init__(self, problem: Problem, settings: TrainingSettings, workers: Workers) -> None:
        self._problem = problem
        self._settings = settings
        self._workers = workers
        # So few blocks are worked on at a time that a request to stop is seen between two images.
        self._few = max(1, 4096 // settings.components**2)
        self._before: list[Array] = []
        self._after: list[Array] = []

    def load(self, matrices: list[Array]) -> Generator[Progress, bool | None, None]:
        """Copy A, V and J, each (block, coordinate, component)."""
        self._before = [matrix.copy() for matrix in matrices]
        self._after = [np.empty_like(matrix) for matrix in matrices]
        yield from self._problem.lay_out(self._workers, packed=False)

    def epoch(self) -> Generator[Progress, bool | None, NDArray[np.float64]]:
        """Run one epoch and return its figures (5, block).

        They are the error, the objective, ‖A − V‖², ‖V − V before‖² and the largest |AᵀA − I|.
        """
        figures = np.zeros((5, self._problem.count))

        def work(index: int, _: int) -> None:
            data = self._problem.piece(index)
            first = self._problem.slices[index].start
            metric = np.ones((len(data), 1), data.dtype)
            if self._settings.metric != "natural":
                metric = self._problem.metric(index).astype(data.dtype)
            for low in range(0, len(data), self._few):
                part = slice(low, min(low + self._few, len(data)))
                rows = slice(first + part.start, first + part.stop)
                # A division by zero or an overflow is divergence, which shows in the figures.
                with np.errstate(all="ignore"):
                    figures[:, rows] = self._run(data[part], metric[part], rows)
                if self._workers.stop[0]:
                    return

        yield from self._workers.each(work, len(self._problem.slices), 1)
        self._before, self._after = self._after, self._before
        return figures

    def matrices(self) -> Matrices:
        """Return copies of A, V and J as after the last whole epoch."""
        a, v, j = self._before
        return a.copy(), v.copy(), j.copy()

    def finish(self) -> Matrices:
        """Return A, V and J when no further epoch will follow."""
        a, v, j = self._before
        return a, v, j

    def _run(self, data: Array, metric: Array, rows: slice) -> NDArray[np.float64]:
        """Run the epoch for some blocks and return their figures (5, block)."""
        settings = self._settings
        assert settings.rho is not None
        c = self._problem.c
        stop = self._workers.stop
        before = (self._before[0][rows], self._before[1][rows], self._before[2][rows])
        after, error = admm_epoch(data, metric, before, settings.rho, settings.eta, c, stop)
        for whole, part in zip(self._after, after, strict=True):
            whole[rows] = part
        a, v, _ = after
        objective = error
        if not stop[0]:
            objective = reconstruction_errors(data, polar(a), c).mean(axis=1)
        primal = np.sum((a - v) ** 2, axis=(1, 2))
        dual = np.sum((v - before[1]) ** 2, axis=(1, 2))
        unit = np.swapaxes(a, 1, 2) @ a - np.eye(a.shape[2], dtype=a.dtype)
        largest = np.abs(unit).max(axis=(1, 2))
        return np.stack([error, objective, primal, dual, largest]).astype(np.float64)
