"""Rows of controls wrap where they do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from isca_gui.widgets.flow_layout import Flow

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def test_a_row_wraps_where_it_does_not_fit(qtbot: QtBot) -> None:
    box = QWidget()
    qtbot.addWidget(box)
    column = QVBoxLayout(box)
    row = Flow(*(QPushButton(f"Button number {number}") for number in range(4)))
    row.push()
    last = QPushButton("Last")
    row.addWidget(last)
    column.addLayout(row)
    box.resize(1200, 80)
    box.show()
    assert last.geometry().right() == row.geometry().right(), "in one line it is right-aligned"
    assert row.heightForWidth(300) > 2 * row.heightForWidth(1200)
    row.setGeometry(QRect(0, 0, 300, 300))
    shown = [row.itemAt(place).geometry() for place in range(row.count())]
    assert all(place.right() <= 300 for place in shown)
    assert not any(a.intersects(b) for a in shown for b in shown if a is not b)
