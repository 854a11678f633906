"""What the buttons and menus do: jobs started on what the session holds, results put back into it."""

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
from isca_gui.core.pictures import image, samples
from isca_gui.core.pictures.decoding import check_size
from isca_gui.core.progress import Cancelled, Progress
from isca_gui.core.solvers.steps import State, Step
from isca_gui.jobs import pace
from isca_gui.jobs.previews import make_preview
from isca_gui.jobs.recognition_queue import RecognitionQueue
from isca_gui.jobs.runner import highest_priority
from isca_gui.session.session import Reference, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from numpy.typing import NDArray

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.jobs.previews import Preview
    from isca_gui.jobs.runner import Job, JobRunner
    from isca_gui.session.session import Session, SessionState, TestedPicture

    Picture = NDArray[np.float32]

MODEL_SUFFIX = ".isca"  # core.archive.SUFFIX, without importing it
PICTURE_FILTER = (
    "Pictures (*.png *.jpg *.jpeg *.tif *.tiff *.bmp *.webp *.pgm *.ppm *.pnm *.gif);;All files (*)"
)


class Actions(QObject):
    """The things a person can do, without any widget."""

    picture_opened = Signal(str)  # a path or sample name, for the list of recent files

    def __init__(self, session: Session, jobs: JobRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session, self._jobs = session, jobs
        self._recognising = RecognitionQueue(session, jobs, self)
        jobs.unwritten.connect(self._on_unwritten)
        self._wrong: dict[str, Callable[[], str]] = {"dataset": str, "training": str}

    def set_validator(self, job: str, wrong: Callable[[], str]) -> None:
        """Let a form tell what is wrong in it: its job is not begun with other values than it shows."""
        self._wrong[job] = wrong

    # --- reference ------------------------------------------------------------------------------------------

    def open_picture(self, path: str | os.PathLike[str]) -> None:
        """Read a picture file, or `sample:NAME`, as the reference."""
        name = os.fspath(path)
        sample = name.startswith(samples.PREFIX)
        title = name.removeprefix(samples.PREFIX) if sample else Path(name).name

        def done(picture: Picture) -> None:
            self._session.set_reference(Reference(title, picture, name))
            self.picture_opened.emit(name)

        self._jobs.run(
            "open", f"Opening {title}", lambda: image.read(samples.resolve(name)), done=done
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
            "open",
            f"Opening {name}",
            lambda: grey(pasted),
            done=lambda picture: self._session.set_reference(Reference(name, picture)),
        )

    # --- dataset --------------------------------------------------------------------------------------------

    def generate(self) -> None:
        """Make the dataset of the reference."""
        reference, spec = self._session.reference, self._session.spec
        wrong = self._wrong["dataset"]()
        if reference is None or wrong:
            self._session.say(
                "warning", wrong or "There is no reference picture yet. Open one first."
            )
            return

        def make() -> Generator[Progress, None, tuple[Dataset, str]]:
            made = yield from dataset.generate(reference.picture, spec)
            return made, made.digest()

        def done(result: tuple[Dataset, str]) -> None:
            made, digest = result
            self._session.set_dataset(made, digest, reference)
            self._say_made(made)

        self._jobs.start("dataset", "Generating the dataset", make, done=done)

    def stop_generating(self) -> None:
        """Stop making the dataset; the one that was there stays."""
        self._jobs.stop("dataset")

    def preview(self, kind: str, mse: float, done: Callable[[Preview], None]) -> None:
        """Make the picture that the dataset would hold for a kind and MSE; only the newest wish counts."""
        reference, seed = self._session.reference, self._session.spec.seed
        if reference is None:
            return
        self._jobs.run(
            "preview",
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
        """Write the dataset to a folder: that of the work when it was asked for, or of now."""
        made = (work or self._session.work).dataset
        if made is None:
            self._session.say("warning", "There is no dataset yet. Generate one first.")
            return
        self._jobs.start(
            f"save dataset {os.fspath(folder)}", "Saving the dataset",
            lambda: dataset_folder.save(made, folder, overwrite=overwrite),
            done=lambda path: self._session.say("info", f"The dataset was saved in '{path}'."), writes=True,
        )  # fmt: skip

    def import_folder(self, folder: str | os.PathLike[str]) -> None:
        """Read a dataset folder or one with a subfolder per label; its original becomes the reference."""
        if self._jobs.running("dataset"):
            self._session.say(
                "warning", "A dataset is being made or read already. Stop that first."
            )
            return

        before = self._session.reference

        def make() -> Generator[Progress, None, tuple[Dataset, str]]:
            made = yield from dataset_folder.load(folder)
            return made, made.digest()

        def done(result: tuple[Dataset, str]) -> None:
            made, digest = result
            reference = Reference(f"{Path(folder).name} (original)", made.reference, None)
            if self._session.reference is before:  # else another was opened since, and stays
                self._session.set_reference(reference)
                if made.spec is not None:
                    self._session.set_spec(made.spec)
            self._session.set_dataset(made, digest, reference)
            self._say_made(made)

        self._jobs.start("dataset", "Importing the folder", make, done=done)

    def _say_made(self, made: Dataset) -> None:
        missed = len(made.unreachable)
        tail = (
            f"; {missed} levels cannot be reached by this picture and were left out"
            if missed
            else ""
        )
        self._session.say("info", f"The dataset has {len(made.entries)} pictures{tail}.")

    # --- training -------------------------------------------------------------------------------------------

    def train(self, resume: Run | None = None) -> None:
        """Train on the dataset; with `resume`, go on from where that run stands."""
        session = self._session
        data, settings = session.dataset, session.settings
        if data is None:
            session.say("warning", "There is no dataset yet. Generate one first.")
            return
        wrong = self._wrong["training"]()
        if wrong or self._jobs.running("training"):
            busy = "A training is under way already. Stop it first; what it has is kept."
            session.say("warning", wrong or busy)
            return
        model = resume.model if resume is not None else None
        session.begin_run(settings, model.steps if model is not None else ())
        title = f"Training {session.live.name}" if session.live else "Training"
        self._jobs.start(
            "training", title, lambda: _train(data, settings, model), keep=True,
            done=self._on_trained, reports=self._on_steps, failed=self._on_training_failed,
            progress=_progress_of(settings.resolved()),
        )  # fmt: skip

    def stop_training(self) -> None:
        """Stop the training and keep the model of the last whole epoch."""
        self._jobs.stop("training")

    def evaluate_all(self, run_numbers: Sequence[int]) -> None:
        """Evaluate runs one after the other until one is stopped: each takes all cores.

        Those that somebody has evaluated by themselves meanwhile are passed over.
        """
        runs = filter(None, map(self._session.run_of, run_numbers))
        left = [
            run.number
            for run in runs
            if run.evaluation is None and not self._evaluating(run.number)
        ]
        if left:
            self.evaluate(left[0], then=lambda: self.evaluate_all(left[1:]))

    def _evaluating(self, run_number: int) -> bool:
        return self._jobs.running(f"evaluation {run_number}")

    def evaluate(self, run_number: int, then: Callable[[], None] | None = None) -> None:
        """Find out how often each training picture would be recognised if it were not known."""
        run = self._session.run_of(run_number)
        if run is None:
            return

        def make() -> Generator[Any, Any, Any]:
            from isca_gui.core.recognition.evaluation import leave_one_out

            return (yield from leave_one_out(run.model))

        def done(result: Any) -> None:
            current = self._session.run_of(run_number)
            if current is not None:
                self._session.replace_run(replace(current, evaluation=result))
            if then is not None:
                then()

        failed = (lambda _: then()) if then is not None else None
        title = f"Evaluating {run.name}"
        self._jobs.start(f"evaluation {run_number}", title, make, done=done, failed=failed)

    def save_model(self, run: Run | int, path: str | os.PathLike[str]) -> None:
        """Write a run's model to a file."""
        found = run if isinstance(run, Run) else self._session.run_of(run)
        if found is None:
            self._session.say("warning", "There is no model yet. Train one first.")
            return
        self._jobs.run(
            f"save model {os.fspath(path)}", f"Saving {found.name}", lambda: _save(path, found.model),
            done=lambda _: self._session.say("info", f"{found.name} was saved as '{os.fspath(path)}'."),
            writes=True,
        )  # fmt: skip

    def load_model(self, path: str | os.PathLike[str]) -> None:
        """Read a model file as a run."""
        name = Path(path).name

        def done(model: Model) -> None:
            self._session.add_model(name, model)
            self._session.say("info", f"The model '{name}' was opened.")

        self._jobs.run(
            f"load model {os.fspath(path)}", f"Opening {name}", lambda: _load(path), done=done
        )

    def _on_steps(self, reports: list[Any]) -> None:
        self._session.add_steps([report for report in reports if isinstance(report, Step)])
        for state in [report for report in reports if isinstance(report, State)][-1:]:
            self._session.keep_state(state)

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

    # --- recognition ----------------------------------------------------------------------------------------

    def recognise_files(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        """Read picture files and recognise what was done to each."""
        self._recognising.files(paths)

    def recognise_picture(self, name: str, picture: Picture, truth: str = "") -> None:
        """Recognise what was done to a picture that is there already."""
        self._recognising.picture(name, picture, truth)

    def recognise_made(self, kind: str, mse: float, seed: int, hidden: bool = False) -> None:
        """Distort the reference and recognise that; hidden, its name and truth do not tell what it is."""
        self._recognising.made(kind, mse, seed, hidden)

    def mystery(self) -> None:
        """Distort the reference at random, among the kinds and levels of the dataset, and keep it secret."""
        spec, made = self._session.spec, self._session.dataset
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
        self._recognising.made(kind, mse, int(random.integers(2**31)), hidden=True)

    def recognise_again(self, tested: Iterable[TestedPicture] | None = None) -> None:
        """Recognise pictures that are there already once more, with the selected run."""
        self._recognising.again(self._session.tested if tested is None else tested)

    def save_answers(self, path: str | os.PathLike[str], work: SessionState | None = None) -> None:
        """Write what was recognised in all test pictures, of some work or of now, to a CSV table."""
        self._recognising.save(path, work or self._session.work)

    def reveal(self, number: int) -> None:
        """Tell the truth about a mystery picture."""
        for test in self._session.tested:
            if test.number == number and test.secret:
                self._session.replace_tested(replace(test, truth=test.whole_truth))

    # --- the rest -------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Compile what training calls, or read it from the cache, before anybody waits for it."""
        settings = self._session.settings

        def work() -> None:
            from isca_gui.core.solvers import compiled_loops

            compiled_loops.prepare(settings.components, settings.precision)
            gc.freeze()  # all modules are loaded: looking through them again would hold up the window

        self._jobs.run("prepare", "Preparing the solver (some seconds, the first time only)", work)

    def stop(self) -> None:
        """Stop the weightiest job that can be stopped, else the newest; what is being written comes last."""
        jobs = [job for job in self._jobs.jobs() if job.stoppable and not job.stopping]
        jobs.sort(key=lambda job: not job.writes)
        heavy = highest_priority(jobs)
        if heavy is not None:
            self.stop_job(heavy)

    def stop_job(self, job: Job) -> None:
        """Stop a job."""
        self._jobs.stop(job.name)

    def _on_unwritten(self, job: Job) -> None:
        self._session.say(
            "warning", f"{job.title} was stopped. What it was to replace is as it was."
        )


def grey(pasted: QImage) -> Picture:
    """Turn a picture of the clipboard into grey float32 in [0, 1], as files are."""
    wide = pasted.convertToFormat(QImage.Format.Format_RGBA8888)
    height, width = wide.height(), wide.width()
    pixels = np.frombuffer(wide.constBits(), np.uint8).reshape(height, wide.bytesPerLine())[
        :, : 4 * width
    ]
    channels = pixels.reshape(height, width, 4).astype(np.float32) / np.float32(255)
    level = channels[..., :3] @ np.array(image.LUMA, np.float32)
    return np.ascontiguousarray(
        1 + channels[..., 3] * (level - 1)
    )  # what is transparent lies on white


def _train(
    data: Dataset, settings: TrainingSettings, resume: Model | None
) -> Generator[Any, bool | None, Model]:
    from isca_gui.core.model import training

    return (
        yield from training.train(data, settings, resume=resume, due=pace.every(pace.interval()))
    )


def _save(path: str | os.PathLike[str], model: Model) -> None:
    from isca_gui.core.model import model_file

    model_file.save_model(path, model)


def _load(path: str | os.PathLike[str]) -> Model:
    from isca_gui.core.model import model_file

    return model_file.load_model(path)


def _is_kind(label: str) -> bool:
    return all(part in DISTORTIONS for part in label.split("+"))


def _progress_of(settings: TrainingSettings) -> Callable[[Any], Progress | None]:
    """Say how far a training is; where it ends when converged, nobody knows how far that is."""
    epochs, open_end = settings.epochs or 0, bool(settings.tolerance)
    unit = "iteration" if settings.solver == "direct" else "epoch"

    started = False

    def progress(report: Any) -> Progress | None:
        nonlocal started
        if isinstance(report, Step):
            started = True
            if open_end:
                return Progress(
                    report.epoch, 0, f"{unit} {report.epoch}, at most {epochs}, until converged"
                )
            return Progress(report.epoch, epochs, f"{unit} {report.epoch} of {epochs}")
        if isinstance(report, Progress) and report.what:
            return report
        return Progress(0, 0, "preparing") if isinstance(report, Progress) and not started else None

    return progress
