"""What a model keeps of a picture: the original, what comes back, and what is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QLabel,
    QSlider,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from isca_gui.core.distortion.distortions import mse
from isca_gui.core.model.model import NotInvertible
from isca_gui.core.pictures.ssim import ssim_map
from isca_gui.viewers import view_settings
from isca_gui.viewers.canvas import layers
from isca_gui.viewers.canvas.canvas import PictureCanvas
from isca_gui.viewers.colour_bar import ColourBar
from isca_gui.viewers.export import Exportable
from isca_gui.viewers.runs import run_data
from isca_gui.viewers.viewer import LatestOnly, NextStep, Viewer, need_run, zoom_buttons
from isca_gui.widgets import theme
from isca_gui.widgets.flow_layout import Flow, together
from isca_gui.widgets.quiet_widgets import SteadyLabel

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PySide6.QtWidgets import QMenu

    from isca_gui.core.model.model import Model
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Session
    from isca_gui.viewers.canvas.layers import Layer

PANES = ("Original", "Reconstruction", "Difference", "SSIM map")
_LIMIT = 0.25  # of the difference's scale: 64 grey levels; the same for all numbers of components


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """A picture and what came back of it."""

    panes: tuple[Layer, ...]
    error: float
    similarity: float
    components: int


def rebuild(model: Model, picture: NDArray[np.float32], components: int) -> Rebuilt:
    """Project a picture, come back, and measure what was lost."""
    back = np.clip(model.reconstruct(picture, components), 0, 1)  # as it is shown and saved
    similar, _ = layers.similarity_layer(picture, back, model.grid.side)
    difference = layers.difference_layer(picture, back, _LIMIT)
    panes = (layers.grey_layer(picture), layers.grey_layer(back), difference, similar)
    return Rebuilt(panes, mse(picture, back), float(ssim_map(picture, back).mean()), components)


class ReconstructionViewer(Viewer):
    """Reconstructions by the selected run."""

    TITLE = "Reconstruction"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self._newest = LatestOnly(jobs, "reconstruction", "Reconstructing", self)
        self._sources: list[tuple[str, Any]] = []
        self.rebuilt: Rebuilt | None = None
        self._model: Model | None = None
        self._build()
        kept = {
            "source": view_settings.combo(self.source),
            "components": view_settings.slider(self.slider),
        }
        self.looks.keep(**kept, view=view_settings.view(self.canvases[PANES[0]].view))
        for signal in (session.run_selected, session.dataset_changed, session.tested_changed,
                       session.reference_changed, session.stale_changed):  # fmt: skip
            signal.connect(self.mark_dirty)

    def missing_step(self) -> NextStep | None:
        """Need a trained model."""
        return need_run(self.session, self._actions)

    def redraw(self) -> None:
        """Offer the pictures that the selected run fits, and show one."""
        run = self.session.run
        if run is None:
            return
        if run.model is not self._model:
            self._model = run.model
            self._newest.forget()
            self._adapt(run.model)
        self._fill(run.model)
        self._rebuild()

    # --- building ---------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.source = QComboBox(self)
        self.source.setAccessibleName("Picture to reconstruct")
        self.source.setToolTip("Any training picture or test picture")
        self.source.setMinimumContentsLength(22)
        self.source.currentIndexChanged.connect(self._rebuild)
        self.slider = QSlider(Qt.Orientation.Horizontal, self)
        self.slider.setAccessibleName("Number of components")
        self.slider.setToolTip("How many components of every block are used")
        self.slider.setTickPosition(QSlider.TickPosition.TicksBelow)
        self.slider.setPageStep(1)
        self.slider.valueChanged.connect(self._rebuild)
        self.count = QLabel(self)
        first = PictureCanvas(PANES[0], self)
        self.canvases = {PANES[0]: first}
        for name in PANES[1:]:
            self.canvases[name] = PictureCanvas(name, self, first.view)
        for name, canvas in self.canvases.items():
            canvas.set_caption(name)
            canvas.menu = _Menu(self, name, canvas)
        first.view.cursor_changed.connect(self._on_cursor_changed)
        self.bars = {name: ColourBar(f"Scale of {name}", self) for name in PANES[2:]}
        self.bars["Difference"].set_scale(
            layers.DIVERGING["Blue – white – red"], -64, 64, "{:+.0f}"
        )
        self.bars["SSIM map"].set_scale(layers.SIMILARITY, 0, 1, "{:.2f}")
        grid = QGridLayout()
        grid.setSpacing(4)
        for place, (name, canvas) in enumerate(self.canvases.items()):
            grid.addWidget(canvas, place // 2, 2 * (place % 2))
            if name in self.bars:
                grid.addWidget(self.bars[name], 1, 2 * (place % 2) + 1)
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(2, 1)
        self.figures, self.readout = QLabel(" ", self), SteadyLabel(self)
        self.figures.setWordWrap(True)
        shown = QWidget(self)
        column = QVBoxLayout(shown)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(self._controls(first))
        column.addLayout(grid, 1)
        column.addWidget(self.figures)
        column.addWidget(self.readout)
        self.reason = QLabel(self)
        self.reason.setWordWrap(True)
        self.reason.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.reason.setMargin(12)
        self._pages = QStackedWidget(self)
        self._pages.addWidget(shown)
        self._pages.addWidget(self.reason)
        outer = QVBoxLayout(self.content)
        outer.setContentsMargins(6, 6, 6, 6)
        outer.addWidget(self._pages)

    def _controls(self, first: PictureCanvas) -> Flow:
        row = Flow()
        names = {text: QLabel(text, self) for text in ("Picture", "Components")}
        names["Picture"].setBuddy(self.source)
        names["Components"].setBuddy(self.slider)
        self.slider.setMinimumWidth(140)
        row.addWidget(together(self, names["Picture"], self.source))
        row.addWidget(together(self, names["Components"], self.slider, self.count))
        row.push()
        row.addWidget(zoom_buttons(first, self))
        things = [Exportable(name.lower(), name.lower(), image=canvas.composed) for name, canvas in
                  self.canvases.items()]  # fmt: skip
        row.addWidget(self.exporter.button(*things))
        return row

    # --- drawing ----------------------------------------------------------------------------------------

    def _adapt(self, model: Model) -> None:
        """Offer as many components as the model has; say why where it cannot reconstruct."""
        self.slider.blockSignals(True)
        components = model.state.u.shape[2]
        self.slider.setRange(1, components)
        self.slider.setValue(components)
        self.slider.blockSignals(False)
        self._pages.setCurrentIndex(0)
        if model.kernel is not None:
            try:
                model.reconstruct(model.kernel.pictures[0])
            except NotInvertible as error:
                self.reason.setText(str(error))
            self._pages.setCurrentIndex(1)

    def _fill(self, model: Model) -> None:
        """List the pictures of the model's size; the one chosen stays if it is still there."""
        size = (model.grid.height, model.grid.width)
        sources: list[tuple[str, Any]] = []
        if self.session.dataset is not None and self.session.dataset.reference.shape == size:
            for number, entry in enumerate(self.session.dataset.entries):
                style = theme.class_style(entry.label)
                name = (
                    f"{style.letter}  {style.title}, MSE {entry.achieved_mse:.1f}"
                    if number
                    else "Reference"
                )
                sources.append((name, self.session.dataset.pictures[number]))
        sources += [
            (f"Test: {test.name}", test.picture)
            for test in self.session.tested
            if test.picture.shape == size
        ]
        before, place = self.source.currentText(), self.source.currentIndex()
        if not 0 <= place < len(sources) or sources[place][0] != before:
            place = next((each for each, (name, _) in enumerate(sources) if name == before), 0)
        self._sources = sources
        self.source.blockSignals(True)
        self.source.clear()
        self.source.addItems([name for name, _ in sources])
        self.source.setCurrentIndex(place if sources else -1)
        self.source.blockSignals(False)

    def _rebuild(self, *_: object) -> None:
        model, components, place = self._model, self.slider.value(), self.source.currentIndex()
        self.count.setText(f"{components} of {self.slider.maximum()}")
        if model is None or model.kernel is not None:
            return
        if not 0 <= place < len(self._sources):
            size = f"{model.grid.width}×{model.grid.height}"
            self.figures.setText(
                f"There is no picture of {size} pixels, the size this model was trained on."
            )
            self._newest.forget()
            for canvas in self.canvases.values():
                canvas.set_layer(None)
            return
        picture = self._sources[place][1]
        self._newest.ask(lambda: rebuild(model, picture, components), self._on_rebuilt)

    def _on_rebuilt(self, rebuilt: Rebuilt) -> None:
        self.rebuilt = rebuilt
        for canvas, layer in zip(self.canvases.values(), rebuilt.panes, strict=True):
            canvas.set_layer(layer)
        run, model = self.session.run, self._model
        numbers = model.grid.pixels if model else 0
        self.figures.setText(
            f"{run.name if run else ''}: mean SSIM {rebuilt.similarity:.4f}  ·  MSE {rebuilt.error:.2f}  ·  "
            f"{rebuilt.components} numbers and the mean for every block of {numbers} pixels"
            + (f"  ·  {run_data.sentence(self.session, run)}" if run and run.stale else "")
        )

    def _on_cursor_changed(self, place: tuple[int, int] | None) -> None:
        if place is None or self.rebuilt is None:
            self.readout.setText(" ")
            return
        values = [
            f"{name.lower()} {layer.text_at(*place)}"
            for name, layer in zip(PANES, self.rebuilt.panes, strict=True)
        ]
        self.readout.setText(f"x {place[1]}, y {place[0]}    " + "    ".join(values))


class _Menu:
    """Makes the menu of one pane."""

    def __init__(self, viewer: ReconstructionViewer, name: str, canvas: PictureCanvas) -> None:
        self._viewer, self._name, self._canvas = viewer, name, canvas

    def __call__(self) -> QMenu:
        return self._viewer.exporter.menu(
            Exportable(self._name, self._name.lower(), image=self._canvas.composed)
        )


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(ReconstructionViewer))
