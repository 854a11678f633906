"""A picture cut into blocks: splitting, joining, block means, and where each block lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Number = TypeVar("Number", bound=np.generic)

MIN_SIDE = 2
MAX_SIDE = 64


@dataclass(frozen=True)
class Rectangle:
    """The pixels in rows `top` to `bottom` and columns `left` to `right`, ends excluded."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True)
class BlockGrid:
    """Blocks of side × side pixels over a picture of height × width, row by row.

    Where the sides of the picture are not multiples of the side of a block, its edge pixels are
    repeated to fill the last blocks.
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
        below = self.rows * self.side - self.height
        right = self.columns * self.side - self.width
        if below or right:
            pictures = np.pad(pictures, ((0, 0), (0, below), (0, right)), mode="edge")
        tiles = pictures.reshape(len(pictures), self.rows, self.side, self.columns, self.side)
        blocks = tiles.transpose(1, 3, 0, 2, 4).reshape(self.count, len(pictures), self.pixels)
        return np.ascontiguousarray(blocks)

    def split_rows(self, pictures: NDArray[Number], top: int, bottom: int) -> NDArray[Number]:
        """Cut only the blocks between two rows of pixels (block, image, pixel).

        Parameters
        ----------
        pictures
            Shape (image, height, width).
        top, bottom
            Rows at which blocks begin; `bottom` may lie beyond the end of the picture.
        """
        self._check(pictures.shape[1:], (self.height, self.width), "picture")
        strip = pictures[:, top : min(bottom, self.height)]
        return BlockGrid(strip.shape[1], self.width, self.side).split_stack(strip)

    def split_range(self, pictures: NDArray[Number], low: int, high: int) -> NDArray[Number]:
        """Cut only the blocks from `low` to before `high` (block, image, pixel)."""
        self._check(pictures.shape[1:], (self.height, self.width), "picture")
        parts = []
        for row in range(low // self.columns, (high - 1) // self.columns + 1):
            start = row * self.columns
            left = max(low - start, 0) * self.side
            right = min(high - start, self.columns) * self.side
            strip = pictures[:, row * self.side : (row + 1) * self.side, left:right]
            parts.append(BlockGrid(strip.shape[1], strip.shape[2], self.side).split_stack(strip))
        # A range within one row of blocks is returned without another copy.
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts)

    def join(self, blocks: NDArray[Number]) -> NDArray[Number]:
        """Join blocks (block, pixel) to a picture (height, width)."""
        picture: NDArray[Number] = self.join_stack(blocks[:, np.newaxis])[0]
        return picture

    def join_stack(self, blocks: NDArray[Number]) -> NDArray[Number]:
        """Join blocks (block, image, pixel) to pictures (image, height, width)."""
        without_images = (*blocks.shape[:1], *blocks.shape[2:])
        self._check(without_images, (self.count, self.pixels), "set of blocks")
        images = blocks.shape[1]
        tiles = blocks.reshape(self.rows, self.columns, images, self.side, self.side)
        padded = tiles.transpose(2, 0, 3, 1, 4).reshape(
            images, self.rows * self.side, self.columns * self.side
        )
        return np.ascontiguousarray(padded[:, : self.height, : self.width])

    def spread(self, values: NDArray[Number]) -> NDArray[Number]:
        """Draw one value per block (block,) as a picture (height, width)."""
        return self.join(np.repeat(values[:, np.newaxis], self.pixels, axis=1))

    def rectangle(self, index: int) -> Rectangle:
        """Return the pixels of the picture that a block covers."""
        if not 0 <= index < self.count:
            raise IndexError(f"there is no block {index}; the picture has {self.count}")
        row, column = divmod(index, self.columns)
        top = row * self.side
        left = column * self.side
        # The last blocks reach beyond the picture; their rectangles do not.
        bottom = min(top + self.side, self.height)
        right = min(left + self.side, self.width)
        return Rectangle(top, left, bottom, right)

    def index_at(self, row: int, column: int) -> int:
        """Return the number of the block that holds a pixel."""
        if not (0 <= row < self.height and 0 <= column < self.width):
            raise IndexError(f"pixel ({row}, {column}) lies outside {self.width}×{self.height}")
        return row // self.side * self.columns + column // self.side

    @staticmethod
    def _check(found: tuple[int, ...], wanted: tuple[int, int], what: str) -> None:
        if tuple(found) != wanted:
            raise ValueError(f"a {what} of shape {wanted} is needed, not {tuple(found)}")


def centre(blocks: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the blocks (..., pixel) without their means, and the means (...,).

    In float64, so that adding the means back returns 8-, 16- and 24-bit intensities bit by bit.
    """
    exact = blocks.astype(np.float64)
    means = exact.mean(axis=-1)
    exact -= means[..., np.newaxis]
    return exact, means
