"""Who may write a project's file: one window at a time."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from isca_gui.core.storage.lock import Lock, Locked

# Some network drives have no locks: better to write unguarded there than never.
_WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}


class ProjectLocks:
    """The lock of the project's own file, and that of the file which is being written."""

    def __init__(self) -> None:
        self._own: Lock | None = None
        self._next: Lock | None = None

    def take(self, path: str) -> tuple[Lock | None, str]:
        """Take the lock of a project file; return it, and why it cannot be had."""
        place = lock_of(path)
        for ours in (self._own, self._next):
            if ours is not None and ours.is_at(place):
                # The folder may have been renamed since the lock was taken.
                ours.follow(place)
                return ours, ""
        self.set_next(None)
        try:
            return Lock(place), ""
        except Locked:
            return None, (
                f"'{path}' is open in another window of ISCA Studio. You can view and change it "
                "here, but Save will ask for another file until that window has closed it."
            )
        except OSError as error:
            if error.errno in _WITHOUT_LOCKS:
                return None, ""
            reason = error.strerror or error
            cannot = f"'{path}' cannot be written here ({reason})"
            return None, f"{cannot}. Save will ask for another file."

    def set_next(self, lock: Lock | None) -> None:
        """Set the lock of the file that is being written; the one before is released."""
        old = self._next
        self._next = lock
        self.release(old)

    def set_own(self, lock: Lock | None) -> None:
        """Set the lock of the project's own file; the one before is released."""
        old = self._own
        self._own = lock
        self.release(old)

    def release(self, lock: Lock | None) -> None:
        """Release a lock that is neither the own file's nor that of the one being written."""
        if lock is not None and lock not in (self._own, self._next):
            lock.release()


def file_version(path: str) -> object:
    """Return what differs after a file was written again; None where it cannot be looked at.

    It is not the inode: on a memory stick (FAT) the same file may have another one a while later.
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def lock_of(path: str) -> Path:
    """Return the lock file of a project: hidden, beside it."""
    real = Path(os.path.realpath(path))
    return real.with_name(f".{real.name}.lock")
