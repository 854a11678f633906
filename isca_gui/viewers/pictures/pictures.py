"""The dataset: small pictures by kind and level, and a large view of some beside the reference."""

from __future__ import annotations

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
from isca_gui.viewers.canvas.panes import MOST, ComparisonSet, PaneContent, PaneGrid, compare
from isca_gui.viewers.cli_lines import dataset_command
from isca_gui.viewers.colour_bar import ColourBar
from isca_gui.viewers.export import Exportable, ExportError
from isca_gui.viewers.pictures import captions, gallery
from isca_gui.viewers.viewer import (
    ChoiceButton,
    LatestOnly,
    NextStep,
    Viewer,
    need_dataset,
    zoom_buttons,
)
from isca_gui.widgets.flow_layout import Column, Flow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtGui import QHideEvent, QKeyEvent, QResizeEvent
    from PySide6.QtWidgets import QMenu

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import Reference
    from isca_gui.session.session import Session
    from isca_gui.viewers.canvas.panes import Pane

SIDE_BY_SIDE, SWIPE, BLINK, DIFFERENCE, SIMILARITY = "side", "swipe", "blink", "difference", "ssim"
MODES = {
    SIDE_BY_SIDE: (
        "Side by side",
        "The reference and the chosen pictures beside each other, linked",
    ),
    SWIPE: ("Swipe", "The chosen picture over the reference; drag the divider"),
    BLINK: ("Blink", "The reference and the chosen picture in turn (B)"),
    DIFFERENCE: ("Difference", "What was added to the reference to get the chosen picture"),
    SIMILARITY: ("SSIM map", "How similar each block is to the reference; 1 is equal"),
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
        self._choosing = False
        self.shown: ComparisonSet | None = None
        self._newest = LatestOnly(jobs, "comparison", "Comparing pictures", self)
        self._newest_alone = LatestOnly(jobs, "reference", "Drawing the reference", self)
        self.alone = PictureCanvas("Reference picture, with nothing made of it yet", self._empty)
        self._alone: Reference | None = None  # what it shows
        self._empty.put_above(self.alone)
        self._blink = QTimer(self)
        self._blink.setInterval(_BLINK_MILLISECONDS)
        self._blink.timeout.connect(self._on_blink)
        self._second_seen = False
        self._build()
        self.looks.keep(
            mode=view_settings.one_of(self.modes),
            chosen=view_settings.Kept(lambda: list(self._chosen), self._choose_again),
            base=view_settings.Kept(lambda: self._base, self._pin_again),
            divider=view_settings.share(lambda: self.left.divider, self.left.set_divider),
            view=view_settings.view(self.left.view),
        )
        session.dataset_changed.connect(self.mark_dirty)
        session.reference_changed.connect(self.mark_dirty)
        session.stale_changed.connect(self._on_stale_changed)

    def missing_step(self) -> NextStep | None:
        """Need a dataset."""
        return need_dataset(self.session, self._actions)

    def redraw(self) -> None:
        """Lay out the dataset and choose its middle picture."""
        dataset = self.session.dataset
        if dataset is None:
            self._show_alone(self.session.reference)
        if dataset is self._dataset:
            self._show()  # whether it is stale may have changed unseen
            return
        self._dataset = dataset
        self._newest.forget()
        self._base, self._chosen, self.shown = 0, (), None
        self._pin.setChecked(False)
        self.model.set_dataset(dataset)
        if dataset is None:
            return
        self.jobs.start(JobName.THUMBNAILS, "Making thumbnails", lambda: gallery.thumbnails(dataset),
                        done=self._on_thumbnails)  # fmt: skip
        self.choose(min(len(dataset.entries) - 1, max(len(dataset.entries) // 2, 1)))

    def _show_alone(self, reference: Reference | None) -> None:
        """Show the reference large as long as nothing was made of it."""
        self.alone.setVisible(reference is not None)
        if reference is None or reference is self._alone:
            return
        self._alone = reference
        self._newest_alone.ask(lambda: layers.grey_layer(reference.picture), self.alone.set_layer)
        self.alone.set_caption(reference.name)

    def choose(self, *numbers: int) -> None:
        """Show pictures of the dataset large."""
        indexes = [index for number in numbers if (index := self.model.index_of(number)).isValid()]
        model, flag = self.table.selectionModel(), QItemSelectionModel.SelectionFlag
        self._choosing = True
        model.clearSelection()
        for index in indexes:
            model.select(index, flag.Select)
        if indexes:
            model.setCurrentIndex(indexes[-1], flag.NoUpdate)
        self._choosing = False
        self._take(numbers)

    def _choose_again(self, kept: object) -> None:
        """Choose what a project has chosen, as far as it is there."""
        wanted = [each for each in kept if type(each) is int] if isinstance(kept, list) else []
        there = [
            number for number in dict.fromkeys(wanted) if self.model.index_of(number).isValid()
        ]
        if there:
            self.choose(*there)

    def _pin_again(self, kept: object) -> None:
        """Compare with what a project compares with, if it is there."""
        if type(kept) is int and self._dataset and 0 <= kept < len(self._dataset.entries):
            with QSignalBlocker(self._pin):
                self._pin.setChecked(kept > 0)
            self._base = kept
            self._compare()

    def _take(self, numbers: Iterable[int]) -> None:
        """Compare the first of some pictures with the base; no more than there are panes."""
        self._chosen = tuple(numbers)
        self._compare()

    def set_mode(self, mode: str) -> None:
        """Change how the pictures are compared."""
        self.mode = mode
        self.modes[mode].setChecked(True)
        self._second_seen = False
        self._blink_if_seen()
        self._show()

    # --- building ---------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.model = gallery.GalleryModel(self)
        self.table = gallery.GalleryTable(self.model, self)
        self.table.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.panes = PaneGrid(self)
        self.left, self.right = self.panes.panes[:2]
        for pane in self.panes.panes:
            pane.menu = _PaneMenu(self, pane)
        self.left.view.cursor_changed.connect(self._on_cursor_changed)
        self.bar = ColourBar("Scale of the map", self)
        panes = QHBoxLayout()
        panes.addWidget(self.panes, 1)
        panes.addWidget(self.bar)
        self.info, self.readout = QLabel(self), QLabel(" ", self)
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
        tip = "put the picture chosen last in the reference's place, to compare others with it"
        self._pin = ChoiceButton("Compare with this", tip, self)
        self._pin.toggled.connect(self._on_pin_toggled)
        row.addWidget(self._pin)
        row.push()
        row.addWidget(zoom_buttons(self.left, self))
        row.addWidget(self.exporter.button(*self.things()))
        return row

    def things(self) -> tuple[Exportable, ...]:
        """Give what can be saved and copied."""
        return (
            Exportable("pictures", "large pictures", image=self.panes.composed),
            Exportable("dataset", "table of the dataset", table=self.rows),
            Exportable("dataset", "command that makes the dataset", text=self.command),
        )

    def rows(self) -> list[tuple[object, ...]]:
        """Give the dataset as a table."""
        rows: list[tuple[object, ...]] = [
            ("number", "label", "target MSE", "achieved MSE", "strength", "seed")
        ]
        for number, entry in enumerate(self._dataset.entries if self._dataset else ()):
            rows.append(
                (
                    number,
                    entry.label,
                    entry.target_mse,
                    entry.achieved_mse,
                    entry.strength,
                    entry.seed,
                )
            )
        return rows

    def command(self) -> str:
        """Give the command that makes the same dataset."""
        reference = self.session.work.dataset_of
        if self._dataset is None or self._dataset.spec is None:
            raise ExportError("This dataset was imported; there is no command that makes it.")
        picture = reference.path if reference is not None and reference.path else "PICTURE"
        return dataset_command(self._dataset.spec, picture, "dataset")

    # --- drawing ----------------------------------------------------------------------------------------

    def _compare(self) -> None:
        dataset, base = self._dataset, self._base
        if dataset is None or not self._chosen or max(self._chosen) >= len(dataset.entries):
            return
        others = (
            tuple(number for number in self._chosen if number != base)[:MOST] or self._chosen[:1]
        )
        first, seconds = dataset.pictures[base], [dataset.pictures[number] for number in others]
        self._newest.ask(
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
        self.panes.show_panes(self._panes(shown))
        self.info.setText(self._describe(shown))
        self._on_cursor_changed(self.left.view.cursor)
        self._keep_room()

    def _keep_room(self) -> None:
        """Give the readout the height it needs with the pointer on a picture: the panes must not jump."""
        if self.shown is None or self._dataset is None:
            return
        longest = captions.readout(self._dataset, self.shown, 0, 0).replace(" (", "00000 (")
        room = QRect(0, 0, max(self.panes.width(), 100), 10_000)
        box = self.readout.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap, longest)
        self.readout.setFixedHeight(box.height() + 2)

    def _panes(self, shown: ComparisonSet) -> list[PaneContent]:
        """Give what each pane shows in the mode chosen."""
        assert self._dataset is not None
        names = [
            (captions.long_name(self._dataset, number), captions.short_name(self._dataset, number))
            for number in (shown.base, *shown.others)
        ]
        base, short = names[0]
        pairs = [(*name, each) for name, each in zip(names[1:], shown.comparisons, strict=True)]
        pictures = [PaneContent(c.second, name, brief) for name, brief, c in pairs]
        if self.mode == SIDE_BY_SIDE:
            return [PaneContent(shown.comparisons[0].first, base, short), *pictures]
        if self.mode == SWIPE:
            return [PaneContent(c.first, f"{base}  |  {name}", f"{short}  |  {brief}", c.second)
                    for name, brief, c in pairs]  # fmt: skip
        if self.mode == BLINK:
            return (
                pictures
                if self._second_seen
                else [PaneContent(c.first, base, short) for _, _, c in pairs]
            )
        word = "Difference" if self.mode == DIFFERENCE else "SSIM of the blocks"
        maps = [c.difference if self.mode == DIFFERENCE else c.similarity for _, _, c in pairs]
        if len(pairs) == 1:
            return [*pictures, PaneContent(maps[0], word, word)]
        return [PaneContent(layer, f"{word}: {name}", brief)
                for layer, (name, brief, _) in zip(maps, pairs, strict=True)]  # fmt: skip

    def _describe(self, shown: ComparisonSet) -> str:
        assert self._dataset is not None
        parts = captions.figures(self._dataset, shown)
        if len(self._chosen) > MOST:
            parts.append(f"{len(self._chosen)} are chosen; only the first {MOST} are shown")
        if self.session.dataset_stale:
            parts.append("made of another reference or other settings than those shown now")
        return "  ·  ".join(parts)

    # --- what happens -----------------------------------------------------------------------------------

    def _on_thumbnails(self, images: list) -> None:  # type: ignore[type-arg]
        if shiboken6.isValid(self) and self._dataset and len(images) == len(self._dataset.entries):
            self.model.set_thumbnails(images)

    def _on_selection_changed(self) -> None:
        if self._choosing:
            return
        cells = sorted(
            self.table.selectionModel().selectedIndexes(), key=lambda i: (i.row(), i.column())
        )
        numbers = [number for cell in cells if (number := self.model.picture_at(cell)) is not None]
        if numbers:  # with nothing chosen the large view stays
            self._take(numbers)

    def _on_mode_clicked(self, button: QToolButton) -> None:
        self.set_mode(next(mode for mode, each in self.modes.items() if each is button))

    def _on_pin_toggled(self, on: bool) -> None:
        current = self.model.picture_at(self.table.currentIndex())
        last = current if current in self._chosen else self._chosen[-1] if self._chosen else 0
        self._base = last if on and last is not None else 0
        self._compare()

    def _blink_if_seen(self) -> None:
        self._blink.start() if self.mode == BLINK and self.in_sight else self._blink.stop()

    def on_dock_visibility_changed(self, visible: bool) -> None:
        """Blink only in front of other tabs."""
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
        """B blinks; the keys of zooming work from the small pictures too."""
        if event.key() == Qt.Key.Key_B and not event.modifiers():
            self.set_mode(SIDE_BY_SIDE if self.mode == BLINK else BLINK)
        elif self.table.hasFocus() and self.shown is not None:
            self.left.keyPressEvent(event)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep room for the readout."""
        super().resizeEvent(event)
        self._keep_room()

    def hideEvent(self, event: QHideEvent) -> None:
        """Do not blink unseen."""
        self._blink.stop()
        super().hideEvent(event)

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        """Blink on."""
        super().showEvent(event)
        self._blink_if_seen()


class _PaneMenu:
    """Makes the menu of one pane."""

    def __init__(self, viewer: PicturesViewer, pane: Pane) -> None:
        self._viewer, self._pane = viewer, pane

    def __call__(self) -> QMenu:
        this = Exportable(self._pane.caption, "this picture", image=self._pane.composed)
        return self._viewer.exporter.menu(this, *self._viewer.things())


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(PicturesViewer))
