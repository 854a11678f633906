"""What the panes of the compare page show: colour pictures, what is left over, and maps.

All functions of this module may be called in any thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from isca_gui.core.comparison import drawing
from isca_gui.core.comparison.pair import luma
from isca_gui.core.comparison.regions import spread
from isca_gui.viewers.canvas import layers
from isca_gui.viewers.canvas.layers import Layer

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PySide6.QtGui import QImage

    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.compare import Comparison

    Picture = NDArray[np.float32]

# What is left unexplained is shown this many times stronger.
GAIN = 8


@dataclass(frozen=True, eq=False)
class ColourLayer(Layer):
    """A picture with its red, green and blue values."""

    def text_at(self, row: int, column: int) -> str:
        """Return the three values of a pixel, 0 to 255."""
        if not (0 <= row < self.values.shape[0] and 0 <= column < self.values.shape[1]):
            return ""
        red, green, blue = (float(value) * self.factor for value in self.values[row, column])
        return f"R {red:.0f} G {green:.0f} B {blue:.0f}"


@dataclass(frozen=True, eq=False)
class Drawn:
    """All that is drawn of one copy."""

    number: int
    copy: Layer
    original: Layer
    made: Layer | None
    rest: Layer
    difference: Layer
    similarity: Layer
    # The largest magnitude on the scale of the difference.
    limit: float
    kinds: QImage
    severity: QImage
    # Whether the copy had to be scaled to be laid over the original.
    scaled: bool


def picture_layer(picture: Picture) -> Layer:
    """Show a grey or colour picture in [0, 1]."""
    if picture.ndim == 2:
        return layers.grey_layer(picture)
    return ColourLayer(layers.pixel_image(drawing.to_pixels(picture)), picture)


def draw(number: int, result: CopyResult) -> Drawn:
    """Draw a copy, its original, the answer made again, what is left, and all maps."""
    assert result.comparison is not None
    assert result.copy is not None
    assert result.reference is not None
    original = drawing.laid_reference(result.reference, result.comparison)
    copy = _fitted(result.copy, original)
    made = result.comparison.made_again
    if made is not None:
        made = np.clip(made / np.float32(255), 0, 1)
        if made.shape[:2] != original.shape[:2]:
            made = None
    first = luma(original)
    second = luma(copy)
    limit = float(np.abs(second - first).max()) or 1 / 255
    return Drawn(
        number=number,
        copy=picture_layer(copy),
        original=picture_layer(original),
        made=picture_layer(made) if made is not None else None,
        rest=_rest_layer(copy, made if made is not None else original),
        difference=layers.difference_layer(first, second, limit),
        similarity=layers.similarity_layer(first, second)[0],
        limit=limit,
        kinds=kind_overlay(result.comparison, original.shape),
        severity=severity_overlay(result.comparison, original.shape),
        scaled=copy is not result.copy,
    )


def _fitted(copy: Picture, original: Picture) -> Picture:
    """Return a copy at the size of the original, so that both can be laid over one another."""
    if copy.shape[:2] == original.shape[:2]:
        return copy
    size = (original.shape[1], original.shape[0])
    channels = [copy] if copy.ndim == 2 else [copy[..., index] for index in range(3)]
    scaled = [
        np.asarray(Image.fromarray(each).resize(size, Image.Resampling.LANCZOS))
        for each in channels
    ]
    whole: Picture = scaled[0] if copy.ndim == 2 else np.stack(scaled, axis=2)
    return np.clip(whole, 0, 1)


def _rest_layer(copy: Picture, explained: Picture) -> Layer:
    """Show what is left of a copy, stronger, around a middle grey."""
    if copy.ndim != explained.ndim:
        copy = luma(copy)
        explained = luma(explained)
    rest = copy - explained
    shown = np.clip(0.5 + GAIN * rest, 0, 1)
    if shown.ndim == 2:
        image = layers.grey_layer(shown).image
        return Layer(image, rest, 255.0, "{:+.1f}")
    image = layers.pixel_image(drawing.to_pixels(shown))
    return Layer(image, luma(rest), 255.0, "{:+.1f}")


def kind_overlay(comparison: Comparison, shape: tuple[int, ...]) -> QImage:
    """Return every damaged block in the colour of its kind, the stronger the less transparent."""
    severity = comparison.severity_map
    strongest = float(np.quantile(severity, 0.99)) + 1e-6
    strength = 0.35 + 0.65 * np.sqrt(np.clip(severity / strongest, 0, 1))
    pixels = np.zeros((*comparison.class_map.shape, 4), np.uint8)
    for index, label in enumerate(comparison.classes):
        if index == 0:
            continue
        chosen = comparison.class_map == index
        pixels[chosen, :3] = drawing.colour_of(label)
        pixels[chosen, 3] = (255 * strength[chosen]).astype(np.uint8)
    return layers.pixel_image(_spread(pixels, shape))


def severity_overlay(comparison: Comparison, shape: tuple[int, ...]) -> QImage:
    """Return the mean squared change of every block through a colour map; darker is less."""
    severity = comparison.severity_map
    strongest = float(np.quantile(severity, 0.99)) + 1e-6
    places = (255 * np.sqrt(np.clip(severity / strongest, 0, 1))).astype(np.intp)
    pixels = np.zeros((*severity.shape, 4), np.uint8)
    pixels[..., :3] = layers.SIMILARITY[places]
    pixels[..., 3] = 255
    return layers.pixel_image(_spread(pixels, shape))


def _spread(pixels: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    whole: NDArray[np.uint8] = spread(pixels, shape)
    missing = ((0, shape[0] - whole.shape[0]), (0, shape[1] - whole.shape[1]), (0, 0))
    if missing[0][1] or missing[1][1]:
        # A map of another grid than the original's is shown as far as it reaches.
        whole = np.pad(whole, missing)
    return whole
