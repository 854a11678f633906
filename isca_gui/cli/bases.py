"""`isca bases`: a model's U, V and J as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.cli import arguments, printing, progress_bar

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    arguments.add_model(parser)
    arguments.add_output_folder(parser)
    parser.add_argument(
        "--overwrite", action="store_true", help="replace bases that are already there"
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Save the bases in a folder."""
    from isca_gui.core.model import basis_files, model_file

    model = model_file.load_model(args.model)
    task = basis_files.save(model, args.output, overwrite=args.overwrite)
    folder = progress_bar.run_with_progress(task, "bases", quiet=args.json)
    count = model.settings.components
    if args.json:
        matrices = list(basis_files.MATRICES)
        printing.print_json({"folder": str(folder), "components": count, "matrices": matrices})
    else:
        print(
            f"{folder}: U, V and J of {count} components, "
            "as PNG (grey level 128 is zero) and float32 TIFF"
        )
    return 0
