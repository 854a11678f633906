"""A training in bands gives the numbers of one on whole pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isca_gui.core.distortion.dataset import Dataset, generate, on_demand
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import banded_training, training
from isca_gui.core.model.banded_training import band_rows
from isca_gui.core.model.model import Model, NotInvertible
from isca_gui.core.model.model_file import load_model, save_model
from isca_gui.core.pictures import image, samples
from isca_gui.core.pictures.blocks import BlockGrid
from isca_gui.core.progress import Cancelled, Progress, run
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.settings import SettingsError, TrainingSettings

if TYPE_CHECKING:
    from pathlib import Path

CHOICES: list[dict[str, Any]] = [
    {"solver": "direct"},
    {"epochs": 3},
    {"epochs": 3, "precision": "float64"},
    {"solver": "direct", "block": 6, "components": 3},
    {"method": "pca"},
    {"method": "random"},
]


@pytest.fixture(scope="module")
def made() -> Dataset:
    whole = image.read(samples.resolve("sample:camera"))
    reference = np.ascontiguousarray(whole[100:271, 150:287])
    return run(generate(reference, DatasetSpec(levels=(100.0, 500.0))))


@pytest.fixture
def asked(made: Dataset, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.setattr(banded_training, "BAND", 100_000)
    return on_demand(made.reference, made.entries, made.spec)


def trained(dataset: Dataset, choice: dict[str, Any]) -> Model:
    return run(training.train(dataset, TrainingSettings(**choice)))


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_bands_change_no_number(
    made: Dataset, asked: Dataset, choice: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is kept is rounded, so it is compared as it is before that.
    monkeypatch.setattr(banded_training, "KEPT", np.dtype(choice.get("precision", "float32")))
    whole = trained(made, choice)
    banded = trained(asked, choice)
    assert len(band_rows(banded.grid, len(made.entries))) > 1
    np.testing.assert_array_equal(banded.basis, whole.basis)
    assert banded.known is not None
    assert whole.known is not None
    np.testing.assert_array_equal(banded.known.descriptors, whole.known.descriptors)
    assert banded.end == whole.end
    for mine, theirs in zip(banded.steps, whole.steps, strict=True):
        assert mine.objective == pytest.approx(theirs.objective, abs=1e-9)
        assert mine.error == pytest.approx(theirs.error, abs=1e-9)
        assert mine.primal == pytest.approx(theirs.primal, rel=1e-6)
        assert mine.gradient == pytest.approx(theirs.gradient, rel=1e-6, nan_ok=True)


def test_a_file_of_it_is_small_and_gives_the_same_verdicts(
    made: Dataset, asked: Dataset, tmp_path: Path
) -> None:
    whole = trained(made, {"solver": "direct"})
    banded = trained(asked, {"solver": "direct"})
    path = tmp_path / "model.isca"
    save_model(path, banded)
    numbers = banded.grid.count * (12 * 7 * 1.5 + 7 * 4 + 64 * 4 * 2)
    assert path.stat().st_size < numbers + 20_000
    stored = load_model(path)
    np.testing.assert_array_equal(stored.basis, banded.basis)
    exact, small = Recogniser(whole), Recogniser(stored)
    assert small.recognise(made.reference).verdict.sentence.startswith("This is the original")
    for index in range(1, len(made.entries)):
        first = exact.leave_one_out(index)
        second = small.leave_one_out(index)
        assert second.verdict.label == first.verdict.label
        assert np.mean(first.winner == second.winner) > 0.97
        assert small.training_picture(made.pictures[index]) == index


def test_it_recognises_and_rebuilds_but_goes_no_further(asked: Dataset, made: Dataset) -> None:
    model = trained(asked, {"solver": "direct"})
    found = Recogniser(model).recognise(made.pictures[-1])
    assert found.verdict.label == "jpeg"
    assert model.reconstruct(made.reference).shape == made.reference.shape
    assert "only what recognition needs" in model.resume_obstacle(model.settings, same_dataset=True)
    with pytest.raises(NotInvertible, match="only U is kept"):
        model.basis_picture("J", 0)


def test_a_stop_says_how_far_it_came(asked: Dataset) -> None:
    task = training.train(asked, TrainingSettings(solver="direct"))
    seen: list[Progress] = []

    def stop(report: object) -> bool:
        if isinstance(report, Progress) and report.what == "training blocks":
            seen.append(report)
        return bool(seen) and seen[-1].done > 0

    with pytest.raises(Cancelled, match=r"Stopped after \d+ of 396 blocks"):
        run(task, stop)


def test_a_kernel_model_says_that_it_cannot(asked: Dataset) -> None:
    with pytest.raises(SettingsError, match="holds all its training pictures"):
        trained(asked, {"method": "kernel-isca", "kernel": "rbf"})


@pytest.mark.parametrize("side", [2, 3, 6, 8, 12, 64])
@pytest.mark.parametrize("width", [17, 300, 4000])
def test_bands_begin_where_nothing_is_cut_in_two(side: int, width: int) -> None:
    grid = BlockGrid(3000, width, side)
    bands = band_rows(grid, 121)
    assert bands[0][0] == 0
    assert bands[-1][1] == grid.rows
    for low, high in bands:
        assert low < high
        assert low * grid.columns % 16 == 0
        assert low * side % 8 == 0
