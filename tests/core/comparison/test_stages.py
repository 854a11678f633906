"""Two distortions in a row: each is measured behind the other, and the order by making them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isca_gui.core.comparison.pair import Pair
from isca_gui.core.comparison.stages import better_order, prove_two
from tests import copies

if TYPE_CHECKING:
    from collections.abc import Callable

    Picture = np.ndarray

DO: dict[str, Callable[[Picture], Picture]] = {
    "luminance": lambda picture: copies.shifted(picture, -25),
    "blur": lambda picture: copies.blurred(picture, 1.4),
    "jpeg": lambda picture: copies.saved(picture, "JPEG", quality=45),
    "gaussian-noise": lambda picture: copies.noisy(picture, 9),
}


def pair_of(name: str, first: str, second: str) -> Pair:
    reference = copies.part(name, 192, 192)
    copy = DO[second](DO[first](reference))
    return Pair(reference.astype(np.float32), copy.astype(np.float32))


@pytest.mark.parametrize("name", ["camera", "chelsea", "coffee"])
@pytest.mark.parametrize(
    ("first", "second"),
    [("luminance", "jpeg"), ("jpeg", "luminance"), ("blur", "jpeg"), ("jpeg", "blur")],
)
def test_the_order_that_was_done_explains_more(name: str, first: str, second: str) -> None:
    pair = pair_of(name, first, second)
    right = prove_two(first, second, pair)
    wrong = prove_two(second, first, pair)
    assert right.explained is not None
    assert right.explained > 0.85
    found = better_order(right, wrong)
    assert found in (right, None)


def test_what_stands_behind_a_change_of_tone_is_measured() -> None:
    pair = pair_of("camera", "jpeg", "luminance")
    found = prove_two("jpeg", "luminance", pair)
    assert found.proofs[0].parameters["quality"] == pytest.approx(45, abs=1)
    assert found.proofs[1].parameters["shift"] == pytest.approx(-25, abs=0.5)


def test_noise_behind_a_blur_is_measured_where_the_blur_is_undone() -> None:
    pair = pair_of("camera", "blur", "gaussian-noise")
    found = prove_two("blur", "gaussian-noise", pair)
    assert found.proofs[0].parameters["sigma"] == pytest.approx(1.4, rel=0.05)
    assert found.proofs[1].parameters["sigma"] == pytest.approx(9, rel=0.07)
    assert found.make is None
    assert found.explained is None
    assert better_order(found, prove_two("gaussian-noise", "blur", pair)) is None


def test_both_are_made_again_in_their_order() -> None:
    pair = pair_of("camera", "luminance", "jpeg")
    found = prove_two("luminance", "jpeg", pair)
    assert found.make is not None
    made = found.make(pair.reference)
    left = float(np.mean(np.square(pair.copy - made)))
    assert left < 0.1 * pair.mse
    # The proofs alone promise nothing about the whole change.
    assert all(proof.explained is None and not proof.sentence for proof in found.proofs)
