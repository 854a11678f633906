"""Step 2: which distorted versions of the reference to make, a preview, and what was made."""

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
from isca_gui.core.distortion.distortions import DISTORTIONS, TABLE
from isca_gui.core.settings import DatasetSpec, SettingsError, number_text, parse_levels
from isca_gui.panels.dataset_table import MadeModel
from isca_gui.panels.preview import MseBox, PreviewBox, chip
from isca_gui.widgets.seed_field import SeedBox
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
    faint,
    percent,
    press,
    row,
    set_property,
)

if TYPE_CHECKING:
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import Failure, JobRunner
    from isca_gui.session.session import Session

_GENERATE = "Make every kind at every level from the reference (Ctrl+G)."
_SAVE = "Save the pictures and their labels as a folder."
_IMPORT = "Read a saved dataset, or a folder with one subfolder of pictures per label, one of them 'original'."


class DatasetPanel(StepPanel):
    """Edits the session's dataset spec and generates from it."""

    NAME, HEADING = DISTORT, "2  Distort"

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, parent)
        self._actions, self._failed, self._filling = actions, False, False
        self.kind_boxes = {line.name: _kind_box(line.name) for line in TABLE}
        self.mode_box = QComboBox()
        self.mode_box.addItems(["from – to – step", "list"])
        describe(self.mode_box, "How the levels are given", "MSE levels as a range or as a list.")
        self.from_box = MseBox("First level", "The weakest distortion.", 45)
        self.to_box = MseBox("Last level", "The strongest distortion.", 900)
        self.step_box = MseBox("Step between levels", "From one level to the next.", 45)
        self.list_edit = QLineEdit()
        describe(
            self.list_edit,
            "List of levels",
            "Rising MSE levels, commas between them: 22.5, 45, 90.",
        )
        self.level_pages = QStackedWidget()
        self.seed_box = SeedBox("Seed of the noise", "The same seed gives the same noise again.")
        self.problem_label = QLabel()
        self.problem_label.setWordWrap(True)
        self.problem_label.setProperty("level", "error")
        self.count_label = faint()
        self.preview = PreviewBox(session, actions)
        self.generate_button = button("Generate", _GENERATE, actions.generate)
        self.stop_button = button(
            "Stop", "Stop generating; what was there stays.", actions.stop_generating
        )
        self.save_button = button("Save…", _SAVE, self.save)
        self.import_button = button("Import…", _IMPORT, self.choose_folder)
        self.model = MadeModel()
        self.table = _table(self.model)
        self.made_box = Disclosure("What was made", self.table)
        actions.set_validator("dataset", self.problem_label.text)
        self._lay_out()
        self._connect()
        self._on_spec_changed()
        self._on_dataset_changed()

    def save(self) -> None:
        """Ask for a folder and save the dataset there; an older dataset is replaced only if agreed to."""
        work = self.session.work  # while a dialog is open another dataset may come
        folder = QFileDialog.getExistingDirectory(self, "Save the dataset in an empty folder")
        if not folder:
            return
        overwrite = (Path(folder) / DESCRIPTION).exists()
        if overwrite and not self._agreed(folder):
            return
        self._actions.save_dataset(folder, overwrite=overwrite, work=work)

    def choose_folder(self) -> None:
        """Ask for a folder and import it."""
        folder = QFileDialog.getExistingDirectory(self, "Import a dataset or a labelled folder")
        if folder:
            self._actions.import_folder(folder)

    def _agreed(self, folder: str) -> bool:
        question = f"'{folder}' holds a dataset already. Replace it?"
        return (
            QMessageBox.question(self, "Replace the dataset?", question)
            == QMessageBox.StandardButton.Yes
        )

    def _lay_out(self) -> None:
        kinds = QGridLayout()
        kinds.setSpacing(2)
        for index, box in enumerate(self.kind_boxes.values()):
            kinds.addWidget(box, index % 3, index // 3)
        self.body.addLayout(kinds)
        range_page, list_page = QWidget(), QWidget()
        range_page.setLayout(
            row(
                self.from_box,
                QLabel("to"),
                self.to_box,
                QLabel("step"),
                self.step_box,
                1,
                spacing=4,
            )
        )
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
        self.body.addWidget(JobBar(self.jobs, "dataset", "Progress of the dataset"))
        self.body.addWidget(self.made_box)

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
        for signal in (
            self.session.stale_changed,
            self.session.reference_changed,
            self.jobs.changed,
        ):
            signal.connect(self._refresh)
        self.jobs.failed.connect(self._on_job_failed)

    def generate(self) -> None:
        """Make the dataset that the fields show."""
        press(self.generate_button, self.session)

    # --- edits ----------------------------------------------------------------------------------------------

    def _on_mode_changed(self, page: int) -> None:
        self.level_pages.setCurrentIndex(page)
        if not self._filling:
            self._filling = True
            self._write_levels(self.session.spec.levels)
            self._filling = False
        self._on_edited(apart=True)  # a list that is no range is lost by it: that can be undone

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
        """Read the fields; raises SettingsError for what makes no sense."""
        spec = self.session.spec
        mixtures = tuple(kind for kind in spec.kinds if kind not in DISTORTIONS)
        kinds = tuple(name for name, box in self.kind_boxes.items() if box.isChecked()) + mixtures
        if set(kinds) == set(spec.kinds):
            kinds = (
                spec.kinds
            )  # boxes have no order; in another one the dataset would not be the same
        return replace(spec, kinds=kinds, levels=self._levels(), seed=self.seed_box.value())

    def _levels(self) -> tuple[float, ...]:
        if self.mode_box.currentIndex() == 1:
            return self._listed_levels()
        ends = (self.from_box, self.to_box, self.step_box)
        return parse_levels(":".join(repr(box.value()) for box in ends))

    def _listed_levels(self) -> tuple[float, ...]:
        """Read the list; one that does not rise is more likely a comma before decimals than meant so."""
        levels = parse_levels(self.list_edit.text())
        if levels != tuple(sorted(levels)) and levels != self.session.spec.levels:
            read = ", ".join(map(number_text, levels))
            raise SettingsError(
                f"the levels {read} do not rise; before decimals write a point, as in 22.5",
                field="levels",
            )
        return levels

    def _show_problem(self, error: SettingsError | None) -> None:
        self.problem_label.setText(str(error or ""))
        self.problem_label.setVisible(error is not None)
        field = error.field if error is not None else ""
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
            if self._levels() == levels:
                return  # also where "to" lies beyond the last level
        if _range_of(levels) is None:
            self.mode_box.setCurrentIndex(1)
        self._write_levels(levels)

    def _write_levels(self, levels: tuple[float, ...]) -> None:
        """Write levels into the fields of the mode that is chosen, as far as they go in there."""
        if self.mode_box.currentIndex() == 1:
            self.list_edit.setText(", ".join(map(number_text, levels)))
            return
        for box, value in zip(
            (self.from_box, self.to_box, self.step_box), _range_of(levels) or (), strict=False
        ):
            box.setValue(value)

    # --- states ---------------------------------------------------------------------------------------------

    def _on_dataset_changed(self) -> None:
        self._failed = False
        made = self.session.dataset
        self.model.show(made)
        count = len(made.entries) if made is not None else 0
        missed = len(made.unreachable) if made is not None else 0
        tail = f", {missed} unreachable" if missed else ""
        self.made_box.button.setText(f"What was made ({count}{tail})" if made else "What was made")
        self._refresh()

    def _on_job_failed(self, failure: Failure) -> None:
        self._failed = self._failed or failure.job == "dataset"
        self._refresh()

    def _refresh(self) -> None:
        session, made = self.session, self.session.dataset
        running, problem = self.jobs.running("dataset"), self.problem_label.text()
        kinds, levels = len(session.spec.kinds), len(session.spec.levels)
        self.count_label.setText(
            f"{kinds} kinds × {levels} levels + the original: {kinds * levels + 1} pictures"
        )
        why = "It is at work already." if running else problem
        enable(
            self.generate_button,
            _GENERATE,
            why or ("" if session.reference is not None else "There is no reference picture yet."),
        )
        self.stop_button.setVisible(running)
        enable(
            self.save_button,
            _SAVE,
            "" if made is not None else "There is no dataset yet: generate one.",
        )
        enable(self.import_button, _IMPORT, why if running else "")
        self.made_box.setVisible(made is not None)
        self.set_state(*self._state(running))
        self.set_primary(self.generate_button)

    def _state(self, running: bool) -> tuple[str, str]:
        made = self.session.dataset
        if running:
            return RUNNING, percent(self.jobs, "dataset")
        if self._failed:
            return FAILED, ""
        if made is None:
            return EMPTY, ""
        count = f"{len(made.entries)} pictures"
        return (STALE, f"stale, {count}") if self.session.dataset_stale else (DONE, count)


def _kind_box(name: str) -> QCheckBox:
    line = DISTORTIONS[name]
    box = QCheckBox(f"{line.letter}  {line.title}")
    box.setIcon(chip(name))
    describe(box, line.title, line.sentence)
    return box


def _table(model: MadeModel) -> QTableView:
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
    describe(
        table,
        "What was made",
        "Every picture of the dataset: target and achieved MSE, and strength.",
    )
    return table


def _range_of(levels: tuple[float, ...]) -> tuple[float, float, float] | None:
    """Give from, to and step if the levels are such a range, with one decimal as the fields have."""
    step = levels[1] - levels[0] if len(levels) > 1 else 45.0
    ends = round(levels[0], 1), round(levels[-1], 1), round(step, 1)
    try:
        same = parse_levels(":".join(map(repr, ends))) == levels
    except SettingsError:
        return None
    return ends if same else None
