"""What was done to a picture, where, how strongly, and how sure: a vote per block, a verdict per picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.distortion.distortions import DISTORTIONS, ORIGINAL, level_text, parts_of
from isca_gui.core.distortion.distortions import UNDECIDED_LABEL as UNDECIDED_LABEL
from isca_gui.core.model.descriptor import DESCRIPTORS, EXTRA, describe
from isca_gui.core.recognition.mixture import Mixture, Unmixer
from isca_gui.core.recognition.neighbours import TIE, Neighbours, balanced, unchanged
from isca_gui.core.recognition.severity import severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isca_gui.core.model.model import Model
    from isca_gui.core.pictures.blocks import BlockGrid
    from isca_gui.core.recognition.neighbours import Floats, NearestPictures

UNDECIDED = -1
RULES = {
    "evidence": "original only if nearly all blocks say so, else the largest class among damaged blocks",
    "majority": "the class with most blocks, as in the paper; undecided if more blocks are",
}
NEARLY_ALL = 0.98  # of the blocks must be as in the original for the picture to be called so
UNLIKE = 2.0  # `unusual` above which a picture is unlike anything trained on
MOST_NEIGHBOURS = 1000
FIT_ADVICE = "Choose another; on the command line, --resize or --crop make it fit."


class RecognitionError(Exception):
    """A picture cannot be recognised with this model; the message says why and what to do."""


@dataclass(frozen=True)
class Verdict:
    """The answer for a picture.

    `share` and `runner_up_share` are of all blocks; `margin` is their difference. `severity` is the MSE at
    which the winner's training pictures have moved as far from the reference as this one, and `nearest_level`
    the median MSE of the nearest of them over the winner's blocks. `unusual` is the mean −log rank of the
    damaged blocks' distances, plus the logarithm of how much the winner's blocks disagree on the strength
    beside what is usual: mostly below 1.5 for what was trained, above `UNLIKE` for what was not.
    """

    label: str
    share: float
    runner_up: str | None
    runner_up_share: float
    margin: float
    severity: float
    nearest_level: float
    unusual: float
    unlike: bool
    shares: Mapping[str, float]  # per label, and `undecided`
    components: Mapping[
        str, float
    ]  # per single distortion; a block of a mixture counts for both its parts
    parts: tuple[
        str, ...
    ]  # the one or two distortions that are in the picture; none for an original
    sentence: str

    @property
    def top_two(self) -> tuple[str, ...]:
        """The one or two distortions most likely in the picture, whether or not they are said to be."""
        if len(self.parts) == 2:
            return self.parts
        ranked = sorted(self.components, key=lambda name: -self.components[name])
        return tuple(name for name in ranked if name != ORIGINAL and self.components[name] > 0)[:2]


@dataclass(frozen=True, eq=False)
class Recognition:
    """Votes of all blocks and the verdict. Arrays are per block; distances per block and class."""

    classes: tuple[str, ...]
    grid: BlockGrid
    winner: NDArray[np.int16]  # index into classes, or UNDECIDED
    distances: Floats
    nearest: NDArray[np.int32]  # the nearest training picture
    level: Floats  # MSE of the nearest training picture of the winning class
    confidence: Floats  # 0 … 1: how much further the second class is than the first
    rank: Floats  # 0 … 1: how usual the distance is for the class
    verdict: Verdict


class Recogniser:
    """Recognises pictures with one model; what it prepares serves all of them."""

    def __init__(self, model: Model, descriptor: str = "extended", neighbours: int = 1) -> None:
        if descriptor not in DESCRIPTORS:
            raise RecognitionError(
                f"The descriptor is one of {', '.join(DESCRIPTORS)}, not '{descriptor}'."
            )
        if not 1 <= neighbours <= MOST_NEIGHBOURS:
            raise RecognitionError(f"Neighbours are 1 to {MOST_NEIGHBOURS}, not {neighbours}.")
        if model.known is None:
            raise RecognitionError(
                "This model does not hold its training pictures' descriptors. Train it anew."
            )
        self.model, self.descriptor = model, descriptor
        known = model.known
        self._reference = known.descriptors[:, 0]
        self._factors = balanced(known.descriptors) if model.kernel is not None else None
        self._levels = np.asarray(known.levels, np.float64)
        same = unchanged(known.descriptors)
        self.neighbours = Neighbours(
            self._chosen(known.descriptors),
            known.labels,
            self._levels,
            same=same,
            neighbours=neighbours,
        )
        unmixes = descriptor == "extended" and model.kernel is None
        self._unmixer = Unmixer(self.neighbours, self._levels) if unmixes else None

    def recognise(self, picture: NDArray[Any], rule: str = "evidence") -> Recognition:
        """Recognise a picture (height, width) of the size that the model was trained on."""
        grid = self.model.grid
        if picture.ndim != 2 or not np.issubdtype(picture.dtype, np.floating):
            raise RecognitionError("A picture to recognise is a matrix of grey values from 0 to 1.")
        if not np.isfinite(picture).all():
            raise RecognitionError("The picture holds values that are not finite. Repair it first.")
        if picture.shape != (grid.height, grid.width):
            raise RecognitionError(f"{sizes(picture, grid.height, grid.width)}. {FIT_ADVICE}")
        described = describe(self.model, picture[np.newaxis])
        identical = bool((np.abs(described[:, 0] - self._reference) <= TIE).all())
        return self._recognise(described, rule, identical=identical)

    def recognise_anew(self, picture: NDArray[Any], left_out: int | None) -> Recognition:
        """Recognise a picture; a training picture that was left out, as if it were not known."""
        number = self.number_of(picture, left_out) if left_out is not None else None
        return self.recognise(picture) if number is None else self.leave_one_out(number)

    def number_of(self, picture: NDArray[Any], first: int = 0) -> int | None:
        """Give which training picture this is, if it is one; of several that are alike, `first` if it is."""
        assert self.model.known is not None
        known, grid = self.model.known.descriptors, self.model.grid
        if picture.shape != (grid.height, grid.width):
            return None
        described = describe(self.model, picture[np.newaxis])[:, 0]
        numbers = sorted(range(known.shape[1]), key=lambda number: number != first)
        same = (number for number in numbers if (np.abs(described - known[:, number]) <= TIE).all())
        return next(same, None)

    def leave_one_out(self, index: int, rule: str = "evidence") -> Recognition:
        """Recognise a training picture with all others."""
        assert self.model.known is not None
        return self._recognise(
            self.model.known.descriptors[:, index : index + 1], rule, leave_out=index
        )

    def _severe(
        self, described: Floats, winner: NDArray[np.int16], label: str, leave_out: int | None
    ) -> float:
        known, classes = self.model.known, self.neighbours.classes
        assert known is not None
        if label not in classes or label == ORIGINAL:
            return 0.0
        alike = [index for index, name in enumerate(classes) if name in (label, ORIGINAL)]
        places = (index for index, name in enumerate(known.labels) if name == label)
        members = np.array([index for index in places if index != leave_out], np.intp)
        if not len(members):
            return 0.0
        inside = 0 if self.model.kernel is not None else self.model.settings.components
        return severity(
            described,
            known.descriptors,
            self._levels,
            members,
            np.isin(winner, alike),
            inside,
            noise=_is_noise(label),
        )

    def _chosen(self, described: Floats) -> Floats:
        """Take of descriptors (block, image, number) what is compared."""
        if self.descriptor == "structural":
            return described[:, :, :-EXTRA]
        return described if self._factors is None else described * self._factors[:, None]

    def _recognise(
        self, described: Floats, rule: str, *, leave_out: int | None = None, identical: bool = False
    ) -> Recognition:
        if rule not in RULES:
            raise RecognitionError(f"The rule is one of {', '.join(RULES)}, not '{rule}'.")
        points = self._chosen(described)[:, 0]
        near = self.neighbours.near(points, leave_out)
        best = np.where(near.winner == UNDECIDED, near.distances.argmin(axis=1), near.winner)[
            :, None
        ]
        nearest = np.take_along_axis(near.pictures, best, axis=1)[:, 0]
        level = self._levels[nearest].astype(np.float32)
        judge = _Judge(self.neighbours, near, level, leave_out)
        label, mixture = ORIGINAL if identical else judge.label(rule), None
        is_ambiguous = (
            label == UNDECIDED_LABEL and judge.is_ambiguous
        )  # between two that may both be there
        if (
            rule == "evidence"
            and self._unmixer is not None
            and (is_ambiguous or len(_parts(label)) == 1)
        ):
            mixture = self._unmixer.look(points, leave_out)
            label = judge.leading(label, mixture)
        far = label == ORIGINAL and not identical and self._is_far(points, leave_out)
        strength = self._severe(described, near.winner, label, leave_out)
        rank = judge.ranks(label, strength)
        return Recognition(
            self.neighbours.classes,
            self.model.grid,
            near.winner,
            near.distances,
            nearest,
            level,
            _confidence(near),
            rank,
            judge.verdict(label, rule, mixture, strength, rank, identical, far),
        )

    def _is_far(self, points: Floats, leave_out: int | None) -> bool:
        """Tell whether a picture with no other class near is no original all the same.

        More of its blocks than an original may have differ from the reference more than those of any training
        picture do: a kind of damage that was not trained, for which the reference happens to be nearest.
        """
        assert self.model.known is not None
        known = self.model.known.descriptors
        own = self._chosen(known[:, :1])[:, 0]
        reach = np.zeros(len(own))
        for number in set(range(1, known.shape[1])) - {leave_out}:
            moved = self._chosen(known[:, number : number + 1])[:, 0] - own
            np.maximum(reach, np.sqrt(np.einsum("bf,bf->b", moved, moved)), out=reach)
        moved = points - own
        away = np.sqrt(np.einsum("bf,bf->b", moved, moved))
        return bool((away > reach + TIE).mean() > 1 - NEARLY_ALL)


class _Judge:
    """Makes a verdict of the blocks' votes."""

    def __init__(
        self, neighbours: Neighbours, near: NearestPictures, level: Floats, leave_out: int | None
    ) -> None:
        self._neighbours, self._near, self._level, self._leave_out = (
            neighbours,
            near,
            level,
            leave_out,
        )
        self._classes = classes = neighbours.classes
        blocks = len(near.winner)
        counts = np.bincount(near.winner[near.winner >= 0], minlength=len(classes))
        self.shares = {
            label: int(count) / blocks for label, count in zip(classes, counts, strict=True)
        }
        self.undecided = int((near.winner < 0).sum()) / blocks

    @property
    def is_ambiguous(self) -> bool:
        """Whether more than one kind of damage has the largest share of the blocks."""
        among = [share for name, share in self.shares.items() if name != ORIGINAL and share > 0]
        return among.count(max(among, default=0.0)) > 1

    def label(self, rule: str) -> str:
        """Apply a rule; equal shares are undecided."""
        if rule == "evidence" and self.shares.get(ORIGINAL, 0.0) >= NEARLY_ALL:
            return ORIGINAL
        among = {
            name: share
            for name, share in self.shares.items()
            if rule == "majority" or name != ORIGINAL
        }
        most = max(among.values(), default=0.0)
        best = [name for name, share in among.items() if share == most]
        outvoted = rule == "majority" and self.undecided > most
        return best[0] if len(best) == 1 and most > 0 and not outvoted else UNDECIDED_LABEL

    def leading(self, label: str, mixture: Mixture | None) -> str:
        """Give the label of a picture with two distortions: that of the two with more blocks."""
        return label if mixture is None else self._parts(label, mixture)[0]

    def ranks(self, label: str, severity: float) -> Floats:
        """Give how usual the blocks' distances are."""
        known = {self._classes.index(label): severity} if label in self._classes else {}
        return self._neighbours.ranks(self._near, known, self._leave_out)

    def verdict(
        self, label: str, rule: str, mixture: Mixture | None, severity: float, rank: Floats, identical: bool,
        far: bool,
    ) -> Verdict:  # fmt: skip
        """Put the answer together."""
        components, parts = _components(self.shares), self._parts(label, mixture)
        unusual = self._unusual(label, severity, rank)
        unlike = far or (
            mixture is None and not identical and label != ORIGINAL and unusual > UNLIKE
        )
        rival = parts[1] if mixture is not None else self._rival(label, rule)
        rival = None if identical or label == UNDECIDED_LABEL else rival
        share, second = self.shares.get(label, 0.0), self.shares.get(rival, 0.0) if rival else 0.0
        draft = Verdict(
            *(label, share, rival, second, share - second),
            *(severity, self._nearest_level(label), unusual, unlike),
            *({**self.shares, UNDECIDED_LABEL: self.undecided}, components, parts, ""),
        )
        return Verdict(**{**vars(draft), "sentence": sentence(draft, identical=identical)})

    def _rival(self, label: str, rule: str) -> str | None:
        """Give the class with most blocks besides the winner; untouched blocks are no rival to evidence."""
        others = [
            name
            for name in self.shares
            if name != label and (name != ORIGINAL or rule == "majority")
        ]
        best = max(others, key=lambda name: self.shares[name], default=None)
        return best if best is not None and self.shares[best] > 0 else None

    def _parts(self, label: str, mixture: Mixture | None) -> tuple[str, ...]:
        if mixture is None:
            return _parts(label)
        return tuple(sorted(mixture.kinds, key=lambda name: -self.shares.get(name, 0.0)))

    def _unusual(self, label: str, severity: float, rank: Floats) -> float:
        """Average −log rank over the damaged blocks; add how much the winner's disagree on the strength."""
        original = self._classes.index(ORIGINAL) if ORIGINAL in self._classes else UNDECIDED
        damaged = (self._near.winner != original) & (self._near.winner >= 0)
        if not damaged.any() or label not in self._classes or label == ORIGINAL:
            return 0.0
        index = self._classes.index(label)
        disagreement = self._neighbours.disagreement(self._near, index, severity, self._leave_out)
        return float(-np.log(rank[damaged]).mean()) + float(np.log(max(disagreement, 0.05)))

    def _nearest_level(self, label: str) -> float:
        if label not in self._classes or label == ORIGINAL:
            return 0.0
        mine = self._near.winner == self._classes.index(label)
        return float(np.median(self._level[mine])) if mine.any() else 0.0


def sizes(picture: NDArray[Any], height: int, width: int) -> str:
    """Say the sizes of a picture and of the reference, which should be the same."""
    found = f"The picture has {picture.shape[1]}×{picture.shape[0]} pixels"
    return f"{found}, the model's reference {width}×{height}"


def title(label: str) -> str:
    """Name a label, single or mixed, for a person."""
    first, *others = [
        DISTORTIONS[part].title if part in DISTORTIONS else part for part in parts_of(label)
    ]
    return " and ".join([first, *map(_inside, others)])


def _inside(name: str) -> str:
    """Write a name in the middle of a sentence; abbreviations and Gauss keep their capitals."""
    kept = not name[1:2].islower() or name.startswith("Gauss")
    return name if kept else name[0].lower() + name[1:]


def sentence(verdict: Verdict, *, identical: bool = False) -> str:
    """Say a verdict in words that can be pasted into a letter."""
    if identical:
        return "This is the original: no block differs from the reference."
    if verdict.label == ORIGINAL and verdict.unlike:
        return "Unlike anything trained on: it differs from the original more than any training picture does."
    if verdict.label == ORIGINAL:
        return f"No damage found: {verdict.share:.0%} of the blocks are as in the original."
    if verdict.label == UNDECIDED_LABEL:
        tied = verdict.shares[UNDECIDED_LABEL]
        damaged = (
            share
            for name, share in verdict.shares.items()
            if name not in (ORIGINAL, UNDECIDED_LABEL)
        )
        if tied > max(damaged, default=0.0):
            return f"Undecided: {tied:.0%} of the blocks are equally near to more than one class."
        return "Undecided: more than one class has the largest share of the blocks."
    agree = f"{verdict.share:.0%} of the blocks agree"
    rival = (
        f"; next is {title(verdict.runner_up)} with {verdict.runner_up_share:.0%}"
        if verdict.runner_up and verdict.runner_up_share >= 0.005
        else ""
    )
    if verdict.unlike:
        return f"Unlike anything trained on; nearest: {title(verdict.label)} ({agree}{rival})."
    if len(verdict.parts) == 2 and len(parts_of(verdict.label)) == 1:
        both = title("+".join(verdict.parts))
        first, second = (verdict.components.get(part, 0.0) for part in verdict.parts)
        if (
            second < 0.005
        ):  # its votes all go to the other, but it shows when that one is taken away
            return (
                f"Two distortions together: {both}; {first:.0%} of the blocks vote for the first."
            )
        return f"Two distortions together: {both}, with {first:.0%} and {second:.0%} of the blocks."
    return f"{title(verdict.label)}, strength about MSE {level_text(verdict.severity)}. {agree}{rival}."


def _is_noise(label: str) -> bool:
    return label in DISTORTIONS and DISTORTIONS[label].random


def _parts(label: str) -> tuple[str, ...]:
    return () if label in (ORIGINAL, UNDECIDED_LABEL) else parts_of(label)


def _components(shares: Mapping[str, float]) -> dict[str, float]:
    """Count a mixture's blocks for both its parts."""
    found: dict[str, float] = {}
    for label, share in shares.items():
        for part in parts_of(label):
            found[part] = found.get(part, 0.0) + share
    return found


def _confidence(near: NearestPictures) -> Floats:
    """0 where the two nearest classes are equally far, 1 where the second is infinitely further."""
    if near.distances.shape[1] < 2:
        return np.ones(len(near.winner), np.float32)
    first, second = np.partition(near.distances, 1, axis=1)[:, :2].T
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(np.isfinite(second), (second - first) / np.maximum(second, TIE), 1.0)
    found[near.winner == UNDECIDED] = 0.0
    confidence: Floats = np.nan_to_num(found).astype(np.float32)
    return confidence
