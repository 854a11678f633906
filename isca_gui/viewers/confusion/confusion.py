"""How often each kind is recognised, leave-one-out; a click on a cell lists exactly its pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import shiboken6
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from isca_gui.core.distortion.distortions import level_text
from isca_gui.core.recognition.vote_overlays import look
from isca_gui.jobs.recognition_queue import left_out_name
from isca_gui.session.session import TestedPicture
from isca_gui.viewers import view_settings
from isca_gui.viewers.canvas.layers import scaled_thumbnail
from isca_gui.viewers.confusion.matrix import ConfusionMatrix
from isca_gui.viewers.export import Exportable
from isca_gui.viewers.runs import run_data
from isca_gui.viewers.runs.run_tables import percent
from isca_gui.viewers.viewer import ChoiceButton, LatestOnly, NextStep, Viewer, need_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from PySide6.QtGui import QImage

    from isca_gui.core.recognition.evaluation import LeaveOneOut
    from isca_gui.core.recognition.recogniser import Recognition
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Run, Session

    Picture = NDArray[np.float32]

_THUMBNAIL = 48
_NUMBER, _RUN = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1


def _recognise_left_out(run: Run, number: int) -> Recognition:
    from isca_gui.core.recognition.recogniser import Recogniser

    return Recogniser(run.model).leave_one_out(number)


def pictures_of(run: Run, row: int, column: int) -> list[int]:
    """Give the numbers of the training pictures that are counted in a cell."""
    evaluation, known = run.evaluation, run.model.known
    if evaluation is None or known is None:
        return []
    true = evaluation.classes[row]
    said = evaluation.classes[column] if column < len(evaluation.classes) else "undecided"
    pairs = zip(known.labels, evaluation.verdicts, strict=True)
    return [number for number, pair in enumerate(pairs) if pair == (true, said)]


class ConfusionViewer(Viewer):
    """The confusion matrices of the evaluated runs."""

    TITLE = "Confusion"
    pictures_chosen = Signal(list)  # numbers of the training pictures in the clicked cell
    picture_opened = Signal(int)  # number of the test picture whose blocks are to be shown

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self.matrices: dict[int, ConfusionMatrix] = {}
        self._titles: dict[int, QLabel] = {}
        self._arranged: list[tuple[int, str, LeaveOneOut | None]] = []  # what the matrices are of
        self._newest = LatestOnly(jobs, "cell", "Making thumbnails", self)
        self._opening = LatestOnly(jobs, "left out", "Recognising a training picture", self)
        self._build()
        self.looks.keep(
            every=view_settings.button(self.every), baseline=view_settings.button(self.baseline)
        )
        for signal in (session.run_selected, session.runs_changed, session.dataset_changed,
                       session.reference_changed, session.spec_changed):  # fmt: skip
            signal.connect(self.mark_dirty)
        jobs.changed.connect(self._on_jobs_changed_too)

    def missing_step(self) -> NextStep | None:
        """Need a trained model that was evaluated."""
        run = self.session.run
        if run is None:
            return need_run(self.session, self._actions)
        if run.evaluation is not None or self._others():
            return None
        text = "Next: find out how often each training picture is recognised when it is left out."
        number = run.number
        return NextStep(
            text,
            f"Evaluate {run.name}",
            lambda: self._actions.evaluate(number),
            f"evaluation {number}",
        )

    def look_as(self, values: Mapping[str, Any]) -> None:
        """Look as a project has it, at once: it decides whether there is something to see."""
        self.looks.ask(values)
        self.looks.settle()
        self.mark_dirty()

    def redraw(self) -> None:
        """Show the matrix of the selected run, or those of all evaluated runs."""
        runs = self.shown_runs()
        now = [(run.number, run.name, run.evaluation) for run in runs]
        if now != self._arranged:
            self._arranged = now
            self._arrange(runs)
        for run in runs:
            if run.evaluation is not None:
                self.matrices[run.number].set_evaluation(run.evaluation)
                self._titles[run.number].setText(_title(self.session, run))
                self._titles[run.number].setToolTip(_explanation(self.session, run))
        chosen, random = self.session.run, self._random()
        self.baseline.setEnabled(random is not None)
        self.baseline.setToolTip(
            "Show the random subspace's matrix beside it: what any method must beat"
            if random is not None
            else "Train the method 'random' first; its matrix can then be shown beside this one."
        )
        self.evaluate.setVisible(chosen is not None and chosen.evaluation is None)
        missing = chosen is not None and chosen.evaluation is None
        self.note.setText(
            f"{chosen.name} has not been evaluated yet." if chosen and missing else ""
        )

    def shown_runs(self) -> list[Run]:
        """Give the runs whose matrices are shown."""
        evaluated = [run for run in self.session.runs if run.evaluation is not None]
        if self.every.isChecked():
            return evaluated
        chosen = [
            run for run in evaluated if self.session.run and run.number == self.session.run.number
        ]
        random = self._random()
        if self.baseline.isChecked() and random is not None and random not in chosen:
            chosen.append(random)
        return chosen

    # --- building ---------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.every = ChoiceButton(
            "All runs", "the matrices of all evaluated runs side by side", self
        )
        self.baseline = ChoiceButton(
            "Random baseline", "beside it, what any method must beat", self
        )
        for button in (self.every, self.baseline):
            button.toggled.connect(self.mark_dirty)
        self.note = QLabel(self)
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.evaluate = QPushButton("Evaluate", self)
        self.evaluate.setAccessibleName("Evaluate the selected run")
        self.evaluate.setToolTip("Recognise every training picture as if it were not known")
        self.evaluate.clicked.connect(self._on_evaluate)
        row = QHBoxLayout()
        for widget in (self.every, self.baseline, self.note, self.evaluate):
            row.addWidget(widget)
        row.addStretch()
        row.addWidget(self.exporter.button(*self._things()))
        self._row_box = QWidget(self)
        self._row = QHBoxLayout(self._row_box)
        self._row.setContentsMargins(0, 0, 0, 0)
        area = QScrollArea(self)
        area.setWidget(self._row_box)
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setAccessibleName("Confusion matrices")
        area.setToolTip("Confusion matrices")
        self.cell = QLabel("Click a cell to list its pictures.", self)
        self.cell.setTextFormat(Qt.TextFormat.PlainText)
        self.list = QListWidget(self)
        self.list.setAccessibleName("Pictures of the chosen cell")
        self.list.setToolTip("Click a picture to see its blocks in the vote map")
        self.list.setIconSize(QSize(_THUMBNAIL, _THUMBNAIL))
        self.list.setViewMode(QListWidget.ViewMode.IconMode)
        self.list.setResizeMode(QListWidget.ResizeMode.Adjust)
        self.list.setMovement(QListWidget.Movement.Static)
        self.list.setGridSize(QSize(_THUMBNAIL + 36, _THUMBNAIL + self.fontMetrics().height() + 14))
        self.list.setMinimumHeight(60)
        self.list.itemActivated.connect(self._on_item)
        self.list.itemClicked.connect(self._on_item)
        below = QWidget(self)
        column = QVBoxLayout(below)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.cell)
        column.addWidget(self.list, 1)
        splitter = QSplitter(Qt.Orientation.Vertical, self)
        splitter.addWidget(area)
        splitter.addWidget(below)
        splitter.setStretchFactor(0, 1)
        splitter.setSizes([500, 110])
        splitter.setStretchFactor(1, 0)
        layout = QVBoxLayout(self.content)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addLayout(row)
        layout.addWidget(splitter, 1)

    def _things(self) -> tuple[Exportable, ...]:
        return (
            Exportable(
                "confusion", "matrix", image=self._image, svg=self._svg, of=self._chosen_name
            ),
            Exportable("confusion", "table", table=self.rows),
        )

    def _chosen(self) -> ConfusionMatrix | None:
        """Give the matrix of the selected run, or the first where that has none."""
        run = self.session.run
        selected = self.matrices.get(run.number) if run is not None else None
        return selected or next(iter(self.matrices.values()), None)

    def _chosen_name(self) -> str:
        chosen = self._chosen()
        return next(
            (run.name for run in self.shown_runs() if self.matrices.get(run.number) is chosen), ""
        )

    def _image(self) -> QImage | None:
        chosen = self._chosen()
        return chosen.drawn() if chosen is not None else None

    def _svg(self) -> bytes:
        chosen = self._chosen()
        return chosen.svg() if chosen is not None else b""

    def rows(self) -> list[tuple[object, ...]]:
        """Give all matrices that are shown as one table."""
        rows: list[tuple[object, ...]] = []
        for run in self.shown_runs():
            rows += [(run.name, *row) for row in self.matrices[run.number].rows()]
        return rows

    def _arrange(self, runs: list[Run]) -> None:
        while self._row.count():
            item = self._row.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.matrices, self._titles = {}, {}
        for run in runs:
            box = QWidget(self._row_box)
            column = QVBoxLayout(box)
            column.setContentsMargins(0, 0, 0, 0)
            title, matrix = QLabel(box), ConfusionMatrix(run.name, box)
            title.setTextFormat(Qt.TextFormat.PlainText)
            matrix.cell_chosen.connect(_Cell(self, run.number))
            column.addWidget(title)
            column.addWidget(matrix, 1)
            self._row.addWidget(box)
            self.matrices[run.number], self._titles[run.number] = matrix, title
        self._newest.forget()
        self.list.clear()
        self.cell.setText("Click a cell to list its pictures.")

    # --- what happens -----------------------------------------------------------------------------------

    def show_cell(self, run_number: int, row: int, column: int) -> None:
        """List the pictures of a cell."""
        run = self.session.run_of(run_number)
        if run is None or run.evaluation is None or run.model.known is None:
            return
        for number, matrix in self.matrices.items():
            if number != run_number and matrix.chosen is not None:
                matrix.chosen = None
                matrix.update()
        self._newest.forget()
        numbers, known = pictures_of(run, row, column), run.model.known
        self.cell.setText(f"{run.name}: {self.matrices[run_number].sentence(row, column)}")
        self.list.clear()
        for number in numbers:
            item = QListWidgetItem(
                f"{look(known.labels[number]).letter} {level_text(known.levels[number])}"
            )
            item.setToolTip(
                f"Picture {number}: {look(known.labels[number]).title}, MSE {known.levels[number]:.1f}, "
                f"taken for {look(run.evaluation.verdicts[number]).title}. Click to see its blocks."
            )
            item.setData(_NUMBER, number)
            item.setData(_RUN, run_number)
            self.list.addItem(item)
        self.pictures_chosen.emit(numbers)
        dataset = self.session.dataset
        if dataset is not None and self.session.holds(run) and numbers:
            self._newest.ask(
                lambda: {n: scaled_thumbnail(dataset.pictures[n], 2 * _THUMBNAIL) for n in numbers},
                self._on_thumbnails,
            )

    def open_picture(self, run_number: int, number: int) -> None:
        """Recognise a training picture without itself and show its blocks in the vote map."""
        run, dataset = self.session.run_of(run_number), self.session.dataset
        if run is None or run.evaluation is None or run.model.known is None:
            return
        if dataset is None or not self.session.holds(run) or number >= len(dataset.entries):
            self.session.say("warning", f"The training pictures of {run.name} are not loaded.")
            return
        label, level = run.model.known.labels[number], run.model.known.levels[number]
        picture = dataset.pictures[number]
        if self._open_left_out(run_number, number, picture):
            return

        def done(found: Any) -> None:
            now = self.session.run_of(run_number) if shiboken6.isValid(self) else None
            if now is None or now.model is not run.model:
                return  # the work is another
            if self._open_left_out(run_number, number, picture):
                return  # it was asked for twice
            place, name = self.session.next_tested_number(), left_out_name(now, number)
            truth = f"{label} at MSE {level_text(level)}"
            made = TestedPicture(place, name, picture, found, run_number, truth, left_out=number)
            self.session.add_tested(made)
            self._open(place)

        self._opening.ask(lambda: _recognise_left_out(run, number), done)

    def _open_left_out(self, run: int, number: int, picture: Picture) -> bool:
        """Show a training picture that was left out before, if there is such a one."""
        # A picture of another dataset keeps its number there, also when this run has recognised it.
        found = [
            each
            for each in self.session.tested
            if (each.run, each.left_out) == (run, number) and np.array_equal(each.picture, picture)
        ]
        if found:
            self._open(found[0].number)
        return bool(found)

    def _open(self, number: int) -> None:
        self.session.select_tested(number)
        if self.session.run is None or self.session.test is None:
            return
        if self.session.run.number != self.session.test.run:
            self.session.select_run(self.session.test.run)
        self.picture_opened.emit(number)

    def _on_thumbnails(self, images: dict[int, QImage]) -> None:
        for place in range(self.list.count()):
            item = self.list.item(place)
            image = images.get(item.data(_NUMBER))
            if image is not None:
                item.setIcon(QIcon(QPixmap.fromImage(image)))

    def _on_item(self, item: QListWidgetItem) -> None:
        self.open_picture(item.data(_RUN), item.data(_NUMBER))

    def _on_evaluate(self) -> None:
        if self.session.run is not None:
            self._actions.evaluate(self.session.run.number)

    def _on_jobs_changed_too(self) -> None:
        if self.isVisible() and self.session.run is not None:
            busy = self.jobs.running(f"evaluation {self.session.run.number}")
            self.evaluate.setEnabled(not busy)
            self.evaluate.setToolTip(
                "It is being evaluated."
                if busy
                else "Recognise every training picture as if it were not known"
            )

    def _others(self) -> bool:
        return self.every.isChecked() and any(
            run.evaluation is not None for run in self.session.runs
        )

    def _random(self) -> Run | None:
        found = [
            run for run in self.session.runs if run.settings.method == "random" and run.evaluation
        ]
        return found[-1] if found else None


class _Cell:
    """Tells which run's cell was chosen."""

    def __init__(self, viewer: ConfusionViewer, number: int) -> None:
        self._viewer, self._number = viewer, number

    def __call__(self, row: int, column: int) -> None:
        self._viewer.show_cell(self._number, row, column)


def _title(session: Session, run: Run) -> str:
    assert run.evaluation is not None
    change = run_data.change(session, run)
    name = f"{run.name}, {change}" if change else run.name
    right, blocks = run.evaluation.accuracy, run.evaluation.block_accuracy
    return f"{name}: {percent(right)} right, {percent(blocks)} of blocks"


def _explanation(session: Session, run: Run) -> str:
    assert run.evaluation is not None
    right, blocks = run.evaluation.accuracy, run.evaluation.block_accuracy
    return (
        f"{percent(right)} of the {len(run.evaluation.verdicts) - 1} distorted pictures are recognised when "
        f"they are left out; {percent(blocks)} of their blocks vote for the truth. "
        f"{run_data.sentence(session, run)}"
    ).strip()


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(ConfusionViewer))
