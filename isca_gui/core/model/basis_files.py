"""The subspaces of a model as a folder of pictures: U, V and J of each component."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

import isca_gui
from isca_gui.core.distortion.dataset import DatasetError
from isca_gui.core.distortion.dataset_folder import names_in_target
from isca_gui.core.pictures import image
from isca_gui.core.progress import Progress
from isca_gui.core.storage import files

if TYPE_CHECKING:
    import os
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.model.model import Model

MATRICES = ("U", "V", "J")
DESCRIPTION = "bases.json"
_OURS = re.compile(r"[UVJ]-\d+\.(png|tiff)")


def save(
    model: Model, folder: str | os.PathLike[str], *, overwrite: bool = False
) -> Generator[Progress, None, Path]:
    """Write U-1.png, U-1.tiff, … J-p.tiff into a folder that appears only when all is written.

    All PNG files have one scale: 128 is zero, 1 and 255 are minus and plus the largest magnitude of
    any entry. The TIFF files hold the entries themselves as float32. A kernel model has no such
    pictures.
    """
    # This raises for a kernel model before anything is written.
    model.basis_picture("U", 0)
    check_target(folder, overwrite=overwrite)
    target = Path(folder)
    count = model.settings.components
    state = model.state
    largest = max(float(np.abs(matrix).max()) for matrix in (state.u, state.v, state.j))
    try:
        with files.replacing_folder(target) as temporary:
            for component in range(count):
                yield Progress(component, count, "saving")
                for matrix in MATRICES:
                    values = model.basis_picture(matrix, component)
                    path = temporary / f"{matrix}-{component + 1}"
                    for pixels, form in ((grey(values, largest), "PNG"), (values, "TIFF")):
                        picture = image.encoded(Image.fromarray(pixels), form)
                        path.with_suffix(f".{form.lower()}").write_bytes(picture)
            description = _description(model, largest)
            (temporary / DESCRIPTION).write_text(description, encoding="utf-8", newline="\n")
            # This is the last place to stop: next, the folder gets its name.
            yield Progress(count, count, "saving")
    except OSError as error:
        raise DatasetError(f"Cannot write folder '{target}': {error.strerror or error}.") from error
    return target


def grey(values: NDArray[np.float32], largest: float) -> NDArray[np.uint8]:
    """Return values from −largest to largest as grey levels from 1 to 255; zero is 128."""
    shades: NDArray[np.uint8] = np.rint(128 + 127 * values / (largest or 1.0)).astype(np.uint8)
    return shades


def check_target(folder: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise DatasetError for a folder that holds anything but what `save` writes."""
    names = names_in_target(folder)
    foreign = sorted(name for name in names if name != DESCRIPTION and not _OURS.fullmatch(name))
    if foreign or (names and DESCRIPTION not in names):
        raise DatasetError(f"'{Path(folder)}' holds other files. Choose a new or empty folder.")
    if names and not overwrite:
        raise DatasetError(
            f"'{Path(folder)}' already holds the bases of a model. "
            "Choose another folder or use --overwrite."
        )


def _description(model: Model, largest: float) -> str:
    document = {
        "program": f"ISCA Studio {isca_gui.__version__}",
        "method": model.settings.method,
        "components": model.settings.components,
        "block": model.settings.block,
        "width": model.grid.width,
        "height": model.grid.height,
        "largest": largest,
    }
    return json.dumps(document, indent=2) + "\n"
