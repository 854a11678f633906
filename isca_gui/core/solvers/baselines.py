"""Honest company for ISCA: PCA, kernel PCA and random projection, block by block, with the same `Model`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.pictures import ssim
from isca_gui.core.progress import Cancelled
from isca_gui.core.solvers.objective import polar, reconstruction_errors
from isca_gui.core.solvers.steps import CONVERGED, Result, State, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Workers
    from isca_gui.core.progress import Progress
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.problem import Problem

    Array = NDArray[np.floating[Any]]


def pca(
    problem: Problem, settings: TrainingSettings, workers: Workers
) -> Generator[Step | Progress, bool | None, tuple[Result, Array]]:
    """Find the leading eigenvectors of every block's covariance over the images, and the mean it is about."""
    begun = time.perf_counter()
    basis = np.empty((problem.count, problem.width, settings.components), problem.dtype)
    offset = np.empty((problem.count, problem.width), problem.dtype)

    def work(index: int, _: int) -> None:
        here, z = problem.slices[index], problem.piece(index)
        offset[here] = z.mean(axis=1)
        centred = (z - offset[here, None]).astype(np.float64)
        with np.errstate(under="ignore"):  # beside a length of one, 1e-40 is nothing
            basis[here] = _signed(_leading(centred, settings.components))

    yield from _each_piece(problem, work, workers)
    result = yield from _finish(problem, basis, workers, begun, offset)
    return result, offset


def kernel_pca(
    problem: Problem, settings: TrainingSettings, workers: Workers
) -> Generator[Step | Progress, bool | None, Result]:
    """Take the leading Mercer coordinates: they are sorted by their eigenvalues already."""
    begun = time.perf_counter()
    basis = np.zeros((problem.count, problem.width, settings.components), problem.dtype)
    basis[:, np.arange(settings.components), np.arange(settings.components)] = 1
    return (yield from _finish(problem, basis, workers, begun))


def random(
    problem: Problem, settings: TrainingSettings, workers: Workers
) -> Generator[Step | Progress, bool | None, Result]:
    """Draw a random subspace for every block."""
    begun = time.perf_counter()
    shape = (problem.count, problem.width, settings.components)
    basis = polar(np.random.default_rng(settings.seed).standard_normal(shape))
    return (yield from _finish(problem, basis.astype(problem.dtype), workers, begun))


def _finish(
    problem: Problem, basis: Array, workers: Workers, begun: float, offset: Array | None = None
) -> Generator[Step | Progress, bool | None, Result]:
    """Measure how far blocks are from their reconstructions, in the same units as ISCA."""
    figures = np.zeros(problem.count)

    def work(index: int, _: int) -> None:
        here, z = problem.slices[index], problem.piece(index)
        if offset is None:
            figures[here] = reconstruction_errors(z, basis[here], problem.c).mean(axis=1)
        else:
            figures[here] = _distances(z, basis[here], offset[here, None]).mean(axis=1)

    yield from _each_piece(problem, work, workers)
    seconds = time.perf_counter() - begun
    state = State(basis, basis, np.zeros_like(basis), epoch=1, seconds=seconds)
    step = Step(1, float(figures.mean()), float(figures.mean()), seconds=seconds)
    yield step
    return Result(state, CONVERGED, (step,))


def _each_piece(
    problem: Problem, work: Callable[[int, int], None], workers: Workers
) -> Generator[Progress, bool | None, None]:
    """Do something for every piece of the problem; stopped, there is nothing to keep."""
    try:
        yield from workers.each(work, len(problem.slices), 1)
    except Cancelled:
        raise Cancelled(
            f"Stopped before all {problem.count} blocks were done, so there is no model to keep."
        ) from None


@np.errstate(under="ignore")  # as in `errors`
def _distances(centred: Array, basis: Array, offset: Array) -> Array:
    """Give the SSIM distance (block, image) of blocks to m + UUᵀ(x − m): PCA reconstructs about a mean."""
    rebuilt = offset + (centred - offset) @ basis @ np.swapaxes(basis, 1, 2)
    return ssim.distance(centred, rebuilt)


def _leading(centred: Array, components: int) -> Array:
    """Give the leading eigenvectors (block, pixel, vector) of the covariances of (block, image, pixel)."""
    images, pixels = centred.shape[1:]
    if (
        components <= images < pixels
    ):  # singular vectors are the same and come from a smaller problem
        return np.swapaxes(np.linalg.svd(centred, full_matrices=False).Vh[:, :components], 1, 2)
    vectors = np.linalg.eigh(np.swapaxes(centred, 1, 2) @ centred).eigenvectors
    return np.asarray(vectors[:, :, ::-1][:, :, :components])


def _signed(vectors: Array) -> Array:
    """Turn every vector so that its largest entry is positive: results repeat on every machine."""
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=1)[:, None], axis=1)
    return np.asarray(vectors * np.where(largest < 0, -1, 1))
