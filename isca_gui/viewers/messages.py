"""The history of messages: what happened, with which file, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QSplitter,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from isca_gui.session.session import MOST_MESSAGES
from isca_gui.widgets import theme

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import Message
    from isca_gui.session.session import Session

_MARKS = {"info": "i  note", "warning": "!  warning", "error": "✗  error"}
_HINT = "Copy includes the details of the selected message."
_EMPTY = "No messages yet. What the program does, and what goes wrong, is reported here."
# Width in letters below which the details go below the list.
_NARROW = 75


class MessagesViewer(QWidget):
    """Lists all messages, newest last, and shows the details of the selected one."""

    TITLE = "Messages"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("viewer-messages")
        self._session = session
        self.list = _list()
        self.details = QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setAccessibleName("Message details")
        self.details.setToolTip("Everything known about the selected message.")
        self.copy_button = QPushButton("Copy")
        self.copy_button.setAccessibleName("Copy the message")
        self.copy_button.clicked.connect(self.copy)
        self.hint = QLabel(_EMPTY)
        self.hint.setProperty("faint", True)
        self.hint.setWordWrap(True)
        self.hint.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.addWidget(self.list)
        self._splitter.addWidget(self.details)
        self._splitter.setSizes([700, 300])
        line = QHBoxLayout()
        line.addWidget(self.hint, 1)
        line.addWidget(self.copy_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addWidget(self._splitter, 1)
        layout.addLayout(line)
        for message in session.messages:
            self._on_message_added(message)
        session.message_added.connect(self._on_message_added)
        self.list.currentItemChanged.connect(self._on_selected)
        self._on_selected()

    def copy(self) -> None:
        """Copy the selected message with its details."""
        item = self.list.currentItem()
        if item is not None:
            text = "  ".join(item.text(column) for column in range(3))
            details = item.data(0, Qt.ItemDataRole.UserRole)
            QGuiApplication.clipboard().setText(f"{text}\n\n{details}" if details else text)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the details below the list where there is no room beside it."""
        super().resizeEvent(event)
        narrow = self.width() < _NARROW * self.fontMetrics().averageCharWidth()
        wanted = Qt.Orientation.Vertical if narrow else Qt.Orientation.Horizontal
        if self._splitter.orientation() != wanted:
            self._splitter.setOrientation(wanted)

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change between the light and the dark theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "list"):
            for row in range(self.list.topLevelItemCount()):
                item = self.list.topLevelItem(row)
                if item is not None:
                    _colour(item)

    def _on_message_added(self, message: Message) -> None:
        item = QTreeWidgetItem(
            [f"{message.when:%H:%M:%S}", _MARKS.get(message.level, ""), message.text]
        )
        item.setData(0, Qt.ItemDataRole.UserRole, message.details)
        item.setToolTip(2, message.text)
        item.setData(1, Qt.ItemDataRole.UserRole, message.level)
        _colour(item)
        # The selection follows the newest message unless the user is reading an older one.
        last = self.list.topLevelItem(self.list.topLevelItemCount() - 1)
        follows = self.list.currentItem() in (None, last)
        self.list.addTopLevelItem(item)
        if self.list.topLevelItemCount() > MOST_MESSAGES:
            self.list.takeTopLevelItem(0)
        if follows:
            self.list.setCurrentItem(item)

    def _on_selected(self) -> None:
        item = self.list.currentItem()
        self.copy_button.setEnabled(item is not None)
        if item is None:
            self.details.setPlainText("")
            self.copy_button.setToolTip("There is no message yet.")
            self.hint.setText(_EMPTY)
        else:
            self.details.setPlainText(item.data(0, Qt.ItemDataRole.UserRole) or item.text(2))
            self.copy_button.setToolTip("Copy the selected message with its details.")
            self.hint.setText(_HINT)


def _colour(item: QTreeWidgetItem) -> None:
    """Colour a warning or an error for the current theme."""
    colours = {"warning": theme.shades().warning, "error": theme.shades().error}
    level = item.data(1, Qt.ItemDataRole.UserRole)
    if level in colours:
        item.setForeground(1, QColor(colours[level]))


def _list() -> QTreeWidget:
    made = QTreeWidget()
    made.setHeaderLabels(["Time", "Level", "Message"])
    made.setRootIsDecorated(False)
    made.setUniformRowHeights(True)
    made.setAlternatingRowColors(True)
    made.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    for column in (0, 1):
        made.header().setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
    made.header().setSectionResizeMode(2, QHeaderView.ResizeMode.Stretch)
    made.setAccessibleName("Messages")
    made.setToolTip("What happened, newest last.")
    return made


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(MessagesViewer))  # type: ignore[arg-type]
