"""Build the wheel and the source distribution, and test each in an empty environment.

`dev.py packages` runs this in the project's environment, which has hatchling. Both are built in
dist/ without a network. With `--offline`, the tests use the libraries of the project's environment
instead of installing them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
# Checks that an installed program finds its resources and the samples.
TRIAL = """
import pathlib, sys
import isca_gui
from isca_gui.core.pictures import samples
from isca_gui.core.storage import resources
home = pathlib.Path(isca_gui.__file__).resolve()
assert home.is_relative_to(pathlib.Path(sys.prefix).resolve()), f"not the installed program: {home}"
for name in sys.argv[1:]:
    found = resources.find(name)
    assert found is not None, f"{name} is missing"
    assert found.resolve().is_relative_to(home.parent), f"{found} is not part of the program"
assert samples.resolve("sample:camera").is_file()
"""


class Failed(Exception):
    """A step failed; the message is its command line and its output."""


def run(*command: str | Path, where: Path = ROOT) -> str:
    """Run a step and return its output."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=where, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise Failed(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder: Path, source: Path = ROOT) -> tuple[Path, Path]:
    """Build the wheel and the source distribution of a source tree, and return their paths."""
    with tempfile.TemporaryDirectory() as empty:
        for kind in ("wheel", "sdist"):
            run(sys.executable, "-m", "hatchling", "build", "-d", empty, "-t", kind, where=source)
        wheel = shutil.copy(next(Path(empty).glob("*.whl")), folder)
        sdist = shutil.copy(next(Path(empty).glob("*.tar.gz")), folder)
    return Path(wheel), Path(sdist)


def unpack(sdist: Path, folder: Path) -> Path:
    """Unpack a source distribution and return its top folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def listing(wheel: Path) -> dict[str, int]:
    """Return the files of a wheel with the checksums of their contents."""
    with zipfile.ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist()}


def environment(folder: Path, *, offline: bool) -> Path:
    """Create an empty environment and return its interpreter.

    Offline, it uses the libraries (and hatchling) of the environment that runs this.
    """
    options = ["--without-pip"] if offline else []
    run(sys.executable, "-m", "venv", *options, folder)
    python = folder / "bin/python"
    if not python.exists():
        python = folder / "Scripts/python.exe"
    if offline:
        places = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        own = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        Path(own, "borrowed.pth").write_text("\n".join(sorted(places)) + "\n", "utf-8")
    return python


def install(package: Path, python: Path, *, offline: bool) -> None:
    """Install a wheel or a source distribution."""
    if not offline:
        run(python, "-m", "pip", "install", "--quiet", "--no-input", package)
        return
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed", "--quiet"]
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, package)


def attempt(python: Path, folder: Path) -> str:
    """Test the installed program in a folder of its own and return the version that it prints."""
    top = ROOT / "resources"
    names = sorted(path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file())
    run(python, "-I", "-c", TRIAL, *names, where=folder)
    isca = python.with_name(f"isca{python.suffix}")
    window = python.with_name(f"isca-gui{python.suffix}")
    distort = ("distort", "sample:coins", "--kind", "blur", "--mse", "90", "-o", "blurred.png")
    run(isca, *distort, where=folder)
    if "picture" not in run(isca, "info", "blurred.png", where=folder) or not window.exists():
        raise Failed(f"{isca} or {window} does not work")
    return run(isca, "--version", where=folder).strip()


def main(arguments: list[str]) -> int:
    """Build and test both packages, and return the exit code."""
    offline = arguments == ["--offline"]
    if arguments and not offline:
        words = " ".join(arguments)
        print(f"Unknown option: {words}; the only option is --offline", file=sys.stderr)
        return 2
    DIST.mkdir(exist_ok=True)
    try:
        for package in build(DIST):
            print(f"Built {package}, {package.stat().st_size / 1e6:.1f} MB", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                python = environment(Path(folder, "environment"), offline=offline)
                install(package, python, offline=offline)
                version = attempt(python, Path(folder))
                print(f"Installed into an empty environment: {version}", flush=True)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
