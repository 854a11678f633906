"""What comes back at the next start: window, recent files, last settings, presets, theme.

It is a JSON file in the user's configuration folder. Reading is tolerant: whatever is missing,
broken or from another version is left at its default, each value on its own. Several windows may
be open: each writes only what it has changed itself.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.storage import files
from isca_gui.core.storage.json_types import has_type
from isca_gui.core.storage.lock import one_at_a_time
from isca_gui.core.storage.user_folders import user_folder

MOST_RECENT = 10
_LARGEST = 4 * 2**20  # bytes of the file that are read
_PATIENCE = 2.0  # seconds to wait for another window that is writing
Settings = TypeVar("Settings", DatasetSpec, TrainingSettings)


class Preferences:
    """The preferences file, read at once and written when asked."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path) if path is not None else user_folder("config") / "preferences.json"
        # The problem is why the file could not be used, for a message.
        stored, self.problem = _read(self.path)
        self.geometry = _text(stored.get("geometry"))
        self.layout = _text(stored.get("layout"))
        self.theme = _text(stored.get("theme")) or "system"
        self.recent = _paths(stored.get("recent"))
        self.recent_projects = _paths(stored.get("recent projects"))
        self.spec = _settings(DatasetSpec, stored.get("spec")) or DatasetSpec()
        self.settings = _settings(TrainingSettings, stored.get("settings")) or TrainingSettings()
        self.presets = _presets(stored.get("presets"))
        # The document as it was when last read or written here, to know what was changed since.
        self._before = self._document()

    def add_recent(self, path: str) -> None:
        """Put a file in front of the recent ones."""
        self.recent = _in_front(path, self.recent)

    def add_recent_project(self, path: str) -> None:
        """Put a project in front of the recent ones."""
        self.recent_projects = _in_front(path, self.recent_projects)

    def save(self) -> None:
        """Write the file, whole or not at all; raises OSError where it cannot be written."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(self.path.with_name(f".{self.path.name}.lock"), _PATIENCE):
            # Not before the lock is taken: while this waited, another thread may have saved later
            # values, which an older document would undo.
            ours = self._document()
            there, problem = _read(self.path)
            if problem:
                with contextlib.suppress(OSError):
                    os.replace(self.path, _put_aside(self.path))
            files.write_text(self.path, json.dumps(_merged(self._before, ours, there), indent=1))
            self._before = ours

    def _document(self) -> dict[str, Any]:
        # Presets are copied first: this may run in another thread while the window adds one.
        presets = dict(self.presets)
        return {
            "schema": 1,
            "geometry": self.geometry,
            "layout": self.layout,
            "theme": self.theme,
            "recent": self.recent,
            "recent projects": self.recent_projects,
            "spec": asdict(self.spec),
            "settings": asdict(self.settings),
            "presets": {name: asdict(value) for name, value in presets.items()},
        }


def _read(path: Path) -> tuple[dict[str, Any], str]:
    """Return what the file holds, and why it cannot be used."""
    try:
        with open(path, "rb") as stream:
            stored = json.loads(stream.read(_LARGEST).decode("utf-8"))
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError, RecursionError) as error:
        problem = (
            f"The preferences in '{path}' could not be read ({error}), so the defaults are used. "
            f"The old file will be kept as '{_put_aside(path).name}'."
        )
        return {}, problem
    return (stored if isinstance(stored, dict) else {}), ""


def _put_aside(path: Path) -> Path:
    """Return the name for a file that cannot be read: its owner may want to repair it."""
    return path.with_suffix(f".broken{path.suffix}")


def _merged(before: dict[str, Any], ours: dict[str, Any], there: dict[str, Any]) -> dict[str, Any]:
    """Return what the file holds by now with our changes; other windows may have written it."""
    merged = there | {name: value for name, value in ours.items() if name not in there}
    for name, value in ours.items():
        found = there.get(name)
        if value == before[name]:
            continue
        if name == "presets" and isinstance(found, dict):
            merged[name] = _merged_presets(before[name], value, found)
        elif isinstance(value, list) and isinstance(found, list):
            theirs = [each for each in found if each not in value]
            merged[name] = [*value, *theirs][:MOST_RECENT]
        else:
            merged[name] = value
    return merged


def _merged_presets(
    before: dict[str, Any], ours: dict[str, Any], there: dict[str, Any]
) -> dict[str, Any]:
    changed = {name: each for name, each in ours.items() if each != before.get(name)}
    removed = before.keys() - ours.keys()
    return {name: each for name, each in there.items() if name not in removed} | changed


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _paths(value: Any) -> list[str]:
    found = value if isinstance(value, list) else []
    return [path for path in found if isinstance(path, str)][:MOST_RECENT]


def _in_front(path: str, others: list[str]) -> list[str]:
    return [path, *(other for other in others if other != path)][:MOST_RECENT]


def _presets(value: Any) -> dict[str, TrainingSettings]:
    presets = {}
    for name, stored in value.items() if isinstance(value, dict) else ():
        settings = _settings(TrainingSettings, stored)
        if settings is not None:
            presets[name] = settings
    return presets


def _settings(kind: type[Settings], value: Any) -> Settings | None:
    """Return the settings that a file holds; None if they are not valid as a whole."""
    if not isinstance(value, dict):
        return None
    known = {each.name for each in fields(kind)}
    values: dict[str, Any] = {
        name: tuple(item) if isinstance(item, list) else item
        for name, item in value.items()
        if name in known
    }
    try:
        made = kind(**values)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
    return made if _has_types(made) else None


def _has_types(made: Any) -> bool:
    """Whether all values have their types: True or 4.0 would otherwise pass for a number."""
    return all(has_type(each, getattr(made, each.name)) for each in fields(made))
