"""Wheel and source distribution: built without a network and tested in empty environments."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING

import packages
import pytest

import isca_gui
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return packages.build(tmp_path_factory.mktemp("dist"))


def files_of(*tops: str) -> set[str]:
    """Return the files below some folders that belong into a package."""
    paths = (path for top in tops for path in (ROOT / top).rglob("*") if path.is_file())
    kept = (path for path in paths if "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in kept}


def test_the_wheel_holds_the_program_and_its_resources(made: tuple[Path, Path]) -> None:
    names = set(packages.listing(made[0]))
    assert files_of("isca_gui") <= names
    assert {f"isca_gui/{name}" for name in files_of("resources")} <= names
    others = {name.split("/")[0] for name in names} - {"isca_gui"}
    assert others == {f"isca_gui-{isca_gui.__version__}.dist-info"}


def test_the_source_distribution_holds_all_that_is_needed_to_work_on_it(
    made: tuple[Path, Path],
) -> None:
    with tarfile.open(made[1]) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers()}
    assert files_of("isca_gui", "resources", "tests", "packaging") <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "PKG-INFO"} <= names
    assert {"CONTRIBUTING.md", ".editorconfig", ".pre-commit-config.yaml"} <= names
    assert files_of(".github") <= names
    assert not [name for name in names if name.startswith((".venv", "dist", "build"))]


def test_the_source_distribution_makes_the_same_wheel(
    made: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "source").mkdir()
    again, _ = packages.build(tmp_path / "dist", packages.unpack(made[1], tmp_path / "source"))
    assert packages.listing(again) == packages.listing(made[0])


@pytest.mark.parametrize("kind", [0, 1], ids=["wheel", "sdist"])
def test_it_works_where_nothing_else_of_it_is(
    made: tuple[Path, Path], kind: int, tmp_path: Path
) -> None:
    python = packages.environment(tmp_path / "environment", offline=True)
    packages.install(made[kind], python, offline=True)
    assert packages.attempt(python, tmp_path) == f"ISCA Studio {isca_gui.__version__}"


def test_the_trial_notices_a_missing_resource_and_a_missing_program(tmp_path: Path) -> None:
    python = packages.environment(tmp_path / "environment", offline=True)
    with pytest.raises(packages.Failed, match="not the installed program"):
        # The project's own package is found through the borrowed libraries.
        packages.attempt(python, tmp_path)
    packages.install(packages.build(tmp_path)[0], python, offline=True)
    installed = next((tmp_path / "environment").rglob("resources/icon.svg"))
    installed.unlink()
    with pytest.raises(packages.Failed, match=r"icon\.svg is missing|not part of the program"):
        packages.attempt(python, tmp_path)


def test_what_is_not_understood_is_said() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "packaging" / "packages.py", "--online"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "--offline" in done.stderr
