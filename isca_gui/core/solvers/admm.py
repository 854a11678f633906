"""The published iteration: one pass of ADMM per image, one epoch over all images (Eq. 15).

    U := U − η·G(U) − η·ρ·(U − V + J)
    V := the polar factor of U + J
    J := J + U − V

Kernel ISCA (Eq. 23) is the same in Mercer coordinates z, with A = ΔΘ in the place of U, W in that
of V, and the diagonal metric Υ = ΔΔᵀ before the update of A; Υ = I gives linear ISCA.
`metric="natural"` takes Υ = I there too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.solvers.compiled_epochs import CompiledEpochs
from isca_gui.core.solvers.compiled_loops import MOST_COMPONENTS
from isca_gui.core.solvers.numpy_epochs import NumpyEpochs
from isca_gui.core.solvers.problem import drawn
from isca_gui.core.solvers.steps import SolverError, State, Step

if TYPE_CHECKING:
    from collections.abc import Generator

    from isca_gui.core.parallel import Workers
    from isca_gui.core.progress import Progress
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.problem import Problem
    from isca_gui.core.solvers.steps import Array

# The largest |UᵀU − I| from which a basis still comes back.
_RUNAWAY = 1e6


def random_start(problem: Problem, settings: TrainingSettings) -> State:
    """Draw U (or Θ), V and J uniformly from [0, 1)."""
    random = np.random.default_rng(settings.seed)
    dtype = problem.dtype.type
    shape = (problem.width, settings.components)

    def draw(shape: tuple[int, ...]) -> Array:
        return random.random(shape, dtype)

    if problem.mercer is None:
        u = drawn(draw, shape, problem)
    else:
        # A = ΔΘ: the rows of a piece are the columns of Δ.
        theta = drawn(draw, (problem.images, settings.components), problem)
        u = np.empty((problem.count, *shape), dtype)
        for index, here in enumerate(problem.slices):
            u[here] = np.swapaxes(problem.piece(index), 1, 2) @ theta[here]
    return State(u, drawn(draw, shape, problem), drawn(draw, shape, problem))


class ADMM:
    """ADMM on all blocks of a problem; `driver.Solver` says what the methods are for."""

    def __init__(self, problem: Problem, settings: TrainingSettings, workers: Workers) -> None:
        self._problem = problem
        self._settings = settings
        kind = CompiledEpochs if settings.components <= MOST_COMPONENTS else NumpyEpochs
        self._epochs: CompiledEpochs | NumpyEpochs = kind(problem, settings, workers)

    def start(self, state: State | None) -> Generator[Progress, bool | None, None]:
        """Go to where another training stood, or to a random start."""
        if state is None:
            state = random_start(self._problem, self._settings)
        matrices = [state.u, state.v, state.j]
        # The matrices are large: the list holds the only reference, and `load` empties it.
        del state
        yield from self._epochs.load(matrices)

    def step(self, epoch: int) -> Generator[Progress, bool | None, Step]:
        """Do one epoch; a basis that runs away raises `SolverError`."""
        error, objective, primal, dual, unit = yield from self._epochs.epoch()
        assert self._settings.rho is not None
        step = Step(
            epoch=epoch,
            error=float(error.mean()),
            objective=float(objective.mean()),
            primal=float(np.sqrt(primal.mean())),
            dual=self._settings.rho * float(np.sqrt(dual.mean())),
            orthonormality=float(unit.max()),
        )
        figures = (step.error, step.objective, step.primal, step.dual, step.orthonormality)
        if not np.isfinite(figures).all() or step.orthonormality > _RUNAWAY:
            raise SolverError(
                f"The training diverged in epoch {epoch}. Lower the learning rate η "
                f"(now {self._settings.eta:g}) or the penalty ρ (now {self._settings.rho:g})."
            )
        return step

    def converged(self, step: Step, before: Step) -> bool:
        """Whether the residuals are small, and so is the error or the change of the objective."""
        tolerance = self._settings.tolerance
        assert tolerance is not None
        if tolerance <= 0 or max(step.primal, step.dual) > tolerance:
            return False
        return abs(before.objective - step.objective) < tolerance or step.error < tolerance

    def basis(self) -> Array:
        """Return a copy of U."""
        return self._epochs.matrices()[0]

    def state(self) -> State:
        """Return a copy of U, V and J."""
        return State(*self._epochs.matrices())

    def finish(self) -> State:
        """Return U, V and J when no further epoch will follow."""
        return State(*self._epochs.finish())
