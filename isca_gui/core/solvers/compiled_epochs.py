"""Epochs of ADMM over blocks side by side, in the layout that `compiled_loops` works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.solvers import compiled_loops
from isca_gui.core.solvers.problem import LANES, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Workers
    from isca_gui.core.progress import Progress
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.numpy_epochs import Matrices
    from isca_gui.core.solvers.problem import Problem
    from isca_gui.core.solvers.steps import Array


@dataclass(eq=False)
class _Piece:
    """Some groups of blocks: energies, metric, the state before and after an epoch, its figures."""

    energy: Array
    metric: Array
    before: Array
    after: Array
    figures: NDArray[np.float64]
    objective: NDArray[np.float64]


class CompiledEpochs:
    """ADMM epochs; each reads one state and writes another: an unfinished one leaves no trace."""

    def __init__(self, problem: Problem, settings: TrainingSettings, workers: Workers) -> None:
        assert settings.rho is not None
        self._problem = problem
        self._workers = workers
        self._p = settings.components
        # The compiler knows the length of a tuple and unrolls the loops over the components.
        self._components = (0,) * self._p
        self._plain = settings.metric == "natural" or problem.mercer is None
        # Bases in Mercer coordinates are seldom well conditioned.
        self._careful = problem.mercer is not None
        number = problem.dtype.type
        self._rho = number(settings.rho)
        self._eta = number(settings.eta)
        self._c = number(problem.c)
        self._pieces: list[_Piece] = []

    def load(self, matrices: list[Array]) -> Generator[Progress, bool | None, None]:
        """Take over A, V and J, and empty the list: they are large."""
        problem = self._problem
        yield from problem.lay_out(self._workers, packed=True)
        ones = np.ones((1, problem.width * LANES), problem.dtype)
        groups = [-(-(here.stop - here.start) // LANES) for here in problem.slices]
        ends = np.cumsum([0, *groups])
        # One array for all pieces before and one for after: large arrays go back to the system
        # when freed.
        before = np.empty((ends[-1], problem.width * 3 * self._p * LANES), problem.dtype)
        after = np.empty_like(before)
        pieces: dict[int, _Piece] = {}

        def work(index: int, _: int) -> None:
            here = problem.slices[index]
            rows = slice(ends[index], ends[index + 1])
            together = pack(np.concatenate([matrix[here] for matrix in matrices], axis=2))
            before[rows] = together.reshape(groups[index], -1)
            metric = ones
            if not self._plain:
                metric = pack(problem.metric(index)[:, None])[:, 0]
            pieces[index] = _piece(problem.packed(index), metric, before[rows], after[rows])

        yield from self._workers.each(work, len(groups), 1)
        self._pieces = [pieces[index] for index in sorted(pieces)]
        matrices.clear()

    def epoch(self) -> Generator[Progress, bool | None, NDArray[np.float64]]:
        """Run one epoch and return its figures (5, block).

        They are the error, the objective, ‖A − V‖², ‖V − V before‖² and the largest |AᵀA − I|.
        """
        yield from self._workers.each(self._run, len(self._pieces), 1)
        images = self._problem.images
        figures = []
        for piece in self._pieces:
            piece.before, piece.after = piece.after, piece.before
            error, primal, dual, unit = (piece.figures[:, row].reshape(-1) for row in range(4))
            objective = piece.objective.reshape(-1)
            figures.append(np.stack([error / images, objective / images, primal, dual, unit]))
        # The last group may be filled up with copies of its last block.
        return np.concatenate(figures, axis=1)[:, : self._problem.count]

    def matrices(self) -> Matrices:
        """Return A, V and J, each (block, coordinate, component), as after the last whole epoch."""
        problem = self._problem
        shape = (problem.count, problem.width, self._p)
        a, v, j = (np.empty(shape, problem.dtype) for _ in range(3))
        for piece, here in zip(self._pieces, problem.slices, strict=True):
            whole = piece.before.reshape(len(piece.before), problem.width, 3 * self._p * LANES)
            blocks = unpack(whole, here.stop - here.start, 3 * self._p)
            a[here], v[here], j[here] = np.split(blocks, 3, axis=2)
        return a, v, j

    def finish(self) -> Matrices:
        """Return A, V and J when no further epoch will follow, with less memory."""
        for piece in self._pieces:
            piece.after = piece.after[:0].copy()
        return self.matrices()

    def _run(self, index: int, _: int) -> None:
        """Run the epoch for one piece."""
        piece = self._pieces[index]
        data = self._problem.packed(index)
        groups = len(data)
        compiled_loops.admm_epoch(
            data,
            piece.energy,
            piece.metric,
            piece.before,
            piece.after,
            self._rho,
            self._eta,
            self._c,
            self._components,
            self._careful,
            piece.figures,
            self._workers.stop,
            0,
            groups,
        )
        slots = piece.after.reshape(groups, -1, 3, self._p * LANES)
        basis = np.ascontiguousarray(slots[:, :, 0]).reshape(groups, -1)
        compiled_loops.orthonormalise(basis, self._components, self._careful, 0, groups)
        compiled_loops.objective(
            data, piece.energy, basis, self._c, self._components, piece.objective, 0, groups
        )


def _piece(data: Array, metric: Array, before: Array, after: Array) -> _Piece:
    groups, images = data.shape[:2]
    z = data.reshape(groups, images, -1, LANES)
    return _Piece(
        energy=np.einsum("gnrl,gnrl->gnl", z, z),
        metric=metric,
        before=before,
        after=after,
        figures=np.zeros((groups, 4, LANES)),
        objective=np.zeros((groups, LANES)),
    )
