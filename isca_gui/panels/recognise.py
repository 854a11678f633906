"""Step 4: pictures to recognise (files, distorted copies, mysteries) and the list of answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QColor, QIcon
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QHeaderView,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from isca_gui.core.recognition.verdict import short_form
from isca_gui.jobs.actions import MODEL_SUFFIX, PICTURE_FILTER
from isca_gui.jobs.names import JobName
from isca_gui.panels.guess import ASK, GuessBar
from isca_gui.session.records import RejectedPicture
from isca_gui.widgets import theme
from isca_gui.widgets.dialogs import PROJECTS, ask_name
from isca_gui.widgets.fields import KindBox, MseBox, class_icon
from isca_gui.widgets.step_frame import (
    DONE,
    EMPTY,
    FAILED,
    RECOGNISE,
    RUNNING,
    STALE,
    JobBar,
    StepPanel,
    button,
    describe,
    enable,
    faint_label,
    plural,
    progress_text,
    row,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtGui import QDragEnterEvent, QDropEvent

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import TestedPicture
    from isca_gui.session.session import Session

_OPEN = "Choose pictures and find out what was done to them (Ctrl+R). You can also drop them here."
_MYSTERY = (
    "Distort the reference at random, then guess what was done before the program answers (Ctrl+M)."
)
_MAKE = "Distort the reference like this and recognise the copy."
_REVEAL = "Show what was done to the mystery picture."
_AGAIN = "Recognise all pictures again with the selected run."
_REMOVE = "Remove the selected picture from the list."
_SAVE = "Save all answers as a table (CSV), as isca classify writes it."
# Files that the main window opens when they are dropped.
_OPENED_BY_WINDOW = (MODEL_SUFFIX, *PROJECTS)


class RecognisePanel(StepPanel):
    """Takes test pictures and lists the answers."""

    NAME = RECOGNISE
    HEADING = "4  Recognise"
    # Emitted when a picture that was requested in this panel has been recognised.
    answered = Signal()

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, parent)
        self._actions = actions
        self._filling = False
        self._asked = False
        # The test pictures that were there when an answer was requested.
        self._before: tuple[TestedPicture, ...] = ()
        self.setAcceptDrops(True)
        self.open_button = button("Open pictures…", _OPEN, self.choose)
        self.mystery_button = button("Mystery picture", _MYSTERY, self.mystery)
        self.kind_box = KindBox("Kind to make", "The distortion to apply to the reference.")
        self.mse_box = MseBox("MSE to make", "The strength of the distortion.", 300)
        self.make_button = button("Make", _MAKE, self._on_make_clicked)
        self.list = _list()
        # What the rows of the list show.
        self._shown: list[TestedPicture | RejectedPicture] = []
        self.reveal_button = button("Reveal", _REVEAL, self._on_reveal_clicked)
        self.again_button = button("Again", _AGAIN, self._on_again_clicked)
        self.remove_button = button("Remove", _REMOVE, self._on_remove_clicked)
        self.save_button = button("CSV…", _SAVE, self.save)
        self.text_label = faint_label()
        self.body.addLayout(row(self.open_button, self.mystery_button, 1))
        line = row(self.kind_box, self.mse_box, self.make_button)
        line.setStretch(0, 1)
        self.body.addLayout(line)
        self.body.addWidget(JobBar(jobs, JobName.RECOGNITION, "Recognition progress"))
        self.body.addWidget(self.list)
        self.body.addWidget(self.text_label)
        self.guess = GuessBar(session, actions)
        self.body.addWidget(self.guess)
        self.body.addLayout(
            row(self.reveal_button, self.again_button, self.remove_button, 1, self.save_button)
        )
        self._connect()
        self._on_tested_changed()

    def choose(self) -> None:
        """Ask for picture files and recognise them."""
        paths, _ = QFileDialog.getOpenFileNames(
            self, "Open pictures to recognise", "", PICTURE_FILTER
        )
        if paths:
            self.recognise(paths)

    def recognise(self, paths: Iterable[str]) -> None:
        """Recognise picture files."""
        self._actions.recognise_files(paths)
        self._await_answer()

    def mystery(self) -> None:
        """Distort the reference at random and recognise it."""
        self._actions.mystery()
        self._await_answer()

    def save(self) -> None:
        """Ask for a file and save the table of answers."""
        if not self.session.tested and not self.session.refused:
            warning = "There is nothing to save. No picture has been recognised yet."
            self.session.say("warning", warning)
            return
        # The work is taken now, because other answers may arrive while the dialog is open.
        work = self.session.work
        # A new dialog starts in the folder of the last one.
        proposed = QFileDialog().directory().filePath("answers.csv")
        path = ask_name(self, "Save answers", proposed, ".csv", "CSV table (*.csv)")
        if path:
            self._actions.save_answers(path, work)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept pictures; an ignored event goes on to the window, which opens the other files."""
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls()]
        others = [path for path in paths if path.is_dir() or path.name.endswith(_OPENED_BY_WINDOW)]
        if paths and not others:
            event.acceptProposedAction()
        else:
            event.ignore()

    def dropEvent(self, event: QDropEvent) -> None:
        """Recognise the dropped files."""
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        event.acceptProposedAction()
        self.recognise(paths)

    def _connect(self) -> None:
        session = self.session
        session.tested_changed.connect(self._on_tested_changed)
        session.tested_selected.connect(self._on_tested_selected)
        for signal in (
            session.run_selected,
            session.runs_changed,
            session.stale_changed,
            session.reference_changed,
            session.dataset_changed,
            self.jobs.changed_of(JobName.RECOGNITION),
        ):
            signal.connect(self._refresh)
        self.jobs.changed_of(JobName.RECOGNITION).connect(self._on_jobs_changed)
        self.list.currentItemChanged.connect(self._on_item_selected)

    # --- the list ---------------------------------------------------------------------------------

    def _on_tested_changed(self) -> None:
        """Update the list; unchanged rows are not touched, so that the list does not jump."""
        rows: list[TestedPicture | RejectedPicture] = sorted(
            (*self.session.tested, *self.session.refused), key=lambda each: each.number
        )
        self._filling = True
        self._remove_rows({each.number for each in self._shown} - {each.number for each in rows})
        for index, each in enumerate(rows):
            item = self.list.topLevelItem(index)
            if item is None or self._shown[index].number != each.number:
                self.list.insertTopLevelItem(index, _fill_row(QTreeWidgetItem(), each))
                self._shown.insert(index, each)
            elif self._shown[index] is not each:
                _fill_row(item, each)
        self._shown = rows
        self._filling = False
        self._on_tested_selected()

    def _remove_rows(self, numbers: set[int]) -> None:
        for index in reversed(range(len(self._shown))):
            if self._shown[index].number in numbers:
                self.list.takeTopLevelItem(index)
                del self._shown[index]

    def changeEvent(self, event: QEvent) -> None:
        """Colour failed pictures for the new theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_shown"):
            for index, each in enumerate(self._shown):
                item = self.list.topLevelItem(index)
                if isinstance(each, RejectedPicture) and item is not None:
                    item.setForeground(1, QColor(theme.shades().error))

    def _on_item_selected(self) -> None:
        each = self._current()
        if self._filling or each is None:
            return
        if isinstance(each, RejectedPicture):
            self._refresh()
        else:
            self.session.select_tested(each.number)

    def _on_tested_selected(self) -> None:
        test = self.session.test
        self._filling = True
        for index, each in enumerate(self._shown):
            item = self.list.topLevelItem(index) if each is test else None
            if item is not None:
                self.list.setCurrentItem(item)
        self._filling = False
        self._refresh()

    def _current(self) -> TestedPicture | RejectedPicture | None:
        """Return what is selected in the list."""
        index = self.list.indexOfTopLevelItem(self.list.currentItem())
        if not 0 <= index < len(self._shown):
            return None
        return self._shown[index]

    # --- buttons ----------------------------------------------------------------------------------

    def _on_make_clicked(self) -> None:
        self._actions.recognise_made(
            self.kind_box.kind, self.mse_box.value(), len(self.session.tested) + 1
        )
        self._await_answer()

    def _on_reveal_clicked(self) -> None:
        if self.session.test is not None:
            self._actions.reveal(self.session.test.number)

    def _on_again_clicked(self) -> None:
        self._actions.recognise_again()
        self._await_answer()

    def _on_remove_clicked(self) -> None:
        current = self._current()
        if current is None:
            return
        index = self.list.indexOfTopLevelItem(self.list.currentItem())
        if isinstance(current, RejectedPicture):
            left = tuple(each for each in self.session.refused if each is not current)
            self.session.set_refused(left)
        else:
            self.session.remove_tested(current.number)
        # The next row is selected, so that pressing Remove again removes the neighbour.
        neighbour = self.list.topLevelItem(min(index, self.list.topLevelItemCount() - 1))
        if neighbour is not None:
            self.list.setCurrentItem(neighbour)

    def _await_answer(self) -> None:
        if not self._asked:
            self._before = self.session.tested
        # No job runs if there was nothing to recognise.
        self._asked = self.jobs.running(JobName.RECOGNITION)

    def _on_jobs_changed(self) -> None:
        """Emit `answered` when the pictures requested in this panel are done."""
        if self._asked and not self.jobs.running(JobName.RECOGNITION):
            self._asked = False
            test = self.session.test
            # If everything requested has failed or was stopped, an older picture is still selected.
            fresh = test is not None and all(each is not test for each in self._before)
            if test is not None and test.recognition is not None and fresh:
                self.answered.emit()

    # --- states -----------------------------------------------------------------------------------

    def _refresh(self) -> None:
        self._enable_buttons()
        some = bool(self.session.tested or self.session.refused)
        for widget in (
            self.list,
            self.text_label,
            self.reveal_button,
            self.again_button,
            self.remove_button,
            self.save_button,
        ):
            widget.setVisible(some)
        current = self._current()
        if isinstance(current, RejectedPicture):
            self.text_label.setText(current.error)
        else:
            self.text_label.setText(_answer_text(self.session.test))
        self.set_state(*self._state())
        self.set_primary(self.open_button)

    def _enable_buttons(self) -> None:
        session = self.session
        no_model = "No model yet. Train one first." if session.run is None else ""
        no_reference = "Open a reference picture first." if session.reference is None else ""
        no_pictures = "" if session.tested else "There are no pictures yet."
        no_selection = "No picture is selected." if self._current() is None else ""
        mystery = session.test is not None and session.test.secret
        no_mystery = "" if mystery else "The selected picture is not a mystery."
        enable(self.open_button, _OPEN, no_model)
        enable(self.mystery_button, _MYSTERY, no_model or no_reference)
        enable(self.make_button, _MAKE, no_model or no_reference)
        enable(self.remove_button, _REMOVE, no_selection)
        enable(self.reveal_button, _REVEAL, no_mystery)
        enable(self.again_button, _AGAIN, no_pictures or no_model)

    def _state(self) -> tuple[str, str]:
        session = self.session
        if self.jobs.running(JobName.RECOGNITION):
            return RUNNING, progress_text(self.jobs, JobName.RECOGNITION)
        if session.refused and not session.tested:
            return FAILED, ""
        if not session.tested:
            return EMPTY, ""
        if any(session.tested_stale(test) for test in session.tested):
            return STALE, ""
        count = plural(len(session.tested), "picture")
        if session.refused:
            return DONE, f"{count}, {len(session.refused)} failed"
        return DONE, count


def _answer_text(test: TestedPicture | None) -> str:
    """Return the verdict about a test picture, and what was actually done if that is known."""
    if test is None:
        return ""
    if test.secret:
        return ASK
    lines = ["Not recognised yet."]
    if test.verdict is not None:
        lines = [test.verdict.sentence]
    if test.truth:
        lines.append(f"Actual: {theme.truth_words(test.truth)}.")
    return "\n".join(lines)


@dataclass(frozen=True)
class _Row:
    """What a row of the list shows besides the name of the picture."""

    verdict: str
    strength: str = ""
    tooltip: str = ""
    icon: QIcon = field(default_factory=QIcon)
    colour: QColor | None = None


def _row_of(each: TestedPicture | RejectedPicture) -> _Row:
    if isinstance(each, RejectedPicture):
        return _Row("✗ failed", tooltip=each.error, colour=QColor(theme.shades().error))
    if each.secret:
        return _Row("guess first", tooltip=ASK)
    if each.verdict is None:
        return _Row("not yet")
    what, strength = short_form(each.verdict)
    if each.verdict.unlike:
        return _Row(what, strength, each.verdict.sentence)
    return _Row(what, strength, each.verdict.sentence, class_icon(each.verdict.label))


def _fill_row(item: QTreeWidgetItem, each: TestedPicture | RejectedPicture) -> QTreeWidgetItem:
    """Write a picture and its answer into a row of the list, and return the row."""
    shown = _row_of(each)
    for column, text in enumerate((each.name, shown.verdict, shown.strength)):
        item.setText(column, text)
    item.setData(1, Qt.ItemDataRole.ForegroundRole, shown.colour)
    item.setIcon(1, shown.icon)
    item.setToolTip(0, each.path or each.name)
    item.setToolTip(1, shown.tooltip)
    item.setTextAlignment(2, Qt.AlignmentFlag.AlignRight)
    return item


def _list() -> QTreeWidget:
    made = QTreeWidget()
    made.setHeaderLabels(["Picture", "Verdict", "MSE ≈"])
    made.setRootIsDecorated(False)
    made.setUniformRowHeights(True)
    made.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    made.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    made.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
    made.header().setSectionResizeMode(2, QHeaderView.ResizeMode.ResizeToContents)
    # Every change of a row measures this many rows again; all of them would be slow in a long list.
    made.header().setResizeContentsPrecision(50)
    made.header().setStretchLastSection(False)
    made.setFixedHeight(120)
    describe(
        made, "Test pictures", "All test pictures with their verdicts and estimated strengths."
    )
    return made
