"""The benchmark of the findings about colours, on two scenes that are sample pictures."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from isca_gui.bench import colour
from isca_gui.core import sample_path
from isca_gui.core.progress import run

if TYPE_CHECKING:
    from pathlib import Path


def test_figures_of_a_folder(tmp_path: Path) -> None:
    for name in ("coffee", "chelsea"):
        source = sample_path(f"sample:{name}")
        shutil.copy(source, tmp_path / source.name)
    figures = {figure.name: figure for figure in run(colour.measure(tmp_path, 1))}
    invented = figures["damage without colours: nothing invented (15 pictures)"]
    assert invented.value >= 90
    assert invented.least == 98
    named = [figure for name, figure in figures.items() if name.startswith("findings named")]
    assert len(named) == 2
    assert all(figure.value >= 70 for figure in named)


def test_what_is_seen_decides_what_counts() -> None:
    plain = [colour.ColourOutcome(None, "blur", "", True, ()) for _ in range(3)]
    wrong = colour.ColourOutcome("hue", "hue", "", False, ("cast",))
    figures = {figure.name: figure.value for figure in colour.figures([*plain, wrong])}
    assert figures["damage without colours: nothing invented (3 pictures)"] == 100
    assert figures["findings named, alone (1 pictures)"] == 0
    assert figures["findings: nothing else invented (1 pictures)"] == 0
