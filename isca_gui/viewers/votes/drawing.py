"""The maps of a recognition over its picture, drawn for the zoom they are looked at."""

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

VOTES, CONFIDENCE, SEVERITY = "votes", "confidence", "severity"
MAPS = {
    VOTES: ("Class", "what each block was taken for; the fainter, the less sure"),
    CONFIDENCE: ("Confidence", "how sure the vote of each block is"),
    SEVERITY: ("Severity", "how strong the damage of each block is, as MSE"),
}
_DRAW = {CONFIDENCE: vote_overlays.confidence_overlay, SEVERITY: vote_overlays.severity_overlay}
_APART = 2.5  # screen pixels that one unit of a pattern needs at least for the picture to be seen through it
_MOST_APART = 64
GUESS_FIRST = (
    "A mystery: what was done to this picture? Guess at the left, then the answer is shown."
)


def draw_map(kind: str, tested: TestedPicture, spacing: int = 1) -> tuple[Layer, QImage | None]:
    """Draw a test picture and one of its maps."""
    found, (height, width) = tested.recognition, tested.picture.shape
    if found is None:
        return grey_layer(tested.picture), None
    if kind == VOTES:
        return grey_layer(tested.picture), pixel_image(
            vote_overlays.vote_overlay(found, height, width, spacing)
        )
    return grey_layer(tested.picture), pixel_image(_DRAW[kind](found, height, width))


def concealed(tested: TestedPicture | None) -> TestedPicture | None:
    """Keep the answer back where somebody is to guess first."""
    return replace(tested, recognition=None, stored=None) if tested and tested.secret else tested


def spacing_at(zoom: float) -> int:
    """Give how far apart patterns must be to look the same on the screen at a zoom: a power of two."""
    doublings = max(0, math.ceil(math.log2(max(_APART / zoom, 1e-3))))
    return min(1 << doublings, _MOST_APART)


def ordered_shares(verdict: Verdict) -> dict[str, float]:
    """Give the shares of all classes, the largest first, undecided last."""
    shares = dict(verdict.shares)
    undecided = shares.pop("undecided", 0.0)
    ordered = sorted(shares, key=lambda label: -shares[label])
    return {**{label: shares[label] for label in ordered}, "undecided": undecided}
