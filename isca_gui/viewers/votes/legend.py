"""The votes as a bar chart that is also the legend of the map: swatch, name, bar and share of every class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from isca_gui.core.recognition.vote_overlays import look, swatch
from isca_gui.viewers.canvas.layers import pixel_image
from isca_gui.viewers.export import drawn_svg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtGui import QPaintEvent

_ROW, _SWATCH, _PERCENT, _DISTANCE = 21, 26, 44, 52


class Legend(QWidget):
    """Shows the share of every class."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Share of the blocks per class")
        self.setToolTip("How many of the blocks were taken for what")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.shares: dict[str, float] = {}
        self.distances: dict[str, float] = {}  # of the block that is pointed at
        self._swatches: dict[str, QImage] = {}

    def set_shares(self, shares: Mapping[str, float]) -> None:
        """Show other shares, in the order given."""
        self.shares = dict(shares)
        self._swatches = {label: pixel_image(swatch(label, 16, _SWATCH)) for label in self.shares}
        words = ", ".join(
            f"{look(label).title} {share:.0%}" for label, share in self.shares.items()
        )
        self.setAccessibleDescription(words)
        self.updateGeometry()
        self.update()

    def set_distances(self, distances: Mapping[str, float]) -> None:
        """Write the distances of a block to the classes beside them; none with an empty mapping."""
        if self.distances != distances:
            self.distances = dict(distances)
            self.update()

    def rows(self) -> list[tuple[object, ...]]:
        """Give the shares as a table."""
        rows: list[tuple[object, ...]] = [("label", "class", "share")]
        return rows + [(label, look(label).title, share) for label, share in self.shares.items()]

    def sizeHint(self) -> QSize:
        """One row per class."""
        return QSize(250, _ROW * max(len(self.shares), 1))

    def minimumSizeHint(self) -> QSize:
        """As high as it has rows."""
        return QSize(170, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the rows."""
        painter = QPainter(self)
        self.paint(painter, self.rect(), self.palette().color(self.palette().ColorRole.WindowText))
        painter.end()

    def paint(self, painter: QPainter, place: QRect, ink: QColor) -> None:
        """Draw the rows anywhere."""
        metrics, normal = painter.fontMetrics(), painter.font()
        centre = Qt.AlignmentFlag.AlignVCenter
        titles = {label: look(label).title for label in self.shares}
        widest = (
            max((metrics.horizontalAdvance(title) for title in titles.values()), default=0) + 10
        )
        name = min(widest, place.width() // 2)
        start = place.left() + _SWATCH + 8 + name
        room = max(place.right() - start - _PERCENT - (_DISTANCE if self.distances else 0), 10)
        nearest = min(self.distances, key=lambda label: self.distances[label], default="")
        for row, (label, share) in enumerate(self.shares.items()):
            top = place.top() + row * _ROW
            painter.drawImage(QRect(place.left(), top + 2, _SWATCH, 16), self._swatches[label])
            painter.setPen(ink)
            text = metrics.elidedText(titles[label], Qt.TextElideMode.ElideRight, name)
            box = QRectF(place.left() + _SWATCH + 8, top, name + 4, _ROW)
            painter.drawText(box, centre | Qt.AlignmentFlag.AlignLeft, text)
            bar = QRectF(start, top + 5, max(room * min(max(share, 0.0), 1.0), 1.0), _ROW - 11)
            painter.fillRect(bar, QColor(*look(label).colour))
            painter.drawRect(bar)
            after = QRectF(bar.right() + 5, top, _PERCENT, _ROW)
            painter.drawText(after, centre | Qt.AlignmentFlag.AlignLeft, percent(share))
            if label in self.distances:
                right = QRectF(place.right() - _DISTANCE, top, _DISTANCE, _ROW)
                font = painter.font()
                font.setBold(label == nearest)
                painter.setFont(font)
                painter.drawText(
                    right, centre | Qt.AlignmentFlag.AlignRight, f"{self.distances[label]:.4f}"
                )
                painter.setFont(normal)

    def drawn(self) -> QImage | None:
        """Draw it on white, at twice the size; None where there is nothing to draw."""
        if not self.shares:
            return None
        size = QSize(max(self.width(), 360), self.sizeHint().height())
        image = QImage(size * 2, QImage.Format.Format_RGB32)
        image.fill(QColor("white"))
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(2, 2)
        self.paint(painter, QRect(0, 0, size.width(), size.height()), QColor("black"))
        painter.end()
        return image

    def svg(self) -> bytes:
        """Draw it as SVG."""
        size = QSize(max(self.width(), 360), self.sizeHint().height())
        place = QRect(0, 0, size.width(), size.height())
        return drawn_svg(
            self.accessibleName(), size, lambda painter: self.paint(painter, place, QColor("black"))
        )


def percent(share: float) -> str:
    """Say a share; what is there but below one per cent is not rounded to nothing."""
    return "< 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"
