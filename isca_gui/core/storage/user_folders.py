"""The folders of a user for caches, settings and unsaved work."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# For each use and system: the variable that names the folder, and the default in the home.
_PLACES = {
    "cache": {
        "win32": ("LOCALAPPDATA", "AppData/Local"),
        "darwin": ("", "Library/Caches"),
        "": ("XDG_CACHE_HOME", ".cache"),
    },
    "config": {
        "win32": ("APPDATA", "AppData/Roaming"),
        "darwin": ("", "Library/Application Support"),
        "": ("XDG_CONFIG_HOME", ".config"),
    },
    "state": {
        "win32": ("LOCALAPPDATA", "AppData/Local"),
        "darwin": ("", "Library/Application Support"),
        "": ("XDG_STATE_HOME", ".local/state"),
    },
}


def user_folder(use: str) -> Path:
    """Return the folder of this program for `cache`, `config` or `state`."""
    places = _PLACES[use]
    variable, default = places.get(sys.platform, places[""])
    return Path(os.environ.get(variable) or _home() / default) / "isca-studio"


def _home() -> Path:
    """Return the home of the user; for a user without one, a folder that cannot be written to."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(os.sep)
