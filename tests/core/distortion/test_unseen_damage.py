"""Damage that no dataset trains: pictures stay pictures, and strengths lead into a range of MSE."""

from __future__ import annotations

import numpy as np
import pytest
from skimage import data

from isca_gui.core.distortion import unseen_damage
from isca_gui.core.distortion.distortions import mse

SIZES = [(64, 64), (23, 60), (16, 16), (5, 7), (1, 1)]


def photograph(height: int, width: int) -> np.ndarray:
    rows, columns = (np.linspace(0, 511, size).astype(int) for size in (height, width))
    return (data.camera()[np.ix_(rows, columns)] / 255).astype(np.float32)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", unseen_damage.UNTRAINED)
def test_untrained_damage_gives_a_picture(kind: str, size: tuple[int, int]) -> None:
    picture = photograph(*size)
    before = picture.copy()
    for value in unseen_damage.UNTRAINED[kind][1]:
        made = unseen_damage.damage(picture, kind, value, 3)
        assert made.shape == size
        assert made.dtype == np.float32
        assert ((made >= 0) & (made <= 1)).all()
        assert np.array_equal(made, unseen_damage.damage(picture, kind, value, 3))
        other = unseen_damage.damage(picture, kind, value, 4)
        assert np.array_equal(made, other) == (kind != "speckle noise")
    assert np.array_equal(picture, before)


@pytest.mark.parametrize("kind", unseen_damage.UNTRAINED)
@pytest.mark.parametrize(("low", "high"), [(45.0, 900.0), (300.0, 900.0)])
def test_strengths_lead_into_the_range(kind: str, low: float, high: float) -> None:
    picture = photograph(48, 64)
    ladder = unseen_damage.UNTRAINED[kind][1]
    reached = {
        value: mse(unseen_damage.damage(picture, kind, value, 11), picture) for value in ladder
    }
    found = unseen_damage.strengths(picture, kind, low, high)
    assert found
    assert set(found) <= set(ladder)
    for value in found:
        assert 0.8 * low <= reached[value] <= 1.2 * high  # noise of another seed
    surely = [value for value, error in reached.items() if 1.2 * low <= error <= 0.8 * high]
    assert set(surely) <= set(found)


@pytest.mark.parametrize("kind", unseen_damage.UNTRAINED)
def test_out_of_reach_the_nearest_strength_is_taken(kind: str) -> None:
    picture = photograph(32, 40)
    ladder = unseen_damage.UNTRAINED[kind][1]
    errors = [mse(unseen_damage.damage(picture, kind, value, 0), picture) for value in ladder]
    (highest,) = unseen_damage.strengths(picture, kind, 60_000.0, 65_000.0)
    assert errors[ladder.index(highest)] > 0.9 * max(errors)
    (lowest,) = unseen_damage.strengths(picture, kind, 1e-4, 2e-4)
    assert errors[ladder.index(lowest)] < 1.1 * min(errors) + 0.1


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("kind", unseen_damage.UNTRAINED)
def test_untrained_damage_of_a_constant_picture(kind: str, value: float) -> None:
    picture = np.full((20, 24), value, np.float32)
    found = unseen_damage.strengths(picture, kind, 45.0, 900.0)
    assert found
    made = unseen_damage.damage(picture, kind, found[0], 1)
    assert ((made >= 0) & (made <= 1)).all()
