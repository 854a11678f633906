"""Locks between processes that vanish with the process that holds them, however it ends."""

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
_PAUSE = 0.005  # seconds between two tries of who waits
_BUSY = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK}


class Locked(Exception):
    """Somebody else holds the lock."""


class Lock:
    """A lock on a file of its own, taken at once or not at all; the operating system gives it back."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Take the lock; raises `Locked`, or OSError where there cannot be one."""
        self.path = Path(path)
        self._descriptor = _taken(self.path)

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        """Tell whether this is the lock of a path: its folder may have been renamed since it was taken."""
        with contextlib.suppress(OSError):
            return self._descriptor >= 0 and _is(Path(path), self._descriptor)
        return False

    def follow(self, path: str | os.PathLike[str]) -> None:
        """Go on under the name that its file has now, to remove it there in the end."""
        self.path = Path(path)

    def release(self) -> None:
        """Give the lock back and remove its file; calling it twice does no harm."""
        ours = self.is_at(self.path)  # else it was renamed or removed, and another's may be there
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        if sys.platform == "win32":  # what is open cannot be removed there
            os.close(descriptor)
        if ours:
            with contextlib.suppress(OSError):
                self.path.unlink()
        if sys.platform != "win32":
            os.close(descriptor)


@contextlib.contextmanager
def turn(path: str | os.PathLike[str], patience: float) -> Iterator[None]:
    """Let one process at a time do something; whoever waits too many seconds goes on all the same."""
    taken, end = None, time.monotonic() + patience
    while taken is None and time.monotonic() < end:
        try:
            taken = Lock(path)
        except Locked:
            time.sleep(_PAUSE)
        except (
            OSError
        ):  # there can be no lock: what is to be done will tell, if it cannot be done either
            break
    try:
        yield
    finally:
        if taken is not None:
            taken.release()


def held(path: str | os.PathLike[str]) -> bool:
    """Tell whether a living process holds the lock; the file itself may be left from a dead one."""
    if not Path(path).exists():
        return False
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return True  # not ours to look at: somebody else's
    try:
        _lock(descriptor)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _taken(path: Path) -> int:
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
            if _is(path, descriptor):
                return descriptor
        os.close(
            descriptor
        )  # whoever held it has removed the file meanwhile: that lock is on nothing
    raise Locked(str(path))


def _is(path: Path, descriptor: int) -> bool:
    there, here = os.stat(path), os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
