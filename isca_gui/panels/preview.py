"""A live preview: one kind of distortion at the MSE on a slider, with what was achieved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QLocale, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLabel, QSlider, QVBoxLayout, QWidget

from isca_gui.core.distortion.distortions import TABLE
from isca_gui.panels.reference import thumbnail
from isca_gui.widgets import theme
from isca_gui.widgets.step_frame import describe, faint, row

if TYPE_CHECKING:
    from isca_gui.core.distortion.preview import Preview
    from isca_gui.jobs.actions import Actions
    from isca_gui.session.session import Session

SIDE = 104
_HIGHEST = 2000
_POINT = QLocale.c()
_POINT.setNumberOptions(
    QLocale.NumberOption.OmitGroupSeparator | QLocale.NumberOption.RejectGroupSeparator
)

_WORDS = "The preview shows one kind at the chosen error."


class KindBox(QComboBox):
    """Chooses one kind of distortion, shown by colour, letter and name."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__()
        for line in TABLE:
            self.addItem(chip(line.name), f"{line.letter}  {line.title}", line.name)
            self.setItemData(self.count() - 1, line.sentence, Qt.ItemDataRole.ToolTipRole)
        self.setMinimumContentsLength(8)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        describe(self, name, sentence)

    @property
    def kind(self) -> str:
        """The name of the kind chosen."""
        return str(self.currentData())


class MseBox(QDoubleSpinBox):
    """A mean squared error; point and comma both stand before its decimal, whatever the system's language."""

    def __init__(self, name: str, sentence: str, value: float) -> None:
        super().__init__()
        self.setLocale(_POINT)
        self.setRange(0.1, 65025)
        self.setDecimals(1)
        self.setSingleStep(5)
        self.setValue(value)
        self.setKeyboardTracking(False)
        self.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
        self.setMaximumWidth(62)
        describe(self, name, f"{sentence} Mean squared error on the 0 to 255 scale, 0.1 to 65025.")

    def validate(self, text: str, place: int) -> object:
        """Write a comma as a point: between thousands, as Qt reads it, 22,5 would be ten times as much."""
        return super().validate(text.replace(",", "."), place)


class PreviewBox(QWidget):
    """Shows what a distortion looks like before anything is generated."""

    def __init__(self, session: Session, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self._actions = session, actions
        self.kind_box = KindBox("Kind of the preview", "Which distortion the preview shows.")
        self.kind_box.setCurrentIndex(len(TABLE) - 1)
        self.mse_box = MseBox("MSE of the preview", "How strong the preview's distortion is.", 500)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(1, _HIGHEST)
        self.slider.setValue(500)
        self.slider.setPageStep(45)
        describe(
            self.slider, "MSE slider of the preview", "Drag to see stronger or weaker distortions."
        )
        self.picture_label = QLabel()
        self.picture_label.setFixedSize(SIDE, SIDE)
        self.picture_label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.picture_label.setAccessibleName("The preview")
        self.words = faint(_WORDS)
        side = QVBoxLayout()
        side.setSpacing(4)
        side.addLayout(row(self.kind_box))
        side.addLayout(row(self.slider, self.mse_box))
        side.addWidget(self.words, 1)
        line = row(self.picture_label, spacing=9)
        line.addLayout(side, 1)
        self.setLayout(line)
        self.kind_box.currentIndexChanged.connect(self.refresh)
        self.slider.valueChanged.connect(self._on_slider_moved)
        self.mse_box.valueChanged.connect(self._on_mse_changed)
        session.reference_changed.connect(self.refresh)
        session.spec_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Ask for the preview of what is chosen now."""
        if self._session.reference is None:
            self.picture_label.clear()
            self.words.setText(_WORDS)
        self._actions.preview(self.kind_box.kind, self.mse_box.value(), self._on_preview)

    def _on_slider_moved(self, value: int) -> None:
        if round(self.mse_box.value()) != value:
            self.mse_box.setValue(value)

    def _on_mse_changed(self, value: float) -> None:
        self.slider.blockSignals(True)
        self.slider.setValue(round(value))
        self.slider.blockSignals(False)
        self.refresh()

    def _on_preview(self, preview: Preview) -> None:
        if preview.picture is None:
            self.picture_label.clear()
            self.words.setText(preview.problem)
            return
        self.picture_label.setPixmap(thumbnail(preview.picture, SIDE))
        self.words.setText(
            f"achieved MSE {preview.achieved_mse:.1f}\nSSIM {preview.ssim:.3f} (1 is equal)"
        )
        self.words.setToolTip(
            "MSE: mean squared error, low is close to the reference. SSIM: structural similarity, mean over "
            f"8×8 blocks; 1 means no difference. Strength found: {preview.strength:.4g}."
        )


def chip(label: str, size: int = 12) -> QIcon:
    """Draw a class's colour, with its pattern, as a small icon."""
    style = theme.class_style(label)
    pixmap = QPixmap(QSize(size, size))
    pixmap.fill(QColor(style.colour))
    with QPainter(pixmap) as painter:
        if style.pattern != Qt.BrushStyle.SolidPattern:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(Qt.BrushStyle(style.pattern))
            painter.drawRect(0, 0, size, size)
        painter.setPen(QColor("#555555"))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(0, 0, size - 1, size - 1)
    return QIcon(pixmap)
