"""Verdicts: what the two rules make of votes, and the words for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isca_gui.core.recognition.neighbours import UNDECIDED
from isca_gui.core.recognition.verdict import (
    RULES,
    UNUSUAL_LIMIT,
    Verdict,
    is_ambiguous,
    make_verdict,
    short_form,
    title,
    vote_shares,
    winning_label,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

CLASSES = ("original", "blur", "jpeg", "blur+jpeg")
votes = st.lists(st.integers(UNDECIDED, len(CLASSES) - 1), min_size=1, max_size=60)


def verdict_on(
    shares: dict[str, float], label: str = "", rule: str = "evidence", **changes: Any
) -> Verdict:
    """Return the verdict on shares of votes; what they leave over is undecided."""
    shares = {"undecided": max(0.0, 1 - sum(shares.values())), **shares}
    given_ = {
        "label": label or winning_label(shares, rule),
        "pair": None,
        "rule": rule,
        "shares": shares,
        "severity": 120.0,
        "nearest_level": 100.0,
        "unusual": 0.5,
        "identical": False,
        "beyond_training": False,
    }
    return make_verdict(**(given_ | changes))


# --- rules ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shares", "evidence", "majority"),
    [
        ({"original": 1.0}, "original", "original"),
        ({"original": 0.98, "blur": 0.02}, "original", "original"),
        ({"original": 0.97, "blur": 0.03}, "blur", "original"),
        ({"original": 0.2, "blur": 0.5, "jpeg": 0.3}, "blur", "blur"),
        ({"original": 0.2, "blur": 0.4, "jpeg": 0.4}, "undecided", "undecided"),
        ({"original": 0.6, "blur": 0.2, "jpeg": 0.2}, "undecided", "original"),
        ({"original": 0.0, "blur": 0.2, "jpeg": 0.1}, "blur", "undecided"),
        ({"original": 0.0, "blur": 0.0, "jpeg": 0.0}, "undecided", "undecided"),
        ({"original": 0.5, "blur": 0.0, "jpeg": 0.0}, "undecided", "original"),
    ],
)
def test_rules(shares: dict[str, float], evidence: str, majority: str) -> None:
    assert verdict_on(shares).label == evidence
    assert verdict_on(shares, rule="majority").label == majority


@given(votes)
def test_shares_count_every_block_once(winner: list[int]) -> None:
    shares = vote_shares(CLASSES, np.array(winner, np.int16))
    assert list(shares) == [*CLASSES, "undecided"]
    assert sum(shares.values()) == pytest.approx(1)
    for index, label in enumerate(CLASSES):
        assert shares[label] == winner.count(index) / len(winner)


@given(votes, st.sampled_from(sorted(RULES)))
def test_a_verdict_agrees_with_its_shares(winner: list[int], rule: str) -> None:
    shares = vote_shares(CLASSES, np.array(winner, np.int16))
    found = verdict_on(shares, rule=rule)
    assert found.share == (0 if found.label == "undecided" else shares[found.label])
    assert found.margin == found.share - found.runner_up_share
    if found.label != "original" or rule == "majority":
        assert found.margin >= 0
    if found.runner_up is not None:
        assert found.runner_up_share == shares[found.runner_up] > 0
    if rule == "evidence":
        assert found.runner_up != "original"
    assert found.components["blur"] == pytest.approx(shares["blur"] + shares["blur+jpeg"])
    assert "undecided" not in found.components


@pytest.mark.parametrize(
    ("shares", "ambiguous"),
    [
        ({"original": 0.2, "blur": 0.4, "jpeg": 0.4, "undecided": 0.0}, True),
        ({"original": 0.4, "blur": 0.4, "jpeg": 0.2, "undecided": 0.0}, False),
        ({"original": 0.0, "blur": 0.0, "jpeg": 0.0, "undecided": 1.0}, False),
        ({"original": 0.0, "blur": 0.4, "jpeg": 0.2, "undecided": 0.4}, False),
    ],
)
def test_only_kinds_of_damage_make_a_picture_ambiguous(
    shares: dict[str, float], ambiguous: bool
) -> None:
    assert is_ambiguous(shares) == ambiguous


def test_what_fits_no_trained_distortion() -> None:
    shares = {"original": 0.1, "blur": 0.6, "jpeg": 0.3}
    assert not verdict_on(shares, unusual=UNUSUAL_LIMIT).unlike
    assert verdict_on(shares, unusual=UNUSUAL_LIMIT + 0.1).unlike
    # Two distortions explain what one does not.
    assert not verdict_on(shares, unusual=UNUSUAL_LIMIT + 0.1, pair=("blur", "jpeg")).unlike
    assert verdict_on({"original": 1.0}, beyond_training=True).unlike


@pytest.mark.parametrize(
    ("shares", "pair", "top"),
    [
        (
            {"original": 0.8, "blur": 0.1, "jpeg": 0.04, "contrast": 0.06},
            None,
            ("blur", "contrast"),
        ),
        ({"blur": 0.5, "jpeg": 0.2, "contrast": 0.3}, ("blur", "jpeg"), ("blur", "jpeg")),
        ({"original": 0.1, "blur+jpeg": 0.9}, None, ("blur", "jpeg")),
        ({"blur": 1.0, "jpeg": 0.0}, None, ("blur",)),
        ({"original": 1.0}, None, ()),
    ],
)
def test_the_two_most_likely_distortions(
    shares: dict[str, float], pair: tuple[str, str] | None, top: Sequence[str]
) -> None:
    assert verdict_on(shares, pair=pair).top_two == top


# --- words ------------------------------------------------------------------------------------

HALVES = {"original": 0.0, "blur": 0.498, "jpeg": 0.498}
MIXED = {"original": 0.6, "blur": 0.24, "jpeg": 0.08}


@pytest.mark.parametrize(
    ("shares", "changes", "sentence"),
    [
        (
            {"original": 1.0},
            {"identical": True},
            "This is the original: no block differs from the reference.",
        ),
        (
            {"original": 0.99, "blur": 0.01},
            {},
            "No damage found: 99% of the blocks match the original.",
        ),
        (
            {"original": 0.99, "blur": 0.01},
            {"beyond_training": True},
            "No trained distortion fits. "
            "The picture differs from the original more than any training picture does.",
        ),
        (
            {"original": 0.3, "blur": 0.35, "jpeg": 0.2},
            {"unusual": 3.0},
            "No trained distortion fits. Closest: Blur (35% of blocks). Do not rely on it.",
        ),
        (
            {"original": 0.0, "blur": 0.93, "jpeg": 0.04},
            {},
            "Blur, strength about MSE 120. "
            "93% of the blocks agree; next is JPEG compression with 4%.",
        ),
        (
            {"original": 0.0, "blur": 0.996, "jpeg": 0.004},
            {"severity": 1.25},
            "Blur, strength about MSE 1.2. 100% of the blocks agree.",
        ),
        (
            {"original": 0.0, "blur": 0.2, "jpeg": 0.2},
            {},
            "Undecided: 60% of the blocks are equally close to two or more kinds.",
        ),
        # A single block in doubt is not the reason.
        (
            HALVES,
            {},
            "Undecided: two or more kinds tie for the largest share of the blocks.",
        ),
        (
            MIXED,
            {"pair": ("blur", "jpeg")},
            "Two distortions together: Blur and JPEG compression, with 24% and 8% of the blocks.",
        ),
        # A distortion without votes is not said to have some.
        (
            {**MIXED, "jpeg": 0.0},
            {"pair": ("blur", "jpeg")},
            "Two distortions together: Blur and JPEG compression; "
            "24% of the blocks vote for the first.",
        ),
        (
            {"original": 0.1, "blur+jpeg": 0.9},
            {},
            "Blur and JPEG compression, strength about MSE 120. 90% of the blocks agree.",
        ),
    ],
)
def test_sentences(shares: dict[str, float], changes: dict[str, Any], sentence: str) -> None:
    assert verdict_on(shares, **changes).sentence == sentence


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("blur", "Blur"),
        ("jpeg", "JPEG compression"),
        ("blur+jpeg", "Blur and JPEG compression"),
        ("jpeg+blur", "JPEG compression and blur"),
        ("blur+gaussian-noise", "Blur and Gaussian noise"),
        ("original", "original"),
        ("scratches", "scratches"),
        ("scratches+blur", "scratches and blur"),
    ],
)
def test_labels_have_names(label: str, words: str) -> None:
    assert title(label) == words


@pytest.mark.parametrize(
    ("shares", "changes", "short"),
    [
        ({"original": 1.0}, {"severity": 0.0}, ("original", "0")),
        ({"original": 0.1, "blur": 0.9}, {}, ("blur", "120")),
        ({"original": 0.1, "blur+jpeg": 0.9}, {}, ("blur+jpeg", "120")),
        # How strong each of two unmixed distortions is, is not known.
        (MIXED, {"pair": ("blur", "jpeg")}, ("blur+jpeg", "")),
        ({"original": 0.1, "blur": 0.9}, {"unusual": 3.0}, ("not recognised", "")),
        (HALVES, {}, ("undecided", "")),
    ],
)
def test_short_forms(
    shares: dict[str, float], changes: dict[str, Any], short: tuple[str, str]
) -> None:
    assert short_form(verdict_on(shares, **changes)) == short
