"""The engine: NumPy, SciPy, scikit-image, Pillow and Numba; no Qt, no printing, no global state.

The public names stand in `EXPORTS` and are imported from here::

    from isca_gui.core import DatasetSpec, generate_dataset, read_picture, run

Each is loaded on first use, so `import isca_gui.core` alone loads none of these libraries.
`resources/reference/python-api.md` describes them all.
"""

from __future__ import annotations

import importlib
from typing import Any

# The public name, the module that defines it, and its name there.
EXPORTS = {
    "Comparison": ("comparison.compare", "Comparison"),
    "ComparisonError": ("comparison.pair", "ComparisonError"),
    "BlockGrid": ("pictures.blocks", "BlockGrid"),
    "Cancelled": ("progress", "Cancelled"),
    "Dataset": ("distortion.dataset", "Dataset"),
    "DatasetError": ("distortion.dataset", "DatasetError"),
    "DatasetSpec": ("distortion.dataset_spec", "DatasetSpec"),
    "Distortion": ("distortion.distortions", "Distortion"),
    "DISTORTIONS": ("distortion.distortions", "DISTORTIONS"),
    "FileResult": ("recognition.batch", "FileResult"),
    "ImageError": ("pictures.decoding", "ImageError"),
    "ISCA": ("model.estimators", "ISCA"),
    "KernelISCA": ("model.estimators", "KernelISCA"),
    "LeaveOneOut": ("recognition.evaluation", "LeaveOneOut"),
    "Model": ("model.model", "Model"),
    "ModelFileError": ("model.model_file", "ModelFileError"),
    "NotInvertible": ("model.model", "NotInvertible"),
    "PaperError": ("paper.stage_cache", "PaperError"),
    "Progress": ("progress", "Progress"),
    "Project": ("projects.project", "Project"),
    "ProjectContents": ("projects.project", "Contents"),
    "ProjectError": ("projects.project", "ProjectError"),
    "Recogniser": ("recognition.recogniser", "Recogniser"),
    "Recognition": ("recognition.recogniser", "Recognition"),
    "RecognitionError": ("recognition.recogniser", "RecognitionError"),
    "SettingsError": ("settings", "SettingsError"),
    "SolverError": ("solvers.steps", "SolverError"),
    "StoredReference": ("projects.project", "StoredReference"),
    "StoredRun": ("projects.project", "StoredRun"),
    "StoredTest": ("projects.project", "StoredTest"),
    "TrainingSettings": ("settings", "TrainingSettings"),
    "UnreachableError": ("distortion.strength_search", "UnreachableError"),
    "Verdict": ("recognition.verdict", "Verdict"),
    "compare": ("comparison.compare", "compare"),
    "distort": ("distortion.strength_search", "distort"),
    "draw_vote_map": ("recognition.vote_map_image", "draw"),
    "generate_dataset": ("distortion.dataset", "generate"),
    "leave_one_out": ("recognition.evaluation", "leave_one_out"),
    "load_dataset": ("distortion.dataset_folder", "load"),
    "load_model": ("model.model_file", "load_model"),
    "load_project": ("projects.project", "load"),
    "missing_project_files": ("projects.project", "missing"),
    "mse": ("distortion.distortions", "mse"),
    "pack_project": ("projects.packing", "pack"),
    "read_colour_picture": ("pictures.image", "read_colour"),
    "read_picture": ("pictures.image", "read"),
    "read_project": ("projects.project", "read"),
    "recognise_files": ("recognition.batch", "recognise_files"),
    "relocate_project": ("projects.project", "relocate"),
    "reproduce_paper": ("paper.reproduce", "reproduce"),
    "run": ("progress", "run"),
    "sample_path": ("pictures.samples", "resolve"),
    "save_bases": ("model.basis_files", "save"),
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

__all__ = sorted(EXPORTS)


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562)."""
    if name not in EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = EXPORTS[name]
    value = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names together with what is loaded already."""
    return sorted({*globals(), *EXPORTS})
