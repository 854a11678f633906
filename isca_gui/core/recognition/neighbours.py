"""The training pictures as points, per block, and how far a new picture's blocks are from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.model.descriptor import EXTRA
from isca_gui.core.parallel import Workers, ranges
from isca_gui.core.progress import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

# The vote of a block to which several classes are equally near.
UNDECIDED = -1
# Distances that differ by no more than this, which is rounding, are equal.
TIE = 2e-6
# Blocks at a time, so that what is worked on stays in the cache.
_CHUNK = 512
# Blocks that one thread works on as fast as several would be started.
_ALONE = 16_384


@dataclass(frozen=True, eq=False)
class TypicalDistances:
    """How far the training pictures are from the nearest other of their class, per block.

    Infinite for a picture that is alone in its class, for the one that is left out, and at blocks
    that the picture, or all others of its class, left as they were. Places run over the pictures
    sorted by class.
    """

    distances: Floats  # (block, place)
    others: NDArray[np.int32]  # (block, place): the place of the nearest other
    levels: NDArray[np.float64]  # (place,): the MSE of the picture
    members: tuple[NDArray[np.intp], ...]  # the places of each class, without the one left out

    def median_spacing(self) -> float:
        """Return the median of the pictures' mean distances.

        It is averaged over the blocks first: most blocks of a page of print are plain and do not
        move at all.
        """
        there = np.isfinite(self.distances)
        means = np.where(there, self.distances, 0).mean(axis=0)[there.any(axis=0)]
        return float(np.median(means)) if len(means) else np.inf


@dataclass(frozen=True, eq=False)
class NearestPictures:
    """All that is known of a picture's neighbours: per block, the nearest of every class."""

    classes: tuple[str, ...]
    distances: Floats  # (block, class)
    pictures: NDArray[np.int32]  # (block, class): the nearest training picture of the class
    winner: NDArray[np.int16]  # (block,); UNDECIDED where classes tie
    closest: NDArray[np.int32]  # (block,): the picture of the winner, else the nearest of all
    confidence: Floats  # (block,), 0 to 1: how much further the second class is than the first
    levels: NDArray[np.float64]  # (picture,): the MSE of every training picture
    typical: TypicalDistances


class Neighbours:
    """Training descriptors, sorted by class.

    A training picture whose block does not differ from the reference's is no example of damage
    there, and is left out at that block: sparse impulse noise leaves most blocks as they were.

    Parameters
    ----------
    points
        Descriptors of the training pictures (block, image, number), the reference first.
    labels, levels
        The class and the MSE of every training picture.
    same
        Where a training picture left a block as it was (block, image), see `unchanged`.
    k
        How many of the nearest training pictures vote.
    """

    def __init__(
        self,
        points: Floats,
        labels: Sequence[str],
        levels: NDArray[np.float64],
        *,
        same: NDArray[np.bool_] | None = None,
        k: int = 1,
    ) -> None:
        self.classes = tuple(dict.fromkeys(labels))
        class_of = np.array([self.classes.index(label) for label in labels])
        # Places run over the sorted pictures; `order` leads from a place to the picture's number.
        self.order = np.argsort(class_of, kind="stable").astype(np.int32)
        # Pictures mostly come sorted by class, and all their descriptors take much memory.
        is_sorted = bool((self.order == np.arange(len(labels))).all())
        self.points = np.ascontiguousarray(points if is_sorted else points[:, self.order])
        self.class_of = class_of[self.order].astype(np.int16)
        self.starts = np.searchsorted(self.class_of, np.arange(len(self.classes)))
        ends = [*self.starts[1:].tolist(), len(labels)]
        self._bounds = list(zip(self.starts.tolist(), ends, strict=True))
        self._levels = levels
        if same is None:
            same = np.zeros(points.shape[:2], np.bool_)
        self._same = same[:, self.order]
        self._k = k

    def nearest(self, points: Floats, leave_out: int | None = None) -> NearestPictures:
        """Return all that is known of the neighbours of a picture's blocks (block, number).

        `leave_out` is a training picture that is not to be its own neighbour.
        """
        shape = len(points), len(self.classes)
        distances = np.empty(shape, np.float32)
        pictures = np.empty(shape, np.int32)
        winner = np.empty(len(points), np.int16)
        for low, high in ranges(len(points), _CHUNK):
            here = slice(low, high)
            all_distances = self._distances(points[here], here, leave_out)
            for index, (start, end) in enumerate(self._bounds):
                members = all_distances[:, start:end]
                best = members.argmin(axis=1)
                pictures[here, index] = self.order[start + best]
                distances[here, index] = np.take_along_axis(members, best[:, None], axis=1)[:, 0]
            winner[here] = self._decide(all_distances, distances[here])
        return NearestPictures(
            classes=self.classes,
            distances=distances,
            pictures=pictures,
            winner=winner,
            closest=_closest(distances, pictures, winner),
            confidence=_confidence(distances, winner),
            levels=self._levels,
            typical=self.typical_distances(leave_out),
        )

    def _distances(self, points: Floats, here: slice, leave_out: int | None) -> Floats:
        """Return the distances of some blocks' points to every training picture (block, place)."""
        difference = self.points[here] - points[:, None]
        found: Floats = np.sqrt(np.einsum("bnf,bnf->bn", difference, difference))
        found[self._same[here]] = np.inf
        if leave_out is not None:
            found[:, self.order == leave_out] = np.inf
        return found

    # --- what distances are typical ---------------------------------------------------------------

    def prepare(self, *, leaving_out: bool = False) -> None:
        """Work out what `typical_distances` needs once, before threads that share it start."""
        _ = self._two_others if leaving_out else self._others

    def typical_distances(self, leave_out: int | None = None) -> TypicalDistances:
        """Return how far training pictures are from the nearest other of their class."""
        members = tuple(self._members(*bounds, leave_out) for bounds in self._bounds)
        levels = self._levels[self.order]
        if leave_out is None:
            distances, others = self._others
            return TypicalDistances(distances[0], others[0], levels, members)
        distances, others = self._two_others
        gone = self._place(leave_out)
        is_gone = others[0] == gone
        found: Floats = np.where(is_gone, distances[1], distances[0])
        found[:, gone] = np.inf
        return TypicalDistances(found, np.where(is_gone, others[1], others[0]), levels, members)

    def _members(self, start: int, end: int, leave_out: int | None) -> NDArray[np.intp]:
        """Return the places of a class's training pictures, without the one that is left out."""
        members = np.arange(start, end)
        return members if leave_out is None else members[self.order[members] != leave_out]

    def _place(self, picture: int) -> int:
        return int(np.flatnonzero(self.order == picture)[0])

    @cached_property
    def _others(self) -> tuple[Floats, NDArray[np.int32]]:
        return self._nearest_others(1)

    @cached_property
    def _two_others(self) -> tuple[Floats, NDArray[np.int32]]:
        """The second serves where the first is left out; otherwise it is not worth its memory."""
        return self._nearest_others(2)

    def _nearest_others(self, count: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return distances and places of the nearest others of a class (nearest, block, place)."""
        shape = (count, *self.points.shape[:2])
        found = np.full(shape, np.inf, np.float32)
        places = np.empty(shape, np.int32)
        places[:] = np.arange(shape[2])

        def work(low: int, high: int) -> None:
            here = slice(low, high)
            rows = np.arange(high - low)
            for start, end in self._bounds:
                members = self.points[here, start:end]
                same = self._same[here, start:end]
                for index in range(end - start):
                    difference = members - members[:, index, None]
                    squares = np.einsum("bnf,bnf->bn", difference, difference)
                    squares[:, index] = np.inf
                    squares[same | same[:, index, None]] = np.inf
                    for nearest in range(min(count, end - start - 1)):
                        other = squares.argmin(axis=1)
                        found[nearest, here, start + index] = np.sqrt(squares[rows, other])
                        places[nearest, here, start + index] = start + other
                        squares[rows, other] = np.inf

        if len(self.points) <= _ALONE:
            for low, high in ranges(len(self.points), _CHUNK):
                work(low, high)
        else:
            with Workers() as workers:
                run(workers.each(work, len(self.points), _CHUNK))
        return found, places

    # --- votes ------------------------------------------------------------------------------------

    def _decide(self, all_distances: Floats, distances: Floats) -> NDArray[np.int16]:
        """Return the class of the nearest picture, or of most of the k nearest, or UNDECIDED.

        `all_distances` are to every picture (block, place), `distances` to every class (block,
        class).
        """
        if self._k > 1:
            return self._decide_by_count(all_distances, distances)
        winner: NDArray[np.int16] = distances.argmin(axis=1).astype(np.int16)
        winner[_tied(distances) | ~np.isfinite(distances.min(axis=1))] = UNDECIDED
        return winner

    def _decide_by_count(self, all_distances: Floats, distances: Floats) -> NDArray[np.int16]:
        """Return the class of most of the k nearest; equal counts go to the nearer class.

        A block to which the reference is nearest is as in the original, whatever comes next. Where
        several pictures are equally far and not all of them are among the k, a class wins only if
        it does so whichever of them is counted.
        """
        k = min(self._k, all_distances.shape[1])
        last = np.partition(all_distances, k - 1, axis=1)[:, k - 1, None]
        surely_counted = all_distances < last - TIE
        maybe_counted = (all_distances <= last + TIE) & np.isfinite(all_distances)
        fewest = np.add.reduceat(surely_counted, self.starts, axis=1, dtype=np.int32)
        most = np.add.reduceat(maybe_counted, self.starts, axis=1, dtype=np.int32)
        best = np.where(most == most.max(axis=1, keepdims=True), distances, np.inf)
        winner: NDArray[np.int16] = best.argmin(axis=1).astype(np.int16)
        mine = winner[:, None].astype(np.intp)

        others = most.copy()
        np.put_along_axis(others, mine, -1, axis=1)
        is_open = maybe_counted.sum(axis=1) > k
        may_lose = others.max(axis=1) >= np.take_along_axis(fewest, mine, axis=1)[:, 0]
        nearest = distances.min(axis=1)
        is_nearest = np.take_along_axis(distances, mine, axis=1)[:, 0] <= nearest + TIE
        tied = _tied(best) | (_tied(distances) & is_nearest)
        winner[(is_open & may_lose) | tied | ~np.isfinite(nearest)] = UNDECIDED
        # The reference is a single picture and would always be outvoted.
        if distances.shape[1] > 1:
            winner[distances[:, 0] < distances[:, 1:].min(axis=1) - TIE] = 0
        return winner


def _tied(distances: Floats) -> NDArray[np.bool_]:
    """Return where the two nearest of several are equally near."""
    if distances.shape[1] < 2:
        return np.zeros(len(distances), np.bool_)
    first, second = np.partition(distances, 1, axis=1)[:, :2].T
    # Infinity less infinity is NaN, which is no tie.
    with np.errstate(invalid="ignore"):
        tied: NDArray[np.bool_] = ~(second - first > TIE) & np.isfinite(second)
    return tied


def _closest(
    distances: Floats, pictures: NDArray[np.int32], winner: NDArray[np.int16]
) -> NDArray[np.int32]:
    """Return the nearest picture of the winning class, or of any if none wins; (block,)."""
    best = np.where(winner == UNDECIDED, distances.argmin(axis=1), winner)
    found: NDArray[np.int32] = np.take_along_axis(pictures, best[:, None], axis=1)[:, 0]
    return found


def _confidence(distances: Floats, winner: NDArray[np.int16]) -> Floats:
    """Return 0 where the two nearest classes are equally far, 1 where the second is not near."""
    if distances.shape[1] < 2:
        return np.ones(len(winner), np.float32)
    first, second = np.partition(distances, 1, axis=1)[:, :2].T
    # Both are infinite where a block has no neighbours at all; it is undecided and gets 0 below.
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(np.isfinite(second), (second - first) / np.maximum(second, TIE), 1.0)
    found[winner == UNDECIDED] = 0.0
    confidence: Floats = np.nan_to_num(found).astype(np.float32)
    return confidence


def unchanged(descriptors: Floats) -> NDArray[np.bool_]:
    """Return which training blocks (block, image) equal the reference's, except its own."""
    same: NDArray[np.bool_] = np.empty(descriptors.shape[:2], np.bool_)
    for low, high in ranges(len(descriptors), _CHUNK):
        part = descriptors[low:high]
        same[low:high] = (np.abs(part - part[:, :1]) <= TIE).all(axis=2)
    same[:, 0] = False
    return same


def balanced(descriptors: Floats) -> Floats:
    """Return factors (block, number) that balance a kernel's coordinates and the other numbers.

    Coordinates in a kernel's feature space have no unit; they are made to vary, over the training
    pictures, as the mean and the norms do, which are in pixels.
    """
    p = descriptors.shape[2] - EXTRA
    spread = descriptors.var(axis=1)
    inside = spread[:, :p].sum(axis=1)
    beside = spread[:, p:].sum(axis=1)
    factors = np.ones((len(descriptors), p + EXTRA), np.float32)
    ratio = np.divide(beside, inside, out=np.ones_like(inside), where=inside > 1e-20)
    factors[:, :p] = np.sqrt(ratio)[:, None]
    return factors
