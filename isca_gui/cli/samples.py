"""`isca samples`: the sample pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.cli import arguments, printing

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the table of samples."""
    from isca_gui.core.pictures import samples

    if args.json:
        printing.print_json({"samples": [vars(sample) for sample in samples.TABLE]})
        return 0
    for sample in samples.TABLE:
        print(f"{samples.PREFIX}{sample.name:<12} {sample.title}")
    return 0
