"""The two targets of the compare page: the original, and its copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QRectF, Qt, Signal
from PySide6.QtGui import QImage, QPainter, QPalette, QPen, QPixmap
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isca_gui.widgets.flow_layout import Flow
from isca_gui.widgets.quiet_widgets import SteadyLabel
from isca_gui.widgets.step_frame import describe, faint_label

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QPaintEvent

# Sides of the thumbnail, and the height of a target, in pixels.
_SMALL = 44
_LARGE = 96
_LARGE_HEIGHT = 220


def local_files(data: QMimeData) -> list[str]:
    """Return the files of something dragged or copied."""
    return [url.toLocalFile() for url in data.urls() if url.isLocalFile()]


class Target(QFrame):
    """A place to drop pictures on, with buttons that open them in other ways."""

    files_dropped = Signal(list)
    image_dropped = Signal(QImage)

    def __init__(self, title: str, sentence: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAcceptDrops(True)
        self.setAccessibleName(title)
        self.setToolTip(sentence)
        self._under_drag = False
        self._thumbnail = QImage()
        self.thumb = QLabel(self)
        self.thumb.setFixedSize(_SMALL, _SMALL)
        self.thumb.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.thumb.setAccessibleName(f"{title}: thumbnail")
        heading = QLabel(title, self)
        font = heading.font()
        font.setBold(True)
        heading.setFont(font)
        self.name_label = SteadyLabel(self, letters=24)
        self.name_label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(heading)
        top.addWidget(self.name_label, 1)
        self.words = faint_label(sentence)
        self.words.setMinimumWidth(120)
        self.buttons = Flow(spacing=4)
        side = QVBoxLayout()
        side.setSpacing(3)
        side.addStretch(1)
        side.addLayout(top)
        side.addWidget(self.words)
        side.addLayout(self.buttons)
        side.addStretch(1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 7, 10, 7)
        layout.setSpacing(10)
        layout.addWidget(self.thumb, alignment=Qt.AlignmentFlag.AlignVCenter)
        layout.addLayout(side, 1)
        self._heading = heading
        self._plain = heading.font().pointSizeF()
        self._large = False

    def set_large(self, large: bool) -> None:
        """Ask for much room, as long as there is nothing else to show."""
        if large == self._large:
            return
        self._large = large
        self.setMinimumHeight(_LARGE_HEIGHT if large else 0)
        self.thumb.setFixedSize(_LARGE if large else _SMALL, _LARGE if large else _SMALL)
        font = self._heading.font()
        font.setPointSizeF(self._plain * (1.6 if large else 1))
        self._heading.setFont(font)
        self._show_thumbnail()

    def add_button(self, text: str, sentence: str, pressed: Callable[[], object]) -> QToolButton:
        """Add a button to the target."""
        made = QToolButton(self)
        made.setText(text)
        describe(made, text, sentence)
        made.clicked.connect(lambda: pressed())
        self.buttons.addWidget(made)
        return made

    def add_menu(self, text: str, sentence: str) -> QToolButton:
        """Add a button that opens a menu."""
        made = QToolButton(self)
        made.setText(text)
        made.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        made.setMenu(QMenu(made))
        describe(made, text, sentence)
        self.buttons.addWidget(made)
        return made

    def show_picture(self, name: str, words: str, thumbnail: QImage) -> None:
        """Show what was dropped here last."""
        self.name_label.setText(name)
        self.words.setText(words)
        self._thumbnail = thumbnail
        self._show_thumbnail()

    def _show_thumbnail(self) -> None:
        if self._thumbnail.isNull():
            font = self.font()
            font.setPointSizeF(2.5 * font.pointSizeF())
            self.thumb.setFont(font)
            self.thumb.setText("+" if self._large else "")
            return
        ratio = self.devicePixelRatioF()
        side = round(self.thumb.width() * ratio)
        pixmap = QPixmap.fromImage(self._thumbnail).scaled(
            side,
            side,
            Qt.AspectRatioMode.KeepAspectRatio,
            Qt.TransformationMode.SmoothTransformation,
        )
        pixmap.setDevicePixelRatio(ratio)
        self.thumb.setPixmap(pixmap)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept files and images."""
        if event.mimeData().hasUrls() or event.mimeData().hasImage():
            event.acceptProposedAction()
            self._set_under_drag(True)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Look as before."""
        self._set_under_drag(False)

    def dropEvent(self, event: QDropEvent) -> None:
        """Hand on what is dropped."""
        self._set_under_drag(False)
        event.acceptProposedAction()
        data = event.mimeData()
        if data.hasUrls():
            self.files_dropped.emit(local_files(data))
        elif data.hasImage():
            self.image_dropped.emit(QImage(data.imageData()))

    def _set_under_drag(self, under: bool) -> None:
        self._under_drag = under
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a card with a dashed frame, in the accent colour while something is dragged over."""
        role = QPalette.ColorRole.Highlight if self._under_drag else QPalette.ColorRole.Mid
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            pen = QPen(self.palette().color(role), 2 if self._under_drag else 1)
            pen.setStyle(Qt.PenStyle.DashLine)
            painter.setPen(pen)
            painter.setBrush(self.palette().color(QPalette.ColorRole.AlternateBase))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 6, 6)
