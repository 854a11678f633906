"""Seeded sequences of random actions in the real window end without an exception."""

from __future__ import annotations

import random
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QFileDialog,
    QMenu,
    QMessageBox,
    QSlider,
    QWidget,
)

from isca_gui import app as program
from isca_gui.core.distortion import strength_search
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.methods import METHODS
from isca_gui.core.pictures import image
from isca_gui.core.settings import TrainingSettings
from isca_gui.session.preferences import Preferences
from isca_gui.widgets import theme
from isca_gui.window.palette import Palette

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray
    from pytestqt.qtbot import QtBot

    from isca_gui.window.main_window import MainWindow

SIDE = 24
ACTIONS = 400  # of each walk
SEEDS = (1, 2, 3, 4, 5)
SECONDS = 15
_KEYS = (
    Qt.Key.Key_F,
    Qt.Key.Key_1,
    Qt.Key.Key_2,
    Qt.Key.Key_B,
    Qt.Key.Key_Space,
    Qt.Key.Key_Tab,
    Qt.Key.Key_Left,
    Qt.Key.Key_Right,
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_Return,
    Qt.Key.Key_Plus,
    Qt.Key.Key_Minus,
    Qt.Key.Key_Home,
    Qt.Key.Key_End,
    Qt.Key.Key_Delete,
    Qt.Key.Key_7,
)
_MOST_RUNS = 6  # kept, to be quick
_LEVELS = ((60.0,), (100.0, 300.0), (45.0, 45.5), (900.0, 20000.0), (64000.0,))
_KINDS = ("blur", "jpeg", "gaussian-noise", "impulse", "luminance", "contrast", "blur+jpeg")


class Walker:
    """Does one random thing after another and records what it did, for finding a fault."""

    def __init__(self, window: MainWindow, files: list[str], folder: Path, seed: int) -> None:
        self.window, self.files, self.folder = window, files, folder
        self.random = random.Random(seed)
        self.done: list[str] = []
        # How often each action is chosen, relative to the others.
        weights: dict[Callable[[], object], int] = {
            self.change_settings: 4,
            self.change_spec: 3,
            self.undo_or_redo: 3,
            self.open: 2,
            self.generate: 3,
            self.train: 5,
            self.stop: 3,
            self.recognise: 4,
            self.select: 4,
            self.remove: 2,
            self.rename: 1,
            self.dock: 3,
            self.mode: 4,
            self.keys: 8,
            self.press: 10,
            self.turn: 4,
            self.mouse: 4,
            self.menu: 6,
            self.rest: 4,
            self.save: 1,
            self.palette: 1,
            self.resize: 1,
            self.evaluate: 1,
        }
        self.works = [work for work, weight in weights.items() for _ in range(weight)]

    def step(self) -> None:
        work = self.random.choice(self.works)
        self.done.append(work.__name__)
        work()
        QApplication.processEvents()
        self.close_dialogs()

    def close_dialogs(self) -> None:
        """Answer or close every dialog."""
        for widget in QApplication.topLevelWidgets():
            if widget.isVisible() and isinstance(
                widget, QMessageBox | QFileDialog | Palette | QMenu
            ):
                buttons = widget.buttons() if isinstance(widget, QMessageBox) else []
                if buttons and self.random.random() < 0.5:
                    self.random.choice(buttons).click()
                else:
                    widget.close()
        popup = QApplication.activePopupWidget()
        if popup is not None:
            popup.close()

    # --- what a person does -----------------------------------------------------------------------

    def change_settings(self) -> None:
        pick = self.random.choice
        settings = TrainingSettings(
            method=pick(list(METHODS)),
            solver=pick(["admm", "direct"]),
            kernel=pick(["linear", "rbf"]),
            components=pick([1, 3, 4]),
            block=pick([4, 8, 8, 12]),
            epochs=pick([1, 2, 3, 400]),
            seed=pick([0, 1]),
            keep_every=pick([0, 0, 1]),
        )
        self.window.session.set_settings(settings)

    def change_spec(self) -> None:
        kinds = self.random.sample(_KINDS, self.random.randint(1, 4))
        levels = self.random.choice(_LEVELS)
        self.window.session.set_spec(DatasetSpec(tuple(kinds), levels, self.random.randint(0, 3)))

    def undo_or_redo(self) -> None:
        stack = self.window.session.undo
        for _ in range(self.random.randint(1, 4)):
            self.random.choice([stack.undo, stack.redo])()

    def open(self) -> None:
        self.window._open([self.random.choice(self.files)])

    def generate(self) -> None:
        self.window.menu_actions.generate()

    def train(self) -> None:
        resume = self.window.session.run if self.random.random() < 0.2 else None
        self.window.menu_actions.train(resume)

    def stop(self) -> None:
        act = self.window.menu_actions
        self.random.choice([act.stop, act.stop_training, act.stop_generating])()

    def recognise(self) -> None:
        panel, act = self.window.recognise_panel, self.window.menu_actions
        files = self.random.sample(self.files, self.random.randint(1, 3))
        again = act.recognise_again
        self.random.choice(
            [lambda: panel.recognise(files), panel.mystery, panel.make_button.click, again]
        )()

    def select(self) -> None:
        session = self.window.session
        if session.runs and self.random.random() < 0.5:
            session.select_run(self.random.choice(session.runs).number)
        elif session.tested:
            session.select_tested(self.random.choice(session.tested).number)

    def remove(self) -> None:
        session = self.window.session
        if session.runs and self.random.random() < 0.5:
            for run in self.random.sample(session.runs, max(len(session.runs) - _MOST_RUNS, 1)):
                session.remove_run(run.number)
        elif session.tested:
            session.remove_tested(self.random.choice(session.tested).number)

    def rename(self) -> None:
        run = self.window.session.run
        if run is not None:
            name = self.random.choice(["", "a" * 200, "Ünïcode ✓", "x\ny", run.name])
            self.window.session.replace_run(replace(run, name=name or run.name))

    def evaluate(self) -> None:
        if self.window.session.run is not None:
            self.window.menu_actions.evaluate(self.window.session.run.number)

    def dock(self) -> None:
        dock = self.random.choice(list(self.window.docks.values()))
        name = next(name for name, each in self.window.docks.items() if each is dock)
        float_it = lambda: dock.setFloating(not dock.isFloating())  # noqa: E731
        if name == "steps":
            return
        reset = self.window.dock_manager.reset
        self.random.choice([dock.close, dock.show, dock.raise_, float_it, reset])()

    def mode(self) -> None:
        """Bring a viewer to the front and press one of its buttons."""
        name = self.random.choice(self.window.viewers())[0]
        self.window.show_viewer(name)
        self._press_one_of(self.window.docks[name].widget())

    def press(self) -> None:
        self._press_one_of(self.window)

    def keys(self) -> None:
        target = QApplication.focusWidget() or self.random.choice(self._seen(QWidget) or [None])
        if target is not None:
            QTest.keyClick(target, self.random.choice(_KEYS))

    def turn(self) -> None:
        """Change a field."""
        field = self.random.choice(self._seen((QComboBox, QSlider, QAbstractSpinBox)) or [None])
        if isinstance(field, QComboBox) and field.count():
            field.setCurrentIndex(self.random.randrange(field.count()))
            field.activated.emit(field.currentIndex())
        elif isinstance(field, QSlider):
            field.setValue(self.random.randint(field.minimum(), field.maximum()))
        elif isinstance(field, QAbstractSpinBox) and field.accessibleName() not in (
            "Epochs",
            "Components",
        ):
            self.random.choice([field.stepUp, field.stepDown, field.clear])()

    def mouse(self) -> None:
        """Click, and move the pointer, anywhere in a widget."""
        widget = self.random.choice(self._seen(QWidget) or [None])
        if widget is None or isinstance(widget, QAbstractButton | QComboBox):
            return  # pressed elsewhere: a menu opened by the mouse would wait for an answer
        place = QPoint(
            self.random.randrange(max(widget.width(), 1)),
            self.random.randrange(max(widget.height(), 1)),
        )
        QTest.mouseMove(widget, place)
        if widget.metaObject().className() not in ("QMenuBar", "QSizeGrip", "QSplitterHandle"):
            QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=place)

    def menu(self) -> None:
        """Run any menu action except quitting, full screen and the themes, which are slow."""
        actions = [
            action
            for menu in self.window.menuBar().findChildren(QMenu)
            for action in menu.actions()
            if action.isEnabled()
            and action.text()
            and not action.text().startswith(("&Quit", "&Full"))
            if action.data() not in theme.CHOICES
        ]
        heads = [menu.menuAction() for menu in self.window.menuBar().findChildren(QMenu)]
        action = self.random.choice([each for each in actions if each not in heads])
        self.done.append(action.text())
        action.trigger()

    def rest(self) -> None:
        """Wait for the jobs a little."""
        QTest.qWait(self.random.choice([1, 20, 60]))

    def save(self) -> None:
        act, session = self.window.menu_actions, self.window.session
        if session.run is not None:
            act.save_model(session.run, self.folder / "model.isca")
        act.save_answers(self.folder / "answers.csv")

    def palette(self) -> None:
        if not self.window.isVisible():
            return
        self.window.find_action()
        shown = next(each for each in self.window.findChildren(Palette) if each.isVisible())
        QTest.keyClicks(shown.line, self.random.choice(["undo", "view", "nothing there", "theme"]))
        QTest.keyClick(shown.line, self.random.choice([Qt.Key.Key_Down, Qt.Key.Key_Escape]))

    def resize(self) -> None:
        self.window.resize(self.random.randint(500, 900), self.random.randint(300, 700))

    # --- inside -----------------------------------------------------------------------------------

    def _seen(self, kind: Any, inside: QWidget | None = None) -> list[Any]:
        found = (inside or self.window).findChildren(QWidget)
        return [
            each
            for each in found
            if isinstance(each, kind) and each.isVisible() and each.isEnabled()
        ]

    def _press_one_of(self, inside: QWidget) -> None:
        buttons = [
            button
            for button in self._seen(QAbstractButton, inside)
            if not button.objectName().startswith("qt_")
            and getattr(button, "menu", lambda: None)() is None
        ]
        if buttons:
            button = self.random.choice(buttons)
            self.done.append(button.text())
            button.click()


@pytest.fixture
def files(tmp_path: Path, picture: NDArray[np.float32]) -> list[str]:
    """Return small pictures, one of another size, and files that are no pictures."""
    reference = np.ascontiguousarray(picture[:SIDE, :SIDE])
    made = {"reference": reference, "smaller": reference[:16, :16], "tiny": reference[:4, :4]}
    for number, kind in enumerate(("blur", "jpeg", "impulse")):
        made[kind] = strength_search.distort(reference, kind, 150.0, number).picture
    paths = []
    for name, pixels in made.items():
        image.save_png(tmp_path / f"{name}.png", np.ascontiguousarray(pixels))
        paths.append(str(tmp_path / f"{name}.png"))
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n nothing")
    return [*paths, *paths[:1] * 3, str(tmp_path / "broken.png"), str(tmp_path / "missing.png")]


@pytest.fixture
def walked(qtbot: QtBot, tmp_path: Path) -> Iterator[MainWindow]:
    preferences = Preferences(tmp_path / "preferences.json")
    preferences.spec = DatasetSpec(("blur", "jpeg"), (100.0, 300.0))
    preferences.settings, preferences.theme = TrainingSettings(epochs=3), theme.LIGHT
    theme.apply(theme.LIGHT)
    made = program.make_window(preferences)
    qtbot.addWidget(made)
    made.show()
    # Only the numbers that `change_settings` picks are compiled; another one would take a minute.
    made.training_panel.form.editors["components"].setReadOnly(True)  # type: ignore[union-attr]
    yield made
    made.close()
    assert made.jobs.shutdown(20), "a job could not be stopped"
    for thread in threading.enumerate():
        if "settle" in thread.name:  # compiles, which cannot be interrupted
            thread.join(60)
    theme.apply(theme.LIGHT)


def close_popups() -> None:
    for widget in (QApplication.activePopupWidget(), QApplication.activeModalWidget()):
        if widget is not None:
            widget.close()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_actions_end_without_an_exception(
    walked: MainWindow, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chooser = random.Random(seed)
    pick = lambda *_: (chooser.choice(["", *files]), "")  # noqa: E731
    monkeypatch.setattr(QFileDialog, "getOpenFileName", pick)
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: (chooser.sample(files, 2), ""))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "out.bin"), ""))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path / "folder"))
    answers = [QMessageBox.StandardButton.Yes, QMessageBox.StandardButton.No]
    monkeypatch.setattr(QMessageBox, "question", lambda *_: chooser.choice(answers))
    monkeypatch.setattr(QMessageBox, "exec", lambda _: 0)
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda _: True)
    caught: list[BaseException] = []
    monkeypatch.setattr(sys, "excepthook", lambda _, error, __: caught.append(error))
    walked.choose_theme(theme.DARK if seed % 2 else theme.LIGHT)
    walked.menu_actions.open_picture(files[0])
    walker = Walker(walked, files, tmp_path, seed)
    # A key on a button with a menu opens it, and comes back only when it is closed.
    closing = QTimer(walked)
    closing.timeout.connect(close_popups)
    closing.start(200)
    try:
        for _ in range(ACTIONS):
            walker.step()
            assert not caught, (caught, walker.done[-12:])
    finally:
        closing.stop()
        sys.stdout.write(f"{walker.done}\n")  # shown where the test fails
    walked.jobs.shutdown(SECONDS)
    unexpected = [
        message
        for message in walked.session.messages
        if "unexpected" in message.text or "Traceback" in message.text
    ]
    assert not unexpected, (unexpected[0].details, walker.done[-12:])
    assert len(walker.done) >= ACTIONS


def test_there_are_enough_actions() -> None:
    assert ACTIONS * len(SEEDS) >= 2000
