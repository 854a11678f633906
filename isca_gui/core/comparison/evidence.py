"""The proof of an answer as something that can be drawn, and how far the other kinds got."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.comparison import filters, jpeg_lattice, noise, tone
from isca_gui.core.comparison.drawing import laid_reference
from isca_gui.core.comparison.kinds import COMPRESSION, FILTER, KINDS, NOISE, TONE, family_of
from isca_gui.core.comparison.pair import ComparisonError, make_pair
from isca_gui.core.comparison.proof import prove

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from isca_gui.core.comparison.compare import Comparison
    from isca_gui.core.comparison.pair import Floats, Pair

    Array = NDArray[np.float64]

CURVE = "curve"
KERNEL = "kernel"
HISTOGRAM = "histogram"
TABLE = "table"
# Side of the picture whose only bright pixel shows a filter's kernel.
_IMPULSE_SIDE = 97
# A kernel is drawn as far as it holds more than this share of its largest value.
_KERNEL_END = 0.01
_FARTHEST = 24
_MOST_TRIED = 6
_COLOURS = ("red", "green", "blue")


@dataclass(frozen=True, eq=False)
class Evidence:
    """What proves a kind, to be drawn.

    Parameters
    ----------
    form
        CURVE, KERNEL, HISTOGRAM or TABLE.
    kind
        The kind that it proves.
    title, sentence
        What it is, and how to read it.
    x
        Grey values, places in pixels or errors; empty for a table.
    lines
        Values at `x` by name, each of the shape of `x`.
    table
        Steps of a quantisation (8, 8), or a kernel (side, side); None otherwise.
    """

    form: str
    kind: str
    title: str
    sentence: str
    x: Array = field(default_factory=lambda: np.zeros(0))
    lines: dict[str, Array] = field(default_factory=dict)
    table: Array | None = None


@dataclass(frozen=True)
class Attempt:
    """A kind that was tried: its probability, and the share of the change that it explains."""

    kind: str
    title: str
    probability: float
    explained: float | None
    holds: bool | None


def find_evidence(
    reference: NDArray[np.float32], copy: NDArray[np.float32], comparison: Comparison
) -> tuple[Evidence, ...]:
    """Return what proves an answer, one for each of its kinds that can be drawn.

    Parameters
    ----------
    reference, copy
        The pictures in [0, 1], grey (height, width) or colour (height, width, 3).
    comparison
        The answer.
    """
    pair = _pair_of(reference, copy, comparison)
    if pair is None:
        return ()
    found = (_evidence(kind, pair) for kind in reversed(comparison.parts))
    return tuple(each for each in found if each is not None)


def tried_kinds(
    reference: NDArray[np.float32], copy: NDArray[np.float32], comparison: Comparison
) -> tuple[Attempt, ...]:
    """Return the likeliest kinds with how much of the change each explains, the likeliest first.

    Parameters
    ----------
    reference, copy, comparison
        As in `find_evidence`.
    """
    pair = _pair_of(reference, copy, comparison)
    kinds = {kind: share for kind, share in comparison.probabilities.items() if kind in KINDS}
    ranked = _ranked(kinds)
    found = []
    for kind in ranked:
        proof = prove(kind, pair) if pair is not None else None
        explained = proof.explained if proof is not None else None
        holds = proof.holds if proof is not None else None
        found.append(Attempt(kind, KINDS[kind].title, kinds[kind], explained, holds))
    return tuple(found)


def _ranked(kinds: dict[str, float]) -> list[str]:
    """Return the likeliest kinds; one of each family is among them, however unlikely."""
    by_chance = sorted(kinds, key=lambda kind: -kinds[kind])
    best = {family_of(kind): kind for kind in reversed(by_chance)}
    chosen = dict.fromkeys((*best.values(), *by_chance))
    return sorted(list(chosen)[:_MOST_TRIED], key=by_chance.index)


def _pair_of(
    reference: NDArray[np.float32], copy: NDArray[np.float32], comparison: Comparison
) -> Pair | None:
    """Return the pictures, or the largest damaged region where only parts were damaged."""
    try:
        pair = make_pair(laid_reference(reference, comparison), copy)
    except ComparisonError:
        return None
    if not comparison.regions:
        return pair
    region = comparison.regions[0].region
    return pair.crop(region.top, region.bottom, region.left, region.right)


def _evidence(kind: str, pair: Pair) -> Evidence | None:
    if kind == "jpeg":
        return _table(pair)
    find = _BY_FAMILY.get(family_of(kind) or "")
    return find(kind, pair) if find is not None else None


def _curve(kind: str, pair: Pair) -> Evidence:
    channels = pair.channels
    names = _COLOURS if len(channels) == 3 else ("grey",)
    lines = {}
    for name, (reference, copy) in zip(names, channels, strict=True):
        curve, counts = tone.tone_curve(reference, copy)
        lines[name] = np.where(counts > 0, curve, np.nan)
    return Evidence(
        CURVE,
        kind,
        "Tone curve",
        "Which value each grey value of the original has become. The diagonal is no change.",
        tone.GREYS,
        lines,
    )


def _kernel(kind: str, pair: Pair) -> Evidence | None:
    if kind == "median":
        # A median has no kernel: it is not a weighted mean.
        return _histogram(kind, pair)
    fit = filters.fit_filter(kind, pair)
    point = np.zeros((_IMPULSE_SIDE, _IMPULSE_SIDE), dtype=np.float32)
    middle = _IMPULSE_SIDE // 2
    point[middle, middle] = 255
    kernel = np.asarray(fit.make(point), np.float64) / 255
    reach = _reach(kernel, middle)
    part = slice(middle - reach, middle + reach + 1)
    kernel = kernel[part, part]
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    return Evidence(
        KERNEL,
        kind,
        "Fitted filter kernel",
        "What the filter makes of one bright pixel: its weights along both axes.",
        x,
        {"across": kernel[reach], "down": kernel[:, reach]},
        kernel,
    )


def _reach(kernel: Floats | Array, middle: int) -> int:
    """Return how far a kernel reaches from its middle, in pixels."""
    rows, columns = np.nonzero(np.abs(kernel) > _KERNEL_END * np.abs(kernel).max())
    far = max(np.abs(rows - middle).max(initial=0), np.abs(columns - middle).max(initial=0))
    return int(np.clip(far + 1, 3, _FARTHEST))


def _histogram(kind: str, pair: Pair) -> Evidence:
    change = pair.change
    spread = float(max(np.quantile(np.abs(change[::2, ::2]), 0.995), 3))
    bins = np.linspace(-spread, spread, 61)
    counts, edges = np.histogram(change, bins)
    x = (edges[1:] + edges[:-1]) / 2
    width = edges[1] - edges[0]
    density = counts / max(change.size * width, 1e-9)
    lines = {"errors": density}
    if kind == "gaussian-noise":
        sigma = max(float(change.std()), 1e-3)
        mean = float(change.mean())
        lines["Gaussian"] = np.exp(-((x - mean) ** 2) / (2 * sigma**2)) / (
            sigma * np.sqrt(2 * np.pi)
        )
    near = noise.neighbour_correlation(pair)
    return Evidence(
        HISTOGRAM,
        kind,
        "Histogram of the errors",
        "How often each change of the luma occurs. "
        f"Errors of neighbouring pixels correlate by {near:+.2f}; noise is near 0.",
        x,
        lines,
    )


def _table(pair: Pair) -> Evidence | None:
    lattice = jpeg_lattice.find_lattice(pair.copy)
    if lattice is None:
        return None
    steps = np.asarray(lattice.table, np.float64)
    if steps.size != 64:
        return None
    whose = "libjpeg's own" if lattice.standard else "not libjpeg's own"
    return Evidence(
        TABLE,
        "jpeg",
        "Quantisation table",
        "The steps that the copy's 8×8 frequencies are multiples of; 0 where none is left to tell. "
        f"It is {whose} table, quality {lattice.quality}.",
        table=steps.reshape(8, 8),
    )


_BY_FAMILY: dict[str, Callable[[str, Pair], Evidence | None]] = {
    TONE: _curve,
    FILTER: _kernel,
    NOISE: _histogram,
    COMPRESSION: _histogram,
}
