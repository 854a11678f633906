"""Where docks lie, as a tree that can be compared, checked and saved as text.

Qt's `saveState` is not used: its bytes cannot be checked, and altered ones crash `restoreState`.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Box = tuple[int, int, int, int]  # left, top, width, height

AREAS = ("left", "right", "top", "bottom")
# Limits for texts from files: characters of a text, and pixels of a place.
_LONGEST = 20_000
_FARTHEST = 100_000
# A window manager may move floating docks by so many pixels.
_FRAME = 40
# Shares that differ by less are equal: pixels are whole numbers, and windows differ in size.
_TOLERANCE = 0.02


@dataclass(frozen=True)
class Tabs:
    """Open docks that share one place; one of them is in front."""

    names: tuple[str, ...]
    front: str


@dataclass(frozen=True)
class Split:
    """Places beside or below one another, and their shares of the room."""

    down: bool
    parts: tuple[Tabs | Split, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Layout:
    """The places of open docks; `spans` are the shares of the window that the areas take."""

    areas: Mapping[str, Tabs | Split]
    spans: Mapping[str, float]
    floating: Mapping[str, Box]


# --- the tree -------------------------------------------------------------------------------------


def first(node: Tabs | Split) -> str:
    """Return the dock that the others of a node are placed beside."""
    return next(leaves(node)).names[0]


def front(node: Tabs | Split) -> str:
    """Return a visible dock of a node."""
    return next(leaves(node)).front


def leaves(node: Tabs | Split) -> Iterator[Tabs]:
    """Yield all places."""
    if isinstance(node, Tabs):
        yield node
    else:
        for part in node.parts:
            yield from leaves(part)


def placed_in(areas: Mapping[str, Tabs | Split]) -> list[str]:
    """Return the names of all docks that have a place in the window."""
    return [name for node in areas.values() for tabs in leaves(node) for name in tabs.names]


def splits(node: Tabs | Split) -> Iterator[Split]:
    """Yield all splits, the outer ones first."""
    if isinstance(node, Split):
        yield node
        for part in node.parts:
            yield from splits(part)


def share(size: int, whole: int) -> float:
    """Return a size as a share of a whole, at most 1: docks may reach beyond the window."""
    return round(min(max(size, 1) / max(whole, 1), 1.0), 4)


def same_places(one: Layout, other: Layout) -> bool:
    """Whether everything is at the same place, whatever its size."""

    def without_sizes(node: Tabs | Split) -> object:
        if isinstance(node, Tabs):
            return node
        return (node.down, *(without_sizes(part) for part in node.parts))

    def places(layout: Layout) -> object:
        areas = {area: without_sizes(node) for area, node in layout.areas.items()}
        return areas, set(layout.floating)

    return places(one) == places(other)


def alike(one: Layout, other: Layout) -> bool:
    """Whether two layouts look the same."""

    def sizes(layout: Layout) -> Iterator[float]:
        for area in sorted(layout.areas):
            yield layout.spans[area]
            for split in splits(layout.areas[area]):
                yield from split.shares

    if not same_places(one, other):
        return False
    pairs = zip(sizes(one), sizes(other), strict=True)
    if any(abs(a - b) >= _TOLERANCE for a, b in pairs):
        return False
    boxes = [(one.floating[name], other.floating[name]) for name in one.floating]
    return all(abs(a - b) < _FRAME for box in boxes for a, b in zip(*box, strict=True))


# --- as text --------------------------------------------------------------------------------------


def to_text(layout: Layout) -> str:
    """Return a layout as text for a file."""

    def plain(node: Tabs | Split) -> dict[str, Any]:
        if isinstance(node, Tabs):
            return {"tabs": node.names, "front": node.front}
        return {
            "down": node.down,
            "parts": [plain(part) for part in node.parts],
            "shares": node.shares,
        }

    document = {
        "areas": {area: plain(node) for area, node in layout.areas.items()},
        "spans": dict(layout.spans),
        "floating": dict(layout.floating),
    }
    return base64.b64encode(json.dumps(document).encode()).decode()


def from_text(text: str, names: Sequence[str]) -> Layout | None:
    """Return the layout in a text, or None unless it places docks of these names once each."""
    if not text or len(text) > _LONGEST:
        return None
    try:
        found = json.loads(base64.b64decode(text, validate=True))
        areas = {area: _node(node) for area, node in found["areas"].items()}
        spans = {area: _positive(found["spans"][area]) for area in areas}
        floating = {name: _box(box) for name, box in found["floating"].items()}
        placed = placed_in(areas)
        everywhere = [*placed, *floating]
        valid = (
            len(set(everywhere)) == len(everywhere)
            and set(everywhere) <= set(names)
            and areas.keys() <= set(AREAS)
            and "steps" in placed
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if not valid:
        return None
    return Layout(areas, spans, floating)


def _node(found: Any) -> Tabs | Split:
    if "tabs" in found:
        names = tuple(found["tabs"])
        if found["front"] not in names:
            raise ValueError("the front dock is not among the tabs")
        return Tabs(names, found["front"])
    parts = tuple(_node(part) for part in found["parts"])
    shares = tuple(_positive(share) for share in found["shares"])
    if len(parts) < 2 or len(parts) != len(shares) or not isinstance(found["down"], bool):
        raise ValueError("not a split")
    return Split(found["down"], parts, shares)


def _positive(found: Any) -> float:
    value = float(found)
    if not 0 < value <= 1:
        raise ValueError("not a share")
    return value


def _box(found: Any) -> Box:
    left, top, width, height = (int(value) for value in found)
    if max(map(abs, (left, top, width, height))) > _FARTHEST or min(width, height) < 1:
        raise ValueError("not a place")
    return left, top, width, height
