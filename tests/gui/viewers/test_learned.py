"""Bases, reconstructions, convergence and runs, on really trained small models."""

from __future__ import annotations

import json
import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox, QToolButton, QWidget

from isca_gui import cli
from isca_gui.core.distortion import dataset
from isca_gui.core.distortion.distortions import mse
from isca_gui.core.model import model_file, training
from isca_gui.core.pictures import image, ssim
from isca_gui.core.progress import run as finish
from isca_gui.core.settings import DatasetSpec, TrainingSettings, parse_levels
from isca_gui.core.solvers.steps import STOPPED
from isca_gui.session.records import SessionState
from isca_gui.viewers.bases.bases import BasesViewer
from isca_gui.viewers.cli_lines import (
    dataset_command,
    run_commands,
    settings_in_short,
    train_command,
)
from isca_gui.viewers.convergence.convergence import MOST_READ, MOST_RUNS, ConvergenceViewer
from isca_gui.viewers.convergence.run_curve import FIGURES
from isca_gui.viewers.reconstruction import ReconstructionViewer, rebuild
from isca_gui.viewers.runs import run_data
from isca_gui.viewers.runs.runs import NAME, RunsViewer
from isca_gui.widgets import theme
from tests.gui.conftest import SETTINGS, opened

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.viewers.viewer import Viewer
    from tests.gui.conftest import Studio

KERNEL = TrainingSettings(method="kernel-pca", kernel="rbf")
RANDOM = TrainingSettings(method="random", components=3)


@pytest.fixture(scope="session")
def kernel_model(small: Dataset) -> Model:
    return finish(training.train(small, KERNEL))


@pytest.fixture(scope="session")
def random_model(small: Dataset) -> Model:
    return finish(training.train(small, RANDOM))


def add(studio: Studio, model: Model) -> int:
    number = studio.session.begin_run(model.settings)
    studio.session.end_run(model)
    return number


@pytest.mark.parametrize("kind", [BasesViewer, ReconstructionViewer, ConvergenceViewer, RunsViewer])
def test_without_a_run_there_is_the_next_step(
    qtbot: QtBot, studio: Studio, small: Dataset, kind: type[Viewer]
) -> None:
    viewer = opened(qtbot, studio, kind)
    assert viewer.empty
    assert "sample" in viewer._empty.button.text()
    studio.session.set_dataset(small)
    assert viewer._empty.button.text() == "Train"
    studio.session.set_settings(TrainingSettings(solver="direct", epochs=2))
    viewer._empty.button.click()
    qtbot.waitUntil(lambda: studio.session.run is not None)
    studio.rest(qtbot)
    assert not viewer.empty


# --- bases ----------------------------------------------------------------------------------------------


def test_bases_show_u_v_and_j_on_one_symmetric_scale(
    qtbot: QtBot, with_run: Studio, model: Model
) -> None:
    viewer = opened(qtbot, with_run, BasesViewer)
    assert isinstance(viewer, BasesViewer)
    assert set(viewer.canvases) == {("U", 0), ("V", 0), ("J", 0)}
    canvas = viewer.canvases["U", 0]
    assert canvas.layer is not None
    np.testing.assert_array_equal(canvas.layer.values, model.basis_picture("U", 0))
    texts = viewer.bars["U"].texts
    assert texts[2] == "0"
    assert texts[0] == texts[4].replace("-", "+")
    assert viewer.hints.text()


def test_the_gallery_has_all_components_and_is_linked(qtbot: QtBot, with_run: Studio) -> None:
    viewer = opened(qtbot, with_run, BasesViewer)
    assert isinstance(viewer, BasesViewer)
    viewer.component.setCurrentIndex(viewer.component.count() - 1)
    with_run.rest(qtbot)
    assert len(viewer.canvases) == 12
    assert len({id(canvas.view) for canvas in viewer.canvases.values()}) == 1
    viewer.shared.setChecked(False)
    with_run.rest(qtbot)
    assert all(bar.isVisible() for bar in viewer.bars.values())
    viewer.component.setCurrentIndex(1)
    with_run.rest(qtbot)
    assert set(viewer.canvases) == {("U", 1), ("V", 1), ("J", 1)}


@pytest.mark.parametrize(("place", "component"), [(4, 1), (2, 3)])
def test_a_basis_is_saved_under_the_component_that_it_is(
    qtbot: QtBot, with_run: Studio, place: int, component: int
) -> None:
    viewer = opened(qtbot, with_run, BasesViewer)
    viewer.component.setCurrentIndex(place)  # the last is all of them
    with_run.rest(qtbot)
    (export,) = (
        each for each in viewer.findChildren(QToolButton) if "Export U" in each.accessibleName()
    )
    next(each for each in export.menu().actions() if each.text().startswith("Save V")).trigger()
    dialog = viewer.findChild(QFileDialog)
    assert dialog.windowTitle() == f"Save V of component {component}"
    assert Path(dialog.selectedFiles()[0]).name == f"basis V component {component}.png"
    dialog.close()
    qtbot.waitUntil(lambda: viewer.findChild(QFileDialog) is None)


def test_a_click_on_a_block_shows_its_patches(qtbot: QtBot, with_run: Studio, model: Model) -> None:
    viewer = opened(qtbot, with_run, BasesViewer)
    assert isinstance(viewer, BasesViewer)
    canvas = viewer.canvases["V", 0]
    place = canvas.target().topLeft() + QPointF(20, 12) * canvas.zoom()
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=place.toPoint())
    assert viewer.block == model.grid.index_at(12, 20)
    layer = viewer.patches.layer
    assert layer is not None
    assert layer.size == (4 * 9 - 1, 3 * 9 - 1)
    patch = model.state.u[viewer.block, :, 1].reshape(8, 8)
    np.testing.assert_array_equal(layer.values[:8, 9:17], patch)


def test_a_block_is_chosen_by_keys(qtbot: QtBot, with_run: Studio, model: Model) -> None:
    viewer = opened(qtbot, with_run, BasesViewer)
    canvas, shift = viewer.canvases["J", 0], Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(canvas, Qt.Key.Key_Up, shift)
    first = model.grid.index_at(*canvas.view.cursor)
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Left):
        qtbot.keyClick(canvas, key, shift)
    assert viewer.block is None
    qtbot.keyClick(canvas, Qt.Key.Key_Enter)
    assert viewer.block == first - model.grid.columns - 1
    assert viewer.patches.layer is not None
    canvas.point_at((0, 0))  # the pointer, on its way out
    canvas.view.set_cursor(None)
    qtbot.keyClick(canvas, Qt.Key.Key_Right, shift)
    assert model.grid.index_at(*canvas.view.cursor) == viewer.block, "they begin at what is chosen"


def test_a_block_of_another_grid_is_forgotten(
    qtbot: QtBot, with_run: Studio, small: Dataset
) -> None:
    viewer = opened(qtbot, with_run, BasesViewer)
    assert isinstance(viewer, BasesViewer)
    viewer.block = 5
    viewer._show_block()
    assert viewer.patches.layer is not None
    add(with_run, finish(training.train(small, TrainingSettings(method="random", block=16))))
    with_run.rest(qtbot)
    assert viewer.block is None
    assert viewer.patches.layer is None
    assert viewer.block_text.text().startswith("Click")
    assert all(canvas._highlight is None for canvas in viewer.canvases.values())


def test_a_click_on_what_is_still_drawn_of_a_larger_run_is_no_error(
    qtbot: QtBot, with_run: Studio, picture: NDArray[np.float32]
) -> None:
    viewer = opened(qtbot, with_run, BasesViewer)
    corner = finish(
        dataset.generate(np.ascontiguousarray(picture[:16, :16]), DatasetSpec(levels=(100.0,)))
    )
    with_run.session.add_model("corner.isca", finish(training.train(corner, RANDOM)))
    viewer._first.clicked.emit(40, 40)
    assert viewer.block is None
    viewer._first.clicked.emit(10, 10)
    assert viewer.block == 3
    with_run.rest(qtbot)


def test_a_kernel_model_shows_its_spectrum_and_why(
    qtbot: QtBot, with_run: Studio, kernel_model: Model, model: Model
) -> None:
    viewer = opened(qtbot, with_run, BasesViewer)
    assert isinstance(viewer, BasesViewer)
    number = add(with_run, kernel_model)
    with_run.rest(qtbot)
    assert viewer.spectrum.isVisible()
    assert "per pixel" in viewer.reason.text()
    with_run.session.select_run(number - 1)
    with_run.rest(qtbot)
    assert not viewer.spectrum.isVisible()
    assert not with_run.errors


# --- reconstruction -------------------------------------------------------------------------------------


def test_reconstructions_have_the_engines_numbers(
    qtbot: QtBot, with_run: Studio, model: Model, small: Dataset
) -> None:
    viewer = opened(qtbot, with_run, ReconstructionViewer)
    assert isinstance(viewer, ReconstructionViewer)
    assert viewer.source.count() == len(small.entries)
    viewer.source.setCurrentIndex(3)
    viewer.slider.setValue(2)
    with_run.rest(qtbot)
    back = np.clip(model.reconstruct(small.pictures[3], 2), 0, 1)
    assert viewer.rebuilt is not None
    np.testing.assert_array_equal(viewer.rebuilt.panes[1].values, back)
    assert viewer.rebuilt.error == mse(small.pictures[3], back)
    assert f"{ssim.ssim_map(small.pictures[3], back).mean():.4f}" in viewer.figures.text()


def test_reconstructions_by_other_blocks_have_the_numbers_of_the_command(
    qtbot: QtBot, with_run: Studio, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command clips, and takes the SSIM over 8×8 blocks, whatever the model's are."""
    reference = np.random.default_rng(0).random((64, 64), dtype=np.float32) > 0.5
    made = finish(
        dataset.generate(
            reference.astype(np.float32), DatasetSpec(("blur", "jpeg"), (100.0, 900.0))
        )
    )
    model = finish(training.train(made, TrainingSettings(method="pca", block=16)))
    rebuilt = rebuild(model, made.pictures[0], 1)
    assert model.reconstruct(made.pictures[0], 1).min() < 0
    model_file.save_model(tmp_path / "m.isca", model)
    image.save_tiff(tmp_path / "a.tiff", made.pictures[0])
    words = ["m.isca", "a.tiff", "-o", "b.tiff", "--components", "1", "--json"]
    assert cli.main(["reconstruct", *(str(tmp_path / w) if "." in w else w for w in words)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (rebuilt.error, rebuilt.similarity) == pytest.approx(
        (told["mse"], told["ssim"]), rel=1e-5
    )


def test_pointing_at_pictures_moves_nothing(qtbot: QtBot, with_run: Studio) -> None:
    viewer = opened(qtbot, with_run, BasesViewer)
    viewer.resize(600, 500)
    viewer.component.setCurrentIndex(viewer.component.count() - 1)
    with_run.rest(qtbot)
    qtbot.wait(50)
    canvas = next(iter(viewer.canvases.values()))
    before = canvas.geometry(), viewer.minimumSizeHint()
    canvas.point_at((9, 9))
    qtbot.wait(50)
    assert len(viewer.readout.text()) > 100
    assert (canvas.geometry(), viewer.minimumSizeHint()) == before


def test_between_patches_there_is_no_value(qtbot: QtBot, with_run: Studio) -> None:
    viewer = opened(qtbot, with_run, BasesViewer)
    viewer.choose_block(3)
    with_run.rest(qtbot)
    layer = viewer.patches.layer
    gap = np.argwhere(~np.isfinite(layer.values))[0]
    assert layer.text_at(*gap) == ""
    assert layer.text_at(0, 0) != ""


@pytest.mark.alone
def test_dragging_the_slider_ends_at_the_newest_value_and_shows_some_on_the_way(
    qtbot: QtBot, with_run: Studio
) -> None:
    viewer = opened(qtbot, with_run, ReconstructionViewer)
    assert isinstance(viewer, ReconstructionViewer)
    seen = set()
    end = time.monotonic() + 0.6
    value = 0
    while time.monotonic() < end:
        value = 1 + value % 4
        viewer.slider.setValue(value)
        qtbot.wait(8)
        assert viewer.rebuilt is not None
        seen.add(viewer.rebuilt.components)
    viewer.slider.setValue(2)
    with_run.rest(qtbot)
    assert viewer.rebuilt is not None
    assert viewer.rebuilt.components == 2
    assert len(seen) > 1


def test_a_kernel_model_says_why_it_cannot_reconstruct(
    qtbot: QtBot, with_run: Studio, kernel_model: Model
) -> None:
    add(with_run, kernel_model)
    viewer = opened(qtbot, with_run, ReconstructionViewer)
    assert isinstance(viewer, ReconstructionViewer)
    assert viewer.reason.isVisible()
    assert "cannot reconstruct" in viewer.reason.text()


# --- convergence ----------------------------------------------------------------------------------------


@pytest.mark.alone
def test_steps_are_drawn_as_they_come_at_most_at_thirty_hertz(
    qtbot: QtBot, with_dataset: Studio, model: Model
) -> None:
    session = with_dataset.session
    viewer = opened(qtbot, with_dataset, ConvergenceViewer)
    assert isinstance(viewer, ConvergenceViewer)
    number = session.begin_run(TrainingSettings(epochs=400))
    assert "preparing" in viewer.describe()
    before, begun = viewer.drawn, time.monotonic()
    for epoch in range(1, 301):
        session.add_steps(
            [replace(model.steps[0], epoch=epoch, error=1 / epoch, objective=2 / epoch)]
        )
        qtbot.wait(1)
    qtbot.waitUntil(lambda: len(viewer.curves[number, "error"].xData) == 300, timeout=2000)
    drawn, seconds = viewer.drawn - before, time.monotonic() - begun
    assert 2 <= drawn <= 30 * seconds + 2
    assert "epoch 300 of 400" in viewer.describe()
    qtbot.waitUntil(lambda: not viewer._timer.isActive(), timeout=2000)
    still = viewer.drawn
    qtbot.wait(150)
    assert viewer.drawn == still
    session.end_run(None)
    assert number not in viewer.tracks


def test_runs_lie_over_each_other_and_curves_can_be_hidden(
    qtbot: QtBot, with_run: Studio, random_model: Model
) -> None:
    add(with_run, random_model)
    viewer = opened(qtbot, with_run, ConvergenceViewer)
    assert isinstance(viewer, ConvergenceViewer)
    assert len(viewer.tracks) == 2
    pens = {
        viewer.curves[number, "objective"].opts["pen"].color().name() for number in viewer.tracks
    }
    assert len(pens) == 2
    first = min(viewer.tracks)
    assert len(viewer.curves[first, "objective"].xData) == 5
    viewer.boxes["objective"].setChecked(False)
    assert viewer.curves[first, "objective"].xData is None or not len(
        viewer.curves[first, "objective"].xData
    )


def test_a_training_of_another_project_is_not_gone_on_with(
    qtbot: QtBot, with_run: Studio, model: Model, small: Dataset
) -> None:
    session = with_run.session
    viewer = opened(qtbot, with_run, ConvergenceViewer)
    steps = tuple(replace(step, error=0.5) for step in model.steps)
    for seen in (0, 2, len(steps)):  # when it is looked at again
        viewer.hide()
        session.set_work(SessionState(session.spec, session.settings, session.reference))  # New
        session.set_dataset(small, small.digest())
        assert session.begin_run(session.settings) == 1
        session.add_steps(steps[:seen])
        if seen == len(steps):
            session.end_run(replace(model, steps=steps))
        viewer.show()
        session.add_steps(steps[seen:])
        assert viewer.tracks[1].epochs.tolist() == [step.epoch for step in steps]
        assert viewer.tracks[1].values["error"].tolist() == [step.error for step in steps]
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
    for _ in range(MOST_READ):
        add(with_run, model)
    box = viewer.plot.plotItem.vb
    names = [run.name for run in with_run.session.runs]
    for selected, read in ((MOST_READ + 1, names[1:]), (1, [names[0], *names[2:]])):
        with_run.session.select_run(selected)
        qtbot.wait(50)
        viewer._on_mouse_moved(box.mapViewToScene(QPointF(3.1, sum(box.viewRange()[1]) / 2)))
        assert [name for name in names if name in viewer.readout.text()] == read


# --- runs -----------------------------------------------------------------------------------------------


def test_runs_are_listed_selected_and_renamed(
    qtbot: QtBot, with_run: Studio, random_model: Model
) -> None:
    number = add(with_run, random_model)
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


def test_the_selected_run_is_always_among_the_curves(
    qtbot: QtBot, with_run: Studio, model: Model
) -> None:
    viewer = opened(qtbot, with_run, ConvergenceViewer)
    for _ in range(MOST_RUNS):
        with_run.session.begin_run(SETTINGS)
        with_run.session.end_run(model)
    assert len(viewer.tracks) == MOST_RUNS
    with_run.session.select_run(1)
    assert 1 in viewer.tracks


def test_stale_runs_are_marked(qtbot: QtBot, with_run: Studio, small: Dataset) -> None:
    viewer = opened(qtbot, with_run, RunsViewer)
    assert isinstance(viewer, RunsViewer)
    assert viewer.model.table()[1][-1] == "current"
    with_run.session.set_spec(replace(with_run.session.spec, seed=9))
    assert viewer.model.table()[1][-1] == "stale"
    data = viewer.model.index(0, viewer.model.columnCount() - 1)
    assert data.data() == "settings changed"
    assert (
        data.data(Qt.ItemDataRole.ToolTipRole) == "The settings of the dataset have changed since."
    )
    with_run.session.set_dataset(
        replace(small, pictures=small.pictures + np.float32(0.01)), "another"
    )
    assert data.data() == "other data"
    assert "Train again" in data.data(Qt.ItemDataRole.ToolTipRole)
    bases, rebuilt = (
        opened(qtbot, with_run, BasesViewer),
        opened(qtbot, with_run, ReconstructionViewer),
    )
    assert "other data" in bases.hints.text()
    assert "other data" in rebuilt.figures.text()
    with_run.session.set_dataset(small, small.digest())
    with_run.rest(qtbot)
    assert "The settings of the dataset have changed since." in bases.hints.text()
    assert "The settings of the dataset have changed since." in rebuilt.figures.text()


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
    add(with_run, random_model)  # a training ends while the file is being named
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
        "isca train dataset -o isca-1.isca --method isca --solver direct --epochs 5"
    )


def test_the_command_has_the_dataset_that_was_trained_on(
    qtbot: QtBot, with_run: Studio, small: Dataset, tmp_path: Path
) -> None:
    """Whatever is set for the next one; but not with another reference than its own."""
    session, path = with_run.session, str(tmp_path / "a.png")
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


def test_the_reason_of_being_stale_is_the_present_one(qtbot: QtBot, with_run: Studio) -> None:
    session = with_run.session
    viewer = opened(qtbot, with_run, RunsViewer)
    assert session.reference is not None
    assert session.run is not None
    session.set_spec(replace(session.spec, levels=(7.0,)))
    session.set_reference(replace(session.reference, name="another"))
    redrawn = []
    viewer.model.layoutChanged.connect(
        lambda: redrawn.append(run_data.change(session, session.run))
    )
    session.undo.undo()
    assert redrawn[-1:] == [run_data.REFERENCE]


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


@pytest.mark.parametrize(
    "settings",
    [
        TrainingSettings(), TrainingSettings(solver="direct", epochs=7, tolerance=1e-4),
        TrainingSettings(method="kernel-isca", kernel="polynomial", degree=2, gamma=0.5, metric="natural"),
        TrainingSettings(method="pca", components=9, block=16, precision="float64", seed=4),
    ],
)  # fmt: skip
def test_commands_are_read_back_as_the_same_settings(settings: TrainingSettings) -> None:
    from isca_gui import cli
    from isca_gui.cli import train

    words = shlex.split(train_command(settings, "data", "out.isca"))
    arguments = cli._parser().parse_args(words[1:])
    assert train._settings(arguments, None).resolved() == settings.resolved()


@given(
    st.lists(st.floats(0.001, 65_025), min_size=1, max_size=5, unique=True).map(sorted),
    st.integers(0, 2**63 - 1),
)
def test_the_command_of_a_dataset_is_read_back_as_the_same_spec(
    levels: list[float], seed: int
) -> None:
    from isca_gui import cli

    spec = DatasetSpec(("blur", "jpeg"), tuple(levels), seed)
    arguments = cli._parser().parse_args(shlex.split(dataset_command(spec, "a b.png", "out"))[1:])
    assert (arguments.kinds, parse_levels(arguments.levels), arguments.seed) == (
        "blur,jpeg",
        spec.levels,
        seed,
    )


def test_commands_name_the_dataset_too(small: Dataset) -> None:
    both = run_commands(TrainingSettings(), small, "sample:camera", "ISCA 1").splitlines()
    assert both[0] == (
        "isca dataset sample:camera -o dataset --kinds gaussian-noise,blur,jpeg --levels 100,400"
    )
    assert both[1].startswith("isca train dataset")
    papers = replace(small, spec=DatasetSpec())
    assert run_commands(TrainingSettings(), papers, "a b.png", "x").startswith(
        "isca train 'a b.png'"
    )
    assert settings_in_short(TrainingSettings(rho=0.5)) == "p = 4, block 8, ρ 0.5"


@pytest.mark.parametrize("kind", [BasesViewer, ReconstructionViewer, ConvergenceViewer, RunsViewer])
def test_viewers_follow_the_theme_and_name_their_widgets(
    qtbot: QtBot, with_run: Studio, kind: type[Viewer]
) -> None:
    viewer = opened(qtbot, with_run, kind)
    theme.apply(theme.DARK)
    qtbot.wait(10)
    unnamed = [
        widget
        for widget in viewer.findChildren(QWidget)
        if widget.focusPolicy() != Qt.FocusPolicy.NoFocus and not widget.accessibleName()
        and widget.isVisible() and not widget.objectName().startswith("qt_")
    ]  # fmt: skip
    assert not unnamed
    theme.apply(theme.LIGHT)
