"""From what a session holds to a project's files and back; all that is slow is a generator."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from isca_gui.session.records import Reference, RejectedPicture, Run, SessionState, TestedPicture

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from isca_gui.core.progress import Progress
    from isca_gui.core.projects.project import Contents, Missing, Project, Stored


@dataclass(frozen=True, eq=False)
class Kept:
    """What lies in a project's folder already, and of which objects it is: those are not written again."""

    project: Project
    objects: Mapping[Stored, ref[Any]] = field(default_factory=dict)

    def holds(self, stored: Stored | None, thing: object) -> bool:
        """Tell whether `stored` is the file of a thing."""
        known = self.objects.get(stored) if stored is not None else None
        return known is not None and known() is thing


def save(
    path: str, work: SessionState, view: Mapping[str, Any], layout: str, kept: Kept | None = None, *,
    careful: bool = True,
) -> Generator[Progress, None, Kept]:  # fmt: skip
    """Write a project. What `kept` says is there is looked at, unless not `careful`, and left alone."""
    from isca_gui.core.projects import project as projects
    from isca_gui.core.projects.folder import is_intact

    plan, whole = _plan(work, view, layout, kept)
    if careful:
        for stored in [*whole.objects]:
            if not is_intact(Path(whole.project.folder, stored.file), stored):
                whole = Kept(whole.project, {k: v for k, v in whole.objects.items() if k != stored})
    elif kept is not None and not Path(kept.project.folder).is_dir():
        whole = Kept(whole.project)
    saved = yield from projects.save(path, plan, _missing(work, plan, whole))
    return Kept(saved, _objects(work, saved))


@dataclass(frozen=True, eq=False)
class IncompleteProject:
    """A project that cannot be opened as it is: some of its files are not there."""

    project: Project
    missing: tuple[Missing, ...]

    def looked_for_in(self, folder: str) -> Project:
        """Give the project with its files in another folder."""
        from isca_gui.core.projects.project import relocate

        return relocate(self.project, folder)

    def given_up(self) -> Project:
        """Give the project without what is missing."""
        from isca_gui.core.projects.project import without

        return without(self.project, self.missing)


def open_or_tell(
    source: str | Project,
) -> Generator[Progress, None, tuple[SessionState, Kept] | IncompleteProject]:
    """Read a project, or tell what of it is missing."""
    from isca_gui.core.projects import project as projects

    document = source if isinstance(source, projects.Project) else projects.read(source)
    try:
        return (yield from load(document))
    except projects.ProjectError as error:
        if not error.missing:
            raise
        return IncompleteProject(document, error.missing)


def load(source: Any) -> Generator[Progress, None, tuple[SessionState, Kept]]:
    """Read a project, given as its file or document; pictures have their verdicts, but no maps yet."""
    from isca_gui.core.projects import project as projects

    project, contents = yield from projects.load(source)
    work = _work(project, contents)
    return work, Kept(project, _objects(work, project))


def save_packed(
    path: str, work: SessionState, view: Mapping[str, Any], layout: str, kept: Kept | None = None
) -> Generator[Progress, None, None]:
    """Write a project into one file; beside it, where there must be room for it, all is laid out first."""
    from isca_gui.core.projects import packing, project
    from isca_gui.core.storage import files

    with project.project_errors(path, "save"), files.folder_beside(path) as folder:
        document = folder / f"project{project.SUFFIX}"
        try:
            yield from save(str(document), work, view, layout, kept)
            yield from packing.pack(document, path)
        except project.ProjectError as error:
            raise project.ProjectError(_told(error, document, path)) from error


def load_packed(path: str) -> Generator[Progress, None, tuple[SessionState, Project]]:
    """Read a project from one file; nothing of what it is unpacked to stays."""
    from isca_gui.core.projects import packing, project

    with tempfile.TemporaryDirectory(prefix="isca-") as folder:
        document = yield from packing.unpack(path, folder)
        try:
            work, kept = yield from load(document)
        except project.ProjectError as error:
            damaged = f"Cannot open project '{path}': it is damaged. Take another copy of it."
            raise project.ProjectError(
                damaged if error.missing else _told(error, document, path)
            ) from error
    return work, kept.project


def _told(error: Exception, document: Path, path: str) -> str:
    """Say an error about what is packed into `path`, or comes from it, without names nobody has chosen."""
    return str(error).replace(str(document), path).replace(os.path.join(document.parent, ""), "")


def _plan(
    work: SessionState, view: Mapping[str, Any], layout: str, kept: Kept | None
) -> tuple[Project, Kept]:
    """Give the document to be written; what is stored already is named in it."""
    from isca_gui.core.projects.project import Project, StoredReference, StoredRun, StoredTest

    old = kept or Kept(Project())
    files = {id(thing()): stored for stored, thing in old.objects.items()}
    reference, first = work.reference, None
    if reference is not None:
        first = StoredReference(reference.name, reference.path, files.get(id(reference.picture)))
    tested = [
        StoredTest(
            test.number,
            test.name,
            test.path,
            files.get(id(test.picture)),
            test.run,
            test.truth,
            test.verdict,
            left_out=test.left_out,
        )
        for test in work.tested
    ]
    tested += [
        StoredTest(each.number, each.name, each.path, error=each.error) for each in work.refused
    ]
    plan = Project(
        first,
        work.spec,
        work.settings,
        files.get(id(work.dataset)) if work.dataset is not None else None,
        tuple(
            StoredRun(run.number, run.name, files.get(id(run.model)), run.evaluation)
            for run in work.runs
        ),
        tuple(sorted(tested, key=lambda test: test.number)),
        view,
        layout,
        folder=old.project.folder,
    )
    return plan, old


def _missing(work: SessionState, plan: Project, whole: Kept) -> Contents:
    """Give what must be written since it is not there."""
    from isca_gui.core.projects.project import Contents

    stored = {test.number: test.picture for test in plan.tested}
    reference, old = work.reference, plan.reference.picture if plan.reference is not None else None
    return Contents(
        reference.picture
        if reference is not None and not whole.holds(old, reference.picture)
        else None,
        None if whole.holds(plan.dataset, work.dataset) else work.dataset,
        {
            run.number: run.model
            for run, entry in zip(work.runs, plan.runs, strict=True)
            if not whole.holds(entry.model, run.model)
        },
        {
            test.number: test.picture
            for test in work.tested
            if not whole.holds(stored[test.number], test.picture)
        },
    )


def _objects(work: SessionState, project: Project) -> dict[Stored, ref[Any]]:
    """Say of which objects the files are."""
    found: dict[Stored | None, object] = {}
    if work.reference is not None and project.reference is not None:
        found[project.reference.picture] = work.reference.picture
    found[project.dataset] = work.dataset
    models = {run.number: run.model for run in work.runs}
    pictures = {test.number: test.picture for test in work.tested}
    found |= {run.model: models[run.number] for run in project.runs}
    found |= {
        test.picture: pictures[test.number] for test in project.tested if test.number in pictures
    }
    there = {
        stored: thing for stored, thing in found.items() if stored is not None and thing is not None
    }
    return {stored: ref(thing) for stored, thing in there.items()}


def _work(project: Project, contents: Contents) -> SessionState:
    reference = None
    if project.reference is not None and contents.reference is not None:
        reference = Reference(project.reference.name, contents.reference, project.reference.path)
    made, dataset_of = contents.dataset, reference
    if made is not None and (
        reference is None or not np.array_equal(made.reference, reference.picture)
    ):
        dataset_of = Reference("", made.reference)  # the dataset is of another picture, and stale
    runs = tuple(
        Run(run.number, run.name, model, model.settings, run.evaluation)
        for run, model in ((run, contents.models[run.number]) for run in project.runs)
    )
    tested = tuple(
        TestedPicture(
            each.number, each.name, contents.pictures[each.number], None, each.run, each.truth, each.path,
            each.verdict, each.left_out,
        )
        for each in project.tested if not each.error
    )  # fmt: skip
    refused = tuple(
        RejectedPicture(each.number, each.name, each.error, each.path)
        for each in project.tested
        if each.error
    )
    run, test = (_number(project.view.get(name)) for name in ("run", "test"))
    return SessionState(
        project.spec, project.settings, reference, made, made.digest() if made is not None else "",
        dataset_of, runs, tested, refused,
        run if any(run == each.number for each in runs) else max((each.number for each in runs), default=0),
        test if any(test == each.number for each in tested) else 0,
    )  # fmt: skip


def _number(value: Any) -> int:
    return value if type(value) is int else 0


def recognised(work: SessionState) -> Generator[tuple[int, Any] | Progress, None, None]:
    """Recognise a project's pictures anew, each by the run it was recognised by: maps are not in the file."""
    from isca_gui.core.progress import Progress
    from isca_gui.core.recognition.recogniser import Recogniser, RecognitionError

    waiting = [test for test in work.tested if test.recognition is None and test.stored is not None]
    done = 0
    for run in work.runs:
        recogniser = None
        for test in (test for test in waiting if test.run == run.number):
            yield Progress(done, len(waiting), test.name)
            done += 1
            try:
                recogniser = recogniser or Recogniser(run.model)
                found = recogniser.recognise_anew(test.picture, test.left_out)
            except RecognitionError:  # its verdict stays as it was stored
                break
            yield test.number, found
