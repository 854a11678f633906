"""What helps a newcomer, in one place: help, What's This, start page, tour, and a first mystery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QDockWidget, QToolButton, QWhatsThis

from isca_gui.core.pictures import samples
from isca_gui.help.help_viewer import HelpPage
from isca_gui.help.pages import CONTENTS
from isca_gui.help.tour import Tour
from isca_gui.help.whats_this import LINK, explain, link_of
from isca_gui.widgets.step_frame import DISTORT, RECOGNISE, REFERENCE, TRAIN, describe, next_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from PySide6.QtGui import QWhatsThisClickedEvent

WORK = ("dataset", "training", "recognise")  # jobs that are the next step of somebody
_PROJECT = ".iscaproj"
_ASK = "Click what you want to know about. Esc ends it."


class Guide(QObject):
    """Serves the Help menu and the start page of a window."""

    def __init__(self, window: Any) -> None:
        super().__init__(window)
        self._window = window
        self.tour = Tour(window)
        self.page = HelpPage()
        self._step = ""  # that the way to a mystery has come to; empty where nobody asked for one
        self._before: set[str] = set()  # jobs that were at work when the start page was shown
        self._reference: object = None  # that was there then

    def begin(self, keys: Iterable[tuple[str, str]]) -> None:
        """Fill the help dock and let every control explain itself; `keys` are those of the menus."""
        window = self._window
        self.page = HelpPage(keys)
        window.docks["help"].setWidget(self.page)
        self.page.wished.connect(self.do)
        start = self._start_page
        start.wished.connect(self.do)
        start.file_wished.connect(self._on_file_wished)
        self._start.visibilityChanged.connect(self._on_start_shown)  # also by the View menu
        window.jobs.changed.connect(self._on_jobs_changed)
        window.session.reference_changed.connect(self._on_reference_changed)
        window.projects.opened.connect(self._give_up)
        window.projects.begun.connect(self._give_up)
        corner = QToolButton(window)
        corner.setText("?")
        corner.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        describe(corner, "What's this?", "Click this, then what you want to know about (Shift+F1).")
        corner.clicked.connect(self.whats_this)
        window.menuBar().setCornerWidget(corner)
        explain(window, self.page.pages)

    # --- help -------------------------------------------------------------------------------------

    def help_here(self) -> None:
        """Show the page that explains what has the keyboard."""
        focus = QApplication.focusWidget()
        outside = (
            focus is not None
            and focus.window() is self._window
            and not self.page.isAncestorOf(focus)
        )
        self.open(link_of(focus, self.page.pages) if focus is not None and outside else CONTENTS)

    def contents(self) -> None:
        """Show the contents of the help."""
        self.open(CONTENTS)

    def open(self, link: str) -> None:
        """Show a page of the help."""
        self._window.show_viewer("help")
        self.page.open(link)
        self.page.browser.setFocus()

    def whats_this(self) -> None:
        """Let the next click explain what it hits."""
        explain(
            self._window, self.page.pages
        )  # what was made or disabled since speaks for itself as well
        self._window.installEventFilter(self)
        self._window.statusBar().showMessage(_ASK, 6000)
        QWhatsThis.enterWhatsThisMode()

    def eventFilter(self, _: QObject, event: QEvent) -> bool:
        """Follow a link in a What's This text: it arrives here from whatever was asked about."""
        if event.type() == QEvent.Type.Close:
            QWhatsThis.leaveWhatsThisMode()
            QWhatsThis.hideText()
        if event.type() != QEvent.Type.WhatsThisClicked:
            return False
        clicked: QWhatsThisClickedEvent = event  # type: ignore[assignment]
        self.open(clicked.href().removeprefix(LINK))
        QTimer.singleShot(0, self, QWhatsThis.hideText)  # it would stay over the page
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
        """Show the start page if the program was never used before and no file was named."""
        if path or self._window.preferences.layout:
            self.step_aside()
        else:
            self.show_start(focus=False)

    def show_start(self, focus: bool = True) -> None:
        """Show the start page until the next step is taken."""
        self._start.show()
        self._start.raise_()
        self._on_start_shown(True)
        if focus:
            self._start_page.cards["sample"].setFocus()

    def _on_start_shown(self, shown: bool) -> None:
        if shown:
            window, page = self._window, self._start_page
            page.set_recent([*window.preferences.recent_projects, *window.preferences.recent])
            explain(page, self.page.pages)
            self._before = {job.name for job in window.jobs.jobs()}
            self._reference = window.session.reference

    def step_aside(self) -> None:
        """Close the start page."""
        if not self._start.isHidden():
            in_front = not self._start.visibleRegion().isEmpty()
            self._start.close()
            if in_front:
                self._window.bring("pictures")

    def _on_jobs_changed(self) -> None:
        if self._step:
            QTimer.singleShot(0, self, self._go_on)  # when what has ended is in the session
        if self._start.isHidden():
            return
        running = {job.name for job in self._window.jobs.jobs()}
        if (running - self._before).intersection(WORK):
            self.step_aside()
        self._before &= running

    def _on_reference_changed(self) -> None:
        """Stay while the program opens its first picture; another one was chosen by somebody."""
        if self._reference is not None:
            self.step_aside()
        self._reference = self._window.session.reference

    def do(self, name: str) -> None:
        """Do what a card or a link asks for."""
        window = self._window
        works: dict[str, Callable[[], object]] = {
            "sample": self._begin_with_sample,
            "open": window.reference_panel.choose,
            "tour": self.take_tour,
            "mystery": self.mystery,
            "paper": window.results.ask_reproduce,
            "help": self.contents,
            "start": self.show_start,
        }
        if name in works:
            works[name]()

    def take_tour(self) -> None:
        """Begin the tour."""
        self.step_aside()
        self.tour.start()

    def _begin_with_sample(self) -> None:
        window = self._window
        reference = window.session.reference
        self.step_aside()
        if reference is None or not (reference.path or "").startswith(samples.PREFIX):
            window.menu_actions.open_sample()
        window.dataset_panel.generate_button.setFocus()

    def _on_file_wished(self, path: str) -> None:
        window = self._window
        self.step_aside()
        if path.endswith(_PROJECT):
            window.projects.open(path)
        else:
            window.menu_actions.open_picture(path)

    # --- a mystery, from wherever one is ----------------------------------------------------------

    def mystery(self) -> None:
        """Make a mystery picture; dataset and model are made first where they are missing."""
        self.step_aside()
        self._step = "begun"
        self._go_on()

    def _give_up(self) -> None:
        """Make no mystery of other work than that for which it was asked."""
        self._step = ""

    def _go_on(self) -> None:
        window = self._window
        if not self._step or any(window.jobs.running(name) for name in ("open", *WORK[:2])):
            return
        step = next_step(window.session)
        works: dict[str, Callable[[], object]] = {
            REFERENCE: window.menu_actions.open_sample,
            DISTORT: window.menu_actions.generate,
            TRAIN: window.menu_actions.train,
            RECOGNISE: window.recognise_panel.mystery,
        }
        if (
            step == self._step or step == RECOGNISE or step not in works
        ):  # arrived, or stopped on the way
            stopped, self._step = step == self._step, ""
            if not stopped and step in works:
                works[step]()
            return
        self._step = step
        works[step]()
