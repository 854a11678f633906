"""The status bar: latest message, pixel value, zoom, the current job and a button to stop it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QLabel, QSizePolicy, QStatusBar, QToolButton, QWidget

from isca_gui.jobs.runner import highest_priority
from isca_gui.widgets.quiet_widgets import SteadyBar, SteadyLabel
from isca_gui.widgets.step_frame import describe, set_property

if TYPE_CHECKING:
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.names import JobId
    from isca_gui.jobs.runner import Job, JobRunner
    from isca_gui.session.records import Message
    from isca_gui.session.session import Session

# Jobs shorter than this, in seconds, are not shown, so that the bar does not flicker.
_SHORT = 0.25
# Messages disappear after so many milliseconds; warnings stay until the next message.
LASTING = 15_000
_STOP = "Stop this job (Esc)."
_CANNOT_STOP = "This job cannot be stopped."


class StatusBar(QStatusBar):
    """Shows messages, what is under the pointer and what the program is doing."""

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._actions = actions
        # When each running job was first seen.
        self._since: dict[JobId, float] = {}
        # The job that is shown.
        self._shown: JobId | None = None
        self._last_zoom = 0.0
        self.message_label = QLabel()
        self.message_label.setTextFormat(Qt.TextFormat.PlainText)
        self.message_label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._news = QTimer(self)
        self._news.setSingleShot(True)
        self._news.setInterval(LASTING)
        self.pixel_label = SteadyLabel(letters=34, right=True)
        self.zoom_label = SteadyLabel(letters=9, right=True)
        self.job_label = SteadyLabel(letters=46, right=True)
        self.pixel_label.setToolTip(
            "Column, row and grey value under the pointer. 0 is black, 255 is white."
        )
        self.zoom_label.setToolTip("Screen pixels per picture pixel.")
        self.bar = SteadyBar()
        self.bar.setFixedSize(110, 12)
        self.bar.setAccessibleName("Job progress")
        self.stop_button = QToolButton()
        self.stop_button.setText("×")
        describe(self.stop_button, "Stop the job", _STOP)
        self.addWidget(self.message_label, 1)
        self.addPermanentWidget(self.pixel_label)
        self.addPermanentWidget(self.zoom_label)
        self.addPermanentWidget(self.job_label)
        self.addPermanentWidget(self.bar)
        self.addPermanentWidget(self.stop_button)
        self.stop_button.clicked.connect(self._on_stop_clicked)
        self._news.timeout.connect(lambda: self._show_message("", "info"))
        session.message_added.connect(self._on_message_added)
        jobs.changed.connect(self.refresh)
        self.refresh()

    def show_pixel(self, row: int, column: int, value: str) -> None:
        """Show the pixel under the pointer; a negative row stands for no pixel."""
        text = ""
        if row >= 0:
            text = f"x {column}  y {row}  {value}"
        self.pixel_label.setText(text)

    def show_zoom(self, zoom: float) -> None:
        """Show the zoom of the picture under the pointer, or of one that was just zoomed."""
        # When the pointer leaves a picture, the same zoom arrives again and is no longer shown.
        shown = bool(self.pixel_label.text()) or zoom != self._last_zoom
        self._last_zoom = zoom
        self.zoom_label.setText(f"{zoom:.0%}" if shown else "")

    def refresh(self) -> None:
        """Show the current job."""
        job = self._current_job()
        self._shown = job.id if job is not None else None
        for widget in (self.job_label, self.bar, self.stop_button):
            widget.setVisible(job is not None)
        if job is None:
            return
        self.job_label.setText(job_text(job))
        self.bar.show_share(job.share)
        stoppable = job.stoppable and not self._jobs.stopping(job.id)
        self.stop_button.setEnabled(stoppable)
        self.stop_button.setToolTip(_STOP if stoppable else _CANNOT_STOP)

    def _current_job(self) -> Job | None:
        """Return the job of highest priority among those that have run for a moment."""
        now = time.monotonic()
        jobs = self._jobs.jobs()
        self._since = {job.id: self._since.get(job.id, now) for job in jobs}
        return highest_priority([job for job in jobs if now - self._since[job.id] >= _SHORT])

    def _on_stop_clicked(self) -> None:
        # The job shown is stopped, even if another one has become more important since.
        job = self._jobs.job(self._shown) if self._shown is not None else None
        if job is not None and job.stoppable and not job.stopping:
            self._actions.stop_job(job)

    def _on_message_added(self, message: Message) -> None:
        self._show_message(message.text, message.level)
        if message.level == "info":
            self._news.start()
        else:
            self._news.stop()

    def _show_message(self, text: str, level: str) -> None:
        self.message_label.setText(text.replace("\n", " "))
        self.message_label.setToolTip(text)
        set_property(self.message_label, "level", level)


def job_text(job: Job) -> str:
    """Return what a job does, its progress and the time left."""
    if job.stopping:
        return f"{job.title}, stopping… {job.what}"
    parts = [job.title, job.what, _time_left(job.seconds_left)]
    return ", ".join(part for part in parts if part)


def _time_left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 100:
        return f"{seconds:.0f} s left"
    return f"{seconds / 60:.0f} min left"
