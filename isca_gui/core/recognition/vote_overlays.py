"""Maps of a recognition as pictures: what each block was taken for, how surely, how strong.

Every class has a colour, a letter and a pattern, so that a map can be read without colour. The fill
of a block is as opaque as its vote is sure; its pattern and letter stay readable on doubtful
blocks. Undecided blocks are hatched in white.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.distortion.distortions import DISTORTIONS, ORIGINAL, UNDECIDED_LABEL
from isca_gui.core.recognition.neighbours import UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isca_gui.core.recognition.recogniser import Recognition

    Pixels = NDArray[np.uint8]
    Mask = NDArray[np.bool_]
    Places = tuple[NDArray[np.intp], ...]

# Pixels after which every pattern repeats.
_PERIOD = 8
# Opacity of the pattern of a block whose vote is not sure at all.
_FAINTEST_PATTERN = 0.4
# Each class has one letter in every tile of at least so many blocks, of which there are at most so
# many along the longer side.
_TILE_BLOCKS = 6
_MOST_TILES = 16
_MAP_OPACITY = 200
# Colours of labels that are not in the table of distortions.
_SPARE = ("#7A5FB5", "#8C6D31", "#3A9AB2", "#B23A48", "#6B8E23", "#4B5D8A")

# Viridis and cividis at nine places. Their lightness grows evenly, so they can be read without
# colour too.
_SEVERITY = "440154 472d7b 3b528b 2c728e 21918c 28ae80 5ec962 addc30 fde725"
_CONFIDENCE = "00224e 123570 3b496c 575d6d 707173 8a8678 a59c74 c3b369 fee838"

# Letters of 5×7 pixels, one number per row, the leftmost pixel the highest bit.
_FONT = {
    "A": "0e11111f111111", "B": "1e11111e11111e", "C": "0e11101010110e", "D": "1e11111111111e",
    "E": "1f10101e10101f", "F": "1f10101e101010", "G": "0e11101713110f", "H": "1111111f111111",
    "I": "0e04040404040e", "J": "0702020202120c", "K": "11121418141211", "L": "1010101010101f",
    "M": "111b1515111111", "N": "11191513111111", "O": "0e11111111110e", "P": "1e11111e101010",
    "Q": "0e11111115120d", "R": "1e11111e141211", "S": "0f10100e01011e", "T": "1f040404040404",
    "U": "1111111111110e", "V": "11111111110a04", "W": "11111115151b11", "X": "11110a040a1111",
    "Y": "11110a04040404", "Z": "1f01020408101f", "?": "0e110106040004", "0": "0e11131519110e",
    "1": "040c040404040e", "2": "0e11010204081f", "3": "0e11010601110e", "4": "02060a121f0202",
    "5": "1f101e0101110e", "6": "0e10101e11110e", "7": "1f010204080808", "8": "0e11110e11110e",
    "9": "0e11110f01010e",
}  # fmt: skip


@dataclass(frozen=True)
class ClassStyle:
    """How a class is shown everywhere: colour, letters, title and the names of its patterns."""

    colour: tuple[int, int, int]
    letter: str
    title: str
    patterns: tuple[str, ...]


_PATTERN_OF = {
    ORIGINAL: "plain", "contrast": "horizontal", "gaussian-noise": "dots", "luminance": "vertical",
    "blur": "rising", "impulse": "crosses", "jpeg": "grid",
}  # fmt: skip


def style_of(label: str) -> ClassStyle:
    """Return the style of a class; a mixture has the patterns and letters of both its parts."""
    if label == ORIGINAL:
        return ClassStyle(_rgb("#999999"), "O", "Original", ("plain",))
    if label == UNDECIDED_LABEL:
        return ClassStyle((255, 255, 255), "?", "Undecided", ("hatch",))
    # A label of an imported folder or a new kind gets a colour and a pattern by its digest, so that
    # they are the same in every session.
    number = hashlib.sha256(label.encode()).digest()[0]
    patterns = sorted(set(_PATTERN_OF.values()) - {"plain"})
    spare_pattern = patterns[number % len(patterns)]
    names = label.split("+")
    rows = [DISTORTIONS[name] for name in names if name in DISTORTIONS]
    colour = _rgb(rows[0].colour if len(rows) == 1 else _SPARE[number % len(_SPARE)])
    if len(rows) < len(names):
        return ClassStyle(colour, label[:1].upper() or "?", label, (spare_pattern,))
    return ClassStyle(
        colour,
        letter="".join(row.letter for row in rows),
        title=" + ".join(row.title for row in rows),
        patterns=tuple(_PATTERN_OF.get(row.name, spare_pattern) for row in rows),
    )


def vote_overlay(recognition: Recognition, height: int, width: int, spacing: int = 1) -> Pixels:
    """Draw what each block was taken for, as RGBA (height, width, 4).

    The fill's opacity is the block's confidence. Another size than the picture's own gives a larger
    or smaller map with patterns and letters of the same size.

    Parameters
    ----------
    recognition
        The votes.
    height, width
        Size of the map in pixels.
    spacing
        How many times further apart than usual the patterns are, for maps that are seen small.
    """
    winner = np.asarray(recognition.winner)
    # UNDECIDED is −1, which indexes the last of the styles.
    styles = [style_of(label) for label in (*recognition.classes, UNDECIDED_LABEL)]
    period = _PERIOD * spacing
    tiles = np.stack([pattern_mask(style.patterns, period, period, spacing) for style in styles])
    block_of_pixel = _block_of_pixel(recognition, height, width)
    # Each pixel's place in the tile of its block's class. Flat tables and small whole numbers
    # make the lookups of a megapixel take a few milliseconds.
    first_of_tile = (winner.astype(np.int32) % len(styles)) * np.int32(period**2)
    place = first_of_tile.take(block_of_pixel)
    place += np.arange(height, dtype=np.int32)[:, None] % period * period
    place += np.arange(width, dtype=np.int32) % period
    is_line = tiles.ravel().view(np.uint8).take(place)
    colour_of_block = _block_colours(styles, winner, recognition.confidence)
    drawn = colour_of_block.view(np.uint32).ravel().take(2 * block_of_pixel + is_line)
    overlay: Pixels = drawn.view(np.uint8).reshape(height, width, 4)
    undecided = winner == UNDECIDED
    if undecided.any():
        _hatch(overlay, undecided.take(block_of_pixel), spacing)
    for letter, top, left, scale in _letters(recognition, winner, height, width):
        _draw_letter(overlay, letter, top, left, scale)
    return overlay


def _block_colours(
    styles: list[ClassStyle], winner: NDArray[Any], confidence: NDArray[Any]
) -> Pixels:
    """Return the colours of each block's fill and lines, as RGBA (block, 2, 4).

    Undecided blocks are transparent; they are hatched afterwards.
    """
    opacity = np.clip(np.nan_to_num(np.asarray(confidence, np.float64)), 0, 1)
    opacities = np.stack([opacity, np.maximum(opacity, _FAINTEST_PATTERN)], axis=1)
    inks = np.array([(style.colour, _stroke_colour(style.colour)) for style in styles], np.uint8)
    found = np.empty((len(winner), 2, 4), np.uint8)
    found[..., :3] = inks[winner]
    found[..., 3] = np.rint(255 * opacities)
    found[winner == UNDECIDED] = 0
    return found


def severity_overlay(
    recognition: Recognition, height: int, width: int, highest: float | None = None
) -> Pixels:
    """Draw how strong the damage of each block is, as RGBA (height, width, 4).

    Colours go from MSE 0 to `highest`, by default the highest MSE of any block.
    """
    top = severity_limit(recognition) if highest is None else highest
    return _value_overlay(
        recognition, recognition.level / max(top, 1e-9), SEVERITY_COLOURS, height, width
    )


def confidence_overlay(recognition: Recognition, height: int, width: int) -> Pixels:
    """Draw how sure the vote of each block is, from 0 to 1, as RGBA (height, width, 4)."""
    return _value_overlay(recognition, recognition.confidence, CONFIDENCE_COLOURS, height, width)


def severity_limit(recognition: Recognition) -> float:
    """Return the MSE at the upper end of the severity map's scale."""
    levels = np.asarray(recognition.level, np.float64)
    levels = levels[np.isfinite(levels)]
    return float(levels.max()) if levels.size and levels.max() > 0 else 1.0


def compose(picture: NDArray[Any], overlay: Pixels, opacity: float) -> Pixels:
    """Return an overlay laid over a grey picture in [0, 1], as RGB (height, width, 3)."""
    grey = np.rint(255 * np.clip(np.nan_to_num(picture), 0, 1)).astype(np.float32)
    if grey.shape != overlay.shape[:2]:
        rows = np.arange(overlay.shape[0]) * grey.shape[0] // overlay.shape[0]
        columns = np.arange(overlay.shape[1]) * grey.shape[1] // overlay.shape[1]
        grey = grey[rows[:, None], columns]
    alpha = overlay[..., 3:].astype(np.float32) * np.float32(min(max(opacity, 0.0), 1.0) / 255)
    mixed = grey[..., None] * (1 - alpha) + overlay[..., :3] * alpha
    return np.asarray(np.rint(mixed), np.uint8)


def swatch(label: str, height: int, width: int) -> Pixels:
    """Draw a class's colour, pattern and letter for a legend, as RGBA (height, width, 4)."""
    style = style_of(label)
    pixels = np.empty((height, width, 4), np.uint8)
    pixels[:] = (*style.colour, 255)
    if label == UNDECIDED_LABEL:
        pixels[:] = (96, 96, 96, 255)
        _hatch(pixels, np.ones((height, width), bool))
        return pixels
    pixels[pattern_mask(style.patterns, height, width), :3] = _stroke_colour(style.colour)
    scale = max(1, min(height // 9, width // (6 * len(style.letter) + 2)))
    top = (height - 7 * scale) // 2
    _draw_letter(pixels, style.letter, top, (width - _width(style.letter, scale)) // 2, scale)
    return pixels


def pattern_mask(patterns: tuple[str, ...], height: int, width: int, spacing: int = 1) -> Mask:
    """Return the pixels on the lines or dots of some patterns, as a mask (height, width).

    Patterns are `spacing` times as far apart. Lines get only half as much thicker as they move
    apart, so that more of the picture is left between them.
    """
    stroke = max(1, spacing // 2)
    period = _PERIOD * spacing
    # The tile is drawn with lines one pixel wide and then enlarged by the width of a stroke.
    fine = -(-period // stroke)
    tile = np.zeros((fine, fine), bool)
    y, x = np.indices(tile.shape)
    for name in patterns:
        tile |= _PATTERNS[name](y, x, spacing // stroke)
    tile = np.kron(tile, np.ones((stroke, stroke), bool))[:period, :period]
    whole: Mask = np.tile(tile, (-(-height // period), -(-width // period)))[:height, :width]
    return whole


def colours(places: str) -> Pixels:
    """Return a table of 256 colours, interpolated between hexadecimal ones at even places."""
    fixed = np.array([_rgb(f"#{place}") for place in places.split()], np.float64)
    at = np.linspace(0, len(fixed) - 1, 256)
    channels = [np.interp(at, np.arange(len(fixed)), fixed[:, channel]) for channel in range(3)]
    return np.rint(np.stack(channels, axis=1)).astype(np.uint8)


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _stroke_colour(colour: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return a darker shade of a colour, for the lines of its pattern."""
    return int(colour[0] * 0.45), int(colour[1] * 0.45), int(colour[2] * 0.45)


# Whether a pixel is on a pattern: functions of row, column and spacing.
_PATTERNS = {
    "plain": lambda y, x, s: x < 0,
    "vertical": lambda y, x, s: (x % (4 * s) == 1) & (y >= 0),
    "horizontal": lambda y, x, s: (y % (4 * s) == 1) & (x >= 0),
    "rising": lambda y, x, s: (x + y) % (4 * s) == 0,
    "dots": lambda y, x, s: (x % (4 * s) == 1) & (y % (4 * s) == 1),
    "crosses": lambda y, x, s: (abs(x - 3 * s) == abs(y - 3 * s)) & (abs(y - 3 * s) < 3 * s),
    "grid": lambda y, x, s: (x == 0) | (y == 0),
    "hatch": lambda y, x, s: ((y - x) % (8 * s) < 2) & (x >= 0),
    "shade": lambda y, x, s: ((y - x) % (8 * s) == 2) & (x >= 0),
}
SEVERITY_COLOURS = colours(_SEVERITY)
CONFIDENCE_COLOURS = colours(_CONFIDENCE)


def _hatch(overlay: Pixels, inside: Mask, spacing: int = 1) -> None:
    """Draw undecided blocks: white lines, with the picture visible between them."""
    height, width = inside.shape
    # The dark shade beside each white line makes it visible on white pictures too.
    shade = pattern_mask(("shade",), height, width, spacing)
    overlay[inside & shade] = (0, 0, 0, 110)
    overlay[inside & pattern_mask(("hatch",), height, width, spacing)] = 255


def _block_of_pixel(recognition: Recognition, height: int, width: int) -> NDArray[np.int32]:
    """Return the number of the block that each pixel of a map shows (height, width)."""
    grid = recognition.grid
    rows = np.arange(height) * grid.height // height // grid.side * grid.columns
    columns = np.arange(width) * grid.width // width // grid.side
    index: NDArray[np.int32] = rows.astype(np.int32)[:, None] + columns.astype(np.int32)
    return index


def _value_overlay(
    recognition: Recognition, values: NDArray[Any], table: Pixels, height: int, width: int
) -> Pixels:
    """Draw values from 0 to 1 by a table of colours; undecided blocks are hatched."""
    index = _block_of_pixel(recognition, height, width)
    known = np.isfinite(values) & (np.asarray(recognition.winner) != UNDECIDED)
    places = np.rint(255 * np.clip(np.nan_to_num(values), 0, 1)).astype(np.intp)
    blocks = np.empty((len(places), 4), np.uint8)
    blocks[:, :3] = table[places]
    blocks[:, 3] = np.where(known, _MAP_OPACITY, 0)
    overlay: Pixels = blocks[index]
    _hatch(overlay, ~known[index])
    return overlay


def _letters(
    recognition: Recognition, winner: NDArray[Any], height: int, width: int
) -> Iterator[tuple[str, int, int, int]]:
    """Yield letter, top, left and scale for each class in each tile of blocks with room for it."""
    grid = recognition.grid
    board = winner.reshape(grid.rows, grid.columns)
    tile = max(_TILE_BLOCKS, -(-max(board.shape) // _MOST_TILES))
    # The side of a block as it is drawn.
    side = min(height / grid.height, width / grid.width) * grid.side
    scale = max(1, int(tile * side / 24))
    for number, label in enumerate(recognition.classes):
        letter = style_of(label).letter
        room = (
            -(-(7 * scale + 2) // max(int(side), 1)),
            -(-(_width(letter, scale) + 2) // max(int(side), 1)),
        )
        free = _full_windows(board == number, *room)
        for top, left in _one_per_tile(free, tile, room):
            y = (top + room[0] / 2) * side
            x = (left + room[1] / 2) * side
            yield letter, int(y - 3.5 * scale), int(x - _width(letter, scale) / 2), scale


def _full_windows(inside: Mask, rows: int, columns: int) -> Mask:
    """Return at which upper left corners a window of blocks lies wholly inside a class."""
    if inside.shape[0] < rows or inside.shape[1] < columns:
        return np.zeros((0, 0), bool)
    windows = np.lib.stride_tricks.sliding_window_view(inside, (rows, columns))
    return np.asarray(windows.all(axis=(2, 3)))


def _one_per_tile(free: Mask, tile: int, room: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the free place nearest to the middle of each tile."""
    tops, lefts = np.nonzero(free)
    middle_y = tops + room[0] / 2
    middle_x = lefts + room[1] / 2
    away = np.abs(middle_y % tile - tile / 2) + np.abs(middle_x % tile - tile / 2)
    keys = (middle_y // tile).astype(np.int64) * 100_000 + (middle_x // tile).astype(np.int64)
    order = np.lexsort((away, keys))
    _, first = np.unique(keys[order], return_index=True)
    for place in order[first]:
        yield int(tops[place]), int(lefts[place])


def _width(letters: str, scale: int) -> int:
    return (6 * len(letters) - 1) * scale


def _draw_letter(overlay: Pixels, letters: str, top: int, left: int, scale: int) -> None:
    """Draw letters in black with a white rim, readable on every colour and picture."""
    for (rows, columns), colour in zip(_letter_pixels(letters, scale), (255, 0), strict=True):
        ys = rows + top - 1
        xs = columns + left - 1
        seen = (ys >= 0) & (xs >= 0) & (ys < overlay.shape[0]) & (xs < overlay.shape[1])
        overlay[ys[seen], xs[seen]] = (colour, colour, colour, 255)


@functools.cache
def _letter_pixels(letters: str, scale: int) -> tuple[Places, Places]:
    """Return rows and columns of the pixels of some letters' rim, and of the letters."""
    shape = np.zeros((7, 6 * len(letters) - 1), bool)
    for place, letter in enumerate(letters):
        rows = np.frombuffer(bytes.fromhex(_FONT.get(letter, _FONT["?"])), np.uint8)
        pixels = np.unpackbits(rows[:, None], axis=1)[:, 3:]
        shape[:, 6 * place : 6 * place + 5] = pixels.astype(bool)
    ink = np.pad(np.kron(shape, np.ones((scale, scale), bool)), 1)
    rim = ink.copy()
    for axis, step in ((0, 1), (0, -1), (1, 1), (1, -1)):
        rim |= np.roll(ink, step, axis)
    return np.nonzero(rim), np.nonzero(ink)
