"""Locks between processes, which end with the process that holds them, however it ends."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_ATTEMPTS = 20
# Seconds between two attempts to take a lock.
_PAUSE = 0.005
# What the system reports where another process holds the lock.
_BUSY = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK}


class Locked(Exception):
    """Another process, or another lock of this one, holds the file."""


class Lock:
    """A lock on a file of its own, taken at once or not at all.

    The operating system releases it when the process ends.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Take the lock; raise `Locked`, or OSError where there cannot be one."""
        self.path = Path(path)
        self._descriptor = _locked_descriptor(self.path)

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        """Whether this lock is on the file at a path, whose folder may have been renamed since."""
        with contextlib.suppress(OSError):
            return self._descriptor >= 0 and _is_open_as(Path(path), self._descriptor)
        return False

    def follow(self, path: str | os.PathLike[str]) -> None:
        """Take over the name that the file has now, under which it will be removed."""
        self.path = Path(path)

    def release(self) -> None:
        """Release the lock and remove its file; calling it twice does no harm."""
        # If the file was renamed or removed, another lock may have its name now.
        ours = self.is_at(self.path)
        descriptor = self._descriptor
        self._descriptor = -1
        if descriptor < 0:
            return
        # Windows cannot remove an open file; elsewhere it must go before somebody else takes it.
        if sys.platform == "win32":
            os.close(descriptor)
        if ours:
            with contextlib.suppress(OSError):
                self.path.unlink()
        if sys.platform != "win32":
            os.close(descriptor)


@contextlib.contextmanager
def one_at_a_time(path: str | os.PathLike[str], patience: float) -> Iterator[None]:
    """Let one process at a time run the block; after `patience` seconds it runs all the same."""
    lock = None
    end = time.monotonic() + patience
    while lock is None and time.monotonic() < end:
        try:
            lock = Lock(path)
        except Locked:
            time.sleep(_PAUSE)
        except OSError:
            # There can be no lock here; if nothing can be written either, the block will fail.
            break
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def _locked_descriptor(path: Path) -> int:
    """Open the file and lock it; the descriptor keeps the lock."""
    for _ in range(_ATTEMPTS):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(descriptor)
        except OSError as error:
            os.close(descriptor)
            if error.errno not in _BUSY:
                with contextlib.suppress(OSError):
                    path.unlink()
                raise
            raise Locked(str(path)) from error
        with contextlib.suppress(FileNotFoundError):
            if _is_open_as(path, descriptor):
                return descriptor
        # Whoever held it has removed the file meanwhile, so this lock is on no file: try again.
        os.close(descriptor)
    raise Locked(str(path))


def _is_open_as(path: Path, descriptor: int) -> bool:
    """Whether a path leads to the file that a descriptor has open."""
    return os.path.samestat(os.stat(path), os.fstat(descriptor))


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
