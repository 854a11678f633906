"""Autosave, and the offer of what was not saved when the program ended. No file of the user is touched."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal

from isca_gui.jobs import pace
from isca_gui.projects import recovery_folder

if TYPE_CHECKING:
    from collections.abc import Generator

    from isca_gui.jobs.runner import JobRunner
    from isca_gui.projects.manager import ProjectManager, View
    from isca_gui.projects.project_io import Kept
    from isca_gui.projects.recovery_folder import RunningTraining, UnsavedWork
    from isca_gui.session.session import Session
    from isca_gui.widgets.notice_bar import Notice

JOB, FIND, RESTORE = "autosave", "find unsaved work", "project"
_SOON = 2.0  # seconds after a change: many come together
_RESTORE = "Bring this work back; it can then be saved."
_DISCARD = "Delete this work for good."
_LATER = "Leave it; it is offered again at the next start."


class Standing(NamedTuple):
    """Which training stands at which epoch, and whether what it learns from is the dataset of the work."""

    number: int
    epoch: int
    own: bool


_NOTHING = Standing(0, 0, True)


class Recovery(QObject):
    """Puts work into safety while it is not saved, and brings it back after a crash."""

    kept = Signal()  # all that there is has been put into safety

    def __init__(
        self, session: Session, jobs: JobRunner, projects: ProjectManager, notice: Notice, view: View,
        parent: QObject,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._session, self._jobs, self._projects = session, jobs, projects
        self._notice, self._view = notice, view
        self._safe = recovery_folder.RecoveryFolder()
        self._kept: Kept | None = None
        self._written = _NOTHING  # the training whose state is in safety
        self._last = -1e9  # when it was last begun to put all into safety
        self.busy = self._again = self._at_once = self._closed = self._warned = False
        self._live = 0  # number of the training under way
        self._orphans: list[UnsavedWork] = []
        self._restoring = False
        self._adopted: list[
            UnsavedWork
        ] = []  # restored, and to be removed when they are in our own folder
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._on_timer)
        self._connect()

    def _connect(self) -> None:
        session = self._session
        for signal in (
            *(session.reference_changed, session.spec_changed, session.settings_changed),
            *(session.dataset_changed, session.tested_changed),
        ):
            signal.connect(self._later)
        session.runs_changed.connect(self._on_runs_changed)
        session.live_kept.connect(self._now)
        self._projects.saved.connect(self._now)
        self._jobs.changed.connect(self._on_jobs_changed)

    # --- autosave -------------------------------------------------------------------------------------------

    def _on_runs_changed(self) -> None:
        live = self._session.live
        ended = self._live and (live is None or live.number != self._live)
        self._live = live.number if live is not None else 0
        if live is None:
            self._written = _NOTHING  # another project's run may have the same number
        self._now() if ended else self._later()

    def _later(self) -> None:
        """Put everything into safety, soon, but not more often than every so many seconds."""
        if self._closed or self._timer.isActive():
            return
        if self.busy:
            self._again = True
            return
        interval = pace.interval()
        wait = max(min(_SOON, interval), self._last + interval - time.monotonic())
        self._timer.start(round(1000 * wait))

    def _now(self) -> None:
        if self.busy:
            self._at_once = True
        elif not self._closed:
            self._timer.start(0)

    def _on_timer(self) -> None:
        self._again = self._at_once = False
        if not self._projects.unsaved:
            self._safe.empty()
            return
        work, (view, layout), kept = self._session.work, self._view(), self._kept
        path = (
            "" if self._projects.locked_out else self._projects.path
        )  # it may not be written from here
        if path != self._safe.path:
            self._written = _NOTHING  # what is there is of another project, and goes
        now = self._standing()
        live, ended, adopted = self._snapshot(), self._session.live is None, tuple(self._adopted)

        def make() -> Generator[Any, None, Any]:
            try:
                return (yield from self._safe.save(work, view, layout, path, live, kept))
            except Exception as error:  # noqa: BLE001 - told once, not every half minute
                return error

        self.busy, self._last = True, time.monotonic()
        # It ends by itself: Stop is for what the user has begun.
        self._jobs.run(
            JOB, "Keeping your work safe", make,
            done=lambda result: self._on_kept(result, now if live is not None else None, ended, adopted),
        )  # fmt: skip

    def _on_kept(
        self, result: Any, live: Standing | None, ended: bool, adopted: tuple[UnsavedWork, ...]
    ) -> None:
        """Note what is in safety; `adopted` was restored before it was written, and is in it."""
        self.busy = False
        if isinstance(result, Exception):
            self._kept = None
            if not self._warned:
                self._session.say(
                    "warning",
                    f"Work cannot be put into safety ({result}). Save the project.",
                    repr(result),
                )
            self._warned = True
            self._later()  # a disk that is full now may have room in half a minute
            return
        self._kept, self._warned = result, False
        if live is not None:
            self._written = live
        if ended and self._session.live is None:  # its run is in what has just been written
            self._safe.forget_training()
        for orphan in adopted:
            self._remove(orphan)
            self._adopted.remove(orphan)
        if not self._projects.unsaved:
            self._safe.empty()
        self.kept.emit()
        if self._at_once:
            self._now()
        elif self._again:
            self._later()

    def _standing(self) -> Standing:
        live = self._session.live
        if live is None or live.state is None:
            return _NOTHING
        return Standing(live.number, live.state.epoch, live.dataset is self._session.dataset)

    def _snapshot(self) -> RunningTraining | None:
        """Give where the training under way stands, if that is not in safety yet."""
        live = self._session.live
        if (
            live is None
            or live.state is None
            or live.dataset is None
            or self._standing() == self._written
        ):
            return None
        from isca_gui.core.model.training_snapshot import Snapshot

        height, width = live.dataset.reference.shape
        now = Snapshot(
            live.number, live.name, (height, width), live.settings, live.state, tuple(live.steps)
        )
        return recovery_folder.RunningTraining(now, live.dataset)

    def close(self, *, keep: bool) -> None:
        """End; what is in safety stays for the next start, or goes."""
        self._closed = True
        self._timer.stop()
        self._safe.close(keep=keep)
        for orphan in [*self._orphans, *self._adopted]:
            orphan.lock.release()

    # --- after a crash --------------------------------------------------------------------------------------

    def look(self) -> None:
        """Look for work that was not saved, and offer it without standing in the way."""
        self._jobs.run(
            FIND,
            "Looking for work that was not saved",
            recovery_folder.orphans,
            done=self._on_found,
        )

    def _on_found(self, result: tuple[list[UnsavedWork], list[str]]) -> None:
        self._orphans, problems = result
        for problem in problems:
            self._session.say("warning", problem)
        self._offer()
        self._jobs.run("prepare safety", "Preparing", recovery_folder.prepare)

    def _offer(self) -> None:
        if not self._orphans:
            self._notice.end()
            return
        orphan = self._orphans[0]
        more = (
            f" There is more after this ({len(self._orphans) - 1})."
            if len(self._orphans) > 1
            else ""
        )
        when = f"{orphan.when:%d %B, %H:%M}"
        self._notice.say(
            f"Unsaved work from the last session: {orphan.what}, {when}.{more}",
            (
                (
                    "Restore",
                    _RESTORE,
                    partial(self._projects.guard, partial(self._restore, orphan), self._offer),
                ),
                ("Discard", _DISCARD, lambda: self._discard(orphan)),
                ("Later", _LATER, self._leave),
            ),
        )

    def _restore(self, orphan: UnsavedWork) -> None:
        asked = self._projects.request()

        def done(result: Any) -> None:
            self._restoring = False
            self._projects.replace_work(asked, lambda: put(result), self._offer)

        def put(result: Any) -> None:
            work, document, told = result
            self._orphans.remove(orphan)
            self._adopt(orphan, whole=not told)
            self._projects.restore(work, document, "" if orphan.mark_dirty else orphan.path)
            for each in told:
                self._session.say("warning", each)
            self._session.say("info", f"{orphan.what} was restored. It is not saved yet.")
            self._offer()
            self._now()

        def begin() -> None:
            self._restoring = True
            self._jobs.start(
                RESTORE, "Restoring your work", lambda: recovery_folder.load(orphan), done=done
            )

        self._notice.say(f"Restoring {orphan.what}…", ())
        self._projects.turns.take(begin)

    def _adopt(self, orphan: UnsavedWork, *, whole: bool) -> None:
        """Take over what was restored; its folder goes when all of it is in ours."""
        if orphan.mark_dirty:
            words = f"'{orphan.path}' was saved after this work was kept, and stays as it is: save it as another."
            self._session.say("warning", words)
        if whole:
            self._adopted.append(orphan)
        else:
            self._session.say("warning", f"What could not be restored stays in '{orphan.folder}'.")
            orphan.lock.release()

    def _on_jobs_changed(self) -> None:
        """Offer it again where restoring failed or was stopped."""
        if self._restoring and not self._jobs.running(RESTORE):
            self._restoring = False
            self._offer()

    def _discard(self, orphan: UnsavedWork) -> None:
        self._orphans.remove(orphan)
        self._remove(orphan)
        self._offer()

    def _remove(self, orphan: UnsavedWork) -> None:
        def work() -> None:
            recovery_folder.discard(orphan.folder)
            orphan.lock.release()

        self._jobs.run(
            f"remove {orphan.folder.name}", "Removing work that is no longer needed", work
        )

    def _leave(self) -> None:
        for orphan in self._orphans:
            orphan.lock.release()
        self._orphans = []
