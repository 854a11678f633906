"""Widgets that change often and yet leave the rest of the window alone: a line of text, a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QLabel, QProgressBar, QSizePolicy, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QPaintEvent, QResizeEvent, QShowEvent

_PARTS = 1000  # of a bar
_TURN = 12  # places of the piece that goes to and fro


def as_it_is(words: str) -> str:
    """Write words on a button or in a menu so that an ampersand is seen, and marks no key."""
    return words.replace("&", "&&")


class SteadyLabel(QWidget):
    """Shows one line in the room it is given, shortened where that is too narrow.

    A QLabel tells its layout at every change, and that lays out the whole window: too dear for what
    changes with every epoch or with the pointer.
    """

    def __init__(
        self, parent: QWidget | None = None, *, letters: int = 12, right: bool = False
    ) -> None:
        super().__init__(parent)
        self._text, self._letters = "", letters
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        self._label.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def text(self) -> str:
        """Give the whole text."""
        return self._text

    def setText(self, text: str) -> None:
        """Show another text."""
        if text != self._text:
            self._text = text
            self._fit()

    def sizeHint(self) -> QSize:
        """Ask for room for so many letters."""
        metrics = self.fontMetrics()
        return QSize(metrics.averageCharWidth() * self._letters, metrics.height() + 2)

    def minimumSizeHint(self) -> QSize:
        """Do with next to nothing."""
        return QSize(0, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the text into the new room."""
        self._label.setGeometry(self.rect())
        self._fit()

    def _fit(self) -> None:
        shown = self.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideRight, self.width())
        self._label.setText(shown)
        self._label.setAccessibleName(self._text)
        if self.toolTip() == "" or self.property("shortened"):
            self.setProperty("shortened", shown != self._text)
            self.setToolTip(self._text if shown != self._text else "")


class SteadyBar(QProgressBar):
    """A bar; where nobody knows the end, a piece of it goes to and fro.

    Qt's own bar does that sixty times a second, each time painting the window: as much work as all the rest.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setRange(0, _PARTS)
        self.setTextVisible(False)
        self._place = 0
        self.endless = False
        self._timer = QTimer(self)
        self._timer.setInterval(125)
        self._timer.timeout.connect(self._on_timer)

    def show_share(self, share: float | None) -> None:
        """Show which part is done, 0 to 1, or that nobody knows."""
        self.endless = share is None
        self.setValue(0 if share is None else round(_PARTS * share))
        self._keep_time()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the bar, and the piece over it."""
        super().paintEvent(event)
        if not self.endless:
            return
        room = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        width = room.width() / 4
        turn = self._place % (2 * _TURN)
        left = room.left() + (room.width() - width) * min(turn, 2 * _TURN - turn) / _TURN
        with QPainter(self) as painter:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.palette().highlight())
            painter.drawRoundedRect(QRectF(left, room.top(), width, room.height()), 2, 2)

    def showEvent(self, event: QShowEvent) -> None:
        """Go on."""
        super().showEvent(event)
        self._keep_time()

    def hideEvent(self, event: QHideEvent) -> None:
        """Do nothing unseen."""
        self._timer.stop()
        super().hideEvent(event)

    def _keep_time(self) -> None:
        if not self.endless or not self.isVisible():
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def _on_timer(self) -> None:
        self._place += 1
        self.update()
