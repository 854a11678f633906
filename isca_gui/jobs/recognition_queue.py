"""Recognition of test pictures beside the window: a queue worked off by one job."""

from __future__ import annotations

import csv
import io
import os
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject

from isca_gui.core.distortion import strength_search
from isca_gui.core.distortion.distortions import level_text, parts_of
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import Progress
from isca_gui.core.recognition import answer_table
from isca_gui.core.storage import files
from isca_gui.jobs.names import JobName
from isca_gui.jobs.runner import explain
from isca_gui.session.records import RejectedPicture, TestedPicture, Truth

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from isca_gui.core.model.model import Model
    from isca_gui.core.recognition.recogniser import Recogniser, Recognition
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import Run, SessionState
    from isca_gui.session.session import Session

    Picture = NDArray[np.float32]

_GUESS_FIRST = "A mystery picture that has not been guessed yet."
_NO_MODEL = "No model yet. Pictures will be recognised once you train one."
_LEFT_OUT = " left out of "


@dataclass(frozen=True, eq=False)
class _Copy:
    """A copy of a picture that is still to be distorted."""

    reference: Picture
    kind: str
    mse: float
    seed: int


@dataclass(frozen=True, eq=False)
class _Wanted:
    """A picture to be recognised: a file, one that is there already, or a copy to be made."""

    number: int
    name: str
    picture: Picture | None = None
    path: str | None = None
    truth: Truth | None = None
    copy: _Copy | None = None
    again: bool = False
    run: Run | None = None  # the one selected when it was asked for


class RecognitionQueue(QObject):
    """Pictures that wait to be recognised; the job at work takes those that come in meanwhile."""

    def __init__(self, session: Session, jobs: JobRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._jobs = jobs
        # Only the recogniser of the run last used is kept, because it is large.
        self._recogniser: tuple[Model, Recogniser] | None = None
        self._wanted: deque[_Wanted] = deque()
        # The picture that the program selected last; another selection is the user's own.
        self._followed = 0

    def add_files(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        """Recognise picture files."""
        self._add(
            [_Wanted(self._number(), Path(path).name, path=os.fspath(path)) for path in paths]
        )

    def add_picture(self, name: str, picture: Picture, truth: Truth | None = None) -> None:
        """Recognise a picture that is there already."""
        self._add([_Wanted(self._number(), name, picture, truth=truth)])

    def add_copy(self, kind: str, mse: float, seed: int, hidden: bool) -> None:
        """Distort the reference and recognise that; the name of a hidden copy tells nothing."""
        reference = self._session.reference
        if reference is None:
            self._session.say("warning", "There is no reference picture yet. Open one first.")
            return
        number = self._number()
        truth = Truth(parts_of(kind), mse, hidden)
        name = f"Mystery {number}" if hidden else truth.text
        self._add(
            [_Wanted(number, name, truth=truth, copy=_Copy(reference.picture, kind, mse, seed))]
        )

    def recognise_again(self, tested: Iterable[TestedPicture]) -> None:
        """Recognise pictures once more, with the run that is selected now."""
        self._want(
            [
                _Wanted(test.number, test.name, test.picture, test.path, test.truth, again=True)
                for test in tested
            ]
        )

    def reload_vote_maps(self, work: SessionState) -> None:
        """Recognise the pictures of a project that was opened: its file holds the verdicts only."""

        def take(reports: list[Any]) -> None:
            for report in reports:
                if not isinstance(report, tuple):
                    continue
                number, recognition = report
                for old in self._session.tested:
                    if old.number == number and old.recognition is None:
                        self._session.replace_tested(replace(old, recognition=recognition))

        if work.tested:
            title = "Recognising the project's pictures"
            self._jobs.start(JobName.VOTE_MAPS, title, lambda: recognise_stored(work), reports=take)

    def save_answers(self, path: str | os.PathLike[str], work: SessionState) -> None:
        """Write all answers to a table; pictures without an answer are listed with the reason."""
        tested = work.tested
        refused = work.refused
        count = len(tested) + len(refused)
        what = "one picture" if count == 1 else f"{count} pictures"
        done = f"The answers for {what} were saved as '{os.fspath(path)}'."
        self._jobs.run(
            JobName.SAVE_ANSWERS.of(os.fspath(path)),
            "Saving the table of answers",
            lambda: _write_table(path, tested, refused),
            done=lambda _: self._session.say("info", done),
            writes=True,
        )

    # --- the queue --------------------------------------------------------------------------------

    def _number(self) -> int:
        return self._session.next_tested_number()

    @property
    def _selected(self) -> int:
        return self._session.test.number if self._session.test is not None else 0

    def _add(self, wanted: list[_Wanted]) -> None:
        """Take new pictures; each is selected when it comes, until the user selects another."""
        self._followed = self._selected
        self._want(wanted)

    def _want(self, wanted: list[_Wanted]) -> None:
        if not self._jobs.running(JobName.RECOGNITION):
            # A job that was stopped may still hold the old queue: it must not see the new pictures.
            self._wanted = deque()
        self._wanted.extend(replace(each, run=self._session.run) for each in wanted)
        if self._wanted and not self._jobs.running(JobName.RECOGNITION):
            self._start()

    def _start(self) -> None:
        queue = self._wanted
        self._jobs.start(
            JobName.RECOGNITION,
            "Recognising",
            lambda: self._recognise(queue),
            done=self._on_recognised,
            reports=self._on_reports,
            failed=self._on_failed,
        )

    def _recognise(self, queue: deque[_Wanted]) -> Generator[Any, None, None]:
        """Work off a queue, in the job's thread; each picture is reported when it is done."""
        done = 0
        while queue:
            wanted = queue.popleft()
            yield Progress(done, done + 1 + len(queue), wanted.name)
            done += 1
            try:
                answer = self._answer(wanted, _picture_of(wanted))
            except Exception as error:  # noqa: BLE001 - one bad picture must not end the others
                yield wanted, error
                continue
            yield wanted, answer

    def _answer(self, wanted: _Wanted, picture: Picture) -> TestedPicture:
        tested = TestedPicture(
            wanted.number, wanted.name, picture, None, 0, wanted.truth, wanted.path
        )
        run = wanted.run
        if run is None:
            return tested
        recogniser = self._recogniser_of(run)
        tested = replace(tested, run=run.number)
        if tested.left_out is None:
            return replace(tested, recognition=recogniser.recognise(picture))
        number = recogniser.training_picture(picture, tested.left_out)
        if number is None:
            # This run was not trained on the picture, but the next one may have been.
            return as_unseen(tested, recogniser.recognise(picture))
        return as_left_out(tested, recogniser.leave_one_out(number), run, number)

    def _recogniser_of(self, run: Run) -> Recogniser:
        from isca_gui.core.recognition.recogniser import Recogniser

        if self._recogniser is None or self._recogniser[0] is not run.model:
            self._recogniser = run.model, Recogniser(run.model)
        return self._recogniser[1]

    # --- what the job reports ---------------------------------------------------------------------

    def _on_reports(self, reports: list[Any]) -> None:
        for report in reports:
            if not isinstance(report, tuple):
                continue
            wanted, result = report
            if isinstance(result, Exception):
                self._reject(wanted, explain(result))
            elif wanted.again:
                self._replace(result)
            else:
                self._take(result)

    def _take(self, tested: TestedPicture) -> None:
        # Where another picture is selected, somebody is looking at it.
        follow = self._selected in (0, self._followed)
        self._session.add_tested(tested, select=follow)
        if follow:
            self._followed = tested.number
        if tested.recognition is None and self._session.run is not None:
            # The first model was trained after this picture had been asked for.
            self.recognise_again([tested])

    def _replace(self, tested: TestedPicture) -> None:
        """Put an answer in the place of the old one; a mystery may have been revealed meanwhile."""
        for old in self._session.tested:
            if old.number == tested.number:
                truth = tested.truth
                if truth is not None:
                    truth = replace(truth, hidden=old.secret)
                self._session.replace_tested(replace(tested, truth=truth))

    def _reject(self, wanted: _Wanted, why: str) -> None:
        self._session.say("error", f"{wanted.name} was not recognised: {why}", wanted.path or "")
        if not wanted.again:
            rejected = RejectedPicture(wanted.number, wanted.name, why, wanted.path)
            self._session.set_refused((*self._session.refused, rejected))

    def _on_recognised(self, _: object) -> None:
        if self._wanted:
            # These came in while the job was ending.
            self._start()
        if self._session.run is None:
            self._session.say("warning", _NO_MODEL)

    def _on_failed(self, _: Exception) -> None:
        self._wanted.clear()


# --- training pictures that are left out ----------------------------------------------------------


def as_left_out(
    tested: TestedPicture, recognition: Recognition, run: Run, number: int
) -> TestedPicture:
    """Return a training picture as recognised by a run that left it out, named after both."""
    known = run.model.known
    assert known is not None
    label = known.labels[number]
    level = level_text(known.levels[number])
    truth = tested.truth or Truth(parts_of(label), float(level))
    return replace(
        tested,
        name=f"{label} {level}{_LEFT_OUT}{run.name}",
        recognition=recognition,
        truth=replace(truth, left_out=number, left_out_of=run.name),
    )


def as_unseen(tested: TestedPicture, recognition: Recognition) -> TestedPicture:
    """Return a training picture as recognised by a run that was not trained on it."""
    truth = tested.truth
    assert truth is not None
    return replace(
        tested,
        name=tested.name.removesuffix(f"{_LEFT_OUT}{truth.left_out_of}"),
        recognition=recognition,
        truth=replace(truth, left_out_of=""),
    )


def run_left_out_of(name: str) -> str:
    """Return the run in the name of a training picture that was left out, as files keep it."""
    return name.partition(_LEFT_OUT)[2]


# --- the work, in the job's thread ----------------------------------------------------------------


def recognise_stored(work: SessionState) -> Generator[tuple[int, Any] | Progress, None, None]:
    """Recognise a project's pictures, each by the run of its stored verdict, for the vote maps."""
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
                found = recogniser.recognise_left_out(test.picture, test.left_out)
            except RecognitionError:
                # The model of this run cannot recognise anything: the stored verdicts stay.
                break
            yield test.number, found


def _picture_of(wanted: _Wanted) -> Picture:
    if wanted.picture is not None:
        return wanted.picture
    if wanted.copy is not None:
        copy = wanted.copy
        return strength_search.distort(copy.reference, copy.kind, copy.mse, copy.seed).picture
    return image.read(samples.resolve(wanted.path or ""))


def _write_table(
    path: str | os.PathLike[str],
    tested: Iterable[TestedPicture],
    refused: Iterable[RejectedPicture],
) -> None:
    """Write what `isca classify --csv` writes."""
    rows = [list(answer_table.COLUMNS)]
    rows += [answer_table.row(_table_entry(test)) for test in tested]
    for each in refused:
        rows.append(answer_table.row({"file": each.path or each.name, "error": each.error}))
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    try:
        with files.replacing(path) as stream:
            stream.write(text.getvalue().encode("utf-8", "backslashreplace"))
    except OSError as error:
        # The error names the temporary file, which the user has never heard of.
        error.filename = os.fspath(path)
        raise


def _table_entry(test: TestedPicture) -> dict[str, Any]:
    name = test.path or test.name
    if test.secret:
        return {"file": name, "error": _GUESS_FIRST}
    if test.verdict is None:
        return {"file": name, "error": "There was no model yet."}
    height, width = test.picture.shape
    return answer_table.entry(name, test.verdict, width, height)
