"""Traces of codecs: coefficients that became zero, and edges on the grids of blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import fft

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.comparison.pair import Floats, Pair

_NEAR_ZERO = 0.7
_NEAR_ZERO_WAVELET = 0.6
_PERIODS = (4, 8, 16, 32, 64)
_WAVELET_LEVELS = 3


def square_blocks(picture: Floats, side: int, top: int = 0, left: int = 0) -> Floats:
    """Return the whole blocks of a picture from an offset on, shape (block, side, side)."""
    part = picture[top:, left:]
    rows = part.shape[0] // side
    columns = part.shape[1] // side
    whole = part[: rows * side, : columns * side]
    return whole.reshape(rows, side, columns, side).swapaxes(1, 2).reshape(-1, side, side)


def cosine_transform(blocks: Floats) -> Floats:
    """Return the orthonormal cosine transform of each block, shape (block, side, side)."""
    found: Floats = fft.dctn(blocks, axes=(1, 2), norm="ortho")
    return found


def trace_features(pair: Pair) -> dict[str, float]:
    """Return the surplus of zeros in cosine and wavelet transforms, and of edges on grids."""
    reference = pair.reference_luma
    copy = pair.copy_luma
    found: dict[str, float] = {}
    for side in (4, 16, 32):
        found |= _zero_features(reference, copy, side)
    found |= _edge_features(reference, copy)
    found |= _wavelet_features(reference, copy)
    return {name: float(value) for name, value in found.items()}


def _zero_features(reference: Floats, copy: Floats, side: int) -> dict[str, float]:
    blocks = (
        square_blocks(copy, side),
        square_blocks(reference, side),
        square_blocks(copy, side, side // 2, side // 2),
    )
    step = max(1, len(blocks[0]) // (4096 * 16 // side**2))
    transforms = [np.abs(cosine_transform(each[::step])) for each in blocks]
    frequency = np.add.outer(np.arange(side), np.arange(side)) / side
    found = {}
    for name, band in (("l", (frequency > 0) & (frequency <= 0.5)), ("h", frequency > 0.5)):
        zeros = [(each[:, band] < _NEAR_ZERO).mean() if len(each) else 0.0 for each in transforms]
        found[f"z{side}{name}"] = zeros[0] - zeros[1]
        found[f"z{side}{name}_off"] = zeros[0] - zeros[2]
    return found


def _edge_features(reference: Floats, copy: Floats) -> dict[str, float]:
    """Return how much steeper the change and the copy are on the grids of 4, 8, … 64 pixels."""
    found = {}
    change_steps = _steps(copy - reference)
    copy_steps = _steps(copy)
    reference_steps = _steps(reference)
    for period in _PERIODS:
        found[f"edge_e{period}"] = _mean([_on_grid(steps, period) for steps in change_steps])
        found[f"edge_t{period}"] = _mean(
            [
                _on_grid(ours, period) - _on_grid(theirs, period)
                for ours, theirs in zip(copy_steps, reference_steps, strict=True)
                if np.isfinite(_on_grid(ours, period))
            ]
        )
    halves = [steps[start::2].mean() for steps in change_steps for start in (0, 1)]
    found["edge_2"] = np.log((max(halves) + 0.01) / (min(halves) + 0.01))
    return found


def _steps(picture: Floats) -> list[NDArray[np.float32]]:
    """Return the mean squared step to the next column and to the next row."""
    return [
        np.square(np.diff(picture, axis=1)).mean(0),
        np.square(np.diff(picture, axis=0)).mean(1),
    ]


def _on_grid(steps: NDArray[np.float32], period: int) -> float:
    place = np.arange(1, len(steps) + 1)
    on_grid = place % period == 0
    if period < _PERIODS[-1]:
        # Lines that belong to the next coarser grid as well are counted there.
        on_grid &= place % (2 * period) != 0
    between = place % 4 == 2 if period == 4 else place % 4 != 0
    if on_grid.sum() < 2:
        return float("nan")
    return float(np.log((steps[on_grid].mean() + 0.01) / (steps[between].mean() + 0.01)))


def _mean(values: list[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else 0.0


def _wavelet_features(reference: Floats, copy: Floats) -> dict[str, float]:
    found = {}
    for level in range(_WAVELET_LEVELS):
        copy, copy_detail = _wavelet(copy)
        reference, reference_detail = _wavelet(reference)
        zeros = [
            (np.abs(detail) < _NEAR_ZERO_WAVELET).mean()
            for detail in (copy_detail, reference_detail)
        ]
        power = [np.square(detail).mean() + 0.1 for detail in (copy_detail, reference_detail)]
        found[f"w{level}_zero"] = zeros[0] - zeros[1]
        found[f"w{level}_pow"] = np.log10(power[0] / power[1])
    return found


def _wavelet(picture: Floats) -> tuple[Floats, Floats]:
    """Return the coarse picture and all details of one level of the 9/7 wavelet of JPEG 2000."""
    low, high = _lift(picture)
    low_low, low_high = _lift(low.T)
    high_low, high_high = _lift(high.T)
    details = np.concatenate([low_high.ravel(), high_low.ravel(), high_high.ravel()])
    return low_low.T, details


def _lift(picture: Floats) -> tuple[Floats, Floats]:
    """Lift the rows of a picture into coarse and detail (ITU-T T.800, Annex F)."""
    even = picture.shape[0] // 2 * 2
    coarse = picture[0:even:2].copy()
    detail = picture[1:even:2].copy()
    detail += np.float32(-1.586134342) * (coarse + _next(coarse))
    coarse += np.float32(-0.05298011854) * (detail + _previous(detail))
    detail += np.float32(0.8829110762) * (coarse + _next(coarse))
    coarse += np.float32(0.4435068522) * (detail + _previous(detail))
    return coarse * np.float32(1.149604398), detail / np.float32(1.149604398)


def _next(rows: Floats) -> Floats:
    return np.concatenate([rows[1:], rows[-1:]])


def _previous(rows: Floats) -> Floats:
    return np.concatenate([rows[:1], rows[:-1]])
