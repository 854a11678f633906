"""Step 3: how to train, presets, and the buttons to start, stop and go on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QToolButton, QWidget

from isca_gui.core.methods import METHODS
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.solvers.steps import CONVERGED, MAX_EPOCHS, STOPPED
from isca_gui.widgets.settings_form import SettingsForm
from isca_gui.widgets.step_frame import (
    DONE,
    EMPTY,
    FAILED,
    HALTED,
    RUNNING,
    STALE,
    TRAIN,
    JobBar,
    StepPanel,
    button,
    describe,
    enable,
    faint,
    percent,
    press,
    row,
)

if TYPE_CHECKING:
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import Failure, JobRunner
    from isca_gui.session.preferences import Preferences
    from isca_gui.session.session import Session

_TRAIN = "Learn a subspace for each block of the dataset (Ctrl+T)."
_STOP = "Stop and keep the model of the last whole epoch (Esc)."
_STOP_TEXT = "■ Stop and keep"
_RESUME = "Go on from where the selected run stands, up to the epochs shown."
_OWN = "Your own settings"
_ENDS = {CONVERGED: "converged", MAX_EPOCHS: "all epochs done", STOPPED: "stopped and kept"}


def published(settings: TrainingSettings) -> TrainingSettings:
    """Give the paper's settings for the method and kernel chosen, or for ISCA where it has none."""
    method = settings.method if METHODS[settings.method].published else TrainingSettings.method
    return TrainingSettings(method=method, kernel=settings.kernel)


def fast(settings: TrainingSettings) -> TrainingSettings:
    """Give the settings that reach the same objective soonest."""
    return replace(published(settings), solver="direct")


BUILT_IN = {"As published": published, "Fast and exact": fast}


class TrainingPanel(StepPanel):
    """Edits the session's training settings and trains with them."""

    NAME, HEADING = TRAIN, "3  Train"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None,
        preferences: Preferences | None = None,
    ) -> None:  # fmt: skip
        super().__init__(session, jobs, parent)
        self._actions, self._failed = actions, False
        self._preferences = preferences
        self._presets: dict[str, TrainingSettings] = (
            preferences.presets if preferences is not None else {}
        )
        self.preset_box = QComboBox()
        describe(
            self.preset_box,
            "Preset",
            "Settings that go together; the fields below can still be changed.",
        )
        self.keep_button = QToolButton()
        self.keep_button.setText("Keep…")
        describe(
            self.keep_button, "Keep as preset", "Keep these settings under a name of your own."
        )
        self.name_edit = QLineEdit()
        self.name_edit.setPlaceholderText("Name of the preset, then Enter")
        describe(
            self.name_edit,
            "Name of the preset",
            "Type a name and press Enter to keep the settings.",
        )
        self.name_edit.setVisible(False)
        self.form = SettingsForm(session)
        self.train_button = button("Train", _TRAIN, actions.train)
        self.stop_button = button(_STOP_TEXT, _STOP, actions.stop_training)
        self.resume_button = button("Resume", _RESUME, self._on_resume_clicked)
        self.words = faint()
        actions.set_validator("training", self._wrong)
        self._lay_out()
        self._connect()
        self._fill_presets()
        self._refresh()

    def train(self) -> None:
        """Train with what the form shows."""
        press(self.train_button, self.session)

    def _lay_out(self) -> None:
        line = row(QLabel("Preset"), self.preset_box, self.keep_button)
        line.setStretch(1, 1)
        self.body.addLayout(line)
        self.body.addWidget(self.name_edit)
        self.body.addWidget(self.form)
        self.body.addLayout(row(self.train_button, self.stop_button, self.resume_button, 1))
        self.body.addWidget(JobBar(self.jobs, "training", "Progress of the training"))
        self.body.addWidget(self.words)

    def _connect(self) -> None:
        self.preset_box.activated.connect(self._on_preset_chosen)
        self.keep_button.clicked.connect(self._on_keep_clicked)
        self.name_edit.returnPressed.connect(self._on_name_entered)
        self.form.validity_changed.connect(self._refresh)
        session = self.session
        for signal in (
            *(session.settings_changed, session.dataset_changed, session.runs_changed),
            *(session.run_selected, session.stale_changed, self.jobs.changed),
        ):
            signal.connect(self._refresh)
        session.settings_changed.connect(self._show_preset)
        session.run_selected.connect(self._on_run_selected)
        self.jobs.failed.connect(self._on_job_failed)

    # --- presets --------------------------------------------------------------------------------------------

    def _fill_presets(self) -> None:
        self.preset_box.clear()
        self.preset_box.addItems([*BUILT_IN, *self._presets, _OWN])
        self._show_preset()

    def _show_preset(self) -> None:
        """Name the preset that the settings are."""
        settings = self.session.settings
        names = [name for name, make in BUILT_IN.items() if make(settings) == settings]
        names += [name for name, preset in self._presets.items() if preset == settings]
        self.preset_box.setCurrentText(names[0] if names else _OWN)

    def _on_preset_chosen(self, _: int) -> None:
        name = self.preset_box.currentText()
        if name in BUILT_IN:
            self.session.set_settings(BUILT_IN[name](self.session.settings))
        elif name in self._presets:
            self.session.set_settings(self._presets[name])
        self.form.refill()  # also where only what is wrong in it differs
        self._show_preset()

    def _on_keep_clicked(self) -> None:
        self.name_edit.setVisible(not self.name_edit.isVisible())
        self.name_edit.setFocus()

    def _on_name_entered(self) -> None:
        name = self.name_edit.text().strip()
        if not name or name in BUILT_IN or name == _OWN:
            self.session.say(
                "warning", f"'{name}' cannot be the name of a preset. Choose another one."
            )
            return
        if self.form.problems:
            self.session.say(
                "warning", "Mend what is marked as wrong first: it would not be in the preset."
            )
            return
        self._presets[name] = self.session.settings
        self.name_edit.clear()
        self.name_edit.setVisible(False)
        self._fill_presets()
        if self._preferences is not None:
            self.jobs.run("preferences", "Saving the preset", self._preferences.save)

    # --- states ---------------------------------------------------------------------------------------------

    def _on_resume_clicked(self) -> None:
        self._actions.train(self.session.run)

    def _on_run_selected(self) -> None:
        self._failed = False  # something else is looked at, perhaps of another project
        self._refresh()

    def _on_job_failed(self, failure: Failure) -> None:
        self._failed = self._failed or failure.job == "training"
        self._refresh()

    def _refresh(self) -> None:
        running = self.jobs.running("training")
        self._failed = self._failed and not running
        why = self._wrong()
        if self.session.dataset is None:
            why = "There is no dataset yet: generate one."
        enable(self.train_button, _TRAIN, "A training is under way." if running else why)
        self.stop_button.setVisible(running)
        stopping = self.jobs.stopping("training")
        self.stop_button.setText("Stopping…" if stopping else _STOP_TEXT)
        enable(self.stop_button, _STOP, "It is about to stop." if stopping else "")
        enable(
            self.resume_button,
            _RESUME,
            "A training is under way." if running else why or self._why_no_resume(),
        )
        self.resume_button.setVisible(not running)
        self.words.setText(self._words(running))
        self.words.setVisible(bool(self.words.text()))
        self.set_state(*self._state(running))
        self.set_primary(self.train_button)

    def _wrong(self) -> str:
        """Say what is wrong in the form."""
        return next(iter(self.form.problems.values()), "")

    def _why_no_resume(self) -> str:
        run, settings = self.session.run, self.session.settings
        if run is None:
            return "There is no run to go on from."
        if not run.settings.iterative:
            return "The selected run has no epochs to go on with."
        if not self.session.holds(run):
            return "The selected run was trained on another dataset."
        free = {"epochs", "tolerance", "keep_every"}
        old, new = vars(run.model.settings), vars(settings.resolved())
        other = [name for name in old if name not in free and old[name] != new[name]]
        if other:
            return f"The selected run was trained with another {', '.join(other)}."
        if run.model.end == CONVERGED and (new["tolerance"] or 0.0) >= (old["tolerance"] or 0.0):
            return "The selected run has converged; ask for a lower tolerance to go on."
        if run.model.state.epoch >= (new["epochs"] or 0):
            return "The selected run has done all these epochs; ask for more of them to go on."
        return ""

    def _words(self, running: bool) -> str:
        job, run = self.jobs.job("training"), self.session.run
        if job is not None and job.stopping:
            return f"Stopping… {job.what}"
        if running and job is not None:
            left = f", {job.seconds_left:.0f} s left" if job.seconds_left is not None else ""
            return f"{job.what}{left}"
        if run is None:
            return ""
        steps = run.model.steps  # those without epochs have it there only
        objective = steps[-1].objective if steps else run.model.state.objective
        end = f", {_ENDS[run.model.end]}" if run.settings.iterative else ""
        return f"{run.name}: objective {objective:.4f} (low is good){end}"

    def _state(self, running: bool) -> tuple[str, str]:
        if running:
            return RUNNING, percent(self.jobs, "training")
        if self._failed:
            return FAILED, ""
        run = self.session.run
        if run is None:
            return EMPTY, ""
        if self.session.training_stale:
            return STALE, ""
        return (HALTED, "") if run.model.end == STOPPED else (DONE, "")
