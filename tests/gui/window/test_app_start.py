"""What the start must not load, and how small the window can be made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from isca_gui import app
from isca_gui.session.preferences import Preferences

if TYPE_CHECKING:
    from pathlib import Path

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
    # On a lower screen the lower docks lie behind the upper ones.
    assert least.height() <= 400 + 133
