"""Recognise what was done to a picture: a vote per block, a verdict per picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.distortion.distortions import DISTORTIONS, ORIGINAL, UNDECIDED_LABEL
from isca_gui.core.model.descriptor import DESCRIPTORS, EXTRA, describe
from isca_gui.core.recognition.mixture import Unmixer
from isca_gui.core.recognition.neighbours import TIE, Neighbours, balanced, unchanged
from isca_gui.core.recognition.severity import severity
from isca_gui.core.recognition.typicality import typicality
from isca_gui.core.recognition.verdict import (
    NEARLY_ALL,
    RULES,
    damage_in,
    is_ambiguous,
    make_verdict,
    vote_shares,
    winning_label,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isca_gui.core.model.model import Model, TrainingExamples
    from isca_gui.core.pictures.blocks import BlockGrid
    from isca_gui.core.recognition.neighbours import Floats, NearestPictures
    from isca_gui.core.recognition.verdict import Verdict

MOST_NEIGHBOURS = 1000
FIT_ADVICE = "Choose another picture; on the command line, --resize or --crop makes it fit."


class RecognitionError(Exception):
    """A picture cannot be recognised with this model; the message says why and what to do."""


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
    rank: Floats  # 0 … 1: how typical the distance is for the class
    verdict: Verdict


class Recogniser:
    """Recognises pictures with one model; what it prepares serves all of them.

    Parameters
    ----------
    model
        A model that holds the descriptors of its training pictures.
    descriptor
        One of `DESCRIPTORS`: what the blocks are compared by.
    neighbours
        How many of the nearest training pictures vote in each block.
    """

    def __init__(self, model: Model, descriptor: str = "extended", neighbours: int = 1) -> None:
        if descriptor not in DESCRIPTORS:
            names = ", ".join(DESCRIPTORS)
            raise RecognitionError(f"The descriptor must be one of {names}, not '{descriptor}'.")
        if not 1 <= neighbours <= MOST_NEIGHBOURS:
            raise RecognitionError(
                f"The number of neighbours must be 1 to {MOST_NEIGHBOURS}, not {neighbours}."
            )
        if model.known is None:
            raise RecognitionError(
                "This model does not hold the descriptors of its training pictures. Train it again."
            )
        self.model = model
        self.descriptor = descriptor
        descriptors = model.known.descriptors
        self._reference = descriptors[:, 0]
        self._factors = balanced(descriptors) if model.kernel is not None else None
        self._levels = np.asarray(model.known.levels, np.float64)
        self.neighbours = Neighbours(
            self._compared(descriptors),
            model.known.labels,
            self._levels,
            same=unchanged(descriptors),
            k=neighbours,
        )
        self._unmixer = None
        # Steps of two distortions add up in the pixels, not in a kernel's feature space.
        if descriptor == "extended" and model.kernel is None:
            self._unmixer = Unmixer(self.neighbours)

    def recognise(self, picture: NDArray[Any], rule: str = "evidence") -> Recognition:
        """Recognise a picture (height, width) of the size that the model was trained on."""
        grid = self.model.grid
        if picture.ndim != 2 or not np.issubdtype(picture.dtype, np.floating):
            raise RecognitionError("The picture must be a matrix of grey values from 0 to 1.")
        if not np.isfinite(picture).all():
            raise RecognitionError(
                "The picture holds values that are not finite. Replace them first."
            )
        if picture.shape != (grid.height, grid.width):
            raise RecognitionError(
                f"{size_mismatch(picture, grid.height, grid.width)}. {FIT_ADVICE}"
            )
        described = describe(self.model, picture[np.newaxis])
        identical = bool((np.abs(described[:, 0] - self._reference) <= TIE).all())
        return self._recognise(described, rule, identical=identical)

    def recognise_left_out(self, picture: NDArray[Any], left_out: int | None) -> Recognition:
        """Recognise a picture; if it is training picture `left_out`, as if that were not known."""
        if left_out is not None:
            number = self.training_picture(picture, left_out)
            if number is not None:
                return self.leave_one_out(number)
        return self.recognise(picture)

    def training_picture(self, picture: NDArray[Any], first: int = 0) -> int | None:
        """Return the number of the training picture that this is, or None if it is none of them.

        Of several that are alike, it is `first` if that is one of them.
        """
        descriptors = self._examples.descriptors
        grid = self.model.grid
        if picture.shape != (grid.height, grid.width):
            return None
        described = describe(self.model, picture[np.newaxis])[:, 0]
        precision = self._examples.precision
        numbers = sorted(range(descriptors.shape[1]), key=lambda number: number != first)
        for number in numbers:
            known = descriptors[:, number]
            # Stored descriptors are as precise as their distance from the reference's.
            reach = TIE + 2 * precision * np.abs(known - descriptors[:, 0])
            if (np.abs(described - known) <= reach).all():
                return number
        return None

    def leave_one_out(self, index: int, rule: str = "evidence") -> Recognition:
        """Recognise a training picture by all others."""
        described = self._examples.descriptors[:, index : index + 1]
        return self._recognise(described, rule, leave_out=index)

    @property
    def _examples(self) -> TrainingExamples:
        assert self.model.known is not None
        return self.model.known

    def _compared(self, described: Floats) -> Floats:
        """Return what is compared of descriptors (block, image, number)."""
        if self.descriptor == "structural":
            return described[:, :, :-EXTRA]
        return described if self._factors is None else described * self._factors[:, None]

    def _recognise(
        self, described: Floats, rule: str, *, leave_out: int | None = None, identical: bool = False
    ) -> Recognition:
        if rule not in RULES:
            raise RecognitionError(f"The rule must be one of {', '.join(RULES)}, not '{rule}'.")
        points = self._compared(described)[:, 0]
        near = self.neighbours.nearest(points, leave_out)
        shares = vote_shares(near.classes, near.winner)
        label = ORIGINAL if identical else winning_label(shares, rule)
        pair = None
        if rule == "evidence":
            pair = self._pair(points, near, label, shares, leave_out)
        if pair is not None:
            label = pair[0]

        beyond_training = False
        if label == ORIGINAL and not identical:
            beyond_training = self._is_beyond_training(points, leave_out)
        mse = self._severity(described, near, label, leave_out)
        fit = typicality(near, label, mse)
        level = near.levels[near.closest].astype(np.float32)
        return Recognition(
            classes=near.classes,
            grid=self.model.grid,
            winner=near.winner,
            distances=near.distances,
            nearest=near.closest,
            level=level,
            confidence=near.confidence,
            rank=fit.rank,
            verdict=make_verdict(
                label=label,
                pair=pair,
                rule=rule,
                shares=shares,
                severity=mse,
                nearest_level=_nearest_level(near, level, label),
                unusual=fit.unusual,
                identical=identical,
                beyond_training=beyond_training,
            ),
        )

    def _pair(
        self,
        points: Floats,
        near: NearestPictures,
        label: str,
        shares: Mapping[str, float],
        leave_out: int | None,
    ) -> tuple[str, str] | None:
        """Return the two distortions in a picture, the one with more votes first, or None.

        They are looked for if one distortion has won, or if several that may both be there share
        the lead.
        """
        leads_together = label == UNDECIDED_LABEL and is_ambiguous(shares)
        if self._unmixer is None or not (leads_together or len(damage_in(label)) == 1):
            return None
        pair = self._unmixer.find_pair(points, near.typical, leave_out)
        if pair is not None and shares.get(pair[1], 0.0) > shares.get(pair[0], 0.0):
            return pair[1], pair[0]
        return pair

    def _severity(
        self, described: Floats, near: NearestPictures, label: str, leave_out: int | None
    ) -> float:
        """Return the MSE of a picture (block, 1, number) that is called `label`."""
        if label not in near.classes or label == ORIGINAL:
            return 0.0
        labels = self._examples.labels
        members = [
            index for index, name in enumerate(labels) if name == label and index != leave_out
        ]
        if not members:
            return 0.0
        # Untouched blocks count too: they say that the damage is weak.
        voters = [index for index, name in enumerate(near.classes) if name in (label, ORIGINAL)]
        return severity(
            described,
            self._examples.descriptors,
            self._levels,
            np.array(members, np.intp),
            np.isin(near.winner, voters),
            inside=0 if self.model.kernel is not None else self.model.settings.components,
            noise=label in DISTORTIONS and DISTORTIONS[label].random,
        )

    def _is_beyond_training(self, points: Floats, leave_out: int | None) -> bool:
        """Whether a picture that is nearest to the reference is not an original all the same.

        More of its blocks than an original may have differ from the reference more than those of
        any training picture do: a kind of damage that was not trained, for which the reference
        happens to be nearest.
        """
        descriptors = self._examples.descriptors
        reference = self._compared(descriptors[:, :1])[:, 0]
        reach = np.zeros(len(reference))
        for number in range(1, descriptors.shape[1]):
            if number != leave_out:
                other = self._compared(descriptors[:, number : number + 1])[:, 0]
                np.maximum(reach, _lengths(other - reference), out=reach)
        beyond = _lengths(points - reference) > reach + TIE
        return bool(beyond.mean() > 1 - NEARLY_ALL)


def size_mismatch(picture: NDArray[Any], height: int, width: int) -> str:
    """Return the clause that names the sizes of a picture and of the reference it should match."""
    mine = f"The picture has {picture.shape[1]}×{picture.shape[0]} pixels"
    return f"{mine}, the model's reference {width}×{height}"


def _lengths(vectors: Floats) -> Floats:
    """Return the lengths of vectors (block, number)."""
    lengths: Floats = np.sqrt(np.einsum("bf,bf->b", vectors, vectors))
    return lengths


def _nearest_level(near: NearestPictures, level: Floats, label: str) -> float:
    """Return the median MSE of the nearest pictures over the blocks that vote for a label."""
    if label not in near.classes or label == ORIGINAL:
        return 0.0
    mine = near.winner == near.classes.index(label)
    return float(np.median(level[mine])) if mine.any() else 0.0
