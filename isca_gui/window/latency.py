"""A test of latency: a 5 ms timer in the GUI thread, idle and while a training is drawn."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEventLoop, Qt, QTimer

from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from isca_gui.session.session import Session
    from isca_gui.window.main_window import MainWindow

# The interval of the timer and the bounds, all in milliseconds.
BEAT = 5
MOST_P99 = 20.0
MOST_GAP = 60.0
MOST_STOP = 150.0


def run(window: MainWindow, seconds: float) -> int:
    """Measure, print, and return 0 if the latency is within the bounds."""
    session = window.session
    actions = window.menu_actions
    jobs = window.jobs
    _wait(session, lambda: session.reference is not None and not jobs.jobs())
    session.restore(DatasetSpec(), TrainingSettings(epochs=1_000_000))
    _wait(session, lambda: not jobs.jobs())
    _print("idle", beats(min(seconds, 5.0)))
    actions.generate()
    _wait(session, lambda: session.dataset is not None and not jobs.jobs())
    window.show_viewer("convergence")
    actions.train()
    _wait(session, lambda: session.live is not None and len(session.live.steps) > 3)
    busy = beats(seconds)
    _print("training", busy)
    stop = _stop(window)
    window.close()
    p99 = float(np.percentile(busy, 99))
    good = p99 <= MOST_P99 and max(busy) <= MOST_GAP and stop <= MOST_STOP
    return 0 if good else 1


def _stop(window: MainWindow) -> float:
    """Press Stop and return the milliseconds until the model is kept."""
    session = window.session
    button = window.training_panel.stop_button
    start = time.perf_counter()
    button.click()
    _wait(session, lambda: not button.isEnabled() or session.live is None)
    seen = 1000 * (time.perf_counter() - start)
    _wait(session, lambda: session.live is None)
    kept = 1000 * (time.perf_counter() - start)
    sys.stdout.write(f"stop: shown after {seen:.0f} ms, model kept after {kept:.0f} ms\n")
    return kept


def beats(seconds: float) -> list[float]:
    """Return the gaps between ticks of the timer, in milliseconds."""
    gaps: list[float] = []
    last = time.perf_counter()

    def on_beat() -> None:
        nonlocal last
        now = time.perf_counter()
        gaps.append(1000 * (now - last))
        last = now

    loop = QEventLoop()
    timer = QTimer()
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(on_beat)
    timer.start(BEAT)
    QTimer.singleShot(round(1000 * seconds), loop.quit)
    loop.exec()
    timer.stop()
    return gaps


def _print(what: str, gaps: list[float]) -> None:
    p50, p99 = np.percentile(gaps, [50, 99])
    figures = f"p50 {p50:.1f} ms  p99 {p99:.1f} ms  max {max(gaps):.1f} ms"
    sys.stdout.write(f"{what:9} {figures}  ({len(gaps)} beats)\n")


def _wait(session: Session, ready: Callable[[], bool]) -> None:
    """Process events until a condition holds; an error message ends the program."""
    loop = QEventLoop()
    timer = QTimer()

    def look() -> None:
        wrong = any(message.level == "error" for message in session.messages)
        if wrong or ready():
            loop.quit()

    timer.timeout.connect(look)
    timer.start(BEAT)
    if not ready():
        loop.exec()
    timer.stop()
    errors = [message.text for message in session.messages if message.level == "error"]
    if errors:
        sys.exit(f"The test failed: {errors[0]}")
