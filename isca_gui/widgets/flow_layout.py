"""A row of controls that goes on in the next line where it does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLayout, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent
    from PySide6.QtWidgets import QLayoutItem


class Flow(QLayout):
    """Puts widgets side by side; those after `push` go to the right end if all fit into one line."""

    def __init__(self, *widgets: QWidget, spacing: int = 5) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self._pushed: int | None = None  # the first item that belongs to the right end
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)
        for widget in widgets:
            self.addWidget(widget)

    def push(self) -> None:
        """Let all that follows belong to the right end."""
        self._pushed = len(self._items)

    def addItem(self, item: QLayoutItem) -> None:
        """Take an item."""
        self._items.append(item)

    def count(self) -> int:
        """Give the number of items."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """Give an item."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Take an item out."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        """Take all the width."""
        return Qt.Orientation.Horizontal

    def hasHeightForWidth(self) -> bool:
        """Be higher where it is narrower."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Give the height of all lines."""
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def sizeHint(self) -> QSize:
        """Ask for one line."""
        sizes = [item.sizeHint() for item in self._items if not item.isEmpty()]
        width = sum(size.width() for size in sizes) + self.spacing() * max(len(sizes) - 1, 0)
        return QSize(width, max((size.height() for size in sizes), default=0))

    def minimumSize(self) -> QSize:
        """Do with the widest item."""
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
                    high = min(item.sizeHint().height(), height)
                    item.setGeometry(
                        QRect(QPoint(left, top + (height - high) // 2), QSize(width, high))
                    )
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
    """A widget as high as its layout needs at its width, also in a splitter, which does not ask for that."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Follow the width."""
        super().resizeEvent(event)
        self._follow()

    def event(self, event: QEvent) -> bool:
        """Follow what is inside."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._follow()
        return done

    def _follow(self) -> None:
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
