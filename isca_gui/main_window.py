"""The main window: arranges panels and viewers, menus from a table, and closes in good order."""

from __future__ import annotations

import contextlib
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDockWidget,
    QFileDialog,
    QMainWindow,
    QScrollArea,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from isca_gui import theme
from isca_gui.actions import MODEL_SUFFIX as SUFFIX
from isca_gui.menus import make_menus
from isca_gui.panels.dataset import DatasetPanel
from isca_gui.panels.help import HelpPage
from isca_gui.panels.palette import Palette
from isca_gui.panels.recognise import RecognisePanel
from isca_gui.panels.reference import ReferencePanel
from isca_gui.panels.status import StatusBar
from isca_gui.panels.step import DISTORT, RECOGNISE, REFERENCE, TRAIN, WheelGuard, next_step
from isca_gui.panels.training import TrainingPanel
from isca_gui.viewers.canvas import PictureCanvas
from isca_gui.viewers.results import Results

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData
    from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QShowEvent

    from isca_gui.actions import Actions
    from isca_gui.jobs import Failure, JobRunner
    from isca_gui.preferences import Preferences
    from isca_gui.session import Message, Session

TITLE = "ISCA Studio"
LAYOUT_VERSION = 1
LOWER, CLOSED = "lower", "closed"  # viewers below the others, and those that are opened when needed
# module of isca_gui.viewers, class, title of the dock, shortcut, place
VIEWERS = (
    ("pictures", "PicturesViewer", "Pictures", "Ctrl+1", ""),
    ("bases", "BasesViewer", "Bases", "Ctrl+2", ""),
    ("reconstruction", "ReconstructionViewer", "Reconstruction", "Ctrl+3", ""),
    ("vote_map", "VoteMapViewer", "Vote map", "Ctrl+4", ""),
    ("confusion", "ConfusionViewer", "Confusion", "Ctrl+5", ""),
    ("convergence", "ConvergenceViewer", "Convergence", "Ctrl+6", LOWER),
    ("runs", "RunsViewer", "Runs", "Ctrl+7", LOWER),
    ("messages", "MessagesViewer", "Messages", "Ctrl+8", LOWER),
    ("comparison", "ComparisonViewer", "Comparison", "Ctrl+9", CLOSED),
)


class MainWindow(QMainWindow):
    """Holds the docks; what they do is theirs."""

    def __init__(self, session: Session, jobs: JobRunner, actions: Actions, preferences: Preferences) -> None:
        super().__init__()
        self.session, self.jobs, self.commands_ = session, jobs, actions
        self.preferences = preferences
        self.docks: dict[str, QDockWidget] = {}
        self._seen: set[int] = set()  # canvases whose pixel and zoom are shown already
        self._unread = self._last_live = 0
        self._settle = QTimer(
            self, interval=150, singleShot=True
        )  # a window manager takes its time to maximise
        self._settle.timeout.connect(self._share_room)
        self.setWindowTitle(TITLE)
        self.setAcceptDrops(True)
        self.setDockNestingEnabled(True)
        self.setAnimated(False)  # it would animate, and paint everything, at every change of any text
        self.setDockOptions(self.dockOptions() | QMainWindow.DockOption.AllowTabbedDocks)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.reference_panel = ReferencePanel(session, jobs, actions, preferences=preferences)
        self.dataset_panel = DatasetPanel(session, jobs, actions)
        self.training_panel = TrainingPanel(session, jobs, actions, preferences=preferences)
        self.recognise_panel = RecognisePanel(session, jobs, actions)
        self.status = StatusBar(session, jobs, actions)
        self.setStatusBar(self.status)
        self._make_docks()
        votes: Any = self.docks["vote_map"].widget()
        self.results = Results(session, jobs, votes, self.show_viewer, self)
        self.help_dock.setWidget(HelpPage(make_menus(self)))
        self._connect()
        self._restore()
        self.reference_panel.open_button.setFocus()

    # --- arrangement ----------------------------------------------------------------------------------------

    def _make_docks(self) -> None:
        self.steps = _steps(
            self.reference_panel, self.dataset_panel, self.training_panel, self.recognise_panel
        )
        left = self._dock("steps", "Steps", self.steps)
        left.setFeatures(QDockWidget.DockWidgetFeature.DockWidgetMovable)
        left.setTitleBarWidget(QWidget(left))
        for module, name, title, _, _ in VIEWERS:
            kind = getattr(importlib.import_module(f"isca_gui.viewers.{module}"), name)
            self._dock(module, title, kind(self.session, self.jobs, self.commands_))
        self.help_dock = self._dock("help", "Help", QWidget())
        self.arrange()

    def _dock(self, name: str, title: str, widget: QWidget) -> QDockWidget:
        dock = QDockWidget(title, self)
        dock.setObjectName(f"dock-{name}")
        dock.setWidget(widget)
        dock.visibilityChanged.connect(self._on_dock_visibility_changed)
        self.docks[name] = dock
        return dock

    def arrange(self) -> None:
        """Put all docks where they are at first."""
        upper = [name for name, _, _, _, place in VIEWERS if place != LOWER]
        lower = [name for name, _, _, _, place in VIEWERS if place == LOWER]
        closed = [self.help_dock, *(self.docks[name] for name, *_, place in VIEWERS if place == CLOSED)]
        for dock in self.docks.values():
            dock.setFloating(False)
            self.removeDockWidget(dock)  # from wherever it was; all are put in anew
        self.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, self.docks["steps"])
        self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.docks[upper[0]])
        low = self.screen().availableSize().height() < _LOW_SCREEN  # no room for two rows of viewers
        if not low:
            self.splitDockWidget(self.docks[upper[0]], self.docks[lower[0]], Qt.Orientation.Vertical)
        for names in [[*upper, *lower, "help"]] if low else [[*upper, "help"], lower]:
            for name in names[1:]:
                self.tabifyDockWidget(self.docks[names[0]], self.docks[name])
        for dock in self.docks.values():
            dock.setVisible(dock not in closed)
        for name in (lower[0], upper[0]):
            self.docks[name].raise_()
        self._share_room()

    def _share_room(self) -> None:
        steps, first, lower = self.docks["steps"], self.docks[VIEWERS[0][0]], self.docks["convergence"]
        self.resizeDocks(
            [steps, first], [_STEPS_WIDTH, self.width() - _STEPS_WIDTH], Qt.Orientation.Horizontal
        )
        below = max(self.height() * 3 // 10, min(_LOWER_HEIGHT, self.height() * 4 // 10))
        self.resizeDocks([first, lower], [self.height() - below, below], _VERTICAL)

    def viewers(self) -> tuple[tuple[str, str, str], ...]:
        """Give name, title and shortcut of all viewers."""
        return tuple((name, title, key) for name, _, title, key, _ in VIEWERS)

    def show_viewer(self, name: str) -> None:
        """Bring a viewer to the front."""
        self.docks[name].show()
        self.docks[name].raise_()
        widget = self.docks[name].widget()
        if widget is not None:
            widget.setFocus()

    def bring(self, name: str) -> None:
        """Raise a viewer unless it was closed; the keyboard stays where it is."""
        if not self.docks[name].isHidden():
            self.docks[name].raise_()

    # --- what the menus do ----------------------------------------------------------------------------------

    def find_action(self) -> None:
        """Let the user type what to do."""
        Palette(self.menuBar(), self).open_above(self)

    def paste(self) -> None:
        """Take a picture or a file from the clipboard as the reference."""
        data: QMimeData | None = QGuiApplication.clipboard().mimeData()  # None where nothing was ever copied
        if data is not None and data.hasUrls():
            self._take([url.toLocalFile() for url in data.urls() if url.isLocalFile()])
        elif data is not None and data.hasImage():
            self.commands_.use_image("Pasted picture", QGuiApplication.clipboard().image())
        else:
            self.session.say("warning", "There is no picture on the clipboard. Copy one first.")

    def choose_model(self) -> None:
        """Ask for a model file and open it."""
        path, _ = QFileDialog.getOpenFileName(self, "Open a model", "", f"Models (*{SUFFIX});;All files (*)")
        if path:
            self.commands_.load_model(path)

    def save_model(self) -> None:
        """Ask for a name and save the selected run's model."""
        run = self.session.run
        if run is None:
            self.session.say("warning", "There is no model yet. Train one first.")
            return
        path, _ = QFileDialog.getSaveFileName(
            self, "Save the model", f"{run.name}{SUFFIX}", f"Models (*{SUFFIX})"
        )
        if path:
            self.commands_.save_model(run, path)

    def toggle_full_screen(self) -> None:
        """Use the whole screen, or go back."""
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    def show_help(self) -> None:
        """Show the help page."""
        self.show_viewer("help")

    def choose_theme(self, choice: str) -> None:
        """Change to light, dark, or as the system."""
        self.preferences.theme = choice
        theme.apply(choice)

    # --- what happens elsewhere -----------------------------------------------------------------------------

    def _connect(self) -> None:
        session = self.session
        self.jobs.failed.connect(self._on_job_failed)
        session.message_added.connect(self._on_message_added)
        session.reference_changed.connect(self._on_reference_changed)
        self.commands_.picture_opened.connect(self.preferences.add_recent)
        for signal in (
            *(session.reference_changed, session.dataset_changed),
            *(session.run_selected, session.tested_changed),
        ):
            signal.connect(self._on_step_changed)
        session.tested_selected.connect(self._adopt_later)
        session.dataset_changed.connect(self._on_dataset_changed)
        session.runs_changed.connect(self._on_runs_changed)
        self.recognise_panel.answered.connect(self._on_answered)
        confusion: Any = self.docks["confusion"].widget()
        confusion.picture_opened.connect(self._on_answered)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._on_scheme_changed)

    def _on_dataset_changed(self) -> None:
        self.bring("pictures")

    def _on_runs_changed(self) -> None:
        live = self.session.live
        if live is not None and live.number != self._last_live:  # a training begins
            self._last_live = live.number
            self.bring("convergence")

    def _on_answered(self, _: int = 0) -> None:
        self.docks["vote_map"].show()
        self.bring("vote_map")

    def _on_scheme_changed(self) -> None:
        if self.preferences.theme == theme.SYSTEM:
            theme.apply(theme.SYSTEM)

    def _on_job_failed(self, failure: Failure) -> None:
        self.session.say("error", failure.message, f"{failure.what}\n\n{failure.details}")

    def _on_reference_changed(self) -> None:
        reference = self.session.reference
        self.setWindowTitle(f"{reference.name} — {TITLE}" if reference is not None else TITLE)

    def _on_message_added(self, message: Message) -> None:
        if message.level != "info" and not _seen(self.docks["messages"]):
            self._unread += 1
        self._name_messages()

    def _name_messages(self) -> None:
        if _seen(self.docks["messages"]):
            self._unread = 0
        self.docks["messages"].setWindowTitle(f"Messages ({self._unread})" if self._unread else "Messages")

    def _on_step_changed(self) -> None:
        """Bring the step that is next into sight."""
        panels: dict[str, QWidget] = {
            REFERENCE: self.reference_panel, DISTORT: self.dataset_panel,
            TRAIN: self.training_panel, RECOGNISE: self.recognise_panel,
        }  # fmt: skip
        panel = panels[next_step(self.session)]
        QTimer.singleShot(0, self, lambda: self.steps.ensureWidgetVisible(panel, 0, 6))
        self._adopt_later()

    def _on_dock_visibility_changed(self, _: bool) -> None:
        if "messages" in self.docks:
            self._name_messages()
        self._adopt_later()

    def _adopt_later(self) -> None:
        QTimer.singleShot(0, self, self._adopt_canvases)

    def _adopt_canvases(self) -> None:
        """Show pixel and zoom of every picture pane, also of those made since."""
        for canvas in self.findChildren(PictureCanvas):
            if id(canvas) not in self._seen:
                self._seen.add(id(canvas))
                canvas.pixel_changed.connect(self.status.show_pixel)
                canvas.pixel_changed.connect(self._on_pixel_changed)

    def _on_pixel_changed(self) -> None:
        canvas = self.sender()
        if isinstance(canvas, PictureCanvas):
            self.status.show_zoom(canvas.zoom())

    # --- drag and drop --------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept files."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open what is dropped: one picture as reference, a folder as dataset, several pictures as tests."""
        event.acceptProposedAction()
        self._take([url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()])

    def _take(self, paths: list[str]) -> None:
        if len(paths) == 1 and Path(paths[0]).is_dir():
            self.commands_.import_folder(paths[0])
        elif len(paths) == 1 and Path(paths[0]).suffix == SUFFIX:
            self.commands_.load_model(paths[0])
        elif len(paths) == 1:
            self.commands_.open_picture(paths[0])
        elif paths:
            self.recognise_panel.recognise(paths)

    # --- coming and going -----------------------------------------------------------------------------------

    def _restore(self) -> None:
        self.session.restore(self.preferences.spec, self.preferences.settings)
        self.resize(_first_size(self))
        geometry, layout = (_bytes(text) for text in (self.preferences.geometry, self.preferences.layout))
        if not geometry.isEmpty():
            self.restoreGeometry(geometry)
        elif self.screen().availableSize().width() < _SMALL_SCREEN:
            self.setWindowState(Qt.WindowState.WindowMaximized)
        self._restored = not layout.isEmpty() and self.restoreState(layout, LAYOUT_VERSION)
        if self.preferences.problem:
            self.session.say("warning", self.preferences.problem)

    def showEvent(self, event: QShowEvent) -> None:
        """Share the room among the docks when its size is known, unless the user has done so."""
        super().showEvent(event)
        if not self._restored:
            self._restored = True
            self._settle.start()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask all threads to stop, keep what comes back at the next start, and wait a moment for them."""
        self._settle.stop()
        self.jobs.shutdown(0)
        preferences = self.preferences
        preferences.geometry = bytes(self.saveGeometry().toBase64().data()).decode()
        preferences.layout = bytes(self.saveState(LAYOUT_VERSION).toBase64().data()).decode()
        preferences.spec, preferences.settings = self.session.spec, self.session.settings
        self.hide()
        with contextlib.suppress(OSError):  # nobody is left to be told
            preferences.save()
        self.jobs.shutdown(0.4)
        super().closeEvent(event)


_STEPS_WIDTH = 372
_LOWER_HEIGHT = 285  # pixels; leaves the plot about 170
_LOW_SCREEN = 600
_SMALL_SCREEN = 1500  # pixels; below it the window takes all there is
_VERTICAL = Qt.Orientation.Vertical


def _steps(*panels: QWidget) -> QScrollArea:
    inside = QWidget()
    layout = QVBoxLayout(inside)
    layout.setContentsMargins(6, 6, 6, 6)
    layout.setSpacing(7)
    for panel in panels:
        layout.addWidget(panel)
    layout.addStretch(1)
    area = QScrollArea()
    area.setObjectName("steps")
    area.setWidget(inside)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setMinimumWidth(inside.minimumSizeHint().width() + area.verticalScrollBar().sizeHint().width() + 2)
    area.setMaximumWidth(_STEPS_WIDTH + 80)  # room is better spent on pictures
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    WheelGuard(area)
    return area


def _seen(dock: QDockWidget) -> bool:
    return dock.isVisible() and not dock.visibleRegion().isEmpty()


def _bytes(text: str) -> QByteArray:
    return QByteArray.fromBase64(text.encode("utf-8", "ignore"))


def _first_size(window: QWidget) -> QSize:
    room = window.screen().availableSize()
    return QSize(room.width() * 9 // 10, room.height() * 9 // 10)
