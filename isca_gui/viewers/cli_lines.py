"""The commands that give the same as the window."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from isca_gui.core.methods import METHODS
from isca_gui.core.settings import DatasetSpec, TrainingSettings, number_text
from isca_gui.core.storage.files import as_word, command_line
from isca_gui.viewers.export import safe_name

if TYPE_CHECKING:
    from isca_gui.core.distortion.dataset import Dataset

_OPTIONS = {"tolerance": "tol"}
_NOT_THERE = {"keep_every"}


def changed_settings(settings: TrainingSettings) -> dict[str, object]:
    """Give the settings that differ from the published ones and matter to the method."""
    plain, resolved = (
        TrainingSettings(method=settings.method, solver=settings.solver),
        settings.resolved(),
    )
    usual = plain.resolved()
    found: dict[str, object] = {}
    for field in fields(settings):
        name = field.name
        if name == "method" or name in _NOT_THERE:
            continue
        if name in METHODS[settings.method].unused_fields:
            continue
        base = TrainingSettings() if name == "solver" else usual
        if name == "gamma" and settings.gamma is None:
            continue
        if getattr(resolved, name) != getattr(base, name):
            found[name] = getattr(resolved, name)
    return found


def settings_in_short(settings: TrainingSettings) -> str:
    """Say the settings of a training in a few words."""
    parts = [f"p = {settings.components}", f"block {settings.block}"]
    titles = {"rho": "ρ", "eta": "η", "gamma": "γ", "tolerance": "tolerance"}
    for name, value in changed_settings(settings).items():
        if name in ("solver", "kernel", "metric", "precision"):
            parts.append(str(value))
        elif name not in ("components", "block"):
            shown = f"{value:.4g}" if isinstance(value, float) else str(value)
            parts.append(f"{titles.get(name, name)} {shown}")
    if settings.uses_kernel and settings.kernel == TrainingSettings.kernel:
        parts.append(settings.kernel)
    return ", ".join(parts)


def train_command(settings: TrainingSettings, dataset: str, model: str) -> str:
    """Write the `isca train` line for some settings."""
    words = ["isca", "train", as_word(dataset), "-o", as_word(model), "--method", settings.method]
    for name, value in changed_settings(settings).items():
        words += [
            f"--{_OPTIONS.get(name, name)}",
            f"{value!r}" if isinstance(value, float) else str(value),
        ]
    return command_line(words)


def dataset_command(spec: DatasetSpec, picture: str, folder: str) -> str:
    """Write the `isca dataset` line for a spec."""
    words = ["isca", "dataset", as_word(picture), "-o", folder]
    usual = DatasetSpec()
    if spec.kinds != usual.kinds:
        words += ["--kinds", ",".join(spec.kinds)]
    if spec.levels != usual.levels:
        words += ["--levels", ",".join(map(number_text, spec.levels))]
    if spec.seed != usual.seed:
        words += ["--seed", str(spec.seed)]
    return command_line(words)


def model_file(name: str) -> str:
    """Give the file that a run of a name is written to by the commands."""
    return f"{safe_name(name.removesuffix('.isca')).replace(' ', '-').lower()}.isca"


def classify_command(run: str, picture: str) -> str:
    """Write the `isca classify` line for a run's name and a picture file."""
    words = ["isca", "classify", as_word(model_file(run)), as_word(picture)]
    return command_line(words)


def run_commands(
    settings: TrainingSettings, dataset: Dataset | None, picture: str | None, name: str
) -> str:
    """Write all that is needed to train a run again from its reference picture."""
    model = model_file(name)
    spec = dataset.spec if dataset is not None else None
    if spec is None or picture is None:
        return train_command(settings, "dataset", model)
    if spec == DatasetSpec():
        return train_command(settings, picture, model)
    return (
        f"{dataset_command(spec, picture, 'dataset')}\n{train_command(settings, 'dataset', model)}"
    )
