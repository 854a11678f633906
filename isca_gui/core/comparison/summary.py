"""Many answers in one line: how many copies share a cause, and how it differs among them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from isca_gui.core.comparison.compare import UNRELATED
from isca_gui.core.comparison.drawing import title_of
from isca_gui.core.distortion.distortions import ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isca_gui.core.comparison.compare import Comparison

FAILED = "could not be compared"
NOT_RECOGNISED = "not recognised"
_OTHERS = {ORIGINAL: "unchanged", UNRELATED: "another picture"}


def cause_of(comparison: Comparison | None) -> str:
    """Return the cause that a copy is grouped by, in words; None stands for a failure."""
    if comparison is None:
        return FAILED
    if comparison.label in _OTHERS:
        return _OTHERS[comparison.label]
    if comparison.unlike:
        return NOT_RECOGNISED
    if comparison.parts == ("luminance",):
        shift = comparison.parameters.get("luminance", {}).get("shift", 0.0)
        return "brighter" if shift > 0 else "darker"
    return title_of(comparison.label)


def in_one_line(comparisons: Iterable[Comparison | None]) -> str:
    """Return such as "14 × JPEG 60–75, 2 × darker, 1 × not recognised", the most frequent first."""
    groups: dict[str, list[Comparison | None]] = defaultdict(list)
    for each in comparisons:
        groups[cause_of(each)].append(each)
    ordered = sorted(groups.items(), key=lambda group: (group[0] == FAILED, -len(group[1])))
    return ", ".join(
        f"{len(members)} × {cause}{_range(cause, members)}" for cause, members in ordered
    )


def _range(cause: str, members: list[Comparison | None]) -> str:
    """Return the range of the qualities of JPEG copies, which say most in the least room."""
    if cause != "JPEG":
        return ""
    qualities = [
        round(each.parameters["jpeg"]["quality"])
        for each in members
        if each is not None and "quality" in each.parameters.get("jpeg", {})
    ]
    if not qualities:
        return ""
    low, high = min(qualities), max(qualities)
    return f" {low}" if low == high else f" {low}–{high}"
