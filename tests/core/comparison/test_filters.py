"""Filters fitted to a change: their parameters, and the change made again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from isca_gui.core.comparison import filters
from isca_gui.core.comparison.pair import Pair
from tests import copies

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def pair_of(name: str, work: Callable[[np.ndarray], np.ndarray]) -> Pair:
    pixels = copies.part(name, 211, 240)
    return Pair(pixels.astype(np.float32), work(pixels).astype(np.float32))


def explained(pair: Pair, made: np.ndarray) -> float:
    return 1 - float(np.mean((pair.copy_luma - made) ** 2)) / pair.mse


@pytest.mark.parametrize("name", ["coffee", "camera"])
@pytest.mark.parametrize("sigma", [0.5, 0.8, 1.3, 2.5, 6.0])
def test_blur(name: str, sigma: float) -> None:
    pair = pair_of(name, lambda pixels: copies.blurred(pixels, sigma))
    found = filters.fit_filter("blur", pair)
    assert found.parameters == {"sigma": pytest.approx(sigma, rel=0.03)}
    assert explained(pair, found.make(pair.reference_luma)) > 0.99


@pytest.mark.parametrize("length", [5, 9, 15])
def test_motion_along_the_rows(length: int) -> None:
    pair = pair_of("camera", lambda pixels: copies.moved(pixels, length))
    found = filters.fit_filter("motion-blur", pair)
    assert found.parameters["length"] == pytest.approx(length, rel=0.05)
    assert min(found.parameters["angle"], 180 - found.parameters["angle"]) < 2
    assert explained(pair, found.make(pair.reference_luma)) > 0.9


@pytest.mark.parametrize(("angle", "rows"), [(90, 1), (45, -1), (135, 1)])
def test_motion_in_other_directions(angle: int, rows: int) -> None:
    """Rows run down, so a motion up and to the right has an angle of 45 degrees."""
    columns = 0 if angle == 90 else 1

    def along(values: np.ndarray) -> np.ndarray:
        steps = range(-4, 5)
        kernel = np.zeros((9, 9))
        for step in steps:
            kernel[4 + step * rows, 4 + step * columns] = 1 / 9
        return ndimage.convolve(values, kernel, mode="reflect")

    pair = pair_of("camera", lambda pixels: copies.whole(copies.each_channel(pixels, along)))
    found = filters.fit_filter("motion-blur", pair)
    assert found.parameters["angle"] == pytest.approx(angle, abs=3)
    wanted = 9 * np.hypot(rows, columns)
    assert found.parameters["length"] == pytest.approx(wanted, rel=0.08)


def test_sharpening() -> None:
    pair = pair_of("coffee", lambda pixels: copies.sharpened(pixels, 0.8, 1.5))
    found = filters.fit_filter("sharpening", pair)
    assert found.parameters["amount"] == pytest.approx(0.8, rel=0.1)
    assert found.parameters["radius"] == pytest.approx(1.5, rel=0.15)
    assert explained(pair, found.make(pair.reference_luma)) > 0.97


@pytest.mark.parametrize("name", ["coffee", "camera"])
@pytest.mark.parametrize("scale", [0.25, 0.33, 0.5, 0.7])
def test_made_smaller_and_back(name: str, scale: float) -> None:
    pair = pair_of(name, lambda pixels: copies.made_smaller(pixels, scale))
    found = filters.fit_filter("resampling", pair)
    assert found.parameters == {"scale": pytest.approx(scale, abs=0.011)}
    assert explained(pair, found.make(pair.reference_luma)) > 0.9


@pytest.mark.parametrize("side", [3, 5, 7])
def test_median(side: int) -> None:
    pair = pair_of("camera", lambda pixels: copies.median_filtered(pixels, side))
    found = filters.fit_filter("median", pair)
    assert found.parameters == {"side": side}
    assert explained(pair, found.make(pair.reference_luma)) == pytest.approx(1)
    if side < 7:
        features = filters.median_features(pair)
        assert features[f"median{side}"] == min(features.values())


@pytest.mark.parametrize("sigma", [0.4, 0.7, 1.5, 4])
def test_the_sampled_gaussian_is_scipy_s(sigma: float) -> None:
    picture = copies.part("camera", 40, 57).astype(np.float32)
    made = filters._filtered(filters._cosine(picture), filters._sampled_gaussian, sigma)
    wanted = ndimage.gaussian_filter(picture, sigma, truncate=8)
    assert made == pytest.approx(wanted, abs=0.05)


def test_the_rest_in_frequency_is_the_rest_in_pixels() -> None:
    pair = pair_of("camera", lambda pixels: copies.noisy(pixels, 7))
    spectra = [filters._cosine(each) for each in (pair.reference_luma, pair.copy_luma)]
    made = filters._filtered(spectra[0], filters._exact_gaussian, 1.1)
    wanted = float(np.mean((pair.copy_luma - made) ** 2))
    assert filters._left(*spectra, filters._exact_gaussian, 1.1) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("kind", ["blur", "motion-blur", "sharpening", "resampling", "median"])
@pytest.mark.parametrize("shape", [(32, 32), (33, 90)])
def test_flat_and_small_pictures_have_some_filter(kind: str, shape: tuple[int, int]) -> None:
    flat = np.full(shape, 128, np.float32)
    for copy in (flat, flat + 9, copies.noisy(flat, 9).astype(np.float32)):
        found = filters.fit_filter(kind, Pair(flat, copy))
        assert np.isfinite(list(found.parameters.values())).all()
        assert found.make(flat).shape == shape


@pytest.mark.parametrize("width", [61, 100, 211])
def test_repeated_pixels_give_the_scale_exactly(width: int) -> None:
    def repeated(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        picture = Image.fromarray(pixels)
        size = (width, round(picture.height * width / picture.width))
        smaller = picture.resize(size, Image.Resampling.NEAREST)
        return np.asarray(smaller.resize(picture.size, Image.Resampling.NEAREST))

    pair = pair_of("camera", repeated)
    found = filters.fit_filter("resampling", pair)
    assert found.parameters["scale"] == pytest.approx(width / pair.copy_luma.shape[1])
    assert explained(pair, found.make(pair.reference_luma)) == pytest.approx(1)
