"""The baselines for ISCA: PCA, kernel PCA and random subspaces, block by block."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.pictures import ssim
from isca_gui.core.progress import Cancelled
from isca_gui.core.solvers.objective import polar, reconstruction_errors
from isca_gui.core.solvers.problem import drawn
from isca_gui.core.solvers.steps import CONVERGED, Result, State, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from isca_gui.core.parallel import Workers
    from isca_gui.core.progress import Progress
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.problem import Problem
    from isca_gui.core.solvers.steps import Array


def pca(
    problem: Problem, settings: TrainingSettings, workers: Workers
) -> Generator[Step | Progress, bool | None, tuple[Result, Array]]:
    """Find the leading eigenvectors of every block's covariance (Eq. 3), and its mean."""
    begun = time.perf_counter()
    basis = np.empty((problem.count, problem.width, settings.components), problem.dtype)
    offset = np.empty((problem.count, problem.width), problem.dtype)

    def work(index: int, _: int) -> None:
        here = problem.slices[index]
        z = problem.piece(index)
        offset[here] = z.mean(axis=1)
        centred = (z - offset[here, None]).astype(np.float64)
        # Entries of 1e-40 may vanish: they are nothing in a vector of length one.
        with np.errstate(under="ignore"):
            basis[here] = _with_fixed_signs(_leading(centred, settings.components))

    yield from _each_piece(problem, work, workers)
    result = yield from _measured(problem, basis, workers, begun, offset)
    return result, offset


def kernel_pca(
    problem: Problem, settings: TrainingSettings, workers: Workers
) -> Generator[Step | Progress, bool | None, Result]:
    """Take the leading Mercer coordinates, which are sorted by their eigenvalues already."""
    begun = time.perf_counter()
    basis = np.zeros((problem.count, problem.width, settings.components), problem.dtype)
    leading = np.arange(settings.components)
    basis[:, leading, leading] = 1
    return (yield from _measured(problem, basis, workers, begun))


def random(
    problem: Problem, settings: TrainingSettings, workers: Workers
) -> Generator[Step | Progress, bool | None, Result]:
    """Draw a random subspace for every block."""
    begun = time.perf_counter()
    shape = (problem.width, settings.components)
    draw = np.random.default_rng(settings.seed).standard_normal
    basis = polar(drawn(draw, shape, problem))
    return (yield from _measured(problem, basis.astype(problem.dtype), workers, begun))


def _measured(
    problem: Problem, basis: Array, workers: Workers, begun: float, offset: Array | None = None
) -> Generator[Step | Progress, bool | None, Result]:
    """Return the result, after measuring how far blocks are from their reconstructions by SSIM.

    Parameters
    ----------
    basis
        Orthonormal bases (block, coordinate, component).
    begun
        When the method began, by `time.perf_counter`.
    offset
        The means (block, coordinate) that blocks are reconstructed about; None where there are
        none.
    """
    figures = np.zeros(problem.count)

    def work(index: int, _: int) -> None:
        here = problem.slices[index]
        z = problem.piece(index)
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


# Squares of what rounding leaves may vanish: beside the constant of SSIM they are nothing.
@np.errstate(under="ignore")
def _distances(centred: Array, basis: Array, offset: Array) -> Array:
    """Return the SSIM distance (block, image) of blocks to m + UUᵀ(x − m): PCA is about a mean."""
    rebuilt = offset + (centred - offset) @ basis @ np.swapaxes(basis, 1, 2)
    return ssim.distance(centred, rebuilt)


def _leading(centred: Array, components: int) -> Array:
    """Return leading eigenvectors (block, pixel, vector) of the covariances of the images."""
    images, pixels = centred.shape[1:]
    # With fewer images than pixels, the right singular vectors are the same and cost less.
    if components <= images < pixels:
        return np.swapaxes(np.linalg.svd(centred, full_matrices=False).Vh[:, :components], 1, 2)
    vectors = np.linalg.eigh(np.swapaxes(centred, 1, 2) @ centred).eigenvectors
    return np.asarray(vectors[:, :, ::-1][:, :, :components])


def _with_fixed_signs(vectors: Array) -> Array:
    """Return the vectors with a positive largest entry, so that results repeat everywhere."""
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=1)[:, None], axis=1)
    return np.asarray(vectors * np.where(largest < 0, -1, 1))
