"""All of a model that is no tensor, as the JSON document inside its file."""

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
from isca_gui.core.distortion.distortions import ORIGINAL
from isca_gui.core.pictures.blocks import BlockGrid
from isca_gui.core.settings import HIGHEST_MSE, TrainingSettings
from isca_gui.core.solvers.steps import CONVERGED, MAX_EPOCHS, STOPPED, Step
from isca_gui.core.storage.json_types import Fault, has_type, is_finite, refuse_constant

if TYPE_CHECKING:
    from isca_gui.core.model.model import Model

MOST_STEPS = 100_000  # a longer history is thinned out evenly: a header has its limits
MOST_PICTURES = 1_000_000
_MOST_EPOCHS, _MOST_SECONDS = 1_000_000, 1e10  # three hundred years
_ENDS = (CONVERGED, MAX_EPOCHS, STOPPED)


@dataclass(frozen=True)
class Record:
    """All of a model that is no tensor."""

    settings: TrainingSettings
    grid: BlockGrid
    end: str
    epoch: int
    seconds: float
    objective: float
    steps: tuple[Step, ...]
    dataset: str
    labels: tuple[str, ...]  # of the training pictures; empty if the model does not remember them
    levels: tuple[float, ...]


def write(model: Model) -> str:
    """Give the document of a model as JSON."""
    return json.dumps(_manifest(model), separators=(",", ":"), allow_nan=False, default=_plain)


def _manifest(model: Model) -> dict[str, object]:
    state, settings = model.state, model.settings
    stride = max(1, math.ceil(len(model.steps) / MOST_STEPS))
    return {
        "program": f"ISCA Studio {isca_gui.__version__}",
        "method": settings.method,
        "settings": _document(settings),
        "grid": _document(model.grid),
        "end": model.end,
        "epoch": state.epoch,
        "seconds": state.seconds,
        "objective": state.objective if math.isfinite(state.objective) else None,
        "steps": [
            _step_document(step) for step in model.steps[::-1][::stride][::-1]
        ],  # the last is kept
        "dataset": model.dataset,
        "labels": model.known.labels if model.known is not None else (),
        "levels": model.known.levels if model.known is not None else (),
    }


def _document(value: TrainingSettings | BlockGrid | Step) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _step_document(step: Step) -> dict[str, Any]:
    """Describe a step without its copy of the basis; JSON has no NaN, so an unknown gradient is null."""
    document = _document(step)
    del document["basis"]
    return document | {"gradient": step.gradient if math.isfinite(step.gradient) else None}


def _plain(value: object) -> object:
    """Turn a number of NumPy's into one of Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written")


def read(manifest: str) -> Record:
    """Read and check the manifest."""
    document = json.loads(manifest, parse_constant=refuse_constant)
    if json.dumps(document, separators=(",", ":")) != manifest:
        raise Fault("its manifest is not as this program writes it")
    if set(document) != {"program", "method", *(field.name for field in fields(Record))}:
        raise Fault("its manifest lacks something or says too much")
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
        raise Fault(f"a training does not end as '{record.end}'")
    if type(record.epoch) is not int or record.epoch > _MOST_EPOCHS:
        raise Fault("it tells no proper epoch")
    if type(record.objective) not in (int, float) or not (
        is_finite(record.objective) or record.objective == math.inf
    ):
        raise Fault("its objective is no number")
    if type(record.seconds) not in (int, float) or not 0 <= record.seconds <= _MOST_SECONDS:
        raise Fault("it tells no proper time")
    epochs = [0, *(step.epoch for step in record.steps)]
    if not all(before < after for before, after in pairwise(epochs)) or epochs[-1] > record.epoch:
        raise Fault("its epochs are not in order")
    if not re.fullmatch(r"([0-9a-f]{64})?", record.dataset):
        raise Fault("it does not name its dataset properly")


def _check_pictures(record: Record) -> None:
    labels, levels = record.labels, record.levels
    if labels and (labels[0] != ORIGINAL or labels.count(ORIGINAL) > 1):
        raise Fault("the first of its training pictures is not the original, or another one is")
    if len(labels) != len(levels) or len(labels) > MOST_PICTURES:
        raise Fault("labels and levels of its training pictures do not fit each other")
    if not all(type(label) is str for label in labels):
        raise Fault("a label of its training pictures is no text")
    for label in dict.fromkeys(labels):
        try:
            check_label(label)
        except ValueError as error:
            raise Fault(f"{error}") from None
    if not all(type(level) in (int, float) and 0 <= level <= HIGHEST_MSE for level in levels):
        raise Fault("a level of its training pictures is no MSE")


def _step(document: dict[str, Any]) -> Step:
    unknown = {"gradient": 0.0} if document["gradient"] is None else {}
    values = _typed(Step, document | unknown, leave="basis")
    return Step(**values | {"gradient": math.nan} if unknown else values)


def _typed(kind: type, document: dict[str, Any], leave: str = "") -> dict[str, Any]:
    """Check that a document has a value of the right type for each field of a dataclass, and no other."""
    wanted = {field.name: field for field in fields(kind) if field.name != leave}
    if set(document) != set(wanted):
        raise Fault(f"{kind.__name__} lacks something or says too much")
    for name, value in document.items():
        if not has_type(wanted[name], value):
            raise Fault(f"{name} of {kind.__name__} is not what it should be")
    return document
