"""Physical parameters of the kinds: names and units for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isca_gui.core.comparison.compare import Comparison


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kind: how it is called, its unit, and which way is the stronger damage."""

    title: str
    unit: str
    # Whether a larger value is more damage; None where neither way is worse.
    more_is_worse: bool | None = True


PARAMETERS: dict[tuple[str, str], Parameter] = {
    ("luminance", "shift"): Parameter("Shift", "grey levels", None),
    ("contrast", "gain"): Parameter("Gain", "", None),
    ("gamma", "gamma"): Parameter("Exponent", "", None),
    ("posterisation", "levels"): Parameter("Levels left", "grey levels", False),
    ("blur", "sigma"): Parameter("σ", "pixels"),
    ("motion-blur", "length"): Parameter("Length", "pixels"),
    ("motion-blur", "angle"): Parameter("Angle", "°", None),
    ("sharpening", "amount"): Parameter("Amount", ""),
    ("sharpening", "radius"): Parameter("Radius", "pixels", None),
    ("resampling", "scale"): Parameter("Scale", "of the size", False),
    ("median", "side"): Parameter("Side", "pixels"),
    ("gaussian-noise", "sigma"): Parameter("σ", "grey levels"),
    ("impulse", "share"): Parameter("Share", "of the pixels"),
    ("speckle", "sigma"): Parameter("σ", "of the brightness"),
    ("poisson-noise", "sigma"): Parameter("σ", "grey levels"),
    ("poisson-noise", "gain"): Parameter("Gain", "grey levels", None),
    ("poisson-noise", "photons"): Parameter("Photons at full brightness", "", False),
    ("jpeg", "quality"): Parameter("Quality", "of 100", False),
}


def describe(kind: str, name: str) -> Parameter:
    """Return title and unit of a parameter; one without a row is called by its own name."""
    return PARAMETERS.get((kind, name), Parameter(name.replace("_", " ").capitalize(), "", None))


def in_words(kind: str, name: str, value: float) -> str:
    """Return a value with its unit, such as "2.1 pixels"."""
    unit = describe(kind, name).unit
    if unit.startswith("of the "):
        return f"{value:.3g} {unit}" if value > 1 else f"{value:.1%} {unit}"
    if unit == "°":
        return f"{value:.0f}°"
    return f"{value:.3g} {unit}".strip()


def all_parameters(comparison: Comparison) -> list[tuple[str, str, float]]:
    """Return kind, name and value of every parameter, those of all damaged regions among them."""
    found = [
        (kind, name, value)
        for kind, values in comparison.parameters.items()
        for name, value in values.items()
    ]
    for answer in comparison.regions[1:]:
        judgement = answer.judgement
        if judgement.unlike:
            continue
        for kind, proof in zip(judgement.parts, judgement.proofs, strict=False):
            found += [(kind, name, value) for name, value in proof.parameters.items()]
    return found
