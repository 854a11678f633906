"""The proof of an answer as a small plot: tone curve, kernel, histogram or quantisation table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QLabel, QStackedLayout, QVBoxLayout, QWidget

from isca_gui.core.comparison import evidence as proofs
from isca_gui.viewers.plots import line_pen, make_plot, style_plot
from isca_gui.widgets import theme
from isca_gui.widgets.step_frame import faint_label

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PySide6.QtGui import QPaintEvent

    from isca_gui.core.comparison.evidence import Evidence

HEIGHT = 190
_AXES = {
    proofs.CURVE: ("copy", "original, grey value"),
    proofs.KERNEL: ("weight", "pixels from the middle"),
    proofs.HISTOGRAM: ("share", "change, grey levels"),
}
_LINE_COLOURS = {"red": "#D55E00", "green": "#009E73", "blue": "#0072B2"}
_DASHES: tuple[tuple[float, ...], ...] = ((), (6, 4))


class ProofPlot(QWidget):
    """Draws one piece of evidence with its title and how to read it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.title = QLabel(self)
        self.title.setProperty("heading", True)
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        self.plot = make_plot("Proof", self, "", "")
        self.plot.setMouseEnabled(False, False)
        self.plot.setToolTip("What proves the answer, drawn.")
        self.steps = StepTable(self)
        self.sentence = faint_label()
        box = QWidget(self)
        box.setFixedHeight(HEIGHT)
        self._stack = QStackedLayout(box)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._stack.addWidget(self.plot)
        self._stack.addWidget(self.steps)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(3)
        layout.addWidget(self.title)
        layout.addWidget(box)
        layout.addWidget(self.sentence)
        self._shown: Evidence | None = None

    def show_evidence(self, evidence: Evidence) -> None:
        """Draw something else."""
        self._shown = evidence
        self.title.setText(evidence.title)
        self.sentence.setText(evidence.sentence)
        if evidence.form == proofs.TABLE and evidence.table is not None:
            self.steps.set_table(evidence.table)
            self._stack.setCurrentWidget(self.steps)
            return
        self._stack.setCurrentWidget(self.plot)
        self._draw_lines(evidence)

    def restyle(self) -> None:
        """Draw in the colours of the theme."""
        style_plot(self.plot)
        if self._shown is not None:
            self.show_evidence(self._shown)

    def _draw_lines(self, evidence: Evidence) -> None:
        plot: Any = self.plot
        plot.clear()
        left, bottom = _AXES[evidence.form]
        plot.setLabel("left", left)
        plot.setLabel("bottom", bottom)
        if evidence.form == proofs.CURVE:
            faint = line_pen(theme.shades().faint, 1, (3, 3))
            plot.plot([0, 255], [0, 255], pen=faint)
        for place, (name, values) in enumerate(evidence.lines.items()):
            colour = _LINE_COLOURS.get(name, theme.RUN_COLOURS[place])
            pen = line_pen(colour, 2, _DASHES[place % 2] if name not in _LINE_COLOURS else ())
            plot.plot(evidence.x, values, pen=pen, connect="finite")
            if evidence.form == proofs.KERNEL and place == 0:
                dots = {"symbol": "o", "symbolSize": 4, "symbolBrush": colour, "symbolPen": None}
                plot.plot(evidence.x, values, pen=None, **dots)
        plot.autoRange(padding=0.04)


class StepTable(QWidget):
    """A quantisation table: 8×8 steps, the coarser the darker."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._table: NDArray[np.float64] = np.zeros((8, 8))
        self.setAccessibleName("Quantisation table")
        self.setToolTip(
            "The step of each frequency: low ones at the upper left, high ones at the lower right. "
            "Larger steps lose more."
        )

    def set_table(self, table: NDArray[np.float64]) -> None:
        """Show other steps."""
        self._table = table
        lines = ("; ".join(f"{step:.0f}" for step in row) for row in table)
        self.setAccessibleDescription(" | ".join(lines))
        self.update()

    def sizeHint(self) -> QSize:
        """Ask for eight cells of a few digits each."""
        return QSize(260, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the cells and their steps."""
        shades = theme.shades()
        accent = QColor(shades.accent)
        largest = max(float(np.log1p(self._table).max()), 1e-6)
        with QPainter(self) as painter:
            font = painter.font()
            font.setPointSizeF(font.pointSizeF() * 0.85)
            painter.setFont(font)
            width = self.width() / 8
            height = self.height() / 8
            for row in range(8):
                for column in range(8):
                    step = self._table[row, column]
                    cell = QRectF(column * width, row * height, width - 1, height - 1)
                    accent.setAlphaF(0.06 + 0.5 * float(np.log1p(step)) / largest)
                    painter.fillRect(cell, accent)
                    painter.setPen(QColor(shades.text if step else shades.faint))
                    text = f"{step:.0f}" if step else "·"
                    painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, text)
