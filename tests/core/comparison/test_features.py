"""The numbers of a change: the same names for every picture, always finite."""

from __future__ import annotations

import numpy as np
import pytest

from isca_gui.core.comparison import classifier
from isca_gui.core.comparison.features import describe_change
from isca_gui.core.comparison.pair import Pair
from tests import copies

FLAT = np.full((40, 56), 128, np.uint8)
PICTURES = {
    "grey": copies.part("camera", 96, 120),
    "colour": copies.part("coffee", 96, 120),
    "odd": copies.part("coffee", 51, 77),
    "smallest": copies.part("camera", 32, 32),
    "low": copies.part("coffee", 32, 300),
    "flat": FLAT,
    "black": FLAT * 0,
    "white": FLAT // 128 * 255,
    "flat colour": np.stack([FLAT, FLAT // 2, FLAT + 50], axis=2),
    "two values": np.where(copies.part("camera", 64, 64) > 100, 255, 0).astype(np.uint8),
}


@pytest.mark.parametrize("name", PICTURES)
def test_every_number_is_there_and_finite(name: str) -> None:
    pixels = PICTURES[name]
    wanted = set(classifier.shipped().names)
    for copy in (
        pixels,
        copies.shifted(pixels, 20),
        copies.noisy(pixels, 12),
        copies.with_impulses(pixels, 0.05),
        copies.saved(pixels, "JPEG", quality=30),
        np.full_like(pixels, 77),
        255 - pixels,
    ):
        found = describe_change(Pair(pixels.astype(np.float32), copy.astype(np.float32)))
        assert wanted <= found.keys()
        assert np.isfinite(list(found.values())).all()
        assert {type(value) for value in found.values()} == {float}


def test_the_same_pair_has_the_same_numbers() -> None:
    pixels = PICTURES["colour"]
    pair = Pair(pixels.astype(np.float32), copies.noisy(pixels, 5).astype(np.float32))
    assert describe_change(pair) == describe_change(pair)


def test_noise_of_another_seed_has_about_the_same_numbers() -> None:
    pixels = copies.part("coffee", 200, 200)
    first, second = (
        describe_change(
            Pair(pixels.astype(np.float32), copies.noisy(pixels, 10, seed).astype(np.float32))
        )
        for seed in (1, 2)
    )
    for name in ("log_mse", "white_slope", "var_bright", "corr_all_01", "gain3", "z8_h"):
        assert first[name] == pytest.approx(second[name], abs=0.1)
