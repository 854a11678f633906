"""What was learned: U, V and J of all blocks, put together as pictures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from isca_gui.viewers import view_settings
from isca_gui.viewers.bases import drawing as bases_drawing
from isca_gui.viewers.bases.drawing import MAX_COMPONENTS, ROWS, Drawing
from isca_gui.viewers.canvas import layers
from isca_gui.viewers.canvas.canvas import PictureCanvas
from isca_gui.viewers.colour_bar import ColourBar
from isca_gui.viewers.export import Exportable, exportable_plot
from isca_gui.viewers.plots import add_menu, line_pen, make_plot, show_histogram, style_plot
from isca_gui.viewers.viewer import (
    LatestOnly,
    NextStep,
    Viewer,
    stale_sentence,
    step_to_run,
    zoom_buttons,
)
from isca_gui.widgets import theme
from isca_gui.widgets.flow_layout import Flow, together
from isca_gui.widgets.quiet_widgets import SteadyLabel

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PySide6.QtGui import QImage, QResizeEvent
    from PySide6.QtWidgets import QMenu

    from isca_gui.core.model.model import Model
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Session

_CHOOSE_BLOCK = "Click a block to see its basis patches, or use Shift+arrow keys and Enter."
_TIPS = {
    "U": "U, the learned subspace",
    "V": "V, the orthonormal matrix nearest to U + J",
    "J": "J, the sum of the differences between U and V",
}
# A grid this much wider than high has room for U, V and J in one row.
_WIDE = 1.5


class BasesViewer(Viewer):
    """The bases of the selected run."""

    TITLE = "Bases"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self._model: Model | None = None
        self._drawing: Drawing | None = None
        self._wide = True
        self.block: int | None = None
        self.canvases: dict[tuple[str, int], PictureCanvas] = {}
        self._latest = LatestOnly(jobs, "bases", "Drawing the bases", self)
        self._build()
        self.view_settings.register(
            component=view_settings.combo(self.component),
            colours=view_settings.combo(self.colours),
            shared=view_settings.checked(self.shared),
            view=view_settings.visible_part(self._first.view),
        )
        session.run_selected.connect(self.mark_dirty)
        session.dataset_changed.connect(self.mark_dirty)
        session.reference_changed.connect(self.mark_dirty)
        session.stale_changed.connect(self._show_hints)

    def missing_step(self) -> NextStep | None:
        """Return the step to a trained model."""
        return step_to_run(self.session, self._actions)

    def redraw(self) -> None:
        """Show the selected run."""
        run = self.session.run
        if run is None or run.model is self._model:
            return
        other_grid = self._model is None or self._model.grid != run.model.grid
        self._model = run.model
        self._first.view.stride = run.model.grid.side
        self._latest.discard()
        # A block's number means another place in another grid.
        if other_grid:
            self.block = None
            self._first.view.chosen = None
        if run.model.kernel is not None:
            self._pages.setCurrentIndex(1)
            self._show_spectrum(run.model)
            return
        self._pages.setCurrentIndex(0)
        self._fill_components(run.model.state.u.shape[2])
        self._draw()

    def restyle(self) -> None:
        """Apply the colours of the theme to the plots."""
        for plot in (self.histogram, self.spectrum):
            style_plot(plot)
        if self._drawing is not None:
            self._show_histogram(self._drawing)
        if self._model is not None and self._model.kernel is not None:
            self._show_spectrum(self._model)

    # --- building ---------------------------------------------------------------------------------

    def _build(self) -> None:
        self._make_controls()
        self._grid_box = QWidget(self)
        self._grid = QGridLayout(self._grid_box)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(4)
        self.bars = {row: ColourBar(f"{row} scale", self._grid_box) for row in ROWS}
        self.hints = QLabel(self)
        self.hints.setWordWrap(True)
        self.readout = SteadyLabel(self)
        pictures = QWidget(self)
        column = QVBoxLayout(pictures)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._grid_box, 1)
        column.addWidget(self.hints)
        column.addWidget(self.readout)
        splitter = QSplitter(Qt.Orientation.Horizontal, self)
        splitter.addWidget(pictures)
        splitter.addWidget(self._side())
        splitter.setStretchFactor(0, 1)
        splitter.setSizes([740, 240])
        # All other canvases are linked to the first one.
        self._first = PictureCanvas("U", self._grid_box)
        shown = QWidget(self)
        layout = QVBoxLayout(shown)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(self._controls())
        layout.addWidget(splitter, 1)
        self._pages = QStackedWidget(self)
        self._pages.addWidget(shown)
        self._pages.addWidget(self._kernel_page())
        outer = QVBoxLayout(self.content)
        outer.setContentsMargins(6, 6, 6, 6)
        outer.addWidget(self._pages)
        self._first.view.cursor_changed.connect(self._on_cursor_changed)

    def _make_controls(self) -> None:
        self.component = _combo("Component", "Which component to show, or all of them", self)
        self.colours = _combo(
            "Colour map", "Colours of the symmetric scale; zero is in the middle", self
        )
        self.colours.addItems(list(layers.DIVERGING))
        self.shared = QCheckBox("One scale for all", self)
        self.shared.setChecked(True)
        self.shared.setAccessibleName("One scale for U, V and J")
        self.shared.setToolTip(
            "Turn off to see each of U, V and J in full contrast, however small its values"
        )
        self.component.currentIndexChanged.connect(self._draw)
        self.colours.currentIndexChanged.connect(self._draw)
        self.shared.toggled.connect(self._draw)

    def _controls(self) -> Flow:
        row = Flow()
        for text, widget in (("Component", self.component), ("Colours", self.colours)):
            label = QLabel(text, self)
            label.setBuddy(widget)
            row.addWidget(together(self, label, widget))
        row.addWidget(self.shared)
        row.push()
        row.addWidget(zoom_buttons(self._first, self))
        rows = [self._exportable_row(name) for name in ROWS]
        row.addWidget(self.exporter.button(*rows, self._patches_item, self._histogram_item))
        return row

    def _exportable_row(self, row: str) -> Exportable:
        """Return the first component shown in a row, whichever that is when it is saved."""

        def first() -> tuple[int, PictureCanvas] | None:
            shown = self.canvases.items()
            return next(((number, pane) for (each, number), pane in shown if each == row), None)

        def image() -> QImage | None:
            found = first()
            return found[1].composed() if found is not None else None

        def component() -> str:
            found = first()
            return f"component {found[0] + 1}" if found is not None else ""

        return Exportable(f"basis {row}", row, image=image, which=component)

    def _pane_menu(self, canvas: PictureCanvas, name: str) -> QMenu:
        return self.exporter.menu(Exportable(name, image=canvas.composed))

    def _side(self) -> QWidget:
        side = QWidget(self)
        column = QVBoxLayout(side)
        column.setContentsMargins(0, 0, 0, 0)
        self.block_text = QLabel(_CHOOSE_BLOCK, self)
        self.block_text.setWordWrap(True)
        self.patches = PictureCanvas("Basis patches of the chosen block", self)
        self._patches_item = Exportable(
            "basis patches", "patches of the block", image=self.patches.composed
        )
        self.patches.menu = lambda: self.exporter.menu(self._patches_item)
        self.histogram = make_plot("Histogram of the values of U, V and J", self, "count", "value")
        self.histogram.addLegend(offset=(-5, 1), colCount=3, labelTextColor=theme.shades().text)
        self.histogram.setMouseEnabled(False, False)
        self._histogram_item = exportable_plot("histogram", self.histogram.plotItem)
        add_menu(self.histogram, lambda: self.exporter.menu(self._histogram_item))
        column.addWidget(self.block_text)
        column.addWidget(self.patches, 1)
        column.addWidget(self.histogram, 1)
        return side

    def _kernel_page(self) -> QWidget:
        page = QWidget(self)
        column = QVBoxLayout(page)
        self.reason = QLabel(self)
        self.reason.setWordWrap(True)
        self.spectrum = make_plot(
            "Eigenvalues of the centred kernel matrix, averaged over the blocks",
            self,
            left="eigenvalue, averaged over the blocks",
            bottom="number of the eigenvalue",
        )
        self.spectrum.setLogMode(y=True)
        item = exportable_plot("kernel spectrum", self.spectrum.plotItem)
        add_menu(self.spectrum, lambda: self.exporter.menu(item))
        top = QHBoxLayout()
        top.addWidget(self.reason, 1)
        top.addWidget(self.exporter.button(item), alignment=Qt.AlignmentFlag.AlignTop)
        column.addLayout(top)
        column.addWidget(self.spectrum, 1)
        return page

    def _fill_components(self, components: int) -> None:
        wanted = [f"{number}" for number in range(1, components + 1)] + ["all"]
        if [self.component.itemText(place) for place in range(self.component.count())] != wanted:
            self.component.blockSignals(True)
            self.component.clear()
            self.component.addItems(wanted)
            self.component.setCurrentIndex(0)
            self.component.blockSignals(False)

    # --- drawing ----------------------------------------------------------------------------------

    def _draw(self, *_: object) -> None:
        model = self._model
        if model is None or model.kernel is not None:
            return
        total = model.state.u.shape[2]
        chosen = self.component.currentIndex()
        # The line after the last component stands for all of them.
        components: tuple[int, ...] = (chosen,)
        if not 0 <= chosen < total:
            components = tuple(range(min(total, MAX_COMPONENTS)))
        table = self._colour_table()
        shared = self.shared.isChecked()
        self._latest.submit(
            lambda: bases_drawing.draw(model, components, table, shared), self._on_drawn
        )

    def _colour_table(self) -> NDArray[np.uint8]:
        return layers.DIVERGING[self.colours.currentText()]

    def _on_drawn(self, drawing: Drawing) -> None:
        before = self._drawing.components if self._drawing else None
        self._drawing = drawing
        if before != drawing.components:
            self._arrange(drawing.components)
        for (row, component), canvas in self.canvases.items():
            canvas.set_layer(drawing.layers[row, component])
        self._place()
        for row, bar in self.bars.items():
            bar.set_scale(self._colour_table(), -drawing.limits[row], drawing.limits[row])
        self._show_hints()
        self._show_histogram(drawing)
        self._show_block()

    def _show_hints(self) -> None:
        run = self.session.run
        drawing = self._drawing
        if drawing is None or self._model is None:
            return
        parts = [drawing.hints]
        total = self._model.state.u.shape[2]
        if total > len(drawing.components) == MAX_COMPONENTS:
            parts.append(f"The first {MAX_COMPONENTS} of {total} components are shown.")
        if run is not None and run.stale:
            parts.append(stale_sentence(self.session, run))
        self.hints.setText("  ".join(parts))

    def _arrange(self, components: tuple[int, ...]) -> None:
        """Make a pane for U, V and J of every component."""
        for canvas in self.canvases.values():
            self._grid.removeWidget(canvas)
            if canvas is not self._first:
                canvas.deleteLater()
        self.canvases = {}
        for row in ROWS:
            for component in components:
                canvas = self._first
                if self.canvases:
                    canvas = PictureCanvas(row, self._grid_box, self._first.view)
                canvas.setToolTip(
                    f"{_TIPS[row]}, component {component + 1}. Click a block to see its patches, "
                    "or use Shift+arrow keys and Enter."
                )
                canvas.set_caption(f"{row}  {component + 1}")
                canvas.setMinimumSize(56, 56)
                # The first canvas is used again and must not be connected twice.
                if canvas.menu is None:
                    canvas.clicked.connect(self._on_clicked)
                name = f"basis {row} {component + 1}"
                canvas.menu = partial(self._pane_menu, canvas, name)
                self.canvases[row, component] = canvas
        self._place()
        self.panes_made.emit()

    def _place(self) -> None:
        """Lay the panes out: in rows U, V and J, or as one component fits best."""
        self._wide = self._is_wide()
        shared = self.shared.isChecked()
        components = list(dict.fromkeys(component for _, component in self.canvases))
        for widget in (*self.canvases.values(), *self.bars.values()):
            self._grid.removeWidget(widget)
        for column in range(self._grid.columnCount()):
            self._grid.setColumnStretch(column, 0)
        for number, row in enumerate(ROWS):
            # Every second column is left to the colour bars.
            for column, component in enumerate(components):
                place = (number, 2 * column)
                if len(components) == 1 and self._wide:
                    place = (0, 2 * number)
                elif len(components) == 1:
                    place = (number // 2, 2 * (number % 2))
                self._grid.addWidget(self.canvases[row, component], *place)
                self._grid.setColumnStretch(place[1], 1)
            if not shared:
                self._grid.addWidget(self.bars[row], place[0], place[1] + 1)
            self.bars[row].setVisible(not shared or number == 0)
        if shared:
            self._grid.addWidget(self.bars["U"], 0, 2 * max(len(components), 3), 3, 1)
        for canvas in self.canvases.values():
            canvas.show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay the panes out for the new proportions."""
        super().resizeEvent(event)
        if self.canvases and self._wide != self._is_wide():
            self._place()

    def _is_wide(self) -> bool:
        return self._grid_box.width() > _WIDE * self._grid_box.height()

    def _show_histogram(self, drawing: Drawing) -> None:
        show_histogram(self.histogram, drawing.centres, {row: drawing.counts[row] for row in ROWS})

    def _show_block(self) -> None:
        model = self._model
        drawing = self._drawing
        if self.block is None or model is None or drawing is None or model.kernel is not None:
            for canvas in self.canvases.values():
                canvas.set_highlight(None)
            self.patches.set_layer(None)
            self.block_text.setText(_CHOOSE_BLOCK)
            return
        place = model.grid.rectangle(self.block)
        for canvas in self.canvases.values():
            canvas.set_highlight(place)
        patches = bases_drawing.patches(model, self.block, self._colour_table(), drawing.limits)
        self.patches.set_layer(patches)
        self.block_text.setText(
            f"Block at x {place.left}, y {place.top}: rows U, V and J, one column per component."
        )

    def _show_spectrum(self, model: Model) -> None:
        assert model.kernel is not None
        values = bases_drawing.spectrum(model)
        values = values[values > 0]
        self.spectrum.clear()
        pen = line_pen(theme.RUN_COLOURS[0], 2, ())
        self.spectrum.plot(np.arange(1, len(values) + 1), values, pen=pen, symbol="o", symbolSize=5)
        kept = min(model.state.u.shape[2], len(values))
        share = values[:kept].sum() / max(values.sum(), 1e-30)
        self.reason.setText(
            "The bases of a kernel model cannot be shown as pictures: they have one number per "
            "training picture and none per pixel. Train ISCA or PCA to see pictures.\n"
            f"Below is the spectrum of the kernel matrix instead: {len(values)} positive "
            f"eigenvalues; the first {kept} hold {share:.0%} of the total."
        )

    # --- what happens -----------------------------------------------------------------------------

    def choose_block(self, block: int) -> None:
        """Show the patches of a block."""
        self.block = block
        if self._model is not None:
            place = self._model.grid.rectangle(block)
            row = (place.top + place.bottom) // 2
            column = (place.left + place.right) // 2
            self._first.view.chosen = (row, column)
        self._show_block()

    def _on_clicked(self, row: int, column: int) -> None:
        if self._model is None:
            return
        # While the pictures of a larger run are still shown, a click may lie outside this one.
        grid = self._model.grid
        if row < grid.height and column < grid.width:
            self.choose_block(grid.index_at(row, column))

    def _on_cursor_changed(self, place: tuple[int, int] | None) -> None:
        if place is None or self._drawing is None or not self.canvases:
            self.readout.setText(" ")
            return
        values: dict[str, list[str]] = {}
        for (row, _), canvas in self.canvases.items():
            if canvas.layer is not None:
                values.setdefault(row, []).append(canvas.layer.text_at(*place))
        rows = (f"{row} {' '.join(texts)}" for row, texts in values.items())
        self.readout.setText(f"x {place[1]}, y {place[0]}    " + "    ".join(rows))


def _combo(name: str, tip: str, parent: QWidget) -> QComboBox:
    combo = QComboBox(parent)
    combo.setAccessibleName(name)
    combo.setToolTip(tip)
    return combo


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(BasesViewer))
