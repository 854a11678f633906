"""Copies as people have them, from end to end: what was done, where, how strongly, how sure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from skimage.metrics import structural_similarity

from isca_gui.core.comparison.compare import Comparison, compare, mean_ssim
from isca_gui.core.comparison.pair import ComparisonError
from tests import copies
from tests import reference_comparison as literal

if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[np.ndarray], np.ndarray]


def answer(reference: np.ndarray, copy: np.ndarray, align: str = "auto") -> Comparison:
    return compare(copies.unit(reference), copies.unit(copy), align=align)


def check_numbers(found: Comparison, reference: np.ndarray, copy: np.ndarray) -> None:
    """What is true of every answer."""
    wanted = literal.block_maps(reference, copy)
    rows, columns = wanted["errors"].shape
    assert found.class_map.shape == found.severity_map.shape == (rows, columns)
    assert (found.width, found.height) == (reference.shape[1], reference.shape[0])
    assert found.damaged_share == pytest.approx((found.class_map > 0).mean())
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.severity_map == pytest.approx(wanted["errors"], rel=1e-3, abs=0.01)
    damaged = wanted["errors"][found.class_map > 0]
    # Blocks on the rim may be smaller and then weigh less.
    assert found.severity == pytest.approx(damaged.mean() if damaged.size else 0, rel=0.05)
    assert 0 <= found.probability <= 1
    assert "+".join(found.parts) in ("", found.label)
    assert set(found.parameters) == set(found.parts)


# --- one kind, the whole picture ----------------------------------------------------------------

WHOLE: dict[str, tuple[str, Work]] = {
    "webp 60": ("webp", lambda pixels: copies.saved(pixels, "WEBP", quality=60)),
    "webp 80": ("webp", lambda pixels: copies.saved(pixels, "WEBP", quality=80)),
    "impulse": ("impulse", lambda pixels: copies.with_impulses(pixels, 0.01)),
    "sharpened": ("sharpening", lambda pixels: copies.sharpened(pixels, 0.8, 1.5)),
    "half": ("resampling", lambda pixels: copies.made_smaller(pixels, 0.5)),
    "median": ("median", lambda pixels: copies.median_filtered(pixels, 3)),
    "posterised": ("posterisation", lambda pixels: copies.posterised(pixels, 8)),
    "speckle": ("speckle", lambda pixels: copies.speckled(pixels, 0.1)),
    "motion": ("motion-blur", lambda pixels: copies.moved(pixels, 9)),
}


@pytest.mark.parametrize("name", copies.PHOTOGRAPHS)
@pytest.mark.parametrize("done", WHOLE)
def test_the_kind(name: str, done: str) -> None:
    kind, work = WHOLE[done]
    pixels = copies.photograph(name)
    found = answer(pixels, work(pixels))
    assert (found.label, found.unlike, found.parts) == (kind, False, (kind,)), found.sentence
    assert found.damaged_share == 1
    assert found.regions == ()
    assert found.probability > 0.6
    assert found.probabilities[kind] == max(found.probabilities.values())
    assert sum(found.probabilities.values()) == pytest.approx(1)


@pytest.mark.parametrize("name", copies.PHOTOGRAPHS)
@pytest.mark.parametrize("quality", [30, 60, 85])
def test_jpeg_and_its_quality(name: str, quality: int) -> None:
    pixels = copies.photograph(name)
    found = answer(pixels, copies.saved(pixels, "JPEG", quality=quality))
    assert (found.label, found.family, found.unlike) == ("jpeg", "compression", False)
    assert abs(found.parameters["jpeg"]["quality"] - quality) <= 3
    assert found.probability > 0.9
    assert "The copy lies on its quantisation grid" in found.sentence


PARAMETERS: dict[str, tuple[str, str, float, Work]] = {
    "darker": ("luminance", "shift", -20, lambda pixels: copies.shifted(pixels, -20)),
    "brighter": ("luminance", "shift", 20, lambda pixels: copies.shifted(pixels, 20)),
    "less contrast": ("contrast", "gain", 0.8, lambda pixels: copies.stretched(pixels, 0.8)),
    "more contrast": ("contrast", "gain", 1.2, lambda pixels: copies.stretched(pixels, 1.2)),
    "gamma up": ("gamma", "gamma", 1.3, lambda pixels: copies.with_gamma(pixels, 1.3)),
    "gamma down": ("gamma", "gamma", 0.7, lambda pixels: copies.with_gamma(pixels, 0.7)),
    "blur": ("blur", "sigma", 1.3, lambda pixels: copies.blurred(pixels, 1.3)),
    "large blur": ("blur", "sigma", 3.0, lambda pixels: copies.blurred(pixels, 3)),
    "noise": ("gaussian-noise", "sigma", 6, lambda pixels: copies.noisy(pixels, 6)),
    "much noise": ("gaussian-noise", "sigma", 25, lambda pixels: copies.noisy(pixels, 25)),
}


@pytest.mark.parametrize("name", copies.PHOTOGRAPHS)
@pytest.mark.parametrize("done", PARAMETERS)
def test_the_kind_and_its_parameter_within_five_per_cent(name: str, done: str) -> None:
    kind, parameter, value, work = PARAMETERS[done]
    pixels = copies.photograph(name)
    found = answer(pixels, work(pixels))
    assert (found.label, found.unlike) == (kind, False), found.sentence
    assert found.parameters[kind][parameter] == pytest.approx(value, rel=0.05)
    assert found.probability > 0.8
    if found.explained is not None:
        assert found.explained > 0.95
        assert found.made_again is not None
        assert found.made_again.shape == pixels.shape


@pytest.mark.parametrize("name", ["coffee", "camera"])
def test_what_holds_for_every_answer(name: str) -> None:
    pixels = copies.part(name, 150, 131)
    for copy in (
        pixels,
        copies.noisy(pixels, 9),
        copies.saved(pixels, "JPEG", quality=50),
        copies.inside(pixels, copies.shifted(pixels, 25), 0, 80, 0, 64),
        copies.warped(pixels),
        pixels[::-1],
    ):
        check_numbers(answer(pixels, copy, align="none"), pixels, copy)


@pytest.mark.parametrize("name", ["coffee", "camera"])
@pytest.mark.parametrize(("height", "width"), [(32, 40), (123, 57), (300, 90)])
def test_mse_psnr_and_ssim(name: str, height: int, width: int) -> None:
    pixels = copies.part(name, height, width)
    copy = copies.noisy(pixels, 11)
    found = answer(pixels, copy)
    before, after = pixels.astype(float), copy.astype(float)
    if pixels.ndim == 3:
        before, after = literal.luma(before), literal.luma(after)
    mse = np.mean((after - before) ** 2)
    assert found.mse == pytest.approx(mse, rel=1e-3)
    assert found.psnr == pytest.approx(10 * np.log10(255**2 / mse), rel=1e-3)
    wanted = structural_similarity(before, after, data_range=255)
    assert found.ssim == pytest.approx(wanted, abs=1e-4)


def test_ssim_of_a_tall_picture_has_no_seams() -> None:
    tall = np.tile(copies.part("camera", 400, 40, 0), (2, 1)).astype(np.float32)
    copy = copies.noisy(tall, 9).astype(np.float32)
    wanted = structural_similarity(tall, copy, data_range=255)
    assert mean_ssim(tall, copy) == pytest.approx(wanted, abs=1e-5)


# --- a part of the picture ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "work"),
    [
        ("astronaut", "blur", lambda pixels: copies.blurred(pixels, 2)),
        ("astronaut", "gaussian-noise", lambda pixels: copies.noisy(pixels, 15)),
        ("astronaut", "jpeg", lambda pixels: copies.saved(pixels, "JPEG", quality=40)),
        ("camera", "luminance", lambda pixels: copies.shifted(pixels, -20)),
        ("astronaut", "impulse", lambda pixels: copies.with_impulses(pixels, 0.02)),
    ],
)
def test_a_quarter_of_the_picture(name: str, kind: str, work: Work) -> None:
    pixels = copies.photograph(name)
    copy = copies.inside(pixels, work(pixels), 0, 256, 256, 512)
    found = answer(pixels, copy)
    assert (found.label, found.unlike) == (kind, False), found.sentence
    assert found.damaged_share == pytest.approx(0.25, abs=0.03)
    assert "Only in part of the picture: 2" in found.sentence
    assert found.sentence.endswith(", upper right.")
    (region,) = found.regions
    assert region.where == "upper right"
    assert found.class_map[:32, 32:].mean() > 0.9
    assert found.class_map[40:].max() == 0
    assert found.class_map[:, :24].max() == 0
    # The damage is measured where it is.
    assert found.severity == pytest.approx(4 * found.mse, rel=0.15)
    if found.made_again is not None:
        assert np.array_equal(found.made_again[300:], pixels[300:])


def test_two_parts_with_damage_of_their_own() -> None:
    pixels = copies.photograph("astronaut")
    copy = copies.inside(pixels, copies.noisy(pixels, 20), 256, 512, 256, 512)
    copy = copies.inside(copy, copies.blurred(pixels, 2), 0, 160, 0, 160)
    found = answer(pixels, copy)
    assert found.classes == ("original", "gaussian-noise", "blur")
    assert [each.where for each in found.regions] == ["lower right", "upper left"]
    assert "Only in 2 parts of the picture" in found.sentence
    assert found.class_map[40, 40] == 1
    assert found.class_map[10, 10] == 2


# --- the same picture, or too little to say -----------------------------------------------------


@pytest.mark.parametrize("name", ["coffee", "camera"])
def test_the_same_picture(name: str) -> None:
    pixels = copies.photograph(name)
    found = answer(pixels, copies.saved(pixels, "PNG"))
    assert found.sentence == "The same picture, pixel for pixel."
    assert (found.label, found.parts, found.unlike) == ("original", (), False)
    assert (found.mse, found.psnr, found.ssim) == (0, None, pytest.approx(1))
    assert (found.severity, found.damaged_share, found.shares) == (0, 0, {"original": 1})
    assert found.made_again is not None
    assert np.array_equal(np.rint(found.made_again), pixels)


def test_rounding_to_8_bits_is_the_same_picture() -> None:
    fine = copies.unit(copies.photograph("camera")) * np.float32(0.9) + np.float32(0.003)
    rounded = copies.unit(copies.whole(fine * 255))
    for first, second in ((fine, rounded), (rounded, fine)):
        found = compare(first, second)
        assert (found.label, found.sentence) == ("original", "The same picture.")


def test_too_weak_to_name() -> None:
    pixels = copies.photograph("astronaut")
    dice = np.random.default_rng(1)
    copy = copies.whole(pixels + 2.0 * (dice.random(pixels.shape) < 0.2) * (pixels % 3 == 0))
    found = answer(pixels, copy)
    assert found.mse < 1
    assert found.label == "original"
    assert not found.unlike
    assert "too little to say how" in found.sentence
    assert found.made_again is None


def test_the_colours_are_looked_at() -> None:
    """A copy with less saturation has the same luma and is still another picture."""
    pixels = copies.photograph("coffee")
    grey = literal_luma = np.asarray(pixels @ np.array([0.299, 0.587, 0.114]))[..., None]
    paler = answer(pixels, copies.whole(grey + 0.5 * (pixels - literal_luma)))
    assert paler.mse < 0.2
    assert not paler.sentence.startswith("The same picture")
    assert paler.label == "original"
    assert [finding.kind for finding in paler.colour] == ["saturation"]
    assert paler.colour[0].parameters["factor"] == pytest.approx(0.5, abs=0.03)
    assert paler.sentence.endswith("Saturation lowered by 50 %.")


def test_the_luma_is_judged_without_what_the_colours_explain() -> None:
    """Swapped channels change the luma of every block, and are no damage to it."""
    pixels = copies.photograph("coffee")
    found = answer(pixels, pixels[..., ::-1].copy())
    assert (found.label, found.unlike) == ("original", False)
    assert found.mse > 20
    assert found.sentence == (
        "Only the colours have changed. The red and blue channels are swapped."
    )
    # What else was done is still found, and the numbers are those of the whole change.
    blurred = answer(pixels, copies.blurred(pixels[..., ::-1].copy(), 2))
    assert blurred.label == "blur"
    assert [finding.kind for finding in blurred.colour] == ["channels"]
    assert blurred.mse > found.mse


def test_a_tinted_copy_of_a_grey_reference() -> None:
    grey = copies.photograph("camera")
    tinted = copies.whole(np.repeat(grey[..., None], 3, axis=2) * np.array([1.1, 1.0, 0.8]))
    found = answer(grey, tinted)
    assert [finding.kind for finding in found.colour] == ["tint"]
    assert "tinted" in found.sentence


# --- what is no known change --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [("astronaut", "camera"), ("camera", "astronaut"), ("brick", "grass"), ("camera", "moon")],
)
def test_another_photograph(first: str, second: str) -> None:
    found = answer(copies.photograph(first), copies.photograph(second))
    assert (found.label, found.unlike, found.parts) == ("unrelated", True, ())
    assert found.similarity < 0.45
    assert (
        found.sentence == f"This does not show the reference (best match {found.similarity:.2f})."
    )
    assert found.made_again is None


@pytest.mark.parametrize("name", copies.PHOTOGRAPHS)
@pytest.mark.parametrize("work", [copies.warped, copies.foggy, copies.written_over])
def test_unseen_damage_is_not_named_with_high_probability(name: str, work: Work) -> None:
    pixels = copies.photograph(name)
    found = answer(pixels, work(pixels))
    assert found.unlike or found.probability < 0.7, found.sentence
    if found.unlike:
        assert found.sentence.startswith("Not recognised")
        assert (found.parts, found.explained, found.made_again) == ((), None, None)


# --- two kinds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", copies.PHOTOGRAPHS)
def test_darker_and_then_saved_as_jpeg(name: str) -> None:
    pixels = copies.photograph(name)
    copy = copies.saved(copies.shifted(pixels, -25), "JPEG", quality=40)
    found = answer(pixels, copy)
    assert set(found.parts) == {"luminance", "jpeg"}, found.sentence
    assert found.family is None
    assert found.parameters["jpeg"]["quality"] == pytest.approx(40, abs=3)
    assert found.parameters["luminance"]["shift"] == pytest.approx(-25, rel=0.1)
    assert found.order == "luminance,jpeg"
    assert found.explained is not None
    assert found.explained > 0.9
    assert found.made_again is not None
    assert found.made_again.shape == pixels.shape


@pytest.mark.parametrize("name", copies.PHOTOGRAPHS)
def test_blurred_and_darker(name: str) -> None:
    pixels = copies.photograph(name)
    found = answer(pixels, copies.shifted(copies.blurred(pixels, 1.5), -25))
    assert set(found.parts) == {"blur", "luminance"}, found.sentence


# --- sizes, grey and colour, clipping -----------------------------------------------------------


@pytest.mark.parametrize(("height", "width"), [(101, 203), (96, 97), (64, 250)])
@pytest.mark.parametrize("name", ["astronaut", "camera"])
def test_odd_sizes(name: str, height: int, width: int) -> None:
    pixels = copies.part(name, height, width, 100)
    for kind, copy in (
        ("jpeg", copies.saved(pixels, "JPEG", quality=50)),
        ("gaussian-noise", copies.noisy(pixels, 12)),
        ("luminance", copies.shifted(pixels, -20)),
        ("blur", copies.blurred(pixels, 1.3)),
    ):
        found = answer(pixels, copy)
        assert (found.label, found.unlike) == (kind, False), found.sentence
        assert found.class_map.shape == (-(-height // 8), -(-width // 8))


def test_the_smallest_picture_has_an_answer() -> None:
    for pixels in (copies.part("astronaut", 32, 32), copies.part("camera", 33, 32)):
        for copy in (
            copies.saved(pixels, "JPEG", quality=50),
            copies.noisy(pixels, 12),
            copies.shifted(pixels, -20),
            copies.blurred(pixels, 1.3),
            copies.with_impulses(pixels, 0.05),
            copies.median_filtered(pixels, 3),
        ):
            found = answer(pixels, copy)
            assert found.sentence.endswith(".")
            assert found.width == 32
    with pytest.raises(ComparisonError):
        answer(copies.part("camera", 31, 32), copies.part("camera", 31, 32))


def test_a_large_picture_is_judged_by_parts_of_it() -> None:
    pixels = np.tile(copies.photograph("camera"), (2, 3))
    assert pixels.size > 1_200_000
    found = answer(pixels, copies.saved(pixels, "JPEG", quality=60))
    assert (found.label, found.parameters) == ("jpeg", {"jpeg": {"quality": 60}})


@pytest.mark.parametrize("level", [0, 60, 128, 255])
def test_a_flat_reference_has_an_answer(level: int) -> None:
    for shape in ((64, 64), (64, 64, 3)):
        flat = np.full(shape, level, np.uint8)
        assert answer(flat, flat).sentence == "The same picture, pixel for pixel."
        for copy in (
            copies.noisy(flat, 10),
            copies.with_impulses(flat, 0.05),
            copies.saved(flat, "JPEG", quality=30),
            copies.shifted(flat, 20 if level < 128 else -20),
            copies.inside(flat, flat ^ 31, 8, 56, 8, 56),
        ):
            found = answer(flat, copy)
            assert found.sentence.endswith(".")
            assert np.isfinite([found.mse, found.ssim, found.severity, found.similarity]).all()


def test_a_flat_picture_that_was_made_brighter() -> None:
    flat = np.full((96, 96), 100, np.uint8)
    found = answer(flat, copies.shifted(flat, 20))
    assert (found.label, found.parameters) == ("luminance", {"luminance": {"shift": 20}})


def test_one_side_grey_and_one_in_colour() -> None:
    pixels = copies.photograph("astronaut")
    grey = copies.whole(literal.luma(pixels))
    saved = copies.saved(grey, "JPEG", quality=50)
    for reference, copy in ((pixels, saved), (grey, copies.saved(pixels, "JPEG", quality=50))):
        found = answer(reference, copy)
        assert found.label == "jpeg"
        assert found.parameters["jpeg"]["quality"] == pytest.approx(50, abs=3)
    found = answer(pixels, grey)
    assert found.label == "original"
    assert "Converted to grey" in found.sentence
    assert [each.kind for each in found.colour] == ["grey"]
    assert found.sentence.endswith("Converted to grey (weights of Rec. 601).")


@pytest.mark.parametrize("name", ["astronaut", "camera"])
def test_noise_cut_off_at_black_and_white(name: str) -> None:
    pixels = copies.stretched(copies.photograph(name), 2)
    copy = copies.noisy(pixels, 20)
    assert np.mean((copy == 0) | (copy == 255)) > 0.15
    found = answer(pixels, copy)
    assert (found.label, found.unlike) == ("gaussian-noise", False), found.sentence
    assert found.parameters["gaussian-noise"]["sigma"] == pytest.approx(20, rel=0.05)


@pytest.mark.parametrize("side", [32, 48])
def test_noise_on_a_quiet_picture_still_shows_the_reference(side: int) -> None:
    sky = copies.part("camera", side, side, 40, 0)
    assert sky.std() < 2
    found = answer(sky, copies.noisy(sky, 12))
    assert found.label != "unrelated"
    assert found.similarity > 0.9


def test_words_in_a_corner_are_not_said_to_be_everywhere() -> None:
    pixels = copies.photograph("astronaut")
    copy = copies.inside(pixels, copies.written_over(pixels), 400, 440, 300, 340)
    changed = (literal.block_maps(pixels, copy)["largest"] >= 0.75).mean()
    found = answer(pixels, copy)
    assert found.unlike
    assert changed < 0.01
    assert changed <= found.damaged_share < 0.02
    assert found.severity > 20 * found.mse
    assert found.shares["unlike"] == found.damaged_share
