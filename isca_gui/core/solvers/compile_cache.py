"""Compiled loops kept for the next start, by several processes at once.

numba numbers the files of a function's signatures, and notes them in an index that it reads, changes and
writes back. Two processes that do so at the same moment could give one number to both: the index would then
lead to code for another type of array.

What is kept only saves time: where it cannot be read or written, loops are compiled anew.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numba

from isca_gui.core.storage.lock import one_at_a_time

_PATIENCE = 10.0  # seconds; it takes milliseconds


def kept(function: Any, **how: Any) -> Any:
    """Compile a function when it is first called, and keep that for the next start if there is a place."""
    try:
        return shared(numba.njit(function, cache=True, **how))
    except RuntimeError:  # no folder that may be written, as for a service without a home
        return numba.njit(function, **how)


def shared(function: Any) -> Any:
    """Let one process at a time read or write the files of a compiled function."""
    cache = getattr(function, "_cache", None)
    found = getattr(cache, "_cache_file", None)  # none where numba is told not to compile
    if cache is not None and found is not None:
        cache._cache_file = _InTurn(found, Path(cache.cache_path, ".lock"))
    return function


class _InTurn:
    """What numba asks of the files of a function."""

    def __init__(self, found: Any, lock: Path) -> None:
        self._files, self._lock = found, lock

    def load(self, key: Any) -> Any:
        with contextlib.suppress(OSError), one_at_a_time(self._lock, _PATIENCE):
            return self._files.load(key)
        return None

    def save(self, key: Any, data: Any) -> None:
        # The disk may be full.
        with contextlib.suppress(OSError), one_at_a_time(self._lock, _PATIENCE):
            self._files.save(key, data)

    def flush(self) -> None:
        with one_at_a_time(self._lock, _PATIENCE):
            self._files.flush()
