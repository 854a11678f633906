"""Plots in the colours of the theme."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyqtgraph as pg
from PySide6.QtCore import Qt

from isca_gui import theme

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QMenu, QWidget


def make_plot(name: str, parent: QWidget, left: str, bottom: str) -> Any:
    """Make a plot with named axes; its own menu makes room for ours."""
    plot = pg.PlotWidget(parent)
    plot.setAccessibleName(name)
    plot.setLabel("left", left)
    plot.setLabel("bottom", bottom)
    for side in ("left", "bottom"):
        plot.getAxis(side).enableAutoSIPrefix(False)
    plot.showGrid(x=True, y=True, alpha=0.25)
    plot.setMenuEnabled(False)
    plot.hideButtons()
    for widget in (plot, plot.viewport()):
        widget.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # a plot has nothing to type into
    style_plot(plot)
    return plot


def style_plot(plot: Any) -> None:
    """Give a plot the colours of the theme that is shown now."""
    shades = theme.shades()
    plot.setBackground(shades.base)
    for side in ("left", "bottom"):
        axis = plot.getAxis(side)
        axis.setPen(shades.border)
        axis.setTextPen(shades.text)
    if plot.plotItem.legend is not None:
        plot.plotItem.legend.setLabelTextColor(shades.text)


def add_menu(plot: Any, menu: Callable[[], QMenu]) -> None:
    """Open a menu of ours on a right click."""
    plot.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    plot.customContextMenuRequested.connect(lambda place: menu().popup(plot.mapToGlobal(place)))
