"""Find the strength of a distortion that gives a wanted MSE.

A ladder of doubling strengths finds the rungs between which the MSE passes the target; a safeguarded secant
on the logarithms, where MSE against strength is nearly a straight line, does the rest in one to four
evaluations. The ladder of a kind is climbed once and serves all its levels; where the MSE can be foreseen
(`foresight.py`), climbing it distorts no picture.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.distortion import distortions
from isca_gui.core.distortion.distortions import mse

if TYPE_CHECKING:
    from collections.abc import Callable

    from isca_gui.core.distortion.distortions import Apply, Distortion, Picture

    Point = tuple[float, float]  # a strength and the MSE it gives

FINER = 3
ABSOLUTE_TOLERANCE = 0.05  # units of MSE within which the search always stops
_MOST_EVALUATIONS = 80


class UnreachableError(Exception):
    """A picture cannot be distorted to an MSE; `maximum` is the largest it can be, or the nearest above.

    That of a mixture is out of reach too: its second part came so far after half of `target` by the first.
    """

    def __init__(self, kind: str, target: float, maximum: float) -> None:
        self.kind, self.target, self.maximum = kind, target, maximum
        mixed = (
            len(distortions.parts_of(kind)) > 1
        )  # for a lower target its first part goes less far, too
        bound = (
            "comes no nearer than"
            if maximum >= target
            else "stays below"
            if mixed
            else "reaches at most"
        )
        super().__init__(f"{kind} {bound} MSE {maximum:.4g} on this picture, not {target:g}")


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
    """MSE at doubling strengths, with two more inside each doubling in which a target lies.

    Where the MSE is foreseen, every strength is cheap: then all doublings are climbed and guesses refined.
    """

    def __init__(
        self,
        row: Distortion,
        measure: Callable[[float], float],
        apply: Apply | None,
        *,
        foreseen: bool,
    ) -> None:
        self._row, self._measure = row, measure
        self.foreseen = foreseen
        self.apply = apply  # the distortion itself where no randomness is in it
        self._rungs: list[Point] = [(0.0, 0.0)]
        self._between: dict[Point, list[Point]] = {}

    def climb(self, targets: tuple[float, ...]) -> None:
        """Evaluate all that `guess` needs for these targets."""
        for index in range(-self._row.rungs, 1):
            self._rungs.append(self._point(self._row.strongest * 2.0**index))
            if not self.foreseen and self._rungs[-1][1] >= max(targets):
                break
        for target in () if self.foreseen else targets:
            crossing = _crossing(self._rungs, target)
            if crossing is not None and crossing[0] not in self._between and crossing[0][0] > 0:
                low, high = crossing
                ratio = high[0] / low[0]
                inner = [self._point(low[0] * ratio ** (part / FINER)) for part in range(1, FINER)]
                self._between[low] = [low, *inner, high]

    def guess(self, target: float) -> tuple[float, float] | None:
        """Give a strength for a target and d log MSE / d log strength; None if the target is out of reach.

        What comes out for a target does not depend on the other targets that were climbed for.
        """
        coarse = _crossing(self._rungs, target)
        if coarse is None:
            return None
        if self.foreseen:
            start = _between(*coarse, target)
            tolerance = self._row.tolerance * target / 4
            return _close_in(self._measure, start, *coarse, target, tolerance), _steepness(*coarse)
        near = self._between.get(coarse[0], list(coarse))
        low, high = _crossing(near, target) or coarse
        guess = _between(low, high, target)
        rises = all(
            first[1] < second[1] for first, second in itertools.pairwise([(0.0, 0.0), *near])
        )
        if len(near) == FINER + 1 and rises:
            cubic = math.exp(
                _lagrange([(math.log(m), math.log(s)) for s, m in near], math.log(target))
            )
            guess = cubic if low[0] < cubic < high[0] else guess
        return guess, _steepness(low, high)

    def corrected(self, target: float, strength: float, error: float) -> float | None:
        """Guess again, knowing what MSE a strength near the wanted one really has."""
        if not self.foreseen or error <= 0:
            return None
        target *= self._measure(strength) / error
        found = self.guess(target)
        if found is None:
            return None
        step = self._row.nearest_step(found[0])
        near_enough = abs(self._measure(step) - target) <= self._row.tolerance * target / 2
        return step if near_enough else found[0]

    @property
    def maximum(self) -> float:
        """The largest MSE met."""
        return max(error for _, error in self._rungs)

    def _point(self, strength: float) -> Point:
        return strength, self._measure(strength)


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
    prepare = functools.partial(distortion.prepare, picture, np.random.default_rng(0))
    if distortion.predict_mse is not None and against is picture:
        apply = None if distortion.random else prepare()
        ladder = Ladder(distortion, distortion.predict_mse(picture), apply, foreseen=True)
    else:
        apply = prepare()
        ladder = Ladder(
            distortion, lambda strength: mse(apply(strength), against), apply, foreseen=False
        )
    ladder.climb(targets)
    return ladder


def distort(
    reference: Picture, kind: str, target: float, seed: int, ladder: Ladder | None = None
) -> Distorted:
    """Distort a picture to an MSE; a mixture's first part goes half the way, its second the rest.

    `ladder` is that of `kind` on `reference`, if the caller has climbed it already; it changes no result.
    """
    rows = distortions.parts(kind)
    picture = reference = distortions.checked(reference)
    for position, row in enumerate(rows):
        goal = target * (position + 1) / len(rows)
        shared = (
            ladder
            if ladder is not None and len(rows) == 1
            else ladder_for(picture, row, reference, (goal,))
        )
        apply = shared.apply
        if row.random or apply is None:
            apply = row.prepare(picture, np.random.default_rng([seed, position]))
        search = _Search(apply, reference, goal, row)
        most = search.run(shared)
        if most is not None:
            raise UnreachableError(kind, target, most * target / goal)
        strength, achieved, picture = search.best
    if not search.done:  # too little for a picture of whole grey levels, say
        raise UnreachableError(kind, target, achieved)
    return Distorted(picture, kind, target, achieved, strength, seed)


class _Search:
    """One search for a strength: remembers the best picture met and the closest strengths on both sides."""

    def __init__(self, apply: Apply, reference: Picture, goal: float, row: Distortion) -> None:
        self._apply, self._reference, self._goal, self._row = apply, reference, goal, row
        self._tolerance = max(ABSOLUTE_TOLERANCE, row.tolerance * goal)
        self.best: tuple[float, float, Picture] = (0.0, math.inf, reference)

    @property
    def done(self) -> bool:
        return abs(self.best[1] - self._goal) <= self._tolerance

    def run(self, ladder: Ladder) -> float | None:
        """Find the strength, or give the largest MSE there is if that is less than the goal."""
        found = ladder.guess(self._goal)
        if found is None and not ladder.foreseen:
            return ladder.maximum
        guess, steepness = found or (self._row.strongest, 2.0)
        guess = self._row.nearest_step(guess)
        points = [(guess, self._evaluate(guess))]
        again = None if self.done else ladder.corrected(self._goal, *points[0])
        if again is not None:
            points.append((again, self._evaluate(again)))
        ends = self._bracket(points, steepness)
        if ends is None:
            return self.best[1]
        if not self.done:
            low, high = ends
            start = _between(low, high, self._goal)
            _close_in(self._evaluate, start, low, high, self._goal, self._tolerance)
        return None

    def _evaluate(self, strength: float) -> float:
        picture = self._apply(strength)
        error = mse(picture, self._reference)
        if abs(error - self._goal) < abs(self.best[1] - self._goal):
            self.best = (strength, error, picture)
        return error

    def _bracket(self, points: list[Point], steepness: float) -> tuple[Point, Point] | None:
        """Give two strengths of this very noise between which the goal lies, starting from a guess or two."""
        strongest = self._row.strongest
        ends = [min(points, key=_error), max(points, key=_error)]  # below, above
        step = 1.0
        while not self.done and not ends[0][1] < self._goal <= ends[1][1]:
            rising = ends[1][1] < self._goal
            strength, error = ends[1 if rising else 0]
            if rising and strength >= strongest:
                return None
            # First right at the goal, then past it, so that it comes to lie in between.
            aim = abs(math.log(self._goal / error)) / steepness * step if error > 0 else math.log(2)
            step *= 2
            factor = math.exp(min(max(aim, 1e-4), 2.0))
            strength = min(strength * factor, strongest) if rising else strength / factor
            ends[1 if rising else 0] = (strength, self._evaluate(strength))
            if not rising and strength < 1e-12 * strongest:
                break
        return ends[0], ends[1]


def _error(point: Point) -> float:
    return point[1]


def _close_in(
    measure: Callable[[float], float], strength: float, low: Point, high: Point,
    goal: float, tolerance: float,
) -> float:  # fmt: skip
    """Secant on the logarithms from a strength between two ends, with a halving every third time."""
    for turn in range(_MOST_EVALUATIONS):
        error = measure(strength)
        if abs(error - goal) <= tolerance:
            break
        if error < goal:
            low = (strength, error)
        else:
            high = (strength, error)
        if abs(high[0] - low[0]) <= 1e-9 * high[0]:
            break
        halved = math.sqrt(low[0] * high[0]) or high[0] / 2
        strength = halved if turn % 3 == 1 else _between(low, high, goal)
    return strength


def _between(low: Point, high: Point, goal: float) -> float:
    """Interpolate the strength for `goal` on logarithms, strictly inside the ends."""
    if low[0] <= 0:
        return high[0] * min(max(math.sqrt(goal / high[1]), 0.05), 0.95)
    if low[1] <= 0:
        return math.sqrt(low[0] * high[0])
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
