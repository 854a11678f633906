"""Colours: one per class, used everywhere, and the light and dark palettes of the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QBrush, QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QToolButton, QWidget

from isca_gui.core.distortion.distortions import DISTORTIONS, ORIGINAL
from isca_gui.core.distortion.distortions import UNDECIDED_LABEL as UNDECIDED
from isca_gui.core.recognition.vote_overlays import style_of

if TYPE_CHECKING:
    from isca_gui.session.records import Truth

SYSTEM = "system"
LIGHT = "light"
DARK = "dark"
CHOICES = {SYSTEM: "Same as system", LIGHT: "Light", DARK: "Dark"}

# The background of pictures is the same in both themes, so that they can be compared.
PICTURE_GREY = "#808080"


@dataclass(frozen=True)
class ClassStyle:
    """The appearance of a class: a colour, doubled by a letter and a pattern."""

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
    """Return the style of a label; a mixture has the pattern of its first part."""
    found = style_of(label)
    colour = QColor(*found.colour).name().upper()
    letters = "+".join(found.letter)
    return ClassStyle(colour, letters, found.title, _BRUSHES[found.patterns[0]])


def truth_words(truth: Truth) -> str:
    """Return what was done to a picture that was made here, with the title of its class."""
    if truth.mse is None:
        return truth.text
    return f"{style_of(truth.label).title}, MSE {truth.mse:g}"


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
        window="#EEF0F3",
        base="#FFFFFF",
        raised="#F8F9FA",
        button="#FFFFFF",
        border="#C6CBD3",
        text="#1B1F24",
        faint="#5B6470",
        accent="#0B62C4",
        on_accent="#FFFFFF",
        good="#12703C",
        warning="#8A5300",
        error="#B3261E",
    ),
    DARK: Shades(
        window="#1E2126",
        base="#15171B",
        raised="#282C33",
        button="#343942",
        border="#4A515C",
        text="#E6E8EB",
        faint="#A3ABB7",
        accent="#5AA2F5",
        on_accent="#0B1520",
        good="#6FCF97",
        warning="#F2B34C",
        error="#FF8A80",
    ),
}


_RUN_COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#7A5FB5",
    "#8C6D31",
)
# Replacements for colours that are too dark for thin lines in the dark theme.
_LIGHTER = {
    "#0072B2": "#3D8BFF",
    "#7A5FB5": "#A98BE6",
    "#8C6D31": "#B8934A",
}


class _RunColours:
    """The colours of runs and curves in the current theme."""

    def __len__(self) -> int:
        return len(_RUN_COLOURS)

    def __getitem__(self, place: int) -> str:
        colour = _RUN_COLOURS[place]
        if shades() is SHADES[DARK]:
            return _LIGHTER.get(colour, colour)
        return colour


RUN_COLOURS = _RunColours()


def scheme(choice: str = SYSTEM) -> str:
    """Return "light" or "dark" for a choice; "system" asks the system."""
    if choice in (LIGHT, DARK):
        return choice
    dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
    return DARK if dark else LIGHT


def shades() -> Shades:
    """Return the colours of the current theme."""
    light = QGuiApplication.palette().color(QPalette.ColorRole.Window).lightness() > 127
    return SHADES[LIGHT if light else DARK]


_OWN_ROLES = (QPalette.ColorRole.Window, QPalette.ColorRole.Text, QPalette.ColorRole.Highlight)


def palette(name: str) -> QPalette:
    """Return the palette of the light or dark theme."""
    shade = SHADES[name]
    role = QPalette.ColorRole
    colours = {
        role.Window: shade.window,
        role.Base: shade.base,
        role.AlternateBase: shade.raised,
        role.Button: shade.button,
        role.Mid: shade.border,
        role.Dark: shade.border,
        role.Text: shade.text,
        role.WindowText: shade.text,
        role.ButtonText: shade.text,
        role.PlaceholderText: shade.faint,
        role.Link: shade.accent,
        role.Accent: shade.accent,
        role.Highlight: shade.accent,
        role.HighlightedText: shade.on_accent,
        role.BrightText: shade.error,
        role.ToolTipBase: shade.raised,
        role.ToolTipText: shade.text,
        role.Light: shade.raised,
        role.Midlight: shade.raised,
        # This style draws neither visited links nor shadows, so these two roles carry the colours
        # of success and of warnings to the style sheet.
        role.LinkVisited: shade.good,
        role.Shadow: shade.warning,
    }
    made = QPalette()
    for place, colour in colours.items():
        made.setColor(place, QColor(colour))
    for place in (role.Text, role.WindowText, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, place, QColor(shade.faint))
    return made


def apply(choice: str) -> None:
    """Change the program to a theme.

    All themes share one style sheet, which names colours by their palette role, because Qt needs
    half a second to apply another one to some hundred widgets. Only the widgets that it colours are
    polished again.
    """
    app = QGuiApplication.instance()
    if not isinstance(app, QApplication):
        return
    made = palette(scheme(choice))
    first = app.styleSheet() != STYLE_SHEET
    if not first and all(made.color(role) == app.palette().color(role) for role in _OWN_ROLES):
        return
    windows = [window for window in app.topLevelWidgets() if window.isVisible()]
    app.setPalette(made)
    if first:
        # Without this attribute a palette would not reach widgets that a style sheet applies to.
        app.setAttribute(Qt.ApplicationAttribute.AA_UseStyleSheetPropagationInWidgetStyles)
        app.setStyleSheet(STYLE_SHEET)
        return
    # While updates are off, nothing is painted with one half of the colours old.
    for window in windows:
        window.setUpdatesEnabled(False)
    for window in app.topLevelWidgets():
        window.setPalette(made)
    QTimer.singleShot(0, app, lambda: _finish(app, windows))


def _finish(app: QApplication, windows: list[QWidget]) -> None:
    """Polish the visible widgets that the style sheet colours, and the hidden ones afterwards."""
    styled = [widget for widget in app.allWidgets() if _is_styled(widget)]
    _repolish_all([widget for widget in styled if widget.isVisible()])
    for window in windows:
        if shiboken6.isValid(window):
            window.setUpdatesEnabled(True)
    unseen = [widget for widget in styled if not widget.isVisible()]
    QTimer.singleShot(0, app, lambda: _repolish_all(unseen))


def _repolish_all(widgets: list[QWidget]) -> None:
    for widget in widgets:
        # A widget may have been deleted since the timer was started.
        if shiboken6.isValid(widget):
            repolish(widget)


def repolish(widget: QWidget) -> None:
    """Apply the style sheet again after a change of the widget's properties or of the theme."""
    widget.style().polish(widget)
    widget.update()


def _is_styled(widget: QWidget) -> bool:
    """Whether a rule of the style sheet colours a widget."""
    if isinstance(widget, QLabel):
        return any(widget.property(name) is not None for name in ("faint", "state", "level"))
    return isinstance(widget, QPushButton | QToolButton) or bool(widget.property("wrong"))


STYLE_SHEET = """
    QToolTip { color: palette(text); background: palette(alternate-base);
        border: 1px solid palette(mid); padding: 3px; }
    QPushButton, QToolButton { padding: 3px 9px; border: 1px solid palette(mid); border-radius: 4px;
        background: palette(button); color: palette(text); }
    QToolButton { padding: 2px 5px; }
    QPushButton:hover, QToolButton:hover { border-color: palette(highlight); }
    QPushButton:focus, QToolButton:focus { border: 1px solid palette(highlight); }
    QPushButton:pressed, QToolButton:pressed, QToolButton:checked, QPushButton:checked
        { background: palette(mid); }
    QPushButton:disabled, QToolButton:disabled { color: palette(placeholder-text);
        background: palette(window); }
    QPushButton[primary="true"] { background: palette(highlight); color: palette(highlighted-text);
        border-color: palette(highlight); font-weight: 600; }
    QPushButton[primary="true"]:focus { border: 1px solid palette(text); }
    QPushButton[primary="true"]:disabled { background: palette(mid); color: palette(text); }
    QToolButton[choice="true"] { padding: 3px 7px; border-radius: 3px; }
    QToolButton[choice="true"]:checked { font-weight: 600; }
    QToolButton[heading="true"] { border: none; background: transparent; font-weight: 700;
        padding: 2px 0; }
    QToolButton[heading="true"]:focus { border-bottom: 1px solid palette(highlight);
        border-radius: 0; }
    QToolButton[disclosure="true"] { border: none; background: transparent;
        color: palette(placeholder-text); padding: 1px 0; }
    QToolButton[disclosure="true"]:checked, QToolButton[heading="true"]:checked
        { background: transparent; }
    QToolButton::menu-indicator { width: 9px; subcontrol-position: right center; right: 2px; }
    QToolButton[popupMode="2"] { padding-right: 15px; }
    QLabel[faint="true"], QLabel[state="empty"] { color: palette(placeholder-text); }
    QLabel[state="done"] { color: palette(link-visited); }
    QLabel[state="running"] { color: palette(highlight); }
    QLabel[state="stale"], QLabel[level="warning"] { color: palette(shadow); }
    QLabel[state="failed"], QLabel[level="error"] { color: palette(bright-text); }
    QLineEdit[wrong="true"], QSpinBox[wrong="true"], QDoubleSpinBox[wrong="true"],
    QComboBox[wrong="true"]
        { border: 1px solid palette(bright-text); }
    QTabBar { qproperty-elideMode: ElideNone; }
    QScrollArea#steps { border: none; }
"""
