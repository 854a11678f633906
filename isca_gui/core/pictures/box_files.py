"""What the headers of JPEG 2000, AVIF, HEIC and JPEG XL say of size, depth and colours.

Decoders of these formats cut deep samples to 8 bits, and one decodes before it tells the size. What
is needed to refuse such files is read from their boxes here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# The boxes of a header lie within its first bytes.
LARGEST_HEADER = 1 << 20
_MOST_BOXES = 10_000

JXL_CONTAINER = b"\0\0\0\x0cJXL \r\n\x87\n"
JXL_CODESTREAM = b"\xff\n"
JP2_CONTAINER = b"\0\0\0\x0cjP  \r\n\x87\n"
J2K_CODESTREAM = b"\xffO\xffQ"
# Brands of the HEIF family that are coded by HEVC.
HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"}
AVIF_BRANDS = {b"avif", b"avis"}
# Transfer characteristics of high dynamic range: PQ and HLG.
HDR_TRANSFERS = {16: "PQ", 18: "HLG"}


@dataclass(frozen=True)
class HeaderFacts:
    """What a header says; a None is what it does not say.

    Parameters
    ----------
    bits
        Most bits of a sample.
    transfer, primaries
        Code points of the transfer function and of the primaries.
    profile
        An ICC profile.
    """

    bits: int | None = None
    transfer: int | None = None
    primaries: int | None = None
    profile: bytes | None = None


def brands(head: bytes) -> set[bytes]:
    """Return the brands of a file of the HEIF family; none for any other file."""
    if head[4:8] != b"ftyp":
        return set()
    size = min(int.from_bytes(head[:4]), len(head), 256)
    return {head[8:12], *(head[place : place + 4] for place in range(16, size - 3, 4))}


def boxes(data: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[bytes, int, int]]:
    """Yield the type, start and end of the boxes between two offsets; the last may be cut off."""
    stop = len(data) if end is None else min(end, len(data))
    for _ in range(_MOST_BOXES):
        if start + 8 > stop:
            return
        size = int.from_bytes(data[start : start + 4])
        kind = data[start + 4 : start + 8]
        body = start + 8
        if size == 1:
            size = int.from_bytes(data[body : body + 8])
            body += 8
        if size == 0:
            size = stop - start
        if size < body - start:
            return
        yield kind, body, min(start + size, stop)
        start += size


def heif_facts(head: bytes) -> HeaderFacts:
    """Return what the properties of an AVIF or HEIC file say."""
    bits = None
    transfer = None
    primaries = None
    for kind, start, end in _properties(head):
        body = head[start:end]
        if kind == b"av1C" and len(body) >= 3:
            # Bits 6 and 5 of the third byte: more than 8 bits, and 12 rather than 10.
            deep = 12 if body[2] & 0x20 else 10
            bits = max(bits or 0, deep if body[2] & 0x40 else 8)
        elif kind == b"colr" and body[:4] == b"nclx" and len(body) >= 8:
            primaries = int.from_bytes(body[4:6])
            transfer = int.from_bytes(body[6:8])
    return HeaderFacts(bits, transfer, primaries)


def _properties(head: bytes) -> Iterator[tuple[bytes, int, int]]:
    for kind, start, end in boxes(head):
        if kind != b"meta":
            continue
        # The box begins with a version and flags.
        for inner, inner_start, inner_end in boxes(head, start + 4, end):
            if inner != b"iprp":
                continue
            for last, last_start, last_end in boxes(head, inner_start, inner_end):
                if last == b"ipco":
                    yield from boxes(head, last_start, last_end)


def jpeg2000_facts(head: bytes) -> HeaderFacts:
    """Return the depth and the profile of a JPEG 2000 file, boxed or bare."""
    profile = None
    if head.startswith(JP2_CONTAINER):
        for kind, start, end in boxes(head):
            if kind != b"jp2h":
                continue
            for inner, inner_start, inner_end in boxes(head, start, end):
                # Methods 2 and 3 are ICC profiles.
                if inner == b"colr" and head[inner_start] in (2, 3):
                    profile = head[inner_start + 3 : inner_end]
    place = head.find(J2K_CODESTREAM)
    if place < 0 or place + 42 > len(head):
        return HeaderFacts(profile=profile)
    siz = place + 4
    count = int.from_bytes(head[siz + 36 : siz + 38])
    depths = head[siz + 38 : siz + 38 + 3 * count : 3]
    return HeaderFacts(max(((depth & 0x7F) + 1 for depth in depths), default=None), profile=profile)


def png_facts(head: bytes) -> HeaderFacts:
    """Return the code points of a PNG's `cICP` chunk."""
    place = head.find(b"cICP")
    pixels = head.find(b"IDAT")
    if place < 0 or (0 <= pixels < place) or place + 6 > len(head):
        return HeaderFacts()
    return HeaderFacts(primaries=head[place + 4], transfer=head[place + 5])


# --- JPEG XL ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JxlHeader:
    """Size and samples of a JPEG XL file, once it is turned."""

    width: int
    height: int
    bits: int
    is_float: bool


class _Bits:
    """Reads the bits of a JPEG XL codestream, the lowest of each byte first."""

    def __init__(self, data: bytes) -> None:
        self._value = int.from_bytes(data, "little")
        self._left = 8 * len(data)

    def take(self, count: int) -> int:
        if count > self._left:
            raise ValueError("the header is cut off")
        found = self._value & ((1 << count) - 1)
        self._value >>= count
        self._left -= count
        return found

    def choose(self, *choices: tuple[int, int]) -> int:
        """Return one of four choices, each an offset and a number of bits to add to it."""
        offset, count = choices[self.take(2)]
        return offset + self.take(count)


_RATIOS = {1: (1, 1), 2: (12, 10), 3: (4, 3), 4: (3, 2), 5: (16, 9), 6: (5, 4), 7: (2, 1)}


def jxl_header(head: bytes) -> JxlHeader:
    """Return what the header of a JPEG XL file says; a ValueError for a damaged one."""
    reader = _Bits(_jxl_codestream(head)[2:200])
    width, height = _jxl_size(reader)
    if reader.take(1):
        # Everything else has its default.
        return JxlHeader(width, height, 8, is_float=False)
    if reader.take(1):
        orientation = 1 + reader.take(3)
        if orientation > 4:
            width, height = height, width
        if reader.take(1):
            _jxl_size(reader)
        if reader.take(1):
            _skip_preview(reader)
        if reader.take(1):
            _skip_animation(reader)
    if reader.take(1):
        return JxlHeader(width, height, reader.choose((32, 0), (16, 0), (24, 0), (1, 6)), True)
    bits = reader.choose((8, 0), (10, 0), (12, 0), (1, 6))
    return JxlHeader(width, height, bits, is_float=False)


def _jxl_codestream(head: bytes) -> bytes:
    if head.startswith(JXL_CODESTREAM):
        return head
    for kind, start, end in boxes(head):
        if kind == b"jxlc":
            return head[start:end]
        if kind == b"jxlp":
            # Four bytes number the parts.
            return head[start + 4 : end]
    raise ValueError("there is no codestream")


def _jxl_size(reader: _Bits) -> tuple[int, int]:
    small = reader.take(1)

    def side() -> int:
        if small:
            return 8 * (1 + reader.take(5))
        return reader.choose((1, 9), (1, 13), (1, 18), (1, 30))

    height = side()
    ratio = _RATIOS.get(reader.take(3))
    width = side() if ratio is None else height * ratio[0] // ratio[1]
    return width, height


def _skip_preview(reader: _Bits) -> None:
    choices = ((16, 0), (32, 0), (1, 5), (33, 9))
    if not reader.take(1):
        choices = ((1, 6), (65, 8), (321, 10), (1345, 12))
    reader.choose(*choices)
    if not reader.take(3):
        reader.choose(*choices)


def _skip_animation(reader: _Bits) -> None:
    reader.choose((100, 0), (1000, 0), (1, 10), (1, 30))
    reader.choose((1, 0), (1001, 0), (1, 8), (1, 10))
    reader.choose((0, 0), (0, 3), (0, 16), (0, 32))
    reader.take(1)
