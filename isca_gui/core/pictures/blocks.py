"""A picture as a row of blocks: splitting, joining, block means, and where each block lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Number = TypeVar("Number", bound=np.generic)

MIN_SIDE, MAX_SIDE = 2, 64


@dataclass(frozen=True)
class Rectangle:
    """Rows `top` to `bottom` and columns `left` to `right`, the ends not included."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True)
class BlockGrid:
    """Blocks of side × side pixels over a picture of height × width, row by row.

    A picture whose sides are no multiples of the block's is continued by its edge pixels.
    """

    height: int
    width: int
    side: int = 8

    def __post_init__(self) -> None:
        if not MIN_SIDE <= self.side <= MAX_SIDE:
            raise ValueError(
                f"the block side must be {MIN_SIDE} to {MAX_SIDE} pixels, not {self.side}"
            )
        if self.height < 1 or self.width < 1:
            raise ValueError(f"a picture of {self.width}×{self.height} has no pixels")

    @property
    def rows(self) -> int:
        """Number of rows of blocks."""
        return -(-self.height // self.side)

    @property
    def columns(self) -> int:
        """Number of columns of blocks."""
        return -(-self.width // self.side)

    @property
    def count(self) -> int:
        """Number of blocks b."""
        return self.rows * self.columns

    @property
    def pixels(self) -> int:
        """Number of pixels in a block, the paper's q."""
        return self.side * self.side

    def split(self, picture: NDArray[Number]) -> NDArray[Number]:
        """Cut a picture (height, width) into blocks (block, pixel)."""
        return self.split_stack(picture[np.newaxis])[:, 0]

    def split_stack(self, pictures: NDArray[Number]) -> NDArray[Number]:
        """Cut pictures (image, height, width) into blocks (block, image, pixel)."""
        self._check(pictures.shape[1:], (self.height, self.width), "picture")
        below, right = self.rows * self.side - self.height, self.columns * self.side - self.width
        padded = (
            np.pad(pictures, ((0, 0), (0, below), (0, right)), mode="edge")
            if below or right
            else pictures
        )
        tiles = padded.reshape(len(pictures), self.rows, self.side, self.columns, self.side)
        blocks = tiles.transpose(1, 3, 0, 2, 4).reshape(self.count, len(pictures), self.pixels)
        return np.ascontiguousarray(blocks)

    def split_rows(self, pictures: NDArray[Number], top: int, bottom: int) -> NDArray[Number]:
        """Cut only the blocks between two rows of pixels; both lie on edges of blocks, or beyond the end."""
        self._check(pictures.shape[1:], (self.height, self.width), "picture")
        strip = pictures[:, top : min(bottom, self.height)]
        return BlockGrid(strip.shape[1], self.width, self.side).split_stack(strip)

    def split_range(self, pictures: NDArray[Number], low: int, high: int) -> NDArray[Number]:
        """Cut only the blocks from `low` to before `high` (block, image, pixel)."""
        self._check(pictures.shape[1:], (self.height, self.width), "picture")
        parts = []
        for row in range(low // self.columns, (high - 1) // self.columns + 1):
            start = row * self.columns
            left, right = (
                max(low - start, 0) * self.side,
                min(high - start, self.columns) * self.side,
            )
            strip = pictures[:, row * self.side : (row + 1) * self.side, left:right]
            parts.append(BlockGrid(strip.shape[1], strip.shape[2], self.side).split_stack(strip))
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def join(self, blocks: NDArray[Number]) -> NDArray[Number]:
        """Put blocks (block, pixel) together to a picture (height, width)."""
        picture: NDArray[Number] = self.join_stack(blocks[:, np.newaxis])[0]
        return picture

    def join_stack(self, blocks: NDArray[Number]) -> NDArray[Number]:
        """Put blocks (block, image, pixel) together to pictures (image, height, width)."""
        self._check(
            (*blocks.shape[:1], *blocks.shape[2:]), (self.count, self.pixels), "set of blocks"
        )
        images = blocks.shape[1]
        tiles = blocks.reshape(self.rows, self.columns, images, self.side, self.side).transpose(
            2, 0, 3, 1, 4
        )
        padded = tiles.reshape(images, self.rows * self.side, self.columns * self.side)
        return np.ascontiguousarray(padded[:, : self.height, : self.width])

    def spread(self, values: NDArray[Number]) -> NDArray[Number]:
        """Draw one value per block (block,) as a picture (height, width)."""
        return self.join(np.repeat(values[:, np.newaxis], self.pixels, axis=1))

    def rectangle(self, index: int) -> Rectangle:
        """Give the pixels of the picture that a block covers."""
        if not 0 <= index < self.count:
            raise IndexError(f"block {index} of {self.count}")
        top, left = (place * self.side for place in divmod(index, self.columns))
        return Rectangle(
            top, left, min(top + self.side, self.height), min(left + self.side, self.width)
        )

    def index_at(self, row: int, column: int) -> int:
        """Give the block that holds a pixel."""
        if not (0 <= row < self.height and 0 <= column < self.width):
            raise IndexError(f"pixel ({row}, {column}) lies outside {self.width}×{self.height}")
        return row // self.side * self.columns + column // self.side

    @staticmethod
    def _check(found: tuple[int, ...], wanted: tuple[int, int], what: str) -> None:
        if tuple(found) != wanted:
            raise ValueError(f"a {what} of shape {wanted} is needed, not {tuple(found)}")


def centre(blocks: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Remove each block's mean: blocks (..., pixel) to the centred blocks and the means (...,).

    In float64, so that `restore` gives 8-, 16- and 24-bit intensities back bit by bit.
    """
    exact = blocks.astype(np.float64)
    means = exact.mean(axis=-1)
    exact -= means[..., np.newaxis]
    return exact, means


def restore(centred: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float32]:
    """Put the means back that `centre` removed."""
    return (centred + means[..., np.newaxis]).astype(np.float32)
