"""Copies of any size and place, from end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from isca_gui.core.comparison import drawing
from isca_gui.core.comparison.compare import Comparison, compare
from isca_gui.core.comparison.pair import ComparisonError
from tests import copies

if TYPE_CHECKING:
    from collections.abc import Callable

PHOTOGRAPH = "coffee"


def answer(copy: np.ndarray, name: str = PHOTOGRAPH) -> Comparison:
    return compare(copies.unit(copies.photograph(name)), copies.unit(copy))


def scaled(pixels: np.ndarray, scale: float) -> np.ndarray:
    picture = Image.fromarray(pixels)
    size = (round(scale * picture.width), round(scale * picture.height))
    return np.asarray(picture.resize(size, Image.Resampling.BICUBIC))


MOVES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "cropped": (
        "cropped by 21 px at the left and 13 px at the top",
        lambda pixels: pixels[13:, 21:],
    ),
    "scaled": ("scaled to 60% (bicubic)", lambda pixels: scaled(pixels, 0.6)),
    "larger": ("scaled to 150% (bicubic)", lambda pixels: scaled(pixels, 1.5)),
    "turned": ("turned by 90° counterclockwise", np.rot90),
}


@pytest.mark.parametrize("move", MOVES)
def test_what_was_only_moved_is_the_same_picture(move: str) -> None:
    said, work = MOVES[move]
    copy = np.ascontiguousarray(work(copies.photograph(PHOTOGRAPH)))
    found = answer(copy)
    assert (found.label, found.parts, found.damaged_share) == ("original", (), 0)
    assert found.sentence == f"The same picture, {said}."
    assert (found.height, found.width) == copy.shape[:2]
    assert found.made_again is not None
    assert np.mean(np.square(found.made_again - copy)) < 0.5


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        ("jpeg", lambda pixels: copies.saved(pixels, "JPEG", quality=60)),
        ("blur", lambda pixels: copies.blurred(pixels, 2)),
        ("gaussian-noise", lambda pixels: copies.noisy(pixels, 12)),
    ],
)
def test_what_was_moved_and_damaged(
    move: str, kind: str, damage: Callable[[np.ndarray], np.ndarray]
) -> None:
    said, work = MOVES[move]
    found = answer(damage(np.ascontiguousarray(work(copies.photograph(PHOTOGRAPH)))))
    assert (found.label, found.unlike) == (kind, False), found.sentence
    # The filter is named only where the damage lets it be seen.
    beginning = said.split(" (")[0]
    assert found.sentence.startswith(beginning[0].upper() + beginning[1:])
    assert "; then " in found.sentence
    if kind == "jpeg":
        assert abs(found.parameters["jpeg"]["quality"] - 60) <= 3


@pytest.mark.parametrize(("top", "left"), [(1, 7), (3, 0), (4, 4), (0, 5)])
def test_a_cropped_jpeg_is_a_jpeg(top: int, left: int) -> None:
    saved = copies.saved(copies.photograph(PHOTOGRAPH), "JPEG", quality=70)
    copy = np.ascontiguousarray(saved[top:, left:])
    found = answer(copy)
    assert (found.label, found.unlike) == ("jpeg", False), found.sentence
    jpeg = found.parameters["jpeg"]
    assert (jpeg["grid_x"], jpeg["grid_y"]) == (-left % 8, -top % 8)
    assert abs(jpeg["quality"] - 70) <= 3
    assert found.made_again is not None
    assert found.made_again.shape == copy.shape
    # What is made again lies on the same grid.
    rest = np.mean(np.square(found.made_again - copy))
    changed = np.mean(np.square(copies.photograph(PHOTOGRAPH)[top:, left:] - copy.astype(float)))
    assert rest < 0.7 * changed


def test_the_rim_without_data_is_left_out() -> None:
    pixels = copies.photograph(PHOTOGRAPH)
    picture = Image.fromarray(copies.noisy(pixels, 15))
    copy = np.asarray(picture.crop((-60, -20, 600, 400)))
    found = answer(copy)
    assert found.label == "gaussian-noise"
    beyond = found.class_map == -1
    assert beyond[:2].all()
    assert beyond[:, :7].all()
    assert not beyond[3:, 8:].any()
    assert (found.class_map[3:, 8:] == 1).all()
    assert found.damaged_share == 1
    assert sum(found.shares.values()) == pytest.approx(1)
    drawn = drawing.map_over(copies.unit(copy), found)
    assert drawn.shape == copy.shape
    assert len(np.unique(drawn[:16, 80:].reshape(-1, 3), axis=0)) == 2


def test_damage_in_a_part_of_a_moved_copy() -> None:
    pixels = copies.photograph(PHOTOGRAPH)
    damaged = copies.inside(pixels, copies.noisy(pixels, 20), 200, 400, 320, 600)
    copy = np.asarray(Image.fromarray(damaged).crop((-48, 0, 600, 400)))
    found = answer(copy)
    (region,) = found.regions
    assert found.label == "gaussian-noise"
    assert (region.region.left, region.region.top) == (368, 200)
    assert region.region.blocks.shape == found.class_map.shape
    assert found.class_map[30, 60] == 1
    assert found.class_map[10, 20] == 0


def test_sizes_have_to_match_where_nothing_may_move() -> None:
    pixels = copies.unit(copies.photograph(PHOTOGRAPH))
    with pytest.raises(ComparisonError, match="590×400 pixels, the reference 600×400"):
        compare(pixels, pixels[:, 10:], align="none")
    found = compare(pixels, np.roll(pixels, 4, 1), align="none")
    assert found.geometry is not None
    assert found.geometry.relation == "same"
    assert found.mse > 10


def test_a_small_part_is_too_little() -> None:
    pixels = copies.unit(copies.photograph(PHOTOGRAPH))
    with pytest.raises(ComparisonError, match="at least 32×32 pixels; the copy has 30×30"):
        compare(pixels, pixels[:30, :30])
