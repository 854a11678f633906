"""What a model learned, as pictures: U, V and J on a symmetric scale.

All functions of this module may be called in any thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.viewers.canvas.layers import Layer, coloured_layer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.model.model import Model

ROWS = ("U", "V", "J")
# How many components are shown at once.
MAX_COMPONENTS = 16
_BINS = 101
# Pixels between two patches.
_GAP = 1


@dataclass(frozen=True, eq=False)
class Drawing:
    """The pictures of some components of U, V and J, by row and component."""

    components: tuple[int, ...]
    layers: dict[tuple[str, int], Layer]
    limits: dict[str, float]  # largest magnitude on the scale of each row
    centres: NDArray[np.float64]  # of the histogram's bins
    counts: dict[str, NDArray[np.int64]]  # in the bins, for each row
    hints: str


def draw(
    model: Model, components: tuple[int, ...], table: NDArray[np.uint8], shared: bool
) -> Drawing:
    """Draw some components.

    Parameters
    ----------
    model
        A model without a kernel.
    components
        Which components, counted from zero.
    table
        256 colours from the lowest to the highest value, shape (256, 3).
    shared
        Whether U, V and J share one scale.
    """
    matrices = matrices_of(model)
    limits = {row: _limit(matrix[:, :, components]) for row, matrix in matrices.items()}
    if shared:
        limits = dict.fromkeys(limits, max(limits.values()))
    drawn = {
        (row, component): coloured_layer(
            model.basis_picture(row, component), table, -limits[row], limits[row]
        )
        for row in ROWS
        for component in components
    }
    widest = max(limits.values())
    centres = widest * (2 * np.arange(_BINS) + 1 - _BINS) / _BINS
    counts = {row: _histogram(matrices[row][:, :, components], widest) for row in ROWS}
    return Drawing(components, drawn, limits, centres, counts, hints(model))


def hints(model: Model) -> str:
    """Return what to look for, with the numbers that go with it."""
    u, v, j = (matrix.astype(np.float64) for matrix in matrices_of(model).values())
    if model.settings.method == "random":
        return "A random subspace: U shows nothing but noise. V equals U, and J is zero."
    if model.settings.method == "pca":
        return (
            "The directions of largest variance of every block. PCA has no V and J: here V equals "
            "U, and J is zero."
        )
    if model.settings.solver == "direct":
        return (
            "The direct solver keeps U orthonormal, so V equals U. J shows where the objective "
            f"would still decrease: mean magnitude {np.abs(j).mean():.2g}."
        )
    difference = float(np.abs(u - v).mean())
    share = difference / max(float(np.abs(v).mean()), 1e-12)
    comment = "and they do" if share < 0.1 else "but do not yet; train longer"
    return (
        f"U and V should look alike, {comment}. Their mean difference is {difference:.2g}, "
        f"{share:.0%} of V's mean magnitude. "
        "J accumulates their differences and shows edges: mean magnitude "
        f"{np.abs(j).mean():.2g}."
    )


def patches(model: Model, block: int, table: NDArray[np.uint8], limits: dict[str, float]) -> Layer:
    """Draw the patches of one block: rows U, V and J, one column for each component.

    Parameters
    ----------
    model
        A model without a kernel.
    block
        The number of the block.
    table
        256 colours from the lowest to the highest value, shape (256, 3).
    limits
        The largest magnitude on the scale of each row.
    """
    side = model.grid.side
    matrices = matrices_of(model)
    components = min(matrices["U"].shape[2], MAX_COMPONENTS)
    pitch = side + _GAP
    values = np.full((3 * pitch - _GAP, components * pitch - _GAP), np.nan, np.float32)
    scaled = values.copy()
    for row, name in enumerate(ROWS):
        for column in range(components):
            patch = matrices[name][block, :, column].reshape(side, side)
            here = np.s_[row * pitch : row * pitch + side, column * pitch : column * pitch + side]
            values[here] = patch
            scaled[here] = patch / max(limits[name], 1e-12)
    layer = coloured_layer(scaled, table, -1.0, 1.0)
    image = layer.image.convertToFormat(layer.image.Format.Format_ARGB32)
    # The gaps between the patches are transparent.
    for row, column in np.argwhere(np.isnan(values)):
        image.setPixel(int(column), int(row), 0)
    return Layer(image, values, 1.0, "{:+.4f}")


def spectrum(model: Model) -> NDArray[np.float64]:
    """Return the eigenvalues of the kernel matrices, averaged over the blocks, largest first."""
    assert model.kernel is not None
    mean = np.asarray(model.kernel.eigenvalues, np.float64).mean(axis=0)
    return np.sort(mean)[::-1]


def matrices_of(model: Model) -> dict[str, NDArray[Any]]:
    """Return U, V and J, each of shape (blocks, q, p)."""
    return {"U": model.state.u, "V": model.state.v, "J": model.state.j}


def _histogram(values: NDArray[Any], widest: float) -> NDArray[np.int64]:
    """Count values in equal bins from −widest to widest; what lies outside is left out."""
    places = ((values.ravel() + widest) * (_BINS / (2 * widest))).astype(np.int32)
    inside = places[(places >= 0) & (places < _BINS)]
    return np.bincount(inside, minlength=_BINS)


def _limit(values: NDArray[Any]) -> float:
    """Return the magnitude below which nearly all values lie: outliers would fade the rest."""
    magnitudes = np.abs(values).ravel()
    # A sample of the values is enough for the quantile, and much quicker to sort.
    part = magnitudes[:: max(1, magnitudes.size // 200_000)]
    return float(np.quantile(part, 0.998)) or 1e-6
