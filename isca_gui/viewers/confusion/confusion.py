"""How often each kind is recognised, leave-one-out; a click on a cell lists its pictures."""

from __future__ import annotations

from functools import partial
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
from isca_gui.core.recognition.vote_overlays import style_of
from isca_gui.jobs.names import JobName
from isca_gui.jobs.recognition_queue import as_left_out
from isca_gui.session.records import TestedPicture
from isca_gui.viewers import view_settings
from isca_gui.viewers.canvas.layers import scaled_thumbnail
from isca_gui.viewers.confusion.matrix import ConfusionMatrix
from isca_gui.viewers.export import Exportable
from isca_gui.viewers.runs.run_tables import percent
from isca_gui.viewers.viewer import (
    ChoiceButton,
    LatestOnly,
    NextStep,
    Viewer,
    stale_reason,
    stale_sentence,
    step_to_run,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from PySide6.QtGui import QImage

    from isca_gui.core.recognition.evaluation import LeaveOneOut
    from isca_gui.core.recognition.recogniser import Recognition
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import Run
    from isca_gui.session.session import Session

    Picture = NDArray[np.float32]

# Side of a thumbnail in pixels.
_THUMBNAIL = 48
# What an item of the list holds: the number of the picture and of the run.
_NUMBER = Qt.ItemDataRole.UserRole
_RUN = Qt.ItemDataRole.UserRole + 1
_CLICK_CELL = "Click a cell to list its pictures."
_EVALUATE_TIP = "Recognise every training picture as if the model had not seen it"


def _recognise_left_out(run: Run, number: int) -> Recognition:
    from isca_gui.core.recognition.recogniser import Recogniser

    return Recogniser(run.model).leave_one_out(number)


def pictures_of(run: Run, row: int, column: int) -> list[int]:
    """Return the numbers of the training pictures that are counted in a cell."""
    evaluation = run.evaluation
    known = run.model.known
    if evaluation is None or known is None:
        return []
    actual = evaluation.classes[row]
    predicted = "undecided"
    if column < len(evaluation.classes):
        predicted = evaluation.classes[column]
    pairs = zip(known.labels, evaluation.verdicts, strict=True)
    return [number for number, pair in enumerate(pairs) if pair == (actual, predicted)]


class ConfusionViewer(Viewer):
    """The confusion matrices of the evaluated runs."""

    TITLE = "Confusion"
    pictures_chosen = Signal(list)  # numbers of the training pictures in the clicked cell
    picture_opened = Signal(int)  # number of the test picture to show in the vote map

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self.matrices: dict[int, ConfusionMatrix] = {}
        self._titles: dict[int, QLabel] = {}
        # Number, name and evaluation of the runs whose matrices are laid out.
        self._arranged: list[tuple[int, str, LeaveOneOut | None]] = []
        self._latest = LatestOnly(jobs, "cell", "Making thumbnails", self)
        self._opening = LatestOnly(jobs, "left out", "Recognising a training picture", self)
        self._build()
        self.view_settings.register(
            every=view_settings.checked(self.every),
            baseline=view_settings.checked(self.baseline),
        )
        session.run_selected.connect(self.mark_dirty)
        session.runs_changed.connect(self.mark_dirty)
        session.dataset_changed.connect(self.mark_dirty)
        session.reference_changed.connect(self.mark_dirty)
        session.spec_changed.connect(self.mark_dirty)
        jobs.changed_of(JobName.EVALUATION).connect(self._update_evaluate)

    def missing_step(self) -> NextStep | None:
        """Return the step to a trained model, or to its evaluation."""
        run = self.session.run
        if run is None:
            return step_to_run(self.session, self._actions)
        if run.evaluation is not None or (self.every.isChecked() and self._evaluated()):
            return None
        number = run.number
        return NextStep(
            text="Next: find out how often training pictures are recognised when left out.",
            button=f"Evaluate {run.name}",
            action=lambda: self._actions.evaluate(number),
            job=JobName.EVALUATION.of(number),
        )

    def restore_view(self, values: Mapping[str, Any]) -> None:
        """Restore the view settings at once: they decide whether there is something to see."""
        self.view_settings.request(values)
        self.view_settings.apply_request()
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
        if self._random() is not None:
            self.baseline.setEnabled(True)
            self.baseline.setToolTip("Also show the random subspace, which any method must beat")
        else:
            self.baseline.setEnabled(False)
            self.baseline.setToolTip("Train and evaluate the method 'Random subspace' first.")
        selected = self.session.run
        missing = selected is not None and selected.evaluation is None
        self.evaluate.setVisible(missing)
        self._update_evaluate()
        if selected is not None and missing:
            self.note.setText(f"{selected.name} has not been evaluated yet.")
        else:
            self.note.setText("")

    def shown_runs(self) -> list[Run]:
        """Return the runs whose matrices are shown."""
        evaluated = self._evaluated()
        if self.every.isChecked():
            return evaluated
        selected = self.session.run
        shown = [run for run in evaluated if selected and run.number == selected.number]
        random = self._random()
        if self.baseline.isChecked() and random is not None and random not in shown:
            shown.append(random)
        return shown

    # --- building ---------------------------------------------------------------------------------

    def _build(self) -> None:
        self._row_box = QWidget(self)
        self._row = QHBoxLayout(self._row_box)
        self._row.setContentsMargins(0, 0, 0, 0)
        area = QScrollArea(self)
        area.setWidget(self._row_box)
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setAccessibleName("Confusion matrices")
        area.setToolTip("Confusion matrices")
        self.cell = QLabel(_CLICK_CELL, self)
        self.cell.setTextFormat(Qt.TextFormat.PlainText)
        self._make_list()
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
        layout.addLayout(self._controls())
        layout.addWidget(splitter, 1)

    def _controls(self) -> QHBoxLayout:
        self.every = ChoiceButton(
            "All runs", "the matrices of all evaluated runs side by side", self
        )
        self.baseline = ChoiceButton(
            "Random baseline", "also the random subspace, which any method must beat", self
        )
        for button in (self.every, self.baseline):
            button.toggled.connect(self.mark_dirty)
        self.note = QLabel(self)
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.evaluate = QPushButton("Evaluate", self)
        self.evaluate.setAccessibleName("Evaluate the selected run")
        self.evaluate.setToolTip(_EVALUATE_TIP)
        self.evaluate.clicked.connect(self._on_evaluate)
        row = QHBoxLayout()
        for widget in (self.every, self.baseline, self.note, self.evaluate):
            row.addWidget(widget)
        row.addStretch()
        row.addWidget(self.exporter.button(*self.exportables()))
        return row

    def _make_list(self) -> None:
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

    def exportables(self) -> tuple[Exportable, ...]:
        """Return what can be saved and copied."""
        matrix = Exportable(
            "confusion", "matrix", image=self._image, svg=self._svg, which=self._chosen_name
        )
        return matrix, Exportable("confusion", "table", table=self.rows)

    def _chosen(self) -> ConfusionMatrix | None:
        """Return the matrix of the selected run, or the first one if it has none."""
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
        """Return all matrices that are shown as one table."""
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
        self.matrices = {}
        self._titles = {}
        for run in runs:
            box = QWidget(self._row_box)
            column = QVBoxLayout(box)
            column.setContentsMargins(0, 0, 0, 0)
            title = QLabel(box)
            title.setTextFormat(Qt.TextFormat.PlainText)
            matrix = ConfusionMatrix(run.name, box)
            matrix.cell_chosen.connect(partial(self.show_cell, run.number))
            column.addWidget(title)
            column.addWidget(matrix, 1)
            self._row.addWidget(box)
            self.matrices[run.number] = matrix
            self._titles[run.number] = title
        self._latest.discard()
        self.list.clear()
        self.cell.setText(_CLICK_CELL)

    # --- what happens -----------------------------------------------------------------------------

    def show_cell(self, run_number: int, row: int, column: int) -> None:
        """List the pictures of a cell."""
        run = self.session.run_of(run_number)
        if run is None or run.evaluation is None or run.model.known is None:
            return
        for number, matrix in self.matrices.items():
            if number != run_number and matrix.chosen is not None:
                matrix.chosen = None
                matrix.update()
        self._latest.discard()
        numbers = pictures_of(run, row, column)
        known = run.model.known
        self.cell.setText(f"{run.name}: {self.matrices[run_number].sentence(row, column)}")
        self.list.clear()
        for number in numbers:
            actual = style_of(known.labels[number])
            predicted = style_of(run.evaluation.verdicts[number]).title
            level = known.levels[number]
            item = QListWidgetItem(f"{actual.letter} {level_text(level)}")
            item.setToolTip(
                f"Picture {number}: {actual.title}, MSE {level:.1f}, recognised as {predicted}. "
                "Click to see its blocks."
            )
            item.setData(_NUMBER, number)
            item.setData(_RUN, run_number)
            self.list.addItem(item)
        self.pictures_chosen.emit(numbers)
        dataset = self.session.dataset
        if dataset is not None and self.session.holds(run) and numbers:
            self._latest.submit(
                lambda: {n: scaled_thumbnail(dataset.pictures[n], 2 * _THUMBNAIL) for n in numbers},
                self._on_thumbnails,
            )

    def open_picture(self, run_number: int, number: int) -> None:
        """Recognise a training picture by all others and show its blocks in the vote map."""
        run = self.session.run_of(run_number)
        dataset = self.session.dataset
        if run is None or run.evaluation is None or run.model.known is None:
            return
        if dataset is None or not self.session.holds(run) or number >= len(dataset.entries):
            self.session.say("warning", f"The training pictures of {run.name} are not loaded.")
            return
        picture = dataset.pictures[number]
        if self._open_left_out(run_number, number, picture):
            return

        def on_recognised(recognition: Recognition) -> None:
            # The viewer may be gone, or another project may have a run of the same number.
            if not shiboken6.isValid(self):
                return
            now = self.session.run_of(run_number)
            if now is None or now.model is not run.model:
                return
            # A double click asks twice.
            if self._open_left_out(run_number, number, picture):
                return
            place = self.session.next_tested_number()
            plain = TestedPicture(place, "", picture, None, run_number)
            self.session.add_tested(as_left_out(plain, recognition, now, number))
            self._open(place)

        self._opening.submit(lambda: _recognise_left_out(run, number), on_recognised)

    def _open_left_out(self, run: int, number: int, picture: Picture) -> bool:
        """Show a training picture that was left out before; return whether there is one."""
        for test in self.session.tested:
            # The pixels count as well: a picture of another dataset keeps the number it has there,
            # even after this run has recognised it.
            same_number = (test.run, test.left_out) == (run, number)
            if same_number and np.array_equal(test.picture, picture):
                self._open(test.number)
                return True
        return False

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

    def _update_evaluate(self) -> None:
        if self.session.run is not None:
            busy = self.jobs.running(JobName.EVALUATION.of(self.session.run.number))
            self.evaluate.setEnabled(not busy)
            self.evaluate.setToolTip("The evaluation is running." if busy else _EVALUATE_TIP)

    def _evaluated(self) -> list[Run]:
        return [run for run in self.session.runs if run.evaluation is not None]

    def _random(self) -> Run | None:
        """Return the newest evaluated run of the random subspace."""
        newest_first = reversed(self._evaluated())
        return next((run for run in newest_first if run.settings.method == "random"), None)


def _title(session: Session, run: Run) -> str:
    assert run.evaluation is not None
    reason = stale_reason(session, run)
    name = f"{run.name}, {reason}" if reason else run.name
    pictures = percent(run.evaluation.accuracy)
    blocks = percent(run.evaluation.block_accuracy)
    return f"{name}: {pictures} of pictures and {blocks} of blocks correct"


def _explanation(session: Session, run: Run) -> str:
    assert run.evaluation is not None
    pictures = percent(run.evaluation.accuracy)
    blocks = percent(run.evaluation.block_accuracy)
    text = (
        f"{pictures} of the {len(run.evaluation.verdicts) - 1} distorted pictures are recognised "
        f"when they are left out, and {blocks} of their blocks vote for the actual kind. "
        f"{stale_sentence(session, run)}"
    )
    return text.strip()


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(ConfusionViewer))
