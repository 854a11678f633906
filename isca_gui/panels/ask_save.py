"""The question whether changes are saved before they are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox

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
