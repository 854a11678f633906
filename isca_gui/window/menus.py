"""The menus of the main window, from one table: text, key, tooltip and action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QAction, QActionGroup, QKeySequence

from isca_gui.session.undo import commit_typed
from isca_gui.widgets import theme
from isca_gui.widgets.quiet_widgets import escape_ampersands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from PySide6.QtWidgets import QMenu

FILE = "&File"
EDIT = "&Edit"
VIEW = "&View"
RUN = "&Run"
RESULTS = "Re&sults"
HELP = "&Help"

COMPARE = "&Compare a copy with its original"
SAVE = "&Save project"
SAVE_ACTION = "save-project"
SAVE_SENTENCE = "Save the reference, dataset, runs and test pictures as a project."
_COMPARE = "Drop two pictures and read what was done to one of them."
_RECENT = "&Recent projects"
_SAVE_AS = "Save the project under a new name."
_COPY = "Save a copy elsewhere, with all its files. You continue to work on this project."
_PACK = "Save a copy as a single file, to send or archive. You continue to work on this project."
_PAPER = "Run the paper's experiments on the reference and write a report. Takes a few minutes."
_QUICK = "Run the experiments on a smaller picture with fewer levels. Takes about a minute."
_COMMAND = "Copy this recognition as an isca classify command."
_MODEL = "Save the model of the selected run."
_VOTES = "Save the votes of all blocks as a table."
_TOUR = "Walk through the program in five stops."
_MYSTERY = "Distort the reference at random and guess how."
_ABOUT = "Show the version, the licence and the program's folders."
_RESET = "Put all docks back in their original places."
_STOP = "Stop the current job. Training keeps its last complete epoch."


@dataclass(frozen=True)
class Command:
    """One line of the menus."""

    menu: str
    text: str
    key: str
    sentence: str
    action: Callable[[], object]


def table(window: Any) -> Iterator[Command | str]:
    """Yield all menu lines; the bare name of a menu stands for a separator in it."""
    yield from _file_menu(window)
    yield from _run_menu(window)
    yield Command(
        VIEW, "&Full screen", "F11", "Enter or leave full screen.", window.toggle_full_screen
    )
    yield Command(VIEW, "&Reset layout", "", _RESET, window.dock_manager.reset)
    yield from _results_menu(window)
    yield from _help_menu(window)


def _file_menu(window: Any) -> tuple[Command | str, ...]:
    projects = window.projects
    dataset = window.dataset_panel
    choose_reference = window.reference_panel.choose
    return (
        Command(FILE, "&New project", "Ctrl+N", "Start a new project.", projects.new),
        Command(FILE, "Open pro&ject…", "Ctrl+Shift+O", "Open a project.", projects.ask_open),
        Command(FILE, _RECENT, "", "Open a recent project.", projects.ask_open),
        Command(FILE, SAVE, "Ctrl+S", SAVE_SENTENCE, projects.save),
        Command(FILE, "Save project &as…", "Ctrl+Shift+S", _SAVE_AS, projects.save_as),
        Command(FILE, "Save a &copy…", "", _COPY, projects.save_copy),
        Command(FILE, "Save as one &file…", "", _PACK, projects.save_packed),
        FILE,
        Command(FILE, "&Open reference…", "Ctrl+O", "Open a reference picture.", choose_reference),
        Command(FILE, "&Paste reference", "Ctrl+V", "Paste a reference picture.", window.paste),
        Command(FILE, "&Import dataset…", "", "Open a dataset folder.", dataset.choose_folder),
        Command(FILE, "Save &dataset…", "", "Save the dataset in a folder.", dataset.save),
        FILE,
        Command(FILE, "Open &model…", "", "Open a model file.", window.choose_model),
        Command(FILE, "Sa&ve model…", "", _MODEL, window.save_model),
        FILE,
        Command(FILE, "&Quit", "Ctrl+Q", "Quit the program.", window.quit),
    )


def _run_menu(window: Any) -> tuple[Command | str, ...]:
    generate = window.dataset_panel.generate
    train = window.training_panel.train
    panel = window.recognise_panel
    return (
        Command(RUN, COMPARE, "Ctrl+Shift+C", _COMPARE, window.compare),
        RUN,
        Command(RUN, "&Generate dataset", "Ctrl+G", "Make the distorted pictures.", generate),
        Command(RUN, "&Train", "Ctrl+T", "Train a model on the dataset.", train),
        Command(RUN, "&Recognise pictures…", "Ctrl+R", "Choose test pictures.", panel.choose),
        Command(RUN, "&Mystery picture", "Ctrl+M", _MYSTERY, panel.mystery),
        RUN,
        Command(RUN, "&Stop", "Esc", _STOP, window.menu_actions.stop),
    )


def _results_menu(window: Any) -> tuple[Command | str, ...]:
    results = window.results
    save_answers = window.recognise_panel.save

    def reproduce_quickly() -> None:
        results.ask_reproduce(True)

    return (
        Command(RESULTS, "&Reproduce the paper…", "", _PAPER, results.ask_reproduce),
        Command(RESULTS, "Reproduce the paper, &quick…", "", _QUICK, reproduce_quickly),
        RESULTS,
        Command(RESULTS, "&Compare all runs", "", "Show all runs in one table.", results.compare),
        Command(RESULTS, "&Export model…", "", _MODEL, window.save_model),
        RESULTS,
        Command(RESULTS, "Save vote &map…", "", "Save the map as a picture.", results.save_map),
        Command(RESULTS, "Save &votes as CSV…", "", _VOTES, results.save_votes),
        Command(RESULTS, "Save &answers as CSV…", "", "Save all answers as a table.", save_answers),
        Command(RESULTS, "Copy as c&ommand", "", _COMMAND, results.copy_command),
    )


def _help_menu(window: Any) -> tuple[Command | str, ...]:
    guide = window.guide
    return (
        Command(HELP, "&Find an action…", "Ctrl+Shift+P", "Search all menus.", window.find_action),
        Command(HELP, HELP, "F1", "Show help for the focused control.", guide.help_here),
        Command(HELP, "&Contents", "", "Show all help pages.", guide.contents),
        Command(HELP, "&What's this?", "Shift+F1", "Click any control for help.", guide.whats_this),
        HELP,
        Command(HELP, "&Start page", "", "Show the start page.", guide.show_start),
        Command(HELP, "Take the &tour", "", _TOUR, guide.take_tour),
        HELP,
        Command(HELP, "&About ISCA Studio", "", _ABOUT, window.about),
    )


class _Trigger:
    """Runs the action of a menu line; what is being typed is committed first, unless it stops."""

    def __init__(self, line: Command) -> None:
        self._line = line

    def __call__(self) -> None:
        if self._line.menu in (FILE, RUN) and self._line.key != "Esc":
            commit_typed()
        self._line.action()


def make_menus(window: Any) -> list[tuple[str, str]]:
    """Fill the menu bar and return all keys with what they do, for the help page."""
    names = (FILE, EDIT, VIEW, RUN, RESULTS, HELP)
    menus = {name: window.menuBar().addMenu(name) for name in names}
    keys = _add_undo(window, menus[EDIT])
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
        if line.text == SAVE:
            # The main window changes the tooltip of this action.
            action.setObjectName(SAVE_ACTION)
        action.setShortcut(QKeySequence(line.key))
        action.setToolTip(line.sentence)
        action.triggered.connect(_Trigger(line))
        if line.key:
            keys.append((line.key, line.sentence))
    return keys


def _add_undo(window: Any, menu: QMenu) -> list[tuple[str, str]]:
    stack = window.session.undo
    undo = stack.createUndoAction(window, "Undo")
    undo.setShortcut(QKeySequence("Ctrl+Z"))
    menu.addAction(undo)
    redo = stack.createRedoAction(window, "Redo")
    redo.setShortcut(QKeySequence("Ctrl+Shift+Z"))
    menu.addAction(redo)
    return [
        ("Ctrl+Z", "Undo a change to the dataset or training settings."),
        ("Ctrl+Shift+Z", "Redo the change that was undone."),
    ]


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
        # If nothing has changed the actions stay, because the user may be choosing one.
        if shown == [recent]:
            return
        shown[:] = [recent]
        menu.clear()
        for path in recent:
            action = menu.addAction(escape_ampersands(path))
            action.triggered.connect(lambda _=False, path=path: window.projects.open(path))
        if not menu.actions():
            menu.addAction("No recent projects").setEnabled(False)

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
