"""Other encoders of known codecs, and codecs that are no kind of their own."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image
from scipy import linalg, spatial

from isca_gui.bench.pixels import cut_to, log_uniform, quantised, to_bytes, whole_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Picture = NDArray[np.uint8]
    Floats = NDArray[Any]
    Damaged = tuple[Picture, dict[str, float]]

# Luma, and the differences of blue and red to it.
_OPPONENTS = np.array([[0.299, 0.587, 0.114], [-0.169, -0.331, 0.5], [0.5, -0.419, -0.081]])


def _through_video(
    picture: Picture, encoder: str, decoder: str, options: dict[str, str]
) -> Picture:
    """Encode a picture as the only frame of a video with PyAV, and return what is decoded."""
    import av

    planes = _planes(picture)
    height = planes.shape[0] * 2 // 3
    context = av.CodecContext.create(encoder, "w")
    context.width = planes.shape[1]
    context.height = height
    context.pix_fmt = "yuvj420p" if encoder == "mjpeg" else "yuv420p"
    context.time_base = Fraction(1, 25)
    context.options = options
    context.thread_count = 1
    frame = av.VideoFrame.from_ndarray(planes, format=context.pix_fmt)
    frame.pts = 0
    packets = context.encode(frame) + context.encode(None)
    reader = av.CodecContext.create(decoder, "r")
    reader.thread_count = 1
    if context.extradata:
        reader.extradata = context.extradata
    frames = [frame for packet in packets for frame in reader.decode(packet)]
    frames += reader.decode(None)
    return _from_planes(frames[0].to_ndarray(format=context.pix_fmt), picture)


def _planes(picture: Picture) -> Picture:
    """Return luma, and chroma of half the size, as video has them: shape (1.5 height, width)."""
    even = np.pad(
        np.atleast_3d(picture),
        [(0, -picture.shape[0] % 16), (0, -picture.shape[1] % 16), (0, 0)],
        mode="edge",
    )
    if even.shape[2] == 1:
        even = even.repeat(3, axis=2)
    luma_plane, blue, red = Image.fromarray(even).convert("YCbCr").split()
    halves = [np.asarray(each.reduce(2)).reshape(-1, even.shape[1]) for each in (blue, red)]
    return np.concatenate([np.asarray(luma_plane), *halves])


def _from_planes(planes: Picture, picture: Picture) -> Picture:
    height = planes.shape[0] * 2 // 3
    width = planes.shape[1]
    bands = [Image.fromarray(planes[:height])]
    for plane in np.split(planes[height:], 2):
        half = Image.fromarray(np.ascontiguousarray(plane.reshape(height // 2, width // 2)))
        bands.append(half.resize((width, height), Image.Resampling.BILINEAR))
    if picture.ndim == 2:
        whole = np.asarray(bands[0])
    else:
        whole = np.asarray(Image.merge("YCbCr", bands).convert("RGB"))
    return np.ascontiguousarray(whole[: picture.shape[0], : picture.shape[1]])


def ffmpeg_jpeg(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as JPEG by FFmpeg's own encoder, whose tables are those of MPEG."""
    scale = str(int(random.integers(2, 32)))
    options = {"qmin": scale, "qmax": scale, "flags": "+qscale", "global_quality": f"{scale}*118"}
    return _through_video(picture, "mjpeg", "mjpeg", options), {}


def svt_av1(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as AV1, as in AVIF, by SVT-AV1."""
    # SVT-AV1 prints what it does otherwise.
    os.environ.setdefault("SVT_LOG", "1")
    options = {
        "preset": str(random.choice([6, 8, 10])),
        "crf": str(random.integers(12, 62)),
        "svtav1-params": "lp=1",
    }
    copy = _through_video(picture, "libsvtav1", "libdav1d", options)
    if hasattr(os, "sched_setscheduler"):
        # For the superuser it makes the calling thread a real-time one, which starves all others.
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return copy, {}


def vp8(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as VP8, as in WebP, by libvpx."""
    level = str(random.integers(6, 62))
    options = {"qmin": level, "qmax": level, "crf": level, "b": "50M", "deadline": "good"}
    return _through_video(picture, "libvpx", "vp8", options), {}


def x265(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as HEVC, as in HEIC, by x265 with other settings."""
    options = {
        "preset": str(random.choice(["ultrafast", "veryfast", "medium"])),
        "x265-params": (
            f"qp={random.integers(14, 47)}:keyint=1:pools=none:frame-threads=1:log-level=none"
        ),
    }
    return _through_video(picture, "libx265", "hevc", options), {}


def h264(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as one frame of H.264, by x264."""
    options = {
        "preset": str(random.choice(["ultrafast", "veryfast", "medium"])),
        "qp": str(random.integers(14, 46)),
    }
    return _through_video(picture, "libx264", "h264", options), {}


def vp9(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save as one frame of VP9, by libvpx."""
    level = str(random.integers(8, 62))
    options = {"crf": level, "b": "0", "deadline": "good", "cpu-used": "4"}
    return _through_video(picture, "libvpx-vp9", "vp9", options), {}


def sperr(picture: Picture, random: np.random.Generator) -> Damaged:
    """Save by SPERR, a wavelet codec for numbers, with imagecodecs."""
    import imagecodecs

    level = random.uniform(26, 46)
    channels = np.moveaxis(np.atleast_3d(picture), 2, 0).astype(np.float32)
    copies = []
    for channel in channels:
        saved = imagecodecs.sperr_encode(np.ascontiguousarray(channel), level=level, mode="psnr")
        copies.append(imagecodecs.sperr_decode(saved))
    return to_bytes(np.stack(copies, axis=2).reshape(picture.shape)), {}


def lapped_codec(picture: Picture, random: np.random.Generator) -> Damaged:
    """Quantise a cosine transform whose blocks overlap, in luma and chroma."""
    side = int(random.choice([4, 8]))
    values = _to_opponents(whole_blocks(picture, 2 * side))
    step = log_uniform(random, 6, 90)
    rows = _lapped_basis(side, values.shape[0])
    columns = _lapped_basis(side, values.shape[1])
    copies = []
    for index in range(values.shape[2]):
        coefficients = rows @ values[..., index] @ columns.T
        kept = quantised(coefficients, step * (2.0 if index else 1.0))
        copies.append(rows.T @ kept @ columns)
    return cut_to(_from_opponents(np.stack(copies, axis=2)), picture), {}


def _lapped_basis(side: int, size: int) -> Floats:
    """Return the matrix of a modulated lapped transform of a whole row, orthonormal."""
    time = np.arange(2 * side)
    window = np.sin(np.pi * (time + 0.5) / (2 * side))
    frequency = np.arange(side)[:, None]
    waves = np.cos(np.pi / side * (time + 0.5 + side / 2) * (frequency + 0.5))
    block = np.sqrt(2 / side) * window * waves
    basis = np.zeros((size, size))
    for index in range(size // side):
        places = (index * side + time) % size
        basis[index * side : (index + 1) * side, places] += block
    return basis


def hadamard_codec(picture: Picture, random: np.random.Generator) -> Damaged:
    """Quantise the Hadamard transform of blocks, in some cases smoothed at their edges."""
    side = int(random.choice([4, 8, 16]))
    values = _to_opponents(whole_blocks(picture, side))
    height, width, channels = values.shape
    matrix = linalg.hadamard(side) / np.sqrt(side)
    step = log_uniform(random, 6, 110)
    blocks = values.reshape(height // side, side, width // side, side, channels)
    # The matrix is its own inverse, so that the same product leads there and back.
    coefficients = _both_ways(blocks, matrix)
    copy = _both_ways(quantised(coefficients, step), matrix).reshape(values.shape)
    if random.random() < 0.5:
        copy = _deblocked(copy, side, step)
    return cut_to(_from_opponents(copy), picture), {}


def _both_ways(blocks: Floats, matrix: Floats) -> Floats:
    """Multiply rows and columns of blocks, shape (row, y, column, x, channel), by a matrix."""
    down = np.einsum("ij,ajbkc->aibkc", matrix, blocks, optimize=True)
    across: Floats = np.einsum("lk,aibkc->aiblc", matrix, down, optimize=True)
    return across


def _deblocked(values: Floats, side: int, strength: float) -> Floats:
    """Smooth small steps across the edges of blocks."""
    for axis in (0, 1):
        values = np.moveaxis(values, axis, 0)
        edges = np.arange(side, values.shape[0], side)
        step = np.clip(values[edges] - values[edges - 1], -strength, strength) / 4
        values[edges] -= step
        values[edges - 1] += step
        values = np.moveaxis(values, 0, axis)
    return values


def vector_codec(picture: Picture, random: np.random.Generator) -> Damaged:
    """Replace each block of 4×4 pixels by the nearest of some that the picture itself has."""
    values = _to_opponents(whole_blocks(picture, 4))
    height, width, channels = values.shape
    blocks = values.reshape(height // 4, 4, width // 4, 4, channels).swapaxes(1, 2)
    rows = blocks.reshape(-1, 16 * channels)
    count = min(int(log_uniform(random, 64, 1024)), len(rows))
    book = rows[random.choice(len(rows), count, replace=False)]
    mean = rows[:, :16].mean(1, keepdims=True)
    shape = rows.copy()
    shape[:, :16] -= mean
    book = book.copy()
    book[:, :16] -= book[:, :16].mean(1, keepdims=True)
    chosen = book[spatial.KDTree(book).query(shape)[1]]
    chosen[:, :16] += np.rint(mean / 4) * 4
    copy = chosen.reshape(height // 4, width // 4, 4, 4, channels).swapaxes(1, 2)
    return cut_to(_from_opponents(copy.reshape(values.shape)), picture), {}


def _to_opponents(values: Floats) -> Floats:
    """Return luma and two differences of colour; a grey picture stays as it is."""
    if values.shape[2] == 1:
        return values
    opponents: Floats = values @ _OPPONENTS.T
    return opponents


def _from_opponents(values: Floats) -> Floats:
    if values.shape[2] == 1:
        return values
    colours: Floats = values @ np.linalg.inv(_OPPONENTS).T
    return colours
