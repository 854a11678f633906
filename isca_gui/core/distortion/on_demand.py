"""Pictures of a dataset that are made when they are asked for, whole or in bands of rows.

A picture is known by its entry: kind, strength and seed. So 121 pictures of twelve megapixels need
not be held or stored. Whoever needs all of them at the same place, such as a training, asks for
bands of rows from the top to the bottom. Kinds that look at one pixel at a time are made band by
band, with the same numbers as in whole pictures. Of the others, which are made whole once, a band
is read from a temporary file: with a byte per pixel where a codec has made them.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.distortion import distortions, strength_search
from isca_gui.core.distortion.distortions import ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from isca_gui.core.distortion.dataset import Entry
    from isca_gui.core.distortion.distortions import Picture
    from isca_gui.core.parallel import Workers
    from isca_gui.core.progress import Progress

    # Returns the rows from `top` to before `bottom`; asked from the top to the bottom.
    Rows = Callable[[int, int], Picture]

_GREY = np.float32(255)
# Pixels of which so few are not whole grey levels are stored as bytes, and those few beside them.
_FEW = 1 / 64


class PicturesOnDemand:
    """The pictures of a dataset (image, height, width), each made when it is indexed.

    Parameters
    ----------
    reference
        Shape (height, width).
    entries
        How each picture is made, the reference's first.
    """

    ndim = 3
    dtype = np.dtype(np.float32)

    def __init__(self, reference: Picture, entries: Sequence[Entry]) -> None:
        self.reference = reference
        self.reference.flags.writeable = False
        self.entries = tuple(entries)

    @property
    def shape(self) -> tuple[int, int, int]:
        """As of an array with all pictures."""
        height, width = self.reference.shape
        return len(self.entries), height, width

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int) -> Picture:
        """Return one picture, made anew."""
        return _made(self.reference, self.entries[index])

    def __iter__(self) -> Iterator[Picture]:
        return (self[index] for index in range(len(self)))

    def digest(self) -> str:
        """Return the SHA-256 of the reference and of how every picture is made from it."""
        made = [(each.label, each.target_mse, each.strength, each.seed) for each in self.entries]
        state = hashlib.sha256(repr(("on demand", self.shape, made)).encode())
        state.update(np.ascontiguousarray(self.reference, dtype="<f4").tobytes())
        return state.hexdigest()


class Bands:
    """Reads all pictures band by band, once, from the top to the bottom."""

    def __init__(self, pictures: PicturesOnDemand) -> None:
        self._pictures = pictures
        self._rows: list[Rows] = []
        self._spool: Any = None
        self._lock = threading.Lock()

    def __enter__(self) -> Bands:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spool is not None:
            self._spool.close()

    def prepare(self, workers: Workers) -> Generator[Progress, object, None]:
        """Make what needs the whole picture: random draws, and kinds that are not local."""
        pictures = self._pictures
        if any(_is_spooled(entry) for entry in pictures.entries):
            # The file has no name, and goes when it is closed or the program ends.
            self._spool = tempfile.TemporaryFile(prefix="isca-")
        task = workers.collect(self._prepared, range(len(pictures)), "preparing the pictures")
        self._rows = yield from task

    def read(
        self, top: int, bottom: int, workers: Workers
    ) -> Generator[Progress, bool | None, Picture]:
        """Return the rows from `top` to before `bottom` of all pictures (image, row, column)."""
        width = self._pictures.shape[2]
        band = np.empty((len(self._rows), bottom - top, width), np.float32)

        def one(index: int, _: int) -> None:
            band[index] = self._rows[index](top, bottom)

        yield from workers.each(one, len(self._rows), 1)
        return band

    def _prepared(self, index: int) -> Rows:
        entry = self._pictures.entries[index]
        if _is_spooled(entry):
            return self._spooled(index)
        return _LOCAL[entry.label](self._pictures.reference, entry)

    def _spooled(self, index: int) -> Rows:
        """Write a whole picture to the temporary file and return what reads its rows."""
        assert self._spool is not None
        reference = self._pictures.reference
        picture = self._pictures[index].reshape(-1)
        width = reference.shape[1]
        grey = np.rint(picture * _GREY).astype(np.uint8)
        others = np.flatnonzero(grey / _GREY != picture)
        if others.size > _FEW * picture.size:
            stored = self._stored(picture)
            return lambda top, bottom: stored(top * width, bottom * width).reshape(-1, width)
        values = picture[others]
        stored = self._stored(grey)

        def rows(top: int, bottom: int) -> Picture:
            part: Picture = stored(top * width, bottom * width).astype(np.float32) / _GREY
            low, high = np.searchsorted(others, [top * width, bottom * width])
            part[others[low:high] - top * width] = values[low:high]
            return part.reshape(-1, width)

        return rows

    def _stored(self, flat: NDArray[Any]) -> Callable[[int, int], NDArray[Any]]:
        """Append an array to the temporary file; return a function that reads a part of it."""
        spool = self._spool
        assert spool is not None
        with self._lock:
            start = spool.seek(0, os.SEEK_END)
            spool.write(flat.data.cast("B"))

        def read(low: int, high: int) -> NDArray[Any]:
            found = np.empty(high - low, flat_type)
            with self._lock:
                spool.seek(start + low * flat_type.itemsize)
                if spool.readinto(found.data.cast("B")) != found.nbytes:
                    raise OSError("The temporary file of a training was cut off")
            return found

        flat_type = flat.dtype
        return read


def _is_spooled(entry: Entry) -> bool:
    return entry.label not in _LOCAL


def _made(reference: Picture, entry: Entry) -> Picture:
    """Return the whole picture of an entry."""
    if entry.label == ORIGINAL:
        return reference
    rows = distortions.table_rows(entry.label)
    if len(rows) > 1:
        # An entry has the strength of a mixture's second part only.
        made = strength_search.distort(reference, entry.label, entry.target_mse, entry.seed)
        return made.picture
    # As the search for the strength draws it: kinds that are not random share one draw.
    seed = [entry.seed, 0] if rows[0].random else 0
    return rows[0].prepare(reference, np.random.default_rng(seed))(entry.strength)


# --- kinds that are local ------------------------------------------------------------------------


def _original(reference: Picture, _: Entry) -> Rows:
    return lambda top, bottom: reference[top:bottom]


def _pointwise(reference: Picture, entry: Entry) -> Rows:
    return lambda top, bottom: _made(reference[top:bottom], entry)


def _contrast(reference: Picture, entry: Entry) -> Rows:
    mean = np.float32(reference.mean(dtype=np.float64))
    gain = np.float32(entry.strength)

    def rows(top: int, bottom: int) -> Picture:
        part = reference[top:bottom]
        changed: Picture = part + (part - mean) * gain
        return np.clip(changed, 0, 1, out=changed)

    return rows


def _gaussian_noise(reference: Picture, entry: Entry) -> Rows:
    whole = np.random.default_rng([entry.seed, 0]).standard_normal(reference.shape, np.float32)
    root = np.sqrt(np.einsum("ij,ij->", whole, whole) / whole.size)
    del whole
    random = np.random.default_rng([entry.seed, 0])
    sigma = np.float32(entry.strength / 255)

    def rows(top: int, bottom: int) -> Picture:
        part = reference[top:bottom]
        # Draws go on where those of the band above have ended.
        field = random.standard_normal(part.shape, np.float32)
        field /= root
        field *= sigma
        field += part
        return np.clip(field, 0, 1, out=field)

    return rows


def _sparse(reference: Picture, entry: Entry) -> Rows:
    """Keep the pixels that differ from the reference, which are few."""
    whole = _made(reference, entry).reshape(-1)
    places = np.flatnonzero(whole != reference.reshape(-1))
    values = whole[places]
    del whole
    if reference.size < 2**32:
        places = places.astype(np.uint32)
    width = reference.shape[1]

    def rows(top: int, bottom: int) -> Picture:
        part = reference[top:bottom].copy()
        low, high = np.searchsorted(places, [top * width, bottom * width])
        part.reshape(-1)[places[low:high] - top * width] = values[low:high]
        return part

    return rows


_LOCAL: dict[str, Callable[[Picture, Entry], Rows]] = {
    ORIGINAL: _original,
    "contrast": _contrast,
    "luminance": _pointwise,
    "gaussian-noise": _gaussian_noise,
    "impulse": _sparse,
}
