"""Slow, literal versions of the numbers of a comparison, to test the fast ones against."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np


def luma(picture: np.ndarray) -> np.ndarray:
    """Rec. 601, pixel by pixel."""
    height, width = picture.shape[:2]
    found = np.zeros((height, width))
    for row in range(height):
        for column in range(width):
            red, green, blue = (float(value) for value in picture[row, column])
            found[row, column] = 0.299 * red + 0.587 * green + 0.114 * blue
    return found


def tone_curve(reference: np.ndarray, copy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the copy over each grey value; straight lines between values that are there."""
    groups: dict[int, list[float]] = {}
    for before, after in zip(reference.ravel().tolist(), copy.ravel().tolist(), strict=True):
        groups.setdefault(min(max(round(before), 0), 255), []).append(after)
    counts = np.array([float(len(groups.get(grey, []))) for grey in range(256)])
    means = {grey: sum(values) / len(values) for grey, values in groups.items()}
    curve = np.zeros(256)
    for grey in range(256):
        below = [known for known in means if known <= grey]
        above = [known for known in means if known >= grey]
        if not below or not above:
            curve[grey] = means[min(above)] if above else means[max(below)]
            continue
        low = max(below)
        high = min(above)
        part = (grey - low) / (high - low) if high > low else 0.0
        curve[grey] = means[low] + part * (means[high] - means[low])
    return curve, counts


def local_variance(picture: np.ndarray) -> np.ndarray:
    """The variance of 5×5 pixels; beyond the rim the picture is mirrored."""
    wide = np.pad(picture.astype(np.float64), 2, mode="symmetric")
    found = np.zeros(picture.shape)
    for row in range(picture.shape[0]):
        for column in range(picture.shape[1]):
            found[row, column] = wide[row : row + 5, column : column + 5].var()
    return found


def block_maps(reference: np.ndarray, copy: np.ndarray) -> dict[str, np.ndarray]:
    """The largest change, the mean squared change and the reference's deviation of each block."""
    before = luma(reference) if reference.ndim == 3 else reference.astype(np.float64)
    after = luma(copy) if copy.ndim == 3 else copy.astype(np.float64)
    shape = (math.ceil(before.shape[0] / 8), math.ceil(before.shape[1] / 8))
    found = {name: np.zeros(shape) for name in ("largest", "errors", "activity")}
    for row, column in itertools.product(range(shape[0]), range(shape[1])):
        place = (slice(8 * row, 8 * row + 8), slice(8 * column, 8 * column + 8))
        samples = np.abs(copy[place].astype(np.float64) - reference[place])
        change = after[place] - before[place]
        found["largest"][row, column] = max(samples.max(), np.abs(change).max())
        found["errors"][row, column] = (change**2).mean()
        found["activity"][row, column] = before[place].std()
    return found


def largest_area(mask: np.ndarray) -> int:
    """The area of the largest rectangle of True: every rectangle is tried."""
    best = 0
    rows, columns = mask.shape
    for top, left in itertools.product(range(rows), range(columns)):
        for bottom, right in itertools.product(range(top + 1, rows + 1), range(left, columns + 1)):
            if mask[top:bottom, left:right].all():
                best = max(best, (bottom - top) * (right - left))
    return best


def cut_blocks(picture: np.ndarray, side: int, top: int = 0, left: int = 0) -> np.ndarray:
    """All whole blocks from an offset on, row by row."""
    height, width = picture.shape
    return np.array(
        [
            picture[row : row + side, column : column + side]
            for row in range(top, height - side + 1, side)
            for column in range(left, width - side + 1, side)
        ]
    )


def cosine_transform(block: np.ndarray) -> np.ndarray:
    """The orthonormal cosine transform by its definition."""
    side = len(block)
    found = np.zeros((side, side))
    for u, v in itertools.product(range(side), repeat=2):
        total = 0.0
        for row, column in itertools.product(range(side), repeat=2):
            total += (
                float(block[row, column])
                * math.cos(math.pi * (2 * row + 1) * u / (2 * side))
                * math.cos(math.pi * (2 * column + 1) * v / (2 * side))
            )
        scale = [math.sqrt((1 if index == 0 else 2) / side) for index in (u, v)]
        found[u, v] = scale[0] * scale[1] * total
    return found


def unlift(coarse: np.ndarray, detail: np.ndarray) -> np.ndarray:
    """The rows of a picture from those of its 9/7 wavelet: every step of the lifting undone."""
    even = (coarse / 1.149604398).astype(np.float64)
    odd = (detail * 1.149604398).astype(np.float64)
    last = len(even) - 1
    for factor, is_even in (
        (0.4435068522, True),
        (0.8829110762, False),
        (-0.05298011854, True),
        (-1.586134342, False),
    ):
        for row in range(last + 1):
            if is_even:
                even[row] -= factor * (odd[row] + odd[max(row - 1, 0)])
            else:
                odd[row] -= factor * (even[row] + even[min(row + 1, last)])
    found = np.zeros((2 * len(even), *even.shape[1:]))
    found[0::2] = even
    found[1::2] = odd
    return found


def neighbour_correlation(change: np.ndarray) -> float:
    """The larger mean product of neighbours inside blocks, across or down, over the power."""
    across: list[float] = []
    down: list[float] = []
    power: list[float] = []
    for block in cut_blocks(change.astype(np.float64), 8):
        rest = block - block.mean()
        for row, column in itertools.product(range(8), repeat=2):
            power.append(rest[row, column] ** 2)
            if column < 7:
                across.append(rest[row, column] * rest[row, column + 1])
            if row < 7:
                down.append(rest[row, column] * rest[row + 1, column])
    return max(np.mean(across), np.mean(down)) / (np.mean(power) + 0.02)


def walk(forest: Any, features: list[float]) -> list[float]:
    """The scores of a forest: every tree is walked from its root, branch by branch."""

    def leaf(node: int) -> float:
        feature = int(forest.feature[node])
        if feature < 0:
            return float(forest.value[node])
        goes_left = np.float32(features[feature]) <= forest.threshold[node]
        return leaf(int(forest.left[node] if goes_left else forest.right[node]))

    found = [0.0] * forest.count
    for root, output in zip(forest.roots, forest.outputs, strict=True):
        found[output] += leaf(int(root))
    return found
