"""HEIC and JPEG XL, decoded by the libraries of the extra `formats`.

They are imported only when such a file is opened; without them the message names the command that
installs them.
"""

from __future__ import annotations

import importlib
import io
import sys
from typing import IO, Any

import numpy as np
from PIL import Image

from isca_gui.core.pictures import box_files, jpeg_scans
from isca_gui.core.pictures.decoding import (
    ImageError,
    ImageInfo,
    Samples,
    check_dynamic_range,
    check_scans,
    check_size,
    samples_of,
)

HEIC = "HEIC"
JPEG_XL = "JPEG XL"
# The package of each format, and the module it is imported as.
_LIBRARIES = {HEIC: ("pillow-heif", "pillow_heif"), JPEG_XL: ("pillow-jxl-plugin", "pillow_jxl")}
# How the decoder of JPEG XL names its samples.
_JXL_MODES = {"L": ("u1", 1), "LA": ("u1", 2), "RGB": ("u1", 3), "RGBA": ("u1", 4)}
_JXL_DEEP_MODES = {"I;16": "u2", "F;16": "f2", "F": "f4"}


def decode(form: str, stream: IO[bytes], min_side: int) -> Samples:
    """Decode a HEIC or JPEG XL file, after checking the size that its header declares."""
    library = _library(form)
    if form == HEIC:
        return _decode_heic(_open_heic(library, stream), min_side)
    return _decode_jxl(library, stream, min_side)


def describe(form: str, stream: IO[bytes]) -> ImageInfo:
    """Read the header of a HEIC or JPEG XL file."""
    if form == HEIC:
        picture = _open_heic(_library(form), stream)
        depth = picture.info["bit_depth"]
        pixel_type = f"{depth}-bit {picture.mode.partition(';')[0]}"
        width, height = picture.size
        return ImageInfo("HEIC", width, height, pixel_type, len(picture))
    header = _jxl_header(stream)
    kind = "float" if header.is_float else "integer"
    return ImageInfo("JXL", header.width, header.height, f"{header.bits}-bit {kind}", 1)


def _library(form: str) -> Any:
    package, module = _LIBRARIES[form]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImageError(
            f"it is a {form} picture, which needs the package {package}. "
            f'Use this command to install it: "{sys.executable}" -m pip install {package}'
        ) from error


# --- HEIC ---------------------------------------------------------------------------------------


def _open_heic(library: Any, stream: IO[bytes]) -> Any:
    stream.seek(0)
    return library.open_heif(
        io.BytesIO(stream.read()), convert_hdr_to_8bit=False, hdr_to_16bit=False
    )


def _decode_heic(picture: Any, min_side: int) -> Samples:
    width, height = picture.size
    check_size(width, height, min_side)
    described = picture.info.get("nclx_profile") or {}
    check_dynamic_range(described.get("transfer_characteristics"))
    # The decoder has turned the picture already.
    values = np.asarray(picture)
    white = 2.0 ** picture.info["bit_depth"] - 1
    layout = picture.mode.partition(";")[0]
    values = values.reshape(height, -1, len(layout))[:, :width]
    alpha = values[..., -1] / white if layout[-1] in "Aa" else None
    return Samples(
        values[..., 0] if len(layout) < 3 else values[..., :3],
        white,
        alpha,
        premultiplied=layout.endswith("a"),
        profile=picture.info.get("icc_profile"),
        primaries=described.get("color_primaries"),
    )


# --- JPEG XL ------------------------------------------------------------------------------------


def _jxl_header(stream: IO[bytes]) -> box_files.JxlHeader:
    stream.seek(0)
    return box_files.jxl_header(stream.read(box_files.LARGEST_HEADER))


def _decode_jxl(library: Any, stream: IO[bytes], min_side: int) -> Samples:
    header = _jxl_header(stream)
    # The library decodes all of a file before it tells its size.
    check_size(header.width, header.height, min_side)
    stream.seek(0)
    is_jpeg, info, data, profile, _ = _decoded_jxl(library, stream.read())
    if is_jpeg:
        check_scans(jpeg_scans.scans_in(data))
        with Image.open(io.BytesIO(data), formats=("JPEG",)) as image:
            check_size(*image.size, min_side)
            image.load()
            return samples_of(image)
    check_size(info.width, info.height, min_side)
    shape = (info.height, info.width)
    if info.mode in _JXL_DEEP_MODES:
        values = np.frombuffer(data, _JXL_DEEP_MODES[info.mode])
        if values.size == 2 * info.height * info.width:
            values = np.frombuffer(data, "f4")
        white = 65535.0 if info.mode == "I;16" else 1.0
        return Samples(values.reshape(shape), white, profile=profile)
    kind, channels = _JXL_MODES[info.mode]
    if header.bits > 8:
        raise ImageError(
            f"it has {header.bits} bits per sample, of which only 8 could be read. "
            "Save it as a 16-bit PNG or TIFF."
        )
    values = np.frombuffer(data, kind).reshape(*shape, channels)
    return Samples(
        values[..., 0] if channels < 3 else values[..., :3],
        255.0,
        values[..., -1] / 255 if channels in (2, 4) else None,
        profile=profile,
    )


def _decoded_jxl(library: Any, data: bytes) -> Any:
    try:
        return library.Decoder()(data)
    except BaseException as error:
        # What the library's Rust code panics with is no `Exception`.
        if type(error).__name__ == "PanicException":
            raise ImageError(
                "the file is damaged. Choose another copy of the file, or save it again as PNG."
            ) from None
        raise
