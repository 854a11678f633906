"""Damage of random strength, to train the classifier of comparisons and to measure them.

A damage is a function of a picture and a random generator that returns the damaged copy and its
true parameters. Pictures are uint8, grey (height, width) or colour (height, width, 3).

`TABLE` has four groups: the kinds that a comparison names (`KNOWN`), the same kinds by other
encoders (`ENCODERS`), damage that is trained as none of these (`UNSEEN`), and damage that is never
trained and only measured (`LEFT_OUT`). Rows whose library is not installed are left out of
`group`.
"""

from __future__ import annotations

import functools
import importlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from scipy import fft, ndimage, signal
from scipy.interpolate import PchipInterpolator

from isca_gui.bench import codecs
from isca_gui.bench.pixels import cut_to, log_uniform, quantised, to_bytes, whole_blocks
from isca_gui.core.comparison.classifier import NONE
from isca_gui.core.comparison.kinds import COMPRESSION, FILTER, OTHER_COMPRESSION
from isca_gui.core.comparison.pair import luma
from isca_gui.core.distortion.distortions import LUMINANCE_TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Picture = NDArray[np.uint8]
    Floats = NDArray[Any]
    Damaged = tuple[Picture, dict[str, float]]
    Apply = Callable[[Picture, np.random.Generator], Damaged]

KNOWN = "known"
ENCODERS = "encoders"
UNSEEN = "unseen"
LEFT_OUT = "left out"

_SMALLER = (
    Image.Resampling.BILINEAR,
    Image.Resampling.BICUBIC,
    Image.Resampling.LANCZOS,
    Image.Resampling.BOX,
)
_BACK = (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC, Image.Resampling.LANCZOS)
_PIXELATED = (Image.Resampling.NEAREST, Image.Resampling.BOX, Image.Resampling.BILINEAR)
# Thresholds of ordered dithering (Bayer).
_BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 16 - 0.47


# --- what the damages share ---------------------------------------------------------------------


def _sign(random: np.random.Generator) -> int:
    return 1 if random.random() < 0.5 else -1


def _like(field: Floats, picture: Picture) -> Floats:
    """Return a field (height, width) that all channels of a picture share."""
    return field[..., None] if picture.ndim == 3 else field


def _normal(picture: Picture, random: np.random.Generator) -> Floats:
    """Return normal noise; in three of ten colour pictures all channels have the same."""
    channels = picture.shape[2:]
    if picture.ndim == 3 and random.random() < 0.3:
        channels = (1,)
    return _as_of_camera(random.standard_normal(picture.shape[:2] + channels), random)


def _as_of_camera(noise: Floats, random: np.random.Generator) -> Floats:
    """Let neighbours of three fields in ten agree a little, as demosaicing leaves camera noise."""
    if random.random() >= 0.3:
        return noise
    smooth = _gaussian(noise, random.uniform(0.3, 0.6))
    scaled: Floats = smooth * (noise.std() / smooth.std())
    return scaled


def _gaussian(values: Floats, sigma: float, truncate: float = 4.0) -> Floats:
    """Blur a field or a picture along its rows and columns."""
    smooth = values.astype(np.float32)
    blurred: Floats = ndimage.gaussian_filter(
        smooth, sigma, mode="reflect", truncate=truncate, axes=(0, 1)
    )
    return blurred


def _smooth_field(picture: Picture, sigma: float, random: np.random.Generator) -> Floats:
    return _gaussian(random.standard_normal(picture.shape[:2]), sigma)


def _correlate(values: Floats, kernel: Floats) -> Floats:
    """Correlate each channel with a kernel of odd sides; the picture is mirrored at its rim."""
    rows = kernel.shape[0] // 2
    columns = kernel.shape[1] // 2
    rim = [(rows, rows), (columns, columns)] + [(0, 0)] * (values.ndim - 2)
    padded = np.pad(values.astype(np.float64), rim, mode="symmetric")
    turned = kernel[::-1, ::-1].reshape(kernel.shape + (1,) * (values.ndim - 2))
    filtered: Floats = signal.oaconvolve(padded, turned, mode="valid", axes=(0, 1))
    return filtered


def _moved(picture: Picture, down: Floats, right: Floats, order: int) -> Picture:
    """Take each pixel from a place that lies `down` and `right` of it, by splines of an order."""
    rows, columns = np.indices(picture.shape[:2])
    places = np.stack([rows + down, columns + right])
    channels = picture[..., None] if picture.ndim == 2 else picture
    moved = [
        ndimage.map_coordinates(channel.astype(np.float32), places, order=order, mode="reflect")
        for channel in np.moveaxis(channels, 2, 0)
    ]
    return to_bytes(np.stack(moved, axis=2).reshape(picture.shape))


def coded(picture: Picture, name: str, **options: Any) -> Picture:
    """Save a picture with Pillow's encoder of a name and return what is read back."""
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, name, **options)
    stream.seek(0)
    return _opened(stream, picture)


def _opened(stream: io.BytesIO, picture: Picture) -> Picture:
    mode = "L" if picture.ndim == 2 else "RGB"
    with Image.open(stream) as image:
        return np.asarray(image.convert(mode))


# --- tone ---------------------------------------------------------------------------------------


def luminance(picture: Picture, random: np.random.Generator) -> Damaged:
    """Add a number of grey levels to every pixel, or subtract it."""
    shift = _sign(random) * log_uniform(random, 1.5, 55)
    return to_bytes(picture + shift), {"shift": shift}


def contrast(picture: Picture, random: np.random.Generator) -> Damaged:
    """Stretch or compress the tones about their mean, or about middle grey."""
    gain = 1 + _sign(random) * log_uniform(random, 0.03, 0.6)
    centre = picture.mean() if random.random() < 0.5 else 128.0
    return to_bytes((picture - centre) * gain + centre), {"gain": gain}


def gamma(picture: Picture, random: np.random.Generator) -> Damaged:
    """Raise the tones to a power."""
    power = float(np.exp(_sign(random) * log_uniform(random, 0.03, 0.8)))
    return to_bytes(255 * (picture / 255) ** power), {"gamma": power}


def posterisation(picture: Picture, random: np.random.Generator) -> Damaged:
    """Keep a few grey levels, or the upper bits."""
    if random.random() < 0.5:
        levels = int(random.integers(3, 65))
    else:
        levels = int(log_uniform(random, 3, 64))
    if random.random() < 0.3:
        bits = int(random.integers(2, 7))
        upper = np.uint8(256 - 2 ** (8 - bits))
        return picture & upper, {"levels": 2**bits}
    return to_bytes(np.rint(picture / 255 * (levels - 1)) / (levels - 1) * 255), {"levels": levels}


def tone_curve(picture: Picture, random: np.random.Generator) -> Damaged:
    """Apply a curve that is neither a gain nor a power: S, its inverse, a wave, any, a negative."""
    grey = np.arange(256) / 255
    shapes = (_s_curve, _inverse_s_curve, _wave, _any_curve)
    curve = shapes[random.integers(4)](grey, random)
    if random.random() < 0.12:
        curve = 1 - grey
    if random.random() < 0.12:
        # Solarisation: the brightest tones become their negative.
        curve = np.where(grey > random.uniform(0.5, 0.8), 1 - grey, grey)
    return to_bytes(255 * curve)[picture], {}


def _mixed(first: Floats, second: Floats, share: Any) -> Floats:
    """Return a mixture of two arrays with a share of the second."""
    mixture: Floats = first + share * (second - first)
    return mixture


def _s_curve(grey: Floats, random: np.random.Generator) -> Floats:
    steepness = random.uniform(3, 9)
    curve = 1 / (1 + np.exp(-steepness * (grey - 0.5)))
    curve = (curve - curve[0]) / (curve[-1] - curve[0])
    return _mixed(grey, curve, log_uniform(random, 0.15, 1))


def _inverse_s_curve(grey: Floats, random: np.random.Generator) -> Floats:
    amount = log_uniform(random, 0.15, 0.9)
    curve = 0.5 + np.arcsin(np.clip(2 * grey - 1, -1, 1)) / np.pi
    return _mixed(grey, curve, 2 * amount)


def _wave(grey: Floats, random: np.random.Generator) -> Floats:
    amount = log_uniform(random, 0.02, 0.15)
    return grey + amount * np.sin(2 * np.pi * grey) * _sign(random)


def _any_curve(grey: Floats, random: np.random.Generator) -> Floats:
    inner = np.sort(random.uniform(0, 1, 3))
    curve = PchipInterpolator(np.linspace(0, 1, 5), np.r_[0, inner, 1])(grey)
    return _mixed(grey, curve, log_uniform(random, 0.15, 1))


# --- filters ------------------------------------------------------------------------------------


def blur(picture: Picture, random: np.random.Generator) -> Damaged:
    """Blur with a Gaussian, in a quarter of the cases with a disk or a box."""
    shape = random.random()
    if shape < 0.75:
        sigma = log_uniform(random, 0.32, 5)
        return to_bytes(_gaussian(picture, sigma, truncate=3.0)), {"sigma": sigma}
    if shape < 0.9:
        radius = log_uniform(random, 1, 6)
        return to_bytes(_correlate(picture, _disk(radius))), {"disk": radius}
    side = int(random.choice([3, 3, 5, 7, 9]))
    box = ndimage.uniform_filter(picture.astype(np.float32), side, mode="reflect", axes=(0, 1))
    return to_bytes(box), {"box": side}


def _disk(radius: float) -> Floats:
    half = int(np.ceil(radius))
    rows, columns = np.mgrid[-half : half + 1, -half : half + 1]
    disk: Floats = np.clip(radius + 0.5 - np.hypot(rows, columns), 0, 1)
    disk /= disk.sum()
    return disk


def motion_kernel(length: float, angle: float) -> Floats:
    """Return a line of a length in pixels, at an angle in degrees to the horizontal."""
    half = int(np.ceil(length / 2)) + 1
    steps = np.linspace(-length / 2, length / 2, int(40 * length) + 1)
    columns = half + steps * np.cos(np.deg2rad(angle))
    rows = half - steps * np.sin(np.deg2rad(angle))
    kernel = np.zeros((2 * half + 1, 2 * half + 1))
    # Each point of the line is shared out to the four pixels around it.
    for down in (0, 1):
        for right in (0, 1):
            row = np.floor(rows).astype(int)
            column = np.floor(columns).astype(int)
            weight = np.abs(1 - down - (rows - row)) * np.abs(1 - right - (columns - column))
            np.add.at(kernel, (row + down, column + right), weight)
    kernel /= kernel.sum()
    return kernel


def motion_blur(picture: Picture, random: np.random.Generator) -> Damaged:
    """Blur along a line, in a fifth of the cases along a row, a column or a diagonal."""
    length = log_uniform(random, 2.5, 20)
    if random.random() < 0.8:
        angle = random.uniform(0, 180)
    else:
        angle = float(random.choice([0, 45, 90, 135]))
    copy = to_bytes(_correlate(picture, motion_kernel(length, angle)))
    return copy, {"length": length, "angle": angle}


def sharpening(picture: Picture, random: np.random.Generator) -> Damaged:
    """Sharpen by an unsharp mask, in a quarter of the cases by a Laplacian."""
    radius = log_uniform(random, 0.5, 4)
    amount = log_uniform(random, 0.15, 3)
    if random.random() < 0.25:
        kernel = np.array([[0.0, -1, 0], [-1, 4, -1], [0, -1, 0]])
        if random.random() >= 0.5:
            kernel = np.array([[-1.0, -1, -1], [-1, 8, -1], [-1, -1, -1]]) / 2
        amount = log_uniform(random, 0.05, 1)
        return to_bytes(picture + amount * _correlate(picture, kernel)), {"laplace": amount}
    mask = picture - _gaussian(picture, radius)
    return to_bytes(picture + amount * mask), {"amount": amount, "radius": radius}


def resampling(picture: Picture, random: np.random.Generator) -> Damaged:
    """Make a picture smaller and back, in a fifth of the cases with visible pixels."""
    scale = random.uniform(0.15, 0.93)
    image = Image.fromarray(picture)
    small = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    if random.random() < 0.2:
        shrunk = image.resize(small, _PIXELATED[random.integers(3)])
        back = shrunk.resize(image.size, Image.Resampling.NEAREST)
    else:
        shrunk = image.resize(small, _SMALLER[random.integers(4)])
        back = shrunk.resize(image.size, _BACK[random.integers(3)])
    return np.asarray(back), {"scale": scale}


def median(picture: Picture, random: np.random.Generator) -> Damaged:
    """Take the median over a square around each pixel."""
    side = int(random.choice([3, 3, 3, 5, 5, 7, 9, 11]))
    copy = Image.fromarray(picture).filter(ImageFilter.MedianFilter(side))
    return np.asarray(copy), {"side": side}


# --- noise --------------------------------------------------------------------------------------


def gaussian_noise(picture: Picture, random: np.random.Generator) -> Damaged:
    """Add normal noise, cut off at black and white."""
    sigma = log_uniform(random, 1, 60)
    return to_bytes(picture + sigma * _normal(picture, random)), {"sigma": sigma}


def impulse(picture: Picture, random: np.random.Generator) -> Damaged:
    """Make pixels black or white, in some cases channel by channel or of any value."""
    share = log_uniform(random, 0.0002, 0.25)
    any_value = random.random() > 0.85
    shape: tuple[int, ...] = picture.shape
    if picture.ndim == 3 and random.random() >= 0.4:
        shape = (*picture.shape[:2], 1)
    hit = random.random(shape) < share
    value = (random.random(shape) < 0.5) * 255
    if any_value:
        value = random.integers(0, 256, picture.shape)
    return np.where(hit, value, picture).astype(np.uint8), {"share": share}


def speckle(picture: Picture, random: np.random.Generator) -> Damaged:
    """Multiply by one plus normal noise."""
    sigma = log_uniform(random, 0.012, 0.6)
    return to_bytes(picture * (1 + sigma * _normal(picture, random))), {"sigma": sigma}


def poisson_noise(picture: Picture, random: np.random.Generator) -> Damaged:
    """Count photons: the brightness of each pixel is its mean count."""
    photons = log_uniform(random, 0.015, 30)
    noise = random.poisson(picture.astype(np.float64) * photons) / photons - picture
    return to_bytes(picture + _as_of_camera(noise, random)), {"gain": 1 / photons}


# --- compression --------------------------------------------------------------------------------


def jpeg(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as JPEG, in an eighth of the cases with a table of its own (quality 0)."""
    if random.random() < 0.12:
        factor = log_uniform(random, 0.08, 25)
        table = np.clip(np.rint(LUMINANCE_TABLE * factor), 1, 255).astype(int).tolist()
        full = 0 if picture.ndim == 3 else -1
        return coded(picture, "JPEG", qtables=[table], subsampling=full), {"quality": 0}
    quality = int(random.integers(3, 98))
    options = {}
    if picture.ndim == 3:
        options["subsampling"] = int(random.choice([0, 1, 2, 2]))
    return coded(picture, "JPEG", quality=quality, **options), {"quality": quality}


def jpeg_2000(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as JPEG 2000 at a rate or a quality in decibels, with either of its wavelets."""
    if random.random() < 0.5:
        mode = "rates"
        layer = log_uniform(random, 4, 200)
    else:
        mode = "dB"
        layer = random.uniform(24, 46)
    irreversible = bool(random.random() < 0.75)
    options = {"quality_mode": mode, "quality_layers": [layer], "irreversible": irreversible}
    return coded(picture, "JPEG2000", **options), {}


def webp(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as WebP."""
    quality = int(random.integers(1, 97))
    method = int(random.choice([2, 4, 6]))
    return coded(picture, "WEBP", quality=quality, method=method), {"quality": quality}


def avif(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as AVIF."""
    quality = int(random.integers(3, 94))
    options = {
        "speed": int(random.choice([6, 8, 8, 9])),
        "subsampling": str(random.choice(["4:2:0", "4:4:4"])),
    }
    return coded(picture, "AVIF", quality=quality, **options), {"quality": quality}


def heic(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as HEIC, with pillow-heif."""
    import pillow_heif

    pillow_heif.register_heif_opener()
    quality = int(random.integers(3, 93))
    return coded(picture, "HEIF", quality=quality), {"quality": quality}


def jpeg_xl(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as JPEG XL, with pillow-jxl-plugin."""
    # Importing it makes the format known to Pillow.
    importlib.import_module("pillow_jxl")
    quality = int(random.integers(10, 97))
    effort = int(random.choice([3, 4, 5, 7]))
    return coded(picture, "JXL", quality=quality, effort=effort), {"quality": quality}


def mozjpeg(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as JPEG by MozJPEG, with pyvips: trellis quantisation and tables of its own."""
    import pyvips

    quality = int(random.integers(10, 96))
    saved = pyvips.Image.new_from_array(picture).jpegsave_buffer(
        Q=quality,
        trellis_quant=True,
        overshoot_deringing=True,
        optimize_scans=True,
        interlace=True,
        quant_table=int(random.choice([0, 2, 3, 3])),
    )
    return _opened(io.BytesIO(saved), picture), {"quality": quality}


def jpeg_xr(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as JPEG XR, with imagecodecs."""
    import imagecodecs

    whole = np.ascontiguousarray(picture)
    saved = imagecodecs.jpegxr_encode(whole, level=random.uniform(0.3, 0.93))
    return imagecodecs.jpegxr_decode(saved), {}


def jpeg_ls(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as near-lossless JPEG-LS, with imagecodecs."""
    import imagecodecs

    whole = np.ascontiguousarray(picture)
    saved = imagecodecs.jpegls_encode(whole, level=int(random.integers(2, 20)))
    return imagecodecs.jpegls_decode(saved), {}


# --- damage that is trained as none of these ----------------------------------------------------


def warp(picture: Picture, random: np.random.Generator) -> Damaged:
    """Move pixels by up to some pixels along a smooth random field."""
    most = log_uniform(random, 0.3, 4)
    sigma = random.uniform(8, 40)
    down, right = (_smooth_field(picture, sigma, random) for _ in range(2))
    down *= most / np.abs(down).max()
    right *= most / np.abs(right).max()
    return _moved(picture, down, right, order=3), {}


def clahe(picture: Picture, random: np.random.Generator) -> Damaged:
    """Equalise the histogram of the luma adaptively, with a limit, in 8×8 tiles."""
    grey = to_bytes(luma(picture.astype(np.float32)))
    limit = log_uniform(random, 0.8, 6)
    change = _equalised(grey, limit) - grey
    return to_bytes(picture + _like(change, picture)), {}


def _equalised(grey: Picture, limit: float) -> Floats:
    """Map each pixel by the curves of the four tiles around it, weighted by their nearness."""
    curves = _tile_curves(grey, limit)
    upper, lower, down = _tiles_around(grey.shape[0])
    left, right, across = _tiles_around(grey.shape[1])
    above = _between(curves, upper, left, right, across, grey)
    below = _between(curves, lower, left, right, across, grey)
    return _mixed(above, below, down[:, None])


def _tile_curves(grey: Picture, limit: float) -> Floats:
    """Return the tone curve of each of 8×8 tiles, shape (8, 8, 256).

    Bins above `limit` times the mean count are cut off, and their excess is shared by all bins.
    """
    curves = np.zeros((8, 8, 256))
    for row, band in enumerate(np.array_split(grey, 8, axis=0)):
        for column, tile in enumerate(np.array_split(band, 8, axis=1)):
            counts = np.bincount(tile.ravel(), minlength=256)
            most = max(limit * tile.size / 256, 1)
            excess = np.maximum(counts - most, 0).sum()
            curves[row, column] = np.cumsum(np.minimum(counts, most) + excess / 256) / tile.size
    return 255 * curves


def _tiles_around(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Return for each row or column the tiles before and after it, and the latter's weight."""
    place = np.clip((np.arange(size) + 0.5) / size * 8 - 0.5, 0, 7)
    before = np.floor(place).astype(np.intp)
    return before, np.minimum(before + 1, 7), place - before


def _between(
    curves: Floats,
    row: NDArray[np.intp],
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    weight: Floats,
    grey: Picture,
) -> Floats:
    first = curves[row[:, None], left[None], grey]
    second = curves[row[:, None], right[None], grey]
    return _mixed(first, second, weight)


def bilateral(picture: Picture, random: np.random.Generator) -> Damaged:
    """Average neighbours in a disk that are near in place and in colour."""
    half = int(random.choice([5, 7, 9])) // 2
    colour_sigma = log_uniform(random, 8, 80)
    place_sigma = log_uniform(random, 2, 20)
    values = np.atleast_3d(picture).astype(np.float32)
    padded = np.pad(values, [(half, half), (half, half), (0, 0)], mode="symmetric")
    total = np.zeros_like(values)
    weights = np.zeros((*values.shape[:2], 1), np.float32)
    rows, columns = np.mgrid[-half : half + 1, -half : half + 1]
    inside = np.hypot(rows, columns) <= half
    for row, column in zip(rows[inside], columns[inside], strict=True):
        top = half + row
        left = half + column
        near = padded[top : top + values.shape[0], left : left + values.shape[1]]
        distance = np.abs(near - values).sum(axis=2, keepdims=True)
        place = (row**2 + column**2) / (2 * place_sigma**2)
        weight = np.exp(-((distance / colour_sigma) ** 2) / 2 - np.float32(place))
        total += weight * near
        weights += weight
    return to_bytes((total / weights).reshape(picture.shape)), {}


def non_local_means(picture: Picture, random: np.random.Generator) -> Damaged:
    """Average similar patches of 5×5 pixels in windows of 11×11."""
    from skimage import restoration

    # Patches of three channels differ in more ways, so that colour needs more to be smoothed alike.
    low, high = (2, 14) if picture.ndim == 2 else (3.4, 17)
    strength = log_uniform(random, low, high) / 255
    copy = restoration.denoise_nl_means(
        picture.astype(np.float32) / 255,
        patch_size=5,
        patch_distance=5,
        h=strength,
        channel_axis=2 if picture.ndim == 3 else None,
    )
    return to_bytes(255 * copy), {}


def fog(picture: Picture, random: np.random.Generator) -> Damaged:
    """Mix in light grey, as thick as a smooth random field."""
    field = _smooth_field(picture, random.uniform(15, 60), random)
    field = (field - field.min()) / (field.max() - field.min())
    share = _like(field * log_uniform(random, 0.05, 0.8), picture)
    return to_bytes(picture * (1 - share) + share * 235), {}


def vignette(picture: Picture, random: np.random.Generator) -> Damaged:
    """Darken towards the corners."""
    height, width = picture.shape[:2]
    rows, columns = np.mgrid[:height, :width]
    distance = 2 * np.hypot((rows - height / 2) / height, (columns - width / 2) / width)
    gain = 1 - log_uniform(random, 0.03, 0.5) * np.clip(distance, 0, 1.4) ** 2
    return to_bytes(picture * _like(gain, picture)), {}


def grain(picture: Picture, random: np.random.Generator) -> Damaged:
    """Add noise that neighbouring pixels share, as on film."""
    field = _smooth_field(picture, random.uniform(1, 2.5), random)
    field *= log_uniform(random, 2, 25) / field.std()
    return to_bytes(picture + _like(field, picture)), {}


def banding(picture: Picture, random: np.random.Generator) -> Damaged:
    """Add noise that all pixels of a row share, or all of a column."""
    height, width = picture.shape[:2]
    sigma = log_uniform(random, 1.5, 20)
    shape = (height, 1) if random.random() < 0.5 else (1, width)
    return to_bytes(picture + _like(sigma * random.standard_normal(shape), picture)), {}


def dither(picture: Picture, random: np.random.Generator) -> Damaged:
    """Keep two to five grey levels by ordered dithering."""
    step = 255 / (int(random.integers(2, 6)) - 1)
    height, width = picture.shape[:2]
    thresholds = np.tile(_BAYER, (height // 4 + 1, width // 4 + 1))[:height, :width]
    return to_bytes(np.rint(picture / step + _like(thresholds, picture)) * step), {}


def lost_blocks(picture: Picture, random: np.random.Generator) -> Damaged:
    """Replace squares by others of the picture, or by their mean, as a broken transmission."""
    copy = picture.copy()
    for _ in range(int(log_uniform(random, 2, 40))):
        side = int(random.choice([8, 16, 32]))
        squares = np.array(picture.shape[:2]) // side
        top, left = random.integers(0, squares) * side
        from_top, from_left = random.integers(0, squares) * side
        place = np.s_[top : top + side, left : left + side]
        if random.random() < 0.6:
            copy[place] = picture[from_top : from_top + side, from_left : from_left + side]
        else:
            copy[place] = picture[place].mean()
    return copy, {}


def text(picture: Picture, random: np.random.Generator) -> Damaged:
    """Write white words over the picture."""
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    white = 255 if picture.ndim == 2 else (255, 255, 255)
    for _ in range(int(random.integers(1, 6))):
        left = int(random.integers(-50, max(1, image.width // 2)))
        bottom = int(random.integers(20, image.height))
        font = ImageFont.load_default(size=22 * random.uniform(0.5, 3))
        stroke = int(random.integers(1, 5)) // 2
        draw.text((left, bottom), "SAMPLE 2026", white, font, "ls", stroke_width=stroke)
    return np.asarray(image), {}


def palette(picture: Picture, random: np.random.Generator) -> Damaged:
    """Keep 8 to 64 colours, as a GIF does, with or without error diffusion."""
    colours = int(random.choice([8, 16, 32, 64]))
    ways = (Image.Dither.NONE, Image.Dither.FLOYDSTEINBERG)
    way = ways[random.integers(2)]
    few = Image.fromarray(picture).convert("RGB").quantize(colours, dither=way)
    copy = np.asarray(few.convert("RGB"))
    return (copy if picture.ndim == 3 else copy[..., 1]), {}


def shift(picture: Picture, random: np.random.Generator) -> Damaged:
    """Move the picture by up to two pixels."""
    down = int(random.integers(-2, 3)) or 1
    right = int(random.integers(-2, 3))
    return np.roll(picture, (down, right), (0, 1)), {}


def rotation(picture: Picture, random: np.random.Generator) -> Damaged:
    """Turn the picture by up to two degrees about its middle."""
    angle = np.deg2rad(_sign(random) * log_uniform(random, 0.1, 2))
    height, width = picture.shape[:2]
    rows, columns = np.indices((height, width)) - np.array([height, width])[:, None, None] / 2
    down = rows * (np.cos(angle) - 1) - columns * np.sin(angle)
    right = rows * np.sin(angle) + columns * (np.cos(angle) - 1)
    return _moved(picture, down, right, order=3), {}


def dilation(picture: Picture, random: np.random.Generator) -> Damaged:
    """Take the largest or the smallest of neighbouring pixels."""
    side = int(random.choice([2, 3]))
    extreme = ndimage.maximum_filter if random.random() < 0.5 else ndimage.minimum_filter
    return extreme(picture, side, axes=(0, 1)), {}


def anisotropic(picture: Picture, random: np.random.Generator) -> Damaged:
    """Diffuse along edges but not across them (Perona and Malik)."""
    values = picture.astype(np.float32)
    edge = log_uniform(random, 5, 30)
    for _ in range(int(random.integers(3, 15))):
        for axis in (0, 1):
            for step in (1, -1):
                slope = np.roll(values, step, axis) - values
                values = values + 0.15 * slope * np.exp(-((slope / edge) ** 2))
    return to_bytes(values), {}


def jitter(picture: Picture, random: np.random.Generator) -> Damaged:
    """Take each pixel from a random place near it."""
    most = log_uniform(random, 0.3, 3)
    down, right = random.uniform(-most, most, (2, *picture.shape[:2]))
    return _moved(picture, down, right, order=1), {}


# --- damage that is never trained ---------------------------------------------------------------


def cosine_codec(picture: Picture, random: np.random.Generator) -> Damaged:
    """Quantise the cosine transform of blocks of 16×16 pixels."""
    values = whole_blocks(picture, 16)
    height, width, channels = values.shape
    blocks = values.reshape(height // 16, 16, width // 16, 16, channels)
    slope = np.add.outer(np.arange(16), np.arange(16))
    step = log_uniform(random, 6, 120) * (1 + 0.1 * slope)
    coefficients = fft.dctn(blocks, axes=(1, 3), norm="ortho")
    kept = quantised(coefficients, step[None, :, None, :, None])
    copy = fft.idctn(kept, axes=(1, 3), norm="ortho").reshape(values.shape)
    return cut_to(copy, picture), {}


def haar_codec(picture: Picture, random: np.random.Generator) -> Damaged:
    """Quantise the differences between means of squares of 8, 4, 2 and 1 pixels."""
    values = whole_blocks(picture, 8)
    step = log_uniform(random, 6, 90)
    copy = _square_means(values, 8)
    for side in (4, 2, 1):
        detail = _square_means(values, side) - _square_means(values, 2 * side)
        copy += quantised(detail, step / side)
    return cut_to(copy, picture), {}


def _square_means(values: Floats, side: int) -> Floats:
    height, width, channels = values.shape
    blocks = values.reshape(height // side, side, width // side, side, channels)
    means: Floats = blocks.mean(axis=(1, 3)).repeat(side, axis=0).repeat(side, axis=1)
    return means


def total_variation(picture: Picture, random: np.random.Generator) -> Damaged:
    """Smooth by total variation (Chambolle)."""
    from skimage import restoration

    copy = restoration.denoise_tv_chambolle(  # type: ignore[no-untyped-call]
        picture.astype(np.float32) / 255,
        weight=log_uniform(random, 0.02, 0.3),
        max_num_iter=50,
        channel_axis=2 if picture.ndim == 3 else None,
    )
    return to_bytes(255 * copy), {}


def moire(picture: Picture, random: np.random.Generator) -> Damaged:
    """Add a fine sine wave."""
    rows, columns = np.indices(picture.shape[:2])
    angle = random.uniform(0, np.pi)
    period = random.uniform(3, 12)
    phase = 2 * np.pi / period * (rows * np.sin(angle) + columns * np.cos(angle))
    return to_bytes(picture + _like(log_uniform(random, 3, 40) * np.sin(phase), picture)), {}


def interlacing(picture: Picture, random: np.random.Generator) -> Damaged:
    """Move every other row sideways, as between the two fields of a moving video."""
    copy = picture.copy()
    copy[1::2] = np.roll(picture[1::2], int(random.integers(1, 9)), axis=1)
    return copy, {}


def scratches(picture: Picture, random: np.random.Generator) -> Damaged:
    """Draw thin light or dark lines from edge to edge."""
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    for _ in range(int(log_uniform(random, 3, 40))):
        left, right = (int(place) for place in random.integers(0, image.width, 2))
        level = int(random.choice([30, 230]))
        ink = level if picture.ndim == 2 else (level, level, level)
        draw.line([(left, 0), (right, image.height)], ink)
    return np.asarray(image), {}


def glow(picture: Picture, random: np.random.Generator) -> Damaged:
    """Spread the light of bright places to their surroundings."""
    light = np.maximum(picture.astype(np.float32) - random.uniform(90, 180), 0)
    around = _gaussian(light, random.uniform(4, 20))
    return to_bytes(picture + log_uniform(random, 0.2, 1.5) * around), {}


# --- the table ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Damage:
    """One row of the table.

    Parameters
    ----------
    name
        The name, unique in the table.
    group
        `KNOWN`, `ENCODERS`, `UNSEEN` or `LEFT_OUT`.
    label
        What the classifier is to call it: a kind of `core.comparison.kinds`, or `none`.
    apply
        Damages a picture.
    needs
        The module of an optional library without which it cannot be made.
    family
        The family of a damage that is left out, where it has one.
    """

    name: str
    group: str
    label: str
    apply: Apply
    needs: str | None = None
    family: str | None = None


def _known(name: str, apply: Apply, needs: str | None = None) -> Damage:
    return Damage(name, KNOWN, name, apply, needs)


def _unseen(name: str, apply: Apply) -> Damage:
    return Damage(name, UNSEEN, NONE, apply)


def _left_out(name: str, apply: Apply, family: str | None = None) -> Damage:
    return Damage(name, LEFT_OUT, NONE, apply, family=family)


TABLE = (
    _known("luminance", luminance),
    _known("contrast", contrast),
    _known("gamma", gamma),
    _known("posterisation", posterisation),
    _known("tone-curve", tone_curve),
    _known("blur", blur),
    _known("motion-blur", motion_blur),
    _known("sharpening", sharpening),
    _known("resampling", resampling),
    _known("median", median),
    _known("gaussian-noise", gaussian_noise),
    _known("impulse", impulse),
    _known("speckle", speckle),
    _known("poisson-noise", poisson_noise),
    _known("jpeg", jpeg),
    _known("jpeg-2000", jpeg_2000),
    _known("webp", webp),
    _known("avif", avif),
    _known("heic", heic, "pillow_heif"),
    _known("jpeg-xl", jpeg_xl, "pillow_jxl"),
    Damage("mozjpeg", ENCODERS, "jpeg", mozjpeg, "pyvips"),
    Damage("ffmpeg-jpeg", ENCODERS, "jpeg", codecs.ffmpeg_jpeg, "av"),
    Damage("vp8", ENCODERS, "webp", codecs.vp8, "av"),
    Damage("svt-av1", ENCODERS, "avif", codecs.svt_av1, "av"),
    Damage("x265", ENCODERS, "heic", codecs.x265, "av"),
    _unseen("warp", warp),
    _unseen("clahe", clahe),
    _unseen("bilateral", bilateral),
    _unseen("non-local-means", non_local_means),
    _unseen("fog", fog),
    _unseen("vignette", vignette),
    _unseen("grain", grain),
    _unseen("banding", banding),
    _unseen("dither", dither),
    _unseen("lost-blocks", lost_blocks),
    _unseen("text", text),
    _unseen("palette", palette),
    _unseen("shift", shift),
    _unseen("rotation", rotation),
    _unseen("dilation", dilation),
    _unseen("anisotropic", anisotropic),
    _unseen("jitter", jitter),
    Damage("jpeg-xr", UNSEEN, OTHER_COMPRESSION, jpeg_xr, "imagecodecs"),
    Damage("jpeg-ls", UNSEEN, OTHER_COMPRESSION, jpeg_ls, "imagecodecs"),
    Damage("sperr", UNSEEN, OTHER_COMPRESSION, codecs.sperr, "imagecodecs"),
    Damage("h264", UNSEEN, OTHER_COMPRESSION, codecs.h264, "av"),
    Damage("vp9", UNSEEN, OTHER_COMPRESSION, codecs.vp9, "av"),
    Damage("lapped-codec", UNSEEN, OTHER_COMPRESSION, codecs.lapped_codec),
    Damage("hadamard-codec", UNSEEN, OTHER_COMPRESSION, codecs.hadamard_codec),
    Damage("vector-codec", UNSEEN, OTHER_COMPRESSION, codecs.vector_codec),
    _left_out("cosine-codec", cosine_codec, COMPRESSION),
    _left_out("haar-codec", haar_codec, COMPRESSION),
    _left_out("total-variation", total_variation, FILTER),
    _left_out("moire", moire),
    _left_out("interlacing", interlacing),
    _left_out("scratches", scratches),
    _left_out("glow", glow),
)
DAMAGES = {damage.name: damage for damage in TABLE}


def group(name: str) -> list[Damage]:
    """Return the damages of a group that can be made here, in the order of the table."""
    return [each for each in TABLE if each.group == name and _importable(each.needs)]


def missing() -> list[Damage]:
    """Return the damages whose library is not installed."""
    return [each for each in TABLE if not _importable(each.needs)]


@functools.cache
def _importable(module: str | None) -> bool:
    """Whether a library can be loaded; a binding without its shared library raises OSError."""
    if module is None:
        return True
    try:
        importlib.import_module(module)
    except (ImportError, OSError):
        return False
    return True
