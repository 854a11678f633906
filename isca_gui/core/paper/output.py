"""The files of the reproduction: figures, tables, results and the report."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isca_gui.core.paper import figures, report
from isca_gui.core.paper.plan import TEST_LABELS, TEST_MSE
from isca_gui.core.paper.results import document
from isca_gui.core.paper.stage_cache import FIGURES, REPORT, RESULTS, TABLES, PaperError, remove
from isca_gui.core.paper.tables import tables
from isca_gui.core.progress import Progress
from isca_gui.core.storage import files

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from matplotlib.figure import Figure

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.core.paper.results import Confusion, Findings
    from isca_gui.core.paper.tables import Row

# The figures that the report embeds as SVG; the others are embedded as PNG.
VECTORS = ("fig3-confusion", "fig3-confusion-extended", "fig6-convergence")


@dataclass(frozen=True)
class WrittenFiles:
    """The paths of what was written."""

    report: Path
    results: Path
    figures: tuple[Path, ...]
    tables: tuple[Path, ...]


def write(
    folder: Path, findings: Findings, isca: Model, tests: Dataset
) -> Generator[Progress, None, WrittenFiles]:
    """Write all files; the report comes last, so where there is a report, everything is complete.

    Parameters
    ----------
    folder
        The folder to write.
    findings
        What the reproduction found.
    isca
        The model of ISCA, whose bases and reconstructions are drawn.
    tests
        The test pictures, after the reference.
    """
    drawings = _drawings(findings, isca, tests)
    drawn: dict[str, bytes] = {}
    figure_paths: list[Path] = []
    try:
        # They may be about another picture, and would not match the new figures beside them.
        for old in (REPORT, RESULTS):
            remove(folder / old)
        for name in (FIGURES, TABLES):
            (folder / name).mkdir(exist_ok=True)
        for place, (name, draw) in enumerate(drawings.items()):
            yield Progress(place, len(drawings) + 1, f"drawing {name}")
            png, svg = figures.save(draw(), folder / FIGURES, name)
            embedded = svg if name in VECTORS else png
            drawn[name] = embedded.read_bytes()
            figure_paths += [png, svg]
        yield Progress(len(drawings), len(drawings) + 1, "writing the report")
        table_paths = [
            _save_table(folder / TABLES / f"{name}.csv", rows)
            for name, rows in tables(findings).items()
        ]
        results_path = folder / RESULTS
        report_path = folder / REPORT
        text = json.dumps(document(findings), indent=2, allow_nan=False)
        files.write_text(results_path, f"{text}\n")
        files.write_text(report_path, report.page(findings, drawn, VECTORS))
    except OSError as error:
        reason = error.strerror or error
        raise PaperError(f"Cannot write to folder '{folder}': {reason}.") from error
    return WrittenFiles(
        report_path.absolute(), results_path.absolute(), tuple(figure_paths), tuple(table_paths)
    )


def _drawings(findings: Findings, isca: Model, tests: Dataset) -> dict[str, Callable[[], Figure]]:
    """Return a function for each figure that draws it."""
    dataset = findings.dataset
    numbers = [1 + TEST_LABELS.index(label) for label in tests.labels[1:]]
    trained = {
        result.title: result.curves
        for result in findings.methods
        if len(result.curves["epoch"]) > 1
    }
    untrained = {
        result.title: result.curves["objective"][-1]
        for result in findings.methods
        if result.key in ("pca", "random")
    }
    drawings: dict[str, Callable[[], Figure]] = {
        "fig1-training-set": lambda: figures.examples(dataset, TEST_MSE),
        "fig2-bases": lambda: figures.bases(isca),
        "fig3-confusion": lambda: _confusions(findings, "published"),
        "fig3-confusion-extended": lambda: _confusions(findings, "extended"),
        "fig5-reconstructions": lambda: figures.reconstructions(isca, dataset, tests, numbers),
        "fig6-convergence": lambda: figures.convergence(trained, untrained),
    }
    if numbers:
        drawings["fig4-test-set"] = lambda: figures.test_pictures(tests, numbers)
    return drawings


def _confusions(findings: Findings, which: str) -> Figure:
    matrices: dict[str, Confusion] = {
        method.title: getattr(method, which) for method in findings.methods
    }
    notes = {title: f"{matrix.accuracy:.1%} correct" for title, matrix in matrices.items()}
    counts = {title: matrix.counts for title, matrix in matrices.items()}
    return figures.confusions(counts, findings.methods[0].published.classes, notes)


def _save_table(path: Path, rows: list[Row]) -> Path:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    files.write_text(path, text.getvalue())
    return path
