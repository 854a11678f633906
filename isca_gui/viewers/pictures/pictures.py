"""The dataset: thumbnails by kind and level, and some pictures large beside the reference."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QItemSelectionModel, QRect, QSignalBlocker, Qt, QTimer
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QSplitter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isca_gui.jobs.names import JobName
from isca_gui.viewers import view_settings
from isca_gui.viewers.canvas import layers
from isca_gui.viewers.canvas.canvas import PictureCanvas
from isca_gui.viewers.cli_lines import dataset_command
from isca_gui.viewers.colour_bar import ColourBar
from isca_gui.viewers.export import Exportable, ExportError
from isca_gui.viewers.pictures import captions, gallery
from isca_gui.viewers.pictures.panes import (
    MAX_COMPARED,
    ComparisonSet,
    PaneContent,
    PaneGrid,
    compare,
)
from isca_gui.viewers.view_settings import ViewSetting
from isca_gui.viewers.viewer import (
    ChoiceButton,
    LatestOnly,
    NextStep,
    Viewer,
    step_to_dataset,
    zoom_buttons,
)
from isca_gui.widgets.flow_layout import Column, Flow

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QImage, QKeyEvent, QResizeEvent, QShowEvent
    from PySide6.QtWidgets import QMenu

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import Reference
    from isca_gui.session.session import Session
    from isca_gui.viewers.pictures.panes import Pane

# The ways to compare pictures, by the names that projects save.
SIDE_BY_SIDE = "side"
SWIPE = "swipe"
BLINK = "blink"
DIFFERENCE = "difference"
SIMILARITY = "ssim"
# Text and tooltip of the buttons.
MODES = {
    SIDE_BY_SIDE: ("Side by side", "The reference next to the chosen pictures, linked"),
    SWIPE: ("Swipe", "The chosen picture over the reference; drag the divider"),
    BLINK: ("Blink", "The reference and the chosen picture in turn (B)"),
    DIFFERENCE: ("Difference", "What was added to the reference to get the chosen picture"),
    SIMILARITY: ("SSIM map", "How similar each block is to the reference (1 = identical)"),
}
_BLINK_MILLISECONDS = 600


class PicturesViewer(Viewer):
    """The dataset's pictures."""

    TITLE = "Pictures"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self.mode = SIDE_BY_SIDE
        self._dataset: Dataset | None = None
        self._base = 0  # number of the picture that others are compared with
        self._chosen: tuple[int, ...] = ()  # in the order of the table
        self._choosing = False  # whether the selection is being changed from here
        self.shown: ComparisonSet | None = None
        self._latest = LatestOnly(jobs, "comparison", "Comparing pictures", self)
        self._latest_reference = LatestOnly(jobs, "reference", "Drawing the reference", self)
        # The reference is shown large on the empty page as long as there is no dataset.
        self.reference_canvas = PictureCanvas("Reference picture", self._empty)
        self._reference: Reference | None = None
        self._empty.put_above(self.reference_canvas)
        self._blink = QTimer(self)
        self._blink.setInterval(_BLINK_MILLISECONDS)
        self._blink.timeout.connect(self._on_blink)
        self._second_seen = False
        self._build()
        self.view_settings.register(
            mode=view_settings.one_of(self.modes),
            chosen=ViewSetting(lambda: list(self._chosen), self._restore_chosen),
            base=ViewSetting(lambda: self._base, self._restore_base),
            divider=view_settings.share(lambda: self.left.divider, self.left.set_divider),
            view=view_settings.visible_part(self.left.view),
        )
        session.dataset_changed.connect(self.mark_dirty)
        session.reference_changed.connect(self.mark_dirty)
        session.stale_changed.connect(self._on_stale_changed)

    def missing_step(self) -> NextStep | None:
        """Return the step to a dataset."""
        return step_to_dataset(self.session, self._actions)

    def redraw(self) -> None:
        """Lay out the dataset and choose its middle picture."""
        dataset = self.session.dataset
        if dataset is None:
            self._show_reference(self.session.reference)
        if dataset is self._dataset:
            # Whether it is stale may have changed while the viewer was hidden.
            self._show()
            return
        self._dataset = dataset
        self._latest.discard()
        self._base = 0
        self._chosen = ()
        self.shown = None
        self._pin.setChecked(False)
        self.model.set_dataset(dataset)
        if dataset is None:
            return
        self.jobs.start(
            JobName.THUMBNAILS,
            "Making thumbnails",
            lambda: gallery.thumbnails(dataset),
            done=self._on_thumbnails,
        )
        self.choose(min(len(dataset.entries) - 1, max(len(dataset.entries) // 2, 1)))

    def _show_reference(self, reference: Reference | None) -> None:
        """Show the reference large as long as there is no dataset."""
        self.reference_canvas.setVisible(reference is not None)
        if reference is None or reference is self._reference:
            return
        self._reference = reference
        picture = reference.picture
        self._latest_reference.submit(
            lambda: layers.grey_layer(picture), self.reference_canvas.set_layer
        )
        self.reference_canvas.set_caption(reference.name)

    def choose(self, *numbers: int) -> None:
        """Show pictures of the dataset large."""
        indexes = [index for number in numbers if (index := self.model.index_of(number)).isValid()]
        selection = self.table.selectionModel()
        flag = QItemSelectionModel.SelectionFlag
        self._choosing = True
        selection.clearSelection()
        for index in indexes:
            selection.select(index, flag.Select)
        if indexes:
            selection.setCurrentIndex(indexes[-1], flag.NoUpdate)
        self._choosing = False
        self._chosen = numbers
        self._compare()

    def _restore_chosen(self, saved: object) -> None:
        """Choose the pictures that were chosen in a project, as far as they exist."""
        if not isinstance(saved, list):
            return
        numbers = dict.fromkeys(each for each in saved if type(each) is int)
        existing = [number for number in numbers if self.model.index_of(number).isValid()]
        if existing:
            self.choose(*existing)

    def _restore_base(self, saved: object) -> None:
        """Compare with the picture that a project compares with, if it exists."""
        if type(saved) is int and self._dataset and 0 <= saved < len(self._dataset.entries):
            with QSignalBlocker(self._pin):
                self._pin.setChecked(saved > 0)
            self._base = saved
            self._compare()

    def set_mode(self, mode: str) -> None:
        """Change how the pictures are compared."""
        self.mode = mode
        self.modes[mode].setChecked(True)
        self._second_seen = False
        self._blink_if_seen()
        self._show()

    # --- building ---------------------------------------------------------------------------------

    def _build(self) -> None:
        self.model = gallery.GalleryModel(self)
        self.table = gallery.GalleryTable(self.model, self)
        self.table.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.panes = PaneGrid(self)
        self.left, self.right = self.panes.panes[:2]
        for pane in self.panes.panes:
            pane.menu = partial(self._pane_menu, pane)
        self.left.view.cursor_changed.connect(self._on_cursor_changed)
        self.bar = ColourBar("Map scale", self)
        panes = QHBoxLayout()
        panes.addWidget(self.panes, 1)
        panes.addWidget(self.bar)
        self.info = QLabel(self)
        self.readout = QLabel(" ", self)
        for label in (self.info, self.readout):
            label.setWordWrap(True)
        large = Column(self)
        column = QVBoxLayout(large)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(self._controls())
        column.addLayout(panes, 1)
        column.addWidget(self.info)
        column.addWidget(self.readout)
        splitter = QSplitter(Qt.Orientation.Vertical, self)
        splitter.addWidget(large)
        splitter.addWidget(self.table)
        splitter.setSizes([1000, 100])
        splitter.setStretchFactor(1, 0)
        splitter.setStretchFactor(0, 1)
        layout = QVBoxLayout(self.content)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addWidget(splitter)

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
        tip = "compare other pictures with the one chosen last instead of the reference"
        self._pin = ChoiceButton("Compare with this", tip, self)
        self._pin.toggled.connect(self._on_pin_toggled)
        row.addWidget(self._pin)
        row.push()
        row.addWidget(zoom_buttons(self.left, self))
        row.addWidget(self.exporter.button(*self.exportables()))
        return row

    def exportables(self) -> tuple[Exportable, ...]:
        """Return what can be saved and copied."""
        return (
            Exportable("pictures", "large pictures", image=self.panes.composed),
            Exportable("dataset", "dataset table", table=self.rows),
            Exportable("dataset", "command that makes the dataset", text=self.command),
        )

    def rows(self) -> list[tuple[object, ...]]:
        """Return the dataset as a table."""
        head = ("number", "label", "target MSE", "achieved MSE", "strength", "seed")
        rows: list[tuple[object, ...]] = [head]
        entries = self._dataset.entries if self._dataset else ()
        for number, entry in enumerate(entries):
            errors = (entry.target_mse, entry.achieved_mse)
            rows.append((number, entry.label, *errors, entry.strength, entry.seed))
        return rows

    def _pane_menu(self, pane: Pane) -> QMenu:
        this = Exportable(pane.caption, "this picture", image=pane.composed)
        return self.exporter.menu(this, *self.exportables())

    def command(self) -> str:
        """Return the command that makes the same dataset."""
        reference = self.session.work.dataset_of
        if self._dataset is None or self._dataset.spec is None:
            raise ExportError("This dataset was imported, so no command can make it.")
        picture = "PICTURE"
        if reference is not None and reference.path:
            picture = reference.path
        return dataset_command(self._dataset.spec, picture, "dataset")

    # --- drawing ----------------------------------------------------------------------------------

    def _compare(self) -> None:
        """Compare the chosen pictures with the base, as many as there are panes."""
        dataset = self._dataset
        base = self._base
        if dataset is None or not self._chosen or max(self._chosen) >= len(dataset.entries):
            return
        others = tuple(number for number in self._chosen if number != base)[:MAX_COMPARED]
        # If only the base is chosen, it is compared with itself.
        others = others or self._chosen[:1]
        first = dataset.pictures[base]
        seconds = [dataset.pictures[number] for number in others]
        self._latest.submit(
            lambda: ComparisonSet(base, others, compare(first, seconds)), self._on_compared
        )

    def _on_compared(self, compared: ComparisonSet) -> None:
        if self._dataset is not None and max(compared.others) < len(self._dataset.entries):
            self.shown = compared
            self._show()

    def _show(self) -> None:
        shown = self.shown
        if shown is None or self._dataset is None:
            return
        self.bar.setVisible(self.mode in (DIFFERENCE, SIMILARITY))
        if self.mode == DIFFERENCE:
            limit = shown.comparisons[0].limit
            self.bar.set_scale(
                layers.DIVERGING["Blue – white – red"], -limit, limit, "{:+.3g}", 255
            )
        elif self.mode == SIMILARITY:
            self.bar.set_scale(layers.SIMILARITY, 0, 1, "{:.2f}")
        self.panes.show_contents(self._contents(shown))
        self.info.setText(self._describe(shown))
        self._on_cursor_changed(self.left.view.cursor)
        self._reserve_readout()

    def _reserve_readout(self) -> None:
        """Reserve the height of the longest readout: the panes must not jump under the pointer."""
        if self.shown is None or self._dataset is None:
            return
        # The values of the corner, with more digits than any pixel can have.
        longest = captions.readout(self._dataset, self.shown, 0, 0).replace(" (", "00000 (")
        room = QRect(0, 0, max(self.panes.width(), 100), 10_000)
        box = self.readout.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap, longest)
        self.readout.setFixedHeight(box.height() + 2)

    def _contents(self, shown: ComparisonSet) -> list[PaneContent]:
        """Return what each pane shows in the current mode."""
        assert self._dataset is not None
        base = shown.comparisons[0].first
        base_name = captions.long_name(self._dataset, shown.base)
        base_short = captions.short_name(self._dataset, shown.base)
        base_content = PaneContent(base, base_name, base_short)
        pictures = []
        for number, comparison in zip(shown.others, shown.comparisons, strict=True):
            name = captions.long_name(self._dataset, number)
            short = captions.short_name(self._dataset, number)
            pictures.append(PaneContent(comparison.second, name, short))
        if self.mode == SIDE_BY_SIDE:
            return [base_content, *pictures]
        if self.mode == SWIPE:
            return [
                PaneContent(
                    base,
                    f"{base_name}  |  {each.caption}",
                    f"{base_short}  |  {each.short_caption}",
                    each.layer,
                )
                for each in pictures
            ]
        if self.mode == BLINK and self._second_seen:
            return pictures
        if self.mode == BLINK:
            return [base_content] * len(pictures)
        return self._maps(shown, pictures)

    def _maps(self, shown: ComparisonSet, pictures: list[PaneContent]) -> list[PaneContent]:
        """Return a map for each picture; a single picture is shown beside its map."""
        if self.mode == DIFFERENCE:
            title = "Difference"
            maps = [comparison.difference for comparison in shown.comparisons]
        else:
            title = "SSIM of the blocks"
            maps = [comparison.similarity for comparison in shown.comparisons]
        if len(pictures) == 1:
            return [*pictures, PaneContent(maps[0], title, title)]
        return [
            PaneContent(layer, f"{title}: {each.caption}", each.short_caption)
            for layer, each in zip(maps, pictures, strict=True)
        ]

    def _describe(self, shown: ComparisonSet) -> str:
        assert self._dataset is not None
        parts = captions.figures(self._dataset, shown)
        if len(self._chosen) > MAX_COMPARED:
            parts.append(f"{len(self._chosen)} chosen, only the first {MAX_COMPARED} are shown")
        if self.session.dataset_stale:
            parts.append(
                "made from another reference, or with settings other than those on the left"
            )
        return "  ·  ".join(parts)

    # --- what happens -----------------------------------------------------------------------------

    def _on_thumbnails(self, images: list[QImage]) -> None:
        if shiboken6.isValid(self) and self._dataset and len(images) == len(self._dataset.entries):
            self.model.set_thumbnails(images)

    def _on_selection_changed(self) -> None:
        if self._choosing:
            return
        cells = sorted(
            self.table.selectionModel().selectedIndexes(), key=lambda i: (i.row(), i.column())
        )
        numbers = [number for cell in cells if (number := self.model.picture_at(cell)) is not None]
        # If nothing is chosen, the large pictures stay.
        if numbers:
            self._chosen = tuple(numbers)
            self._compare()

    def _on_mode_clicked(self, button: QToolButton) -> None:
        self.set_mode(next(mode for mode, each in self.modes.items() if each is button))

    def _on_pin_toggled(self, on: bool) -> None:
        current = self.model.picture_at(self.table.currentIndex())
        self._base = 0
        if on and current is not None and current in self._chosen:
            self._base = current
        elif on and self._chosen:
            self._base = self._chosen[-1]
        self._compare()

    def _blink_if_seen(self) -> None:
        if self.mode == BLINK and self.in_sight:
            self._blink.start()
        else:
            self._blink.stop()

    def on_dock_visibility_changed(self, visible: bool) -> None:
        """Blink only while no other tab is in front."""
        super().on_dock_visibility_changed(visible)
        self._blink_if_seen()

    def _on_blink(self) -> None:
        self._second_seen = not self._second_seen
        self._show()

    def _on_stale_changed(self) -> None:
        if self.isVisible():
            self._show()

    def _on_cursor_changed(self, place: tuple[int, int] | None) -> None:
        if place is None or self.shown is None or self._dataset is None:
            self.readout.setText(" ")
        else:
            self.readout.setText(captions.readout(self._dataset, self.shown, *place))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Blink with B; the zoom keys work from the thumbnails, too."""
        if event.key() == Qt.Key.Key_B and not event.modifiers():
            self.set_mode(SIDE_BY_SIDE if self.mode == BLINK else BLINK)
        elif self.table.hasFocus() and self.shown is not None:
            self.left.keyPressEvent(event)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Adapt the height of the readout to the width."""
        super().resizeEvent(event)
        self._reserve_readout()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop blinking while hidden."""
        self._blink.stop()
        super().hideEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Go on blinking."""
        super().showEvent(event)
        self._blink_if_seen()


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(PicturesViewer))
