"""How late the window answers: a 5 ms heartbeat in the GUI thread, idle and while a training draws."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEventLoop, Qt, QTimer

from isca_gui.core.settings import DatasetSpec, TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from isca_gui.main_window import MainWindow

BEAT = 5  # milliseconds
MOST_P99, MOST_GAP, MOST_STOP = 20.0, 60.0, 150.0  # milliseconds
_LEVELS = (100.0, 300.0, 500.0, 700.0, 900.0)


def run(window: MainWindow, seconds: float) -> int:
    """Measure, print, and give 0 if the bounds are kept."""
    session, actions = window.session, window.commands_
    _wait(lambda: session.reference is not None and not window.jobs.jobs())
    session.restore(DatasetSpec(levels=_LEVELS), TrainingSettings(epochs=1_000_000))
    _wait(lambda: not window.jobs.jobs())
    _print("idle", beats(min(seconds, 5.0)))
    actions.generate()
    _wait(lambda: session.dataset is not None and not window.jobs.jobs())
    window.show_viewer("convergence")
    actions.train()
    _wait(lambda: session.live is not None and len(session.live.steps) > 3)
    busy = beats(seconds)
    _print("training", busy)
    start = time.perf_counter()
    actions.stop_training()
    _wait(lambda: session.live is None)
    stop = 1000 * (time.perf_counter() - start)
    sys.stdout.write(f"stop answered after {stop:.0f} ms\n")
    window.close()
    p99 = float(np.percentile(busy, 99))
    return 0 if p99 <= MOST_P99 and max(busy) <= MOST_GAP and stop <= MOST_STOP else 1


def beats(seconds: float) -> list[float]:
    """Give the gaps between heartbeats, in milliseconds."""
    gaps: list[float] = []
    last = time.perf_counter()

    def on_beat() -> None:
        nonlocal last
        now = time.perf_counter()
        gaps.append(1000 * (now - last))
        last = now

    loop, timer = QEventLoop(), QTimer()
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(on_beat)
    timer.start(BEAT)
    QTimer.singleShot(round(1000 * seconds), loop.quit)
    loop.exec()
    timer.stop()
    return gaps


def _print(what: str, gaps: list[float]) -> None:
    p50, p99 = np.percentile(gaps, [50, 99])
    sys.stdout.write(
        f"{what:9} p50 {p50:.1f} ms  p99 {p99:.1f} ms  max {max(gaps):.1f} ms  ({len(gaps)} beats)\n"
    )


def _wait(ready: Callable[[], bool]) -> None:
    """Let the window work until something is so."""
    loop, timer = QEventLoop(), QTimer()
    timer.timeout.connect(lambda: loop.quit() if ready() else None)
    timer.start(20)
    loop.exec()
    timer.stop()
