"""Make the bundle: one folder with the window, the `isca` command and all that they need, Python included.

Called by `dev.py bundle` with the project's environment, where PyInstaller is. The folder is
dist/isca-studio; what PyInstaller has to say is in build/bundle/log.txt.
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
WORK, DIST = ROOT / "build" / "bundle", ROOT / "dist"
PREPARED, LOG = WORK / "prepared", WORK / "log.txt"
BUNDLE = DIST / contents.NAME
LINUX = HERE / "linux"
# Where the files of packaging/linux belong below a folder such as /usr/share.
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
    """Make the files that the recipe refers to."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    icons.write_ico(folder / "icon.ico")
    icons.write_icns(folder / "icon.icns")
    numbers = (*(int(part) for part in __version__.split(".")[:3]), 0)
    (folder / "version.txt").write_text(
        _VERSION.format(numbers=numbers, version=__version__), "utf-8"
    )


def freeze() -> int:
    """Let PyInstaller do its work; gives its exit code."""
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--clean"]
    places = ["--distpath", str(DIST), "--workpath", str(WORK / "pyinstaller")]
    words = {
        "ISCA_PREPARED": str(PREPARED),
        "ISCA_VERSION": __version__,
        "QT_QPA_PLATFORM": "offscreen",
    }
    with LOG.open("wb") as log:
        recipe = str(HERE / "frozen" / "isca.spec")
        return subprocess.run(
            [*command, *places, recipe], cwd=ROOT, env=os.environ | words, stdout=log, stderr=log
        ).returncode


def finish(folder: Path) -> None:
    """Add what a person looks for beside the programs: licences, and what the desktop wants."""
    shutil.copy(PREPARED / licences.LIST, folder)
    shutil.copytree(PREPARED / licences.FOLDER, folder / licences.FOLDER)
    if sys.platform.startswith("linux"):
        add_share(folder / "share")
        shutil.copy(LINUX / "install.sh", folder)


def add_share(share: Path) -> None:
    """Lay out menu entry, description, file types and icons as below /usr/share."""
    for ending, place in SHARE.items():
        name = contents.IDENTIFIER + ending
        (share / place).mkdir(parents=True)
        shutil.copy(LINUX / name, share / place / name.replace(".mime.xml", ".xml"))
    icons.write_theme(share / "icons" / "hicolor", contents.IDENTIFIER)


def size(folder: Path) -> int:
    """Give the bytes of all files below a folder."""
    return sum(
        path.lstat().st_size for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()
    )


def largest(folder: Path, count: int = 6) -> str:
    """Name what takes most room."""
    parts = sorted(
        ((size(path), path.name) for path in folder.iterdir() if path.is_dir()), reverse=True
    )
    return ", ".join(f"{name} {bytes_ / 1e6:.0f}" for bytes_, name in parts[:count])


def main() -> int:
    """Make the bundle and say how large it is."""
    start = time.perf_counter()
    print(f"Making {BUNDLE}; this takes some minutes", flush=True)
    prepare(PREPARED)
    if freeze():
        print(LOG.read_text("utf-8", "replace")[-4000:], file=sys.stderr)
        print(f"PyInstaller failed, see above; all it said is in {LOG}.", file=sys.stderr)
        return 1
    apps = [
        BUNDLE,
        *([DIST / "ISCA Studio.app/Contents/Resources"] if sys.platform == "darwin" else []),
    ]
    for folder in apps:
        finish(folder)
    print(f"Made in {time.perf_counter() - start:.0f} s: ISCA Studio {__version__} in {BUNDLE}")
    print(f"Size: {size(BUNDLE) / 1e6:.0f} MB (of it {largest(BUNDLE / '_internal')})", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
