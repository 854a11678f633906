"""Jobs: order, cancelling, keeping, failing, and ending in time."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QCoreApplication, QThread

from isca_gui.core.pictures.image import ImageError
from isca_gui.core.progress import Cancelled, Progress
from isca_gui.jobs.names import JobName
from isca_gui.jobs.runner import JobRunner, SaveQueue, explain

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from pytestqt.qtbot import QtBot


A, B = JobName.PREVIEW, JobName.DATASET


@pytest.fixture
def jobs(qapp: QCoreApplication) -> Iterator[JobRunner]:
    runner = JobRunner()
    yield runner
    assert runner.shutdown(10)


def counting(end: int, pause: float = 0.001) -> Generator[Progress, None, int]:
    for index in range(end):
        yield Progress(index, end, "counting")
        time.sleep(pause)
    return end


def endless(closed: list[bool]) -> Generator[Progress, bool | None, str]:
    try:
        done = 0
        while not (yield Progress(done, 0, "waiting")):
            done += 1
            time.sleep(0.002)
        return "kept"
    finally:
        closed.append(True)


def test_a_result_comes_in_the_gui_thread_after_all_reports(jobs: JobRunner, qtbot: QtBot) -> None:
    seen: list[Any] = []

    def here(what: Any) -> None:
        assert QThread.currentThread() is QCoreApplication.instance().thread()
        seen.append(what)

    def numbers() -> Generator[int, None, str]:
        yield from range(1000)
        return "end"

    jobs.start(
        A, "Counting", numbers, done=here, reports=lambda reports: [here(r) for r in reports]
    )
    assert jobs.running(A)
    qtbot.waitUntil(lambda: "end" in seen)
    assert seen == [*range(1000), "end"], "every report, in order"
    assert not jobs.running(A)


def test_of_progress_and_ticks_only_the_newest_is_kept(jobs: JobRunner, qtbot: QtBot) -> None:
    batches: list[list[Any]] = []

    def many() -> Generator[Any, None, None]:
        for index in range(100_000):
            yield Progress(index, 100_000, "fast")
        for index in range(1000):
            yield Progress(index, 1000)

    with qtbot.waitSignal(jobs.changed):
        jobs.start(A, "Fast", many, reports=batches.append)
    qtbot.waitUntil(lambda: not jobs.jobs())
    assert sum(map(len, batches)) < 200
    assert batches[-1][-1] == Progress(999, 1000)


def test_a_new_job_of_a_name_cancels_the_old_one_and_its_result_is_dropped(
    jobs: JobRunner, qtbot: QtBot
) -> None:
    closed: list[bool] = []
    results: list[Any] = []
    jobs.start(A, "Old", lambda: endless(closed), done=results.append)
    qtbot.waitUntil(lambda: jobs.job(A).done > 3)
    for number in range(50):  # as when a slider is dragged
        jobs.run(A, "New", lambda number=number: number, done=results.append)
    qtbot.waitUntil(lambda: not jobs.jobs())
    assert results == [49]
    assert closed == [True]


def test_who_waits_for_one_name_hears_of_no_other(jobs: JobRunner, qtbot: QtBot) -> None:
    heard: list[str] = []
    for name in (JobName.TRAINING, JobName.EVALUATION):
        jobs.changed_of(name).connect(lambda name=name: heard.append(name))
    jobs.start(JobName.EVALUATION.of(3), "Evaluating", lambda: endless([]))
    qtbot.waitUntil(lambda: jobs.job(JobName.EVALUATION.of(3)).done > 3)
    jobs.stop(JobName.EVALUATION.of(3))
    qtbot.waitUntil(lambda: jobs.idle(JobName.EVALUATION.of(3)))
    assert set(heard) == {JobName.EVALUATION}
    assert len(heard) > 2, "its begin, its progress and its end"


def test_at_most_one_thread_of_a_name_is_at_work(jobs: JobRunner, qtbot: QtBot) -> None:
    at_work, most = [0], [0]

    def work() -> None:
        at_work[0] += 1
        most[0] = max(most[0], at_work[0])
        time.sleep(0.01)
        at_work[0] -= 1

    for _ in range(20):
        jobs.run(A, "Same", work)
        qtbot.wait(3)
    qtbot.waitUntil(lambda: not jobs.jobs())
    assert most[0] == 1


def test_stopping_closes_the_generator_and_drops_its_result(jobs: JobRunner, qtbot: QtBot) -> None:
    closed: list[bool] = []
    results: list[Any] = []
    jobs.start(A, "A", lambda: endless(closed), done=results.append)
    qtbot.waitUntil(lambda: jobs.job(A).done > 3)
    jobs.stop(A)
    assert not jobs.running(A), "at once, for whoever asks"
    qtbot.waitUntil(lambda: closed == [True])
    qtbot.wait(50)
    assert results == []


@pytest.mark.parametrize("at_its_end", [True, False])
def test_what_was_written_before_the_stop_is_reported_as_written(
    jobs: JobRunner, qtbot: QtBot, at_its_end: bool
) -> None:
    told: list[object] = []
    reached, go_on = threading.Event(), threading.Event()

    def work() -> Generator[Progress, None, str]:
        yield Progress(0, 2, "writing")
        reached.set()
        go_on.wait()
        if not at_its_end:
            yield Progress(1, 2, "writing")
        return "written"

    jobs.unwritten.connect(lambda job: told.append(job.name))
    jobs.start(A, "A", work, done=told.append, writes=True)
    qtbot.waitUntil(reached.is_set)
    jobs.stop(A)
    go_on.set()
    qtbot.waitUntil(lambda: bool(told))
    assert told == ["written" if at_its_end else A]


def test_stopping_a_job_that_writes_is_reported(jobs: JobRunner, qtbot: QtBot) -> None:
    told: list[Exception] = []
    failures: list[object] = []
    jobs.failed.connect(failures.append)
    jobs.start(A, "A", lambda: endless([]), failed=told.append, writes=True)
    qtbot.waitUntil(lambda: jobs.job(A).done > 3)
    jobs.stop(A)
    qtbot.waitUntil(lambda: bool(told))
    assert isinstance(told[0], Cancelled)
    assert failures == [], "that it was stopped is no failure"


def test_the_queue_waits_until_a_stopped_job_has_ended(jobs: JobRunner, qtbot: QtBot) -> None:
    """It cannot be interrupted between two reports: until then it may still be writing."""
    told: list[object] = []
    go_on = threading.Event()

    def slow() -> Generator[int, None, str]:
        yield 1
        go_on.wait(30)
        yield 2
        return "written"

    def end_at_once() -> Generator[int, None, str]:
        yield 1
        return "second"

    queue = SaveQueue(jobs, A, jobs)
    queue.add(lambda: jobs.start(A, "A", slow, done=told.append, failed=told.append, writes=True))
    queue.add(lambda: jobs.start(A, "B", end_at_once, done=told.append, writes=True))
    jobs.stop(A)
    assert (jobs.running(A), jobs.idle(A), told) == (False, False, [])
    go_on.set()
    qtbot.waitUntil(lambda: len(told) == 2)
    assert isinstance(told[0], Cancelled)
    assert told[1] == "second"


def test_stopping_a_job_to_keep_returns_what_it_has(jobs: JobRunner, qtbot: QtBot) -> None:
    results: list[Any] = []
    jobs.start(A, "A", lambda: endless([]), done=results.append, keep=True)
    qtbot.waitUntil(lambda: jobs.job(A).done > 3)
    jobs.stop(A)
    assert jobs.stopping(A)
    qtbot.waitUntil(lambda: results == ["kept"])


@pytest.mark.alone
def test_progress_percent_and_time_left(jobs: JobRunner, qtbot: QtBot) -> None:
    jobs.start(A, "A", lambda: counting(400, 0.005))
    qtbot.waitUntil(lambda: jobs.job(A).seconds_left is not None)
    job = jobs.job(A)
    assert job is not None
    assert job.share is not None
    assert 0 < job.share < 1
    assert job.what == "counting"
    assert job.seconds_left is not None
    assert 0.2 < job.seconds_left < 10
    jobs.stop(A)


def test_without_a_known_end_there_is_no_percentage(jobs: JobRunner, qtbot: QtBot) -> None:
    jobs.start(A, "A", lambda: endless([]))
    qtbot.wait(700)
    job = jobs.job(A)
    assert job is not None
    assert job.share is None
    assert job.seconds_left is None


def test_a_failure_is_reported_once_with_details_and_the_runner_goes_on(
    jobs: JobRunner, qtbot: QtBot
) -> None:
    failures: list[Any] = []
    errors: list[Exception] = []
    jobs.failed.connect(failures.append)

    def fail() -> None:
        raise ImageError("no such picture")

    jobs.run(A, "Opening", fail, failed=errors.append)
    qtbot.waitUntil(lambda: bool(errors))
    assert [failure.what for failure in failures] == ["Opening"]
    assert failures[0].message == "no such picture"
    assert "Traceback" in failures[0].details
    results: list[int] = []
    jobs.run(A, "Again", lambda: 7, done=results.append)
    qtbot.waitUntil(lambda: results == [7])


def test_a_cancelled_training_is_no_failure(jobs: JobRunner, qtbot: QtBot) -> None:
    failures: list[Any] = []
    errors: list[Exception] = []
    jobs.failed.connect(failures.append)

    def work() -> None:
        raise Cancelled("nothing to keep")

    jobs.run(A, "A", work, failed=errors.append)
    qtbot.waitUntil(lambda: bool(errors))
    assert failures == []


def test_an_error_in_a_callback_does_not_keep_others_waiting(
    jobs: JobRunner, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    caught: list[Any] = []
    monkeypatch.setattr(sys, "excepthook", lambda *error: caught.append(error[1]))
    results: list[int] = []

    def bad(_: object) -> None:
        raise ValueError("bad callback")

    jobs.run(A, "A", lambda: 1, done=bad)
    jobs.run(B, "B", lambda: 2, done=results.append)
    qtbot.waitUntil(lambda: results == [2] and not jobs.jobs())
    assert [str(error) for error in caught] == ["bad callback"]


@pytest.mark.alone
def test_shutdown_ends_all_generators_at_once_and_nothing_starts_after(
    qapp: QCoreApplication,
) -> None:
    runner, closed, results = JobRunner(), [], []
    for number in range(5):
        runner.start(A.of(number), "A", lambda: endless(closed), done=results.append, keep=True)
    time.sleep(0.05)
    start = time.monotonic()
    assert runner.shutdown()
    assert time.monotonic() - start < 0.5
    assert closed == [True] * 5
    runner.run(B, "Late", lambda: 1, done=results.append)
    qapp.processEvents()
    assert results == []
    assert runner.jobs() == ()


@pytest.mark.alone
def test_shutdown_says_so_if_a_thread_cannot_be_stopped(qapp: QCoreApplication) -> None:
    runner, release = JobRunner(), threading.Event()
    runner.run(A, "A", lambda: release.wait(10))
    time.sleep(0.02)
    start = time.monotonic()
    assert not runner.shutdown(0.1)
    assert time.monotonic() - start < 1
    release.set()
    assert runner.shutdown(5)


@pytest.mark.alone
def test_20000_reports_do_not_starve_the_window(jobs: JobRunner, qtbot: QtBot) -> None:
    got: list[int] = []

    def many() -> Generator[int, None, None]:
        yield from range(20_000)

    jobs.start(A, "A", many, reports=got.extend)
    gaps, last = [], time.perf_counter()
    while jobs.jobs():
        qtbot.wait(1)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now
    assert got == list(range(20_000))
    assert max(gaps) < 0.5


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (ImageError("The file is broken."), "The file is broken."),
        (MemoryError("no room"), "not enough memory"),
        (FileNotFoundError(2, "No such file", "a.png"), "'a.png'"),
        (KeyError("x"), "KeyError"),
    ],
)
def test_errors_are_explained(error: Exception, part: str) -> None:
    assert part in explain(error)
