"""What a model keeps of a picture: the original, the reconstruction, and what is lost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
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
    from PySide6.QtWidgets import QMenu

    from isca_gui.core.model.model import Model
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Session
    from isca_gui.viewers.canvas.layers import Layer

PANES = ("Original", "Reconstruction", "Difference", "SSIM map")
# The scale of the difference ends at 64 grey levels. It is fixed, so that pictures for different
# numbers of components can be compared.
_LIMIT = 0.25


@dataclass(frozen=True, eq=False)
class ReconstructedPicture:
    """A picture, its reconstruction, and how much they differ."""

    panes: tuple[Layer, ...]  # in the order of PANES
    error: float  # MSE
    similarity: float  # mean SSIM
    components: int


def reconstruct(
    model: Model, picture: NDArray[np.float32], components: int
) -> ReconstructedPicture:
    """Project a picture (height, width) into the subspaces and back, and measure what was lost."""
    # The figures are those of the picture as it is shown and saved, that is clipped.
    back = np.clip(model.reconstruct(picture, components), 0, 1)
    similarity_map, _ = layers.similarity_layer(picture, back, model.grid.side)
    difference = layers.difference_layer(picture, back, _LIMIT)
    return ReconstructedPicture(
        panes=(layers.grey_layer(picture), layers.grey_layer(back), difference, similarity_map),
        error=mse(picture, back),
        similarity=float(ssim_map(picture, back).mean()),
        components=components,
    )


class ReconstructionViewer(Viewer):
    """Reconstructions by the selected run."""

    TITLE = "Reconstruction"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self._latest = LatestOnly(jobs, "reconstruction", "Reconstructing", self)
        self._sources: list[tuple[str, Any]] = []
        self.result: ReconstructedPicture | None = None
        self._model: Model | None = None
        self._build()
        self.view_settings.register(
            source=view_settings.combo(self.source),
            components=view_settings.slider(self.slider),
            view=view_settings.visible_part(self.canvases[PANES[0]].view),
        )
        session.run_selected.connect(self.mark_dirty)
        session.dataset_changed.connect(self.mark_dirty)
        session.tested_changed.connect(self.mark_dirty)
        session.reference_changed.connect(self.mark_dirty)
        session.stale_changed.connect(self.mark_dirty)

    def missing_step(self) -> NextStep | None:
        """Return the step to a trained model."""
        return step_to_run(self.session, self._actions)

    def redraw(self) -> None:
        """Offer the pictures of the size that the selected run was trained on, and show one."""
        run = self.session.run
        if run is None:
            return
        if run.model is not self._model:
            self._model = run.model
            self._latest.discard()
            self._adapt(run.model)
        self._fill(run.model)
        self._reconstruct()

    # --- building ---------------------------------------------------------------------------------

    def _build(self) -> None:
        self._make_controls()
        first = PictureCanvas(PANES[0], self)
        self.canvases = {PANES[0]: first}
        for name in PANES[1:]:
            self.canvases[name] = PictureCanvas(name, self, first.view)
        for name, canvas in self.canvases.items():
            canvas.set_caption(name)
            canvas.menu = partial(self._pane_menu, name)
        first.view.cursor_changed.connect(self._on_cursor_changed)
        self.bars = {name: ColourBar(f"{name} scale", self) for name in PANES[2:]}
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
        self.figures = QLabel(" ", self)
        self.figures.setWordWrap(True)
        self.readout = SteadyLabel(self)
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

    def _make_controls(self) -> None:
        self.source = QComboBox(self)
        self.source.setAccessibleName("Picture to reconstruct")
        self.source.setToolTip("Any training picture or test picture")
        self.source.setMinimumContentsLength(22)
        self.source.currentIndexChanged.connect(self._reconstruct)
        self.slider = QSlider(Qt.Orientation.Horizontal, self)
        self.slider.setAccessibleName("Number of components")
        self.slider.setToolTip("How many components of every block are used")
        self.slider.setTickPosition(QSlider.TickPosition.TicksBelow)
        self.slider.setPageStep(1)
        self.slider.setMinimumWidth(140)
        self.slider.valueChanged.connect(self._reconstruct)
        self.count = QLabel(self)

    def _controls(self, first: PictureCanvas) -> Flow:
        row = Flow()
        picture = QLabel("Picture", self)
        picture.setBuddy(self.source)
        components = QLabel("Components", self)
        components.setBuddy(self.slider)
        row.addWidget(together(self, picture, self.source))
        row.addWidget(together(self, components, self.slider, self.count))
        row.push()
        row.addWidget(zoom_buttons(first, self))
        row.addWidget(self.exporter.button(*(self._exportable(name) for name in self.canvases)))
        return row

    def _exportable(self, name: str) -> Exportable:
        return Exportable(name.lower(), name.lower(), image=self.canvases[name].composed)

    def _pane_menu(self, name: str) -> QMenu:
        return self.exporter.menu(self._exportable(name))

    # --- drawing ----------------------------------------------------------------------------------

    def _adapt(self, model: Model) -> None:
        """Offer as many components as the model has, or explain why it cannot reconstruct."""
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
        """List the pictures of the model's size; the chosen one stays if it is still there."""
        size = (model.grid.height, model.grid.width)
        sources: list[tuple[str, Any]] = []
        dataset = self.session.dataset
        if dataset is not None and dataset.reference.shape == size:
            sources.append(("Reference", dataset.reference))
            for picture, entry in zip(dataset.pictures[1:], dataset.entries[1:], strict=True):
                style = theme.class_style(entry.label)
                name = f"{style.letter}  {style.title}, MSE {entry.achieved_mse:.1f}"
                sources.append((name, picture))
        for test in self.session.tested:
            if test.picture.shape == size:
                sources.append((f"Test: {test.name}", test.picture))
        # Two pictures may have the same name, so the place counts first.
        before = self.source.currentText()
        place = self.source.currentIndex()
        if not 0 <= place < len(sources) or sources[place][0] != before:
            place = next((each for each, (name, _) in enumerate(sources) if name == before), 0)
        self._sources = sources
        self.source.blockSignals(True)
        self.source.clear()
        self.source.addItems([name for name, _ in sources])
        self.source.setCurrentIndex(place if sources else -1)
        self.source.blockSignals(False)

    def _reconstruct(self, *_: object) -> None:
        model = self._model
        components = self.slider.value()
        place = self.source.currentIndex()
        self.count.setText(f"{components} of {self.slider.maximum()}")
        if model is None or model.kernel is not None:
            return
        if not 0 <= place < len(self._sources):
            size = f"{model.grid.width}×{model.grid.height}"
            self.figures.setText(
                f"No picture has the size that this model was trained on, {size} pixels."
            )
            self._latest.discard()
            for canvas in self.canvases.values():
                canvas.set_layer(None)
            return
        picture = self._sources[place][1]
        self._latest.submit(lambda: reconstruct(model, picture, components), self._on_reconstructed)

    def _on_reconstructed(self, result: ReconstructedPicture) -> None:
        self.result = result
        for canvas, layer in zip(self.canvases.values(), result.panes, strict=True):
            canvas.set_layer(layer)
        run = self.session.run
        pixels = self._model.grid.pixels if self._model else 0
        numbers = "1 number" if result.components == 1 else f"{result.components} numbers"
        parts = [
            f"{run.name if run else ''}: mean SSIM {result.similarity:.4f}",
            f"MSE {result.error:.2f}",
            f"{numbers} and the mean for every block of {pixels} pixels",
        ]
        if run is not None and run.stale:
            parts.append(stale_sentence(self.session, run))
        self.figures.setText("  ·  ".join(parts))

    def _on_cursor_changed(self, place: tuple[int, int] | None) -> None:
        if place is None or self.result is None:
            self.readout.setText(" ")
            return
        values = [
            f"{name.lower()} {layer.text_at(*place)}"
            for name, layer in zip(PANES, self.result.panes, strict=True)
        ]
        self.readout.setText(f"x {place[1]}, y {place[0]}    " + "    ".join(values))


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(ReconstructionViewer))
