"""Answers as rows of a table, with the same keys and columns wherever they are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isca_gui.core.recognition.verdict import Verdict

KEYS = (
    "file",
    "label",
    "parts",
    "share",
    "runner_up",
    "runner_up_share",
    "margin",
    "severity",
    "nearest_level",
    "unusual",
    "unlike",
    "undecided",
    "shares",
    "components",
    "sentence",
    "width",
    "height",
)
COLUMNS = (*KEYS, "error")
# An imported label may contain these characters, which divide the shares in a cell.
_DIVIDERS = re.compile(r"[;=\\]")
_ESCAPED = r"\\\g<0>"


def entry(name: str, verdict: Verdict, width: int, height: int) -> dict[str, Any]:
    """Return the answer for a picture; `width` and `height` are those of its file."""
    # Imported here because the command line shows its help without loading NumPy.
    from isca_gui.core.distortion.distortions import UNDECIDED_LABEL

    fields: dict[str, Any] = {
        "file": name,
        **vars(verdict),
        "undecided": verdict.shares[UNDECIDED_LABEL],
        "width": width,
        "height": height,
    }
    return {key: fields[key] for key in KEYS}


def row(fields: dict[str, Any]) -> list[str]:
    """Return the cells of a row for an entry, or for a `file` and the `error` if it has none."""
    return [_cell(fields.get(column)) for column in COLUMNS]


def _cell(value: Any) -> str:
    """Return a value as the text of one cell: `a+b` for parts, `a=0.5;b=0.25` for shares."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ";".join(
            f"{_DIVIDERS.sub(_ESCAPED, name)}={share:.6g}" for name, share in value.items()
        )
    if isinstance(value, tuple):
        return "+".join(value)
    return f"{value:.9g}" if isinstance(value, float) else str(value)
