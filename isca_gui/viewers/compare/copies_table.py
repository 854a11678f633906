"""The table of copies: sortable, filterable, one row for each copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QSize,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QPixmap
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from isca_gui.core.comparison import parameters
from isca_gui.core.comparison.summary import cause_of
from isca_gui.viewers.compare.findings import answer_colour, probability_words
from isca_gui.widgets import theme
from isca_gui.widgets.step_frame import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from PySide6.QtGui import QKeyEvent

    from isca_gui.core.comparison.compare import Comparison
    from isca_gui.session.comparisons import ComparedCopy, Comparisons

    Index = QModelIndex | QPersistentModelIndex

SORT_ROLE = Qt.ItemDataRole.UserRole
_ICON = QSize(40, 30)
_ROW_HEIGHT = 34
_SWATCH = 12
# What sorts behind everything else.
_LAST = float("inf")


@dataclass(frozen=True)
class Column:
    """A column: its heading, what it means, its cell, and what it is sorted by."""

    title: str
    sentence: str
    text: Callable[[Comparison], str]
    key: Callable[[Comparison], Any]
    width: int = 80
    number: bool = True


def parameters_in_words(found: Comparison) -> str:
    """Return all physical parameters with their units in one line."""
    return ", ".join(
        f"{parameters.describe(kind, name).title} {parameters.in_words(kind, name, value)}"
        for kind, name, value in parameters.all_parameters(found)
    )


COLUMNS = (
    Column(
        "Answer",
        "What was done to the copy",
        cause_of,
        cause_of,
        210,
        number=False,
    ),
    Column(
        "Probability",
        "How often answers like this one are right: higher is surer",
        probability_words,
        lambda found: found.probability if probability_words(found) else _LAST,
    ),
    Column(
        "Parameters",
        "Physical parameters of what was found",
        parameters_in_words,
        parameters_in_words,
        260,
        number=False,
    ),
    Column(
        "MSE",
        "Mean squared change of the luma, 0 to 255: lower is better",
        lambda found: f"{found.mse:.1f}",
        lambda found: found.mse,
        64,
    ),
    Column(
        "PSNR",
        "Peak signal-to-noise ratio in dB: higher is better",
        lambda found: f"{found.psnr:.1f}" if found.psnr is not None else "∞",
        lambda found: found.psnr if found.psnr is not None else _LAST,
        64,
    ),
    Column(
        "SSIM",
        "Structural similarity: 1 is identical",
        lambda found: f"{found.ssim:.3f}",
        lambda found: found.ssim,
        64,
    ),
)
NAME = 0
LIMITS = len(COLUMNS) + 1
HEADINGS = ("Copy", *(column.title for column in COLUMNS), "Limits")
_NAME_WIDTH = 220
_LIMITS_WIDTH = 220


class CopiesModel(QAbstractTableModel):
    """The copies of the session as rows."""

    def __init__(self, state: Comparisons, parent: QWidget) -> None:
        super().__init__(parent)
        self._state = state
        self._copies: tuple[ComparedCopy, ...] = ()
        self._icons: dict[int, tuple[int, QPixmap]] = {}

    def refresh(self) -> None:
        """Take over the copies of the session; what has not moved keeps its place."""
        before = [copy.number for copy in self._copies]
        copies = self._state.copies
        if before == [copy.number for copy in copies]:
            self._copies = copies
            last = self.index(max(len(copies) - 1, 0), len(HEADINGS) - 1)
            self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self._copies = copies
        self.endResetModel()

    def copy_at(self, row: int) -> ComparedCopy:
        """Return the copy of a row."""
        return self._copies[row]

    def row_of(self, number: int) -> int | None:
        """Return the row of a copy."""
        rows = (row for row, copy in enumerate(self._copies) if copy.number == number)
        return next(rows, None)

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of copies."""
        return 0 if parent is not None and parent.isValid() else len(self._copies)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        return 0 if parent is not None and parent.isValid() else len(HEADINGS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a heading, or what it means."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADINGS[section]
        if role == Qt.ItemDataRole.ToolTipRole and section == LIMITS:
            return "Whether the copy keeps the limits; the button Limits… sets them."
        if role == Qt.ItemDataRole.ToolTipRole and 0 < section <= len(COLUMNS):
            return f"{COLUMNS[section - 1].sentence}. Click to sort."
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows."""
        if not index.isValid() or index.row() >= len(self._copies):
            return None
        copy = self._copies[index.row()]
        column = index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(copy, column)
        if role == SORT_ROLE:
            return self._key(copy, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tooltip(copy, column)
        if role == Qt.ItemDataRole.DecorationRole:
            return self._decoration(copy, column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._foreground(copy, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and 0 < column <= len(COLUMNS):
            side = Qt.AlignmentFlag.AlignLeft
            if COLUMNS[column - 1].number:
                side = Qt.AlignmentFlag.AlignRight
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        return None

    def text(self, copy: ComparedCopy, column: int) -> str:
        """Return the text of a cell."""
        if column == NAME:
            return copy.name
        if column == LIMITS:
            return self._limits(copy)
        found = copy.result.comparison if copy.result is not None else None
        if found is not None:
            return COLUMNS[column - 1].text(found)
        if column == 1:
            return "failed" if copy.error else "…"
        return ""

    def _limits(self, copy: ComparedCopy) -> str:
        reasons = self._state.broken(copy)
        if reasons is None:
            return ""
        return f"✗ {'; '.join(reasons)}" if reasons else "✓ within limits"

    def _key(self, copy: ComparedCopy, column: int) -> Any:
        found = copy.result.comparison if copy.result is not None else None
        if column in (NAME, LIMITS) or found is None:
            return self.text(copy, column).casefold()
        return COLUMNS[column - 1].key(found)

    def _tooltip(self, copy: ComparedCopy, column: int) -> str:
        if column == NAME:
            return copy.path or copy.name
        if column == LIMITS:
            return self._limits(copy)
        if copy.result is not None and copy.result.comparison is not None:
            return copy.result.comparison.sentence
        return copy.error or "Not compared yet."

    def _decoration(self, copy: ComparedCopy, column: int) -> Any:
        if column == NAME:
            return self._icon(copy)
        if column == 1 and copy.result is not None and copy.result.comparison is not None:
            return _swatch(QColor(*answer_colour(copy.result.comparison)))
        return None

    def _icon(self, copy: ComparedCopy) -> QPixmap | None:
        if copy.thumbnail.isNull():
            return None
        known = self._icons.get(copy.number)
        key = copy.thumbnail.cacheKey()
        if known is None or known[0] != key:
            small = QPixmap.fromImage(copy.thumbnail).scaled(
                _ICON * 2,
                Qt.AspectRatioMode.KeepAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            )
            known = key, small
            self._icons[copy.number] = known
        return known[1]

    def _foreground(self, copy: ComparedCopy, column: int) -> QColor | None:
        shades = theme.shades()
        if copy.error and column == 1:
            return QColor(shades.error)
        reasons = self._state.broken(copy)
        if column == LIMITS and reasons is not None:
            return QColor(shades.error if reasons else shades.good)
        return None


def _swatch(colour: QColor) -> QPixmap:
    """Return a small square of a colour, for a cell."""
    side = _SWATCH
    found = QPixmap(side, side)
    found.fill(colour)
    return found


class _Filter(QSortFilterProxyModel):
    """Shows the rows that contain all words, in any column; sorts numbers as numbers."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._words: list[str] = []
        self.setSortRole(SORT_ROLE)

    def set_words(self, text: str) -> None:
        """Show only rows with all of these words."""
        self._words = text.casefold().split()
        self.invalidate()

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        """Whether a row contains all words."""
        model = self.sourceModel()
        assert isinstance(model, CopiesModel)
        copy = model.copy_at(row)
        texts = " ".join(model.text(copy, column) for column in range(len(HEADINGS))).casefold()
        return all(word in texts for word in self._words)

    def lessThan(self, left: Index, right: Index) -> bool:
        """Whether a cell comes before another; texts of missing numbers come last."""
        first = left.data(SORT_ROLE)
        second = right.data(SORT_ROLE)
        if isinstance(first, str) != isinstance(second, str):
            return not isinstance(first, str)
        return bool(first < second)


class CopiesTable(QTableView):
    """The table of all copies; several can be chosen."""

    chosen = Signal(int)
    remove_requested = Signal()

    def __init__(self, state: Comparisons, parent: QWidget) -> None:
        super().__init__(parent)
        self._state = state
        self.rows = CopiesModel(state, self)
        self.filter = _Filter(self)
        self.filter.setSourceModel(self.rows)
        self.setModel(self.filter)
        self.setSortingEnabled(True)
        self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setIconSize(_ICON)
        self.verticalHeader().setVisible(False)
        self.verticalHeader().setDefaultSectionSize(_ROW_HEIGHT)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = self.horizontalHeader()
        header.setSectionsMovable(True)
        header.setStretchLastSection(True)
        header.setHighlightSections(False)
        header.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        header.setAccessibleName("Headings of the table of copies")
        for place, width in enumerate((_NAME_WIDTH, *(each.width for each in COLUMNS))):
            self.setColumnWidth(place, width)
        self.setColumnWidth(LIMITS, _LIMITS_WIDTH)
        self.setTabKeyNavigation(False)
        sentence = "All copies with their answers. Click a heading to sort, Del removes copies."
        describe(self, "Copies", sentence)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.selectionModel().currentRowChanged.connect(self._on_current_changed)

    def refresh(self) -> None:
        """Show the copies of the session."""
        chosen = self.numbers()
        count = self.rows.rowCount()
        self.rows.refresh()
        if self.rows.rowCount() != count:
            self._choose(chosen)
        self.follow()

    def follow(self) -> None:
        """Make the copy whose answer is shown the current one."""
        selected = self._state.selected
        row = self.rows.row_of(selected.number) if selected is not None else None
        if row is None or selected is None:
            return
        if selected.number not in self.numbers():
            place = self.filter.mapFromSource(self.rows.index(row, 0))
            if place.isValid():
                self.setCurrentIndex(place)

    def numbers(self) -> list[int]:
        """Return the numbers of the chosen copies, in the order of the table."""
        rows = sorted(index.row() for index in self.selectionModel().selectedRows())
        return [self._number_at(row) for row in rows]

    def all_numbers(self) -> list[int]:
        """Return the numbers of all copies that the filter shows, in the order of the table."""
        return [self._number_at(row) for row in range(self.filter.rowCount())]

    def cells(self, numbers: Iterable[int]) -> list[tuple[object, ...]]:
        """Return copies as a table with its headings."""
        table: list[tuple[object, ...]] = [HEADINGS]
        for number in numbers:
            copy = self._state.copy_of(number)
            if copy is not None:
                texts = (self.rows.text(copy, column) for column in range(len(HEADINGS)))
                table.append(tuple(texts))
        return table

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Remove copies with Del."""
        if event.key() == Qt.Key.Key_Delete:
            self.remove_requested.emit()
        else:
            super().keyPressEvent(event)

    def _choose(self, numbers: list[int]) -> None:
        flags = (
            self.selectionModel().SelectionFlag.Select | self.selectionModel().SelectionFlag.Rows
        )
        for number in numbers:
            row = self.rows.row_of(number)
            if row is not None:
                place = self.filter.mapFromSource(self.rows.index(row, 0))
                self.selectionModel().select(place, flags)

    def _number_at(self, row: int) -> int:
        return self.rows.copy_at(self.filter.mapToSource(self.filter.index(row, 0)).row()).number

    def _on_current_changed(self, current: QModelIndex, _: QModelIndex) -> None:
        if current.isValid():
            self.chosen.emit(self._number_at(current.row()))
