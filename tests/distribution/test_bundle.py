"""The bundle itself: both of its programs are started without Python and do their work.

`python3 packaging/dev.py bundle` builds dist/isca-studio, which takes minutes, and runs these
tests. They are marked `bundle`, and `dev.py test` leaves them out; without a bundle they are
skipped.
"""

from __future__ import annotations

import contextlib
import csv
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import bundle as packing
import contents
import licences
import numpy as np
import pytest
from PIL import Image

import isca_gui
from isca_gui.core.pictures import image, samples
from tests.gui import screen as screens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

from tests.places import ROOT

SIDE = 96
ENDING = ".exe" if os.name == "nt" else ""
LINUX = sys.platform.startswith("linux")
ON_A_SCREEN = pytest.mark.skipif(not LINUX, reason="windows are driven on Linux only")
pytestmark = [pytest.mark.bundle, pytest.mark.timeout(600)]


class Bundle:
    """The programs of the bundle, in an environment that has no Python and nothing else of ours."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.home = home
        self.environment = {"HOME": str(home), "PATH": "/nonexistent", "LANG": "C.UTF-8"}
        # Windows starts no program without SYSTEMROOT.
        if os.name == "nt":
            self.environment |= {"SYSTEMROOT": os.environ["SYSTEMROOT"], "LOCALAPPDATA": str(home)}

    def isca(self, *words: str | Path) -> str:
        command = [str(self.folder / f"isca{ENDING}"), *(str(word) for word in words)]
        done = subprocess.run(
            command,
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
        return done.stdout

    def compiled(self) -> dict[Path, int]:
        """Return the files of numba's cache, and when each was written."""
        return {path: path.stat().st_mtime_ns for path in self.home.rglob("*.nb?")}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    if not (packing.BUNDLE / f"isca{ENDING}").exists():
        pytest.skip("there is no bundle; python3 packaging/dev.py bundle builds and tests one")
    return Bundle(packing.BUNDLE, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def model(made: Bundle) -> Path:
    """A model of the sample that the bundle's command has trained, for the window to use."""
    made.isca("dataset", "sample:camera", "-o", "set")
    told = made.isca("train", "set", "-o", "camera.isca", "--epochs", "5")
    assert "ran 5 epochs" in told
    return made.home / "camera.isca"


def test_it_starts_without_python(made: Bundle) -> None:
    assert made.isca("--version").strip() == f"ISCA Studio {isca_gui.__version__}"
    assert "sample:camera" in made.isca("samples")
    assert "512" in made.isca("info", "sample:camera")


def test_it_holds_its_resources_and_nothing_of_the_developers(made: Bundle) -> None:
    inside = made.folder / "_internal"
    for source, target in contents.resources(ROOT / "resources"):
        assert (inside / target / Path(source).name).read_bytes() == Path(source).read_bytes()
    for name in ("sklearn", "pytest", "PyInstaller", "mypy", "tkinter", "tests"):
        assert not list(inside.glob(f"{name}*")), name
    assert [
        path for path in made.folder.rglob("*") if path.is_symlink() and not path.exists()
    ] == []
    names = {path.name for path in (made.folder / licences.FOLDER).iterdir()}
    rows = re.findall(r"(?m)^\| ([^|]+) \| ", (made.folder / licences.LIST).read_text("utf-8"))[1:]
    assert {"isca-gui", "Python", "numpy", "numba", "PySide6_Essentials", "pyinstaller"} <= set(
        rows
    )
    assert set(rows) == names, "each with its text"


def test_the_demonstration_runs(made: Bundle) -> None:
    report = Path(made.isca("demo", "-o", "demonstration").strip())
    assert "JPEG compression" in report.read_text("utf-8")


def test_the_paper_is_reproduced_with_its_figures(made: Bundle) -> None:
    whole = image.read(samples.resolve("sample:camera"))
    image.save_png(
        made.home / "part.png", np.ascontiguousarray(whole[60 : 60 + SIDE, 170 : 170 + SIDE])
    )
    made.isca("reproduce", "part.png", "-o", "paper", "--quick")
    assert {path.suffix for path in (made.home / "paper" / "figures").iterdir()} >= {".png", ".svg"}


def test_the_command_trains_and_classifies(made: Bundle, model: Path) -> None:
    before = made.compiled()
    assert before, "what was compiled is not kept"
    made.isca("train", "set", "-o", "again.isca", "--epochs", "1")
    assert made.compiled() == before, "compiled once more"
    made.isca("distort", "sample:camera", "--kind", "blur", "--mse", "150", "-o", "blurred.png")
    assert "Blur, strength about MSE 1" in made.isca("classify", model, "blurred.png")


class Shown:
    """The bundle's window on a screen of its own, driven by keys alone."""

    def __init__(self, made: Bundle, screen: screens.Screen, *words: str) -> None:
        self.screen = screen
        self._said = made.home / "window.txt"
        self.start = time.perf_counter()
        with self._said.open("wb") as stream:
            self.process = subprocess.Popen(
                [str(made.folder / "isca-gui"), *words],
                cwd=made.home,
                stdout=stream,
                stderr=stream,
                env=made.environment | {"DISPLAY": screen.display},
            )

    def windows(self) -> list[str]:
        command = ["xdotool", "search", "--onlyvisible", "--name", ".", "getwindowname", "%@"]
        done = subprocess.run(command, env=self.screen.environment, capture_output=True, text=True)
        return [name.removesuffix(" — ISCA Studio") for name in done.stdout.splitlines()]

    def until(
        self, ready: Callable[[], object], what: str, seconds: float = 60, pause: float = 0.1
    ) -> None:
        end = time.monotonic() + seconds
        while not ready():
            assert self.process.poll() is None, f"ended while waiting for {what}: {self.said()}"
            assert time.monotonic() < end, (
                f"waited in vain for {what}; there are {self.windows()}; {self.said()}"
            )
            time.sleep(pause)

    def said(self) -> str:
        return self._said.read_text("utf-8")

    def shows_picture(self) -> bool:
        """Whether a photograph is shown: nothing else on the screen has so many shades of grey."""
        pixels = self.screen.pixels()[::2, ::2].astype(np.int16)
        grey = pixels[(np.ptp(pixels, axis=2) == 0)][:, 0]
        return int((np.bincount(grey, minlength=256) >= 15).sum()) > 150

    def wait_for_picture(self) -> float:
        """Wait until the window shows its first picture; return the seconds since the start."""
        self.until(self.shows_picture, "the picture", pause=0.03)
        return time.perf_counter() - self.start

    def do(self, action: str, title: str, path: Path) -> None:
        """Run an action by its name until it opens its dialog, and type a path there."""
        self.until(lambda: self._asks(action, title), f"'{title}'", 120, pause=1)
        time.sleep(0.5)
        self.screen.key("ctrl+a")
        self.screen.type(str(path))
        time.sleep(0.3)
        self.screen.key("Return")
        self.until(lambda: title not in self.windows(), f"'{title}' to close")

    def _asks(self, action: str, title: str) -> bool:
        self.screen.key("ctrl+shift+p")
        self.until(lambda: "Find an action" in self.windows(), "the palette")
        self.screen.type(action)
        self.screen.key("Return")
        with contextlib.suppress(AssertionError):
            self.until(lambda: title in self.windows(), title, 3)
        found = self.windows()
        # The palette stays open while the action is disabled.
        if "Find an action" in found:
            self.screen.key("Escape")
            self.until(lambda: "Find an action" not in self.windows(), "the palette to close")
        return title in found

    def close(self) -> int:
        """Quit without saving and return the exit code."""
        self.screen.key("ctrl+q")
        end = time.monotonic() + 30
        while self.process.poll() is None and time.monotonic() < end:
            if "Save project?" in self.windows():
                # Tab moves from Save to Discard.
                self.screen.key("Tab", "space")
            time.sleep(0.5)
        return self.process.wait(1)


@pytest.fixture
def show(made: Bundle, tmp_path: Path) -> Iterator[Callable[..., Shown]]:
    started: list[Shown] = []
    with screens.screen(tmp_path) as screen:
        yield lambda *words: started.append(Shown(made, screen, *words)) or started[-1]
        for each in started:
            if each.process.poll() is None:
                each.process.kill()
            each.process.wait()


@ON_A_SCREEN
@pytest.mark.usefixtures("model")
def test_the_window_comes_up_quickly(
    made: Bundle, show: Callable[..., Shown], capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = []
    before = made.compiled()
    for _ in range(3):
        window = show("sample:camera")
        seconds.append(window.wait_for_picture())
        assert window.close() == 0
        assert window.said() == ""
    with capsys.disabled():
        times = ", ".join(f"{each:.1f}" for each in seconds)
        sys.stdout.write(
            f"\nStart to a window with its first picture: {min(seconds):.1f} s ({times})\n"
        )
    assert min(seconds) < 10
    assert made.compiled() == before, "window and command do not share what is compiled"


def saved_answer(window: Shown, path: Path) -> dict[str, str]:
    """Save the table of answers; return its first row, or nothing if there is no verdict yet."""
    time.sleep(1)
    window.do("save answers", "Save answers", path)
    window.until(path.exists, "the table")
    with path.open(encoding="utf-8", newline="") as stream:
        row = next(csv.DictReader(stream), {"label": ""})
    return row if row["label"] else {}


@ON_A_SCREEN
def test_the_window_classifies_the_sample(
    made: Bundle, show: Callable[..., Shown], model: Path, tmp_path: Path
) -> None:
    made.isca("distort", "sample:camera", "--kind", "jpeg", "--mse", "150", "-o", "copy.png")
    window = show("sample:camera")
    window.wait_for_picture()
    window.do("open model", "Open a model", model)
    window.do("recognise pictures", "Open pictures to recognise", made.home / "copy.png")
    answers = (saved_answer(window, tmp_path / f"{number}.csv") for number in range(20))
    answer = next(filter(None, answers))
    assert (answer["label"], answer["error"]) == ("jpeg", "")
    assert 140 < float(answer["severity"]) < 160
    Image.fromarray(window.screen.pixels()).save(packing.WORK / "window.png")
    assert window.close() == 0
    assert window.said() == ""
