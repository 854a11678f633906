"""Arrays as pictures on the screen: grey, through a colour map, or with their own colours.

All functions of this module may be called in any thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtGui import QImage

from isca_gui.core.pictures import ssim
from isca_gui.core.pictures.blocks import BlockGrid
from isca_gui.core.recognition.vote_overlays import colours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Picture = NDArray[np.floating[Any]]
    Pixels = NDArray[np.uint8]

# Diverging maps with zero in the middle. Their ends are far enough from the middle in lightness for
# small values to be seen.
DIVERGING = {
    "Blue – white – red": colours("053061 2166ac 4393c3 92c5de f7f7f7 f4a582 d6604d b2182b 67001f"),
    "Green – white – violet": colours(
        "00441b 1b7837 5aae61 a6dba0 f7f7f7 c2a5cf 9970ab 762a83 40004b"
    ),
    "Blue – black – yellow": colours(
        "9fd8ff 4aa3df 2166ac 123458 0a0a0a 57450f a37f14 e0b52c ffec9e"
    ),
    "Grey": colours("000000 404040 808080 bfbfbf ffffff"),
}
# The colour map magma.
SIMILARITY = colours("000004 1d1147 51127c 832681 b73779 e75263 fc8961 fec488 fcfdbf")


@dataclass(frozen=True, eq=False)
class Layer:
    """A picture on the screen and the values behind it, which are shown multiplied by `factor`."""

    image: QImage
    values: NDArray[Any]
    factor: float = 255.0
    number_format: str = "{:.1f}"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.image.width(), self.image.height()

    def text_at(self, row: int, column: int) -> str:
        """Return the value of a pixel as text; empty outside the picture or without a value."""
        if not (0 <= row < self.values.shape[0] and 0 <= column < self.values.shape[1]):
            return ""
        value = self.values[row, column]
        if np.ndim(value):
            return str(value)
        if not np.isfinite(value):
            return ""
        return self.number_format.format(float(value) * self.factor)


def grey_layer(picture: Picture) -> Layer:
    """Show intensities in [0, 1]."""
    return Layer(_image(_bytes(picture)), picture)


def coloured_layer(
    values: NDArray[Any],
    table: Pixels,
    low: float,
    high: float,
    number_format: str = "{:+.4f}",
    factor: float = 1.0,
) -> Layer:
    """Show values through a table of colours.

    Parameters
    ----------
    values
        What to show, shape (height, width).
    table
        256 colours from `low` to `high`, shape (256, 3).
    low, high
        The ends of the scale; what lies outside has the colour of the nearer end.
    number_format, factor
        How the values are written, and what they are multiplied by before.
    """
    indices = _bytes((values - low) / max(high - low, 1e-12))
    height, width = indices.shape
    image = QImage(indices.data, width, height, width, QImage.Format.Format_Indexed8)
    image.setColorTable([0xFF000000 | int(r) << 16 | int(g) << 8 | int(b) for r, g, b in table])
    return Layer(image.convertToFormat(QImage.Format.Format_RGB32), values, factor, number_format)


def difference_layer(first: Picture, second: Picture, limit: float | None = None) -> Layer:
    """Show second − first on a symmetric scale; zero is the middle of the map."""
    difference = second - first
    limit = limit or float(np.abs(difference).max()) or 1.0
    table = DIVERGING["Blue – white – red"]
    return coloured_layer(difference, table, -limit, limit, "{:+.1f}", 255.0)


def similarity_layer(first: Picture, second: Picture, side: int = 8) -> tuple[Layer, float]:
    """Show the SSIM of every block (1 = identical), and return its mean as well."""
    blocks = ssim.ssim_map(first, second, side)
    height, width = first.shape
    values = BlockGrid(height, width, side).spread(blocks.ravel())
    return coloured_layer(values, SIMILARITY, 0.0, 1.0, "{:.3f}"), float(blocks.mean())


def pixel_image(pixels: Pixels) -> QImage:
    """Return RGB or RGBA pixels, shape (height, width, channel), as an image."""
    return _image(pixels)


def scaled_thumbnail(picture: Picture, side: int) -> QImage:
    """Return a grey image about `side` pixels long, by averaging; a narrow strip stays longer."""
    step = max(1, min(max(picture.shape) // side, *picture.shape))
    rows, columns = (length // step * step for length in picture.shape)
    small = (
        picture[:rows, :columns]
        .reshape(rows // step, step, columns // step, step)
        .mean(axis=(1, 3))
    )
    return _image(_bytes(small))


def _bytes(values: NDArray[Any]) -> Pixels:
    scaled = np.multiply(values, 255, dtype=np.float32)
    if np.isnan(scaled.sum()):
        scaled = np.nan_to_num(scaled)
    np.clip(np.rint(scaled, out=scaled), 0, 255, out=scaled)
    whole: Pixels = scaled.astype(np.uint8)
    return whole


def _image(pixels: Pixels) -> QImage:
    """Return an image that owns its pixels, in the format that is drawn fastest."""
    pixels = np.ascontiguousarray(pixels)
    height, width = pixels.shape[:2]
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    stored, drawn = _FORMATS[channels]
    return QImage(pixels.data, width, height, width * channels, stored).convertToFormat(drawn)


# By the number of channels: the format of the pixels, and the one that is drawn fastest.
_FORMATS = {
    1: (QImage.Format.Format_Grayscale8, QImage.Format.Format_RGB32),
    3: (QImage.Format.Format_RGB888, QImage.Format.Format_RGB32),
    4: (QImage.Format.Format_RGBA8888, QImage.Format.Format_ARGB32_Premultiplied),
}
