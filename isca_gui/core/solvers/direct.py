"""The same objective minimised directly, by gradient steps on the manifold of subspaces.

For every block F(U) = mean of f over the images (Eq. 6), with UᵀU = I. The gradient along the
manifold is R = G − U(UᵀG), with G of Eq. 7; a step is U := polar factor of U − τR, with a length τ
after Barzilai and Borwein for each block. A step that would raise F is not taken and its length is
cut, so F falls in every block. It serves kernel ISCA unchanged, on Mercer coordinates.

It starts near the leading eigenvectors of Σ zzᵀ/(2‖z‖² + c), found by subspace iteration: they
minimise F where every f is small. A block is done when its own gradient is below the tolerance, so
what comes out of it does not depend on the blocks beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.progress import Cancelled
from isca_gui.core.solvers.objective import objective_and_gradient, polar
from isca_gui.core.solvers.steps import SolverError, State, Step

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Workers
    from isca_gui.core.progress import Progress
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.problem import Problem
    from isca_gui.core.solvers.steps import Array

_SHORTEST = 1e-6
_LONGEST = 1e6
# What the length of a step that was not taken is multiplied by.
_CUT = 0.25
# The start: columns that are iterated beside those of the basis, and how often; for more than so
# many components it would take longer than it saves.
_BESIDE = 4
_TURNS = 3
_FEW_COMPONENTS = 16


class Direct:
    """Gradient descent in all blocks; `driver.Solver` says what the methods are for.

    Each piece of work owns its slice of every array: `u`, the basis; `lengths`, the next step
    lengths τ; `f`, the objective; `gradient`, G; `along`, R; `open`, which blocks are not done;
    and `energy`, ‖z‖² of a piece.
    """

    def __init__(self, problem: Problem, settings: TrainingSettings, workers: Workers) -> None:
        self._problem = problem
        self._settings = settings
        self._workers = workers
        shape = (problem.count, problem.width, settings.components)
        self._energy: list[Array] = [np.empty(0)] * len(problem.slices)
        self._f: NDArray[np.float64] = np.empty(problem.count)
        self._gradient: Array = np.empty(shape, problem.dtype)
        self._along: Array = np.empty(shape, problem.dtype)
        self._lengths: Array = np.ones(problem.count, problem.dtype)
        self._open: NDArray[np.bool_] = np.ones(problem.count, np.bool_)
        self._u: Array = np.empty((0, 0, 0), problem.dtype)

    def start(self, state: State | None) -> Generator[Progress, bool | None, None]:
        """Go to where another training stood, or to a start, and evaluate it there."""
        problem = self._problem
        yield from problem.lay_out(self._workers, packed=False)
        if state is None:
            shape = (problem.count, problem.width, self._settings.components)
            self._u = np.empty(shape, problem.dtype)
        else:
            self._u = state.u.copy()
            if state.lengths is not None:
                self._lengths = state.lengths.copy()
        columns = self._settings.components
        if columns <= _FEW_COMPONENTS:
            columns = min(columns + _BESIDE, problem.width)
        draws = np.random.default_rng(self._settings.seed)
        # The same columns for all blocks: a block's start does not depend on its number.
        guess = polar(draws.standard_normal((problem.width, columns)).astype(problem.dtype))

        def evaluate(index: int, _: int) -> None:
            here = problem.slices[index]
            z = problem.piece(index)
            energy = np.einsum("bnr,bnr->bn", z, z)
            self._energy[index] = energy
            if state is None and columns == self._u.shape[2]:
                self._u[here] = guess
            elif state is None:
                self._u[here] = _leading(z, energy, problem.c, guess, self._u.shape[2])
            self._f[here], self._gradient[here], self._along[here] = self._evaluate(
                z, energy, self._u[here]
            )
            self._close(here)

        yield from self._workers.each(evaluate, len(problem.slices), 1)

    def step(self, epoch: int) -> Generator[Progress, bool | None, Step]:
        """Try one step in every block; stopped within it, stand where the step before has ended."""
        before = (self._u.copy(), self._lengths.copy(), self._gradient.copy())
        slices = self._problem.slices
        pieces = [index for index, here in enumerate(slices) if self._open[here].any()]
        try:
            yield from self._workers.each(
                lambda place, _: self._descend(pieces[place], slices[pieces[place]]), len(pieces), 1
            )
        except Cancelled:
            self._u, self._lengths, self._gradient = before
            raise
        return self._figures(epoch)

    def converged(self, step: Step, before: Step) -> bool:
        """Whether the gradient along the manifold is small in every block."""
        return not self._open.any()

    def basis(self) -> Array:
        """Return a copy of U."""
        return self._u.copy()

    def state(self) -> State:
        """Return a copy of the matrices."""
        return self._state(self._u.copy())

    def finish(self) -> State:
        """Return the matrices when no further step will follow."""
        return self._state(self._u)

    def _state(self, u: Array) -> State:
        # At a stationary point of ADMM the scaled multiplier J is −G/ρ; here ρ = 1.
        return State(u, self._u.copy(), -self._gradient, lengths=self._lengths.copy())

    def _evaluate(self, z: Array, energy: Array, u: Array) -> tuple[Array, Array, Array]:
        """Return F, G and R of the bases of some blocks."""
        f, gradient = objective_and_gradient(z, energy, u, self._problem.c)
        return f, gradient, gradient - u @ (np.swapaxes(u, 1, 2) @ gradient)

    def _close(self, here: slice | NDArray[np.intp]) -> None:
        """Note which blocks are done."""
        assert self._settings.tolerance is not None
        along = self._along[here]
        squares = np.einsum("brp,brp->b", along, along, dtype=np.float64)
        # What is not a number is not done: `_figures` reports it.
        self._open[here] = ~(np.sqrt(squares) < self._settings.tolerance)

    def _descend(self, index: int, piece: slice) -> None:
        """Try one step in every open block of a piece, and take it where F does not rise."""
        inside = np.flatnonzero(self._open[piece])
        z = self._problem.piece(index)
        energy = self._energy[index]
        if len(inside) < len(z):
            z = z[inside]
            energy = energy[inside]
        here = piece.start + inside
        u = self._u[here]
        along = self._along[here]
        length = self._lengths[here]
        tried = polar(u - length[:, None, None] * along)
        f, gradient, turned = self._evaluate(z, energy, tried)
        taken = f <= self._f[here]
        # The length after Barzilai and Borwein: ⟨s, s⟩/|⟨s, y⟩| for the move s and the change y of
        # R.
        move = tried - u
        change = turned - along
        squares = np.einsum("brp,brp->b", move, move)
        product = np.abs(np.einsum("brp,brp->b", move, change))
        longer = np.divide(squares, product, out=2 * length, where=product > 0)
        self._lengths[here] = np.clip(np.where(taken, longer, _CUT * length), _SHORTEST, _LONGEST)
        moved = here[taken]
        self._u[moved] = tried[taken]
        self._along[moved] = turned[taken]
        self._gradient[moved] = gradient[taken]
        self._f[moved] = f[taken]
        self._close(moved)

    def _figures(self, epoch: int) -> Step:
        objective = float(self._f.mean())
        squares = np.einsum("brp,brp->b", self._along, self._along, dtype=np.float64)
        gradient = float(np.sqrt(squares.mean()))
        if not (np.isfinite(objective) and np.isfinite(gradient)):
            advice = "Scale the data down"
            if self._u.dtype == np.float32:
                advice = "Use float64 as the precision, or as the type of the data"
            raise SolverError(f"The training diverged in iteration {epoch}. {advice}.")
        unit = np.swapaxes(self._u, 1, 2) @ self._u
        unit -= np.eye(self._settings.components, dtype=unit.dtype)
        return Step(
            epoch,
            objective,
            objective,
            orthonormality=float(np.abs(unit).max()),
            gradient=gradient,
        )


@np.errstate(under="ignore")
def _leading(z: Array, energy: Array, c: float, guess: Array, count: int) -> Array:
    """Return nearly the leading eigenvectors (block, coordinate, count) of Σ zzᵀ/(2‖z‖² + c).

    Parameters
    ----------
    z, energy
        Centred coordinates (block, image, coordinate) and ‖z‖² (block, image).
    c
        The constant in the denominator.
    guess
        Columns to start from (coordinate, column), at least `count` of them.
    count
        How many eigenvectors to return.
    """
    weighted = z / np.sqrt(2 * energy + energy.dtype.type(c))[:, :, None]
    matrix = np.swapaxes(weighted, 1, 2) @ weighted
    basis = np.broadcast_to(guess, (len(z), *guess.shape))
    for _ in range(_TURNS):
        basis = matrix @ basis
        # Powers of a dark block would vanish.
        longest = np.sqrt(np.einsum("brk,brk->bk", basis, basis)).max(axis=1)
        basis = polar(basis / np.maximum(longest, _SHORTEST)[:, None, None])
    inside = (np.swapaxes(basis, 1, 2) @ matrix @ basis).astype(np.float64)
    if not np.isfinite(inside).all():
        return np.ascontiguousarray(basis[:, :, :count])
    vectors = np.linalg.eigh(inside).eigenvectors[:, :, ::-1][:, :, :count]
    return polar(basis @ vectors.astype(basis.dtype))
