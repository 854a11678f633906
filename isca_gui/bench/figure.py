"""One measured number and its bound."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Figure:
    """One measured number, and the least or the most it should be."""

    name: str
    value: float
    unit: str
    least: float | None = None
    most: float | None = None

    @property
    def wanted(self) -> str:
        """The bound in words, with a mark where it is missed."""
        bounds = []
        if self.least is not None:
            bounds.append(f"≥ {self.least:g}")
        if self.most is not None:
            bounds.append(f"≤ {self.most:g}")
        mark = "" if self.met else "  MISSED"
        return " ".join(bounds) + mark

    @property
    def met(self) -> bool:
        """Whether the bound holds."""
        above = self.least is None or self.value >= self.least
        return above and (self.most is None or self.value <= self.most)


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
