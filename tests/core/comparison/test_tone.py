"""Tone curves against a loop, and the parameters that come back out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from isca_gui.core.comparison import tone
from isca_gui.core.comparison.pair import Pair
from tests import copies
from tests import reference_comparison as literal

if TYPE_CHECKING:
    from collections.abc import Callable

GREY = arrays.arrays(np.uint8, (6, 7)).map(lambda pixels: pixels.astype(np.float32))


def pair_of(name: str, work: Callable[[np.ndarray], np.ndarray]) -> Pair:
    pixels = copies.part(name, 200, 240)
    return Pair(pixels.astype(np.float32), work(pixels).astype(np.float32))


@given(GREY, GREY)
def test_the_curve_is_the_mean_over_each_grey_value(
    reference: np.ndarray, copy: np.ndarray
) -> None:
    curve, counts = tone.tone_curve(reference, copy)
    wanted, wanted_counts = literal.tone_curve(reference, copy)
    assert curve == pytest.approx(wanted, abs=1e-4)
    assert np.array_equal(counts, wanted_counts)


@given(GREY, st.lists(st.integers(0, 255), min_size=256, max_size=256))
def test_any_curve_is_found_and_made_again(reference: np.ndarray, levels: list[int]) -> None:
    copy = np.array(levels, np.float32)[reference.astype(int)]
    curve, _ = tone.tone_curve(reference, copy)
    assert tone.apply_curve(reference, curve) == pytest.approx(copy, abs=1e-3)


def test_local_variance() -> None:
    picture = copies.part("camera", 23, 31).astype(np.float32)
    assert tone.local_variance(picture) == pytest.approx(
        literal.local_variance(picture), rel=1e-3, abs=0.05
    )


@pytest.mark.parametrize("name", ["coffee", "camera"])
@pytest.mark.parametrize(
    ("kind", "parameter", "value", "work"),
    [
        ("luminance", "shift", 20.0, lambda pixels: copies.shifted(pixels, 20)),
        ("luminance", "shift", -35.0, lambda pixels: copies.shifted(pixels, -35)),
        ("contrast", "gain", 0.7, lambda pixels: copies.stretched(pixels, 0.7)),
        ("contrast", "gain", 1.4, lambda pixels: copies.stretched(pixels, 1.4)),
        ("gamma", "gamma", 0.6, lambda pixels: copies.with_gamma(pixels, 0.6)),
        ("gamma", "gamma", 1.8, lambda pixels: copies.with_gamma(pixels, 1.8)),
        ("posterisation", "levels", 6.0, lambda pixels: copies.posterised(pixels, 6)),
    ],
)
def test_parameters_within_two_per_cent(
    name: str,
    kind: str,
    parameter: str,
    value: float,
    work: Callable[[np.ndarray], np.ndarray],
) -> None:
    found = tone.tone_parameters(kind, pair_of(name, work))
    assert found == {parameter: pytest.approx(value, rel=0.02)}


def test_a_curve_of_any_other_shape_has_no_parameter() -> None:
    assert tone.tone_parameters("tone-curve", pair_of("camera", lambda pixels: pixels)) == {}


def test_what_the_curve_explains_of_a_tone_and_of_noise() -> None:
    toned = tone.tone_features(pair_of("coffee", lambda pixels: copies.with_gamma(pixels, 0.7)))
    noisy = tone.tone_features(pair_of("coffee", lambda pixels: copies.noisy(pixels, 12)))
    assert toned["tone_explained"] < -2
    assert noisy["tone_explained"] > -0.2
    assert toned["tone_left_gamma"] < 0.1 < 0.2 < toned["tone_left_shift"]


def test_smooth_places_show_the_tone_behind_a_blur() -> None:
    pair = pair_of("camera", lambda pixels: copies.blurred(copies.shifted(pixels, 30), 2))
    reference = pair.reference_luma
    variance = tone.local_variance(reference)
    curve = tone.smooth_curve(reference, pair.copy_luma, variance)
    there = slice(20, 200)
    assert np.median(curve[there] - tone.GREYS[there]) == pytest.approx(30, abs=1)


def test_a_flat_picture_has_a_curve() -> None:
    flat = np.full((40, 40), 77, np.float32)
    curve, counts = tone.tone_curve(flat, flat + 9)
    assert (curve == 86).all()
    assert (counts.sum(), counts[77]) == (1600, 1600)
    assert tone.tone_parameters("luminance", Pair(flat, flat + 9)) == {"shift": pytest.approx(9)}
    black = np.zeros_like(flat)
    for kind in ("luminance", "contrast", "gamma", "posterisation"):
        for value in tone.tone_parameters(kind, Pair(black, black)).values():
            assert np.isfinite(value)
