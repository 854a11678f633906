"""Writes files and folders so that a crash at any moment leaves the old or the new one, whole."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import shlex
import shutil
import socket
import stat
import sys
import uuid
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Endings of what is being written, and of a folder between the two renames that replace it.
_PARTIAL = ".partial"
_ASIDE = ".aside"
# Errors by which a system says that it cannot flush a folder at all.
_CANNOT_BE_FLUSHED = {
    errno.EACCES,
    errno.EPERM,
    errno.EINVAL,
    errno.EBADF,
    errno.ENOTSUP,
    errno.ENOSYS,
}
# What file managers leave in any folder that they show.
_LEFT_BY_SYSTEMS = {"thumbs.db", "ehthumbs.db", "desktop.ini", ".ds_store", ".directory"}
# Bytes of a target's name in the names of its temporary files; file systems allow 255 in all.
_LONGEST_NAME = 60


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that replaces `path` when the block ends, and is removed when the block fails.

    A temporary file beside the target is written, flushed and renamed, then its folder is flushed.
    The new file gets the permissions of the one it replaces, or those of any new file; a symbolic
    link is written through. Folders, pipes and devices are not replaced.
    """
    target = Path(os.path.realpath(path))
    _check_ordinary(target)
    remove_leftovers(target)
    temporary = _sibling(target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            with contextlib.suppress(FileNotFoundError):
                shutil.copymode(target, temporary)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            # The error of a full disk does not name the file.
            error.filename = os.fspath(path)
        raise
    _sync_new_name(target)


def _check_ordinary(target: Path) -> None:
    """Raise OSError for a folder, a pipe or a device.

    Whoever has a pipe or device open would keep the old one.
    """
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(target).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "It is a pipe or device, not an ordinary file", str(target))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 text file atomically, with the same bytes on every system."""
    with replacing(path) as stream:
        stream.write(text.encode("utf-8"))


@contextlib.contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder that replaces `path` when the block ends.

    The old folder is removed only after the new one has its name and its permissions. The path then
    leads to another folder: see `is_current_folder`.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    restore_folder(target)
    remove_leftovers(target)
    temporary = _sibling(target)
    temporary.mkdir()
    try:
        yield temporary
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(target, temporary)
        for folder, _, names in os.walk(temporary):
            for name in names:
                _sync(Path(folder, name))
            sync_folder(Path(folder))
        _take_place(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _sync_new_name(target)


@contextlib.contextmanager
def folder_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty hidden folder beside `path`, on the same drive, until the block ends.

    What a killed process leaves of it is removed when `path` is next written.
    """
    target = Path(os.path.realpath(path))
    remove_leftovers(target)
    temporary = _sibling(target)
    temporary.mkdir()
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def restore_folder(path: str | os.PathLike[str]) -> None:
    """Rename a folder back that a process killed in `_take_place` left under another name.

    Call it before deciding whether anything is at `path`. A living process that is just between its
    two renames then fails with an error; nothing is lost.
    """
    target = Path(os.path.realpath(path))
    with contextlib.suppress(OSError):
        if os.path.lexists(target):
            return
        prefix = _prefix(target)
        found = [
            entry
            for entry in target.parent.iterdir()
            if entry.name.startswith(prefix) and entry.name.endswith(_ASIDE)
        ]
        if found:
            latest = max(found, key=lambda entry: entry.stat().st_ctime_ns)
            os.rename(latest, target)


def is_left_by_system(name: str) -> bool:
    """Whether a file of this name is left by a file manager and is nobody's work."""
    return name.casefold() in _LEFT_BY_SYSTEMS or name.startswith("._")


def is_content(name: str) -> bool:
    """Whether a name belongs to what a folder holds; hidden files do not."""
    return not name.startswith(".") and not is_left_by_system(name)


def command_line(words: Sequence[str], windows: bool = os.name == "nt") -> str:
    """Return a line that a shell splits into these words; Windows knows double quotes only."""
    if windows:
        return " ".join(map(_quoted, words))
    return shlex.join(words)


def _quoted(word: str) -> str:
    """Quote a word as programs for Windows read it: backslashes escape only before a quote."""
    if re.fullmatch(r"[\w./\\:=+-]+", word):
        return word
    # Backslashes before a quote, also before the closing one, are doubled.
    inside = re.sub(r'(\\*)"', r'\1\1\\"', word)
    inside = re.sub(r"(\\+)$", r"\1\1", inside)
    return f'"{inside}"'


def as_word(path: str) -> str:
    """Return a path for a command line, where a leading dash would make it an option."""
    return f"./{path}" if path.startswith("-") else path


def is_current_folder(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is the current folder, which a shell would lose when it is replaced."""
    try:
        return os.path.samefile(path, os.curdir)
    except OSError:
        return False


def remove_leftovers(target: Path) -> None:
    """Remove what a killed process of this machine left half-written beside `target`."""
    prefix = _prefix(target)
    # ValueError and OverflowError come from names that only look like ours.
    with contextlib.suppress(OSError, ValueError, OverflowError):
        for entry in target.parent.iterdir():
            if not (entry.name.startswith(prefix) and entry.name.endswith(_PARTIAL)):
                continue
            process = entry.name[len(prefix) :].split("-")[0]
            if process.isdigit() and not _alive(int(process)):
                if entry.is_dir():
                    shutil.rmtree(entry, ignore_errors=True)
                else:
                    entry.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable.

    Windows has no way to do this. A folder that may not be read, or whose drive cannot flush
    folders, is no failure either: what was to be written is there.
    """
    if os.name != "posix":
        return
    try:
        _sync(folder)
    except OSError as error:
        if error.errno not in _CANNOT_BE_FLUSHED:
            raise


def _sync_new_name(target: Path) -> None:
    """Make the name of what was just written durable; an error says that it is there already."""
    try:
        sync_folder(target.parent)
    except OSError as error:
        reason = f"{error.strerror}, after the new version was in place; it may not survive a crash"
        raise OSError(error.errno, reason, str(target)) from error


def _sibling(target: Path) -> Path:
    """Return a new name beside `target` for a temporary file or folder."""
    return target.with_name(f"{_prefix(target)}{os.getpid()}-{uuid.uuid4().hex[:8]}{_PARTIAL}")


def _prefix(target: Path) -> str:
    """Return how the names of this machine's temporary files for `target` begin."""
    return f".{_short(target.name)}.{socket.gethostname()}-"


def _short(name: str) -> str:
    """Shorten a long name, with a checksum to distinguish it from others that begin alike."""
    encoded = os.fsencode(name)
    if len(encoded) <= _LONGEST_NAME:
        return name
    beginning = encoded[: _LONGEST_NAME - 9].decode("utf-8", "ignore")
    return f"{beginning}~{zlib.crc32(encoded):08x}"


def _sync(path: Path) -> None:
    # Windows flushes only files opened for writing; POSIX also those that may only be read.
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _alive(process: int) -> bool:
    """Whether a process runs; always True on Windows, where asking would end it."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _take_place(temporary: Path, target: Path) -> None:
    """Rename `temporary` to `target`, and what was there before, if anything, to `temporary`."""
    if not target.exists():
        os.rename(temporary, target)
    elif not _exchange(temporary, target):
        # Until the second rename this is the only copy, so its ending is not that of a leftover;
        # `restore_folder` puts it back.
        aside = _sibling(target).with_suffix(_ASIDE)
        os.rename(target, aside)
        try:
            os.rename(temporary, target)
        except BaseException:
            os.rename(aside, target)
            raise
        os.rename(aside, temporary)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two names in one step (Linux renameat2); False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    at_fdcwd = -100
    rename_exchange = 2
    result = renameat2(at_fdcwd, os.fsencode(first), at_fdcwd, os.fsencode(second), rename_exchange)
    return bool(result == 0)
