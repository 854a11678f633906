"""Picture files to arrays of samples as they are stored: nothing scaled, nothing rounded.

Pillow decodes; where it would lose or mistake samples, its decoder is pointed at the right bytes: 16-bit
colour is decoded twice, once for the high and once for the low bytes, and libtiff's output is taken in the
machine's own byte order, which is how libtiff delivers it. TIFF sample types that Pillow does not know go to
tifffile.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageFile, UnidentifiedImageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_PIXELS = 64_000_000
MAX_SIDE = 16_384
FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "PPM", "GIF")
READABLE = "PNG, JPEG, TIFF, BMP, WebP, PGM/PPM or GIF"

Stream = IO[bytes]

_ORIENTATION, _BITS, _PHOTOMETRIC, _SAMPLE_FORMAT = 274, 258, 262, 339  # EXIF and TIFF tags
_MINISWHITE, _RGB = 0, 2
_SIGNED, _TIFF_MAGIC = 2, (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


class ImageError(Exception):
    """A picture cannot be read or saved; the message says what, which file, and what to do."""


@dataclass(frozen=True)
class Samples:
    """Decoded samples: `values` (height, width[, 3]) where `white` stands for white; `alpha` in [0, 1]."""

    values: NDArray[Any]
    white: float
    alpha: NDArray[np.float64] | None = None
    inverted: bool = False
    orientation: int = 1


def decode(stream: Stream, min_side: int) -> Samples:
    """Decode the first frame, after checking the size its header declares."""
    try:
        image = _open(stream)
    except UnidentifiedImageError:
        return _decode_scientific_tiff(stream, min_side)
    with image:
        check_size(*image.size, min_side)
        deep = _deep_rawmode(image)
        if deep is not None:
            return _decode_deep(image, stream, *deep)
        _use_native_order(image)
        maximum = _ppm_maximum(image)
        image.load()
        return _from_mode(image, maximum)


def header(stream: Stream) -> tuple[str, int, int, str, int]:
    """Read format, width, height, pixel type and number of frames without decoding."""
    try:
        with _open(stream) as image:
            kind = f"16-bit {image.mode}" if _deep_rawmode(image) else _MODE_NAMES.get(image.mode, image.mode)
            return str(image.format), *image.size, kind, int(getattr(image, "n_frames", 1))
    except UnidentifiedImageError:
        with _open_tifffile(stream) as tiff:
            page = tiff.pages.first
            kind = f"{page.dtype}, {page.samplesperpixel} sample(s) a pixel"
            return "TIFF", page.imagewidth, page.imagelength, kind, len(tiff.pages)


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


def _deep_rawmode(image: ImageFile.ImageFile) -> tuple[str, float] | None:
    """Give raw mode and white of 16-bit colour, which Pillow would cut to 8 bits; None for all else."""
    if not image.tile:
        return None
    codec, _, _, args = image.tile[0]
    if codec == "ppm" and image.mode == "RGB" and isinstance(args, tuple) and args[-1] > 255:
        return "RGB;16B", float(args[-1])
    rawmode = _rawmode(args)
    if rawmode.removesuffix("B").removesuffix("L").removesuffix("N") in ("RGB;16", "RGBA;16", "LA;16"):
        return rawmode, 65535.0
    return None


def _decode_deep(image: ImageFile.ImageFile, stream: Stream, rawmode: str, white: float) -> Samples:
    """Decode 16-bit colour: the unpacker for the other byte order yields the low bytes."""
    native, other = ("L", "B") if sys.byteorder == "little" else ("B", "L")
    order = rawmode[-1].replace("N", native)
    if rawmode.startswith("LA"):  # both samples of a pixel lie in the four bytes of an RGBA pixel
        _with_rawmode(image, "RGBA")
        quads = np.asarray(image).astype(np.uint16)
        values = quads[..., 0::2] * 256 + quads[..., 1::2]
    else:
        base = rawmode.rstrip("BLN")
        halves = []
        for letter in (order, native if order == other else other):
            again = _open(stream)
            if again.format == "PPM":
                again.tile = [t._replace(codec_name="raw", args=("RGB;16B", 0, 1)) for t in again.tile]
            _with_rawmode(again, base + letter)
            halves.append(np.asarray(again).astype(np.uint16))
        values = halves[0] * 256 + halves[1]
    colours = values.shape[2] - (1 - values.shape[2] % 2)  # an even number of samples ends with alpha
    alpha = values[..., colours] / 65535 if values.shape[2] > colours else None
    image.load()
    return Samples(
        values[..., :colours].squeeze(-1) if colours == 1 else values[..., :colours],
        white,
        alpha,
        orientation=_orientation(image),
    )


def _use_native_order(image: ImageFile.ImageFile) -> None:
    """Undo Pillow's second byte swap of what libtiff has swapped already."""
    if image.tile and image.tile[0][0] == "libtiff":
        rawmode = _rawmode(image.tile[0].args)
        native = {"F;32BF": "F;32NF", "I;32BS": "I;32NS", "I;16BS": "I;16NS"}.get(rawmode)
        if native is not None:
            _with_rawmode(image, native)


def _ppm_maximum(image: ImageFile.ImageFile) -> float | None:
    """Give the range Pillow brings a PGM with more than 8 bits to."""
    return 65535.0 if image.format == "PPM" and image.mode == "I" else None


def _from_mode(image: ImageFile.ImageFile, maximum: float | None) -> Samples:
    orientation = _orientation(image)
    tags: Any = getattr(image, "tag_v2", {})
    inverted = tags.get(_PHOTOMETRIC) == _MINISWHITE and image.mode in ("I;16", "I;16B", "I", "F")
    if image.mode.startswith("I;16"):
        bits = tags.get(_BITS, (16,))[0]
        return Samples(
            np.asarray(image), 2.0**bits - 1, _keyed_alpha(image), inverted=inverted, orientation=orientation
        )
    if image.mode == "I":
        values, white = _integers(image, tags)
        return Samples(values, maximum or white, inverted=inverted, orientation=orientation)
    if image.mode == "F":
        return Samples(np.asarray(image), 1.0, inverted=inverted, orientation=orientation)
    if image.mode == "L" and tags.get(_SAMPLE_FORMAT, (1,))[0] == _SIGNED:
        return Samples(np.asarray(image).view(np.int8), 127.0, orientation=orientation)
    return _eight_bit(image, orientation)


def _integers(image: ImageFile.ImageFile, tags: Any) -> tuple[NDArray[Any], float]:
    """Give 32-bit storage back its declared sign and number of bits."""
    values = np.asarray(image)
    bits = tags.get(_BITS, (32,))[0]
    if tags.get(_SAMPLE_FORMAT, (_SIGNED,))[0] == _SIGNED:
        return values, 2.0 ** (bits - 1) - 1
    return values.view(np.uint32), 2.0**bits - 1


def _eight_bit(image: Image.Image, orientation: int) -> Samples:
    transparent = image.has_transparency_data
    if image.mode in ("1", "L", "LA", "La"):
        image = image.convert("LA" if transparent else "L")
    elif image.mode in ("P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr"):
        image = image.convert("RGBA" if transparent else "RGB")
    else:
        raise ImageError(f"its colour model {image.mode} is not supported. Save it again as RGB or grey.")
    values = np.asarray(image)
    if not transparent:
        return Samples(values, 255.0, orientation=orientation)
    alpha = values[..., -1] / 255
    colours = values[..., 0] if values.shape[2] == 2 else values[..., :3]
    return Samples(colours, 255.0, alpha, orientation=orientation)


def _keyed_alpha(image: Image.Image) -> NDArray[np.float64] | None:
    """Give the alpha of a 16-bit grey PNG in which one value stands for transparent."""
    key = image.info.get("transparency")
    return None if not isinstance(key, int) else (np.asarray(image) != key).astype(np.float64)


def _orientation(image: Image.Image) -> int:
    """Give the rotation that is still to be applied; Pillow turns a TIFF while loading it."""
    return 1 if image.format == "TIFF" else int(image.getexif().get(_ORIENTATION, 1))


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
            raise ImageError(f"its sample type ({page.dtype}) is not supported. Save it as 8- or 16-bit.")
        if page.dtype.kind == "c":
            raise ImageError("it holds complex numbers. Save its magnitude or another real picture.")
        if page.axes not in ("YX", "YXS", "SYX") or page.samplesperpixel > 4:
            raise ImageError(f"its layout {page.axes} {page.shape} is not one grey or RGB picture. Save one.")
        if page.photometric not in (_MINISWHITE, 1, _RGB):
            raise ImageError("its colour model is not supported. Save it again as RGB or grey.")
        values = np.moveaxis(page.asarray(), 0, -1) if page.axes == "SYX" else page.asarray()
        white = 1.0 if page.dtype.kind == "f" else float(np.iinfo(page.dtype).max)
        values = values.reshape(*values.shape[:2], -1)
        colours = 3 if page.photometric == _RGB else 1
        alpha = values[..., colours] / white if values.shape[2] > colours and page.extrasamples else None
        tag = page.tags.get(_ORIENTATION)
        return Samples(
            values[..., 0] if colours == 1 else values[..., :3],
            white,
            alpha,
            inverted=page.photometric == _MINISWHITE,
            orientation=int(tag.value) if tag is not None else 1,
        )
