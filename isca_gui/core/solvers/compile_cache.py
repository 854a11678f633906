"""Keep compiled loops for the next start, also with several processes at once.

numba numbers the files of a function's signatures, and notes them in an index that it reads,
changes and writes back. Two processes that do so at the same moment could give the same number to
two signatures: the index would then lead to code for another type of array. So one process at a
time reads or writes.

The cache only saves time: where it cannot be read or written, loops are compiled anew. numba does
not check what it reads, and would run whatever machine code a damaged file holds. So beside every
file of code lies its checksum, and only a file that has it is read.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Any

import numba

from isca_gui.core.storage.lock import one_at_a_time

# Seconds to wait for another process; its turn takes milliseconds.
_PATIENCE = 10.0


def kept(function: Any, **options: Any) -> Any:
    """Compile a function when it is first called, and keep the code if possible."""
    try:
        return shared(numba.njit(function, cache=True, **options))
    except RuntimeError:
        # There is no folder that may be written, as for a service without a home.
        return numba.njit(function, **options)


def shared(function: Any) -> Any:
    """Let one process at a time read or write the files of a compiled function."""
    cache = getattr(function, "_cache", None)
    # There are no files where numba is told not to compile.
    files = getattr(cache, "_cache_file", None)
    if cache is not None and files is not None:
        cache._cache_file = _OneAtATime(files, Path(cache.cache_path, ".lock"))
    return function


class _OneAtATime:
    """What numba asks of the files of a function: under a lock, and only if they are sound."""

    def __init__(self, files: Any, lock: Path) -> None:
        self._files = files
        self._lock = lock
        self._folder = lock.parent

    # Of a damaged file numba raises whatever reading it leads to.
    def load(self, key: Any) -> Any:
        with contextlib.suppress(Exception), one_at_a_time(self._lock, _PATIENCE):
            name = self._files._load_index().get(key)
            if name is not None and _checksum(self._folder / name) == self._noted(name):
                return self._files.load(key)
        return None

    def save(self, key: Any, data: Any) -> None:
        # The disk may be full.
        with contextlib.suppress(OSError), one_at_a_time(self._lock, _PATIENCE):
            try:
                name = self._files._load_index().get(key)
            except Exception:  # noqa: BLE001 - a damaged index raises anything at all
                self._files.flush()
                name = None
            if name is not None:
                # The old checksum must not vouch for half of a new file.
                self._note(name).unlink(missing_ok=True)
            self._files.save(key, data)
            name = self._files._load_index()[key]
            self._note(name).write_text(_checksum(self._folder / name), encoding="ascii")

    def flush(self) -> None:
        with one_at_a_time(self._lock, _PATIENCE):
            self._files.flush()

    def _note(self, name: str) -> Path:
        return self._folder / f"{name}.sha256"

    def _noted(self, name: str) -> str:
        return self._note(name).read_text(encoding="ascii")


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
