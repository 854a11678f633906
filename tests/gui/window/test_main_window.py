"""The window as a whole: docks, menus, keys, what comes back, and ending in good order."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent, QImage, QPalette, QWheelEvent
from PySide6.QtWidgets import QApplication, QMessageBox, QPushButton, QWidget

import isca_gui
from isca_gui import app as program
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.distortion.distortions import ORIGINAL, TABLE
from isca_gui.core.model import model_file
from isca_gui.core.pictures import image
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.storage import resources
from isca_gui.jobs.actions import MODEL_SUFFIX, grey
from isca_gui.session.preferences import Preferences
from isca_gui.session.records import Reference, SessionState
from isca_gui.session.records import TestedPicture as Answered
from isca_gui.widgets import theme
from isca_gui.widgets.step_frame import DONE
from isca_gui.window.docks import VIEWERS
from isca_gui.window.palette import Palette
from tests.gui.conftest import SETTINGS, SPEC, fill, in_front, rest
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.window.main_window import MainWindow


def action_of(window: MainWindow, key: str) -> QAction:
    found = [
        action for action in window.findChildren(QAction) if action.shortcut().toString() == key
    ]
    assert len(found) == 1, f"{key} is the key of {len(found)} actions"
    return found[0]


def test_information_disappears_and_warnings_stay(qtbot: QtBot, window: MainWindow) -> None:
    status = window.status
    status._news.setInterval(50)
    window.session.say("info", "It was stopped.")
    assert status.message_label.text() == "It was stopped."
    qtbot.waitUntil(lambda: status.message_label.text() == "")
    window.session.say("info", "It was stopped.")
    window.session.say("warning", "The disk is full.")
    qtbot.wait(150)
    assert status.message_label.text() == "The disk is full."


def test_starts_with_a_sample_and_one_obvious_next_step(qtbot: QtBot, window: MainWindow) -> None:
    program.begin(window)
    qtbot.waitUntil(lambda: window.session.reference is not None)
    rest(qtbot, window)
    assert window.session.reference is not None
    assert window.session.reference.picture.shape == (512, 512)
    assert window.windowTitle() == "camera — ISCA Studio"
    primary = [button for button in window.findChildren(QPushButton) if button.property("primary")]
    assert [button.text() for button in primary] == ["Generate"]
    assert window.preferences.recent == ["sample:camera"]
    assert [message for message in window.session.messages if message.level != "info"] == []


def test_all_viewers_are_there_under_their_keys(window: MainWindow) -> None:
    for name, _, kind, title, key, _ in VIEWERS:
        widget = window.docks[name].widget()
        assert type(widget).__name__ == kind
        assert title == kind_title(widget)
        action_of(window, key).trigger()
        assert window.docks[name].isVisible()


def kind_title(widget: QWidget) -> str:
    return str(getattr(widget, "TITLE", ""))


def test_every_key_is_that_of_one_action(window: MainWindow) -> None:
    keys = ("Ctrl+O", "Ctrl+G", "Ctrl+T", "Esc", "Ctrl+R", "Ctrl+Z", "Ctrl+Shift+Z", "F1", "F11")
    for key in (*keys, "Ctrl+Q", "Ctrl+V"):
        assert action_of(window, key).text(), key


def test_the_first_training_of_the_next_project_is_shown_too(
    window: MainWindow, picture: NDArray[np.float32], small: Dataset, model: Model
) -> None:
    for _ in range(2):
        fill(window, picture, small, model, runs=0)
        window.show_viewer("messages")
        window.session.begin_run(SETTINGS)
        assert in_front(window, "convergence")
        window.session.set_work(SessionState(SPEC, SETTINGS))


def test_all_steps_by_keyboard(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32]
) -> None:
    window.session.set_reference(Reference("small", picture))
    action_of(window, "Ctrl+G").trigger()
    qtbot.waitUntil(lambda: window.session.dataset is not None)
    action_of(window, "Ctrl+T").trigger()
    qtbot.waitUntil(lambda: window.session.run is not None)
    action_of(window, "Ctrl+M").trigger()
    qtbot.waitUntil(lambda: window.session.test is not None)
    rest(qtbot, window)
    assert window.session.test is not None
    assert window.session.test.recognition is not None
    assert window.session.run is not None
    assert window.session.run.evaluation is not None
    assert [message.text for message in window.session.messages if message.level == "error"] == []
    for name, *_ in VIEWERS:
        window.show_viewer(name)
        rest(qtbot, window)


@pytest.mark.alone
def test_escape_stops_a_training_and_keeps_it(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32], small: object
) -> None:
    session = window.session
    session.set_reference(Reference("small", picture))
    session.set_dataset(small)
    session.set_settings(TrainingSettings(epochs=1_000_000))
    window.menu_actions.train()
    qtbot.waitUntil(
        lambda: session.live is not None and len(session.live.steps) > 2, timeout=60_000
    )
    start = time.perf_counter()
    action_of(window, "Esc").trigger()
    qtbot.waitUntil(lambda: session.run is not None, timeout=3000)
    assert time.perf_counter() - start < 1
    assert session.run is not None
    assert session.run.model.end == "stopped"
    rest(qtbot, window)


def test_a_second_training_does_not_throw_away_the_first(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32], small: object
) -> None:
    session = window.session
    session.set_reference(Reference("small", picture))
    session.set_dataset(small)
    session.set_settings(TrainingSettings(epochs=1_000_000))
    action_of(window, "Ctrl+T").trigger()
    first = session.live
    action_of(window, "Ctrl+T").trigger()
    assert session.live is first
    assert "in progress" in session.messages[-1].text


def typed(qtbot: QtBot, field: Any, text: str) -> None:
    """Type something and stay in the field."""
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)


def test_typed_text_is_committed_when_a_key_starts_a_job(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32], small: Dataset, model: Model
) -> None:
    fill(window, picture, small, model, runs=0)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    panel = window.dataset_panel
    typed(qtbot, window.training_panel.form.editors["epochs"], "7")
    action_of(window, "Ctrl+T").trigger()
    assert window.session.live is not None
    assert window.session.live.settings.epochs == 7
    rest(qtbot, window)
    panel.mode_box.setCurrentIndex(1)
    typed(qtbot, panel.list_edit, "50, 60")
    action_of(window, "Ctrl+G").trigger()
    assert window.session.spec.levels == (50.0, 60.0)
    rest(qtbot, window)
    made = window.session.dataset
    typed(qtbot, panel.list_edit, "much")
    action_of(window, "Ctrl+G").trigger()
    assert not window.jobs.running("dataset"), "as the button, which cannot be pressed"
    assert window.session.dataset is made
    assert window.session.messages[-1].text == panel.generate_button.toolTip()


def test_an_unreadable_model_does_not_mark_the_reference_as_failed(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32], tmp_path: Path
) -> None:
    window.session.set_reference(Reference("small", picture))
    (tmp_path / "bad.isca").write_bytes(b"bad")
    window.menu_actions.load_model(tmp_path / "bad.isca")
    rest(qtbot, window)
    assert window.session.messages[-1].level == "error"
    assert window.reference_panel.state == DONE


def test_the_status_bar_follows_panes_that_are_made_later(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32], small: Dataset, model: Model
) -> None:
    fill(window, picture, small, model)
    window.show_viewer("bases")
    rest(qtbot, window)
    bases: Any = window.docks["bases"].widget()
    bases.component.setCurrentText("all")
    rest(qtbot, window)
    assert len(bases.canvases) == 12
    for place, canvas in enumerate(bases.canvases.values()):
        canvas.point_at((9, place))
        assert (
            window.status.pixel_label.text() == f"x {place}  y 9  {canvas.layer.text_at(9, place)}"
        )


def test_undo_and_redo_from_the_menu(window: MainWindow) -> None:
    undo, redo = action_of(window, "Ctrl+Z"), action_of(window, "Ctrl+Shift+Z")
    assert not undo.isEnabled()
    window.dataset_panel.seed_box.setText("9")
    window.dataset_panel.seed_box.editingFinished.emit()
    undo.trigger()
    assert window.session.spec.seed == 0
    redo.trigger()
    assert window.session.spec.seed == 9


def test_undo_by_keys_right_after_an_edit(window: MainWindow, qtbot: QtBot) -> None:
    """A field that has the keyboard has nothing of its own to take back then."""
    window.activateWindow()
    seed, block = window.dataset_panel.seed_box, window.training_panel.form.editors["block"]
    control, both = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    seed.setFocus()
    qtbot.waitUntil(seed.hasFocus)
    seed.selectAll()
    qtbot.keyClicks(seed, "93")
    qtbot.keyClick(seed, Qt.Key.Key_Z, control)
    assert (seed.text(), window.session.spec.seed) == ("0", 0), "what is only typed is the field's"
    seed.selectAll()
    qtbot.keyClicks(seed, "93")
    qtbot.keyClick(seed, Qt.Key.Key_Return)
    assert window.session.spec.seed == 93
    qtbot.keyClick(seed, Qt.Key.Key_Z, control)
    assert (seed.text(), window.session.spec.seed) == ("0", 0)
    qtbot.keyClick(seed, Qt.Key.Key_Z, control | both)
    assert (seed.text(), window.session.spec.seed) == ("93", 93)
    before = window.session.settings.block
    block.setFocus()
    qtbot.waitUntil(block.hasFocus)
    qtbot.keyClick(block, Qt.Key.Key_Up)
    assert window.session.settings.block == before + 1
    qtbot.keyClick(block, Qt.Key.Key_Z, control)
    assert window.session.settings.block == before


def test_the_steps_do_not_scroll_away_from_the_user(
    qtbot: QtBot, window: MainWindow, small: Dataset, model: Model, picture: NDArray[np.float32]
) -> None:
    window.resize(1000, 500)
    session, bar = window.session, window.steps.verticalScrollBar()
    session.set_reference(Reference("small", picture))
    session.set_dataset(small, small.digest(), session.reference)
    session.add_model("m.isca", model)
    qtbot.waitUntil(lambda: bar.value() > 0)  # step 4 is next
    rest(qtbot, window)
    bar.setValue(0)
    session.replace_run(replace(session.run, name="renamed"))
    session.add_tested(Answered(1, "a.png", picture, None, 0))
    qtbot.wait(50)
    assert bar.value() == 0
    window.activateWindow()
    seed = window.dataset_panel.seed_box
    seed.setFocus()
    qtbot.waitUntil(seed.hasFocus)
    window.recognise_panel.mystery()
    rest(qtbot, window)
    qtbot.wait(50)
    assert bar.value() == 0, "somebody works in step 2"
    window.recognise_panel.make_button.setFocus()
    bar.setValue(0)
    window.recognise_panel.make_button.click()
    rest(qtbot, window)
    qtbot.waitUntil(lambda: bar.value() > 0)  # the answer is listed in step 4


def test_a_failed_job_is_a_message_and_a_badge(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    window.show_viewer("convergence")
    window.menu_actions.open_picture(tmp_path / "nothing.png")
    rest(qtbot, window)
    assert "nothing.png" in window.session.messages[-1].text
    assert window.docks["messages"].windowTitle() == "Messages (1)"
    window.show_viewer("messages")
    qtbot.waitUntil(lambda: window.docks["messages"].windowTitle() == "Messages")


def test_an_uncaught_exception_becomes_a_message(window: MainWindow, qtbot: QtBot) -> None:
    hooks = program.Hooks(window.session)
    try:
        sys.excepthook(ValueError, ValueError("surprise"), None)
        QApplication.processEvents()
        assert "surprise" in window.session.messages[-1].text
    finally:
        hooks.remove()


def test_dropped_files_go_where_they_belong(
    qtbot: QtBot, window: MainWindow, small: object, model: Model, tmp_path: Path
) -> None:
    paths = []
    for index in range(3):
        paths.append(tmp_path / f"{index}.png")
        image.save_png(paths[-1], small.pictures[index])

    def drop(*dropped: Path) -> None:
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path)) for path in dropped])
        how = (
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
        enter = QDragEnterEvent(QPoint(5, 5), *how)
        QApplication.sendEvent(window, enter)
        assert enter.isAccepted()
        QApplication.sendEvent(window, QDropEvent(QPointF(5, 5), *how))
        rest(qtbot, window)

    compared = window.session.comparisons
    drop(paths[0])
    assert window.session.reference is not None
    assert window.session.reference.name == "0.png"
    assert compared.original is not None
    assert compared.original.name == "0.png"
    drop(paths[1], paths[2])
    assert [copy.name for copy in compared.copies] == ["1.png", "2.png"]
    assert not any(copy.waiting for copy in compared.copies)
    assert in_front(window, "compare")
    window.session.set_dataset(small)
    window.menu_actions.save_dataset(tmp_path / "set")
    rest(qtbot, window)
    drop(tmp_path / "set")
    assert window.session.reference.name == "set (original)"
    for name in ("a.isca", "b.isca"):
        model_file.save_model(tmp_path / name, model)
    drop(tmp_path / "a.isca", paths[0], tmp_path / "b.isca")
    assert {run.name for run in window.session.runs} == {"a.isca", "b.isca"}
    assert [test.name for test in window.session.tested] == ["0.png"]
    drop(paths[1], paths[2])
    assert [test.name for test in window.session.tested] == ["0.png", "1.png", "2.png"]
    assert window.session.refused == ()


def test_a_picture_is_pasted(qtbot: QtBot, window: MainWindow) -> None:
    pasted = QImage(20, 10, QImage.Format.Format_RGB32)
    pasted.fill(0xFF0000FF)
    QApplication.clipboard().setImage(pasted)
    action_of(window, "Ctrl+V").trigger()
    rest(qtbot, window)
    assert window.session.reference is not None
    assert window.session.reference.picture.shape == (10, 20)
    assert np.allclose(window.session.reference.picture, 0.114, atol=1e-4)
    for wide, high, why in (
        (4, 90, "smaller than one block"),
        (16_400, 9, "the limits are 16384 pixels a side"),
    ):
        QApplication.clipboard().setImage(QImage(wide, high, QImage.Format.Format_RGB32))
        action_of(window, "Ctrl+V").trigger()
        rest(qtbot, window)
        assert why in window.session.messages[-1].text
        assert window.session.reference.picture.shape == (10, 20)
    QApplication.clipboard().setText("no picture")
    action_of(window, "Ctrl+V").trigger()
    assert "no picture on the clipboard" in window.session.messages[-1].text


@pytest.mark.parametrize(
    ("channels", "form"), [(3, QImage.Format.Format_RGB888), (4, QImage.Format.Format_RGBA8888)]
)
def test_grey_is_as_files_are_read(tmp_path: Path, channels: int, form: QImage.Format) -> None:
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (9, 13, channels), dtype=np.uint8)
    pasted = QImage(pixels.data, 13, 9, 13 * channels, form)
    pasted.save(str(tmp_path / "a.png"))
    assert np.abs(grey(pasted) - image.read(tmp_path / "a.png")).max() < 1e-6


def test_recent_files_and_theme_survive_a_crash(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    def kept() -> Preferences:
        rest(qtbot, window)  # what was asked for,
        rest(qtbot, window)  # and what is kept of it
        return Preferences(window.preferences.path)

    window.menu_actions.open_sample("camera")
    assert kept().recent == ["sample:camera"]
    first, second = (str(tmp_path / f"{name}.iscaproj") for name in ("one", "two"))
    window.projects._write(first)
    assert kept().recent_projects == [first]
    window.projects._write(second, copy=True)
    assert kept().recent_projects == [second, first]
    window.projects.open(first)
    assert kept().recent_projects == [first, second]
    window.choose_theme(theme.DARK)
    assert kept().theme == theme.DARK
    window.choose_theme(theme.LIGHT)
    window.choose_theme(theme.DARK)  # while the other is written
    window.choose_theme(theme.SYSTEM)
    assert kept().theme == theme.SYSTEM


def test_preferences_that_cannot_be_saved_cause_no_message(
    qtbot: QtBot, window: MainWindow
) -> None:
    window.preferences.path = window.preferences.path / "not a folder" / "p.json"
    window.preferences.path.parent.parent.write_text("")
    window.menu_actions.open_sample("camera")
    rest(qtbot, window)
    assert window.session.reference is not None
    assert [message for message in window.session.messages if message.level != "info"] == []


def test_window_settings_and_layout_are_restored(qtbot: QtBot, preferences: Preferences) -> None:
    first = program.make_window(preferences)
    qtbot.addWidget(first)
    first.show()
    first.showNormal()
    first.resize(1250, 700)
    first.docks["bases"].close()
    first.session.set_spec(DatasetSpec(("blur",), (10.0,), 3))
    first.session.set_settings(TrainingSettings(components=7))
    first.close()
    read = Preferences(preferences.path)
    second = program.make_window(read)
    qtbot.addWidget(second)
    second.show()
    assert second.height() == 700
    assert second.docks["bases"].isHidden()
    assert not second.docks["runs"].isHidden()
    assert second.session.spec == DatasetSpec(("blur",), (10.0,), 3)
    assert second.session.settings.components == 7
    assert not second.session.undo.canUndo(), "coming back is no edit"
    second.dock_manager.reset()
    assert not second.docks["bases"].isHidden()
    second.close()


@pytest.mark.parametrize("layout", ["AAAA", "!!!", "x" * 5000])
def test_a_broken_layout_does_not_stop_the_start(
    qtbot: QtBot, preferences: Preferences, layout: str
) -> None:
    preferences.layout = preferences.geometry = layout
    made = program.make_window(preferences)
    qtbot.addWidget(made)
    made.show()
    assert made.docks["pictures"].isVisible()
    made.close()


def test_light_and_dark(window: MainWindow) -> None:
    def lightness() -> int:
        return QApplication.palette().color(QPalette.ColorRole.Window).lightness()

    window.choose_theme(theme.DARK)
    assert lightness() < 60
    assert window.preferences.theme == theme.DARK
    window.choose_theme(theme.LIGHT)
    assert lightness() > 200


@pytest.mark.parametrize("name", [theme.LIGHT, theme.DARK])
def test_text_has_enough_contrast(name: str) -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(first: str, second: str) -> float:
        low, high = sorted((luminance(first), luminance(second)))
        return (high + 0.05) / (low + 0.05)

    s = theme.SHADES[name]
    for text in (s.text, s.faint, s.good, s.warning, s.error, s.accent):
        for ground in (s.window, s.base, s.raised):
            assert contrast(text, ground) >= 4.5, (text, ground)
    assert contrast(s.on_accent, s.accent) >= 4.5


def test_classes_have_colour_letter_and_pattern_of_their_own() -> None:
    styles = theme.CLASS_STYLES
    assert set(styles) == {ORIGINAL, theme.UNDECIDED, *(row.name for row in TABLE)}
    for part in ("colour", "letter", "pattern", "title"):
        assert len({getattr(style, part) for style in styles.values()}) == len(styles), part
    assert theme.class_style("blur+jpeg").letter == "B+J"
    assert theme.class_style("scratches") == theme.class_style("scratches")


def test_the_suffix_of_models_is_that_of_the_core() -> None:
    assert MODEL_SUFFIX == model_file.SUFFIX


def test_the_wheel_changes_only_the_focused_field(window: MainWindow, qtbot: QtBot) -> None:
    field = window.training_panel.form.editors["block"]

    def turn() -> None:
        centre = QPointF(field.rect().center())
        event = QWheelEvent(
            centre,
            field.mapToGlobal(centre),
            QPoint(),
            QPoint(0, -120),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(field, event)

    turn()
    assert window.session.settings == SETTINGS
    window.activateWindow()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    turn()
    assert window.session.settings.block == SETTINGS.block - 1


def test_resources_are_found() -> None:
    assert resources.find("icon.svg") is not None
    assert resources.find("nothing.svg") is None


_PARTS = ("QWidget", "QHeaderView", "QTabBar", "QMenuBar")  # of widgets that have a name


def test_every_focusable_widget_of_the_window_has_a_name(window: MainWindow) -> None:
    nameless = []
    for widget in window.findChildren(QWidget):
        kind = type(widget).__name__
        inside = (
            widget.objectName().startswith("qt_") or kind in _PARTS or widget.window() is not window
        )
        if (
            widget.focusPolicy() != Qt.FocusPolicy.NoFocus
            and not inside
            and not widget.accessibleName()
        ):
            nameless.append(widget)
    assert nameless == []


CLOSE = """
import sys, time
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from isca_gui import app
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.settings import TrainingSettings
when, method = sys.argv[1], sys.argv[2]

def later(ready, work):
    timer = QTimer(QApplication.instance())
    def look():
        if ready():
            timer.stop()
            work()
    timer.timeout.connect(look)
    timer.start(5)

def close(window):
    sys.stdout.write(repr(time.time()))
    window.close()

def drive(window):
    session, jobs, act = window.session, window.jobs, window.menu_actions
    spec = DatasetSpec(levels=(100.0, 500.0))
    session.restore(spec, TrainingSettings(method=method, kernel="rbf"))
    def trained():
        act.train()
        if when == "preparing": QTimer.singleShot(20, lambda: close(window))
        elif when == "training":
            later(lambda: session.live and len(session.live.steps) > 1, lambda: close(window))
        else: later(lambda: session.run, tested)
    def tested():
        for _ in range(20): act.mystery()
        QTimer.singleShot(60, lambda: close(window))
    def opened():
        act.generate()
        if when == "generating": QTimer.singleShot(100, lambda: close(window))
        else: later(lambda: session.dataset, trained)
    if when == "at once": close(window)
    elif when == "preview":
        def drag(value=[1]):
            value[0] += 20
            window.dataset_panel.preview.slider.setValue(value[0])
        timer = QTimer(window); timer.timeout.connect(drag); timer.start(5)
        QTimer.singleShot(400, lambda: close(window))
    else: later(lambda: session.reference, opened)

old = app.begin
def begin(window, path=None):
    old(window, path)
    drive(window)
app.begin = begin
sys.exit(app.main(["sample:coins"]))
"""


@pytest.mark.alone
@pytest.mark.parametrize(
    ("when", "method"),
    [
        ("at once", "isca"),
        ("preview", "isca"),
        ("generating", "isca"),
        ("preparing", "isca"),
        ("training", "isca"),
        ("preparing", "kernel-isca"),
        ("training", "kernel-isca"),
        ("preparing", "kernel-pca"),
        ("recognising", "random"),
    ],
)
def test_closing_in_the_middle_of_anything(tmp_path: Path, when: str, method: str) -> None:
    environment = os.environ | {"XDG_CONFIG_HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-c", CLOSE, when, method],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        cwd=ROOT,
    )
    ended = time.time()
    heard = [line for line in done.stderr.splitlines() if "propagateSizeHints" not in line]
    assert heard == []
    assert done.returncode == 0
    assert ended - float(done.stdout) < 1.0
    assert (tmp_path / "isca-studio" / "preferences.json").exists()


def test_the_palette_finds_samples_and_help_pages(qtbot: QtBot, window: MainWindow) -> None:
    """What is in no menu is found as well; the comparison comes first of all."""

    def palette() -> Palette:
        window.find_action()
        qtbot.waitUntil(lambda: isinstance(QApplication.activeModalWidget(), Palette))
        found = QApplication.activeModalWidget()
        assert isinstance(found, Palette)
        return found

    opened = palette()
    assert "Compare a copy with its original" in opened.list.item(0).text()
    qtbot.keyClicks(opened.line, "sample coins")
    qtbot.keyClick(opened.line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.session.reference is not None)
    assert window.session.reference is not None
    assert window.session.reference.name == "coins"
    opened = palette()
    qtbot.keyClicks(opened.line, "page distortions")
    qtbot.keyClick(opened.line, Qt.Key.Key_Return)
    assert in_front(window, "help")
    rest(qtbot, window)


def test_about_names_version_and_folders(qtbot: QtBot, window: MainWindow) -> None:
    window.about()
    box = window.findChild(QMessageBox, "about")
    assert box is not None
    assert isca_gui.__version__ in box.text()
    assert "Preferences: " in box.text()
    box.close()
