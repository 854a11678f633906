"""Project files: `NAME.iscaproj`, a JSON document, and beside it `NAME.files` with the large files.

The document is replaced last, in one step, and the files it refers to are never changed. If a save
is killed at any moment, it therefore leaves the complete old project or the complete new one. Two
processes must not write the same project at once: the window holds a lock while it is open.
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
    NewerFormat,
    Project,
    Stored,
    StoredReference,
    StoredRun,
    StoredTest,
)
from isca_gui.core.projects.folder import (
    FILES,
    SUFFIX,
    FolderWriter,
    delete_unused,
    is_intact,
)
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

_MOST_BYTES = 64 * 2**20
# Missing files named in one message.
_MOST_LISTED = 10


@dataclass(frozen=True)
class Missing:
    """A file of a project that is missing or has been changed."""

    stored: Stored
    file: str  # its full path
    what: str  # its part in the project, such as "the dataset"
    problem: str


class ProjectError(Exception):
    """A project cannot be read or written; the message says what, which file, and what to do."""

    def __init__(self, message: str, missing: tuple[Missing, ...] = ()) -> None:
        super().__init__(message)
        self.missing = missing


@dataclass(frozen=True, eq=False)
class Contents:
    """The large parts of a project: models and test pictures by the numbers of runs and tests."""

    reference: Picture | None = None
    dataset: Dataset | None = None
    models: Mapping[int, Model] = field(default_factory=dict)
    pictures: Mapping[int, Picture] = field(default_factory=dict)


# --- writing -----------------------------------------------------------------------------------


def save(
    path: str | os.PathLike[str], project: Project, contents: Contents | None = None
) -> Generator[Progress, None, Project]:
    """Write a project and return it as it is now stored.

    Closing the generator leaves the old file as it was. If there was none, a save that fails or is
    closed leaves nothing behind.

    Parameters
    ----------
    path
        The `.iscaproj` file to write.
    project
        The project.
    contents
        The arrays to write. All others must be stored already in `project.folder`, and are copied
        from there if that is another folder ("save as").
    """
    with project_errors(path, "save"):
        target = Path(os.path.realpath(_checked_name(path)))
        if target.suffix != SUFFIX:
            raise Fault(f"its name must end in {SUFFIX}")
        known = {project.dataset}
        # The file that is replaced need not be a project.
        with contextlib.suppress(ProjectError):
            known.add(read(target).dataset)
        writer = FolderWriter(target.with_suffix(FILES), project.folder)
        try:
            stored = yield from _write_files(writer, project, contents or Contents(), known)
            text = document.write(stored, target.parent)
            if len(text.encode()) > _MOST_BYTES:
                raise Fault("it would be too large to be opened again; delete some runs")
            # After this report the save can no longer be stopped.
            yield Progress(1, 1, "saving")
            files.write_text(target, text)
        except BaseException:
            # An existing document may refer to the files that were added.
            if not os.path.lexists(target):
                writer.undo()
            raise
        delete_unused(target, stored)
    return stored


def _write_files(
    writer: FolderWriter, project: Project, contents: Contents, known: set[Stored | None]
) -> Generator[Progress, None, Project]:
    """Write all files of a project into its folder and return the project as it is stored there."""
    reference = project.reference
    dataset = project.dataset
    parts = 2 + len(project.runs) + len(project.tested)
    yield Progress(0, parts, "saving the reference")
    if reference is not None:
        picture = writer.picture(contents.reference, reference.picture, "the reference")
        reference = replace(reference, picture=picture)
    if contents.dataset is not None:
        dataset = yield from writer.dataset(contents.dataset, known)
    elif dataset is not None:
        dataset = writer.take_over(dataset, "the dataset")
    runs: list[StoredRun] = []
    for done, run in enumerate(project.runs, start=2):
        yield Progress(done, parts, f"saving {run.name}")
        model = writer.model(contents.models.get(run.number), run.model, f"the model of {run.name}")
        runs.append(replace(run, model=model))
    tested: list[StoredTest] = []
    for done, test in enumerate(project.tested, start=2 + len(runs)):
        yield Progress(done, parts, f"saving {test.name}")
        stored = None
        if not test.error:
            stored = writer.picture(contents.pictures.get(test.number), test.picture, test.name)
        tested.append(replace(test, picture=stored))
    return replace(
        project,
        reference=reference,
        dataset=dataset,
        runs=tuple(runs),
        tested=tuple(tested),
        schema=document.SCHEMA,
        folder=str(writer.folder),
    )


# --- reading -----------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> Project:
    """Return a project without reading its other files."""
    with project_errors(path, "open"):
        target = Path(os.path.realpath(_checked_name(path)))
        # Reading a pipe could block forever.
        if not stat.S_ISREG(os.stat(target).st_mode):
            raise Fault("it is not a file")
        with open(target, "rb") as stream:
            raw = stream.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            raise Fault("it is too large")
        project = document.read(raw.decode("utf-8"), target.parent)
        # The document and its folder may have been renamed together.
        renamed = target.with_suffix(FILES)
        if not os.path.isdir(project.folder) and renamed.is_dir():
            return replace(project, folder=str(renamed))
        return project


def load(
    source: str | os.PathLike[str] | Project,
) -> Generator[Progress, None, tuple[Project, Contents]]:
    """Return a project with all its files; `source` is its path, or a project from `read`.

    If files are missing or have been changed, the error lists them in `missing`.
    """
    project = source if isinstance(source, Project) else read(source)
    lost = yield from missing(project)
    if lost:
        lines = [f"- {each.what}: '{each.file}' {each.problem}" for each in lost[:_MOST_LISTED]]
        if len(lost) > _MOST_LISTED:
            lines.append(f"- and {len(lost) - _MOST_LISTED} more")
        listed = "\n".join(lines)
        raise ProjectError(
            f"Files of the project are missing:\n{listed}\nChoose the folder they are in now.", lost
        )
    with project_errors(_document_path(source), "open"):
        return project, (yield from _contents(project))


def _contents(project: Project) -> Generator[Progress, None, Contents]:
    """Read all files of a project."""
    folder = Path(project.folder)
    reference = None
    dataset = None
    models = {}
    pictures = {}
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
    """Return the files of a project that are missing, or whose SHA-256 differs."""
    project = source if isinstance(source, Project) else read(source)
    stored = document.stored_files(project)
    lost = []
    with project_errors(_document_path(source), "open"):
        for index, each in enumerate(stored):
            what = _description(project, each)
            yield Progress(index, len(stored), f"checking {what}")
            place = Path(project.folder, each.file)
            if not place.exists():
                lost.append(Missing(each, str(place), what, "is missing"))
            elif not is_intact(place, each):
                lost.append(Missing(each, str(place), what, "has been changed"))
    return tuple(lost)


def relocate(project: Project, folder: str | os.PathLike[str]) -> Project:
    """Return the project with its files in another folder: that folder itself, or one inside it."""
    stored = document.stored_files(project)
    given = Path(os.path.abspath(folder))
    places = [given, given / Path(project.folder).name, *sorted(given.glob(f"*{FILES}"))]
    with project_errors(_document_path(project), "open"):
        # The folder that has most of the files is taken.
        best = max(places, key=lambda place: sum((place / each.file).exists() for each in stored))
    return replace(project, folder=str(best))


def without(project: Project, lost: Iterable[Missing]) -> Project:
    """Return the project without the parts whose files are missing."""
    gone = {each.stored for each in lost}
    reference = project.reference
    if reference is not None and reference.picture in gone:
        reference = None
    return replace(
        project,
        reference=reference,
        dataset=None if project.dataset in gone else project.dataset,
        runs=tuple(run for run in project.runs if run.model not in gone),
        tested=tuple(test for test in project.tested if test.picture not in gone),
    )


def _description(project: Project, stored: Stored) -> str:
    """Return the part that a file has in a project, in words."""
    if stored == project.dataset:
        return "the dataset"
    named = [f"the model of {run.name}" for run in project.runs if run.model == stored]
    named += [f"the test picture {test.name}" for test in project.tested if test.picture == stored]
    return named[0] if named else "the reference"


def _document_path(source: str | os.PathLike[str] | Project) -> str | os.PathLike[str]:
    """Return the path of a project's document, which is beside its folder."""
    return Path(source.folder).with_suffix(SUFFIX) if isinstance(source, Project) else source


def _checked_name(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path)
    if not name or "\0" in name:
        raise Fault("its name is not valid")
    return name


@contextlib.contextmanager
def project_errors(path: str | os.PathLike[str], verb: str) -> Iterator[None]:
    """Turn every error inside into a `ProjectError` that names the file and says what to do.

    `verb` is "save" or "open".
    """
    advice = "Choose another place." if verb == "save" else "Use another copy of it."
    name = os.fspath(path)
    try:
        yield
    except NewerFormat as error:
        raise ProjectError(
            f"'{name}' was written by a newer version of ISCA Studio (format {error}; this version "
            f"reads formats up to {document.SCHEMA}). Update the program to open it."
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
        # Only the messages of our own errors are meant for the user.
        reason = error if isinstance(error, Fault | SettingsError) else "its contents are not valid"
        raise ProjectError(f"Cannot {verb} project '{name}': {reason}. {advice}") from error
