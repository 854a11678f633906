"""Which part of a picture is seen, shared by linked panes, and drawing on the screen's own pixels."""

from __future__ import annotations

import math

from PySide6.QtCore import QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QPen

SMALLEST_ZOOM, LARGEST_ZOOM = 0.02, 128.0


class PictureView(QObject):
    """What part of a picture is seen; canvases that share one are linked.

    `zoom` is in device pixels per picture pixel. While `fitted`, each canvas shows all
    of it.
    """

    changed = Signal()
    cursor_changed = Signal(
        object
    )  # (row, column) under the pointer in any of the canvases, or None

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.fitted = True
        self.zoom = 1.0
        self.x = self.y = 0.0
        self.size: tuple[int, int] | None = None  # width and height of the picture that is seen
        self.cursor: tuple[int, int] | None = None
        self.last: tuple[int, int] | None = None  # where the cursor was last: there keys begin,
        self.chosen: tuple[int, int] | None = None  # or here, where something was chosen
        self.by_keys = False  # the cursor is where keys have put it, not where the pointer is
        self.stride = (
            1  # pixels from one place to the next for keys: a block's side where blocks are chosen
        )

    def fit(self) -> None:
        """Show the whole picture."""
        self.fitted = True
        self.changed.emit()

    def take_size(self, size: tuple[int, int]) -> None:
        """Stay as it is for a picture of the same size; show one of another size whole."""
        if self.size is not None and size != self.size:
            self.set_cursor(None)  # it may lie outside
            if not self.fitted:
                self.fit()
        self.size = size

    def look_at(self, zoom: float, x: float, y: float) -> None:
        """Put a point of the picture in the middle, at a zoom."""
        self.fitted = False
        self.zoom = min(max(zoom, SMALLEST_ZOOM), LARGEST_ZOOM)
        self.x, self.y = x, y
        self.changed.emit()

    def set_cursor(self, place: tuple[int, int] | None, by_keys: bool = False) -> None:
        """Tell all panes where the pointer is, or where keys point."""
        if place != self.cursor:
            self.cursor, self.by_keys = place, by_keys and place is not None
            self.last = place or self.last
            self.cursor_changed.emit(place)


def place_of(target: QRectF, zoom: float, top: int, left: int, bottom: int, right: int) -> QRectF:
    """Give where some pixels of a picture lie on the screen."""
    corner = QPointF(target.left() + left * zoom, target.top() + top * zoom)
    return QRectF(corner.x(), corner.y(), (right - left) * zoom, (bottom - top) * zoom)


def paint_caption(painter: QPainter, caption: str, width: int, top: float = 4) -> None:
    """Write what a picture is at its left edge, in the upper corner if nothing else is said."""
    metrics = painter.fontMetrics()
    text = metrics.elidedText(caption, Qt.TextElideMode.ElideRight, max(width - 20, 20))
    box = QRectF(4, top, metrics.horizontalAdvance(text) + 12, metrics.height() + 4)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(0, 0, 0, 150))
    painter.drawRoundedRect(box, 3, 3)
    painter.setPen(QColor("white"))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
    painter.setBrush(Qt.BrushStyle.NoBrush)


def frame(painter: QPainter, place: QRectF) -> None:
    """Draw a frame that is seen on black and on white."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(0, 0, 0), 3))
    painter.drawRect(place.adjusted(-1, -1, 1, 1))
    painter.setPen(QPen(QColor(255, 255, 255), 1))
    painter.drawRect(place.adjusted(-1, -1, 1, 1))


def draw_part(painter: QPainter, image: QImage, target: QRectF, zoom: float, seen: QRectF) -> None:
    """Draw the part of an image that is seen, on whole pixels of the image."""
    part = target.intersected(seen)
    if part.isEmpty():
        return
    left, top = (
        math.floor(v / zoom) for v in (part.left() - target.left(), part.top() - target.top())
    )
    right = min(math.ceil((part.right() - target.left()) / zoom), image.width())
    bottom = min(math.ceil((part.bottom() - target.top()) / zoom), image.height())
    source = QRectF(left, top, right - left, bottom - top)
    place = QRectF(
        target.left() + left * zoom,
        target.top() + top * zoom,
        source.width() * zoom,
        source.height() * zoom,
    )
    painter.drawImage(place, image, source)
