"""The measurements behind `isca bench`; references are kept here, not in the core."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core import dataset, distortions, image, samples, strength
from isca_gui.core.progress import Progress, run
from isca_gui.core.settings import DatasetSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from isca_gui.core.distortions import Picture


@dataclass(frozen=True)
class Figure:
    """One measured number, and the bound it is held against."""

    name: str
    value: float
    unit: str
    least: float | None = None
    most: float | None = None

    @property
    def wanted(self) -> str:
        """The bound in words, with a mark where it is missed."""
        bounds = [f"≥ {self.least:g}"] if self.least is not None else []
        bounds += [f"≤ {self.most:g}"] if self.most is not None else []
        return " ".join(bounds) + ("" if self.met else "  MISSED")

    @property
    def met(self) -> bool:
        """Whether the bound holds."""
        above = self.least is None or self.value >= self.least
        return above and (self.most is None or self.value <= self.most)


def machine() -> dict[str, object]:
    """Describe the machine the figures belong to."""
    return {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}


def measure(parts: Sequence[str], threads: int | None) -> Generator[Progress, None, list[Figure]]:
    """Run the named measurements one after the other."""
    figures: list[Figure] = []
    for index, part in enumerate(parts):
        yield Progress(index, len(parts), part)
        figures += yield from MEASUREMENTS[part](threads)
    return figures


def _dataset(threads: int | None) -> Generator[Progress, None, list[Figure]]:
    """Time the paper's 121 pictures, and the same search done by plain bisection."""
    reference = image.read(samples.resolve("sample:camera"))
    spec = DatasetSpec()
    run(dataset.generate(reference, DatasetSpec(levels=(100.0,)), threads))  # imports and caches
    whole = min(_seconds(lambda: run(dataset.generate(reference, spec, threads))) for _ in range(3))
    yield Progress(0, 1, "plain bisection")
    wanted = [(kind, level) for kind in spec.kinds for level in spec.levels]
    plain = _seconds(lambda: np.stack([_bisect(reference, kind, level) for kind, level in wanted]))
    return [
        Figure("dataset: 121 pictures of 512×512", whole, "s", most=6.0),
        Figure("dataset: plain bisection (one thread, same tolerance) / ours", plain / whole, "×", least=5.0),
    ]


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _bisect(reference: Picture, kind: str, target: float) -> Picture:
    row = distortions.DISTORTIONS[kind]
    apply = row.prepare(reference, np.random.default_rng(0))
    tolerance = max(strength.ABSOLUTE_TOLERANCE, row.tolerance * target)
    low, high = 0.0, row.strongest
    for _ in range(60):
        middle = (low + high) / 2
        picture = apply(middle)
        error = distortions.mse(picture, reference)
        if abs(error - target) <= tolerance:
            break
        low, high = (middle, high) if error < target else (low, middle)
    return picture


MEASUREMENTS = {"dataset": _dataset}
