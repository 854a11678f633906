"""Work that is not replaced, nor left, before the user was asked about what is not saved of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from isca_gui.projects.save_queue import SaveQueue
from isca_gui.projects.unsaved_changes import what_is_lost
from isca_gui.projects.vote_map_reload import RELOAD_VOTE_MAPS
from isca_gui.widgets.dialogs import DISCARD, SAVE, ask_save

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import Stamp
    from isca_gui.session.session import Session

    Then = Callable[[], object] | None

JOB = "project"
# Jobs whose results belong to what is shown now, and not to another project.
OF_THIS_WORK = (
    *("dataset", "training", "recognise", "evaluation ", "open", "load model", "preview"),
    RELOAD_VOTE_MAPS,
)


@dataclass(frozen=True)
class Request:
    """Other work that was asked for: which in the order of asking, and the mark of what there was then."""

    number: int
    mark: object


class GuardedWork(QObject):
    """What the session holds, and the file that it belongs to, if it has one."""

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._session, self._jobs, self._actions, self._widget = session, jobs, actions, parent
        self.path = ""  # empty: it has no file yet
        self._saved_as: Stamp | None = session.stamp
        self._waiting: Callable[[], object] | None = None  # for the training to be stopped
        self._discarded = False
        self._requests = self._met = (
            0  # for other work: how many there were, and which was met last
        )
        self.turns = SaveQueue(jobs, JOB, self)

    def save(self, then: Then = None, otherwise: Then = None) -> None:
        """Write the work to its file; `otherwise` is done where it is not written."""
        raise NotImplementedError

    # --- what is so -----------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What the project is called: its file, or the reference while it has none."""
        reference = self._session.reference
        return (
            Path(self.path).name if self.path else reference.name if reference is not None else ""
        )

    @property
    def unsaved(self) -> bool:
        """Whether something would be lost."""
        if self._session.live is not None:
            return True
        changed = self._session.stamp != self._saved_as
        return changed and (bool(self.path) or self._session.work.worth_keeping)

    # --- before anything is lost ----------------------------------------------------------------------------

    @property
    def mark(self) -> object:
        """What there is now, to be compared with what there is later; None: it was discarded."""
        return None if self._discarded else self.present

    @property
    def present(self) -> object:
        """What there is now, discarded or not."""
        return self._session.stamp, self._session.live

    def request(self) -> Request:
        """Note that other work is asked for, now."""
        self._requests += 1
        return Request(self._requests, self.mark)

    def unchanged_since(self, mark: object) -> bool:
        """Tell whether nothing has been done since the time of a mark that was not discarded then."""
        return mark in (None, self.present)

    def replace_work(
        self, asked: Request, put: Callable[[], object], otherwise: Then = None
    ) -> None:
        """Put other work in the place of this when nothing is written, after asking about what is new since.

        A save may have begun behind the question: it is to end before its work is gone. And what was asked
        for later may be here already: then that is what the user wants.
        """

        def again() -> None:
            self.replace_work(replace(asked, mark=self.mark), put, otherwise)

        def begin() -> None:
            if asked.number < self._met:
                if otherwise is not None:
                    otherwise()
            elif self.unchanged_since(asked.mark):
                self._met = asked.number
                put()
            else:
                self.guard(again, otherwise)

        self.turns.take(begin)

    def guard(self, then: Callable[[], object], otherwise: Then = None) -> None:
        """Do something that would lose what is not saved; ask before, if there is something."""
        self._waiting = None  # whatever was to be done before, this is asked for now
        if not self.unsaved:
            then()
            return
        saved = self._saved_as if self.path else None
        lost = what_is_lost(self._session.work, self._session.live, self._session.stamp, saved)
        ask_save(
            self._widget, self.name, lost, lambda answer: self._on_answered(answer, then, otherwise)
        )

    def _on_answered(self, answer: int, then: Callable[[], object], otherwise: Then = None) -> None:
        def saved() -> None:  # what was changed while it was written is written too
            self._on_answered(SAVE if self.unsaved else DISCARD, then, otherwise)

        if answer == SAVE:
            self._when_stopped(lambda: self.save(saved, otherwise))
        elif answer == DISCARD:
            # What jobs under way are about to give was discarded as well.
            self._discarded = any(job.name.startswith(OF_THIS_WORK) for job in self._jobs.jobs())
            then()
            self._discarded = False
        elif otherwise is not None:
            otherwise()

    def _when_stopped(self, work: Callable[[], object]) -> None:
        if self._session.live is None:
            work()
            return
        self._waiting = work
        self._session.say("info", f"It is saved as soon as {self._session.live.name} has stopped.")
        self._actions.stop_training()
