"""The start page: ways to begin, and recent files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from isca_gui.core.pictures import samples
from isca_gui.core.storage import resources
from isca_gui.widgets.quiet_widgets import escape_ampersands

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtGui import QResizeEvent

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Session

# At most so many recent files are shown.
MOST_SHOWN = 6
_WIDEST = 900
# Pages narrower than this, in pixels, have one column of cards.
_TWO_COLUMNS = 520


@dataclass(frozen=True)
class Choice:
    """One card: the name of its action, a title and a description."""

    name: str
    title: str
    sentence: str


CHOICES = (
    Choice(
        "compare",
        "Compare a copy with its original",
        "Drop two pictures and read what was done to one of them, proved, in about a second.",
    ),
    Choice(
        "sample",
        "Study the method with the sample",
        "A photograph is already open. Press Generate on the left, then Train. The first answer "
        "takes less than a minute.",
    ),
    Choice("open", "Open a picture…", "Use an undistorted picture of your own as the reference."),
    Choice(
        "tour",
        "Take the tour",
        "Walk through the program in five stops. You can end the tour at any time.",
    ),
    Choice(
        "mystery",
        "Guess a mystery picture",
        "The program distorts the picture in secret; then you and the model both guess how. "
        "Whatever is missing is made first.",
    ),
    Choice(
        "paper",
        "Reproduce the paper…",
        "Run all of the paper's experiments on this picture and get a report. Takes a few minutes.",
    ),
    Choice(
        "help",
        "Read the help",
        "What each step does, what each number means, and what the method cannot see.",
    ),
)


class StartViewer(QWidget):
    """Offers ways to begin; `Guide` carries them out."""

    TITLE = "Start"
    # The name of the choice.
    action_requested = Signal(str)
    # The path of a recent file.
    file_requested = Signal(str)

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("viewer-start")
        self.cards = {choice.name: Card(choice, self) for choice in CHOICES}
        for name, card in self.cards.items():
            card.clicked.connect(lambda _=False, name=name: self.action_requested.emit(name))
        self._grid = QGridLayout()
        self._grid.setSpacing(10)
        self._recent_title = QLabel("Recent", self)
        self._recent = QVBoxLayout()
        self._recent.setSpacing(2)
        inside = QWidget(self)
        inside.setMaximumWidth(_WIDEST)
        column = QVBoxLayout(inside)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addLayout(_heading(inside))
        column.addLayout(self._grid)
        column.addWidget(self._recent_title)
        column.addLayout(self._recent)
        column.addStretch(1)
        self._columns = 0
        self._arrange(2)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(_area(inside))
        self.set_recent([])

    def set_recent(self, paths: Iterable[str]) -> None:
        """Show links to recent files."""
        while self._recent.count():
            item = self._recent.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()
        shown = list(paths)[:MOST_SHOWN]
        for path in shown:
            self._recent.addWidget(self._recent_button(path))
        self._recent_title.setVisible(bool(shown))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Use one column of cards on a narrow page."""
        super().resizeEvent(event)
        self._arrange(2 if self.width() >= _TWO_COLUMNS else 1)

    def minimumSizeHint(self) -> QSize:
        """Fit into any dock."""
        return QSize(200, 100)

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        for place, card in enumerate(self.cards.values()):
            self._grid.addWidget(card, place // columns, place % columns)
        for column in range(2):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)

    def _recent_button(self, path: str) -> QPushButton:
        made = ElidedButton(_short(path), self)
        made.setCursor(Qt.CursorShape.PointingHandCursor)
        made.setAccessibleName(f"Open recent file {_short(path)}")
        made.setToolTip(path)
        made.clicked.connect(lambda _=False: self.file_requested.emit(path))
        return made


class ElidedButton(QPushButton):
    """A button whose text is elided in the middle where it does not fit."""

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(escape_ampersands(text), parent)
        self._text = text
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Return the size of the whole text."""
        width = self._margins() + self._text_width(escape_ampersands(self._text))
        return QSize(width, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Return the size of a few letters."""
        return QSize(60, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Elide the text for the new width."""
        super().resizeEvent(event)
        room = max(self.width() - self._margins(), 20)
        short = self.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideMiddle, room)
        self.setText(escape_ampersands(short))

    def _text_width(self, text: str) -> int:
        return self.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, text).width() + 1

    def _margins(self) -> int:
        """Return the width that the style adds to the text."""
        return super().sizeHint().width() - self._text_width(self.text())


class Card(QPushButton):
    """A large button with a title and a description."""

    def __init__(self, choice: Choice, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName(choice.title)
        self.setAccessibleDescription(choice.sentence)
        self.setToolTip(choice.sentence)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        title = QLabel(choice.title, self)
        title.setWordWrap(True)
        font = title.font()
        font.setBold(True)
        font.setPointSizeF(font.pointSizeF() * 1.1)
        title.setFont(font)
        sentence = QLabel(choice.sentence, self)
        sentence.setProperty("faint", True)
        sentence.setWordWrap(True)
        self._labels = QVBoxLayout(self)
        self._labels.setContentsMargins(14, 10, 14, 12)
        self._labels.setSpacing(3)
        for label in (title, sentence):
            # Clicks on the text go to the button.
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            self._labels.addWidget(label)
        self._labels.addStretch(1)

    def sizeHint(self) -> QSize:
        """Return the size of the labels; a button would measure its own, empty text."""
        return self._labels.sizeHint()

    def minimumSizeHint(self) -> QSize:
        """Return the smallest size of the labels."""
        return self._labels.minimumSize()


def _heading(parent: QWidget) -> QHBoxLayout:
    icon = QLabel(parent)
    path = resources.find("icon.svg")
    if path is not None:
        icon.setPixmap(QIcon(str(path)).pixmap(QSize(44, 44), parent.devicePixelRatioF()))
    title = QLabel("What was done to this picture?", parent)
    font = title.font()
    font.setPointSizeF(font.pointSizeF() * 1.6)
    font.setBold(True)
    title.setFont(font)
    title.setWordWrap(True)
    subtitle = QLabel(
        "ISCA Studio tells you what was done, where, how strongly, and how certain it is.", parent
    )
    subtitle.setProperty("faint", True)
    subtitle.setWordWrap(True)
    column = QVBoxLayout()
    column.setSpacing(1)
    column.addWidget(title)
    column.addWidget(subtitle)
    row = QHBoxLayout()
    row.setSpacing(12)
    row.addWidget(icon, alignment=Qt.AlignmentFlag.AlignTop)
    row.addLayout(column, 1)
    return row


def _area(inside: QWidget) -> QScrollArea:
    """Return a scroll area with a widget in its middle."""
    middle = QWidget()
    row = QHBoxLayout(middle)
    row.setContentsMargins(0, 0, 0, 0)
    row.addStretch(1)
    row.addWidget(inside, 100)
    row.addStretch(1)
    area = QScrollArea()
    area.setWidget(middle)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return area


def _short(path: str) -> str:
    """Return the text for a recent file: its name, then its folder."""
    if path.startswith(samples.PREFIX):
        return f"{path.removeprefix(samples.PREFIX)} (sample)"
    return f"{Path(path).name}   {Path(path).parent}"


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(StartViewer))  # type: ignore[arg-type]
