"""`isca bench truth`: what is counted as right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from isca_gui.bench import truth
from isca_gui.bench.truth import LEFT_OUT, PAIR, PART, SINGLE, Outcome
from isca_gui.core.pictures import samples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.commands import Done

BLUR = Outcome(
    sort=SINGLE,
    source="blur",
    kinds=("blur",),
    family="filter",
    mse=50.0,
    parameters={"sigma": 2.0},
    label="blur",
    said_family="filter",
    parts=("blur",),
    unlike=False,
    probability=0.95,
    said_parameters={"blur": {"sigma": 2.05}},
    severity=51.0,
)


def figures_of(*outcomes: Outcome) -> dict[str, float]:
    return {figure.name: figure.value for figure in truth.figures(outcomes)}


def test_figures_count_what_their_names_say() -> None:
    unlike = replace(BLUR, unlike=True, parts=(), probability=0.6)
    mixture = replace(BLUR, label="blur+jpeg", parts=("blur", "jpeg"), said_family=None)
    sibling = replace(BLUR, label="median", parts=("median",), said_parameters={})
    found = figures_of(BLUR, unlike, mixture, sibling)
    assert found["single kinds: kind right, said as one (4 pictures)"] == 25
    assert found["single kinds: family right (4 pictures)"] == 50
    assert found["single kinds: not recognised (4 pictures)"] == 25
    assert found["single kinds: called a mixture (4 pictures)"] == 25
    assert found["blur: σ within 5% (1 picture)"] == 100
    assert found["severity: median error (4 pictures)"] == pytest.approx(2)
    far = replace(BLUR, said_parameters={"blur": {"sigma": 2.2}})
    assert figures_of(BLUR, far)["blur: σ within 5% (2 pictures)"] == 50


def test_spread_out_noises_are_one_kind_where_they_are_weak() -> None:
    shot = replace(BLUR, kinds=("poisson-noise",), label="speckle", mse=9.0)
    assert shot.kind_is_right
    assert not replace(shot, mse=11.0).kind_is_right
    assert not replace(shot, label="impulse").kind_is_right
    assert not replace(shot, unlike=True).kind_is_right


def test_unknown_damage_may_be_named_by_its_family_only_unsurely() -> None:
    strange = replace(BLUR, sort=LEFT_OUT, kinds=(), label="median")
    assert replace(strange, unlike=True).is_cautious
    assert replace(strange, probability=0.7).is_cautious
    assert not replace(strange, probability=0.95).is_cautious
    assert not replace(strange, probability=0.7, family=None).is_cautious
    assert not replace(strange, probability=0.7, said_family="noise").is_cautious


def test_pairs_and_parts_have_figures_of_their_own() -> None:
    pair = replace(BLUR, sort=PAIR, kinds=("jpeg", "blur"), parts=("blur", "jpeg"))
    wiped_out = replace(pair, visible=False, parts=("blur",))
    part = replace(BLUR, sort=PART, iou=0.5)
    found = figures_of(pair, wiped_out, part)
    assert found["pairs, the first still seen: both named (1 picture)"] == 100
    assert found["parts of a picture: mIoU of the map (1 picture)"] == 0.5
    assert not any(name.startswith("single") for name in found)


def test_calibration_auroc_and_iou_are_those_of_the_textbook() -> None:
    wrong = replace(BLUR, label="jpeg")
    assert truth.calibration_error([BLUR, wrong]) == pytest.approx(0.45)
    sure = replace(BLUR, probability=1.0)
    assert truth.calibration_error([sure] * 3) == pytest.approx(0.01)
    assert truth.auroc([0.9, 0.8], [0.1, 0.8]) == pytest.approx(0.875)
    true = np.array([[True, True], [False, False]])
    assert truth.mean_iou(true, true.astype(int)) == 1
    assert truth.mean_iou(true, np.array([[1, 0], [0, 0]])) == pytest.approx((1 / 2 + 2 / 3) / 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of two scenes; the coffee is the measured one."""
    for place, name in enumerate(("astronaut", "coffee")):
        with Image.open(samples.resolve(f"sample:{name}")) as picture:
            part = picture.convert("RGB").crop((150, 60, 310, 220))
            part.save(tmp_path / f"{place}.png")
    return tmp_path


def test_the_command_measures_every_third_scene(folder: Path, isca: Callable[..., Done]) -> None:
    done = isca("bench", "truth", str(folder), "--threads", "1")
    lines = done.out.splitlines()
    assert done.code in (0, 1)
    assert any(line.startswith("single kinds: kind right, said as one") for line in lines)
    assert any(line.startswith("parts of a picture: mIoU") for line in lines)
    assert all("picture" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["truth"], 2, "needs a folder"),
        (["truth", "nowhere"], 1, "'nowhere' is not a folder"),
        (["truth", "nowhere", "weather"], 2, "no benchmark 'weather'"),
    ],
)
def test_wrong_use(isca: Callable[..., Done], words: list[str], code: int, message: str) -> None:
    done = isca("bench", *words)
    assert done.code == code
    assert message in done.err
