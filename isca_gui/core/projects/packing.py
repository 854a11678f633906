"""A project packed into one file, `NAME.iscaproj.zip`, to send or to archive.

The files in it are not compressed, so unpacking never needs more space than the archive has. Each
is checked against its SHA-256 when the project is loaded.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from isca_gui.core.progress import Progress
from isca_gui.core.projects.document import stored_files
from isca_gui.core.projects.project import FILES, SUFFIX, project_errors, read
from isca_gui.core.storage import files
from isca_gui.core.storage.json_types import Fault

if TYPE_CHECKING:
    from collections.abc import Generator

PACKED = f"{SUFFIX}.zip"
_MOST_FILES = 100_000
_NOT_PACKED = "it is damaged or is not a packed project"
# Bytes copied at a time, between two reports of progress.
_CHUNK = 1 << 20
# Names of files and folders, without characters that have a meaning on any system.
_NAME = re.compile(r"[\w .()+-]*[\w()+-]")
# A fixed date, so that the same project gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


def pack(
    project: str | os.PathLike[str], target: str | os.PathLike[str]
) -> Generator[Progress, None, None]:
    """Pack a project, given by its `.iscaproj` file, with all its files into one file."""
    document = Path(os.path.realpath(project))
    found = read(document)
    with project_errors(target, "save"):
        if not os.fspath(target).endswith(PACKED):
            raise Fault(f"its name must end in {PACKED}")
        names = {document: f"project{SUFFIX}"}
        for stored in stored_files(found):
            for path in _files(Path(found.folder, stored.file)):
                names[path] = f"project{FILES}/{path.relative_to(found.folder).as_posix()}"
        entries = {path: _entry(name, path.stat().st_size) for path, name in names.items()}
        _check(list(entries.values()), sum(entry.file_size for entry in entries.values()))
        with files.replacing(target) as stream, zipfile.ZipFile(stream, "w") as packed:
            for place, (path, entry) in enumerate(entries.items()):
                yield Progress(place, len(entries), "packing")
                with path.open("rb") as source, packed.open(entry, "w") as part:
                    shutil.copyfileobj(source, part, _CHUNK)


def _entry(name: str, size: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    entry.file_size = size
    return entry


def _files(path: Path) -> list[Path]:
    """Return a file, or all files of a dataset folder except those that systems leave there."""
    if not path.is_dir():
        return [path]
    return sorted(each for each in path.iterdir() if files.is_content(each.name))


def unpack(
    packed: str | os.PathLike[str], folder: str | os.PathLike[str]
) -> Generator[Progress, None, Path]:
    """Unpack a project into an empty folder and return its `.iscaproj` file there."""
    target = Path(folder)
    with project_errors(packed, "open"):
        # Reading a pipe could block forever.
        if not stat.S_ISREG(os.stat(packed).st_mode):
            raise Fault("it is not a file")
        try:
            with zipfile.ZipFile(packed) as archive:
                document = yield from _extract(archive, os.stat(packed).st_size, target)
        except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError) as error:
            raise Fault(_NOT_PACKED) from error
    return document


def _extract(archive: zipfile.ZipFile, size: int, target: Path) -> Generator[Progress, None, Path]:
    entries = archive.infolist()
    _check(entries, size)
    for place, entry in enumerate(entries):
        yield Progress(place, len(entries), "unpacking")
        path = target.joinpath(*entry.filename.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, path.open("xb") as stream:
            shutil.copyfileobj(source, stream, _CHUNK)
    return next(target / entry.filename for entry in entries if entry.filename.endswith(SUFFIX))


def _check(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse an archive that could write outside its folder, or more bytes than its own `size`."""
    names = [entry.filename for entry in entries]
    # Some systems take names that differ only in case for the same file.
    if len(names) > _MOST_FILES or len({name.casefold() for name in names}) < len(names):
        raise Fault("it holds too many files, or the same file twice")
    documents = [name for name in names if "/" not in name]
    if len(documents) != 1 or not documents[0].endswith(SUFFIX):
        raise Fault("it does not hold a project")
    folder = f"{documents[0].removesuffix(SUFFIX)}{FILES}"
    for entry in entries:
        _check_entry(entry, folder)
    if sum(entry.file_size for entry in entries) > size:
        raise Fault(_NOT_PACKED)


def _check_entry(entry: zipfile.ZipInfo, folder: str) -> None:
    first, *rest = parts = entry.filename.split("/")
    if not all(_NAME.fullmatch(part) for part in parts) or (rest and first != folder):
        raise Fault(f"it holds '{entry.filename[:80]}', which is not part of a project")
    is_compressed = entry.compress_type != zipfile.ZIP_STORED
    is_encrypted = bool(entry.flag_bits & 1)
    is_file = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
    if is_compressed or is_encrypted or not is_file:
        raise Fault(
            "it was packed by another program; unpack it with that and open the project inside"
        )
