"""README.md keeps its word: every command and example in it is run, its names and numbers are checked."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

from isca_gui import bench, cli
from isca_gui.bench.figure import Figure
from isca_gui.core.distortion import dataset_folder, distortions, strength_search
from isca_gui.core.distortion.dataset import Entry, Unreachable
from isca_gui.core.pictures import decoding, samples
from isca_gui.core.pictures.image import ImageInfo
from isca_gui.core.recognition import answer_table
from isca_gui.core.recognition.evaluation import FreshScores, LeaveOneOut
from tests.places import ROOT

README = (ROOT / "README.md").read_text("utf-8")
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.M | re.S
)


class Block(NamedTuple):
    """One fenced block."""

    language: str
    lines: list[str]


def blocks(text: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(text):
        lines = [line.removeprefix(match["indent"]) for line in match["body"].splitlines()]
        found.append(Block(match["language"].strip(), lines))
    if 2 * len(found) != len(re.findall(r"^ *(?:```|~~~)", text, re.M)):
        raise ValueError("a fenced block is not understood")
    return found


def commands(text: str) -> list[str]:
    """Give the commands of all sh blocks, in order; lines that end in a backslash go on."""
    joined = "\n".join("\n".join(block.lines) for block in blocks(text) if block.language == "sh")
    lines = joined.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def how(command: str) -> str:
    """Say how a command is covered: "run", "demo", "dev" or "pip"; refuse what no test would cover."""
    words = shlex.split(command)
    if re.search(r"[|&;<>$`*?]", command):
        raise ValueError(f"needs a shell: {command}")
    if words[:2] == ["isca", "demo"]:
        return "demo"  # run by test_cli, which looks at what it makes
    if words[0] == "isca":
        return "run"
    if words[:2] == ["python3", "packaging/dev.py"] and len(words) >= 3:
        return "dev"
    if words == ["pip", "install", "."]:
        return "pip"
    raise ValueError(f"not covered: {command}")


def python_blocks() -> list[str]:
    return ["\n".join(block.lines) + "\n" for block in blocks(README) if block.language == "python"]


@pytest.mark.parametrize(
    "text",
    [
        "```bash\nisca samples\n```\n",
        "```\nisca samples\n```\n",
        "```sh\nisca samples\n",
        "~~~sh\nls\n~~~\n",
    ],
)
def test_a_block_that_is_not_covered_is_found(text: str) -> None:
    with pytest.raises((ValueError, AssertionError)):
        check_languages(text)


@pytest.mark.parametrize(
    "command", ["rm -r x", "isca samples | head -1", "pip install numpy", "python3 x.py"]
)
def test_a_command_that_is_not_covered_is_found(command: str) -> None:
    with pytest.raises(ValueError, match=r"not covered|needs a shell"):
        how(command)


def check_languages(text: str) -> None:
    assert {block.language for block in blocks(text)} <= {"sh", "python"}


def test_every_block_is_covered() -> None:
    check_languages(README)
    assert {how(command) for command in commands(README)} == {"run", "demo", "dev", "pip"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reader's photo.jpg, in which the commands follow one another."""
    folder = tmp_path_factory.mktemp("readme")
    rows, columns = np.mgrid[:80, :104]
    waves = 128 + 80 * np.sin(rows / 9) * np.cos(columns / 11)
    noise = np.random.default_rng(1).normal(0, 12, (80, 104))
    grey = np.clip(waves + noise, 0, 255).astype(np.uint8)
    Image.fromarray(np.stack([grey, grey[::-1], grey], axis=2)).save(
        folder / "photo.jpg", quality=92
    )
    return folder


def test_the_commands_work_in_the_order_of_the_text(folder: Path) -> None:
    isca = shutil.which("isca", path=sysconfig.get_path("scripts"))
    start = [isca] if isca else [sys.executable, "-m", "isca_gui.cli"]
    for command in commands(README):
        if how(command) != "run":
            continue
        words = shlex.split(command)[1:]
        done = subprocess.run(
            [*start, *words], cwd=folder, capture_output=True, text=True, encoding="utf-8"
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout
    made = {path.name for path in folder.iterdir()}
    assert {
        "photo-set",
        "camera-jpeg.png",
        "camera-noise.png",
        "camera-mixture.tiff",
        "paper",
    } <= made
    assert (folder / "paper" / "report.html").is_file()


def test_the_commands_of_dev_exist() -> None:
    tree = ast.parse((ROOT / "packaging" / "dev.py").read_text("utf-8"))
    extras = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EXTRAS"
    )
    named = set(re.findall(r"packaging/dev\.py (\w+)", README))
    assert {"run", "test"} <= named <= set(extras)


@pytest.mark.parametrize("source", python_blocks(), ids=lambda source: source.splitlines()[0])
def test_the_python_examples_work(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "README.md", "exec", dont_inherit=True), {"__name__": "readme"})


def test_the_distortion_of_the_example_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, object] = {"__name__": "readme"}
    exec(next(source for source in python_blocks() if "ROW =" in source), names)
    row = names["ROW"]
    assert isinstance(row, distortions.Distortion)
    monkeypatch.setitem(distortions.DISTORTIONS, row.name, row)
    picture = np.random.default_rng(0).random((32, 40), dtype=np.float32)
    made = strength_search.distort(picture, row.name, 300.0, seed=0)
    assert made.achieved_mse == pytest.approx(300, rel=0.001)
    assert made.picture.min() >= 0
    assert made.picture.max() <= 1


def test_what_is_named_exists() -> None:
    for name in re.findall(r"\]\((?!https?:)([^)]+)\)", README):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`((?:isca_gui|tests|packaging|resources)(?:/[\w./]+)?)`", README):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`isca ([a-z]+)", README):
        assert name in cli.COMMANDS
    for name in re.findall(r"`sample:(\w+)`", README):
        assert name in samples.SAMPLES


def test_the_distortions_of_the_table_are_all_there() -> None:
    for row in distortions.TABLE:
        assert re.search(rf"^\| `{row.name}` \|.*\| {re.escape(row.unit)} \|$", README, re.M), (
            row.name
        )


def test_keys_and_columns_are_named() -> None:
    classes = (Entry, Unreachable, ImageInfo, samples.Sample, strength_search.Distorted, Figure)
    keys = {name for one in classes for name in one.__dataclass_fields__} - {"picture"}
    keys |= {
        *dataset_folder.COLUMNS,
        "schema",
        "program",
        "spec",
        "reference_sha256",
        "variance_0_255",
        "mean",
    }
    keys |= {"folder", "pictures", "classes", "entries", "unreachable", "ssim", *bench.machine()}
    keys |= {
        *answer_table.COLUMNS,
        *FreshScores.__dataclass_fields__,
        *LeaveOneOut.__dataclass_fields__,
    }
    keys -= {"outcomes", "verdicts"}
    assert not {key for key in keys if f"`{key}`" not in README}


def test_the_parts_of_the_benchmark_are_all_named() -> None:
    (sentence,) = re.findall(r"only that part; there\s+are (.*?)\.\n", README, re.S)
    assert tuple(re.findall(r"`(\w+)`", sentence)) == tuple(bench.MEASUREMENTS)


def test_limits_are_as_stated() -> None:
    assert (
        f"{decoding.MAX_PIXELS // 1_000_000} megapixels and {decoding.MAX_SIDE} pixels a side"
        in README
    )
    assert f"up to {distortions._LARGEST_ENTRY}" in README
    for name in decoding.FORMATS:
        assert name.lower() in README.lower()
    shares = {row.name: row.tolerance for row in distortions.TABLE}
    assert {share for name, share in shares.items() if name != "jpeg"} == {0.0005}
    assert shares["jpeg"] == 0.005
    assert strength_search.ABSOLUTE_TOLERANCE == 0.05
