"""Two pictures laid on one another: scales, luma, and what cannot be compared."""

from __future__ import annotations

import numpy as np
import pytest

from isca_gui.core.comparison.pair import ComparisonError, Pair, luma, make_pair
from tests import copies
from tests import reference_comparison as literal


def test_luma_is_rec_601() -> None:
    pixels = copies.part("coffee", 9, 13)
    assert luma(pixels.astype(np.float32)) == pytest.approx(literal.luma(pixels), abs=1e-4)
    grey = copies.part("camera", 9, 13).astype(np.float32)
    assert luma(grey) is grey


@pytest.mark.parametrize("name", ["coffee", "camera"])
def test_a_pair_is_on_the_scale_of_8_bits(name: str) -> None:
    pixels = copies.part(name, 40, 57)
    pair = make_pair(copies.unit(pixels), copies.unit(copies.shifted(pixels, 5)))
    assert np.array_equal(np.rint(pair.reference), pixels)
    assert pair.mse == pytest.approx(np.mean(pair.change.astype(np.float64) ** 2))
    assert len(pair.channels) == (1 if pixels.ndim == 2 else 3)
    for reference, copy in pair.channels:
        assert reference.shape == copy.shape == (40, 57)


def test_where_one_has_no_colour_both_become_grey() -> None:
    pixels = copies.part("coffee", 40, 57)
    grey = literal.luma(pixels) / 255
    for first, second in ((copies.unit(pixels), grey), (grey, copies.unit(pixels))):
        pair = make_pair(first, second)
        assert pair.reference.shape == pair.copy.shape == (40, 57)
        assert pair.mse < 1e-6


def test_a_part_of_a_pair() -> None:
    pixels = copies.part("coffee", 64, 64).astype(np.float32)
    found = Pair(pixels, pixels + 1).crop(8, 40, 16, 64)
    assert np.array_equal(found.reference, pixels[8:40, 16:64])
    assert found.change == pytest.approx(np.ones((32, 48)), abs=1e-4)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ((64, 48), (48, 64), r"64×48 pixels, the reference 48×64"),
        ((64, 48, 3), (64, 50, 3), r"50×64 pixels, the reference 48×64"),
        ((31, 48), (31, 48), r"at least 32×32 pixels; these have 48×31"),
        ((64, 8, 3), (64, 8, 3), r"these have 8×64"),
    ],
)
def test_what_cannot_be_compared(
    first: tuple[int, ...], second: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ComparisonError, match=message):
        make_pair(np.zeros(first, np.float32), np.zeros(second, np.float32))
