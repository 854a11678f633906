"""The one place of state: reference, dataset, runs and test pictures; every change has a signal."""

from __future__ import annotations

import functools
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.methods import METHODS
from isca_gui.core.settings import TrainingSettings
from isca_gui.session.comparisons import Comparisons
from isca_gui.session.records import LiveRun, Message, Run, SessionState, Stamp
from isca_gui.session.undo import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.core.solvers.steps import State, Step
    from isca_gui.session.records import Reference, RejectedPicture, TestedPicture

MOST_MESSAGES = 2000
Given = ParamSpec("Given")
Result = TypeVar("Result")


def _one_change(
    method: Callable[Concatenate[Session, Given], Result],
) -> Callable[Concatenate[Session, Given], Result]:
    """Emit `settled` once after all signals of a method, so that what follows is drawn once."""

    @functools.wraps(method)
    def change(session: Session, /, *args: Given.args, **named: Given.kwargs) -> Result:
        outer = session.changing
        session.changing = True
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
    # Emitted after the signals of one change, however many they are.
    settled = Signal()
    # The training under way has reported a state that it can be resumed from.
    live_kept = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.undo = QUndoStack(self)
        self.comparisons = Comparisons(self.undo, self)
        self.changing = False  # whether more signals of the same change may follow
        self._reference: Reference | None = None
        self._reference_number = 0
        self._spec = DatasetSpec()
        self._settings = TrainingSettings()
        self._dataset: Dataset | None = None
        self._dataset_of: Reference | None = None  # the reference that the dataset was made of
        self._dataset_number = 0
        self._dataset_digest = ""
        self._runs: tuple[Run, ...] = ()
        self._trained_on: dict[int, int] = {}  # the number of each run's dataset
        self._live: LiveRun | None = None
        self._tested: tuple[TestedPicture, ...] = ()
        self.refused: tuple[RejectedPicture, ...] = ()  # pictures that could not be recognised
        self._run_number = 0  # of the selected run
        self._tested_number = 0  # of the selected test picture
        self._last_run = 0
        self._last_tested = 0
        self._messages: list[Message] = []

    # --- reading ----------------------------------------------------------------------------------

    @property
    def reference(self) -> Reference | None:
        """The reference picture."""
        return self._reference

    @property
    def spec(self) -> DatasetSpec:
        """Which distorted copies are to be made."""
        return self._spec

    @property
    def dataset(self) -> Dataset | None:
        """What was generated or imported."""
        return self._dataset

    @property
    def dataset_stale(self) -> bool:
        """Whether the dataset no longer belongs to the reference or the spec."""
        if self._dataset is None:
            return False
        other_spec = self._dataset.spec is not None and self._dataset.spec != self._spec
        return other_spec or self._dataset_of is not self._reference

    @property
    def settings(self) -> TrainingSettings:
        """The settings of the next training."""
        return self._settings

    @property
    def training_stale(self) -> bool:
        """Whether the selected run has other data or settings than those shown."""
        run = self.run
        if run is None:
            return False
        return run.stale or run.settings.resolved() != self._settings.resolved()

    @property
    def runs(self) -> tuple[Run, ...]:
        """All trainings that have ended."""
        return self._runs

    @property
    def run(self) -> Run | None:
        """The selected run."""
        return self.run_of(self._run_number)

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
        """Return the run of a number, if it is still there."""
        return next((run for run in self._runs if run.number == number), None)

    def holds(self, run: Run) -> bool:
        """Whether the dataset is the one that a run was trained on, whatever has been set since."""
        if self._dataset is None:
            return False
        if self._dataset_digest and run.model.dataset == self._dataset_digest:
            return True
        return self._trained_on.get(run.number) == self._dataset_number

    def tested_stale(self, tested: TestedPicture) -> bool:
        """Whether a verdict comes from another run than the selected one, or from a stale one."""
        if tested.verdict is None:
            return False
        run = self.run
        return run is None or run.stale or tested.run != run.number

    # --- reference, spec, dataset -----------------------------------------------------------------

    @_one_change
    def set_reference(self, reference: Reference) -> None:
        """Show another reference; what was made of the last one becomes stale."""
        self._reference = reference
        self._reference_number += 1
        self.reference_changed.emit()
        self._check_stale()

    def set_spec(self, spec: DatasetSpec, *, apart: bool = False) -> None:
        """Change which copies to make, as an edit that can be undone, `apart` from the last one."""
        if spec != self._spec:
            text = "change to dataset settings"
            self.undo.push(Change(text, self._put_spec, self._spec, spec, apart=apart))

    @_one_change
    def set_dataset(
        self, dataset: Dataset, digest: str = "", reference: Reference | None = None
    ) -> None:
        """Take a dataset; `reference` is what it was made of, the one shown now if not given."""
        self._dataset = dataset
        self._dataset_digest = digest
        self._dataset_of = reference if reference is not None else self._reference
        self._dataset_number += 1
        self.dataset_changed.emit()
        self._check_stale()

    def set_settings(self, settings: TrainingSettings) -> None:
        """Change how to train, as an edit that can be undone."""
        if settings != self._settings:
            text = "change to training settings"
            self.undo.push(Change(text, self._put_settings, self._settings, settings))

    @_one_change
    def restore(self, spec: DatasetSpec, settings: TrainingSettings) -> None:
        """Put back the settings of the last session; this is no edit that can be undone."""
        self._put_spec(spec)
        self._put_settings(settings)

    # --- runs -------------------------------------------------------------------------------------

    def begin_run(self, settings: TrainingSettings, steps: Iterable[Step] = ()) -> int:
        """Begin a training and return its number; `steps` are those of the run it resumes."""
        self._last_run += 1
        name = f"{METHODS[settings.method].title} {self._last_run}"
        self._live = LiveRun(self._last_run, name, settings, list(steps), self._dataset)
        self._trained_on[self._last_run] = self._dataset_number
        self.runs_changed.emit()
        return self._last_run

    def add_steps(self, steps: Sequence[Step]) -> None:
        """Add steps of the training under way."""
        if self._live is not None and steps:
            self._live.steps.extend(steps)
            self.step_added.emit(self._live.number, list(steps))

    def keep_state(self, state: State) -> None:
        """Keep the state of the training under way, to resume from after a crash."""
        if self._live is not None:
            self._live.state = state
            self.live_kept.emit()

    @_one_change
    def end_run(self, model: Model | None) -> None:
        """End the training under way; with a model it becomes the selected run."""
        live = self._live
        self._live = None
        if live is not None and model is not None:
            run = Run(live.number, live.name, model, live.settings)
            self._runs = (*self._runs, replace(run, stale=self._is_stale(run)))
            self._run_number = live.number
        self.runs_changed.emit()
        if model is not None:
            self.run_selected.emit()
            self._check_stale()

    @_one_change
    def add_model(self, name: str, model: Model) -> int:
        """Take a model from a file as a run of its own, and return its number."""
        self._last_run += 1
        run = Run(self._last_run, name, model, model.settings)
        self._runs = (*self._runs, replace(run, stale=self._is_stale(run)))
        self.runs_changed.emit()
        self.select_run(run.number)
        return run.number

    @_one_change
    def replace_run(self, run: Run) -> None:
        """Put a changed run (renamed, evaluated) in its place."""
        self._runs = tuple(run if old.number == run.number else old for old in self._runs)
        self.runs_changed.emit()
        if run.number == self._run_number:
            self.run_selected.emit()

    @_one_change
    def remove_run(self, number: int) -> None:
        """Delete a run; if it was selected, the last one that is left is selected."""
        self._runs = tuple(run for run in self._runs if run.number != number)
        self.runs_changed.emit()
        if self._run_number == number:
            self.select_run(self._runs[-1].number if self._runs else 0)

    @_one_change
    def select_run(self, number: int) -> None:
        """Show another run."""
        self._run_number = number
        self.run_selected.emit()
        self._check_stale()

    # --- test pictures ----------------------------------------------------------------------------

    def next_tested_number(self) -> int:
        """Return a number that no test picture has."""
        self._last_tested += 1
        return self._last_tested

    @_one_change
    def add_tested(self, tested: TestedPicture, *, select: bool = True) -> None:
        """Take a test picture and select it, unless somebody is looking at another one."""
        self._last_tested = max(self._last_tested, tested.number)
        self._tested = (*self._tested, tested)
        self.tested_changed.emit()
        if select:
            self.select_tested(tested.number)

    @_one_change
    def replace_tested(self, tested: TestedPicture) -> None:
        """Put a changed test picture in its place."""
        self._tested = tuple(tested if old.number == tested.number else old for old in self._tested)
        self.tested_changed.emit()
        if tested.number == self._tested_number:
            self.tested_selected.emit()

    @_one_change
    def remove_tested(self, number: int) -> None:
        """Remove a test picture; if it was selected, the last one that is left is selected."""
        self._tested = tuple(tested for tested in self._tested if tested.number != number)
        self.tested_changed.emit()
        if self._tested_number == number:
            self.select_tested(self._tested[-1].number if self._tested else 0)

    def set_refused(self, refused: tuple[RejectedPicture, ...]) -> None:
        """Set which pictures could not be recognised."""
        self.refused = refused
        self.tested_changed.emit()

    def select_tested(self, number: int) -> None:
        """Show another test picture."""
        self._tested_number = number
        self.tested_selected.emit()

    # --- the whole --------------------------------------------------------------------------------

    @property
    def work(self) -> SessionState:
        """All that a project keeps, as it is now."""
        return SessionState(
            spec=self._spec,
            settings=self._settings,
            reference=self._reference,
            dataset=self._dataset,
            digest=self._dataset_digest,
            dataset_of=self._dataset_of,
            runs=self._runs,
            tested=self._tested,
            refused=self.refused,
            run=self._run_number,
            test=self._tested_number,
        )

    @property
    def stamp(self) -> Stamp:
        """A small value that differs whenever there is something else to be saved."""
        runs = tuple((run.number, run.name, run.evaluation is not None) for run in self._runs)
        return Stamp(
            reference=self._reference_number,
            dataset=self._dataset_number,
            settings=(self._spec, self._settings),
            runs=runs,
            tested=tuple(_stamp_of(test) for test in self._tested),
            refused=self.refused,
        )

    @_one_change
    def set_work(self, work: SessionState) -> None:
        """Replace all that there is by something else; this cannot be undone."""
        self.undo.clear()
        self.comparisons.clear()
        self._live = None
        self._trained_on = {}
        self._reference = work.reference
        self._reference_number += 1
        self._spec = work.spec
        self._settings = work.settings
        self._dataset = work.dataset
        self._dataset_digest = work.digest
        self._dataset_of = work.dataset_of
        self._dataset_number += 1
        self._runs = tuple(replace(run, stale=self._is_stale(run)) for run in work.runs)
        self._tested = work.tested
        self.refused = work.refused
        self._run_number = work.run
        self._tested_number = work.test
        # The number of a deleted run is not given again: its answers may still be there.
        runs = [*(run.number for run in work.runs), *(test.run for test in work.tested)]
        self._last_run = max(runs, default=0)
        pictures = [*(test.number for test in work.tested), *(each.number for each in work.refused)]
        self._last_tested = max(pictures, default=0)
        self.reference_changed.emit()
        self.spec_changed.emit()
        self.settings_changed.emit()
        self.dataset_changed.emit()
        self.runs_changed.emit()
        self.run_selected.emit()
        self.tested_changed.emit()
        self.tested_selected.emit()
        self._check_stale()

    # --- messages ---------------------------------------------------------------------------------

    def say(self, level: str, text: str, details: str = "") -> None:
        """Show a message to the person; it stays in the history."""
        message = Message(level, text, details, datetime.now())
        self._messages = [*self._messages[-MOST_MESSAGES + 1 :], message]
        self.message_added.emit(message)

    # --- inside -----------------------------------------------------------------------------------

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
            # A model from a file cannot be stale where there is nothing to compare it with.
            return False
        return not self.holds(run) or self.dataset_stale

    def _check_stale(self) -> None:
        """Mark every later stage as stale or fresh; this is the only place that does."""
        runs = []
        for run in self._runs:
            stale = self._is_stale(run)
            runs.append(run if run.stale == stale else replace(run, stale=stale))
        if tuple(runs) != self._runs:
            self._runs = tuple(runs)
            self.runs_changed.emit()
        self.stale_changed.emit()


def _stamp_of(test: TestedPicture) -> tuple[object, ...]:
    verdict = test.verdict
    answer = (verdict.label, verdict.share) if verdict is not None else None
    return test.number, test.name, test.truth, test.run, answer
