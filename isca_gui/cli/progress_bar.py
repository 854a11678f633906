"""Progress on standard error: a bar on a terminal, plain lines anywhere else."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from typing import TYPE_CHECKING, Any, TypeVar

from isca_gui.cli import printing

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    Result = TypeVar("Result")

SECONDS_BETWEEN_LINES = 2.0


def run_with_progress(
    task: Generator[Any, None, Result], title: str, *, quiet: bool = False
) -> Result:
    """Run a task of the core to its end, show its progress and return its result."""
    from isca_gui.core.progress import run

    with contextlib.closing(task):
        if quiet:
            return run(task)
        if sys.stderr.isatty():
            return _run_with_bar(task, title)
        lines = PlainLines(title)
        return run(
            task,
            lambda report: lines.show(
                f"{report.what}, {report.done} of {report.total}", stage=report.what
            ),
        )


def _run_with_bar(task: Generator[Any, None, Result], title: str) -> Result:
    from rich import progress as bars
    from rich.console import Console

    from isca_gui.core.progress import Progress, run

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task(title, total=None)

        def show(report: Progress) -> None:
            description = f"{title}: {report.what}"
            bar.update(row, completed=report.done, total=report.total, description=description)

        return run(task, show)


@contextlib.contextmanager
def status_display(
    title: str, total: float, *, quiet: bool = False, seconds: float = SECONDS_BETWEEN_LINES
) -> Iterator[Callable[..., None]]:
    """Yield a function `show(text, done, stage)` for a task that describes its own progress.

    Parameters
    ----------
    title
        The word before every line, usually the name of the command.
    total
        The value of `done` at the end of the task.
    quiet
        Whether to show nothing.
    seconds
        The least time between two plain lines of the same stage.
    """
    if quiet:
        yield lambda text, done, stage=None: None
    elif not sys.stderr.isatty():
        lines = PlainLines(title, seconds)
        yield lambda text, done, stage=None: lines.show(text, stage)
    else:
        from rich import progress as bars
        from rich.console import Console

        columns = (
            bars.TextColumn(f"{title}:"),
            bars.BarColumn(20),
            bars.TextColumn("{task.description}"),
        )
        with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            row = bar.add_task("", total=total)
            yield lambda text, done, stage=None: bar.update(row, completed=done, description=text)


class PlainLines:
    """Prints a line at the start of each stage, and then one every few seconds."""

    def __init__(self, title: str, seconds: float = SECONDS_BETWEEN_LINES) -> None:
        self._title = title
        self._seconds = seconds
        self._stage: object = None
        self._last = -math.inf

    def show(self, text: str, stage: object) -> None:
        """Print the text, unless the last line of the same stage is too recent."""
        now = time.monotonic()
        if stage == self._stage and now - self._last < self._seconds:
            return
        self._stage = stage
        self._last = now
        printing.print_message(f"{self._title}: {text}")


def duration(seconds: float) -> str:
    """Return a time in the units that suit its length."""
    whole = math.ceil(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 100 * 60:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
