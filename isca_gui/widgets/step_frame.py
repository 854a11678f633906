"""The frame of a step with its heading and state, and helpers for controls that all rooms share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QPainter, QPalette
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isca_gui.session.undo import commit_typed
from isca_gui.widgets import theme
from isca_gui.widgets.quiet_widgets import SteadyBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QPaintEvent

    from isca_gui.jobs.names import JobName
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Session

EMPTY = "empty"
RUNNING = "running"
DONE = "done"
STALE = "stale"
FAILED = "failed"
HALTED = "stopped"
_MARKS = {EMPTY: "○", RUNNING: "●", DONE: "✓", STALE: "⟳", FAILED: "✗", HALTED: "■"}
_SENTENCES = {
    EMPTY: "This step has not been done yet.",
    RUNNING: "This step is running.",
    DONE: "This step is done.",
    STALE: "The settings or the picture have changed since this result was made.",
    FAILED: "The last attempt failed. See Messages for the reason.",
    HALTED: "Stopped early. The model so far can be used; Resume continues the training.",
}
REFERENCE = "reference"
DISTORT = "distort"
TRAIN = "train"
RECOGNISE = "recognise"

STEPS_WIDTH = 372


def next_step(session: Session) -> str:
    """Return the step to take next: the one whose button is coloured."""
    if session.reference is None:
        return REFERENCE
    if session.dataset is None or session.dataset_stale:
        return DISTORT
    if session.run is None or session.run.stale:
        return TRAIN
    return RECOGNISE


class StepPanel(QFrame):
    """One step: a heading that folds it, its state, and a body for its controls."""

    NAME = ""
    HEADING = ""

    def __init__(self, session: Session, jobs: JobRunner, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.jobs = jobs
        self.setObjectName(f"{self.NAME}_panel")
        self.heading = QToolButton()
        self.heading.setText(self.HEADING)
        self.heading.setProperty("heading", True)
        self.heading.setCheckable(True)
        self.heading.setChecked(True)
        self.heading.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.heading.setArrowType(Qt.ArrowType.DownArrow)
        describe(self.heading, self.HEADING, "Collapse or expand this step.")
        self.state_label = QLabel()
        self.content = QWidget()
        self.body = QVBoxLayout(self.content)
        self.body.setContentsMargins(0, 0, 0, 0)
        self.body.setSpacing(5)
        top = QHBoxLayout()
        top.addWidget(self.heading)
        top.addStretch(1)
        top.addWidget(self.state_label)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(9, 5, 9, 8)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addWidget(self.content)
        self.heading.toggled.connect(self._on_heading_toggled)
        self.state = ""
        self.set_state(EMPTY)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a card, framed in the accent colour if this step is next."""
        # A style sheet would give its background to the fields inside as well.
        frame = QPalette.ColorRole.Mid
        if self.property("next"):
            frame = QPalette.ColorRole.Highlight
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(self.palette().color(frame))
            painter.setBrush(self.palette().color(QPalette.ColorRole.AlternateBase))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)

    def set_state(self, state: str, words: str = "") -> None:
        """Show a state as mark and text, such as "● 37%"."""
        self.state = state
        self.state_label.setText(f"{_MARKS[state]} {words or state}")
        self.state_label.setToolTip(_SENTENCES[state])
        set_property(self.state_label, "state", state)

    def set_primary(self, button: QPushButton) -> None:
        """Colour this step's button if it is the next one to press."""
        primary = next_step(self.session) == self.NAME
        set_property(button, "primary", primary)
        self.setProperty("next", primary)
        self.update()

    def _on_heading_toggled(self, shown: bool) -> None:
        self.content.setVisible(shown)
        self.heading.setArrowType(_arrow(shown))


class Disclosure(QWidget):
    """A widget that is shown on demand, below a line that names it."""

    def __init__(self, title: str, inside: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.button = QToolButton()
        self.button.setText(title)
        self.button.setCheckable(True)
        self.button.setProperty("disclosure", True)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setArrowType(Qt.ArrowType.RightArrow)
        describe(self.button, title, "Show or hide.")
        self.inside = inside
        inside.setVisible(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(3)
        layout.addWidget(self.button)
        layout.addWidget(inside)
        self.button.toggled.connect(self._on_toggled)

    def _on_toggled(self, shown: bool) -> None:
        self.inside.setVisible(shown)
        self.button.setArrowType(_arrow(shown))


def _arrow(shown: bool) -> Qt.ArrowType:
    return Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow


def step_area(*panels: QWidget) -> QScrollArea:
    """Return a scroll area with the steps below one another."""
    inside = QWidget()
    layout = QVBoxLayout(inside)
    layout.setContentsMargins(6, 6, 6, 6)
    layout.setSpacing(7)
    for panel in panels:
        layout.addWidget(panel)
    layout.addStretch(1)
    area = QScrollArea()
    area.setObjectName("steps")
    area.setWidget(inside)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll_bar = area.verticalScrollBar().sizeHint().width()
    area.setMinimumWidth(inside.minimumSizeHint().width() + scroll_bar + 2)
    # Wider steps gain nothing; the room is better spent on pictures.
    area.setMaximumWidth(STEPS_WIDTH + 80)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    FieldGuard(area)
    return area


class FieldGuard(QObject):
    """Keeps wheel and undo events from fields that they are not meant for.

    The wheel scrolls the steps and changes a field only while that has the focus. Undo and redo go
    to a field only while it has typed text to take back; a line edit would swallow the shortcut.
    """

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        for kind in (QAbstractSpinBox, QComboBox, QSlider):
            for widget in area.findChildren(kind):
                widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
                widget.installEventFilter(self)
        for field in area.findChildren(QLineEdit):
            field.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Pass the wheel on to the scroll area, and undo and redo on to the menus."""
        wheel = (
            event.type() == QEvent.Type.Wheel
            and isinstance(watched, QWidget)
            and not watched.hasFocus()
        )
        if wheel or (isinstance(event, QKeyEvent) and _is_undo_elsewhere(watched, event)):
            event.ignore()
            return True
        return super().eventFilter(watched, event)


def _is_undo_elsewhere(watched: QObject, event: QKeyEvent) -> bool:
    if event.type() != QEvent.Type.ShortcutOverride:
        return False
    field = watched if isinstance(watched, QLineEdit) else watched.findChild(QLineEdit)
    if field is None:
        return False
    if event.matches(QKeySequence.StandardKey.Undo):
        return not field.isUndoAvailable()
    if event.matches(QKeySequence.StandardKey.Redo):
        return not field.isRedoAvailable()
    return False


def set_property(widget: QWidget, name: str, value: object) -> None:
    """Set a property that the style sheet refers to."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        theme.repolish(widget)


def describe(widget: QWidget, name: str, sentence: str) -> None:
    """Set the name of a widget for screen readers, and its description as a tooltip too."""
    widget.setAccessibleName(name)
    widget.setToolTip(sentence)
    widget.setAccessibleDescription(sentence)
    if isinstance(widget, QComboBox):
        widget.view().setAccessibleName(name)
        widget.view().setToolTip(sentence)


def button(text: str, sentence: str, pressed: Callable[[], object]) -> QPushButton:
    """Return a button with a tooltip."""
    made = QPushButton(text)
    describe(made, text.replace("&", ""), sentence)
    made.clicked.connect(lambda: pressed())
    return made


def enable(widget: QWidget, sentence: str, why_not: str = "") -> None:
    """Enable a widget, or disable it and give the reason in its tooltip."""
    widget.setEnabled(not why_not)
    widget.setToolTip(why_not or sentence)


def press_or_explain(target: QPushButton, session: Session) -> None:
    """Press a button for a menu or key; if it is disabled, show the reason as a warning."""
    commit_typed()
    if target.isEnabled():
        target.click()
    else:
        session.say("warning", target.toolTip())


def faint_label(text: str = "") -> QLabel:
    """Return a label in a fainter colour, for secondary text."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setProperty("faint", True)
    label.setWordWrap(True)
    return label


def row(*widgets: QWidget | int, spacing: int = 5) -> QHBoxLayout:
    """Return a layout with widgets side by side; a number is a stretch."""
    layout = QHBoxLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(spacing)
    for widget in widgets:
        if isinstance(widget, int):
            layout.addStretch(widget)
        else:
            layout.addWidget(widget)
    return layout


class JobBar(SteadyBar):
    """A thin bar that shows the progress of the job with a name, and hides when there is none."""

    def __init__(self, jobs: JobRunner, name: JobName, title: str) -> None:
        super().__init__()
        self._jobs = jobs
        self._name = name
        self.setAccessibleName(title)
        self.setFixedHeight(6)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        jobs.changed_of(name).connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the progress of the job."""
        job = self._jobs.job(self._name)
        self.setVisible(job is not None)
        if job is not None:
            self.show_share(job.share)
            self.setToolTip(f"{job.title}: {job.what}")


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, such as "1 picture" or "2 pictures"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def progress_text(jobs: JobRunner, name: JobName) -> str:
    """Return the progress of a running job in per cent, or "working" if it is unknown."""
    job = jobs.job(name)
    if job is None or job.share is None:
        return "working"
    return f"{job.share:.0%}"
