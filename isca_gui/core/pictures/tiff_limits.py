"""Bounds on what the compressed strips and tiles of a TIFF unpack to.

tifffile unpacks each strip or tile whole, so a few kilobytes could ask for all the memory there is.
Here the unpacked size is counted first, in little memory and bounded time.
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

    # Counts the bytes that data unpack to, stopping soon after a limit is passed.
    CountUnpacked = Callable[[bytes, int], int]

# Values of the TIFF tag Compression.
_DEFLATE = (8, 32946, 50013)
_LZMA = (34925,)
_ZSTD = (34926, 50000)

# Bytes passed to a decompressor, and taken from it, at a time.
_INPUT_CHUNK = 1 << 16
_OUTPUT_CHUNK = 1 << 20
# Bytes of memory that LZMA may use for its dictionary.
_LZMA_MEMORY = 1 << 28

# Samples always allowed in one strip or tile, and in all of them: those of a small picture may be
# larger than the picture itself.
_ALLOWED_PART = 4 << 20
_ALLOWED_PICTURE = 64 << 20

# Each byte with its bits in reverse order, for the TIFF tag FillOrder 2.
_REVERSED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def holds_too_much(page: Any, stream: IO[bytes]) -> bool:
    """Whether a page of a TIFF unpacks to far more than the picture it declares."""
    count_unpacked = _counter(int(page.compression))
    if count_unpacked is None:
        # Uncompressed data and run lengths cannot grow out of proportion.
        return False
    samples = 4 * math.prod(page.shape)
    part_limit = max(samples, _ALLOWED_PART) * page.dtype.itemsize
    remaining = max(samples, _ALLOWED_PICTURE) * page.dtype.itemsize
    size = stream.seek(0, 2)
    parts = zip(page.dataoffsets, page.databytecounts, strict=False)
    for offset, count in islice(parts, math.prod(page.chunked)):
        if offset <= 0 or count <= 0:
            # tifffile reads such a strip or tile as empty.
            continue
        stream.seek(min(offset, size))
        data = stream.read(min(count, size))
        if page.fillorder == 2:
            data = data.translate(_REVERSED_BITS)
        unpacked = count_unpacked(data, part_limit)
        remaining -= unpacked
        if unpacked > part_limit or remaining < 0:
            return True
    return False


def _counter(compression: int) -> CountUnpacked | None:
    """Return what counts the unpacked bytes of a compression, or None where none is needed."""
    if compression in _DEFLATE:
        return _count_inflated
    if compression in _LZMA:
        return lambda data, limit: _count_streams(data, limit, _new_lzma, lzma.LZMAError)
    if compression in _ZSTD:
        try:
            # Part of Python from 3.14 on; without it tifffile cannot unpack these either.
            zstd = importlib.import_module("compression.zstd")
        except ImportError:
            return None
        return lambda data, limit: _count_streams(
            data, limit, zstd.ZstdDecompressor, zstd.ZstdError
        )
    return None


def _count_inflated(data: bytes, limit: int) -> int:
    decompressor = zlib.decompressobj()
    count = 0
    for low in range(0, len(data), _INPUT_CHUNK):
        piece = data[low : low + _INPUT_CHUNK]
        while piece and not decompressor.eof and count <= limit:
            count += len(decompressor.decompress(piece, _OUTPUT_CHUNK))
            piece = decompressor.unconsumed_tail
        if decompressor.eof or count > limit:
            break
    return count


def _new_lzma() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(memlimit=_LZMA_MEMORY)


def _count_streams(data: bytes, limit: int, new: Callable[[], Any], broken: type[Exception]) -> int:
    """Return the unpacked size of streams that follow each other, perhaps with padding at the end.

    Parameters
    ----------
    data
        The compressed bytes of one strip or tile.
    limit
        Number of bytes at which counting may stop.
    new
        Returns a fresh decompressor.
    broken
        What the decompressor raises for bytes that it cannot read.
    """
    count = 0
    while data and count <= limit:
        decompressor = new()
        try:
            count += len(decompressor.decompress(data, _OUTPUT_CHUNK))
            while not (decompressor.eof or decompressor.needs_input) and count <= limit:
                count += len(decompressor.decompress(b"", _OUTPUT_CHUNK))
        except broken:
            # After a whole stream these are bytes of padding; before one the data are damaged.
            if count:
                break
            raise
        data = decompressor.unused_data
    return count
