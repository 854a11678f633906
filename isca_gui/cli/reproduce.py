"""`isca reproduce`: the paper's experiments from start to end, with a report."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from isca_gui.cli import arguments, printing, progress_bar
from isca_gui.core.storage.files import as_word, command_line

if TYPE_CHECKING:
    import argparse

    from isca_gui.core.progress import Progress

_IMAGE = "sample:camera"
_SECONDS_BETWEEN_LINES = 5.0
# The share of the work after which the rate is reliable enough to estimate the time left.
_LEAST_SHARE = 0.01


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "image",
        metavar="IMAGE",
        nargs="?",
        type=arguments.file_name,
        default=_IMAGE,
        help="a picture file, or sample:NAME (default: %(default)s)",
    )
    arguments.add_range(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=arguments.file_name,
        required=True,
        help="the folder to write; an unfinished reproduction in it is continued",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="use every second pixel and fewer levels and epochs; takes less than a minute",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a report on another picture"
    )
    arguments.add_threads(parser)
    arguments.add_json(parser)
    parser.epilog = (
        "Ctrl-C stops and keeps all finished stages. The same command then continues from there, "
        "with the same results as an uninterrupted run."
    )


def run(args: argparse.Namespace) -> int:
    """Reproduce the paper and print the path of the report."""
    from isca_gui.core import progress
    from isca_gui.core.paper import reproduce, results

    reference = arguments.read_image(args)
    task = reproduce.reproduce(
        reference,
        args.output,
        quick=args.quick,
        threads=args.threads,
        name=_name_in_report(args.image),
        overwrite=args.overwrite,
    )
    pace = Pace()
    display = progress_bar.status_display(
        "reproduce", total=1.0, quiet=args.json, seconds=_SECONDS_BETWEEN_LINES
    )
    try:
        with display as show, contextlib.closing(task):

            def on_report(report: Progress) -> None:
                pace.update(report)
                show(f"{pace.share:.0%} {pace}", pace.share, stage=report.done == report.total)

            made = progress.run(task, on_report)
    except KeyboardInterrupt:
        printing.print_message(
            f"reproduce: the finished stages are kept; to continue: {_command(args)}"
        )
        raise
    if args.json:
        printing.print_json({"report": str(made.report), **results.document(made.findings)})
    else:
        print(made.report)
    return 0


def _name_in_report(image: str) -> str:
    """Return the name of a picture without its folder, which is private."""
    name = image
    if not image.startswith("sample:"):
        name = image.replace("\\", "/").rsplit("/", 1)[-1]
    # A file name can hold bytes that are not valid UTF-8, which a report cannot.
    return name.encode("utf-8", "backslashreplace").decode()


def _command(args: argparse.Namespace) -> str:
    """Return the command line that continues this reproduction."""
    words = ["isca", "reproduce", as_word(args.image), "-o", as_word(args.output)]
    words += arguments.range_words(args)
    if args.quick:
        words.append("--quick")
    if args.overwrite:
        words.append("--overwrite")
    return command_line(words)


class Pace:
    """Estimates the time left; the task's progress is proportional to the expected time."""

    def __init__(self) -> None:
        self._start: tuple[int, float] | None = None
        self._report: Progress | None = None

    def update(self, report: Progress) -> None:
        """Take note of a report."""
        self._report = report
        # The first report counts the stages kept from an earlier run, which do not belong to
        # the rate of this one.
        if self._start is None:
            self._start = (report.done, time.monotonic())

    @property
    def share(self) -> float:
        """The finished share of the work, from 0 to 1."""
        return self._report.done / self._report.total if self._report else 0.0

    def seconds_left(self) -> float | None:
        """Return the estimated time to the end, or None before there is a rate."""
        if self._report is None or self._start is None:
            return None
        first, began = self._start
        done = self._report.done - first
        if done < _LEAST_SHARE * self._report.total:
            return None
        rest = self._report.total - self._report.done
        return (time.monotonic() - began) * rest / done

    def __str__(self) -> str:
        what = self._report.what if self._report else ""
        left = self.seconds_left()
        if not left:
            return what
        return f"{what}, about {progress_bar.duration(left)} left"
