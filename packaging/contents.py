"""What goes into the bundle and what stays out of it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    Entry = tuple[str, str, str]  # of PyInstaller: where it goes, where it comes from, what it is

NAME = "isca-studio"  # of the folder
IDENTIFIER = "org.isca_studio.isca_studio"
PROGRAMS = {"isca-gui": "window", "isca": "command"}  # and the script that each starts with
# What the program opens, for the property list of macOS.
DOCUMENTS = [
    {
        "CFBundleTypeName": "ISCA Studio project",
        "CFBundleTypeExtensions": ["iscaproj"],
        "CFBundleTypeRole": "Editor",
        "LSHandlerRank": "Owner",
    },
    {
        "CFBundleTypeName": "Picture",
        "LSItemContentTypes": ["public.image"],
        "CFBundleTypeRole": "Viewer",
        "LSHandlerRank": "Alternate",
    },
]
# The sample pictures; the rest of scikit-image's data is not used.
SAMPLES = ["data/*.png", "data/*.jpg"]
# The developers' tools, what only other uses of the libraries need, and what would go to the network.
EXCLUDED = [
    *(
        "pytest",
        "_pytest",
        "hypothesis",
        "mypy",
        "ruff",
        "PyInstaller",
        "hatchling",
        "pip",
        "setuptools",
    ),
    *("sklearn", "joblib", "cloudpickle", "networkx", "imageio", "IPython", "pooch", "dask"),
    *(
        "tkinter",
        "_tkinter",
        "curses",
        "readline",
        "sqlite3",
        "lib2to3",
        "ensurepip",
        "idlelib",
        "test",
    ),
    *(
        "ssl",
        "_ssl",
        "PySide6.QtNetwork",
        "PySide6.QtDBus",
        "pyqtgraph.examples",
        "pyqtgraph.opengl",
    ),
]
# Parts of Qt that the window never loads. The GTK theme alone would bring twenty libraries.
_UNUSED = re.compile(
    r"PySide6/(Qt/)?(translations|qml)/"
    r"|PySide6/(Qt/)?plugins/(tls|networkinformation|egldeviceintegrations|generic|platforminputcontexts/.*keyboard)"
    r"|platforms/(lib)?q(eglfs|linuxfb|minimalegl|vkkhrdisplay|vnc)"
    r"|platformthemes/libqgtk3|imageformats/(lib)?q(icns|pdf|tga|tiff|wbmp)"
    r"|matplotlib/mpl-data/(sample_data|images)/"
    r"|numba/np/ufunc/(tbbpool|omppool)"
)
_LIBRARY = re.compile(r"\.so(\.\d+)*$")
_MODULE = re.compile(r"\.(cpython-[^/]*|abi3)\.so$")


def is_wanted(module: str) -> bool:
    """Whether a module of the program goes in: all but the estimators, which need scikit-learn."""
    return module != "isca_gui.core.model.estimators"


def resources(folder: Path) -> list[tuple[str, str]]:
    """List the files of `resources/` with the folder of the bundle that each goes to."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    wanted = (
        path
        for path in files
        if path.relative_to(folder).parts[0] not in ("screenshots", "examples")
    )
    return [(str(path), str(Path("resources", path.relative_to(folder)).parent)) for path in wanted]


def needed(entries: Iterable[Entry]) -> list[Entry]:
    """Leave out what is unused."""
    return [entry for entry in entries if not _UNUSED.search(entry[0].replace("\\", "/"))]


def linked(binaries: Iterable[Entry], datas: Iterable[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Leave out, on Linux, the libraries that nothing which stays is linked with, and the links to them."""
    binaries, datas = list(binaries), list(datas)
    if not sys.platform.startswith("linux"):
        return binaries, datas
    from PyInstaller.depend.bindepend import get_imports

    sources = {Path(target).name: source for target, source, kind in binaries if kind != "SYMLINK"}
    waiting = [
        Path(target).name
        for target, _, kind in binaries
        if kind != "SYMLINK" and not _is_library(target)
    ]
    kept: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in sources and name not in kept:
            kept.add(name)
            waiting += [Path(needed).name for needed, _ in get_imports(sources[name])]
    return (
        [entry for entry in binaries if Path(entry[0]).name in kept],
        [entry for entry in datas if entry[2] != "SYMLINK" or Path(entry[0]).name in kept],
    )


def _is_library(target: str) -> bool:
    """Tell a library that others are linked with from what is opened by name: modules, plugins, Python."""
    opened = "/plugins/" in target or target.startswith(("llvmlite/", "libpython"))
    return bool(_LIBRARY.search(target)) and not _MODULE.search(target) and not opened
