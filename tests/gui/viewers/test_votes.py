"""The vote map and the confusion matrix, on really recognised small pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QLabel, QLineEdit

from isca_gui.core.distortion import dataset
from isca_gui.core.model import training
from isca_gui.core.progress import run as finish
from isca_gui.core.recognition.evaluation import leave_one_out
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.recognition.vote_overlays import look
from isca_gui.core.settings import DatasetSpec, TrainingSettings
from isca_gui.viewers.confusion.confusion import ConfusionViewer, pictures_of
from isca_gui.viewers.votes import vote_map
from isca_gui.viewers.votes.block_details import headline
from isca_gui.viewers.votes.drawing import spacing_at
from isca_gui.viewers.votes.vote_map import VoteMapViewer
from isca_gui.widgets import theme
from tests.gui.conftest import fill, rest

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.window.main_window import MainWindow
    from tests.gui.conftest import Studio


@pytest.fixture
def votes(qtbot: QtBot, with_run: Studio) -> VoteMapViewer:
    made = VoteMapViewer(with_run.session, with_run.jobs, with_run.actions)
    qtbot.addWidget(made)
    made.resize(900, 600)
    made.show()
    assert made.empty
    made._empty.button.click()
    qtbot.waitUntil(lambda: with_run.session.test is not None)
    with_run.rest(qtbot)
    return made


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


# --- vote map -------------------------------------------------------------------------------------------


def test_the_map_shows_the_verdict_and_the_shares(votes: VoteMapViewer, with_run: Studio) -> None:
    test = with_run.session.test
    assert test is not None
    assert test.recognition is not None
    assert votes.verdict.text() == test.recognition.verdict.sentence
    assert sum(votes.legend.shares.values()) == pytest.approx(1.0, abs=1e-6)
    assert list(votes.legend.shares)[-1] == "undecided"
    assert votes.canvas._overlay is not None
    assert len(votes.block_rows()) == 1 + test.recognition.grid.count


@pytest.mark.parametrize("kind", list(vote_map.MAPS))
def test_every_map_can_be_chosen(
    qtbot: QtBot, votes: VoteMapViewer, with_run: Studio, kind: str
) -> None:
    votes.maps[kind].click()
    with_run.rest(qtbot)
    assert votes.bar.isVisible() == (kind != vote_map.VOTES)
    assert votes.canvas.composed() is not None


@pytest.mark.parametrize(
    ("level", "texts"), [(0.4, "0.4 0.3 0.2 0.1 0"), (900.0, "900 675 450 225 0")]
)
def test_the_scale_of_the_severity_says_its_values(
    qtbot: QtBot, votes: VoteMapViewer, with_run: Studio, level: float, texts: str
) -> None:
    test = with_run.session.test
    assert test is not None
    found = test.recognition
    levels = np.full_like(found.level, level)
    with_run.session.replace_tested(replace(test, recognition=replace(found, level=levels)))
    votes.maps[vote_map.SEVERITY].click()
    with_run.rest(qtbot)
    assert votes.bar.texts == tuple(texts.split())


def test_space_hides_the_map_while_it_is_held(qtbot: QtBot, votes: VoteMapViewer) -> None:
    votes.canvas.setFocus()
    qtbot.keyPress(votes.canvas, Qt.Key.Key_Space)
    assert not votes.canvas._overlay_shown
    qtbot.keyRelease(votes.canvas, Qt.Key.Key_Space)
    assert votes.canvas._overlay_shown


def test_space_released_elsewhere_does_not_leave_the_map_hidden(
    qtbot: QtBot, votes: VoteMapViewer
) -> None:
    votes.activateWindow()
    votes.canvas.setFocus()
    qtbot.waitUntil(votes.canvas.hasFocus)
    qtbot.keyPress(votes.canvas, Qt.Key.Key_Space)
    assert not votes.canvas._overlay_shown
    other = QLineEdit()
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    other.setFocus()
    qtbot.waitUntil(other.hasFocus)
    qtbot.keyRelease(other, Qt.Key.Key_Space)
    assert votes.canvas._overlay_shown


def test_the_slider_sets_the_opacity(votes: VoteMapViewer) -> None:
    votes.opacity.setValue(25)
    assert votes.canvas._opacity == 0.25


def test_hovering_a_block_shows_its_distances_and_nearest_patch(
    qtbot: QtBot, votes: VoteMapViewer, with_run: Studio, small: Dataset
) -> None:
    found = with_run.session.test.recognition  # type: ignore[union-attr]
    assert found is not None
    target = votes.canvas.target()
    qtbot.mouseMove(
        votes.canvas, QPoint(int(target.center().x()) + 3, int(target.center().y()) + 3)
    )
    pixel = votes.canvas.view.cursor
    assert pixel is not None
    block = found.grid.index_at(*pixel)
    place = found.grid.rectangle(block)
    assert f"x {place.left}, y {place.top}" in votes.details.title.text()
    nearest = votes.details.nearest.layer
    assert nearest is not None
    picture = small.pictures[found.nearest[block]]
    np.testing.assert_array_equal(
        nearest.values, picture[place.top : place.bottom, place.left : place.right]
    )
    assert list(votes.legend.distances.values()) == [
        float(value) for value in found.distances[block]
    ]
    assert not votes.legend.grab().isNull()
    votes.canvas.view.set_cursor(None)
    assert votes.details.nearest.layer is None
    assert not votes.legend.distances


def test_the_nearest_patch_is_there_whatever_is_set_in_step_2(
    qtbot: QtBot, votes: VoteMapViewer, with_run: Studio, small: Dataset
) -> None:
    session = with_run.session
    session.set_spec(replace(session.spec, seed=9))
    assert "The settings of the dataset have changed since." in votes.note.text()
    votes.canvas.view.set_cursor((8, 8))
    assert votes.details.nearest.layer is not None
    votes.canvas.view.set_cursor(None)
    session.set_dataset(replace(small, pictures=small.pictures + np.float32(0.01)), "another")
    assert "other data" in votes.note.text()
    votes.canvas.view.set_cursor((8, 8))
    assert votes.details.nearest.layer is None


def test_every_block_is_reached_by_keys(
    qtbot: QtBot, votes: VoteMapViewer, with_run: Studio
) -> None:
    found = with_run.session.test.recognition  # type: ignore[union-attr]
    assert found is not None
    shift = Qt.KeyboardModifier.ShiftModifier
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Left):
        for _ in range(found.grid.rows):
            qtbot.keyClick(votes.canvas, key, shift)
    seen = {votes.details.title.text()}
    for row in range(found.grid.rows):
        for _ in range(found.grid.columns):
            qtbot.keyClick(votes.canvas, (Qt.Key.Key_Right, Qt.Key.Key_Left)[row % 2], shift)
            seen.add(votes.details.title.text())
        qtbot.keyClick(votes.canvas, Qt.Key.Key_Down, shift)
        seen.add(votes.details.title.text())
    blocks = range(found.grid.count)
    assert seen >= {headline(found, block, found.grid.rectangle(block)) for block in blocks}


def test_frame_and_details_are_of_the_same_block_also_of_another_picture(
    qtbot: QtBot, votes: VoteMapViewer, with_run: Studio
) -> None:
    session = with_run.session
    first = session.test
    votes.canvas.point_at((20, 44), by_keys=True)
    with_run.actions.recognise_made("blur", 400.0, 5)
    with_run.rest(qtbot)
    assert session.test is not first
    for shown in (session.test, first):
        session.select_tested(shown.number)  # type: ignore[union-attr]
        with_run.rest(qtbot)
        found = shown.recognition  # type: ignore[union-attr]
        assert found is not None
        block = found.grid.index_at(20, 44)
        assert votes.canvas._highlight == found.grid.rectangle(block)
        assert votes.details.title.text() == headline(found, block, found.grid.rectangle(block))
        assert votes.details.own.layer is not None
    votes.canvas.view.set_cursor(None)
    assert votes.canvas._highlight is None
    assert votes.details.own.layer is None


def test_patterns_are_drawn_for_the_zoom_of_the_picture_that_comes(
    qtbot: QtBot, votes: VoteMapViewer, with_run: Studio, picture: NDArray[np.float32]
) -> None:
    session, first = with_run.session, with_run.session.test
    assert first is not None
    large = finish(
        dataset.generate(np.tile(picture, (18, 18)), DatasetSpec(("luminance",), (100.0,)))
    )
    model = finish(training.train(large, TrainingSettings("random")))
    found = Recogniser(model).recognise(large.pictures[1])
    session.add_tested(replace(first, number=99, picture=large.pictures[1], recognition=found))
    spacings = []
    for number, zoom in ((99, 0), (first.number, 0), (99, 0), (first.number, 16), (99, 0)):
        session.select_tested(number)
        with_run.rest(qtbot)
        if zoom:
            votes.canvas.set_zoom(zoom)  # ends with a picture of another size
            with_run.rest(qtbot)
        assert votes._spacing == spacing_at(votes.canvas.zoom())
        spacings.append(votes._spacing)
    assert spacings == [8, 1, 8, 1, 8]


def test_the_status_bar_does_not_tell_of_a_viewer_behind_another(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32], small: Dataset, model: Model
) -> None:
    fill(window, picture, small, model)
    window.menu_actions.recognise_picture("test", small.pictures[-1])
    window.activateWindow()
    window.show_viewer("vote_map")
    rest(qtbot, window)
    canvas, status = window.docks["vote_map"].widget().canvas, window.status  # type: ignore[attr-defined]
    canvas.setFocus()
    qtbot.waitUntil(canvas.hasFocus)
    qtbot.keyClick(canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    told = status.pixel_label.text(), status.zoom_label.text()
    assert all(told)
    window.docks["confusion"].raise_()
    qtbot.waitUntil(lambda: not status.pixel_label.text())
    assert not status.zoom_label.text()
    assert canvas.view.cursor is not None, "the block is still the one shown"
    window.docks["vote_map"].raise_()
    canvas.setFocus()
    qtbot.waitUntil(lambda: (status.pixel_label.text(), status.zoom_label.text()) == told)


def test_the_verdict_is_seen_whole_in_the_default_layout(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32], small: Dataset, model: Model
) -> None:
    window.resize(1280, 800)
    fill(window, picture, small, model)
    name = "a picture with a name so long that no toolbar could ever hold it, number "
    for number in range(2):
        window.menu_actions.recognise_picture(
            f"{name}{number}", small.pictures[-1], "gaussian-noise at MSE 45"
        )
        rest(qtbot, window)
    fill(window, picture, small, model)  # another run: the verdict is stale
    window.show_viewer("vote_map")
    rest(qtbot, window)
    votes = window.docks["vote_map"].widget()
    assert isinstance(votes, VoteMapViewer)
    assert "In truth: Gaussian noise, MSE 45." in votes.note.text()
    assert votes.again.isVisible()
    for widget in (votes.verdict, votes.note, votes.again, votes.copy, votes.save, votes.canvas):
        assert votes.rect().contains(QRect(widget.mapTo(votes, QPoint(0, 0)), widget.size()))
        assert widget.visibleRegion().boundingRect().size() == widget.size(), widget
        if isinstance(widget, QLabel):
            assert widget.height() >= widget.heightForWidth(widget.width())
    assert not votes._area.verticalScrollBar().isVisible()
    assert votes.source.y() + votes.source.height() > votes.opacity.parentWidget().y(), (
        "one line of controls"
    )
    assert votes.source.toolTip().endswith(f"{name}1")
    shown = votes.source.shown_text()
    assert shown.startswith("a pic")
    assert shown.endswith("r 1")
    assert votes.source.fontMetrics().horizontalAdvance(shown) < votes.source.width()


def test_the_verdict_is_copied_and_saved(
    qtbot: QtBot, votes: VoteMapViewer, with_run: Studio, tmp_path: Path
) -> None:
    votes.copy.click()
    assert votes.verdict.text() in QGuiApplication.clipboard().text()
    for thing in votes._things():
        for suffix in thing.suffixes:
            votes.exporter.save(thing, tmp_path / f"{thing.title}{suffix}")
    with_run.rest(qtbot)
    assert len(list(tmp_path.iterdir())) == 6
    assert not with_run.errors
    assert votes.verdict.text() in (tmp_path / "verdict.txt").read_text("utf-8")


def test_another_run_marks_the_verdict_and_offers_to_recognise_again(
    qtbot: QtBot, votes: VoteMapViewer, with_run: Studio, small: Dataset
) -> None:
    assert not votes.again.isVisible()
    with_run.session.begin_run(TrainingSettings(method="pca"))
    with_run.session.end_run(finish(training.train(small, TrainingSettings(method="pca"))))
    with_run.rest(qtbot)
    assert votes.again.isVisible()
    assert "Recognised by" in votes.note.text()
    votes.again.click()
    with_run.rest(qtbot)
    assert not votes.again.isVisible()


def test_a_hidden_truth_stays_hidden(qtbot: QtBot, votes: VoteMapViewer, with_run: Studio) -> None:
    with_run.actions.mystery()
    with_run.rest(qtbot)
    assert "truth" not in votes.note.text().lower()
    number = with_run.session.test.number  # type: ignore[union-attr]
    with_run.actions.recognise_again()
    with_run.actions.reveal(number)
    assert "In truth" in votes.note.text()
    with_run.rest(qtbot)
    assert "In truth" in votes.note.text(), "told while it was recognised again"


# --- confusion ------------------------------------------------------------------------------------------


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
            with qtbot.waitSignal(confusion.pictures_chosen) as told:
                place = matrix.cell_rect(row, column).center().toPoint()
                qtbot.mouseClick(matrix, Qt.MouseButton.LeftButton, pos=place)
            assert len(told.args[0]) == matrix.counts[row, column] == confusion.list.count()
            listed += told.args[0]
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
    with_run.session.set_spec(replace(with_run.session.spec, seed=9))  # the run is stale now
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
    assert "The settings of the dataset have changed since." in confusion._titles[1].toolTip()
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
    for selected in (number, number - 1):  # the one saved
        with_run.session.select_run(selected)
        with_run.rest(qtbot)
        assert confusion._image() == confusion.matrices[selected].drawn()
        run = with_run.session.run
        assert run is not None
        confusion.exporter.ask(confusion._things()[0])
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
    for thing in confusion._things():
        for suffix in thing.suffixes:
            confusion.exporter.save(thing, tmp_path / f"m{suffix}")
    with_run.rest(qtbot)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".png", ".svg"]


def test_the_words_of_drawings_are_seen(votes: VoteMapViewer, confusion: ConfusionViewer) -> None:
    matrix = next(iter(confusion.matrices.values()))
    for drawing, labels in (
        (votes.legend.svg(), votes.legend.shares),
        (matrix.svg(), matrix.classes),
    ):
        inks = {}
        for group in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}g"):
            for each in group.findall("{http://www.w3.org/2000/svg}text"):
                inks[each.text] = each.get("fill", group.get("fill"))
        assert all(colour and colour.startswith("#") for colour in inks.values()), inks
        words = " ".join(filter(None, inks))
        assert all(look(label).title.split()[0] in words for label in labels)


@pytest.mark.parametrize("name", [theme.LIGHT, theme.DARK])
def test_both_themes_can_be_drawn(
    qtbot: QtBot, votes: VoteMapViewer, confusion: ConfusionViewer, name: str
) -> None:
    theme.apply(name)
    qtbot.wait(10)
    assert not votes.grab().isNull()
    assert not confusion.grab().isNull()
    theme.apply(theme.LIGHT)
