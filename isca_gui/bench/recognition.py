"""How long it takes to recognise a picture with a trained model, and how large the model is."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.bench.figure import Figure, seconds
from isca_gui.core.distortion import dataset, strength_search
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import model_file, training
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

# Name, settings, most milliseconds for a picture, and most MB of the model file.
_CASES = (
    ("isca", TrainingSettings(epochs=20), 60, 40),
    ("kernel isca", TrainingSettings(method="kernel-isca", kernel="rbf", epochs=5), 400, None),
)


def measure(threads: int | None) -> Iterator[Figure]:
    """Measure on 512×512 pictures and 121 training pictures."""
    reference = image.read(samples.resolve("sample:camera"))
    made = run(dataset.generate(reference, DatasetSpec(), threads))
    tests = [
        strength_search.distort(reference, kind, 300.0, 7).picture
        for kind in ("jpeg", "impulse", "blur+jpeg")
    ]
    for name, settings, most, largest in _CASES:
        model = run(training.train(made, settings, threads))
        recogniser = Recogniser(model)
        first = seconds(partial(recogniser.recognise, tests[0]))
        yield Figure(f"{name}: the first picture", 1000 * first, "ms")
        times = [seconds(partial(recogniser.recognise, test)) for test in tests * 5]
        yield Figure(f"{name}: a picture, median", 1000 * float(np.median(times)), "ms", most=most)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.isca")
            model_file.save_model(path, model)
            yield Figure(f"{name}: model file", path.stat().st_size / 1e6, "MB", most=largest)
