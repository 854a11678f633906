"""How docks lie in a window, as a tree of our own that can be checked, kept as text, and put back.

Not Qt's `saveState`: its bytes tell nothing before they are believed, and altered ones crash `restoreState`.
"""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Docks = Mapping[str, QDockWidget]
    Box = tuple[int, int, int, int]

AREAS = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "top": Qt.DockWidgetArea.TopDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}
_ACROSS, _DOWN = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
_LONGEST, _FARTHEST = 20_000, 100_000  # characters of a text, pixels of a place
_FRAME = 40  # pixels by which a window manager may move what floats
_ALIKE = 0.02  # shares that differ by less are the same: pixels are whole, and windows differ in size


@dataclass(frozen=True)
class Tabs:
    """Open docks at one place, of which one is in front."""

    names: tuple[str, ...]
    front: str


@dataclass(frozen=True)
class Split:
    """Places beside or below one another, and how they share the room."""

    down: bool
    parts: tuple[Tabs | Split, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Layout:
    """The places of all docks; `spans` is how much of the window's width or height each area takes."""

    areas: Mapping[str, Tabs | Split]
    spans: Mapping[str, float]
    floating: Mapping[str, Box]
    closed: tuple[str, ...]


# --- of a window --------------------------------------------------------------------------------------------


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
            spans[area] = _share(
                *((room.width(), window.width()) if across else (room.height(), window.height()))
            )
    return Layout(areas, spans, floating, tuple(closed))


def put(window: QMainWindow, docks: Docks, layout: Layout, homes: Sequence[Sequence[str]]) -> None:
    """Lay docks as they are to lie; all others are closed, and come back beside those of the same home."""
    placed = [name for node in layout.areas.values() for tabs in _leaves(node) for name in tabs.names]
    window.setUpdatesEnabled(False)
    try:
        for dock in docks.values():
            dock.setFloating(False)
            window.removeDockWidget(dock)  # from wherever it was; all are put in anew
        for area, node in layout.areas.items():
            window.addDockWidget(AREAS[area], docks[_first(node)])
            _build(window, docks, node)
        for name in docks:
            if name not in placed:
                _put_beside(
                    window, docks, name, [each for home in homes if name in home for each in home], placed
                )
        for name, dock in docks.items():
            dock.setVisible(name in placed or name in layout.floating)
        for name, box in layout.floating.items():
            docks[name].setFloating(True)
            docks[name].setGeometry(_on_a_screen(QRect(*box)))
        for node in layout.areas.values():
            for tabs in _leaves(node):
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
        window.resizeDocks([docks[_front(layout.areas[area])] for area in found], sizes, way)
    for node in layout.areas.values():
        for split in _splits(node):
            whole = window.height() if split.down else window.width()
            sizes = [max(round(share * whole), 1) for share in split.shares]
            window.resizeDocks(
                [docks[_front(part)] for part in split.parts], sizes, _DOWN if split.down else _ACROSS
            )


def _build(window: QMainWindow, docks: Docks, node: Tabs | Split) -> None:
    """Put in what belongs to a place whose first dock is there; tabs last, for they cannot be split."""
    if isinstance(node, Split):
        way = _DOWN if node.down else _ACROSS
        for before, after in zip(node.parts, node.parts[1:], strict=False):
            window.splitDockWidget(docks[_first(before)], docks[_first(after)], way)
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
            sizes = [max((rect.height() if down else rect.width()) for rect, _ in part) for part in parts]
            return Split(
                down, tuple(_tree(part) for part in parts), tuple(_share(size, sum(sizes)) for size in sizes)
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


# --- the tree -----------------------------------------------------------------------------------------------


def _first(node: Tabs | Split) -> str:
    return next(_leaves(node)).names[0]


def _front(node: Tabs | Split) -> str:
    return next(_leaves(node)).front


def _leaves(node: Tabs | Split) -> Iterator[Tabs]:
    if isinstance(node, Tabs):
        yield node
    else:
        for part in node.parts:
            yield from _leaves(part)


def _splits(node: Tabs | Split) -> Iterator[Split]:
    if isinstance(node, Split):
        yield node
        for part in node.parts:
            yield from _splits(part)


def _share(size: int, whole: int) -> float:
    return round(min(max(size, 1) / max(whole, 1), 1.0), 4)  # what does not fit reaches beyond the window


def same_places(one: Layout, other: Layout) -> bool:
    """Tell whether everything is at the same place, whatever its size."""

    def bare(node: Tabs | Split) -> object:
        return node if isinstance(node, Tabs) else (node.down, *(bare(part) for part in node.parts))

    def all_of(layout: Layout) -> object:
        areas = {area: bare(node) for area, node in layout.areas.items()}
        return areas, set(layout.floating), set(layout.closed)

    return all_of(one) == all_of(other)


def alike(one: Layout, other: Layout) -> bool:
    """Tell whether nobody would see a difference."""

    def sizes(layout: Layout) -> Iterator[float]:
        for area in sorted(layout.areas):
            yield layout.spans[area]
            for split in _splits(layout.areas[area]):
                yield from split.shares

    if not same_places(one, other):
        return False
    boxes = [(one.floating[name], other.floating[name]) for name in one.floating]
    return all(abs(a - b) < _ALIKE for a, b in zip(sizes(one), sizes(other), strict=True)) and all(
        abs(a - b) < _FRAME for box in boxes for a, b in zip(*box, strict=True)
    )


# --- as text ------------------------------------------------------------------------------------------------


def to_text(layout: Layout) -> str:
    """Give a layout as text for a file."""

    def plain(node: Tabs | Split) -> dict[str, Any]:
        if isinstance(node, Tabs):
            return {"tabs": node.names, "front": node.front}
        return {"down": node.down, "parts": [plain(part) for part in node.parts], "shares": node.shares}

    document = {
        "areas": {area: plain(node) for area, node in layout.areas.items()},
        "spans": dict(layout.spans),
        "floating": dict(layout.floating),
        "closed": layout.closed,
    }
    return base64.b64encode(json.dumps(document).encode()).decode()


def from_text(text: str, names: Sequence[str]) -> Layout | None:
    """Read a text; None unless it is a whole layout of docks with these names, each at one place."""
    if not text or len(text) > _LONGEST:
        return None
    try:
        found = json.loads(base64.b64decode(text, validate=True))
        areas = {area: _node(node) for area, node in found["areas"].items()}
        spans = {area: _positive(found["spans"][area]) for area in areas}
        floating = {name: _box(box) for name, box in found["floating"].items()}
        closed = tuple(found["closed"])
        placed = [name for node in areas.values() for tabs in _leaves(node) for name in tabs.names]
        everywhere = [*placed, *floating, *closed]
        right = (
            len(set(everywhere)) == len(everywhere)
            and set(everywhere) <= set(names)
            and areas.keys() <= AREAS.keys()
            and "steps" in placed
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return Layout(areas, spans, floating, closed) if right else None


def _node(found: Any) -> Tabs | Split:
    if "tabs" in found:
        names = tuple(found["tabs"])
        if found["front"] not in names:
            raise ValueError("the front is not there")
        return Tabs(names, found["front"])
    parts = tuple(_node(part) for part in found["parts"])
    shares = tuple(_positive(share) for share in found["shares"])
    if len(parts) < 2 or len(parts) != len(shares) or not isinstance(found["down"], bool):
        raise ValueError("no such split")
    return Split(found["down"], parts, shares)


def _positive(found: Any) -> float:
    value = float(found)
    if not 0 < value <= 1:
        raise ValueError("no share")
    return value


def _box(found: Any) -> Box:
    left, top, width, height = (int(value) for value in found)
    if max(map(abs, (left, top, width, height))) > _FARTHEST or min(width, height) < 1:
        raise ValueError("no place")
    return left, top, width, height
