"""The real program on a virtual screen, from a picture to an exported map, by mouse and keys alone.

With ISCA_SCREENSHOTS=1 it uses the whole sample and saves screenshots in resources/screenshots.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from isca_gui.core.distortion.distortions import DISTORTIONS
from isca_gui.core.model import model_file
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run
from isca_gui.core.projects import project
from tests.gui import screen as screens

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

SIDE = 128
WANTED = bool(os.environ.get("ISCA_SCREENSHOTS"))
SCREENSHOTS = screens.ROOT / "resources" / "screenshots"

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(
        bool(screens.missing_tools()),
        reason=f"not installed: {', '.join(screens.missing_tools())}",
    ),
    pytest.mark.timeout(600 if WANTED else 240),
]


@pytest.fixture
def picture(tmp_path: Path) -> str:
    """Return the reference: a part of the sample, to be quick."""
    if WANTED:
        return "sample:camera"
    whole = image.read(samples.resolve("sample:camera"))
    path = tmp_path / "camera.png"
    image.save_png(path, np.ascontiguousarray(whole[60 : 60 + SIDE, 170 : 170 + SIDE]))
    return str(path)


@pytest.fixture
def copy(picture: str, tmp_path: Path) -> Path:
    """Return a copy of the reference that another program has saved as JPEG."""
    pixels = np.rint(255 * image.read(samples.resolve(picture))).astype(np.uint8)
    path = tmp_path / "copy from the web.jpg"
    Image.fromarray(pixels).save(path, quality=20)
    return path


@pytest.fixture
def program(tmp_path: Path, picture: str) -> Iterator[screens.Program]:
    with screens.screen(tmp_path) as shown:
        made = screens.Program(shown, tmp_path, picture)
        try:
            yield made
        finally:
            if made.process.poll() is None:
                made.process.kill()
            made.process.wait()


def share_of(pixels: NDArray[np.uint8], colour: str) -> int:
    """Count the pixels of exactly one colour."""
    wanted = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return int((pixels == wanted).all(axis=2).sum())


def shoot(program: screens.Program, name: str = "") -> NDArray[np.uint8]:
    """Look at the screen; it must not be blank. With a name it is kept if that is wanted."""
    program.screen.tool("mousemove", str(screens.SIZE[0] - 40), str(screens.SIZE[1] - 4))
    program.rest()
    pixels = program.screen.pixels()
    assert pixels.shape == (screens.SIZE[1], screens.SIZE[0], 3)
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 200, "the screen is blank"
    if WANTED and name:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(SCREENSHOTS / f"{name}.png", optimize=True)
    return pixels


def test_from_a_picture_to_an_exported_map(
    program: screens.Program, copy: Path, tmp_path: Path
) -> None:
    until = program.until
    until(lambda state: state["reference"], "the reference")
    program.do("theme light")
    generate(program)
    train_with_admm_and_stop(program)
    train_kernel_isca(program)
    recognise(program, copy)
    look_at_a_cell(program)
    export(program, tmp_path)
    assert [text for level, text in program.state["messages"] if level == "error"] == []
    keep(program, tmp_path)
    program.screen.key("ctrl+q")  # everything is saved, so nothing is asked
    assert program.process.wait(10) == 0
    assert program.heard == ""


def test_from_two_pictures_to_a_report(
    program: screens.Program, picture: str, copy: Path, tmp_path: Path
) -> None:
    """Compare by palette, two dialogs and one report; the copy is answered without a click."""
    program.until(lambda state: state["reference"], "the reference")
    program.do("compare a copy")
    original = str(samples.resolve(picture))
    program.click("viewer-compare/Open…")
    program.answer(original)
    program.click("viewer-compare/Open copies…")
    program.answer(copy)
    program.until(lambda state: state["compared"] and state["compared"][0]["label"], "the answer")
    assert program.state["compared"] == [{"name": copy.name, "label": "jpeg"}]
    program.until(lambda state: "viewer-compare/Answer" in state["widgets"], "the page")
    shoot(program, "light-compare")
    program.click("viewer-compare/Swipe: the original over the copy; drag the divider")
    program.click("viewer-compare/Save report…")
    program.answer(tmp_path / "report.html")
    program.rest()
    assert "JPEG, quality about" in (tmp_path / "report.html").read_text("utf-8")
    program.click("viewer-compare/Train ISCA on this original")
    program.until(lambda state: "distort_panel/Generate" in state["widgets"], "the four steps")
    assert [text for level, text in program.state["messages"] if level == "error"] == []
    program.screen.key("ctrl+q")
    assert program.process.wait(10) == 0


def generate(program: screens.Program) -> None:
    shoot(program)
    step, levels = ("95", 10) if WANTED else ("285", 4)
    program.fill("distort_panel/Step between levels", step)
    program.until(lambda state: state["levels"] == levels, "the levels")
    program.click("distort_panel/Generate")
    program.until(lambda state: state["dataset"], "the dataset")
    assert program.state["dataset"] > 15
    shoot(program, "light-pictures")
    swipe = "viewer-pictures/Swipe: The chosen picture over the reference; drag the divider"
    assert swipe in program.state["widgets"]


def train_with_admm_and_stop(program: screens.Program) -> None:
    assert program.state["settings"]["solver"] == "admm"
    program.fill("train_panel/Epochs", "90000")
    program.until(lambda state: state["settings"]["epochs"] == 90_000, "the epochs")
    program.click("train_panel/Train")
    program.until(lambda state: state["steps"] > (60 if WANTED else 8), "some epochs", 120)
    program.click("train_panel/■ Stop and keep")
    program.until(lambda state: state["runs"] and not state["training"], "the kept run", 5)
    run = program.state["runs"][0]
    assert run["end"] == "stopped"
    assert 8 < run["epoch"] < 90_000
    program.until(lambda state: state["runs"][0]["evaluated"], "the evaluation", 120)


def train_kernel_isca(program: screens.Program) -> None:
    program.click("train_panel/Method")
    program.screen.key("Down", "Return")
    program.until(lambda state: state["settings"]["method"] == "kernel-isca", "the method")
    program.fill("train_panel/Epochs", "3")
    program.until(lambda state: state["settings"]["epochs"] == 3, "the epochs")
    program.click("train_panel/Train")
    program.until(
        lambda state: len(state["runs"]) == 2 and state["runs"][1]["evaluated"],
        "the second run",
        200,
    )
    run = program.state["runs"][1]
    assert (run["method"], run["epoch"]) == ("kernel-isca", 3)


def recognise(program: screens.Program, copy: Path) -> None:
    program.click("recognise_panel/Open pictures…")
    program.answer(copy)
    program.until(lambda state: state["tested"] and state["tested"][0]["label"], "the verdict")
    assert [test["name"] for test in program.state["tested"]] == [copy.name]
    program.until(
        lambda state: "viewer-vote-map/Verdict" in state["widgets"], "the vote map in front"
    )
    program.tab("Runs")
    program.rest()
    first = program.until(lambda state: state["widgets"].get("viewer-runs/Runs"), "the runs")
    program.screen.click(first[0] + 40, first[1] + 40)  # the first run, below the heading
    program.click("recognise_panel/Again")
    program.until(lambda state: state["tested"][0]["label"] == "jpeg", "the first run's verdict")
    program.until(
        lambda state: "viewer-vote-map/Verdict" in state["widgets"], "the vote map in front"
    )
    pixels = shoot(program, "light-vote-map")
    for kind in DISTORTIONS.values():
        assert share_of(pixels, kind.colour) > 20, f"the colour of {kind.name} is in the legend"
    assert share_of(pixels, DISTORTIONS["jpeg"].colour) > 300, "most blocks vote for JPEG"


def look_at_a_cell(program: screens.Program) -> None:
    program.tab("Confusion")
    cells = program.until(lambda state: state["cells"], "the matrix")
    wrong = [cell for cell in cells if cell[0] not in (cell[1], "original")]
    chosen: Any = (wrong or cells)[0]
    program.click_at(chosen[3])
    item = program.until(lambda state: state["item"], "the pictures of the cell")
    program.rest()
    program.do("theme dark")
    dark = shoot(program, "dark-confusion")
    assert np.median(dark) < 60
    program.click_at(item)
    program.until(lambda state: "left out of" in state["selected"], "the picture left out")
    program.until(
        lambda state: "viewer-vote-map/Verdict" in state["widgets"], "the vote map in front"
    )
    assert program.state["selected"].startswith(chosen[0])
    shoot(program)


def export(program: screens.Program, folder: Path) -> None:
    names = [name for name in program.state["widgets"] if name.startswith("viewer-vote-map/Export")]
    program.click(names[0])
    program.choose("Save map… (PNG)")
    program.answer(folder / "map.png")
    program.rest()
    saved = np.asarray(Image.open(folder / "map.png").convert("RGB"))
    assert saved.shape[:2] == image.read(folder / "copy from the web.jpg").shape
    assert (np.ptp(saved, axis=2) > 20).mean() > 0.2, "the map has colours"
    program.do("save model")
    program.answer(folder / "saved.isca")
    program.rest()
    assert model_file.load_model(folder / "saved.isca").settings.method in ("isca", "kernel-isca")
    assert [text for _, text in program.state["messages"] if "map.png" in text]


def keep(program: screens.Program, folder: Path) -> None:
    """Save the project; all that is there must be in it."""
    program.screen.key("ctrl+q")
    program.until(lambda state: state["dialog"] == "Save project?", "the question before closing")
    program.screen.key("Escape")
    program.until(lambda state: not state["dialog"], "the question to go")
    program.screen.key("ctrl+s")
    program.answer(folder / "work.iscaproj")
    program.rest()
    saved, contents = run(project.load(folder / "work.iscaproj"))
    assert len(saved.runs) == len(contents.models) == 2
    assert saved.tested[0].name == "copy from the web.jpg"
    assert contents.dataset is not None
