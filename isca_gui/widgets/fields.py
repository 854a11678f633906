"""Input fields for a seed, a mean squared error and a kind of distortion."""

from __future__ import annotations

from PySide6.QtCore import QLocale, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLineEdit

from isca_gui.core.distortion.distortions import TABLE
from isca_gui.core.settings import SettingsError
from isca_gui.widgets import theme
from isca_gui.widgets.step_frame import describe

SEED_RANGE = f"A whole number from 0 to {2**63 - 1}."
_MSE_RANGE = "Mean squared error on the 0 to 255 scale, 0.1 to 65025."

_DECIMAL_POINT = QLocale.c()
_DECIMAL_POINT.setNumberOptions(
    QLocale.NumberOption.OmitGroupSeparator | QLocale.NumberOption.RejectGroupSeparator
)


def parse_seed(text: str) -> int:
    """Return the seed that a text stands for; raises SettingsError if it is no whole number."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise SettingsError(f"the seed '{digits}' is not a whole number", field="seed")
    return int(digits)


class SeedBox(QLineEdit):
    """A whole number from 0 to 2⁶³ − 1, typed as text because spin boxes hold 32 bits only."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__()
        self.setMaximumWidth(60)
        describe(self, name, f"{sentence} {SEED_RANGE}")

    def value(self) -> int:
        """Return the number; raises SettingsError if there is none."""
        return parse_seed(self.text())

    def show_value(self, value: int) -> None:
        """Show a number, scrolled to its first digit."""
        self.setText(str(value))
        self.setCursorPosition(0)


class MseBox(QDoubleSpinBox):
    """A mean squared error; point and comma are both decimal signs in every language."""

    def __init__(self, name: str, sentence: str, value: float) -> None:
        super().__init__()
        self.setLocale(_DECIMAL_POINT)
        self.setRange(0.1, 65025)
        self.setDecimals(1)
        self.setSingleStep(5)
        self.setValue(value)
        self.setKeyboardTracking(False)
        self.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
        self.setMaximumWidth(62)
        describe(self, name, f"{sentence} {_MSE_RANGE}")

    def validate(self, text: str, place: int) -> object:
        """Read a comma as a point; Qt would take it for a thousands separator: 225 for 22,5."""
        return super().validate(text.replace(",", "."), place)


class KindBox(QComboBox):
    """Chooses one kind of distortion, shown by colour, letter and name."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__()
        for line in TABLE:
            self.addItem(class_icon(line.name), f"{line.letter}  {line.title}", line.name)
            self.setItemData(self.count() - 1, line.sentence, Qt.ItemDataRole.ToolTipRole)
        self.setMinimumContentsLength(8)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        describe(self, name, sentence)

    @property
    def kind(self) -> str:
        """The name of the kind chosen."""
        return str(self.currentData())


def class_icon(label: str, size: int = 12) -> QIcon:
    """Return a small icon in the colour and pattern of a class."""
    style = theme.class_style(label)
    pixmap = QPixmap(QSize(size, size))
    pixmap.fill(QColor(style.colour))
    with QPainter(pixmap) as painter:
        if style.pattern != Qt.BrushStyle.SolidPattern:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(Qt.BrushStyle(style.pattern))
            painter.drawRect(0, 0, size, size)
        painter.setPen(QColor("#555555"))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(0, 0, size - 1, size - 1)
    return QIcon(pixmap)
