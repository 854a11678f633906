"""Colours: the classes' own, one each everywhere, and the light and dark palettes of the window."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from isca_gui.core.distortions import DISTORTIONS, ORIGINAL
from isca_gui.core.distortions import UNDECIDED_LABEL as UNDECIDED
from isca_gui.core.votes_picture import look

SYSTEM, LIGHT, DARK = "system", "light", "dark"
CHOICES = {SYSTEM: "As the system", LIGHT: "Light", DARK: "Dark"}
PICTURE_GREY = "#808080"  # behind pictures, in both themes
RUN_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5FB5", "#8C6D31")


@dataclass(frozen=True)
class ClassStyle:
    """How one class looks: a colour, doubled by a letter and a pattern."""

    colour: str
    letter: str
    title: str
    pattern: Qt.BrushStyle

    @property
    def brush(self) -> QBrush:
        """The pattern in the class's colour."""
        return QBrush(QColor(self.colour), self.pattern)


_BRUSHES = {
    "plain": Qt.BrushStyle.SolidPattern,
    "horizontal": Qt.BrushStyle.HorPattern,
    "dots": Qt.BrushStyle.Dense5Pattern,
    "vertical": Qt.BrushStyle.VerPattern,
    "rising": Qt.BrushStyle.BDiagPattern,
    "crosses": Qt.BrushStyle.DiagCrossPattern,
    "grid": Qt.BrushStyle.CrossPattern,
    "hatch": Qt.BrushStyle.FDiagPattern,
}


def class_style(label: str) -> ClassStyle:
    """Give the style of a label: that of the maps, with the pattern of a mixture's first part."""
    found = look(label)
    colour, letters = QColor(*found.colour).name().upper(), "+".join(found.letter)
    return ClassStyle(colour, letters, found.title, _BRUSHES[found.patterns[0]])


CLASS_STYLES = {label: class_style(label) for label in (ORIGINAL, *DISTORTIONS, UNDECIDED)}


@dataclass(frozen=True)
class Shades:
    """The colours of one theme."""

    window: str
    base: str
    raised: str
    button: str
    border: str
    text: str
    faint: str
    accent: str
    on_accent: str
    good: str
    warning: str
    error: str


SHADES = {
    LIGHT: Shades(
        "#EEF0F3", "#FFFFFF", "#F8F9FA", "#FFFFFF", "#C6CBD3", "#1B1F24", "#5B6470",
        "#0B62C4", "#FFFFFF", "#12703C", "#8A5300", "#B3261E",
    ),
    DARK: Shades(
        "#1E2126", "#15171B", "#282C33", "#343942", "#4A515C", "#E6E8EB", "#A3ABB7",
        "#5AA2F5", "#0B1520", "#6FCF97", "#F2B34C", "#FF8A80",
    ),
}  # fmt: skip


def scheme(choice: str = SYSTEM) -> str:
    """Give "light" or "dark" for a choice; "system" asks the system."""
    if choice in (LIGHT, DARK):
        return choice
    dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
    return DARK if dark else LIGHT


def shades() -> Shades:
    """Give the colours of the theme that is shown now."""
    light = QGuiApplication.palette().color(QPalette.ColorRole.Window).lightness() > 127
    return SHADES[LIGHT if light else DARK]


def palette(name: str) -> QPalette:
    """Make the palette of the light or dark theme."""
    s, role = SHADES[name], QPalette.ColorRole
    made = QPalette()
    for place, colour in (
        *((role.Window, s.window), (role.Base, s.base), (role.AlternateBase, s.raised)),
        *((role.Button, s.button), (role.Mid, s.border), (role.Dark, s.border)),
        *((role.Text, s.text), (role.WindowText, s.text), (role.ButtonText, s.text)),
        *((role.PlaceholderText, s.faint), (role.Link, s.accent), (role.Accent, s.accent)),
        *((role.Highlight, s.accent), (role.HighlightedText, s.on_accent), (role.BrightText, s.error)),
        *((role.ToolTipBase, s.raised), (role.ToolTipText, s.text), (role.Light, s.raised)),
        *((role.Midlight, s.raised), (role.Shadow, s.border)),
    ):
        made.setColor(place, QColor(colour))
    for place in (role.Text, role.WindowText, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, place, QColor(s.faint))
    return made


def apply(choice: str) -> None:
    """Give the program the chosen theme."""
    app = QGuiApplication.instance()
    if isinstance(app, QApplication):
        name = scheme(choice)
        app.setPalette(palette(name))
        app.setStyleSheet(stylesheet(SHADES[name]))


def stylesheet(s: Shades) -> str:
    """Give what a palette cannot say: the one primary button, headings, states, fields that are wrong."""
    return f"""
    QToolTip {{ color: {s.text}; background: {s.raised}; border: 1px solid {s.border}; padding: 3px; }}
    QPushButton, QToolButton {{ padding: 3px 9px; border: 1px solid {s.border}; border-radius: 4px;
        background: {s.button}; color: {s.text}; }}
    QToolButton {{ padding: 2px 5px; }}
    QPushButton:hover, QToolButton:hover {{ border-color: {s.accent}; }}
    QPushButton:focus, QToolButton:focus {{ border: 1px solid {s.accent}; }}
    QPushButton:pressed, QToolButton:pressed, QToolButton:checked, QPushButton:checked
        {{ background: {s.border}; }}
    QPushButton:disabled, QToolButton:disabled {{ color: {s.faint}; background: {s.window}; }}
    QPushButton[primary="true"] {{ background: {s.accent}; color: {s.on_accent}; border-color: {s.accent};
        font-weight: 600; }}
    QPushButton[primary="true"]:focus {{ border: 1px solid {s.text}; }}
    QPushButton[primary="true"]:disabled {{ background: {s.border}; color: {s.text}; }}
    QToolButton[heading="true"] {{ border: none; background: transparent; font-weight: 700; padding: 2px 0; }}
    QToolButton[heading="true"]:focus {{ border-bottom: 1px solid {s.accent}; border-radius: 0; }}
    QToolButton[disclosure="true"] {{ border: none; background: transparent; color: {s.faint};
        padding: 1px 0; }}
    QToolButton[disclosure="true"]:checked, QToolButton[heading="true"]:checked {{ background: transparent; }}
    QToolButton::menu-indicator {{ width: 9px; subcontrol-position: right center; right: 2px; }}
    QToolButton[popupMode="2"] {{ padding-right: 15px; }}
    QFrame[step="true"] {{ background: {s.raised}; border: 1px solid {s.border}; border-radius: 6px; }}
    QFrame[step="true"][next="true"] {{ border-color: {s.accent}; }}
    QLabel[faint="true"] {{ color: {s.faint}; }}
    QLabel[state="done"] {{ color: {s.good}; }}
    QLabel[state="running"] {{ color: {s.accent}; }}
    QLabel[state="stale"], QLabel[level="warning"] {{ color: {s.warning}; }}
    QLabel[state="failed"], QLabel[level="error"] {{ color: {s.error}; }}
    QLabel[state="empty"] {{ color: {s.faint}; }}
    QLineEdit[wrong="true"], QSpinBox[wrong="true"], QDoubleSpinBox[wrong="true"], QComboBox[wrong="true"]
        {{ border: 1px solid {s.error}; }}
    QTabBar {{ qproperty-elideMode: ElideNone; }}
    QScrollArea#steps, QScrollArea#steps > QWidget > QWidget {{ border: none; background: {s.window}; }}
    """
