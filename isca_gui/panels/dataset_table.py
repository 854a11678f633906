"""The table of a dataset: target, achieved MSE and strength; unreachable levels are marked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from isca_gui.core.distortion.distortions import DISTORTIONS, ORIGINAL, parts_of
from isca_gui.widgets import theme

if TYPE_CHECKING:
    from isca_gui.core.distortion.dataset import Dataset

    Index = QModelIndex | QPersistentModelIndex

COLUMNS = (
    ("Kind", "What was done to the picture."),
    ("Target", "The mean squared error asked for, on the 0 to 255 scale."),
    ("Achieved", "The mean squared error of the picture; closer to the target is better."),
    ("Strength", "The strength of the distortion; point at a row to see its unit."),
)


class DatasetTableModel(QAbstractTableModel):
    """One row for each picture of a dataset, then one for each unreachable level."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[tuple[str, ...]] = []
        # The tooltip of each row, and whether its level is unreachable.
        self._notes: list[tuple[str, bool]] = []

    def show(self, dataset: Dataset | None) -> None:
        """Show another dataset."""
        self.beginResetModel()
        self._rows = []
        self._notes = []
        if dataset is not None:
            for entry in dataset.entries:
                style = theme.class_style(entry.label)
                numbers = (entry.target_mse, entry.achieved_mse, entry.strength)
                self._rows.append((f"{style.letter}  {style.title}", *map(_number, numbers)))
                self._notes.append((_note(entry.label), False))
            for missed in dataset.unreachable:
                style = theme.class_style(missed.kind)
                name = f"{style.letter}  {style.title}"
                self._rows.append((name, _number(missed.target_mse), "unreachable", ""))
                self._notes.append((f"This level cannot be reached: {missed.reach}.", True))
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        """Return the number of rows."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        """Return the number of columns."""
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the text, alignment, colour or tooltip of a cell."""
        note, unreachable = self._notes[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return note
        if role == Qt.ItemDataRole.ForegroundRole and unreachable:
            return QColor(theme.shades().warning)
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() > 0:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the names and tooltips of the columns."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        title, sentence = COLUMNS[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return title
        if role == Qt.ItemDataRole.ToolTipRole:
            return sentence
        return None


def _number(value: float) -> str:
    if math.isnan(value):
        return "–"
    if value < 1000:
        return f"{value:.4g}"
    return f"{value:.1f}"


def _note(label: str) -> str:
    """Return what was done to the pictures of a label, and the unit of its strength."""
    if label == ORIGINAL:
        return "The undistorted picture."
    rows = [DISTORTIONS[name] for name in parts_of(label) if name in DISTORTIONS]
    if not rows:
        return f"Pictures labelled '{label}'."
    sentences = " Then: ".join(row.sentence for row in rows)
    return f"{sentences} Strength: {rows[-1].unit}."
