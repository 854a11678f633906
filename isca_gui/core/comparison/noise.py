"""Noise: how the change is distributed, whether neighbours agree, how it goes with brightness."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.comparison.pair import Floats, Pair

    Mask = NDArray[np.bool_]

SIDE = 8
# Rounding to whole grey levels adds this variance.
ROUNDING = 1 / 12
_LAGS = ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0))
_STRONG = 20.0
# A sample that differs by so much was hit by an impulse; less is rounding.
_HIT = 1.5


def error_features(pair: Pair, toned: Floats, variance: Floats) -> dict[str, float]:
    """Return the statistics of the change.

    Parameters
    ----------
    pair
        The two pictures.
    toned
        The reference's luma after the smooth tone curve, shape (height, width).
    variance
        The reference's local variance, shape (height, width).
    """
    change = pair.change
    rest = pair.copy_luma - toned
    smooth = variance <= np.quantile(variance[::2, ::2], 0.5) + 0.05
    found = _distribution(np.abs(change - change.mean()), "")
    found |= _distribution(np.abs(rest), "s_")
    everywhere = np.ones_like(smooth)
    for name, mask in (("all", everywhere), ("sm", smooth)):
        for down, right in _LAGS:
            found[f"corr_{name}_{down}{right}"] = _correlation(rest, mask, down, right)
    found |= _block_features(pair.reference_luma, rest)
    found |= _pixel_features(pair.reference_luma, pair.copy_luma, change)
    return {name: float(value) for name, value in found.items()}


def blocks_of(picture: Floats) -> Floats:
    """Return the whole 8×8 blocks of a picture as rows, shape (block, 64)."""
    rows = picture.shape[0] // SIDE
    columns = picture.shape[1] // SIDE
    whole = picture[: rows * SIDE, : columns * SIDE]
    return whole.reshape(rows, SIDE, columns, SIDE).swapaxes(1, 2).reshape(-1, SIDE * SIDE)


def noise_sigma(pair: Pair) -> float:
    """Return the standard deviation of additive noise per channel, where nothing is cut off."""
    found = []
    for reference, copy in pair.channels:
        change = copy - reference
        sigma = float(change.std())
        for _ in range(4):
            clear = unclipped(reference, sigma)
            sigma = float(np.sqrt(max(change[clear].var() - ROUNDING, 0)))
        found.append(sigma)
    return float(np.sqrt(np.mean(np.square(found))))


def brightness_law(pair: Pair, power: int) -> float:
    """Return c of the noise variance c · brightness^power, by blocks where nothing is cut off.

    Parameters
    ----------
    pair
        The two pictures.
    power
        1 for shot noise, where c is the gain in grey levels; 2 for speckle, where c is its
        variance.
    """
    ratios = []
    for reference, copy in pair.channels:
        values = blocks_of(reference)
        change = blocks_of(copy - reference)
        mean = values.mean(1)
        spread = change.var(1, ddof=1)
        reach = 3 * np.sqrt(spread + 1)
        clear = (values.min(1) - reach > 0) & (values.max(1) + reach < 255) & (mean > 8)
        if clear.sum() < 20:
            clear = mean > 8
        if not clear.any():
            continue
        brightness = mean[clear] ** power
        excess = spread[clear] - ROUNDING
        ratios.append((brightness * excess).sum() / (brightness**2).sum())
    return float(max(np.mean(ratios), 0)) if ratios else 0.0


def impulse_share(pair: Pair) -> float:
    """Return the share of the samples that impulses have hit; of grey impulses, of the pixels."""
    shares = []
    for reference, copy in pair.channels:
        hit = float(np.mean(np.abs(copy - reference) >= _HIT))
        # A sample that was black or white already is hit without a trace every second time.
        unseen = float(np.mean((reference < 1) | (reference > 254))) / 2
        shares.append(hit / max(1 - unseen, 0.1))
    return float(np.mean(shares))


def impulse_clustering(pair: Pair) -> float:
    """Return how much likelier the neighbours of a changed pixel are changed than any pixel is.

    Impulses hit pixels independently of each other, so that it is near 0.
    """
    hit = np.zeros(pair.change.shape, dtype=np.float32)
    for reference, copy in pair.channels:
        hit[np.abs(copy - reference) >= _HIT] = 1
    inside = hit[1:-1, 1:-1] > 0
    if not inside.any():
        return 0.0
    around = (ndimage.uniform_filter(hit, 3) * 9 - hit)[1:-1, 1:-1] / 8
    return float(around[inside].mean() - hit.mean())


def neighbour_correlation(pair: Pair) -> float:
    """Return how much errors of neighbouring pixels agree, beside the mean of their block.

    Noise is near 0. What a filter or a codec leaves follows the picture, and neighbours agree.
    """
    errors = blocks_of(pair.change).reshape(-1, SIDE, SIDE)
    errors = errors - errors.mean((1, 2), keepdims=True)
    power = float(np.mean(errors * errors)) + 0.02
    across = float(np.mean(errors[:, :, 1:] * errors[:, :, :-1]))
    down = float(np.mean(errors[:, 1:] * errors[:, :-1]))
    return max(across, down) / power


def unclipped(reference: Floats, sigma: float) -> Mask:
    """Return where noise of a standard deviation is hardly ever cut off at black or white."""
    for reach in (2.6, 1.5):
        clear = (reference > reach * sigma) & (reference < 255 - reach * sigma)
        if clear.sum() >= 200:
            return clear
    return np.ones_like(reference, dtype=bool)


def _distribution(size: Floats, prefix: str) -> dict[str, float]:
    rms = float(np.sqrt(np.mean(size * size))) + 1e-3
    quantiles = np.quantile(size[::2, ::2], [0.5, 0.9, 0.99, 0.999])
    found = {
        f"{prefix}q{name}": value / rms
        for name, value in zip(("50", "90", "99", "999"), quantiles, strict=True)
    }
    found[f"{prefix}max"] = np.log(size.max() / rms + 1e-3)
    found[f"{prefix}kurt"] = np.log(np.mean(size**4) / rms**4 + 1e-3)
    return found


def _correlation(rest: Floats, mask: Mask, down: int, right: int) -> float:
    height, width = rest.shape
    inside = mask[down:, right:]
    first = rest[down:, right:][inside]
    second = rest[: height - down, : width - right][inside]
    return float(np.mean(first * second) / (np.mean(first * first) + 0.02))


def _block_features(reference: Floats, rest: Floats) -> dict[str, float]:
    """Return how a block's error variance goes with its brightness and its activity."""
    values = blocks_of(reference)
    errors = blocks_of(rest)
    mean = values.mean(1)
    activity = values.std(1)
    spread = errors.var(1)
    quiet = activity <= np.quantile(activity, 0.6) + 0.1
    clear = (values.min(1) > 8) & (values.max(1) < 247) & quiet
    if clear.sum() <= 30:
        clear = quiet
    brightness = mean[clear] / 255
    variance = spread[clear]
    found = {
        "var_med": np.log(np.median(variance) + 0.02),
        "var_spread": np.std(np.log(variance + 0.05)),
        "var_bright": rank_correlation(brightness, variance),
        **_law_features(brightness, variance),
        "var_act": rank_correlation(activity, spread),
        "var_act_s": rank_correlation(activity[clear], variance),
        "mean_var": np.log(errors.mean(1).var() * 64 / (spread.mean() + 0.02) + 0.01),
    }
    return found


def _law_features(brightness: Floats, variance: Floats) -> dict[str, float]:
    """Return how well a constant, a line and a parabola describe variance over brightness."""
    capped = np.minimum(variance, np.quantile(variance, 0.98) + 1e-6)
    scale = capped.mean() + 1e-9
    wanted = capped / scale
    powers = np.stack([np.ones_like(brightness), brightness, brightness**2], 1) / scale
    left = []
    for columns in ([0], [1], [2], [0, 1], [0, 2]):
        design = powers[:, columns]
        weights = np.linalg.lstsq(design, wanted, rcond=None)[0]
        left.append(float(np.mean((wanted - design @ weights) ** 2)) + 1e-4)
    total = float(np.var(wanted)) + 1e-6 + 1e-4
    low, high = np.quantile(brightness, [0.2, 0.8])
    dark = variance[brightness <= low].mean()
    bright = variance[brightness >= high].mean()
    octaves = max(np.log((high + 0.02) / (low + 0.02)), 0.1)
    return {
        "fit_const": np.log(left[0]),
        "fit_lin": np.log(left[1] / total),
        "fit_quad": np.log(left[2] / total),
        "fit_lin1": np.log(left[3] / total),
        "fit_quad1": np.log(left[4] / total),
        "bright_slope": np.log((bright + 0.05) / (dark + 0.05)) / octaves,
        "bright_rng": high - low,
    }


def _pixel_features(reference: Floats, copy: Floats, change: Floats) -> dict[str, float]:
    size = np.abs(change)
    changed = size >= 0.75
    strong = size > _STRONG
    per_block = blocks_of(changed.astype(np.float32)).mean(1)
    extreme = (copy <= 1) | (copy >= 254)
    was_extreme = (reference <= 1) | (reference >= 254)
    return {
        "changed": changed.mean(),
        "blocks_unchanged": (per_block == 0).mean(),
        "changed_cv": per_block.std() / (per_block.mean() + 0.01),
        "ext_new": np.log((extreme & ~was_extreme).mean() + 1e-5),
        "ext_ref": np.log(was_extreme.mean() + 1e-5),
        "ext_of_changed": (extreme & strong).mean() / (strong.mean() + 1e-5),
        "big": np.log(strong.mean() + 1e-6),
        "eq_h": _equal_share(copy, 1) - _equal_share(reference, 1),
        "eq_v": _equal_share(copy, 0) - _equal_share(reference, 0),
    }


def _equal_share(picture: Floats, axis: int) -> float:
    return float((np.abs(np.diff(picture, axis=axis)) < 0.01).mean())


def rank_correlation(first: Floats, second: Floats) -> float:
    """Return Spearman's rank correlation; 0 for fewer than eight values or where all are equal."""
    if len(first) < 8 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    ranks = [np.argsort(np.argsort(each)).astype(np.float64) for each in (first, second)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
