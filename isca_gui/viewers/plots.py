"""Plots in the colours of the theme."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPen, QPixmap

from isca_gui.widgets import theme

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from PySide6.QtWidgets import QMenu, QWidget

# Height in pixels that one label of a vertical axis needs.
_LABEL_HEIGHT = 26
# Lengths of dashes and gaps in pixels, for the curves of a histogram in turn.
_DASHES: tuple[tuple[float, ...], ...] = ((), (7, 4), (2, 3))
# The vertical range of a histogram as a multiple of its highest value: the legend lies above.
_HEADROOM = 1.3


class LogAxis(pg.AxisItem):  # type: ignore[misc]
    """A vertical logarithmic axis with as many labels as there is room for."""

    def __init__(self) -> None:
        super().__init__("left")
        self.setStyle(maxTextLevel=0, autoExpandTextSpace=False)
        self.setWidth(62)

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """Return the labelled places and the faint ones between them, as powers of ten."""
        low, high = sorted((low, high))
        per_decade = size / max(high - low, 1e-9)
        decades = range(math.floor(low), math.ceil(high) + 1)
        every = max(math.ceil(_LABEL_HEIGHT / per_decade), 1)
        # The nearest labels of 1, 2, 5 are log10(2) = 0.30 of a decade apart, those of 1, 3 0.48.
        digits: tuple[int, ...] = (1,)
        if 0.3 * per_decade > _LABEL_HEIGHT:
            digits = (1, 2, 5)
        elif 0.45 * per_decade > _LABEL_HEIGHT:
            digits = (1, 3)
        labelled = [d + math.log10(digit) for d in decades if d % every == 0 for digit in digits]
        finer = range(1, 10) if per_decade > 60 else (1,)
        rest = [d + math.log10(digit) for d in decades for digit in finer]
        inside = [value for value in labelled if low <= value <= high]
        between = [value for value in rest if low <= value <= high and value not in inside]
        return [(1.0, inside), (1.0, between)]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        """Return the values, not their logarithms; very large and small ones in powers of ten."""
        return [f"{10**value:.4g}" if -4 < value < 5 else f"{10**value:.0e}" for value in values]


def make_plot(name: str, parent: QWidget, left: str, bottom: str, *, log: bool = False) -> Any:
    """Make a plot with named axes and without pyqtgraph's own menu."""
    axes = {"left": LogAxis()} if log else {}
    plot = pg.PlotWidget(parent, enableMenu=False, axisItems=axes)
    plot.setAccessibleName(name)
    plot.setLabel("left", left)
    plot.setLabel("bottom", bottom)
    for side in ("left", "bottom"):
        axis = plot.getAxis(side)
        axis.enableAutoSIPrefix(False)
        # The axes draw the grid. Without a cache they are redrawn at every change of a curve.
        axis.setCacheMode(pg.QtWidgets.QGraphicsItem.CacheMode.DeviceCoordinateCache)
    plot.showGrid(x=True, y=True, alpha=0.25)
    plot.hideButtons()
    # A plot answers no key, so the Tab key passes it over.
    for widget in (plot, plot.viewport()):
        widget.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    style_plot(plot)
    return plot


def style_plot(plot: Any) -> None:
    """Apply the colours of the current theme to a plot."""
    shades = theme.shades()
    plot.setBackground(shades.base)
    for side in ("left", "bottom"):
        axis = plot.getAxis(side)
        axis.setPen(shades.border)
        axis.setTextPen(shades.text)
    legend = plot.plotItem.legend
    if legend is not None:
        # An opaque background, so that no curve shows through the text.
        legend.setBrush(shades.base)
        legend.setLabelTextColor(shades.text)
        # pyqtgraph takes up a new colour only together with a text.
        for _, label in legend.items:
            label.setText(label.text)


def line_pen(colour: str, width: float, dashes: Sequence[float]) -> QPen:
    """Make a pen whose width and dashes are in logical pixels, whatever the scale of the screen.

    pyqtgraph's pens are cosmetic: their width counts device pixels, which are half as large at a
    scale of two.
    """
    ratio = 1.0
    application = QGuiApplication.instance()
    if isinstance(application, QGuiApplication):
        ratio = application.devicePixelRatio()
    pen: QPen = pg.mkPen(colour, width=width * ratio)
    if dashes:
        # Qt measures dashes in multiples of the pen's width.
        pen.setDashPattern([length / width for length in dashes])
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    return pen


LINE_ICON = QSize(36, 10)


def line_icon(dashes: Sequence[float], ratio: float) -> QIcon:
    """Draw a line in the theme's text colour, for a legend."""
    pixmap = QPixmap(LINE_ICON * ratio)
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(QColor(0, 0, 0, 0))
    with QPainter(pixmap) as painter:
        painter.setPen(line_pen(theme.shades().text, 2, dashes))
        painter.drawLine(0, LINE_ICON.height() // 2, LINE_ICON.width(), LINE_ICON.height() // 2)
    return QIcon(pixmap)


def add_menu(plot: Any, menu: Callable[[], QMenu]) -> None:
    """Open a menu on a right click."""
    plot.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    plot.customContextMenuRequested.connect(lambda place: menu().popup(plot.mapToGlobal(place)))


def show_histogram(plot: Any, centres: NDArray[Any], counts: Mapping[str, NDArray[Any]]) -> None:
    """Draw how often values occur, leaving room above the curves for the legend."""
    plot.clear()
    highest = 1.0
    for number, (name, values) in enumerate(counts.items()):
        # One is added because empty bins have no logarithm.
        logs = np.log10(values + 1.0)
        highest = max(highest, float(logs.max()))
        pen = line_pen(theme.RUN_COLOURS[number], 2, _DASHES[number % len(_DASHES)])
        plot.plot(centres, logs, pen=pen, name=name)
    plot.setYRange(0, _HEADROOM * highest)
    plot.setLabel("left", "log₁₀ (count + 1)")
