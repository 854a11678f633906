"""The keys of a picture: zoom, move, point at pixels or blocks, choose, move the divider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, Qt

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent

    from isca_gui.viewers.canvas.canvas import PictureCanvas

ZOOM_STEP = 1.25
_ZOOMS = {Qt.Key.Key_1: 1.0, Qt.Key.Key_2: 2.0}
_FACTORS = {
    Qt.Key.Key_Plus: ZOOM_STEP,
    Qt.Key.Key_Equal: ZOOM_STEP,
    Qt.Key.Key_Minus: 1 / ZOOM_STEP,
}
_ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}
# How far an arrow key moves the picture, in logical pixels of the screen.
_MOVE = 40
# How far it moves the divider, as a share of the width.
_DIVIDER = 0.02
_SHIFT = Qt.KeyboardModifier.ShiftModifier
_CONTROL = Qt.KeyboardModifier.ControlModifier


def press(canvas: PictureCanvas, event: QKeyEvent) -> bool:
    """Do what a key means here; return whether it means anything."""
    key = event.key()
    # Qt marks the digits of the keypad, and on macOS the arrows, with a modifier of their own.
    held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    if canvas.layer is None:
        return False
    if key in _ARROWS:
        return _press_arrow(canvas, held, *_ARROWS[key])  # type: ignore[index]
    if held & ~_SHIFT:
        return False
    if key == Qt.Key.Key_F:
        canvas.fit()
    elif key in _ZOOMS:
        _zoom(canvas, _ZOOMS[key])  # type: ignore[index]
    elif key in _FACTORS:
        _zoom(canvas, canvas.zoom() * _FACTORS[key])  # type: ignore[index]
    elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and canvas.view.cursor is not None:
        canvas.clicked.emit(*canvas.view.cursor)
    else:
        return False
    return True


def _press_arrow(canvas: PictureCanvas, held: Qt.KeyboardModifier, across: int, down: int) -> bool:
    if held == _CONTROL and across and canvas.divided:
        canvas.move_divider(canvas.divider + across * _DIVIDER)
    elif held == _SHIFT:
        _point(canvas, across, down)
    elif not held:
        canvas.move_by(across * _MOVE, down * _MOVE)
    else:
        return False
    return True


def _zoom(canvas: PictureCanvas, zoom: float) -> None:
    """Zoom at the pixel that the keys point at, or else at the middle."""
    here = canvas.view.cursor
    if here is None or not canvas.view.by_keys:
        canvas.set_zoom(zoom)
        return
    canvas.set_zoom(zoom, canvas.pixel_centre(*here))
    canvas.bring_into_view(*here)


def _point(canvas: PictureCanvas, across: int, down: int) -> None:
    """Point at the next pixel or block, starting at the last one, or else in the middle."""
    assert canvas.layer is not None
    width, height = canvas.layer.size
    here = canvas.view.cursor
    stride = canvas.view.stride
    if here is None:
        middle = canvas.pixel_at(QPointF(canvas.width() / 2, canvas.height() / 2))
        row, column = _start(canvas) or middle or (height // 2, width // 2)
    else:
        row = (here[0] // stride + down) * stride + stride // 2
        column = (here[1] // stride + across) * stride + stride // 2
    row = min(max(row, 0), height - 1)
    column = min(max(column, 0), width - 1)
    canvas.point_at((row, column), by_keys=True)
    canvas.bring_into_view(row, column)


def _start(canvas: PictureCanvas) -> tuple[int, int] | None:
    """Return the pixel chosen or pointed at last, if it lies in this picture."""
    start = canvas.view.chosen or canvas.view.last
    if start is None or canvas.layer is None:
        return None
    width, height = canvas.layer.size
    return start if start[0] < height and start[1] < width else None
