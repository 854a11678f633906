"""Parts of the vote map: the box of test pictures, the column beside the map, the verdict below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

_LETTERS = 17  # of a picture's name that are seen in its box
_LOWEST = 110  # pixels of the map's height that are never given away
_TIP = "Which test picture is shown"


class SourceBox(QComboBox):
    """Chooses a test picture; a long name is shortened in its middle, as both its ends tell something."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName("Test picture")
        self.setToolTip(_TIP)
        self.setMinimumContentsLength(_LETTERS)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.view().setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.currentTextChanged.connect(self._on_text_changed)

    def shown_text(self) -> str:
        """Give the name as far as there is room."""
        return self._option().currentText

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the name as far as there is room."""
        painter, option = QStylePainter(self), self._option()
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()

    def _option(self) -> QStyleOptionComboBox:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        field = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, self)
        option.currentText = self.fontMetrics().elidedText(
            self.currentText(), Qt.TextElideMode.ElideMiddle, room.width() - 4
        )
        return option

    def _on_text_changed(self, text: str) -> None:
        self.setToolTip(f"{_TIP}: {text}" if text else _TIP)


def beside(picture: QWidget, *column: QWidget) -> QSplitter:
    """Put a column beside a picture; both give way to what is above and below them."""
    inner = QWidget()
    layout = QVBoxLayout(inner)
    layout.setContentsMargins(0, 0, 0, 0)
    for widget in column:
        layout.addWidget(widget)
    layout.setStretchFactor(column[-1], 1)
    area = QScrollArea()
    area.setWidget(inner)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setMinimumWidth(inner.minimumSizeHint().width())
    splitter = QSplitter(Qt.Orientation.Horizontal)
    splitter.addWidget(picture)
    splitter.addWidget(area)
    splitter.setStretchFactor(0, 1)
    splitter.setSizes([660, 300])
    # What a column would like to have must not push the verdict out of a low window.
    splitter.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
    splitter.setMinimumHeight(_LOWEST)
    return splitter


class VerdictBox(QWidget):
    """The verdict, a note on it, and what can be done with it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.verdict, self.note = QLabel(self), QLabel(self)
        for label in (self.verdict, self.note):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self.verdict.setAccessibleName("Verdict")
        self.verdict.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.verdict.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        font = self.verdict.font()
        font.setPointSizeF(font.pointSizeF() * 1.15)
        self.verdict.setFont(font)
        self.again = plain_button(
            "Recognise again", "Recognise this picture with the selected run", self
        )
        self.copy = _tool("Copy", "Copy the verdict", self)
        self.save = _tool("Save…", "Save the verdict as a text", self)
        texts, stale, row = QVBoxLayout(), QHBoxLayout(), QHBoxLayout(self)
        stale.addWidget(self.note, 1)
        stale.addWidget(self.again)
        texts.addWidget(self.verdict)
        texts.addLayout(stale)
        row.setContentsMargins(0, 0, 0, 0)
        row.addLayout(texts, 1)
        for button in (self.copy, self.save):
            row.addWidget(button, alignment=Qt.AlignmentFlag.AlignTop)

    def show_verdict(self, sentence: str, known: bool) -> None:
        """Show the verdict, or what is said where there is none."""
        self.verdict.setText(sentence)
        for button in (self.copy, self.save):
            button.setEnabled(known)
            button.setToolTip("Copy or save the verdict" if known else "There is no verdict yet.")

    def show_notes(self, notes: list[str], again: bool) -> None:
        """Show what is to be known about the verdict, and whether it can be had anew."""
        self.note.setText("  ".join(notes))
        self.note.setVisible(bool(notes))
        self.again.setVisible(again)


def plain_button(text: str, tip: str, parent: QWidget) -> QPushButton:
    """Make a button that says what it does."""
    button = QPushButton(text, parent)
    button.setAccessibleName(f"{text}: {tip}")
    button.setToolTip(tip)
    return button


def _tool(text: str, tip: str, parent: QWidget) -> QToolButton:
    button = QToolButton(parent)
    button.setText(text)
    button.setAccessibleName(tip)
    button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    return button
