"""What a project saves of how a viewer looks: its controls, and which part of a picture is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isca_gui.viewers.canvas.view import LARGEST_ZOOM, SMALLEST_ZOOM

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtWidgets import QAbstractButton, QComboBox, QSlider

    from isca_gui.viewers.canvas.view import PictureView

# Beyond this, a picture's side in pixels or a number of epochs is nonsense.
_LARGEST = 1_000_000


@dataclass(frozen=True)
class ViewSetting:
    """One saved setting; `write` ignores a value it does not understand."""

    read: Callable[[], Any]
    write: Callable[[Any], None]


class ViewSettings:
    """All saved settings of a viewer, and the values requested before it was drawn."""

    def __init__(self) -> None:
        self._settings: dict[str, ViewSetting] = {}
        self._requested: dict[str, Any] = {}
        # What the controls showed after the request was applied; a value may have been clipped.
        self._applied: dict[str, Any] | None = None
        self._pending = False

    def register(self, **settings: ViewSetting) -> None:
        """Save these settings under their names."""
        self._settings.update(settings)

    def values(self) -> dict[str, Any]:
        """Return all values, JSON-safe: those requested, unless the user has changed any since."""
        shown = self._read()
        if self._pending or shown == self._applied:
            return shown | self._requested
        return shown

    def request(self, values: Mapping[str, Any]) -> None:
        """Ask for values that are applied when there is something to see."""
        self._requested = dict(values)
        self._pending = True

    def forget_request(self) -> None:
        """Drop the requested values: another project begins."""
        self._requested = {}
        self._applied = None
        self._pending = False

    def apply_request(self) -> None:
        """Apply the requested values, once, now that there is something to see."""
        if not self._pending:
            return
        self._pending = False
        for name, setting in self._settings.items():
            if name in self._requested:
                setting.write(self._requested[name])
        self._applied = self._read()

    def _read(self) -> dict[str, Any]:
        return {name: setting.read() for name, setting in self._settings.items()}


def checked(button: QAbstractButton) -> ViewSetting:
    """Save whether a button is down."""

    def write(value: Any) -> None:
        if isinstance(value, bool):
            button.setChecked(value)

    return ViewSetting(button.isChecked, write)


def one_of(buttons: Mapping[str, QAbstractButton]) -> ViewSetting:
    """Save which one of several buttons is down."""

    def read() -> str:
        return next(name for name, button in buttons.items() if button.isChecked())

    def write(value: Any) -> None:
        if isinstance(value, str) and value in buttons and not buttons[value].isChecked():
            buttons[value].click()

    return ViewSetting(read, write)


def some_of(buttons: Mapping[str, QAbstractButton]) -> ViewSetting:
    """Save which of several buttons are down, any number of them."""

    def read() -> list[str]:
        return [name for name, button in buttons.items() if button.isChecked()]

    def write(value: Any) -> None:
        if not isinstance(value, list):
            return
        if all(isinstance(name, str) and name in buttons for name in value):
            for name, button in buttons.items():
                button.setChecked(name in value)

    return ViewSetting(read, write)


def slider(widget: QSlider) -> ViewSetting:
    """Save the value of a slider."""

    def write(value: Any) -> None:
        if type(value) is int and widget.minimum() <= value <= widget.maximum():
            widget.setValue(value)

    return ViewSetting(widget.value, write)


def share(read: Callable[[], float], write: Callable[[float], None]) -> ViewSetting:
    """Save a number from 0 to 1."""

    def write_share(value: Any) -> None:
        if type(value) in (int, float) and 0 <= value <= 1:
            write(float(value))

    return ViewSetting(read, write_share)


def combo(widget: QComboBox) -> ViewSetting:
    """Save which line of a list is chosen: its text, and its place among lines of the same text."""

    def places(text: str) -> list[int]:
        return [place for place in range(widget.count()) if widget.itemText(place) == text]

    def read() -> list[Any]:
        text = widget.currentText()
        place = widget.currentIndex()
        return [text, places(text).index(place) if place >= 0 else 0]

    def write(value: Any) -> None:
        if isinstance(value, list) and [type(each) for each in value] == [str, int]:
            found = places(value[0])
            if 0 <= value[1] < len(found):
                widget.setCurrentIndex(found[value[1]])

    return ViewSetting(read, write)


def visible_part(view: PictureView) -> ViewSetting:
    """Save which part of a picture is seen, and the picture's size; None stands for all of it."""

    def read() -> list[float] | None:
        if view.fitted or view.size is None:
            return None
        return [view.zoom, view.x, view.y, *view.size]

    def write(value: Any) -> None:
        if value is None:
            view.fit()
        elif _is_visible_part(value):
            view.size = (value[3], value[4])
            view.look_at(*value[:3])

    return ViewSetting(read, write)


def is_number_list(value: Any, count: int) -> bool:
    """Whether a value is a list of `count` finite numbers of sensible size."""
    if not isinstance(value, list) or len(value) != count:
        return False
    return all(type(each) in (int, float) and -_LARGEST <= each <= _LARGEST for each in value)


def _is_visible_part(value: Any) -> bool:
    """Whether a value is a zoom, a point of a picture, and the picture's width and height."""
    if not is_number_list(value, 5) or min(value) < 0:
        return False
    zoom, x, y, width, height = value
    if not all(type(side) is int and side > 0 for side in (width, height)):
        return False
    return bool(SMALLEST_ZOOM <= zoom <= LARGEST_ZOOM and x <= width and y <= height)
