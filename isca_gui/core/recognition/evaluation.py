"""How good a model is: leave-one-out accuracy, and pictures that it has never seen."""

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
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.recognition.verdict import UNUSUAL_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from isca_gui.core.distortion.distortions import Picture
    from isca_gui.core.model.model import Model
    from isca_gui.core.recognition.verdict import Verdict

    Result = TypeVar("Result")

# The range of the MSE that the paper trains.
PAPER_LEVELS = (45.0, 900.0)
# A mixture's first part is made first. The paper blurs and compresses before it adds noise or
# light; the other way round, blur and JPEG would wipe out the noise that is to be found.
MIXING_ORDER = ("blur", "jpeg", "impulse", "gaussian-noise", "luminance", "contrast")


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Every training picture recognised by all others.

    `confusion` counts pictures: rows are true labels, columns the verdicts in the same order, and
    undecided last. `accuracy` is over the distorted pictures: the reference is alone in its class
    and cannot be found without itself. `block_accuracy` is the share of their blocks that vote for
    the true class.
    """

    classes: tuple[str, ...]
    confusion: NDArray[np.int64]
    verdicts: tuple[str, ...]
    accuracy: float
    recall: Mapping[str, float]
    block_accuracy: float


@dataclass(frozen=True)
class Trial:
    """A fresh picture to be made of the reference: its label, its MSE and the seed of its noise."""

    label: str
    level: float  # MSE; for untrained damage the strength
    seed: int


@dataclass(frozen=True)
class Outcome:
    """The MSE of the picture that a trial made, and the verdict on it."""

    trial: Trial
    achieved: float  # MSE
    verdict: Verdict


@dataclass(frozen=True)
class FreshScores:
    """How well pictures that were never trained on are recognised.

    Shares are from 0 to 1, and higher is better unless said otherwise.
    """

    outcomes: tuple[Outcome, ...]
    unreachable: int  # trials that the reference does not allow
    levels: tuple[float, float]  # range of the MSE: that of the training pictures
    singles: float  # one distortion: the verdict is right
    recall: Mapping[str, float]  # the same per kind
    level_error: float  # median |estimated − true| / true of the MSE; lower is better
    level_correlation: float  # rank correlation of the estimated with the true MSE
    called_mixtures: float  # one distortion called two; lower is better
    called_unlike: float  # one distortion not recognised; lower is better
    one_of_two: float  # two distortions: the verdict is one of them
    top_two: float  # two distortions: the two most likely are the two
    pairs: Mapping[str, float]  # the same per pair
    unlike: float  # AUROC of `unusual`: untrained kinds against single distortions
    unlike_by_kind: Mapping[str, float]


def leave_one_out(
    model: Model, descriptor: str = "extended", rule: str = "evidence", threads: int | None = None
) -> Generator[Progress, None, LeaveOneOut]:
    """Recognise every training picture by all others.

    Parameters
    ----------
    model
        A model that holds the descriptors of its training pictures.
    descriptor
        One of `DESCRIPTORS`: what the blocks are compared by.
    rule
        One of `RULES`, by which the verdicts are found.
    threads
        How many threads to use; None takes one per core.
    """
    recogniser = Recogniser(model, descriptor)
    assert model.known is not None
    labels = model.known.labels
    classes = tuple(dict.fromkeys(labels))
    columns = {name: place for place, name in enumerate((*classes, UNDECIDED_LABEL))}
    recogniser.neighbours.prepare(leaving_out=True)

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
        classes=classes,
        confusion=confusion,
        verdicts=tuple(verdict for verdict, _ in results),
        accuracy=_mean(results[index][0] == labels[index] for index in distorted),
        recall={name: float(row[columns[name]] / row.sum()) for name, row in rows.items()},
        block_accuracy=_mean(results[index][1] for index in distorted),
    )


def trained_levels(model: Model) -> tuple[float, float]:
    """Return the range of the MSE that a model was trained on, within which it can be relied on.

    It is the median over the kinds, rounded: training pictures do not have exactly the MSE that
    was asked for.
    """
    assert model.known is not None
    of_kind: dict[str, list[float]] = {}
    for label, level in zip(model.known.labels, model.known.levels, strict=True):
        if label in DISTORTIONS and level > 0:
            of_kind.setdefault(label, []).append(level)
    if not of_kind:
        return PAPER_LEVELS
    low = np.median([min(levels) for levels in of_kind.values()])
    high = np.median([max(levels) for levels in of_kind.values()])
    return float(f"{low:.3g}"), float(f"{high:.3g}")


def plan_trials(
    count: int, seed: int, kinds: Sequence[str], levels: tuple[float, float] = PAPER_LEVELS
) -> list[Trial]:
    """Return `count` trials of every kind and every pair of kinds, at random levels with new noise.

    Parameters
    ----------
    count
        Trials per kind and per pair.
    seed
        Seed of the levels and of the noise.
    kinds
        Distortions of the table.
    levels
        Lowest and highest MSE.
    """
    random = np.random.default_rng([seed, 0xF8E5])
    # Kinds that the paper does not mix come last, in the order given.
    places = {name: place for place, name in enumerate(MIXING_ORDER)}
    ordered = sorted(kinds, key=lambda name: places.get(name, len(places)))
    labels = [*kinds, *("+".join(pair) for pair in combinations(ordered, 2))]
    return [
        Trial(label, float(random.uniform(*levels)), int(random.integers(2**31)))
        for label in labels
        for _ in range(count)
    ]


def plan_untrained_trials(
    reference: Picture,
    count: int,
    seed: int,
    levels: tuple[float, float] = PAPER_LEVELS,
    stop: Callable[[], bool] = lambda: False,
) -> list[Trial]:
    """Return `count` trials of every kind that no dataset trains, within the same range of MSE.

    Parameters
    ----------
    reference
        The picture to damage (height, width); its MSE decides which strengths are taken.
    count
        Trials per kind.
    seed
        Seed of the strengths and of the noise.
    levels
        Lowest and highest MSE.
    stop
        Asked now and then; once it is true, this ends soon and the result means nothing.
    """
    random = np.random.default_rng([seed, 0x4E0])
    trials = []
    for kind in unseen_damage.UNTRAINED:
        ladder = unseen_damage.strengths(reference, kind, *levels, stop)
        chosen = random.permutation(np.resize(ladder, max(count, len(ladder))))[:count]
        trials += [Trial(kind, float(value), int(random.integers(2**31))) for value in chosen]
    return trials


def score_fresh(
    recognisers: Sequence[Recogniser],
    reference: Picture,
    count: int,
    seed: int = 1,
    rule: str = "evidence",
    threads: int | None = None,
) -> Generator[Progress, None, list[FreshScores]]:
    """Make pictures that some models have never seen and let each model recognise them.

    Parameters
    ----------
    recognisers
        Models of the same dataset.
    reference
        The reference that they were trained on (height, width).
    count
        Fresh pictures per kind, per pair of kinds and per untrained kind.
    seed
        Seed of the fresh pictures.
    rule
        One of `RULES`, by which the verdicts are found.
    threads
        How many threads to use; None takes one per core.

    Returns
    -------
    The scores of each model, in the order of `recognisers`.
    """
    kinds = [name for name in recognisers[0].neighbours.classes if name in DISTORTIONS]
    levels = trained_levels(recognisers[0].model)
    trials = plan_trials(count, seed, kinds, levels)
    total = len(trials) + count * len(unseen_damage.UNTRAINED)
    workers = Workers(1)

    def measure(*_: int) -> None:
        def stopped() -> bool:
            return bool(workers.stop[0])

        trials.extend(plan_untrained_trials(reference, count, seed, levels, stopped))

    measuring = Progress(0, total, "measuring untrained kinds")
    with workers:
        yield from relay(workers.each(measure, 1, 1), lambda _: measuring)
    for recogniser in recognisers:
        recogniser.neighbours.prepare()

    def one(index: int) -> list[Outcome] | None:
        made = make_picture(reference, trials[index], levels)
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


def make_picture(
    reference: Picture, trial: Trial, levels: tuple[float, float] = PAPER_LEVELS
) -> tuple[Picture, float] | None:
    """Return the picture of a trial and its MSE, or None if the reference does not allow it.

    A level beyond what the reference allows is taken as a share of the range that it does allow.
    """
    low, high = levels
    if trial.label in unseen_damage.UNTRAINED:
        picture = unseen_damage.damage(reference, trial.label, trial.level, trial.seed)
        achieved = mse(picture, reference)
        # Some damage does next to nothing: a page of black and white is the same when posterised.
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
    """Return the scores of some outcomes, of `unreachable` trials and of the range of the MSE."""
    # SciPy's statistics take a second to load, and nothing else needs them.
    from scipy import stats

    singles = [outcome for outcome in outcomes if outcome.trial.label in DISTORTIONS]
    pairs = [outcome for outcome in outcomes if "+" in outcome.trial.label]
    others = [outcome for outcome in outcomes if outcome.trial.label in unseen_damage.UNTRAINED]
    strangeness = [_strangeness(outcome) for outcome in singles]
    true = [outcome.achieved for outcome in singles]
    estimated = [outcome.verdict.severity for outcome in singles]
    errors = [abs(e - t) / t for e, t in zip(estimated, true, strict=True)]
    correlation = np.nan
    if len(set(true)) > 1 and len(set(estimated)) > 1:
        correlation = float(stats.spearmanr(true, estimated).statistic)
    return FreshScores(
        outcomes=outcomes,
        unreachable=unreachable,
        levels=levels,
        singles=_mean(map(_right, singles)),
        recall=_by_label(singles, _right),
        level_error=float(np.median(errors or [np.nan])),
        level_correlation=correlation,
        called_mixtures=_mean(len(outcome.verdict.parts) > 1 for outcome in singles),
        called_unlike=_mean(outcome.verdict.unlike for outcome in singles),
        one_of_two=_mean(_one_of_two(outcome) for outcome in pairs),
        top_two=_mean(map(_both, pairs)),
        pairs=_by_label(pairs, _both),
        unlike=auroc(strangeness, [_strangeness(outcome) for outcome in others]),
        unlike_by_kind={
            kind: auroc(strangeness, [_strangeness(o) for o in others if o.trial.label == kind])
            for kind in dict.fromkeys(outcome.trial.label for outcome in others)
        },
    )


def auroc(low: Sequence[float], high: Sequence[float]) -> float:
    """Return the share of pairs in which the second is above the first; ties count half."""
    if not low or not high:
        return float("nan")
    first = np.asarray(low)[:, None]
    second = np.asarray(high)[None]
    return float((second > first).mean() + (second == first).mean() / 2)


def _strangeness(outcome: Outcome) -> float:
    """Return how unusual a picture is.

    One that no trained distortion fits although the original is nearest has no rank of its own.
    """
    verdict = outcome.verdict
    return UNUSUAL_LIMIT if verdict.unlike and verdict.label == ORIGINAL else verdict.unusual


def _right(outcome: Outcome) -> bool:
    return outcome.verdict.label == outcome.trial.label


def _both(outcome: Outcome) -> bool:
    return set(outcome.verdict.top_two) == set(outcome.trial.label.split("+"))


def _one_of_two(outcome: Outcome) -> bool:
    """Whether a verdict names nothing but what is there, be it one part or both."""
    named = parts_of(outcome.verdict.label)
    there = parts_of(outcome.trial.label)
    return not outcome.verdict.unlike and set(named) <= set(there)


def _by_label(outcomes: list[Outcome], right: Callable[[Outcome], bool]) -> dict[str, float]:
    labels = dict.fromkeys(outcome.trial.label for outcome in outcomes)
    return {label: _mean(right(o) for o in outcomes if o.trial.label == label) for label in labels}


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.mean(found)) if found else float("nan")
