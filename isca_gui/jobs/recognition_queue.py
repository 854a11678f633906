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
from isca_gui.core.distortion.distortions import level_text
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import Progress
from isca_gui.core.recognition import answer_table
from isca_gui.core.storage import files
from isca_gui.jobs.names import JobName
from isca_gui.jobs.runner import explain
from isca_gui.session.records import HIDDEN, LEFT_OUT, RejectedPicture, TestedPicture

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from isca_gui.core.model.model import Model
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import SessionState
    from isca_gui.session.session import Run, Session

    Picture = NDArray[np.float32]

_GUESS_FIRST = "A mystery picture that has not been guessed yet."


@dataclass(frozen=True, eq=False)
class _Wanted:
    """A picture to be recognised: a file, one that is there already, or one to be made of another."""

    number: int
    name: str
    picture: Picture | None = None
    path: str | None = None
    truth: str = ""
    made: tuple[Picture, str, float, int] | None = (
        None  # the picture to distort, kind, MSE and seed
    )
    again: bool = False
    left_out: int | None = None  # the training picture that it is
    run: Run | None = None  # the one selected when it was asked for


class RecognitionQueue(QObject):
    """Pictures that wait to be recognised; what comes in while the job is at work is done by it as well."""

    def __init__(self, session: Session, jobs: JobRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session, self._jobs = session, jobs
        self._recogniser: tuple[Model, Any] | None = (
            None  # of the run last used: one at a time, it is large
        )
        self._wanted: deque[_Wanted] = deque()
        self._followed = (
            0  # the picture that was selected last, when asked for or as the newest answer
        )

    def files(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        """Take picture files."""
        self._add(
            [_Wanted(self._number(), Path(path).name, path=os.fspath(path)) for path in paths]
        )

    def picture(self, name: str, picture: Picture, truth: str) -> None:
        """Take a picture that is there already."""
        self._add([_Wanted(self._number(), name, picture, truth=truth)])

    def made(self, kind: str, mse: float, seed: int, hidden: bool) -> None:
        """Take the reference of now, distorted; hidden, its name and truth do not tell how."""
        reference = self._session.reference
        if reference is None:
            self._session.say("warning", "There is no reference picture yet. Open one first.")
            return
        number = self._number()
        truth = f"{kind} at MSE {mse:g}"
        name, truth = (f"Mystery {number}", f"{HIDDEN}{truth}") if hidden else (truth, truth)
        self._add([_Wanted(number, name, truth=truth, made=(reference.picture, kind, mse, seed))])

    def again(self, tested: Iterable[TestedPicture]) -> None:
        """Take pictures that were recognised before."""
        self._want([_again(test) for test in tested])

    def save(self, path: str | os.PathLike[str], work: SessionState) -> None:
        """Write all answers to a table, those that could not be given with the reason."""
        tested, refused = work.tested, work.refused
        count = len(tested) + len(refused)
        what = "one picture" if count == 1 else f"{count} pictures"
        done = f"The table of {what} was saved as '{os.fspath(path)}'."
        self._jobs.run(
            JobName.SAVE_ANSWERS.of(os.fspath(path)), "Saving the table of answers",
            lambda: _write_table(path, tested, refused),
            done=lambda _: self._session.say("info", done), writes=True,
        )  # fmt: skip

    def _number(self) -> int:
        return self._session.next_tested_number()

    def _add(self, wanted: list[_Wanted]) -> None:
        """Take new pictures; each is selected when it comes, until somebody selects another."""
        self._followed = self._selected
        self._want(wanted)

    @property
    def _selected(self) -> int:
        return self._session.test.number if self._session.test is not None else 0

    def _want(self, wanted: list[_Wanted]) -> None:
        if not self._jobs.running(JobName.RECOGNITION):
            self._wanted = deque()  # what is left of a job that was stopped stays its own
        self._wanted.extend(replace(each, run=self._session.run) for each in wanted)
        if self._wanted and not self._jobs.running(JobName.RECOGNITION):
            self._recognise_next()

    def _recognise_next(self) -> None:
        queue = self._wanted
        self._jobs.start(
            JobName.RECOGNITION, "Recognising", lambda: self._recognise(queue),
            done=self._on_recognised, reports=self._on_tested, failed=self._on_recognition_failed,
        )  # fmt: skip

    def _recognise(self, queue: deque[_Wanted]) -> Generator[Any, None, None]:
        """Work off a queue, in the job's thread; each picture is reported when it is done."""
        done = 0
        while queue:
            wanted = queue.popleft()
            yield Progress(done, done + 1 + len(queue), wanted.name)
            done += 1
            try:
                picture = _picture_of(wanted)
                tested = self._answer(wanted, picture)
            except Exception as error:  # noqa: BLE001 - one bad picture must not end the others
                yield wanted, error
                continue
            yield wanted, tested

    def _answer(self, wanted: _Wanted, picture: Picture) -> TestedPicture:
        plain = TestedPicture(
            wanted.number, wanted.name, picture, None, 0, wanted.truth, wanted.path
        )
        run = wanted.run
        if run is None:
            return plain
        recogniser = self._recogniser_of(run)
        if wanted.left_out is None:
            return replace(plain, recognition=recogniser.recognise(picture), run=run.number)
        number = recogniser.number_of(picture, wanted.left_out)
        if number is None:  # this run has never seen it; the next one may have
            name, found = wanted.name.partition(LEFT_OUT)[0], recogniser.recognise(picture)
            return replace(
                plain, name=name, recognition=found, run=run.number, left_out=wanted.left_out
            )
        found, name = recogniser.leave_one_out(number), left_out_name(run, number)
        return replace(plain, name=name, recognition=found, run=run.number, left_out=number)

    def _recogniser_of(self, run: Run) -> Any:
        from isca_gui.core.recognition.recogniser import Recogniser

        if self._recogniser is None or self._recogniser[0] is not run.model:
            self._recogniser = run.model, Recogniser(run.model)
        return self._recogniser[1]

    def _on_tested(self, reports: list[Any]) -> None:
        for report in reports:
            if not isinstance(report, tuple):
                continue
            wanted, result = report
            if isinstance(result, Exception):
                self._refuse(wanted, explain(result))
            elif wanted.again:
                self._replace(result)
            else:
                self._take(result)
                if (
                    result.recognition is None and self._session.run is not None
                ):  # trained meanwhile
                    self.again([result])

    def _take(self, tested: TestedPicture) -> None:
        follow = self._selected in (0, self._followed)  # else somebody is looking at another one
        self._session.add_tested(tested, select=follow)
        if follow:
            self._followed = tested.number

    def _replace(self, tested: TestedPicture) -> None:
        """Put an answer in the place of the one before; the truth may have been told meanwhile."""
        for old in self._session.tested:
            if old.number == tested.number:
                self._session.replace_tested(replace(tested, truth=old.truth))

    def _refuse(self, wanted: _Wanted, why: str) -> None:
        self._session.say("error", f"{wanted.name} was not recognised: {why}", wanted.path or "")
        if not wanted.again:
            refused = RejectedPicture(wanted.number, wanted.name, why, wanted.path)
            self._session.set_refused((*self._session.refused, refused))

    def _on_recognised(self, _: object) -> None:
        if self._wanted:  # came in while the job was ending
            self._recognise_next()
        if self._session.run is None:
            self._session.say(
                "warning", "There is no model yet: train one, and the pictures are recognised then."
            )

    def _on_recognition_failed(self, _: Exception) -> None:
        self._wanted.clear()


def _again(test: TestedPicture) -> _Wanted:
    return _Wanted(
        test.number,
        test.name,
        test.picture,
        test.path,
        test.truth,
        again=True,
        left_out=test.left_out,
    )


def left_out_name(run: Run, number: int) -> str:
    """Name a training picture that is recognised as if it were not known."""
    known = run.model.known
    assert known is not None
    return f"{known.labels[number]} {level_text(known.levels[number])}{LEFT_OUT}{run.name}"


def _picture_of(wanted: _Wanted) -> Picture:
    if wanted.picture is not None:
        return wanted.picture
    if wanted.made is not None:
        return strength_search.distort(*wanted.made).picture
    return image.read(samples.resolve(wanted.path or ""))


def _write_table(
    path: str | os.PathLike[str],
    tested: Iterable[TestedPicture],
    refused: Iterable[RejectedPicture],
) -> None:
    """Write what `isca classify --csv` writes."""
    rows = [list(answer_table.COLUMNS)]
    for test in tested:
        height, width = test.picture.shape
        found, name = None if test.secret else test.verdict, test.path or test.name
        missing = {
            "file": name,
            "error": _GUESS_FIRST if test.secret else "There was no model yet.",
        }
        rows.append(
            answer_table.row(answer_table.entry(name, found, width, height) if found else missing)
        )
    rows += [
        answer_table.row({"file": each.path or each.name, "error": each.error}) for each in refused
    ]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    try:
        with files.replacing(path) as stream:
            stream.write(text.getvalue().encode("utf-8", "backslashreplace"))
    except OSError as error:  # its own words name a file that nobody has asked for
        error.filename = os.fspath(path)
        raise
