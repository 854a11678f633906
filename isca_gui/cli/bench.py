"""`isca bench`: what this program takes on this machine, as ratios against references in the same run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from isca_gui.cli import common

if TYPE_CHECKING:
    import argparse

_BUNDLED = getattr(sys, "frozen", False)  # there is no Python then to start another process with
PARTS = ("dataset", "solvers", "recognition", "growth", *(() if _BUNDLED else ("memory", "window")))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"what to measure: {', '.join(PARTS)} (all)"
    )
    common.add_threads(parser)
    common.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    from isca_gui import bench
    from isca_gui.core.settings import SettingsError

    unknown = set(args.parts) - set(PARTS)
    if unknown:
        raise SettingsError(f"there is no benchmark '{min(unknown)}'; there are {', '.join(PARTS)}")
    figures = common.run_with_progress(
        bench.measure(args.parts or PARTS, args.threads), "bench", quiet=args.json
    )
    if args.json:
        common.print_json(
            {"machine": bench.machine(), "figures": [vars(figure) for figure in figures]}
        )
        return 0 if all(figure.met for figure in figures) else 1
    for figure in figures:
        print(f"{figure.name:<72} {figure.value:>9.4g} {figure.unit:<8} {figure.wanted}")
    return 0 if all(figure.met for figure in figures) else 1
