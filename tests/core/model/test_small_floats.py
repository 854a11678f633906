"""Numbers in twelve bits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from isca_gui.core.model import small_floats

numbers = st.floats(-15.5, 15.5, width=32)


@given(arrays.arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 7)), elements=numbers))
def test_numbers_come_back_within_the_precision(values: np.ndarray) -> None:
    high, low = small_floats.pack(values)
    assert high.shape == values.shape
    assert low.size == (values.size + 1) // 2
    found = small_floats.unpack(high, low)
    assert (np.abs(found - values) <= small_floats.PRECISION * np.abs(values) + 2e-6).all()
    # What has been rounded is not rounded again.
    again = small_floats.unpack(*small_floats.pack(found))
    np.testing.assert_array_equal(again, found)


def test_nothing_stays_nothing_and_what_is_too_large_is_cut() -> None:
    found = small_floats.unpack(*small_floats.pack(np.float32([0, 1.8e-6, 4e-6, 99, -99])))
    assert found[0] == found[1] == 0
    assert found[2] > 2e-6
    assert (found[3], found[4]) == (small_floats.LARGEST, -small_floats.LARGEST)
