"""A folder for work that is not saved yet: written by one process, taken over by another after a crash.

Below the user's folder for state, one for each process, with a lock that vanishes with it. It holds a
project, where its file is (if it has one), and where a training under way stands.
"""

from __future__ import annotations

import contextlib
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
    from isca_gui.projects.project_io import Kept
    from isca_gui.session.records import SessionState

DOCUMENT, ABOUT, LOCK = "work.iscaproj", "about.json", "lock"
TRAINING, DATA = (
    "training.npz",
    "training-data",
)  # the data only where they are not those of the work
_ATTEMPTS = 5
_TICK = 0.001  # seconds: a date is told to less than a file's time


def root() -> Path:
    """Give the folder that holds those of all processes."""
    return user_folder("state") / "recovery"


@dataclass(frozen=True, eq=False)
class RunningTraining:
    """Where a training under way stands, and what it learns from."""

    snapshot: Snapshot
    dataset: Dataset


@dataclass(frozen=True, eq=False)
class UnsavedWork:
    """Work of a process that has ended without saving it; its lock is ours."""

    folder: Path
    lock: Lock
    path: str  # the project's own file, if it had one
    when: datetime
    what: str

    @property
    def mark_dirty(self) -> bool:
        """Whether the project's own file was written after this."""
        with contextlib.suppress(OSError):
            return bool(self.path) and os.stat(self.path).st_mtime > self.when.timestamp() + _TICK
        return False


class RecoveryFolder:
    """The folder of this process; it is made when there is something to put into it."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._lock: Lock | None = None
        self.path = ""  # of the project whose work is here
        self._data: ref[Dataset] | None = None  # what lies in DATA

    def save(
        self, work: SessionState, view: Mapping[str, Any], layout: str, path: str, live: RunningTraining | None,
        kept: Kept | None,
    ) -> Generator[Any, None, Kept]:  # fmt: skip
        """Write everything that is not there already."""
        folder = self._ready()
        if (
            path != self.path
        ):  # what lies here is of another project: it must not be offered as this one
            self.empty()
        files.write_text(folder / ABOUT, json.dumps({"path": path}))
        self.path, document = path, str(folder / DOCUMENT)
        if live is not None:  # before the work: that may hold other data than it learns from
            yield from self._save_training(folder, live, work)
        return (yield from project_io.save(document, work, view, layout, kept, careful=False))

    def _save_training(
        self, folder: Path, live: RunningTraining, work: SessionState
    ) -> Generator[Any, None, None]:
        """Write where a training stands; also what it learns from, where that is no longer the work's."""
        from isca_gui.core.distortion import dataset_folder
        from isca_gui.core.model import training_snapshot

        digest, there = work.digest, self._data() if self._data is not None else None
        if live.dataset is not work.dataset:
            digest = live.dataset.digest()
            if there is not live.dataset or not (folder / DATA).is_dir():
                shutil.rmtree(folder / DATA, ignore_errors=True)
                yield from dataset_folder.save(live.dataset, folder / DATA)
                self._data = ref(live.dataset)
        training_snapshot.save(folder / TRAINING, replace(live.snapshot, dataset=digest))

    def forget_training(self) -> None:
        """Remove where a training stands: it has ended, or was given up."""
        self._remove(TRAINING)
        if self._data is not None and self.folder is not None:
            self._data = None
            shutil.rmtree(self.folder / DATA, ignore_errors=True)

    def empty(self) -> None:
        """Let there be nothing to take over; large files stay for the next time."""
        self._remove(DOCUMENT)
        self.forget_training()

    def close(self, *, keep: bool) -> None:
        """Leave the folder: with its work for the next start, or not at all."""
        folder, lock = self.folder, self._lock
        self.folder = self._lock = None
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
            except (Locked, FileNotFoundError):  # somebody is tidying up
                continue
            except OSError:  # there are no locks here: nobody could tell that it is ours
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self.folder = folder
            return folder
        raise OSError(f"No folder could be made in '{root()}'")

    def _remove(self, *names: str) -> None:
        for name in names:
            if self.folder is not None:
                with contextlib.suppress(OSError):
                    (self.folder / name).unlink()


def discard(folder: Path) -> None:
    """Remove a folder; whatever happens in between, it is not offered again."""
    with contextlib.suppress(OSError):
        (folder / DOCUMENT).unlink()
    shutil.rmtree(folder, ignore_errors=True)


def prepare() -> None:
    """Load what is needed later: the first time that work is put into safety must not wait for it."""
    from isca_gui.core.model import training_snapshot
    from isca_gui.core.projects import project

    assert project
    assert training_snapshot


def orphans() -> tuple[list[UnsavedWork], list[str]]:
    """Take over what other processes have left, the newest first; and say what cannot be read."""
    found: list[UnsavedWork] = []
    problems: list[str] = []
    with contextlib.suppress(OSError):
        for folder in sorted(root().iterdir()):
            if not folder.is_dir():
                continue
            with contextlib.suppress(Locked, OSError):  # a living process's
                lock = Lock(folder / LOCK)
                _examine(folder, lock, found, problems)
    return sorted(found, key=lambda each: each.when, reverse=True), problems


def _examine(folder: Path, lock: Lock, found: list[UnsavedWork], problems: list[str]) -> None:
    """Look into a folder, without all that is needed to read a project: the start must not wait for that."""
    if not (folder / DOCUMENT).exists():  # it ended in good order, or before there was anything
        discard(folder)
        lock.release()
        return
    try:
        document = json.loads((folder / DOCUMENT).read_text("utf-8"))
        when = datetime.fromtimestamp((folder / DOCUMENT).stat().st_mtime)
        found.append(UnsavedWork(folder, lock, _path(folder), when, _words(document, folder)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        lock.release()
        problems.append(f"Work that was not saved lies in '{folder}', but cannot be used: {error}")


def _path(folder: Path) -> str:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        path = json.loads((folder / ABOUT).read_text("utf-8")).get("path")
        return path if isinstance(path, str) and "\0" not in path else ""
    return ""


def _words(document: dict[str, Any], folder: Path) -> str:
    path, reference, parts = _path(folder), document["reference"], []
    name = Path(path).name if path else str(reference["name"]) if reference else "work"
    parts += ["a dataset"] if document["dataset"] else []
    for count, what in ((len(document["runs"]), "run"), (len(document["tested"]), "test picture")):
        parts += [f"{count} {what}{'s' if count > 1 else ''}"] if count else []
    parts += ["a training under way"] if (folder / TRAINING).exists() else []
    return f"{name} ({', '.join(parts)})" if parts else name


def load(orphan: UnsavedWork) -> Generator[Any, Any, tuple[SessionState, Project, list[str]]]:
    """Read what was left; what cannot be read is left out and told."""
    from isca_gui.core.projects import project as projects

    document = projects.read(orphan.folder / DOCUMENT)
    lost = yield from projects.missing(document)
    if lost:
        document = projects.without(document, lost)
    told = [f"{each.what} could not be restored: '{each.file}' {each.problem}." for each in lost]
    work, _ = yield from project_io.load(document)
    if (orphan.folder / TRAINING).exists():
        try:
            work = yield from _with_training(work, orphan.folder / TRAINING)
        except Exception as error:  # noqa: BLE001 - the rest must not be lost with it
            told.append(f"The training that was under way could not be restored: {error}")
    return work, document, told


def _with_training(work: SessionState, path: Path) -> Generator[Any, Any, SessionState]:
    """Make a run of the training that was under way: it is as if it had been stopped."""
    from isca_gui.core.distortion import dataset_folder
    from isca_gui.core.model import training, training_snapshot
    from isca_gui.core.progress import Progress, relay

    live = training_snapshot.load(path)
    if any(run.number == live.number for run in work.runs):
        return work  # it ended after that
    dataset = work.dataset
    if live.dataset != work.digest:
        dataset = yield from dataset_folder.load(path.with_name(DATA))
        if dataset.digest() != live.dataset:
            raise ValueError("the dataset it learned from is no longer there.")
    assert dataset is not None
    task = training.restored(dataset, live.settings, live.state, live.steps)
    model = yield from relay(task, lambda _: Progress(0, 0, "restoring the training"))
    run = Run(live.number, live.name, model, model.settings)
    return replace(work, runs=(*work.runs, run), run=run.number)
