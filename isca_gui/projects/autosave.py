"""Autosave, and the offer of unsaved work after a crash. No file of the user is touched."""

from __future__ import annotations

import time
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal

from isca_gui.jobs.autosave_interval import autosave_interval
from isca_gui.jobs.names import JobName
from isca_gui.projects import recovery_folder

if TYPE_CHECKING:
    from collections.abc import Generator

    from isca_gui.jobs.runner import JobRunner
    from isca_gui.projects.manager import ProjectManager, Request, View
    from isca_gui.projects.project_io import WrittenFiles
    from isca_gui.projects.recovery_folder import RunningTraining, UnsavedWork
    from isca_gui.session.session import Session
    from isca_gui.widgets.notice_bar import Notice

# Seconds after a change: many changes come together.
_SOON = 2.0
_RESTORE = "Bring this work back. You can then save it."
_DISCARD = "Delete this work for good."
_LATER = "Offer this work again the next time the program starts."


class TrainingState(NamedTuple):
    """Which training is at which epoch, and whether it learns from the dataset that is shown."""

    number: int = 0
    epoch: int = 0
    own_dataset: bool = True


_NO_TRAINING = TrainingState()


class _Wanted(Enum):
    """When to autosave again after the autosave that is under way."""

    NEVER = 0
    LATER = 1
    NOW = 2


class Recovery(QObject):
    """Keeps a copy of unsaved work in the recovery folder, and brings it back after a crash."""

    # All that there is has been written to the recovery folder.
    autosaved = Signal()

    def __init__(
        self,
        session: Session,
        jobs: JobRunner,
        projects: ProjectManager,
        notice: Notice,
        view: View,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._jobs = jobs
        self._projects = projects
        self._notice = notice
        self._view = view
        self._folder = recovery_folder.RecoveryFolder()
        self._written: WrittenFiles | None = None
        self._written_training = _NO_TRAINING
        self._last = -1e9  # when the last autosave began
        self._wanted = _Wanted.NEVER
        self._closed = False
        self._warned = False  # autosave fails, and the user knows
        self._live = 0  # the number of the training under way
        self._unsaved: list[UnsavedWork] = []  # to be offered
        self._restoring = False
        # Work that was restored; its folder goes when all of it is in our own.
        self._adopted: list[UnsavedWork] = []
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._autosave)
        self._connect()

    @property
    def busy(self) -> bool:
        """Whether an autosave is under way."""
        return not self._jobs.idle(JobName.AUTOSAVE)

    def close(self, *, keep: bool) -> None:
        """End; the copy stays for the next start, or goes."""
        self._closed = True
        self._timer.stop()
        self._folder.close(keep=keep)
        for unsaved in [*self._unsaved, *self._adopted]:
            unsaved.lock.release()

    def _connect(self) -> None:
        session = self._session
        for signal in (
            session.reference_changed,
            session.spec_changed,
            session.settings_changed,
            session.dataset_changed,
            session.tested_changed,
        ):
            signal.connect(self._autosave_later)
        session.runs_changed.connect(self._on_runs_changed)
        session.live_kept.connect(self._autosave_now)
        self._projects.saved.connect(self._autosave_now)
        self._jobs.changed_of(JobName.PROJECT).connect(self._on_jobs_changed)

    # --- autosave ---------------------------------------------------------------------------------

    def _on_runs_changed(self) -> None:
        live = self._session.live
        ended = self._live and (live is None or live.number != self._live)
        self._live = live.number if live is not None else 0
        if live is None:
            # A run of another project may have the same number.
            self._written_training = _NO_TRAINING
        if ended:
            self._autosave_now()
        else:
            self._autosave_later()

    def _autosave_later(self) -> None:
        """Autosave soon, but not more often than the interval allows."""
        if self._closed or self._timer.isActive():
            return
        if self.busy:
            self._wanted = max(self._wanted, _Wanted.LATER, key=lambda wanted: wanted.value)
            return
        interval = autosave_interval()
        wait = max(min(_SOON, interval), self._last + interval - time.monotonic())
        self._timer.start(round(1000 * wait))

    def _autosave_now(self) -> None:
        if self.busy:
            self._wanted = _Wanted.NOW
        elif not self._closed:
            self._timer.start(0)

    def _autosave(self) -> None:
        self._wanted = _Wanted.NEVER
        if not self._projects.unsaved:
            self._folder.empty()
            return
        work = self._session.work
        view, layout = self._view()
        before = self._written
        # A file that is another window's cannot be written from here after a crash, either.
        path = "" if self._projects.locked_out else self._projects.path
        if path != self._folder.path:
            # What the folder holds is of another project, and goes.
            self._written_training = _NO_TRAINING
        state = self._training_state()
        training = self._training_to_write()
        ended = self._session.live is None
        adopted = tuple(self._adopted)

        def make() -> Generator[Any, None, Any]:
            try:
                return (yield from self._folder.save(work, view, layout, path, training, before))
            except Exception as error:  # noqa: BLE001 - shown once, not every half minute
                return error

        def done(result: Any) -> None:
            if isinstance(result, Exception):
                self._on_failed(result)
                return
            if training is not None:
                self._written_training = state
            self._on_autosaved(result, ended, adopted)

        self._last = time.monotonic()
        # `run` and not `start`: Stop is for what the user has begun.
        self._jobs.run(JobName.AUTOSAVE, "Autosaving", make, done=done)

    def _on_failed(self, error: Exception) -> None:
        self._written = None
        if not self._warned:
            text = f"Autosave failed ({error}). Save the project to keep your work."
            self._session.say("warning", text, repr(error))
        self._warned = True
        # A disk that is full now may have room in half a minute.
        self._autosave_later()

    def _on_autosaved(
        self, written: WrittenFiles, ended: bool, adopted: tuple[UnsavedWork, ...]
    ) -> None:
        """Note what is in the folder; `adopted` was restored before, and is in it."""
        self._written = written
        self._warned = False
        if ended and self._session.live is None:
            # The run of the training is in what has just been written.
            self._folder.forget_training()
        for unsaved in adopted:
            self._remove(unsaved)
            self._adopted.remove(unsaved)
        if not self._projects.unsaved:
            self._folder.empty()
        self.autosaved.emit()
        if self._wanted is _Wanted.NOW:
            self._autosave_now()
        elif self._wanted is _Wanted.LATER:
            self._autosave_later()

    def _training_state(self) -> TrainingState:
        live = self._session.live
        if live is None or live.state is None:
            return _NO_TRAINING
        own_dataset = live.dataset is self._session.dataset
        return TrainingState(live.number, live.state.epoch, own_dataset)

    def _training_to_write(self) -> RunningTraining | None:
        """Return the training under way, if its state is not in the folder yet."""
        live = self._session.live
        if live is None or live.state is None or live.dataset is None:
            return None
        if self._training_state() == self._written_training:
            return None
        from isca_gui.core.model.training_snapshot import Snapshot

        height, width = live.dataset.reference.shape
        snapshot = Snapshot(
            live.number, live.name, (height, width), live.settings, live.state, tuple(live.steps)
        )
        return recovery_folder.RunningTraining(snapshot, live.dataset)

    # --- after a crash ----------------------------------------------------------------------------

    def look(self) -> None:
        """Look for unsaved work, and offer it without interrupting anybody."""
        self._jobs.run(
            JobName.FIND_UNSAVED_WORK,
            "Looking for unsaved work",
            recovery_folder.find_unsaved_work,
            done=self._on_found,
        )

    def _on_found(self, result: tuple[list[UnsavedWork], list[str]]) -> None:
        self._unsaved, problems = result
        for problem in problems:
            self._session.say("warning", problem)
        self._offer()
        self._jobs.run(JobName.PREPARE_AUTOSAVE, "Preparing autosave", recovery_folder.prepare)

    def _offer(self) -> None:
        if not self._unsaved:
            self._notice.end()
            return
        unsaved = self._unsaved[0]
        text = f"Unsaved work from the last session: {unsaved.what}, {unsaved.when:%d %B, %H:%M}."
        others = len(self._unsaved) - 1
        if others:
            text += f" There is more unsaved work after this ({others})."
        restore = partial(self._projects.guard, partial(self._restore, unsaved), self._offer)
        self._notice.say(
            text,
            (
                ("Restore", _RESTORE, restore),
                ("Discard", _DISCARD, partial(self._discard, unsaved)),
                ("Later", _LATER, self._leave),
            ),
        )

    def _restore(self, unsaved: UnsavedWork, request: Request) -> None:
        def begin() -> None:
            self._restoring = True
            self._jobs.start(
                JobName.PROJECT,
                "Restoring your work",
                lambda: recovery_folder.load(unsaved),
                done=done,
            )

        def done(loaded: Any) -> None:
            self._restoring = False
            put = partial(self._put_restored, unsaved, *loaded)
            self._projects.replace_work(request, put, self._offer)

        self._notice.say(f"Restoring {unsaved.what}…", ())
        self._projects.save_queue.add(begin)

    def _put_restored(
        self, unsaved: UnsavedWork, work: Any, document: Any, problems: list[str]
    ) -> None:
        self._unsaved.remove(unsaved)
        self._adopt(unsaved, whole=not problems)
        self._projects.restore(work, document, "" if unsaved.file_is_newer else unsaved.path)
        for problem in problems:
            self._session.say("warning", problem)
        self._session.say("info", f"{unsaved.what} was restored. It is not saved yet.")
        self._offer()
        self._autosave_now()

    def _adopt(self, unsaved: UnsavedWork, *, whole: bool) -> None:
        """Take over what was restored; its folder goes when all of it is in ours."""
        if unsaved.file_is_newer:
            text = (
                f"'{unsaved.path}' was saved later than this work, so it stays as it is. "
                "Save the restored work under another name."
            )
            self._session.say("warning", text)
        if whole:
            self._adopted.append(unsaved)
        else:
            self._session.say("warning", f"What could not be restored stays in '{unsaved.folder}'.")
            unsaved.lock.release()

    def _on_jobs_changed(self) -> None:
        """Offer the work again where restoring failed or was stopped."""
        if self._restoring and not self._jobs.running(JobName.PROJECT):
            self._restoring = False
            self._offer()

    def _discard(self, unsaved: UnsavedWork) -> None:
        self._unsaved.remove(unsaved)
        self._remove(unsaved)
        self._offer()

    def _remove(self, unsaved: UnsavedWork) -> None:
        def work() -> None:
            recovery_folder.discard(unsaved.folder)
            unsaved.lock.release()

        self._jobs.run(
            JobName.REMOVE_UNSAVED_WORK.of(unsaved.folder.name), "Removing old unsaved work", work
        )

    def _leave(self) -> None:
        for unsaved in self._unsaved:
            unsaved.lock.release()
        self._unsaved = []
