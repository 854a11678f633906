"""How long the paper's dataset takes, beside plain bisection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isca_gui.bench.figure import Figure, seconds
from isca_gui.core.distortion import dataset, distortions, strength_search
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isca_gui.core.distortion.distortions import Picture


def measure(threads: int | None) -> Iterator[Figure]:
    """Time the paper's 121 pictures, and the same search done by plain bisection."""
    reference = image.read(samples.resolve("sample:camera"))
    spec = DatasetSpec()
    # The first dataset pays for imports and caches.
    run(dataset.generate(reference, DatasetSpec(levels=(100.0,)), threads))
    whole = min(seconds(lambda: run(dataset.generate(reference, spec, threads))) for _ in range(3))
    yield Figure("dataset: 121 pictures of 512×512", whole, "s", most=6.0)
    wanted = [(kind, level) for kind in spec.kinds for level in spec.levels]
    # The best of three counts for both sides.
    plain = min(
        seconds(lambda: np.stack([_bisect(reference, kind, level) for kind, level in wanted]))
        for _ in range(3)
    )
    name = "dataset: plain bisection (one thread, same tolerance) / ours"
    yield Figure(name, plain / whole, "×", least=5.0)
    alone = min(seconds(lambda: run(dataset.generate(reference, spec, 1))) for _ in range(3))
    yield Figure(
        "dataset: plain bisection / ours, both on one thread", plain / alone, "×", least=5.0
    )


def _bisect(reference: Picture, kind: str, target: float) -> Picture:
    """Return a picture distorted to an MSE, with the strength found by plain bisection."""
    row = distortions.DISTORTIONS[kind]
    apply = row.prepare(reference, np.random.default_rng(0))
    tolerance = max(strength_search.ABSOLUTE_TOLERANCE, row.tolerance * target)
    low = 0.0
    high = row.strongest
    for _ in range(60):
        middle = (low + high) / 2
        picture = apply(middle)
        error = distortions.mse(picture, reference)
        if abs(error - target) <= tolerance:
            break
        if error < target:
            low = middle
        else:
            high = middle
    return picture
