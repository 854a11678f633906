"""Reading and saving pictures, from every kind of file that is allowed and many that are not.

There is one case for each outcome: a path through our code with a decoder of its own, or another
error of it. Where options multiply, a table lists the combinations that take a path of their own.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import json
import lzma
import os
import re
import stat
import struct
import subprocess
import sys
import threading
import time
import warnings
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tifffile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile, PngImagePlugin

from isca_gui.core.pictures import image
from tests import pictures as p
from tests.commands import full_disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXACT = 2e-7  # float32 in [0, 1]
LOSSY = 0.02
# Every message has a sentence that says what to do.
ADVICE = re.compile(
    r"[.:;!] (Ask|Check|Choose|Close|Convert|Crop|Export|Free|Give|Make|Move|Open|Pick|Reduce|"
    r"Replace|Save|Scale|Use|Write)\b"
)
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


@dataclass(frozen=True)
class Correct:
    """The picture must be read, and be this one."""

    picture: np.ndarray
    tolerance: float = EXACT


@dataclass(frozen=True)
class Rejected:
    """The file must be rejected, with a message that matches."""

    message: str


@dataclass(frozen=True)
class CorrectOrRejected(Correct):
    """Beyond what is promised: the file may be rejected, but must not be read wrongly."""


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[], bytes]
    expected: Correct | Rejected
    options: dict[str, Any] = field(default_factory=dict)
    warns: bool = False


def opened() -> set[tuple[str, str]]:
    """All open descriptors and their files; those of other tests may close at any moment."""
    folder, found = Path("/proc/self/fd"), set()
    for name in os.listdir(folder) if folder.exists() else ():
        with contextlib.suppress(FileNotFoundError):  # that of the listing
            found.add((name, os.readlink(folder / name)))
    return found


def check_picture(read: np.ndarray) -> None:
    assert isinstance(read, np.ndarray)
    assert read.dtype == np.float32
    assert read.dtype.isnative
    assert read.ndim == 2
    assert read.flags.c_contiguous
    assert read.min() >= 0
    assert read.max() <= 1  # also false for NaN


def check_equal(read: np.ndarray, expected: np.ndarray, tolerance: float = EXACT) -> None:
    check_picture(read)
    assert read.shape == expected.shape
    np.testing.assert_allclose(read, expected, rtol=0, atol=tolerance)


def attempt(path: Path, **options: Any) -> np.ndarray | image.ImageError:
    try:
        return image.read(path, **options)
    except image.ImageError as error:
        return error


def without_path(error: BaseException, path: str | Path) -> str:
    """The message without the path, which may hold any word a test looks for."""
    text = str(error)
    assert Path(path).name in text
    return text.replace(str(path), "PATH").replace(Path(path).name, "NAME")


@contextlib.contextmanager
def refusal(path: str | Path, message: str = "") -> Iterator[None]:
    """Expect an ImageError that names the file, matches, and gives advice; no file stays open."""
    before = opened()
    with pytest.raises(image.ImageError) as caught:
        yield
    assert not opened() - before
    text = without_path(caught.value, path)
    assert re.search(message, text, re.IGNORECASE), text
    assert ADVICE.search(text), text


def tiff_nan(dtype: str = "f4", channels: int = 1) -> bytes:
    picture = np.repeat(p.UNIT.astype(dtype)[..., None], channels, axis=2)
    picture[3, 5, -1] = np.nan
    picture[9, 2, -1] = -np.inf
    return p.tiff(picture)


NAN = r"(?s)(?=.*\b2 )(?=.*row \D*[34]\b)(?=.*column \D*[56]\b)"
SIZE = r"pixel|large|size|side"

bits = p.GREY8 > 99
grey8, grey16 = p.GREY8 / 255, p.GREY16 / 65535
rgb8, rgb16 = p.luma(p.RGB8 / 255), p.luma(p.RGB16 / 65535)
alpha8, alpha16 = p.ALPHA8 / 255, p.ALPHA16 / 65535
palette = p.luma(p.PALETTE / 255)[p.INDEX]
steps = np.array([0, 255, 128, 255, 7], "u1")  # alpha of the first five palette entries
palette_alpha = np.concatenate([steps, np.full(11, 255, "u1")])[p.INDEX] / 255
key16 = np.where(p.INDEX == 3, 4660, p.GREY16 // 2 * 2 + 1)  # 4660 = 0x1234, all else odd
near16 = np.where(p.INDEX == 4, 4661, key16)  # the same high byte as the key
keyed_rgb = p.RGB8.copy()
keyed_rgb[p.INDEX == 3] = (10, 20, 30)
keyed_rgb[p.INDEX == 4] = (10, 20, 31)
keyed_rgb16 = p.RGB16.copy()
keyed_rgb16[p.INDEX == 3] = (2571, 5141, 7711)
keyed_rgb16[p.INDEX == 4] = (2572, 5142, 7712)  # equal to the key in 8 bits
signed16 = (p.GREY16 // 2).astype("i2")
below16 = signed16.copy()
below16[2, 2] = -100
bits12 = p.GREY16 >> 4
grey10 = p.GREY16.astype("u2") % 1000
wide = (p.UNIT * 400 - 150).astype("f4")
cmyk = np.zeros((32, 48, 4), "u1")
cmyk[:16, :, 0], cmyk[:16, :, 1], cmyk[:16, :, 2] = 40, 120, 200
cmyk[16:, :, 3] = 130
cmyk_grey = np.concatenate(
    [np.full((16, 48), p.luma(np.array([215, 135, 55]) / 255)), np.full((16, 48), 125 / 255)]
)
gif_first = p.pillow(
    p.GREY8,
    "GIF",
    save_all=True,
    append_images=[Image.fromarray(255 - p.GREY8), Image.fromarray(p.GREY8 // 2)],
)


def turned_by(kind: int, value: bytes) -> bytes:
    """An EXIF block whose orientation has the wrong type: 2 is text, 7 is unknown."""
    return b"MM\0*\0\0\0\x08\0\x01" + struct.pack(">HHI", 274, kind, len(value)) + value + bytes(4)


BAD_EXIF = {
    "no-header": b"no such thing",
    "cut-off": b"MM\0*",
    "text": turned_by(2, b"top\0"),
    "unknown": turned_by(7, b"\6\0\0\0"),
}


def png_with_exif(data: bytes) -> bytes:
    return p.png(p.GREY8, chunks=((b"eXIf", data),))


def frames(kind: str, **options: Any) -> bytes:
    more = [Image.fromarray(255 - p.RGB8), Image.fromarray(p.RGB8 // 2)]
    return p.pillow(p.RGB8, kind, save_all=True, append_images=more, **options)


def png_text_bomb() -> bytes:
    text = b"Comment\0\0" + zlib.compress(bytes(PngImagePlugin.MAX_TEXT_CHUNK * 4), 9)
    return p.png(p.GREY8, chunks=((b"zTXt", text),))


def tiff_pages() -> bytes:
    second = np.full((5, 4), np.nan, "f4")
    return p.tiff_file([p.tiff_page(p.GREY16), p.tiff_page(second)])


def tiff_loop() -> bytes:
    made = bytearray(p.tiff(p.GREY8))
    made[-4:] = made[4:8]  # the directory after the first is the first
    return bytes(made)


def jpeg_header(width: int, height: int) -> bytes:
    made = bytearray(p.jpeg(p.SMOOTH))
    place = made.index(b"\xff\xc0")
    struct.pack_into(">HH", made, place + 5, height, width)
    return bytes(made)


def tiff_header(width: int, height: int, samples: np.ndarray = p.GREY8, **options: Any) -> bytes:
    size = {256: ("I", [width]), 257: ("I", [height]), 278: ("I", [height])}
    return p.tiff(samples, tags=size, segments=[bytes(1400)], **options)


def webp_header(width: int, height: int) -> bytes:
    body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14) + bytes(15)
    return (
        b"RIFF"
        + struct.pack("<I", 12 + len(body))
        + b"WEBPVP8L"
        + struct.pack("<I", len(body))
        + body
    )


def bmp_header(width: int, height: int) -> bytes:
    made = bytearray(p.bmp(p.RGB8, depth=24))
    struct.pack_into("<ii", made, 18, width, height)
    return bytes(made)


def png_as(*chunks: tuple[bytes, bytes], size: tuple[int, int, int, int] = (18, 13, 8, 0)) -> bytes:
    return (
        p.png_header(*size) + b"".join(p.png_chunk(*c) for c in chunks) + p.png_chunk(b"IEND", b"")
    )


def deep_jpeg2000(samples: np.ndarray) -> bytes:
    """A JPEG 2000 whose header declares 12 bits for each of three components."""
    made = bytearray(p.pillow(samples, "JPEG2000"))
    place = made.index(b"\xffO\xffQ") + 4 + 38
    made[place : place + 9 : 3] = b"\x0b\x0b\x0b"
    return bytes(made)


def avif(samples: np.ndarray, **options: Any) -> bytes:
    return p.pillow(samples, "AVIF", quality=100, subsampling="4:4:4", **options)


def avif_transfer(transfer: int) -> bytes:
    made = bytearray(avif(p.SMOOTH_RGB))
    place = made.index(b"colrnclx") + 8
    struct.pack_into(">HH", made, place, 9, transfer)
    return bytes(made)


def png_as_hdr(transfer: int) -> bytes:
    return p.png(p.RGB8, chunks=((b"cICP", bytes([9, transfer, 0, 1])),))


def heic_and_jxl() -> dict[str, bytes]:
    """Files that only the extra `formats` reads and writes; none where it is not installed."""
    if importlib.util.find_spec("pillow_heif") is None:
        return {}
    if importlib.util.find_spec("pillow_jxl") is None:
        return {}
    heif = importlib.import_module("pillow_heif")
    importlib.import_module("pillow_jxl")
    heic = io.BytesIO()
    heif.from_pillow(Image.fromarray(p.SMOOTH_RGB)).save(heic, quality=100)
    return {
        "colour.heic": heic.getvalue(),
        "lossless.jxl": p.pillow(p.RGB8, "JXL", lossless=True),
        "lossy.jxl": p.pillow(p.SMOOTH_RGB, "JXL", quality=90),
    }


HEIC_AND_JXL = heic_and_jxl()


def on(array: np.ndarray, alpha: np.ndarray) -> Correct:
    return Correct(p.on_white(array, alpha))


CASES = [
    # PNG
    Case("png-grey1.png", lambda: p.png(bits, depth=1), Correct(bits * 1.0)),
    Case("png-grey2.png", lambda: p.png(p.INDEX % 4, depth=2), Correct(p.INDEX % 4 / 3)),
    Case("png-grey4.png", lambda: p.png(p.INDEX, depth=4), Correct(p.INDEX / 15)),
    Case("png-grey8.png", lambda: p.png(p.GREY8), Correct(grey8)),
    Case("png-grey16.png", lambda: p.png(p.GREY16, depth=16), Correct(grey16)),
    Case("png-rgb8.png", lambda: p.png(p.RGB8), Correct(rgb8)),
    Case("png-rgb16.png", lambda: p.png(p.RGB16, depth=16), Correct(rgb16)),
    Case("png-la8.png", lambda: p.png(np.dstack([p.GREY8, p.ALPHA8])), on(grey8, alpha8)),
    Case(
        "png-la16.png",
        lambda: p.png(np.dstack([p.GREY16, p.ALPHA16]), depth=16),
        on(grey16, alpha16),
    ),
    Case("png-rgba8.png", lambda: p.png(np.dstack([p.RGB8, p.ALPHA8])), on(rgb8, alpha8)),
    Case(
        "png-rgba16.png",
        lambda: p.png(np.dstack([p.RGB16, p.ALPHA16]), depth=16),
        on(rgb16, alpha16),
    ),
    Case("png-palette4.png", lambda: p.png(p.INDEX, depth=4, palette=p.PALETTE), Correct(palette)),
    Case("png-palette8.png", lambda: p.png(p.INDEX, palette=p.PALETTE), Correct(palette)),
    Case(
        "png-palette-alpha.png",
        lambda: p.png(p.INDEX, depth=4, palette=p.PALETTE, trns=steps.tobytes()),
        on(palette, palette_alpha),
    ),
    Case(
        "png-palette1-alpha.png",
        lambda: p.png(bits, depth=1, palette=p.PALETTE[:2], trns=b"\x40"),
        on(p.luma(p.PALETTE / 255)[bits * 1], np.where(bits, 1, 64 / 255)),
    ),
    Case(
        "png-key-grey8.png",
        lambda: p.png(p.GREY8, trns=struct.pack(">H", p.GREY8[4, 4])),
        on(grey8, 1.0 * (p.GREY8 != p.GREY8[4, 4])),
    ),
    Case(
        "png-key-grey2.png",
        lambda: p.png(p.INDEX % 4, depth=2, trns=struct.pack(">H", 2)),
        on(p.INDEX % 4 / 3, 1.0 * (p.INDEX % 4 != 2)),
    ),
    Case(
        "png-key-grey1.png",
        lambda: p.png(bits, depth=1, trns=struct.pack(">H", 0)),
        Correct(np.ones(bits.shape)),
    ),
    Case(
        "png-key-grey16.png",
        lambda: p.png(near16, depth=16, trns=struct.pack(">H", 4660)),
        on(near16 / 65535, 1.0 * (near16 != 4660)),
    ),
    Case(
        "png-key-rgb8.png",
        lambda: p.png(keyed_rgb, trns=struct.pack(">HHH", 10, 20, 30)),
        on(p.luma(keyed_rgb / 255), 1.0 * (p.INDEX != 3)),
    ),
    Case(
        "png-key-rgb16.png",
        lambda: p.png(keyed_rgb16, depth=16, trns=struct.pack(">HHH", 2571, 5141, 7711)),
        on(p.luma(keyed_rgb16 / 65535), 1.0 * (p.INDEX != 3)),
    ),
    Case("png-interlaced-grey8.png", lambda: p.png(p.GREY8, interlace=True), Correct(grey8)),
    Case(
        "png-interlaced-tiny.png",
        lambda: p.png(p.RGB16[:3, :2], depth=16, interlace=True),
        Correct(rgb16[:3, :2]),
        {"min_side": 1},
    ),
    Case(
        "png-gamma.png",
        lambda: p.png(p.GREY8, chunks=((b"gAMA", b"\0\0\xb1\x8f"),)),
        Correct(grey8),
    ),
    Case("png-animated.png", lambda: frames("PNG"), Correct(rgb8)),
    Case("png-named.jpg", lambda: p.png(p.GREY8), Correct(grey8)),
    Case(
        "png-bad-exif.png",
        lambda: p.png(p.GREY8, chunks=((b"eXIf", b"MM\0*\xff\xff\xff\xff"),)),
        Correct(grey8),
        warns=True,
    ),
    *(
        Case(
            f"png-exif-{name}.png",
            functools.partial(png_with_exif, data),
            Correct(grey8),
            warns=True,
        )
        for name, data in BAD_EXIF.items()
    ),
    Case(
        "png-exif-9.png",
        lambda: p.png(p.GREY8, chunks=((b"eXIf", p.exif(9)),)),
        Correct(grey8),
        warns=True,
    ),
    Case("png-text-bomb.png", png_text_bomb, CorrectOrRejected(grey8)),
    Case("png-white.png", lambda: p.png(np.full((9, 9, 3), 255)), Correct(np.ones((9, 9)), 0)),
    Case("png-black.png", lambda: p.png(np.zeros((9, 9, 4))), Correct(np.ones((9, 9)), 0)),
    Case(
        "png-widest.png",
        lambda: p.png(np.ones((8, 16_384)), depth=1),
        Correct(np.ones((8, 16_384)), 0),
    ),
    Case("png-too-wide.png", lambda: p.png(np.ones((8, 16_385)), depth=1), Rejected(SIZE)),
    Case("png-no-data.png", png_as, Rejected("")),
    Case("png-no-palette.png", lambda: png_as(size=(18, 13, 8, 3)), Rejected("")),
    Case(
        "png-zero.png",
        lambda: png_as((b"IDAT", zlib.compress(b"")), size=(0, 0, 8, 0)),
        Rejected(""),
    ),
    Case("png-depth-3.png", lambda: png_as(size=(18, 13, 3, 0)), Rejected("")),
    Case("png-filter-9.png", lambda: p.png(p.RGB16, depth=16, filters=(9,)), Rejected("")),
    Case("png-short.png", lambda: p.png(p.GREY8, idat=zlib.compress(bytes(40))), Rejected("")),
    # JPEG
    Case("jpeg-grey.jpg", lambda: p.jpeg(p.SMOOTH), Correct(p.SMOOTH / 255, LOSSY)),
    Case("jpeg-rgb.jpg", lambda: p.jpeg(p.SMOOTH_RGB), Correct(p.luma(p.SMOOTH_RGB / 255), LOSSY)),
    Case("jpeg-cmyk.jpg", lambda: p.jpeg(cmyk, mode="CMYK"), Correct(cmyk_grey, LOSSY)),
    Case("jpeg-phone.jpg", lambda: frames("MPO", quality=100, subsampling=0), Correct(rgb8, 0.04)),
    Case(
        "jpeg-bad-exif.jpg",
        lambda: p.jpeg(p.SMOOTH, exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff\x01\x12"),
        Correct(p.SMOOTH / 255, LOSSY),
        warns=True,
    ),
    Case("jpeg-no-frame.jpg", lambda: b"\xff\xd8\xff\xd9", Rejected("")),
    # TIFF (sample types, byte orders and compressions have a test of their own)
    Case("tiff-grey1.tif", lambda: p.tiff(bits.astype("u1"), depth=1), Correct(bits * 1.0)),
    Case("tiff-grey2.tif", lambda: p.tiff(p.INDEX % 4, depth=2), Correct(p.INDEX % 4 / 3)),
    Case("tiff-grey4.tif", lambda: p.tiff(p.INDEX, depth=4), Correct(p.INDEX / 15)),
    Case("tiff-grey12.tif", lambda: p.tiff(bits12, depth=12), Correct(bits12 / 4095)),
    Case(
        "tiff-grey12-big.tif",
        lambda: p.tiff(bits12, depth=12, order=">"),
        CorrectOrRejected(bits12 / 4095),
    ),
    Case(
        "tiff-grey12-lzw.tif",
        lambda: p.tiff(bits12, depth=12, compression=5),
        CorrectOrRejected(bits12 / 4095),
    ),
    Case(
        "tiff-grey24.tif",
        lambda: p.tiff(p.GREY16.astype("u4"), depth=24),
        CorrectOrRejected(p.GREY16 / (2**24 - 1)),
    ),
    Case(
        "tiff-miniswhite1.tif",
        lambda: p.tiff(bits.astype("u1"), depth=1, photometric=0),
        Correct(1.0 - bits),
    ),
    Case("tiff-miniswhite8.tif", lambda: p.tiff(p.GREY8, photometric=0), Correct(1 - grey8)),
    Case("tiff-miniswhite16.tif", lambda: p.tiff(p.GREY16, photometric=0), Correct(1 - grey16)),
    Case(
        "tiff-palette8.tif",
        lambda: p.tiff(p.INDEX, colormap=np.pad(p.PALETTE, ((0, 240), (0, 0)))),
        Correct(palette),
    ),
    Case(
        "tiff-palette4.tif", lambda: p.tiff(p.INDEX, depth=4, colormap=p.PALETTE), Correct(palette)
    ),
    Case(
        "tiff-la8.tif",
        lambda: p.tiff(np.dstack([p.GREY8, p.ALPHA8]), extra=(2,)),
        on(grey8, alpha8),
    ),
    Case(
        "tiff-la16.tif",
        lambda: p.tiff(np.dstack([p.GREY16, p.ALPHA16]), extra=(2,)),
        on(grey16, alpha16),
    ),
    Case(
        "tiff-rgba8.tif",
        lambda: p.tiff(np.dstack([p.RGB8, p.ALPHA8]), extra=(2,)),
        on(rgb8, alpha8),
    ),
    Case(
        "tiff-rgba16.tif",
        lambda: p.tiff(np.dstack([p.RGB16, p.ALPHA16]), extra=(2,)),
        on(rgb16, alpha16),
    ),
    Case(
        "tiff-rgba16-big-lzw.tif",
        lambda: p.tiff(np.dstack([p.RGB16, p.ALPHA16]), extra=(2,), order=">", compression=5),
        on(rgb16, alpha16),
    ),
    Case(
        "tiff-rgba8-premultiplied.tif",
        lambda: p.tiff(np.dstack([p.RGB8 // 2, np.full_like(p.ALPHA8, 128)]), extra=(1,)),
        CorrectOrRejected(p.luma((p.RGB8 // 2) / 255) + 1 - 128 / 255, 0.01),
    ),
    Case(
        "tiff-rgba16-premultiplied.tif",
        lambda: p.tiff(np.dstack([p.RGB16 // 2, np.full_like(p.ALPHA16, 32768)]), extra=(1,)),
        CorrectOrRejected(p.luma((p.RGB16 // 2) / 65535) + 1 - 32768 / 65535, 0.01),
    ),
    Case(
        "tiff-rgbx8.tif",
        lambda: p.tiff(np.dstack([p.RGB8, p.ALPHA8]), extra=(0,)),
        CorrectOrRejected(rgb8),
    ),
    Case(
        "tiff-rgbx16.tif",
        lambda: p.tiff(np.dstack([p.RGB16, p.ALPHA16]), extra=(0,)),
        CorrectOrRejected(rgb16),
    ),
    Case("tiff-rgb-planes.tif", lambda: p.tiff(p.RGB8, planar=2), Correct(rgb8)),
    Case("tiff-rgb16-planes.tif", lambda: p.tiff(p.RGB16, planar=2), Correct(rgb16)),
    Case(
        "tiff-rgb16-planes-lzw.tif",
        lambda: p.tiff(p.RGB16, planar=2, compression=5),
        CorrectOrRejected(rgb16),
    ),
    Case("tiff-rgb-float.tif", lambda: p.tiff(p.RGB16 / np.float32(65535)), Correct(rgb16)),
    Case(
        "tiff-rgba-float.tif",
        lambda: p.tiff(np.dstack([p.RGB16, p.ALPHA16]) / np.float32(65535), extra=(2,)),
        CorrectOrRejected(p.on_white(rgb16, alpha16)),
    ),
    Case("tiff-cmyk.tif", lambda: p.tiff(cmyk, photometric=5), Correct(cmyk_grey)),
    Case(
        "tiff-cmyk-lzw.tif",
        lambda: p.tiff(cmyk, photometric=5, compression=5, order=">"),
        Correct(cmyk_grey),
    ),
    Case(
        "tiff-cmyk16.tif",
        lambda: p.tiff(cmyk.astype("u2") * 257, photometric=5),
        CorrectOrRejected(cmyk_grey, 0.005),
    ),
    Case("tiff-tiles.tif", lambda: p.tiff(p.GREY16, tile=16, compression=8), Correct(grey16)),
    Case(
        "tiff-predictor2.tif", lambda: p.tiff(p.GREY16, compression=8, predictor=2), Correct(grey16)
    ),
    Case(
        "tiff-predictor2-big.tif",
        lambda: p.tiff(p.RGB16, compression=5, predictor=2, order=">"),
        CorrectOrRejected(rgb16),
    ),
    Case(
        "tiff-predictor3.tif",
        lambda: p.tiff(p.UNIT, compression=8, predictor=3),
        CorrectOrRejected(p.UNIT),
    ),
    Case(
        "tiff-packbits.tif",
        lambda: p.tiff(p.UNIT, compression=32773, order=">"),
        CorrectOrRejected(p.UNIT),
    ),
    Case("tiff-float16.tif", lambda: p.tiff(p.UNIT.astype("f2")), CorrectOrRejected(p.UNIT, 1e-3)),
    Case(
        "tiff-uint64.tif",
        lambda: p.tiff(p.GREY16.astype("u8") << 48),
        CorrectOrRejected(p.GREY16 / 2**16),
    ),
    Case("tiff-bigtiff.tif", lambda: p.tiff(p.UNIT, big=True), CorrectOrRejected(p.UNIT)),
    Case(
        "tiff-jpeg.tif",
        lambda: p.pillow(p.SMOOTH, "TIFF", compression="jpeg", quality=100),
        CorrectOrRejected(p.SMOOTH / 255, LOSSY),
    ),
    Case(
        "tiff-fax.tif",
        lambda: p.pillow(bits, "TIFF", compression="group4"),
        CorrectOrRejected(bits * 1.0),
    ),
    Case("tiff-pages.tif", tiff_pages, Correct(grey16)),
    Case("tiff-loop.tif", tiff_loop, CorrectOrRejected(grey8)),
    Case("tiff-int8.tif", lambda: p.tiff((p.GREY8 // 2).astype("i1")), Correct(p.GREY8 // 2 / 127)),
    Case("tiff-int8-below.tif", lambda: p.tiff(p.GREY8.astype("i1")), Rejected("-")),
    Case("tiff-int16-below.tif", lambda: p.tiff(below16), Rejected("-100")),
    Case(
        "tiff-int16-range.tif",
        lambda: p.tiff(below16),
        Correct((below16 + 100.0) / 30100),
        {"value_range": (-100, 30_000)},
    ),
    Case("tiff-float-wide.tif", lambda: p.tiff(wide), Rejected(r"-150.*250")),
    Case(
        "tiff-float-range.tif",
        lambda: p.tiff(wide),
        Correct((wide + 200.0) / 500),
        {"value_range": (-200, 300)},
    ),
    Case(
        "tiff-float-narrow.tif",
        lambda: p.tiff(wide),
        Rejected("100"),
        {"value_range": (-200, 100)},
    ),
    Case("tiff-nan.tif", tiff_nan, Rejected(NAN)),
    Case("tiff-nan-rgb.tif", lambda: tiff_nan("f4", 3), Rejected(NAN)),
    Case("tiff-nan-range.tif", tiff_nan, Rejected(NAN), {"value_range": (-1e9, 1e9)}),
    Case("tiff-complex.tif", lambda: p.tiff(p.UNIT.astype("c8")), Rejected("complex")),
    Case(
        "tiff-five-bands.tif",
        lambda: p.tiff(np.dstack([p.GREY8] * 5), extra=(0,) * 4),
        CorrectOrRejected(grey8),
    ),
    Case(
        "tiff-no-strips.tif",
        lambda: p.tiff(p.GREY8, tags={273: None, 279: ("I", [0])}, segments=[]),
        Rejected(""),
    ),
    Case(
        "tiff-strip-outside.tif",
        lambda: p.tiff(p.GREY8, tags={273: ("I", [10**6] * 3)}),
        Rejected(""),
    ),
    Case(
        "tiff-missing-tiles.tif",
        lambda: p.tiff(p.SMOOTH, tile=16, segments=[bytes(256)]),
        Rejected(""),
    ),
    Case(
        "tiff-missing-strips.tif",
        lambda: p.tiff(p.SMOOTH, rows=8, segments=[bytes(512)]),
        Rejected(""),
    ),
    Case(
        "tiff-missing-strips-float.tif",
        lambda: p.tiff(p.SMOOTH / 255.0, rows=8, segments=[bytes(4096)]),
        Rejected(""),
    ),
    Case("tiff-zero.tif", lambda: tiff_header(0, 0), Rejected("")),
    Case("tiff-bits-300.tif", lambda: p.tiff(p.GREY8, tags={258: ("H", [300])}), Rejected("")),
    Case("tiff-ifd-outside.tif", lambda: b"MM\0*\x7f\xff\xff\xff" + bytes(50), Rejected("")),
    # GIF, WebP, BMP
    Case("gif-animated.gif", lambda: gif_first, Correct(grey8)),
    Case(
        "gif-alpha.gif",
        lambda: p.pillow(p.INDEX * 17, "GIF", transparency=34, optimize=False),
        on(p.INDEX * 17 / 255, 1.0 * (p.INDEX != 2)),
    ),
    Case("gif-no-frame.gif", lambda: p.gif_bitmap(18, 13) + b";", Rejected("")),
    Case("webp-lossless.webp", lambda: p.pillow(p.RGB8, "WEBP", lossless=True), Correct(rgb8)),
    Case(
        "webp-alpha.webp",
        lambda: p.pillow(np.dstack([p.RGB8, p.ALPHA8]), "WEBP", lossless=True),
        on(rgb8, alpha8),
    ),
    Case("webp-animated.webp", lambda: frames("WEBP", lossless=True), Correct(rgb8)),
    Case(
        "webp-garbage.webp",
        lambda: b"RIFF\xff\0\0\0WEBPVP8 " + bytes(range(256)),
        Rejected(""),
    ),
    Case("bmp-24.bmp", lambda: p.bmp(p.RGB8, depth=24), Correct(rgb8)),
    Case("bmp-top-down.bmp", lambda: p.bmp(p.RGB8, depth=24, top_down=True), Correct(rgb8)),
    Case("bmp-4.bmp", lambda: p.bmp(p.INDEX, depth=4, palette=p.PALETTE), Correct(palette)),
    Case(
        "bmp-1.bmp",
        lambda: p.bmp(bits, depth=1, palette=p.PALETTE[:2]),
        Correct(p.luma(p.PALETTE / 255)[bits * 1]),
    ),
    Case("bmp-header-only.bmp", lambda: p.bmp(p.RGB8, depth=24)[:54], Rejected("")),
    # PBM, PGM, PPM
    Case("p1.pbm", lambda: p.pnm(1, bits * 1), Correct(1.0 - bits)),
    Case(
        "p1-tight.pbm",
        lambda: b"P1 9 8 " + b"10" * 36,
        Correct(np.tile([0.0, 1.0], 36).reshape(8, 9)),
    ),
    Case("p2.pgm", lambda: p.pnm(2, p.GREY8, 255, comment="# a comment\n"), Correct(grey8)),
    Case("p2-maxval.pgm", lambda: p.pnm(2, p.INDEX, 20), Correct(p.INDEX / 20, 1 / 500)),
    Case("p3.ppm", lambda: p.pnm(3, p.RGB8, 255), Correct(rgb8)),
    Case("p4.pbm", lambda: p.pnm(4, bits), Correct(1.0 - bits)),
    Case("p5.pgm", lambda: p.pnm(5, p.GREY8, 255, comment="# c\n#d\n"), Correct(grey8)),
    Case("p5-maxval.pgm", lambda: p.pnm(5, p.INDEX, 20), Correct(p.INDEX / 20, 1 / 500)),
    Case("p5-16.pgm", lambda: p.pnm(5, p.GREY16, 65535), Correct(grey16)),
    Case("p5-maxval-1000.pgm", lambda: p.pnm(5, grey10, 1000), Correct(grey10 / 1000, 1e-5)),
    Case("p6.ppm", lambda: p.pnm(6, p.RGB8, 255), Correct(rgb8)),
    Case(
        "p6-maxval-50001.ppm", lambda: p.pnm(6, p.RGB16, 50_001), Correct(p.luma(p.RGB16 / 50_001))
    ),
    Case("p5-above.pgm", lambda: p.pnm(5, grey10 + 2000, 1500), Rejected("")),
    Case("p6-above.ppm", lambda: p.pnm(6, p.RGB16, 1500), Rejected("")),
    Case("p5-maxval-0.pgm", lambda: p.pnm(5, p.GREY8, 0), Rejected("")),
    Case("p5-words.pgm", lambda: b"P5\nten by ten 255\n" + bytes(100), Rejected("")),
    Case(
        "p5-digits.pgm",
        lambda: b"P5\n" + b"9" * 5000 + b" 10 255\n" + bytes(100),
        Rejected(""),
    ),
    Case("p2-short.pgm", lambda: p.pnm(2, p.GREY8, 255)[:300], Rejected("")),
    Case(
        "p7.pam",
        lambda: (
            b"P7\nWIDTH 9\nHEIGHT 9\nDEPTH 1\nMAXVAL 255\nTUPLTYPE GRAYSCALE\nENDHDR\n" + bytes(81)
        ),
        Rejected(""),
    ),
    # value_range counts in samples as they are stored
    Case(
        "range-grey8.png", lambda: p.png(p.GREY8), Correct(p.GREY8 / 220), {"value_range": (0, 220)}
    ),
    Case(
        "range-narrow8.png",
        lambda: p.png(p.GREY8),
        Rejected("150"),
        {"value_range": (0, 150)},
    ),
    Case(
        "range-grey4.png",
        lambda: p.png(p.INDEX, depth=4),
        Correct(p.INDEX / 20),
        {"value_range": (0, 20)},
    ),
    Case(
        "range-grey16.png",
        lambda: p.png(p.GREY16, depth=16),
        Correct((p.GREY16 - 100.0) / 59_900),
        {"value_range": (100, 60_000)},
    ),
    Case(
        "range-rgb16.png",
        lambda: p.png(p.RGB16, depth=16),
        Correct(p.luma(p.RGB16 / 60_000)),
        {"value_range": (0, 60_000)},
    ),
    Case(
        "range-rgb8.jpg",
        lambda: p.jpeg(p.SMOOTH),
        Correct(p.SMOOTH / 510, LOSSY),
        {"value_range": (0, 510)},
    ),
    Case(
        "range-p5.pgm",
        lambda: p.pnm(5, grey10, 1500),
        Correct(grey10 / 1000, 1e-5),
        {"value_range": (0, 1000)},
    ),
    Case(
        "range-p5-8.pgm",
        lambda: p.pnm(5, p.INDEX, 20),
        Correct(p.INDEX / 16, 1 / 400),
        {"value_range": (0, 16)},
    ),
    Case(
        "range-grey12.tif",
        lambda: p.tiff(bits12, depth=12),
        Correct(bits12 / 4000),
        {"value_range": (0, 4000)},
    ),
    # The size
    Case("side-8.png", lambda: p.png(p.GREY8[:8, :8]), Correct(grey8[:8, :8])),
    Case("side-7.png", lambda: p.png(p.GREY8[:7]), Rejected("18.{1,3}7|7.{1,3}18")),
    Case("side-1.png", lambda: p.png(p.GREY8[:1, :1]), Correct(grey8[:1, :1]), {"min_side": 1}),
    Case("side-100.jpg", lambda: p.jpeg(p.SMOOTH), Rejected("100"), {"min_side": 100}),
    # JPEG 2000, AVIF and PSD
    Case("lossless.jp2", lambda: p.pillow(p.RGB8, "JPEG2000"), Correct(rgb8)),
    Case("codestream.j2k", lambda: p.pillow(p.GREY8, "JPEG2000", no_jp2=True), Correct(grey8)),
    Case("grey16.jp2", lambda: p.pillow(p.GREY16, "JPEG2000"), Correct(grey16)),
    Case("deep-colour.jp2", lambda: deep_jpeg2000(p.RGB8), Rejected("12 bits")),
    Case("colour.avif", lambda: avif(p.SMOOTH_RGB), Correct(p.luma(p.SMOOTH_RGB / 255), LOSSY)),
    Case(
        "turned.avif",
        lambda: avif(p.SMOOTH_RGB, exif=b"Exif\0\0" + p.exif(6)),
        Correct(p.turned(p.luma(p.SMOOTH_RGB / 255), 6), LOSSY),
    ),
    Case("hdr.avif", lambda: avif_transfer(16), Rejected("dynamic range .PQ")),
    Case("hdr.png", lambda: png_as_hdr(18), Rejected("dynamic range .HLG")),
    Case("flat.psd", lambda: p.psd(p.RGB8), Correct(rgb8)),
    Case("packed.psd", lambda: p.psd(p.RGB8, packed=True), Correct(rgb8)),
    Case("mask.psd", lambda: p.psd(np.dstack([p.RGB8, p.ALPHA8])), Correct(rgb8)),
    Case("deep.psd", lambda: p.psd(p.RGB8, depth=16), Rejected("16 bits")),
    Case("large.psb", lambda: p.psd(p.RGB8, version=2), Rejected("PSB")),
    Case("zipped.psd", lambda: p.psd(p.RGB8, compression=2), Rejected("flat")),
    Case(
        "layers.psd",
        lambda: p.psd(p.RGB8, resources=((1057, b"\0\0\0\1\0"),)),
        Rejected("flat picture"),
    ),
    # Camera RAW, some of which hold a thumbnail that Pillow would read
    Case("camera.raf", lambda: b"FUJIFILMCCD-RAW 0201" + bytes(200), Rejected("RAW.*RAF")),
    Case("camera.cr2", lambda: b"II*\0\x10\0\0\0CR\2\0" + bytes(200), Rejected("RAW.*CR2")),
    Case("camera.cr3", lambda: b"\0\0\0\x18ftypcrx \0\0\0\1crx isom", Rejected("RAW.*CR3")),
    Case("camera.dng", lambda: p.tiff(p.RGB8, tags={50706: ("B", [1, 4, 0, 0])}), Rejected("RAW")),
    Case(
        "camera.nef",
        lambda: p.tiff(p.RGB8, tags={254: ("I", [1]), 330: ("I", [8])}),
        Rejected("RAW"),
    ),
    # Not pictures
    Case("empty.png", lambda: b"", Rejected("empty")),
    Case("text.png", lambda: b"This is a text, not a picture.\n" * 20, Rejected("")),
    Case("one-byte.jpg", lambda: b"\xff", Rejected("")),
    Case("page.eps", lambda: p.pillow(p.GREY8, "EPS"), Rejected("")),
    Case("picture.tga", lambda: p.pillow(p.RGB8, "TGA"), Rejected("")),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case, tmp_path: Path) -> None:
    path = tmp_path / case.name
    path.write_bytes(case.make())
    before = opened()
    with contextlib.ExitStack() as stack:
        if case.warns:  # Pillow says that the EXIF block is damaged, which is right
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
        if isinstance(case.expected, Rejected):
            with refusal(path, case.expected.message):
                image.read(path, **case.options)
            return
        try:
            read = image.read(path, **case.options)
        except image.ImageError:
            if not isinstance(case.expected, CorrectOrRejected):
                raise
            return
    assert not opened() - before
    check_equal(read, case.expected.picture, case.expected.tolerance)


def test_case_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 30


# Sample types


PLAIN, LZW, DEFLATE, OLD_DEFLATE = 1, 5, 8, 32946
SAMPLE_TYPES = [
    ("u1", "<", PLAIN),
    ("u1", ">", LZW),
    # Where samples have several bytes, Pillow and libtiff each have their own way with byte orders.
    *(
        (kind, order, compression)
        for kind in ("u2", "u4", "i2", "i4", "f4")
        for order, compression in (("<", PLAIN), ("<", LZW), (">", PLAIN), (">", DEFLATE))
    ),
    ("u4", ">", LZW),
    ("f8", ">", PLAIN),
    ("f8", "<", DEFLATE),
    ("f8", "<", OLD_DEFLATE),
    ("f8", ">", LZW),
    ("rgb-u1", "<", PLAIN),
    ("rgb-u1", "<", DEFLATE),
    ("rgb-u2", "<", PLAIN),
    ("rgb-u2", ">", PLAIN),
    ("rgb-u2", ">", LZW),
    ("rgb-f4", "<", PLAIN),
    ("rgb-f4", ">", DEFLATE),
    ("rgb-f4", "<", LZW),
]


@pytest.mark.parametrize(("kind", "order", "compression"), SAMPLE_TYPES)
def test_tiff_sample_types(tmp_path: Path, kind: str, order: str, compression: int) -> None:
    dtype = np.dtype(kind[-2:])
    unit = p.RGB16 / 65535 if kind.startswith("rgb") else p.UNIT.astype(np.float64) * 0.7
    top = 1 if dtype.kind == "f" else np.iinfo(dtype).max
    stored = (np.rint(unit * top) if dtype.kind != "f" else unit).astype(dtype)
    path = tmp_path / "typed.tif"
    path.write_bytes(p.tiff(stored, order=order, compression=compression))
    scaled = stored.astype(np.float64) / top
    if compression == LZW and (kind in ("f8", "rgb-f4") or (kind, order) == ("u4", ">")):
        with pytest.raises(image.ImageError, match=r"compression \(LZW\) .* not supported"):
            image.read(path)
        return
    check_equal(image.read(path), p.luma(scaled) if kind.startswith("rgb") else scaled)


# For each list of extra samples (0 unspecified, 1 associated alpha, 2 unassociated alpha): the
# sample type, the number of colours, the compression and the planar configuration.
EXTRA_SAMPLES = {
    (): """
        u1 1 1 1, u1 3 1 1, u1 3 1 2, u1 3 8 1, u1 3 8 2, u2 3 1 1, u2 3 8 2, f4 1 8 2, f4 3 8 1
    """,
    (0,): """
        u1 1 1 1, u1 1 1 2, u1 1 8 1, u1 1 8 2, u1 3 1 1, u1 3 8 1, u1 3 8 2,
        u2 1 1 2, u2 1 8 1, u2 3 1 1, u2 3 8 1, u2 3 8 2, f4 1 1 1, f4 1 1 2, f4 3 8 2
    """,
    (1,): """
        u1 1 1 1, u1 1 1 2, u1 1 8 1, u1 1 8 2, u1 3 1 1, u1 3 8 1, u1 3 8 2,
        u2 1 1 1, u2 3 1 1, u2 3 1 2, u2 3 8 1, f4 1 8 1, f4 3 1 2
    """,
    (2,): """
        u1 1 1 1, u1 1 1 2, u1 1 8 1, u1 1 8 2, u1 3 1 2, u1 3 8 2,
        u2 1 1 2, u2 3 1 1, u2 3 8 2, f4 1 8 1, f4 3 1 2
    """,
    (0, 2): "u1 1 1 1, u1 3 1 1, u2 1 8 1, f4 1 8 2",
    (1, 0): "u1 1 8 2, u1 3 1 1, u1 3 1 2, u1 3 8 2",
}


@pytest.mark.parametrize(
    ("extra", "layout"),
    [(extra, row) for extra, text in EXTRA_SAMPLES.items() for row in text.split(",")],
)
def test_extra_samples_of_a_tiff(tmp_path: Path, extra: tuple[int, ...], layout: str) -> None:
    """Unspecified is no alpha; associated alpha is multiplied into the colours, the other not."""
    dtype, *numbers = layout.split()
    colours, compression, planar = map(int, numbers)
    white = {"u1": 255, "u2": 65535, "f4": 1}[dtype]
    dice = np.random.default_rng(3)
    colour, alpha, other = (dice.random((8, 8, depth)) for depth in (colours, 1, 1))
    stored = colour * alpha if 1 in extra else colour
    cube = np.dstack([stored, *((alpha if kind else other) for kind in extra or (2,))]) * white
    cube = (cube if dtype == "f4" else np.rint(cube)).astype(dtype)
    path = tmp_path / "a.tiff"
    photometric = 2 if colours == 3 else 1
    options = {"photometric": photometric, "planar": planar, "compression": compression}
    path.write_bytes(p.tiff(cube, extra=extra, **options))
    found = attempt(path)
    if isinstance(found, image.ImageError):
        assert cube.shape[2] > 4
        return
    grey = p.luma(colour) if colours == 3 else colour[..., 0]
    opaque = not (any(extra) or (extra == () and colours == 3))
    check_equal(
        found,
        grey if opaque else p.on_white(grey, alpha[..., 0]),
        (1.5 if dtype == "u1" else 0.01) / 255,
    )


@pytest.mark.parametrize(
    ("bad", "colours", "kind"), [(np.nan, 1, 2), (-np.inf, 3, 1), (-0.25, 3, 2), (255.0, 1, 1)]
)
def test_alpha_outside_0_to_1_is_rejected(
    tmp_path: Path, bad: float, colours: int, kind: int
) -> None:
    cube = np.full((8, 8, colours + 1), 0.5, np.float32)
    cube[2, 3, -1] = bad
    path = tmp_path / "a.tiff"
    path.write_bytes(p.tiff(cube, extra=(kind,)))
    with refusal(path, "alpha" if np.isfinite(bad) else "row 2, column 3"):
        image.read(path)


# We turn the picture ourselves, except for a TIFF, which Pillow turns.
ORIENTATIONS = [
    *(("jpeg", orientation) for orientation in range(1, 9)),
    *(("tiff", orientation) for orientation in range(2, 9)),
    ("png", 6),
    ("png16", 7),
    ("webp", 8),
    ("tiff16", 6),
    ("tiff-lzw", 7),
    ("tiff-float64", 8),
    ("tiff-rgb16", 6),
]


@pytest.mark.parametrize(("kind", "orientation"), ORIENTATIONS)
def test_orientation(tmp_path: Path, kind: str, orientation: int) -> None:
    exif = p.exif(orientation)
    rgb = np.dstack([p.BLOCKS] * 3)
    unit = p.BLOCKS.astype("f8") / 255
    deep = rgb.astype("u2") * 257
    make = {
        "jpeg": lambda: p.jpeg(p.BLOCKS, exif=b"Exif\0\0" + exif),
        "png": lambda: p.png(p.BLOCKS, chunks=((b"eXIf", exif),)),
        "png16": lambda: p.png(deep, depth=16, chunks=((b"eXIf", exif),)),
        "webp": lambda: p.pillow(rgb, "WEBP", lossless=True, exif=exif),
        "tiff": lambda: p.tiff(p.BLOCKS, orientation=orientation),
        "tiff16": lambda: p.tiff(deep[..., 0], orientation=orientation),
        "tiff-lzw": lambda: p.tiff(p.BLOCKS, orientation=orientation, compression=5),
        "tiff-float64": lambda: p.tiff(unit, orientation=orientation),
        "tiff-rgb16": lambda: p.tiff(deep, orientation=orientation),
    }
    path = tmp_path / "turned"
    path.write_bytes(make[kind]())
    check_equal(image.read(path), p.turned(unit, orientation), LOSSY if kind == "jpeg" else EXACT)


@pytest.mark.parametrize("value_range", [(0, 0), (float("nan"), 1), (0, float("inf"))])
def test_value_range_must_be_a_range(tmp_path: Path, value_range: tuple[float, float]) -> None:
    path = tmp_path / "good.png"
    path.write_bytes(p.png(p.GREY8))
    with pytest.raises(ValueError, match="range"):
        image.read(path, value_range=value_range)


# Damage

# Text cut inside its last number is another text; a last number of one digit leaves nothing to cut.
LAST = np.arange(p.GREY8.size).reshape(p.GREY8.shape) == p.GREY8.size - 1
WHOLE = {
    "grey.png": p.png(p.GREY8),
    "rgb16.png": p.png(p.RGB16, depth=16),
    "la16.png": p.png(np.dstack([p.GREY16, p.ALPHA16]), depth=16),
    "interlaced.png": p.png(p.RGB8, interlace=True),
    "key.png": p.png(p.GREY16, depth=16, trns=b"\x12\x34"),
    "palette.png": p.png(p.INDEX, depth=4, palette=p.PALETTE, trns=steps.tobytes()),
    "grey.jpg": p.jpeg(p.SMOOTH),
    "progressive.jpg": p.jpeg(p.SMOOTH_RGB, progressive=True),
    "turned.jpg": p.jpeg(p.BLOCKS, exif=b"Exif\0\0" + p.exif(6)),
    "cmyk.jpg": p.jpeg(cmyk, mode="CMYK"),
    "grey.tif": p.tiff(p.GREY16),
    "float.tif": p.tiff(p.UNIT, compression=8),
    "double.tif": p.tiff(p.UNIT.astype("f8"), compression=8, order=">"),
    "rgb16.tif": p.tiff(p.RGB16, compression=5),
    "tiles.tif": p.tiff(p.RGB8, tile=16, orientation=3),
    "palette.tif": p.tiff(p.INDEX, depth=4, colormap=p.PALETTE),
    "frames.gif": gif_first,
    "lossless.webp": p.pillow(p.RGB8, "WEBP", lossless=True, exif=p.exif(8)),
    "lossy.webp": p.pillow(np.dstack([p.RGB8, p.ALPHA8]), "WEBP"),
    "colour.bmp": p.bmp(p.RGB8, depth=24),
    "palette.bmp": p.bmp(p.INDEX, depth=4, palette=p.PALETTE),
    "binary.ppm": p.pnm(6, p.RGB16, 65535),
    "text.pgm": p.pnm(2, np.where(LAST, 5, p.GREY8), 255),
    "bits.pbm": p.pnm(4, bits),
    "lossless.jp2": p.pillow(p.RGB8, "JPEG2000"),
    "colour.avif": avif(p.SMOOTH_RGB),
    "packed.psd": p.psd(p.RGB8, packed=True),
    **HEIC_AND_JXL,
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow may say that a block is damaged
@pytest.mark.parametrize("name", WHOLE)
def test_a_truncated_file_is_rejected_or_whole(tmp_path: Path, name: str) -> None:
    """A cut file is rejected; only where nothing but its end mark is lost may it still be read."""
    data = WHOLE[name]
    path = tmp_path / name
    path.write_bytes(data)
    whole = image.read(path)
    wrong = []
    cuts = sorted(
        {*np.linspace(1, len(data) - 1, 60).astype(int).tolist(), *range(len(data) - 20, len(data))}
    )
    for cut in cuts:
        path.write_bytes(data[:cut])
        read = attempt(path)
        if isinstance(read, image.ImageError):
            assert name in str(read)
        elif read.shape != whole.shape or not np.array_equal(read, whole):
            wrong.append(cut)
    assert not wrong, f"garbage accepted when cut at {wrong} of {len(data)} bytes"


@pytest.mark.parametrize(
    "kind", ["png", "png16", "jpeg", "progressive", "tiff", "tiff-lzw", "tiff-deflate64"]
)
def test_cut_in_the_pixels_is_rejected(tmp_path: Path, kind: str) -> None:
    """Where the header and all tags are there, but the pixels are not."""
    noise = np.random.default_rng(0).integers(0, 256, (64, 80, 3), dtype=np.uint8)
    compression = {"tiff-lzw": 5, "tiff-deflate64": 8}.get(kind, 1)
    if kind.startswith("tiff"):
        samples = noise / 255.0 if kind == "tiff-deflate64" else noise
        tags, segments = p.tiff_page(samples, compression=compression, rows=64)
        whole = p.tiff_file([(tags, [])])  # the directory first, the only strip after it
        start = len(whole) + 24
        length = len(segments[0])
        tags |= {273: ("I", [start]), 279: ("I", [length])}
        head = p.tiff_file([(tags, [])])
        data = head.ljust(start, b"\0") + segments[0]
    else:
        data = {
            "png": lambda: p.png(noise),
            "png16": lambda: p.png(noise.astype("u2") * 250, depth=16),
            "jpeg": lambda: p.jpeg(noise),
            "progressive": lambda: p.jpeg(noise, progressive=True),
        }[kind]()
        start, length = 700, len(data) - 700
    path = tmp_path / "cut"
    path.write_bytes(data)
    image.read(path)
    for share in np.linspace(0.02, 0.98, 25):
        path.write_bytes(data[: start + int(share * length)])
        with refusal(path):
            image.read(path)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    name = draw(st.sampled_from(sorted(WHOLE)))
    data = bytearray(WHOLE[name])
    where = st.integers(0, len(data) - 1) | st.integers(0, min(len(data) - 1, 120))
    for place, value in draw(st.lists(st.tuples(where, st.integers(0, 255)), max_size=8)):
        data[place] = value
    if draw(st.booleans()):
        del data[draw(st.integers(0, len(data))) :]
    if draw(st.integers(0, 5)) == 0:
        place = draw(st.integers(0, len(data)))
        data[place:place] = draw(st.binary(min_size=1, max_size=20))
    return name, bytes(data)


@st.composite
def invented(draw: st.DrawFn) -> tuple[str, bytes]:
    magic = [
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff",
        b"II*\0",
        b"MM\0*",
        b"II+\0",
        b"GIF89a",
        b"BM",
        b"P5 9 9 ",
        b"P3\n",
    ]
    magic += [
        b"\xff\x0a",
        b"\0\0\0\x20ftypheic",
        b"\0\0\0\x20ftypavif",
        b"\xffO\xffQ\0",
        b"8BPS\0\1",
    ]
    start = draw(st.sampled_from([*magic, b"RIFF\x40\0\0\0WEBPVP8L", b""]))
    return "invented", start + draw(st.binary(max_size=200))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.filterwarnings("ignore")  # Pillow warns of damage it can live with
@settings(
    max_examples=400,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(made=damaged() | invented())
def test_damage_gives_a_picture_or_the_one_error(folder: Path, made: tuple[str, bytes]) -> None:
    name, data = made
    path = folder / name
    path.write_bytes(data)
    before = opened()
    read = attempt(path, min_side=1)
    if isinstance(read, image.ImageError):
        assert name in str(read)
    else:
        check_picture(read)
    with contextlib.suppress(image.ImageError):
        info = image.describe(path)
        assert isinstance(info.width, int)
        assert isinstance(info.height, int)
    assert not opened() - before


# Size


def jpeg2000_header(width: int, height: int) -> bytes:
    made = bytearray(p.pillow(p.RGB8, "JPEG2000"))
    struct.pack_into(">II", made, made.index(b"ihdr") + 4, height, width)
    struct.pack_into(">II", made, made.index(b"\xffO\xffQ") + 8, width, height)
    return bytes(made)


def avif_header(width: int, height: int) -> bytes:
    made = bytearray(avif(p.SMOOTH_RGB))
    struct.pack_into(">II", made, made.index(b"ispe") + 8, width, height)
    return bytes(made)


def psd_header(width: int, height: int) -> bytes:
    made = bytearray(p.psd(p.RGB8))
    struct.pack_into(">II", made, 14, height, width)
    return bytes(made)


UNPACKED = 400_000_000  # more than the measuring process may have
DATA = p.png_chunk(b"IDAT", zlib.compress(bytes(1000)))
BOMBS: dict[str, bytes] = {
    "square.png": p.png_header(100_000, 100_000) + DATA,
    "deep.png": p.png_header(100_000, 100_000, 16, 2) + DATA,
    "area.png": p.png_header(8001, 8000) + DATA,
    "wide.png": p.png_header(2**31 - 1, 8) + DATA,
    "grey.tif": tiff_header(100_000, 100_000),
    "double.tif": tiff_header(100_000, 100_000, p.UNIT.astype("f8")),
    "lzw.tif": tiff_header(100_000, 100_000, compression=5),
    "tiles.tif": tiff_header(100_000, 100_000, tile=16),
    "high.jpg": jpeg_header(65_500, 65_500),
    "screen.gif": p.gif_bitmap(65_535, 65_535) + gif_first[13:],
    "square.webp": webp_header(16_383, 16_383),
    "square.bmp": bmp_header(100_000, 100_000),
    "square.ppm": b"P6 100000 100000 65535\n" + bytes(1000),
    "long.pgm": b"P2 99999999 8 255\n0 0 0",
    "square.jp2": jpeg2000_header(100_000, 100_000),
    "square.avif": avif_header(10_000, 9000),
    "square.psd": psd_header(30_000, 30_000),
}
MEASURE = """
import json, resource, sys, time
from pathlib import Path
from isca_gui.core.pictures import image
import numpy, tifffile, PIL.Image
PIL.Image.init()
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 256 * 2**20,) * 2)
out = {}
for name in sys.argv[1:]:
    for function in (image.read, image.describe):
        started = time.perf_counter()
        try:
            message = f"gave {type(function(name)).__name__}"
        except image.ImageError as error:
            message = f"refused: {error}"
        except BaseException as error:
            message = f"raised {error!r}"
        out[f"{function.__name__} {Path(name).name}"] = message, time.perf_counter() - started
print(json.dumps(out))
"""


def measure(paths: list[Path]) -> dict[str, tuple[str, float]]:
    """Read and describe the files in a process that may take no more than 256 MB."""
    root = str(Path(image.__file__).parents[2])
    search = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, paths)],
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="needs /proc and an address space limit"
)


@pytest.mark.alone
@linux
def test_declared_size_is_rejected_quickly_and_with_little_memory(tmp_path: Path) -> None:
    for name, data in BOMBS.items():
        (tmp_path / name).write_bytes(data)
    outcome = measure([tmp_path / name for name in BOMBS])
    bad = []
    for name in BOMBS:
        for function in ("read", "describe"):  # the header may still be described
            message, seconds = outcome[f"{function} {name}"]
            told = message.replace(str(tmp_path), "")
            refused = told.startswith("refused") and re.search(SIZE, told) and "memory" not in told
            described = function == "describe" and told == "gave ImageInfo"
            if not (refused or described) or seconds > 2:
                bad.append((function, name, message, seconds))
    assert not bad, "\n".join(map(str, bad))


@pytest.mark.alone
@linux
def test_data_that_unpack_to_more_than_declared(tmp_path: Path) -> None:
    """Small pictures with far too much data are read or rejected, in bounded memory."""
    packed = zlib.compress(bytes(UNPACKED), 1)
    (tmp_path / "a.png").write_bytes(p.png(p.GREY8, idat=packed))
    (tmp_path / "b.png").write_bytes(p.png(p.RGB16, depth=16, idat=packed))
    (tmp_path / "c.tif").write_bytes(p.tiff(p.GREY8, compression=8, rows=13, segments=[packed]))
    (tmp_path / "d.tif").write_bytes(
        p.tiff(p.UNIT.astype("f8"), compression=8, rows=13, segments=[packed])
    )
    several = lzma.compress(bytes(UNPACKED // 20), preset=0) * 20  # streams that follow each other
    doubles = p.UNIT.astype("f8")
    (tmp_path / "e.tif").write_bytes(
        p.tiff(doubles, compression=34925, rows=13, segments=[several])
    )
    outcome = measure(sorted(tmp_path.iterdir()))
    bad = {
        what: told for what, told in outcome.items() if told[0].startswith("raised") or told[1] > 5
    }
    assert not bad
    for name in ("d.tif", "e.tif"):  # not for want of memory: another machine would have it
        assert "far more than its size allows" in outcome[f"read {name}"][0]


@pytest.mark.parametrize(("compression", "rows"), [(8, 5), (8, 2**32 - 1), (32946, 13), (34925, 5)])
def test_doubles_that_are_compressed(tmp_path: Path, compression: int, rows: int) -> None:
    doubles, pack = p.UNIT.astype("f8"), lzma.compress if compression == 34925 else zlib.compress
    parts = [pack(doubles[low : low + rows].tobytes()) for low in range(0, p.HEIGHT, rows)]
    tags = {278: ("I", [rows])}
    made = p.tiff(
        doubles, compression=compression, rows=min(rows, p.HEIGHT), segments=parts, tags=tags
    )
    (tmp_path / "a.tif").write_bytes(made)
    check_equal(image.read(tmp_path / "a.tif"), p.UNIT)


def test_bytes_behind_a_compressed_part_do_no_harm(tmp_path: Path) -> None:
    doubles = p.UNIT.astype("f8")
    for compression, pack in ((8, zlib.compress), (34925, lzma.compress)):
        parts = [pack(doubles.tobytes()) + b"padding"]
        made = p.tiff(doubles, compression=compression, rows=13, segments=parts)
        (tmp_path / "a.tif").write_bytes(made)
        check_equal(image.read(tmp_path / "a.tif"), p.UNIT)


@pytest.mark.alone
def test_many_parts_that_share_their_bytes_are_refused_in_time(tmp_path: Path) -> None:
    """Each by itself is within bounds; together they would unpack for an hour."""
    packed = zlib.compress(bytes(30 << 20), 9)
    places = {273: ("I", [8] * 4096), 279: ("I", [len(packed)] * 4096)}
    made = p.tiff(np.zeros((4096, 8)), compression=8, rows=1, segments=[packed], tags=places)
    assert made[8:].startswith(packed)
    (tmp_path / "a.tif").write_bytes(made)
    started = time.perf_counter()
    with refusal(tmp_path / "a.tif", "far more than its size"):
        image.read(tmp_path / "a.tif")
    assert time.perf_counter() - started < 10


def test_limits() -> None:
    assert image.MAX_PIXELS == 64_000_000
    assert image.MAX_SIDE == 16_384


def test_64_megapixels_pass_the_size_check(tmp_path: Path) -> None:
    path = tmp_path / "area.png"
    path.write_bytes(p.png_header(8000, 8000, 1) + p.png_chunk(b"IDAT", zlib.compress(bytes(1000))))
    with pytest.raises(image.ImageError) as caught:  # refused, but for the missing pixels
        image.read(path)
    assert not re.search("megapixel|too large", without_path(caught.value, path))


# Paths


@pytest.mark.parametrize(
    "name",
    [
        "with space.png",
        "ümläut-日本😀.png",
        "-dash.png",
        "a'b\"c.png",
        "%s{0}.png",
        "line\nbreak.png",
    ],
)
def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        Path(name).write_bytes(p.png(p.GREY8))
    except OSError:
        pytest.skip("this file system has no such names")
    for path in (name, Path(name), tmp_path / name):
        check_equal(image.read(path), grey8)
        assert image.describe(path).width == p.WIDTH
    image.save_png(name, p.UNIT)
    image.save_tiff(Path(name), p.UNIT)
    check_equal(image.read(name), p.UNIT, 0)
    Path(name).write_bytes(b"text")
    with refusal(name):
        image.read(name)


@posix
def test_name_that_is_no_text(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.png")
    try:
        Path(path).write_bytes(p.png(p.GREY8))
    except OSError:
        pytest.skip("this file system has no such names")
    check_equal(image.read(path), grey8)
    image.save_tiff(path, p.UNIT)
    check_equal(image.read(path), p.UNIT, 0)


@pytest.mark.parametrize("function", [image.read, image.describe])
@pytest.mark.parametrize("name", ["missing.png", "nul\0.png", "n" * 300 + ".png", "folder.png"])
def test_nothing_to_read(tmp_path: Path, function: Callable[[Any], Any], name: str) -> None:
    (tmp_path / "folder.png").mkdir()
    path = f"{tmp_path}/{name}"
    with refusal(path):
        function(path)


@posix
@pytest.mark.timeout(20)
@pytest.mark.parametrize("function", [image.read, image.describe])
def test_pipes_devices_and_links(tmp_path: Path, function: Callable[[Any], Any]) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "loop.png").symlink_to("loop.png")
    (tmp_path / "dangling.png").symlink_to("nowhere.png")
    (tmp_path / "linked-pipe.png").symlink_to("pipe.png")
    (tmp_path / "zero.png").symlink_to("/dev/zero")
    for name in ("pipe.png", "loop.png", "dangling.png", "linked-pipe.png", "zero.png"):
        with refusal(tmp_path / name):
            function(tmp_path / name)
    (tmp_path / "good.png").write_bytes(p.png(p.GREY8))
    (tmp_path / "link.png").symlink_to("good.png")
    function(tmp_path / "link.png")


@posix
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may read everything")
def test_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "secret.png"
    path.write_bytes(p.png(p.GREY8))
    path.chmod(0)
    with refusal(path, "permission"):
        image.read(path)


# The header

DESCRIBED = [
    ("grey.png", p.png(p.GREY8), "PNG", 18, 13, 1),
    ("rgb16.png", p.png(p.RGB16, depth=16), "PNG", 18, 13, 1),
    ("frames.png", frames("PNG"), "PNG", 18, 13, 3),
    ("grey.jpg", p.jpeg(p.SMOOTH), "JPEG", 64, 48, 1),
    ("pages.tif", tiff_pages(), "TIFF", 18, 13, 2),
    ("double.tif", p.tiff(p.UNIT.astype("f8")), "TIFF", 18, 13, 1),
    ("frames.gif", gif_first, "GIF", 18, 13, 3),
    ("frames.webp", frames("WEBP"), "WEBP", 18, 13, 3),
    ("colour.bmp", p.bmp(p.RGB8, depth=24), "BMP", 18, 13, 1),
    ("colour.ppm", p.pnm(6, p.RGB8, 255), "P[GNP]M", 18, 13, 1),
]


@pytest.mark.parametrize(
    ("name", "data", "kind", "width", "height", "count"), DESCRIBED, ids=[d[0] for d in DESCRIBED]
)
def test_describe(
    tmp_path: Path, name: str, data: bytes, kind: str, width: int, height: int, count: int
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    before = opened()
    info = image.describe(path)
    assert not opened() - before
    assert re.fullmatch(kind, info.format.upper())
    assert (info.width, info.height, info.frames) == (width, height, count)
    assert isinstance(info.pixel_type, str)
    assert info.pixel_type.strip()


def test_describe_tells_deep_pictures(tmp_path: Path) -> None:
    path = tmp_path / "deep"
    for data in (
        p.png(p.GREY16, depth=16),
        p.png(p.RGB16, depth=16),
        p.tiff(p.GREY16),
        p.tiff(p.RGB16),
    ):
        path.write_bytes(data)
        assert "16" in image.describe(path).pixel_type


def test_describe_reads_the_header_only(tmp_path: Path) -> None:
    path = tmp_path / "cut.png"
    path.write_bytes(p.png(p.GREY8)[:80])
    assert image.describe(path).width == p.WIDTH
    path.write_bytes(b"text")
    with refusal(path):
        image.describe(path)


def test_reading_leaves_no_setting_changed(tmp_path: Path) -> None:
    path = tmp_path / "some"
    seen = (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES, list(warnings.filters))
    for data in (p.png(p.GREY8), p.tiff(p.UNIT.astype("f8")), b"text"):
        path.write_bytes(data)
        with contextlib.suppress(image.ImageError):
            image.read(path)
    assert (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES, list(warnings.filters)) == seen


def test_warnings_come_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Marked(Warning):
        pass

    opened, loaded = Image.open, ImageFile.ImageFile.load

    def warn_and_open(*args: Any, **options: Any) -> Any:
        warnings.warn("opening", Marked, stacklevel=1)
        return opened(*args, **options)

    def warn_and_load(self: Any) -> Any:
        warnings.warn("loading", Marked, stacklevel=1)
        return loaded(self)

    monkeypatch.setattr(Image, "open", warn_and_open)
    monkeypatch.setattr(ImageFile.ImageFile, "load", warn_and_load)
    path = tmp_path / "grey.jpg"
    path.write_bytes(p.jpeg(p.SMOOTH))
    with pytest.warns(Marked) as caught:
        image.read(path)
    assert {str(w.message) for w in caught} >= {"opening", "loading"}


# Saving

SAVERS = [
    pytest.param(image.save_png, {}, id="png8"),
    pytest.param(image.save_png, {"bits": 16}, id="png16"),
    pytest.param(image.save_tiff, {}, id="tiff"),
]


@pytest.mark.parametrize("bits", [8, 16])
def test_png_round_trip(tmp_path: Path, bits: int) -> None:
    top = 2**bits - 1
    picture = np.random.default_rng(0).random((40, 50), dtype=np.float32)
    picture[0, :3] = 0, 1, np.nextafter(np.float32(1), np.float32(0))
    picture[1] = (np.arange(50) + 0.49) / top
    path = tmp_path / "saved.png"
    image.save_png(path, picture, bits=bits)
    check_equal(image.read(path), picture, 0.5 / top + EXACT)
    with Image.open(path) as opened:
        assert opened.format == "PNG"
        stored = np.asarray(opened)
    assert stored.dtype == f"u{bits // 8}"
    np.testing.assert_allclose(stored / top, picture, rtol=0, atol=0.5 / top + 1e-9)


def test_tiff_round_trip(tmp_path: Path) -> None:
    picture = np.random.default_rng(0).random((40, 50), dtype=np.float32)
    picture[0, :4] = 0, 1, np.nextafter(np.float32(1), np.float32(0)), np.float32(1e-42)
    path = tmp_path / "saved.tif"
    image.save_tiff(path, picture)
    check_equal(image.read(path), picture, 0)
    assert np.array_equal(tifffile.imread(path), picture)
    assert tifffile.imread(path).dtype == np.float32


@pytest.mark.parametrize(("save", "options"), SAVERS)
def test_saves_any_layout(
    tmp_path: Path, save: Callable[..., None], options: dict[str, Any]
) -> None:
    base = np.random.default_rng(0).random((24, 30)).astype(np.float32)
    first, second = tmp_path / "a", tmp_path / "b"
    for picture in (
        base.T,
        base[::-1, ::2],
        np.asfortranarray(base),
        base.astype(">f4"),
        base.astype(np.float64),
    ):
        save(first, picture, **options)
        save(second, np.ascontiguousarray(picture, dtype=np.float32), **options)
        assert first.read_bytes() == second.read_bytes()


@posix
@pytest.mark.parametrize(
    ("save", "options", "share"),
    [
        (image.save_png, {}, 0.5),
        (image.save_png, {"bits": 16}, 0.5),
        (image.save_tiff, {}, 0.0),
        (image.save_tiff, {}, 0.5),
        (image.save_tiff, {}, 0.99),
    ],
)
def test_a_disk_that_fills_up_leaves_the_old_picture(
    tmp_path: Path, save: Callable[..., None], options: dict[str, Any], share: float
) -> None:
    path, other = tmp_path / "saved", np.random.default_rng(0).random((64, 80), dtype=np.float32)
    save(path, other, **options)
    size = path.stat().st_size
    save(path, p.UNIT, **options)
    before = path.read_bytes()
    with refusal(path), full_disk(int(share * size)):
        save(path, other, **options)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("save", "options"), SAVERS)
def test_same_picture_same_bytes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    save: Callable[..., None],
    options: dict[str, Any],
) -> None:
    save(tmp_path / "a", p.UNIT, **options)
    monkeypatch.setattr(time, "time", lambda: 4e9)
    save(tmp_path / "another name", p.UNIT.copy(), **options)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "another name").read_bytes()


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(np.full((9, 9), np.nan, "f4"), id="nan"),
        pytest.param(np.full((9, 9), -0.01, "f4"), id="below"),
        pytest.param(np.full((9, 9), 1 + 1e-6, "f8"), id="just-above"),
        pytest.param(np.full((9, 9), 128, "u1"), id="bytes"),
        pytest.param(np.zeros((9, 9, 3), "f4"), id="rgb"),
        pytest.param(np.zeros((0, 9), "f4"), id="empty"),
        pytest.param(np.zeros((9, 9), "c8"), id="complex"),
        pytest.param(np.zeros((9, 9), "O"), id="objects"),
    ],
)
def test_saving_rejects(tmp_path: Path, picture: np.ndarray) -> None:
    path = tmp_path / "rejected"
    for save in (image.save_png, image.save_tiff):
        with refusal(path):
            save(path, picture)
    assert list(tmp_path.iterdir()) == []


def test_png_has_8_or_16_bits(tmp_path: Path) -> None:
    with pytest.raises((ValueError, image.ImageError)):
        image.save_png(tmp_path / "a.png", p.UNIT, bits=12)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("save", "options"), SAVERS)
def test_saving_where_it_cannot(
    tmp_path: Path, save: Callable[..., None], options: dict[str, Any]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"x")
    for name in ("missing/a.png", "folder", "file/a.png", "nul\0.png", "n" * 300):
        with refusal(tmp_path / name):
            save(str(tmp_path / name), p.UNIT, **options)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["file", "folder"]
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize(
    ("save", "existing", "function", "error"),
    [
        (image.save_png, True, "replace", OSError(28, "No space left on device")),
        (image.save_png, False, "fsync", KeyboardInterrupt()),
        (image.save_png, True, "fsync", RuntimeError("x")),
        (image.save_tiff, False, "replace", OSError(28, "No space left on device")),
        (image.save_tiff, True, "fsync", KeyboardInterrupt()),
        (image.save_tiff, False, "replace", RuntimeError("x")),
    ],
)
def test_interrupted_saving_keeps_the_old_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    save: Callable[..., None],
    existing: bool,
    function: str,
    error: BaseException,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    path = tmp_path / "kept"
    if existing:
        path.write_bytes(b"the old file")
    before = opened()
    with monkeypatch.context() as patched:
        patched.setattr(os, function, fail)
        expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else image.ImageError
        with pytest.raises(expected):
            save(path, p.UNIT)
    assert not opened() - before
    assert [found.name for found in tmp_path.iterdir()] == (["kept"] if existing else [])
    assert not existing or path.read_bytes() == b"the old file"
    save(path, p.UNIT)
    assert [found.name for found in tmp_path.iterdir()] == ["kept"]
    assert not opened() - before


@posix
@pytest.mark.parametrize("save", [image.save_png, image.save_tiff])
def test_mode_is_that_of_any_new_file(tmp_path: Path, save: Callable[..., None]) -> None:
    old = os.umask(0o027)
    try:
        save(tmp_path / "new", p.UNIT)
        (tmp_path / "kept").write_bytes(b"")
        (tmp_path / "kept").chmod(0o600)
        save(tmp_path / "kept", p.UNIT)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o600


@pytest.mark.parametrize(("save", "options"), SAVERS)
def test_saving_at_once(tmp_path: Path, save: Callable[..., None], options: dict[str, Any]) -> None:
    path = tmp_path / "shared"
    levels = [n / 255 for n in range(0, 256, 32)]
    errors: list[BaseException] = []

    def work(level: float) -> None:
        try:
            for _ in range(5):
                save(path, np.full((64, 64), level, np.float32), **options)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(level,)) for level in levels]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [found.name for found in tmp_path.iterdir()] == ["shared"]
    read = image.read(path)
    assert read.min() == read.max()
    assert min(abs(read[0, 0] - level) for level in levels) < 1e-4


# --- in colour ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "white"), [(p.GREY8, 255), (p.GREY16, 65_535)], ids=["8 bits", "16 bits"]
)
def test_a_grey_picture_has_no_colours(tmp_path: Path, samples: np.ndarray, white: int) -> None:
    (tmp_path / "a.png").write_bytes(p.pillow(samples, "PNG"))
    found = image.read_colour(tmp_path / "a.png")
    assert (found.shape, found.dtype) == (samples.shape, np.float32)
    assert found == pytest.approx(samples / white, abs=EXACT)


def test_colours_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(p.pillow(p.RGB8, "PNG"))
    found = image.read_colour(tmp_path / "a.png")
    assert found == pytest.approx(p.RGB8 / 255, abs=EXACT)
    assert p.luma(found) == pytest.approx(image.read(tmp_path / "a.png"), abs=1e-6)


def test_transparent_colours_lie_on_white(tmp_path: Path) -> None:
    samples = np.dstack([p.RGB8, p.ALPHA8])
    (tmp_path / "a.png").write_bytes(p.pillow(samples, "PNG"))
    alpha = p.ALPHA8[..., None] / 255
    wanted = p.on_white(p.RGB8 / 255, alpha)
    assert image.read_colour(tmp_path / "a.png") == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_colours_are_turned_with_the_picture(tmp_path: Path, orientation: int) -> None:
    data = p.jpeg(p.SMOOTH_RGB, exif=b"Exif\0\0" + p.exif(orientation))
    (tmp_path / "a.jpg").write_bytes(data)
    found = image.read_colour(tmp_path / "a.jpg")
    channels = [p.turned(p.SMOOTH_RGB[..., index], orientation) for index in range(3)]
    assert found == pytest.approx(np.stack(channels, axis=2) / 255, abs=LOSSY)


def test_what_cannot_be_read_in_colour(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"no picture")
    with pytest.raises(image.ImageError, match=r"a\.png"):
        image.read_colour(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(p.pillow(p.RGB8, "PNG"))
    with pytest.raises(image.ImageError, match="18×13"):
        image.read_colour(tmp_path / "b.png", min_side=32)
