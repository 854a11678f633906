"""Work on one file, in turn: a second save must not cancel the first."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    from collections.abc import Callable

    from isca_gui.jobs import JobRunner


class Turns(QObject):
    """Begins jobs of one name when the one before has ended, however it ended."""

    def __init__(self, jobs: JobRunner, name: str, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs, self._name = jobs, name
        self._next: deque[Callable[[], object]] = deque()
        jobs.changed.connect(self._on_jobs_changed)

    def take(self, begin: Callable[[], object]) -> None:
        """Begin now, or when it is its turn."""
        self._next.append(begin)
        self._on_jobs_changed()

    def _on_jobs_changed(self) -> None:
        while self._next and not self._jobs.running(self._name):
            self._next.popleft()()
