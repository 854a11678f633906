"""The change between a reference and its copy as a vector of numbers with names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.comparison import codec_traces, filters, jpeg_lattice, noise, spectrum, tone

if TYPE_CHECKING:
    from isca_gui.core.comparison.pair import Pair


def describe_change(pair: Pair) -> dict[str, float]:
    """Return all numbers that the classifier asks for, by name.

    The reference is first led through the tone curve that its smooth places show, so that a
    filter, noise or a codec is seen behind a change of tone as well.
    """
    mse = pair.mse + 1e-4
    change = pair.change
    found = {
        "log_mse": float(np.log(mse)),
        "mean_err": float(change.mean() / np.sqrt(mse)),
        **tone.tone_features(pair),
    }
    reference = pair.reference_luma
    variance = tone.local_variance(reference)
    curve = tone.smooth_curve(reference, pair.copy_luma, variance)
    toned = tone.apply_curve(reference, curve)
    _, counts = tone.tone_curve(reference, pair.copy_luma)
    found["low_tone"] = _log_share(np.square(toned - reference).mean(), mse)
    found["low_left"] = _log_share(np.square(pair.copy_luma - toned).mean(), mse)
    found |= tone.curve_features(curve, counts, "low_")
    found |= spectrum.spectral_features(spectrum.measure(toned, pair.copy_luma))
    found |= noise.error_features(pair, toned, variance)
    found |= jpeg_lattice.lattice_features(pair)
    found |= codec_traces.trace_features(pair)
    found |= filters.median_features(pair)
    return found


def _log_share(part: float, whole: float) -> float:
    return float(np.log10(part / whole + 1e-4))
