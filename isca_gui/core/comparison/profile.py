"""Limits that a copy must keep, as a small TOML file: pass or fail, with the reason.

```toml
schema = 1
forbid = ["unrecognised", "unrelated", "median"]

[limits]
mse = { most = 50 }
"blur.sigma" = { most = 0.8 }
"jpeg.quality" = { least = 75 }
```
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from isca_gui.core.comparison import parameters
from isca_gui.core.comparison.compare import UNRELATED
from isca_gui.core.comparison.kinds import KINDS, TABLE, family_of
from isca_gui.core.storage import files

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from isca_gui.core.comparison.compare import Comparison

SCHEMA = 1
SUFFIX = ".toml"
UNRECOGNISED = "unrecognised"
FAMILIES = tuple(dict.fromkeys(kind.family for kind in TABLE))
# Figures of the whole copy that a limit may name, with what they are called.
FIGURES = {
    "mse": "MSE",
    "psnr": "PSNR",
    "ssim": "SSIM",
    "severity": "Severity",
    "damaged_share": "Damaged share",
}
_LARGEST_FILE = 1 << 20


class ProfileError(Exception):
    """A profile cannot be used; the message says what, which file, and what to do."""


@dataclass(frozen=True)
class Range:
    """The values that are allowed: at least `least`, at most `most`, each where given."""

    least: float | None = None
    most: float | None = None

    def holds(self, value: float) -> bool:
        """Whether a value is allowed."""
        above = self.least is None or value >= self.least
        return above and (self.most is None or value <= self.most)

    @property
    def words(self) -> str:
        """The range in words, such as "at most 0.8"."""
        parts = []
        if self.least is not None:
            parts.append(f"at least {self.least:g}")
        if self.most is not None:
            parts.append(f"at most {self.most:g}")
        return " and ".join(parts)


@dataclass(frozen=True)
class Profile:
    """What is forbidden, and the ranges of figures and parameters."""

    forbid: tuple[str, ...] = ()
    limits: dict[str, Range] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether nothing is limited."""
        return not self.forbid and not self.limits

    @property
    def lines(self) -> list[str]:
        """Every rule as a line for a person."""
        return [*(name_in_words(name, forbidden=True) for name in self.forbid)] + [
            f"{name_in_words(name)} {allowed.words}" for name, allowed in self.limits.items()
        ]

    def forbidding(self, name: str) -> Profile:
        """Return a profile that forbids one more kind, family or `unrecognised`."""
        _check_forbidden(name)
        return replace(self, forbid=tuple(dict.fromkeys((*self.forbid, name))))

    def limiting(self, name: str, allowed: Range) -> Profile:
        """Return a profile with another range for a figure or parameter."""
        _check_limited(name)
        return replace(self, limits={**self.limits, name: allowed})

    def without(self, name: str) -> Profile:
        """Return a profile without the rules on a name."""
        return Profile(
            tuple(each for each in self.forbid if each != name),
            {each: allowed for each, allowed in self.limits.items() if each != name},
        )

    def broken(self, comparison: Comparison) -> list[str]:
        """Return the reasons why a copy fails; none where it passes."""
        return [*_forbidden(self, comparison), *_out_of_range(self, comparison)]


def name_in_words(name: str, *, forbidden: bool = False) -> str:
    """Return what a rule is about, such as "Blur: σ" or "No Median filter"."""
    if name in FIGURES:
        return FIGURES[name]
    kind, _, parameter = name.partition(".")
    if parameter:
        return f"{KINDS[kind].title}: {parameters.describe(kind, parameter).title}"
    if name == UNRECOGNISED:
        return "Nothing that is not recognised"
    if name == UNRELATED:
        return "No other picture"
    title = KINDS[name].title if name in KINDS else f"change of {name}"
    return f"No {title}" if forbidden else title


def _forbidden(profile: Profile, found: Comparison) -> Iterator[str]:
    names = set(found.parts) | {family_of(part) or "" for part in found.parts}
    for answer in found.regions:
        if not answer.judgement.unlike:
            names |= set(answer.judgement.parts)
            names |= {family_of(part) or "" for part in answer.judgement.parts}
    strange = any(answer.judgement.unlike for answer in found.regions)
    for name in profile.forbid:
        if name == UNRELATED and found.label == UNRELATED:
            yield "it shows another picture"
        elif name == UNRECOGNISED and (strange or found.unlike):
            yield "a change is not recognised"
        elif name in names:
            yield f"{KINDS[name].title if name in KINDS else name} is not allowed"


def _out_of_range(profile: Profile, found: Comparison) -> Iterator[str]:
    measured = parameters.all_parameters(found)
    for name, allowed in profile.limits.items():
        if name in FIGURES:
            value = _figure(found, name)
            if not allowed.holds(value):
                yield f"{FIGURES[name]} {value:.4g}, allowed is {allowed.words}"
            continue
        kind, _, parameter = name.partition(".")
        values = [value for k, p, value in measured if (k, p) == (kind, parameter)]
        if kind in found.parts and not values:
            yield f"{name_in_words(name)} could not be measured"
        for value in values:
            if not allowed.holds(value):
                said = parameters.in_words(kind, parameter, value)
                yield f"{name_in_words(name)} {said}, allowed is {allowed.words}"


def _figure(found: Comparison, name: str) -> float:
    value = getattr(found, name)
    # Identical pictures have no PSNR: it is above every limit.
    return math.inf if value is None else float(value)


# --- the file -------------------------------------------------------------------------------------


def to_text(profile: Profile) -> str:
    """Return a profile as TOML."""
    lines = ["# Limits for isca compare --profile", f"schema = {SCHEMA}"]
    names = ", ".join(f'"{name}"' for name in profile.forbid)
    lines.append(f"forbid = [{names}]")
    lines += ["", "[limits]"]
    for name, allowed in profile.limits.items():
        ends = [
            f"{end} = {value!r}"
            for end, value in (("least", allowed.least), ("most", allowed.most))
            if value is not None
        ]
        lines.append(f'"{name}" = {{ {", ".join(ends)} }}')
    return "\n".join(lines) + "\n"


def from_text(text: str) -> Profile:
    """Return the profile that a TOML text holds; a ProfileError says what is wrong with it."""
    try:
        stored = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ProfileError(f"it is no TOML ({error})") from error
    unknown = sorted(stored.keys() - {"schema", "forbid", "limits"})
    if unknown:
        raise ProfileError(f"'{unknown[0]}' is unknown; there are schema, forbid and limits")
    if stored.get("schema") != SCHEMA:
        raise ProfileError(f"its schema is {stored.get('schema')!r}, and must be {SCHEMA}")
    forbid = stored.get("forbid", [])
    limits = stored.get("limits", {})
    if not isinstance(forbid, list) or not all(isinstance(name, str) for name in forbid):
        raise ProfileError("'forbid' must be a list of names")
    if not isinstance(limits, dict):
        raise ProfileError("'limits' must be a table")
    for name in forbid:
        _check_forbidden(name)
    return Profile(tuple(dict.fromkeys(forbid)), dict(map(_range, _flattened(limits))))


def _flattened(limits: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield names and ranges; `blur.sigma = …` without quotes is a table in a table."""
    for name, value in limits.items():
        is_kind = name in KINDS and isinstance(value, dict)
        if is_kind and not value.keys() & {"least", "most"}:
            yield from ((f"{name}.{inner}", each) for inner, each in value.items())
        else:
            yield name, value


def _range(item: tuple[str, Any]) -> tuple[str, Range]:
    name, value = item
    _check_limited(name)
    if not isinstance(value, dict) or not value or value.keys() - {"least", "most"}:
        raise ProfileError(f"'{name}' must be such as {{ least = 1, most = 2 }}")
    for end in value.values():
        if isinstance(end, bool) or not isinstance(end, int | float) or not math.isfinite(end):
            raise ProfileError(f"'{name}' must have numbers")
    allowed = Range(**{end: float(number) for end, number in value.items()})
    if allowed.least is not None and allowed.most is not None and allowed.least > allowed.most:
        raise ProfileError(f"no value of '{name}' is {allowed.words}")
    return name, allowed


def _check_forbidden(name: str) -> None:
    known = (UNRECOGNISED, UNRELATED, *FAMILIES, *KINDS)
    if name not in known:
        raise ProfileError(f"'{name}' cannot be forbidden; choose from {', '.join(known)}")


def _check_limited(name: str) -> None:
    kind, _, parameter = name.partition(".")
    known = [f"{k}.{p}" for k, p in parameters.PARAMETERS]
    # A kind without rows in the table of parameters may have any.
    free = kind in KINDS and parameter and not any(k == kind for k, _ in parameters.PARAMETERS)
    if name not in FIGURES and name not in known and not free:
        every = ", ".join((*FIGURES, *known))
        raise ProfileError(f"'{name}' cannot be limited; choose from {every}")


def load(path: str | os.PathLike[str]) -> Profile:
    """Read a profile."""
    try:
        with open(path, "rb") as stream:
            text = stream.read(_LARGEST_FILE).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise ProfileError(f"Cannot read profile '{path}': {reason}.") from error
    try:
        return from_text(text)
    except ProfileError as error:
        raise ProfileError(f"Cannot use profile '{path}': {error}.") from error


def save(path: str | os.PathLike[str], profile: Profile) -> None:
    """Write a profile, atomically."""
    try:
        files.write_text(path, to_text(profile))
    except OSError as error:
        raise ProfileError(f"Cannot write profile '{path}': {error.strerror or error}.") from error
