"""Every action of the menus, found by typing a part of its name: for the keyboard alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
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
    from collections.abc import Iterator

    from PySide6.QtGui import QAction, QKeyEvent
    from PySide6.QtWidgets import QMenuBar

_WIDTH, _HEIGHT = 520, 360
_MOVES = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -10, Qt.Key.Key_PageDown: 10}
_PLACE = Qt.ItemDataRole.UserRole


class Palette(QDialog):
    """A line to type into and the actions that fit; Enter does the marked one, Esc closes."""

    def __init__(self, bar: QMenuBar, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Dialog | Qt.WindowType.FramelessWindowHint)
        self.setObjectName("palette")
        self.setWindowTitle("Find an action")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._actions = list(_all(bar, ""))
        self.line = QLineEdit(self)
        self.line.setPlaceholderText(
            "Type a part of an action's name; ↑ ↓ choose, Enter does it, Esc closes"
        )
        describe(self.line, "Find an action", "Type a part of an action's name.")
        self.list = QListWidget(self)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the line keeps the keyboard
        self.list.setSelectionMode(QListWidget.SelectionMode.SingleSelection)
        describe(self.list, "Actions that fit", "The actions that fit what was typed.")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.addWidget(self.line)
        layout.addWidget(self.list)
        self.resize(_WIDTH, _HEIGHT)
        self.line.installEventFilter(self)
        self.line.textChanged.connect(self._on_text_changed)
        self.line.returnPressed.connect(self._on_return)
        self.list.itemClicked.connect(self._on_clicked)
        self._on_text_changed("")

    def open_above(self, window: QWidget) -> None:
        """Show it in the upper middle of a window."""
        corner = window.mapToGlobal(
            QPoint((window.width() - self.width()) // 2, window.height() // 8)
        )
        self.move(corner)
        self.open()
        self.line.setFocus()

    def _on_text_changed(self, text: str) -> None:
        words = text.lower().split()
        self.list.clear()
        for place, (path, action) in enumerate(self._actions):
            if not shiboken6.isValid(action):  # a list that has changed meanwhile
                continue
            if all(word in f"{path} {action.toolTip()}".lower() for word in words):
                key = action.shortcut().toString()
                item = QListWidgetItem(f"{path}    {key}" if key else path)
                item.setToolTip(action.toolTip())
                item.setData(_PLACE, place)
                if not action.isEnabled():
                    item.setFlags(Qt.ItemFlag.NoItemFlags)
                self.list.addItem(item)
        self._mark(0, 1)

    def _mark(self, row: int, step: int) -> None:
        """Mark the row, or the next one in that direction that can be done."""
        row = min(max(row, 0), self.list.count() - 1)
        while 0 <= row < self.list.count():
            if self.list.item(row).flags() & Qt.ItemFlag.ItemIsEnabled:
                self.list.setCurrentRow(row)
                return
            row += 1 if step > 0 else -1

    def _on_clicked(self, item: QListWidgetItem) -> None:
        if item.flags() & Qt.ItemFlag.ItemIsEnabled:  # Qt tells clicks on the others, too
            self.list.setCurrentItem(item)
            self._on_return()

    def _on_return(self) -> None:
        item = self.list.currentItem()
        if item is None:
            return
        action = self._actions[item.data(_PLACE)][1]
        self.close()  # first: the action may open a dialog of its own
        if shiboken6.isValid(action):
            action.trigger()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the arrows move in the list while the line has the keyboard."""
        if event.type() == QEvent.Type.KeyPress:
            pressed: QKeyEvent = event  # type: ignore[assignment]
            step = _MOVES.get(Qt.Key(pressed.key()))
            if step is not None:
                self._mark(self.list.currentRow() + step, step)
                return True
        return super().eventFilter(watched, event)


def _all(menu: QMenu | QMenuBar, path: str) -> Iterator[tuple[str, QAction]]:
    """Give every action of a menu and of those in it, with the titles that lead to it.

    QAction.menu() is not asked: PySide then takes the menu for its own and deletes it.
    """
    inside = menu.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly)
    for action in menu.actions():
        inner = next((each for each in inside if each.menuAction() is action), None)
        if inner is not None:
            yield from _all(inner, f"{path}{_plain(inner.title())} › ")
        elif not action.isSeparator():
            yield f"{path}{_plain(action.text())}", action


def _plain(text: str) -> str:
    return text.replace("&", "")
