"""The lattice of JPEG, against Pillow's own files."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from isca_gui.core.comparison import jpeg_lattice
from tests import copies

ROWS, COLUMNS = np.divmod(np.arange(64), 8)


def table_of(data: bytes) -> np.ndarray:
    """The luminance table in a file's header, row by row."""
    with Image.open(io.BytesIO(data)) as picture:
        return np.array(picture.quantization[0])


@pytest.mark.parametrize("quality", range(1, 101))
def test_standard_tables_are_those_of_libjpeg(quality: int) -> None:
    data = copies.file_of(np.zeros((8, 8), np.uint8), "JPEG", quality=quality)
    assert np.array_equal(jpeg_lattice.standard_table(quality).ravel(), table_of(data))


def test_a_table_is_nearest_to_its_own_quality() -> None:
    for quality in range(1, 100):
        table = jpeg_lattice.standard_table(quality).ravel()
        assert jpeg_lattice.nearest_quality(table, ROWS, COLUMNS) == quality


@pytest.mark.parametrize("name", ["astronaut", "camera"])
@pytest.mark.parametrize("quality", [20, 45, 75, 92])
def test_quality_and_table_are_found(name: str, quality: int) -> None:
    data = copies.file_of(copies.part(name, 250, 250), "JPEG", quality=quality)
    with Image.open(io.BytesIO(data)) as picture:
        found = jpeg_lattice.find_lattice(np.asarray(picture, np.float32))
    assert found is not None
    assert abs(found.quality - quality) <= 1
    assert found.standard
    assert found.fit > 0.3
    steps = np.array(found.table)
    seen = steps > 0
    assert seen.sum() >= 5
    assert np.mean(steps[seen] == table_of(data)[seen]) > 0.6


def test_a_table_of_another_program_is_not_called_libjpeg_s() -> None:
    tables = [np.full(64, 20).tolist()] * 2
    copy = copies.saved(copies.part("astronaut", 256, 256), "JPEG", qtables=tables)
    found = jpeg_lattice.find_lattice(copy.astype(np.float32))
    assert found is not None
    assert not found.standard
    assert found.fit > 0.3
    steps = np.array(found.table)
    assert np.mean(steps[steps > 0] == 20) > 0.8


def test_the_grid_may_begin_elsewhere() -> None:
    copy = copies.saved(copies.part("camera", 256, 256), "JPEG", quality=50).astype(np.float32)
    cut = copy[3:, 5:]
    there = jpeg_lattice.find_lattice(cut, top=5, left=3)
    beside = jpeg_lattice.find_lattice(cut)
    assert there is not None
    assert beside is not None
    assert there.quality == 50
    assert there.fit > 0.3 > 0.1 > beside.fit


@pytest.mark.parametrize("name", ["coffee", "camera"])
def test_other_pictures_lie_on_no_lattice(name: str) -> None:
    pixels = copies.part(name, 256, 256)
    for copy in (copies.noisy(pixels, 10), copies.blurred(pixels, 1), copies.saved(pixels, "WEBP")):
        found = jpeg_lattice.find_lattice(copy.astype(np.float32))
        assert found is not None
        assert found.fit < 0.05


def test_nothing_is_found_where_too_little_is_left() -> None:
    assert jpeg_lattice.find_lattice(np.full((256, 256), 255, np.float32)) is None
    small = copies.saved(copies.part("camera", 32, 32), "JPEG", quality=50)
    assert jpeg_lattice.find_lattice(small.astype(np.float32)) is None
