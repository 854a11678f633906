"""Picture files to arrays of samples as they are stored: nothing scaled, nothing rounded.

Pillow decodes; where it would lose or mistake samples, its decoder is pointed at the right bytes: 16-bit
colour is decoded twice, once for the high and once for the low bytes, and libtiff's output is taken in the
machine's own byte order, which is how libtiff delivers it. TIFF sample types that Pillow does not know go to
tifffile.
"""

from __future__ import annotations

import math
import struct
import sys
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageFile, UnidentifiedImageError

from isca_gui.core.pictures.tiff_limits import holds_too_much

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_PIXELS = 64_000_000
MAX_SIDE = 16_384
FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "PPM", "GIF")
READABLE = "PNG, JPEG, TIFF, BMP, WebP, PGM/PPM or GIF"

Stream = IO[bytes]

_ORIENTATION, _BITS, _PHOTOMETRIC, _SAMPLE_FORMAT = 274, 258, 262, 339  # EXIF and TIFF tags
_WIDTH, _LENGTH, _SAMPLES, _PLANAR, _EXTRA = 256, 257, 277, 284, 338
_STRIP_OFFSETS, _ROWS_PER_STRIP, _TILE_WIDTH, _TILE_LENGTH, _TILE_OFFSETS = 273, 278, 322, 323, 324
_MINISWHITE, _MINISBLACK, _RGB, _SEPARATE = 0, 1, 2, 2
_COLOURS = {
    _MINISWHITE: 1,
    _MINISBLACK: 1,
    _RGB: 3,
}  # samples of a pixel; what follows them is extra
_ASSOCIATED, _ALPHA = 1, (1, 2, 999)  # kinds of extra samples; 999 is Corel's word for 2
_BROKEN_EXIF = (
    *(
        ValueError,
        TypeError,
        ArithmeticError,
        LookupError,
        OSError,
        EOFError,
        SyntaxError,
        struct.error,
    ),
)
_SIGNED, _TIFF_MAGIC = 2, (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


class ImageError(Exception):
    """A picture cannot be read or saved; the message says what, which file, and what to do."""


@dataclass(frozen=True)
class Samples:
    """Decoded samples: `values` (height, width[, 3]) where `white` stands for white; `alpha` in [0, 1].

    Pillow spreads samples of few bits over 0 to 255; `unit` times a value is the sample as stored.
    `premultiplied` values are those of the colours times alpha.
    """

    values: NDArray[Any]
    white: float
    alpha: NDArray[np.float64] | None = None
    inverted: bool = False
    orientation: int = 1
    unit: float = 1.0
    premultiplied: bool = False


def decode(stream: Stream, min_side: int) -> Samples:
    """Decode the first frame, after checking the size its header declares."""
    try:
        image = _open(stream)
    except UnidentifiedImageError:
        return _decode_scientific_tiff(stream, min_side)
    with image:
        check_size(*image.size, min_side)
        if image.format == "TIFF":
            tags: Any = getattr(image, "tag_v2", {})
            _check_parts(tags)
            if tags.get(_PLANAR) == _SEPARATE and _are_mixed_up(image, tags):
                return _decode_scientific_tiff(stream, min_side)
        _use_native_order(image)
        premultiplied = _use_as_multiplied(image)
        maximum = _use_raw_netpbm(image)
        deep = _deep_rawmode(image)
        if deep is not None:
            decoded = _decode_deep(image, stream, deep, maximum or 65535.0)
            return replace(decoded, premultiplied=premultiplied)
        unit = _unit(image)
        image.load()
        decoded = _from_mode(image, maximum)
        return replace(
            decoded, unit=unit, orientation=_orientation(image), premultiplied=premultiplied
        )


def header(stream: Stream) -> tuple[str, int, int, str, int]:
    """Read format, width, height (once turned), pixel type and number of frames without decoding."""
    try:
        with _open(stream) as image:
            kind = (
                f"16-bit {image.mode}"
                if _deep_rawmode(image)
                else _MODE_NAMES.get(image.mode, image.mode)
            )
            size = _turned(image.size, _orientation(image) if _has_early_exif(image) else 1)
            return str(image.format), *size, kind, int(getattr(image, "n_frames", 1))
    except UnidentifiedImageError:
        with _open_tifffile(stream) as tiff:
            page = tiff.pages.first
            kind = f"{page.dtype}, {page.samplesperpixel} sample(s) a pixel"
            size = _turned((page.imagewidth, page.imagelength), _tifffile_orientation(page))
            return "TIFF", *size, kind, len(tiff.pages)


def check_size(width: int, height: int, min_side: int) -> None:
    """Refuse a picture by its declared size."""
    if width > MAX_SIDE or height > MAX_SIDE or width * height > MAX_PIXELS:
        raise ImageError(
            f"it is {width}×{height}; at most {MAX_SIDE} pixels a side and "
            f"{MAX_PIXELS // 1_000_000} megapixels are read. Crop it or make it smaller."
        )
    if width < min_side or height < min_side:
        raise ImageError(
            f"it is {width}×{height}, smaller than one block of {min_side}×{min_side}. "
            "Use a larger picture or smaller blocks."
        )


_MODE_NAMES = {
    "1": "1-bit",
    "L": "8-bit grey",
    "LA": "8-bit grey with alpha",
    "P": "palette",
    "RGB": "8-bit RGB",
    "RGBA": "8-bit RGB with alpha",
    "CMYK": "8-bit CMYK",
    "I;16": "16-bit grey",
    "I;16B": "16-bit grey",
    "I": "32-bit integer grey",
    "F": "32-bit float grey",
}


def _open(stream: Stream) -> ImageFile.ImageFile:
    stream.seek(0)
    try:
        image = Image.open(stream, formats=FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ImageError(
            f"it has more than {MAX_PIXELS // 1_000_000} megapixels. Crop it or make it smaller."
        ) from error
    assert isinstance(image, ImageFile.ImageFile)
    return image


def _rawmode(args: Any) -> str:
    return str(args[0] if isinstance(args, tuple) else args)


def _with_rawmode(image: ImageFile.ImageFile, rawmode: str) -> None:
    """Have every tile of a not yet loaded picture unpacked as `rawmode`."""
    image.tile = [
        tile._replace(args=(rawmode, *tile.args[1:]) if isinstance(tile.args, tuple) else rawmode)
        for tile in image.tile
    ]


def _check_parts(tags: Any) -> None:
    """Refuse a TIFF that lists fewer strips or tiles than its size needs; they would come out black."""
    width, height = tags[_WIDTH], tags[_LENGTH]
    if _TILE_OFFSETS in tags:
        listed = len(tags[_TILE_OFFSETS])
        needed = math.ceil(width / tags[_TILE_WIDTH]) * math.ceil(height / tags[_TILE_LENGTH])
    else:
        listed = len(tags[_STRIP_OFFSETS])
        needed = math.ceil(height / min(tags.get(_ROWS_PER_STRIP, height), height))
    if tags.get(_PLANAR) == _SEPARATE:
        needed *= tags.get(_SAMPLES, 1)
    if listed < needed:
        raise ImageError(
            f"only {listed} of its {needed} parts are there. Choose a whole copy of the file."
        )


def _deep_rawmode(image: ImageFile.ImageFile) -> str | None:
    """Give the raw mode of 16-bit colour, which Pillow would cut to 8 bits; None for all else."""
    rawmode = _rawmode(image.tile[0].args) if image.tile else ""
    deep = ("RGB;16", "RGBA;16", "RGBa;16", "RGBX;16", "LA;16")
    return rawmode if rawmode.rstrip("BLN") in deep else None


def _are_mixed_up(image: ImageFile.ImageFile, tags: Any) -> bool:
    """Tell whether Pillow mistakes separate planes: deep ones, and most of those beside the colours."""
    if tags.get(_BITS, (8,))[0] > 8:
        return True
    colours = _COLOURS.get(tags.get(_PHOTOMETRIC), math.inf)
    libtiff = image.tile[0].codec_name == "libtiff" and colours == 3 and _EXTRA in tags
    return tags.get(_SAMPLES, 1) > colours and not libtiff


def _use_as_multiplied(image: ImageFile.ImageFile) -> bool:
    """Have colours times alpha decoded as they are stored; Pillow would divide and round. Tells of them."""
    rawmode = _rawmode(image.tile[0].args) if image.tile else ""
    if rawmode.startswith("RGBa") and getattr(image, "tag_v2", {}).get(_PLANAR) != _SEPARATE:
        _with_rawmode(image, rawmode.replace("a", "A"))
        return True
    return image.mode == "La"


def _decode_deep(image: ImageFile.ImageFile, stream: Stream, rawmode: str, white: float) -> Samples:
    """Decode 16-bit colour: the unpacker for the other byte order yields the low bytes."""
    native, other = ("L", "B") if sys.byteorder == "little" else ("B", "L")
    order = rawmode[-1].replace("N", native)
    if rawmode.startswith("LA"):  # both samples of a pixel lie in the four bytes of an RGBA pixel
        _with_rawmode(image, "RGBA")
        quads = np.asarray(image).astype(np.uint16)
        values = quads[..., 0::2] * 256 + quads[..., 1::2]
    else:
        low = _open(stream)
        _use_raw_netpbm(low)
        _with_rawmode(image, rawmode.rstrip("BLN") + order)
        _with_rawmode(low, rawmode.rstrip("BLN") + (native if order == other else other))
        values = np.asarray(image).astype(np.uint16) * 256 + np.asarray(low)
    alpha = values[..., -1] / 65535 if rawmode.startswith(("LA", "RGBA")) else None
    key = image.info.get("transparency")
    colours = values[..., 0] if rawmode.startswith("LA") else values[..., :3]
    if isinstance(key, tuple):
        alpha = np.any(colours != np.array(key), axis=2).astype(np.float64)
    return Samples(colours, white, alpha, orientation=_orientation(image))


def _use_native_order(image: ImageFile.ImageFile) -> None:
    """Undo Pillow's second byte swap of what libtiff has swapped already."""
    if image.tile and image.tile[0][0] == "libtiff":
        rawmode = _rawmode(image.tile[0].args)
        native = {"F;32BF": "F;32NF", "I;32BS": "I;32NS", "I;16BS": "I;16NS"}.get(rawmode)
        if native is not None:
            _with_rawmode(image, native)


def _use_raw_netpbm(image: ImageFile.ImageFile) -> float | None:
    """Have a binary PGM or PPM decoded without Pillow's rescaling and clipping; gives its maximum."""
    if not image.tile or image.tile[0].codec_name != "ppm":
        return 65535.0 if image.format == "PPM" and image.mode == "I" else None
    tile = image.tile[0]
    assert isinstance(tile.args, tuple)
    maximum = tile.args[-1]
    rawmode = {"L": "L", "I": "I;16B"}.get(image.mode, "RGB;16B" if maximum > 255 else "RGB")
    image.tile = [tile._replace(codec_name="raw", args=(rawmode, 0, 1))]
    return float(maximum)


def _unit(image: ImageFile.ImageFile) -> float:
    """Give the stored sample per unit of Pillow's value, where Pillow spreads 1, 2 or 4 bits over 8."""
    if image.mode == "1":
        return 1 / 255
    rawmode = _rawmode(image.tile[0].args) if image.tile else ""
    bits = rawmode.removeprefix("L;")[:1]
    if image.mode != "L" or not rawmode.startswith("L;") or bits not in ("1", "2", "4"):
        return 1.0
    unit: float = (2 ** int(bits) - 1) / 255
    key = image.info.get("transparency")
    if isinstance(key, int):
        image.info["transparency"] = round(key / unit)  # Pillow leaves the key as stored
    return unit


def _from_mode(image: ImageFile.ImageFile, maximum: float | None) -> Samples:
    tags: Any = getattr(image, "tag_v2", {})
    inverted = tags.get(_PHOTOMETRIC) == _MINISWHITE and image.mode in ("I;16", "I;16B", "I", "F")
    if image.mode.startswith("I;16"):
        bits = tags.get(_BITS, (16,))[0]
        return Samples(np.asarray(image), 2.0**bits - 1, _keyed_alpha(image), inverted=inverted)
    if image.mode == "I":
        values, white = _integers(image, tags)
        return Samples(values, maximum or white, inverted=inverted)
    if image.mode == "F":
        return Samples(np.asarray(image), 1.0, inverted=inverted)
    if image.mode == "L" and tags.get(_SAMPLE_FORMAT, (1,))[0] == _SIGNED:
        return Samples(np.asarray(image).view(np.int8), 127.0)
    return _eight_bit(image, maximum or 255.0)


def _integers(image: ImageFile.ImageFile, tags: Any) -> tuple[NDArray[Any], float]:
    """Give 32-bit storage back its declared sign and number of bits."""
    values = np.asarray(image)
    bits = tags.get(_BITS, (32,))[0]
    if tags.get(_SAMPLE_FORMAT, (_SIGNED,))[0] == _SIGNED:
        return values, 2.0 ** (bits - 1) - 1
    return values.view(np.uint32), 2.0**bits - 1


def _eight_bit(image: Image.Image, white: float) -> Samples:
    transparent = image.has_transparency_data
    if image.mode in ("1", "L", "LA"):
        image = image.convert("LA" if transparent else "L")
    elif image.mode in ("P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr"):
        image = image.convert("RGBA" if transparent else "RGB")
    elif image.mode != "La":
        raise ImageError(
            f"its colour model {image.mode} is not supported. Save it again as RGB or grey."
        )
    values = np.asarray(image)
    if not transparent:
        return Samples(values, white)
    alpha = values[..., -1] / 255
    colours = values[..., 0] if values.shape[2] == 2 else values[..., :3]
    return Samples(colours, white, alpha)


def _keyed_alpha(image: Image.Image) -> NDArray[np.float64] | None:
    """Give the alpha of a 16-bit grey PNG in which one value stands for transparent."""
    key = image.info.get("transparency")
    return None if not isinstance(key, int) else (np.asarray(image) != key).astype(np.float64)


def _orientation(image: Image.Image) -> int:
    """Give the rotation that is still to be applied; Pillow turns a TIFF while loading it."""
    if image.format == "TIFF":
        return 1
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except _BROKEN_EXIF:
        return 1  # what a camera or editor wrote beside the pixels is broken; the picture is not


def _has_early_exif(image: Image.Image) -> bool:
    """Tell whether EXIF data can be had without decoding; in a PNG it may stand behind the pixels."""
    return image.format != "PNG" or bool({"exif", "Raw profile type exif"} & image.info.keys())


def _turned(size: tuple[int, int], orientation: int) -> tuple[int, int]:
    return size[::-1] if orientation in (5, 6, 7, 8) else size


def _tifffile_orientation(page: Any) -> int:
    tag = page.tags.get(_ORIENTATION)
    return int(tag.value) if tag is not None else 1


def _tifffile_array(page: Any) -> NDArray[Any]:
    try:
        values: NDArray[Any] = page.asarray()
    except ValueError as error:
        if "imagecodecs" not in str(error):
            raise
        raise ImageError(
            f"its compression ({page.compression.name}) of {page.dtype} samples is not supported. "
            "Save it without compression."
        ) from error
    return np.moveaxis(values, 0, -1) if page.axes == "SYX" else values


def _open_tifffile(stream: Stream) -> Any:
    stream.seek(0)
    if stream.read(4) not in _TIFF_MAGIC:
        raise ImageError(f"it is not a picture that can be read ({READABLE}). Choose another file.")
    import tifffile

    stream.seek(0)
    return tifffile.TiffFile(stream)


def _decode_scientific_tiff(stream: Stream, min_side: int) -> Samples:
    """Decode a TIFF with a sample type that Pillow does not know."""
    with _open_tifffile(stream) as tiff:
        page = tiff.pages.first
        check_size(page.imagewidth, page.imagelength, min_side)
        if page.dtype is None or page.dtype.kind not in "iufc":
            raise ImageError(
                f"its sample type ({page.dtype}) is not supported. Save it as 8- or 16-bit."
            )
        if page.dtype.kind == "c":
            raise ImageError(
                "it holds complex numbers. Save its magnitude or another real picture."
            )
        if page.axes not in ("YX", "YXS", "SYX") or page.samplesperpixel > 4:
            raise ImageError(
                f"its layout {page.axes} {page.shape} is not one grey or RGB picture. Save one."
            )
        if page.photometric not in _COLOURS:
            raise ImageError("its colour model is not supported. Save it again as RGB or grey.")
        if holds_too_much(page, stream):
            raise ImageError(
                "it holds far more than its size allows. Choose another copy of the file."
            )
        values = _tifffile_array(page)
        white = 1.0 if page.dtype.kind == "f" else float(np.iinfo(page.dtype).max)
        values = values.reshape(*values.shape[:2], -1)
        colours = _COLOURS[page.photometric]
        place, premultiplied = _alpha_of(page, colours)
        alpha = values[..., place] / white if colours <= place < values.shape[2] else None
        return Samples(
            values[..., 0] if colours == 1 else values[..., :3],
            white,
            alpha,
            inverted=page.photometric == _MINISWHITE,
            orientation=_tifffile_orientation(page),
            premultiplied=premultiplied,
        )


def _alpha_of(page: Any, colours: int) -> tuple[int, bool]:
    """Give the place of alpha among the samples, -1 if there is none, and whether colours are times it."""
    if colours == 3 and not page.extrasamples:
        return 3, False  # a fourth sample of which nothing is said is taken as Pillow takes it
    kinds = [int(kind) for kind in page.extrasamples]
    place = next((place for place, kind in enumerate(kinds) if kind in _ALPHA), None)
    return (-1, False) if place is None else (colours + place, kinds[place] == _ASSOCIATED)
