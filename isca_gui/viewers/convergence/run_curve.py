"""The figures of a run as they arrive, and how many of them are drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.steps import Step

    Floats = NDArray[np.float64]

# For each figure: title, dashes and gaps in pixels (none for a solid line), and a tooltip.
FIGURES: dict[str, tuple[str, tuple[float, ...], str]] = {
    "error": (
        "Error at U",
        (),
        "The paper's criterion: f at the iterate U, which is not yet orthonormal",
    ),
    "objective": (
        "Objective",
        (11, 5),
        "f of the orthonormal basis: compare runs by this (lower is better)",
    ),
    "primal": ("Primal", (2, 4), "Primal residual ‖U − V‖"),
    "dual": ("Dual", (9, 4, 2, 4), "Dual residual ρ‖V − previous V‖"),
}
# A longer curve is drawn as the lowest and the highest value of this many parts.
_PARTS = 250


class RunCurve:
    """The figures of one run so far."""

    def __init__(self, number: int, name: str, settings: TrainingSettings | None) -> None:
        self.number = number
        self.name = name
        self.settings = settings
        # One row per epoch: the epoch and the figures. The array doubles when it is full, because
        # appending a row to an array copies all of it.
        self._rows = np.empty((64, 1 + len(FIGURES)))
        self._count = 0
        self._first: Step | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def epochs(self) -> Floats:
        """The epochs so far."""
        return self._rows[: self._count, 0]

    @property
    def values(self) -> dict[str, Floats]:
        """The figures so far, by name."""
        return {
            figure: self._rows[: self._count, 1 + place] for place, figure in enumerate(FIGURES)
        }

    def holds_start_of(self, steps: Sequence[Step], missing: int = 0) -> bool:
        """Whether it holds these steps except the last `missing` ones.

        The first step is compared as well: another project may have a run of the same number.
        """
        if self._count != len(steps) - missing:
            return False
        return self._count == 0 or self._first == steps[0]

    def add(self, steps: Iterable[Step]) -> None:
        """Append steps; figures that a logarithmic axis cannot show become gaps."""
        for step in steps:
            self._first = self._first or step
            if self._count == len(self._rows):
                self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            figures = (getattr(step, figure) for figure in FIGURES)
            shown = (value if value > 0 and math.isfinite(value) else math.nan for value in figures)
            self._rows[self._count] = (step.epoch, *shown)
            self._count += 1

    def text_at(self, epoch: float, figures: Iterable[str]) -> str:
        """Return the figures of the nearest epoch as text."""
        if not self._count:
            return ""
        place = int(np.abs(self.epochs - epoch).argmin())
        values = self.values
        parts = [
            f"{FIGURES[figure][0]} {values[figure][place]:.4g}"
            for figure in figures
            if math.isfinite(values[figure][place])
        ]
        return f"{self.name}, epoch {self.epochs[place]:.0f}: {', '.join(parts)}"


def thinned(
    epochs: Floats, values: Floats, low: float = -math.inf, high: float = math.inf
) -> tuple[Floats, Floats]:
    """Return the part from `low` to `high` with no more points than a screen can show.

    Parameters
    ----------
    epochs, values
        The curve, both of shape (n,).
    low, high
        The epochs that are seen. One point beyond each end is kept, so that the line reaches the
        edge.
    """
    start, end = np.searchsorted(epochs, [low, high])
    here = slice(max(int(start) - 1, 0), int(end) + 1)
    epochs = epochs[here]
    values = values[here]
    if len(epochs) <= 2 * _PARTS:
        return epochs, values
    size = len(epochs) // _PARTS
    whole = len(epochs) // size * size
    parts = values[:whole].reshape(-1, size)
    # Each part keeps its lowest and its highest value, so that no peak is lost.
    extremes = np.stack([np.fmin.reduce(parts, axis=1), np.fmax.reduce(parts, axis=1)], axis=1)
    thin_epochs = np.append(np.repeat(epochs[:whole:size], 2), epochs[-1])
    thin_values = np.append(extremes.ravel(), values[-1])
    return thin_epochs, thin_values


def round_end(epoch: float) -> float:
    """Return a round number beyond an epoch, so that an axis need not grow with every epoch."""
    size = 10.0 ** math.floor(math.log10(max(epoch, 1)))
    return next(size * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15) if size * step > epoch)


def round_range(values: Iterable[Floats]) -> tuple[float, float] | None:
    """Return exponents of ten, in quarters, that enclose all values; None without values."""
    lowest = math.inf
    highest = -math.inf
    for part in values:
        lowest = np.fmin.reduce(part, initial=lowest)
        highest = np.fmax.reduce(part, initial=highest)
    if not math.isfinite(lowest):
        return None
    low = math.floor(4 * math.log10(lowest) - 0.1) / 4
    high = math.ceil(4 * math.log10(highest) + 0.1) / 4
    return low, max(high, low + 0.5)
