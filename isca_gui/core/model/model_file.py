"""Model files (`.isca`): safetensors with a manifest and a checksum, written whole or not at all.

A file is read only if it is, byte for byte, what `save_model` would write for its contents, so
nothing in it can be altered unseen. `sha256` in the metadata is that of the whole file with 64
zeros in its own place.

A large linear model is stored with what is needed of it, as format 2. The descriptors are
differences from the reference's, in half precision. U is exact, and so are V and J of a training
that was stopped, which goes on as if it had not been; of one that has ended they are in half
precision. A model that was trained in bands has U in half precision, no V and J, and differences in
twelve bits.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.model import model_manifest as manifests
from isca_gui.core.model import small_floats
from isca_gui.core.model.descriptor import EXTRA
from isca_gui.core.model.model import KernelPart, Model, TrainingExamples
from isca_gui.core.parallel import ranges
from isca_gui.core.settings import SettingsError
from isca_gui.core.solvers.steps import STOPPED, State
from isca_gui.core.storage import files
from isca_gui.core.storage.json_types import Fault, refuse_constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from io import BufferedReader

    from numpy.typing import NDArray

    from isca_gui.core.model.model_manifest import Record

    Array = NDArray[np.floating[Any]]

SUFFIX = ".isca"
# The newest format, and the one of kernel models and of models of earlier versions.
SCHEMA = 2
_PLAIN = 1
_MOST_BYTES = 16 * 2**30
# This is below the 100 MB that other readers of safetensors allow.
_MOST_HEADER = 64 * 2**20
_UNSIGNED = "0" * 64

_TYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "U8": np.dtype("u1"),
}
_PRECISIONS = {"float64": "F64", "float32": "F32"}
# b blocks, r coordinates, p components, q pixels of a block, n training pictures of height h and
# width w, d numbers of a descriptor; m pictures without the reference, and x bytes.
_SHAPES = {
    "u": "brp",
    "v": "brp",
    "j": "brp",
    "lengths": "b",
    "offset": "bq",
    "pictures": "nhw",
    "theta": "bnp",
    "self_similarity": "bn",
    "column_means": "bn",
    "eigenvalues": "br",
    "descriptors": "bnd",
    "reference": "bd",
    "differences": "bmd",
    "differences_high": "bmd",
    "differences_low": "x",
}
_STATE = ("u", "v", "j")
_OPTIONAL = "lengths"
_DESCRIPTORS = "descriptors"
_DIFFERENCES = {"reference", "differences"}
_SMALL_DIFFERENCES = {"reference", "differences_high", "differences_low"}
# Models that would take more bytes than this are stored with what is needed of them.
_LARGE = 8e6
# The largest number that is put into half precision.
_LARGEST_HALF = 60_000.0
_HALF_PRECISION = 2.0**-11
# Blocks whose descriptors are turned at a time.
_AT_ONCE = 8192
_KERNEL = tuple(field.name for field in fields(KernelPart) if field.init)


class ModelFileError(Exception):
    """A model file cannot be read or written; the message says what, which file, and what to do."""


class _Newer(Exception):
    """The file has a newer format than this program knows."""


@dataclass(frozen=True)
class _Spec:
    """Type and shape of a tensor, as the header names them."""

    kind: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape) * _TYPES[self.kind].itemsize


def save_model(path: str | os.PathLike[str], model: Model) -> None:
    """Write a model file; the same model always gives the same bytes.

    Copies of the basis that were kept during training are left out.
    """
    try:
        tensors = _tensors(model)
        specs = {name: _spec(name, tensor) for name, tensor in tensors.items()}
        manifest = manifests.write(model)
        schema = _schema(specs)
        _check_tensors(specs, manifests.read(manifest), schema)
        _check_finite(tensors)
        data = [tensors[name].data.cast("B") for name in _order(specs)]
        if len(_header(specs, manifest, _UNSIGNED, schema)) > _MOST_HEADER:
            raise Fault("its history is too long")
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(
            f"The model cannot be saved as '{os.fspath(path)}': {error}. Train it again."
        ) from error
    digest = _digest(_header(specs, manifest, _UNSIGNED, schema), data)
    try:
        with files.replacing(path) as stream:
            stream.write(_header(specs, manifest, digest, schema))
            for part in data:
                stream.write(part)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(
            f"Cannot write model file '{os.fspath(path)}': {reason}. Choose another place."
        ) from error


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file; whatever is wrong with it, the error is a `ModelFileError`."""
    name = os.fspath(path)
    try:
        # Opening a pipe would wait for ever.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise Fault("it is not a file")
        with open(path, "rb") as stream:
            return _read(stream)
    except OSError as error:
        reason = error.strerror or error
        raise ModelFileError(
            f"Cannot read model file '{name}': {reason}. Choose a file ending in {SUFFIX}."
        ) from error
    except _Newer as error:
        raise ModelFileError(
            f"'{name}' was written by a newer version of ISCA Studio (format {error}; this version "
            f"reads formats up to {SCHEMA}). Update the program to open it."
        ) from error
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        fault = error if isinstance(error, Fault | SettingsError) else "its contents are not valid"
        raise ModelFileError(
            f"'{name}' is not a valid model file ({fault}). "
            "Use another copy of it or train the model again."
        ) from error


# --- writing --------------------------------------------------------------------------------------


def _tensors(model: Model) -> dict[str, Array]:
    """Return a model's arrays by their names in the file, little-endian and contiguous."""
    state = model.state
    kernel = model.kernel
    found: dict[str, Array | NDArray[np.uint8] | None] = {
        "u": state.u,
        "v": state.v,
        "j": state.j,
        "lengths": state.lengths,
        "offset": model.offset,
    }
    if not state.whole:
        del found["v"], found["j"]
    elif _is_large(model) and model.end != STOPPED:
        found |= _halved({"v": state.v, "j": state.j})
    if model.known is not None:
        found |= _descriptor_tensors(model)
    if kernel is not None:
        found |= {name: getattr(kernel, name) for name in _KERNEL}
    return {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        for name, array in found.items()
        if array is not None
    }


def _is_large(model: Model) -> bool:
    """Whether a linear model is stored in less than full precision."""
    numbers = 3 * model.state.u.size
    if model.known is not None:
        numbers += model.known.descriptors.size
    return model.kernel is None and (not model.state.whole or 4 * numbers > _LARGE)


def _halved(arrays: dict[str, Array]) -> dict[str, Array]:
    """Return arrays in half precision, or as they are if a number is too large for that."""
    if not all(np.abs(array).max() <= _LARGEST_HALF for array in arrays.values()):
        return arrays
    # The smallest numbers may vanish.
    with np.errstate(under="ignore"):
        return {name: array.astype(np.float16) for name, array in arrays.items()}


def _descriptor_tensors(model: Model) -> dict[str, Array | NDArray[np.uint8]]:
    """Return the descriptors of the training pictures as a file holds them."""
    assert model.known is not None
    descriptors = model.known.descriptors
    count, images, numbers = descriptors.shape
    if not _is_large(model) or images < 2:
        return {_DESCRIPTORS: descriptors}
    reference = np.ascontiguousarray(descriptors[:, 0])
    shape = (count, images - 1, numbers)
    largest = max(
        float(np.abs(descriptors[low:high] - reference[low:high, None]).max())
        for low, high in ranges(count, _AT_ONCE)
    )
    if not largest <= _LARGEST_HALF:
        return {_DESCRIPTORS: descriptors}
    if model.state.whole or largest > small_floats.LARGEST:
        differences = np.empty(shape, np.float16)
        for low, high in ranges(count, _AT_ONCE):
            with np.errstate(under="ignore"):
                differences[low:high] = descriptors[low:high, 1:] - reference[low:high, None]
        return {"reference": reference, "differences": differences}
    upper = np.empty(shape, np.uint8)
    lower = []
    # Two numbers share a byte, so every part but the last has an even count of them.
    for low, high in ranges(count, _AT_ONCE):
        part = descriptors[low:high, 1:] - reference[low:high, None]
        upper[low:high], nibbles = small_floats.pack(part)
        lower.append(nibbles)
    return {
        "reference": reference,
        "differences_high": upper,
        "differences_low": np.concatenate(lower),
    }


def _descriptors(tensors: dict[str, Any]) -> tuple[NDArray[np.float32], float]:
    """Return the descriptors in a file, and how precise their differences are."""
    if _DESCRIPTORS in tensors:
        return tensors[_DESCRIPTORS], 0.0
    reference = tensors["reference"]
    small = "differences" not in tensors
    stored = tensors["differences_high"] if small else tensors["differences"]
    count, images, numbers = stored.shape
    found = np.empty((count, images + 1, numbers), np.float32)
    found[:, 0] = reference
    each = images * numbers
    for low, high in ranges(count, _AT_ONCE):
        part = stored[low:high]
        if small:
            nibbles = tensors["differences_low"][low * each // 2 : (high * each + 1) // 2]
            part = small_floats.unpack(part, nibbles)
        found[low:high, 1:] = part
        found[low:high, 1:] += reference[low:high, None]
    return found, small_floats.PRECISION if small else _HALF_PRECISION


def _spec(name: str, tensor: Array) -> _Spec:
    for kind, dtype in _TYPES.items():
        if dtype == tensor.dtype:
            return _Spec(kind, tensor.shape)
    raise Fault(f"{name} is of type {tensor.dtype}, which a model file cannot hold")


# --- the header, the same for writing and reading -------------------------------------------------


def _order(specs: Mapping[str, _Spec]) -> list[str]:
    """Return the names of tensors in file order: wide types first, so that each is aligned."""
    return sorted(specs, key=lambda name: (-_TYPES[specs[name].kind].itemsize, name))


def _schema(specs: Mapping[str, _Spec]) -> int:
    """Return the oldest format that can hold these tensors."""
    halved = any(specs[name].kind == "F16" for name in _STATE if name in specs)
    return SCHEMA if halved or "reference" in specs or "v" not in specs else _PLAIN


def _header(specs: Mapping[str, _Spec], manifest: str, digest: str, schema: int) -> bytes:
    """Return all bytes before the tensors: length, JSON, and spaces up to a multiple of eight."""
    metadata = {"schema": str(schema), "manifest": manifest, "sha256": digest}
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


def _check_tensors(specs: Mapping[str, _Spec], record: Record, schema: int) -> None:
    """Raise Fault unless names, types and shapes are what the settings and the grid ask for."""
    settings = record.settings
    wanted = set(_STATE)
    if "v" not in specs and "j" not in specs and not settings.uses_kernel:
        wanted = {"u"}
    if settings.uses_kernel:
        wanted.update(_KERNEL)
    if settings.method == "pca":
        wanted.add("offset")
    if record.labels:
        wanted |= _wanted_descriptors(specs)
    if set(specs) - {_OPTIONAL} != wanted or schema != _schema(specs):
        raise Fault(f"a model of {settings.method} does not consist of {', '.join(sorted(specs))}")
    _check_shapes(specs, record)
    _check_kinds(specs, record)


def _wanted_descriptors(specs: Mapping[str, _Spec]) -> set[str]:
    for names in (_DIFFERENCES, _SMALL_DIFFERENCES):
        if names <= set(specs):
            return names
    return {_DESCRIPTORS}


def _check_kinds(specs: Mapping[str, _Spec], record: Record) -> None:
    """Raise Fault for a tensor of another type than it may have."""
    settings = record.settings
    exact = _PRECISIONS[settings.precision]
    # Of kernel models only the pictures are ever halved.
    halves = {"v", "j"} if record.end != STOPPED and not settings.uses_kernel else set()
    if "v" not in specs:
        halves = {"u"}
    elif specs["v"].kind != specs["j"].kind:
        # Both are halved or none.
        halves = set()
    for name, spec in specs.items():
        allowed = {"F64", "F32"}
        if name in _STATE:
            allowed = {exact, "F16"} if name in halves else {exact}
        elif name in (_DESCRIPTORS, "reference"):
            allowed = {"F32"}
        elif name in ("differences", "pictures"):
            allowed = {"F16"} if name == "differences" else {"F64", "F32", "F16"}
        elif name.startswith("differences_"):
            allowed = {"U8"}
        if spec.kind not in allowed:
            known = " or ".join(sorted(_TYPES[kind].name for kind in allowed))
            raise Fault(f"{name} is {_TYPES[spec.kind].name}, not {known}")


def _check_shapes(specs: Mapping[str, _Spec], record: Record) -> None:
    """Raise Fault unless every letter of `_SHAPES` stands for one size throughout."""
    settings = record.settings
    grid = record.grid
    sizes = {
        "b": grid.count,
        "q": grid.pixels,
        "p": settings.components,
        "h": grid.height,
        "w": grid.width,
        "d": settings.components + EXTRA,
    }
    if not settings.uses_kernel:
        sizes["r"] = grid.pixels
    if record.labels:
        sizes["n"] = len(record.labels)
        sizes["m"] = len(record.labels) - 1
        sizes["x"] = (grid.count * sizes["m"] * sizes["d"] + 1) // 2
    for name in _order(specs):
        shape = specs[name].shape
        letters = _SHAPES[name]
        fits = len(shape) == len(letters) and min(shape) > 0
        # The first tensor with a letter that is not known yet decides its size for all others.
        if not fits or any(
            sizes.setdefault(letter, size) != size
            for letter, size in zip(letters, shape, strict=True)
        ):
            raise Fault(f"{name} of shape {'×'.join(map(str, shape))} does not fit the rest")
    if sizes["r"] < sizes["p"]:
        raise Fault("there are more components than coordinates")


def _check_finite(tensors: Mapping[str, Array]) -> None:
    for name, tensor in tensors.items():
        if tensor.dtype != np.uint8 and not np.isfinite(tensor).all():
            raise Fault(f"{name} holds numbers that are not finite")


# --- reading --------------------------------------------------------------------------------------


def _read(stream: BufferedReader) -> Model:
    size = os.fstat(stream.fileno()).st_size
    if size > _MOST_BYTES:
        raise Fault(f"it is larger than {_MOST_BYTES // 2**30} GiB")
    start = stream.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or not 2 <= length <= min(size - 8, _MOST_HEADER):
        raise Fault("it does not begin like a model file")
    raw = stream.read(length)
    specs, manifest, digest, schema = _parse(raw)
    if _header(specs, manifest, digest, schema) != start + raw:
        raise Fault("its header is not as this program writes it")
    if size != 8 + length + sum(spec.size for spec in specs.values()):
        raise Fault("it is cut off, or something follows its end")
    record = manifests.read(manifest)
    _check_tensors(specs, record, schema)
    tensors = {name: _tensor(stream, specs[name]) for name in _order(specs)}
    data = (tensor.data.cast("B") for tensor in tensors.values())
    if _digest(_header(specs, manifest, _UNSIGNED, schema), data) != digest:
        raise Fault("its checksum is wrong: it was damaged or altered")
    _check_finite(tensors)
    return _model(record, tensors)


def _parse(raw: bytes) -> tuple[dict[str, _Spec], str, str, int]:
    """Return tensors, manifest, checksum and format of a header; the caller checks the offsets."""
    document = json.loads(raw.decode("utf-8"), parse_constant=refuse_constant)
    metadata = document.pop("__metadata__")
    schema, manifest, digest = (metadata[name] for name in ("schema", "manifest", "sha256"))
    if not all(isinstance(text, str) for text in (schema, manifest, digest)):
        raise Fault("its metadata are not text")
    if not re.fullmatch(r"[1-9][0-9]{0,8}", schema):
        raise Fault("its format is not a number")
    if int(schema) > SCHEMA:
        raise _Newer(schema)
    specs = {}
    for name, entry in document.items():
        shape = tuple(entry["shape"])
        if name not in _SHAPES or entry["dtype"] not in _TYPES:
            raise Fault("it holds something that is not part of a model")
        if not shape or not all(type(size) is int and size > 0 for size in shape):
            raise Fault(f"{name} has an invalid shape")
        specs[name] = _Spec(entry["dtype"], shape)
    return specs, manifest, digest, int(schema)


def _tensor(stream: BufferedReader, spec: _Spec) -> Array:
    tensor = np.empty(spec.shape, _TYPES[spec.kind])
    if stream.readinto(tensor.data.cast("B")) != spec.size:
        raise Fault("it is cut off")
    return tensor


def _model(record: Record, tensors: dict[str, Array]) -> Model:
    u = tensors["u"]
    whole = "v" in tensors
    # V and J of a model that does not hold them: one zero in their shape.
    v = j = np.broadcast_to(np.zeros(1, u.dtype), u.shape)
    if whole:
        v, j = (tensors[name].astype(u.dtype, copy=False) for name in ("v", "j"))
    state = State(
        u,
        v,
        j,
        record.epoch,
        record.seconds,
        record.objective,
        tensors.get("lengths"),
        whole,
    )
    kernel = None
    if record.settings.uses_kernel:
        parts: dict[str, Any] = {name: tensors[name] for name in _KERNEL}
        kernel = KernelPart(**parts)
    known = None
    if record.labels:
        known = TrainingExamples(record.labels, record.levels, *_descriptors(tensors))
    model = Model(
        settings=record.settings,
        grid=record.grid,
        state=state,
        end=record.end,
        steps=record.steps,
        offset=tensors.get("offset"),
        kernel=kernel,
        dataset=record.dataset,
        known=known,
    )
    # Numbers that are too large to be squared leave a basis that is not finite.
    with np.errstate(all="ignore"):
        is_finite = np.isfinite(model.basis).all()
    if not is_finite:
        raise Fault("its basis cannot be orthonormalised")
    return model
