"""A screen of its own (Xvfb) with mouse and keyboard (xdotool), and what is seen on it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

TOOLS = ("Xvfb", "xdotool", "openbox")
SIZE = (1280, 800)


def missing_tools() -> list[str]:
    return [tool for tool in TOOLS if shutil.which(tool) is None]


class Screen:
    """A display that nobody sees, with a window manager."""

    def __init__(self, display: str, folder: Path) -> None:
        self.display, self._folder = display, folder

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "DISPLAY": self.display, "QT_QPA_PLATFORM": "xcb"}

    def tool(self, *words: str) -> None:
        subprocess.run(["xdotool", *words], env=self.environment, check=True, timeout=20)

    def click(self, x: int, y: int, button: int = 1, times: int = 1) -> None:
        self.tool("mousemove", str(x), str(y))
        time.sleep(0.04)
        self.tool("click", "--repeat", str(times), "--delay", "60", str(button))

    def key(self, *keys: str) -> None:
        for key in keys:
            self.tool("key", "--clearmodifiers", key)
            time.sleep(0.03)

    def type(self, text: str) -> None:
        self.tool("type", "--delay", "8", text)

    def pixels(self) -> Pixels:
        """Read what is on the screen from the file that Xvfb keeps it in (XWD)."""
        raw = (self._folder / "Xvfb_screen0").read_bytes()
        header = struct.unpack(">25I", raw[:100])
        size = header[0]
        width = header[4]
        height = header[5]
        per_line = header[12]
        colours = header[19]
        start = size + 12 * colours
        rows = np.frombuffer(raw, np.uint8, height * per_line, start).reshape(height, per_line)
        return np.ascontiguousarray(rows[:, : 4 * width].reshape(height, width, 4)[..., 2::-1])


@contextlib.contextmanager
def screen(folder: Path) -> Iterator[Screen]:
    """Start a display and its window manager, and end both."""
    read, write = os.pipe()
    size = f"{SIZE[0]}x{SIZE[1]}x24"
    options = f"-displayfd {write} -screen 0 {size} -nolisten tcp"
    command = ["Xvfb", *options.split(), "-fbdir", str(folder)]
    server = subprocess.Popen(
        command, pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(write)
    try:
        with os.fdopen(read) as stream:
            made = Screen(f":{stream.readline().strip()}", folder)
        manager = subprocess.Popen(
            ["openbox", "--sm-disable"],
            env=made.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield made
        finally:
            end(manager)
    finally:
        end(server)


def end(process: subprocess.Popen[Any]) -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Program:
    """The program on a screen, driven by mouse and keys; it writes to a file what it shows."""

    def __init__(self, screen: Screen, folder: Path, picture: str) -> None:
        self.screen = screen
        self._state = folder / "state.json"
        self._errors = folder / "stderr.txt"
        runtime = folder / "runtime"
        runtime.mkdir(mode=0o700)
        environment = screen.environment | {
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_RUNTIME_DIR": str(runtime),
        }
        with self._errors.open("wb") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.gui.watched", str(self._state), picture],
                env=environment,
                cwd=ROOT,
                stdout=stream,
                stderr=stream,
            )

    @property
    def state(self) -> dict[str, Any]:
        return json.loads(self._state.read_text("utf-8")) if self._state.exists() else {}

    @property
    def heard(self) -> str:
        """What the program has printed."""
        return self._errors.read_text("utf-8")

    def until(self, ready: Callable[[dict[str, Any]], Any], what: str, seconds: float = 60) -> Any:
        """Wait until `ready` returns something, and return that."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, (
                f"the program ended while waiting for {what}:\n{self.heard}"
            )
            assert not self.heard, self.heard
            found = self.state and ready(self.state)
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"waited in vain for {what}; {self.summary()}")

    def summary(self) -> str:
        state = dict(self.state)
        return json.dumps(
            {key: state.get(key) for key in ("focus", "dialog", "jobs", "messages", "tested")}
        )

    def rest(self) -> None:
        """Wait until nothing is under way and the positions are those shown."""
        self.until(lambda state: not state["jobs"], "the jobs to end")
        time.sleep(0.25)

    def click(self, name: str, **how: int) -> None:
        """Click the middle of a widget; the steps are scrolled until it is seen."""
        for wheel in (0, *[5] * 12, *[4] * 24):
            if wheel:
                x, y, _, height = self.state["window"]  # the steps are at its left
                self.screen.click(x + 8, y + height // 2, wheel, 2)
                time.sleep(0.2)
            place = self._settled(name, 5.0 if "_panel/" not in name else 0.4)
            if place is not None:
                self.click_at(place, **how)
                return
        raise AssertionError(f"'{name}' is not to be seen; {sorted(self.state['widgets'])}")

    def _settled(self, name: str, seconds: float) -> list[int] | None:
        """Return where a widget is once it was found there twice."""
        end, last = time.monotonic() + seconds, None
        while time.monotonic() < end:
            place = self.state.get("widgets", {}).get(name)
            if place is not None and place == last and place[3] > 9:
                return place
            last = place
            time.sleep(0.15)
        return None

    def click_at(self, place: list[int], **how: int) -> None:
        x, y, width, height = place
        self.screen.click(x + width // 2, y + height // 2, **how)
        time.sleep(0.12)

    def tab(self, title: str) -> None:
        self.click_at(self.until(lambda state: state["tabs"].get(title), f"the tab {title}"))

    def choose(self, line: str) -> None:
        """Click a line of the menu that is open."""
        self.click_at(self.until(lambda state: state["menu"].get(line), f"the menu line {line}"))

    def fill(self, name: str, text: str) -> None:
        """Write into a field."""
        self.click(name)
        self.screen.key("ctrl+a")
        self.screen.type(text)
        self.screen.key("Tab")

    def answer(self, path: Path) -> None:
        """Type a path into the file dialog that is open."""
        self.until(lambda state: state["dialog"], "a file dialog")
        time.sleep(0.3)
        self.screen.key("ctrl+a")
        self.screen.type(str(path))
        time.sleep(0.2)
        self.screen.key("Return")
        self.until(lambda state: not state["dialog"], "the dialog to close")

    def do(self, words: str) -> None:
        """Find an action by the palette and do it."""
        self.screen.key("ctrl+shift+p")
        self.until(lambda state: state["dialog"] == "Find an action", "the palette")
        self.screen.type(words)
        self.screen.key("Return")
        self.until(lambda state: state["dialog"] != "Find an action", "the palette to close")
