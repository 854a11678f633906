"""Scenes: which are fitted, which are measured, and references made from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from isca_gui.bench import damage, scenes
from isca_gui.core.pictures.image import ImageError

if TYPE_CHECKING:
    from pathlib import Path


def test_every_third_scene_is_measured_and_never_fitted(tmp_path: Path) -> None:
    picture = Image.new("RGB", (100, 100))
    for name in ("b/2.png", "a/9.jpg", "a/10.png", "c.PNG", "c/1.tif"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        picture.save(tmp_path / name)
    (tmp_path / "README.md").write_text("not a picture")
    found = scenes.find_scenes(tmp_path)
    names = [scene.name for scene in found]
    assert names == ["a/10.png", "a/9.jpg", "b/2.png", "c.PNG", "c/1.tif"]
    assert [scene.name for scene in scenes.measured(found)] == ["a/9.jpg", "c/1.tif"]
    assert [scene.name for scene in scenes.fitted(found)] == ["a/10.png", "b/2.png", "c.PNG"]


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_folder_without_scenes_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ImageError):
        scenes.find_scenes(tmp_path / name)


def test_references_differ_in_size_and_colour_and_repeat() -> None:
    picture = np.random.default_rng(1).integers(0, 256, (120, 160, 3)).astype(np.uint8)
    made = [scenes.random_reference(picture, np.random.default_rng(seed)) for seed in range(60)]
    assert {each.ndim for each in made} == {2, 3}
    assert len({each.shape for each in made}) > 10
    assert min(min(each.shape[:2]) for each in made) >= 60
    again = scenes.random_reference(picture, np.random.default_rng(7))
    assert np.array_equal(again, made[7])


def test_a_copy_has_its_mse_and_is_made_again_from_its_seed() -> None:
    picture = np.random.default_rng(1).integers(60, 190, (64, 64)).astype(np.uint8)
    noise = damage.DAMAGES["gaussian-noise"]
    copy = scenes.damaged_within(picture, noise, np.random.default_rng(5), 20, 400)
    assert copy is not None
    assert 20 <= copy.mse == scenes.mse(picture, copy.picture) <= 400
    again, parameters = noise.apply(picture, np.random.default_rng(copy.seed))
    assert np.array_equal(again, copy.picture)
    assert parameters == copy.parameters
    impossible = scenes.damaged_within(picture, noise, np.random.default_rng(5), 1e6, 2e6)
    assert impossible is None


def test_processes_give_the_results_of_one_in_order() -> None:
    numbers = [3, -1, 4, -1, -5]
    assert list(scenes.in_processes(abs, numbers, 2)) == list(scenes.in_processes(abs, numbers, 1))
