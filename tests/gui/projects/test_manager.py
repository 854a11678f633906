"""Projects in the window: all comes back, nothing is lost unasked, one writer at a time."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QMessageBox, QWidget

from isca_gui import app as program
from isca_gui.core.distortion import strength_search as strength
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import training
from isca_gui.core.pictures import image
from isca_gui.core.progress import Progress
from isca_gui.core.progress import run as finish
from isca_gui.core.projects import folder as project_store
from isca_gui.core.projects import project
from isca_gui.core.recognition.evaluation import leave_one_out
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.settings import TrainingSettings
from isca_gui.jobs import recognition_queue
from isca_gui.jobs.names import JobName
from isca_gui.projects import project_io
from isca_gui.projects.file_locks import lock_of
from isca_gui.projects.manager import PACKED, SUFFIX
from isca_gui.session import records
from isca_gui.session.preferences import Preferences
from isca_gui.session.records import Reference, RejectedPicture
from isca_gui.widgets.dialogs import MissingFiles, ask_replace, ask_save
from tests.gui.conftest import SETTINGS, SPEC, rest, still
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.window.main_window import MainWindow


@pytest.fixture(scope="module")
def done(picture: NDArray[np.float32], small: Dataset, model: Model) -> records.SessionState:
    """Two runs of three, one evaluated; pictures recognised by both, and a rejected one."""
    reference, recogniser = (
        Reference("small.png", picture, "/pictures/small.png"),
        Recogniser(model),
    )
    blurred, noisy = (
        strength.distort(picture, kind, 250.0, 1).picture for kind in ("blur", "jpeg")
    )
    evaluated = records.Run(1, "ISCA 1", model, SETTINGS, finish(leave_one_out(model)))
    runs = evaluated, records.Run(3, "ISCA 3", model, SETTINGS)
    tested = (
        records.TestedPicture(
            1, "blurred", blurred, recogniser.recognise(blurred), 1, records.Truth(("blur",))
        ),
        records.TestedPicture(2, "noisy", noisy, recogniser.recognise(noisy), 3),
    )
    refused = (RejectedPicture(3, "bad.png", "It is no picture.", "/bad.png"),)
    data = (small, small.digest(), reference)
    return records.SessionState(
        SPEC, SETTINGS, reference, *data, runs, tested, refused, run=1, test=1
    )


@pytest.fixture
def worked(qtbot: QtBot, window: MainWindow, done: records.SessionState) -> MainWindow:
    """A window with everything in it."""
    window.session.set_work(done)
    rest(qtbot, window)
    still(qtbot, window)
    return window


def save(qtbot: QtBot, window: MainWindow, path: Path) -> Path:
    still(qtbot, window)
    window.projects._write(str(path))
    rest(qtbot, window)
    assert errors(window) == []
    return path


def everything(folder: Path) -> dict[str, bytes]:
    found = {
        each.relative_to(folder).as_posix(): each
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }
    return {name: each.read_bytes() for name, each in found.items() if not name.endswith(".lock")}


def errors(window: MainWindow) -> list[str]:
    return [message.text for message in window.session.messages if message.level == "error"]


def boxes() -> list[QMessageBox]:
    return [
        each
        for each in QApplication.topLevelWidgets()
        if isinstance(each, QMessageBox) and each.isVisible()
    ]


def answer(button: QMessageBox.StandardButton) -> None:
    (box,) = boxes()
    box.button(button).click()


class ByHand(QCloseEvent):
    """What the window system sends when a person closes a window."""

    def spontaneous(self) -> bool:
        return True


def close_by_hand(window: MainWindow) -> bool:
    """Close the window as its frame's button does; return whether it closed at once."""
    event = ByHand()
    window.closeEvent(event)
    return event.isAccepted()


def action(window: MainWindow, key: str) -> QAction:
    (found,) = [each for each in window.findChildren(QAction) if each.shortcut().toString() == key]
    return found


def choose(monkeypatch: pytest.MonkeyPatch, path: Path | str) -> None:
    """Let every file dialog return a path."""
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(path))


def test_everything_comes_back(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, open_window: Any
) -> None:
    before = worked.session.work
    path = save(qtbot, worked, tmp_path / f"all{SUFFIX}")
    worked.close()
    other = open_window()
    other.projects.open(path)
    rest(qtbot, other)
    session, after = other.session, other.session.work
    assert errors(other) == []
    assert (after.spec, after.settings) == (before.spec, before.settings)
    assert after.reference is not None
    assert before.reference is not None
    assert (after.reference.name, after.reference.path) == (
        before.reference.name,
        before.reference.path,
    )
    assert np.array_equal(after.reference.picture, before.reference.picture)
    assert after.digest == before.digest
    assert not session.dataset_stale
    assert [run.number for run in after.runs] == [1, 3]
    assert [run.name for run in after.runs] == [run.name for run in before.runs]
    assert not any(run.stale for run in after.runs)
    assert after.runs[0].evaluation is not None
    assert after.runs[1].evaluation is None
    assert (after.run, after.test) == (1, 1)
    assert after.refused == before.refused
    for old, new in zip(before.tested, after.tested, strict=True):
        assert old.recognition is not None
        assert new.recognition is not None
        assert (new.number, new.name, new.run, new.truth) == (
            old.number,
            old.name,
            old.run,
            old.truth,
        )
        assert new.recognition.verdict == old.recognition.verdict
        assert np.array_equal(new.recognition.winner, old.recognition.winner)
        assert np.array_equal(new.recognition.distances, old.recognition.distances)
    assert session.begin_run(SETTINGS) == 4
    session.end_run(None)
    assert session.next_tested_number() == 4
    assert not other.projects.unsaved
    assert other.windowTitle() == f"all{SUFFIX}[*] — ISCA Studio"


def test_a_picture_that_was_left_out_stays_left_out(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, open_window: Any
) -> None:
    confusion: Any = worked.docks["confusion"].widget()
    confusion.open_picture(1, 3)
    rest(qtbot, worked)
    before = worked.session.test
    assert before.left_out == 3
    path = save(qtbot, worked, tmp_path / f"all{SUFFIX}")
    worked.close()
    other = open_window()
    other.projects.open(path)
    rest(qtbot, other)
    after = other.session.test
    assert (after.number, after.left_out) == (before.number, 3)
    assert after.recognition.verdict == before.recognition.verdict
    np.testing.assert_array_equal(after.recognition.distances, before.recognition.distances)
    other.docks["confusion"].widget().open_picture(1, 3)
    rest(qtbot, other)
    assert len(other.session.tested) == len(worked.session.tested), "it is there already"


def test_a_picture_is_left_out_of_any_run_that_knows_it(
    qtbot: QtBot, worked: MainWindow, small: Dataset
) -> None:
    session = worked.session
    worked.docks["confusion"].widget().open_picture(1, 3)
    rest(qtbot, worked)
    before = session.test

    def again(made: Dataset | None) -> Model | None:
        model = finish(training.train(made, SETTINGS)) if made is not None else None
        if model is not None:
            session.add_model("other", model)
        else:
            session.select_run(1)
        worked.menu_actions.recognise_again([session.test])
        rest(qtbot, worked)
        return model

    order = [0, *range(len(small.entries) - 1, 0, -1)]
    entries = tuple(small.entries[number] for number in order)
    model = again(replace(small, pictures=small.pictures[order], entries=entries))
    assert session.test.left_out == order.index(3)
    assert session.test.name == before.name.replace("ISCA 1", "other")
    wanted = Recogniser(model).leave_one_out(order.index(3))
    np.testing.assert_array_equal(session.test.recognition.distances, wanted.distances)
    again(replace(small, pictures=np.ascontiguousarray(small.pictures[:, ::-1])))
    assert session.test.name == before.name.partition(" left out")[0], "that run has never seen it"
    again(None)
    assert (session.test.name, session.test.left_out) == (before.name, 3)
    np.testing.assert_array_equal(session.test.recognition.distances, before.recognition.distances)


@pytest.fixture
def two(qtbot: QtBot, worked: MainWindow, tmp_path: Path) -> tuple[Path, Path, dict[str, bytes]]:
    """Two projects, the second with fewer runs and the first open, and all their bytes."""
    (tmp_path / "all").mkdir()
    first = save(qtbot, worked, tmp_path / "all" / f"first{SUFFIX}")
    worked.session.remove_run(3)
    second = save(qtbot, worked, tmp_path / "all" / f"second{SUFFIX}")
    worked.projects.open(first)
    rest(qtbot, worked)
    return first, second, everything(first.parent)


def test_a_save_asked_for_while_a_project_opens_does_not_mix_them(
    qtbot: QtBot, worked: MainWindow, two: tuple[Path, Path, dict[str, bytes]]
) -> None:
    first, second, before = two
    worked.projects.open(second)
    worked.projects.save()
    rest(qtbot, worked)
    assert (worked.projects.path, worked.projects.unsaved) == (str(second), False)
    assert [run.number for run in worked.session.runs] == [1]
    worked.projects.save()
    rest(qtbot, worked)
    assert everything(first.parent) == before


def test_a_file_named_for_other_work_is_not_written(
    qtbot: QtBot,
    worked: MainWindow,
    two: tuple[Path, Path, dict[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second, before = two

    def meanwhile(*_: object) -> tuple[str, str]:
        rest(qtbot, worked)  # the other project comes behind the dialog
        return str(first.with_name(f"third{SUFFIX}")), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", meanwhile)
    for work in (worked.projects.save_as, worked.projects.save_copy, worked.projects.save_packed):
        worked.projects.open(second)
        work()
        rest(qtbot, worked)
        assert worked.projects.path == str(second)
        assert "Nothing was saved" in worked.session.messages[-1].text
        worked.projects.open(first)
        rest(qtbot, worked)
    assert everything(first.parent) == before


class Gate:
    """Holds a generator of a module until the gate is opened."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, name: str, *, before: bool, module: Any = project_io
    ) -> None:
        self.is_open, real = False, getattr(module, name)

        def gated(*words: Any, **more: Any) -> Any:
            if before:
                yield from self.waiting()
            result = yield from real(*words, **more)
            yield from self.waiting()
            return result

        monkeypatch.setattr(module, name, gated)

    def waiting(self) -> Any:
        while not self.is_open:
            yield Progress(0, 1, "waiting")
            time.sleep(0.002)


@pytest.mark.parametrize("asked", ["before", "behind"])
def test_a_save_before_or_behind_the_question_keeps_to_its_own_work(
    qtbot: QtBot,
    worked: MainWindow,
    two: tuple[Path, Path, dict[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
) -> None:
    first, second, _ = two
    gate = Gate(monkeypatch, "save", before=True)
    worked.projects.open(second)
    worked.session.set_settings(replace(SETTINGS, epochs=7))  # while it is read
    if asked == "before":
        worked.projects.save()
    else:
        qtbot.waitUntil(lambda: bool(boxes()))
        worked.projects.save()
        answer(QMessageBox.StandardButton.Discard)
    qtbot.waitUntil(lambda: any(job.writes for job in worked.jobs.jobs()))
    gate.is_open = True
    rest(qtbot, worked)
    assert (worked.projects.path, worked.projects.unsaved) == (str(second), False)
    worked.projects.save()
    rest(qtbot, worked)
    written = [project.read(path) for path in (first, second)]
    assert [[run.number for run in each.runs] for each in written] == [[1, 3], [1]]
    assert written[0].settings.epochs == 7


def test_a_project_that_is_written_while_it_is_read_is_read_again(
    qtbot: QtBot,
    worked: MainWindow,
    tmp_path: Path,
    open_window: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = save(qtbot, worked, tmp_path / f"all{SUFFIX}")
    gate, other = Gate(monkeypatch, "open_or_list_missing", before=False), open_window()
    other.projects.open(path)
    qtbot.waitUntil(lambda: any(job.what == "waiting" for job in other.jobs.jobs()))
    worked.session.remove_run(3)
    worked.projects.save()
    rest(qtbot, worked)
    worked.projects.new()
    rest(qtbot, worked)
    gate.is_open = True
    rest(qtbot, other)
    assert [run.number for run in other.session.runs] == [1]
    assert (other.projects.path, other.projects.locked_out) == (str(path), "")
    assert not other.projects.unsaved


def test_work_that_comes_while_the_end_waits_for_a_file_is_asked_about(
    qtbot: QtBot,
    worked: MainWindow,
    done: records.SessionState,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save(qtbot, worked, tmp_path / f"all{SUFFIX}")
    gate = Gate(monkeypatch, "save_packed", before=True)
    worked.projects._write_packed(str(tmp_path / f"packed{PACKED}"))
    assert not close_by_hand(worked)
    assert "quit once the file is saved" in worked.session.messages[-1].text
    worked.session.add_tested(replace(done.tested[0], number=9))
    assert not close_by_hand(worked)
    gate.is_open = True
    rest(qtbot, worked)
    answer(QMessageBox.StandardButton.Cancel)  # of one box
    assert (worked.isVisible(), boxes()) == (True, [])
    assert worked.projects.unsaved


def test_what_comes_after_all_was_discarded_is_asked_about(
    qtbot: QtBot,
    worked: MainWindow,
    done: records.SessionState,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save(qtbot, worked, tmp_path / f"all{SUFFIX}")
    gate = Gate(monkeypatch, "save_packed", before=True)
    worked.projects._write_packed(str(tmp_path / f"packed{PACKED}"))
    worked.jobs.start(JobName.EVALUATION.of(1), "Evaluating", gate.waiting)
    worked.projects.mark_changed()
    assert not close_by_hand(worked)
    answer(QMessageBox.StandardButton.Discard)
    assert "quit once the file is saved" in worked.session.messages[-1].text
    worked.session.add_tested(replace(done.tested[0], number=9))
    gate.is_open = True
    rest(qtbot, worked)
    answer(QMessageBox.StandardButton.Cancel)
    assert worked.isVisible()


def test_what_was_asked_for_last_is_what_is_shown(
    qtbot: QtBot, worked: MainWindow, two: tuple[Path, Path, dict[str, bytes]]
) -> None:
    _, second, _ = two
    worked.projects.open(second)
    worked.projects.new()  # while it is read
    rest(qtbot, worked)
    assert (worked.projects.path, worked.session.reference) == ("", None)
    worked.projects.new()
    worked.projects.open(second)
    rest(qtbot, worked)
    assert worked.projects.path == str(second)


def test_a_save_after_new_is_of_the_new_work(
    qtbot: QtBot, worked: MainWindow, two: tuple[Path, Path, dict[str, bytes]]
) -> None:
    first, _, before = two
    worked.projects.save()
    worked.projects.new()
    worked.projects.save()
    rest(qtbot, worked)
    assert (worked.projects.path, worked.session.runs) == ("", ())
    assert everything(first.parent) == before


def test_work_that_ends_while_missing_files_are_looked_for_is_asked_about(
    qtbot: QtBot, moved: tuple[MainWindow, Path], done: records.SessionState
) -> None:
    window, path = moved
    window.session.set_reference(done.reference)
    window.session.add_tested(replace(done.tested[0], run=0))
    dialogs()[0].without_button.click()
    rest(qtbot, window)
    answer(QMessageBox.StandardButton.Cancel)
    rest(qtbot, window)
    assert window.projects.path != str(path)
    assert [test.name for test in window.session.tested] == ["blurred"]
    window.projects.mark_changed()
    window.session.set_work(records.SessionState(SPEC, SETTINGS))


@pytest.mark.parametrize("saves", [1, 2])
def test_new_work_does_not_come_into_the_file_that_is_being_written(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, saves: int
) -> None:
    save(qtbot, worked, tmp_path / f"all{SUFFIX}")
    before = everything(tmp_path)
    for _ in range(saves):
        worked.projects.save()
    worked.projects.new()
    rest(qtbot, worked)
    assert worked.session.reference is None
    assert (worked.projects.path, worked.projects.unsaved) == ("", False)
    worked.session.set_spec(DatasetSpec(("blur",), (50.0,)))
    assert everything(tmp_path) == before


def test_a_mystery_revealed_while_vote_maps_are_reloaded_stays_revealed(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, open_window: Any
) -> None:
    worked.menu_actions.mystery()
    rest(qtbot, worked)
    path = save(qtbot, worked, tmp_path / f"all{SUFFIX}")
    worked.close()
    other = open_window()
    other.projects.open(path)
    qtbot.waitUntil(lambda: other.session.test is not None)
    assert other.session.test.secret
    other.menu_actions.reveal(other.session.test.number)
    rest(qtbot, other)
    assert other.session.test.recognition is not None
    assert not other.session.test.secret


def test_a_map_that_is_not_made_yet_is_not_blamed_on_a_deleted_run(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(qtbot, worked, tmp_path / f"all{SUFFIX}")
    Gate(monkeypatch, "recognise_stored", before=True, module=recognition_queue)
    worked.projects.open(path)
    qtbot.waitUntil(lambda: worked.jobs.running(JobName.VOTE_MAPS))
    results = worked.results
    for _ in range(2):  # while it is made, and when that was stopped
        for work in (results.save_map, results.save_votes):
            work()
            assert "is not ready yet" in worked.session.messages[-1].text
        worked.jobs.stop(JobName.VOTE_MAPS)
        rest(qtbot, worked)
    worked.session.remove_run(1)
    results.save_map()
    assert "was deleted" in worked.session.messages[-1].text


def test_a_verdict_of_a_run_that_was_deleted_stays(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, open_window: Any
) -> None:
    said = worked.session.tested[0].verdict
    assert said is not None
    worked.session.remove_run(1)
    worked.menu_actions.save_answers(tmp_path / "before.csv")
    path = save(qtbot, worked, tmp_path / f"all{SUFFIX}")
    worked.close()
    other = open_window()
    other.projects.open(path)
    rest(qtbot, other)
    other.session.select_tested(1)
    assert other.session.test.recognition is None, "nobody is left to draw its map"
    panel = other.recognise_panel
    assert panel.list.topLevelItem(0).text(1) == said.label
    assert said.sentence in panel.text_label.text()
    other.show_viewer("vote_map")
    votes: Any = other.docks["vote_map"].widget()
    assert votes.verdict.text() == said.sentence
    assert votes.again.isVisible()
    assert votes.copy.isEnabled()
    assert votes.legend.shares
    other.menu_actions.save_answers(tmp_path / "after.csv")
    rest(qtbot, other)
    assert (tmp_path / "after.csv").read_bytes() == (tmp_path / "before.csv").read_bytes()


def test_saving_an_opened_project_changes_no_byte(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, open_window: Any
) -> None:
    worked.training_panel.heading.setChecked(False)
    worked.docks["bases"].close()
    (tmp_path / "p").mkdir()
    path = save(qtbot, worked, tmp_path / "p" / f"all{SUFFIX}")
    before = everything(path.parent)
    worked.close()
    other = open_window()
    other.projects.open(path)
    rest(qtbot, other)
    assert not other.training_panel.heading.isChecked()
    assert other.docks["bases"].isHidden()
    still(qtbot, other)
    other.projects.save()
    rest(qtbot, other)
    assert everything(path.parent) == before
    other.projects.open(path)
    rest(qtbot, other)
    still(qtbot, other)
    other.projects.save()
    rest(qtbot, other)
    assert everything(path.parent) == before


def test_a_stale_dataset_stays_stale(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, open_window: Any, picture: NDArray[np.float32]
) -> None:
    worked.session.set_reference(Reference("other", np.ascontiguousarray(picture[::-1])))
    assert worked.session.dataset_stale
    path = save(qtbot, worked, tmp_path / f"stale{SUFFIX}")
    worked.projects.new()
    worked.projects.open(path)
    rest(qtbot, worked)
    assert worked.session.dataset_stale
    assert all(run.stale for run in worked.session.runs)


# --- the file menu --------------------------------------------------------------------------------


def test_save_asks_for_a_name_once(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, tmp_path / "mine")  # without its ending
    assert worked.isWindowModified()
    assert worked.windowTitle() == "small.png[*] — ISCA Studio"
    action(worked, "Ctrl+S").trigger()
    rest(qtbot, worked)
    assert (tmp_path / f"mine{SUFFIX}").exists()
    assert worked.windowTitle() == f"mine{SUFFIX}[*] — ISCA Studio"
    assert not worked.isWindowModified()
    choose(monkeypatch, "")
    worked.session.set_spec(DatasetSpec(("blur",), (60.0,)))
    assert worked.isWindowModified()
    worked.session.undo.undo()
    assert not worked.isWindowModified(), "back to what is in the file"
    worked.session.undo.redo()
    action(worked, "Ctrl+S").trigger()
    rest(qtbot, worked)
    assert project.read(tmp_path / f"mine{SUFFIX}").spec == DatasetSpec(("blur",), (60.0,))


def test_save_as_goes_on_with_the_new_file_and_a_copy_does_not(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = save(qtbot, worked, tmp_path / f"first{SUFFIX}")
    (tmp_path / "else").mkdir()
    second, third = tmp_path / "else" / f"second{SUFFIX}", tmp_path / "else" / f"third{SUFFIX}"
    choose(monkeypatch, third)
    worked.projects.save_copy()
    rest(qtbot, worked)
    assert worked.projects.path == str(first)
    assert not lock_of(str(third)).exists()
    choose(monkeypatch, second)
    action(worked, "Ctrl+Shift+S").trigger()
    rest(qtbot, worked)
    assert worked.projects.path == str(second)
    assert not lock_of(str(first)).exists()
    shutil.rmtree(first.with_suffix(".files"))
    for path in (second, third):
        worked.projects.open(path)
        rest(qtbot, worked)
        assert [run.number for run in worked.session.runs] == [1, 3]
    assert errors(worked) == []


def command(window: MainWindow, words: str) -> QAction:
    (found,) = [
        each for each in window.findChildren(QAction) if each.text().replace("&", "") == words
    ]
    return found


def test_a_packed_project_opens_elsewhere(
    qtbot: QtBot,
    worked: MainWindow,
    tmp_path: Path,
    open_window: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, layout = worked.session.work, worked.dock_manager.to_text()
    choose(monkeypatch, tmp_path / "sent")
    command(worked, "Save as one file…").trigger()
    rest(qtbot, worked)
    assert errors(worked) == []
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("sent")] == [
        f"sent{PACKED}"
    ]
    assert worked.projects.unsaved, "the work itself is where it was"
    assert worked.projects.path == ""
    other = open_window()
    choose(monkeypatch, tmp_path / f"sent{PACKED}")
    action(other, "Ctrl+Shift+O").trigger()
    rest(qtbot, other)
    assert errors(other) == []
    after = other.session.work
    assert after.digest == before.digest
    assert [run.name for run in after.runs] == [run.name for run in before.runs]
    assert [test.verdict for test in after.tested] == [test.verdict for test in before.tested]
    assert (after.run, after.test) == (before.run, before.test)
    still(qtbot, other)
    assert other.dock_manager.to_text() == layout
    assert other.projects.unsaved
    assert other.projects.path == "", "a save asks for a place"
    choose(monkeypatch, tmp_path / f"kept{SUFFIX}")
    other.projects.save()
    rest(qtbot, other)
    assert not other.projects.unsaved
    assert (tmp_path / f"kept{SUFFIX}").exists()


@pytest.mark.parametrize("kept", [False, True])
def test_a_full_drive_is_reported_with_the_name_of_the_packed_file(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    if kept:
        save(qtbot, worked, tmp_path / f"mine{SUFFIX}")
    (tmp_path / "drive").mkdir()
    target, real = tmp_path / "drive" / f"sent{PACKED}", image.save_tiff

    def full(path: Any, *words: Any) -> None:
        if "drive" in str(path):
            raise image.ImageError(
                f"Cannot write '{path}': No space left on device. Choose another place."
            )
        real(path, *words)

    def full_copy(source: Any, copy: Any) -> None:
        raise OSError(28, "No space left on device", copy.name)

    monkeypatch.setattr(image, "save_tiff", full)
    monkeypatch.setattr(project_store.shutil, "copyfileobj", full_copy)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))  # nor is it needed
    worked.projects._write_packed(str(target))
    rest(qtbot, worked)
    (told,) = errors(worked)
    assert told.startswith(f"Cannot save project '{target}': ")
    assert "No space left" in told
    assert told.count(str(tmp_path)) == 1
    assert "partial" not in told
    assert [*target.parent.iterdir()] == []


def test_an_invalid_packed_project_is_reported_and_changes_nothing(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path
) -> None:
    path = save(qtbot, worked, tmp_path / f"mine{SUFFIX}")
    before = worked.session.stamp
    (tmp_path / f"bad{PACKED}").write_bytes(b"PK and nothing more")
    worked.projects.open(tmp_path / f"bad{PACKED}")
    rest(qtbot, worked)
    assert "not a packed project" in errors(worked)[-1]
    assert worked.session.stamp == before
    assert worked.projects.path == str(path)


def test_a_packed_project_of_a_newer_version_is_not_called_damaged(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path
) -> None:
    packed, newer = tmp_path / f"one{PACKED}", tmp_path / f"newer{PACKED}"
    worked.projects._write_packed(str(packed))
    rest(qtbot, worked)
    with zipfile.ZipFile(packed) as source, zipfile.ZipFile(newer, "w") as target:
        for entry in source.infolist():
            content = source.read(entry)
            if entry.filename.endswith(SUFFIX):
                content = content.replace(b'"schema": 2', b'"schema": 99')
            target.writestr(entry, content)
    worked.projects.open(newer)
    answer(QMessageBox.StandardButton.Discard)
    rest(qtbot, worked)
    (told,) = errors(worked)
    assert str(newer) in told
    assert "newer" in told.replace(str(newer), "")
    assert "damaged" not in told


def test_a_damaged_packed_project_is_reported_with_its_own_name(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path
) -> None:
    good, bad = tmp_path / f"good{PACKED}", tmp_path / f"bad{PACKED}"
    worked.projects._write_packed(str(good))
    rest(qtbot, worked)
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(bad, "w") as new:
        for entry in old.infolist():  # one of its files is another than the document says
            new.writestr(
                entry, re.sub(rb'("sha256": ")[0-9a-f]{4}', rb"\g<1>0000", old.read(entry), count=1)
            )
    worked.projects.open(bad)
    answer(QMessageBox.StandardButton.Discard)
    rest(qtbot, worked)
    assert errors(worked) == [
        f"Cannot open project '{bad}': it is damaged. Use another copy of it."
    ]


def test_a_name_without_its_ending_does_not_replace_a_file_unasked(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"there{SUFFIX}"
    path.write_text("mine")
    choose(monkeypatch, tmp_path / "there")
    monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.No)
    worked.projects.save()
    rest(qtbot, worked)
    assert path.read_text() == "mine"
    monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.Yes)
    worked.projects.save()
    rest(qtbot, worked)
    assert project.read(path).runs


def test_recent_projects_are_in_the_menu(qtbot: QtBot, worked: MainWindow, tmp_path: Path) -> None:
    path = save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    worked.projects.new()
    assert worked.session.runs == ()
    assert worked.session.reference is None
    (line,) = [each for each in worked.findChildren(QAction) if each.text() == str(path)]
    line.trigger()
    rest(qtbot, worked)
    assert [run.number for run in worked.session.runs] == [1, 3]
    worked.close()
    assert Preferences(worked.preferences.path).recent_projects == [str(path)]


def test_new_clears_every_viewer(qtbot: QtBot, worked: MainWindow, tmp_path: Path) -> None:
    save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    names = [name for name, *_ in worked.viewers()]
    for name in names:
        worked.show_viewer(name)
        rest(qtbot, worked)
    action(worked, "Ctrl+N").trigger()
    assert worked.windowTitle() == "ISCA Studio"
    for name in names:
        worked.show_viewer(name)
        rest(qtbot, worked)
    worked.menu_actions.open_sample("camera")
    rest(qtbot, worked)
    assert worked.session.reference is not None
    assert errors(worked) == []


def test_a_project_is_dropped(qtbot: QtBot, worked: MainWindow, tmp_path: Path) -> None:
    path = save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    worked.projects.new()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    how = Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(worked, QDragEnterEvent(QPoint(5, 5), *how))
    QApplication.sendEvent(worked, QDropEvent(QPointF(5, 5), *how))
    rest(qtbot, worked)
    assert worked.projects.path == str(path)


def test_a_project_is_opened_at_the_start(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, open_window: Any
) -> None:
    path = save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    worked.close()
    other = open_window()
    program.begin(other, str(path))
    rest(qtbot, other)
    assert other.projects.path == str(path)
    assert len(other.session.tested) == 2


def test_an_invalid_project_is_reported_and_changes_nothing(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path
) -> None:
    save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    for content in (b"", b"{}", b'{"schema": 99}'):
        (tmp_path / f"bad{SUFFIX}").write_bytes(content)
        worked.projects.open(tmp_path / f"bad{SUFFIX}")
        rest(qtbot, worked)
        assert "bad" in errors(worked)[-1]
    worked.projects.open(tmp_path / f"nothing{SUFFIX}")
    rest(qtbot, worked)
    assert len(errors(worked)) == 4
    assert worked.projects.path == str(tmp_path / f"one{SUFFIX}")
    assert len(worked.session.runs) == 2


def test_a_place_that_cannot_be_written_is_reported(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path
) -> None:
    worked.projects._write(str(tmp_path / "no folder" / f"a{SUFFIX}"))
    rest(qtbot, worked)
    assert "cannot be written" in errors(worked)[-1]
    assert worked.projects.unsaved


def test_results_of_the_old_work_do_not_come_into_the_new(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path
) -> None:
    path = save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    worked.session.set_settings(TrainingSettings(epochs=1_000_000))
    worked.menu_actions.train()
    qtbot.waitUntil(
        lambda: worked.session.live is not None and bool(worked.session.live.steps), timeout=60_000
    )
    worked.menu_actions.evaluate(3)
    worked.menu_actions.generate()
    worked.projects.open(path)
    answer(QMessageBox.StandardButton.Discard)
    rest(qtbot, worked)
    session = worked.session
    assert session.live is None
    assert [run.number for run in session.runs] == [1, 3]
    assert session.runs[1].evaluation is None
    assert not worked.projects.unsaved


def test_a_save_that_is_stopped_leaves_the_old_file_and_can_be_begun_again(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, saves_may_go_on: threading.Event
) -> None:
    path = save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    before, other = path.read_bytes(), tmp_path / f"two{SUFFIX}"
    worked.session.remove_run(1)
    for target in (path, other):
        saves_may_go_on.clear()
        worked.projects._write(str(target))
        worked.menu_actions.stop()
        saves_may_go_on.set()
        qtbot.waitUntil(lambda: worked.jobs.idle(JobName.PROJECT))
    assert path.read_bytes() == before
    assert not other.exists()
    assert worked.projects.unsaved
    assert worked.projects.path == str(path)
    save(qtbot, worked, other)
    assert len(project.read(other).runs) == 1


# --- nothing is lost unasked ----------------------------------------------------------------------


def test_with_nothing_worth_keeping_nobody_is_asked(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32]
) -> None:
    window.session.set_reference(Reference("small", picture))
    window.session.set_spec(DatasetSpec(("blur",), (60.0,)))
    assert not window.projects.unsaved
    assert not window.isWindowModified()
    assert close_by_hand(window)
    assert boxes() == []


@pytest.mark.parametrize("way", ["close", "quit", "new", "open"])
def test_cancel_keeps_everything(
    qtbot: QtBot, worked: MainWindow, way: str, tmp_path: Path
) -> None:
    ways: dict[str, Callable[[], object]] = {
        "close": lambda: close_by_hand(worked),
        "quit": action(worked, "Ctrl+Q").trigger,
        "new": action(worked, "Ctrl+N").trigger,
        "open": lambda: worked.projects.open(tmp_path / f"other{SUFFIX}"),
    }
    ways[way]()
    (box,) = boxes()
    assert "7 training pictures, 2 runs, 2 test pictures" in box.informativeText()
    answer(QMessageBox.StandardButton.Cancel)
    assert worked.isVisible()
    assert len(worked.session.runs) == 2


def test_answering_save_saves_and_closes(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, tmp_path / f"late{SUFFIX}")
    assert not close_by_hand(worked)
    answer(QMessageBox.StandardButton.Save)
    qtbot.waitUntil(lambda: not worked.isVisible())
    assert len(project.read(tmp_path / f"late{SUFFIX}").runs) == 2
    assert not lock_of(str(tmp_path / f"late{SUFFIX}")).exists()


def test_what_is_changed_while_it_is_saved_is_saved_before_it_closes(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, open_window: Any
) -> None:
    path = save(qtbot, worked, tmp_path / "work.iscaproj")
    worked.session.set_settings(replace(worked.session.settings, seed=5))
    close_by_hand(worked)
    answer(QMessageBox.StandardButton.Save)
    assert worked.jobs.running(JobName.PROJECT)
    worked.session.set_settings(replace(worked.session.settings, seed=6))
    qtbot.waitUntil(lambda: not worked.isVisible())
    other = open_window()
    other.projects.open(path)
    rest(qtbot, other)
    assert other.session.settings.seed == 6


def test_answering_discard_closes(qtbot: QtBot, worked: MainWindow) -> None:
    assert not close_by_hand(worked)
    answer(QMessageBox.StandardButton.Discard)
    qtbot.waitUntil(lambda: not worked.isVisible())


def test_a_training_under_way_is_kept_by_saving(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    worked.session.set_settings(TrainingSettings(epochs=1_000_000))
    worked.menu_actions.train()
    qtbot.waitUntil(
        lambda: worked.session.live is not None and len(worked.session.live.steps) > 2,
        timeout=60_000,
    )
    action(worked, "Ctrl+Q").trigger()
    assert "is under way" in boxes()[0].informativeText()
    answer(QMessageBox.StandardButton.Save)
    qtbot.waitUntil(lambda: not worked.isVisible())
    stored = project.read(tmp_path / f"one{SUFFIX}")
    assert [run.number for run in stored.runs] == [1, 3, 4]


def test_only_what_is_not_in_the_file_is_said_to_be_lost(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, model: Model
) -> None:
    save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    worked.session.set_settings(replace(worked.session.settings, seed=5))
    for more, words in (
        (lambda: None, "Not saved: settings."),
        (lambda: worked.session.add_model("more", model), "Not saved: 1 run, settings."),
        (lambda: worked.session.remove_tested(1), "Not saved: 1 run, settings."),
    ):
        more()
        worked.quit()
        assert words in boxes()[0].informativeText()
        answer(QMessageBox.StandardButton.Cancel)


def test_what_is_done_while_a_project_is_opened_is_not_dropped_unasked(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path
) -> None:
    path = save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    other = tmp_path / f"two{SUFFIX}"
    shutil.copy(path, other)
    buttons = QMessageBox.StandardButton
    for button, name in ((buttons.Cancel, "mine"), (buttons.Discard, "ISCA 1")):
        worked.projects.open(other)
        worked.session.replace_run(replace(worked.session.runs[0], name="mine"))
        rest(qtbot, worked)
        answer(button)
        rest(qtbot, worked)
        assert worked.session.runs[0].name == name
    assert worked.projects.path == str(other)


def test_a_copy_asked_for_at_once_does_not_cancel_the_saving(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, copy, packed = (tmp_path / name for name in (f"a{SUFFIX}", f"b{SUFFIX}", f"c{PACKED}"))
    projects = worked.projects
    ways = (first, projects.save_as), (copy, projects.save_copy), (packed, projects.save_packed)
    for path, way in ways:
        choose(monkeypatch, path)
        way()
    assert worked.jobs.writing
    rest(qtbot, worked)
    assert [path.exists() for path in (first, copy, packed)] == [True] * 3
    assert errors(worked) == []
    assert worked.projects.path == str(first)


def test_the_program_does_not_end_before_a_file_is_written(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(qtbot, worked, tmp_path / f"a{SUFFIX}")
    choose(monkeypatch, tmp_path / f"b{PACKED}")
    worked.projects.save_packed()
    assert not close_by_hand(worked)
    assert boxes() == []
    assert worked.isVisible()
    qtbot.waitUntil(lambda: not worked.isVisible())
    assert zipfile.is_zipfile(tmp_path / f"b{PACKED}")


def test_the_program_does_not_end_where_a_file_could_not_be_written(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(qtbot, worked, tmp_path / f"a{SUFFIX}")
    choose(monkeypatch, tmp_path / "not there" / f"b{PACKED}")
    worked.projects.save_packed()
    worked.quit()
    rest(qtbot, worked)
    assert worked.isVisible()
    assert len(errors(worked)) == 1


def test_quitting_twice_ends_the_program_at_once(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(qtbot, worked, tmp_path / f"a{SUFFIX}")
    choose(monkeypatch, tmp_path / f"b{PACKED}")
    worked.projects.save_packed()
    worked.quit()
    assert worked.isVisible()
    worked.quit()
    assert not worked.isVisible()
    assert project.read(path).runs


def test_cancel_cancels_a_quit_that_waits_for_the_training(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path
) -> None:
    save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    worked.session.set_settings(TrainingSettings(epochs=1_000_000))
    worked.menu_actions.train()
    worked.quit()
    answer(QMessageBox.StandardButton.Save)
    assert worked.session.live is not None
    worked.quit()
    answer(QMessageBox.StandardButton.Cancel)
    qtbot.waitUntil(lambda: worked.session.live is None)
    rest(qtbot, worked)
    assert worked.isVisible()
    assert worked.projects.unsaved


def test_a_deleted_runs_number_is_not_given_again(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, open_window: Any, model: Model
) -> None:
    worked.session.remove_run(3)
    path = save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    worked.close()
    other = open_window()
    other.projects.open(path)
    rest(qtbot, other)
    assert {test.run for test in other.session.tested} == {1, 3}
    assert other.session.add_model("another", model) == 4


def test_the_system_closes_the_window_without_a_question(worked: MainWindow) -> None:
    assert worked.projects.unsaved
    worked.close()
    assert boxes() == []
    assert not worked.isVisible()


# --- missing files --------------------------------------------------------------------------------


def dialogs() -> list[MissingFiles]:
    found = [each for each in QApplication.topLevelWidgets() if isinstance(each, MissingFiles)]
    return [each for each in found if each.isVisible()]


@pytest.fixture
def moved(qtbot: QtBot, worked: MainWindow, tmp_path: Path) -> tuple[MainWindow, Path]:
    """A project whose files were moved elsewhere, while another one is open."""
    path = save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    worked.projects.new()
    (tmp_path / "elsewhere").mkdir()
    shutil.move(path.with_suffix(".files"), tmp_path / "elsewhere" / "one.files")
    worked.projects.open(path)
    rest(qtbot, worked)
    return worked, path


def test_missing_files_are_listed_and_found_in_a_folder(
    qtbot: QtBot, moved: tuple[MainWindow, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, path = moved
    (dialog,) = dialogs()
    assert dialog.list.topLevelItemCount() == 5
    assert window.session.runs == ()
    threads, look = [], project_io.IncompleteProject.relocated_to

    def watched(*words: Any) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return look(*words)

    monkeypatch.setattr(project_io.IncompleteProject, "relocated_to", watched)
    choose(monkeypatch, tmp_path)  # not there
    dialog.look_button.click()
    rest(qtbot, window)
    (dialog,) = dialogs()
    choose(monkeypatch, tmp_path / "elsewhere")
    dialog.look_button.click()
    rest(qtbot, window)
    assert dialogs() == []
    assert [run.number for run in window.session.runs] == [1, 3]
    assert threads == [False, False], "a network drive may take its time"
    assert window.projects.unsaved, "saving brings the files back beside the project"
    window.projects.save()
    rest(qtbot, window)
    shutil.rmtree(tmp_path / "elsewhere")
    window.projects.open(path)
    rest(qtbot, window)
    assert [run.number for run in window.session.runs] == [1, 3]
    assert errors(window) == []


def test_a_project_is_opened_without_its_missing_files(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path
) -> None:
    path = save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    before = path.read_bytes()
    stored = project.read(path)
    assert stored.dataset is not None
    shutil.rmtree(path.with_suffix(".files") / stored.dataset.file)
    worked.projects.open(path)
    rest(qtbot, worked)
    (dialog,) = dialogs()
    assert dialog.list.topLevelItem(0).text(0) == "the dataset"
    dialog.without_button.click()
    rest(qtbot, worked)
    assert worked.session.dataset is None
    assert len(worked.session.runs) == 2
    assert worked.projects.unsaved
    assert path.read_bytes() == before


def test_cancelling_missing_files_changes_nothing(
    qtbot: QtBot, moved: tuple[MainWindow, Path]
) -> None:
    window, _ = moved
    dialogs()[0].cancel_button.click()
    rest(qtbot, window)
    assert dialogs() == []
    assert window.session.runs == ()
    assert window.projects.path == ""


# --- two windows ----------------------------------------------------------------------------------


def test_a_second_window_may_read_but_not_write(
    qtbot: QtBot,
    worked: MainWindow,
    tmp_path: Path,
    open_window: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    before = path.read_bytes()
    second = open_window()
    second.projects.open(path)
    rest(qtbot, second)
    assert len(second.session.runs) == 2
    assert "another window" in second.session.messages[-1].text
    assert "read-only" in second.windowTitle()
    line = action(second, "Ctrl+S")
    assert "another window" in line.toolTip()
    choose(monkeypatch, "")
    line.trigger()
    assert second.projects.locked_out, "asked for another file, and none was chosen"
    second.session.remove_run(1)
    second.projects._write(str(path))
    assert "another window" in errors(second)[-1]
    assert path.read_bytes() == before
    choose(monkeypatch, tmp_path / f"two{SUFFIX}")
    action(second, "Ctrl+Shift+S").trigger()
    rest(qtbot, second)
    assert len(project.read(tmp_path / f"two{SUFFIX}").runs) == 1
    assert "another window" not in line.toolTip()
    worked.projects.new()
    second.projects.open(path)
    rest(qtbot, second)
    assert not second.projects.locked_out, "the first window has closed it"


@pytest.mark.parametrize("changed", [False, True])
def test_a_file_that_the_other_window_has_closed_is_written(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path, open_window: Any, changed: bool
) -> None:
    path = save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    second = open_window()
    second.projects.open(path)
    rest(qtbot, second)
    if changed:
        worked.session.remove_run(3)
        worked.projects.save()
        rest(qtbot, worked)
    worked.close()
    second.session.remove_run(1)
    action(second, "Ctrl+S").trigger()
    if changed:
        answer(QMessageBox.StandardButton.Yes)
    rest(qtbot, second)
    assert [run.number for run in project.read(path).runs] == [3]
    assert "read-only" not in second.windowTitle()
    assert not second.projects.unsaved


@pytest.mark.parametrize(
    "ask", [ask_save, lambda parent, name, _, done: ask_replace(parent, name, done)]
)
@pytest.mark.parametrize("length", [5, 40, 200])
def test_questions_are_seen_whole_whatever_the_project_is_called(
    qtbot: QtBot, length: int, ask: Callable[..., None]
) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    with qtbot.waitExposed(parent):
        parent.show()
    ask(parent, f"{'m' * length}{SUFFIX}", "Something is not saved.", lambda _: None)
    (box,) = parent.findChildren(QMessageBox)
    for name in ("qt_msgbox_label", "qt_msgbox_informativelabel"):
        label = box.findChild(QLabel, name)
        assert label is not None
        assert (
            label.wordWrap() or label.fontMetrics().horizontalAdvance(label.text()) <= label.width()
        )
    box.close()


def test_what_another_window_has_saved_is_not_replaced_unasked(
    qtbot: QtBot,
    worked: MainWindow,
    model: Model,
    tmp_path: Path,
    open_window: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "p").mkdir()
    path = save(qtbot, worked, tmp_path / "p" / f"one{SUFFIX}")
    second = open_window()
    second.projects.open(path)
    rest(qtbot, second)
    worked.session.add_model("more", replace(model, end="stopped"))
    worked.projects.save()
    rest(qtbot, worked)
    worked.close()
    before, proposed = everything(path.parent), []

    def same(*words: Any) -> tuple[str, str]:
        proposed.append(words[2])
        return str(path), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", same)
    second.session.remove_run(3)
    second.projects.save_as()
    assert proposed == [str(path.with_name(f"one copy{SUFFIX}"))]
    assert "changed on disk" in boxes()[0].informativeText()
    answer(QMessageBox.StandardButton.Cancel)
    rest(qtbot, second)
    assert second.projects.unsaved
    assert everything(path.parent) == before


@pytest.fixture
def replaced(qtbot: QtBot, worked: MainWindow, tmp_path: Path) -> tuple[Path, dict[str, bytes]]:
    """A project that is open and changed, whose file was replaced without asking for its lock."""
    (tmp_path / "p").mkdir()
    path = save(qtbot, worked, tmp_path / "p" / f"one{SUFFIX}")
    there = project.read(path)
    finish(project.save(path, replace(there, spec=DatasetSpec(("blur",), (60.0,)))))
    worked.session.set_settings(replace(SETTINGS, epochs=7))
    worked.session.remove_run(3)
    return path, everything(path.parent)


@pytest.mark.parametrize("way", ["save", "save_as", "save_copy"])
def test_a_file_that_was_replaced_is_replaced_only_when_that_is_wanted(
    qtbot: QtBot,
    worked: MainWindow,
    replaced: tuple[Path, dict[str, bytes]],
    way: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, before = replaced
    choose(monkeypatch, path)
    for _ in range(2):
        getattr(worked.projects, way)()
        answer(QMessageBox.StandardButton.Cancel)
        rest(qtbot, worked)
        assert everything(path.parent) == before
    getattr(worked.projects, way)()
    answer(QMessageBox.StandardButton.Yes)
    rest(qtbot, worked)
    assert (project.read(path).spec, project.read(path).settings.epochs) == (SPEC, 7)
    worked.session.set_settings(replace(SETTINGS, epochs=8))
    worked.projects.save()
    rest(qtbot, worked)
    assert boxes() == [], "now it is ours"
    assert not worked.projects.unsaved


def test_a_file_that_was_replaced_stays_beside_what_is_saved_as_another(
    qtbot: QtBot,
    worked: MainWindow,
    replaced: tuple[Path, dict[str, bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, before = replaced
    choose(monkeypatch, tmp_path / f"two{SUFFIX}")
    worked.quit()
    answer(QMessageBox.StandardButton.Save)
    answer(QMessageBox.StandardButton.Save)
    qtbot.waitUntil(lambda: not worked.isVisible())
    assert project.read(tmp_path / f"two{SUFFIX}").settings.epochs == 7
    assert everything(path.parent) == before


def test_a_file_that_is_replaced_behind_the_question_is_asked_about_again(
    qtbot: QtBot, worked: MainWindow, replaced: tuple[Path, dict[str, bytes]]
) -> None:
    path, _ = replaced
    worked.projects.save()
    finish(
        project.save(path, replace(project.read(path), spec=DatasetSpec(("blur",), (60.0, 70.0))))
    )
    before = everything(path.parent)
    answer(QMessageBox.StandardButton.Yes)
    answer(QMessageBox.StandardButton.Cancel)
    rest(qtbot, worked)
    assert everything(path.parent) == before


def test_a_file_that_is_gone_is_written_again(
    qtbot: QtBot, worked: MainWindow, replaced: tuple[Path, dict[str, bytes]]
) -> None:
    path, _ = replaced
    path.unlink()
    worked.projects.save()
    rest(qtbot, worked)
    assert boxes() == []
    assert project.read(path).settings.epochs == 7


def test_a_project_whose_folder_was_renamed_is_no_other_windows(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path
) -> None:
    (tmp_path / "old").mkdir()
    save(qtbot, worked, tmp_path / "old" / f"one{SUFFIX}")
    path = (tmp_path / "old").rename(tmp_path / "new") / f"one{SUFFIX}"
    worked.projects.open(path)
    rest(qtbot, worked)
    assert (worked.projects.path, worked.projects.locked_out) == (str(path), "")
    worked.session.remove_run(1)
    worked.projects.save()
    rest(qtbot, worked)
    assert len(project.read(path).runs) == 1
    worked.projects.new()
    rest(qtbot, worked)
    assert not lock_of(str(path)).exists()


def test_the_lock_of_a_dead_process_is_ignored(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path
) -> None:
    path = save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    worked.projects.new()
    code = (
        "import os; from isca_gui.core.storage.lock import Lock; "
        f"held = Lock({str(lock_of(str(path)))!r}); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60)
    assert lock_of(str(path)).exists()
    worked.projects.open(path)
    rest(qtbot, worked)
    assert worked.projects.locked_out == ""


def test_a_lock_that_cannot_be_taken_is_reported(
    qtbot: QtBot, worked: MainWindow, tmp_path: Path
) -> None:
    path = save(qtbot, worked, tmp_path / f"one{SUFFIX}")
    worked.projects.new()
    lock_of(str(path)).mkdir()
    worked.projects.open(path)
    rest(qtbot, worked)
    assert "cannot be written" in worked.projects.locked_out
    assert "cannot be written" in action(worked, "Ctrl+S").toolTip()
    assert len(worked.session.runs) == 2
    lock_of(str(path)).rmdir()
    worked.session.remove_run(1)
    action(worked, "Ctrl+S").trigger()
    rest(qtbot, worked)
    assert len(project.read(path).runs) == 1
