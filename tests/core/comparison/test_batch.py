"""Many copies of one reference: order, errors, entries and rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from isca_gui.core.comparison import batch
from isca_gui.core.pictures.image import ImageError
from tests import copies

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("copies")
    pixels = copies.part("coffee", 120, 136)
    Image.fromarray(pixels).save(made / "reference.png")
    Image.fromarray(pixels).save(made / "saved.jpg", quality=40)
    Image.fromarray(copies.shifted(pixels, 20)).save(made / "brighter.png")
    Image.fromarray(pixels[:100]).save(made / "other.png")
    (made / "text.png").write_text("no picture", encoding="utf-8")
    return made


def compared(folder: Path, *names: str, **options: object) -> list[batch.CopyResult]:
    paths = [str(folder / name) for name in names]
    return list(batch.compare_files(str(folder / "reference.png"), paths, **options))


@pytest.mark.parametrize("threads", [1, 3])
def test_answers_come_in_order_and_bad_files_among_them(folder: Path, threads: int) -> None:
    names = ["saved.jpg", "text.png", "brighter.png", "other.png", "missing.png", "reference.png"]
    found = compared(folder, *names, threads=threads)
    assert [result.name for result in found] == [str(folder / name) for name in names]
    labels = [result.comparison and result.comparison.label for result in found]
    # The other one is the reference in another size.
    assert labels == ["jpeg", None, "luminance", "original", None, "original"]
    for result, name in zip(found, names, strict=True):
        if result.comparison is None:
            assert result.error is not None
            assert name in result.error
        else:
            assert result.error is None
            assert result.reference is None


def test_a_bad_reference_is_an_error_at_once(folder: Path) -> None:
    for name in ("text.png", "missing.png"):
        with pytest.raises(ImageError, match=name):
            batch.compare_files(str(folder / name), [str(folder / "saved.jpg")])


def test_pictures_are_kept_when_asked_for(folder: Path) -> None:
    (found,) = compared(folder, "saved.jpg", keep_pictures=True)
    assert found.reference is not None
    assert found.copy is not None
    assert found.reference.shape == found.copy.shape == (120, 136, 3)


def test_an_error_of_what_comes_then_is_the_copy_s_own(folder: Path) -> None:
    def then(result: batch.CopyResult) -> None:
        assert result.copy is not None
        if result.name.endswith("saved.jpg"):
            raise ImageError("the disk is full")

    found = compared(folder, "saved.jpg", "brighter.png", then=then)
    assert [result.error for result in found] == ["the disk is full", None]


def test_an_entry_has_the_keys_and_is_json(folder: Path) -> None:
    for result in compared(folder, "saved.jpg", "brighter.png", "reference.png"):
        found = batch.entry(result)
        assert tuple(found) == batch.KEYS
        again = json.loads(json.dumps(found, allow_nan=False))
        assert again == found
        assert found["file"] == result.name
        assert (found["error"], found["second_opinion"], found["regions"]) == (None, None, [])
        assert found["file_says"]["format"] in ("PNG", "JPEG")


def test_a_row_has_a_cell_for_each_column(folder: Path) -> None:
    (result,) = compared(folder, "brighter.png")
    fields = batch.entry(result)
    cells = dict(zip(batch.COLUMNS, batch.row(fields), strict=True))
    assert cells["label"] == cells["parts"] == "luminance"
    assert cells["unlike"] == "false"
    assert cells["order"] == cells["error"] == ""
    assert float(cells["mse"]) == pytest.approx(fields["mse"])
    assert cells["parameters"].startswith("luminance=shift:")
    shares = dict(part.split("=") for part in cells["probabilities"].split(";"))
    assert {name: float(share) for name, share in shares.items()} == pytest.approx(
        fields["probabilities"], abs=1e-5
    )
    failed = dict(zip(batch.COLUMNS, batch.row({"file": "a.png", "error": "why"}), strict=True))
    assert {key for key, cell in failed.items() if cell} == {"file", "error"}


def test_regions_are_part_of_the_entry(folder: Path) -> None:
    pixels = copies.photograph("camera")
    Image.fromarray(copies.inside(pixels, copies.noisy(pixels, 20), 0, 200, 0, 200)).save(
        folder / "part.png"
    )
    (result,) = batch.compare_files("sample:camera", [str(folder / "part.png")])
    (region,) = batch.entry(result)["regions"]
    assert (region["label"], region["where"], region["unlike"]) == (
        "gaussian-noise",
        "upper left",
        False,
    )
    assert (region["top"], region["left"], region["bottom"], region["right"]) == (0, 0, 200, 200)
    assert region["share"] == pytest.approx((25 / 64) ** 2, rel=0.1)


def test_a_16_bit_png_is_read_as_fine_as_it_is(folder: Path) -> None:
    grey = copies.part("camera", 120, 136).astype(np.uint16)
    Image.fromarray(grey * 257).save(folder / "deep.png")
    Image.fromarray(grey.astype(np.uint8)).save(folder / "flat.png")
    less = np.random.default_rng(1).integers(-128, 129, grey.shape)
    finer = np.clip(grey * 257 + less, 0, 65535).astype(np.uint16)
    Image.fromarray(finer).save(folder / "finer.png")
    found = list(
        batch.compare_files(
            str(folder / "deep.png"), [str(folder / "flat.png"), str(folder / "finer.png")]
        )
    )
    sentences = [result.comparison and result.comparison.sentence for result in found]
    assert sentences == ["The same picture, pixel for pixel.", "The same picture."]


def test_a_second_opinion(folder: Path) -> None:
    (result,) = compared(folder, "saved.jpg", train=True)
    assert result.second_opinion is not None
    found = batch.entry(result)["second_opinion"]
    assert list(found) == ["label", "share", "unlike", "agrees", "sentence"]
    assert found["label"] == result.second_opinion.label
    assert found["agrees"] == (found["label"] == "jpeg" and not found["unlike"])
