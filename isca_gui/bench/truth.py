"""How often a comparison is right, on scenes that its classifier was not fitted on.

For each measured scene, copies are made with one known kind of damage, with two, with damage in a
part of the picture, and with damage that no comparison knows; the whole engine then answers. The
scenes are those that `packaging/comparison_model.py` leaves out for the same folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.bench import damage as damages
from isca_gui.bench import scenes
from isca_gui.bench.figure import Figure
from isca_gui.core.comparison.compare import compare
from isca_gui.core.comparison.kinds import OTHER_COMPRESSION, family_of
from isca_gui.core.comparison.pair import luma
from isca_gui.core.comparison.regions import SIDE
from isca_gui.core.progress import Progress

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from isca_gui.bench.damage import Damage, Picture
    from isca_gui.bench.scenes import DamagedCopy, Scene
    from isca_gui.core.comparison.compare import Comparison

SINGLE = "single"
PAIR = "pair"
PART = "part"
UNSEEN = "unseen"
LEFT_OUT = "left out"

# MSEs of a single distortion, of each of two, and of one in a part of the picture.
_SINGLE_MSE = (2.0, 2500.0)
_PAIR_MSE = (10.0, 800.0)
_PART_MSE = (20.0, 1500.0)
_PAIRS = 8
_SAME_FAMILY_SHARE = 0.4
_PARTS = 2
# These look alike below an MSE of 10, where they count as one kind.
_SPREAD_NOISES = {"gaussian-noise", "speckle", "poisson-noise"}
_WEAK_NOISE_MSE = 10
# The first of two can still be seen where what is left of it has this share of both MSEs.
_LEFT_SHARE = 0.25
# The default of `isca compare --min-probability`: below it, an answer is not relied on.
_RELIED_ON = 0.9


@dataclass(frozen=True)
class Outcome:
    """What was done to a copy, and what the comparison said.

    Parameters
    ----------
    sort
        `SINGLE`, `PAIR`, `PART`, `UNSEEN` or `LEFT_OUT`.
    source
        The name of the damage.
    kinds
        The kinds that should be named, in order; empty where there is none.
    family
        The family of what was done, or None.
    mse
        Of the damage, where it is.
    parameters
        The true parameters of a single distortion.
    label, said_family, parts, unlike, probability, said_parameters, severity
        What the comparison said.
    iou
        Mean of the intersections over unions of damaged and of untouched blocks.
    visible
        Whether the first of two can still be seen.
    """

    sort: str
    source: str
    kinds: tuple[str, ...]
    family: str | None
    mse: float
    parameters: dict[str, float]
    label: str
    said_family: str | None
    parts: tuple[str, ...]
    unlike: bool
    probability: float
    said_parameters: dict[str, dict[str, float]] = field(default_factory=dict)
    severity: float = 0.0
    iou: float = 0.0
    visible: bool = True

    @property
    def kind_is_right(self) -> bool:
        """Whether the one kind was named, as one."""
        if self.unlike:
            return False
        if self.label == self.kinds[0]:
            return True
        weak = self.mse < _WEAK_NOISE_MSE
        return weak and {self.label, self.kinds[0]} <= _SPREAD_NOISES

    @property
    def family_is_right(self) -> bool:
        """Whether one distortion of the right family was named."""
        return not self.unlike and len(self.parts) == 1 and self.said_family == self.family

    @property
    def is_cautious(self) -> bool:
        """Whether unknown damage was not recognised, or its family named without being sure."""
        if self.unlike:
            return True
        unsure = self.label == OTHER_COMPRESSION or self.probability < _RELIED_ON
        return self.family is not None and self.family_is_right and unsure

    @property
    def recognition(self) -> float:
        """How sure the comparison is that it knows the damage, 0 to 1."""
        return 1 - self.probability if self.unlike else self.probability


# --- the answers of one scene -------------------------------------------------------------------


def outcomes_of(scene: Scene, seed: int = 0) -> list[Outcome]:
    """Return what the comparison says about copies of one scene."""
    picture = scene.read()
    random = scene.random(seed)
    found = list(_singles(picture, random))
    found += _pairs(picture, random)
    found += _parts(picture, random)
    found += _unknown(picture, random)
    return found


def _singles(picture: Picture, random: np.random.Generator) -> Iterator[Outcome]:
    for kind in damages.group(damages.KNOWN) + damages.group(damages.ENCODERS):
        reference = _sometimes_grey(picture, random)
        copy = scenes.damaged_within(reference, kind, random, *_SINGLE_MSE)
        if copy is not None:
            yield _outcome(SINGLE, kind, copy, _compared(reference, copy.picture))


def _pairs(picture: Picture, random: np.random.Generator) -> Iterator[Outcome]:
    """Yield mixtures of two kinds in both orders; two of one family are rarer."""
    kinds = damages.group(damages.KNOWN)
    for _ in range(_PAIRS // 2):
        first, second = (kinds[place] for place in random.choice(len(kinds), 2, replace=False))
        same_family = family_of(first.name) == family_of(second.name)
        if same_family and random.random() > _SAME_FAMILY_SHARE:
            continue
        for pair in ((first, second), (second, first)):
            yield from _pair(picture, pair[0], pair[1], random)


def _pair(
    picture: Picture, first: Damage, second: Damage, random: np.random.Generator
) -> Iterator[Outcome]:
    once = scenes.damaged_within(picture, first, random, *_PAIR_MSE)
    if once is None:
        return
    twice = scenes.damaged_within(once.picture, second, random, *_PAIR_MSE)
    if twice is None:
        return
    # The same second distortion of the reference shows what is left of the first one.
    second_only, _ = second.apply(picture, np.random.default_rng(twice.seed))
    left = scenes.mse(twice.picture, second_only)
    visible = left >= _LEFT_SHARE * max(once.mse, twice.mse)
    answer = _compared(picture, twice.picture)
    yield Outcome(
        sort=PAIR,
        source=f"{first.name}+{second.name}",
        kinds=(first.name, second.name),
        family=None,
        mse=scenes.mse(picture, twice.picture),
        parameters={},
        visible=visible,
        **_said(answer),
    )


def _parts(picture: Picture, random: np.random.Generator) -> Iterator[Outcome]:
    """Yield damage in a rectangle of 5 to 50 % of the picture, on the grid of blocks."""
    kinds = damages.group(damages.KNOWN)
    for _ in range(_PARTS):
        kind = kinds[random.integers(len(kinds))]
        copy = scenes.damaged_within(picture, kind, random, *_PART_MSE)
        if copy is None:
            continue
        rows, columns = _rectangle(picture.shape[:2], random)
        partly = picture.copy()
        partly[rows, columns] = copy.picture[rows, columns]
        inside = scenes.mse(picture[rows, columns], partly[rows, columns])
        # Where the damage changes nothing there is nothing to find.
        if inside < _SINGLE_MSE[0]:
            continue
        answer = _compared(picture, partly)
        truth = np.zeros(answer.class_map.shape, dtype=bool)
        truth[_in_blocks(rows), _in_blocks(columns)] = True
        yield _outcome(PART, kind, copy, answer, mse=inside, iou=mean_iou(truth, answer.class_map))


def _unknown(picture: Picture, random: np.random.Generator) -> Iterator[Outcome]:
    for sort, group in ((UNSEEN, damages.UNSEEN), (LEFT_OUT, damages.LEFT_OUT)):
        for kind in damages.group(group):
            copy = scenes.damaged_within(picture, kind, random, *_SINGLE_MSE)
            if copy is not None:
                yield _outcome(sort, kind, copy, _compared(picture, copy.picture))


def _sometimes_grey(picture: Picture, random: np.random.Generator) -> Picture:
    if random.random() < 0.3:
        return np.rint(luma(picture.astype(np.float32))).clip(0, 255).astype(np.uint8)
    return picture


def _rectangle(shape: Sequence[int], random: np.random.Generator) -> tuple[slice, slice]:
    height, width = shape
    area = random.uniform(0.05, 0.5) * height * width
    aspect = np.exp(random.uniform(-0.5, 0.5))
    tall = int(min(height, np.sqrt(area * aspect))) // SIDE * SIDE
    wide = int(min(width, area / max(tall, SIDE))) // SIDE * SIDE
    top = int(random.integers(0, (height - tall) // SIDE + 1)) * SIDE
    left = int(random.integers(0, (width - wide) // SIDE + 1)) * SIDE
    return slice(top, top + tall), slice(left, left + wide)


def _in_blocks(pixels: slice) -> slice:
    return slice(pixels.start // SIDE, pixels.stop // SIDE)


def mean_iou(truth: NDArray[np.bool_], class_map: NDArray[Any]) -> float:
    """Return the mean of two intersections over unions: of damaged and of untouched blocks."""
    found = class_map > 0
    shares = []
    for true, said in ((truth, found), (~truth, ~found)):
        shares.append((true & said).sum() / max((true | said).sum(), 1))
    return float(np.mean(shares))


def _compared(reference: Picture, copy: Picture) -> Comparison:
    return compare(reference / np.float32(255), copy / np.float32(255))


def _outcome(
    sort: str,
    kind: Damage,
    copy: DamagedCopy,
    answer: Comparison,
    mse: float | None = None,
    iou: float = 0.0,
) -> Outcome:
    known = kind.group in (damages.KNOWN, damages.ENCODERS)
    return Outcome(
        sort=sort,
        source=kind.name,
        kinds=(kind.label,) if known else (),
        family=kind.family or family_of(kind.label),
        mse=copy.mse if mse is None else mse,
        parameters=copy.parameters,
        iou=iou,
        **_said(answer),
    )


def _said(answer: Comparison) -> dict[str, Any]:
    """Return the fields of an outcome that the comparison decides."""
    return {
        "label": answer.label,
        "said_family": answer.family,
        "parts": answer.parts,
        "unlike": answer.unlike,
        "probability": answer.probability,
        "said_parameters": answer.parameters,
        "severity": answer.severity,
    }


# --- the figures --------------------------------------------------------------------------------


def measure(
    folder: str | os.PathLike[str], processes: int | None = None
) -> Generator[Progress, None, list[Figure]]:
    """Compare copies of the measured scenes of a folder, and return the figures."""
    chosen = scenes.measured(scenes.find_scenes(folder))
    found: list[Outcome] = []
    yield Progress(0, len(chosen), "scenes")
    for index, outcomes in enumerate(scenes.in_processes(outcomes_of, chosen, processes), 1):
        found += outcomes
        yield Progress(index, len(chosen), "scenes")
    return list(figures(found))


def figures(found: Sequence[Outcome]) -> Iterator[Figure]:
    """Yield the figures that have at least one picture behind them."""
    single = [each for each in found if each.sort == SINGLE]
    yield from _known_figures(single)
    yield from _unknown_figures(found, single)
    yield from _place_figures(found, single)
    yield from _parameter_figures(single)
    yield from _some("calibration error of the probability", single, calibration_error, most=0.04)


def _known_figures(single: Sequence[Outcome]) -> Iterator[Figure]:
    yield from _share(
        "single kinds: kind right, said as one", single, lambda one: one.kind_is_right, least=95
    )
    yield from _share(
        "single kinds: family right", single, lambda one: one.family_is_right, least=99
    )
    yield from _share("single kinds: not recognised", single, lambda one: one.unlike, most=2)
    yield from _share(
        "single kinds: called a mixture", single, lambda one: len(one.parts) > 1, most=2
    )


def _unknown_figures(found: Sequence[Outcome], single: Sequence[Outcome]) -> Iterator[Figure]:
    left_out = [each for each in found if each.sort == LEFT_OUT]
    name = "damage left out: not recognised, or its family unsurely"
    yield from _share(name, left_out, lambda one: one.is_cautious, least=92)
    foreign = [each for each in left_out if each.family is None]
    if single and foreign:
        area = auroc([each.recognition for each in single], [each.recognition for each in foreign])
        name = _named("AUROC of single kinds against foreign damage", len(foreign))
        yield Figure(name, area, "", least=0.97)
    unseen = [each for each in found if each.sort == UNSEEN and each.family is None]
    yield from _share(
        "damage trained as none of these: not recognised", unseen, lambda one: one.unlike
    )
    pairs = [each for each in found if each.sort == PAIR and each.visible]
    yield from _share(
        "pairs, the first still seen: both named",
        pairs,
        lambda one: set(one.parts) == set(one.kinds),
        least=80,
    )


def _place_figures(found: Sequence[Outcome], single: Sequence[Outcome]) -> Iterator[Figure]:
    parts = [each for each in found if each.sort == PART]
    yield from _share(
        "parts of a picture: kind right", parts, lambda one: one.kind_is_right, least=97
    )
    yield from _some("parts of a picture: mIoU of the map", parts, _mean_iou_of, least=0.93)
    known = [*single, *parts]
    yield from _some("severity: median error", known, _severity_median, "%", most=3)
    yield from _some("severity: 90th percentile of the error", known, _severity_high, "%", most=10)


def _parameter_figures(single: Sequence[Outcome]) -> Iterator[Figure]:
    """Yield how often parameters are near the truth, where the kind was named."""
    for kind, parameter, title, near in _PARAMETERS:
        behind = [
            each
            for each in single
            if each.source == kind
            and each.label == kind
            and not each.unlike
            and _is_measured(kind, parameter, each)
        ]
        pairs = [
            (each.said_parameters[kind][parameter], each.parameters[parameter]) for each in behind
        ]
        if pairs:
            share = 100 * float(np.mean([near(said, true) for said, true in pairs]))
            yield Figure(_named(title, len(pairs)), share, "%", least=95)


def _is_measured(kind: str, parameter: str, outcome: Outcome) -> bool:
    if parameter not in outcome.parameters:
        return False
    if parameter not in outcome.said_parameters.get(kind, {}):
        return False
    # Outside of these qualities neighbouring tables are the same, or are not the standard's.
    return kind != "jpeg" or 20 <= outcome.parameters[parameter] <= 95


def _within_3(said: float, true: float) -> bool:
    return abs(said - true) <= 3


def _within_5_percent(said: float, true: float) -> bool:
    return abs(said - true) <= 0.05 * abs(true)


def _within_5_percent_or_half(said: float, true: float) -> bool:
    return abs(said - true) <= max(0.05 * abs(true), 0.5)


# Kind, parameter, title, and when an estimate is near the truth.
_PARAMETERS: tuple[tuple[str, str, str, Callable[[float, float], bool]], ...] = (
    ("jpeg", "quality", "JPEG quality within 3, q 20–95", _within_3),
    ("blur", "sigma", "blur: σ within 5%", _within_5_percent),
    ("gaussian-noise", "sigma", "noise: σ within 5% or 0.5", _within_5_percent_or_half),
    ("contrast", "gain", "contrast: gain within 5%", _within_5_percent),
    ("gamma", "gamma", "gamma: γ within 5%", _within_5_percent),
    ("luminance", "shift", "luminance: shift within 5% or 0.5", _within_5_percent_or_half),
)


def _share(
    name: str,
    behind: Sequence[Outcome],
    holds: Callable[[Outcome], bool],
    least: float | None = None,
    most: float | None = None,
) -> Iterator[Figure]:
    """Yield the share of outcomes that something holds for, in percent."""

    def percent(outcomes: Sequence[Outcome]) -> float:
        return 100 * float(np.mean([holds(each) for each in outcomes]))

    yield from _some(name, behind, percent, "%", least, most)


def _some(
    name: str,
    behind: Sequence[Outcome],
    figure: Callable[[Sequence[Outcome]], float],
    unit: str = "",
    least: float | None = None,
    most: float | None = None,
) -> Iterator[Figure]:
    if behind:
        yield Figure(_named(name, len(behind)), figure(behind), unit, least, most)


def _named(name: str, count: int) -> str:
    """Return the name of a figure with the number of pictures behind it."""
    return f"{name} ({count} {'picture' if count == 1 else 'pictures'})"


def _mean_iou_of(outcomes: Sequence[Outcome]) -> float:
    return float(np.mean([each.iou for each in outcomes]))


def _severity_errors(outcomes: Iterable[Outcome]) -> list[float]:
    return [100 * abs(each.severity / each.mse - 1) for each in outcomes]


def _severity_median(outcomes: Sequence[Outcome]) -> float:
    return float(np.median(_severity_errors(outcomes)))


def _severity_high(outcomes: Sequence[Outcome]) -> float:
    return float(np.percentile(_severity_errors(outcomes), 90))


def calibration_error(outcomes: Sequence[Outcome]) -> float:
    """Return the expected calibration error: over ten bins, how far probability and truth differ.

    No answer is printed with more than 0.99, so none is taken to be surer.
    """
    said = np.minimum([each.probability for each in outcomes], 0.99)
    right = np.array([each.kind_is_right for each in outcomes])
    bins = np.digitize(said, np.linspace(0, 1, 11))
    gaps = [
        abs(right[bins == each].mean() - said[bins == each].mean()) * (bins == each).mean()
        for each in np.unique(bins)
    ]
    return float(sum(gaps))


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Return how often one of `higher` is above one of `lower`; ties count half."""
    first = np.asarray(higher)[:, None]
    second = np.asarray(lower)[None]
    return float(np.mean(first > second) + np.mean(first == second) / 2)
