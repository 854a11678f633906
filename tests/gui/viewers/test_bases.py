"""The bases viewer, on really trained small models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QFileDialog, QToolButton

from isca_gui.core.distortion import dataset
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import training
from isca_gui.core.progress import run as finish
from isca_gui.core.settings import TrainingSettings
from isca_gui.viewers.bases.bases import BasesViewer
from tests.gui.conftest import opened
from tests.gui.viewers.conftest import RANDOM, add_run

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from tests.gui.conftest import Studio


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
def test_a_basis_is_saved_under_the_name_of_its_component(
    qtbot: QtBot, with_run: Studio, place: int, component: int
) -> None:
    viewer = opened(qtbot, with_run, BasesViewer)
    # The last line stands for all components.
    viewer.component.setCurrentIndex(place)
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
    canvas = viewer.canvases["J", 0]
    shift = Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(canvas, Qt.Key.Key_Up, shift)
    first = model.grid.index_at(*canvas.view.cursor)
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Left):
        qtbot.keyClick(canvas, key, shift)
    assert viewer.block is None
    qtbot.keyClick(canvas, Qt.Key.Key_Enter)
    assert viewer.block == first - model.grid.columns - 1
    assert viewer.patches.layer is not None
    # The pointer crosses the corner on its way out.
    canvas.point_at((0, 0))
    canvas.view.set_cursor(None)
    qtbot.keyClick(canvas, Qt.Key.Key_Right, shift)
    assert model.grid.index_at(*canvas.view.cursor) == viewer.block, (
        "keys start at the chosen block"
    )


def test_a_block_of_another_grid_is_forgotten(
    qtbot: QtBot, with_run: Studio, small: Dataset
) -> None:
    viewer = opened(qtbot, with_run, BasesViewer)
    assert isinstance(viewer, BasesViewer)
    viewer.block = 5
    viewer._show_block()
    assert viewer.patches.layer is not None
    add_run(with_run, finish(training.train(small, TrainingSettings(method="random", block=16))))
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
    number = add_run(with_run, kernel_model)
    with_run.rest(qtbot)
    assert viewer.spectrum.isVisible()
    assert "per pixel" in viewer.reason.text()
    with_run.session.select_run(number - 1)
    with_run.rest(qtbot)
    assert not viewer.spectrum.isVisible()
    assert not with_run.errors


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
