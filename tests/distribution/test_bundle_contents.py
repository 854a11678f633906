"""The contents of a bundle: modules, menu entry, file types, icons and licences."""

from __future__ import annotations

import configparser
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import bundle as packing
import contents
import icons
import licences
import numpy as np
import pytest
from PIL import Image
from PySide6.QtGui import QGuiApplication

import isca_gui
from isca_gui import app
from isca_gui.core.model import model_file
from isca_gui.core.pictures import samples
from isca_gui.core.projects import project
from tests.places import ROOT

LINUX = ROOT / "packaging" / "linux"
ENTRY, METAINFO, MIME = (LINUX / f"{contents.IDENTIFIER}{ending}" for ending in packing.SHARE)
POSIX = pytest.mark.skipif(os.name == "nt", reason="a script for Linux")
MIME_NAMES = "{http://www.freedesktop.org/standards/shared-mime-info}"


def validate(*command: str | Path) -> None:
    """Run a validator if it is installed; the assertions of the tests hold everywhere."""
    if shutil.which(str(command[0])):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "warning" not in (done.stdout + done.stderr).lower()


# --- what the desktop is told ------------------------------------------------------------------


def entry() -> dict[str, str]:
    parser = configparser.RawConfigParser(delimiters="=", strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(ENTRY, "utf-8")
    return dict(parser["Desktop Entry"])


def mime_types() -> dict[str, str]:
    found = ET.parse(MIME).getroot().iter(f"{MIME_NAMES}mime-type")
    patterns = {each.attrib["type"]: each.find(f"{MIME_NAMES}glob") for each in found}
    return {name: glob.attrib["pattern"] for name, glob in patterns.items() if glob is not None}


def test_the_menu_entry_starts_the_window() -> None:
    found = entry()
    assert found["Type"] == "Application"
    assert found["Name"] == "ISCA Studio"
    assert found["Icon"] == contents.IDENTIFIER
    assert found["Exec"].split() == ["isca-gui", "%f"]
    assert all(found[name].endswith(";") for name in ("Categories", "Keywords", "MimeType"))
    assert "application/x-isca-project" in found["MimeType"].split(";")
    validate("desktop-file-validate", ENTRY)


@pytest.mark.usefixtures("qapp")
def test_the_window_names_its_menu_entry() -> None:
    app.make_application()
    assert f"{QGuiApplication.desktopFileName()}.desktop" == ENTRY.name


def test_the_description_has_all_that_software_centres_ask_for() -> None:
    top = ET.parse(METAINFO).getroot()
    assert top.tag == "component"
    assert top.attrib["type"] == "desktop-application"
    assert top.findtext("id") == contents.IDENTIFIER
    assert top.findtext("launchable") == ENTRY.name
    assert (
        top.findtext("project_license")
        == importlib.metadata.metadata("isca-gui")["License-Expression"]
    )
    for name in (
        "name",
        "summary",
        "metadata_license",
        "developer_name",
        "content_rating",
        "releases/release",
    ):
        assert top.find(name) is not None, name
    summary = top.findtext("summary") or ""
    assert 10 < len(summary) < 90
    assert not summary.endswith(".")
    assert len(top.findall("description/p")) >= 2
    assert {each.text for each in top.iter("binary")} == set(contents.PROGRAMS)
    assert {each.text for each in top.iter("mediatype")} == set(mime_types())
    validate("appstreamcli", "validate", "--no-net", "--pedantic", METAINFO)


def test_the_newest_release_described_is_this_one() -> None:
    release = ET.parse(METAINFO).getroot().find("releases/release")
    assert release is not None
    assert release.attrib["version"] == isca_gui.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", release.attrib["date"])


def test_the_file_types_are_those_that_the_program_writes(tmp_path: Path) -> None:
    assert set(mime_types().values()) == {f"*{model_file.SUFFIX}", f"*{project.SUFFIX}"}
    (tmp_path / "packages").mkdir()
    shutil.copy(MIME, tmp_path / "packages")
    if shutil.which("update-mime-database"):
        subprocess.run(["update-mime-database", tmp_path], check=True, capture_output=True)
        assert f"application/x-isca-model:*{model_file.SUFFIX}" in (tmp_path / "globs2").read_text(
            "utf-8"
        )


@POSIX
def test_the_menu_entry_is_installed_and_removed_again(tmp_path: Path) -> None:
    folder, home = tmp_path / 'a "b" $c 100% & d', tmp_path / "home"
    packing.add_share(folder / "share")
    shutil.copy(LINUX / "install.sh", folder)
    home.mkdir()
    for name in contents.PROGRAMS:
        (folder / name).write_text('#!/bin/sh\necho "started $1"\n')
        (folder / name).chmod(0o755)
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    subprocess.run([folder / "install.sh"], env=env, check=True, capture_output=True)
    placed = home / ".local/share/applications" / ENTRY.name
    line = next(line for line in placed.read_text("utf-8").splitlines() if line.startswith("Exec="))
    assert started_by(line.removeprefix("Exec="), "x.png") == "started x.png\n"
    assert subprocess.check_output([home / ".local/bin/isca", "y"], text=True) == "started y\n"
    assert (home / f".local/share/icons/hicolor/scalable/apps/{contents.IDENTIFIER}.svg").is_file()
    validate("desktop-file-validate", placed)
    subprocess.run([folder / "install.sh", "--remove"], env=env, check=True, capture_output=True)
    left = [
        path
        for path in home.rglob("*")
        if contents.IDENTIFIER in path.name or path.name in contents.PROGRAMS
    ]
    assert left == []


def started_by(line: str, file: str) -> str:
    """Start what a menu would: undo the escapes of the file, then the quotes, then the fields."""
    match = re.fullmatch(r'"((?:[^"\\]|\\.)*)" %f', line.replace("\\\\", "\\"))
    assert match is not None, line
    program = re.sub(r'\\(["`$\\])', r"\1", match[1]).replace("%%", "%")
    return subprocess.check_output([program, file], text=True)


# --- icons -------------------------------------------------------------------------------------


def test_icons_of_all_systems_come_from_the_one_drawing(tmp_path: Path) -> None:
    icons.write_ico(tmp_path / "icon.ico")
    icons.write_icns(tmp_path / "icon.icns")
    icons.write_theme(tmp_path / "hicolor", "x")
    with Image.open(tmp_path / "icon.ico") as opened:
        assert opened.info["sizes"] == {(side, side) for side in icons.WINDOWS}
    with Image.open(tmp_path / "icon.icns") as opened:
        assert {size[0] * size[2] for size in opened.info["sizes"]} >= {32, 256, 512, 1024}
    for side in icons.LINUX:
        with Image.open(tmp_path / "hicolor" / f"{side}x{side}" / "apps" / "x.png") as opened:
            assert opened.size == (side, side)


def test_the_icon_is_drawn_with_clear_corners() -> None:
    pixels = np.asarray(icons.draw(64))
    assert pixels[0, 0, 3] == 0
    assert pixels[32, 32, 3] == 255
    assert len(np.unique(pixels.reshape(-1, 4), axis=0)) > 7


# --- what goes in, and under which licences ----------------------------------------------------


def test_every_resource_goes_in_but_screenshots_and_examples(tmp_path: Path) -> None:
    for name in (
        "icon.svg",
        "help/start.md",
        "help/pictures/a.png",
        "screenshots/b.png",
        "examples/c.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = {
        (Path(source).name, Path(target).as_posix())
        for source, target in contents.resources(tmp_path)
    }
    expected = {
        ("icon.svg", "resources"),
        ("start.md", "resources/help"),
        ("a.png", "resources/help/pictures"),
    }
    assert found == expected


def test_every_module_of_the_program_goes_in_but_the_estimators() -> None:
    """Most are imported by name, which PyInstaller cannot see."""
    from PyInstaller.utils.hooks import collect_submodules

    found = set(collect_submodules("isca_gui", filter=contents.is_wanted))
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in (ROOT / "isca_gui").rglob("*.py")
    }
    assert modules - found == {"isca_gui.core.model.estimators"}


def test_the_recipe_names_modules_that_exist() -> None:
    recipe = (ROOT / "packaging" / "frozen" / "isca.spec").read_text("utf-8")
    names = re.findall(r'"(isca_gui\.[\w.]+)"', recipe)
    assert names
    for name in names:
        assert importlib.util.find_spec(name) is not None, name


@pytest.mark.parametrize(
    ("target", "stays"),
    [
        ("PySide6/Qt/plugins/platforms/libqxcb.so", True),
        ("PySide6/Qt/plugins/platforms/libqeglfs.so", False),
        ("PySide6/plugins/platforms/qwindows.dll", True),
        ("PySide6\\plugins\\tls\\qschannelbackend.dll", False),
        ("PySide6/Qt/plugins/platformthemes/libqgtk3.so", False),
        ("PySide6/Qt/translations/qt_de.qm", False),
        ("skimage/data/camera.png", True),
        ("skimage/filters/__init__.pyi", True),
        ("resources/help/start.md", True),
    ],
)
def test_what_is_never_loaded_stays_out(target: str, stays: bool) -> None:
    assert bool(contents.needed([(target, "", "DATA")])) == stays


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="libraries are left out on Linux only"
)
def test_a_library_stays_if_something_is_linked_with_it() -> None:
    import PySide6

    folder = Path(PySide6.__file__).parent
    libraries = ("Core", "Gui", "Quick")
    place = "PySide6/Qt/lib"
    binaries = [
        *(
            (f"{place}/libQt6{name}.so.6", f"{folder}/Qt/lib/libQt6{name}.so.6", "BINARY")
            for name in libraries
        ),
        ("PySide6/QtGui.abi3.so", f"{folder}/QtGui.abi3.so", "EXTENSION"),
        ("libpython3.11.so.1.0", sys.executable, "BINARY"),
    ]
    links = [(f"libQt6{name}.so.6", f"{place}/libQt6{name}.so.6", "SYMLINK") for name in libraries]
    kept, data = contents.linked(binaries, [*links, ("a.txt", "/a.txt", "DATA")])
    names = {Path(target).name for target, _, _ in kept}
    assert names == {"libQt6Core.so.6", "libQt6Gui.so.6", "QtGui.abi3.so", "libpython3.11.so.1.0"}
    assert {target for target, _, _ in data} == {"libQt6Core.so.6", "libQt6Gui.so.6", "a.txt"}


def test_licences_are_listed_with_their_texts(tmp_path: Path) -> None:
    import PySide6

    sources = [
        np.__file__,
        str(PySide6.__file__),
        str(samples.resolve("sample:camera")),
        os.__file__,
        "-",
        "",
    ]
    found = {each.name: each for each in licences.write(sources, tmp_path)}
    assert set(found) == {
        "isca-gui",
        "pyinstaller",
        "numpy",
        "PySide6_Essentials",
        "scikit-image",
        "Python",
    }
    assert found["numpy"].licence.startswith("BSD-3-Clause")
    # Without the exception, everything that its loader starts would be under the GPL.
    assert "exception" in found["pyinstaller"].licence
    page = (tmp_path / licences.LIST).read_text("utf-8")
    for name, component in found.items():
        assert f"| {name} | {component.version} | {component.licence} |" in page
        assert any((tmp_path / licences.FOLDER / name).iterdir()), name
    lesser = (tmp_path / licences.FOLDER / "PySide6_Essentials" / "LGPL-3.0.txt").read_text("utf-8")
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in lesser


def test_every_library_that_the_program_needs_says_its_licence() -> None:
    for name in (
        "numpy",
        "scipy",
        "scikit-image",
        "pillow",
        "numba",
        "llvmlite",
        "matplotlib",
        "pyqtgraph",
        "rich",
    ):
        distribution = importlib.metadata.distribution(name)
        component = licences._distribution(distribution)
        assert component.licence != "see the text", name
        assert component.files or component.text, name


@pytest.mark.skipif(
    shutil.which("dpkg-query") is None, reason="packages are looked up on Debian only"
)
def test_libraries_of_the_system_are_listed_by_their_packages(tmp_path: Path) -> None:
    library = next(Path("/usr/lib").glob("*/libz.so.1*"), None) or next(
        Path("/lib").glob("*/libz.so.1*")
    )
    found = {
        each.name: each
        for each in licences.components_of([str(library), str(tmp_path / "libown.so.1")])
    }
    assert found["zlib1g"].version
    assert found["zlib1g"].files[0].read_text("utf-8", "replace")
    assert "system" in found["libown.so.1"].licence


def test_the_files_that_the_recipe_refers_to_are_prepared(tmp_path: Path) -> None:
    packing.prepare(tmp_path / "prepared")
    assert {path.name for path in (tmp_path / "prepared").iterdir()} == {
        "icon.ico",
        "icon.icns",
        "version.txt",
    }
    told = (tmp_path / "prepared" / "version.txt").read_text("utf-8")
    assert f"'FileVersion', '{isca_gui.__version__}'" in told
    compile(told, "version.txt", "eval")
    recipe = ROOT / "packaging" / "frozen" / "isca.spec"
    compile(recipe.read_text("utf-8"), "isca.spec", "exec")
    for script in contents.PROGRAMS.values():
        assert (recipe.parent / f"{script}.py").is_file()
