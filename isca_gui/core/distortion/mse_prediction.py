"""What MSE a distortion will have at a strength, without distorting the picture: where a search starts.

Each function measures a picture once and gives back a function of the strength that costs a fraction of
distorting the picture and comparing. Contrast, luminance and blur come out as good as exact, noise but for
the luck of its draw, JPEG within some per cent; the search checks all of them on the distorted picture.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.pictures.blocks import BlockGrid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    MsePrediction = Callable[[float], float]
    Table = tuple[int, ...]

_SQUARED_SCALE = 255.0**2  # from intensities in [0, 1] to the scale of the MSE
_SHADES = 16 * 255  # 8-bit intensities fall right on these
_RINGS = 200  # frequencies this many to a factor e of their squares are taken together


def _shades(picture: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the intensities that occur, rounded to a sixteenth of a grey level, and the share of each."""
    counts = np.bincount(np.rint(picture.ravel() * np.float32(_SHADES)).astype(np.intp))
    present = np.flatnonzero(counts)
    return present / _SHADES, counts[present] / picture.size


def contrast(picture: NDArray[np.float32]) -> MsePrediction:
    """Foresee a gain about the mean, cut off at black and white."""
    shades, shares = _shades(picture)
    deviation = shades - np.sum(shares * shades)

    def foreseen(strength: float) -> float:
        change = np.clip(shades + strength * deviation, 0, 1) - shades
        return float(_SQUARED_SCALE * np.sum(shares * change**2))

    return foreseen


def luminance(picture: NDArray[np.float32]) -> MsePrediction:
    """Foresee a shift, cut off at white."""
    shades, shares = _shades(picture)

    def foreseen(strength: float) -> float:
        return float(_SQUARED_SCALE * np.sum(shares * np.minimum(strength / 255, 1 - shades) ** 2))

    return foreseen


def gaussian_noise(picture: NDArray[np.float32]) -> MsePrediction:
    """Expect the square of normal noise that is cut off at black and white."""
    from scipy.special import ndtr

    shades, shares = _shades(picture)

    def up_to(room: NDArray[np.float64], deviation: float) -> NDArray[np.float64]:
        """Give the part of those errors that point to one side, where there is room for only so much."""
        limit = room / deviation
        density = np.exp(-(limit**2) / 2) / np.sqrt(2 * np.pi)
        beyond = ndtr(-limit)
        kept: NDArray[np.float64] = (
            deviation**2 * (0.5 - beyond - limit * density) + room**2 * beyond
        )
        return kept

    def foreseen(strength: float) -> float:
        deviation = strength / 255
        expected = up_to(shades, deviation) + up_to(1 - shades, deviation)
        return float(_SQUARED_SCALE * np.sum(shares * expected))

    return foreseen


def impulse(picture: NDArray[np.float32]) -> MsePrediction:
    """Expect every pixel to be hit with the same probability, by black as often as by white."""
    shades, shares = _shades(picture)
    hit = float(_SQUARED_SCALE * np.sum(shares * (shades**2 + (1 - shades) ** 2) / 2))
    return lambda strength: strength * hit


def blur(picture: NDArray[np.float32]) -> MsePrediction:
    """Parseval: the error is what the filter takes from the cosine transform.

    The filter is round, so it is enough to know how much energy there is at which distance from the mean.
    """
    from scipy import fft

    energy = np.square(fft.dctn(picture, norm="ortho"), dtype=np.float64)
    down, right = (np.square(np.pi * np.arange(size) / size) for size in picture.shape)
    squared = (down[:, np.newaxis] + right).ravel()
    squared[0], energy[0, 0] = np.pi, 0  # the mean stays
    rings = np.rint(_RINGS * np.log(squared)).astype(np.intp)
    inner = rings.min()
    energies = np.bincount(rings - inner, energy.ravel()) / picture.size
    halves = np.exp((inner + np.arange(energies.size)) / _RINGS) / 2

    def foreseen(strength: float) -> float:
        return float(_SQUARED_SCALE * np.sum(energies * np.expm1(-(strength**2) * halves) ** 2))

    return foreseen


def jpeg(
    picture: NDArray[np.float32], tables: Callable[[float], tuple[Table, Table, float]]
) -> MsePrediction:
    """Parseval in each block: the error is that of rounding the coefficients, and the pixels afterwards.

    `tables` gives the two tables of a strength and the share of the blocks that take the second.
    """
    from scipy import fft

    height, width = picture.shape
    blocks = BlockGrid(height, width, 8).split(np.rint(picture * np.float32(255)) - np.float32(128))
    spectrum = fft.dctn(blocks.reshape(-1, 8, 8), axes=(1, 2), norm="ortho").reshape(blocks.shape)
    coefficients = np.ascontiguousarray(spectrum.T)  # (frequency, block)
    largest = np.abs(coefficients).max(axis=1)
    energies = np.einsum("ij,ij->i", coefficients, coefficients)

    @functools.cache
    def rounding(table: Table) -> float:
        steps = np.array(table, dtype=np.float32)
        kept = largest >= steps / 2  # the other frequencies become 0 in every block
        kept[0] = True
        scaled = coefficients[kept] / steps[kept, np.newaxis]
        scaled -= np.rint(scaled)
        scaled *= steps[kept, np.newaxis]
        scaled[0] = _decoded_means(coefficients[0], table[0]) - coefficients[0]
        lost = np.einsum("ij,ij->i", scaled, scaled).sum() + energies[~kept].sum()
        return float(lost) / coefficients.size + 1 / 12

    def foreseen(strength: float) -> float:
        finer, coarser, share = tables(strength)
        return (1 - share) * rounding(finer) + (share * rounding(coarser) if share else 0.0)

    return foreseen


def _decoded_means(means: NDArray[np.float32], step: int) -> NDArray[np.float32]:
    """Round the blocks' first coefficients as a coder does, then to whole grey levels between 0 and 255.

    Coarse tables leave blocks that are nothing but their mean: their pixels are rounded and cut off together.
    """
    coded = np.copysign(np.floor(np.abs(means) / step + np.float32(0.5)), means) * step
    return 8 * np.clip(np.floor(coded / 8 + np.float32(0.5)), -128, 127)
