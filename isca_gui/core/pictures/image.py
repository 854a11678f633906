"""Read a picture as grey float32 in [0, 1], and save one; every bad file is one `ImageError`."""

from __future__ import annotations

import contextlib
import io
import math
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from isca_gui.core.pictures import decoding
from isca_gui.core.pictures.decoding import MAX_PIXELS, MAX_SIDE, ImageError, Samples
from isca_gui.core.storage import files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "MAX_PIXELS",
    "MAX_SIDE",
    "ImageError",
    "ImageInfo",
    "describe",
    "encoded",
    "read",
    "save_png",
    "save_tiff",
]

Picture = "NDArray[np.float32]"
LUMA = (0.299, 0.587, 0.114)  # Rec. 601
ADVICE = "Open it in another program and save it again as PNG, or choose another file."


@dataclass(frozen=True)
class ImageInfo:
    """What a picture file's header says."""

    format: str
    width: int
    height: int
    pixel_type: str
    frames: int


def read(
    path: str | os.PathLike[str],
    *,
    min_side: int = 8,
    value_range: tuple[float, float] | None = None,
) -> NDArray[np.float32]:
    """Read a picture file as grey float32 in [0, 1], shape (height, width).

    Parameters
    ----------
    path
        PNG, JPEG, TIFF, BMP, WebP, PGM/PPM or GIF (its first frame).
    min_side
        Pictures with a side shorter than this, one block, are refused.
    value_range
        Sample values that stand for black and white. Without it integers are scaled by the range of their
        type and floats must already lie in [0, 1].

    Raises
    ------
    ImageError
        For everything that is wrong with the file.
    """
    if value_range is not None:
        _check_range(value_range)
    with _one_error(path), _open_regular(path) as stream:
        samples = decoding.decode(stream, min_side)
        return _orient(_grey(samples, value_range), samples.orientation)


def describe(path: str | os.PathLike[str]) -> ImageInfo:
    """Read the header of a picture file; width and height are those after EXIF rotation.

    EXIF data behind the pixels of a PNG is not looked for: that would mean decoding them.
    """
    with _one_error(path), _open_regular(path) as stream:
        return ImageInfo(*decoding.header(stream))


def save_png(path: str | os.PathLike[str], picture: ArrayLike, *, bits: int = 8) -> None:
    """Save a picture in [0, 1] as grey PNG with 8 or 16 bits, atomically."""
    if bits not in (8, 16):
        raise ValueError(f"a PNG picture has 8 or 16 bits, not {bits}")
    with _one_error(path, saving=True):
        top = 2**bits - 1
        whole = np.rint(_checked(picture).astype(np.float64) * top).astype(f"uint{bits}")
        _save(path, Image.fromarray(whole), "PNG")


def save_tiff(path: str | os.PathLike[str], picture: ArrayLike) -> None:
    """Save a picture in [0, 1] as float32 TIFF, without loss, atomically."""
    with _one_error(path, saving=True):
        _save(path, Image.fromarray(_checked(picture)), "TIFF")


def encoded(image: Image.Image, form: str) -> bytes:
    """Give the bytes of a picture file.

    Given a file, Pillow writes a TIFF past Python and does not see when a full disk takes only a part of it.
    """
    stream = io.BytesIO()
    image.save(stream, format=form)
    return stream.getvalue()


def _save(path: str | os.PathLike[str], image: Image.Image, form: str) -> None:
    with files.replacing(path) as stream:
        stream.write(encoded(image, form))


def _checked(picture: ArrayLike) -> NDArray[np.float32]:
    array = np.asarray(picture)
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "fiub":
        raise ImageError(
            f"it is not a grey picture (shape {array.shape}, type {array.dtype}). Give height × width."
        )
    array = array.astype(np.float32)
    _check_finite(array)
    low, high = float(array.min()), float(array.max())
    if low < 0 or high > 1:
        raise ImageError(
            f"its values run from {low:g} to {high:g}, outside 0 to 1. Scale or clip them."
        )
    return np.ascontiguousarray(array)


def _check_range(value_range: tuple[float, float]) -> None:
    low, high = value_range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(
            f"a value range is two finite numbers, the lower first, not {low:g}:{high:g}"
        )


@contextlib.contextmanager
def _one_error(path: str | os.PathLike[str], *, saving: bool = False) -> Iterator[None]:
    """Turn every failure inside into one `ImageError` that names the file and says what to do."""
    verb = "save" if saving else "read"
    try:
        yield
    except ImageError as error:
        raise ImageError(f"Cannot {verb} picture '{os.fspath(path)}': {error}") from error.__cause__
    except OSError as error:
        if error.errno is None:  # Pillow's own word for a damaged file
            raise ImageError(
                f"Cannot {verb} picture '{os.fspath(path)}': {error}. {ADVICE}"
            ) from error
        why = f"{error.strerror}. Check the path and your permissions."
        raise ImageError(f"Cannot {verb} picture '{os.fspath(path)}': {why}") from error
    except MemoryError as error:
        why = "there is not enough memory. Close other programs or use a smaller picture."
        raise ImageError(f"Cannot {verb} picture '{os.fspath(path)}': {why}") from error
    except Exception as error:  # decoders raise anything at all on hostile data
        why = f"the file is damaged ({type(error).__name__}: {error}). {ADVICE}"
        raise ImageError(f"Cannot {verb} picture '{os.fspath(path)}': {why}") from error


@contextlib.contextmanager
def _open_regular(path: str | os.PathLike[str]) -> Iterator[decoding.Stream]:
    mode = os.stat(path).st_mode  # a pipe would make open() wait for ever
    if stat.S_ISDIR(mode):
        raise ImageError("it is a folder. Choose a picture file.")
    if not stat.S_ISREG(mode):
        raise ImageError("it is not an ordinary file. Choose a picture file.")
    with Path(path).open("rb") as stream:
        if not stream.read(1):
            raise ImageError("the file is empty. Choose another file.")
        stream.seek(0)
        yield stream


def _grey(samples: Samples, value_range: tuple[float, float] | None) -> NDArray[np.float32]:
    """Scale samples to [0, 1], weigh the channels, put transparent places on white."""
    low, high = (0.0, samples.white)
    if value_range is not None:
        low, high = (limit / samples.unit for limit in value_range)
    channels = samples.values.reshape(*samples.values.shape[:2], -1)
    weights = LUMA if channels.shape[2] == 3 else (1.0,)
    grey = np.zeros(channels.shape[:2])
    alpha = _alpha(samples)
    full = alpha if samples.premultiplied else np.ones(())  # what white is stored as, once scaled
    for index, weight in enumerate(weights):
        _check_finite(channels[..., index])
        scaled = (channels[..., index].astype(np.float64) - low * full) / (high - low)
        _check_scaled(scaled, channels, samples.unit, (low, high), given=value_range is not None)
        grey += weight * np.minimum(scaled, full)
    if samples.inverted:
        grey = full - grey
    if samples.alpha is not None:
        grey = (grey if samples.premultiplied else alpha * grey) + (1 - alpha)
    return np.clip(grey, 0, 1).astype(np.float32)


def _alpha(samples: Samples) -> NDArray[np.float64]:
    """Give the checked alpha; where there is none, one that broadcasts."""
    if samples.alpha is None:
        return np.ones(())
    _check_finite(samples.alpha)
    low, high = float(samples.alpha.min()), float(samples.alpha.max())
    if low < 0 or high > 1:
        raise ImageError(
            f"its alpha runs from {low:g} to {high:g}, outside 0 to 1. Save it again without transparency."
        )
    return samples.alpha


def _check_finite(channel: NDArray[np.generic]) -> None:
    if channel.dtype.kind != "f":
        return
    bad = ~np.isfinite(channel)
    count = int(np.count_nonzero(bad))
    if count:
        row, column = np.unravel_index(int(np.argmax(bad)), bad.shape)
        raise ImageError(
            f"{count} of its {bad.size} values are NaN or infinite, the first at row {row}, column {column}. "
            "Replace them and save it again."
        )


def _check_scaled(
    scaled: NDArray[np.float64],
    values: NDArray[np.generic],
    unit: float,
    limits: tuple[float, float],
    *,
    given: bool,
) -> None:
    if scaled.min() >= 0 and scaled.max() <= 1:
        return
    found = f"its values run from {float(values.min()) * unit:g} to {float(values.max()) * unit:g}"
    limits = (limits[0] * unit, limits[1] * unit)
    if given:
        raise ImageError(
            f"{found}, outside the given range {limits[0]:g}:{limits[1]:g}. Give a wider range."
        )
    raise ImageError(
        f"{found}, outside {limits[0]:g} to {limits[1]:g}. "
        "Say which values stand for black and white (--range LOW:HIGH)."
    )


def _orient(picture: NDArray[np.float32], orientation: int) -> NDArray[np.float32]:
    """Apply an EXIF orientation (1 to 8; anything else counts as upright)."""
    if orientation in (5, 6, 7, 8):
        picture = picture.T
    if orientation in (2, 3, 6, 7):
        picture = picture[:, ::-1]
    if orientation in (3, 4, 7, 8):
        picture = picture[::-1]
    return np.ascontiguousarray(picture)
