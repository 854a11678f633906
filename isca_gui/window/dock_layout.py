"""How docks lie, as a tree of our own that can be compared, checked and kept as text.

Not Qt's `saveState`: its bytes tell nothing before they are believed, and altered ones crash `restoreState`.
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
_LONGEST, _FARTHEST = 20_000, 100_000  # characters of a text, pixels of a place
_FRAME = 40  # pixels by which a window manager may move what floats
_ALIKE = (
    0.02  # shares that differ by less are the same: pixels are whole, and windows differ in size
)


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
    """The places of open docks; `spans` is how much of the window's width or height each area takes."""

    areas: Mapping[str, Tabs | Split]
    spans: Mapping[str, float]
    floating: Mapping[str, Box]


# --- the tree -------------------------------------------------------------------------------------


def first(node: Tabs | Split) -> str:
    """Give the dock that the others of a node are put beside."""
    return next(leaves(node)).names[0]


def front(node: Tabs | Split) -> str:
    """Give a dock of a node that is seen."""
    return next(leaves(node)).front


def leaves(node: Tabs | Split) -> Iterator[Tabs]:
    """Give all places."""
    if isinstance(node, Tabs):
        yield node
    else:
        for part in node.parts:
            yield from leaves(part)


def placed_in(areas: Mapping[str, Tabs | Split]) -> list[str]:
    """Name all docks that have a place in the window."""
    return [name for node in areas.values() for tabs in leaves(node) for name in tabs.names]


def splits(node: Tabs | Split) -> Iterator[Split]:
    """Give all splits, the outer ones first."""
    if isinstance(node, Split):
        yield node
        for part in node.parts:
            yield from splits(part)


def share(size: int, whole: int) -> float:
    """Give a part of a whole, 0 to 1; what does not fit reaches beyond the window."""
    return round(min(max(size, 1) / max(whole, 1), 1.0), 4)


def same_places(one: Layout, other: Layout) -> bool:
    """Tell whether everything is at the same place, whatever its size."""

    def bare(node: Tabs | Split) -> object:
        return node if isinstance(node, Tabs) else (node.down, *(bare(part) for part in node.parts))

    def all_of(layout: Layout) -> object:
        areas = {area: bare(node) for area, node in layout.areas.items()}
        return areas, set(layout.floating)

    return all_of(one) == all_of(other)


def alike(one: Layout, other: Layout) -> bool:
    """Tell whether nobody would see a difference."""

    def sizes(layout: Layout) -> Iterator[float]:
        for area in sorted(layout.areas):
            yield layout.spans[area]
            for split in splits(layout.areas[area]):
                yield from split.shares

    if not same_places(one, other):
        return False
    boxes = [(one.floating[name], other.floating[name]) for name in one.floating]
    return all(abs(a - b) < _ALIKE for a, b in zip(sizes(one), sizes(other), strict=True)) and all(
        abs(a - b) < _FRAME for box in boxes for a, b in zip(*box, strict=True)
    )


# --- as text --------------------------------------------------------------------------------------


def to_text(layout: Layout) -> str:
    """Give a layout as text for a file."""

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
    """Read a text; None unless it is a whole layout of docks with these names, each at one place."""
    if not text or len(text) > _LONGEST:
        return None
    try:
        found = json.loads(base64.b64decode(text, validate=True))
        areas = {area: _node(node) for area, node in found["areas"].items()}
        spans = {area: _positive(found["spans"][area]) for area in areas}
        floating = {name: _box(box) for name, box in found["floating"].items()}
        placed = placed_in(areas)
        everywhere = [*placed, *floating]
        right = (
            len(set(everywhere)) == len(everywhere)
            and set(everywhere) <= set(names)
            and areas.keys() <= set(AREAS)
            and "steps" in placed
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return Layout(areas, spans, floating) if right else None


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
