"""The proof of a kind: each family is proved in its own way, from the two pictures alone."""

from __future__ import annotations

import functools
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from isca_gui.core.comparison import filters, jpeg_lattice, noise, tone
from isca_gui.core.comparison.kinds import COMPRESSION, FILTER, NOISE, TONE, family_of
from isca_gui.core.comparison.pair import LUMA_WEIGHTS, luma

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isca_gui.core.comparison.pair import Floats, Pair

# The least share of the change that a kind made again has to explain. A median is known but for
# the shape of its window; other filters that smooth and keep edges reach some 0.7 of it.
LEAST_EXPLAINED = {TONE: 0.5, FILTER: 0.35}
LEAST_BY_MEDIAN = 0.78
# The largest correlation of neighbouring errors that passes for noise.
MOST_CORRELATED = 0.6
# How much likelier than any other the neighbour of an impulse may be one as well: scratches,
# writing and lost blocks hang together.
MOST_CLUSTERED = 0.12
# The least mean log-likelihood of a coefficient on the lattice.
LEAST_FIT = 0.05


@dataclass(frozen=True, eq=False)
class Proof:
    """What speaks for a kind.

    Parameters
    ----------
    holds
        Whether the family's test was passed; None where there is no test of that sort.
    explained
        Share of the change that making it again explains, or None where it cannot be made again.
    parameters
        Physical parameters by name.
    sentence
        The proof in words, or nothing.
    make
        Makes the kind again on a whole picture, or None.
    """

    holds: bool | None
    explained: float | None = None
    parameters: dict[str, float] = field(default_factory=dict)
    sentence: str = ""
    make: Callable[[Floats], Floats] | None = None


def prove(kind: str, pair: Pair) -> Proof:
    """Return the proof that a kind of change was done.

    Parameters
    ----------
    kind
        A name of `kinds.KINDS`.
    pair
        The two pictures.
    """
    family = family_of(kind)
    if family == TONE:
        return _prove_tone(kind, pair)
    if family == FILTER:
        return _prove_filter(kind, pair)
    if family == NOISE:
        return _prove_noise(kind, pair)
    if kind == "jpeg":
        return _prove_jpeg(pair)
    assert family == COMPRESSION
    return Proof(holds=None)


def explained_share(pair: Pair, made: Floats) -> float:
    """Return the share of the luma's change that a picture explains; rounding is not counted."""
    rest = float(np.mean(np.square(pair.copy_luma - luma(made)), dtype=np.float64))
    weights = LUMA_WEIGHTS if pair.reference.ndim == 3 else np.ones(1)
    rounding = noise.ROUNDING * float(np.square(weights).sum())
    return float(np.clip(1 - max(rest - rounding, 0) / max(pair.mse - rounding, 1e-6), 0, 1))


def _prove_tone(kind: str, pair: Pair) -> Proof:
    makers = [
        functools.partial(tone.apply_curve, curve=tone.tone_curve(reference, copy)[0])
        for reference, copy in pair.channels
    ]

    def make(picture: Floats) -> Floats:
        return _per_channel(picture, makers)

    return _made_again(
        pair, make, tone.tone_parameters(kind, pair), LEAST_EXPLAINED[TONE], "A tone curve"
    )


def tone_share(pair: Pair) -> float:
    """Return the share of the luma's change that a tone curve explains beside noise.

    Noise that is cut off at black and white moves the means of dark and bright tones. They are
    left out.
    """
    clear = noise.unclipped(pair.reference_luma, float(pair.change.std()))
    reference = pair.reference_luma[clear][:, None]
    copy = pair.copy_luma[clear][:, None]
    made = tone.apply_curve(reference, tone.tone_curve(reference, copy)[0])
    left = float(np.mean(np.square(copy - made), dtype=np.float64))
    return 1 - left / max(float(np.mean(np.square(copy - reference), dtype=np.float64)), 1e-6)


def _prove_filter(kind: str, pair: Pair) -> Proof:
    fit = filters.fit_filter(kind, pair)

    def make(picture: Floats) -> Floats:
        return _per_channel(picture, [fit.make] * (picture.shape[2] if picture.ndim == 3 else 1))

    least = LEAST_BY_MEDIAN if kind == "median" else LEAST_EXPLAINED[FILTER]
    return _made_again(pair, make, fit.parameters, least, "Making it again")


def _made_again(
    pair: Pair,
    make: Callable[[Floats], Floats],
    parameters: dict[str, float],
    least: float,
    what: str,
) -> Proof:
    share = explained_share(pair, make(pair.reference))
    sentence = f"{what} explains {percent(share)} of the change."
    return Proof(share >= least, share, parameters, sentence, make)


def _prove_noise(kind: str, pair: Pair) -> Proof:
    holds = noise.neighbour_correlation(pair) <= MOST_CORRELATED
    sentence = "The errors of neighbouring pixels are independent of each other."
    sigma = noise.noise_sigma(pair)
    parameters = {"sigma": sigma}
    if kind == "impulse":
        parameters = {"share": noise.impulse_share(pair)}
        sentence = "Most pixels are unchanged." if parameters["share"] < 0.5 else ""
        holds = holds and noise.impulse_clustering(pair) <= MOST_CLUSTERED
    elif kind == "speckle":
        parameters = {"sigma": float(np.sqrt(noise.brightness_law(pair, 2)))}
        sentence = "Its strength grows with the brightness."
    elif kind == "poisson-noise":
        gain = noise.brightness_law(pair, 1)
        parameters = {"sigma": sigma, "gain": gain, "photons": 255 / max(gain, 1e-6)}
        sentence = "Its variance grows with the brightness."
    return Proof(holds, None, parameters, sentence)


def _prove_jpeg(pair: Pair) -> Proof:
    lattice = jpeg_lattice.find_lattice(pair.copy)
    if lattice is None:
        # Too little is left between black and white to find a table by.
        return Proof(None)
    parameters = {"quality": float(lattice.quality)}

    def make(picture: Floats) -> Floats:
        return through_jpeg(picture, lattice.quality)

    share = explained_share(pair, make(pair.reference)) if lattice.standard else None
    holds = lattice.fit > LEAST_FIT
    sentence = "The copy lies on its quantisation grid"
    if share is not None and share >= 0.5:
        sentence += f"; making it again explains {percent(share)} of the change"
    return Proof(holds, share, parameters, f"{sentence}.", make)


def through_jpeg(picture: Floats, quality: int) -> Floats:
    """Return a picture, 0 to 255, after Pillow's JPEG at a quality without chroma subsampling."""
    stream = io.BytesIO()
    whole = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
    settings = {} if whole.ndim == 2 else {"subsampling": 0}
    Image.fromarray(whole).save(stream, "JPEG", quality=max(quality, 1), **settings)
    with Image.open(stream) as decoded:
        return np.asarray(decoded, np.float32)


def _per_channel(picture: Floats, makers: Sequence[Callable[[Floats], Floats]]) -> Floats:
    if picture.ndim == 2:
        return makers[0](picture)
    return np.stack(
        [make(np.ascontiguousarray(picture[..., index])) for index, make in enumerate(makers)], 2
    )


def percent(share: float) -> str:
    """Return a share in per cent, finer where it is nearly the whole."""
    if share >= 0.9995:
        return "all"
    return f"{share:.1%}" if share > 0.99 else f"{share:.0%}"
