"""Copies that were moved, scaled and turned are laid on their references."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from isca_gui.core.alignment import words
from isca_gui.core.alignment.align import Aligner, Alignment, align
from isca_gui.core.alignment.placement import Placement
from tests import copies

if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[np.ndarray], np.ndarray]

NAMES = ("coffee", "camera")
DAMAGE: dict[str, Work] = {
    "jpeg": lambda pixels: copies.saved(pixels, "JPEG", quality=10),
    "noise": lambda pixels: copies.noisy(pixels, 40),
    "blur": lambda pixels: copies.blurred(pixels, 2),
    "gamma": lambda pixels: copies.with_gamma(pixels, 1.8),
    "posterised": lambda pixels: copies.posterised(pixels, 5),
    "negative": lambda pixels: np.asarray(255 - pixels),
    "covered": lambda pixels: copies.inside(pixels, np.full_like(pixels, 200), 0, 120, 0, 150),
}


def laid(name: str, work: Callable[[Image.Image], Image.Image]) -> tuple[Alignment, np.ndarray]:
    pixels = copies.photograph(name)
    copy = np.asarray(work(Image.fromarray(pixels)))
    return align(copies.unit(pixels), copies.unit(copy)), copy


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("box", "relation"),
    [
        ((13, 7, 380, 300), "cropped"),
        ((-30, -9, 620, 520), "padded"),
        ((-30, 40, 380, 520), "cropped+padded"),
    ],
)
def test_crops_and_padding_to_the_pixel(
    name: str, box: tuple[int, int, int, int], relation: str
) -> None:
    found, copy = laid(name, lambda picture: picture.crop(box))
    height, width = copies.photograph(name).shape[:2]
    expected = (box[0], box[1], width - box[2], height - box[3])
    assert found.crop == expected
    assert found.scale == (1, 1)
    assert found.filter is None
    if width == 600:
        assert found.relation == relation
    brought = found.bring(copies.photograph(name))
    assert np.array_equal(brought[found.valid], copy[found.valid])


@pytest.mark.parametrize("name", NAMES)
def test_shifts(name: str) -> None:
    height, width = copies.photograph(name).shape[:2]
    found, _ = laid(name, lambda picture: picture.crop((-5, 3, width - 5, height + 3)))
    assert (found.relation, found.shift) == ("shifted", (5, -3))
    data = (1, 0, 1.4, 0, 1, -0.7)
    way = Image.Resampling.BICUBIC
    found, _ = laid(
        name, lambda picture: picture.transform(picture.size, Image.Transform.AFFINE, data, way)
    )
    assert (found.relation, found.filter) == ("shifted", "bicubic")
    assert found.shift == pytest.approx((-1.4, 0.7), abs=0.05)


@pytest.mark.parametrize(
    ("size", "way", "named"),
    [
        ((300, 200), Image.Resampling.LANCZOS, "Lanczos"),
        ((450, 290), Image.Resampling.BICUBIC, "bicubic"),
        ((700, 650), Image.Resampling.BILINEAR, "bilinear"),
        ((150, 140), Image.Resampling.BOX, "area"),
        ((410, 510), Image.Resampling.NEAREST, "nearest"),
    ],
)
def test_scales_and_filters(size: tuple[int, int], way: Image.Resampling, named: str) -> None:
    found, copy = laid("coffee", lambda picture: picture.resize(size, way))
    height, width = copies.photograph("coffee").shape[:2]
    assert (found.relation, found.filter) == ("scaled", named)
    assert found.scale == pytest.approx((size[0] / width, size[1] / height))
    assert found.crop == (0, 0, 0, 0)
    assert np.mean(np.square(found.bring(copies.photograph("coffee")) - copy)) < 0.5


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
@pytest.mark.parametrize("mirrored", [False, True])
def test_turns_and_mirrors(turn: int, mirrored: bool) -> None:
    def work(picture: Image.Image) -> Image.Image:
        first = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if mirrored else picture
        return first.rotate(turn, expand=True)

    found, copy = laid("coffee", work)
    assert (found.placement.turn, found.placement.mirrored) == (turn, mirrored)
    assert np.array_equal(found.bring(copies.photograph("coffee")), copy)
    assert not found.is_resampled


@pytest.mark.parametrize("angle", [-8.0, 2.5])
def test_small_rotations(angle: float) -> None:
    found, _ = laid("coffee", lambda picture: picture.rotate(angle, Image.Resampling.BICUBIC))
    assert (found.relation, found.filter) == ("rotated", "bicubic")
    assert found.placement.angle == pytest.approx(angle, abs=0.02)
    assert 0.6 < found.valid.mean() < 1


def test_several_at_once() -> None:
    found, _ = laid(
        "astronaut",
        lambda picture: picture.crop((40, 21, 500, 430)).resize(
            (368, 327), Image.Resampling.BICUBIC
        ),
    )
    assert (found.relation, found.filter) == ("scaled+cropped", "bicubic")
    assert found.crop == (40, 21, 12, 82)
    said = words.in_words(found)
    assert said.startswith("Scaled to 80% (bicubic), cropped by 40 px at the left, 21 px at the")
    entry = words.entry(found)
    assert entry["crop"] == {"left": 40, "top": 21, "right": 12, "bottom": 82}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_does_not_hide_the_place(damage: str) -> None:
    pixels = copies.photograph("coffee")
    reference = Aligner(copies.unit(pixels))
    height, width = pixels.shape[:2]
    cropped = Image.fromarray(pixels).crop((17, 5, width - 40, height - 9))
    smaller = cropped.resize((round(0.7 * cropped.width), round(0.7 * cropped.height)))
    for picture in (cropped, smaller):
        copy = DAMAGE[damage](np.asarray(picture))
        found = reference.align(copies.unit(copy))
        true = Placement(17, 5, width - 40, height - 9)
        assert found.placement.distance(true, copy.shape) < 0.6, found.placement
    # A copy that was not moved is not said to be.
    assert reference.align(copies.unit(DAMAGE[damage](pixels))).relation == "same"


@pytest.mark.parametrize(("first", "second"), [("astronaut", "camera"), ("brick", "grass")])
def test_another_photograph_is_refused(first: str, second: str) -> None:
    reference, copy = (copies.photograph(name) for name in (first, second))
    other = np.asarray(Image.fromarray(copy).resize((310, 250)))
    for picture in (copy, other):
        found = align(copies.unit(reference), copies.unit(picture))
        assert (found.relation, found.is_related) == ("unrelated", False)
        assert found.match < 0.45


def test_modes() -> None:
    pixels = copies.photograph("camera")
    reference = copies.unit(pixels)
    moved = copies.unit(pixels[3:, 5:])
    assert align(reference, moved, "shift").crop == (5, 3, 0, 0)
    same = copies.unit(np.roll(pixels, 3, 0))
    assert align(reference, same, "none").relation == "same"
    assert align(reference, same, "shift").shift == (0, 3)
    turned = copies.unit(pixels.T)
    assert align(reference, turned, "shift").relation == "unrelated"


@pytest.mark.parametrize("shape", [(32, 32), (33, 40), (40, 300)])
def test_small_and_even_pictures_have_an_answer(shape: tuple[int, int]) -> None:
    even = np.full(shape, 0.5, np.float32)
    dice = np.random.default_rng(0).random(shape).astype(np.float32)
    part = copies.unit(copies.part("camera", *shape))
    for reference in (even, dice, part):
        for copy in (even, dice, part, part[:, ::-1], np.repeat(part, 2, 0)):
            found = align(reference, copy)
            assert 0 <= found.match <= 1
            assert found.bring(255 * reference).shape == copy.shape
            assert found.valid.shape == copy.shape
