"""The results of the reproduction: frozen records that can be stored as JSON, and their scores."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import isca_gui
from isca_gui.core.distortion.distortions import UNDECIDED_LABEL
from isca_gui.core.paper.plan import PRINTED, TEST_LABELS, TITLES, Plan, Vote, letter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.recognition.evaluation import LeaveOneOut
    from isca_gui.core.recognition.verdict import Verdict

SCHEMA = 1
CURVES = ("epoch", "error", "objective", "primal", "dual")


@dataclass(frozen=True)
class Confusion:
    """Leave-one-out: pictures counted by class (rows) and verdict (columns, undecided last)."""

    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    accuracy: float
    block_accuracy: float
    recall: Mapping[str, float]

    @classmethod
    def of(cls, found: LeaveOneOut) -> Confusion:
        """Return the matrix of what `evaluation.leave_one_out` found."""
        counts = tuple(tuple(map(int, row)) for row in found.confusion)
        return cls(found.classes, counts, found.accuracy, found.block_accuracy, dict(found.recall))


@dataclass(frozen=True)
class TrialResult:
    """How one test picture was recognised.

    `shares` are shares of all blocks; `top_two` are the two most likely labels.
    """

    image: int  # 1 to 12 as in the paper
    verdict: str
    shares: Mapping[str, float]
    top_two: tuple[str, ...]

    @classmethod
    def by_votes(cls, image: int, verdict: Verdict) -> TrialResult:
        """Return the result with labels ranked by votes alone, as in the paper.

        Undecided blocks count as votes for a label of their own.
        """
        ranked = sorted(verdict.shares, key=lambda name: -verdict.shares[name])
        voted = tuple(name for name in ranked if verdict.shares[name] > 0)
        return cls(image, verdict.label, dict(verdict.shares), voted[:2])

    @classmethod
    def by_evidence(cls, image: int, verdict: Verdict) -> TrialResult:
        """Return the result with labels ranked by the program's own evidence rule."""
        return cls(image, verdict.label, dict(verdict.shares), verdict.top_two)

    @property
    def votes(self) -> tuple[Vote, ...]:
        """The two most likely labels with their shares."""
        return tuple(Vote(100 * self.shares.get(name, 0.0), (name,)) for name in self.top_two)


@dataclass(frozen=True)
class Score:
    """How many of the test pictures were recognised."""

    singles: int  # one distortion, in the first place
    of_singles: int
    first_of_pair: int  # two distortions, one of them in the first place
    both_of_pair: int  # two distortions, both in the first two places
    of_pairs: int


@dataclass(frozen=True)
class MethodResult:
    """All results of one method.

    `published` uses the paper's descriptor and rule, `extended` those of this program. `curves`
    holds a number per epoch for each name in CURVES. `reconstruction` is the SSIM of each test
    picture with its reconstruction; it is empty for kernel methods, which cannot reconstruct.
    """

    key: str
    settings: Mapping[str, Any]
    end: str
    curves: Mapping[str, tuple[float, ...]]
    published: Confusion
    extended: Confusion
    published_tests: tuple[TrialResult, ...]
    extended_tests: tuple[TrialResult, ...]
    reconstruction: tuple[float, ...]

    @property
    def title(self) -> str:
        """The name of the method in tables and figures."""
        return TITLES[self.key]

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> MethodResult:
        """Return the result that `asdict` and JSON have stored.

        Raises KeyError, TypeError or ValueError if the document is damaged.
        """
        return cls(
            key=document["key"],
            settings=document["settings"],
            end=document["end"],
            curves={name: tuple(map(float, document["curves"][name])) for name in CURVES},
            published=_confusion(document["published"]),
            extended=_confusion(document["extended"]),
            published_tests=tuple(map(_trial, document["published_tests"])),
            extended_tests=tuple(map(_trial, document["extended_tests"])),
            reconstruction=tuple(map(float, document["reconstruction"])),
        )


def _confusion(document: Mapping[str, Any]) -> Confusion:
    return Confusion(
        classes=tuple(document["classes"]),
        counts=tuple(tuple(map(int, row)) for row in document["counts"]),
        accuracy=float(document["accuracy"]),
        block_accuracy=float(document["block_accuracy"]),
        recall=dict(document["recall"]),
    )


def _trial(document: Mapping[str, Any]) -> TrialResult:
    return TrialResult(
        image=int(document["image"]),
        verdict=document["verdict"],
        shares={str(name): float(share) for name, share in document["shares"].items()},
        top_two=tuple(document["top_two"]),
    )


@dataclass(frozen=True)
class TrialPicture:
    """A test picture; the figures of one that cannot be made are None."""

    image: int
    label: str
    target_mse: float
    achieved_mse: float | None
    strength: float | None
    seed: int
    ssim: float | None

    @property
    def letters(self) -> str:
        """The paper's letters of its distortions."""
        return letter(self.label)


@dataclass(frozen=True, eq=False)
class Findings:
    """All results of the reproduction."""

    name: str
    plan: Plan
    dataset: Dataset
    digest: str  # SHA-256 of the reference
    tests: tuple[TrialPicture, ...]
    methods: tuple[MethodResult, ...]
    seconds: Mapping[str, float]


def score(tops: Mapping[int, Sequence[tuple[str, ...]]]) -> Score:
    """Return the score, given the labels in the first and second place for each test picture."""
    singles = of_singles = first_of_pair = both_of_pair = of_pairs = 0
    for image, places in tops.items():
        parts = set(TEST_LABELS[image - 1].split("+"))
        first = set(places[0]) if places else set()
        if len(parts) == 1:
            of_singles += 1
            singles += first == parts
        else:
            of_pairs += 1
            first_of_pair += bool(first & parts)
            both_of_pair += set().union(*places[:2]) >= parts
    return Score(singles, of_singles, first_of_pair, both_of_pair, of_pairs)


def score_of(trials: Sequence[TrialResult]) -> Score:
    """Return the score of a method's answers."""
    return score({trial.image: _places(trial) for trial in trials})


def _places(trial: TrialResult) -> list[tuple[str, ...]]:
    # If the verdict is undecided although a class leads, two classes are tied and share the first
    # place.
    tied = trial.verdict == UNDECIDED_LABEL and UNDECIDED_LABEL not in trial.top_two[:1]
    return [trial.top_two] if tied else [(name,) for name in trial.top_two]


def printed_score(key: str) -> Score | None:
    """Return the score of what the paper prints for a method, or None if it prints nothing."""
    if key not in PRINTED:
        return None
    places = {
        image: [vote.labels for vote in votes] for image, votes in enumerate(PRINTED[key], start=1)
    }
    return score(places)


def document(findings: Findings) -> dict[str, Any]:
    """Return the content of `results.json`; only `seconds` differs from run to run."""
    dataset = findings.dataset
    spec = findings.plan.dataset
    height, width = dataset.reference.shape
    return {
        "schema": SCHEMA,
        "program": f"ISCA Studio {isca_gui.__version__}",
        "image": findings.name,
        "quick": findings.plan.quick,
        "width": width,
        "height": height,
        "reference_sha256": findings.digest,
        "dataset": {
            "pictures": len(dataset.entries),
            "classes": dict(Counter(dataset.labels)),
            "kinds": list(spec.kinds),
            "levels": list(spec.levels),
            "seed": spec.seed,
            "unreachable": [asdict(missed) for missed in dataset.unreachable],
        },
        "tests": [{**asdict(test), "letters": test.letters} for test in findings.tests],
        "methods": [_method(result) for result in findings.methods],
        "paper": {key: _printed(key) for key in PRINTED},
        "seconds": {name: round(seconds, 3) for name, seconds in findings.seconds.items()},
    }


def _method(result: MethodResult) -> dict[str, Any]:
    return {
        "key": result.key,
        "title": result.title,
        "settings": dict(result.settings),
        "end": result.end,
        "epochs": len(result.curves["epoch"]),
        "error": result.curves["error"][-1],
        "objective": result.curves["objective"][-1],
        "leave_one_out": {
            "published": asdict(result.published),
            "extended": asdict(result.extended),
        },
        "tests": {
            "published": [_trial_document(trial) for trial in result.published_tests],
            "extended": [_trial_document(trial) for trial in result.extended_tests],
        },
        "score": {
            "published": asdict(score_of(result.published_tests)),
            "extended": asdict(score_of(result.extended_tests)),
        },
        "reconstruction_ssim": list(result.reconstruction),
        "curves": {name: list(values) for name, values in result.curves.items()},
    }


def _trial_document(trial: TrialResult) -> dict[str, Any]:
    return {
        "image": trial.image,
        "verdict": trial.verdict,
        "top_two": [
            {"label": vote.labels[0], "percent": round(vote.percent, 2)} for vote in trial.votes
        ],
        "shares": dict(trial.shares),
    }


def _printed(key: str) -> dict[str, Any]:
    score = printed_score(key)
    assert score is not None
    top_two = [
        [{"labels": list(vote.labels), "percent": vote.percent} for vote in votes]
        for votes in PRINTED[key]
    ]
    return {"top_two": top_two, "score": asdict(score)}
