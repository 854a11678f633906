"""How long the window takes to come up, beside importing what every such program imports."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from isca_gui.bench.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

# The best of so many counts: other programs only ever make it longer.
_TIMES = 5
_READY = b"ready\n"
_TELL = "import os; os.write(1, b'ready\\n'); os._exit(0)"
_BARE = f"import PySide6.QtWidgets, numpy, scipy; {_TELL}"
# Usable: shown, painted, and with the first picture in it. Nothing of the user's settings is read
# or written.
_WINDOW = f"""
import tempfile
from pathlib import Path
from isca_gui import app
from isca_gui.session.preferences import Preferences
from isca_gui.widgets import theme
from PySide6.QtCore import QEventLoop
application = app.make_application()
theme.apply("light")
window = app.make_window(Preferences(Path(tempfile.gettempdir(), "no such file")))
window.show()
application.processEvents()
app.begin(window)
while window.session.reference is None:
    application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
application.processEvents()
{_TELL}
"""


def measure(threads: int | None) -> Iterator[Figure]:
    """Time both from the start of the process, without a screen."""
    bare = min(_seconds(_BARE) for _ in range(_TIMES))
    window = min(_seconds(_WINDOW) for _ in range(_TIMES))
    yield Figure("window: bare import of PySide6, NumPy and SciPy", bare, "s")
    yield Figure("window: start to a usable window", window, "s", most=2.5)
    yield Figure("window: start / bare import", window / bare, "×")


def _seconds(code: str) -> float:
    """Return the seconds until a new Python process says that it is ready."""
    headless = {"QT_QPA_PLATFORM": "offscreen", "QT_LOGGING_RULES": "*=false"}
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env={**os.environ, **headless}
    ) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        took = time.perf_counter() - start
    if line != _READY:
        raise RuntimeError("the window could not be opened; run python -m isca_gui to see why")
    return took
