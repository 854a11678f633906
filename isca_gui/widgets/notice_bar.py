"""A bar above everything that says one thing and offers what to do; it never stands in the way."""

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
    """Shown while there is something to say."""

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
        """Show a sentence and buttons (text, sentence, work); each of them ends the notice."""
        self._clear()
        self.label.setText(text)
        for index, (name, sentence, work) in enumerate(offers):
            made = button(name, sentence, partial(self._choose, work))
            set_property(made, "primary", index == 0)
            self._row.addWidget(made)
            self.buttons.append(made)
        self._wanted = True
        self.refresh()

    def end(self) -> None:
        """Show nothing."""
        self._clear()
        self._wanted = False
        self.refresh()

    def refresh(self) -> None:
        """Be shown or not as it should be."""
        self.setVisible(self._wanted)

    def _choose(self, work: Callable[[], object]) -> None:
        self.end()
        work()

    def _clear(self) -> None:
        for each in self.buttons:
            self._row.removeWidget(each)
            each.deleteLater()
        self.buttons = []
