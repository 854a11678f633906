"""The vote map as a picture to keep: over the picture itself, with a legend and the verdict."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from isca_gui.core.distortion.distortions import UNDECIDED_LABEL
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.recognition import vote_overlays
from isca_gui.core.storage import files

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.recognition.recogniser import Recognition

    Pixels = NDArray[np.uint8]
    Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

# Of the map over the picture.
OPACITY = 0.65
# Pictures whose longer side has fewer pixels are enlarged by a whole factor.
_SMALLEST = 384
_PAPER = (255, 255, 255)
_INK = (20, 20, 20)
_FAINT = (110, 110, 110)
# Letters; the label of an imported folder may be of any length.
_LONGEST_TITLE = 28


def scale_of(height: int, width: int) -> int:
    """Return the whole factor by which a picture is enlarged in its map."""
    return max(1, -(-_SMALLEST // max(height, width)))


def draw(recognition: Recognition, picture: NDArray[Any]) -> Pixels:
    """Draw the votes over a picture (height, width) in [0, 1], as RGB (height, width, 3).

    The picture stands in the upper left corner, enlarged by `scale_of`. To its right each class has
    a swatch with its colour, pattern and letter, its title and its share of the votes; the verdict
    is below.
    """
    height, width = (side * scale_of(*picture.shape) for side in picture.shape)
    overlay = vote_overlays.vote_overlay(recognition, height, width)
    voted = vote_overlays.compose(picture, overlay, OPACITY)
    # The height of the text sets the scale of the legend.
    unit = max(16, max(height, width) // 40)
    font = ImageFont.load_default(unit)
    legend = _legend(recognition, unit, font)
    lines = _wrapped(recognition.verdict.sentence, font, width + legend.width - 2 * unit)
    top = max(height, legend.height)
    text_height = round((len(lines) + 1) * 1.4 * unit)
    canvas = Image.new("RGB", (width + legend.width, top + text_height), _PAPER)
    canvas.paste(Image.fromarray(voted), (0, 0))
    canvas.paste(legend, (width, 0))
    pen = ImageDraw.Draw(canvas)
    for number, line in enumerate(lines):
        pen.text((unit, top + round((number + 0.7) * 1.4 * unit)), line, _INK, font)
    return np.asarray(canvas)


def save(path: str | os.PathLike[str], pixels: Pixels) -> None:
    """Save RGB pixels as PNG, atomically."""
    try:
        with files.replacing(path) as stream:
            Image.fromarray(pixels).save(stream, format="PNG")
    except OSError as error:
        reason = error.strerror or error
        raise ImageError(
            f"Cannot save picture '{os.fspath(path)}': {reason}. Choose another place."
        ) from error


def _legend(recognition: Recognition, unit: int, font: Font) -> Image.Image:
    """Draw a line per class, in the model's order, and one for undecided blocks if there are."""
    shares = recognition.verdict.shares
    labels = list(recognition.classes)
    if shares.get(UNDECIDED_LABEL, 0.0) > 0:
        labels.append(UNDECIDED_LABEL)
    titles = [_shortened(vote_overlays.style_of(label).title) for label in labels]
    widest = max(font.getlength(text) for text in titles)
    line_height = round(2.1 * unit)
    swatch_height = round(1.6 * unit)
    # The two letters of a mixture fit in.
    swatch_width = round(2.6 * unit)
    share_width = font.getlength("100.0%")
    width = round(unit + swatch_width + unit / 2 + widest + unit + share_width + unit)
    image = Image.new("RGB", (width, round(line_height * (len(labels) + 1))), _PAPER)
    pen = ImageDraw.Draw(image)
    for number, (label, text) in enumerate(zip(labels, titles, strict=True)):
        y = round(unit / 2) + number * line_height
        swatch = vote_overlays.swatch(label, swatch_height, swatch_width)
        image.paste(Image.fromarray(np.ascontiguousarray(swatch[..., :3])), (unit, y))
        frame = (unit - 1, y - 1, unit + swatch_width, y + swatch_height)
        pen.rectangle(frame, outline=_INK)
        share = shares.get(label, 0.0)
        ink = _INK if share > 0 else _FAINT
        middle = y + swatch_height / 2
        pen.text((unit + swatch_width + unit / 2, middle), text, ink, font, anchor="lm")
        pen.text((width - unit, middle), f"{share:.1%}", ink, font, anchor="rm")
    return image


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TITLE else text[: _LONGEST_TITLE - 1] + "…"


def _wrapped(text: str, font: Font, width: float) -> list[str]:
    """Return the lines of a text that fit a width; a word that is too long stands alone."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
