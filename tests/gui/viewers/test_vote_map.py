"""The vote map, on really recognised small pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QLineEdit

from isca_gui.core.distortion import dataset
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import training
from isca_gui.core.progress import run as finish
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.recognition.vote_overlays import style_of
from isca_gui.core.settings import TrainingSettings
from isca_gui.jobs.names import JobName
from isca_gui.session.records import Truth
from isca_gui.viewers.votes import vote_map
from isca_gui.viewers.votes.block_details import headline
from isca_gui.viewers.votes.drawing import spacing_at
from isca_gui.viewers.votes.vote_map import VoteMapViewer
from isca_gui.widgets import theme
from tests.gui.conftest import fill, rest
from tests.gui.viewers.conftest import text_colours

if TYPE_CHECKING:
    from pathlib import Path

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
def test_the_scale_of_the_severity_shows_its_values(
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
    assert "The dataset settings have changed" in votes.note.text()
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


def test_frame_and_details_show_the_same_block_of_another_picture_too(
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


def test_patterns_are_drawn_for_the_zoom_of_the_next_picture(
    qtbot: QtBot, votes: VoteMapViewer, with_run: Studio, picture: NDArray[np.float32]
) -> None:
    session = with_run.session
    first = session.test
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
            # The zoom ends with a picture of another size.
            votes.canvas.set_zoom(zoom)
            with_run.rest(qtbot)
        assert votes._spacing == spacing_at(votes.canvas.zoom())
        spacings.append(votes._spacing)
    assert spacings == [8, 1, 8, 1, 8]


def test_one_picture_is_one_job_and_only_a_large_map_is_another(
    qtbot: QtBot, votes: VoteMapViewer, with_run: Studio, picture: NDArray[np.float32]
) -> None:
    session = with_run.session
    at_work: set[JobName] = set()
    with_run.jobs.changed.connect(lambda: at_work.update(job.name for job in with_run.jobs.jobs()))
    with_run.actions.recognise_picture("another", picture)
    with_run.rest(qtbot)
    assert votes.verdict.text() == session.test.verdict.sentence  # type: ignore[union-attr]
    assert votes.canvas.caption == "another"
    assert at_work == {JobName.RECOGNITION}
    large = np.tile(picture, (18, 18))
    session.add_tested(replace(session.test, number=99, picture=large, recognition=None))
    assert votes._latest.busy, "a megapixel would hold up the window"
    # What is quick does not wait for the large one, whose drawing comes too late.
    session.select_tested(session.tested[0].number)
    assert not votes._latest.busy
    with_run.rest(qtbot)
    assert votes.canvas.layer is not None
    assert votes.canvas.layer.values is session.tested[0].picture


def test_the_status_bar_ignores_a_viewer_behind_another(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32], small: Dataset, model: Model
) -> None:
    fill(window, picture, small, model)
    window.menu_actions.recognise_picture("test", small.pictures[-1])
    window.activateWindow()
    window.show_viewer("vote_map")
    rest(qtbot, window)
    canvas = window.docks["vote_map"].widget().canvas  # type: ignore[attr-defined]
    status = window.status
    canvas.setFocus()
    qtbot.waitUntil(canvas.hasFocus)
    qtbot.keyClick(canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    shown_before = status.pixel_label.text(), status.zoom_label.text()
    assert all(shown_before)
    window.docks["confusion"].raise_()
    qtbot.waitUntil(lambda: not status.pixel_label.text())
    assert not status.zoom_label.text()
    assert canvas.view.cursor is not None, "the block is still the one shown"
    window.docks["vote_map"].raise_()
    canvas.setFocus()
    qtbot.waitUntil(lambda: (status.pixel_label.text(), status.zoom_label.text()) == shown_before)


def test_the_verdict_is_seen_whole_in_the_default_layout(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32], small: Dataset, model: Model
) -> None:
    window.resize(1280, 800)
    fill(window, picture, small, model)
    name = "a picture with a name so long that no toolbar could ever hold it, number "
    for number in range(2):
        window.menu_actions.recognise_picture(
            f"{name}{number}", small.pictures[-1], Truth(("gaussian-noise",), 45.0)
        )
        rest(qtbot, window)
    # Another run makes the verdict stale.
    fill(window, picture, small, model)
    window.show_viewer("vote_map")
    rest(qtbot, window)
    votes = window.docks["vote_map"].widget()
    assert isinstance(votes, VoteMapViewer)
    assert "Actual: Gaussian noise, MSE 45." in votes.note.text()
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
    for item in votes.exportables():
        for suffix in item.suffixes:
            votes.exporter.save(item, tmp_path / f"{item.title}{suffix}")
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
    assert "This answer is from ISCA 1; another run is selected." in votes.note.text()
    votes.again.click()
    with_run.rest(qtbot)
    assert not votes.again.isVisible()


def test_a_hidden_truth_stays_hidden(qtbot: QtBot, votes: VoteMapViewer, with_run: Studio) -> None:
    with_run.actions.mystery()
    with_run.rest(qtbot)
    assert "Actual" not in votes.note.text()
    number = with_run.session.test.number  # type: ignore[union-attr]
    with_run.actions.recognise_again()
    with_run.actions.reveal(number)
    assert "Actual: " in votes.note.text()
    with_run.rest(qtbot)
    assert "Actual: " in votes.note.text(), "revealed while it was recognised again"


def test_the_text_of_the_drawing_has_a_colour(votes: VoteMapViewer) -> None:
    colours = text_colours(votes.legend.svg())
    assert all(colour and colour.startswith("#") for colour in colours.values()), colours
    words = " ".join(filter(None, colours))
    assert all(style_of(label).title.split()[0] in words for label in votes.legend.shares)


@pytest.mark.parametrize("name", [theme.LIGHT, theme.DARK])
def test_both_themes_can_be_drawn(qtbot: QtBot, votes: VoteMapViewer, name: str) -> None:
    theme.apply(name)
    qtbot.wait(10)
    assert not votes.grab().isNull()
    theme.apply(theme.LIGHT)
