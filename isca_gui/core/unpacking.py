"""How much the compressed parts of a file unpack to, found out in little memory."""

from __future__ import annotations

import lzma
import zlib

_DEFLATE, _LZMA = (8, 32946, 50013), 34925  # as TIFF numbers them
_PIECE = 1 << 20
_DICTIONARY = 1 << 28  # bytes that LZMA may ask for to unpack anything


def unpacks_to_more(data: bytes, compression: int, limit: int) -> bool:
    """Tell whether more than `limit` bytes come out of data; what is broken raises an error of its own."""
    if compression in _DEFLATE:
        return _inflated(data, limit) > limit
    return compression == _LZMA and _unpacked(data, limit) > limit


def _inflated(data: bytes, limit: int) -> int:
    """Count what comes out, no further than to beyond the limit."""
    stream, found = zlib.decompressobj(), 0
    while data and not stream.eof and found <= limit:
        found += len(stream.decompress(data, _PIECE))
        data = stream.unconsumed_tail
    return found


def _unpacked(data: bytes, limit: int) -> int:
    """Count what comes out of streams that may follow each other."""
    found = 0
    while data and found <= limit:
        stream = lzma.LZMADecompressor(memlimit=_DICTIONARY)
        found += len(stream.decompress(data, _PIECE))
        while not (stream.eof or stream.needs_input) and found <= limit:
            found += len(stream.decompress(b"", _PIECE))
        data = stream.unused_data
    return found
