"""Datasets: a reference picture and labelled, distorted copies of it at exact MSE levels."""

from __future__ import annotations

import functools
import hashlib
import math
import unicodedata
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from isca_gui.core.distortion import distortions, strength_search
from isca_gui.core.distortion.distortions import ORIGINAL, UNDECIDED_LABEL, UNLIKE
from isca_gui.core.distortion.on_demand import PicturesOnDemand
from isca_gui.core.distortion.strength_search import MseCurve, UnreachableError
from isca_gui.core.parallel import Workers
from isca_gui.core.progress import Progress, relay
from isca_gui.core.storage import memory

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.distortion.dataset_spec import DatasetSpec
    from isca_gui.core.distortion.distortions import Picture

LONGEST_LABEL = 200
# Bytes of pictures that are held in memory; of more, each is made when it is needed.
_MOST_HELD = 10**9
# Bytes per pixel that measuring and distorting take beside the pictures, measured.
_BESIDE = 100


class DatasetError(Exception):
    """A dataset cannot be made, read or written; the message lists everything that is wrong."""


@dataclass(frozen=True)
class Entry:
    """One picture of a dataset: its label, its MSE, and how it was made."""

    label: str
    target_mse: float
    achieved_mse: float
    strength: float
    seed: int


@dataclass(frozen=True)
class Unreachable:
    """A kind and level left out because the picture cannot reach it.

    `maximum_mse` is as in `UnreachableError`: the largest MSE or the nearest one above the target.
    """

    kind: str
    target_mse: float
    maximum_mse: float

    @property
    def reach(self) -> str:
        """How near the picture comes, as part of a sentence."""
        if self.maximum_mse < self.target_mse and len(distortions.parts_of(self.kind)) > 1:
            return f"this picture stays below {self.maximum_mse:.4g}"
        if self.maximum_mse < self.target_mse:
            return f"this picture reaches {self.maximum_mse:.1f} at most"
        return f"this picture comes no nearer than {self.maximum_mse:.4g}"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Pictures with their entries, the reference first.

    Parameters
    ----------
    pictures
        Shape (image, height, width), float32 in [0, 1]; made read-only. Of large pictures it is a
        `PicturesOnDemand`, which can be indexed and iterated over like an array.
    entries
        One for each picture.
    spec
        What was asked for; None for an imported dataset.
    unreachable
        What was asked for and is left out.
    """

    pictures: NDArray[np.float32]
    entries: tuple[Entry, ...]
    spec: DatasetSpec | None = None
    unreachable: tuple[Unreachable, ...] = ()

    def __post_init__(self) -> None:
        if self.pictures.ndim != 3 or len(self.pictures) != len(self.entries) or not self.entries:
            raise DatasetError(
                f"{len(self.entries)} entries do not match pictures of shape {self.pictures.shape}"
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
        if self.demanded is None:
            self.pictures.flags.writeable = False

    @property
    def demanded(self) -> PicturesOnDemand | None:
        """The pictures, if they are made on demand."""
        return self.pictures if isinstance(self.pictures, PicturesOnDemand) else None

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
        """Return the SHA-256 of pictures and labels: the same digest, the same training data."""
        return self._digest

    @functools.cached_property
    def _digest(self) -> str:
        if self.demanded is not None:
            return self.demanded.digest()
        # Pictures cannot be written to, so that training need not hash them all once more.
        state = hashlib.sha256(repr((self.pictures.shape, self.labels)).encode())
        for picture in self.pictures:
            state.update(np.ascontiguousarray(picture, dtype="<f4").tobytes())
        return state.hexdigest()


def check_label(label: str) -> None:
    """Raise ValueError for a label with a meaning of its own or one that a table would change."""
    if not label.strip():
        raise ValueError("the label is empty")
    if label in (UNDECIDED_LABEL, UNLIKE):
        raise ValueError(f"'{label}' is reserved by this program and cannot be a label")
    if len(label) > LONGEST_LABEL:
        raise ValueError(
            f"'{label[:60]}…' cannot be a label: it has more than {LONGEST_LABEL} characters"
        )
    if label != label.strip():
        raise ValueError(f"the label {label!r} begins or ends with a space")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in label):
        raise ValueError(f"the label {label!r} is not one line of text")


def picture_seed(seed: int, kind: str, level: float) -> int:
    """Return the seed of one picture, which does not depend on what is made beside it."""
    words = [seed, zlib.crc32(kind.encode()), round(level * 1000)]
    return int(np.random.SeedSequence(words).generate_state(1)[0])


def generate(
    reference: Picture, spec: DatasetSpec, threads: int | None = None
) -> Generator[Progress, None, Dataset]:
    """Make the dataset of a reference picture; the number of threads does not change it.

    Closing the generator stops the work. What cannot be reached is listed in `unreachable`.
    """
    try:
        reference = distortions.checked_reference(reference)
    except ValueError as error:
        raise DatasetError(f"{str(error).capitalize()}.") from error
    wanted = [(kind, level) for kind in spec.kinds for level in spec.levels]
    strength_search.load_libraries()
    held = held_bytes(reference.shape, 1 + len(wanted))
    memory.require(held + _BESIDE * reference.size, f"A dataset of {1 + len(wanted)} pictures")
    pictures = None
    if held:
        pictures = np.empty((1 + len(wanted), *reference.shape), dtype=np.float32)
        pictures[0] = reference

    def curve_of(kind: str) -> MseCurve | None:
        return _curve(reference, kind, spec.levels)

    def make(index: int) -> Entry | Unreachable:
        kind, level = wanted[index]
        seed = picture_seed(spec.seed, kind, level)
        try:
            made = strength_search.distort(reference, kind, level, seed, curves[kind])
        except UnreachableError as error:
            return Unreachable(error.kind, error.target, error.maximum)
        if pictures is not None:
            pictures[1 + index] = made.picture
        return Entry(made.kind, made.target_mse, made.achieved_mse, made.strength, made.seed)

    with Workers(threads) as workers:
        measuring = Progress(0, len(wanted), "measuring the distortions")
        task = workers.collect(curve_of, spec.kinds, measuring.what)
        sampled = yield from relay(task, lambda _: measuring)
        curves = dict(zip(spec.kinds, sampled, strict=True))
        results = yield from workers.collect(make, range(len(wanted)), "distorting")
    return _assembled(reference, pictures, results, spec)


def held_bytes(shape: tuple[int, ...], count: int) -> int:
    """Return the bytes of memory for the pictures of a dataset; 0 if they are made on demand."""
    held = 4 * count * math.prod(shape)
    return held if held <= _MOST_HELD else 0


def _assembled(
    reference: Picture,
    pictures: NDArray[np.float32] | None,
    results: list[Entry | Unreachable],
    spec: DatasetSpec,
) -> Dataset:
    """Return the dataset of the pictures that were made.

    Parameters
    ----------
    reference
        Shape (height, width).
    pictures
        Shape (image, height, width), the reference first; those out of reach are not filled in.
        None if they are to be made on demand.
    results
        What has become of each picture but the reference, in their order.
    spec
        What was asked for.
    """
    places = [0]
    entries = [Entry(ORIGINAL, 0.0, 0.0, 0.0, spec.seed)]
    unreachable = []
    for place, result in enumerate(results, start=1):
        if isinstance(result, Entry):
            places.append(place)
            entries.append(result)
        else:
            unreachable.append(result)
    if pictures is None:
        return on_demand(reference, tuple(entries), spec, tuple(unreachable))
    if unreachable:
        # This copies all pictures, so it is done only where some are left out.
        pictures = pictures[places]
    return Dataset(pictures, tuple(entries), spec, tuple(unreachable))


def on_demand(
    reference: Picture,
    entries: tuple[Entry, ...],
    spec: DatasetSpec | None = None,
    unreachable: tuple[Unreachable, ...] = (),
) -> Dataset:
    """Return a dataset whose pictures are made whenever they are asked for.

    Parameters
    ----------
    reference
        Shape (height, width).
    entries
        How each picture is made, the reference's first.
    spec, unreachable
        As for `Dataset`.
    """
    # Whoever indexes or iterates over pictures need not know where they come from.
    pictures = cast("NDArray[np.float32]", PicturesOnDemand(reference, entries))
    return Dataset(pictures, entries, spec, unreachable)


def _curve(reference: Picture, kind: str, levels: tuple[float, ...]) -> MseCurve | None:
    """Sample the MSE curve of a distortion, to be shared by its levels.

    None for a mixture: the curve of its second part depends on what its first part has made.
    """
    rows = distortions.table_rows(kind)
    if len(rows) > 1:
        return None
    return strength_search.mse_curve(reference, rows[0], reference, levels)
