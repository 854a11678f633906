"""The table of what a dataset holds: target, achieved, strength; what cannot be reached is marked."""

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
    (
        "Achieved",
        "The mean squared error of the picture that was made; nearer to the target is better.",
    ),
    ("Strength", "How strong the distortion had to be; hover a row for its unit."),
)


class MadeModel(QAbstractTableModel):
    """One row for each picture of a dataset, then one for each level that was out of reach."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[tuple[str, ...]] = []
        self._notes: list[
            tuple[str, bool]
        ] = []  # a sentence for each row, and whether it is missing

    def show(self, dataset: Dataset | None) -> None:
        """Show another dataset."""
        self.beginResetModel()
        self._rows, self._notes = [], []
        if dataset is not None:
            for entry in dataset.entries:
                style = theme.class_style(entry.label)
                numbers = (entry.target_mse, entry.achieved_mse, entry.strength)
                self._rows.append((f"{style.letter}  {style.title}", *map(_number, numbers)))
                self._notes.append((_unit(entry.label), False))
            for missed in dataset.unreachable:
                style = theme.class_style(missed.kind)
                name = f"{style.letter}  {style.title}"
                self._rows.append((name, _number(missed.target_mse), "unreachable", ""))
                self._notes.append((f"It cannot be reached: {missed.reach}.", True))
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        """Give the number of rows."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        """Give the number of columns."""
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Give the text, alignment, colour or note of a cell."""
        note, missing = self._notes[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return note
        if role == Qt.ItemDataRole.ForegroundRole and missing:
            return QColor(theme.shades().warning)
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() > 0:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Give the names of the columns and their sentences."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[section][0]
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.ToolTipRole:
            return COLUMNS[section][1]
        return None


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4g}" if value < 1000 else f"{value:.1f}"


def _unit(label: str) -> str:
    if label == ORIGINAL:
        return "The undistorted picture."
    rows = [DISTORTIONS[name] for name in parts_of(label) if name in DISTORTIONS]
    first = "".join(f"{row.sentence} Then: " for row in rows[:-1])
    return (
        f"{first}{rows[-1].sentence} Strength: {rows[-1].unit}."
        if rows
        else f"Pictures of '{label}'."
    )
