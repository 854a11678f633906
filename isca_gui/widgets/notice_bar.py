"""A bar at the top of the window with one message and buttons that answer it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QToolBar, QWidget

from isca_gui.widgets.quiet_widgets import SteadyLabel
from isca_gui.widgets.step_frame import button, set_property

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Notice(QToolBar):
    """Shows one message at a time; hidden while there is none."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__("Notice", parent)
        self.setObjectName("notice")
        self.setProperty("help", "projects#after-a-crash")
        self.setMovable(False)
        self.setFloatable(False)
        self.toggleViewAction().setVisible(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.label = SteadyLabel(letters=40)
        inside = QWidget()
        self._row = QHBoxLayout(inside)
        self._row.setContentsMargins(9, 3, 5, 3)
        self._row.addWidget(self.label, 1)
        self.addWidget(inside)
        self.buttons: list[QPushButton] = []
        self._wanted = False
        self.refresh()

    def say(self, text: str, offers: Sequence[tuple[str, str, Callable[[], object]]]) -> None:
        """Show a message with buttons (text, tooltip, action); each of them hides the bar."""
        self._clear()
        self.label.setText(text)
        for index, (name, sentence, action) in enumerate(offers):
            made = button(name, sentence, partial(self._choose, action))
            set_property(made, "primary", index == 0)
            self._row.addWidget(made)
            self.buttons.append(made)
        self._wanted = True
        self.refresh()

    def end(self) -> None:
        """Hide the message."""
        self._clear()
        self._wanted = False
        self.refresh()

    def refresh(self) -> None:
        """Show or hide the bar; a restored layout may have changed that."""
        self.setVisible(self._wanted)

    def _choose(self, action: Callable[[], object]) -> None:
        self.end()
        action()

    def _clear(self) -> None:
        for each in self.buttons:
            self._row.removeWidget(each)
            each.deleteLater()
        self.buttons = []
