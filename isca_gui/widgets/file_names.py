"""Which file to write: its ending, and whether one that is there already is replaced."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog, QMessageBox

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

SUFFIX = ".iscaproj"  # core.project.SUFFIX, without importing it
PACKED = f"{SUFFIX}.zip"  # core.project_pack.PACKED
PROJECTS = (SUFFIX, PACKED)


def ask_name(parent: QWidget, title: str, proposed: str, suffix: str, wanted: str) -> str:
    """Ask for a file to write and give its whole path; empty if none is to be written."""
    chosen, _ = QFileDialog.getSaveFileName(parent, title, proposed, wanted)
    if not chosen:
        return ""
    path = with_ending(chosen, suffix)
    return os.path.abspath(path) if may_write(parent, title, path, chosen) else ""


def with_ending(chosen: str, suffix: str) -> str:
    """Give a name with its ending; any other point, as in "camera v1.5", is part of the name."""
    stem = chosen[: -len(suffix)] if chosen.lower().endswith(suffix) else chosen
    return f"{stem}{suffix}"


def may_write(parent: QWidget, title: str, path: str, chosen: str) -> bool:
    """Ask about a file that is there, unless it is the one that the dialog has asked about."""
    if path == chosen or not os.path.exists(path):
        return True
    words = f"'{os.path.basename(path)}' is there already. Replace it?"
    return QMessageBox.question(parent, title, words) == QMessageBox.StandardButton.Yes
