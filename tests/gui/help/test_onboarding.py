"""A newcomer's way: the start page, the tour, a mystery to guess; none of them in anybody's way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox, QPushButton, QWidget

from isca_gui import app as program
from isca_gui.core.recognition.vote_overlays import style_of
from isca_gui.core.settings import TrainingSettings
from isca_gui.help.start_page import CHOICES, MOST_SHOWN, StartViewer
from isca_gui.help.tour import STOPS
from isca_gui.panels.recognise import RecognisePanel
from isca_gui.session.preferences import Preferences
from isca_gui.session.records import Reference
from isca_gui.viewers.votes.vote_map import VoteMapViewer
from tests.gui.conftest import fill, in_front, rest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.window.main_window import MainWindow
    from tests.gui.conftest import Studio


@pytest.fixture
def window(open_window: Callable[[], MainWindow]) -> MainWindow:
    made = open_window()
    made.resize(1280, 800)
    return made


def click(qtbot: QtBot, widget: QWidget) -> None:
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)


def start_page(window: MainWindow) -> StartViewer:
    page = window.docks["start"].widget()
    assert isinstance(page, StartViewer)
    return page


# --- the start page -------------------------------------------------------------------------------


def test_the_start_page_is_in_front_at_the_very_first_start_only(
    qtbot: QtBot, window: MainWindow, preferences: Preferences
) -> None:
    program.begin(window)
    rest(qtbot, window)
    assert in_front(window, "start")
    assert window.session.reference is not None, "the sample is open all the same"
    primary = [
        button.text() for button in window.findChildren(QPushButton) if button.property("primary")
    ]
    assert primary == ["Generate"], "the next step is as obvious as ever"
    window.close()
    again = program.make_window(Preferences(preferences.path))
    qtbot.addWidget(again)
    again.show()
    program.begin(again)
    rest(qtbot, again)
    assert again.docks["start"].isHidden()
    assert in_front(again, "pictures")
    again.close()
    assert again.jobs.shutdown(10)


def test_the_start_page_stays_closed_if_a_picture_is_given(
    qtbot: QtBot, window: MainWindow
) -> None:
    program.begin(window, "sample:coins")
    rest(qtbot, window)
    assert window.docks["start"].isHidden()


def test_the_start_page_closes_when_the_next_step_is_taken(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32]
) -> None:
    window.guide.show_start()
    window.session.set_reference(Reference("small", picture))
    assert in_front(window, "start"), "the first picture is the program's own"
    click(qtbot, window.dataset_panel.generate_button)
    assert window.docks["start"].isHidden()
    qtbot.waitUntil(lambda: in_front(window, "pictures"))
    rest(qtbot, window)
    window.guide.show_start()
    assert in_front(window, "start")
    window.session.set_reference(Reference("another", picture))
    assert window.docks["start"].isHidden()


def test_a_running_job_does_not_close_the_start_page(
    qtbot: QtBot, window: MainWindow, small: Dataset
) -> None:
    window.session.set_reference(Reference("small", small.reference))
    window.session.set_dataset(small, small.digest())
    window.session.set_settings(TrainingSettings(epochs=1_000_000))
    window.menu_actions.train()
    live = window.session.live
    qtbot.waitUntil(lambda: live is not None and len(live.steps) > 2, timeout=60_000)
    window.guide.show_start()
    qtbot.wait(150)
    assert in_front(window, "start")
    window.menu_actions.stop_training()
    rest(qtbot, window)


def test_recent_files_are_offered_and_opened(
    qtbot: QtBot, window: MainWindow, preferences: Preferences
) -> None:
    preferences.recent = ["sample:coins", *(f"/nowhere/{number}.png" for number in range(9))]
    window.show_viewer("start")  # as the View menu does
    lines = [
        each
        for each in start_page(window).findChildren(QPushButton)
        if "recent" in each.accessibleName()
    ]
    assert len(lines) == MOST_SHOWN
    assert lines[0].text() == "coins (sample)"
    click(qtbot, lines[0])
    rest(qtbot, window)
    assert window.session.reference is not None
    assert window.session.reference.name == "coins"
    assert window.docks["start"].isHidden()


def test_each_card_does_what_it_says(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        QFileDialog, "getOpenFileName", lambda *_, **__: (asked.append("open"), ("", ""))[1]
    )
    monkeypatch.setattr(
        QFileDialog, "getExistingDirectory", lambda *_, **__: (asked.append("paper"), "")[1]
    )
    cards = start_page(window).cards
    assert set(cards) == {choice.name for choice in CHOICES}
    window.guide.show_start()
    click(qtbot, cards["sample"])
    rest(qtbot, window)
    assert window.session.reference is not None
    assert window.session.reference.name == "camera"
    assert window.docks["start"].isHidden()
    window.guide.show_start()
    click(qtbot, cards["open"])
    click(qtbot, cards["paper"])
    assert asked == ["open", "paper"]
    click(qtbot, cards["help"])
    assert in_front(window, "help")
    window.guide.show_start()
    click(qtbot, cards["tour"])
    assert window.guide.tour.running
    assert window.docks["start"].isHidden()
    window.guide.tour.leave()


def test_the_start_page_fits_a_small_dock(qtbot: QtBot, studio: Studio) -> None:
    page = StartViewer(studio.session, studio.jobs, studio.actions)
    qtbot.addWidget(page)
    page.set_recent(
        ["/a/very/long/path/that/goes/on/and/on/to a picture with a long name indeed.png"]
    )
    page.resize(900, 500)
    page.show()
    cards = list(page.cards.values())
    assert cards[0].y() == cards[1].y()
    page.resize(270, 400)
    QApplication.processEvents()
    assert cards[0].x() == cards[1].x()
    for widget in page.findChildren(QPushButton):
        right = widget.mapTo(page, QPoint(widget.width(), 0)).x()
        assert right <= page.width(), widget.accessibleName()


# --- the tour -------------------------------------------------------------------------------------


def test_the_tour_continues_when_the_steps_are_done(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32]
) -> None:
    tour = window.guide.tour
    window.guide.take_tour()
    assert tour.bubble is not None
    assert tour.bubble.title.text().startswith("1 of 5")
    window.session.set_reference(Reference("small", picture))
    qtbot.waitUntil(lambda: tour.place == 1)
    click(qtbot, tour.target)  # the control itself: Generate
    qtbot.waitUntil(lambda: tour.place == 2, timeout=60_000)
    click(qtbot, tour.target)
    qtbot.waitUntil(lambda: tour.place == 3, timeout=60_000)
    rest(qtbot, window)
    click(qtbot, tour.target)
    qtbot.waitUntil(lambda: tour.place == 4, timeout=60_000)
    rest(qtbot, window)
    assert in_front(window, "vote_map")
    assert tour.bubble.next_button.text() == "Done"
    click(qtbot, tour.bubble.next_button)
    assert not tour.running
    assert len(STOPS) == 5


def test_the_tour_points_at_the_control_and_follows_it(qtbot: QtBot, window: MainWindow) -> None:
    tour = window.guide.tour
    window.training_panel.heading.setChecked(False)
    tour.start()
    for place in range(5):
        assert tour.place == place
        qtbot.waitUntil(lambda: _points_at(window))
        if place == 2:
            assert window.training_panel.heading.isChecked(), "a folded step is unfolded"
        assert tour.bubble is not None
        click(qtbot, tour.bubble.next_button)
    assert not tour.running
    tour.start()
    window.resize(900, 640)
    qtbot.waitUntil(lambda: _points_at(window))
    tour.next()
    window.resize(1400, 500)
    qtbot.waitUntil(lambda: _points_at(window))
    window.steps.verticalScrollBar().setValue(40)
    qtbot.waitUntil(lambda: _points_at(window))
    window.resize(1400, 420)
    tour.next()
    window.steps.verticalScrollBar().setValue(0)  # as the window itself does when a step is done
    qtbot.waitUntil(lambda: tour.place == 2 and _points_at(window))
    qtbot.waitUntil(lambda: tour._checks > 20)
    before = tour.bubble.geometry()  # type: ignore[union-attr]
    window.steps.verticalScrollBar().setValue(0)
    qtbot.wait(200)
    assert window.steps.verticalScrollBar().value() == 0, "it may be scrolled away"
    assert tour.bubble.geometry() == before  # type: ignore[union-attr]
    tour.back()
    tour.back()
    qtbot.waitUntil(lambda: tour.place == 0 and _points_at(window))
    tour.leave()


def test_enter_continues_and_a_stop_says_what_is_missing(
    qtbot: QtBot, window: MainWindow, small: Dataset
) -> None:
    tour, session = window.guide.tour, window.session
    window.projects._begin_new()
    window.activateWindow()
    tour.start()
    bubble = tour.bubble
    assert bubble is not None
    qtbot.waitUntil(bubble.next_button.hasFocus)
    hints = []
    for place in range(len(STOPS)):
        assert tour.place == place
        hints.append(bubble._hint.text())
        qtbot.keyClick(bubble.next_button, Qt.Key.Key_Return)
    assert not tour.running
    assert hints[1:] == 4 * ["First open a picture."]
    session.set_reference(Reference("small", small.reference))
    tour.start()
    bubble = tour.bubble
    assert bubble is not None
    tour.next()
    assert bubble._hint.text().startswith("The tour continues")
    for _ in range(3):
        tour.next()
        assert bubble._hint.text() == "First press Generate."
    session.set_dataset(small, small.digest())
    tour.follow()
    assert bubble._hint.text() == "First press Train."
    assert bubble._hint.isVisible()
    tour.leave()


def _points_at(window: MainWindow) -> bool:
    """Whether the ring surrounds the control and the bubble is visible without covering it."""
    tour = window.guide.tour
    assert tour.bubble is not None
    assert tour._ring is not None
    target = tour.target
    place = QRect(target.mapTo(window, QPoint(0, 0)), target.size()).intersected(window.rect())
    ring, bubble = tour._ring.geometry(), tour.bubble.geometry()
    around = ring.intersects(place) and abs(ring.center().x() - place.center().x()) < 12
    return (
        around
        and window.rect().contains(bubble)
        and (not bubble.intersects(place) or tour.place == 4)
    )


def test_escape_leaves_the_tour_and_stops_nothing(
    qtbot: QtBot, window: MainWindow, small: Dataset
) -> None:
    session = window.session
    session.set_reference(Reference("small", small.reference))
    session.set_dataset(small, small.digest())
    session.set_settings(TrainingSettings(epochs=1_000_000))
    window.menu_actions.train()
    qtbot.waitUntil(
        lambda: session.live is not None and len(session.live.steps) > 2, timeout=60_000
    )
    window.activateWindow()
    window.guide.take_tour()
    box = window.dataset_panel.seed_box
    box.setFocus()
    qtbot.waitUntil(box.hasFocus)
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    assert not window.guide.tour.running
    assert window.jobs.running("training"), "the first Esc ends the tour only"
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: session.run is not None)
    rest(qtbot, window)


def test_the_ring_lets_the_mouse_through(qtbot: QtBot, window: MainWindow) -> None:
    tour = window.guide.tour
    tour.start()
    qtbot.waitUntil(lambda: _points_at(window))
    assert tour._ring is not None
    corner = tour._ring.geometry().topLeft() + QPoint(1, 1)
    assert window.childAt(corner) is not tour._ring
    assert tour._ring.mask().intersected(tour._ring.rect().adjusted(12, 12, -12, -12)).isEmpty()
    click(qtbot, tour.bubble.leave_button)  # type: ignore[union-attr]
    assert not tour.running


def test_the_window_closes_in_the_middle_of_the_tour(window: MainWindow) -> None:
    window.guide.take_tour()
    window.close()
    assert not window.guide.tour.running


# --- a mystery ------------------------------------------------------------------------------------


def test_a_mystery_makes_what_is_missing_first(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32]
) -> None:
    window.session.set_reference(Reference("small", picture))
    window.guide.show_start()
    click(qtbot, start_page(window).cards["mystery"])
    qtbot.waitUntil(lambda: window.session.test is not None, timeout=60_000)
    rest(qtbot, window)
    assert window.session.dataset is not None
    assert window.session.run is not None
    assert window.session.test is not None
    assert window.session.test.secret
    assert window.docks["start"].isHidden()
    assert in_front(window, "vote_map")
    click(qtbot, window.recognise_panel.mystery_button)
    rest(qtbot, window)
    assert len(window.session.tested) == 2


def test_a_mystery_without_a_reference_begins_with_the_sample(
    qtbot: QtBot, window: MainWindow
) -> None:
    window.projects._begin_new()
    window.guide.mystery()
    qtbot.waitUntil(lambda: window.session.reference is not None)
    qtbot.waitUntil(lambda: window.jobs.running("dataset"))
    window.menu_actions.stop_generating()
    rest(qtbot, window)
    assert window.session.dataset is None


@pytest.mark.parametrize("other", ["new", "opened"])
def test_a_requested_mystery_is_cancelled_by_another_project(
    qtbot: QtBot,
    window: MainWindow,
    picture: NDArray[np.float32],
    small: Dataset,
    model: Model,
    tmp_path: Path,
    other: str,
) -> None:
    path = tmp_path / "other.iscaproj"
    fill(window, picture, small, model)
    window.projects._write(str(path))
    rest(qtbot, window)
    window.session.remove_run(1)
    window.session.set_settings(TrainingSettings(epochs=1_000_000))
    window.guide.mystery()
    qtbot.waitUntil(lambda: window.session.live is not None)
    window.projects.new() if other == "new" else window.projects.open(path)
    (box,) = [each for each in QApplication.topLevelWidgets() if isinstance(each, QMessageBox)]
    box.button(QMessageBox.StandardButton.Discard).click()
    rest(qtbot, window)
    qtbot.wait(100)
    rest(qtbot, window)
    assert (window.session.reference is None) == (other == "new")
    assert window.session.tested == ()
    assert not window.projects.unsaved


def test_a_requested_mystery_is_cancelled_by_a_stop(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32]
) -> None:
    window.session.set_reference(Reference("small", picture))
    window.guide.mystery()
    assert window.jobs.running("dataset")
    window.menu_actions.stop_generating()
    rest(qtbot, window)
    qtbot.wait(50)
    window.menu_actions.generate()
    rest(qtbot, window)
    qtbot.wait(50)
    assert window.session.dataset is not None
    assert window.session.run is None
    assert window.session.tested == ()


@pytest.mark.parametrize(
    ("said", "words", "right"),
    [
        ({}, "The program said {kind} at MSE ≈ 120: ✓ right.", 1),
        ({"unlike": True}, "The program did not recognise it: ✗ wrong.", 0),
        ({"parts": ("contrast", "luminance")}, "The program said {both}: ✗ wrong.", 0),
    ],
)
def test_the_answer_to_a_mystery_is_that_of_the_list(
    qtbot: QtBot, with_run: Studio, said: dict[str, Any], words: str, right: int
) -> None:
    session = with_run.session
    panel = RecognisePanel(session, with_run.jobs, with_run.actions)
    qtbot.addWidget(panel)
    panel.mystery()
    with_run.rest(qtbot)
    test = session.test
    assert test is not None
    assert test.recognition is not None
    (kind,) = test.truth.kinds
    known = {"label": kind, "parts": (kind,), "unlike": False, "severity": 120.0}
    verdict = replace(test.recognition.verdict, **{**known, **said})
    session.replace_tested(replace(test, recognition=replace(test.recognition, verdict=verdict)))
    panel.guess.guess(kind)
    words = words.format(kind=style_of(kind).title, both=style_of("contrast+luminance").title)
    assert panel.guess.answer.text().endswith(words)
    assert panel.guess.score() == (1, right, 1)
    assert panel.list.topLevelItem(0).text(2) == ("120" if "MSE" in words else "")


def test_the_answer_is_hidden_until_the_user_has_guessed(qtbot: QtBot, with_run: Studio) -> None:
    session = with_run.session
    panel = RecognisePanel(session, with_run.jobs, with_run.actions)
    votes = VoteMapViewer(session, with_run.jobs, with_run.actions)
    for widget in (panel, votes):
        qtbot.addWidget(widget)
        widget.show()
    click(qtbot, panel.mystery_button)
    with_run.rest(qtbot)
    test = session.test
    assert test is not None
    assert test.recognition is not None
    sentence = test.recognition.verdict.sentence
    assert panel.guess.isVisible()
    assert sentence not in panel.text_label.text()
    assert panel.list.topLevelItem(0).text(1) == "guess first"
    assert "Guess" in votes.verdict.text()
    assert votes.canvas._overlay is None
    assert not votes.again.isVisible()
    kinds = test.truth.kinds
    click(qtbot, panel.guess.buttons[kinds[0]])
    with_run.rest(qtbot)
    assert "You said" in panel.guess.answer.text()
    assert panel.guess.answer.text().count("right") >= 1
    assert sentence in panel.text_label.text()
    assert panel.list.topLevelItem(0).toolTip(1) == sentence
    assert votes.verdict.text() == sentence
    assert votes.canvas._overlay is not None
    assert not panel.guess.question.isVisible()


def test_the_score_is_kept_and_an_opened_picture_is_no_mystery(
    qtbot: QtBot, with_run: Studio
) -> None:
    session = with_run.session
    panel = RecognisePanel(session, with_run.jobs, with_run.actions)
    qtbot.addWidget(panel)
    panel.show()
    for kind, said in (
        ("blur", "blur"),
        ("jpeg", "contrast"),
        ("gaussian-noise", "gaussian-noise"),
    ):
        with_run.actions.recognise_made(kind, 400.0, 5, hidden=True)
        with_run.rest(qtbot)
        panel.guess.guess(said)
    yours, its, of = panel.guess.score()
    assert (yours, of) == (2, 3)
    work = with_run.session.work
    others = tuple(replace(test, name="holiday.png", truth=None) for test in work.tested)
    with_run.session.set_work(replace(work, tested=others))
    assert not panel.guess.isVisible(), "other pictures of the same numbers"
    assert panel.guess.score()[2] == 0
    with_run.session.set_work(work)
    assert its >= 2
    assert f"you 2 of 3, the program {its} of 3" in panel.guess.answer.text()
    with_run.actions.recognise_made("blur", 200.0, 5)
    with_run.rest(qtbot)
    assert not panel.guess.isVisible()
    panel.guess.guess("blur")  # there is nothing to be guessed
    assert panel.guess.score()[2] == 3
    with_run.actions.mystery()
    with_run.rest(qtbot)
    click(qtbot, panel.reveal_button)
    assert "Actual" in panel.text_label.text()
    assert not panel.guess.isVisible(), "revealed without a guess"
