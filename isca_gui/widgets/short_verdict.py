"""A verdict in a word or two, for tables and for comparing it with a guess."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.core.distortion.distortions import UNDECIDED_LABEL, level_text, parts_of

if TYPE_CHECKING:
    from isca_gui.core.recognition.recogniser import Verdict


def in_short(found: Verdict) -> tuple[str, str]:
    """Return the class that a verdict names and its strength; the strength is empty if unknown."""
    if found.unlike:
        return "not recognised", ""
    what = "+".join(found.parts) or found.label
    # Of a mixture that was inferred from single distortions, the strength of each part is unknown.
    inferred = len(found.parts) > len(parts_of(found.label))
    if inferred or found.label == UNDECIDED_LABEL:
        return what, ""
    return what, level_text(found.severity)
