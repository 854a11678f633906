"""What a model learned, as pictures: U, V and J through one symmetric scale. May be called in any thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.viewers.canvas.layers import Layer, coloured_layer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.model.model import Model

ROWS = ("U", "V", "J")
MOST_SHOWN = 16  # components in the gallery
_BINS = 101
_GAP = 1  # pixels between patches


@dataclass(frozen=True, eq=False)
class Drawing:
    """The pictures of some components in rows U, V, J, with the largest magnitude of each row's scale."""

    components: tuple[int, ...]
    layers: dict[tuple[str, int], Layer]
    limits: dict[str, float]
    centres: NDArray[np.float64]
    counts: dict[str, NDArray[np.int64]]
    hints: str


def draw(
    model: Model, components: tuple[int, ...], table: NDArray[np.uint8], shared: bool
) -> Drawing:
    """Draw some components; one scale for all rows, or one for each."""
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
    """Say what to look for, with the numbers that go with it."""
    u, v, j = (matrix.astype(np.float64) for matrix in matrices_of(model).values())
    method, solver = model.settings.method, model.settings.solver
    if method == "random":
        return (
            "A random subspace: there is nothing to see in U but noise. V is the same, J is zero."
        )
    if method == "pca":
        return "The directions of largest variance of every block. PCA has no V and J: V is U here, J is zero."
    if solver == "direct":
        return (
            "The direct solver keeps U orthonormal, so V is the same as U; J shows where the objective would "
            f"still fall: mean {np.abs(j).mean():.2g}."
        )
    off = float(np.abs(u - v).mean())
    share = off / max(float(np.abs(v).mean()), 1e-12)
    alike = "they do" if share < 0.1 else "train longer for that"
    return (
        f"U and V should look alike: mean difference {off:.2g}, {share:.0%} of V's mean magnitude; {alike}.  "
        f"J sums up their differences; it shows edges: mean magnitude {np.abs(j).mean():.2g}."
    )


def patches(model: Model, block: int, table: NDArray[np.uint8], limits: dict[str, float]) -> Layer:
    """Draw the patches of one block beside each other: rows U, V, J, a column per component."""
    side = model.grid.side
    matrices = matrices_of(model)
    components = min(matrices["U"].shape[2], MOST_SHOWN)
    pitch = side + _GAP
    values = np.full((3 * pitch - _GAP, components * pitch - _GAP), np.nan, np.float32)
    scaled = values.copy()
    for row, name in enumerate(ROWS):
        for column in range(components):
            patch = matrices[name][block, :, column].reshape(side, side)
            here = np.s_[row * pitch : row * pitch + side, column * pitch : column * pitch + side]
            values[here], scaled[here] = patch, patch / max(limits[name], 1e-12)
    layer = coloured_layer(scaled, table, -1.0, 1.0)
    image = layer.image.convertToFormat(layer.image.Format.Format_ARGB32)
    for row, column in np.argwhere(np.isnan(values)):
        image.setPixel(int(column), int(row), 0)  # see-through between the patches
    return Layer(image, values, 1.0, "{:+.4f}")


def spectrum(model: Model) -> NDArray[np.float64]:
    """Give the eigenvalues of the kernel matrices, mean over the blocks, largest first."""
    assert model.kernel is not None
    mean = np.asarray(model.kernel.eigenvalues, np.float64).mean(axis=0)
    return np.sort(mean)[::-1]


def matrices_of(model: Model) -> dict[str, NDArray[Any]]:
    """Give U, V and J (block, q, p)."""
    return {"U": model.state.u, "V": model.state.v, "J": model.state.j}


def _histogram(values: NDArray[Any], widest: float) -> NDArray[np.int64]:
    """Count values in even bins from −widest to widest; what lies outside is left out."""
    places = ((values.ravel() + widest) * (_BINS / (2 * widest))).astype(np.int32)
    inside = places[(places >= 0) & (places < _BINS)]
    return np.bincount(inside, minlength=_BINS)


def _limit(values: NDArray[Any]) -> float:
    """Give the magnitude below which nearly all values lie; single outliers must not fade out the rest."""
    magnitudes = np.abs(values).ravel()
    part = magnitudes[:: max(1, magnitudes.size // 200_000)]
    return float(np.quantile(part, 0.998)) or 1e-6
