"""How often work that is not saved is put into safety."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_USUAL = 20.0  # seconds: with the time it takes to write, never more than half a minute is lost
_VARIABLE = "ISCA_AUTOSAVE_SECONDS"  # for tests, which cannot wait that long


def interval() -> float:
    """Give the seconds between two times."""
    try:
        return max(float(os.environ.get(_VARIABLE, _USUAL)), 0.05)
    except ValueError:
        return _USUAL


def every(seconds: float) -> Callable[[], bool]:
    """Give a function that says True once in so many seconds, the first time after as many."""
    last = time.monotonic()

    def due() -> bool:
        nonlocal last
        now = time.monotonic()
        if now - last < seconds:
            return False
        last = now
        return True

    return due
