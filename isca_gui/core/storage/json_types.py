"""Checks of values read from JSON documents, and what is wrong with one that fails them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import Field


class Fault(ValueError):
    """What is wrong with a document or model, without its file name."""


_TYPES: dict[str, tuple[type, ...]] = {  # annotation of a field: types of its value
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "int | None": (int, type(None)),
    "float | None": (int, float, type(None)),
    "tuple[str, ...]": (tuple,),
    "tuple[float, ...]": (tuple,),
}


def has_type(field: Field[Any], value: Any) -> bool:
    """Tell whether a value is of the field's type; True does not pass for 1, and every number is finite."""
    fits = type(value) in _TYPES[str(field.type)]
    return fits and (not isinstance(value, int | float) or is_finite(value))


def is_finite(value: float) -> bool:
    """Tell whether a number is finite, also as a float: JSON has whole numbers of any length."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def refuse_constant(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which JSON does not have and Python reads."""
    raise Fault(f"{constant} is no number")
