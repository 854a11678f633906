"""What was done to the colours of a copy: each finding, and nothing invented."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isca_gui.bench import colour as changes
from isca_gui.core.comparison import colour
from isca_gui.core.comparison.colour import colour_findings
from isca_gui.core.pictures import colour_profiles
from tests import copies

if TYPE_CHECKING:
    from numpy.typing import NDArray

PICTURE = copies.photograph("coffee").astype(np.float64)
LUMA = np.array([0.299, 0.587, 0.114])


def found(copy: NDArray[Any], reference: NDArray[Any] = PICTURE) -> dict[str, dict[str, Any]]:
    """The findings by kind, for a copy that is rounded to 8 bits."""
    whole = np.rint(np.clip(copy, 0, 255))
    return {each.kind: each.parameters for each in colour_findings(reference, whole)}


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.3])
def test_saturation(factor: float) -> None:
    grey = (PICTURE @ LUMA)[..., None]
    answer = found(grey + factor * (PICTURE - grey))
    assert answer.keys() == {"saturation"}
    assert answer["saturation"]["factor"] == pytest.approx(factor, abs=0.06)


@pytest.mark.parametrize("turn", [-25.0, 15.0])
def test_hue(turn: float) -> None:
    answer = found(changes._in_hsv(PICTURE, turn, 1))
    assert answer["hue"]["degrees"] == pytest.approx(turn, abs=4)


@pytest.mark.parametrize("gains", [(1.1, 1.0, 0.88), (0.95, 1.08, 0.95)])
def test_cast(gains: tuple[float, float, float]) -> None:
    answer = found(PICTURE * np.array(gains))
    said = np.array([answer["cast"][name] for name in ("red", "green", "blue")])
    assert said / said.mean() == pytest.approx(np.array(gains) / np.mean(gains), abs=0.03)


@pytest.mark.parametrize("order", [(2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_channels(order: tuple[int, ...]) -> None:
    answer = found(PICTURE[..., order])
    assert answer["channels"] == {"order": "".join("RGB"[k] for k in order)}


@pytest.mark.parametrize("scheme", ["4:2:0", "4:2:2"])
@pytest.mark.parametrize("quality", [70, 90])
def test_a_jpeg_shows_its_subsampling(scheme: str, quality: int) -> None:
    copy = changes.coded(PICTURE, "JPEG", quality=quality, subsampling=scheme)
    assert found(copy) == {"subsampling": {"scheme": scheme}}


def test_a_reference_that_was_subsampled_already() -> None:
    """Saved once more in the same way, its chroma has not been subsampled by the copy."""
    once = changes.coded(PICTURE, "JPEG", quality=95)
    assert "subsampling" not in found(changes.coded(once, "JPEG", quality=95), once)


@pytest.mark.parametrize("name", [*colour._WEIGHTS, colour.LIGHTNESS])
def test_grey_and_its_weights(name: str) -> None:
    grey = np.rint(colour._as_grey(PICTURE, name))
    assert found(np.repeat(grey[..., None], 3, axis=2)) == {"grey": {"weights": name}}


@pytest.mark.parametrize("space", colour_profiles.COMMON, ids=lambda space: space.name)
@pytest.mark.parametrize("lost", [True, False])
def test_profiles(space: colour_profiles.ColourSpace, lost: bool) -> None:
    convert = space.from_srgb if lost else space.to_srgb
    answer = found(255 * convert(PICTURE / 255))
    assert answer["profile"] == {"profile": space.name, "lost": lost}
    assert answer.keys() == {"profile"}


def test_noise_and_blur_of_the_chroma() -> None:
    random = np.random.default_rng(0)
    noisy, noise = changes._chroma_noise(PICTURE, random)
    answer = found(noisy)
    assert answer["chroma-noise"]["sigma"] == pytest.approx(noise["sigma"], rel=0.3)
    blurred, blur = changes._chroma_blur(PICTURE, random)
    assert found(blurred)["chroma-blur"]["sigma"] == pytest.approx(blur["sigma"], rel=0.4)


@pytest.mark.parametrize("name", ["coffee", "astronaut"])
@pytest.mark.parametrize(
    "damage", [work for _, work in changes.LUMA_ONLY], ids=[name for name, _ in changes.LUMA_ONLY]
)
def test_nothing_is_invented(name: str, damage: Any) -> None:
    pixels = copies.photograph(name).astype(np.float64)
    assert found(damage(pixels, np.random.default_rng(1)), pixels) == {}


def test_the_smallest_and_the_plainest_pictures() -> None:
    random = np.random.default_rng(2)
    small = random.integers(0, 256, (32, 32, 3)).astype(np.float64)
    flat = np.full((40, 33, 3), (200.0, 30.0, 90.0))
    for picture in (small, flat, np.zeros((64, 64, 3)), np.full((64, 64, 3), 255.0)):
        assert found(picture, picture) == {}
        for each in colour_findings(picture, 255 - picture):
            assert each.sentence.endswith(".")
