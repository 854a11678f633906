"""The contents of a project file: frozen dataclasses, and the JSON document that stores them."""

from __future__ import annotations

import base64
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

import isca_gui
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.distortion.distortions import UNDECIDED_LABEL
from isca_gui.core.pictures import samples
from isca_gui.core.recognition.evaluation import LeaveOneOut
from isca_gui.core.recognition.verdict import Verdict
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.storage.json_types import Fault, refuse_constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SCHEMA = 2
# How deeply the view state may be nested.
_MOST_DEPTH = 20
# JSON has no such numbers, so they are written as text.
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class NewerFormat(Exception):
    """The document was written by a newer version; the message is the number of its schema."""


@dataclass(frozen=True)
class Stored:
    """A file or folder of a project: its name inside the project's folder, and its SHA-256."""

    file: str
    sha256: str


@dataclass(frozen=True)
class StoredReference:
    """The reference; `path` is its original file, which is not needed to open the project."""

    name: str
    path: str | None = None
    picture: Stored | None = None  # None until it is saved


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A finished training."""

    number: int
    name: str
    model: Stored | None = None  # None until it is saved
    evaluation: LeaveOneOut | None = None


@dataclass(frozen=True)
class StoredTest:
    """A test picture and the verdict on it, or the error because of which it was rejected.

    `run` is the number of the run that recognised it. `left_out` is the index of the picture in the
    training set of that run, if it is one of its training pictures and was recognised without
    itself.
    """

    number: int
    name: str
    path: str | None = None
    picture: Stored | None = None  # None until it is saved, or if it was rejected
    run: int = 0
    truth: str = ""
    verdict: Verdict | None = None
    error: str = ""
    left_out: int | None = None


@dataclass(frozen=True, eq=False)
class Project:
    """Everything the user works on, without the large arrays, which are files in `folder`.

    `view` is any mapping that JSON can hold and `layout` is base64 text; both are only stored for
    the window. `schema` is that of the file the project was read from. `folder` is not part of the
    document, because it follows from where the document is.
    """

    reference: StoredReference | None = None
    spec: DatasetSpec = field(default_factory=DatasetSpec)
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    dataset: Stored | None = None
    runs: tuple[StoredRun, ...] = ()
    tested: tuple[StoredTest, ...] = ()
    view: Mapping[str, Any] = field(default_factory=dict)
    layout: str = ""
    schema: int = SCHEMA
    folder: str = ""


# --- writing -----------------------------------------------------------------------------------


def write(project: Project, place: Path) -> str:
    """Return the document of a project whose file is written to the folder `place`."""
    relative = _with_paths(project, lambda path: _relative(path, place))
    names = [each.name for each in _FIELDS if each.name != "view"]
    document = {
        "schema": SCHEMA,
        "program": f"ISCA Studio {isca_gui.__version__}",
        "files": Path(project.folder).name,
        **{name: _to_json(getattr(relative, name)) for name in names},
        "view": _plain_json(project.view),
    }
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    # A document that could not be read again must not be written.
    read(text, place)
    return text


def _to_json(value: Any) -> Any:
    """Convert the value of a field to what JSON can hold."""
    if is_dataclass(value):
        return {each.name: _to_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return _to_json(value.tolist())
    if isinstance(value, tuple | list):
        return [_to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _to_json(item) for name, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value))
    return value


def _relative(path: str, place: Path) -> str:
    """Return a path relative to a folder; a path on another drive stays as it is."""
    if path.startswith(samples.PREFIX):
        return path
    try:
        found = Path(os.path.relpath(path, place)).as_posix()
    except ValueError:
        return path
    # A file whose name begins like that of a sample must not be mistaken for one.
    return f"./{found}" if found.startswith(samples.PREFIX) else found


def _absolute(path: str, place: Path) -> str:
    if path.startswith(samples.PREFIX):
        return path
    return os.path.normpath(os.path.join(place, path))


def _with_paths(project: Project, change: Callable[[str], str]) -> Project:
    """Return the project with the original paths of its pictures changed."""

    def changed(record: Any) -> Any:
        if record is None or record.path is None:
            return record
        return replace(record, path=change(record.path))

    return replace(
        project,
        reference=changed(project.reference),
        tested=tuple(map(changed, project.tested)),
    )


# --- reading -----------------------------------------------------------------------------------


def read(text: str, place: Path) -> Project:
    """Return the project of a document in the folder `place`.

    A damaged document raises ValueError, KeyError, TypeError or the like.
    """
    document = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=_object)
    if type(document) is not dict:
        raise Fault("it is not a project document")
    schema = document.get("schema")
    if type(schema) is not int or schema < 1:
        raise Fault("its format number is missing")
    if schema > SCHEMA:
        raise NewerFormat(str(schema))
    for step in range(schema, SCHEMA):
        document = UPGRADES[step](document)
    if set(document) != {"schema", "program", "files", *(each.name for each in _FIELDS)}:
        raise Fault("it has missing or unknown fields")
    folder = document["files"]
    if not isinstance(document["program"], str) or not isinstance(folder, str):
        raise Fault("it does not name its program or its files")
    if folder in ("", ".", "..") or re.search(r"[\x00/\\]", folder):
        raise Fault("its files are not in a folder beside it")
    # This fails if the file system cannot have a folder of that name.
    os.fsencode(folder)
    values = {each.name: _read(str(each.type), document[each.name], each.name) for each in _FIELDS}
    project = Project(**values, schema=schema, folder=str(place / folder))
    _check(project)
    return _with_paths(project, lambda path: _absolute(path, place))


def _from_1(document: dict[str, Any]) -> dict[str, Any]:
    """Add the field of schema 2: which test pictures are training pictures that were left out."""
    tests = _checked_type(list)(document.get("tested"), "tested")
    upgraded = [_checked_type(dict)(test, "tested") | {"left_out": None} for test in tests]
    return document | {"tested": upgraded}


# UPGRADES[n] turns a document of schema n into one of schema n + 1. They are never removed, so that
# every earlier project can be opened.
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_1}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Fault("it has a field twice")
    return found


def _read(annotation: str, value: Any, name: str) -> Any:
    """Return the value of a field, read according to the field's annotation."""
    if annotation.endswith(" | None"):
        return None if value is None else _read(annotation.removesuffix(" | None"), value, name)
    if annotation.startswith("tuple["):
        if type(value) is not list:
            raise Fault(f"{name} is not a list")
        item_annotation = annotation.removeprefix("tuple[").removesuffix(", ...]")
        return tuple(_read(item_annotation, item, name) for item in value)
    if annotation in _CLASSES:
        return _read_dataclass(_CLASSES[annotation], value, name)
    return _READERS[annotation](value, name)


def _read_dataclass(kind: type[Any], value: Any, name: str) -> Any:
    """Return a dataclass made from an object that has all its fields and no others."""
    if type(value) is not dict or set(value) != {each.name for each in fields(kind)}:
        raise Fault(f"{name} has missing or unknown fields")
    values = {
        each.name: _read(str(each.type), value[each.name], each.name) for each in fields(kind)
    }
    return kind(**values)


def _checked_type(kind: type) -> Callable[[Any, str], Any]:
    """Return a function that returns values of exactly this type and refuses others."""

    def checked(value: Any, name: str) -> Any:
        if type(value) is not kind:
            raise Fault(f"{name} has the wrong type")
        return value

    return checked


def _number(value: Any, name: str) -> float:
    if type(value) is str and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if type(value) not in (int, float) or not math.isfinite(value):
        raise Fault(f"{name} is not a number")
    return value  # type: ignore[no-any-return]


def _numbers(value: Any, name: str) -> dict[str, float]:
    items = _checked_type(dict)(value, name).items()
    return {key: _number(item, name) for key, item in items}


def _counts(value: Any, name: str) -> NDArray[np.int64]:
    integer = _checked_type(int)
    sequence = _checked_type(list)
    rows = [[integer(item, name) for item in sequence(row, name)] for row in sequence(value, name)]
    has_equal_rows = len({len(row) for row in rows}) <= 1
    if not has_equal_rows or any(not 0 <= item < 2**53 for row in rows for item in row):
        raise Fault(f"{name} is not a table of counts")
    return np.array(rows, np.int64)


def _plain_json(value: Any, name: str = "view", depth: int = 0) -> Any:
    """Return a value after checking that JSON can hold it; tuples become lists."""
    if depth > _MOST_DEPTH:
        raise Fault(f"{name} is nested too deeply")
    if isinstance(value, Mapping):
        if not all(type(key) is str for key in value):
            raise Fault(f"{name} has a key that is not text")
        return {key: _plain_json(item, name, depth + 1) for key, item in value.items()}
    if type(value) in (list, tuple):
        return [_plain_json(item, name, depth + 1) for item in value]
    if value is None or type(value) in (str, bool, int):
        return value
    if type(value) is float and math.isfinite(value):
        return value
    raise Fault(f"{name} contains {type(value).__name__}, which JSON cannot hold")


def _view(value: Any, name: str) -> Any:
    return _plain_json(_checked_type(dict)(value, name), name)


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "str": _checked_type(str),
    "int": _checked_type(int),
    "bool": _checked_type(bool),
    "float": _number,
    "Mapping[str, float]": _numbers,
    "Mapping[str, Any]": _view,
    "NDArray[np.int64]": _counts,
}
_CLASSES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Stored,
        StoredReference,
        StoredRun,
        StoredTest,
        DatasetSpec,
        TrainingSettings,
        LeaveOneOut,
        Verdict,
    )
}
_FIELDS = tuple(each for each in fields(Project) if each.name not in ("schema", "folder"))


# --- checking ----------------------------------------------------------------------------------


def _check(project: Project) -> None:
    """Refuse a project whose parts are not valid or do not fit together."""
    for stored in stored_files(project):
        _check_file_name(stored.file)
        if not re.fullmatch(r"[0-9a-f]{64}", stored.sha256):
            raise Fault(f"the SHA-256 of '{stored.file}' is not valid")
    if project.reference is not None and project.reference.picture is None:
        raise Fault("the reference has no picture")
    for run in project.runs:
        if run.model is None:
            raise Fault(f"run {run.number} has no model")
        if run.evaluation is not None:
            _check_evaluation(run.evaluation)
    for test in project.tested:
        _check_test(test)
    _check_numbers([run.number for run in project.runs])
    _check_numbers([test.number for test in project.tested])
    if project.reference is not None:
        _check_path(project.reference.path)
    base64.b64decode(project.layout, validate=True)


def _check_test(test: StoredTest) -> None:
    if (test.picture is None) != bool(test.error):
        raise Fault(f"test picture {test.number} has neither a picture nor an error, or both")
    if test.left_out is not None and test.left_out < 0:
        raise Fault(f"the training picture of test picture {test.number} is not valid")
    if test.verdict is not None and UNDECIDED_LABEL not in test.verdict.shares:
        raise Fault(f"the verdict on test picture {test.number} lacks the undecided blocks")
    _check_path(test.path)


def _check_numbers(numbers: list[int]) -> None:
    if len(set(numbers)) < len(numbers) or min(numbers, default=1) < 1:
        raise Fault("a number is used twice or is less than 1")


def _check_path(path: str | None) -> None:
    if path is not None and (not path or "\0" in path):
        raise Fault("the path of a picture is not valid")


def _check_evaluation(evaluation: LeaveOneOut) -> None:
    count = len(evaluation.classes)
    if count < 1 or evaluation.confusion.shape != (count, count + 1):
        raise Fault("the table of an evaluation does not match its classes")
    has_same_classes = set(evaluation.classes) == set(evaluation.recall)
    if len(evaluation.verdicts) != evaluation.confusion.sum() or not has_same_classes:
        raise Fault("the parts of an evaluation do not match each other")


def _check_file_name(name: str) -> None:
    """Refuse a name that, on some system, is not valid or leads out of the project's folder."""
    parts = PurePosixPath(name).parts
    is_inside = "/".join(parts) == name and not any(part.startswith(".") for part in parts)
    if not parts or not is_inside or re.search(r'[\x00-\x1f\\:*?"<>|\ud800-\udfff]', name):
        raise Fault("a file name is not valid")


def stored_files(project: Project) -> list[Stored]:
    """Return all files and folders of a project, each once."""
    found = [project.dataset]
    if project.reference is not None:
        found.insert(0, project.reference.picture)
    found += [run.model for run in project.runs]
    found += [test.picture for test in project.tested]
    return list(dict.fromkeys(stored for stored in found if stored is not None))
