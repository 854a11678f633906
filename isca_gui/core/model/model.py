"""A trained model: the subspaces of all blocks, which project and reconstruct pictures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.pictures.blocks import BlockGrid, centre
from isca_gui.core.progress import relay
from isca_gui.core.solvers import kernels
from isca_gui.core.solvers.objective import polar
from isca_gui.core.solvers.problem import PIECE, block_pieces, kernel_settings
from isca_gui.core.solvers.steps import CONVERGED

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Workers
    from isca_gui.core.progress import Progress
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.problem import Problem
    from isca_gui.core.solvers.steps import State, Step

    Array = NDArray[np.floating[Any]]

# Settings that may differ when a training goes on: they do not change what an epoch does.
_FREE_TO_CHANGE = ("epochs", "tolerance", "keep_every")


class NotInvertible(Exception):
    """A kernel model has no way back to pixels."""


@dataclass(frozen=True, eq=False)
class KernelPart:
    """What a kernel model holds in addition: its training pictures and Θ (block, image, p).

    Θ belongs to the orthonormalised basis: a new block x is projected to Θᵀk(x).
    """

    pictures: NDArray[np.float32]
    theta: Array
    self_similarity: NDArray[np.float64]
    column_means: NDArray[np.float64]
    eigenvalues: Array


@dataclass(frozen=True, eq=False)
class TrainingExamples:
    """What a model keeps of its training pictures: labels, MSE and descriptors.

    A training that is stopped must return at once, so its descriptors are worked out when they are
    first asked for: `source` is then a function.
    """

    labels: tuple[str, ...]
    levels: tuple[float, ...]
    source: NDArray[np.float32] | Callable[[], NDArray[np.float32]]
    # How far descriptors may be off, as a share of their distance from the reference's.
    precision: float = 0.0

    @cached_property
    def descriptors(self) -> NDArray[np.float32]:
        """Descriptors of all training pictures (block, image, p + 3)."""
        return self.source() if callable(self.source) else self.source


@dataclass(frozen=True, eq=False)
class Model:
    """Subspaces of all blocks.

    `state` holds U, V, J (block, q, p) of ISCA, or A = ΔΘ, W, J (block, coordinate, p) of kernel
    ISCA. `basis` is U (or A) orthonormalised, which projects and reconstructs. `offset` (block, q)
    is subtracted before that: PCA's mean over the images, None for ISCA.
    """

    settings: TrainingSettings
    grid: BlockGrid
    state: State
    end: str
    steps: tuple[Step, ...] = ()
    offset: Array | None = None
    kernel: KernelPart | None = None
    dataset: str = ""  # digest of the training data
    known: TrainingExamples | None = None

    @cached_property
    def basis(self) -> Array:
        """U (or A) orthonormalised (block, q, p), worked out when it is first asked for."""
        result: Array = np.empty(self.state.u.shape, self.settings.precision)
        for low in range(0, len(result), PIECE):
            # Of a model that was trained in bands U is in half precision.
            part = self.state.u[low : low + PIECE].astype(result.dtype, copy=False)
            result[low : low + PIECE] = polar(part)
        return result

    def resume_obstacle(self, settings: TrainingSettings, *, same_dataset: bool) -> str:
        """Return why this model cannot be trained further, or an empty text if it can.

        `settings` are those to go on with; `same_dataset` is whether the data are those it knows.
        """
        mismatch = self.training_mismatch(settings, same_dataset=same_dataset)
        if mismatch:
            return mismatch
        done = self.state.epoch
        if done >= (settings.resolved().epochs or 0):
            epochs = "1 epoch" if done == 1 else f"{done} epochs"
            return f"it has already run {epochs}; ask for more epochs to continue"
        return ""

    def training_mismatch(self, settings: TrainingSettings, *, same_dataset: bool) -> str:
        """Return why another training is not this one continued, or an empty text if it is."""
        for each in (self.settings, settings):
            if not each.iterative:
                return f"{each.method} has no epochs to continue"
        if not self.state.whole:
            return "of a picture this large only what recognition needs is kept"
        if not same_dataset:
            return "it was trained on another dataset"
        before = vars(self.settings)
        after = vars(settings.resolved())
        others = [
            name for name in before if name not in _FREE_TO_CHANGE and before[name] != after[name]
        ]
        if others:
            return f"it was trained with other settings ({', '.join(others)})"
        if self.end == CONVERGED and after["tolerance"] >= (self.settings.tolerance or 0.0):
            return "it has converged; ask for a lower tolerance to continue"
        return ""

    # What rounding leaves may underflow to zero.
    @np.errstate(under="ignore")
    def transform(self, pictures: NDArray[Any]) -> Array:
        """Return the projection (block, image, component) of pictures (image, height, width)."""
        shape = (self.grid.count, len(pictures), self.basis.shape[2])
        projected = np.empty(shape, self.basis.dtype)
        known = iter(()) if self.kernel is None else block_pieces(self.kernel.pictures, self.grid)
        for index, blocks in enumerate(block_pieces(pictures, self.grid)):
            here = slice(index * PIECE, index * PIECE + len(blocks))
            projected[here] = self.project(blocks, here, next(known, None))
        return projected

    @np.errstate(under="ignore")
    def reconstruct(
        self, picture: NDArray[Any], components: int | None = None
    ) -> NDArray[np.float32]:
        """Return the reconstruction of a picture: UUᵀx, with the block's mean put back.

        `components` limits the number of basis vectors; ISCA's have no order of importance.
        """
        if self.kernel is not None:
            raise NotInvertible(
                "A kernel model cannot reconstruct a picture: ΘΘᵀk has one number per training "
                "picture, not per pixel. Train ISCA or PCA to see reconstructions."
            )
        centred, means = centre(self.grid.split(picture))
        basis = self.basis[:, :, :components].astype(np.float64)
        offset = 0.0 if self.offset is None else self.offset
        inside = np.einsum("bqp,bq->bp", basis, centred - offset)
        blocks = np.einsum("bqp,bp->bq", basis, inside) + offset + means[:, None]
        return self.grid.join(blocks).astype(np.float32)

    def basis_picture(self, which: str, component: int) -> NDArray[np.float32]:
        """Return one column of U, V or J of every block as a picture (height, width)."""
        if self.kernel is not None:
            raise NotInvertible(
                "The variables of a kernel model have one number per training picture, not per "
                "pixel, so they cannot be shown as a picture."
            )
        if which != "U" and not self.state.whole:
            raise NotInvertible(
                f"This model does not hold {which}: of a picture this large only U is kept."
            )
        matrices = {"U": self.state.u, "V": self.state.v, "J": self.state.j}[which]
        return self.grid.join(matrices[:, :, component]).astype(np.float32)

    def project(self, blocks: NDArray[Any], here: slice, known: NDArray[Any] | None) -> Array:
        """Return the projection of some blocks.

        Parameters
        ----------
        blocks
            Values (block, image, pixel).
        here
            Which blocks of the grid they are.
        known
            The training blocks of a kernel model at the same places (block, image, pixel).
        """
        if self.kernel is None or known is None:
            centred = centre(blocks)[0]
            if self.offset is not None:
                centred -= self.offset[here, None]
            return np.asarray(centred @ self.basis[here])
        part = self.kernel
        fitted = kernels.Mercer(
            self.basis[here],
            part.eigenvalues[here],
            part.self_similarity[here],
            part.column_means[here],
        )
        near, _ = kernels.similarities(blocks, known, fitted, kernel_settings(self.settings))
        return np.asarray(near @ part.theta[here])


def kernel_part(
    pictures: NDArray[np.float32], problem: Problem, u: Array, workers: Workers
) -> Generator[Progress, object, KernelPart]:
    """Return Θ = ΨΥ^(−½)B = ΔᵀΥ⁻¹B of the orthonormalised basis B in Mercer coordinates."""
    fitted = problem.mercer
    assert fitted is not None
    values = fitted.eigenvalues
    inverse = np.divide(1, values, out=np.zeros_like(values), where=values > 0)
    theta = np.empty((problem.count, problem.images, u.shape[2]), u.dtype)

    def work(index: int, _: int) -> None:
        here = problem.slices[index]
        theta[here] = problem.piece(index) @ (inverse[here, :, None] * polar(u[here]))

    # A request to stop is not passed on, as `yield from` would: the model that is kept needs Θ.
    yield from relay(workers.each(work, len(problem.slices), 1), lambda report: report)
    return KernelPart(pictures, theta, fitted.self_similarity, fitted.column_means, values)
