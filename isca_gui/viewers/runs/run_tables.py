"""What the tables of runs share: their style, and sorting by a click on a heading."""

from __future__ import annotations

import contextlib
import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QSizePolicy, QTableView

from isca_gui.viewers.view_settings import ViewSetting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from PySide6.QtWidgets import QMenu

    Row = TypeVar("Row")

# How many rows are seen in the smallest window, the headings included.
_FEWEST_ROWS = 4
# Qt's number for "no column": the rows are in the order in which they were trained.
_UNSORTED = -1
SORT_TIP = "Click to sort, click again to reverse, and once more for the order of training."
LEAVE_ONE_OUT = "Leave-one-out accuracy"
# Titles of columns that older projects have saved.
_FORMER_TITLES = {"Leave one out": LEAVE_ONE_OUT}


def sort_rows(rows: Iterable[Row], value: Callable[[Row], object], descending: bool) -> list[Row]:
    """Return rows sorted by a value; those whose value is unknown come last either way."""
    known: list[Row] = []
    unknown: list[Row] = []
    for row in rows:
        if _is_known(value(row)):
            known.append(row)
        else:
            unknown.append(row)
    return sorted(known, key=lambda row: _sort_key(value(row)), reverse=descending) + unknown


def _is_known(value: object) -> bool:
    return value not in (None, "") and not (isinstance(value, float) and math.isnan(value))


def _sort_key(value: Any) -> Any:
    """Return what to compare; digits in text count as numbers: run 2 comes before run 10."""
    if not isinstance(value, str):
        return value
    # Every second part is a number. Digits are compared by their count first and then as text,
    # because Python refuses to convert very long numbers.
    parts: list[Any] = re.split(r"(\d+)", value.casefold())
    for place in range(1, len(parts), 2):
        digits = parts[place].lstrip("0")
        parts[place] = (len(digits), digits)
    return parts


def percent(share: float | None) -> str:
    """Return a share as text; a dash if it is unknown, as for a dataset without copies."""
    if share is None or math.isnan(share):
        return "–"
    return f"{share:.1%}"


def heading(title: str) -> str:
    """Return a title as its column shows it: the longest takes two lines.

    This leaves the width to the settings, which would be cut otherwise.
    """
    return title.replace("-out accuracy", "-out\naccuracy")


def set_up_table(table: QTableView, stretched: int, on_sorted: Callable[..., None]) -> None:
    """Style a table of runs and make its headings sort it.

    Parameters
    ----------
    table
        The table, with one run in each row.
    stretched
        The column that takes the spare width.
    on_sorted
        Called when the user has chosen another order.
    """
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setAlternatingRowColors(True)
    table.setTabKeyNavigation(False)
    row = table.fontMetrics().height() + 8
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(row)
    table.setMinimumHeight(_FEWEST_ROWS * row)
    # The table scrolls, so it need not be as high as all its rows.
    table.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
    header = table.horizontalHeader()
    _fit_columns(header, stretched)
    header.setMinimumSectionSize(56)
    header.setHighlightSections(False)
    header.setSortIndicator(_UNSORTED, Qt.SortOrder.AscendingOrder)
    header.setSortIndicatorClearable(True)
    header.setSortIndicatorShown(True)
    header.setSectionsClickable(True)
    header.sortIndicatorChanged.connect(on_sorted)


def _fit_columns(header: QHeaderView, stretched: int) -> None:
    """Show all columns in full except the stretched one, which takes the rest of the width."""
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    header.setSectionResizeMode(stretched, QHeaderView.ResizeMode.Stretch)


@contextlib.contextmanager
def measured_once(table: QTableView, stretched: int) -> Iterator[None]:
    """Fit the columns after all changes: Qt would measure all rows for every cell written."""
    header = table.horizontalHeader()
    header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    try:
        yield
    finally:
        _fit_columns(header, stretched)


def sorted_by_header(
    header: QHeaderView, rows: Sequence[Row], value: Callable[[Row, int], object]
) -> list[Row]:
    """Return rows in the order that the header shows; `value` returns a row's value in a column."""
    column = header.sortIndicatorSection()
    if column == _UNSORTED:
        return list(rows)
    return sort_rows(rows, lambda row: value(row, column), _is_descending(header))


def _is_descending(header: QHeaderView) -> bool:
    return header.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder


def _set_order(header: QHeaderView, column: int, descending: bool) -> None:
    order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
    header.setSortIndicator(column, order)


def add_sort_menu(menu: QMenu, header: QHeaderView, titles: Sequence[str]) -> None:
    """Offer sorting without a mouse."""
    submenu = menu.addMenu("Sort by")
    group = QActionGroup(submenu)
    for column, title in ((_UNSORTED, "Order of training"), *enumerate(titles)):
        action = group.addAction(title)
        action.setCheckable(True)
        action.setChecked(header.sortIndicatorSection() == column)
        action.triggered.connect(lambda _, column=column: _sort_by(header, column))
    submenu.addActions(group.actions())


def _sort_by(header: QHeaderView, column: int) -> None:
    """Sort by a column; reverse the order if the table is sorted by it already."""
    reverse = header.sortIndicatorSection() == column and not _is_descending(header)
    _set_order(header, column, descending=reverse)


def saved_order(header: QHeaderView, titles: Sequence[str]) -> ViewSetting:
    """Save the order of a table: a column's title and whether it is descending, or None."""

    def read() -> list[Any] | None:
        column = header.sortIndicatorSection()
        if column == _UNSORTED:
            return None
        return [titles[column], _is_descending(header)]

    def write(value: Any) -> None:
        if value is None:
            _set_order(header, _UNSORTED, descending=False)
        elif isinstance(value, list) and [type(each) for each in value] == [str, bool]:
            title = _FORMER_TITLES.get(value[0], value[0])
            if title in titles:
                _set_order(header, titles.index(title), descending=value[1])

    return ViewSetting(read, write)
