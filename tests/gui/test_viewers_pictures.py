"""The dataset's viewer: thumbnails by kind and level, two linked panes, five ways to compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt

from isca_gui.core import ssim
from isca_gui.core.dataset import Dataset, Unreachable
from isca_gui.viewers import pictures
from isca_gui.viewers.gallery import GalleryModel
from isca_gui.viewers.pictures import PicturesViewer

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from .conftest import Studio


@pytest.fixture
def viewer(qtbot: QtBot, with_dataset: Studio) -> PicturesViewer:
    made = PicturesViewer(with_dataset.session, with_dataset.jobs, with_dataset.actions)
    qtbot.addWidget(made)
    made.resize(800, 600)
    made.show()
    with_dataset.rest(qtbot)
    return made


def test_an_empty_viewer_leads_to_the_next_step(qtbot: QtBot, with_reference: Studio) -> None:
    viewer = PicturesViewer(with_reference.session, with_reference.jobs, with_reference.actions)
    qtbot.addWidget(viewer)
    viewer.show()
    assert viewer.empty
    qtbot.mouseClick(viewer._empty.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: with_reference.session.dataset is not None, timeout=20_000)
    assert not viewer.empty
    with_reference.rest(qtbot)
    assert viewer.left.layer is not None


def test_every_picture_has_its_place_and_a_thumbnail(viewer: PicturesViewer, small: Dataset) -> None:
    model = viewer.model
    assert (model.rowCount(), model.columnCount()) == (3, 2)
    for number in range(1, len(small.entries)):
        index = model.index_of(number)
        entry = small.entries[number]
        assert entry.target_mse == (100.0, 400.0)[index.column()]
        assert not model.data(index, Qt.ItemDataRole.DecorationRole).isNull()
    assert model.headerData(1, Qt.Orientation.Vertical) == "B  Blur"


def test_what_cannot_be_reached_is_marked(qtbot: QtBot, small: Dataset) -> None:
    missed = Unreachable(small.entries[-1].label, small.entries[-1].target_mse, 300.0)
    part = Dataset(small.pictures[:-1].copy(), small.entries[:-1], small.spec, (missed,))
    model = GalleryModel()
    model.set_dataset(part)
    index = model.index(2, 1)
    assert model.picture_at(index) is None
    assert "at most" in model.data(index, Qt.ItemDataRole.ToolTipRole)
    assert not model.flags(index)


def test_an_imported_dataset_is_laid_out_by_rising_error(small: Dataset) -> None:
    model = GalleryModel()
    model.set_dataset(Dataset(small.pictures.copy(), small.entries))
    errors = [small.entries[model.picture_at(model.index(0, column)) or 0].achieved_mse for column in (0, 1)]
    assert errors == sorted(errors)


def test_a_click_shows_the_picture_with_target_and_achieved_error(
    qtbot: QtBot, viewer: PicturesViewer, with_dataset: Studio, small: Dataset
) -> None:
    index = viewer.model.index(2, 1)
    qtbot.mouseClick(
        viewer.table.viewport(), Qt.MouseButton.LeftButton, pos=viewer.table.visualRect(index).center()
    )
    with_dataset.rest(qtbot)
    number = viewer.model.picture_at(index)
    assert number is not None
    assert viewer.right.layer is not None
    assert (
        viewer.right.layer.values is small.pictures[number]
        or (viewer.right.layer.values == small.pictures[number]).all()
    )
    similarity = ssim.ssim_map(small.reference, small.pictures[number]).mean()
    assert f"achieved MSE {small.entries[number].achieved_mse:.2f}" in viewer.info.text()
    assert "target MSE 400" in viewer.info.text()
    assert f"SSIM {similarity:.4f}" in viewer.info.text()


@pytest.mark.parametrize("mode", list(pictures.MODES))
def test_all_modes_show_what_they_say(qtbot: QtBot, viewer: PicturesViewer, mode: str) -> None:
    viewer.modes[mode].click()
    shown = viewer._shown
    assert shown is not None
    expected = {
        pictures.SIDE_BY_SIDE: (shown.first, shown.second), pictures.SWIPE: (shown.first, None),
        pictures.BLINK: (shown.first, None), pictures.DIFFERENCE: (shown.second, shown.difference),
        pictures.SIMILARITY: (shown.second, shown.similarity),
    }[mode]  # fmt: skip
    assert viewer.left.layer is expected[0]
    assert viewer.right.isVisible() == (expected[1] is not None)
    if expected[1] is not None:
        assert viewer.right.layer is expected[1]
    assert viewer.bar.isVisible() == (mode in (pictures.DIFFERENCE, pictures.SIMILARITY))
    viewer.set_mode(pictures.SIDE_BY_SIDE)


def test_b_blinks_between_the_two(qtbot: QtBot, viewer: PicturesViewer) -> None:
    viewer.left.setFocus()
    qtbot.keyClick(viewer.left, Qt.Key.Key_B)
    assert viewer.mode == pictures.BLINK
    shown = viewer._shown
    assert shown is not None
    qtbot.waitUntil(lambda: viewer.left.layer is shown.second, timeout=3000)
    qtbot.waitUntil(lambda: viewer.left.layer is shown.first, timeout=3000)
    qtbot.keyClick(viewer.left, Qt.Key.Key_B)
    assert viewer.mode == pictures.SIDE_BY_SIDE


def test_the_readout_names_the_values_of_every_pane(viewer: PicturesViewer, small: Dataset) -> None:
    viewer.left.view.set_cursor((10, 20))
    text = viewer.readout.text()
    assert "x 20, y 10" in text
    assert f"{255 * small.reference[10, 20]:.1f}" in text
    assert "difference" in text
    viewer.left.view.set_cursor(None)
    assert not viewer.readout.text().strip()


def test_another_picture_can_take_the_references_place(
    qtbot: QtBot, viewer: PicturesViewer, with_dataset: Studio, small: Dataset
) -> None:
    viewer.choose(1)
    viewer._pin.click()
    viewer.choose(3)
    with_dataset.rest(qtbot)
    assert viewer.left.layer is not None
    assert (viewer.left.layer.values == small.pictures[1]).all()
    viewer._pin.click()
    with_dataset.rest(qtbot)
    assert (viewer.left.layer.values == small.reference).all()


def test_the_table_of_the_dataset_is_complete(viewer: PicturesViewer, small: Dataset) -> None:
    assert len(viewer.rows()) == 1 + len(small.entries)
