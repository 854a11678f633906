"""How long `isca compare` takes, beside a bare import of its libraries and beside SSIM alone."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from isca_gui.bench.figure import Figure, seconds
from isca_gui.bench.memory import largest_resident
from isca_gui.core.pictures import image, samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isca_gui.bench.damage import Picture

# The best of several times counts, because other programs can only make it longer.
_TIMES = 3
_COPIES = 20
_LARGE = (3000, 4000)
_QUALITY = 60
_BARE = "import numpy, scipy.fft, scipy.ndimage, scipy.optimize, PIL.Image, threadpoolctl"


def measure(threads: int | None) -> Iterator[Figure]:
    """Time the command on pictures of 512×512 pixels and of 12 megapixels."""
    sample = np.rint(255 * image.read_colour(samples.resolve("sample:astronaut")))
    reference = sample.astype(np.uint8)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from _one_pair(folder, reference, threads)
        yield _many_copies(folder, reference, threads)
        yield from _large_pair(folder, reference)
    yield from _beside_ssim(reference)


def _one_pair(folder: Path, reference: Picture, threads: int | None) -> Iterator[Figure]:
    first = _write(folder / "reference.png", reference)
    copy = _write(folder / "copy.jpg", reference)
    bare = min(seconds(partial(_run, ["-c", _BARE])) for _ in range(_TIMES))
    pair = min(seconds(partial(_compare, [first, copy], threads)) for _ in range(_TIMES))
    yield Figure("compare: bare import of the same libraries", bare, "s")
    yield Figure("compare: a 512×512 pair, from the prompt to the answer", pair, "s", most=2.5)
    yield Figure("compare: a 512×512 pair / bare import", pair / bare, "×")


def _many_copies(folder: Path, reference: Picture, threads: int | None) -> Figure:
    first = _write(folder / "reference.png", reference)
    from isca_gui.bench import damage

    kinds = damage.group(damage.KNOWN)
    copies = []
    for index in range(_COPIES):
        kind = kinds[index % len(kinds)]
        picture, _ = kind.apply(reference, np.random.default_rng(index))
        copies.append(_write(folder / f"{index}.png", picture))
    took = seconds(partial(_compare, [first, *copies], threads))
    return Figure(f"compare: {_COPIES} copies of a 512×512 picture", took, "s", most=8)


def _large_pair(folder: Path, reference: Picture) -> Iterator[Figure]:
    """Compare in a process of its own, which knows its largest resident size."""
    height, width = _LARGE
    repeats = (height // reference.shape[0] + 1, width // reference.shape[1] + 1, 1)
    large = np.tile(reference, repeats)[:height, :width]
    first = _write(folder / "large.png", large)
    copy = _write(folder / "large.jpg", large)
    command = ["-m", "isca_gui.bench.comparison", json.dumps([str(first), str(copy)])]
    printed = []
    took = seconds(lambda: printed.append(_run(command)))
    yield Figure("compare: a 12-megapixel pair", took, "s", most=20)
    yield Figure("compare: memory of a 12-megapixel pair", float(printed[0]), "MB", most=1500)


def _beside_ssim(reference: Picture) -> Iterator[Figure]:
    """Time the comparison alone and scikit-image's SSIM of the same pair, in this process."""
    from skimage.metrics import structural_similarity

    from isca_gui.bench import damage
    from isca_gui.core.comparison.compare import compare

    copy = damage.coded(reference, "JPEG", quality=_QUALITY)
    pair = (reference / np.float32(255), copy / np.float32(255))
    # The first call reads the classifier.
    compare(*pair)
    ours = min(seconds(partial(compare, *pair)) for _ in range(_TIMES))
    ssim = partial(structural_similarity, *pair, data_range=1.0, channel_axis=2)
    theirs = min(seconds(ssim) for _ in range(_TIMES))
    yield Figure("compare: a 512×512 pair, without start and files", ours, "s")
    yield Figure("compare: scikit-image's SSIM of the same pair", theirs, "s")
    yield Figure("compare: a 512×512 pair / scikit-image's SSIM", ours / theirs, "×")


def _write(path: Path, picture: Picture) -> Path:
    Image.fromarray(picture).save(path, quality=_QUALITY)
    return path


def _compare(paths: Sequence[Path], threads: int | None) -> str:
    words = [] if threads is None else ["--threads", str(threads)]
    return _run(["-m", "isca_gui.cli", "compare", *words, *map(str, paths)])


def _run(words: Sequence[str]) -> str:
    """Run this Python with some words and return what it printed."""
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    return done.stdout


def peak(reference: str, copy: str) -> float:
    """Compare two files and return this process's largest resident size in MB."""
    from isca_gui.core.comparison.batch import compare_files

    for result in compare_files(reference, [copy]):
        if result.error is not None:
            raise RuntimeError(result.error)
    return largest_resident()


if __name__ == "__main__":
    sys.stdout.write(f"{peak(*json.loads(sys.argv[1]))}\n")
