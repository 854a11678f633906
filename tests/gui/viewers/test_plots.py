"""Curves can be seen in both themes and at every scale of the screen, and not through a legend."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor

from isca_gui.viewers.bases.bases import BasesViewer
from isca_gui.widgets import theme
from tests.gui.conftest import opened

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from tests.gui.conftest import Studio

# The contrast that WCAG asks of text: the numbers of the runs are written in these colours.
READABLE = 4.5


def luminance(colour: str) -> float:
    parts = (QColor(colour).redF(), QColor(colour).greenF(), QColor(colour).blueF())
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_every_run_is_read_on_dark_and_no_two_look_the_same(studio: Studio) -> None:
    light = [theme.RUN_COLOURS[place] for place in range(len(theme.RUN_COLOURS))]
    theme.apply(theme.DARK)
    dark = [theme.RUN_COLOURS[place] for place in range(len(theme.RUN_COLOURS))]
    theme.apply(theme.LIGHT)
    assert len(set(light)) == len(set(dark)) == len(light)
    behind = luminance(theme.SHADES[theme.DARK].base) + 0.05
    assert min((luminance(colour) + 0.05) / behind for colour in dark) >= READABLE


@pytest.mark.parametrize("name", [theme.LIGHT, theme.DARK])
def test_the_histograms_legend_is_not_crossed_and_follows_the_theme(
    qtbot: QtBot, with_run: Studio, name: str
) -> None:
    viewer = opened(qtbot, with_run, BasesViewer)
    theme.apply(name)
    first = viewer.histogram.plotItem.legend
    qtbot.waitUntil(lambda: first.brush().color() == QColor(theme.SHADES[name].base))
    assert first.brush().color().alpha() == 255
    curves = viewer.histogram.plotItem.listDataItems()
    assert [curve.opts["pen"].color() for curve in curves] == [
        QColor(theme.RUN_COLOURS[place]) for place in range(3)
    ]
    assert [label.text for _, label in first.items] == ["U", "V", "J"]
    highest = max(curve.yData.max() for curve in curves)
    box = viewer.histogram.plotItem.vb
    crest = box.mapViewToScene(QPointF(0, highest)).y()
    assert crest > first.mapRectToScene(first.boundingRect()).bottom(), (
        "there is room above the curves"
    )
    theme.apply(theme.LIGHT)


PROOF = """
import pyqtgraph
from PySide6.QtWidgets import QApplication
from isca_gui.viewers.plots import line_pen
app = QApplication([])
plot = pyqtgraph.PlotWidget(background="w")
for side in ("left", "bottom"):
    plot.hideAxis(side)
plot.plot([0, 1], [0.5, 0.5], pen=line_pen("#000000", 2, ()))
plot.resize(200, 100)
plot.show()
app.processEvents()
image = plot.grab().toImage()
column = [image.pixelColor(image.width() // 2, y).red() for y in range(image.height())]
print(image.width() // 200, sum(255 - value for value in column) / 255)
"""


@pytest.mark.parametrize("scale", [1, 2])
def test_a_line_is_as_wide_at_every_scale_of_the_screen(scale: int) -> None:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": str(scale)}
    done = subprocess.run(
        [sys.executable, "-c", PROOF], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    ratio, width = done.stdout.split()
    assert int(ratio) == scale
    assert float(width) == pytest.approx(2 * scale, abs=0.5)
