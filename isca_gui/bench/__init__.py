"""The measurements behind `isca bench`, and the references they are compared with."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

from isca_gui.bench import comparison, datasets, memory, recognition, solvers, window
from isca_gui.core.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from isca_gui.bench.figure import Figure

MEASUREMENTS = {
    "dataset": datasets.measure,
    "solvers": solvers.measure,
    "recognition": recognition.measure,
    "growth": solvers.measure_growth,
    "memory": memory.measure,
    "window": window.measure,
    "compare": comparison.measure,
}
# These need a folder of scenes.
TRUTH = "truth"
COLOUR = "colour"
GEOMETRY = "geometry"


def machine() -> dict[str, object]:
    """Return what the figures depend on: Python, the system and the number of cores."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
    }


def measure(
    parts: Sequence[str], threads: int | None, scenes: str | None = None
) -> Generator[Progress, None, list[Figure]]:
    """Run the named measurements one after the other.

    Parameters
    ----------
    parts
        Keys of `MEASUREMENTS`, `TRUTH`, `COLOUR` or `GEOMETRY`.
    threads
        Threads or processes to use; all cores by default.
    scenes
        The folder that `TRUTH`, `COLOUR` and `GEOMETRY` are measured on.
    """
    figures: list[Figure] = []
    for index, part in enumerate(parts):
        yield Progress(index, len(parts), part)
        if part in (TRUTH, COLOUR, GEOMETRY):
            # They load the encoders, whose memory must not be counted in the other measurements.
            from isca_gui.bench import colour, geometry, truth

            assert scenes is not None
            module = {TRUTH: truth, COLOUR: colour, GEOMETRY: geometry}[part]
            figures += yield from module.measure(scenes, threads)
            continue
        for figure in MEASUREMENTS[part](threads):
            figures.append(figure)
            yield Progress(index, len(parts), figure.name)
    return figures
