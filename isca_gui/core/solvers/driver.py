"""Run an iterative solver epoch by epoch: reports, convergence and stopping in one place."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from isca_gui.core.progress import Cancelled, Progress
from isca_gui.core.solvers.admm import ADMM
from isca_gui.core.solvers.direct import Direct
from isca_gui.core.solvers.steps import (
    CONVERGED,
    MAX_EPOCHS,
    STOPPED,
    Result,
    State,
    Step,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from isca_gui.core.parallel import Workers
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.problem import Problem
    from isca_gui.core.solvers.steps import Array

Reports = Step | Progress | State


class Solver(Protocol):
    """What the driver asks of a solver; each generator raises `Cancelled` when it is stopped."""

    def __init__(self, problem: Problem, settings: TrainingSettings, workers: Workers) -> None: ...

    def start(self, state: State | None) -> Generator[Progress, bool | None, None]:
        """Go to where another training stood, or to a random start."""

    def step(self, epoch: int) -> Generator[Progress, bool | None, Step]:
        """Do one epoch; stopped within it, stand where the epoch before has ended."""

    def converged(self, step: Step, before: Step) -> bool:
        """Whether nothing is to be gained by another epoch."""

    def basis(self) -> Array:
        """Return a copy of U."""

    def state(self) -> State:
        """Return a copy of the matrices."""

    def finish(self) -> State:
        """Return the matrices when no further epoch will follow."""


SOLVERS: dict[str, type[Solver]] = {"admm": ADMM, "direct": Direct}


def solve(
    problem: Problem,
    settings: TrainingSettings,
    workers: Workers,
    state: State | None = None,
    due: Callable[[], bool] | None = None,
) -> Generator[Reports, bool | None, Result]:
    """Run the solver of the settings; answer a report with True to stop after the last whole epoch.

    Parameters
    ----------
    problem, settings, workers
        What to minimise, how, and the threads to do it on.
    state
        Where another training stood; None begins anew.
    due
        Asked after every epoch; where it returns True, a copy of the `State` is reported.
    """
    settings = settings.resolved()
    assert settings.epochs is not None
    solver = SOLVERS[settings.solver](problem, settings, workers)
    last = Step(0, float("inf"), float("inf"))
    if state is not None:
        last = replace(last, epoch=state.epoch, objective=state.objective, seconds=state.seconds)
    begun = time.perf_counter()
    try:
        yield from solver.start(state)
    except Cancelled:
        if state is None or not state.epoch:
            raise _no_model() from None
        return Result(state, STOPPED, ())
    steps: list[Step] = []
    end = MAX_EPOCHS
    while last.epoch < settings.epochs:
        try:
            step = yield from solver.step(last.epoch + 1)
        except Cancelled:
            if not last.epoch:
                raise _no_model() from None
            end = STOPPED
            break
        step = replace(step, seconds=last.seconds + time.perf_counter() - begun)
        if settings.keep_every and step.epoch % settings.keep_every == 0:
            step = replace(step, basis=solver.basis())
        converged = solver.converged(step, last)
        last = step
        steps.append(step)
        stop = yield step
        if converged:
            end = CONVERGED
            break
        if due is not None and not stop and due():
            stop = yield _at(solver.state(), last)
        if stop and last.epoch < settings.epochs:
            end = STOPPED
            break
        # The time that whoever takes the reports needs is not the solver's.
        begun = time.perf_counter()
    return Result(_at(solver.finish(), last), end, tuple(steps))


def _at(state: State, step: Step) -> State:
    return replace(state, epoch=step.epoch, seconds=step.seconds, objective=step.objective)


def _no_model() -> Cancelled:
    """Return the error of a training stopped within its first epoch: a random start is no model."""
    return Cancelled("Stopped before the end of the first epoch, so there is no model to keep.")
