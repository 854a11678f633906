"""What proves an answer, as it is drawn; how far the other kinds got; many answers in one line."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isca_gui.core.comparison import evidence, proof_svg, summary
from isca_gui.core.comparison.compare import compare
from isca_gui.core.comparison.jpeg_lattice import standard_table
from isca_gui.core.comparison.kinds import TABLE, family_of
from tests import copies

if TYPE_CHECKING:
    from isca_gui.core.comparison.compare import Comparison
    from isca_gui.core.comparison.evidence import Evidence

PIXELS = copies.part("camera", 200, 200)


def proved(changed: np.ndarray) -> tuple[Comparison, tuple[Evidence, ...]]:
    reference, copy = copies.unit(PIXELS), copies.unit(changed)
    found = compare(reference, copy)
    return found, evidence.find_evidence(reference, copy, found)


def test_jpeg_is_proved_by_its_table() -> None:
    _, (found,) = proved(copies.saved(PIXELS, "JPEG", quality=40))
    assert found.form == evidence.TABLE
    assert found.table is not None
    known = found.table > 0
    assert known.sum() > 10
    close = np.abs(found.table - standard_table(40))[known] <= 1
    assert close.mean() > 0.8


def test_a_blur_is_proved_by_its_kernel() -> None:
    _, (found,) = proved(copies.blurred(PIXELS, 2))
    assert found.form == evidence.KERNEL
    assert found.table is not None
    assert found.table.sum() == pytest.approx(1, abs=0.05)
    assert np.allclose(found.table, found.table[::-1, ::-1], atol=1e-3)
    spread = (found.x**2 * found.lines["across"]).sum() / found.lines["across"].sum()
    assert np.sqrt(spread) == pytest.approx(2, rel=0.1)


def test_a_shift_is_proved_by_its_curve() -> None:
    _, (found,) = proved(copies.shifted(PIXELS, -25))
    assert found.form == evidence.CURVE
    middle = found.lines["grey"][60:200]
    moved = (middle - found.x[60:200])[np.isfinite(middle)]
    assert np.allclose(moved, -25, atol=1)


def test_noise_is_proved_by_its_histogram() -> None:
    _, (found,) = proved(copies.noisy(PIXELS, 12))
    assert found.form == evidence.HISTOGRAM
    width = found.x[1] - found.x[0]
    for line in found.lines.values():
        assert 0.9 < line.sum() * width <= 1.01


def test_what_is_the_same_needs_no_proof() -> None:
    assert proved(PIXELS)[1] == ()


def test_what_is_not_recognised_shows_what_was_tried() -> None:
    reference, copy = copies.unit(PIXELS), copies.unit(copies.warped(PIXELS))
    found = compare(reference, copy)
    tried = evidence.tried_kinds(reference, copy, found)
    assert {family_of(each.kind) for each in tried} == {kind.family for kind in TABLE}
    assert [each.probability for each in tried] == sorted(
        (each.probability for each in tried), reverse=True
    )
    assert any(each.explained is not None for each in tried)


@pytest.mark.parametrize(
    "changed",
    [
        copies.saved(PIXELS, "JPEG", quality=40),
        copies.blurred(PIXELS, 2),
        copies.shifted(PIXELS, -25),
        copies.noisy(PIXELS, 12),
    ],
    ids=["table", "kernel", "curve", "histogram"],
)
def test_each_is_drawn_without_scripts(changed: np.ndarray) -> None:
    tags: list[str] = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.append(tag)

    for each in proved(changed)[1]:
        drawn = proof_svg.svg(each)
        Parser().feed(drawn)
        assert "nan" not in drawn
    assert tags[0] == "svg"
    assert set(tags) <= {"svg", "rect", "text", "line", "polyline", "path"}
    assert len(tags) > 5


def test_answers_are_counted_by_cause() -> None:
    found = [
        proved(copies.saved(PIXELS, "JPEG", quality=40))[0],
        proved(copies.saved(PIXELS, "JPEG", quality=70))[0],
        proved(copies.shifted(PIXELS, -25))[0],
        proved(PIXELS)[0],
        None,
    ]
    line = summary.in_one_line(found)
    assert line == "2 × JPEG 40–70, 1 × darker, 1 × unchanged, 1 × could not be compared"
    assert summary.in_one_line([]) == ""
