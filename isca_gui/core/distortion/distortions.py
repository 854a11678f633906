"""The distortions of the paper's Section 6, each a function of one strength, in one table.

A distortion is prepared once for a picture, which draws all its randomness. The result is a pure
function of the strength whose MSE grows with it, so that any MSE the picture allows can be found
(`strength_search.py`); the search starts from a prediction of the MSE (`mse_prediction.py`).
Intensities stay in [0, 1]; strengths that are grey levels are on the 0 to 255 scale.
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

# Labels that are not kinds of distortion.
ORIGINAL = "original"
UNDECIDED_LABEL = "undecided"
UNLIKE = "unlike"

# Pixels compared at a time by `mse`; so few stay in the processor's cache.
_PIXELS_AT_ONCE = 65536


@dataclass(frozen=True)
class Distortion:
    """One row of the table.

    Parameters
    ----------
    name, letter, title, sentence
        How it is called in files and commands, in maps, and in the window; what it does.
    structural
        Whether it changes the structure of a picture and not only its luminance or contrast.
    colour
        The colour of its class, as `#RRGGBB`.
    unit
        What the strength counts.
    strongest
        The strength beyond which the picture does not change any more.
    prepare
        Draws the randomness for a picture and returns the distortion as a function of the strength.
    random
        Whether another seed gives another picture.
    tolerance
        The search for a strength stops within this share of the wanted MSE.
    predict_mse
        Measures a picture and returns about the MSE at a strength; None if it cannot be predicted.
    steps
        Strengths per doubling that cost less than those between them; None if all cost the same.
    doublings
        How often the weakest strength looked at doubles up to the strongest.
    """

    name: str
    letter: str
    title: str
    sentence: str
    structural: bool
    colour: str
    unit: str
    strongest: float
    prepare: Callable[[Picture, np.random.Generator], Apply]
    random: bool = False
    tolerance: float = 0.0005
    predict_mse: PredictMse | None = None
    steps: int | None = None
    doublings: int = 16

    def nearest_step(self, strength: float) -> float:
        """Return the nearest strength that costs less, or this one if all cost the same."""
        if self.steps is None:
            return strength
        exponent = round(self.steps * math.log2(strength / self.strongest)) / self.steps
        return float(self.strongest * 2.0**exponent)


def checked_reference(picture: NDArray[Any]) -> Picture:
    """Return a reference as float32; raise ValueError for anything but a picture in [0, 1]."""
    is_grey = picture.ndim == 2 and picture.size > 0 and np.issubdtype(picture.dtype, np.floating)
    # NaN fails both comparisons.
    if not is_grey or not (picture.min() >= 0 and picture.max() <= 1):
        raise ValueError(
            "a reference is a matrix of grey values from 0 to 1, as image.read returns it"
        )
    return np.ascontiguousarray(picture, dtype=np.float32)


def level_text(level: float) -> str:
    """Return an MSE for a person to read: whole, except for small ones, which would be 0."""
    return f"{level:.0f}" if level >= 10 or level <= 0 else f"{level:.2g}"


def mse(first: NDArray[np.floating[Any]], second: NDArray[np.floating[Any]]) -> float:
    """Return the mean squared error on the 0 to 255 scale.

    Computed in pieces that stay in the cache, since a search for a strength spends its time here.
    """
    flat1 = np.ravel(first)
    flat2 = np.ravel(second)
    total = 0.0
    for start in range(0, flat1.size, _PIXELS_AT_ONCE):
        piece = slice(start, start + _PIXELS_AT_ONCE)
        difference = np.subtract(flat1[piece], flat2[piece], dtype=np.float64)
        total += float(np.einsum("i,i->", difference, difference))
    return 255.0**2 * total / flat1.size


def _clipped(picture: NDArray[Any]) -> Picture:
    return np.clip(picture, 0, 1, out=picture).astype(np.float32, copy=False)


def _added(picture: Picture, change: NDArray[Any]) -> Picture:
    return _clipped(np.add(picture, change, out=change))


def _contrast(picture: Picture, _: np.random.Generator) -> Apply:
    """Apply a gain of 1 + strength about the mean of the picture."""
    mean = np.float32(picture.mean(dtype=np.float64))
    deviation = picture - mean
    return lambda strength: _added(picture, np.multiply(deviation, np.float32(strength)))


def _gaussian_noise(picture: Picture, random: np.random.Generator) -> Apply:
    """Add one fixed normal field times the strength in grey levels.

    The mean square of the field is made 1, so that the strength for a wanted MSE is known
    beforehand, apart from clipping. The picture is the same without, since the strength makes up
    for it.
    """
    field = random.standard_normal(picture.shape, dtype=np.float32)
    field /= np.sqrt(np.einsum("ij,ij->", field, field) / field.size)
    return lambda strength: _added(picture, np.multiply(field, np.float32(strength / 255)))


def _luminance(picture: Picture, _: np.random.Generator) -> Apply:
    """Add the strength in grey levels to every pixel."""
    return lambda strength: _clipped(picture + np.float32(strength / 255))


def _blur(picture: Picture, _: np.random.Generator) -> Apply:
    """Filter the mirrored picture by a Gaussian of standard deviation `strength` pixels.

    The cosine transform is the Fourier transform of the mirrored picture. There the filter is one
    product and costs the same for every strength.
    """
    from scipy import fft

    spectrum = fft.dctn(picture, norm="ortho")
    squared = [np.square(np.pi * np.arange(size) / size) / 2 for size in picture.shape]

    def apply(strength: float) -> Picture:
        # The transform of the Gaussian is exp(−σ²ω²/2), a product of its rows and columns.
        rows, columns = (np.exp(-(strength**2) * half).astype(np.float32) for half in squared)
        return _clipped(fft.idctn(spectrum * rows[:, None] * columns, norm="ortho"))

    return apply


def _impulse(picture: Picture, random: np.random.Generator) -> Apply:
    """Turn the share `strength` of the pixels black or white, in one fixed random order.

    Where the share ends within a pixel, that pixel is moved only part of the way. This makes every
    MSE reachable, also on small pictures, where one more pixel can be a whole unit of MSE.
    """
    flat = picture.ravel()
    size = picture.size
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


# One pixel of so many is drawn at first, which is more than the paper's levels need.
_DRAWN_AT_FIRST = 8


def _random_hits(
    size: int, random: np.random.Generator
) -> Callable[[int], tuple[NDArray[Any], NDArray[Any]]]:
    """Order the pixels at random, each with a 0 or 1.

    Return a function of a count that returns at least so many of the first pixels and their values.
    The order begins with pixels drawn with replacement, each at its first draw, which is a random
    order too. Only when more are needed is the rest shuffled.
    """
    draws = random.integers(size, size=size // _DRAWN_AT_FIRST)
    turns = np.arange(draws.size)
    first = np.empty(size, dtype=np.intp)
    # Written in reverse, the first draw of a pixel is the one that stays.
    first[draws[::-1]] = turns[::-1]
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
LUMINANCE_TABLE = np.array([
    16, 11, 10, 16,  24,  40,  51,  61,
    12, 12, 14, 19,  26,  58,  60,  55,
    14, 13, 16, 24,  40,  57,  69,  56,
    14, 17, 22, 29,  51,  87,  80,  62,
    18, 22, 37, 56,  68, 109, 103,  77,
    24, 35, 55, 64,  81, 104, 113,  92,
    49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103,  99,
])  # fmt: skip
_COARSEST = 600.0
# libjpeg-turbo keeps eight times an entry in 16 bits; larger entries would wrap around.
_LARGEST_ENTRY = 8191
# Neighbouring tables differ by 1 %, and doubling strengths fall on whole tables.
_TABLES_PER_DOUBLING = 72


def _jpeg(picture: Picture, random: np.random.Generator) -> Apply:
    """Compress by JPEG with the standard luminance table times the strength.

    Tables hold whole numbers, so the MSE jumps where an entry changes. Between two strengths one
    step apart a growing share of the blocks, in one fixed random order, takes the coarser table, as
    in a coder with adaptive quantisation. Where the share ends within a block, that block is mixed
    from both. This makes the MSE a continuous function of the strength, also on small pictures.
    """
    image = Image.fromarray(np.rint(picture * np.float32(255)).astype(np.uint8))
    height, width = picture.shape
    grid = BlockGrid(height, width, 8)
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
    """Return the finer and coarser table of a strength and the share of blocks for the latter."""
    exponent = _TABLES_PER_DOUBLING * math.log2(strength / _COARSEST)
    whole, part = divmod(round(exponent, 6), 1.0)
    finer = _quantisation(_COARSEST * 2 ** (whole / _TABLES_PER_DOUBLING))
    coarser = _quantisation(_COARSEST * 2 ** ((whole + 1) / _TABLES_PER_DOUBLING))
    return finer, coarser, part


def _predict_jpeg(picture: Picture) -> Callable[[float], float]:
    return mse_prediction.jpeg(picture, _tables)


@functools.lru_cache(maxsize=4096)
def _quantisation(factor: float) -> tuple[int, ...]:
    entries = np.clip(np.rint(LUMINANCE_TABLE * factor), 1, _LARGEST_ENTRY)
    return tuple(int(entry) for entry in entries)


def _through_jpeg(image: Image.Image, table: tuple[int, ...]) -> NDArray[np.uint8]:
    stream = io.BytesIO()
    # For entries above 8 bits libjpeg prints a warning unless the file is progressive; the decoded
    # pixels are the same. Pillow stores the encoder's settings on the picture, which threads share,
    # so each call encodes a copy.
    image.copy().save(stream, "JPEG", qtables=[list(table)], progressive=max(table) > 255)
    with Image.open(stream) as decoded:
        return np.asarray(decoded)


TABLE = (
    Distortion(
        name="contrast",
        letter="C",
        title="Contrast stretch",
        sentence="Bright places get brighter and dark places darker, about the picture's mean.",
        structural=False,
        colour="#E69F00",
        unit="gain above 1",
        strongest=1000.0,
        prepare=_contrast,
        predict_mse=mse_prediction.contrast,
    ),
    Distortion(
        name="gaussian-noise",
        letter="G",
        title="Gaussian noise",
        sentence="Every pixel gets a random error with a bell-shaped distribution.",
        structural=True,
        colour="#56B4E9",
        unit="standard deviation, grey levels",
        strongest=4000.0,
        prepare=_gaussian_noise,
        random=True,
        predict_mse=mse_prediction.gaussian_noise,
    ),
    Distortion(
        name="luminance",
        letter="L",
        title="Luminance shift",
        sentence="Every pixel gets brighter by the same amount.",
        structural=False,
        colour="#F0E442",
        unit="grey levels",
        strongest=255.0,
        prepare=_luminance,
        predict_mse=mse_prediction.luminance,
    ),
    Distortion(
        name="blur",
        letter="B",
        title="Blur",
        sentence="Every pixel becomes a weighted mean of its surroundings.",
        structural=True,
        colour="#009E73",
        unit="standard deviation, pixels",
        strongest=65536.0,
        prepare=_blur,
        predict_mse=mse_prediction.blur,
        doublings=20,
    ),
    Distortion(
        name="impulse",
        letter="I",
        title="Impulse noise",
        sentence="Pixels scattered at random turn black or white (salt and pepper).",
        structural=True,
        colour="#D55E00",
        unit="share of the pixels",
        strongest=1.0,
        prepare=_impulse,
        random=True,
        predict_mse=mse_prediction.impulse,
    ),
    Distortion(
        name="jpeg",
        letter="J",
        title="JPEG compression",
        sentence="Blocks of 8×8 pixels lose fine detail, as in a strongly compressed JPEG file.",
        structural=True,
        colour="#CC79A7",
        unit="times the standard quantisation table",
        strongest=_COARSEST,
        prepare=_jpeg,
        tolerance=0.005,
        predict_mse=_predict_jpeg,
        steps=_TABLES_PER_DOUBLING,
    ),
)

DISTORTIONS = {row.name: row for row in TABLE}


def parts_of(label: str) -> tuple[str, ...]:
    """Return the two kinds of a mixture such as `blur+jpeg`; else the label itself."""
    names = label.split("+")
    is_mixture = len(names) == 2 and "" not in names and names[0] != names[1]
    return tuple(names) if is_mixture else (label,)


def table_rows(kind: str) -> tuple[Distortion, ...]:
    """Return the rows of a kind, two for a mixture; raise KeyError for an unknown name."""
    return tuple(DISTORTIONS[name] for name in kind.split("+"))
