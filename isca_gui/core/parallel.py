"""Share work out to threads, with a place to stop every few hundredths of a second."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from isca_gui.core.progress import Cancelled, Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Item = TypeVar("Item")
    Result = TypeVar("Result")

# Seconds between two places to stop.
_INTERVAL = 0.03
# Results per thread that `Workers.stream` prepares before they are taken.
_AHEAD = 2


def ranges(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut 0 … count into pieces of `size`; the cuts never depend on the number of threads."""
    for low in range(0, count, size):
        yield low, min(low + size, count)


def in_background(work: Callable[[], Result]) -> Generator[Progress, bool | None, Result]:
    """Do in a thread what cannot be interrupted; asked to stop, leave the thread to itself."""
    future: Future[Result] = Future()

    def settle() -> None:
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits
            future.set_exception(error)

    # A thread of a pool would be joined when Python ends; a daemon thread is not.
    threading.Thread(target=settle, daemon=True).start()
    while wait([future], timeout=_INTERVAL).not_done:
        if (yield Progress(0, 1)):
            raise Cancelled("Stopped before the work in the background was done.")
    return future.result()


class Workers:
    """A pool of threads for one task; BLAS keeps to one thread while the pool is open."""

    def __init__(self, threads: int | None = None) -> None:
        self._count = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._count)
        self._limits = threadpool_limits(1, "blas")
        self._reported = time.monotonic()
        # Compiled loops look at this flag, which a Python object could not be for them.
        self.stop: NDArray[np.uint8] = np.zeros(1, dtype=np.uint8)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all threads; unfinished work is dropped."""
        self.stop[0] = 1
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._limits.restore_original_limits()

    def each(
        self, work: Callable[[int, int], object], count: int, size: int
    ) -> Generator[Progress, bool | None, None]:
        """Call work(low, high) for all pieces of 0 … count; asked to stop, raise `Cancelled`."""
        jobs = [self._pool.submit(work, low, high) for low, high in ranges(count, size)]
        pending = set(jobs)
        while pending:
            _, pending = wait(pending, timeout=_INTERVAL)
            # A report is due even when nothing is pending: many short calls of `each` in a row
            # would otherwise leave no place to stop.
            if not pending and time.monotonic() - self._reported < _INTERVAL:
                break
            stop = yield Progress(len(jobs) - len(pending), len(jobs))
            self._reported = time.monotonic()
            if stop:
                self.stop[0] = 1
                for job in pending:
                    job.cancel()
                wait(pending)
                raise Cancelled("Stopped before the work was done.")
        for job in jobs:
            job.result()

    def collect(
        self, work: Callable[[Item], Result], items: Sequence[Item], what: str
    ) -> Generator[Progress, object, list[Result]]:
        """Return work(item) for all items, in their order; the reports say `what` is being done.

        There is a report for every item that is done, and one when none was done for a while.
        """
        jobs = [self._pool.submit(work, item) for item in items]
        pending = set(jobs)
        done = 0
        yield Progress(done, len(jobs), what)
        while pending:
            finished, pending = wait(pending, timeout=_INTERVAL, return_when=FIRST_COMPLETED)
            if not finished:
                yield Progress(done, len(jobs), what)
            for _ in finished:
                done += 1
                yield Progress(done, len(jobs), what)
        return [job.result() for job in jobs]

    def stream(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """Yield work(item) for all items, in their order, as the results are asked for.

        No more than two items per thread are worked on or wait to be taken, so a slow consumer
        does not fill the memory.
        """
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(self._pool.submit(work, item))
            if len(waiting) >= _AHEAD * self._count:
                yield _taken(waiting)
        while waiting:
            yield _taken(waiting)


def _taken(waiting: deque[Future[Result]]) -> Result:
    """Wait for the first result; in short pieces, so that a signal is seen in between."""
    first = waiting.popleft()
    while wait([first], timeout=_INTERVAL).not_done:
        pass
    return first.result()
