"""A project in one file, to send or to keep: `NAME.iscaproj.zip` with its document and all its files.

The files are not compressed: what a packed project claims to hold is never more than what is there. Each is
checked against its SHA-256 when the project is loaded.
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
from isca_gui.core.projects.project import FILES, SUFFIX, one_error, read
from isca_gui.core.storage import files
from isca_gui.core.storage.json_types import Fault

if TYPE_CHECKING:
    from collections.abc import Generator

PACKED = f"{SUFFIX}.zip"
_MOST = 100_000  # files
_PIECE = 1 << 20  # bytes copied at a time
_NAME = re.compile(
    r"[\w .()+-]*[\w()+-]"
)  # of a folder or file; nothing that means something to a system
_WHEN = (1980, 1, 1, 0, 0, 0)  # the same project gives the same file


def pack(
    project: str | os.PathLike[str], target: str | os.PathLike[str]
) -> Generator[Progress, None, None]:
    """Write a project, given by its `.iscaproj` file, with all its files into one."""
    document = Path(os.path.realpath(project))
    found = read(document)
    with one_error(target, "save"):
        if not os.fspath(target).endswith(PACKED):
            raise Fault(f"its name does not end in {PACKED}")
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
                    shutil.copyfileobj(source, part, _PIECE)


def _entry(name: str, size: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _WHEN)
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    entry.file_size = size
    return entry


def _files(path: Path) -> list[Path]:
    """Give a file, or all files of a dataset; what systems leave behind there is none of it."""
    if not path.is_dir():
        return [path]
    return sorted(each for each in path.iterdir() if files.is_content(each.name))


def unpack(
    packed: str | os.PathLike[str], folder: str | os.PathLike[str]
) -> Generator[Progress, None, Path]:
    """Take a packed project apart, into an empty folder, and give its `.iscaproj` file there."""
    target = Path(folder)
    with one_error(packed, "open"):
        if not stat.S_ISREG(os.stat(packed).st_mode):  # a pipe would keep us waiting for ever
            raise Fault("it is not a file")
        try:
            with zipfile.ZipFile(packed) as archive:
                document = yield from _extract(archive, os.stat(packed).st_size, target)
        except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError) as error:
            raise Fault("it is damaged, or no packed project") from error
    return document


def _extract(archive: zipfile.ZipFile, size: int, target: Path) -> Generator[Progress, None, Path]:
    entries = archive.infolist()
    _check(entries, size)
    for place, entry in enumerate(entries):
        yield Progress(place, len(entries), "unpacking")
        path = target.joinpath(*entry.filename.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, path.open("xb") as stream:
            shutil.copyfileobj(source, stream, _PIECE)
    return next(target / entry.filename for entry in entries if entry.filename.endswith(SUFFIX))


def _check(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse whatever could be written elsewhere, or be more than it seems, before anything is written."""
    names = [entry.filename for entry in entries]
    if len(names) > _MOST or len({name.casefold() for name in names}) < len(names):
        raise Fault("its files make no sense")
    documents = [name for name in names if "/" not in name]
    if len(documents) != 1 or not documents[0].endswith(SUFFIX):
        raise Fault("it holds no project")
    begin = f"{documents[0].removesuffix(SUFFIX)}{FILES}"
    for entry in entries:
        first, *rest = parts = entry.filename.split("/")
        if not all(_NAME.fullmatch(part) for part in parts) or (rest and first != begin):
            raise Fault(f"it holds a file that is none of a project, '{entry.filename[:80]}'")
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if (
            entry.compress_type != zipfile.ZIP_STORED
            or entry.flag_bits & 1
            or kind not in (0, stat.S_IFREG)
        ):
            raise Fault(
                "another program has packed it; take it apart with that, and open the project in it"
            )
    if sum(entry.file_size for entry in entries) > size:
        raise Fault("it is damaged, or no packed project")
