"""A pane for one picture: exact on the device pixel, never smoothed when enlarged, linked to others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QPointF, QRect, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QImage, QPainter, QPen
from PySide6.QtWidgets import QDockWidget, QSizePolicy, QWidget

from isca_gui.viewers.canvas import keys
from isca_gui.viewers.canvas.layers import grey_layer, pixel_image
from isca_gui.viewers.canvas.placement import PlacedPicture
from isca_gui.viewers.canvas.view import draw_part, frame, paint_caption, place_of
from isca_gui.widgets import theme

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from PySide6.QtGui import (
        QContextMenuEvent,
        QFocusEvent,
        QKeyEvent,
        QMouseEvent,
        QPaintEvent,
        QShowEvent,
        QWheelEvent,
    )
    from PySide6.QtWidgets import QMenu

    from isca_gui.core.pictures.blocks import Rectangle
    from isca_gui.viewers.canvas.layers import Layer
    from isca_gui.viewers.canvas.view import PictureView

_GRIP = 6  # pixels beside the divider in which it can be taken


class PictureCanvas(PlacedPicture):
    """Shows a picture, an overlay over it, and at will a second picture right of a divider."""

    clicked = Signal(int, int)
    pixel_changed = Signal(
        int, int, str
    )  # row, column and the value there; (-1, -1, "") if none; new zoom
    divider_moved = Signal(float)

    def __init__(
        self, name: str, parent: QWidget | None = None, view: PictureView | None = None
    ) -> None:
        super().__init__(parent, view)
        self.setAccessibleName(name)
        self.setToolTip(
            f"{name}. Wheel: zoom about the pointer; drag: move; F: fit, 1: one to one, 2: two to one. "
            "By keys: arrows move, Shift+arrows point."
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setMinimumSize(96, 96)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.caption = ""
        self.menu: Callable[[], QMenu] | None = None  # of saving and copying
        self._second: Layer | None = None
        self._overlay: QImage | None = None
        self._opacity, self._overlay_shown = 1.0, True
        self._highlight: Rectangle | None = None
        self._marked: tuple[int, int] | None = None  # where the pointer's mark is drawn
        self._told = self._in_dock = (
            False  # whether a pixel pointed at is told; whether its dock is heard
        )
        self._divider = 0.5
        self._pressed: QPointF | None = None
        self._grabbed: QPointF | None = None  # the picture point that is dragged
        self._dragging_divider = False
        self._connect_view()

    # --- what is shown ----------------------------------------------------------------------------------

    def set_layer(self, layer: Layer | None) -> None:
        """Show a layer; the part that is seen stays if the size does."""
        self._layer = layer
        if layer is not None:
            self.view.take_size(layer.size)
        self.update()

    def set_picture(self, picture: NDArray[Any] | None) -> None:
        """Show grey intensities in [0, 1]."""
        self.set_layer(None if picture is None else grey_layer(picture))

    def set_second(self, layer: Layer | None) -> None:
        """Show another layer right of the divider, or nothing."""
        self._second = layer
        self.update()

    @property
    def divided(self) -> bool:
        """Whether there is another layer right of a divider."""
        return self._second is not None

    @property
    def divider(self) -> float:
        """Where the divider is, as a share of the width."""
        return self._divider

    def set_divider(self, share: float) -> None:
        """Put the divider at a share of the width."""
        self._divider = min(max(share, 0.0), 1.0)
        self.divider_moved.emit(self._divider)
        self.update()

    def move_divider(self, share: float) -> None:
        """Move the divider, but not off the picture: beyond its edges there is nothing to compare."""
        first, last = self.sides()
        self.set_divider(min(max(share, first), last))

    def set_overlay(self, pixels: NDArray[Any] | QImage | None) -> None:
        """Lay RGBA pixels over the picture."""
        made = pixels is None or isinstance(pixels, QImage)
        self._overlay = pixels if made else pixel_image(pixels)  # type: ignore[assignment, arg-type]
        self.update()

    def set_overlay_opacity(self, opacity: float) -> None:
        """Set how much of the overlay is seen, 0 to 1."""
        self._opacity = min(max(opacity, 0.0), 1.0)
        self.update()

    def set_overlay_shown(self, shown: bool) -> None:
        """Hide the overlay for a while, or show it again."""
        self._overlay_shown = shown
        self.update()

    def set_highlight(self, rectangle: Rectangle | None) -> None:
        """Draw a frame around some pixels."""
        for each in (self._highlight, rectangle):
            if each is not None:
                self._update_near(each.top, each.left, each.bottom, each.right)
        self._highlight = rectangle

    def set_caption(self, text: str) -> None:
        """Write what this is into the upper left corner."""
        if text != self.caption:
            self.caption = text
            self.update()

    def composed(self) -> QImage | None:
        """Give the picture with its overlay, one image pixel per picture pixel, for saving."""
        if self._layer is None:
            return None
        image = self._layer.image.convertToFormat(QImage.Format.Format_RGB32)
        painter = QPainter(image)
        if self._second is not None:
            edge = round(min(max(self._picture_x(self._divider * self.width()), 0), image.width()))
            right = QRect(edge, 0, image.width() - edge, image.height())
            painter.drawImage(right, self._second.image, right)
        if self._overlay is not None and self._overlay_shown:
            painter.setOpacity(self._opacity)
            painter.drawImage(image.rect(), self._overlay)
        painter.end()
        return image

    # --- what is pointed at -----------------------------------------------------------------------------

    def point_at(self, pixel: tuple[int, int] | None, by_keys: bool = False) -> None:
        """Tell what is at a pixel, as the pointer does where it is."""
        if pixel == self.view.cursor:
            return
        self.view.set_cursor(pixel, by_keys)
        if pixel is not None and self._layer is not None:
            self._tell()

    def fit(self) -> None:
        """Show the whole picture."""
        super().fit()
        self._tell()

    def set_zoom(self, zoom: float, about: QPointF | None = None) -> None:
        """Zoom to device pixels per picture pixel; the point of the widget `about` stays where it is."""
        super().set_zoom(zoom, about)
        self._tell()

    def _tell(self) -> None:
        """Tell what is pointed at, and with it the zoom."""
        place = self.view.cursor
        self._told = place is not None and self._layer is not None
        if self._told:
            self.pixel_changed.emit(*place, self._layer.text_at(*place))  # type: ignore[misc, union-attr]
        else:
            self.pixel_changed.emit(-1, -1, "")

    def link(self, other: PictureCanvas) -> None:
        """Move and zoom together with another canvas from now on."""
        self.view.changed.disconnect(self.update)
        self.view.cursor_changed.disconnect(self._on_cursor_changed)
        self.view = other.view
        self._connect_view()
        self.update()

    def _connect_view(self) -> None:
        self.view.changed.connect(self.update)
        self.view.cursor_changed.connect(self._on_cursor_changed)

    # --- events -----------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw everything, in device pixels."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.PICTURE_GREY))
        if self._layer is not None:
            painter.save()
            ratio = self.devicePixelRatioF()
            painter.scale(1 / ratio, 1 / ratio)
            self._paint_pictures(painter)
            self._paint_marks(painter)
            painter.restore()
        if self.caption:
            paint_caption(painter, self.caption, self.width())
        if self.hasFocus():
            painter.setPen(QPen(self.palette().color(self.palette().ColorRole.Highlight), 1))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()

    def _paint_pictures(self, painter: QPainter) -> None:
        assert self._layer is not None
        target, zoom = self.target(), self.zoom()
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, zoom < 1)
        draw_part(painter, self._layer.image, target, zoom, self._device_rect())
        if self._overlay is not None and self._overlay_shown and self._opacity > 0:
            painter.setOpacity(self._opacity)
            stretched = zoom * self._layer.size[0] / self._overlay.width()
            draw_part(painter, self._overlay, target, stretched, self._device_rect())
            painter.setOpacity(1.0)
        if self._second is not None:
            edge = self._divider * self.width() * self.devicePixelRatioF()
            right = self._device_rect()
            right.setLeft(edge)
            painter.save()
            painter.setClipRect(right)
            draw_part(painter, self._second.image, target, zoom, self._device_rect())
            painter.restore()
            painter.setPen(QPen(QColor(0, 0, 0, 160), 3))
            painter.drawLine(QPointF(edge, 0), QPointF(edge, right.height()))
            painter.setPen(QPen(QColor("white"), 1))
            painter.drawLine(QPointF(edge, 0), QPointF(edge, right.height()))

    def _paint_marks(self, painter: QPainter) -> None:
        target, zoom = self.target(), self.zoom()
        if self._highlight is not None:
            r = self._highlight
            frame(painter, place_of(target, zoom, r.top, r.left, r.bottom, r.right))
        if self.view.cursor is not None and (self.view.by_keys or not self.underMouse()):
            row, column = self.view.cursor
            place = place_of(target, zoom, row, column, row + 1, column + 1)
            frame(painter, place.adjusted(-3, -3, 3, 3) if zoom < 6 else place)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the pointer; sideways, or at the end of a movement, a fitted picture stays fitted."""
        turns = event.angleDelta().y() / 120
        if turns:
            self.set_zoom(self.zoom() * keys.ZOOM_STEP**turns, event.position())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take the divider or the picture."""
        if event.button() != Qt.MouseButton.LeftButton or self._layer is None:
            return super().mousePressEvent(event)
        place = event.position()
        self._pressed = place
        self._dragging_divider = self._near_divider(place)
        self._grabbed = QPointF(self._picture_x(place.x()), self._picture_y(place.y()))
        return None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the divider or the picture, or tell what is under the pointer."""
        place = event.position()
        if self._dragging_divider:
            self.move_divider(place.x() / max(self.width(), 1))
        elif self._grabbed is not None and self._moved(place):
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            ratio = self.devicePixelRatioF() / self.zoom()
            x = self._grabbed.x() - (place.x() - self.width() / 2) * ratio
            y = self._grabbed.y() - (place.y() - self.height() / 2) * ratio
            self.view.look_at(self.zoom(), *self._kept_inside(x, y))
        else:
            near = self._near_divider(place)
            self.setCursor(Qt.CursorShape.SplitHCursor if near else Qt.CursorShape.CrossCursor)
        self.point_at(self.pixel_at(place))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go; what was not moved was clicked."""
        pressed, was_divider = self._pressed, self._dragging_divider
        moved = pressed is None or self._moved(event.position())
        self._pressed = self._grabbed = None
        self._dragging_divider = False
        self.setCursor(Qt.CursorShape.CrossCursor)
        pixel = self.pixel_at(event.position())
        if not moved and not was_divider and pixel is not None:
            self.clicked.emit(*pixel)

    def leaveEvent(self, event: Any) -> None:
        """Forget the pointer; where keys point stays."""
        if not self.view.by_keys:
            self.view.set_cursor(None)
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Zoom, move, point, choose or move the divider."""
        if not keys.press(self, event):
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Show the tool tip at the caption only: elsewhere it would hide what is looked at."""
        if (
            isinstance(event, QHelpEvent)
            and event.type() == QEvent.Type.ToolTip
            and self._layer is not None
        ):
            if event.pos().y() > 2 * self.fontMetrics().height():
                event.ignore()
                return True
        return super().event(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer to save and copy."""
        if self.menu is not None and self._layer is not None:
            self.menu().popup(event.globalPos())

    def _on_cursor_changed(self, place: tuple[int, int] | None) -> None:
        for each in (self._marked, place):
            if each is not None:
                self._update_near(each[0], each[1], each[0] + 1, each[1] + 1)
        self._marked = place
        if place is None and self._told:
            self._tell()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Tell what keys point at."""
        super().focusInEvent(event)
        if self.view.by_keys and self._layer is not None:
            self._tell()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Do not tell what keys point at while they go elsewhere."""
        super().focusOutEvent(event)
        if self.view.by_keys:
            self._untell()

    def showEvent(self, event: QShowEvent) -> None:
        """Hear from the dock around it when it goes behind another tab: for Qt that is not hidden."""
        super().showEvent(event)
        above = self.parentWidget()
        while above is not None and not isinstance(above, QDockWidget):
            above = above.parentWidget()
        if above is not None and not self._in_dock:
            self._in_dock = True
            above.visibilityChanged.connect(self._on_dock_visibility_changed)

    def _on_dock_visibility_changed(self, visible: bool) -> None:
        if not visible:
            self._untell()
            if not self.view.by_keys:
                self.view.set_cursor(None)
        elif self.view.by_keys and self.hasFocus():
            self._tell()

    def _untell(self) -> None:
        """Tell nothing about a pixel that may still be pointed at."""
        if self._told:
            self._told = False
            self.pixel_changed.emit(-1, -1, "")

    def _update_near(self, top: int, left: int, bottom: int, right: int) -> None:
        """Draw anew around some pixels only: the pointer moves often."""
        place = place_of(self.target(), self.zoom(), top, left, bottom, right)
        ratio = self.devicePixelRatioF()
        self.update(
            math.floor(place.left() / ratio) - 6, math.floor(place.top() / ratio) - 6,
            math.ceil(place.width() / ratio) + 13, math.ceil(place.height() / ratio) + 13,
        )  # fmt: skip

    def _near_divider(self, place: QPointF) -> bool:
        return self.divided and abs(place.x() - self._divider * self.width()) <= _GRIP

    def _moved(self, place: QPointF) -> bool:
        return self._pressed is None or (place - self._pressed).manhattanLength() > 3
