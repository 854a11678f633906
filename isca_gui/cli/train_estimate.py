"""What `isca train` says about its cost: with --estimate, and before it takes most of what is free.

It is a part of `isca train` and no command of its own.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from isca_gui.cli import printing, progress_bar
from isca_gui.core.storage import memory

if TYPE_CHECKING:
    import argparse

    from isca_gui.core.settings import TrainingSettings


def tell(args: argparse.Namespace, settings: TrainingSettings) -> int:
    """Print time, memory and disk of a training, and what is free; return the exit code."""
    from isca_gui.core.distortion.dataset_spec import DatasetSpec
    from isca_gui.core.model import cost
    from isca_gui.core.pictures import image, samples
    from isca_gui.core.settings import SettingsError

    if os.path.isdir(args.dataset):
        raise SettingsError("--estimate needs a picture, not a dataset folder")
    reference = image.read(samples.resolve(args.dataset), value_range=args.value_range)
    task = cost.estimate(reference, DatasetSpec(), settings, args.threads)
    found = progress_bar.run_with_progress(task, "estimate", quiet=args.json)
    free_disk = shutil.disk_usage(Path(args.output).parent).free
    if args.json:
        document = {
            "seconds": found.seconds,
            "memory": found.memory,
            "disk": found.disk,
            "temporary": found.temporary,
            "free_memory": memory.free(),
            "free_disk": free_disk,
        }
        printing.print_json(document)
        return 0
    size = memory.size_text
    print(f"time: about {progress_bar.duration(found.seconds)}")
    print(f"memory: about {size(found.memory)}, of {size(memory.free() or 0)} that is free")
    print(f"disk: about {size(found.disk)}, of {size(free_disk)} that is free")
    if found.temporary:
        print(f"temporary files: about {size(found.temporary)}")
    return 0


def ask_first(args: argparse.Namespace, settings: TrainingSettings) -> None:
    """Report what a training needs if that is most of what is free; a person is asked.

    Raises
    ------
    NotEnoughMemory
        Where it needs more than there is.
    Cancelled
        Where the answer is no.
    """
    from isca_gui.core.distortion.dataset_spec import DatasetSpec
    from isca_gui.core.model import cost
    from isca_gui.core.pictures import image, samples
    from isca_gui.core.progress import Cancelled

    free = memory.free()
    if os.path.isdir(args.dataset) or free is None:
        return
    spec = DatasetSpec()
    images = 1 + len(spec.kinds) * len(spec.levels)
    about = image.describe(samples.resolve(args.dataset))
    shape = (about.height, about.width)
    need = cost.memory_bytes(shape, images, settings)
    if need <= cost.ASK_ABOVE * free:
        return
    fits = cost.pictures_that_fit(shape, settings, cost.ASK_ABOVE * free, images)
    scale = (cost.ASK_ABOVE * free / need) ** 0.5
    offer = f"A copy of {int(scale * about.width)}×{int(scale * about.height)} pixels would fit"
    if fits > 1:
        offer += f", or {fits} pictures instead of {images} (isca dataset --levels)"
    memory.require(need, f"Training on {images} pictures", f"{offer}.")
    printing.print_message(
        f"train: about {memory.size_text(need)} of memory is needed, and "
        f"{memory.size_text(free)} is free. {offer}."
    )
    if not args.json and sys.stdin is not None and sys.stdin.isatty():
        print("Go on all the same? [y/N] ", end="", flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Cancelled("Stopped before the training began.")
