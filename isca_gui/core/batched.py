"""The same arithmetic in batched NumPy: for many components, and for the direct solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Tick, Workers
    from isca_gui.core.problem import Problem

    Array = NDArray[np.floating[Any]]

_PIECE = 32  # blocks at a time


def polar(matrices: Array) -> Array:
    """Give the nearest matrices with orthonormal columns: A(AᵀA)^(−1/2), or by singular vectors."""
    gram = np.swapaxes(matrices, -1, -2) @ matrices
    values, vectors = np.linalg.eigh(gram)
    # AᵀA squares the condition number: below this share the small eigenvalues are rounding noise.
    floor = 100 * np.finfo(matrices.dtype).eps * matrices.shape[-1] * values[..., -1:]
    sound = np.all(values > floor, axis=-1)
    roots = np.sqrt(np.where(sound[..., None], values, 1))
    result = matrices @ ((vectors / roots[..., None, :]) @ np.swapaxes(vectors, -1, -2))
    if not np.all(sound):
        left, _, right = np.linalg.svd(matrices[~sound], full_matrices=False)
        result[~sound] = left @ right
    return np.asarray(result)


def errors(coordinates: Array, bases: Array, c: float) -> Array:
    """Give f (block, image) of coordinates (block, image, r) for bases (block, r, p)."""
    kept = np.sum(np.square(coordinates @ bases), axis=2)
    energy = np.einsum("bnr,bnr->bn", coordinates, coordinates)
    return np.asarray((energy - kept) / (energy + kept + c))


def slope(coordinates: Array, energy: Array, bases: Array, c: float) -> tuple[Array, Array]:
    """Give the mean of f over the images (block,) and its gradient (block, r, p): Eq. 7, averaged."""
    projected = coordinates @ bases
    kept = np.einsum("bnp,bnp->bn", projected, projected)
    beta = energy + kept + bases.dtype.type(c)
    f = (energy - kept) / beta
    weight = -2 * (1 + f) / beta / coordinates.shape[1]
    gradient = np.swapaxes(coordinates, 1, 2) @ (weight[:, :, None] * projected)
    return f.mean(axis=1, dtype=np.float64), gradient.astype(bases.dtype, copy=False)


def admm_epoch(
    data: Array, metric: Array, state: tuple[Array, Array, Array], rho: float, eta: float, c: float,
    stop: NDArray[np.uint8],
) -> tuple[tuple[Array, Array, Array], Array]:  # fmt: skip
    """Run one epoch of Eq. ADMM_update_2 over blocks; gives the new A, V, J and the mean error (block,)."""
    a, v, j = state
    total = np.zeros(len(data))
    weights = metric[..., None]
    for image in range(data.shape[1]):
        if stop[0]:
            break
        z = data[:, image]
        y = np.einsum("brp,br->bp", a, z)
        energy, kept = np.sum(z * z, axis=1), np.sum(y * y, axis=1)
        beta = energy + kept + c
        factor = 2 * (1 + (energy - kept) / beta) / beta
        pull = (factor[:, None] * z)[:, :, None] * y[:, None, :]
        a = a + eta * weights * (pull - rho * (a - v + j))
        v = polar(a + j)
        j = j + a - v
        kept = np.sum(np.square(np.einsum("brp,br->bp", a, z)), axis=1)
        total += (energy - kept) / (energy + kept + c)
    return (a, v, j), total / data.shape[1]


class BatchedEpochs:
    """ADMM epochs for more components than the compiled loops are made for; same interface."""

    def __init__(self, problem: Problem, state: tuple[Array, Array, Array], metric: Array) -> None:
        self._problem, self._metric = problem, metric
        self._state = tuple(part.copy() for part in state)

    def epoch(
        self, rho: float, eta: float, workers: Workers
    ) -> Generator[Tick, bool | None, NDArray[np.float64] | None]:
        """Run one epoch; gives per block (5, block): error, objective, ‖A−V‖², ‖V−V'‖², |AᵀA−I|, or None."""
        data, c = self._problem.coordinates, self._problem.c
        after = tuple(np.empty_like(part) for part in self._state)
        figures = np.zeros((5, len(data)))

        def work(low: int, high: int) -> None:
            here = slice(low, high)
            metric = self._metric[here] if len(self._metric) > 1 else self._metric
            before = (self._state[0][here], self._state[1][here], self._state[2][here])
            (a, v, j), error = admm_epoch(data[here], metric, before, rho, eta, c, workers.stop)
            for part, new in zip(after, (a, v, j), strict=True):
                part[here] = new
            unit = np.swapaxes(a, 1, 2) @ a - np.eye(a.shape[2], dtype=a.dtype)
            figures[:, here] = (
                error,
                errors(data[here], polar(a), c).mean(axis=1),
                np.sum((a - v) ** 2, axis=(1, 2)),
                np.sum((v - before[1]) ** 2, axis=(1, 2)),
                np.abs(unit).max(axis=(1, 2)),
            )

        if not (yield from workers.each(work, len(data), _PIECE)):
            return None
        self._state = after
        return figures

    def state(self) -> tuple[Array, Array, Array]:
        """Give A, V and J, each (block, coordinate, component), as after the last whole epoch."""
        return self._state[0].copy(), self._state[1].copy(), self._state[2].copy()
