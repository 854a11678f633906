"""A canvas for one picture: exact on device pixels, not smoothed when enlarged, linkable."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QImage, QPainter, QPen
from PySide6.QtWidgets import QDockWidget, QSizePolicy, QWidget

from isca_gui.viewers.canvas import keys
from isca_gui.viewers.canvas.layers import grey_layer, pixel_image
from isca_gui.viewers.canvas.view import (
    LARGEST_ZOOM,
    SMALLEST_ZOOM,
    PictureView,
    draw_frame,
    draw_visible,
    paint_caption,
    screen_rect,
)
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

# Distance in pixels within which the pointer takes hold of the divider.
_GRIP = 6
# Movement in pixels above which a press and a release are a drag and no click.
_DRAG = 3


class PictureCanvas(QWidget):
    """Shows a picture, an overlay, and optionally a second picture to the right of a divider."""

    clicked = Signal(int, int)  # row, column
    pixel_changed = Signal(int, int, str)  # row, column, value there; (-1, -1, "") for none
    divider_moved = Signal(float)

    def __init__(
        self, name: str, parent: QWidget | None = None, view: PictureView | None = None
    ) -> None:
        super().__init__(parent)
        self.view = view or PictureView(self)
        self.setAccessibleName(name)
        self.setToolTip(
            f"{name}. Wheel: zoom at the pointer. Drag: move. "
            "Keys: F fits, 1 and 2 zoom to 100% and 200%. "
            "Arrow keys move the picture, Shift+arrow keys move the cursor."
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setMinimumSize(96, 96)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.caption = ""
        # Makes the menu for saving and copying.
        self.menu: Callable[[], QMenu] | None = None
        self._layer: Layer | None = None
        self._second: Layer | None = None
        self._overlay: QImage | None = None
        self._opacity = 1.0
        self._overlay_shown = True
        self._highlight: Rectangle | None = None
        self._marked: tuple[int, int] | None = None  # the pixel whose mark is drawn
        self._reported = False  # whether `pixel_changed` last named a pixel
        self._dock_connected = False
        self._divider = 0.5
        self._pressed: QPointF | None = None
        self._grabbed: QPointF | None = None  # the picture point that is dragged
        self._dragging_divider = False
        self._connect_view()

    # --- what is shown ----------------------------------------------------------------------------

    @property
    def layer(self) -> Layer | None:
        """The layer that is shown."""
        return self._layer

    def set_layer(self, layer: Layer | None) -> None:
        """Show a layer; zoom and place stay if the size does."""
        self._layer = layer
        if layer is not None:
            self.view.adopt_size(layer.size)
        self.update()

    def set_picture(self, picture: NDArray[Any] | None) -> None:
        """Show grey intensities in [0, 1]."""
        self.set_layer(None if picture is None else grey_layer(picture))

    def set_second(self, layer: Layer | None) -> None:
        """Show another layer to the right of the divider, or none."""
        self._second = layer
        self.update()

    @property
    def divided(self) -> bool:
        """Whether there is another layer to the right of a divider."""
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
        """Move the divider, but not off the picture, where there is nothing to compare."""
        first, last = self._visible_span()
        self.set_divider(min(max(share, first), last))

    def set_overlay(self, pixels: NDArray[Any] | QImage | None) -> None:
        """Lay an image or RGBA pixels over the picture."""
        if pixels is None or isinstance(pixels, QImage):
            self._overlay = pixels
        else:
            self._overlay = pixel_image(pixels)
        self.update()

    def set_overlay_opacity(self, opacity: float) -> None:
        """Set the opacity of the overlay, 0 to 1."""
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
        """Write a caption into the upper left corner."""
        if text != self.caption:
            self.caption = text
            self.update()

    def composed(self) -> QImage | None:
        """Return the picture with its overlay, one image pixel per picture pixel, for saving."""
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

    # --- where the picture lies -------------------------------------------------------------------

    def fit(self) -> None:
        """Show the whole picture."""
        self.view.fit()
        self._report_pixel()

    def set_zoom(self, zoom: float, about: QPointF | None = None) -> None:
        """Zoom to device pixels per picture pixel; the widget's point `about` stays in place."""
        if self._layer is not None:
            if about is None:
                about = self._middle()
            zoom = min(max(zoom, SMALLEST_ZOOM), LARGEST_ZOOM)
            self._look_so_that(self._picture_point(about), about, zoom)
        self._report_pixel()

    def zoom(self) -> float:
        """Return the zoom that is shown now."""
        if not self.view.fitted or self._layer is None:
            return self.view.zoom
        return self._fitting_zoom(self._layer.size)

    def zoom_for(self, size: tuple[int, int]) -> float:
        """Return the zoom at which a picture will be shown; one of another size is fitted."""
        if not self.view.fitted and self.view.size in (None, size):
            return self.view.zoom
        return self._fitting_zoom(size)

    def _fitting_zoom(self, size: tuple[int, int]) -> float:
        width, height = size
        ratio = self.devicePixelRatioF()
        return max(min(self.width() * ratio / width, self.height() * ratio / height), SMALLEST_ZOOM)

    def target(self) -> QRectF:
        """Return where the whole picture lies, in device pixels; whole ones from 1:1 on."""
        if self._layer is None:
            return QRectF()
        ratio = self.devicePixelRatioF()
        zoom = self.zoom()
        width, height = self._layer.size
        x, y = self.view.x, self.view.y
        if self.view.fitted:
            x, y = width / 2, height / 2
        left = self.width() * ratio / 2 - x * zoom
        top = self.height() * ratio / 2 - y * zoom
        if zoom >= 1:
            offset = self._subpixel_offset()
            left = math.floor(left + 0.5) - offset.x()
            top = math.floor(top + 0.5) - offset.y()
        return QRectF(left, top, width * zoom, height * zoom)

    def pixel_at(self, position: QPointF) -> tuple[int, int] | None:
        """Return row and column of the picture under a point of the widget."""
        if self._layer is None:
            return None
        row = math.floor(self._picture_y(position.y()))
        column = math.floor(self._picture_x(position.x()))
        width, height = self._layer.size
        return (row, column) if 0 <= row < height and 0 <= column < width else None

    def pixel_centre(self, row: int, column: int) -> QPointF:
        """Return the point of the widget at the centre of a pixel."""
        rect = screen_rect(self.target(), self.zoom(), row, column, row + 1, column + 1)
        return rect.center() * (1 / self.devicePixelRatioF())

    def move_by(self, x: float, y: float) -> None:
        """Move over the picture by logical pixels of the screen."""
        if self._layer is not None:
            point = self._picture_point(self._middle() + QPointF(x, y))
            self.view.look_at(self.zoom(), *self._clamped(point.x(), point.y()))

    def bring_into_view(self, row: int, column: int) -> None:
        """Put a pixel in the middle if it is not seen."""
        rect = screen_rect(self.target(), self.zoom(), row, column, row + 1, column + 1)
        if not self._device_rect().contains(rect.center()):
            self.view.look_at(self.zoom(), column + 0.5, row + 0.5)

    def _visible_span(self) -> tuple[float, float]:
        """Return the left and right end of what is seen of the picture, as shares of the width."""
        target = self.target()
        seen = self._device_rect()
        left = max(target.left(), seen.left())
        right = min(target.right(), seen.right())
        if left >= right:
            return 0.0, 1.0
        return left / seen.width(), right / seen.width()

    def _look_so_that(self, point: QPointF, place: QPointF, zoom: float) -> None:
        """Show the picture so that a point of it lies at a place of the widget."""
        offset = (place - self._middle()) * (self.devicePixelRatioF() / zoom)
        self.view.look_at(zoom, *self._clamped(point.x() - offset.x(), point.y() - offset.y()))

    def _middle(self) -> QPointF:
        return QPointF(self.width() / 2, self.height() / 2)

    def _picture_point(self, place: QPointF) -> QPointF:
        return QPointF(self._picture_x(place.x()), self._picture_y(place.y()))

    def _picture_x(self, x: float) -> float:
        return (x * self.devicePixelRatioF() - self.target().left()) / self.zoom()

    def _picture_y(self, y: float) -> float:
        return (y * self.devicePixelRatioF() - self.target().top()) / self.zoom()

    def _clamped(self, x: float, y: float) -> tuple[float, float]:
        """Keep the middle of the widget on the picture, so that the picture cannot get lost."""
        width, height = self._layer.size if self._layer else (1, 1)
        return min(max(x, 0.0), float(width)), min(max(y, 0.0), float(height))

    def _subpixel_offset(self) -> QPointF:
        """Return how far the widget's corner lies off a device pixel, at a fractional scale."""
        corner = QPointF(self.mapTo(self.window(), QPoint(0, 0))) * self.devicePixelRatioF()
        return QPointF(corner.x() - round(corner.x()), corner.y() - round(corner.y()))

    def _device_rect(self) -> QRectF:
        ratio = self.devicePixelRatioF()
        return QRectF(0, 0, self.width() * ratio, self.height() * ratio)

    # --- what is pointed at -----------------------------------------------------------------------

    def point_at(self, pixel: tuple[int, int] | None, by_keys: bool = False) -> None:
        """Move the cursor to a pixel and report its value."""
        if pixel == self.view.cursor:
            return
        self.view.set_cursor(pixel, by_keys)
        if pixel is not None and self._layer is not None:
            self._report_pixel()

    def _report_pixel(self) -> None:
        """Emit the pixel pointed at; the window also shows the zoom then."""
        pixel = self.view.cursor
        if pixel is None or self._layer is None:
            self._reported = False
            self.pixel_changed.emit(-1, -1, "")
        else:
            self._reported = True
            self.pixel_changed.emit(*pixel, self._layer.text_at(*pixel))

    def _withdraw_pixel(self) -> None:
        """Report that no pixel is pointed at, although the cursor may stay."""
        if self._reported:
            self._reported = False
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

    def _on_cursor_changed(self, pixel: tuple[int, int] | None) -> None:
        for each in (self._marked, pixel):
            if each is not None:
                self._update_near(each[0], each[1], each[0] + 1, each[1] + 1)
        self._marked = pixel
        if pixel is None and self._reported:
            self._report_pixel()

    # --- painting ---------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the pictures and marks, in device pixels."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.PICTURE_GREY))
        if self._layer is not None:
            painter.save()
            ratio = self.devicePixelRatioF()
            painter.scale(1 / ratio, 1 / ratio)
            self._paint_pictures(painter, self._layer)
            self._paint_marks(painter)
            painter.restore()
        if self.caption:
            paint_caption(painter, self.caption, self.width())
        if self.hasFocus():
            painter.setPen(QPen(self.palette().color(self.palette().ColorRole.Highlight), 1))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()

    def _paint_pictures(self, painter: QPainter, layer: Layer) -> None:
        target = self.target()
        zoom = self.zoom()
        # Only a reduced picture is smoothed; an enlarged one shows its pixels.
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, zoom < 1)
        draw_visible(painter, layer.image, target, zoom, self._device_rect())
        if self._overlay is not None and self._overlay_shown and self._opacity > 0:
            painter.setOpacity(self._opacity)
            overlay_zoom = zoom * layer.size[0] / self._overlay.width()
            draw_visible(painter, self._overlay, target, overlay_zoom, self._device_rect())
            painter.setOpacity(1.0)
        if self._second is not None:
            self._paint_second(painter, self._second, target, zoom)

    def _paint_second(self, painter: QPainter, second: Layer, target: QRectF, zoom: float) -> None:
        edge = self._divider * self.width() * self.devicePixelRatioF()
        right = self._device_rect()
        right.setLeft(edge)
        painter.save()
        painter.setClipRect(right)
        draw_visible(painter, second.image, target, zoom, self._device_rect())
        painter.restore()
        painter.setPen(QPen(QColor(0, 0, 0, 160), 3))
        painter.drawLine(QPointF(edge, 0), QPointF(edge, right.height()))
        painter.setPen(QPen(QColor("white"), 1))
        painter.drawLine(QPointF(edge, 0), QPointF(edge, right.height()))

    def _paint_marks(self, painter: QPainter) -> None:
        target = self.target()
        zoom = self.zoom()
        if self._highlight is not None:
            r = self._highlight
            draw_frame(painter, screen_rect(target, zoom, r.top, r.left, r.bottom, r.right))
        if self.view.cursor is not None and (self.view.by_keys or not self.underMouse()):
            row, column = self.view.cursor
            place = screen_rect(target, zoom, row, column, row + 1, column + 1)
            # A frame close around a small pixel would cover it.
            if zoom < 6:
                place = place.adjusted(-3, -3, 3, 3)
            draw_frame(painter, place)

    def _update_near(self, top: int, left: int, bottom: int, right: int) -> None:
        """Redraw only around some pixels, because the pointer moves often."""
        place = screen_rect(self.target(), self.zoom(), top, left, bottom, right)
        ratio = self.devicePixelRatioF()
        x = math.floor(place.left() / ratio) - 6
        y = math.floor(place.top() / ratio) - 6
        width = math.ceil(place.width() / ratio) + 13
        height = math.ceil(place.height() / ratio) + 13
        self.update(x, y, width, height)

    # --- events -----------------------------------------------------------------------------------

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom at the pointer."""
        # A sideways turn and the last event of a touchpad's gesture have no vertical part; zooming
        # by a factor of one would end the fitting.
        turns = event.angleDelta().y() / 120
        if turns:
            self.set_zoom(self.zoom() * keys.ZOOM_STEP**turns, event.position())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take hold of the divider or the picture."""
        if event.button() != Qt.MouseButton.LeftButton or self._layer is None:
            super().mousePressEvent(event)
            return
        self._pressed = event.position()
        self._dragging_divider = self._near_divider(event.position())
        self._grabbed = self._picture_point(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the divider or the picture, or report the pixel under the pointer."""
        place = event.position()
        if self._dragging_divider:
            self.move_divider(place.x() / max(self.width(), 1))
        elif self._grabbed is not None and self._is_dragged(place):
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self._look_so_that(self._grabbed, place, self.zoom())
        else:
            self._set_cursor_shape(place)
        self.point_at(self.pixel_at(place))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go; what was not dragged was clicked."""
        is_click = not self._dragging_divider and not self._is_dragged(event.position())
        self._pressed = None
        self._grabbed = None
        self._dragging_divider = False
        self.setCursor(Qt.CursorShape.CrossCursor)
        pixel = self.pixel_at(event.position())
        if is_click and pixel is not None:
            self.clicked.emit(*pixel)

    def leaveEvent(self, event: Any) -> None:
        """Forget the pointer; a cursor placed by keys stays."""
        if not self.view.by_keys:
            self.view.set_cursor(None)
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Zoom, move, point, choose or move the divider."""
        if not keys.press(self, event):
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Show the tooltip only at the caption: elsewhere it would cover what is looked at."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            below_caption = event.pos().y() > 2 * self.fontMetrics().height()
            if self._layer is not None and below_caption:
                event.ignore()
                return True
        return super().event(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer to save and copy."""
        if self.menu is not None and self._layer is not None:
            self.menu().popup(event.globalPos())

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Report the pixel that the keys point at."""
        super().focusInEvent(event)
        if self.view.by_keys and self._layer is not None:
            self._report_pixel()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Report no pixel of the keys while they work elsewhere."""
        super().focusOutEvent(event)
        if self.view.by_keys:
            self._withdraw_pixel()

    def showEvent(self, event: QShowEvent) -> None:
        """Listen to the surrounding dock: Qt does not call a dock behind another tab hidden."""
        super().showEvent(event)
        above = self.parentWidget()
        while above is not None and not isinstance(above, QDockWidget):
            above = above.parentWidget()
        if above is not None and not self._dock_connected:
            self._dock_connected = True
            above.visibilityChanged.connect(self._on_dock_visibility_changed)

    def _on_dock_visibility_changed(self, visible: bool) -> None:
        if not visible:
            self._withdraw_pixel()
            if not self.view.by_keys:
                self.view.set_cursor(None)
        elif self.view.by_keys and self.hasFocus():
            self._report_pixel()

    def _set_cursor_shape(self, place: QPointF) -> None:
        if self._near_divider(place):
            self.setCursor(Qt.CursorShape.SplitHCursor)
        else:
            self.setCursor(Qt.CursorShape.CrossCursor)

    def _near_divider(self, place: QPointF) -> bool:
        return self.divided and abs(place.x() - self._divider * self.width()) <= _GRIP

    def _is_dragged(self, place: QPointF) -> bool:
        return self._pressed is None or (place - self._pressed).manhattanLength() > _DRAG
