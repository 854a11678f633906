"""Recognise many picture files on all threads, in order, with a few in memory at a time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from isca_gui.core.distortion.dataset_folder import PICTURE_SUFFIXES
from isca_gui.core.parallel import Workers
from isca_gui.core.pictures import image, samples
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.recognition.recogniser import FIT_ADVICE, RecognitionError, size_mismatch
from isca_gui.core.storage import memory

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from isca_gui.core.distortion.distortions import Picture
    from isca_gui.core.recognition.recogniser import Recogniser, Recognition

FITS = ("refuse", "resize", "crop")


@dataclass(frozen=True, eq=False)
class FileResult:
    """The result for one picture file: a recognition, or the reason why there is none.

    `picture` is what was recognised, `width` and `height` are those of the file.
    """

    name: str
    picture: Picture | None = None
    recognition: Recognition | None = None
    width: int = 0
    height: int = 0
    error: str | None = None


def pictures_in(name: str) -> list[str]:
    """Return the pictures that a name stands for: those in a folder, sorted, or the name itself."""
    if name.startswith(samples.PREFIX) or not os.path.isdir(name):
        return [name]
    try:
        inside = sorted(each for each in os.listdir(name) if not each.startswith("."))
    except OSError as error:
        raise ImageError(f"Cannot read folder '{name}': {error.strerror or error}.") from error
    paths = [os.path.join(name, each) for each in inside]
    found = [path for path in paths if _ending(path) in PICTURE_SUFFIXES and _may_be_read(path)]
    if not found:
        raise ImageError(
            f"Folder '{name}' holds no pictures. Choose another folder or name the files."
        )
    return found


def _ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _may_be_read(path: str) -> bool:
    """Whether a path is a file, or a broken link: reading that gives an error beside the others."""
    return os.path.isfile(path) or (os.path.islink(path) and not os.path.exists(path))


def fit(picture: Picture, height: int, width: int, how: str = "refuse") -> Picture:
    """Return a picture brought to a size: resized (Lanczos), cropped to its middle, or refused."""
    if picture.shape == (height, width):
        return picture
    if how == "resize":
        scaled = Image.fromarray(picture).resize((width, height), Image.Resampling.LANCZOS)
        return np.clip(np.asarray(scaled, np.float32), 0, 1)
    both = size_mismatch(picture, height, width)
    if how != "crop":
        raise RecognitionError(f"{both}. {FIT_ADVICE}")
    if picture.shape[0] < height or picture.shape[1] < width:
        raise RecognitionError(f"{both}: it is too small to be cropped. Enlarge it with --resize.")
    top = (picture.shape[0] - height) // 2
    left = (picture.shape[1] - width) // 2
    return np.ascontiguousarray(picture[top : top + height, left : left + width])


def recognise_files(
    recogniser: Recogniser,
    names: Iterable[str],
    rule: str = "evidence",
    *,
    how: str = "refuse",
    value_range: tuple[float, float] | None = None,
    then: Callable[[FileResult], object] | None = None,
    threads: int | None = None,
) -> Generator[FileResult, None, None]:
    """Recognise picture files (or sample:NAME); a bad one yields a result with an error.

    Parameters
    ----------
    recogniser
        What recognises them.
    names
        Files, or names of samples.
    rule
        One of `RULES`, by which the verdict is found.
    how
        One of `FITS`: what is done with a picture of another size.
    value_range
        The sample values that stand for black and white.
    then
        Called with every result on the thread that made it, to draw or write it; an `ImageError`
        that it raises becomes the error of that picture.
    threads
        How many threads to use; None takes one per core.
    """
    grid = recogniser.model.grid
    recogniser.neighbours.prepare()

    def one(name: str) -> FileResult:
        try:
            picture = image.read(samples.resolve(name), value_range=value_range)
            height, width = picture.shape
            fitted = fit(picture, grid.height, grid.width, how)
            found = FileResult(name, fitted, recogniser.recognise(fitted, rule), width, height)
            if then is not None:
                then(found)
        except (ImageError, RecognitionError) as error:
            return FileResult(name, error=str(error))
        except MemoryError as error:
            return FileResult(name, error=memory.explanation(error))
        return found

    with Workers(threads) as workers:
        yield from workers.stream(one, names)
