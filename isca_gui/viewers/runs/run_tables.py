"""Tables of runs: one look, and an order by a heading: first rising, then falling, then as trained."""

from __future__ import annotations

import contextlib
import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QSizePolicy, QTableView

from isca_gui.viewers.view_settings import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from PySide6.QtWidgets import QMenu

    Row = TypeVar("Row")

_FEWEST_ROWS = 4  # that are seen in the smallest window, the headings among them
_AS_THEY_CAME = -1  # in place of a column
ORDER_TIP = "Click to put the table in this order; again, falling; a third time, as trained."


def ordered(rows: Iterable[Row], value: Callable[[Row], object], falling: bool) -> list[Row]:
    """Put rows in order of a value; those of which it is not known come last either way."""
    known: list[Row] = []
    unknown: list[Row] = []
    for row in rows:
        (known if _is_known(value(row)) else unknown).append(row)
    return sorted(known, key=lambda row: _place(value(row)), reverse=falling) + unknown


def _is_known(value: object) -> bool:
    return value not in (None, "") and not (isinstance(value, float) and math.isnan(value))


def _place(value: Any) -> Any:
    """Give what to compare; numbers within words count as numbers: run 2 comes before run 10."""
    if not isinstance(value, str):
        return value
    parts = re.split(r"(\d+)", value.casefold())
    return [
        (len(part.lstrip("0")), part.lstrip("0")) if n % 2 else part for n, part in enumerate(parts)
    ]


def percent(share: float | None) -> str:
    """Say how much; a dash where it is not known, as of a dataset without distorted pictures."""
    return "–" if share is None or math.isnan(share) else f"{share:.1%}"


def set_up(table: QTableView, stretched: int, changed: Callable[..., None]) -> None:
    """Let a table have one run in a row, and tell when a heading puts it in another order."""
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setAlternatingRowColors(True)
    table.setTabKeyNavigation(False)
    row = table.fontMetrics().height() + 8
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(row)
    table.setMinimumHeight(_FEWEST_ROWS * row)
    table.setSizePolicy(
        QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored
    )  # it scrolls itself
    header = table.horizontalHeader()
    _fit(header, stretched)
    header.setMinimumSectionSize(56)
    header.setHighlightSections(False)
    header.setSortIndicator(_AS_THEY_CAME, Qt.SortOrder.AscendingOrder)
    header.setSortIndicatorClearable(True)
    header.setSortIndicatorShown(True)
    header.setSectionsClickable(True)
    header.sortIndicatorChanged.connect(changed)


def _fit(header: QHeaderView, stretched: int) -> None:
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    header.setSectionResizeMode(
        stretched, QHeaderView.ResizeMode.Stretch
    )  # the rest is seen in full


@contextlib.contextmanager
def measured_once(table: QTableView, stretched: int) -> Iterator[None]:
    """Fit the columns after all changes: otherwise all rows are measured at every cell that is written."""
    header = table.horizontalHeader()
    header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    try:
        yield
    finally:
        _fit(header, stretched)


def in_order(
    header: QHeaderView, rows: Sequence[Row], value: Callable[[Row, int], object]
) -> list[Row]:
    """Put rows in the order that the headings show; `value` gives a row's value in a column."""
    column = header.sortIndicatorSection()
    if column == _AS_THEY_CAME:
        return list(rows)
    return ordered(rows, lambda row: value(row, column), _is_falling(header))


def _is_falling(header: QHeaderView) -> bool:
    return header.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder


def add_order_menu(menu: QMenu, header: QHeaderView, titles: Sequence[str]) -> None:
    """Offer the same without a mouse."""
    submenu = menu.addMenu("Order by")
    group = QActionGroup(submenu)
    for column, title in ((_AS_THEY_CAME, "Order of training"), *enumerate(titles)):
        action = group.addAction(title)
        action.setCheckable(True)
        action.setChecked(header.sortIndicatorSection() == column)
        action.triggered.connect(lambda _, column=column: _turn(header, column))
    submenu.addActions(group.actions())


def _turn(header: QHeaderView, column: int) -> None:
    """Order by a column; by the one it is ordered by, the other way round."""
    again = header.sortIndicatorSection() == column and not _is_falling(header)
    header.setSortIndicator(
        column, Qt.SortOrder.DescendingOrder if again else Qt.SortOrder.AscendingOrder
    )


def order(header: QHeaderView, titles: Sequence[str]) -> Kept:
    """Keep the order of a table: the title of a column and whether it falls; None is as the rows came."""

    def read() -> list[Any] | None:
        column = header.sortIndicatorSection()
        return None if column == _AS_THEY_CAME else [titles[column], _is_falling(header)]

    def put(value: Any) -> None:
        if value is None:
            header.setSortIndicator(_AS_THEY_CAME, Qt.SortOrder.AscendingOrder)
        elif (
            isinstance(value, list)
            and [type(each) for each in value] == [str, bool]
            and value[0] in titles
        ):
            way = Qt.SortOrder.DescendingOrder if value[1] else Qt.SortOrder.AscendingOrder
            header.setSortIndicator(titles.index(value[0]), way)

    return Kept(read, put)
