"""The main window: arranges panels, viewers and menus, opens what is dropped, and closes safely."""

from __future__ import annotations

import contextlib
import importlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QDockWidget, QFileDialog, QMainWindow, QWidget

from isca_gui.core.pictures import samples
from isca_gui.help.guide import Guide
from isca_gui.jobs.actions import MODEL_SUFFIX
from isca_gui.jobs.names import JobName
from isca_gui.panels.dataset import DatasetPanel
from isca_gui.panels.recognise import RecognisePanel
from isca_gui.panels.reference import ReferencePanel
from isca_gui.panels.training import TrainingPanel
from isca_gui.projects.autosave import Recovery
from isca_gui.projects.manager import ProjectManager
from isca_gui.viewers.canvas.canvas import PictureCanvas
from isca_gui.viewers.compare.compare import CompareViewer
from isca_gui.viewers.results import Results
from isca_gui.viewers.viewer import Viewer
from isca_gui.widgets import theme
from isca_gui.widgets.dialogs import PROJECTS
from isca_gui.widgets.notice_bar import Notice
from isca_gui.widgets.step_frame import DISTORT, RECOGNISE, REFERENCE, TRAIN, next_step, step_area
from isca_gui.window.about import show_about
from isca_gui.window.docks import VIEWERS, DockManager, is_seen
from isca_gui.window.menus import SAVE_ACTION, SAVE_SENTENCE, make_menus
from isca_gui.window.palette import Line, Palette
from isca_gui.window.status_bar import StatusBar

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData
    from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QShowEvent

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import Failure, JobRunner
    from isca_gui.session.preferences import Preferences
    from isca_gui.session.records import LiveRun, Message
    from isca_gui.session.session import Session
    from isca_gui.widgets.step_frame import StepPanel

TITLE = "ISCA Studio"
COMPARE = "compare"
# On screens narrower than this, in pixels, the window is maximised at first.
_SMALL_SCREEN = 1500


class MainWindow(QMainWindow):
    """Holds panels and viewers and connects them; what they do is up to them."""

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, preferences: Preferences
    ) -> None:
        super().__init__()
        self.session = session
        self.jobs = jobs
        self.menu_actions = actions
        self.preferences = preferences
        # The canvases that are connected to the status bar.
        self._connected = WeakSet[PictureCanvas]()
        self._unread = 0
        self._last_live: LiveRun | None = None
        self._next_step = ""
        self._comparing = False
        # Whether the user has agreed to close the window, and what the work was then.
        self._leaving = False
        self._left: object = None
        self.dock_manager = DockManager(self)
        self.docks = self.dock_manager.docks
        self.setWindowTitle(TITLE)
        self.setAcceptDrops(True)
        self.reference_panel = ReferencePanel(session, jobs, actions, preferences=preferences)
        self.dataset_panel = DatasetPanel(session, jobs, actions)
        self.training_panel = TrainingPanel(session, jobs, actions, preferences=preferences)
        self.recognise_panel = RecognisePanel(session, jobs, actions)
        self.status = StatusBar(session, jobs, actions)
        self.setStatusBar(self.status)
        self._make_docks()
        votes: Any = self.docks["vote_map"].widget()
        self.results = Results(session, jobs, votes, self.show_viewer, self)
        self.notice = Notice(self)
        self.addToolBar(self.notice)
        self.projects = ProjectManager(session, jobs, actions, preferences, self._view, self)
        self.recovery = Recovery(session, jobs, self.projects, self.notice, self._view, self)
        self.compare_page.offer_recent(lambda: self.preferences.recent)
        self.guide = Guide(self)
        self.guide.begin(make_menus(self))
        self._connect()
        self._restore()
        self.reference_panel.open_button.setFocus()

    def _make_docks(self) -> None:
        self.steps = step_area(
            self.reference_panel, self.dataset_panel, self.training_panel, self.recognise_panel
        )
        left = self.dock_manager.add("steps", "Steps", self.steps)
        left.setFeatures(QDockWidget.DockWidgetFeature.DockWidgetMovable)
        left.setTitleBarWidget(QWidget(left))
        for name, module, class_name, title, _, _ in VIEWERS:
            viewer_class = getattr(importlib.import_module(f"isca_gui.{module}"), class_name)
            viewer = viewer_class(self.session, self.jobs, self.menu_actions)
            dock = self.dock_manager.add(name, title, viewer)
            if isinstance(viewer, Viewer):
                dock.visibilityChanged.connect(viewer.on_dock_visibility_changed)
                viewer.panes_made.connect(self._connect_canvases_later)
        self.dock_manager.add("help", "Help", QWidget())
        for dock in self.docks.values():
            dock.visibilityChanged.connect(self._on_dock_visibility_changed)
        self.dock_manager.reset()

    # --- viewers ----------------------------------------------------------------------------------

    def viewers(self) -> tuple[tuple[str, str, str], ...]:
        """Return name, title and shortcut of all viewers."""
        return tuple((name, title, key) for name, _, _, title, key, _ in VIEWERS)

    def show_viewer(self, name: str) -> None:
        """Open a viewer, bring it to the front and give it the keyboard focus."""
        dock = self.docks[name]
        dock.show()
        dock.raise_()
        widget = dock.widget()
        if widget is not None:
            widget.setFocus()

    def raise_viewer(self, name: str) -> None:
        """Bring a viewer to the front unless it is closed; the focus stays where it is."""
        if not self.docks[name].isHidden():
            self.docks[name].raise_()

    def compare(self) -> None:
        """Show the compare page with all the room there is."""
        self.show_viewer(COMPARE)
        self.dock_manager.widen()
        self.compare_page.open_original_button.setFocus()

    @property
    def compare_page(self) -> CompareViewer:
        """The compare page."""
        page = self.docks[COMPARE].widget()
        assert isinstance(page, CompareViewer)
        return page

    def _on_compare_shown(self, shown: bool) -> None:
        self._comparing = shown
        # Qt also calls this while the docks are being moved.
        QTimer.singleShot(0, self, self._narrow_unless_comparing)

    def _narrow_unless_comparing(self) -> None:
        away = not self._comparing and self.isVisible() and not self.isMinimized()
        if away and self.dock_manager.widened:
            self.dock_manager.narrow()

    def _on_train_requested(self) -> None:
        """Go to the four steps with the original as their reference."""
        original = self.session.comparisons.original
        self.dock_manager.narrow()
        self.raise_viewer("pictures")
        if original is None:
            return
        reference = self.session.reference
        same = reference is not None and original.path and reference.path == original.path
        if original.path and not same:
            self.menu_actions.open_picture(original.path)
        elif not same:
            found = self.menu_actions.comparing.to_steps()
            if found is not None:
                self.session.set_reference(found)
        self.dataset_panel.generate_button.setFocus()

    # --- what the menus do ------------------------------------------------------------------------

    def find_action(self) -> None:
        """Open the list of all actions, samples and help pages."""
        lines = [
            Line(
                f"Sample › {sample.name}",
                f"Open the sample as the reference: {sample.title}.",
                partial(self.menu_actions.open_sample, sample.name),
            )
            for sample in samples.TABLE
        ]
        lines += [
            Line(f"Help page › {page.title}", page.summary, partial(self.guide.open, page.name))
            for page in self.guide.page.pages
        ]
        Palette(self.menuBar(), self, lines).open_above(self)

    def about(self) -> None:
        """Show version, licence and folders."""
        show_about(self)

    def paste(self) -> None:
        """Open the picture or file on the clipboard: on the compare page, or as the reference."""
        if is_seen(self.docks[COMPARE]):
            self.compare_page.paste()
            return
        # Qt returns None if nothing was ever copied.
        data: QMimeData | None = QGuiApplication.clipboard().mimeData()
        if data is not None and data.hasUrls():
            self._open([url.toLocalFile() for url in data.urls() if url.isLocalFile()])
        elif data is not None and data.hasImage():
            self.menu_actions.use_image("Pasted picture", QGuiApplication.clipboard().image())
        else:
            self.session.say("warning", "There is no picture on the clipboard.")

    def choose_model(self) -> None:
        """Ask for a model file and open it."""
        filters = f"Models (*{MODEL_SUFFIX});;All files (*)"
        path, _ = QFileDialog.getOpenFileName(self, "Open a model", "", filters)
        if path:
            self.menu_actions.load_model(path)

    def save_model(self) -> None:
        """Ask for a name and save the model of the selected run."""
        if self.session.run is None:
            self.session.say("warning", "No model yet. Train one first.")
            return
        runs: Any = self.docks["runs"].widget()
        runs.ask_export()

    def toggle_full_screen(self) -> None:
        """Fill the whole screen, or leave full screen."""
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    def choose_theme(self, choice: str) -> None:
        """Change to the light or dark theme, or to that of the system."""
        self.preferences.theme = choice
        theme.apply(choice)
        self._keep_preferences()

    # --- what happens elsewhere -------------------------------------------------------------------

    def _connect(self) -> None:
        session = self.session
        self.jobs.failed.connect(self._on_job_failed)
        self.jobs.changed.connect(self._on_jobs_changed)
        session.message_added.connect(self._on_message_added)
        self.projects.changed.connect(self._on_project_changed)
        self.projects.opened.connect(self._on_project_opened)
        self.projects.begun.connect(self._on_project_begun)
        self.projects.named.connect(self._on_project_named)
        self.menu_actions.picture_opened.connect(self._on_picture_opened)
        for signal in (session.reference_changed, session.dataset_changed, session.run_selected):
            signal.connect(self._on_step_changed)
        for signal in (session.tested_changed, session.tested_selected):
            signal.connect(self._connect_canvases_later)
        session.dataset_changed.connect(self._on_dataset_changed)
        session.runs_changed.connect(self._on_runs_changed)
        self.recognise_panel.answered.connect(self._on_answered)
        self.compare_page.train_requested.connect(self._on_train_requested)
        self.docks[COMPARE].visibilityChanged.connect(self._on_compare_shown)
        confusion: Any = self.docks["confusion"].widget()
        confusion.picture_opened.connect(self._show_votes)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._on_scheme_changed)

    def _on_dataset_changed(self) -> None:
        self.raise_viewer("pictures")

    def _on_runs_changed(self) -> None:
        live = self.session.live
        begins = live is not None and live is not self._last_live
        self._last_live = live
        if begins:
            self.raise_viewer("convergence")

    def _on_answered(self) -> None:
        """Show the answer, and step 4 unless the user is working in another step."""
        self._show_votes()
        focus = self.focusWidget()
        elsewhere = focus is not None and self.steps.isAncestorOf(focus)
        if not elsewhere or self.recognise_panel.isAncestorOf(focus):
            self._scroll_to_step(RECOGNISE)

    def _show_votes(self, _: int = 0) -> None:
        self.docks["vote_map"].show()
        self.raise_viewer("vote_map")

    def _on_scheme_changed(self) -> None:
        if self.preferences.theme == theme.SYSTEM:
            theme.apply(theme.SYSTEM)

    def _on_job_failed(self, failure: Failure) -> None:
        # The file that closing waited for was not written, so the user has to see the message.
        self._leaving = False
        self.session.say("error", failure.message, f"{failure.what}\n\n{failure.details}")

    def _on_picture_opened(self, path: str) -> None:
        self.preferences.add_recent(path)
        self._keep_preferences()

    def _on_project_named(self, path: str) -> None:
        self.preferences.add_recent_project(path)
        self._keep_preferences()

    def _keep_preferences(self) -> None:
        """Save the preferences now, so that they survive a crash."""

        def save() -> None:
            # Nobody has asked for this, and closing the window tries again.
            with contextlib.suppress(OSError):
                self.preferences.save()

        def start() -> None:
            self.jobs.run(JobName.PREFERENCES, "Saving preferences", save)

        # Starting a job processes events, which must not happen in the middle of saving a project.
        QTimer.singleShot(0, self, start)

    def _on_project_changed(self) -> None:
        projects = self.projects
        read_only = " (read-only)" if projects.locked_out else ""
        # Qt replaces [*] by an asterisk while the window is modified.
        mark = "[*]" if projects.unsaved or projects.path else ""
        title = f"{TITLE}{mark}"
        if projects.name:
            title = f"{projects.name}{mark}{read_only} — {TITLE}"
        self.setWindowTitle(title)
        self.setWindowModified(projects.unsaved)
        save = self.findChild(QAction, SAVE_ACTION)
        if save is not None:
            save.setToolTip(projects.locked_out or SAVE_SENTENCE)

    def _on_message_added(self, message: Message) -> None:
        if message.level != "info" and not is_seen(self.docks["messages"]):
            self._unread += 1
        self._count_messages()

    def _count_messages(self) -> None:
        """Show the number of unread messages in the title of their dock."""
        dock = self.docks["messages"]
        if is_seen(dock):
            self._unread = 0
        dock.setWindowTitle(f"Messages ({self._unread})" if self._unread else "Messages")

    def _on_step_changed(self) -> None:
        """Scroll to the next step, but only when another becomes the next one."""
        self._connect_canvases_later()
        step = next_step(self.session)
        if step != self._next_step:
            self._next_step = step
            self._scroll_to_step(step)

    def _scroll_to_step(self, step: str) -> None:
        panels: dict[str, QWidget] = {
            REFERENCE: self.reference_panel,
            DISTORT: self.dataset_panel,
            TRAIN: self.training_panel,
            RECOGNISE: self.recognise_panel,
        }
        panel = panels[step]
        # The panel has its new height only after the layout was updated.
        QTimer.singleShot(0, self, lambda: self.steps.ensureWidgetVisible(panel, 0, 6))

    def _on_dock_visibility_changed(self, _: bool) -> None:
        if "messages" in self.docks:
            self._count_messages()
        self._connect_canvases_later()

    def _connect_canvases_later(self) -> None:
        QTimer.singleShot(0, self, self._connect_canvases)

    def _connect_canvases(self) -> None:
        """Connect picture panes made since the last call to the status bar."""
        for canvas in self.findChildren(PictureCanvas):
            if canvas not in self._connected:
                self._connected.add(canvas)
                canvas.pixel_changed.connect(self.status.show_pixel)
                canvas.pixel_changed.connect(self._on_pixel_changed)

    def _on_pixel_changed(self) -> None:
        canvas = self.sender()
        if isinstance(canvas, PictureCanvas):
            self.status.show_zoom(canvas.zoom())

    # --- drag and drop ----------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept files."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open what is dropped: pictures are compared, with a model several are recognised."""
        event.acceptProposedAction()
        self._open([url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()])

    def _open(self, paths: list[str]) -> None:
        if len(paths) == 1:
            self._open_one(paths[0])
        else:
            self._open_many(paths)

    def _open_one(self, path: str) -> None:
        if path.endswith(PROJECTS):
            self.projects.open(path)
        elif Path(path).is_dir():
            self.menu_actions.import_folder(path)
        elif Path(path).suffix == MODEL_SUFFIX:
            self.menu_actions.load_model(path)
        elif self._has_original():
            self._show_compare()
            self.menu_actions.comparing.open_copies([path])
        else:
            self.menu_actions.open_picture(path)
            self.menu_actions.comparing.open_original(path)

    def _has_original(self) -> bool:
        """Whether a picture that is dropped is a copy; the program's own sample has none."""
        if self.session.comparisons.original is not None:
            return True
        reference = self.session.reference
        if reference is None or not reference.path or reference.path.startswith(samples.PREFIX):
            return False
        self.menu_actions.comparing.open_original(reference.path)
        return True

    def _show_compare(self) -> None:
        """Show the compare page unless somebody is at work in the four steps."""
        if self.session.run is None:
            self.guide.close_start()
            self.compare()
        else:
            self.show_viewer(COMPARE)

    def _open_many(self, paths: list[str]) -> None:
        models = [path for path in paths if Path(path).suffix == MODEL_SUFFIX]
        for path in models:
            self.menu_actions.load_model(path)
        pictures = [path for path in paths if path not in models]
        if pictures and (models or self.session.run is not None):
            self.recognise_panel.recognise(pictures)
        elif pictures:
            self._show_compare()
            self.compare_page.take(pictures)

    # --- projects ---------------------------------------------------------------------------------

    def _view(self) -> tuple[dict[str, Any], str]:
        """Return what a project keeps of the window, and the layout of the docks as text."""
        work = self.session.work
        folded = [panel.NAME for panel in self._panels() if not panel.heading.isChecked()]
        settings = {name: viewer.view_settings.values() for name, viewer in self._viewers()}
        view = {
            "run": work.run,
            "test": work.test,
            "folded": folded,
            "viewers": {name: values for name, values in settings.items() if values},
        }
        return view, self.dock_manager.to_text()

    def _on_project_opened(self, project: Any) -> None:
        # The view comes from a file, so its values may be of any type.
        folded = project.view.get("folded")
        for panel in self._panels():
            panel.heading.setChecked(not (isinstance(folded, list) and panel.NAME in folded))
        settings = project.view.get("viewers")
        for name, viewer in self._viewers():
            values = settings.get(name) if isinstance(settings, dict) else None
            viewer.restore_view(values if isinstance(values, dict) else {})
        self.dock_manager.restore(project.layout)

    def _on_project_begun(self) -> None:
        for _, viewer in self._viewers():
            viewer.view_settings.forget_request()

    def _viewers(self) -> list[tuple[str, Viewer]]:
        found = ((name, dock.widget()) for name, dock in self.docks.items())
        return [(name, widget) for name, widget in found if isinstance(widget, Viewer)]

    def _panels(self) -> tuple[StepPanel, ...]:
        return self.reference_panel, self.dataset_panel, self.training_panel, self.recognise_panel

    def quit(self) -> None:
        """Close the window after asking about unsaved changes."""
        # An earlier answer counts only if nothing has changed since.
        self._leaving = self._agreed
        self.projects.guard(self._leave, self._stay)

    def _stay(self) -> None:
        self._leaving = False

    def _leave(self, _: object = None) -> None:
        """Close when all files are written; asked for a second time, close at once."""
        again = self._leaving
        self._leaving = True
        self._left = self.projects.present
        if self.jobs.writing and not again:
            message = "The program will quit once the file is saved. Close it again to quit now."
            self.session.say("info", message)
        else:
            self.close()

    def _on_jobs_changed(self) -> None:
        if self._leaving and not self.jobs.writing and self.isVisible():
            agreed = self._agreed
            self._leaving = False
            if agreed:
                self._leave()
            else:
                self.projects.guard(self._leave)

    @property
    def _agreed(self) -> bool:
        """Whether the user has agreed to close the window and nothing has changed since."""
        return self._leaving and self.projects.unchanged_since(self._left)

    # --- coming and going -------------------------------------------------------------------------

    def _restore(self) -> None:
        self.session.restore(self.preferences.spec, self.preferences.settings)
        self._restore_geometry(self.preferences.geometry)
        self.dock_manager.restore(self.preferences.layout)
        if self.preferences.problem:
            self.session.say("warning", self.preferences.problem)

    def _restore_geometry(self, text: str) -> None:
        """Move the window to where it was, or to where it is best at first."""
        room = self.screen().availableSize()
        self.resize(QSize(room.width() * 9 // 10, room.height() * 9 // 10))
        geometry = QByteArray.fromBase64(text.encode("utf-8", "ignore"))
        if not geometry.isEmpty():
            self.restoreGeometry(geometry)
        elif room.width() < _SMALL_SCREEN:
            self.setWindowState(Qt.WindowState.WindowMaximized)

    def showEvent(self, event: QShowEvent) -> None:
        """Share the room among the docks."""
        super().showEvent(event)
        self.dock_manager.on_window_shown()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about unsaved changes, stop all threads, and save the preferences.

        Only a spontaneous event comes from a user who can answer. If the window is closed by
        anything else (the end of a desktop session, a test), unsaved work stays in the recovery
        folder and is offered at the next start.
        """
        unfinished = self.projects.unsaved or self.jobs.writing
        if event.spontaneous() and unfinished and not self._agreed:
            event.ignore()
            self.quit()
            return
        self.dock_manager.stop()
        # Jobs are asked to stop first and waited for last, so that they have time for it.
        self.jobs.shutdown(0)
        preferences = self.preferences
        preferences.geometry = bytes(self.saveGeometry().toBase64().data()).decode()
        preferences.layout = self.dock_manager.to_text()
        preferences.spec = self.session.spec
        preferences.settings = self.session.settings
        self.hide()
        # There is no window left to show an error in.
        with contextlib.suppress(OSError):
            preferences.save()
        self.jobs.shutdown(0.4)
        self.recovery.close(keep=self.projects.unsaved and not self._agreed)
        self.projects.close()
        super().closeEvent(event)
