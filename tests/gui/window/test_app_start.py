"""What the start must not load, rows that wrap, and how small the window can be made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from isca_gui import app
from isca_gui.session.preferences import Preferences
from isca_gui.widgets.flow_layout import Flow
from isca_gui.widgets.quiet_widgets import SteadyBar, SteadyLabel

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

from tests.places import ROOT

LATE = {
    "numba",
    "matplotlib",
    "skimage",
    "scipy.optimize",
    "scipy.stats",
    "tifffile",
    "safetensors",
}


def test_the_window_opens_without_the_compiler_and_the_rest_that_can_wait(tmp_path: Path) -> None:
    code = f"""
import json, os, sys
from isca_gui import app
from isca_gui.session.preferences import Preferences
application = app.make_application()
window = app.make_window(Preferences({str(tmp_path / "none.json")!r}))
window.show()
application.processEvents()
os.write(1, json.dumps(sorted(sys.modules)).encode())
os._exit(0)
"""
    words = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=ROOT, env=words, timeout=60
    )
    assert not LATE & set(json.loads(done.stdout))


def test_the_window_fits_a_screen_of_1280_by_800_at_twice_the_size(
    qtbot: QtBot, tmp_path: Path
) -> None:
    window = app.make_window(Preferences(tmp_path / "none.json"))
    qtbot.addWidget(window)
    least = window.minimumSizeHint()
    assert least.width() <= 640
    assert (
        least.height() <= 400 + 133
    )  # on a lower screen the lower docks lie behind the upper ones


def test_a_row_goes_on_in_the_next_line(qtbot: QtBot) -> None:
    box = QWidget()
    qtbot.addWidget(box)
    column = QVBoxLayout(box)
    row = Flow(*(QPushButton(f"Button number {number}") for number in range(4)))
    row.push()
    last = QPushButton("Last")
    row.addWidget(last)
    column.addLayout(row)
    box.resize(1200, 80)
    box.show()
    assert last.geometry().right() == row.geometry().right()  # all fit: it lies at the right end
    assert row.heightForWidth(300) > 2 * row.heightForWidth(1200)
    row.setGeometry(QRect(0, 0, 300, 300))
    shown = [row.itemAt(place).geometry() for place in range(row.count())]
    assert all(place.right() <= 300 for place in shown)
    assert not any(a.intersects(b) for a in shown for b in shown if a is not b)


def test_a_steady_label_shortens_and_leaves_its_layout_alone(qtbot: QtBot) -> None:
    label = SteadyLabel(letters=10)
    qtbot.addWidget(label)
    label.resize(60, 20)
    label.show()
    hint = label.sizeHint()
    label.setText("a text that is much longer than there is room for")
    assert label.text().startswith("a text")
    assert label.toolTip() == label.text()
    assert label.sizeHint() == hint
    label.setText("short")
    assert label.toolTip() == ""


def test_a_bar_without_an_end_moves_only_while_it_is_seen(qtbot: QtBot) -> None:
    bar = SteadyBar()
    qtbot.addWidget(bar)
    bar.show()
    bar.show_share(None)
    assert bar.indeterminate
    assert bar._timer.isActive()
    before = bar.grab().toImage()
    qtbot.waitUntil(lambda: bar.grab().toImage() != before)
    bar.hide()
    assert not bar._timer.isActive()
    bar.show()
    bar.show_share(0.5)
    assert (bar.value(), bar._timer.isActive()) == (500, False)
