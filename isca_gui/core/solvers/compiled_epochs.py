"""Epochs of ADMM over blocks side by side, in the layout `compiled.py` works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.solvers import compiled_loops
from isca_gui.core.solvers.problem import pack, unpack
from isca_gui.core.solvers.vector_width import LANES

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Workers
    from isca_gui.core.progress import Progress
    from isca_gui.core.solvers.problem import Problem

    Array = NDArray[np.floating[Any]]


@dataclass(eq=False)
class _Piece:
    """Some groups of blocks: their energies, the state before and after an epoch, and the epoch's figures."""

    energy: Array
    metric: Array
    before: Array
    after: Array
    figures: NDArray[np.float64]
    objective: NDArray[np.float64]


class CompiledEpochs:
    """ADMM epochs; reads one state and writes another, so that an unfinished epoch leaves nothing behind."""

    def __init__(self, problem: Problem, components: int, *, natural: bool) -> None:
        self._problem, self._natural = problem, natural
        self._count, self._images, self._p = problem.count, problem.images, components
        self._components = (0,) * self._p
        self._kind = problem.dtype.type
        self._c = self._kind(problem.c)
        self._careful = (
            problem.mercer is not None
        )  # bases in Mercer coordinates are seldom well conditioned
        self._pieces: list[_Piece] = []

    def load(self, state: list[Array], workers: Workers) -> Generator[Progress, bool | None, None]:
        """Take over the three matrices in `state`, and empty the list: they are large."""
        problem = self._problem
        yield from problem.lay_out(workers, packed=True)
        plain = self._natural or problem.mercer is None
        ones = np.ones((1, problem.width * LANES), problem.dtype)
        groups = [-(-(here.stop - here.start) // LANES) for here in problem.slices]
        ends = np.cumsum([0, *groups])
        # One array for all pieces before and one for after: large ones go back to the system when freed.
        before = np.empty((ends[-1], problem.width * 3 * self._p * LANES), problem.dtype)
        after = np.empty_like(before)
        pieces: dict[int, _Piece] = {}

        def work(index: int, _: int) -> None:
            here, rows = problem.slices[index], slice(ends[index], ends[index + 1])
            together = pack(np.concatenate([part[here] for part in state], axis=2))
            before[rows] = together.reshape(groups[index], -1)
            metric = ones if plain else pack(problem.metric(index)[:, None])[:, 0]
            pieces[index] = _piece(problem.packed(index), metric, before[rows], after[rows])

        yield from workers.each(work, len(groups), 1)
        self._pieces = [pieces[index] for index in sorted(pieces)]
        state.clear()

    def epoch(
        self, rho: float, eta: float, workers: Workers
    ) -> Generator[Progress, bool | None, NDArray[np.float64]]:
        """Run one epoch; gives per block (5, block): error, objective, ‖A−V‖², ‖V−V'‖², |AᵀA−I|."""

        def work(low: int, _: int) -> None:
            self._run(low, rho, eta, workers.stop)

        yield from workers.each(work, len(self._pieces), 1)
        figures = []
        for piece in self._pieces:
            piece.before, piece.after = piece.after, piece.before
            errors, *rest = (piece.figures[:, row].reshape(-1) for row in range(4))
            objective = piece.objective.reshape(-1)
            figures.append(np.stack([errors / self._images, objective / self._images, *rest]))
        return self._real_blocks(figures)

    def state(self) -> tuple[Array, Array, Array]:
        """Give A, V and J, each (block, coordinate, component), as after the last whole epoch."""
        width = self._pieces[0].before.shape[1] // (3 * self._p * LANES)
        parts = [np.empty((self._count, width, self._p), self._kind) for _ in range(3)]
        start = 0
        for piece, size in zip(self._pieces, self._sizes(), strict=True):
            whole = piece.before.reshape(len(piece.before), width, 3 * self._p * LANES)
            matrices = np.split(unpack(whole, size, 3 * self._p), 3, axis=2)
            for part, matrix in zip(parts, matrices, strict=True):
                part[start : start + size] = matrix
            start += size
        return parts[0], parts[1], parts[2]

    def finish(self) -> tuple[Array, Array, Array]:
        """Give the same when no further epoch will follow, with less memory."""
        for piece in self._pieces:
            piece.after = piece.after[:0].copy()
        return self.state()

    def _run(self, index: int, rho: float, eta: float, stop: NDArray[np.uint8]) -> None:
        piece, data = self._pieces[index], self._problem.packed(index)
        kind, groups = self._kind, len(data)
        compiled_loops.admm_epoch(
            *(data, piece.energy, piece.metric, piece.before, piece.after),
            *(kind(rho), kind(eta), self._c, self._components, self._careful, piece.figures, stop),
            *(0, groups),
        )
        slots = piece.after.reshape(groups, -1, 3, self._p * LANES)
        basis = np.ascontiguousarray(slots[:, :, 0]).reshape(groups, -1)
        compiled_loops.orthonormalise(basis, self._components, self._careful, 0, groups)
        compiled_loops.objective(
            data, piece.energy, basis, self._c, self._components, piece.objective, 0, groups
        )

    def _sizes(self) -> list[int]:
        """Blocks in every piece; only the last one may have empty lanes."""
        whole = [len(piece.energy) * LANES for piece in self._pieces]
        whole[-1] -= sum(whole) - self._count
        return whole

    def _real_blocks(self, figures: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.concatenate(figures, axis=1)[:, : self._count]


def _piece(data: Array, metric: Array, before: Array, after: Array) -> _Piece:
    groups, images = data.shape[:2]
    squares = np.einsum("gnrl,gnrl->gnl", *[data.reshape(groups, images, -1, LANES)] * 2)
    figures, objective = np.zeros((groups, 4, LANES)), np.zeros((groups, LANES))
    return _Piece(squares, metric, before, after, figures, objective)
