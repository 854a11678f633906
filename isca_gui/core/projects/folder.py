"""The folder of a project's files: each is named by its contents, and deleted when unused."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from isca_gui.core.distortion import dataset_folder, dataset_recipe
from isca_gui.core.model import model_file
from isca_gui.core.pictures import image
from isca_gui.core.projects.document import Project, Stored, stored_files
from isca_gui.core.storage import files
from isca_gui.core.storage.json_types import Fault

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.distortion.distortions import Picture
    from isca_gui.core.model.model import Model
    from isca_gui.core.progress import Progress

SUFFIX = ".iscaproj"
FILES = ".files"
# The names that this module gives to files. No other file is ever deleted.
_OURS = re.compile(
    r"models/([0-9a-f]{16}|incoming-\d+)\.isca"
    r"|pictures/([0-9a-f]{16}|incoming-\d+)\.tiff"
    r"|dataset-[0-9a-f]{16}"
    r"|incoming-\d+-dataset"
    r"|((models|pictures)/)?\.(incoming|dataset)-.*\.partial"
)


class FolderWriter:
    """Writes the files of a project into its folder.

    A file is first written under the name "incoming", and renamed when its SHA-256 is known.
    `source` is the folder of files that are stored already; an empty one stands for `folder`
    itself.
    """

    def __init__(self, folder: Path, source: str) -> None:
        self.folder = folder
        self._source = Path(source) if source else folder
        # These did not exist before, and may be deleted if the project cannot be saved.
        self._added_files: list[Path] = []
        self._added_folders: list[Path] = []
        self._make_folder(folder)

    def model(self, model: Model | None, stored: Stored | None, what: str) -> Stored:
        """Write a model; if it is None, take over the stored file."""
        if model is None:
            return self.take_over(stored, what)
        incoming = self._incoming(model_file.SUFFIX)
        model_file.save_model(incoming, model)
        return self._rename_to_digest(incoming, "models")

    def picture(self, picture: Picture | None, stored: Stored | None, what: str) -> Stored:
        """Write a picture; if it is None, take over the stored file."""
        if picture is None:
            return self.take_over(stored, what)
        incoming = self._incoming(".tiff")
        image.save_tiff(incoming, picture)
        return self._rename_to_digest(incoming, "pictures")

    def dataset(
        self, dataset: Dataset, known: Iterable[Stored | None]
    ) -> Generator[Progress, None, Stored]:
        """Write a dataset, unless one of the `known` ones is the same and intact."""
        name = f"dataset-{_dataset_key(dataset)}"
        for stored in known:
            if stored is not None and stored.file == name and is_intact(self.folder / name, stored):
                return stored
        again = yield from dataset_recipe.can_be_made_again(dataset)
        incoming = self._incoming("-dataset")
        form = dataset_recipe if again else dataset_folder
        yield from form.save(dataset, incoming)
        return self._rename(incoming, Stored(name, sha256(incoming)))

    def take_over(self, stored: Stored | None, what: str) -> Stored:
        """Copy a stored file from the source folder, unless that is this folder."""
        if stored is None:
            raise Fault(f"{what} is neither given nor stored")
        source = self._source / stored.file
        target = self.folder / stored.file
        if not source.exists():
            raise Fault(f"{what}, '{source}', is missing")
        if target.exists() and os.path.samefile(source, target):
            return stored
        incoming = self._incoming("-dataset" if source.is_dir() else source.suffix)
        _copy(source, incoming)
        if sha256(incoming) != stored.sha256:
            raise Fault(f"{what}, '{source}', has been changed")
        return self._rename(incoming, stored)

    def undo(self) -> None:
        """Delete everything that was added, as far as possible; this never fails."""
        for path in self._added_files:
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for folder in reversed(self._added_folders):
            # A folder stays if another program has meanwhile put something into it.
            with contextlib.suppress(OSError):
                folder.rmdir()

    def _make_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            folder.mkdir()
            self._added_folders.append(folder)

    def _incoming(self, suffix: str) -> Path:
        """Return a free name for a file whose SHA-256 is not known yet."""
        kind = {model_file.SUFFIX: "models", ".tiff": "pictures"}.get(suffix, "")
        incoming = self.folder / kind / f"incoming-{os.getpid()}{suffix}"
        self._make_folder(incoming.parent)
        if incoming.is_dir():
            shutil.rmtree(incoming)
        self._added_files.append(incoming)
        return incoming

    def _rename_to_digest(self, incoming: Path, kind: str) -> Stored:
        digest = sha256(incoming)
        return self._rename(incoming, Stored(f"{kind}/{digest[:16]}{incoming.suffix}", digest))

    def _rename(self, incoming: Path, stored: Stored) -> Stored:
        place = self.folder / stored.file
        if not place.exists():
            self._added_files.append(place)
        if not incoming.is_dir():
            self._make_folder(place.parent)
            os.replace(incoming, place)
            files.sync_folder(place.parent)
            files.sync_folder(self.folder)
        elif is_intact(place, stored):
            shutil.rmtree(incoming)
        else:
            with files.replacing_folder(place) as temporary:
                for entry in incoming.iterdir():
                    os.replace(entry, temporary / entry.name)
            incoming.rmdir()
        return stored


def delete_unused(target: Path, project: Project) -> None:
    """Delete files that neither the project in `target` nor another one beside it refers to."""
    keep = {stored.file for stored in stored_files(project)}
    # The project has been saved; an error here must not make the save fail.
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
    """Return a digest of everything in a dataset."""
    # Numbers are converted so that those of NumPy, which `repr` writes differently, give the same.
    entries = []
    for entry in dataset.entries:
        levels = (float(entry.target_mse), float(entry.achieved_mse))
        entries.append((entry.label, *levels, float(entry.strength), int(entry.seed)))
    unreachable = [
        (each.kind, float(each.target_mse), float(each.maximum_mse)) for each in dataset.unreachable
    ]
    spec = None
    if dataset.spec is not None:
        levels_wanted = [float(level) for level in dataset.spec.levels]
        spec = (dataset.spec.kinds, levels_wanted, dataset.spec.seed)
    content = repr((dataset.digest(), entries, spec, unreachable))
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target)
        return
    with open(source, "rb") as stream, files.replacing(target) as copy:
        shutil.copyfileobj(stream, copy)


def is_intact(path: Path, stored: Stored) -> bool:
    """Whether a file or folder exists and has not been changed since it was stored."""
    try:
        return sha256(path) == stored.sha256
    except OSError:
        return False


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, or for a folder that of the names and hashes of its files."""
    if not path.is_dir():
        return _file_sha256(path)
    names = sorted(each.name for each in path.iterdir() if files.is_content(each.name))
    lines = "".join(f"{_file_sha256(path / name)}  {name}\n" for name in names)
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()


def _file_sha256(path: Path) -> str:
    # Reading a pipe could block forever.
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
