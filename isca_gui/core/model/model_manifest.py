"""The manifest of a model file: all of a model that is not a tensor, as a JSON document."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import isca_gui
from isca_gui.core.distortion.dataset import check_label
from isca_gui.core.distortion.dataset_spec import HIGHEST_MSE
from isca_gui.core.distortion.distortions import ORIGINAL
from isca_gui.core.pictures.blocks import BlockGrid
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.solvers.steps import CONVERGED, MAX_EPOCHS, STOPPED, Step
from isca_gui.core.storage.json_types import Fault, has_type, is_finite, refuse_constant

if TYPE_CHECKING:
    from isca_gui.core.model.model import Model

# A longer history is thinned out evenly, because the header of a file is limited.
MOST_STEPS = 100_000
MOST_PICTURES = 1_000_000
_MOST_EPOCHS = 1_000_000
# Three hundred years.
_MOST_SECONDS = 1e10
_ENDS = (CONVERGED, MAX_EPOCHS, STOPPED)


@dataclass(frozen=True)
class Record:
    """All of a model that is not a tensor."""

    settings: TrainingSettings
    grid: BlockGrid
    end: str
    epoch: int
    seconds: float
    objective: float
    steps: tuple[Step, ...]
    dataset: str
    labels: tuple[str, ...]  # of the training pictures; empty if the model does not keep them
    levels: tuple[float, ...]


def write(model: Model) -> str:
    """Return the manifest of a model as JSON."""
    return json.dumps(_manifest(model), separators=(",", ":"), allow_nan=False, default=_plain)


def _manifest(model: Model) -> dict[str, object]:
    state = model.state
    settings = model.settings
    # Counted from the end, so that the last step is always kept.
    stride = max(1, math.ceil(len(model.steps) / MOST_STEPS))
    steps = model.steps[::-1][::stride][::-1]
    return {
        "program": f"ISCA Studio {isca_gui.__version__}",
        "method": settings.method,
        "settings": _document(settings),
        "grid": _document(model.grid),
        "end": model.end,
        "epoch": state.epoch,
        "seconds": state.seconds,
        "objective": state.objective if math.isfinite(state.objective) else None,
        "steps": [_step_document(step) for step in steps],
        "dataset": model.dataset,
        "labels": model.known.labels if model.known is not None else (),
        "levels": model.known.levels if model.known is not None else (),
    }


def _document(value: TrainingSettings | BlockGrid | Step) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _step_document(step: Step) -> dict[str, Any]:
    """Return a step without its copy of the basis.

    JSON has no NaN, so an unknown gradient is null.
    """
    document = _document(step)
    del document["basis"]
    return document | {"gradient": step.gradient if math.isfinite(step.gradient) else None}


def _plain(value: object) -> object:
    """Return a NumPy number as one of Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written")


def read(manifest: str) -> Record:
    """Return the record in a manifest; raises Fault for anything that is wrong with it."""
    document = json.loads(manifest, parse_constant=refuse_constant)
    if json.dumps(document, separators=(",", ":")) != manifest:
        raise Fault("its manifest is not as this program writes it")
    if set(document) != {"program", "method", *(field.name for field in fields(Record))}:
        raise Fault("its manifest has missing or unknown fields")
    if not all(isinstance(document[name], list) for name in ("steps", "labels", "levels")):
        raise Fault("its manifest has no list where one belongs")
    settings = TrainingSettings(**_typed(TrainingSettings, document["settings"]))
    grid = BlockGrid(**_typed(BlockGrid, document["grid"]))
    if document["method"] != settings.method or grid.side != settings.block:
        raise Fault("its manifest contradicts its settings")
    objective = math.inf if document["objective"] is None else document["objective"]
    record = Record(
        settings=settings,
        grid=grid,
        objective=objective,
        steps=tuple(_step(step) for step in document["steps"]),
        labels=tuple(document["labels"]),
        levels=tuple(document["levels"]),
        **{name: document[name] for name in ("end", "epoch", "seconds", "dataset")},
    )
    _check_record(record)
    _check_pictures(record)
    if not isinstance(document["program"], str):
        raise Fault("its manifest does not name the program")
    return record


def _check_record(record: Record) -> None:
    if record.end not in _ENDS:
        raise Fault(f"training cannot end as '{record.end}'")
    if type(record.epoch) is not int or record.epoch > _MOST_EPOCHS:
        raise Fault("its epoch is not valid")
    is_number = type(record.objective) in (int, float)
    if not is_number or not (is_finite(record.objective) or record.objective == math.inf):
        raise Fault("its objective is not a number")
    if type(record.seconds) not in (int, float) or not 0 <= record.seconds <= _MOST_SECONDS:
        raise Fault("its training time is not valid")
    epochs = [0, *(step.epoch for step in record.steps)]
    if not all(before < after for before, after in pairwise(epochs)) or epochs[-1] > record.epoch:
        raise Fault("its epochs are not in order")
    if not re.fullmatch(r"([0-9a-f]{64})?", record.dataset):
        raise Fault("the digest of its dataset is not valid")


def _check_pictures(record: Record) -> None:
    labels = record.labels
    levels = record.levels
    if labels and (labels[0] != ORIGINAL or labels.count(ORIGINAL) > 1):
        raise Fault("the first of its training pictures, and only that, must be the original")
    if len(labels) != len(levels) or len(labels) > MOST_PICTURES:
        raise Fault("labels and levels of its training pictures do not match")
    if not all(type(label) is str for label in labels):
        raise Fault("a label of its training pictures is not text")
    for label in dict.fromkeys(labels):
        try:
            check_label(label)
        except ValueError as error:
            raise Fault(f"{error}") from None
    if not all(type(level) in (int, float) and 0 <= level <= HIGHEST_MSE for level in levels):
        raise Fault("a level of its training pictures is not an MSE")


def _step(document: dict[str, Any]) -> Step:
    if document["gradient"] is None:
        # NaN is what the gradient is, but not a number that the check of types would allow.
        values = _typed(Step, document | {"gradient": 0.0}, leave="basis")
        return Step(**values | {"gradient": math.nan})
    return Step(**_typed(Step, document, leave="basis"))


def _typed(kind: type, document: dict[str, Any], leave: str = "") -> dict[str, Any]:
    """Return a document, checked to have a value of the right type for each field and no other."""
    wanted = {field.name: field for field in fields(kind) if field.name != leave}
    if set(document) != set(wanted):
        raise Fault(f"{kind.__name__} has missing or unknown fields")
    for name, value in document.items():
        if not has_type(wanted[name], value):
            raise Fault(f"{name} of {kind.__name__} has a value of the wrong type")
    return document
