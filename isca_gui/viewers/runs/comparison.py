"""All runs in one table: how well each recognises, what it left of the structure, and how long it took."""

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
from isca_gui.viewers.cli_lines import settings_in_short
from isca_gui.viewers.export import Exportable
from isca_gui.viewers.runs import run_data, run_tables
from isca_gui.viewers.viewer import NextStep, Viewer, need_run

if TYPE_CHECKING:
    from PySide6.QtCore import QPoint
    from PySide6.QtWidgets import QMenu

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Run, Session

RANDOM = "random"
# title, what it is, and the higher the better (1), the lower (−1), or neither (0)
COLUMNS = (
    ("Run", "Name of the run", 0),
    ("Method", "What was learned about each block", 0),
    ("Settings", "What differs from the published settings", 0),
    ("Leave one out", "Share of the distorted pictures recognised without knowing them; high is good", 1),
    ("Blocks right", "Share of their blocks that vote for the truth; high is good", 1),
    ("Objective", "Mean SSIM distance left by the orthonormal basis; low is good", -1),
    ("Seconds", "Time of training; low is good", -1),
)  # fmt: skip
SETTINGS = 2  # the column with the room to spare
TITLES = [title for title, _, _ in COLUMNS]
_UNKNOWN = "–"


def figures(run: Run) -> tuple[float | None, ...]:
    """Give the figures of a run in the order of the columns; None is not known."""
    found, steps = run.evaluation, run.model.steps
    objective = steps[-1].objective if steps else run.model.state.objective
    accuracies = (found.accuracy, found.block_accuracy) if found is not None else (None, None)
    return (*accuracies, float(objective), float(run.model.state.seconds))


def row_of(run: Run) -> tuple[str | float | None, ...]:
    """Give all that the table says of a run."""
    return (run.name, run.settings.method, settings_in_short(run.settings), *figures(run))


def words(figure: float | None, column: int) -> str:
    """Write a figure as its column has it."""
    if figure is None:
        return _UNKNOWN
    return (
        run_tables.percent(figure)
        if column < 2
        else f"{figure:.5f}"
        if column == 2
        else f"{figure:.1f}"
    )


class ComparisonViewer(Viewer):
    """The runs side by side, with the random subspace as what any method must beat."""

    TITLE = "Comparison"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self._build()
        self._runs: list[Run] = []  # in the order shown
        self.looks.keep(order=run_tables.order(self.table.horizontalHeader(), TITLES))
        for signal in (session.runs_changed, session.run_selected, session.dataset_changed,
                       session.reference_changed, session.spec_changed):  # fmt: skip
            signal.connect(self.mark_dirty)
        jobs.changed.connect(self._update_button)

    def missing_step(self) -> NextStep | None:
        """Need a trained model."""
        return None if self.session.runs else need_run(self.session, self._actions)

    def redraw(self) -> None:
        """Fill the table; the best of each column is bold."""
        self._runs = self._in_order()
        with run_tables.measured_once(self.table, SETTINGS):
            self._fill(self._runs)
        self.hint.setText(self._hint(self.session.runs))
        self._update_button()

    def _fill(self, runs: list[Run]) -> None:
        values = [figures(run) for run in runs]
        best = [_best(column, [row[column] for row in values]) for column in range(4)]
        self.table.setRowCount(len(runs))
        for row, (run, found) in enumerate(zip(runs, values, strict=True)):
            method = METHODS[run.settings.method].title
            change = run_data.change(self.session, run)
            name = f"{run.name}, {change}" if change else run.name
            texts = (name, method, settings_in_short(run.settings))
            for column, text in enumerate(texts):
                self.table.setItem(row, column, _item(text))
            for column, figure in enumerate(found):
                bold = figure is not None and figure == best[column]
                self.table.setItem(
                    row, 3 + column, _item(words(figure, column), right=True, bold=bold)
                )

    def rows(self) -> list[tuple[object, ...]]:
        """Give the table for a file, in the order shown."""
        head: list[tuple[object, ...]] = [tuple(TITLES)]
        return head + [
            tuple("" if value is None else value for value in row_of(run))
            for run in self._in_order()
        ]

    def evaluate(self) -> None:
        """Evaluate all runs that have not been."""
        self._actions.evaluate_all([run.number for run in self._missing()])

    # --- inside -----------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.table = QTableWidget(0, len(COLUMNS), self)
        self.table.setHorizontalHeaderLabels(TITLES)
        for column, (_, tip, _) in enumerate(COLUMNS):
            head = self.table.horizontalHeaderItem(column)
            if head is not None:
                head.setToolTip(f"{tip}. {run_tables.ORDER_TIP}")
        self.table.setAccessibleName("Comparison of all runs")
        self.table.setToolTip("All runs; the best figure of each column is bold")
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        run_tables.set_up(self.table, SETTINGS, self.mark_dirty)
        self.table.itemActivated.connect(self._on_activated)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._on_menu)
        self._thing = Exportable("comparison", "table", table=self.rows)
        self.hint = QLabel(self)
        self.hint.setWordWrap(True)
        self.button = QPushButton("Evaluate all", self)
        self.button.setAccessibleName("Evaluate all runs that have not been")
        self.button.clicked.connect(self.evaluate)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.button)
        row.addWidget(self.exporter.button(self._thing))
        layout = QVBoxLayout(self.content)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addWidget(self.hint)
        layout.addWidget(self.table, 1)
        layout.addLayout(row)

    def _hint(self, runs: tuple[Run, ...]) -> str:
        random = [run for run in runs if run.settings.method == RANDOM]
        if not random:
            return (
                "Train the method 'Random subspace' as well: what it reaches, any method must beat."
            )
        if random[-1].evaluation is None:
            return f"{random[-1].name} is what any method must beat; it has not been evaluated yet."
        reached = run_tables.percent(random[-1].evaluation.accuracy)
        return f"{random[-1].name} reaches {reached}: any method must beat that."

    def _in_order(self) -> list[Run]:
        header = self.table.horizontalHeader()
        return run_tables.in_order(
            header, self.session.runs, lambda run, column: row_of(run)[column]
        )

    def _missing(self) -> list[Run]:
        return [run for run in self.session.runs if run.evaluation is None]

    def _update_button(self) -> None:
        if not self.isVisible():
            return
        busy = any(self.jobs.running(f"evaluation {run.number}") for run in self.session.runs)
        why = (
            "Runs are being evaluated."
            if busy
            else ""
            if self._missing()
            else "All runs are evaluated."
        )
        self.button.setEnabled(not why)
        self.button.setToolTip(why or "Recognise every training picture as if it were not known")

    def _on_activated(self, item: QTableWidgetItem) -> None:
        if item.row() < len(self._runs):
            self.session.select_run(self._runs[item.row()].number)

    def menu(self) -> QMenu:
        """Offer all that can be done with the table."""
        menu = self.exporter.menu(self._thing)
        menu.addSeparator()
        run_tables.add_order_menu(menu, self.table.horizontalHeader(), TITLES)
        return menu

    def _on_menu(self, place: QPoint) -> None:
        self.menu().popup(self.table.viewport().mapToGlobal(place))


def _best(column: int, values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    if len(known) < 2:
        return None
    return max(known) if COLUMNS[3 + column][2] > 0 else min(known)


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
