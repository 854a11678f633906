"""What is said about pictures of a dataset: names, figures, and the values under the pointer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.core.distortion.distortions import DISTORTIONS, level_text
from isca_gui.widgets import theme

if TYPE_CHECKING:
    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.viewers.canvas.panes import ComparisonSet


def long_name(dataset: Dataset, number: int) -> str:
    """Name a picture by its kind and error."""
    if number == 0:
        return "Reference"
    entry = dataset.entries[number]
    return f"{theme.class_style(entry.label).title}, MSE {entry.achieved_mse:.1f}"


def short_name(dataset: Dataset, number: int) -> str:
    """Name a picture by its kind's letter and its error."""
    if number == 0:
        return "Ref."
    entry = dataset.entries[number]
    return f"{theme.class_style(entry.label).letter} {level_text(entry.achieved_mse)}"


def figures(dataset: Dataset, compared: ComparisonSet) -> list[str]:
    """Say how one picture differs from the base, or between what figures some of them lie."""
    if len(compared.others) == 1:
        return _figures_of_one(dataset, compared)
    errors = [each.error for each in compared.comparisons]
    similar = [each.mean_similarity for each in compared.comparisons]
    return [
        f"{len(compared.others)} pictures against {long_name(dataset, compared.base)}",
        f"MSE {min(errors):.1f} to {max(errors):.1f} (low is close)",
        f"SSIM {min(similar):.4f} to {max(similar):.4f} (1 is equal)",
    ]


def _figures_of_one(dataset: Dataset, compared: ComparisonSet) -> list[str]:
    (number,), (comparison,) = compared.others, compared.comparisons
    entry = dataset.entries[number]
    parts = [theme.class_style(entry.label).title]
    if dataset.spec is not None and number:
        parts.append(f"target MSE {entry.target_mse:g}")
    parts.append(f"achieved MSE {entry.achieved_mse:.2f}")
    row = DISTORTIONS.get(entry.label)
    if row is not None and entry.strength > 0:
        parts.append(f"strength {entry.strength:.4g} ({row.unit})")
    name = long_name(dataset, compared.base)
    against = "" if compared.base == 0 else f" against {name}, MSE {comparison.error:.2f}"
    return [*parts, f"SSIM {comparison.mean_similarity:.4f} (1 is equal){against}"]


def readout(dataset: Dataset, compared: ComparisonSet, row: int, column: int) -> str:
    """Give the values of all pictures at a pixel."""
    single = len(compared.others) == 1
    name = long_name if single else short_name
    first = compared.comparisons[0].first.text_at(row, column)
    words = [f"x {column}, y {row}", f"{name(dataset, compared.base)}: {first}"]
    for number, each in zip(compared.others, compared.comparisons, strict=True):
        value, difference = each.second.text_at(row, column), each.difference.text_at(row, column)
        if single:
            similar = each.similarity.text_at(row, column)
            words.append(
                f"{name(dataset, number)}: {value}    difference {difference}    SSIM {similar}"
            )
        else:
            words.append(f"{name(dataset, number)}: {value} ({difference})")
    return "    ".join(words)
