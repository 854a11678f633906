"""The main window: arranges panels and viewers, menus from a table, and closes in good order."""

from __future__ import annotations

import contextlib
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QDockWidget, QFileDialog, QWidget

from isca_gui.help.guide import Guide
from isca_gui.jobs.actions import MODEL_SUFFIX as SUFFIX
from isca_gui.panels.dataset import DatasetPanel
from isca_gui.panels.recognise import RecognisePanel
from isca_gui.panels.reference import ReferencePanel
from isca_gui.panels.training import TrainingPanel
from isca_gui.projects.autosave import Recovery
from isca_gui.projects.manager import ProjectManager
from isca_gui.viewers.canvas.canvas import PictureCanvas
from isca_gui.viewers.results import Results
from isca_gui.viewers.viewer import Viewer
from isca_gui.widgets import theme
from isca_gui.widgets.dialogs import PROJECTS
from isca_gui.widgets.notice_bar import Notice
from isca_gui.widgets.step_frame import DISTORT, RECOGNISE, REFERENCE, TRAIN, next_step
from isca_gui.window.arrangement import VIEWERS, ArrangedWindow, seen, step_area
from isca_gui.window.menus import SAVE_ACTION, SAVE_SENTENCE, make_menus
from isca_gui.window.palette import Palette
from isca_gui.window.status_bar import StatusBar

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData
    from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent

    from isca_gui.jobs.actions import Actions
    from isca_gui.jobs.runner import Failure, JobRunner
    from isca_gui.session.preferences import Preferences
    from isca_gui.session.session import LiveRun, Message, Session
    from isca_gui.widgets.step_frame import StepPanel

TITLE = "ISCA Studio"


class MainWindow(ArrangedWindow):
    """Holds the docks; what they do is theirs."""

    def __init__(
        self, session: Session, jobs: JobRunner, actions: Actions, preferences: Preferences
    ) -> None:
        super().__init__()
        self.session, self.jobs, self.menu_actions = session, jobs, actions
        self.preferences = preferences
        self._seen = WeakSet[PictureCanvas]()  # whose pixel and zoom are shown already
        self._unread = 0
        self._last_live: LiveRun | None = None
        self._next_step = ""
        self._leaving = False  # the user was asked about what is not saved
        self._left: object = None  # what there was then
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
        self.guide = Guide(self)
        self.guide.begin(make_menus(self))
        self._connect()
        self._restore()
        self.reference_panel.open_button.setFocus()

    def _make_docks(self) -> None:
        self.steps = step_area(
            self.reference_panel, self.dataset_panel, self.training_panel, self.recognise_panel
        )
        left = self.put("steps", "Steps", self.steps)
        left.setFeatures(QDockWidget.DockWidgetFeature.DockWidgetMovable)
        left.setTitleBarWidget(QWidget(left))
        for name, module, class_name, title, _, _ in VIEWERS:
            kind = getattr(importlib.import_module(f"isca_gui.{module}"), class_name)
            viewer = kind(self.session, self.jobs, self.menu_actions)
            dock = self.put(name, title, viewer)
            if isinstance(viewer, Viewer):
                dock.visibilityChanged.connect(viewer.on_dock_visibility_changed)
                viewer.panes_made.connect(self._adopt_later)
        self.help_dock = self.put("help", "Help", QWidget())
        for dock in self.docks.values():
            dock.visibilityChanged.connect(self._on_dock_visibility_changed)
        self.arrange()

    # --- what the menus do ------------------------------------------------------------------------

    def find_action(self) -> None:
        """Let the user type what to do."""
        Palette(self.menuBar(), self).open_above(self)

    def paste(self) -> None:
        """Take a picture or a file from the clipboard as the reference."""
        data: QMimeData | None = (
            QGuiApplication.clipboard().mimeData()
        )  # None where nothing was ever copied
        if data is not None and data.hasUrls():
            self._take([url.toLocalFile() for url in data.urls() if url.isLocalFile()])
        elif data is not None and data.hasImage():
            self.menu_actions.use_image("Pasted picture", QGuiApplication.clipboard().image())
        else:
            self.session.say("warning", "There is no picture on the clipboard. Copy one first.")

    def choose_model(self) -> None:
        """Ask for a model file and open it."""
        path, _ = QFileDialog.getOpenFileName(
            self, "Open a model", "", f"Models (*{SUFFIX});;All files (*)"
        )
        if path:
            self.menu_actions.load_model(path)

    def save_model(self) -> None:
        """Ask for a name and save the selected run's model."""
        if self.session.run is None:
            self.session.say("warning", "There is no model yet. Train one first.")
            return
        runs: Any = self.docks["runs"].widget()
        runs.ask_export()

    def toggle_full_screen(self) -> None:
        """Use the whole screen, or go back."""
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    def choose_theme(self, choice: str) -> None:
        """Change to light, dark, or as the system."""
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
            signal.connect(self._adopt_later)
        session.dataset_changed.connect(self._on_dataset_changed)
        session.runs_changed.connect(self._on_runs_changed)
        self.recognise_panel.answered.connect(self._on_answered)
        confusion: Any = self.docks["confusion"].widget()
        confusion.picture_opened.connect(self._show_votes)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._on_scheme_changed)

    def _on_dataset_changed(self) -> None:
        self.bring("pictures")

    def _on_runs_changed(self) -> None:
        live = self.session.live
        begins = live is not None and live is not self._last_live
        self._last_live = live
        if begins:
            self.bring("convergence")

    def _on_answered(self) -> None:
        """Show the answer, and the step that lists it unless somebody works in another."""
        self._show_votes()
        focus = self.focusWidget()
        elsewhere = focus is not None and self.steps.isAncestorOf(focus)
        if not elsewhere or self.recognise_panel.isAncestorOf(focus):
            self._bring_step(RECOGNISE)

    def _show_votes(self, _: int = 0) -> None:
        self.docks["vote_map"].show()
        self.bring("vote_map")

    def _on_scheme_changed(self) -> None:
        if self.preferences.theme == theme.SYSTEM:
            theme.apply(theme.SYSTEM)

    def _on_job_failed(self, failure: Failure) -> None:
        self._leaving = False  # what was waited for is not there: somebody has to know
        self.session.say("error", failure.message, f"{failure.what}\n\n{failure.details}")

    def _on_picture_opened(self, path: str) -> None:
        self.preferences.add_recent(path)
        self._keep_preferences()

    def _on_project_named(self, path: str) -> None:
        self.preferences.add_recent_project(path)
        self._keep_preferences()

    def _keep_preferences(self) -> None:
        """Write what would else be gone after a crash, when whatever has changed it is done."""

        def work() -> None:
            with contextlib.suppress(
                OSError
            ):  # nobody has asked for it, and it is tried again at the end
                self.preferences.save()

        # Not at once: to begin a job lets others have their turn, in the middle of a save.
        QTimer.singleShot(
            0, self, lambda: self.jobs.run("preferences", "Keeping the preferences", work)
        )

    def _on_project_changed(self) -> None:
        projects = self.projects
        changed, name = projects.unsaved, projects.name
        only = " (read-only)" if projects.locked_out else ""
        mark = "[*]" if changed or projects.path else ""
        self.setWindowTitle(f"{name}{mark}{only} — {TITLE}" if name else f"{TITLE}{mark}")
        self.setWindowModified(changed)
        save = self.findChild(QAction, SAVE_ACTION)
        if save is not None:
            save.setToolTip(projects.locked_out or SAVE_SENTENCE)

    def _on_message_added(self, message: Message) -> None:
        if message.level != "info" and not seen(self.docks["messages"]):
            self._unread += 1
        self._name_messages()

    def _name_messages(self) -> None:
        if seen(self.docks["messages"]):
            self._unread = 0
        self.docks["messages"].setWindowTitle(
            f"Messages ({self._unread})" if self._unread else "Messages"
        )

    def _on_step_changed(self) -> None:
        """Bring the step that is next into sight, when it becomes so: else somebody may work in another."""
        self._adopt_later()
        step, before = next_step(self.session), self._next_step
        self._next_step = step
        if step != before:
            self._bring_step(step)

    def _bring_step(self, step: str) -> None:
        panels: dict[str, QWidget] = {
            REFERENCE: self.reference_panel, DISTORT: self.dataset_panel,
            TRAIN: self.training_panel, RECOGNISE: self.recognise_panel,
        }  # fmt: skip
        panel = panels[step]
        QTimer.singleShot(0, self, lambda: self.steps.ensureWidgetVisible(panel, 0, 6))

    def _on_dock_visibility_changed(self, _: bool) -> None:
        if "messages" in self.docks:
            self._name_messages()
        self._adopt_later()

    def _adopt_later(self) -> None:
        QTimer.singleShot(0, self, self._adopt_canvases)

    def _adopt_canvases(self) -> None:
        """Show pixel and zoom of every picture pane, also of those made since."""
        for canvas in self.findChildren(PictureCanvas):
            if canvas not in self._seen:
                self._seen.add(canvas)
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
        """Open what is dropped: a picture as reference, a folder as dataset, pictures as tests, a project."""
        event.acceptProposedAction()
        self._take([url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()])

    def _take(self, paths: list[str]) -> None:
        if len(paths) == 1 and paths[0].endswith(PROJECTS):
            self.projects.open(paths[0])
        elif len(paths) == 1 and Path(paths[0]).is_dir():
            self.menu_actions.import_folder(paths[0])
        elif len(paths) == 1 and Path(paths[0]).suffix == SUFFIX:
            self.menu_actions.load_model(paths[0])
        elif len(paths) == 1:
            self.menu_actions.open_picture(paths[0])
        else:
            self._take_many(paths)

    def _take_many(self, paths: list[str]) -> None:
        models = [path for path in paths if Path(path).suffix == SUFFIX]
        for path in models:
            self.menu_actions.load_model(path)
        pictures = [path for path in paths if path not in models]
        if pictures:
            self.recognise_panel.recognise(pictures)

    # --- projects ---------------------------------------------------------------------------------

    def _view(self) -> tuple[dict[str, Any], str]:
        """Give what a project keeps of the window: what is selected and folded, how viewers look and lie."""
        work = self.session.work
        folded = [panel.NAME for panel in self._panels() if not panel.heading.isChecked()]
        looks = {
            name: values for name, viewer in self._viewers() if (values := viewer.looks.values())
        }
        return {
            "run": work.run,
            "test": work.test,
            "folded": folded,
            "viewers": looks,
        }, self.layout_text()

    def _on_project_opened(self, project: Any) -> None:
        folded = project.view.get("folded")
        for panel in self._panels():
            panel.heading.setChecked(not (isinstance(folded, list) and panel.NAME in folded))
        looks = project.view.get("viewers")
        for name, viewer in self._viewers():
            values = looks.get(name) if isinstance(looks, dict) else None
            viewer.look_as(values if isinstance(values, dict) else {})
        self.show_layout(project.layout)

    def _on_project_begun(self) -> None:
        for _, viewer in self._viewers():
            viewer.looks.forget()

    def _viewers(self) -> list[tuple[str, Viewer]]:
        found = ((name, dock.widget()) for name, dock in self.docks.items())
        return [(name, widget) for name, widget in found if isinstance(widget, Viewer)]

    def _panels(self) -> tuple[StepPanel, ...]:
        return self.reference_panel, self.dataset_panel, self.training_panel, self.recognise_panel

    def quit(self) -> None:
        """End the program, after asking for what is not saved."""
        self._leaving = self._agreed  # else what was said before counts no more
        self.projects.guard(self._leave, self._stay)

    def _stay(self) -> None:
        self._leaving = False

    def _leave(self) -> None:
        """Close, when all files are written; asked once more, at once."""
        again, self._leaving, self._left = self._leaving, True, self.projects.present
        if self.jobs.writing and not again:
            self.session.say(
                "info", "The program ends when the file is written. Close it again to end now."
            )
        else:
            self.close()

    def _on_jobs_changed(self) -> None:
        if self._leaving and not self.jobs.writing and self.isVisible():
            agreed, self._leaving = self._agreed, False
            self._leave() if agreed else self.projects.guard(self._leave)

    @property
    def _agreed(self) -> bool:
        """Whether the user has said that the program may end, and nothing has been done since."""
        return self._leaving and self.projects.unchanged_since(self._left)

    # --- coming and going -------------------------------------------------------------------------

    def _restore(self) -> None:
        self.session.restore(self.preferences.spec, self.preferences.settings)
        self.restore_window(self.preferences.geometry, self.preferences.layout)
        if self.preferences.problem:
            self.session.say("warning", self.preferences.problem)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask all threads to stop, keep what comes back at the next start, and wait a moment for them.

        A person is asked about what is not saved. Whoever else closes the window (the end of a desktop
        session, a test) finds nobody to answer: the work stays in safety and is offered at the next start.
        """
        if (
            event.spontaneous()
            and not self._agreed
            and (self.projects.unsaved or self.jobs.writing)
        ):
            event.ignore()
            self.quit()
            return
        self.stop_settling()
        self.jobs.shutdown(0)
        preferences = self.preferences
        preferences.geometry, preferences.layout = self.geometry_text(), self.layout_text()
        preferences.spec, preferences.settings = self.session.spec, self.session.settings
        self.hide()
        with contextlib.suppress(OSError):  # nobody is left to be told
            preferences.save()
        self.jobs.shutdown(0.4)
        self.recovery.close(keep=self.projects.unsaved and not self._agreed)
        self.projects.close()
        super().closeEvent(event)
