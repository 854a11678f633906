"""Writing files and folders so that a crash at any moment leaves the old or the new one, never a part."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import socket
import sys
import uuid
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PARTIAL = ".partial"


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `path` when the block ends, and vanishes when it fails.

    Temporary file beside the target, fsync, replace, fsync of the folder. The new file gets the permissions
    of the one it replaces, else those any new file would get; a symbolic link is written through.
    """
    target = Path(os.path.realpath(path))
    remove_leftovers(target)
    temporary = _sibling(target)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            with contextlib.suppress(FileNotFoundError):
                shutil.copymode(target, temporary)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(target.parent)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 text file atomically, with the same bytes on every system."""
    with replacing(path) as stream:
        stream.write(text.encode("utf-8"))


@contextlib.contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary folder that takes the place of `path` when the block ends.

    The folder that stood there is removed only after the new one has its name.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(target)
    temporary = _sibling(target)
    temporary.mkdir()
    try:
        yield temporary
        for folder, _, names in os.walk(temporary):
            for name in names:
                _sync(Path(folder, name))
            sync_folder(Path(folder))
        _take_place(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    sync_folder(target.parent)


def remove_leftovers(target: Path) -> None:
    """Remove what a killed process of this machine left half-written beside `target`."""
    prefix = f".{_short(target.name)}.{socket.gethostname()}-"
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
    """Make the names in a folder durable; where folders cannot be opened (Windows) there is nothing to do."""
    if os.name == "posix":
        _sync(folder)


def _sibling(target: Path) -> Path:
    owner = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    return target.with_name(f".{_short(target.name)}.{owner}{_PARTIAL}")


def _short(name: str) -> str:
    """Keep the beginning of a name: names are limited to 255 bytes on common file systems."""
    return os.fsencode(name)[:60].decode("utf-8", "ignore")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
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
        aside = _sibling(target).with_suffix(".aside")  # never taken for a leftover: it may be the only copy
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
