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

    def __init__(self, problem: Problem, state: list[Array], *, natural: bool) -> None:
        problem.unpack()
        self._problem, self._natural = problem, natural
        self._state = [(state[0][here], state[1][here], state[2][here]) for here in problem.slices]

    def epoch(
        self, rho: float, eta: float, workers: Workers
    ) -> Generator[Tick, bool | None, NDArray[np.float64] | None]:
        """Run one epoch; gives per block (5, block): error, objective, ‖A−V‖², ‖V−V'‖², |AᵀA−I|, or None."""
        after = list(self._state)
        figures: list[NDArray[np.float64]] = [np.empty(0)] * len(after)

        def work(low: int, _: int) -> None:
            data, metric = self._problem.piece(low), self._problem.metric(low)
            if self._natural:
                metric = np.ones_like(metric)
            c = self._problem.c
            (a, v, j), error = admm_epoch(data, metric, self._state[low], rho, eta, c, workers.stop)
            after[low] = (a, v, j)
            unit = np.swapaxes(a, 1, 2) @ a - np.eye(a.shape[2], dtype=a.dtype)
            figures[low] = np.stack(
                [
                    error,
                    errors(data, polar(a), c).mean(axis=1),
                    np.sum((a - v) ** 2, axis=(1, 2)),
                    np.sum((v - self._state[low][1]) ** 2, axis=(1, 2)),
                    np.abs(unit).max(axis=(1, 2)),
                ]
            ).astype(np.float64)

        if not (yield from workers.each(work, len(after), 1)):
            return None
        self._state = after
        return np.concatenate(figures, axis=1)

    def state(self) -> tuple[Array, Array, Array]:
        """Give A, V and J, each (block, coordinate, component), as after the last whole epoch."""
        first, second, third = (np.concatenate(part) for part in zip(*self._state, strict=True))
        return first, second, third

    def finish(self) -> tuple[Array, Array, Array]:
        """Give the same when no further epoch will follow."""
        return self.state()
