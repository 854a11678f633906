"""The canvas: exact pixels, zoom, linked views, divider, overlay, click and hover."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QFocusEvent, QImage, QWheelEvent
from PySide6.QtWidgets import QApplication

from isca_gui.core.pictures.blocks import Rectangle
from isca_gui.viewers.canvas import layers
from isca_gui.viewers.canvas.canvas import PictureCanvas
from isca_gui.widgets import theme
from isca_gui.window.status_bar import StatusBar

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytestqt.qtbot import QtBot

    from tests.gui.conftest import Studio


@pytest.fixture
def canvas(qtbot: QtBot, picture: NDArray[np.float32]) -> PictureCanvas:
    made = PictureCanvas("test")
    qtbot.addWidget(made)
    made.resize(300, 200)
    made.set_picture(picture)
    made.show()
    return made


def shown(canvas: PictureCanvas) -> NDArray[np.uint8]:
    """Return the red channel of what is on the screen, without the frame of the keyboard focus."""
    # The window system gives the focus at a time of its own choosing.
    canvas.clearFocus()
    image = canvas.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    # A copy, because the bits belong to the image.
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3)[..., 0].copy()


def expected(picture: NDArray[np.float32]) -> NDArray[np.uint8]:
    return np.rint(255 * picture).astype(np.uint8)


@pytest.mark.parametrize("zoom", [1, 2])
def test_one_to_one_and_two_to_one_show_every_pixel_exactly(
    canvas: PictureCanvas, picture: NDArray[np.float32], zoom: int
) -> None:
    canvas.set_zoom(float(zoom))
    target = canvas.target()
    top = int(target.top())
    left = int(target.left())
    assert (target.top(), target.left()) == (top, left)
    large = np.kron(expected(picture), np.ones((zoom, zoom), np.uint8))
    seen = shown(canvas)[max(top, 0) : top + 64 * zoom, left : left + 64 * zoom]
    np.testing.assert_array_equal(seen, large[: seen.shape[0], : seen.shape[1]])


def test_the_background_is_the_same_grey_in_both_themes(canvas: PictureCanvas) -> None:
    grey = QColor(theme.PICTURE_GREY).red()
    for name in (theme.LIGHT, theme.DARK):
        canvas.setPalette(theme.palette(name))
        assert shown(canvas)[2, 2] == grey


def test_fit_shows_the_whole_picture_and_follows_the_size(
    qtbot: QtBot, canvas: PictureCanvas
) -> None:
    canvas.set_zoom(8.0)
    qtbot.keyClick(canvas, Qt.Key.Key_F)
    assert canvas.zoom() == pytest.approx(200 / 64)
    canvas.resize(128, 200)
    assert canvas.zoom() == pytest.approx(2.0)


def test_keys_set_exact_zooms(qtbot: QtBot, canvas: PictureCanvas) -> None:
    qtbot.keyClick(canvas, Qt.Key.Key_2)
    assert canvas.zoom() == 2.0
    qtbot.keyClick(canvas, Qt.Key.Key_1)
    assert canvas.zoom() == 1.0
    qtbot.keyClick(canvas, Qt.Key.Key_Plus)
    assert canvas.zoom() > 1.0


def wheel(canvas: PictureCanvas, place: QPointF, turns: int, sideways: int = 0) -> None:
    turned = QPoint(120 * sideways, 120 * turns)
    event = QWheelEvent(
        place, canvas.mapToGlobal(place), QPoint(), turned, Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    canvas.wheelEvent(event)


@pytest.mark.parametrize("sideways", [0, 1, -2])
def test_a_wheel_that_is_not_turned_leaves_the_picture_fitted(
    canvas: PictureCanvas, sideways: int
) -> None:
    canvas.fit()
    wheel(canvas, QPointF(5, 5), 0, sideways)
    assert canvas.view.fitted


def test_the_wheel_zooms_about_the_pointer(canvas: PictureCanvas) -> None:
    canvas.set_zoom(4.0)
    # The middle of a pixel.
    place = QPointF(172, 94)
    before = canvas.pixel_at(place)
    for turns in (1, 1, 1, -1, 2):
        wheel(canvas, place, turns)
        assert canvas.pixel_at(place) == before


def test_linked_canvases_move_together(
    qtbot: QtBot, canvas: PictureCanvas, picture: NDArray[np.float32]
) -> None:
    other = PictureCanvas("other")
    qtbot.addWidget(other)
    other.resize(300, 200)
    other.set_picture(picture)
    other.link(canvas)
    canvas.set_zoom(5.0, QPointF(100, 100))
    assert other.zoom() == 5.0
    assert other.target() == canvas.target()
    qtbot.mousePress(other, Qt.MouseButton.LeftButton, pos=QPoint(150, 100))
    qtbot.mouseMove(other, QPoint(120, 90))
    qtbot.mouseRelease(other, Qt.MouseButton.LeftButton, pos=QPoint(120, 90))
    assert other.target() == canvas.target()
    assert other.pixel_at(QPointF(120, 90)) == canvas.pixel_at(QPointF(120, 90))


def test_a_picture_cannot_be_lost(qtbot: QtBot, canvas: PictureCanvas) -> None:
    canvas.set_zoom(2.0)
    for _ in range(100):
        qtbot.keyClick(canvas, Qt.Key.Key_Left)
    assert canvas.pixel_at(QPointF(160, 100)) is not None


def test_click_and_hover_report_picture_pixels(qtbot: QtBot, canvas: PictureCanvas) -> None:
    canvas.set_zoom(2.0)
    with qtbot.waitSignal(canvas.clicked) as clicked:
        qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=QPoint(150, 100))
    assert clicked.args == list(canvas.pixel_at(QPointF(150, 100)) or ())
    with qtbot.waitSignal(canvas.pixel_changed) as seen:
        qtbot.mouseMove(canvas, QPoint(140, 80))
    row, column, text = seen.args
    assert (row, column) == canvas.pixel_at(QPointF(140, 80))
    assert canvas.layer is not None
    assert float(text) == pytest.approx(255 * canvas.layer.values[row, column], abs=0.06)


def test_a_drag_is_no_click(qtbot: QtBot, canvas: PictureCanvas) -> None:
    canvas.set_zoom(4.0)
    with qtbot.assertNotEmitted(canvas.clicked):
        qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=QPoint(150, 100))
        qtbot.mouseMove(canvas, QPoint(180, 100))
        qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=QPoint(180, 100))


def test_the_overlay_is_mixed_by_its_opacity_and_can_be_hidden(canvas: PictureCanvas) -> None:
    canvas.set_picture(np.zeros((64, 64), np.float32))
    canvas.set_overlay(np.full((64, 64, 4), 255, np.uint8))
    for opacity, value in ((1.0, 255), (0.5, 128), (0.0, 0)):
        canvas.set_overlay_opacity(opacity)
        assert abs(int(shown(canvas)[100, 150]) - value) <= 1
    canvas.set_overlay_opacity(1.0)
    canvas.set_overlay_shown(False)
    assert shown(canvas)[100, 150] == 0


def test_the_divider_is_dragged(qtbot: QtBot, canvas: PictureCanvas) -> None:
    canvas.set_picture(np.zeros((64, 64), np.float32))
    canvas.set_second(layers.grey_layer(np.ones((64, 64), np.float32)))
    assert (shown(canvas)[100, 140], shown(canvas)[100, 160]) == (0, 255)
    qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=QPoint(150, 100))
    qtbot.mouseMove(canvas, QPoint(200, 100))
    qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=QPoint(200, 100))
    assert (shown(canvas)[100, 190], shown(canvas)[100, 210]) == (0, 255)


def test_the_divider_is_moved_by_keys(qtbot: QtBot, canvas: PictureCanvas) -> None:
    control = Qt.KeyboardModifier.ControlModifier
    qtbot.keyClick(canvas, Qt.Key.Key_Left, control)
    assert canvas.divider == 0.5, "there is none yet"
    canvas.set_picture(np.zeros((64, 64), np.float32))
    canvas.set_second(layers.grey_layer(np.ones((64, 64), np.float32)))
    for _ in range(10):
        qtbot.keyClick(canvas, Qt.Key.Key_Right, control)
    assert (shown(canvas)[100, 200], shown(canvas)[100, 220]) == (0, 255)
    for _ in range(100):
        qtbot.keyClick(canvas, Qt.Key.Key_Left, control)
    assert canvas.divider == pytest.approx(50 / 300), "the picture's left edge"


def test_the_divider_stays_on_the_picture(qtbot: QtBot, canvas: PictureCanvas) -> None:
    canvas.set_second(canvas.layer)
    qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=QPoint(150, 100))
    for x, share in ((2, 50 / 300), (290, 250 / 300)):
        qtbot.mouseMove(canvas, QPoint(x, 100))
        assert canvas.divider == pytest.approx(share)
    qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=QPoint(290, 100))
    # The picture fills the pane.
    canvas.set_zoom(20.0)
    for _ in range(60):
        qtbot.keyClick(canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    assert canvas.divider == 1.0


ARROWS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}


@pytest.mark.parametrize("stride", [1, 8, 7])
@pytest.mark.parametrize("key", list(ARROWS))
def test_every_pixel_or_block_of_a_row_is_reached_by_keys(
    qtbot: QtBot, canvas: PictureCanvas, stride: int, key: Qt.Key
) -> None:
    canvas.view.stride = stride
    # Only a part is seen.
    canvas.set_zoom(9.0)
    with qtbot.waitSignal(canvas.pixel_changed):
        qtbot.keyClick(canvas, key, Qt.KeyboardModifier.ShiftModifier)
    assert canvas.view.cursor == canvas.pixel_at(QPointF(150, 100)), "keys start in the middle"
    down, across = ARROWS[key]
    place = [canvas.view.cursor[0] // stride, canvas.view.cursor[1] // stride]  # type: ignore[index]
    last = 63 // stride
    for _ in range(70):
        qtbot.keyClick(canvas, key, Qt.KeyboardModifier.ShiftModifier)
        place = [min(max(place[0] + down, 0), last), min(max(place[1] + across, 0), last)]
        row, column = canvas.view.cursor  # type: ignore[misc]
        assert [row // stride, column // stride] == place
        target = canvas.target()
        zoom = canvas.zoom()
        assert 0 <= target.left() + (column + 0.5) * zoom <= canvas.width()
        assert 0 <= target.top() + (row + 0.5) * zoom <= canvas.height()
    with qtbot.waitSignal(canvas.clicked) as chosen:
        qtbot.keyClick(canvas, Qt.Key.Key_Return)
    assert chosen.args == [row, column]


def test_where_keys_point_is_marked_and_the_pointer_takes_over(
    qtbot: QtBot, canvas: PictureCanvas
) -> None:
    canvas.set_picture(np.full((64, 64), 0.25, np.float32))
    before = shown(canvas)
    qtbot.keyClick(canvas, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert (shown(canvas) != before).any()
    # Qt reports only moves, and the pointer may already be at one of the two places.
    for place in (QPoint(120, 70), QPoint(131, 77)):
        qtbot.mouseMove(canvas, place)
    qtbot.waitUntil(lambda: canvas.view.cursor == canvas.pixel_at(QPointF(131, 77)))
    assert not canvas.view.by_keys


def leave(canvas: PictureCanvas) -> None:
    QApplication.sendEvent(canvas, QEvent(QEvent.Type.Leave))


def test_keys_begin_where_the_pointer_was_last(
    qtbot: QtBot, canvas: PictureCanvas, picture: NDArray[np.float32]
) -> None:
    shift = Qt.KeyboardModifier.ShiftModifier
    canvas.point_at((60, 50))
    leave(canvas)
    assert canvas.view.cursor is None
    qtbot.keyClick(canvas, Qt.Key.Key_Right, shift)
    assert canvas.view.cursor == (60, 50)
    leave(canvas)
    qtbot.keyClick(canvas, Qt.Key.Key_Right, shift)
    assert canvas.view.cursor == (60, 51), "where keys point stays when the pointer leaves"
    canvas.view.set_cursor(None)
    # The last pixel does not lie in this picture.
    canvas.set_picture(picture[:32, :32])
    qtbot.keyClick(canvas, Qt.Key.Key_Right, shift)
    assert canvas.view.cursor == (16, 16)


@pytest.mark.parametrize("key", [Qt.Key.Key_2, Qt.Key.Key_1, Qt.Key.Key_Plus, Qt.Key.Key_Minus])
def test_keys_zoom_about_what_they_point_at(
    qtbot: QtBot, canvas: PictureCanvas, key: Qt.Key
) -> None:
    canvas.set_zoom(6.0)
    canvas.point_at((28, 36), by_keys=True)
    before = canvas.pixel_centre(28, 36)
    qtbot.keyClick(canvas, key)
    assert canvas.zoom() != 6.0
    assert (canvas.pixel_centre(28, 36) - before).manhattanLength() <= 2
    # The pixel is out of sight.
    canvas.view.look_at(6.0, 5, 60)
    qtbot.keyClick(canvas, Qt.Key.Key_Plus)
    assert canvas.rect().contains(canvas.pixel_centre(28, 36).toPoint())


def test_the_status_bar_follows_the_cursor_and_the_zoom(
    qtbot: QtBot, studio: Studio, canvas: PictureCanvas
) -> None:
    bar = StatusBar(studio.session, studio.jobs, studio.actions)
    qtbot.addWidget(bar)
    canvas.pixel_changed.connect(bar.show_pixel)
    canvas.pixel_changed.connect(lambda: bar.show_zoom(canvas.zoom()))

    def seen() -> tuple[str, str]:
        return bar.pixel_label.text()[:8], bar.zoom_label.text()

    canvas.point_at((3, 5))
    assert seen() == ("x 5  y 3", "312%")
    canvas.set_zoom(2.0)
    assert seen() == ("x 5  y 3", "200%")
    leave(canvas)
    assert seen() == ("", "")
    qtbot.keyClick(canvas, Qt.Key.Key_1)
    assert seen() == ("", "100%")
    canvas.point_at((4, 6), by_keys=True)
    QApplication.sendEvent(canvas, QFocusEvent(QEvent.Type.FocusOut))
    assert seen() == ("", "")
    QApplication.sendEvent(canvas, QFocusEvent(QEvent.Type.FocusIn))
    assert seen() == ("x 6  y 4", "100%")
    canvas.view.set_cursor(None)
    assert seen() == ("", "")


def test_a_smaller_picture_forgets_what_was_pointed_at(qtbot: QtBot, canvas: PictureCanvas) -> None:
    canvas.point_at((60, 60), by_keys=True)
    canvas.set_picture(np.zeros((32, 32), np.float32))
    with qtbot.assertNotEmitted(canvas.clicked):
        qtbot.keyClick(canvas, Qt.Key.Key_Return)
    qtbot.keyClick(canvas, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert canvas.view.cursor is not None
    assert max(canvas.view.cursor) < 32


def test_enter_chooses_nothing_where_nothing_is_pointed_at(
    qtbot: QtBot, canvas: PictureCanvas
) -> None:
    with qtbot.assertNotEmitted(canvas.clicked):
        qtbot.keyClick(canvas, Qt.Key.Key_Return)


def test_a_highlight_is_drawn_around_its_pixels(canvas: PictureCanvas) -> None:
    canvas.set_picture(np.full((64, 64), 0.25, np.float32))
    canvas.set_zoom(2.0)
    before = shown(canvas).astype(int)
    canvas.set_highlight(Rectangle(8, 16, 16, 24))
    changed = np.argwhere(shown(canvas) != before)
    target = canvas.target()
    middle = changed.mean(axis=0)
    assert middle == pytest.approx(
        [target.top() + 2 * 12 - 0.5, target.left() + 2 * 20 - 0.5], abs=1.5
    )


def test_what_is_saved_has_the_pictures_own_pixels(
    canvas: PictureCanvas, picture: NDArray[np.float32]
) -> None:
    canvas.set_zoom(7.0)
    image = canvas.composed()
    assert image is not None
    assert (image.width(), image.height()) == (64, 64)
    assert image.pixelColor(5, 9).red() == expected(picture)[9, 5]


def test_an_empty_canvas_takes_all_events(qtbot: QtBot) -> None:
    canvas = PictureCanvas("empty")
    qtbot.addWidget(canvas)
    canvas.resize(100, 100)
    canvas.show()
    wheel(canvas, QPointF(5, 5), 1)
    for key in (Qt.Key.Key_1, Qt.Key.Key_F, Qt.Key.Key_Left):
        qtbot.keyClick(canvas, key)
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton)
    assert canvas.composed() is None


PROOF = """
import sys
import numpy as np
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QHBoxLayout, QWidget
from isca_gui.viewers.canvas.canvas import PictureCanvas

app = QApplication([])
window = QWidget()
layout = QHBoxLayout(window)
# Odd margins: at a scale of 1.5 the corners of the panes fall between device pixels.
layout.setContentsMargins(7, 5, 3, 3)
layout.setSpacing(5)
panes = [PictureCanvas("a"), PictureCanvas("b")]
panes[1].link(panes[0])
picture = np.random.default_rng(0).random((64, 64)).astype(np.float32)
for pane in panes:
    layout.addWidget(pane)
    pane.set_picture(picture)
window.resize(401, 203)
window.show()
grey = np.rint(255 * picture).astype(np.uint8)
for zoom in (1, 2):
    panes[0].set_zoom(float(zoom))
    app.processEvents()
    image = window.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    red = rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3)[..., 0]
    large = np.kron(grey, np.ones((zoom, zoom), np.uint8))
    part = large[20 * zoom : 40 * zoom, 20 * zoom : 40 * zoom]
    places = np.lib.stride_tricks.sliding_window_view(red, part.shape)
    starts = np.argwhere(places[:, :, 0, 0] == part[0, 0])
    found = sum((places[y, x] == part).all() for y, x in starts)
    assert found == 2, (window.devicePixelRatioF(), zoom, found)
assert window.devicePixelRatioF() == float(sys.argv[1])
"""


@pytest.mark.parametrize("scale", ["1", "1.5", "2"])
def test_pixels_are_exact_at_every_scale_of_the_screen(scale: str) -> None:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": scale}
    done = subprocess.run(
        [sys.executable, "-c", PROOF, scale],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("shape", [(8, 2000), (2000, 8), (1, 5000), (3, 5), (300, 400), (512, 512)])
def test_every_picture_has_a_thumbnail(shape: tuple[int, int]) -> None:
    picture = np.full(shape, 0.5, np.float32)
    image = layers.scaled_thumbnail(picture, 100)
    assert not image.isNull()
    assert min(image.width(), image.height()) >= 1
    assert image.pixelColor(0, 0).red() == 128
