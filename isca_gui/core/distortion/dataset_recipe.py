"""A dataset stored as what it is made of: the reference, and kind, strength and seed of each copy.

121 pictures of 512×512 take 127 MB, their recipe one. Projects hold datasets this way where making
the pictures again gives the same bits, which is checked before.
"""

from __future__ import annotations

import json
from dataclasses import asdict, astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import isca_gui
from isca_gui.core.distortion import dataset as datasets
from isca_gui.core.distortion.dataset import Dataset, DatasetError, Entry, Unreachable
from isca_gui.core.distortion.dataset_spec import HIGHEST_MSE, DatasetSpec
from isca_gui.core.distortion.distortions import DISTORTIONS, ORIGINAL
from isca_gui.core.distortion.on_demand import PicturesOnDemand
from isca_gui.core.parallel import Workers
from isca_gui.core.pictures import image
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.progress import Progress
from isca_gui.core.settings import check_seed
from isca_gui.core.storage import files
from isca_gui.core.storage.json_types import is_finite, refuse_constant

if TYPE_CHECKING:
    import os
    from collections.abc import Generator

    from numpy.typing import NDArray

SCHEMA = 1
RECIPE = "recipe.json"
_REFERENCE = "reference.tiff"
# Datasets of fewer bytes are stored as pictures, which other programs can read.
_LEAST_BYTES = 32 * 2**20
_LARGEST_TEXT = 64 * 2**20
_MAKING = "making the pictures again"


def can_be_made_again(dataset: Dataset) -> Generator[Progress, None, bool]:
    """Whether a large dataset is worth storing as a recipe and gives the same bits again."""
    if dataset.demanded is not None:
        return True
    held = 4 * len(dataset.entries) * dataset.reference.size
    labels = {part for label in dataset.labels for part in label.split("+")}
    if dataset.spec is None or held < _LEAST_BYTES or not labels <= {ORIGINAL, *DISTORTIONS}:
        return False
    again = PicturesOnDemand(dataset.reference, dataset.entries)

    def is_same(index: int) -> bool:
        try:
            return np.array_equal(again[index], dataset.pictures[index])
        except (ValueError, ArithmeticError):
            # An imported dataset may have strengths that no search would find.
            return False

    with Workers() as workers:
        same = yield from workers.collect(is_same, range(len(again)), "checking the pictures")
    return all(same)


def save(dataset: Dataset, folder: str | os.PathLike[str]) -> Generator[Progress, None, Path]:
    """Write the recipe of a dataset as a folder; its name appears when everything is written."""
    target = Path(folder)
    document = {
        "schema": SCHEMA,
        "program": f"ISCA Studio {isca_gui.__version__}",
        "spec": asdict(dataset.spec) if dataset.spec else None,
        "entries": [astuple(entry) for entry in dataset.entries],
        "unreachable": [astuple(missed) for missed in dataset.unreachable],
    }
    text = json.dumps(document, indent=1, default=_plain) + "\n"
    yield Progress(0, 1, "saving")
    try:
        with files.replacing_folder(target) as temporary:
            image.save_tiff(temporary / _REFERENCE, dataset.reference)
            (temporary / RECIPE).write_bytes(text.encode("utf-8"))
    except (ImageError, OSError) as error:
        cause = error.__cause__ if isinstance(error, ImageError) else error
        why = getattr(cause, "strerror", None) or error
        raise DatasetError(f"Cannot write dataset folder '{target}': {why}.") from error
    return target


def is_recipe(folder: Path) -> bool:
    """Whether a folder holds a recipe."""
    return (folder / RECIPE).is_file()


def load(folder: Path) -> Generator[Progress, None, Dataset]:
    """Make the dataset of a recipe again; large ones are made on demand."""
    yield Progress(0, 1, _MAKING)
    try:
        reference = image.read(folder / _REFERENCE, min_side=1)
        raw = (folder / RECIPE).read_bytes()
        if len(raw) > _LARGEST_TEXT:
            raise ValueError("it is too large")
        entries, spec, unreachable = _parse(raw.decode("utf-8"))
    except (OSError, ImageError) as error:
        raise DatasetError(f"Cannot read the dataset in '{folder}': {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DatasetError(f"'{folder}' does not hold a valid dataset ({error}).") from error
    asked = datasets.on_demand(reference, entries, spec, unreachable)
    if not datasets.held_bytes(reference.shape, len(entries)):
        return asked
    made = yield from _made(PicturesOnDemand(reference, entries))
    return Dataset(made, entries, spec, unreachable)


def _made(pictures: PicturesOnDemand) -> Generator[Progress, None, NDArray[np.float32]]:
    """Return all pictures as one array."""
    stack = np.empty(pictures.shape, np.float32)

    def one(index: int) -> None:
        stack[index] = pictures[index]

    with Workers() as workers:
        yield from workers.collect(one, range(len(pictures)), _MAKING)
    return stack


def _parse(
    text: str,
) -> tuple[tuple[Entry, ...], DatasetSpec | None, tuple[Unreachable, ...]]:
    """Return what a recipe says; raise ValueError, KeyError or TypeError for anything wrong."""
    document = json.loads(text, parse_constant=refuse_constant)
    if document["schema"] != SCHEMA:
        raise ValueError(f"schema {document['schema']}; this program reads {SCHEMA}: update it")
    entries = tuple(_entry(*each) for each in document["entries"])
    if not entries or entries[0].label != ORIGINAL:
        raise ValueError("its first picture is not the reference")
    unreachable = tuple(
        Unreachable(str(kind), float(target), float(most))
        for kind, target, most in document["unreachable"]
    )
    spec = document["spec"]
    if spec is not None:
        kinds, levels = tuple(spec["kinds"]), tuple(float(level) for level in spec["levels"])
        spec = DatasetSpec(kinds, levels, spec["seed"])
    return entries, spec, unreachable


def _entry(label: str, target: float, achieved: float, strength: float, seed: int) -> Entry:
    numbers = (target, achieved, strength)
    if not all(type(number) in (int, float) and is_finite(number) for number in numbers):
        raise ValueError("a number of an entry is not finite")
    if not (0 <= target <= HIGHEST_MSE and 0 <= achieved <= HIGHEST_MSE):
        raise ValueError("an entry has an impossible MSE")
    if type(seed) is not int:
        raise ValueError("a seed is not a whole number")
    check_seed(seed)
    if label != ORIGINAL and not set(label.split("+")) <= set(DISTORTIONS):
        raise ValueError("an entry has a kind that this program does not know")
    return Entry(label, float(target), float(achieved), float(strength), seed)


def _plain(value: Any) -> Any:
    """Return a NumPy number as one of Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written")
