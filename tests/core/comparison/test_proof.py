"""The proof of each family holds for its own damage and fails for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isca_gui.core.comparison.kinds import KINDS
from isca_gui.core.comparison.pair import Pair
from isca_gui.core.comparison.proof import explained_share, prove, through_jpeg
from tests import copies
from tests import reference_comparison as literal

if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[np.ndarray], np.ndarray]

OWN: dict[str, Work] = {
    "luminance": lambda pixels: copies.shifted(pixels, -20),
    "contrast": lambda pixels: copies.stretched(pixels, 1.3),
    "gamma": lambda pixels: copies.with_gamma(pixels, 0.7),
    "posterisation": lambda pixels: copies.posterised(pixels, 8),
    "tone-curve": lambda pixels: copies.whole(pixels + 20 * np.sin(pixels / 40)),
    "blur": lambda pixels: copies.blurred(pixels, 1.3),
    "motion-blur": lambda pixels: copies.moved(pixels, 9),
    "sharpening": lambda pixels: copies.sharpened(pixels, 1, 1.5),
    "resampling": lambda pixels: copies.made_smaller(pixels, 0.5),
    "median": lambda pixels: copies.median_filtered(pixels, 5),
    "gaussian-noise": lambda pixels: copies.noisy(pixels, 12),
    "impulse": lambda pixels: copies.with_impulses(pixels, 0.02),
    "speckle": lambda pixels: copies.speckled(pixels, 0.1),
    "jpeg": lambda pixels: copies.saved(pixels, "JPEG", quality=50),
}


def pair_of(name: str, work: Work) -> Pair:
    pixels = copies.part(name, 200, 200)
    return Pair(pixels.astype(np.float32), work(pixels).astype(np.float32))


@pytest.mark.parametrize("name", ["coffee", "camera"])
@pytest.mark.parametrize("kind", OWN)
def test_its_own_proof_holds(name: str, kind: str) -> None:
    found = prove(kind, pair_of(name, OWN[kind]))
    assert found.holds
    assert np.isfinite(list(found.parameters.values())).all()
    assert found.sentence.endswith(".")
    if KINDS[kind].family in ("tone", "filter"):
        assert found.explained is not None
        assert found.explained > 0.85
    if KINDS[kind].family == "noise":
        assert (found.explained, found.make) == (None, None)


@pytest.mark.parametrize("name", ["coffee", "camera"])
@pytest.mark.parametrize(
    ("kind", "done"),
    [
        ("luminance", "gaussian-noise"),
        ("gamma", "blur"),
        ("tone-curve", "jpeg"),
        ("blur", "gaussian-noise"),
        ("blur", "luminance"),
        ("median", "impulse"),
        ("motion-blur", "speckle"),
        ("gaussian-noise", "motion-blur"),
        ("jpeg", "gaussian-noise"),
        ("jpeg", "blur"),
        ("jpeg", "gamma"),
    ],
)
def test_the_proof_of_another_kind_fails(name: str, kind: str, done: str) -> None:
    assert prove(kind, pair_of(name, OWN[done])).holds is False


@pytest.mark.parametrize("kind", ["webp", "avif", "jpeg-2000", "heic", "jpeg-xl"])
def test_other_codecs_have_no_proof(kind: str) -> None:
    found = prove(kind, pair_of("camera", OWN["jpeg"]))
    assert (found.holds, found.explained, found.make, found.parameters) == (None, None, None, {})


@pytest.mark.parametrize("name", ["coffee", "camera"])
def test_the_explained_share(name: str) -> None:
    pair = pair_of(name, OWN["blur"])
    assert explained_share(pair, pair.copy) == 1
    assert explained_share(pair, pair.reference) == 0
    half = (pair.copy + pair.reference) / 2
    assert explained_share(pair, half) == pytest.approx(0.75, abs=0.01)
    worse = pair.reference + 50
    assert explained_share(pair, worse) == 0


def test_what_is_made_again_is_close_to_the_copy() -> None:
    for kind in ("luminance", "blur", "jpeg"):
        pair = pair_of("camera", OWN[kind])
        found = prove(kind, pair)
        assert found.make is not None
        rest = literal_mse(found.make(pair.reference), pair.copy)
        assert found.explained is not None
        assert 1 - rest / pair.mse == pytest.approx(found.explained, abs=0.02)


def literal_mse(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.mean((first.astype(np.float64) - second) ** 2))


@pytest.mark.parametrize("name", ["coffee", "camera"])
def test_jpeg_made_again_is_pillow_s(name: str) -> None:
    pixels = copies.part(name, 64, 80)
    wanted = copies.saved(pixels, "JPEG", quality=35, subsampling=0)
    assert np.array_equal(through_jpeg(pixels.astype(np.float32), 35), wanted)


def test_jpeg_where_too_little_is_left_is_not_disproved() -> None:
    pixels = np.where(copies.part("camera", 64, 64) > 100, 255, 0).astype(np.uint8)
    copy = copies.saved(pixels, "JPEG", quality=95)
    found = prove("jpeg", Pair(pixels.astype(np.float32), copy.astype(np.float32)))
    assert found.holds is None


def test_luma_counts_and_not_the_colours() -> None:
    pixels = copies.part("coffee", 64, 64)
    pair = Pair(pixels.astype(np.float32), copies.noisy(pixels, 9).astype(np.float32))
    wanted = literal_mse(literal.luma(pair.copy), literal.luma(pair.reference))
    assert pair.mse == pytest.approx(wanted, rel=1e-3)
