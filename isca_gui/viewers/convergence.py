"""How trainings converge: error, objective and residuals, live, several runs over each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt, QTimer
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from isca_gui import theme
from isca_gui.viewers.export import Thing, plot_thing
from isca_gui.viewers.plots import add_menu, make_plot, style_plot
from isca_gui.viewers.viewer import NextStep, Viewer, need_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtGui import QHideEvent, QShowEvent

    from isca_gui.actions import Actions
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.steps import Step
    from isca_gui.jobs import JobRunner
    from isca_gui.session import Session

INTERVAL = 40  # milliseconds between two drawings: 25 Hz
MOST_RUNS = 8  # the newest are drawn
FIGURES = {
    "error": ("Error at U", Qt.PenStyle.SolidLine, "The paper's criterion: f at the iterated U"),
    "objective": ("Objective", Qt.PenStyle.DashLine, "f of the orthonormal basis; what counts"),
    "primal": ("Primal", Qt.PenStyle.DotLine, "Primal residual ‖U − V‖"),
    "dual": ("Dual", Qt.PenStyle.DashDotLine, "Dual residual ρ‖V − V before‖"),
}


class Track:
    """The figures of one run, as far as they have come."""

    def __init__(self, number: int, name: str, settings: TrainingSettings) -> None:
        self.number, self.name, self.settings = number, name, settings
        self.epochs: list[int] = []
        self.values: dict[str, list[float]] = {figure: [] for figure in FIGURES}

    def add(self, steps: Iterable[Step]) -> None:
        """Take steps; figures that a log axis cannot show become gaps."""
        for step in steps:
            self.epochs.append(step.epoch)
            for figure, values in self.values.items():
                value = getattr(step, figure)
                values.append(value if value > 0 and math.isfinite(value) else math.nan)

    def text_at(self, epoch: float, figures: Iterable[str]) -> str:
        """Say the figures of the epoch nearest to a place."""
        if not self.epochs:
            return ""
        place = int(np.abs(np.asarray(self.epochs) - epoch).argmin())
        parts = [
            f"{FIGURES[figure][0]} {self.values[figure][place]:.4g}"
            for figure in figures
            if math.isfinite(self.values[figure][place])
        ]
        return f"{self.name}, epoch {self.epochs[place]}: {', '.join(parts)}"


class ConvergenceViewer(Viewer):
    """Convergence of the run under way and of those that have ended."""

    TITLE = "Convergence"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self.tracks: dict[int, Track] = {}
        self.curves: dict[tuple[int, str], Any] = {}
        self._labels: dict[int, Any] = {}
        self._changed: set[int] = set()  # runs with something new to draw
        self.drawn = 0  # how often the plot was drawn
        self._timer = QTimer(self)
        self._timer.setInterval(INTERVAL)
        self._timer.timeout.connect(self._on_timer)
        self._build()
        session.step_added.connect(self._on_steps)
        session.runs_changed.connect(self.outdated)
        session.run_selected.connect(self.outdated)
        session.dataset_changed.connect(self.outdated)
        session.reference_changed.connect(self.outdated)
        jobs.changed.connect(self._on_progress)

    def needs(self) -> NextStep | None:
        """Need a training, ended or under way."""
        return None if self.session.live is not None else need_run(self.session, self.actions_)

    def redraw(self) -> None:
        """Bring the curves in line with the session's runs."""
        wanted = {run.number: run for run in self.session.runs[-MOST_RUNS:]}
        live = self.session.live
        numbers = {*wanted, *([live.number] if live else [])}
        for number in set(self.tracks) - numbers:
            self._remove(number)
        for number, run in wanted.items():
            track = self.tracks.get(number)
            if track is None or len(track.epochs) != len(run.model.steps):
                self.tracks[number] = Track(number, run.name, run.settings)
                self.tracks[number].add(run.model.steps)
            self.tracks[number].name = run.name
        if live is not None and len(self.tracks.get(live.number, _NO_TRACK).epochs) < len(live.steps):
            self.tracks[live.number] = Track(live.number, live.name, live.settings)
            self.tracks[live.number].add(live.steps)
        self._changed |= set(self.tracks)
        self._on_timer()
        self._on_progress()

    def restyle(self) -> None:
        """Take the theme's colours."""
        style_plot(self.plot)
        self._changed |= set(self.tracks)
        self._on_timer()

    # --- building ---------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.plot = make_plot("Convergence of the trainings", self, "value", "epoch")
        self.plot.setLogMode(y=True)
        self.plot.setMouseEnabled(True, True)
        self.cross = pg.InfiniteLine(angle=90, pen={"color": "#888888", "width": 1})
        self.cross.hide()
        self.plot.addItem(self.cross, ignoreBounds=True)
        self.plot.scene().sigMouseMoved.connect(self._on_mouse_moved)
        self.boxes: dict[str, QCheckBox] = {}
        row = QHBoxLayout()
        for figure, (title, style, tip) in FIGURES.items():
            box = QCheckBox(f"{title}  {_DASHES[style]}", self)
            box.setChecked(True)
            box.setAccessibleName(f"Show {title.lower()}")
            box.setToolTip(tip)
            box.toggled.connect(self._on_box_toggled)
            self.boxes[figure] = box
            row.addWidget(box)
        self.progress = QLabel(self)
        row.addStretch()
        row.addWidget(self.progress)
        things = (plot_thing("convergence", self.plot.plotItem),
                  Thing("convergence", "table of the figures", table=self.rows))  # fmt: skip
        row.addWidget(self.exporter.button(*things))
        add_menu(self.plot, lambda: self.exporter.menu(*things))
        self.readout = QLabel(" ", self)
        self.readout.setWordWrap(True)
        layout = QVBoxLayout(self.content)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addLayout(row)
        layout.addWidget(self.plot, 1)
        layout.addWidget(self.readout)

    def rows(self) -> list[tuple[object, ...]]:
        """Give all figures as a table."""
        rows: list[tuple[object, ...]] = [("run", "name", "epoch", *FIGURES)]
        for track in self.tracks.values():
            columns = [track.values[figure] for figure in FIGURES]
            rows += [(track.number, track.name, *row) for row in zip(track.epochs, *columns, strict=True)]
        return rows

    # --- drawing ----------------------------------------------------------------------------------------

    def _on_steps(self, number: int, steps: list[Step]) -> None:
        live = self.session.live
        if live is None or live.number != number:
            return
        if number not in self.tracks:
            self.tracks[number] = Track(number, live.name, live.settings)
            steps = live.steps
        self.tracks[number].add(steps)
        self._changed.add(number)
        if self.isVisible() and not self._timer.isActive():
            self._timer.start()

    def _on_timer(self) -> None:
        """Draw what is new; with nothing new, stop looking."""
        if not self._changed:
            self._timer.stop()
            return
        changed, self._changed = self._changed, set()
        for number in changed & set(self.tracks):
            self._draw(self.tracks[number])
        self.drawn += 1

    def _draw(self, track: Track) -> None:
        colour = theme.RUN_COLOURS[(track.number - 1) % len(theme.RUN_COLOURS)]
        run = self.session.run
        chosen = self.session.live.number if self.session.live else run.number if run else 0
        epochs, last = np.asarray(track.epochs, float), math.nan
        single = len(track.epochs) == 1  # a baseline: one point
        for figure, (_, style, _) in FIGURES.items():
            values = np.asarray(track.values[figure], float)
            curve = self.curves.get((track.number, figure))
            if curve is None:
                curve = self.plot.plot(connect="finite")
                curve.setDownsampling(auto=True, method="peak")
                curve.setClipToView(True)
                self.curves[track.number, figure] = curve
            width = 2.5 if track.number == chosen else 1.2
            curve.setPen({"color": colour, "width": width, "style": style})
            curve.setSymbol("s" if single else None)
            curve.setSymbolBrush(colour)
            curve.setSymbolPen(colour)
            curve.setSymbolSize(8)
            shown = self.boxes[figure].isChecked() and bool(np.isfinite(values).any())
            curve.setData(epochs if shown else [], values if shown else [])
            if shown and not math.isfinite(last):
                last = values[np.isfinite(values)][-1]
        self._label(track, colour, last)

    def _label(self, track: Track, colour: str, last: float) -> None:
        """Write the run's number at the end of its curve: runs differ by more than colour."""
        label = self._labels.get(track.number)
        if label is None:
            label = pg.TextItem(anchor=(1, 1))
            self.plot.addItem(label, ignoreBounds=True)
            self._labels[track.number] = label
        label.setText(str(track.number), color=colour)
        label.setVisible(math.isfinite(last) and bool(track.epochs))
        if label.isVisible():
            label.setPos(track.epochs[-1], math.log10(last))

    def _remove(self, number: int) -> None:
        self.tracks.pop(number, None)
        for figure in FIGURES:
            curve = self.curves.pop((number, figure), None)
            if curve is not None:
                self.plot.removeItem(curve)
        label = self._labels.pop(number, None)
        if label is not None:
            self.plot.removeItem(label)

    # --- what happens -----------------------------------------------------------------------------------

    def _on_box_toggled(self) -> None:
        self._changed |= set(self.tracks)
        self._on_timer()

    def _on_progress(self) -> None:
        if self.isVisible():
            self.progress.setText(self.describe())

    def describe(self) -> str:
        """Say which run is shown, how far it is, and how long it will still take."""
        live, run = self.session.live, self.session.run
        if live is None:
            if run is None:
                return ""
            figure = f", objective {run.model.steps[-1].objective:.4f}" if run.model.steps else ""
            return f"{run.name}: {run.model.state.epoch} epochs{figure}"
        settings = live.settings.resolved()
        epoch = live.steps[-1].epoch if live.steps else 0
        job = next((job for job in self.jobs.jobs() if job.name == "training"), None)
        left = f", {job.seconds_left:.0f} s left" if job and job.seconds_left is not None else ""
        if not epoch:
            return f"{live.name}: preparing"
        until = " at most, until converged" if settings.tolerance else ""
        return f"{live.name}: epoch {epoch} of {settings.epochs}{until}{left}"

    def _on_mouse_moved(self, place: QPointF) -> None:
        box = self.plot.plotItem.vb
        inside = box.sceneBoundingRect().contains(place)
        self.cross.setVisible(inside)
        if not inside:
            self.readout.setText(" ")
            return
        epoch = box.mapSceneToView(place).x()
        self.cross.setPos(epoch)
        figures = [figure for figure, check in self.boxes.items() if check.isChecked()]
        newest = sorted(self.tracks.values(), key=lambda track: -track.number)[:3]
        self.readout.setText("    ".join(filter(None, (track.text_at(epoch, figures) for track in newest))))

    def hideEvent(self, event: QHideEvent) -> None:
        """Do not draw unseen."""
        self._timer.stop()
        super().hideEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what came meanwhile."""
        super().showEvent(event)
        self._on_timer()


_DASHES = {
    Qt.PenStyle.SolidLine: "——",
    Qt.PenStyle.DashLine: "– –",
    Qt.PenStyle.DotLine: "·····",
    Qt.PenStyle.DashDotLine: "–·–",
}
_NO_TRACK = Track(0, "", None)  # type: ignore[arg-type]


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(ConvergenceViewer))
