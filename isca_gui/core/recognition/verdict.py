"""Votes in, verdict out: what the blocks of a picture say together, in figures and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.distortion.distortions import (
    DISTORTIONS,
    ORIGINAL,
    UNDECIDED_LABEL,
    level_text,
    parts_of,
)
from isca_gui.core.recognition.neighbours import UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

RULES = {
    "evidence": "original only if nearly all blocks say so, else the most frequent damage",
    "majority": "the class with the most blocks, as in the paper; undecided if more blocks are",
}
# The evidence rule calls a picture original if at least this share of its blocks is.
NEARLY_ALL = 0.98
# A picture whose `unusual` is higher than this fits no trained distortion.
UNUSUAL_LIMIT = 2.0
# A share that is printed as 0% is left out of the sentence.
_SMALLEST_SHARE_SHOWN = 0.005


@dataclass(frozen=True)
class Verdict:
    """The answer for a picture.

    `share` and `runner_up_share` are shares of all blocks; `margin` is their difference. `severity`
    is the MSE at which the winner's training pictures have moved as far from the reference as this
    one, and `nearest_level` the median MSE of the nearest of them over the winner's blocks.
    `unusual` is the mean −log rank of the damaged blocks' distances, plus the logarithm of how much
    more the winner's blocks disagree on the strength than is typical: mostly below 1.5 for trained
    kinds, above `UNUSUAL_LIMIT` for others.
    """

    label: str
    share: float
    runner_up: str | None
    runner_up_share: float
    margin: float
    severity: float
    nearest_level: float
    unusual: float
    unlike: bool  # no trained distortion fits
    shares: Mapping[str, float]  # per class, and `undecided`
    components: Mapping[str, float]  # per distortion; a block of a mixture counts for both parts
    parts: tuple[str, ...]  # the one or two distortions in the picture; none for an original
    sentence: str

    @property
    def top_two(self) -> tuple[str, ...]:
        """The one or two most likely distortions, whether or not the verdict names them."""
        if len(self.parts) == 2:
            return self.parts
        ranked = sorted(self.components, key=lambda name: -self.components[name])
        return tuple(name for name in ranked if name != ORIGINAL and self.components[name] > 0)[:2]


# --- from votes to a label ------------------------------------------------------------------------


def vote_shares(classes: Sequence[str], winner: NDArray[np.int16]) -> dict[str, float]:
    """Return the share of the blocks that vote for each class, and of those that are undecided.

    Parameters
    ----------
    classes
        The labels that the votes count.
    winner
        Per block the place of its class in `classes`, or `UNDECIDED`; shape (block,).
    """
    counts = np.bincount(winner[winner != UNDECIDED], minlength=len(classes))
    shares = {label: int(count) / len(winner) for label, count in zip(classes, counts, strict=True)}
    shares[UNDECIDED_LABEL] = int((winner == UNDECIDED).sum()) / len(winner)
    return shares


def winning_label(shares: Mapping[str, float], rule: str) -> str:
    """Return the label that a rule gives for the votes' shares; equal shares are undecided."""
    if rule == "evidence":
        if shares.get(ORIGINAL, 0.0) >= NEARLY_ALL:
            return ORIGINAL
        candidates = _without(shares, ORIGINAL, UNDECIDED_LABEL)
    else:
        candidates = _without(shares, UNDECIDED_LABEL)
    most = max(candidates.values(), default=0.0)
    leaders = [label for label, share in candidates.items() if share == most]
    if most == 0 or len(leaders) > 1:
        return UNDECIDED_LABEL
    if rule == "majority" and shares[UNDECIDED_LABEL] > most:
        return UNDECIDED_LABEL
    return leaders[0]


def is_ambiguous(shares: Mapping[str, float]) -> bool:
    """Whether several kinds of damage have the same, largest share of the blocks."""
    damage = _without(shares, ORIGINAL, UNDECIDED_LABEL).values()
    most = max(damage, default=0.0)
    return most > 0 and list(damage).count(most) > 1


def damage_in(label: str) -> tuple[str, ...]:
    """Return the distortions that a label names: two for a mixture, none for an original."""
    return () if label in (ORIGINAL, UNDECIDED_LABEL) else parts_of(label)


def _without(shares: Mapping[str, float], *labels: str) -> dict[str, float]:
    return {label: share for label, share in shares.items() if label not in labels}


# --- from a label to a verdict --------------------------------------------------------------------


def make_verdict(
    *,
    label: str,
    pair: tuple[str, str] | None,
    rule: str,
    shares: Mapping[str, float],
    severity: float,
    nearest_level: float,
    unusual: float,
    identical: bool,
    beyond_training: bool,
) -> Verdict:
    """Put the answer together.

    Parameters
    ----------
    label
        What the picture is called.
    pair
        Two distortions that explain the picture better than one, the first of which is `label`.
    rule
        One of `RULES`, by which the label was found.
    shares
        Shares of the votes as `vote_shares` returns them.
    severity, nearest_level, unusual
        As in `Verdict`.
    identical
        Whether no block differs from the reference.
    beyond_training
        Whether the picture is called original but differs from it more than any training picture
        does.
    """
    strange = label != ORIGINAL and not identical and pair is None and unusual > UNUSUAL_LIMIT
    unlike = beyond_training or strange
    parts = pair or damage_in(label)
    runner_up = None
    if label != UNDECIDED_LABEL and not identical:
        runner_up = pair[1] if pair is not None else _runner_up(label, rule, shares)
    # Undecided blocks vote for nothing, so an undecided verdict has no share either.
    share = shares.get(label, 0.0) if label != UNDECIDED_LABEL else 0.0
    runner_up_share = shares.get(runner_up, 0.0) if runner_up is not None else 0.0
    return Verdict(
        label=label,
        share=share,
        runner_up=runner_up,
        runner_up_share=runner_up_share,
        margin=share - runner_up_share,
        severity=severity,
        nearest_level=nearest_level,
        unusual=unusual,
        unlike=unlike,
        shares=shares,
        components=component_shares(shares),
        parts=parts,
        sentence=sentence(
            label=label,
            parts=parts,
            runner_up=runner_up,
            shares=shares,
            severity=severity,
            unlike=unlike,
            identical=identical,
        ),
    )


def component_shares(shares: Mapping[str, float]) -> dict[str, float]:
    """Return the share of the blocks per distortion; those of a mixture count for both parts."""
    found: dict[str, float] = {}
    for label, share in _without(shares, UNDECIDED_LABEL).items():
        for part in parts_of(label):
            found[part] = found.get(part, 0.0) + share
    return found


def _runner_up(label: str, rule: str, shares: Mapping[str, float]) -> str | None:
    """Return the class with most blocks after the winner.

    Untouched blocks are no evidence against a kind of damage, so by that rule the original does not
    compete.
    """
    others = _without(shares, label, UNDECIDED_LABEL)
    if rule == "evidence":
        others = _without(others, ORIGINAL)
    best = max(others, key=lambda name: others[name], default=None)
    return best if best is not None and others[best] > 0 else None


# --- in words -------------------------------------------------------------------------------------


def sentence(
    *,
    label: str,
    parts: tuple[str, ...],
    runner_up: str | None,
    shares: Mapping[str, float],
    severity: float,
    unlike: bool,
    identical: bool,
) -> str:
    """Return a verdict in words that can be pasted into a letter.

    Parameters
    ----------
    label, parts, runner_up, severity, unlike
        As in `Verdict`.
    shares
        Shares of the votes as `vote_shares` returns them.
    identical
        Whether no block differs from the reference.
    """
    if identical:
        return "This is the original: no block differs from the reference."
    if label == UNDECIDED_LABEL:
        return _undecided_sentence(shares)
    share = shares.get(label, 0.0)
    if label == ORIGINAL and unlike:
        return (
            "No trained distortion fits. "
            "The picture differs from the original more than any training picture does."
        )
    if label == ORIGINAL:
        return f"No damage found: {share:.0%} of the blocks match the original."
    if unlike:
        closest = f"Closest: {title(label)} ({share:.0%} of blocks)."
        return f"No trained distortion fits. {closest} Do not rely on it."
    if len(parts) > len(parts_of(label)):
        return _mixture_sentence(parts, shares)
    rival = ""
    if runner_up is not None and shares.get(runner_up, 0.0) >= _SMALLEST_SHARE_SHOWN:
        rival = f"; next is {title(runner_up)} with {shares[runner_up]:.0%}"
    strength = f"strength about MSE {level_text(severity)}"
    return f"{title(label)}, {strength}. {share:.0%} of the blocks agree{rival}."


def _undecided_sentence(shares: Mapping[str, float]) -> str:
    tied = shares[UNDECIDED_LABEL]
    damage = _without(shares, ORIGINAL, UNDECIDED_LABEL)
    if tied > max(damage.values(), default=0.0):
        return f"Undecided: {tied:.0%} of the blocks are equally close to two or more kinds."
    return "Undecided: two or more kinds tie for the largest share of the blocks."


def _mixture_sentence(parts: tuple[str, ...], shares: Mapping[str, float]) -> str:
    components = component_shares(shares)
    first, second = (components.get(part, 0.0) for part in parts)
    both = f"Two distortions together: {title('+'.join(parts))}"
    # The second may have no votes of its own and show only once the first is taken away.
    if second < _SMALLEST_SHARE_SHOWN:
        return f"{both}; {first:.0%} of the blocks vote for the first."
    return f"{both}, with {first:.0%} and {second:.0%} of the blocks."


def title(label: str) -> str:
    """Return the name of a label, single or mixed, at the beginning of a sentence."""
    first, *others = (
        DISTORTIONS[part].title if part in DISTORTIONS else part for part in parts_of(label)
    )
    return " and ".join([first, *map(_inside_a_sentence, others)])


def _inside_a_sentence(name: str) -> str:
    """Write a name in the middle of a sentence; abbreviations and Gauss keep their capitals."""
    keeps_capital = not name[1:2].islower() or name.startswith("Gauss")
    return name if keeps_capital else name[0].lower() + name[1:]


def short_form(verdict: Verdict) -> tuple[str, str]:
    """Return what a verdict says and how strong the damage is, in a word or two each.

    The strength is empty if it is not known.
    """
    if verdict.unlike:
        return "not recognised", ""
    said = "+".join(verdict.parts) or verdict.label
    # The strength was estimated for the label alone, not for each of two distortions taken apart.
    was_unmixed = len(verdict.parts) > len(parts_of(verdict.label))
    if was_unmixed or verdict.label == UNDECIDED_LABEL:
        return said, ""
    return said, level_text(verdict.severity)
