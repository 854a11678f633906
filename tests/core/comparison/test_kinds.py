"""The table of kinds, and parameters in words."""

from __future__ import annotations

import pytest

from isca_gui.core.comparison.kinds import KINDS, TABLE, family_of, in_words

# As documented for JSON and the command line.
NAMES = {
    "tone": "luminance contrast gamma posterisation tone-curve",
    "filter": "blur motion-blur sharpening resampling median",
    "noise": "gaussian-noise impulse speckle poisson-noise",
    "compression": "jpeg jpeg-2000 webp avif heic jpeg-xl other-compression",
}


def test_names_and_families_are_the_documented_ones() -> None:
    wanted = {name: family for family, names in NAMES.items() for name in names.split()}
    assert {kind.name: kind.family for kind in TABLE} == wanted
    assert len({kind.title for kind in TABLE}) == len(TABLE)
    assert {name: family_of(name) for name in wanted} == wanted
    for name in ("none", "original", "unlike", "unrelated", "blur+jpeg"):
        assert family_of(name) is None


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        ("luminance", {"shift": 20.2}, "Brighter by about 20 grey levels"),
        ("luminance", {"shift": -7.54}, "Darker by about 7.5 grey levels"),
        ("luminance", {"shift": 1.0}, "Brighter by about 1 grey level"),
        ("contrast", {"gain": -1.0}, "A negative, gain about -1.00"),
        ("contrast", {"gain": 0.8}, "Less contrast, gain about 0.80"),
        ("contrast", {"gain": 1.25}, "More contrast, gain about 1.25"),
        ("gamma", {"gamma": 0.7}, "Gamma about 0.70 (middle tones brighter)"),
        ("gamma", {"gamma": 1.3}, "Gamma about 1.30 (middle tones darker)"),
        ("posterisation", {"levels": 8}, "Posterisation, about 8 grey levels left"),
        ("posterisation", {"levels": 1}, "Posterisation, about 1 grey level left"),
        ("blur", {"sigma": 1.31}, "Blur, σ about 1.3 pixels"),
        (
            "motion-blur",
            {"length": 9.0, "angle": 45.2},
            "Motion blur, about 9 pixels long at 45° to the horizontal",
        ),
        (
            "motion-blur",
            {"length": 9.0, "angle": 179.9},
            "Motion blur, about 9 pixels long at 0° to the horizontal",
        ),
        (
            "sharpening",
            {"amount": 0.81, "radius": 1.4},
            "Sharpening, amount about 0.81 at a radius of 1.4 pixels",
        ),
        ("resampling", {"scale": 0.5}, "Scaled down to about 50% and back up"),
        ("median", {"side": 5}, "Median filter, about 5×5 pixels"),
        ("gaussian-noise", {"sigma": 12.04}, "Gaussian noise, σ about 12 grey levels"),
        ("impulse", {"share": 0.0193}, "Impulse noise on about 1.93% of the pixels"),
        ("speckle", {"sigma": 0.099}, "Speckle noise, σ about 9.9% of the brightness"),
        (
            "poisson-noise",
            {"photons": 260.4, "sigma": 11.9, "gain": 0.98},
            "Shot noise, about 260 photons at full brightness (σ about 12 grey levels)",
        ),
        ("jpeg", {"quality": 61.0}, "JPEG, quality about 61"),
    ],
)
def test_parameters_in_words(kind: str, parameters: dict[str, float], words: str) -> None:
    assert in_words(kind, parameters) == words


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_without_parameters_is_its_title(kind: str) -> None:
    assert in_words(kind, {}) == KINDS[kind].title
