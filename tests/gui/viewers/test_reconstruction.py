"""The reconstruction viewer, on really trained small models."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isca_gui import cli
from isca_gui.core.distortion import dataset
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.distortion.distortions import mse
from isca_gui.core.model import model_file, training
from isca_gui.core.pictures import image, ssim
from isca_gui.core.progress import run as finish
from isca_gui.core.settings import TrainingSettings
from isca_gui.viewers.reconstruction import ReconstructionViewer, reconstruct
from tests.gui.conftest import opened
from tests.gui.viewers.conftest import add_run

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from tests.gui.conftest import Studio


def test_reconstructions_have_the_engines_numbers(
    qtbot: QtBot, with_run: Studio, model: Model, small: Dataset
) -> None:
    viewer = opened(qtbot, with_run, ReconstructionViewer)
    assert isinstance(viewer, ReconstructionViewer)
    assert viewer.source.count() == len(small.entries)
    viewer.source.setCurrentIndex(3)
    viewer.slider.setValue(2)
    with_run.rest(qtbot)
    back = np.clip(model.reconstruct(small.pictures[3], 2), 0, 1)
    assert viewer.result is not None
    np.testing.assert_array_equal(viewer.result.panes[1].values, back)
    assert viewer.result.error == mse(small.pictures[3], back)
    assert f"{ssim.ssim_map(small.pictures[3], back).mean():.4f}" in viewer.figures.text()


def test_reconstructions_by_other_blocks_have_the_numbers_of_the_command(
    qtbot: QtBot, with_run: Studio, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command clips, and takes the SSIM over 8×8 blocks, whatever the model's are."""
    reference = np.random.default_rng(0).random((64, 64), dtype=np.float32) > 0.5
    made = finish(
        dataset.generate(
            reference.astype(np.float32), DatasetSpec(("blur", "jpeg"), (100.0, 900.0))
        )
    )
    model = finish(training.train(made, TrainingSettings(method="pca", block=16)))
    result = reconstruct(model, made.pictures[0], 1)
    assert model.reconstruct(made.pictures[0], 1).min() < 0
    model_file.save_model(tmp_path / "m.isca", model)
    image.save_tiff(tmp_path / "a.tiff", made.pictures[0])
    words = ["m.isca", "a.tiff", "-o", "b.tiff", "--components", "1", "--json"]
    assert cli.main(["reconstruct", *(str(tmp_path / w) if "." in w else w for w in words)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (result.error, result.similarity) == pytest.approx(
        (answer["mse"], answer["ssim"]), rel=1e-5
    )


@pytest.mark.alone
def test_dragging_the_slider_ends_at_the_newest_value_and_shows_some_on_the_way(
    qtbot: QtBot, with_run: Studio
) -> None:
    viewer = opened(qtbot, with_run, ReconstructionViewer)
    assert isinstance(viewer, ReconstructionViewer)
    seen = set()
    end = time.monotonic() + 0.6
    value = 0
    while time.monotonic() < end:
        value = 1 + value % 4
        viewer.slider.setValue(value)
        qtbot.wait(8)
        assert viewer.result is not None
        seen.add(viewer.result.components)
    viewer.slider.setValue(2)
    with_run.rest(qtbot)
    assert viewer.result is not None
    assert viewer.result.components == 2
    assert len(seen) > 1


def test_a_kernel_model_says_why_it_cannot_reconstruct(
    qtbot: QtBot, with_run: Studio, kernel_model: Model
) -> None:
    add_run(with_run, kernel_model)
    viewer = opened(qtbot, with_run, ReconstructionViewer)
    assert isinstance(viewer, ReconstructionViewer)
    assert viewer.reason.isVisible()
    assert "cannot reconstruct" in viewer.reason.text()
