"""`isca dataset`: labelled, distorted copies of a picture at exact MSE levels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isca_gui.cli import arguments, printing, progress_bar

if TYPE_CHECKING:
    import argparse

    from isca_gui.core.distortion.dataset import Dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    arguments.add_image(parser)
    arguments.add_output_folder(parser)
    parser.add_argument(
        "--kinds",
        metavar="A,B,…",
        help="distortions, such as blur,jpeg or the mixture blur+jpeg (default: the paper's six)",
    )
    parser.add_argument(
        "--levels",
        metavar="FROM:TO:STEP",
        default="45:900:45",
        help="MSE levels on the 0-255 scale, or a list A,B,C (default: %(default)s)",
    )
    arguments.add_seed(parser)
    parser.add_argument(
        "--format",
        choices=("tiff", "png"),
        default="tiff",
        help="float32 TIFF or 8-bit PNG (default: %(default)s)",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a dataset that is already there"
    )
    arguments.add_threads(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Make and save the dataset."""
    from isca_gui.core.distortion import dataset, dataset_folder
    from isca_gui.core.distortion.dataset_spec import DatasetSpec, parse_levels

    kinds = DatasetSpec.kinds
    if args.kinds is not None:
        kinds = tuple(args.kinds.split(","))
    spec = DatasetSpec(kinds, parse_levels(args.levels), args.seed)
    # The folder is checked before the work, which may take minutes.
    dataset_folder.check_target(args.output, overwrite=args.overwrite)
    reference = arguments.read_image(args)
    generation = dataset.generate(reference, spec, args.threads)
    made = progress_bar.run_with_progress(generation, "dataset", quiet=args.json)
    saving = dataset_folder.save(made, args.output, form=args.format, overwrite=args.overwrite)
    folder = progress_bar.run_with_progress(saving, "dataset", quiet=args.json)
    if args.json:
        stored = replace(made, entries=dataset_folder.stored_entries(made, args.format))
        printing.print_json({"folder": str(folder), **summary(stored)})
        return 0
    print(f"{len(made.entries)} pictures in {folder}")
    for missed in made.unreachable:
        print(left_out(**vars(missed)))
    return 0


def left_out(kind: str, target_mse: float, maximum_mse: float) -> str:
    """Return a sentence about a copy that cannot be made of this picture."""
    from isca_gui.core.distortion.dataset import Unreachable

    missed = Unreachable(kind, target_mse, maximum_mse)
    return f"left out: {kind} at MSE {target_mse:g}; {missed.reach}"


def summary(dataset: Dataset) -> dict[str, object]:
    """Return a description of a dataset for a JSON document."""
    height, width = dataset.reference.shape
    return {
        "pictures": len(dataset.entries),
        "width": width,
        "height": height,
        "classes": {label: dataset.labels.count(label) for label in dataset.classes},
        "entries": [vars(entry) for entry in dataset.entries],
        "unreachable": [vars(missed) for missed in dataset.unreachable],
    }
