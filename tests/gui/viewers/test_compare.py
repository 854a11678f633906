"""The compare page: from dropped files to answers, a table, limits and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image, ImageFilter
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QImage
from PySide6.QtWidgets import QApplication, QFileDialog

from isca_gui.core.comparison import profile
from isca_gui.core.comparison.profile import Profile, Range
from isca_gui.core.pictures import samples
from isca_gui.jobs.comparing import TRIALS
from isca_gui.viewers.compare.answer import BLINK, KIND_MAP, MODES, NO_MAP, SIDE_BY_SIDE
from isca_gui.viewers.compare.compare import CompareViewer
from isca_gui.viewers.compare.copies_table import HEADINGS
from tests.gui.conftest import opened

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from tests.gui.conftest import Studio

SIDE = 160


def with_dark_corners(pixels: np.ndarray) -> np.ndarray:
    """Return a picture that is darker towards its corners, which is no kind that is known."""
    rows, columns = np.indices(pixels.shape[:2]) - SIDE / 2
    distance = np.hypot(rows, columns) / (0.7 * SIDE)
    return (pixels * (1 - 0.4 * np.clip(distance, 0, 1) ** 2)[..., None]).astype(np.uint8)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an original and copies of it, by name."""
    folder = tmp_path_factory.mktemp("pictures")
    with Image.open(samples.resolve("sample:astronaut")) as whole:
        picture = whole.convert("RGB").crop((180, 40, 180 + SIDE, 40 + SIDE))
    pixels = np.asarray(picture).copy()
    part = pixels.copy()
    part[8:88, 8:88] = np.asarray(picture.filter(ImageFilter.GaussianBlur(3)))[8:88, 8:88]
    made: dict[str, Any] = {
        "original.png": picture,
        "darker.png": picture.point(lambda value: max(value - 20, 0)),
        "part.png": Image.fromarray(part),
        "corners.png": Image.fromarray(with_dark_corners(pixels)),
        "moved.png": Image.fromarray(np.roll(pixels, 3, 1)),
    }
    for name, each in made.items():
        each.save(folder / name)
    picture.save(folder / "jpeg.jpg", quality=40)
    (folder / "broken.png").write_text("no picture")
    return {path.name: str(path) for path in folder.iterdir()}


@pytest.fixture
def page(qtbot: QtBot, studio: Studio) -> Any:
    return opened(qtbot, studio, CompareViewer)


def drop(target: Any, *paths: str) -> None:
    """Drop files on a widget as the system does."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(path) for path in paths])
    how = (
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    enter = QDragEnterEvent(QPoint(5, 5), *how)
    QApplication.sendEvent(target, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(target, QDropEvent(QPointF(5, 5), *how))


def answer_of(studio: Studio, name: str) -> Any:
    (copy,) = [each for each in studio.session.comparisons.copies if each.name == name]
    assert copy.result is not None
    return copy.result.comparison


def show(qtbot: QtBot, studio: Studio, page: Any, name: str) -> None:
    """Select a copy and wait until it is drawn."""
    (copy,) = [each for each in studio.session.comparisons.copies if each.name == name]
    studio.session.comparisons.select(copy.number)
    studio.rest(qtbot)


def test_two_pictures_dropped_at_once_are_told_apart_and_answered(
    qtbot: QtBot, studio: Studio, page: Any, files: dict[str, str]
) -> None:
    drop(page, files["jpeg.jpg"], files["original.png"])
    studio.rest(qtbot)
    state = studio.session.comparisons
    assert state.original is not None
    assert state.original.name == "original.png"
    assert "loses nothing" in page.guess.text()
    assert page.answer.sentence.text().startswith("JPEG, quality about 40")
    assert page.answer.panes.isVisible()
    assert page.answer.findings.proof.title.text() == "Quantisation table"
    assert studio.errors == []
    qtbot.mouseClick(page.swap_button, Qt.MouseButton.LeftButton)
    studio.rest(qtbot)
    assert state.original.name == "jpeg.jpg"
    assert [copy.name for copy in state.copies] == ["original.png"]
    assert state.copies[0].result is not None


def test_each_target_takes_what_is_dropped_on_it(
    qtbot: QtBot, studio: Studio, page: Any, files: dict[str, str]
) -> None:
    drop(page.copies, files["darker.png"])
    studio.rest(qtbot)
    assert studio.session.comparisons.copies[0].waiting
    drop(page.original, files["original.png"])
    studio.rest(qtbot)
    assert answer_of(studio, "darker.png").parts == ("luminance",)
    drop(page, files["jpeg.jpg"])
    studio.rest(qtbot)
    assert answer_of(studio, "jpeg.jpg").parts == ("jpeg",)


def test_a_folder_is_compared_and_a_bad_file_fails_alone(
    qtbot: QtBot, studio: Studio, page: Any, files: dict[str, str], tmp_path: Path
) -> None:
    page.take([files["original.png"]])
    studio.rest(qtbot)
    folder = str(tmp_path.parent)
    page.take([files["broken.png"].rsplit("/", 1)[0]])
    studio.rest(qtbot)
    copies = {copy.name: copy for copy in studio.session.comparisons.copies}
    assert set(copies) == set(files), folder
    assert "broken.png" in copies["broken.png"].error
    assert [copy.name for copy in copies.values() if copy.error] == ["broken.png"]
    assert "1 × could not be compared" in page.groups.text()
    # The original itself, and the copy that was only moved.
    assert "2 × unchanged" in page.groups.text()


def test_the_table_is_sorted_filtered_and_what_is_removed_comes_back(
    qtbot: QtBot, studio: Studio, page: Any, files: dict[str, str]
) -> None:
    names = ("jpeg.jpg", "darker.png", "moved.png")
    page.take([files["original.png"]])
    studio.rest(qtbot)
    page.take([files[name] for name in names])
    studio.rest(qtbot)
    table = page.table
    errors = HEADINGS.index("MSE")
    table.sortByColumn(errors, Qt.SortOrder.DescendingOrder)
    shown = [float(row[errors]) for row in table.cells(table.all_numbers())[1:]]
    assert shown == sorted(shown, reverse=True)
    assert len(shown) == 3
    page.filter_line.setText("darker")
    assert [row[0] for row in page.rows()[1:]] == ["darker.png"]
    page.filter_line.clear()
    table.selectAll()
    assert len(page.rows()) == 4
    qtbot.keyClick(table, Qt.Key.Key_Delete)
    assert studio.session.comparisons.copies == ()
    studio.session.undo.undo()
    assert [copy.name for copy in studio.session.comparisons.copies] == list(names)
    assert studio.session.comparisons.copies[0].result is not None


def test_the_pictures_are_compared_in_every_way(
    qtbot: QtBot, studio: Studio, page: Any, files: dict[str, str]
) -> None:
    page.take([files["original.png"]])
    studio.rest(qtbot)
    page.take([files["part.png"], files["moved.png"]])
    studio.rest(qtbot)
    show(qtbot, studio, page, "part.png")
    answer = page.answer
    panes = answer.panes.panes
    assert answer.map_box.currentText() == KIND_MAP, "the damage is in a part only"
    captions = [pane.caption for pane in panes if pane.isVisible()]
    assert len(captions) == 4
    for mode, button in answer.modes.items():
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        assert answer.mode == mode
        assert panes[0].isVisible()
    qtbot.keyClick(answer, Qt.Key.Key_B)
    assert answer.mode == BLINK
    qtbot.keyClick(answer, Qt.Key.Key_B)
    assert answer.mode == SIDE_BY_SIDE
    assert set(MODES) == set(answer.modes)
    places = answer.findings.places
    assert places.count() == 1
    assert panes[0].view.fitted
    qtbot.mouseClick(
        places.viewport(),
        Qt.MouseButton.LeftButton,
        pos=places.visualItemRect(places.item(0)).center(),
    )
    assert not panes[0].view.fitted
    assert panes[1].view is panes[0].view
    assert panes[0].view.x < SIDE / 2
    assert panes[0].view.y < SIDE / 2
    answer.choose_map(NO_MAP)
    show(qtbot, studio, page, "moved.png")
    assert "shifted by 3 px" in answer.sentence.text()
    assert "Shifted" in answer.findings.geometry_line.text()
    page.take([files["corners.png"]])
    studio.rest(qtbot)
    show(qtbot, studio, page, "corners.png")
    assert "Not recognised" in answer.sentence.text()
    assert "explains" in answer.findings.tried.text()
    assert answer.findings.tried_title.text() == "What was tried"


def test_a_limit_is_set_by_clicking_a_finding(
    qtbot: QtBot, studio: Studio, page: Any, files: dict[str, str]
) -> None:
    page.take([files["original.png"]])
    studio.rest(qtbot)
    page.take([files["jpeg.jpg"], files["darker.png"]])
    studio.rest(qtbot)
    show(qtbot, studio, page, "jpeg.jpg")
    (button,) = [
        each
        for each in page.answer.findings.findChildren(type(page.open_copies_button))
        if each.accessibleName().startswith("Quality")
    ]
    offered = {action.text(): action for action in button.menu().actions()}
    assert {"Quality at least 40", "No JPEG at all"} <= set(offered)
    offered["No JPEG at all"].trigger()
    state = studio.session.comparisons
    assert state.profile == Profile(("jpeg",))
    assert page.answer.verdict.text() == "✗ Outside the limits: JPEG is not allowed."
    column = HEADINGS.index("Limits")
    cells = {row[0]: row[column] for row in page.table.cells(page.table.all_numbers())[1:]}
    assert cells == {"jpeg.jpg": "✗ JPEG is not allowed", "darker.png": "✓ within limits"}
    studio.session.undo.undo()
    assert state.profile is None
    assert not page.answer.verdict.isVisible()


def test_limits_are_edited_saved_and_opened(
    qtbot: QtBot, studio: Studio, page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "limits.toml")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (path, ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, **__: (path, ""))
    qtbot.mouseClick(page.limits_button, Qt.MouseButton.LeftButton)
    dialog = page.findChild(object, "limits") or QApplication.activeModalWidget()
    dialog.what.setCurrentIndex(dialog.what.findData("blur.sigma"))
    dialog.value.setValue(0.8)
    qtbot.mouseClick(dialog.add_button, Qt.MouseButton.LeftButton)
    dialog.what.setCurrentIndex(dialog.what.findData("unrecognised"))
    qtbot.mouseClick(dialog.add_button, Qt.MouseButton.LeftButton)
    wanted = Profile(("unrecognised",), {"blur.sigma": Range(most=0.8)})
    assert studio.session.comparisons.profile == wanted
    qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
    assert profile.load(path) == wanted
    for _ in range(2):
        qtbot.mouseClick(dialog.remove_button, Qt.MouseButton.LeftButton)
    assert studio.session.comparisons.profile is None
    qtbot.mouseClick(dialog.open_button, Qt.MouseButton.LeftButton)
    assert studio.session.comparisons.profile == wanted
    qtbot.mouseClick(dialog.close_button, Qt.MouseButton.LeftButton)


def test_a_report_is_saved_as_page_and_as_pdf(
    qtbot: QtBot,
    studio: Studio,
    page: Any,
    files: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page.take([files["original.png"]])
    studio.rest(qtbot)
    page.take([files["jpeg.jpg"], files["darker.png"]])
    studio.rest(qtbot)
    for name in ("report.html", "report.pdf"):
        target = (str(tmp_path / name), "")
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, target=target, **__: target)
        qtbot.mouseClick(page.report_button, Qt.MouseButton.LeftButton)
        studio.rest(qtbot)
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "JPEG, quality about 40" in text
    assert "Darker by about 20 grey levels" in text
    assert "<svg" in text
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    assert studio.errors == []


def test_pasted_pictures_and_made_copies_need_no_file(
    qtbot: QtBot, studio: Studio, page: Any, files: dict[str, str]
) -> None:
    QApplication.clipboard().setImage(QImage(files["original.png"]))
    page.paste()
    studio.rest(qtbot)
    original = studio.session.comparisons.original
    assert original is not None
    assert original.picture.shape == (SIDE, SIDE, 3)
    page.paste()
    studio.rest(qtbot)
    assert answer_of(studio, "Pasted picture").label == "original"
    studio.actions.comparing.add_trial(TRIALS[0])
    studio.rest(qtbot)
    assert answer_of(studio, f"{TRIALS[0].title} (made here)").parts == ("jpeg",)
    reference = studio.actions.comparing.to_steps()
    assert reference is not None
    assert reference.picture.shape == (SIDE, SIDE)


def test_a_project_keeps_files_and_limits(
    qtbot: QtBot, studio: Studio, page: Any, files: dict[str, str]
) -> None:
    page.take([files["original.png"]])
    studio.rest(qtbot)
    page.take([files["jpeg.jpg"]])
    studio.rest(qtbot)
    studio.session.comparisons.set_profile(Profile(("jpeg",)))
    kept = page.view_settings.values()
    studio.session.comparisons.clear()
    assert page.hint.isVisible()
    page.restore_view(kept)
    studio.rest(qtbot)
    assert answer_of(studio, "jpeg.jpg").parts == ("jpeg",)
    assert studio.session.comparisons.profile == Profile(("jpeg",))
    page.restore_view({"limits": "nonsense", "original": 3, "copies": [1]})
    studio.rest(qtbot)
    assert any("limits of the project" in each.text for each in studio.session.messages)


def test_another_original_gives_other_answers(
    qtbot: QtBot, studio: Studio, page: Any, files: dict[str, str]
) -> None:
    page.take([files["original.png"]])
    studio.rest(qtbot)
    page.take([files["darker.png"]])
    studio.rest(qtbot)
    studio.actions.comparing.open_original(files["darker.png"])
    studio.rest(qtbot)
    assert answer_of(studio, "darker.png").label == "original"
    assert "same picture" in page.answer.sentence.text()
