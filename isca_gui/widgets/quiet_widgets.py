"""A label and a progress bar that can change often without the window being laid out again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QLabel, QProgressBar, QSizePolicy, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QPaintEvent, QResizeEvent, QShowEvent

# Resolution of a progress bar.
_STEPS = 1000
# Positions of the moving piece on its way from one end of the bar to the other.
_POSITIONS = 12
_TICK_MS = 125


def escape_ampersands(text: str) -> str:
    """Return a text for a button or menu in which ampersands are shown and mark no shortcut."""
    return text.replace("&", "&&")


class SteadyLabel(QWidget):
    """Shows one line of text, elided where it does not fit.

    A QLabel invalidates its layout whenever its text changes, and the whole window is laid out
    again. That is too slow for a text that changes with every epoch or move of the pointer.
    """

    def __init__(
        self, parent: QWidget | None = None, *, letters: int = 12, right: bool = False
    ) -> None:
        super().__init__(parent)
        self._text = ""
        self._letters = letters
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        self._label.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def text(self) -> str:
        """Return the whole text, also what is elided."""
        return self._text

    def setText(self, text: str) -> None:
        """Show another text."""
        if text != self._text:
            self._text = text
            self._fit()

    def sizeHint(self) -> QSize:
        """Return the size of as many letters as were asked for."""
        metrics = self.fontMetrics()
        return QSize(metrics.averageCharWidth() * self._letters, metrics.height() + 2)

    def minimumSizeHint(self) -> QSize:
        """Return a size without width: the text can always be elided."""
        return QSize(0, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Elide the text for the new width."""
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
    """A progress bar; where the end is unknown, a piece of it moves to and fro.

    Qt animates its own indeterminate bar sixty times a second and repaints the window each time,
    which costs as much as the work that is being waited for.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setRange(0, _STEPS)
        self.setTextVisible(False)
        self._position = 0
        self.indeterminate = False
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self._on_timer)

    def show_share(self, share: float | None) -> None:
        """Show which part is done, 0 to 1; None stands for unknown."""
        self.indeterminate = share is None
        self.setValue(round(_STEPS * (share or 0.0)))
        self._update_timer()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the bar, and over it the moving piece."""
        super().paintEvent(event)
        if not self.indeterminate:
            return
        room = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        width = room.width() / 4
        step = self._position % (2 * _POSITIONS)
        # The second half of the steps is the way back.
        way = min(step, 2 * _POSITIONS - step) / _POSITIONS
        left = room.left() + (room.width() - width) * way
        with QPainter(self) as painter:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.palette().highlight())
            painter.drawRoundedRect(QRectF(left, room.top(), width, room.height()), 2, 2)

    def showEvent(self, event: QShowEvent) -> None:
        """Move again."""
        super().showEvent(event)
        self._update_timer()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop moving while nobody sees it."""
        self._timer.stop()
        super().hideEvent(event)

    def _update_timer(self) -> None:
        if not self.indeterminate or not self.isVisible():
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def _on_timer(self) -> None:
        self._position += 1
        self.update()
