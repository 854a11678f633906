"""Questions about files: their names, whether to save or replace them, where missing ones are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHeaderView,
    QLabel,
    QMessageBox,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from isca_gui.widgets.step_frame import button, describe, row, set_property

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isca_gui.core.projects.project import Missing

# The suffixes of core.projects are repeated here; importing that room would delay the start.
SUFFIX = ".iscaproj"
PACKED = f"{SUFFIX}.zip"
PROJECTS = (SUFFIX, PACKED)

_BUTTON = QMessageBox.StandardButton
SAVE = _BUTTON.Save.value
DISCARD = _BUTTON.Discard.value
REPLACE = _BUTTON.Yes.value
_SAVE_BUTTONS = {
    _BUTTON.Save: "&Save",
    _BUTTON.Discard: "&Discard",
    _BUTTON.Cancel: "&Cancel",
}
_REPLACE_BUTTONS = {
    _BUTTON.Save: "Save &as…",
    _BUTTON.Yes: "&Replace",
    _BUTTON.Cancel: "&Cancel",
}
_REPLACE_WARNING = (
    "The file has changed on disk since you opened it. Replacing it would lose those changes. "
    "Saving under another name keeps both."
)
_LONGEST_NAME = 28

_LOOK = "Choose the folder that holds the files now, or one above it."
_WITHOUT = "Open the rest of the project. The project file does not change until you save it."
_CANCEL = "Do not open the project."


# --- which file to write --------------------------------------------------------------------------


def ask_name(parent: QWidget, title: str, proposed: str, suffix: str, wanted: str) -> str:
    """Ask for a file to write and return its full path, or an empty text if there is to be none."""
    chosen, _ = QFileDialog.getSaveFileName(parent, title, proposed, wanted)
    if not chosen:
        return ""
    path = with_ending(chosen, suffix)
    if not may_write(parent, title, path, chosen):
        return ""
    return os.path.abspath(path)


def with_ending(chosen: str, suffix: str) -> str:
    """Return a name with its suffix; any other point, as in "camera v1.5", is part of the name."""
    if chosen.lower().endswith(suffix):
        chosen = chosen[: -len(suffix)]
    return f"{chosen}{suffix}"


def may_write(parent: QWidget, title: str, path: str, chosen: str) -> bool:
    """Whether a file may be written; asks if it exists and the file dialog has not asked."""
    if path == chosen or not os.path.exists(path):
        return True
    question = f"'{os.path.basename(path)}' already exists. Replace it?"
    return QMessageBox.question(parent, title, question) == _BUTTON.Yes


# --- before work is lost --------------------------------------------------------------------------


def ask_save(parent: QWidget, name: str, lost: str, answered: Callable[[int], object]) -> None:
    """Ask whether to save changes, without blocking.

    Parameters
    ----------
    parent : QWidget
        The window that the question belongs to.
    name : str
        Name of the project; empty if it has none yet.
    lost : str
        What would be lost, as a sentence.
    answered : callable
        Called with `SAVE`, `DISCARD`, or the value of Cancel.
    """
    question = f"Save changes to {_shortened(name) or 'this project'}?"
    _ask(parent, ("Save project?", question, lost), _SAVE_BUTTONS, answered)


def ask_replace(parent: QWidget, name: str, answered: Callable[[int], object]) -> None:
    """Ask whether to replace a file that has changed on disk; `SAVE` stands for another name."""
    texts = ("Replace project?", f"Replace {_shortened(name)}?", _REPLACE_WARNING)
    _ask(parent, texts, _REPLACE_BUTTONS, answered)


def _shortened(name: str) -> str:
    """Return a name without its middle if it is long, so that the box does not grow with it."""
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME // 2]}…{name[-_LONGEST_NAME // 2 + 1 :]}"


def _ask(
    parent: QWidget,
    texts: tuple[str, str, str],
    buttons: Mapping[QMessageBox.StandardButton, str],
    answered: Callable[[int], object],
) -> None:
    title, question, consequence = texts
    box = QMessageBox(parent)
    box.setWindowTitle(title)
    box.setIcon(QMessageBox.Icon.Question)
    # A name may contain what Qt would take for markup.
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(question)
    box.setInformativeText(consequence)
    for standard, text in buttons.items():
        box.addButton(standard).setText(text)
    box.setDefaultButton(_BUTTON.Save)
    box.setEscapeButton(_BUTTON.Cancel)
    box.setStyleSheet(
        "QLabel#qt_msgbox_label, QLabel#qt_msgbox_informativelabel { min-width: 330px; }"
    )
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.finished.connect(answered)
    # open() returns at once, so that jobs can still report while the question is on the screen.
    box.open()


# --- files that a project has lost ----------------------------------------------------------------


class MissingFiles(QDialog):
    """Lists missing files; the user names a folder, opens the project without them, or cancels."""

    def __init__(
        self,
        name: str,
        missing: Sequence[Missing],
        parent: QWidget | None,
        look_in: Callable[[str], object],
        open_without: Callable[[], object],
    ) -> None:
        super().__init__(parent)
        self._look_in = look_in
        self._open_without = open_without
        self.setObjectName("missing-files")
        self.setWindowTitle("Project files are missing")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        count = "1 file" if len(missing) == 1 else f"{len(missing)} files"
        label = QLabel(
            f"{count} of {name} cannot be read. If a folder was moved, choose where it is now; "
            "or open the project without the missing files."
        )
        label.setWordWrap(True)
        self.list = _missing_table(missing)
        self.look_button = button("&Look in a folder…", _LOOK, self._on_look_clicked)
        self.without_button = button("Open &without them", _WITHOUT, self._on_without_clicked)
        self.cancel_button = button("Cancel", _CANCEL, self.reject)
        self.look_button.setDefault(True)
        set_property(self.look_button, "primary", True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.setSpacing(9)
        layout.addWidget(label)
        layout.addWidget(self.list, 1)
        layout.addLayout(row(1, self.look_button, self.without_button, self.cancel_button))
        self.resize(640, 340)

    def _on_look_clicked(self) -> None:
        folder = QFileDialog.getExistingDirectory(
            self, "Choose the folder with the project's files"
        )
        if folder:
            self.accept()
            self._look_in(folder)

    def _on_without_clicked(self) -> None:
        self.accept()
        self._open_without()


def _missing_table(missing: Sequence[Missing]) -> QTreeWidget:
    table = QTreeWidget()
    table.setHeaderLabels(["What", "Problem", "Expected location"])
    table.setRootIsDecorated(False)
    table.setUniformRowHeights(True)
    table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    for each in missing:
        item = QTreeWidgetItem([each.what, each.problem, each.file])
        item.setToolTip(2, each.file)
        table.addTopLevelItem(item)
    for column in (0, 1):
        table.header().setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
    sentence = "What is missing, why it cannot be read, and where it was expected."
    describe(table, "Missing files", sentence)
    return table
