"""All runs in one table: how well each recognises, its objective, and how long it took."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from isca_gui.core.methods import METHODS
from isca_gui.jobs.names import JobName
from isca_gui.viewers.cli_lines import settings_summary
from isca_gui.viewers.export import Exportable
from isca_gui.viewers.runs import run_tables
from isca_gui.viewers.runs.run_tables import percent
from isca_gui.viewers.viewer import NextStep, Viewer, stale_reason, step_to_run

if TYPE_CHECKING:
    from PySide6.QtCore import QPoint
    from PySide6.QtWidgets import QMenu

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import Run
    from isca_gui.session.session import Session

RANDOM = "random"
# Title, tooltip, and whether higher (1) or lower (−1) is better, or neither (0).
COLUMNS = (
    ("Run", "Run name", 0),
    ("Method", "How the bases of the blocks are learned", 0),
    ("Settings", "What differs from the published settings", 0),
    (run_tables.LEAVE_ONE_OUT,
     "Share of distorted pictures recognised when they are left out (higher is better)", 1),
    ("Blocks right", "Share of their blocks that vote for the actual kind (higher is better)", 1),
    ("Objective", "Mean SSIM distance left by the orthonormal basis (lower is better)", -1),
    ("Seconds", "Training time (lower is better)", -1),
)  # fmt: skip
TITLES = [title for title, _, _ in COLUMNS]
# The column that takes the spare width.
SETTINGS = 2
# The columns from this one on hold figures.
_FIRST_FIGURE = 3


def figures(run: Run) -> tuple[float | None, ...]:
    """Return the figures of a run in the order of the columns; None if unknown."""
    accuracy = None
    block_accuracy = None
    if run.evaluation is not None:
        accuracy = run.evaluation.accuracy
        block_accuracy = run.evaluation.block_accuracy
    objective = run.model.state.objective
    if run.model.steps:
        objective = run.model.steps[-1].objective
    return accuracy, block_accuracy, float(objective), float(run.model.state.seconds)


def figure_texts(run: Run) -> tuple[str, ...]:
    """Return the figures of a run as the table shows them."""
    accuracy, block_accuracy, objective, seconds = figures(run)
    return percent(accuracy), percent(block_accuracy), f"{objective:.5f}", f"{seconds:.1f}"


def row_values(run: Run) -> tuple[str | float | None, ...]:
    """Return the values of a run in the order of the columns."""
    return (run.name, run.settings.method, settings_summary(run.settings), *figures(run))


class ComparisonViewer(Viewer):
    """All runs in one table; any method must beat the random subspace."""

    TITLE = "Comparison"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self._build()
        self._runs: list[Run] = []  # in the order shown
        self.view_settings.register(
            order=run_tables.saved_order(self.table.horizontalHeader(), TITLES)
        )
        session.runs_changed.connect(self.mark_dirty)
        session.run_selected.connect(self.mark_dirty)
        session.dataset_changed.connect(self.mark_dirty)
        session.reference_changed.connect(self.mark_dirty)
        session.spec_changed.connect(self.mark_dirty)
        jobs.changed_of(JobName.EVALUATION).connect(self._update_button)

    def missing_step(self) -> NextStep | None:
        """Return the step to a trained model."""
        return None if self.session.runs else step_to_run(self.session, self._actions)

    def redraw(self) -> None:
        """Fill the table; the best of each column is bold."""
        self._runs = self._sorted_runs()
        with run_tables.measured_once(self.table, SETTINGS):
            self._fill(self._runs)
        self.hint.setText(self._hint(self.session.runs))
        self._update_button()

    def _fill(self, runs: list[Run]) -> None:
        values = [row_values(run) for run in runs]
        best = [_best(column, [row[column] for row in values]) for column in range(len(COLUMNS))]
        self.table.setRowCount(len(runs))
        for row, run in enumerate(runs):
            reason = stale_reason(self.session, run)
            name = f"{run.name}, {reason}" if reason else run.name
            method = METHODS[run.settings.method].title
            texts = (name, method, settings_summary(run.settings))
            for column, text in enumerate(texts):
                self.table.setItem(row, column, _item(text))
            for column, text in enumerate(figure_texts(run), _FIRST_FIGURE):
                bold = best[column] is not None and values[row][column] == best[column]
                self.table.setItem(row, column, _item(text, right=True, bold=bold))

    def rows(self) -> list[tuple[object, ...]]:
        """Return the table for a file, in the order shown."""
        rows: list[tuple[object, ...]] = [tuple(TITLES)]
        for run in self._sorted_runs():
            rows.append(tuple("" if value is None else value for value in row_values(run)))
        return rows

    def evaluate(self) -> None:
        """Evaluate all runs that have not been evaluated."""
        self._actions.evaluate_all([run.number for run in self._unevaluated()])

    # --- building ---------------------------------------------------------------------------------

    def _build(self) -> None:
        self.table = QTableWidget(0, len(COLUMNS), self)
        self.table.setHorizontalHeaderLabels([run_tables.heading(title) for title in TITLES])
        for column, (_, tip, _) in enumerate(COLUMNS):
            head = self.table.horizontalHeaderItem(column)
            if head is not None:
                head.setToolTip(f"{tip}. {run_tables.SORT_TIP}")
        self.table.setAccessibleName("Comparison of all runs")
        self.table.setToolTip("All runs, with the best figure of each column in bold")
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        run_tables.set_up_table(self.table, SETTINGS, self.mark_dirty)
        self.table.itemActivated.connect(self._on_activated)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._on_menu)
        self._table_item = Exportable("comparison", "table", table=self.rows)
        self.hint = QLabel(self)
        self.hint.setWordWrap(True)
        self.button = QPushButton("Evaluate all", self)
        self.button.setAccessibleName("Evaluate all runs that have not been evaluated")
        self.button.clicked.connect(self.evaluate)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.button)
        row.addWidget(self.exporter.button(self._table_item))
        layout = QVBoxLayout(self.content)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addWidget(self.hint)
        layout.addWidget(self.table, 1)
        layout.addLayout(row)

    def _hint(self, runs: tuple[Run, ...]) -> str:
        random = [run for run in runs if run.settings.method == RANDOM]
        if not random:
            return "Also train the method 'Random subspace': it is what any method must beat."
        newest = random[-1]
        if newest.evaluation is None:
            return f"{newest.name} is what any method must beat. It has not been evaluated yet."
        reached = percent(newest.evaluation.accuracy)
        return f"{newest.name} reaches {reached}: any method must beat that."

    # --- what happens -----------------------------------------------------------------------------

    def _sorted_runs(self) -> list[Run]:
        return run_tables.sorted_by_header(
            self.table.horizontalHeader(),
            self.session.runs,
            lambda run, column: row_values(run)[column],
        )

    def _unevaluated(self) -> list[Run]:
        return [run for run in self.session.runs if run.evaluation is None]

    def _update_button(self) -> None:
        evaluations = [JobName.EVALUATION.of(run.number) for run in self.session.runs]
        busy = any(self.jobs.running(job) for job in evaluations)
        tip = "Recognise every training picture as if the model had not seen it"
        if busy:
            tip = "The evaluation is running."
        elif not self._unevaluated():
            tip = "All runs have been evaluated."
        self.button.setEnabled(not busy and bool(self._unevaluated()))
        self.button.setToolTip(tip)

    def _on_activated(self, item: QTableWidgetItem) -> None:
        if item.row() < len(self._runs):
            self.session.select_run(self._runs[item.row()].number)

    def menu(self) -> QMenu:
        """Make the menu of the table."""
        menu = self.exporter.menu(self._table_item)
        menu.addSeparator()
        run_tables.add_sort_menu(menu, self.table.horizontalHeader(), TITLES)
        return menu

    def _on_menu(self, place: QPoint) -> None:
        self.menu().popup(self.table.viewport().mapToGlobal(place))


def _best(column: int, values: list[str | float | None]) -> float | None:
    """Return the best figure of a column; None if there is nothing to compare it with."""
    known = [value for value in values if isinstance(value, float) and not math.isnan(value)]
    if len(known) < 2:
        return None
    return max(known) if COLUMNS[column][2] > 0 else min(known)


def _item(text: str, right: bool = False, bold: bool = False) -> QTableWidgetItem:
    item = QTableWidgetItem(text)
    item.setToolTip(text)
    if right:
        item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    if bold:
        font = QFont()
        font.setBold(True)
        item.setFont(font)
    return item


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(ComparisonViewer))
