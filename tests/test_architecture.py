"""The rules of the layout: which room imports which, what must not be used, and the style."""

from __future__ import annotations

import ast
import functools
import io
import json
import subprocess
import sys
import time
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from isca_gui import cli
from tests.conftest import LONG as LONG_FILES
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Checker = Callable[["Module"], list[str]]

PACKAGE = ROOT / "isca_gui"

QT = {"PySide6", "shiboken6", "pyqtgraph", "PyQt5", "PyQt6", "PySide2", "qtpy"}
DRAWING = {"matplotlib"}
HEAVY = {"numpy", "scipy", "skimage", "PIL", "numba", "tifffile", "rich"}

# What the modules of a room may import from the package besides their own room. The rooms of the
# core have rows of their own; `core` stands for the modules directly in it, which its rooms share.
BASE = {"core", "core.storage", "core.pictures"}
ENGINE = {"core", "core.*"}
WINDOW = ENGINE | {"session", "jobs", "widgets"}
ROOMS: dict[str, set[str]] = {
    "core": set(),
    "core.storage": set(),
    "core.pictures": {"core.storage"},
    "core.distortion": BASE,
    "core.solvers": BASE,
    "core.model": BASE | {"core.distortion", "core.solvers"},
    "core.recognition": BASE | {"core.distortion", "core.solvers", "core.model"},
    "core.alignment": BASE,
    "core.comparison": BASE
    | {"core.alignment", "core.distortion", "core.model", "core.recognition"},
    "core.projects": BASE | {"core.distortion", "core.model", "core.recognition"},
    "core.paper": ENGINE,
    "bench": ENGINE,
    "cli": ENGINE | {"bench"},
    "session": ENGINE,
    "jobs": ENGINE | {"session"},
    "widgets": ENGINE | {"session", "jobs"},
    "panels": WINDOW,
    "viewers": WINDOW,
    "projects": WINDOW,
    "help": WINDOW | {"viewers"},
    "window": WINDOW | {"panels", "viewers", "projects", "help"},
    "app": WINDOW | {"window"},
    "__main__": {"app", "cli"},
    "__init__": set(),
}
WITHOUT_QT = {"core", "bench", "cli", "__main__", "__init__"}

UNSAFE_MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "joblib",
}
UNSAFE_CALLS = {
    "eval",
    "exec",
    "os.system",
    "os.popen",
    "yaml.load",
    "yaml.unsafe_load",
    "yaml.full_load",
}
UNSAFE_KEYWORDS = {"allow_pickle", "shell"}
NETWORK = {
    "urllib.request",
    "urllib3",
    "http",
    "requests",
    "httpx",
    "aiohttp",
    "ftplib",
    "smtplib",
    "poplib",
    "imaplib",
    "telnetlib",
    "nntplib",
    "xmlrpc",
    "socketserver",
    "ssl",
    "socket",
    "PySide6.QtNetwork",
    # These download pictures.
    "pooch",
    "skimage.data",
}
# The name of the host is part of the names of temporary files.
SOCKET_USERS = {"core/storage/files.py": {"gethostname"}}

# A bound against accidents, not a measure: a module is as long as its subject.
MOST_MODULE_LINES = 1000
MOST_FUNCTION_LINES = 60

# Docstrings say "Return …", "Whether …", or the verb of what is done.
UNWANTED_BEGINNINGS = {"Give", "Gives", "Tell", "Tells", "Say", "Says"}
# Rooms whose style is not checked yet.
STYLE_PENDING: set[str] = set()


@dataclass(frozen=True)
class Module:
    """A module of the package: its path inside it, such as core/settings.py, and its text."""

    place: str
    text: str

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.place)

    @property
    def name(self) -> str:
        """The full name, such as isca_gui.core.settings, or that of the package for __init__."""
        path = self.place.removesuffix(".py").removesuffix("__init__").strip("/")
        return ".".join(["isca_gui", *path.split("/")]).strip(".")

    @property
    def room(self) -> str:
        """The room, such as core.pictures for core/pictures/image.py."""
        folders = self.place.removesuffix(".py").split("/")
        if folders[0] == "core" and len(folders) > 2:
            return f"core.{folders[1]}"
        return folders[0]

    @property
    def top_room(self) -> str:
        return self.room.split(".")[0]

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))

    @functools.cached_property
    def imports(self) -> list[tuple[str, bool]]:
        """The full name of everything imported, and whether the import of the module runs it."""
        later = set()
        for node in self.nodes(ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda):
            later |= {id(inner) for inner in ast.walk(node)}
        for block in self.nodes(ast.If):
            if ast.unparse(block.test) == "TYPE_CHECKING":
                for statement in block.body:
                    later |= {id(inner) for inner in ast.walk(statement)}
        return [
            (name, id(node) not in later)
            for node in ast.walk(self.tree)
            for name in self._imported_by(node)
        ]

    def _imported_by(self, node: ast.AST) -> list[str]:
        if isinstance(node, ast.Import):
            return [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            package = ["isca_gui", *self.place.split("/")[:-1]]
            above = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (above, node.module) if part)
            return [f"{module}.{alias.name}" for alias in node.names]
        importers = ("importlib.import_module", "__import__", "import_module")
        if isinstance(node, ast.Call) and called(node) in importers:
            text = node.args[0] if node.args else None
            if isinstance(text, ast.JoinedStr):
                text = text.values[0] if text.values else None
            return [str(text.value)] if isinstance(text, ast.Constant) else ["?"]
        return []


MODULES = [
    Module(path.relative_to(PACKAGE).as_posix(), path.read_text("utf-8"))
    for path in sorted(PACKAGE.rglob("*.py"))
]


def called(node: ast.Call) -> str:
    """The name of what is called, with dots; empty for what has no name."""
    return ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""


def is_in(name: str, modules: set[str]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def room_of_name(name: str) -> str:
    """The room of a full name, such as core.pictures for isca_gui.core.pictures.image."""
    parts = name.split(".")[1:]
    if parts[0] == "core" and len(parts) > 1 and f"core.{parts[1]}" in ROOMS:
        return f"core.{parts[1]}"
    return parts[0]


def allowed(room: str) -> set[str]:
    """The rooms that a room may import from, itself among them."""
    rooms = ROOMS[room] | {room}
    if "core.*" in rooms:
        rooms |= {name for name in ROOMS if name.startswith("core.")}
    return rooms - {"core.*"}


# --- the checkers: each takes a module and lists what is wrong ----------------------------------


def check_rooms(module: Module) -> list[str]:
    """Imports go one way: core, then session and jobs, panels and viewers, window, app."""
    if module.room not in ROOMS:
        return [f"{module.place} has no room in ROOMS"]
    wrong = []
    for name, _ in module.imports:
        parts = name.split(".")
        if parts[0] != "isca_gui" or parts[1:] in ([], ["__version__"]):
            continue
        if name == "isca_gui." and module.place == "window/main_window.py":
            # The main window loads its viewers by the module names in a table.
            continue
        if room_of_name(name) not in allowed(module.room):
            wrong.append(f"{module.room} imports {name}")
    return wrong


def check_package_use(module: Module) -> list[str]:
    """The bare package is imported for its version only."""
    return [
        f"uses isca_gui.{node.attr}"
        for node in module.nodes(ast.Attribute)
        if ast.unparse(node.value) == "isca_gui" and node.attr != "__version__"
    ]


def check_qt(module: Module) -> list[str]:
    """The engine and the command line do not use Qt, and load matplotlib only to draw."""
    if module.top_room not in WITHOUT_QT:
        return []
    wrong = [name for name, _ in module.imports if is_in(name, QT)]
    wrong += [name for name, at_once in module.imports if at_once and is_in(name, DRAWING)]
    return wrong


def check_printing(module: Module) -> list[str]:
    """The core does not print."""
    if module.top_room != "core":
        return []
    calls = {called(node) for node in module.nodes(ast.Call)}
    return sorted(calls & {"print", "sys.stdout.write", "sys.stderr.write", "builtins.print"})


def check_unsafe(module: Module) -> list[str]:
    """Nothing runs what it reads: no pickle, no eval, no shell."""
    wrong = [name for name, _ in module.imports if is_in(name, UNSAFE_MODULES)]
    wrong += [name for name, _ in module.imports if name in UNSAFE_CALLS]
    for node in module.nodes(ast.Call):
        if called(node).removeprefix("builtins.") in UNSAFE_CALLS:
            wrong.append(called(node))
        for keyword in node.keywords:
            if keyword.arg in UNSAFE_KEYWORDS and ast.unparse(keyword.value) != "False":
                wrong.append(ast.unparse(keyword))
    return wrong


def check_network(module: Module) -> list[str]:
    """Nothing uses the network."""
    found = [name for name, _ in module.imports if is_in(name, NETWORK)]
    exempt = SOCKET_USERS.get(module.place)
    if exempt is None:
        return found
    used = {
        node.attr
        for node in module.nodes(ast.Attribute)
        if isinstance(node.value, ast.Name) and node.value.id == "socket"
    }
    return [name for name in found if name != "socket"] + sorted(used - exempt)


def check_docstring(module: Module) -> list[str]:
    """Every module says what it is for."""
    return [] if ast.get_docstring(module.tree) else ["no docstring"]


def check_length(module: Module) -> list[str]:
    """A module has some bound, and a long function says what it does."""
    wrong = []
    lines = module.text.count("\n") + 1
    if lines > MOST_MODULE_LINES:
        wrong.append(f"{lines} lines")
    for node in module.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        lines = node.end_lineno - node.lineno + 1
        if lines > MOST_FUNCTION_LINES and not ast.get_docstring(node):
            wrong.append(f"{node.name} has {lines} lines and no docstring")
    return wrong


# --- style: not checked in the rooms of STYLE_PENDING -------------------------------------------


def check_docstring_words(module: Module) -> list[str]:
    """Docstrings begin "Return …", "Whether …", or with the verb of what is done."""
    wrong = []
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in module.nodes(*kinds):
        docstring = ast.get_docstring(node) or ""
        if docstring.partition(" ")[0] in UNWANTED_BEGINNINGS:
            wrong.append(f"{getattr(node, 'name', module.place)}: {docstring[:40]}")
    return wrong


def check_packing(module: Module) -> list[str]:
    """Arguments and items are written one by one, not packed sideways as `*(a, b), *(c, d)`."""
    wrong = []
    for node in module.nodes(ast.Starred):
        if isinstance(node.value, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Load):
            wrong.append(f"line {node.lineno}: {ast.unparse(node)[:40]}")
    return wrong


def check_conditional_chains(module: Module) -> list[str]:
    """A conditional expression chooses between two values, not between three or more."""
    return [
        f"line {node.lineno}: {ast.unparse(node)[:60]}"
        for node in module.nodes(ast.IfExp)
        if isinstance(node.body, ast.IfExp) or isinstance(node.orelse, ast.IfExp)
    ]


def check_format_skips(module: Module) -> list[str]:
    """Only tables at the level of the module are formatted by hand."""
    tables: set[int] = set()
    for node in module.tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            tables |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    return [
        f"line {token.start[0]}: {token.string}"
        for token in tokens
        if token.type == tokenize.COMMENT
        and ("fmt: skip" in token.string or "fmt: off" in token.string)
        and token.start[0] not in tables
    ]


RULES = (
    check_rooms,
    check_package_use,
    check_qt,
    check_printing,
    check_unsafe,
    check_network,
    check_docstring,
    check_length,
)
STYLE = (
    check_docstring_words,
    check_packing,
    check_conditional_chains,
    check_format_skips,
)
CHECKERS = RULES + STYLE


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.__name__)
def test_every_module_keeps_the_rule(checker: Checker) -> None:
    assert MODULES, "no modules found"
    pending = STYLE_PENDING if checker in STYLE else set()
    checked = [module for module in MODULES if module.room not in pending]
    wrong = {module.place: found for module in checked if (found := checker(module))}
    assert not wrong


LONG = "\n".join(f"    x = {number}" for number in range(MOST_FUNCTION_LINES))
BAD = [
    (check_rooms, "core/a.py", "from isca_gui import cli"),
    (check_rooms, "core/a.py", "from isca_gui.session.session import Session"),
    (check_rooms, "core/a.py", "from .. import jobs"),
    (check_rooms, "core/a.py", "from ..panels.dataset import Panel"),
    (check_rooms, "core/a.py", "import isca_gui.app"),
    (check_rooms, "core/a.py", "def f():\n    from isca_gui.cli import demo"),
    (check_rooms, "core/a.py", "import importlib\nimportlib.import_module('isca_gui.app')"),
    (check_rooms, "core/a.py", "import importlib\nimportlib.import_module(f'isca_gui.cli.{x}')"),
    (check_rooms, "jobs/runner.py", "from isca_gui.panels import training"),
    (check_rooms, "session/session.py", "from isca_gui.viewers import bases"),
    (check_rooms, "panels/a.py", "from isca_gui.viewers import bases"),
    (check_rooms, "panels/a.py", "from isca_gui.window import main_window"),
    (check_rooms, "viewers/a.py", "from isca_gui.panels.training import Panel"),
    (check_rooms, "viewers/a.py", "from ..panels import training"),
    (check_rooms, "window/main_window.py", "from isca_gui import app"),
    (check_rooms, "cli/a.py", "from isca_gui import app"),
    (check_rooms, "cli/a.py", "from isca_gui.jobs.runner import JobRunner"),
    (check_rooms, "cli/demo.py", "from isca_gui.viewers import bases"),
    (check_rooms, "bench/a.py", "from isca_gui import cli"),
    (check_rooms, "novelty.py", "import os"),
    (check_rooms, "core/pictures/a.py", "from isca_gui.core.model import model"),
    (
        check_rooms,
        "core/distortion/a.py",
        "from isca_gui.core.recognition.recogniser import Recogniser",
    ),
    (check_rooms, "core/storage/a.py", "from isca_gui.core import settings"),
    (check_rooms, "core/novelty/a.py", "import os"),
    (check_package_use, "core/a.py", "import isca_gui\nisca_gui.cli.main()"),
    (check_qt, "core/a.py", "from PySide6.QtCore import QObject"),
    (check_qt, "core/a.py", "def f():\n    import pyqtgraph as pg"),
    (check_qt, "core/a.py", "import matplotlib.pyplot as plt"),
    (check_qt, "core/a.py", "if TYPE_CHECKING:\n    pass\nelse:\n    import matplotlib"),
    (check_qt, "cli/a.py", "import PySide6"),
    (check_qt, "cli/demo.py", "import shiboken6"),
    (check_qt, "bench/a.py", "__import__('PySide6.QtGui')"),
    (check_printing, "core/a.py", "def f():\n    print('x')"),
    (check_printing, "core/a.py", "import sys\nsys.stderr.write('x')"),
    (check_unsafe, "a.py", "import pickle"),
    (check_unsafe, "a.py", "from marshal import loads"),
    (check_unsafe, "a.py", "def f():\n    import shelve"),
    (check_unsafe, "a.py", "eval('1')"),
    (check_unsafe, "a.py", "exec('x = 1')"),
    (check_unsafe, "a.py", "import os\nos.system('ls')"),
    (check_unsafe, "a.py", "from os import system"),
    (check_unsafe, "a.py", "import numpy as np\nnp.load('a', allow_pickle=True)"),
    (check_unsafe, "a.py", "import yaml\nyaml.load('a')"),
    (check_unsafe, "a.py", "import subprocess\nsubprocess.run('ls', shell=True)"),
    (check_network, "core/a.py", "import socket"),
    (check_network, "core/storage/files.py", "import socket\nsocket.create_connection(('a', 1))"),
    (check_network, "core/storage/files.py", "from socket import socket"),
    (check_network, "core/storage/files.py", "import requests"),
    (check_network, "a.py", "import urllib.request"),
    (check_network, "a.py", "from urllib import request"),
    (check_network, "a.py", "import http.client"),
    (check_network, "a.py", "import ftplib"),
    (check_network, "a.py", "from PySide6 import QtNetwork"),
    (check_network, "a.py", "from skimage import data"),
    (check_docstring, "a.py", "x = 1"),
    (check_docstring_words, "a.py", "def f():\n    '''Give the answer.'''"),
    (check_docstring_words, "a.py", "class A:\n    '''Tell whether it is so.'''"),
    (check_packing, "a.py", "f(*(1, 2), *(3, 4))"),
    (check_packing, "a.py", "x = [*(1, 2)]"),
    (check_conditional_chains, "a.py", "x = 1 if a else 2 if b else 3"),
    (check_conditional_chains, "a.py", "x = (1 if a else 2) if b else 3"),
    (check_format_skips, "a.py", "def f():\n    x = [1,  2]  # fmt: skip"),
    (check_format_skips, "a.py", "# fmt: off\nx = 1"),
    (check_length, "a.py", "x = 1\n" * (MOST_MODULE_LINES + 1)),
    (check_length, "a.py", f"def f():\n{LONG}"),
]


@pytest.mark.parametrize(("checker", "place", "text"), BAD)
def test_each_checker_finds_what_is_wrong(checker: Checker, place: str, text: str) -> None:
    assert checker(Module(place, text))


@pytest.mark.parametrize(
    ("checker", "place", "text"),
    [
        (
            check_rooms,
            "core/a.py",
            "import isca_gui\nfrom isca_gui.core import image\nfrom . import blocks",
        ),
        (
            check_rooms,
            "panels/a.py",
            "from isca_gui.session.session import Session\nimport isca_gui.core.pictures.image",
        ),
        (
            check_rooms,
            "window/main_window.py",
            "from isca_gui.panels import a\nfrom isca_gui.viewers import b",
        ),
        (check_package_use, "core/a.py", "import isca_gui\nx = isca_gui.__version__"),
        (check_qt, "core/figures.py", "def draw():\n    import matplotlib"),
        (
            check_qt,
            "core/figures.py",
            "if TYPE_CHECKING:\n    from matplotlib.figure import Figure",
        ),
        (check_qt, "panels/a.py", "from PySide6.QtWidgets import QWidget"),
        (check_printing, "cli/a.py", "print('x')"),
        (check_unsafe, "a.py", "import numpy as np\nnp.load('a', allow_pickle=False)"),
        (check_network, "core/storage/files.py", "import socket\nsocket.gethostname()"),
        (check_network, "a.py", "from urllib import parse"),
        (check_docstring_words, "a.py", "def f():\n    '''Return what is given.'''"),
        (check_packing, "a.py", "f(*(x for x in y), *z)\nfirst, *rest = [*z]"),
        (check_conditional_chains, "a.py", "x = (1 if a else 2) + (3 if b else 4)"),
        (check_format_skips, "a.py", "X = [\n    1,  2,\n]  # fmt: skip"),
        (check_length, "a.py", f"def f():\n    '''Do it.'''\n{LONG}"),
    ],
)
def test_no_checker_objects_to_what_is_right(checker: Checker, place: str, text: str) -> None:
    assert not checker(Module(place, text))


# --- the tests ----------------------------------------------------------------------------------


def test_the_files_that_run_first_exist() -> None:
    """A file that was renamed would run last, on its own, and nobody would notice."""
    assert {path.name for path in (ROOT / "tests").rglob("test_*.py")} >= LONG_FILES


# --- no cycles ----------------------------------------------------------------------------------


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """The names along one cycle of a graph, or nothing if it has none."""
    finished: set[str] = set()

    def search(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in finished:
            return []
        for other in sorted(graph.get(name, ())):
            found = search(other, [*path, name])
            if found:
                return found
        finished.add(name)
        return []

    for name in sorted(graph):
        found = search(name, [])
        if found:
            return found
    return []


def test_a_cycle_is_found() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}}) == []


def test_no_cycle_between_rooms() -> None:
    """What ROOMS allows has no cycle, and every import keeps to ROOMS, wherever it stands."""
    graph = {room: allowed(room) - {room} for room in ROOMS}
    assert cycle(graph) == []


def test_no_cycle_between_modules_at_import_time() -> None:
    known = {module.name for module in MODULES}
    graph: dict[str, set[str]] = defaultdict(set)
    for module in MODULES:
        for name, at_once in module.imports:
            if at_once and is_in(name, {"isca_gui"}):
                # An imported name is a module, or else something in one.
                target = name if name in known else name.rpartition(".")[0]
                graph[module.name].add(target)
    assert sum(map(len, graph.values())) > 200
    assert cycle(graph) == []


# --- what is really loaded ----------------------------------------------------------------------


def loaded_by(code: str) -> tuple[set[str], str]:
    """Run code in a fresh interpreter; return the top-level modules it loads, and its output."""
    report = (
        "\nimport sys, json\n"
        "sys.stderr.write(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr)), done.stdout


def test_the_probe_sees_what_is_loaded() -> None:
    assert {"PySide6", "shiboken6"} <= loaded_by("import PySide6.QtCore")[0]


def test_importing_the_core_loads_no_qt_and_no_matplotlib() -> None:
    loaded, output = loaded_by(
        "import importlib, pkgutil, isca_gui.core as core\n"
        "names = [m.name for m in pkgutil.walk_packages(core.__path__, 'isca_gui.core.')]\n"
        "assert len(names) > 5\n"
        "for name in names: importlib.import_module(name)"
    )
    assert not loaded & (QT | DRAWING)
    assert output == ""


@pytest.mark.parametrize(
    "command", [[], *([name] for name in cli.COMMANDS)], ids=lambda words: " ".join(words)
)
def test_help_loads_nothing_heavy(command: list[str]) -> None:
    loaded, output = loaded_by(
        "import contextlib\nfrom isca_gui import cli\n"
        f"with contextlib.suppress(SystemExit): cli.main([*{command!r}, '--help'])"
    )
    assert output.startswith("usage: isca")
    assert not loaded & (QT | DRAWING | HEAVY)


@pytest.mark.alone
def test_help_comes_at_once() -> None:
    def seconds() -> float:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "isca_gui.cli", "--help"], capture_output=True, check=True
        )
        return time.perf_counter() - start

    assert min(seconds() for _ in range(5)) < 0.4


def test_help_imports_as_python_itself_reports_them() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "isca_gui.cli", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = {
        line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.count("|") == 2
    }
    assert "isca_gui.cli" in names
    assert not {name.split(".")[0] for name in names} & (QT | DRAWING | HEAVY)


def test_a_whole_command_loads_no_qt() -> None:
    loaded, output = loaded_by(
        "from isca_gui import cli\nassert cli.main(['info', 'sample:camera']) == 0"
    )
    assert "picture" in output
    assert not loaded & (QT | DRAWING)
