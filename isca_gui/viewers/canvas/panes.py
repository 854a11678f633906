"""Several pictures large at once: linked panes in a grid, what differs, and the value under the pointer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from isca_gui.core.distortion.distortions import mse
from isca_gui.viewers.canvas import layers
from isca_gui.viewers.canvas.canvas import PictureCanvas
from isca_gui.viewers.canvas.view import PictureView, paint_caption
from isca_gui.widgets import theme

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from PySide6.QtGui import QPaintEvent, QResizeEvent

    from isca_gui.viewers.canvas.layers import Layer

MOST = 8  # pictures beside the one that they are compared with
_GAP = 4
_SMALLEST = 40
_NARROWEST, _LOWEST = (
    120,
    96,
)  # of the whole grid; twice as high for more panes than fit side by side
_ROW = 3


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two pictures and all that is shown of them."""

    first: Layer
    second: Layer
    difference: Layer
    similarity: Layer
    limit: float
    error: float
    mean_similarity: float


def compare(
    first: NDArray[np.float32], seconds: Sequence[NDArray[np.float32]]
) -> tuple[Comparison, ...]:
    """Measure and draw what differs between a picture and others, on one scale for all."""
    limit = max(float(abs(second - first).max()) for second in seconds) or 1 / 255
    shown, made = layers.grey_layer(first), []
    for second in seconds:
        similarity, mean = layers.similarity_layer(first, second)
        difference = layers.difference_layer(first, second, limit)
        layer = layers.grey_layer(second)
        made.append(
            Comparison(shown, layer, difference, similarity, limit, mse(first, second), mean)
        )
    return tuple(made)


@dataclass(frozen=True, eq=False)
class ComparisonSet:
    """Which picture of the dataset was compared with which others."""

    base: int
    others: tuple[int, ...]
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, eq=False)
class PaneContent:
    """What one pane shows; a second layer lies right of the divider."""

    layer: Layer
    caption: str
    short: str  # the caption where there is little room
    second: Layer | None = None


class Pane(PictureCanvas):
    """A picture that tells the value under the pointer, wherever among the linked panes that is."""

    def __init__(self, name: str, parent: QWidget, view: PictureView | None = None) -> None:
        super().__init__(name, parent, view)
        self.setMinimumSize(_SMALLEST, _SMALLEST)
        self._captions = ("", "")
        self.view.cursor_changed.connect(self._on_value_changed)

    def show_pane(self, shown: PaneContent) -> None:
        """Show something else."""
        self.set_layer(shown.layer)
        self.set_second(shown.second)
        self._captions = (shown.caption, shown.short)

    def has_room(self) -> bool:
        """Whether the whole caption fits."""
        return self.fontMetrics().horizontalAdvance(self._captions[0]) <= self.width() - 20

    def name(self, whole: bool) -> None:
        """Write the whole caption or the short one."""
        self.set_caption(self._captions[0] if whole else self._captions[1])

    def value(self) -> str:
        """Give the value under the pointer; on both sides of a divider, both."""
        if self.view.cursor is None:
            return ""
        texts = [layer.text_at(*self.view.cursor) for layer in (self._layer, self._second) if layer]
        return "  |  ".join(text for text in texts if text)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the picture, and the value into its lower left corner."""
        super().paintEvent(event)
        if self.value() and self.height() > 2 * self._value_place().height() + _SMALLEST:
            painter = QPainter(self)
            paint_caption(painter, self.value(), self.width(), self._value_place().top() + 2)
            painter.end()

    def _value_place(self) -> QRect:
        high = self.fontMetrics().height() + 10
        return QRect(0, self.height() - high, self.width(), high)

    def _on_value_changed(self) -> None:
        self.update(self._value_place())


class PaneGrid(QWidget):
    """Linked panes, arranged so that the pictures are as large as can be."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(_NARROWEST, _LOWEST)
        first = Pane("Large picture 1", self)
        self.panes = [first]
        for number in range(2, MOST + 2):
            self.panes.append(Pane(f"Large picture {number}", self, first.view))
        for pane in self.panes:
            pane.setVisible(False)
            pane.divider_moved.connect(self._on_divider_moved)
        self._shown: tuple[PaneContent, ...] = ()

    def show_panes(self, shown: Sequence[PaneContent]) -> None:
        """Show so many panes."""
        before, self._shown = len(self._shown), tuple(shown[: len(self.panes)])
        for pane, each in zip(self.panes, self._shown, strict=False):
            pane.show_pane(each)
        if len(self._shown) != before:
            self.setMinimumHeight(_LOWEST if len(self._shown) <= _ROW else 2 * _LOWEST)
            self._arrange()
            for number, pane in enumerate(self.panes):
                pane.setVisible(number < len(self._shown))
        self._name()

    def sizeHint(self) -> QSize:
        """Ask for room for two pictures."""
        return QSize(600, 300)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Arrange the panes anew."""
        super().resizeEvent(event)
        self._arrange()
        self._name()

    def columns(self) -> int:
        """Give how many panes side by side make the pictures largest."""
        count = len(self._shown)
        wide, high = self._shown[0].layer.size

        def scale(columns: int) -> float:
            across, down = self._pane_size(columns, math.ceil(count / columns))
            return min(across / wide, down / high)

        return max(range(1, count + 1), key=scale)

    def composed(self) -> QImage | None:
        """Give all panes as one image with their captions, one pixel for a pixel, for saving."""
        images = [image for pane in self.panes[: len(self._shown)] if (image := pane.composed())]
        if not images:
            return None
        columns = self.columns()
        wide, high = images[0].width() + _GAP, images[0].height() + _GAP
        rows = math.ceil(len(images) / columns)
        whole = QImage(columns * wide - _GAP, rows * high - _GAP, QImage.Format.Format_RGB32)
        whole.fill(QColor(theme.PICTURE_GREY))
        painter = QPainter(whole)
        for place, (image, shown) in enumerate(zip(images, self._shown, strict=True)):
            painter.resetTransform()
            painter.translate(place % columns * wide, place // columns * high)
            painter.drawImage(0, 0, image)
            paint_caption(painter, shown.caption, image.width())
        painter.end()
        return whole

    def _pane_size(self, columns: int, rows: int) -> tuple[float, float]:
        return (
            (self.width() - _GAP * (columns - 1)) / columns,
            (self.height() - _GAP * (rows - 1)) / rows,
        )

    def _arrange(self) -> None:
        if not self._shown:
            return
        columns = self.columns()
        across, down = self._pane_size(columns, math.ceil(len(self._shown) / columns))
        for place, pane in enumerate(self.panes[: len(self._shown)]):
            left, top = place % columns * (across + _GAP), place // columns * (down + _GAP)
            pane.setGeometry(round(left), round(top), round(left + across) - round(left),
                             round(top + down) - round(top))  # fmt: skip

    def _name(self) -> None:
        """Write all captions in whole, or all short where one does not fit."""
        seen = self.panes[: len(self._shown)]
        whole = all(pane.has_room() for pane in seen)
        for pane in seen:
            pane.name(whole)

    def _on_divider_moved(self, share: float) -> None:
        for pane in self.panes:
            if pane.divider != share:
                pane.set_divider(share)
