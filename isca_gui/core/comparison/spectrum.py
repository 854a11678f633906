"""The change in frequency: transfer function, coherence and rest, from windows of 32×32 pixels.

A filter has a gain that depends on frequency and a coherence near 1; noise has gain 1 and low
coherence; a codec lowers both, and more so where the picture is quiet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import fft

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.comparison.pair import Floats

    Array = NDArray[np.float64]

WINDOW = 32
_MOST_WINDOWS = 512
_LARGE = 400_000
_EDGES = np.array([0.02, 0.06, 0.1, 0.15, 0.2, 0.26, 0.32, 0.38, 0.45, 0.52, 0.71])
BANDS = len(_EDGES) - 1
_FY = np.fft.fftfreq(WINDOW)[:, None]
_FX = np.fft.rfftfreq(WINDOW)[None, :]
_RADIUS = np.hypot(_FY, _FX)
_ANGLE = np.mod(np.arctan2(_FY, _FX), np.pi)
_BAND = np.digitize(_RADIUS, _EDGES) - 1
# The half spectrum of a real picture holds every frequency once but those on its edges.
_TWICE = np.where((_FX > 0) & (_FX < 0.5), 2.0, 1.0) * np.ones_like(_RADIUS)
_BIN_COUNT = np.array([_TWICE[band == _BAND].sum() for band in range(BANDS)])
_HANN = np.outer(np.hanning(WINDOW + 1)[:-1], np.hanning(WINDOW + 1)[:-1]).astype(np.float32)
# What rounding to whole grey levels adds to every frequency of one window.
_FLOOR = 0.1 * float((_HANN.astype(np.float64) ** 2).sum())
_KERNEL = 7


@dataclass(frozen=True, eq=False)
class Spectra:
    """Power and cross spectra of all windows, shape (window, frequency, frequency)."""

    reference: NDArray[np.float32]
    copy: NDArray[np.float32]
    cross: NDArray[np.complex64]

    @property
    def error(self) -> NDArray[np.float32]:
        """Power spectrum of the change."""
        return self.reference + self.copy - 2 * self.cross.real


def window_places(height: int, width: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return top and left of the windows, a fixed random sample where there would be too many."""
    step = WINDOW // 2 if height * width < _LARGE else WINDOW
    rows = np.arange(0, height - WINDOW + 1, step)
    columns = np.arange(0, width - WINDOW + 1, step)
    tops = np.repeat(rows, len(columns))
    lefts = np.tile(columns, len(rows))
    if len(tops) > _MOST_WINDOWS:
        chosen = np.sort(np.random.default_rng(0).permutation(len(tops))[:_MOST_WINDOWS])
        tops = tops[chosen]
        lefts = lefts[chosen]
    return tops, lefts


def measure(reference: Floats, copy: Floats) -> Spectra:
    """Return the spectra of reference and copy, shape (height, width) each."""
    tops, lefts = window_places(*reference.shape)
    first = fft.rfft2(_windows(reference, tops, lefts))
    second = fft.rfft2(_windows(copy, tops, lefts))
    return Spectra(
        first.real**2 + first.imag**2,
        second.real**2 + second.imag**2,
        second * first.conj(),
    )


def spectral_features(spectra: Spectra) -> dict[str, float]:
    """Return gain, coherence and rest by band, direction and activity, and the kernel's shape."""
    count = len(spectra.reference)
    reference = spectra.reference.sum(0, dtype=np.float64)
    copy = spectra.copy.sum(0, dtype=np.float64)
    cross = spectra.cross.sum(0, dtype=np.complex128)
    error = spectra.error.sum(0, dtype=np.float64)
    floor = _FLOOR * count
    rest = np.maximum(copy - np.abs(cross) ** 2 / (reference + floor), 0)
    found = _band_features(reference, copy, cross, error, rest, floor)
    found |= _direction_features(reference, cross, floor)
    found |= _activity_features(spectra)
    found |= _kernel_features(cross / (reference + floor))
    return {name: float(value) for name, value in found.items()}


def _windows(picture: Floats, tops: NDArray[np.intp], lefts: NDArray[np.intp]) -> Floats:
    cut = np.lib.stride_tricks.sliding_window_view(picture, (WINDOW, WINDOW))[tops, lefts]
    found: Floats = (cut - cut.mean((1, 2), keepdims=True)) * _HANN
    return found


def _per_band(power: Array) -> Array:
    doubled = power * _TWICE
    return np.array([doubled[band == _BAND].sum() for band in range(BANDS)])


def _band_features(
    reference: Array,
    copy: Array,
    cross: NDArray[np.complex128],
    error: Array,
    rest: Array,
    floor: float,
) -> dict[str, float]:
    least = _BIN_COUNT * floor
    power = _per_band(reference)
    copied = _per_band(copy)
    real = _per_band(cross.real)
    imaginary = _per_band(np.abs(cross.imag))
    changed = _per_band(error)
    left = _per_band(rest)
    gain = real / (power + least)
    coherence = 1 - left / (copied + least)
    found: dict[str, float] = {}
    for band in range(BANDS):
        found[f"gain{band}"] = gain[band]
        found[f"coh{band}"] = np.log10(1 - min(coherence[band], 1) + 1e-4)
        found[f"res{band}"] = np.log10(left[band] / least[band] + 0.1)
        found[f"err{band}"] = np.log10(changed[band] / least[band] + 0.1)
        found[f"pow{band}"] = np.log10((copied[band] + least[band]) / (power[band] + least[band]))
    level = np.log10(left / np.maximum(_BIN_COUNT, 1) + 1e-3)
    found["white_slope"] = level[-3:].mean() - level[1:4].mean()
    found["white_spread"] = level[1:].std()
    found["linear_explained"] = np.log10(left.sum() / (changed.sum() + least.sum()) + 1e-5)
    found["phase"] = imaginary[:5].sum() / (np.abs(real[:5]).sum() + 1e-9)
    return found


def _direction_features(
    reference: Array, cross: NDArray[np.complex128], floor: float
) -> dict[str, float]:
    found = {}
    for name, low, high in (("mid", 0.1, 0.25), ("high", 0.25, 0.5)):
        profile = direction_profile(reference, cross, floor, low, high)
        found[f"aniso_{name}"] = profile.max() - profile.min()
        found[f"aniso2_{name}"] = np.abs(np.roll(profile, 4) - profile).max()
        found[f"axis_{name}"] = (profile[0] + profile[4]) / 2 - (profile[2] + profile[6]) / 2
    return found


def direction_profile(
    reference: Array, cross: NDArray[np.complex128], floor: float, low: float, high: float
) -> Array:
    """Return the gain in eight directions, between two radii of frequency."""
    profile = []
    for step in range(8):
        turned = np.abs(np.mod(_ANGLE - np.pi * step / 8 + np.pi / 2, np.pi) - np.pi / 2)
        sector = (_RADIUS >= low) & (_RADIUS < high) & (turned < np.pi / 14)
        real = (cross.real * _TWICE)[sector].sum()
        profile.append(real / ((reference * _TWICE)[sector].sum() + floor * sector.sum()))
    return np.array(profile)


def _activity_features(spectra: Spectra) -> dict[str, float]:
    """Return gain and error of the quietest and of the liveliest third of the windows."""
    activity = (spectra.reference * _TWICE).sum((1, 2))
    error = spectra.error
    order = np.argsort(activity)
    third = max(len(order) // 3, 1)
    found: dict[str, float] = {}
    for name, chosen in (("lo", order[:third]), ("hi", order[-third:])):
        least = _BIN_COUNT * _FLOOR * len(chosen)
        power = _per_band(spectra.reference[chosen].sum(0, dtype=np.float64))
        copied = _per_band(spectra.copy[chosen].sum(0, dtype=np.float64))
        real = _per_band(spectra.cross[chosen].sum(0, dtype=np.complex128).real)
        changed = _per_band(error[chosen].sum(0, dtype=np.float64))
        gain = real / (power + least)
        for band in (1, 3, 5, 7, 9):
            found[f"{name}_gain{band}"] = gain[band]
            found[f"{name}_err{band}"] = np.log10((changed[band] + 0.1 * least[band]) / least[band])
            found[f"{name}_pow{band}"] = np.log10(
                (copied[band] + least[band]) / (power[band] + least[band])
            )
    size = np.log((error * _TWICE).sum((1, 2)) + _FLOOR * 1000)
    found["err_activity"] = 0.0
    liveliness = np.log(activity + _FLOOR * 1000)
    # A flat reference has no activity for the error to go with.
    if min(size.std(), liveliness.std()) > 1e-6 and len(size) > 3:
        found["err_activity"] = np.corrcoef(size, liveliness)[0, 1]
    found["err_spread"] = size.std()
    return found


def _kernel_features(transfer: NDArray[np.complex128]) -> dict[str, float]:
    """Return sum, centre, lobes, place, width and roundness of the filter kernel."""
    whole = np.fft.fftshift(fft.irfft2(transfer, s=(WINDOW, WINDOW)))
    middle = WINDOW // 2
    around = slice(middle - _KERNEL, middle + _KERNEL + 1)
    kernel = whole[around, around]
    y, x = np.mgrid[-_KERNEL : _KERNEL + 1, -_KERNEL : _KERNEL + 1]
    total = kernel.sum() + 1e-9
    positive = np.maximum(kernel, 0)
    mass = positive.sum() + 1e-9
    var_y = (positive * y * y).sum() / mass
    var_x = (positive * x * x).sum() / mass
    var_xy = (positive * x * y).sum() / mass
    fourth = (positive * (y**2 + x**2) ** 2).sum() / mass
    return {
        "k_centre": kernel[_KERNEL, _KERNEL],
        "k_sum": total,
        "k_near": kernel[_KERNEL - 1 : _KERNEL + 2, _KERNEL - 1 : _KERNEL + 2].sum()
        - kernel[_KERNEL, _KERNEL],
        "k_neg": np.minimum(kernel, 0).sum(),
        "k_my": (kernel * y).sum() / total,
        "k_mx": (kernel * x).sum() / total,
        "k_var": np.log(var_y + var_x + 0.01),
        "k_aniso": np.sqrt((var_y - var_x) ** 2 + 4 * var_xy**2) / (var_y + var_x + 0.05),
        "k_peak": kernel.max() - kernel[_KERNEL, _KERNEL],
        "k_kurt": fourth / ((var_y + var_x) ** 2 + 0.01),
    }
