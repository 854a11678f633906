"""A dataset stored as its recipe comes back bit by bit, or is stored as pictures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isca_gui.core.distortion import dataset_folder, dataset_recipe
from isca_gui.core.distortion.dataset import Dataset, DatasetError, generate
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def made() -> Dataset:
    whole = image.read(samples.resolve("sample:camera"))
    reference = np.ascontiguousarray(whole[100:203, 150:271])
    kinds = (*DatasetSpec.kinds, "blur+jpeg")
    return run(generate(reference, DatasetSpec(kinds, (45.0, 400.0, 60000.0))))


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_recipe, "_LEAST_BYTES", 0)


@pytest.mark.usefixtures("any_size")
def test_it_comes_back_bit_by_bit(made: Dataset, tmp_path: Path) -> None:
    assert made.unreachable
    assert run(dataset_recipe.can_be_made_again(made))
    run(dataset_recipe.save(made, tmp_path / "a"))
    found = run(dataset_folder.load(tmp_path / "a"))
    assert found.digest() == made.digest()
    assert (found.entries, found.spec) == (made.entries, made.spec)
    assert found.unreachable == made.unreachable
    assert sum(each.stat().st_size for each in (tmp_path / "a").iterdir()) < 80_000


@pytest.mark.usefixtures("any_size")
def test_pictures_that_were_changed_are_not_made_again(made: Dataset) -> None:
    pictures = made.pictures.copy()
    pictures[3, 5, 7] += np.float32(1e-6)
    changed = Dataset(pictures, made.entries, made.spec)
    assert not run(dataset_recipe.can_be_made_again(changed))
    assert not run(dataset_recipe.can_be_made_again(Dataset(made.pictures, made.entries)))


def test_small_ones_stay_pictures(made: Dataset) -> None:
    assert not run(dataset_recipe.can_be_made_again(made))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("schema",), 2),
        (("entries", 0, 0), "blur"),
        (("entries", 1, 0), "melted"),
        (("entries", 1, 1), 1e9),
        (("entries", 1, 3), "strong"),
        (("entries", 1, 4), 0.5),
        (("entries",), None),
        (("spec",), {"kinds": ["blur"]}),
    ],
)
def test_what_is_wrong_with_one_is_one_error(
    made: Dataset, tmp_path: Path, place: tuple[str | int, ...], value: object
) -> None:
    run(dataset_recipe.save(made, tmp_path / "a"))
    file = tmp_path / "a" / dataset_recipe.RECIPE
    document = json.loads(file.read_text())
    inner = document
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    file.write_text(json.dumps(document))
    with pytest.raises(DatasetError, match="valid dataset"):
        run(dataset_folder.load(tmp_path / "a"))
