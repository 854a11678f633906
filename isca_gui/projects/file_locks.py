"""Who may write a project's file: one window at a time."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from isca_gui.core.storage.lock import Lock, Locked

_WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}


class ProjectLocks:
    """The lock of the file that the work belongs to, and that of the file which is being written."""

    def __init__(self) -> None:
        self._own: Lock | None = None
        self._next: Lock | None = None  # of the file that is being written

    def take(self, path: str) -> tuple[Lock | None, str]:
        """Take the lock of a project file, or say why it cannot be had."""
        place = lock_of(path)
        for ours in (self._own, self._next):
            if ours is not None and ours.is_at(place):
                ours.follow(place)
                return ours, ""
        self.set_next(None)
        try:
            return Lock(place), ""
        except Locked:
            return None, (
                f"'{path}' is open in another window of ISCA Studio. Here it can be looked at and "
                "changed; Save asks for another file for as long as it is open there."
            )
        except OSError as error:
            if (
                error.errno in _WITHOUT_LOCKS
            ):  # some network drives: better unguarded than never saved
                return None, ""
            why = error.strerror or error
            return None, f"'{path}' cannot be written here ({why}); Save asks for another file."

    def set_next(self, lock: Lock | None) -> None:
        """Note the lock of the file that is being written; the one noted before is given free."""
        old, self._next = self._next, lock
        self.release(old)

    def set_own(self, lock: Lock | None) -> None:
        """Note the lock of the file that the work belongs to; the one before is given free."""
        old, self._own = self._own, lock
        self.release(old)

    def release(self, lock: Lock | None) -> None:
        """Give a lock free unless it is that of the file which the work belongs to, or is written to."""
        if lock is not None and lock not in (self._own, self._next):
            lock.release()


def file_mark(path: str) -> object:
    """Give what differs after a file was written anew; None where it cannot be looked at.

    Not its inode: on a memory stick (FAT) the same file may have another one a while later.
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def lock_of(path: str) -> Path:
    """Give the file whose lock is that of a project: hidden, beside it."""
    real = Path(os.path.realpath(path))
    return real.with_name(f".{real.name}.lock")
