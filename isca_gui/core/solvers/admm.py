"""The published iteration: one pass of ADMM per image, one epoch over all images (Eq. ADMM_update_2).

    U := U − η·G(U) − η·ρ·(U − V + J)
    V := the polar factor of U + J
    J := J + U − V

Kernel ISCA is the same in Mercer coordinates z with A = ΔΘ in the place of U, W in that of V, and the
diagonal metric Υ before the update of A; Υ = 1 gives linear ISCA. `metric="natural"` takes Υ = 1 there too.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.progress import Cancelled, Progress
from isca_gui.core.solvers.compiled_epochs import CompiledEpochs
from isca_gui.core.solvers.numpy_epochs import NumpyEpochs
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
from isca_gui.core.solvers.vector_width import MOST_COMPONENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Workers
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.problem import Problem

    Array = NDArray[np.floating[Any]]

_RUNAWAY = 1e6  # a basis this far from orthonormal has left for good


def start(problem: Problem, settings: TrainingSettings) -> State:
    """Draw U (or Θ), V and J uniformly from [0, 1)."""
    random = np.random.default_rng(settings.seed)
    dtype = problem.dtype.type
    shape = (problem.count, problem.width, settings.components)
    if problem.mercer is None:
        u = random.random(shape, dtype)
    else:  # A = ΔΘ
        theta = random.random((problem.count, problem.images, settings.components), dtype)
        u = np.empty(shape, dtype)
        for index, here in enumerate(problem.slices):
            u[here] = np.swapaxes(problem.piece(index), 1, 2) @ theta[here]
    return State(u, random.random(shape, dtype), random.random(shape, dtype))


def iterate(
    problem: Problem, settings: TrainingSettings, workers: Workers, state: State | None = None,
    due: Callable[[], bool] | None = None,
) -> Generator[Step | Progress | State, bool | None, Result]:  # fmt: skip
    """Run ADMM from the start or from where another training stood; answer a report with True to stop."""
    settings = settings.resolved()
    assert settings.epochs is not None
    assert settings.rho is not None
    assert settings.tolerance is not None
    state = state or start(problem, settings)
    kind = CompiledEpochs if settings.components <= MOST_COMPONENTS else NumpyEpochs
    matrices = [state.u, state.v, state.j]
    nothing = np.empty((0, 0, 0), problem.dtype)
    state = replace(state, u=nothing, v=nothing, j=nothing)  # large: only one copy is kept
    epochs = kind(problem, settings.components, natural=settings.metric == "natural")
    try:
        yield from epochs.load(matrices, workers)
    except Cancelled:
        raise no_model() from None
    steps: list[Step] = []
    end = MAX_EPOCHS
    while state.epoch < settings.epochs:
        begun = time.perf_counter()
        try:
            figures = yield from epochs.epoch(settings.rho, settings.eta, workers)
        except Cancelled:
            if not state.epoch:
                raise no_model() from None
            end = STOPPED
            break
        step = _step(figures, state, settings.rho, time.perf_counter() - begun)
        _check(step, settings)
        if settings.keep_every and step.epoch % settings.keep_every == 0:
            step = replace(step, basis=epochs.state()[0])
        converged = _converged(step, state, settings.tolerance)
        state = replace(state, epoch=step.epoch, seconds=step.seconds, objective=step.objective)
        steps.append(step)
        stop = yield step
        if converged:
            end = CONVERGED
            break
        if due is not None and not stop and due():
            u, v, j = epochs.state()
            stop = yield replace(state, u=u, v=v, j=j)
        if stop and state.epoch < settings.epochs:
            end = STOPPED
            break
    u, v, j = epochs.finish()
    return Result(replace(state, u=u, v=v, j=j), end, tuple(steps))


def _step(figures: NDArray[np.float64], state: State, rho: float, seconds: float) -> Step:
    error, objective, primal, dual, unit = figures
    return Step(
        epoch=state.epoch + 1,
        error=float(error.mean()),
        objective=float(objective.mean()),
        primal=float(np.sqrt(primal.mean())),
        dual=rho * float(np.sqrt(dual.mean())),
        orthonormality=float(unit.max()),
        seconds=state.seconds + seconds,
    )


def _check(step: Step, settings: TrainingSettings) -> None:
    sound = np.isfinite(
        (step.error, step.objective, step.primal, step.dual, step.orthonormality)
    ).all()
    if not sound or step.orthonormality > _RUNAWAY:
        raise SolverError(
            f"The training diverged in epoch {step.epoch}. Lower the learning rate η (now {settings.eta:g}) "
            f"or the penalty ρ (now {settings.rho:g})."
        )


def _converged(step: Step, before: State, tolerance: float) -> bool:
    """Small change of the objective, or a small error, and in both cases small residuals."""
    if tolerance <= 0 or max(step.primal, step.dual) > tolerance:
        return False
    return abs(before.objective - step.objective) < tolerance or step.error < tolerance
