"""Step 4: pictures to recognise, mysteries, and the list of answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication

from isca_gui.core.distortion import strength_search
from isca_gui.core.pictures import image
from isca_gui.jobs.recognition_queue import RecognitionQueue
from isca_gui.panels.recognise import RecognisePanel
from isca_gui.session.records import RejectedPicture
from isca_gui.session.session import Session
from isca_gui.widgets import step_frame
from tests.gui.conftest import SETTINGS
from tests.gui.panels.conftest import click, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from tests.gui.conftest import Studio


def test_a_picture_made_from_the_reference_gets_a_verdict(
    qtbot: QtBot, with_run: Studio, recognise_panel: RecognisePanel
) -> None:
    recognise_panel.kind_box.setCurrentIndex(recognise_panel.kind_box.findData("gaussian-noise"))
    click(qtbot, recognise_panel.make_button)
    with_run.rest(qtbot)
    test = with_run.session.test
    assert test is not None
    assert test.recognition is not None
    assert test.truth.text == "gaussian-noise at MSE 300"
    assert "Actual: Gaussian noise, MSE 300." in recognise_panel.text_label.text()
    assert recognise_panel.list.topLevelItemCount() == 1
    verdict = test.recognition.verdict
    assert not verdict.unlike
    assert recognise_panel.list.topLevelItem(0).text(1) == "+".join(verdict.parts)
    assert test.recognition.verdict.sentence in recognise_panel.text_label.text()
    assert recognise_panel.state == step_frame.DONE


@pytest.mark.parametrize(
    ("said", "row"),
    [
        ({"label": "blur", "parts": ("blur",)}, ["blur", "120"]),
        ({"label": "blur", "parts": ("blur",), "unlike": True}, ["not recognised", ""]),
        ({"label": "original", "parts": (), "unlike": True}, ["not recognised", ""]),
        ({"label": "blur", "parts": ("blur", "jpeg")}, ["blur+jpeg", ""]),
        ({"label": "blur+jpeg", "parts": ("blur", "jpeg")}, ["blur+jpeg", "120"]),
        ({"label": "undecided", "parts": ()}, ["undecided", ""]),
        ({"label": "original", "parts": ()}, ["original", "120"]),
    ],
)
def test_a_row_of_the_list_agrees_with_the_verdict(
    qtbot: QtBot,
    with_run: Studio,
    recognise_panel: RecognisePanel,
    said: dict[str, Any],
    row: list[str],
) -> None:
    with_run.actions.recognise_made("blur", 120.0, 1)
    with_run.rest(qtbot)
    test = with_run.session.test
    assert test is not None
    assert test.recognition is not None
    verdict = replace(test.recognition.verdict, **{"severity": 120.0, "unlike": False, **said})
    with_run.session.replace_tested(
        replace(test, recognition=replace(test.recognition, verdict=verdict))
    )
    item = recognise_panel.list.topLevelItem(0)
    assert [item.text(1), item.text(2)] == row
    assert item.icon(1).isNull() == verdict.unlike


def test_a_mystery_keeps_its_secret_until_asked(
    qtbot: QtBot, with_run: Studio, recognise_panel: RecognisePanel, tmp_path: Path
) -> None:
    click(qtbot, recognise_panel.mystery_button)
    with_run.rest(qtbot)
    test = with_run.session.test
    assert test is not None
    assert test.name.startswith("Mystery")
    assert test.secret
    assert "Actual" not in recognise_panel.text_label.text()
    table = tmp_path / "answers.csv"
    with_run.actions.save_answers(table)
    with_run.rest(qtbot)
    found = test.verdict
    assert found is not None
    (row,) = table.read_text("utf-8").splitlines()[1:]
    assert found.label not in row
    click(qtbot, recognise_panel.reveal_button)
    assert "Actual" in recognise_panel.text_label.text()
    assert not recognise_panel.reveal_button.isEnabled()
    with_run.actions.save_answers(table)
    with_run.rest(qtbot)
    assert found.sentence in table.read_text("utf-8")


def test_no_answer_is_awaited_if_nothing_was_started(qtbot: QtBot, with_run: Studio) -> None:
    panel = shown(qtbot, with_run, RecognisePanel)
    with_run.actions.recognise_made("blur", 200.0, 1)
    with_run.rest(qtbot)
    with_run.session._reference = None
    answers: list[bool] = []
    panel.answered.connect(lambda: answers.append(True))
    panel.mystery()
    with_run.jobs.run("other", "Something else", lambda: None)
    with_run.rest(qtbot)
    assert answers == []


def test_an_older_picture_is_no_answer_after_a_failure_or_stop(
    qtbot: QtBot, with_run: Studio, recognise_panel: RecognisePanel, tmp_path: Path
) -> None:
    with_run.actions.recognise_made("blur", 200.0, 1)
    with_run.rest(qtbot)
    answers: list[bool] = []
    recognise_panel.answered.connect(lambda: answers.append(True))
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    recognise_panel.recognise([str(broken)])
    with_run.rest(qtbot)
    assert answers == []
    recognise_panel.mystery()
    with_run.actions.stop()
    with_run.rest(qtbot)
    assert answers == []
    recognise_panel.recognise([str(broken)])
    recognise_panel.mystery()
    with_run.rest(qtbot)
    assert answers == [True]
    click(qtbot, recognise_panel.again_button)
    with_run.rest(qtbot)
    assert answers == [True, True]


def test_without_a_reference_nothing_is_made_and_a_message_says_so(
    qtbot: QtBot, studio: Studio
) -> None:
    studio.actions.mystery()
    studio.actions.recognise_made("blur", 200.0, 1)
    studio.rest(qtbot)
    assert not studio.session.tested
    assert not studio.session.refused
    assert [message.level for message in studio.session.messages] == ["warning", "warning"]
    assert "reference picture" in studio.session.messages[-1].text


def test_a_picture_is_made_from_the_reference_of_the_moment_it_was_asked_for(
    qtbot: QtBot, with_run: Studio
) -> None:
    session = with_run.session
    first = session.reference
    assert first is not None
    with_run.actions.recognise_made("blur", 200.0, 1)
    session.set_reference(replace(first, picture=np.ascontiguousarray(first.picture[::-1])))
    with_run.actions.recognise_made("blur", 200.0, 1)  # while the first is at work
    with_run.rest(qtbot)
    before, after = (test.picture for test in session.tested)
    wanted = strength_search.distort(first.picture, "blur", 200.0, 1).picture
    turned = strength_search.distort(
        np.ascontiguousarray(first.picture[::-1]), "blur", 200.0, 1
    ).picture
    np.testing.assert_array_equal(before, wanted)
    np.testing.assert_array_equal(after, turned)


def test_pictures_opened_without_a_model_are_recognised_when_there_is_one(
    qtbot: QtBot, with_dataset: Studio, model: Model, small: Dataset
) -> None:
    session = with_dataset.session
    for number in (1, 2, 3):
        with_dataset.actions.recognise_picture(f"picture {number}", small.pictures[number])
    session.begin_run(SETTINGS)  # it ends while they are read
    session.end_run(model)
    with_dataset.rest(qtbot)
    assert [test.run for test in session.tested] == [1, 1, 1]


def test_every_picture_is_recognised_by_the_run_selected_when_it_was_asked_for(
    qtbot: QtBot, with_run: Studio, model: Model, small: Dataset
) -> None:
    session = with_run.session
    second = session.add_model("second", model)
    for run in (1, second):
        session.select_run(run)
        for number in (1, 2):
            with_run.actions.recognise_picture(f"{run} {number}", small.pictures[number])
    with_run.rest(qtbot)
    assert [test.run for test in session.tested] == [1, 1, second, second]


def test_a_job_that_was_stopped_takes_nothing_from_the_next_one(qapp: QApplication) -> None:
    tasks: list[Any] = []

    class ByHand:
        """A runner whose threads are where the test wants them to be."""

        at_work = False

        def running(self, _: str) -> bool:
            return self.at_work

        def start(self, _: str, __: str, make: Callable[[], Any], **___: Any) -> None:
            self.at_work = True
            tasks.append(make())

    runner = ByHand()
    recognising = RecognitionQueue(Session(), runner)  # type: ignore[arg-type]
    recognising.add_picture("before", np.zeros((8, 8), np.float32))
    next(tasks[0])
    next(tasks[0])  # "before" is done; the thread is about to ask for more,
    runner.at_work = False  # is told to stop a moment too late,
    recognising.add_picture("after", np.zeros((8, 8), np.float32))
    assert next(tasks[0], None) is None
    answers = [report[1].name for report in tasks[1] if isinstance(report, tuple)]
    assert answers == ["after"]


def test_many_files_and_a_bad_one(
    qtbot: QtBot, with_run: Studio, recognise_panel: RecognisePanel, small: object, tmp_path: Path
) -> None:
    paths = []
    for index, made in enumerate(small.pictures):
        paths.append(tmp_path / f"{index}.png")
        image.save_png(paths[-1], made)
    (tmp_path / "bad.png").write_bytes(b"bad")
    image.save_png(tmp_path / "wide.png", small.pictures[0].repeat(2, axis=1))
    with_run.actions.recognise_files([*paths[:3], tmp_path / "bad.png", tmp_path / "wide.png"])
    with_run.actions.recognise_files(paths[3:])  # while it is at work
    with_run.rest(qtbot)
    assert [test.name for test in with_run.session.tested] == [path.name for path in paths]
    assert len(with_run.errors) == 2
    assert "bad.png" in with_run.errors[0]
    assert "wide.png" in with_run.errors[1]


def test_dropped_files_are_recognised(
    qtbot: QtBot, with_run: Studio, recognise_panel: RecognisePanel, small: object, tmp_path: Path
) -> None:
    image.save_png(tmp_path / "a.png", small.pictures[2])
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "a.png"))])
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, data, buttons, keys)
    QApplication.sendEvent(recognise_panel, enter)
    assert enter.isAccepted()
    drop = QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, buttons, keys)
    QApplication.sendEvent(recognise_panel, drop)
    with_run.rest(qtbot)
    assert [test.name for test in with_run.session.tested] == ["a.png"]


@pytest.mark.parametrize("name", ["m.isca", "p.iscaproj", "p.iscaproj.zip", "folder"])
def test_dropped_files_that_are_no_pictures_go_to_the_window(
    recognise_panel: RecognisePanel, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).mkdir() if name == "folder" else (tmp_path / name).write_bytes(b"")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / name))])
    how = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, data, *how)
    QApplication.sendEvent(recognise_panel, enter)
    assert not enter.isAccepted()


def test_pictures_opened_before_there_is_a_model_are_recognised_when_there_is_one(
    qtbot: QtBot, with_dataset: Studio
) -> None:
    session = with_dataset.session
    with_dataset.actions.recognise_made("blur", 200.0, 1)
    with_dataset.rest(qtbot)
    assert session.test is not None
    assert session.test.recognition is None
    with_dataset.actions.train()
    qtbot.waitUntil(lambda: session.test.recognition is not None)
    with_dataset.rest(qtbot)


def test_selecting_removing_and_recognising_again(
    qtbot: QtBot, with_run: Studio, recognise_panel: RecognisePanel, model: object
) -> None:
    session = with_run.session
    for kind in ("blur", "jpeg"):
        with_run.actions.recognise_made(kind, 300.0, 1)
    with_run.rest(qtbot)
    recognise_panel.list.setCurrentItem(recognise_panel.list.topLevelItem(0))
    assert session.test is session.tested[0]
    session.begin_run(SETTINGS)
    session.end_run(model)
    assert recognise_panel.state == step_frame.STALE
    click(qtbot, recognise_panel.again_button)
    with_run.rest(qtbot)
    assert {test.run for test in session.tested} == {session.run.number}
    assert recognise_panel.state == step_frame.DONE
    click(qtbot, recognise_panel.remove_button)
    click(qtbot, recognise_panel.remove_button)
    assert session.tested == ()
    assert recognise_panel.state == step_frame.EMPTY


def pictures_in(folder: Path, made: Dataset, count: int) -> list[Path]:
    """Save the first pictures of a dataset as 0.png and so on."""
    paths = [folder / f"{number}.png" for number in range(count)]
    for path, picture in zip(paths, made.pictures, strict=False):
        image.save_png(path, picture)
    return paths


def test_the_next_answer_does_not_change_the_selection(
    qtbot: QtBot, with_run: Studio, recognise_panel: RecognisePanel, small: Dataset, tmp_path: Path
) -> None:
    session, paths = with_run.session, pictures_in(tmp_path, small, 5)

    def look_back() -> None:
        if session.test is not None and session.test.name == "1.png" and len(session.tested) == 2:
            recognise_panel.list.setCurrentItem(recognise_panel.list.topLevelItem(0))

    session.tested_selected.connect(look_back)
    with_run.actions.recognise_files(paths)
    with_run.rest(qtbot)
    assert len(session.tested) == 5
    assert session.test.name == "0.png"
    assert recognise_panel.list.currentItem().text(0) == "0.png"
    with_run.actions.recognise_made("blur", 300.0, 1)  # what is asked for now is shown
    with_run.rest(qtbot)
    assert session.test is session.tested[-1]


def test_the_next_answer_is_selected_after_a_removal(
    qtbot: QtBot, with_run: Studio, recognise_panel: RecognisePanel, small: Dataset, tmp_path: Path
) -> None:
    session, paths = with_run.session, pictures_in(tmp_path, small, 3)

    def remove() -> None:
        if session.test is not None and session.test.name == "0.png":
            click(qtbot, recognise_panel.remove_button)

    session.tested_selected.connect(remove)
    with_run.actions.recognise_files(paths)
    with_run.rest(qtbot)
    assert [test.name for test in session.tested] == ["1.png", "2.png"]
    assert session.test is session.tested[-1]


def test_an_answer_changes_its_row_only(
    qtbot: QtBot, with_run: Studio, recognise_panel: RecognisePanel
) -> None:
    session, shown_list = with_run.session, recognise_panel.list
    with_run.actions.recognise_made("blur", 300.0, 1)
    with_run.rest(qtbot)
    first = session.test
    assert first is not None
    for number in range(2, 41):
        session.add_tested(replace(first, number=number, name=f"{number}.png"))
    shown_list.verticalScrollBar().setValue(20)
    gone, changed = [], set()
    shown_list.model().rowsRemoved.connect(lambda *_: gone.append(1))
    shown_list.model().dataChanged.connect(lambda index, *_: changed.add(index.row()))
    session.replace_tested(replace(session.tested[4], recognition=None))
    assert (gone, changed) == ([], {4})
    assert shown_list.verticalScrollBar().value() == 20
    session.remove_tested(7)
    session.set_refused(
        (
            RejectedPicture(60, "no.png", "It is broken."),
            RejectedPicture(7, "seven.png", "It is broken."),
        )
    )
    session.set_refused(session.refused[1:])
    rows = [shown_list.topLevelItem(row) for row in range(shown_list.topLevelItemCount())]
    said = "+".join(first.verdict.parts)
    wanted = [
        (each.name, said if each.verdict is not None else "not yet") for each in session.tested
    ]
    wanted.insert(6, ("seven.png", "✗ failed"))
    assert [(item.text(0), item.text(1)) for item in rows] == wanted
    assert gone == [1, 1]
    session.set_work(replace(session.work, tested=session.tested[3:8], refused=()))
    rows = [shown_list.topLevelItem(row) for row in range(shown_list.topLevelItemCount())]
    assert [item.text(0) for item in rows] == ["4.png", "5.png", "6.png", "8.png", "9.png"]


def test_remove_selects_the_neighbour(
    qtbot: QtBot, with_run: Studio, recognise_panel: RecognisePanel, tmp_path: Path
) -> None:
    session = with_run.session
    with_run.actions.recognise_made("blur", 300.0, 1)
    with_run.rest(qtbot)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    recognise_panel.recognise([str(tmp_path / "broken.png")] * 2)
    with_run.actions.recognise_made("jpeg", 300.0, 1)
    with_run.actions.recognise_made("blur", 100.0, 1)
    with_run.rest(qtbot)
    good = session.tested
    assert len(good) == 3
    recognise_panel.list.setCurrentItem(recognise_panel.list.topLevelItem(1))
    for _ in range(2):
        click(qtbot, recognise_panel.remove_button)
        assert session.tested == good
    assert session.refused == ()
    assert session.test is good[1]
    click(qtbot, recognise_panel.remove_button)
    assert session.test is good[2]
    click(qtbot, recognise_panel.remove_button)
    assert session.tested == (session.test,) == good[:1]
