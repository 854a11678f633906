"""The compare page: drop an original and its copies, and read what was done to each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QImage, QKeySequence
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from isca_gui.core.comparison import summary
from isca_gui.core.comparison.profile import Profile, ProfileError, from_text, to_text
from isca_gui.core.pictures import samples
from isca_gui.jobs.actions import PICTURE_FILTER
from isca_gui.jobs.comparing import TRIALS
from isca_gui.jobs.names import JobName
from isca_gui.viewers.compare.answer import AnswerPage
from isca_gui.viewers.compare.copies_table import CopiesTable
from isca_gui.viewers.compare.drawing import draw
from isca_gui.viewers.compare.findings import tried_lines
from isca_gui.viewers.compare.limits import LimitsDialog
from isca_gui.viewers.compare.targets import Target, local_files
from isca_gui.viewers.export import Exportable, tab_separated
from isca_gui.viewers.view_settings import ViewSetting, one_of, slider
from isca_gui.viewers.viewer import LatestOnly, Viewer
from isca_gui.widgets.flow_layout import Flow
from isca_gui.widgets.quiet_widgets import escape_ampersands
from isca_gui.widgets.step_frame import JobBar, button, describe, enable, faint_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from PySide6.QtCore import QMimeData
    from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeyEvent

    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.evidence import Attempt, Evidence
    from isca_gui.core.comparison.profile import Range
    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Session
    from isca_gui.viewers.compare.drawing import Drawn

_DROP_ORIGINAL = "Drop the picture before anything was done to it, or open it."
_DROP_COPIES = "Drop copies of it, or a folder of them. They are compared at once."
_NOTHING = (
    "Drop an original and its copies anywhere on this page. Two pictures at once are told apart."
)
_WAITING = "Comparing…"
_STOPPED = "Not compared: the work was stopped. Choose Compare again."
_NO_ANSWER = "Compare a copy first."
_REPORT = "Save a report on the chosen copies, or on all of them, as HTML or PDF."
_REPORTS = "Web page (*.html);;PDF (*.pdf)"
_COPY = "Copy the answer as text."
_LIMITS = "Set what a copy must keep to pass; click a number on the right to take it as a limit."
_TRAIN = (
    "A second opinion: train ISCA on this original. This leads to the four steps, with the "
    "original as their reference."
)
_SWAP = "The other one is the original: swap the two."
_REMOVE = "Remove the chosen copies from the list (Del). Undo brings them back."
_AGAIN = "Read and compare the chosen copies again."


class CompareViewer(Viewer):
    """Two targets above, the answer below; a table of all copies where there are several."""

    TITLE = "Compare"
    # Somebody wants to train on the original.
    train_requested = Signal()

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, jobs, actions, parent)
        self._state = session.comparisons
        self._comparing = actions.comparing
        self._recent: Callable[[], Sequence[str]] = list
        self._drawing = LatestOnly(jobs, "compare", "Drawing", self)
        self._proving = LatestOnly(jobs, "proof", "Proving", self)
        # The result whose pictures are shown.
        self._shown: CopyResult | None = None
        self.setAcceptDrops(True)
        self._build()
        for signal in (
            self._state.original_changed,
            self._state.copies_changed,
            self._state.selected_changed,
            self._state.profile_changed,
            self._state.guessed,
            session.reference_changed,
        ):
            signal.connect(self.mark_dirty)
        self._comparing.detailed.connect(self.mark_dirty)
        jobs.changed.connect(self._on_jobs_changed_here)
        self.view_settings.register(
            mode=one_of(self.answer.modes),
            opacity=slider(self.answer.opacity),
            limits=ViewSetting(self._limits_text, self._restore_limits),
            original=ViewSetting(self._original_path, self._restore_original),
            copies=ViewSetting(self._copy_paths, self._restore_copies),
        )

    def offer_recent(self, recent: Callable[[], Sequence[str]]) -> None:
        """Offer recent files, which `recent` returns."""
        self._recent = recent

    def missing_step(self) -> None:
        """Return None: the targets are always of use."""
        return

    # --- building ---------------------------------------------------------------------------------

    def _build(self) -> None:
        self._make_original_target()
        self._make_copies_target()
        targets = QHBoxLayout()
        targets.setSpacing(8)
        targets.addWidget(self.original, 1)
        targets.addWidget(self.copies, 1)
        self.guess = QLabel(self)
        self.guess.setWordWrap(True)
        self.guess.setTextFormat(Qt.TextFormat.PlainText)
        self.swap_button = button("&Swap", _SWAP, self._comparing.swap)
        self.guess_row = QWidget(self)
        guessed = QHBoxLayout(self.guess_row)
        guessed.setContentsMargins(0, 0, 0, 0)
        guessed.addWidget(self.guess, 1)
        guessed.addWidget(self.swap_button)
        self.progress = JobBar(self.jobs, JobName.COMPARISON, "Progress of the comparison")
        self.hint = faint_label(_NOTHING)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.answer = AnswerPage(self.exporter, self)
        self.answer.findings.limit_requested.connect(self._on_limit_requested)
        self.answer.findings.forbidden.connect(self._on_forbidden)
        self.many = self._make_many()
        self.splitter = _ModestSplitter(Qt.Orientation.Vertical, self)
        self.splitter.addWidget(self.many)
        self.splitter.addWidget(self.answer)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setStretchFactor(0, 0)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([190, 1000])
        layout = QVBoxLayout(self.content)
        layout.setContentsMargins(8, 8, 8, 6)
        layout.setSpacing(6)
        layout.addLayout(targets)
        self._column = layout
        layout.addWidget(self.guess_row)
        layout.addWidget(self.progress)
        layout.addWidget(self.hint, 1)
        layout.addWidget(self.splitter, 1)
        layout.addLayout(self._bottom())

    def _make_original_target(self) -> None:
        self.original = Target("Original", _DROP_ORIGINAL, self)
        self.open_original_button = self.original.add_button(
            "Open…", "Choose the file of the original.", self.choose_original
        )
        samples_button = self.original.add_menu("Sample", "Take a sample picture as the original.")
        for sample in samples.TABLE:
            action = samples_button.menu().addAction(f"{sample.name}:  {sample.title}")
            action.setData(f"{samples.PREFIX}{sample.name}")
        samples_button.menu().triggered.connect(
            lambda action: self._comparing.open_original(action.data())
        )
        recent = self.original.add_menu("Recent", "Take a recent picture as the original.")
        recent.menu().aboutToShow.connect(
            lambda: self._fill_recent(recent.menu(), self._comparing.open_original)
        )
        self.original.add_button(
            "Paste", "Paste the original from the clipboard.", lambda: self.paste(as_original=True)
        )
        self.reference_button = self.original.add_button(
            "Use the reference", "Take the reference of step 1.", self._use_reference
        )
        self.original.files_dropped.connect(self._on_original_dropped)
        self.original.image_dropped.connect(
            lambda image: self._comparing.use_image("Dropped picture", image, as_original=True)
        )

    def _make_copies_target(self) -> None:
        self.copies = Target("Copies", _DROP_COPIES, self)
        self.open_copies_button = self.copies.add_button(
            "Open copies…", "Choose the files of copies.", self.choose_copies
        )
        self.copies.add_button("Folder…", "Compare all pictures in a folder.", self.choose_folder)
        recent = self.copies.add_menu("Recent copies", "Take a recent picture as a copy.")
        recent.menu().aboutToShow.connect(
            lambda: self._fill_recent(
                recent.menu(), lambda path: self._comparing.open_copies([path])
            )
        )
        self.copies.add_button(
            "Paste copy", "Paste a copy from the clipboard.", lambda: self.paste(as_original=False)
        )
        self.try_button = self.copies.add_menu(
            "Try one", "Make a damaged copy of the original, to see how this page answers."
        )
        for trial in TRIALS:
            action = self.try_button.menu().addAction(trial.title)
            action.triggered.connect(lambda _=False, trial=trial: self._comparing.add_trial(trial))
        self.copies.files_dropped.connect(self._comparing.open_copies)
        self.copies.image_dropped.connect(
            lambda image: self._comparing.use_image("Dropped picture", image, as_original=False)
        )

    def _make_many(self) -> QWidget:
        box = QWidget(self)
        self.groups = QLabel(box)
        self.groups.setWordWrap(True)
        self.groups.setTextFormat(Qt.TextFormat.PlainText)
        self.groups.setAccessibleName("Copies by cause")
        self.groups.setToolTip("How many copies share a cause.")
        self.filter_line = QLineEdit(box)
        self.filter_line.setPlaceholderText("Filter")
        self.filter_line.setClearButtonEnabled(True)
        self.filter_line.setMaximumWidth(180)
        describe(self.filter_line, "Filter copies", "Show only copies with these words.")
        self.table = CopiesTable(self._state, box)
        self.table.chosen.connect(self._state.select)
        self.table.remove_requested.connect(self._remove)
        self.table.customContextMenuRequested.connect(self._on_table_menu)
        self.filter_line.textChanged.connect(self.table.filter.set_words)
        self.remove_button = button("Re&move", _REMOVE, self._remove)
        self.again_button = button("Compare a&gain", _AGAIN, self._again)
        table = Exportable("copies", "table", table=self.rows)
        top = QHBoxLayout()
        top.addWidget(self.groups, 1)
        top.addWidget(self.filter_line)
        top.addWidget(self.remove_button)
        top.addWidget(self.again_button)
        top.addWidget(self.exporter.button(table, text="Table"))
        layout = QVBoxLayout(box)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addWidget(self.table, 1)
        return box

    def _bottom(self) -> Flow:
        self.blocks = faint_label()
        self.blocks.setWordWrap(False)
        self.train_button = button("Train ISCA on this original", _TRAIN, self._on_train)
        self.swap_line = button("Use as the original", _SWAP, self._comparing.swap)
        self.limits_button = button("&Limits…", _LIMITS, self.edit_limits)
        self.copy_button = button("&Copy", _COPY, self._copy_answer)
        self.report_button = button("Save &report…", _REPORT, self.ask_report)
        row = Flow(self.blocks, self.train_button, self.swap_line)
        row.push()
        for each in (self.limits_button, self.copy_button, self.report_button):
            row.addWidget(each)
        return row

    # --- opening ----------------------------------------------------------------------------------

    def choose_original(self) -> None:
        """Ask for the file of the original."""
        path, _ = QFileDialog.getOpenFileName(
            self, "Open the original", self._folder(), PICTURE_FILTER
        )
        if path:
            self._comparing.open_original(path)

    def choose_copies(self) -> None:
        """Ask for the files of copies."""
        paths, _ = QFileDialog.getOpenFileNames(self, "Open copies", self._folder(), PICTURE_FILTER)
        if paths:
            self._comparing.open_copies(paths)

    def choose_folder(self) -> None:
        """Ask for a folder of copies."""
        path = QFileDialog.getExistingDirectory(self, "Open a folder of copies", self._folder())
        if path:
            self._comparing.open_copies([path])

    def paste(self, *, as_original: bool | None = None) -> None:
        """Take what is on the clipboard: by default as a copy, if there is an original."""
        if as_original is None:
            as_original = self._state.original is None
        data: QMimeData | None = QGuiApplication.clipboard().mimeData()
        if data is not None and data.hasUrls():
            paths = local_files(data)
            if as_original and len(paths) == 1:
                self._comparing.open_original(paths[0])
            else:
                self.take(paths)
        elif data is not None and data.hasImage():
            image = QGuiApplication.clipboard().image()
            self._comparing.use_image("Pasted picture", image, as_original=as_original)
        else:
            self.session.say("warning", "There is no picture on the clipboard.")

    def take(self, paths: Sequence[str]) -> None:
        """Take files wherever they belong: the first picture is the original, others are copies."""
        if not paths:
            return
        if self._state.original is not None:
            self._comparing.open_copies(paths)
        elif len(paths) == 1 and not Path(paths[0]).is_dir():
            self._comparing.open_original(paths[0])
        elif len(paths) == 2 and not any(Path(path).is_dir() for path in paths):
            self._comparing.open_pair(*paths)
        else:
            self._comparing.open_copies(paths)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept files."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Take what is dropped beside the targets; two pictures replace what is there."""
        event.acceptProposedAction()
        self.take(local_files(event.mimeData()))

    def _on_original_dropped(self, paths: list[str]) -> None:
        if len(paths) == 1:
            self._comparing.open_original(paths[0])
        elif len(paths) == 2:
            self._comparing.open_pair(*paths)
        elif paths:
            self._comparing.open_original(paths[0])
            self._comparing.open_copies(paths[1:])

    def _use_reference(self) -> None:
        reference = self.session.reference
        if reference is None:
            return
        if reference.path:
            self._comparing.open_original(reference.path)
        else:
            self._comparing.use_original(reference.name, reference.picture)

    def _fill_recent(self, menu: QMenu, chosen: Callable[[str], object]) -> None:
        menu.clear()
        for path in self._recent():
            action = menu.addAction(escape_ampersands(path))
            action.triggered.connect(lambda _=False, path=path: chosen(path))
        if not menu.actions():
            menu.addAction("No recent pictures").setEnabled(False)

    def _folder(self) -> str:
        original = self._state.original
        if original is None or not original.path or original.path.startswith(samples.PREFIX):
            return ""
        return str(Path(original.path).parent)

    # --- drawing ----------------------------------------------------------------------------------

    def redraw(self) -> None:
        """Show the targets, the table and the answer."""
        self._show_targets()
        copies = self._state.copies
        ready = self._state.original is not None and bool(copies)
        self.splitter.setVisible(ready)
        for target in (self.original, self.copies):
            target.set_large(not ready)
        # The targets have the room as long as there is nothing else to see.
        self._column.setStretch(0, 0 if ready else 3)
        self.hint.setVisible(not ready)
        self.many.setVisible(len(copies) > 1)
        self.guess.setText(self._state.guess)
        self.guess_row.setVisible(bool(self._state.guess))
        if len(copies) > 1:
            self.table.refresh()
            done = [copy for copy in copies if not copy.waiting]
            found = [copy.result.comparison if copy.result else None for copy in done]
            self.groups.setText(f"{len(copies)} copies: {summary.in_one_line(found)}")
        if ready:
            self._show_selected()
        self._enable_buttons()

    def _show_targets(self) -> None:
        original = self._state.original
        if original is None:
            self.original.show_picture("", _DROP_ORIGINAL, QImage())
        else:
            self.original.show_picture(original.name, original.words, original.thumbnail)
        copies = self._state.copies
        if not copies:
            self.copies.show_picture("", _DROP_COPIES, QImage())
        else:
            selected = self._state.selected or copies[-1]
            words = f"{len(copies)} copies" if len(copies) > 1 else "1 copy"
            self.copies.show_picture(selected.name, words, selected.thumbnail)
        reference = self.session.reference
        offered = reference is not None and original is None
        self.reference_button.setVisible(offered)
        if reference is not None:
            self.reference_button.setText(f"Use {escape_ampersands(reference.name)}")

    def _show_selected(self) -> None:
        copy = self._state.selected
        if copy is None:
            self.answer.show_problem("Choose a copy in the table.")
            return
        if copy.waiting:
            under_way = self.jobs.running(JobName.COMPARISON)
            self.answer.show_problem(_WAITING if under_way else _STOPPED)
            return
        result = self._comparing.result_of(copy.number) if copy.result is not None else None
        self.answer.show_answer(copy, result or copy.result, self._state.broken(copy))
        if result is not None and result is not self._shown:
            self._shown = result
            number = copy.number
            self._drawing.submit(lambda: draw(number, result), self._on_drawn)
            self._proving.submit(lambda: (number, *_prove(result)), self._on_proved)

    def _on_drawn(self, drawn: Drawn) -> None:
        copy = self._state.selected
        original = self._state.original
        if copy is not None and original is not None and copy.number == drawn.number:
            self.answer.show_drawn(drawn, (copy.name, original.name))

    def _on_proved(self, proved: tuple[int, Sequence[Evidence], Sequence[Attempt]]) -> None:
        number, evidence, tried = proved
        copy = self._state.selected
        if copy is None or copy.number != number:
            return
        self.answer.findings.show_evidence(evidence)
        if tried:
            self.answer.findings.show_tried("What was tried", tried_lines(tried))

    def _enable_buttons(self) -> None:
        copy = self._state.selected
        answered = copy is not None and copy.result is not None
        why_not = "" if answered else _NO_ANSWER
        enable(self.copy_button, _COPY, why_not)
        enable(self.report_button, _REPORT, why_not)
        enable(self.swap_line, _SWAP, "" if copy is not None else _NO_ANSWER)
        no_original = "" if self._state.original is not None else "Open an original first."
        enable(self.train_button, _TRAIN, no_original)
        enable(self.try_button, self.try_button.accessibleDescription(), no_original)
        if answered and copy is not None and copy.result and copy.result.comparison is not None:
            count = copy.result.comparison.class_map.size
            self.blocks.setText(f"{count:,} blocks compared.")
        else:
            self.blocks.setText("")

    def _on_jobs_changed_here(self) -> None:
        copy = self._state.selected
        if copy is not None and copy.waiting and self.in_sight:
            self.mark_dirty()

    def restyle(self) -> None:
        """Draw in the colours of the theme."""
        self.answer.restyle()
        self.table.viewport().update()

    # --- what the buttons do ----------------------------------------------------------------------

    def rows(self) -> list[tuple[object, ...]]:
        """Return the chosen copies, or all that are shown, as a table."""
        chosen = self.table.numbers()
        return self.table.cells(chosen if len(chosen) > 1 else self.table.all_numbers())

    def _chosen(self) -> list[int]:
        """Return the chosen copies; without a table, the one that is shown."""
        if len(self._state.copies) > 1:
            return self.table.numbers()
        return [copy.number for copy in self._state.copies]

    def _remove(self) -> None:
        self._state.remove(self._chosen())

    def _again(self) -> None:
        self._comparing.compare_again(self._chosen())

    def _on_table_menu(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        count = len(self.table.numbers())
        menu.addAction("Copy answer", self._copy_answer).setEnabled(count == 1)
        menu.addAction("Copy rows", self._copy_rows)
        menu.addAction("Use as the original", self._comparing.swap).setEnabled(count == 1)
        menu.addAction("Compare again", self._again)
        menu.addAction("Save report…", self.ask_report)
        menu.addSeparator()
        remove = menu.addAction("Remove", self._remove)
        remove.setShortcut(QKeySequence("Del"))
        menu.popup(self.table.viewport().mapToGlobal(place))

    def _copy_rows(self) -> None:
        QGuiApplication.clipboard().setText(tab_separated(self.table.cells(self.table.numbers())))
        self.session.say("info", "Copied the rows to the clipboard.")

    def _copy_answer(self) -> None:
        copy = self._state.selected
        if copy is not None and copy.result is not None and copy.result.comparison is not None:
            text = f"{copy.name}: {copy.result.comparison.sentence}"
            QGuiApplication.clipboard().setText(text)
            self.session.say("info", "Copied the answer to the clipboard.")

    def ask_report(self) -> None:
        """Ask for a file and save the report on the chosen copies, or on all of them."""
        chosen = self.table.numbers() if len(self._state.copies) > 1 else []
        numbers = chosen if len(chosen) > 1 else [copy.number for copy in self._state.copies]
        path, wanted = QFileDialog.getSaveFileName(self, "Save report", "report.html", _REPORTS)
        if not path:
            return
        if not path.lower().endswith((".html", ".pdf")):
            path += ".pdf" if "pdf" in wanted else ".html"
        self._comparing.save_report(path, numbers)

    def edit_limits(self) -> None:
        """Open the list of limits."""
        LimitsDialog(self.session, self).open()

    def _on_limit_requested(self, name: str, allowed: Range) -> None:
        found = self._state.profile or Profile()
        self._state.set_profile(found.limiting(name, allowed))

    def _on_forbidden(self, kind: str) -> None:
        self._state.set_profile((self._state.profile or Profile()).forbidding(kind))

    def _on_train(self) -> None:
        self.train_requested.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Pass the keys of the pictures on from the table."""
        if self.table.hasFocus() and event.key() == Qt.Key.Key_B:
            self.answer.keyPressEvent(event)
        else:
            super().keyPressEvent(event)

    # --- what a project keeps ---------------------------------------------------------------------

    def _limits_text(self) -> str:
        found = self._state.profile
        return to_text(found) if found is not None else ""

    def _restore_limits(self, value: Any) -> None:
        if not isinstance(value, str):
            return
        try:
            self._state.restore_profile(from_text(value) if value else None)
        except ProfileError as error:
            self.session.say("warning", f"The limits of the project cannot be used: {error}.")

    def _original_path(self) -> str:
        original = self._state.original
        return original.path or "" if original is not None else ""

    def _restore_original(self, value: Any) -> None:
        if isinstance(value, str) and value:
            self._comparing.open_original(value)

    def _copy_paths(self) -> list[str]:
        return [copy.path for copy in self._state.copies if copy.path]

    def _restore_copies(self, value: Any) -> None:
        if isinstance(value, list) and value and all(isinstance(path, str) for path in value):
            self._comparing.open_copies(_without_duplicates(value))


class _ModestSplitter(QSplitter):
    """A splitter that asks for no more room than it must have, and takes what there is."""

    def sizeHint(self) -> QSize:
        """Return the smallest size: a page that scrolls would be given the preferred one."""
        return self.minimumSizeHint()


def _prove(result: CopyResult) -> tuple[Sequence[Evidence], Sequence[Attempt]]:
    """Return what proves an answer; where nothing is recognised, what was tried."""
    from isca_gui.core.comparison.evidence import find_evidence, tried_kinds

    found = result.comparison
    assert found is not None
    assert result.copy is not None
    assert result.reference is not None
    evidence = find_evidence(result.reference, result.copy, found)
    tried = tried_kinds(result.reference, result.copy, found) if found.unlike else ()
    return evidence, tried


def _without_duplicates(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))


if __name__ == "__main__":
    import sys

    from isca_gui.viewers._alone import alone

    sys.exit(alone(CompareViewer))
