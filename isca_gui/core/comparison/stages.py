"""Two distortions, one behind the other: each is measured where the other one is undone.

Both orders can be made again where neither is noise. The order that leaves less of the change
unexplained is the one that was done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.comparison import tone
from isca_gui.core.comparison.kinds import FILTER, TONE, family_of
from isca_gui.core.comparison.pair import Pair
from isca_gui.core.comparison.proof import Proof, explained_share, prove

if TYPE_CHECKING:
    from collections.abc import Callable

    from isca_gui.core.comparison.pair import Floats
    from isca_gui.core.comparison.tone import Curve

    Make = Callable[[Floats], Floats]

# The least slope of a tone curve that is put back.
_LEAST_SLOPE = 0.02
# One order leaves clearly less than the other below this ratio of what is left.
CLEARLY_LESS = 0.9
# Below this share neither order explains enough to compare them.
_LEAST_EXPLAINED = 0.5


@dataclass(frozen=True, eq=False)
class Stages:
    """Two kinds in an order, each with its proof.

    Parameters
    ----------
    kinds
        First and second.
    proofs
        One for each; the share that is explained is told of both together.
    make
        Makes both again on a whole picture, 0 to 255; None where that cannot be done.
    explained
        Share of the change that both explain together, or None.
    """

    kinds: tuple[str, str]
    proofs: tuple[Proof, Proof]
    make: Make | None
    explained: float | None


def prove_two(first: str, second: str, pair: Pair) -> Stages:
    """Return the proofs of two kinds, done in this order.

    Parameters
    ----------
    first, second
        Names of `kinds.KINDS`.
    pair
        The two pictures.
    """
    if family_of(second) == TONE:
        return _tone_last(first, second, pair)
    if family_of(first) == TONE:
        proof = _tone_proof(first, pair)
    else:
        proof = prove(first, pair)
    if family_of(first) not in (TONE, FILTER) or proof.make is None:
        # Noise and codecs cannot be undone, so that the second is measured behind them.
        return _stages(first, second, (proof, prove(second, pair)), pair)
    behind = prove(second, Pair(proof.make(pair.reference), pair.copy))
    return _stages(first, second, (proof, behind), pair)


def better_order(forward: Stages, backward: Stages) -> Stages | None:
    """Return the order that explains clearly more, or None where both explain alike."""
    if forward.explained is None or backward.explained is None:
        return None
    ranked = sorted((forward, backward), key=lambda each: -(each.explained or 0))
    best, other = (each.explained or 0 for each in ranked)
    if best < _LEAST_EXPLAINED:
        return None
    return ranked[0] if 1 - best < CLEARLY_LESS * (1 - other) else None


def _tone_last(first: str, second: str, pair: Pair) -> Stages:
    back = [_inverse(curve) for curve in _curves(second, pair)]
    earlier = prove(first, Pair(pair.reference, _each_channel(pair.copy, back)))
    return _stages(first, second, (earlier, _tone_proof(second, pair)), pair)


def _stages(first: str, second: str, proofs: tuple[Proof, Proof], pair: Pair) -> Stages:
    make = _composed(proofs[0].make, proofs[1].make)
    explained = explained_share(pair, make(pair.reference)) if make is not None else None
    # Alone, neither explains the whole change: what each of them says about it is left out.
    alone = tuple(replace(proof, explained=None, sentence="") for proof in proofs)
    return Stages((first, second), (alone[0], alone[1]), make, explained)


def _composed(first: Make | None, second: Make | None) -> Make | None:
    if first is None or second is None:
        return None
    return lambda picture: second(first(picture))


def _tone_proof(kind: str, pair: Pair) -> Proof:
    """Return a change of tone as smooth places show it, where a filter or a codec changes least."""
    curves = _curves(kind, pair)

    def make(picture: Floats) -> Floats:
        return _each_channel(picture, curves)

    places = _smooth_places(pair)
    return Proof(True, None, tone.tone_parameters(kind, places), "", make)


def _smooth_places(pair: Pair) -> Pair:
    """Return the pixels of smooth places, below each other."""
    smooth = tone.smooth_places(tone.local_variance(pair.reference_luma))
    return Pair(pair.reference[smooth][:, None], pair.copy[smooth][:, None])


def _curves(kind: str, pair: Pair) -> list[Curve]:
    """Return the tone curve of each channel: the kind's own, or as smooth places show it."""
    curve = tone.curve_of_kind(kind, _smooth_places(pair))
    if curve is not None:
        return [curve] * len(pair.channels)
    variance = tone.local_variance(pair.reference_luma)
    return [tone.smooth_curve(reference, copy, variance) for reference, copy in pair.channels]


def _each_channel(picture: Floats, curves: list[Curve]) -> Floats:
    if picture.ndim == 2:
        return tone.apply_curve(picture, curves[0])
    return np.stack(
        [tone.apply_curve(picture[..., index], curve) for index, curve in enumerate(curves)], 2
    )


def _inverse(curve: Curve) -> Curve:
    """Return the curve that puts tones back; a falling one is a negative."""
    falling = curve[-1] < curve[0]
    rising = np.maximum.accumulate(curve[::-1] if falling else curve)
    rising = rising + _LEAST_SLOPE * tone.GREYS
    greys = tone.GREYS[::-1] if falling else tone.GREYS
    found: Curve = np.interp(tone.GREYS, rising, greys)
    return found
