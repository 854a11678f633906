"""The menus of the main window, from one table: text, key, sentence and what is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QAction, QActionGroup, QKeySequence

from isca_gui.session.undo import commit_typed
from isca_gui.widgets import theme
from isca_gui.widgets.quiet_widgets import escape_ampersands

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QMenu

FILE, EDIT, RUN, VIEW, RESULTS, HELP = "&File", "&Edit", "&Run", "&View", "Re&sults", "&Help"


_RECENT = "&Recent projects"
SAVE, SAVE_ACTION = "&Save project", "save-project"
SAVE_SENTENCE = "Write reference, dataset, runs and tested pictures to one project."
_PACK = "Write the project with all its files into one, to send or to keep; the work goes on with this one."
_COPY = "Write the project with all its files to another place; the work goes on with this one."
_PAPER = "Run the experiments of the paper on the reference and write a report; some minutes."
_QUICK = "The same with a smaller picture and fewer levels; about a minute."


@dataclass(frozen=True)
class Command:
    """One line of the menus."""

    menu: str
    text: str
    key: str
    sentence: str
    work: Callable[[], object]


def table(window: Any) -> tuple[Command | str, ...]:
    """Give all menu lines; a bare menu name draws a line."""
    act, results, projects = window.menu_actions, window.results, window.projects
    generate = window.dataset_panel.generate
    stop = "Stop what is under way; a training keeps its last whole epoch."
    return (
        Command(FILE, "&New project", "Ctrl+N", "Begin anew.", projects.new),
        Command(FILE, "Open pro&ject…", "Ctrl+Shift+O", "Open a project file.", projects.ask_open),
        Command(FILE, _RECENT, "", "Open a project that was opened before.", projects.ask_open),
        Command(FILE, SAVE, "Ctrl+S", SAVE_SENTENCE, projects.save),
        Command(
            FILE, "Save project &as…", "Ctrl+Shift+S", "Write it to another file.", projects.save_as
        ),
        Command(FILE, "Save a &copy…", "", _COPY, projects.save_copy),
        Command(FILE, "Save as one &file…", "", _PACK, projects.save_packed),
        FILE,
        Command(
            FILE, "&Open reference…", "Ctrl+O", "Open a picture.", window.reference_panel.choose
        ),
        Command(
            FILE, "&Paste reference", "Ctrl+V", "Take the picture of the clipboard.", window.paste
        ),
        Command(FILE, "&Import dataset…", "", "Read a folder.", window.dataset_panel.choose_folder),
        Command(
            FILE, "Save &dataset…", "", "Write the dataset to a folder.", window.dataset_panel.save
        ),
        FILE,
        Command(FILE, "Open &model…", "", "Read a model file.", window.choose_model),
        Command(FILE, "Sa&ve model…", "", "Write the selected run's model.", window.save_model),
        FILE,
        Command(FILE, "&Quit", "Ctrl+Q", "End the program.", window.quit),
        Command(RUN, "&Generate dataset", "Ctrl+G", "Make the distorted pictures.", generate),
        Command(RUN, "&Train", "Ctrl+T", "Learn from the dataset.", window.training_panel.train),
        Command(
            RUN, "&Recognise pictures…", "Ctrl+R", "Open pictures.", window.recognise_panel.choose
        ),
        Command(
            RUN,
            "&Mystery picture",
            "Ctrl+M",
            "Let the model guess.",
            window.recognise_panel.mystery,
        ),
        RUN,
        Command(RUN, "&Stop", "Esc", stop, act.stop),
        Command(VIEW, "&Full screen", "F11", "Use the whole screen.", window.toggle_full_screen),
        Command(VIEW, "&Arrange as at first", "", "Put all docks back.", window.arrange),
        Command(RESULTS, "&Reproduce the paper…", "", _PAPER, results.ask_reproduce),
        Command(
            RESULTS, "Reproduce the paper, &quick…", "", _QUICK, lambda: results.ask_reproduce(True)
        ),
        RESULTS,
        Command(RESULTS, "&Compare all runs", "", "All runs in one table.", results.compare),
        Command(
            RESULTS, "&Export model…", "", "Write the selected run's model.", window.save_model
        ),
        RESULTS,
        Command(RESULTS, "Save vote &map…", "", "Write the map as a picture.", results.save_map),
        Command(
            RESULTS, "Save &votes as CSV…", "", "Write the vote of every block.", results.save_votes
        ),
        Command(
            RESULTS, "Save &answers as CSV…", "", "Write all verdicts.", window.recognise_panel.save
        ),
        Command(
            RESULTS, "Copy as c&ommand", "", "Copy the isca classify line.", results.copy_command
        ),
        Command(HELP, "&Find an action…", "Ctrl+Shift+P", "Find any action.", window.find_action),
        Command(HELP, HELP, "F1", "The page of what has the keyboard.", window.guide.help_here),
        Command(HELP, "&Contents", "", "All pages of the help.", window.guide.contents),
        Command(
            HELP,
            "&What's this?",
            "Shift+F1",
            "Explain what is clicked next.",
            window.guide.whats_this,
        ),
        HELP,
        Command(HELP, "&Start page", "", "Ways to begin.", window.guide.show_start),
        Command(
            HELP, "Take the &tour", "", "Five stops at the real controls.", window.guide.take_tour
        ),
    )


class _Work:
    """Does the work of a line; what is being typed counts, unless that is to be stopped."""

    def __init__(self, line: Command) -> None:
        self._line = line

    def __call__(self) -> None:
        if self._line.menu in (FILE, RUN) and self._line.key != "Esc":
            commit_typed()
        self._line.work()


def make_menus(window: Any) -> list[tuple[str, str]]:
    """Fill the menu bar; gives all keys with what they do, for the help page."""
    menus = {
        name: window.menuBar().addMenu(name) for name in (FILE, EDIT, VIEW, RUN, RESULTS, HELP)
    }
    stack = window.session.undo
    for action, key in (
        (stack.createUndoAction(window, "Undo"), "Ctrl+Z"),
        (stack.createRedoAction(window, "Redo"), "Ctrl+Shift+Z"),
    ):
        action.setShortcut(QKeySequence(key))
        menus[EDIT].addAction(action)
    keys = [
        ("Ctrl+Z", "Undo an edit of dataset or training settings."),
        ("Ctrl+Shift+Z", "Redo it."),
    ]
    keys += _add_viewers(window, menus[VIEW])
    _add_themes(window, menus[VIEW].addMenu("&Theme"))
    for line in table(window):
        if isinstance(line, str):
            menus[line].addSeparator()
            continue
        if line.text == _RECENT:
            _add_recent(window, menus[line.menu].addMenu(_RECENT))
            continue
        action = menus[line.menu].addAction(line.text)
        action.setObjectName(SAVE_ACTION if line.text == SAVE else "")
        action.setShortcut(QKeySequence(line.key))
        action.setToolTip(line.sentence)
        action.triggered.connect(_Work(line))
        keys += [(line.key, line.sentence)] if line.key else []
    return keys


def _add_viewers(window: Any, menu: QMenu) -> list[tuple[str, str]]:
    for name, title, key in window.viewers():
        action = menu.addAction(title)
        action.setShortcut(QKeySequence(key))
        action.triggered.connect(lambda _=False, name=name: window.show_viewer(name))
    menu.addSeparator()
    return [(key, f"Show {title}.") for _, title, key in window.viewers()]


def _add_recent(window: Any, menu: QMenu) -> None:
    shown: list[list[str]] = []

    def fill() -> None:
        recent = list(window.preferences.recent_projects)
        if shown == [recent]:  # its actions stay the same ones: somebody may be choosing
            return
        shown[:] = [recent]
        menu.clear()
        for path in recent:
            action = menu.addAction(escape_ampersands(path))
            action.triggered.connect(lambda _=False, path=path: window.projects.open(path))
        if not menu.actions():
            menu.addAction("No project was opened before").setEnabled(False)

    menu.aboutToShow.connect(fill)
    window.projects.changed.connect(fill)
    fill()


def _add_themes(window: Any, menu: QMenu) -> None:
    group = QActionGroup(menu)
    for choice, title in theme.CHOICES.items():
        action = QAction(title, group)
        action.setCheckable(True)
        action.setChecked(choice == window.preferences.theme)
        action.setData(choice)
        menu.addAction(action)
    group.triggered.connect(lambda action: window.choose_theme(action.data()))
