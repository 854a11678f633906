"""What was recognised in a picture, and where: the vote map over it, the shares, the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from isca_gui.core.recognition import vote_overlays
from isca_gui.jobs.names import JobName
from isca_gui.viewers import view_settings
from isca_gui.viewers.canvas.canvas import PictureCanvas
from isca_gui.viewers.colour_bar import ColourBar
from isca_gui.viewers.export import Exportable
from isca_gui.viewers.runs import run_data
from isca_gui.viewers.viewer import (
    ChoiceButton,
    LatestOnly,
    NextStep,
    Viewer,
    need_run,
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
    ordered_shares,
    spacing_at,
)
from isca_gui.viewers.votes.legend import Legend
from isca_gui.viewers.votes.parts import SourceBox, VerdictBox, beside, plain_button
from isca_gui.widgets import theme
from isca_gui.widgets.flow_layout import Flow, together

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QImage, QKeyEvent

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import TestedPicture
    from isca_gui.session.session import Session
    from isca_gui.viewers.canvas.layers import Layer

_OPACITY = 60  # per cent, at first
_NOT_YET = "This picture has not been recognised yet: train a model first."


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
        self._newest = LatestOnly(jobs, "vote map", "Drawing the map", self)
        self._save_when_drawn = False
        self._build()
        kept = {
            "map": view_settings.one_of(self.maps),
            "opacity": view_settings.slider(self.opacity),
        }
        self.looks.keep(**kept, view=view_settings.view(self.canvas.view))
        for signal in (
            *(session.tested_selected, session.tested_changed, session.run_selected),
            *(session.dataset_changed, session.reference_changed, session.stale_changed),
        ):
            signal.connect(self.mark_dirty)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._on_focus_changed)

    def missing_step(self) -> NextStep | None:
        """Need a trained model and a test picture."""
        if self.session.test is not None:
            return None
        spec = self.session.spec
        kind = "jpeg" if "jpeg" in spec.kinds else spec.kinds[-1]
        level = spec.levels[len(spec.levels) // 2]
        return need_run(self.session, self._actions) or NextStep(
            "Next: open a test picture at the left, or begin with a distorted version of the reference.",
            "Make and recognise a test picture",
            lambda: self._actions.recognise_made(kind, level, spec.seed + 1),
            JobName.RECOGNITION,
        )

    def redraw(self) -> None:
        """Show the selected test picture."""
        tested = concealed(self.session.test)
        self._fill()
        if tested is not self._tested:
            self._tested = tested
            found = tested.recognition if tested is not None else None
            self.canvas.view.stride = found.grid.side if found is not None else 1
            self._newest.forget()
            self._draw()
        if tested is not None:
            self._describe(tested)

    def set_map(self, kind: str) -> None:
        """Show another map."""
        self.kind = kind
        self.maps[kind].setChecked(True)
        self._draw()

    # --- building ---------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.canvas = PictureCanvas("Test picture with its map", self)
        self.canvas.set_overlay_opacity(_OPACITY / 100)
        self.canvas.view.cursor_changed.connect(self._on_cursor_changed)
        self.canvas.view.changed.connect(self._on_zoomed)
        self.canvas.installEventFilter(self)  # a fitted picture has another zoom at another size
        self.canvas.menu = lambda: self.exporter.menu(*self._things())
        self.bar = ColourBar("Scale of the map", self)
        self.legend = Legend(self)
        self.details = BlockDetails(self)
        self.bottom = VerdictBox(self)
        self.verdict, self.note = self.bottom.verdict, self.bottom.note
        self.again, self.copy, self.save = self.bottom.again, self.bottom.copy, self.bottom.save
        self.again.clicked.connect(self._on_again)
        self.copy.clicked.connect(self._on_copy)
        self.save.clicked.connect(lambda: self.exporter.ask(self._verdict_thing()))
        picture = QWidget(self)
        row = QHBoxLayout(picture)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.canvas, 1)
        row.addWidget(self.bar)
        layout = QVBoxLayout(self.content)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addLayout(self._controls())
        layout.addWidget(beside(picture, self.legend, self.details), 1)
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
        self.opacity.setAccessibleName("Opacity of the map")
        self.opacity.setToolTip("Opacity of the map; hold Space to see the picture alone")
        self.opacity.setRange(0, 100)
        self.opacity.setValue(_OPACITY)
        self.opacity.setFixedWidth(86)
        self.opacity.valueChanged.connect(self._on_opacity_changed)
        label = QLabel("Opacity", self)
        label.setBuddy(self.opacity)
        self.hide_button = plain_button("Hide", "Hold to see the picture alone (Space)", self)
        self.hide_button.pressed.connect(lambda: self.canvas.set_overlay_shown(False))
        self.hide_button.released.connect(lambda: self.canvas.set_overlay_shown(True))
        row.addWidget(together(self, label, self.opacity, self.hide_button))
        row.push()
        row.addWidget(zoom_buttons(self.canvas, self))
        row.addWidget(self.exporter.button(*self._things()))
        return row

    def _things(self) -> tuple[Exportable, ...]:
        return (
            Exportable("vote map", "map", image=self.canvas.composed),
            Exportable("votes", "bar chart", image=self.legend.drawn, svg=self.legend.svg),
            Exportable("votes", "table of the votes", table=self.legend.rows),
            Exportable("blocks", "table of the blocks", table=self.block_rows),
            self._verdict_thing(),
        )

    def _verdict_thing(self) -> Exportable:
        return Exportable("verdict", "verdict", text=self.verdict_text)

    def verdict_text(self) -> str:
        """Give the verdict as it can be sent to somebody."""
        tested = self._tested
        return f"{tested.name}: {tested.verdict.sentence}\n" if tested and tested.verdict else ""

    def block_rows(self) -> list[tuple[object, ...]]:
        """Give the votes of all blocks as a table."""
        found = self._tested.recognition if self._tested else None
        if found is None:
            return [("block",)]
        head = (
            "block",
            "x",
            "y",
            "class",
            "confidence",
            "level",
            "rank",
            "nearest",
            *found.classes,
        )
        rows: list[tuple[object, ...]] = [head]
        for block in range(found.grid.count):
            place, winner = found.grid.rectangle(block), int(found.winner[block])
            label = found.classes[winner] if winner >= 0 else "undecided"
            figures = (found.confidence[block], found.level[block], found.rank[block])
            rows.append(
                (block, place.left, place.top, label, *(f"{value:.6g}" for value in figures),
                 int(found.nearest[block]), *(f"{value:.6g}" for value in found.distances[block]))
            )  # fmt: skip
        return rows

    # --- drawing ----------------------------------------------------------------------------------------

    def _fill(self) -> None:
        self.source.clear()
        for test in self.session.tested:
            self.source.addItem(test.name, test.number)
        if self.session.test is not None:
            self.source.setCurrentIndex(self.source.findData(self.session.test.number))

    def _draw(self) -> None:
        tested, kind = self._tested, self.kind
        if tested is not None:
            self._spacing = spacing = self._wanted_spacing()
            self._newest.ask(lambda: draw_map(kind, tested, spacing), self._on_drawn)

    def _wanted_spacing(self) -> int:
        """Give the spacing of patterns for the zoom shown, also for a picture that is not shown yet."""
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
            form = "{:.0f}" if limit >= 100 else "{:.3g}"
            self.bar.set_scale(vote_overlays.SEVERITY_COLOURS, 0, limit, form)
        if self._save_when_drawn:
            self.ask_save_map()

    def _describe(self, tested: TestedPicture) -> None:
        secret, verdict = tested.secret, tested.verdict
        self.show_block(self._block_at(self.canvas.view.cursor))
        unknown = GUESS_FIRST if secret else _NOT_YET
        self.bottom.show_verdict(verdict.sentence if verdict else unknown, verdict is not None)
        self.legend.set_shares(ordered_shares(verdict) if verdict is not None else {})
        notes = (
            [f"In truth: {theme.truth_words(tested.truth)}."] if tested.truth and not secret else []
        )
        stale = self.session.tested_stale(tested)
        if stale:
            run = self.session.run_of(tested.run)
            name = run.name if run is not None else f"run {tested.run}"
            selected = run is not None and run is self.session.run
            why = (
                run_data.sentence(self.session, run)
                if run and selected
                else "It is not selected now."
            )
            notes.append(f"Recognised by {name}. {why}")
        can = (stale or tested.recognition is None) and self.session.run is not None and not secret
        self.bottom.show_notes(notes, can)

    # --- what happens -----------------------------------------------------------------------------------

    def show_block(self, block: int | None) -> None:
        """Show what speaks for the vote of a block."""
        tested = self._tested
        if tested is None or tested.recognition is None or block is None:
            self.canvas.set_highlight(None)
            self.legend.set_distances({})
            self.details.clear()
            return
        found = tested.recognition
        self.canvas.set_highlight(found.grid.rectangle(block))
        self.legend.set_distances(distances(found, block))
        run, dataset = self.session.run_of(tested.run), self.session.dataset
        fits = run is not None and self.session.holds(run)
        self.details.show_block(tested, block, dataset if fits else None)

    def _block_at(self, place: tuple[int, int] | None) -> int | None:
        """Give the block at a pixel; None where there is none."""
        found = self._tested.recognition if self._tested else None
        if (
            place is None
            or found is None
            or place[0] >= found.grid.height
            or place[1] >= found.grid.width
        ):
            return None
        return found.grid.index_at(*place)

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
        self.session.say("info", "The verdict is on the clipboard.")

    def ask_save_map(self) -> None:
        """Ask for a file and save the map, when that of the selected picture is drawn."""
        self._save_when_drawn = self._newest.busy
        if not self._save_when_drawn:
            self.exporter.ask(self._things()[0])

    def ask_save_votes(self) -> None:
        """Ask for a file and save the votes of all blocks."""
        self.exporter.ask(self._things()[3])

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Draw patterns anew when the picture's pane has another size."""
        if event.type() == QEvent.Type.Resize:
            self._on_zoomed()
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space hides the map while it is held."""
        if event.key() == Qt.Key.Key_Space:
            self.canvas.set_overlay_shown(False)
        else:
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """Show the map again."""
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self.canvas.set_overlay_shown(True)
        else:
            super().keyReleaseEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        """Do not stay without the map when Space is released elsewhere."""
        self.canvas.set_overlay_shown(True)
        super().hideEvent(event)

    def _on_focus_changed(self, _: QWidget | None, __: QWidget | None) -> None:
        self.canvas.set_overlay_shown(
            True
        )  # who has the keyboard now hears of Space what we do not


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(VoteMapViewer))
