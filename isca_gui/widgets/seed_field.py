"""A field for the seed of a random generator."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit

from isca_gui.core.settings import SettingsError
from isca_gui.widgets.step_frame import describe

SPAN = f"A whole number from 0 to {2**63 - 1}."


def seed_of(text: str) -> int:
    """Read a seed; raises SettingsError for what is no whole number (a spin box holds no large ones)."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise SettingsError(f"the seed '{digits}' is not a whole number", field="seed")
    return int(digits)


class SeedBox(QLineEdit):
    """A whole number from 0 to 2⁶³ − 1."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__()
        self.setMaximumWidth(60)
        describe(self, name, f"{sentence} {SPAN}")

    def value(self) -> int:
        """Give the number; raises SettingsError if it is none."""
        return seed_of(self.text())

    def show_value(self, value: int) -> None:
        """Show a number from its first digit on."""
        self.setText(str(value))
        self.setCursorPosition(0)
