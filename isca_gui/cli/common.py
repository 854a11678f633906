"""What the commands share: arguments, progress, and printing one JSON document."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
import time
import unicodedata
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    import numpy as np
    from numpy.typing import NDArray

    Result = TypeVar("Result")

# The names of `core.descriptor.DESCRIPTORS` and `core.recognition.RULES`, which --help must not load.
DESCRIPTORS, RULES = ("extended", "structural"), ("evidence", "majority")


def add_image(parser: argparse.ArgumentParser) -> None:
    """Add the argument IMAGE and how to scale it."""
    parser.add_argument("image", metavar="IMAGE", type=name, help="a picture file, or sample:NAME")
    add_range(parser)


def add_range(parser: argparse.ArgumentParser) -> None:
    """Add --range."""
    parser.add_argument(
        "--range", dest="value_range", metavar="LOW:HIGH", type=_range,
        help="sample values that stand for black and white (needed for float pictures outside 0 to 1)",
    )  # fmt: skip


def check_range(args: argparse.Namespace, source: str | None) -> None:
    """Refuse --range where no picture is read that it could be said of."""
    from isca_gui.core.settings import SettingsError

    if args.value_range is not None and source is None:
        raise SettingsError("--range is for a picture, and none is read")
    if args.value_range is not None and os.path.isdir(source or ""):
        raise SettingsError(f"--range is for a picture; '{source}' is a folder")
    if args.value_range is not None and source is not None and source.lower().endswith(".isca"):
        raise SettingsError(f"--range is for a picture; '{source}' is a model")


def range_words(args: argparse.Namespace) -> list[str]:
    """Give --range as it was said, for a command that does the same."""
    from isca_gui.core.settings import number_text

    return [f"--range={':'.join(map(number_text, args.value_range))}"] if args.value_range else []


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add --threads."""
    parser.add_argument(
        "--threads",
        type=positive,
        metavar="N",
        help="threads to use (default: all cores); changes no result",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document on standard output"
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add --seed."""
    parser.add_argument(
        "--seed",
        type=whole,
        default=0,
        metavar="N",
        help="seed of all randomness (default: %(default)s)",
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the argument MODEL."""
    parser.add_argument(
        "model", metavar="MODEL", type=name, help="a model file (.isca), see 'isca train'"
    )


def add_recognition(parser: argparse.ArgumentParser) -> None:
    """Add --descriptor and --rule."""
    parser.add_argument(
        "--descriptor", choices=DESCRIPTORS, default="extended",
        help="numbers compared per block; structural is the paper's (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--rule", choices=RULES, default="evidence",
        help="from votes to verdict; majority is the paper's (default: %(default)s)",
    )  # fmt: skip


def add_fit(parser: argparse.ArgumentParser) -> None:
    """Add --resize and --crop, which are kept as `how`."""
    choice = parser.add_mutually_exclusive_group()
    for how, sentence in (("resize", "bring it to"), ("crop", "cut out its middle in")):
        choice.add_argument(
            f"--{how}", dest="how", action="store_const", const=how, default="refuse",
            help=f"if a picture has another size than the model's reference, {sentence} that size",
        )  # fmt: skip


# Readers of arguments raise ArgumentTypeError: for a ValueError argparse would show the reader's own name.


def name(text: str) -> str:
    """Refuse an empty name, which would stand for the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def whole(text: str) -> int:
    """Read a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    value = whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def number(text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        low = high = math.nan
    if not (low < high and math.isfinite(high - low)):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not LOW:HIGH, two finite numbers with the lower value first"
        )
    return low, high


def read_image(args: argparse.Namespace) -> NDArray[np.float32]:
    """Read the picture that `add_image` asked for."""
    from isca_gui.core.pictures import image, samples

    return image.read(samples.resolve(args.image), value_range=args.value_range)


def check_written(path: str, suffixes: tuple[str, ...], read: Iterable[str]) -> None:
    """Refuse, before the work, a file to write that is of no known kind or is one of those that are read."""
    from isca_gui.core.settings import SettingsError

    if not path.lower().endswith(suffixes):
        raise SettingsError(f"'{path}' must end in {' or '.join(suffixes)}")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"There is no folder '{folder}' to write '{os.path.basename(path)}' to."
        )
    if is_unfit(path) or not os.access(folder, os.W_OK):
        raise PermissionError(f"'{path}' cannot be written. Choose another place.")
    if place_of(path) in map(place_of, read):
        raise SettingsError(f"'{path}' is read as well; choose another file to write")
    check_place(path, read)


def place_of(path: str, folds: bool = sys.platform in ("darwin", "win32")) -> object:
    """Give what is equal for all names of one file, there or to be written; some systems fold their case."""
    with contextlib.suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    place = os.path.realpath(path)
    return unicodedata.normalize("NFC", place).casefold() if folds else place


def is_unfit(path: str | os.PathLike[str]) -> bool:
    """Tell whether something stands there that no file is to replace: a folder, a pipe, a device."""
    return os.path.exists(path) and not os.path.isfile(path)


def check_place(path: str, read: Iterable[str]) -> None:
    """Refuse a file that would spoil a dataset: inside one, or named as a part of one beside what is read."""
    from isca_gui.core.distortion.dataset_folder import DESCRIPTION, MANIFEST
    from isca_gui.core.settings import SettingsError

    target, read = os.path.realpath(path), [os.path.realpath(each) for each in read]
    folder, own = os.path.dirname(target), (MANIFEST, DESCRIPTION)
    if folder in filter(os.path.isdir, read) or any(
        os.path.exists(os.path.join(folder, n)) for n in own
    ):
        raise SettingsError(
            f"'{path}' lies in the dataset folder '{folder}', which must hold nothing else; "
            "choose another place to write"
        )
    if os.path.basename(target).lower() in own and folder in map(os.path.dirname, read):
        raise SettingsError(f"'{path}' would be taken for a part of a dataset; choose another name")


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document on standard output."""
    print(json.dumps(document, indent=2, allow_nan=False))


def say(text: str) -> None:
    """Print a line on standard error; where that cannot be done it is no reason to fail."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def run_with_progress(
    task: Generator[Any, None, Result], title: str, *, quiet: bool = False
) -> Result:
    """Run a task; a bar with the time left on a terminal, plain lines otherwise, all on standard error."""
    from isca_gui.core.progress import run

    try:
        if quiet:
            return run(task)
        if sys.stderr.isatty():
            return _run_with_bar(task, title)
        return run(task, _PlainLines(title))
    finally:
        task.close()


def _run_with_bar(task: Generator[Any, None, Result], title: str) -> Result:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from isca_gui.core.progress import run

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task(title, total=None)
        return run(
            task,
            lambda report: bar.update(
                row,
                completed=report.done,
                total=report.total,
                description=f"{title}: {report.what}",
            ),
        )


class _PlainLines:
    """A line at the start of each stage, and then at most every two seconds."""

    def __init__(self, title: str) -> None:
        self._title, self._stage, self._last = title, "", 0.0

    def __call__(self, report: Any) -> None:
        now = time.monotonic()
        if report.what == self._stage and now - self._last < 2:
            return
        self._stage, self._last = report.what, now
        say(f"{self._title}: {report.what}, {report.done} of {report.total}")
