"""Writing files and folders so that a crash at any moment leaves the old or the new one, never a part."""

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

_PARTIAL, _ASIDE = ".partial", ".aside"
_CANNOT_BE_FLUSHED = {
    errno.EACCES,
    errno.EPERM,
    errno.EINVAL,
    errno.EBADF,
    errno.ENOTSUP,
    errno.ENOSYS,
}
# What file managers put into any folder that they show.
_LEFT_BY_SYSTEMS = {"thumbs.db", "ehthumbs.db", "desktop.ini", ".ds_store", ".directory"}
_LONGEST_NAME = 60  # bytes of a target's name in those beside it; file systems allow 255 in all


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `path` when the block ends, and vanishes when it fails.

    Temporary file beside the target, fsync, replace, fsync of the folder. The new file gets the permissions
    of the one it replaces, else those any new file would get; a symbolic link is written through. What is
    no ordinary file is not replaced.
    """
    target = Path(os.path.realpath(path))
    _check_ordinary(target)
    remove_leftovers(target)
    temporary = _sibling(target)
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
    )
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
            error.filename = os.fspath(
                path
            )  # a disk that is full does not say which file it is about
        raise
    sync_folder(target.parent)


def _check_ordinary(target: Path) -> None:
    """Refuse a folder, and a pipe or device, which others have open: they would go on with the old one."""
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
    """Give a temporary folder that takes the place of `path` when the block ends.

    The folder that stood there is removed only after the new one has its name and its permissions. It is
    another folder then: see `is_current_folder`.
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
    sync_folder(target.parent)


@contextlib.contextmanager
def folder_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty hidden folder beside `path`, on the same drive, for as long as the block lasts.

    What a killed process has left of one goes when `path` is next written.
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
    """Put a folder back that a process killed between the renames of `_take_place` left under another name.

    To be called before it is decided whether anything stands at `path`. A process that is alive and just
    between its renames fails with an error then; nothing is lost.
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
            os.rename(max(found, key=lambda entry: entry.stat().st_ctime_ns), target)


def is_left_by_system(name: str) -> bool:
    """Tell whether a file of this name says how a folder looks, and is nobody's work."""
    return name.casefold() in _LEFT_BY_SYSTEMS or name.startswith("._")


def is_content(name: str) -> bool:
    """Tell whether a name in a folder is a part of what the folder holds: hidden files are not."""
    return not name.startswith(".") and not is_left_by_system(name)


def command_line(words: Sequence[str], windows: bool = os.name == "nt") -> str:
    """Write words so that a shell reads the same words; that of Windows knows double quotes only."""
    return " ".join(map(_quoted, words)) if windows else shlex.join(words)


def _quoted(word: str) -> str:
    """Quote a word as programs for Windows read it: a backslash counts only before a quote."""
    if re.fullmatch(r"[\w./\\:=+-]+", word):
        return word
    inside = re.sub(r'(\\*)"', r'\1\1\\"', word)
    inside = re.sub(r"(\\+)$", r"\1\1", inside)
    return f'"{inside}"'


def as_word(path: str) -> str:
    """Write a name for a command line: one that begins with a dash would be taken for an option."""
    return f"./{path}" if path.startswith("-") else path


def is_current_folder(path: str | os.PathLike[str]) -> bool:
    """Tell whether `path` is the current folder; replaced, it would be gone under the user's feet."""
    try:
        return os.path.samefile(path, os.curdir)
    except OSError:
        return False


def remove_leftovers(target: Path) -> None:
    """Remove what a killed process of this machine left half-written beside `target`."""
    prefix = _prefix(target)
    with contextlib.suppress(OSError, ValueError, OverflowError):  # names that only look like ours
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
    """Make the names in a folder durable; where the system has no way to (Windows) there is nothing to do.

    Nor where the folder may be written but not read, or is on a drive whose folders cannot be flushed: what
    was to be written is there.
    """
    if os.name != "posix":
        return
    try:
        _sync(folder)
    except OSError as error:
        if error.errno not in _CANNOT_BE_FLUSHED:
            raise


def _sibling(target: Path) -> Path:
    return target.with_name(f"{_prefix(target)}{os.getpid()}-{uuid.uuid4().hex[:8]}{_PARTIAL}")


def _prefix(target: Path) -> str:
    """Begin the names of this machine's temporary files and folders for `target`."""
    return f".{_short(target.name)}.{socket.gethostname()}-"


def _short(name: str) -> str:
    """Shorten a long name, with a checksum that tells it from others that begin alike."""
    encoded = os.fsencode(name)
    if len(encoded) <= _LONGEST_NAME:
        return name
    return f"{encoded[: _LONGEST_NAME - 9].decode('utf-8', 'ignore')}~{zlib.crc32(encoded):08x}"


def _sync(path: Path) -> None:
    # Windows flushes only what is open for writing; POSIX also what may only be read.
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _alive(process: int) -> bool:
    if os.name != "posix":
        return True  # os.kill would end the process there; a leftover is the lesser evil
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _take_place(temporary: Path, target: Path) -> None:
    """Give `temporary` the name `target`; afterwards `temporary` is what stood there before, if anything."""
    if not target.exists():
        os.rename(temporary, target)
    elif not _exchange(temporary, target):
        # Never taken for a leftover: until the second rename it is the only copy, see `restore_folder`.
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
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(renameat2(here, os.fsencode(first), here, os.fsencode(second), exchange) == 0)
