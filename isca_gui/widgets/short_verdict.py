"""A verdict in a word or two, the same wherever there is no room for its sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.core.distortion.distortions import UNDECIDED_LABEL, level_text, parts_of

if TYPE_CHECKING:
    from isca_gui.core.recognition.recogniser import Verdict


def in_short(found: Verdict) -> tuple[str, str]:
    """Give what a verdict says and how strong that is; nothing where nobody knows."""
    if found.unlike:
        return "unlike any", ""
    unmixed = len(found.parts) > len(
        parts_of(found.label)
    )  # how strong each of them is, nobody knows
    strength = "" if unmixed or found.label == UNDECIDED_LABEL else level_text(found.severity)
    return "+".join(found.parts) or found.label, strength
