"""Share out pieces of work to threads, with a place to stop every few hundredths of a second."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from numpy.typing import NDArray

    Answer = TypeVar("Answer")

_TICK = 0.03  # seconds between two places to stop


@dataclass(frozen=True)
class Tick:
    """A sign of life within an epoch; whoever drives the task may answer it with True to stop.

    `what` says what is done beside the epochs, such as describing the pictures at the end.
    """

    done: int
    total: int
    what: str = ""


def ranges(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut 0 … count into pieces of `size`; the cuts never depend on the number of threads."""
    for low in range(0, count, size):
        yield low, min(low + size, count)


def in_background(work: Callable[[], Answer]) -> Future[Answer]:
    """Do what cannot be interrupted in a thread that is left to itself by whoever stops waiting."""
    answer: Future[Answer] = Future()

    def settle() -> None:
        try:
            answer.set_result(work())
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits
            answer.set_exception(error)

    threading.Thread(target=settle, daemon=True).start()
    return answer


class Workers:
    """A pool of threads for one training; BLAS keeps to one thread while it is open."""

    def __init__(self, threads: int | None = None) -> None:
        self._pool = ThreadPoolExecutor(threads or os.cpu_count())
        self._limits = threadpool_limits(1, "blas")
        self.stop: NDArray[np.uint8] = np.zeros(1, dtype=np.uint8)
        self._ticked = time.monotonic()

    def close(self) -> None:
        """End all threads; what they were doing is left."""
        self.stop[0] = 1
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._limits.restore_original_limits()

    def each(
        self, work: Callable[[int, int], object], count: int, size: int
    ) -> Generator[Tick, bool | None, bool]:
        """Call work(low, high) for all pieces of 0 … count; gives False if it was told to stop."""
        jobs = [self._pool.submit(work, low, high) for low, high in ranges(count, size)]
        pending = set(jobs)
        while pending:
            _, pending = wait(pending, timeout=_TICK)
            # Also where nothing is left: many short pieces of work in a row would leave no place to stop.
            if not pending and time.monotonic() - self._ticked < _TICK:
                break
            stop = yield Tick(len(jobs) - len(pending), len(jobs))
            self._ticked = time.monotonic()
            if stop:
                self.stop[0] = 1
                for job in pending:
                    job.cancel()
                wait(pending)
                return False
        for job in jobs:
            job.result()
        return True
