"""What a file says of itself: format, quantisation table, subsampling, profile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, JpegImagePlugin

from isca_gui.core.comparison.jpeg_lattice import nearest_quality
from isca_gui.core.pictures import box_files

if TYPE_CHECKING:
    import os

_SUBSAMPLING = {0: "4:4:4", 1: "4:2:2", 2: "4:2:0"}


def read(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return what a picture file's header says, or None where Pillow cannot read it.

    Nothing of it is believed of the pixels: a PNG can hold a decoded JPEG, and a JPEG a picture
    that was blurred before.
    """
    try:
        with Image.open(path) as picture:
            found = _evidence(picture)
        bits = _avif_bits(path) if found["format"] == "AVIF" else None
        return found if bits is None else found | {"bits": bits}
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def _avif_bits(path: str | os.PathLike[str]) -> int | None:
    with Path(path).open("rb") as stream:
        return box_files.heif_facts(stream.read(box_files.LARGEST_HEADER)).bits


def _evidence(picture: Image.Image) -> dict[str, Any]:
    found: dict[str, Any] = {
        "format": picture.format,
        "mode": picture.mode,
        "profile": bool(picture.info.get("icc_profile")),
    }
    tables = getattr(picture, "quantization", None)
    if isinstance(tables, dict) and 0 in tables and len(tables[0]) == 64:
        table = np.asarray(tables[0], dtype=np.int64)
        rows, columns = np.divmod(np.arange(64), 8)
        found["quality"] = nearest_quality(table, rows, columns)
        found["quantisation_table"] = [int(step) for step in table]
        found["subsampling"] = _SUBSAMPLING.get(JpegImagePlugin.get_sampling(picture))
    return found
