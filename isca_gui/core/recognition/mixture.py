"""Two distortions in one picture: take one of them away again and see whether the rest is better explained.

In the space of descriptors, what a distortion does to a block is a step away from the reference. Steps of two
distortions nearly add up. So for every kind without randomness, at some of its levels, its step is subtracted
from the picture's points; if what is left lies clearly nearer to the training pictures than the picture
itself did, over the whole picture, then both that kind and the kind of what is left are in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.distortion.distortions import DISTORTIONS, ORIGINAL, parts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.recognition.neighbours import Floats, Neighbours

_FIRST_BLOCKS, _BLOCKS = 256, 2048  # samples to choose candidates from, and to judge them by
_AT_ONCE = 1 << 24  # distances that are worked out at a time
_CHOSEN = 4  # candidates that are judged
_EVERY = 2  # levels that are tried
_GAIN = 0.9  # what is left must be nearer than this share of the picture's own distance
_LEAST_SHARE = 0.1  # and this share of the blocks must agree on what it is
# Nor may it be further off than this many times the usual distance of training pictures: two steps fit a
# negative or plain grey better than one, and explain neither. With 20 levels two distortions leave 2 to 5
# times that distance, a negative, noise or grey 11 to 150; with 6, 1 to 2 and 3 to 21.
_FURTHEST = 7.0


@dataclass(frozen=True)
class Mixture:
    """Two kinds in one picture, the first at this MSE; `gain` is the share of the distance that is left."""

    kinds: tuple[str, str]
    level: float
    gain: float


class Unmixer:
    """Looks for a second distortion; prepared once for a set of training pictures."""

    def __init__(self, neighbours: Neighbours, levels: NDArray[np.float64]) -> None:
        self._neighbours, self._levels = neighbours, levels[neighbours.order]
        count = len(neighbours.points)
        self._blocks = np.random.default_rng(0).choice(count, min(count, _BLOCKS), replace=False)
        self._points = neighbours.points[self._blocks]
        self._squares = np.einsum("bnf,bnf->bn", self._points, self._points)
        self._mixed = [
            place for place, label in enumerate(neighbours.classes) if len(parts_of(label)) > 1
        ]
        self._kinds = [
            place for place, label in enumerate(neighbours.classes) if _predictable(label)
        ]

    def look(self, points: Floats, leave_out: int | None = None) -> Mixture | None:
        """Say which two kinds a picture's points (block, number) hold, if two explain it clearly better.

        `leave_out` is a training picture that is not to be known; without the reference there are no steps.
        """
        classes, order = self._neighbours.classes, self._neighbours.order
        gone = order == (-1 if leave_out is None else leave_out)
        steps = [self._neighbours.members(kind, leave_out)[::_EVERY] for kind in self._kinds]
        candidates = np.concatenate([*steps, np.empty(0, np.intp)])
        if not len(candidates) or ORIGINAL not in classes or gone[0]:
            return None
        here = points[self._blocks]
        rough = self._costs(here, candidates, gone)
        chosen = candidates[np.argsort(rough, kind="stable")[:_CHOSEN]]
        nearest = self._left(
            here, np.array([0, *chosen]), _BLOCKS, gone
        )  # without a step, and with each
        base, *costs = nearest.min(axis=2).mean(axis=0).tolist()
        best = int(np.argmin(costs))
        gain = costs[best] / max(base, 1e-12)
        first = int(self._neighbours.number[chosen[best]])
        counts = np.bincount(nearest[:, 1 + best].argmin(axis=1), minlength=len(classes)) / len(
            here
        )
        counts[[first, classes.index(ORIGINAL), *self._mixed]] = 0
        second = int(counts.argmax())
        if not gain < _GAIN or counts[second] <= _LEAST_SHARE:
            return None
        if costs[best] > _FURTHEST * self._neighbours.median_spacing(leave_out):
            return None
        return Mixture((classes[first], classes[second]), float(self._levels[chosen[best]]), gain)

    def _costs(
        self, points: Floats, candidates: NDArray[np.intp], gone: NDArray[np.bool_]
    ) -> Floats:
        """Give the mean distance of what each candidate leaves, some at a time: images² of them are many."""
        some = max(1, _AT_ONCE // (_FIRST_BLOCKS * len(gone)))
        pieces = (candidates[low : low + some] for low in range(0, len(candidates), some))
        lefts = (self._left(points, piece, _FIRST_BLOCKS, gone) for piece in pieces)
        return np.concatenate([left.min(axis=2).mean(axis=0) for left in lefts])

    def _left(
        self, points: Floats, candidates: NDArray[np.intp], blocks: int, gone: NDArray[np.bool_]
    ) -> Floats:
        """Take each candidate's step away; give distances of what is left (block, candidate, class).

        The reference, which comes first among the training pictures, has no step.
        """
        here, known = points[:blocks], self._points[:blocks]
        left = here[:, None] - (known[:, candidates] - known[:, :1])
        own = np.einsum("bcf,bcf->bc", left, left)
        squares = left @ np.swapaxes(known, 1, 2)
        squares *= -2
        squares += own[:, :, None]
        squares += self._squares[:blocks, None]
        squares[:, :, np.flatnonzero(gone)] = np.inf
        found = np.minimum.reduceat(squares, self._neighbours.starts, axis=2)
        nearest: Floats = np.sqrt(np.maximum(found, 0))
        return nearest


def _predictable(label: str) -> bool:
    """Whether a label is one distortion that does the same to a picture every time."""
    return label in DISTORTIONS and not DISTORTIONS[label].random
