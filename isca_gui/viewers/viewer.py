"""What all viewers share: an empty page with the next step, and drawing only what is seen."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import shiboken6
from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isca_gui.jobs.names import JobId, JobName, job_id
from isca_gui.session.undo import commit_typed
from isca_gui.viewers.export import Exporter
from isca_gui.viewers.view_settings import ViewSettings
from isca_gui.widgets.quiet_widgets import escape_ampersands

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtGui import QShowEvent

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import Run
    from isca_gui.session.session import Session
    from isca_gui.viewers.canvas.canvas import PictureCanvas

    Work = Callable[[], Any]
    Done = Callable[[Any], None]

_JOB_NUMBERS = itertools.count(1)

OTHER_DATA = "other data"
SETTINGS_CHANGED = "dataset settings changed"
REFERENCE_CHANGED = "reference changed"
_STALE_SENTENCES = {
    "": "",
    OTHER_DATA: "It was trained on other data, not on what is shown now.",
    SETTINGS_CHANGED: "The dataset settings have changed since it was trained.",
    REFERENCE_CHANGED: "The reference picture has changed since it was trained.",
}


@dataclass(frozen=True)
class NextStep:
    """What to do before there is something to see."""

    text: str
    button: str
    action: Callable[[], object]
    job: JobName | JobId  # the button is disabled while this job runs


class Viewer(QWidget):
    """A view of the session that is redrawn only while it is seen."""

    TITLE = ""
    panes_made = Signal()  # picture canvases were created after the viewer itself

    # Qt sends palette changes before the constructor has run, so this is known to the class.
    _styled = False

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName(f"viewer-{self.TITLE.lower().replace(' ', '-')}")
        self.session = session
        self.jobs = jobs
        self._actions = actions
        self.exporter = Exporter(session, jobs, self)
        self.view_settings = ViewSettings()
        self._dirty = True
        self._behind_tab = False
        self._empty = _EmptyPage(jobs, self)
        # In a small window the content is scrolled.
        self.content = QWidget(self)
        self._area = _scroll_area(self.content)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._area)
        session.settled.connect(self._on_settled)

    @property
    def empty(self) -> bool:
        """Whether only the next step is shown."""
        return self._stack.currentWidget() is self._empty

    def redraw(self) -> None:
        """Draw what the session holds."""
        raise NotImplementedError

    def missing_step(self) -> NextStep | None:
        """Return the step that is missing, or None if there is something to see."""
        raise NotImplementedError

    def restore_view(self, values: Mapping[str, Any]) -> None:
        """Restore the view settings of a project as soon as there is something to see."""
        self.view_settings.request(values)
        self.mark_dirty()

    def mark_dirty(self, *_: object) -> None:
        """Redraw once the session has settled, or when the viewer is next shown."""
        self._dirty = True
        self._on_settled()

    @property
    def in_sight(self) -> bool:
        """Whether the viewer can be seen; Qt also calls a dock behind another tab visible."""
        return self.isVisible() and not self._behind_tab

    def _on_settled(self) -> None:
        if self.in_sight and not self.session.changing:
            self.refresh_if_dirty()

    def on_dock_visibility_changed(self, visible: bool) -> None:
        """Draw what has changed while another tab was in front."""
        self._behind_tab = not visible
        if visible:
            self.refresh_if_dirty()

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what has changed while the viewer was hidden."""
        super().showEvent(event)
        self.refresh_if_dirty()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change between the light and the dark theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._styled:
            self.restyle()

    def restyle(self) -> None:
        """Apply the colours of the theme to what Qt does not style itself, such as plots."""

    def refresh_if_dirty(self) -> None:
        """Redraw if anything has changed since the last drawing."""
        if not self._dirty:
            return
        self._dirty = False
        if not self._styled:
            self._styled = True
            self.restyle()
        step = self.missing_step()
        if step is not None:
            self._empty.show_step(step)
            self._stack.setCurrentWidget(self._empty)
        else:
            self._stack.setCurrentWidget(self._area)
        self.redraw()
        if step is None:
            self.view_settings.apply_request()


class LatestOnly(QObject):
    """Runs jobs of one kind one at a time and keeps only the latest request that waits.

    The job that runs is allowed to finish: if every new request stopped it, dragging a slider would
    show nothing until the slider rests.
    """

    def __init__(self, jobs: JobRunner, name: str, title: str, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs = jobs
        # The number makes the name unique: a job replaces a running one of the same name, and that
        # could be another viewer's.
        self._job = JobName.DRAWING.of(f"{name} {next(_JOB_NUMBERS)}")
        self._title = title
        self._busy = False
        self._discarded = False
        self._next: tuple[Work, Done] | None = None

    @property
    def busy(self) -> bool:
        """Whether a result is still to come."""
        return self._next is not None or (self._busy and not self._discarded)

    def submit(self, work: Work, done: Done) -> None:
        """Run `work` in the background and pass its result to `done`, unless it is replaced."""
        if self._busy:
            self._next = (work, done)
            return
        self._busy = True

        def finished(result: Any) -> None:
            # The viewer may have been deleted while the job ran.
            if not shiboken6.isValid(self):
                return
            discarded = self._discarded
            following = self._finish()
            try:
                if not discarded:
                    done(result)
            finally:
                if following is not None:
                    self.submit(*following)

        def failed(_: Exception) -> None:
            if shiboken6.isValid(self) and (following := self._finish()) is not None:
                self.submit(*following)

        self._jobs.run(self._job, self._title, work, done=finished, failed=failed)

    def run_now(self, work: Work, done: Done) -> None:
        """Run `work`, which is quick, without a job; whatever was submitted before is dropped."""
        self.discard()
        done(work())

    def _finish(self) -> tuple[Work, Done] | None:
        """Mark the running job as finished and return the request that waits."""
        self._busy = False
        self._discarded = False
        following = self._next
        self._next = None
        return following

    def discard(self) -> None:
        """Drop the waiting request and the result of the running job."""
        self._next = None
        self._discarded = self._busy


class _EmptyPage(QWidget):
    """Names the next step and holds the button for it."""

    def __init__(self, jobs: JobRunner, parent: QWidget) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._step: NextStep | None = None
        self.text = QLabel(self)
        self.text.setWordWrap(True)
        self.text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.button = QPushButton(self)
        self.button.setAccessibleName("Next step")
        self.button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.button.clicked.connect(self._on_clicked)
        layout = QVBoxLayout(self)
        layout.addStretch()
        layout.addWidget(self.text)
        layout.addWidget(self.button, alignment=Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch()

    def put_above(self, widget: QWidget) -> None:
        """Show a widget above the text; it takes the free space."""
        layout = self.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.insertWidget(0, widget, 1)

    def show_step(self, step: NextStep) -> None:
        if self._step is not None:
            self._jobs.changed_of(job_id(self._step.job).name).disconnect(self._update_button)
        self._jobs.changed_of(job_id(step.job).name).connect(self._update_button)
        self._step = step
        self.text.setText(step.text)
        self.button.setText(escape_ampersands(step.button))
        self.button.setAccessibleName(step.button)
        self._update_button()

    def _update_button(self) -> None:
        if self._step is None:
            return
        job = self._jobs.job(self._step.job)
        self.button.setEnabled(job is None)
        self.button.setToolTip(self._step.text if job is None else f"{job.title} is under way.")

    def _on_clicked(self) -> None:
        commit_typed()
        if self._step is not None:
            self._step.action()


def _scroll_area(content: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidget(content)
    area.setWidgetResizable(True)
    area.setFrameShape(QScrollArea.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return area


def step_to_dataset(session: Session, actions: Actions) -> NextStep | None:
    """Return the step that leads to a dataset, or None if there is one."""
    if session.dataset is not None:
        return None
    if session.reference is None:
        text = "No picture yet. Open one on the left, or start with a sample."
        return NextStep(text, "Open the sample picture", actions.open_sample, JobName.OPEN_PICTURE)
    text = "Next: generate distorted copies of the reference picture to learn from."
    return NextStep(text, "Generate the dataset", actions.generate, JobName.DATASET)


def step_to_run(session: Session, actions: Actions) -> NextStep | None:
    """Return the step that leads to a trained model, or None if there is one."""
    if session.run is not None:
        return None
    text = "Next: train a model that learns the structure of every block from the distorted copies."
    train = NextStep(text, "Train", actions.train, JobName.TRAINING)
    return step_to_dataset(session, actions) or train


def stale_reason(session: Session, run: Run) -> str:
    """Return in a few words what has changed since a run was trained; empty if it is up to date."""
    if not run.stale:
        return ""
    if session.dataset is None or not session.holds(run):
        return OTHER_DATA
    spec = session.dataset.spec
    if spec is not None and spec != session.spec:
        return SETTINGS_CHANGED
    return REFERENCE_CHANGED


def stale_sentence(session: Session, run: Run) -> str:
    """Return a sentence on what has changed since a run was trained; empty if it is up to date."""
    return _STALE_SENTENCES[stale_reason(session, run)]


def zoom_buttons(canvas: PictureCanvas, parent: QWidget) -> QWidget:
    """Make buttons for fit, 1:1 and 2:1."""
    box = QWidget(parent)
    layout = QHBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(2)
    for text, tip, action in (
        ("Fit", "Show the whole picture (F)", canvas.fit),
        ("1:1", "One screen pixel per picture pixel (1)", lambda: canvas.set_zoom(1.0)),
        ("2:1", "Two screen pixels per picture pixel (2)", lambda: canvas.set_zoom(2.0)),
    ):
        button = QToolButton(box)
        button.setText(text)
        button.setAccessibleName(tip)
        button.setToolTip(tip)
        button.clicked.connect(action)
        layout.addWidget(button)
    return box


class ChoiceButton(QToolButton):
    """A button that stays down and clearly shows that it is."""

    def __init__(self, text: str, tip: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setText(text)
        self.setToolTip(tip)
        self.setAccessibleName(f"{text}: {tip}")
        self.setCheckable(True)
        self.setProperty("choice", True)
