"""`isca train`: from a dataset to a model file; it can be stopped without losing what is done."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isca_gui.cli import arguments, printing, progress_bar, targets, train_estimate
from isca_gui.core.storage.files import as_word, command_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.core.progress import Progress
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.steps import Step

    Task = Generator[Any, bool | None, Model]

_integer = arguments.integer
_number = arguments.number

# Option, field of TrainingSettings, type, help. The defaults are those of TrainingSettings.
OPTIONS: tuple[tuple[str, str, Callable[[str], object], str], ...] = (
    ("method", "method", str, "isca, kernel-isca, pca, kernel-pca or random (default: isca)"),
    ("solver", "solver", str, "for isca methods: admm, as published, or direct (default: admm)"),
    ("kernel", "kernel", str, "linear, rbf, sigmoid, polynomial or cosine (default: linear)"),
    ("components", "components", _integer, "dimension p of each block's subspace (default: 4)"),
    ("block", "block", _integer, "side of a block in pixels, 2 to 64 (default: 8)"),
    ("epochs", "epochs", _integer, "maximum epochs (default: 200; 100 for kernel-isca with admm)"),
    ("rho", "rho", _number, "penalty ρ of admm (default: 1; 0.1 for kernel-isca)"),
    ("eta", "eta", _number, "learning rate η of admm (default: 0.1)"),
    ("tol", "tolerance", _number, "stop once below this (default: 0.002; admm runs all epochs)"),
    ("gamma", "gamma", _number, "kernel γ (default: 1 / number of pixels in a block)"),
    ("coef0", "coef0", _number, "offset of the sigmoid and polynomial kernels (default: 1)"),
    ("degree", "degree", _integer, "degree of the polynomial kernel (default: 3)"),
    ("metric", "metric", str, "for kernel-isca with admm: published, or natural, which converges"),
    ("precision", "precision", str, "float32 or float64 (default: float32)"),
    ("seed", "seed", _integer, "random seed of the starting basis (default: 0)"),
)  # fmt: skip
_METAVARS: dict[object, str] = {str: "NAME", _integer: "N", _number: "X"}
# Some shells and wrappers deliver one Ctrl-C twice; within this many seconds it counts once.
_SAME_KEY = 0.3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "dataset",
        metavar="DATASET",
        type=arguments.file_name,
        help="a dataset folder; or a picture or sample:NAME to make the paper's dataset from",
    )
    arguments.add_range(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="MODEL",
        type=arguments.file_name,
        required=True,
        help="the .isca file to write",
    )
    for option, field, kind, sentence in OPTIONS:
        parser.add_argument(
            f"--{option}", dest=field, type=kind, help=sentence, metavar=_METAVARS[kind]
        )
    parser.add_argument(
        "--resume",
        metavar="MODEL",
        type=arguments.file_name,
        help="continue training this model, with its settings, up to --epochs",
    )
    parser.add_argument(
        "--compact",
        action="store_true",
        help="store a kernel model's training pictures in half precision, "
        "provided that this changes none of their verdicts",
    )
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="only tell what this training will cost: time, memory and disk",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a model that is already there"
    )
    arguments.add_threads(parser)
    arguments.add_json(parser)
    parser.epilog = (
        "Ctrl-C stops the training and saves the model of the last complete epoch. --resume "
        "continues from it, with the same result as an uninterrupted training. A second Ctrl-C "
        "quits without saving."
    )


def run(args: argparse.Namespace) -> int:
    """Train a model and save it."""
    from isca_gui.core.model import model_file, training
    from isca_gui.core.recognition import half_precision

    if not args.estimate:
        _check_target(args)
    arguments.check_range(args, args.dataset)
    resumed = model_file.load_model(args.resume) if args.resume else None
    settings = _settings(args, resumed)
    if args.estimate:
        return train_estimate.tell(args, settings)
    train_estimate.ask_first(args, settings)
    dataset = _dataset(args)
    with StopAndKeep() as stop:
        task = training.train(dataset, settings, args.threads, resumed)
        model = run_training(task, settings, stop, quiet=args.json)
        if args.compact and model.end != "stopped":
            compaction = unless_stopped(half_precision.compacted(model), model, stop)
            model = progress_bar.run_with_progress(compaction, "model", quiet=args.json)
        args.output = _free_target(args)
        model_file.save_model(args.output, model)
    if args.json:
        printing.print_json(summary(args.output, model))
    else:
        _print_result(args, model)
    return 0


def describe_model(path: str | os.PathLike[str]) -> dict[str, object]:
    """Return the description of a model file that `isca info` prints."""
    from isca_gui.core.model.model_file import load_model

    model = load_model(path)
    # Models of early versions do not hold the labels of their training pictures.
    labels = model.known.labels if model.known is not None else ()
    return {
        "kind": "model",
        **summary(path, model),
        "width": model.grid.width,
        "height": model.grid.height,
        "blocks": model.grid.count,
        "dataset": model.dataset,
        "classes": {label: labels.count(label) for label in dict.fromkeys(labels)},
        "can_classify": bool(labels),
    }


def summary(path: str | os.PathLike[str], model: Model) -> dict[str, object]:
    """Return the description of a saved model; what is unknown or does not apply is None."""
    settings = model.settings
    last = model.steps[-1] if model.steps else None
    return {
        "file": os.fspath(path),
        "method": settings.method,
        "solver": settings.solver if settings.iterative else None,
        "kernel": settings.kernel if settings.uses_kernel else None,
        "settings": vars(settings),
        "end": model.end,
        "epochs": model.state.epoch,
        "error": _figure(last, "error"),
        "objective": _figure(last, "objective"),
        "primal": _figure(last, "primal"),
        "dual": _figure(last, "dual"),
        "gradient": _figure(last, "gradient"),
        "seconds": model.state.seconds,
        "bytes": os.path.getsize(path),
    }


def _figure(step: Step | None, name: str) -> float | None:
    if step is None:
        return None
    value = float(getattr(step, name))
    return value if math.isfinite(value) else None


# --- the file to write ---------------------------------------------------------------------------


def _check_target(args: argparse.Namespace) -> None:
    """Refuse, before the training, a file that cannot or should not be written."""
    from isca_gui.core.model.model_file import SUFFIX, ModelFileError
    from isca_gui.core.settings import SettingsError

    target = Path(args.output)
    if target.suffix.lower() != SUFFIX:
        raise SettingsError(f"'{target}' must end in {SUFFIX}")
    # Saving follows a symbolic link, so the folder that matters is the one it points into.
    file = Path(os.path.realpath(target)) if target.is_symlink() else target
    folder = file.parent
    if not folder.is_dir():
        raise ModelFileError(
            f"Cannot write '{target.name}': there is no folder '{folder}'. Create it first."
        )
    targets.check_not_in_dataset(args.output, [args.dataset])
    if targets.is_not_a_file(target) or not os.access(folder, os.W_OK):
        raise ModelFileError(f"'{target}' cannot be written. Choose another place.")
    if _must_not_replace(args):
        raise ModelFileError(f"'{target}' already exists. Choose another name or use --overwrite.")


def _must_not_replace(args: argparse.Namespace) -> bool:
    """Whether there is a file at the output that may not be replaced; a resumed model may."""
    target = Path(args.output)
    if args.overwrite or not target.exists():
        return False
    is_resumed = args.resume and Path(args.resume).exists() and target.samefile(args.resume)
    return not is_resumed


def _free_target(args: argparse.Namespace) -> str:
    """Return the file to write: a new name if another program has written the output meanwhile."""
    if not _must_not_replace(args):
        return str(args.output)
    root, suffix = os.path.splitext(args.output)
    names = (f"{root}-{number}{suffix}" for number in itertools.count(2))
    free = next(name for name in names if not os.path.lexists(name))
    printing.print_message(
        f"isca: another program has written '{args.output}' in the meantime; saving as '{free}'"
    )
    return free


# --- what to train -------------------------------------------------------------------------------


def _settings(args: argparse.Namespace, resumed: Model | None) -> TrainingSettings:
    """Return the given settings; the others are those of the resumed model, or the paper's."""
    from isca_gui.core.methods import KERNEL_FIELDS
    from isca_gui.core.settings import SettingsError, TrainingSettings

    given = {field: getattr(args, field) for _, field, _, _ in OPTIONS}
    given = {field: value for field, value in given.items() if value is not None}
    start = resumed.settings if resumed else TrainingSettings()
    settings = replace(start, **given).resolved()
    if not settings.uses_kernel:
        useless = sorted(KERNEL_FIELDS & set(given))
        if args.compact:
            useless.append("compact")
        if useless:
            raise SettingsError(
                f"--{min(useless)} does not apply to {settings.method}; "
                "use it with --method kernel-isca or kernel-pca"
            )
    if resumed is None:
        return settings
    # The dataset is compared when it has been read.
    obstacle = resumed.resume_obstacle(settings, same_dataset=True)
    if obstacle:
        raise SettingsError(f"'{args.resume}' cannot be resumed: {obstacle}")
    return settings


def _dataset(args: argparse.Namespace) -> Dataset:
    """Return the dataset of a folder, or make the paper's dataset from a picture."""
    from isca_gui.core.distortion import dataset, dataset_folder
    from isca_gui.core.distortion.dataset_spec import DatasetSpec
    from isca_gui.core.pictures import image, samples

    if os.path.isdir(args.dataset):
        task = dataset_folder.load(args.dataset)
    else:
        reference = image.read(samples.resolve(args.dataset), value_range=args.value_range)
        task = dataset.generate(reference, DatasetSpec(), args.threads)
    return progress_bar.run_with_progress(task, "dataset", quiet=args.json)


def _print_result(args: argparse.Namespace, model: Model) -> None:
    settings = model.settings
    if model.end == "stopped":
        epochs = f"epoch {model.state.epoch} of {settings.epochs}"
        print(f"stopped; {args.output} contains the model of {epochs}")
        print(f"to continue: {_command_to_continue(args)}")
        return
    parts = [settings.method]
    if settings.iterative:
        verb = "converged after" if model.end == "converged" else "ran"
        parts.append(f"{verb} {_epochs(model.state.epoch)}")
    if model.steps:
        last = model.steps[-1]
        parts.append(f"error {last.error:.4f}, objective {last.objective:.4f}")
    else:
        parts.append("no figures")
    parts.append(f"{os.path.getsize(args.output) / 1e6:.1f} MB")
    print(f"{args.output}: {', '.join(parts)}")


def _epochs(count: int) -> str:
    return "1 epoch" if count == 1 else f"{count} epochs"


def _command_to_continue(args: argparse.Namespace) -> str:
    """Return the command line that resumes a stopped training."""
    file = as_word(args.output)
    words = ["isca", "train", as_word(args.dataset), *arguments.range_words(args)]
    words += ["-o", file, "--resume", file]
    # All other settings are stored in the model.
    if args.compact:
        words.append("--compact")
    return command_line(words)


# --- running and stopping ------------------------------------------------------------------------


class StopAndKeep:
    """Handles Ctrl-C and SIGTERM: the first asks the training to stop, a second quits at once."""

    def __init__(self) -> None:
        self.asked = False
        self._asked_at = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopAndKeep:
        for number in (signal.SIGINT, signal.SIGTERM):
            # A background job is started with the signal ignored, and it stays so.
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, *_: object) -> None:
        now = time.monotonic()
        if not self.asked:
            self.asked = True
            self._asked_at = now
        elif now - self._asked_at > _SAME_KEY:
            raise KeyboardInterrupt


def run_training(
    task: Task, settings: TrainingSettings, stop: StopAndKeep, *, quiet: bool = False
) -> Model:
    """Run a training to its end, or to the end of the current epoch once a stop is asked for.

    Parameters
    ----------
    task
        The generator of `training.train`. It is sent whether to stop.
    settings
        The settings of the training, from which the number of epochs is taken.
    stop
        Whether the user has asked to stop.
    quiet
        Whether to show no progress.
    """
    from isca_gui.core.progress import run

    pace = Pace(settings)
    has_told = False
    display = progress_bar.status_display("train", total=pace.total, quiet=quiet)
    with display as show, contextlib.closing(task):
        # Shown before the first report, because compiling the solver can take a while.
        show(str(pace), pace.done, stage=pace.started)

        def on_report(report: Step | Progress) -> bool:
            nonlocal has_told
            pace.update(report)
            show(str(pace), pace.done, stage=pace.started)
            if stop.asked and not has_told:
                has_told = True
                printing.print_message("train: stopping; press Ctrl-C again to quit without saving")
            return stop.asked

        return run(task, on_report)


def unless_stopped(
    task: Generator[Progress, None, Model], model: Model, stop: StopAndKeep
) -> Generator[Progress, None, Model]:
    """Run a task that turns the model into another one; if stopped, return the model unchanged."""
    from isca_gui.core.progress import Cancelled, relay

    def unless_asked(report: Progress) -> Progress:
        if stop.asked:
            raise Cancelled("Stopped while the model was being converted.")
        return report

    try:
        return (yield from relay(task, unless_asked))
    except Cancelled:
        printing.print_message("train: stopping; the model is saved as it is")
        return model


class Pace:
    """Tracks how far a training is and estimates the time left.

    The rate is measured from the end of the first epoch, which may have waited for the compiler.
    """

    def __init__(self, settings: TrainingSettings) -> None:
        resolved = settings.resolved()
        self._has_epochs = settings.iterative
        self.total = 1
        self._first_stage = f"computing {settings.method}"
        if self._has_epochs:
            self.total = resolved.epochs or 1
            self._first_stage = "preparing the solver"
        # With a tolerance the training can converge before the last epoch.
        self._may_end_early = bool(resolved.tolerance)
        self._pieces = (0, 0)
        self._in_bands = False
        self._step: Step | None = None
        # The epoch and the time from which the rate is measured.
        self._start = (0, 0.0)

    @property
    def started(self) -> bool:
        """Whether an epoch is complete."""
        return self._step is not None

    @property
    def done(self) -> float:
        """The number of complete epochs, plus the finished part of the current one."""
        done, total = self._pieces
        if self._step is None:
            # Of a training in bands all epochs of some blocks are complete.
            return self.total * done / max(total, 1) if self._in_bands else 0.0
        return self._step.epoch + done / max(total, 1)

    def update(self, report: Any) -> None:
        """Take note of a report: a Step at the end of an epoch, or the progress within one."""
        from isca_gui.core.model.banded_training import TRAINING_BLOCKS
        from isca_gui.core.solvers.steps import Step

        if not isinstance(report, Step):
            self._pieces = (report.done, report.total)
            if report.what:
                self._first_stage = report.what
                self._in_bands = report.what == TRAINING_BLOCKS
            return
        if self._step is None:
            self._start = (report.epoch, time.monotonic())
        self._step = report
        self._pieces = (0, 0)

    def seconds_left(self) -> float | None:
        """Return the estimated time to the last epoch, or None if too little was measured."""
        first, began = self._start
        epochs = self.done - first
        if self._step is None or epochs < 0.1:
            return None
        return (self.total - self.done) * (time.monotonic() - began) / epochs

    def __str__(self) -> str:
        if self._step is None:
            done, total = self._pieces
            return f"{self._first_stage}, {done} of {total}" if total else self._first_stage
        step = self._step
        what = f"epoch {step.epoch} of {self.total}" if self._has_epochs else "done"
        text = f"{what}, error {step.error:.4f}, objective {step.objective:.4f}"
        left = self.seconds_left()
        if left is None or step.epoch >= self.total:
            return text
        bound = "at most" if self._may_end_early else "about"
        return f"{text}, {bound} {progress_bar.duration(left)} left"
