"""Texts about pictures of a dataset: names, figures, and the values at the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.core.distortion.distortions import DISTORTIONS, level_text
from isca_gui.widgets import theme

if TYPE_CHECKING:
    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.viewers.pictures.panes import ComparisonSet


def long_name(dataset: Dataset, number: int) -> str:
    """Return a picture's name: its kind and error."""
    if number == 0:
        return "Reference"
    entry = dataset.entries[number]
    return f"{theme.class_style(entry.label).title}, MSE {entry.achieved_mse:.1f}"


def short_name(dataset: Dataset, number: int) -> str:
    """Return a picture's short name: the letter of its kind and its error."""
    if number == 0:
        return "Ref."
    entry = dataset.entries[number]
    return f"{theme.class_style(entry.label).letter} {level_text(entry.achieved_mse)}"


def figures(dataset: Dataset, compared: ComparisonSet) -> list[str]:
    """Return how one picture differs from the base, or the range of the figures of several."""
    if len(compared.others) == 1:
        return _figures_of_one(dataset, compared)
    errors = [each.error for each in compared.comparisons]
    similar = [each.mean_similarity for each in compared.comparisons]
    return [
        f"{len(compared.others)} pictures compared with {long_name(dataset, compared.base)}",
        f"MSE {min(errors):.1f} to {max(errors):.1f} (0 = identical)",
        f"SSIM {min(similar):.4f} to {max(similar):.4f} (1 = identical)",
    ]


def _figures_of_one(dataset: Dataset, compared: ComparisonSet) -> list[str]:
    (number,) = compared.others
    (comparison,) = compared.comparisons
    entry = dataset.entries[number]
    parts = [theme.class_style(entry.label).title]
    if dataset.spec is not None and number:
        parts.append(f"target MSE {entry.target_mse:g}")
    parts.append(f"achieved MSE {entry.achieved_mse:.2f}")
    distortion = DISTORTIONS.get(entry.label)
    if distortion is not None and entry.strength > 0:
        parts.append(f"strength {entry.strength:.4g} ({distortion.unit})")
    parts.append(f"SSIM {comparison.mean_similarity:.4f} (1 = identical)")
    if compared.base != 0:
        base = long_name(dataset, compared.base)
        parts[-1] += f" and MSE {comparison.error:.2f} compared with {base}"
    return parts


def readout(dataset: Dataset, compared: ComparisonSet, row: int, column: int) -> str:
    """Return the values of all pictures at a pixel."""
    single = len(compared.others) == 1
    name = long_name if single else short_name
    first = compared.comparisons[0].first.text_at(row, column)
    parts = [f"x {column}, y {row}", f"{name(dataset, compared.base)}: {first}"]
    for number, comparison in zip(compared.others, compared.comparisons, strict=True):
        value = comparison.second.text_at(row, column)
        difference = comparison.difference.text_at(row, column)
        if single:
            similarity = comparison.similarity.text_at(row, column)
            parts.append(f"{name(dataset, number)}: {value}")
            parts.append(f"difference {difference}")
            parts.append(f"SSIM {similarity}")
        else:
            parts.append(f"{name(dataset, number)}: {value} ({difference})")
    return "    ".join(parts)
