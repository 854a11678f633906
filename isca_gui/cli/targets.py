"""Checks of the files that a command is asked to write, made before the work begins."""

from __future__ import annotations

import contextlib
import os
import sys
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

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
