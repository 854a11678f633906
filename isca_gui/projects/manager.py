"""Projects in the window: new, open, save, what is not saved yet, and who may write the file."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from isca_gui.projects import project_io
from isca_gui.projects.file_locks import ProjectLocks, file_mark
from isca_gui.projects.guarded_work import JOB, OF_THIS_WORK, GuardedWork, Request
from isca_gui.projects.vote_map_reload import reload_vote_maps
from isca_gui.session.records import SessionState
from isca_gui.widgets.dialogs import (
    PACKED,
    REPLACE,
    SAVE,
    SUFFIX,
    MissingFiles,
    ask_name,
    ask_replace,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from isca_gui.core.projects.project import Project
    from isca_gui.core.storage.lock import Lock
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.projects.project_io import Kept
    from isca_gui.session.preferences import Preferences
    from isca_gui.session.session import Session

    View = Callable[[], tuple[Mapping[str, Any], str]]
    Then = Callable[[], object] | None

FILTER = f"ISCA projects (*{SUFFIX})"
_TRIES = 3  # to read a file that others write
PACKED_FILTER = f"ISCA projects in one file (*{PACKED})"


class ProjectManager(GuardedWork):
    """The file that the session belongs to; `view` gives what else is kept of the window."""

    changed = Signal()  # name, modified or not, may be written or not
    opened = Signal(object)  # the document, for whoever puts view and layout back
    begun = Signal()  # new work, of no document
    saved = Signal()
    named = Signal(str)  # a file that was opened or written, for the list of recent ones

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, preferences: Preferences,
        view: View, parent: QWidget,
    ) -> None:  # fmt: skip
        super().__init__(session, jobs, actions, parent)
        self._preferences, self._view = preferences, view
        self.locked_out = ""  # why the file may not be written, if it may not
        self._locks = ProjectLocks()
        self._mark: object = None  # of the file as it was when it was read or written here
        self._kept: Kept | None = None
        self._told: tuple[str, bool, str] = ("", False, "")
        self._generation = (
            0  # of the work that is shown: what is asked for one must not be done to another
        )
        for signal in (
            *(session.reference_changed, session.spec_changed, session.settings_changed),
            *(session.dataset_changed, session.runs_changed, session.tested_changed),
        ):
            signal.connect(self._on_session_changed)

    # --- new and open ---------------------------------------------------------------------------------------

    def new(self) -> None:
        """Begin anew, with the settings as they are, when nothing is being written any more."""
        self.guard(lambda: self.replace_work(self.request(), self._begin_anew))

    def _begin_anew(self) -> None:
        with self.turns.paused():
            self._put(SessionState(self._session.spec, self._session.settings))
            self._belong("", None, "", None)
            self._now_saved(None)
            self.begun.emit()
        self._session.say("info", "A new project was begun, with the settings as they were.")

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
        """Open a project, after asking for what is not saved."""
        target = os.path.abspath(path)
        if target.endswith(PACKED):
            self.guard(lambda: self._load_packed(target))
        else:
            self.guard(lambda: self._load(target, target, self.request()))

    def _load(
        self,
        path: str,
        source: str | Callable[[], Project],
        asked: Request,
        *,
        seen: object = None,
        tries: int = _TRIES,
    ) -> None:
        """Open a project, or what is found of one whose file was read before; `seen` is that file's mark."""

        def read() -> Generator[Any, None, Any]:
            there = seen or file_mark(path)
            found = source if isinstance(source, str) else source()  # which may look at many files
            return there, (yield from project_io.open_or_tell(found))

        changed = not isinstance(source, str)
        self._read(
            path, read, lambda found: self._on_loaded(path, found, asked, changed, tries), asked
        )

    def _read(
        self, path: str, read: Callable[[], Any], put: Callable[[Any], object], asked: Request
    ) -> None:
        """Read work beside the window and put it in the place of what is there."""

        def begin() -> None:
            self._jobs.start(
                JOB, f"Opening {Path(path).name}", read,
                done=lambda found: self.replace_work(asked, lambda: put(found)),
            )  # fmt: skip

        self.turns.take(begin)

    def _load_packed(self, path: str) -> None:
        """Open a project in one file; it is written to a project of its own when it is saved."""

        def done(found: tuple[SessionState, Project]) -> None:
            self.restore(*found, "")
            self._session.say(
                "info", f"'{path}' was unpacked. Save it to go on with it as a project."
            )

        self._read(path, lambda: project_io.load_packed(path), done, self.request())

    def _on_loaded(self, path: str, result: Any, asked: Request, changed: bool, tries: int) -> None:
        seen, found = result
        if isinstance(found, project_io.IncompleteProject):
            MissingFiles(
                Path(path).name, found.missing, self._widget,
                lambda folder: self._load(path, partial(found.looked_for_in, folder), asked, seen=seen),
                lambda: self._load(path, found.given_up, asked, seen=seen),
            ).open()  # fmt: skip
            return
        work, kept = found
        lock, why_not = self._locks.take(path)
        if (
            lock is not None and tries and file_mark(path) != seen
        ):  # another window has written it since
            self._locks.release(lock)
            self._load(path, path, replace(asked, mark=self.mark), tries=tries - 1)
            return
        with self.turns.paused():
            self._put(work)
            self._belong(path, lock, why_not, seen)
            self._now_saved(kept)
            if changed:
                self.mark_changed()
            self.named.emit(path)
            self.opened.emit(kept.project)
            reload_vote_maps(self._session, self._jobs, work)
        if why_not:
            self._session.say("warning", why_not)
        else:
            self._session.say("info", f"The project '{path}' was opened.")

    def restore(self, work: SessionState, project: Project, path: str) -> None:
        """Take work that was not saved when the program ended, as changes of its file if it had one."""
        lock, why_not = self._locks.take(path) if path else (None, "")
        with self.turns.paused():
            self._put(work)
            self._belong(path, lock, why_not, file_mark(path))
            self._kept = None
            self.mark_changed()
            self.opened.emit(project)
            reload_vote_maps(self._session, self._jobs, work)
        if why_not:
            self._session.say("warning", why_not)

    def _put(self, work: SessionState) -> None:
        """Let nothing that is under way for the old work come into the new one."""
        self._waiting = None
        self._generation += 1
        self._jobs.drop(*OF_THIS_WORK)
        self._session.set_work(work)

    # --- save -----------------------------------------------------------------------------------------------

    def save(self, then: Then = None, otherwise: Then = None) -> None:
        """Write the project to its file; one that has none, or may not write it, is asked for another."""
        if self.path:
            self._in_turn(self._generation, lambda: self._write_own(then, otherwise), otherwise)
        else:
            self.save_as(then, otherwise)

    def _write_own(self, then: Then, otherwise: Then) -> None:
        """Write to the file that the work belongs to; one that was another window's may be free by now."""
        if self.locked_out:
            lock, why_not = self._locks.take(self.path)
            self._belong(self.path, lock, why_not, self._mark)
        if self.locked_out:
            self.save_as(then, otherwise)
        else:
            self._write(self.path, then, otherwise)

    def save_as(self, then: Then = None, otherwise: Then = None) -> None:
        """Ask for a file and go on with that one; `otherwise` is done where it is not written."""
        shown, path = self._generation, self._asked_name("Save the project as")
        if path:
            self._in_turn(shown, lambda: self._write(path, then, otherwise), otherwise)
        elif otherwise is not None:
            otherwise()

    def save_copy(self) -> None:
        """Ask for a file and write a copy with all its files; the work goes on with the present one."""
        shown, path = self._generation, self._asked_name("Save a copy of the project")
        if path:
            self._in_turn(shown, lambda: self._write(path, copy=not self._is_own(path)))

    def save_packed(self) -> None:
        """Ask for a file and write everything into that one; the work goes on with the present project."""
        title = "Save the project as one file"
        shown, path = self._generation, self._asked_name(title, PACKED, PACKED_FILTER)
        if path:
            self._in_turn(shown, lambda: self._write_packed(path))

    def _in_turn(self, shown: int, write: Callable[[], object], otherwise: Then = None) -> None:
        """Write when it is its turn, unless other work is shown by then than when it was asked for."""

        def begin() -> None:
            if shown == self._generation:
                write()
                return
            self._session.say(
                "warning", "Nothing was saved: other work has come in the place of it."
            )
            if otherwise is not None:
                otherwise()

        self.turns.take(begin)

    def _write_packed(self, path: str) -> None:
        work, (view, layout), kept = self._session.work, self._view(), self._kept
        self._jobs.start(
            JOB, f"Saving {Path(path).name}", lambda: project_io.save_packed(path, work, view, layout, kept),
            done=lambda _: self._session.say("info", f"The project was packed into '{path}'."), writes=True,
        )  # fmt: skip

    def _asked_name(self, title: str, suffix: str = SUFFIX, wanted: str = FILTER) -> str:
        stem = Path(self.name).stem or "project"
        other = (
            " copy" if self.locked_out and suffix == SUFFIX else ""
        )  # that name is another window's
        proposed = os.path.join(self._folder(), f"{stem}{other}{suffix}")
        return ask_name(self._widget, title, proposed, suffix, wanted)

    def _write(
        self,
        path: str,
        then: Then = None,
        otherwise: Then = None,
        *,
        copy: bool = False,
        over: object = None,
    ) -> None:
        """Write to a file; `over` is the mark of another's version that the user has agreed to replace."""
        lock, why_not = self._locks.take(path)
        if why_not:
            self._session.say("error", f"{why_not} Choose another name.")
            if otherwise is not None:
                otherwise()
            return
        there = file_mark(path)
        if self._is_own(path) and there not in (None, self._mark, over):
            self._locks.release(lock)
            self._ask_replace(path, there, then, otherwise)
            return
        work, stamp, kept, shown = (
            self._session.work,
            self._session.stamp,
            self._kept,
            self._generation,
        )
        view, layout = self._view()
        self._locks.set_next(lock)

        def write() -> Generator[Any, None, tuple[Kept, object]]:
            written = yield from project_io.save(path, work, view, layout, kept)
            return written, file_mark(path)

        def done(result: tuple[Kept, object]) -> None:
            written, mark = result
            self.named.emit(path)
            self._session.say("info", f"The project was saved as '{path}'.")
            if copy or shown != self._generation:
                self._locks.set_next(None)
                return
            self._belong(path, lock, "", mark)
            self._kept, self._saved_as = written, stamp
            self._tell()
            self.saved.emit()
            if then is not None:
                then()

        def failed(_: Exception) -> None:
            self._locks.set_next(None)
            if otherwise is not None:
                otherwise()

        self._jobs.start(
            JOB, f"Saving {Path(path).name}", write, done=done, failed=failed, writes=True
        )

    def _ask_replace(self, path: str, there: object, then: Then, otherwise: Then) -> None:
        """Ask before a version of our file is replaced that was never read here."""
        shown = self._generation

        def answered(answer: int) -> None:
            if answer == REPLACE:
                write = partial(self._write, path, then, otherwise, over=there)
                self._in_turn(shown, write, otherwise)
            elif answer == SAVE:
                self._in_turn(shown, partial(self.save_as, then, otherwise), otherwise)
            elif otherwise is not None:
                otherwise()

        ask_replace(self._widget, Path(path).name, answered)

    # --- inside ---------------------------------------------------------------------------------------------

    def mark_changed(self) -> None:
        """Let what is shown count as not saved."""
        self._saved_as = None
        self._tell()

    def close(self) -> None:
        """Give the file free for others."""
        self._belong(self.path, None, self.locked_out, self._mark)

    def _now_saved(self, kept: Kept | None) -> None:
        self._kept, self._saved_as = kept, self._session.stamp
        self._tell()

    def _is_own(self, path: str) -> bool:
        return bool(self.path) and os.path.realpath(path) == os.path.realpath(self.path)

    def _belong(self, path: str, lock: Lock | None, why_not: str, mark: object) -> None:
        self._locks.set_own(lock)
        self._locks.set_next(None)
        self.path, self.locked_out, self._mark = path, why_not, mark
        self._tell()

    def _folder(self) -> str:
        recent = [self.path, *self._preferences.recent_projects]
        return next((str(Path(path).parent) for path in recent if path), "")

    def _on_session_changed(self) -> None:
        if self._waiting is not None and self._session.live is None:
            work, self._waiting = self._waiting, None
            QTimer.singleShot(0, self, work)
        self._tell()

    def _tell(self) -> None:
        now = self.name, self.unsaved, self.locked_out
        if now != self._told:
            self._told = now
            self.changed.emit()
