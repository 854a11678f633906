"""Checks of the files that a command is asked to write, made before the work begins."""

from __future__ import annotations

import contextlib
import os
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Stands for the name of each picture in the name of a file to write.
NAME = "{name}"
# macOS and Windows usually take names that differ only in case for the same file.
_FOLDS_CASE = sys.platform in ("darwin", "win32")


def check_target(path: str, suffixes: tuple[str, ...], inputs: Iterable[str]) -> None:
    """Refuse a file that has the wrong suffix, cannot be written, or is one of the inputs."""
    from isca_gui.core.settings import SettingsError

    inputs = list(inputs)
    if not path.lower().endswith(suffixes):
        raise SettingsError(f"'{path}' must end in {' or '.join(suffixes)}")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        name = os.path.basename(path)
        raise FileNotFoundError(f"Cannot write '{name}': there is no folder '{folder}'.")
    if is_not_a_file(path) or not os.access(folder, os.W_OK):
        raise PermissionError(f"'{path}' cannot be written. Choose another place.")
    if file_identity(path) in map(file_identity, inputs):
        raise SettingsError(f"'{path}' is also an input; choose another file to write")
    check_not_in_dataset(path, inputs)


def file_identity(path: str, folds_case: bool = _FOLDS_CASE) -> object:
    """Return a value that is equal for all names of the same file, whether or not it exists yet."""
    with contextlib.suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    place = os.path.realpath(path)
    if folds_case:
        return unicodedata.normalize("NFC", place).casefold()
    return place


def is_not_a_file(path: str | os.PathLike[str]) -> bool:
    """Whether there is something that must not be replaced: a folder, a pipe or a device."""
    return os.path.exists(path) and not os.path.isfile(path)


def check_not_in_dataset(path: str, inputs: Iterable[str]) -> None:
    """Refuse a file that would damage a dataset.

    That is any file inside a dataset folder, and one beside an input whose name would turn their
    folder into a dataset.
    """
    from isca_gui.core.distortion.dataset_folder import DESCRIPTION, MANIFEST
    from isca_gui.core.settings import SettingsError

    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    inputs = [os.path.realpath(each) for each in inputs]
    is_input = folder in filter(os.path.isdir, inputs)
    is_dataset = any(os.path.exists(os.path.join(folder, name)) for name in (MANIFEST, DESCRIPTION))
    if is_input or is_dataset:
        raise SettingsError(
            f"'{path}' is inside the dataset folder '{folder}', which must not hold other files; "
            "choose another place to write"
        )
    makes_dataset = os.path.basename(target).lower() in (MANIFEST, DESCRIPTION)
    if makes_dataset and folder in map(os.path.dirname, inputs):
        raise SettingsError(
            f"'{path}' would be mistaken for part of a dataset; choose another name"
        )


def files_for(
    option: str,
    pattern: str,
    ending: str,
    names: Sequence[str],
    inputs: Iterable[str],
    words: Iterable[str],
) -> dict[str, str]:
    """Return the file to write for each picture; refuse to replace an input or one another.

    Parameters
    ----------
    option
        The option that asked for the files, for messages.
    pattern
        A .png file, a folder, or a name that contains `NAME`.
    ending
        What is added to a picture's name where the pattern is a folder.
    names
        The pictures.
    inputs
        All files that are read.
    words
        The files and folders as they were named on the command line.
    """
    from isca_gui.core.pictures import samples
    from isca_gui.core.settings import SettingsError

    folder = None
    if NAME not in pattern and (os.path.isdir(pattern) or not Path(pattern).suffix):
        folder = pattern
        pattern = os.path.join(folder, f"{NAME}{ending}")
    elif NAME not in pattern and len(names) > 1:
        raise SettingsError(
            f"{option}: for {len(names)} pictures, '{pattern}' must be a folder or contain {NAME}"
        )
    read = {file_identity(_input_file(each)) for each in inputs}
    found: dict[str, str] = {}
    owners: dict[object, str] = {}
    for name in dict.fromkeys(names):
        found[name] = pattern.replace(NAME, Path(name.removeprefix(samples.PREFIX)).stem)
        identity = file_identity(found[name])
        if identity in read:
            raise SettingsError(
                f"{option}: '{found[name]}' is also an input; choose other files to write"
            )
        owner = owners.setdefault(identity, name)
        if owner != name:
            raise SettingsError(
                f"{option}: '{owner}' and '{name}' would share the file {found[name]}"
            )
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    _check_folders(option, found.values(), words)
    return found


def _check_folders(option: str, paths: Iterable[str], words: Iterable[str]) -> None:
    """Refuse folders that cannot be written to, or whose pictures would be read the next time."""
    from isca_gui.core.settings import SettingsError

    read = set(map(os.path.realpath, words))
    one_per_folder = {os.path.dirname(path): path for path in paths}
    for path in one_per_folder.values():
        check_target(path, (".png",), ())
        if os.path.dirname(os.path.realpath(path)) in read:
            raise SettingsError(
                f"{option}: '{path}' would later be mistaken for one of the pictures in its "
                "folder; choose another folder"
            )


def _input_file(name: str) -> str:
    """Return the file behind a name; an unknown sample is reported when its turn comes."""
    from isca_gui.core.pictures import samples
    from isca_gui.core.pictures.image import ImageError

    try:
        return os.fspath(samples.resolve(name))
    except ImageError:
        return name
