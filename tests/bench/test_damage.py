"""The damages that train and measure comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from isca_gui.bench import damage, scenes
from isca_gui.bench.damage import DAMAGES, TABLE, Damage
from isca_gui.core.comparison.classifier import NONE
from isca_gui.core.comparison.kinds import KINDS, OTHER_COMPRESSION
from isca_gui.core.pictures import image, samples

MISSING = damage.missing()


@pytest.fixture(scope="module")
def coffee() -> damage.Picture:
    whole = image.read_colour(samples.resolve("sample:coffee"))
    return np.rint(255 * whole[100:201, 150:275]).astype(np.uint8)


def applied(name: str, picture: np.ndarray, seed: int = 0) -> tuple[np.ndarray, dict[str, float]]:
    return DAMAGES[name].apply(picture, np.random.default_rng(seed))


@pytest.mark.parametrize(
    "kind", [each for each in TABLE if each not in MISSING], ids=lambda k: k.name
)
def test_a_damage_changes_grey_and_colour_and_repeats(kind: Damage, coffee: np.ndarray) -> None:
    for picture in (coffee, coffee[..., 1].copy()):
        before = picture.copy()
        copies = [applied(kind.name, picture, seed)[0] for seed in (3, 3, 4, 5)]
        assert {copy.shape for copy in copies} == {picture.shape}
        assert {copy.dtype for copy in copies} == {np.dtype(np.uint8)}
        assert np.array_equal(copies[0], copies[1])
        assert any(scenes.mse(picture, copy) > 0.5 for copy in copies)
        assert np.array_equal(picture, before)


def test_the_table_has_every_kind_that_a_comparison_names() -> None:
    known = [each.name for each in TABLE if each.group == damage.KNOWN]
    assert known == [kind for kind in KINDS if kind != OTHER_COMPRESSION]
    assert {each.label for each in TABLE} == {*KINDS, NONE}
    assert len(DAMAGES) == len(TABLE)


def test_what_is_missing_is_in_no_group() -> None:
    groups = (damage.KNOWN, damage.ENCODERS, damage.UNSEEN, damage.LEFT_OUT)
    there = [each for name in groups for each in damage.group(name)]
    assert there == [each for each in TABLE if each not in MISSING]
    assert all(each.needs for each in MISSING)


def test_parameters_are_those_of_the_copy(coffee: np.ndarray) -> None:
    picture = np.full((128, 128), 120, np.uint8)
    copy, parameters = applied("luminance", picture)
    assert copy.mean() - 120 == pytest.approx(parameters["shift"], abs=0.5)
    copy, parameters = applied("gaussian-noise", picture)
    assert copy.std() == pytest.approx(parameters["sigma"], rel=0.05)
    copy, parameters = applied("impulse", picture, 2)
    assert (copy != picture).mean() == pytest.approx(parameters["share"], rel=0.2)
    copy, parameters = applied("posterisation", coffee[..., 0].copy())
    assert len(np.unique(copy)) <= parameters["levels"]


def test_a_motion_kernel_is_a_line_of_its_length_and_angle() -> None:
    for length, angle in ((9.0, 0.0), (12.5, 30.0), (5.0, 90.0)):
        kernel = damage.motion_kernel(length, angle)
        rows, columns = np.indices(kernel.shape) - kernel.shape[0] // 2
        assert kernel.sum() == pytest.approx(1)
        assert np.allclose(ndimage.center_of_mass(kernel), kernel.shape[0] // 2)
        # A line of length L has the variance L²/12 along itself; sharing out adds at most 1/2.
        along = columns * np.cos(np.deg2rad(angle)) - rows * np.sin(np.deg2rad(angle))
        assert (kernel * along**2).sum() == pytest.approx(length**2 / 12, abs=0.6)


def test_filters_keep_a_flat_picture(coffee: np.ndarray) -> None:
    flat = np.full((100, 120, 3), (10, 120, 250), np.uint8)
    names = ["blur", "motion-blur", "sharpening", "resampling", "median", "bilateral", "warp"]
    for name in names:
        for seed in range(4):
            assert np.abs(applied(name, flat, seed)[0].astype(int) - flat).max() <= 1, name
