"""Output of the commands: JSON on standard output, messages on standard error."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document on standard output."""
    print(json.dumps(document, indent=2, allow_nan=False))


def print_message(text: str) -> None:
    """Print a line on standard error."""
    # A command does not fail because nobody can read its messages.
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)
