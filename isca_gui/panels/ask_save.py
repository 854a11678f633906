"""Questions about saving: whether changes are kept before they are lost, and which file to write."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

_BUTTONS = {
    QMessageBox.StandardButton.Save: "&Save",
    QMessageBox.StandardButton.Discard: "&Discard",
    QMessageBox.StandardButton.Cancel: "&Cancel",
}
SAVE, DISCARD = QMessageBox.StandardButton.Save.value, QMessageBox.StandardButton.Discard.value


def ask_save(parent: QWidget, name: str, lost: str, answered: Callable[[int], object]) -> None:
    """Ask whether to save changes; `lost` says what there is to lose, `answered` is given the answer.

    Nothing waits for it.
    """
    box = QMessageBox(parent)
    box.setWindowTitle("Save the project?")
    box.setIcon(QMessageBox.Icon.Question)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(f"Save the changes to {name or 'this work'}?")
    box.setInformativeText(lost)
    for button, text in _BUTTONS.items():
        box.addButton(button).setText(text)
    box.setDefaultButton(QMessageBox.StandardButton.Save)
    box.setEscapeButton(QMessageBox.StandardButton.Cancel)
    box.setStyleSheet("QLabel#qt_msgbox_label, QLabel#qt_msgbox_informativelabel { min-width: 330px; }")
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.finished.connect(answered)
    box.open()


def ask_name(parent: QWidget, title: str, proposed: str, suffix: str, wanted: str) -> str:
    """Ask for a file to write and give its whole path; empty if none is to be written."""
    chosen, _ = QFileDialog.getSaveFileName(parent, title, proposed, wanted)
    if not chosen:
        return ""
    stem = chosen[: -len(suffix)] if chosen.lower().endswith(suffix) else chosen
    path = f"{stem}{suffix}"
    if path != chosen and os.path.exists(path):  # the dialog has asked about another name
        words = f"'{os.path.basename(path)}' is there already. Replace it?"
        if QMessageBox.question(parent, title, words) != QMessageBox.StandardButton.Yes:
            return ""
    return os.path.abspath(path)
