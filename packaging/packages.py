"""Make the wheel and the source distribution, and install each into an empty environment to try it.

Called by `dev.py packages` with the project's environment, where hatchling is. Both are made in dist/; making
them needs no network. With `--offline` they are tried with the libraries of the project's environment,
instead of installing these as well.
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
# What an installed program must find: its resources, the samples, and both of its commands.
TRIAL = """
import pathlib, sys
import isca_gui
from isca_gui.core.storage import resources as assets
from isca_gui.core.pictures import samples
home = pathlib.Path(isca_gui.__file__).resolve()
assert home.is_relative_to(pathlib.Path(sys.prefix).resolve()), f"not the installed program: {home}"
for name in sys.argv[1:]:
    found = assets.find(name)
    assert found is not None, f"{name} is missing"
    assert found.resolve().is_relative_to(home.parent), f"{found} is not a part of the installed program"
assert samples.resolve("sample:camera").is_file()
"""


class Failed(Exception):
    """A step failed; the message says which and shows what it wrote."""


def run(*command: str | Path, where: Path = ROOT) -> str:
    """Run a step and give its output."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=where, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise Failed(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder: Path, source: Path = ROOT) -> tuple[Path, Path]:
    """Make the wheel and the source distribution of a source tree in a folder; gives both."""
    with tempfile.TemporaryDirectory() as empty:
        for kind in ("wheel", "sdist"):
            run(sys.executable, "-m", "hatchling", "build", "-d", empty, "-t", kind, where=source)
        made = (next(Path(empty).glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
        wheel, sdist = (Path(shutil.copy(path, folder)) for path in made)
    return wheel, sdist


def unpack(sdist: Path, folder: Path) -> Path:
    """Unpack a source distribution; gives its top folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def listing(wheel: Path) -> dict[str, int]:
    """List the files of a wheel with the checksums of their content."""
    with zipfile.ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist()}


def environment(folder: Path, *, offline: bool) -> Path:
    """Make an empty environment; gives its interpreter.

    Offline, the libraries (and hatchling) are borrowed from the environment that runs this.
    """
    run(sys.executable, "-m", "venv", *(["--without-pip"] if offline else []), folder)
    python = next(
        path for path in (folder / "bin/python", folder / "Scripts/python.exe") if path.exists()
    )
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
    """Try the installed program in a folder of its own; gives the version that it says it has."""
    top = ROOT / "resources"
    names = sorted(path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file())
    run(python, "-I", "-c", TRIAL, *names, where=folder)
    suffix = python.suffix
    isca, window = (python.with_name(name + suffix) for name in ("isca", "isca-gui"))
    run(
        isca,
        "distort",
        "sample:coins",
        "--kind",
        "blur",
        "--mse",
        "90",
        "-o",
        "blurred.png",
        where=folder,
    )
    if "picture" not in run(isca, "info", "blurred.png", where=folder) or not window.exists():
        raise Failed(f"{isca} or {window} does not work")
    return run(isca, "--version", where=folder).strip()


def main(arguments: list[str]) -> int:
    """Make both, install both, and say how it went."""
    offline = arguments == ["--offline"]
    if arguments and not offline:
        print(f"Not understood: {' '.join(arguments)}; there is only --offline", file=sys.stderr)
        return 2
    DIST.mkdir(exist_ok=True)
    try:
        for package in build(DIST):
            print(f"Made {package}, {package.stat().st_size / 1e6:.1f} MB", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                python = environment(Path(folder, "environment"), offline=offline)
                install(package, python, offline=offline)
                print(
                    f"Installed into an empty environment: {attempt(python, Path(folder))}",
                    flush=True,
                )
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
