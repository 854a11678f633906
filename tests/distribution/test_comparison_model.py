"""The command that makes the classifier of `isca compare`, on two tiny scenes to fit."""

from __future__ import annotations

import importlib.util
import time
from typing import TYPE_CHECKING

import comparison_model
import numpy as np
import pytest
from PIL import Image

from isca_gui.bench import scenes
from isca_gui.core.comparison import classifier
from isca_gui.core.comparison.trees import forest_from
from isca_gui.core.pictures import samples

if TYPE_CHECKING:
    from pathlib import Path

needs_lightgbm = pytest.mark.skipif(
    importlib.util.find_spec("lightgbm") is None, reason="LightGBM is not installed"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of three scenes; the second is left for measuring."""
    folder = tmp_path_factory.mktemp("scenes")
    for name in ("astronaut", "chelsea", "coffee"):
        with Image.open(samples.resolve(f"sample:{name}")) as picture:
            picture.convert("RGB").crop((100, 60, 228, 188)).save(folder / f"{name}.png")
    return folder


@pytest.fixture(scope="module")
def made(folder: Path) -> comparison_model.TrainingSet:
    fitted = scenes.fitted(scenes.find_scenes(folder))
    return comparison_model.training_set(fitted, 1, 1, processes=1, report=len)


def test_examples_have_every_sort_of_label(made: comparison_model.TrainingSet) -> None:
    assert {"jpeg", "blur", "none", "mixture"} <= set(made.labels)
    assert set(made.scene) == {0, 1}
    assert np.isfinite(made.rows).all()
    assert made.rows.shape == (len(made.labels), len(made.names))
    lengths = {len(parts) for parts, two in zip(made.parts, made.is_mixture, strict=True) if two}
    assert lengths == {2}


@needs_lightgbm
def test_a_forest_scores_as_lightgbm_does(made: comparison_model.TrainingSet) -> None:
    kinds = np.array([comparison_model.LABELS.index("blur")] * len(made.rows))
    kinds[::2] = comparison_model.LABELS.index("jpeg")
    booster = comparison_model._boost(made.rows, kinds, 5, seed=1, threads=1)
    count = len(comparison_model.LABELS)
    arrays = comparison_model.forest_arrays("kind", [booster], count)
    forest = forest_from(arrays, "kind", len(made.names))
    expected = booster.predict(made.rows, raw_score=True)
    assert np.allclose(forest.scores(made.rows), expected, atol=1e-5)


@needs_lightgbm
def test_the_command_writes_what_one_process_makes(
    folder: Path, made: comparison_model.TrainingSet, tmp_path: Path
) -> None:
    path = tmp_path / "new.npz"
    words = ["--rounds", "1", "--trees", "3", "--processes", "2", "--output", str(path)]
    assert comparison_model.main([str(folder), *words]) == 0
    expected = comparison_model.train(made, trees=3, seed=1, threads=1)
    with np.load(path, allow_pickle=False) as written:
        assert set(written.files) == {*expected, "made_from"}
        assert all(np.array_equal(written[name], expected[name]) for name in expected)
    found = classifier.read(path)
    shipped = classifier.shipped()
    assert set(found.names) == set(shipped.names)
    assert found.kinds == shipped.kinds
    row = np.zeros(len(found.names), np.float32)
    assert sum(found.probabilities(row).values()) == pytest.approx(1)
    for family, members in comparison_model.PARTS.items():
        assert tuple(found.member_shares(row, family)) == members
    assert 0 <= found.first_probability(row, "blur", "jpeg") <= 1


def test_examples_are_kept(made: comparison_model.TrainingSet, tmp_path: Path) -> None:
    comparison_model.write_examples(tmp_path / "examples.npz", made)
    found = comparison_model.read_examples(tmp_path / "examples.npz")
    assert (found.names, found.labels, found.parts) == (made.names, made.labels, made.parts)
    assert np.array_equal(found.rows, made.rows)
    assert np.array_equal(found.scene, made.scene)


def test_the_same_arrays_are_the_same_bytes_at_any_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = {"names": np.array(["a", "b"]), "values": np.arange(100.0)}
    comparison_model.write(tmp_path / "1.npz", arrays)
    monkeypatch.setattr(time, "time", lambda: 2e9)
    comparison_model.write(tmp_path / "2.npz", arrays)
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()


def test_a_folder_without_scenes_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "new.npz"
    assert comparison_model.main([str(tmp_path / "none"), "--output", str(output)]) == 1
    assert "none" in capsys.readouterr().err
    assert not output.exists()


def test_thresholds_are_rounded_down() -> None:
    exact = np.array([0.1, 1 / 3, -0.7, 2.0])
    rounded = comparison_model._rounded_down(exact)
    assert rounded.dtype == np.float32
    assert (rounded.astype(np.float64) <= exact).all()
    assert (np.nextafter(rounded, np.float32(np.inf)).astype(np.float64) > exact).all()
