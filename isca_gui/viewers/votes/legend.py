"""The votes as a bar chart, which is also the legend of the map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from isca_gui.core.recognition.vote_overlays import style_of, swatch
from isca_gui.viewers.canvas.layers import pixel_image
from isca_gui.viewers.export import drawn_svg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtGui import QPaintEvent

# Sizes in pixels: the height of a row, and the widths of what stands in it.
_ROW = 21
_SWATCH = 26
_PERCENT = 44
_DISTANCE = 52
# An exported drawing has at least this width.
_EXPORT_WIDTH = 360


class Legend(QWidget):
    """Shows the swatch, name, bar and share of every class."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Share of blocks per class")
        self.setToolTip("The share of blocks that vote for each class")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.shares: dict[str, float] = {}
        self.distances: dict[str, float] = {}  # of the block at the cursor
        self._swatches: dict[str, QImage] = {}

    def set_shares(self, shares: Mapping[str, float]) -> None:
        """Show other shares, in the order given."""
        self.shares = dict(shares)
        self._swatches = {label: pixel_image(swatch(label, 16, _SWATCH)) for label in self.shares}
        words = ", ".join(
            f"{style_of(label).title} {share:.0%}" for label, share in self.shares.items()
        )
        self.setAccessibleDescription(words)
        self.updateGeometry()
        self.update()

    def set_distances(self, distances: Mapping[str, float]) -> None:
        """Show the distances of a block to the classes; an empty mapping hides them."""
        if self.distances != distances:
            self.distances = dict(distances)
            self.update()

    def rows(self) -> list[tuple[object, ...]]:
        """Return the shares as a table."""
        rows: list[tuple[object, ...]] = [("label", "class", "share")]
        return rows + [
            (label, style_of(label).title, share) for label, share in self.shares.items()
        ]

    def sizeHint(self) -> QSize:
        """Ask for one row per class."""
        return QSize(250, _ROW * max(len(self.shares), 1))

    def minimumSizeHint(self) -> QSize:
        """Ask for the height of all rows."""
        return QSize(170, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the rows."""
        painter = QPainter(self)
        self.paint(painter, self.rect(), self.palette().color(self.palette().ColorRole.WindowText))
        painter.end()

    def paint(self, painter: QPainter, place: QRect, ink: QColor) -> None:
        """Draw the rows with any painter."""
        metrics = painter.fontMetrics()
        left = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        titles = {label: style_of(label).title for label in self.shares}
        widest = max((metrics.horizontalAdvance(title) for title in titles.values()), default=0)
        name = min(widest + 10, place.width() // 2)
        start = place.left() + _SWATCH + 8 + name
        room = place.right() - start - _PERCENT
        if self.distances:
            room -= _DISTANCE
        room = max(room, 10)
        nearest = min(self.distances, key=lambda label: self.distances[label], default="")
        for row, (label, share) in enumerate(self.shares.items()):
            top = place.top() + row * _ROW
            painter.drawImage(QRect(place.left(), top + 2, _SWATCH, 16), self._swatches[label])
            painter.setPen(ink)
            text = metrics.elidedText(titles[label], Qt.TextElideMode.ElideRight, name)
            box = QRectF(place.left() + _SWATCH + 8, top, name + 4, _ROW)
            painter.drawText(box, left, text)
            bar = QRectF(start, top + 5, max(room * min(max(share, 0.0), 1.0), 1.0), _ROW - 11)
            painter.fillRect(bar, QColor(*style_of(label).colour))
            painter.drawRect(bar)
            after = QRectF(bar.right() + 5, top, _PERCENT, _ROW)
            painter.drawText(after, left, percent(share))
            if label in self.distances:
                box = QRectF(place.right() - _DISTANCE, top, _DISTANCE, _ROW)
                _draw_distance(painter, box, self.distances[label], bold=label == nearest)

    def drawn(self) -> QImage | None:
        """Draw the chart on white, at twice the size; None if there is nothing to draw."""
        if not self.shares:
            return None
        place = self._export_rect()
        image = QImage(place.size() * 2, QImage.Format.Format_RGB32)
        image.fill(QColor("white"))
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(2, 2)
        self.paint(painter, place, QColor("black"))
        painter.end()
        return image

    def svg(self) -> bytes:
        """Draw the chart as SVG."""
        place = self._export_rect()
        return drawn_svg(
            self.accessibleName(),
            place.size(),
            lambda painter: self.paint(painter, place, QColor("black")),
        )

    def _export_rect(self) -> QRect:
        return QRect(0, 0, max(self.width(), _EXPORT_WIDTH), self.sizeHint().height())


def _draw_distance(painter: QPainter, box: QRectF, distance: float, bold: bool) -> None:
    right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
    normal = painter.font()
    font = painter.font()
    font.setBold(bold)
    painter.setFont(font)
    painter.drawText(box, right, f"{distance:.4f}")
    painter.setFont(normal)


def percent(share: float) -> str:
    """Return a share as text; a small share is not rounded to nothing."""
    if 0 < share < 0.01:
        return "< 1%"
    return f"{share:.0%}"
