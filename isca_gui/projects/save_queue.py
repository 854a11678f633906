"""Work on one file, in turn: a second save must not cancel the first."""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isca_gui.jobs.runner import JobRunner


class SaveQueue(QObject):
    """Begins jobs of one name when the one before has ended, however it ended."""

    def __init__(self, jobs: JobRunner, name: str, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs, self._name = jobs, name
        self._next: deque[Callable[[], object]] = deque()
        self._paused = False
        jobs.changed.connect(self._on_jobs_changed)

    def take(self, begin: Callable[[], object]) -> None:
        """Begin now, or when it is its turn."""
        self._next.append(begin)
        self._on_jobs_changed()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Begin nothing in the middle of something else, whatever jobs end by it."""
        outer, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = outer
            self._on_jobs_changed()

    def _on_jobs_changed(self) -> None:
        while self._next and not self._paused and self._jobs.idle(self._name):
            self._next.popleft()()
