"""A folder for unsaved work: written by one process, taken over by another after a crash.

It lies below the user's folder for state, one for each process, with a lock that vanishes with the
process. It holds a project, the path of the project's own file (if it has one), and the state of a
training under way.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

from isca_gui.core.storage import files
from isca_gui.core.storage.lock import Lock, Locked
from isca_gui.core.storage.user_folders import user_folder
from isca_gui.projects import project_io
from isca_gui.session.records import Run

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.training_snapshot import Snapshot
    from isca_gui.core.projects.project import Project
    from isca_gui.projects.project_io import WrittenFiles
    from isca_gui.session.records import SessionState

DOCUMENT = "work.iscaproj"
ABOUT = "about.json"
LOCK = "lock"
TRAINING = "training.npz"
# Only where a training learns from other data than those of the work.
TRAINING_DATA = "training-data"
_ATTEMPTS = 5
# Seconds: a `datetime` is less precise than the time of a file.
_PRECISION = 0.001


def root() -> Path:
    """Return the folder that holds those of all processes."""
    return user_folder("state") / "recovery"


@dataclass(frozen=True, eq=False)
class RunningTraining:
    """The state of a training under way, and what it learns from."""

    snapshot: Snapshot
    dataset: Dataset


@dataclass(frozen=True, eq=False)
class UnsavedWork:
    """Work of a process that ended without saving it; its lock is ours."""

    folder: Path
    lock: Lock
    path: str  # the project's own file, if it had one
    when: datetime
    what: str

    @property
    def file_is_newer(self) -> bool:
        """Whether the project's own file was written after this work."""
        if not self.path:
            return False
        with contextlib.suppress(OSError):
            return os.stat(self.path).st_mtime > self.when.timestamp() + _PRECISION
        return False


class RecoveryFolder:
    """The folder of this process; it is made when there is something to put into it."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._lock: Lock | None = None
        self.path = ""  # of the project whose work is here
        self._training_data: ref[Dataset] | None = None

    def save(
        self,
        work: SessionState,
        view: Mapping[str, Any],
        layout: str,
        path: str,
        training: RunningTraining | None,
        before: WrittenFiles | None,
    ) -> Generator[Any, None, WrittenFiles]:
        """Write everything that is not there already.

        Parameters
        ----------
        work
            All that the session holds.
        view, layout
            What a project keeps of the window.
        path
            The project's own file, empty if it has none.
        training
            The training under way, where its state has changed.
        before
            What this method returned last.
        """
        folder = self._ready()
        if path != self.path:
            # What lies here is of another project, and must not be offered as this one.
            self.empty()
        files.write_text(folder / ABOUT, json.dumps({"path": path}))
        self.path = path
        if training is not None:
            # Before the work, which may hold other data than this training learns from.
            yield from self._save_training(folder, training, work)
        document = str(folder / DOCUMENT)
        return (yield from project_io.save(document, work, view, layout, before, check_files=False))

    def _save_training(
        self, folder: Path, training: RunningTraining, work: SessionState
    ) -> Generator[Any, None, None]:
        """Write the state of a training, and its data where those are no longer the work's."""
        from isca_gui.core.distortion import dataset_folder
        from isca_gui.core.model import training_snapshot

        digest = work.digest
        if training.dataset is not work.dataset:
            digest = training.dataset.digest()
            there = self._training_data() if self._training_data is not None else None
            if there is not training.dataset or not (folder / TRAINING_DATA).is_dir():
                shutil.rmtree(folder / TRAINING_DATA, ignore_errors=True)
                yield from dataset_folder.save(training.dataset, folder / TRAINING_DATA)
                self._training_data = ref(training.dataset)
        training_snapshot.save(folder / TRAINING, replace(training.snapshot, dataset=digest))

    def forget_training(self) -> None:
        """Remove the state of a training that has ended, or was given up."""
        self._remove(TRAINING)
        if self._training_data is not None and self.folder is not None:
            self._training_data = None
            shutil.rmtree(self.folder / TRAINING_DATA, ignore_errors=True)

    def empty(self) -> None:
        """Leave nothing to recover; large files stay for the next time."""
        self._remove(DOCUMENT)
        self.forget_training()

    def close(self, *, keep: bool) -> None:
        """Leave the folder for the next start, or remove it."""
        folder = self.folder
        lock = self._lock
        self.folder = None
        self._lock = None
        if folder is not None and lock is not None:
            if not keep:
                discard(folder)
            lock.release()

    def _ready(self) -> Path:
        if self.folder is not None and self.folder.is_dir():
            return self.folder
        for _ in range(_ATTEMPTS):
            folder = root() / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
            folder.mkdir(parents=True, mode=0o700)
            try:
                self._lock = Lock(folder / LOCK)
            except (Locked, FileNotFoundError):
                # Another process that looks for unsaved work has taken the new folder for empty.
                continue
            except OSError:
                # Without locks no other process could know that the folder is in use.
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self.folder = folder
            return folder
        raise OSError(f"No folder could be made in '{root()}'")

    def _remove(self, name: str) -> None:
        if self.folder is not None:
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()


def discard(folder: Path) -> None:
    """Remove a folder; whatever happens in between, it is not offered again."""
    with contextlib.suppress(OSError):
        (folder / DOCUMENT).unlink()
    shutil.rmtree(folder, ignore_errors=True)


def prepare() -> None:
    """Import what the first autosave needs, so that it does not have to wait for it."""
    importlib.import_module("isca_gui.core.model.training_snapshot")
    importlib.import_module("isca_gui.core.projects.project")


# --- after a crash --------------------------------------------------------------------------------


def find_unsaved_work() -> tuple[list[UnsavedWork], list[str]]:
    """Take over what other processes have left, the newest first; and return what is unreadable."""
    found: list[UnsavedWork] = []
    problems: list[str] = []
    with contextlib.suppress(OSError):
        for folder in sorted(root().iterdir()):
            if not folder.is_dir():
                continue
            # A folder whose lock is taken belongs to a process that still runs.
            with contextlib.suppress(Locked, OSError):
                _examine(folder, Lock(folder / LOCK), found, problems)
    return sorted(found, key=lambda each: each.when, reverse=True), problems


def _examine(folder: Path, lock: Lock, found: list[UnsavedWork], problems: list[str]) -> None:
    """Look into a folder as JSON: the modules that read a project would hold up the start."""
    if not (folder / DOCUMENT).exists():
        # The process ended in good order, or before there was anything to lose.
        discard(folder)
        lock.release()
        return
    try:
        document = json.loads((folder / DOCUMENT).read_text("utf-8"))
        when = datetime.fromtimestamp((folder / DOCUMENT).stat().st_mtime)
        path = _project_path(folder)
        found.append(UnsavedWork(folder, lock, path, when, _description(document, folder, path)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        lock.release()
        problems.append(f"The unsaved work in '{folder}' cannot be used: {error}")


def _project_path(folder: Path) -> str:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        path = json.loads((folder / ABOUT).read_text("utf-8")).get("path")
        if isinstance(path, str) and "\0" not in path:
            return path
    return ""


def _description(document: dict[str, Any], folder: Path, path: str) -> str:
    """Return what the work is called and holds, such as "a.png (a dataset, 2 runs)"."""
    if path:
        name = Path(path).name
    elif document["reference"]:
        name = str(document["reference"]["name"])
    else:
        name = "work"
    parts = []
    if document["dataset"]:
        parts.append("a dataset")
    for count, what in ((len(document["runs"]), "run"), (len(document["tested"]), "test picture")):
        if count:
            parts.append(f"{count} {what}{'s' if count > 1 else ''}")
    if (folder / TRAINING).exists():
        parts.append("training in progress")
    return f"{name} ({', '.join(parts)})" if parts else name


def load(unsaved: UnsavedWork) -> Generator[Any, Any, tuple[SessionState, Project, list[str]]]:
    """Read what was left behind; return with it what could not be read, in words."""
    from isca_gui.core.projects import project as projects

    document = projects.read(unsaved.folder / DOCUMENT)
    missing = yield from projects.missing(document)
    if missing:
        document = projects.without(document, missing)
    problems = [
        f"{each.what} could not be restored: '{each.file}' {each.problem}." for each in missing
    ]
    work, _ = yield from project_io.load(document)
    if (unsaved.folder / TRAINING).exists():
        try:
            work = yield from _with_training(work, unsaved.folder / TRAINING)
        except Exception as error:  # noqa: BLE001 - the rest must not be lost with it
            problems.append(f"The training in progress could not be restored: {error}")
    return work, document, problems


def _with_training(work: SessionState, path: Path) -> Generator[Any, Any, SessionState]:
    """Return the work with the training that was under way as a run, as if it had been stopped."""
    from isca_gui.core.distortion import dataset_folder
    from isca_gui.core.model import training, training_snapshot
    from isca_gui.core.progress import Progress, relay

    snapshot = training_snapshot.load(path)
    if any(run.number == snapshot.number for run in work.runs):
        # The training ended after its state had been written, and its run is there.
        return work
    dataset = work.dataset
    if snapshot.dataset != work.digest:
        dataset = yield from dataset_folder.load(path.with_name(TRAINING_DATA))
        if dataset.digest() != snapshot.dataset:
            raise ValueError("the dataset it learned from is no longer there.")
    assert dataset is not None
    task = training.restored(dataset, snapshot.settings, snapshot.state, snapshot.steps)
    model = yield from relay(task, lambda _: Progress(0, 0, "restoring the training"))
    run = Run(snapshot.number, snapshot.name, model, model.settings)
    return replace(work, runs=(*work.runs, run), run=run.number)
