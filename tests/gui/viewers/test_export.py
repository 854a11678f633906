"""Saving and copying: the right bytes, atomically, in a job, and a message about it."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from isca_gui.viewers import export
from isca_gui.viewers.canvas import layers
from isca_gui.viewers.export import Exportable, Exporter, exportable_plot
from isca_gui.viewers.plots import make_plot

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from tests.gui.conftest import Studio

TABLE = [("name", "value"), ('comma, and "quote"', 1.5), ("ümlaut", 2)]


@pytest.fixture
def exporter(qtbot: QtBot, studio: Studio) -> Exporter:
    widget = QWidget()
    qtbot.addWidget(widget)
    return Exporter(studio.session, studio.jobs, widget)


def test_a_picture_is_saved_as_png_without_loss(
    exporter: Exporter, studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    pixels = np.arange(64 * 48, dtype=np.uint32).reshape(48, 64).astype(np.uint8)
    item = Exportable("p", image=lambda: layers.pixel_image(pixels))
    exporter.save(item, tmp_path / "p.png")
    studio.rest(qtbot)
    with Image.open(tmp_path / "p.png") as image:
        np.testing.assert_array_equal(np.asarray(image.convert("L")), pixels)
    assert "saved" in studio.session.messages[-1].text


def test_a_table_is_saved_as_csv_and_copied_with_tabs(
    exporter: Exporter, studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    item = Exportable("t", "table", table=lambda: TABLE)
    exporter.save(item, tmp_path / "t")
    studio.rest(qtbot)
    with open(tmp_path / "t.csv", encoding="utf-8", newline="") as stream:
        assert list(csv.reader(stream)) == [[str(cell) for cell in row] for row in TABLE]
    exporter.copy(item)
    assert QGuiApplication.clipboard().text().splitlines()[2] == "ümlaut\t2"


def test_a_plot_is_saved_as_svg_and_png(
    exporter: Exporter, studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    plot = make_plot("plot", parent, "y", "x")
    plot.resize(300, 200)
    plot.plot([1, 2, 3], [1, 4, 9])
    parent.show()
    item = exportable_plot("plot", plot.plotItem)
    for suffix in (".svg", ".png"):
        exporter.save(item, tmp_path / f"plot{suffix}")
    studio.rest(qtbot)
    assert b"<svg" in (tmp_path / "plot.svg").read_bytes()
    with Image.open(tmp_path / "plot.png") as image:
        assert image.width >= 300


def test_nothing_is_not_saved(
    exporter: Exporter, studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    for item in (
        Exportable("a", "picture", image=lambda: None),
        Exportable("a", "table", table=lambda: [("only", "a head")]),
        Exportable("a", "verdict", text=lambda: ""),
    ):
        for work in (
            exporter.save_as,
            exporter.copy,
            lambda item: exporter.save(item, tmp_path / "file"),
        ):
            before = len(studio.session.messages)
            work(item)
            (said,) = studio.session.messages[before:]
            assert (said.level, said.text) == ("warning", f"Nothing to save yet ({item.title}).")
    studio.rest(qtbot)
    assert list(tmp_path.iterdir()) == []


def test_what_is_saved_is_what_was_seen_when_it_was_asked_for(
    exporter: Exporter, studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    seen = ["first"]
    exporter.save_as(Exportable("a", "verdict", text=lambda: seen[0]))
    seen[0] = "another"
    dialog = exporter._widget.findChild(QFileDialog)
    dialog.fileSelected.emit(str(tmp_path / "a.txt"))
    studio.rest(qtbot)
    assert (tmp_path / "a.txt").read_text() == "first"


def test_what_cannot_be_written_is_a_message(
    exporter: Exporter, studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    exporter.save(Exportable("t", "table", table=lambda: TABLE), tmp_path / "missing" / "t.csv")
    studio.rest(qtbot)
    assert studio.errors
    exporter.save(Exportable("nothing", image=lambda: None), tmp_path / "nothing.png")
    assert not (tmp_path / "nothing.png").exists()
    assert studio.session.messages[-1].level == "warning"


def test_the_dialog_proposes_a_name_and_saves_what_is_chosen(
    exporter: Exporter, studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    exporter.save_as(Exportable("a/b: c", "table", table=lambda: TABLE))
    dialog = exporter.parent().findChild(QFileDialog)  # type: ignore[union-attr]
    assert "a-b- c.csv" in dialog.selectedFiles()[0]
    dialog.fileSelected.emit(str(tmp_path / "chosen.csv"))
    dialog.close()
    studio.rest(qtbot)
    assert (tmp_path / "chosen.csv").exists()


def test_a_name_with_another_ending_does_not_replace_a_file_unasked(
    exporter: Exporter,
    studio: Studio,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = tmp_path / "verdict.v2.txt"
    kept.write_text("old")
    for answer, text in (
        (QMessageBox.StandardButton.No, "old"),
        (QMessageBox.StandardButton.Yes, "new"),
    ):
        monkeypatch.setattr(QMessageBox, "question", lambda *_, answer=answer: answer)
        exporter.save_as(Exportable("a", "verdict", text=lambda: "new"))
        dialog = exporter._widget.findChild(QFileDialog)
        dialog.fileSelected.emit(str(tmp_path / "verdict.v2"))
        dialog.setParent(None)
        studio.rest(qtbot)
        assert kept.read_text() == text


def test_the_form_chosen_gives_the_ending(
    exporter: Exporter, studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    pixels = np.zeros((4, 4), np.uint8)
    exporter.save_as(
        Exportable("c", "chart", image=lambda: layers.pixel_image(pixels), svg=lambda: b"<svg/>")
    )
    dialog = exporter._widget.findChild(QFileDialog)
    dialog.selectNameFilter(export.FILTERS[".svg"])
    dialog.filterSelected.emit(export.FILTERS[".svg"])
    assert dialog.defaultSuffix() == "", "a system's own dialog would add it after its question"
    dialog.fileSelected.emit(str(tmp_path / "chart"))
    studio.rest(qtbot)
    assert (tmp_path / "chart.svg").read_bytes() == b"<svg/>"


@pytest.mark.parametrize(
    ("name", "safe"), [("..", "export"), ("a/b\\c", "a-b-c"), ("run 3", "run 3")]
)
def test_names_of_files_are_safe(name: str, safe: str) -> None:
    assert export.safe_name(name) == safe
