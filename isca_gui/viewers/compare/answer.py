"""The answer for one copy: the sentence, linked pictures, and the findings beside them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, QTimer
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSlider,
    QSplitter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isca_gui.viewers.canvas import layers
from isca_gui.viewers.colour_bar import ColourBar
from isca_gui.viewers.compare.drawing import GAIN
from isca_gui.viewers.compare.findings import (
    WIDTH,
    Findings,
    answer_colour,
    probability_words,
    runner_up_lines,
)
from isca_gui.viewers.export import Exportable
from isca_gui.viewers.pictures.panes import PaneContent, PaneGrid
from isca_gui.viewers.viewer import ChoiceButton, zoom_buttons
from isca_gui.widgets.flow_layout import Column, Flow, together
from isca_gui.widgets.step_frame import describe, set_property

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QKeyEvent, QPaintEvent, QShowEvent
    from PySide6.QtWidgets import QMenu

    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.compare import Comparison
    from isca_gui.core.pictures.blocks import Rectangle
    from isca_gui.session.comparisons import ComparedCopy
    from isca_gui.viewers.compare.drawing import Drawn
    from isca_gui.viewers.export import Exporter
    from isca_gui.viewers.pictures.panes import Pane

SIDE_BY_SIDE = "side by side"
SWIPE = "swipe"
BLINK = "blink"
DIFFERENCE = "difference"
SIMILARITY = "similarity"
MODES = {
    SIDE_BY_SIDE: ("Side by side", "copy, original, made again, and what is left"),
    SWIPE: ("Swipe", "the original over the copy; drag the divider"),
    BLINK: ("Blink", "original and copy in turn (B)"),
    DIFFERENCE: ("Difference", "copy minus original"),
    SIMILARITY: ("SSIM map", "how similar the structure of each block is"),
}
NO_MAP = "No map"
KIND_MAP = "Kind"
SEVERITY_MAP = "Severity"
MAPS = (NO_MAP, KIND_MAP, SEVERITY_MAP)
_BLINK_MS = 600
_OPACITY = 55
# A place that is zoomed to fills at most this share of a pane.
_FILLED = 0.7


class Stripe(QWidget):
    """A stripe in the colour of a kind, beside the sentence."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFixedWidth(6)
        self._colour = QColor(0, 0, 0, 0)

    def set_colour(self, colour: QColor) -> None:
        """Change the colour."""
        self._colour = colour
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the stripe."""
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._colour)
            painter.drawRoundedRect(self.rect(), 3, 3)


class AnswerPage(QWidget):
    """Shows one answer; it draws what it is given and asks for nothing."""

    def __init__(self, exporter: Exporter, parent: QWidget) -> None:
        super().__init__(parent)
        self._exporter = exporter
        self._drawn: Drawn | None = None
        self._names = ("copy", "original")
        self._second_seen = False
        # The map follows the answer until somebody chooses one.
        self._map_chosen = False
        self.mode = SIDE_BY_SIDE
        self._build()
        self._blink = QTimer(self, interval=_BLINK_MS)
        self._blink.timeout.connect(self._on_blink)

    # --- building ---------------------------------------------------------------------------------

    def _build(self) -> None:
        self.panes = PaneGrid(self)
        for pane in self.panes.panes:
            pane.menu = partial(self._pane_menu, pane)
        self.bar = ColourBar("Map scale", self)
        pictures = QHBoxLayout()
        pictures.addWidget(self.panes, 1)
        pictures.addWidget(self.bar)
        head = self._head()
        left = Column(self)
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(self._controls())
        column.addLayout(pictures, 1)
        self.findings = Findings(self)
        self.findings.place_chosen.connect(self.zoom_to)
        area = QScrollArea(self)
        area.setWidget(self.findings)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setMinimumWidth(WIDTH)
        self.splitter = QSplitter(Qt.Orientation.Horizontal, self)
        self.splitter.addWidget(left)
        self.splitter.addWidget(area)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setStretchFactor(0, 1)
        self.splitter.setStretchFactor(1, 0)
        self.splitter.setSizes([1000, WIDTH])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(head)
        layout.addWidget(self.splitter, 1)

    def _head(self) -> QHBoxLayout:
        """Make the sentence with its stripe, the probability, and the verdict of the limits."""
        self.stripe = Stripe(self)
        self.sentence = QLabel(self)
        self.sentence.setWordWrap(True)
        self.sentence.setTextFormat(Qt.TextFormat.PlainText)
        self.sentence.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        describe(self.sentence, "Answer", "What was done to the copy, proved, with a probability.")
        font = self.sentence.font()
        font.setPointSizeF(font.pointSizeF() * 1.25)
        self.sentence.setFont(font)
        self.probability = QLabel(self)
        self.probability.setTextFormat(Qt.TextFormat.PlainText)
        self.probability.setToolTip("How often answers like this one are right. Near 1 is sure.")
        self.probability.setAccessibleName("Probability")
        self.verdict = QLabel(self)
        self.verdict.setWordWrap(True)
        self.verdict.setTextFormat(Qt.TextFormat.PlainText)
        self.verdict.setAccessibleName("Verdict of the limits")
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self.sentence)
        words.addWidget(self.verdict)
        head = QHBoxLayout()
        head.setSpacing(9)
        head.addWidget(self.stripe)
        head.addLayout(words, 1)
        head.addWidget(self.probability, alignment=Qt.AlignmentFlag.AlignTop)
        return head

    def _controls(self) -> Flow:
        row = Flow()
        self.modes: dict[str, QToolButton] = {}
        group = QButtonGroup(self)
        for mode, (text, tip) in MODES.items():
            button = ChoiceButton(text, tip, self)
            group.addButton(button)
            self.modes[mode] = button
            row.addWidget(button)
        self.modes[self.mode].setChecked(True)
        group.buttonClicked.connect(self._on_mode_clicked)
        self.map_box = QComboBox(self)
        self.map_box.addItems(MAPS)
        describe(self.map_box, "Map", "Lay a map over the copy: what was done where, or how much.")
        self.map_box.activated.connect(self._on_map_chosen)
        self.opacity = QSlider(Qt.Orientation.Horizontal, self)
        self.opacity.setRange(0, 100)
        self.opacity.setValue(_OPACITY)
        self.opacity.setFixedWidth(80)
        describe(self.opacity, "Map opacity", "Opacity of the map; hold Space to hide it.")
        self.opacity.valueChanged.connect(self._update_overlay)
        row.addWidget(together(self, self.map_box, self.opacity))
        row.push()
        row.addWidget(zoom_buttons(self.panes.panes[0], self))
        row.addWidget(self._exporter.button(*self.exportables()))
        return row

    def exportables(self) -> tuple[Exportable, ...]:
        """Return what can be saved and copied."""
        return (
            Exportable("comparison", "pictures", image=self.panes.composed),
            Exportable("answer", "answer", text=self.sentence.text),
        )

    def _pane_menu(self, pane: Pane) -> QMenu:
        this = Exportable(pane.caption, "this picture", image=pane.composed)
        return self._exporter.menu(this, *self.exportables())

    # --- what is shown ----------------------------------------------------------------------------

    def show_answer(
        self, copy: ComparedCopy, result: CopyResult | None, broken: list[str] | None
    ) -> None:
        """Show the words and numbers of an answer; pictures follow by `show_drawn`."""
        found = _comparison_of(copy)
        if found is None:
            self.show_problem(copy.error or "Comparing…")
            return
        self.sentence.setText(found.sentence)
        self.stripe.set_colour(QColor(*answer_colour(found)))
        words = probability_words(found)
        self.probability.setText(f"probability {words}" if words else "")
        self.show_verdict(broken)
        self.findings.setVisible(True)
        self.findings.show_answer(found, result)
        self.findings.show_tried("Next likeliest", runner_up_lines(found))
        if self._drawn is None or self._drawn.number != copy.number:
            self.findings.show_evidence(())
        if not self._map_chosen:
            self.map_box.setCurrentText(KIND_MAP if found.regions else NO_MAP)

    def show_problem(self, text: str) -> None:
        """Show why there is no answer, or that it is to come."""
        self._drawn = None
        self.sentence.setText(text)
        self.probability.setText("")
        self.stripe.set_colour(QColor(0, 0, 0, 0))
        self.verdict.setVisible(False)
        self.findings.setVisible(False)
        self.panes.setVisible(False)

    def show_verdict(self, broken: list[str] | None) -> None:
        """Show whether the copy keeps the limits."""
        self.verdict.setVisible(broken is not None)
        if broken:
            self.verdict.setText(f"✗ Outside the limits: {'; '.join(broken)}.")
        else:
            self.verdict.setText("✓ Within the limits.")
        set_property(self.verdict, "state", "failed" if broken else "done")

    def show_drawn(self, drawn: Drawn, names: tuple[str, str]) -> None:
        """Show the pictures of a copy; `names` are those of the copy and the original."""
        self._drawn = drawn
        self._names = names
        self.panes.setVisible(True)
        self._show()

    def set_mode(self, mode: str) -> None:
        """Change how the pictures are compared."""
        self.mode = mode
        self.modes[mode].setChecked(True)
        self._second_seen = False
        self._blink_if_seen()
        self._show()

    def zoom_to(self, place: Rectangle | None) -> None:
        """Zoom all panes to a part of the picture and frame it."""
        if place is None:
            return
        pane = self.panes.panes[0]
        across = max(place.right - place.left, 1)
        down = max(place.bottom - place.top, 1)
        ratio = pane.devicePixelRatioF()
        zoom = _FILLED * ratio * min(pane.width() / across, pane.height() / down)
        pane.view.look_at(zoom, (place.left + place.right) / 2, (place.top + place.bottom) / 2)
        for each in self.panes.panes:
            each.set_highlight(place)

    def restyle(self) -> None:
        """Draw in the colours of the theme."""
        self.findings.restyle()

    # --- drawing ----------------------------------------------------------------------------------

    def _show(self) -> None:
        drawn = self._drawn
        if drawn is None:
            return
        self.bar.setVisible(self.mode in (DIFFERENCE, SIMILARITY))
        if self.mode == DIFFERENCE:
            table = layers.DIVERGING["Blue – white – red"]
            self.bar.set_scale(table, -drawn.limit, drawn.limit, "{:+.3g}", 255)
        elif self.mode == SIMILARITY:
            self.bar.set_scale(layers.SIMILARITY, 0, 1, "{:.2f}")
        self.panes.show_contents(self._contents(drawn))
        self._update_overlay()

    def _contents(self, drawn: Drawn) -> list[PaneContent]:
        scaled = ", scaled to the original" if drawn.scaled else ""
        copy = PaneContent(drawn.copy, f"Copy: {self._names[0]}{scaled}", "Copy")
        original = PaneContent(drawn.original, f"Original: {self._names[1]}", "Original")
        made = None
        if drawn.made is not None:
            made = PaneContent(drawn.made, "Made again on the original", "Made again")
        if self.mode == SIDE_BY_SIDE:
            if made is None:
                rest = PaneContent(drawn.rest, f"Change ×{GAIN}", f"Change ×{GAIN}")
                return [copy, original, rest]
            rest = PaneContent(drawn.rest, f"Unexplained rest ×{GAIN}", f"Rest ×{GAIN}")
            return [copy, original, made, rest]
        if self.mode == SWIPE:
            swiped = [PaneContent(drawn.original, "Original  |  copy", "O | C", drawn.copy)]
            if drawn.made is not None:
                swiped.append(
                    PaneContent(drawn.made, "Made again  |  copy", "Made | C", drawn.copy)
                )
            return swiped
        if self.mode == BLINK:
            return [copy if self._second_seen else original]
        if self.mode == DIFFERENCE:
            return [copy, PaneContent(drawn.difference, "Copy minus original", "Difference")]
        return [copy, PaneContent(drawn.similarity, "SSIM of the blocks", "SSIM")]

    def _update_overlay(self) -> None:
        drawn = self._drawn
        if drawn is None:
            return
        chosen = self.map_box.currentText()
        overlay = {KIND_MAP: drawn.kinds, SEVERITY_MAP: drawn.severity}.get(chosen)
        shown = self.mode != BLINK or self._second_seen
        for place, pane in enumerate(self.panes.panes):
            is_copy = place == 0 and self.mode != SWIPE and shown
            pane.set_overlay(overlay if is_copy else None)
            pane.set_overlay_opacity(self.opacity.value() / 100)
        self.opacity.setEnabled(overlay is not None)

    # --- what happens -----------------------------------------------------------------------------

    def _on_mode_clicked(self, button: QToolButton) -> None:
        self.set_mode(next(mode for mode, each in self.modes.items() if each is button))

    def _on_map_chosen(self) -> None:
        self._map_chosen = True
        self._update_overlay()

    def choose_map(self, name: str) -> None:
        """Lay a map over the copy from now on."""
        with QSignalBlocker(self.map_box):
            self.map_box.setCurrentText(name)
        self._on_map_chosen()

    def _on_blink(self) -> None:
        self._second_seen = not self._second_seen
        self._show()

    def _blink_if_seen(self) -> None:
        if self.mode == BLINK and self.isVisible():
            self._blink.start()
        else:
            self._blink.stop()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Blink with B; hide the map while Space is held."""
        if event.key() == Qt.Key.Key_B and not event.modifiers():
            self.set_mode(SIDE_BY_SIDE if self.mode == BLINK else BLINK)
        elif event.key() == Qt.Key.Key_Space:
            self._set_overlay_shown(False)
        else:
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """Show the map again when Space is released."""
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self._set_overlay_shown(True)
        else:
            super().keyReleaseEvent(event)

    def _set_overlay_shown(self, shown: bool) -> None:
        for pane in self.panes.panes:
            pane.set_overlay_shown(shown)

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop blinking while hidden."""
        self._blink.stop()
        self._set_overlay_shown(True)
        super().hideEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Go on blinking."""
        super().showEvent(event)
        self._blink_if_seen()


def _comparison_of(copy: ComparedCopy) -> Comparison | None:
    return copy.result.comparison if copy.result is not None else None
