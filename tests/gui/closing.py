"""Start the real program, bring it to a moment, and close it.

`python -m tests.gui.closing MOMENT MILLISECONDS`. The exit code is the program's own. A line on
standard output says when the window was told to close, so many milliseconds after the moment.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer

from isca_gui import app
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.settings import TrainingSettings
from isca_gui.jobs.names import JobName

if TYPE_CHECKING:
    from collections.abc import Callable

MOMENTS = (
    "start", "generating", "preview", "admm", "kernel", "recognising", "stopping", "evaluating",
)  # fmt: skip
_SPEC = DatasetSpec(kinds=("blur", "jpeg", "gaussian-noise"), levels=(100.0, 300.0, 600.0))
_KERNEL = TrainingSettings(method="kernel-isca", kernel="rbf", epochs=1000)


class Driver:
    """Presses buttons one after the other, each when the last has done its work, then closes."""

    def __init__(self, window: Any, moment: str, delay: int) -> None:
        self.window, self._delay = window, delay
        self._steps = list(self._plan(moment))
        self._timer = QTimer(window)
        self._timer.timeout.connect(self._on_timer)
        self._timer.start(5)

    def _plan(self, moment: str) -> list[tuple[Callable[[], bool], Callable[[], object]]]:
        window = self.window
        session = window.session
        jobs = window.jobs
        panel = window.dataset_panel
        trainer = window.training_panel
        settings = TrainingSettings(epochs=100_000)
        if moment == "kernel":
            settings = _KERNEL
        elif moment in ("recognising", "evaluating"):
            settings = TrainingSettings(method="pca")
        restore = (lambda: True, lambda: session.restore(_SPEC, settings))
        ready = (lambda: session.reference is not None, lambda: None)
        generate = (lambda: panel.generate_button.isEnabled(), panel.generate_button.click)
        train = (lambda: trainer.train_button.isEnabled(), trainer.train_button.click)
        trained = (lambda: len(session.runs) > 0, lambda: None)
        learning = (lambda: session.live is not None and len(session.live.steps) > 1, lambda: None)
        if moment == "start":
            return []
        if moment == "preview":
            return [restore, ready, (lambda: True, lambda: panel.preview.slider.setValue(1234))]
        if moment == "generating":
            return [ready, generate, (lambda: jobs.running(JobName.DATASET), lambda: None)]
        if moment == "kernel":
            training = (lambda: jobs.running(JobName.TRAINING), lambda: None)
            return [restore, ready, generate, train, training]
        if moment in ("admm", "stopping"):
            stop = [(lambda: True, trainer.stop_button.click)] if moment == "stopping" else []
            return [restore, ready, generate, train, learning, *stop]
        begun = [restore, ready, generate, train, trained]
        if moment == "recognising":
            mystery = (
                lambda: window.recognise_panel.mystery_button.isEnabled(),
                window.menu_actions.mystery,
            )
            return [*begun, mystery, (lambda: True, window.menu_actions.mystery)]
        return [*begun, (lambda: bool(jobs.jobs()), lambda: None)]

    def _on_timer(self) -> None:
        if self._steps:
            ready, work = self._steps[0]
            if ready():
                self._steps.pop(0)
                work()
            return
        self._timer.stop()
        QTimer.singleShot(self._delay, self.window, self._close)

    def _close(self) -> None:
        os.write(1, f"closing {time.time():.6f}\n".encode())
        self.window.close()


def main() -> None:
    """Run the program as its command does."""
    moment, delay = sys.argv[1], int(sys.argv[2])
    before = app.make_window
    drivers = []

    def make_window(preferences: Any) -> Any:
        window = before(preferences)
        drivers.append(Driver(window, moment, delay))
        return window

    app.make_window = make_window
    app.main([])


if __name__ == "__main__":
    main()
