"""About the program: its version, its licence, what it is built on, and its folders."""

from __future__ import annotations

import html
import platform

import numpy as np
import PySide6
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

import isca_gui
from isca_gui.core.storage.user_folders import user_folder


def text() -> str:
    """Return all that a report of a fault should name, as rich text."""
    folders = "".join(
        f"<br>{what}: {html.escape(str(user_folder(use)))}"
        for what, use in (
            ("Preferences", "config"),
            ("Unsaved work", "state"),
            ("Compiled code", "cache"),
        )
    )
    return (
        f"<h3>ISCA Studio {isca_gui.__version__}</h3>"
        "<p>What was done to this picture, where, how strongly, and how sure are we?</p>"
        "<p>MIT licence. Nothing is sent anywhere.</p>"
        f"<p>Python {platform.python_version()}, PySide6 {PySide6.__version__}, "
        f"NumPy {np.__version__}, {html.escape(platform.platform())}</p>"
        f"<p>{folders.removeprefix('<br>')}</p>"
    )


def show_about(parent: QWidget) -> None:
    """Show it without blocking; the text can be selected and copied."""
    box = QMessageBox(parent)
    box.setObjectName("about")
    box.setWindowTitle("About ISCA Studio")
    box.setTextFormat(Qt.TextFormat.RichText)
    box.setText(text())
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()
