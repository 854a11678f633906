"""Resampling is that of the programs that people use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from isca_gui.core.alignment.placement import Placement, oriented, whole
from isca_gui.core.alignment.resampling import KERNELS, bring, covered, kernels_for
from tests import copies

RESAMPLING = {
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
    "bilinear": Image.Resampling.BILINEAR,
    "box": Image.Resampling.BOX,
    "hamming": Image.Resampling.HAMMING,
    "nearest": Image.Resampling.NEAREST,
}


@pytest.mark.parametrize("name", RESAMPLING)
@pytest.mark.parametrize("size", [(150, 131), (333, 350), (200, 61)])
def test_pillow_resizes_alike(name: str, size: tuple[int, int]) -> None:
    pixels = copies.part("camera", 190, 170)
    wanted = np.asarray(Image.fromarray(pixels).resize(size, RESAMPLING[name]), np.float32)
    made = bring(pixels, whole(pixels.shape), size[::-1], name).clip(0, 255)
    # Pillow rounds after the rows and after the columns; strong edges make more of it.
    assert np.abs(made - wanted).max() <= 6
    assert np.mean(np.square(made - wanted)) < 0.3


@pytest.mark.parametrize("name", ["bicubic", "lanczos", "bilinear"])
def test_pillow_resizes_a_part_alike(name: str) -> None:
    # Neither black nor white, where Pillow cuts off 8 bits and nothing else.
    picture = Image.fromarray(60 + copies.part("camera", 190, 170).astype(np.float32) / 3)
    box = (10.5, 20.25, 130.0, 171.75)
    wanted = np.asarray(picture.resize((90, 100), RESAMPLING[name], box=box))
    made = bring(np.asarray(picture), Placement(*box), (100, 90), name)
    # Pillow sees nothing outside of the box.
    assert made[4:-4, 4:-4] == pytest.approx(wanted[4:-4, 4:-4], abs=0.01)


def test_pillow_rotates_alike() -> None:
    picture = Image.fromarray(copies.part("camera", 190, 170).astype(np.float32))
    placement = replace(whole((190, 170)), angle=4.0)
    valid = covered(placement, (190, 170), (190, 170))
    assert 0.9 < valid.mean() < 0.98
    for name in ("bicubic", "bilinear"):
        wanted = np.asarray(picture.rotate(4.0, RESAMPLING[name]))
        made = bring(np.asarray(picture), placement, (190, 170), name)
        assert made[valid] == pytest.approx(wanted[valid], abs=0.01)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("angle", [0.0, 3.0])
def test_a_window_is_a_part_of_the_whole(kernel: str, angle: float) -> None:
    pixels = copies.part("camera", 120, 130).astype(np.float32)
    placement = Placement(8.3, 5.1, 120.7, 111.4, angle=angle)
    made = bring(pixels, placement, (90, 95), kernel)
    window = bring(pixels, placement, (90, 95), kernel, (20, 61, 33, 80))
    assert window == pytest.approx(made[20:61, 33:80], abs=0.5)
    assert covered(placement, (120, 130), (90, 95), (20, 61, 33, 80)).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_even_picture_stays_even(kernel: str) -> None:
    even = np.full((60, 70), 93.0, np.float32)
    for shape in ((30, 33), (100, 140), (60, 70)):
        for placement in (whole(even.shape), Placement(-7.5, -3.0, 80.0, 66.5)):
            assert bring(even, placement, shape, kernel) == pytest.approx(93.0, abs=0.01)


def test_whole_pixels_are_not_resampled() -> None:
    pixels = copies.part("coffee", 60, 70)
    made = bring(pixels, Placement(-5, 9, 65, 69), (60, 70), "lanczos")
    assert np.array_equal(made[:51, 5:], pixels[9:, :65])
    valid = covered(Placement(-5, 9, 65, 69), (60, 70), (60, 70))
    assert valid[:51, 5:].all()
    assert valid.sum() == 51 * 65


def test_turns_are_those_of_pillow() -> None:
    pixels = copies.part("camera", 40, 57)
    picture = Image.fromarray(pixels)
    for turn in (0, 90, 180, 270):
        turned = np.asarray(picture.rotate(turn, expand=True))
        assert np.array_equal(oriented(pixels, turn, mirrored=False), turned)
        assert whole(pixels.shape, turn) == Placement(0, 0, *turned.shape[::-1], turn)


def test_the_likely_kernels_have_rows() -> None:
    for placement, shape in (
        (Placement(0, 0, 100, 100), (50, 50)),
        (Placement(0, 0, 100, 100), (150, 150)),
        (Placement(0.5, 0, 100.5, 100), (100, 100)),
        (Placement(0, 0, 100, 100, angle=2), (100, 100)),
    ):
        assert set(kernels_for(placement, shape)) <= set(KERNELS)
