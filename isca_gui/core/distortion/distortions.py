"""The distortions of the paper's Section 6, each a function of one strength, in one table.

A distortion is prepared once for a picture; that draws all its randomness. What comes back is a pure function
of the strength whose MSE grows with it, so that any MSE the picture allows can be found (`strength.py`). That
search starts from what `foresight.py` expects without distorting the picture.
Intensities stay in [0, 1]; strengths speak of the 0 to 255 scale where they are grey levels.
"""

from __future__ import annotations

import functools
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from isca_gui.core.distortion import mse_prediction
from isca_gui.core.pictures.blocks import BlockGrid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Picture = NDArray[np.float32]
    Apply = Callable[[float], Picture]
    PredictMse = Callable[[Picture], Callable[[float], float]]

ORIGINAL, UNDECIDED_LABEL, UNLIKE = "original", "undecided", "unlike"
_PIECE = 65536


@dataclass(frozen=True)
class Distortion:
    """One row of the table."""

    name: str
    letter: str
    title: str
    sentence: str
    structural: bool
    colour: str
    unit: str
    strongest: float  # beyond this strength the picture does not change any more
    prepare: Callable[[Picture, np.random.Generator], Apply]
    random: bool = False  # whether another seed gives another picture
    tolerance: float = 0.0005  # the search stops within this share of the wanted MSE
    predict_mse: PredictMse | None = (
        None  # about the MSE of a strength against the picture, without distorting it
    )
    steps: int | None = None  # per doubling: strengths that cost less than those between them
    rungs: int = 16  # doublings from the weakest strength looked at to the strongest

    def nearest_step(self, strength: float) -> float:
        """Give the nearest strength that costs less, or this one if all cost the same."""
        if self.steps is None:
            return strength
        return float(
            self.strongest
            * 2.0 ** (round(self.steps * math.log2(strength / self.strongest)) / self.steps)
        )


def checked(picture: NDArray[Any]) -> Picture:
    """Give a reference as float32; a ValueError for what is no picture in [0, 1], such as 8-bit integers."""
    right = picture.ndim == 2 and picture.size > 0 and np.issubdtype(picture.dtype, np.floating)
    if not right or not (picture.min() >= 0 and picture.max() <= 1):  # nor is NaN
        raise ValueError(
            "a reference is a matrix of grey values from 0 to 1, as image.read gives it"
        )
    return np.ascontiguousarray(picture, dtype=np.float32)


def level_text(level: float) -> str:
    """Write an MSE for a person: whole, but for small ones, which would be 0."""
    return f"{level:.0f}" if level >= 10 or level <= 0 else f"{level:.2g}"


def mse(first: NDArray[np.floating[Any]], second: NDArray[np.floating[Any]]) -> float:
    """Mean squared error on the 0 to 255 scale.

    In pieces that stay in the cache: this is what a search for a strength spends its time on.
    """
    flat1, flat2 = np.ravel(first), np.ravel(second)
    total = 0.0
    for start in range(0, flat1.size, _PIECE):
        piece = slice(start, start + _PIECE)
        difference = np.subtract(flat1[piece], flat2[piece], dtype=np.float64)
        total += float(np.einsum("i,i->", difference, difference))
    return 255.0**2 * total / flat1.size


def _clipped(picture: NDArray[Any]) -> Picture:
    return np.clip(picture, 0, 1, out=picture).astype(np.float32, copy=False)


def _added(picture: Picture, change: NDArray[Any]) -> Picture:
    return _clipped(np.add(picture, change, out=change))


def _contrast(picture: Picture, _: np.random.Generator) -> Apply:
    """Gain 1 + strength about the picture's mean."""
    mean = np.float32(picture.mean(dtype=np.float64))
    deviation = picture - mean
    return lambda strength: _added(picture, np.multiply(deviation, np.float32(strength)))


def _gaussian_noise(picture: Picture, random: np.random.Generator) -> Apply:
    """Add one fixed normal field times the strength in grey levels.

    The field's mean square is made 1. A wanted MSE gives the same picture with and without, as the strength
    makes up for it, but so the strength is known beforehand, up to what is cut off.
    """
    field = random.standard_normal(picture.shape, dtype=np.float32)
    field /= np.sqrt(np.einsum("ij,ij->", field, field) / field.size)
    return lambda strength: _added(picture, np.multiply(field, np.float32(strength / 255)))


def _luminance(picture: Picture, _: np.random.Generator) -> Apply:
    """Add the strength in grey levels to every pixel."""
    return lambda strength: _clipped(picture + np.float32(strength / 255))


def _blur(picture: Picture, _: np.random.Generator) -> Apply:
    """Gaussian filter of standard deviation `strength` pixels over the mirrored picture.

    The cosine transform is the Fourier transform of the mirrored picture, so the filter is one product there
    and costs the same for every strength.
    """
    from scipy import fft

    spectrum = fft.dctn(picture, norm="ortho")
    squared = [np.square(np.pi * np.arange(size) / size) / 2 for size in picture.shape]

    def apply(strength: float) -> Picture:
        rows, columns = (np.exp(-(strength**2) * half).astype(np.float32) for half in squared)
        return _clipped(fft.idctn(spectrum * rows[:, None] * columns, norm="ortho"))

    return apply


def _impulse(picture: Picture, random: np.random.Generator) -> Apply:
    """Salt and pepper on the share `strength` of the pixels, in one fixed random order.

    The last pixel is moved only part of the way to black or white where the share ends within it; that makes
    every MSE reachable, also on small pictures, where one pixel more can be a whole unit of MSE.
    """
    flat, size = picture.ravel(), picture.size
    hits = _random_hits(size, random)

    def apply(strength: float) -> Picture:
        whole, part = divmod(strength * size, 1.0)
        count = min(int(whole), size)
        order, extremes = hits(min(count + 1, size))
        noisy = flat.copy()
        noisy[order[:count]] = extremes[:count]
        if count < size:
            last = order[count]
            noisy[last] += np.float32(part) * (extremes[count] - noisy[last])
        return noisy.reshape(picture.shape)

    return apply


_DRAWN_AT_ONCE = 8  # one pixel of so many, more than the paper's levels need


def _random_hits(
    size: int, random: np.random.Generator
) -> Callable[[int], tuple[NDArray[Any], NDArray[Any]]]:
    """Order the pixels at random, each with 0 or 1: a function giving at least so many of the first of them.

    The order begins with pixels drawn with replacement, each where it is met first, which is a random order
    too; the rest is shuffled only when asked for.
    """
    draws = random.integers(size, size=size // _DRAWN_AT_ONCE)
    turns = np.arange(draws.size)
    first = np.empty(size, dtype=np.intp)
    first[draws[::-1]] = turns[::-1]  # the last to be written stays, which is the first to be drawn
    beginning = draws[first[draws] == turns]
    salt = random.integers(2, size=beginning.size).astype(np.float32)
    seed = random.integers(2**63)

    @functools.lru_cache
    def everything() -> tuple[NDArray[Any], NDArray[Any]]:
        later = np.random.default_rng(seed)
        left = np.ones(size, dtype=bool)
        left[beginning] = False
        rest = later.permutation(np.flatnonzero(left))
        more_salt = later.integers(2, size=rest.size).astype(np.float32)
        return np.concatenate([beginning, rest]), np.concatenate([salt, more_salt])

    return lambda count: (beginning, salt) if count <= beginning.size else everything()


# ITU-T T.81, Table K.1
_LUMINANCE_TABLE = np.array(
    [
        *(16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55),
        *(14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62),
        *(18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92),
        *(49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99),
    ]
)
_COARSEST = 600.0
_LARGEST_ENTRY = (
    8191  # libjpeg-turbo keeps eight times an entry in 16 bits; larger ones wrap around
)
_TABLES_PER_DOUBLING = (
    72  # neighbouring tables differ by 1 %; a ladder's rungs fall on whole tables
)


def _jpeg(picture: Picture, random: np.random.Generator) -> Apply:
    """JPEG with the standard luminance table times the strength.

    Tables hold whole numbers, so the MSE jumps where an entry changes. Between two strengths one step apart a
    growing share of the blocks, in one fixed random order, takes the coarser table, as a coder with adaptive
    quantisation does. The last of them takes it in part where the share ends within it: that makes the MSE a
    continuous function of the strength, also on small pictures.
    """
    image = Image.fromarray(np.rint(picture * np.float32(255)).astype(np.uint8))
    grid = BlockGrid(*_shape(picture), 8)
    order = random.permutation(grid.count)
    # The search comes back to the same two tables again and again.
    coded = functools.lru_cache(maxsize=8)(functools.partial(_through_jpeg, image))

    def apply(strength: float) -> Picture:
        finer, coarser, part = _tables(strength)
        decoded = coded(finer).astype(np.float32)
        if part and coarser != finer:
            whole, rest = divmod(part * grid.count, 1.0)
            takes_coarser = np.zeros(grid.count, dtype=np.float32)
            takes_coarser[order[: int(whole)]] = 1
            takes_coarser[order[int(whole)]] = rest
            decoded += grid.spread(takes_coarser) * (coded(coarser) - decoded)
        return decoded / np.float32(255)

    return apply


def _tables(strength: float) -> tuple[tuple[int, ...], tuple[int, ...], float]:
    """Give the tables next below and above a strength, and the share of the blocks that take the latter."""
    exponent = _TABLES_PER_DOUBLING * math.log2(strength / _COARSEST)
    whole, part = divmod(round(exponent, 6), 1.0)
    finer, coarser = (
        _quantisation(_COARSEST * 2 ** (place / _TABLES_PER_DOUBLING))
        for place in (whole, whole + 1)
    )
    return finer, coarser, part


def _foresee_jpeg(picture: Picture) -> Callable[[float], float]:
    return mse_prediction.jpeg(picture, _tables)


@functools.lru_cache(maxsize=4096)
def _quantisation(factor: float) -> tuple[int, ...]:
    entries = np.clip(np.rint(_LUMINANCE_TABLE * factor), 1, _LARGEST_ENTRY)
    return tuple(int(entry) for entry in entries)


def _through_jpeg(image: Image.Image, table: tuple[int, ...]) -> NDArray[np.uint8]:
    stream = io.BytesIO()
    # libjpeg writes a caution to standard error for tables above 8 bits unless the file is progressive;
    # the decoded pixels are the same.
    # A copy each time: Pillow keeps the coder's settings on the picture, and threads share this one.
    image.copy().save(stream, "JPEG", qtables=[list(table)], progressive=max(table) > 255)
    with Image.open(stream) as decoded:
        return np.asarray(decoded)


def _shape(picture: Picture) -> tuple[int, int]:
    height, width = picture.shape
    return height, width


TABLE = (
    Distortion(
        "contrast", "C", "Contrast stretch",
        "Bright places get brighter and dark places darker, about the picture's mean.",
        False, "#E69F00", "gain above 1", 1000.0, _contrast, predict_mse=mse_prediction.contrast,
    ),
    Distortion(
        "gaussian-noise", "G", "Gaussian noise",
        "Every pixel gets a random error of bell-shaped distribution.",
        True, "#56B4E9", "standard deviation, grey levels", 4000.0, _gaussian_noise, random=True,
        predict_mse=mse_prediction.gaussian_noise,
    ),
    Distortion(
        "luminance", "L", "Luminance shift",
        "Every pixel gets brighter by the same amount.",
        False, "#F0E442", "grey levels", 255.0, _luminance, predict_mse=mse_prediction.luminance,
    ),
    Distortion(
        "blur", "B", "Blur",
        "Every pixel becomes a weighted mean of its surroundings.",
        True, "#009E73", "standard deviation, pixels", 65536.0, _blur, predict_mse=mse_prediction.blur, rungs=20,
    ),
    Distortion(
        "impulse", "I", "Impulse noise",
        "Single pixels, scattered at random, turn black or white (salt and pepper).",
        True, "#D55E00", "share of the pixels", 1.0, _impulse, random=True, predict_mse=mse_prediction.impulse,
    ),
    Distortion(
        "jpeg", "J", "JPEG compression",
        "Blocks of 8×8 pixels lose their fine detail, as in a strongly compressed JPEG file.",
        True, "#CC79A7", "times the standard quantisation table", _COARSEST, _jpeg, tolerance=0.005,
        predict_mse=_foresee_jpeg, steps=_TABLES_PER_DOUBLING,
    ),
)  # fmt: skip

DISTORTIONS = {row.name: row for row in TABLE}


def parts_of(label: str) -> tuple[str, ...]:
    """Give what a label names: two kinds for a mixture such as `blur+jpeg`; else the label itself."""
    names = label.split("+")
    return tuple(names) if len(names) == 2 and len({"", *names}) == 3 else (label,)


def parts(kind: str) -> tuple[Distortion, ...]:
    """Give the table rows of a kind; `blur+jpeg` has two. Raises KeyError for an unknown name."""
    return tuple(DISTORTIONS[name] for name in kind.split("+"))
