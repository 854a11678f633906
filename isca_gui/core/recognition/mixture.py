"""Find two distortions in one picture: take one away and see whether the rest fits better.

In the space of descriptors, what a distortion does to a block is a step away from the reference.
Steps of two distortions nearly add up. So for every kind without randomness, at some of its levels,
its step is subtracted from the picture's points. If what is left lies clearly nearer to the
training pictures than the picture itself did, over the whole picture, then both that kind and the
kind of what is left are in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.distortion.distortions import DISTORTIONS, ORIGINAL, parts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.recognition.neighbours import Floats, Neighbours, TypicalDistances

# Candidates are chosen by their cost on a few blocks and judged by that on more.
_FIRST_BLOCKS = 256
_BLOCKS = 2048
_CHOSEN = 4
# Distances that are worked out at a time: this bounds the memory.
_AT_ONCE = 1 << 24
# Every second level is tried; those between have almost the same step.
_EVERY = 2
# What is left must be nearer than this share of the picture's own distance, …
_GAIN = 0.9
# … and this share of the blocks must agree on what it is.
_LEAST_SHARE = 0.1
# Nor may it be further off than this many times the typical distance of training pictures: two
# steps fit a negative or plain grey better than one, and explain neither. With 20 levels two
# distortions leave 2 to 5 times that distance, a negative, noise or grey 11 to 150; with 6, 1 to 2
# and 3 to 21.
_FURTHEST = 7.0


class Unmixer:
    """Looks for a second distortion; prepared once for a set of training pictures."""

    def __init__(self, neighbours: Neighbours) -> None:
        self._neighbours = neighbours
        count = len(neighbours.points)
        self._blocks = np.random.default_rng(0).choice(count, min(count, _BLOCKS), replace=False)
        self._points = neighbours.points[self._blocks]
        self._squares = np.einsum("bnf,bnf->bn", self._points, self._points)
        classes = list(enumerate(neighbours.classes))
        self._mixed = [index for index, label in classes if len(parts_of(label)) > 1]
        self._predictable = [index for index, label in classes if _is_predictable(label)]

    def find_pair(
        self, points: Floats, typical: TypicalDistances, leave_out: int | None = None
    ) -> tuple[str, str] | None:
        """Return the two kinds in a picture (block, number), if they explain it clearly better.

        `typical` are the distances of the training pictures from each other. `leave_out` is one
        that is not to be known; without the reference there are no steps.
        """
        classes = self._neighbours.classes
        left_out = self._neighbours.order == (-1 if leave_out is None else leave_out)
        candidates = self._candidates(typical)
        if not len(candidates) or ORIGINAL not in classes or left_out[0]:
            return None
        here = points[self._blocks]
        rough = self._costs(here, candidates, left_out)
        chosen = candidates[np.argsort(rough, kind="stable")[:_CHOSEN]]
        # The reference comes first: it has no step, so its cost is that of the picture as it is.
        nearest = self._distances_left(here, np.array([0, *chosen]), _BLOCKS, left_out)
        base, *costs = nearest.min(axis=2).mean(axis=0).tolist()
        best = int(np.argmin(costs))
        first = int(self._neighbours.class_of[chosen[best]])

        votes = nearest[:, 1 + best].argmin(axis=1)
        shares = np.bincount(votes, minlength=len(classes)) / len(here)
        shares[[first, classes.index(ORIGINAL), *self._mixed]] = 0
        second = int(shares.argmax())
        gain = costs[best] / max(base, 1e-12)
        # A gain that is not a number is none.
        if not gain < _GAIN or shares[second] <= _LEAST_SHARE:
            return None
        if costs[best] > _FURTHEST * typical.median_spacing():
            return None
        return classes[first], classes[second]

    def _candidates(self, typical: TypicalDistances) -> NDArray[np.intp]:
        """Return the places of the training pictures whose step is tried."""
        members = [typical.members[index][::_EVERY] for index in self._predictable]
        return np.concatenate([*members, np.empty(0, np.intp)])

    def _costs(
        self, points: Floats, candidates: NDArray[np.intp], left_out: NDArray[np.bool_]
    ) -> Floats:
        """Return the mean distance that each candidate leaves, a few at a time to save memory."""
        count = max(1, _AT_ONCE // (_FIRST_BLOCKS * len(left_out)))
        costs = []
        for low in range(0, len(candidates), count):
            some = candidates[low : low + count]
            nearest = self._distances_left(points, some, _FIRST_BLOCKS, left_out)
            costs.append(nearest.min(axis=2).mean(axis=0))
        return np.concatenate(costs)

    def _distances_left(
        self,
        points: Floats,
        candidates: NDArray[np.intp],
        blocks: int,
        left_out: NDArray[np.bool_],
    ) -> Floats:
        """Take each candidate's step away and return the distances of what is left.

        Parameters
        ----------
        points
            The picture's points (block, number).
        candidates
            Places of training pictures, whose steps from the reference are taken away;
            (candidate,).
        blocks
            How many of the blocks to look at.
        left_out
            Which of the training pictures are not to be known; (place,).

        Returns
        -------
        The distance to the nearest training picture of each class (block, candidate, class).
        """
        here = points[:blocks]
        known = self._points[:blocks]
        left = here[:, None] - (known[:, candidates] - known[:, :1])
        # ‖x − y‖² = ‖x‖² − 2xᵀy + ‖y‖², so that the work is one product of matrices.
        squares = left @ np.swapaxes(known, 1, 2)
        squares *= -2
        squares += np.einsum("bcf,bcf->bc", left, left)[:, :, None]
        squares += self._squares[:blocks, None]
        squares[:, :, np.flatnonzero(left_out)] = np.inf
        found = np.minimum.reduceat(squares, self._neighbours.starts, axis=2)
        nearest: Floats = np.sqrt(np.maximum(found, 0))
        return nearest


def _is_predictable(label: str) -> bool:
    """Whether a label is one distortion that does the same to a picture every time."""
    return label in DISTORTIONS and not DISTORTIONS[label].random
