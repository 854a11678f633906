"""JPEG files with too many scans, and files that were cut and closed again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isca_gui.core.pictures import image, jpeg_scans
from tests import pictures as p

if TYPE_CHECKING:
    from pathlib import Path

NOISE = np.random.default_rng(0).integers(0, 256, (96, 120, 3), dtype=np.uint8)
GREY_END = np.full((96, 120, 3), 128, np.uint8)
KINDS: dict[str, dict[str, Any]] = {
    "baseline": {"quality": 80},
    "subsampled": {"quality": 80, "subsampling": 2},
    "restarts": {"quality": 80, "restart_marker_rows": 1},
    "progressive": {"quality": 80, "progressive": True},
}


def last_scan(data: bytes) -> bytes:
    return data[data.rindex(b"\xff\xda") : -2]


def test_many_scans_are_refused_in_time(tmp_path: Path) -> None:
    """Refinement scans cost hardly any bytes, but each of them walks over all coefficients."""
    large = np.zeros((6000, 6000), np.uint8)
    made = p.jpeg(large, progressive=True, quality=50)
    path = tmp_path / "many.jpg"
    path.write_bytes(made[:-2] + last_scan(made) * 150 + made[-2:])
    started = time.perf_counter()
    with pytest.raises(image.ImageError, match=r"scans.*Save"):
        image.read(path)
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("picture", [NOISE, GREY_END], ids=["noise", "grey"])
def test_a_whole_jpeg_is_read(tmp_path: Path, picture: np.ndarray, options: dict[str, Any]) -> None:
    path = tmp_path / "whole.jpg"
    data = p.jpeg(picture, **options)
    path.write_bytes(data)
    whole = image.read(path)
    # What cameras and phones append after the end is not the picture's.
    path.write_bytes(data + b"\0trailer\xff\xd9" * 3)
    assert np.array_equal(image.read(path), whole)


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_a_cut_jpeg_with_an_end_marker_is_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    data = p.jpeg(NOISE, **options)
    start = data.index(b"\xff\xda") + 14
    path = tmp_path / "cut.jpg"
    for share in np.linspace(0.02, 0.98, 25):
        cut = start + int(share * (len(data) - 2 - start))
        # A marker must not be cut in two: its first byte would begin another one.
        path.write_bytes(data[:cut].rstrip(b"\xff") + b"\xff\xd9")
        with pytest.raises(image.ImageError, match=r"missing|damaged|broken|Open it in another"):
            image.read(path)


def test_scans_are_counted(tmp_path: Path) -> None:
    for kind, least in (("baseline", 1), ("progressive", 6)):
        data = p.jpeg(NOISE, **KINDS[kind])
        found = jpeg_scans.scans_in(data)
        assert found.count >= least
        assert found.finished
        assert found.pixels == 96 * 120
        assert found.end == len(data) - 2
    data = p.jpeg(NOISE, **KINDS["progressive"])
    without_last = data[: data.rindex(b"\xff\xda")] + b"\xff\xd9"
    assert not jpeg_scans.scans_in(without_last).finished


def test_a_long_comment_in_a_pgm_is_refused_in_time(tmp_path: Path) -> None:
    path = tmp_path / "comment.pgm"
    body = p.GREY8.tobytes()
    files = {
        "one long comment": b"P5\n#" + b"x" * 20_000_000 + b"\n18 13 255\n" + body,
        "blanks": b"P5\n" + b" " * 20_000_000 + b"18 13 255\n" + body,
        "many in the text": b"P2 18 13 255\n" + b"#\n" * 3_000_000 + b"5 " * 234,
    }
    for name, data in files.items():
        path.write_bytes(data)
        started = time.perf_counter()
        for function in (image.read, image.describe):
            with pytest.raises(image.ImageError, match="comments"):
                function(path)
        assert time.perf_counter() - started < 2, name
    # An ordinary comment does no harm.
    path.write_bytes(p.pnm(5, p.GREY8, 255, comment="# made by hand\n" * 20))
    assert np.allclose(image.read(path), p.GREY8 / 255)
