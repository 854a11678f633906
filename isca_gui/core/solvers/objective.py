"""The objective f (Eq. 6), its gradient (Eq. 7) and the polar factor (Eq. 14), block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.floating[Any]]


# Squares of what rounding leaves may vanish: beside c, or beside a column of length one, they are
# nothing.
@np.errstate(under="ignore")
def reconstruction_errors(coordinates: Array, bases: Array, c: float) -> Array:
    """Return f (block, image) of Eq. 6.

    Parameters
    ----------
    coordinates
        Centred coordinates (block, image, r).
    bases
        Bases U (block, r, p).
    c
        The constant in the denominator.
    """
    kept = np.sum(np.square(coordinates @ bases), axis=2)
    energy = np.einsum("bnr,bnr->bn", coordinates, coordinates)
    return np.asarray((energy - kept) / (energy + kept + c))


def objective_and_gradient(
    coordinates: Array, energy: Array, bases: Array, c: float
) -> tuple[Array, Array]:
    """Return the mean of f over the images (block,) and its gradient (block, r, p): Eq. 6 and 7.

    Parameters
    ----------
    coordinates, energy
        Centred coordinates z (block, image, r) and ‖z‖² (block, image).
    bases
        Bases U (block, r, p).
    c
        The constant in the denominator.
    """
    projected = coordinates @ bases
    kept = np.einsum("bnp,bnp->bn", projected, projected)
    beta = energy + kept + bases.dtype.type(c)
    f = (energy - kept) / beta
    weight = -2 * (1 + f) / beta / coordinates.shape[1]
    gradient = np.swapaxes(coordinates, 1, 2) @ (weight[:, :, None] * projected)
    return f.mean(axis=1, dtype=np.float64), gradient.astype(bases.dtype, copy=False)


@np.errstate(under="ignore")
def polar(matrices: Array) -> Array:
    """Return the nearest matrices with orthonormal columns (Eq. 14): A(AᵀA)^(−1/2)."""
    finite = np.isfinite(matrices).all(axis=(-1, -2))
    if not finite.all():
        # The training has diverged, which the caller sees in the result.
        result = np.full_like(matrices, np.nan)
        if finite.any():
            result[finite] = polar(matrices[finite])
        return result
    # In float64, since AᵀA squares the condition number.
    exact = matrices.astype(np.float64)
    gram = np.swapaxes(exact, -1, -2) @ exact
    values, vectors = np.linalg.eigh(gram)
    # Eigenvalues below this share of the largest are rounding noise.
    floor = 1e-10 * values[..., -1:]
    sound = np.all(values > floor, axis=-1)
    roots = np.sqrt(np.where(sound[..., None], values, 1))
    result = exact @ ((vectors / roots[..., None, :]) @ np.swapaxes(vectors, -1, -2))
    if matrices.dtype == np.float64:
        # A step of Newton and Schulz makes up for what AᵀA has lost; float32 has no digits to show
        # it.
        result = 1.5 * result - 0.5 * result @ (np.swapaxes(result, -1, -2) @ result)
    if not np.all(sound):
        left, _, right = np.linalg.svd(exact[~sound], full_matrices=False)
        result[~sound] = left @ right
    return np.asarray(result.astype(matrices.dtype))
