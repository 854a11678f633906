"""The program: application, options of the plots, uncaught exceptions, and `main`."""

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

_SWITCH = 0.001  # seconds after which a thread of Python's gives way: the window must not wait for its turn


class Hooks(QObject):
    """Turns uncaught exceptions of any thread into messages."""

    caught = Signal(str, str)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.caught.connect(self._on_caught)
        self._before = sys.excepthook, threading.excepthook
        sys.excepthook, threading.excepthook = self._on_exception, self._on_thread_exception

    def remove(self) -> None:
        """Put back what was there before."""
        sys.excepthook, threading.excepthook = self._before

    def _on_exception(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        details = "".join(traceback.format_exception(kind, error, trace))
        if issubclass(kind, KeyboardInterrupt):
            QApplication.quit()
            return
        if sys.__stderr__ is not None:  # there is none in a windowed bundle
            sys.__stderr__.write(details)
        self.caught.emit(explain(error), details)

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        self._on_exception(args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback)

    def _on_caught(self, text: str, details: str) -> None:
        self._session.say("error", text, details)


def make_application() -> QApplication:
    """Make the application, or give the one that is there."""
    found = QApplication.instance()
    app = found if isinstance(found, QApplication) else QApplication(sys.argv[:1])
    app.setApplicationName("isca-studio")
    app.setApplicationDisplayName("ISCA Studio")
    app.setApplicationVersion(isca_gui.__version__)
    app.setDesktopFileName("org.isca_studio.isca_studio")  # of packaging/linux: desktops go by it
    app.setStyle("Fusion")
    icon = resources.find("icon.svg")
    if icon is not None:
        app.setWindowIcon(QIcon(str(icon)))
    import pyqtgraph

    pyqtgraph.setConfigOptions(imageAxisOrder="row-major", antialias=True)
    return app


def make_window(preferences: Preferences) -> MainWindow:
    """Make the window with its session; the sample is opened and the solver prepared when it is shown."""
    from isca_gui.window.main_window import MainWindow

    session, jobs = Session(), JobRunner()
    actions = Actions(session, jobs)
    window = MainWindow(session, jobs, actions, preferences)
    for child in (session, jobs, actions):
        child.setParent(window)
    return window


def begin(window: MainWindow, path: str | None = None) -> None:
    """Open the first picture, or a project, and prepare the solver, beside the window."""
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
    """Run the program until its window is closed; as a program of its own, that ends the process."""
    options = _parser().parse_args(sys.argv[1:] if argv is None else argv)
    sys.setswitchinterval(_SWITCH)
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
    window.jobs.shutdown(0)  # the window has waited already
    hooks.remove()
    if ours:
        _leave(code)
    return code


def _leave(code: int) -> NoReturn:
    """End the process at once; all that is to be kept has been written.

    Python's own tidying up takes longer than all the rest, and would crash under a thread that cannot be
    interrupted, such as one that compiles.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # there are none in a windowed bundle
            stream.flush()
    os._exit(code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "isca-gui", description="ISCA Studio: what was done to a picture?"
    )
    words = "a project, or a picture to open as the reference, or sample:NAME"
    parser.add_argument("picture", nargs="?", help=words)
    parser.add_argument(
        "--version", action="version", version=f"ISCA Studio {isca_gui.__version__}"
    )
    parser.add_argument(
        "--self-test-latency", type=float, metavar="SECONDS",
        help="train for so long and print how late the window answered, beside an idle window",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
