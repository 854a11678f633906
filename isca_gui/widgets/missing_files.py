"""One dialog for all files of a project that are not where they should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHeaderView,
    QLabel,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from isca_gui.widgets.step_frame import button, describe, row, set_property

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isca_gui.core.projects.project import Missing

_WIDTH, _HEIGHT = 640, 340
_LOOK = "Choose the folder that holds the files now, or one above it."
_WITHOUT = (
    "Open what is there and give up the rest; the project's file stays as it is until you save it."
)
_CANCEL = "Leave everything as it is."


class MissingFiles(QDialog):
    """Lists the files; the user points to a folder, goes on without them, or leaves it."""

    def __init__(
        self, name: str, missing: Sequence[Missing], parent: QWidget | None,
        look_in: Callable[[str], object], go_on: Callable[[], object],
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._look_in, self._go_on = look_in, go_on
        self.setObjectName("missing-files")
        self.setWindowTitle("Files of the project are missing")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        count = "A file" if len(missing) == 1 else f"{len(missing)} files"
        words = QLabel(
            f"{count} of {name} cannot be used. Was its folder moved? Say where it is now, or open the "
            "project without them."
        )
        words.setWordWrap(True)
        self.list = _table(missing)
        self.look_button = button("&Look in a folder…", _LOOK, self._on_look)
        self.without_button = button("Open &without them", _WITHOUT, self._on_without)
        self.cancel_button = button("Cancel", _CANCEL, self.reject)
        self.look_button.setDefault(True)
        set_property(self.look_button, "primary", True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.setSpacing(9)
        layout.addWidget(words)
        layout.addWidget(self.list, 1)
        layout.addLayout(row(1, self.look_button, self.without_button, self.cancel_button))
        self.resize(_WIDTH, _HEIGHT)

    def _on_look(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Folder of the project's files")
        if folder:
            self.accept()
            self._look_in(folder)

    def _on_without(self) -> None:
        self.accept()
        self._go_on()


def _table(missing: Sequence[Missing]) -> QTreeWidget:
    made = QTreeWidget()
    made.setHeaderLabels(["What", "Problem", "Where it should be"])
    made.setRootIsDecorated(False)
    made.setUniformRowHeights(True)
    made.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    for each in missing:
        item = QTreeWidgetItem([each.what, each.problem, each.file])
        item.setToolTip(2, each.file)
        made.addTopLevelItem(item)
    for column in (0, 1):
        made.header().setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
    describe(
        made, "Missing files", "What is missing, why it cannot be used, and where it should be."
    )
    return made
