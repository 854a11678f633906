"""The history of messages: what happened, which file, what to do; details can be copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
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

from isca_gui import theme
from isca_gui.session import MOST_MESSAGES

if TYPE_CHECKING:
    from isca_gui.actions import Actions
    from isca_gui.jobs import JobRunner
    from isca_gui.session import Message, Session

_MARKS = {"info": "i  note", "warning": "!  warning", "error": "✗  error"}
_EMPTY = "Nothing to report yet. What the program does, and what goes wrong, is told here."


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
        self.details.setAccessibleName("Details of the message")
        self.details.setToolTip("All that is known about the selected message.")
        self.copy_button = QPushButton("Copy")
        self.copy_button.setAccessibleName("Copy the message")
        self.copy_button.clicked.connect(self.copy)
        self.hint = QLabel(_EMPTY)
        self.hint.setProperty("faint", True)
        self.hint.setWordWrap(True)
        self.hint.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.addWidget(self.list)
        splitter.addWidget(self.details)
        splitter.setSizes([700, 300])
        line = QHBoxLayout()
        line.addWidget(self.hint, 1)
        line.addWidget(self.copy_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addWidget(splitter, 1)
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

    def _on_message_added(self, message: Message) -> None:
        item = QTreeWidgetItem([f"{message.when:%H:%M:%S}", _MARKS.get(message.level, ""), message.text])
        item.setData(0, Qt.ItemDataRole.UserRole, message.details)
        item.setToolTip(2, message.text)
        colours = {"warning": theme.shades().warning, "error": theme.shades().error}
        if message.level in colours:
            item.setForeground(1, QColor(colours[message.level]))
        self.list.addTopLevelItem(item)
        if self.list.topLevelItemCount() > MOST_MESSAGES:
            self.list.takeTopLevelItem(0)
        self.list.setCurrentItem(item)

    def _on_selected(self) -> None:
        item = self.list.currentItem()
        self.details.setPlainText(
            "" if item is None else item.data(0, Qt.ItemDataRole.UserRole) or item.text(2)
        )
        self.copy_button.setEnabled(item is not None)
        self.copy_button.setToolTip(
            "Copy the selected message with its details." if item is not None else "There is no message yet."
        )
        self.hint.setText(_EMPTY if item is None else "Select a line to see its details.")


def _list() -> QTreeWidget:
    made = QTreeWidget()
    made.setHeaderLabels(["Time", "Level", "Message"])
    made.setRootIsDecorated(False)
    made.setUniformRowHeights(True)
    made.setAlternatingRowColors(True)
    made.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    made.header().setSectionResizeMode(2, QHeaderView.ResizeMode.Stretch)
    made.setAccessibleName("Messages")
    made.setToolTip("What happened, the newest last.")
    return made


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(MessagesViewer))  # type: ignore[arg-type]
