"""The structural similarity index, its distance and its gradient: the paper's Section 2 and Eqs. 1, 2, 6, 7.

All functions work on the last axis as the q pixels of a block, and on any number of blocks at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.pictures.blocks import BlockGrid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.floating[Any]]

C1 = 0.01**2  # intensities lie in [0, 1], so l = 1
C2 = 0.03**2
C3 = C2 / 2


def constant(pixels: int) -> float:
    """Give c = (q − 1)·c₂ for blocks of q pixels."""
    return (pixels - 1) * C2


def ssim_three_factors(first: Array, second: Array) -> Array:
    """SSIM as defined in Eq. 1: luminance × contrast × structure."""
    mean1, mean2, var1, var2, covariance = _moments(first, second)
    spread1, spread2 = np.sqrt(var1), np.sqrt(var2)
    luminance = (2 * mean1 * mean2 + C1) / (mean1**2 + mean2**2 + C1)
    contrast = (2 * spread1 * spread2 + C2) / (var1 + var2 + C2)
    structure = (covariance + C3) / (spread1 * spread2 + C3)
    return np.asarray(luminance * contrast * structure)


def ssim(first: Array, second: Array) -> Array:
    """SSIM in its simplified form s₁·s₂, equal to Eq. 1 since c₂ = 2c₃."""
    mean1, mean2, var1, var2, covariance = _moments(first, second)
    s1 = (2 * mean1 * mean2 + C1) / (mean1**2 + mean2**2 + C1)
    s2 = (2 * covariance + C2) / (var1 + var2 + C2)
    return np.asarray(s1 * s2)


def distance(first: Array, second: Array) -> Array:
    """Squared SSIM distance of centred blocks, Eq. 2: ‖x₁ − x₂‖² / (‖x₁‖² + ‖x₂‖² + c)."""
    energies = np.sum(first**2, axis=-1) + np.sum(second**2, axis=-1)
    return np.asarray(
        np.sum((first - second) ** 2, axis=-1) / (energies + constant(first.shape[-1]))
    )


def reconstruction_error(basis: Array, centred: Array) -> Array:
    """f(U) of Eq. 6 for a basis (..., q, p) and centred blocks (..., q)."""
    energy, kept = _energies(basis, centred)
    return np.asarray((energy - kept) / (energy + kept + constant(centred.shape[-1])))


def gradient(basis: Array, centred: Array) -> Array:
    """G(U) of Eq. 7, with f's own denominator β = xᵀ(I + UUᵀ)x + c, so that it holds for every U."""
    energy, kept = _energies(basis, centred)
    beta = energy + kept + constant(centred.shape[-1])
    factor = -2 * (1 + (energy - kept) / beta) / beta
    projected = np.einsum("...qp,...q->...p", basis, centred)
    return np.asarray(factor[..., None, None] * centred[..., :, None] * projected[..., None, :])


def ssim_map(first: Array, second: Array, side: int = 8) -> NDArray[np.float64]:
    """SSIM of two pictures block by block, (rows, columns) of the block grid; its mean is their SSIM."""
    if first.shape != second.shape:
        raise ValueError(f"pictures of different shapes: {first.shape} and {second.shape}")
    height, width = first.shape
    grid = BlockGrid(height, width, side)
    blocks1, blocks2 = (grid.split(picture.astype(np.float64)) for picture in (first, second))
    return ssim(blocks1, blocks2).astype(np.float64).reshape(grid.rows, grid.columns)


def _moments(first: Array, second: Array) -> tuple[Array, Array, Array, Array, Array]:
    mean1, mean2 = first.mean(axis=-1), second.mean(axis=-1)
    centred1, centred2 = first - mean1[..., None], second - mean2[..., None]
    degrees = first.shape[-1] - 1
    var1, var2 = (np.sum(c**2, axis=-1) / degrees for c in (centred1, centred2))
    return mean1, mean2, var1, var2, np.sum(centred1 * centred2, axis=-1) / degrees


def _energies(basis: Array, centred: Array) -> tuple[Array, Array]:
    """Give a = ‖x‖² and s = ‖Uᵀx‖²."""
    projected = np.einsum("...qp,...q->...p", basis, centred)
    return np.sum(centred**2, axis=-1), np.sum(projected**2, axis=-1)
