"""The status bar: the job that is shown and how it is stopped, pixel and zoom."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from isca_gui.core.progress import Progress
from isca_gui.core.settings import TrainingSettings
from isca_gui.jobs.names import JobName
from isca_gui.window.status_bar import StatusBar
from tests.gui.panels.conftest import click, shown

if TYPE_CHECKING:
    from collections.abc import Generator

    import pytest
    from pytestqt.qtbot import QtBot

    from tests.gui.conftest import Studio


def test_the_status_bar_shows_the_job_and_stops_it(qtbot: QtBot, with_dataset: Studio) -> None:
    session = with_dataset.session
    bar = shown(qtbot, with_dataset, StatusBar)
    assert isinstance(bar, StatusBar)
    assert not bar.stop_button.isVisible()
    session.set_settings(TrainingSettings(epochs=1_000_000))
    with_dataset.actions.train()
    qtbot.waitUntil(lambda: "epoch" in bar.job_label.text(), timeout=60_000)
    assert "Training ISCA 1" in bar.job_label.text()
    assert bar.stop_button.isVisible()
    click(qtbot, bar.stop_button)
    qtbot.waitUntil(lambda: session.run is not None)
    with_dataset.rest(qtbot)
    qtbot.waitUntil(lambda: not bar.stop_button.isVisible())
    bar.show_pixel(3, 5, "0.412")
    bar.show_zoom(2.0)
    assert bar.pixel_label.text() == "x 5  y 3  0.412"
    assert bar.zoom_label.text() == "200%"


def test_the_button_stops_the_job_that_is_shown_and_no_other(
    qtbot: QtBot, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, now, free = studio.jobs, [100.0], threading.Event()
    monkeypatch.setattr(
        "isca_gui.window.status_bar.time", SimpleNamespace(monotonic=lambda: now[0])
    )
    bar = shown(qtbot, studio, StatusBar)
    assert isinstance(bar, StatusBar)

    def endless() -> Generator[Progress, None, None]:
        while True:
            yield Progress(0, 1, "so far")

    jobs.start(JobName.EVALUATION.of(1), "Evaluating ISCA 1", endless)
    drawn: list[Any] = []
    jobs.run("bases", "Drawing the bases", lambda: free.wait(10), done=drawn.append)
    bar._since[JobName.EVALUATION.of(1)] = 0.0
    bar.refresh()
    assert "Evaluating" in bar.job_label.text()
    now[0] += 1  # the newer one lasts long enough to be shown, but is not shown yet
    bar.stop_button.click()
    assert not jobs.running(JobName.EVALUATION.of(1))
    bar.refresh()
    assert "Drawing" in bar.job_label.text()
    bar.stop_button.setEnabled(True)
    bar.stop_button.click()
    free.set()
    studio.rest(qtbot)
    assert drawn == [True], "it cannot be stopped"


def test_esc_stops_what_the_status_bar_shows(qtbot: QtBot, with_dataset: Studio) -> None:
    session, jobs = with_dataset.session, with_dataset.jobs

    def endless() -> Generator[Progress, None, None]:
        while True:
            yield Progress(0, 1, "writing")

    session.set_settings(TrainingSettings(epochs=1_000_000))
    with_dataset.actions.train()
    qtbot.waitUntil(
        lambda: session.live is not None and len(session.live.steps) > 2, timeout=60_000
    )
    jobs.start("looking", "Looking", endless)
    jobs.start("project", "Saving work.iscaproj", endless, writes=True)
    with_dataset.actions.stop()
    assert jobs.job("training").stopping
    assert jobs.running("project")
    assert jobs.running("looking")
    with_dataset.actions.stop()
    assert not jobs.running("looking")
    assert jobs.running("project"), "a file comes last"
    with_dataset.actions.stop()
    assert not jobs.running("project")
    # The message comes when the thread has ended, because it may have been about to finish.
    told = "Saving work.iscaproj was stopped."
    qtbot.waitUntil(lambda: any(message.text.startswith(told) for message in session.messages))
    with_dataset.rest(qtbot)
