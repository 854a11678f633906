"""A tour of five stops that points at the real controls, goes on by itself, and can be left at any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF, QRegion
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from isca_gui.widgets import theme
from isca_gui.widgets.step_frame import StepPanel, button, faint_label, row

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QKeyEvent, QPaintEvent

_WIDTH = 320
_TIP = 11  # pixels that the bubble's tip stands out
_GAP = 5  # between the ring and what it surrounds
_LINE = 3
_FOLLOW = 60  # milliseconds between looks at where the control is
_FIRST_LOOKS = 12  # in which it is brought into sight; later it may be scrolled away
_ENOUGH = 24  # pixels of its height that must be seen


@dataclass(frozen=True)
class Stop:
    """One stop: what it points at, what it says, and the session's signal after which it is done."""

    title: str
    text: str
    target: Callable[[Any], QWidget]
    done: str = ""
    ready: Callable[[Any], object] = lambda _: True
    viewer: str = ""


STOPS = (
    Stop(
        "The reference",
        "Everything is compared with one undistorted picture. A sample is open already. Open… takes a "
        "picture of your own, and so does dropping a file on the window.",
        lambda window: window.reference_panel,
        "reference_changed",
    ),
    Stop(
        "Distort it",
        "Press Generate. The program makes six kinds of damage, each at exact error levels: that is what it "
        "will learn from. It takes some seconds.",
        lambda window: window.dataset_panel.generate_button,
        "dataset_changed",
        lambda session: session.dataset is not None,
    ),
    Stop(
        "Train",
        "Press Train. For every block of 8×8 pixels a small subspace is learned that keeps its structure. "
        "The curves in Convergence fall; low is good. Esc stops and keeps what is there.",
        lambda window: window.training_panel.train_button,
        "run_selected",
        lambda session: session.run is not None and session.live is None,
    ),
    Stop(
        "Ask it something",
        "Press Mystery picture: the reference is damaged at random and you do not see how. Open pictures… "
        "takes files of yours; they must show the same picture in the same size.",
        lambda window: window.recognise_panel.mystery_button,
        "tested_selected",
        lambda session: session.test is not None,
    ),
    Stop(
        "Read the answer",
        "Guess first: choose a kind at the left. Then each block shows what it was taken for, and the "
        "sentence says what was done, how strongly, and how many blocks agree. Point at a block to see why.",
        lambda window: window.docks["vote_map"],
        viewer="vote_map",
    ),
)

# What the stops after the first need, one more each: its name, what to do first, the job that makes it.
_NEEDS = (
    ("reference", "First open a picture.", "open"),
    ("dataset", "First press Generate.", "dataset"),
    ("run", "First press Train.", "training"),
    ("test", "First press Mystery picture.", "recognise"),
)
_BY_ITSELF = "It goes on by itself when you do it."
_WAIT = "Wait a moment: what this needs is being made."


class Tour(QObject):
    """Leads through the stops; the program stays usable all the time."""

    def __init__(self, window: Any, stops: tuple[Stop, ...] = STOPS) -> None:
        super().__init__(window)
        self._window, self._stops = window, stops
        self.place = -1  # of the stop shown; -1 where no tour is under way
        self._looks = 0  # at where the control is, since the stop was reached
        self._signal: Any = None
        self._ring: _Ring | None = None
        self.bubble: Bubble | None = None
        self._timer = QTimer(self, interval=_FOLLOW)
        self._timer.timeout.connect(self.follow)

    @property
    def running(self) -> bool:
        """Whether a tour is under way."""
        return self.place >= 0

    @property
    def target(self) -> QWidget:
        """The control pointed at."""
        return self._stops[self.place].target(self._window)

    def start(self) -> None:
        """Begin at the first stop."""
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
        """Go back to the stop before."""
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
        """Put ring and bubble where the control is now."""
        if self._ring is None or self.bubble is None or not self.running:
            return
        seen = _seen(self.target, self._window)
        self._looks += 1
        if self._looks < _FIRST_LOOKS and seen.height() < min(self.target.height(), _ENOUGH):
            _bring_into_sight(self.target)  # something else has scrolled meanwhile
            seen = _seen(self.target, self._window)
        self._ring.surround(seen)
        self.bubble.hint(self._hint())
        self.bubble.point_at(seen, _beyond(self.target, seen, self._window))

    def eventFilter(self, _: QObject, event: QEvent) -> bool:
        """Esc leaves the tour before it stops anything; a window that changes its size is followed."""
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
        self.place, self._looks = place, 0
        stop = self._stops[place]
        if stop.viewer:
            self._window.docks[stop.viewer].show()
            self._window.docks[stop.viewer].raise_()
        _bring_into_sight(self.target)
        self._listen(stop.done)
        assert self.bubble is not None
        self.bubble.say(f"{place + 1} of {len(self._stops)} · {stop.title}", stop.text)
        self.bubble.hint(self._hint())
        self.bubble.back_button.setEnabled(place > 0)
        self.bubble.next_button.setText("Next" if place + 1 < len(self._stops) else "Done")
        QTimer.singleShot(0, self, self.follow)  # when all is where it belongs

    def _hint(self) -> str:
        """Say what is to be done before the control can be used, else whether it goes on by itself."""
        for name, first, job in _NEEDS[: self.place]:
            if getattr(self._window.session, name) is None:
                return _WAIT if self._window.jobs.running(job) else first
        if not self.target.isEnabled():
            return self.target.toolTip()  # says why
        return _BY_ITSELF if self._stops[self.place].done else ""

    def _listen(self, name: str | None) -> None:
        if self._signal is not None:
            self._signal.disconnect(self._on_done)
        self._signal = getattr(self._window.session, name) if name else None
        if self._signal is not None:
            self._signal.connect(self._on_done)

    def _on_done(self) -> None:
        if self.running and self._stops[self.place].ready(self._window.session):
            QTimer.singleShot(0, self, self._on_time_to_go)
            self._listen(None)

    def _on_time_to_go(self) -> None:
        if self.running:
            self.next()


class Bubble(QWidget):
    """Says something about a control, with a tip towards it."""

    def __init__(
        self, window: QWidget, back: Callable[[], None], following: Callable[[], None],
        leave: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__(window)
        self.setObjectName("tour")
        self.setAccessibleName("Tour")
        self._window, self._placed = window, False
        self._tip = QPointF()  # in the bubble's own pixels
        self.title = QLabel(self)
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        self.text = QLabel(self)
        self.text.setWordWrap(True)
        self.back_button = button("Back", "The stop before this one.", back)
        self.next_button: QPushButton = button("Next", "The next stop.", following)
        self.leave_button = button(
            "Leave", "End the tour (Esc). Help → Take the tour begins anew.", leave
        )
        for each in (self.back_button, self.next_button, self.leave_button):
            each.setAutoDefault(True)  # Enter presses the one that has the focus, as Space does
        self._hint = faint_label()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*(4 * [_TIP + 12]))
        for widget in (self.title, self.text, self._hint):
            layout.addWidget(widget)
        layout.addSpacing(4)
        layout.addLayout(row(self.back_button, self.next_button, 1, self.leave_button))
        self.show()

    def say(self, title: str, text: str) -> None:
        """Show other words."""
        self.title.setText(title)
        self.text.setText(text)
        self.raise_()

    def hint(self, text: str) -> None:
        """Show another line below the words, or none."""
        if text != self._hint.text():
            self._hint.setText(text)
            self._hint.setVisible(bool(text))

    def point_at(self, place: QRect, beyond: QRect) -> None:
        """Stand beside what is not to be covered, where there is room, with the tip towards a place in it."""
        if place.isEmpty() and self._placed:
            return  # it was scrolled away
        self._placed = True
        room = self._window.rect()
        width = min(_WIDTH + 2 * _TIP, room.width())
        size = QSize(width, max(self.heightForWidth(width), self.minimumSizeHint().height()))
        wanted = _beside(beyond, size, room)
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
            self.setMask(
                QRegion(self.rect()) - QRegion(inside)
            )  # nothing beneath is painted because of it
            self.raise_()

    def paintEvent(self, _: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(theme.shades().accent), _LINE))
            half = _LINE / 2
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(half, half, -half, -half), 5, 5)


def _seen(widget: QWidget, window: QWidget) -> QRect:
    """Give where a widget is seen in its window; empty if it is not."""
    seen, inner = widget.rect(), widget
    while inner is not window:
        above = inner.parentWidget()
        if above is None or not inner.isVisible():
            return QRect()
        seen = seen.translated(inner.pos()).intersected(above.rect())
        inner = above
    return seen


def _beyond(widget: QWidget, seen: QRect, window: QWidget) -> QRect:
    """Give what a bubble must leave free: the control, and all that stands beside it among the steps."""
    above: QWidget | None = widget
    while above is not None and above.objectName() != "steps":
        above = above.parentWidget()
    if above is None or seen.isEmpty():
        return seen
    left = above.mapTo(window, QPoint(0, 0)).x()
    return QRect(left, seen.top(), above.width(), seen.height())


def _bring_into_sight(widget: QWidget) -> None:
    """Unfold the step that a control is in, and scroll to it."""
    inner, above = widget, widget.parentWidget()
    while above is not None:
        if isinstance(above, StepPanel):
            above.heading.setChecked(True)
        if isinstance(above, QScrollArea):
            above.ensureWidgetVisible(inner, 0, 40)
        above = above.parentWidget()


def _beside(place: QRect, size: QSize, room: QRect) -> QRect:
    """Give a place for a bubble: at the right, below or above if there is room, else in the lower corner."""
    if place.isEmpty():
        return QRect(room.center() - QPoint(size.width() // 2, size.height() // 2), size)
    top = min(
        max(place.center().y() - size.height() // 2, room.top()), room.bottom() - size.height()
    )
    left = min(
        max(place.center().x() - size.width() // 2, room.left()), room.right() - size.width()
    )
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
    """Give the triangle on the side of the box that looks towards a place; none if that lies within."""
    half = 9.0
    y = min(max(towards.y(), box.top() + 2 * half), box.bottom() - 2 * half)
    x = min(max(towards.x(), box.left() + 2 * half), box.right() - 2 * half)
    sides = (  # how far the place lies beyond a side, a point of that side, and the way out from it
        (box.left() - towards.x(), QPointF(box.left(), y), QPointF(-1, 0)),
        (towards.x() - box.right(), QPointF(box.right(), y), QPointF(1, 0)),
        (box.top() - towards.y(), QPointF(x, box.top()), QPointF(0, -1)),
        (towards.y() - box.bottom(), QPointF(x, box.bottom()), QPointF(0, 1)),
    )
    away, side, out = max(sides, key=lambda each: each[0])
    tip, foot, aside = side + out * _TIP, side - out * 2, QPointF(out.y(), out.x()) * half
    return QPolygonF([tip, foot + aside, foot - aside, tip]) if away > 0 else QPolygonF()
