"""The map of votes as a picture to keep: over the picture itself, with a legend and the verdict."""

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

OPACITY = 0.65  # of the map over the picture
_SMALLEST = (
    384  # pixels of the longer side as drawn; smaller pictures are enlarged by a whole factor
)
_PAPER, _INK, _FAINT = (255, 255, 255), (20, 20, 20), (110, 110, 110)
_LONGEST_TITLE = 28  # letters; a label of an imported folder may be anything


def scale_of(height: int, width: int) -> int:
    """Give the whole factor by which a picture is enlarged in its map."""
    return max(1, -(-_SMALLEST // max(height, width)))


def draw(recognition: Recognition, picture: NDArray[Any]) -> Pixels:
    """Draw the votes over a picture (height, width) in [0, 1], as RGB (height, width, 3).

    The picture stands in the upper left corner, enlarged by `scale_of`. At its right each class has its
    swatch with colour, pattern and letter, its title and the share of the blocks that voted for it; the
    verdict is below.
    """
    height, width = (side * scale_of(*picture.shape) for side in picture.shape)
    overlay = vote_overlays.vote_overlay(recognition, height, width)
    voted = vote_overlays.compose(picture, overlay, OPACITY)
    unit = max(16, max(height, width) // 40)  # height of a line of the legend's text
    font = ImageFont.load_default(unit)
    legend = _legend(recognition, unit, font)
    lines = _wrapped(recognition.verdict.sentence, font, width + legend.width - 2 * unit)
    top = max(height, legend.height)
    canvas = Image.new(
        "RGB", (width + legend.width, top + round((len(lines) + 1) * 1.4 * unit)), _PAPER
    )
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
        raise ImageError(
            f"Cannot save picture '{os.fspath(path)}': {error.strerror or error}. Choose another place."
        ) from error


def _legend(recognition: Recognition, unit: int, font: Font) -> Image.Image:
    """Draw one line per class, in the model's order, and one for undecided blocks if there are any."""
    shares = recognition.verdict.shares
    labels = [*recognition.classes]
    labels += [UNDECIDED_LABEL] if shares.get(UNDECIDED_LABEL, 0.0) > 0 else []
    titles = [_shortened(vote_overlays.look(label).title) for label in labels]
    widest = max(font.getlength(text) for text in titles)
    step, side, room = round(2.1 * unit), round(1.6 * unit), font.getlength("100.0 %")
    broad = round(2.6 * unit)  # of a swatch: two letters of a mixture fit in
    width = round(unit + broad + unit / 2 + widest + unit + room + unit)
    image = Image.new("RGB", (width, round(step * (len(labels) + 1))), _PAPER)
    pen = ImageDraw.Draw(image)
    for number, (label, text) in enumerate(zip(labels, titles, strict=True)):
        y = round(unit / 2) + number * step
        swatch = vote_overlays.swatch(label, side, broad)
        image.paste(Image.fromarray(np.ascontiguousarray(swatch[..., :3])), (unit, y))
        pen.rectangle((unit - 1, y - 1, unit + broad, y + side), outline=_INK)
        ink = _INK if shares.get(label, 0.0) > 0 else _FAINT
        middle = y + side / 2
        pen.text((unit + broad + unit / 2, middle), text, ink, font, anchor="lm")
        pen.text(
            (width - unit, middle), f"{100 * shares.get(label, 0.0):.1f} %", ink, font, anchor="rm"
        )
    return image


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TITLE else text[: _LONGEST_TITLE - 1] + "…"


def _wrapped(text: str, font: Font, width: float) -> list[str]:
    """Break a text into lines that fit a width; a word that is too long stands alone."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
