"""The commands shown in the window are read back as the same settings."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isca_gui import cli
from isca_gui.core.distortion.dataset_spec import DatasetSpec, parse_levels
from isca_gui.core.settings import TrainingSettings
from isca_gui.viewers.cli_lines import (
    dataset_command,
    run_commands,
    settings_summary,
    train_command,
)

if TYPE_CHECKING:
    from isca_gui.core.distortion.dataset import Dataset


@pytest.mark.parametrize(
    "settings",
    [
        TrainingSettings(),
        TrainingSettings(solver="direct", epochs=7, tolerance=1e-4),
        TrainingSettings(
            method="kernel-isca", kernel="polynomial", degree=2, gamma=0.5, metric="natural"
        ),
        TrainingSettings(method="pca", components=9, block=16, precision="float64", seed=4),
    ],
)
def test_commands_are_read_back_as_the_same_settings(settings: TrainingSettings) -> None:
    from isca_gui.cli import train

    words = shlex.split(train_command(settings, "data", "out.isca"))
    arguments = cli._parser().parse_args(words[1:])
    assert train._settings(arguments, None).resolved() == settings.resolved()


@given(
    st.lists(st.floats(0.001, 65_025), min_size=1, max_size=5, unique=True).map(sorted),
    st.integers(0, 2**63 - 1),
)
def test_the_command_of_a_dataset_is_read_back_as_the_same_spec(
    levels: list[float], seed: int
) -> None:

    spec = DatasetSpec(("blur", "jpeg"), tuple(levels), seed)
    arguments = cli._parser().parse_args(shlex.split(dataset_command(spec, "a b.png", "out"))[1:])
    assert (arguments.kinds, parse_levels(arguments.levels), arguments.seed) == (
        "blur,jpeg",
        spec.levels,
        seed,
    )


def test_commands_name_the_dataset_too(small: Dataset) -> None:
    both = run_commands(TrainingSettings(), small, "sample:camera", "ISCA 1").splitlines()
    assert both[0] == (
        "isca dataset sample:camera -o dataset --kinds gaussian-noise,blur,jpeg --levels 100,400"
    )
    assert both[1].startswith("isca train dataset")
    papers = replace(small, spec=DatasetSpec())
    assert run_commands(TrainingSettings(), papers, "a b.png", "x").startswith(
        "isca train 'a b.png'"
    )
    assert settings_summary(TrainingSettings(rho=0.5)) == "p = 4, block 8, ρ 0.5"
