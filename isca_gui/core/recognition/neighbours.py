"""The training pictures as points, per block, and how far a new picture's blocks are from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.model.descriptor import EXTRA
from isca_gui.core.parallel import ranges

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

TIE = 2e-6  # distances no further apart than rounding are the same
_AS_STRONG = 7  # levels about a picture's own that it is compared with
_CHUNK = 512  # blocks at a time: what is worked on stays in the cache


@dataclass(frozen=True, eq=False)
class NearestPictures:
    """Per block: distances to every class, the nearest picture of each, and all pictures' distances."""

    distances: Floats  # (block, class)
    pictures: NDArray[np.int32]  # (block, class)
    winner: NDArray[np.int16]  # (block,); −1 where classes tie


class Neighbours:
    """Training descriptors (block, image, number), put in order of their classes.

    A training picture whose block does not differ from the reference's is no example of damage there, and is
    left out at that block: sparse impulse noise leaves most blocks as they were.
    """

    def __init__(
        self,
        points: Floats,
        labels: Sequence[str],
        levels: NDArray[np.float64],
        *,
        same: NDArray[np.bool_] | None = None,
        neighbours: int = 1,
    ) -> None:
        self.classes = tuple(dict.fromkeys(labels))
        number = np.array([self.classes.index(label) for label in labels])
        self.order = np.argsort(number, kind="stable").astype(np.int32)
        self.points = np.ascontiguousarray(points[:, self.order])
        self.number = number[self.order].astype(np.int16)
        self.starts = np.searchsorted(self.number, np.arange(len(self.classes)))
        self._level_of, self._levels = levels, levels[self.order]
        self._same = np.zeros(points.shape[:2], np.bool_) if same is None else same[:, self.order]
        self._k = neighbours

    @property
    def reference(self) -> Floats:
        """The reference's point in every block (block, number)."""
        return self.points[:, 0]

    def near(self, points: Floats, leave_out: int | None = None) -> NearestPictures:
        """Find the nearest training pictures of a picture's blocks (block, number).

        `leave_out` is a training picture that is not to be its own neighbour.
        """
        blocks, count = len(points), len(self.classes)
        distances, pictures = (
            np.empty((blocks, count), np.float32),
            np.empty((blocks, count), np.int32),
        )
        winner = np.empty(blocks, np.int16)
        for low, high in ranges(blocks, _CHUNK):
            here = slice(low, high)
            all_ = self.all_distances(points[here], here, leave_out)
            for index, (start, end) in enumerate(self._ends):
                best = all_[:, start:end].argmin(axis=1)
                pictures[here, index] = self.order[start + best]
                distances[here, index] = np.take_along_axis(
                    all_[:, start:end], best[:, None], axis=1
                )[:, 0]
            winner[here] = self._decide(all_, distances[here])
        return NearestPictures(distances, pictures, winner)

    def all_distances(self, points: Floats, here: slice, leave_out: int | None = None) -> Floats:
        """Give the distances of some blocks' points to every training picture, in this object's order."""
        difference = self.points[here] - points[:, None]
        found: Floats = np.sqrt(np.einsum("bnf,bnf->bn", difference, difference))
        found[self._same[here]] = np.inf
        if leave_out is not None:
            found[:, self.order == leave_out] = np.inf
        return found

    def prepare(self, *, leaving_out: bool = False) -> None:
        """Find now what `usual` needs: threads that begin together would each do so."""
        _ = self._two_others if leaving_out else self._others

    def typical_distances(self, leave_out: int | None = None) -> Floats:
        """How far each training picture is from the nearest other of its class (block, image), in order.

        Infinite for a picture that is alone in its class, for the one that is left out, and at blocks that
        the picture, or all others of its class, left as they were.
        """
        if leave_out is None:
            nearest: Floats = self._others[0][0]
            return nearest
        distances, places = self._two_others
        gone = self._place(leave_out)
        found: Floats = np.where(places[0] == gone, distances[1], distances[0])
        found[:, gone] = np.inf
        return found

    def members(self, index: int, leave_out: int | None = None) -> NDArray[np.intp]:
        """Give the places, in this object's order, of a class's training pictures."""
        members = np.arange(*self._ends[index])
        return members if leave_out is None else members[self.order[members] != leave_out]

    def median_spacing(self, leave_out: int | None = None) -> float:
        """How far a training picture is from the nearest other of its class, over all blocks; the median.

        Averaged over the blocks first: of a page of print most blocks are plain, and do not move at all.
        """
        typical_distances = self.typical_distances(leave_out)
        there = np.isfinite(typical_distances)
        means = np.where(there, typical_distances, 0).mean(axis=0)[there.any(axis=0)]
        return float(np.median(means)) if len(means) else np.inf

    def ranks(
        self, near: NearestPictures, at: Mapping[int, float], leave_out: int | None = None
    ) -> Floats:
        """Give how usual each block's distance to its winning class is: 1 is usual, 0 is not.

        The rank among the distances that the class's own pictures have with one level left out, those of
        about the same strength: noise lies the further apart the stronger it is. Pictures that left a block
        as it was do not count there. `at` is the MSE of a class's blocks where it is known better than by
        their nearest pictures. Where the class has fewer than two pictures there are no such distances:
        anything but that picture itself is unusual.
        """
        found = np.ones(len(near.winner), np.float32)
        typical_distances = self.typical_distances(leave_out)
        for index in range(len(self.classes)):
            mine = np.flatnonzero(near.winner == index)
            if not len(mine):
                continue
            distance, members = near.distances[mine, index], self.members(index, leave_out)
            level = at.get(index) or float(np.median(self._level_of[near.pictures[mine, index]]))
            by_level = np.argsort(np.abs(self._levels[members] - level), kind="stable")
            others = typical_distances[np.ix_(mine, members[by_level])]
            counted = np.isfinite(others)
            counted &= np.cumsum(counted, axis=1) <= _AS_STRONG
            further, count = (
                (counted & (others >= distance[:, None])).sum(axis=1),
                counted.sum(axis=1),
            )
            alone = np.where(distance <= TIE, 1.0, 0.5)
            found[mine] = np.where(count > 0, (1 + further) / (1 + count), alone)
        return found

    def disagreement(
        self, near: NearestPictures, index: int, level: float, leave_out: int | None = None
    ) -> float:
        """Give how much a class's blocks disagree on the strength, beside what is usual for the class.

        A picture has one strength. Where bright and dark places are hit differently, as by speckle noise, or
        where the class is only the nearest of wrong ones, blocks are nearest to pictures of many levels.
        """
        members = self.members(index, leave_out)
        typical_distances = self._off(members, leave_out) if len(members) > 1 else 0.0
        mine = near.pictures[near.winner == index, index]
        if typical_distances <= 0 or level <= 0 or not len(mine):
            return 1.0
        return (
            float(np.abs(_logarithms(self._level_of[mine]) - _logarithms(level)).mean())
            / typical_distances
        )

    def _off(self, members: NDArray[np.intp], leave_out: int | None) -> float:
        """How far off in level the nearest other of its class is, for some pictures, on average."""
        if leave_out is None:
            distances, others = (each[0][:, members] for each in self._others)
        else:
            (near, next_), (first, second) = (each[:, :, members] for each in self._two_others)
            gone = first == self._place(leave_out)
            distances, others = np.where(gone, next_, near), np.where(gone, second, first)
        logarithms = _logarithms(self._levels)
        off = np.abs(logarithms[others] - logarithms[members])[np.isfinite(distances)]
        return float(off.mean()) if len(off) else 0.0

    def _place(self, picture: int) -> int:
        return int(np.flatnonzero(self.order == picture)[0])

    @cached_property
    def _others(self) -> tuple[Floats, NDArray[np.int32]]:
        return self._nearest_others(1)

    @cached_property
    def _two_others(self) -> tuple[Floats, NDArray[np.int32]]:
        """The second serves where the first is left out; else it is not worth its memory."""
        return self._nearest_others(2)

    def _nearest_others(self, count: int) -> tuple[Floats, NDArray[np.int32]]:
        """Find the nearest other pictures of its class: distances and places (nearest, block, image)."""
        shape = (count, *self.points.shape[:2])
        found, places = np.full(shape, np.inf, np.float32), np.empty(shape, np.int32)
        places[:] = np.arange(shape[2])
        for low, high in ranges(len(self.points), _CHUNK):
            here, rows = slice(low, high), np.arange(high - low)
            for start, end in self._ends:
                members, same = self.points[here, start:end], self._same[here, start:end]
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
        return found, places

    @property
    def _ends(self) -> list[tuple[int, int]]:
        ends = [*self.starts[1:], len(self.number)]
        return list(zip(self.starts.tolist(), map(int, ends), strict=True))

    def _decide(self, all_: Floats, distances: Floats) -> NDArray[np.int16]:
        """Give the class of the nearest picture, or of most of the k nearest; −1 where classes tie."""
        if self._k > 1:
            return self._most(all_, distances)
        winner: NDArray[np.int16] = distances.argmin(axis=1).astype(np.int16)
        winner[_tied(distances) | ~np.isfinite(distances.min(axis=1))] = -1
        return winner

    def _most(self, all_: Floats, distances: Floats) -> NDArray[np.int16]:
        """Count the classes of the k nearest; equal counts go to the nearer class, if one is nearer.

        A block to which the reference is nearest is as in the original, whatever comes next.
        Where several pictures are equally far and not all of them are among the k, a class wins only if it
        does so whichever of them is counted.
        """
        k = min(self._k, all_.shape[1])
        last = np.partition(all_, k - 1, axis=1)[:, k - 1, None]
        inside, possible = all_ < last - TIE, (all_ <= last + TIE) & np.isfinite(all_)
        sure, most = (
            np.add.reduceat(x, self.starts, axis=1, dtype=np.int32) for x in (inside, possible)
        )
        best = np.where(most == most.max(axis=1, keepdims=True), distances, np.inf)
        winner: NDArray[np.int16] = best.argmin(axis=1).astype(np.int16)
        mine = winner[:, None].astype(np.intp)
        others = most.copy()
        np.put_along_axis(others, mine, -1, axis=1)
        open_ = possible.sum(axis=1) > k
        lost = others.max(axis=1) >= np.take_along_axis(sure, mine, axis=1)[:, 0]
        nearest = distances.min(axis=1)
        alike = _tied(distances) & (
            np.take_along_axis(distances, mine, axis=1)[:, 0] <= nearest + TIE
        )
        winner[(open_ & lost) | _tied(best) | alike | ~np.isfinite(nearest)] = -1
        if distances.shape[1] > 1:  # the reference is one picture and would always be outvoted
            winner[distances[:, 0] < distances[:, 1:].min(axis=1) - TIE] = 0
        return winner


def _tied(distances: Floats) -> NDArray[np.bool_]:
    """Tell where the two nearest of several are equally near."""
    if distances.shape[1] < 2:
        return np.zeros(len(distances), np.bool_)
    first, second = np.partition(distances, 1, axis=1)[:, :2].T
    with np.errstate(invalid="ignore"):
        tied: NDArray[np.bool_] = ~(second - first > TIE) & np.isfinite(second)
    return tied


def _logarithms(levels: NDArray[np.float64] | float) -> NDArray[np.float64]:
    logarithms: NDArray[np.float64] = np.log(np.maximum(levels, 1e-6))
    return logarithms


def unchanged(descriptors: Floats) -> NDArray[np.bool_]:
    """Tell which training blocks (block, image) equal the reference's, apart from the reference's own."""
    same: NDArray[np.bool_] = (np.abs(descriptors - descriptors[:, :1]) <= TIE).all(axis=2)
    same[:, 0] = False
    return same


def balanced(descriptors: Floats) -> Floats:
    """Give factors (block, number) that let a kernel's coordinates weigh as much as the numbers beside them.

    Coordinates in a kernel's feature space have no unit; they are made to vary, over the training pictures,
    as the mean and the norms do, which are in pixels.
    """
    p = descriptors.shape[2] - EXTRA
    spread = descriptors.var(axis=1)
    inside, beside = spread[:, :p].sum(axis=1), spread[:, p:].sum(axis=1)
    factors = np.ones((len(descriptors), p + EXTRA), np.float32)
    ratio = np.divide(beside, inside, out=np.ones_like(inside), where=inside > 1e-20)
    factors[:, :p] = np.sqrt(ratio)[:, None]
    return factors
