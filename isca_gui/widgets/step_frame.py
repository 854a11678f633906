"""A step's frame: heading with its state in word and mark, and small helpers that all panels share."""

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

EMPTY, RUNNING, DONE, STALE, FAILED, HALTED = (
    "empty",
    "running",
    "done",
    "stale",
    "failed",
    "stopped",
)
_MARKS = {EMPTY: "○", RUNNING: "●", DONE: "✓", STALE: "⟳", FAILED: "✗", HALTED: "■"}
_SENTENCES = {
    EMPTY: "Nothing has been done here yet.",
    RUNNING: "This step is at work.",
    DONE: "This step is done.",
    STALE: "What is shown was made from other settings or another picture than those shown now.",
    FAILED: "The last attempt failed; Messages say why.",
    HALTED: "It was stopped before its end. What it had is kept and can be used; Resume goes on from there.",
}
REFERENCE, DISTORT, TRAIN, RECOGNISE = "reference", "distort", "train", "recognise"


def next_step(session: Session) -> str:
    """Tell which step holds the one primary button."""
    if session.reference is None:
        return REFERENCE
    if session.dataset is None or session.dataset_stale:
        return DISTORT
    if session.run is None or session.run.stale:
        return TRAIN
    return RECOGNISE


class StepPanel(QFrame):
    """One step: a heading that folds it, its state, and room for what it holds."""

    NAME = ""
    HEADING = ""

    def __init__(self, session: Session, jobs: JobRunner, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session, self.jobs = session, jobs
        self.setObjectName(f"{self.NAME}_panel")
        self.heading = QToolButton()
        self.heading.setText(self.HEADING)
        self.heading.setProperty("heading", True)
        self.heading.setCheckable(True)
        self.heading.setChecked(True)
        self.heading.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.heading.setArrowType(Qt.ArrowType.DownArrow)
        describe(self.heading, self.HEADING, "Fold this step away or unfold it.")
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
        """Draw a card, framed in the accent's colour where the next step is.

        A style sheet would give its background to the fields inside as well.
        """
        role = QPalette.ColorRole
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(
                self.palette().color(role.Highlight if self.property("next") else role.Mid)
            )
            painter.setBrush(self.palette().color(role.AlternateBase))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)

    def set_state(self, state: str, words: str = "") -> None:
        """Show a state by mark and word, such as "● 37 %"."""
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
        self.heading.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)


class Disclosure(QWidget):
    """Something that is shown on demand, below a line that says what it is."""

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
        self.button.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)


class FieldGuard(QObject):
    """Keeps from fields what is not meant for them.

    The wheel scrolls the steps, and turns a field only when that has the focus. Undo and redo are a field's
    own only while it has typed text to take back: it would swallow them else, right after an edit was made.
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
        """Hand the wheel on to the area, and keys for what is done elsewhere on to the menus."""
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
    undo, redo = (
        event.matches(key) for key in (QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo)
    )
    return (undo and not field.isUndoAvailable()) or (redo and not field.isRedoAvailable())


def set_property(widget: QWidget, name: str, value: object) -> None:
    """Set a property that the style sheet looks at."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        theme.look_again(widget)


def describe(widget: QWidget, name: str, sentence: str) -> None:
    """Give a widget its name for screen readers and its sentence for everybody."""
    widget.setAccessibleName(name)
    widget.setToolTip(sentence)
    widget.setAccessibleDescription(sentence)
    if isinstance(widget, QComboBox):
        widget.view().setAccessibleName(name)
        widget.view().setToolTip(sentence)


def button(text: str, sentence: str, pressed: Callable[[], object]) -> QPushButton:
    """Make a button that says what it does."""
    made = QPushButton(text)
    describe(made, text.replace("&", ""), sentence)
    made.clicked.connect(lambda: pressed())
    return made


def enable(widget: QWidget, sentence: str, why_not: str = "") -> None:
    """Enable a widget, or disable it and say why in its tooltip."""
    widget.setEnabled(not why_not)
    widget.setToolTip(why_not or sentence)


def press(pressed: QPushButton, session: Session) -> None:
    """Do what a button does, from elsewhere: where it cannot be pressed, tell why."""
    commit_typed()
    if pressed.isEnabled():
        pressed.click()
    else:
        session.say("warning", pressed.toolTip())


def faint(text: str = "") -> QLabel:
    """Make a label for what is of lesser weight."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setProperty("faint", True)
    label.setWordWrap(True)
    return label


def row(*widgets: QWidget | int, spacing: int = 5) -> QHBoxLayout:
    """Put widgets side by side; a number is a stretch."""
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
    """A thin bar that shows how far the job of a name is, and hides when there is none."""

    def __init__(self, jobs: JobRunner, name: JobName, title: str) -> None:
        super().__init__()
        self._jobs, self._name = jobs, name
        self.setAccessibleName(title)
        self.setFixedHeight(6)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        jobs.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Follow the job."""
        job = self._jobs.job(self._name)
        self.setVisible(job is not None)
        if job is not None:
            self.show_share(job.share)
            self.setToolTip(f"{job.title}: {job.what}")


def percent(jobs: JobRunner, name: JobName) -> str:
    """Give the words of a running job's state: its per cent, or that it is at work."""
    job = jobs.job(name)
    share = job.share if job is not None else None
    return "at work" if share is None else f"{100 * share:.0f} %"
