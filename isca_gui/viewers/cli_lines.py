"""The commands that do the same as the window."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.methods import METHODS
from isca_gui.core.settings import TrainingSettings, number_text
from isca_gui.core.storage.files import as_word, command_line
from isca_gui.viewers.export import safe_name

if TYPE_CHECKING:
    from isca_gui.core.distortion.dataset import Dataset

_WITHOUT_OPTION = {"method", "keep_every"}
_OPTIONS = {"tolerance": "tol"}
_SYMBOLS = {"rho": "ρ", "eta": "η", "gamma": "γ"}


def changed_settings(settings: TrainingSettings) -> dict[str, object]:
    """Return the settings that matter to the method and differ from the published ones."""
    # An automatic value, such as the kernel's gamma, is compared with what it stands for.
    resolved = settings.resolved()
    defaults = TrainingSettings(method=settings.method, solver=settings.solver).resolved()
    changed: dict[str, object] = {}
    for field in fields(settings):
        name = field.name
        if name in _WITHOUT_OPTION or name in METHODS[settings.method].unused_fields:
            continue
        if name == "gamma" and settings.gamma is None:
            continue
        base = TrainingSettings() if name == "solver" else defaults
        if getattr(resolved, name) != getattr(base, name):
            changed[name] = getattr(resolved, name)
    return changed


def settings_summary(settings: TrainingSettings) -> str:
    """Return the settings of a training in a few words."""
    parts = [f"p = {settings.components}", f"block {settings.block}"]
    for name, value in changed_settings(settings).items():
        if name in ("solver", "kernel", "metric", "precision"):
            parts.append(str(value))
        elif name not in ("components", "block"):
            text = f"{value:.4g}" if isinstance(value, float) else str(value)
            parts.append(f"{_SYMBOLS.get(name, name)} {text}")
    if settings.uses_kernel and settings.kernel == TrainingSettings.kernel:
        parts.append(settings.kernel)
    return ", ".join(parts)


def train_command(settings: TrainingSettings, dataset: str, model: str) -> str:
    """Return the `isca train` line for some settings."""
    words = ["isca", "train", as_word(dataset), "-o", as_word(model), "--method", settings.method]
    for name, value in changed_settings(settings).items():
        words.append(f"--{_OPTIONS.get(name, name)}")
        words.append(repr(value) if isinstance(value, float) else str(value))
    return command_line(words)


def dataset_command(spec: DatasetSpec, picture: str, folder: str) -> str:
    """Return the `isca dataset` line for a spec."""
    words = ["isca", "dataset", as_word(picture), "-o", folder]
    default = DatasetSpec()
    if spec.kinds != default.kinds:
        words += ["--kinds", ",".join(spec.kinds)]
    if spec.levels != default.levels:
        words += ["--levels", ",".join(map(number_text, spec.levels))]
    if spec.seed != default.seed:
        words += ["--seed", str(spec.seed)]
    return command_line(words)


def model_file(name: str) -> str:
    """Return the file that the commands write a run of this name to."""
    return f"{safe_name(name.removesuffix('.isca')).replace(' ', '-').lower()}.isca"


def classify_command(run: str, picture: str) -> str:
    """Return the `isca classify` line for a run's name and a picture file."""
    return command_line(["isca", "classify", as_word(model_file(run)), as_word(picture)])


def run_commands(
    settings: TrainingSettings, dataset: Dataset | None, picture: str | None, name: str
) -> str:
    """Return the commands that train a run again from its reference picture.

    Parameters
    ----------
    settings
        What the run was trained with.
    dataset
        What it was trained on, or None if that is not loaded.
    picture
        File of the reference picture, or None if it has none.
    name
        The run's name, which names the model file.
    """
    model = model_file(name)
    spec = dataset.spec if dataset is not None else None
    if spec is None or picture is None:
        return train_command(settings, "dataset", model)
    # The train command makes the published dataset from a picture by itself.
    if spec == DatasetSpec():
        return train_command(settings, picture, model)
    first = dataset_command(spec, picture, "dataset")
    return f"{first}\n{train_command(settings, 'dataset', model)}"
