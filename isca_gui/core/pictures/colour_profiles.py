"""Colour profiles: what the numbers of a picture mean, and the same picture in sRGB.

A profile of three curves and a matrix, as those of screens and cameras are, is computed here in
floating point, so that no bits are lost. Other profiles go to LittleCMS through Pillow's ImageCms,
which knows 8 bits only.
"""

from __future__ import annotations

import functools
import io
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageCms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

# A profile that moves no colour by this share of white is sRGB, or as good as.
_SAME = 1 / 255
# Entries of a tabulated curve; the darkest tones need the most of them.
_CURVE = 4096
# Pixels converted at a time.
_BAND = 1 << 20
# Bytes of a profile above which it is ignored; those of printers have up to a few megabytes.
_LARGEST = 16 << 20
_HEADER = 128
_D50 = np.array([0.9642, 1.0, 0.8249])

# Parameters of a `para` curve by its type: how many, g first.
_PARAMETERS = {0: 1, 1: 3, 2: 4, 3: 5, 4: 7}
_SRGB_CURVE = (2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)

# What LittleCMS and a damaged profile raise.
_PROFILE_ERRORS = (ImageCms.PyCMSError, OSError, ValueError, TypeError, KeyError, struct.error)


@dataclass(frozen=True, eq=False)
class ColourSpace:
    """An RGB or grey space of curves and a matrix.

    Parameters
    ----------
    name
        As its profile describes it.
    curves
        Linear light for stored values 0 to 1, shape (1 or 3, entries).
    matrix
        From linear channels to XYZ under D50, shape (3, 3); None for grey.
    """

    name: str
    curves: NDArray[np.float64]
    matrix: NDArray[np.float64] | None = None

    def to_srgb(self, values: Floats) -> NDArray[np.float32]:
        """Return stored values in [0, 1], shape (height, width[, 3]), as sRGB in [0, 1]."""
        return _converted(values, self, SRGB)

    def from_srgb(self, values: Floats) -> NDArray[np.float32]:
        """Return the numbers that this space has for values of sRGB."""
        return _converted(values, SRGB, self)

    @property
    def is_srgb(self) -> bool:
        """Whether its numbers mean in sRGB what they mean here."""
        if self.matrix is None:
            probe = np.linspace(0, 1, 65)[None]
        else:
            probe = np.stack(np.meshgrid(*[np.linspace(0, 1, 9)] * 3), axis=-1).reshape(1, -1, 3)
        return bool(np.abs(self.to_srgb(probe) - probe).max() < _SAME)


def _tabulated(parameters: tuple[float, ...], kind: int) -> NDArray[np.float64]:
    """Return a `para` curve of the ICC as a table."""
    g, a, b, c, d, e, f = (*parameters, *(0.0,) * 7)[:7]
    x = np.linspace(0, 1, _CURVE)
    if kind == 0:
        return np.power(x, g)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        power = np.power(np.maximum(a * x + b, 0), g)
        if kind == 1:
            curve = np.where(a * x + b >= 0, power, 0)
        elif kind == 2:
            curve = np.where(a * x + b >= 0, power, 0) + c
        else:
            curve = np.where(x >= d, power + e, c * x + f)
    return curve


def _rgb_matrix(
    red: tuple[float, float],
    green: tuple[float, float],
    blue: tuple[float, float],
    white: tuple[float, float],
) -> NDArray[np.float64]:
    """Return the matrix from linear RGB to XYZ under D50, from the chromaticities x and y."""
    primaries = np.array([[x / y, 1, (1 - x - y) / y] for x, y in (red, green, blue)]).T
    light = np.array([white[0] / white[1], 1, (1 - white[0] - white[1]) / white[1]])
    matrix = primaries * np.linalg.solve(primaries, light)
    # Bradford's adaptation to D50, as profiles are made.
    bradford = np.array(
        [[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]]
    )
    gains = (bradford @ _D50) / (bradford @ light)
    adapted: NDArray[np.float64] = np.linalg.inv(bradford) @ (gains[:, None] * bradford) @ matrix
    return adapted


_D65_WHITE = (0.3127, 0.3290)
_SRGB_TABLE = _tabulated(_SRGB_CURVE, 3)[None].repeat(3, axis=0)
SRGB = ColourSpace(
    "sRGB",
    _SRGB_TABLE,
    _rgb_matrix((0.64, 0.33), (0.30, 0.60), (0.15, 0.06), _D65_WHITE),
)
ADOBE_RGB = ColourSpace(
    "Adobe RGB (1998)",
    _tabulated((563 / 256,), 0)[None].repeat(3, axis=0),
    _rgb_matrix((0.64, 0.33), (0.21, 0.71), (0.15, 0.06), _D65_WHITE),
)
DISPLAY_P3 = ColourSpace(
    "Display P3",
    _SRGB_TABLE,
    _rgb_matrix((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), _D65_WHITE),
)
PROPHOTO = ColourSpace(
    "ProPhoto RGB",
    _tabulated((1.8,), 0)[None].repeat(3, axis=0),
    _rgb_matrix((0.7347, 0.2653), (0.1596, 0.8404), (0.0366, 0.0001), (0.3457, 0.3585)),
)
REC_2020 = ColourSpace(
    "Rec. 2020",
    _SRGB_TABLE,
    _rgb_matrix((0.708, 0.292), (0.170, 0.797), (0.131, 0.046), _D65_WHITE),
)
# The spaces that pictures are commonly in, apart from sRGB.
COMMON = (ADOBE_RGB, DISPLAY_P3, PROPHOTO)
# Primaries of the code points that video and phones write, where they are not sRGB's.
BY_CODE = {9: REC_2020, 12: DISPLAY_P3}


def _converted(values: Floats, source: ColourSpace, target: ColourSpace) -> NDArray[np.float32]:
    """Return values in [0, 1] of one space in another, clipped to [0, 1]."""
    channels = 1 if source.matrix is None or target.matrix is None else 3
    flat = np.clip(values, 0, 1).reshape(-1, channels)
    found = np.empty(flat.shape, np.float32)
    positions = np.linspace(0, 1, _CURVE)
    matrix = None
    if source.matrix is not None and target.matrix is not None:
        matrix = np.linalg.solve(target.matrix, source.matrix).T
    for low in range(0, len(flat), _BAND):
        part = flat[low : low + _BAND]
        light = np.stack(
            [_looked_up(part[:, k], source.curves[k], positions) for k in range(channels)], axis=1
        )
        if matrix is not None:
            light = light @ matrix
        for k in range(channels):
            found[low : low + _BAND, k] = np.interp(light[:, k], target.curves[k], positions)
    return found.reshape(values.shape)


def _looked_up(
    values: Floats, curve: NDArray[np.float64], positions: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.interp(values, positions, curve)


@functools.lru_cache(maxsize=16)
def colour_space(profile: bytes) -> ColourSpace | None:
    """Return the space of an ICC profile of curves and a matrix, or None for any other."""
    try:
        return _parsed(profile)
    except _PROFILE_ERRORS:
        return None


def _parsed(profile: bytes) -> ColourSpace | None:
    model = profile[16:20]
    if len(profile) > _LARGEST or profile[20:24] != b"XYZ " or model not in (b"RGB ", b"GRAY"):
        return None
    tags = _tags(profile)
    if b"A2B0" in tags:
        # The profile's own table comes before its matrix.
        return None
    name = profile_name(profile)
    if model == b"GRAY":
        return _checked(ColourSpace(name, _curve(tags[b"kTRC"])[None]))
    curves = np.stack([_curve(tags[key]) for key in (b"rTRC", b"gTRC", b"bTRC")])
    matrix = np.stack([_xyz(tags[key]) for key in (b"rXYZ", b"gXYZ", b"bXYZ")], axis=1)
    return _checked(ColourSpace(name, curves, matrix))


def _tags(profile: bytes) -> dict[bytes, bytes]:
    (count,) = struct.unpack_from(">I", profile, _HEADER)
    found = {}
    for place in range(min(count, 100)):
        key, start, size = struct.unpack_from(">4sII", profile, _HEADER + 4 + 12 * place)
        found[key] = profile[start : start + size]
    return found


def _curve(tag: bytes) -> NDArray[np.float64]:
    """Return a curve as a table of `_CURVE` entries."""
    if tag[:4] == b"para":
        (kind,) = struct.unpack_from(">H", tag, 8)
        parameters = struct.unpack_from(f">{_PARAMETERS[kind]}i", tag, 12)
        return _tabulated(tuple(each / 65536 for each in parameters), kind)
    (count,) = struct.unpack_from(">I", tag, 8)
    if tag[:4] != b"curv" or 12 + 2 * count > len(tag):
        raise ValueError("not a curve")
    entries = np.frombuffer(tag, ">u2", count, 12).astype(np.float64)
    x = np.linspace(0, 1, _CURVE)
    if count == 0:
        return x
    if count == 1:
        return np.power(x, float(entries[0]) / 256)
    return np.interp(x, np.linspace(0, 1, count), entries / 65535)


def _xyz(tag: bytes) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.array(struct.unpack_from(">3i", tag, 8)) / 65536
    return found


def _checked(space: ColourSpace) -> ColourSpace | None:
    """Return a space that can be computed with, or None for one of a damaged profile."""
    if not np.isfinite(space.curves).all() or np.abs(space.curves).max() > 2:
        return None
    rising = np.diff(space.curves, axis=1) >= 0
    if not rising.all() or (space.curves[:, -1] - space.curves[:, 0]).min() < 0.1:
        return None
    if space.matrix is not None and abs(np.linalg.det(space.matrix)) < 1e-4:
        return None
    return space


@functools.lru_cache(maxsize=16)
def profile_name(profile: bytes) -> str:
    """Return how an ICC profile describes itself; empty for a damaged one."""
    try:
        return " ".join(ImageCms.getProfileDescription(_opened(profile)).split())
    except _PROFILE_ERRORS:
        return ""


def _opened(profile: bytes) -> ImageCms.ImageCmsProfile:
    return ImageCms.ImageCmsProfile(io.BytesIO(profile))


def eight_bit_to_srgb(image: Image.Image, profile: bytes) -> Image.Image | None:
    """Return an 8-bit picture in sRGB as LittleCMS converts it, or None where it cannot.

    Parameters
    ----------
    image
        Of the mode L, RGB or CMYK.
    profile
        The ICC profile, for the same number of channels.
    """
    target = "L" if image.mode == "L" else "RGB"
    wanted = ImageCms.createProfile("sRGB")
    try:
        if target == "L":
            # LittleCMS gives grey a profile of its own only as RGB, whose channels are then equal.
            made = ImageCms.profileToProfile(image, _opened(profile), wanted, outputMode="RGB")
            return made.getchannel(1) if made is not None else None
        return ImageCms.profileToProfile(image, _opened(profile), wanted, outputMode=target)
    except _PROFILE_ERRORS:
        return None
