"""Step 4: pictures to recognise, from files, made from the reference, or a mystery; and their verdicts."""

from __future__ import annotations

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
from isca_gui.panels.preview import KindBox, MseBox, chip
from isca_gui.session.records import RejectedPicture
from isca_gui.widgets import theme
from isca_gui.widgets.file_names import PROJECTS, ask_name
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
    faint,
    percent,
    row,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtGui import QDragEnterEvent, QDropEvent

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import TestedPicture
    from isca_gui.session.session import Session

_OPEN = "Choose one or many pictures to find out what was done to them (Ctrl+R). You can also drop them here."
_MYSTERY = "Distort the reference at random and let the model find out how; you can guess as well."
_MAKE = "Distort the reference in this way and recognise it."
_REVEAL = "Tell what was really done to the mystery picture."
_AGAIN = "Recognise all pictures once more, with the run selected now."
_REMOVE = "Take the selected picture off the list."
_SAVE = "Save what was recognised in all pictures as a table (CSV), as isca classify writes it."
_NO_REFERENCE = "There is no reference picture yet."
_ELSEWHERE = (MODEL_SUFFIX, *PROJECTS)


class RecognisePanel(StepPanel):
    """Takes test pictures and lists what was recognised in them."""

    NAME, HEADING = RECOGNISE, "4  Recognise"
    answered = Signal()  # what was asked for here has been recognised

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, parent)
        self._actions, self._filling, self._asked = actions, False, False
        self._before: tuple[TestedPicture, ...] = ()  # what there was when an answer was asked for
        self.setAcceptDrops(True)
        self.open_button = button("Open pictures…", _OPEN, self.choose)
        self.mystery_button = button("Mystery picture", _MYSTERY, self.mystery)
        self.kind_box = KindBox("Kind to make", "Which distortion to make from the reference.")
        self.mse_box = MseBox("MSE to make", "How strong it is made.", 300)
        self.make_button = button("Make", _MAKE, self._on_make_clicked)
        self.list = _list()
        self._shown: list[TestedPicture | RejectedPicture] = []  # in the list, row by row
        self.reveal_button = button("Reveal", _REVEAL, self._on_reveal_clicked)
        self.again_button = button("Again", _AGAIN, self._on_again_clicked)
        self.remove_button = button("Remove", _REMOVE, self._on_remove_clicked)
        self.save_button = button("CSV…", _SAVE, self.save)
        self.words = faint()
        self.body.addLayout(row(self.open_button, self.mystery_button, 1))
        line = row(self.kind_box, self.mse_box, self.make_button)
        line.setStretch(0, 1)
        self.body.addLayout(line)
        self.body.addWidget(JobBar(jobs, JobName.RECOGNITION, "Progress of the recognition"))
        self.body.addWidget(self.list)
        self.body.addWidget(self.words)
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
        """Let the model guess."""
        self._actions.mystery()
        self._await_answer()

    def save(self) -> None:
        """Ask for a file and save the table of answers."""
        if not self.session.tested and not self.session.refused:
            self.session.say(
                "warning", "There is nothing to save: no picture has been recognised yet."
            )
            return
        work = self.session.work  # while the dialog is open others may come
        proposed = QFileDialog().directory().filePath("answers.csv")  # where the last dialog was
        path = ask_name(self, "Save the table", proposed, ".csv", "CSV table (*.csv)")
        if path:
            self._actions.save_answers(path, work)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept pictures; what else the window opens is left to it."""
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls()]
        if paths and not any(path.is_dir() or path.name.endswith(_ELSEWHERE) for path in paths):
            event.acceptProposedAction()
        else:
            event.ignore()

    def dropEvent(self, event: QDropEvent) -> None:
        """Recognise the files dropped."""
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        event.acceptProposedAction()
        self.recognise(paths)

    def _connect(self) -> None:
        session = self.session
        session.tested_changed.connect(self._on_tested_changed)
        session.tested_selected.connect(self._on_tested_selected)
        for signal in (
            *(session.run_selected, session.runs_changed, session.stale_changed),
            *(session.reference_changed, session.dataset_changed, self.jobs.changed),
        ):
            signal.connect(self._refresh)
        self.jobs.changed.connect(self._on_jobs_changed)
        self.list.currentItemChanged.connect(self._on_item_selected)

    # --- the list -------------------------------------------------------------------------------------------

    def _on_tested_changed(self) -> None:
        """Show all pictures; rows that are the same stay as they are, so that nothing jumps."""
        rows: list[TestedPicture | RejectedPicture] = sorted(
            (*self.session.tested, *self.session.refused), key=lambda each: each.number
        )
        self._filling = True
        self._remove_rows({each.number for each in self._shown} - {each.number for each in rows})
        for index, each in enumerate(rows):
            item = self.list.topLevelItem(index)
            if item is None or self._shown[index].number != each.number:
                self.list.insertTopLevelItem(index, _written(QTreeWidgetItem(), each))
                self._shown.insert(index, each)
            elif self._shown[index] is not each:
                _written(item, each)
        self._shown = rows
        self._filling = False
        self._on_tested_selected()

    def _remove_rows(self, numbers: set[int]) -> None:
        for index in reversed(range(len(self._shown))):
            if self._shown[index].number in numbers:
                self.list.takeTopLevelItem(index)
                del self._shown[index]

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change between light and dark."""
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
        """Give what is selected in the list."""
        index = self.list.indexOfTopLevelItem(self.list.currentItem())
        return self._shown[index] if 0 <= index < len(self._shown) else None

    # --- buttons --------------------------------------------------------------------------------------------

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
        # The next in the list, not the picture shown elsewhere: whoever presses twice means neighbours.
        neighbour = self.list.topLevelItem(min(index, self.list.topLevelItemCount() - 1))
        if neighbour is not None:
            self.list.setCurrentItem(neighbour)

    def _await_answer(self) -> None:
        if not self._asked:
            self._before = self.session.tested
        self._asked = self.jobs.running(
            JobName.RECOGNITION
        )  # not where there was nothing to recognise

    def _on_jobs_changed(self) -> None:
        """Tell when what was asked for here is answered."""
        if self._asked and not self.jobs.running(JobName.RECOGNITION):
            self._asked = False
            test, before = self.session.test, self._before
            # Where all that was asked for failed or was stopped, the one shown is no answer.
            fresh = test is not None and all(each is not test for each in before)
            if test is not None and test.recognition is not None and fresh:
                self.answered.emit()

    # --- states ---------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        session, test = self.session, self.session.test
        no_model = "" if session.run is not None else "There is no model yet: train one."
        no_reference = "" if session.reference is not None else _NO_REFERENCE
        enable(self.open_button, _OPEN, no_model)
        enable(self.mystery_button, _MYSTERY, no_model or no_reference)
        enable(self.make_button, _MAKE, no_model or no_reference)
        current = self._current()
        enable(
            self.remove_button, _REMOVE, "" if current is not None else "No picture is selected."
        )
        hidden = test is not None and test.secret
        enable(self.reveal_button, _REVEAL, "" if hidden else "The selected picture is no mystery.")
        again = no_model if session.tested else "There are no pictures yet."
        enable(self.again_button, _AGAIN, again)
        some = bool(session.tested or session.refused)
        for widget in (
            *(self.list, self.words, self.reveal_button),
            *(self.again_button, self.remove_button, self.save_button),
        ):
            widget.setVisible(some)
        self.words.setText(current.error if isinstance(current, RejectedPicture) else _words(test))
        self.set_state(*self._state())
        self.set_primary(self.open_button)

    def _state(self) -> tuple[str, str]:
        session = self.session
        if self.jobs.running(JobName.RECOGNITION):
            return RUNNING, percent(self.jobs, JobName.RECOGNITION)
        if not session.tested:
            return (FAILED, "") if session.refused else (EMPTY, "")
        if any(session.tested_stale(test) for test in session.tested):
            return STALE, ""
        count = f"{len(session.tested)} pictures" if len(session.tested) > 1 else "1 picture"
        return DONE, f"{count}, {len(session.refused)} failed" if session.refused else count


def _words(test: TestedPicture | None) -> str:
    if test is None:
        return ""
    if test.secret:
        return ASK
    truth = f"\nTruth: {theme.truth_words(test.truth)}." if test.truth else ""
    found = test.verdict.sentence if test.verdict is not None else "Not recognised yet."
    return f"{found}{truth}"


def _written(item: QTreeWidgetItem, each: TestedPicture | RejectedPicture) -> QTreeWidgetItem:
    """Write into a row what there is to say about a picture."""
    icon, colour, found = QIcon(), None, None if isinstance(each, RejectedPicture) else each.verdict
    if isinstance(each, RejectedPicture):
        said, strength, tip, colour = "✗ failed", "", each.error, QColor(theme.shades().error)
    elif each.secret:
        said, strength, tip = "guess first", "", ASK
    elif found is None:
        said, strength, tip = "not yet", "", ""
    else:
        (said, strength), tip = short_form(found), found.sentence
        icon = icon if found.unlike else chip(found.label)
    for column, text in enumerate((each.name, said, strength)):
        item.setText(column, text)
    item.setData(1, Qt.ItemDataRole.ForegroundRole, colour)
    item.setIcon(1, icon)
    item.setToolTip(0, each.path or each.name)
    item.setToolTip(1, tip)
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
    made.header().setResizeContentsPrecision(50)  # rows that are measured at every change of one
    made.header().setStretchLastSection(False)
    made.setFixedHeight(120)
    describe(
        made,
        "Tested pictures",
        "All pictures tested, with what was recognised and how strong it is.",
    )
    return made
