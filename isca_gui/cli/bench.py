"""`isca bench`: the speed of this program on this computer.

Most figures are ratios to references that are measured in the same run.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from isca_gui.cli import arguments, printing, progress_bar

if TYPE_CHECKING:
    import argparse

PARTS: tuple[str, ...] = ("dataset", "solvers", "recognition", "growth")
# These two start another Python process, and a bundle has no Python to start it with.
if not getattr(sys, "frozen", False):
    PARTS += ("memory", "window")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"what to measure: {', '.join(PARTS)} (default: everything)",
    )
    arguments.add_threads(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and print the figures; the exit code is 1 if one of them misses its bound."""
    from isca_gui import bench
    from isca_gui.core.settings import SettingsError

    unknown = set(args.parts) - set(PARTS)
    if unknown:
        raise SettingsError(
            f"there is no benchmark '{min(unknown)}'; choose from {', '.join(PARTS)}"
        )
    task = bench.measure(args.parts or PARTS, args.threads)
    figures = progress_bar.run_with_progress(task, "bench", quiet=args.json)
    if args.json:
        printing.print_json(
            {"machine": bench.machine(), "figures": [vars(figure) for figure in figures]}
        )
    else:
        for figure in figures:
            print(f"{figure.name:<72} {figure.value:>9.4g} {figure.unit:<8} {figure.wanted}")
    return 0 if all(figure.met for figure in figures) else 1
