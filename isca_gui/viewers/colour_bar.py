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

_BREADTH, _MARGIN = 14, 8


class ColourBar(QWidget):
    """A vertical bar with its lowest, middle and highest value beside it."""

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
        form: str = "{:+.3g}",
        factor: float = 1.0,
    ) -> None:
        """Show a table of 256 colours from `low` to `high`."""
        column: Any = table[::-1, None, :].repeat(_BREADTH, axis=1)
        self._image = pixel_image(column)
        values = [high + (low - high) * part / 4 for part in range(5)]
        self._texts = tuple("0" if value == 0 else form.format(value * factor) for value in values)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """As broad as its texts."""
        metrics = self.fontMetrics()
        texts = max((metrics.horizontalAdvance(text) for text in self._texts), default=30)
        return QSize(_BREADTH + texts + 12, 120)

    def minimumSizeHint(self) -> QSize:
        """Wide enough for its texts, at any height."""
        return QSize(self.sizeHint().width(), 60)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the bar and its texts."""
        if self._image is None:
            return
        painter = QPainter(self)
        bar = QRectF(2, _MARGIN, _BREADTH, self.height() - 2 * _MARGIN)
        painter.drawImage(bar, self._image)
        painter.setPen(self.palette().color(self.palette().ColorRole.Mid))
        painter.drawRect(bar)
        painter.setPen(self.palette().color(self.palette().ColorRole.WindowText))
        height = painter.fontMetrics().height()
        steps = 1 if bar.height() > 5 * height else 2 if bar.height() > 3 * height else 4
        for place, text in list(enumerate(self._texts))[::steps]:
            y = bar.top() + bar.height() * place / 4 - height / 2
            box = QRectF(bar.right() + 5, y, self.width(), height)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
        painter.end()
