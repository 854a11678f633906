"""View settings belong to the project: they are restored, and nonsense is ignored."""

from __future__ import annotations

import json
import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from isca_gui.core.distortion import dataset, strength_search
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.progress import run
from isca_gui.projects.manager import SUFFIX
from isca_gui.session.records import Reference, Truth
from isca_gui.viewers.view_settings import ViewSetting, ViewSettings
from tests.gui.conftest import SETTINGS, click_heading, fill, rest, still

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.window.main_window import MainWindow

VIEWERS = (
    "pictures",
    "bases",
    "reconstruction",
    "vote_map",
    "confusion",
    "comparison",
    "convergence",
    "runs",
)


def widget(window: MainWindow, name: str) -> Any:
    return window.docks[name].widget()


def look_at_all(qtbot: QtBot, window: MainWindow) -> None:
    for name in VIEWERS:
        window.show_viewer(name)
        rest(qtbot, window)


def zoom_in(canvas: Any) -> None:
    QTest.keyClick(canvas, Qt.Key.Key_2)
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    assert not canvas.view.fitted


def turn_wheel(qtbot: QtBot, window: MainWindow) -> None:
    """Zoom into the middle of the curves."""
    window.show_viewer("convergence")
    rest(qtbot, window)
    port = widget(window, "convergence").plot.viewport()
    place = QPointF(port.rect().center())
    turn = QWheelEvent(
        place,
        QPointF(port.mapToGlobal(place.toPoint())),
        QPoint(),
        QPoint(0, 360),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(port, turn)


def change_everything(qtbot: QtBot, window: MainWindow) -> None:
    """Use every control, with mouse and keyboard where a person would."""
    look_at_all(qtbot, window)
    pictures = widget(window, "pictures")
    pictures.modes["difference"].click()
    pictures.choose(3)
    pictures._pin.click()
    pictures.choose(2, 4)
    pictures.left.set_divider(0.3)
    bases = widget(window, "bases")
    bases.component.setCurrentIndex(2)
    bases.colours.setCurrentIndex(1)
    bases.shared.click()
    reconstruction = widget(window, "reconstruction")
    reconstruction.source.setCurrentIndex(3)
    reconstruction.slider.setValue(2)
    votes = widget(window, "vote_map")
    votes.maps["severity"].click()
    votes.opacity.setValue(35)
    widget(window, "confusion").every.click()
    for name, column, times in (("comparison", 6, 1), ("runs", 6, 2)):
        window.show_viewer(name)
        for _ in range(times):
            click_heading(widget(window, name), column)
    widget(window, "convergence").boxes["primal"].click()
    turn_wheel(qtbot, window)
    rest(qtbot, window)
    for canvas in (pictures.left, bases._first, reconstruction.canvases["Original"], votes.canvas):
        zoom_in(canvas)
    look_at_all(qtbot, window)


@pytest.fixture
def changed(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32], small: Dataset, model: Model
) -> MainWindow:
    fill(window, picture, small, model)
    window.menu_actions.evaluate(1)
    window.menu_actions.recognise_picture(
        "blurred", strength_search.distort(picture, "blur", 250.0, 1).picture, Truth(("blur",))
    )
    rest(qtbot, window)
    change_everything(qtbot, window)
    return window


def shown_settings(window: MainWindow) -> dict[str, Any]:
    return {name: widget(window, name).view_settings.values() for name in VIEWERS}


def save(qtbot: QtBot, window: MainWindow, path: Path) -> bytes:
    still(qtbot, window)
    window.projects._write(str(path))
    rest(qtbot, window)
    return path.read_bytes()


def test_view_settings_are_restored(
    qtbot: QtBot, changed: MainWindow, tmp_path: Path, open_window: Callable[[], MainWindow]
) -> None:
    path = tmp_path / f"all{SUFFIX}"
    before = shown_settings(changed)
    written = save(qtbot, changed, path)
    changed.close()
    other = open_window()
    assert shown_settings(other) != before
    other.projects.open(path)
    rest(qtbot, other)
    assert save(qtbot, other, path) == written, "with most viewers not seen yet"
    look_at_all(qtbot, other)
    assert shown_settings(other) == before
    assert save(qtbot, other, path) == written, "the layout is that of the project again"
    pictures, votes, bases = (widget(other, name) for name in ("pictures", "vote_map", "bases"))
    assert (pictures.mode, pictures.shown.base, pictures.shown.others) == ("difference", 3, (2, 4))
    assert pictures._pin.isChecked()
    assert {pane.divider for pane in pictures.panes.panes} == {0.3}
    assert before["comparison"]["order"] == ["Seconds", False]
    assert before["runs"]["order"] == ["Objective", True]
    assert (votes.kind, votes.canvas._opacity) == ("severity", 0.35)
    assert [bases._drawing.components, bases.shared.isChecked()] == [(2,), False]
    assert widget(other, "reconstruction").result.components == 2
    assert widget(other, "confusion").shown_runs()
    convergence = widget(other, "convergence")
    assert not convergence.boxes["primal"].isChecked()
    epochs = convergence.plot.plotItem.vb.viewRange()[0]
    assert epochs == before["convergence"]["part"][:2]
    assert epochs[1] - epochs[0] < 5, "less than all epochs"
    for name, canvas in (
        ("pictures", pictures.left),
        ("vote_map", votes.canvas),
        ("bases", bases._first),
    ):
        assert [canvas.zoom(), canvas.view.x, canvas.view.y] == before[name]["view"][:3]


def test_the_visible_part_is_restored_after_a_picture_of_another_size(
    qtbot: QtBot, changed: MainWindow, picture: NDArray[np.float32], tmp_path: Path
) -> None:
    path = tmp_path / f"all{SUFFIX}"
    save(qtbot, changed, path)
    canvas = widget(changed, "pictures").left
    before = canvas.view.zoom, canvas.view.x, canvas.view.y
    smaller = np.ascontiguousarray(picture[:32, :40])
    changed.session.set_reference(Reference("smaller", smaller))
    made = run(dataset.generate(smaller, DatasetSpec(kinds=("blur",), levels=(100.0,))))
    changed.session.set_dataset(made, made.digest())
    changed.show_viewer("pictures")
    rest(qtbot, changed)
    assert canvas.layer.size == (40, 32)
    assert canvas.view.fitted, "a picture of another size is shown whole"
    changed.projects._load(str(path), changed.projects._request(None))
    rest(qtbot, changed)
    changed.show_viewer("pictures")
    rest(qtbot, changed)
    assert canvas.layer.size == (64, 64)
    assert (canvas.view.zoom, canvas.view.x, canvas.view.y) == before


NONSENSE: list[Any] = [
    None, True, 0, -1, 3, 10**30, 10**400, 0.25, 1.0, -0.0, 1.01, 1.5, math.nan,
    "", "x", {}, {"x": 1}, [], ["x"], [10**30], [None],
    [1, 0, 0, 1], [0, 1e-320, 0, 1], [0, math.nan, 0, 1], [0, 2, -1, 0.5], [-(10**400), 2, -1, 0.5],
    ["Name", True], ["Name", 1], ["Seconds", None], ["x", True], ["Name"],
    ["x", 10**400], ["all", -1], ["", 0], ["all"], ["Reference", True],
    [1.0, 2.0, 3.0], [1, 1, 1, 10**30, 1], [1, 1, 1, 2.5, 3], [math.inf, 1, 1, 9, 9],
    [1, 99, 1, 9, 9], [1, 10**400, 1, 9, 9], [1, 1, math.nan, 9, 9], [True, 1, 1, 9, 9],
    [[1], 1, 1, 9, 9], ["1", 1, 1, 9, 9], [0.0, 1, 1, 9, 9],
]  # fmt: skip


def test_nonsense_changes_nothing(qtbot: QtBot, changed: MainWindow) -> None:
    kept = {name: widget(changed, name).view_settings._settings for name in VIEWERS}
    assert all(kept.values())
    for key, each in (pair for every in kept.values() for pair in every.items()):
        for value in NONSENSE:
            before = each.read()
            each.write(value)
            after = each.read()
            some = (
                key == "chosen"
                and isinstance(value, list)
                and all(number in value for number in after)
            )
            assert after == before or after == value or some, (key, value, after)
            json.dumps(after, allow_nan=False)
    rest(qtbot, changed)
    assert [each.text for each in changed.session.messages if each.level == "error"] == []


@pytest.mark.parametrize(
    "view", [{}, {"viewers": 3}, {"viewers": {"vote_map": [], "bases": {"view": "x"}}}]
)
def test_a_project_without_view_settings_opens(
    qtbot: QtBot, changed: MainWindow, tmp_path: Path, view: dict[str, Any]
) -> None:
    path = tmp_path / f"all{SUFFIX}"
    document = json.loads(save(qtbot, changed, path))
    before = shown_settings(changed)
    path.write_text(json.dumps(document | {"view": view}))
    changed.projects._load(str(path), changed.projects._request(None))
    rest(qtbot, changed)
    look_at_all(qtbot, changed)
    assert [each.text for each in changed.session.messages if each.level == "error"] == []
    after = {name: widget(changed, name).view_settings for name in VIEWERS}
    now = {
        name: {key: each.read() for key, each in after[name]._settings.items()} for name in VIEWERS
    }
    for name in ("vote_map", "confusion", "comparison", "convergence", "runs"):
        assert now[name] == before[name], "they stay as they are"
    assert (
        json.loads(save(qtbot, changed, path))["view"]["viewers"]["confusion"]
        == before["confusion"]
    )


def test_a_new_project_does_not_take_over_view_settings(
    qtbot: QtBot, changed: MainWindow, tmp_path: Path
) -> None:
    path = tmp_path / f"all{SUFFIX}"
    changed.docks["reconstruction"].close()
    save(qtbot, changed, path)
    changed.projects._load(str(path), changed.projects._request(None))
    rest(qtbot, changed)
    reconstruction = widget(changed, "reconstruction")
    reconstruction.slider.setValue(3)
    assert reconstruction.view_settings.values()["components"] == 2, (
        "as the project has it: it is not seen"
    )
    changed.projects._begin_new()
    assert reconstruction.view_settings.values()["components"] == 3


def test_all_runs_are_restored_where_the_selected_one_was_not_evaluated(
    qtbot: QtBot,
    changed: MainWindow,
    model: Model,
    tmp_path: Path,
    open_window: Callable[[], MainWindow],
) -> None:
    changed.session.begin_run(SETTINGS)
    changed.session.end_run(model)
    assert changed.session.run.evaluation is None
    assert widget(changed, "confusion").shown_runs()
    path = tmp_path / f"all{SUFFIX}"
    save(qtbot, changed, path)
    changed.close()
    other = open_window()
    other.projects.open(path)
    rest(qtbot, other)
    other.show_viewer("confusion")
    rest(qtbot, other)
    assert not widget(other, "confusion").empty
    assert [run.number for run in widget(other, "confusion").shown_runs()] == [1]


def test_a_late_drawing_of_the_old_project_is_dropped(
    qtbot: QtBot, changed: MainWindow, picture: NDArray[np.float32], tmp_path: Path
) -> None:
    path = tmp_path / f"all{SUFFIX}"
    save(qtbot, changed, path)
    pictures = widget(changed, "pictures")
    before = pictures.view_settings.values()["view"]
    smaller = np.ascontiguousarray(picture[:32, :40])
    made = run(dataset.generate(smaller, DatasetSpec(kinds=("blur",), levels=(100.0,))))
    changed.session.set_reference(Reference("smaller", smaller))
    changed.session.set_dataset(made, made.digest())
    changed.show_viewer("pictures")
    rest(qtbot, changed)
    go_on = threading.Event()
    late: list[object] = []
    pictures._latest.submit(lambda: go_on.wait(20), late.append)
    changed.projects._load(str(path), changed.projects._request(None))
    qtbot.waitUntil(lambda: pictures._dataset is changed.session.dataset is not made)
    go_on.set()
    rest(qtbot, changed)
    assert late == []
    assert pictures.left.layer.size == (64, 64)
    assert pictures.view_settings.values()["view"] == before
    assert not pictures.left.view.fitted


def test_of_two_pictures_with_one_name_the_chosen_one_stays(
    qtbot: QtBot, changed: MainWindow, picture: NDArray[np.float32], tmp_path: Path
) -> None:
    for seed in (1, 2):
        made = strength_search.distort(picture, "gaussian-noise", 100.0, seed).picture
        changed.menu_actions.recognise_picture("twice", made)
    rest(qtbot, changed)
    changed.show_viewer("reconstruction")
    source = widget(changed, "reconstruction").source
    source.setCurrentIndex(source.count() - 1)
    assert [source.itemText(place) for place in range(source.count())][-2:] == ["Test: twice"] * 2
    widget(changed, "reconstruction").mark_dirty()
    assert source.currentIndex() == source.count() - 1
    path = tmp_path / f"all{SUFFIX}"
    save(qtbot, changed, path)
    source.setCurrentIndex(0)
    changed.projects._load(str(path), changed.projects._request(None))
    rest(qtbot, changed)
    changed.show_viewer("reconstruction")
    rest(qtbot, changed)
    assert source.currentIndex() == source.count() - 1


def test_blinking_stops_behind_another_tab(qtbot: QtBot, changed: MainWindow) -> None:
    pictures = widget(changed, "pictures")
    changed.show_viewer("pictures")
    pictures.modes["blink"].click()
    assert pictures._blink.isActive()
    changed.show_viewer("bases")
    rest(qtbot, changed)
    assert not pictures._blink.isActive()
    pictures.set_mode("side")
    pictures.set_mode("blink")
    assert not pictures._blink.isActive()
    changed.show_viewer("pictures")
    rest(qtbot, changed)
    assert pictures._blink.isActive()


def test_requested_values_are_saved_until_the_user_changes_something() -> None:
    shown = {"a": 1}
    settings = ViewSettings()
    settings.register(
        a=ViewSetting(lambda: shown["a"], lambda value: shown.update(a=min(value, 5)))
    )
    assert settings.values() == {"a": 1}
    settings.request({"a": 9, "later": "unknown"})
    assert settings.values() == {"a": 9, "later": "unknown"}
    assert shown == {"a": 1}, "there is nothing to see yet"
    settings.apply_request()
    assert shown == {"a": 5}
    assert settings.values() == {"a": 9, "later": "unknown"}
    shown["a"] = 4
    settings.apply_request()
    assert settings.values() == {"a": 4}


@pytest.mark.parametrize("descending", [False, True])
def test_an_order_saved_under_a_former_title_is_restored(
    qtbot: QtBot, changed: MainWindow, descending: bool
) -> None:
    changed.show_viewer("runs")
    rest(qtbot, changed)
    settings = widget(changed, "runs").view_settings
    settings.request({"order": ["Leave one out", descending]})
    settings.apply_request()
    assert settings._settings["order"].read() == ["Leave-one-out accuracy", descending]
