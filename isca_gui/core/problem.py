"""What the solvers work on: centred coordinates of every block of every image, whatever they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core import ssim
from isca_gui.core.blocks import BlockGrid, centre
from isca_gui.core.kernels import KernelSettings, Mercer, mercer
from isca_gui.core.parallel import ranges

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Tick, Workers
    from isca_gui.core.settings import TrainingSettings

    Array = NDArray[np.floating[Any]]

_STRIP = 256  # blocks that are cut, centred or decomposed at a time


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise Σ f over orthonormal bases, one per block: f = (‖z‖² − ‖Aᵀz‖²)/(‖z‖² + ‖Aᵀz‖² + c).

    `coordinates` z are (block, image, coordinate): centred pixels for ISCA, Mercer coordinates for kernel
    ISCA, where `mercer` holds the rest of the decomposition.
    """

    coordinates: Array
    c: float
    mercer: Mercer | None = None

    @property
    def metric(self) -> Array:
        """Υ of the update (block, coordinate), or (1, coordinate) of ones for linear ISCA."""
        if self.mercer is None:
            return np.ones((1, self.coordinates.shape[2]), self.coordinates.dtype)
        return self.mercer.eigenvalues


def training_blocks(pictures: NDArray[Any], grid: BlockGrid) -> NDArray[Any]:
    """Cut pictures (image, height, width) into blocks (block, image, pixel), one row of blocks at a time."""
    blocks = np.empty((grid.count, len(pictures), grid.pixels), pictures.dtype)
    for row in range(grid.rows):
        top, bottom = row * grid.side, min((row + 1) * grid.side, grid.height)
        strip = BlockGrid(bottom - top, grid.width, grid.side)
        blocks[row * grid.columns : (row + 1) * grid.columns] = strip.split_stack(pictures[:, top:bottom])
    return blocks


def linear_problem(pictures: NDArray[Any], grid: BlockGrid, dtype: str) -> Problem:
    """Make the problem of linear ISCA: every block of every image with its mean removed."""
    blocks = training_blocks(pictures, grid).astype(dtype, copy=False)
    for low, high in ranges(len(blocks), _STRIP):
        blocks[low:high] = centre(blocks[low:high])[0]
    return Problem(blocks, ssim.constant(grid.pixels))


def kernel_problem(
    blocks: NDArray[Any], settings: TrainingSettings, workers: Workers
) -> Generator[Tick, bool | None, Problem | None]:
    """Make the problem of kernel ISCA; None if it was told to stop."""
    kernel = kernel_settings(settings)
    parts: dict[int, Mercer] = {}

    def prepare(low: int, high: int) -> None:
        parts[low] = mercer(blocks[low:high], kernel, settings.components, settings.precision)

    finished = yield from workers.each(prepare, len(blocks), 32)
    if not finished:
        return None
    width = max(part.coordinates.shape[2] for part in parts.values())
    pieces = [parts[low] for low in sorted(parts)]
    joined = Mercer(
        _joined([piece.coordinates for piece in pieces], width),
        _joined([piece.eigenvalues for piece in pieces], width),
        np.concatenate([piece.self_similarity for piece in pieces]),
        np.concatenate([piece.column_means for piece in pieces]),
    )
    return Problem(joined.coordinates, ssim.constant(blocks.shape[2]), joined)


def kernel_settings(settings: TrainingSettings) -> KernelSettings:
    """Give the kernel with its numbers."""
    gamma = settings.resolved().gamma
    assert gamma is not None
    return KernelSettings(settings.kernel, gamma, settings.coef0, settings.degree)


def _joined(pieces: list[Array], width: int) -> Array:
    """Stack pieces along the blocks, filled up with zeros to `width` coordinates."""
    shape = (sum(len(piece) for piece in pieces), *pieces[0].shape[1:-1], width)
    whole = np.zeros(shape, pieces[0].dtype)
    start = 0
    for piece in pieces:
        whole[start : start + len(piece), ..., : piece.shape[-1]] = piece
        start += len(piece)
    return whole
