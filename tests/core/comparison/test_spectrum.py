"""Spectra against single Fourier transforms, and what filters and noise leave in them."""

from __future__ import annotations

import numpy as np
import pytest

from isca_gui.core.comparison import spectrum
from tests import copies


def pixels(name: str = "camera", height: int = 200, width: int = 240) -> np.ndarray:
    return copies.part(name, height, width).astype(np.float32)


def test_spectra_are_those_of_the_windows() -> None:
    reference = pixels(height=70, width=83)
    copy = copies.noisy(reference, 5).astype(np.float32)
    found = spectrum.measure(reference, copy)
    tops, lefts = spectrum.window_places(70, 83)
    assert len(tops) == len(found.reference) == 3 * 4
    window = np.hanning(33)[:32]
    for index, (top, left) in enumerate(zip(tops, lefts, strict=True)):
        parts = []
        for picture in (reference, copy):
            cut = picture[top : top + 32, left : left + 32].astype(np.float64)
            parts.append(np.fft.fft2((cut - cut.mean()) * np.outer(window, window))[:, :17])
        first, second = parts
        scale = np.abs(first).max() ** 2
        assert found.reference[index] == pytest.approx(np.abs(first) ** 2, abs=1e-5 * scale)
        assert found.copy[index] == pytest.approx(np.abs(second) ** 2, abs=1e-5 * scale)
        assert found.cross[index] == pytest.approx(second * first.conj(), abs=1e-5 * scale)
        assert found.error[index] == pytest.approx(np.abs(second - first) ** 2, abs=1e-5 * scale)


def test_windows_lie_inside_and_are_not_too_many() -> None:
    for height, width in ((32, 32), (33, 500), (512, 512), (3000, 2000)):
        tops, lefts = spectrum.window_places(height, width)
        assert 1 <= len(tops) == len(lefts) <= 512
        assert tops.max() + 32 <= height
        assert lefts.max() + 32 <= width
        assert len(set(zip(tops, lefts, strict=True))) == len(tops)


def features(copy: np.ndarray) -> dict[str, float]:
    return spectrum.spectral_features(spectrum.measure(pixels(), copy.astype(np.float32)))


def test_the_same_picture_has_gain_one_and_no_rest() -> None:
    found = features(pixels())
    for band in range(spectrum.BANDS):
        assert found[f"gain{band}"] == pytest.approx(1, abs=0.03)
        assert found[f"coh{band}"] < -1.4
        assert found[f"pow{band}"] == pytest.approx(0, abs=1e-6)
    assert found["k_centre"] == pytest.approx(1, abs=0.1)


def test_a_gain_a_blur_and_noise() -> None:
    half = features(pixels() * 0.5)
    assert [half[f"gain{band}"] for band in range(8)] == pytest.approx([0.5] * 8, abs=0.02)
    blur = features(copies.blurred(pixels(), 1.5))
    gains = [blur[f"gain{band}"] for band in range(spectrum.BANDS)]
    assert gains[:8] == sorted(gains[:8], reverse=True)
    assert max(gains[7:]) < 0.05 < 0.8 < gains[0]
    noise = features(copies.noisy(pixels(), 15))
    assert [noise[f"gain{band}"] for band in range(6)] == pytest.approx([1] * 6, abs=0.1)
    assert abs(noise["white_slope"]) < 0.3
    assert noise["linear_explained"] > -0.3
    assert blur["linear_explained"] < -1.3


def test_the_kernel_has_the_place_and_the_direction_of_the_filter() -> None:
    moved = features(np.roll(pixels(), (1, -2), (0, 1)))
    assert (moved["k_my"] > 0.4, moved["k_mx"] < -0.8) == (True, True)
    motion = features(copies.moved(pixels(), 7))
    round_blur = features(copies.blurred(pixels(), 2))
    assert motion["k_aniso"] > 0.6 > 0.3 > round_blur["k_aniso"]


def test_flat_pictures_have_finite_numbers() -> None:
    flat = np.full((64, 64), 128, np.float32)
    found = spectrum.spectral_features(spectrum.measure(flat, flat + 10))
    assert np.isfinite(list(found.values())).all()


@pytest.mark.parametrize("level", [0, 128, 255])
def test_a_flat_reference_has_finite_numbers(level: int) -> None:
    flat = np.full((64, 64), level, np.float32)
    found = spectrum.spectral_features(
        spectrum.measure(flat, copies.noisy(flat, 10).astype(np.float32))
    )
    assert np.isfinite(list(found.values())).all()
    assert found["err_activity"] == 0
