"""What the solvers work on: centred coordinates of every block of every image, whatever they come from."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.parallel import ranges
from isca_gui.core.pictures import ssim
from isca_gui.core.pictures.blocks import BlockGrid, centre
from isca_gui.core.progress import Cancelled, Progress
from isca_gui.core.solvers.kernels import KernelSettings, Mercer, mercer
from isca_gui.core.solvers.vector_width import LANES, PIECE

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Workers
    from isca_gui.core.settings import TrainingSettings

    Array = NDArray[np.floating[Any]]


_KEPT = 640 * 2**20  # bytes of coordinates that stay in memory


@dataclass(frozen=True, eq=False)
class UncachedBlocks:
    """Some blocks of the pictures, to be cut and centred again whenever they are needed."""

    pictures: NDArray[Any]
    blocks: tuple[BlockGrid, int, int]  # the grid, the first block and the one after the last
    dtype: str

    def __len__(self) -> int:
        return self.blocks[2] - self.blocks[1]

    def coordinates(self) -> Array:
        """Give centred pixels (block, image, pixel)."""
        grid, low, high = self.blocks
        return centre(grid.split_range(self.pictures, low, high))[0].astype(self.dtype)


class Problem:
    """Minimise Σ f over orthonormal bases, one per block: f = (‖z‖² − ‖Aᵀz‖²)/(‖z‖² + ‖Aᵀz‖² + c).

    Coordinates z are centred pixels for ISCA, Mercer coordinates for kernel ISCA, where `mercer` holds the
    rest of the decomposition. They lie in pieces of `PIECE` blocks, each (block, image, coordinate) or, laid
    out in lanes, (group, image, coordinate·lane) as the compiled loops want them: never in memory twice, and
    of large problems not all of them.
    """

    def __init__(
        self,
        pieces: list[Array],
        c: float,
        mercer: Mercer | None = None,
        cut: Sequence[UncachedBlocks] = (),
    ) -> None:
        self._pieces, self._packed = pieces, [False] * len(pieces)
        self._cut = cut  # the pieces after those in memory
        self._sizes = [*map(len, pieces), *map(len, cut)]
        self.c, self.mercer = c, mercer
        self.count = sum(self._sizes)
        self.images, self.width = pieces[0].shape[1:]
        self.dtype = pieces[0].dtype

    @property
    def coordinates(self) -> Array:
        """All coordinates (block, image, coordinate), copied together."""
        return np.concatenate([self.piece(index) for index in range(len(self._sizes))])

    @property
    def slices(self) -> list[slice]:
        """The blocks of every piece."""
        ends = list(itertools.accumulate(self._sizes, initial=0))
        return [slice(low, high) for low, high in itertools.pairwise(ends)]

    def piece(self, index: int) -> Array:
        """Coordinates (block, image, coordinate) of one piece."""
        if index >= len(self._pieces):
            return self._cut[index - len(self._pieces)].coordinates()
        if self._packed[index]:
            return unpack(self._pieces[index], self._sizes[index], self.width)
        return self._pieces[index]

    def packed(self, index: int) -> Array:
        """Coordinates (group, image, coordinate·lane) of one piece, after `lay_out`."""
        return self._pieces[index] if index < len(self._pieces) else pack(self.piece(index))

    def metric(self, index: int) -> Array:
        """Υ of a piece's update (block, coordinate); ones for linear ISCA."""
        here = self.slices[index]
        if self.mercer is None:
            return np.ones((self._sizes[index], self.width), self.dtype)
        return self.mercer.eigenvalues[here]

    def lay_out(self, workers: Workers, *, packed: bool) -> Generator[Progress, bool | None, None]:
        """Lay all pieces out in lanes, or in blocks again."""

        def work(index: int, _: int) -> None:
            piece = self._pieces[index]
            if self._packed[index] != packed:
                self._pieces[index] = _in_place(piece, pack(piece) if packed else self.piece(index))
                self._packed[index] = packed

        yield from workers.each(work, len(self._pieces), 1)


def _in_place(old: Array, new: Array) -> Array:
    """Put an array into another one's memory where it fits, so that memory is not used twice."""
    if old.size != new.size:
        return new
    target = old.reshape(new.shape)
    target[:] = new
    return target


def pack(values: Array) -> Array:
    """Lay (block, a, b) out as (group, a, b·lane).

    Missing blocks of the last group are copies of the last block: a group turns until all its lanes have
    converged, so what fills it must not change how often, also when a training is resumed.
    """
    groups = -(-len(values) // LANES)
    packed = np.empty((groups, *values.shape[1:], LANES), values.dtype)
    packed[-1] = values[-1][..., None]
    for lane in range(LANES):
        packed[: len(values[lane::LANES]), ..., lane] = values[lane::LANES]
    return packed.reshape(groups, values.shape[1], -1)


def unpack(packed: Array, count: int, width: int) -> Array:
    """Undo `pack`: (group, a, width·lane) to (block, a, width)."""
    groups, rows = packed.shape[:2]
    blocks = (
        packed.reshape(groups, rows, width, LANES).transpose(0, 3, 1, 2).reshape(-1, rows, width)
    )
    return np.ascontiguousarray(blocks[:count])


def block_pieces(pictures: NDArray[Any], grid: BlockGrid) -> Iterator[NDArray[Any]]:
    """Cut pictures (image, height, width) into blocks (block, image, pixel), `PIECE` blocks at a time."""
    for low, high in ranges(grid.count, PIECE):
        yield grid.split_range(pictures, low, high)


def linear_problem(
    pictures: NDArray[Any], grid: BlockGrid, dtype: str
) -> Generator[Progress, bool | None, Problem]:
    """Make the problem of linear ISCA: every block of every image with its mean removed."""
    cuts = [UncachedBlocks(pictures, (grid, *ends), dtype) for ends in ranges(grid.count, PIECE)]
    kept = max(1, _KEPT // (PIECE * len(pictures) * grid.pixels * np.dtype(dtype).itemsize))
    # One array for all: thousands of pieces of their own would leave as much memory unused between them.
    whole = np.empty((sum(map(len, cuts[:kept])), len(pictures), grid.pixels), dtype)
    pieces = []
    for index, cut in enumerate(cuts[:kept]):
        pieces.append(whole[index * PIECE : index * PIECE + len(cut)])
        pieces[-1][:] = cut.coordinates()
        if (yield Progress(index, len(cuts[:kept]))):
            raise Cancelled("Stopped while blocks were cut.")
    return Problem(pieces, ssim.constant(grid.pixels), cut=cuts[kept:])


def kernel_problem(
    pictures: NDArray[Any], grid: BlockGrid, settings: TrainingSettings, workers: Workers
) -> Generator[Progress, bool | None, Problem]:
    """Make the problem of kernel ISCA."""
    kernel = kernel_settings(settings)
    parts: dict[int, Mercer] = {}

    def prepare(low: int, high: int) -> None:
        blocks = grid.split_range(pictures, low, high)
        parts[low] = mercer(blocks, kernel, settings.components, settings.precision, workers.stop)

    yield from workers.each(prepare, grid.count, PIECE)
    width = max(part.coordinates.shape[2] for part in parts.values())
    ordered = [parts.pop(low) for low in sorted(parts)]
    rest = Mercer(
        np.empty((0, 0, width)),
        np.concatenate([_widened(part.eigenvalues, width) for part in ordered]),
        np.concatenate([part.self_similarity for part in ordered]),
        np.concatenate([part.column_means for part in ordered]),
    )
    pieces = []
    for index, part in enumerate(ordered):
        pieces.append(_widened(part.coordinates, width))
        del part
        ordered[index] = rest  # frees this part's coordinates
        if (yield Progress(index, len(ordered))):
            raise Cancelled("Stopped while kernels were put together.")
    return Problem(pieces, ssim.constant(grid.pixels), rest)


def kernel_settings(settings: TrainingSettings) -> KernelSettings:
    """Give the kernel with its numbers."""
    gamma = settings.resolved().gamma
    assert gamma is not None
    return KernelSettings(settings.kernel, gamma, settings.coef0, settings.degree)


def _widened(values: Array, width: int) -> Array:
    """Fill up with zeros to `width` coordinates."""
    missing = width - values.shape[-1]
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)]) if missing else values
