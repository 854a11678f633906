"""What the menu of results does: the paper's experiments as a job, and what can be saved and copied."""

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
_NO_RUN = "The run that recognised this picture was deleted. Recognise it again first."
_KNOWN = (
    "isca classify knows this picture, which was left out here, and would find itself. "
    "'isca evaluate MODEL' leaves out each training picture in turn."
)
_NO_MAP = (
    "The map of this picture is not made yet. Wait until that has ended, or recognise it again."
)


class Results(QObject):
    """Acts on what the session has found."""

    def __init__(
        self,
        session: Session,
        jobs: JobRunner,
        votes: VoteMapViewer,
        show: Callable[[str], None],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._session, self._jobs, self._widget = session, jobs, parent
        self._votes, self._show = votes, show

    def compare(self) -> None:
        """Show all runs in one table."""
        self._show("comparison")

    # --- the paper --------------------------------------------------------------------------------------

    def ask_reproduce(self, quick: bool = False) -> None:
        """Ask for a folder and run the paper's experiments on the reference."""
        if self._session.reference is None:
            self._session.say("warning", "There is no reference picture yet. Open one first.")
            return
        if self._jobs.running(JobName.REPRODUCTION):
            self._session.say("warning", "The paper is being reproduced already. Stop that first.")
            return
        title = "Folder for the report: a new or empty one, or that of a reproduction to go on with"
        folder = QFileDialog.getExistingDirectory(self._widget, title)
        if folder:
            self.reproduce(folder, quick)

    def reproduce(self, folder: str, quick: bool = False) -> None:
        """Run the paper's experiments on the reference; stopped, they go on in the same folder next time."""
        reference = self._session.reference
        if reference is None:
            return

        def make() -> Generator[Any, None, Any]:
            from isca_gui.core.paper import reproduce

            return (
                yield from reproduce.reproduce(
                    reference.picture, folder, quick=quick, name=reference.name
                )
            )

        self._jobs.start(
            JobName.REPRODUCTION, "Reproducing the paper", make, done=self._on_reproduced
        )

    def _on_reproduced(self, results: Any) -> None:
        report = Path(results.report).absolute()
        self._session.say("info", f"The paper was reproduced; the report is '{report}'.")
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(report)))

    # --- recognition ------------------------------------------------------------------------------------

    def save_map(self) -> None:
        """Ask for a file and save the vote map of the selected picture."""
        if self._recognised():
            self._show("vote_map")
            self._votes.ask_save_map()

    def save_votes(self) -> None:
        """Ask for a file and save the votes of all blocks of the selected picture."""
        if self._recognised():
            self._show("vote_map")
            self._votes.ask_save_votes()

    def copy_command(self) -> None:
        """Copy the line that recognises the selected picture on the command line."""
        test = self._session.test
        run = self._session.run_of(test.run) if test is not None else None
        if test is None or run is None:
            gone = test is not None and test.verdict is not None
            self._session.say("warning", _NO_RUN if gone else _NO_TEST)
            return
        if test.truth is not None and test.truth.left_out_of:
            self._session.say("warning", _KNOWN)
            return
        picture = test.path or f"{safe_name(test.name)}.png"
        QGuiApplication.clipboard().setText(classify_command(run.name, picture))
        first = "" if test.path else f" The picture must be saved as '{picture}' first."
        self._session.say(
            "info",
            f"The command that recognises {test.name} is on the clipboard. Export the model first.{first}",
        )

    def _recognised(self) -> bool:
        test = self._session.test
        if test is not None and test.secret:
            self._session.say("warning", GUESS_FIRST)
            return False
        if test is None or test.verdict is None:
            self._session.say("warning", _NO_TEST)
        elif test.recognition is None:  # a project's file holds verdicts only: see `recollect`
            self._session.say(
                "warning", _NO_RUN if self._session.run_of(test.run) is None else _NO_MAP
            )
        return test is not None and test.recognition is not None
