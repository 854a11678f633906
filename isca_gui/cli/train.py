"""`isca train`: from a dataset to a model file, with a way to stop and keep what is done."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isca_gui.cli import common
from isca_gui.core.storage.files import as_word, command_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Iterator

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.core.progress import Progress
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.steps import Step

    Task = Generator[Any, bool | None, Model]

# option, field of TrainingSettings, type, what it is; defaults are those of TrainingSettings
OPTIONS: tuple[tuple[str, str, Callable[[str], object], str], ...] = (
    ("method", "method", str, "isca, kernel-isca, pca, kernel-pca or random (default: isca)"),
    (
        "solver",
        "solver",
        str,
        "of isca and kernel-isca: admm, as published, or direct (default: admm)",
    ),
    ("kernel", "kernel", str, "linear, rbf, sigmoid, polynomial or cosine (default: linear)"),
    (
        "components",
        "components",
        common.whole,
        "dimensions p of each block's subspace (default: 4)",
    ),
    ("block", "block", common.whole, "side of a block in pixels, 2 to 64 (default: 8)"),
    ("epochs", "epochs", common.whole, "most epochs (default: 200, of kernel-isca by admm 100)"),
    ("rho", "rho", common.number, "penalty ρ of admm (default: 1, of kernel-isca 0.1)"),
    ("eta", "eta", common.number, "learning rate η of admm (default: 0.1)"),
    (
        "tol",
        "tolerance",
        common.number,
        "converged below this (default: admm runs all epochs, direct 0.001)",
    ),
    ("gamma", "gamma", common.number, "γ of the kernel (default: 1 / pixels of a block)"),
    ("coef0", "coef0", common.number, "constant of sigmoid and polynomial (default: 1)"),
    ("degree", "degree", common.whole, "degree of polynomial (default: 3)"),
    ("metric", "metric", str, "of kernel-isca by admm: published, or natural, which converges"),
    ("precision", "precision", str, "float32 or float64 (default: float32)"),
    ("seed", "seed", common.whole, "seed of the start (default: 0)"),
)
_METAVARS: dict[object, str] = {str: "NAME", common.whole: "N", common.number: "X"}
_SECONDS_BETWEEN_LINES = 2.0
_SAME_KEY = 0.3  # seconds within which a signal sent twice is one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    parser.add_argument(
        "dataset", metavar="DATASET", type=common.name,
        help="a dataset folder; or a picture or sample:NAME, of which the paper's dataset is made first",
    )  # fmt: skip
    common.add_range(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="MODEL",
        type=common.name,
        required=True,
        help="the .isca file to write",
    )
    for option, field, kind, sentence in OPTIONS:
        parser.add_argument(
            f"--{option}", dest=field, type=kind, help=sentence, metavar=_METAVARS[kind]
        )
    parser.add_argument(
        "--resume", metavar="MODEL", type=common.name,
        help="go on with this model and its settings, up to --epochs",
    )  # fmt: skip
    parser.add_argument(
        "--compact", action="store_true",
        help="keep a kernel model's pictures in half precision if that changes no training picture's verdict",
    )  # fmt: skip
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a model that stands there"
    )
    common.add_threads(parser)
    common.add_json(parser)
    parser.epilog = (
        "Ctrl-C stops and keeps the model of the last whole epoch; --resume goes on from it and ends in the "
        "same model as an uninterrupted training. A second Ctrl-C leaves without saving."
    )


def run(args: argparse.Namespace) -> int:
    """Train and save a model."""
    from isca_gui.core.model import model_file, training
    from isca_gui.core.recognition import half_precision

    _check_target(args)
    common.check_range(args, args.dataset)
    resumed = model_file.load_model(args.resume) if args.resume else None
    settings = _settings(args, resumed)
    dataset = _dataset(args)
    with StopAndKeep() as stop:
        task = training.train(dataset, settings, args.threads, resumed)
        model = run_training(task, settings, stop, quiet=args.json)
        if args.compact and model.end != "stopped":
            smaller = unless_stopped(half_precision.compacted(model), model, stop)
            model = common.run_with_progress(smaller, "model", quiet=args.json)
        args.output = _free_place(args)
        model_file.save_model(args.output, model)
    if args.json:
        common.print_json(summary(args.output, model))
    else:
        _print_result(args, model)
    return 0


def describe_model(path: str | os.PathLike[str]) -> dict[str, object]:
    """Describe a model file for `isca info`."""
    from isca_gui.core.model.model_file import load_model

    model = load_model(path)
    size = {"width": model.grid.width, "height": model.grid.height, "blocks": model.grid.count}
    labels = model.known.labels if model.known is not None else ()
    knows = {
        "classes": {label: labels.count(label) for label in dict.fromkeys(labels)},
        "can_classify": bool(
            labels
        ),  # a model of an earlier version may not remember what it was shown
    }
    return {"kind": "model", **summary(path, model), **size, "dataset": model.dataset, **knows}


def summary(path: str | os.PathLike[str], model: Model) -> dict[str, object]:
    """Describe a saved model for a JSON document; what is not known, or does not apply, is None."""
    settings, last = model.settings, model.steps[-1] if model.steps else None
    return {
        "file": os.fspath(path),
        "method": settings.method,
        "solver": settings.solver if settings.iterative else None,
        "kernel": settings.kernel if settings.uses_kernel else None,
        "settings": vars(settings),
        "end": model.end,
        "epochs": model.state.epoch,
        **{
            name: _figure(last, name)
            for name in ("error", "objective", "primal", "dual", "gradient")
        },
        "seconds": model.state.seconds,
        "bytes": os.path.getsize(path),
    }


def _figure(step: Step | None, name: str) -> float | None:
    value = math.nan if step is None else float(getattr(step, name))
    return value if math.isfinite(value) else None


def _check_target(args: argparse.Namespace) -> None:
    """Refuse before the work, not after it, a file that could not or should not be written."""
    from isca_gui.core.model.model_file import SUFFIX, ModelFileError
    from isca_gui.core.settings import SettingsError

    target = Path(args.output)
    folder = Path(os.path.realpath(target) if target.is_symlink() else target).parent
    if target.suffix.lower() != SUFFIX:
        raise SettingsError(f"'{target}' must end in {SUFFIX}")
    if not folder.is_dir():
        raise ModelFileError(
            f"There is no folder '{folder}' to write '{target.name}' to. Make it first."
        )
    common.check_place(args.output, [args.dataset])
    if common.is_unfit(target) or not os.access(folder, os.W_OK):
        raise ModelFileError(f"'{target}' cannot be written. Choose another place.")
    if _must_stay(args):
        raise ModelFileError(
            f"'{target}' is there already. Choose another name or say --overwrite."
        )


def _must_stay(args: argparse.Namespace) -> bool:
    """Tell whether something stands at the output that nobody has said to replace."""
    target = Path(args.output)
    same = (
        args.resume
        and target.exists()
        and Path(args.resume).exists()
        and target.samefile(args.resume)
    )
    return target.exists() and not same and not args.overwrite


def _free_place(args: argparse.Namespace) -> str:
    """Give the file to write: another one beside a model that somebody has put there meanwhile."""
    if not _must_stay(args):
        return str(args.output)
    root, suffix = os.path.splitext(args.output)
    names = (f"{root}-{number}{suffix}" for number in count(2))
    free = next(name for name in names if not os.path.lexists(name))
    common.say(
        f"isca: '{args.output}' was written by another meanwhile; this model goes to '{free}'"
    )
    return free


def _settings(args: argparse.Namespace, resumed: Model | None) -> TrainingSettings:
    """Take what was said, for the rest the settings of the model to resume or the paper's."""
    from dataclasses import replace

    from isca_gui.core.methods import KERNEL_FIELDS
    from isca_gui.core.model import training
    from isca_gui.core.settings import SettingsError, TrainingSettings

    given = {
        field: getattr(args, field)
        for _, field, _, _ in OPTIONS
        if getattr(args, field) is not None
    }
    settings = replace(resumed.settings if resumed else TrainingSettings(), **given).resolved()
    useless = sorted((KERNEL_FIELDS & set(given)) | ({"compact"} if args.compact else set()))
    if useless and not settings.uses_kernel:
        raise SettingsError(
            f"--{useless[0]} is of no use to {settings.method}; say --method kernel-isca or kernel-pca"
        )
    if resumed is None:
        return settings
    training.check_resume(resumed, settings, resumed.dataset)
    assert settings.epochs is not None
    if resumed.state.epoch >= settings.epochs:
        raise SettingsError(
            f"'{args.resume}' has had its {resumed.state.epoch} epochs; say --epochs with a higher number"
        )
    return settings


def _dataset(args: argparse.Namespace) -> Dataset:
    """Read the dataset folder, or make the paper's dataset of a picture."""
    from isca_gui.core.distortion import dataset, dataset_folder
    from isca_gui.core.pictures import image, samples
    from isca_gui.core.settings import DatasetSpec

    if os.path.isdir(args.dataset):
        return common.run_with_progress(
            dataset_folder.load(args.dataset), "dataset", quiet=args.json
        )
    reference = image.read(samples.resolve(args.dataset), value_range=args.value_range)
    task = dataset.generate(reference, DatasetSpec(), args.threads)
    return common.run_with_progress(task, "dataset", quiet=args.json)


def _print_result(args: argparse.Namespace, model: Model) -> None:
    settings, last = model.settings, model.steps[-1] if model.steps else None
    if model.end == "stopped":
        print(
            f"stopped; {args.output} keeps the model of epoch {model.state.epoch} of {settings.epochs}"
        )
        data, kept = as_word(args.dataset), as_word(args.output)
        words = ["isca", "train", data, *common.range_words(args), "-o", kept, "--resume", kept]
        words += (
            ["--compact"] if args.compact else []
        )  # of all that was said, only this is not in the model
        print(f"to go on: {command_line(words)}")
        return
    how = {"converged": "converged after", "max_epochs": "ran"}[model.end]
    epochs = f"{how} {model.state.epoch} epochs, " if settings.iterative else ""
    figures = f"error {last.error:.4f}, objective {last.objective:.4f}" if last else "no figures"
    megabytes = os.path.getsize(args.output) / 1e6
    print(f"{args.output}: {settings.method}, {epochs}{figures}, {megabytes:.1f} MB")


class StopAndKeep:
    """Takes over Ctrl-C and SIGTERM: the first asks to stop and keep, a second leaves at once."""

    def __init__(self) -> None:
        self.asked = False
        self._since = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopAndKeep:
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) not in (
                signal.SIG_IGN,
                None,
            ):  # ignored in a background job: so be it
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, *_: object) -> None:
        now = time.monotonic()
        if self.asked and now - self._since > _SAME_KEY:
            raise KeyboardInterrupt
        if not self.asked:
            self.asked, self._since = True, now


def run_training(
    task: Task, settings: TrainingSettings, stop: StopAndKeep, *, quiet: bool = False
) -> Model:
    """Run a training to its end, or to the end of the last whole epoch once `stop` is asked for."""
    from isca_gui.core.progress import run

    pace = Pace(settings)
    told = False
    with _display(pace, quiet=quiet) as show, contextlib.closing(task):
        show()  # before the start: compiling the solver for the first time takes a while

        def on_report(report: Step | Progress) -> bool:
            nonlocal told
            pace.see(report)
            show()
            if stop.asked and not told:
                told = True
                common.say("train: stopping; once more to leave without saving")
            return stop.asked

        return run(task, on_report)


def unless_stopped(
    task: Generator[Progress, None, Model], model: Model, stop: StopAndKeep
) -> Generator[Progress, None, Model]:
    """Go on with a task that makes another model of one; stopped, that one is kept as it is."""
    from isca_gui.core.progress import Cancelled, relay

    def unless_asked(report: Progress) -> Progress:
        if stop.asked:
            raise Cancelled("Stopped while another model was made of the one there is.")
        return report

    try:
        return (yield from relay(task, unless_asked))
    except Cancelled:
        common.say("train: stopping; the model is saved as it is")
        return model


class Pace:
    """How far a training is and how fast it goes.

    The rate is measured from the end of the first epoch on, which may have had to wait for the compiler.
    """

    def __init__(self, settings: TrainingSettings) -> None:
        resolved, self._counts = settings.resolved(), settings.iterative
        self.total = resolved.epochs or 1 if self._counts else 1
        self._first = "preparing the solver" if self._counts else f"computing {settings.method}"
        self._early = bool(resolved.tolerance)  # it may end before its last epoch
        self._pieces = (0, 0)
        self._step: Step | None = None
        self._start = (0, 0.0)  # epoch and time from which the rate is measured

    @property
    def started(self) -> bool:
        """Whether an epoch is done."""
        return self._step is not None

    @property
    def done(self) -> float:
        """Epochs done, with the part that is done of the one that runs."""
        pieces, of = self._pieces
        return self._step.epoch + pieces / max(of, 1) if self._step else 0.0

    def see(self, report: Any) -> None:
        """Take in a Step or a Progress."""
        from isca_gui.core.solvers.steps import Step

        if not isinstance(report, Step):
            self._pieces = (report.done, report.total)
            return
        if self._step is None:
            self._start = (report.epoch, time.monotonic())
        self._step, self._pieces = report, (0, 0)

    def left(self) -> float | None:
        """Seconds to the last epoch at the rate so far; None before a tenth of an epoch was measured."""
        epochs = self.done - self._start[0]
        if self._step is None or epochs < 0.1:
            return None
        return (self.total - self.done) * (time.monotonic() - self._start[1]) / epochs

    def __str__(self) -> str:
        if self._step is None:
            pieces, of = self._pieces
            return f"{self._first}, {pieces} of {of}" if of else self._first
        step, left = self._step, self.left()
        what = f"epoch {step.epoch} of {self.total}" if self._counts else "done"
        text = f"{what}, error {step.error:.4f}, objective {step.objective:.4f}"
        if left is None or step.epoch >= self.total:
            return text
        return f"{text}, {'at most' if self._early else 'about'} {duration(left)} left"


def duration(seconds: float) -> str:
    """Say a time in the unit that suits it."""
    whole = math.ceil(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 100 * 60:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@contextlib.contextmanager
def _display(pace: Pace, *, quiet: bool) -> Iterator[Callable[[], None]]:
    """Give what is to be called after every report: a bar on a terminal, plain lines otherwise."""
    if quiet:
        yield lambda: None
    elif not sys.stderr.isatty():
        yield _Lines(pace)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (TextColumn("train:"), BarColumn(20), TextColumn("{task.description}"))
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            row = bar.add_task(str(pace), total=pace.total)
            yield lambda: bar.update(row, completed=pace.done, description=str(pace))


class _Lines:
    """A line at the start, one after the first epoch, and then at most every two seconds."""

    def __init__(self, pace: Pace) -> None:
        self._pace, self._last, self._started = pace, -math.inf, False

    def __call__(self) -> None:
        now = time.monotonic()
        if now - self._last < _SECONDS_BETWEEN_LINES and self._pace.started == self._started:
            return
        self._last, self._started = now, self._pace.started
        common.say(f"train: {self._pace}")
