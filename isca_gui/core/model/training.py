"""From a dataset and settings to a model: one generator for all methods and solvers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from isca_gui.core.model.descriptor import describe, describe_training
from isca_gui.core.model.model import Model, TrainingExamples, kernel_part
from isca_gui.core.parallel import Workers, in_background
from isca_gui.core.pictures.blocks import BlockGrid
from isca_gui.core.progress import Cancelled, Progress
from isca_gui.core.settings import SettingsError
from isca_gui.core.solvers import baselines, compiled_loops, driver
from isca_gui.core.solvers.problem import kernel_problem, linear_problem
from isca_gui.core.solvers.steps import CONVERGED, STOPPED, State, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.problem import Problem
    from isca_gui.core.solvers.steps import Result

Reports = Step | Progress | State


def train(
    dataset: Dataset, settings: TrainingSettings, threads: int | None = None, resume: Model | None = None,
    due: Callable[[], bool] | None = None,
) -> Generator[Reports, bool | None, Model]:  # fmt: skip
    """Train a model; answer any report with True to stop and keep the model of the last whole epoch.

    Before there is one, stopping raises `Cancelled`. With `resume`, go on from where that model stands, up to
    the epochs of `settings`; the result is the same, bit by bit, as that of one uninterrupted training. `due`
    is asked after every epoch; where it says so, a copy of the `State` is reported, from which `restored`
    makes a model after a crash.
    """
    settings = settings.resolved()
    height, width = dataset.reference.shape
    grid = BlockGrid(height, width, settings.block)
    with Workers(threads) as workers:
        try:
            digest = yield from in_background(dataset.digest)
            if resume is not None:
                check_resume(resume, settings, digest)
            if settings.iterative and settings.solver == "admm":
                yield from in_background(
                    lambda: compiled_loops.prepare(settings.components, settings.precision)
                )
            problem = yield from problem_for(dataset, settings, workers)
        except Cancelled:
            raise Cancelled("Stopped during preparation, so there is no model to keep.") from None
        if settings.method == "pca":
            result, offset = yield from baselines.pca(problem, settings, workers)
            model = Model(
                settings, grid, result.state, result.end, result.steps, offset, dataset=digest
            )
        else:
            result = yield from _solve(problem, settings, workers, resume, due)
            part = None
            if problem.mercer is not None:
                part = yield from kernel_part(dataset.pictures, problem, result.state.u, workers)
            steps = (resume.steps if resume is not None else ()) + result.steps
            model = Model(
                settings, grid, result.state, result.end, steps, kernel=part, dataset=digest
            )
        del problem  # large, and no longer needed
        levels = tuple(entry.achieved_mse for entry in dataset.entries)
        if model.end == STOPPED:
            later = partial(describe, model, dataset.pictures)
            return replace(model, known=TrainingExamples(dataset.labels, levels, later))
        found = yield from describe_training(model, dataset.pictures, workers)
        return replace(model, known=TrainingExamples(dataset.labels, levels, found))


def problem_for(
    dataset: Dataset, settings: TrainingSettings, workers: Workers
) -> Generator[Progress, bool | None, Problem]:
    """Make what the solvers work on."""
    height, width = dataset.reference.shape
    grid = BlockGrid(height, width, settings.block)
    if settings.uses_kernel:
        return (yield from kernel_problem(dataset.pictures, grid, settings, workers))
    return (yield from linear_problem(dataset.pictures, grid, settings.precision))


def restored(
    dataset: Dataset, settings: TrainingSettings, state: State, steps: tuple[Step, ...]
) -> Generator[Reports, bool | None, Model]:
    """Make the model of a training that broke off after `state` was reported; it can be resumed."""
    settings = settings.resolved()
    height, width = dataset.reference.shape
    grid = BlockGrid(height, width, settings.block)
    digest = yield from in_background(dataset.digest)
    known = Model(settings, grid, state, STOPPED, steps, dataset=digest)
    there = replace(
        settings, epochs=state.epoch
    )  # nothing is left to be done but what follows the last epoch
    model = yield from train(dataset, there, resume=known)
    return replace(model, settings=settings, end=STOPPED)


def check_resume(model: Model, settings: TrainingSettings, digest: str) -> None:
    """Refuse to go on with other data or other settings than a model was trained with."""
    if not settings.iterative:
        raise SettingsError(f"{settings.method} has no epochs to resume; train it anew")
    if model.dataset != digest:
        raise SettingsError("the model to resume was trained on another dataset")
    free = {"epochs", "tolerance", "keep_every"}
    old, new = vars(model.settings), vars(settings)
    other = [name for name in old if name not in free and old[name] != new[name]]
    if other:
        raise SettingsError(f"the model to resume was trained with another {', '.join(other)}")
    new_tolerance, old_tolerance = (
        settings.resolved().tolerance or 0.0,
        model.settings.tolerance or 0.0,
    )
    if model.end == CONVERGED and new_tolerance >= old_tolerance:
        raise SettingsError(
            "the model to resume has converged; say --tol with a lower number to go on"
        )


def _solve(
    problem: Problem, settings: TrainingSettings, workers: Workers, resume: Model | None,
    due: Callable[[], bool] | None,
) -> Generator[Reports, bool | None, Result]:  # fmt: skip
    if settings.method == "kernel-pca":
        return (yield from baselines.kernel_pca(problem, settings, workers))
    if settings.method == "random":
        return (yield from baselines.random(problem, settings, workers))
    state: State | None = resume.state if resume is not None else None
    return (yield from driver.solve(problem, settings, workers, state, due))
