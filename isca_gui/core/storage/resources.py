"""Finds the files of `resources/` in a source tree, in an installed package and in a bundle."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]


def folders() -> tuple[Path, ...]:
    """Give the places where resources may lie, in the order in which they are looked for."""
    bundle = getattr(sys, "_MEIPASS", None)
    inside = (Path(bundle) / "resources",) if bundle else ()
    return (*inside, _PACKAGE / "resources", _PACKAGE.parent / "resources")


def find(name: str) -> Path | None:
    """Give the path of a resource, or None: no missing picture keeps the program from starting."""
    return next((folder / name for folder in folders() if (folder / name).is_file()), None)
