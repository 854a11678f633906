"""What was recognised in a picture, and where: the map over it, the shares, and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QSplitter,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isca_gui.core.recognition import vote_overlays
from isca_gui.jobs.names import JobName
from isca_gui.viewers import view_settings
from isca_gui.viewers.canvas.canvas import PictureCanvas
from isca_gui.viewers.colour_bar import ColourBar
from isca_gui.viewers.export import Exportable
from isca_gui.viewers.viewer import (
    ChoiceButton,
    LatestOnly,
    NextStep,
    Viewer,
    stale_sentence,
    step_to_run,
    zoom_buttons,
)
from isca_gui.viewers.votes.block_details import BlockDetails, distances
from isca_gui.viewers.votes.drawing import (
    CONFIDENCE,
    GUESS_FIRST,
    MAPS,
    SEVERITY,
    VOTES,
    concealed,
    draw_map,
    is_quick,
    ordered_shares,
    spacing_at,
)
from isca_gui.viewers.votes.legend import Legend
from isca_gui.widgets import theme
from isca_gui.widgets.flow_layout import Flow, together

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QImage, QKeyEvent, QPaintEvent

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import TestedPicture
    from isca_gui.session.session import Session
    from isca_gui.viewers.canvas.layers import Layer

# Opacity of the map at first, in per cent.
_OPACITY = 60
# Letters of a test picture's name that are seen in its box.
_SOURCE_LETTERS = 17
# Height of the map in pixels that nothing else may take.
_LOWEST_MAP = 110
_SOURCE_TIP = "Which test picture is shown"
_NOT_RECOGNISED = "This picture has not been recognised yet. Train a model first."


class VoteMapViewer(Viewer):
    """The recognition of the selected test picture."""

    TITLE = "Vote map"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self.kind = VOTES
        self._tested: TestedPicture | None = None
        self._spacing = 1  # of the patterns drawn
        self._latest = LatestOnly(jobs, "vote map", "Drawing the map", self)
        self._save_when_drawn = False
        self._build()
        self.view_settings.register(
            map=view_settings.one_of(self.maps),
            opacity=view_settings.slider(self.opacity),
            view=view_settings.visible_part(self.canvas.view),
        )
        session.tested_selected.connect(self.mark_dirty)
        session.tested_changed.connect(self.mark_dirty)
        session.run_selected.connect(self.mark_dirty)
        session.dataset_changed.connect(self.mark_dirty)
        session.reference_changed.connect(self.mark_dirty)
        session.stale_changed.connect(self.mark_dirty)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._on_focus_changed)

    def missing_step(self) -> NextStep | None:
        """Return the step to a trained model, or to a test picture."""
        if self.session.test is not None:
            return None
        spec = self.session.spec
        kind = "jpeg" if "jpeg" in spec.kinds else spec.kinds[-1]
        level = spec.levels[len(spec.levels) // 2]
        return step_to_run(self.session, self._actions) or NextStep(
            text="Next: open a test picture on the left, or start with a distorted copy.",
            button="Make and recognise a test picture",
            action=lambda: self._actions.recognise_made(kind, level, spec.seed + 1),
            job=JobName.RECOGNITION,
        )

    def redraw(self) -> None:
        """Show the selected test picture."""
        tested = concealed(self.session.test)
        self._fill()
        if tested is not self._tested:
            self._tested = tested
            found = tested.recognition if tested is not None else None
            self.canvas.view.stride = found.grid.side if found is not None else 1
            self._latest.discard()
            self._draw()
        if tested is not None:
            self._describe(tested)

    def set_map(self, kind: str) -> None:
        """Show another map."""
        self.kind = kind
        self.maps[kind].setChecked(True)
        self._draw()

    # --- building ---------------------------------------------------------------------------------

    def _build(self) -> None:
        self.canvas = PictureCanvas("Test picture with its map", self)
        self.canvas.set_overlay_opacity(_OPACITY / 100)
        self.canvas.view.cursor_changed.connect(self._on_cursor_changed)
        self.canvas.view.changed.connect(self._on_zoomed)
        # The zoom of a fitted picture changes with the size of the canvas.
        self.canvas.installEventFilter(self)
        self.canvas.menu = lambda: self.exporter.menu(*self.exportables())
        self.bar = ColourBar("Map scale", self)
        self.legend = Legend(self)
        self.details = BlockDetails(self)
        self.bottom = VerdictBox(self)
        self.verdict = self.bottom.verdict
        self.note = self.bottom.note
        self.again = self.bottom.again
        self.copy = self.bottom.copy
        self.save = self.bottom.save
        self.again.clicked.connect(self._on_again)
        self.copy.clicked.connect(self._on_copy)
        self.save.clicked.connect(lambda: self.exporter.save_as(self._verdict_item()))
        picture = QWidget(self)
        row = QHBoxLayout(picture)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.canvas, 1)
        row.addWidget(self.bar)
        layout = QVBoxLayout(self.content)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addLayout(self._controls())
        layout.addWidget(_beside(picture, self.legend, self.details), 1)
        layout.addWidget(self.bottom)

    def _controls(self) -> Flow:
        self.source = SourceBox(self)
        self.source.activated.connect(self._on_source_chosen)
        row = Flow()
        row.addWidget(self.source)
        group = QButtonGroup(self)
        self.maps = {kind: ChoiceButton(text, tip, self) for kind, (text, tip) in MAPS.items()}
        for button in self.maps.values():
            group.addButton(button)
            row.addWidget(button)
        self.maps[self.kind].setChecked(True)
        group.buttonClicked.connect(self._on_map_clicked)
        self.opacity = QSlider(Qt.Orientation.Horizontal, self)
        self.opacity.setAccessibleName("Map opacity")
        self.opacity.setToolTip("Map opacity; hold Space to see the picture alone")
        self.opacity.setRange(0, 100)
        self.opacity.setValue(_OPACITY)
        self.opacity.setFixedWidth(86)
        self.opacity.valueChanged.connect(self._on_opacity_changed)
        label = QLabel("Opacity", self)
        label.setBuddy(self.opacity)
        self.hide_button = _push_button("Hide", "Hold to see the picture alone (Space)", self)
        self.hide_button.pressed.connect(lambda: self.canvas.set_overlay_shown(False))
        self.hide_button.released.connect(lambda: self.canvas.set_overlay_shown(True))
        row.addWidget(together(self, label, self.opacity, self.hide_button))
        row.push()
        row.addWidget(zoom_buttons(self.canvas, self))
        row.addWidget(self.exporter.button(*self.exportables()))
        return row

    def exportables(self) -> tuple[Exportable, ...]:
        """Return what can be saved and copied."""
        return (
            self._map_item(),
            Exportable("votes", "bar chart", image=self.legend.drawn, svg=self.legend.svg),
            Exportable("votes", "table of votes", table=self.legend.rows),
            self._blocks_item(),
            self._verdict_item(),
        )

    def _map_item(self) -> Exportable:
        return Exportable("vote map", "map", image=self.canvas.composed)

    def _blocks_item(self) -> Exportable:
        return Exportable("blocks", "table of blocks", table=self.block_rows)

    def _verdict_item(self) -> Exportable:
        return Exportable("verdict", "verdict", text=self.verdict_text)

    def verdict_text(self) -> str:
        """Return the verdict with the picture's name, to be sent to somebody."""
        tested = self._tested
        if tested is None or tested.verdict is None:
            return ""
        return f"{tested.name}: {tested.verdict.sentence}\n"

    def block_rows(self) -> list[tuple[object, ...]]:
        """Return the votes of all blocks as a table."""
        found = self._tested.recognition if self._tested else None
        if found is None:
            return [("block",)]
        head = ("block", "x", "y", "class", "confidence", "level", "rank", "nearest")
        rows: list[tuple[object, ...]] = [(*head, *found.classes)]
        for block in range(found.grid.count):
            place = found.grid.rectangle(block)
            winner = int(found.winner[block])
            label = found.classes[winner] if winner >= 0 else "undecided"
            figures = (found.confidence[block], found.level[block], found.rank[block])
            row = [block, place.left, place.top, label]
            row += [f"{value:.6g}" for value in figures]
            row.append(int(found.nearest[block]))
            row += [f"{value:.6g}" for value in found.distances[block]]
            rows.append(tuple(row))
        return rows

    # --- drawing ----------------------------------------------------------------------------------

    def _fill(self) -> None:
        self.source.clear()
        for test in self.session.tested:
            self.source.addItem(test.name, test.number)
        if self.session.test is not None:
            self.source.setCurrentIndex(self.source.findData(self.session.test.number))

    def _draw(self) -> None:
        tested = self._tested
        if tested is None:
            return
        kind = self.kind
        spacing = self._wanted_spacing()
        self._spacing = spacing
        # A quick drawing is made at once, so that a picture needs no second job to be seen.
        run = self._latest.run_now if is_quick(tested) else self._latest.submit
        run(lambda: draw_map(kind, tested, spacing), self._on_drawn)

    def _wanted_spacing(self) -> int:
        """Return the spacing of patterns for the zoom at which the picture is or will be shown."""
        if self._tested is None:
            return spacing_at(self.canvas.zoom())
        height, width = self._tested.picture.shape
        return spacing_at(self.canvas.zoom_for((width, height)))

    def _on_zoomed(self) -> None:
        if self.kind == VOTES and self.isVisible() and self._wanted_spacing() != self._spacing:
            self._draw()

    def _on_drawn(self, drawn: tuple[Layer, QImage | None]) -> None:
        layer, overlay = drawn
        self.canvas.set_layer(layer)
        self.canvas.set_overlay(overlay)
        self.canvas.set_caption(self._tested.name if self._tested else "")
        found = self._tested.recognition if self._tested else None
        self.bar.setVisible(self.kind != VOTES and found is not None)
        if self.kind == CONFIDENCE:
            self.bar.set_scale(vote_overlays.CONFIDENCE_COLOURS, 0, 1, "{:.2f}")
        elif self.kind == SEVERITY and found is not None:
            limit = vote_overlays.severity_limit(found)
            number_format = "{:.0f}" if limit >= 100 else "{:.3g}"
            self.bar.set_scale(vote_overlays.SEVERITY_COLOURS, 0, limit, number_format)
        if self._save_when_drawn:
            self.ask_save_map()

    def _describe(self, tested: TestedPicture) -> None:
        self.show_block(self._block_at(self.canvas.view.cursor))
        verdict = tested.verdict
        if verdict is not None:
            self.bottom.show_verdict(verdict.sentence, known=True)
            self.legend.set_shares(ordered_shares(verdict))
        else:
            reason = GUESS_FIRST if tested.secret else _NOT_RECOGNISED
            self.bottom.show_verdict(reason, known=False)
            self.legend.set_shares({})
        notes = []
        if tested.truth and not tested.secret:
            notes.append(f"Actual: {theme.truth_words(tested.truth)}.")
        stale = self.session.tested_stale(tested)
        if stale:
            notes.append(self._stale_note(tested))
        outdated = stale or tested.recognition is None
        again = outdated and self.session.run is not None and not tested.secret
        self.bottom.show_notes(notes, again)

    def _stale_note(self, tested: TestedPicture) -> str:
        """Return why an answer is not that of the selected run on the current data."""
        run = self.session.run_of(tested.run)
        if run is None:
            return f"This answer is from run {tested.run}, which was deleted."
        if run is not self.session.run:
            return f"This answer is from {run.name}; another run is selected."
        return f"This answer is from {run.name}. {stale_sentence(self.session, run)}"

    # --- what happens -----------------------------------------------------------------------------

    def show_block(self, block: int | None) -> None:
        """Show the evidence for the vote of a block; clear it if there is no block."""
        tested = self._tested
        if tested is None or tested.recognition is None or block is None:
            self.canvas.set_highlight(None)
            self.legend.set_distances({})
            self.details.clear()
            return
        found = tested.recognition
        self.canvas.set_highlight(found.grid.rectangle(block))
        self.legend.set_distances(distances(found, block))
        run = self.session.run_of(tested.run)
        loaded = run is not None and self.session.holds(run)
        self.details.show_block(tested, block, self.session.dataset if loaded else None)

    def _block_at(self, place: tuple[int, int] | None) -> int | None:
        """Return the block at a pixel, or None if there is none."""
        found = self._tested.recognition if self._tested else None
        if place is None or found is None:
            return None
        row, column = place
        # While another picture is still shown, the cursor may lie outside this one.
        if row >= found.grid.height or column >= found.grid.width:
            return None
        return found.grid.index_at(row, column)

    def _on_cursor_changed(self, place: tuple[int, int] | None) -> None:
        self.show_block(self._block_at(place))

    def _on_source_chosen(self, place: int) -> None:
        number: Any = self.source.itemData(place)
        self.session.select_tested(number)

    def _on_map_clicked(self, button: QWidget) -> None:
        self.set_map(next(kind for kind, each in self.maps.items() if each is button))

    def _on_opacity_changed(self, value: int) -> None:
        self.canvas.set_overlay_opacity(value / 100)

    def _on_again(self) -> None:
        if self._tested is not None:
            self._actions.recognise_again([self._tested])

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.verdict_text().strip())
        self.session.say("info", "The verdict was copied to the clipboard.")

    def ask_save_map(self) -> None:
        """Ask for a file and save the map, as soon as that of the selected picture is drawn."""
        self._save_when_drawn = self._latest.busy
        if not self._save_when_drawn:
            self.exporter.save_as(self._map_item())

    def ask_save_votes(self) -> None:
        """Ask for a file and save the votes of all blocks."""
        self.exporter.save_as(self._blocks_item())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Redraw the patterns when the size of the canvas changes the zoom."""
        if event.type() == QEvent.Type.Resize:
            self._on_zoomed()
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Hide the map while Space is held."""
        if event.key() == Qt.Key.Key_Space:
            self.canvas.set_overlay_shown(False)
        else:
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """Show the map again when Space is released."""
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self.canvas.set_overlay_shown(True)
        else:
            super().keyReleaseEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        """Show the map again: the release of Space may go to another widget."""
        self.canvas.set_overlay_shown(True)
        super().hideEvent(event)

    def _on_focus_changed(self, _: QWidget | None, __: QWidget | None) -> None:
        # The widget with the new focus receives the release of Space, so the map is shown now.
        self.canvas.set_overlay_shown(True)


class SourceBox(QComboBox):
    """Chooses a test picture; a long name is shortened in the middle: both its ends matter."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName("Test picture")
        self.setToolTip(_SOURCE_TIP)
        self.setMinimumContentsLength(_SOURCE_LETTERS)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.view().setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.currentTextChanged.connect(self._on_text_changed)

    def shown_text(self) -> str:
        """Return the name as it is shown, shortened to the room there is."""
        return self._option().currentText

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the box with the shortened name."""
        painter = QStylePainter(self)
        option = self._option()
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()

    def _option(self) -> QStyleOptionComboBox:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        field = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, self)
        middle = Qt.TextElideMode.ElideMiddle
        text = self.fontMetrics().elidedText(self.currentText(), middle, room.width() - 4)
        option.currentText = text
        return option

    def _on_text_changed(self, text: str) -> None:
        self.setToolTip(f"{_SOURCE_TIP}: {text}" if text else _SOURCE_TIP)


def _beside(picture: QWidget, *column: QWidget) -> QSplitter:
    """Put a column of widgets beside a picture; what is above and below them comes first."""
    inner = QWidget()
    layout = QVBoxLayout(inner)
    layout.setContentsMargins(0, 0, 0, 0)
    for widget in column:
        layout.addWidget(widget)
    layout.setStretchFactor(column[-1], 1)
    area = QScrollArea()
    area.setWidget(inner)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setMinimumWidth(inner.minimumSizeHint().width())
    splitter = QSplitter(Qt.Orientation.Horizontal)
    splitter.addWidget(picture)
    splitter.addWidget(area)
    splitter.setStretchFactor(0, 1)
    splitter.setSizes([660, 300])
    # The column's preferred height must not push the verdict out of a low window.
    splitter.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
    splitter.setMinimumHeight(_LOWEST_MAP)
    return splitter


class VerdictBox(QWidget):
    """The verdict, notes on it, and the buttons for it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.verdict = QLabel(self)
        self.note = QLabel(self)
        for label in (self.verdict, self.note):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self.verdict.setAccessibleName("Verdict")
        self.verdict.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.verdict.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        font = self.verdict.font()
        font.setPointSizeF(font.pointSizeF() * 1.15)
        self.verdict.setFont(font)
        self.again = _push_button(
            "Recognise again", "Recognise this picture with the selected run", self
        )
        self.copy = _tool_button("Copy", "Copy the verdict", self)
        self.save = _tool_button("Save…", "Save the verdict as a text file", self)
        notes = QHBoxLayout()
        notes.addWidget(self.note, 1)
        notes.addWidget(self.again)
        texts = QVBoxLayout()
        texts.addWidget(self.verdict)
        texts.addLayout(notes)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addLayout(texts, 1)
        for button in (self.copy, self.save):
            row.addWidget(button, alignment=Qt.AlignmentFlag.AlignTop)

    def show_verdict(self, sentence: str, known: bool) -> None:
        """Show the verdict, or why there is none."""
        self.verdict.setText(sentence)
        for button in (self.copy, self.save):
            button.setEnabled(known)
            button.setToolTip("Copy or save the verdict" if known else "There is no verdict yet.")

    def show_notes(self, notes: list[str], again: bool) -> None:
        """Show notes on the verdict, and offer to recognise the picture again if `again`."""
        self.note.setText("  ".join(notes))
        self.note.setVisible(bool(notes))
        self.again.setVisible(again)


def _push_button(text: str, tip: str, parent: QWidget) -> QPushButton:
    button = QPushButton(text, parent)
    button.setAccessibleName(f"{text}: {tip}")
    button.setToolTip(tip)
    return button


def _tool_button(text: str, tip: str, parent: QWidget) -> QToolButton:
    button = QToolButton(parent)
    button.setText(text)
    button.setAccessibleName(tip)
    button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    return button


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(VoteMapViewer))
