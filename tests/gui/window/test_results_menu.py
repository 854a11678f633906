"""The Results menu, the command palette, raised viewers, and many pictures at once."""

from __future__ import annotations

import csv
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox

from isca_gui import cli
from isca_gui.core.distortion import strength_search
from isca_gui.core.distortion.distortions import ORIGINAL
from isca_gui.core.pictures import image, samples
from isca_gui.core.recognition.answer_table import COLUMNS
from isca_gui.core.settings import TrainingSettings
from isca_gui.session.records import Reference, Truth
from isca_gui.session.records import TestedPicture as Answered
from isca_gui.viewers.confusion.matrix import ConfusionMatrix
from isca_gui.viewers.runs.comparison import ComparisonViewer
from isca_gui.viewers.votes.drawing import spacing_at
from isca_gui.widgets import step_frame, theme
from isca_gui.window.palette import Palette
from tests.gui.conftest import SETTINGS, in_front, rest

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.window.main_window import MainWindow


@pytest.fixture
def window(open_window: Callable[[], MainWindow], picture: NDArray[np.float32]) -> MainWindow:
    made = open_window()
    made.session.set_reference(Reference("small", picture))
    return made


@pytest.fixture
def trained(window: MainWindow, qtbot: QtBot, small: Dataset, model: Model) -> MainWindow:
    window.session.set_dataset(small, small.digest())
    window.session.begin_run(SETTINGS)
    window.session.end_run(model)
    rest(qtbot, window)
    return window


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def find(window: MainWindow) -> Palette:
    window.find_action()
    return next(child for child in window.findChildren(Palette) if child.isVisible())


# --- what is brought to the front -----------------------------------------------------------------


def test_a_click_on_a_disabled_action_does_nothing(qtbot: QtBot, window: MainWindow) -> None:
    begun: list[bool] = []
    window.projects.begun.connect(lambda: begun.append(True))
    palette = find(window)
    items = [palette.list.item(row) for row in range(palette.list.count())]
    for wanted in (False, True):
        item = next(
            each
            for each in items
            if bool(each.flags() & Qt.ItemFlag.ItemIsEnabled) == wanted
            and (not wanted or "New" in each.text())
        )
        palette.list.scrollToItem(item)
        place = palette.list.visualItemRect(item).center()
        qtbot.mouseClick(palette.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert palette.isVisible() == (not wanted)
        assert begun == [True] * wanted


def test_only_a_reference_is_shown_large_with_one_next_step(
    qtbot: QtBot, window: MainWindow
) -> None:
    viewer = window.docks["pictures"].widget()
    rest(qtbot, window)
    assert viewer.empty
    assert viewer.reference_canvas.isVisible()
    assert viewer.reference_canvas.layer is not None
    assert viewer.reference_canvas.height() > viewer.height() / 2
    assert viewer._empty.button.text() == "Generate the dataset"
    assert viewer._empty.button.isVisible()


def test_viewers_come_to_the_front_when_there_is_something_to_see(
    qtbot: QtBot, window: MainWindow
) -> None:
    for name in ("bases", "runs"):
        window.show_viewer(name)
    window.menu_actions.generate()
    qtbot.waitUntil(lambda: window.session.dataset is not None)
    qtbot.waitUntil(lambda: in_front(window, "pictures"))
    window.menu_actions.train()
    qtbot.waitUntil(lambda: in_front(window, "convergence"))
    qtbot.waitUntil(lambda: window.session.run is not None)
    rest(qtbot, window)
    assert not in_front(window, "vote_map")
    window.recognise_panel.make_button.click()
    qtbot.waitUntil(lambda: in_front(window, "vote_map"))
    window.show_viewer("confusion")
    rest(qtbot, window)
    confusion = window.docks["confusion"].widget()
    confusion.open_picture(window.session.run.number, 1)
    qtbot.waitUntil(lambda: in_front(window, "vote_map"))
    rest(qtbot, window)


def test_a_training_does_not_reopen_a_closed_viewer(qtbot: QtBot, trained: MainWindow) -> None:
    trained.docks["convergence"].close()
    trained.menu_actions.train()
    rest(qtbot, trained)
    assert trained.docks["convergence"].isHidden()


def test_a_stopped_training_is_called_stopped(qtbot: QtBot, trained: MainWindow) -> None:
    session = trained.session
    session.set_settings(TrainingSettings(epochs=1_000_000))
    trained.menu_actions.train()
    qtbot.waitUntil(
        lambda: session.live is not None and len(session.live.steps) > 1, timeout=60_000
    )
    trained.menu_actions.stop_training()
    qtbot.waitUntil(lambda: session.live is None)
    rest(qtbot, trained)
    assert trained.training_panel.state == step_frame.HALTED
    assert "stopped" in trained.training_panel.state_label.text()


# --- maps and matrices ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zoom", "spacing"), [(8.0, 1), (2.5, 1), (1.0, 4), (0.5, 8), (0.1, 32), (0.001, 64)]
)
def test_patterns_are_as_far_apart_on_the_screen_at_any_zoom(zoom: float, spacing: int) -> None:
    assert spacing_at(zoom) == spacing


def test_the_sentence_has_the_width_and_the_buttons_are_small(
    qtbot: QtBot, trained: MainWindow
) -> None:
    trained.recognise_panel.make_button.click()
    rest(qtbot, trained)
    votes = trained.docks["vote_map"].widget()
    qtbot.waitUntil(votes.verdict.isVisible)
    assert votes.verdict.width() > 0.6 * votes.width()
    assert max(votes.copy.width(), votes.save.width()) < 90
    run = trained.session.run
    assert set(votes.legend.shares) == {*run.model.known.labels, "undecided"}
    before = votes._spacing
    votes.canvas.set_zoom(16)
    rest(qtbot, trained)
    assert votes._spacing == 1 <= before


def test_the_originals_row_is_no_error(qtbot: QtBot, trained: MainWindow) -> None:
    trained.menu_actions.evaluate(trained.session.run.number)
    rest(qtbot, trained)
    found = trained.session.run.evaluation
    matrix = ConfusionMatrix("it")
    qtbot.addWidget(matrix)
    matrix.set_evaluation(found)
    row = found.classes.index(ORIGINAL)
    assert [matrix.is_uncounted(each) for each in range(len(found.classes))].count(True) == 1
    for column in range(len(matrix.columns)):
        assert "is not an error" in matrix.sentence(row, column)
    assert matrix.rows()[1 + row][-1] == ""
    centre = matrix.cell_rect(row, 2, matrix.sizeHint()).center().toPoint()
    colour = matrix.drawn().pixelColor(centre * 2 + QPoint(0, 15))
    assert colour.saturation() == 0
    assert colour.value() < 255


# --- many pictures --------------------------------------------------------------------------------


def test_many_pictures_make_a_table_and_bad_ones_are_listed_with_their_error(
    qtbot: QtBot,
    trained: MainWindow,
    picture: NDArray[np.float32],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = []
    for number, kind in enumerate(("blur", "jpeg", "gaussian-noise")):
        names.append(tmp_path / f"{kind}.png")
        image.save_png(names[-1], strength_search.distort(picture, kind, 250.0, number).picture)
    names.insert(1, tmp_path / "small.png")
    image.save_png(names[1], picture[:32, :32])
    names.append(tmp_path / "text.jpg")
    names[-1].write_text("no picture")
    panel = trained.recognise_panel
    panel.recognise(map(str, names))
    qtbot.waitUntil(lambda: panel.list.topLevelItemCount() == 5)
    rest(qtbot, trained)
    shown = [panel.list.topLevelItem(row).text(0) for row in range(5)]
    assert shown == [path.name for path in names]
    assert [row for row in range(5) if "failed" in panel.list.topLevelItem(row).text(1)] == [1, 4]
    assert "3 pictures, 2 failed" in panel.state_label.text()
    panel.list.setCurrentItem(panel.list.topLevelItem(1))
    assert "32" in panel.text_label.text()
    assert trained.session.test.name == "gaussian-noise.png"
    target = tmp_path / "answers"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(target), ""))
    panel.save_button.click()
    rest(qtbot, trained)
    ours = table(tmp_path / "answers.csv")
    assert tuple(ours[0]) == COLUMNS
    assert len(ours) == 5
    assert [bool(row["error"]) for row in ours] == [False] * 3 + [True] * 2
    model = tmp_path / "model.isca"
    trained.menu_actions.save_model(trained.session.run, model)
    rest(qtbot, trained)
    good = [
        str(path) for path in names if path.name in ("blur.png", "jpeg.png", "gaussian-noise.png")
    ]
    assert cli.main(["classify", str(model), *good, "--csv", str(tmp_path / "theirs.csv")]) == 0
    theirs = table(tmp_path / "theirs.csv")
    assert ours[:3] == theirs, "the window and the command line say the same, digit by digit"
    panel.remove_button.click()
    assert panel.list.topLevelItemCount() == 4
    assert len(trained.session.refused) == 1


def test_a_table_named_without_its_ending_does_not_replace_a_file_unasked(
    qtbot: QtBot, trained: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("mine")
    trained.recognise_panel.mystery()
    rest(qtbot, trained)
    for typed in ("answers", "answers.CSV"):
        monkeypatch.setattr(
            QFileDialog, "getSaveFileName", lambda *_, typed=typed: (str(tmp_path / typed), "")
        )
        monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.No)
        trained.recognise_panel.save_button.click()
        rest(qtbot, trained)
        assert [each.name for each in tmp_path.iterdir()] == ["answers.csv"]
        assert path.read_text() == "mine"
    monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.Yes)
    trained.recognise_panel.save_button.click()
    rest(qtbot, trained)
    assert len(table(path)) == 1


# --- the menu of results --------------------------------------------------------------------------


def test_all_runs_in_one_table(qtbot: QtBot, trained: MainWindow) -> None:
    assert trained.docks["comparison"].isHidden()
    trained.results.compare()
    viewer = trained.docks["comparison"].widget()
    assert isinstance(viewer, ComparisonViewer)
    assert in_front(trained, "comparison")
    assert "Random subspace" in viewer.hint.text()
    trained.session.set_settings(replace(SETTINGS, method="random"))
    trained.menu_actions.train()
    rest(qtbot, trained)
    trained.show_viewer("comparison")  # the curves came to the front
    viewer.button.click()
    rest(qtbot, trained)
    assert not viewer.button.isEnabled()
    assert viewer.table.rowCount() == 2
    rows = viewer.rows()
    for row, run in zip(rows[1:], trained.session.runs, strict=True):
        assert row[3:5] == (run.evaluation.accuracy, run.evaluation.block_accuracy)
    assert f"{trained.session.runs[1].evaluation.accuracy:.1%}" in viewer.hint.text()
    viewer.table.itemActivated.emit(viewer.table.item(0, 0))
    assert trained.session.run is trained.session.runs[0]


def test_the_paper_is_reproduced_as_a_job_and_its_report_opened(
    qtbot: QtBot,
    window: MainWindow,
    picture: NDArray[np.float32],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window.session.set_reference(Reference("small", picture))
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    folder = tmp_path / "paper"
    folder.mkdir()
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    window.results.ask_reproduce(quick=True)
    assert window.jobs.running("reproduce")
    qtbot.waitUntil(lambda: bool(window.jobs.job("reproduce").done), timeout=60_000)
    assert window.status.isVisible()
    window.results.ask_reproduce()
    assert "already" in window.session.messages[-1].text
    window.menu_actions.stop()
    qtbot.waitUntil(lambda: not window.jobs.running("reproduce"))
    assert opened == []
    window.results.ask_reproduce(quick=True)
    qtbot.waitUntil(lambda: bool(opened), timeout=200_000)
    assert opened == [str(folder / "report.html")]
    assert Path(opened[0]).stat().st_size > 10_000
    assert "report.html" in window.session.messages[-1].text


def test_a_folder_with_other_files_is_refused(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    window.results.reproduce(str(tmp_path))
    rest(qtbot, window)
    assert window.session.messages[-1].level == "error"
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_the_command_of_a_recognition_is_copied(
    qtbot: QtBot, trained: MainWindow, picture: NDArray[np.float32], tmp_path: Path
) -> None:
    trained.results.copy_command()
    assert trained.session.messages[-1].level == "warning"
    path = tmp_path / "my copy.png"
    image.save_png(path, picture)
    trained.recognise_panel.recognise([str(path)])
    rest(qtbot, trained)
    trained.results.copy_command()
    words = shlex.split(QGuiApplication.clipboard().text())
    assert words[:2] == ["isca", "classify"]
    assert words[2].endswith(".isca")
    assert words[3] == str(path)


def test_no_command_recognises_a_picture_that_was_left_out(
    qtbot: QtBot, trained: MainWindow, small: Dataset
) -> None:
    """The model knows it, and would find the picture itself."""
    truth = Truth(("blur",), 100.0, left_out=3, left_out_of="ISCA 1")
    trained.session.add_tested(
        Answered(1, "blur 100 left out of ISCA 1", small.pictures[3], None, 1, truth)
    )
    QGuiApplication.clipboard().setText("mine")
    trained.results.copy_command()
    assert QGuiApplication.clipboard().text() == "mine"
    assert "isca evaluate" in trained.session.messages[-1].text


def test_the_map_and_the_votes_are_saved_from_the_menu(
    qtbot: QtBot, trained: MainWindow, tmp_path: Path
) -> None:
    trained.results.save_map()
    assert trained.session.messages[-1].level == "warning"
    trained.recognise_panel.make_button.click()
    rest(qtbot, trained)
    for work, name in ((trained.results.save_map, "m.png"), (trained.results.save_votes, "v.csv")):
        work()
        dialog = next(each for each in trained.findChildren(QFileDialog) if each.isVisible())
        dialog.fileSelected.emit(str(tmp_path / name))
        dialog.close()
        rest(qtbot, trained)
    assert image.read(tmp_path / "m.png").shape == (64, 64)
    # That of the selected picture, also where the map is drawn only now.
    first = trained.session.test
    trained.recognise_panel.recognise([str(tmp_path / "m.png")])
    rest(qtbot, trained)
    trained.show_viewer("pictures")
    trained.session.select_tested(first.number)
    trained.results.save_map()
    rest(qtbot, trained)
    dialog = next(each for each in trained.findChildren(QFileDialog) if each.isVisible())
    dialog.fileSelected.emit(str(tmp_path / "again.png"))
    dialog.close()
    rest(qtbot, trained)
    np.testing.assert_array_equal(
        image.read(tmp_path / "again.png"), image.read(tmp_path / "m.png")
    )
    trained.menu_actions.mystery()
    rest(qtbot, trained)
    trained.results.save_map()
    assert "mystery" in trained.session.messages[-1].text
    assert not [each for each in trained.findChildren(QFileDialog) if each.isVisible()]
    assert len((tmp_path / "v.csv").read_text().splitlines()) == 1 + 64


# --- the palette ----------------------------------------------------------------------------------


def test_the_palette_knows_every_action_of_the_menus(window: MainWindow) -> None:
    palette = find(window)
    texts = [palette.list.item(row).text() for row in range(palette.list.count())]
    menus = window.menuBar().findChildren(QMenu)
    all_actions = [
        action for menu in menus for action in menu.actions() if not action.isSeparator()
    ]
    heads = [menu.menuAction() for menu in menus]
    others = [text for text in texts if text.startswith(("Sample › ", "Help page › "))]
    assert len(others) == len(samples.TABLE) + len(list(window.guide.page.pages))
    assert len(texts) - len(others) == len(
        [action for action in all_actions if action not in heads]
    )
    for path in ("Run › Train", "View › Theme › Dark", "Results › Compare all runs", "Edit › Undo"):
        assert any(text.startswith(path) for text in texts), path
    palette.close()


def test_an_action_is_found_and_run_by_keyboard(qtbot: QtBot, window: MainWindow) -> None:
    palette = find(window)
    qtbot.keyClicks(palette.line, "them dark")
    assert palette.list.count() == 1
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert window.preferences.theme == theme.DARK
    window.choose_theme(theme.LIGHT)
    palette = find(window)
    qtbot.keyClicks(palette.line, "show vie")
    qtbot.keyClick(palette.line, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not window.findChildren(Palette))
    palette = find(window)
    qtbot.keyClicks(palette.line, "view")
    for key, row in ((Qt.Key.Key_Down, 1), (Qt.Key.Key_Down, 2), (Qt.Key.Key_Up, 1)):
        qtbot.keyClick(palette.line, key)
        assert palette.list.currentRow() == row
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert in_front(window, "compare")


def test_disabled_actions_are_skipped(qtbot: QtBot, window: MainWindow) -> None:
    palette = find(window)
    qtbot.keyClicks(palette.line, "edit undo")
    assert palette.list.count() == 1
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert palette.isVisible()
    qtbot.keyClicks(palette.line, " nothing like this")
    qtbot.keyClick(palette.line, Qt.Key.Key_Down)
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    palette.close()
