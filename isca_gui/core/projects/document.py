"""What a project file says, as frozen dataclasses and as the JSON document that holds them."""

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
from isca_gui.core.distortion.distortions import UNDECIDED_LABEL
from isca_gui.core.pictures import samples
from isca_gui.core.recognition.evaluation import LeaveOneOut
from isca_gui.core.recognition.verdict import Verdict
from isca_gui.core.settings import DatasetSpec, TrainingSettings
from isca_gui.core.storage.json_types import Fault, refuse_constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SCHEMA = 2
_MOST_DEPTH = 20  # of what the view state holds
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}  # JSON has no such numbers


class Newer(Exception):
    """The document is of a schema that this program does not know yet."""


@dataclass(frozen=True)
class Stored:
    """A file or folder of the project: its name inside the project's folder, and its SHA-256."""

    file: str
    sha256: str


@dataclass(frozen=True)
class StoredReference:
    """The undistorted picture; `path` is where it came from and is not needed to open the project."""

    name: str
    path: str | None = None
    picture: Stored | None = None  # None: not written yet


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A training that has ended."""

    number: int
    name: str
    model: Stored | None = None  # None: not written yet
    evaluation: LeaveOneOut | None = None


@dataclass(frozen=True)
class StoredTest:
    """A test picture and the verdict on it, by the run of that number; or why it was refused."""

    number: int
    name: str
    path: str | None = None
    picture: Stored | None = None  # None: not written yet, or refused
    run: int = 0
    truth: str = ""
    verdict: Verdict | None = None
    error: str = ""
    left_out: int | None = (
        None  # the run's training picture that this is, recognised as if it were not known
    )


@dataclass(frozen=True, eq=False)
class Project:
    """All that a person works on, without the large arrays: those are files in `folder`.

    `view` is any JSON-safe mapping, `layout` base64 text; both belong to whoever shows the project. `schema`
    is that of the file it was read from. `folder` is not part of the document: it follows from its place.
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


# --- writing ------------------------------------------------------------------------------------------------


def write(project: Project, place: Path) -> str:
    """Give the document of a project whose file is to stand in the folder `place`."""
    moved = _moved(project, lambda path: _relative(path, place))
    document = {
        "schema": SCHEMA,
        "program": f"ISCA Studio {isca_gui.__version__}",
        "files": Path(project.folder).name,
        **{each.name: _value(getattr(moved, each.name)) for each in _FIELDS if each.name != "view"},
        "view": _free(project.view),
    }
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    read(text, place)  # what could not be read again must not be written
    return text


def _value(value: Any) -> Any:
    """Turn what a dataclass holds into what JSON holds."""
    if is_dataclass(value):
        return {each.name: _value(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return _value(value.tolist())
    if isinstance(value, tuple | list):
        return [_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _value(item) for name, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value))
    return value


def _relative(path: str, place: Path) -> str:
    """Give a path as seen from a folder; on another drive it stays as it is."""
    if path.startswith(samples.PREFIX):
        return path
    try:
        found = Path(os.path.relpath(path, place)).as_posix()
    except ValueError:
        return path
    return f"./{found}" if found.startswith(samples.PREFIX) else found


def _absolute(path: str, place: Path) -> str:
    return path if path.startswith(samples.PREFIX) else os.path.normpath(os.path.join(place, path))


def _moved(project: Project, change: Callable[[str], str]) -> Project:
    """Change the paths that pictures came from."""

    def path_of(one: Any) -> Any:
        return one if one is None or one.path is None else replace(one, path=change(one.path))

    return replace(
        project, reference=path_of(project.reference), tested=tuple(map(path_of, project.tested))
    )


# --- reading ------------------------------------------------------------------------------------------------


def read(text: str, place: Path) -> Project:
    """Read and check a document that stands in the folder `place`; ValueError or its like if it is wrong."""
    document = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=_object)
    if type(document) is not dict:
        raise Fault("it is no document")
    schema = document.get("schema")
    if type(schema) is not int or schema < 1:
        raise Fault("its format has no number")
    if schema > SCHEMA:
        raise Newer(str(schema))
    for step in range(schema, SCHEMA):
        document = UPGRADES[step](document)
    if set(document) != {"schema", "program", "files", *(each.name for each in _FIELDS)}:
        raise Fault("it lacks something or says too much")
    folder = document["files"]
    if not isinstance(document["program"], str) or not isinstance(folder, str):
        raise Fault("it does not name the program or its files")
    if folder in ("", ".", "..") or re.search(r"[\x00/\\]", folder):
        raise Fault("its files are not in a folder beside it")
    os.fsencode(folder)  # fails where no folder can have such a name
    values = {each.name: _read(str(each.type), document[each.name], each.name) for each in _FIELDS}
    project = Project(**values, schema=schema, folder=str(place / folder))
    _check(project)
    return _moved(project, lambda path: _absolute(path, place))


def _from_1(document: dict[str, Any]) -> dict[str, Any]:
    """Bring in what schema 2 says: which test pictures are training pictures that were left out."""
    tested = _typed(list)(document.get("tested"), "tested")
    return document | {
        "tested": [_typed(dict)(test, "tested") | {"left_out": None} for test in tested]
    }


# A document of schema n becomes one of schema n + 1: UPGRADES[n]. They stay for ever.
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_1}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Fault("it says something twice")
    return found


def _read(annotation: str, value: Any, name: str) -> Any:
    """Read the value of a field by the field's annotation."""
    if annotation.endswith(" | None"):
        return None if value is None else _read(annotation.removesuffix(" | None"), value, name)
    if annotation.startswith("tuple["):
        if type(value) is not list:
            raise Fault(f"{name} is no list")
        return tuple(_read(annotation[6:-6], item, name) for item in value)
    if annotation in _CLASSES:
        return _made(_CLASSES[annotation], value, name)
    return _READERS[annotation](value, name)


def _made(kind: type[Any], value: Any, name: str) -> Any:
    """Make a dataclass of an object that has all its fields and no others."""
    if type(value) is not dict or set(value) != {each.name for each in fields(kind)}:
        raise Fault(f"{name} lacks something or says too much")
    return kind(
        **{each.name: _read(str(each.type), value[each.name], each.name) for each in fields(kind)}
    )


def _typed(*types: type) -> Callable[[Any, str], Any]:
    def checked(value: Any, name: str) -> Any:
        if type(value) not in types:
            raise Fault(f"{name} is not what it should be")
        return value

    return checked


def _number(value: Any, name: str) -> float:
    if type(value) is str and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if type(value) not in (int, float) or not math.isfinite(value):
        raise Fault(f"{name} is no number")
    return value  # type: ignore[no-any-return]


def _numbers(value: Any, name: str) -> dict[str, float]:
    return {key: _number(item, name) for key, item in _typed(dict)(value, name).items()}


def _counts(value: Any, name: str) -> NDArray[np.int64]:
    whole, listed = _typed(int), _typed(list)
    rows = [[whole(item, name) for item in listed(row, name)] for row in listed(value, name)]
    if len({len(row) for row in rows}) > 1 or any(
        not 0 <= item < 2**53 for row in rows for item in row
    ):
        raise Fault(f"{name} is no table of counts")
    return np.array(rows, np.int64)


def _free(value: Any, name: str = "view", depth: int = 0) -> Any:
    """Check what is only passed on: JSON and nothing else. Tuples come back as lists."""
    if depth > _MOST_DEPTH:
        raise Fault(f"{name} is nested too deeply")
    if isinstance(value, Mapping):
        if not all(type(key) is str for key in value):
            raise Fault(f"{name} has a key that is no text")
        return {key: _free(item, name, depth + 1) for key, item in value.items()}
    if type(value) in (list, tuple):
        return [_free(item, name, depth + 1) for item in value]
    if (
        value is None
        or type(value) in (str, bool, int)
        or (type(value) is float and math.isfinite(value))
    ):
        return value
    raise Fault(f"{name} holds {type(value).__name__}, which JSON has not")


def _view(value: Any, name: str) -> Any:
    return _free(_typed(dict)(value, name), name)


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "str": _typed(str),
    "int": _typed(int),
    "bool": _typed(bool),
    "float": _number,
    "Mapping[str, float]": _numbers,
    "Mapping[str, Any]": _view,
    "NDArray[np.int64]": _counts,
}
_CLASSES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(Stored, StoredReference, StoredRun, StoredTest),
        *(DatasetSpec, TrainingSettings, LeaveOneOut, Verdict),
    )
}
_FIELDS = tuple(each for each in fields(Project) if each.name not in ("schema", "folder"))


# --- what the parts must have in common ---------------------------------------------------------------------


def _check(project: Project) -> None:
    for stored in stored_files(project):
        _file_name(stored.file, "a file")
        if not re.fullmatch(r"[0-9a-f]{64}", stored.sha256):
            raise Fault(f"'{stored.file}' has no proper SHA-256")
    if project.reference is not None and project.reference.picture is None:
        raise Fault("the reference has no picture")
    for run in project.runs:
        if run.model is None:
            raise Fault(f"run {run.number} has no model")
        if run.evaluation is not None:
            _check_evaluation(run.evaluation)
    for test in project.tested:
        if (test.picture is None) != bool(test.error):
            raise Fault(f"test picture {test.number} has either no picture and no error, or both")
        if test.left_out is not None and test.left_out < 0:
            raise Fault(f"test picture {test.number} is no training picture")
        if test.verdict is not None and UNDECIDED_LABEL not in test.verdict.shares:
            raise Fault(
                f"the verdict on test picture {test.number} does not say how many are undecided"
            )
    for numbers in ([run.number for run in project.runs], [test.number for test in project.tested]):
        if len(set(numbers)) < len(numbers) or min(numbers, default=1) < 1:
            raise Fault("a number is there twice or below 1")
    for path in [project.reference, *project.tested]:
        if path is not None and path.path is not None and (not path.path or "\0" in path.path):
            raise Fault("a picture comes from a path that cannot be")
    base64.b64decode(project.layout, validate=True)


def _check_evaluation(evaluation: LeaveOneOut) -> None:
    count = len(evaluation.classes)
    if count < 1 or evaluation.confusion.shape != (count, count + 1):
        raise Fault("an evaluation's table does not fit its classes")
    named = {*evaluation.classes} == set(evaluation.recall)
    if len(evaluation.verdicts) != evaluation.confusion.sum() or not named:
        raise Fault("an evaluation's parts do not fit each other")


def _file_name(name: Any, what: str) -> str:
    """Refuse what does not lie inside the project's folder on every system."""
    parts = PurePosixPath(name).parts if isinstance(name, str) else ()
    sound = parts and "/".join(parts) == name and not any(part.startswith(".") for part in parts)
    if not sound or re.search(r'[\x00-\x1f\\:*?"<>|\ud800-\udfff]', name):
        raise Fault(f"{what} has a name that cannot be")
    return str(name)


def stored_files(project: Project) -> list[Stored]:
    """List all files and folders that a project consists of, each once."""
    found = [project.reference.picture if project.reference is not None else None, project.dataset]
    found += [run.model for run in project.runs] + [test.picture for test in project.tested]
    return list(dict.fromkeys(stored for stored in found if stored is not None))
