"""Fixtures of the window's tests: small real data, and a check that nothing is left behind."""

from __future__ import annotations

import gc
import os
import sys
import threading
from dataclasses import dataclass
from functools import partialmethod
from typing import TYPE_CHECKING, Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
import pytest
from PySide6.QtCore import QObject, QPoint, Qt, QThread, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from isca_gui import app as program
from isca_gui.core.distortion import dataset
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import training
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run
from isca_gui.core.settings import TrainingSettings
from isca_gui.jobs.actions import Actions
from isca_gui.jobs.runner import JobRunner, StepThread
from isca_gui.projects import project_io
from isca_gui.session.preferences import Preferences
from isca_gui.session.records import Reference
from isca_gui.session.session import Session
from isca_gui.widgets import theme

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.viewers.viewer import Viewer
    from isca_gui.window.main_window import MainWindow

SIDE = 64
LEVELS = (100.0, 400.0)
SPEC = DatasetSpec(kinds=("gaussian-noise", "blur", "jpeg"), levels=LEVELS)
# A tolerance that no run of five epochs reaches.
SETTINGS = TrainingSettings(solver="direct", epochs=5, tolerance=1e-7)
_PATIENCE = 60_000  # milliseconds


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let Qt's warnings fail the test, but for those about what the offscreen platform lacks."""
    for item in items:
        if "tests/gui" in item.path.as_posix():
            item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))
            item.add_marker(
                pytest.mark.qt_log_ignore(
                    r"does not support (propagateSizeHints|raise)", extend=True
                )
            )


class PatientBot(QtBot):
    """Waits as long as jobs may take on a busy machine, where all else goes before them."""

    waitUntil = partialmethod(QtBot.waitUntil, timeout=_PATIENCE)
    waitSignal = partialmethod(QtBot.waitSignal, timeout=_PATIENCE)
    waitSignals = partialmethod(QtBot.waitSignals, timeout=_PATIENCE)


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return PatientBot(request)


@pytest.fixture(scope="module", autouse=True)
def _modules_are_no_garbage() -> None:
    """Leave the million objects that modules have loaded out of every search below."""
    gc.collect()
    gc.freeze()


def alive(*kinds: type[QObject]) -> list[QObject]:
    """Return all Qt objects of some kinds that Python still refers to."""
    import shiboken6

    gc.collect()
    return [it for it in gc.get_objects() if isinstance(it, kinds) and shiboken6.isValid(it)]


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(qapp: QApplication) -> Iterator[None]:
    timers = {id(timer) for timer in alive(QTimer)}
    threads = set(threading.enumerate())
    windows = set(map(id, qapp.topLevelWidgets()))
    yield
    qapp.sendPostedEvents(None, 52)  # deferred deletions
    qapp.processEvents()
    left = alive(QThread, QTimer)
    running = [
        it for it in left if isinstance(it, QThread) and it.isRunning() and it is not qapp.thread()
    ]
    assert not running, f"threads left running: {running}"
    active = [
        it for it in left if isinstance(it, QTimer) and id(it) not in timers and it.isActive()
    ]
    assert not active, f"timers left active: {active}"
    shown = [it for it in qapp.topLevelWidgets() if it.isVisible() and id(it) not in windows]
    assert not shown, f"windows left open: {shown}"
    for thread in set(threading.enumerate()) - threads:
        # Python calls Qt's threads "Dummy-…"; those are looked at above.
        if not thread.name.startswith("Dummy-"):
            # Its niceness lets every other process go first.
            thread.join(60)
            assert not thread.is_alive(), f"thread left running: {thread}"


@dataclass(frozen=True)
class Studio:
    """What panels and viewers are given."""

    session: Session
    jobs: JobRunner
    actions: Actions

    def rest(self, qtbot: QtBot) -> None:
        """Wait until no job is under way."""
        qtbot.waitUntil(lambda: not self.jobs.jobs())

    @property
    def errors(self) -> list[str]:
        return [message.text for message in self.session.messages if message.level == "error"]


def opened(qtbot: QtBot, studio: Studio, kind: type[Viewer]) -> Any:
    """Show a viewer by itself."""
    viewer = kind(studio.session, studio.jobs, studio.actions)
    qtbot.addWidget(viewer)
    viewer.resize(900, 600)
    viewer.show()
    studio.rest(qtbot)
    return viewer


def click_heading(viewer: Any, column: int) -> None:
    """Click a heading of a viewer's table."""
    header = viewer.table.horizontalHeader()
    place = header.sectionViewportPosition(column) + header.sectionSize(column) // 2
    QTest.mouseClick(
        header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(place, header.height() // 2)
    )


@pytest.fixture(scope="session", autouse=True)
def _ours(qapp: QApplication) -> None:
    """Set up the application once: setting a style takes a fifth of the time of a window."""
    program.make_application()


@pytest.fixture(scope="session", autouse=True)
def _traced() -> None:
    """Let coverage see the jobs: Qt's threads do not know the trace function of `threading`."""
    drive = StepThread._drive

    def traced(thread: StepThread) -> Any:
        if threading.gettrace() is not None:
            sys.settrace(threading.gettrace())
        return drive(thread)

    StepThread._drive = traced  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def _config(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def studio(qapp: QApplication) -> Iterator[Studio]:
    theme.apply(theme.LIGHT)
    session, jobs = Session(), JobRunner()
    made = Studio(session, jobs, Actions(session, jobs))
    jobs.failed.connect(lambda failure: session.say("error", failure.message, failure.details))
    yield made
    assert jobs.shutdown(10), "a job could not be stopped"


@pytest.fixture(scope="session")
def picture() -> NDArray[np.float32]:
    whole = image.read(samples.resolve("sample:camera"))
    return np.ascontiguousarray(whole[90 : 90 + SIDE, 200 : 200 + SIDE])


@pytest.fixture(scope="session")
def small(picture: NDArray[np.float32]) -> Dataset:
    return run(dataset.generate(picture, SPEC))


@pytest.fixture(scope="session")
def model(small: Dataset) -> Model:
    return run(training.train(small, SETTINGS))


@pytest.fixture
def with_reference(studio: Studio, picture: NDArray[np.float32]) -> Studio:
    studio.session.restore(SPEC, SETTINGS)
    studio.session.set_reference(Reference("small", picture))
    return studio


@pytest.fixture
def with_dataset(with_reference: Studio, small: Dataset) -> Studio:
    with_reference.session.set_dataset(small, small.digest())
    return with_reference


@pytest.fixture
def with_run(with_dataset: Studio, model: Model) -> Studio:
    with_dataset.session.begin_run(SETTINGS)
    with_dataset.session.end_run(model)
    return with_dataset


@pytest.fixture
def saves_may_go_on(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Hold saves that begin while this is cleared, so that none is done before it is stopped."""
    go_on, whole = threading.Event(), project_io.save
    go_on.set()

    def held(*words: Any, **more: Any) -> Any:
        go_on.wait(60)
        return (yield from whole(*words, **more))

    monkeypatch.setattr(project_io, "save", held)
    return go_on


# --- the whole window -----------------------------------------------------------------------------


@pytest.fixture
def preferences(tmp_path_factory: pytest.TempPathFactory) -> Preferences:
    """Preferences in a folder of their own: they may be written while a test lists its files."""
    made = Preferences(tmp_path_factory.mktemp("preferences") / "preferences.json")
    made.spec, made.settings, made.theme = SPEC, SETTINGS, theme.LIGHT
    return made


@pytest.fixture
def open_window(qtbot: QtBot, preferences: Preferences) -> Iterator[Callable[[], MainWindow]]:
    """Return a function that opens a window; all share their preferences, as one user's do."""
    theme.apply(preferences.theme)
    opened: list[MainWindow] = []

    def make() -> MainWindow:
        made = program.make_window(preferences)
        qtbot.addWidget(made)
        made.show()
        opened.append(made)
        return made

    yield make
    for each in opened:
        each.close()
        assert each.jobs.shutdown(10)


@pytest.fixture
def window(open_window: Callable[[], MainWindow]) -> MainWindow:
    return open_window()


def fill(
    window: MainWindow, picture: NDArray[np.float32], small: Dataset, model: Model, runs: int = 1
) -> None:
    """Put a reference, its dataset and some runs into a window."""
    window.session.set_reference(Reference("small.png", picture, "/pictures/small.png"))
    window.session.set_dataset(small, small.digest())
    for _ in range(runs):
        window.session.begin_run(SETTINGS)
        window.session.end_run(model)


def rest(qtbot: QtBot, window: MainWindow) -> None:
    """Wait until no job is under way."""
    qtbot.waitUntil(lambda: not window.jobs.jobs())
    QApplication.processEvents()


def still(qtbot: QtBot, window: MainWindow) -> None:
    """Wait until the docks lie where they stay."""

    def lie_still() -> bool:
        before = window.dock_manager.to_text()
        qtbot.wait(50)
        return not window.dock_manager.settling and window.dock_manager.to_text() == before

    # Reading the layout earlier would make the docks share out their room too soon.
    qtbot.waitUntil(lambda: not window.dock_manager.settling)
    qtbot.waitUntil(lie_still)


def in_front(window: MainWindow, name: str) -> bool:
    """Whether a viewer is not behind another tab."""
    return not window.docks[name].visibleRegion().isEmpty()
