"""What the Results menu does: run the paper's experiments, save and copy results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from isca_gui.jobs.names import JobName
from isca_gui.viewers.cli_lines import classify_command
from isca_gui.viewers.export import safe_name
from isca_gui.viewers.votes.drawing import GUESS_FIRST

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Session
    from isca_gui.viewers.votes.vote_map import VoteMapViewer

_NO_TEST = "No picture has been recognised yet. Open one in step 4."
_NO_RUN = "The run that recognised this picture was deleted. Recognise the picture again first."
_TRAINING_PICTURE = (
    "No command: this is a training picture, so isca classify would match it to itself. "
    "'isca evaluate MODEL' leaves out each training picture in turn."
)
_NO_MAP = "The map of this picture is not ready yet. Wait a moment, or recognise the picture again."


class Results(QObject):
    """Saves, copies and reproduces results of the session."""

    def __init__(
        self,
        session: Session,
        jobs: JobRunner,
        votes: VoteMapViewer,
        show: Callable[[str], None],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._jobs = jobs
        self._widget = parent
        self._votes = votes
        self._show = show

    def compare(self) -> None:
        """Show all runs in one table."""
        self._show("comparison")

    # --- the paper --------------------------------------------------------------------------------

    def ask_reproduce(self, quick: bool = False) -> None:
        """Ask for a folder and run the paper's experiments on the reference."""
        if self._session.reference is None:
            self._session.say("warning", "There is no reference picture yet. Open one first.")
            return
        if self._jobs.running(JobName.REPRODUCTION):
            text = "The paper is already being reproduced. Stop that first."
            self._session.say("warning", text)
            return
        folder = QFileDialog.getExistingDirectory(self._widget, "Choose a report folder")
        if folder:
            self.reproduce(folder, quick)

    def reproduce(self, folder: str, quick: bool = False) -> None:
        """Run the paper's experiments on the reference, or continue those begun in the folder."""
        reference = self._session.reference
        if reference is None:
            return

        def make() -> Generator[Any, None, Any]:
            # Imported only here: the window opens sooner without it.
            from isca_gui.core.paper.reproduce import reproduce

            picture = reference.picture
            return (yield from reproduce(picture, folder, quick=quick, name=reference.name))

        self._jobs.start(
            JobName.REPRODUCTION, "Reproducing the paper", make, done=self._on_reproduced
        )

    def _on_reproduced(self, results: Any) -> None:
        report = Path(results.report).absolute()
        self._session.say("info", f"The paper was reproduced. The report is '{report}'.")
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(report)))

    # --- recognition ------------------------------------------------------------------------------

    def save_map(self) -> None:
        """Ask for a file and save the vote map of the selected picture."""
        if self._has_map():
            self._show("vote_map")
            self._votes.ask_save_map()

    def save_votes(self) -> None:
        """Ask for a file and save the votes of all blocks of the selected picture."""
        if self._has_map():
            self._show("vote_map")
            self._votes.ask_save_votes()

    def copy_command(self) -> None:
        """Copy the command that recognises the selected picture."""
        test = self._session.test
        run = self._session.run_of(test.run) if test is not None else None
        if test is None or run is None:
            run_deleted = test is not None and test.verdict is not None
            self._session.say("warning", _NO_RUN if run_deleted else _NO_TEST)
            return
        if test.truth is not None and test.truth.left_out_of:
            self._session.say("warning", _TRAINING_PICTURE)
            return
        picture = test.path or f"{safe_name(test.name)}.png"
        QGuiApplication.clipboard().setText(classify_command(run.name, picture))
        text = f"The command that recognises {test.name} was copied to the clipboard."
        if test.path:
            text += " Export the model before you run it."
        else:
            text += f" Export the model and save the picture as '{picture}' before you run it."
        self._session.say("info", text)

    def _has_map(self) -> bool:
        """Whether the selected picture has a vote map that may be shown; if not, say why."""
        test = self._session.test
        if test is not None and test.secret:
            self._session.say("warning", GUESS_FIRST)
            return False
        if test is None or test.verdict is None:
            self._session.say("warning", _NO_TEST)
            return False
        # A project's file holds verdicts only. The maps are computed again in the background after
        # the project has been opened.
        if test.recognition is None:
            run_deleted = self._session.run_of(test.run) is None
            self._session.say("warning", _NO_RUN if run_deleted else _NO_MAP)
            return False
        return True
