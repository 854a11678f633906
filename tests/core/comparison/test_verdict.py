"""From probabilities and proofs to an answer, with classifiers that say what they are told."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from isca_gui.core.comparison import verdict
from isca_gui.core.comparison.classifier import members_of
from isca_gui.core.comparison.kinds import FAMILIES, KINDS, family_of
from isca_gui.core.comparison.pair import Pair
from isca_gui.core.comparison.proof import Proof
from isca_gui.core.comparison.verdict import Judgement, judge, sentence
from tests import copies

ROWS = np.zeros((1, 3), np.float32)


@dataclass
class Told:
    """Stands for the classifier: its answers are given."""

    shares: dict[str, float]
    two: float = 0.0
    present: dict[str, float] = field(default_factory=dict)
    first: float = 0.5

    def probabilities(self, row: np.ndarray) -> dict[str, float]:
        rest = 1 - sum(self.shares.values())
        return dict.fromkeys(KINDS, 0.0) | {"none": rest} | self.shares

    def mixture_probability(self, row: np.ndarray) -> float:
        return self.two

    def family_presences(self, row: np.ndarray) -> dict[str, float]:
        shares = dict.fromkeys(FAMILIES, 0.0)
        for kind, share in self.present.items():
            family = family_of(kind)
            assert family is not None
            shares[family] = share
        return shares

    def member_shares(self, row: np.ndarray, family: str) -> dict[str, float]:
        return {kind: float(kind in self.present) for kind in members_of(family)}

    def first_probability(self, row: np.ndarray, first: str, second: str) -> float:
        return self.first if first < second else 1 - self.first


def pair_of(copy: np.ndarray) -> Pair:
    reference = copies.part("camera", 160, 160)
    return Pair(reference.astype(np.float32), copy.astype(np.float32))


BLURRED = pair_of(copies.blurred(copies.part("camera", 160, 160), 1.5))
NOISY = pair_of(copies.noisy(copies.part("camera", 160, 160), 12))
DARK_JPEG = pair_of(
    copies.saved(copies.shifted(copies.part("camera", 160, 160), -25), "JPEG", quality=40)
)


def answer(pair: Pair, **told: Any) -> Judgement:
    return judge(pair, ROWS, Told(**told))  # type: ignore[arg-type]


def test_what_is_voted_and_proved_is_the_answer() -> None:
    found = answer(BLURRED, shares={"blur": 0.98, "resampling": 0.012})
    assert (found.label, found.parts, found.unlike, found.weak) == ("blur", ("blur",), False, False)
    assert found.probability == 0.98
    said = sentence(found, BLURRED.mse)
    assert re.fullmatch(
        r"Blur, σ about 1\.5 pixels\. Making it again explains (all|99\.\d%) of the change\. "
        r"Probability 0\.98; next: scaled down and back up 0\.01\.",
        said,
    )


def test_without_proof_nothing_is_recognised_whatever_the_votes() -> None:
    found = answer(NOISY, shares={"blur": 0.99})
    assert (found.unlike, found.parts) == (True, ())
    said = sentence(found, NOISY.mse)
    assert said.startswith("Not recognised: no known kind of change fits.")


def test_few_votes_are_not_enough() -> None:
    found = answer(BLURRED, shares={"blur": 0.3, "jpeg": 0.2})
    assert found.unlike
    assert found.probability == pytest.approx(0.7)
    said = sentence(found, BLURRED.mse)
    assert "Closest: Blur (0.30). Do not rely on it." in said


def test_a_sure_family_names_its_likeliest_member() -> None:
    found = answer(BLURRED, shares={"blur": 0.45, "resampling": 0.4})
    assert (found.label, found.unlike, found.probability) == ("blur", False, 0.45)


def test_a_sure_compression_without_a_sure_member() -> None:
    found = answer(DARK_JPEG, shares={"webp": 0.4, "avif": 0.35, "heic": 0.1, "blur": 0.05})
    assert (found.label, found.unlike) == ("other-compression", False)
    assert found.probability == pytest.approx(0.85)
    said = sentence(found, DARK_JPEG.mse)
    assert said == ("Other lossy compression. Probability 0.85; next: none of these 0.10."), said


def test_too_weak_to_name() -> None:
    reference = BLURRED.reference
    weak = Pair(reference, reference + np.float32(1) * (np.indices(reference.shape)[0] % 3 == 0))
    found = answer(weak, shares={"blur": 0.3})
    assert (found.weak, found.unlike, found.parts) == (True, False, ())
    said = sentence(found, weak.mse)
    assert said == "Differs from the reference by MSE 0.34, too little to say how."


def test_what_one_kind_explains_is_no_mixture() -> None:
    told: dict[str, Any] = {"two": 0.99, "present": {"blur": 0.9, "jpeg": 0.9}}
    assert answer(BLURRED, shares={"blur": 0.9}, **told).parts == ("blur",)


def mixture(**told: Any) -> Judgement:
    start: dict[str, Any] = {
        "shares": {"jpeg": 0.9},
        "two": 0.9,
        "present": {"luminance": 0.9, "jpeg": 0.9},
    }
    return answer(DARK_JPEG, **(start | told))


@pytest.mark.parametrize("first", [0.9, 0.6, 0.1])
def test_the_order_that_explains_more_is_named_whatever_the_votes(first: float) -> None:
    found = mixture(first=first)
    assert (found.order, found.parts) == ("luminance,jpeg", ("luminance", "jpeg"))
    assert found.label == "luminance+jpeg"
    assert found.explained is not None
    assert found.explained > 0.9
    said = sentence(found, DARK_JPEG.mse)
    assert re.match(r"Darker by about 2[45](\.\d)? grey levels; then JPEG, quality about 40", said)
    assert re.search(r"Making both again explains (all|9\d%|99\.\d%) of the change\.", said)
    assert found.probability == pytest.approx(0.9**3)


@pytest.mark.parametrize(
    ("first", "order", "parts"),
    [
        (0.9, "gaussian-noise,jpeg", ("gaussian-noise", "jpeg")),
        (0.1, "jpeg,gaussian-noise", ("jpeg", "gaussian-noise")),
        (0.6, None, ("gaussian-noise", "jpeg")),
        (0.4, None, ("jpeg", "gaussian-noise")),
    ],
)
def test_noise_is_ordered_by_votes(first: float, order: str | None, parts: tuple[str, ...]) -> None:
    present = {"gaussian-noise": 0.9, "jpeg": 0.9}
    found = mixture(first=first, present=present)
    assert (found.order, found.parts, found.label) == (order, parts, "+".join(parts))
    assert found.explained is None
    assert found.make is None
    said = sentence(found, DARK_JPEG.mse)
    assert ("; then " in said) == (order is not None)
    assert ("the order cannot be determined." in said) == (order is None)


def test_a_second_kind_that_is_not_seen_is_not_invented() -> None:
    assert mixture(present={"jpeg": 0.99, "luminance": 0.1}).parts == ("jpeg",)
    assert mixture(two=0.2).parts == ("jpeg",)


def test_many_parts_are_averaged() -> None:
    @dataclass
    class Changing(Told):
        count: int = 0

        def probabilities(self, row: np.ndarray) -> dict[str, float]:
            share = float(row[0])
            return dict.fromkeys(KINDS, 0.0) | {"blur": share, "none": 1 - share}

    rows = np.array([[0.9], [0.5]], np.float32)
    found = judge(BLURRED, rows, Changing({}))  # type: ignore[arg-type]
    assert found.probability == pytest.approx(0.7)


def judgement(**changes: Any) -> Judgement:
    start = Judgement(
        label="gaussian-noise",
        parts=("gaussian-noise",),
        order=None,
        unlike=False,
        weak=False,
        probability=0.9999,
        probabilities={"gaussian-noise": 0.9999, "none": 0.0001},
        proofs=(Proof(True),),
    )
    return replace(start, **changes)


def test_no_answer_is_certain() -> None:
    assert sentence(judgement(), 9) == "Gaussian noise. Probability 0.99."
    assert sentence(judgement(probability=0.001), 9).endswith("Probability below 0.01.")


def test_names_keep_their_capitals_inside_a_sentence() -> None:
    for kind in KINDS.values():
        said = verdict._lower(kind.title)
        assert said.lower() == kind.title.lower()
        is_name = kind.title.split()[0] in ("Gaussian", "WebP", "JPEG", "AVIF", "HEIC")
        assert said[0].isupper() == is_name, said
