"""The same arithmetic in batched NumPy: for many components, and for the direct solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Workers
    from isca_gui.core.progress import Progress
    from isca_gui.core.solvers.problem import Problem

    Array = NDArray[np.floating[Any]]


@np.errstate(under="ignore")  # beside a length of one, 1e-40 is nothing
def polar(matrices: Array) -> Array:
    """Give the nearest matrices with orthonormal columns: A(AᵀA)^(−1/2), or by singular vectors."""
    finite = np.isfinite(matrices).all(axis=(-1, -2))
    if not finite.all():  # it has diverged, which the caller sees in the result
        result = np.full_like(matrices, np.nan)
        if finite.any():
            result[finite] = polar(matrices[finite])
        return result
    # In float64, since AᵀA squares the condition number.
    exact = matrices.astype(np.float64)
    gram = np.swapaxes(exact, -1, -2) @ exact
    values, vectors = np.linalg.eigh(gram)
    floor = 1e-10 * values[..., -1:]  # below this share of the largest they are rounding noise
    sound = np.all(values > floor, axis=-1)
    roots = np.sqrt(np.where(sound[..., None], values, 1))
    result = exact @ ((vectors / roots[..., None, :]) @ np.swapaxes(vectors, -1, -2))
    if (
        matrices.dtype == np.float64
    ):  # makes up for what AᵀA has lost; float32 has no digits to show it
        result = 1.5 * result - 0.5 * result @ (np.swapaxes(result, -1, -2) @ result)
    if not np.all(sound):
        left, _, right = np.linalg.svd(exact[~sound], full_matrices=False)
        result[~sound] = left @ right
    return np.asarray(result.astype(matrices.dtype))


@np.errstate(
    under="ignore"
)  # squares of what rounding leaves may vanish: beside c they are nothing
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


class NumpyEpochs:
    """ADMM epochs for more components than the compiled loops are made for; same interface."""

    def __init__(self, problem: Problem, components: int, *, natural: bool) -> None:
        self._problem, self._natural = problem, natural
        self._few = max(1, 4096 // components**2)  # blocks at a time: a stop is seen between images
        self._before: list[Array] = []
        self._after: list[Array] = []

    def load(self, state: list[Array], workers: Workers) -> Generator[Progress, bool | None, None]:
        """Copy the three matrices in `state`, which stay the caller's."""
        self._before, self._after = (
            [part.copy() for part in state],
            [np.empty_like(part) for part in state],
        )
        yield from self._problem.lay_out(workers, packed=False)

    def epoch(
        self, rho: float, eta: float, workers: Workers
    ) -> Generator[Progress, bool | None, NDArray[np.float64]]:
        """Run one epoch; gives per block (5, block): error, objective, ‖A−V‖², ‖V−V'‖², |AᵀA−I|."""
        figures = np.zeros((5, self._problem.count))

        def work(index: int, _: int) -> None:
            here, data = self._problem.slices[index], self._problem.piece(index)
            metric = np.ones((1, 1)) if self._natural else self._problem.metric(index)
            for low in range(0, len(data), self._few):
                part = slice(low, low + self._few)
                rows = slice(here.start + low, min(here.start + low + self._few, here.stop))
                with np.errstate(all="ignore"):  # divergence shows in the figures
                    weights = metric[part] if len(metric) > 1 else metric
                    figures[:, rows] = self._run(data[part], weights, rows, rho, eta, workers.stop)
                if workers.stop[0]:
                    return

        yield from workers.each(work, len(self._problem.slices), 1)
        self._before, self._after = self._after, self._before
        return figures

    def state(self) -> tuple[Array, Array, Array]:
        """Give A, V and J, each (block, coordinate, component), as after the last whole epoch."""
        return self._before[0].copy(), self._before[1].copy(), self._before[2].copy()

    def finish(self) -> tuple[Array, Array, Array]:
        """Give the same when no further epoch will follow."""
        return self._before[0], self._before[1], self._before[2]

    def _run(
        self,
        data: Array,
        metric: Array,
        rows: slice,
        rho: float,
        eta: float,
        stop: NDArray[np.uint8],
    ) -> NDArray[np.float64]:
        c = self._problem.c
        before = (self._before[0][rows], self._before[1][rows], self._before[2][rows])
        (a, v, j), error = admm_epoch(data, metric.astype(data.dtype), before, rho, eta, c, stop)
        for part, new in zip(self._after, (a, v, j), strict=True):
            part[rows] = new
        unit = np.swapaxes(a, 1, 2) @ a - np.eye(a.shape[2], dtype=a.dtype)
        objective = errors(data, polar(a), c).mean(axis=1) if not stop[0] else error
        primal, dual = np.sum((a - v) ** 2, axis=(1, 2)), np.sum((v - before[1]) ** 2, axis=(1, 2))
        return np.stack([error, objective, primal, dual, np.abs(unit).max(axis=(1, 2))]).astype(
            np.float64
        )
