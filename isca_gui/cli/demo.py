"""`isca demo`: the whole program once on a sample picture, ending in a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.cli import common

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=common.name,
        default="isca-demo",
        help="the folder to write (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the demonstration and end with the path of its report."""
    from isca_gui.cli import headless_demo

    report = common.run_with_progress(headless_demo.demonstrate(args.output), "demonstration")
    print(report)
    return 0
