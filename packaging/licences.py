"""The licences of everything in a bundle, from the metadata of the installed distributions."""

from __future__ import annotations

import csv
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import Distribution

LIST = "LICENCES.md"
FOLDER = "licences"
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
_STANDARD = Path(sysconfig.get_path("stdlib")).resolve()
# The program itself, and the loader that starts it.
_ALWAYS = ("isca-gui", "pyinstaller")
_LICENCE_FILE = re.compile(r"licen[cs]e|copying|notice|authors", re.IGNORECASE)
# Texts that distributions refer to but do not include.
_TEXTS = {"LGPL-3.0": ("LGPL-3.0.txt", "GPL-3.0.txt")}
_INTRODUCTION = """# The components of ISCA Studio {version}

The licence of ISCA Studio itself is in `{folder}/isca-gui`. The components below have their own
licences, whose texts are in `{folder}`, in a folder for each component. Qt and PySide6 are used
under the LGPL version 3; they are separate files in `_internal/PySide6`, which you may replace by
other versions.

| name | version | licence | home |
|---|---|---|---|
"""


@dataclass(frozen=True)
class Component:
    """A component of the bundle: its licence in a few words, and the files with the full text."""

    name: str
    version: str
    licence: str
    home: str
    files: tuple[Path, ...]
    text: str = ""  # the full text, if it is in the metadata


def write(sources: Iterable[str], folder: Path) -> list[Component]:
    """Write the list and the texts of all components that these files belong to."""
    components = components_of(sources)
    rows = "".join(f"| {c.name} | {c.version} | {c.licence} | {c.home} |\n" for c in components)
    head = _INTRODUCTION.format(version=importlib.metadata.version("isca-gui"), folder=FOLDER)
    (folder / LIST).write_text(head + rows, "utf-8")
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    for component in components:
        _write_texts(component, folder / FOLDER / component.name)
    return components


def components_of(sources: Iterable[str]) -> list[Component]:
    """Return what the files belong to: distributions, Python itself, packages of the system."""
    known = _owners()
    files = {Path(path).resolve() for path in sources if path and path != "-"}
    owners = {*_ALWAYS, *(known[str(file)] for file in files if str(file) in known)}
    system = {
        file
        for file in files
        if str(file) not in known and ".so" in file.name and not _is_python(file)
    }
    found = [_distribution(importlib.metadata.distribution(name)) for name in owners]
    return sorted([*found, _python(), *_packages(system)], key=lambda each: each.name.lower())


def _is_python(file: Path) -> bool:
    return file.is_relative_to(_STANDARD) or file.name.startswith("libpython")


def _owners() -> dict[str, str]:
    """Return the name of the distribution of every installed file."""
    owners = {}
    for distribution in importlib.metadata.distributions():
        top = Path(str(distribution.locate_file(""))).resolve()
        for row in csv.reader((distribution.read_text("RECORD") or "").splitlines()):
            owners[os.path.normpath(os.path.join(top, row[0]))] = distribution.name
    return owners


def _distribution(found: Distribution) -> Component:
    files = [Path(str(file.locate())) for file in found.files or () if _is_text(str(file))]
    licence = _licence(found)
    for name, texts in _TEXTS.items():
        files += [HERE / FOLDER / text for text in texts if name in licence]
    if found.name == "isca-gui":
        files = [ROOT / "LICENSE"]
    text = _field(found, "License") if not files else ""
    return Component(found.name, found.version, licence, _home(found), tuple(files), text)


def _is_text(name: str) -> bool:
    inside, _, rest = name.partition(".dist-info/")
    return bool(rest) and "/" not in inside and bool(_LICENCE_FILE.search(rest))


def _licence(found: Distribution) -> str:
    """Return the licence in a few words: an expression, a short field or the classifiers."""
    expression = _field(found, "License-Expression")
    if expression:
        return expression
    field = _field(found, "License").strip()
    # Some distributions have the full text in this field.
    if field and len(field) < 200 and "\n" not in field:
        return field
    classifiers = found.metadata.get_all("Classifier") or ()
    names = [line.split(" :: ")[-1] for line in classifiers if line.startswith("License")]
    return " and ".join(names) or "see the text"


def _field(found: Distribution, name: str) -> str:
    return str(found.metadata[name]) if name in found.metadata else ""


def _home(found: Distribution) -> str:
    addresses = dict(line.split(", ", 1) for line in found.metadata.get_all("Project-URL") or ())
    by_name = {name.lower(): address for name, address in addresses.items()}
    usual = (
        by_name.get(name) for name in ("homepage", "home", "source", "source code", "repository")
    )
    return _field(found, "Home-page") or next(filter(None, usual), "")


def _python() -> Component:
    """Return the component of Python; its licence is in its library or, on Windows, beside it."""
    beside = (_STANDARD / "LICENSE.txt", Path(sys.base_prefix, "LICENSE.txt"))
    files = tuple(path for path in beside if path.is_file())[:1]
    text = "" if files else "https://docs.python.org/3/license.html\n"
    return Component(
        "Python", platform.python_version(), "PSF-2.0", "https://www.python.org", files, text
    )


def _packages(libraries: set[Path]) -> list[Component]:
    """Return the packages of the libraries on a Debian system, elsewhere the libraries."""
    owned: dict[str, str] = {}
    if libraries and shutil.which("dpkg-query"):
        names = sorted(
            {name for path in libraries for name in (str(path), str(path).removeprefix("/usr"))}
        )
        done = subprocess.run(["dpkg-query", "--search", *names], capture_output=True, text=True)
        for line in done.stdout.splitlines():
            package, _, path = line.partition(": ")
            owned[Path(path).name] = package.partition(":")[0]
    unowned = [_unowned(path) for path in libraries if path.name not in owned]
    return [_package(name) for name in sorted(set(owned.values()))] + unowned


def _package(name: str) -> Component:
    command = ["dpkg-query", "--show", "--showformat=${Version}|${Homepage}", name]
    done = subprocess.run(command, capture_output=True, text=True)
    version, _, home = done.stdout.partition("|")
    text = Path("/usr/share/doc", name, "copyright")
    return Component(name, version, "see the text", home, (text,) if text.is_file() else ())


def _unowned(path: Path) -> Component:
    return Component(path.name, "", "of the system that the bundle was built on", "", ())


def _write_texts(component: Component, folder: Path) -> None:
    texts = {path: path.name for path in component.files}
    # If several have the same name, that of their folder is added.
    if len(set(texts.values())) < len(texts):
        texts = {path: f"{path.parent.name}-{path.name}" for path in texts}
    if texts or component.text:
        folder.mkdir(parents=True, exist_ok=True)
    for path, name in texts.items():
        shutil.copyfile(path, folder / name)
    if component.text:
        (folder / "LICENCE.txt").write_text(component.text, "utf-8")
