"""The program: application, first window, uncaught exceptions, and `main`."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

import isca_gui
from isca_gui.core.storage import resources
from isca_gui.jobs.actions import Actions
from isca_gui.jobs.runner import JobRunner, explain
from isca_gui.session.preferences import Preferences
from isca_gui.session.session import Session
from isca_gui.widgets import theme
from isca_gui.widgets.dialogs import PROJECTS

if TYPE_CHECKING:
    from isca_gui.window.main_window import MainWindow

# Seconds after which Python threads give way to each other; the window must not wait for its turn.
_SWITCH_INTERVAL = 0.001


class Hooks(QObject):
    """Turns uncaught exceptions of any thread into error messages."""

    caught = Signal(str, str)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.caught.connect(self._on_caught)
        self._before = (sys.excepthook, threading.excepthook)
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception

    def remove(self) -> None:
        """Restore the previous hooks."""
        sys.excepthook, threading.excepthook = self._before

    def _on_exception(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        details = "".join(traceback.format_exception(kind, error, trace))
        if issubclass(kind, KeyboardInterrupt):
            QApplication.quit()
            return
        # A windowed bundle has no stderr.
        if sys.__stderr__ is not None:
            sys.__stderr__.write(details)
        self.caught.emit(explain(error), details)

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        self._on_exception(args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback)

    def _on_caught(self, text: str, details: str) -> None:
        self._session.say("error", text, details)


def make_application() -> QApplication:
    """Return the application; make it if there is none yet."""
    found = QApplication.instance()
    app = found if isinstance(found, QApplication) else QApplication(sys.argv[:1])
    app.setApplicationName("isca-studio")
    app.setApplicationDisplayName("ISCA Studio")
    app.setApplicationVersion(isca_gui.__version__)
    # Linux desktops find the icon and the name by this file of packaging/linux.
    app.setDesktopFileName("org.isca_studio.isca_studio")
    app.setStyle("Fusion")
    icon = resources.find("icon.svg")
    if icon is not None:
        app.setWindowIcon(QIcon(str(icon)))
    import pyqtgraph

    pyqtgraph.setConfigOptions(imageAxisOrder="row-major", antialias=True)
    return app


def make_window(preferences: Preferences) -> MainWindow:
    """Return the window with its session; `begin` opens the first picture once it is shown."""
    from isca_gui.window.main_window import MainWindow

    session = Session()
    jobs = JobRunner()
    actions = Actions(session, jobs)
    window = MainWindow(session, jobs, actions, preferences)
    for child in (session, jobs, actions):
        child.setParent(window)
    return window


def begin(window: MainWindow, path: str | None = None) -> None:
    """Open the first picture or a project, and compile the solver in the background."""
    if path and path.endswith(PROJECTS):
        window.projects.open(path)
    elif path:
        window.menu_actions.open_picture(path)
    else:
        window.menu_actions.open_sample()
    window.guide.welcome(path)
    window.menu_actions.prepare()
    window.recovery.look()


def main(argv: list[str] | None = None) -> int:
    """Run the program until its window is closed, then end the process if it is ours."""
    options = _parser().parse_args(sys.argv[1:] if argv is None else argv)
    sys.setswitchinterval(_SWITCH_INTERVAL)
    ours = QApplication.instance() is None
    app = make_application()
    preferences = Preferences()
    theme.apply(preferences.theme)
    window = make_window(preferences)
    hooks = Hooks(window.session)
    window.show()
    QTimer.singleShot(0, window, lambda: begin(window, options.picture))
    if options.self_test_latency:
        from isca_gui.window import latency

        code = latency.run(window, options.self_test_latency)
    else:
        code = app.exec()
    # Closing the window has waited for the jobs already.
    window.jobs.shutdown(0)
    hooks.remove()
    if ours:
        _leave(code)
    return code


def _leave(code: int) -> NoReturn:
    """End the process at once; everything to be kept has been written.

    Python's own finalisation is slow, and would crash under a thread that cannot be interrupted,
    such as one that compiles.
    """
    for stream in (sys.stdout, sys.stderr):
        # A windowed bundle has neither stream.
        if stream is not None:
            stream.flush()
    os._exit(code)


def _parser() -> argparse.ArgumentParser:
    description = "ISCA Studio: find out what was done to a picture."
    parser = argparse.ArgumentParser("isca-gui", description=description)
    what = "a project, a picture to open as the reference, or sample:NAME"
    parser.add_argument("picture", nargs="?", help=what)
    version = f"ISCA Studio {isca_gui.__version__}"
    parser.add_argument("--version", action="version", version=version)
    latency = (
        "train for SECONDS and print how quickly the window responds, compared with an idle one"
    )
    parser.add_argument("--self-test-latency", type=float, metavar="SECONDS", help=latency)
    return parser


if __name__ == "__main__":
    sys.exit(main())
