"""What a training costs is told beforehand, and is about right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isca_gui.core.distortion.dataset import generate
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import cost, training
from isca_gui.core.model.model_file import save_model
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run
from isca_gui.core.settings import TrainingSettings
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CHOICES: list[dict[str, Any]] = [
    {"solver": "direct"},
    {"epochs": 2},
    {"epochs": 2, "precision": "float64"},
    {"method": "pca"},
]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("side", [96, 384])
def test_the_size_of_the_file_is_known_beforehand(
    choice: dict[str, Any], side: int, tmp_path: Path
) -> None:
    whole = image.read(samples.resolve("sample:camera"))
    reference = np.ascontiguousarray(whole[:side, :side])
    settings = TrainingSettings(**choice).resolved()
    made = run(generate(reference, DatasetSpec(levels=(100.0, 300.0, 500.0))))
    save_model(tmp_path / "a.isca", run(training.train(made, settings)))
    told = cost.file_bytes(reference.shape, len(made.entries), settings)
    assert (tmp_path / "a.isca").stat().st_size == pytest.approx(told, rel=0.1)


def test_memory_does_not_grow_with_the_pictures_that_are_not_held() -> None:
    settings = TrainingSettings(solver="direct").resolved()
    small = cost.memory_bytes((512, 512), 121, settings)
    large = cost.memory_bytes((3000, 4000), 121, settings)
    assert 0.3e9 < small < 0.6e9
    assert large < 2e9
    assert cost.pictures_that_fit((3000, 4000), settings, large, 121) == 121
    assert cost.pictures_that_fit((3000, 4000), settings, 0.9 * large, 121) < 121


def test_the_estimate_is_measured_on_this_computer() -> None:
    reference = image.read(samples.resolve("sample:camera"))
    spec = DatasetSpec(levels=(100.0, 400.0))
    few = run(cost.estimate(reference, spec, TrainingSettings(epochs=20)))
    more = run(cost.estimate(reference, spec, TrainingSettings(epochs=2000)))
    assert few.seconds > 0
    assert more.seconds > 10 * few.seconds
    assert few.memory == more.memory


def test_the_command_tells_it_and_writes_nothing(tmp_path: Path) -> None:
    words = ["train", "sample:camera", "--solver", "direct", "-o", str(tmp_path / "a.isca")]
    done = subprocess.run(
        [sys.executable, "-m", "isca_gui.cli", *words, "--estimate", "--json"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert set(document) == {
        "seconds", "memory", "disk", "temporary", "free_memory", "free_disk"
    }  # fmt: skip
    assert list(tmp_path.iterdir()) == []
