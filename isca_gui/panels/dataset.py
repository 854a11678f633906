"""Step 2: which distorted copies of the reference to make, a preview, and a table of the result."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QComboBox,
    QFileDialog,
    QGridLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMessageBox,
    QStackedWidget,
    QTableView,
    QWidget,
)

from isca_gui.core.distortion.dataset_folder import DESCRIPTION
from isca_gui.core.distortion.dataset_spec import DatasetSpec, parse_levels
from isca_gui.core.distortion.distortions import DISTORTIONS, TABLE
from isca_gui.core.settings import SettingsError, number_text
from isca_gui.jobs.names import JobName
from isca_gui.panels.dataset_table import DatasetTableModel
from isca_gui.panels.preview import PreviewBox
from isca_gui.widgets.fields import MseBox, SeedBox, class_icon
from isca_gui.widgets.step_frame import (
    DISTORT,
    DONE,
    EMPTY,
    FAILED,
    RUNNING,
    STALE,
    Disclosure,
    JobBar,
    StepPanel,
    button,
    describe,
    enable,
    faint_label,
    plural,
    press_or_explain,
    progress_text,
    row,
    set_property,
)

if TYPE_CHECKING:
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import Failure, JobRunner
    from isca_gui.session.session import Session

# The index in the mode box of levels that are typed as a list.
_LIST_MODE = 1

_GENERATE = "Distort the reference with every chosen kind at every level (Ctrl+G)."
_STOP = "Stop generating. The previous dataset is kept."
_SAVE = "Save the pictures and their labels in a folder."
_IMPORT = (
    "Open a saved dataset, or a folder with one subfolder per label, one of them named 'original'."
)
_CONTENTS = "Dataset contents"


class DatasetPanel(StepPanel):
    """Edits which dataset to make, and generates it."""

    NAME = DISTORT
    HEADING = "2  Distort"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, parent)
        self._actions = actions
        self._failed = False
        self._filling = False
        self.kind_boxes = {line.name: _kind_box(line.name) for line in TABLE}
        self.mode_box = QComboBox()
        self.mode_box.addItems(["from – to – step", "list"])
        describe(self.mode_box, "How to enter levels", "Enter MSE levels as a range or a list.")
        self.from_box = MseBox("First level", "The weakest distortion.", 45)
        self.to_box = MseBox("Last level", "The strongest distortion.", 900)
        self.step_box = MseBox(
            "Step between levels", "The difference between neighbouring levels.", 45
        )
        self.list_edit = QLineEdit()
        sentence = "MSE levels in rising order, separated by commas: 22.5, 45, 90."
        describe(self.list_edit, "List of levels", sentence)
        self.level_pages = QStackedWidget()
        self.seed_box = SeedBox("Noise seed", "The same seed gives the same noise.")
        self.problem_label = QLabel()
        self.problem_label.setWordWrap(True)
        self.problem_label.setProperty("level", "error")
        self.count_label = faint_label()
        self.preview = PreviewBox(session, actions)
        self.generate_button = button("Generate", _GENERATE, actions.generate)
        self.stop_button = button("Stop", _STOP, actions.stop_generating)
        self.save_button = button("Save…", _SAVE, self.save)
        self.import_button = button("Import…", _IMPORT, self.choose_folder)
        self.model = DatasetTableModel()
        self.table = _table(self.model)
        self.contents_box = Disclosure(_CONTENTS, self.table)
        self._lay_out()
        self._connect()
        self._on_spec_changed()
        self._on_dataset_changed()

    def save(self) -> None:
        """Ask for a folder and save the dataset there; ask before replacing an older one."""
        # The work is taken now, because another dataset may arrive while a dialog is open.
        work = self.session.work
        folder = QFileDialog.getExistingDirectory(self, "Choose an empty folder for the dataset")
        if not folder:
            return
        overwrite = (Path(folder) / DESCRIPTION).exists()
        if overwrite and not self._agreed(folder):
            return
        self._actions.save_dataset(folder, overwrite=overwrite, work=work)

    def choose_folder(self) -> None:
        """Ask for a folder and import it."""
        folder = QFileDialog.getExistingDirectory(
            self, "Choose a dataset or a folder of labelled pictures"
        )
        if folder:
            self._actions.import_folder(folder)

    def _agreed(self, folder: str) -> bool:
        question = f"'{folder}' already contains a dataset. Replace it?"
        answer = QMessageBox.question(self, "Replace dataset?", question)
        return answer == QMessageBox.StandardButton.Yes

    def _lay_out(self) -> None:
        kinds = QGridLayout()
        kinds.setSpacing(2)
        for index, box in enumerate(self.kind_boxes.values()):
            kinds.addWidget(box, index % 3, index // 3)
        self.body.addLayout(kinds)
        range_page = QWidget()
        to = QLabel("to")
        step = QLabel("step")
        range_page.setLayout(row(self.from_box, to, self.to_box, step, self.step_box, 1, spacing=4))
        list_page = QWidget()
        list_page.setLayout(row(self.list_edit))
        self.level_pages.addWidget(range_page)
        self.level_pages.addWidget(list_page)
        grid = QGridLayout()
        grid.setSpacing(4)
        grid.addWidget(QLabel("MSE levels"), 0, 0)
        grid.addLayout(row(self.mode_box, 1, QLabel("seed"), self.seed_box), 0, 1)
        grid.addWidget(self.level_pages, 1, 1)
        self.body.addLayout(grid)
        self.body.addWidget(self.problem_label)
        self.body.addWidget(self.count_label)
        self.body.addWidget(self.preview)
        self.body.addLayout(
            row(self.generate_button, self.stop_button, 1, self.save_button, self.import_button)
        )
        self.body.addWidget(JobBar(self.jobs, JobName.DATASET, "Dataset progress"))
        self.body.addWidget(self.contents_box)

    def _connect(self) -> None:
        for box in self.kind_boxes.values():
            box.toggled.connect(self._on_edited)
        for spin in (self.from_box, self.to_box, self.step_box):
            spin.valueChanged.connect(self._on_edited)
        for edit in (self.list_edit, self.seed_box):
            edit.editingFinished.connect(self._on_edited)
        self.mode_box.currentIndexChanged.connect(self._on_mode_changed)
        self.session.spec_changed.connect(self._on_spec_changed)
        self.session.dataset_changed.connect(self._on_dataset_changed)
        self.session.stale_changed.connect(self._refresh)
        self.session.reference_changed.connect(self._refresh)
        self.jobs.changed_of(JobName.DATASET).connect(self._refresh)
        self.jobs.failed.connect(self._on_job_failed)

    def generate(self) -> None:
        """Generate the dataset that the fields describe."""
        press_or_explain(self.generate_button, self.session)

    # --- edits ------------------------------------------------------------------------------------

    def _on_mode_changed(self, page: int) -> None:
        self.level_pages.setCurrentIndex(page)
        if not self._filling:
            self._filling = True
            self._write_levels(self.session.spec.levels)
            self._filling = False
        # A list that is no range is lost here, so this is a step of its own that can be undone.
        self._on_edited(apart=True)

    def _on_edited(self, *_: object, apart: bool = False) -> None:
        if self._filling:
            return
        try:
            self.session.set_spec(self._wanted(), apart=apart)
            self._show_problem(None)
        except SettingsError as error:
            self._show_problem(error)
        self._refresh()

    def _wanted(self) -> DatasetSpec:
        """Return the spec that the fields describe; raises SettingsError for an invalid one."""
        spec = self.session.spec
        mixtures = tuple(kind for kind in spec.kinds if kind not in DISTORTIONS)
        kinds = tuple(name for name, box in self.kind_boxes.items() if box.isChecked()) + mixtures
        if set(kinds) == set(spec.kinds):
            # Check boxes have no order, but the order of the kinds is part of the dataset.
            kinds = spec.kinds
        return replace(spec, kinds=kinds, levels=self._levels(), seed=self.seed_box.value())

    def _levels(self) -> tuple[float, ...]:
        if self.mode_box.currentIndex() == _LIST_MODE:
            return self._listed_levels()
        ends = (self.from_box, self.to_box, self.step_box)
        return parse_levels(":".join(repr(box.value()) for box in ends))

    def _listed_levels(self) -> tuple[float, ...]:
        """Return the levels of the list; raises SettingsError if they do not rise.

        A falling list usually comes from a decimal comma: "22,5" is read as 22 and 5.
        """
        levels = parse_levels(self.list_edit.text())
        if levels != tuple(sorted(levels)) and levels != self.session.spec.levels:
            read = ", ".join(map(number_text, levels))
            raise SettingsError(
                f"the levels {read} are not in rising order; write decimals as in 22.5",
                field="levels",
            )
        return levels

    def _show_problem(self, error: SettingsError | None) -> None:
        text = ""
        field = ""
        if error is not None:
            text = str(error)
            field = error.field
        self._actions.set_problem(JobName.DATASET, text)
        self.problem_label.setText(text)
        self.problem_label.setVisible(bool(text))
        set_property(self.seed_box, "wrong", field == "seed")
        for widget in (self.from_box, self.to_box, self.step_box, self.list_edit):
            set_property(widget, "wrong", field == "levels")

    def _on_spec_changed(self) -> None:
        spec = self.session.spec
        self._filling = True
        for name, box in self.kind_boxes.items():
            box.setChecked(name in spec.kinds)
        self.seed_box.show_value(spec.seed)
        self._fill_levels(spec.levels)
        self._filling = False
        self._show_problem(None)
        self._refresh()

    def _fill_levels(self, levels: tuple[float, ...]) -> None:
        with contextlib.suppress(SettingsError):
            # The same levels can be entered in several ways: "to" may lie beyond the last one.
            if self._levels() == levels:
                return
        if _range_of(levels) is None:
            self.mode_box.setCurrentIndex(_LIST_MODE)
        self._write_levels(levels)

    def _write_levels(self, levels: tuple[float, ...]) -> None:
        """Write levels into the fields of the current mode, if they can be shown there."""
        if self.mode_box.currentIndex() == _LIST_MODE:
            self.list_edit.setText(", ".join(map(number_text, levels)))
            return
        ends = _range_of(levels)
        if ends is not None:
            for box, value in zip((self.from_box, self.to_box, self.step_box), ends, strict=True):
                box.setValue(value)

    # --- states -----------------------------------------------------------------------------------

    def _on_dataset_changed(self) -> None:
        self._failed = False
        dataset = self.session.dataset
        self.model.show(dataset)
        title = _CONTENTS
        if dataset is not None:
            missed = len(dataset.unreachable)
            tail = f", {missed} unreachable" if missed else ""
            title = f"{_CONTENTS} ({len(dataset.entries)}{tail})"
        self.contents_box.button.setText(title)
        self._refresh()

    def _on_job_failed(self, failure: Failure) -> None:
        self._failed = self._failed or failure.job == JobName.DATASET
        self._refresh()

    def _refresh(self) -> None:
        session = self.session
        running = self.jobs.running(JobName.DATASET)
        busy = "A dataset is already being made." if running else ""
        no_reference = "Open a reference picture first." if session.reference is None else ""
        no_dataset = "No dataset yet. Generate one first." if session.dataset is None else ""
        self.count_label.setText(self._count_text())
        enable(self.generate_button, _GENERATE, busy or self.problem_label.text() or no_reference)
        self.stop_button.setVisible(running)
        enable(self.save_button, _SAVE, no_dataset)
        enable(self.import_button, _IMPORT, busy)
        self.contents_box.setVisible(session.dataset is not None)
        self.set_state(*self._state(running))
        self.set_primary(self.generate_button)

    def _count_text(self) -> str:
        kinds = len(self.session.spec.kinds)
        levels = len(self.session.spec.levels)
        product = f"{plural(kinds, 'kind')} × {plural(levels, 'level')}"
        return f"{product} + the original: {plural(kinds * levels + 1, 'picture')}"

    def _state(self, running: bool) -> tuple[str, str]:
        if running:
            return RUNNING, progress_text(self.jobs, JobName.DATASET)
        if self._failed:
            return FAILED, ""
        if self.session.dataset is None:
            return EMPTY, ""
        count = plural(len(self.session.dataset.entries), "picture")
        if self.session.dataset_stale:
            return STALE, f"stale, {count}"
        return DONE, count


def _kind_box(name: str) -> QCheckBox:
    line = DISTORTIONS[name]
    box = QCheckBox(f"{line.letter}  {line.title}")
    box.setIcon(class_icon(name))
    describe(box, line.title, line.sentence)
    return box


def _table(model: DatasetTableModel) -> QTableView:
    table = QTableView()
    table.setModel(model)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setAlternatingRowColors(True)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(20)
    table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    table.horizontalHeader().setHighlightSections(False)
    table.setFixedHeight(190)
    sentence = "Every picture of the dataset with its target MSE, achieved MSE and strength."
    describe(table, _CONTENTS, sentence)
    return table


def _range_of(levels: tuple[float, ...]) -> tuple[float, float, float] | None:
    """Return from, to and step if the levels are a range of numbers with one decimal."""
    step = 45.0
    if len(levels) > 1:
        step = levels[1] - levels[0]
    ends = (round(levels[0], 1), round(levels[-1], 1), round(step, 1))
    with contextlib.suppress(SettingsError):
        if parse_levels(":".join(map(repr, ends))) == levels:
            return ends
    return None
