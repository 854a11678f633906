"""One measured number and the bound it is held against."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Figure:
    """One measured number, and the bound it is held against."""

    name: str
    value: float
    unit: str
    least: float | None = None
    most: float | None = None

    @property
    def wanted(self) -> str:
        """The bound in words, with a mark where it is missed."""
        bounds = [f"≥ {self.least:g}"] if self.least is not None else []
        bounds += [f"≤ {self.most:g}"] if self.most is not None else []
        return " ".join(bounds) + ("" if self.met else "  MISSED")

    @property
    def met(self) -> bool:
        """Whether the bound holds."""
        above = self.least is None or self.value >= self.least
        return above and (self.most is None or self.value <= self.most)


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
