"""How typical the distances of a picture's blocks are of the class that it is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.distortion.distortions import ORIGINAL
from isca_gui.core.recognition.neighbours import TIE, UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.recognition.neighbours import Floats, NearestPictures

# A block's distance is ranked among those of this many training pictures of about the same
# strength.
_AS_STRONG = 7
# Distances count as equally typical within this factor: in dark places many are the same, and
# stored descriptors are rounded.
_ABOUT = np.float32(1 + 2.0**-6)
# Blocks that agree on the strength better than this do not make a picture any less unusual.
_LEAST_DISAGREEMENT = 0.05


@dataclass(frozen=True, eq=False)
class Typicality:
    """How well a picture fits what it is called."""

    rank: Floats  # (block,), above 0 to 1: how typical the distance is for the class
    unusual: float  # 0 for the original; above, the higher, the worse the picture fits


def typicality(near: NearestPictures, label: str, mse: float) -> Typicality:
    """Return how typical a picture is that is called `label` and has this MSE."""
    rank = _ranks(near, label, mse)
    return Typicality(rank, _unusual(near, rank, label, mse))


def _ranks(near: NearestPictures, label: str, mse: float) -> Floats:
    """Return how typical each block's distance to its winning class is, above 0 to 1; (block,).

    The rank is taken among the distances that the class's own pictures of about the same strength
    have from each other: noise lies the further apart the stronger it is. Pictures that left a
    block as it was do not count there. Where the class has fewer than two pictures there are no
    such distances, and anything but that picture itself is unusual.
    """
    found = np.ones(len(near.winner), np.float32)
    typical = near.typical
    for index, name in enumerate(near.classes):
        mine = np.flatnonzero(near.winner == index)
        if not len(mine):
            continue
        distance = near.distances[mine, index]
        members = typical.members[index]
        # Of the class that the picture is called, more is known than its nearest pictures say.
        level = mse if name == label else 0.0
        if not level:
            level = float(np.median(near.levels[near.pictures[mine, index]]))
        by_level = np.argsort(np.abs(typical.levels[members] - level), kind="stable")
        others = typical.distances[np.ix_(mine, members[by_level])]
        counted = np.isfinite(others)
        counted &= np.cumsum(counted, axis=1) <= _AS_STRONG
        count = counted.sum(axis=1)
        further = (counted & (others * _ABOUT >= distance[:, None])).sum(axis=1)
        alone = np.where(distance <= TIE, 1.0, 0.5)
        found[mine] = np.where(count > 0, (1 + further) / (1 + count), alone)
    return found


def _unusual(near: NearestPictures, rank: Floats, label: str, mse: float) -> float:
    """Return the mean −log rank of damaged blocks plus the log of their disagreement."""
    classes = near.classes
    if label not in classes or label == ORIGINAL:
        return 0.0
    damaged = near.winner != UNDECIDED
    if ORIGINAL in classes:
        damaged &= near.winner != classes.index(ORIGINAL)
    if not damaged.any():
        return 0.0
    disagreement = _disagreement(near, classes.index(label), mse)
    strangeness = float(-np.log(rank[damaged]).mean())
    return strangeness + float(np.log(max(disagreement, _LEAST_DISAGREEMENT)))


def _disagreement(near: NearestPictures, index: int, mse: float) -> float:
    """Return how much a class's blocks disagree on the strength, as a multiple of the typical.

    A picture has one strength. Where bright and dark places are hit differently, as by speckle
    noise, or where the class is only the nearest of wrong ones, blocks are nearest to pictures of
    many levels.
    """
    typical = _typical_level_gap(near, index)
    mine = near.pictures[near.winner == index, index]
    if typical <= 0 or mse <= 0 or not len(mine):
        return 1.0
    gaps = np.abs(_logarithms(near.levels[mine]) - _logarithms(mse))
    return float(gaps.mean()) / typical


def _typical_level_gap(near: NearestPictures, index: int) -> float:
    """Return the mean difference in log MSE between a class's pictures and their nearest others."""
    typical = near.typical
    members = typical.members[index]
    if len(members) < 2:
        return 0.0
    logarithms = _logarithms(typical.levels)
    gaps = np.abs(logarithms[typical.others[:, members]] - logarithms[members])
    gaps = gaps[np.isfinite(typical.distances[:, members])]
    return float(gaps.mean()) if len(gaps) else 0.0


def _logarithms(levels: NDArray[np.float64] | float) -> NDArray[np.float64]:
    logarithms: NDArray[np.float64] = np.log(np.maximum(levels, 1e-6))
    return logarithms
