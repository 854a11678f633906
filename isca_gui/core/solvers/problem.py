"""What the solvers work on: centred coordinates of every block of every image."""

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

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from isca_gui.core.parallel import Workers
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.steps import Array

# Blocks that lie side by side in one vector of the compiled loops.
LANES = 16
# Blocks that are worked on together; results do not depend on how pieces are shared out to threads.
PIECE = 4 * LANES
# Blocks whose random numbers are skipped at a time.
_SKIPPED = 4096
# Bytes of coordinates that stay in memory.
_IN_MEMORY = 640 * 2**20


@dataclass(frozen=True, eq=False)
class UncachedBlocks:
    """The blocks `low` to `high` − 1 of the pictures, cut and centred anew when they are needed."""

    pictures: NDArray[Any]
    grid: BlockGrid
    low: int
    high: int
    dtype: str

    def __len__(self) -> int:
        return self.high - self.low

    def coordinates(self) -> Array:
        """Return centred pixels (block, image, pixel)."""
        blocks = self.grid.split_range(self.pictures, self.low, self.high)
        return centre(blocks)[0].astype(self.dtype)


class Problem:
    """Minimise Σ f over orthonormal bases A, one for each block (Eq. 8, in feature space Eq. 16).

    f = (‖z‖² − ‖Aᵀz‖²)/(‖z‖² + ‖Aᵀz‖² + c). Coordinates z are centred pixels for ISCA and Mercer
    coordinates for kernel ISCA, where `mercer` holds the rest of the decomposition. They lie in
    pieces of `PIECE` blocks, each (block, image, coordinate) or, laid out in lanes, (group, image,
    coordinate·lane) as the compiled loops want them: never in memory twice, and of large problems
    not all of them.

    Parameters
    ----------
    pieces
        Coordinates (block, image, coordinate) that stay in memory.
    c
        The constant in the denominator of f.
    mercer
        For kernel ISCA, what is known about the kernels besides the coordinates.
    uncached
        The pieces that follow those in memory.
    first, total
        How many blocks of the picture come before these, and how many it has: random starts are
        drawn for the whole picture. None is all of these.
    """

    def __init__(
        self,
        pieces: list[Array],
        c: float,
        mercer: Mercer | None = None,
        uncached: Sequence[UncachedBlocks] = (),
        first: int = 0,
        total: int | None = None,
    ) -> None:
        self._pieces = pieces
        self._is_packed = [False] * len(pieces)
        self._uncached = uncached
        self._sizes = [*map(len, pieces), *map(len, uncached)]
        self.c = c
        self.mercer = mercer
        self.count = sum(self._sizes)
        self.first = first
        self.total = self.count if total is None else total
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
        """Return the coordinates (block, image, coordinate) of one piece."""
        if index >= len(self._pieces):
            return self._uncached[index - len(self._pieces)].coordinates()
        if self._is_packed[index]:
            return unpack(self._pieces[index], self._sizes[index], self.width)
        return self._pieces[index]

    def packed(self, index: int) -> Array:
        """Return the coordinates (group, image, coordinate·lane) of one piece, after `lay_out`."""
        if index < len(self._pieces):
            return self._pieces[index]
        return pack(self.piece(index))

    def metric(self, index: int) -> Array:
        """Return Υ of a piece's update (block, coordinate); ones for linear ISCA."""
        if self.mercer is None:
            return np.ones((self._sizes[index], self.width), self.dtype)
        return self.mercer.eigenvalues[self.slices[index]]

    def lay_out(self, workers: Workers, *, packed: bool) -> Generator[Progress, bool | None, None]:
        """Lay all pieces out in lanes, or in blocks again."""

        def work(index: int, _: int) -> None:
            if self._is_packed[index] == packed:
                return
            wanted = pack(self._pieces[index]) if packed else self.piece(index)
            self._pieces[index] = _in_place(self._pieces[index], wanted)
            self._is_packed[index] = packed

        yield from workers.each(work, len(self._pieces), 1)


def _in_place(old: Array, new: Array) -> Array:
    """Return `new` in the memory of `old` where it fits, so that memory is not used twice."""
    if old.size != new.size:
        return new
    target = old.reshape(new.shape)
    target[:] = new
    return target


def drawn(
    draw: Callable[[tuple[int, ...]], Array], shape: tuple[int, ...], problem: Problem
) -> Array:
    """Return random numbers for a problem's blocks, as a draw for the whole picture has them.

    Parameters
    ----------
    draw
        Returns the next numbers of a generator in a shape.
    shape
        The numbers of one block.
    problem
        Says which blocks of the picture they are for.
    """
    for low, high in ranges(problem.first, _SKIPPED):
        draw((high - low, *shape))
    wanted = draw((problem.count, *shape))
    for low, high in ranges(problem.total - problem.first - problem.count, _SKIPPED):
        draw((high - low, *shape))
    return wanted


def pack(values: Array) -> Array:
    """Return (block, a, b) laid out as (group, a, b·lane).

    Missing blocks of the last group are copies of the last block: a group iterates until all its
    lanes have converged, so what fills it must not change how often, also when a training is
    resumed.
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
    by_lane = packed.reshape(groups, rows, width, LANES).transpose(0, 3, 1, 2)
    return np.ascontiguousarray(by_lane.reshape(-1, rows, width)[:count])


def block_pieces(pictures: NDArray[Any], grid: BlockGrid) -> Iterator[NDArray[Any]]:
    """Cut pictures (image, height, width) into blocks (block, image, pixel), a piece at a time."""
    for low, high in ranges(grid.count, PIECE):
        yield grid.split_range(pictures, low, high)


def linear_problem(
    pictures: NDArray[Any],
    grid: BlockGrid,
    dtype: str,
    workers: Workers | None = None,
    first: int = 0,
    total: int | None = None,
) -> Generator[Progress, bool | None, Problem]:
    """Make the problem of linear ISCA: every block of every image with its mean removed.

    Parameters
    ----------
    pictures
        Training pictures (image, height, width).
    grid
        How they are cut into blocks.
    dtype
        The type of the coordinates.
    workers
        The threads to cut them on; None does so on this one.
    first, total
        As for `Problem`, where the pictures are a band of larger ones.
    """
    cuts = [
        UncachedBlocks(pictures, grid, low, high, dtype) for low, high in ranges(grid.count, PIECE)
    ]
    bytes_each = PIECE * len(pictures) * grid.pixels * np.dtype(dtype).itemsize
    count = max(1, _IN_MEMORY // bytes_each)
    kept = cuts[:count]
    # One array for all pieces: thousands of small arrays would leave as much memory unused between
    # them.
    whole = np.empty((sum(map(len, kept)), len(pictures), grid.pixels), dtype)
    pieces = [whole[cut.low : cut.high] for cut in kept]

    def fill(index: int, _: int) -> None:
        pieces[index][:] = kept[index].coordinates()

    if workers is not None:
        yield from workers.each(fill, len(kept), 1)
    else:
        for index in range(len(kept)):
            fill(index, index)
            if (yield Progress(index, len(kept))):
                raise Cancelled("Stopped while blocks were being cut.")
    c = ssim.constant(grid.pixels)
    return Problem(pieces, c, uncached=cuts[count:], first=first, total=total)


def kernel_problem(
    pictures: NDArray[Any], grid: BlockGrid, settings: TrainingSettings, workers: Workers
) -> Generator[Progress, bool | None, Problem]:
    """Make the problem of kernel ISCA: Mercer coordinates of every block of every image.

    Parameters
    ----------
    pictures
        Training pictures (image, height, width).
    grid
        How they are cut into blocks.
    settings, workers
        The kernel with its numbers, and the threads to prepare it on.
    """
    kernel = kernel_settings(settings)
    parts: dict[int, Mercer] = {}

    def prepare(low: int, high: int) -> None:
        blocks = grid.split_range(pictures, low, high)
        parts[low] = mercer(blocks, kernel, settings.components, settings.precision, workers.stop)

    yield from workers.each(prepare, grid.count, PIECE)
    width = max(part.coordinates.shape[2] for part in parts.values())
    ordered = [parts.pop(low) for low in sorted(parts)]
    rest = Mercer(
        coordinates=np.empty((0, 0, width)),
        eigenvalues=np.concatenate([_widened(part.eigenvalues, width) for part in ordered]),
        self_similarity=np.concatenate([part.self_similarity for part in ordered]),
        column_means=np.concatenate([part.column_means for part in ordered]),
    )
    pieces = []
    for index in range(len(ordered)):
        pieces.append(_widened(ordered[index].coordinates, width))
        # Widened coordinates are copies; the narrow ones are freed one by one.
        ordered[index] = rest
        if (yield Progress(index, len(ordered))):
            raise Cancelled("Stopped while kernels were being put together.")
    return Problem(pieces, ssim.constant(grid.pixels), rest)


def kernel_settings(settings: TrainingSettings) -> KernelSettings:
    """Return the kernel with its numbers."""
    gamma = settings.resolved().gamma
    assert gamma is not None
    return KernelSettings(settings.kernel, gamma, settings.coef0, settings.degree)


def _widened(values: Array, width: int) -> Array:
    """Return values (…, coordinate) filled up with zeros to `width` coordinates."""
    missing = width - values.shape[-1]
    if not missing:
        return values
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)])
