"""Scenes to fit and to measure the classifier of comparisons on, and damaged copies of them.

A scene is a picture without damage. Every third one, in the order of the names, is only measured;
the others are only fitted. Everything random about a scene follows from its name and a seed, so
that the number of processes changes nothing.
"""

from __future__ import annotations

import multiprocessing
import os
import zlib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from PIL import Image
from threadpoolctl import threadpool_limits

from isca_gui.bench import damage as damages
from isca_gui.core.comparison.pair import luma
from isca_gui.core.pictures import image
from isca_gui.core.pictures.image import ImageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isca_gui.bench.damage import Damage, Picture

    Item = TypeVar("Item")
    Result = TypeVar("Result")

_ENDINGS = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".ppm", ".pgm"}
# Comparisons are made for pictures with more detail than a smaller one has.
SMALLEST_SIDE = 96
_LARGEST_PART = 512
_SMALLEST_CROP = 72
_TRIES = 4


@dataclass(frozen=True)
class Scene:
    """A picture file and its name: the path inside the folder of scenes."""

    name: str
    path: Path

    def random(self, *seeds: int) -> np.random.Generator:
        """Return a generator that only the name and the seeds decide."""
        return np.random.default_rng([zlib.crc32(self.name.encode()), *seeds])

    def read(self) -> Picture:
        """Read the picture, uint8; an ImageError for one that is too small."""
        pixels = image.read_colour(self.path, min_side=SMALLEST_SIDE)
        return np.rint(255 * pixels).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class DamagedCopy:
    """A damaged copy, its true parameters, its MSE in luma, and the seed that makes it again."""

    picture: Picture
    parameters: dict[str, float]
    mse: float
    seed: int


def find_scenes(folder: str | os.PathLike[str]) -> list[Scene]:
    """Return the pictures of a folder and its subfolders, in the order of their names."""
    root = Path(folder)
    if not root.is_dir():
        raise ImageError(f"'{root}' is not a folder. Name a folder of pictures without damage.")
    found = [
        Scene(path.relative_to(root).as_posix(), path)
        for path in root.rglob("*")
        if path.suffix.lower() in _ENDINGS and path.is_file()
    ]
    if len(found) < 2:
        raise ImageError(
            f"'{root}' has {len(found)} pictures. At least two are needed, one to fit and one to "
            "measure."
        )
    return sorted(found, key=lambda scene: scene.name)


def fitted(scenes: Sequence[Scene]) -> list[Scene]:
    """Return the scenes that the classifier may be fitted on."""
    return [scene for index, scene in enumerate(scenes) if index % 3 != 1]


def measured(scenes: Sequence[Scene]) -> list[Scene]:
    """Return every third scene; nothing is ever fitted on these."""
    return [scene for index, scene in enumerate(scenes) if index % 3 == 1]


def mse(first: Picture, second: Picture) -> float:
    """Return the mean squared difference of the luma of two pictures."""
    difference = luma(first.astype(np.float32)) - luma(second.astype(np.float32))
    return float(np.mean(np.square(difference), dtype=np.float64))


def damaged_within(
    picture: Picture, damage: Damage, random: np.random.Generator, least: float, most: float
) -> DamagedCopy | None:
    """Return a copy with an MSE between two bounds, or None if a few tries give none.

    Parameters
    ----------
    picture
        The reference, shape (height, width) or (height, width, 3).
    damage
        A row of the table of damages.
    random
        Chooses the strength.
    least, most
        The bounds of the MSE.
    """
    for _ in range(_TRIES):
        seed = int(random.integers(2**63))
        copy, parameters = damage.apply(picture, np.random.default_rng(seed))
        error = mse(picture, copy)
        if least <= error <= most:
            return DamagedCopy(copy, parameters, error, seed)
    return None


def random_reference(picture: Picture, random: np.random.Generator) -> Picture:
    """Return a reference made from a scene: references differ in size, sharpness and history.

    Some are made smaller or enlarged, some have been a JPEG of high quality, some are a part, some
    are grey.
    """
    reference = _resized(Image.fromarray(picture), random)
    was_jpeg = random.random() < 0.2
    if was_jpeg:
        quality = int(random.integers(85, 98))
        options = {"subsampling": int(random.choice([0, 2]))} if reference.ndim == 3 else {}
        reference = damages.coded(reference, "JPEG", quality=quality, **options)
    if random.random() < 0.35:
        # A part of what was a JPEG begins on its grid, as that of the copy does.
        reference = _part(reference, random, grid=8 if was_jpeg else 1)
    if random.random() < 0.3:
        reference = np.rint(luma(reference.astype(np.float32))).clip(0, 255).astype(np.uint8)
    return np.ascontiguousarray(reference)


def _resized(scene: Image.Image, random: np.random.Generator) -> Picture:
    """Return the scene as it is, at half its size, or a part of it enlarged."""
    choice = random.random()
    if choice < 0.15:
        scene = scene.resize((scene.width // 2, scene.height // 2), Image.Resampling.LANCZOS)
    elif choice < 0.40:
        side = min(_LARGEST_PART, scene.width, scene.height)
        small = int(side / random.uniform(1.3, 2.5))
        left = int(random.integers(0, scene.width - small + 1))
        top = int(random.integers(0, scene.height - small + 1))
        part = scene.crop((left, top, left + small, top + small))
        scene = part.resize((side, side), Image.Resampling.BICUBIC)
    return np.asarray(scene)


def _part(picture: Picture, random: np.random.Generator, grid: int) -> Picture:
    sides = np.array(picture.shape[:2])
    least = min(_SMALLEST_CROP, *sides)
    height, width = random.integers(least, min(sides) + 1, 2)
    top, left = random.integers(0, sides - [height, width] + 1) // grid * grid
    return picture[top : top + height, left : left + width]


def in_processes(
    work: Callable[[Item], Result], items: Sequence[Item], processes: int | None = None
) -> Iterator[Result]:
    """Yield the results of a function of a module for many items, in their order.

    Parameters
    ----------
    work
        Called once for each item, in another process.
    items
        What it is called with.
    processes
        How many work at a time; one for each core by default. With one, nothing is started.
    """
    count = min(processes or os.cpu_count() or 1, len(items))
    if count <= 1:
        yield from map(work, items)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, context, initializer=_keep_to_one_thread)
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(cancel_futures=True)


def _keep_to_one_thread() -> None:
    """Keep BLAS to one thread: there is a process for each core already."""
    threadpool_limits(1)
