"""HEIC and JPEG XL: what their headers say, what is read, and what happens without a library."""

from __future__ import annotations

import importlib.util
import io
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from isca_gui.core.pictures import box_files, image, optional_decoders
from tests import pictures as p

if TYPE_CHECKING:
    from pathlib import Path

HAS_FORMATS = all(importlib.util.find_spec(name) for name in ("pillow_heif", "pillow_jxl"))
formats = pytest.mark.skipif(not HAS_FORMATS, reason="needs the extra formats")
HEIC_HEAD = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"


def jxl_bits(*fields: tuple[int, int]) -> bytes:
    """A codestream of fields, each a value and its number of bits."""
    value = 0
    place = 0
    for field, count in fields:
        value |= field << place
        place += count
    return b"\xff\x0a" + value.to_bytes(place // 8 + 1, "little") + bytes(20)


# height 200 in 9 bits, no ratio, width 300 in 9 bits.
SIZE = ((0, 1), (0, 2), (199, 9), (0, 3), (0, 2), (299, 9))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ((*SIZE, (1, 1)), box_files.JxlHeader(300, 200, 8, False)),
        ((*SIZE, (0, 1), (0, 1), (0, 1), (1, 2)), box_files.JxlHeader(300, 200, 10, False)),
        ((*SIZE, (0, 2), (1, 1), (0, 2)), box_files.JxlHeader(300, 200, 32, True)),
        # Turned by 90°, which swaps the sides.
        ((*SIZE, (0, 1), (1, 1), (5, 3), (0, 3), (0, 3)), box_files.JxlHeader(200, 300, 8, False)),
        (((1, 1), (3, 5), (7, 3), (1, 1)), box_files.JxlHeader(64, 32, 8, False)),
    ],
)
def test_the_header_of_jpeg_xl(
    fields: tuple[tuple[int, int], ...], expected: box_files.JxlHeader
) -> None:
    bare = jxl_bits(*fields)
    assert box_files.jxl_header(bare) == expected
    boxed = box_files.JXL_CONTAINER + struct.pack(">I4s", 8 + len(bare), b"jxlc") + bare
    assert box_files.jxl_header(boxed) == expected


@formats
def test_a_size_too_large_is_refused_before_decoding(tmp_path: Path) -> None:
    path = tmp_path / "large.jxl"
    path.write_bytes(jxl_bits((0, 1), (3, 2), (99_999, 30), (1, 3), (1, 1)))
    with pytest.raises(image.ImageError, match=r"100000×100000.*Crop"):
        image.read(path)


def test_the_message_names_the_command(tmp_path: Path) -> None:
    """In a Python that finds neither library."""
    code = (
        "import sys\n"
        "sys.modules['pillow_heif'] = sys.modules['pillow_jxl'] = None\n"
        "from isca_gui.core.pictures import image\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n"
        "        image.read(name)\n"
        "    except image.ImageError as error:\n"
        "        print(error)\n"
    )
    heic = tmp_path / "a.heic"
    heic.write_bytes(HEIC_HEAD + bytes(100))
    jxl = tmp_path / "a.jxl"
    jxl.write_bytes(jxl_bits(*SIZE, (1, 1)))
    command = [sys.executable, "-c", code, str(heic), str(jxl)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert "-m pip install pillow-heif" in first
    assert "-m pip install pillow-jxl-plugin" in second
    assert sys.executable in first


@formats
def test_jpeg_xl_is_read(tmp_path: Path) -> None:
    path = tmp_path / "picture.jxl"
    importlib.import_module("pillow_jxl")
    for samples in (p.RGB8, p.GREY8, p.GREY16):
        path.write_bytes(p.pillow(samples, "JXL", lossless=True))
        white = 65535 if samples.dtype == np.uint16 else 255
        # The encoder declares 16-bit samples as linear light, so they are taken as numbers here.
        numbers = {"value_range": (0.0, 65535.0)} if white == 65535 else {}
        assert np.abs(image.read_colour(path, **numbers) - samples / white).max() < 0.5 / white
        info = image.describe(path)
        assert (info.width, info.height) == samples.shape[1::-1]


@formats
def test_heic_is_read_with_all_its_bits(tmp_path: Path) -> None:
    heif = importlib.import_module("pillow_heif")
    path = tmp_path / "picture.heic"
    heif.from_pillow(Image.fromarray(p.SMOOTH_RGB)).save(path, quality=100, chroma=444)
    assert np.abs(image.read_colour(path) - p.SMOOTH_RGB / 255).max() < 0.03
    ramp = np.linspace(0, 65535, 64 * 64).astype("u2").reshape(64, 64)
    deep = heif.from_bytes("RGB;16", (64, 64), np.dstack([ramp] * 3).tobytes())
    deep.save(path, quality=-1, chroma=444)
    read = image.read_colour(path)
    assert read.max() == 1
    assert len(np.unique(read)) > 600
    assert image.describe(path).pixel_type.startswith("10-bit")


@formats
def test_heic_is_turned_once(tmp_path: Path) -> None:
    heif = importlib.import_module("pillow_heif")
    path = tmp_path / "turned.heic"
    smooth = Image.fromarray(p.SMOOTH_RGB)
    stream = io.BytesIO()
    smooth.save(stream, "JPEG", quality=100, exif=b"Exif\0\0" + p.exif(6))
    heif.register_heif_opener()
    Image.open(stream).save(path, quality=100)
    expected = p.turned(p.luma(p.SMOOTH_RGB / 255), 6)
    assert np.abs(image.read(path) - expected).mean() < 0.02


def test_the_names_are_those_that_decoding_uses() -> None:
    assert {optional_decoders.HEIC, optional_decoders.JPEG_XL} == {"HEIC", "JPEG XL"}
