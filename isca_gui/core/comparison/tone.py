"""Tone: the curve that leads from the reference's values to the copy's, its shape and its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage

from isca_gui.core.comparison.pair import LUMA_WEIGHTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.comparison.pair import Floats, Pair

    Curve = NDArray[np.float64]

GREYS = np.arange(256.0)
_SMOOTH_SHARE = 0.4
_COARSE = 32


def tone_curve(reference: Floats, copy: Floats) -> tuple[Curve, NDArray[np.float64]]:
    """Return the mean of the copy's values for each grey value of the reference, and their counts.

    Parameters
    ----------
    reference, copy
        One channel each, on the scale 0 to 255, of the same shape.
    """
    grey = np.clip(np.rint(reference), 0, 255).astype(np.intp).ravel()
    counts = np.bincount(grey, minlength=256).astype(np.float64)
    sums = np.bincount(grey, copy.ravel(), 256)
    there = counts > 0
    curve = np.interp(GREYS, np.flatnonzero(there), sums[there] / counts[there])
    return curve, counts


def apply_curve(picture: Floats, curve: Curve) -> Floats:
    """Return a picture with every value led through a curve."""
    return np.interp(picture, GREYS, curve).astype(np.float32)


def toned_luma(pair: Pair) -> Floats:
    """Return the luma of the reference after the tone curves of all its channels."""
    if pair.reference.ndim == 2:
        return apply_curve(pair.reference, tone_curve(pair.reference, pair.copy)[0])
    toned = np.zeros(pair.reference.shape[:2], dtype=np.float32)
    for weight, (reference, copy) in zip(LUMA_WEIGHTS, pair.channels, strict=True):
        toned += weight * apply_curve(reference, tone_curve(reference, copy)[0])
    return toned


def local_variance(picture: Floats) -> Floats:
    """Return the variance of 5×5 pixels around each pixel."""
    mean = ndimage.uniform_filter(picture, 5)
    found: Floats = ndimage.uniform_filter(picture * picture, 5) - mean * mean
    return found


def smooth_places(variance: Floats) -> NDArray[np.bool_]:
    """Return where a picture is smooth, by its local variance."""
    found: NDArray[np.bool_] = variance <= np.quantile(variance[::2, ::2], _SMOOTH_SHARE) + 0.05
    return found


def smooth_curve(reference: Floats, copy: Floats, variance: Floats) -> Curve:
    """Return the tone curve as smooth places of the reference show it.

    A filter changes little there, so this curve shows the tone alone where both have been changed.
    """
    smooth = smooth_places(variance)
    values = reference[smooth]
    copied = copy[smooth]
    bins = np.clip((values / 8).astype(np.intp), 0, _COARSE - 1)
    counts = np.bincount(bins, minlength=_COARSE)
    enough = counts >= max(20, 0.0005 * values.size)
    if enough.sum() < 2:
        return GREYS.copy()
    x = np.bincount(bins, values, _COARSE)[enough] / counts[enough]
    y = np.bincount(bins, copied, _COARSE)[enough] / counts[enough]
    found: Curve = np.interp(GREYS, x, y)
    return found


def curve_features(curve: Curve, counts: NDArray[np.float64], prefix: str) -> dict[str, float]:
    """Return numbers of a curve's shape: how far it lies from a shift, a gain and a gamma.

    Parameters
    ----------
    curve, counts
        As `tone_curve` gives them, shape (256,).
    prefix
        What the names of the numbers begin with.
    """
    weights = counts / counts.sum()
    moved = curve - GREYS
    rms = float(np.sqrt((weights * moved * moved).sum())) + 1e-6
    inside = _unclipped(curve, counts)
    inner = np.where(inside, weights, 0)
    inner = inner / (inner.sum() + 1e-12)

    def left(fit: Curve) -> float:
        return float(np.sqrt((inner * (curve - fit) ** 2).sum())) / rms

    shift = float((inner * moved).sum())
    offset, gain = _line(curve, inner)
    gamma, left_gamma = _best_gamma(curve, weights, inside, left)
    cubic = np.polyval(np.polyfit(GREYS, curve, 3, w=np.sqrt(weights) + 1e-9), GREYS)
    slope = np.diff(curve)
    between = np.minimum(weights[1:], weights[:-1])
    between = between / (between.sum() + 1e-12)
    found = {
        "rms": np.log(rms + 0.05),
        "shift": shift / rms,
        "left_shift": left(GREYS + shift),
        "gain": gain,
        "left_linear": left(offset + gain * GREYS),
        "left_gamma": left_gamma,
        "log_gamma": np.log(gamma + 1e-6),
        "left_cubic": float(np.sqrt((weights * (curve - cubic) ** 2).sum())) / rms,
        "falling": (between * (slope < -0.3)).sum(),
        "flat": (between * (np.abs(slope) < 0.05)).sum(),
        "steps": (between * (slope > 4)).sum(),
    }
    return {prefix + name: float(value) for name, value in found.items()}


def tone_features(pair: Pair) -> dict[str, float]:
    """Return what tone curves explain, their shape, and how many grey values are left."""
    mse = pair.mse + 1e-4
    left = _mean_square(pair.copy_luma - toned_luma(pair))
    curve, counts = tone_curve(pair.reference_luma, pair.copy_luma)
    own = _mean_square(pair.copy_luma - apply_curve(pair.reference_luma, curve))
    found = {
        "tone_explained": np.log10(left / mse + 1e-6),
        "tone_left": np.log10(left + 0.01),
        "luma_tone_explained": np.log10(own / mse + 1e-6),
        **curve_features(curve, counts, "tone_"),
    }
    levels = [(_levels(reference), _levels(copy)) for reference, copy in pair.channels]
    found["levels"] = np.log(min(copy for _, copy in levels))
    found["levels_ratio"] = np.log(max(copy / reference for reference, copy in levels))
    found["levels_ratio_min"] = np.log(min(copy / reference for reference, copy in levels))
    return {name: float(value) for name, value in found.items()}


def tone_parameters(kind: str, pair: Pair) -> dict[str, float]:
    """Return the physical parameters of a tone change: shift, gain, gamma or the levels left."""
    curve, counts = _channel_curve(pair)
    weights = np.where(_unclipped(curve, counts), counts, 0)
    if not weights.sum():
        weights = counts
    inner = weights / weights.sum()
    if kind == "luminance":
        return {"shift": float((inner * (curve - GREYS)).sum())}
    if kind == "contrast":
        return {"gain": _line(curve, inner)[1]}
    if kind == "gamma":
        gamma, _ = _best_gamma(
            curve,
            counts / counts.sum(),
            _unclipped(curve, counts),
            lambda fit: float((inner * (curve - fit) ** 2).sum()),
        )
        return {"gamma": gamma}
    if kind == "posterisation":
        return {"levels": float(max(_levels(copy) for _, copy in pair.channels))}
    return {}


def curve_of_kind(kind: str, pair: Pair) -> Curve | None:
    """Return the curve of a shift, a gain or a gamma, which is smoother than a measured one."""
    parameters = tone_parameters(kind, pair)
    if kind == "luminance":
        curve = GREYS + parameters["shift"]
    elif kind == "contrast":
        measured, counts = _channel_curve(pair)
        inner = np.where(_unclipped(measured, counts), counts, 0)
        offset, gain = _line(measured, inner / max(inner.sum(), 1))
        curve = offset + gain * GREYS
    elif kind == "gamma":
        curve = 255 * (GREYS / 255) ** parameters["gamma"]
    else:
        return None
    found: Curve = np.clip(curve, 0, 255)
    return found


def _channel_curve(pair: Pair) -> tuple[Curve, NDArray[np.float64]]:
    """Return one curve for all channels together: a shift or a gain is the same in each."""
    channels = pair.channels
    reference = np.concatenate([reference.ravel() for reference, _ in channels])
    copy = np.concatenate([copy.ravel() for _, copy in channels])
    return tone_curve(reference, copy)


def _unclipped(curve: Curve, counts: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (curve > 1.5) & (curve < 253.5) & (counts > 0)


def _line(curve: Curve, weights: NDArray[np.float64]) -> tuple[float, float]:
    """Return offset and gain of the straight line that fits a curve best."""
    middle = (weights * GREYS).sum()
    spread = (weights * (GREYS - middle) ** 2).sum() + 1e-9
    gain = float((weights * (GREYS - middle) * curve).sum() / spread)
    return float((weights * curve).sum() - gain * middle), gain


def _best_gamma(
    curve: Curve, weights: NDArray[np.float64], inside: NDArray[np.bool_], left: Any
) -> tuple[float, float]:
    """Return the exponent that fits a curve best, and what it leaves."""
    x = np.maximum(GREYS, 0.5) / 255
    usable = inside & (curve > 2) & (GREYS > 2) & (GREYS < 253)
    clipped = np.clip(curve, 1, 254)
    heavy = np.where(usable, weights, 0) * clipped**2
    log_x = np.log(x)
    start = (heavy * log_x * np.log(clipped / 255)).sum() / ((heavy * log_x * log_x).sum() + 1e-12)
    candidates = np.clip(start * np.linspace(0.9, 1.1, 9), 0.05, 20)
    best = min((left(255 * x**gamma), gamma) for gamma in candidates)
    return float(best[1]), float(best[0])


def _levels(channel: Floats) -> int:
    grey = np.clip(np.rint(channel), 0, 255).astype(np.intp).ravel()
    return int((np.bincount(grey, minlength=256) > 0).sum())


def _mean_square(values: Floats) -> float:
    return float(np.mean(np.square(values), dtype=np.float64))
