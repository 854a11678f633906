"""The scale of a coloured map: which colour stands for which value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from isca_gui.viewers.canvas.layers import pixel_image

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PySide6.QtGui import QImage, QPaintEvent

_BAR_WIDTH = 14
_MARGIN = 8


class ColourBar(QWidget):
    """A vertical bar with up to five of its values beside it."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setToolTip(name)
        self._image: QImage | None = None
        self._texts: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The values written beside the bar, from the highest down."""
        return self._texts

    def set_scale(
        self,
        table: NDArray[np.uint8],
        low: float,
        high: float,
        number_format: str = "{:+.3g}",
        factor: float = 1.0,
    ) -> None:
        """Show a scale of colours.

        Parameters
        ----------
        table
            256 colours from `low` to `high`, shape (256, 3).
        low, high
            The ends of the scale.
        number_format
            How the values are written.
        factor
            What the values are multiplied by before they are written.
        """
        column: Any = table[::-1, None, :].repeat(_BAR_WIDTH, axis=1)
        self._image = pixel_image(column)
        values = [high + (low - high) * part / 4 for part in range(5)]
        self._texts = tuple(
            "0" if value == 0 else number_format.format(value * factor) for value in values
        )
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Ask for the width of the bar and its texts."""
        metrics = self.fontMetrics()
        texts = max((metrics.horizontalAdvance(text) for text in self._texts), default=30)
        return QSize(_BAR_WIDTH + texts + 12, 120)

    def minimumSizeHint(self) -> QSize:
        """Ask for the width of the texts, at any height."""
        return QSize(self.sizeHint().width(), 60)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the bar and its texts."""
        if self._image is None:
            return
        painter = QPainter(self)
        bar = QRectF(2, _MARGIN, _BAR_WIDTH, self.height() - 2 * _MARGIN)
        painter.drawImage(bar, self._image)
        painter.setPen(self.palette().color(self.palette().ColorRole.Mid))
        painter.drawRect(bar)
        painter.setPen(self.palette().color(self.palette().ColorRole.WindowText))
        height = painter.fontMetrics().height()
        # All five texts, every second one, or only those at the ends, as they fit.
        step = 4
        if bar.height() > 5 * height:
            step = 1
        elif bar.height() > 3 * height:
            step = 2
        for place, text in list(enumerate(self._texts))[::step]:
            y = bar.top() + bar.height() * place / 4 - height / 2
            box = QRectF(bar.right() + 5, y, self.width(), height)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
        painter.end()
