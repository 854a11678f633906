"""How tasks are run, relayed, stopped and shared out to threads."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from isca_gui.core.parallel import Workers, in_background
from isca_gui.core.progress import Cancelled, Progress, relay, run

if TYPE_CHECKING:
    from collections.abc import Generator


def counting(closed: list[str]) -> Generator[Progress, bool | None, str]:
    """Count to three; stopped, return what was counted so far."""
    try:
        for done in range(3):
            if (yield Progress(done, 3)):
                return f"stopped at {done}"
        return "all"
    finally:
        closed.append("closed")


def test_the_answer_to_a_report_stops_a_task() -> None:
    seen: list[Progress] = []
    assert run(counting([]), seen.append) == "all"
    assert seen == [Progress(0, 3), Progress(1, 3), Progress(2, 3)]
    assert run(counting([]), lambda report: report.done == 1) == "stopped at 1"


def test_a_relayed_task_reports_what_it_is_converted_to_and_is_not_stopped() -> None:
    reports: list[int] = []

    def on_report(report: int) -> bool:
        reports.append(report)
        return True

    assert run(relay(counting([]), lambda report: 10 * report.done), on_report) == "all"
    assert reports == [0, 10, 20]


def test_closing_a_relay_closes_its_task() -> None:
    closed: list[str] = []
    task = relay(counting(closed), lambda report: report)
    next(task)
    task.close()
    assert closed == ["closed"]


def test_work_for_all_pieces_is_stopped_and_its_errors_are_raised() -> None:
    pieces: list[tuple[int, int]] = []
    with Workers(2) as workers:
        run(workers.each(lambda low, high: pieces.append((low, high)), 7, 3))
        assert sorted(pieces) == [(0, 3), (3, 6), (6, 7)]
        with pytest.raises(ZeroDivisionError):
            run(workers.each(lambda low, _: 1 // low, 2, 1))
        with pytest.raises(Cancelled):
            run(workers.each(lambda *_: time.sleep(0.05), 100, 1), lambda _: True)
        assert workers.stop[0]


def test_results_are_collected_in_order_with_a_report_for_each() -> None:
    def work(item: int) -> int:
        time.sleep(0.002 * (5 - item))
        return item * item

    reports: list[Progress] = []
    with Workers(3) as workers:
        found = run(workers.collect(work, range(5), "squaring"), reports.append)
        assert list(workers.stream(work, range(5))) == found == [0, 1, 4, 9, 16]
    assert list(dict.fromkeys(reports)) == [Progress(done, 5, "squaring") for done in range(6)]


def test_what_cannot_be_interrupted_is_left_to_itself() -> None:
    assert run(in_background(lambda: 42)) == 42
    begun = time.perf_counter()
    with pytest.raises(Cancelled):
        run(in_background(lambda: time.sleep(5)), lambda _: True)
    assert time.perf_counter() - begun < 2
    with pytest.raises(ZeroDivisionError):
        run(in_background(lambda: 1 // 0))
