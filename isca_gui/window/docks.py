"""The docks of the main window: which there are, where they lie at first, and how that is restored.

`read` describes where the docks lie as a `dock_layout.Layout`, and `put` moves them to the places
of one. `DockManager` decides which layout is wanted and when the room is shared out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QRect, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar, QTabWidget, QWidget

from isca_gui.widgets.step_frame import STEPS_WIDTH
from isca_gui.window import dock_layout
from isca_gui.window.dock_layout import (
    Layout,
    Split,
    Tabs,
    first,
    front,
    leaves,
    placed_in,
    share,
    splits,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isca_gui.window.dock_layout import Box

    Docks = Mapping[str, QDockWidget]
    Places = list[tuple[QRect, Tabs]]

# Viewers below the others, and viewers that are closed until somebody opens them.
LOWER = "lower"
CLOSED = "closed"
# Name of the dock (kept in layouts), module, class, title of the dock, shortcut, place.
VIEWERS = (
    ("pictures", "viewers.pictures.pictures", "PicturesViewer", "Pictures", "Ctrl+1", ""),
    ("compare", "viewers.compare.compare", "CompareViewer", "Compare", "Ctrl+K", ""),
    ("bases", "viewers.bases.bases", "BasesViewer", "Bases", "Ctrl+2", ""),
    ("reconstruction", "viewers.reconstruction", "ReconstructionViewer",
     "Reconstruction", "Ctrl+3", ""),
    ("vote_map", "viewers.votes.vote_map", "VoteMapViewer", "Vote map", "Ctrl+4", ""),
    ("confusion", "viewers.confusion.confusion", "ConfusionViewer", "Confusion", "Ctrl+5", ""),
    ("convergence", "viewers.convergence.convergence", "ConvergenceViewer",
     "Convergence", "Ctrl+6", LOWER),
    ("runs", "viewers.runs.runs", "RunsViewer", "Runs", "Ctrl+7", LOWER),
    ("messages", "viewers.messages", "MessagesViewer", "Messages", "Ctrl+8", LOWER),
    ("comparison", "viewers.runs.comparison", "ComparisonViewer", "Comparison", "Ctrl+9", CLOSED),
    ("start", "help.start_page", "StartViewer", "Start", "Ctrl+0", CLOSED),
)  # fmt: skip
_UPPER_HOME = (*(name for name, *_, place in VIEWERS if place != LOWER), "help")
_LOWER_HOME = tuple(name for name, *_, place in VIEWERS if place == LOWER)
# A dock that is opened again joins the open docks of its home.
_HOMES = (_UPPER_HOME, _LOWER_HOME)
_CLOSED_AT_FIRST = ("help", *(name for name, *_, place in VIEWERS if place == CLOSED))

AREAS = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "top": Qt.DockWidgetArea.TopDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}
_ACROSS = Qt.Orientation.Horizontal
_DOWN = Qt.Orientation.Vertical

# A window manager needs some time to maximise a window.
_SETTLE_MS = 150
# Height of the lower viewers in pixels; it leaves their plots about 170.
_LOWER_HEIGHT = 285
# Screens lower than this have no room for two rows of viewers.
_LOW_SCREEN = 600


class DockManager(QObject):
    """Holds the docks of a window and the layout that they are to have.

    Qt gives docks their final sizes some time after they are placed, and never exactly those asked
    for. So the layout that was asked for and what became of it are both kept: as long as the docks
    lie like either of them, the layout that was asked for is the one that is saved.
    """

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.docks: dict[str, QDockWidget] = {}
        self._asked = Layout({}, {}, {})
        self._result = self._asked
        # Whether the initial layout is shown, which is adapted to the size of the window.
        self._initial = True
        self._shown = False
        # Docks that are out of the way while one viewer has all the room.
        self._hidden: tuple[str, ...] = ()
        self._before = ""
        self._settle = QTimer(self, interval=_SETTLE_MS, singleShot=True)
        self._settle.timeout.connect(self._share_room)
        window.setDockNestingEnabled(True)
        # Qt would animate, and repaint everything, whenever a text changes its size.
        window.setAnimated(False)
        window.setDockOptions(window.dockOptions() | QMainWindow.DockOption.AllowTabbedDocks)
        window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)

    @property
    def settling(self) -> bool:
        """Whether the docks do not have their final sizes yet."""
        return self._settle.isActive()

    def add(self, name: str, title: str, widget: QWidget) -> QDockWidget:
        """Return a new dock that holds a widget."""
        dock = QDockWidget(title, self._window)
        dock.setObjectName(f"dock-{name}")
        dock.setWidget(widget)
        self.docks[name] = dock
        return dock

    def reset(self) -> None:
        """Move all docks to their initial places."""
        self._hidden = ()
        self._put(self._initial_layout())

    def restore(self, text: str) -> None:
        """Move the docks to the places in a text; an invalid text changes nothing."""
        layout = dock_layout.from_text(text, tuple(self.docks))
        if layout is not None:
            self._initial = False
            self._hidden = ()
            self._put(layout)

    @property
    def widened(self) -> bool:
        """Whether one viewer has all the room."""
        return bool(self._hidden)

    def widen(self) -> None:
        """Leave all the room to the upper viewers; `narrow` brings the other docks back."""
        if self._hidden:
            return
        self._before = self.to_text()
        self._hidden = tuple(
            name
            for name in ("steps", *_LOWER_HOME)
            if not self.docks[name].isHidden() and not self.docks[name].isFloating()
        )
        for name in self._hidden:
            self.docks[name].hide()

    def narrow(self) -> None:
        """Bring back what `widen` has put out of the way."""
        hidden = self._hidden
        self._hidden = ()
        for name in hidden:
            self.docks[name].show()
        if hidden:
            self._settle.start()

    def to_text(self) -> str:
        """Return the layout as text: the one asked for, unless it has been changed since."""
        if self._hidden:
            return self._before
        if self._settle.isActive():
            # Neither sizes nor tabs are meaningful yet, so the layout asked for is all there is ...
            if are_open(self.docks, self._asked):
                return dock_layout.to_text(self._wanted())
            # ... unless a dock was opened or closed meanwhile.
            self._share_room()
        now = read(self._window, self.docks)
        if dock_layout.alike(now, self._asked) or dock_layout.alike(now, self._result):
            return dock_layout.to_text(self._asked)
        return dock_layout.to_text(now)

    def on_window_shown(self) -> None:
        """Share the room among the docks when the window has its final size."""
        if not self._shown:
            self._shown = True
            self._settle.start()

    def stop(self) -> None:
        """Leave the docks as they are because the window closes."""
        self._settle.stop()

    def _initial_layout(self) -> Layout:
        window = self._window
        upper = tuple(name for name in _UPPER_HOME if name not in _CLOSED_AT_FIRST)
        lower = tuple(name for name in _LOWER_HOME if name not in _CLOSED_AT_FIRST)
        viewers: Tabs | Split = Tabs((*upper, *lower), upper[0])
        if window.screen().availableSize().height() >= _LOW_SCREEN:
            below = max(0.3, min(_LOWER_HEIGHT / window.height(), 0.4))
            rows = (Tabs(upper, upper[0]), Tabs(lower, lower[0]))
            viewers = Split(True, rows, (1 - below, below))
        steps = min(STEPS_WIDTH / window.width(), 0.9)
        areas = {"left": Tabs(("steps",), "steps"), "right": viewers}
        return Layout(areas, {"left": steps, "right": 1 - steps}, {})

    def _wanted(self) -> Layout:
        """Return the layout asked for; the initial one depends on the size of the window."""
        if self._initial:
            return self._initial_layout()
        return self._asked

    def _put(self, layout: Layout) -> None:
        self._asked = layout
        self._result = layout
        put(self._window, self.docks, layout)
        if self._window.isVisible():
            self._settle.start()

    def _share_room(self) -> None:
        self._asked = self._wanted()
        share_room(self._window, self.docks, self._asked)
        window_layout = self._window.layout()
        if window_layout is not None:
            # Without this the new sizes could be read only later.
            window_layout.activate()
        now = read(self._window, self.docks)
        # Otherwise something was opened or moved meanwhile.
        if dock_layout.same_places(now, self._asked):
            self._result = now


def is_seen(dock: QDockWidget) -> bool:
    """Whether some part of a dock is on the screen: open, and not behind another tab."""
    return dock.isVisible() and not dock.visibleRegion().isEmpty()


# --- from the window to a layout ------------------------------------------------------------------


def read(window: QMainWindow, docks: Docks) -> Layout:
    """Return where the docks of a window lie."""
    opened = {name: dock for name, dock in docks.items() if not dock.isHidden()}
    floating = {
        name: _box(_on_a_screen(dock.geometry()))
        for name, dock in opened.items()
        if dock.isFloating()
    }
    areas: dict[str, Tabs | Split] = {}
    spans: dict[str, float] = {}
    for area, where in AREAS.items():
        here = [
            name
            for name, dock in opened.items()
            if window.dockWidgetArea(dock) == where and name not in floating
        ]
        places = [(docks[group.front].geometry(), group) for group in _groups(window, docks, here)]
        if places:
            areas[area] = _tree(places)
            spans[area] = _span(window, area, places)
    return Layout(areas, spans, floating)


def _span(window: QMainWindow, area: str, places: Places) -> float:
    """Return how much of the window's width or height an area takes."""
    room = QRect()
    for rect, _ in places:
        room = room.united(rect)
    if area in ("left", "right"):
        return share(room.width(), window.width())
    return share(room.height(), window.height())


def are_open(docks: Docks, layout: Layout) -> bool:
    """Whether exactly the docks of a layout are open, and exactly its floating ones float."""
    shown = {name for name, dock in docks.items() if not dock.isHidden()}
    afloat = {name for name in shown if docks[name].isFloating()}
    return afloat == set(layout.floating) and shown - afloat == set(placed_in(layout.areas))


def _groups(window: QMainWindow, docks: Docks, names: Sequence[str]) -> Iterator[Tabs]:
    """Yield the open docks that share a place, in the order of their tabs."""
    # Qt does not say which dock a tab belongs to, so tabs are matched by their titles.
    tabs = {
        bar.tabText(place): (place, bar.currentIndex() == place)
        for bar in window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if not bar.isHidden()
        for place in range(bar.count())
    }
    names_of = {dock.objectName(): name for name, dock in docks.items()}
    left = list(names)
    while left:
        tabbed = window.tabifiedDockWidgets(docks[left[0]])
        beside = [names_of[dock.objectName()] for dock in tabbed]
        # Closed docks are among the tabified ones, too.
        group = {
            name: tabs.get(docks[name].windowTitle(), (0, False))
            for name in (left[0], *beside)
            if name in left
        }
        left = [name for name in left if name not in group]
        order = sorted(group, key=lambda name: group[name][0])
        yield Tabs(tuple(order), next((name for name in order if group[name][1]), order[0]))


def _tree(places: Places) -> Tabs | Split:
    """Return places as a tree; docks always lie so that straight cuts separate them."""
    if len(places) == 1:
        return places[0][1]
    for down in (False, True):
        parts = _cut(places, down)
        if len(parts) > 1:
            sizes = [max(_extent(rect, down) for rect, _ in part) for part in parts]
            trees = tuple(_tree(part) for part in parts)
            return Split(down, trees, tuple(share(size, sum(sizes)) for size in sizes))
    names = tuple(name for _, tabs in places for name in tabs.names)
    return Tabs(names, places[0][1].front)


def _extent(rect: QRect, down: bool) -> int:
    return rect.height() if down else rect.width()


def _cut(places: Places, down: bool) -> list[Places]:
    """Separate places by all cuts of one direction that go right through."""

    def ends(rect: QRect) -> tuple[int, int]:
        return (rect.top(), rect.bottom()) if down else (rect.left(), rect.right())

    parts: list[Places] = []
    reach = -math.inf
    for place in sorted(places, key=lambda place: ends(place[0])):
        begin, end = ends(place[0])
        if begin > reach:
            parts.append([])
        parts[-1].append(place)
        reach = max(reach, end)
    return parts


# --- from a layout to the window ------------------------------------------------------------------


def put(window: QMainWindow, docks: Docks, layout: Layout) -> None:
    """Move docks to the places of a layout and close all others."""
    placed = placed_in(layout.areas)
    window.setUpdatesEnabled(False)
    try:
        for dock in docks.values():
            dock.setFloating(False)
            window.removeDockWidget(dock)
        for area, node in layout.areas.items():
            window.addDockWidget(AREAS[area], docks[first(node)])
            _build(window, docks, node)
        for name in docks:
            if name not in placed:
                _put_at_home(window, docks, name, placed)
        for name, dock in docks.items():
            dock.setVisible(name in placed or name in layout.floating)
        for name, box in layout.floating.items():
            docks[name].setFloating(True)
            docks[name].setGeometry(_on_a_screen(QRect(*box)))
        for node in layout.areas.values():
            for tabs in leaves(node):
                docks[tabs.front].raise_()
        share_room(window, docks, layout)
    finally:
        window.setUpdatesEnabled(True)


def _put_at_home(window: QMainWindow, docks: Docks, name: str, placed: Sequence[str]) -> None:
    """Move a closed dock to where it will appear when it is opened."""
    home = [each for homes in _HOMES if name in homes for each in homes]
    beside = next((each for each in home if each in placed), None)
    if beside is None:
        window.addDockWidget(AREAS["right"], docks[name])
    else:
        window.tabifyDockWidget(docks[beside], docks[name])


def _build(window: QMainWindow, docks: Docks, node: Tabs | Split) -> None:
    """Add the docks of a node whose first dock is in the window."""
    if isinstance(node, Split):
        # Splits come before tabs, because Qt cannot split a dock that is one of several tabs.
        way = _DOWN if node.down else _ACROSS
        for before, after in zip(node.parts, node.parts[1:], strict=False):
            window.splitDockWidget(docks[first(before)], docks[first(after)], way)
        for part in node.parts:
            _build(window, docks, part)
    else:
        for name in node.names[1:]:
            window.tabifyDockWidget(docks[node.names[0]], docks[name])


def share_room(window: QMainWindow, docks: Docks, layout: Layout) -> None:
    """Resize all docks to their shares of the room."""
    for way, whole, pair in (
        (_ACROSS, window.width(), ("left", "right")),
        (_DOWN, window.height(), ("top", "bottom")),
    ):
        found = [area for area in pair if area in layout.areas]
        sizes = [max(round(layout.spans[area] * whole), 1) for area in found]
        window.resizeDocks([docks[front(layout.areas[area])] for area in found], sizes, way)
    for node in layout.areas.values():
        for split in splits(node):
            way = _DOWN if split.down else _ACROSS
            whole = window.height() if split.down else window.width()
            sizes = [max(round(share * whole), 1) for share in split.shares]
            window.resizeDocks([docks[front(part)] for part in split.parts], sizes, way)


def _on_a_screen(rect: QRect) -> QRect:
    """Return a rectangle moved, and if necessary shrunk, so that all of it is on a screen."""
    screen = QGuiApplication.screenAt(rect.center()) or QGuiApplication.primaryScreen()
    room = screen.availableGeometry()
    rect.setSize(rect.size().boundedTo(room.size()))
    rect.moveLeft(min(max(rect.left(), room.left()), room.right() + 1 - rect.width()))
    rect.moveTop(min(max(rect.top(), room.top()), room.bottom() + 1 - rect.height()))
    return rect


def _box(rect: QRect) -> Box:
    return rect.x(), rect.y(), rect.width(), rect.height()
