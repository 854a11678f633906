"""How much memory a training takes at its peak, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from isca_gui.bench.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

# Width, height, MSE levels of each of six kinds, method, and the bound in MB.
_CASES = (
    (512, 512, 20, "isca", 2.5 * 121 * 512 * 512 * 4 / 1e6 + 400),
    (512, 512, 20, "kernel-isca", 2.5 * 121 * 512 * 512 * 4 / 1e6 + 400),
    (3840, 2160, 5, "isca", 3000.0),
)


def measure(threads: int | None) -> Iterator[Figure]:
    """Train two epochs of every case and ask the system for the largest resident size."""
    for width, height, levels, method, bound in _CASES:
        case = json.dumps([width, height, levels, method, threads])
        command = [sys.executable, "-m", "isca_gui.bench.memory", case]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        name = f"memory: {method}, {width}×{height}, {6 * levels + 1} pictures"
        yield Figure(name, float(done.stdout), "MB", most=bound)


def peak(width: int, height: int, levels: int, method: str, threads: int | None) -> float:
    """Make a dataset, train two epochs, and return this process's largest resident size in MB.

    Parameters
    ----------
    width, height
        Size of the pictures.
    levels
        Number of MSE levels for each of the six kinds.
    method, threads
        How to train, and on how many threads.
    """
    import numpy as np

    from isca_gui.core.distortion import dataset
    from isca_gui.core.distortion.dataset_spec import DatasetSpec
    from isca_gui.core.model import training
    from isca_gui.core.pictures import image, samples
    from isca_gui.core.progress import run
    from isca_gui.core.settings import TrainingSettings

    sample = image.read(samples.resolve("sample:camera"))
    rows = np.arange(height) % 512
    columns = np.arange(width) % 512
    reference = sample[np.ix_(rows, columns)]
    spec = DatasetSpec(levels=tuple(45.0 * index for index in range(1, levels + 1)))
    made = run(dataset.generate(reference, spec, threads))
    run(training.train(made, TrainingSettings(method=method, kernel="rbf", epochs=2), threads))
    return largest_resident()


def largest_resident() -> float:
    """Return this process's largest resident size in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        # On Linux getrusage would count what the parent had when it started this process.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    import resource

    # macOS counts bytes, other systems kilobytes.
    units = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / units


if __name__ == "__main__":
    sys.stdout.write(f"{peak(*json.loads(sys.argv[1]))}\n")
