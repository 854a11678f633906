"""The one place of state: reference, dataset, runs, tested pictures. Every change is told by a signal."""

from __future__ import annotations

import functools
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from isca_gui.core.methods import METHODS
from isca_gui.core.settings import DatasetSpec, TrainingSettings
from isca_gui.session.records import LiveRun as LiveRun
from isca_gui.session.records import Message as Message
from isca_gui.session.records import Reference as Reference
from isca_gui.session.records import RejectedPicture as RejectedPicture
from isca_gui.session.records import Run as Run
from isca_gui.session.records import SessionState as SessionState
from isca_gui.session.records import Stamp
from isca_gui.session.records import TestedPicture as TestedPicture
from isca_gui.session.undo import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.core.solvers.steps import State, Step

MOST_MESSAGES = 2000
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def _together(
    method: Callable[Concatenate[Session, Given], Answer],
) -> Callable[Concatenate[Session, Given], Answer]:
    """Let what follows several signals, such as drawing, happen once when all of them are out."""

    @functools.wraps(method)
    def change(session: Session, /, *args: Given.args, **named: Given.kwargs) -> Answer:
        outer, session.changing = session.changing, True
        try:
            return method(session, *args, **named)
        finally:
            session.changing = outer
            if not outer:
                session.settled.emit()

    return change


class Session(QObject):
    """All that the window knows. Setters are the only way to change it."""

    reference_changed = Signal()
    spec_changed = Signal()
    dataset_changed = Signal()
    settings_changed = Signal()
    runs_changed = Signal()
    run_selected = Signal()
    tested_changed = Signal()
    tested_selected = Signal()
    stale_changed = Signal()
    message_added = Signal(object)
    step_added = Signal(int, list)
    settled = Signal()  # after the signals of one change, however many
    live_kept = Signal()  # it is known where the training under way stands

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.undo = QUndoStack(self)
        self.changing = False  # whether more signals of the same change may follow
        self._reference: Reference | None = None
        self._reference_number = 0
        self._spec, self._settings = DatasetSpec(), TrainingSettings()
        self._dataset: Dataset | None = None
        self._dataset_of: Reference | None = None  # the reference that the dataset was made of
        self._dataset_number, self._dataset_digest = 0, ""
        self._runs: tuple[Run, ...] = ()
        self._trained_on: dict[int, int] = {}  # number of a run: number of its dataset
        self._live: LiveRun | None = None
        self._tested: tuple[TestedPicture, ...] = ()
        self.refused: tuple[RejectedPicture, ...] = ()  # pictures that could not be recognised
        self._run_number = self._tested_number = 0  # of those selected
        self._last_run = self._last_tested = 0
        self._messages: list[Message] = []

    # --- reading --------------------------------------------------------------------------------------------

    @property
    def reference(self) -> Reference | None:
        """The reference picture."""
        return self._reference

    @property
    def spec(self) -> DatasetSpec:
        """Which distorted versions are to be made."""
        return self._spec

    @property
    def dataset(self) -> Dataset | None:
        """What was made or imported."""
        return self._dataset

    @property
    def dataset_stale(self) -> bool:
        """Whether the dataset no longer belongs to the reference or the spec."""
        if self._dataset is None:
            return False
        other = self._dataset.spec is not None and self._dataset.spec != self._spec
        return other or self._dataset_of is not self._reference

    @property
    def settings(self) -> TrainingSettings:
        """How the next training is to be."""
        return self._settings

    @property
    def training_stale(self) -> bool:
        """Whether the selected run was trained on other data or with other settings than those shown."""
        run = self.run
        return run is not None and (
            run.stale or run.settings.resolved() != self._settings.resolved()
        )

    @property
    def runs(self) -> tuple[Run, ...]:
        """All trainings that have ended."""
        return self._runs

    @property
    def run(self) -> Run | None:
        """The selected run."""
        return next((run for run in self._runs if run.number == self._run_number), None)

    @property
    def live(self) -> LiveRun | None:
        """The training that is under way."""
        return self._live

    @property
    def tested(self) -> tuple[TestedPicture, ...]:
        """All test pictures."""
        return self._tested

    @property
    def test(self) -> TestedPicture | None:
        """The selected test picture."""
        return next((test for test in self._tested if test.number == self._tested_number), None)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, oldest first."""
        return tuple(self._messages)

    def run_of(self, number: int) -> Run | None:
        """Give the run of a number, if it is still there."""
        return next((run for run in self._runs if run.number == number), None)

    def holds(self, run: Run) -> bool:
        """Whether the dataset is the one that a run was trained on, whatever has been set since."""
        known = self._dataset_digest and run.model.dataset == self._dataset_digest
        same = known or self._trained_on.get(run.number) == self._dataset_number
        return self._dataset is not None and bool(same)

    def tested_stale(self, tested: TestedPicture) -> bool:
        """Whether a verdict comes from another run than the selected one, or from a stale one."""
        run = self.run
        return tested.verdict is not None and (run is None or run.stale or tested.run != run.number)

    # --- reference, spec, dataset ---------------------------------------------------------------------------

    @_together
    def set_reference(self, reference: Reference) -> None:
        """Show another reference; what was made of the last one becomes stale."""
        self._reference = reference
        self._reference_number += 1
        self.reference_changed.emit()
        self._check_stale()

    def set_spec(self, spec: DatasetSpec, *, apart: bool = False) -> None:
        """Change which distortions to make, as an edit that can be undone, `apart` from the one before."""
        if spec != self._spec:
            change = Change("Change of the dataset", self._put_spec, self._spec, spec, apart=apart)
            self.undo.push(change)

    @_together
    def set_dataset(
        self, dataset: Dataset, digest: str = "", reference: Reference | None = None
    ) -> None:
        """Take a dataset; `reference` is what it was made of, the one shown now if not given."""
        self._dataset, self._dataset_digest = dataset, digest
        self._dataset_of = reference if reference is not None else self._reference
        self._dataset_number += 1
        self.dataset_changed.emit()
        self._check_stale()

    def set_settings(self, settings: TrainingSettings) -> None:
        """Change how to train, as an edit that can be undone."""
        if settings != self._settings:
            self.undo.push(
                Change("Change of the training", self._put_settings, self._settings, settings)
            )

    @_together
    def restore(self, spec: DatasetSpec, settings: TrainingSettings) -> None:
        """Put back what was set when the program ended; that is no edit."""
        self._put_spec(spec)
        self._put_settings(settings)

    # --- runs -----------------------------------------------------------------------------------------------

    def begin_run(self, settings: TrainingSettings, steps: Iterable[Step] = ()) -> int:
        """Note that a training begins and give its number; `steps` are those of the run it goes on from."""
        self._last_run += 1
        name = f"{METHODS[settings.method].title} {self._last_run}"
        self._live = LiveRun(self._last_run, name, settings, list(steps), self._dataset)
        self._trained_on[self._last_run] = self._dataset_number
        self.runs_changed.emit()
        return self._last_run

    def add_steps(self, steps: Sequence[Step]) -> None:
        """Take steps of the training under way."""
        if self._live is not None and steps:
            self._live.steps.extend(steps)
            self.step_added.emit(self._live.number, list(steps))

    def keep_state(self, state: State) -> None:
        """Note where the training under way stands."""
        if self._live is not None:
            self._live.state = state
            self.live_kept.emit()

    @_together
    def end_run(self, model: Model | None) -> None:
        """Note that the training under way has ended; with a model it becomes the selected run."""
        live, self._live = self._live, None
        if live is not None and model is not None:
            run = Run(live.number, live.name, model, live.settings)
            self._runs = (*self._runs, replace(run, stale=self._is_stale(run)))
            self._run_number = live.number
        self.runs_changed.emit()
        if model is not None:
            self.run_selected.emit()
            self._check_stale()

    @_together
    def add_model(self, name: str, model: Model) -> int:
        """Take a model from a file as a run of its own."""
        self._last_run += 1
        run = Run(self._last_run, name, model, model.settings)
        self._runs = (*self._runs, replace(run, stale=self._is_stale(run)))
        self.runs_changed.emit()
        self.select_run(run.number)
        return run.number

    @_together
    def replace_run(self, run: Run) -> None:
        """Put a changed run (renamed, evaluated) in its place."""
        self._runs = tuple(run if old.number == run.number else old for old in self._runs)
        self.runs_changed.emit()
        if run.number == self._run_number:
            self.run_selected.emit()

    @_together
    def remove_run(self, number: int) -> None:
        """Forget a run; if it was selected, the last one that is left is selected."""
        self._runs = tuple(run for run in self._runs if run.number != number)
        self.runs_changed.emit()
        if self._run_number == number:
            self.select_run(self._runs[-1].number if self._runs else 0)

    @_together
    def select_run(self, number: int) -> None:
        """Show another run."""
        self._run_number = number
        self.run_selected.emit()
        self._check_stale()

    # --- tested pictures ------------------------------------------------------------------------------------

    def next_tested_number(self) -> int:
        """Give a number that no test picture has."""
        self._last_tested += 1
        return self._last_tested

    @_together
    def add_tested(self, tested: TestedPicture, *, select: bool = True) -> None:
        """Take a test picture and select it, unless somebody is looking at another one."""
        self._last_tested = max(self._last_tested, tested.number)
        self._tested = (*self._tested, tested)
        self.tested_changed.emit()
        if select:
            self.select_tested(tested.number)

    @_together
    def replace_tested(self, tested: TestedPicture) -> None:
        """Put a changed test picture in its place."""
        self._tested = tuple(tested if old.number == tested.number else old for old in self._tested)
        self.tested_changed.emit()
        if tested.number == self._tested_number:
            self.tested_selected.emit()

    @_together
    def remove_tested(self, number: int) -> None:
        """Forget a test picture."""
        self._tested = tuple(tested for tested in self._tested if tested.number != number)
        self.tested_changed.emit()
        if self._tested_number == number:
            self.select_tested(self._tested[-1].number if self._tested else 0)

    def set_refused(self, refused: tuple[RejectedPicture, ...]) -> None:
        """Note which pictures could not be recognised."""
        self.refused = refused
        self.tested_changed.emit()

    def select_tested(self, number: int) -> None:
        """Show another test picture."""
        self._tested_number = number
        self.tested_selected.emit()

    # --- the whole ------------------------------------------------------------------------------------------

    @property
    def work(self) -> SessionState:
        """All that a project keeps, as it is now."""
        return SessionState(
            self._spec, self._settings, self._reference, self._dataset, self._dataset_digest,
            self._dataset_of, self._runs, self._tested, self.refused, self._run_number, self._tested_number,
        )  # fmt: skip

    @property
    def stamp(self) -> Stamp:
        """A small value that differs whenever there is something else to be saved."""
        runs = tuple((run.number, run.name, run.evaluation is not None) for run in self._runs)
        tested = tuple(
            (test.number, test.name, test.truth, test.run, found and (found.label, found.share))
            for test in self._tested
            for found in (test.verdict,)
        )
        edited = self._spec, self._settings
        return Stamp(
            self._reference_number, self._dataset_number, edited, runs, tested, self.refused
        )

    @_together
    def set_work(self, work: SessionState) -> None:
        """Put something else in the place of all that there is; that cannot be undone."""
        self.undo.clear()
        self._live, self._trained_on = None, {}
        self._reference, self._spec, self._settings = work.reference, work.spec, work.settings
        self._reference_number += 1
        self._dataset, self._dataset_digest, self._dataset_of = (
            work.dataset,
            work.digest,
            work.dataset_of,
        )
        self._dataset_number += 1
        self._runs = tuple(replace(run, stale=self._is_stale(run)) for run in work.runs)
        self._tested, self.refused = work.tested, work.refused
        self._run_number, self._tested_number = work.run, work.test
        # Not the number of a run that was deleted, either: its answers may still be there.
        numbers = [*(run.number for run in work.runs), *(test.run for test in work.tested)]
        self._last_run = max(numbers, default=0)
        numbers = [*(test.number for test in work.tested), *(each.number for each in work.refused)]
        self._last_tested = max(numbers, default=0)
        for signal in (
            *(
                self.reference_changed,
                self.spec_changed,
                self.settings_changed,
                self.dataset_changed,
            ),
            *(self.runs_changed, self.run_selected, self.tested_changed, self.tested_selected),
        ):
            signal.emit()
        self._check_stale()

    # --- messages -------------------------------------------------------------------------------------------

    def say(self, level: str, text: str, details: str = "") -> None:
        """Tell the person something; it stays in the history."""
        message = Message(level, text, details, datetime.now())
        self._messages = [*self._messages[-MOST_MESSAGES + 1 :], message]
        self.message_added.emit(message)

    # --- inside ---------------------------------------------------------------------------------------------

    def _put_spec(self, spec: DatasetSpec) -> None:
        self._spec = spec
        self.spec_changed.emit()
        self._check_stale()

    def _put_settings(self, settings: TrainingSettings) -> None:
        self._settings = settings
        self.settings_changed.emit()
        self.stale_changed.emit()

    def _is_stale(self, run: Run) -> bool:
        if self._dataset is None:
            return False  # a model from a file, with nothing to compare it with
        return not self.holds(run) or self.dataset_stale

    def _check_stale(self) -> None:
        """Mark every later stage, in this one place."""
        stale = [self._is_stale(run) for run in self._runs]
        pairs = zip(self._runs, stale, strict=True)
        runs = tuple(run if run.stale == now else replace(run, stale=now) for run, now in pairs)
        if runs != self._runs:
            self._runs = runs
            self.runs_changed.emit()
        self.stale_changed.emit()
