"""Picture files made bit by bit, so that no reader under test takes part in making them."""

from __future__ import annotations

import io
import struct
import zlib
from itertools import pairwise
from typing import Any

import numpy as np
from PIL import Image

HEIGHT, WIDTH = 13, 18


def _random(shape: tuple[int, ...], low: float, high: float, dtype: str, seed: int) -> np.ndarray:
    made = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return made.uniform(low, high, shape).astype(dtype)
    return made.integers(int(low), int(high), shape, dtype=np.int64).astype(dtype)


# No integer picture reaches the end of its range, so that scaling by its maximum would show.
GREY8 = _random((HEIGHT, WIDTH), 3, 201, "u1", 1)
GREY16 = _random((HEIGHT, WIDTH), 300, 50_001, "u2", 2)
RGB8 = _random((HEIGHT, WIDTH, 3), 3, 201, "u1", 3)
RGB16 = _random((HEIGHT, WIDTH, 3), 300, 50_001, "u2", 4)
ALPHA8 = _random((HEIGHT, WIDTH), 0, 256, "u1", 5)
ALPHA16 = _random((HEIGHT, WIDTH), 0, 65_536, "u2", 6)
ALPHA8[0, :3] = ALPHA16[0, :3] = 0
ALPHA8[1, :3], ALPHA16[1, :3] = 255, 65_535
UNIT = _random((HEIGHT, WIDTH), 0, 1, "f4", 7)
UNIT[0, 0], UNIT[0, 1] = 0, 1
INDEX = _random((HEIGHT, WIDTH), 0, 16, "u1", 8)
PALETTE = _random((16, 3), 0, 256, "u1", 9)
# Six greys in blocks of 8×8, which JPEG keeps; no rotation or reflection leaves them as they are.
BLOCKS = np.kron(np.array([[20, 90, 160], [230, 50, 120]], "u1"), np.ones((8, 8), "u1"))
SMOOTH = np.rint(np.add.outer(np.linspace(10, 120, 48), np.linspace(0, 110, 64))).astype("u1")
SMOOTH_RGB = np.stack([SMOOTH, SMOOTH[::-1], SMOOTH[:, ::-1]], axis=-1)


def luma(rgb: np.ndarray) -> np.ndarray:
    """Rec. 601 luma of samples in [0, 1]."""
    r, g, b = np.moveaxis(np.asarray(rgb, dtype=np.float64), -1, 0)
    return 0.299 * r + 0.587 * g + 0.114 * b


def on_white(grey: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    return grey * alpha + (1.0 - alpha)


def turned(stored: np.ndarray, orientation: int) -> np.ndarray:
    """How a stored picture is to be shown, for each of the eight orientations of EXIF and TIFF."""
    return {
        1: stored,
        2: stored[:, ::-1],
        3: stored[::-1, ::-1],
        4: stored[::-1],
        5: stored.T,
        6: stored.T[:, ::-1],
        7: stored[::-1, ::-1].T,
        8: stored.T[::-1],
    }[orientation]


def pack_bits(rows: np.ndarray, depth: int) -> bytes:
    """Rows of integers of `depth` bits, highest bits first, each row padded to whole bytes."""
    flat = rows.reshape(len(rows), -1).astype(np.uint32)
    bits = (flat[:, :, None] >> np.arange(depth - 1, -1, -1, dtype=np.uint32)) & 1
    return np.packbits(bits.reshape(len(rows), -1).astype(np.uint8), axis=1).tobytes()


# PNG

# The first row and column of each pass of an interlaced picture, and its steps.
_ADAM7 = (
    (0, 0, 8, 8),
    (0, 4, 8, 8),
    (4, 0, 8, 4),
    (0, 2, 4, 4),
    (2, 0, 4, 2),
    (0, 1, 2, 2),
    (1, 0, 2, 1),
)


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_header(
    width: int, height: int, depth: int = 8, colour: int = 0, interlace: int = 0
) -> bytes:
    fields = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", fields)


def _paeth(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return np.where((pa <= pb) & (pa <= pc), a, np.where(pb <= pc, b, c))


def _png_rows(samples: np.ndarray, depth: int, filters: tuple[int, ...]) -> bytes:
    """The filtered rows of one picture or one pass, the filters taken in turn."""
    if samples.size == 0:
        return b""
    channels = samples.shape[2]
    packed = samples.astype(">u2").tobytes() if depth == 16 else pack_bits(samples, depth)
    rows = np.frombuffer(packed, np.uint8).reshape(len(samples), -1).astype(np.int32)
    step = max(1, channels * depth // 8)
    out = []
    above = np.zeros_like(rows[0])
    for number, row in enumerate(rows):
        left, corner = (
            np.concatenate([np.zeros(step, np.int32), r])[: len(r)] for r in (row, above)
        )
        kind = filters[number % len(filters)]
        guess = (0 * row, left, above, (left + above) // 2, _paeth(left, above, corner))[
            min(kind, 4)
        ]
        out.append(bytes([kind]) + (row - guess).astype(np.uint8).tobytes())
        above = row
    return b"".join(out)


def png(
    samples: np.ndarray,
    *,
    depth: int = 8,
    palette: np.ndarray | None = None,
    trns: bytes | None = None,
    interlace: bool = False,
    filters: tuple[int, ...] = (0, 1, 2, 3, 4),
    chunks: tuple[tuple[bytes, bytes], ...] = (),
    idat: bytes | None = None,
) -> bytes:
    """Any PNG: 1 (grey or palette), 2, 3 or 4 channels, 1 to 16 bits, interlaced or not."""
    cube = samples if samples.ndim == 3 else samples[..., None]
    height, width, channels = cube.shape
    colour = 3 if palette is not None else {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    if interlace:
        raw = b"".join(_png_rows(cube[y::dy, x::dx], depth, filters) for y, x, dy, dx in _ADAM7)
    else:
        raw = _png_rows(cube, depth, filters)
    data = zlib.compress(raw, 6) if idat is None else idat
    # Three chunks, one of them empty.
    cuts = [0, len(data) // 3, len(data) // 3, len(data)]
    made = png_header(width, height, depth, colour, int(interlace))
    made += b"".join(png_chunk(kind, body) for kind, body in chunks)
    if palette is not None:
        made += png_chunk(b"PLTE", palette.astype(np.uint8).tobytes())
    if trns is not None:
        made += png_chunk(b"tRNS", trns)
    made += b"".join(png_chunk(b"IDAT", data[a:b]) for a, b in pairwise(cuts))
    return made + png_chunk(b"IEND", b"")


# TIFF

_TYPES = {"B": 1, "H": 3, "I": 4, "Q": 16}


def lzw(data: bytes) -> bytes:
    """TIFF's LZW: codes of 9 to 12 bits, highest bit first, widened one code early."""
    bits: list[str] = []
    table: dict[bytes, int] = {}
    width = 9

    def clear() -> None:
        nonlocal width
        bits.append(format(256, f"0{width}b"))
        table.clear()
        table.update({bytes([i]): i for i in range(256)})
        width = 9

    clear()
    following = 258
    word = b""
    for value in data:
        longer = word + bytes([value])
        if longer in table:
            word = longer
            continue
        bits.append(format(table[word], f"0{width}b"))
        table[longer] = following
        following += 1
        if following > 4093:
            clear()
            following = 258
        elif following > (1 << width) - 1:
            width += 1
        word = bytes([value])
    if word:
        bits.append(format(table[word], f"0{width}b"))
        following += 1
        if following > (1 << width) - 1 and width < 12:
            width += 1
    bits.append(format(257, f"0{width}b"))
    text = "".join(bits)
    text += "0" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8, "big")


def packbits(data: bytes) -> bytes:
    return b"".join(
        bytes([len(data[i : i + 128]) - 1]) + data[i : i + 128] for i in range(0, len(data), 128)
    )


def _squeeze(data: bytes, compression: int) -> bytes:
    return {
        1: bytes,
        5: lzw,
        8: lambda d: zlib.compress(d, 6),
        32946: lambda d: zlib.compress(d, 6),
    }.get(compression, packbits)(data)


def tiff_page(
    samples: np.ndarray,
    *,
    order: str = "<",
    depth: int | None = None,
    compression: int = 1,
    predictor: int = 1,
    photometric: int | None = None,
    extra: tuple[int, ...] = (),
    planar: int = 1,
    tile: int = 0,
    rows: int = 5,
    colormap: np.ndarray | None = None,
    orientation: int | None = None,
    tags: dict[int, Any] | None = None,
    segments: list[bytes] | None = None,
) -> tuple[dict[int, Any], list[bytes]]:
    """The tags and strips or tiles of one TIFF page; `tags` overrides some, None removes one."""
    cube = samples if samples.ndim == 3 else samples[..., None]
    height, width, channels = cube.shape
    depth = depth or 8 * cube.dtype.itemsize
    kind = {"u": 1, "i": 2, "f": 3, "c": 6}[cube.dtype.kind]
    if photometric is None:
        photometric = 2 if channels - len(extra) == 3 else 1
        if colormap is not None:
            photometric = 3

    def encode(block: np.ndarray) -> bytes:
        if predictor == 2:
            block = np.concatenate([block[:, :1], block[:, 1:] - block[:, :-1]], axis=1)
        if depth % 8 or depth == 24:
            return _squeeze(pack_bits(block, depth), compression)
        if predictor == 3:
            flat = np.ascontiguousarray(
                block.reshape(len(block), -1).astype(block.dtype.newbyteorder(">"))
            )
            planes = flat.view(np.uint8).reshape(len(block), -1, depth // 8).transpose(0, 2, 1)
            planes = planes.reshape(len(block), -1).copy()
            planes[:, channels:] -= planes[:, :-channels].copy()
            return _squeeze(planes.tobytes(), compression)
        return _squeeze(block.astype(block.dtype.newbyteorder(order)).tobytes(), compression)

    if segments is None:
        segments = []
        for plane in [cube] if planar == 1 else [cube[..., i : i + 1] for i in range(channels)]:
            if tile:
                padding = ((0, -height % tile), (0, -width % tile), (0, 0))
                full = np.pad(plane, padding, mode="edge")
                segments += [
                    encode(full[y : y + tile, x : x + tile])
                    for y in range(0, height, tile)
                    for x in range(0, width, tile)
                ]
            else:
                segments += [encode(plane[y : y + rows]) for y in range(0, height, rows)]
    made: dict[int, Any] = {
        256: ("I", [width]),
        257: ("I", [height]),
        258: ("H", [depth] * channels),
        259: ("H", [compression]),
        262: ("H", [photometric]),
        277: ("H", [channels]),
        284: ("H", [planar]),
        339: ("H", [kind] * channels),
    }
    if tile:
        made |= {322: ("I", [tile]), 323: ("I", [tile])}
    else:
        made[278] = ("I", [rows])
    if orientation is not None:
        made[274] = ("H", [orientation])
    if predictor != 1:
        made[317] = ("H", [predictor])
    if extra:
        made[338] = ("H", list(extra))
    if colormap is not None:
        made[320] = ("H", (colormap.astype(np.uint32) * 257).T.ravel().tolist())
    made |= tags or {}
    return {k: v for k, v in made.items() if v is not None}, segments


def tiff_file(
    pages: list[tuple[dict[int, Any], list[bytes]]], order: str = "<", big: bool = False
) -> bytes:
    """The pages as one file, an ordinary TIFF or a BigTIFF."""
    word = "Q" if big else "I"
    size = struct.calcsize("<" + word)
    made = bytearray(b"II" if order == "<" else b"MM")
    made += struct.pack(order + "HHH", 43, 8, 0) if big else struct.pack(order + "H", 42)
    link = len(made)
    made += bytes(size)
    for tags, segments in pages:
        places = []
        for segment in segments:
            made += bytes(len(made) % 2)
            places.append(len(made))
            made += segment
        tiled = 322 in tags
        own = {
            324 if tiled else 273: (word, places),
            325 if tiled else 279: (word, [len(s) for s in segments]),
        }
        fields = []
        for tag, (kind, values) in sorted((own | tags).items()):
            body = struct.pack(f"{order}{len(values)}{kind}", *values)
            if len(body) > size:
                made += bytes(len(made) % 2)
                body, place = struct.pack(order + word, len(made)), body
                made += place
            fields.append(
                struct.pack(f"{order}HH{word}", tag, _TYPES[kind], len(values))
                + body.ljust(size, b"\0")
            )
        made += bytes(len(made) % 2)
        struct.pack_into(order + word, made, link, len(made))
        made += struct.pack(order + ("Q" if big else "H"), len(fields)) + b"".join(fields)
        link = len(made)
        made += bytes(size)
    return bytes(made)


def tiff(samples: np.ndarray, *, order: str = "<", big: bool = False, **options: Any) -> bytes:
    return tiff_file([tiff_page(samples, order=order, **options)], order, big)


# The others


def pnm(kind: int, samples: np.ndarray, maxval: int | None = None, comment: str = "") -> bytes:
    """P1 to P6; bits are given as 1 for black, as the format has them."""
    height, width = samples.shape[:2]
    head = f"P{kind}\n{comment}{width} {height}\n" + ("" if kind in (1, 4) else f"{maxval}\n")
    if kind < 4:
        return (
            head.encode()
            + b"\n".join(b" ".join(b"%d" % v for v in row.ravel()) for row in samples)
            + b"\n"
        )
    if kind == 4:
        return head.encode() + pack_bits(samples, 1)
    return (
        head.encode()
        + samples.astype(">u2" if maxval is not None and maxval > 255 else "u1").tobytes()
    )


def bmp(
    samples: np.ndarray, *, depth: int, palette: np.ndarray | None = None, top_down: bool = False
) -> bytes:
    """An uncompressed BMP of 1, 4 or 8 bits with a palette, or of 24 bits."""
    height, width = samples.shape[:2]
    rows = samples if top_down else samples[::-1]
    packed = (
        rows[..., ::-1].reshape(height, -1).tobytes() if depth == 24 else pack_bits(rows, depth)
    )
    lines = np.frombuffer(packed, np.uint8).reshape(height, -1)
    lines = np.pad(lines, ((0, 0), (0, -lines.shape[1] % 4)))
    table = (
        b""
        if palette is None
        else np.pad(palette[:, ::-1], ((0, 0), (0, 1))).astype("u1").tobytes()
    )
    offset = 54 + len(table)
    head = struct.pack("<2sIHHI", b"BM", offset + lines.size, 0, 0, offset)
    signed = -height if top_down else height
    head += struct.pack(
        "<IiiHHIIiiII", 40, width, signed, 1, depth, 0, lines.size, 2835, 2835, len(table) // 4, 0
    )
    return head + table + lines.tobytes()


def pillow(samples: np.ndarray, kind: str, mode: str | None = None, **options: Any) -> bytes:
    """The file that Pillow writes, for formats whose compression is not worth writing again."""
    made = Image.fromarray(np.ascontiguousarray(samples))
    if mode is not None:
        made = Image.frombytes(mode, made.size, samples.tobytes())
    out = io.BytesIO()
    made.save(out, kind, **options)
    return out.getvalue()


def exif(orientation: int) -> bytes:
    """The smallest EXIF block that says how a picture is to be turned."""
    return b"MM\0*\0\0\0\x08\0\x01" + struct.pack(">HHIHHI", 274, 3, 1, orientation, 0, 0)


def jpeg(samples: np.ndarray, **options: Any) -> bytes:
    return pillow(samples, "JPEG", **({"quality": 100, "subsampling": 0} | options))


def psd(
    samples: np.ndarray,
    *,
    packed: bool = False,
    resources: tuple[tuple[int, bytes], ...] = (),
    depth: int = 8,
    version: int = 1,
    compression: int | None = None,
) -> bytes:
    """A Photoshop file with nothing but its flat picture of three or four channels."""
    height, width, channels = samples.shape
    blocks = b"".join(
        b"8BIM" + struct.pack(">HHI", key, 0, len(data)) + data + bytes(len(data) % 2)
        for key, data in resources
    )
    head = b"8BPS" + struct.pack(">H6xHIIHH", version, channels, height, width, depth, 3)
    head += struct.pack(">II", 0, len(blocks)) + blocks + bytes(4)
    rows = [samples[row, :, k].tobytes() for k in range(channels) for row in range(height)]
    lengths = b""
    if packed:
        rows = [packbits(row) for row in rows]
        lengths = b"".join(struct.pack(">H", len(row)) for row in rows)
    method = int(packed) if compression is None else compression
    return head + struct.pack(">H", method) + lengths + b"".join(rows)


def icc_profile(
    name: str, curve: float, columns: np.ndarray | None = None, *, model: bytes = b"RGB "
) -> bytes:
    """The smallest ICC profile of a gamma curve, and of a matrix for RGB."""

    def text(value: str) -> bytes:
        data = value.encode("ascii") + b"\0"
        return b"desc" + bytes(4) + struct.pack(">I", len(data)) + data + bytes(78)

    trc = b"curv" + bytes(4) + struct.pack(">IH", 1, round(256 * curve)) + bytes(2)
    tags = {b"desc": text(name), b"wtpt": _xyz((0.9642, 1.0, 0.8249)), b"cprt": text("none")}
    if columns is None:
        tags[b"kTRC"] = trc
    else:
        for k, letter in enumerate((b"r", b"g", b"b")):
            tags[letter + b"XYZ"] = _xyz(columns[:, k])
            tags[letter + b"TRC"] = trc
    table = struct.pack(">I", len(tags))
    place = 128 + 4 + 12 * len(tags)
    body = b""
    for key, data in tags.items():
        data += bytes(-len(data) % 4)
        table += key + struct.pack(">II", place + len(body), len(data))
        body += data
    head = bytearray(128)
    struct.pack_into(">I", head, 0, place + len(body))
    head[8:12] = b"\x02\x10\0\0"
    head[12:24] = b"mntr" + model + b"XYZ "
    head[36:40] = b"acsp"
    head[68:80] = _xyz((0.9642, 1.0, 0.8249))[8:]
    return bytes(head) + table + body


def _xyz(values: Any) -> bytes:
    return b"XYZ " + bytes(4) + struct.pack(">3i", *(round(65536 * float(v)) for v in values))


def gif_bitmap(width: int, height: int) -> bytes:
    """A GIF of one colour that declares any size."""
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
