"""Transforms of codecs against their definitions, and the grids that codecs leave."""

from __future__ import annotations

import numpy as np
import pytest

from isca_gui.core.comparison import codec_traces
from isca_gui.core.comparison.pair import Pair
from tests import copies
from tests import reference_comparison as literal


@pytest.mark.parametrize(("side", "top", "left"), [(8, 0, 0), (4, 2, 2), (16, 8, 3), (32, 0, 0)])
def test_blocks_of_any_side_and_offset(side: int, top: int, left: int) -> None:
    picture = copies.part("camera", 67, 83).astype(np.float32)
    found = codec_traces.square_blocks(picture, side, top, left)
    assert np.array_equal(found, literal.cut_blocks(picture, side, top, left))


@pytest.mark.parametrize("side", [4, 8])
def test_the_cosine_transform(side: int) -> None:
    blocks = literal.cut_blocks(copies.part("camera", 16, 16).astype(np.float32), side)
    found = codec_traces.cosine_transform(blocks)
    for index, block in enumerate(blocks):
        assert found[index] == pytest.approx(literal.cosine_transform(block), abs=1e-2)


@pytest.mark.parametrize("shape", [(32, 40), (33, 41), (64, 2)])
def test_the_wavelet_can_be_undone(shape: tuple[int, int]) -> None:
    picture = copies.part("camera", *shape).astype(np.float32)
    coarse, detail = codec_traces._lift(picture)
    assert len(coarse) == len(detail) == shape[0] // 2
    even = picture[: shape[0] // 2 * 2]
    assert literal.unlift(coarse, detail) == pytest.approx(even, abs=1e-2)


def test_the_wavelet_of_a_flat_picture_has_no_detail_and_twice_the_value() -> None:
    coarse, detail = codec_traces._wavelet(np.full((32, 48), 100, np.float32))
    assert coarse == pytest.approx(np.full((16, 24), 200), rel=1e-4)
    assert np.abs(detail).max() < 1e-2


def test_the_wavelet_keeps_the_energy_of_noise() -> None:
    picture = np.random.default_rng(1).normal(0, 10, (256, 256)).astype(np.float32)
    coarse, detail = codec_traces._wavelet(picture)
    kept = np.square(coarse).sum() + np.square(detail).sum()
    assert kept == pytest.approx(np.square(picture).sum(), rel=0.08)


def traces(copy: np.ndarray) -> dict[str, float]:
    reference = copies.part("camera", 256, 256, 64, 128).astype(np.float32)
    return codec_traces.trace_features(Pair(reference, copy.astype(np.float32)))


def test_edges_lie_on_the_grid_of_the_codec() -> None:
    pixels = copies.part("camera", 256, 256, 64, 128)
    jpeg = traces(copies.saved(pixels, "JPEG", quality=20))
    noise = traces(copies.noisy(pixels, 12))
    # Edges of 8×8 blocks are counted with the coarsest grid that they lie on.
    assert min(jpeg[f"edge_t{period}"] for period in (8, 16, 32, 64)) > 0.4
    assert jpeg["edge_t4"] < 0.1
    assert max(abs(noise[f"edge_e{period}"]) for period in (4, 8, 16, 32, 64)) < 0.1


def test_wavelet_codecs_leave_zeros() -> None:
    pixels = copies.part("camera", 256, 256, 64, 128)
    assert traces(copies.saved(pixels, "JPEG2000", quality_layers=[30]))["w0_zero"] > 0.3
    assert traces(copies.noisy(pixels, 12))["w0_zero"] < 0


def test_the_same_picture_has_no_traces() -> None:
    found = traces(copies.part("camera", 256, 256, 64, 128))
    # Beside a shifted grid even an untouched picture differs a little.
    beside = {name for name in found if name.endswith("_off")}
    assert max(abs(found[name]) for name in beside) < 0.1
    assert not any(found[name] for name in found.keys() - beside)
