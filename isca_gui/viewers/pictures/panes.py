"""Several large pictures at once: linked panes in a grid, and what differs between them."""

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

# How many pictures are shown at once, besides the one that they are compared with.
MAX_COMPARED = 8
# Sizes in pixels.
_GAP = 4
_SMALLEST_PANE = 40
_SMALLEST_GRID = QSize(120, 96)
# With more panes than this the grid has a second row and asks for twice the height.
_PANES_IN_ONE_ROW = 3


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two pictures and everything that is shown of them."""

    first: Layer
    second: Layer
    difference: Layer
    similarity: Layer
    limit: float  # largest magnitude on the scale of the difference
    error: float  # MSE
    mean_similarity: float  # SSIM


def compare(
    first: NDArray[np.float32], seconds: Sequence[NDArray[np.float32]]
) -> tuple[Comparison, ...]:
    """Measure and draw what differs between a picture and others, on one scale for all."""
    # Identical pictures get the scale of one grey level.
    limit = max(float(abs(second - first).max()) for second in seconds) or 1 / 255
    first_layer = layers.grey_layer(first)
    comparisons = []
    for second in seconds:
        similarity, mean_similarity = layers.similarity_layer(first, second)
        comparison = Comparison(
            first=first_layer,
            second=layers.grey_layer(second),
            difference=layers.difference_layer(first, second, limit),
            similarity=similarity,
            limit=limit,
            error=mse(first, second),
            mean_similarity=mean_similarity,
        )
        comparisons.append(comparison)
    return tuple(comparisons)


@dataclass(frozen=True, eq=False)
class ComparisonSet:
    """Which picture of the dataset was compared with which others."""

    base: int
    others: tuple[int, ...]
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, eq=False)
class PaneContent:
    """What one pane shows; a second layer lies to the right of the divider."""

    layer: Layer
    caption: str
    short_caption: str
    second: Layer | None = None


class Pane(PictureCanvas):
    """A picture that shows its value at the cursor, wherever among the panes the pointer is."""

    def __init__(self, name: str, parent: QWidget, view: PictureView | None = None) -> None:
        super().__init__(name, parent, view)
        self.setMinimumSize(_SMALLEST_PANE, _SMALLEST_PANE)
        self._long_caption = ""
        self._short_caption = ""
        self.view.cursor_changed.connect(self._on_value_changed)

    def show_content(self, content: PaneContent) -> None:
        """Show something else."""
        self.set_layer(content.layer)
        self.set_second(content.second)
        self._long_caption = content.caption
        self._short_caption = content.short_caption

    def fits_long_caption(self) -> bool:
        """Whether the long caption fits."""
        return self.fontMetrics().horizontalAdvance(self._long_caption) <= self.width() - 20

    def use_caption(self, long: bool) -> None:
        """Write the long caption or the short one."""
        self.set_caption(self._long_caption if long else self._short_caption)

    def value(self) -> str:
        """Return the value at the cursor; with a divider, those of both layers."""
        if self.view.cursor is None:
            return ""
        texts = [layer.text_at(*self.view.cursor) for layer in (self._layer, self._second) if layer]
        return "  |  ".join(text for text in texts if text)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the picture, and the value in its lower left corner."""
        super().paintEvent(event)
        place = self._value_rect()
        if self.value() and self.height() > 2 * place.height() + _SMALLEST_PANE:
            painter = QPainter(self)
            paint_caption(painter, self.value(), self.width(), place.top() + 2)
            painter.end()

    def _value_rect(self) -> QRect:
        height = self.fontMetrics().height() + 10
        return QRect(0, self.height() - height, self.width(), height)

    def _on_value_changed(self) -> None:
        self.update(self._value_rect())


class PaneGrid(QWidget):
    """Linked panes, arranged so that the pictures are as large as possible."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(_SMALLEST_GRID)
        first = Pane("Large picture 1", self)
        self.panes = [first]
        for number in range(2, MAX_COMPARED + 2):
            self.panes.append(Pane(f"Large picture {number}", self, first.view))
        for pane in self.panes:
            pane.setVisible(False)
            pane.divider_moved.connect(self._on_divider_moved)
        self._contents: tuple[PaneContent, ...] = ()

    def show_contents(self, contents: Sequence[PaneContent]) -> None:
        """Show one pane for each content."""
        count_before = len(self._contents)
        self._contents = tuple(contents[: len(self.panes)])
        for pane, content in zip(self.panes, self._contents, strict=False):
            pane.show_content(content)
        count = len(self._contents)
        if count != count_before:
            rows = 1 if count <= _PANES_IN_ONE_ROW else 2
            self.setMinimumHeight(rows * _SMALLEST_GRID.height())
            self._arrange()
            for number, pane in enumerate(self.panes):
                pane.setVisible(number < count)
        self._update_captions()

    def sizeHint(self) -> QSize:
        """Ask for room for two pictures."""
        return QSize(600, 300)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Arrange the panes for the new size."""
        super().resizeEvent(event)
        self._arrange()
        self._update_captions()

    def columns(self) -> int:
        """Return how many panes side by side make the pictures largest."""
        count = len(self._contents)
        width, height = self._contents[0].layer.size

        def scale(columns: int) -> float:
            pane_width, pane_height = self._pane_size(columns, math.ceil(count / columns))
            return min(pane_width / width, pane_height / height)

        return max(range(1, count + 1), key=scale)

    def composed(self) -> QImage | None:
        """Return all panes as one image with captions, at 1:1, for saving."""
        shown = self.panes[: len(self._contents)]
        images = [image for pane in shown if (image := pane.composed())]
        if not images:
            return None
        columns = self.columns()
        rows = math.ceil(len(images) / columns)
        width = images[0].width() + _GAP
        height = images[0].height() + _GAP
        whole = QImage(columns * width - _GAP, rows * height - _GAP, QImage.Format.Format_RGB32)
        whole.fill(QColor(theme.PICTURE_GREY))
        painter = QPainter(whole)
        for place, (image, content) in enumerate(zip(images, self._contents, strict=True)):
            painter.resetTransform()
            painter.translate(place % columns * width, place // columns * height)
            painter.drawImage(0, 0, image)
            paint_caption(painter, content.caption, image.width())
        painter.end()
        return whole

    def _pane_size(self, columns: int, rows: int) -> tuple[float, float]:
        width = (self.width() - _GAP * (columns - 1)) / columns
        height = (self.height() - _GAP * (rows - 1)) / rows
        return width, height

    def _arrange(self) -> None:
        if not self._contents:
            return
        columns = self.columns()
        width, height = self._pane_size(columns, math.ceil(len(self._contents) / columns))
        for place, pane in enumerate(self.panes[: len(self._contents)]):
            # Both edges are rounded, so that no gap is a pixel wider than another.
            left = place % columns * (width + _GAP)
            top = place // columns * (height + _GAP)
            across = round(left + width) - round(left)
            down = round(top + height) - round(top)
            pane.setGeometry(round(left), round(top), across, down)

    def _update_captions(self) -> None:
        """Use the long captions, or the short ones everywhere if one does not fit."""
        shown = self.panes[: len(self._contents)]
        long = all(pane.fits_long_caption() for pane in shown)
        for pane in shown:
            pane.use_caption(long)

    def _on_divider_moved(self, share: float) -> None:
        for pane in self.panes:
            if pane.divider != share:
                pane.set_divider(share)
