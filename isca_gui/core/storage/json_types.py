"""Checks of values read from JSON documents."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import Field


class Fault(ValueError):
    """What is wrong with a document or model, without its file name."""


# The annotation of a field and the types that its value may have.
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "int | None": (int, type(None)),
    "float | None": (int, float, type(None)),
    "tuple[str, ...]": (tuple,),
    "tuple[float, ...]": (tuple,),
}


def has_type(field: Field[Any], value: Any) -> bool:
    """Whether a value has the type of a field; True does not pass for 1, and numbers are finite."""
    if type(value) not in _TYPES[str(field.type)]:
        return False
    return not isinstance(value, int | float) or is_finite(value)


def is_finite(value: float) -> bool:
    """Whether a number is finite as a float; JSON has whole numbers of any length."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def refuse_constant(constant: str) -> NoReturn:
    """Raise Fault for NaN and Infinity, which are not JSON although Python reads them."""
    raise Fault(f"{constant} is not a number that JSON allows")
