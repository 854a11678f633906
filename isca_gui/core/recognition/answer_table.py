"""Recognised pictures as rows of a table: the same keys and columns wherever they are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isca_gui.core.recognition.verdict import Verdict

KEYS = (
    *("file", "label", "parts", "share", "runner_up", "runner_up_share", "margin", "severity"),
    *("nearest_level", "unusual", "unlike", "undecided", "shares", "components", "sentence"),
    *("width", "height"),
)
COLUMNS = (*KEYS, "error")
_DIVIDING, _MARKED = (
    re.compile(r"[;=\\]"),
    r"\\\g<0>",
)  # in an imported label, with a backslash before it


def entry(name: str, verdict: Verdict, width: int, height: int) -> dict[str, Any]:
    """Describe a recognised picture; `width` and `height` are its file's, and the keys stay as they are."""
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
    """Give the cells of a table's row for an entry, or for a `file` and the `error` why it has none."""
    return [_cell(fields.get(column)) for column in COLUMNS]


def _cell(value: Any) -> str:
    """Put a value into one cell: `a+b` for parts, `a=0.5;b=0.25` for shares."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ";".join(
            f"{_DIVIDING.sub(_MARKED, name)}={share:.6g}" for name, share in value.items()
        )
    if isinstance(value, tuple):
        return "+".join(value)
    return f"{value:.9g}" if isinstance(value, float) else str(value)
