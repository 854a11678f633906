"""A tour that points at the real controls, follows what the user does, and can be left any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF, QRegion
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from isca_gui.jobs.names import JobName
from isca_gui.widgets import theme
from isca_gui.widgets.step_frame import StepPanel, button, faint_label, row

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QKeyEvent, QPaintEvent

_WIDTH = 320
# Sizes in pixels: the tip of the bubble, and the gap and the line of the ring around a control.
_TIP = 11
_GAP = 5
_LINE = 3
# The position of the control is checked at this interval, in milliseconds.
_FOLLOW_MS = 60
# In so many checks the control is scrolled into view; later the user may scroll it away.
_FIRST_CHECKS = 12
# So many pixels of its height must be visible.
_ENOUGH = 24


@dataclass(frozen=True)
class Stop:
    """One stop: its text, the control it points at, and when it is done.

    `done` names the signal of the session after which `ready` tells whether the stop is done.
    """

    title: str
    text: str
    target: Callable[[Any], QWidget]
    done: str = ""
    ready: Callable[[Any], object] = lambda _: True
    viewer: str = ""


STOPS = (
    Stop(
        "The reference",
        "Everything is compared with one undistorted picture. A sample is already open. To use "
        "your own picture, press Open… or drop a file on the window.",
        lambda window: window.reference_panel,
        "reference_changed",
    ),
    Stop(
        "Distort it",
        "Press Generate. The program distorts the reference in six ways, each at exact error "
        "levels. It learns from these copies. This takes a few seconds.",
        lambda window: window.dataset_panel.generate_button,
        "dataset_changed",
        lambda session: session.dataset is not None,
    ),
    Stop(
        "Train",
        "Press Train. For every block of 8×8 pixels the program learns a small subspace that keeps "
        "its structure. The curves in Convergence fall; lower is better. Esc stops and keeps the "
        "model.",
        lambda window: window.training_panel.train_button,
        "run_selected",
        lambda session: session.run is not None and session.live is None,
    ),
    Stop(
        "Recognise",
        "Press Mystery picture. The reference is distorted at random, and you are not told how. To "
        "recognise your own files, press Open pictures…; they must be copies of the reference in "
        "the same size.",
        lambda window: window.recognise_panel.mystery_button,
        "tested_selected",
        lambda session: session.test is not None,
    ),
    Stop(
        "Read the answer",
        "Guess first: choose a kind on the left. Then every block shows its vote, and the sentence "
        "says what was done, how strongly, and how many blocks agree. Point at a block to see why.",
        lambda window: window.docks["vote_map"],
        viewer="vote_map",
    ),
)

# What each stop after the first needs besides the needs of earlier stops: the attribute of the
# session, what to do if it is missing, and the job that makes it.
_NEEDS = (
    ("reference", "First open a picture.", JobName.OPEN_PICTURE),
    ("dataset", "First press Generate.", JobName.DATASET),
    ("run", "First press Train.", JobName.TRAINING),
    ("test", "First press Mystery picture.", JobName.RECOGNITION),
)
_CONTINUES = "The tour continues when you have done this."
_WAIT = "Please wait until the previous step is done."


class Tour(QObject):
    """Leads through the stops; the program can be used all the time."""

    def __init__(self, window: Any, stops: tuple[Stop, ...] = STOPS) -> None:
        super().__init__(window)
        self._window = window
        self._stops = stops
        # The index of the current stop; -1 if there is no tour.
        self.place = -1
        # How often the control was looked for since the stop was reached.
        self._checks = 0
        self._signal: Any = None
        self._ring: _Ring | None = None
        self.bubble: Bubble | None = None
        self._timer = QTimer(self, interval=_FOLLOW_MS)
        self._timer.timeout.connect(self.follow)

    @property
    def running(self) -> bool:
        """Whether there is a tour."""
        return self.place >= 0

    @property
    def target(self) -> QWidget:
        """The control that the current stop points at."""
        return self._stops[self.place].target(self._window)

    def start(self) -> None:
        """Start at the first stop."""
        self.leave()
        self._ring = _Ring(self._window)
        self.bubble = Bubble(self._window, self.back, self.next, self.leave)
        self._window.installEventFilter(self)
        self._timer.start()
        self._go(0)
        self.bubble.next_button.setFocus()

    def next(self) -> None:
        """Go to the next stop, or end after the last."""
        if self.place + 1 < len(self._stops):
            self._go(self.place + 1)
        else:
            self.leave()

    def back(self) -> None:
        """Go back to the previous stop."""
        self._go(max(self.place - 1, 0))

    def leave(self) -> None:
        """End the tour."""
        self._listen(None)
        self._timer.stop()
        self.place = -1
        self._window.removeEventFilter(self)
        for widget in (self._ring, self.bubble):
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._ring = self.bubble = None

    def follow(self) -> None:
        """Move ring and bubble to the control."""
        if self._ring is None or self.bubble is None or not self.running:
            return
        visible = _visible_rect(self.target, self._window)
        self._checks += 1
        if self._checks < _FIRST_CHECKS and visible.height() < min(self.target.height(), _ENOUGH):
            # A step that has finished meanwhile may have scrolled to the next one.
            _scroll_into_view(self.target)
            visible = _visible_rect(self.target, self._window)
        self._ring.surround(visible)
        self.bubble.hint(self._hint())
        self.bubble.point_at(visible, _keep_free(self.target, visible, self._window))

    def eventFilter(self, _: QObject, event: QEvent) -> bool:
        """Leave the tour on Esc, before that stops a job, and follow a window that is resized."""
        kind = event.type()
        if kind == QEvent.Type.Resize:
            self.follow()
        elif kind in (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress):
            pressed: QKeyEvent = event  # type: ignore[assignment]
            if pressed.key() == Qt.Key.Key_Escape:
                event.accept()
                if kind == QEvent.Type.KeyPress:
                    self.leave()
                return True
        elif kind == QEvent.Type.Close:
            self.leave()
        return False

    def _go(self, place: int) -> None:
        self.place = place
        self._checks = 0
        stop = self._stops[place]
        if stop.viewer:
            self._window.docks[stop.viewer].show()
            self._window.docks[stop.viewer].raise_()
        _scroll_into_view(self.target)
        self._listen(stop.done)
        assert self.bubble is not None
        self.bubble.show_text(f"{place + 1} of {len(self._stops)} · {stop.title}", stop.text)
        self.bubble.hint(self._hint())
        self.bubble.back_button.setEnabled(place > 0)
        self.bubble.next_button.setText("Next" if place + 1 < len(self._stops) else "Done")
        # The control has its place only after the layout was updated.
        QTimer.singleShot(0, self, self.follow)

    def _hint(self) -> str:
        """Return what must be done before the control can be used, or that the tour continues."""
        for name, first, job in _NEEDS[: self.place]:
            if getattr(self._window.session, name) is None:
                return _WAIT if self._window.jobs.running(job) else first
        if not self.target.isEnabled():
            # The tooltip of a disabled control gives the reason.
            return self.target.toolTip()
        if self._stops[self.place].done:
            return _CONTINUES
        return ""

    def _listen(self, name: str | None) -> None:
        """Wait for a signal of the session instead of the previous one."""
        if self._signal is not None:
            self._signal.disconnect(self._on_done)
        self._signal = getattr(self._window.session, name) if name else None
        if self._signal is not None:
            self._signal.connect(self._on_done)

    def _on_done(self) -> None:
        if self.running and self._stops[self.place].ready(self._window.session):
            QTimer.singleShot(0, self, self._on_continue)
            self._listen(None)

    def _on_continue(self) -> None:
        if self.running:
            self.next()


class Bubble(QWidget):
    """Shows a text about a control, with a tip towards it."""

    def __init__(
        self,
        window: QWidget,
        go_back: Callable[[], None],
        go_next: Callable[[], None],
        leave: Callable[[], None],
    ) -> None:
        super().__init__(window)
        self.setObjectName("tour")
        self.setAccessibleName("Tour")
        self._window = window
        self._placed = False
        # Where the tip points to, in the coordinates of the bubble.
        self._tip = QPointF()
        self.title = QLabel(self)
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        self.text = QLabel(self)
        self.text.setWordWrap(True)
        self.back_button = button("Back", "Go back to the previous stop.", go_back)
        self.next_button: QPushButton = button("Next", "Go to the next stop.", go_next)
        sentence = "End the tour (Esc). To start again, choose Help → Take the tour."
        self.leave_button = button("End tour", sentence, leave)
        for each in (self.back_button, self.next_button, self.leave_button):
            # Enter then presses the button that has the focus, as Space does.
            each.setAutoDefault(True)
        self._hint = faint_label()
        layout = QVBoxLayout(self)
        margin = _TIP + 12
        layout.setContentsMargins(margin, margin, margin, margin)
        for widget in (self.title, self.text, self._hint):
            layout.addWidget(widget)
        layout.addSpacing(4)
        layout.addLayout(row(self.back_button, self.next_button, 1, self.leave_button))
        self.show()

    def show_text(self, title: str, text: str) -> None:
        """Show the title and text of a stop."""
        self.title.setText(title)
        self.text.setText(text)
        self.raise_()

    def hint(self, text: str) -> None:
        """Show another line below the text; an empty one hides it."""
        if text != self._hint.text():
            self._hint.setText(text)
            self._hint.setVisible(bool(text))

    def point_at(self, place: QRect, keep_free: QRect) -> None:
        """Point at a place from beside an area that must not be covered."""
        # A control that was scrolled away leaves the bubble where it is.
        if place.isEmpty() and self._placed:
            return
        self._placed = True
        room = self._window.rect()
        width = min(_WIDTH + 2 * _TIP, room.width())
        size = QSize(width, max(self.heightForWidth(width), self.minimumSizeHint().height()))
        wanted = _beside(keep_free, size, room)
        if wanted != self.geometry():
            self.setGeometry(wanted)
            self.raise_()
        tip = QPointF(self.mapFrom(self._window, place.center()))
        if tip != self._tip:
            self._tip = tip
            self.update()

    def paintEvent(self, _: QPaintEvent) -> None:
        """Draw the box and its tip."""
        shades = theme.shades()
        box = QRectF(self.rect()).adjusted(_TIP, _TIP, -_TIP, -_TIP)
        path = QPainterPath()
        path.addRoundedRect(box, 8, 8)
        tip = QPainterPath()
        tip.addPolygon(_tip_of(box, self._tip))
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(shades.accent), 2))
            painter.setBrush(QColor(shades.raised))
            painter.drawPath(path.united(tip).simplified())


class _Ring(QWidget):
    """A frame around a control; the mouse goes through it."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def surround(self, place: QRect) -> None:
        wide = _GAP + _LINE
        wanted = place.adjusted(-wide, -wide, wide, wide).intersected(self._window.rect())
        self.setVisible(not place.isEmpty())
        if wanted != self.geometry() and not place.isEmpty():
            self.setGeometry(wanted)
            inside = self.rect().adjusted(_LINE + 1, _LINE + 1, -_LINE - 1, -_LINE - 1)
            # With the mask, changes below the ring do not repaint it and the other way round.
            self.setMask(QRegion(self.rect()) - QRegion(inside))
            self.raise_()

    def paintEvent(self, _: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(theme.shades().accent), _LINE))
            half = _LINE / 2
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(half, half, -half, -half), 5, 5)


def _visible_rect(widget: QWidget, window: QWidget) -> QRect:
    """Return the visible part of a widget in window coordinates; empty if there is none."""
    visible = widget.rect()
    inner = widget
    while inner is not window:
        parent = inner.parentWidget()
        if parent is None or not inner.isVisible():
            return QRect()
        visible = visible.translated(inner.pos()).intersected(parent.rect())
        inner = parent
    return visible


def _keep_free(widget: QWidget, visible: QRect, window: QWidget) -> QRect:
    """Return what a bubble must not cover: the control and everything beside it in the steps."""
    parent: QWidget | None = widget
    while parent is not None and parent.objectName() != "steps":
        parent = parent.parentWidget()
    if parent is None or visible.isEmpty():
        return visible
    left = parent.mapTo(window, QPoint(0, 0)).x()
    return QRect(left, visible.top(), parent.width(), visible.height())


def _scroll_into_view(widget: QWidget) -> None:
    """Expand the step that a control belongs to, and scroll to the control."""
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, StepPanel):
            parent.heading.setChecked(True)
        if isinstance(parent, QScrollArea):
            parent.ensureWidgetVisible(widget, 0, 40)
        parent = parent.parentWidget()


def _beside(place: QRect, size: QSize, room: QRect) -> QRect:
    """Return a place for a bubble: to the right, below or above, or else in the lower corner."""
    if place.isEmpty():
        return QRect(room.center() - QPoint(size.width() // 2, size.height() // 2), size)
    top = max(place.center().y() - size.height() // 2, room.top())
    top = min(top, room.bottom() - size.height())
    left = max(place.center().x() - size.width() // 2, room.left())
    left = min(left, room.right() - size.width())
    apart = _GAP + _LINE
    for x, y in (
        (place.right() + apart, top),
        (left, place.bottom() + apart),
        (left, place.top() - apart - size.height()),
    ):
        found = QRect(QPoint(x, y), size)
        if room.contains(found):
            return found
    corner = place.intersected(room).bottomRight() - QPoint(size.width(), size.height())
    return QRect(QPoint(max(corner.x(), room.left()), max(corner.y(), room.top())), size)


def _tip_of(box: QRectF, towards: QPointF) -> QPolygonF:
    """Return the triangle on the side of a box towards a point; empty if that lies inside."""
    half = 9.0
    y = min(max(towards.y(), box.top() + 2 * half), box.bottom() - 2 * half)
    x = min(max(towards.x(), box.left() + 2 * half), box.right() - 2 * half)
    # How far the point lies beyond each side, a point of that side, and the direction outwards.
    sides = (
        (box.left() - towards.x(), QPointF(box.left(), y), QPointF(-1, 0)),
        (towards.x() - box.right(), QPointF(box.right(), y), QPointF(1, 0)),
        (box.top() - towards.y(), QPointF(x, box.top()), QPointF(0, -1)),
        (towards.y() - box.bottom(), QPointF(x, box.bottom()), QPointF(0, 1)),
    )
    distance, side, out = max(sides, key=lambda each: each[0])
    if distance <= 0:
        return QPolygonF()
    tip = side + out * _TIP
    foot = side - out * 2
    aside = QPointF(out.y(), out.x()) * half
    return QPolygonF([tip, foot + aside, foot - aside, tip])
