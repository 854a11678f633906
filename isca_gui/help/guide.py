"""Help for newcomers: help pages, What's This, start page, tour, and a first mystery picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QDockWidget, QToolButton, QWhatsThis

from isca_gui.core.pictures import samples
from isca_gui.help.help_viewer import HelpPage
from isca_gui.help.pages import CONTENTS
from isca_gui.help.tour import Tour
from isca_gui.help.whats_this import LINK, explain, link_of
from isca_gui.jobs.names import JobName
from isca_gui.widgets.dialogs import SUFFIX
from isca_gui.widgets.step_frame import DISTORT, RECOGNISE, REFERENCE, TRAIN, describe, next_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from PySide6.QtGui import QWhatsThisClickedEvent

# Jobs that the user starts from one of the steps; the start page closes when one begins.
STEP_JOBS = (JobName.DATASET, JobName.TRAINING, JobName.RECOGNITION)
# A mystery picture can be made only when none of these is running.
_JOBS_BEFORE_MYSTERY = (JobName.OPEN_PICTURE, JobName.DATASET, JobName.TRAINING)
_ASK = "Click any control for help. Press Esc to cancel."


class Guide(QObject):
    """Handles the Help menu and the start page of a window."""

    def __init__(self, window: Any) -> None:
        super().__init__(window)
        self._window = window
        self.tour = Tour(window)
        self.page = HelpPage()
        # The step that a requested mystery has reached; empty if none was requested.
        self._mystery_step = ""
        # The jobs that were running, and the reference, when the start page was shown.
        self._jobs_before: set[JobName] = set()
        self._reference_before: object = None

    def begin(self, keys: Iterable[tuple[str, str]]) -> None:
        """Fill the help dock and set all What's This texts; `keys` are those of the menus."""
        window = self._window
        self.page = HelpPage(keys)
        window.docks["help"].setWidget(self.page)
        self.page.action_requested.connect(self.perform)
        start = self._start_page
        start.action_requested.connect(self.perform)
        start.file_requested.connect(self._on_file_requested)
        self._start.visibilityChanged.connect(self._on_start_shown)
        window.jobs.changed.connect(self._on_jobs_changed)
        window.session.reference_changed.connect(self._on_reference_changed)
        window.projects.opened.connect(self._cancel_mystery)
        window.projects.begun.connect(self._cancel_mystery)
        corner = QToolButton(window)
        corner.setText("?")
        corner.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        describe(corner, "What's this?", "Click this, then any control for help (Shift+F1).")
        corner.clicked.connect(self.whats_this)
        window.menuBar().setCornerWidget(corner)
        explain(window, self.page.pages)

    # --- help -------------------------------------------------------------------------------------

    def help_here(self) -> None:
        """Show the page about the control that has the focus."""
        focus = QApplication.focusWidget()
        link = CONTENTS
        if focus is not None and focus.window() is self._window:
            # The help itself needs no explanation.
            if not self.page.isAncestorOf(focus):
                link = link_of(focus, self.page.pages)
        self.open(link)

    def contents(self) -> None:
        """Show the contents of the help."""
        self.open(CONTENTS)

    def open(self, link: str) -> None:
        """Show a page of the help."""
        self._window.show_viewer("help")
        self.page.open(link)
        self.page.browser.setFocus()

    def whats_this(self) -> None:
        """Show the What's This text of the control that is clicked next."""
        # Controls may have been made or disabled since the texts were set.
        explain(self._window, self.page.pages)
        self._window.installEventFilter(self)
        self._window.statusBar().showMessage(_ASK, 6000)
        QWhatsThis.enterWhatsThisMode()

    def eventFilter(self, _: QObject, event: QEvent) -> bool:
        """Follow a link in a What's This text; the event is passed up from the control."""
        if event.type() == QEvent.Type.Close:
            QWhatsThis.leaveWhatsThisMode()
            QWhatsThis.hideText()
        if event.type() != QEvent.Type.WhatsThisClicked:
            return False
        clicked: QWhatsThisClickedEvent = event  # type: ignore[assignment]
        self.open(clicked.href().removeprefix(LINK))
        # The text would stay in front of the page.
        QTimer.singleShot(0, self, QWhatsThis.hideText)
        return True

    # --- the start page ---------------------------------------------------------------------------

    @property
    def _start(self) -> QDockWidget:
        dock: QDockWidget = self._window.docks["start"]
        return dock

    @property
    def _start_page(self) -> Any:
        return self._start.widget()

    def welcome(self, path: str | None = None) -> None:
        """Show the start page at the very first start, unless a file is opened."""
        if path or self._window.preferences.layout:
            self.close_start()
        else:
            self.show_start(focus=False)

    def show_start(self, focus: bool = True) -> None:
        """Show the start page; it closes when the next step is taken."""
        self._start.show()
        self._start.raise_()
        self._on_start_shown(True)
        if focus:
            self._start_page.cards["compare"].setFocus()

    def _on_start_shown(self, shown: bool) -> None:
        if shown:
            window = self._window
            page = self._start_page
            page.set_recent([*window.preferences.recent_projects, *window.preferences.recent])
            explain(page, self.page.pages)
            self._jobs_before = {job.name for job in window.jobs.jobs()}
            self._reference_before = window.session.reference

    def close_start(self) -> None:
        """Close the start page."""
        if not self._start.isHidden():
            in_front = not self._start.visibleRegion().isEmpty()
            self._start.close()
            if in_front:
                self._window.raise_viewer("pictures")

    def _on_jobs_changed(self) -> None:
        if self._mystery_step:
            # The result of the job is put into the session only after this signal.
            QTimer.singleShot(0, self, self._continue_mystery)
        if self._start.isHidden():
            return
        running = {job.name for job in self._window.jobs.jobs()}
        if (running - self._jobs_before).intersection(STEP_JOBS):
            self.close_start()
        self._jobs_before &= running

    def _on_reference_changed(self) -> None:
        """Close the start page, unless this is the picture that the program opens by itself."""
        if self._reference_before is not None:
            self.close_start()
        self._reference_before = self._window.session.reference

    def perform(self, name: str) -> None:
        """Run the action of a card or link; an unknown one does nothing."""
        window = self._window
        actions: dict[str, Callable[[], object]] = {
            "compare": self._compare,
            "sample": self._begin_with_sample,
            "open": window.reference_panel.choose,
            "tour": self.take_tour,
            "mystery": self.mystery,
            "paper": window.results.ask_reproduce,
            "help": self.contents,
            "start": self.show_start,
        }
        if name in actions:
            actions[name]()

    def take_tour(self) -> None:
        """Start the tour."""
        self.close_start()
        self.tour.start()

    def _compare(self) -> None:
        self.close_start()
        self._window.compare()

    def _begin_with_sample(self) -> None:
        window = self._window
        reference = window.session.reference
        self.close_start()
        if reference is None or not (reference.path or "").startswith(samples.PREFIX):
            window.menu_actions.open_sample()
        window.dataset_panel.generate_button.setFocus()

    def _on_file_requested(self, path: str) -> None:
        window = self._window
        self.close_start()
        if path.endswith(SUFFIX):
            window.projects.open(path)
        else:
            window.menu_actions.open_picture(path)

    # --- a mystery picture ------------------------------------------------------------------------

    def mystery(self) -> None:
        """Make a mystery picture; a missing dataset or model is made first."""
        self.close_start()
        self._mystery_step = "requested"
        self._continue_mystery()

    def _cancel_mystery(self) -> None:
        """Forget a requested mystery, because another project was opened meanwhile."""
        self._mystery_step = ""

    def _continue_mystery(self) -> None:
        window = self._window
        running = any(window.jobs.running(name) for name in _JOBS_BEFORE_MYSTERY)
        if not self._mystery_step or running:
            return
        step = next_step(window.session)
        if step == self._mystery_step:
            # The job of this step has ended without a result: it failed or was stopped.
            self._mystery_step = ""
            return
        self._mystery_step = "" if step == RECOGNISE else step
        actions: dict[str, Callable[[], object]] = {
            REFERENCE: window.menu_actions.open_sample,
            DISTORT: window.menu_actions.generate,
            TRAIN: window.menu_actions.train,
            RECOGNISE: window.recognise_panel.mystery,
        }
        actions[step]()
