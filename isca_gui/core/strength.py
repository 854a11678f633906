"""Find the strength of a distortion that gives a wanted MSE.

A ladder of doubling strengths finds the rungs between which the MSE passes the target; a safeguarded secant
on the logarithms, where MSE against strength is nearly a straight line, does the rest in two to four
evaluations. The ladder of a kind is climbed once and serves all its levels.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core import distortions
from isca_gui.core.distortions import mse

if TYPE_CHECKING:
    from isca_gui.core.distortions import Apply, Distortion, Picture

    Point = tuple[float, float]  # a strength and the MSE it gives

RUNGS = 16
FINER = 3
ABSOLUTE_TOLERANCE = 0.05  # units of MSE within which the search always stops
_MOST_EVALUATIONS = 80


class UnreachableError(Exception):
    """A picture cannot be distorted to an MSE; `maximum` is the largest it can be."""

    def __init__(self, kind: str, target: float, maximum: float) -> None:
        super().__init__(f"{kind} reaches at most MSE {maximum:.4g} on this picture, not {target:g}")
        self.kind, self.target, self.maximum = kind, target, maximum


@dataclass(frozen=True)
class Distorted:
    """A picture distorted to a wanted MSE: all that is needed to make it again."""

    picture: Picture
    kind: str
    target_mse: float
    achieved_mse: float
    strength: float
    seed: int


class Ladder:
    """MSE at doubling strengths, with two more inside each doubling in which a target lies."""

    def __init__(self, apply: Apply, against: Picture, strongest: float) -> None:
        self.apply, self._against, self._strongest = apply, against, strongest
        self._rungs: list[Point] = [(0.0, 0.0)]
        self._between: dict[Point, list[Point]] = {}

    def climb(self, targets: tuple[float, ...]) -> None:
        """Evaluate all that `bracket` needs for these targets."""
        for index in range(RUNGS + 1):
            self._rungs.append(self._point(self._strongest * 2.0 ** (index - RUNGS)))
            if self._rungs[-1][1] >= max(targets):
                break
        for target in targets:
            crossing = _crossing(self._rungs, target)
            if crossing is not None and crossing[0] not in self._between and crossing[0][0] > 0:
                low, high = crossing
                ratio = high[0] / low[0]
                inner = [self._point(low[0] * ratio ** (part / FINER)) for part in range(1, FINER)]
                self._between[low] = [low, *inner, high]

    def bracket(self, target: float) -> tuple[Point, Point, float] | None:
        """Give points below and above the target and an interpolated strength; None if it is out of reach.

        What comes out for a target does not depend on the other targets that were climbed for.
        """
        coarse = _crossing(self._rungs, target)
        if coarse is None:
            return None
        near = self._between.get(coarse[0], list(coarse))
        low, high = _crossing(near, target) or coarse
        guess = _between(low, high, target)
        if len(near) == FINER + 1 and all(first[1] < second[1] for first, second in itertools.pairwise(near)):
            cubic = math.exp(_lagrange([(math.log(m), math.log(s)) for s, m in near], math.log(target)))
            guess = cubic if low[0] < cubic < high[0] else guess
        return low, high, guess

    @property
    def maximum(self) -> float:
        """The largest MSE met."""
        return max(error for _, error in self._rungs)

    def _point(self, strength: float) -> Point:
        return strength, mse(self.apply(strength), self._against)


def _crossing(points: list[Point], target: float) -> tuple[Point, Point] | None:
    """Give the first two neighbours between which the MSE rises past the target."""
    for low, high in itertools.pairwise(points):
        if low[1] < target <= high[1]:
            return low, high
    return None


def ladder_for(
    picture: Picture, distortion: Distortion, against: Picture, targets: tuple[float, ...]
) -> Ladder:
    """Climb the ladder of one distortion of `picture`, its errors measured against another picture."""
    # A seed of its own: other noise of the same strength has nearly the same MSE, and no level's own noise
    # may depend on which levels are made beside it.
    apply = distortion.prepare(picture, np.random.default_rng(0))
    ladder = Ladder(apply, against, distortion.strongest)
    ladder.climb(targets)
    return ladder


def distort(
    reference: Picture, kind: str, target: float, seed: int, ladder: Ladder | None = None
) -> Distorted:
    """Distort a picture to an MSE; a mixture's first part goes half the way, its second the rest.

    `ladder` is that of `kind` on `reference`, if the caller has climbed it already; it changes no result.
    """
    rows = distortions.parts(kind)
    picture = reference
    for position, row in enumerate(rows):
        goal = target * (position + 1) / len(rows)
        shared = (
            ladder if ladder is not None and len(rows) == 1 else ladder_for(picture, row, reference, (goal,))
        )
        noise = np.random.default_rng([seed, position])
        apply = row.prepare(picture, noise) if row.random else shared.apply
        search = _Search(apply, reference, goal, row)
        search.run(shared, kind, target)
        strength, achieved, picture = search.best
    return Distorted(picture, kind, target, achieved, strength, seed)


class _Search:
    """One search for a strength: remembers the best picture met and the closest strengths on both sides."""

    def __init__(self, apply: Apply, reference: Picture, goal: float, row: Distortion) -> None:
        self._apply, self._reference, self._goal = apply, reference, goal
        self._strongest = row.strongest
        self._tolerance = max(ABSOLUTE_TOLERANCE, row.tolerance * goal)
        self.best: tuple[float, float, Picture] = (0.0, math.inf, reference)

    @property
    def done(self) -> bool:
        return abs(self.best[1] - self._goal) <= self._tolerance

    def run(self, ladder: Ladder, kind: str, target: float) -> None:
        bracket = ladder.bracket(self._goal)
        if bracket is None:
            raise UnreachableError(kind, target, ladder.maximum * target / self._goal)
        low, high, guess = bracket
        first = (guess, self._evaluate(guess))
        low, high = self._bracket(first, low, high, kind, target)
        self._close_in(low, high)

    def _evaluate(self, strength: float) -> float:
        picture = self._apply(strength)
        error = mse(picture, self._reference)
        if abs(error - self._goal) < abs(self.best[1] - self._goal):
            self.best = (strength, error, picture)
        return error

    def _bracket(
        self, first: Point, low: Point, high: Point,
        kind: str, target: float,
    ) -> tuple[Point, Point]:  # fmt: skip
        """Give two strengths of this very noise between which the goal lies, starting from a guess."""
        steepness = _steepness(low, high)
        ends = [first, first]  # below, above
        step = 1.0
        while not self.done and not ends[0][1] < self._goal <= ends[1][1]:
            rising = ends[1][1] < self._goal
            strength, error = ends[1 if rising else 0]
            if rising and strength >= self._strongest:
                raise UnreachableError(kind, target, error)
            # First right at the goal, then past it, so that it comes to lie in between.
            aim = abs(math.log(self._goal / error)) / steepness * step if error > 0 else math.log(2)
            step *= 2
            factor = math.exp(min(max(aim, 1e-4), 2.0))
            strength = min(strength * factor, self._strongest) if rising else strength / factor
            ends[1 if rising else 0] = (strength, self._evaluate(strength))
            if not rising and strength < 1e-12 * self._strongest:
                break
        return ends[0], ends[1]

    def _close_in(self, low: Point, high: Point) -> None:
        """Secant on the logarithms, halved where it would stay at one end (Illinois)."""
        for turn in range(_MOST_EVALUATIONS):
            if self.done or high[0] - low[0] <= 1e-9 * high[0]:
                return
            strength = _between(low, high, self._goal) if turn % 3 < 2 else math.sqrt(low[0] * high[0])
            error = self._evaluate(strength)
            if error < self._goal:
                low = (strength, error)
            else:
                high = (strength, error)


def _between(low: Point, high: Point, goal: float) -> float:
    """Interpolate the strength for `goal` on logarithms, strictly inside the ends."""
    if low[0] <= 0 or low[1] <= 0:
        return high[0] * min(max(math.sqrt(goal / high[1]), 0.05), 0.95)
    share = math.log(goal / low[1]) / _steepness(low, high) / math.log(high[0] / low[0])
    return float(low[0] * (high[0] / low[0]) ** min(max(share, 0.02), 0.98))


def _lagrange(points: list[Point], at: float) -> float:
    """Evaluate the polynomial through some points (x, y)."""
    total = 0.0
    for index, (x, y) in enumerate(points):
        others = [other for place, (other, _) in enumerate(points) if place != index]
        total += y * math.prod((at - other) / (x - other) for other in others)
    return total


def _steepness(low: Point, high: Point) -> float:
    """Give d log MSE / d log strength between two points, about 2 for small distortions."""
    if low[0] <= 0 or low[1] <= 0 or high[1] <= low[1]:
        return 2.0
    return max(math.log(high[1] / low[1]) / math.log(high[0] / low[0]), 1e-3)
