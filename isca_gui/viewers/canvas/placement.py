"""Where a picture lies in a widget: zoom, place, and which pixel is under a point."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QPointF, QRectF
from PySide6.QtWidgets import QWidget

from isca_gui.viewers.canvas.view import LARGEST_ZOOM, SMALLEST_ZOOM, PictureView, place_of

if TYPE_CHECKING:
    from isca_gui.viewers.canvas.layers import Layer


class PlacedPicture(QWidget):
    """A widget that shows a part of a picture, on whole device pixels."""

    def __init__(self, parent: QWidget | None = None, view: PictureView | None = None) -> None:
        super().__init__(parent)
        self._layer: Layer | None = None
        self.view = view or PictureView(self)

    @property
    def layer(self) -> Layer | None:
        """What is shown."""
        return self._layer

    def fit(self) -> None:
        """Show the whole picture."""
        self.view.fit()

    def set_zoom(self, zoom: float, about: QPointF | None = None) -> None:
        """Zoom to device pixels per picture pixel; the point of the widget `about` stays where it is."""
        if self._layer is None:
            return
        about = about if about is not None else QPointF(self.width() / 2, self.height() / 2)
        zoom = min(max(zoom, SMALLEST_ZOOM), LARGEST_ZOOM)
        x, y = self._picture_x(about.x()), self._picture_y(about.y())
        ratio = self.devicePixelRatioF() / zoom
        middle_x = x - (about.x() - self.width() / 2) * ratio
        middle_y = y - (about.y() - self.height() / 2) * ratio
        self.view.look_at(zoom, *self._kept_inside(middle_x, middle_y))

    def zoom(self) -> float:
        """Give the zoom that is shown now."""
        if not self.view.fitted or self._layer is None:
            return self.view.zoom
        return self._fitting(self._layer.size)

    def zoom_for(self, size: tuple[int, int]) -> float:
        """Give the zoom at which a picture of a size will be shown; one of another size is shown whole."""
        kept = not self.view.fitted and self.view.size in (None, size)
        return self.view.zoom if kept else self._fitting(size)

    def _fitting(self, size: tuple[int, int]) -> float:
        (width, height), ratio = size, self.devicePixelRatioF()
        return max(min(self.width() * ratio / width, self.height() * ratio / height), SMALLEST_ZOOM)

    def target(self) -> QRectF:
        """Give where the whole picture lies, in device pixels of this widget; whole ones from 1:1 on."""
        if self._layer is None:
            return QRectF()
        ratio, zoom = self.devicePixelRatioF(), self.zoom()
        width, height = self._layer.size
        x, y = (width / 2, height / 2) if self.view.fitted else (self.view.x, self.view.y)
        left, top = self.width() * ratio / 2 - x * zoom, self.height() * ratio / 2 - y * zoom
        if zoom >= 1:
            shift = self._subpixel()
            left, top = math.floor(left + 0.5) - shift.x(), math.floor(top + 0.5) - shift.y()
        return QRectF(left, top, width * zoom, height * zoom)

    def pixel_at(self, position: QPointF) -> tuple[int, int] | None:
        """Give row and column of the picture under a point of the widget."""
        if self._layer is None:
            return None
        column, row = (
            math.floor(self._picture_x(position.x())),
            math.floor(self._picture_y(position.y())),
        )
        width, height = self._layer.size
        return (row, column) if 0 <= row < height and 0 <= column < width else None

    def move_by(self, x: float, y: float) -> None:
        """Move over the picture by pixels of the screen."""
        if self._layer is not None:
            x, y = (self._picture_x(self.width() / 2 + x), self._picture_y(self.height() / 2 + y))
            self.view.look_at(self.zoom(), *self._kept_inside(x, y))

    def bring_in_sight(self, row: int, column: int) -> None:
        """Put a pixel in the middle if it is not seen."""
        place = place_of(self.target(), self.zoom(), row, column, row + 1, column + 1)
        if not self._device_rect().contains(place.center()):
            self.view.look_at(self.zoom(), column + 0.5, row + 0.5)

    def point_of(self, row: int, column: int) -> QPointF:
        """Give the point of the widget at which the middle of a pixel lies."""
        middle = place_of(self.target(), self.zoom(), row, column, row + 1, column + 1).center()
        return middle * (1 / self.devicePixelRatioF())

    def sides(self) -> tuple[float, float]:
        """Give between which shares of the widget's width the picture is seen."""
        target, seen = self.target(), self._device_rect()
        left, right = max(target.left(), seen.left()), min(target.right(), seen.right())
        return (left / seen.width(), right / seen.width()) if left < right else (0.0, 1.0)

    def _picture_x(self, x: float) -> float:
        return (x * self.devicePixelRatioF() - self.target().left()) / self.zoom()

    def _picture_y(self, y: float) -> float:
        return (y * self.devicePixelRatioF() - self.target().top()) / self.zoom()

    def _kept_inside(self, x: float, y: float) -> tuple[float, float]:
        """Keep the middle of the widget on the picture, so that it cannot be lost."""
        width, height = self._layer.size if self._layer else (1, 1)
        return min(max(x, 0.0), float(width)), min(max(y, 0.0), float(height))

    def _subpixel(self) -> QPointF:
        """Give how far the widget's corner lies off a device pixel, at a fractional scale of the screen."""
        ratio = self.devicePixelRatioF()
        corner = QPointF(self.mapTo(self.window(), QPoint(0, 0))) * ratio
        return QPointF(corner.x() - round(corner.x()), corner.y() - round(corner.y()))

    def _device_rect(self) -> QRectF:
        ratio = self.devicePixelRatioF()
        return QRectF(0, 0, self.width() * ratio, self.height() * ratio)
