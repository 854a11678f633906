"""Reads and saves pictures as grey float32 in [0, 1]; whatever is wrong raises an `ImageError`."""

from __future__ import annotations

import contextlib
import io
import math
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from isca_gui.core.pictures import colour_profiles, decoding
from isca_gui.core.pictures.decoding import MAX_PIXELS, MAX_SIDE, ImageError, ImageInfo, Samples
from isca_gui.core.storage import files, memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from isca_gui.core.pictures.colour_profiles import ColourSpace

__all__ = [
    "MAX_PIXELS",
    "MAX_SIDE",
    "ImageError",
    "ImageInfo",
    "describe",
    "encoded",
    "read",
    "read_colour",
    "read_with_space",
    "save_png",
    "save_tiff",
]

# Weights of red, green and blue in the luma of Rec. 601.
LUMA = (0.299, 0.587, 0.114)
ADVICE = "Open it in another program and save it again as PNG, or choose another file."


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
        PNG, JPEG, TIFF, BMP, WebP, PGM/PPM, GIF, JPEG 2000, AVIF or PSD; HEIC and JPEG XL with the
        extra `formats`. The first frame is read; a colour profile is converted to sRGB.
    min_side
        Pictures with a side shorter than this, one block, are rejected.
    value_range
        Sample values that stand for black and white. Without it integers are scaled by the range
        of their type and floats must already lie in [0, 1]. With it, no profile is applied.

    Raises
    ------
    ImageError
        For whatever is wrong with the file.
    """
    if value_range is not None:
        _check_range(value_range)
    with _one_error(path), _open_regular(path) as stream:
        samples = decoding.decode(stream, min_side)
        if value_range is None:
            samples, _ = _in_srgb(samples)
        weights = LUMA if _has_colour(samples) else (1.0,)
        return _orient(_weighted(samples, value_range, weights), samples.orientation)


def read_colour(
    path: str | os.PathLike[str],
    *,
    min_side: int = 8,
    value_range: tuple[float, float] | None = None,
) -> NDArray[np.float32]:
    """Read a picture file as float32 in [0, 1]: grey (height, width), or RGB (height, width, 3).

    Parameters, errors and transparency are as in `read`.
    """
    return _read_colour(path, min_side, value_range)[0]


def read_with_space(
    path: str | os.PathLike[str], *, min_side: int = 8
) -> tuple[NDArray[np.float32], ColourSpace | None]:
    """Read a picture file as `read_colour` does; return also the space that its file is in.

    The space is None for sRGB, for a file that names none, and for one that has no simple formula.
    """
    return _read_colour(path, min_side, None)


def _read_colour(
    path: str | os.PathLike[str], min_side: int, value_range: tuple[float, float] | None
) -> tuple[NDArray[np.float32], ColourSpace | None]:
    if value_range is not None:
        _check_range(value_range)
    with _one_error(path), _open_regular(path) as stream:
        samples = decoding.decode(stream, min_side)
        space = None
        if value_range is None:
            samples, space = _in_srgb(samples)
        choices = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        if not _has_colour(samples):
            return _orient(_weighted(samples, value_range, (1.0,)), samples.orientation), space
        channels = [
            _orient(_weighted(samples, value_range, weights), samples.orientation)
            for weights in choices
        ]
        return np.stack(channels, axis=2), space


def describe(path: str | os.PathLike[str]) -> ImageInfo:
    """Read the header of a picture file; width and height are those after EXIF rotation.

    EXIF data behind the pixels of a PNG are ignored: to find them the pixels would be decoded.
    """
    with _one_error(path), _open_regular(path) as stream:
        return decoding.describe(stream)


def save_png(path: str | os.PathLike[str], picture: ArrayLike, *, bits: int = 8) -> None:
    """Save a picture in [0, 1] as a grey PNG with 8 or 16 bits, atomically."""
    if bits not in (8, 16):
        raise ValueError(f"a PNG picture has 8 or 16 bits, not {bits}")
    with _one_error(path, saving=True):
        white = 2**bits - 1
        whole = np.rint(_checked(picture).astype(np.float64) * white).astype(f"uint{bits}")
        _save(path, Image.fromarray(whole), "PNG")


def save_tiff(path: str | os.PathLike[str], picture: ArrayLike) -> None:
    """Save a picture in [0, 1] as a float32 TIFF, without loss, atomically."""
    with _one_error(path, saving=True):
        _save(path, Image.fromarray(_checked(picture)), "TIFF")


def encoded(image: Image.Image, form: str) -> bytes:
    """Return the bytes of a picture file in a format of Pillow's.

    Pillow writes a TIFF to a file past Python and does not notice when a full disk takes only part
    of it; written to memory first, nothing is lost unnoticed.
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
            f"it is not a grey picture (shape {array.shape}, type {array.dtype}). "
            "Give an array of height × width."
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
            f"a value range is two finite numbers, the lower one first, not {low:g}:{high:g}"
        )


@contextlib.contextmanager
def _one_error(path: str | os.PathLike[str], *, saving: bool = False) -> Iterator[None]:
    """Turn every failure inside into one `ImageError` that names the file and says what to do."""
    cannot = f"Cannot {'save' if saving else 'read'} picture '{os.fspath(path)}'"
    try:
        yield
    except ImageError as error:
        raise ImageError(f"{cannot}: {error}") from error.__cause__
    except OSError as error:
        # Pillow raises an OSError without a number for a damaged file.
        if error.errno is None:
            raise ImageError(f"{cannot}: {error}. {ADVICE}") from error
        raise ImageError(
            f"{cannot}: {error.strerror}. Check the path and your permissions."
        ) from error
    except MemoryError as error:
        reason = memory.shortage(error)
        raise ImageError(
            f"{cannot}: {reason}. Close other programs or use a smaller picture."
        ) from error
    except Exception as error:
        # Decoders raise anything at all on hostile data.
        raise ImageError(
            f"{cannot}: the file is damaged ({type(error).__name__}: {error}). {ADVICE}"
        ) from error


@contextlib.contextmanager
def _open_regular(path: str | os.PathLike[str]) -> Iterator[decoding.Stream]:
    """Open an ordinary file that is not empty; opening a pipe would wait for ever."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise ImageError("it is a folder. Choose a picture file.")
    if not stat.S_ISREG(mode):
        raise ImageError("it is not an ordinary file. Choose a picture file.")
    with Path(path).open("rb") as stream:
        if not stream.read(1):
            raise ImageError("the file is empty. Choose another file.")
        stream.seek(0)
        yield stream


def _in_srgb(samples: Samples) -> tuple[Samples, ColourSpace | None]:
    """Return the samples in sRGB, and the space they were in; None for sRGB."""
    space = _space_of(samples)
    if space is None:
        return _in_srgb_by_table(samples), None
    if space.is_srgb:
        return samples, None
    if not _has_colour(samples):
        # A grey value stands for three equal ones.
        space = replace(space, curves=space.curves[-2:][:1], matrix=None)
    elif space.matrix is None:
        return samples, None
    values = samples.values / np.float32(samples.white)
    alpha = samples.alpha
    if samples.premultiplied and alpha is not None:
        opacity = alpha[..., None] if values.ndim == 3 else alpha
        values = np.divide(values, opacity, out=np.zeros(values.shape), where=opacity > 0)
    if samples.inverted:
        values = 1 - values
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > 1:
        # What is wrong with these values is said where they are scaled.
        return samples, None
    converted = replace(samples, values=space.to_srgb(values), white=1.0, unit=1.0, inverted=False)
    return replace(converted, premultiplied=False, profile=None), space


def _space_of(samples: Samples) -> ColourSpace | None:
    if samples.profile:
        return colour_profiles.colour_space(samples.profile)
    return colour_profiles.BY_CODE.get(samples.primaries or 0)


def _in_srgb_by_table(samples: Samples) -> Samples:
    """Return samples in sRGB by a profile of tables, which can be applied to 8 bits only."""
    wanted = b"RGB " if _has_colour(samples) else b"GRAY"
    if not samples.profile or samples.profile[16:20] != wanted:
        return samples
    name = colour_profiles.profile_name(samples.profile)
    if not name:
        # The profile is damaged, the picture need not be.
        return samples
    if samples.values.dtype != np.uint8 or samples.inverted or samples.premultiplied:
        raise ImageError(
            f"its colour profile ({name}) can be applied to 8-bit pictures only. "
            "Convert it to sRGB and save it again."
        )
    source = Image.fromarray(np.ascontiguousarray(samples.values))
    converted = colour_profiles.eight_bit_to_srgb(source, samples.profile)
    return samples if converted is None else replace(samples, values=np.asarray(converted))


def _has_colour(samples: Samples) -> bool:
    return samples.values.ndim == 3 and samples.values.shape[2] == 3


def _weighted(
    samples: Samples, value_range: tuple[float, float] | None, weights: tuple[float, ...]
) -> NDArray[np.float32]:
    """Scale samples to [0, 1], sum the channels by weight, and lay transparent places on white."""
    low = 0.0
    high = samples.white
    if value_range is not None:
        low, high = (limit / samples.unit for limit in value_range)
    channels = samples.values.reshape(*samples.values.shape[:2], -1)
    grey = np.zeros(channels.shape[:2])
    alpha = _checked_alpha(samples)
    # What an opaque white is stored as, once scaled: premultiplied samples end at alpha.
    full = alpha if samples.premultiplied else np.ones(())
    for index, weight in enumerate(weights):
        if not weight:
            continue
        _check_finite(channels[..., index])
        scaled = (channels[..., index].astype(np.float64) - low * full) / (high - low)
        _check_scaled(scaled, samples, (low, high), given=value_range is not None)
        grey += weight * np.minimum(scaled, full)
    if samples.inverted:
        grey = full - grey
    if samples.alpha is not None:
        if not samples.premultiplied:
            grey = alpha * grey
        grey = grey + (1 - alpha)
    return np.clip(grey, 0, 1).astype(np.float32)


def _checked_alpha(samples: Samples) -> NDArray[np.float64]:
    """Return the alpha after checking it; for an opaque picture a 1 that broadcasts."""
    if samples.alpha is None:
        return np.ones(())
    _check_finite(samples.alpha)
    low = float(samples.alpha.min())
    high = float(samples.alpha.max())
    if low < 0 or high > 1:
        raise ImageError(
            f"its alpha runs from {low:g} to {high:g}, outside 0 to 1. "
            "Save it again without transparency."
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
            f"{count} of its {bad.size} values are NaN or infinite, the first at row {row}, "
            f"column {column}. Replace them and save it again."
        )


def _check_scaled(
    scaled: NDArray[np.float64], samples: Samples, limits: tuple[float, float], *, given: bool
) -> None:
    """Reject values outside the limits.

    Parameters
    ----------
    scaled
        One channel (height, width), 0 at the lower and 1 at the upper limit.
    samples
        The samples it is from.
    limits
        The values that stand for black and white.
    given
        Whether the user has given the limits.
    """
    if scaled.min() >= 0 and scaled.max() <= 1:
        return
    lowest = float(samples.values.min()) * samples.unit
    highest = float(samples.values.max()) * samples.unit
    low, high = (limit * samples.unit for limit in limits)
    found = f"its values run from {lowest:g} to {highest:g}"
    if given:
        raise ImageError(f"{found}, outside the given range {low:g}:{high:g}. Give a wider range.")
    raise ImageError(
        f"{found}, outside {low:g} to {high:g}. "
        "Give the values that stand for black and white (--range LOW:HIGH)."
    )


def _orient(picture: NDArray[np.float32], orientation: int) -> NDArray[np.float32]:
    """Apply an EXIF orientation; anything but 2 to 8 counts as upright."""
    if orientation in (5, 6, 7, 8):
        picture = picture.T
    if orientation in (2, 3, 6, 7):
        picture = picture[:, ::-1]
    if orientation in (3, 4, 7, 8):
        picture = picture[::-1]
    return np.ascontiguousarray(picture)
