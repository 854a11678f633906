"""Maps as pictures: opacity is confidence, classes differ without colour, letters fit."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isca_gui.core.distortion.distortions import TABLE
from isca_gui.core.pictures.blocks import BlockGrid
from isca_gui.core.recognition import vote_overlays
from isca_gui.core.recognition.neighbours import UNDECIDED
from isca_gui.core.recognition.recogniser import Recognition
from isca_gui.core.recognition.verdict import Verdict
from isca_gui.core.recognition.vote_overlays import (
    compose,
    confidence_overlay,
    look,
    pattern_mask,
    severity_overlay,
    swatch,
    vote_overlay,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLASSES = ("original", *(row.name for row in TABLE))


def recognition(
    winner: NDArray[np.int16],
    side: int = 8,
    confidence: float = 1.0,
    shape: tuple[int, int] | None = None,
) -> Recognition:
    """Make a recognition of a board (rows, columns) of winners."""
    rows, columns = winner.shape
    height, width = shape or (rows * side, columns * side)
    count = rows * columns
    floats = np.ones(count, np.float32)
    verdict = Verdict(
        label="blur",
        share=1.0,
        runner_up=None,
        runner_up_share=0.0,
        margin=1.0,
        severity=100.0,
        nearest_level=100.0,
        unusual=0.5,
        unlike=False,
        shares={"blur": 1.0},
        components={"blur": 1.0},
        parts=("blur",),
        sentence="Blur.",
    )
    return Recognition(
        classes=CLASSES,
        grid=BlockGrid(height, width, side),
        winner=winner.ravel().astype(np.int16),
        distances=np.ones((count, len(CLASSES)), np.float32),
        nearest=np.zeros(count, np.int32),
        level=np.linspace(0, 900, count, dtype=np.float32),
        confidence=confidence * floats,
        rank=floats,
        verdict=verdict,
    )


def board(*rows: list[int]) -> NDArray[np.int16]:
    return np.array(rows, np.int16)


def test_the_fill_is_as_opaque_as_the_vote_is_sure() -> None:
    found = recognition(board([0, 0, 0, 0]), confidence=0.4)
    overlay = vote_overlay(found, 8, 32)
    assert overlay.shape == (8, 32, 4)
    assert overlay.dtype == np.uint8
    assert (overlay[..., 3] == round(0.4 * 255)).all()
    assert (overlay[..., :3] == look("original").colour).all()


def test_doubtful_blocks_keep_a_readable_pattern() -> None:
    overlay = vote_overlay(recognition(board([4]), confidence=0.0), 8, 8)
    lines = pattern_mask(look("blur").patterns, 8, 8)
    assert (overlay[~lines, 3] == 0).all()
    assert (overlay[lines, 3] > 80).all()


def test_undecided_blocks_are_a_white_hatch_with_the_picture_between() -> None:
    overlay = vote_overlay(recognition(board([UNDECIDED, UNDECIDED])), 8, 16)
    white = (overlay == 255).all(axis=-1)
    assert 0.15 < white.mean() < 0.5
    assert (overlay[..., 3] == 0).mean() > 0.4


def test_all_classes_differ_without_colour() -> None:
    patterns = {
        label: pattern_mask(look(label).patterns, 8, 8) for label in (*CLASSES, "undecided")
    }
    for first, second in itertools.combinations(patterns, 2):
        assert (patterns[first] != patterns[second]).any(), (first, second)
    letters = [look(label).letter for label in CLASSES]
    assert len(set(letters)) == len(letters)


def test_letters_stand_only_in_areas_of_their_class() -> None:
    winner = np.full((16, 16), 6, np.int16)
    winner[:, 8:] = 4
    plain = np.full((16, 16), 0, np.int16)
    found = recognition(winner)
    overlay = vote_overlay(found, 128, 128)
    black = (overlay[..., :3] == 0).all(axis=-1) & (overlay[..., 3] == 255)
    assert black[:, :64].any()
    assert black[:, 64:].any()
    assert not black[:, 62:66].any()
    assert vote_overlay(recognition(plain), 128, 128).shape == (128, 128, 4)


def test_small_areas_have_no_letter() -> None:
    winner = np.zeros((8, 8), np.int16)
    winner[::2, ::2] = 4
    winner[1::2, 1::2] = 6
    overlay = vote_overlay(recognition(winner), 64, 64)
    black = (overlay[..., :3] == 0).all(axis=-1)
    assert not black.any()


@pytest.mark.parametrize("shape", [(61, 75), (8, 8), (100, 33)])
@pytest.mark.parametrize("side", [2, 8, 64])
def test_odd_sizes_and_all_block_sides_can_be_drawn(shape: tuple[int, int], side: int) -> None:
    grid = BlockGrid(*shape, side)
    winner = np.random.default_rng(0).integers(-1, len(CLASSES), (grid.rows, grid.columns))
    found = recognition(winner.astype(np.int16), side, 0.7, shape)
    for draw in (vote_overlay, severity_overlay, confidence_overlay):
        assert draw(found, *shape).shape == (*shape, 4)
        assert draw(found, 2 * shape[0], 2 * shape[1]).shape == (2 * shape[0], 2 * shape[1], 4)


def test_severity_grows_in_lightness() -> None:
    found = recognition(np.full((1, 16), 4, np.int16))
    overlay = severity_overlay(found, 8, 128, 900.0).astype(int)
    light = overlay[4, 4::8, :3] @ [30, 59, 11]
    assert (np.diff(light) >= 0).all()
    assert light[-1] > 3 * light[0]


def test_values_that_are_not_known_are_hatched() -> None:
    found = recognition(np.full((1, 2), 4, np.int16))
    found.level[0] = np.nan
    overlay = severity_overlay(found, 8, 16)
    assert (overlay[:, :8] == 255).all(axis=-1).any()
    assert (overlay[:, 8:, 3] > 0).all()


def test_composing_mixes_by_opacity() -> None:
    picture = np.full((4, 4), 0.5, np.float32)
    overlay = np.zeros((4, 4, 4), np.uint8)
    overlay[:] = (255, 0, 0, 255)
    assert (compose(picture, overlay, 0.0) == 128).all()
    assert (compose(picture, overlay, 1.0) == (255, 0, 0)).all()
    assert compose(picture, overlay, 0.5).shape == (4, 4, 3)
    assert compose(picture, np.zeros((8, 8, 4), np.uint8), 1.0).shape == (8, 8, 3)


def test_mixtures_and_unknown_labels_always_have_the_same_style() -> None:
    mixture = look("blur+jpeg")
    assert mixture.letter == "BJ"
    assert set(mixture.patterns) == {*look("blur").patterns, *look("jpeg").patterns}
    assert look("my folder") == look("my folder")
    assert swatch("my folder", 18, 26).shape == (18, 26, 4)
    assert vote_overlays.colours("000000 ffffff").shape == (256, 3)


@pytest.mark.parametrize("label", [*CLASSES, "blur+jpeg", "undecided", ""])
def test_swatches_are_opaque(label: str) -> None:
    assert (swatch(label, 18, 26)[..., 3] > 100).all()
