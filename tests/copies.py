"""Copies of photographs as people have them, made without any of the program's own distortions."""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageDraw
from scipy import ndimage

from isca_gui.core.pictures import samples

if TYPE_CHECKING:
    from collections.abc import Callable

    # Pixels of 8 bits, grey (height, width) or colour (height, width, 3).
    Pixels = np.ndarray

PHOTOGRAPHS = ("astronaut", "coffee", "chelsea", "camera")


@functools.cache
def photograph(name: str) -> Pixels:
    """The pixels of a sample picture, read by Pillow alone."""
    with Image.open(samples.resolve(f"sample:{name}")) as picture:
        found = np.asarray(picture)
    found.flags.writeable = False
    return found


def part(name: str, height: int, width: int, top: int = 60, left: int = 110) -> Pixels:
    return np.ascontiguousarray(photograph(name)[top : top + height, left : left + width])


def unit(pixels: Pixels) -> np.ndarray:
    """As the engine takes it: float32 in [0, 1]."""
    return pixels.astype(np.float32) / np.float32(255)


def whole(values: np.ndarray) -> Pixels:
    """Rounded and cut off at black and white."""
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def file_of(pixels: Pixels, form: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, form, **options)
    return stream.getvalue()


def saved(pixels: Pixels, form: str, **options: Any) -> Pixels:
    with Image.open(io.BytesIO(file_of(pixels, form, **options))) as picture:
        return np.asarray(picture.convert("RGB" if pixels.ndim == 3 else "L"))


def each_channel(pixels: Pixels, work: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    values = pixels.astype(np.float64)
    if values.ndim == 2:
        return work(values)
    return np.stack([work(values[..., index]) for index in range(3)], axis=2)


def shifted(pixels: Pixels, levels: float) -> Pixels:
    return whole(pixels + float(levels))


def stretched(pixels: Pixels, gain: float) -> Pixels:
    return whole((pixels - 128.0) * gain + 128)


def with_gamma(pixels: Pixels, gamma: float) -> Pixels:
    return whole(255 * (pixels / 255.0) ** gamma)


def posterised(pixels: Pixels, levels: int) -> Pixels:
    return whole(np.floor(pixels / 256.0 * levels) * 255 / (levels - 1))


def blurred(pixels: Pixels, sigma: float) -> Pixels:
    return whole(each_channel(pixels, lambda values: ndimage.gaussian_filter(values, sigma)))


def moved(pixels: Pixels, length: int) -> Pixels:
    """Motion along the rows."""
    work = functools.partial(ndimage.uniform_filter1d, size=length, axis=1)
    return whole(each_channel(pixels, work))


def sharpened(pixels: Pixels, amount: float, radius: float) -> Pixels:
    return whole(
        each_channel(
            pixels,
            lambda values: values + amount * (values - ndimage.gaussian_filter(values, radius)),
        )
    )


def made_smaller(pixels: Pixels, scale: float) -> Pixels:
    picture = Image.fromarray(pixels)
    size = (round(picture.width * scale), round(picture.height * scale))
    small = picture.resize(size, Image.Resampling.BICUBIC)
    return np.asarray(small.resize(picture.size, Image.Resampling.BICUBIC))


def median_filtered(pixels: Pixels, side: int) -> Pixels:
    return whole(each_channel(pixels, lambda values: ndimage.median_filter(values, side)))


def noisy(pixels: Pixels, sigma: float, seed: int = 1) -> Pixels:
    return whole(pixels + np.random.default_rng(seed).normal(0, sigma, pixels.shape))


def speckled(pixels: Pixels, sigma: float, seed: int = 2) -> Pixels:
    return whole(pixels * (1 + np.random.default_rng(seed).normal(0, sigma, pixels.shape)))


def with_impulses(pixels: Pixels, share: float, seed: int = 3) -> Pixels:
    """Whole pixels turned black or white."""
    dice = np.random.default_rng(seed)
    hit = dice.random(pixels.shape[:2]) < share
    white = dice.random(pixels.shape[:2]) < 0.5
    found = pixels.copy()
    found[hit & white] = 255
    found[hit & ~white] = 0
    return found


def inside(pixels: Pixels, damaged: Pixels, top: int, bottom: int, left: int, right: int) -> Pixels:
    """Only a rectangle is damaged."""
    found = pixels.copy()
    found[top:bottom, left:right] = damaged[top:bottom, left:right]
    return found


# Damage that no classifier here has been trained on.


def warped(pixels: Pixels) -> Pixels:
    rows, columns = np.mgrid[: pixels.shape[0], : pixels.shape[1]]
    places = [rows + 2 * np.sin(columns / 20), columns + 2 * np.cos(rows / 20)]
    return whole(
        each_channel(
            pixels,
            lambda values: ndimage.map_coordinates(values, places, order=1, mode="reflect"),
        )
    )


def foggy(pixels: Pixels) -> Pixels:
    field = ndimage.gaussian_filter(np.random.default_rng(4).random(pixels.shape[:2]), 25)
    field = (field - field.min()) / np.ptp(field)
    weight = 0.8 * field if pixels.ndim == 2 else 0.8 * field[..., None]
    return whole(pixels * (1 - weight) + 220 * weight)


def written_over(pixels: Pixels) -> Pixels:
    picture = Image.fromarray(pixels)
    pen = ImageDraw.Draw(picture)
    white = 255 if pixels.ndim == 2 else (255, 255, 255)
    for top in range(10, pixels.shape[0], 40):
        pen.text((10, top), "CONFIDENTIAL draft, not for release " * 3, fill=white)
    return np.asarray(picture)
