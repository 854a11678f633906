"""A live preview of one kind of distortion at the MSE of a slider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSlider, QVBoxLayout, QWidget

from isca_gui.core.distortion.distortions import TABLE
from isca_gui.panels.reference import thumbnail
from isca_gui.widgets.fields import KindBox, MseBox
from isca_gui.widgets.step_frame import describe, faint_label, row

if TYPE_CHECKING:
    from isca_gui.core.distortion.preview import Preview
    from isca_gui.jobs.actions import Actions
    from isca_gui.session.session import Session

SIDE = 104
_HIGHEST_MSE = 2000
_EMPTY_TEXT = "The preview shows one kind of distortion at the chosen MSE."
_MEASURES = (
    "MSE: mean squared error; lower is closer to the reference. "
    "SSIM: structural similarity, averaged over 8×8 blocks; 1 = identical."
)


class PreviewBox(QWidget):
    """Shows what a distortion looks like before anything is generated."""

    def __init__(self, session: Session, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._actions = actions
        self.kind_box = KindBox("Preview kind", "Which distortion the preview shows.")
        self.kind_box.setCurrentIndex(len(TABLE) - 1)
        self.mse_box = MseBox("Preview MSE", "The strength of the distortion in the preview.", 500)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(1, _HIGHEST_MSE)
        self.slider.setValue(500)
        self.slider.setPageStep(45)
        sentence = "Drag to preview a stronger or weaker distortion."
        describe(self.slider, "Preview MSE slider", sentence)
        self.picture_label = QLabel()
        self.picture_label.setFixedSize(SIDE, SIDE)
        self.picture_label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.picture_label.setAccessibleName("The preview")
        self.text_label = faint_label(_EMPTY_TEXT)
        side = QVBoxLayout()
        side.setSpacing(4)
        side.addLayout(row(self.kind_box))
        side.addLayout(row(self.slider, self.mse_box))
        side.addWidget(self.text_label, 1)
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
        """Request a preview of the current choice."""
        if self._session.reference is None:
            self.picture_label.clear()
            self.text_label.setText(_EMPTY_TEXT)
        self._actions.preview(self.kind_box.kind, self.mse_box.value(), self._on_preview)

    def _on_slider_moved(self, value: int) -> None:
        if round(self.mse_box.value()) != value:
            self.mse_box.setValue(value)

    def _on_mse_changed(self, value: float) -> None:
        # The slider holds whole numbers only; its signal would round what was typed.
        self.slider.blockSignals(True)
        self.slider.setValue(round(value))
        self.slider.blockSignals(False)
        self.refresh()

    def _on_preview(self, preview: Preview) -> None:
        if preview.picture is None:
            self.picture_label.clear()
            self.text_label.setText(preview.problem)
            return
        self.picture_label.setPixmap(thumbnail(preview.picture, SIDE))
        self.text_label.setText(
            f"achieved MSE {preview.achieved_mse:.1f}\nSSIM {preview.ssim:.3f} (1 = identical)"
        )
        self.text_label.setToolTip(f"{_MEASURES} Strength: {preview.strength:.4g}.")
