"""Which distorted copies a dataset holds: kinds and MSE levels, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from isca_gui.core.distortion.distortions import DISTORTIONS, TABLE
from isca_gui.core.settings import SettingsError, check_seed

HIGHEST_MSE = 255.0**2
MOST_LEVELS = 10_000
PAPER_LEVELS = tuple(float(level) for level in range(45, 901, 45))


@dataclass(frozen=True)
class DatasetSpec:
    """Which distorted versions of a reference to make: every kind at every MSE level."""

    kinds: tuple[str, ...] = tuple(row.name for row in TABLE)
    levels: tuple[float, ...] = PAPER_LEVELS
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.kinds or not self.levels:
            raise SettingsError(
                "a dataset needs at least one kind of distortion and one MSE level",
                field="levels" if self.kinds else "kinds",
            )
        if len(self.levels) > MOST_LEVELS:
            raise SettingsError(
                f"there are {len(self.levels)} levels; at most {MOST_LEVELS} can be made",
                field="levels",
            )
        for kind in self.kinds:
            check_kind(kind)
        for level in self.levels:
            check_level(level)
        _check_distinct("kind", self.kinds)
        _check_distinct("level", self.levels)
        check_seed(self.seed)


def _check_distinct(what: str, values: tuple[object, ...]) -> None:
    """Refuse kinds or levels that are named twice."""
    if len(set(values)) < len(values):
        named = ", ".join(map(str, values))
        raise SettingsError(f"a {what} is named twice: {named}", field=f"{what}s")


def check_kind(kind: str) -> None:
    """Refuse what is neither a distortion of the table nor a mixture of two of them."""
    names = kind.split("+")
    unknown = [name for name in names if name not in DISTORTIONS]
    if unknown:
        raise SettingsError(
            f"unknown distortion '{unknown[0]}'; choose from {', '.join(DISTORTIONS)}",
            field="kinds",
        )
    if len(names) > 2 or len(set(names)) < len(names):
        raise SettingsError(
            f"a mixture has two different parts, such as blur+jpeg, not '{kind}'", field="kinds"
        )


def check_level(level: float) -> None:
    """Refuse an MSE that no picture can have."""
    if not (math.isfinite(level) and 0 < level <= HIGHEST_MSE):
        raise SettingsError(
            f"an MSE level must be above 0 and at most {HIGHEST_MSE:g}, not {level:g}",
            field="levels",
        )


def parse_levels(text: str) -> tuple[float, ...]:
    """Read MSE levels from `from:to:step` or a list such as `45,90,200`."""
    try:
        if ":" not in text:
            return tuple(float(part) for part in text.split(","))
        start, stop, step = (float(part) for part in text.split(":"))
    except ValueError:
        raise SettingsError(
            f"MSE levels must be FROM:TO:STEP or a list A,B,C, not '{text}'", field="levels"
        ) from None
    if not all(map(math.isfinite, (start, stop, step))) or step <= 0 or stop < start:
        raise SettingsError(
            f"MSE levels FROM:TO:STEP need a step above 0 and a TO not below FROM, not '{text}'",
            field="levels",
        )
    steps = (stop - start) / step + 1e-9
    if not steps < MOST_LEVELS:
        raise SettingsError(f"'{text}' gives more than {MOST_LEVELS} levels", field="levels")
    return tuple(start + step * index for index in range(math.floor(steps) + 1))
