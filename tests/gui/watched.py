"""Start the program as a user does and write where its widgets are to a file, for a test.

`python -m tests.gui.watched FILE [PICTURE]`. It only looks: all events come from outside.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, QRect, QTimer
from PySide6.QtWidgets import QApplication, QMenu, QTabBar, QWidget

from isca_gui import app
from isca_gui.viewers.confusion.matrix import ConfusionMatrix

if TYPE_CHECKING:
    from isca_gui.window.main_window import MainWindow

INTERVAL = 60  # milliseconds


def rectangle(widget: QWidget, place: QRect) -> list[int]:
    corner = widget.mapToGlobal(place.topLeft())
    return [corner.x(), corner.y(), place.width(), place.height()]


def name_of(widget: QWidget) -> str:
    """Return the names that lead to a widget: that of its panel or viewer, and its own."""
    own = widget.accessibleName() or widget.objectName()
    above: QWidget | None = widget.parentWidget()
    while above is not None and not above.objectName().endswith(("_panel", "steps")):
        if above.objectName().startswith("viewer-"):
            break
        above = above.parentWidget()
    return f"{above.objectName()}/{own}" if above is not None else own


def widgets() -> dict[str, list[int]]:
    """Return the visible part of every widget, in coordinates of the screen."""
    seen: dict[str, list[int]] = {}
    for widget in QApplication.allWidgets():
        if not widget.isVisible() or isinstance(widget, QMenu):
            continue
        region = widget.visibleRegion().boundingRect()
        if region.width() > 3 and region.height() > 3:
            seen.setdefault(name_of(widget), rectangle(widget, region))
    return seen


def tabs() -> dict[str, list[int]]:
    bars = [
        bar for bar in QApplication.allWidgets() if isinstance(bar, QTabBar) and bar.isVisible()
    ]
    return {
        bar.tabText(n): rectangle(bar, bar.tabRect(n)) for bar in bars for n in range(bar.count())
    }


def menu_lines() -> dict[str, list[int]]:
    menus = [
        menu for menu in QApplication.allWidgets() if isinstance(menu, QMenu) and menu.isVisible()
    ]
    return {
        action.text().replace("&", ""): rectangle(menu, menu.actionGeometry(action))
        for menu in menus
        for action in menu.actions()
    }


def cells() -> list[list[Any]]:
    """Return the cells with a count of all visible matrices, and where they are."""
    found = []
    for matrix in QApplication.allWidgets():
        if isinstance(matrix, ConfusionMatrix) and not matrix.visibleRegion().isEmpty():
            for row, column in zip(*matrix.counts.nonzero(), strict=True):
                place = matrix.cell_rect(int(row), int(column)).toRect()
                count = int(matrix.counts[row, column])
                found.append(
                    [matrix.classes[row], matrix.columns[column], count, rectangle(matrix, place)]
                )
    return found


def state(window: MainWindow) -> dict[str, Any]:
    session = window.session
    first = window.docks["confusion"].widget().list
    item = first.visualItemRect(first.item(0)) if first.count() and first.isVisible() else None
    modal = QApplication.activeModalWidget()
    focus = QApplication.focusWidget()
    return {
        "widgets": widgets(),
        "tabs": tabs(),
        "menu": menu_lines(),
        "cells": cells(),
        "item": rectangle(first.viewport(), item) if item is not None else None,
        "dialog": modal.windowTitle() if modal is not None else "",
        "focus": name_of(focus) if focus is not None else "",
        "reference": session.reference.name if session.reference else "",
        "levels": len(session.spec.levels),
        "dataset": len(session.dataset.entries) if session.dataset else 0,
        "steps": len(session.live.steps) if session.live else 0,
        "training": session.live is not None,
        "settings": vars(session.settings),
        "runs": [
            {"method": run.settings.method, "solver": run.settings.solver, "end": run.model.end,
             "epoch": run.model.state.epoch, "evaluated": run.evaluation is not None}
            for run in session.runs
        ],
        "tested": [
            {"name": test.name, "label": test.recognition.verdict.label if test.recognition else ""}
            for test in session.tested
        ],
        "compared": [
            {"name": copy.name, "label": copy.result.comparison.label if copy.result else ""}
            for copy in session.comparisons.copies
        ],
        "selected": session.test.name if session.test else "",
        "messages": [[message.level, message.text] for message in session.messages],
        "jobs": [job.name for job in window.jobs.jobs()],
        "window": rectangle(window, QRect(QPoint(0, 0), window.size())),
    }  # fmt: skip


def watch(window: MainWindow, path: str) -> None:
    def write() -> None:
        with open(f"{path}.new", "w", encoding="utf-8") as stream:
            json.dump(state(window), stream)
        os.replace(f"{path}.new", path)

    timer = QTimer(window)
    timer.timeout.connect(write)
    timer.start(INTERVAL)


def main() -> int:
    path, *rest = sys.argv[1:]
    begin = app.begin

    def begin_watched(window: MainWindow, picture: str | None = None) -> None:
        begin(window, picture)
        watch(window, path)

    app.begin = begin_watched
    return app.main(rest)


if __name__ == "__main__":
    sys.exit(main())
