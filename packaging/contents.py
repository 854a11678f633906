"""What goes into the bundle and what stays out of it."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    # An entry of PyInstaller: its place in the bundle, its source, and its kind.
    Entry = tuple[str, str, str]

# The name of the folder.
NAME = "isca-studio"
IDENTIFIER = "org.isca_studio.isca_studio"
# The programs, and the script in packaging/frozen that each starts with.
PROGRAMS = {"isca-gui": "window", "isca": "command"}
# The documents that the program opens, for the property list of macOS.
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
# The sample pictures; the other data of scikit-image are not used.
SAMPLES = ["data/*.png", "data/*.jpg"]
# Modules that the program never loads.
EXCLUDED = [
    # Tools of the developers
    "pytest",
    "_pytest",
    "hypothesis",
    "mypy",
    "ruff",
    "PyInstaller",
    "hatchling",
    "pip",
    "setuptools",
    # What trains and measures the classifier of comparisons
    "lightgbm",
    "imagecodecs",
    "pyvips",
    # Optional parts of the libraries
    "sklearn",
    "joblib",
    "cloudpickle",
    "networkx",
    "imageio",
    "IPython",
    "pooch",
    "dask",
    "pyqtgraph.examples",
    "pyqtgraph.opengl",
    # Unused parts of the standard library
    "tkinter",
    "_tkinter",
    "curses",
    "readline",
    "sqlite3",
    "lib2to3",
    "ensurepip",
    "idlelib",
    "test",
    # Network
    "ssl",
    "_ssl",
    "PySide6.QtNetwork",
    "PySide6.QtDBus",
]
# Libraries of the extra `formats`, imported by name when such a picture is opened.
OPTIONAL = ["pillow_heif", "pillow_jxl"]
# Files that the program never loads. The GTK theme alone would add twenty libraries.
_UNUSED = re.compile(
    r"PySide6/(Qt/)?(translations|qml)/"
    r"|PySide6/(Qt/)?plugins/(tls|networkinformation|egldeviceintegrations|generic)"
    r"|PySide6/(Qt/)?plugins/platforminputcontexts/.*keyboard"
    r"|platforms/(lib)?q(eglfs|linuxfb|minimalegl|vkkhrdisplay|vnc)"
    r"|platformthemes/libqgtk3|imageformats/(lib)?q(icns|pdf|tga|tiff|wbmp)"
    r"|matplotlib/mpl-data/(sample_data|images)/"
    r"|numba/np/ufunc/(tbbpool|omppool)"
)
_LIBRARY = re.compile(r"\.so(\.\d+)*$")
_MODULE = re.compile(r"\.(cpython-[^/]*|abi3)\.so$")


def optional_modules() -> list[str]:
    """Return the optional libraries that are installed."""
    return [name for name in OPTIONAL if importlib.util.find_spec(name) is not None]


def is_wanted(module: str) -> bool:
    """Whether a module of the program is included: all but those that need scikit-learn."""
    return module != "isca_gui.core.model.estimators"


def resources(folder: Path) -> list[tuple[str, str]]:
    """Return the files of `resources/`, each with its folder in the bundle."""
    found = []
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if path.is_file() and place.parts[0] not in ("screenshots", "examples"):
            found.append((str(path), str(Path("resources", place).parent)))
    return found


def needed(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries without unused files."""
    return [entry for entry in entries if not _UNUSED.search(entry[0].replace("\\", "/"))]


def linked(binaries: Iterable[Entry], datas: Iterable[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Return the entries without libraries, and links to them, that nothing is linked with.

    Only on Linux does PyInstaller include such libraries.
    """
    binaries = list(binaries)
    datas = list(datas)
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
    """Whether others are linked with a file; modules, plugins and Python are opened by name."""
    opened = "/plugins/" in target or target.startswith(("llvmlite/", "libpython"))
    return bool(_LIBRARY.search(target)) and not _MODULE.search(target) and not opened
