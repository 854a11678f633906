"""Frozen, validated settings of every stage; the defaults are the paper's."""

from __future__ import annotations

import math
from dataclasses import dataclass

from isca_gui.core.distortions import DISTORTIONS, TABLE

HIGHEST_MSE = 255.0**2


class SettingsError(ValueError):
    """A setting has a value that makes no sense; the message says which, and what it may be."""


PAPER_LEVELS = tuple(float(level) for level in range(45, 901, 45))


@dataclass(frozen=True)
class DatasetSpec:
    """Which distorted versions of a reference to make: every kind at every MSE level."""

    kinds: tuple[str, ...] = tuple(row.name for row in TABLE)
    levels: tuple[float, ...] = PAPER_LEVELS
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.kinds or not self.levels:
            raise SettingsError("a dataset needs at least one kind of distortion and one MSE level")
        for kind in self.kinds:
            check_kind(kind)
        for level in self.levels:
            check_level(level)
        for what, values in (("kind", self.kinds), ("level", self.levels)):
            if len(set(values)) < len(values):
                raise SettingsError(f"a {what} is named twice: {', '.join(map(str, values))}")
        check_seed(self.seed)


def check_kind(kind: str) -> None:
    """Refuse what is neither a distortion of the table nor a mixture of two of them."""
    names = kind.split("+")
    unknown = [name for name in names if name not in DISTORTIONS]
    if unknown:
        raise SettingsError(f"unknown distortion '{unknown[0]}'; there are {', '.join(DISTORTIONS)}")
    if len(names) > 2 or len(set(names)) < len(names):
        raise SettingsError(f"a mixture has two different parts, such as blur+jpeg, not '{kind}'")


def check_level(level: float) -> None:
    """Refuse an MSE that no picture can have."""
    if not (math.isfinite(level) and 0 < level <= HIGHEST_MSE):
        raise SettingsError(f"an MSE level lies above 0 and at most at {HIGHEST_MSE:g}, not at {level:g}")


def check_seed(seed: int) -> None:
    """Refuse a seed that a random generator or a file could not hold."""
    if not 0 <= seed < 2**63:
        raise SettingsError(f"the seed is a whole number from 0 to 2⁶³ − 1, not {seed}")


def parse_levels(text: str) -> tuple[float, ...]:
    """Read MSE levels from `from:to:step` or a list such as `45,90,200`."""
    try:
        if ":" not in text:
            return tuple(float(part) for part in text.split(","))
        start, stop, step = (float(part) for part in text.split(":"))
    except ValueError:
        raise SettingsError(f"MSE levels are FROM:TO:STEP or a list A,B,C, not '{text}'") from None
    if not all(map(math.isfinite, (start, stop, step))) or step <= 0 or stop < start:
        raise SettingsError(f"MSE levels FROM:TO:STEP need a step above 0 and FROM up to TO, not '{text}'")
    count = math.floor((stop - start) / step + 1e-9) + 1
    if count > 10_000:
        raise SettingsError(f"'{text}' would be {count} levels; at most 10000 are made")
    return tuple(start + step * index for index in range(count))
