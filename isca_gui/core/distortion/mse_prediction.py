"""Predicts the MSE of a distortion at a strength without distorting the picture.

Each function measures a picture once and returns a function of the strength that costs a fraction
of distorting the picture and comparing it. The search for a strength starts from it. Contrast,
luminance and blur are predicted almost exactly, noise up to the chance of its draw, JPEG within a
few per cent; the search checks every strength on the distorted picture.
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
    QuantisationTable = tuple[int, ...]

# From squared intensities in [0, 1] to the scale of the MSE.
_SQUARED_SCALE = 255.0**2
# Steps from black to white in a histogram; 8-bit intensities fall exactly on some of them.
_SHADES = 16 * 255
# Frequencies are grouped in rings, this many for each factor e of their squares.
_RINGS = 200


def _histogram(picture: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the intensities that occur, to a sixteenth of a grey level, and the share of each."""
    counts = np.bincount(np.rint(picture.ravel() * np.float32(_SHADES)).astype(np.intp))
    present = np.flatnonzero(counts)
    return present / _SHADES, counts[present] / picture.size


def contrast(picture: NDArray[np.float32]) -> MsePrediction:
    """Predict a gain about the mean, clipped at black and white."""
    shades, shares = _histogram(picture)
    deviation = shades - np.sum(shares * shades)

    def predicted(strength: float) -> float:
        change = np.clip(shades + strength * deviation, 0, 1) - shades
        return float(_SQUARED_SCALE * np.sum(shares * change**2))

    return predicted


def luminance(picture: NDArray[np.float32]) -> MsePrediction:
    """Predict a shift, clipped at white."""
    shades, shares = _histogram(picture)

    def predicted(strength: float) -> float:
        change = np.minimum(strength / 255, 1 - shades)
        return float(_SQUARED_SCALE * np.sum(shares * change**2))

    return predicted


def gaussian_noise(picture: NDArray[np.float32]) -> MsePrediction:
    """Predict normal noise, clipped at black and white, by its expected square."""
    from scipy.special import ndtr

    shades, shares = _histogram(picture)

    def one_sided(room: NDArray[np.float64], deviation: float) -> NDArray[np.float64]:
        """Return the expected square of errors in one direction, clipped at `room`.

        With z = room/σ, density φ and tail Q: ∫₀ᶻ σ²t²φ(t)dt + room²·Q(z), the first integral
        being σ²·(½ − Q(z) − z·φ(z)).
        """
        limit = room / deviation
        density = np.exp(-(limit**2) / 2) / np.sqrt(2 * np.pi)
        tail = ndtr(-limit)
        within = deviation**2 * (0.5 - tail - limit * density)
        expected: NDArray[np.float64] = within + room**2 * tail
        return expected

    def predicted(strength: float) -> float:
        deviation = strength / 255
        expected = one_sided(shades, deviation) + one_sided(1 - shades, deviation)
        return float(_SQUARED_SCALE * np.sum(shares * expected))

    return predicted


def impulse(picture: NDArray[np.float32]) -> MsePrediction:
    """Predict pixels turned black or white, each as likely, in proportion to their share."""
    shades, shares = _histogram(picture)
    all_hit = float(_SQUARED_SCALE * np.sum(shares * (shades**2 + (1 - shades) ** 2) / 2))
    return lambda strength: strength * all_hit


def blur(picture: NDArray[np.float32]) -> MsePrediction:
    """Predict a Gaussian filter by Parseval: the error is what it takes from the cosine transform.

    The filter is round, so it is enough to know the energy at each distance from frequency 0.
    """
    from scipy import fft

    energy = np.square(fft.dctn(picture, norm="ortho"), dtype=np.float64)
    down, right = (np.square(np.pi * np.arange(size) / size) for size in picture.shape)
    squared = (down[:, np.newaxis] + right).ravel()
    # The filter keeps the mean; any positive frequency will do for it, since its energy is 0.
    squared[0] = np.pi
    energy[0, 0] = 0
    rings = np.rint(_RINGS * np.log(squared)).astype(np.intp)
    innermost = rings.min()
    energies = np.bincount(rings - innermost, energy.ravel()) / picture.size
    halves = np.exp((innermost + np.arange(energies.size)) / _RINGS) / 2

    def predicted(strength: float) -> float:
        # The filter multiplies frequency ω by exp(−σ²ω²/2).
        removed = np.expm1(-(strength**2) * halves)
        return float(_SQUARED_SCALE * np.sum(energies * removed**2))

    return predicted


def jpeg(
    picture: NDArray[np.float32],
    tables: Callable[[float], tuple[QuantisationTable, QuantisationTable, float]],
) -> MsePrediction:
    """Predict JPEG by Parseval in each block: the error is that of rounding the coefficients.

    Parameters
    ----------
    picture
        Shape (height, width).
    tables
        Returns, for a strength, two quantisation tables of 64 entries and the share of the blocks
        that take the second one.
    """
    from scipy import fft

    height, width = picture.shape
    blocks = BlockGrid(height, width, 8).split(np.rint(picture * np.float32(255)) - np.float32(128))
    spectrum = fft.dctn(blocks.reshape(-1, 8, 8), axes=(1, 2), norm="ortho").reshape(blocks.shape)
    # Shape (frequency, block): every frequency has a step of its own.
    coefficients = np.ascontiguousarray(spectrum.T)
    largest = np.abs(coefficients).max(axis=1)
    energies = np.einsum("ij,ij->i", coefficients, coefficients)

    @functools.cache
    def rounding_error(table: QuantisationTable) -> float:
        steps = np.array(table, dtype=np.float32)
        # All other frequencies become 0 in every block and lose all their energy.
        kept = largest >= steps / 2
        kept[0] = True
        error = coefficients[kept] / steps[kept, np.newaxis]
        error -= np.rint(error)
        error *= steps[kept, np.newaxis]
        error[0] = _decoded_means(coefficients[0], table[0]) - coefficients[0]
        lost = np.einsum("ij,ij->i", error, error).sum() + energies[~kept].sum()
        # The decoded pixels are rounded to whole grey levels: 1/12 is the variance of that error.
        return float(lost) / coefficients.size + 1 / 12

    def predicted(strength: float) -> float:
        finer, coarser, share = tables(strength)
        if not share:
            return rounding_error(finer)
        return (1 - share) * rounding_error(finer) + share * rounding_error(coarser)

    return predicted


def _decoded_means(means: NDArray[np.float32], step: int) -> NDArray[np.float32]:
    """Round the first coefficient of each block as a coder does, then to grey levels from 0 to 255.

    Coarse tables leave nothing of a block but its mean, whose pixels are rounded and clipped
    together.
    """
    coded = np.copysign(np.floor(np.abs(means) / step + np.float32(0.5)), means) * step
    return 8 * np.clip(np.floor(coded / 8 + np.float32(0.5)), -128, 127)
