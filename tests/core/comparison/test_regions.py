"""Where a copy was changed: maps of blocks against loops, rectangles against all rectangles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from isca_gui.core.comparison import regions
from isca_gui.core.comparison.pair import Pair
from tests import copies
from tests import reference_comparison as literal

MASKS = arrays.arrays(
    np.bool_, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.booleans()
)


@given(MASKS)
def test_the_largest_rectangle(mask: np.ndarray) -> None:
    top, bottom, left, right = regions.largest_rectangle(mask)
    assert mask[top:bottom, left:right].all()
    assert (bottom - top) * (right - left) == literal.largest_area(mask)


def maps_of(reference: np.ndarray, copy: np.ndarray) -> regions.BlockMaps:
    return regions.measure_blocks(Pair(reference.astype(np.float32), copy.astype(np.float32)))


@pytest.mark.parametrize(
    ("name", "height", "width"), [("coffee", 37, 50), ("camera", 32, 33), ("camera", 41, 64)]
)
def test_block_maps(name: str, height: int, width: int) -> None:
    pixels = copies.part(name, height, width)
    copy = copies.with_impulses(copies.shifted(pixels, 3), 0.02)
    found = maps_of(pixels, copy)
    wanted = literal.block_maps(pixels, copy)
    for key, values in wanted.items():
        assert getattr(found, key) == pytest.approx(values, rel=1e-3, abs=1e-2)
    assert np.array_equal(found.changed, wanted["largest"] >= 0.75)


def test_bands_of_a_tall_picture_join() -> None:
    """A picture of more than one band has the same maps as its two halves."""
    tall = np.tile(copies.part("camera", 512, 40, 0), (3, 1))[:1301]
    copy = copies.noisy(tall, 4)
    whole = maps_of(tall, copy)
    upper, lower = maps_of(tall[:1000], copy[:1000]), maps_of(tall[1000:], copy[1000:])
    for key in ("largest", "errors", "activity"):
        joined = np.concatenate([getattr(upper, key), getattr(lower, key)])
        assert getattr(whole, key) == pytest.approx(joined, rel=1e-5, abs=1e-4)


def test_a_change_of_colour_alone_is_a_change() -> None:
    pixels = copies.part("coffee", 64, 64)
    copy = pixels.copy()
    copy[8:16, 8:16, 2] ^= 4
    found = maps_of(pixels, copy)
    assert found.changed[1, 1]
    assert found.changed.sum() == 1
    assert found.errors[1, 1] < 0.75


def test_a_part_is_found_where_it_is() -> None:
    pixels = copies.photograph("astronaut")
    damaged = copies.inside(pixels, copies.noisy(pixels, 20), 64, 192, 320, 480)
    (found,) = regions.damaged_regions(maps_of(pixels, damaged), 512, 512)
    assert (found.top, found.bottom, found.left, found.right) == (64, 192, 320, 480)
    # Smoothing adds a rim of one block at most.
    assert 16 * 20 / 4096 <= found.share <= 18 * 22 / 4096
    assert regions.place_in_words(found.blocks) == "upper right"


def test_two_parts_the_larger_first() -> None:
    pixels = copies.photograph("camera")
    damaged = copies.inside(pixels, copies.shifted(pixels, 20), 0, 96, 0, 96)
    damaged = copies.inside(damaged, copies.noisy(pixels, 20), 256, 512, 256, 512)
    found = regions.damaged_regions(maps_of(pixels, damaged), 512, 512)
    assert [regions.place_in_words(region.blocks) for region in found] == [
        "lower right",
        "upper left",
    ]
    assert found[0].share > found[1].share


def test_damage_everywhere_has_no_parts() -> None:
    for name in ("astronaut", "camera"):
        pixels = copies.photograph(name)
        for copy in (
            copies.saved(pixels, "JPEG", quality=60),
            copies.shifted(pixels, 9),
            copies.with_impulses(pixels, 0.01),
            copies.blurred(pixels, 1),
        ):
            assert regions.damaged_regions(maps_of(pixels, copy), 512, 512) == []


def test_sparse_impulses_become_an_area() -> None:
    changed = np.zeros((9, 9), bool)
    changed[3:6:2, 3:6:2] = True
    assert regions.smoothed(changed)[4, 4]
    assert not regions.smoothed(changed)[0].any()


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        ((0, 3), (0, 3), "upper left"),
        ((0, 3), (0, 10), "upper"),
        ((7, 10), (7, 10), "lower right"),
        ((0, 10), (7, 10), "right"),
        ((3, 7), (3, 7), "middle"),
    ],
)
def test_places_in_words(rows: tuple[int, int], columns: tuple[int, int], words: str) -> None:
    blocks = np.zeros((10, 10), bool)
    blocks[slice(*rows), slice(*columns)] = True
    assert regions.place_in_words(blocks) == words


def test_values_of_blocks_for_each_pixel() -> None:
    blocks = np.arange(6).reshape(2, 3)
    found = regions.spread(blocks, (13, 20))
    assert found.shape == (13, 20)
    for row in range(13):
        for column in range(20):
            assert found[row, column] == blocks[row // 8, column // 8]


@pytest.mark.parametrize("share", [0.002, 0.005, 0.008, 0.01, 0.012, 0.02])
def test_sparse_impulses_everywhere_are_not_in_parts(share: float) -> None:
    pixels = copies.photograph("astronaut")
    maps = maps_of(pixels, copies.with_impulses(pixels, share))
    assert regions.damaged_regions(maps, 512, 512) == []


def test_sparse_impulses_in_a_quarter_are_in_a_part() -> None:
    pixels = copies.photograph("astronaut")
    copy = copies.inside(pixels, copies.with_impulses(pixels, 0.02), 0, 256, 256, 512)
    found = regions.damaged_regions(maps_of(pixels, copy), 512, 512)
    assert regions.place_in_words(found[0].blocks) == "upper right"
    assert 0.2 < found[0].share < 0.28
