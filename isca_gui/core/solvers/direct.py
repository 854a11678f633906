"""The same objective minimised directly: gradient steps on the manifold of subspaces, all images at once.

For every block F(U) = mean of f over the images, with UᵀU = I. The gradient along the manifold is
R = G − U(UᵀG); a step is U := polar factor of U − τR, with a length τ after Barzilai and Borwein for each
block. A step that would raise F is not taken and its length is cut, so F falls in every block. It serves
kernel ISCA unchanged, on Mercer coordinates.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.progress import Cancelled, Progress
from isca_gui.core.solvers.numpy_epochs import polar, slope
from isca_gui.core.solvers.steps import (
    CONVERGED,
    MAX_EPOCHS,
    STOPPED,
    Result,
    SolverError,
    State,
    Step,
    no_model,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Workers
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.problem import Problem

    Array = NDArray[np.floating[Any]]

_SHORTEST, _LONGEST = 1e-6, 1e6
_CUT = 0.25


@dataclass(eq=False)
class _Descent:
    """The blocks on their way down; each piece of work owns its slice of every array."""

    problem: Problem
    u: Array
    lengths: Array
    energy: list[Array]
    f: NDArray[np.float64]
    gradient: Array
    along: Array  # R

    def look(self, index: int) -> None:
        """Evaluate F, G and R where the blocks of a piece stand."""
        here, z = self.problem.slices[index], self.problem.piece(index)
        self.energy[index] = np.einsum("bnr,bnr->bn", z, z)
        self.f[here], self.gradient[here], self.along[here] = self._evaluate(index, self.u[here])

    def descend(self, index: int, _: int) -> None:
        """Try one step in every block of a piece, and take it where F does not rise."""
        here = self.problem.slices[index]
        u, along, length = self.u[here], self.along[here], self.lengths[here]
        tried = polar(u - length[:, None, None] * along)
        f, gradient, turned = self._evaluate(index, tried)
        taken = f <= self.f[here]
        moved, change = tried - u, turned - along
        squares = np.einsum("brp,brp->b", moved, moved)
        product = np.abs(np.einsum("brp,brp->b", moved, change))
        longer = np.divide(squares, product, out=2 * length, where=product > 0)
        self.lengths[here] = np.clip(np.where(taken, longer, _CUT * length), _SHORTEST, _LONGEST)
        for old, new in ((self.u, tried), (self.gradient, gradient), (self.along, turned)):
            old[here][taken] = new[taken]
        self.f[here][taken] = f[taken]

    def _evaluate(self, index: int, u: Array) -> tuple[Array, Array, Array]:
        f, gradient = slope(self.problem.piece(index), self.energy[index], u, self.problem.c)
        return f, gradient, gradient - u @ (np.swapaxes(u, 1, 2) @ gradient)


def start(problem: Problem, settings: TrainingSettings) -> State:
    """Draw a basis for every block; it is made orthonormal with the first look."""
    random = np.random.default_rng(settings.seed)
    u = random.standard_normal((problem.count, problem.width, settings.components)).astype(
        problem.dtype
    )
    return State(u, u, u, lengths=np.ones(problem.count, u.dtype))


def iterate(
    problem: Problem, settings: TrainingSettings, workers: Workers, state: State | None = None,
    due: Callable[[], bool] | None = None,
) -> Generator[Step | Progress | State, bool | None, Result]:  # fmt: skip
    """Descend from the start or from where another training stood; answer a report with True to stop."""
    settings = settings.resolved()
    assert settings.epochs is not None
    assert settings.tolerance is not None
    fresh = state is None
    state = state or start(problem, settings)
    begun = time.perf_counter() - state.seconds
    try:
        descent = yield from _begin(problem, state, workers, fresh=fresh)
    except Cancelled:
        if fresh:
            raise no_model() from None
        return Result(state, STOPPED, ())
    steps: list[Step] = []
    end, epoch, stop = MAX_EPOCHS, state.epoch, False
    while epoch < settings.epochs:
        kept = (descent.u.copy(), descent.lengths.copy(), descent.gradient.copy())
        try:
            yield from workers.each(descent.descend, len(problem.slices), 1)
        except Cancelled:
            if not epoch:
                raise no_model() from None
            descent.u, descent.lengths, descent.gradient = kept
            stop = True
        else:
            epoch += 1
            step = _step(descent, epoch, time.perf_counter() - begun)
            if settings.keep_every and epoch % settings.keep_every == 0:
                step = replace(step, basis=descent.u.copy())
            steps.append(step)
            stop = bool((yield step))
            if step.gradient < settings.tolerance:
                end = CONVERGED
                break
            if due is not None and not stop and due():
                seconds = time.perf_counter() - begun
                stop = bool(
                    (yield _state(descent, descent.u.copy(), epoch, seconds, step.objective))
                )
        if stop and epoch < settings.epochs:
            break
    if stop and end != CONVERGED and epoch < settings.epochs:
        end = STOPPED
    objective = steps[-1].objective if steps else state.objective
    final = _state(descent, descent.u, epoch, time.perf_counter() - begun, objective)
    return Result(final, end, tuple(steps))


def _state(descent: _Descent, u: Array, epoch: int, seconds: float, objective: float) -> State:
    """Give where the descent stands. At a stationary point of ADMM the scaled multiplier J is −G/ρ; ρ = 1."""
    lengths = descent.lengths.copy()
    return State(u, descent.u.copy(), -descent.gradient, epoch, seconds, objective, lengths)


def _begin(
    problem: Problem, state: State, workers: Workers, *, fresh: bool
) -> Generator[Progress, bool | None, _Descent]:
    """Evaluate the start."""
    yield from problem.lay_out(workers, packed=False)
    count, pieces = problem.count, len(problem.slices)
    lengths = state.lengths if state.lengths is not None else np.ones(count, problem.dtype)
    descent = _Descent(
        problem, state.u.copy(), lengths.copy(), [np.empty(0)] * pieces,
        np.empty(count), np.empty_like(state.u), np.empty_like(state.u),
    )  # fmt: skip

    def look(index: int, _: int) -> None:
        here = problem.slices[index]
        if fresh:
            descent.u[here] = polar(descent.u[here])
        descent.look(index)

    yield from workers.each(look, pieces, 1)
    return descent


def _step(descent: _Descent, epoch: int, seconds: float) -> Step:
    objective = float(descent.f.mean())
    squares = np.einsum("brp,brp->b", descent.along, descent.along, dtype=np.float64)
    gradient = float(np.sqrt(squares.mean()))
    if not (np.isfinite(objective) and np.isfinite(gradient)):
        single = descent.u.dtype == np.float32
        advice = (
            "Use float64, as precision or as type of the data" if single else "Scale the data down"
        )
        raise SolverError(f"The training diverged in iteration {epoch}. {advice}.")
    unit = np.swapaxes(descent.u, 1, 2) @ descent.u - np.eye(
        descent.u.shape[2], dtype=descent.u.dtype
    )
    off = float(np.abs(unit).max())
    return Step(epoch, objective, objective, orthonormality=off, gradient=gradient, seconds=seconds)
