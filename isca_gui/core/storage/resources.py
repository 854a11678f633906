"""Finds the files of `resources/` in a source tree, in an installed package and in a bundle."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]


def folders() -> tuple[Path, ...]:
    """Return the folders that may hold resources, in the order in which they are searched."""
    in_package = _PACKAGE / "resources"
    in_source_tree = _PACKAGE.parent / "resources"
    # PyInstaller unpacks a bundle into this folder.
    bundle = getattr(sys, "_MEIPASS", None)
    if bundle:
        return Path(bundle) / "resources", in_package, in_source_tree
    return in_package, in_source_tree


def find(name: str) -> Path | None:
    """Return the path of a resource, or None: the program starts without a missing picture."""
    for folder in folders():
        if (folder / name).is_file():
            return folder / name
    return None
