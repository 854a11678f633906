"""The report: one file without scripts that needs nothing else."""

from __future__ import annotations

import base64
import html
import io
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from isca_gui.core.comparison import report
from isca_gui.core.comparison.batch import CopyResult
from isca_gui.core.comparison.compare import compare
from isca_gui.core.pictures.image import ImageError
from tests import copies

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

ALONE = {"meta", "img", "br", "link"}


class Checked(HTMLParser):
    """Notes the tags and the links, and that every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def result_of(name: str, reference: np.ndarray, copy: np.ndarray) -> CopyResult:
    return CopyResult(
        name,
        compare(copies.unit(reference), copies.unit(copy)),
        reference=copies.unit(reference),
        copy=copies.unit(copy),
    )


@pytest.fixture(scope="module")
def results() -> list[CopyResult]:
    pixels = copies.part("camera", 200, 200)
    part = copies.inside(pixels, copies.noisy(pixels, 20), 96, 200, 0, 96)
    return [
        result_of("folder/blurred.png", pixels, copies.blurred(pixels, 2)),
        result_of("part.png", pixels, part),
        result_of("same.png", pixels, pixels),
        result_of("other.png", pixels, pixels[::-1, ::-1]),
        result_of(
            "two.jpg",
            pixels,
            copies.saved(copies.shifted(pixels, -25), "JPEG", quality=40),
        ),
        result_of("<script>alert(1)</script>.png", pixels, copies.warped(pixels)),
        CopyResult("bad & worse.png", error="Cannot read 'bad & worse.png': <no picture>."),
    ]


def test_every_answer_is_in_it(results: list[CopyResult]) -> None:
    page = report.page("folder/camera <1>.png", results)
    text = html.unescape(page)
    for result in results:
        said = result.comparison.sentence if result.comparison else result.error
        assert said is not None
        # Once in the table of all copies, and once in the copy's own section.
        assert text.count(said) >= 2
    assert "Copies of camera <1>.png" in text
    assert "folder/" not in page
    assert "<th>lower left</th><td>Gaussian noise, " in page


def test_nothing_runs_and_nothing_is_loaded(results: list[CopyResult]) -> None:
    page = report.page("camera.png", results)
    found = Checked(page)
    assert found.open == []
    assert not found.tags & {"script", "link", "iframe", "object", "form", "base"}
    assert found.links
    assert not re.search(r"https?:|@import|url\(", page)
    for link in found.links:
        kind, _, data = link.partition(",")
        assert kind == "data:image/png;base64"
        with Image.open(io.BytesIO(base64.b64decode(data))) as picture:
            picture.load()
            assert max(picture.size) <= 400


def test_one_copy_has_no_table_of_copies(results: list[CopyResult]) -> None:
    assert "<th>copy</th>" not in report.page("camera.png", results[:1])
    assert "<th>copy</th>" in report.page("camera.png", results[:2])


def test_it_is_saved_in_utf_8(tmp_path: Path, results: list[CopyResult]) -> None:
    report.save(tmp_path / "r.html", "camera.png", results)
    assert "σ about 2 pixels" in (tmp_path / "r.html").read_text("utf-8")
    with pytest.raises(ImageError, match="Cannot write report"):
        report.save(tmp_path / "none" / "r.html", "camera.png", results)


def test_a_name_that_is_no_text(tmp_path: Path, results: list[CopyResult]) -> None:
    odd = CopyResult("b\udcffd.png", error="gone")
    report.save(tmp_path / "r.html", "camera.png", [odd, results[2]])
    assert "b\\udcffd.png" in (tmp_path / "r.html").read_text("utf-8")
