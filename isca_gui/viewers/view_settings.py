"""What a project keeps of how a viewer looks: its controls, and which part of a picture is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isca_gui.viewers.canvas.view import LARGEST_ZOOM, SMALLEST_ZOOM

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtWidgets import QAbstractButton, QComboBox, QSlider

    from isca_gui.viewers.canvas.view import PictureView

_LARGEST = 1_000_000  # pixels of a side, or epochs


@dataclass(frozen=True)
class Kept:
    """One thing that is kept. What `put` does not understand changes nothing."""

    read: Callable[[], Any]
    put: Callable[[Any], None]


class ViewSettings:
    """All that is kept of a viewer, and what it was asked to look like before it was drawn."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}
        self._asked: dict[str, Any] = {}
        self._came_out: dict[str, Any] | None = None  # what became of that
        self._waiting = False

    def keep(self, **kept: Kept) -> None:
        """Keep these, by name."""
        self._kept.update(kept)

    def values(self) -> dict[str, Any]:
        """Give everything, JSON-safe; as it was asked for, unless somebody has changed it since."""
        now = {name: each.read() for name, each in self._kept.items()}
        return now | self._asked if self._waiting or now == self._came_out else now

    def ask(self, values: Mapping[str, Any]) -> None:
        """Look like this when there is something to see."""
        self._asked, self._waiting = dict(values), True

    def forget(self) -> None:
        """Look like anything: nobody asks."""
        self._asked, self._came_out, self._waiting = {}, None, False

    def settle(self) -> None:
        """There is something to see: look as was asked for."""
        if not self._waiting:
            return
        self._waiting = False
        for name, each in self._kept.items():
            if name in self._asked:
                each.put(self._asked[name])
        self._came_out = {name: each.read() for name, each in self._kept.items()}


def button(kept: QAbstractButton) -> Kept:
    """Keep whether a button is down."""

    def put(value: Any) -> None:
        if isinstance(value, bool):
            kept.setChecked(value)

    return Kept(kept.isChecked, put)


def one_of(buttons: Mapping[str, QAbstractButton]) -> Kept:
    """Keep which of some buttons is down."""

    def put(value: Any) -> None:
        if isinstance(value, str) and value in buttons and not buttons[value].isChecked():
            buttons[value].click()

    return Kept(lambda: next(name for name, each in buttons.items() if each.isChecked()), put)


def some_of(buttons: Mapping[str, QAbstractButton]) -> Kept:
    """Keep which of some buttons are down, any number of them."""

    def put(value: Any) -> None:
        if isinstance(value, list) and all(
            isinstance(name, str) and name in buttons for name in value
        ):
            for name, each in buttons.items():
                each.setChecked(name in value)

    return Kept(lambda: [name for name, each in buttons.items() if each.isChecked()], put)


def slider(kept: QSlider) -> Kept:
    """Keep a number."""

    def put(value: Any) -> None:
        if type(value) is int and kept.minimum() <= value <= kept.maximum():
            kept.setValue(value)

    return Kept(kept.value, put)


def share(read: Callable[[], float], put: Callable[[float], None]) -> Kept:
    """Keep a number from 0 to 1."""

    def put_share(value: Any) -> None:
        if type(value) in (int, float) and 0 <= value <= 1:
            put(float(value))

    return Kept(read, put_share)


def combo(kept: QComboBox) -> Kept:
    """Keep which line of a list is chosen, by its words and which of those that have these words it is."""

    def places(words: str) -> list[int]:
        return [place for place in range(kept.count()) if kept.itemText(place) == words]

    def read() -> list[Any]:
        words, place = kept.currentText(), kept.currentIndex()
        return [words, places(words).index(place) if place >= 0 else 0]

    def put(value: Any) -> None:
        if isinstance(value, list) and [type(each) for each in value] == [str, int]:
            found = places(value[0])
            if 0 <= value[1] < len(found):
                kept.setCurrentIndex(found[value[1]])

    return Kept(read, put)


def view(kept: PictureView) -> Kept:
    """Keep which part of a picture is seen, and of a picture of what size; None is all of it."""

    def read() -> list[float] | None:
        return None if kept.fitted or kept.size is None else [kept.zoom, kept.x, kept.y, *kept.size]

    def put(value: Any) -> None:
        if value is None:
            kept.fit()
        elif _is_part(value):
            kept.size = value[3], value[4]
            kept.look_at(*value[:3])

    return Kept(read, put)


def is_numbers(value: Any, count: int) -> bool:
    """Tell whether this is a list of so many numbers, none of them infinite or not a number."""
    if not isinstance(value, list) or len(value) != count:
        return False
    return all(type(each) in (int, float) and -_LARGEST <= each <= _LARGEST for each in value)


def _is_part(value: Any) -> bool:
    """Tell whether this is a zoom, a point of a picture, and the picture's width and height."""
    if not is_numbers(value, 5) or min(value) < 0:
        return False
    zoom, x, y, width, height = value
    sizes = all(type(each) is int and each > 0 for each in (width, height))
    return sizes and SMALLEST_ZOOM <= zoom <= LARGEST_ZOOM and x <= width and y <= height
