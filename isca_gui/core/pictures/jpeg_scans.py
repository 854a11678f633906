"""Limits on JPEG files, checked before decoding, and whether all of the picture is there.

libjpeg decodes as many scans as a file holds, so a small progressive file could keep it busy for
minutes; and it fills up with grey what a file that was cut and closed again has lost.
"""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass, field
from io import BytesIO
from typing import IO

import numpy as np
from PIL import Image

# Scans times pixels; decoding one more pixel of one more scan takes a nanosecond or two.
MOST_WORK = 2_000_000_000
MOST_SCANS = 1000

_END = 0xD9
_SCAN = 0xDA
# Markers without a length: TEM, the restarts, and the start of the picture.
_BARE = {0x01, *range(0xD0, 0xD9)}
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_PROGRESSIVE = {0xC2, 0xC6, 0xCA, 0xCE}
# An arithmetic coder may leave out the zeros at its end, so that nothing tells a cut there.
_ARITHMETIC = {*range(0xC9, 0xD0)}
_LOSSLESS = {0xC3, 0xC7, 0xCB, 0xCF}
# The bit of a coefficient of which nothing was transmitted.
_UNSENT = 99
# The end of entropy-coded data: a marker that is no stuffed byte, no restart and no fill byte.
_NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
# Entropy-coded data that no encoder writes; what is decoded from it differs from the grey filling.
_FILLING = bytes(range(1, 255)) * 16
# The filling is this value in all channels; upsampled colours may bleed into it.
_GREY = 128
_GREY_TOLERANCE = 24


@dataclass(frozen=True)
class Scans:
    """What the markers of a JPEG file say.

    Parameters
    ----------
    count
        Number of scans.
    pixels
        Width times height.
    end
        Offset of the end marker; None where there is none.
    finished
        Whether the scans transmit every bit of every coefficient.
    checkable
        Whether the decoder's output tells if the last scan was cut.
    """

    count: int
    pixels: int
    end: int | None
    finished: bool
    checkable: bool

    @property
    def too_many(self) -> bool:
        """Whether decoding would take far longer than the picture warrants."""
        return self.count > MOST_SCANS or self.count * self.pixels > MOST_WORK


@dataclass
class _Frame:
    """What is known of a frame while its scans are walked.

    `precision` holds, by component, the lowest bit of each coefficient that was transmitted.
    """

    kind: int = 0
    pixels: int = 0
    precision: dict[int, list[int]] = field(default_factory=dict)

    def begin(self, kind: int, body: bytes) -> None:
        if len(body) < 6 or self.precision:
            return
        self.kind = kind
        self.pixels = int.from_bytes(body[1:3]) * int.from_bytes(body[3:5])
        identifiers = body[6 : 6 + 3 * body[5] : 3]
        self.precision = {identifier: [_UNSENT] * 64 for identifier in identifiers}

    def add_scan(self, body: bytes) -> None:
        count = body[0] if body else 0
        if len(body) < 4 + 2 * count:
            return
        first, last, bits = body[1 + 2 * count : 4 + 2 * count]
        if self.kind not in _PROGRESSIVE:
            first, last, bits = 0, 63, 0
        for identifier in body[1 : 1 + 2 * count : 2]:
            sent = self.precision.get(identifier, [])
            for place in range(first, min(last, 63) + 1 if sent else 0):
                sent[place] = min(sent[place], bits & 15)

    @property
    def finished(self) -> bool:
        return all(bit == 0 for sent in self.precision.values() for bit in sent)


def scans_of(stream: IO[bytes]) -> Scans:
    """Return what the markers of a JPEG file say, without decoding it."""
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return scans_in(data)


def scans_in(data: bytes | mmap.mmap) -> Scans:
    """Return what the markers of a JPEG in memory say."""
    frame = _Frame()
    count = 0
    place = 2
    end = None
    while place + 4 <= len(data) or data[place : place + 2] == b"\xff\xd9":
        if data[place] != 0xFF:
            # Bytes between segments are skipped, as libjpeg does.
            place = data.find(b"\xff", place)
            if place < 0:
                break
            continue
        marker = data[place + 1]
        if marker == _END:
            end = place
            break
        if marker in (0x00, 0xFF) or marker in _BARE:
            place += 1 if marker == 0xFF else 2
            continue
        body_start = place + 4
        place += 2 + max(int.from_bytes(data[place + 2 : place + 4]), 2)
        body = data[body_start : min(place, body_start + 1024)]
        if marker in _FRAMES:
            frame.begin(marker, body)
        if marker == _SCAN:
            count += 1
            frame.add_scan(body)
            if count > MOST_SCANS:
                break
            found = _NEXT_MARKER.search(data, min(place, len(data)))
            place = found.start() if found else len(data)
    checkable = frame.kind not in _ARITHMETIC | _LOSSLESS and end is not None
    return Scans(count, frame.pixels, end, frame.finished, checkable)


def is_cut(stream: IO[bytes], scans: Scans, decoded: Image.Image) -> bool:
    """Whether the entropy-coded data end before the picture does.

    libjpeg takes an end marker that comes too early for the end of the picture and says nothing.
    Here other data are put before the end marker: a whole picture does not change by that.

    Parameters
    ----------
    stream
        The file.
    scans
        What `scans_of` returned for it.
    decoded
        The picture as it was decoded.
    """
    if not scans.finished:
        return True
    if not scans.checkable or (scans.count == 1 and not _ends_in_grey(decoded)):
        return False
    stream.seek(0)
    data = stream.read(scans.end or 0)
    with Image.open(BytesIO(data + _FILLING + b"\xff\xd9"), formats=("JPEG",)) as other:
        if other.mode != decoded.mode:
            return False
        other.load()
        return other.tobytes() != decoded.tobytes()


def _ends_in_grey(decoded: Image.Image) -> bool:
    """Whether the last pixel may be part of what libjpeg has filled with grey."""
    last = np.asarray(decoded.crop((decoded.width - 1, decoded.height - 1, *decoded.size)))
    return bool((np.abs(last.astype(int) - _GREY) <= _GREY_TOLERANCE).all())
