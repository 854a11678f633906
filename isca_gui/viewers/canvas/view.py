"""Which part of a picture is seen, shared by linked canvases, and drawing on device pixels."""

from __future__ import annotations

import math

from PySide6.QtCore import QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QPen

SMALLEST_ZOOM = 0.02
LARGEST_ZOOM = 128.0


class PictureView(QObject):
    """The part of a picture that is seen; canvases that share a view are linked.

    `zoom` is in device pixels per picture pixel, `x` and `y` are the picture point in the middle.
    While `fitted`, every canvas shows the whole picture instead. Pixels are pairs (row, column).
    """

    changed = Signal()
    cursor_changed = Signal(object)  # pixel pointed at in any of the canvases, or None

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.fitted = True
        self.zoom = 1.0
        self.x = 0.0
        self.y = 0.0
        self.size: tuple[int, int] | None = None  # width and height of the picture
        self.cursor: tuple[int, int] | None = None
        self.by_keys = False  # whether the cursor was placed by keys rather than the pointer
        # Keys start at the chosen pixel, or else at the one pointed at last.
        self.last: tuple[int, int] | None = None
        self.chosen: tuple[int, int] | None = None
        # How many pixels a key moves the cursor: a block's side where blocks are chosen.
        self.stride = 1

    def fit(self) -> None:
        """Show the whole picture."""
        self.fitted = True
        self.changed.emit()

    def adopt_size(self, size: tuple[int, int]) -> None:
        """Keep zoom and place for a picture of the same size; show one of another size whole."""
        if self.size is not None and size != self.size:
            # The cursor may lie outside the new picture.
            self.set_cursor(None)
            if not self.fitted:
                self.fit()
        self.size = size

    def look_at(self, zoom: float, x: float, y: float) -> None:
        """Put a point of the picture in the middle, at a zoom."""
        self.fitted = False
        self.zoom = min(max(zoom, SMALLEST_ZOOM), LARGEST_ZOOM)
        self.x = x
        self.y = y
        self.changed.emit()

    def set_cursor(self, pixel: tuple[int, int] | None, by_keys: bool = False) -> None:
        """Set the pixel that the pointer or the keys point at."""
        if pixel != self.cursor:
            self.cursor = pixel
            self.by_keys = by_keys and pixel is not None
            self.last = pixel or self.last
            self.cursor_changed.emit(pixel)


def screen_rect(
    target: QRectF, zoom: float, top: int, left: int, bottom: int, right: int
) -> QRectF:
    """Return where some pixels of a picture lie on the screen.

    Parameters
    ----------
    target
        Where the whole picture lies, in device pixels.
    zoom
        Device pixels per picture pixel.
    top, left, bottom, right
        The picture's rows and columns; the last two are not included.
    """
    corner = QPointF(target.left() + left * zoom, target.top() + top * zoom)
    return QRectF(corner.x(), corner.y(), (right - left) * zoom, (bottom - top) * zoom)


def paint_caption(painter: QPainter, caption: str, width: int, top: float = 4) -> None:
    """Write a caption on a dark box at the left edge, shortened to the width of the pane."""
    metrics = painter.fontMetrics()
    text = metrics.elidedText(caption, Qt.TextElideMode.ElideRight, max(width - 20, 20))
    box = QRectF(4, top, metrics.horizontalAdvance(text) + 12, metrics.height() + 4)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(0, 0, 0, 150))
    painter.drawRoundedRect(box, 3, 3)
    painter.setPen(QColor("white"))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
    painter.setBrush(Qt.BrushStyle.NoBrush)


def draw_frame(painter: QPainter, place: QRectF) -> None:
    """Draw a frame that can be seen on black and on white."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(0, 0, 0), 3))
    painter.drawRect(place.adjusted(-1, -1, 1, 1))
    painter.setPen(QPen(QColor(255, 255, 255), 1))
    painter.drawRect(place.adjusted(-1, -1, 1, 1))


def draw_visible(
    painter: QPainter, image: QImage, target: QRectF, zoom: float, seen: QRectF
) -> None:
    """Draw the part of an image that is seen.

    Parameters
    ----------
    painter
        Draws in device pixels.
    image
        The image, of which only whole pixels are drawn: a fraction of one would shift the others.
    target
        Where the whole image lies.
    zoom
        Device pixels per image pixel.
    seen
        What of the widget is seen.
    """
    part = target.intersected(seen)
    if part.isEmpty():
        return
    left = math.floor((part.left() - target.left()) / zoom)
    top = math.floor((part.top() - target.top()) / zoom)
    right = min(math.ceil((part.right() - target.left()) / zoom), image.width())
    bottom = min(math.ceil((part.bottom() - target.top()) / zoom), image.height())
    source = QRectF(left, top, right - left, bottom - top)
    painter.drawImage(screen_rect(target, zoom, top, left, bottom, right), image, source)
