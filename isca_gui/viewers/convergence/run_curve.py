"""The figures of a run as they come; drawing and reading them stays quick however many they are."""

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

# title, dashes and gaps in pixels (none is a whole line), and a sentence
FIGURES: dict[str, tuple[str, tuple[float, ...], str]] = {
    "error": ("Error at U", (), "The paper's criterion: f at the iterated U"),
    "objective": ("Objective", (11, 5), "f of the orthonormal basis; what counts"),
    "primal": ("Primal", (2, 4), "Primal residual ‖U − V‖"),
    "dual": ("Dual", (9, 4, 2, 4), "Dual residual ρ‖V − V before‖"),
}
_PARTS = 250  # a longer curve is drawn as the lowest and highest value of so many parts


class RunCurve:
    """The figures of one run, as far as they have come."""

    def __init__(self, number: int, name: str, settings: TrainingSettings | None) -> None:
        self.number, self.name, self.settings = number, name, settings
        self._rows = np.empty((64, 1 + len(FIGURES)))
        self._count = 0
        self._first: Step | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def epochs(self) -> Floats:
        """All epochs so far."""
        return self._rows[: self._count, 0]

    @property
    def values(self) -> dict[str, Floats]:
        """All figures so far."""
        return {
            figure: self._rows[: self._count, 1 + place] for place, figure in enumerate(FIGURES)
        }

    def begins(self, steps: Sequence[Step], missing: int = 0) -> bool:
        """Whether it holds these steps but the last ones; another project may have a run of this number."""
        return self._count == len(steps) - missing and (not self._count or self._first == steps[0])

    def add(self, steps: Iterable[Step]) -> None:
        """Take steps; figures that a log axis cannot show become gaps."""
        for step in steps:
            self._first = self._first or step
            if self._count == len(self._rows):
                self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            figures = (getattr(step, figure) for figure in FIGURES)
            kept = (value if value > 0 and math.isfinite(value) else math.nan for value in figures)
            self._rows[self._count] = (step.epoch, *kept)
            self._count += 1

    def text_at(self, epoch: float, figures: Iterable[str]) -> str:
        """Say the figures of the epoch nearest to a place."""
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
    """Give the part from `low` to `high` with no more points than a screen can show; extremes stay."""
    start, end = np.searchsorted(epochs, [low, high])
    here = slice(max(int(start) - 1, 0), int(end) + 1)
    epochs, values = epochs[here], values[here]
    if len(epochs) <= 2 * _PARTS:
        return epochs, values
    size = len(epochs) // _PARTS
    whole = len(epochs) // size * size
    parts = values[:whole].reshape(-1, size)
    both = np.stack([np.fmin.reduce(parts, axis=1), np.fmax.reduce(parts, axis=1)], axis=1)
    return np.append(np.repeat(epochs[:whole:size], 2), epochs[-1]), np.append(
        both.ravel(), values[-1]
    )


def round_end(epoch: float) -> float:
    """Give a round number beyond an epoch, so that an axis need not grow with every one."""
    size = 10.0 ** math.floor(math.log10(max(epoch, 1)))
    return next(size * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15) if size * step > epoch)


def round_range(values: Iterable[Floats]) -> tuple[float, float] | None:
    """Give powers of ten, in quarters, that hold all values; None if there are none."""
    lows, highs = [], []
    for part in values:
        low, high = np.fmin.reduce(part, initial=math.inf), np.fmax.reduce(part, initial=-math.inf)
        if math.isfinite(low):
            lows.append(low)
            highs.append(high)
    if not lows:
        return None
    low = math.floor(4 * math.log10(min(lows)) - 0.1) / 4
    high = math.ceil(4 * math.log10(max(highs)) + 0.1) / 4
    return low, max(high, low + 0.5)
