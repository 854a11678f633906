"""A field for the seed of a random generator."""

from __future__ import annotations

from PySide6.QtWidgets import QSpinBox

from isca_gui.panels.step import describe


class SeedBox(QSpinBox):
    """A whole number from 0 to 2³¹ − 1."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__()
        self.setRange(0, 2**31 - 1)
        self.setKeyboardTracking(False)
        self.setButtonSymbols(QSpinBox.ButtonSymbols.NoButtons)
        self.setMaximumWidth(60)
        describe(self, name, f"{sentence} A whole number from 0 to 2147483647.")
