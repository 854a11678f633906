"""The licences of all that a bundle holds, from the metadata of the installed distributions."""

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

LIST, FOLDER = "LICENCES.md", "licences"
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
_STANDARD = Path(sysconfig.get_path("stdlib")).resolve()
_ALWAYS = ("isca-gui", "pyinstaller")  # the program itself, and the loader that starts it
_NAMED = re.compile(r"licen[cs]e|copying|notice|authors", re.IGNORECASE)
# Texts that distributions name but do not bring along.
_TEXTS = {"LGPL-3.0": ("LGPL-3.0.txt", "GPL-3.0.txt")}
_INTRODUCTION = """# What ISCA Studio {version} is made of

ISCA Studio itself is under the licence in `{folder}/isca-gui`. This folder also holds the works below, each
under its own licence; the texts are in `{folder}`, one folder each. Qt and PySide6 are used under the LGPL
version 3: they are separate files in `_internal/PySide6`, which you may replace by versions of your own.

| name | version | licence | home |
|---|---|---|---|
"""


@dataclass(frozen=True)
class Component:
    """A work in the bundle: its licence in a few words, and the files with the whole text."""

    name: str
    version: str
    licence: str
    home: str
    files: tuple[Path, ...]
    text: str = ""  # where the metadata hold the text itself


def write(sources: Iterable[str], folder: Path) -> list[Component]:
    """Write the list, and the texts, of all that these files belong to."""
    components = components_of(sources)
    rows = "".join(f"| {c.name} | {c.version} | {c.licence} | {c.home} |\n" for c in components)
    head = _INTRODUCTION.format(version=importlib.metadata.version("isca-gui"), folder=FOLDER)
    (folder / LIST).write_text(head + rows, "utf-8")
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    for component in components:
        _write_texts(component, folder / FOLDER / component.name)
    return components


def components_of(sources: Iterable[str]) -> list[Component]:
    """Find what the files belong to: distributions, Python itself, packages of the system."""
    owners, known = set(_ALWAYS), _owners()
    files = {Path(path).resolve() for path in sources if path and path != "-"}
    owners |= {known[str(file)] for file in files if str(file) in known}
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
    """Map every installed file to the name of its distribution."""
    owners = {}
    for distribution in importlib.metadata.distributions():
        name, top = distribution.name, Path(str(distribution.locate_file(""))).resolve()
        for row in csv.reader((distribution.read_text("RECORD") or "").splitlines()):
            owners[os.path.normpath(os.path.join(top, row[0]))] = name
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
    return bool(rest) and "/" not in inside and bool(_NAMED.search(rest))


def _licence(found: Distribution) -> str:
    """Give the licence in a few words: the expression, else a short field, else the classifiers."""
    short, classifiers = (
        _field(found, "License").strip(),
        found.metadata.get_all("Classifier") or (),
    )
    fitting = short if len(short) < 200 and "\n" not in short else ""
    named = " and ".join(
        line.split(" :: ")[-1] for line in classifiers if line.startswith("License")
    )
    return _field(found, "License-Expression") or fitting or named or "see the text"


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
    """Describe Python; its licence lies in its library, on Windows beside it."""
    beside = (_STANDARD / "LICENSE.txt", Path(sys.base_prefix, "LICENSE.txt"))
    files = tuple(path for path in beside if path.is_file())[:1]
    text = "" if files else "https://docs.python.org/3/license.html\n"
    return Component(
        "Python", platform.python_version(), "PSF-2.0", "https://www.python.org", files, text
    )


def _packages(libraries: set[Path]) -> list[Component]:
    """Describe libraries of a Debian system by their packages; elsewhere by their names alone."""
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
    told = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Version}|${Homepage}", name],
        capture_output=True,
        text=True,
    )
    version, _, home = told.stdout.partition("|")
    text = Path("/usr/share/doc", name, "copyright")
    return Component(name, version, "see the text", home, (text,) if text.is_file() else ())


def _unowned(path: Path) -> Component:
    return Component(path.name, "", "of the system that the bundle was made on", "", ())


def _write_texts(component: Component, folder: Path) -> None:
    texts = {path: path.name for path in component.files}
    if len(set(texts.values())) < len(texts):  # several of one name: the folder tells them apart
        texts = {path: f"{path.parent.name}-{path.name}" for path in texts}
    if texts or component.text:
        folder.mkdir(parents=True, exist_ok=True)
    for path, name in texts.items():
        shutil.copyfile(path, folder / name)
    if component.text:
        (folder / "LICENCE.txt").write_text(component.text, "utf-8")
