"""Step 1: the undistorted picture that everything is compared with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import QFileDialog, QLabel, QMenu, QToolButton, QVBoxLayout, QWidget

from isca_gui.core.pictures import samples
from isca_gui.jobs.actions import PICTURE_FILTER
from isca_gui.jobs.names import JobName
from isca_gui.widgets.quiet_widgets import as_it_is
from isca_gui.widgets.step_frame import (
    DONE,
    EMPTY,
    FAILED,
    REFERENCE,
    RUNNING,
    StepPanel,
    button,
    describe,
    faint,
    row,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import Failure, JobRunner
    from isca_gui.session.preferences import Preferences
    from isca_gui.session.session import Session

THUMB = 72
_OPEN = "Choose a picture file as the reference (Ctrl+O). You can also drop or paste one."


class ReferencePanel(StepPanel):
    """Opens the reference and shows it small."""

    NAME, HEADING = REFERENCE, "1  Reference"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None,
        preferences: Preferences | None = None,
    ) -> None:  # fmt: skip
        super().__init__(session, jobs, parent)
        self._actions, self._preferences = actions, preferences
        self.thumb = QLabel()
        self.thumb.setFixedSize(THUMB, THUMB)
        self.thumb.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.thumb.setAccessibleName("The reference picture, small")
        self.name_label = QLabel()
        self.name_label.setTextFormat(Qt.TextFormat.PlainText)
        self.name_label.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        self.size_label = faint()
        self.open_button = button("Open…", _OPEN, self.choose)
        self.sample_button = _menu_button("Sample", "Open one of the bundled pictures.")
        self.recent_button = _menu_button("Recent", "Open a picture that was opened before.")
        self._fill_samples()
        self.recent_button.menu().aboutToShow.connect(self._on_recent_about_to_show)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self.name_label)
        words.addWidget(self.size_label)
        words.addStretch(1)
        words.addLayout(row(self.open_button, self.sample_button, self.recent_button, 1))
        line = row(self.thumb, spacing=9)
        line.addLayout(words, 1)
        self.body.addLayout(line)
        session.reference_changed.connect(self._on_reference_changed)
        jobs.changed.connect(self._refresh)
        jobs.failed.connect(self._on_job_failed)
        self._failed = False
        self._on_reference_changed()

    def choose(self) -> None:
        """Ask for a picture file and open it."""
        reference = self.session.reference
        path = reference.path or "" if reference is not None else ""
        known = path and not path.startswith(samples.PREFIX)
        folder = str(Path(path).parent) if known else ""  # where the last dialog was
        path, _ = QFileDialog.getOpenFileName(
            self, "Open a reference picture", folder, PICTURE_FILTER
        )
        if path:
            self._actions.open_picture(path)

    def _fill_samples(self) -> None:
        menu = self.sample_button.menu()
        for sample in samples.TABLE:
            action = menu.addAction(f"{sample.name}:  {sample.title}")
            action.setData(sample.name)
        menu.triggered.connect(lambda action: self._actions.open_sample(action.data()))

    def _on_recent_about_to_show(self) -> None:
        menu = self.recent_button.menu()
        menu.clear()
        recent = self._preferences.recent if self._preferences is not None else []
        for path in recent:
            menu.addAction(as_it_is(path)).triggered.connect(
                lambda _=False, path=path: self._actions.open_picture(path)
            )
        if not recent:
            menu.addAction("Nothing was opened before").setEnabled(False)

    def _on_reference_changed(self) -> None:
        self._failed = False
        reference = self.session.reference
        if reference is None:
            self.thumb.clear()
            self.name_label.setText("No picture yet")
            self.size_label.setText("Open one, or choose a sample.")
        else:
            height, width = reference.picture.shape
            self.name_label.setText(self.name_label.fontMetrics().elidedText(
                reference.name, Qt.TextElideMode.ElideMiddle, 190))  # fmt: skip
            self.name_label.setToolTip(reference.path or reference.name)
            self.size_label.setText(f"{width} × {height} pixels, grey")
            self.thumb.setPixmap(thumbnail(reference.picture, THUMB))
        self._refresh()

    def _on_job_failed(self, failure: Failure) -> None:
        self._failed = self._failed or failure.job == JobName.OPEN_PICTURE
        self._refresh()

    def _refresh(self) -> None:
        if self.jobs.running(JobName.OPEN_PICTURE):
            self.set_state(RUNNING, "opening")
        elif self._failed:
            self.set_state(FAILED)
        else:
            self.set_state(EMPTY if self.session.reference is None else DONE)
        self.set_primary(self.open_button)


def thumbnail(picture: NDArray[np.float32], side: int) -> QPixmap:
    """Make a small pixmap of a picture; every n-th pixel is taken before the exact scaling, for speed."""
    every = max(min(picture.shape) // (2 * side), 1)
    small = np.ascontiguousarray(
        np.clip(picture[::every, ::every] * 255 + 0.5, 0, 255).astype(np.uint8)
    )
    height, width = small.shape
    image = QImage(small.data, width, height, width, QImage.Format.Format_Grayscale8)
    return QPixmap.fromImage(image).scaled(
        side, side, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
    )


def _menu_button(text: str, sentence: str) -> QToolButton:
    made = QToolButton()
    made.setText(text)
    made.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    made.setMenu(QMenu(made))
    describe(made, text, sentence)
    return made
