"""The convergence viewer, with real and made-up steps."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEvent, QPointF
from PySide6.QtWidgets import QApplication

from isca_gui.core.settings import TrainingSettings
from isca_gui.session.records import SessionState
from isca_gui.viewers.convergence.convergence import MAX_READ, MAX_RUNS, ConvergenceViewer
from isca_gui.viewers.convergence.run_curve import FIGURES
from tests.gui.conftest import SETTINGS, opened
from tests.gui.viewers.conftest import add_run

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from tests.gui.conftest import Studio


@pytest.mark.alone
def test_steps_are_drawn_as_they_arrive_at_most_at_thirty_hertz(
    qtbot: QtBot, with_dataset: Studio, model: Model
) -> None:
    session = with_dataset.session
    viewer = opened(qtbot, with_dataset, ConvergenceViewer)
    assert isinstance(viewer, ConvergenceViewer)
    number = session.begin_run(TrainingSettings(epochs=400))
    assert "preparing" in viewer.describe()
    before = viewer.drawn
    begun = time.monotonic()
    for epoch in range(1, 301):
        session.add_steps(
            [replace(model.steps[0], epoch=epoch, error=1 / epoch, objective=2 / epoch)]
        )
        qtbot.wait(1)
    qtbot.waitUntil(lambda: len(viewer.curves[number, "error"].xData) == 300, timeout=2000)
    drawn = viewer.drawn - before
    seconds = time.monotonic() - begun
    assert 2 <= drawn <= 30 * seconds + 2
    assert "epoch 300 of 400" in viewer.describe()
    qtbot.waitUntil(lambda: not viewer._timer.isActive(), timeout=2000)
    still = viewer.drawn
    qtbot.wait(150)
    assert viewer.drawn == still
    session.end_run(None)
    assert number not in viewer.run_curves


def test_several_runs_are_shown_and_curves_can_be_hidden(
    qtbot: QtBot, with_run: Studio, random_model: Model
) -> None:
    add_run(with_run, random_model)
    viewer = opened(qtbot, with_run, ConvergenceViewer)
    assert isinstance(viewer, ConvergenceViewer)
    assert len(viewer.run_curves) == 2
    pens = {
        viewer.curves[number, "objective"].opts["pen"].color().name()
        for number in viewer.run_curves
    }
    assert len(pens) == 2
    first = min(viewer.run_curves)
    assert len(viewer.curves[first, "objective"].xData) == 5
    viewer.boxes["objective"].setChecked(False)
    assert viewer.curves[first, "objective"].xData is None or not len(
        viewer.curves[first, "objective"].xData
    )


def test_curves_of_another_project_are_not_continued(
    qtbot: QtBot, with_run: Studio, model: Model, small: Dataset
) -> None:
    session = with_run.session
    viewer = opened(qtbot, with_run, ConvergenceViewer)
    steps = tuple(replace(step, error=0.5) for step in model.steps)
    # The viewer is shown again after so many steps.
    for seen in (0, 2, len(steps)):
        viewer.hide()
        session.set_work(SessionState(session.spec, session.settings, session.reference))
        session.set_dataset(small, small.digest())
        assert session.begin_run(session.settings) == 1
        session.add_steps(steps[:seen])
        if seen == len(steps):
            session.end_run(replace(model, steps=steps))
        viewer.show()
        session.add_steps(steps[seen:])
        assert viewer.run_curves[1].epochs.tolist() == [step.epoch for step in steps]
        assert viewer.run_curves[1].values["error"].tolist() == [step.error for step in steps]
        session.end_run(None)
        session.add_model("old", model)
        steps = tuple(replace(step, error=step.error / 2) for step in steps)


@pytest.mark.parametrize("seen", [True, False])
def test_without_runs_the_zoom_is_forgotten(
    qtbot: QtBot, with_run: Studio, model: Model, seen: bool
) -> None:
    session = with_run.session
    viewer = opened(qtbot, with_run, ConvergenceViewer)
    viewer._look_at_part([80.0, 100.0, -2.0, -1.9])
    viewer.setVisible(seen)
    session.set_work(SessionState(session.spec, session.settings))
    session.begin_run(SETTINGS)
    session.add_steps(model.steps)
    viewer.show()
    qtbot.waitUntil(lambda: viewer.plot.plotItem.vb.viewRange()[0][0] == 0)
    session.end_run(None)


def test_hovering_reads_the_figures(qtbot: QtBot, with_run: Studio, model: Model) -> None:
    viewer = opened(qtbot, with_run, ConvergenceViewer)
    assert isinstance(viewer, ConvergenceViewer)
    box = viewer.plot.plotItem.vb
    qtbot.wait(50)
    viewer._on_mouse_moved(box.mapViewToScene(QPointF(3.1, sum(box.viewRange()[1]) / 2)))
    assert "epoch 3" in viewer.readout.text()
    assert f"{model.steps[2].objective:.4g}" in viewer.readout.text()
    rows = viewer.rows()
    assert len(rows) == 1 + len(model.steps)
    for row, step in zip(rows[1:], model.steps, strict=True):
        assert row[2:] == (step.epoch, *(getattr(step, figure) for figure in FIGURES)), (
            "zeros as well"
        )
    QApplication.sendEvent(viewer.plot.viewport(), QEvent(QEvent.Type.Leave))
    assert not viewer.cross.isVisible()
    assert not viewer.readout.text().strip()


def test_the_selected_run_is_read_among_the_newest(
    qtbot: QtBot, with_run: Studio, model: Model
) -> None:
    viewer = opened(qtbot, with_run, ConvergenceViewer)
    for _ in range(MAX_READ):
        add_run(with_run, model)
    box = viewer.plot.plotItem.vb
    names = [run.name for run in with_run.session.runs]
    for selected, read in ((MAX_READ + 1, names[1:]), (1, [names[0], *names[2:]])):
        with_run.session.select_run(selected)
        qtbot.wait(50)
        viewer._on_mouse_moved(box.mapViewToScene(QPointF(3.1, sum(box.viewRange()[1]) / 2)))
        assert [name for name in names if name in viewer.readout.text()] == read


def test_the_selected_run_is_always_among_the_curves(
    qtbot: QtBot, with_run: Studio, model: Model
) -> None:
    viewer = opened(qtbot, with_run, ConvergenceViewer)
    for _ in range(MAX_RUNS):
        with_run.session.begin_run(SETTINGS)
        with_run.session.end_run(model)
    assert len(viewer.run_curves) == MAX_RUNS
    with_run.session.select_run(1)
    assert 1 in viewer.run_curves
