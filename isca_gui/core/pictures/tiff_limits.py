"""How much the compressed parts of a TIFF unpack to, found out in little memory and bounded time.

tifffile unpacks each part whole: a few kilobytes could ask for all the memory that there is.
"""

from __future__ import annotations

import importlib
import lzma
import math
import zlib
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_DEFLATE, _LZMA, _ZSTD = (8, 32946, 50013), (34925,), (34926, 50000)  # as TIFF numbers them
_IN, _OUT = 1 << 16, 1 << 20  # bytes that are taken and given at a time
_DICTIONARY = 1 << 28  # bytes that LZMA may ask for to unpack anything
_LARGE_PART, _LARGE_PICTURE = (
    4 << 20,
    64 << 20,
)  # samples; parts of a small picture may be larger than it is
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def holds_too_much(page: Any, stream: IO[bytes]) -> bool:
    """Tell whether a page of a TIFF holds far more than the picture that it declares."""
    gauge = _gauge(int(page.compression))
    if gauge is None:  # what is not compressed, or by runs, cannot grow out of hand
        return False
    samples, size = 4 * math.prod(page.shape), stream.seek(0, 2)
    part, left = (
        max(samples, large) * page.dtype.itemsize for large in (_LARGE_PART, _LARGE_PICTURE)
    )
    parts = zip(page.dataoffsets, page.databytecounts, strict=False)
    for offset, count in islice(parts, math.prod(page.chunked)):
        if offset <= 0 or count <= 0:  # an empty one
            continue
        stream.seek(min(offset, size))
        data = stream.read(min(count, size))
        found = gauge(data.translate(_MIRRORED) if page.fillorder == 2 else data, part)
        left -= found
        if found > part or left < 0:
            return True
    return False


def _gauge(compression: int) -> Callable[[bytes, int], int] | None:
    """Give what counts the bytes that come out of data, no further than to beyond a limit."""
    if compression in _DEFLATE:
        return _inflated
    if compression in _LZMA:
        return lambda data, limit: _unpacked(data, limit, _new_lzma, lzma.LZMAError)
    if compression in _ZSTD:
        try:
            zstd = importlib.import_module(
                "compression.zstd"
            )  # from Python 3.14 on; tifffile uses it too
        except ImportError:
            return None
        return lambda data, limit: _unpacked(data, limit, zstd.ZstdDecompressor, zstd.ZstdError)
    return None


def _inflated(data: bytes, limit: int) -> int:
    stream, found = zlib.decompressobj(), 0
    for low in range(0, len(data), _IN):
        piece = data[low : low + _IN]
        while piece and not stream.eof and found <= limit:
            found += len(stream.decompress(piece, _OUT))
            piece = stream.unconsumed_tail
        if stream.eof or found > limit:
            break
    return found


def _new_lzma() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(memlimit=_DICTIONARY)


def _unpacked(data: bytes, limit: int, new: Callable[[], Any], broken: type[Exception]) -> int:
    """Count what comes out of streams that may follow each other, and something else after them."""
    found = 0
    while data and found <= limit:
        stream = new()
        try:
            found += len(stream.decompress(data, _OUT))
            while not (stream.eof or stream.needs_input) and found <= limit:
                found += len(stream.decompress(b"", _OUT))
        except broken:
            if found:
                break
            raise
        data = stream.unused_data
    return found
