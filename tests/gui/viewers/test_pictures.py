"""The pictures viewer: thumbnails by kind and level, linked panes, five ways to compare."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from isca_gui.core.distortion.dataset import Dataset, Unreachable
from isca_gui.core.pictures import ssim
from isca_gui.session.records import Reference
from isca_gui.viewers.pictures import panes, pictures
from isca_gui.viewers.pictures.gallery import GalleryModel, GalleryTable
from isca_gui.viewers.pictures.pictures import PicturesViewer
from tests.gui.conftest import opened

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from isca_gui.viewers.pictures.panes import Pane
    from tests.gui.conftest import Studio


@pytest.fixture
def viewer(qtbot: QtBot, with_dataset: Studio) -> PicturesViewer:
    made: PicturesViewer = opened(qtbot, with_dataset, PicturesViewer)
    made.resize(800, 600)
    with_dataset.rest(qtbot)
    return made


def test_an_empty_viewer_leads_to_the_next_step(qtbot: QtBot, with_reference: Studio) -> None:
    viewer = PicturesViewer(with_reference.session, with_reference.jobs, with_reference.actions)
    qtbot.addWidget(viewer)
    viewer.show()
    assert viewer.empty
    qtbot.mouseClick(viewer._empty.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: with_reference.session.dataset is not None)
    assert not viewer.empty
    with_reference.rest(qtbot)
    assert viewer.left.layer is not None


def test_every_picture_has_its_place_and_a_thumbnail(
    viewer: PicturesViewer, small: Dataset
) -> None:
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


def test_a_folder_that_holds_more_than_was_made_is_laid_out_too(small: Dataset) -> None:
    entries = (*small.entries, replace(small.entries[-1], label="scratches", target_mse=484.19))
    pictures_ = np.concatenate([small.pictures, small.pictures[-1:]])
    twice = (*small.entries, small.entries[-1])
    for each in (entries, twice):
        model = GalleryModel()
        model.set_dataset(Dataset(pictures_, each, small.spec))
        assert all(model.index_of(number).isValid() for number in range(1, len(each)))
        assert model.headerData(
            0, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole
        ).startswith("Rank")


def test_a_long_label_leaves_room_for_pictures(qtbot: QtBot, small: Dataset) -> None:
    model = GalleryModel()
    model.set_dataset(
        Dataset(small.pictures[:2], (small.entries[0], replace(small.entries[1], label="x" * 150)))
    )
    table = GalleryTable(model, None)  # type: ignore[arg-type]
    qtbot.addWidget(table)
    table.resize(500, 200)
    table.show()
    assert table.viewport().width() > 200


def test_the_command_names_the_picture_that_the_dataset_is_of(
    viewer: PicturesViewer, with_dataset: Studio
) -> None:
    session = with_dataset.session
    first = session.reference
    assert first is not None
    session.set_reference(Reference("new", first.picture, "/p/new.png"))
    assert "/p/new.png" not in viewer.command()


def test_no_command_makes_an_imported_dataset(
    viewer: PicturesViewer, with_dataset: Studio, small: Dataset
) -> None:
    with_dataset.session.set_dataset(Dataset(small.pictures, small.entries))
    QGuiApplication.clipboard().setText("mine")
    viewer.exporter.copy(viewer.exportables()[2])
    assert QGuiApplication.clipboard().text() == "mine"
    message = with_dataset.session.messages[-1]
    assert message.level == "warning"
    assert "imported" in message.text


def test_an_imported_dataset_is_laid_out_by_rising_error(small: Dataset) -> None:
    model = GalleryModel()
    model.set_dataset(Dataset(small.pictures.copy(), small.entries))
    errors = [
        small.entries[model.picture_at(model.index(0, column)) or 0].achieved_mse
        for column in (0, 1)
    ]
    assert errors == sorted(errors)


def test_a_click_shows_the_picture_with_target_and_achieved_error(
    qtbot: QtBot, viewer: PicturesViewer, with_dataset: Studio, small: Dataset
) -> None:
    index = viewer.model.index(2, 1)
    qtbot.mouseClick(
        viewer.table.viewport(),
        Qt.MouseButton.LeftButton,
        pos=viewer.table.visualRect(index).center(),
    )
    with_dataset.rest(qtbot)
    number = viewer.model.picture_at(index)
    assert number is not None
    assert viewer.right.layer is not None
    assert (viewer.right.layer.values == small.pictures[number]).all()
    similarity = ssim.ssim_map(small.reference, small.pictures[number]).mean()
    assert f"achieved MSE {small.entries[number].achieved_mse:.2f}" in viewer.info.text()
    assert "target MSE 400" in viewer.info.text()
    assert f"SSIM {similarity:.4f}" in viewer.info.text()


@pytest.mark.parametrize("mode", list(pictures.MODES))
def test_all_modes_show_what_they_say(qtbot: QtBot, viewer: PicturesViewer, mode: str) -> None:
    viewer.modes[mode].click()
    assert viewer.shown is not None
    (shown,) = viewer.shown.comparisons
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
    assert viewer.shown is not None
    (shown,) = viewer.shown.comparisons
    qtbot.waitUntil(lambda: viewer.left.layer is shown.second)
    qtbot.waitUntil(lambda: viewer.left.layer is shown.first)
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


def seen(viewer: PicturesViewer) -> list[Pane]:
    return [pane for pane in viewer.panes.panes if pane.isVisible()]


def click(qtbot: QtBot, viewer: PicturesViewer, number: int, modifier: Qt.KeyboardModifier) -> None:
    place = viewer.table.visualRect(viewer.model.index_of(number)).center()
    qtbot.mouseClick(viewer.table.viewport(), Qt.MouseButton.LeftButton, modifier, place)


def test_several_pictures_chosen_by_the_mouse_are_shown_at_once(
    qtbot: QtBot, viewer: PicturesViewer, with_dataset: Studio, small: Dataset
) -> None:
    click(qtbot, viewer, 1, Qt.KeyboardModifier.NoModifier)
    click(qtbot, viewer, 4, Qt.KeyboardModifier.ControlModifier)
    click(qtbot, viewer, 5, Qt.KeyboardModifier.ControlModifier)
    with_dataset.rest(qtbot)
    shown = seen(viewer)
    assert len(shown) == 4
    for pane, number in zip(shown, (0, 1, 4, 5), strict=True):
        assert pane.layer is not None
        assert (pane.layer.values == small.pictures[number]).all()
    # A second Ctrl+click takes the picture out again.
    click(qtbot, viewer, 4, Qt.KeyboardModifier.ControlModifier)
    with_dataset.rest(qtbot)
    assert len(seen(viewer)) == 3


def test_several_pictures_are_chosen_by_keyboard(
    qtbot: QtBot, viewer: PicturesViewer, with_dataset: Studio
) -> None:
    viewer.choose(1)
    viewer.table.setFocus()
    qtbot.keyClick(viewer.table, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    with_dataset.rest(qtbot)
    assert viewer.shown is not None
    assert viewer.shown.others == (1, 2)
    qtbot.keyClick(viewer.table, Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(viewer.table, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    with_dataset.rest(qtbot)
    assert viewer.shown.others == (1, 2, 4)


def test_pictures_beyond_the_panes_are_reported(
    qtbot: QtBot, with_dataset: Studio, small: Dataset
) -> None:
    many = Dataset(
        np.concatenate([small.pictures, small.pictures[1:], small.pictures[1:]]),
        (*small.entries, *small.entries[1:], *small.entries[1:]),
    )
    with_dataset.session.set_dataset(many, many.digest())
    viewer = PicturesViewer(with_dataset.session, with_dataset.jobs, with_dataset.actions)
    qtbot.addWidget(viewer)
    viewer.resize(900, 700)
    viewer.show()
    viewer.table.selectAll()
    with_dataset.rest(qtbot)
    assert len(seen(viewer)) == panes.MAX_COMPARED + 1
    assert f"only the first {panes.MAX_COMPARED} are shown" in viewer.info.text()


def test_panes_fill_their_grid_without_overlap(
    qtbot: QtBot, viewer: PicturesViewer, with_dataset: Studio
) -> None:
    viewer.choose(*range(1, 7))
    with_dataset.rest(qtbot)
    places = [pane.geometry() for pane in seen(viewer)]
    assert len(places) == 7
    for number, place in enumerate(places):
        assert viewer.panes.rect().contains(place)
        assert not any(place.intersects(other) for other in places[number + 1 :])


@pytest.mark.parametrize(("mode", "count"), [
    (pictures.SIDE_BY_SIDE, 4), (pictures.SWIPE, 3), (pictures.BLINK, 3), (pictures.DIFFERENCE, 3),
    (pictures.SIMILARITY, 3),
])  # fmt: skip
def test_every_mode_shows_all_that_are_chosen(
    qtbot: QtBot, viewer: PicturesViewer, with_dataset: Studio, mode: str, count: int
) -> None:
    viewer.choose(1, 3, 5)
    with_dataset.rest(qtbot)
    viewer.set_mode(mode)
    assert len(seen(viewer)) == count
    assert viewer.shown is not None
    # All differences share one scale.
    if mode == pictures.DIFFERENCE:
        assert len({each.limit for each in viewer.shown.comparisons}) == 1
        assert [pane.layer for pane in seen(viewer)] == [
            c.difference for c in viewer.shown.comparisons
        ]
    viewer.set_mode(pictures.SIDE_BY_SIDE)


def test_dividers_zoom_and_pointer_are_shared(
    qtbot: QtBot, viewer: PicturesViewer, with_dataset: Studio, small: Dataset
) -> None:
    viewer.choose(1, 3)
    with_dataset.rest(qtbot)
    viewer.right.set_zoom(2.0)
    assert {pane.zoom() for pane in seen(viewer)} == {2.0}
    viewer.left.view.set_cursor((10, 20))
    assert [pane.value() for pane in seen(viewer)] == [
        f"{255 * small.pictures[number][10, 20]:.1f}" for number in (0, 1, 3)
    ]
    for number in (0, 1, 3):
        assert f"{255 * small.pictures[number][10, 20]:.1f}" in viewer.readout.text()
    viewer.set_mode(pictures.SWIPE)
    viewer.left.set_divider(0.3)
    assert {pane.divider for pane in seen(viewer)} == {0.3}
    viewer.set_mode(pictures.SIDE_BY_SIDE)


def test_all_panes_are_saved_as_one_picture(
    qtbot: QtBot, viewer: PicturesViewer, with_dataset: Studio, small: Dataset
) -> None:
    viewer.choose(1, 3)
    with_dataset.rest(qtbot)
    whole = viewer.panes.composed()
    assert whole is not None
    height, width = small.reference.shape
    assert whole.width() * whole.height() >= 3 * width * height


def test_the_panes_do_not_move_under_the_pointer(
    qtbot: QtBot, viewer: PicturesViewer, with_dataset: Studio
) -> None:
    viewer.choose(*range(1, 7))
    with_dataset.rest(qtbot)
    qtbot.wait(50)
    before = [pane.geometry() for pane in seen(viewer)]
    for place in ((0, 0), (30, 40), (63, 63)):
        viewer.left.view.set_cursor(place)
        qtbot.wait(20)
        assert [pane.geometry() for pane in seen(viewer)] == before
    viewer.left.view.set_cursor(None)
