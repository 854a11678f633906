"""`isca reproduce`: the paper's experiments end to end, with a report."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Any

from isca_gui.cli import common
from isca_gui.cli.train import duration
from isca_gui.core.storage.files import as_word, command_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from isca_gui.core.progress import Progress

_IMAGE = "sample:camera"
_SECONDS_BETWEEN_LINES = 5.0
_LEAST_SHARE = 0.01  # of the work must be done before the time left is told


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    parser.add_argument(
        "image", metavar="IMAGE", nargs="?", type=common.name, default=_IMAGE,
        help="a picture file, or sample:NAME (default: %(default)s)",
    )  # fmt: skip
    common.add_range(parser)
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=common.name, required=True,
        help="the folder to write; one with an unfinished reproduction is gone on with",
    )  # fmt: skip
    parser.add_argument(
        "--quick",
        action="store_true",
        help="every second pixel, fewer levels and epochs: under a minute",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the report on another picture"
    )
    common.add_threads(parser)
    common.add_json(parser)
    parser.epilog = (
        "Ctrl-C stops and keeps every stage that is done; the same command goes on from there and ends in "
        "the same results."
    )


def run(args: argparse.Namespace) -> int:
    """Reproduce the paper and end with the path of the report."""
    from isca_gui.core import progress
    from isca_gui.core.paper import reproduce, results

    reference = common.read_image(args)
    task = reproduce.reproduce(
        reference, args.output,
        quick=args.quick, threads=args.threads, name=_called(args.image), overwrite=args.overwrite,
    )  # fmt: skip
    try:
        with _display(quiet=args.json) as show, contextlib.closing(task):
            made = progress.run(task, show)
    except KeyboardInterrupt:
        common.say(f"reproduce: what is done is kept; to go on: {_command(args)}")
        raise
    if args.json:
        common.print_json({"report": str(made.report), **results.document(made.findings)})
    else:
        print(made.report)
    return 0


def _called(image: str) -> str:
    """Name a picture without its folder, which is nobody's business in a report."""
    name = image if image.startswith("sample:") else image.replace("\\", "/").rsplit("/", 1)[-1]
    return name.encode("utf-8", "backslashreplace").decode()  # not every file name is text


def _command(args: argparse.Namespace) -> str:
    """Give the command that goes on."""
    words = [
        "isca",
        "reproduce",
        as_word(args.image),
        "-o",
        as_word(args.output),
        *common.range_words(args),
    ]
    flags = {"--quick": args.quick, "--overwrite": args.overwrite}
    return command_line([*words, *(flag for flag, given in flags.items() if given)])


class Pace:
    """How much time is left, by the rate since the start: the scale is in expected time."""

    def __init__(self) -> None:
        self._start: tuple[int, float] | None = None
        self._report: Progress | None = None

    def see(self, report: Progress) -> None:
        """Take in a report."""
        self._report = report
        if self._start is None:  # what an earlier run has done says nothing about the rate
            self._start = (report.done, time.monotonic())

    @property
    def share(self) -> float:
        """What is done of the whole, 0 … 1."""
        return self._report.done / self._report.total if self._report else 0.0

    def left(self) -> float | None:
        """Seconds to the end; None before there is a rate."""
        if self._report is None or self._start is None:
            return None
        done = self._report.done - self._start[0]
        if done < _LEAST_SHARE * self._report.total:
            return None
        return (time.monotonic() - self._start[1]) * (self._report.total - self._report.done) / done

    def __str__(self) -> str:
        what, left = self._report.what if self._report else "", self.left()
        time_left = f", about {duration(left)} left" if left else ""
        return f"{what}{time_left}"


@contextlib.contextmanager
def _display(*, quiet: bool) -> Iterator[Callable[[Any], None]]:
    """Give what is to be called with every report: a bar on a terminal, plain lines otherwise."""
    pace = Pace()
    if quiet:
        yield lambda _: None
    elif not sys.stderr.isatty():
        yield _Lines(pace)
    else:
        from rich import progress as bars
        from rich.console import Console

        columns = (bars.TextColumn("reproduce:"), bars.BarColumn(20), bars.TaskProgressColumn())
        text, console = bars.TextColumn("{task.description}"), Console(stderr=True)
        with bars.Progress(*columns, text, console=console, transient=True) as bar:
            row = bar.add_task("", total=1.0)

            def show(report: Progress) -> None:
                pace.see(report)
                bar.update(row, completed=pace.share, description=str(pace))

            yield show


class _Lines:
    """A line at the start, and then every few seconds."""

    def __init__(self, pace: Pace) -> None:
        self._pace, self._last = pace, 0.0

    def __call__(self, report: Progress) -> None:
        self._pace.see(report)
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES or report.done == report.total:
            self._last = now
            common.say(f"reproduce: {self._pace.share:.0%} {self._pace}")
