"""Read how the docks of a window lie, and lay them so; the reading is a `dock_layout.Layout`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar

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

AREAS = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "top": Qt.DockWidgetArea.TopDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}
_ACROSS, _DOWN = Qt.Orientation.Horizontal, Qt.Orientation.Vertical


def read(window: QMainWindow, docks: Docks) -> Layout:
    """Say how a window's docks lie."""
    closed = [name for name, dock in docks.items() if dock.isHidden()]
    floating = {
        name: _rect(_on_a_screen(dock.geometry()))
        for name, dock in docks.items()
        if dock.isFloating() and name not in closed
    }
    areas: dict[str, Tabs | Split] = {}
    spans: dict[str, float] = {}
    for area, where in AREAS.items():
        here = [
            name
            for name, dock in docks.items()
            if window.dockWidgetArea(dock) == where and name not in closed and name not in floating
        ]
        places = [(docks[group.front].geometry(), group) for group in _groups(window, docks, here)]
        if places:
            areas[area] = _tree(places)
            room = QRect()
            for rect, _ in places:
                room = room.united(rect)
            across = area in ("left", "right")
            spans[area] = share(
                *((room.width(), window.width()) if across else (room.height(), window.height()))
            )
    return Layout(areas, spans, floating)


def are_open(docks: Docks, layout: Layout) -> bool:
    """Tell whether just those docks are open that a layout has, and just its floating ones float."""
    shown = {name for name, dock in docks.items() if not dock.isHidden()}
    afloat = {name for name in shown if docks[name].isFloating()}
    return afloat == set(layout.floating) and shown - afloat == set(placed_in(layout.areas))


def put(window: QMainWindow, docks: Docks, layout: Layout, homes: Sequence[Sequence[str]]) -> None:
    """Lay docks as they are to lie; all others are closed, and come back beside those of the same home."""
    placed = placed_in(layout.areas)
    window.setUpdatesEnabled(False)
    try:
        for dock in docks.values():
            dock.setFloating(False)
            window.removeDockWidget(dock)  # from wherever it was; all are put in anew
        for area, node in layout.areas.items():
            window.addDockWidget(AREAS[area], docks[first(node)])
            _build(window, docks, node)
        for name in docks:
            if name not in placed:
                _put_beside(
                    window,
                    docks,
                    name,
                    [each for home in homes if name in home for each in home],
                    placed,
                )
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


def _put_beside(
    window: QMainWindow, docks: Docks, name: str, home: Sequence[str], placed: Sequence[str]
) -> None:
    beside = next((each for each in home if each in placed), None)
    if beside is None:
        window.addDockWidget(AREAS["right"], docks[name])
    else:
        window.tabifyDockWidget(docks[beside], docks[name])


def share_room(window: QMainWindow, docks: Docks, layout: Layout) -> None:
    """Give all places their shares of the room."""
    for way, whole, both in (
        (_ACROSS, window.width(), ("left", "right")),
        (_DOWN, window.height(), ("top", "bottom")),
    ):
        found = [area for area in both if area in layout.areas]
        sizes = [max(round(layout.spans[area] * whole), 1) for area in found]
        window.resizeDocks([docks[front(layout.areas[area])] for area in found], sizes, way)
    for node in layout.areas.values():
        for split in splits(node):
            whole = window.height() if split.down else window.width()
            sizes = [max(round(share * whole), 1) for share in split.shares]
            window.resizeDocks(
                [docks[front(part)] for part in split.parts],
                sizes,
                _DOWN if split.down else _ACROSS,
            )


def _build(window: QMainWindow, docks: Docks, node: Tabs | Split) -> None:
    """Put in what belongs to a place whose first dock is there; tabs last, for they cannot be split."""
    if isinstance(node, Split):
        way = _DOWN if node.down else _ACROSS
        for before, after in zip(node.parts, node.parts[1:], strict=False):
            window.splitDockWidget(docks[first(before)], docks[first(after)], way)
        for part in node.parts:
            _build(window, docks, part)
    else:
        for name in node.names[1:]:
            window.tabifyDockWidget(docks[node.names[0]], docks[name])


def _groups(window: QMainWindow, docks: Docks, names: Sequence[str]) -> Iterator[Tabs]:
    """Give the places of open docks: who shares it, in the order of the tabs, and who is in front."""
    tabs = {
        bar.tabText(place): (place, bar.currentIndex() == place)
        for bar in window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if not bar.isHidden()
        for place in range(bar.count())
    }
    known = {dock.objectName(): name for name, dock in docks.items()}
    left = list(names)
    while left:
        beside = [known[dock.objectName()] for dock in window.tabifiedDockWidgets(docks[left[0]])]
        group = {
            name: tabs.get(docks[name].windowTitle(), (0, False))
            for name in (left[0], *beside)
            if name in left  # not those that are closed
        }
        left = [name for name in left if name not in group]
        order = sorted(group, key=lambda name: group[name][0])
        yield Tabs(tuple(order), next((name for name in order if group[name][1]), order[0]))


def _tree(places: list[tuple[QRect, Tabs]]) -> Tabs | Split:
    """Make a tree of places: docks always lie so that straight cuts part them."""
    if len(places) == 1:
        return places[0][1]
    for down in (False, True):
        parts = _cut(places, down)
        if len(parts) > 1:
            sizes = [
                max((rect.height() if down else rect.width()) for rect, _ in part) for part in parts
            ]
            return Split(
                down,
                tuple(_tree(part) for part in parts),
                tuple(share(size, sum(sizes)) for size in sizes),
            )
    names = tuple(name for _, tabs in places for name in tabs.names)
    return Tabs(names, places[0][1].front)


def _cut(places: list[tuple[QRect, Tabs]], down: bool) -> list[list[tuple[QRect, Tabs]]]:
    """Part places by all cuts of one direction that go right through."""

    def ends(rect: QRect) -> tuple[int, int]:
        return (rect.top(), rect.bottom()) if down else (rect.left(), rect.right())

    parts: list[list[tuple[QRect, Tabs]]] = []
    reach = -math.inf
    for place in sorted(places, key=lambda place: ends(place[0])):
        begin, end = ends(place[0])
        if begin > reach:
            parts.append([])
        parts[-1].append(place)
        reach = max(reach, end)
    return parts


def _on_a_screen(rect: QRect) -> QRect:
    """Move a rectangle, and make it smaller if need be, so that it can be seen."""
    screen = QGuiApplication.screenAt(rect.center()) or QGuiApplication.primaryScreen()
    room = screen.availableGeometry()
    rect.setSize(rect.size().boundedTo(room.size()))
    rect.moveLeft(min(max(rect.left(), room.left()), room.right() + 1 - rect.width()))
    rect.moveTop(min(max(rect.top(), room.top()), room.bottom() + 1 - rect.height()))
    return rect


def _rect(rect: QRect) -> Box:
    return rect.x(), rect.y(), rect.width(), rect.height()
