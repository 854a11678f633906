"""Resampling as other programs do it: kernels, and a picture brought to another one's pixels.

Rows and columns are resampled one after the other by sparse matrices of weights, so that every
kernel works with any scale and shift, and with parts of a picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image
from scipy import ndimage, sparse

from isca_gui.core.alignment.placement import whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from isca_gui.core.alignment.placement import Placement

    Floats = NDArray[np.float32]
    Array = NDArray[np.float64]
    Window = tuple[int, int, int, int]

# Above this scale nothing has to be averaged before a picture is rotated.
_MOST_STEP = 1.2
_SAME = 1e-9
# Samples around a rotated window that its kernel and the spline's beginning need.
_AROUND = 16


def _triangle(x: Array) -> Array:
    found: Array = np.maximum(0, 1 - np.abs(x))
    return found


def _cubic(a: float, b: float = 0.0) -> Callable[[Array], Array]:
    """Return the cubic kernel of a sharpness a, or with b the one of Mitchell and Netravali."""
    c = -a

    def kernel(x: Array) -> Array:
        t = np.abs(x)
        near = (12 - 9 * b - 6 * c) * t**3 + (-18 + 12 * b + 6 * c) * t**2 + (6 - 2 * b)
        far = (-b - 6 * c) * t**3 + (6 * b + 30 * c) * t**2 + (-12 * b - 48 * c) * t
        far += 8 * b + 24 * c
        found: Array = np.where(t < 1, near, np.where(t < 2, far, 0)) / 6
        return found

    return kernel


def _lanczos(lobes: int) -> Callable[[Array], Array]:
    def kernel(x: Array) -> Array:
        found: Array = np.where(np.abs(x) < lobes, np.sinc(x) * np.sinc(x / lobes), 0)
        return found

    return kernel


def _hamming(x: Array) -> Array:
    found: Array = np.where(np.abs(x) < 1, np.sinc(x) * (0.54 + 0.46 * np.cos(np.pi * x)), 0)
    return found


def _box(x: Array) -> Array:
    found: Array = ((x > -0.5) & (x <= 0.5)).astype(np.float64)
    return found


@dataclass(frozen=True)
class Kernel:
    """One way to resample.

    Parameters
    ----------
    name
        Unique.
    filter
        The name of the filter that people know.
    weight
        Weight by distance in pixels; None for those with weights of their own.
    support
        Distance beyond which there is no weight.
    averages
        Whether the kernel is widened when a picture is made smaller, as Pillow does it and
        OpenCV does not.
    """

    name: str
    filter: str
    weight: Callable[[Array], Array] | None
    support: float
    averages: bool = True


TABLE = (
    Kernel("bicubic", "bicubic", _cubic(-0.5), 2),
    Kernel("lanczos", "Lanczos", _lanczos(3), 3),
    Kernel("bilinear", "bilinear", _triangle, 1),
    Kernel("area", "area", None, 0.5),
    Kernel("nearest", "nearest", None, 0.5, averages=False),
    Kernel("box", "area", _box, 0.5),
    Kernel("hamming", "Hamming", _hamming, 1),
    Kernel("mitchell", "Mitchell", _cubic(-1 / 3, 1 / 3), 2),
    Kernel("bicubic-sharp", "bicubic", _cubic(-0.75), 2),
    Kernel("bicubic-sharpest", "bicubic", _cubic(-1.0), 2),
    Kernel("nearest-corner", "nearest", None, 0.5, averages=False),
    Kernel("bilinear-plain", "bilinear", _triangle, 1, averages=False),
    Kernel("bicubic-plain", "bicubic", _cubic(-0.75), 2, averages=False),
    Kernel("catmull-rom-plain", "bicubic", _cubic(-0.5), 2, averages=False),
    Kernel("lanczos-plain", "Lanczos", _lanczos(4), 4, averages=False),
    Kernel("gaussian", "bilinear", None, 1, averages=False),
)
KERNELS = {kernel.name: kernel for kernel in TABLE}
# Of these, some are the same where a picture is made larger.
_LARGER = (
    "bicubic",
    "lanczos",
    "bilinear",
    "nearest",
    "hamming",
    "mitchell",
    "bicubic-sharp",
    "nearest-corner",
    "lanczos-plain",
)
# How pictures are moved by fractions of a pixel or rotated.
_MOVED = (
    "bicubic",
    "bilinear",
    "bicubic-sharp",
    "bicubic-sharpest",
    "lanczos",
    "spline",
)
_ROTATED = ("bicubic", "bilinear", "spline", "nearest")
KERNELS["spline"] = Kernel("spline", "spline", None, 4, averages=False)


def kernels_for(placement: Placement, shape: tuple[int, ...]) -> tuple[str, ...]:
    """Return the kernels that may have made a copy of a shape, likeliest first."""
    step = max(placement.steps(shape))
    if placement.angle:
        return _ROTATED
    if abs(step - 1) < _SAME and abs(min(placement.steps(shape)) - 1) < _SAME:
        return _MOVED
    if step <= 1:
        return _LARGER
    return tuple(kernel.name for kernel in TABLE)


def bring(
    picture: NDArray[Any],
    placement: Placement,
    shape: tuple[int, ...],
    kernel: str = "bicubic",
    window: Window | None = None,
) -> Floats:
    """Return a turned picture on the pixels of a copy; its rim is repeated beyond it.

    Parameters
    ----------
    picture
        The reference after `Placement.oriented`, on the scale 0 to 255: grey (height, width) or
        colour (height, width, 3).
    placement
        Where the copy lies in it.
    shape
        Of the copy.
    kernel
        A name of `KERNELS`.
    window
        The part of the copy that is wanted: top, bottom, left, right. All of it by default.
    """
    top, bottom, left, right = window or (0, shape[0], 0, shape[1])
    if placement.angle:
        return _rotated(picture, placement, shape, kernel, (top, bottom, left, right))
    step_x, step_y = placement.steps(shape)
    starts = (placement.left, placement.top)
    if _is_whole(step_x, starts[0]) and _is_whole(step_y, starts[1]):
        rows = np.clip(np.arange(top, bottom) + round(starts[1]), 0, picture.shape[0] - 1)
        columns = np.clip(np.arange(left, right) + round(starts[0]), 0, picture.shape[1] - 1)
        return np.ascontiguousarray(picture[rows[:, None], columns], np.float32)
    chosen = KERNELS[kernel]
    rows = _weights(chosen, starts[1], step_y, (top, bottom), picture.shape[0])
    columns = _weights(chosen, starts[0], step_x, (left, right), picture.shape[1])
    half_done = _apply(columns, np.swapaxes(picture, 0, 1))
    if chosen.averages:
        # Pillow resamples along the rows first, and cuts off what is beyond black and white.
        np.clip(half_done, 0, 255, out=half_done)
    return _apply(rows, np.swapaxes(half_done, 0, 1))


def _is_whole(step: float, start: float) -> bool:
    return abs(step - 1) < _SAME and abs(start - round(start)) < _SAME


def _apply(weights: sparse.csr_matrix, picture: NDArray[Any]) -> Floats:
    """Return weighted sums of the first axis."""
    flat = np.ascontiguousarray(picture, np.float32).reshape(picture.shape[0], -1)
    return np.asarray(weights @ flat, np.float32).reshape(-1, *picture.shape[1:])


def _weights(
    kernel: Kernel, start: float, step: float, ends: tuple[int, int], size: int
) -> sparse.csr_matrix:
    """Return the weights of a line's samples for each pixel wanted, shape (pixel, sample)."""
    places = np.arange(*ends)
    centres = start + (places.astype(np.float64) + 0.5) * step
    if kernel.name == "nearest":
        # Pillow adds step to step, and at the border of two samples its rounding decides.
        summed = np.add.accumulate(np.r_[start + step / 2, np.full(max(ends[1] - 1, 0), step)])
        return _matrix(np.floor(summed[places])[:, None], np.ones((len(places), 1)), size)
    if kernel.name == "nearest-corner":
        corner = np.floor(start + places * step + 1e-6)
        return _matrix(corner[:, None], np.ones((len(places), 1)), size)
    if kernel.name == "area":
        return _area(centres, max(step, 1.0), size)
    if kernel.name == "gaussian":
        plain = _kernel_matrix(KERNELS["bilinear-plain"], centres, step, size)
        return plain @ _gaussian(max(0.0, (step - 1) / 2), size)
    if kernel.name == "spline":
        return _kernel_matrix(KERNELS["lanczos-plain"], centres, step, size)
    return _kernel_matrix(kernel, centres, step, size)


def _kernel_matrix(kernel: Kernel, centres: Array, step: float, size: int) -> sparse.csr_matrix:
    stretch = max(step, 1.0) if kernel.averages else 1.0
    reach = kernel.support * stretch
    first: Array = np.ceil(centres - reach - 0.5)
    index: Array = first[:, None] + np.arange(int(np.ceil(2 * reach)) + 1.0)
    assert kernel.weight is not None
    weights = kernel.weight((index + 0.5 - centres[:, None]) / stretch)
    if kernel.averages:
        # Pillow leaves out what is beyond the rim, the others repeat it.
        inside = (index >= 0) & (index < size)
        beyond = (centres < 0) | (centres > size)
        weights = np.where(inside | beyond[:, None], weights, 0)
    return _matrix(index, weights, size)


def _area(centres: Array, step: float, size: int) -> sparse.csr_matrix:
    """Return weights by the share of each sample that lies under a pixel."""
    begin = centres - step / 2
    index: Array = np.floor(begin)[:, None] + np.arange(int(np.ceil(step)) + 1.0)
    ends = np.minimum(index + 1, (begin + step)[:, None])
    return _matrix(index, np.maximum(0, ends - np.maximum(index, begin[:, None])), size)


def _gaussian(sigma: float, size: int) -> sparse.csr_matrix:
    reach = int(4 * sigma + 0.5)
    offsets = np.arange(-reach, reach + 1.0)
    bell = np.exp(-0.5 * np.square(offsets / max(sigma, 1e-6)))
    index: Array = np.arange(float(size))[:, None] + offsets
    return _matrix(index, np.broadcast_to(bell, index.shape), size)


def _matrix(index: Array, weights: Array, size: int) -> sparse.csr_matrix:
    count, taps = index.shape
    columns = np.clip(index, 0, size - 1).astype(np.int32)
    total = weights.sum(1, keepdims=True)
    shares = (weights / np.where(np.abs(total) > 1e-6, total, 1)).astype(np.float32)
    starts = np.arange(0, count * taps + 1, taps)
    return sparse.csr_matrix((shares.ravel(), columns.ravel(), starts), shape=(count, size))


def _rotated(
    picture: NDArray[Any],
    placement: Placement,
    shape: tuple[int, ...],
    kernel: str,
    window: Window,
) -> Floats:
    """Return a picture that is rotated as well; one that gets smaller is made smaller before."""
    if picture.ndim == 3:
        channels = [
            _rotated(picture[..., k], placement, shape, kernel, window)
            for k in range(picture.shape[2])
        ]
        return np.stack(channels, 2)
    steps = placement.steps(shape)
    scale = np.ones(2)
    if max(steps) > _MOST_STEP:
        smaller = (
            max(1, round(picture.shape[0] / steps[1])),
            max(1, round(picture.shape[1] / steps[0])),
        )
        scale = np.array([smaller[1] / picture.shape[1], smaller[0] / picture.shape[0]])
        picture = bring(picture, whole(picture.shape), smaller, "bicubic")
    top, bottom, left, right = window
    corners = np.array([[left, top], [left + 1, top], [left, top + 1], [right, bottom]], float)
    ends = np.array([[right, top], [left, bottom]], float)
    origin, across, down, last = placement.places(shape, corners) * scale
    around = np.stack([origin, last, *(placement.places(shape, ends) * scale)])
    low = np.clip(np.floor(around.min(0)) - _AROUND, 0, [picture.shape[1], picture.shape[0]])
    high = np.ceil(around.max(0)) + _AROUND
    x, y = low.astype(int)
    source = np.ascontiguousarray(picture[y : int(high[1]), x : int(high[0])], np.float32)
    size = (right - left, bottom - top)
    if not source.size:
        return np.zeros(size[::-1], np.float32)
    return _affine(source, origin - low, across - origin, down - origin, size, kernel)


def _affine(
    source: Floats, origin: Array, across: Array, down: Array, size: tuple[int, int], kernel: str
) -> Floats:
    """Return a picture sampled along two directions from an origin on.

    Parameters
    ----------
    source
        Shape (height, width).
    origin
        The place, x and y, of the upper left corner of what is made.
    across, down
        The way from a pixel to the next one in its row and in its column.
    size
        Width and height of what is made.
    kernel
        `spline`, `nearest`, `bilinear`, or any other name for a bicubic one.
    """
    if kernel == "spline":
        matrix = np.array([[down[1], across[1]], [down[0], across[0]]])
        offset = origin[::-1] + matrix @ np.array([0.5, 0.5]) - 0.5
        made: Floats = ndimage.affine_transform(
            source, matrix, offset, size[::-1], order=3, mode="nearest"
        )
        return made
    data = (across[0], down[0], origin[0], across[1], down[1], origin[1])
    ways = {"nearest": Image.Resampling.NEAREST, "bilinear": Image.Resampling.BILINEAR}
    way = ways.get(kernel, Image.Resampling.BICUBIC)
    picture = Image.fromarray(source).transform(size, Image.Transform.AFFINE, data, way)
    return np.asarray(picture, np.float32)


def covered(
    placement: Placement,
    reference: tuple[int, ...],
    shape: tuple[int, ...],
    window: Window | None = None,
) -> NDArray[np.bool_]:
    """Return which pixels of a copy lie in the reference.

    Parameters
    ----------
    placement
        Where the copy lies.
    reference
        Shape of the turned reference.
    shape
        Shape of the copy.
    window
        The part of the copy that is wanted: top, bottom, left, right. All of it by default.
    """
    top, bottom, left, right = window or (0, shape[0], 0, shape[1])
    x = np.arange(left, right) + 0.5
    y = np.arange(top, bottom) + 0.5
    if not placement.angle:
        step_x, step_y = placement.steps(shape)
        u = placement.left + x * step_x
        v = placement.top + y * step_y
        return ((v > 0) & (v < reference[0]))[:, None] & ((u > 0) & (u < reference[1]))
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    origin, across, down = placement.places(shape, corners)
    rim = np.maximum(placement.steps(shape), 1.0)
    inside = np.ones((len(y), len(x)), bool)
    for axis, size in enumerate((reference[1], reference[0])):
        along_x = origin[axis] + (across - origin)[axis] * x
        along_y = (down - origin)[axis] * y
        place = along_x + along_y[:, None]
        inside &= (place > rim[axis]) & (place < size - rim[axis])
    return inside
