"""The state of a training in progress, as a file to go on from after a crash.

It is not a model file: it is written every half minute, so what can be worked out again (a kernel
model's training pictures and Θ, all descriptors) is left out. It is a ZIP archive of arrays,
written whole or not at all.
"""

from __future__ import annotations

import json
import os
import tokenize
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.model import model_manifest
from isca_gui.core.model.model import Model
from isca_gui.core.pictures.blocks import BlockGrid
from isca_gui.core.settings import SettingsError
from isca_gui.core.solvers.steps import STOPPED, State
from isca_gui.core.storage import files
from isca_gui.core.storage.json_types import Fault

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.solvers.steps import Step

_ARRAYS = ("u", "v", "j")


class SnapshotError(Exception):
    """A snapshot cannot be read; the message says which file and why."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A training in progress: its run's number and name, and all that it needs to go on."""

    number: int
    name: str
    shape: tuple[int, int]  # height and width of the reference
    settings: TrainingSettings
    state: State
    steps: tuple[Step, ...]
    dataset: str = ""  # digest of the training data, if known


def save(path: str | os.PathLike[str], snapshot: Snapshot) -> None:
    """Write a snapshot atomically; raises OSError if it cannot be written."""
    state = snapshot.state
    settings = snapshot.settings.resolved()
    grid = BlockGrid(*snapshot.shape, settings.block)
    steps = tuple(step for step in snapshot.steps if step.epoch <= state.epoch)
    model = Model(settings, grid, state, STOPPED, steps, dataset=snapshot.dataset)
    about = {"number": snapshot.number, "name": snapshot.name, "model": model_manifest.write(model)}
    text = np.frombuffer(json.dumps(about).encode("ascii"), np.uint8)
    arrays: dict[str, Any] = {name: getattr(state, name) for name in _ARRAYS}
    if state.lengths is not None:
        arrays["lengths"] = state.lengths
    with files.replacing(path) as stream:
        np.savez(stream, about=text, **arrays)


# What NumPy, zipfile and our own reading raise for a file with altered bytes.
_DAMAGED = (
    AttributeError,
    EOFError,
    KeyError,
    NotImplementedError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def load(path: str | os.PathLike[str]) -> Snapshot:
    """Read and check a snapshot."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as found:
            return _read({name: found[name] for name in found.files})
    except OSError as error:
        reason: object = error.strerror or error
    except _DAMAGED as error:
        reason = error if isinstance(error, Fault | SettingsError) else "its contents are not valid"
    raise SnapshotError(f"Cannot read the interrupted training '{os.fspath(path)}': {reason}.")


def _read(arrays: dict[str, NDArray[Any]]) -> Snapshot:
    about = json.loads(arrays["about"].tobytes().decode("ascii"))
    record = model_manifest.read(about["model"])
    if type(about["number"]) is not int or about["number"] < 1 or type(about["name"]) is not str:
        raise Fault("it does not name its run")
    u, v, j = (arrays[name] for name in _ARRAYS)
    lengths = arrays.get("lengths")
    fits = u.ndim == 3 and u.shape == v.shape == j.shape
    if not fits or (len(u), u.shape[2]) != (record.grid.count, record.settings.components):
        raise Fault("its arrays do not fit its settings")
    if lengths is not None and lengths.shape != (len(u),):
        raise Fault("its lengths do not fit its blocks")
    for array in (u, v, j, lengths):
        if array is None:
            continue
        if not np.issubdtype(array.dtype, np.floating) or not np.isfinite(array).all():
            raise Fault("it holds numbers that are not finite")
    state = State(u, v, j, record.epoch, record.seconds, record.objective, lengths)
    return Snapshot(
        number=about["number"],
        name=about["name"],
        shape=(record.grid.height, record.grid.width),
        settings=record.settings,
        state=state,
        steps=record.steps,
        dataset=record.dataset,
    )
