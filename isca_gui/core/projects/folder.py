"""The folder of a project's files: each named by what it holds, written once, removed when not needed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from isca_gui.core.distortion import dataset_folder
from isca_gui.core.model import model_file
from isca_gui.core.pictures import image
from isca_gui.core.projects.document import Project, Stored, stored_files
from isca_gui.core.storage import files
from isca_gui.core.storage.json_types import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.distortion.distortions import Picture
    from isca_gui.core.model.model import Model
    from isca_gui.core.progress import Progress

SUFFIX, FILES = ".iscaproj", ".files"
# What this module puts into the folder, and nothing else: only that is ever removed.
_OURS = re.compile(
    r"models/([0-9a-f]{16}|incoming-\d+)\.isca|pictures/([0-9a-f]{16}|incoming-\d+)\.tiff"
    r"|dataset-[0-9a-f]{16}|incoming-\d+-dataset|((models|pictures)/)?\.(incoming|dataset)-.*\.partial"
)


class Shelf:
    """The folder of a project's files, while it is being filled."""

    def __init__(self, folder: Path, source: str) -> None:
        self.folder = folder
        self._source = Path(source) if source else folder  # of what is stored already
        self._added_files: list[Path] = []  # none of these was there before, nor of the folders
        self._added_folders: list[Path] = []
        self._make(folder)

    def model(self, model: Model | None, stored: Stored | None, what: str) -> Stored:
        """Put a model there, or the file that holds it already."""
        if model is None:
            return self.carried(stored, what)
        return self._added(
            "models", model_file.SUFFIX, lambda path: model_file.save_model(path, model)
        )

    def picture(self, picture: Picture | None, stored: Stored | None, what: str) -> Stored:
        """Put a picture there, or the file that holds it already."""
        if picture is None:
            return self.carried(stored, what)
        return self._added("pictures", ".tiff", lambda path: image.save_tiff(path, picture))

    def dataset(
        self, dataset: Dataset, known: Iterable[Stored | None]
    ) -> Generator[Progress, None, Stored]:
        """Put a dataset there, unless one of those known is the same and whole."""
        name = f"dataset-{_dataset_key(dataset)}"
        for stored in known:
            if stored is not None and stored.file == name and is_whole(self.folder / name, stored):
                return stored
        incoming = self._incoming("-dataset")
        yield from dataset_folder.save(dataset, incoming)
        return self._put(incoming, Stored(name, sha256(incoming)))

    def carried(self, stored: Stored | None, what: str) -> Stored:
        """Take a file over from the folder in which the project was."""
        if stored is None:
            raise Fault(f"{what} is neither given nor stored")
        source, here = self._source / stored.file, self.folder / stored.file
        if not source.exists():
            raise Fault(f"'{source}', {what}, is not there")
        if here.exists() and os.path.samefile(source, here):
            return stored
        incoming = self._incoming("-dataset") if source.is_dir() else self._incoming(source.suffix)
        _copy(source, incoming)
        if sha256(incoming) != stored.sha256:
            raise Fault(f"'{source}', {what}, was altered")
        return self._put(incoming, stored)

    def take_back(self) -> None:
        """Remove all that was put here, and nothing that was there before; that never fails."""
        for path in self._added_files:
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for folder in reversed(self._added_folders):
            with contextlib.suppress(OSError):  # others have put something there
                folder.rmdir()

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            folder.mkdir()
            self._added_folders.append(folder)

    def _incoming(self, suffix: str) -> Path:
        """Give a name for what is not known by its contents yet, with nothing there."""
        kind = {model_file.SUFFIX: "models", ".tiff": "pictures"}.get(suffix, "")
        incoming = self.folder / kind / f"incoming-{os.getpid()}{suffix}"
        self._make(incoming.parent)
        if incoming.is_dir():
            shutil.rmtree(incoming)
        self._added_files.append(incoming)
        return incoming

    def _added(self, kind: str, suffix: str, write: Callable[[Path], None]) -> Stored:
        incoming = self._incoming(suffix)
        write(incoming)
        digest = sha256(incoming)
        return self._put(incoming, Stored(f"{kind}/{digest[:16]}{suffix}", digest))

    def _put(self, incoming: Path, stored: Stored) -> Stored:
        place = self.folder / stored.file
        if not place.exists():
            self._added_files.append(place)
        if not incoming.is_dir():
            self._make(place.parent)
            os.replace(incoming, place)
            files.sync_folder(place.parent)
            files.sync_folder(self.folder)
        elif is_whole(place, stored):
            shutil.rmtree(incoming)
        else:
            with files.replacing_folder(place) as temporary:
                for entry in incoming.iterdir():
                    os.replace(entry, temporary / entry.name)
            incoming.rmdir()
        return stored


def clean(target: Path, project: Project) -> None:
    """Remove what neither this project nor another one beside it refers to; that never fails a save."""
    keep = {stored.file for stored in stored_files(project)}
    with contextlib.suppress(OSError):
        for other in target.parent.glob(f"*{SUFFIX}"):
            if other != target:
                keep |= {found[0] for found in _OURS.finditer(other.read_text("utf-8", "replace"))}
        folder = Path(project.folder)
        for entry in [*folder.iterdir(), *folder.glob("models/*"), *folder.glob("pictures/*")]:
            name = entry.relative_to(folder).as_posix()
            if _OURS.fullmatch(name) and name not in keep:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _dataset_key(dataset: Dataset) -> str:
    """Name a dataset by all that it holds."""
    entries = [
        (
            each.label,
            float(each.target_mse),
            float(each.achieved_mse),
            float(each.strength),
            int(each.seed),
        )
        for each in dataset.entries
    ]
    missed = [
        (each.kind, float(each.target_mse), float(each.maximum_mse)) for each in dataset.unreachable
    ]
    spec = dataset.spec and (
        dataset.spec.kinds,
        [float(x) for x in dataset.spec.levels],
        dataset.spec.seed,
    )
    return hashlib.sha256(repr((dataset.digest(), entries, spec, missed)).encode()).hexdigest()[:16]


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target)
        return
    with open(source, "rb") as stream, files.replacing(target) as copy:
        shutil.copyfileobj(stream, copy)


def is_whole(path: Path, stored: Stored) -> bool:
    """Tell whether a file or folder is there and is what was stored."""
    try:
        return sha256(path) == stored.sha256
    except OSError:
        return False


def sha256(path: Path) -> str:
    """Give the SHA-256 of a file; that of a folder is over the names and SHA-256 of its files."""
    if not path.is_dir():
        return _file_sha256(path)
    names = sorted(each.name for each in path.iterdir() if files.is_content(each.name))
    lines = "".join(f"{_file_sha256(path / name)}  {name}\n" for name in names)
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()


def _file_sha256(path: Path) -> str:
    if not path.is_file():  # a pipe would keep us waiting for ever
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
