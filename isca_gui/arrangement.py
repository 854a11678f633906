"""How the docks of the main window lie: at first, as the user has put them, and as text that is kept."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer
from PySide6.QtWidgets import QDockWidget, QMainWindow, QScrollArea, QTabWidget, QVBoxLayout, QWidget

from isca_gui.panels.step import WheelGuard

if TYPE_CHECKING:
    from PySide6.QtGui import QShowEvent

LAYOUT_VERSION = 1
LOWER, CLOSED = "lower", "closed"  # viewers below the others, and those that are opened when needed
# module of isca_gui.viewers, class, title of the dock, shortcut, place
VIEWERS = (
    ("pictures", "PicturesViewer", "Pictures", "Ctrl+1", ""),
    ("bases", "BasesViewer", "Bases", "Ctrl+2", ""),
    ("reconstruction", "ReconstructionViewer", "Reconstruction", "Ctrl+3", ""),
    ("vote_map", "VoteMapViewer", "Vote map", "Ctrl+4", ""),
    ("confusion", "ConfusionViewer", "Confusion", "Ctrl+5", ""),
    ("convergence", "ConvergenceViewer", "Convergence", "Ctrl+6", LOWER),
    ("runs", "RunsViewer", "Runs", "Ctrl+7", LOWER),
    ("messages", "MessagesViewer", "Messages", "Ctrl+8", LOWER),
    ("comparison", "ComparisonViewer", "Comparison", "Ctrl+9", CLOSED),
    ("start", "StartViewer", "Start", "Ctrl+0", CLOSED),
)


class ArrangedWindow(QMainWindow):
    """A window of docks: the steps at the left, viewers as tabs beside and below each other."""

    def __init__(self) -> None:
        super().__init__()
        self.docks: dict[str, QDockWidget] = {}
        self._settled = False  # whether the room was shared out, or the user has done so
        self._settle = QTimer(self, interval=_SETTLE, singleShot=True)
        self._settle.timeout.connect(self._share_room)
        self.setDockNestingEnabled(True)
        self.setAnimated(False)  # it would animate, and paint everything, at every change of any text
        self.setDockOptions(self.dockOptions() | QMainWindow.DockOption.AllowTabbedDocks)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)

    def put(self, name: str, title: str, widget: QWidget) -> QDockWidget:
        """Take a widget into a dock of its own."""
        dock = QDockWidget(title, self)
        dock.setObjectName(f"dock-{name}")
        dock.setWidget(widget)
        self.docks[name] = dock
        return dock

    def arrange(self) -> None:
        """Put all docks where they are at first."""
        upper = [name for name, _, _, _, place in VIEWERS if place != LOWER]
        lower = [name for name, _, _, _, place in VIEWERS if place == LOWER]
        closed = [self.docks["help"], *(self.docks[name] for name, *_, place in VIEWERS if place == CLOSED)]
        for dock in self.docks.values():
            dock.setFloating(False)
            self.removeDockWidget(dock)  # from wherever it was; all are put in anew
        self.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, self.docks["steps"])
        self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.docks[upper[0]])
        low = self.screen().availableSize().height() < _LOW_SCREEN  # no room for two rows of viewers
        if not low:
            self.splitDockWidget(self.docks[upper[0]], self.docks[lower[0]], Qt.Orientation.Vertical)
        for names in [[*upper, *lower, "help"]] if low else [[*upper, "help"], lower]:
            for name in names[1:]:
                self.tabifyDockWidget(self.docks[names[0]], self.docks[name])
        for dock in self.docks.values():
            dock.setVisible(dock not in closed)
        for name in (lower[0], upper[0]):
            self.docks[name].raise_()
        self._share_room()

    def _share_room(self) -> None:
        steps, first, lower = self.docks["steps"], self.docks[VIEWERS[0][0]], self.docks["convergence"]
        self.resizeDocks(
            [steps, first], [_STEPS_WIDTH, self.width() - _STEPS_WIDTH], Qt.Orientation.Horizontal
        )
        below = max(self.height() * 3 // 10, min(_LOWER_HEIGHT, self.height() * 4 // 10))
        self.resizeDocks([first, lower], [self.height() - below, below], _VERTICAL)

    # --- what is kept ---------------------------------------------------------------------------------------

    def layout_text(self) -> str:
        """Give how the docks lie, as text."""
        return bytes(self.saveState(LAYOUT_VERSION).toBase64().data()).decode()

    def geometry_text(self) -> str:
        """Give where the window lies, as text."""
        return bytes(self.saveGeometry().toBase64().data()).decode()

    def opened_text(self) -> str:
        """Give which docks are open and which are in front, as text: what a project keeps."""
        opened = [name for name, dock in self.docks.items() if not dock.isHidden()]
        front = [name for name in opened if seen(self.docks[name])]
        return base64.b64encode(json.dumps({"open": opened, "front": front}).encode()).decode()

    def show_opened(self, text: str) -> None:
        """Open, close and raise docks as a project has it; where they lie is left to the user.

        Not by restoreState: in a window that is seen it shows docks while its own state is half restored,
        and what they draw then makes it crash.
        """
        try:
            wanted = json.loads(base64.b64decode(text))
            opened, front = wanted["open"], wanted["front"]
        except (ValueError, TypeError, KeyError):
            return
        for name, dock in self.docks.items():
            if name != "steps":
                dock.setVisible(name in opened)
        for name in front:
            if name in self.docks and not self.docks[name].isHidden():
                self.docks[name].raise_()

    def restore_window(self, geometry: str, layout: str) -> None:
        """Put window and docks as they were, or as is best at first."""
        self.resize(_first_size(self))
        place = _bytes(geometry)
        if not place.isEmpty():
            self.restoreGeometry(place)
        elif self.screen().availableSize().width() < _SMALL_SCREEN:
            self.setWindowState(Qt.WindowState.WindowMaximized)
        wanted = _bytes(layout)
        self._settled = not wanted.isEmpty() and self.restoreState(wanted, LAYOUT_VERSION)

    def showEvent(self, event: QShowEvent) -> None:
        """Share the room among the docks when its size is known, unless the user has done so."""
        super().showEvent(event)
        if not self._settled:
            self._settled = True
            self._settle.start()

    def stop_settling(self) -> None:
        """Leave the docks as they are: the window closes."""
        self._settle.stop()

    # --- what is seen ---------------------------------------------------------------------------------------

    def viewers(self) -> tuple[tuple[str, str, str], ...]:
        """Give name, title and shortcut of all viewers."""
        return tuple((name, title, key) for name, _, title, key, _ in VIEWERS)

    def show_viewer(self, name: str) -> None:
        """Bring a viewer to the front."""
        self.docks[name].show()
        self.docks[name].raise_()
        widget = self.docks[name].widget()
        if widget is not None:
            widget.setFocus()

    def bring(self, name: str) -> None:
        """Raise a viewer unless it was closed; the keyboard stays where it is."""
        if not self.docks[name].isHidden():
            self.docks[name].raise_()


_SETTLE = 150  # milliseconds: a window manager takes its time to maximise
_STEPS_WIDTH = 372
_LOWER_HEIGHT = 285  # pixels; leaves the plot about 170
_LOW_SCREEN = 600
_SMALL_SCREEN = 1500  # pixels; below it the window takes all there is
_VERTICAL = Qt.Orientation.Vertical


def step_area(*panels: QWidget) -> QScrollArea:
    """Put the steps below each other, with a scroll bar where there is no room for all."""
    inside = QWidget()
    layout = QVBoxLayout(inside)
    layout.setContentsMargins(6, 6, 6, 6)
    layout.setSpacing(7)
    for panel in panels:
        layout.addWidget(panel)
    layout.addStretch(1)
    area = QScrollArea()
    area.setObjectName("steps")
    area.setWidget(inside)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setMinimumWidth(inside.minimumSizeHint().width() + area.verticalScrollBar().sizeHint().width() + 2)
    area.setMaximumWidth(_STEPS_WIDTH + 80)  # room is better spent on pictures
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    WheelGuard(area)
    return area


def seen(dock: QDockWidget) -> bool:
    """Tell whether anything of a dock is on the screen: it is open, and in front of those at its place."""
    return dock.isVisible() and not dock.visibleRegion().isEmpty()


def _bytes(text: str) -> QByteArray:
    return QByteArray.fromBase64(text.encode("utf-8", "ignore"))


def _first_size(window: QWidget) -> QSize:
    room = window.screen().availableSize()
    return QSize(room.width() * 9 // 10, room.height() * 9 // 10)
