"""How often unsaved work is autosaved, and a training reports its state for that."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds: with the time that writing takes, never more than half a minute of work is lost.
_DEFAULT = 20.0
_SHORTEST = 0.05
# Tests cannot wait that long.
_VARIABLE = "ISCA_AUTOSAVE_SECONDS"


def autosave_interval() -> float:
    """Return the seconds between two autosaves."""
    try:
        return max(float(os.environ.get(_VARIABLE, _DEFAULT)), _SHORTEST)
    except ValueError:
        return _DEFAULT


def due_every(seconds: float) -> Callable[[], bool]:
    """Return a function that returns True once in so many seconds, the first time after as many."""
    last = time.monotonic()

    def due() -> bool:
        nonlocal last
        now = time.monotonic()
        if now - last < seconds:
            return False
        last = now
        return True

    return due
