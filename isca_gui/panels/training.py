"""Step 3: training settings, presets, and the buttons to train, stop and resume."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QToolButton, QWidget

from isca_gui.core.methods import METHODS
from isca_gui.core.settings import EXACT_TOLERANCE, TrainingSettings
from isca_gui.core.solvers.steps import CONVERGED, MAX_EPOCHS, STOPPED
from isca_gui.jobs.names import JobName
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
    faint_label,
    press_or_explain,
    progress_text,
    row,
)

if TYPE_CHECKING:
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import Failure, JobRunner
    from isca_gui.session.preferences import Preferences
    from isca_gui.session.session import Session

_TRAIN = "Learn a subspace for every block of the picture (Ctrl+T)."
_STOP = "Stop and keep the model of the last complete epoch (Esc)."
_STOP_TEXT = "■ Stop and keep"
_RESUME = "Continue the selected run, up to the number of epochs above."
_CUSTOM = "Custom settings"
_BUSY = "Training is in progress."
_ENDS = {CONVERGED: "converged", MAX_EPOCHS: "all epochs done", STOPPED: "stopped and kept"}


def published(settings: TrainingSettings) -> TrainingSettings:
    """Return the paper's settings for the chosen method and kernel, or for ISCA if it has none."""
    method = settings.method if METHODS[settings.method].published else TrainingSettings.method
    return TrainingSettings(method=method, kernel=settings.kernel)


def fast(settings: TrainingSettings) -> TrainingSettings:
    """Return the settings that minimise the same objective until answers no longer change."""
    return replace(published(settings), solver="direct")


def exact(settings: TrainingSettings) -> TrainingSettings:
    """Return the settings that minimise the same objective to its end."""
    return replace(fast(settings), tolerance=EXACT_TOLERANCE)


BUILT_IN = {"As published": published, "Fast": fast, "Exact": exact}


class TrainingPanel(StepPanel):
    """Edits the training settings of the session and trains with them."""

    NAME = TRAIN
    HEADING = "3  Train"

    def __init__(
        self,
        session: Session,
        jobs: JobRunner,
        actions: Actions,
        parent: QWidget | None = None,
        preferences: Preferences | None = None,
    ) -> None:
        super().__init__(session, jobs, parent)
        self._actions = actions
        self._failed = False
        self._preferences = preferences
        self._presets: dict[str, TrainingSettings] = {}
        if preferences is not None:
            self._presets = preferences.presets
        self.preset_box = QComboBox()
        sentence = "A set of training settings. You can still change the fields below."
        describe(self.preset_box, "Preset", sentence)
        self.save_preset_button = QToolButton()
        self.save_preset_button.setText("Save preset…")
        describe(self.save_preset_button, "Save preset", "Save these settings under a name.")
        self.name_edit = QLineEdit()
        self.name_edit.setPlaceholderText("Preset name, then Enter")
        describe(self.name_edit, "Preset name", "Type a name and press Enter to save the settings.")
        self.name_edit.setVisible(False)
        self.form = SettingsForm(session)
        self.train_button = button("Train", _TRAIN, actions.train)
        self.stop_button = button(_STOP_TEXT, _STOP, actions.stop_training)
        self.resume_button = button("Resume", _RESUME, self._on_resume_clicked)
        self.summary_label = faint_label()
        self._lay_out()
        self._connect()
        self._fill_presets()
        self._refresh()

    def train(self) -> None:
        """Train with the settings in the form."""
        press_or_explain(self.train_button, self.session)

    def _lay_out(self) -> None:
        line = row(QLabel("Preset"), self.preset_box, self.save_preset_button)
        line.setStretch(1, 1)
        self.body.addLayout(line)
        self.body.addWidget(self.name_edit)
        self.body.addWidget(self.form)
        self.body.addLayout(row(self.train_button, self.stop_button, self.resume_button, 1))
        self.body.addWidget(JobBar(self.jobs, JobName.TRAINING, "Training progress"))
        self.body.addWidget(self.summary_label)

    def _connect(self) -> None:
        self.preset_box.activated.connect(self._on_preset_chosen)
        self.save_preset_button.clicked.connect(self._on_save_preset_clicked)
        self.name_edit.returnPressed.connect(self._on_name_entered)
        self.form.validity_changed.connect(self._on_validity_changed)
        session = self.session
        for signal in (
            session.settings_changed,
            session.dataset_changed,
            session.runs_changed,
            session.run_selected,
            session.stale_changed,
            self.jobs.changed_of(JobName.TRAINING),
        ):
            signal.connect(self._refresh)
        session.settings_changed.connect(self._show_preset)
        session.run_selected.connect(self._on_run_selected)
        self.jobs.failed.connect(self._on_job_failed)

    # --- presets ----------------------------------------------------------------------------------

    def _fill_presets(self) -> None:
        self.preset_box.clear()
        self.preset_box.addItems([*BUILT_IN, *self._presets, _CUSTOM])
        self._show_preset()

    def _show_preset(self) -> None:
        """Select the preset that the settings are equal to."""
        settings = self.session.settings
        names = [name for name, make in BUILT_IN.items() if make(settings) == settings]
        names += [name for name, preset in self._presets.items() if preset == settings]
        names.append(_CUSTOM)
        self.preset_box.setCurrentText(names[0])

    def _on_preset_chosen(self, _: int) -> None:
        name = self.preset_box.currentText()
        if name in BUILT_IN:
            self.session.set_settings(BUILT_IN[name](self.session.settings))
        elif name in self._presets:
            self.session.set_settings(self._presets[name])
        # The settings may be the same as before while the form shows invalid values.
        self.form.refill()
        self._show_preset()

    def _on_save_preset_clicked(self) -> None:
        self.name_edit.setVisible(not self.name_edit.isVisible())
        self.name_edit.setFocus()

    def _on_name_entered(self) -> None:
        name = self.name_edit.text().strip()
        if not name or name in BUILT_IN or name == _CUSTOM:
            warning = f"A preset cannot be named '{name}'. Choose another name."
            self.session.say("warning", warning)
            return
        if self.form.problems:
            self.session.say("warning", "Correct the fields marked in red before saving a preset.")
            return
        self._presets[name] = self.session.settings
        self.name_edit.clear()
        self.name_edit.setVisible(False)
        self._fill_presets()
        if self._preferences is not None:
            self.jobs.run(JobName.PREFERENCES, "Saving the preset", self._preferences.save)

    # --- states -----------------------------------------------------------------------------------

    def _on_resume_clicked(self) -> None:
        self._actions.train(self.session.run)

    def _on_run_selected(self) -> None:
        # The failure belonged to what was shown before, perhaps to another project.
        self._failed = False
        self._refresh()

    def _on_validity_changed(self) -> None:
        self._actions.set_problem(JobName.TRAINING, self._problem())
        self._refresh()

    def _on_job_failed(self, failure: Failure) -> None:
        self._failed = self._failed or failure.job == JobName.TRAINING
        self._refresh()

    def _refresh(self) -> None:
        running = self.jobs.running(JobName.TRAINING)
        self._failed = self._failed and not running
        obstacle = self._problem()
        if self.session.dataset is None:
            obstacle = "No dataset yet. Generate one first."
        if running:
            obstacle = _BUSY
        enable(self.train_button, _TRAIN, obstacle)
        enable(self.resume_button, _RESUME, obstacle or self._why_no_resume())
        self.resume_button.setVisible(not running)
        self.stop_button.setVisible(running)
        if self.jobs.stopping(JobName.TRAINING):
            self.stop_button.setText("Stopping…")
            enable(self.stop_button, _STOP, "Training is stopping.")
        else:
            self.stop_button.setText(_STOP_TEXT)
            enable(self.stop_button, _STOP)
        summary = self._summary()
        self.summary_label.setText(summary)
        self.summary_label.setVisible(bool(summary))
        self.set_state(*self._state(running))
        self.set_primary(self.train_button)

    def _problem(self) -> str:
        """Return what is invalid in the form, or an empty text."""
        return next(iter(self.form.problems.values()), "")

    def _why_no_resume(self) -> str:
        run = self.session.run
        if run is None:
            return "There is no run to resume."
        same = self.session.holds(run)
        obstacle = run.model.resume_obstacle(self.session.settings, same_dataset=same)
        return f"The selected run cannot be resumed: {obstacle}." if obstacle else ""

    def _summary(self) -> str:
        """Return the progress of the training, or the result of the selected run."""
        job = self.jobs.job(JobName.TRAINING)
        if job is not None and job.stopping:
            return f"Stopping… {job.what}"
        if job is not None:
            left = f", {job.seconds_left:.0f} s left" if job.seconds_left is not None else ""
            return f"{job.what}{left}"
        run = self.session.run
        if run is None:
            return ""
        # Methods without epochs have their objective in the last step only.
        steps = run.model.steps
        objective = steps[-1].objective if steps else run.model.state.objective
        end = f", {_ENDS[run.model.end]}" if run.settings.iterative else ""
        return f"{run.name}: objective {objective:.4f} (lower is better){end}"

    def _state(self, running: bool) -> tuple[str, str]:
        if running:
            return RUNNING, progress_text(self.jobs, JobName.TRAINING)
        if self._failed:
            return FAILED, ""
        run = self.session.run
        if run is None:
            return EMPTY, ""
        if self.session.training_stale:
            return STALE, ""
        if run.model.end == STOPPED:
            return HALTED, ""
        return DONE, ""
