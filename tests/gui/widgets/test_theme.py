"""Light and dark: every widget follows, and quickly."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QVBoxLayout, QWidget

from isca_gui.panels.training import TrainingPanel
from isca_gui.viewers.messages import MessagesViewer
from isca_gui.viewers.viewer import ChoiceButton
from isca_gui.widgets import theme
from isca_gui.widgets.step_frame import button, faint_label, set_property

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from tests.gui.conftest import Studio

SLOWEST = 0.05  # seconds of the window's thread


class Gallery(QWidget):
    """One of each sort of widget that the style sheet speaks of."""

    def __init__(self) -> None:
        super().__init__()
        self.push, self.primary = button("Push", "x", print), button("Next", "x", print)
        set_property(self.primary, "primary", True)
        self.choice = ChoiceButton("Swipe", "x", self)
        self.plain, self.faint, self.good = QLabel("plain"), faint_label("faint"), QLabel("good")
        set_property(self.good, "state", "done")
        self.bad, self.field = QLabel("bad"), QLineEdit("12")
        set_property(self.bad, "level", "error")
        layout = QVBoxLayout(self)
        for widget in (
            self.push,
            self.primary,
            self.choice,
            self.plain,
            self.faint,
            self.good,
            self.bad,
            self.field,
        ):
            layout.addWidget(widget)


def colours(widget: QWidget) -> set[str]:
    image = widget.grab().toImage()
    return {
        image.pixelColor(x, y).name().upper()
        for x in range(image.width())
        for y in range(image.height())
    }


def text_colour(widget: QWidget) -> str:
    return widget.palette().color(widget.foregroundRole()).name().upper()


@pytest.fixture
def gallery(qtbot: QtBot, qapp: QApplication) -> Gallery:
    theme.apply(theme.LIGHT)
    made = Gallery()
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.mark.parametrize(
    "path", [(theme.DARK,), (theme.DARK, theme.LIGHT), (theme.DARK, theme.LIGHT) * 2]
)
def test_every_sort_of_widget_follows_the_theme(
    qtbot: QtBot, gallery: Gallery, path: tuple[str, ...]
) -> None:
    for name in path:
        theme.apply(name)
        qtbot.wait(20)
    s = theme.SHADES[path[-1]]
    assert {s.button, s.border} <= colours(gallery.push)
    assert s.accent in colours(gallery.primary)
    assert s.button in colours(gallery.choice)
    assert s.base in colours(gallery.field)
    assert s.window in colours(gallery)
    expected = {
        gallery.plain: s.text,
        gallery.faint: s.faint,
        gallery.good: s.good,
        gallery.bad: s.error,
    }
    assert {label: text_colour(label) for label in expected} == expected
    theme.apply(theme.LIGHT)
    qtbot.wait(20)


def test_what_was_hidden_has_followed_when_it_is_shown(qtbot: QtBot, gallery: Gallery) -> None:
    gallery.push.hide()
    theme.apply(theme.DARK)
    qtbot.wait(50)
    gallery.push.show()
    assert theme.SHADES[theme.DARK].button in colours(gallery.push)
    theme.apply(theme.LIGHT)
    qtbot.wait(20)


def test_fields_in_a_step_keep_their_own_background(qtbot: QtBot, studio: Studio) -> None:
    panel = TrainingPanel(studio.session, studio.jobs, studio.actions)
    qtbot.addWidget(panel)
    panel.show()
    for name in (theme.DARK, theme.LIGHT):
        theme.apply(name)
        qtbot.wait(20)
        s = theme.SHADES[name]
        assert panel.form.editors["rho"].palette().color(QPalette.ColorRole.Base) == QColor(s.base)
        assert s.raised in colours(panel)


def test_errors_in_the_list_of_messages_take_the_new_colour(qtbot: QtBot, studio: Studio) -> None:
    studio.session.say("error", "Something failed.")
    viewer = MessagesViewer(studio.session, studio.jobs, studio.actions)
    qtbot.addWidget(viewer)
    viewer.show()
    theme.apply(theme.DARK)
    qtbot.wait(20)
    item = viewer.list.topLevelItem(0)
    assert item is not None
    assert item.foreground(1).color() == QColor(theme.SHADES[theme.DARK].error)
    theme.apply(theme.LIGHT)
    qtbot.wait(20)


@pytest.mark.alone
def test_a_change_does_not_hold_up_the_window(qtbot: QtBot, qapp: QApplication) -> None:
    theme.apply(theme.LIGHT)
    many = [Gallery() for _ in range(30)]  # about as many widgets as the real window sees at once
    whole = QWidget()
    layout = QVBoxLayout(whole)
    for each in many:
        layout.addWidget(each)
    qtbot.addWidget(whole)
    whole.show()
    took = []
    for name in (theme.DARK, theme.LIGHT) * 3:
        begin = time.perf_counter()
        theme.apply(name)
        took.append(time.perf_counter() - begin)
        qtbot.wait(100)
    assert min(took) < SLOWEST, took
