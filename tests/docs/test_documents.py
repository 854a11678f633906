"""The documents are true: their commands and examples run, their names and numbers are checked."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from isca_gui import bench, cli
from isca_gui.bench.figure import Figure
from isca_gui.core.comparison import batch, kinds
from isca_gui.core.distortion import dataset_folder, distortions, strength_search
from isca_gui.core.distortion.dataset import Entry, Unreachable
from isca_gui.core.pictures import decoding, samples
from isca_gui.core.pictures.image import ImageInfo
from isca_gui.core.recognition import answer_table
from isca_gui.core.recognition.evaluation import FreshScores, LeaveOneOut
from tests.docs.documents import (
    DOCUMENTS,
    FENCE,
    README,
    REFERENCE,
    check_languages,
    commands,
    coverage_of,
    python_blocks,
)
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {path: path.read_text("utf-8") for path in DOCUMENTS}
ALL = "\n".join(TEXTS.values())
EXAMPLES = [
    pytest.param(source, id=f"{path.stem}-{number}")
    for path in DOCUMENTS
    for number, source in enumerate(python_blocks(TEXTS[path]), 1)
]


def text_of(name: str) -> str:
    return next(text for path, text in TEXTS.items() if path.name == name)


def make_photo(folder: Path) -> None:
    """Write the reader's photo.jpg."""
    rows, columns = np.mgrid[:80, :104]
    waves = 128 + 80 * np.sin(rows / 9) * np.cos(columns / 11)
    noise = np.random.default_rng(1).normal(0, 12, (80, 104))
    grey = np.clip(waves + noise, 0, 255).astype(np.uint8)
    colour = np.stack([grey, grey[::-1], grey], axis=2)
    Image.fromarray(colour).save(folder / "photo.jpg", quality=92)


# --- the examples --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "```bash\nisca samples\n```\n",
        "```\nisca samples\n```\n",
        "```sh\nisca samples\n",
        "```text\n  isca samples\n```\n",
        "~~~sh\nls\n~~~\n",
    ],
)
def test_a_block_that_is_not_covered_is_found(text: str) -> None:
    with pytest.raises(ValueError, match=r"not understood|unknown language|drawing"):
        check_languages(text)


@pytest.mark.parametrize(
    "command", ["rm -r x", "isca samples | head -1", "pip install numpy", "python3 x.py"]
)
def test_a_command_that_is_not_covered_is_found(command: str) -> None:
    with pytest.raises(ValueError, match=r"not covered|needs a shell"):
        coverage_of(command)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_block_is_covered(path: Path) -> None:
    check_languages(TEXTS[path])
    for command in commands(TEXTS[path]):
        assert coverage_of(command)


def test_readme_shows_every_way_to_begin_and_every_command() -> None:
    found = commands(TEXTS[README])
    assert {coverage_of(command) for command in found} == {"run", "demo", "dev", "install"}
    # The speed is not measured by a test: that takes minutes.
    shown = {command.split()[1] for command in found if command.startswith("isca ")}
    assert shown == set(cli.COMMANDS) - {"bench"}
    assert "`isca bench`" in TEXTS[README]


def test_the_commands_of_the_readme_work_in_its_order(tmp_path: Path) -> None:
    """As programs of their own, which is how a reader starts them."""
    make_photo(tmp_path)
    isca = shutil.which("isca", path=sysconfig.get_path("scripts"))
    start = [isca] if isca else [sys.executable, "-m", "isca_gui.cli"]
    for command in commands(TEXTS[README]):
        if coverage_of(command) != "run":
            continue
        words = shlex.split(command)[1:]
        done = subprocess.run(
            [*start, *words], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8"
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout
    made = {path.name for path in tmp_path.iterdir()}
    assert {
        "photo-set",
        "photo.isca",
        "copy.png",
        "copy-map.png",
        "back.png",
        "photo-bases",
    } <= made
    assert (tmp_path / "paper" / "report.html").is_file()


def test_the_first_answer_of_the_readme_is_the_real_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in commands(TEXTS[README])[:2]:
        assert cli.main(shlex.split(command)[1:]) == 0
    answer = capsys.readouterr().out.splitlines()[-1]
    quote = re.search(r"^> .*(?:\n> .*)*", TEXTS[README], re.M)
    assert quote is not None
    assert quote[0].replace("\n>", "").removeprefix("> ") == answer


@pytest.mark.parametrize("path", REFERENCE, ids=lambda path: path.name)
def test_the_commands_of_the_reference_work_in_its_order(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_photo(tmp_path)
    monkeypatch.chdir(tmp_path)
    for command in commands(TEXTS[path]):
        if coverage_of(command) == "run":
            assert cli.main(shlex.split(command)[1:]) == 0, f"{command}\n{capsys.readouterr().err}"
            assert capsys.readouterr().out, command


@pytest.mark.parametrize("source", EXAMPLES)
def test_the_python_examples_work(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "example", "exec", dont_inherit=True), {"__name__": "example"})


def test_the_commands_of_dev_exist() -> None:
    tree = ast.parse((ROOT / "packaging" / "dev.py").read_text("utf-8"))
    extras = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EXTRAS"
    )
    named = set(re.findall(r"packaging/dev\.py (\w+)", ALL))
    assert {"run", "test"} <= named <= set(extras)


# --- names and numbers ---------------------------------------------------------------------------


def test_the_readme_is_short() -> None:
    assert len(TEXTS[README].split()) <= 1500


@pytest.mark.parametrize(
    "path",
    [*DOCUMENTS, ROOT / "CHANGELOG.md", ROOT / "packaging" / "README.md"],
    ids=lambda path: path.name,
)
def test_what_is_named_exists(path: Path) -> None:
    text = FENCE.sub("", path.read_text("utf-8"))
    for link in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", text):
        assert (path.parent / link).exists(), link
    for name in re.findall(r"`((?:isca_gui|tests|packaging|resources)(?:/[\w./]+)?)`", text):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`isca ([a-z]+)", text):
        assert name in cli.COMMANDS, name
    for name in re.findall(r"`sample:([a-z]+)`", text):
        assert name in samples.SAMPLES, name


def test_the_table_of_distortions_is_complete() -> None:
    text = text_of("commands.md")
    for row in distortions.TABLE:
        line = rf"^\| `{row.name}` \|.*\| {re.escape(row.unit)} \|$"
        assert re.search(line, text, re.M), row.name


def test_the_table_of_compared_kinds_is_complete() -> None:
    rows = re.findall(r"^\| (`[^|]+) \| `(\w+)` \|", text_of("commands.md"), re.M)
    described = {name: family for names, family in rows for name in re.findall(r"`(\S+?)`", names)}
    assert described == {kind.name: kind.family for kind in kinds.TABLE}


def test_keys_and_columns_are_described() -> None:
    text = text_of("json.md") + text_of("file-formats.md")
    records = (Entry, Unreachable, ImageInfo, samples.Sample, strength_search.Distorted, Figure)
    keys = {name for record in records for name in record.__dataclass_fields__} - {"picture"}
    keys |= {*FreshScores.__dataclass_fields__, *LeaveOneOut.__dataclass_fields__}
    keys -= {"outcomes", "verdicts"}
    keys |= {*dataset_folder.COLUMNS, *answer_table.COLUMNS, *bench.machine()}
    keys |= {*batch.KEYS, "quantisation_table", "subsampling", "agrees", "where"}
    keys |= {"schema", "program", "spec", "reference_sha256", "variance_0_255", "mean"}
    keys |= {"folder", "pictures", "classes", "entries", "unreachable", "ssim"}
    assert not {key for key in keys if f"`{key}`" not in text}


def test_every_command_has_its_json_described() -> None:
    text = text_of("json.md")
    without = {"demo"}
    assert not {name for name in set(cli.COMMANDS) - without if f"| `isca {name}" not in text}


def test_the_parts_of_the_benchmark_are_all_named() -> None:
    (sentence,) = re.findall(
        r"one part only; the parts\s+are (.*?)\.\n", text_of("commands.md"), re.S
    )
    assert tuple(re.findall(r"`(\w+)`", sentence)) == tuple(bench.MEASUREMENTS)


def test_limits_are_as_stated() -> None:
    text = text_of("file-formats.md")
    megapixels = decoding.MAX_PIXELS // 1_000_000
    assert f"{megapixels} megapixels and {decoding.MAX_SIDE} pixels a side" in text
    assert (
        f"8 to {decoding.MAX_SIDE} pixels a side, at most {megapixels} megapixels" in TEXTS[README]
    )
    assert f"up to {distortions._LARGEST_ENTRY}" in text
    for name in decoding.FORMATS:
        assert name.replace("2000", " 2000").lower() in text.lower()
    shares = {row.name: row.tolerance for row in distortions.TABLE}
    assert {share for name, share in shares.items() if name != "jpeg"} == {0.0005}
    assert shares["jpeg"] == 0.005
    assert strength_search.ABSOLUTE_TOLERANCE == 0.05
