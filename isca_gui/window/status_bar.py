"""The status bar: newest message, pixel value, zoom, the job under way and a way to stop it."""

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

_SHORT = 0.25  # seconds a job must last before it is worth a word
LASTING = (
    15_000  # milliseconds for which news are news; warnings stay until there is something newer
)
_STOP = "Stop this (Esc)."


class StatusBar(QStatusBar):
    """Says what is under the pointer and what the program is doing."""

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._jobs, self._actions = jobs, actions
        self._since: dict[JobId, float] = {}
        self._shown: JobId | None = None
        self.message_label = QLabel()
        self.message_label.setTextFormat(Qt.TextFormat.PlainText)
        self.message_label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._news = QTimer(self)
        self._news.setSingleShot(True)
        self._news.setInterval(LASTING)
        self._zoom = 0.0  # the last one told
        self.pixel_label = SteadyLabel(letters=34, right=True)
        self.zoom_label = SteadyLabel(letters=9, right=True)
        self.job_label = SteadyLabel(letters=46, right=True)
        self.pixel_label.setToolTip(
            "Column, row and grey value under the pointer; 0 is black, 255 is white."
        )
        self.zoom_label.setToolTip("Screen pixels per picture pixel.")
        self.bar = SteadyBar()
        self.bar.setFixedSize(110, 12)
        self.bar.setAccessibleName("Progress of the job")
        self.stop_button = QToolButton()
        self.stop_button.setText("×")
        describe(self.stop_button, "Stop the job", _STOP)
        self.addWidget(self.message_label, 1)
        for widget in (
            self.pixel_label,
            self.zoom_label,
            self.job_label,
            self.bar,
            self.stop_button,
        ):
            self.addPermanentWidget(widget)
        self.stop_button.clicked.connect(self._on_stop_clicked)
        self._news.timeout.connect(lambda: self._say("", "info"))
        session.message_added.connect(self._on_message_added)
        jobs.changed.connect(self.refresh)
        self.refresh()

    def show_pixel(self, row: int, column: int, value: str) -> None:
        """Show what is under the pointer; a row below zero is no pixel."""
        self.pixel_label.setText(f"x {column}  y {row}  {value}" if row >= 0 else "")

    def show_zoom(self, zoom: float) -> None:
        """Show how large a picture is drawn that is pointed at, or was zoomed just now.

        Where nothing is pointed at any more the zoom told is the old one: it goes with the pixel.
        """
        shown = self.pixel_label.text() or zoom != self._zoom
        self._zoom = zoom
        self.zoom_label.setText(f"{100 * zoom:.0f} %" if shown else "")

    def refresh(self) -> None:
        """Follow the jobs."""
        job = self._job()
        self._shown = job.id if job is not None else None
        for widget in (self.job_label, self.bar, self.stop_button):
            widget.setVisible(job is not None)
        if job is None:
            return
        self.job_label.setText(words(job))
        self.bar.show_share(job.share)
        stoppable = job.stoppable and not self._jobs.stopping(job.id)
        self.stop_button.setEnabled(stoppable)
        self.stop_button.setToolTip(
            _STOP if stoppable else "This ends by itself and cannot be stopped."
        )

    def _job(self) -> Job | None:
        """Give the job worth showing: the weightiest, else the newest, of those that last."""
        now, jobs = time.monotonic(), self._jobs.jobs()
        self._since = {job.id: self._since.get(job.id, now) for job in jobs}
        return highest_priority([job for job in jobs if now - self._since[job.id] >= _SHORT])

    def _on_stop_clicked(self) -> None:
        # What is shown, not what would be shown by now: another job may have become the weightiest since.
        job = self._jobs.job(self._shown) if self._shown is not None else None
        if job is not None and job.stoppable and not job.stopping:
            self._actions.stop_job(job)

    def _on_message_added(self, message: Message) -> None:
        self._say(message.text, message.level)
        if message.level == "info":
            self._news.start()
        else:
            self._news.stop()

    def _say(self, text: str, level: str) -> None:
        self.message_label.setText(text.replace("\n", " "))
        self.message_label.setToolTip(text)
        set_property(self.message_label, "level", level)


def words(job: Job) -> str:
    """Say what a job does, how far it is and how long it still takes."""
    if job.stopping:
        return f"{job.title}, stopping… {job.what}"
    parts = [job.title, job.what, _left(job.seconds_left)]
    return ", ".join(part for part in parts if part)


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.0f} s left" if seconds < 100 else f"{seconds / 60:.0f} min left"
