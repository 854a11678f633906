"""Long work beside the window: each job is a generator driven by a thread of its own.

The life of a job:

1. `JobRunner.start` takes a generator, or `JobRunner.run` a plain function, under a `JobName`.
2. A job of the same identity that is still at work is cancelled; the new one waits until its thread
   has ended. Otherwise a `StepThread` starts at once and drives the generator.
3. The thread collects what the generator yields. It calls nothing in the window.
4. A 30 Hz timer of the GUI thread fetches the reports, updates the `Job` that the window shows, and
   hands the reports to `reports`. No job, however fast it reports, can starve the window.
5. `stop` asks a job to end: one that is started with `keep` is sent True at each report until it
   returns what it has, any other is closed at its next report and its result dropped.
6. When the thread has ended, the GUI thread calls `done` with the result or `failed` with the
   error, or starts the job that has waited since point 2.
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

from PySide6.QtCore import QObject, QThread, QTimer, Signal, SignalInstance

from isca_gui.core.progress import Cancelled, Progress, run
from isca_gui.core.storage import memory
from isca_gui.jobs.names import PRIORITY, JobId, JobName, job_id

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

INTERVAL = 33  # milliseconds between two looks at what the threads have reported
_SILENCE = 0.2  # seconds after which `changed` is emitted without news: elapsed time is shown
_WINDOW = 10.0  # seconds over which the rate of a job is measured
# With a lower niceness the window's heartbeat is late by 30 ms now and then.
_NICENESS = 10


@dataclass(frozen=True)
class Job:
    """How far a job is; `total` is 0 where nobody knows the end."""

    id: JobId
    title: str
    done: int = 0
    total: int = 0
    what: str = ""
    seconds_left: float | None = None
    stoppable: bool = True
    stopping: bool = False  # asked to stop, and about to return what it has
    writes: bool = False  # writes a file of the user's: the program does not end before it is done

    @property
    def name(self) -> JobName:
        """What the job does, whatever it is about."""
        return self.id.name

    @property
    def share(self) -> float | None:
        """The part that is done, 0 to 1; None where nobody knows."""
        if not self.total:
            return None
        return min(self.done / self.total, 1.0)


@dataclass(frozen=True)
class Failure:
    """What went wrong in a job: for a person, and the details for whoever repairs it."""

    what: str
    message: str
    details: str
    job: JobName


@dataclass(eq=False)
class _Order:
    """A job as it was asked for, and how far it is."""

    id: JobId
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
        self.state = Job(self.id, self.title, stoppable=self.stoppable, writes=self.writes)


class _Dropped(Exception):
    """Nobody wants the result of a job any more."""


class StepThread(QThread):
    """Drives one generator; what it reports and returns is fetched by the runner."""

    def __init__(self, order: _Order) -> None:
        super().__init__()
        self.order = order
        self.cancelled = False  # close the generator at its next report and drop its result
        self.keeping = False  # send True until the generator returns, and take its result
        self.ended = False  # by itself: all is done, even if it was cancelled at its very end
        self.over = False
        self.result: Any = None
        self.error: Exception | None = None
        self.details = ""
        self._reports: list[Any] = []
        self._lock = threading.Lock()

    def run(self) -> None:
        """Drive the generator to its end (called by Qt in the new thread)."""
        _lower_priority()
        try:
            self.result = self._drive()
            self.ended = self.ended or not self.cancelled
        except Exception as error:  # noqa: BLE001 - handed on to whoever started the job
            self.error = error
            self.details = traceback.format_exc()
        finally:
            self.over = True

    def take(self) -> list[Any]:
        """Return all reports since the last call."""
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
                # Only the newest progress counts: a fast job must not fill the list with it.
                self._reports[-1] = report
            else:
                self._reports.append(report)


class _JobSignal(QObject):
    """Emits `changed` for the jobs of one name."""

    changed = Signal()


class JobRunner(QObject):
    """Starts, watches and stops jobs; one of each identity at a time, the newest wins."""

    # Any job has changed; who waits for those of one name connects to `changed_of` instead.
    changed = Signal()
    failed = Signal(object)
    # A job that was to write a file, and was cancelled before it had.
    unwritten = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._threads: list[StepThread] = []
        # Each waits until the cancelled job of the same identity has ended.
        self._waiting: dict[JobId, _Order] = {}
        self._closing = False
        self._last_change = 0.0  # when `changed` was last emitted
        self._signals = {name: _JobSignal(self) for name in JobName}
        self._timer = QTimer(self)
        self._timer.setInterval(INTERVAL)
        self._timer.timeout.connect(self._on_timer)

    def changed_of(self, name: JobName) -> SignalInstance:
        """Return the signal that jobs of one name have changed, whatever they are about."""
        return self._signals[name].changed

    def start(
        self,
        job: JobName | JobId,
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
        """Start a generator as a job; a job of the same identity is cancelled, its result dropped.

        `reports` gets all reports since the last look. With `keep`, stopping sends True to the
        generator and waits for its result. `progress` translates a report that is no `Progress`.
        `failed` gets `Cancelled` where a job that `writes` was stopped before it had written.
        """
        self._begin(
            _Order(
                job_id(job),
                title,
                make,
                done=done,
                reports=reports,
                failed=failed,
                keep=keep,
                progress=progress,
                writes=writes,
            )
        )

    def run(
        self,
        job: JobName | JobId,
        title: str,
        work: Callable[[], Any],
        *,
        done: Callable[[Any], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
        writes: bool = False,
    ) -> None:
        """Run a plain function as a job: it cannot be interrupted, only its result be dropped."""
        self._begin(
            _Order(
                job_id(job), title, work, done=done, failed=failed, stoppable=False, writes=writes
            )
        )

    def stop(self, job: JobName | JobId) -> None:
        """Stop a job: keep what it returns, or close it and forget it."""
        self._waiting.pop(job_id(job), None)
        thread = self._current(job)
        if thread is not None:
            if thread.order.keep:
                thread.keeping = True
                thread.order.state = replace(thread.order.state, stopping=True)
            else:
                thread.cancelled = True
        self._emit_changed({job_id(job).name})

    def drop(self, *names: JobName) -> None:
        """Cancel all jobs of these names, whatever they are about, and forget what they have."""
        for waiting in [each for each in self._waiting if each.name in names]:
            del self._waiting[waiting]
        for thread in self._threads:
            thread.cancelled = thread.cancelled or thread.order.id.name in names
        self._emit_changed(set(names))

    def jobs(self) -> tuple[Job, ...]:
        """Return all jobs that are not cancelled, the newest last."""
        states = [thread.order.state for thread in self._threads if not thread.cancelled]
        return (*states, *(order.state for order in self._waiting.values()))

    def job(self, job: JobName | JobId) -> Job | None:
        """Return the job of this identity, if there is one."""
        wanted = job_id(job)
        return next((each for each in self.jobs() if each.id == wanted), None)

    def running(self, job: JobName | JobId) -> bool:
        """Whether the job is under way and will return a result."""
        return self.job(job) is not None

    def idle(self, job: JobName | JobId) -> bool:
        """Whether no such job is at work, nor one that was stopped and has not ended yet."""
        wanted = job_id(job)
        at_work = any(thread.order.id == wanted for thread in self._threads)
        return wanted not in self._waiting and not at_work

    @property
    def writing(self) -> bool:
        """Whether a file of the user's is being written."""
        return any(job.writes for job in self.jobs())

    def stopping(self, job: JobName | JobId) -> bool:
        """Whether the job was asked to stop and is about to return what it has."""
        thread = self._current(job)
        return thread is not None and thread.keeping

    def shutdown(self, seconds: float = 0.8) -> bool:
        """Cancel everything and wait; return whether all threads have ended."""
        self._closing = True
        self._waiting.clear()
        self._timer.stop()
        for thread in self._threads:
            thread.cancelled = True
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.wait(max(int(1000 * (end - time.monotonic())), 0))
        self._threads = [thread for thread in self._threads if not thread.isFinished()]
        # A running QThread that is destroyed aborts the process: these must outlive the runner.
        _UNFINISHED.extend(self._threads)
        return not self._threads

    def _begin(self, order: _Order) -> None:
        if self._closing:
            return
        old = [thread for thread in self._threads if thread.order.id == order.id]
        for thread in old:
            thread.cancelled = True
        if old:
            self._waiting[order.id] = order
        else:
            self._launch(order)
        self._emit_changed({order.id.name})

    def _launch(self, order: _Order) -> None:
        thread = StepThread(order)
        thread.finished.connect(self._on_timer)
        self._threads.append(thread)
        thread.start()
        self._timer.start()

    def _current(self, job: JobName | JobId) -> StepThread | None:
        wanted = job_id(job)
        found = [
            thread for thread in self._threads if thread.order.id == wanted and not thread.cancelled
        ]
        return found[-1] if found else None

    def _on_timer(self) -> None:
        if self._closing:
            return
        changed: set[JobName] = set()
        if time.monotonic() - self._last_change > _SILENCE:
            changed.update(thread.order.id.name for thread in self._threads)
        for thread in list(self._threads):
            # This is read before the reports are taken: nothing is reported once it is set.
            over = thread.over
            reports = thread.take()
            before = thread.order.state
            if reports and not thread.cancelled:
                _shielded(self._hand_on, thread.order, reports)
            if over or thread.order.state is not before:
                changed.add(thread.order.id.name)
            if over:
                self._end(thread)
        if not self._threads:
            self._timer.stop()
        if changed:
            self._emit_changed(changed)

    def _emit_changed(self, names: set[JobName]) -> None:
        self._last_change = time.monotonic()
        for name in JobName:
            if name in names:
                self._signals[name].changed.emit()
        self.changed.emit()

    def _hand_on(self, order: _Order, reports: list[Any]) -> None:
        _follow(order, reports)
        if order.reports is not None:
            order.reports(reports)

    def _end(self, thread: StepThread) -> None:
        # The thread is at its very end, so this does not block the window.
        thread.wait()
        if thread not in self._threads:
            # A callback has run an event loop of its own, in which the thread was ended already.
            return
        self._threads.remove(thread)
        order = thread.order
        if order.id in self._waiting:
            self._launch(self._waiting.pop(order.id))
        elif not thread.cancelled or (order.writes and thread.ended):
            _shielded(self._deliver, thread)
        elif order.writes:
            self.unwritten.emit(order.state)
            if order.failed is not None:
                _shielded(order.failed, Cancelled(f"{order.title} was stopped."))

    def _deliver(self, thread: StepThread) -> None:
        order = thread.order
        error = thread.error
        if error is None:
            if order.done is not None:
                order.done(thread.result)
            return
        if not isinstance(error, Cancelled):
            self.failed.emit(Failure(order.title, explain(error), thread.details, order.id.name))
        if order.failed is not None:
            order.failed(error)


_UNFINISHED: list[StepThread] = []


class SaveQueue(QObject):
    """Begins jobs of one name one after the other: a second save must not cancel the first."""

    def __init__(self, jobs: JobRunner, name: JobName, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._name = name
        self._next: deque[Callable[[], object]] = deque()
        self._paused = False
        jobs.changed_of(name).connect(self._on_jobs_changed)

    def add(self, begin: Callable[[], object]) -> None:
        """Call `begin` now, or when all that was added before has begun and ended."""
        self._next.append(begin)
        self._on_jobs_changed()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Begin nothing in the middle of something else, whatever jobs end through it."""
        outer = self._paused
        self._paused = True
        try:
            yield
        finally:
            self._paused = outer
            self._on_jobs_changed()

    def _on_jobs_changed(self) -> None:
        while self._next and not self._paused and self._jobs.idle(self._name):
            begin = self._next.popleft()
            begin()


def highest_priority(jobs: Sequence[Job]) -> Job | None:
    """Return the job that people wait for: one of `PRIORITY`, else the newest."""
    for name in PRIORITY:
        for job in jobs:
            if job.name == name:
                return job
    return jobs[-1] if jobs else None


def explain(error: BaseException) -> str:
    """Return what went wrong in words for a person; the engine's own errors are written for one."""
    if type(error).__module__.startswith("isca_gui.") and str(error):
        return str(error)
    if isinstance(error, MemoryError):
        return memory.explanation(error)
    if isinstance(error, OSError) and error.strerror:
        if error.filename:
            return f"{error.strerror}: '{error.filename}'. Choose another place."
        return str(error)
    kind = type(error).__name__
    return f"Something unexpected happened ({kind}: {error}). You can keep working."


def _follow(order: _Order, reports: list[Any]) -> None:
    """Bring the state of a job up to its newest progress."""
    for report in reversed(reports):
        progress = order.progress(report) if order.progress is not None else report
        if not isinstance(progress, Progress):
            continue
        now = time.monotonic()
        if progress.total != order.state.total:
            # Another stage has begun, which is counted in other parts.
            order.rate.clear()
        order.rate.append((now, progress.done))
        while now - order.rate[0][0] > _WINDOW and len(order.rate) > 2:
            order.rate.popleft()
        order.state = replace(
            order.state,
            done=progress.done,
            total=progress.total,
            what=progress.what,
            seconds_left=_seconds_left(order.rate, progress),
        )
        return


def _seconds_left(rate: deque[tuple[float, int]], progress: Progress) -> float | None:
    """Return an estimate from the rate of the last seconds; None where there is none yet."""
    (first, before), (last, now) = rate[0], rate[-1]
    if now >= progress.total or now <= before or last - first < 0.5:
        return None
    return (progress.total - now) * (last - first) / (now - before)


def _shielded(work: Callable[..., None], *arguments: Any) -> None:
    """Call what must not keep the other jobs from being served; errors go to the exception hook."""
    try:
        work(*arguments)
    except Exception:  # noqa: BLE001 - shown by the hook
        sys.excepthook(*sys.exc_info())


def _lower_priority() -> None:
    """Let the window go first: threads that are started by this one inherit its niceness."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
