"""Pictures of an answer: what was found over the copy, and the answer made again."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

from isca_gui.core.comparison.kinds import COMPRESSION, FILTER, KINDS, NOISE, TONE, family_of
from isca_gui.core.comparison.laying import NO_DATA
from isca_gui.core.comparison.pair import luma
from isca_gui.core.comparison.regions import spread
from isca_gui.core.distortion.distortions import ORIGINAL, UNLIKE
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.storage import files

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.compare import Comparison
    from isca_gui.core.comparison.pair import Floats

    Pixels = NDArray[np.uint8]

# One colour a family, of Okabe and Ito's palette.
COLOURS = {
    TONE: (240, 228, 66),
    FILTER: (0, 158, 115),
    NOISE: (86, 180, 233),
    COMPRESSION: (204, 121, 167),
}
_NOT_RECOGNISED = (213, 94, 0)
_UNCHANGED = (153, 153, 153)
_OPACITY = 0.45
# Blocks that the reference shows nothing of are striped.
_OUTSIDE = (128, 128, 128)
_STRIPE = 8
_TEXT_HEIGHT = 18
_INK = (20, 20, 20)
_PAPER = (255, 255, 255)


def to_pixels(picture: Floats) -> Pixels:
    """Return a picture in [0, 1] as RGB of 8 bits."""
    whole = np.clip(np.rint(picture * 255), 0, 255).astype(np.uint8)
    return whole if whole.ndim == 3 else np.repeat(whole[..., None], 3, axis=2)


def map_over(copy: Floats, comparison: Comparison) -> Pixels:
    """Return the copy with every damaged block tinted, the stronger the more."""
    pixels = to_pixels(copy).astype(np.float32)
    severity = comparison.severity_map
    strongest = float(np.quantile(severity, 0.99)) + 1e-6
    strength = 0.35 + 0.65 * np.sqrt(np.clip(severity / strongest, 0, 1))
    for index, label in enumerate(comparison.classes):
        if index == 0:
            continue
        opacity = np.where(comparison.class_map == index, _OPACITY * strength, 0)
        mask = spread(opacity, pixels.shape)[..., None]
        pixels = pixels * (1 - mask) + mask * np.array(colour_of(label), dtype=np.float32)
    outside = spread(comparison.class_map == NO_DATA, pixels.shape)
    if outside.any():
        pixels[outside & _stripes(outside.shape)] = _OUTSIDE
    return pixels.astype(np.uint8)


def _stripes(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return diagonal stripes, which nobody takes for a colour of the map."""
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    found: NDArray[np.bool_] = (rows + columns) % _STRIPE < _STRIPE // 2
    return found


def laid_reference(reference: Floats, comparison: Comparison) -> Floats:
    """Return a reference in [0, 1] as it lies under the copy, or as it is where they do not match.

    Parameters
    ----------
    reference
        Grey (height, width) or colour (height, width, 3).
    comparison
        Of the copy with it.
    """
    geometry = comparison.geometry
    if geometry is None or geometry.is_same or not geometry.is_related:
        return reference
    laid: Floats = geometry.bring(reference * np.float32(255)) / np.float32(255)
    laid[~geometry.valid] = 0.5
    return laid


def title_of_reference(comparison: Comparison) -> str:
    """Return what the picture that `laid_reference` returns is called."""
    geometry = comparison.geometry
    is_moved = geometry is not None and geometry.relation not in ("same", "unrelated")
    return "reference, laid on the copy" if is_moved else "reference"


def telling_part(reference: Floats, copy: Floats, side: int) -> tuple[slice, slice]:
    """Return a square of both pictures in which the change and the picture's structure are strong.

    Parameters
    ----------
    reference, copy
        Pictures in [0, 1], grey (height, width) or colour (height, width, 3).
    side
        Side of the square in pixels; less where the pictures are smaller.
    """
    # A large picture is looked at in steps: the place need not be exact.
    step = max(1, max(reference.shape[:2]) // 512)
    first, second = (luma(each[::step, ::step]) for each in (reference, copy))
    structure = ndimage.gaussian_gradient_magnitude(first, 1.0)
    score = ndimage.uniform_filter(
        np.abs(second - first) * structure, max(1, side // step), mode="constant"
    )
    centre = np.unravel_index(int(score.argmax()), score.shape)
    corner = [
        int(np.clip(place * step - side // 2, 0, max(0, size - side)))
        for place, size in zip(centre, reference.shape, strict=False)
    ]
    return slice(corner[0], corner[0] + side), slice(corner[1], corner[1] + side)


def colour_of(label: str) -> tuple[int, int, int]:
    """Return the colour of a label: that of its family."""
    if label == ORIGINAL:
        return _UNCHANGED
    family = family_of(label.split("+")[0])
    return COLOURS.get(family or "", _NOT_RECOGNISED)


def title_of(label: str) -> str:
    """Return a label of the map in words."""
    if label == ORIGINAL:
        return "Unchanged"
    if label == UNLIKE:
        return "Not recognised"
    return " and ".join(KINDS[part].title if part in KINDS else part for part in label.split("+"))


def save_map(path: str | os.PathLike[str], result: CopyResult) -> None:
    """Save the map of an answer with its legend and sentence, atomically."""
    assert result.comparison is not None
    assert result.copy is not None
    pixels = map_over(result.copy, result.comparison)
    lines = [f"{title_of(label)}: {share:.0%}" for label, share in result.comparison.shares.items()]
    if (result.comparison.class_map == NO_DATA).any():
        lines.append("Striped: not compared")
    _save(path, _with_text(pixels, [result.comparison.sentence, "   ".join(lines)]))


def save_made_again(path: str | os.PathLike[str], result: CopyResult) -> None:
    """Save the answer made again on the reference; an ImageError where that cannot be done."""
    assert result.comparison is not None
    made = result.comparison.made_again
    if made is None:
        raise ImageError(
            f"Cannot save '{path}': what was found in '{result.name}' cannot be made again."
        )
    _save(path, Image.fromarray(to_pixels(made / np.float32(255))))


def _with_text(pixels: Pixels, lines: list[str]) -> Image.Image:
    font = ImageFont.load_default(_TEXT_HEIGHT * 0.8)
    wrapped = [part for line in lines for part in _wrap(line, font, pixels.shape[1] - 16)]
    canvas = Image.new(
        "RGB", (pixels.shape[1], pixels.shape[0] + _TEXT_HEIGHT * (len(wrapped) + 1)), _PAPER
    )
    canvas.paste(Image.fromarray(pixels), (0, 0))
    pen = ImageDraw.Draw(canvas)
    for index, line in enumerate(wrapped):
        pen.text((8, pixels.shape[0] + 8 + index * _TEXT_HEIGHT), line, fill=_INK, font=font)
    return canvas


def _wrap(line: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, width: float) -> list[str]:
    lines = [""]
    for word in line.split():
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) > width and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _save(path: str | os.PathLike[str], picture: Image.Image) -> None:
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    try:
        with files.replacing(path) as file:
            file.write(stream.getvalue())
    except OSError as error:
        raise ImageError(f"Cannot save picture '{path}': {error.strerror or error}.") from error
