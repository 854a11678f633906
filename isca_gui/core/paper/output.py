"""What the reproduction leaves: figures as PNG and SVG, tables as CSV, `results.json` and `report.html`."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from isca_gui.core.distortion.distortions import UNDECIDED_LABEL
from isca_gui.core.paper import figures, report
from isca_gui.core.paper.plan import PRINTED, TEST_LABELS, TEST_MSE, letter
from isca_gui.core.paper.results import CURVES, document, printed_score, score_of
from isca_gui.core.paper.stage_cache import FIGURES, REPORT, RESULTS, TABLES, PaperError, remove
from isca_gui.core.progress import Progress
from isca_gui.core.storage import files

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from matplotlib.figure import Figure

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.core.paper.plan import Vote
    from isca_gui.core.paper.results import Confusion, Findings, MethodResult

    Row = tuple[object, ...]
    Written = tuple[Path, Path, tuple[Path, ...], tuple[Path, ...]]

VECTORS = (
    "fig3-confusion",
    "fig3-confusion-extended",
    "fig6-convergence",
)  # SVG in the report; others PNG


def write(
    folder: Path, findings: Findings, isca: Model, tests: Dataset
) -> Generator[Progress, None, Written]:
    """Write everything; the report comes last, so that where it is, all is."""
    drawings = _drawings(findings, isca, tests)
    drawn: dict[str, bytes] = {}
    written: list[Path] = []
    try:
        for old in (
            REPORT,
            RESULTS,
        ):  # perhaps of another picture: they must not stand beside these figures
            remove(folder / old)
        for name in (FIGURES, TABLES):
            (folder / name).mkdir(exist_ok=True)
        for place, (name, draw) in enumerate(drawings.items()):
            yield Progress(place, len(drawings) + 1, f"drawing {name}")
            paths = figures.save(draw(), folder / FIGURES, name)
            drawn[name] = paths[name in VECTORS].read_bytes()
            written += paths
        yield Progress(len(drawings), len(drawings) + 1, "writing the report")
        tables = [
            _save_table(folder / TABLES / f"{name}.csv", rows) for name, rows in _tables(findings)
        ]
        results_path = folder / RESULTS
        report_path = folder / REPORT
        text = json.dumps(document(findings), indent=2, allow_nan=False)
        files.write_text(results_path, f"{text}\n")
        files.write_text(report_path, report.page(findings, drawn, VECTORS))
    except OSError as error:
        raise PaperError(
            f"Cannot write to folder '{folder}': {error.strerror or error}."
        ) from error
    return report_path.absolute(), results_path.absolute(), tuple(written), tuple(tables)


def _drawings(findings: Findings, isca: Model, tests: Dataset) -> dict[str, Callable[[], Figure]]:
    numbers = [1 + TEST_LABELS.index(label) for label in tests.labels[1:]]
    trained = {
        found.title: found.curves for found in findings.methods if len(found.curves["epoch"]) > 1
    }
    plain = {
        found.title: found.curves["objective"][-1]
        for found in findings.methods
        if found.key in ("pca", "random")
    }
    drawings: dict[str, Callable[[], Figure]] = {
        "fig1-training-set": lambda: figures.examples(findings.dataset, TEST_MSE),
        "fig2-bases": lambda: figures.bases(isca),
        "fig3-confusion": lambda: _confusions(findings, "published"),
        "fig3-confusion-extended": lambda: _confusions(findings, "extended"),
        "fig5-reconstructions": lambda: figures.reconstructions(
            isca, findings.dataset, tests, numbers
        ),
        "fig6-convergence": lambda: figures.convergence(trained, plain),
    }
    if numbers:
        drawings["fig4-test-set"] = lambda: figures.test_pictures(tests, numbers)
    return drawings


def _confusions(findings: Findings, which: str) -> Figure:
    found: dict[str, Confusion] = {
        method.title: getattr(method, which) for method in findings.methods
    }
    notes = {title: f"{100 * matrix.accuracy:.1f} % right" for title, matrix in found.items()}
    counts = {title: matrix.counts for title, matrix in found.items()}
    return figures.confusions(counts, findings.methods[0].published.classes, notes)


def _tables(findings: Findings) -> Iterator[tuple[str, list[Row]]]:
    yield "summary", list(_summary(findings))
    yield "table1", list(_table1(findings))
    yield "tests", [
        ("image", "label", "letters", "target_mse", "achieved_mse", "strength", "seed", "ssim"),
        *((t.image, t.label, t.letters, t.target_mse, t.achieved_mse, t.strength, t.seed, t.ssim)
          for t in findings.tests),
    ]  # fmt: skip
    for which in ("published", "extended"):
        yield f"confusion-{which}", list(_confusion(findings, which))
    yield "convergence", [
        ("method", *CURVES),
        *((found.key, *(found.curves[name][place] for name in CURVES))
          for found in findings.methods for place in range(len(found.curves["epoch"]))),
    ]  # fmt: skip
    yield "reconstruction", list(_reconstruction(findings))
    yield (
        "seconds",
        [("stage", "seconds"), *((name, f"{t:.3f}") for name, t in findings.seconds.items())],
    )


def _summary(findings: Findings) -> Iterator[Row]:
    yield (
        *(
            "method",
            "title",
            "leave_one_out_published",
            "blocks_published",
            "leave_one_out_extended",
        ),
        *("blocks_extended", "singles_published", "pairs_first_published", "pairs_both_published"),
        *("singles_extended", "pairs_first_extended", "pairs_both_extended", "singles_paper"),
        *("pairs_first_paper", "pairs_both_paper", "objective"),
    )
    for found in findings.methods:
        scores = (
            score_of(found.published_tests),
            score_of(found.extended_tests),
            printed_score(found.key),
        )
        counts = [
            (s.singles, s.first_of_pair, s.both_of_pair) if s else ("", "", "") for s in scores
        ]
        matrices = (found.published, found.extended)
        accuracies = (
            number for matrix in matrices for number in (matrix.accuracy, matrix.block_accuracy)
        )
        objective = found.curves["objective"][-1]
        yield found.key, found.title, *accuracies, *counts[0], *counts[1], *counts[2], objective


def _table1(findings: Findings) -> Iterator[Row]:
    """Give the top two votes in long form: one line per method, picture, source and place."""
    yield "method", "image", "letters", "source", "place", "vote", "letter", "percent"
    for found in findings.methods:
        sources: dict[str, dict[int, tuple[Vote, ...]]] = {
            "paper": dict(enumerate(PRINTED.get(found.key, ()), start=1)),
            "published": {answer.image: answer.votes for answer in found.published_tests},
            "extended": {answer.image: answer.votes for answer in found.extended_tests},
        }
        for source, tops in sources.items():
            for image, votes in tops.items():
                for place, vote in enumerate(votes, start=1):
                    row = (found.key, image, letter(TEST_LABELS[image - 1]), source, place)
                    yield *row, "/".join(vote.labels), vote.letters, round(vote.percent, 2)


def _confusion(findings: Findings, which: str) -> Iterator[Row]:
    yield "method", "true", "recognised", "pictures"
    for found in findings.methods:
        matrix: Confusion = getattr(found, which)
        for true, row in zip(matrix.classes, matrix.counts, strict=True):
            for name, count in zip((*matrix.classes, UNDECIDED_LABEL), row, strict=True):
                yield found.key, true, name, count


def _reconstruction(findings: Findings) -> Iterator[Row]:
    yield "method", "image", "ssim"
    for found in findings.methods:
        yield from _reconstructed(found)


def _reconstructed(found: MethodResult) -> Iterator[Row]:
    for answer, alike in zip(found.published_tests, found.reconstruction, strict=False):
        yield found.key, answer.image, alike


def _save_table(path: Path, rows: list[Row]) -> Path:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    files.write_text(path, text.getvalue())
    return path
