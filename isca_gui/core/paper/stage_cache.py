"""What an interrupted reproduction leaves to go on from: one file per finished stage, stamped and sealed."""

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

WORK, REPORT, RESULTS, FIGURES, TABLES = "work", "report.html", "results.json", "figures", "tables"
_MARK, _MARK_TEXT = "README.txt", (
    "ISCA Studio keeps here what `isca reproduce` has finished, so that it can go on after an interruption.\n"
    "When report.html is written this folder is no longer needed and may be removed.\n"
)  # fmt: skip
_SCHEMA = 3  # raise it when the same settings give other figures
_MOST_BYTES = 64 * 2**20


class PaperError(Exception):
    """The reproduction cannot write where it is told to; the message says why and what to do."""


def open_folder(folder: str | os.PathLike[str]) -> Path:
    """Make the folder ready, refusing one that holds anything but an earlier reproduction."""
    target = Path(folder)
    if not str(folder):
        raise PaperError("The name of the folder is empty. Choose a folder.")
    if target.exists() and not target.is_dir():
        raise PaperError(f"'{target}' is a file. Choose another folder.")
    work = target / WORK
    try:
        is_new = not target.exists() or all(map(files.is_left_by_system, os.listdir(target)))
        foreign = set() if is_new else _seen(target) - {WORK, REPORT, RESULTS, FIGURES, TABLES}
        if foreign or not (is_new or _is_ours(target)):
            raise PaperError(f"'{target}' holds other files. Choose a new or empty folder.")
        work.mkdir(parents=True, exist_ok=True)
        files.write_text(work / _MARK, _MARK_TEXT)
    except OSError as error:
        raise PaperError(f"Cannot write folder '{target}': {error.strerror or error}.") from error
    return target


def check_finished(folder: Path, digest: str, quick: bool) -> None:
    """Refuse to replace the report on another picture, or that of a quick run by a full one's or back.

    A report that does not say what it is on may be such a one.
    """
    if not (folder / REPORT).exists():
        return
    found = _document(folder / RESULTS)
    advice = "Choose another folder, or say --overwrite on the command line."
    if not found:
        raise PaperError(f"'{folder}' holds a report whose '{RESULTS}' cannot be read. {advice}")
    if (found.get("reference_sha256"), found.get("quick")) != (digest, quick):
        what = f"{'quick' if found.get('quick') else 'full'} reproduction on {found.get('image')!r}"
        raise PaperError(f"'{folder}' holds the report of a {what}. {advice}")


def _is_ours(folder: Path) -> bool:
    """Tell a reproduction by the mark in its work folder, or by its results where that was removed.

    A work folder with nothing in it, and nothing beside it, was made a moment before an interruption.
    """
    work = folder / WORK
    if not work.is_dir():
        found = _document(folder / RESULTS)
        return str(found.get("program")).startswith("ISCA Studio ") and "reference_sha256" in found
    if _seen(folder) == {WORK} and not _seen(work):
        return True
    return (work / _MARK).is_file() and (work / _MARK).read_bytes() == _MARK_TEXT.encode()


def _seen(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if files.is_content(path.name)}


@dataclass(frozen=True)
class StageCache:
    """The folder of finished stages; `origin` names the reference picture and all that decides the data."""

    folder: Path
    origin: str

    def stamp(self, stage: str, settings: object) -> str:
        """Name a stage by all that decides its result."""
        words = [_SCHEMA, isca_gui.__version__, self.origin, stage, settings]
        return hashlib.sha256(json.dumps(words, sort_keys=True, default=str).encode()).hexdigest()

    def keep(self, stage: str, stamp: str, result: dict[str, Any]) -> None:
        """Write what a stage gave; to be called when everything else of it is written."""
        seal = _seal(stamp, result)
        files.write_text(
            self._path(stage),
            json.dumps({"stamp": stamp, "sha256": seal, "result": result}, indent=1),
        )

    def kept(self, stage: str, stamp: str) -> dict[str, Any] | None:
        """Give what a stage gave before; None if that is missing, stale, broken or altered."""
        found = _document(self._path(stage))
        result = found.get("result")
        sound = found.get("stamp") == stamp and found.get("sha256") == _seal(stamp, result)
        return result if sound and isinstance(result, dict) else None

    def save_dataset(self, name: str, dataset: Dataset) -> Generator[Progress, None, None]:
        """Write a dataset folder in place of whatever stood there."""
        target = self.folder / name
        remove(target)
        yield from dataset_folder.save(dataset, target)

    def load_dataset(self, name: str, digest: str) -> Generator[Progress, None, Dataset | None]:
        """Read a dataset folder; None if it is not the one with this digest."""
        try:
            found = yield from dataset_folder.load(self.folder / name)
        except (DatasetError, OSError):
            return None
        return found if found.digest() == digest else None

    def save_model(self, key: str, model: Model) -> None:
        """Write a model file."""
        model_file.save_model(self._model(key), model)

    def load_model(self, key: str, settings: object, dataset: str) -> Model | None:
        """Read a model; None if it is broken or of other settings or data."""
        try:
            model = model_file.load_model(self._model(key))
        except ModelFileError:
            return None
        return model if model.settings == settings and model.dataset == dataset else None

    def drop_model(self, key: str) -> None:
        """Remove a model that is no longer needed."""
        remove(self._model(key))

    def _path(self, stage: str) -> Path:
        return self.folder / f"{stage}.json"

    def _model(self, key: str) -> Path:
        return self.folder / f"{key}{model_file.SUFFIX}"


def remove(path: Path) -> None:
    """Remove a file or folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def _document(path: Path) -> dict[str, Any]:
    """Read an object of JSON; nothing where it is missing, too large or broken."""
    try:
        found = json.loads(path.read_bytes()) if path.stat().st_size <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _seal(stamp: str, result: object) -> str:
    return hashlib.sha256(f"{stamp}{json.dumps(result, sort_keys=True)}".encode()).hexdigest()
