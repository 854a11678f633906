"""From what a session holds to a project's files and back; all that is slow is a generator."""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from isca_gui.core.distortion.distortions import parts_of
from isca_gui.jobs.recognition_queue import run_left_out_of
from isca_gui.session.records import (
    Reference,
    RejectedPicture,
    Run,
    SessionState,
    TestedPicture,
    Truth,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from isca_gui.core.progress import Progress
    from isca_gui.core.projects.project import Contents, Missing, Project, Stored, StoredTest

# The truth of a mystery picture begins with this in a project file.
_HIDDEN = "hidden:"


@dataclass(frozen=True, eq=False)
class WrittenFiles:
    """Which objects a project's folder holds already: their files are not written again."""

    project: Project
    objects: Mapping[Stored, ref[Any]] = field(default_factory=dict)

    def holds(self, stored: Stored | None, thing: object) -> bool:
        """Whether `stored` is the file of a thing."""
        known = self.objects.get(stored) if stored is not None else None
        return known is not None and known() is thing


@dataclass(frozen=True, eq=False)
class IncompleteProject:
    """A project that cannot be opened as it is: some of its files are missing."""

    project: Project
    missing: tuple[Missing, ...]

    def relocated_to(self, folder: str) -> Project:
        """Return the project with its files in another folder."""
        from isca_gui.core.projects.project import relocate

        return relocate(self.project, folder)

    def without_missing(self) -> Project:
        """Return the project without what is missing."""
        from isca_gui.core.projects.project import without

        return without(self.project, self.missing)


# --- saving ---------------------------------------------------------------------------------------


def save(
    path: str,
    work: SessionState,
    view: Mapping[str, Any],
    layout: str,
    before: WrittenFiles | None = None,
    *,
    check_files: bool = True,
) -> Generator[Progress, None, WrittenFiles]:
    """Write a project.

    Parameters
    ----------
    path
        The project's file; its other files are written to a folder beside it.
    work
        All that the session holds.
    view, layout
        What the project keeps of the window.
    before
        What was written or read last: files of the same objects are left alone.
    check_files
        Whether those files are read to see that they are still whole.
    """
    from isca_gui.core.projects import project as projects
    from isca_gui.core.projects.folder import is_intact

    old = before or WrittenFiles(projects.Project())
    plan = _plan(work, view, layout, old)
    if check_files:
        whole = {
            stored: thing
            for stored, thing in old.objects.items()
            if is_intact(Path(old.project.folder, stored.file), stored)
        }
        old = WrittenFiles(old.project, whole)
    elif before is not None and not Path(before.project.folder).is_dir():
        old = WrittenFiles(old.project)
    saved = yield from projects.save(path, plan, _unwritten(work, plan, old))
    return WrittenFiles(saved, _objects(work, saved))


def save_packed(
    path: str,
    work: SessionState,
    view: Mapping[str, Any],
    layout: str,
    before: WrittenFiles | None = None,
) -> Generator[Progress, None, None]:
    """Write a project into one file; all is laid out beside it first, where there must be room."""
    from isca_gui.core.projects import packing, project
    from isca_gui.core.storage import files

    with project.project_errors(path, "save"), files.folder_beside(path) as folder:
        document = folder / f"project{project.SUFFIX}"
        try:
            yield from save(str(document), work, view, layout, before)
            yield from packing.pack(document, path)
        except project.ProjectError as error:
            raise project.ProjectError(_about_packed(error, document, path)) from error


def _about_packed(error: Exception, document: Path, path: str) -> str:
    """Return an error's text about the packed file, without names that nobody has chosen."""
    return str(error).replace(str(document), path).replace(os.path.join(document.parent, ""), "")


def _plan(work: SessionState, view: Mapping[str, Any], layout: str, old: WrittenFiles) -> Project:
    """Return the document to be written; what is stored already is named in it."""
    from isca_gui.core.projects.project import Project, StoredReference, StoredRun, StoredTest

    files = {id(thing()): stored for stored, thing in old.objects.items()}
    reference = None
    if work.reference is not None:
        picture = files.get(id(work.reference.picture))
        reference = StoredReference(work.reference.name, work.reference.path, picture)
    tested = [
        StoredTest(
            test.number,
            test.name,
            test.path,
            files.get(id(test.picture)),
            test.run,
            _truth_text(test.truth),
            test.verdict,
            left_out=test.left_out,
        )
        for test in work.tested
    ]
    for each in work.refused:
        tested.append(StoredTest(each.number, each.name, each.path, error=each.error))
    return Project(
        reference=reference,
        spec=work.spec,
        settings=work.settings,
        dataset=files.get(id(work.dataset)) if work.dataset is not None else None,
        runs=tuple(
            StoredRun(run.number, run.name, files.get(id(run.model)), run.evaluation)
            for run in work.runs
        ),
        tested=tuple(sorted(tested, key=lambda test: test.number)),
        view=view,
        layout=layout,
        folder=old.project.folder,
    )


def _unwritten(work: SessionState, plan: Project, old: WrittenFiles) -> Contents:
    """Return what must be written because it is not there."""
    from isca_gui.core.projects.project import Contents

    reference = None
    if work.reference is not None and plan.reference is not None:
        picture = work.reference.picture
        reference = None if old.holds(plan.reference.picture, picture) else picture
    models = {
        run.number: run.model
        for run, entry in zip(work.runs, plan.runs, strict=True)
        if not old.holds(entry.model, run.model)
    }
    stored = {test.number: test.picture for test in plan.tested}
    pictures = {
        test.number: test.picture
        for test in work.tested
        if not old.holds(stored[test.number], test.picture)
    }
    dataset = None if old.holds(plan.dataset, work.dataset) else work.dataset
    return Contents(reference, dataset, models, pictures)


def _objects(work: SessionState, project: Project) -> dict[Stored, ref[Any]]:
    """Return the object of each of a project's files."""
    found: dict[Stored | None, object] = {project.dataset: work.dataset}
    if work.reference is not None and project.reference is not None:
        found[project.reference.picture] = work.reference.picture
    models = {run.number: run.model for run in work.runs}
    for run in project.runs:
        found[run.model] = models[run.number]
    pictures = {test.number: test.picture for test in work.tested}
    for test in project.tested:
        if test.number in pictures:
            found[test.picture] = pictures[test.number]
    return {
        stored: ref(thing)
        for stored, thing in found.items()
        if stored is not None and thing is not None
    }


# --- opening --------------------------------------------------------------------------------------


def open_or_list_missing(
    source: str | Project,
) -> Generator[Progress, None, tuple[SessionState, WrittenFiles] | IncompleteProject]:
    """Read a project, or return which of its files are missing."""
    from isca_gui.core.projects import project as projects

    document = source if isinstance(source, projects.Project) else projects.read(source)
    try:
        return (yield from load(document))
    except projects.ProjectError as error:
        if not error.missing:
            raise
        return IncompleteProject(document, error.missing)


def load(
    source: str | Path | Project,
) -> Generator[Progress, None, tuple[SessionState, WrittenFiles]]:
    """Read a project, given as its file or document; pictures have verdicts, but no maps yet."""
    from isca_gui.core.projects import project as projects

    project, contents = yield from projects.load(source)
    work = _work(project, contents)
    return work, WrittenFiles(project, _objects(work, project))


def load_packed(path: str) -> Generator[Progress, None, tuple[SessionState, Project]]:
    """Read a project from one file; nothing of what it is unpacked to stays."""
    from isca_gui.core.projects import packing, project

    with tempfile.TemporaryDirectory(prefix="isca-") as folder:
        document = yield from packing.unpack(path, folder)
        try:
            work, written = yield from load(document)
        except project.ProjectError as error:
            if error.missing:
                text = f"Cannot open project '{path}': it is damaged. Use another copy of it."
            else:
                text = _about_packed(error, document, path)
            raise project.ProjectError(text) from error
    return work, written.project


def _work(project: Project, contents: Contents) -> SessionState:
    reference = None
    if project.reference is not None and contents.reference is not None:
        reference = Reference(project.reference.name, contents.reference, project.reference.path)
    dataset = contents.dataset
    runs = []
    for run in project.runs:
        model = contents.models[run.number]
        runs.append(Run(run.number, run.name, model, model.settings, run.evaluation))
    tested = []
    refused = []
    for each in project.tested:
        if each.error:
            refused.append(RejectedPicture(each.number, each.name, each.error, each.path))
        else:
            tested.append(_tested(each, contents))
    return SessionState(
        spec=project.spec,
        settings=project.settings,
        reference=reference,
        dataset=dataset,
        digest=dataset.digest() if dataset is not None else "",
        dataset_of=_dataset_reference(reference, contents),
        runs=tuple(runs),
        tested=tuple(tested),
        refused=tuple(refused),
        run=_selected(project, "run", runs, max((run.number for run in runs), default=0)),
        test=_selected(project, "test", tested, 0),
    )


def _dataset_reference(reference: Reference | None, contents: Contents) -> Reference | None:
    """Return what the dataset was made of; of another picture than the reference, it is stale."""
    dataset = contents.dataset
    if dataset is None:
        return reference
    if reference is not None and np.array_equal(dataset.reference, reference.picture):
        return reference
    return Reference("", dataset.reference)


def _tested(stored: StoredTest, contents: Contents) -> TestedPicture:
    return TestedPicture(
        stored.number,
        stored.name,
        contents.pictures[stored.number],
        None,
        stored.run,
        _truth(stored),
        stored.path,
        stored.verdict,
    )


def _selected(project: Project, name: str, things: list[Any], default: int) -> int:
    """Return the number that was selected, or the default where nothing has it."""
    number = project.view.get(name)
    if type(number) is int and any(number == each.number for each in things):
        return number
    return default


# --- the truth of a test picture, as text ---------------------------------------------------------


def _truth_text(truth: Truth | None) -> str:
    if truth is None:
        return ""
    return f"{_HIDDEN}{truth.text}" if truth.hidden else truth.text


def _truth(stored: StoredTest) -> Truth | None:
    if not stored.truth and stored.left_out is None:
        return None
    text = stored.truth.removeprefix(_HIDDEN)
    label, _, level = text.partition(" at MSE ")
    mse = None
    with contextlib.suppress(ValueError):
        mse = float(level)
    truth = Truth(
        kinds=parts_of(label),
        mse=mse,
        hidden=stored.truth.startswith(_HIDDEN),
        left_out=stored.left_out,
        left_out_of=run_left_out_of(stored.name) if stored.left_out is not None else "",
    )
    if truth.text != text:
        # Text of another form is kept as it is, so that saving the project again changes nothing.
        return replace(truth, kinds=(text,), mse=None)
    return truth
