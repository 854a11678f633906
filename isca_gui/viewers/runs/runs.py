"""All runs of the session as a table: the selected one is shown in all viewers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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
from isca_gui.jobs.names import JobName
from isca_gui.viewers.cli_lines import model_file, run_commands, settings_summary
from isca_gui.viewers.export import Exportable
from isca_gui.viewers.runs import run_tables
from isca_gui.viewers.viewer import (
    SETTINGS_CHANGED,
    NextStep,
    Viewer,
    stale_reason,
    stale_sentence,
    step_to_run,
)
from isca_gui.widgets.dialogs import may_write, with_ending
from isca_gui.widgets.flow_layout import Flow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtCore import QObject, QPoint
    from PySide6.QtWidgets import QMenu

    from isca_gui.core.settings import TrainingSettings
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import Run
    from isca_gui.session.session import Session

    Index = QModelIndex | QPersistentModelIndex

_ENDS = {"converged": "converged", "max_epochs": "all epochs done", "stopped": "stopped and kept"}
# Numbers of columns: the one that can be edited, and the one that takes the spare width.
NAME = 1
SETTINGS = 3


@dataclass(frozen=True)
class _Column:
    """A column of the table: its text in a row, and the value to sort and save by."""

    title: str
    tip: str
    text: Callable[[Run], str]
    value: Callable[[Run], object]


def _objective(run: Run) -> float:
    return float(run.model.steps[-1].objective) if run.model.steps else math.nan


def _accuracy(run: Run) -> float | None:
    return run.evaluation.accuracy if run.evaluation is not None else None


_COLUMNS = (
    _Column("No.", "Run number", lambda run: str(run.number), lambda run: run.number),
    _Column("Name", "Double-click or press F2 to rename",
            lambda run: run.name, lambda run: run.name),
    _Column("Method", "How the bases of the blocks were learned",
            lambda run: METHODS[run.settings.method].title, lambda run: run.settings.method),
    _Column("Settings", "What differs from the published settings",
            lambda run: settings_summary(run.settings), lambda run: settings_summary(run.settings)),
    _Column("End", "How the training ended",
            lambda run: _ENDS.get(run.model.end, run.model.end), lambda run: run.model.end),
    _Column("Epochs", "Number of epochs or iterations",
            lambda run: str(run.model.state.epoch), lambda run: run.model.state.epoch),
    _Column("Objective", "Mean SSIM distance left by the orthonormal basis (lower is better)",
            lambda run: f"{_objective(run):.5f}", _objective),
    _Column("Seconds", "Training time",
            lambda run: f"{run.model.state.seconds:.1f}", lambda run: run.model.state.seconds),
    _Column(run_tables.LEAVE_ONE_OUT,
            "Share of distorted pictures recognised when they are left out; Evaluate measures it",
            lambda run: run_tables.percent(_accuracy(run)), _accuracy),
)  # fmt: skip
_DATA = "Data"
TITLES = [*[column.title for column in _COLUMNS], _DATA]


def _data_text(session: Session, run: Run) -> str:
    """Return whether a run's data are the current ones, in words for the column of that name."""
    reason = stale_reason(session, run)
    if reason == SETTINGS_CHANGED:
        return "settings changed"
    return reason or _data_value(session, run) or "–"


def _data_value(session: Session, run: Run) -> str:
    if run.stale:
        return "stale"
    return "" if session.dataset is None else "current"


def _columns(session: Session) -> tuple[_Column, ...]:
    """Return all columns of the table; the last one depends on the session as well."""
    data = _Column(
        _DATA,
        "Whether the run was trained on the dataset shown now",
        lambda run: _data_text(session, run),
        lambda run: _data_value(session, run),
    )
    return (*_COLUMNS, data)


def _settings_to_repeat(run: Run) -> TrainingSettings:
    """Return the settings that repeat a run; if it was stopped, with the epochs it has done."""
    epochs = run.model.state.epoch if run.model.end == STOPPED else 0
    return replace(run.settings, epochs=epochs) if epochs else run.settings


class RunsModel(QAbstractTableModel):
    """The runs of a session, one in each row."""

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._columns = _columns(session)
        self.runs: Sequence[Run] = session.runs  # in the order shown

    def show(self, after: Sequence[Run]) -> None:
        """Show other runs, or the same ones in another order; the same ones stay selected."""
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
        """Return the number of runs."""
        return 0 if parent.isValid() else len(self.runs)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell's text, tooltip or alignment."""
        if not index.isValid() or index.row() >= len(self.runs):
            return None
        run = self.runs[index.row()]
        column = self._columns[index.column()]
        if role == Qt.ItemDataRole.EditRole and index.column() == NAME:
            return run.name
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(run)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._stale_tip(run) if run.stale else column.text(run)
        is_number = isinstance(column.value(run), int | float)
        if role == Qt.ItemDataRole.TextAlignmentRole and is_number:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def _stale_tip(self, run: Run) -> str:
        sentence = stale_sentence(self._session, run)
        if not self._session.holds(run):
            sentence += " Train again to compare."
        return sentence

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's title and tooltip."""
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return run_tables.heading(TITLES[section])
            if role == Qt.ItemDataRole.ToolTipRole:
                return f"{self._columns[section].tip}. {run_tables.SORT_TIP}"
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Allow only the name to be edited."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        if index.column() == NAME:
            flags |= Qt.ItemFlag.ItemIsEditable
        return flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Rename a run."""
        name = str(value).strip()
        if role != Qt.ItemDataRole.EditRole or index.column() != NAME or not name:
            return False
        self._session.replace_run(replace(self.runs[index.row()], name=name))
        return True

    def value(self, run: Run, column: int) -> object:
        """Return the value to sort and save by."""
        return self._columns[column].value(run)

    def table(self) -> list[tuple[object, ...]]:
        """Return the table for a file, in the order shown."""
        rows: list[tuple[object, ...]] = [tuple(TITLES)]
        for run in self.runs:
            values = (column.value(run) for column in self._columns)
            rows.append(tuple("" if value is None else value for value in values))
        return rows


class RunsViewer(Viewer):
    """The runs of the session."""

    TITLE = "Runs"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self.model = RunsModel(session, self)
        self._build()
        self.view_settings.register(
            order=run_tables.saved_order(self.table.horizontalHeader(), TITLES)
        )
        session.runs_changed.connect(self.mark_dirty)
        session.run_selected.connect(self.mark_dirty)
        session.dataset_changed.connect(self.mark_dirty)
        session.reference_changed.connect(self.mark_dirty)
        session.spec_changed.connect(self.mark_dirty)
        jobs.changed_of(JobName.EVALUATION).connect(self._update_buttons)

    def missing_step(self) -> NextStep | None:
        """Return the step to a trained model."""
        return None if self.session.runs else step_to_run(self.session, self._actions)

    def redraw(self) -> None:
        """Show the session's runs and which is selected."""
        header = self.table.horizontalHeader()
        runs = run_tables.sorted_by_header(header, self.session.runs, self.model.value)
        self.model.show(runs)
        run = self.session.run
        row = next((row for row, each in enumerate(self.model.runs) if each is run), -1)
        selection = self.table.selectionModel()
        # Qt must not report a selection that follows the session as one made by the user.
        if row >= 0 and [index.row() for index in selection.selectedRows()] != [row]:
            selection.blockSignals(True)
            self.table.selectRow(row)
            selection.blockSignals(False)
            self.table.viewport().update()
        self._update_buttons()

    # --- building ---------------------------------------------------------------------------------

    def _build(self) -> None:
        self.table = QTableView(self)
        self.table.setModel(self.model)
        self.table.setAccessibleName("Runs")
        self.table.setToolTip("Select a run to show it in all viewers; click a heading to sort")
        run_tables.set_up_table(self.table, SETTINGS, self.mark_dirty)
        self.table.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._on_menu)
        delete = QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.table)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)
        delete.activated.connect(self.ask_delete)
        self.buttons: dict[str, QPushButton] = {}
        row = Flow()
        evaluate_tip = "Recognise every training picture as if the model had not seen it"
        command_tip = "Copy the isca command that trains the same model"
        for text, tip, action in (
            ("Evaluate", evaluate_tip, self.evaluate),
            ("Rename", "Rename the selected run (F2)", self.rename),
            ("Export model…", "Save the selected run's model to a file", self.ask_export),
            ("Copy as command", command_tip, self.copy_command),
            ("Delete…", "Delete the selected run (Del)", self.ask_delete),
        ):
            button = QPushButton(text, self)
            button.setAccessibleName(f"{text}: {tip}")
            button.setToolTip(tip)
            button.setProperty("tip", tip)
            button.clicked.connect(action)
            self.buttons[text] = button
            row.addWidget(button)
        self.note = QLabel(self)
        row.addWidget(self.note)
        row.push()
        self._table_item = Exportable("runs", "table of runs", table=self.model.table)
        row.addWidget(self.exporter.button(self._table_item))
        layout = QVBoxLayout(self.content)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addWidget(self.table, 1)
        layout.addLayout(row)

    # --- what the buttons do ----------------------------------------------------------------------

    def evaluate(self) -> None:
        """Measure the leave-one-out accuracy of the selected run."""
        if self.session.run is not None:
            self._actions.evaluate(self.session.run.number)

    def rename(self) -> None:
        """Edit the name in the table."""
        rows = self.table.selectionModel().selectedRows()
        already_editing = self.table.state() == QTableView.State.EditingState
        if rows and not already_editing:
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
        """Copy the commands that train the selected run again."""
        run = self.session.run
        reference = self.session.reference
        if run is None:
            return
        # The dataset that is loaded counts, not the settings in step 2, which are for the next one.
        dataset = None
        if self.session.holds(run) and self.session.work.dataset_of is reference:
            dataset = self.session.dataset
        picture = reference.path if reference is not None else None
        text = run_commands(_settings_to_repeat(run), dataset, picture, run.name)
        QGuiApplication.clipboard().setText(text)
        text = f"The command that trains {run.name} was copied to the clipboard."
        self.session.say("info", text)

    def ask_delete(self) -> None:
        """Delete the selected run after a confirmation."""
        run = self.session.run
        if run is None:
            return
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setIcon(QMessageBox.Icon.Question)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(f"Delete {run.name}?")
        box.setInformativeText(
            "Its model and evaluation will be lost unless you export the model first."
        )
        yes = box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        yes.clicked.connect(lambda: self._delete(run))
        box.open()

    def _delete(self, asked: Run) -> None:
        # A project opened meanwhile may have another run of the same number.
        run = self.session.run_of(asked.number)
        if run is not None and run.model is asked.model:
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
        """Make the menu of the table."""
        menu = self.exporter.menu(self._table_item)
        menu.addSeparator()
        run_tables.add_sort_menu(menu, self.table.horizontalHeader(), TITLES)
        for text, button in self.buttons.items():
            action = menu.addAction(text)
            action.setEnabled(button.isEnabled())
            action.triggered.connect(button.click)
        return menu

    def _on_menu(self, place: QPoint) -> None:
        self.menu().popup(self.table.viewport().mapToGlobal(place))

    def _update_buttons(self) -> None:
        run = self.session.run
        busy = run is not None and self.jobs.running(JobName.EVALUATION.of(run.number))
        for text, button in self.buttons.items():
            reason = ""
            if run is None:
                reason = "Select a run first."
            elif text == "Evaluate" and busy:
                reason = "The evaluation is running."
            button.setEnabled(not reason)
            button.setToolTip(reason or str(button.property("tip")))
        live = self.session.live
        self.note.setText(f"{live.name} is training." if live is not None else "")


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(RunsViewer))
