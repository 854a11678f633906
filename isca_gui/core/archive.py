"""Model files (`.isca`): safetensors with a manifest and a checksum, written whole or not at all.

A file is read only if it is, byte for byte, what `save_model` would write for its contents, so nothing in it
can be altered unseen. `sha256` in the metadata is that of the whole file with 64 zeros in its own place.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

import isca_gui
from isca_gui.core import files
from isca_gui.core.blocks import BlockGrid
from isca_gui.core.model import KernelPart, Model
from isca_gui.core.settings import SettingsError, TrainingSettings
from isca_gui.core.steps import CONVERGED, MAX_EPOCHS, STOPPED, State, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from io import BufferedReader

    from numpy.typing import NDArray

    Array = NDArray[np.floating[Any]]

SUFFIX = ".isca"
SCHEMA = 1
MOST_STEPS = 100_000  # a longer history is thinned out evenly: a header has its limits
_MOST_BYTES = 16 * 2**30
_MOST_HEADER = 64 * 2**20  # below the 100 MB that other readers of safetensors allow
_UNSIGNED = "0" * 64

_TYPES: dict[str, np.dtype[Any]] = {"F64": np.dtype("<f8"), "F32": np.dtype("<f4")}
_PRECISIONS = {"float64": "F64", "float32": "F32"}
# b blocks, r coordinates, p components, q pixels of a block, n training pictures of height h and width w.
_SHAPES = {
    "u": "brp", "v": "brp", "j": "brp", "lengths": "b", "offset": "bq", "pictures": "nhw", "theta": "bnp",
    "self_similarity": "bn", "column_means": "bn", "eigenvalues": "br",
}  # fmt: skip
_STATE, _OPTIONAL = ("u", "v", "j"), "lengths"
_KERNEL = tuple(field.name for field in fields(KernelPart) if field.init)
_ENDS = (CONVERGED, MAX_EPOCHS, STOPPED)
_KINDS: dict[Any, tuple[type, ...]] = {  # annotation of a field: types of its value in JSON
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "int | None": (int, type(None)),
    "float | None": (int, float, type(None)),
}


class ArchiveError(Exception):
    """A model file cannot be read or written; the message says what, which file, and what to do."""


class _Fault(ValueError):
    """What is wrong with a file or model, without its name."""


class _Newer(Exception):
    """The file is of a schema that this program does not know yet."""


@dataclass(frozen=True)
class _Spec:
    """Type and shape of a tensor as the header names them."""

    kind: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape) * _TYPES[self.kind].itemsize


@dataclass(frozen=True)
class _Record:
    """All of a model that is no tensor."""

    settings: TrainingSettings
    grid: BlockGrid
    end: str
    epoch: int
    seconds: float
    objective: float
    steps: tuple[Step, ...]
    dataset: str


def save_model(path: str | os.PathLike[str], model: Model) -> None:
    """Write a model file; the same model gives the same bytes. Kept copies of the basis are left out."""
    try:
        tensors = _tensors(model)
        specs = {name: _spec(name, tensor) for name, tensor in tensors.items()}
        manifest = json.dumps(_manifest(model), separators=(",", ":"), allow_nan=False, default=_plain)
        _check_tensors(specs, _record(manifest))
        _check_finite(tensors)
        data = [tensors[name].data.cast("B") for name in _order(specs)]
        if len(_header(specs, manifest, _UNSIGNED)) > _MOST_HEADER:
            raise _Fault("its history is too long")
    except (ValueError, TypeError, OverflowError) as error:
        raise ArchiveError(
            f"The model cannot be saved as '{os.fspath(path)}': {error}. Train it anew."
        ) from error
    digest = _digest(_header(specs, manifest, _UNSIGNED), data)
    try:
        with files.replacing(path) as stream:
            stream.write(_header(specs, manifest, digest))
            for part in data:
                stream.write(part)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArchiveError(
            f"Cannot write model file '{os.fspath(path)}': {reason}. Choose another place."
        ) from error


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file; whatever is wrong with it is one `ArchiveError`."""
    name = os.fspath(path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would keep us waiting for ever
            raise _Fault("it is not a file")
        with open(path, "rb") as stream:
            return _read(stream)
    except OSError as error:
        raise ArchiveError(
            f"Cannot read model file '{name}': {error.strerror or error}. Choose a file ending in {SUFFIX}."
        ) from error
    except _Newer as error:
        raise ArchiveError(
            f"'{name}' was written by a newer ISCA Studio (format {error}; this one knows up to {SCHEMA}). "
            "Update the program to open it."
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        reason = error if isinstance(error, _Fault | SettingsError) else "its contents make no sense"
        raise ArchiveError(
            f"'{name}' is not a sound model file ({reason}). Take another copy of it or train the model anew."
        ) from error


# --- writing ------------------------------------------------------------------------------------------------


def _tensors(model: Model) -> dict[str, Array]:
    """Collect a model's arrays under their names in the file, little-endian and contiguous."""
    state, kernel = model.state, model.kernel
    found: dict[str, Array | None] = {"u": state.u, "v": state.v, "j": state.j}
    found |= {"lengths": state.lengths, "offset": model.offset}
    if kernel is not None:
        found |= {name: getattr(kernel, name) for name in _KERNEL}
    return {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        for name, array in found.items()
        if array is not None
    }


def _spec(name: str, tensor: Array) -> _Spec:
    kinds = [kind for kind, dtype in _TYPES.items() if dtype == tensor.dtype]
    if not kinds:
        raise _Fault(f"{name} is of type {tensor.dtype}, not float32 or float64")
    return _Spec(kinds[0], tensor.shape)


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
        "steps": [_step_document(step) for step in model.steps[::-1][::stride][::-1]],  # the last is kept
        "dataset": model.dataset,
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


# --- the header, the same for writing and reading -----------------------------------------------------------


def _order(specs: Mapping[str, _Spec]) -> list[str]:
    """Put wide types first, so that every tensor is aligned."""
    return sorted(specs, key=lambda name: (specs[name].kind != "F64", name))


def _header(specs: Mapping[str, _Spec], manifest: str, digest: str) -> bytes:
    """Give all bytes before the tensors: length, JSON, and spaces up to a multiple of eight."""
    metadata = {"schema": str(SCHEMA), "manifest": manifest, "sha256": digest}
    document: dict[str, object] = {"__metadata__": metadata}
    offset = 0
    for name in _order(specs):
        spec = specs[name]
        ends = [offset, offset + spec.size]
        document[name] = {"dtype": spec.kind, "shape": list(spec.shape), "data_offsets": ends}
        offset += spec.size
    text = json.dumps(document, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _digest(header: bytes, data: Iterable[memoryview]) -> str:
    state = hashlib.sha256(header)
    for part in data:
        state.update(part)
    return state.hexdigest()


def _check_tensors(specs: Mapping[str, _Spec], record: _Record) -> None:
    """Compare names, types and shapes with what the settings and the grid ask for."""
    settings, grid = record.settings, record.grid
    wanted = {*_STATE, *(_KERNEL if settings.uses_kernel else ())}
    wanted |= {"offset"} if settings.method == "pca" else set()
    if set(specs) - {_OPTIONAL} != wanted:
        raise _Fault(f"a model of {settings.method} does not consist of {', '.join(sorted(specs))}")
    known = {"b": grid.count, "q": grid.pixels, "p": settings.components, "h": grid.height, "w": grid.width}
    if not settings.uses_kernel:
        known["r"] = grid.pixels
    for name in _order(specs):
        shape, letters = specs[name].shape, _SHAPES[name]
        fits = len(shape) == len(letters) and min(shape) > 0
        if not fits or any(known.setdefault(x, size) != size for x, size in zip(letters, shape, strict=True)):
            raise _Fault(f"{name} of shape {'×'.join(map(str, shape))} does not fit the rest")
    if known["r"] < known["p"]:
        raise _Fault("there are more components than coordinates")
    if any(specs[name].kind != _PRECISIONS[settings.precision] for name in _STATE):
        raise _Fault(f"U, V and J are not of {settings.precision}")


def _check_finite(tensors: Mapping[str, Array]) -> None:
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise _Fault(f"{name} holds numbers that are not finite")


# --- reading ------------------------------------------------------------------------------------------------


def _read(stream: BufferedReader) -> Model:
    size = os.fstat(stream.fileno()).st_size
    if size > _MOST_BYTES:
        raise _Fault(f"it has more than {_MOST_BYTES // 2**30} GiB")
    start = stream.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or not 2 <= length <= min(size - 8, _MOST_HEADER):
        raise _Fault("it does not begin like one")
    raw = stream.read(length)
    specs, manifest, digest = _parse(raw)
    if _header(specs, manifest, digest) != start + raw:
        raise _Fault("its header is not as this program writes it")
    if size != 8 + length + sum(spec.size for spec in specs.values()):
        raise _Fault("it is cut off or has something behind its end")
    record = _record(manifest)
    _check_tensors(specs, record)
    tensors = {name: _tensor(stream, specs[name]) for name in _order(specs)}
    data = (tensor.data.cast("B") for tensor in tensors.values())
    if _digest(_header(specs, manifest, _UNSIGNED), data) != digest:
        raise _Fault("its checksum is wrong: it was damaged or altered")
    _check_finite(tensors)
    return _model(record, tensors)


def _parse(raw: bytes) -> tuple[dict[str, _Spec], str, str]:
    """Take a header apart into tensors, manifest and checksum; offsets are left to the caller."""
    document = json.loads(raw.decode("utf-8"), parse_constant=_refuse)
    metadata = document.pop("__metadata__")
    schema, manifest, digest = (metadata[name] for name in ("schema", "manifest", "sha256"))
    if not all(isinstance(text, str) for text in (schema, manifest, digest)):
        raise _Fault("its metadata are no text")
    if not re.fullmatch(r"[1-9][0-9]{0,8}", schema):
        raise _Fault("its format has no number")
    if int(schema) > SCHEMA:
        raise _Newer(schema)
    specs = {}
    for name, entry in document.items():
        shape = tuple(entry["shape"])
        if name not in _SHAPES or entry["dtype"] not in _TYPES:
            raise _Fault("it holds something that is no part of a model")
        if not shape or not all(type(size) is int and size > 0 for size in shape):
            raise _Fault(f"{name} has no proper shape")
        specs[name] = _Spec(entry["dtype"], shape)
    return specs, manifest, digest


def _record(manifest: str) -> _Record:
    """Read and check the manifest."""
    document = json.loads(manifest, parse_constant=_refuse)
    if set(document) != {"program", "method", *(field.name for field in fields(_Record))}:
        raise _Fault("its manifest lacks something or says too much")
    settings = TrainingSettings(**_typed(TrainingSettings, document["settings"]))
    grid = BlockGrid(**_typed(BlockGrid, document["grid"]))
    if document["method"] != settings.method or grid.side != settings.block:
        raise _Fault("its manifest contradicts its settings")
    objective = math.inf if document["objective"] is None else document["objective"]
    record = _Record(
        settings=settings,
        grid=grid,
        objective=objective,
        steps=tuple(_step(step) for step in document["steps"]),
        **{name: document[name] for name in ("end", "epoch", "seconds", "dataset")},
    )
    _check_record(record)
    if not isinstance(document["program"], str):
        raise _Fault("its manifest does not name the program")
    return record


def _check_record(record: _Record) -> None:
    if record.end not in _ENDS:
        raise _Fault(f"a training does not end as '{record.end}'")
    if type(record.epoch) is not int or type(record.objective) not in (int, float):
        raise _Fault("epoch or objective is no number")
    if type(record.seconds) not in (int, float) or not 0 <= record.seconds < math.inf:
        raise _Fault("it tells no proper time")
    epochs = [0, *(step.epoch for step in record.steps)]
    if not all(before < after for before, after in pairwise(epochs)) or epochs[-1] > record.epoch:
        raise _Fault("its epochs are not in order")
    if not re.fullmatch(r"([0-9a-f]{64})?", record.dataset):
        raise _Fault("it does not name its dataset properly")


def _step(document: dict[str, Any]) -> Step:
    unknown = {"gradient": 0.0} if document["gradient"] is None else {}
    values = _typed(Step, document | unknown, leave="basis")
    return Step(**values | {"gradient": math.nan} if unknown else values)


def _typed(kind: type, document: dict[str, Any], leave: str = "") -> dict[str, Any]:
    """Check that a document has a value of the right type for each field of a dataclass, and no other."""
    wanted = {field.name: _KINDS[field.type] for field in fields(kind) if field.name != leave}
    if set(document) != set(wanted):
        raise _Fault(f"{kind.__name__} lacks something or says too much")
    for name, value in document.items():
        if type(value) not in wanted[name] or (type(value) is float and not math.isfinite(value)):
            raise _Fault(f"{name} of {kind.__name__} is not what it should be")
    return document


def _refuse(constant: str) -> NoReturn:
    raise _Fault(f"{constant} is no number")


def _tensor(stream: BufferedReader, spec: _Spec) -> Array:
    tensor = np.empty(spec.shape, _TYPES[spec.kind])
    if stream.readinto(tensor.data.cast("B")) != spec.size:
        raise _Fault("it is cut off")
    return tensor


def _model(record: _Record, tensors: dict[str, Array]) -> Model:
    u, v, j = (tensors[name] for name in _STATE)
    state = State(u, v, j, record.epoch, record.seconds, record.objective, tensors.get("lengths"))
    parts: dict[str, Any] = {name: tensors[name] for name in _KERNEL if name in tensors}
    kernel = KernelPart(**parts) if record.settings.uses_kernel else None
    with np.errstate(all="ignore"):  # numbers too large to be squared end in what is checked below
        model = Model(
            *(record.settings, record.grid, state, record.end, record.steps),
            *(tensors.get("offset"), kernel, record.dataset),
        )
    if not np.isfinite(model.basis).all():
        raise _Fault("its basis cannot be orthonormalised")
    return model
