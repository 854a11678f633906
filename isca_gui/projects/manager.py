"""Projects in the window: new, open, save, unsaved work, and who may write the file."""

# The states of the work in a window. An arrow is labelled with what leads along it.
#
#             new               edit
#   (any) ----------> NEW ----------------+
#                                         v      20 s pass               crash
#             open            edit             ------------>           ------->  (next start)
#   (any) ----------> SAVED ---------> CHANGED               AUTOSAVED               |
#                       ^                | ^   <------------     |                   | restore
#                       |      save      | |        edit         |                   v
#                       +----------------+ +---------------------|------------- RECOVERED
#                       |                         save           |
#                       +----------------------------------------+
#
#   NEW        There is no file, and nothing in the session that is worth keeping.
#   SAVED      The session's stamp is that of the file: `_saved_stamp`.
#   CHANGED    The stamps differ, or a training is under way: `unsaved`. `guard` asks before
#              anything is lost.
#   AUTOSAVED  CHANGED, with a copy in the recovery folder (autosave.py). Saving empties it.
#   RECOVERED  The copy is back in a window. It counts as changed until it is saved.
#   LOCKED OUT SAVED, CHANGED or RECOVERED, with a file that another window has open: `locked_out`
#              says why it may not be written. Save tries to take the lock again, and asks for
#              another file where it cannot.
#
# Opening and saving are jobs of one name, begun one after the other by `save_queue`.

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from isca_gui.jobs.names import JOBS_OF_THE_WORK, JobName
from isca_gui.jobs.runner import SaveQueue
from isca_gui.projects import project_io
from isca_gui.projects.file_locks import ProjectLocks, file_version
from isca_gui.session.records import SessionState
from isca_gui.widgets.dialogs import (
    DISCARD,
    PACKED,
    REPLACE,
    SAVE,
    SUFFIX,
    MissingFiles,
    ask_name,
    ask_replace,
    ask_save,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from isca_gui.core.projects.project import Project
    from isca_gui.core.storage.lock import Lock
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.projects.project_io import WrittenFiles
    from isca_gui.session.preferences import Preferences
    from isca_gui.session.records import LiveRun, Stamp
    from isca_gui.session.session import Session

    View = Callable[[], tuple[Mapping[str, Any], str]]
    Callback = Callable[[], object] | None

FILTER = f"ISCA projects (*{SUFFIX})"
PACKED_FILTER = f"ISCA projects in one file (*{PACKED})"
_READ_ATTEMPTS = 4  # for a file that other windows write at the same time


@dataclass(frozen=True)
class ProjectFile:
    """The file that the work belongs to."""

    path: str = ""  # empty: it has no file yet
    version: object = None  # of the file when it was last read or written here
    locked_out: str = ""  # why the file may not be written, if it may not


@dataclass(frozen=True)
class Request:
    """Other work was asked for, and the user agreed to lose what there was then."""

    number: int  # in the order of asking
    # What there was. None where jobs were about to change it, and that was discarded as well.
    agreed: object


class ProjectManager(QObject):
    """The file that the session belongs to; `view` returns what else is kept of the window."""

    # The name, whether there is unsaved work, or whether the file may be written.
    changed = Signal()
    # The document, for whoever restores view and layout.
    opened = Signal(object)
    # New work has begun, without a document.
    begun = Signal()
    saved = Signal()
    # A file that was opened or written, for the list of recent ones.
    named = Signal(str)

    def __init__(
        self,
        session: Session,
        jobs: JobRunner,
        actions: Actions,
        preferences: Preferences,
        view: View,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._jobs = jobs
        self._actions = actions
        self._preferences = preferences
        self._view = view
        self._widget = parent
        self.save_queue = SaveQueue(jobs, JobName.PROJECT, self)
        self._file = ProjectFile()
        self._locks = ProjectLocks()
        # What the file holds: the stamp of it, and the objects that need not be written again.
        self._saved_stamp: Stamp | None = session.stamp
        self._written: WrittenFiles | None = None
        # Counts what was put into the session: a save asked for one work must not write another.
        self._generation = 0
        self._request_numbers = itertools.count(1)
        self._fulfilled = 0  # the number of the request that was fulfilled last
        self._after_training: Callback = None
        self._last_emitted = ("", False, "")
        for signal in (
            session.reference_changed,
            session.spec_changed,
            session.settings_changed,
            session.dataset_changed,
            session.runs_changed,
            session.tested_changed,
        ):
            signal.connect(self._on_session_changed)

    # --- state ------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The file of the project; empty where it has none yet."""
        return self._file.path

    @property
    def locked_out(self) -> str:
        """Why the file may not be written, if it may not."""
        return self._file.locked_out

    @property
    def name(self) -> str:
        """What the project is called: its file, or the reference while it has none."""
        if self.path:
            return Path(self.path).name
        reference = self._session.reference
        return reference.name if reference is not None else ""

    @property
    def unsaved(self) -> bool:
        """Whether something would be lost."""
        if self._session.live is not None:
            return True
        changed = self._session.stamp != self._saved_stamp
        return changed and (bool(self.path) or self._session.work.worth_keeping)

    @property
    def present(self) -> object:
        """What there is now, to be compared with what there is later."""
        return self._session.stamp, self._session.live

    def unchanged_since(self, agreed: object) -> bool:
        """Whether there is nothing new since the user agreed to lose what there was."""
        return agreed in (None, self.present)

    def mark_changed(self) -> None:
        """Let what is shown count as not saved."""
        self._saved_stamp = None
        self._emit_if_changed()

    def close(self) -> None:
        """Release the file for other windows."""
        self._belong_to(self._file, None)

    # --- before anything is lost ------------------------------------------------------------------

    def guard(self, then: Callable[[Request], object], otherwise: Callback = None) -> None:
        """Do what would lose unsaved work; the user is asked first if there is any."""
        # What was to happen after the training is no longer wanted: this was asked for later.
        self._after_training = None
        if not self.unsaved:
            then(self._request(self.present))
            return
        saved = self._saved_stamp if self.path else None
        lost = describe_unsaved(self._session.work, self._session.live, self._session.stamp, saved)
        ask_save(
            self._widget, self.name, lost, lambda answer: self._on_answered(answer, then, otherwise)
        )

    def _request(self, agreed: object) -> Request:
        return Request(next(self._request_numbers), agreed)

    def _on_answered(
        self, answer: int, then: Callable[[Request], object], otherwise: Callback
    ) -> None:
        def saved() -> None:
            # What was changed while the file was written is written too.
            self._on_answered(SAVE if self.unsaved else DISCARD, then, otherwise)

        if answer == SAVE:
            self._when_stopped(lambda: self.save(saved, otherwise))
        elif answer == DISCARD:
            # What jobs under way are about to return is discarded as well.
            busy = any(job.name in JOBS_OF_THE_WORK for job in self._jobs.jobs())
            then(self._request(None if busy else self.present))
        else:
            _call(otherwise)

    def _when_stopped(self, work: Callable[[], object]) -> None:
        live = self._session.live
        if live is None:
            work()
            return
        self._after_training = work
        self._session.say("info", f"The project will be saved as soon as {live.name} has stopped.")
        self._actions.stop_training()

    def replace_work(
        self, request: Request, put: Callable[[], object], otherwise: Callback = None
    ) -> None:
        """Put other work in the place of this one, after asking about what is new since.

        It waits in the queue: a save may have begun behind the question, and must end before its
        work is gone. What was asked for later may be here already; then that is what is wanted.
        """

        def again(now: Request) -> None:
            self.replace_work(replace(request, agreed=now.agreed), put, otherwise)

        def begin() -> None:
            if request.number < self._fulfilled:
                _call(otherwise)
            elif self.unchanged_since(request.agreed):
                self._fulfilled = request.number
                put()
            else:
                self.guard(again, otherwise)

        self.save_queue.add(begin)

    # --- new and open -----------------------------------------------------------------------------

    def new(self) -> None:
        """Begin a new project with the settings as they are."""
        self.guard(lambda request: self.replace_work(request, self._begin_new))

    def _begin_new(self) -> None:
        with self.save_queue.paused():
            self._put(SessionState(self._session.spec, self._session.settings))
            self._belong_to(ProjectFile(), None)
            self._set_saved(None)
            self.begun.emit()
        self._session.say("info", "This is a new project. The settings were kept.")

    def ask_open(self) -> None:
        """Ask for a project file and open it."""
        path, _ = QFileDialog.getOpenFileName(
            self._widget,
            "Open a project",
            self._folder(),
            f"ISCA projects (*{SUFFIX} *{PACKED});;All files (*)",
        )
        if path:
            self.open(path)

    def open(self, path: str | os.PathLike[str]) -> None:
        """Open a project, after asking about unsaved work."""
        target = os.path.abspath(path)
        if target.endswith(PACKED):
            self.guard(lambda request: self._load_packed(target, request))
        else:
            self.guard(lambda request: self._load(target, request))

    def _load(
        self,
        path: str,
        request: Request,
        *,
        found: Callable[[], Project] | None = None,
        version: object = None,
        attempts: int = _READ_ATTEMPTS,
    ) -> None:
        """Open a project file, or what was `found` of one that was read as `version` before."""

        def read() -> Generator[Any, None, Any]:
            seen = version or file_version(path)
            # Both may look at many files, and belong into the job.
            source = found() if found is not None else path
            return seen, (yield from project_io.open_or_list_missing(source))

        def put(result: Any) -> None:
            seen, loaded = result
            if isinstance(loaded, project_io.IncompleteProject):
                self._ask_for_missing(path, request, loaded, seen)
            else:
                work, written = loaded
                incomplete = found is not None
                self._put_loaded(path, request, work, written, seen, incomplete, attempts)

        self._read(path, read, put, request)

    def _load_packed(self, path: str, request: Request) -> None:
        """Open a project that is packed into one file; saving it asks for a project file."""

        def put(loaded: tuple[SessionState, Project]) -> None:
            work, project = loaded
            self.restore(work, project, "")
            self._session.say("info", f"'{path}' was unpacked. Save it to keep it as a project.")

        self._read(path, lambda: project_io.load_packed(path), put, request)

    def _read(
        self, path: str, read: Callable[[], Any], put: Callable[[Any], object], request: Request
    ) -> None:
        """Read work beside the window and put it in the place of what is there."""

        def begin() -> None:
            self._jobs.start(
                JobName.PROJECT,
                f"Opening {Path(path).name}",
                read,
                done=lambda loaded: self.replace_work(request, lambda: put(loaded)),
            )

        self.save_queue.add(begin)

    def _ask_for_missing(
        self,
        path: str,
        request: Request,
        project: project_io.IncompleteProject,
        version: object,
    ) -> None:
        def look_in(folder: str) -> None:
            found = partial(project.relocated_to, folder)
            self._load(path, request, found=found, version=version)

        def open_without() -> None:
            self._load(path, request, found=project.without_missing, version=version)

        name = Path(path).name
        MissingFiles(name, project.missing, self._widget, look_in, open_without).open()

    def _put_loaded(
        self,
        path: str,
        request: Request,
        work: SessionState,
        written: WrittenFiles,
        version: object,
        incomplete: bool,
        attempts: int,
    ) -> None:
        lock, locked_out = self._locks.take(path)
        if lock is not None and attempts > 1 and file_version(path) != version:
            # Another window has written the file between reading it and taking its lock.
            self._locks.release(lock)
            self._load(path, request, attempts=attempts - 1)
            return
        with self.save_queue.paused():
            self._put(work)
            self._belong_to(ProjectFile(path, version, locked_out), lock)
            self._set_saved(written)
            if incomplete:
                self.mark_changed()
            self.named.emit(path)
            self.opened.emit(written.project)
            self._actions.reload_vote_maps(work)
        if locked_out:
            self._session.say("warning", locked_out)
        else:
            self._session.say("info", f"The project '{path}' was opened.")

    def restore(self, work: SessionState, project: Project, path: str) -> None:
        """Take work that is not saved, as changes of its file if it has one."""
        lock, locked_out = self._locks.take(path) if path else (None, "")
        with self.save_queue.paused():
            self._put(work)
            self._belong_to(ProjectFile(path, file_version(path), locked_out), lock)
            self._written = None
            self.mark_changed()
            self.opened.emit(project)
            self._actions.reload_vote_maps(work)
        if locked_out:
            self._session.say("warning", locked_out)

    def _put(self, work: SessionState) -> None:
        """Replace the session; results of jobs for the old work are dropped."""
        self._after_training = None
        self._generation += 1
        self._jobs.drop(*JOBS_OF_THE_WORK)
        self._session.set_work(work)

    # --- save -------------------------------------------------------------------------------------

    def save(self, then: Callback = None, otherwise: Callback = None) -> None:
        """Write the project to its file; where there is none, or it is locked, ask for another."""
        if self.path:
            self._in_turn(self._generation, lambda: self._write_own(then, otherwise), otherwise)
        else:
            self.save_as(then, otherwise)

    def save_as(self, then: Callback = None, otherwise: Callback = None) -> None:
        """Ask for a file and go on with that one; `otherwise` is called where it is not written."""
        generation = self._generation
        path = self._ask_name("Save the project as")
        if path:
            self._in_turn(generation, lambda: self._write(path, then, otherwise), otherwise)
        else:
            _call(otherwise)

    def save_copy(self) -> None:
        """Ask for a file and write a copy with all its files; the project keeps its own file."""
        generation = self._generation
        path = self._ask_name("Save a copy of the project")
        if path:
            self._in_turn(generation, lambda: self._write(path, copy=not self._is_own(path)))

    def save_packed(self) -> None:
        """Ask for a file and write everything into that one; the project keeps its own file."""
        generation = self._generation
        path = self._ask_name("Save the project as one file", PACKED, PACKED_FILTER)
        if path:
            self._in_turn(generation, lambda: self._write_packed(path))

    def _ask_name(self, title: str, suffix: str = SUFFIX, file_filter: str = FILTER) -> str:
        stem = Path(self.name).stem or "project"
        if self.locked_out and suffix == SUFFIX:
            # The file of this name is another window's.
            stem += " copy"
        proposed = os.path.join(self._folder(), f"{stem}{suffix}")
        return ask_name(self._widget, title, proposed, suffix, file_filter)

    def _in_turn(
        self, generation: int, write: Callable[[], object], otherwise: Callback = None
    ) -> None:
        """Write when it is its turn, unless the work of `generation` was replaced by then."""

        def begin() -> None:
            if generation == self._generation:
                write()
                return
            self._session.say(
                "warning", "Nothing was saved, because another project has been opened since."
            )
            _call(otherwise)

        self.save_queue.add(begin)

    def _write_own(self, then: Callback, otherwise: Callback) -> None:
        """Write to the project's file; one that was another window's may be free by now."""
        if self.locked_out:
            lock, locked_out = self._locks.take(self.path)
            self._belong_to(replace(self._file, locked_out=locked_out), lock)
        if self.locked_out:
            self.save_as(then, otherwise)
        else:
            self._write(self.path, then, otherwise)

    def _write(
        self,
        path: str,
        then: Callback = None,
        otherwise: Callback = None,
        *,
        copy: bool = False,
        over: object = None,
    ) -> None:
        """Write to a file; `over` is the foreign version that the user has agreed to replace."""
        lock, locked_out = self._locks.take(path)
        if locked_out:
            self._session.say("error", f"{locked_out} Choose another name.")
            _call(otherwise)
            return
        version = file_version(path)
        if self._is_own(path) and version not in (None, self._file.version, over):
            self._locks.release(lock)
            self._ask_replace(path, version, then, otherwise)
            return
        self._locks.set_next(lock)
        self._start_writing(path, lock, then, otherwise, copy)

    def _start_writing(
        self, path: str, lock: Lock | None, then: Callback, otherwise: Callback, copy: bool
    ) -> None:
        work = self._session.work
        stamp = self._session.stamp
        before = self._written
        generation = self._generation
        view, layout = self._view()

        def write() -> Generator[Any, None, tuple[WrittenFiles, object]]:
            written = yield from project_io.save(path, work, view, layout, before)
            return written, file_version(path)

        def done(result: tuple[WrittenFiles, object]) -> None:
            written, version = result
            self.named.emit(path)
            self._session.say("info", f"The project was saved as '{path}'.")
            if copy or generation != self._generation:
                self._locks.set_next(None)
                return
            self._belong_to(ProjectFile(path, version), lock)
            self._written = written
            self._saved_stamp = stamp
            self._emit_if_changed()
            self.saved.emit()
            _call(then)

        def failed(_: Exception) -> None:
            self._locks.set_next(None)
            _call(otherwise)

        title = f"Saving {Path(path).name}"
        self._jobs.start(JobName.PROJECT, title, write, done=done, failed=failed, writes=True)

    def _write_packed(self, path: str) -> None:
        work = self._session.work
        view, layout = self._view()
        before = self._written
        self._jobs.start(
            JobName.PROJECT,
            f"Saving {Path(path).name}",
            lambda: project_io.save_packed(path, work, view, layout, before),
            done=lambda _: self._session.say("info", f"The project was packed into '{path}'."),
            writes=True,
        )

    def _ask_replace(self, path: str, version: object, then: Callback, otherwise: Callback) -> None:
        """Ask before a version of our file is replaced that was never read here."""
        generation = self._generation

        def answered(answer: int) -> None:
            if answer == REPLACE:
                write = partial(self._write, path, then, otherwise, over=version)
                self._in_turn(generation, write, otherwise)
            elif answer == SAVE:
                self._in_turn(generation, partial(self.save_as, then, otherwise), otherwise)
            else:
                _call(otherwise)

        ask_replace(self._widget, Path(path).name, answered)

    # --- inside -----------------------------------------------------------------------------------

    def _set_saved(self, written: WrittenFiles | None) -> None:
        self._written = written
        self._saved_stamp = self._session.stamp
        self._emit_if_changed()

    def _belong_to(self, file: ProjectFile, lock: Lock | None) -> None:
        self._locks.set_own(lock)
        self._locks.set_next(None)
        self._file = file
        self._emit_if_changed()

    def _is_own(self, path: str) -> bool:
        return bool(self.path) and os.path.realpath(path) == os.path.realpath(self.path)

    def _folder(self) -> str:
        recent = [self.path, *self._preferences.recent_projects]
        return next((str(Path(path).parent) for path in recent if path), "")

    def _on_session_changed(self) -> None:
        if self._after_training is not None and self._session.live is None:
            work = self._after_training
            self._after_training = None
            # The signal is still on its way to others, which must know the run before it is saved.
            QTimer.singleShot(0, self, work)
        self._emit_if_changed()

    def _emit_if_changed(self) -> None:
        now = (self.name, self.unsaved, self.locked_out)
        if now != self._last_emitted:
            self._last_emitted = now
            self.changed.emit()


def _call(callback: Callback) -> None:
    if callback is not None:
        callback()


# --- what would be lost, in words -----------------------------------------------------------------


def describe_unsaved(
    work: SessionState, live: LiveRun | None, now: Stamp, saved: Stamp | None
) -> str:
    """Return what is not in the file whose content was `saved`, or in none, for the question.

    Parameters
    ----------
    work
        All that the session holds.
    live
        The training under way.
    now
        The stamp of `work`.
    saved
        The stamp of the project's file; None where there is no file.
    """
    parts = _changes(work, now, saved) if saved is not None else _everything(work)
    sentences = []
    if parts:
        sentences.append(f"Not saved: {', '.join(parts)}.")
    if live is not None:
        sentences.append(f"{live.name} is under way: saving stops it and keeps its model.")
    sentences.append("Unsaved work is lost if you discard it.")
    return " ".join(sentences)


def _everything(work: SessionState) -> list[str]:
    pictures = len(work.dataset.entries) if work.dataset is not None else 0
    return _counts(pictures, len(work.runs), len(work.tested))


def _changes(work: SessionState, now: Stamp, saved: Stamp) -> list[str]:
    parts = []
    if now.reference != saved.reference:
        parts.append("the reference")
    pictures = 0
    if work.dataset is not None and now.dataset != saved.dataset:
        pictures = len(work.dataset.entries)
    runs = set(now.runs) - set(saved.runs)
    tested = set(now.tested) - set(saved.tested)
    parts += _counts(pictures, len(runs), len(tested))
    if now.settings != saved.settings:
        parts.append("settings")
    if parts:
        return parts
    removed = set(saved.runs) - set(now.runs) or set(saved.tested) - set(now.tested)
    return ["removals"] if removed else ["changes"]


def _counts(pictures: int, runs: int, tested: int) -> list[str]:
    counts = ((pictures, "training picture"), (runs, "run"), (tested, "test picture"))
    return [f"{count} {what}{'s' if count > 1 else ''}" for count, what in counts if count]
