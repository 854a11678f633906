"""Reads and writes datasets as folders: pictures, `manifest.csv` and `dataset.json`.

Folders that another program has made are imported: pictures with a manifest, or one subfolder per
label.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import re
import stat
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import isca_gui
from isca_gui.core.distortion import dataset_recipe
from isca_gui.core.distortion.dataset import Dataset, DatasetError, Entry, Unreachable, check_label
from isca_gui.core.distortion.dataset_spec import HIGHEST_MSE, DatasetSpec
from isca_gui.core.distortion.distortions import ORIGINAL, mse
from isca_gui.core.pictures import image
from isca_gui.core.pictures.decoding import SUFFIXES
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.progress import Progress
from isca_gui.core.settings import SettingsError, check_seed
from isca_gui.core.storage import files
from isca_gui.core.storage.json_types import refuse_constant

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from numpy.typing import NDArray

    from isca_gui.core.distortion.distortions import Picture

SCHEMA = 1
MANIFEST = "manifest.csv"
DESCRIPTION = "dataset.json"
COLUMNS = ("file", "label", "target_mse", "achieved_mse", "strength", "seed")
PICTURE_SUFFIXES = frozenset(SUFFIXES)
# Bytes of a manifest or description above which it is not read.
_LARGEST_TEXT = 64 * 2**20
# Problems and names listed in one message.
_MOST_PROBLEMS = 20
_MOST_NAMES = 5

# What a description may hold instead of what it should.
_JSON_ERRORS = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RecursionError,
    OverflowError,
)


@dataclass(frozen=True)
class _Description:
    """What `dataset.json` says; an imported folder has none."""

    spec: DatasetSpec | None = None
    unreachable: tuple[Unreachable, ...] = ()
    reference_hash: str | None = None


@dataclass(frozen=True)
class _Row:
    """One checked line of a manifest; numbers that it lacks are NaN."""

    file: str
    label: str
    target_mse: float = math.nan
    achieved_mse: float = math.nan
    strength: float = math.nan
    seed: int = 0


def save(
    dataset: Dataset, folder: str | os.PathLike[str], *, form: str = "tiff", overwrite: bool = False
) -> Generator[Progress, None, Path]:
    """Write a dataset folder; its name appears only when everything is written.

    Parameters
    ----------
    dataset
        The dataset to write.
    folder
        A new or empty folder.
    form
        `tiff`, without loss, or `png`, rounded to 8 bits.
    overwrite
        Whether to replace a dataset folder that exists; it is kept whole until then.
    """
    if form not in ("tiff", "png"):
        raise DatasetError(f"a dataset can be saved as tiff or png, not as {form}")
    check_target(folder, overwrite=overwrite)
    if dataset.labels.count(ORIGINAL) > 1:
        # It could not be loaded again.
        raise DatasetError(
            f"The dataset cannot be saved: only the reference may be labelled '{ORIGINAL}'."
        )
    target = Path(folder)
    count = len(dataset.entries)
    try:
        with files.replacing_folder(target) as temporary:
            rows = []
            pairs = zip(dataset.pictures, dataset.entries, strict=True)
            for index, (picture, entry) in enumerate(pairs):
                yield Progress(index, count, "saving")
                name = _save_picture(temporary, index, picture, entry, form)
                rows.append((name, _stored(entry, picture, dataset.reference, form)))
            (temporary / MANIFEST).write_bytes(_manifest(rows).encode("utf-8"))
            (temporary / DESCRIPTION).write_bytes(_description(dataset, form).encode("utf-8"))
            # The last place to stop: after it the folder gets its name.
            yield Progress(count, count, "saving")
    except (ImageError, OSError) as error:
        # The picture that could not be written is in a hidden folder: nobody knows its name.
        cause = error.__cause__ if isinstance(error, ImageError) else error
        why = getattr(cause, "strerror", None) or error
        raise DatasetError(
            f"Cannot write dataset folder '{target}': {why}. Choose another place."
        ) from error
    return target


def load(folder: str | os.PathLike[str]) -> Generator[Progress, None, Dataset]:
    """Read a dataset folder, pictures with a manifest, or a folder with a subfolder per label."""
    _check_name(folder)
    files.restore_folder(folder)
    folder = Path(folder)
    if not folder.is_dir():
        raise DatasetError(f"'{folder}' is not a folder. Choose a dataset folder.")
    if dataset_recipe.is_recipe(folder):
        return (yield from dataset_recipe.load(folder))
    problems: list[str] = []
    rows = _rows(folder, problems)
    description = _read_description(folder, problems)
    # Missing files are among the problems already.
    rows = [row for row in rows if os.path.isfile(folder / row.file)]
    if not rows:
        _raise_if_any(problems, folder)
    rows.sort(key=lambda row: row.label != ORIGINAL)
    pictures = yield from _read_pictures(folder, rows, problems)
    wanted = description.reference_hash
    if wanted and reference_hash(pictures[0]) != wanted:
        problems.append(f"{rows[0].file} is not the reference that {DESCRIPTION} describes")
    _raise_if_any(problems, folder)
    entries = [
        _entry(row, picture, pictures[0]) for row, picture in zip(rows, pictures, strict=True)
    ]
    return Dataset(pictures, tuple(entries), description.spec, description.unreachable)


def _read_pictures(
    folder: Path, rows: list[_Row], problems: list[str]
) -> Generator[Progress, None, NDArray[np.float32]]:
    """Read all pictures; raise one error that lists all that cannot be read or differ in size."""
    stack: NDArray[np.float32] | None = None
    for index, row in enumerate(rows):
        yield Progress(index, len(rows), "reading")
        try:
            picture = image.read(folder / row.file)
        except ImageError as error:
            problems.append(str(error))
            continue
        if stack is None:
            stack = np.empty((len(rows), *picture.shape), dtype=np.float32)
        if picture.shape == stack.shape[1:]:
            stack[index] = picture
        else:
            height, width = picture.shape
            problems.append(
                f"{row.file} is {width}×{height}, the others are {stack.shape[2]}×{stack.shape[1]}"
            )
    _raise_if_any(problems, folder)
    assert stack is not None
    yield Progress(len(rows), len(rows), "reading")
    return stack


def reference_hash(reference: Picture) -> str:
    """Return the SHA-256 of the reference's pixels as little-endian float32, row by row."""
    return hashlib.sha256(np.ascontiguousarray(reference, dtype="<f4").tobytes()).hexdigest()


def check_target(folder: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise DatasetError for a folder to save to that holds anything worth keeping."""
    names = names_in_target(folder)
    target = Path(folder)
    if not names:
        return
    if DESCRIPTION not in names:
        raise DatasetError(f"'{target}' holds other files. Choose a new or empty folder.")
    if not overwrite:
        raise DatasetError(
            f"'{target}' already holds a dataset. Choose another folder or use --overwrite."
        )
    problems = [] if MANIFEST in names else [f"{MANIFEST} is missing"]
    rows = _rows(target, problems)
    _read_description(target, problems)
    if problems:
        raise DatasetError(
            f"'{target}' is not a complete dataset of this program: {problems[0]}. "
            "Choose another folder."
        )
    foreign = sorted(names - {MANIFEST, DESCRIPTION} - {row.file for row in rows})
    if foreign:
        raise DatasetError(
            f"'{target}' also holds {_some(foreign)}. Move them away or choose another folder."
        )


def names_in_target(folder: str | os.PathLike[str]) -> set[str]:
    """Return the names in a folder that is to be replaced, none if it is new.

    Raise DatasetError for a file and for the current folder.
    """
    _check_name(folder)
    files.restore_folder(folder)
    target = Path(folder)
    if not target.exists():
        return set()
    if not target.is_dir():
        raise DatasetError(f"'{target}' is a file. Choose another folder.")
    if files.is_current_folder(target):
        raise DatasetError(
            f"'{target}' is the current folder. Choose another one, such as a new folder inside it."
        )
    return {path.name for path in target.iterdir() if not files.is_left_by_system(path.name)}


def stored_entries(dataset: Dataset, form: str) -> tuple[Entry, ...]:
    """Return the entries as saved in a form: PNG rounds the pixels, which changes their MSE."""
    return tuple(
        _stored(entry, picture, dataset.reference, form)
        for entry, picture in zip(dataset.entries, dataset.pictures, strict=True)
    )


def _stored(entry: Entry, picture: Picture, reference: Picture, form: str) -> Entry:
    if form == "tiff":
        return entry
    return replace(entry, achieved_mse=mse(_rounded(picture), _rounded(reference)))


def _rounded(picture: Picture) -> NDArray[np.float64]:
    """Return a picture as an 8-bit PNG stores it."""
    rounded: NDArray[np.float64] = np.rint(picture.astype(np.float64) * 255) / 255
    return rounded


def _check_name(folder: str | os.PathLike[str]) -> None:
    # Path("") would be the current folder.
    if not os.fspath(folder):
        raise DatasetError("The name of the folder is empty. Choose a folder.")


def _save_picture(folder: Path, index: int, picture: Picture, entry: Entry, form: str) -> str:
    level = "" if index == 0 else f"-mse{entry.target_mse:g}"
    # The label of an imported picture may hold any character.
    label = re.sub(r"[^A-Za-z0-9+_-]", "_", entry.label)[:60]
    name = f"{index:04d}-{label}{level}.{form}"
    if form == "tiff":
        image.save_tiff(folder / name, picture)
    else:
        image.save_png(folder / name, picture)
    return name


def _manifest(rows: Iterable[tuple[str, Entry]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, entry in rows:
        numbers = (entry.target_mse, entry.achieved_mse, entry.strength)
        writer.writerow(
            [name, entry.label, *(repr(float(number)) for number in numbers), entry.seed]
        )
    return text.getvalue()


def _description(dataset: Dataset, form: str) -> str:
    height, width = dataset.reference.shape
    document = {
        "schema": SCHEMA,
        "program": f"ISCA Studio {isca_gui.__version__}",
        "spec": asdict(dataset.spec) if dataset.spec else None,
        "width": width,
        "height": height,
        "format": form,
        "reference_sha256": reference_hash(dataset.reference) if form == "tiff" else None,
        "unreachable": [asdict(missed) for missed in dataset.unreachable],
    }
    return json.dumps(document, indent=2) + "\n"


def _read_description(folder: Path, problems: list[str]) -> _Description:
    """Read `dataset.json`; what is wrong with it is added to the problems."""
    path = folder / DESCRIPTION
    if not path.exists():
        return _Description()
    try:
        text = _text(path)
    except (OSError, ValueError) as error:
        problems.append(f"{DESCRIPTION} cannot be read ({error})")
        return _Description()
    try:
        document = json.loads(text, parse_constant=refuse_constant)
        schema = document["schema"]
        if schema != SCHEMA:
            problems.append(
                f"{DESCRIPTION} has schema {schema}; this program reads {SCHEMA}: update it"
            )
            return _Description()
        return _parsed(document)
    except SettingsError as error:
        problems.append(f"{DESCRIPTION}: {error}")
    except _JSON_ERRORS as error:
        problems.append(f"{DESCRIPTION} cannot be understood ({type(error).__name__}: {error})")
    return _Description()


def _parsed(document: dict[str, Any]) -> _Description:
    spec = None
    found = document["spec"]
    if found:
        levels = tuple(map(float, found["levels"]))
        spec = DatasetSpec(tuple(found["kinds"]), levels, int(found["seed"]))
    unreachable = tuple(
        Unreachable(
            str(each["kind"]),
            _checked_number(each["target_mse"]),
            _checked_number(each["maximum_mse"]),
        )
        for each in document["unreachable"]
    )
    return _Description(spec, unreachable, document["reference_sha256"])


def _checked_number(value: Any) -> float:
    """Return an MSE or strength; raise ValueError if it is negative or not finite."""
    number = float(value)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError("MSE and strength must be finite and not negative")
    return number


def _rows(folder: Path, problems: list[str]) -> list[_Row]:
    """Return the pictures of a folder with their labels; what is wrong is added to the problems."""
    if (folder / MANIFEST).exists():
        rows = _rows_of_manifest(folder, problems)
    else:
        rows = _rows_of_subfolders(folder, problems)
    originals = [row.file for row in rows if row.label == ORIGINAL]
    if len(originals) != 1:
        problems.append(
            f"exactly one picture must be labelled '{ORIGINAL}' (the reference); "
            f"there are {len(originals)}"
        )
    return rows


def _rows_of_manifest(folder: Path, problems: list[str]) -> list[_Row]:
    rows: list[_Row] = []
    try:
        lines = list(csv.DictReader(io.StringIO(_text(folder / MANIFEST)), strict=True))
    except (OSError, ValueError, csv.Error) as error:
        problems.append(f"{MANIFEST} cannot be read ({error})")
        return rows
    for number, line in enumerate(lines, start=2):
        try:
            rows.append(_row(line))
        except (KeyError, TypeError, ValueError) as error:
            problems.append(
                f"{MANIFEST} line {number} cannot be understood ({type(error).__name__}: {error})"
            )
    problems += _mismatches(folder, [row.file for row in rows])
    return rows


def _mismatches(folder: Path, names: list[str]) -> list[str]:
    """Return how the names in a manifest differ from the files in its folder."""
    problems = []
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        problems.append(f"named twice in {MANIFEST}: {_some(twice)}")
    missing = sorted(name for name in set(names) if not os.path.isfile(folder / name))
    if missing:
        problems.append(f"named in {MANIFEST} but not there: {_some(missing)}")
    known = {MANIFEST, DESCRIPTION, *names}
    unknown = sorted(
        path.name
        for path in folder.iterdir()
        if path.name not in known and files.is_content(path.name) and path.is_file()
    )
    if unknown:
        problems.append(f"there but not named in {MANIFEST}: {_some(unknown)}")
    return problems


def _row(line: dict[str, Any]) -> _Row:
    """Check one line of a manifest; raise what is wrong with it."""
    name = line["file"]
    label = (line["label"] or "").strip()
    path = Path(name)
    if not name or path.is_absolute() or ".." in path.parts:
        raise ValueError(f"'{name}' is not a file inside the folder")
    check_label(label)
    numbers = {column: _checked_number(line[column]) for column in COLUMNS[2:5] if line.get(column)}
    if any(numbers.get(column, 0) > HIGHEST_MSE for column in COLUMNS[2:4]):
        raise ValueError(f"an MSE cannot exceed {HIGHEST_MSE:g}")
    seed = int(line.get("seed") or 0)
    check_seed(seed)
    return _Row(name, label, **numbers, seed=seed)


def _rows_of_subfolders(folder: Path, problems: list[str]) -> list[_Row]:
    """Return the pictures of a folder with one subfolder per label.

    The reference is the one picture in `original` or the one beside the subfolders.
    """
    rows = [_Row(path.name, ORIGINAL) for path in _pictures_in(folder, problems)]
    for subfolder in sorted(path for path in _contents(folder, problems) if path.is_dir()):
        found = _pictures_in(subfolder, problems)
        rows += [_Row(path.relative_to(folder).as_posix(), subfolder.name) for path in found]
        if found:
            try:
                check_label(subfolder.name)
            except ValueError as error:
                problems.append(f"{error}: rename the subfolder")
    return rows


def _pictures_in(folder: Path, problems: list[str]) -> list[Path]:
    return sorted(
        path
        for path in _contents(folder, problems)
        if path.suffix.lower() in PICTURE_SUFFIXES and path.is_file()
    )


def _contents(folder: Path, problems: list[str]) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if files.is_content(path.name)]
    except OSError as error:
        problems.append(f"{folder.name} cannot be read ({error.strerror or error})")
        return []


def _entry(row: _Row, picture: Picture, reference: Picture) -> Entry:
    """Fill in what the manifest lacks: the achieved MSE is measured and is also the target."""
    achieved = row.achieved_mse
    if math.isnan(achieved):
        achieved = mse(picture, reference)
    target = achieved if math.isnan(row.target_mse) else row.target_mse
    strength = 0.0 if math.isnan(row.strength) else row.strength
    return Entry(row.label, target, achieved, strength, row.seed)


def _text(path: Path) -> str:
    """Read a text file; opening a pipe would wait for ever."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("it is not a file")
    if found.st_size > _LARGEST_TEXT:
        raise ValueError("the file is too large")
    return path.read_text(encoding="utf-8-sig")


def _some(names: list[str]) -> str:
    listed = ", ".join(names[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        listed += f" and {len(names) - _MOST_NAMES} more"
    return listed


def _raise_if_any(problems: list[str], folder: Path) -> None:
    if problems:
        listed = "\n".join(f"- {problem}" for problem in problems[:_MOST_PROBLEMS])
        if len(problems) > _MOST_PROBLEMS:
            listed += f"\n- and {len(problems) - _MOST_PROBLEMS} more"
        raise DatasetError(f"'{folder}' cannot be used as a dataset:\n{listed}")
