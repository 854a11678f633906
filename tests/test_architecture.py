"""The rules of the layout: who may import whom, what must not be used, how long things may be."""

from __future__ import annotations

import ast
import functools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from isca_gui import cli

if TYPE_CHECKING:
    from collections.abc import Callable

from tests.places import ROOT

PACKAGE = ROOT / "isca_gui"
SOURCES = sorted(PACKAGE.rglob("*.py"))

QT = {"PySide6", "shiboken6", "pyqtgraph", "PyQt5", "PyQt6", "PySide2", "qtpy"}
DRAWING = {"matplotlib"}
IMPORTERS = ("importlib.import_module", "import_module", "__import__")
HEAVY = {"numpy", "scipy", "skimage", "PIL", "numba", "tifffile", "rich"}

# What the modules of a room may import from the package besides their own room. The rooms of the core have
# rows of their own; `core` stands for the modules that lie directly in it (settings, progress, threads).
STEPS = {"core", "core.*", "session", "jobs", "widgets"}
ROOMS: dict[str, set[str]] = {
    "core": {"core.distortion", "core.solvers"},
    "core.storage": set(),
    "core.pictures": {"core.storage"},
    "core.distortion": {"core", "core.pictures", "core.storage"},
    "core.solvers": {"core", "core.pictures", "core.storage"},
    "core.model": {"core", "core.pictures", "core.storage", "core.distortion", "core.solvers"},
    "core.recognition": {
        "core",
        "core.pictures",
        "core.storage",
        "core.distortion",
        "core.solvers",
        "core.model",
    },
    "core.projects": {
        "core",
        "core.pictures",
        "core.storage",
        "core.distortion",
        "core.model",
        "core.recognition",
    },
    "core.paper": {"core", "core.*"},
    "bench": {"core", "core.*"},
    "cli": {"core", "core.*", "bench"},
    "session": {"core", "core.*"},
    "jobs": {"core", "core.*", "session"},
    "widgets": {"core", "core.*", "session", "jobs"},
    "panels": STEPS,
    "viewers": STEPS,
    "help": STEPS | {"viewers"},
    "projects": STEPS,
    "window": STEPS | {"panels", "viewers", "help", "projects"},
    "app": STEPS | {"window"},
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
    *(
        "urllib.request",
        "urllib3",
        "http",
        "requests",
        "httpx",
        "aiohttp",
        "ftplib",
        "smtplib",
        "poplib",
    ),
    *(
        "imaplib",
        "telnetlib",
        "nntplib",
        "xmlrpc",
        "socketserver",
        "ssl",
        "PySide6.QtNetwork",
        "socket",
    ),
    *("pooch", "skimage.data"),  # they download
}
SOCKET_USERS = {"core/storage/files.py": {"gethostname"}}  # the host's name marks temporary files

MOST_MODULE_LINES, MOST_FUNCTION_LINES = 800, 60
# Functions above the bound that do without a docstring: "module.py::name" and the reason.
LONG_KERNELS: dict[str, str] = {}


# --- the checkers: each takes a module's place in the package and its tree, and lists what is wrong ---------


def room_of(place: str) -> str:
    """Return the room of a module by its path inside the package, such as core.pictures for core/pictures/image.py."""
    folders = place.removesuffix(".py").split("/")
    return ".".join(folders[:2]) if folders[0] == "core" and len(folders) > 2 else folders[0]


def room_of_name(name: str) -> str:
    """Return the room of a full name, such as core.pictures for isca_gui.core.pictures.image."""
    parts = name.split(".")[1:]
    if parts[0] == "core" and len(parts) > 1 and f"core.{parts[1]}" in ROOMS:
        return f"core.{parts[1]}"
    return parts[0]


def allowed(room: str) -> set[str]:
    """Return the rooms that a room may import from, itself among them."""
    rooms = ROOMS[room] | {room}
    if "core.*" in rooms:
        rooms |= {name for name in ROOMS if name.startswith("core.")}
    return rooms


@functools.cache
def imports(place: str, tree: ast.Module) -> list[tuple[str, bool]]:
    """Give the full name of everything imported, and whether that happens when the module is imported."""
    inside = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
    inside |= {
        id(n)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for statement in block.body
        for n in ast.walk(statement)
    }  # never run
    return [
        (name, id(node) not in inside) for node in ast.walk(tree) for name in _names(place, node)
    ]


def _names(place: str, node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        package = ["isca_gui", *place.split("/")[:-1]]
        above = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
        module = ".".join(part for part in (above, node.module) if part)
        return [f"{module}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and _called(node) in (
        "importlib.import_module",
        "__import__",
        "import_module",
    ):
        text = node.args[0] if node.args else None
        if isinstance(text, ast.JoinedStr):
            text = text.values[0] if text.values else None
        return [str(text.value)] if isinstance(text, ast.Constant) else ["?"]
    return []


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""


def _is_in(name: str, modules: set[str]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def check_layers(place: str, tree: ast.Module) -> list[str]:
    """Check that imports go one way: core, then session and jobs, panels and viewers, window, app."""
    room = room_of(place)
    if room not in ROOMS:
        return [f"{place} has no room in ROOMS"]
    wrong = []
    for name, _ in imports(place, tree):
        parts = name.split(".")
        if parts[0] != "isca_gui" or parts[1:] in ([], ["__version__"]):
            continue
        if name == "isca_gui." and place == "window/main_window.py":
            # The main window loads its viewers by the module names in a table.
            continue
        if room_of_name(name) not in allowed(room):
            wrong.append(f"{room} imports {name}")
    return wrong


def check_package_use(place: str, tree: ast.Module) -> list[str]:
    """The bare package is imported for its version only."""
    return [
        f"uses isca_gui.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        and node.value.id == "isca_gui" and node.attr != "__version__"
    ]  # fmt: skip


def check_qt(place: str, tree: ast.Module) -> list[str]:
    """The engine and the command line know no Qt, and draw only when asked to."""
    if room_of(place).split(".")[0] not in WITHOUT_QT:
        return []
    found = [name for name, _ in imports(place, tree) if _is_in(name, QT)]
    return found + [
        name for name, at_once in imports(place, tree) if at_once and _is_in(name, DRAWING)
    ]


def check_printing(place: str, tree: ast.Module) -> list[str]:
    """The core does not print."""
    if room_of(place).split(".")[0] != "core":
        return []
    calls = {_called(node) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return sorted(calls & {"print", "sys.stdout.write", "sys.stderr.write", "builtins.print"})


def check_unsafe(place: str, tree: ast.Module) -> list[str]:
    """Nothing that runs what it reads: no pickle, no eval, no shell."""
    wrong = [name for name, _ in imports(place, tree) if _is_in(name, UNSAFE_MODULES)]
    wrong += [name for name, _ in imports(place, tree) if name in UNSAFE_CALLS]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            wrong += (
                [_called(node)] if _called(node).removeprefix("builtins.") in UNSAFE_CALLS else []
            )
            wrong += [
                ast.unparse(word)
                for word in node.keywords
                if word.arg in UNSAFE_KEYWORDS and ast.unparse(word.value) != "False"
            ]
    return wrong


def check_network(place: str, tree: ast.Module) -> list[str]:
    """Nothing goes to the network."""
    found = [name for name, _ in imports(place, tree) if _is_in(name, NETWORK)]
    allowed = SOCKET_USERS.get(place)
    if allowed is None:
        return found
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "socket"
    }
    return [name for name in found if name != "socket"] + sorted(used - allowed)


def check_docstring(place: str, tree: ast.Module) -> list[str]:
    """Every module says what it is for."""
    return [] if ast.get_docstring(tree) else ["no docstring"]


def check_length(place: str, tree: ast.Module) -> list[str]:
    """Modules stay short, and a long function says what it does."""
    last = max(
        (node.end_lineno or 0 for node in ast.walk(tree) if isinstance(node, ast.stmt)), default=0
    )
    wrong = [f"{last} lines"] if last > MOST_MODULE_LINES else []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            exempt = f"{place}::{node.name}" in LONG_KERNELS
            if lines > MOST_FUNCTION_LINES and not ast.get_docstring(node) and not exempt:
                wrong.append(f"{node.name} has {lines} lines and no docstring")
    return wrong


CHECKERS = (
    check_layers, check_package_use, check_qt, check_printing,
    check_unsafe, check_network, check_docstring, check_length,
)  # fmt: skip


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), path.name)


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.__name__)
def test_every_module_keeps_the_rule(checker: Callable[[str, ast.Module], list[str]]) -> None:
    assert SOURCES, "no modules found"
    wrong = {}
    for path in SOURCES:
        place = path.relative_to(PACKAGE).as_posix()
        found = checker(place, parsed(path))
        if found:
            wrong[place] = found
    assert not wrong


def test_exemptions_are_in_use() -> None:
    names = {
        f"{path.relative_to(PACKAGE).as_posix()}::{node.name}"
        for path in SOURCES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef)
    }
    assert set(LONG_KERNELS) <= names
    assert all(LONG_KERNELS.values()), "an exemption needs a reason"


LONG = "\n".join(f"    x = {number}" for number in range(MOST_FUNCTION_LINES))
BAD = [
    (check_layers, "core/a.py", "from isca_gui import cli"),
    (check_layers, "core/a.py", "from isca_gui.session.session import Session"),
    (check_layers, "core/a.py", "from .. import jobs"),
    (check_layers, "core/a.py", "from ..panels.dataset import Panel"),
    (check_layers, "core/a.py", "import isca_gui.app"),
    (check_layers, "core/a.py", "def f():\n    from isca_gui.cli import demo"),
    (check_layers, "core/a.py", "import importlib\nimportlib.import_module('isca_gui.app')"),
    (check_layers, "core/a.py", "import importlib\nimportlib.import_module(f'isca_gui.cli.{x}')"),
    (check_layers, "jobs/runner.py", "from isca_gui.panels import training"),
    (check_layers, "session/session.py", "from isca_gui.viewers import bases"),
    (check_layers, "panels/a.py", "from isca_gui.viewers import bases"),
    (check_layers, "panels/a.py", "from isca_gui.window import main_window"),
    (check_layers, "viewers/a.py", "from isca_gui.panels.training import Panel"),
    (check_layers, "viewers/a.py", "from ..panels import training"),
    (check_layers, "window/main_window.py", "from isca_gui import app"),
    (check_layers, "cli/a.py", "from isca_gui import app"),
    (check_layers, "cli/a.py", "from isca_gui.jobs.runner import JobRunner"),
    (check_layers, "cli/demo.py", "from isca_gui.viewers import bases"),
    (check_layers, "bench/a.py", "from isca_gui import cli"),
    (check_layers, "novelty.py", "import os"),
    (check_layers, "core/pictures/a.py", "from isca_gui.core.model import model"),
    (
        check_layers,
        "core/distortion/a.py",
        "from isca_gui.core.recognition.recogniser import Recogniser",
    ),
    (check_layers, "core/storage/a.py", "from isca_gui.core import settings"),
    (check_layers, "core/novelty/a.py", "import os"),
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
    (check_length, "a.py", "x = 1\n" * (MOST_MODULE_LINES + 1)),
    (check_length, "a.py", f"def f():\n{LONG}"),
]


@pytest.mark.parametrize(("checker", "place", "text"), BAD)
def test_each_checker_finds_what_is_wrong(
    checker: Callable[[str, ast.Module], list[str]], place: str, text: str
) -> None:
    assert checker(place, ast.parse(text))


@pytest.mark.parametrize(
    ("checker", "place", "text"),
    [
        (
            check_layers,
            "core/a.py",
            "import isca_gui\nfrom isca_gui.core import image\nfrom . import blocks",
        ),
        (
            check_layers,
            "panels/a.py",
            "from isca_gui.session.session import Session\nimport isca_gui.core.pictures.image",
        ),
        (
            check_layers,
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
        (check_length, "a.py", f"def f():\n    '''Say what.'''\n{LONG}"),
    ],
)
def test_no_checker_objects_to_what_is_right(
    checker: Callable[[str, ast.Module], list[str]], place: str, text: str
) -> None:
    assert not checker(place, ast.parse(text))


# --- what is really loaded ----------------------------------------------------------------------------------


def loaded_by(code: str) -> tuple[set[str], str]:
    """Run code in a fresh interpreter; give the top-level names of all modules it loads, and its output."""
    tail = "\nimport sys, json\nsys.stderr.write(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", code + tail], capture_output=True, text=True, timeout=120
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
