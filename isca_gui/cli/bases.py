"""`isca bases`: a model's U, V and J as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.cli import common

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    common.add_model(parser)
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=common.name, required=True, help="the folder to write"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the bases that stand there"
    )
    common.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write the folder."""
    from isca_gui.core.model import basis_files, model_file

    model = model_file.load_model(args.model)
    task = basis_files.save(model, args.output, overwrite=args.overwrite)
    folder = common.run_with_progress(task, "bases", quiet=args.json)
    count = model.settings.components
    if args.json:
        common.print_json(
            {"folder": str(folder), "components": count, "matrices": list(basis_files.MATRICES)}
        )
    else:
        print(
            f"{folder}: U, V and J of {count} components, as PNG (grey 128 is zero) and float32 TIFF"
        )
    return 0
