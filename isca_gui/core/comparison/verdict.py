"""From probabilities and proofs to one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isca_gui.core.comparison.classifier import NONE
from isca_gui.core.comparison.kinds import (
    COMPRESSION,
    KINDS,
    NOISE,
    OTHER_COMPRESSION,
    TONE,
    family_of,
    in_words,
)
from isca_gui.core.comparison.proof import Proof, percent, prove, tone_share
from isca_gui.core.comparison.stages import Stages, better_order, prove_two
from isca_gui.core.distortion.distortions import UNLIKE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from isca_gui.core.comparison.classifier import Classifier
    from isca_gui.core.comparison.pair import Floats, Pair

# A change below this MSE that nothing is sure about is too weak to name.
WEAK_MSE = 1.5
SURE_IF_WEAK = 0.9
# The least probability of a kind, or of its family, that is named at all.
LEAST_KIND = 0.5
LEAST_FAMILY = 0.7
# The least probability of a kind that is called the closest one.
LEAST_CLOSE = 0.05
# Two distortions are looked for above this probability; one that explains so much is no mixture.
MIXTURE = 0.5
EXPLAINS_ALL = 0.97
LEAST_PRESENCE = 0.3
# A blur is sometimes taken for these. It is one where it leaves less than this share of the rest.
BLUR = "blur"
_LIKE_BLUR = ("resampling", "motion-blur", "median")
CLEARLY_BETTER = 0.5
# Which of two came first is told only when it is this sure.
SURE_ORDER = 0.75
# The least share of the change that is told of two made again.
LEAST_TOLD = 0.5
# The least share of the change that a change of tone explains beside another distortion.
LEAST_TONE = 0.08
# Words that have a capital letter inside a sentence as well.
_NAMES = ("WebP", "Gaussian")


@dataclass(frozen=True, eq=False)
class Judgement:
    """What was found out about one region, or about the whole picture.

    Parameters
    ----------
    label
        The kind, or two joined by "+"; the closest kind where `unlike` is True.
    parts
        The kinds, in the order in which they were done where `order` says so.
    order
        "first,second", or None where it cannot be told or there is but one.
    unlike
        Whether no kind is recognised.
    weak
        Whether the change is too weak to name.
    probability
        Probability of the label.
    probabilities
        Probability of every kind, and of `none`.
    proofs
        One for each part.
    together
        Both parts of a mixture, in their order; None where there is but one.
    """

    label: str
    parts: tuple[str, ...]
    order: str | None
    unlike: bool
    weak: bool
    probability: float
    probabilities: dict[str, float]
    proofs: tuple[Proof, ...]
    together: Stages | None = None

    @property
    def explained(self) -> float | None:
        """Share of the change that the answer made again explains."""
        if self.together is not None:
            return self.together.explained
        return self.proofs[0].explained if len(self.proofs) == 1 else None

    @property
    def make(self) -> Callable[[Floats], Floats] | None:
        """Makes the answer again on a picture; None where there is none or it cannot be made."""
        if self.unlike or self.weak:
            return None
        if self.together is not None:
            return self.together.make
        return self.proofs[0].make


def judge(pair: Pair, rows: NDArray[np.float32], classifier: Classifier) -> Judgement:
    """Return the answer for a pair.

    Parameters
    ----------
    pair
        The two pictures, or the part that stands for them in proofs.
    rows
        The numbers of one or more parts as the classifier takes them, shape (part, feature).
    classifier
        Names the kinds.
    """
    found = _mean([classifier.probabilities(row) for row in rows])
    single = _single(pair, found)
    two = sum(classifier.mixture_probability(row) for row in rows) / len(rows)
    explains_all = single.explained is not None and single.explained >= EXPLAINS_ALL
    if two < MIXTURE or explains_all:
        return single
    return _mixture(pair, rows, classifier, two) or single


def nothing_fits(mse: float) -> Judgement:
    """Return the answer that no kind fits, without asking the classifier."""
    return Judgement(
        label=UNLIKE,
        parts=(),
        order=None,
        unlike=mse >= WEAK_MSE,
        weak=mse < WEAK_MSE,
        probability=1.0,
        probabilities={NONE: 1.0},
        proofs=(),
    )


def _single(pair: Pair, found: dict[str, float]) -> Judgement:
    kinds = {kind: share for kind, share in found.items() if kind != NONE}
    label = max(kinds, key=lambda kind: kinds[kind])
    probability = kinds[label]
    family = family_of(label)
    family_share = sum(share for kind, share in kinds.items() if family_of(kind) == family)
    known = probability >= LEAST_KIND or family_share >= LEAST_FAMILY
    if family == COMPRESSION and known and probability < LEAST_KIND:
        # The family is sure and its member is not.
        label = OTHER_COMPRESSION
        probability = family_share
    label, proof = _best_explained(label, pair)
    probability = max(probability, kinds.get(label, 0.0))
    unlike = not known or proof.holds is False
    weak = pair.mse < WEAK_MSE and (unlike or probability < SURE_IF_WEAK)
    unlike = unlike and not weak
    return Judgement(
        label=label,
        parts=() if unlike or weak else (label,),
        order=None,
        unlike=unlike,
        weak=weak,
        probability=max(found[NONE], 1 - family_share) if unlike else probability,
        probabilities=found,
        proofs=(proof,),
    )


def _best_explained(label: str, pair: Pair) -> tuple[str, Proof]:
    """Return a kind with its proof; of filters that look alike, the one that explains far more."""
    proof = prove(label, pair)
    if label not in _LIKE_BLUR or proof.explained is None:
        return label, proof
    blur = prove(BLUR, pair)
    assert blur.explained is not None
    better = 1 - blur.explained < CLEARLY_BETTER * (1 - proof.explained)
    if better and blur.explained >= EXPLAINS_ALL:
        return BLUR, blur
    return label, proof


def _mixture(
    pair: Pair,
    rows: NDArray[np.float32],
    classifier: Classifier,
    two: float,
) -> Judgement | None:
    """Return the two kinds that are there, or None if no second one is seen."""
    families = _mean([classifier.family_presences(row) for row in rows])
    chosen = sorted(families, key=lambda family: -families[family])[:2]
    if families[chosen[1]] < LEAST_PRESENCE:
        return None
    shares = {
        family: _mean([classifier.member_shares(row, family) for row in rows]) for family in chosen
    }
    kinds = [max(shares[family], key=lambda kind: shares[family][kind]) for family in chosen]
    sure = sum(classifier.first_probability(row, kinds[0], kinds[1]) for row in rows) / len(rows)
    if _tone_is_slight(kinds, pair):
        return None
    stages, is_ordered = _ordered(kinds, sure, pair)
    probabilities = {
        kind: families[family] * share
        for family in chosen
        for kind, share in shares[family].items()
    }
    return Judgement(
        label="+".join(stages.kinds),
        parts=stages.kinds,
        order=",".join(stages.kinds) if is_ordered else None,
        unlike=False,
        weak=False,
        probability=two * probabilities[kinds[0]] * probabilities[kinds[1]],
        probabilities=probabilities,
        proofs=stages.proofs,
        together=stages,
    )


def _tone_is_slight(kinds: Sequence[str], pair: Pair) -> bool:
    """Whether a change of tone beside noise explains next to nothing."""
    if {family_of(kind) for kind in kinds} != {TONE, NOISE}:
        return False
    return tone_share(pair) < LEAST_TONE


def _ordered(kinds: Sequence[str], sure: float, pair: Pair) -> tuple[Stages, bool]:
    """Return two kinds in their order, and whether that order can be told.

    Parameters
    ----------
    kinds
        Two kinds.
    sure
        Probability that the first of them was done first.
    pair
        The two pictures.
    """
    forward = prove_two(kinds[0], kinds[1], pair)
    backward = prove_two(kinds[1], kinds[0], pair)
    better = better_order(forward, backward)
    if better is not None:
        return better, True
    likelier = forward if sure >= 0.5 else backward
    return likelier, max(sure, 1 - sure) >= SURE_ORDER


def _mean(many: list[dict[str, float]]) -> dict[str, float]:
    return {key: sum(each[key] for each in many) / len(many) for key in many[0]}


def sentence(judgement: Judgement, mse: float) -> str:
    """Return the answer as a sentence a person can paste into an e-mail."""
    if judgement.weak:
        return f"Differs from the reference by MSE {mse:.2g}, too little to say how."
    if judgement.unlike:
        return _unlike_sentence(judgement)
    words = [
        in_words(kind, proof.parameters)
        for kind, proof in zip(judgement.parts, judgement.proofs, strict=True)
    ]
    if len(words) == 1:
        said = f"{words[0]}. {judgement.proofs[0].sentence}".strip()
    elif judgement.order is not None:
        said = f"{words[0]}; then {_lower(words[1])}."
    else:
        said = f"{words[0]} and {_lower(words[1])}; the order cannot be determined."
    both = judgement.together
    if both is not None and both.explained is not None and both.explained >= LEAST_TOLD:
        said += f" Making both again explains {percent(both.explained)} of the change."
    return f"{said} Probability {_rounded(judgement.probability)}{_runner_up(judgement)}."


def _unlike_sentence(judgement: Judgement) -> str:
    said = "Not recognised: no known kind of change fits."
    share = judgement.probabilities.get(judgement.label, 0.0)
    if share < LEAST_CLOSE:
        return said
    closest = KINDS[judgement.label].title
    return f"{said} Closest: {closest} ({_rounded(share)}). Do not rely on it."


def _runner_up(judgement: Judgement) -> str:
    if len(judgement.parts) > 1:
        return ""
    others = {
        kind: share
        for kind, share in judgement.probabilities.items()
        if kind not in judgement.parts
    }
    if judgement.label == OTHER_COMPRESSION:
        others = {kind: share for kind, share in others.items() if family_of(kind) != COMPRESSION}
    if not others:
        return ""
    kind = max(others, key=lambda each: others[each])
    if others[kind] < 0.005:
        return ""
    title = KINDS[kind].title if kind in KINDS else "none of these"
    return f"; next: {_lower(title)} {_rounded(others[kind])}"


def _rounded(probability: float) -> str:
    """Return a probability with two digits; never 1.00, since no answer is certain."""
    return f"{min(probability, 0.99):.2f}" if probability >= 0.005 else "below 0.01"


def _lower(title: str) -> str:
    """Return a title as the continuation of a sentence; names such as JPEG stay as they are."""
    if title.startswith(_NAMES) or not title[1:2].islower():
        return title
    return title[0].lower() + title[1:]
