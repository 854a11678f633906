"""The start page: where to begin, what was open before, a tour, a mystery, the paper."""

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

SAMPLE, OPEN, TOUR, MYSTERY, PAPER, HELP = "sample", "open", "tour", "mystery", "paper", "help"
MOST_SHOWN = 6  # recent files
_WIDEST = 900
_TWO_COLUMNS = 520  # pixels


@dataclass(frozen=True)
class Choice:
    """One card."""

    name: str
    title: str
    sentence: str


CHOICES = (
    Choice(SAMPLE, "Begin with the sample",
           "A photograph is open already. Press Generate at the left, then Train: the first answer takes "
           "less than a minute."),
    Choice(OPEN, "Open a picture…", "Take an undistorted picture of your own as the reference."),
    Choice(TOUR, "Take the tour", "Five stops that point at the real controls. Leave it whenever you like."),
    Choice(MYSTERY, "Guess a mystery picture",
           "The program damages the picture in secret; you and it find out how. What is missing for that "
           "is made first."),
    Choice(PAPER, "Reproduce the paper…",
           "All experiments of the published method on this picture, with a report; some minutes."),
    Choice(HELP, "Read the help", "What each step does, what each number means, and what cannot be seen."),
)  # fmt: skip


class StartViewer(QWidget):
    """Offers ways to begin; what they do is the window's."""

    TITLE = "Start"
    wished = Signal(str)  # the name of a choice
    file_wished = Signal(str)  # a recent file

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("viewer-start")
        self.cards = {choice.name: Card(choice, self) for choice in CHOICES}
        for name, card in self.cards.items():
            card.clicked.connect(lambda _=False, name=name: self.wished.emit(name))
        self._grid = QGridLayout()
        self._grid.setSpacing(10)
        self._recent_title = QLabel("Open again", self)
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
        """Offer files that were open before."""
        while self._recent.count():
            item = self._recent.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()
        shown = list(paths)[:MOST_SHOWN]
        for path in shown:
            self._recent.addWidget(self._link(path))
        self._recent_title.setVisible(bool(shown))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the cards into one column where there is little room."""
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

    def _link(self, path: str) -> QPushButton:
        made = Line(_short(path), self)
        made.setCursor(Qt.CursorShape.PointingHandCursor)
        made.setAccessibleName(f"Open {_short(path)} again")
        made.setToolTip(path)
        made.clicked.connect(lambda _=False: self.file_wished.emit(path))
        return made


class Line(QPushButton):
    """A button of one line, shortened where there is no room for it."""

    def __init__(self, words: str, parent: QWidget) -> None:
        super().__init__(escape_ampersands(words), parent)
        self._words = words
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Ask for room for all words."""
        return QSize(
            self._around() + self._long(escape_ampersands(self._words)), super().sizeHint().height()
        )

    def minimumSizeHint(self) -> QSize:
        """Get by with a few letters."""
        return QSize(60, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out the middle where it does not fit."""
        super().resizeEvent(event)
        room = max(self.width() - self._around(), 20)
        short = self.fontMetrics().elidedText(self._words, Qt.TextElideMode.ElideMiddle, room)
        self.setText(escape_ampersands(short))

    def _long(self, words: str) -> int:
        return self.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, words).width() + 1

    def _around(self) -> int:
        """Give the room that is not for words."""
        return super().sizeHint().width() - self._long(self.text())


class Card(QPushButton):
    """A large button: what it leads to, and a sentence about it."""

    def __init__(self, choice: Choice, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName(choice.title)
        self.setAccessibleDescription(choice.sentence)
        self.setToolTip(choice.sentence)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        title, sentence = QLabel(choice.title, self), QLabel(choice.sentence, self)
        font = title.font()
        font.setBold(True)
        font.setPointSizeF(font.pointSizeF() * 1.1)
        title.setFont(font)
        sentence.setProperty("faint", True)
        sentence.setWordWrap(True)
        self._words = QVBoxLayout(self)
        self._words.setContentsMargins(14, 10, 14, 12)
        self._words.setSpacing(3)
        for label in (title, sentence):
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            self._words.addWidget(label)
        self._words.addStretch(1)

    def sizeHint(self) -> QSize:
        """Be as large as the words."""
        return self._words.sizeHint()

    def minimumSizeHint(self) -> QSize:
        """Be no smaller than the words."""
        return self._words.minimumSize()


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
    words = QLabel("ISCA Studio says what, where, how strongly, and how sure it is.", parent)
    words.setProperty("faint", True)
    words.setWordWrap(True)
    column = QVBoxLayout()
    column.setSpacing(1)
    column.addWidget(title)
    column.addWidget(words)
    row = QHBoxLayout()
    row.setSpacing(12)
    row.addWidget(icon, alignment=Qt.AlignmentFlag.AlignTop)
    row.addLayout(column, 1)
    return row


def _area(inside: QWidget) -> QScrollArea:
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
    if path.startswith(samples.PREFIX):
        return f"{path.removeprefix(samples.PREFIX)} (sample)"
    return f"{Path(path).name}   {Path(path).parent}"


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(StartViewer))  # type: ignore[arg-type]
