"""Where a user's programs keep what they can make again, their settings, and work not saved yet."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# per use and system: the variable that names the folder, and where it is without one
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
    """Give this program's folder for `cache`, `config` or `state`."""
    places = _PLACES[use]
    variable, usual = places.get(sys.platform, places[""])
    return Path(os.environ.get(variable) or _home() / usual) / "isca-studio"


def _home() -> Path:
    """Give the user's home; for a user who has none, a place where nothing can be written."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(os.sep)
