"""Start the real program and work in it until it is killed.

`python -m tests.gui.working PICTURE LOG SEED`. Every few milliseconds a line in LOG says what there
is then, to be compared with what comes back after the crash.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer

from isca_gui import app
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable

SPEC = DatasetSpec(kinds=("blur", "jpeg", "gaussian-noise"), levels=(100.0, 300.0))
_LOOK = 10  # milliseconds


class Worker:
    """Presses one button after the other, for ever, in an order that depends on the seed."""

    def __init__(self, window: Any, log: str, seed: int) -> None:
        self.window = window
        self._random = random.Random(seed)
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._until = 0.0
        self._next: Callable[[], bool] = self._generate
        self._timer = QTimer(window)
        self._timer.timeout.connect(self._on_timer)
        self._timer.start(_LOOK)

    def _on_timer(self) -> None:
        self._tell()
        if time.monotonic() >= self._until and self._next():
            self._until = time.monotonic() + self._random.uniform(0.0, 0.2)

    def _tell(self) -> None:
        session = self.window.session
        now = {
            "dataset": session.dataset is not None,
            "seed": session.spec.seed,
            "runs": [run.number for run in session.runs],
            "tested": [test.number for test in session.tested if test.recognition is not None],
            "saving": self.window.recovery.busy,
            "live": [session.live.number, len(session.live.steps)] if session.live else [0, 0],
        }
        os.write(self._log, f"{json.dumps(now | {'time': time.time()})}\n".encode())

    # --- each returns whether it was done ---------------------------------------------------------

    def _generate(self) -> bool:
        session = self.window.session
        if session.reference is None:
            return False
        session.restore(
            SPEC, TrainingSettings(epochs=1_000_000, solver=self._random.choice(["admm", "direct"]))
        )
        self.window.menu_actions.generate()
        self._next = self._train
        return True

    def _train(self) -> bool:
        session = self.window.session
        if session.dataset is None or session.live is not None:
            return False
        method, kernel = self._random.choice([("isca", "linear"), ("kernel-isca", "rbf")])
        session.set_settings(
            TrainingSettings(method, session.settings.solver, kernel, epochs=1_000_000)
        )
        self.window.menu_actions.train()
        self._stop_at = time.monotonic() + self._random.uniform(0.3, 2.5)
        self._next = self._stop
        return True

    def _stop(self) -> bool:
        live = self.window.session.live
        if live is not None and (not live.steps or time.monotonic() < self._stop_at):
            return False
        # This does nothing where the training has converged.
        self.window.menu_actions.stop_training()
        self._next = self._recognise
        return True

    def _recognise(self) -> bool:
        if self.window.session.live is not None:
            return False
        self.window.menu_actions.mystery()
        self._next = self._train
        return True


def main() -> None:
    """Run the program as its command does."""
    picture, log, seed = sys.argv[1:]
    before, workers = app.begin, []

    def begin(window: Any, path: str | None = None) -> None:
        before(window, path)
        workers.append(Worker(window, log, int(seed)))

    app.begin = begin
    app.main([picture])


if __name__ == "__main__":
    main()
