"""What all viewers share: a page with the next step, drawing only when seen, the newest answer wins."""

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

from isca_gui.session.undo import commit_typed
from isca_gui.viewers.export import Exporter
from isca_gui.viewers.view_settings import ViewSettings
from isca_gui.widgets.quiet_widgets import escape_ampersands

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtGui import QShowEvent

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Session
    from isca_gui.viewers.canvas.canvas import PictureCanvas


_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class NextStep:
    """What to do before there is something to see."""

    text: str
    button: str
    work: Callable[[], object]
    job: str  # while a job of this name is at work the button waits for it


class Viewer(QWidget):
    """A viewer of the session; what is not seen is drawn when it is shown next."""

    TITLE = ""
    panes_made = Signal()  # pictures that were not there before
    _ready = False  # whether all widgets are there

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName(f"viewer-{self.TITLE.lower().replace(' ', '-')}")
        self.session, self.jobs, self._actions = session, jobs, actions
        self.exporter = Exporter(session, jobs, self)
        self.looks = ViewSettings()
        self._outdated, self._behind = True, False
        self._empty = _EmptyPage(self)
        self.content = QWidget(self)
        self._area = _area(self.content)  # in a small window it is scrolled
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._area)
        self.jobs.changed.connect(self._on_jobs_changed)
        session.settled.connect(self._on_settled)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to see but what to do next."""
        return self._stack.currentWidget() is self._empty

    def redraw(self) -> None:
        """Draw what the session holds."""
        raise NotImplementedError

    def missing_step(self) -> NextStep | None:
        """Give what is missing, or None where there is something to see."""
        raise NotImplementedError

    def look_as(self, values: Mapping[str, Any]) -> None:
        """Look as a project has it, as soon as there is something to see."""
        self.looks.ask(values)
        self.mark_dirty()

    def mark_dirty(self, *_: object) -> None:
        """Draw anew: when the change is complete if it is seen, else when it is shown."""
        self._outdated = True
        self._on_settled()

    @property
    def in_sight(self) -> bool:
        """Whether it can be seen; Qt calls a dock behind another tab visible, too."""
        return self.isVisible() and not self._behind

    def _on_settled(self) -> None:
        if self.in_sight and not self.session.changing:
            self.refresh_if_dirty()

    def on_dock_visibility_changed(self, visible: bool) -> None:
        """Draw what has changed while another tab was in front."""
        self._behind = not visible
        if visible:
            self.refresh_if_dirty()

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what has changed meanwhile."""
        super().showEvent(event)
        self.refresh_if_dirty()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._ready:
            self.restyle()

    def restyle(self) -> None:
        """Take the colours of the theme; plots have their own and need to be told."""

    def refresh_if_dirty(self) -> None:
        """Draw what has changed since it was last seen."""
        if not self._outdated:
            return
        self._outdated = False
        if not self._ready:
            self._ready = True
            self.restyle()
        step = self.missing_step()
        if step is not None:
            self._empty.show_step(step, self.jobs)
        self._stack.setCurrentWidget(self._empty if step is not None else self._area)
        self.redraw()
        if step is None:
            self.looks.settle()

    def _on_jobs_changed(self) -> None:
        if self.isVisible() and self.empty:
            self._empty.update_button(self.jobs)


class LatestOnly(QObject):
    """Jobs of one sort of which only the newest matters, without starving: the one at work is let to end."""

    def __init__(self, jobs: JobRunner, name: str, title: str, parent: QObject) -> None:
        super().__init__(parent)
        # A name of its own: another viewer's job must not take the place of this one's.
        self._jobs, self._name, self._title = jobs, f"{name} {next(_NUMBERS)}", title
        self._busy = self._dropped = False
        self._next: tuple[Callable[[], Any], Callable[[Any], None]] | None = None

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return self._busy

    def ask(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        """Do some work beside the window and hand its result to `done`, unless asked anew before it began."""
        if self._busy:
            self._next = work, done
            return
        self._busy = True

        def finished(result: Any) -> None:
            if not shiboken6.isValid(self):
                return
            dropped = self._dropped
            following = self._end()
            try:
                if not dropped:
                    done(result)
            finally:
                if following is not None:
                    self.ask(*following)

        def failed(_: Exception) -> None:
            if shiboken6.isValid(self) and (following := self._end()) is not None:
                self.ask(*following)

        self._jobs.run(self._name, self._title, work, done=finished, failed=failed)

    def _end(self) -> tuple[Callable[[], Any], Callable[[Any], None]] | None:
        """Be free again; gives what is to be done next."""
        self._busy = self._dropped = False
        following, self._next = self._next, None
        return following

    def forget(self) -> None:
        """Drop what waits, and the answer that is still to come: something else is shown from now on."""
        self._next, self._dropped = None, self._busy


class _EmptyPage(QWidget):
    """Says what to do next, and holds the button for it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
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
        """Show something above the words; it takes the room."""
        layout = self.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.insertWidget(0, widget, 1)

    def show_step(self, step: NextStep, jobs: JobRunner) -> None:
        self._step = step
        self.text.setText(step.text)
        self.button.setText(escape_ampersands(step.button))
        self.button.setAccessibleName(step.button)
        self.update_button(jobs)

    def update_button(self, jobs: JobRunner) -> None:
        if self._step is not None:
            job = next((job for job in jobs.jobs() if job.name == self._step.job), None)
            self.button.setEnabled(job is None)
            self.button.setToolTip(self._step.text if job is None else f"{job.title} is under way.")

    def _on_clicked(self) -> None:
        commit_typed()
        if self._step is not None:
            self._step.work()


def _area(content: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidget(content)
    area.setWidgetResizable(True)
    area.setFrameShape(QScrollArea.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return area


def need_dataset(session: Session, actions: Actions) -> NextStep | None:
    """Give the step that leads to a dataset, if there is none."""
    if session.dataset is not None:
        return None
    if session.reference is None:
        text = "There is no picture yet. Open one at the left, or begin with a sample."
        return NextStep(text, "Open the sample picture", actions.open_sample, "open")
    text = "Next: make distorted versions of the reference picture to learn from."
    return NextStep(text, "Generate the dataset", actions.generate, "dataset")


def need_run(session: Session, actions: Actions) -> NextStep | None:
    """Give the step that leads to a trained model, if there is none."""
    if session.run is not None:
        return None
    text = "Next: learn the structure of every block from the distorted pictures."
    return need_dataset(session, actions) or NextStep(text, "Train", actions.train, "training")


def zoom_buttons(canvas: PictureCanvas, parent: QWidget) -> QWidget:
    """Make buttons for fit, 1:1 and 2:1."""
    box = QWidget(parent)
    layout = QHBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(2)
    for text, tip, work in (
        ("Fit", "Show the whole picture (F)", canvas.fit),
        ("1:1", "One screen pixel per picture pixel (1)", lambda: canvas.set_zoom(1.0)),
        ("2:1", "Two screen pixels per picture pixel (2)", lambda: canvas.set_zoom(2.0)),
    ):
        button = QToolButton(box)
        button.setText(text)
        button.setAccessibleName(tip)
        button.setToolTip(tip)
        button.clicked.connect(work)
        layout.addWidget(button)
    return box


class ChoiceButton(QToolButton):
    """A button that stays down and is clearly seen to be."""

    def __init__(self, text: str, tip: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setText(text)
        self.setToolTip(tip)
        self.setAccessibleName(f"{text}: {tip}")
        self.setCheckable(True)
        self.setProperty("choice", True)
