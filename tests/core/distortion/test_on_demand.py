"""Pictures on demand are those of a dataset that is held, whole and in bands."""

from __future__ import annotations

import numpy as np
import pytest

from isca_gui.core.distortion import dataset
from isca_gui.core.distortion.dataset import Dataset, generate, held_bytes, on_demand
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.distortion.on_demand import Bands
from isca_gui.core.parallel import Workers
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run

KINDS = (*DatasetSpec.kinds, "blur+jpeg", "jpeg+impulse")


@pytest.fixture(scope="module")
def made() -> Dataset:
    whole = image.read(samples.resolve("sample:camera"))
    reference = np.ascontiguousarray(whole[100:203, 150:271])
    return run(generate(reference, DatasetSpec(KINDS, (45.0, 400.0))))


def test_every_picture_is_the_one_that_would_be_held(made: Dataset) -> None:
    asked = on_demand(made.reference, made.entries, made.spec)
    assert asked.pictures.shape == made.pictures.shape
    for mine, theirs in zip(asked.pictures, made.pictures, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("rows", [8, 24, 200])
@pytest.mark.parametrize("threads", [1, 2])
def test_bands_are_parts_of_the_same_pictures(made: Dataset, rows: int, threads: int) -> None:
    pictures = on_demand(made.reference, made.entries).demanded
    assert pictures is not None
    height = made.reference.shape[0]
    with Workers(threads) as workers, Bands(pictures) as bands:
        run(bands.prepare(workers))
        found = [
            run(bands.read(top, min(top + rows, height), workers)) for top in range(0, height, rows)
        ]
    np.testing.assert_array_equal(np.concatenate(found, axis=1), made.pictures)


def test_a_large_dataset_holds_no_pictures(made: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    assert held_bytes((512, 512), 121) == 4 * 121 * 512 * 512
    assert held_bytes((3000, 4000), 121) == 0
    monkeypatch.setattr(dataset, "_MOST_HELD", 1000)
    assert made.spec is not None
    asked = run(generate(made.reference, made.spec))
    assert asked.demanded is not None
    assert asked.entries == made.entries
    assert asked.digest() != on_demand(made.reference, made.entries[:-1]).digest()
    assert asked.digest() == on_demand(made.reference, made.entries).digest()
