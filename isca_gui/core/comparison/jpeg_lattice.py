"""JPEG: whether the copy's coefficients lie on the lattice of a quantisation table.

JPEG is not proved by encoding the reference again, since encoders round differently; but every one
of them leaves coefficients that are multiples of the steps in its table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.comparison.codec_traces import cosine_transform, square_blocks
from isca_gui.core.comparison.pair import luma
from isca_gui.core.distortion.distortions import LUMINANCE_TABLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.comparison.pair import Floats, Pair

SIDE = 8
_ORDER = sorted(
    ((row, column) for row in range(SIDE) for column in range(SIDE)),
    key=lambda place: (place[0] + place[1], place[0]),
)
_TESTED = _ORDER[1:21]
_STEPS = np.r_[np.arange(1, 33), np.arange(34, 66, 2), np.arange(68, 130, 4)].astype(np.float32)
_MOST_COEFFICIENTS = 1500
_NEAR_ZERO = 0.7

# The search for the table: noise of a coefficient after rounding to 8 bits, and the share of
# strays.
_SIGMA = 0.45
_STRAY = 0.02
_SEARCHED = _ORDER[:36]
_MOST_BLOCKS = 1500
_FEWEST_BLOCKS = 30
_LEAST = 1.0


@dataclass(frozen=True)
class Lattice:
    """A quantisation table that the copy's coefficients lie on.

    Parameters
    ----------
    quality
        The nearest quality on libjpeg's scale, 1 to 100.
    fit
        Mean log-likelihood of a coefficient beside a smooth distribution; above 0 speaks for the
        lattice.
    standard
        Whether the table is libjpeg's own for that quality.
    table
        The steps that were found, row by row; 0 where nothing was left to find one by.
    """

    quality: int
    fit: float
    standard: bool
    table: tuple[int, ...]


def standard_table(quality: int) -> NDArray[np.int64]:
    """Return libjpeg's luminance table for a quality of 1 to 100, shape (8, 8)."""
    percent = 5000 // quality if quality < 50 else 200 - 2 * quality
    table = np.asarray(LUMINANCE_TABLE, dtype=np.int64)
    return np.clip((table * percent + 50) // 100, 1, 255).reshape(SIDE, SIDE)


def lattice_features(pair: Pair) -> dict[str, float]:
    """Return how well coefficients lie on lattices, beside the reference and a shifted grid."""
    copy = cosine_transform(square_blocks(pair.copy_luma - 128, SIDE))
    reference = cosine_transform(square_blocks(pair.reference_luma - 128, SIDE))
    shifted = cosine_transform(square_blocks(pair.copy_luma - 128, SIDE, SIDE // 2, SIDE // 2))
    found = _comb_features(copy, reference, shifted)
    combs, _ = _combs(copy[:, 0, 0][None])
    found["comb_dc"] = combs[0, _STEPS >= 2].max()
    frequency = np.add.outer(np.arange(SIDE), np.arange(SIDE))
    bands = {
        "l": (frequency > 0) & (frequency <= 3),
        "m": (frequency > 3) & (frequency <= 7),
        "h": frequency > 7,
    }
    for name, band in bands.items():
        zeros = [(np.abs(each[:, band]) < _NEAR_ZERO).mean() for each in (copy, reference, shifted)]
        found[f"z8_{name}"] = zeros[0] - zeros[1]
        found[f"z8off_{name}"] = zeros[0] - zeros[2]
    return {name: float(value) for name, value in found.items()}


def find_lattice(picture: Floats, top: int = 0, left: int = 0) -> Lattice | None:
    """Return the quantisation table of a decoded JPEG picture, or None where too little is left.

    Parameters
    ----------
    picture
        Grey or colour, on the scale 0 to 255. Blocks with a clipped pixel are left out, since
        clipping moves their coefficients off the lattice.
    top, left
        Where the grid of blocks begins.
    """
    coefficients = cosine_transform(square_blocks(luma(picture) - 128, SIDE, top, left))
    clear = _unclipped_blocks(picture, top, left)
    if clear.sum() < _FEWEST_BLOCKS:
        return None
    coefficients = coefficients[clear]
    order = np.argsort(-np.abs(coefficients).sum((1, 2)))[:_MOST_BLOCKS]
    steps = np.arange(1, 256, dtype=np.float32)
    likelihood = np.zeros((len(_SEARCHED), 256))
    counted = np.zeros(len(_SEARCHED))
    for index, (row, column) in enumerate(_SEARCHED):
        values = np.abs(coefficients[order, row, column])
        values = values[values > _LEAST]
        likelihood[index, 1:] = _log_likelihood(values, steps)
        counted[index] = len(values)
    total = counted.sum()
    if total < _FEWEST_BLOCKS:
        return None
    return _best_table(likelihood, counted, total)


def _best_table(
    likelihood: NDArray[np.float64], counted: NDArray[np.float64], total: float
) -> Lattice:
    rows, columns = np.transpose(_SEARCHED)
    index = np.arange(len(_SEARCHED))
    standard = np.array(
        [
            likelihood[index, standard_table(quality)[rows, columns]].sum()
            for quality in range(1, 101)
        ]
    )
    free = likelihood[:, 1:].max(1).sum()
    steps = likelihood[:, 1:].argmax(1) + 1
    known = counted >= 8
    is_standard = bool(standard.max() >= 0.9 * free - 0.05 * total)
    quality = int(standard.argmax()) + 1
    if not is_standard and known.any():
        quality = nearest_quality(steps[known], rows[known], columns[known])
    table = np.zeros((SIDE, SIDE), dtype=np.int64)
    table[rows, columns] = np.where(known, steps, 0)
    fit = max(standard.max(), free if not is_standard else -np.inf) / total
    return Lattice(quality, float(fit), is_standard, tuple(int(step) for step in table.ravel()))


def nearest_quality(
    steps: NDArray[np.int64], rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> int:
    """Return the quality whose table is, in the middle, as coarse as the one found.

    Below quality 10 most steps are 255, and the middle is the same for all: there the mean decides.
    """
    rests = []
    for quality in range(1, 101):
        ratios = np.log(steps / standard_table(quality)[rows, columns])
        rests.append(abs(np.median(ratios)) + 1e-3 * np.abs(ratios).mean())
    return int(np.argmin(rests)) + 1


def _log_likelihood(values: Floats, steps: Floats) -> NDArray[np.float64]:
    """Return the log-likelihood of coefficients on lattices, against a smooth distribution."""
    if not len(values):
        return np.zeros(len(steps))
    off = values[:, None] - np.rint(values[:, None] / steps) * steps
    peak = steps / (np.sqrt(2 * np.pi) * _SIGMA)
    density = peak * np.exp(-0.5 * np.square(off / _SIGMA))
    found: NDArray[np.float64] = np.log((1 - _STRAY) * density + _STRAY).sum(0, dtype=np.float64)
    return found


def _unclipped_blocks(picture: Floats, top: int, left: int) -> NDArray[np.bool_]:
    darkest = picture if picture.ndim == 2 else picture.min(2)
    lightest = picture if picture.ndim == 2 else picture.max(2)
    found: NDArray[np.bool_] = (square_blocks(darkest, SIDE, top, left).min((1, 2)) > 0) & (
        square_blocks(lightest, SIDE, top, left).max((1, 2)) < 255
    )
    return found


def _comb_features(copy: Floats, reference: Floats, shifted: Floats) -> dict[str, float]:
    ours, counts = _combs(_tested(copy))
    theirs, _ = _combs(_tested(reference))
    beside, _ = _combs(_tested(shifted))
    usable = np.where((counts >= 12) & (_STEPS >= 2), ours, -1)
    best = usable.max(1)
    there = best > -0.5
    # Divisors of a step score as well as the step itself: the largest of them is meant.
    index = np.array([_largest(scores, top) for scores, top in zip(usable, best, strict=True)])
    found = dict.fromkeys(
        ("comb_on", "comb_med", "comb_ref", "comb_off", "comb_gain", "comb_z", "comb_q"), 0.0
    )
    found["comb_n"] = float(there.sum())
    if there.sum() < 3:
        return found
    row = np.flatnonzero(there)
    step = index[there]
    on = ours[row, step]
    ref = theirs[row, step]
    off = beside[row, step]
    surely = (ours * np.sqrt(2 * counts))[row, step]
    found["comb_on"] = on.mean()
    found["comb_med"] = np.median(on)
    found["comb_ref"] = ref.mean()
    found["comb_off"] = off.mean()
    found["comb_gain"] = (on - np.maximum(ref, off)).mean()
    found["comb_z"] = np.log1p(max(surely.mean(), 0))
    found["comb_q"] = np.log(np.median(_STEPS[step]) + 0.5)
    return found


def _tested(coefficients: Floats) -> Floats:
    return np.stack([coefficients[:, row, column] for row, column in _TESTED])


def _largest(scores: Floats, best: float) -> int:
    if best <= 0:
        return 0
    return int(np.flatnonzero(scores >= 0.9 * best - 1e-6).max())


def _combs(coefficients: Floats) -> tuple[Floats, Floats]:
    """Return the mean cosine over each step, 1 on a lattice, and how many coefficients it is of.

    Parameters
    ----------
    coefficients
        Shape (frequency, block).
    """
    found = np.zeros((len(coefficients), len(_STEPS)), np.float32)
    counts = np.zeros_like(found)
    for index, values in enumerate(np.abs(coefficients)):
        values = values[values > 0.6]
        if len(values) > _MOST_COEFFICIENTS:
            values = values[:: len(values) // _MOST_COEFFICIENTS + 1]
        if len(values) < 8:
            continue
        beyond = values[:, None] > 0.55 * _STEPS
        count = beyond.sum(0)
        cosine = (np.cos(2 * np.pi * values[:, None] / _STEPS) * beyond).sum(0)
        found[index] = np.where(count > 7, cosine / np.maximum(count, 1), 0)
        counts[index] = count
    return found, counts
