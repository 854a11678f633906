"""Train a model on a dataset: one generator for all methods and solvers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from isca_gui.core.model.banded_training import train_in_bands
from isca_gui.core.model.descriptor import describe, describe_training
from isca_gui.core.model.model import Model, TrainingExamples, kernel_part
from isca_gui.core.parallel import Workers, in_background
from isca_gui.core.pictures.blocks import BlockGrid
from isca_gui.core.progress import Cancelled, Progress
from isca_gui.core.settings import SettingsError
from isca_gui.core.solvers import baselines, compiled_loops, driver
from isca_gui.core.solvers.problem import kernel_problem, linear_problem
from isca_gui.core.solvers.steps import STOPPED, State, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.problem import Problem
    from isca_gui.core.solvers.steps import Result

Reports = Step | Progress | State


def train(
    dataset: Dataset,
    settings: TrainingSettings,
    threads: int | None = None,
    resume: Model | None = None,
    due: Callable[[], bool] | None = None,
) -> Generator[Reports, bool | None, Model]:
    """Train a model; send True after any report to stop and keep that of the last whole epoch.

    Before there is one, stopping raises `Cancelled`.

    Parameters
    ----------
    dataset
        The reference and its distorted copies.
    settings
        How to train.
    threads
        How many threads to use; None takes one per core. The result does not depend on it.
    resume
        A model to go on from, up to the epochs of `settings`. The result is the same, bit by bit,
        as that of one uninterrupted training.
    due
        Asked after every epoch; if it returns True, a copy of the `State` is reported, from which
        `restored` makes a model after a crash.
    """
    settings = settings.resolved()
    height, width = dataset.reference.shape
    grid = BlockGrid(height, width, settings.block)
    with Workers(threads) as workers:
        try:
            digest = yield from in_background(dataset.digest)
            if resume is not None:
                same = resume.dataset == digest
                mismatch = resume.training_mismatch(settings, same_dataset=same)
                if mismatch:
                    raise SettingsError(f"the model cannot be resumed: {mismatch}")
            if settings.iterative and settings.solver == "admm":
                yield from in_background(
                    lambda: compiled_loops.prepare(settings.components, settings.precision)
                )
            if dataset.demanded is not None:
                task = train_in_bands(dataset, dataset.demanded, settings, digest, workers)
                return (yield from task)
            problem = yield from problem_for(dataset, settings, workers)
        except Cancelled as error:
            if dataset.demanded is not None:
                raise
            raise Cancelled("Stopped during preparation, so there is no model to keep.") from error
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
        # The blocks of all pictures take more memory than anything else.
        del problem
        levels = tuple(entry.achieved_mse for entry in dataset.entries)
        if model.end == STOPPED:
            later = partial(describe, model, dataset.pictures)
            return replace(model, known=TrainingExamples(dataset.labels, levels, later))
        found = yield from describe_training(model, dataset.pictures, workers)
        return replace(model, known=TrainingExamples(dataset.labels, levels, found))


def problem_for(
    dataset: Dataset, settings: TrainingSettings, workers: Workers
) -> Generator[Progress, bool | None, Problem]:
    """Return what the solvers work on: the blocks of all pictures, or their kernels."""
    height, width = dataset.reference.shape
    grid = BlockGrid(height, width, settings.block)
    if settings.uses_kernel:
        return (yield from kernel_problem(dataset.pictures, grid, settings, workers))
    return (yield from linear_problem(dataset.pictures, grid, settings.precision, workers))


def restored(
    dataset: Dataset, settings: TrainingSettings, state: State, steps: tuple[Step, ...]
) -> Generator[Reports, bool | None, Model]:
    """Return the model of a training that broke off after `state` was reported.

    It is as if that training had been stopped then, so it can be resumed.

    Parameters
    ----------
    dataset, settings
        What the training was started with.
    state
        The last state that it reported.
    steps
        Its reports up to that state.
    """
    settings = settings.resolved()
    height, width = dataset.reference.shape
    grid = BlockGrid(height, width, settings.block)
    digest = yield from in_background(dataset.digest)
    known = Model(settings, grid, state, STOPPED, steps, dataset=digest)
    # Resumed at its last epoch, the training only does what follows the epochs.
    no_more_epochs = replace(settings, epochs=state.epoch)
    model = yield from train(dataset, no_more_epochs, resume=known)
    return replace(model, settings=settings, end=STOPPED)


def _solve(
    problem: Problem,
    settings: TrainingSettings,
    workers: Workers,
    resume: Model | None,
    due: Callable[[], bool] | None,
) -> Generator[Reports, bool | None, Result]:
    if settings.method == "kernel-pca":
        return (yield from baselines.kernel_pca(problem, settings, workers))
    if settings.method == "random":
        return (yield from baselines.random(problem, settings, workers))
    state: State | None = resume.state if resume is not None else None
    return (yield from driver.solve(problem, settings, workers, state, due))
