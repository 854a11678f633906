"""The coarse search: scales, turns and angles are tried on thumbnails at every shift at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import fft, ndimage

from isca_gui.core.alignment.placement import Placement, oriented, whole
from isca_gui.core.alignment.pyramid import structure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from isca_gui.core.alignment.pyramid import Pyramid

    Floats = NDArray[np.float32]

# Long side of the thumbnail of what is smaller, the copy or the reference, and of the other one.
_SMALLER = 72
_LARGER = 240
# Both have to share this much of the smaller one.
_LEAST_OVERLAP = 0.25


@dataclass(frozen=True)
class Candidate:
    """A placement that was found on thumbnails, and how significant it is."""

    score: float
    placement: Placement


def search(
    reference: Pyramid,
    copy: Pyramid,
    scales: Iterable[float],
    orientations: Iterable[tuple[int, bool]],
    angles: Iterable[float] = (0.0,),
) -> list[Candidate]:
    """Return the best shift of each scale, turn and angle, best first.

    Parameters
    ----------
    reference, copy
        The two pictures.
    scales
        Pixels of the copy for one of the reference.
    orientations
        Turn and mirroring of the reference.
    angles
        Rotations in degrees, counterclockwise.
    """
    ways = list(orientations)
    turns = list(angles)
    found = [
        candidate
        for scale in scales
        for candidate in _at_scale(reference, copy, scale, ways, turns)
    ]
    return sorted(found, key=lambda each: -each.score)


def _at_scale(
    reference: Pyramid,
    copy: Pyramid,
    scale: float,
    orientations: list[tuple[int, bool]],
    angles: list[float],
) -> Iterator[Candidate]:
    sides = np.array([max(reference.shape), max(copy.shape) / scale])
    density = min(_SMALLER / sides.min(), _LARGER / sides.max(), 1.0, scale)
    theirs = _thumbnail(reference, density)
    ours = _thumbnail(copy, density / scale)
    if min(*theirs.shape, *ours.shape) < 12:
        return
    ground = structure(theirs)
    for angle in angles:
        turned = (
            ours
            if angle == 0
            else ndimage.rotate(ours, -angle, reshape=False, mode="nearest", order=1)
        )
        template = structure(turned)
        for turn, mirrored in orientations:
            field = np.ascontiguousarray(oriented(ground, turn, mirrored))
            score, top, left = _best_shift(field, template)
            across = field.shape[1] / whole(reference.shape, turn).right
            down = field.shape[0] / whole(reference.shape, turn).bottom
            placement = Placement(
                left / across,
                top / down,
                left / across + copy.shape[1] / scale,
                top / down + copy.shape[0] / scale,
                turn,
                mirrored,
            )
            yield Candidate(score, replace(placement, angle=angle))


def _thumbnail(picture: Pyramid, density: float) -> Floats:
    shape = tuple(max(1, round(size * density)) for size in picture.shape)
    return picture.bring(whole(picture.shape), shape)


def _best_shift(field: Floats, template: Floats) -> tuple[float, int, int]:
    """Return the significance of the best shift of a template, and its top and left."""
    rows = field.shape[0] + template.shape[0] - 1
    columns = field.shape[1] + template.shape[1] - 1
    size = (fft.next_fast_len(rows, True), fft.next_fast_len(columns, True))
    product = fft.rfft2(field, size) * np.conj(fft.rfft2(template, size))
    matched = np.roll(
        fft.irfft2(product, size), (template.shape[0] - 1, template.shape[1] - 1), (0, 1)
    )[:rows, :columns]
    tops = np.arange(rows) - template.shape[0] + 1
    lefts = np.arange(columns) - template.shape[1] + 1
    energy = _energies(field, template, tops, lefts)
    count = np.outer(
        _shared(field.shape[0], template.shape[0], tops),
        _shared(field.shape[1], template.shape[1], lefts),
    )
    smaller = min(field.size, template.size)
    likeness = np.abs(matched) / np.sqrt(np.maximum(energy, 1e-6))
    score = np.where(count >= _LEAST_OVERLAP * smaller, likeness * np.sqrt(count / smaller), 0)
    place = np.unravel_index(int(score.argmax()), score.shape)
    return float(score[place]), int(tops[place[0]]), int(lefts[place[1]])


def _shared(field: int, template: int, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    found: NDArray[np.int64] = np.minimum(field, starts + template) - np.maximum(0, starts)
    return found


def _energies(
    field: Floats, template: Floats, tops: NDArray[np.int64], lefts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the product of the energies of both in the part that they share, at every shift."""
    ours = _sums(template, -tops, -lefts, field.shape)
    theirs = _sums(field, tops, lefts, template.shape)
    return ours * theirs


def _sums(
    picture: Floats,
    tops: NDArray[np.int64],
    lefts: NDArray[np.int64],
    shape: tuple[int, ...],
) -> NDArray[np.float64]:
    """Return the energy of a picture in rectangles of a shape, as far as they lie in it."""
    table = np.zeros((picture.shape[0] + 1, picture.shape[1] + 1))
    table[1:, 1:] = np.square(picture, dtype=np.float64).cumsum(0).cumsum(1)
    low = np.clip(tops, 0, picture.shape[0])
    high = np.clip(tops + shape[0], 0, picture.shape[0])
    left = np.clip(lefts, 0, picture.shape[1])
    right = np.clip(lefts + shape[1], 0, picture.shape[1])
    rows = table[high] - table[low]
    found: NDArray[np.float64] = rows[:, right] - rows[:, left]
    return found
