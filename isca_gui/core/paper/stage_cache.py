"""The finished stages of a reproduction, so that an interrupted one can continue.

Each stage has a file with a stamp of everything that determines its result, and a hash of the
result.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import isca_gui
from isca_gui.core.distortion import dataset_folder
from isca_gui.core.distortion.dataset import DatasetError
from isca_gui.core.model import model_file
from isca_gui.core.model.model_file import ModelFileError
from isca_gui.core.storage import files

if TYPE_CHECKING:
    from collections.abc import Generator

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.core.progress import Progress

# The contents of the folder.
WORK = "work"
REPORT = "report.html"
RESULTS = "results.json"
FIGURES = "figures"
TABLES = "tables"

# The file that marks a work folder as ours.
_MARK = "README.txt"
_MARK_TEXT = (
    "This folder holds the finished stages of `isca reproduce`, so that it can continue after an\n"
    "interruption. Once report.html exists, the folder is no longer needed and may be deleted.\n"
)
# The mark of version 0.1.0, whose folders are continued as well.
_EARLIER_MARK_TEXT = (
    "ISCA Studio keeps here what `isca reproduce` has finished, so that it can go on after an "
    "interruption.\n"
    "When report.html is written this folder is no longer needed and may be removed.\n"
)
# To be raised whenever the same settings give other results.
_SCHEMA = 3
_MOST_BYTES = 64 * 2**20


class PaperError(Exception):
    """The reproduction cannot be written to its folder; the message says why and what to do."""


def open_folder(folder: str | os.PathLike[str]) -> Path:
    """Prepare the folder; refuse one that holds anything but an earlier reproduction."""
    target = Path(folder)
    if not str(folder):
        raise PaperError("The name of the folder is empty. Choose a folder.")
    if target.exists() and not target.is_dir():
        raise PaperError(f"'{target}' is a file. Choose another folder.")
    work = target / WORK
    try:
        is_new = not target.exists() or all(map(files.is_left_by_system, os.listdir(target)))
        ours = {WORK, REPORT, RESULTS, FIGURES, TABLES}
        if not is_new and (_names(target) - ours or not _is_ours(target)):
            raise PaperError(f"'{target}' holds other files. Choose a new or empty folder.")
        work.mkdir(parents=True, exist_ok=True)
        files.write_text(work / _MARK, _MARK_TEXT)
    except OSError as error:
        reason = error.strerror or error
        raise PaperError(f"Cannot write folder '{target}': {reason}.") from error
    return target


def check_finished(folder: Path, digest: str, quick: bool) -> None:
    """Refuse to replace a report on another picture, or a quick report by a full one or vice versa.

    A report whose results cannot be read is not replaced either, because it may be any of these.
    """
    if not (folder / REPORT).exists():
        return
    found = _document(folder / RESULTS)
    advice = "Choose another folder, or use --overwrite on the command line."
    if not found:
        raise PaperError(f"'{folder}' holds a report whose '{RESULTS}' cannot be read. {advice}")
    if (found.get("reference_sha256"), found.get("quick")) != (digest, quick):
        kind = "quick" if found.get("quick") else "full"
        raise PaperError(
            f"'{folder}' holds the report of a {kind} reproduction on {found.get('image')!r}. "
            f"{advice}"
        )


def _is_ours(folder: Path) -> bool:
    """Whether the folder holds a reproduction.

    It is known by the mark in its work folder or, if that was deleted, by its results. An empty
    work folder with nothing beside it was created just before an interruption.
    """
    work = folder / WORK
    if not work.is_dir():
        found = _document(folder / RESULTS)
        return str(found.get("program")).startswith("ISCA Studio ") and "reference_sha256" in found
    if _names(folder) == {WORK} and not _names(work):
        return True
    if not (work / _MARK).is_file():
        return False
    return (work / _MARK).read_bytes() in (_MARK_TEXT.encode(), _EARLIER_MARK_TEXT.encode())


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if files.is_content(path.name)}


@dataclass(frozen=True)
class StageCache:
    """The folder of finished stages; `origin` identifies the reference and its dataset."""

    folder: Path
    origin: str

    def stamp(self, stage: str, settings: object) -> str:
        """Return a digest of everything that determines the result of a stage."""
        words = [_SCHEMA, isca_gui.__version__, self.origin, stage, settings]
        return hashlib.sha256(json.dumps(words, sort_keys=True, default=str).encode()).hexdigest()

    def keep(self, stage: str, stamp: str, result: dict[str, Any]) -> None:
        """Store the result of a stage; to be called when its other files are complete."""
        document = {"stamp": stamp, "sha256": _seal(stamp, result), "result": result}
        files.write_text(self._path(stage), json.dumps(document, indent=1))

    def kept(self, stage: str, stamp: str) -> dict[str, Any] | None:
        """Return the stored result of a stage, or None if it is missing, outdated or damaged."""
        found = _document(self._path(stage))
        result = found.get("result")
        is_current = found.get("stamp") == stamp
        is_intact = found.get("sha256") == _seal(stamp, result)
        if is_current and is_intact and isinstance(result, dict):
            return result
        return None

    def save_dataset(self, name: str, dataset: Dataset) -> Generator[Progress, None, None]:
        """Store a dataset, replacing an earlier one."""
        target = self.folder / name
        remove(target)
        yield from dataset_folder.save(dataset, target)

    def load_dataset(self, name: str, digest: str) -> Generator[Progress, None, Dataset | None]:
        """Return a stored dataset, or None if it does not have this digest."""
        try:
            found = yield from dataset_folder.load(self.folder / name)
        except (DatasetError, OSError):
            return None
        return found if found.digest() == digest else None

    def save_model(self, key: str, model: Model) -> None:
        """Store a model."""
        model_file.save_model(self._model(key), model)

    def load_model(self, key: str, settings: object, dataset: str) -> Model | None:
        """Return a stored model, or None if it is damaged or was trained otherwise."""
        try:
            model = model_file.load_model(self._model(key))
        except ModelFileError:
            return None
        if model.settings == settings and model.dataset == dataset:
            return model
        return None

    def drop_model(self, key: str) -> None:
        """Delete a model that is no longer needed."""
        remove(self._model(key))

    def _path(self, stage: str) -> Path:
        return self.folder / f"{stage}.json"

    def _model(self, key: str) -> Path:
        return self.folder / f"{key}{model_file.SUFFIX}"


def remove(path: Path) -> None:
    """Delete a file or folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def _document(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one if it is missing, too large or damaged."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return {}
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _seal(stamp: str, result: object) -> str:
    """Return the hash that shows whether a stored result was altered."""
    return hashlib.sha256(f"{stamp}{json.dumps(result, sort_keys=True)}".encode()).hexdigest()
