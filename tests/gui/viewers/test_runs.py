"""The runs viewer: select, rename, delete, export, and copy as a command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMessageBox

from isca_gui.core.settings import TrainingSettings
from isca_gui.core.solvers.steps import STOPPED
from isca_gui.viewers.runs.comparison import ComparisonViewer
from isca_gui.viewers.runs.runs import NAME, RunsViewer
from tests.gui.conftest import SETTINGS, opened
from tests.gui.viewers.conftest import add_run

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from tests.gui.conftest import Studio


def test_runs_are_listed_selected_and_renamed(
    qtbot: QtBot, with_run: Studio, random_model: Model
) -> None:
    number = add_run(with_run, random_model)
    viewer = opened(qtbot, with_run, RunsViewer)
    assert isinstance(viewer, RunsViewer)
    assert viewer.model.rowCount() == 2
    assert [index.row() for index in viewer.table.selectionModel().selectedRows()] == [1]
    with qtbot.waitSignal(with_run.session.run_selected):
        place = viewer.table.visualRect(viewer.model.index(0, 0)).center()
        qtbot.mouseClick(viewer.table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert with_run.session.run is not None
    assert with_run.session.run.number == number - 1
    assert viewer.model.setData(viewer.model.index(0, NAME), "my best")
    assert with_run.session.run.name == "my best"
    assert not viewer.model.setData(viewer.model.index(0, NAME), "   ")


def test_buttons_are_ready_before_qt_calls_a_raised_tab_visible(
    qtbot: QtBot, with_dataset: Studio, model: Model
) -> None:
    """No job that happens to run later has to enable them."""
    runs = opened(qtbot, with_dataset, RunsViewer)
    table = opened(qtbot, with_dataset, ComparisonViewer)
    for viewer in (runs, table):
        assert viewer.empty
        viewer.hide()
        viewer.on_dock_visibility_changed(False)
    add_run(with_dataset, model)
    for viewer in (runs, table):
        viewer.on_dock_visibility_changed(True)
        assert not viewer.isVisible()
    assert all(button.isEnabled() for button in runs.buttons.values())
    assert table.button.isEnabled()


def test_a_run_is_deleted_only_when_confirmed(qtbot: QtBot, with_run: Studio) -> None:
    viewer = opened(qtbot, with_run, RunsViewer)
    assert isinstance(viewer, RunsViewer)
    for answer, left in (("Cancel", 1), ("Delete", 0)):
        viewer.ask_delete()
        box = viewer.findChild(QMessageBox)
        button = next(b for b in box.buttons() if b.text().replace("&", "") == answer)
        button.click()
        qtbot.wait(10)
        assert len(with_run.session.runs) == left
    assert viewer.empty


def test_a_run_of_another_project_is_not_deleted(
    qtbot: QtBot, with_run: Studio, random_model: Model
) -> None:
    viewer = opened(qtbot, with_run, RunsViewer)
    session = with_run.session
    viewer.ask_delete()
    other = replace(session.runs[0], name="of another project", model=random_model)
    session.set_work(replace(session.work, runs=(other,)))
    box = viewer.findChild(QMessageBox)
    next(each for each in box.buttons() if each.text().replace("&", "") == "Delete").click()
    assert [run.name for run in session.runs] == ["of another project"]


def test_a_model_without_a_dataset_is_not_called_current(
    qtbot: QtBot, studio: Studio, model: Model, small: Dataset
) -> None:
    viewer = opened(qtbot, studio, RunsViewer)
    studio.session.add_model("model.isca", model)
    data = viewer.model.index(0, viewer.model.columnCount() - 1)
    assert (data.data(), viewer.model.table()[1][-1]) == ("–", "")
    studio.session.restore(small.spec, SETTINGS)
    studio.session.set_dataset(small, small.digest())
    assert (data.data(), viewer.model.table()[1][-1]) == ("current", "current")


def test_a_model_is_exported(
    qtbot: QtBot, with_run: Studio, random_model: Model, tmp_path: Path
) -> None:
    from isca_gui.core.model.model_file import load_model

    viewer = opened(qtbot, with_run, RunsViewer)
    assert isinstance(viewer, RunsViewer)
    viewer.ask_export()
    dialog = viewer.findChild(QFileDialog)
    assert [Path(name).name for name in dialog.selectedFiles()] == ["isca-1.isca"]
    first = with_run.session.runs[0]
    # A training ends while the user chooses the file.
    add_run(with_run, random_model)
    dialog.fileSelected.emit(str(tmp_path / "m"))
    with_run.rest(qtbot)
    assert load_model(tmp_path / "m.isca").settings == first.model.settings


@pytest.mark.parametrize(
    ("chosen", "written"),
    [("camera v1.5", "camera v1.5.isca"), ("m.ISCA", "m.isca"), ("m.isca", "m.isca")],
)
def test_a_model_gets_its_ending(
    qtbot: QtBot, with_run: Studio, tmp_path: Path, chosen: str, written: str
) -> None:
    viewer = opened(qtbot, with_run, RunsViewer)
    viewer.ask_export()
    viewer.findChild(QFileDialog).fileSelected.emit(str(tmp_path / chosen))
    with_run.rest(qtbot)
    assert [path.name for path in tmp_path.iterdir()] == [written]


def test_an_export_does_not_replace_a_file_that_the_dialog_has_not_asked_about(
    qtbot: QtBot, with_run: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer = opened(qtbot, with_run, RunsViewer)
    (tmp_path / "m.isca").write_text("mine")
    monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.No)
    viewer.ask_export()
    dialog = viewer.findChild(QFileDialog)
    assert dialog.defaultSuffix() == ""
    dialog.fileSelected.emit(str(tmp_path / "m"))
    with_run.rest(qtbot)
    assert (tmp_path / "m.isca").read_text() == "mine"


def test_the_command_is_the_one_that_gives_the_same(qtbot: QtBot, with_run: Studio) -> None:
    viewer = opened(qtbot, with_run, RunsViewer)
    assert isinstance(viewer, RunsViewer)
    viewer.copy_command()
    assert QGuiApplication.clipboard().text() == (
        "isca train dataset -o isca-1.isca --method isca --solver direct --epochs 5 --tol 1e-07"
    )


def test_the_command_has_the_dataset_that_was_trained_on(
    qtbot: QtBot, with_run: Studio, small: Dataset, tmp_path: Path
) -> None:
    """The settings for the next dataset do not count; another reference does."""
    session = with_run.session
    path = str(tmp_path / "a.png")
    assert session.reference is not None
    own = replace(session.reference, path=path)
    session.set_reference(own)
    session.set_dataset(small, small.digest())
    viewer = opened(qtbot, with_run, RunsViewer)
    viewer.copy_command()
    before = QGuiApplication.clipboard().text()
    assert before.startswith(f"isca dataset {path} ")
    session.set_spec(replace(session.spec, levels=(7.0,)))
    viewer.copy_command()
    assert QGuiApplication.clipboard().text() == before
    session.set_reference(replace(own, path=str(tmp_path / "b.png")))
    viewer.copy_command()
    assert QGuiApplication.clipboard().text().startswith("isca train dataset ")


def test_the_command_of_a_stopped_run_stops_there_too(qtbot: QtBot, with_dataset: Studio) -> None:
    session = with_dataset.session
    viewer = opened(qtbot, with_dataset, RunsViewer)
    session.set_settings(TrainingSettings(epochs=10_000))
    with_dataset.actions.train()
    qtbot.waitUntil(lambda: session.live is not None and len(session.live.steps) > 2)
    with_dataset.actions.stop_training()
    with_dataset.rest(qtbot)
    run = session.run
    assert run is not None
    assert run.model.end == STOPPED
    viewer.copy_command()
    assert QGuiApplication.clipboard().text().endswith(f" --epochs {run.model.state.epoch}")
