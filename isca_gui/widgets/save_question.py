"""The questions before work is lost: ours that is not saved, or another's that a save would replace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtWidgets import QWidget

_BUTTON = QMessageBox.StandardButton
_SAVES = {_BUTTON.Save: "&Save", _BUTTON.Discard: "&Discard", _BUTTON.Cancel: "&Cancel"}
_REPLACES = {
    _BUTTON.Save: "Save as &another…",
    _BUTTON.Yes: "&Replace it",
    _BUTTON.Cancel: "&Cancel",
}
_LONGEST = 28  # letters of a name in a question
SAVE, DISCARD, REPLACE = _BUTTON.Save.value, _BUTTON.Discard.value, _BUTTON.Yes.value


def ask_save(parent: QWidget, name: str, lost: str, answered: Callable[[int], object]) -> None:
    """Ask whether to save changes; `lost` says what there is to lose, `answered` is given the answer.

    Nothing waits for it.
    """
    question = f"Save the changes to {_short(name) or 'this work'}?"
    _ask(parent, "Save the project?", question, lost, _SAVES, answered)


def ask_replace(parent: QWidget, name: str, answered: Callable[[int], object]) -> None:
    """Ask whether to replace a file that has changed; `SAVE` is the answer to save as another one."""
    lost = (
        "The file was changed elsewhere since it was opened here. What is in it now would be lost. "
        "Saved as another file, both stay."
    )
    _ask(parent, "Replace the project?", f"Replace {_short(name)}?", lost, _REPLACES, answered)


def _short(name: str) -> str:
    """Leave out the middle of a long name: the box does not grow with it."""
    return (
        name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}…{name[-_LONGEST // 2 + 1 :]}"
    )


def _ask(
    parent: QWidget, title: str, question: str, lost: str, buttons: Mapping[QMessageBox.StandardButton, str],
    answered: Callable[[int], object],
) -> None:  # fmt: skip
    box = QMessageBox(parent)
    box.setWindowTitle(title)
    box.setIcon(QMessageBox.Icon.Question)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(question)
    box.setInformativeText(lost)
    for button, text in buttons.items():
        box.addButton(button).setText(text)
    box.setDefaultButton(_BUTTON.Save)
    box.setEscapeButton(_BUTTON.Cancel)
    box.setStyleSheet(
        "QLabel#qt_msgbox_label, QLabel#qt_msgbox_informativelabel { min-width: 330px; }"
    )
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.finished.connect(answered)
    box.open()
