"""Colours: the classes' own, one each everywhere, and the light and dark palettes of the window."""

from __future__ import annotations

from dataclasses import dataclass

import shiboken6
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QBrush, QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QToolButton, QWidget

from isca_gui.core.distortion.distortions import DISTORTIONS, ORIGINAL
from isca_gui.core.distortion.distortions import UNDECIDED_LABEL as UNDECIDED
from isca_gui.core.recognition.vote_overlays import look

SYSTEM, LIGHT, DARK = "system", "light", "dark"
CHOICES = {SYSTEM: "As the system", LIGHT: "Light", DARK: "Dark"}
PICTURE_GREY = "#808080"  # behind pictures, in both themes


AT = " at MSE "  # between label and strength of a truth


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


def truth_words(truth: str) -> str:
    """Say what was done to a picture that was made here, with the title of its class."""
    label, at, level = truth.partition(AT)
    return f"{look(label).title}{at}{level}" if at else truth


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
_LIGHTER = {
    "#0072B2": "#3D8BFF",
    "#7A5FB5": "#A98BE6",
    "#8C6D31": "#B8934A",
}  # for thin lines on dark


class _RunColours:
    """The colours of runs and curves; those too dark for the dark theme are lighter there."""

    def __len__(self) -> int:
        return len(_RUN_COLOURS)

    def __getitem__(self, place: int) -> str:
        colour = _RUN_COLOURS[place]
        return colour if shades() is SHADES[LIGHT] else _LIGHTER.get(colour, colour)


RUN_COLOURS = _RunColours()


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


_OWN_ROLES = (QPalette.ColorRole.Window, QPalette.ColorRole.Text, QPalette.ColorRole.Highlight)


def palette(name: str) -> QPalette:
    """Make the palette of the light or dark theme.

    Nothing in this style draws with the roles of visited links and shadows: they carry the colours of what is
    good and of warnings to the style sheet.
    """
    s, role = SHADES[name], QPalette.ColorRole
    made = QPalette()
    for place, colour in (
        *((role.Window, s.window), (role.Base, s.base), (role.AlternateBase, s.raised)),
        *((role.Button, s.button), (role.Mid, s.border), (role.Dark, s.border)),
        *((role.Text, s.text), (role.WindowText, s.text), (role.ButtonText, s.text)),
        *((role.PlaceholderText, s.faint), (role.Link, s.accent), (role.Accent, s.accent)),
        *(
            (role.Highlight, s.accent),
            (role.HighlightedText, s.on_accent),
            (role.BrightText, s.error),
        ),
        *((role.ToolTipBase, s.raised), (role.ToolTipText, s.text), (role.Light, s.raised)),
        *((role.Midlight, s.raised), (role.LinkVisited, s.good), (role.Shadow, s.warning)),
    ):
        made.setColor(place, QColor(colour))
    for place in (role.Text, role.WindowText, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, place, QColor(s.faint))
    return made


def apply(choice: str) -> None:
    """Give the program the chosen theme.

    The style sheet is the same for all themes and names colours by their role: to read another one takes Qt
    half a second in a window of some hundred widgets. What it has coloured is told to look again.
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
    if first:  # without this attribute a palette would not reach what a style sheet is applied to
        app.setAttribute(Qt.ApplicationAttribute.AA_UseStyleSheetPropagationInWidgetStyles)
        app.setStyleSheet(STYLE_SHEET)
        return
    for window in windows:
        window.setUpdatesEnabled(False)  # nothing is painted half in the old colours
    for window in app.topLevelWidgets():
        window.setPalette(made)
    QTimer.singleShot(0, app, lambda: _finish(app, windows))


def _finish(app: QApplication, windows: list[QWidget]) -> None:
    """Colour anew what the style sheet has coloured: what is seen now, the rest when that is painted."""
    styled = [widget for widget in app.allWidgets() if _is_styled(widget)]
    _look_again([widget for widget in styled if widget.isVisible()])
    for window in windows:
        if shiboken6.isValid(window):
            window.setUpdatesEnabled(True)
    unseen = [widget for widget in styled if not widget.isVisible()]
    QTimer.singleShot(0, app, lambda: _look_again(unseen))


def _look_again(widgets: list[QWidget]) -> None:
    for widget in widgets:
        if shiboken6.isValid(widget):
            look_again(widget)


def look_again(widget: QWidget) -> None:
    """Let the style sheet be applied anew to a widget: its properties or the theme have changed."""
    widget.style().polish(widget)
    widget.update()


def _is_styled(widget: QWidget) -> bool:
    """Whether a rule with colours applies to a widget."""
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
    QToolButton[heading="true"] { border: none; background: transparent; font-weight: 700; padding: 2px 0; }
    QToolButton[heading="true"]:focus { border-bottom: 1px solid palette(highlight); border-radius: 0; }
    QToolButton[disclosure="true"] { border: none; background: transparent; color: palette(placeholder-text);
        padding: 1px 0; }
    QToolButton[disclosure="true"]:checked, QToolButton[heading="true"]:checked { background: transparent; }
    QToolButton::menu-indicator { width: 9px; subcontrol-position: right center; right: 2px; }
    QToolButton[popupMode="2"] { padding-right: 15px; }
    QLabel[faint="true"], QLabel[state="empty"] { color: palette(placeholder-text); }
    QLabel[state="done"] { color: palette(link-visited); }
    QLabel[state="running"] { color: palette(highlight); }
    QLabel[state="stale"], QLabel[level="warning"] { color: palette(shadow); }
    QLabel[state="failed"], QLabel[level="error"] { color: palette(bright-text); }
    QLineEdit[wrong="true"], QSpinBox[wrong="true"], QDoubleSpinBox[wrong="true"], QComboBox[wrong="true"]
        { border: 1px solid palette(bright-text); }
    QTabBar { qproperty-elideMode: ElideNone; }
    QScrollArea#steps { border: none; }
"""
