"""`isca bench`: the speed of this program on this computer, and how often comparisons are right.

Most figures of speed are ratios to references that are measured in the same run.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from isca_gui.cli import arguments, printing, progress_bar

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

PARTS: tuple[str, ...] = ("dataset", "solvers", "recognition", "growth")
# These are followed by a folder of pictures.
ON_SCENES = ("truth", "colour", "geometry")
# These start other Python processes, and a bundle has no Python to start them with.
if not getattr(sys, "frozen", False):
    PARTS += ("memory", "window", "compare")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"what to measure: {', '.join(PARTS)} (default: all of these); or 'truth SCENES' or "
        "'colour SCENES': how often comparisons are right on a folder of pictures; or "
        "'geometry SCENES': the same for copies that were moved, scaled or turned",
    )
    arguments.add_threads(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and print the figures; the exit code is 1 if one of them misses its bound."""
    from isca_gui import bench
    from isca_gui.core.settings import SettingsError

    parts, scenes = _parts_and_scenes(args.parts)
    known = PARTS if scenes is None else (*PARTS, *ON_SCENES)
    unknown = set(parts) - set(known)
    if unknown:
        raise SettingsError(
            f"there is no benchmark '{min(unknown)}'; choose from {', '.join(PARTS)}, "
            "'truth SCENES', 'colour SCENES' or 'geometry SCENES'"
        )
    task = bench.measure(parts or PARTS, args.threads, scenes)
    figures = progress_bar.run_with_progress(task, "bench", quiet=args.json)
    if args.json:
        printing.print_json(
            {"machine": bench.machine(), "figures": [vars(figure) for figure in figures]}
        )
    else:
        for figure in figures:
            print(f"{figure.name:<72} {figure.value:>9.4g} {figure.unit:<8} {figure.wanted}")
    return 0 if all(figure.met for figure in figures) else 1


def _parts_and_scenes(words: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the parts, and the folder that follows `truth`, `colour` or `geometry`."""
    from isca_gui.core.settings import SettingsError

    parts = list(words)
    scenes = None
    for name in ON_SCENES:
        if name not in parts:
            continue
        if getattr(sys, "frozen", False):
            raise SettingsError(f"'{name}' needs the program installed with pip")
        place = parts.index(name) + 1
        if place == len(parts) or parts[place] in ON_SCENES:
            raise SettingsError(f"'{name}' needs a folder of pictures: isca bench {name} SCENES")
        scenes = parts.pop(place)
    return parts, scenes
