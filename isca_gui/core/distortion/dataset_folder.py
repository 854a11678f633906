"""Datasets as folders: pictures, `manifest.csv` and `dataset.json`; and import of labelled folders."""

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
from isca_gui.core.distortion.dataset import Dataset, DatasetError, Entry, Unreachable, check_label
from isca_gui.core.distortion.distortions import ORIGINAL, mse
from isca_gui.core.pictures import image
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.progress import Progress
from isca_gui.core.settings import HIGHEST_MSE, DatasetSpec, SettingsError, check_seed
from isca_gui.core.storage import files
from isca_gui.core.storage.json_types import refuse_constant

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from numpy.typing import NDArray

    from isca_gui.core.distortion.distortions import Picture

SCHEMA = 1
MANIFEST, DESCRIPTION = "manifest.csv", "dataset.json"
COLUMNS = ("file", "label", "target_mse", "achieved_mse", "strength", "seed")
PICTURE_SUFFIXES = {
    *(".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".pgm", ".ppm", ".pnm", ".gif")
}
_LARGEST_TEXT = 64 * 2**20
_MOST_PROBLEMS = 20


@dataclass(frozen=True)
class _Row:
    """One line of a manifest, checked; what the file did not say is NaN."""

    file: str
    label: str
    target_mse: float = math.nan
    achieved_mse: float = math.nan
    strength: float = math.nan
    seed: int = 0


def save(
    dataset: Dataset, folder: str | os.PathLike[str], *, form: str = "tiff", overwrite: bool = False
) -> Generator[Progress, None, Path]:
    """Write a dataset folder; the name appears only when everything is written.

    With `overwrite` a dataset folder that stands there is replaced, and kept whole until then.
    """
    if form not in ("tiff", "png"):
        raise DatasetError(f"a dataset is saved as tiff or png, not {form}")
    check_target(folder, overwrite=overwrite)
    if dataset.labels.count(ORIGINAL) > 1:  # it could not be loaded again
        raise DatasetError(
            f"The dataset cannot be saved: only the reference is labelled '{ORIGINAL}'."
        )
    target, count = Path(folder), len(dataset.entries)
    try:
        with files.replacing_folder(target) as temporary:
            rows = []
            for index, (picture, entry) in enumerate(
                zip(dataset.pictures, dataset.entries, strict=True)
            ):
                yield Progress(index, count, "saving")
                stored = _stored(entry, picture, dataset.reference, form)
                rows.append((_save_picture(temporary, index, picture, entry, form), stored))
            (temporary / MANIFEST).write_bytes(_manifest(rows).encode("utf-8"))
            (temporary / DESCRIPTION).write_bytes(_description(dataset, form).encode("utf-8"))
            yield Progress(count, count, "saving")  # the last place to stop: now it gets its name
    except ImageError as error:
        raise DatasetError(str(error)) from error
    except OSError as error:
        why = error.strerror or error
        raise DatasetError(
            f"Cannot write dataset folder '{target}': {why}. Choose another place."
        ) from error
    return target


def load(folder: str | os.PathLike[str]) -> Generator[Progress, None, Dataset]:
    """Read a dataset folder, a folder of pictures with a manifest, or one with a subfolder per label."""
    _check_name(folder)
    files.restore_folder(folder)
    folder = Path(folder)
    if not folder.is_dir():
        raise DatasetError(f"'{folder}' is not a folder. Choose a dataset folder.")
    problems: list[str] = []
    rows = _rows(folder, problems)
    spec, unreachable, hash_wanted = _read_description(folder, problems)
    rows = [
        row for row in rows if os.path.isfile(folder / row.file)
    ]  # the others are listed already
    if not rows:
        _stop_if(problems, folder)
    rows.sort(key=lambda row: row.label != ORIGINAL)
    pictures = yield from _read_pictures(folder, rows, problems)
    if hash_wanted and reference_hash(pictures[0]) != hash_wanted:
        problems.append(f"{rows[0].file} is not the reference that {DESCRIPTION} speaks of")
    _stop_if(problems, folder)
    entries = [
        _entry(row, picture, pictures[0]) for row, picture in zip(rows, pictures, strict=True)
    ]
    return Dataset(pictures, tuple(entries), spec, unreachable)


def _read_pictures(
    folder: Path, rows: list[_Row], problems: list[str]
) -> Generator[Progress, None, NDArray[np.float32]]:
    """Read all pictures, and stop with one list of all that cannot be read or differ in size."""
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
            found, wanted = (f"{shape[1]}×{shape[0]}" for shape in (picture.shape, stack.shape[1:]))
            problems.append(f"{row.file} is {found}, the others are {wanted}")
    _stop_if(problems, folder)
    assert stack is not None
    yield Progress(len(rows), len(rows), "reading")
    return stack


def reference_hash(reference: Picture) -> str:
    """SHA-256 of the reference's pixels as little-endian float32, row by row."""
    return hashlib.sha256(np.ascontiguousarray(reference, dtype="<f4").tobytes()).hexdigest()


def check_target(folder: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Refuse a folder to save to that holds anything the user could miss."""
    names = names_in_target(folder)
    target = Path(folder)
    if not names:
        return
    if DESCRIPTION not in names:
        raise DatasetError(f"'{target}' holds other files. Choose a new or empty folder.")
    if not overwrite:
        raise DatasetError(
            f"'{target}' is a dataset already. Choose another folder or say --overwrite."
        )
    problems = [] if MANIFEST in names else [f"{MANIFEST} is missing"]
    rows = _rows(target, problems)
    _read_description(target, problems)
    if problems:
        raise DatasetError(
            f"'{target}' is not a whole dataset of this program and nothing else: {problems[0]}. "
            "Choose another folder."
        )
    foreign = sorted(names - {MANIFEST, DESCRIPTION} - {row.file for row in rows})
    if foreign:
        raise DatasetError(
            f"'{target}' also holds {_some(foreign)}. Move them away or choose another folder."
        )


def names_in_target(folder: str | os.PathLike[str]) -> set[str]:
    """Give what is in a folder that is to be replaced; refuse what is no folder or must not be replaced."""
    _check_name(folder)
    files.restore_folder(folder)
    target = Path(folder)
    if not target.exists():
        return set()
    if not target.is_dir():
        raise DatasetError(f"'{target}' is a file. Choose another folder.")
    if files.is_current_folder(target):
        raise DatasetError(
            f"'{target}' is the current folder. Choose another, such as a new one inside it."
        )
    return {path.name for path in target.iterdir() if not files.is_left_by_system(path.name)}


def stored_entries(dataset: Dataset, form: str) -> tuple[Entry, ...]:
    """Give the entries as a folder of this form has them: a PNG is rounded, which changes its MSE."""
    return tuple(
        _stored(entry, picture, dataset.reference, form)
        for entry, picture in zip(dataset.entries, dataset.pictures, strict=True)
    )


def _stored(entry: Entry, picture: Picture, reference: Picture, form: str) -> Entry:
    if form == "tiff":
        return entry
    rounded = [np.rint(each.astype(np.float64) * 255) / 255 for each in (picture, reference)]
    return replace(entry, achieved_mse=mse(*rounded))


def _check_name(folder: str | os.PathLike[str]) -> None:
    if not os.fspath(folder):  # Path("") would be the current folder
        raise DatasetError("The name of the folder is empty. Choose a folder.")


def _save_picture(folder: Path, index: int, picture: Picture, entry: Entry, form: str) -> str:
    level = "" if index == 0 else f"-mse{entry.target_mse:g}"
    label = re.sub(r"[^A-Za-z0-9+_-]", "_", entry.label)[:60]  # an imported label may be anything
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


def _read_description(
    folder: Path, problems: list[str]
) -> tuple[DatasetSpec | None, tuple[Unreachable, ...], str | None]:
    path = folder / DESCRIPTION
    if not path.exists():
        return None, (), None
    try:
        text = _text(path)
    except (OSError, ValueError) as error:
        problems.append(f"{DESCRIPTION} cannot be read ({error})")
        return None, (), None
    try:
        document = json.loads(text, parse_constant=refuse_constant)
        schema = document["schema"]
        if schema != SCHEMA:
            problems.append(
                f"{DESCRIPTION} is of schema {schema}; this program knows {SCHEMA}: update it"
            )
            return None, (), None
        spec = document["spec"]
        return (
            DatasetSpec(tuple(spec["kinds"]), tuple(map(float, spec["levels"])), int(spec["seed"]))
            if spec
            else None,
            tuple(
                Unreachable(str(u["kind"]), _amount(u["target_mse"]), _amount(u["maximum_mse"]))
                for u in document["unreachable"]
            ),
            document["reference_sha256"],
        )
    except SettingsError as error:
        problems.append(f"{DESCRIPTION}: {error}")
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        OverflowError,
    ) as error:
        problems.append(f"{DESCRIPTION} makes no sense ({type(error).__name__}: {error})")
    return None, (), None


def _amount(value: Any) -> float:
    number = float(value)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError("MSE and strength are finite and not negative")
    return number


def _rows(folder: Path, problems: list[str]) -> list[_Row]:
    has_manifest = (folder / MANIFEST).exists()
    rows = (_rows_of_manifest if has_manifest else _rows_of_subfolders)(folder, problems)
    originals = [row.file for row in rows if row.label == ORIGINAL]
    if len(originals) != 1:
        problems.append(
            f"exactly one picture must be labelled '{ORIGINAL}' (the reference); there are {len(originals)}"
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
                f"{MANIFEST} line {number} makes no sense ({type(error).__name__}: {error})"
            )
    names = [row.file for row in rows]
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        problems.append(f"named twice in {MANIFEST}: {_some(twice)}")
    missing = sorted(name for name in set(names) if not os.path.isfile(folder / name))
    if missing:
        problems.append(f"named in {MANIFEST} but not there: {_some(missing)}")
    unknown = sorted(
        path.name for path in folder.iterdir() if path.name not in {MANIFEST, DESCRIPTION, *names}
        and files.is_content(path.name) and path.is_file()
    )  # fmt: skip
    if unknown:
        problems.append(f"there but not named in {MANIFEST}: {_some(unknown)}")
    return rows


def _row(line: dict[str, Any]) -> _Row:
    name, label = line["file"], (line["label"] or "").strip()
    inside = Path(name)
    if not name or inside.is_absolute() or ".." in inside.parts:
        raise ValueError(f"'{name}' is not a file inside the folder")
    check_label(label)
    numbers = {column: _amount(line[column]) for column in COLUMNS[2:5] if line.get(column)}
    if any(numbers.get(column, 0) > HIGHEST_MSE for column in COLUMNS[2:4]):
        raise ValueError(f"an MSE is at most {HIGHEST_MSE:g}")
    seed = int(line.get("seed") or 0)
    check_seed(seed)
    return _Row(name, label, **numbers, seed=seed)


def _rows_of_subfolders(folder: Path, problems: list[str]) -> list[_Row]:
    """One subfolder per label; the reference is `original/x.png` or the one picture beside the subfolders."""
    rows = [_Row(path.name, ORIGINAL) for path in _pictures_in(folder, problems)]
    for subfolder in sorted(path for path in _inside(folder, problems) if path.is_dir()):
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
        for path in _inside(folder, problems)
        if path.suffix.lower() in PICTURE_SUFFIXES and path.is_file()
    )


def _inside(folder: Path, problems: list[str]) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if files.is_content(path.name)]
    except OSError as error:
        problems.append(f"{folder.name} cannot be read ({error.strerror or error})")
        return []


def _entry(row: _Row, picture: Picture, reference: Picture) -> Entry:
    """Complete what the manifest did not say: the achieved MSE is measured and stands for the target."""
    achieved = row.achieved_mse if math.isfinite(row.achieved_mse) else mse(picture, reference)
    target = row.target_mse if math.isfinite(row.target_mse) else achieved
    strength = row.strength if math.isfinite(row.strength) else 0.0
    return Entry(row.label, target, achieved, strength, row.seed)


def _text(path: Path) -> str:
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):  # a pipe would keep us waiting for ever
        raise ValueError("it is not a file")
    if found.st_size > _LARGEST_TEXT:
        raise ValueError("the file is too large")
    return path.read_text(encoding="utf-8-sig")


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _stop_if(problems: list[str], folder: Path) -> None:
    if problems:
        listed = "\n".join(f"- {problem}" for problem in problems[:_MOST_PROBLEMS])
        if len(problems) > _MOST_PROBLEMS:
            listed += f"\n- and {len(problems) - _MOST_PROBLEMS} more"
        raise DatasetError(f"'{folder}' cannot be used as a dataset:\n{listed}")
