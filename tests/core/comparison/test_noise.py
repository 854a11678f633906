"""Statistics of noise against loops and SciPy, and its parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from isca_gui.core.comparison import noise
from isca_gui.core.comparison.pair import Pair
from tests import copies
from tests import reference_comparison as literal


def pair_of(reference: np.ndarray, copy: np.ndarray) -> Pair:
    return Pair(reference.astype(np.float32), copy.astype(np.float32))


@given(
    st.lists(
        st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)),
        min_size=8,
        max_size=40,
        unique_by=(lambda pair: pair[0], lambda pair: pair[1]),
    )
)
def test_rank_correlation_is_spearman_s(values: list[tuple[int, int]]) -> None:
    first, second = np.array(values, np.float32).T
    assert noise.rank_correlation(first, second) == pytest.approx(
        stats.spearmanr(first, second).statistic, abs=1e-9
    )


def test_few_values_have_no_rank_correlation() -> None:
    assert noise.rank_correlation(np.arange(7.0), np.arange(7.0)) == 0


@pytest.mark.parametrize("shape", [(16, 24), (21, 35)])
def test_blocks_and_neighbours(shape: tuple[int, int]) -> None:
    reference = copies.part("camera", *shape)
    for copy in (copies.noisy(reference, 9), copies.blurred(reference, 2)):
        pair = pair_of(reference, copy)
        wanted = literal.cut_blocks(pair.change, 8).reshape(-1, 64)
        assert np.array_equal(noise.blocks_of(pair.change), wanted)
        assert noise.neighbour_correlation(pair) == pytest.approx(
            literal.neighbour_correlation(pair.change), abs=1e-4
        )


def test_neighbours_agree_behind_a_filter_and_not_in_noise() -> None:
    reference = copies.part("coffee", 200, 200)
    assert abs(noise.neighbour_correlation(pair_of(reference, copies.noisy(reference, 9)))) < 0.1
    assert noise.neighbour_correlation(pair_of(reference, copies.blurred(reference, 2.5))) > 0.3


@pytest.mark.parametrize("name", ["chelsea", "camera"])
@pytest.mark.parametrize("sigma", [2, 8, 25])
def test_sigma_of_noise(name: str, sigma: float) -> None:
    reference = copies.part(name, 200, 240)
    found = noise.noise_sigma(pair_of(reference, copies.noisy(reference, sigma)))
    assert found == pytest.approx(sigma, rel=0.05)


def test_sigma_where_much_is_cut_off_at_black_and_white() -> None:
    reference = copies.stretched(copies.part("astronaut", 256, 256), 2.5)
    copy = copies.noisy(reference, 20)
    cut_off = np.mean((copy == 0) | (copy == 255))
    assert cut_off > 0.3
    assert noise.noise_sigma(pair_of(reference, copy)) == pytest.approx(20, rel=0.05)


def test_the_laws_of_speckle_and_shot_noise() -> None:
    reference = copies.part("chelsea", 240, 300)
    speckled = copies.speckled(reference, 0.08)
    assert np.sqrt(noise.brightness_law(pair_of(reference, speckled), 2)) == pytest.approx(
        0.08, rel=0.05
    )
    dice = np.random.default_rng(5)
    shot = copies.whole(dice.poisson(reference / 0.5) * 0.5)
    assert noise.brightness_law(pair_of(reference, shot), 1) == pytest.approx(0.5, rel=0.05)


def test_no_law_without_brightness() -> None:
    black = np.zeros((40, 40))
    assert noise.brightness_law(pair_of(black, black + 3), 2) == 0


@pytest.mark.parametrize("share", [0.005, 0.05, 0.2])
def test_the_share_of_impulses(share: float) -> None:
    for name in ("coffee", "camera"):
        reference = copies.part(name, 256, 256)
        copy = copies.with_impulses(reference, share)
        hit = copies.with_impulses(np.full((256, 256), 128, np.uint8), share) != 128
        found = noise.impulse_share(pair_of(reference, copy))
        assert found == pytest.approx(hit.mean(), rel=0.03)


def test_equal_values_have_no_rank_correlation() -> None:
    equal = np.full(20, 3.0)
    assert noise.rank_correlation(equal, np.arange(20.0)) == 0
    assert noise.rank_correlation(np.arange(20.0), equal) == 0
