"""Output of the commands: JSON on standard output, messages on standard error."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document on standard output."""
    print(json.dumps(document, indent=2, allow_nan=False))


def print_message(text: str) -> None:
    """Print a line on standard error."""
    # A command does not fail because nobody can read its messages.
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def report_failure(write: Callable[[dict[str, Any]], None], name: str, error: str) -> None:
    """Print why a file has no answer, and write that in the place of its entry."""
    # Most messages name the file already.
    message = error if f"'{name}'" in error else f"{name}: {error}"
    print_message(f"isca: {message}")
    write({"file": name, "error": error})


def write_row(stream: IO[bytes], cells: Iterable[str]) -> None:
    """Write a row of a CSV table; names that are not text are escaped."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    stream.write(text.getvalue().encode("utf-8", "backslashreplace"))
