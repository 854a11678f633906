"""A confusion matrix to look at and to click on: rows are the truth, columns what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QImage, QPainter, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from isca_gui.core.distortion.distortions import ORIGINAL
from isca_gui.core.recognition.vote_overlays import look
from isca_gui.viewers.export import drawn_svg
from isca_gui.widgets import theme

if TYPE_CHECKING:
    from PySide6.QtCore import QPointF
    from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent

    from isca_gui.core.recognition.evaluation import LeaveOneOut

_HEAD, _SMALLEST, _LARGEST = 50, 22, 64
_NARROW = 90  # below this a column's name is its letter only
_ARROWS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}


class ConfusionMatrix(QWidget):
    """Counts in cells, shaded by the share of their row."""

    cell_chosen = Signal(int, int)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(f"Confusion matrix of {name}")
        self.setToolTip(
            "Rows: the truth. Columns: what was said. Click a cell to see its pictures."
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.classes: tuple[str, ...] = ()
        self.counts = np.zeros((0, 0), np.int64)
        self.chosen: tuple[int, int] | None = None

    def set_evaluation(self, evaluation: LeaveOneOut) -> None:
        """Show another evaluation."""
        self.classes, self.counts = evaluation.classes, np.asarray(evaluation.confusion)
        if self.chosen is not None and (
            self.chosen[0] >= self.counts.shape[0] or self.chosen[1] >= self.counts.shape[1]
        ):
            self.chosen = None
        self.updateGeometry()
        self.update()

    def rows(self) -> list[tuple[object, ...]]:
        """Give the matrix as a table, with the recall of every row."""
        rows: list[tuple[object, ...]] = [("true", *self.columns, "recall")]
        for row, label in enumerate(self.classes):
            total = max(int(self.counts[row].sum()), 1)
            recall = "" if self.is_alone(row) else f"{self.counts[row, row] / total:.4f}"
            rows.append((label, *map(int, self.counts[row]), recall))
        return rows

    def is_alone(self, row: int) -> bool:
        """Whether a row is that of the original: left out, nothing of its class is left to find it by."""
        return self.classes[row] == ORIGINAL and int(self.counts[row].sum()) <= 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The labels of the columns."""
        return (*self.classes, *["undecided"] * (self.counts.shape[1] - len(self.classes)))

    def choose(self, row: int, column: int) -> None:
        """Mark a cell and tell which."""
        self.chosen = (row, column)
        self.update()
        self.cell_chosen.emit(row, column)

    # --- geometry ---------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        """Room for cells that are easily hit."""
        rows, columns = self.counts.shape
        return QSize(self._names() + columns * _NARROW + 2, _HEAD + rows * 40 + 2)

    def minimumSizeHint(self) -> QSize:
        """Room for the counts at least."""
        rows, columns = self.counts.shape
        return QSize(self._names() + columns * _SMALLEST + 2, _HEAD + rows * _SMALLEST + 2)

    def cell_rect(self, row: int, column: int, size: QSize | None = None) -> QRectF:
        """Give where a cell lies."""
        wide, high = self._cell(size or self.size())
        return QRectF(self._names() + column * wide, _HEAD + row * high, wide, high)

    def cell_at(self, place: QPointF) -> tuple[int, int] | None:
        """Give the cell under a point."""
        wide, high = self._cell(self.size())
        row, column = int((place.y() - _HEAD) // high), int((place.x() - self._names()) // wide)
        inside = 0 <= row < self.counts.shape[0] and 0 <= column < self.counts.shape[1]
        return (row, column) if inside else None

    def _names(self) -> int:
        metrics = self.fontMetrics()
        widths = [
            metrics.horizontalAdvance(f"{look(c).letter}  {look(c).title}") for c in self.classes
        ]
        return min(max(widths, default=40) + 12, 190)

    def _cell(self, size: QSize) -> tuple[float, float]:
        rows, columns = max(self.counts.shape[0], 1), max(self.counts.shape[1], 1)
        wide = min(max((size.width() - self._names() - 2) / columns, _SMALLEST), 1.6 * _LARGEST)
        high = min(max((size.height() - _HEAD - 2) / rows, _SMALLEST), _LARGEST)
        return wide, high

    # --- drawing ----------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the matrix in the theme's colours."""
        painter = QPainter(self)
        shades = theme.shades()
        self.paint(
            painter, self.size(), QColor(shades.base), QColor(shades.text), QColor(shades.accent)
        )
        if self.chosen is not None:
            painter.setPen(QPen(QColor(shades.text), 3 if self.hasFocus() else 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.cell_rect(*self.chosen).adjusted(1, 1, -1, -1))
        painter.end()

    def paint(
        self, painter: QPainter, size: QSize, paper: QColor, ink: QColor, accent: QColor
    ) -> None:
        """Draw the matrix anywhere."""
        centre = Qt.AlignmentFlag.AlignCenter
        left = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        metrics, names = painter.fontMetrics(), self._names()
        painter.setPen(ink)
        painter.drawText(QRectF(2, 0, names, _HEAD), left, "true ↓   said →")
        for column, label in enumerate(self.columns):
            box = self.cell_rect(0, column, size)
            head = QRectF(box.left(), 0, box.width(), _HEAD)
            under = f"\n{look(label).title}" if box.width() >= _NARROW else ""
            wrapped = centre | Qt.TextFlag.TextWordWrap
            painter.drawText(head, wrapped, f"{look(label).letter}{under}")
        for row, label in enumerate(self.classes):
            first = self.cell_rect(row, 0, size)
            text = f"{look(label).letter}  {look(label).title}"
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, names - 6)
            painter.setPen(ink)
            painter.drawText(QRectF(2, first.top(), names - 4, first.height()), left, text)
            total = max(int(self.counts[row].sum()), 1)
            for column in range(self.counts.shape[1]):
                count = int(self.counts[row, column])
                alone = self.is_alone(row)
                shade = _mixed(paper, ink, 0.15) if alone else _mixed(paper, accent, count / total)
                box = self.cell_rect(row, column, size)
                painter.fillRect(box, shade)
                painter.setPen(QPen(_mixed(paper, ink, 0.3), 1))
                painter.drawRect(box)
                painter.setPen(_readable(shade) if count else _mixed(paper, ink, 0.45))
                painter.drawText(box, centre, str(count) if count else "·")

    def drawn(self) -> QImage:
        """Draw it on white, at twice the size."""
        size = self.sizeHint()
        image = QImage(size * 2, QImage.Format.Format_RGB32)
        image.fill(QColor("white"))
        painter = QPainter(image)
        painter.scale(2, 2)
        self.paint(painter, size, QColor("white"), QColor("black"), QColor("#0B62C4"))
        painter.end()
        return image

    def svg(self) -> bytes:
        """Draw it as SVG."""
        size = self.sizeHint()
        colours = QColor("white"), QColor("black"), QColor("#0B62C4")
        return drawn_svg(
            self.accessibleName(), size, lambda painter: self.paint(painter, size, *colours)
        )

    # --- events -----------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the cell that is clicked."""
        cell = self.cell_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and cell is not None:
            self.choose(*cell)
        else:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go from cell to cell by the arrows."""
        key = Qt.Key(event.key())
        if key not in _ARROWS or not self.counts.size:
            return super().keyPressEvent(event)
        row, column = self.chosen or (0, 0)
        down, across = _ARROWS[key] if self.chosen is not None else (0, 0)
        rows, columns = self.counts.shape
        self.choose(min(max(row + down, 0), rows - 1), min(max(column + across, 0), columns - 1))
        return None

    def event(self, event: QEvent) -> bool:
        """Say in words what a cell holds."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            cell = self.cell_at(event.pos().toPointF())
            text = self.sentence(*cell) if cell is not None else self.toolTip()
            QToolTip.showText(event.globalPos(), text, self)
            return True
        return super().event(event)

    def sentence(self, row: int, column: int) -> str:
        """Say what a cell holds."""
        count, total = int(self.counts[row, column]), int(self.counts[row].sum())
        true, said = look(self.classes[row]).title, look(self.columns[column]).title
        if self.is_alone(row):
            taken = f" It is nearest to {said}." if count else ""
            return (
                "The original is alone in its class and cannot be found without itself: this row is no "
                f"error, and is not counted.{taken}"
            )
        if row == column:
            return f"{count} of {total} pictures of {true} were recognised."
        return f"{count} of {total} pictures of {true} were taken for {said}."


def _mixed(first: QColor, second: QColor, share: float) -> QColor:
    """Mix two colours."""
    parts = [
        round(a + (b - a) * min(max(share, 0.0), 1.0))
        for a, b in zip(first.getRgb()[:3], second.getRgb()[:3], strict=True)  # type: ignore[index]
    ]
    return QColor(*parts)


def _readable(paper: QColor) -> QColor:
    """Give black or white, whichever is read better on a colour."""
    red, green, blue = paper.redF(), paper.greenF(), paper.blueF()
    return QColor("black" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else "white")
