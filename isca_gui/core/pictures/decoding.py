"""Decodes picture files to arrays of samples as they are stored: nothing scaled, nothing rounded.

Pillow decodes. Where it would lose or misread samples, its decoder is pointed at the right bytes:
16-bit colour is decoded twice, once for the high and once for the low bytes, and the output of
libtiff is taken in the machine's own byte order, in which libtiff delivers it. TIFF sample types
that Pillow does not know go to tifffile, HEIC and JPEG XL to libraries of their own.
"""

from __future__ import annotations

import enum
import math
import re
import struct
import sys
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageFile, UnidentifiedImageError

from isca_gui.core.pictures import box_files, colour_profiles, jpeg_scans
from isca_gui.core.pictures.tiff_limits import holds_too_much

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_PIXELS = 64_000_000
MAX_SIDE = 16_384
FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "PPM", "GIF", "JPEG2000", "AVIF", "PSD")
READABLE = (
    "PNG, JPEG, TIFF, BMP, WebP, PGM/PPM, GIF, JPEG 2000, AVIF, HEIC, JPEG XL or PSD (flat picture)"
)
# The endings of files in these formats, in lower case.
SUFFIXES = (
    ".png",
    ".jpg",
    ".jpeg",
    ".tif",
    ".tiff",
    ".bmp",
    ".webp",
    ".pgm",
    ".ppm",
    ".pnm",
    ".gif",
    ".jp2",
    ".j2k",
    ".jpx",
    ".avif",
    ".heic",
    ".heif",
    ".jxl",
    ".psd",
)

Stream = IO[bytes]


class _Tag(enum.IntEnum):
    """Tags of TIFF and EXIF."""

    SUBFILE_TYPE = 254
    WIDTH = 256
    LENGTH = 257
    BITS_PER_SAMPLE = 258
    PHOTOMETRIC = 262
    STRIP_OFFSETS = 273
    ORIENTATION = 274
    SAMPLES_PER_PIXEL = 277
    ROWS_PER_STRIP = 278
    PLANAR_CONFIGURATION = 284
    TILE_WIDTH = 322
    TILE_LENGTH = 323
    TILE_OFFSETS = 324
    SUB_DIRECTORIES = 330
    EXTRA_SAMPLES = 338
    SAMPLE_FORMAT = 339
    ICC_PROFILE = 34675
    DNG_VERSION = 50706


_TIFF_SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_MIN_IS_WHITE = 0
_MIN_IS_BLACK = 1
_RGB = 2
# Samples that make up the colour of a pixel; those after them are extra samples.
_COLOUR_SAMPLES = {_MIN_IS_WHITE: 1, _MIN_IS_BLACK: 1, _RGB: 3}
_SEPARATE_PLANES = 2
_SIGNED = 2
# Kinds of extra samples that are alpha; 999 is Corel's number for unassociated alpha, 2.
_ASSOCIATED_ALPHA = 1
_ALPHA = (1, 2, 999)

# Raw modes of 16-bit colour without their byte order.
_DEEP_RAWMODES = ("RGB;16", "RGBA;16", "RGBa;16", "RGBX;16", "LA;16")

# How camera RAW files begin, apart from those that are a TIFF.
_RAW_SIGNATURES = {
    b"FUJIFILMCCD-RAW": "RAF",
    b"IIRO": "ORF",
    b"IIRS": "ORF",
    b"MMOR": "ORF",
    b"IIU\0": "RW2",
    b"FOVb": "X3F",
}
# Bytes of the header of a PGM or PPM, and comments in one of text: Pillow takes the header byte by
# byte, and copies what is left of a block for each comment.
_LARGEST_NETPBM_HEADER = 1 << 16
_MOST_NETPBM_COMMENTS = 2000
_NETPBM = re.compile(rb"P[1-6fFy]")
_COMMENT = re.compile(rb"#[^\r\n]*")
# The block of a PSD that says whether there is a flat picture.
_PSD_VERSION = 1057

# What Pillow raises for damaged EXIF data.
_EXIF_ERRORS = (
    ValueError,
    TypeError,
    ArithmeticError,
    LookupError,
    OSError,
    EOFError,
    SyntaxError,
    struct.error,
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


class ImageError(Exception):
    """A picture cannot be read or saved; the message says what, which file, and what to do."""


@dataclass(frozen=True)
class ImageInfo:
    """What the header of a picture file says; width and height are those once it is turned."""

    format: str
    width: int
    height: int
    pixel_type: str
    frames: int


@dataclass(frozen=True)
class Samples:
    """Decoded samples of a picture.

    Parameters
    ----------
    values
        Shape (height, width) or (height, width, 3).
    white
        The value that stands for white.
    alpha
        Shape (height, width), in [0, 1]; None for an opaque picture.
    inverted
        Whether 0 stands for white and `white` for black.
    orientation
        The EXIF orientation that is still to be applied.
    unit
        The stored sample per unit of `values`: Pillow spreads samples of few bits over 0 to 255.
    premultiplied
        Whether the colours are multiplied by alpha.
    profile
        The ICC profile that says what the values mean; None for sRGB.
    primaries
        Where there is no profile: the code point of the primaries, such as 12 for Display P3.
    """

    values: NDArray[Any]
    white: float
    alpha: NDArray[np.float64] | None = None
    inverted: bool = False
    orientation: int = 1
    unit: float = 1.0
    premultiplied: bool = False
    profile: bytes | None = None
    primaries: int | None = None


def decode(stream: Stream, min_side: int) -> Samples:
    """Decode the first frame, after checking the size that its header declares."""
    head = _head(stream)
    form = optional_format(head)
    if form is not None:
        from isca_gui.core.pictures import optional_decoders

        return optional_decoders.decode(form, stream, min_side)
    _check_head(head, stream)
    try:
        image = _open(stream)
    except UnidentifiedImageError:
        return _decode_with_tifffile(stream, min_side)
    with image:
        check_size(*image.size, min_side)
        scans = _check_format(image, stream, head)
        if image.format == "TIFF" and _misreads_planes(image, getattr(image, "tag_v2", {})):
            return _decode_with_tifffile(stream, min_side)
        _use_native_byte_order(image)
        premultiplied = _keep_premultiplied(image)
        maximum = _use_raw_netpbm(image)
        deep = _deep_rawmode(image)
        if deep is not None:
            decoded = _decode_deep(image, stream, deep, maximum or 65535.0)
            return replace(decoded, premultiplied=premultiplied, **_colour_meaning(image, head))
        unit = _stored_unit(image)
        image.load()
        if scans is not None and jpeg_scans.is_cut(stream, scans, image):
            raise ImageError(
                "a part of its pixels is missing: it was cut and closed again. "
                "Choose a complete copy of the file."
            )
        return replace(
            samples_of(image, maximum),
            unit=unit,
            premultiplied=premultiplied,
            **_colour_meaning(image, head),
        )


def describe(stream: Stream) -> ImageInfo:
    """Read the header of a picture file without decoding its pixels."""
    head = _head(stream)
    form = optional_format(head)
    if form is not None:
        from isca_gui.core.pictures import optional_decoders

        return optional_decoders.describe(form, stream)
    _check_head(head, stream)
    try:
        with _open(stream) as image:
            pixel_type = _MODE_NAMES.get(image.mode, image.mode)
            if _deep_rawmode(image):
                pixel_type = f"16-bit {image.mode}"
            bits = _boxed_bits(image, head)
            if bits is not None and bits > 8 and image.mode != "I;16":
                pixel_type = f"{bits}-bit {image.mode}"
                if image.format == "AVIF":
                    pixel_type += ", of which 8 bits are read"
            orientation = _orientation(image) if _has_early_exif(image) else 1
            width, height = _turned(image.size, orientation)
            frames = int(getattr(image, "n_frames", 1))
            return ImageInfo(str(image.format), width, height, pixel_type, frames)
    except UnidentifiedImageError:
        with _open_with_tifffile(stream) as tiff:
            page = tiff.pages.first
            pixel_type = f"{page.dtype}, {page.samplesperpixel} sample(s) per pixel"
            size = (page.imagewidth, page.imagelength)
            width, height = _turned(size, _tifffile_orientation(page))
            return ImageInfo("TIFF", width, height, pixel_type, len(tiff.pages))


def check_size(width: int, height: int, min_side: int) -> None:
    """Reject a picture by its declared size."""
    if width > MAX_SIDE or height > MAX_SIDE or width * height > MAX_PIXELS:
        raise ImageError(
            f"it is {width}×{height}; the limits are {MAX_SIDE} pixels a side and "
            f"{MAX_PIXELS // 1_000_000} megapixels. Crop it or make it smaller."
        )
    if width < min_side or height < min_side:
        raise ImageError(
            f"it is {width}×{height}, smaller than one block of {min_side}×{min_side}. "
            "Use a larger picture or smaller blocks."
        )


# --- before decoding ----------------------------------------------------------------------------


def _head(stream: Stream) -> bytes:
    stream.seek(0)
    head = stream.read(64)
    if head[4:8] in (b"ftyp", b"jP  ", b"JXL ") or head[:4] in (b"\x89PNG", b"\xffO\xffQ"):
        head += stream.read(box_files.LARGEST_HEADER)
    return head


def optional_format(head: bytes) -> str | None:
    """Return the format of a file that only an optional library reads; None for all others."""
    if head.startswith((box_files.JXL_CODESTREAM, box_files.JXL_CONTAINER)):
        return "JPEG XL"
    found = box_files.brands(head)
    if found & box_files.HEIC_BRANDS and not found & box_files.AVIF_BRANDS:
        return "HEIC"
    return None


def _check_head(head: bytes, stream: Stream) -> None:
    """Reject what Pillow would misread or take too long for."""
    for signature, kind in _RAW_SIGNATURES.items():
        if head.startswith(signature):
            raise _raw_error(kind)
    if b"crx " in box_files.brands(head):
        raise _raw_error("CR3")
    if head[:4] in _TIFF_SIGNATURES and head[8:10] == b"CR":
        raise _raw_error("CR2")
    if head.startswith(b"8BPS") and len(head) > 26:
        _check_psd(head)
    if _NETPBM.match(head):
        _check_netpbm(stream)


def _raw_error(kind: str) -> ImageError:
    return ImageError(
        f"it is a camera RAW file ({kind}), which holds no finished picture. "
        "Open it in a RAW converter and save it as TIFF or PNG."
    )


def _check_psd(head: bytes) -> None:
    version = int.from_bytes(head[4:6])
    bits = int.from_bytes(head[22:24])
    if version != 1 or bits > 8:
        what = f"{bits} bits per channel" if version == 1 else "the format of large documents (PSB)"
        raise ImageError(
            f"it is a Photoshop file with {what}; only those with 8 bits can be read. "
            "Save its flat picture as a 16-bit TIFF."
        )


def _check_netpbm(stream: Stream) -> None:
    stream.seek(0)
    head = stream.read(_LARGEST_NETPBM_HEADER)
    too_long = len(head) == _LARGEST_NETPBM_HEADER and len(_COMMENT.sub(b"", head).split()) < 4
    comments = 0
    if head[1:2] in b"123":
        stream.seek(0)
        while chunk := stream.read(1 << 20):
            comments += chunk.count(b"#")
    if too_long or comments > _MOST_NETPBM_COMMENTS:
        raise ImageError("its comments are too long. Save it again without them.")


def check_dynamic_range(transfer: int | None) -> None:
    """Reject a picture of high dynamic range by its code point of the transfer function."""
    if transfer in box_files.HDR_TRANSFERS:
        raise ImageError(
            f"it has a high dynamic range ({box_files.HDR_TRANSFERS[transfer]}), which would be "
            "cut. Export it with a standard dynamic range (SDR)."
        )


def check_scans(scans: jpeg_scans.Scans) -> None:
    """Reject a JPEG that would keep the decoder busy for too long."""
    if scans.too_many:
        raise ImageError(
            f"it has {scans.count} or more scans, far more than a picture of its size needs. "
            "Save it again as PNG."
        )


def _check_format(
    image: ImageFile.ImageFile, stream: Stream, head: bytes
) -> jpeg_scans.Scans | None:
    """Reject by its header what would be misread; return the scans of a JPEG."""
    if image.format == "TIFF":
        tags: Any = getattr(image, "tag_v2", {})
        reduced = tags.get(_Tag.SUBFILE_TYPE) == 1 and _Tag.SUB_DIRECTORIES in tags
        if _Tag.DNG_VERSION in tags or reduced:
            # What Pillow finds there is a thumbnail.
            raise _raw_error("DNG, NEF, ARW or the like")
        _check_all_parts_listed(tags)
    elif image.format in ("JPEG", "MPO"):
        scans = jpeg_scans.scans_of(stream)
        check_scans(scans)
        return scans
    elif image.format == "AVIF":
        check_dynamic_range(box_files.heif_facts(head).transfer)
    elif image.format == "PNG":
        check_dynamic_range(box_files.png_facts(head).transfer)
    elif image.format == "JPEG2000":
        bits = _boxed_bits(image, head)
        if bits is not None and bits > 8 and image.mode != "I;16":
            raise ImageError(
                f"it has {bits} bits per sample, of which only 8 could be read. "
                "Save it as a 16-bit PNG or TIFF."
            )
    elif image.format == "PSD":
        _check_flat_picture(image)
    return None


def _boxed_bits(image: ImageFile.ImageFile, head: bytes) -> int | None:
    """Return the bits of a sample where Pillow does not tell them."""
    if image.format == "JPEG2000":
        return box_files.jpeg2000_facts(head).bits
    return box_files.heif_facts(head).bits if image.format == "AVIF" else None


def _check_flat_picture(image: ImageFile.ImageFile) -> None:
    """Reject a PSD with layers only, or with a flat picture that Pillow cannot unpack."""
    blocks: Any = getattr(image, "resources", ())
    without = any(key == _PSD_VERSION and data[4:5] == b"\0" for key, _, data in blocks)
    if without or not image.tile:
        raise ImageError(
            "it has no flat picture that can be read. Save it again with the option to maximise "
            "compatibility, or as TIFF."
        )


def _colour_meaning(image: ImageFile.ImageFile, head: bytes) -> dict[str, Any]:
    """Return the profile of a picture, or the code point of its primaries, where it has one."""
    profile = image.info.get("icc_profile")
    facts = box_files.HeaderFacts()
    if image.format == "AVIF":
        facts = box_files.heif_facts(head)
    elif image.format == "PNG":
        facts = box_files.png_facts(head)
    elif image.format == "JPEG2000":
        facts = box_files.jpeg2000_facts(head)
    if isinstance(profile, bytes) and profile and image.mode != "CMYK":
        return {"profile": profile}
    return {"profile": facts.profile, "primaries": facts.primaries}


# --- Pillow -------------------------------------------------------------------------------------


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


def _rawmode(image: ImageFile.ImageFile) -> str:
    """Return how Pillow is going to unpack the pixels; empty for a decoder that knows by itself."""
    if not image.tile:
        return ""
    args: Any = image.tile[0].args
    return str(args[0] if isinstance(args, tuple) else args)


def _set_rawmode(image: ImageFile.ImageFile, rawmode: str) -> None:
    """Have every tile of a picture that is not loaded yet unpacked as `rawmode`."""
    tiles = []
    for tile in image.tile:
        args = (rawmode, *tile.args[1:]) if isinstance(tile.args, tuple) else rawmode
        tiles.append(tile._replace(args=args))
    image.tile = tiles


def _check_all_parts_listed(tags: Any) -> None:
    """Reject a TIFF that lists fewer strips or tiles than its size needs.

    Pillow would decode the missing ones as black.
    """
    width = tags[_Tag.WIDTH]
    height = tags[_Tag.LENGTH]
    if _Tag.TILE_OFFSETS in tags:
        listed = len(tags[_Tag.TILE_OFFSETS])
        across = math.ceil(width / tags[_Tag.TILE_WIDTH])
        down = math.ceil(height / tags[_Tag.TILE_LENGTH])
        needed = across * down
    else:
        listed = len(tags[_Tag.STRIP_OFFSETS])
        needed = math.ceil(height / min(tags.get(_Tag.ROWS_PER_STRIP, height), height))
    if tags.get(_Tag.PLANAR_CONFIGURATION) == _SEPARATE_PLANES:
        needed *= tags.get(_Tag.SAMPLES_PER_PIXEL, 1)
    if listed < needed:
        raise ImageError(
            f"only {listed} of its {needed} strips or tiles are there. "
            "Choose a complete copy of the file."
        )


def _misreads_planes(image: ImageFile.ImageFile, tags: Any) -> bool:
    """Whether Pillow misreads the separate planes of a TIFF.

    It does so where samples have more than 8 bits, and mostly where there are extra samples.
    """
    if tags.get(_Tag.PLANAR_CONFIGURATION) != _SEPARATE_PLANES:
        return False
    if tags.get(_Tag.BITS_PER_SAMPLE, (8,))[0] > 8:
        return True
    colours = _COLOUR_SAMPLES.get(tags.get(_Tag.PHOTOMETRIC), math.inf)
    if tags.get(_Tag.SAMPLES_PER_PIXEL, 1) <= colours:
        return False
    # libtiff puts RGB with declared extra samples together itself.
    from_libtiff = image.tile[0].codec_name == "libtiff"
    return not (from_libtiff and colours == 3 and _Tag.EXTRA_SAMPLES in tags)


def _keep_premultiplied(image: ImageFile.ImageFile) -> bool:
    """Have premultiplied colours decoded as stored; return whether there are any.

    Pillow would divide them by alpha and round.
    """
    rawmode = _rawmode(image)
    tags: Any = getattr(image, "tag_v2", {})
    separate = tags.get(_Tag.PLANAR_CONFIGURATION) == _SEPARATE_PLANES
    if rawmode.startswith("RGBa") and not separate:
        _set_rawmode(image, rawmode.replace("a", "A"))
        return True
    return image.mode == "La"


def _use_native_byte_order(image: ImageFile.ImageFile) -> None:
    """Undo Pillow's second byte swap of what libtiff has swapped already."""
    if image.tile and image.tile[0].codec_name == "libtiff":
        native = {"F;32BF": "F;32NF", "I;32BS": "I;32NS", "I;16BS": "I;16NS"}.get(_rawmode(image))
        if native is not None:
            _set_rawmode(image, native)


def _use_raw_netpbm(image: ImageFile.ImageFile) -> float | None:
    """Have a binary PGM or PPM decoded without Pillow's rescaling and clipping.

    Return the maximum value that a PGM or PPM declares, None for any other file.
    """
    if not image.tile or image.tile[0].codec_name != "ppm":
        return 65535.0 if image.format == "PPM" and image.mode == "I" else None
    tile = image.tile[0]
    assert isinstance(tile.args, tuple)
    maximum = tile.args[-1]
    colour = "RGB;16B" if maximum > 255 else "RGB"
    rawmode = {"L": "L", "I": "I;16B"}.get(image.mode, colour)
    image.tile = [tile._replace(codec_name="raw", args=(rawmode, 0, 1))]
    return float(maximum)


def _deep_rawmode(image: ImageFile.ImageFile) -> str | None:
    """Return the raw mode of 16-bit colour, which Pillow would cut to 8 bits; None for all else."""
    rawmode = _rawmode(image)
    return rawmode if rawmode.rstrip("BLN") in _DEEP_RAWMODES else None


def _decode_deep(image: ImageFile.ImageFile, stream: Stream, rawmode: str, white: float) -> Samples:
    """Decode 16-bit colour.

    Pillow keeps the high byte of each sample. Unpacked in the other byte order, the same file
    yields the low bytes.

    Parameters
    ----------
    image
        The opened picture, not loaded yet.
    stream
        Its file, to be opened a second time.
    rawmode
        What `_deep_rawmode` returned for it.
    white
        The value that stands for white.
    """
    layout = rawmode.rstrip("BLN")
    if layout == "LA;16":
        # Both samples of a pixel lie in the four bytes of an RGBA pixel, high byte first.
        _set_rawmode(image, "RGBA")
        quads = np.asarray(image).astype(np.uint16)
        values = quads[..., 0::2] * 256 + quads[..., 1::2]
    else:
        native = "L" if sys.byteorder == "little" else "B"
        order = rawmode[-1].replace("N", native)
        swapped = "B" if order == "L" else "L"
        low = _open(stream)
        _use_raw_netpbm(low)
        _set_rawmode(image, layout + order)
        _set_rawmode(low, layout + swapped)
        values = np.asarray(image).astype(np.uint16) * 256 + np.asarray(low)
    colours = values[..., 0] if layout == "LA;16" else values[..., :3]
    alpha = values[..., -1] / 65535 if layout in ("LA;16", "RGBA;16") else None
    key = image.info.get("transparency")
    if isinstance(key, tuple):
        alpha = np.any(colours != np.array(key), axis=2).astype(np.float64)
    return Samples(colours, white, alpha, orientation=_orientation(image))


def _stored_unit(image: ImageFile.ImageFile) -> float:
    """Return the stored sample per unit of Pillow's value, which spreads 1, 2 or 4 bits over 8.

    The transparent value in `image.info` is spread likewise, because Pillow leaves it as stored.
    """
    if image.mode == "1":
        return 1 / 255
    rawmode = _rawmode(image)
    bits = rawmode.removeprefix("L;")[:1]
    if image.mode != "L" or not rawmode.startswith("L;") or bits not in ("1", "2", "4"):
        return 1.0
    unit: float = (2 ** int(bits) - 1) / 255
    key = image.info.get("transparency")
    if isinstance(key, int):
        image.info["transparency"] = round(key / unit)
    return unit


def samples_of(image: ImageFile.ImageFile, maximum: float | None = None) -> Samples:
    """Return the samples of a loaded picture; `maximum` is what a PGM or PPM declares."""
    return replace(_from_mode(image, maximum), orientation=_orientation(image))


def _from_mode(image: ImageFile.ImageFile, maximum: float | None) -> Samples:
    tags: Any = getattr(image, "tag_v2", {})
    min_is_white = tags.get(_Tag.PHOTOMETRIC) == _MIN_IS_WHITE
    if image.mode.startswith("I;16"):
        bits = tags.get(_Tag.BITS_PER_SAMPLE, (16,))[0]
        inverted = min_is_white and image.mode in ("I;16", "I;16B")
        return Samples(np.asarray(image), 2.0**bits - 1, _keyed_alpha(image), inverted=inverted)
    if image.mode == "I":
        values, white = _integers(image, tags)
        return Samples(values, maximum or white, inverted=min_is_white)
    if image.mode == "F":
        return Samples(np.asarray(image), 1.0, inverted=min_is_white)
    if image.mode == "L" and tags.get(_Tag.SAMPLE_FORMAT, (1,))[0] == _SIGNED:
        return Samples(np.asarray(image).view(np.int8), 127.0)
    # Pillow itself inverts 8-bit samples.
    return _eight_bit(image, maximum or 255.0)


def _integers(image: ImageFile.ImageFile, tags: Any) -> tuple[NDArray[Any], float]:
    """Return 32-bit samples with their declared sign, and the white of their declared bits."""
    values = np.asarray(image)
    bits = tags.get(_Tag.BITS_PER_SAMPLE, (32,))[0]
    if tags.get(_Tag.SAMPLE_FORMAT, (_SIGNED,))[0] == _SIGNED:
        return values, 2.0 ** (bits - 1) - 1
    return values.view(np.uint32), 2.0**bits - 1


def _eight_bit(image: Image.Image, white: float) -> Samples:
    transparent = image.has_transparency_data
    profile = image.info.get("icc_profile")
    if image.format == "PSD":
        # The flat picture lies on white already; its fourth channel may be any mask.
        transparent = False
        image = image.convert("RGB") if image.mode == "RGBA" else image
    if image.mode == "CMYK" and isinstance(profile, bytes):
        image = colour_profiles.eight_bit_to_srgb(image, profile) or image
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
    """Return the alpha of a 16-bit grey PNG in which one value stands for transparent."""
    key = image.info.get("transparency")
    if not isinstance(key, int):
        return None
    alpha: NDArray[np.float64] = (np.asarray(image) != key).astype(np.float64)
    return alpha


def _orientation(image: Image.Image) -> int:
    """Return the orientation that is still to be applied.

    Pillow turns a TIFF while loading it, and Photoshop saves a picture turned.
    """
    if image.format in ("TIFF", "PSD"):
        return 1
    try:
        return int(image.getexif().get(_Tag.ORIENTATION, 1))
    except _EXIF_ERRORS:
        # Only the EXIF data that a camera or editor wrote are damaged, not the pixels.
        return 1


def _has_early_exif(image: Image.Image) -> bool:
    """Whether EXIF data can be read without decoding; in a PNG they may follow the pixels."""
    return image.format != "PNG" or bool({"exif", "Raw profile type exif"} & image.info.keys())


def _turned(size: tuple[int, int], orientation: int) -> tuple[int, int]:
    """Return the size of a picture once it is turned: orientations 5 to 8 swap the sides."""
    return size[::-1] if orientation in (5, 6, 7, 8) else size


# --- tifffile -----------------------------------------------------------------------------------


def _open_with_tifffile(stream: Stream) -> Any:
    stream.seek(0)
    if stream.read(4) not in _TIFF_SIGNATURES:
        raise ImageError(f"it is not a picture that can be read ({READABLE}). Choose another file.")
    import tifffile

    stream.seek(0)
    return tifffile.TiffFile(stream)


def _decode_with_tifffile(stream: Stream, min_side: int) -> Samples:
    """Decode a TIFF with a sample type that Pillow does not know."""
    with _open_with_tifffile(stream) as tiff:
        page = tiff.pages.first
        check_size(page.imagewidth, page.imagelength, min_side)
        _check_page(page)
        if holds_too_much(page, stream):
            raise ImageError(
                "its data unpack to far more than its size allows. Choose another copy of the file."
            )
        values = _tifffile_array(page)
        values = values.reshape(*values.shape[:2], -1)
        white = 1.0 if page.dtype.kind == "f" else float(np.iinfo(page.dtype).max)
        colours = _COLOUR_SAMPLES[page.photometric]
        place, premultiplied = _alpha_sample(page, colours)
        has_alpha = place is not None and place < values.shape[2]
        return Samples(
            values=values[..., 0] if colours == 1 else values[..., :3],
            white=white,
            alpha=values[..., place] / white if has_alpha else None,
            inverted=page.photometric == _MIN_IS_WHITE,
            orientation=_tifffile_orientation(page),
            premultiplied=premultiplied,
            profile=_tifffile_profile(page),
        )


def _tifffile_profile(page: Any) -> bytes | None:
    tag = page.tags.get(_Tag.ICC_PROFILE)
    return bytes(tag.value) if tag is not None and isinstance(tag.value, bytes) else None


def _check_page(page: Any) -> None:
    """Reject a page of a TIFF that is not one grey or RGB picture of real numbers."""
    if page.dtype is None or page.dtype.kind not in "iufc":
        raise ImageError(
            f"its sample type ({page.dtype}) is not supported. Save it as 8- or 16-bit."
        )
    if page.dtype.kind == "c":
        raise ImageError("it holds complex numbers. Save its magnitude or another real picture.")
    if page.axes not in ("YX", "YXS", "SYX") or page.samplesperpixel > 4:
        raise ImageError(
            f"its layout {page.axes} {page.shape} is not a single grey or RGB picture. "
            "Save one of its pictures as a separate file."
        )
    if page.photometric not in _COLOUR_SAMPLES:
        raise ImageError("its colour model is not supported. Save it again as RGB or grey.")


def _tifffile_array(page: Any) -> NDArray[Any]:
    """Return the samples of a page (height, width) or (height, width, sample)."""
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


def _tifffile_orientation(page: Any) -> int:
    tag = page.tags.get(_Tag.ORIENTATION)
    return int(tag.value) if tag is not None else 1


def _alpha_sample(page: Any, colours: int) -> tuple[int | None, bool]:
    """Return the place of alpha among the samples and whether the colours are premultiplied."""
    if colours == 3 and not page.extrasamples:
        # An undeclared fourth sample is taken as alpha, as Pillow does.
        return 3, False
    for place, kind in enumerate(page.extrasamples, start=colours):
        if int(kind) in _ALPHA:
            return place, int(kind) == _ASSOCIATED_ALPHA
    return None, False
