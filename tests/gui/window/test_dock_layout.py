"""A saved layout of the docks is restored exactly; an altered text is rejected as a whole."""

from __future__ import annotations

import base64
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt

from isca_gui.window import dock_layout
from isca_gui.window.dock_layout import Layout, Split, Tabs, alike, from_text, to_text
from isca_gui.window.docks import AREAS, VIEWERS
from tests.gui.conftest import still

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytestqt.qtbot import QtBot

    from isca_gui.window.main_window import MainWindow

    Numbers = tuple[float, ...]

NAMES = ("steps", *(name for name, *_ in VIEWERS), "help")
# The docks that are moved at random. Qt does not give every arrangement back its heights where an
# area at the bottom was made very low; these moves make none of those.
MOVED = tuple(name for name in NAMES if name not in ("steps", "compare"))
FIRST = Layout(
    {
        "left": Tabs(("steps",), "steps"),
        "right": Split(
            True,
            (
                Tabs(("pictures", "bases"), "bases"),
                Split(False, (Tabs(("runs",), "runs"), Tabs(("help",), "help")), (0.4, 0.6)),
            ),
            (0.7, 0.3),
        ),
    },
    {"left": 0.3, "right": 0.7},
    {"confusion": (30, 40, 500, 300)},
)


def document(layout: Layout = FIRST) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.b64decode(to_text(layout)))
    return found


def text(found: object) -> str:
    return base64.b64encode(json.dumps(found).encode()).decode()


def shuffle_docks(window: MainWindow, dice: random.Random) -> None:
    """Move docks as a user does."""
    ways = (Qt.Orientation.Horizontal, Qt.Orientation.Vertical)
    for _ in range(4):
        one, other = dice.sample([window.docks[name] for name in MOVED], 2)
        match dice.randrange(5):
            case 0:
                window.tabifyDockWidget(one, other)
            case 1:  # a dock that is a tab must not be split: no mouse does, and Qt loses it
                window.addDockWidget(dice.choice(list(AREAS.values())), one)
                window.splitDockWidget(one, other, dice.choice(ways))
            case 2:
                one.setFloating(not one.isFloating())
            case 3:
                one.setVisible(one.isHidden())
            case _:
                window.addDockWidget(dice.choice(list(AREAS.values())), one)


def places(window: MainWindow) -> dict[str, str | Numbers]:
    """Return which docks are closed, floating or behind others, and where the rest are."""
    found: dict[str, str | Numbers] = {}
    for name, dock in window.docks.items():
        place = dock.geometry()
        if dock.isHidden() or dock.isFloating():
            found[name] = "closed" if dock.isHidden() else "floating"
        elif not place.intersects(window.rect()):
            found[name] = "behind another"
        else:
            whole = (window.width(), window.height()) * 2
            sides = place.x(), place.y(), place.width(), place.height()
            found[name] = tuple(side / all_ for side, all_ in zip(sides, whole, strict=True))
    return found


def assert_same_places(one: dict[str, str | Numbers], other: dict[str, str | Numbers]) -> None:
    for name, where in one.items():
        assert other[name] == (
            where if isinstance(where, str) else pytest.approx(where, abs=0.05)
        ), name


@pytest.mark.parametrize("seed", range(4))
def test_any_layout_is_restored(qtbot: QtBot, window: MainWindow, seed: int) -> None:
    dice = random.Random(seed)
    window.showNormal()
    window.resize(2000, 1400)  # so large that all docks have the room they need
    still(qtbot, window)
    for _ in range(4):
        shuffle_docks(window, dice)
        still(qtbot, window)
        kept, before = window.dock_manager.to_text(), places(window)
        assert from_text(kept, NAMES) is not None
        window.dock_manager.reset()
        still(qtbot, window)
        assert not window.docks["pictures"].isHidden()
        window.dock_manager.restore(kept)
        still(qtbot, window)
        assert_same_places(places(window), before)
        assert window.dock_manager.to_text() == kept, "and is written in the same bytes"


def test_sizes_are_restored(qtbot: QtBot, window: MainWindow) -> None:
    window.showNormal()
    window.resize(1400, 900)
    still(qtbot, window)
    pictures, lower = window.docks["pictures"], window.docks["convergence"]
    window.resizeDocks([pictures, lower], [400, 500], Qt.Orientation.Vertical)
    still(qtbot, window)
    kept, before = window.dock_manager.to_text(), (pictures.height(), lower.height())
    window.dock_manager.reset()
    still(qtbot, window)
    assert abs(lower.height() - before[1]) > 50
    window.dock_manager.restore(kept)
    still(qtbot, window)
    assert (pictures.height(), lower.height()) == pytest.approx(before, abs=3)


def test_a_layout_that_does_not_fit_is_kept_at_any_moment(qtbot: QtBot, window: MainWindow) -> None:
    window.showNormal()
    window.resize(700, 600)
    still(qtbot, window)
    areas = {
        "left": Tabs(("steps",), "steps"),
        "right": Tabs(("pictures", "comparison"), "comparison"),
    }
    wide = to_text(Layout(areas, {"left": 0.05, "right": 0.95}, {}))
    window.dock_manager.restore(wide)
    for _ in range(20):  # before the room is shared out, and after
        assert window.dock_manager.to_text() == wide
        qtbot.wait(20)
    assert window.docks["steps"].width() > 0.1 * window.width(), "it did not fit"


@pytest.mark.parametrize(
    "change",
    [
        lambda docks: docks["bases"].close(),
        lambda docks: docks["help"].show(),
        lambda docks: docks["runs"].setFloating(True),
    ],
    ids=["closed", "opened", "afloat"],
)
def test_changes_while_the_docks_settle_are_kept(
    qtbot: QtBot, window: MainWindow, change: Any
) -> None:
    window.dock_manager.reset()
    assert window.dock_manager.settling
    change(window.docks)
    at_once = window.dock_manager.to_text()
    qtbot.waitUntil(lambda: not window.dock_manager.settling)
    found, wanted = (
        from_text(text, tuple(window.docks)) for text in (at_once, window.dock_manager.to_text())
    )
    assert alike(found, wanted)


def test_a_layout_saved_at_once_equals_the_settled_one(
    qtbot: QtBot, open_window: Callable[[], MainWindow]
) -> None:
    window = open_window()
    window.dock_manager._settle.start(60_000)  # it has its size, and the room is not shared out yet
    qtbot.waitUntil(lambda: window.width() > 0.95 * window.screen().size().width())
    at_once = window.dock_manager.to_text()
    assert window.dock_manager.settling
    window.dock_manager._settle.start(0)
    qtbot.waitUntil(lambda: not window.dock_manager.settling)
    assert window.dock_manager.to_text() == at_once


def test_the_steps_take_no_more_than_they_need_at_first(qtbot: QtBot, window: MainWindow) -> None:
    window.showNormal()
    window.resize(1280, 800)
    still(qtbot, window)
    window.show_viewer("start")  # as at the very first start
    window.dock_manager.reset()
    still(qtbot, window)
    assert 350 <= window.docks["steps"].width() <= 400
    assert 225 <= window.docks["convergence"].height() <= 330


@pytest.mark.parametrize("change", [
    lambda d: d["areas"].pop("left"),  # the steps are nowhere
    lambda d: d["areas"].update(middle={"tabs": ["runs"], "front": "runs"}),
    lambda d: d["areas"].update(top={"tabs": ["nothing"], "front": "nothing"}),
    lambda d: d["areas"].update(top={"tabs": ["pictures"], "front": "pictures"}),  # at two places
    lambda d: d["areas"]["left"].update(front="runs"),
    lambda d: d["areas"]["left"].update(tabs=7),
    lambda d: d["areas"]["right"].update(parts=[], shares=[]),
    lambda d: d["areas"]["right"].update(shares=[0.5]),
    lambda d: d["areas"]["right"].update(shares=[0.5, float("nan")]),
    lambda d: d["areas"]["right"].update(shares=[0.5, -1]),
    lambda d: d["areas"]["right"].update(down="yes"),
    lambda d: d["spans"].pop("right"),
    lambda d: d["spans"].update(right=1e300),
    lambda d: d["floating"].update(confusion=[0, 0, 10**9, 10]),
    lambda d: d["floating"].update(confusion=[0, 0, 0, 10]),
    lambda d: d["floating"].update(confusion=[1, 2]),
    lambda d: d["floating"].update(steps=[1, 2, 3, 4]),
    lambda d: d.pop("floating"),
    lambda d: d.update(areas=[]),
])  # fmt: skip
def test_an_invalid_layout_is_rejected(change: Any) -> None:
    found = document()
    assert from_text(text(found), NAMES) == FIRST
    change(found)
    assert from_text(text(found), NAMES) is None


@given(st.text() | st.binary().map(lambda b: base64.b64encode(b).decode()))
def test_any_other_text_is_rejected(wrong: str) -> None:
    assert from_text(wrong, NAMES) is None


def test_depth_and_length_are_bounded() -> None:
    deep = b'{"areas":{"left":' + b'{"parts":[' * 5000
    assert from_text(base64.b64encode(deep).decode(), NAMES) is None
    assert from_text(text(document() | {"more": "x" * 100_000}), NAMES) is None


def test_a_wrong_layout_changes_nothing(qtbot: QtBot, window: MainWindow) -> None:
    still(qtbot, window)
    before = places(window)
    window.dock_manager.restore(text({"areas": {}}))
    assert_same_places(places(window), before)


@pytest.mark.parametrize(
    ("name", "beside"), [("comparison", "pictures"), ("help", "pictures"), ("runs", "messages")]
)
def test_a_closed_dock_reopens_beside_its_neighbours(
    qtbot: QtBot, window: MainWindow, name: str, beside: str
) -> None:
    window.docks[name].close()
    still(qtbot, window)
    window.dock_manager.restore(window.dock_manager.to_text())
    window.show_viewer(name)
    still(qtbot, window)
    assert window.docks[beside] in window.tabifiedDockWidgets(window.docks[name])


def test_a_dock_off_the_screen_is_moved_onto_it(qtbot: QtBot, window: MainWindow) -> None:
    found = document()
    found["floating"]["confusion"] = [90_000, -90_000, 300, 200]
    window.dock_manager.restore(text(found))
    still(qtbot, window)
    dock = window.docks["confusion"]
    assert dock.isFloating()
    assert window.screen().availableGeometry().contains(dock.geometry().center())


def test_a_difference_of_a_pixel_does_not_count() -> None:
    other = Layout(FIRST.areas, {"left": 0.301, "right": 0.699}, FIRST.floating)
    assert dock_layout.alike(FIRST, other)
    assert not dock_layout.alike(
        FIRST, Layout(FIRST.areas, {"left": 0.4, "right": 0.6}, FIRST.floating)
    )
