"""`isca evaluate`: how well a model recognises, or how methods compare on one dataset."""

from __future__ import annotations

import csv
import io
import math
import os
from typing import TYPE_CHECKING, Any

from isca_gui.cli import common

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

# of `evaluation.Fresh`: name, heading in the table, whether it is a share, what it is in words
FIGURES = (
    ("singles", "singles", True, "one distortion: the verdict is right"),
    (
        "level_error",
        "level error",
        True,
        "its strength: median error of the estimated MSE (lower is better)",
    ),
    (
        "level_correlation",
        "level corr.",
        False,
        "its strength: rank correlation of estimated and true MSE",
    ),
    ("called_mixtures", "mixtures", True, "one distortion called two (lower is better)"),
    (
        "called_unlike",
        "unlike",
        True,
        "one distortion called unlike anything trained on (lower is better)",
    ),
    ("one_of_two", "one of two", True, "two distortions: the verdict is one of them, or both"),
    ("top_two", "top two", True, "two distortions: the two most likely are the two"),
    ("unlike", "AUROC", False, "untrained kinds told from trained ones (AUROC, 0.5 is chance)"),
)
COLUMNS = (
    *("name", "method", "solver", "kernel", "components", "block", "seconds"),
    *("accuracy", "block_accuracy", *(name for name, _, _, _ in FIGURES), "unreachable"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    parser.add_argument(
        "source", metavar="MODEL|DATASET", type=common.name,
        help="a model file (.isca); or a dataset folder, a picture or sample:NAME to compare methods on",
    )  # fmt: skip
    parser.add_argument(
        "--fresh", metavar="N", type=common.whole, default=0,
        help="also recognise N fresh pictures of each kind, each pair, and each of four untrained kinds",
    )  # fmt: skip
    parser.add_argument(
        "--reference", metavar="IMAGE", type=common.name,
        help="with a model and --fresh: the picture, or dataset folder, that it was trained on",
    )  # fmt: skip
    common.add_range(parser)
    parser.add_argument(
        "--methods", metavar="A,B,…",
        help="with a dataset: methods of 'isca train', each with a solver or kernel after a colon if wanted, "
        "such as isca:direct,kernel-isca:rbf,pca (default: isca); random and pixels are always added",
    )  # fmt: skip
    common.add_recognition(parser)
    parser.add_argument(
        "--seed",
        type=common.whole,
        default=1,
        metavar="N",
        help="seed of the fresh pictures (default: 1)",
    )
    parser.add_argument(
        "--csv", metavar="FILE", type=common.name, help="write the table to this .csv file"
    )
    common.add_threads(parser)
    common.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Evaluate and print."""
    from isca_gui.core import settings
    from isca_gui.core.settings import SettingsError
    from isca_gui.core.storage import files

    settings.check_seed(args.seed)
    if args.fresh < 0:
        raise SettingsError(f"--fresh is a number of pictures, not {args.fresh}")
    if args.csv:
        common.check_written(args.csv, (".csv",), [args.source, args.reference or args.source])
    is_model = args.source.lower().endswith(".isca") and not os.path.isdir(args.source)
    rows = (_of_model if is_model else _of_dataset)(args)
    if args.json:
        common.print_json(document(args, rows))
    elif is_model:
        _print_model(args, rows[0])
    else:
        _print_comparison(args, rows)
    if args.csv:  # last: what was found is told, also where it cannot be written
        files.write_text(args.csv, table(rows))
    return 0


def _of_model(args: argparse.Namespace) -> tuple[Row, ...]:
    from isca_gui.core.model import model_file
    from isca_gui.core.recognition import evaluation, method_comparison
    from isca_gui.core.recognition.recogniser import Recogniser
    from isca_gui.core.settings import SettingsError

    if args.methods is not None:
        raise SettingsError("--methods is for a dataset; a model has its method already")
    if args.fresh and args.reference is None:
        raise SettingsError(
            "--fresh makes new pictures of the model's reference, which a model does not hold; "
            "say --reference with the picture or the dataset folder"
        )
    common.check_range(args, args.reference)
    model = model_file.load_model(args.source)
    fresh = None
    recogniser = Recogniser(model, args.descriptor)
    reference = _reference(args, recogniser) if args.fresh else None
    task = evaluation.leave_one_out(model, args.descriptor, args.rule, args.threads)
    left = common.run_with_progress(task, "evaluate", quiet=args.json)
    if reference is not None:
        pictures = evaluation.fresh_all(
            [recogniser], reference, args.fresh, args.seed, rule=args.rule, threads=args.threads
        )
        fresh = common.run_with_progress(pictures, "evaluate", quiet=args.json)[0]
    name = method_comparison.name_of(model.settings)
    return (method_comparison.Row(name, model.settings, model.state.seconds, left, fresh),)


def _reference(args: argparse.Namespace, recogniser: Recogniser) -> NDArray[np.float32]:
    """Read the reference; refuse a picture that the model does not take for it."""
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
            f"'{args.reference}' has {reference.shape[1]}×{reference.shape[0]} pixels, the model's reference "
            f"{grid.width}×{grid.height}. Give the picture that it was trained on."
        )
    # By the extended descriptor, whatever is evaluated: the structural one does not see luminance.
    verdict = Recogniser(recogniser.model).recognise(reference).verdict
    if verdict.label != ORIGINAL or verdict.unlike:
        raise RecognitionError(
            f"'{args.reference}' is not the reference of '{args.source}', which says of it: "
            f"{verdict.sentence} Give the picture that it was trained on."
        )
    return reference


def _of_dataset(args: argparse.Namespace) -> tuple[Row, ...]:
    from isca_gui.core.distortion import dataset
    from isca_gui.core.pictures import image, samples
    from isca_gui.core.recognition import method_comparison
    from isca_gui.core.settings import DatasetSpec, SettingsError

    if args.reference is not None:
        raise SettingsError("--reference is for a model; a dataset holds its reference")
    common.check_range(args, args.source)
    methods = parse_methods("isca" if args.methods is None else args.methods)
    if os.path.isdir(args.source):
        data = _load(args, args.source)
    else:
        picture = image.read(samples.resolve(args.source), value_range=args.value_range)
        made = dataset.generate(picture, DatasetSpec(), args.threads)
        data = common.run_with_progress(made, "dataset", quiet=args.json)
    task = method_comparison.compare(
        data, methods, args.fresh, args.seed,
        descriptor=args.descriptor, rule=args.rule, threads=args.threads,
    )  # fmt: skip
    return common.run_with_progress(task, "evaluate", quiet=args.json)


def _load(args: argparse.Namespace, folder: str) -> Dataset:
    from isca_gui.core.distortion import dataset_folder

    return common.run_with_progress(dataset_folder.load(folder), "dataset", quiet=args.json)


def parse_methods(text: str) -> list[TrainingSettings]:
    """Read `isca:direct,kernel-isca:rbf,pca`; `pixels` and `random` are allowed, being there anyway."""
    from isca_gui.core.methods import METHODS
    from isca_gui.core.settings import SOLVERS, SettingsError, TrainingSettings
    from isca_gui.core.solvers.kernels import KERNELS

    found = []
    for word in text.split(","):
        method, *options = word.strip().split(":")
        if method in ("pixels", "random") and not options:
            continue
        TrainingSettings(method)  # refuses an unknown method
        given = {"method": method}
        for option in options:
            name = "solver" if option in SOLVERS else "kernel"
            fits = name not in METHODS[method].unused_fields
            if name in given or not fits or option not in (*SOLVERS, *KERNELS):
                raise SettingsError(
                    f"'{option}' is no solver or kernel of '{method}' (in '{word.strip()}')"
                )
            given[name] = option
        settings = TrainingSettings(**given)  # type: ignore[arg-type]
        if settings in found:
            raise SettingsError(f"'{word.strip()}' is named twice")
        found.append(settings)
    return found


# --- output -------------------------------------------------------------------------------------------------


def document(args: argparse.Namespace, rows: Sequence[Row]) -> dict[str, Any]:
    """Describe an evaluation for a JSON document; what is not known is None."""
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
        found[name] = (
            {key: _known(each) for key, each in value.items()} if isinstance(value, dict) else value
        )
        if isinstance(value, float):
            found[name] = _known(value)
    return found


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def table(rows: Sequence[Row]) -> str:
    """Put the rows into a table of comma-separated values; what is not known is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        values = {
            **vars(row.settings),
            **vars(row.leave_one_out),
            **(vars(row.fresh) if row.fresh else {}),
        }
        values |= {"name": row.name, "seconds": round(row.seconds, 3)}
        values["kernel"] = row.settings.kernel if row.settings.uses_kernel else None
        values["solver"] = row.settings.solver if row.settings.iterative else None
        cells = [values.get(column) for column in COLUMNS]
        writer.writerow(["" if cell is None or cell != cell else cell for cell in cells])
    return text.getvalue()


def _print_model(args: argparse.Namespace, row: Row) -> None:
    left = row.leave_one_out
    count = int(left.confusion.sum())
    print(f"{args.source}: {row.name}, {args.descriptor} descriptor, {args.rule} rule")
    print(
        f"\nEach of the {count} training pictures, recognised with the others (rows: what it is):"
    )
    names = [*left.classes, "undecided"]
    wide = max(map(len, names))
    print(" " * wide, *(f"{name:>9}" for name in names), f"{'right':>8}")
    for name, counts in zip(left.classes, left.confusion.tolist(), strict=True):
        cells = (
            f"{number:>{max(9, len(head))}}" for head, number in zip(names, counts, strict=True)
        )
        print(f"{name:<{wide}}", *cells, f"{left.recall[name]:>8.1%}")
    print("(The original is alone in its class: left out, it cannot be recognised.)")
    print(f"\n{_percent(left.accuracy)}  of the distorted pictures are recognised")
    print(f"{_percent(left.block_accuracy)}  of their blocks vote for the right class")
    if row.fresh is None:
        return
    missed = (
        f"; {row.fresh.unreachable} could not be made of this picture"
        if row.fresh.unreachable
        else ""
    )
    levels = "MSE {:g} to {:g}".format(*row.fresh.levels)
    print(
        f"\n{len(row.fresh.outcomes)} fresh pictures, {args.fresh} of each kind and pair, {levels}{missed}:"
    )
    for name, _, is_share, sentence in FIGURES:
        value = getattr(row.fresh, name)
        print(f"{_percent(value) if is_share else _number(value)}  {sentence}")
    for title, values in (
        ("right by kind", row.fresh.recall),
        ("top two by pair", row.fresh.pairs),
    ):
        print(f"{title}: " + ", ".join(f"{name} {value:.0%}" for name, value in values.items()))
    by_kind = (
        f"{name} {'-' if math.isnan(value) else f'{value:.2f}'}"
        for name, value in row.fresh.unlike_by_kind.items()
    )
    print(f"AUROC by untrained kind: {', '.join(by_kind)}")


def _print_comparison(args: argparse.Namespace, rows: Sequence[Row]) -> None:
    wide = max(len("method"), *(len(row.name) for row in rows))
    heads = [
        "one out",
        "blocks",
        *((heading for _, heading, _, _ in FIGURES) if args.fresh else ()),
        "seconds",
    ]
    fresh = rows[0].fresh
    levels = "; fresh pictures of MSE {:g} to {:g}".format(*fresh.levels) if fresh else ""
    print(f"{args.source}: {args.descriptor} descriptor, {args.rule} rule{levels}")
    print(f"{'method':<{wide}}", *(f"{head:>11}" for head in heads))
    for row in rows:
        cells = [_percent(row.leave_one_out.accuracy), _percent(row.leave_one_out.block_accuracy)]
        if row.fresh is not None:
            for name, _, is_share, _ in FIGURES:
                value = getattr(row.fresh, name)
                cells.append(_percent(value) if is_share else _number(value))
        cells.append(f"{row.seconds:.1f}")
        print(f"{row.name:<{wide}}", *(f"{cell:>11}" for cell in cells))


def _percent(value: float) -> str:
    digits = 2 if 0 < value < 0.01 else 1  # a strength is often estimated within a thousandth
    return f"{value:>7.{digits}%}" if math.isfinite(value) else f"{'-':>7}"


def _number(value: float) -> str:
    return f"{value:>7.2f}" if math.isfinite(value) else f"{'-':>7}"
