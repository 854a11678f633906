"""The maps of a recognition over its picture, drawn for the zoom at which they are seen."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from isca_gui.core.recognition import vote_overlays
from isca_gui.viewers.canvas.layers import grey_layer, pixel_image

if TYPE_CHECKING:
    from PySide6.QtGui import QImage

    from isca_gui.core.recognition.verdict import Verdict
    from isca_gui.session.records import TestedPicture
    from isca_gui.viewers.canvas.layers import Layer

# The maps, by the names that projects save.
VOTES = "votes"
CONFIDENCE = "confidence"
SEVERITY = "severity"
# Text and tooltip of the buttons.
MAPS = {
    VOTES: ("Class", "the kind each block votes for; the fainter, the less certain"),
    CONFIDENCE: ("Confidence", "how certain the vote of each block is"),
    SEVERITY: ("Severity", "how strongly each block is distorted, as MSE"),
}
_DRAW = {CONFIDENCE: vote_overlays.confidence_overlay, SEVERITY: vote_overlays.severity_overlay}
# Screen pixels that one unit of a pattern needs for the picture to be seen through it.
_UNIT = 2.5
_LARGEST_SPACING = 64
# Pixels whose map is drawn between two ticks of the window's clock, with time to spare.
_MOST_AT_ONCE = 1 << 20
GUESS_FIRST = "A mystery picture: what was done to it? Guess on the left to see the answer."


def draw_map(kind: str, tested: TestedPicture, spacing: int = 1) -> tuple[Layer, QImage | None]:
    """Draw a test picture and one of its maps."""
    picture = grey_layer(tested.picture)
    found = tested.recognition
    if found is None:
        return picture, None
    height, width = tested.picture.shape
    if kind == VOTES:
        pixels = vote_overlays.vote_overlay(found, height, width, spacing)
    else:
        pixels = _DRAW[kind](found, height, width)
    return picture, pixel_image(pixels)


def is_quick(tested: TestedPicture) -> bool:
    """Whether a map of this picture may be drawn in the window's thread."""
    return tested.picture.size <= _MOST_AT_ONCE


def concealed(tested: TestedPicture | None) -> TestedPicture | None:
    """Return a mystery picture without its answer, and any other picture as it is."""
    if tested is not None and tested.secret:
        return replace(tested, recognition=None, stored=None)
    return tested


def spacing_at(zoom: float) -> int:
    """Return the spacing, a power of two, at which patterns look the same at any zoom."""
    doublings = max(0, math.ceil(math.log2(max(_UNIT / zoom, 1e-3))))
    return min(1 << doublings, _LARGEST_SPACING)


def ordered_shares(verdict: Verdict) -> dict[str, float]:
    """Return the shares of all classes, the largest first and undecided last."""
    shares = dict(verdict.shares)
    undecided = shares.pop("undecided", 0.0)
    ordered = sorted(shares, key=lambda label: -shares[label])
    return {**{label: shares[label] for label in ordered}, "undecided": undecided}
