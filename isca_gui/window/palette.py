"""A command palette: menu actions, samples and help pages, found by typing part of a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QVBoxLayout,
    QWidget,
)

from isca_gui.widgets.step_frame import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from PySide6.QtGui import QKeyEvent
    from PySide6.QtWidgets import QMenuBar

_SIZE = QSize(520, 360)
FIRST = "Compare a copy with its original"
# By how many rows a key moves the selection.
_MOVES = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -10, Qt.Key.Key_PageDown: 10}
# The role under which an item keeps the index of its action.
_INDEX = Qt.ItemDataRole.UserRole
_HINT = "Type part of an action's name. ↑ ↓ to select, Enter to run, Esc to close."


@dataclass(frozen=True)
class Line:
    """Something that is in no menu: its text, a sentence, and what it does."""

    text: str
    sentence: str
    run: Callable[[], object]


class Palette(QDialog):
    """A search line and the matching actions; Enter runs the selected one, Esc closes."""

    def __init__(self, bar: QMenuBar, parent: QWidget, others: Iterable[Line] = ()) -> None:
        super().__init__(parent, Qt.WindowType.Dialog | Qt.WindowType.FramelessWindowHint)
        self.setObjectName("palette")
        self.setWindowTitle("Find an action")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        # What people come for is the first to be found.
        self._actions = sorted(_all(bar, ""), key=lambda line: not line[0].endswith(FIRST))
        self._actions += [(line.text, self._action(line)) for line in others]
        self.line = QLineEdit(self)
        self.line.setPlaceholderText(_HINT)
        describe(self.line, "Find an action", "Type part of an action's name.")
        self.list = QListWidget(self)
        # The line keeps the focus, so that typing goes on after a click.
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setSelectionMode(QListWidget.SelectionMode.SingleSelection)
        describe(self.list, "Matching actions", "The actions that match what you typed.")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.addWidget(self.line)
        layout.addWidget(self.list)
        self.resize(_SIZE)
        self.line.installEventFilter(self)
        self.line.textChanged.connect(self._on_text_changed)
        self.line.returnPressed.connect(self._on_return)
        self.list.itemClicked.connect(self._on_clicked)
        self._on_text_changed("")

    def open_above(self, window: QWidget) -> None:
        """Show the palette in the upper middle of a window."""
        corner = QPoint((window.width() - self.width()) // 2, window.height() // 8)
        self.move(window.mapToGlobal(corner))
        self.open()
        self.line.setFocus()

    def _action(self, line: Line) -> QAction:
        # The palette is deleted when it closes, so its parent carries out the action.
        action = QAction(line.text, self.parent())
        action.setToolTip(line.sentence)
        action.triggered.connect(lambda: line.run())
        self.destroyed.connect(action.deleteLater)
        return action

    def _on_text_changed(self, text: str) -> None:
        words = text.lower().split()
        self.list.clear()
        for index, (path, action) in enumerate(self._actions):
            # A menu that was filled again meanwhile has deleted its old actions.
            if not shiboken6.isValid(action):
                continue
            if all(word in f"{path} {action.toolTip()}".lower() for word in words):
                key = action.shortcut().toString()
                item = QListWidgetItem(f"{path}    {key}" if key else path)
                item.setToolTip(action.toolTip())
                item.setData(_INDEX, index)
                if not action.isEnabled():
                    item.setFlags(Qt.ItemFlag.NoItemFlags)
                self.list.addItem(item)
        self._select(0, 1)

    def _select(self, row: int, step: int) -> None:
        """Select a row, or the next enabled one in the direction of `step`."""
        row = min(max(row, 0), self.list.count() - 1)
        while 0 <= row < self.list.count():
            if self.list.item(row).flags() & Qt.ItemFlag.ItemIsEnabled:
                self.list.setCurrentRow(row)
                return
            row += 1 if step > 0 else -1

    def _on_clicked(self, item: QListWidgetItem) -> None:
        # Qt reports clicks on disabled items as well.
        if item.flags() & Qt.ItemFlag.ItemIsEnabled:
            self.list.setCurrentItem(item)
            self._on_return()

    def _on_return(self) -> None:
        item = self.list.currentItem()
        if item is None:
            return
        action = self._actions[item.data(_INDEX)][1]
        # The palette closes first, because the action may open a dialog.
        self.close()
        if shiboken6.isValid(action):
            action.trigger()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move the selection by the arrow keys while the line has the focus."""
        if event.type() == QEvent.Type.KeyPress:
            pressed: QKeyEvent = event  # type: ignore[assignment]
            step = _MOVES.get(Qt.Key(pressed.key()))
            if step is not None:
                self._select(self.list.currentRow() + step, step)
                return True
        return super().eventFilter(watched, event)


def _all(menu: QMenu | QMenuBar, path: str) -> Iterator[tuple[str, QAction]]:
    """Yield every action of a menu and its submenus, with the titles that lead to it."""
    # QAction.menu() is not used: PySide would then take over the menu and delete it.
    inside = menu.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly)
    for action in menu.actions():
        inner = next((each for each in inside if each.menuAction() is action), None)
        if inner is not None:
            yield from _all(inner, f"{path}{_without_mnemonic(inner.title())} › ")
        elif not action.isSeparator():
            yield f"{path}{_without_mnemonic(action.text())}", action


def _without_mnemonic(text: str) -> str:
    return text.replace("&", "")
