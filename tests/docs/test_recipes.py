"""What CONTRIBUTING.md tells newcomers works as written, and leads to things that are there."""

from __future__ import annotations

import ast
import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isca_gui import cli
from isca_gui.core import (
    DISTORTIONS,
    BlockGrid,
    DatasetSpec,
    Distortion,
    TrainingSettings,
    distort,
    generate_dataset,
    run,
)
from isca_gui.core.comparison import kinds
from isca_gui.core.comparison.pair import make_pair
from isca_gui.core.comparison.proof import prove
from isca_gui.core.methods import METHODS
from isca_gui.core.solvers.problem import linear_problem
from isca_gui.jobs.actions import Actions
from isca_gui.jobs.runner import JobRunner
from isca_gui.session.records import Reference
from isca_gui.session.session import Session
from tests import test_architecture
from tests.docs.documents import CONTRIBUTING, python_blocks
from tests.places import ROOT

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

TEXT = CONTRIBUTING.read_text("utf-8")
PICTURE = np.random.default_rng(0).random((32, 40), dtype=np.float32)


def recipe(words: str) -> dict[str, Any]:
    """Return what the one example that contains these words defines."""
    (source,) = (source for source in python_blocks(TEXT) if words in source)
    names: dict[str, Any] = {"__name__": "recipe"}
    exec(compile(source, "CONTRIBUTING.md", "exec", dont_inherit=True), names)
    return names


def test_a_distortion(monkeypatch: pytest.MonkeyPatch) -> None:
    row = recipe("ROW = Distortion")["ROW"]
    assert isinstance(row, Distortion)
    monkeypatch.setitem(DISTORTIONS, row.name, row)
    made = distort(PICTURE, row.name, 300.0, seed=0)
    assert made.achieved_mse == pytest.approx(300, rel=0.001)
    assert made.picture.min() >= 0
    assert made.picture.max() <= 1


def test_a_kind_of_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    names = recipe("KIND = Kind")
    kind = names["KIND"]
    monkeypatch.setitem(kinds.KINDS, kind.name, kind)
    monkeypatch.setitem(kinds._WORDS, kind.name, names["_uniform_noise"])
    noise = np.random.default_rng(1).uniform(-20, 20, (64, 64)) / 255
    pair = make_pair(np.full((64, 64), 0.5, np.float32), (0.5 + noise).astype(np.float32))
    proof = prove(kind.name, pair)
    assert proof.holds
    sigma = 20 / 3**0.5
    assert proof.parameters["sigma"] == pytest.approx(sigma, rel=0.03)
    assert kinds.in_words(kind.name, {"sigma": 12.0}) == "Uniform noise, σ about 12 grey levels"


def test_a_method(monkeypatch: pytest.MonkeyPatch) -> None:
    names = recipe("ROW = Method")
    method, row = names["first_pixels"], names["ROW"]
    monkeypatch.setitem(METHODS, row.name, row)
    settings = TrainingSettings(method=row.name, components=3)
    problem = run(linear_problem(PICTURE[None], BlockGrid(*PICTURE.shape), "float64"))
    result = run(method(problem, settings, None))
    basis = result.state.u
    assert basis.shape == (20, 64, 3)
    assert np.allclose(np.swapaxes(basis, 1, 2) @ basis, np.eye(3))
    assert 0 < result.steps[-1].objective < 1


def test_a_viewer(qtbot: QtBot) -> None:
    session, jobs = Session(), JobRunner()
    viewer = recipe("class CountViewer")["CountViewer"](session, jobs, Actions(session, jobs))
    qtbot.addWidget(viewer)
    viewer.show()
    assert viewer.empty
    spec = DatasetSpec(kinds=("blur",), levels=(50.0,))
    dataset = run(generate_dataset(PICTURE, spec))
    session.set_reference(Reference("noise", PICTURE))
    session.set_dataset(dataset, dataset.digest())
    qtbot.waitUntil(lambda: viewer.label.text() == "2 pictures")
    assert not viewer.empty
    assert jobs.shutdown()


def test_a_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    module = ModuleType("isca_gui.cli.mean")
    names = recipe("`isca mean`")
    module.add_arguments = names["add_arguments"]  # type: ignore[attr-defined]
    module.run = names["run"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(cli.COMMANDS, "mean", "print the mean grey value of a picture")
    assert cli.main(["mean", "sample:camera"]) == 0
    assert capsys.readouterr().out == "sample:camera: mean grey value 129.1\n"


def test_the_rooms_of_the_table_are_those_of_the_architecture() -> None:
    rooms = {f"isca_gui/{room.replace('.', '/')}" for room in test_architecture.ROOMS}
    rooms = {room for room in rooms if (ROOT / room).is_dir()}
    described = set(re.findall(r"^\| `(isca_gui/[\w/]+)` \|", TEXT, re.M))
    assert described == rooms


def test_the_equations_are_where_the_table_says() -> None:
    begin = TEXT.index("## Where the paper's equations are")
    rows = [line for line in TEXT[begin:].split("\n## ")[0].splitlines() if line.startswith("|")]
    numbered = " ".join(row.split("|")[1] for row in rows)
    found = {int(number) for number in re.findall(r"\((\d+)\)", numbered)}
    for first, last in re.findall(r"\((\d+)\)–\((\d+)\)", numbered):
        found |= set(range(int(first), int(last) + 1))
    assert found == set(range(1, 30))
    for path, names in re.findall(r"`(isca_gui/[\w/]+\.py)`: ((?:`\w+`(?:, )?)+)", "\n".join(rows)):
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        defined = {node.name for node in tree.body if hasattr(node, "name")}
        assert set(re.findall(r"`(\w+)`", names)) <= defined, path


def test_the_words_of_the_labels_are_explained() -> None:
    begin = TEXT.index("## Words")
    words = re.findall(r"^\| ([a-z]+) \|", TEXT[begin:].split("\n## ")[0], re.M)
    labels = {
        "picture",
        "reference",
        "copy",
        "distortion",
        "kind",
        "block",
        "run",
        "model",
        "answer",
    }
    assert labels <= set(words)
    assert len(words) >= 20
