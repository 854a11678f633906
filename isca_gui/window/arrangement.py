"""How the docks of the main window lie: at first, as the user has put them, and as text that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer
from PySide6.QtWidgets import (
    QDockWidget,
    QMainWindow,
    QScrollArea,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from isca_gui.widgets.step_frame import FieldGuard
from isca_gui.window import dock_layout, docks
from isca_gui.window.dock_layout import Layout, Split, Tabs

if TYPE_CHECKING:
    from PySide6.QtGui import QShowEvent

LOWER, CLOSED = "lower", "closed"  # viewers below the others, and those that are opened when needed
# Name of the dock (kept in layouts), module, class, title of the dock, shortcut, place.
VIEWERS = (
    ("pictures", "viewers.pictures.pictures", "PicturesViewer", "Pictures", "Ctrl+1", ""),
    ("bases", "viewers.bases.bases", "BasesViewer", "Bases", "Ctrl+2", ""),
    ("reconstruction", "viewers.reconstruction", "ReconstructionViewer", "Reconstruction", "Ctrl+3", ""),
    ("vote_map", "viewers.votes.vote_map", "VoteMapViewer", "Vote map", "Ctrl+4", ""),
    ("confusion", "viewers.confusion.confusion", "ConfusionViewer", "Confusion", "Ctrl+5", ""),
    ("convergence", "viewers.convergence.convergence", "ConvergenceViewer", "Convergence", "Ctrl+6", LOWER),
    ("runs", "viewers.runs.runs", "RunsViewer", "Runs", "Ctrl+7", LOWER),
    ("messages", "viewers.messages", "MessagesViewer", "Messages", "Ctrl+8", LOWER),
    ("comparison", "viewers.runs.comparison", "ComparisonViewer", "Comparison", "Ctrl+9", CLOSED),
    ("start", "help.start_page", "StartViewer", "Start", "Ctrl+0", CLOSED),
)  # fmt: skip
_HOMES = (  # who lies where at first
    (*(name for name, *_, place in VIEWERS if place != LOWER), "help"),
    tuple(name for name, *_, place in VIEWERS if place == LOWER),
)


class ArrangedWindow(QMainWindow):
    """A window of docks: the steps at the left, viewers as tabs beside and below each other."""

    def __init__(self) -> None:
        super().__init__()
        self.docks: dict[str, QDockWidget] = {}
        self._layout = Layout({}, {}, {})  # the one that was put in last,
        self._came_out = self._layout  # what became of it in the room there is,
        self._untouched = True  # and whether it is the one at first
        self._settled = False  # whether the room was shared out
        self._settle = QTimer(self, interval=_SETTLE, singleShot=True)
        self._settle.timeout.connect(self._share_room)
        self.setDockNestingEnabled(True)
        self.setAnimated(
            False
        )  # it would animate, and paint everything, at every change of any text
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
        self._put(self._at_first())

    def _at_first(self) -> Layout:
        closed = ("help", *(name for name, *_, place in VIEWERS if place == CLOSED))
        upper, lower = (tuple(name for name in home if name not in closed) for home in _HOMES)
        viewers: Tabs | Split = Tabs((*upper, *lower), upper[0])
        if (
            self.screen().availableSize().height() >= _LOW_SCREEN
        ):  # else no room for two rows of viewers
            below = max(0.3, min(_LOWER_HEIGHT / self.height(), 0.4))
            viewers = Split(
                True, (Tabs(upper, upper[0]), Tabs(lower, lower[0])), (1 - below, below)
            )
        steps = min(_STEPS_WIDTH / self.width(), 0.9)
        areas = {"left": Tabs(("steps",), "steps"), "right": viewers}
        return Layout(areas, {"left": steps, "right": 1 - steps}, {})

    def _wanted(self) -> Layout:
        """Give the layout that was put in; that at first is one for the size which the window has now."""
        return self._at_first() if self._untouched else self._layout

    def _put(self, layout: Layout) -> None:
        self._layout = self._came_out = layout
        docks.put(self, self.docks, layout, _HOMES)
        if self.isVisible():
            self._settle.start()

    def _share_room(self) -> None:
        self._layout = self._wanted()
        docks.share_room(self, self.docks, self._layout)
        if (own := self.layout()) is not None:
            own.activate()  # else the new sizes are seen only later
        now = docks.read(self, self.docks)
        if dock_layout.same_places(
            now, self._layout
        ):  # else something was opened or moved meanwhile
            self._came_out = now

    # --- what is kept -----------------------------------------------------------------------------

    def layout_text(self) -> str:
        """Give how the docks lie, as text; as it was put in, unless somebody has changed it since."""
        if self._settle.isActive():  # neither sizes nor tabs say anything yet
            if docks.are_open(self.docks, self._layout):
                return dock_layout.to_text(self._wanted())
            self._share_room()  # something was closed or opened since: then they must
        now = docks.read(self, self.docks)
        same = dock_layout.alike(now, self._layout) or dock_layout.alike(now, self._came_out)
        return dock_layout.to_text(self._layout if same else now)

    def geometry_text(self) -> str:
        """Give where the window lies, as text."""
        return bytes(self.saveGeometry().toBase64().data()).decode()

    def show_layout(self, text: str) -> None:
        """Lay the docks as a project has it; what is no layout changes nothing."""
        layout = dock_layout.from_text(text, tuple(self.docks))
        if layout is not None:
            self._untouched = False
            self._put(layout)

    def restore_window(self, geometry: str, layout: str) -> None:
        """Put window and docks as they were, or as is best at first."""
        self.resize(_first_size(self))
        place = QByteArray.fromBase64(geometry.encode("utf-8", "ignore"))
        if not place.isEmpty():
            self.restoreGeometry(place)
        elif self.screen().availableSize().width() < _SMALL_SCREEN:
            self.setWindowState(Qt.WindowState.WindowMaximized)
        self.show_layout(layout)

    def showEvent(self, event: QShowEvent) -> None:
        """Share the room among the docks when its size is known."""
        super().showEvent(event)
        if not self._settled:
            self._settled = True
            self._settle.start()

    def stop_settling(self) -> None:
        """Leave the docks as they are: the window closes."""
        self._settle.stop()

    # --- what is seen -----------------------------------------------------------------------------

    def viewers(self) -> tuple[tuple[str, str, str], ...]:
        """Give name, title and shortcut of all viewers."""
        return tuple((name, title, key) for name, _, _, title, key, _ in VIEWERS)

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
    area.setMinimumWidth(
        inside.minimumSizeHint().width() + area.verticalScrollBar().sizeHint().width() + 2
    )
    area.setMaximumWidth(_STEPS_WIDTH + 80)  # room is better spent on pictures
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    FieldGuard(area)
    return area


def seen(dock: QDockWidget) -> bool:
    """Tell whether anything of a dock is on the screen: it is open, and in front of those at its place."""
    return dock.isVisible() and not dock.visibleRegion().isEmpty()


def _first_size(window: QWidget) -> QSize:
    room = window.screen().availableSize()
    return QSize(room.width() * 9 // 10, room.height() * 9 // 10)
