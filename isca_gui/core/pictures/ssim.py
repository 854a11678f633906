"""The structural similarity index and its distance: Section 2 and Eqs. 1 and 2 of the paper.

All functions work on the last axis as the q pixels of a block, and on any number of blocks at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.pictures.blocks import BlockGrid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.floating[Any]]

# The paper's c₁ = (0.01·l)² and c₂ = (0.03·l)²; intensities lie in [0, 1], so l = 1.
C1 = 0.01**2
C2 = 0.03**2


def constant(pixels: int) -> float:
    """Return c = (q − 1)·c₂ for blocks of q pixels."""
    return (pixels - 1) * C2


def ssim(first: Array, second: Array) -> Array:
    """Return the SSIM of blocks (..., q) as s₁·s₂, which equals Eq. 1 since c₂ = 2c₃."""
    mean1 = first.mean(axis=-1)
    mean2 = second.mean(axis=-1)
    centred1 = first - mean1[..., None]
    centred2 = second - mean2[..., None]
    # Unbiased estimates, as the paper defines the variances and the covariance.
    degrees = first.shape[-1] - 1
    variance1 = np.sum(centred1**2, axis=-1) / degrees
    variance2 = np.sum(centred2**2, axis=-1) / degrees
    covariance = np.sum(centred1 * centred2, axis=-1) / degrees
    s1 = (2 * mean1 * mean2 + C1) / (mean1**2 + mean2**2 + C1)
    s2 = (2 * covariance + C2) / (variance1 + variance2 + C2)
    return np.asarray(s1 * s2)


def distance(first: Array, second: Array) -> Array:
    """Return the squared SSIM distance of centred blocks (..., q).

    Eq. 2: ‖x₁ − x₂‖² / (‖x₁‖² + ‖x₂‖² + c).
    """
    energies = np.sum(first**2, axis=-1) + np.sum(second**2, axis=-1)
    difference = np.sum((first - second) ** 2, axis=-1)
    return np.asarray(difference / (energies + constant(first.shape[-1])))


def ssim_map(first: Array, second: Array, side: int = 8) -> NDArray[np.float64]:
    """Return the SSIM of two pictures block by block; the mean of the map is their SSIM.

    Parameters
    ----------
    first, second
        Pictures of the same shape (height, width), intensities in [0, 1].
    side
        Side of a block in pixels.

    Returns
    -------
    Shape (rows, columns) of the block grid.
    """
    if first.shape != second.shape:
        raise ValueError(f"the pictures have different shapes: {first.shape} and {second.shape}")
    height, width = first.shape
    grid = BlockGrid(height, width, side)
    similarity = ssim(
        grid.split(first.astype(np.float64)),
        grid.split(second.astype(np.float64)),
    )
    return similarity.astype(np.float64).reshape(grid.rows, grid.columns)
