"""The confusion matrix, on really recognised small pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from isca_gui.core.distortion import dataset
from isca_gui.core.model import training
from isca_gui.core.progress import run as finish
from isca_gui.core.recognition.evaluation import leave_one_out
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.recognition.vote_overlays import style_of
from isca_gui.core.settings import TrainingSettings
from isca_gui.viewers.confusion.confusion import ConfusionViewer, pictures_of
from isca_gui.widgets import theme
from tests.gui.viewers.conftest import text_colours

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from tests.gui.conftest import Studio


@pytest.fixture
def confusion(qtbot: QtBot, with_run: Studio) -> ConfusionViewer:
    made = ConfusionViewer(with_run.session, with_run.jobs, with_run.actions)
    qtbot.addWidget(made)
    made.resize(900, 600)
    made.show()
    assert made.empty
    made._empty.button.click()
    qtbot.waitUntil(lambda: not made.empty)
    with_run.rest(qtbot)
    return made


def test_the_matrix_is_the_engines(
    confusion: ConfusionViewer, with_run: Studio, model: Model
) -> None:
    expected = finish(leave_one_out(model))
    matrix = confusion.matrices[with_run.session.runs[0].number]
    np.testing.assert_array_equal(matrix.counts, expected.confusion)
    assert f"{expected.accuracy:.1%}" in confusion._titles[with_run.session.runs[0].number].text()
    assert confusion.rows()[0][1:] == ("true", *expected.classes, "undecided", "recall")


def test_every_cell_lists_exactly_its_pictures(
    qtbot: QtBot, confusion: ConfusionViewer, with_run: Studio
) -> None:
    run = with_run.session.runs[0]
    matrix = confusion.matrices[run.number]
    listed = []
    for row in range(matrix.counts.shape[0]):
        for column in range(matrix.counts.shape[1]):
            with qtbot.waitSignal(confusion.pictures_chosen) as chosen:
                place = matrix.cell_rect(row, column).center().toPoint()
                qtbot.mouseClick(matrix, Qt.MouseButton.LeftButton, pos=place)
            assert len(chosen.args[0]) == matrix.counts[row, column] == confusion.list.count()
            listed += chosen.args[0]
    assert sorted(listed) == list(range(len(run.model.known.labels)))  # type: ignore[union-attr]
    with_run.rest(qtbot)


def test_a_picture_of_a_cell_opens_with_its_blocks_left_out(
    qtbot: QtBot, confusion: ConfusionViewer, with_run: Studio, model: Model
) -> None:
    run = with_run.session.runs[0]
    matrix = confusion.matrices[run.number]
    row, column = np.argwhere(matrix.counts)[-1]
    matrix.choose(int(row), int(column))
    with_run.rest(qtbot)
    assert not confusion.list.item(0).icon().isNull()
    number = pictures_of(run, int(row), int(column))[0]
    with qtbot.waitSignal(confusion.picture_opened):
        confusion._on_item(confusion.list.item(0))
    test = with_run.session.test
    assert test is not None
    assert test.recognition is not None
    expected = Recogniser(model).leave_one_out(number)
    np.testing.assert_array_equal(test.recognition.winner, expected.winner)
    with qtbot.waitSignal(confusion.picture_opened):
        confusion._on_item(confusion.list.item(0))
    assert len(with_run.session.tested) == 1
    # Other dataset settings make the run stale.
    with_run.session.set_spec(replace(with_run.session.spec, seed=9))
    with_run.actions.recognise_again()
    with_run.rest(qtbot)
    again = with_run.session.test
    assert again is not None
    assert again is not test
    assert again.recognition is not None
    np.testing.assert_array_equal(again.recognition.winner, expected.winner)
    assert again.recognition.verdict == expected.verdict


def test_pictures_of_a_cell_are_there_whatever_is_set_in_step_2(
    qtbot: QtBot, confusion: ConfusionViewer, with_run: Studio
) -> None:
    session = with_run.session
    session.set_spec(replace(session.spec, seed=9))
    assert "dataset settings changed" in confusion._titles[1].text()
    assert "The dataset settings have changed" in confusion._titles[1].toolTip()
    matrix = confusion.matrices[1]
    row, column = np.argwhere(matrix.counts)[-1]
    matrix.choose(int(row), int(column))
    with_run.rest(qtbot)
    assert not confusion.list.item(0).icon().isNull()
    with qtbot.waitSignal(confusion.picture_opened):
        confusion._on_item(confusion.list.item(0))


def test_a_double_click_opens_a_picture_once(
    qtbot: QtBot, confusion: ConfusionViewer, with_run: Studio
) -> None:
    matrix = confusion.matrices[with_run.session.runs[0].number]
    row, column = np.argwhere(matrix.counts)[-1]
    matrix.choose(int(row), int(column))
    for _ in range(2):
        confusion._on_item(confusion.list.item(0))
    with_run.rest(qtbot)
    assert len(with_run.session.tested) == 1


def test_a_picture_of_a_cell_is_the_one_counted_not_that_of_the_dataset_before(
    qtbot: QtBot, confusion: ConfusionViewer, with_run: Studio, picture: NDArray[np.float32]
) -> None:
    session = with_run.session
    confusion.open_picture(1, 1)
    with_run.rest(qtbot)
    spec = replace(session.spec, seed=session.spec.seed + 1)
    other = finish(dataset.generate(picture, spec))
    session.set_spec(spec)
    session.set_dataset(other, other.digest())
    second = session.begin_run(session.settings)
    session.end_run(finish(training.train(other, session.settings)))
    with_run.actions.evaluate(second)
    with_run.actions.recognise_again()
    with_run.rest(qtbot)
    assert (session.tested[0].run, session.tested[0].left_out) == (second, 1)
    confusion.open_picture(second, 1)
    with_run.rest(qtbot)
    assert session.test is not None
    assert np.array_equal(session.test.picture, other.pictures[1])
    confusion.open_picture(second, 1)
    with_run.rest(qtbot)
    assert len(session.tested) == 2


def test_another_project_with_the_same_numbers_shows_nothing_of_the_old(
    qtbot: QtBot, confusion: ConfusionViewer, with_run: Studio, model: Model
) -> None:
    work = with_run.session.work
    matrix = confusion.matrices[work.runs[0].number]
    row, column = np.argwhere(matrix.counts)[-1]
    matrix.choose(int(row), int(column))
    with_run.rest(qtbot)
    assert confusion.list.count()
    other = replace(work.runs[0], name="Other", evaluation=finish(leave_one_out(model)))
    with_run.session.set_work(replace(work, runs=(other,)))
    with_run.rest(qtbot)
    assert confusion.list.count() == 0
    assert "Click a cell" in confusion.cell.text()
    assert "Other" in confusion.matrices[other.number].accessibleName()


def test_all_runs_side_by_side_and_the_random_baseline(
    qtbot: QtBot, confusion: ConfusionViewer, with_run: Studio, small: Dataset
) -> None:
    assert not confusion.baseline.isEnabled()
    settings = TrainingSettings(method="random")
    number = with_run.session.begin_run(settings)
    with_run.session.end_run(finish(training.train(small, settings)))
    assert confusion.empty
    with_run.actions.evaluate(number)
    with_run.rest(qtbot)
    assert list(confusion.matrices) == [number]
    with_run.session.select_run(number - 1)
    assert confusion.baseline.isEnabled()
    confusion.baseline.click()
    assert list(confusion.matrices) == [number - 1, number]
    confusion.baseline.click()
    confusion.every.click()
    assert list(confusion.matrices) == [number - 1, number]
    # The matrix of the selected run is the one that is saved.
    for selected in (number, number - 1):
        with_run.session.select_run(selected)
        with_run.rest(qtbot)
        assert confusion._image() == confusion.matrices[selected].drawn()
        run = with_run.session.run
        assert run is not None
        confusion.exporter.save_as(confusion.exportables()[0])
        dialog = confusion.findChild(QFileDialog)
        assert dialog.windowTitle() == f"Save matrix of {run.name}"
        assert Path(dialog.selectedFiles()[0]).name == f"confusion {run.name}.png"
        dialog.close()
        qtbot.waitUntil(lambda: confusion.findChild(QFileDialog) is None)


def test_the_matrix_is_used_by_keyboard_and_saved(
    qtbot: QtBot, confusion: ConfusionViewer, with_run: Studio, tmp_path: Path
) -> None:
    matrix = next(iter(confusion.matrices.values()))
    matrix.setFocus()
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Right):
        qtbot.keyClick(matrix, key)
    assert matrix.chosen == (1, 1)
    for item in confusion.exportables():
        for suffix in item.suffixes:
            confusion.exporter.save(item, tmp_path / f"m{suffix}")
    with_run.rest(qtbot)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".png", ".svg"]


def test_the_text_of_the_drawing_has_a_colour(confusion: ConfusionViewer) -> None:
    matrix = next(iter(confusion.matrices.values()))
    colours = text_colours(matrix.svg())
    assert all(colour and colour.startswith("#") for colour in colours.values()), colours
    words = " ".join(filter(None, colours))
    assert all(style_of(label).title.split()[0] in words for label in matrix.classes)


@pytest.mark.parametrize("name", [theme.LIGHT, theme.DARK])
def test_both_themes_can_be_drawn(qtbot: QtBot, confusion: ConfusionViewer, name: str) -> None:
    theme.apply(name)
    qtbot.wait(10)
    assert not confusion.grab().isNull()
    theme.apply(theme.LIGHT)
