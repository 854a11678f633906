"""Long work beside the window: each job is a generator driven by a thread of its own.

A thread keeps its reports until a 30 Hz timer of the GUI thread fetches them, so no job, however fast it
reports, can starve the window. All callbacks are called in the GUI thread.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import traceback
from collections import deque
from dataclasses import dataclass, field, replace
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QThread, QTimer, Signal

from isca_gui.core.progress import Cancelled, Progress, run

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

FIRST = ("training", "dataset", "recognise")  # the weightiest jobs
INTERVAL = 33  # milliseconds between two looks at what the threads have to say
_SILENCE = (
    0.2  # seconds after which `changed` is emitted with nothing new as well: time itself is shown
)
_WINDOW = 10.0  # seconds over which the rate of a job is measured
_NICENESS = (
    10  # the window goes before the work; with less, its heartbeat is late by 30 ms now and then
)


@dataclass(frozen=True)
class Job:
    """How far a job is; `total` is 0 where nobody knows the end."""

    name: str
    title: str
    done: int = 0
    total: int = 0
    what: str = ""
    seconds_left: float | None = None
    stoppable: bool = True
    stopping: bool = False  # told to stop, and about to give what it has
    writes: bool = False  # a file of the user's is written: the program does not end before it is

    @property
    def share(self) -> float | None:
        """The part that is done, 0 to 1; None where nobody knows."""
        return min(self.done / self.total, 1.0) if self.total else None


@dataclass(frozen=True)
class Failure:
    """What went wrong in a job: for a person, and the details for whoever repairs it."""

    what: str
    message: str
    details: str
    job: str  # its name


@dataclass(eq=False)
class _Order:
    """A job as it was asked for."""

    name: str
    title: str
    make: Callable[[], Any]
    done: Callable[[Any], None] | None = None
    reports: Callable[[list[Any]], None] | None = None
    failed: Callable[[Exception], None] | None = None
    keep: bool = False
    stoppable: bool = True
    progress: Callable[[Any], Progress | None] | None = None
    writes: bool = False
    state: Job = field(init=False)
    rate: deque[tuple[float, int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.state = Job(self.name, self.title, stoppable=self.stoppable, writes=self.writes)


class _Dropped(Exception):
    """Nobody wants the result of a job any more."""


class StepThread(QThread):
    """Drives one generator; what it reports and gives is fetched by the runner."""

    def __init__(self, order: _Order) -> None:
        super().__init__()
        self.order = order
        self.cancelled = False  # close the generator at its next report and drop what it gives
        self.keeping = False  # answer True until it ends, and take what it gives
        self.ended = False  # by itself: all is done, also where it was cancelled at its very end
        self.over = False
        self.result: Any = None
        self.error: Exception | None = None
        self.details = ""
        self._reports: list[Any] = []
        self._lock = threading.Lock()

    def run(self) -> None:
        """Drive the generator to its end (called by Qt in the new thread)."""
        _step_back()
        try:
            self.result = self._drive()
            self.ended = self.ended or not self.cancelled
        except Exception as error:  # noqa: BLE001 - handed on to whoever started the job
            self.error = error
            self.details = traceback.format_exc()
        finally:
            self.over = True

    def take(self) -> list[Any]:
        """Give all reports since the last call."""
        with self._lock:
            taken, self._reports = self._reports, []
        return taken

    def _drive(self) -> Any:
        task: Any = self.order.make()
        if not isinstance(task, GeneratorType):
            return task
        with contextlib.closing(task):
            if self.cancelled:
                return None
            try:
                result = run(task, self._answer)
            except _Dropped:
                return None
            self.ended = True
            return result

    def _answer(self, report: Any) -> bool:
        self._put(report)
        if self.cancelled:
            raise _Dropped
        return self.keeping

    def _put(self, report: Any) -> None:
        with self._lock:
            newest = self._reports[-1] if self._reports else None
            if isinstance(report, Progress) and isinstance(newest, Progress):
                self._reports[-1] = report  # only the newest of these counts
            else:
                self._reports.append(report)


class JobRunner(QObject):
    """Starts, watches and stops jobs; one of each name at a time, the newest wins."""

    changed = Signal()
    failed = Signal(object)
    unwritten = Signal(object)  # a job that was to write a file, and was cancelled before it had

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._threads: list[StepThread] = []
        self._waiting: dict[str, _Order] = {}  # until the cancelled job of the same name has ended
        self._closing = False
        self._told = 0.0  # when `changed` was last emitted
        self._timer = QTimer(self)
        self._timer.setInterval(INTERVAL)
        self._timer.timeout.connect(self._on_timer)

    def start(
        self,
        name: str,
        title: str,
        make: Callable[[], Generator[Any, Any, Any]],
        *,
        done: Callable[[Any], None] | None = None,
        reports: Callable[[list[Any]], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
        keep: bool = False,
        progress: Callable[[Any], Progress | None] | None = None,
        writes: bool = False,
    ) -> None:
        """Start a generator as a job; a job of the same name is cancelled and its result dropped.

        `reports` gets all reports since the last look. With `keep`, stopping answers them with True and waits
        for the result to keep. `progress` tells how far a report means the job is, if it is no `Progress`.
        `failed` gets `Cancelled` where a job that `writes` was stopped before it had.
        """
        self._begin(_Order(name, title, make, done, reports, failed, keep, True, progress, writes))

    def run(
        self,
        name: str,
        title: str,
        work: Callable[[], Any],
        *,
        done: Callable[[Any], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
        writes: bool = False,
    ) -> None:
        """Run a plain function as a job; it cannot be interrupted, but its result can be dropped."""
        self._begin(_Order(name, title, work, done, None, failed, stoppable=False, writes=writes))

    def stop(self, name: str) -> None:
        """Stop the job of this name: keep what it gives, or close it and forget it."""
        self._waiting.pop(name, None)
        thread = self._current(name)
        if thread is not None:
            if thread.order.keep:
                thread.keeping = True
                thread.order.state = replace(thread.order.state, stopping=True)
            else:
                thread.cancelled = True
        self.changed.emit()

    def drop(self, *names: str) -> None:
        """Cancel all jobs whose names begin like these, and forget what they have, also where it is kept."""
        for name in [name for name in self._waiting if name.startswith(names)]:
            del self._waiting[name]
        for thread in self._threads:
            thread.cancelled = thread.cancelled or thread.order.name.startswith(names)
        self.changed.emit()

    def jobs(self) -> tuple[Job, ...]:
        """Give all jobs that are not cancelled, the newest last."""
        states = [thread.order.state for thread in self._threads if not thread.cancelled]
        return (*states, *(order.state for order in self._waiting.values()))

    def job(self, name: str) -> Job | None:
        """Give the job of this name, if there is one."""
        return next((job for job in self.jobs() if job.name == name), None)

    def running(self, name: str) -> bool:
        """Tell whether a job of this name is under way and will give a result."""
        return self.job(name) is not None

    def idle(self, name: str) -> bool:
        """Tell whether no job of this name is at work, nor one that was stopped and has not ended yet."""
        return name not in self._waiting and all(
            thread.order.name != name for thread in self._threads
        )

    @property
    def writing(self) -> bool:
        """Whether a file of the user's is being written."""
        return any(job.writes for job in self.jobs())

    def stopping(self, name: str) -> bool:
        """Tell whether a job of this name was told to stop and is about to give what it has."""
        thread = self._current(name)
        return thread is not None and thread.keeping

    def shutdown(self, seconds: float = 0.8) -> bool:
        """Cancel everything and wait; False if a thread is still at work and must not be destroyed."""
        self._closing = True
        self._waiting.clear()
        self._timer.stop()
        for thread in self._threads:
            thread.cancelled = True
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.wait(max(int(1000 * (end - time.monotonic())), 0))
        self._threads = [thread for thread in self._threads if not thread.isFinished()]
        _UNFINISHED.extend(self._threads)  # whoever drops the runner must not destroy them
        return not self._threads

    def _begin(self, order: _Order) -> None:
        if self._closing:
            return
        old = [thread for thread in self._threads if thread.order.name == order.name]
        for thread in old:
            thread.cancelled = True
        if old:
            self._waiting[order.name] = order
        else:
            self._launch(order)
        self.changed.emit()

    def _launch(self, order: _Order) -> None:
        thread = StepThread(order)
        thread.finished.connect(self._on_timer)
        self._threads.append(thread)
        thread.start()
        self._timer.start()

    def _current(self, name: str) -> StepThread | None:
        found = [
            thread for thread in self._threads if thread.order.name == name and not thread.cancelled
        ]
        return found[-1] if found else None

    def _on_timer(self) -> None:
        if self._closing:
            return
        news = time.monotonic() - self._told > _SILENCE
        for thread in list(self._threads):
            over = thread.over  # before taking: nothing is reported after that
            reports, before = thread.take(), thread.order.state
            if reports and not thread.cancelled:
                _shielded(self._tell, thread, reports)
            news = news or over or thread.order.state is not before
            if over:
                self._end(thread)
        if not self._threads:
            self._timer.stop()
        if news:
            self._told = time.monotonic()
            self.changed.emit()

    def _tell(self, thread: StepThread, reports: list[Any]) -> None:
        order = thread.order
        _follow(order, reports)
        if order.reports is not None:
            order.reports(reports)

    def _end(self, thread: StepThread) -> None:
        thread.wait()  # it is at its very end
        if thread not in self._threads:
            return  # a callback has run an event loop of its own, in which this was done
        self._threads.remove(thread)
        order = thread.order
        if order.name in self._waiting:
            self._launch(self._waiting.pop(order.name))
        elif not thread.cancelled or (order.writes and thread.ended):
            _shielded(self._deliver, thread)
        elif order.writes:
            self.unwritten.emit(order.state)
            if order.failed is not None:
                _shielded(order.failed, Cancelled(f"{order.title} was stopped."))

    def _deliver(self, thread: StepThread) -> None:
        order, error = thread.order, thread.error
        if error is None:
            if order.done is not None:
                order.done(thread.result)
            return
        if not isinstance(error, Cancelled):
            self.failed.emit(Failure(order.title, explain(error), thread.details, order.name))
        if order.failed is not None:
            order.failed(error)


_UNFINISHED: list[StepThread] = []


def highest_priority(jobs: Sequence[Job]) -> Job | None:
    """Give the job that people wait for: one of the weightiest, else the last."""
    heavy = [job for name in FIRST for job in jobs if job.name == name]
    return heavy[0] if heavy else jobs[-1] if jobs else None


def explain(error: BaseException) -> str:
    """Say an error in words for a person; the engine's own errors are written for one already."""
    known = type(error).__module__.startswith("isca_gui.")
    if known and str(error):
        return str(error)
    if isinstance(error, MemoryError):
        return f"There is not enough memory ({error}). Use a smaller picture or fewer levels."
    if isinstance(error, OSError) and error.strerror:
        return (
            f"{error.strerror}: '{error.filename}'. Choose another place."
            if error.filename
            else str(error)
        )
    return f"Something unexpected happened ({type(error).__name__}: {error}). The program goes on."


def _follow(order: _Order, reports: list[Any]) -> None:
    """Bring the state of a job up to its newest report."""
    for report in reversed(reports):
        progress = order.progress(report) if order.progress is not None else report
        if isinstance(progress, Progress):
            now = time.monotonic()
            if progress.total != order.state.total:
                order.rate.clear()  # another stage, counted in other parts
            order.rate.append((now, progress.done))
            while now - order.rate[0][0] > _WINDOW and len(order.rate) > 2:
                order.rate.popleft()
            left = _seconds_left(order.rate, progress)
            order.state = replace(
                order.state,
                done=progress.done,
                total=progress.total,
                what=progress.what,
                seconds_left=left,
            )
            return


def _seconds_left(rate: deque[tuple[float, int]], progress: Progress) -> float | None:
    """Estimate from the rate of the last seconds; None until there is one, and where there is no end."""
    (first, before), (last, now) = rate[0], rate[-1]
    if now >= progress.total or now <= before or last - first < 0.5:
        return None
    return (progress.total - now) * (last - first) / (now - before)


def _shielded(work: Callable[..., None], *arguments: Any) -> None:
    """Call what must not keep the other jobs from being served; its exception goes where all others go."""
    try:
        work(*arguments)
    except Exception:  # noqa: BLE001 - shown by the hook
        sys.excepthook(*sys.exc_info())


def _step_back() -> None:
    """Let the window go first: threads started by this one inherit its niceness."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
