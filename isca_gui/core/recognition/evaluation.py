"""How good a model is: leave-one-out over its training pictures, and pictures that it has never seen."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from isca_gui.core.distortion import strength_search, unseen_damage
from isca_gui.core.distortion.distortions import (
    DISTORTIONS,
    ORIGINAL,
    UNDECIDED_LABEL,
    mse,
    parts_of,
)
from isca_gui.core.distortion.strength_search import UnreachableError
from isca_gui.core.parallel import Workers
from isca_gui.core.progress import Progress, relay
from isca_gui.core.recognition.recogniser import UNLIKE, Recogniser

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from isca_gui.core.distortion.distortions import Picture
    from isca_gui.core.model.model import Model
    from isca_gui.core.recognition.recogniser import Recognition, Verdict

    Result = TypeVar("Result")

PAPER_LEVELS = (45.0, 900.0)  # MSE: the range that the paper trains
# A mixture's first part is made first. The paper blurs and compresses before it adds noise or light; the
# other way round, blur and JPEG would wipe out the noise that is to be found.
MIXING_ORDER = ("blur", "jpeg", "impulse", "gaussian-noise", "luminance", "contrast")


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Every training picture recognised with all others.

    `confusion` counts pictures: rows are true labels, columns the verdicts in the same order, and undecided
    last. `accuracy` is over the distorted pictures: the reference is alone in its class and cannot be found
    without itself. `block_accuracy` is the share of their blocks that vote for the true class.
    """

    classes: tuple[str, ...]
    confusion: NDArray[np.int64]
    verdicts: tuple[str, ...]
    accuracy: float
    recall: Mapping[str, float]
    block_accuracy: float


@dataclass(frozen=True)
class Trial:
    """A fresh picture: what is to be made of the reference, with what noise."""

    label: str
    level: float  # MSE; a strength for what is not in the table of distortions
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What came of a trial."""

    trial: Trial
    achieved: float  # MSE
    verdict: Verdict


@dataclass(frozen=True)
class FreshScores:
    """How pictures never trained on were recognised: shares 0 … 1, higher is better unless said otherwise."""

    outcomes: tuple[Outcome, ...]
    unreachable: int
    levels: tuple[float, float]  # range of the MSE: that of the training pictures
    singles: float  # verdict right, one distortion
    recall: Mapping[str, float]  # the same per kind
    level_error: float  # median |estimated − true| / true of the MSE; lower is better
    level_correlation: float  # rank correlation of the estimated with the true MSE
    called_mixtures: float  # single distortions said to be two; lower is better
    called_unlike: (
        float  # single distortions said to be unlike anything trained on; lower is better
    )
    one_of_two: float  # two distortions: the verdict is one of them
    top_two: float  # two distortions: the two most likely are the two
    pairs: Mapping[str, float]  # the same per pair
    unlike: float  # AUROC of `unusual`: untrained kinds against single distortions
    unlike_by_kind: Mapping[str, float]


def leave_one_out(
    model: Model, descriptor: str = "extended", rule: str = "evidence", threads: int | None = None
) -> Generator[Progress, None, LeaveOneOut]:
    """Recognise every training picture with all others."""
    recogniser = Recogniser(model, descriptor)
    assert model.known is not None
    labels = model.known.labels
    classes = tuple(dict.fromkeys(labels))
    columns = {name: place for place, name in enumerate((*classes, UNDECIDED_LABEL))}
    recogniser.neighbours.prepare(leaving_out=True)  # once, before the threads start

    def one(index: int) -> tuple[str, float]:
        found = recogniser.leave_one_out(index, rule)
        return found.verdict.label, float((found.winner == columns[labels[index]]).mean())

    with Workers(threads) as workers:
        results = yield from workers.collect(one, range(len(labels)), "leaving one out")
    confusion = np.zeros((len(classes), len(columns)), np.int64)
    for label, (verdict, _) in zip(labels, results, strict=True):
        confusion[columns[label], columns[verdict]] += 1
    rows = {name: confusion[place] for place, name in enumerate(classes)}
    distorted = [index for index, label in enumerate(labels) if label != ORIGINAL]
    return LeaveOneOut(
        classes,
        confusion,
        tuple(verdict for verdict, _ in results),
        _mean(results[index][0] == labels[index] for index in distorted),
        {name: float(row[columns[name]] / row.sum()) for name, row in rows.items()},
        _mean(results[index][1] for index in distorted),
    )


def trained_levels(model: Model) -> tuple[float, float]:
    """Give the range of the MSE that a model was trained on, where an answer of it is to be relied on.

    The median over the kinds, rounded: what was reached is not exactly what was asked for.
    """
    assert model.known is not None
    of_kind: dict[str, list[float]] = {}
    for label, level in zip(model.known.labels, model.known.levels, strict=True):
        if label in DISTORTIONS and level > 0:
            of_kind.setdefault(label, []).append(level)
    if not of_kind:
        return PAPER_LEVELS
    low, high = (
        float(np.median([end(levels) for levels in of_kind.values()])) for end in (min, max)
    )
    return float(f"{low:.3g}"), float(f"{high:.3g}")


def plan(
    count: int, seed: int, kinds: Sequence[str], levels: tuple[float, float] = PAPER_LEVELS
) -> list[Trial]:
    """Draw trials: every kind and every pair of kinds `count` times, at random levels with new noise."""
    random = np.random.default_rng([seed, 0xF8E5])
    ordered = sorted(
        kinds, key=lambda name: MIXING_ORDER.index(name) if name in MIXING_ORDER else 99
    )
    labels = [*kinds, *("+".join(pair) for pair in combinations(ordered, 2))]
    return [
        Trial(label, float(random.uniform(*levels)), int(random.integers(2**31)))
        for label in labels
        for _ in range(count)
    ]


def plan_untrained(
    reference: Picture,
    count: int,
    seed: int,
    levels: tuple[float, float] = PAPER_LEVELS,
    stop: Callable[[], bool] = lambda: False,
) -> list[Trial]:
    """Draw trials of kinds that are in no dataset, at strengths of the same range of MSE.

    Once `stop` says so it ends soon, and what it gives means nothing.
    """
    random = np.random.default_rng([seed, 0x4E0])
    trials = []
    for kind in unseen_damage.UNTRAINED:
        ladder = unseen_damage.strengths(reference, kind, *levels, stop)
        chosen = random.permutation(np.resize(ladder, max(count, len(ladder))))[:count]
        trials += [Trial(kind, float(value), int(random.integers(2**31))) for value in chosen]
    return trials


def fresh(
    model: Model,
    reference: Picture,
    count: int = 10,
    seed: int = 1,
    *,
    descriptor: str = "extended",
    rule: str = "evidence",
    threads: int | None = None,
) -> Generator[Progress, None, FreshScores]:
    """Make pictures that the model has never seen and recognise them."""
    (found,) = yield from fresh_all(
        [Recogniser(model, descriptor)], reference, count, seed, rule, threads
    )
    return found


def fresh_all(
    recognisers: Sequence[Recogniser],
    reference: Picture,
    count: int,
    seed: int = 1,
    rule: str = "evidence",
    threads: int | None = None,
) -> Generator[Progress, None, list[FreshScores]]:
    """Do the same for several models of one dataset; each picture is made only once."""
    kinds = [name for name in recognisers[0].neighbours.classes if name in DISTORTIONS]
    levels = trained_levels(recognisers[0].model)
    trials = plan(count, seed, kinds, levels)
    total = len(trials) + count * len(unseen_damage.UNTRAINED)
    workers = Workers(1)

    def measure(*_: int) -> None:
        trials.extend(plan_untrained(reference, count, seed, levels, lambda: bool(workers.stop[0])))

    measuring = Progress(0, total, "measuring untrained kinds")
    with workers:
        yield from relay(workers.each(measure, 1, 1), lambda _: measuring)
    for recogniser in recognisers:
        recogniser.neighbours.prepare()  # once, before the threads start

    def one(index: int) -> list[Outcome] | None:
        made = make(reference, trials[index], levels)
        if made is None:
            return None
        picture, achieved = made
        verdicts = (recogniser.recognise(picture, rule).verdict for recogniser in recognisers)
        return [Outcome(trials[index], achieved, verdict) for verdict in verdicts]

    with Workers(threads) as workers:
        found = yield from workers.collect(one, range(len(trials)), "recognising fresh pictures")
    outcomes = [outcome for outcome in found if outcome is not None]
    missed = len(found) - len(outcomes)
    return [
        summarise(tuple(outcome[place] for outcome in outcomes), missed, levels)
        for place in range(len(recognisers))
    ]


def make(
    reference: Picture, trial: Trial, levels: tuple[float, float] = PAPER_LEVELS
) -> tuple[Picture, float] | None:
    """Make the picture of a trial, with its MSE; None if the reference cannot be distorted so, or hardly.

    A level beyond what the reference allows is taken as a share of the range that it does allow.
    """
    low, high = levels
    if trial.label in unseen_damage.UNTRAINED:
        picture = unseen_damage.damage(reference, trial.label, trial.level, trial.seed)
        achieved = mse(
            picture, reference
        )  # a page of print has two grey levels: posterised it is the same
        return (picture, achieved) if achieved > low / 10 else None
    level = trial.level
    for _ in range(2):
        try:
            made = strength_search.distort(reference, trial.label, level, trial.seed)
        except UnreachableError as error:
            share = (trial.level - low) / (high - low) if high > low else 0.0
            level = low + share * (0.9 * error.maximum - low)
            if level < low:
                return None
        else:
            return made.picture, made.achieved_mse
    return None


def summarise(
    outcomes: tuple[Outcome, ...], unreachable: int = 0, levels: tuple[float, float] = PAPER_LEVELS
) -> FreshScores:
    """Work out the figures."""
    from scipy import stats  # a second to load, and nobody else needs it

    singles = [outcome for outcome in outcomes if outcome.trial.label in DISTORTIONS]
    pairs = [outcome for outcome in outcomes if "+" in outcome.trial.label]
    others = [outcome for outcome in outcomes if outcome.trial.label in unseen_damage.UNTRAINED]
    usual = list(map(_strangeness, singles))
    true = [outcome.achieved for outcome in singles]
    estimated = [outcome.verdict.severity for outcome in singles]
    varied = len(set(true)) > 1 and len(set(estimated)) > 1
    return FreshScores(
        outcomes=outcomes,
        unreachable=unreachable,
        levels=levels,
        singles=_mean(map(_right, singles)),
        recall=_by_label(singles, _right),
        level_error=float(
            np.median([abs(e - t) / t for e, t in zip(estimated, true, strict=True)] or [np.nan])
        ),
        level_correlation=float(stats.spearmanr(true, estimated).statistic) if varied else np.nan,
        called_mixtures=_mean(len(outcome.verdict.parts) > 1 for outcome in singles),
        called_unlike=_mean(outcome.verdict.unlike for outcome in singles),
        one_of_two=_mean(_one_of_two(outcome) for outcome in pairs),
        top_two=_mean(map(_both, pairs)),
        pairs=_by_label(pairs, _both),
        unlike=auroc(usual, list(map(_strangeness, others))),
        unlike_by_kind={
            kind: auroc(usual, [_strangeness(o) for o in others if o.trial.label == kind])
            for kind in dict.fromkeys(outcome.trial.label for outcome in others)
        },
    )


def auroc(low: Sequence[float], high: Sequence[float]) -> float:
    """Give the share of pairs in which the second is above the first; ties count half."""
    if not low or not high:
        return float("nan")
    first, second = np.asarray(low)[:, None], np.asarray(high)[None]
    return float((second > first).mean() + (second == first).mean() / 2)


def _strangeness(outcome: Outcome) -> float:
    """Give how unusual a picture is; what is unlike though the original is nearest has no rank of its own."""
    verdict = outcome.verdict
    return UNLIKE if verdict.unlike and verdict.label == ORIGINAL else verdict.unusual


def mistaken(recognition: Recognition, label: str) -> NDArray[np.bool_]:
    """Tell which blocks do not vote for a label."""
    place = recognition.classes.index(label) if label in recognition.classes else -2
    wrong: NDArray[np.bool_] = recognition.winner != place
    return wrong


def _right(outcome: Outcome) -> bool:
    return outcome.verdict.label == outcome.trial.label


def _both(outcome: Outcome) -> bool:
    return set(outcome.verdict.top_two) == set(outcome.trial.label.split("+"))


def _one_of_two(outcome: Outcome) -> bool:
    """Tell whether a verdict names nothing but what is there; a class of both together does."""
    named, there = parts_of(outcome.verdict.label), parts_of(outcome.trial.label)
    return not outcome.verdict.unlike and set(named) <= set(there)


def _by_label(outcomes: list[Outcome], right: Callable[[Outcome], bool]) -> dict[str, float]:
    labels = dict.fromkeys(outcome.trial.label for outcome in outcomes)
    return {label: _mean(right(o) for o in outcomes if o.trial.label == label) for label in labels}


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.mean(found)) if found else float("nan")
