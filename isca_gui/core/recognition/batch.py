"""Many pictures recognised one after another: on all threads, in order, with a few in memory at a time."""

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
from isca_gui.core.recognition.recogniser import FIT_ADVICE, RecognitionError, sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from isca_gui.core.distortion.distortions import Picture
    from isca_gui.core.recognition.recogniser import Recogniser, Recognition

FITS = ("refuse", "resize", "crop")


@dataclass(frozen=True, eq=False)
class FileResult:
    """What came of one picture file: a recognition, or the reason why there is none.

    `picture` is what was recognised, `width` and `height` are those of the file.
    """

    name: str
    picture: Picture | None = None
    recognition: Recognition | None = None
    width: int = 0
    height: int = 0
    error: str | None = None


def pictures_in(name: str) -> list[str]:
    """Give the pictures behind a name: those right inside a folder, sorted; else the name itself."""
    if name.startswith(samples.PREFIX) or not os.path.isdir(name):
        return [name]
    try:
        inside = sorted(each for each in os.listdir(name) if not each.startswith("."))
    except OSError as error:
        raise ImageError(f"Cannot read folder '{name}': {error.strerror or error}.") from error
    paths = [os.path.join(name, each) for each in inside]
    found = [path for path in paths if _ending(path) in PICTURE_SUFFIXES and _may_be_read(path)]
    if not found:
        raise ImageError(f"Folder '{name}' holds no pictures. Choose another, or name the files.")
    return found


def _ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _may_be_read(path: str) -> bool:
    """Take files, and links that lead nowhere: of those it is told when they are read, beside the others."""
    return os.path.isfile(path) or (os.path.islink(path) and not os.path.exists(path))


def fit(picture: Picture, height: int, width: int, how: str = "refuse") -> Picture:
    """Bring a picture to a size: by Lanczos resampling, by cutting out its middle, or not at all."""
    if picture.shape == (height, width):
        return picture
    if how == "resize":
        scaled = Image.fromarray(picture).resize((width, height), Image.Resampling.LANCZOS)
        return np.clip(np.asarray(scaled, np.float32), 0, 1)
    both = sizes(picture, height, width)
    if how != "crop":
        raise RecognitionError(f"{both}. {FIT_ADVICE}")
    if picture.shape[0] < height or picture.shape[1] < width:
        raise RecognitionError(
            f"{both}: it is too small to be cropped. Let it be enlarged (--resize)."
        )
    top, left = (picture.shape[0] - height) // 2, (picture.shape[1] - width) // 2
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
    """Recognise picture files (or sample:NAME); a bad one gives an answer with an error.

    `then` is called with every recognition on the thread that made it, to draw it or write it; an
    `ImageError` of it is the error of that picture.
    """
    grid = recogniser.model.grid
    recogniser.neighbours.prepare()  # once, before the threads start

    def one(name: str) -> FileResult:
        try:
            picture = image.read(samples.resolve(name), value_range=value_range)
            height, width = picture.shape
            fitted = fit(picture, grid.height, grid.width, how)
            answer = FileResult(name, fitted, recogniser.recognise(fitted, rule), width, height)
            if then is not None:
                then(answer)
        except (ImageError, RecognitionError, MemoryError) as error:
            return FileResult(
                name, error=str(error) or "There is not enough memory for this picture."
            )
        return answer

    with Workers(threads) as workers:
        yield from workers.stream(one, names)
