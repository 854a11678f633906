"""`isca dataset`: labelled distorted versions of a picture at exact MSE levels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isca_gui.cli import common

if TYPE_CHECKING:
    import argparse

    from isca_gui.core.distortion.dataset import Dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    common.add_image(parser)
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=common.name, required=True, help="the folder to write"
    )
    parser.add_argument(
        "--kinds", metavar="A,B,…",
        help="distortions, such as blur,jpeg or the mixture blur+jpeg (default: the paper's six)",
    )  # fmt: skip
    parser.add_argument(
        "--levels", metavar="FROM:TO:STEP", default="45:900:45",
        help="MSE levels on the 0-255 scale, or a list A,B,C (default: %(default)s)",
    )  # fmt: skip
    common.add_seed(parser)
    parser.add_argument(
        "--format", choices=("tiff", "png"), default="tiff", help="float32 TIFF or 8-bit PNG"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a dataset that stands there"
    )
    common.add_threads(parser)
    common.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Make and save the dataset."""
    from isca_gui.core.distortion import dataset, dataset_folder
    from isca_gui.core.settings import DatasetSpec, parse_levels

    kinds = DatasetSpec.kinds if args.kinds is None else tuple(args.kinds.split(","))
    spec = DatasetSpec(kinds, parse_levels(args.levels), args.seed)
    dataset_folder.check_target(
        args.output, overwrite=args.overwrite
    )  # before the work, not after it
    reference = common.read_image(args)
    made = common.run_with_progress(
        dataset.generate(reference, spec, args.threads), "dataset", quiet=args.json
    )
    folder = common.run_with_progress(
        dataset_folder.save(made, args.output, form=args.format, overwrite=args.overwrite),
        "dataset", quiet=args.json,
    )  # fmt: skip
    if args.json:
        stored = replace(made, entries=dataset_folder.stored_entries(made, args.format))
        common.print_json({"folder": str(folder), **summary(stored)})
        return 0
    print(f"{len(made.entries)} pictures in {folder}")
    for missed in made.unreachable:
        print(left_out(**vars(missed)))
    return 0


def left_out(kind: str, target_mse: float, maximum_mse: float) -> str:
    """Say what could not be reached."""
    from isca_gui.core.distortion.dataset import Unreachable

    return f"left out: {kind} at MSE {target_mse:g}; {Unreachable(kind, target_mse, maximum_mse).reach}"


def summary(dataset: Dataset) -> dict[str, object]:
    """Describe a dataset for a JSON document."""
    height, width = dataset.reference.shape
    return {
        "pictures": len(dataset.entries),
        "width": width,
        "height": height,
        "classes": {label: dataset.labels.count(label) for label in dataset.classes},
        "entries": [vars(entry) for entry in dataset.entries],
        "unreachable": [vars(missed) for missed in dataset.unreachable],
    }
