"""Finds the strength of a distortion that gives a wanted MSE.

The MSE is sampled at doubling strengths to find the two between which it passes the target. On
logarithms MSE against strength is nearly a straight line, so a safeguarded secant method does the
rest in one to four evaluations. The samples of a kind are taken once and serve all its levels;
where the MSE can be predicted (`mse_prediction.py`), taking them distorts no picture.
"""

from __future__ import annotations

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

    # A strength and the MSE it gives.
    Point = tuple[float, float]

# Steps into which a doubling of the strength is divided where a target lies inside it.
FINER = 3
# Units of MSE within which the search always stops.
ABSOLUTE_TOLERANCE = 0.05
_MOST_EVALUATIONS = 80


def load_libraries() -> None:
    """Import what the distortions import when they are first used.

    Before large arrays take the memory: OpenBLAS, which comes with SciPy, tries for ever to get
    what it needs when it is loaded.
    """
    from scipy import fft, special  # noqa: F401


class UnreachableError(Exception):
    """A picture cannot be distorted to an MSE.

    `maximum` is the largest MSE that it can reach, or the nearest one above the target. For a
    mixture it is only an upper bound: its second part reached so much after the first part had
    contributed half of `target`, and for a lower target the first part contributes less.
    """

    def __init__(self, kind: str, target: float, maximum: float) -> None:
        self.kind = kind
        self.target = target
        self.maximum = maximum
        if maximum >= target:
            bound = "comes no nearer than"
        elif len(distortions.parts_of(kind)) > 1:
            bound = "stays below"
        else:
            bound = "reaches at most"
        super().__init__(f"{kind} {bound} MSE {maximum:.4g} on this picture, not {target:g}")


@dataclass(frozen=True)
class Distorted:
    """A picture distorted to a wanted MSE, with all that is needed to make it again."""

    picture: Picture
    kind: str
    target_mse: float
    achieved_mse: float
    strength: float
    seed: int


class MseCurve:
    """The MSE of one distortion of a picture, sampled at doubling strengths.

    Where the MSE is predicted, every sample is cheap: then all doublings are sampled and guesses
    are refined. Where it is measured, two more samples are taken inside each doubling in which a
    target lies.

    Parameters
    ----------
    row
        The distortion.
    measure
        Returns the MSE at a strength, measured or predicted.
    apply
        The prepared distortion, to be used by all searches; None if each prepares its own.
    predicted
        Whether `measure` predicts.
    """

    def __init__(
        self,
        row: Distortion,
        measure: Callable[[float], float],
        apply: Apply | None,
        *,
        predicted: bool,
    ) -> None:
        self._row = row
        self._measure = measure
        self.predicted = predicted
        self.apply = apply
        self._samples: list[Point] = [(0.0, 0.0)]
        self._finer: dict[Point, list[Point]] = {}

    def sample(self, targets: tuple[float, ...]) -> None:
        """Take all samples that `guess` needs for these targets."""
        for index in range(-self._row.doublings, 1):
            self._samples.append(self._point(self._row.strongest * 2.0**index))
            if not self.predicted and self._samples[-1][1] >= max(targets):
                break
        if self.predicted:
            return
        for target in targets:
            crossing = _crossing(self._samples, target)
            if crossing is not None and crossing[0] not in self._finer and crossing[0][0] > 0:
                low, high = crossing
                ratio = high[0] / low[0]
                inner = [self._point(low[0] * ratio ** (part / FINER)) for part in range(1, FINER)]
                self._finer[low] = [low, *inner, high]

    def guess(self, target: float) -> tuple[float, float] | None:
        """Return a strength for a target and d log MSE / d log strength; None if out of reach.

        The result for a target does not depend on the other targets that were sampled for.
        """
        coarse = _crossing(self._samples, target)
        if coarse is None:
            return None
        low, high = coarse
        if self.predicted:
            start = _interpolated(low, high, target)
            tolerance = self._row.tolerance * target / 4
            strength = _secant(self._measure, start, low, high, target, tolerance)
            return strength, _slope(low, high)
        near = self._finer.get(low, [low, high])
        low, high = _crossing(near, target) or coarse
        guess = _interpolated(low, high, target)
        errors = [0.0, *(error for _, error in near)]
        rises = all(first < second for first, second in itertools.pairwise(errors))
        if len(near) == FINER + 1 and rises:
            # A cubic through four samples is closer than the chord, if it stays inside the bracket.
            logarithms = [(math.log(error), math.log(strength)) for strength, error in near]
            cubic = math.exp(_lagrange(logarithms, math.log(target)))
            if low[0] < cubic < high[0]:
                guess = cubic
        return guess, _slope(low, high)

    def corrected(self, target: float, strength: float, error: float) -> float | None:
        """Return a better guess, given the true MSE of a strength near the wanted one.

        Predictions are off by nearly the same factor at neighbouring strengths. None where the
        MSE is not predicted.
        """
        if not self.predicted or error <= 0:
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
        """The largest MSE among the samples."""
        return max(error for _, error in self._samples)

    def _point(self, strength: float) -> Point:
        return strength, self._measure(strength)


def mse_curve(
    picture: Picture, row: Distortion, reference: Picture, targets: tuple[float, ...]
) -> MseCurve:
    """Sample the MSE of one distortion of a picture against a reference.

    Parameters
    ----------
    picture
        The picture to distort, (height, width).
    row
        The distortion.
    reference
        The picture that errors are measured against; for the second part of a mixture it is not
        `picture`.
    targets
        The MSEs that strengths will be searched for.
    """
    # A fixed seed: other noise of the same strength has nearly the same MSE, and the noise of no
    # level may depend on which levels are made beside it.
    random = np.random.default_rng(0)
    if row.predict_mse is not None and reference is picture:
        apply = None if row.random else row.prepare(picture, random)
        curve = MseCurve(row, row.predict_mse(picture), apply, predicted=True)
    else:
        prepared = row.prepare(picture, random)
        curve = MseCurve(
            row, lambda strength: mse(prepared(strength), reference), prepared, predicted=False
        )
    curve.sample(targets)
    return curve


def distort(
    reference: Picture, kind: str, target: float, seed: int, curve: MseCurve | None = None
) -> Distorted:
    """Distort a picture to an MSE.

    The first part of a mixture goes half the way, its second part the rest.

    Parameters
    ----------
    reference
        Shape (height, width), intensities in [0, 1].
    kind
        A distortion of the table or a mixture of two, such as `blur+jpeg`.
    target
        The wanted MSE on the 0 to 255 scale.
    seed
        Seed of the noise.
    curve
        The curve of `kind` on `reference`, if the caller has sampled it already; it changes no
        result.

    Raises
    ------
    UnreachableError
        Where the picture cannot reach the MSE.
    """
    rows = distortions.table_rows(kind)
    reference = distortions.checked_reference(reference)
    picture = reference
    for position, row in enumerate(rows):
        goal = target * (position + 1) / len(rows)
        if curve is None or len(rows) > 1:
            curve = mse_curve(picture, row, reference, (goal,))
        apply = curve.apply
        if row.random or apply is None:
            apply = row.prepare(picture, np.random.default_rng([seed, position]))
        search = _Search(apply, reference, goal, row)
        most = search.run(curve)
        if most is not None:
            raise UnreachableError(kind, target, most * target / goal)
        strength, achieved, picture = search.best
    if not search.done:
        # The target lies between two MSEs that the picture can have, such as whole grey levels.
        raise UnreachableError(kind, target, achieved)
    return Distorted(picture, kind, target, achieved, strength, seed)


class _Search:
    """One search for a strength; remembers the best picture found."""

    def __init__(self, apply: Apply, reference: Picture, goal: float, row: Distortion) -> None:
        self._apply = apply
        self._reference = reference
        self._goal = goal
        self._row = row
        self._tolerance = max(ABSOLUTE_TOLERANCE, row.tolerance * goal)
        self.best: tuple[float, float, Picture] = (0.0, math.inf, reference)

    @property
    def done(self) -> bool:
        return abs(self.best[1] - self._goal) <= self._tolerance

    def run(self, curve: MseCurve) -> float | None:
        """Find the strength, or return the largest MSE there is if that is less than the goal."""
        found = curve.guess(self._goal)
        if found is None and not curve.predicted:
            return curve.maximum
        # A prediction may be too low: the strongest distortion is tried before giving up.
        guess, slope = found or (self._row.strongest, 2.0)
        guess = self._row.nearest_step(guess)
        error = self._evaluate(guess)
        points = [(guess, error)]
        again = None if self.done else curve.corrected(self._goal, guess, error)
        if again is not None:
            points.append((again, self._evaluate(again)))
        bracket = self._bracket(points, slope)
        if bracket is None:
            return self.best[1]
        if not self.done:
            low, high = bracket
            start = _interpolated(low, high, self._goal)
            _secant(self._evaluate, start, low, high, self._goal, self._tolerance)
        return None

    def _evaluate(self, strength: float) -> float:
        picture = self._apply(strength)
        error = mse(picture, self._reference)
        if abs(error - self._goal) < abs(self.best[1] - self._goal):
            self.best = (strength, error, picture)
        return error

    def _bracket(self, points: list[Point], slope: float) -> tuple[Point, Point] | None:
        """Return two strengths of this very noise between which the goal lies.

        None if even the strongest distortion stays below the goal.
        """
        strongest = self._row.strongest
        low = min(points, key=_error)
        high = max(points, key=_error)
        step = 1.0
        while not self.done and not low[1] < self._goal <= high[1]:
            rising = high[1] < self._goal
            strength, error = high if rising else low
            if rising and strength >= strongest:
                return None
            # The first step aims at the goal itself, the next ones past it, until it is bracketed.
            aim = math.log(2)
            if error > 0:
                aim = abs(math.log(self._goal / error)) / slope * step
            step *= 2
            factor = math.exp(min(max(aim, 1e-4), 2.0))
            if rising:
                strength = min(strength * factor, strongest)
                high = (strength, self._evaluate(strength))
            else:
                strength /= factor
                low = (strength, self._evaluate(strength))
                if strength < 1e-12 * strongest:
                    break
        return low, high


def _error(point: Point) -> float:
    return point[1]


def _crossing(points: list[Point], target: float) -> tuple[Point, Point] | None:
    """Return the first two neighbours between which the MSE rises past the target."""
    for low, high in itertools.pairwise(points):
        if low[1] < target <= high[1]:
            return low, high
    return None


def _secant(
    measure: Callable[[float], float],
    strength: float,
    low: Point,
    high: Point,
    goal: float,
    tolerance: float,
) -> float:
    """Find a strength by the secant method on logarithms, with a bisection every third time.

    Parameters
    ----------
    measure
        Returns the MSE at a strength.
    strength
        Where to start.
    low, high
        Points below and above the goal.
    goal
        The wanted MSE.
    tolerance
        Units of MSE within which the search stops.
    """
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
        if turn % 3 == 1:
            # The secant alone would creep where the curve bends sharply.
            strength = math.sqrt(low[0] * high[0]) or high[0] / 2
        else:
            strength = _interpolated(low, high, goal)
    return strength


def _interpolated(low: Point, high: Point, goal: float) -> float:
    """Interpolate the strength for `goal` on logarithms, strictly inside the ends."""
    if low[0] <= 0:
        # Near 0 the MSE grows with the square of the strength.
        return high[0] * min(max(math.sqrt(goal / high[1]), 0.05), 0.95)
    if low[1] <= 0:
        return math.sqrt(low[0] * high[0])
    share = math.log(goal / low[1]) / _slope(low, high) / math.log(high[0] / low[0])
    return float(low[0] * (high[0] / low[0]) ** min(max(share, 0.02), 0.98))


def _lagrange(points: list[Point], at: float) -> float:
    """Evaluate the polynomial through some points (x, y)."""
    total = 0.0
    for index, (x, y) in enumerate(points):
        others = [other for place, (other, _) in enumerate(points) if place != index]
        total += y * math.prod((at - other) / (x - other) for other in others)
    return total


def _slope(low: Point, high: Point) -> float:
    """Return d log MSE / d log strength between two points, about 2 for small distortions."""
    if low[0] <= 0 or low[1] <= 0 or high[1] <= low[1]:
        return 2.0
    return max(math.log(high[1] / low[1]) / math.log(high[0] / low[0]), 1e-3)
