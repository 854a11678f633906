"""How trainings converge: error, objective and residuals, live, several runs over each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPointF, QTimer
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from isca_gui.jobs.names import JobName
from isca_gui.viewers import view_settings
from isca_gui.viewers.convergence.run_curve import (
    FIGURES,
    RunCurve,
    round_end,
    round_range,
    thinned,
)
from isca_gui.viewers.export import Exportable, plot_thing
from isca_gui.viewers.plots import LINE_ICON, add_menu, line_icon, line_pen, make_plot, style_plot
from isca_gui.viewers.viewer import NextStep, Viewer, need_run
from isca_gui.widgets import theme
from isca_gui.widgets.flow_layout import Flow
from isca_gui.widgets.quiet_widgets import SteadyLabel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from PySide6.QtGui import QHideEvent, QShowEvent

    from isca_gui.core.solvers.steps import Step
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import LiveRun, Run
    from isca_gui.session.session import Session

INTERVAL = 40  # milliseconds between two drawings: 25 Hz
MOST_RUNS = 8  # the newest are drawn
MOST_READ = 3  # the selected one and the newest: there is no room for more
_NARROWEST = 1e-6  # part of the plot


class ConvergenceViewer(Viewer):
    """Convergence of the run under way and of those that have ended."""

    TITLE = "Convergence"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self.tracks: dict[int, RunCurve] = {}
        self.curves: dict[tuple[int, str], Any] = {}
        self._labels: dict[int, Any] = {}
        self._looks: dict[
            tuple[int, str], tuple[object, ...]
        ] = {}  # of the curves: styling costs more than drawing
        self._ranges: tuple[object, ...] = ()
        self._by_hand = False  # the user has moved or zoomed the plot
        self._changed: set[int] = set()  # runs with something new to draw
        self.drawn = 0  # how often the plot was drawn
        self._timer = QTimer(self)
        self._timer.setInterval(INTERVAL)
        self._timer.timeout.connect(self._on_timer)
        self._build()
        self.looks.keep(
            figures=view_settings.some_of(self.boxes),
            part=view_settings.Kept(self._part, self._look_at_part),
        )
        session.step_added.connect(self._on_steps)
        session.runs_changed.connect(self._on_runs_changed)
        session.run_selected.connect(self.mark_dirty)
        session.dataset_changed.connect(self.mark_dirty)
        session.reference_changed.connect(self.mark_dirty)
        jobs.changed.connect(self._on_progress)

    def missing_step(self) -> NextStep | None:
        """Need a training, ended or under way."""
        return None if self.session.live is not None else need_run(self.session, self._actions)

    def redraw(self) -> None:
        """Bring the curves in line with the session's runs."""
        wanted = {run.number: run for run in self.session.runs[-MOST_RUNS:]}
        if (selected := self.session.run) is not None:
            wanted[selected.number] = selected
        live = self.session.live
        numbers = {*wanted, *([live.number] if live else [])}
        for number in set(self.tracks) - numbers:
            self._remove(number)
        for run in wanted.values():
            self._follow(run, run.model.steps)
        if live is not None:
            self._follow(live, live.steps)
        self._changed |= set(self.tracks)
        self._on_timer()
        self._on_progress()

    def restyle(self) -> None:
        """Take the theme's colours."""
        style_plot(self.plot)
        for figure, (_, dashes, _) in FIGURES.items():
            self.boxes[figure].setIcon(line_icon(dashes, self.devicePixelRatioF()))
        self._draw_all()

    # --- building ---------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.plot = make_plot("Convergence of the trainings", self, "value", "epoch", log=True)
        self.plot.setLogMode(y=True)
        self.plot.setMouseEnabled(True, True)
        self.plot.plotItem.disableAutoRange()  # it would lay the axes out anew with every epoch
        self.plot.setRange(xRange=(0, 10), yRange=(-2, 0), padding=0)
        self.plot.setMinimumHeight(90)
        self.cross = pg.InfiniteLine(angle=90, pen={"color": "#888888", "width": 1})
        self.cross.hide()
        self.plot.addItem(self.cross, ignoreBounds=True)
        self.plot.scene().sigMouseMoved.connect(self._on_mouse_moved)
        self.plot.viewport().installEventFilter(self)
        self.plot.plotItem.vb.sigRangeChangedManually.connect(self._on_moved_by_hand)
        self.boxes: dict[str, QCheckBox] = {}
        row = Flow(spacing=10)
        for figure, (title, _, tip) in FIGURES.items():
            box = QCheckBox(title, self)
            box.setIconSize(LINE_ICON)
            box.setChecked(True)
            box.setAccessibleName(f"Show {title.lower()}")
            box.setToolTip(tip)
            box.toggled.connect(self._on_box_toggled)
            self.boxes[figure] = box
            row.addWidget(box)
        self.progress = SteadyLabel(self, letters=40, right=True)
        self.fit_button = QToolButton(self)
        self.fit_button.setText("Fit")
        self.fit_button.setAccessibleName("Fit the plot")
        self.fit_button.setToolTip("Show all epochs again, after moving or zooming with the mouse")
        self.fit_button.clicked.connect(self.fit)
        row.push()
        row.addWidget(self.fit_button)
        things = (plot_thing("convergence", self.plot.plotItem),
                  Exportable("convergence", "table of the figures", table=self.rows))  # fmt: skip
        row.addWidget(self.exporter.button(*things))
        add_menu(self.plot, lambda: self.exporter.menu(*things))
        self.readout = SteadyLabel(self)
        layout = QVBoxLayout(self.content)
        layout.setContentsMargins(6, 4, 6, 2)
        layout.setSpacing(2)
        layout.addLayout(row)
        layout.addWidget(self.plot, 1)
        below = QHBoxLayout()
        below.addWidget(self.readout, 3)
        below.addWidget(self.progress, 2)
        layout.addLayout(below)

    def rows(self) -> list[tuple[object, ...]]:
        """Give all figures as a table."""
        rows: list[tuple[object, ...]] = [("run", "name", "epoch", *FIGURES)]
        live = self.session.live
        trainings: list[tuple[int, str, Iterable[Step]]] = [
            (run.number, run.name, run.model.steps) for run in self.session.runs
        ]
        trainings += [(live.number, live.name, live.steps)] if live is not None else []
        for number, name, steps in trainings:
            rows += [
                (number, name, step.epoch, *(getattr(step, each) for each in FIGURES))
                for step in steps
            ]
        return rows

    # --- drawing ----------------------------------------------------------------------------------------

    def _on_steps(self, number: int, steps: list[Step]) -> None:
        live = self.session.live
        if live is None or live.number != number:
            return
        self._follow(live, live.steps, steps)
        self._changed.add(number)
        if not self.in_sight:
            self._outdated = True
        elif not self._timer.isActive():
            self._timer.start()

    def _follow(self, run: Run | LiveRun, steps: Sequence[Step], new: Sequence[Step] = ()) -> None:
        """Bring the curves of a run up to its steps, the last of which are new."""
        track = self.tracks.get(run.number)
        if track is None or track.settings != run.settings or not track.begins(steps, len(new)):
            track = self.tracks[run.number] = RunCurve(run.number, run.name, run.settings)
            new = steps
        track.add(new)
        track.name = run.name

    def _on_timer(self) -> None:
        """Draw what is new; with nothing new, stop looking."""
        if not self._changed:
            self._timer.stop()
            return
        changed, self._changed = self._changed, set()
        self._set_ranges()
        for number in changed & set(self.tracks):
            self._draw(self.tracks[number])
        self.drawn += 1

    def fit(self) -> None:
        """Show all epochs, also of those to come."""
        self._by_hand, self._ranges = False, ()
        self._draw_all()

    def _part(self) -> list[float] | None:
        """Give the epochs and powers of ten that the user looks at; None is all."""
        ranges = self.plot.plotItem.vb.viewRange()
        return [float(end) for ends in ranges for end in ends] if self._by_hand else None

    def _look_at_part(self, part: Any) -> None:
        if part is None:
            self.fit()
        elif (
            view_settings.is_numbers(part, 4)
            and min(part[1] - part[0], part[3] - part[2]) > _NARROWEST
        ):
            self.plot.setRange(xRange=part[:2], yRange=part[2:], padding=0, disableAutoRange=True)
            self._on_moved_by_hand()

    def _set_ranges(self) -> None:
        """Make room in steps: axes that change with every epoch cost more than the curves."""
        shown = [track for track in self.tracks.values() if len(track)]
        values = [track.values[figure] for track in shown for figure in self._figures()]
        upright = round_range(values)
        if self._by_hand or upright is None:
            return
        ranges = (round_end(max(track.epochs[-1] for track in shown)), *upright)
        if ranges != self._ranges:
            self._ranges = ranges
            self.plot.setRange(
                xRange=(0, ranges[0]), yRange=upright, padding=0, disableAutoRange=True
            )

    def _chosen(self) -> int:
        """Give the number of the run that stands out."""
        shown = self.session.live or self.session.run
        return shown.number if shown is not None else 0

    def _figures(self) -> list[str]:
        return [figure for figure, box in self.boxes.items() if box.isChecked()]

    def _draw(self, track: RunCurve) -> None:
        width = 2 if track.number == self._chosen() else 1
        low, high = self.plot.plotItem.vb.viewRange()[0] if self._by_hand else (-math.inf, math.inf)
        colour, last = theme.RUN_COLOURS[(track.number - 1) % len(theme.RUN_COLOURS)], math.nan
        for figure, values in track.values.items():
            curve = self._curve(track, figure, colour, width)
            finite = np.isfinite(values)
            shown = self.boxes[figure].isChecked() and bool(finite.any())
            curve.setData(*(thinned(track.epochs, values, low, high) if shown else ([], [])))
            if shown and not math.isfinite(last):
                last = float(values[finite][-1])
        self._label(track, colour, last)

    def _curve(self, track: RunCurve, figure: str, colour: str, width: int) -> Any:
        """Give a curve in its style; that is set only where it has changed."""
        key = track.number, figure
        if key not in self.curves:
            self.curves[key] = self.plot.plot(connect="finite")
        curve, single = self.curves[key], len(track) == 1  # a baseline: one point
        look = colour, width, single
        if self._looks.get(key) != look:
            self._looks[key] = look
            curve.setPen(line_pen(colour, width, FIGURES[figure][1]))
            curve.setSymbol("s" if single else None)
            curve.setSymbolBrush(colour)
            curve.setSymbolPen(colour)
            curve.setSymbolSize(8)
        return curve

    def _label(self, track: RunCurve, colour: str, last: float) -> None:
        """Write the run's number at the end of its curve: runs differ by more than colour."""
        label = self._labels.get(track.number)
        if label is None:
            label = pg.TextItem(str(track.number), anchor=(1, 1))
            self.plot.addItem(label, ignoreBounds=True)
            self._labels[track.number] = label
        if label.color.name().upper() != colour.upper():  # it differs between light and dark
            label.setColor(colour)
        label.setVisible(math.isfinite(last) and len(track) > 0)
        if label.isVisible():
            label.setPos(track.epochs[-1], math.log10(last))

    def _remove(self, number: int) -> None:
        self.tracks.pop(number, None)
        for figure in FIGURES:
            self._looks.pop((number, figure), None)
            curve = self.curves.pop((number, figure), None)
            if curve is not None:
                self.plot.removeItem(curve)
        label = self._labels.pop(number, None)
        if label is not None:
            self.plot.removeItem(label)

    # --- what happens -----------------------------------------------------------------------------------

    def _on_runs_changed(self) -> None:
        if not self.session.runs and self.session.live is None:
            self._by_hand, self._ranges = False, ()  # the next training may lie elsewhere
        self.mark_dirty()

    def _on_box_toggled(self) -> None:
        self._draw_all()

    def _on_moved_by_hand(self) -> None:
        """Leave the ranges to the user, and draw what lies in them in full."""
        self._by_hand = True
        self._changed |= set(self.tracks)
        self._timer.start()

    def _draw_all(self) -> None:
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
        job = self.jobs.job(JobName.TRAINING)
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
        figures, chosen = self._figures(), self._chosen()
        ranked = sorted(
            self.tracks.values(), key=lambda track: (track.number != chosen, -track.number)
        )
        texts = (track.text_at(epoch, figures) for track in ranked[:MOST_READ])
        self.readout.setText("    ".join(filter(None, texts)))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Forget what was pointed at when the pointer leaves the plot, of which its scene is not told."""
        if event.type() == QEvent.Type.Leave:
            self.cross.hide()
            self.readout.setText(" ")
        return super().eventFilter(watched, event)

    def hideEvent(self, event: QHideEvent) -> None:
        """Do not draw unseen."""
        self._timer.stop()
        super().hideEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what came meanwhile."""
        super().showEvent(event)
        self._on_timer()


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(ConvergenceViewer))
