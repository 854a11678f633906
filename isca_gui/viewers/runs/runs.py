"""Every training of the session as a table: select one, and all viewers show it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelection,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
)
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QFileDialog,
    QLabel,
    QMessageBox,
    QPushButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from isca_gui.core.methods import METHODS
from isca_gui.core.solvers.steps import STOPPED
from isca_gui.jobs.actions import MODEL_SUFFIX
from isca_gui.viewers.cli_lines import model_file, run_commands, settings_in_short
from isca_gui.viewers.export import Exportable
from isca_gui.viewers.runs import run_data, run_tables
from isca_gui.viewers.viewer import NextStep, Viewer, need_run
from isca_gui.widgets.file_names import may_write, with_ending
from isca_gui.widgets.flow_layout import Flow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtCore import QObject, QPoint
    from PySide6.QtWidgets import QMenu

    from isca_gui.core.settings import TrainingSettings
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Run, Session

    Index = QModelIndex | QPersistentModelIndex
    Column = tuple[str, str, Callable[[Run], str], Callable[[Run], object]]

_ENDS = {"converged": "converged", "max_epochs": "all epochs done", "stopped": "stopped and kept"}
NAME, SETTINGS = 1, 3


def _last(run: Run, figure: str) -> float:
    return float(getattr(run.model.steps[-1], figure)) if run.model.steps else math.nan


# title, what it is, the text in a row, the value to put in order and save by
_COLUMNS: tuple[Column, ...] = (
    ("No.", "Number of the run", lambda run: str(run.number), lambda run: run.number),
    ("Name", "Double-click or F2 to rename", lambda run: run.name, lambda run: run.name),
    ("Method", "Method and solver", lambda run: METHODS[run.settings.method].title,
     lambda run: run.settings.method),
    ("Settings", "What differs from the published settings", lambda run: settings_in_short(run.settings),
     lambda run: settings_in_short(run.settings)),
    ("End", "How the training ended", lambda run: _ENDS.get(run.model.end, run.model.end),
     lambda run: run.model.end),
    ("Epochs", "Epochs or iterations done", lambda run: str(run.model.state.epoch),
     lambda run: run.model.state.epoch),
    ("Objective", "Mean SSIM distance left by the orthonormal basis; lower is better",
     lambda run: f"{_last(run, 'objective'):.5f}", lambda run: _last(run, "objective")),
    ("Seconds", "Time of training", lambda run: f"{run.model.state.seconds:.1f}",
     lambda run: run.model.state.seconds),
    ("Leave one out", "Share of training pictures recognised without knowing them; Evaluate measures it",
     lambda run: run_tables.percent(run.evaluation.accuracy if run.evaluation else None),
     lambda run: run.evaluation.accuracy if run.evaluation else ""),
)  # fmt: skip
TITLES = [*(column[0] for column in _COLUMNS), "Data"]


def _data(session: Session, run: Run) -> str:
    changed = run_data.change(session, run).removeprefix(
        "dataset "
    )  # the column's title says of what
    return changed or ("–" if session.dataset is None else "current")


def columns(session: Session) -> tuple[Column, ...]:
    """Give all columns of the table; the last tells of the session's data, too."""
    tip = "Whether it was trained on the dataset shown now"
    return (
        *_COLUMNS,
        (
            *("Data", tip),
            lambda run: _data(session, run),
            lambda run: "stale" if run.stale else "" if session.dataset is None else "current",
        ),
    )


def _done(run: Run) -> TrainingSettings:
    """Give the settings that lead to a run's model: where it was stopped, the epochs that it has."""
    done = run.model.state.epoch if run.model.end == STOPPED else 0
    return replace(run.settings, epochs=done) if done else run.settings


class RunsModel(QAbstractTableModel):
    """The runs of a session, one in a row."""

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session, self._columns = session, columns(session)
        self.runs: Sequence[Run] = session.runs  # in the order shown

    def show(self, after: Sequence[Run]) -> None:
        """Take other runs, or the same in another order; those that stay are kept, with what is selected."""
        before = self.runs
        places = {run.number: row for row, run in enumerate(after)}
        if places.keys() != {run.number for run in before}:
            self.beginResetModel()
            self.runs = after
            self.endResetModel()
            return
        self.layoutAboutToBeChanged.emit()
        kept = self.persistentIndexList()
        moved = [self.index(places[before[each.row()].number], each.column()) for each in kept]
        self.runs = after
        self.changePersistentIndexList(kept, moved)
        self.layoutChanged.emit()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        """One row per run."""
        return 0 if parent.isValid() else len(self.runs)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """One column per figure."""
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Give a cell's text."""
        if not index.isValid() or index.row() >= len(self.runs):
            return None
        run, column = self.runs[index.row()], self._columns[index.column()]
        if role == Qt.ItemDataRole.EditRole and index.column() == NAME:
            return run.name
        if role == Qt.ItemDataRole.DisplayRole:
            return column[2](run)
        if role == Qt.ItemDataRole.ToolTipRole:
            if run.stale:
                again = "" if self._session.holds(run) else " Train again to compare."
                return run_data.sentence(self._session, run) + again
            return column[2](run)
        if role == Qt.ItemDataRole.TextAlignmentRole and isinstance(column[3](run), int | float):
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Give a column's title and what it is."""
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return TITLES[section]
            if role == Qt.ItemDataRole.ToolTipRole:
                return f"{self._columns[section][1]}. {run_tables.ORDER_TIP}"
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Only the name can be edited."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() == NAME else flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Rename a run."""
        name = str(value).strip()
        if role != Qt.ItemDataRole.EditRole or index.column() != NAME or not name:
            return False
        self._session.replace_run(replace(self.runs[index.row()], name=name))
        return True

    def value(self, run: Run, column: int) -> object:
        """Give what to put in order and save by."""
        return self._columns[column][3](run)

    def table(self) -> list[tuple[object, ...]]:
        """Give all as a table for a file, in the order shown."""
        head: list[tuple[object, ...]] = [tuple(TITLES)]
        return head + [tuple(column[3](run) for column in self._columns) for run in self.runs]


class RunsViewer(Viewer):
    """The runs of the session."""

    TITLE = "Runs"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self.model = RunsModel(session, self)
        self._build()
        self.looks.keep(order=run_tables.order(self.table.horizontalHeader(), TITLES))
        for signal in (session.runs_changed, session.run_selected, session.dataset_changed,
                       session.reference_changed, session.spec_changed):  # fmt: skip
            signal.connect(self.mark_dirty)
        jobs.changed.connect(self._update_buttons)

    def missing_step(self) -> NextStep | None:
        """Need a trained model."""
        return None if self.session.runs else need_run(self.session, self._actions)

    def redraw(self) -> None:
        """Show the session's runs and which is selected."""
        header = self.table.horizontalHeader()
        self.model.show(run_tables.in_order(header, self.session.runs, self.model.value))
        run = self.session.run
        row = next((row for row, each in enumerate(self.model.runs) if each is run), -1)
        selection = self.table.selectionModel()
        if row >= 0 and [index.row() for index in selection.selectedRows()] != [row]:
            selection.blockSignals(True)
            self.table.selectRow(row)
            selection.blockSignals(False)
            self.table.viewport().update()
        self._update_buttons()

    # --- building ---------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.table = QTableView(self)
        self.table.setModel(self.model)
        self.table.setAccessibleName("Runs")
        self.table.setToolTip(
            "Select a run, and all viewers show it; a heading puts the runs in order"
        )
        run_tables.set_up(self.table, SETTINGS, self.mark_dirty)
        self.table.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._on_menu)
        delete = QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.table)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)
        delete.activated.connect(self.ask_delete)
        self.buttons: dict[str, QPushButton] = {}
        row = Flow()
        for text, tip, work in (
            ("Evaluate", "Recognise every training picture as if it were not known", self.evaluate),
            ("Rename", "Give the selected run another name (F2)", self.rename),
            ("Export model…", "Save the selected run's model to a file", self.ask_export),
            ("Copy as command", "Copy the isca command that trains the same", self.copy_command),
            ("Delete…", "Forget the selected run (Del)", self.ask_delete),
        ):
            button = QPushButton(text, self)
            button.setAccessibleName(f"{text}: {tip}")
            button.setToolTip(tip)
            button.setProperty("tip", tip)
            button.clicked.connect(work)
            self.buttons[text] = button
            row.addWidget(button)
        self.note = QLabel(self)
        row.addWidget(self.note)
        row.push()
        self._thing = Exportable("runs", "table of the runs", table=self.model.table)
        row.addWidget(self.exporter.button(self._thing))
        layout = QVBoxLayout(self.content)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addWidget(self.table, 1)
        layout.addLayout(row)

    # --- what the buttons do ----------------------------------------------------------------------------

    def evaluate(self) -> None:
        """Measure leave-one-out accuracy of the selected run."""
        if self.session.run is not None:
            self._actions.evaluate(self.session.run.number)

    def rename(self) -> None:
        """Edit the name in the table."""
        rows = self.table.selectionModel().selectedRows()
        if (
            rows and self.table.state() != QTableView.State.EditingState
        ):  # the name may be edited already
            self.table.edit(self.model.index(rows[0].row(), NAME))

    def ask_export(self) -> None:
        """Ask for a file and save the model there."""
        run = self.session.run
        if run is None:
            return
        dialog = QFileDialog(self, f"Export {run.name}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter("ISCA model (*.isca)")
        dialog.selectFile(model_file(run.name))
        dialog.fileSelected.connect(lambda path: self._on_export_chosen(run, path))
        dialog.open()

    def copy_command(self) -> None:
        """Copy what gives the same run on the command line."""
        run, reference = self.session.run, self.session.reference
        if run is None:
            return
        same = self.session.holds(run) and self.session.work.dataset_of is reference
        dataset = (
            self.session.dataset if same else None
        )  # what is edited in step 2 is of the next one
        picture = reference.path if reference is not None else None
        QGuiApplication.clipboard().setText(run_commands(_done(run), dataset, picture, run.name))
        self.session.say("info", f"The command that trains {run.name} is on the clipboard.")

    def ask_delete(self) -> None:
        """Forget the selected run, when asked for twice."""
        run = self.session.run
        if run is None:
            return
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setIcon(QMessageBox.Icon.Question)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(f"Delete {run.name}?")
        box.setInformativeText("Its model and evaluation are lost unless you export it first.")
        yes = box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        yes.clicked.connect(lambda: self._delete(run))
        box.open()

    def _delete(self, asked: Run) -> None:
        run = self.session.run_of(asked.number)
        if (
            run is not None and run.model is asked.model
        ):  # not one of a project that was opened meanwhile
            self.session.remove_run(run.number)

    def _on_export_chosen(self, run: Run, path: str) -> None:
        whole = with_ending(path, MODEL_SUFFIX)
        if may_write(self, f"Export {run.name}", whole, path):
            self._actions.save_model(run, whole)

    def _on_selection_changed(self, _: QItemSelection, __: QItemSelection) -> None:
        rows = self.table.selectionModel().selectedRows()
        if rows:
            number = self.model.runs[rows[0].row()].number
            if self.session.run is None or self.session.run.number != number:
                self.session.select_run(number)

    def menu(self) -> QMenu:
        """Offer all that can be done with the table."""
        menu = self.exporter.menu(self._thing)
        menu.addSeparator()
        run_tables.add_order_menu(menu, self.table.horizontalHeader(), TITLES)
        for text, button in self.buttons.items():
            action = menu.addAction(text)
            action.setEnabled(button.isEnabled())
            action.triggered.connect(button.click)
        return menu

    def _on_menu(self, place: QPoint) -> None:
        self.menu().popup(self.table.viewport().mapToGlobal(place))

    def _update_buttons(self) -> None:
        if not self.isVisible():
            return
        run = self.session.run
        busy = run is not None and self.jobs.running(f"evaluation {run.number}")
        for text, button in self.buttons.items():
            reason = "" if run is not None else "Select a run first."
            if text == "Evaluate" and busy:
                reason = "It is being evaluated."
            button.setEnabled(not reason)
            button.setToolTip(reason or str(button.property("tip")))
        live = self.session.live
        self.note.setText(f"{live.name} is being trained." if live is not None else "")


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(RunsViewer))
