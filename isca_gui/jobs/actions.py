"""What the buttons and menus do: start jobs on what the session holds, put results back into it."""

from __future__ import annotations

import gc
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from isca_gui.core.distortion import dataset, dataset_folder
from isca_gui.core.distortion.distortions import DISTORTIONS
from isca_gui.core.distortion.preview import make_preview
from isca_gui.core.pictures import image, samples
from isca_gui.core.pictures.decoding import SUFFIXES, check_size
from isca_gui.core.progress import Cancelled, Progress
from isca_gui.core.solvers.steps import State, Step
from isca_gui.jobs.autosave_interval import autosave_interval, due_every
from isca_gui.jobs.comparing import Comparing
from isca_gui.jobs.names import JobName
from isca_gui.jobs.recognition_queue import RecognitionQueue
from isca_gui.jobs.runner import highest_priority
from isca_gui.session.records import Reference, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from numpy.typing import NDArray

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.distortion.preview import Preview
    from isca_gui.core.model.model import Model
    from isca_gui.core.recognition.evaluation import LeaveOneOut
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.jobs.runner import Job, JobRunner
    from isca_gui.session.records import SessionState, TestedPicture, Truth
    from isca_gui.session.session import Session

    Picture = NDArray[np.float32]

# The suffix of `core.model.model_file`, whose import would hold up the start of the program.
MODEL_SUFFIX = ".isca"
PICTURE_FILTER = f"Pictures ({' '.join(f'*{suffix}' for suffix in SUFFIXES)});;All files (*)"

_NO_REFERENCE = "There is no reference picture yet. Open one first."
_NO_DATASET = "There is no dataset yet. Generate one first."
_NO_MODEL = "There is no model yet. Train one first."
_DATASET_BUSY = "A dataset is already being made or opened. Stop that first."
_TRAINING_BUSY = "Training is already under way. Stop it first; its model will be kept."


class Actions(QObject):
    """The things a person can do, without any widget."""

    # A path or sample name, for the list of recent files.
    picture_opened = Signal(str)

    def __init__(self, session: Session, jobs: JobRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._jobs = jobs
        self._recognition = RecognitionQueue(session, jobs, self)
        self.comparing = Comparing(session, jobs, self)
        self.comparing.opened.connect(self.picture_opened)
        # What is wrong in the form of a step, as its panel last reported it.
        self._problems: dict[JobName, str] = {}
        jobs.unwritten.connect(self._on_unwritten)

    def set_problem(self, job: JobName, text: str) -> None:
        """Note what is wrong in the form of a job, which does not start until it is mended."""
        self._problems[job] = text

    # --- reference --------------------------------------------------------------------------------

    def open_picture(self, path: str | os.PathLike[str]) -> None:
        """Read a picture file, or `sample:NAME`, as the reference."""
        name = os.fspath(path)
        if name.startswith(samples.PREFIX):
            title = name.removeprefix(samples.PREFIX)
        else:
            title = Path(name).name

        def done(picture: Picture) -> None:
            self._session.set_reference(Reference(title, picture, name))
            self.picture_opened.emit(name)

        self._jobs.run(
            JobName.OPEN_PICTURE,
            f"Opening {title}",
            lambda: image.read(samples.resolve(name)),
            done=done,
        )

    def open_sample(self, name: str = samples.TABLE[0].name) -> None:
        """Open one of the bundled pictures as the reference; the first of them if none is named."""
        self.open_picture(f"{samples.PREFIX}{name}")

    def use_image(self, name: str, pasted: QImage) -> None:
        """Take an image of the clipboard as the reference."""
        try:
            check_size(pasted.width(), pasted.height(), min_side=8)
        except image.ImageError as error:
            self._session.say("error", f"The picture '{name}' cannot be used: {error}")
            return
        self._jobs.run(
            JobName.OPEN_PICTURE,
            f"Opening {name}",
            lambda: grey(pasted),
            done=lambda picture: self._session.set_reference(Reference(name, picture)),
        )

    # --- dataset ----------------------------------------------------------------------------------

    def generate(self) -> None:
        """Make the dataset of the reference."""
        reference = self._session.reference
        spec = self._session.spec
        problem = self._problems.get(JobName.DATASET)
        if problem:
            self._session.say("warning", problem)
            return
        if reference is None:
            self._session.say("warning", _NO_REFERENCE)
            return

        def make() -> Generator[Progress, None, tuple[Dataset, str]]:
            made = yield from dataset.generate(reference.picture, spec)
            return made, made.digest()

        def done(result: tuple[Dataset, str]) -> None:
            made, digest = result
            self._session.set_dataset(made, digest, reference)
            self._say_made(made)

        self._jobs.start(JobName.DATASET, "Generating the dataset", make, done=done)

    def stop_generating(self) -> None:
        """Stop making the dataset; the one that was there stays."""
        self._jobs.stop(JobName.DATASET)

    def preview(self, kind: str, mse: float, done: Callable[[Preview], None]) -> None:
        """Make the copy that the dataset would hold for a kind and MSE; only the newest counts."""
        reference = self._session.reference
        seed = self._session.spec.seed
        if reference is None:
            return
        self._jobs.run(
            JobName.PREVIEW,
            "Preview",
            lambda: make_preview(reference.picture, kind, mse, seed),
            done=done,
        )

    def save_dataset(
        self,
        folder: str | os.PathLike[str],
        overwrite: bool = False,
        work: SessionState | None = None,
    ) -> None:
        """Write the dataset to a folder: that of `work`, else the one shown now."""
        made = (work or self._session.work).dataset
        if made is None:
            self._session.say("warning", _NO_DATASET)
            return
        self._jobs.start(
            JobName.SAVE_DATASET.of(os.fspath(folder)),
            "Saving the dataset",
            lambda: dataset_folder.save(made, folder, overwrite=overwrite),
            done=lambda path: self._session.say("info", f"The dataset was saved in '{path}'."),
            writes=True,
        )

    def import_folder(self, folder: str | os.PathLike[str]) -> None:
        """Read a dataset folder, or one with a subfolder per label."""
        if self._jobs.running(JobName.DATASET):
            self._session.say("warning", _DATASET_BUSY)
            return
        before = self._session.reference

        def make() -> Generator[Progress, None, tuple[Dataset, str]]:
            made = yield from dataset_folder.load(folder)
            return made, made.digest()

        def done(result: tuple[Dataset, str]) -> None:
            made, digest = result
            reference = Reference(f"{Path(folder).name} (original)", made.reference, None)
            # A reference that was opened while the folder was read stays.
            if self._session.reference is before:
                self._session.set_reference(reference)
                if made.spec is not None:
                    self._session.set_spec(made.spec)
            self._session.set_dataset(made, digest, reference)
            self._say_made(made)

        self._jobs.start(JobName.DATASET, "Importing the folder", make, done=done)

    def _say_made(self, made: Dataset) -> None:
        text = f"The dataset has {_count(len(made.entries), 'picture')}"
        missed = len(made.unreachable)
        if missed:
            levels = _count(missed, "level")
            text += f"; {levels} cannot be reached with this picture and "
            text += "was left out" if missed == 1 else "were left out"
        self._session.say("info", f"{text}.")

    # --- training ---------------------------------------------------------------------------------

    def train(self, resume: Run | None = None) -> None:
        """Train on the dataset; with `resume`, go on from where that run stands."""
        session = self._session
        data = session.dataset
        settings = session.settings
        if data is None:
            session.say("warning", _NO_DATASET)
            return
        problem = self._problems.get(JobName.TRAINING)
        if not problem and self._jobs.running(JobName.TRAINING):
            problem = _TRAINING_BUSY
        if problem:
            session.say("warning", problem)
            return
        model = resume.model if resume is not None else None
        session.begin_run(settings, model.steps if model is not None else ())
        self._jobs.start(
            JobName.TRAINING,
            f"Training {session.live.name}" if session.live else "Training",
            lambda: _train(data, settings, model),
            keep=True,
            done=self._on_trained,
            reports=self._on_steps,
            failed=self._on_training_failed,
            progress=_progress_of(settings.resolved()),
        )

    def stop_training(self) -> None:
        """Stop the training and keep the model of the last whole epoch."""
        self._jobs.stop(JobName.TRAINING)

    def evaluate_all(self, run_numbers: Sequence[int]) -> None:
        """Evaluate runs one after the other until one is stopped: each takes all cores.

        Runs that were evaluated by themselves meanwhile are passed over.
        """
        left = []
        for number in run_numbers:
            run = self._session.run_of(number)
            busy = self._jobs.running(JobName.EVALUATION.of(number))
            if run is not None and run.evaluation is None and not busy:
                left.append(number)
        if left:
            self.evaluate(left[0], then=lambda: self.evaluate_all(left[1:]))

    def evaluate(self, run_number: int, then: Callable[[], None] | None = None) -> None:
        """Find out how often each training picture is recognised by all the others."""
        run = self._session.run_of(run_number)
        if run is None:
            return

        def make() -> Generator[Any, Any, LeaveOneOut]:
            # The import is left to the job: the compiler behind it takes half a second to load.
            from isca_gui.core.recognition.evaluation import leave_one_out

            return (yield from leave_one_out(run.model))

        def done(result: LeaveOneOut) -> None:
            current = self._session.run_of(run_number)
            if current is not None:
                self._session.replace_run(replace(current, evaluation=result))
            if then is not None:
                then()

        def failed(_: Exception) -> None:
            if then is not None:
                then()

        self._jobs.start(
            JobName.EVALUATION.of(run_number),
            f"Evaluating {run.name}",
            make,
            done=done,
            failed=failed,
        )

    def save_model(self, run: Run | int, path: str | os.PathLike[str]) -> None:
        """Write a run's model to a file."""
        found = run if isinstance(run, Run) else self._session.run_of(run)
        if found is None:
            self._session.say("warning", _NO_MODEL)
            return
        saved = f"{found.name} was saved as '{os.fspath(path)}'."
        self._jobs.run(
            JobName.SAVE_MODEL.of(os.fspath(path)),
            f"Saving {found.name}",
            lambda: _save(path, found.model),
            done=lambda _: self._session.say("info", saved),
            writes=True,
        )

    def load_model(self, path: str | os.PathLike[str]) -> None:
        """Read a model file as a run."""
        name = Path(path).name

        def done(model: Model) -> None:
            self._session.add_model(name, model)
            self._session.say("info", f"The model '{name}' was opened.")

        self._jobs.run(
            JobName.LOAD_MODEL.of(os.fspath(path)),
            f"Opening {name}",
            lambda: _load(path),
            done=done,
        )

    def _on_steps(self, reports: list[Any]) -> None:
        self._session.add_steps([report for report in reports if isinstance(report, Step)])
        states = [report for report in reports if isinstance(report, State)]
        if states:
            self._session.keep_state(states[-1])

    def _on_trained(self, model: Model) -> None:
        self._session.end_run(model)
        run = self._session.run
        if run is not None:
            self.evaluate(run.number)
            self.recognise_again([test for test in self._session.tested if test.verdict is None])

    def _on_training_failed(self, error: Exception) -> None:
        self._session.end_run(None)
        if isinstance(error, Cancelled):
            self._session.say("info", str(error))

    # --- recognition ------------------------------------------------------------------------------

    def recognise_files(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        """Read picture files and recognise what was done to each."""
        self._recognition.add_files(paths)

    def recognise_picture(self, name: str, picture: Picture, truth: Truth | None = None) -> None:
        """Recognise what was done to a picture that is there already."""
        self._recognition.add_picture(name, picture, truth)

    def recognise_made(self, kind: str, mse: float, seed: int, hidden: bool = False) -> None:
        """Distort the reference and recognise that; the name of a hidden one tells nothing."""
        self._recognition.add_copy(kind, mse, seed, hidden)

    def mystery(self) -> None:
        """Distort the reference at random, with a kind of the dataset, and keep it secret."""
        spec = self._session.spec
        made = self._session.dataset
        reached = [(kind, level) for kind in spec.kinds for level in spec.levels]
        if made is not None:
            known = [
                (entry.label, entry.achieved_mse) for entry in made.entries if _is_kind(entry.label)
            ]
            reached = known or reached
        random = np.random.default_rng()
        kind = str(random.choice(sorted({kind for kind, _ in reached})))
        levels = [level for name, level in reached if name == kind]
        mse = round(float(random.uniform(min(levels), max(levels))), 1)
        self._recognition.add_copy(kind, mse, int(random.integers(2**31)), hidden=True)

    def recognise_again(self, tested: Iterable[TestedPicture] | None = None) -> None:
        """Recognise pictures, all if none are given, once more with the selected run."""
        self._recognition.recognise_again(self._session.tested if tested is None else tested)

    def reload_vote_maps(self, work: SessionState) -> None:
        """Recognise the pictures of a project that was opened: its file holds the verdicts only."""
        self._recognition.reload_vote_maps(work)

    def save_answers(self, path: str | os.PathLike[str], work: SessionState | None = None) -> None:
        """Write the answers on all test pictures, of `work` or of now, to a CSV table."""
        self._recognition.save_answers(path, work or self._session.work)

    def reveal(self, number: int) -> None:
        """Reveal what was done to a mystery picture."""
        for test in self._session.tested:
            if test.number == number and test.truth is not None and test.truth.hidden:
                revealed = replace(test.truth, hidden=False)
                self._session.replace_tested(replace(test, truth=revealed))

    # --- the rest ---------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Compile what training calls, or read it from the cache, before anybody waits for it."""
        settings = self._session.settings

        def work() -> None:
            from isca_gui.core.solvers import compiled_loops

            compiled_loops.prepare(settings.components, settings.precision)
            # All modules are loaded by now. Without this the garbage collector would look through
            # a million of their objects again and again, and hold up the window.
            gc.freeze()

        title = "Preparing the solver (slow only once)"
        self._jobs.run(JobName.PREPARE_SOLVER, title, work)

    def stop(self) -> None:
        """Stop the most important job that can be stopped; one that writes a file comes last."""
        jobs = [job for job in self._jobs.jobs() if job.stoppable and not job.stopping]
        jobs.sort(key=lambda job: not job.writes)
        chosen = highest_priority(jobs)
        if chosen is not None:
            self.stop_job(chosen)

    def stop_job(self, job: Job) -> None:
        """Stop a job."""
        self._jobs.stop(job.id)

    def _on_unwritten(self, job: Job) -> None:
        self._session.say("warning", f"{job.title} was stopped. Nothing was replaced.")


def grey(pasted: QImage) -> Picture:
    """Return a picture of the clipboard as grey float32 (height, width) in [0, 1], as files are."""
    wide = pasted.convertToFormat(QImage.Format.Format_RGBA8888)
    height = wide.height()
    width = wide.width()
    lines = np.frombuffer(wide.constBits(), np.uint8).reshape(height, wide.bytesPerLine())
    pixels = lines[:, : 4 * width].reshape(height, width, 4)
    channels = pixels.astype(np.float32) / np.float32(255)
    level = channels[..., :3] @ np.array(image.LUMA, np.float32)
    # What is transparent lies on white.
    return np.ascontiguousarray(1 + channels[..., 3] * (level - 1))


def _train(
    data: Dataset, settings: TrainingSettings, resume: Model | None
) -> Generator[Any, bool | None, Model]:
    from isca_gui.core.model import training

    due = due_every(autosave_interval())
    return (yield from training.train(data, settings, resume=resume, due=due))


def _save(path: str | os.PathLike[str], model: Model) -> None:
    from isca_gui.core.model import model_file

    model_file.save_model(path, model)


def _load(path: str | os.PathLike[str]) -> Model:
    from isca_gui.core.model import model_file

    return model_file.load_model(path)


def _is_kind(label: str) -> bool:
    return all(part in DISTORTIONS for part in label.split("+"))


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _progress_of(settings: TrainingSettings) -> Callable[[Any], Progress | None]:
    """Return what translates the reports of a training; one with a tolerance has no known end."""
    epochs = settings.epochs or 0
    unit = "iteration" if settings.solver == "direct" else "epoch"
    started = False

    def progress(report: Any) -> Progress | None:
        nonlocal started
        if isinstance(report, Step):
            started = True
            if settings.tolerance:
                what = f"{unit} {report.epoch}, at most {epochs}, until converged"
                return Progress(report.epoch, 0, what)
            return Progress(report.epoch, epochs, f"{unit} {report.epoch} of {epochs}")
        if isinstance(report, Progress):
            if report.what:
                return report
            if not started:
                return Progress(0, 0, "preparing")
        return None

    return progress
