"""`isca evaluate`: how well a model recognises pictures, or how methods compare on one dataset."""

from __future__ import annotations

import csv
import io
import math
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from isca_gui.cli import arguments, printing, progress_bar, targets

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.recognition.evaluation import FreshScores, LeaveOneOut
    from isca_gui.core.recognition.method_comparison import Row
    from isca_gui.core.recognition.recogniser import Recogniser
    from isca_gui.core.settings import TrainingSettings


class Figure(NamedTuple):
    """A figure of `evaluation.FreshScores` and how it is printed."""

    name: str
    heading: str
    is_share: bool
    sentence: str


FIGURES = (
    Figure("singles", "singles", True, "one distortion: correct verdict"),
    Figure("level_error", "level error", True, "its MSE: median error (lower is better)"),
    Figure("level_correlation", "level corr.", False, "its MSE: rank correlation with the truth"),
    Figure("called_mixtures", "mixtures", True, "one distortion called two (lower is better)"),
    Figure("called_unlike", "unlike", True, "one distortion not recognised (lower is better)"),
    Figure("one_of_two", "one of two", True, "two distortions: the verdict names one or both"),
    Figure("top_two", "top two", True, "two distortions: they are the two most likely ones"),
    Figure("unlike", "AUROC", False, "untrained distortions detected (AUROC, 0.5 is chance)"),
)
COLUMNS = (
    "name",
    "method",
    "solver",
    "kernel",
    "components",
    "block",
    "seconds",
    "accuracy",
    "block_accuracy",
    *(figure.name for figure in FIGURES),
    "unreachable",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "source",
        metavar="MODEL|DATASET",
        type=arguments.file_name,
        help="a model file (.isca) to evaluate; or a dataset folder, a picture or sample:NAME "
        "to compare methods on",
    )
    parser.add_argument(
        "--fresh",
        metavar="N",
        type=arguments.integer,
        default=0,
        help="also test N new pictures of each distortion, of each pair of distortions, "
        "and of each of four untrained distortions",
    )
    parser.add_argument(
        "--reference",
        metavar="IMAGE",
        type=arguments.file_name,
        help="for a model with --fresh: the picture or dataset folder that it was trained on",
    )
    arguments.add_range(parser)
    parser.add_argument(
        "--methods",
        metavar="A,B,…",
        help="for a dataset: methods of 'isca train', each optionally followed by a colon and "
        "a solver or kernel, such as isca:direct,kernel-isca:rbf,pca (default: isca); "
        "random and pixels are always added",
    )
    arguments.add_recognition(parser)
    parser.add_argument(
        "--seed",
        metavar="N",
        type=arguments.integer,
        default=1,
        help="random seed of the new pictures (default: %(default)s)",
    )
    parser.add_argument(
        "--csv", metavar="FILE", type=arguments.file_name, help="write the table to this .csv file"
    )
    arguments.add_threads(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Evaluate the model, or compare the methods, and print the figures."""
    from isca_gui.core import settings
    from isca_gui.core.settings import SettingsError
    from isca_gui.core.storage import files

    settings.check_seed(args.seed)
    if args.fresh < 0:
        raise SettingsError(f"--fresh must be 0 or more pictures, not {args.fresh}")
    if args.csv:
        inputs = [args.source, args.reference or args.source]
        targets.check_target(args.csv, (".csv",), inputs)
    is_model = args.source.lower().endswith(".isca") and not os.path.isdir(args.source)
    evaluate = _evaluate_model if is_model else _compare_methods
    rows = evaluate(args)
    if args.json:
        printing.print_json(document(args, rows))
    elif is_model:
        _print_model(args, rows[0])
    else:
        _print_comparison(args, rows)
    # The table comes last: if it cannot be written, the results have been printed at least.
    if args.csv:
        files.write_text(args.csv, table(rows))
    return 0


def _evaluate_model(args: argparse.Namespace) -> tuple[Row, ...]:
    from isca_gui.core.model import model_file
    from isca_gui.core.recognition import evaluation, method_comparison
    from isca_gui.core.recognition.recogniser import Recogniser
    from isca_gui.core.settings import SettingsError

    if args.methods is not None:
        raise SettingsError("--methods applies to a dataset; a model already has its method")
    if args.fresh and args.reference is None:
        raise SettingsError(
            "--fresh distorts the model's reference, which is not stored in the model; "
            "name the picture or dataset folder with --reference"
        )
    arguments.check_range(args, args.reference)
    model = model_file.load_model(args.source)
    recogniser = Recogniser(model, args.descriptor)
    reference = _reference(args, recogniser) if args.fresh else None
    task = evaluation.leave_one_out(model, args.descriptor, args.rule, args.threads)
    left = progress_bar.run_with_progress(task, "evaluate", quiet=args.json)
    fresh = None
    if reference is not None:
        pictures = evaluation.score_fresh(
            [recogniser], reference, args.fresh, args.seed, rule=args.rule, threads=args.threads
        )
        fresh = progress_bar.run_with_progress(pictures, "evaluate", quiet=args.json)[0]
    name = method_comparison.name_of(model.settings)
    return (method_comparison.Row(name, model.settings, model.state.seconds, left, fresh),)


def _reference(args: argparse.Namespace, recogniser: Recogniser) -> NDArray[np.float32]:
    """Return the reference; refuse a picture that the model does not recognise as it."""
    from isca_gui.core.distortion.distortions import ORIGINAL
    from isca_gui.core.pictures import image, samples
    from isca_gui.core.recognition.recogniser import Recogniser, RecognitionError

    if os.path.isdir(args.reference):
        reference = _load(args, args.reference).reference
    else:
        reference = image.read(samples.resolve(args.reference), value_range=args.value_range)
    grid = recogniser.model.grid
    if reference.shape != (grid.height, grid.width):
        raise RecognitionError(
            f"'{args.reference}' has {reference.shape[1]}×{reference.shape[0]} pixels, the model's "
            f"reference {grid.width}×{grid.height}. Choose the picture that it was trained on."
        )
    # The extended descriptor is used here even if the structural one is evaluated, because the
    # structural one cannot see a shift in luminance.
    verdict = Recogniser(recogniser.model).recognise(reference).verdict
    if verdict.label != ORIGINAL or verdict.unlike:
        raise RecognitionError(
            f"'{args.reference}' is not the reference of '{args.source}'. The model's verdict "
            f"on it: {verdict.sentence} Choose the picture that it was trained on."
        )
    return reference


def _compare_methods(args: argparse.Namespace) -> tuple[Row, ...]:
    from isca_gui.core.distortion import dataset
    from isca_gui.core.distortion.dataset_spec import DatasetSpec
    from isca_gui.core.pictures import image, samples
    from isca_gui.core.recognition import method_comparison
    from isca_gui.core.settings import SettingsError

    if args.reference is not None:
        raise SettingsError("--reference applies to a model; a dataset contains its reference")
    arguments.check_range(args, args.source)
    methods = parse_methods("isca" if args.methods is None else args.methods)
    if os.path.isdir(args.source):
        data = _load(args, args.source)
    else:
        picture = image.read(samples.resolve(args.source), value_range=args.value_range)
        made = dataset.generate(picture, DatasetSpec(), args.threads)
        data = progress_bar.run_with_progress(made, "dataset", quiet=args.json)
    task = method_comparison.compare(
        data,
        methods,
        args.fresh,
        args.seed,
        descriptor=args.descriptor,
        rule=args.rule,
        threads=args.threads,
    )
    return progress_bar.run_with_progress(task, "evaluate", quiet=args.json)


def _load(args: argparse.Namespace, folder: str) -> Dataset:
    from isca_gui.core.distortion import dataset_folder

    return progress_bar.run_with_progress(dataset_folder.load(folder), "dataset", quiet=args.json)


def parse_methods(text: str) -> list[TrainingSettings]:
    """Return the settings of `isca:direct,kernel-isca:rbf,pca`.

    `pixels` and `random` may be named, and are left out because every comparison contains them.
    """
    from isca_gui.core.settings import SettingsError

    found: list[TrainingSettings] = []
    for word in text.split(","):
        method, *options = word.strip().split(":")
        if method in ("pixels", "random") and not options:
            continue
        settings = _method_settings(method, options)
        if settings in found:
            raise SettingsError(f"'{word.strip()}' is named twice")
        found.append(settings)
    return found


def _method_settings(method: str, options: list[str]) -> TrainingSettings:
    """Return the settings of a method with at most one solver and one kernel."""
    from isca_gui.core.methods import METHODS
    from isca_gui.core.settings import KERNELS, SOLVERS, SettingsError, TrainingSettings

    # An unknown method is refused here.
    TrainingSettings(method)
    given = {"method": method}
    for option in options:
        name = "solver" if option in SOLVERS else "kernel"
        fits = name not in METHODS[method].unused_fields
        if name in given or not fits or option not in (*SOLVERS, *KERNELS):
            raise SettingsError(
                f"'{option}' is not a solver or kernel of '{method}', or one was already given "
                f"(in '{':'.join([method, *options])}')"
            )
        given[name] = option
    return TrainingSettings(**given)  # type: ignore[arg-type]


# --- output --------------------------------------------------------------------------------------


def document(args: argparse.Namespace, rows: Sequence[Row]) -> dict[str, Any]:
    """Return an evaluation as a JSON document; unknown figures are None."""
    return {
        "source": args.source,
        "descriptor": args.descriptor,
        "rule": args.rule,
        "seed": args.seed,
        "fresh": args.fresh,
        "classes": list(rows[0].leave_one_out.classes),
        "rows": [
            {
                "name": row.name,
                "settings": vars(row.settings),
                "seconds": row.seconds,
                "leave_one_out": _left_document(row.leave_one_out),
                "fresh": _fresh_document(row.fresh) if row.fresh else None,
            }
            for row in rows
        ],
    }


def _left_document(left: LeaveOneOut) -> dict[str, Any]:
    return {
        "accuracy": _known(left.accuracy),
        "block_accuracy": _known(left.block_accuracy),
        "recall": dict(left.recall),
        "confusion": left.confusion.tolist(),
    }


def _fresh_document(fresh: FreshScores) -> dict[str, Any]:
    found: dict[str, Any] = {"pictures": len(fresh.outcomes)}
    for name, value in vars(fresh).items():
        if name == "outcomes":
            continue
        if isinstance(value, dict):
            found[name] = {key: _known(each) for key, each in value.items()}
        elif isinstance(value, float):
            found[name] = _known(value)
        else:
            found[name] = value
    return found


def _known(value: float) -> float | None:
    """Return None for NaN, which JSON cannot hold."""
    return value if math.isfinite(value) else None


def table(rows: Sequence[Row]) -> str:
    """Return the rows as comma-separated values; unknown figures are empty cells."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        values = {**vars(row.settings), **vars(row.leave_one_out)}
        if row.fresh is not None:
            values |= vars(row.fresh)
        values["name"] = row.name
        values["seconds"] = round(row.seconds, 3)
        if not row.settings.uses_kernel:
            values["kernel"] = None
        if not row.settings.iterative:
            values["solver"] = None
        cells = [values.get(column) for column in COLUMNS]
        # Only NaN differs from itself.
        writer.writerow(["" if cell is None or cell != cell else cell for cell in cells])
    return text.getvalue()


def _print_model(args: argparse.Namespace, row: Row) -> None:
    print(f"{args.source}: {row.name}, {args.descriptor} descriptor, {args.rule} rule")
    _print_leave_one_out(row.leave_one_out)
    if row.fresh is not None:
        _print_fresh(row.fresh, args.fresh)


def _print_leave_one_out(left: LeaveOneOut) -> None:
    count = int(left.confusion.sum())
    print(
        f"\nEach of the {count} training pictures, recognised using the others "
        "(rows: actual, columns: predicted):"
    )
    names = [*left.classes, "undecided"]
    width = max(map(len, names))
    print(" " * width, *(f"{name:>9}" for name in names), f"{'correct':>8}")
    for name, counts in zip(left.classes, left.confusion.tolist(), strict=True):
        cells = (
            f"{number:>{max(9, len(heading))}}"
            for heading, number in zip(names, counts, strict=True)
        )
        print(f"{name:<{width}}", *cells, f"{left.recall[name]:>8.1%}")
    print("(The original is the only picture of its class, so it cannot be recognised.)")
    print(f"\n{_percent(left.accuracy)}  of the distorted pictures are recognised")
    print(f"{_percent(left.block_accuracy)}  of their blocks vote for the right class")


def _print_fresh(fresh: FreshScores, count: int) -> None:
    low, high = fresh.levels
    missed = ""
    if fresh.unreachable:
        missed = f"; {fresh.unreachable} could not be made from this picture"
    print(
        f"\n{len(fresh.outcomes)} new pictures, {count} of each distortion and pair, "
        f"MSE {low:g} to {high:g}{missed}:"
    )
    for figure in FIGURES:
        print(f"{_formatted(fresh, figure)}  {figure.sentence}")
    recall = (f"{name} {value:.0%}" for name, value in fresh.recall.items())
    print(f"correct by distortion: {', '.join(recall)}")
    pairs = (f"{name} {value:.0%}" for name, value in fresh.pairs.items())
    print(f"top two by pair: {', '.join(pairs)}")
    by_kind = (f"{name} {_number(value).strip()}" for name, value in fresh.unlike_by_kind.items())
    print(f"AUROC by untrained distortion: {', '.join(by_kind)}")


def _print_comparison(args: argparse.Namespace, rows: Sequence[Row]) -> None:
    headings = ["accuracy", "blocks"]
    levels = ""
    fresh = rows[0].fresh
    if fresh is not None:
        headings += [figure.heading for figure in FIGURES]
        low, high = fresh.levels
        levels = f"; new pictures of MSE {low:g} to {high:g}"
    headings.append("seconds")
    width = max(len("method"), *(len(row.name) for row in rows))
    print(f"{args.source}: {args.descriptor} descriptor, {args.rule} rule{levels}")
    print(f"{'method':<{width}}", *(f"{heading:>11}" for heading in headings))
    for row in rows:
        cells = [_percent(row.leave_one_out.accuracy), _percent(row.leave_one_out.block_accuracy)]
        if row.fresh is not None:
            cells += [_formatted(row.fresh, figure) for figure in FIGURES]
        cells.append(f"{row.seconds:.1f}")
        print(f"{row.name:<{width}}", *(f"{cell:>11}" for cell in cells))


def _formatted(fresh: FreshScores, figure: Figure) -> str:
    value = getattr(fresh, figure.name)
    return _percent(value) if figure.is_share else _number(value)


def _percent(value: float) -> str:
    if not math.isfinite(value):
        return f"{'-':>7}"
    # The strength is often estimated within a thousandth, which needs a second digit.
    digits = 2 if 0 < value < 0.01 else 1
    return f"{value:>7.{digits}%}"


def _number(value: float) -> str:
    return f"{value:>7.2f}" if math.isfinite(value) else f"{'-':>7}"
