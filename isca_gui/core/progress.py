"""What every long task reports, and how to run one to its end.

A long task is a generator: each `yield` is a report and a place to stop (close the generator), its return
value is the result. The window, the command line and the tests drive the same generators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    Result = TypeVar("Result")


@dataclass(frozen=True)
class Progress:
    """How far a task is: `done` of `total` parts, and what it is doing."""

    done: int
    total: int
    what: str


def run(
    task: Generator[Any, None, Result], on_report: Callable[[Any], object] | None = None
) -> Result:
    """Run a task to its end and give its result, handing each report to `on_report`."""
    while True:
        try:
            report = next(task)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if on_report is not None:
            on_report(report)
