"""Layouts for rows of controls that wrap where the window is narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLayout, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent
    from PySide6.QtWidgets import QLayoutItem


class Flow(QLayout):
    """Lays widgets out in a row that wraps; `push` right-aligns the rest if one line suffices."""

    def __init__(self, *widgets: QWidget, spacing: int = 5) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        # Index of the first right-aligned item.
        self._pushed: int | None = None
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)
        for widget in widgets:
            self.addWidget(widget)

    def push(self) -> None:
        """Right-align everything that is added from now on."""
        self._pushed = len(self._items)

    def addItem(self, item: QLayoutItem) -> None:
        """Add an item."""
        self._items.append(item)

    def count(self) -> int:
        """Return the number of items."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """Return an item, or None as Qt expects for an index out of range."""
        if not 0 <= index < len(self._items):
            return None
        return self._items[index]

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Remove an item and return it."""
        if not 0 <= index < len(self._items):
            return None
        return self._items.pop(index)

    def expandingDirections(self) -> Qt.Orientation:
        """Use all the width."""
        return Qt.Orientation.Horizontal

    def hasHeightForWidth(self) -> bool:
        """Whether the height depends on the width."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of all lines at a width."""
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def sizeHint(self) -> QSize:
        """Return the size of everything in one line."""
        sizes = [item.sizeHint() for item in self._items if not item.isEmpty()]
        width = sum(size.width() for size in sizes) + self.spacing() * max(len(sizes) - 1, 0)
        return QSize(width, max((size.height() for size in sizes), default=0))

    def minimumSize(self) -> QSize:
        """Return the size of the widest item."""
        size = QSize()
        for item in self._items:
            if not item.isEmpty():
                size = size.expandedTo(item.minimumSize())
        return size

    def setGeometry(self, rect: QRect) -> None:
        """Place all items."""
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def _arrange(self, rect: QRect, *, move: bool) -> int:
        """Return the height needed; with `move`, also place the items."""
        lines = self._lines(rect.width())
        top = rect.top()
        for line in lines:
            height = max(item.sizeHint().height() for item, _ in line)
            used = sum(width for _, width in line) + self.spacing() * (len(line) - 1)
            left = rect.left()
            for item, width in line:
                if len(lines) == 1 and self._starts_right_end(item):
                    left += rect.width() - used
                if move:
                    own_height = min(item.sizeHint().height(), height)
                    corner = QPoint(left, top + (height - own_height) // 2)
                    item.setGeometry(QRect(corner, QSize(width, own_height)))
                left += width + self.spacing()
            top += height + self.spacing()
        return max(top - self.spacing() - rect.top(), 0)

    def _lines(self, room: int) -> list[list[tuple[QLayoutItem, int]]]:
        lines: list[list[tuple[QLayoutItem, int]]] = []
        left = room + 1
        for item in self._items:
            if item.isEmpty():
                continue
            width = max(min(item.sizeHint().width(), room), item.minimumSize().width())
            if not lines or left + width > room:
                lines.append([])
                left = 0
            lines[-1].append((item, width))
            left += width + self.spacing()
        return lines

    def _starts_right_end(self, item: QLayoutItem) -> bool:
        if self._pushed is None:
            return False
        right = [each for each in self._items[self._pushed :] if not each.isEmpty()]
        return bool(right) and right[0] is item


class Column(QWidget):
    """A widget that is never lower than its layout needs at its width.

    A splitter never asks a layout for its height at a width, so the minimum height is set instead.
    """

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Adapt the height to the width."""
        super().resizeEvent(event)
        self._update_minimum_height()

    def event(self, event: QEvent) -> bool:
        """Adapt the height to the contents."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._update_minimum_height()
        return done

    def _update_minimum_height(self) -> None:
        layout = self.layout()
        if layout is not None:
            self.setMinimumHeight(layout.minimumHeightForWidth(self.width()))


def together(parent: QWidget, *widgets: QWidget, spacing: int = 5) -> QWidget:
    """Keep widgets in one line, such as a label and its field."""
    box = QWidget(parent)
    layout = QHBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(spacing)
    for widget in widgets:
        layout.addWidget(widget)
    return box
