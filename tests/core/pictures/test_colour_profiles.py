"""Colour profiles: read as LittleCMS reads them, without loss of bits, and damaged ones ignored."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image, ImageCms

from isca_gui.core.pictures import colour_profiles, image
from tests import pictures as p

if TYPE_CHECKING:
    from pathlib import Path

ADOBE = p.icc_profile("Adobe RGB (1998)", 563 / 256, colour_profiles.ADOBE_RGB.matrix)
GREY = p.icc_profile("Gray Gamma 1.8", 1.8, model=b"GRAY")
SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
# Colours of every hue that are far from the rim of sRGB.
COLOURS = np.random.default_rng(1).integers(90, 160, (24, 32, 3), dtype=np.uint8)


def save(path: Path, samples: np.ndarray, profile: bytes) -> None:
    Image.fromarray(samples).save(path, icc_profile=profile, quality=100)


def test_colours_are_those_of_littlecms(tmp_path: Path) -> None:
    path = tmp_path / "adobe.png"
    save(path, COLOURS, ADOBE)
    expected = np.asarray(colour_profiles.eight_bit_to_srgb(Image.fromarray(COLOURS), ADOBE))
    assert np.abs(expected.astype(int) - COLOURS).max() > 10
    read, space = image.read_with_space(path)
    assert space is not None
    assert space.name == "Adobe RGB (1998)"
    # LittleCMS rounds to 8 bits.
    assert np.abs(255 * read - expected).max() < 1.1
    # What the file holds can be told from what it means.
    assert np.abs(255 * space.from_srgb(read) - COLOURS).max() < 0.1


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "webp", "avif", "psd"])
def test_every_format_is_converted(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"profile.{suffix}"
    flat = np.full((32, 32, 3), (90, 160, 120), np.uint8)
    if suffix == "psd":
        path.write_bytes(p.psd(flat, resources=((1039, ADOBE),)))
    else:
        save(path, flat, ADOBE)
    expected = colour_profiles.ADOBE_RGB.to_srgb(flat[:1, :1] / 255)[0, 0]
    assert np.abs(image.read_colour(path).mean((0, 1)) - expected).max() < 0.01
    assert np.abs(flat[0, 0] / 255 - expected).max() > 0.05


def test_srgb_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "srgb.png"
    save(path, COLOURS, SRGB)
    read, space = image.read_with_space(path)
    assert space is None
    assert np.array_equal(read, COLOURS / np.float32(255))


def test_16_bits_keep_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "deep.png"
    ramp = np.arange(20_000, 20_000 + 13 * 18, dtype=np.uint16).reshape(13, 18)
    chunk = (b"iCCP", b"Adobe\0\0" + zlib.compress(ADOBE))
    path.write_bytes(p.png(np.dstack([ramp] * 3), depth=16, chunks=(chunk,)))
    read = image.read_colour(path)[..., 1]
    assert len(np.unique(read)) == ramp.size
    assert (np.diff(read.ravel()) > 0).all()


def test_grey_has_a_curve_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "grey.png"
    save(path, p.GREY8, GREY)
    light = (p.GREY8 / 255) ** (round(256 * 1.8) / 256)
    expected = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    assert np.abs(image.read(path) - expected).max() < 1e-3


def test_a_given_range_means_the_numbers_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "adobe.png"
    save(path, COLOURS, ADOBE)
    read = image.read_colour(path, value_range=(0, 255))
    assert np.allclose(read, COLOURS / 255)


def test_a_damaged_profile_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "damaged.png"
    random = np.random.default_rng(3)
    for trial in range(60):
        profile = bytearray(ADOBE)
        for place in random.integers(0, len(profile), 12):
            profile[place] = random.integers(256)
        del profile[int(random.integers(1, len(profile))) if trial % 3 == 0 else len(profile) :]
        save(path, COLOURS, bytes(profile))
        read = image.read_colour(path)
        assert read.shape == COLOURS.shape
        assert np.isfinite(read).all()


def test_cmyk_goes_through_littlecms(tmp_path: Path) -> None:
    """Without a profile CMYK is converted by the plain formula; with a wrong one as well."""
    path = tmp_path / "cmyk.tif"
    made = Image.new("CMYK", (16, 16), (40, 120, 200, 10))
    made.save(path)
    plain = image.read_colour(path)
    made.save(path, icc_profile=ADOBE)
    assert np.array_equal(image.read_colour(path), plain)
