"""The tables of the reproduction, as rows of the CSV files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.core.distortion.distortions import UNDECIDED_LABEL
from isca_gui.core.paper.plan import PRINTED, TEST_LABELS, letter
from isca_gui.core.paper.results import CURVES, printed_score, score_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isca_gui.core.paper.plan import Vote
    from isca_gui.core.paper.results import Confusion, Findings, Score

    Row = tuple[object, ...]

_SUMMARY = (
    "method",
    "title",
    "leave_one_out_published",
    "blocks_published",
    "leave_one_out_extended",
    "blocks_extended",
    "singles_published",
    "pairs_first_published",
    "pairs_both_published",
    "singles_extended",
    "pairs_first_extended",
    "pairs_both_extended",
    "singles_paper",
    "pairs_first_paper",
    "pairs_both_paper",
    "objective",
)
_TESTS = ("image", "label", "letters", "target_mse", "achieved_mse", "strength", "seed", "ssim")


def tables(findings: Findings) -> dict[str, list[Row]]:
    """Return all tables by name, each with its header as the first row."""
    return {
        "summary": list(_summary(findings)),
        "table1": list(_table1(findings)),
        "tests": [
            _TESTS,
            *(tuple(getattr(test, name) for name in _TESTS) for test in findings.tests),
        ],
        "confusion-published": list(_confusion(findings, "published")),
        "confusion-extended": list(_confusion(findings, "extended")),
        "convergence": list(_convergence(findings)),
        "reconstruction": list(_reconstruction(findings)),
        "seconds": [
            ("stage", "seconds"),
            *((stage, f"{seconds:.3f}") for stage, seconds in findings.seconds.items()),
        ],
    }


def _summary(findings: Findings) -> Iterator[Row]:
    yield _SUMMARY
    for result in findings.methods:
        yield (
            result.key,
            result.title,
            result.published.accuracy,
            result.published.block_accuracy,
            result.extended.accuracy,
            result.extended.block_accuracy,
            *_counts(score_of(result.published_tests)),
            *_counts(score_of(result.extended_tests)),
            *_counts(printed_score(result.key)),
            result.curves["objective"][-1],
        )


def _counts(score: Score | None) -> Row:
    if score is None:
        return ("", "", "")
    return (score.singles, score.first_of_pair, score.both_of_pair)


def _table1(findings: Findings) -> Iterator[Row]:
    """Yield the top two votes in long form: a row per method, source, picture and place."""
    yield "method", "image", "letters", "source", "place", "vote", "letter", "percent"
    for result in findings.methods:
        sources: dict[str, dict[int, tuple[Vote, ...]]] = {
            "paper": dict(enumerate(PRINTED.get(result.key, ()), start=1)),
            "published": {trial.image: trial.votes for trial in result.published_tests},
            "extended": {trial.image: trial.votes for trial in result.extended_tests},
        }
        for source, tops in sources.items():
            for image, votes in tops.items():
                for place, vote in enumerate(votes, start=1):
                    yield (
                        result.key,
                        image,
                        letter(TEST_LABELS[image - 1]),
                        source,
                        place,
                        "/".join(vote.labels),
                        vote.letters,
                        round(vote.percent, 2),
                    )


def _confusion(findings: Findings, which: str) -> Iterator[Row]:
    yield "method", "true", "recognised", "pictures"
    for result in findings.methods:
        matrix: Confusion = getattr(result, which)
        for true, row in zip(matrix.classes, matrix.counts, strict=True):
            for name, count in zip((*matrix.classes, UNDECIDED_LABEL), row, strict=True):
                yield result.key, true, name, count


def _convergence(findings: Findings) -> Iterator[Row]:
    yield "method", *CURVES
    for result in findings.methods:
        for values in zip(*(result.curves[name] for name in CURVES), strict=True):
            yield result.key, *values


def _reconstruction(findings: Findings) -> Iterator[Row]:
    yield "method", "image", "ssim"
    for result in findings.methods:
        # Kernel methods have test results, but no reconstructions.
        for trial, similarity in zip(result.published_tests, result.reconstruction, strict=False):
            yield result.key, trial.image, similarity
