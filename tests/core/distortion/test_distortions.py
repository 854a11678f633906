"""Each distortion does what its sentence says, grows with its strength, and repeats itself."""

from __future__ import annotations

import io
import math
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy import fft, ndimage

from isca_gui.core.distortion import dataset_folder, distortions, strength_search
from isca_gui.core.distortion.dataset import generate
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.distortion.distortions import DISTORTIONS, TABLE, Distortion, mse
from isca_gui.core.distortion.strength_search import UnreachableError, distort
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run
from isca_gui.core.recognition import vote_overlays

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isca_gui.core.distortion.distortions import Apply, Picture

NAMES = [row.name for row in TABLE]
# ITU-T T.81, Table K.1, as printed there.
K1 = """
16 11 10 16  24  40  51  61
12 12 14 19  26  58  60  55
14 13 16 24  40  57  69  56
14 17 22 29  51  87  80  62
18 22 37 56  68 109 103  77
24 35 55 64  81 104 113  92
49 64 78 87 103 121 120 101
72 92 95 98 112 100 103  99
"""
STANDARD = np.array(K1.split(), dtype=int).reshape(8, 8)


def error(first: np.ndarray, second: np.ndarray) -> float:
    """MSE on the 0 to 255 scale, as anybody would write it."""
    return float(np.mean((255 * first.astype(np.float64) - 255 * second.astype(np.float64)) ** 2))


@pytest.fixture(scope="module")
def camera() -> Picture:
    return image.read(samples.resolve("sample:camera"))


@pytest.fixture(scope="module")
def crop(camera: Picture) -> Picture:
    return np.ascontiguousarray(camera[100:228, 150:310])


def prepared(name: str, picture: Picture, seed: int = 0) -> Apply:
    return DISTORTIONS[name].prepare(picture, np.random.default_rng(seed))


def strengths(row: Distortion, count: int = 24) -> list[float]:
    return [row.strongest * 2.0 ** (-14 * (1 - part / (count - 1))) for part in range(count)]


# --- the table ------------------------------------------------------------------------------------


def test_the_papers_six_in_its_order() -> None:
    assert NAMES == ["contrast", "gaussian-noise", "luminance", "blur", "impulse", "jpeg"]
    assert list(DISTORTIONS) == NAMES


@pytest.mark.parametrize("field", ["name", "letter", "title", "sentence", "colour"])
def test_rows_differ(field: str) -> None:
    values = [getattr(row, field).lower() for row in TABLE]
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("row", TABLE, ids=NAMES)
def test_rows_are_fit_to_be_shown(row: Distortion) -> None:
    assert re.fullmatch(r"#[0-9A-F]{6}", row.colour)
    assert len(row.letter) == 1
    assert row.sentence.endswith(".")
    assert "+" not in row.name  # the sign of a mixture
    assert row.unit
    assert row.strongest > 0


def test_what_changes_structure() -> None:
    assert {row.name for row in TABLE if not row.structural} == {"contrast", "luminance"}


def test_parts_of_a_kind() -> None:
    assert [row.name for row in distortions.table_rows("blur+jpeg")] == ["blur", "jpeg"]
    assert [row.name for row in distortions.table_rows("blur")] == ["blur"]
    with pytest.raises(KeyError):
        distortions.table_rows("blur+smear")


# --- MSE ------------------------------------------------------------------------------------------


@given(st.integers(1, 400), st.integers(1, 400), st.integers(0, 2**32))
@settings(max_examples=30)
def test_mse(height: int, width: int, seed: int) -> None:
    first, second = np.random.default_rng(seed).random((2, height, width)).astype(np.float32)
    assert mse(first, second) == pytest.approx(error(first, second), rel=1e-12)
    assert mse(first, first) == 0
    flipped = first[:, ::-1]
    assert mse(flipped, second) == pytest.approx(error(flipped, second), rel=1e-12)


def test_mse_runs_from_0_to_255_squared() -> None:
    assert mse(np.zeros((9, 9), np.float32), np.ones((9, 9), np.float32)) == 65025


# --- all rows alike -------------------------------------------------------------------------------


@pytest.mark.parametrize("row", TABLE, ids=NAMES)
def test_values_type_and_input(row: Distortion, crop: Picture) -> None:
    picture = crop.copy()
    apply = row.prepare(picture, np.random.default_rng(1))
    made = [(strength, apply(strength)) for strength in strengths(row)]
    for strength_, distorted in made:
        assert distorted.dtype == np.float32
        assert distorted.shape == picture.shape
        assert distorted.min() >= 0
        assert distorted.max() <= 1
        assert not np.shares_memory(distorted, picture)
        assert apply(strength_).tobytes() == distorted.tobytes()  # a pure function of the strength
    np.testing.assert_array_equal(picture, crop)


@pytest.mark.parametrize("row", TABLE, ids=NAMES)
def test_error_grows_with_strength(row: Distortion, crop: Picture) -> None:
    apply = row.prepare(crop, np.random.default_rng(2))
    steps = strengths(row, 40)
    errors = [error(apply(step), crop) for step in steps]
    assert errors[-1] > 900
    slack = 0.01 if row.name == "jpeg" else 1e-6
    highest = 0.0
    for found in errors:
        assert found >= highest * (1 - slack) - 0.05 * (row.name == "jpeg")
        highest = max(highest, found)


@pytest.mark.parametrize(
    "row", [row for row in TABLE if row.name != "jpeg"], ids=lambda row: row.name
)
@given(data=st.data())
@settings(max_examples=30)
def test_error_grows_between_any_two_strengths(row: Distortion, data: st.DataObject) -> None:
    picture = (
        np.random.default_rng(data.draw(st.integers(0, 50))).random((24, 17)).astype(np.float32)
    )
    apply = row.prepare(picture, np.random.default_rng(data.draw(st.integers(0, 50))))
    exponents = data.draw(st.tuples(st.floats(-14, 0), st.floats(-14, 0)))
    weaker, stronger = (
        error(apply(row.strongest * 2.0**each), picture) for each in sorted(exponents)
    )
    assert weaker <= stronger * (1 + 1e-5) + 1e-9


@pytest.mark.parametrize("row", TABLE, ids=NAMES)
def test_same_seed_same_bytes_and_other_seed_other_bytes_iff_random(
    row: Distortion, crop: Picture
) -> None:
    first, again, other = (distort(crop, row.name, 300.0, seed) for seed in (5, 5, 6))
    assert first.picture.tobytes() == again.picture.tobytes()
    assert first.strength == again.strength
    assert (first.picture.tobytes() != other.picture.tobytes()) is row.random


@pytest.mark.parametrize("row", TABLE, ids=NAMES)
def test_threads_do_not_disturb_each_other(row: Distortion, camera: Picture) -> None:
    """One prepared distortion serves all threads that search for its levels."""
    picture = np.tile(camera, (2, 2))
    steps = [row.strongest * 2.0**-exponent for exponent in (4, 5, 6, 7, 8, 9, 10, 11)]
    alone = [row.prepare(picture, np.random.default_rng(0))(step).tobytes() for step in steps]
    shared = row.prepare(picture, np.random.default_rng(0))
    interval = sys.getswitchinterval()
    try:
        sys.setswitchinterval(1e-5)
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda step: shared(step).tobytes(), steps))
    finally:
        sys.setswitchinterval(interval)
    assert [mine == theirs for mine, theirs in zip(alone, together, strict=True)] == [True] * len(
        steps
    )


# --- what each sentence says ----------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.5, 10, 100, 255])
def test_luminance_adds_the_same_to_every_pixel(crop: Picture, shift: float) -> None:
    made = prepared("luminance", crop)(shift)
    np.testing.assert_allclose(made, np.minimum(crop.astype(float) + shift / 255, 1), atol=1e-6)


@pytest.mark.parametrize("gain", [0.01, 0.5, 3, 1000])
def test_contrast_stretches_about_the_mean(crop: Picture, gain: float) -> None:
    made = prepared("contrast", crop)(gain)
    mean = crop.mean(dtype=float)
    expected = np.clip(mean + (1 + gain) * (crop.astype(float) - mean), 0, 1)
    np.testing.assert_allclose(made, expected, atol=1e-6 * (1 + gain))
    brighter = crop > mean
    assert (made[brighter] >= crop[brighter]).all()
    assert (made[~brighter] <= crop[~brighter]).all()


def test_contrast_keeps_the_mean_where_nothing_is_clipped() -> None:
    picture = np.random.default_rng(0).uniform(0.4, 0.6, (64, 64)).astype(np.float32)
    made = prepared("contrast", picture)(1.5)
    assert made.mean(dtype=float) == pytest.approx(picture.mean(dtype=float), abs=1e-6)
    assert made.std(dtype=float) == pytest.approx(2.5 * picture.std(dtype=float), rel=1e-4)


def test_gaussian_noise_is_gaussian_of_that_deviation() -> None:
    grey = np.full((256, 256), 0.5, dtype=np.float32)
    apply = prepared("gaussian-noise", grey)
    noise = 255 * (apply(12.0).astype(float) - 0.5)
    assert noise.mean() == pytest.approx(0, abs=0.2)
    assert noise.std() == pytest.approx(12, rel=0.02)
    z = noise / 12
    assert (z**3).mean() == pytest.approx(0, abs=0.05)
    assert (z**4).mean() == pytest.approx(3, abs=0.15)
    assert abs(np.corrcoef(noise[:, 1:].ravel(), noise[:, :-1].ravel())[0, 1]) < 0.02
    # One fixed field: twice the strength is twice the same noise.
    np.testing.assert_allclose(255 * (apply(24.0).astype(float) - 0.5), 2 * noise, atol=1e-3)


@pytest.mark.parametrize("sigma", [1, 1.7, 4, 15, 60])
def test_blur_is_a_gaussian_filter(crop: Picture, sigma: float) -> None:
    expected = ndimage.gaussian_filter(crop.astype(float), sigma, mode="reflect", truncate=8)
    assert np.abs(prepared("blur", crop)(sigma) - expected).max() <= 2e-3


def test_blur_keeps_the_mean_and_ends_at_it(crop: Picture) -> None:
    for sigma in (0.5, 3, 30):
        made = prepared("blur", crop)(sigma)
        assert made.mean(dtype=float) == pytest.approx(crop.mean(dtype=float), abs=1e-4)
    flat = prepared("blur", crop)(DISTORTIONS["blur"].strongest)
    np.testing.assert_allclose(flat, crop.mean(dtype=float), atol=1e-4)


@pytest.mark.parametrize("share", [1e-5, 0.003, 0.1, 0.5, 1.0])
def test_impulse_turns_pixels_black_or_white(crop: Picture, share: float) -> None:
    made = prepared("impulse", crop, 3)(share)
    changed = made != crop
    extreme = (made == 0) | (made == 1)
    assert np.count_nonzero(changed & ~extreme) <= 1  # the one at which the share ends
    assert np.count_nonzero(changed) <= math.ceil(share * crop.size)
    # A pixel that is black already does not change when it is turned black.
    hit = math.floor(share * crop.size) - np.count_nonzero(extreme & changed)
    assert hit <= np.count_nonzero((crop == 0) | (crop == 1))


def test_impulse_is_half_salt_scattered_and_grows() -> None:
    grey = np.full((200, 200), 0.5, dtype=np.float32)
    apply = prepared("impulse", grey)
    few, many = apply(0.1) != 0.5, apply(0.3) != 0.5
    assert np.count_nonzero(few) == 4000
    assert not (few & ~many).any()  # those that were hit stay hit
    assert 0.45 < np.mean(apply(0.3)[many] == 1) < 0.55
    rows = few.sum(axis=1)
    assert rows.min() > 4
    assert rows.max() < 45


# --- JPEG -----------------------------------------------------------------------------------------


def jpeg_table(factor: float) -> list[int]:
    return [int(entry) for entry in np.clip(np.rint(STANDARD * factor), 1, 8191).ravel()]


@pytest.mark.parametrize("halvings", range(4, 13))
def test_jpeg_is_pillows_with_the_scaled_table(crop: Picture, halvings: int) -> None:
    factor = DISTORTIONS["jpeg"].strongest / 2**halvings
    stream = io.BytesIO()
    table = jpeg_table(factor)
    coded = Image.fromarray(np.rint(crop * 255).astype(np.uint8))
    coded.save(stream, "JPEG", qtables=[table], progressive=max(table) > 255)
    decoded = np.asarray(Image.open(stream)).astype(float) / 255
    np.testing.assert_allclose(prepared("jpeg", crop)(factor), decoded, atol=1e-6)


def quantised(picture: Picture, factor: float) -> np.ndarray:
    """The lossy part of JPEG by the book: cosine transform, division by the table, rounding."""
    height, width = picture.shape
    blocks = np.rint(255 * picture.astype(float)).reshape(height // 8, 8, width // 8, 8) - 128
    table = np.maximum(np.rint(STANDARD * factor), 1)[:, None, :]
    spectrum = fft.dctn(blocks, axes=(1, 3), norm="ortho")
    decoded = fft.idctn(np.rint(spectrum / table) * table, axes=(1, 3), norm="ortho") + 128
    return np.clip(decoded, 0, 255).reshape(height, width) / 255


@pytest.mark.parametrize("name", ["camera", "hubble"])
@pytest.mark.parametrize("factor", [1, 8, 30, 60, 68, 71, 90, 130, 150, 220, 300, 450, 512, 600])
def test_jpeg_is_jpeg_by_the_book_for_every_table(name: str, factor: float) -> None:
    """Also for tables so coarse that no more than the blocks' means, then nothing, is left."""
    picture = image.read(samples.resolve(f"sample:{name}"))[:512, :512]
    found = error(prepared("jpeg", picture)(factor), picture)
    assert found == pytest.approx(error(quantised(picture, factor), picture), rel=0.03, abs=0.5)


def test_coarsest_jpeg_is_middle_grey(crop: Picture) -> None:
    made = prepared("jpeg", crop)(DISTORTIONS["jpeg"].strongest)
    np.testing.assert_allclose(made, 128 / 255, atol=1.01 / 255)


def test_jpeg_between_two_tables_mixes_whole_blocks(crop: Picture) -> None:
    apply = prepared("jpeg", crop)
    ratio = 2 ** (1 / 72)
    fine = DISTORTIONS["jpeg"].strongest / 2**5
    ends = apply(fine), apply(fine * ratio)
    between = apply(fine * ratio**0.5)
    assert error(*ends) > 0
    from_coarse = 0
    for top in range(0, crop.shape[0], 8):
        for left in range(0, crop.shape[1], 8):
            window = slice(top, top + 8), slice(left, left + 8)
            same = [np.array_equal(between[window], end[window]) for end in ends]
            assert any(same)
            from_coarse += not same[0]
    assert from_coarse > 0


def test_nothing_is_written_to_the_terminal(
    crop: Picture, capfd: pytest.CaptureFixture[str]
) -> None:
    apply = prepared("jpeg", crop)
    for step in (0.01, 1, 3, 20, 64, 100, 250, 400, 600):
        apply(step)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


@given(st.floats(1e-3, 600))
@settings(max_examples=60)
def test_jpeg_takes_every_strength(factor: float) -> None:
    picture = np.random.default_rng(0).random((19, 21)).astype(np.float32)
    made = prepared("jpeg", picture)(factor)
    assert made.shape == picture.shape
    assert np.isfinite(made).all()


# --- predictions ----------------------------------------------------------------------------------

PREDICTED_WITHIN = {
    "contrast": 1e-3,
    "gaussian-noise": 0.02,
    "luminance": 1e-3,
    "blur": 1e-3,
    "impulse": 0.15,
    "jpeg": 0.1,
}


@pytest.mark.parametrize("row", TABLE, ids=NAMES)
@pytest.mark.parametrize("name", ["camera", "hubble"])
def test_error_is_predicted(row: Distortion, name: str) -> None:
    picture = image.read(samples.resolve(f"sample:{name}"))[:256, :320]
    assert row.predict_mse is not None
    predicted = row.predict_mse(picture)
    apply = row.prepare(picture, np.random.default_rng(1))
    errors = [(step, error(apply(step), picture)) for step in strengths(row, 30)]
    typical = [(step, found) for step, found in errors if 30 < found < 3000]
    assert len(typical) >= 3
    for step, found in typical:
        assert predicted(step) == pytest.approx(found, rel=PREDICTED_WITHIN[row.name])


@pytest.mark.parametrize("row", TABLE, ids=NAMES)
@pytest.mark.parametrize("factor", [0.5, 0.9, 1.2, 3.0])
def test_a_wrong_prediction_costs_time_but_no_accuracy(
    row: Distortion, factor: float, crop: Picture
) -> None:
    predict_mse = row.predict_mse
    assert predict_mse is not None

    def wrong(picture: Picture) -> Callable[[float], float]:
        predicted = predict_mse(picture)
        return lambda step: factor * predicted(step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DISTORTIONS, row.name, replace(row, predict_mse=wrong))
        made = distort(crop, row.name, 400.0, 3)
    assert error(made.picture, crop) == pytest.approx(400, rel=row.tolerance)


def test_a_wrong_prediction_hides_nothing_that_can_be_reached(crop: Picture) -> None:
    hopeless = replace(DISTORTIONS["blur"], predict_mse=lambda _: lambda step: min(step, 1.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DISTORTIONS, "blur", hopeless)
        made = distort(crop, "blur", 400.0, 3)
    assert error(made.picture, crop) == pytest.approx(400, rel=hopeless.tolerance)


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (5, 5), (60, 70)])
def test_impulse_hits_every_pixel_once(size: tuple[int, int]) -> None:
    grey = np.full(size, 0.5, dtype=np.float32)
    apply = prepared("impulse", grey)
    for count in range(grey.size + 1) if grey.size < 100 else (1, 500, 524, 526, 600, 4200):
        assert np.count_nonzero(apply(count / grey.size * (1 + 1e-12)) % 1 != 0.5) == count


# --- unreachable targets --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["contrast", "blur"])
def test_a_flat_picture_has_no_contrast_and_no_blur(name: str) -> None:
    grey = np.full((64, 64), 0.5, dtype=np.float32)
    with pytest.raises(UnreachableError) as caught:
        distort(grey, name, 45.0, 0)
    assert (caught.value.kind, caught.value.target) == (name, 45.0)
    assert caught.value.maximum == pytest.approx(0, abs=0.1)
    assert name in str(caught.value)


def test_blur_reaches_the_variance_and_no_more(crop: Picture) -> None:
    variance = 255**2 * float(crop.var(dtype=float))
    almost = distort(crop, "blur", 0.97 * variance, 0)
    assert error(almost.picture, crop) == pytest.approx(0.97 * variance, rel=1e-3)
    with pytest.raises(UnreachableError) as caught:
        distort(crop, "blur", 1.03 * variance, 0)
    assert caught.value.maximum == pytest.approx(variance, rel=1e-3)


def test_white_cannot_get_brighter() -> None:
    with pytest.raises(UnreachableError) as caught:
        distort(np.ones((32, 32), dtype=np.float32), "luminance", 45.0, 0)
    assert caught.value.maximum == 0


@pytest.mark.parametrize("kind", ["jpeg", "blur+jpeg", "jpeg+impulse", "impulse+jpeg"])
@pytest.mark.parametrize("side", [8, 13, 32])
def test_small_pictures_reach_the_target_or_are_rejected(
    crop: Picture, kind: str, side: int
) -> None:
    """Few blocks, or all of them alike, must not let the MSE jump."""
    chart = np.zeros((side, side), dtype=np.float32)
    chart[:, side // 2 :] = 1
    for picture in (np.ascontiguousarray(crop[:side, :side]), chart, np.zeros_like(chart)):
        for target in (0.01, 1.0, 45.0, 300.0, 405.0, 900.0):
            refusal = None
            try:
                made = distort(picture, kind, target, 1)
            except UnreachableError as caught:
                refusal = caught
            if refusal is None:
                assert error(made.picture, picture) == pytest.approx(
                    target, abs=max(0.05, 0.005 * target)
                )
            else:
                assert abs(refusal.maximum - target) > 0.05
                assert f"not {target:g}" in str(refusal)


def test_blur_reaches_the_variance_of_the_widest_picture_too() -> None:
    picture = np.tile(np.linspace(0, 1, 16_384, dtype=np.float32), (8, 1))
    variance = 255**2 * float(picture.var(dtype=float))
    assert distort(picture, "blur", 0.9 * variance, 0).achieved_mse == pytest.approx(
        0.9 * variance, rel=1e-3
    )


@pytest.mark.parametrize("kind", ["blur+gaussian-noise", "contrast+luminance", "luminance+blur"])
def test_maximum_of_a_mixture_is_its_own(kind: str) -> None:
    """The reported maximum of a mixture is not below what it does reach."""
    picture = np.random.default_rng(4).uniform(0.45, 0.55, (64, 64)).astype(np.float32)
    reached, refusals = [], []
    for target in np.geomspace(10, 60000, 25):
        try:
            reached.append(distort(picture, kind, float(target), 0).achieved_mse)
        except UnreachableError as refusal:
            refusals.append(refusal)
    assert reached
    assert refusals
    for refusal in refusals:
        assert 0.99 * max(reached) <= refusal.maximum < refusal.target


FAR = [(name, target) for name in NAMES for target in (0.05, 1.0, 3000.0)]
FAR.remove(("jpeg", 0.05))  # rounding to 8 bits alone is more than that


@pytest.mark.parametrize(("name", "target"), FAR)
def test_levels_far_from_the_papers(name: str, target: float, crop: Picture) -> None:
    made = distort(crop, name, target, 9)
    allowed = max(0.1, target * (0.01 if name == "jpeg" else 0.001))
    assert abs(error(made.picture, crop) - target) <= allowed
    assert made.achieved_mse == pytest.approx(error(made.picture, crop), rel=1e-9)


# --- a seventh one --------------------------------------------------------------------------------


def _gamma(picture: Picture, _: np.random.Generator) -> Apply:
    return lambda strength: np.power(picture, np.float32(1 + strength))


def test_a_seventh_distortion_is_one_row_and_one_function(
    crop: Picture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = Distortion(
        name="gamma",
        letter="Y",
        title="Gamma",
        sentence="Middle greys get darker.",
        structural=False,
        colour="#000000",
        unit="exponent above 1",
        strongest=100.0,
        prepare=_gamma,
    )
    monkeypatch.setitem(DISTORTIONS, "gamma", row)
    spec = DatasetSpec(("gamma", "blur", "gamma+impulse"), (45.0, 400.0))
    made = run(generate(crop, spec))
    assert made.labels == ("original", *("gamma",) * 2, *("blur",) * 2, *("gamma+impulse",) * 2)
    for picture, entry in zip(made.pictures[1:], made.entries[1:], strict=True):
        assert abs(error(picture, crop) - entry.target_mse) <= max(0.1, 0.001 * entry.target_mse)
    expected = crop.astype(float) ** (1 + made.entries[1].strength)
    np.testing.assert_allclose(made.pictures[1], expected, atol=1e-5)
    run(dataset_folder.save(made, tmp_path / "seven"))
    loaded = run(dataset_folder.load(tmp_path / "seven"))
    assert loaded.digest() == made.digest()
    assert loaded.spec == spec
    shown = [vote_overlays.style_of(kind) for kind in spec.kinds]
    assert [each.letter for each in shown] == ["Y", "B", "YI"]
    for each in shown:
        assert vote_overlays.pattern_mask(each.patterns, 8, 8).any()


def test_tolerance_of_a_row_is_respected(crop: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    sharp = replace(DISTORTIONS["blur"], name="sharp", tolerance=1e-7)
    monkeypatch.setitem(DISTORTIONS, "sharp", sharp)
    monkeypatch.setattr(strength_search, "ABSOLUTE_TOLERANCE", 0.0)
    assert distort(crop, "sharp", 500.0, 0).achieved_mse == pytest.approx(500, rel=1e-6)
