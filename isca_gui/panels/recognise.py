"""Step 4: pictures to recognise, from files, made from the reference, or a mystery; and their verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QHeaderView,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from isca_gui.actions import PICTURE_FILTER
from isca_gui.panels.preview import KindBox, MseBox, chip
from isca_gui.panels.step import (
    DONE,
    EMPTY,
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
from isca_gui.recognising import HIDDEN

if TYPE_CHECKING:
    from PySide6.QtGui import QDragEnterEvent, QDropEvent

    from isca_gui.actions import Actions
    from isca_gui.jobs import JobRunner
    from isca_gui.session import Session, Tested

_OPEN = "Choose one or many pictures to find out what was done to them (Ctrl+R). You can also drop them here."
_MYSTERY = "Distort the reference at random and let the model find out how; you can guess as well."
_MAKE = "Distort the reference in this way and recognise it."
_REVEAL = "Tell what was really done to the mystery picture."
_AGAIN = "Recognise all pictures once more, with the run selected now."
_REMOVE = "Take the selected picture off the list."
_NO_REFERENCE = "There is no reference picture yet."


class RecognisePanel(StepPanel):
    """Takes test pictures and lists what was recognised in them."""

    NAME, HEADING = RECOGNISE, "4  Recognise"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, parent)
        self._actions, self._filling = actions, False
        self.setAcceptDrops(True)
        self.open_button = button("Open pictures…", _OPEN, self.choose)
        self.mystery_button = button("Mystery picture", _MYSTERY, actions.mystery)
        self.kind_box = KindBox("Kind to make", "Which distortion to make from the reference.")
        self.mse_box = MseBox("MSE to make", "How strong it is made.", 300)
        self.make_button = button("Make", _MAKE, self._on_make_clicked)
        self.list = _list()
        self.reveal_button = button("Reveal", _REVEAL, self._on_reveal_clicked)
        self.again_button = button("Again", _AGAIN, actions.recognise_again)
        self.remove_button = button("Remove", _REMOVE, self._on_remove_clicked)
        self.words = faint()
        self.body.addLayout(row(self.open_button, self.mystery_button, 1))
        line = row(self.kind_box, self.mse_box, self.make_button)
        line.setStretch(0, 1)
        self.body.addLayout(line)
        self.body.addWidget(JobBar(jobs, "recognise", "Progress of the recognition"))
        self.body.addWidget(self.list)
        self.body.addWidget(self.words)
        self.body.addLayout(row(self.reveal_button, self.again_button, self.remove_button, 1))
        self._connect()
        self._on_tested_changed()

    def choose(self) -> None:
        """Ask for picture files and recognise them."""
        paths, _ = QFileDialog.getOpenFileNames(self, "Open pictures to recognise", "", PICTURE_FILTER)
        if paths:
            self._actions.recognise_files(paths)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept files."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Recognise the files dropped."""
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        event.acceptProposedAction()
        self._actions.recognise_files(paths)

    def _connect(self) -> None:
        session = self.session
        session.tested_changed.connect(self._on_tested_changed)
        session.tested_selected.connect(self._on_tested_selected)
        for signal in (
            *(session.run_selected, session.runs_changed, session.stale_changed),
            *(session.reference_changed, session.dataset_changed, self.jobs.changed),
        ):
            signal.connect(self._refresh)
        self.list.currentItemChanged.connect(self._on_item_selected)

    # --- the list -------------------------------------------------------------------------------------------

    def _on_tested_changed(self) -> None:
        self._filling = True
        self.list.clear()
        for test in self.session.tested:
            self.list.addTopLevelItem(self._item(test))
        self._filling = False
        self._on_tested_selected()

    def _item(self, test: Tested) -> QTreeWidgetItem:
        recognition = test.recognition
        verdict = recognition.verdict.label if recognition is not None else ""
        strength = f"{recognition.verdict.severity:.0f}" if recognition is not None else ""
        item = QTreeWidgetItem([test.name, verdict or "not yet", strength])
        item.setData(0, Qt.ItemDataRole.UserRole, test.number)
        if recognition is not None:
            item.setIcon(1, chip(verdict))
            item.setToolTip(1, recognition.verdict.sentence)
        item.setToolTip(0, test.path or test.name)
        item.setTextAlignment(2, Qt.AlignmentFlag.AlignRight)
        return item

    def _on_item_selected(self) -> None:
        item = self.list.currentItem()
        if not self._filling and item is not None:
            self.session.select_tested(item.data(0, Qt.ItemDataRole.UserRole))

    def _on_tested_selected(self) -> None:
        test = self.session.test
        self._filling = True
        for index in range(self.list.topLevelItemCount()):
            item = self.list.topLevelItem(index)
            if (
                item is not None
                and test is not None
                and item.data(0, Qt.ItemDataRole.UserRole) == test.number
            ):
                self.list.setCurrentItem(item)
        self._filling = False
        self._refresh()

    # --- buttons --------------------------------------------------------------------------------------------

    def _on_make_clicked(self) -> None:
        self._actions.recognise_made(self.kind_box.kind, self.mse_box.value(), len(self.session.tested) + 1)

    def _on_reveal_clicked(self) -> None:
        if self.session.test is not None:
            self._actions.reveal(self.session.test.number)

    def _on_remove_clicked(self) -> None:
        if self.session.test is not None:
            self.session.remove_tested(self.session.test.number)

    # --- states ---------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        session, test = self.session, self.session.test
        no_model = "" if session.run is not None else "There is no model yet: train one."
        no_reference = "" if session.reference is not None else _NO_REFERENCE
        enable(self.open_button, _OPEN, no_model)
        enable(self.mystery_button, _MYSTERY, no_model or no_reference)
        enable(self.make_button, _MAKE, no_model or no_reference)
        enable(self.remove_button, _REMOVE, "" if test is not None else "No picture is selected.")
        hidden = test is not None and test.truth.startswith(HIDDEN)
        enable(self.reveal_button, _REVEAL, "" if hidden else "The selected picture is no mystery.")
        again = no_model if session.tested else "There are no pictures yet."
        enable(self.again_button, _AGAIN, again)
        some = bool(session.tested)
        for widget in (self.list, self.words, self.reveal_button, self.again_button, self.remove_button):
            widget.setVisible(some)
        self.words.setText(_words(test))
        self.set_state(*self._state())
        self.set_primary(self.open_button)

    def _state(self) -> tuple[str, str]:
        session = self.session
        if self.jobs.running("recognise"):
            return RUNNING, percent(self.jobs, "recognise")
        if not session.tested:
            return EMPTY, ""
        if any(session.tested_stale(test) for test in session.tested):
            return STALE, ""
        return DONE, f"{len(session.tested)} pictures" if len(session.tested) > 1 else "1 picture"


def _words(test: Tested | None) -> str:
    if test is None:
        return ""
    truth = "" if test.truth.startswith(HIDDEN) or not test.truth else f"\nTruth: {test.truth}."
    found = test.recognition.verdict.sentence if test.recognition is not None else "Not recognised yet."
    return f"{found}{truth}"


def _list() -> QTreeWidget:
    made = QTreeWidget()
    made.setHeaderLabels(["Picture", "Verdict", "MSE ≈"])
    made.setRootIsDecorated(False)
    made.setUniformRowHeights(True)
    made.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    made.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    made.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
    made.header().setSectionResizeMode(2, QHeaderView.ResizeMode.ResizeToContents)
    made.header().setStretchLastSection(False)
    made.setFixedHeight(120)
    describe(made, "Tested pictures", "All pictures tested, with what was recognised and how strong it is.")
    return made
