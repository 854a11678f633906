"""Project files: `NAME.iscaproj`, a JSON document, and beside it `NAME.files` with all that is large.

The document is replaced last, in one step, and what it refers to is never changed: killed at any moment, a
save leaves the old project or the new one, whole. Two writers of one project at a time are not provided for;
whoever opens a project for writing holds a lock.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from isca_gui.core.distortion import dataset_folder
from isca_gui.core.distortion.dataset import DatasetError
from isca_gui.core.model import model_file
from isca_gui.core.model.model_file import ModelFileError
from isca_gui.core.pictures import image
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.progress import Progress
from isca_gui.core.projects import document
from isca_gui.core.projects.document import (
    Newer,
    Project,
    Stored,
    StoredReference,
    StoredRun,
    StoredTest,
)
from isca_gui.core.projects.folder import FILES, SUFFIX, Shelf, clean, is_whole
from isca_gui.core.settings import SettingsError
from isca_gui.core.storage import files
from isca_gui.core.storage.json_types import Fault

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.distortion.distortions import Picture
    from isca_gui.core.model.model import Model

__all__ = [
    "FILES",
    "SUFFIX",
    "Contents",
    "Missing",
    "Project",
    "ProjectError",
    "Stored",
    "StoredReference",
    "StoredRun",
    "StoredTest",
    "load",
    "missing",
    "read",
    "relocate",
    "save",
    "without",
]

_LARGEST = 64 * 2**20
_MOST_LISTED = 10


@dataclass(frozen=True)
class Missing:
    """A file that a project refers to and that is not there, or is another one."""

    stored: Stored
    file: str  # where it should be
    what: str
    problem: str


class ProjectError(Exception):
    """A project cannot be read or written; the message says what, which file, and what to do."""

    def __init__(self, message: str, lost: tuple[Missing, ...] = ()) -> None:
        super().__init__(message)
        self.missing = lost  # files, if that is why


@dataclass(frozen=True, eq=False)
class Contents:
    """The large parts of a project: models by the number of their run, pictures by that of the test."""

    reference: Picture | None = None
    dataset: Dataset | None = None
    models: Mapping[int, Model] = field(default_factory=dict)
    pictures: Mapping[int, Picture] = field(default_factory=dict)


# --- writing ------------------------------------------------------------------------------------------------


def save(
    path: str | os.PathLike[str], project: Project, contents: Contents | None = None
) -> Generator[Progress, None, Project]:
    """Write a project, and give it as it is now stored. Closing the generator leaves the old file as it was.

    Where there was none, a save that fails or is closed leaves nothing behind.
    What `contents` holds is written; what it does not hold must be stored already, in `project.folder`, and
    is copied from there if that is another folder (save as).
    """
    with one_error(path, "save"):
        target = Path(os.path.realpath(_named(path)))
        if target.suffix != SUFFIX:
            raise Fault(f"its name does not end in {SUFFIX}")
        known = {project.dataset}
        with contextlib.suppress(ProjectError):  # the file that is replaced may be anything
            known.add(read(target).dataset)
        shelf = Shelf(target.with_suffix(FILES), project.folder)
        try:
            stored = yield from _fill(shelf, project, contents or Contents(), known)
            text = document.write(stored, target.parent)
            if len(text.encode()) > _LARGEST:
                raise Fault(
                    "it would be too large to be opened again; delete runs that are not needed"
                )
            yield Progress(1, 1, "saving")  # the last place to stop
            files.write_text(target, text)
        except BaseException:
            if not os.path.lexists(target):  # else the document may refer to what was put there
                shelf.take_back()
            raise
        clean(target, stored)
    return stored


def _fill(
    shelf: Shelf, project: Project, contents: Contents, known: set[Stored | None]
) -> Generator[Progress, None, Project]:
    """Put all files of a project into its folder."""
    reference, dataset, parts = (
        project.reference,
        project.dataset,
        2 + len(project.runs) + len(project.tested),
    )
    yield Progress(0, parts, "saving the reference")
    if reference is not None:
        picture = shelf.picture(contents.reference, reference.picture, "the reference")
        reference = replace(reference, picture=picture)
    if contents.dataset is not None:
        dataset = yield from shelf.dataset(contents.dataset, known)
    elif dataset is not None:
        dataset = shelf.carried(dataset, "the dataset")
    runs: list[StoredRun] = []
    for done, run in enumerate(project.runs, start=2):
        yield Progress(done, parts, f"saving {run.name}")
        model = shelf.model(contents.models.get(run.number), run.model, f"the model of {run.name}")
        runs.append(replace(run, model=model))
    tested: list[StoredTest] = []
    for done, test in enumerate(project.tested, start=2 + len(runs)):
        yield Progress(done, parts, f"saving {test.name}")
        kept = None
        if not test.error:
            kept = shelf.picture(contents.pictures.get(test.number), test.picture, test.name)
        tested.append(replace(test, picture=kept))
    return replace(
        project,
        reference=reference,
        dataset=dataset,
        runs=tuple(runs),
        tested=tuple(tested),
        schema=document.SCHEMA,
        folder=str(shelf.folder),
    )


# --- reading ------------------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> Project:
    """Read the document of a project; its other files are not looked at."""
    with one_error(path, "open"):
        target = Path(os.path.realpath(_named(path)))
        if not stat.S_ISREG(os.stat(target).st_mode):  # a pipe would keep us waiting for ever
            raise Fault("it is not a file")
        with open(target, "rb") as stream:
            raw = stream.read(_LARGEST + 1)
        if len(raw) > _LARGEST:
            raise Fault("it is too large")
        project = document.read(raw.decode("utf-8"), target.parent)
        own = target.with_suffix(FILES)  # document and folder may have been renamed together
        moved = not os.path.isdir(project.folder) and own.is_dir()
        return replace(project, folder=str(own)) if moved else project


def load(
    source: str | os.PathLike[str] | Project,
) -> Generator[Progress, None, tuple[Project, Contents]]:
    """Read a project with all its files; `source` is its file, or what `read` or `relocate` gave.

    If files are missing or altered, the error lists them in `missing`.
    """
    project = source if isinstance(source, Project) else read(source)
    lost = yield from missing(project)
    if lost:
        listed = "\n".join(
            f"- {each.what}: '{each.file}' {each.problem}" for each in lost[:_MOST_LISTED]
        )
        more = f"\n- and {len(lost) - _MOST_LISTED} more" if len(lost) > _MOST_LISTED else ""
        raise ProjectError(
            f"Files of the project are missing:\n{listed}{more}\nSay in which folder they are now.",
            lost,
        )
    with one_error(_document(source), "open"):
        return project, (yield from _contents(project))


def _contents(project: Project) -> Generator[Progress, None, Contents]:
    folder = Path(project.folder)
    reference, dataset, models, pictures = None, None, {}, {}
    parts = 2 + len(project.runs) + len(project.tested)
    if project.reference is not None and project.reference.picture is not None:
        yield Progress(0, parts, "reading the reference")
        reference = image.read(folder / project.reference.picture.file, min_side=1)
    if project.dataset is not None:
        dataset = yield from dataset_folder.load(folder / project.dataset.file)
    for index, run in enumerate(project.runs, start=2):
        if run.model is not None:
            yield Progress(index, parts, f"reading {run.name}")
            models[run.number] = model_file.load_model(folder / run.model.file)
    for index, test in enumerate(project.tested, start=2 + len(project.runs)):
        if test.picture is not None:
            yield Progress(index, parts, f"reading {test.name}")
            pictures[test.number] = image.read(folder / test.picture.file, min_side=1)
    yield Progress(parts, parts, "reading")
    return Contents(reference, dataset, models, pictures)


def missing(
    source: str | os.PathLike[str] | Project,
) -> Generator[Progress, None, tuple[Missing, ...]]:
    """List the files of a project that are not there, or whose SHA-256 differs."""
    project = source if isinstance(source, Project) else read(source)
    stored, lost = document.stored_files(project), []
    with one_error(_document(source), "open"):
        for index, each in enumerate(stored):
            what = _what(project, each)
            yield Progress(index, len(stored), f"checking {what}")
            place = Path(project.folder, each.file)
            if not place.exists():
                lost.append(Missing(each, str(place), what, "is not there"))
            elif not is_whole(place, each):
                lost.append(Missing(each, str(place), what, "was altered"))
    return tuple(lost)


def relocate(project: Project, folder: str | os.PathLike[str]) -> Project:
    """Look for a project's files in another folder: the one that holds them, or one above it."""
    stored, given = document.stored_files(project), Path(os.path.abspath(folder))
    places = [given, given / Path(project.folder).name, *sorted(given.glob(f"*{FILES}"))]
    with one_error(_document(project), "open"):
        best = max(places, key=lambda place: sum((place / each.file).exists() for each in stored))
    return replace(project, folder=str(best))


def without(project: Project, lost: Iterable[Missing]) -> Project:
    """Give up what is missing, to open the rest."""
    gone = {each.stored for each in lost}

    def there(stored: Stored | None) -> bool:
        return stored not in gone

    reference = project.reference
    return replace(
        project,
        reference=reference if reference is not None and there(reference.picture) else None,
        dataset=project.dataset if there(project.dataset) else None,
        runs=tuple(run for run in project.runs if there(run.model)),
        tested=tuple(test for test in project.tested if there(test.picture)),
    )


def _what(project: Project, stored: Stored) -> str:
    """Say what a file is, for a person."""
    if stored == project.dataset:
        return "the dataset"
    named = [f"the model of {run.name}" for run in project.runs if run.model == stored]
    named += [f"the test picture {test.name}" for test in project.tested if test.picture == stored]
    return named[0] if named else "the reference"


def _document(source: str | os.PathLike[str] | Project) -> str | os.PathLike[str]:
    """Name the document of a project; where only its contents are given, it is beside its files."""
    return Path(source.folder).with_suffix(SUFFIX) if isinstance(source, Project) else source


def _named(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path)
    if not name or "\0" in name:
        raise Fault("its name cannot be")
    return name


@contextlib.contextmanager
def one_error(path: str | os.PathLike[str], verb: str) -> Iterator[None]:
    """Turn every failure inside into one `ProjectError` that names the file and says what to do."""
    advice = "Choose another place." if verb == "save" else "Take another copy of it."
    name = os.fspath(path)
    try:
        yield
    except Newer as error:
        raise ProjectError(
            f"'{name}' was written by a newer ISCA Studio (format {error}; this one knows up to "
            f"{document.SCHEMA}). Update the program to open it."
        ) from error
    except OSError as error:
        raise ProjectError(
            f"Cannot {verb} project '{name}': {error.strerror or error}. {advice}"
        ) from error
    except (ModelFileError, DatasetError, ImageError) as error:
        raise ProjectError(f"Cannot {verb} project '{name}': {error}") from error
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        why = error if isinstance(error, Fault | SettingsError) else "its contents make no sense"
        raise ProjectError(f"Cannot {verb} project '{name}': {why}. {advice}") from error
