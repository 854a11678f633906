"""Evaluation: figures against literal loops, fresh pictures, and what no dataset trains."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from dataclasses import asdict, replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage import data

from isca_gui.core.distortion import strength_search, unseen_damage
from isca_gui.core.distortion.dataset import Dataset, Entry, generate
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.distortion.distortions import DISTORTIONS, UNDECIDED_LABEL, mse
from isca_gui.core.model.training import train
from isca_gui.core.progress import Progress, run
from isca_gui.core.recognition.evaluation import (
    PAPER_LEVELS,
    FreshScores,
    Outcome,
    Trial,
    auroc,
    leave_one_out,
    make_picture,
    plan_trials,
    plan_untrained_trials,
    score_fresh,
    summarise,
)
from isca_gui.core.recognition.recogniser import Recogniser, RecognitionError
from isca_gui.core.recognition.verdict import RULES, Verdict
from isca_gui.core.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Generator

    from isca_gui.core.model.model import Model

KINDS = tuple(DISTORTIONS)
ISCA = TrainingSettings(solver="direct", epochs=20)


def trained(made: Dataset, settings: TrainingSettings = ISCA) -> Model:
    return run(train(made, settings, 2))  # type: ignore[arg-type]


def fresh(
    model: Model, reference: np.ndarray, count: int, **more: Any
) -> Generator[Progress, None, FreshScores]:
    """Return the scores of one model as a task."""
    (found,) = yield from score_fresh([Recogniser(model)], reference, count, **more)
    return found


@pytest.fixture(scope="module")
def small() -> Dataset:
    """45 × 37 pixels: six by five blocks, the last ones filled up."""
    reference = (data.camera()[60:240:4, 140:288:4] / 255).astype(np.float32)
    return run(generate(reference, DatasetSpec(levels=(60.0, 150.0, 300.0, 600.0, 900.0)), 2))


@pytest.fixture(scope="module")
def model(small: Dataset) -> Model:
    return trained(small)


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Any:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


# --- leave one out --------------------------------------------------------------------------------


def literal_verdict(model: Model, left_out: int, descriptor: str, rule: str) -> tuple[str, float]:
    """Return the verdict on a training picture and the share of right votes, by plain loops."""
    known = model.known
    assert known is not None
    count = model.settings.components + (3 if descriptor == "extended" else 0)
    votes: list[str] = []
    for block in known.descriptors.astype(np.float64):
        best: dict[str, float] = {}
        for number, label in enumerate(known.labels):
            unchanged = number > 0 and np.abs(block[number] - block[0]).max() <= 2e-6
            if number == left_out or unchanged:
                continue
            distance = math.dist(block[number, :count], block[left_out, :count])
            best[label] = min(distance, best.get(label, math.inf))
        (first, winner), (second, _), *_ = sorted(
            (distance, label) for label, distance in best.items()
        )
        votes.append(winner if second - first > 2e-6 else UNDECIDED_LABEL)
    shares = {label: votes.count(label) / len(votes) for label in dict.fromkeys(known.labels)}
    right = shares[known.labels[left_out]]
    if rule == "evidence":
        if shares.pop("original") >= 0.98:
            return "original", right
    most = max(shares.values())
    winners = [label for label, share in shares.items() if share == most]
    outvoted = rule == "majority" and votes.count(UNDECIDED_LABEL) / len(votes) > most
    return winners[0] if len(winners) == 1 and most and not outvoted else UNDECIDED_LABEL, right


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", ["pca", "random"])
def test_leave_one_out_is_that_of_a_literal_loop(rule: str, method: str, small: Dataset) -> None:
    """With the paper's descriptor, which names no mixtures."""
    model = trained(small, TrainingSettings(method))
    found = run(leave_one_out(model, "structural", rule, 2))
    literal = [
        literal_verdict(model, number, "structural", rule) for number in range(len(small.labels))
    ]
    assert found.verdicts == tuple(verdict for verdict, _ in literal)
    confusion: Counter[tuple[str, str]] = Counter(zip(small.labels, found.verdicts, strict=True))
    for row, true in enumerate(found.classes):
        for column, said in enumerate((*found.classes, UNDECIDED_LABEL)):
            assert found.confusion[row, column] == confusion[true, said]
        assert found.recall[true] == confusion[true, true] / small.labels.count(true)
    pairs = list(zip(small.labels, literal, strict=True))[1:]
    assert found.accuracy == pytest.approx(
        sum(label == said for label, (said, _) in pairs) / len(pairs)
    )
    assert found.block_accuracy == pytest.approx(sum(right for _, (_, right) in pairs) / len(pairs))


@pytest.mark.parametrize("rule", RULES)
def test_leave_one_out_is_what_the_recogniser_says(rule: str, small: Dataset, model: Model) -> None:
    found = run(leave_one_out(model, rule=rule))
    recogniser = Recogniser(model)
    one_by_one = [recogniser.leave_one_out(number, rule) for number in range(len(small.labels))]
    assert found.verdicts == tuple(one.verdict.label for one in one_by_one)
    right = [
        (one.winner == one.classes.index(label)).mean()
        for one, label in zip(one_by_one, small.labels, strict=True)
    ]
    assert found.block_accuracy == pytest.approx(np.mean(right[1:]))


@pytest.mark.parametrize("descriptor", ["structural", "extended"])
def test_rows_of_the_confusion_matrix_sum_to_the_counts(
    descriptor: str, small: Dataset, model: Model
) -> None:
    found = run(leave_one_out(model, descriptor))
    assert found.classes == small.classes
    assert found.confusion.shape == (7, 8)
    assert found.confusion.sum(axis=1).tolist() == [
        small.labels.count(name) for name in found.classes
    ]
    # The original is alone in its class.
    assert found.recall["original"] == 0
    assert set(found.recall) == set(found.classes)
    diagonal = np.diag(found.confusion[1:, 1:-1])
    assert found.accuracy == pytest.approx(diagonal.sum() / (len(small.labels) - 1))
    assert 0 <= found.block_accuracy <= 1


def test_leave_one_out_of_the_reference_alone() -> None:
    made = Dataset(np.full((1, 16, 16), 0.5, np.float32), (Entry("original", 0, 0, 0, 0),))
    found = run(leave_one_out(trained(made, TrainingSettings("pca", components=1))))
    assert found.confusion.sum() == 1
    assert math.isnan(found.accuracy)
    assert math.isnan(found.block_accuracy)


def test_threads_change_nothing(small: Dataset, model: Model) -> None:
    one, two = (run(leave_one_out(model, threads=threads)) for threads in (1, 2))
    assert one.verdicts == two.verdicts
    assert (one.confusion == two.confusion).all()
    assert (one.accuracy, one.recall, one.block_accuracy) == (
        two.accuracy,
        two.recall,
        two.block_accuracy,
    )
    first, second = (run(fresh(model, small.reference, 1, threads=threads)) for threads in (1, 2))
    assert repr(asdict(first)) == repr(asdict(second))


def test_progress_rises_to_its_end(small: Dataset, model: Model) -> None:
    for task, total in ((leave_one_out(model), 31), (fresh(model, small.reference, 1), 6 + 15 + 4)):
        reports: list[Progress] = []
        run(task, reports.append)
        assert reports[0].done == 0
        assert reports[-1].done == total
        assert all(report.total == total for report in reports)
        assert all(first.done <= second.done for first, second in pairwise(reports))


@pytest.mark.parametrize("reports", [0, 1, 2])
def test_closed_half_way_no_thread_is_left(reports: int, small: Dataset, model: Model) -> None:
    before = set(threading.enumerate())
    for task in (leave_one_out(model, threads=2), fresh(model, small.reference, 3, threads=2)):
        for _ in range(reports):
            next(task)
        task.close()
        assert set(threading.enumerate()) <= before
        with pytest.raises(StopIteration):
            next(task)


def test_a_failure_is_told_and_no_thread_is_left(small: Dataset, model: Model) -> None:
    before = set(threading.enumerate())
    bare = replace(model, known=None)
    for task in (
        leave_one_out(model, rule="magic"),
        leave_one_out(model, "magic"),
        leave_one_out(bare),
        fresh(model, small.reference, 1, rule="magic"),
        fresh(model, small.reference[:40], 1),
        fresh(bare, small.reference, 1),
    ):
        with pytest.raises(RecognitionError):
            run(task)
        assert set(threading.enumerate()) <= before


# --- fresh pictures -------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_the_plan_has_every_kind_and_every_pair(count: int) -> None:
    trials = plan_trials(count, 5, KINDS)
    labels = Counter(frozenset(trial.label.split("+")) for trial in trials)
    singles = [frozenset([kind]) for kind in KINDS]
    pairs = [frozenset(pair) for pair in combinations(KINDS, 2)]
    assert len(pairs) == 15
    assert labels == dict.fromkeys([*singles, *pairs], count)
    assert all(PAPER_LEVELS[0] <= trial.level <= PAPER_LEVELS[1] for trial in trials)
    assert len({trial.seed for trial in trials}) == len(trials)
    assert len({trial.level for trial in trials}) == len(trials)
    assert all(
        len({trial.label for trial in trials if set(trial.label.split("+")) == pair}) == 1
        for pair in pairs
    )


def test_the_plan_depends_on_its_seed_only() -> None:
    assert plan_trials(2, 5, KINDS) == plan_trials(2, 5, KINDS)
    first, second = ({trial.seed for trial in plan_trials(2, seed, KINDS)} for seed in (5, 6))
    assert not first & second


@pytest.mark.parametrize(
    ("kinds", "labels"),
    [
        ([], []),
        (["jpeg"], ["jpeg"]),
        # Blur comes before coding, and both come before noise and light.
        (["jpeg", "blur"], ["jpeg", "blur", "blur+jpeg"]),
        (["luminance", "impulse"], ["luminance", "impulse", "impulse+luminance"]),
    ],
)
def test_the_plan_of_few_kinds(kinds: list[str], labels: list[str]) -> None:
    assert [trial.label for trial in plan_trials(1, 0, kinds)] == labels


def test_fresh_pictures_are_those_of_the_plan(small: Dataset, model: Model) -> None:
    found = run(fresh(model, small.reference, 2, seed=3))
    # These are the levels of the training pictures.
    assert found.levels == (60, 900)
    trials = plan_trials(2, 3, small.classes[1:], (60, 900)) + plan_untrained_trials(
        small.reference, 2, 3, (60, 900)
    )
    assert len(trials) == 2 * (6 + 15 + 4)
    made = [outcome.trial for outcome in found.outcomes]
    assert made == [trial for trial in trials if trial in made]
    assert len(made) + found.unreachable == len(trials)
    recogniser = Recogniser(model)
    for outcome in found.outcomes[::5]:
        label, level, seed = outcome.trial.label, outcome.trial.level, outcome.trial.seed
        if label in unseen_damage.UNTRAINED:
            picture = unseen_damage.damage(small.reference, label, level, seed)
        else:
            picture = strength_search.distort(small.reference, label, level, seed).picture
            assert outcome.achieved == pytest.approx(level, rel=0.02)
        assert outcome.achieved == mse(picture, small.reference)
        assert outcome.verdict == recogniser.recognise(picture).verdict


def test_no_fresh_picture_is_a_training_picture(small: Dataset) -> None:
    for trial in plan_trials(1, 1, KINDS):
        made = make_picture(small.reference, trial)
        assert made is None or not any(
            np.array_equal(made[0], picture) for picture in small.pictures
        )


def test_what_cannot_be_reached_is_counted() -> None:
    """A picture with so little in it that it can hardly be blurred more than it was in training."""
    reference = (0.5 + 0.02 * np.random.default_rng(1).standard_normal((32, 32))).astype(np.float32)
    most = float(reference.var()) * 255**2
    levels = (round(0.95 * most, 1), 400.0)
    made = run(generate(reference, DatasetSpec(kinds=("blur", "luminance"), levels=levels), 2))
    assert made.labels == ("original", "blur", "luminance", "luminance")
    found = run(fresh(trained(made), reference, 2))
    assert found.unreachable >= 2
    assert not any(outcome.trial.label == "blur" for outcome in found.outcomes)
    assert found.recall.keys() == {"luminance"}


def test_damage_that_does_nothing_is_no_trial() -> None:
    """A black and white chart does not change with fewer grey levels, and is called original."""
    chart = (np.indices((96, 96)).sum(axis=0) // 8 % 2).astype(np.float32)
    made = run(generate(chart, DatasetSpec(kinds=("blur", "impulse"), levels=(100.0, 300.0)), 2))
    found = run(fresh(trained(made, TrainingSettings(method="pca")), chart, 2))
    assert "posterisation" not in found.unlike_by_kind
    assert found.unreachable >= 2
    assert all(outcome.achieved > 10 for outcome in found.outcomes)


@pytest.mark.parametrize("levels", [(2.0, 40.0), (1000.0, 2500.0), (200.0,)])
def test_fresh_pictures_have_the_levels_that_were_trained(
    small: Dataset, levels: tuple[float, ...]
) -> None:
    spec = DatasetSpec(kinds=("blur", "gaussian-noise"), levels=levels)
    model = trained(run(generate(small.reference, spec, 2)), TrainingSettings(method="pca"))
    found = run(fresh(model, small.reference, 3))
    low, high = found.levels
    assert (low, high) == pytest.approx((levels[0], levels[-1]), rel=0.02)
    known = [
        outcome for outcome in found.outcomes if outcome.trial.label not in unseen_damage.UNTRAINED
    ]
    assert known
    assert all(0.95 * low <= outcome.achieved <= 1.05 * high for outcome in known)


def test_a_constant_reference_is_no_accident() -> None:
    reference = np.full((16, 24), 0.5, np.float32)
    spec = DatasetSpec(kinds=("luminance", "gaussian-noise"), levels=(100.0, 400.0))
    found = run(fresh(trained(run(generate(reference, spec, 2))), reference, 1))
    assert found.recall["luminance"] == 1


# --- figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "area"),
    [
        ([0, 1], [2, 3], 1.0),
        ([2, 3], [0, 1], 0.0),
        ([1], [1], 0.5),
        ([1, 1, 1], [1, 1], 0.5),
        ([0, 2], [1], 0.5),
        ([1, 2, 3], [2, 4], 0.75),
        ([0, math.inf], [math.inf], 0.75),
    ],
)
def test_auroc_of_known_cases(low: list[float], high: list[float], area: float) -> None:
    assert auroc(low, high) == pytest.approx(area)


@pytest.mark.parametrize(("low", "high"), [([], []), ([1.0], []), ([], [1.0])])
def test_auroc_of_nothing_is_unknown(low: list[float], high: list[float]) -> None:
    assert math.isnan(auroc(low, high))


numbers = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=15)


@given(low=numbers, high=numbers)
def test_auroc_is_that_of_a_naive_loop(low: list[float], high: list[float]) -> None:
    wins = sum(1.0 if b > a else 0.5 if b == a else 0.0 for a in low for b in high)
    assert auroc(low, high) == pytest.approx(wins / (len(low) * len(high)))
    assert auroc(low, high) + auroc(high, low) == pytest.approx(1)


def verdict(
    label: str,
    *parts: str,
    severity: float = 0.0,
    unusual: float = 0.5,
    unlike: bool = False,
    **components: float,
) -> Verdict:
    return Verdict(
        label=label,
        share=0.5,
        runner_up=None,
        runner_up_share=0.0,
        margin=0.5,
        severity=severity,
        nearest_level=severity,
        unusual=unusual,
        unlike=unlike,
        shares={},
        components=components,
        parts=parts or (label,),
        sentence=".",
    )


def outcome(label: str, level: float, found: Verdict) -> Outcome:
    return Outcome(Trial(label, level, 0), level, found)


def test_the_figures_of_outcomes_made_by_hand() -> None:
    outcomes = (
        outcome("blur", 100, verdict("blur", severity=110, unusual=0.1)),
        outcome("blur", 200, verdict("jpeg", severity=100, unusual=0.2)),
        outcome("jpeg", 300, verdict("jpeg", severity=300, unusual=0.3, unlike=True)),
        outcome("jpeg", 400, verdict("jpeg", "jpeg", "blur", severity=480, unusual=0.4)),
        # The top two are right.
        outcome("blur+jpeg", 500, verdict("blur", blur=0.6, jpeg=0.3, contrast=0.1)),
        # One of them is right.
        outcome("blur+jpeg", 500, verdict("jpeg", blur=0.1, jpeg=0.6, contrast=0.3)),
        # Both are right by the parts.
        outcome("blur+jpeg", 500, verdict("contrast", "blur", "jpeg", contrast=0.9)),
        outcome(
            "blur+contrast", 500, verdict("blur", unlike=True, blur=0.6, original=0.5, contrast=0.1)
        ),
        outcome("speckle noise", 1, verdict("impulse", unusual=0.35)),
        outcome("speckle noise", 1, verdict("impulse", unusual=9)),
        outcome("median filter", 1, verdict("blur", unusual=0.2)),
    )
    found = summarise(outcomes, 7)
    assert found.outcomes == outcomes
    assert found.unreachable == 7
    assert found.singles == 3 / 4
    assert found.recall == {"blur": 0.5, "jpeg": 1.0}
    assert found.level_error == pytest.approx((0.1 + 0.2) / 2)  # of 0.1, 0.5, 0 and 0.2
    assert found.level_correlation == pytest.approx(0.8)  # ranks 2, 1, 3, 4
    assert found.called_mixtures == 1 / 4
    assert found.called_unlike == 1 / 4
    # "Not recognised" is not an answer.
    assert found.one_of_two == 2 / 4
    both, more = (
        outcome("blur+jpeg", 500, verdict(label)) for label in ("blur+jpeg", "blur+impulse")
    )
    assert [summarise((each,)).one_of_two for each in (both, more)] == [1, 0], (
        "a class of two is right too"
    )
    assert found.top_two == 3 / 4
    assert found.pairs == {"blur+jpeg": pytest.approx(2 / 3), "blur+contrast": 1.0}
    assert found.unlike == pytest.approx((3 + 4 + 1.5) / 12)
    assert found.unlike_by_kind == {"speckle noise": pytest.approx(7 / 8), "median filter": 1.5 / 4}


def test_a_picture_called_unlike_counts_as_stranger_than_what_is_usual() -> None:
    """One to which the original is nearest has no rank among a kind's distances."""
    found = summarise(
        (
            outcome("blur", 100, verdict("blur", unusual=0.1)),
            outcome("blur", 200, verdict("blur", unusual=1.9)),
            outcome("speckle noise", 1, verdict("original", unusual=0.0, unlike=True)),
        )
    )
    assert found.unlike == found.unlike_by_kind["speckle noise"] == 1


def test_the_figures_of_nothing_are_unknown() -> None:
    found = summarise(())
    assert found.unreachable == 0
    figures = (
        found.singles,
        found.level_error,
        found.level_correlation,
        found.one_of_two,
        found.top_two,
    )
    assert all(
        map(math.isnan, (*figures, found.called_mixtures, found.called_unlike, found.unlike))
    )
    assert found.recall == found.pairs == found.unlike_by_kind == {}


def test_one_picture_has_no_correlation() -> None:
    found = summarise((outcome("blur", 100, verdict("blur", severity=90)),))
    assert math.isnan(found.level_correlation)
    assert found.level_error == pytest.approx(0.1)
    assert found.singles == 1


# --- the plan of untrained kinds ------------------------------------------------------------------


def photograph(height: int, width: int) -> np.ndarray:
    rows, columns = (np.linspace(0, 511, size).astype(int) for size in (height, width))
    return (data.camera()[np.ix_(rows, columns)] / 255).astype(np.float32)


@pytest.mark.parametrize("count", [1, 4, 60])
def test_the_plan_of_untrained_kinds(count: int) -> None:
    picture = photograph(32, 32)
    trials = plan_untrained_trials(picture, count, 9)
    assert trials == plan_untrained_trials(picture, count, 9)
    assert Counter(trial.label for trial in trials) == dict.fromkeys(unseen_damage.UNTRAINED, count)
    for kind in unseen_damage.UNTRAINED:
        ladder = unseen_damage.strengths(picture, kind, *PAPER_LEVELS)
        used = Counter(trial.level for trial in trials if trial.label == kind)
        assert set(used) <= set(ladder)
        assert len(used) == min(count, len(ladder))  # different ones as long as there are any


# --- all together ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def camera() -> tuple[Dataset, Model]:
    """A quarter of the photographer's pixels, half the paper's levels."""
    reference = (data.camera()[::2, ::2] / 255).astype(np.float32)
    levels = (45.0, *(90.0 * n for n in range(1, 11)))
    made = run(generate(reference, DatasetSpec(levels=levels), 2))
    return made, trained(made, TrainingSettings(solver="direct", epochs=40))


@pytest.fixture(scope="module")
def afresh(camera: tuple[Dataset, Model]) -> tuple[FreshScores, float]:
    """What came out, and the longest time in seconds without a report."""
    made, model = camera
    times = [time.perf_counter()]
    found = run(
        fresh(model, made.reference, 3, seed=2), lambda _: times.append(time.perf_counter())
    )
    return found, max(second - first for first, second in pairwise(times))


def test_the_photographer_left_out(camera: tuple[Dataset, Model]) -> None:
    found = run(leave_one_out(camera[1]))
    assert found.accuracy >= 0.9, found.recall


def test_the_photographer_afresh(afresh: tuple[FreshScores, float]) -> None:
    found, _ = afresh
    assert found.singles >= 0.95
    assert found.level_error <= 0.06
    assert found.level_correlation >= 0.95
    assert found.top_two >= 0.7
    assert found.one_of_two >= 0.8
    assert found.unlike >= 0.8


@pytest.mark.alone
def test_fresh_pictures_report_all_the_time(afresh: tuple[FreshScores, float]) -> None:
    """A user who sees nothing for so long, and cannot stop it, ends the program."""
    assert afresh[1] < 4
