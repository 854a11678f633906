"""What the reproduction finds, as frozen values that go to JSON and back, and how they are scored."""

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
    """Leave-one-out: pictures of each true class (rows) by verdict (columns, undecided last)."""

    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    accuracy: float
    block_accuracy: float
    recall: Mapping[str, float]

    @classmethod
    def of(cls, found: LeaveOneOut) -> Confusion:
        """Take what `evaluation.leave_one_out` gives."""
        counts = tuple(tuple(map(int, row)) for row in found.confusion)
        return cls(found.classes, counts, found.accuracy, found.block_accuracy, dict(found.recall))


@dataclass(frozen=True)
class TrialResult:
    """How one test picture was recognised; `shares` are of all blocks, `top_two` the likeliest labels."""

    image: int  # 1 … 12 as in the paper
    verdict: str
    shares: Mapping[str, float]
    top_two: tuple[str, ...]

    @classmethod
    def by_votes(cls, image: int, verdict: Verdict) -> TrialResult:
        """Rank by votes alone as the paper does; undecided blocks are a party of their own."""
        ranked = sorted(verdict.shares, key=lambda name: -verdict.shares[name])
        voted = tuple(name for name in ranked if verdict.shares[name] > 0)
        return cls(image, verdict.label, dict(verdict.shares), voted[:2])

    @classmethod
    def by_evidence(cls, image: int, verdict: Verdict) -> TrialResult:
        """Take what the program says by itself."""
        return cls(image, verdict.label, dict(verdict.shares), verdict.top_two)

    @property
    def votes(self) -> tuple[Vote, ...]:
        """The top two with their shares."""
        return tuple(Vote(100 * self.shares.get(name, 0.0), (name,)) for name in self.top_two)


@dataclass(frozen=True)
class Score:
    """How many of the test pictures came out right."""

    singles: int  # one distortion: the first is it
    of_singles: int
    first_of_pair: int  # two distortions: the first is one of them
    both_of_pair: int  # and both are the first two
    of_pairs: int


@dataclass(frozen=True)
class MethodResult:
    """All that one method gave, `published` as in the paper and `extended` as the program works by itself."""

    key: str
    settings: Mapping[str, Any]
    end: str
    curves: Mapping[str, tuple[float, ...]]  # see CURVES; one number per epoch
    published: Confusion
    extended: Confusion
    published_tests: tuple[TrialResult, ...]
    extended_tests: tuple[TrialResult, ...]
    reconstruction: tuple[
        float, ...
    ]  # SSIM of each test picture with its reconstruction; none for kernels

    @property
    def title(self) -> str:
        """The name for people."""
        return TITLES[self.key]

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> MethodResult:
        """Undo `asdict` after a journey through JSON; raises KeyError, TypeError or ValueError."""
        return cls(
            key=document["key"],
            settings=document["settings"],
            end=document["end"],
            curves={name: tuple(map(float, document["curves"][name])) for name in CURVES},
            published=_confusion(document["published"]),
            extended=_confusion(document["extended"]),
            published_tests=tuple(map(_answer, document["published_tests"])),
            extended_tests=tuple(map(_answer, document["extended_tests"])),
            reconstruction=tuple(map(float, document["reconstruction"])),
        )


def _confusion(document: Mapping[str, Any]) -> Confusion:
    counts = tuple(tuple(map(int, row)) for row in document["counts"])
    figures = (float(document["accuracy"]), float(document["block_accuracy"]))
    return Confusion(tuple(document["classes"]), counts, *figures, dict(document["recall"]))


def _answer(document: Mapping[str, Any]) -> TrialResult:
    shares = {str(name): float(share) for name, share in document["shares"].items()}
    return TrialResult(
        int(document["image"]), document["verdict"], shares, tuple(document["top_two"])
    )


@dataclass(frozen=True)
class Probe:
    """A test picture; what is NaN in a picture that cannot be made is None here."""

    image: int
    label: str
    target_mse: float
    achieved_mse: float | None
    strength: float | None
    seed: int
    ssim: float | None

    @property
    def letters(self) -> str:
        """The paper's letters of what is in it."""
        return letter(self.label)


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that the reproduction found."""

    name: str
    plan: Plan
    dataset: Dataset
    digest: str  # of the reference
    tests: tuple[Probe, ...]
    methods: tuple[MethodResult, ...]
    seconds: Mapping[str, float]


def score(tops: Mapping[int, Sequence[tuple[str, ...]]]) -> Score:
    """Count what is right, given the labels of the first and second place of each test picture."""
    singles = pairs = right = first = both = 0
    for image, places in tops.items():
        parts = set(TEST_LABELS[image - 1].split("+"))
        leading = set(places[0]) if places else set()
        if len(parts) == 1:
            singles, right = singles + 1, right + (leading == parts)
            continue
        pairs, first = pairs + 1, first + bool(leading & parts)
        both += set().union(*map(set, places[:2])) >= parts
    return Score(right, singles, first, both, pairs)


def score_of(answers: Sequence[TrialResult]) -> Score:
    """Score a method's answers; labels tied for the first place share it, which is no verdict."""
    return score({answer.image: _places(answer) for answer in answers})


def _places(answer: TrialResult) -> list[tuple[str, ...]]:
    tied = answer.verdict == UNDECIDED_LABEL and UNDECIDED_LABEL not in answer.top_two[:1]
    return [answer.top_two] if tied else [(name,) for name in answer.top_two]


def printed_score(key: str) -> Score | None:
    """Score what the paper prints for a method; None where it prints nothing."""
    if key not in PRINTED:
        return None
    return score(
        {image: [v.labels for v in votes] for image, votes in enumerate(PRINTED[key], start=1)}
    )


def document(findings: Findings) -> dict[str, Any]:
    """Give the content of `results.json`; all that differs between two runs stands under `seconds`."""
    made, spec = findings.dataset, findings.plan.dataset
    height, width = made.reference.shape
    return {
        "schema": SCHEMA,
        "program": f"ISCA Studio {isca_gui.__version__}",
        "image": findings.name,
        "quick": findings.plan.quick,
        "width": width,
        "height": height,
        "reference_sha256": findings.digest,
        "dataset": {
            "pictures": len(made.entries),
            "classes": dict(Counter(made.labels)),
            "kinds": list(spec.kinds),
            "levels": list(spec.levels),
            "seed": spec.seed,
            "unreachable": [asdict(missed) for missed in made.unreachable],
        },
        "tests": [{**asdict(test), "letters": test.letters} for test in findings.tests],
        "methods": [_method(found) for found in findings.methods],
        "paper": {key: _printed(key) for key in PRINTED},
        "seconds": {name: round(seconds, 3) for name, seconds in findings.seconds.items()},
    }


def _method(found: MethodResult) -> dict[str, Any]:
    return {
        "key": found.key,
        "title": found.title,
        "settings": dict(found.settings),
        "end": found.end,
        "epochs": len(found.curves["epoch"]),
        "error": found.curves["error"][-1],
        "objective": found.curves["objective"][-1],
        "leave_one_out": {"published": asdict(found.published), "extended": asdict(found.extended)},
        "tests": {
            "published": [_test_answer(answer) for answer in found.published_tests],
            "extended": [_test_answer(answer) for answer in found.extended_tests],
        },
        "score": {
            "published": asdict(score_of(found.published_tests)),
            "extended": asdict(score_of(found.extended_tests)),
        },
        "reconstruction_ssim": list(found.reconstruction),
        "curves": {name: list(values) for name, values in found.curves.items()},
    }


def _test_answer(answer: TrialResult) -> dict[str, Any]:
    return {
        "image": answer.image,
        "verdict": answer.verdict,
        "top_two": [
            {"label": vote.labels[0], "percent": round(vote.percent, 2)} for vote in answer.votes
        ],
        "shares": dict(answer.shares),
    }


def _printed(key: str) -> dict[str, Any]:
    found = printed_score(key)
    assert found is not None
    tops = [
        [{"labels": list(v.labels), "percent": v.percent} for v in votes] for votes in PRINTED[key]
    ]
    return {"top_two": tops, "score": asdict(found)}
