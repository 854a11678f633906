"""Build the bundle: a folder with the window, the `isca` command and everything they need.

`dev.py bundle` runs this in the project's environment, which has PyInstaller. The folder is
dist/isca-studio; the output of PyInstaller is in build/bundle/log.txt.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import contents
import icons
import licences

from isca_gui import __version__

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DIST = ROOT / "dist"
WORK = ROOT / "build" / "bundle"
PREPARED = WORK / "prepared"
LOG = WORK / "log.txt"
BUNDLE = DIST / contents.NAME
LINUX = HERE / "linux"
# Where the files of packaging/linux belong below a folder such as /usr/share, by their endings.
SHARE = {".desktop": "applications", ".metainfo.xml": "metainfo", ".mime.xml": "mime/packages"}
_VERSION = """VSVersionInfo(
  ffi=FixedFileInfo(
    filevers={numbers}, prodvers={numbers}, mask=0x3f, flags=0, OS=0x40004, fileType=1, subtype=0
  ),
  kids=[
    StringFileInfo([StringTable('040904B0', [
      StringStruct('CompanyName', 'The ISCA Studio developers'),
      StringStruct('FileDescription', 'ISCA Studio'),
      StringStruct('FileVersion', '{version}'),
      StringStruct('LegalCopyright', 'MIT licence'),
      StringStruct('ProductName', 'ISCA Studio'),
      StringStruct('ProductVersion', '{version}')])]),
    VarFileInfo([VarStruct('Translation', [1033, 1200])])
  ]
)
"""


def prepare(folder: Path) -> None:
    """Write the files that the recipe refers to."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    icons.write_ico(folder / "icon.ico")
    icons.write_icns(folder / "icon.icns")
    numbers = (*(int(part) for part in __version__.split(".")[:3]), 0)
    version = _VERSION.format(numbers=numbers, version=__version__)
    (folder / "version.txt").write_text(version, "utf-8")


def freeze() -> int:
    """Run PyInstaller and return its exit code."""
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--clean"]
    command += ["--distpath", str(DIST), "--workpath", str(WORK / "pyinstaller")]
    command.append(str(HERE / "frozen" / "isca.spec"))
    environment = {
        **os.environ,
        "ISCA_PREPARED": str(PREPARED),
        "ISCA_VERSION": __version__,
        "QT_QPA_PLATFORM": "offscreen",
    }
    with LOG.open("wb") as log:
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    return done.returncode


def finish(folder: Path) -> None:
    """Add what belongs beside the programs: licences and, on Linux, the files for the desktop."""
    shutil.copy(PREPARED / licences.LIST, folder)
    shutil.copytree(PREPARED / licences.FOLDER, folder / licences.FOLDER)
    if sys.platform.startswith("linux"):
        add_share(folder / "share")
        shutil.copy(LINUX / "install.sh", folder)


def add_share(share: Path) -> None:
    """Write menu entry, description, file types and icons as they are laid out in /usr/share."""
    for ending, place in SHARE.items():
        name = contents.IDENTIFIER + ending
        (share / place).mkdir(parents=True)
        shutil.copy(LINUX / name, share / place / name.replace(".mime.xml", ".xml"))
    icons.write_theme(share / "icons" / "hicolor", contents.IDENTIFIER)


def size(folder: Path) -> int:
    """Return the size of all files in a folder, in bytes."""
    files = (path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    return sum(path.lstat().st_size for path in files)


def largest(folder: Path, count: int = 6) -> str:
    """Return the largest folders with their sizes in megabytes, as text."""
    sizes = [(size(path), path.name) for path in folder.iterdir() if path.is_dir()]
    sizes.sort(reverse=True)
    return ", ".join(f"{name} {length / 1e6:.0f}" for length, name in sizes[:count])


def main() -> int:
    """Build the bundle and print its size."""
    start = time.perf_counter()
    print(f"Building {BUNDLE}; this takes a few minutes", flush=True)
    prepare(PREPARED)
    if freeze():
        print(LOG.read_text("utf-8", "replace")[-4000:], file=sys.stderr)
        print(f"PyInstaller failed, see above; its full output is in {LOG}.", file=sys.stderr)
        return 1
    finish(BUNDLE)
    if sys.platform == "darwin":
        finish(DIST / "ISCA Studio.app/Contents/Resources")
    seconds = time.perf_counter() - start
    print(f"ISCA Studio {__version__} is in {BUNDLE}, built in {seconds:.0f} s")
    parts = largest(BUNDLE / "_internal")
    print(f"Size: {size(BUNDLE) / 1e6:.0f} MB (largest parts: {parts})", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
