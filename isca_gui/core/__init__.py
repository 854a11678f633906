"""The engine: NumPy, SciPy, scikit-image, Pillow and numba; no Qt, no printing, no global state.

The public names stand in `EXPORTS` and are imported from here::

    from isca_gui.core import DatasetSpec, generate_dataset, read_picture, run

Each is loaded when it is first asked for, so that `import isca_gui.core` itself costs nothing.
`resources/reference/python-api.md` describes them.
"""

from __future__ import annotations

import importlib
from typing import Any

# The public name, the module it is in, and its name there.
EXPORTS = {
    "BlockGrid": ("pictures.blocks", "BlockGrid"),
    "Dataset": ("distortion.dataset", "Dataset"),
    "DatasetError": ("distortion.dataset", "DatasetError"),
    "DatasetSpec": ("settings", "DatasetSpec"),
    "Distortion": ("distortion.distortions", "Distortion"),
    "DISTORTIONS": ("distortion.distortions", "DISTORTIONS"),
    "ISCA": ("model.estimators", "ISCA"),
    "ImageError": ("pictures.decoding", "ImageError"),
    "KernelISCA": ("model.estimators", "KernelISCA"),
    "Model": ("model.model", "Model"),
    "ModelFileError": ("model.model_file", "ModelFileError"),
    "Progress": ("progress", "Progress"),
    "ProjectError": ("projects.project", "ProjectError"),
    "Recogniser": ("recognition.recogniser", "Recogniser"),
    "Recognition": ("recognition.recogniser", "Recognition"),
    "SettingsError": ("settings", "SettingsError"),
    "TrainingSettings": ("settings", "TrainingSettings"),
    "UnreachableError": ("distortion.strength_search", "UnreachableError"),
    "Verdict": ("recognition.verdict", "Verdict"),
    "distort": ("distortion.strength_search", "distort"),
    "draw_vote_map": ("recognition.vote_map_image", "draw"),
    "generate_dataset": ("distortion.dataset", "generate"),
    "load_dataset": ("distortion.dataset_folder", "load"),
    "load_model": ("model.model_file", "load_model"),
    "load_project": ("projects.project", "load"),
    "mse": ("distortion.distortions", "mse"),
    "pack_project": ("projects.packing", "pack"),
    "read_picture": ("pictures.image", "read"),
    "read_project": ("projects.project", "read"),
    "run": ("progress", "run"),
    "sample_path": ("pictures.samples", "resolve"),
    "save_dataset": ("distortion.dataset_folder", "save"),
    "save_model": ("model.model_file", "save_model"),
    "save_png": ("pictures.image", "save_png"),
    "save_project": ("projects.project", "save"),
    "save_tiff": ("pictures.image", "save_tiff"),
    "save_vote_map": ("recognition.vote_map_image", "save"),
    "ssim_map": ("pictures.ssim", "ssim_map"),
    "train": ("model.training", "train"),
    "unpack_project": ("projects.packing", "unpack"),
}

__all__ = sorted(EXPORTS)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for (PEP 562)."""
    if name not in EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = EXPORTS[name]
    value = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names beside what is loaded already."""
    return sorted({*globals(), *EXPORTS})
