"""The dataset: small pictures by kind and level, and a large view of one beside the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QItemSelectionModel, QModelIndex, QSize, Qt, QTimer
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QSplitter,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isca_gui import theme
from isca_gui.core.distortions import DISTORTIONS, mse
from isca_gui.flow import Column, Flow
from isca_gui.viewers import gallery, layers
from isca_gui.viewers.canvas import PictureCanvas
from isca_gui.viewers.colour_bar import ColourBar
from isca_gui.viewers.commands import dataset_command
from isca_gui.viewers.export import Thing
from isca_gui.viewers.viewer import ChoiceButton, Newest, NextStep, Viewer, need_dataset, zoom_buttons

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PySide6.QtGui import QHideEvent, QKeyEvent

    from isca_gui.actions import Actions
    from isca_gui.core.dataset import Dataset
    from isca_gui.jobs import JobRunner
    from isca_gui.session import Reference, Session
    from isca_gui.viewers.layers import Layer

SIDE_BY_SIDE, SWIPE, BLINK, DIFFERENCE, SIMILARITY = "side", "swipe", "blink", "difference", "ssim"
MODES = {
    SIDE_BY_SIDE: ("Side by side", "Both pictures beside each other, linked"),
    SWIPE: ("Swipe", "One over the other; drag the divider"),
    BLINK: ("Blink", "One and the other in turn (B)"),
    DIFFERENCE: ("Difference", "The picture, and what was added to the reference to get it"),
    SIMILARITY: ("SSIM map", "The picture, and how similar each block is to the reference"),
}
_BLINK_MILLISECONDS = 600


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two pictures and all that is shown of them."""

    first: Layer
    second: Layer
    difference: Layer
    similarity: Layer
    limit: float
    error: float
    mean_similarity: float


def compare(first: NDArray[np.float32], second: NDArray[np.float32]) -> Comparison:
    """Measure and draw what differs between two pictures."""
    limit = float(abs(second - first).max()) or 1 / 255
    similarity, mean = layers.similarity_layer(first, second)
    return Comparison(
        layers.grey_layer(first), layers.grey_layer(second),
        layers.difference_layer(first, second, limit), similarity,
        limit, mse(first, second), mean,
    )  # fmt: skip


class PicturesViewer(Viewer):
    """The dataset's pictures."""

    TITLE = "Pictures"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self.mode = SIDE_BY_SIDE
        self._dataset: Dataset | None = None
        self._left = self._right = 0  # numbers of the pictures in the large view
        self._shown: Comparison | None = None
        self._newest = Newest(jobs, "comparison", "Comparing two pictures", self)
        self.alone = PictureCanvas("Reference picture, with nothing made of it yet", self._empty)
        self._alone: Reference | None = None  # what it shows
        self._empty.put_above(self.alone)
        self._blink = QTimer(self)
        self._blink.setInterval(_BLINK_MILLISECONDS)
        self._blink.timeout.connect(self._on_blink)
        self._second_seen = False
        self._build()
        session.dataset_changed.connect(self.outdated)
        session.reference_changed.connect(self.outdated)
        session.stale_changed.connect(self._on_stale_changed)

    def needs(self) -> NextStep | None:
        """Need a dataset."""
        return need_dataset(self.session, self.actions_)

    def redraw(self) -> None:
        """Lay out the dataset and choose its middle picture."""
        dataset = self.session.dataset
        if dataset is None:
            self._show_alone(self.session.reference)
        if dataset is self._dataset:
            return
        self._dataset = dataset
        self._left = 0
        self._pin.setChecked(False)
        self.model.set_dataset(dataset)
        if dataset is None:
            return
        self.jobs.start("thumbnails", "Making thumbnails", lambda: gallery.thumbnails(dataset),
                        done=self._on_thumbnails)  # fmt: skip
        self.choose(min(len(dataset.entries) - 1, max(len(dataset.entries) // 2, 1)))

    def _show_alone(self, reference: Reference | None) -> None:
        """Show the reference large as long as nothing was made of it."""
        self.alone.setVisible(reference is not None)
        if reference is None or reference is self._alone:
            return
        self._alone = reference
        self._newest.ask(lambda: layers.grey_layer(reference.picture), self.alone.set_layer)
        self.alone.set_caption(reference.name)

    def choose(self, number: int) -> None:
        """Show a picture of the dataset large."""
        self._right = number
        index = self.model.index_of(number)
        if index.isValid() and index != self.table.currentIndex():
            chosen = QItemSelectionModel.SelectionFlag.ClearAndSelect
            self.table.selectionModel().setCurrentIndex(index, chosen)
        self._compare()

    def set_mode(self, mode: str) -> None:
        """Change how the two pictures are compared."""
        self.mode = mode
        self.modes[mode].setChecked(True)
        self._second_seen = False
        self._blink.start() if mode == BLINK and self.isVisible() else self._blink.stop()
        self._show()

    # --- building ---------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.model = gallery.GalleryModel(self)
        self.table = QTableView(self)
        self.table.setModel(self.model)
        self.table.setAccessibleName("Pictures of the dataset, kinds in rows, MSE levels in columns")
        self.table.setToolTip("Click a picture to see it large")
        self.table.setIconSize(QSize(gallery.SIDE, gallery.SIDE))
        self.table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.table.setTabKeyNavigation(False)
        self.table.setMinimumHeight(gallery.SIDE + 34)
        for header in (self.table.horizontalHeader(), self.table.verticalHeader()):
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            header.setDefaultSectionSize(gallery.SIDE + 6)
        self.table.selectionModel().currentChanged.connect(self._on_current_changed)
        self.left = PictureCanvas("Reference picture", self)
        self.right = PictureCanvas("Distorted picture", self, self.left.view)
        for canvas in (self.left, self.right):
            canvas.menu = self._menu
        self.left.view.cursor_changed.connect(self._on_cursor_changed)
        self.bar = ColourBar("Scale of the map", self)
        panes = QHBoxLayout()
        for widget, stretch in ((self.left, 1), (self.right, 1), (self.bar, 0)):
            panes.addWidget(widget, stretch)
        self.info, self.readout = QLabel(self), QLabel(" ", self)
        self.info.setWordWrap(True)
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
        tip = "put the chosen picture in the reference's place, to compare others with it"
        self._pin = ChoiceButton("Compare with this", tip, self)
        self._pin.toggled.connect(self._on_pin_toggled)
        row.addWidget(self._pin)
        row.push()
        row.addWidget(zoom_buttons(self.left, self))
        row.addWidget(self.exporter.button(*self._things()))
        return row

    def _things(self) -> tuple[Thing, ...]:
        return (
            Thing("reference", "left picture", image=self.left.composed),
            Thing("distorted", "right picture", image=self.right.composed),
            Thing("dataset", "table of the dataset", table=self.rows),
            Thing("dataset", "command that makes the dataset", text=self.command),
        )

    def _menu(self):  # type: ignore[no-untyped-def]
        return self.exporter.menu(*self._things())

    def rows(self) -> list[tuple[object, ...]]:
        """Give the dataset as a table."""
        rows: list[tuple[object, ...]] = [
            ("number", "label", "target MSE", "achieved MSE", "strength", "seed")
        ]
        for number, entry in enumerate(self._dataset.entries if self._dataset else ()):
            rows.append(
                (number, entry.label, entry.target_mse, entry.achieved_mse, entry.strength, entry.seed)
            )
        return rows

    def command(self) -> str:
        """Give the command that makes the same dataset."""
        reference = self.session.reference
        if self._dataset is None or self._dataset.spec is None:
            return "This dataset was imported; there is no command that makes it."
        picture = reference.path if reference is not None and reference.path else "PICTURE"
        return dataset_command(self._dataset.spec, picture, "dataset")

    # --- drawing ----------------------------------------------------------------------------------------

    def _compare(self) -> None:
        dataset = self._dataset
        if dataset is None or self._right >= len(dataset.entries):
            return
        first, second = dataset.pictures[self._left], dataset.pictures[self._right]
        self._newest.ask(lambda: compare(first, second), self._on_compared)

    def _on_compared(self, comparison: Comparison) -> None:
        self._shown = comparison
        self._show()

    def _show(self) -> None:
        shown, dataset = self._shown, self._dataset
        if shown is None or dataset is None or self._right >= len(dataset.entries):
            return
        names = self._name(self._left), self._name(self._right)
        single = self.mode in (SWIPE, BLINK)
        self.right.setVisible(not single)
        self.bar.setVisible(self.mode in (DIFFERENCE, SIMILARITY))
        self.left.set_second(shown.second if self.mode == SWIPE else None)
        if self.mode == SIDE_BY_SIDE:
            self._panes((shown.first, names[0]), (shown.second, names[1]))
        elif self.mode == SWIPE:
            self._panes((shown.first, f"{names[0]}  |  {names[1]}"), (shown.second, names[1]))
        elif self.mode == BLINK:
            first, second = (shown.first, names[0]), (shown.second, names[1])
            self._panes(second if self._second_seen else first, second)
        elif self.mode == DIFFERENCE:
            self._panes((shown.second, names[1]), (shown.difference, "Difference"))
            table = layers.DIVERGING["Blue – white – red"]
            self.bar.set_scale(table, -shown.limit, shown.limit, "{:+.3g}", 255)
        else:
            self._panes((shown.second, names[1]), (shown.similarity, "SSIM of the blocks"))
            self.bar.set_scale(layers.SIMILARITY, 0, 1, "{:.2f}")
        self.info.setText(self._describe(shown))

    def _panes(self, left: tuple[Layer, str], right: tuple[Layer, str]) -> None:
        for canvas, (layer, caption) in ((self.left, left), (self.right, right)):
            canvas.set_layer(layer)
            canvas.set_caption(caption)

    def _name(self, number: int) -> str:
        if self._dataset is None or number == 0:
            return "Reference"
        entry = self._dataset.entries[number]
        return f"{theme.class_style(entry.label).title}, MSE {entry.achieved_mse:.1f}"

    def _describe(self, shown: Comparison) -> str:
        assert self._dataset is not None
        entry = self._dataset.entries[self._right]
        parts = [theme.class_style(entry.label).title]
        if self._dataset.spec is not None and self._right:
            parts.append(f"target MSE {entry.target_mse:g}")
        parts.append(f"achieved MSE {entry.achieved_mse:.2f}")
        row = DISTORTIONS.get(entry.label)
        if row is not None and entry.strength > 0:
            parts.append(f"strength {entry.strength:.4g} ({row.unit})")
        against = "" if self._left == 0 else f" against {self._name(self._left)}, MSE {shown.error:.2f}"
        parts.append(f"SSIM {shown.mean_similarity:.4f}{against}")
        if self.session.dataset_stale:
            parts.append("made of another reference or other settings than those shown now")
        return "  ·  ".join(parts)

    # --- what happens -----------------------------------------------------------------------------------

    def _on_thumbnails(self, images: list) -> None:  # type: ignore[type-arg]
        if shiboken6.isValid(self) and self._dataset and len(images) == len(self._dataset.entries):
            self.model.set_thumbnails(images)

    def _on_current_changed(self, current: QModelIndex, _: QModelIndex) -> None:
        number = self.model.picture_at(current)
        if number is not None and number != self._right:
            self.choose(number)

    def _on_mode_clicked(self, button: QToolButton) -> None:
        self.set_mode(next(mode for mode, each in self.modes.items() if each is button))

    def _on_pin_toggled(self, on: bool) -> None:
        self._left = self._right if on else 0
        self._compare()

    def _on_blink(self) -> None:
        self._second_seen = not self._second_seen
        self._show()

    def _on_stale_changed(self) -> None:
        if self.isVisible():
            self._show()

    def _on_cursor_changed(self, place: tuple[int, int] | None) -> None:
        shown = self._shown
        if place is None or shown is None:
            self.readout.setText(" ")
            return
        row, column = place
        self.readout.setText(
            f"x {column}, y {row}    {self._name(self._left)}: {shown.first.text_at(row, column)}    "
            f"{self._name(self._right)}: {shown.second.text_at(row, column)}    "
            f"difference {shown.difference.text_at(row, column)}    "
            f"SSIM {shown.similarity.text_at(row, column)}"
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """B blinks."""
        if event.key() == Qt.Key.Key_B and not event.modifiers():
            self.set_mode(SIDE_BY_SIDE if self.mode == BLINK else BLINK)
        else:
            super().keyPressEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        """Do not blink unseen."""
        self._blink.stop()
        super().hideEvent(event)

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        """Blink on."""
        super().showEvent(event)
        if self.mode == BLINK:
            self._blink.start()


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(PicturesViewer))
