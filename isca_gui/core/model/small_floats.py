"""Numbers in twelve bits: one for the sign, four for the exponent, seven for the mantissa.

Descriptors of training pictures are stored as differences from those of the reference. In this
form they are precise to 0.4 %, and what is smaller than two millionths, which is rounding, becomes
zero. Two arrays of bytes hold the upper eight bits of every number and the lower four of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

# How far a number may be from the one that was packed, as a share of it.
PRECISION = 2.0**-8
_MANTISSA = 7
_LOWEST = -11
_HIGHEST = 4
LARGEST = 2.0 ** (_HIGHEST - 1) * (2 - 2.0**-_MANTISSA)
# The distance of numbers near zero.
_SMALLEST = 2.0 ** (_LOWEST - _MANTISSA)


def pack(values: NDArray[np.floating[Any]]) -> tuple[Bytes, Bytes]:
    """Return the upper bits of numbers up to `LARGEST`, in their shape, and the lower in a row."""
    size = np.minimum(np.abs(values, dtype=np.float32), np.float32(LARGEST))
    # As an integer a float32 without its last sixteen bits has seven of mantissa; adding half of
    # what is dropped rounds it. Numbers below the lowest exponent are counted in equal steps.
    dropped = 23 - _MANTISSA
    bits = (size.view(np.uint32) + np.uint32(1 << (dropped - 1))) >> np.uint32(dropped)
    offset = np.uint32((127 + _LOWEST - 1) << _MANTISSA)
    tiny = np.rint(size / np.float32(_SMALLEST)).astype(np.uint32)
    code = np.where(size < np.float32(2.0**_LOWEST), tiny, bits - offset).astype(np.uint16)
    code |= np.signbit(values).astype(np.uint16) << np.uint16(11)
    low = (code & np.uint16(15)).astype(np.uint8).reshape(-1)
    if low.size % 2:
        low = np.append(low, np.uint8(0))
    high: Bytes = (code >> np.uint16(4)).astype(np.uint8)
    nibbles: Bytes = low[::2] | (low[1::2] << np.uint8(4))
    return high, nibbles


def unpack(high: Bytes, low: Bytes) -> NDArray[np.float32]:
    """Undo `pack`."""
    nibbles = np.empty(2 * low.size, np.uint8)
    nibbles[::2] = low & np.uint8(15)
    nibbles[1::2] = low >> np.uint8(4)
    lower = nibbles[: high.size].reshape(high.shape)
    values: NDArray[np.float32] = _TABLE[(high.astype(np.uint16) << np.uint16(4)) | lower]
    return values


def _decoded() -> NDArray[np.float32]:
    codes = np.arange(1 << 12)
    mantissas = codes & 127
    exponents = (codes >> 7) & 15
    sizes = np.where(
        exponents == 0,
        mantissas * _SMALLEST,
        (1 + mantissas / 128) * 2.0 ** (exponents - 1 + _LOWEST),
    )
    return np.where(codes >> 11, -sizes, sizes).astype(np.float32)


_TABLE = _decoded()
