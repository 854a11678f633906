"""Datasets: a reference picture and labelled distorted versions of it at exact MSE levels."""

from __future__ import annotations

import hashlib
import unicodedata
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.distortion import distortions, strength_search
from isca_gui.core.distortion.distortions import ORIGINAL, UNDECIDED_LABEL, UNLIKE
from isca_gui.core.distortion.strength_search import Ladder, UnreachableError
from isca_gui.core.parallel import Workers
from isca_gui.core.progress import Progress, relay

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.distortion.distortions import Picture
    from isca_gui.core.settings import DatasetSpec


LONGEST_LABEL = 200


class DatasetError(Exception):
    """A dataset cannot be made, read or written; the message lists everything that is wrong."""


@dataclass(frozen=True)
class Entry:
    """What one picture of a dataset is."""

    label: str
    target_mse: float
    achieved_mse: float
    strength: float
    seed: int


@dataclass(frozen=True)
class Unreachable:
    """A kind and level left out because the picture cannot reach it."""

    kind: str
    target_mse: float
    maximum_mse: float  # or the nearest above the target; a mixture stays below it

    @property
    def reach(self) -> str:
        """Say how near the picture comes."""
        if self.maximum_mse < self.target_mse and len(distortions.parts_of(self.kind)) > 1:
            return f"this picture stays below {self.maximum_mse:.4g}"
        if self.maximum_mse < self.target_mse:
            return f"this picture reaches {self.maximum_mse:.1f} at most"
        return f"this picture comes no nearer than {self.maximum_mse:.4g}"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Pictures (image, height, width), float32 in [0, 1], the reference first, with one entry each."""

    pictures: NDArray[np.float32]
    entries: tuple[Entry, ...]
    spec: DatasetSpec | None = None
    unreachable: tuple[Unreachable, ...] = ()

    def __post_init__(self) -> None:
        if self.pictures.ndim != 3 or len(self.pictures) != len(self.entries) or not self.entries:
            raise DatasetError(
                f"{len(self.entries)} entries do not fit pictures of {self.pictures.shape}"
            )
        for label in self.classes:
            try:
                check_label(label)
            except ValueError as error:
                raise DatasetError(f"{error}; choose another label") from None
        if self.entries[0].label != ORIGINAL:
            raise DatasetError(
                f"the first picture must be labelled '{ORIGINAL}': it is the reference"
            )
        self.pictures.flags.writeable = False

    @property
    def reference(self) -> Picture:
        """The undistorted picture."""
        reference: Picture = self.pictures[0]
        return reference

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of every picture."""
        return tuple(entry.label for entry in self.entries)

    @property
    def classes(self) -> tuple[str, ...]:
        """The different labels, in order of appearance."""
        return tuple(dict.fromkeys(self.labels))

    def digest(self) -> str:
        """SHA-256 over pictures and labels: the same digest, the same training data."""
        state = hashlib.sha256(repr((self.pictures.shape, self.labels)).encode())
        for picture in self.pictures:
            state.update(np.ascontiguousarray(picture, dtype="<f4").tobytes())
        return state.hexdigest()


def check_label(label: str) -> None:
    """Refuse, by a ValueError, what has a meaning of its own or does not come back from a table as it is."""
    if not label.strip():
        raise ValueError("the label is empty")
    if label in (UNDECIDED_LABEL, UNLIKE):
        raise ValueError(f"'{label}' is a word of this program and cannot be a label")
    if len(label) > LONGEST_LABEL:
        raise ValueError(
            f"'{label[:60]}…' cannot be a label: it has more than {LONGEST_LABEL} letters"
        )
    if label != label.strip():
        raise ValueError(f"the label {label!r} begins or ends with a space")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in label):
        raise ValueError(f"the label {label!r} is not one line of text")


def picture_seed(seed: int, kind: str, level: float) -> int:
    """Give each picture noise of its own that does not depend on what is made beside it."""
    words = [seed, zlib.crc32(kind.encode()), round(level * 1000)]
    return int(np.random.SeedSequence(words).generate_state(1)[0])


def generate(
    reference: Picture, spec: DatasetSpec, threads: int | None = None
) -> Generator[Progress, None, Dataset]:
    """Make the dataset of a reference picture; the result does not depend on the number of threads.

    Closing the generator stops the work. What cannot be reached is left out and listed in `unreachable`.
    """
    try:
        reference = distortions.checked(reference)
    except ValueError as error:
        raise DatasetError(f"{str(error).capitalize()}.") from error
    wanted = [(kind, level) for kind in spec.kinds for level in spec.levels]
    pictures = np.empty((1 + len(wanted), *reference.shape), dtype=np.float32)
    pictures[0] = reference

    def climb(kind: str) -> Ladder | None:
        return _climb(reference, kind, spec.levels)

    def make(index: int) -> Entry | Unreachable:
        kind, level = wanted[index]
        return _distort(pictures, 1 + index, kind, level, spec.seed, ladders[kind])

    with Workers(threads) as workers:
        measuring = Progress(0, len(wanted), "measuring the distortions")
        task = workers.collect(climb, spec.kinds, measuring.what)
        climbed = yield from relay(task, lambda _: measuring)
        ladders = dict(zip(spec.kinds, climbed, strict=True))
        results = yield from workers.collect(make, range(len(wanted)), "distorting")
    made = [(0, Entry(ORIGINAL, 0.0, 0.0, 0.0, spec.seed))]
    made += [(place, found) for place, found in enumerate(results, 1) if isinstance(found, Entry)]
    if len(made) <= len(wanted):  # copies the pictures, so only where some are left out
        pictures = pictures[[index for index, _ in made]]
    missed = [found for found in results if isinstance(found, Unreachable)]
    return Dataset(pictures, tuple(entry for _, entry in made), spec, tuple(missed))


def _distort(
    pictures: NDArray[np.float32],
    index: int,
    kind: str,
    level: float,
    seed: int,
    ladder: Ladder | None,
) -> Entry | Unreachable:
    """Make one picture in its place among the others."""
    try:
        made = strength_search.distort(
            pictures[0], kind, level, picture_seed(seed, kind, level), ladder
        )
    except UnreachableError as error:
        return Unreachable(error.kind, error.target, error.maximum)
    pictures[index] = made.picture
    return Entry(made.kind, made.target_mse, made.achieved_mse, made.strength, made.seed)


def _climb(reference: Picture, kind: str, levels: tuple[float, ...]) -> Ladder | None:
    """Climb the ladder of a single distortion; a mixture's depends on its first part's picture."""
    rows = distortions.parts(kind)
    if len(rows) > 1:
        return None
    return strength_search.ladder_for(reference, rows[0], reference, levels)
