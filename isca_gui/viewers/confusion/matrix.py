"""A confusion matrix to click on: actual kinds in rows, predicted ones in columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QImage, QPainter, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from isca_gui.core.distortion.distortions import ORIGINAL
from isca_gui.core.recognition.vote_overlays import style_of
from isca_gui.viewers.export import drawn_svg
from isca_gui.widgets import theme

if TYPE_CHECKING:
    from PySide6.QtCore import QPointF
    from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent

    from isca_gui.core.recognition.evaluation import LeaveOneOut

# Sizes in pixels: the height of the heading, and the sides of the cells.
_HEAD = 50
_SMALLEST = 22
_LARGEST = 64
# In a narrower column the name is reduced to its letter.
_NARROW = 90
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
            "Rows: actual kind. Columns: predicted kind. Click a cell for its pictures."
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.classes: tuple[str, ...] = ()
        self.counts = np.zeros((0, 0), np.int64)
        self.chosen: tuple[int, int] | None = None

    def set_evaluation(self, evaluation: LeaveOneOut) -> None:
        """Show another evaluation."""
        self.classes = evaluation.classes
        self.counts = np.asarray(evaluation.confusion)
        if self.chosen is not None and not self._has_cell(*self.chosen):
            self.chosen = None
        self.updateGeometry()
        self.update()

    def rows(self) -> list[tuple[object, ...]]:
        """Return the matrix as a table, with the recall of every row."""
        rows: list[tuple[object, ...]] = [("true", *self.columns, "recall")]
        for row, label in enumerate(self.classes):
            total = max(int(self.counts[row].sum()), 1)
            recall = f"{self.counts[row, row] / total:.4f}"
            if self.is_uncounted(row):
                recall = ""
            rows.append((label, *map(int, self.counts[row]), recall))
        return rows

    def is_uncounted(self, row: int) -> bool:
        """Whether a row is that of the original: left out, its class has no picture to match."""
        return self.classes[row] == ORIGINAL and int(self.counts[row].sum()) <= 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The labels of the columns."""
        return (*self.classes, *["undecided"] * (self.counts.shape[1] - len(self.classes)))

    def choose(self, row: int, column: int) -> None:
        """Mark a cell and announce it."""
        self.chosen = (row, column)
        self.update()
        self.cell_chosen.emit(row, column)

    # --- geometry ---------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        """Ask for cells that are easy to click."""
        rows, columns = self.counts.shape
        return QSize(self._names_width() + columns * _NARROW + 2, _HEAD + rows * 40 + 2)

    def minimumSizeHint(self) -> QSize:
        """Ask for room for the counts at least."""
        rows, columns = self.counts.shape
        return QSize(self._names_width() + columns * _SMALLEST + 2, _HEAD + rows * _SMALLEST + 2)

    def cell_rect(self, row: int, column: int, size: QSize | None = None) -> QRectF:
        """Return where a cell lies, in this widget or a drawing of another size."""
        width, height = self._cell_size(size or self.size())
        return QRectF(self._names_width() + column * width, _HEAD + row * height, width, height)

    def cell_at(self, place: QPointF) -> tuple[int, int] | None:
        """Return the cell under a point."""
        width, height = self._cell_size(self.size())
        row = int((place.y() - _HEAD) // height)
        column = int((place.x() - self._names_width()) // width)
        return (row, column) if self._has_cell(row, column) else None

    def _has_cell(self, row: int, column: int) -> bool:
        rows, columns = self.counts.shape
        return 0 <= row < rows and 0 <= column < columns

    def _names_width(self) -> int:
        metrics = self.fontMetrics()
        widths = [metrics.horizontalAdvance(_row_title(label)) for label in self.classes]
        return min(max(widths, default=40) + 12, 190)

    def _cell_size(self, size: QSize) -> tuple[float, float]:
        rows, columns = self.counts.shape
        width = (size.width() - self._names_width() - 2) / max(columns, 1)
        height = (size.height() - _HEAD - 2) / max(rows, 1)
        width = min(max(width, _SMALLEST), 1.6 * _LARGEST)
        height = min(max(height, _SMALLEST), _LARGEST)
        return width, height

    # --- drawing ----------------------------------------------------------------------------------

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
        """Draw the matrix with any painter.

        Parameters
        ----------
        painter
            Where to draw.
        size
            The size of the drawing.
        paper, ink, accent
            The colours of the background, of text and of a cell that holds its whole row.
        """
        self._paint_headings(painter, size, ink)
        for row in range(self.counts.shape[0]):
            total = max(int(self.counts[row].sum()), 1)
            for column in range(self.counts.shape[1]):
                count = int(self.counts[row, column])
                shade = _mixed(paper, accent, count / total)
                if self.is_uncounted(row):
                    shade = _mixed(paper, ink, 0.15)
                box = self.cell_rect(row, column, size)
                painter.fillRect(box, shade)
                painter.setPen(QPen(_mixed(paper, ink, 0.3), 1))
                painter.drawRect(box)
                text = "·"
                painter.setPen(_mixed(paper, ink, 0.45))
                if count:
                    text = str(count)
                    painter.setPen(_readable(shade))
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_headings(self, painter: QPainter, size: QSize, ink: QColor) -> None:
        left = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        wrapped = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        metrics = painter.fontMetrics()
        width = self._names_width()
        painter.setPen(ink)
        corner = "actual ↓\npredicted →"
        painter.drawText(QRectF(2, 0, width, _HEAD), left, corner)
        for column, label in enumerate(self.columns):
            box = self.cell_rect(0, column, size)
            text = style_of(label).letter
            if box.width() >= _NARROW:
                text += f"\n{style_of(label).title}"
            painter.drawText(QRectF(box.left(), 0, box.width(), _HEAD), wrapped, text)
        for row, label in enumerate(self.classes):
            box = self.cell_rect(row, 0, size)
            text = metrics.elidedText(_row_title(label), Qt.TextElideMode.ElideRight, width - 6)
            painter.drawText(QRectF(2, box.top(), width - 4, box.height()), left, text)

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

    # --- events -----------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the cell that is clicked."""
        cell = self.cell_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and cell is not None:
            self.choose(*cell)
        else:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go from cell to cell with the arrow keys."""
        key = Qt.Key(event.key())
        if key not in _ARROWS or not self.counts.size:
            super().keyPressEvent(event)
            return
        # The first key only shows where the arrows start.
        if self.chosen is None:
            self.choose(0, 0)
            return
        row, column = self.chosen
        down, across = _ARROWS[key]
        rows, columns = self.counts.shape
        self.choose(min(max(row + down, 0), rows - 1), min(max(column + across, 0), columns - 1))

    def event(self, event: QEvent) -> bool:
        """Describe the cell under the pointer in the tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            cell = self.cell_at(event.pos().toPointF())
            text = self.toolTip()
            if cell is not None:
                text = self.sentence(*cell)
            QToolTip.showText(event.globalPos(), text, self)
            return True
        return super().event(event)

    def sentence(self, row: int, column: int) -> str:
        """Return what a cell holds, in words."""
        count = int(self.counts[row, column])
        total = int(self.counts[row].sum())
        actual = style_of(self.classes[row]).title
        predicted = style_of(self.columns[column]).title
        if self.is_uncounted(row):
            closest = f" Closest: {predicted}." if count else ""
            return (
                "The original is the only picture of its kind, so it cannot be recognised when it "
                f"is left out. This row is not an error and is not counted.{closest}"
            )
        if row == column:
            return f"{actual}: {count} of {total} pictures were recognised."
        return f"{actual}: {count} of {total} pictures were mistaken for {predicted}."


def _row_title(label: str) -> str:
    return f"{style_of(label).letter}  {style_of(label).title}"


def _mixed(first: QColor, second: QColor, share: float) -> QColor:
    """Return a mixture of two colours; `share` is that of the second."""
    parts = [
        round(a + (b - a) * min(max(share, 0.0), 1.0))
        for a, b in zip(first.getRgb()[:3], second.getRgb()[:3], strict=True)  # type: ignore[index]
    ]
    return QColor(*parts)


def _readable(paper: QColor) -> QColor:
    """Return black or white, whichever is easier to read on a colour."""
    brightness = 0.3 * paper.redF() + 0.59 * paper.greenF() + 0.11 * paper.blueF()
    return QColor("black" if brightness > 0.5 else "white")
