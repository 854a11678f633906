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
from isca_gui.widgets.quiet_widgets import escape_ampersands
from isca_gui.widgets.step_frame import (
    DONE,
    EMPTY,
    FAILED,
    REFERENCE,
    RUNNING,
    StepPanel,
    button,
    describe,
    faint_label,
    row,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import Failure, JobRunner
    from isca_gui.session.preferences import Preferences
    from isca_gui.session.session import Session

THUMBNAIL_SIDE = 72
_NAME_WIDTH = 190
_OPEN = "Choose a picture file as the reference (Ctrl+O). You can also drop or paste one."


class ReferencePanel(StepPanel):
    """Opens the reference and shows a thumbnail of it."""

    NAME = REFERENCE
    HEADING = "1  Reference"

    def __init__(
        self,
        session: Session,
        jobs: JobRunner,
        actions: Actions,
        parent: QWidget | None = None,
        preferences: Preferences | None = None,
    ) -> None:
        super().__init__(session, jobs, parent)
        self._actions = actions
        self._preferences = preferences
        self._failed = False
        self.thumb = QLabel()
        self.thumb.setFixedSize(THUMBNAIL_SIDE, THUMBNAIL_SIDE)
        self.thumb.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.thumb.setAccessibleName("Thumbnail of the reference picture")
        self.name_label = QLabel()
        self.name_label.setTextFormat(Qt.TextFormat.PlainText)
        self.name_label.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        self.size_label = faint_label()
        self.open_button = button("Open…", _OPEN, self.choose)
        self.sample_button = _menu_button("Sample", "Open one of the sample pictures.")
        self.recent_button = _menu_button("Recent", "Open a recent picture.")
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
        jobs.changed_of(JobName.OPEN_PICTURE).connect(self._refresh)
        jobs.failed.connect(self._on_job_failed)
        self._on_reference_changed()

    def choose(self) -> None:
        """Ask for a picture file and open it."""
        title = "Open a reference picture"
        path, _ = QFileDialog.getOpenFileName(self, title, self._folder(), PICTURE_FILTER)
        if path:
            self._actions.open_picture(path)

    def _folder(self) -> str:
        """Return the folder of the reference; for a sample it is that of the last dialog."""
        reference = self.session.reference
        if reference is None or not reference.path or reference.path.startswith(samples.PREFIX):
            return ""
        return str(Path(reference.path).parent)

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
            action = menu.addAction(escape_ampersands(path))
            action.triggered.connect(lambda _=False, path=path: self._actions.open_picture(path))
        if not recent:
            menu.addAction("No recent pictures").setEnabled(False)

    def _on_reference_changed(self) -> None:
        self._failed = False
        reference = self.session.reference
        if reference is None:
            self.thumb.clear()
            self.name_label.setText("No picture yet")
            self.size_label.setText("Open a picture or choose a sample.")
        else:
            height, width = reference.picture.shape
            metrics = self.name_label.fontMetrics()
            middle = Qt.TextElideMode.ElideMiddle
            self.name_label.setText(metrics.elidedText(reference.name, middle, _NAME_WIDTH))
            self.name_label.setToolTip(reference.path or reference.name)
            self.size_label.setText(f"{width} × {height} pixels, grey")
            self.thumb.setPixmap(thumbnail(reference.picture, THUMBNAIL_SIDE))
        self._refresh()

    def _on_job_failed(self, failure: Failure) -> None:
        self._failed = self._failed or failure.job == JobName.OPEN_PICTURE
        self._refresh()

    def _refresh(self) -> None:
        if self.jobs.running(JobName.OPEN_PICTURE):
            self.set_state(RUNNING, "opening")
        elif self._failed:
            self.set_state(FAILED)
        elif self.session.reference is None:
            self.set_state(EMPTY)
        else:
            self.set_state(DONE)
        self.set_primary(self.open_button)


def thumbnail(picture: NDArray[np.float32], side: int) -> QPixmap:
    """Return a small pixmap of a picture (rows, columns) with grey values from 0 to 1."""
    # Taking every n-th pixel first leaves Qt's smooth scaling little to do.
    every = max(min(picture.shape) // (2 * side), 1)
    grey = np.clip(picture[::every, ::every] * 255 + 0.5, 0, 255)
    small = np.ascontiguousarray(grey.astype(np.uint8))
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
