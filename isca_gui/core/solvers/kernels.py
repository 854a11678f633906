"""Normalised and centred kernels between blocks, and Mercer coordinates (the paper's Section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.parallel import ranges
from isca_gui.core.progress import Cancelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Blocks whose kernel matrices are in memory at once.
_FEW = 16
# Eigenvalues below this share of the largest count as zero.
EIGENVALUE_SHARE = 1e-8
# And so do those below this: a normalised kernel has scale 1.
EIGENVALUE_FLOOR = 1e-12
# Products of lengths below this are zero: there is nothing to be similar to.
_NO_LENGTH = 1e-150


@dataclass(frozen=True)
class KernelSettings:
    """A kernel of the table, with its numbers."""

    name: str
    gamma: float
    coef0: float
    degree: int


def _linear(first: Array, second: Array, _: KernelSettings) -> Array:
    return first @ _transposed(second)


def _rbf(first: Array, second: Array, s: KernelSettings) -> Array:
    squares = np.sum(first**2, -1)[..., :, None] + np.sum(second**2, -1)[..., None, :]
    return np.asarray(np.exp(-s.gamma * np.maximum(squares - 2 * first @ _transposed(second), 0)))


def _sigmoid(first: Array, second: Array, s: KernelSettings) -> Array:
    return np.asarray(np.tanh(s.gamma * (first @ _transposed(second)) + s.coef0))


def _polynomial(first: Array, second: Array, s: KernelSettings) -> Array:
    return np.asarray((s.gamma * (first @ _transposed(second)) + s.coef0) ** s.degree)


def _cosine(first: Array, second: Array, _: KernelSettings) -> Array:
    lengths = np.linalg.norm(first, axis=-1)
    others = np.linalg.norm(second, axis=-1)
    return _divided(first @ _transposed(second), lengths[..., :, None] * others[..., None, :])


KERNELS: dict[str, Callable[[Array, Array, KernelSettings], Array]] = {
    "linear": _linear,
    "rbf": _rbf,
    "sigmoid": _sigmoid,
    "polynomial": _polynomial,
    "cosine": _cosine,
}


@dataclass(frozen=True, eq=False)
class Mercer:
    """Mercer coordinates of blocks: the columns of Δ = Υ^½Ψᵀ, with K = ΔᵀΔ and ΔΔᵀ = Υ.

    Attributes
    ----------
    coordinates
        (block, image, coordinate): column j of Δ is `coordinates[block, j]`.
    eigenvalues
        (block, coordinate): the diagonal of Υ, largest first, and zero where a block has fewer.
    self_similarity
        (block, image): k(x, x) before normalisation.
    column_means
        (block, image): the means of the normalised kernel that centring takes away.
    """

    coordinates: NDArray[np.floating[Any]]
    eigenvalues: NDArray[np.floating[Any]]
    self_similarity: Array
    column_means: Array


def mercer(
    blocks: NDArray[Any],
    settings: KernelSettings,
    least: int,
    dtype: str = "float64",
    stop: NDArray[np.uint8] | None = None,
) -> Mercer:
    """Normalise, double-centre and decompose the kernel of every block; stopped, raise `Cancelled`.

    Parameters
    ----------
    blocks
        (block, image, pixel); their means are not removed: the kernel is centred instead.
    settings
        The kernel with its numbers.
    least
        The fewest coordinates to keep, so that as many orthonormal directions exist.
    dtype
        The type of the coordinates and eigenvalues; they are computed in float64.
    stop
        One flag that another thread may set.
    """
    parts = []
    for low, high in ranges(len(blocks), _FEW):
        if stop is not None and stop[0]:
            raise Cancelled("Stopped while kernels were being prepared.")
        parts.append(_mercer(blocks[low:high], settings, least))
    width = max(part.eigenvalues.shape[1] for part in parts)
    eigenvalues = np.zeros((len(blocks), width), dtype)
    coordinates = np.zeros((*blocks.shape[:2], width), dtype)
    for index, part in enumerate(parts):
        here = slice(index * _FEW, (index + 1) * _FEW)
        count = part.eigenvalues.shape[1]
        eigenvalues[here, :count] = part.eigenvalues
        coordinates[here, :, :count] = part.coordinates
    return Mercer(
        coordinates=coordinates,
        eigenvalues=eigenvalues,
        self_similarity=np.concatenate([part.self_similarity for part in parts]),
        column_means=np.concatenate([part.column_means for part in parts]),
    )


def _mercer(blocks: NDArray[Any], settings: KernelSettings, least: int) -> Mercer:
    """Do the same for a few blocks at once, in float64."""
    x = blocks.astype(np.float64)
    kernel = KERNELS[settings.name](x, x, settings)
    own = np.diagonal(kernel, axis1=1, axis2=2).copy()
    kernel = _divided(kernel, _roots(own, own))
    # Double-centring, K := HKH with H = I − 11ᵀ/n.
    means = kernel.mean(axis=1)
    kernel = kernel - means[:, :, None] - means[:, None, :] + means.mean(axis=1)[:, None, None]
    values, vectors = np.linalg.eigh(kernel)
    values = values[:, ::-1]
    vectors = vectors[:, :, ::-1]
    floor = np.maximum(EIGENVALUE_SHARE * values[:, :1], EIGENVALUE_FLOOR)
    values = np.where(values > floor, values, 0.0)
    count = min(max(int(np.count_nonzero(values, axis=1).max()), least), values.shape[1])
    values = values[:, :count]
    coordinates = vectors[:, :, :count] * np.sqrt(values)[:, None, :]
    if count < least:
        # Fewer images than components: directions are added in which nothing lies.
        padding = least - count
        coordinates = np.pad(coordinates, ((0, 0), (0, 0), (0, padding)))
        values = np.pad(values, ((0, 0), (0, padding)))
    return Mercer(coordinates, values, own, means)


def similarities(
    new: NDArray[Any], blocks: NDArray[Any], fitted: Mercer, settings: KernelSettings
) -> tuple[Array, Array]:
    """Return the similarities of new blocks to the training blocks, and to themselves.

    The first result is k (block, new, image), normalised by the new block's own k(x, x) and
    centred with the training means. The second is the new block's own normalised and centred k(x,
    x), (block, new).

    Parameters
    ----------
    new, blocks
        New and training blocks, (block, new, pixel) and (block, image, pixel).
    fitted
        What is known about the kernels of the training blocks.
    settings
        The kernel with its numbers.
    """
    x = new.astype(np.float64)
    y = blocks.astype(np.float64)
    kernel = KERNELS[settings.name](x, y, settings)
    own = np.stack([_own(x[:, index], settings) for index in range(x.shape[1])], axis=1)
    kernel = _divided(kernel, _roots(own, fitted.self_similarity))
    means = fitted.column_means
    grand = means.mean(axis=1)
    rows = kernel.mean(axis=2)
    centred = kernel - rows[:, :, None] - means[:, None, :] + grand[:, None, None]
    unit = np.where(own == 0, 0.0, np.sign(own))
    return centred, unit - 2 * rows + grand[:, None]


def _own(x: Array, settings: KernelSettings) -> Array:
    """Return k(x, x) for blocks (block, pixel)."""
    return KERNELS[settings.name](x[:, None, :], x[:, None, :], settings)[:, 0, 0]


def _transposed(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def _roots(first: Array, second: Array) -> Array:
    """Return √|k(a, a)·k(b, b)|: an indefinite kernel may have negative self-similarities."""
    return np.asarray(np.sqrt(np.abs(first))[:, :, None] * np.sqrt(np.abs(second))[:, None, :])


def _divided(values: Array, by: Array) -> Array:
    """Divide; a block without length (black under a linear kernel) is similar to nothing."""
    return np.divide(values, by, out=np.zeros_like(values), where=by > _NO_LENGTH)
