"""Compiled loops kept for the next start, by several processes at once.

numba numbers the files of a function's signatures, and notes them in an index that it reads, changes and
writes back. Two processes that do so at the same moment could give one number to both: the index would then
lead to code for another type of array.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache

from isca_gui.core.lock import turn

_PATIENCE = 10.0  # seconds; it takes milliseconds


def shared(dispatcher: Any) -> Any:
    """Let one process at a time read or write what is kept of a compiled function."""
    dispatcher._cache = _Shared(dispatcher.py_func)  # type: ignore[no-untyped-call]  # as enable_caching does
    return dispatcher


class _Shared(FunctionCache):
    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with turn(Path(self.cache_path, ".lock"), _PATIENCE):
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        with turn(Path(self.cache_path, ".lock"), _PATIENCE):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
