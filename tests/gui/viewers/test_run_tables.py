"""Tables are sorted by their headings, and the selected run stays selected."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QStyledItemDelegate

from isca_gui.viewers.runs.comparison import ComparisonViewer
from isca_gui.viewers.runs.run_tables import sort_rows
from isca_gui.viewers.runs.runs import NAME, RunsViewer
from tests.gui.conftest import SETTINGS, click_heading, opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QStyleOptionViewItem
    from pytestqt.qtbot import QtBot

    from isca_gui.core.model.model import Model
    from isca_gui.viewers.viewer import Viewer
    from tests.gui.conftest import Studio

# Columns of the comparison; the table of runs has one more before them.
OBJECTIVE = 5
SECONDS = 6

values = st.none() | st.just("") | st.floats() | st.integers(-9, 9)


@given(st.lists(values), st.booleans())
def test_the_order_is_that_of_the_values_and_unknown_ones_come_last(
    rows: list[Any], falling: bool
) -> None:
    found = sort_rows(list(enumerate(rows)), lambda row: row[1], falling)
    assert sorted(n for n, _ in found) == list(range(len(rows))), (
        "nothing is lost, nothing comes twice"
    )
    known = [value not in (None, "") and not math.isnan(value) for _, value in found]
    assert known == sorted(known, reverse=True)
    shown = [(-value if falling else value, n) for n, value in found[: sum(known)]]
    assert shown == sorted(shown), "equal ones stay as they came"


@given(st.lists(st.integers(0, 10**6), min_size=1), st.sampled_from(["run ", "", "p = "]))
def test_numbers_within_words_count_as_numbers(numbers: list[int], word: str) -> None:
    names = [f"{word}{number}, block 8" for number in numbers]
    assert sort_rows(names, str, False) == [
        f"{word}{number}, block 8" for number in sorted(numbers)
    ]


@given(st.lists(st.text()), st.booleans())
def test_any_names_have_an_order(names: list[str], falling: bool) -> None:
    once = sort_rows(names, str, falling)
    assert sort_rows(once, str, falling) == once


def test_a_name_of_very_many_digits_has_its_place() -> None:
    large = "9" * 5000
    larger = "1" + "0" * 5000
    assert sort_rows([larger, large, "7"], str, False) == ["7", large, larger]


# --- in the window --------------------------------------------------------------------------------


def three_runs(studio: Studio, model: Model) -> None:
    """Three runs that no two columns put in the same order."""
    for name, objective, seconds in (
        ("run 10", 0.3, 2.0),
        ("Run 9", 0.1, 3.0),
        ("run 2", 0.2, 1.0),
    ):
        last = replace(model.steps[-1], objective=objective)
        state = replace(model.state, seconds=seconds)
        number = studio.session.begin_run(SETTINGS)
        studio.session.end_run(replace(model, steps=(*model.steps[:-1], last), state=state))
        run = next(each for each in studio.session.runs if each.number == number)
        studio.session.replace_run(replace(run, name=name))


@pytest.fixture
def shown(qtbot: QtBot, with_dataset: Studio, model: Model) -> Callable[[type[Viewer]], Any]:
    three_runs(with_dataset, model)

    def show(kind: type[Viewer]) -> Any:
        return opened(qtbot, with_dataset, kind)

    return show


def names(viewer: Any) -> list[str]:
    column = NAME if isinstance(viewer, RunsViewer) else 0
    cells = [
        viewer.table.model().index(row, column) for row in range(viewer.table.model().rowCount())
    ]
    return [cell.data().split(",")[0] for cell in cells]


@pytest.mark.parametrize("kind", [RunsViewer, ComparisonViewer])
def test_a_heading_puts_the_runs_in_order(
    shown: Callable[[type[Viewer]], Any], kind: type[Viewer]
) -> None:
    viewer = shown(kind)
    more = kind is RunsViewer
    assert names(viewer) == ["run 10", "Run 9", "run 2"], "as trained"
    orders = (
        ["run 2", "run 10", "Run 9"],
        ["Run 9", "run 10", "run 2"],
        ["run 10", "Run 9", "run 2"],
    )
    # Ascending, descending, and in the order of training.
    for expected in orders:
        click_heading(viewer, SECONDS + more)
        assert names(viewer) == expected
        table = viewer.model.table() if more else viewer.rows()
        assert [row[NAME if more else 0] for row in table[1:]] == expected, "saved as it is seen"
    click_heading(viewer, OBJECTIVE + more)
    assert names(viewer) == ["Run 9", "run 2", "run 10"]
    click_heading(viewer, 0 + more)
    assert names(viewer) == ["run 2", "Run 9", "run 10"]


def test_the_selected_run_stays_selected_wherever_it_goes(
    shown: Callable[[type[Viewer]], Any],
) -> None:
    viewer = shown(RunsViewer)
    session = viewer.session
    session.select_run(session.runs[0].number)
    for column in (NAME, OBJECTIVE + 1, SECONDS + 1, SECONDS + 1):
        click_heading(viewer, column)
        rows = [index.row() for index in viewer.table.selectionModel().selectedRows()]
        assert [names(viewer)[row] for row in rows] == ["run 10"]
        assert session.run is session.runs[0]
    assert session.runs == tuple(sorted(session.runs, key=lambda run: run.number))
    first = viewer.table.visualRect(viewer.model.index(0, 0)).center()
    QTest.mouseClick(viewer.table.viewport(), Qt.MouseButton.LeftButton, pos=first)
    assert session.run.name == names(viewer)[0] == "Run 9"


def test_a_run_that_gets_another_name_goes_to_its_place(
    qtbot: QtBot, shown: Callable[[type[Viewer]], Any]
) -> None:
    viewer = shown(RunsViewer)
    viewer.session.select_run(viewer.session.runs[0].number)
    click_heading(viewer, NAME)
    assert names(viewer) == ["run 2", "Run 9", "run 10"]
    viewer.rename()
    editor = viewer.table.indexWidget(viewer.model.index(2, NAME))
    QTest.keyClicks(editor, "a better one")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: names(viewer) == ["a better one", "run 2", "Run 9"])
    assert viewer.session.run.name == "a better one"
    assert [index.row() for index in viewer.table.selectionModel().selectedRows()] == [0]


def test_enter_opens_the_run_of_the_row_that_is_seen(shown: Callable[[type[Viewer]], Any]) -> None:
    viewer = shown(ComparisonViewer)
    click_heading(viewer, OBJECTIVE)
    viewer.table.setCurrentCell(0, 0)
    QTest.keyClick(viewer.table, Qt.Key.Key_Return)
    assert viewer.session.run.name == "Run 9"


@pytest.mark.parametrize("kind", [RunsViewer, ComparisonViewer])
def test_the_order_can_be_chosen_without_a_mouse(
    shown: Callable[[type[Viewer]], Any], kind: type[Viewer]
) -> None:
    viewer = shown(kind)

    def choose(title: str) -> None:
        orders = next(
            menu for menu in viewer.menu().findChildren(QMenu) if menu.title() == "Sort by"
        )
        next(action for action in orders.actions() if action.text() == title).trigger()

    choose("Seconds")
    assert names(viewer) == ["run 2", "run 10", "Run 9"]
    choose("Seconds")
    assert names(viewer) == ["Run 9", "run 10", "run 2"]
    choose("Order of training")
    assert names(viewer) == ["run 10", "Run 9", "run 2"]


def test_a_new_run_comes_to_its_place(shown: Callable[[type[Viewer]], Any], model: Model) -> None:
    viewer = shown(RunsViewer)
    click_heading(viewer, SECONDS + 1)
    viewer.session.begin_run(SETTINGS)
    viewer.session.end_run(replace(model, state=replace(model.state, seconds=2.5)))
    assert names(viewer)[2] == viewer.session.runs[-1].name
    viewer.session.remove_run(viewer.session.runs[2].number)
    assert names(viewer) == ["run 10", viewer.session.runs[-1].name, "Run 9"]


# --- many runs ------------------------------------------------------------------------------------


class Measuring(QStyledItemDelegate):
    """Counts how often a cell is measured."""

    count = 0

    def sizeHint(self, option: QStyleOptionViewItem, index: Any) -> QSize:
        self.count += 1
        return super().sizeHint(option, index)


@pytest.mark.parametrize("kind", [RunsViewer, ComparisonViewer])
def test_a_change_measures_the_cells_of_many_runs_once_or_twice(
    shown: Callable[[type[Viewer]], Any], model: Model, kind: type[Viewer]
) -> None:
    viewer = shown(kind)
    session = viewer.session
    for _ in range(27):
        session.begin_run(SETTINGS)
        session.end_run(model)
    measuring = Measuring()
    viewer.table.setItemDelegate(measuring)
    QApplication.processEvents()
    measuring.count = 0
    session.replace_run(replace(session.runs[0], name="a much longer name than it had"))
    QApplication.processEvents()
    cells = viewer.table.model().rowCount() * viewer.table.model().columnCount()
    assert cells >= 30 * 7
    assert measuring.count <= 3 * cells
    name = NAME if kind is RunsViewer else 0
    assert viewer.table.columnWidth(name) >= viewer.fontMetrics().horizontalAdvance(
        session.runs[0].name
    )
    viewer.table.setItemDelegate(QStyledItemDelegate(viewer.table))


def test_all_runs_are_evaluated_one_after_the_other(
    qtbot: QtBot, shown: Callable[[type[Viewer]], Any], model: Model
) -> None:
    viewer = shown(ComparisonViewer)
    session = viewer.session
    jobs = viewer.jobs
    broken = session.runs[0]
    session.replace_run(replace(broken, model=replace(model, known=None)))
    at_once: list[int] = []
    jobs.changed.connect(lambda: at_once.append(len(jobs.jobs())))
    viewer.button.click()
    qtbot.waitUntil(lambda: not jobs.jobs())
    assert max(at_once) == 1
    assert [run.evaluation is not None for run in session.runs] == [False, True, True], (
        "the others go on"
    )
    for run in session.runs:
        session.replace_run(replace(run, model=model, evaluation=None))
    viewer.button.click()
    (job,) = jobs.jobs()
    jobs.stop(job.id)
    qtbot.waitUntil(lambda: not jobs._threads)
    assert not jobs.jobs()
    assert not any(run.evaluation for run in session.runs), "who stops one does not want the next"
