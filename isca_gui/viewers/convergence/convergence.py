"""How trainings converge: error, objective and residuals of several runs, as they arrive."""

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
from isca_gui.viewers.export import Exportable, exportable_plot
from isca_gui.viewers.plots import LINE_ICON, add_menu, line_icon, line_pen, make_plot, style_plot
from isca_gui.viewers.view_settings import ViewSetting
from isca_gui.viewers.viewer import NextStep, Viewer, step_to_run
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

# Milliseconds between two drawings: 25 Hz.
INTERVAL = 40
# The newest runs are drawn, and always the selected one.
MAX_RUNS = 8
# The readout has room for the selected run and the newest ones.
MAX_READ = 3
# A narrower range of epochs or exponents cannot be shown.
_NARROWEST = 1e-6


class ConvergenceViewer(Viewer):
    """Convergence of the running training and of finished ones."""

    TITLE = "Convergence"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self.run_curves: dict[int, RunCurve] = {}
        # The plot's own items, by run and figure.
        self.curves: dict[tuple[int, str], Any] = {}
        self._labels: dict[int, Any] = {}
        # Setting a curve's style costs more than drawing it, so it is set only when it changes.
        self._styles: dict[tuple[int, str], tuple[object, ...]] = {}
        self._ranges: tuple[object, ...] = ()
        self._by_hand = False  # whether the user has moved or zoomed the plot
        self._changed: set[int] = set()  # runs with something new to draw
        self.drawn = 0  # how often the plot was drawn
        self._timer = QTimer(self)
        self._timer.setInterval(INTERVAL)
        self._timer.timeout.connect(self._on_timer)
        self._build()
        self.view_settings.register(
            figures=view_settings.some_of(self.boxes),
            part=ViewSetting(self._visible_part, self._look_at_part),
        )
        session.step_added.connect(self._on_steps)
        session.runs_changed.connect(self._on_runs_changed)
        session.run_selected.connect(self.mark_dirty)
        session.dataset_changed.connect(self.mark_dirty)
        session.reference_changed.connect(self.mark_dirty)
        jobs.changed_of(JobName.TRAINING).connect(self._on_progress)

    def missing_step(self) -> NextStep | None:
        """Return the step to a training, unless one is running."""
        if self.session.live is not None:
            return None
        return step_to_run(self.session, self._actions)

    def redraw(self) -> None:
        """Bring the curves up to date with the session's runs."""
        wanted = {run.number: run for run in self.session.runs[-MAX_RUNS:]}
        if (selected := self.session.run) is not None:
            wanted[selected.number] = selected
        live = self.session.live
        numbers = set(wanted)
        if live is not None:
            numbers.add(live.number)
        for number in set(self.run_curves) - numbers:
            self._remove(number)
        for run in wanted.values():
            self._follow(run, run.model.steps)
        if live is not None:
            self._follow(live, live.steps)
        self._changed |= set(self.run_curves)
        self._on_timer()
        self._on_progress()

    def restyle(self) -> None:
        """Apply the colours of the theme to the plot."""
        style_plot(self.plot)
        for figure, (_, dashes, _) in FIGURES.items():
            self.boxes[figure].setIcon(line_icon(dashes, self.devicePixelRatioF()))
        self._draw_all()

    # --- building ---------------------------------------------------------------------------------

    def _build(self) -> None:
        self._make_plot()
        self.progress = SteadyLabel(self, letters=40, right=True)
        self.readout = SteadyLabel(self)
        layout = QVBoxLayout(self.content)
        layout.setContentsMargins(6, 4, 6, 2)
        layout.setSpacing(2)
        layout.addLayout(self._controls())
        layout.addWidget(self.plot, 1)
        below = QHBoxLayout()
        below.addWidget(self.readout, 3)
        below.addWidget(self.progress, 2)
        layout.addLayout(below)

    def _make_plot(self) -> None:
        self.plot = make_plot("Convergence of the runs", self, "value", "epoch", log=True)
        self.plot.setLogMode(y=True)
        self.plot.setMouseEnabled(True, True)
        # Automatic ranges would lay the axes out again with every epoch.
        self.plot.plotItem.disableAutoRange()
        self.plot.setRange(xRange=(0, 10), yRange=(-2, 0), padding=0)
        self.plot.setMinimumHeight(90)
        self.cross = pg.InfiniteLine(angle=90, pen={"color": "#888888", "width": 1})
        self.cross.hide()
        self.plot.addItem(self.cross, ignoreBounds=True)
        self.plot.scene().sigMouseMoved.connect(self._on_mouse_moved)
        self.plot.viewport().installEventFilter(self)
        self.plot.plotItem.vb.sigRangeChangedManually.connect(self._on_moved_by_hand)

    def _controls(self) -> Flow:
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
        self.fit_button = QToolButton(self)
        self.fit_button.setText("Fit")
        self.fit_button.setAccessibleName("Fit the plot")
        self.fit_button.setToolTip("Show all epochs again, after moving or zooming with the mouse")
        self.fit_button.clicked.connect(self.fit)
        row.push()
        row.addWidget(self.fit_button)
        items = (
            exportable_plot("convergence", self.plot.plotItem),
            Exportable("convergence", "table of figures", table=self.rows),
        )
        row.addWidget(self.exporter.button(*items))
        add_menu(self.plot, lambda: self.exporter.menu(*items))
        return row

    def rows(self) -> list[tuple[object, ...]]:
        """Return all figures as a table."""
        rows: list[tuple[object, ...]] = [("run", "name", "epoch", *FIGURES)]
        for run in self.session.runs:
            rows += _figure_rows(run, run.model.steps)
        live = self.session.live
        if live is not None:
            rows += _figure_rows(live, live.steps)
        return rows

    # --- drawing ----------------------------------------------------------------------------------

    def _on_steps(self, number: int, steps: list[Step]) -> None:
        live = self.session.live
        if live is None or live.number != number:
            return
        self._follow(live, live.steps, steps)
        self._changed.add(number)
        if not self.in_sight:
            self._dirty = True
        elif not self._timer.isActive():
            self._timer.start()

    def _follow(self, run: Run | LiveRun, steps: Sequence[Step], new: Sequence[Step] = ()) -> None:
        """Bring the curves of a run up to date with its steps, the last of which are new."""
        curve = self.run_curves.get(run.number)
        same_run = curve is not None and curve.settings == run.settings
        if curve is None or not same_run or not curve.holds_start_of(steps, len(new)):
            curve = RunCurve(run.number, run.name, run.settings)
            self.run_curves[run.number] = curve
            new = steps
        curve.add(new)
        curve.name = run.name

    def _on_timer(self) -> None:
        """Draw what is new; stop the timer if nothing is."""
        if not self._changed:
            self._timer.stop()
            return
        changed = self._changed & set(self.run_curves)
        self._changed = set()
        self._set_ranges()
        for number in changed:
            self._draw(self.run_curves[number])
        self.drawn += 1

    def fit(self) -> None:
        """Show all epochs, including those to come."""
        self._by_hand = False
        self._ranges = ()
        self._draw_all()

    def _visible_part(self) -> list[float] | None:
        """Return the range of epochs and of exponents that the user has chosen; None for all."""
        if not self._by_hand:
            return None
        epochs, exponents = self.plot.plotItem.vb.viewRange()
        return [float(end) for end in (*epochs, *exponents)]

    def _look_at_part(self, part: Any) -> None:
        if part is None:
            self.fit()
        elif view_settings.is_number_list(part, 4):
            if min(part[1] - part[0], part[3] - part[2]) > _NARROWEST:
                self.plot.setRange(
                    xRange=part[:2], yRange=part[2:], padding=0, disableAutoRange=True
                )
                self._on_moved_by_hand()

    def _set_ranges(self) -> None:
        """Widen the axes in steps: laying them out with every epoch costs more than the curves."""
        shown = [curve for curve in self.run_curves.values() if len(curve)]
        values = [curve.values[figure] for curve in shown for figure in self._figures()]
        vertical = round_range(values)
        if self._by_hand or vertical is None:
            return
        last_epoch = round_end(max(curve.epochs[-1] for curve in shown))
        ranges = (last_epoch, *vertical)
        if ranges != self._ranges:
            self._ranges = ranges
            self.plot.setRange(
                xRange=(0, last_epoch), yRange=vertical, padding=0, disableAutoRange=True
            )

    def _chosen(self) -> int:
        """Return the number of the run that is drawn with thicker lines."""
        shown = self.session.live or self.session.run
        return shown.number if shown is not None else 0

    def _figures(self) -> list[str]:
        return [figure for figure, box in self.boxes.items() if box.isChecked()]

    def _draw(self, run_curve: RunCurve) -> None:
        width = 2 if run_curve.number == self._chosen() else 1
        low, high = -math.inf, math.inf
        if self._by_hand:
            low, high = self.plot.plotItem.vb.viewRange()[0]
        colour = theme.RUN_COLOURS[(run_curve.number - 1) % len(theme.RUN_COLOURS)]
        # The label stands at the end of the first figure that is shown.
        last = math.nan
        for figure, values in run_curve.values.items():
            curve = self._styled_curve(run_curve, figure, colour, width)
            finite = np.isfinite(values)
            if not self.boxes[figure].isChecked() or not finite.any():
                curve.setData([], [])
                continue
            curve.setData(*thinned(run_curve.epochs, values, low, high))
            if not math.isfinite(last):
                last = float(values[finite][-1])
        self._draw_label(run_curve, colour, last)

    def _styled_curve(self, run_curve: RunCurve, figure: str, colour: str, width: int) -> Any:
        """Return the plot item of a figure, restyled only if its style has changed."""
        key = (run_curve.number, figure)
        if key not in self.curves:
            self.curves[key] = self.plot.plot(connect="finite")
        curve = self.curves[key]
        # A baseline method has one step only, which is drawn as a square.
        single = len(run_curve) == 1
        style = (colour, width, single)
        if self._styles.get(key) != style:
            self._styles[key] = style
            curve.setPen(line_pen(colour, width, FIGURES[figure][1]))
            curve.setSymbol("s" if single else None)
            curve.setSymbolBrush(colour)
            curve.setSymbolPen(colour)
            curve.setSymbolSize(8)
        return curve

    def _draw_label(self, run_curve: RunCurve, colour: str, last: float) -> None:
        """Write the run's number at the end of its curve: colour alone must not tell runs apart."""
        label = self._labels.get(run_curve.number)
        if label is None:
            label = pg.TextItem(str(run_curve.number), anchor=(1, 1))
            self.plot.addItem(label, ignoreBounds=True)
            self._labels[run_curve.number] = label
        # The colour changes between the light and the dark theme.
        if label.color.name().upper() != colour.upper():
            label.setColor(colour)
        label.setVisible(math.isfinite(last) and len(run_curve) > 0)
        if label.isVisible():
            label.setPos(run_curve.epochs[-1], math.log10(last))

    def _remove(self, number: int) -> None:
        self.run_curves.pop(number, None)
        for figure in FIGURES:
            self._styles.pop((number, figure), None)
            curve = self.curves.pop((number, figure), None)
            if curve is not None:
                self.plot.removeItem(curve)
        label = self._labels.pop(number, None)
        if label is not None:
            self.plot.removeItem(label)

    # --- what happens -----------------------------------------------------------------------------

    def _on_runs_changed(self) -> None:
        # Without runs the chosen range is forgotten: the next training may lie elsewhere.
        if not self.session.runs and self.session.live is None:
            self._by_hand = False
            self._ranges = ()
        self.mark_dirty()

    def _on_box_toggled(self) -> None:
        self._draw_all()

    def _on_moved_by_hand(self) -> None:
        """Leave the ranges to the user, and draw what lies in them in full detail."""
        self._by_hand = True
        self._changed |= set(self.run_curves)
        self._timer.start()

    def _draw_all(self) -> None:
        self._changed |= set(self.run_curves)
        self._on_timer()

    def _on_progress(self) -> None:
        self.progress.setText(self.describe())

    def describe(self) -> str:
        """Return which run is shown, how far it is, and how long it will still take."""
        live = self.session.live
        if live is not None:
            return self._describe_running(live)
        run = self.session.run
        if run is None:
            return ""
        epochs = run.model.state.epoch
        text = f"{run.name}: 1 epoch" if epochs == 1 else f"{run.name}: {epochs} epochs"
        if run.model.steps:
            text += f", objective {run.model.steps[-1].objective:.4f}"
        return text

    def _describe_running(self, live: LiveRun) -> str:
        epoch = live.steps[-1].epoch if live.steps else 0
        if epoch == 0:
            return f"{live.name}: preparing"
        settings = live.settings.resolved()
        text = f"{live.name}: epoch {epoch} of "
        if settings.tolerance:
            text += f"at most {settings.epochs}, until converged"
        else:
            text += str(settings.epochs)
        job = self.jobs.job(JobName.TRAINING)
        if job is not None and job.seconds_left is not None:
            text += f", {job.seconds_left:.0f} s left"
        return text

    def _on_mouse_moved(self, place: QPointF) -> None:
        box = self.plot.plotItem.vb
        inside = box.sceneBoundingRect().contains(place)
        self.cross.setVisible(inside)
        if not inside:
            self.readout.setText(" ")
            return
        epoch = box.mapSceneToView(place).x()
        self.cross.setPos(epoch)
        figures = self._figures()
        chosen = self._chosen()
        ranked = sorted(
            self.run_curves.values(), key=lambda curve: (curve.number != chosen, -curve.number)
        )
        texts = (curve.text_at(epoch, figures) for curve in ranked[:MAX_READ])
        self.readout.setText("    ".join(filter(None, texts)))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Clear the readout when the pointer leaves the plot, which its scene does not report."""
        if event.type() == QEvent.Type.Leave:
            self.cross.hide()
            self.readout.setText(" ")
        return super().eventFilter(watched, event)

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop drawing while hidden."""
        self._timer.stop()
        super().hideEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what has arrived while hidden."""
        super().showEvent(event)
        self._on_timer()


def _figure_rows(run: Run | LiveRun, steps: Iterable[Step]) -> list[tuple[object, ...]]:
    return [
        (run.number, run.name, step.epoch, *[getattr(step, figure) for figure in FIGURES])
        for step in steps
    ]


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(ConvergenceViewer))
