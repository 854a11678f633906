"""Output of the commands: JSON on standard output, messages on standard error."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Entry = dict[str, Any]


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document on standard output."""
    print(json.dumps(document, indent=2, allow_nan=False))


def print_message(text: str) -> None:
    """Print a line on standard error."""
    # A command does not fail because nobody can read its messages.
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def report_failure(write: Callable[[Entry], None], name: str, error: str) -> None:
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


@contextlib.contextmanager
def entry_writer(
    *,
    head: dict[str, Any] | None,
    line: Callable[[Entry], str],
    csv_file: str | None,
    columns: Sequence[str],
    row: Callable[[Entry], Iterable[str]],
) -> Iterator[Callable[[Entry], None]]:
    """Yield a function that writes each entry at once, without waiting for the other pictures.

    Parameters
    ----------
    head
        The beginning of the JSON document, whose last part is the list of pictures; None to print
        lines instead.
    line
        Returns the line of an entry without an error.
    csv_file
        A table to write as well, or None.
    columns, row
        The heading of the table, and what returns the cells of an entry.
    """
    from isca_gui.core.storage import files

    with contextlib.ExitStack() as stack:
        table = stack.enter_context(files.replacing(csv_file)) if csv_file else None
        if table is not None:
            write_row(table, columns)
        count = 0

        def write(fields: Entry) -> None:
            nonlocal count
            if head is not None:
                comma = "," if count else ""
                print(f"{comma}\n    {json.dumps(fields, allow_nan=False)}", end="", flush=True)
            elif fields.get("error") is None:
                print(line(fields), flush=True)
            if table is not None:
                write_row(table, row(fields))
            count += 1

        if head is not None:
            # The document stays open after its head, for the list of pictures.
            print(json.dumps(head, indent=2).removesuffix("\n}") + ',\n  "pictures": [', end="")
        yield write
        if head is not None:
            print("\n  ]\n}")
