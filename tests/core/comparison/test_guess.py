"""Which of two pictures is the original, whichever is named first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from isca_gui.core.comparison.guess import guess_original
from isca_gui.core.pictures.image import ImageError
from tests import copies

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np


@pytest.fixture
def pixels() -> np.ndarray:
    return copies.part("camera", 128, 128)


def check(original: Path, copy: Path, reason: str) -> None:
    for first, second in ((original, copy), (copy, original)):
        found = guess_original(str(first), str(second))
        assert (found.original, found.copy) == (str(original), str(copy))
        assert reason in found.reason


def test_the_larger_one(tmp_path: Path, pixels: np.ndarray) -> None:
    Image.fromarray(pixels).save(tmp_path / "large.jpg", quality=90)
    Image.fromarray(pixels).resize((64, 64)).save(tmp_path / "small.png")
    check(tmp_path / "large.jpg", tmp_path / "small.png", "more pixels")


def test_the_one_whose_format_loses_nothing(tmp_path: Path, pixels: np.ndarray) -> None:
    Image.fromarray(pixels).save(tmp_path / "whole.png")
    Image.fromarray(pixels).save(tmp_path / "lossy.jpg", quality=80)
    check(tmp_path / "whole.png", tmp_path / "lossy.jpg", "loses nothing")


def test_the_better_of_two_jpegs(tmp_path: Path, pixels: np.ndarray) -> None:
    Image.fromarray(pixels).save(tmp_path / "good.jpg", quality=95)
    Image.fromarray(pixels).save(tmp_path / "bad.jpg", quality=40)
    check(tmp_path / "good.jpg", tmp_path / "bad.jpg", "quality is higher")


def test_the_one_from_which_the_other_can_be_made(tmp_path: Path, pixels: np.ndarray) -> None:
    Image.fromarray(pixels).save(tmp_path / "sharp.png")
    Image.fromarray(copies.blurred(pixels, 2)).save(tmp_path / "blurred.png")
    check(tmp_path / "sharp.png", tmp_path / "blurred.png", "can be made from it")


def test_the_older_file_where_nothing_else_tells(tmp_path: Path, pixels: np.ndarray) -> None:
    for name in ("old.png", "new.png"):
        Image.fromarray(pixels).save(tmp_path / name)
    os.utime(tmp_path / "old.png", (1, 1))
    check(tmp_path / "old.png", tmp_path / "new.png", "older")


def test_a_file_that_is_no_picture(tmp_path: Path, pixels: np.ndarray) -> None:
    Image.fromarray(pixels).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_text("no picture")
    with pytest.raises(ImageError, match=r"b\.png"):
        guess_original(str(tmp_path / "a.png"), str(tmp_path / "b.png"))
