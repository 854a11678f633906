"""Maps over the copy, and the answer made again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from isca_gui.core.comparison import drawing
from isca_gui.core.comparison.batch import CopyResult
from isca_gui.core.comparison.compare import compare
from isca_gui.core.comparison.kinds import KINDS
from isca_gui.core.pictures.image import ImageError
from tests import copies

if TYPE_CHECKING:
    from pathlib import Path


def result_of(reference: np.ndarray, copy: np.ndarray) -> CopyResult:
    return CopyResult(
        "copy.png",
        compare(copies.unit(reference), copies.unit(copy)),
        reference=copies.unit(reference),
        copy=copies.unit(copy),
    )


def test_only_damaged_blocks_are_tinted() -> None:
    pixels = copies.photograph("camera")
    copy = copies.inside(pixels, copies.noisy(pixels, 20), 0, 200, 0, 200)
    result = result_of(pixels, copy)
    assert result.comparison is not None
    assert result.copy is not None
    drawn = drawing.map_over(result.copy, result.comparison)
    grey = np.repeat(copy[..., None], 3, axis=2)
    assert np.array_equal(drawn[240:], grey[240:])
    assert (drawn[:200, :200] != grey[:200, :200]).any(axis=2).mean() > 0.95
    # The tint is that of noise, where blue is stronger than red.
    assert drawn[:200, :200, 2].mean() > drawn[:200, :200, 0].mean() + 5


@pytest.mark.parametrize("shape", [(33, 47), (100, 90)])
def test_the_map_of_an_odd_size_has_the_size_of_the_copy(shape: tuple[int, int]) -> None:
    pixels = copies.part("coffee", *shape)
    result = result_of(pixels, copies.noisy(pixels, 30))
    assert result.comparison is not None
    assert result.copy is not None
    assert drawing.map_over(result.copy, result.comparison).shape == (*shape, 3)


def test_every_label_has_a_colour_and_a_title() -> None:
    families = {kind.family: drawing.colour_of(name) for name, kind in KINDS.items()}
    assert len(set(families.values())) == 4
    assert drawing.colour_of("unlike") not in families.values()
    assert drawing.colour_of("blur+jpeg") == families["filter"]
    assert drawing.title_of("original") == "Unchanged"
    assert drawing.title_of("unlike") == "Not recognised"
    assert drawing.title_of("blur+jpeg") == "Blur and JPEG"


def test_the_saved_map_has_the_sentence_below(tmp_path: Path) -> None:
    pixels = copies.part("coffee", 200, 240)
    result = result_of(pixels, copies.blurred(pixels, 2))
    drawing.save_map(tmp_path / "map.png", result)
    with Image.open(tmp_path / "map.png") as picture:
        drawn = np.asarray(picture)
    assert drawn.shape[0] > 240
    assert drawn.shape[1] == 240
    below = drawn[200:]
    assert (below < 100).all(axis=2).sum() > 200
    assert (below > 250).all(axis=2).mean() > 0.6


def test_a_narrow_map_wraps_its_words(tmp_path: Path) -> None:
    pixels = copies.part("camera", 40, 32)
    drawing.save_map(tmp_path / "map.png", result_of(pixels, copies.shifted(pixels, 20)))
    with Image.open(tmp_path / "map.png") as picture:
        assert picture.width == 32
        assert picture.height > 150


def test_the_answer_made_again(tmp_path: Path) -> None:
    pixels = copies.part("coffee", 200, 240)
    drawing.save_made_again(tmp_path / "again.png", result_of(pixels, copies.shifted(pixels, 20)))
    with Image.open(tmp_path / "again.png") as picture:
        made = np.asarray(picture).astype(int)
    assert np.abs(made - copies.shifted(pixels, 20)).max() <= 1


def test_what_cannot_be_made_again(tmp_path: Path) -> None:
    pixels = copies.part("coffee", 200, 240)
    for copy in (copies.noisy(pixels, 12), copies.warped(pixels)):
        with pytest.raises(ImageError, match=r"copy\.png' cannot be made again"):
            drawing.save_made_again(tmp_path / "again.png", result_of(pixels, copy))
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    pixels = copies.part("camera", 64, 64)
    result = result_of(pixels, copies.shifted(pixels, 20))
    with pytest.raises(ImageError, match="Cannot save picture"):
        drawing.save_map(tmp_path / "none" / "map.png", result)
