"""The kinds of change that a comparison names, their families, titles and parameters in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TONE = "tone"
FILTER = "filter"
NOISE = "noise"
COMPRESSION = "compression"
FAMILIES = (TONE, FILTER, NOISE, COMPRESSION)
OTHER_COMPRESSION = "other-compression"


@dataclass(frozen=True)
class Kind:
    """One row of the table."""

    name: str
    family: str
    title: str


TABLE = (
    Kind("luminance", TONE, "Luminance shift"),
    Kind("contrast", TONE, "Contrast change"),
    Kind("gamma", TONE, "Gamma"),
    Kind("posterisation", TONE, "Posterisation"),
    Kind("tone-curve", TONE, "Tone curve"),
    Kind("blur", FILTER, "Blur"),
    Kind("motion-blur", FILTER, "Motion blur"),
    Kind("sharpening", FILTER, "Sharpening"),
    Kind("resampling", FILTER, "Scaled down and back up"),
    Kind("median", FILTER, "Median filter"),
    Kind("gaussian-noise", NOISE, "Gaussian noise"),
    Kind("impulse", NOISE, "Impulse noise"),
    Kind("speckle", NOISE, "Speckle noise"),
    Kind("poisson-noise", NOISE, "Shot noise"),
    Kind("jpeg", COMPRESSION, "JPEG"),
    Kind("jpeg-2000", COMPRESSION, "JPEG 2000"),
    Kind("webp", COMPRESSION, "WebP"),
    Kind("avif", COMPRESSION, "AVIF"),
    Kind("heic", COMPRESSION, "HEIC"),
    Kind("jpeg-xl", COMPRESSION, "JPEG XL"),
    Kind(OTHER_COMPRESSION, COMPRESSION, "Other lossy compression"),
)
KINDS = {kind.name: kind for kind in TABLE}


def family_of(kind: str) -> str | None:
    """Return the family of a kind, or None for what is no kind."""
    return KINDS[kind].family if kind in KINDS else None


def in_words(kind: str, parameters: Mapping[str, float]) -> str:
    """Return a kind with its parameters, such as "Blur, σ about 1.3 pixels"."""
    say = _WORDS.get(kind)
    if say is None or not parameters:
        return KINDS[kind].title
    return say(parameters)


def _luminance(found: Mapping[str, float]) -> str:
    shift = found["shift"]
    way = "Brighter" if shift > 0 else "Darker"
    return f"{way} by about {_count(abs(shift), 'grey level')}"


def _contrast(found: Mapping[str, float]) -> str:
    gain = found["gain"]
    if gain < 0:
        return f"A negative, gain about {gain:.2f}"
    way = "More" if gain > 1 else "Less"
    return f"{way} contrast, gain about {gain:.2f}"


def _gamma(found: Mapping[str, float]) -> str:
    gamma = found["gamma"]
    way = "darker" if gamma > 1 else "brighter"
    return f"Gamma about {gamma:.2f} (middle tones {way})"


def _posterisation(found: Mapping[str, float]) -> str:
    return f"Posterisation, about {_count(round(found['levels']), 'grey level')} left"


def _blur(found: Mapping[str, float]) -> str:
    return f"Blur, σ about {_number(found['sigma'])} pixels"


def _motion(found: Mapping[str, float]) -> str:
    # A line at 180° is one at 0°.
    angle = round(found["angle"]) % 180
    return (
        f"Motion blur, about {_number(found['length'])} pixels long at {angle}° to the horizontal"
    )


def _sharpening(found: Mapping[str, float]) -> str:
    return (
        f"Sharpening, amount about {_number(found['amount'])} at a radius of "
        f"{_number(found['radius'])} pixels"
    )


def _resampling(found: Mapping[str, float]) -> str:
    return f"Scaled down to about {found['scale']:.0%} and back up"


def _median(found: Mapping[str, float]) -> str:
    return f"Median filter, about {found['side']:.0f}×{found['side']:.0f} pixels"


def _gaussian(found: Mapping[str, float]) -> str:
    return f"Gaussian noise, σ about {_number(found['sigma'])} grey levels"


def _impulse(found: Mapping[str, float]) -> str:
    return f"Impulse noise on about {found['share']:.2%} of the pixels"


def _speckle(found: Mapping[str, float]) -> str:
    return f"Speckle noise, σ about {found['sigma']:.1%} of the brightness"


def _poisson(found: Mapping[str, float]) -> str:
    return (
        f"Shot noise, about {_number(found['photons'])} photons at full brightness "
        f"(σ about {_number(found['sigma'])} grey levels)"
    )


def _jpeg(found: Mapping[str, float]) -> str:
    return f"JPEG, quality about {found['quality']:.0f}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def _count(value: float, what: str) -> str:
    words = f"{_number(value)} {what}"
    return words if _number(value) == "1" else f"{words}s"


_WORDS: dict[str, Callable[[Mapping[str, float]], str]] = {
    "luminance": _luminance,
    "contrast": _contrast,
    "gamma": _gamma,
    "posterisation": _posterisation,
    "blur": _blur,
    "motion-blur": _motion,
    "sharpening": _sharpening,
    "resampling": _resampling,
    "median": _median,
    "gaussian-noise": _gaussian,
    "impulse": _impulse,
    "speckle": _speckle,
    "poisson-noise": _poisson,
    "jpeg": _jpeg,
}
