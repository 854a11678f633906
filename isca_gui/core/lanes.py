"""Blocks side by side: the layout `compiled.py` works on, and one epoch of ADMM over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core import compiled
from isca_gui.core.compiled import LANES

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Tick, Workers
    from isca_gui.core.problem import Problem

    Array = NDArray[np.floating[Any]]

_FLOPS_PER_PIECE = 5e7  # about a hundredth of a second


def pack(values: Array) -> Array:
    """Lay (block, a, b) out as (group, a, b·lane); missing blocks of the last group are zero."""
    groups = -(-len(values) // LANES)
    packed = np.zeros((groups, *values.shape[1:], LANES), values.dtype)
    for lane in range(LANES):
        packed[: len(values[lane::LANES]), ..., lane] = values[lane::LANES]
    return packed.reshape(groups, values.shape[1], -1)


def unpack(packed: Array, count: int, width: int) -> Array:
    """Undo `pack`: (group, a, width·lane) to (block, a, width)."""
    groups, rows = packed.shape[:2]
    blocks = packed.reshape(groups, rows, width, LANES).transpose(0, 3, 1, 2).reshape(-1, rows, width)
    return np.ascontiguousarray(blocks[:count])


class LaneEpochs:
    """ADMM epochs over packed data; reads one state and writes the other, so that an epoch can be dropped."""

    def __init__(self, problem: Problem, state: tuple[Array, Array, Array], metric: Array) -> None:
        self._count, self._p = len(problem.coordinates), state[0].shape[2]
        self._components = (0,) * self._p
        self._data = pack(problem.coordinates)
        squares = np.einsum("bnr,bnr->bn", problem.coordinates, problem.coordinates)
        self._energy = pack(squares[:, :, None])
        self._metric = pack(metric[:, None])[:, 0] if len(metric) > 1 else np.repeat(metric, LANES, axis=1)
        self._state = pack(np.concatenate(state, axis=2)).reshape(len(self._data), -1)
        self._other = np.empty_like(self._state)
        self._figures = np.zeros((len(self._data), 4, LANES))
        self._objective = np.zeros((len(self._data), LANES))
        self._kind = self._data.dtype.type
        self._c = self._kind(problem.c)
        self._tolerance = self._kind(5e-4 if self._kind == np.float32 else 1e-8)
        images, width = problem.coordinates.shape[1:]
        self._size = max(1, int(_FLOPS_PER_PIECE / (images * width * LANES * (self._p + 2) ** 2)))

    def epoch(
        self, rho: float, eta: float, workers: Workers
    ) -> Generator[Tick, bool | None, NDArray[np.float64] | None]:
        """Run one epoch; gives per block (5, block): error, objective, ‖A−V‖², ‖V−V'‖², |AᵀA−I|, or None."""
        kind, images = self._kind, self._data.shape[1]

        def work(low: int, high: int) -> None:
            compiled.admm_epoch(
                *(self._data, self._energy, self._metric, self._state, self._other),
                *(kind(rho), kind(eta), self._c, self._components, self._tolerance),
                *(self._figures, workers.stop, low, high),
            )
            basis = self._slots(self._other[low:high], 0).reshape(high - low, -1)
            compiled.orthonormalise(basis, self._components, self._tolerance, 0, high - low)
            compiled.objective(
                *(self._data[low:high], self._energy[low:high], basis, self._c, self._components),
                *(self._objective[low:high], 0, high - low),
            )

        finished = yield from workers.each(work, len(self._data), self._size)
        if not finished:
            return None
        self._state, self._other = self._other, self._state
        errors, *rest = (self._figures[:, row].reshape(-1)[: self._count] for row in range(4))
        objective = self._objective.reshape(-1)[: self._count]
        return np.stack([errors / images, objective / images, *rest])

    def state(self) -> tuple[Array, Array, Array]:
        """Give A, V and J, each (block, coordinate, component), as after the last whole epoch."""
        whole = self._state.reshape(len(self._state), -1, 3 * self._p * LANES)
        first, second, third = np.split(unpack(whole, self._count, 3 * self._p), 3, axis=2)
        return first.copy(), second.copy(), third.copy()

    def _slots(self, state: Array, which: int) -> Array:
        """Copy one of the three matrices out of packed states."""
        whole = state.reshape(len(state), -1, 3, self._p * LANES)
        return np.ascontiguousarray(whole[:, :, which])
