"""What every long task reports, and how to run, relay and stop one.

A long task is a generator. Each `yield` is a report and a place to stop, and the return value is
the result. The window, the command line and the tests drive the same generators.

There is one way to ask a task to stop: its report is answered with True (`task.send(True)`). A
task that has something to keep, such as the model of the last whole epoch, then returns it; any
other raises `Cancelled`. Whoever wants nothing from a task any more simply closes it.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    Result = TypeVar("Result")
    Report = TypeVar("Report")


class Cancelled(Exception):
    """A task was stopped before there was anything to keep."""


@dataclass(frozen=True)
class Progress:
    """How far a task is: `done` of `total` parts, and what it is doing.

    `what` is empty within an epoch of a training, where the epoch is what people are told about.
    """

    done: int
    total: int
    what: str = ""


def run(
    task: Generator[Any, Any, Result],
    on_report: Callable[[Any], bool | None] | None = None,
) -> Result:
    """Run a task to its end and return its result.

    Each report is handed to `on_report`, and what that returns is the answer to the report: True
    asks the task to stop.
    """
    answer: bool | None = None
    while True:
        try:
            report = task.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if on_report is not None:
            # A plain iterator inside the task (`yield from range(3)`) takes no answer but None.
            answer = on_report(report) or None


def relay(
    task: Generator[Any, Any, Result], convert: Callable[[Any], Report]
) -> Generator[Report, object, Result]:
    """Run a task inside another one, as `yield from` does, with `convert` applied to its reports.

    Unlike `yield from` it does not pass answers on: a relayed task runs to its end or is closed.
    """
    with contextlib.closing(task):
        while True:
            try:
                report = next(task)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            yield convert(report)
