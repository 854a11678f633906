"""What comes back at the next start: window, recent files, last settings, presets, theme.

A JSON file in the user's configuration folder. Reading is tolerant: whatever is missing, broken or from
another version is left at its default, each value on its own.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from isca_gui.core import files
from isca_gui.core.fields import has_type
from isca_gui.core.settings import DatasetSpec, TrainingSettings
from isca_gui.core.user_folders import user_folder

if TYPE_CHECKING:
    import os

MOST_RECENT = 10
_LARGEST = 4 * 2**20
Settings = TypeVar("Settings", DatasetSpec, TrainingSettings)


class Preferences:
    """The preferences file, read at once and written when asked."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path) if path is not None else user_folder("config") / "preferences.json"
        self.problem = ""  # why the file could not be used, for a message
        stored = self._read()
        self.geometry = _text(stored.get("geometry"))
        self.layout = _text(stored.get("layout"))
        self.theme = _text(stored.get("theme")) or "system"
        self.recent = _paths(stored.get("recent"))
        self.recent_projects = _paths(stored.get("recent projects"))
        self.spec = _settings(DatasetSpec, stored.get("spec")) or DatasetSpec()
        self.settings = _settings(TrainingSettings, stored.get("settings")) or TrainingSettings()
        presets = stored.get("presets")
        found = {
            name: _settings(TrainingSettings, value)
            for name, value in (presets.items() if isinstance(presets, dict) else ())
        }
        self.presets = {name: value for name, value in found.items() if value is not None}

    def add_recent(self, path: str) -> None:
        """Put a file in front of the recent ones."""
        self.recent = _in_front(path, self.recent)

    def add_recent_project(self, path: str) -> None:
        """Put a project in front of the recent ones."""
        self.recent_projects = _in_front(path, self.recent_projects)

    def text(self) -> str:
        """Give what the file is to hold."""
        document = {
            "schema": 1,
            "geometry": self.geometry,
            "layout": self.layout,
            "theme": self.theme,
            "recent": self.recent,
            "recent projects": self.recent_projects,
            "spec": asdict(self.spec),
            "settings": asdict(self.settings),
            "presets": {name: asdict(value) for name, value in self.presets.items()},
        }
        return json.dumps(document, indent=1)

    def save(self) -> None:
        """Write the file, whole or not at all; raises OSError where it cannot be written."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        files.write_text(self.path, self.text())

    def _read(self) -> dict[str, Any]:
        try:
            with open(self.path, "rb") as stream:
                stored = json.loads(stream.read(_LARGEST).decode("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            self.problem = (
                f"The preferences in '{self.path}' could not be read ({error}); all are as at first."
            )
            return {}
        return stored if isinstance(stored, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _paths(value: Any) -> list[str]:
    found = value if isinstance(value, list) else []
    return [path for path in found if isinstance(path, str)][:MOST_RECENT]


def _in_front(path: str, others: list[str]) -> list[str]:
    return [path, *(other for other in others if other != path)][:MOST_RECENT]


def _settings(kind: type[Settings], value: Any) -> Settings | None:
    """Make settings of what a file holds; None if they are not valid as a whole."""
    if not isinstance(value, dict):
        return None
    known = {each.name for each in fields(kind)}
    values: dict[str, Any] = {
        name: tuple(item) if isinstance(item, list) else item for name, item in value.items() if name in known
    }
    try:
        made = kind(**values)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
    return made if _has_types(made) else None


def _has_types(made: Any) -> bool:
    """Tell whether all values have the types they should have: True or 4.0 would pass for a number."""
    return all(has_type(each, getattr(made, each.name)) for each in fields(made))
