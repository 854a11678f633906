"""SSIM and its distance, against the paper's equations and against scikit-image."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from skimage.metrics import structural_similarity

from isca_gui.core.pictures import ssim
from tests import reference as paper

intensities = st.floats(0, 1, width=32)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two sets of blocks (block, pixel) with q from 2 to 40 pixels."""
    shape = draw(st.integers(1, 3)), draw(st.integers(2, 40))
    return draw(arrays(np.float64, shape, elements=intensities)), draw(
        arrays(np.float64, shape, elements=intensities)
    )


def centred(blocks: np.ndarray) -> np.ndarray:
    return blocks - blocks.mean(axis=-1, keepdims=True)


# --- values ---------------------------------------------------------------------------------------


@given(pairs())
def test_ssim_is_eq_1_of_the_paper(blocks: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = blocks
    expected = [paper.ssim(x1, x2) for x1, x2 in zip(first, second, strict=True)]
    np.testing.assert_allclose(ssim.ssim(first, second), expected, rtol=0, atol=1e-10)


@given(pairs())
def test_identity_symmetry_and_bounds(blocks: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = blocks
    np.testing.assert_allclose(ssim.ssim(first, first), 1, rtol=0, atol=1e-12)
    similarity = ssim.ssim(first, second)
    np.testing.assert_allclose(similarity, ssim.ssim(second, first), rtol=0, atol=1e-12)
    assert (np.abs(similarity) <= 1 + 1e-12).all()


@given(pairs())
def test_distance_of_centred_blocks_is_one_minus_ssim(
    blocks: tuple[np.ndarray, np.ndarray],
) -> None:
    first, second = map(centred, blocks)
    distance = ssim.distance(first, second)
    np.testing.assert_allclose(distance, 1 - ssim.ssim(first, second), rtol=0, atol=1e-12)
    np.testing.assert_allclose(distance, ssim.distance(second, first), rtol=0, atol=1e-15)
    c = paper.constant_c(first.shape[-1])
    expected = [paper.ssim_distance(x1, x2, c) for x1, x2 in zip(first, second, strict=True)]
    np.testing.assert_allclose(distance, expected, rtol=0, atol=1e-12)
    assert not ssim.distance(first, first).any()


@pytest.mark.parametrize(("level1", "level2"), [(0, 0), (0, 1), (0.25, 0.75), (1, 1)])
def test_flat_blocks_differ_by_their_luminance_alone(level1: float, level2: float) -> None:
    first, second = np.full((2, 64), level1), np.full((2, 64), level2)
    expected = (2 * level1 * level2 + 0.0001) / (level1**2 + level2**2 + 0.0001)
    np.testing.assert_allclose(ssim.ssim(first, second), expected, atol=1e-12)
    np.testing.assert_array_equal(ssim.distance(first * 0, second * 0), 0)


def test_a_negative_has_negative_similarity() -> None:
    block = np.linspace(0, 1, 64)
    assert ssim.ssim(block, block[::-1]) == pytest.approx(paper.ssim(block, block[::-1]))
    assert ssim.ssim(block, block[::-1]) < -0.9


@pytest.mark.parametrize("shape", [(64,), (3, 64), (2, 3, 64)])
def test_any_number_of_axes(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(3)
    first, second = random.random(shape), random.random(shape)
    for function in (ssim.ssim, ssim.distance):
        whole = function(first, second)
        assert whole.shape == shape[:-1]
        single = [
            function(x, y)
            for x, y in zip(first.reshape(-1, 64), second.reshape(-1, 64), strict=True)
        ]
        np.testing.assert_allclose(whole.ravel(), np.ravel(single), rtol=1e-12)


# --- the map --------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [3, 7, 11])
@pytest.mark.parametrize("kind", ["noise", "flat", "negative", "other"])
def test_map_is_that_of_scikit_image(side: int, kind: str) -> None:
    random = np.random.default_rng(side)
    first = random.random((side * 6, side * 5))
    second = {
        "noise": np.clip(first + random.normal(0, 0.1, first.shape), 0, 1),
        "flat": np.full_like(first, 0.4),
        "negative": 1 - first,
        "other": random.random(first.shape),
    }[kind]
    _, full = structural_similarity(
        first,
        second,
        win_size=side,
        use_sample_covariance=True,
        gaussian_weights=False,
        full=True,
        data_range=1,
    )
    ours = ssim.ssim_map(first, second, side)
    assert ours.shape == (6, 5)
    np.testing.assert_allclose(ours, full[side // 2 :: side, side // 2 :: side], rtol=0, atol=1e-10)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 2**32))
@settings(max_examples=25)
def test_map_of_8x8_blocks_is_the_papers(height: int, width: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second = random.random((2, height, width)).astype(np.float32)
    found = ssim.ssim_map(first, second)
    assert found.dtype == np.float64
    rows, columns = -(-height // 8), -(-width // 8)
    assert found.shape == (rows, columns)
    # Beyond the picture its edge pixels are repeated.
    far = (
        np.minimum(np.arange(rows * 8), height - 1)[:, None],
        np.minimum(np.arange(columns * 8), width - 1),
    )
    wide1, wide2 = first[far].astype(np.float64), second[far].astype(np.float64)
    for row in range(rows):
        for column in range(columns):
            window = slice(8 * row, 8 * row + 8), slice(8 * column, 8 * column + 8)
            expected = paper.ssim(wide1[window].ravel(), wide2[window].ravel())
            assert found[row, column] == pytest.approx(expected, abs=1e-9)


def test_map_refuses_different_shapes() -> None:
    with pytest.raises(ValueError, match=r"16.*24"):
        ssim.ssim_map(np.zeros((16, 16)), np.zeros((16, 24)))
