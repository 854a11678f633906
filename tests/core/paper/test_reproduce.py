"""The reproduction of the paper: its files, their agreement, and interruption."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from isca_gui import cli
from isca_gui.cli import reproduce as command
from isca_gui.core.distortion.distortions import DISTORTIONS
from isca_gui.core.paper import plan, stage_cache
from isca_gui.core.paper import reproduce as paper
from isca_gui.core.paper import results as records
from isca_gui.core.paper.stage_cache import PaperError
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from isca_gui.core.progress import Progress

KEYS = [method.key for method in plan.METHODS]
FIGURES = {
    "fig1-training-set",
    "fig2-bases",
    "fig3-confusion",
    "fig3-confusion-extended",
    "fig4-test-set",
    "fig5-reconstructions",
    "fig6-convergence",
}
TABLES = {
    "summary",
    "table1",
    "tests",
    "confusion-published",
    "confusion-extended",
    "convergence",
    "reconstruction",
    "seconds",
}


def camera() -> NDArray[np.float32]:
    return image.read(samples.resolve("sample:camera"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[paper.Results, list[Progress]]:
    """Run everything once, in its quick form."""
    reports: list[Progress] = []
    folder = tmp_path_factory.mktemp("paper") / "out"
    smaller = np.ascontiguousarray(camera()[::2, ::2])
    results = run(
        paper.reproduce(smaller, folder, quick=True, name="sample:camera"), reports.append
    )
    return results, reports


@pytest.fixture(scope="module")
def document(whole: tuple[paper.Results, list[Progress]]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(whole[0].results.read_text("utf-8"))
    return found


def table(whole: tuple[paper.Results, list[Progress]], name: str) -> list[dict[str, str]]:
    path = whole[0].report.parent / "tables" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


# --- what is written ---------------------------------------------------------------------------


def test_everything_is_there(whole: tuple[paper.Results, list[Progress]]) -> None:
    results, _ = whole
    folder = results.report.parent
    names = {path.name for path in folder.iterdir()}
    assert names == {"report.html", "results.json", "figures", "tables", "work"}
    drawn = {path.name for path in (folder / "figures").iterdir()}
    assert drawn == {f"{name}.{form}" for name in FIGURES for form in ("png", "svg")}
    assert {path.stem for path in (folder / "tables").iterdir()} == TABLES
    assert set(results.figures) == set((folder / "figures").iterdir())
    assert set(results.tables) == set((folder / "tables").iterdir())
    for path in (folder / "figures").glob("*.png"):
        with Image.open(path) as picture:
            picture.load()
            assert picture.width == 1440
    for path in (folder / "figures").glob("*.svg"):
        assert path.read_text("utf-8").rstrip().endswith("</svg>")


class Page(HTMLParser):
    """Collects what a page refers to, its tags and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.alternatives: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [
            value or "" for name, value in attrs if name in ("src", "href", "data", "srcset")
        ]
        self.alternatives += [value or "" for name, value in attrs if name == "alt"]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_needs_nothing_else(whole: tuple[paper.Results, list[Progress]]) -> None:
    text = whole[0].report.read_text("utf-8")
    page = Page(text)
    assert len(page.links) == len(FIGURES)
    assert all(
        link.startswith(("data:image/png;base64,", "data:image/svg+xml;base64,"))
        for link in page.links
    )
    assert not {"script", "link", "iframe", "object", "embed"} & set(page.tags)
    assert not re.search(r"https?://|@import|url\(", text)
    assert "@media print" in text
    assert len(page.alternatives) == len(FIGURES)
    assert all(page.alternatives)


def test_the_report_says_what_differs_and_why(whole: tuple[paper.Results, list[Progress]]) -> None:
    text = Page(whole[0].report.read_text("utf-8")).text
    for words in (
        "Contrast is stretched",
        "one distortion only",
        "JPEG tables",
        "ties are undecided",
        "orthonormalised",
        "random subspace",
        "shortened run",
        "sample:camera",
        "128×128",
    ):
        assert words in text
    assert all(row.title in text for row in DISTORTIONS.values())
    assert "nan" not in text.lower().replace("lena", "").split()
    assert "None" not in text


def test_results_are_complete_and_in_range(document: dict[str, Any]) -> None:
    assert list(document) == [
        "schema",
        "program",
        "image",
        "quick",
        "width",
        "height",
        "reference_sha256",
        "dataset",
        "tests",
        "methods",
        "paper",
        "seconds",
    ]
    assert [method["key"] for method in document["methods"]] == KEYS
    assert [test["label"] for test in document["tests"]] == list(plan.TEST_LABELS)
    assert document["dataset"]["pictures"] == 37
    for test in document["tests"]:
        assert test["achieved_mse"] == pytest.approx(500, rel=0.006)
    for method in document["methods"]:
        for which in ("published", "extended"):
            matrix = method["leave_one_out"][which]
            assert sum(map(sum, matrix["counts"])) == 37
            assert all(len(row) == 8 for row in matrix["counts"])
            assert 0 <= matrix["accuracy"] <= 1
            assert 0 <= matrix["block_accuracy"] <= 1
            right = sum(row[place] for place, row in enumerate(matrix["counts"]) if place)
            assert matrix["accuracy"] == pytest.approx(right / 36)
            for answer in method["tests"][which]:
                assert sum(answer["shares"].values()) == pytest.approx(1)
                assert all(0 <= vote["percent"] <= 100 for vote in answer["top_two"])
        assert all(0 < alike <= 1 for alike in method["reconstruction_ssim"])
        assert bool(method["reconstruction_ssim"]) == (not method["key"].startswith("kernel"))
    stages = {f"{stage} {key}" for stage in ("train", "recognise") for key in KEYS}
    assert set(document["seconds"]) == {"dataset", "tests"} | stages


def test_what_this_picture_must_show(document: dict[str, Any]) -> None:
    methods = {method["key"]: method for method in document["methods"]}
    isca, random = methods["isca"], methods["random"]
    assert isca["objective"] < methods["pca"]["objective"] < random["objective"]
    assert np.mean(isca["reconstruction_ssim"]) > np.mean(random["reconstruction_ssim"])
    luminance = isca["tests"]["published"][2]
    # Blocks at the same distance from two classes do not vote for the class that comes first.
    assert luminance["top_two"][0]["label"] == "undecided"
    for method in document["methods"]:
        assert method["score"]["extended"]["singles"] >= 5
        assert method["score"]["published"]["of_pairs"] == 6


def test_tables_agree_with_the_results(
    whole: tuple[paper.Results, list[Progress]], document: dict[str, Any]
) -> None:
    methods = {method["key"]: method for method in document["methods"]}
    for row in table(whole, "summary"):
        found = methods[row["method"]]
        for which in ("published", "extended"):
            assert float(row[f"leave_one_out_{which}"]) == found["leave_one_out"][which]["accuracy"]
            assert int(row[f"singles_{which}"]) == found["score"][which]["singles"]
            assert int(row[f"pairs_both_{which}"]) == found["score"][which]["both_of_pair"]
    for which in ("published", "extended"):
        cells = table(whole, f"confusion-{which}")
        for key, method in methods.items():
            counts = [int(cell["pictures"]) for cell in cells if cell["method"] == key]
            assert counts == [
                count for row in method["leave_one_out"][which]["counts"] for count in row
            ]
        votes = [row for row in table(whole, "table1") if row["source"] == which]
        for key, method in methods.items():
            found = [
                (int(r["image"]), r["vote"], float(r["percent"]))
                for r in votes
                if r["method"] == key
            ]
            assert found == [
                (answer["image"], vote["label"], vote["percent"])
                for answer in method["tests"][which]
                for vote in answer["top_two"]
            ]
    epochs = [row["method"] for row in table(whole, "convergence")]
    assert {key: epochs.count(key) for key in KEYS} == {key: methods[key]["epochs"] for key in KEYS}
    assert len(table(whole, "tests")) == 12


def test_the_random_baseline_is_in_every_table(whole: tuple[paper.Results, list[Progress]]) -> None:
    for name in TABLES - {"tests", "seconds"}:
        assert "random" in {row["method"] for row in table(whole, name)}, name
    assert "train random" in {row["stage"] for row in table(whole, "seconds")}
    report = whole[0].report.read_text("utf-8")
    tables = re.findall(r"<table.*?</table>", report, re.S)
    assert len(tables) == 6
    assert all("random subspace" in one for one in tables)


def test_table_1_holds_what_the_paper_prints(
    whole: tuple[paper.Results, list[Progress]], document: dict[str, Any]
) -> None:
    rows = [row for row in table(whole, "table1") if row["source"] == "paper"]
    assert len(rows) == 4 * 12 * 2
    cells = {
        (r["method"], int(r["image"]), int(r["place"])): (float(r["percent"]), r["letter"])
        for r in rows
    }
    for place, wanted in {
        ("isca", 1, 1): (69.3, "O"), ("isca", 5, 2): (23.8, "I"), ("isca", 12, 2): (2.1, "B"),
        ("kernel-isca-linear", 3, 1): (99.8, "L"), ("kernel-isca-linear", 9, 1): (45.6, "I"),
        ("kernel-isca-rbf", 8, 1): (88.1, "L"), ("kernel-isca-rbf", 12, 2): (30.0, "B"),
        ("kernel-isca-sigmoid", 3, 2): (0.2, "G/B"), ("kernel-isca-sigmoid", 10, 2): (19.8, "L"),
    }.items():  # fmt: skip
        assert cells[place] == wanted
    sums = {key: sum(v for (k, _, _), (v, _) in cells.items() if k == key) for key in plan.PRINTED}
    assert {key: round(total, 1) for key, total in sums.items()} == {
        "isca": 1058.8,
        "kernel-isca-linear": 1065.7,
        "kernel-isca-rbf": 987.6,
        "kernel-isca-sigmoid": 989.8,
    }
    letters = {
        key: "".join(cells[key, image, place][1] for place in (1, 2) for image in range(1, 13))
        for key in plan.PRINTED
    }
    assert letters == {
        "isca": "OGOBGJBBGJJJCICJIBGJIBBB",
        "kernel-isca-linear": "CGLBGJGBIGJJIIOJIBBJGJBB",
        "kernel-isca-rbf": "CGLBIJGLLGLJIBGCCCBBGLGB",
        "kernel-isca-sigmoid": "CGLBIJGLLGLJIIG/BJCCBBGLGB",
    }
    assert document["paper"]["isca"]["score"] == {
        "singles": 3,
        "of_singles": 6,
        "first_of_pair": 5,
        "both_of_pair": 1,
        "of_pairs": 6,
    }
    text = re.sub(r"<[^>]+>", "", whole[0].report.read_text("utf-8").split("Table 1.")[1])
    assert all(f"{percent:.1f} {letters}" in text for percent, letters in cells.values())


def test_progress_is_one_scale_that_never_goes_back(
    whole: tuple[paper.Results, list[Progress]],
) -> None:
    _, reports = whole
    done = [report.done for report in reports]
    assert done == sorted(done)
    assert {report.total for report in reports} == {paper.PARTS}
    assert done[0] == 0
    assert done[-1] == paper.PARTS
    assert max(np.diff(done)) < paper.PARTS / 8


def test_a_picture_that_is_tested_is_not_one_that_was_trained(
    whole: tuple[paper.Results, list[Progress]],
) -> None:
    findings = whole[0].findings
    trained = {entry.seed for entry in findings.dataset.entries}
    assert not trained & {test.seed for test in findings.tests}
    assert plan.TEST_MSE not in findings.plan.dataset.levels


# --- interruption ------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> NDArray[np.float32]:
    """Return a small picture, and draw no figures, which the tests above look at."""

    def save(_: object, folder: Path, name: str) -> tuple[Path, Path]:
        paths = folder / f"{name}.png", folder / f"{name}.svg"
        for path in paths:
            path.write_bytes(b"drawn")
        return paths

    monkeypatch.setattr("isca_gui.core.paper.figures.save", save)
    names = dict.fromkeys(sorted(FIGURES), lambda: None)
    monkeypatch.setattr("isca_gui.core.paper.output._drawings", lambda *_: names)
    return np.ascontiguousarray(camera()[150:230, 200:272])


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List what is trained."""
    names: list[str] = []
    real = paper.training.train

    def train(dataset: Any, settings: Any, *rest: Any) -> Any:
        kernel = f"-{settings.kernel}" if settings.uses_kernel else ""
        names.append(f"{settings.method}{kernel}")
        return real(dataset, settings, *rest)

    monkeypatch.setattr(paper.training, "train", train)
    return names


def without_seconds(path: Path) -> str:
    found = json.loads(path.read_text("utf-8"))
    del found["seconds"]
    return json.dumps(found)


def stop_at(reference: NDArray[np.float32], folder: Path, what: str) -> None:
    task = paper.reproduce(reference, folder, quick=True)
    for report in task:
        if report.what == what:
            task.close()
            return
    raise AssertionError(f"never came to '{what}'")


STOPS = (
    "checking for finished stages",
    "making the dataset",
    "saving the dataset",
    "saving the tests",
    "ISCA: preparing",
    "ISCA: training",
    "ISCA: leave-one-out",
    "kernel ISCA (RBF): leave-one-out",
    "PCA: preparing",
    "random subspace: leave-one-out",
    "drawing fig3-confusion",
    "writing the report",
)


def test_interrupted_anywhere_it_continues(
    small: NDArray[np.float32], trained: list[str], tmp_path: Path
) -> None:
    straight = run(paper.reproduce(small, tmp_path / "straight", quick=True, threads=1))
    assert sorted(trained) == sorted(KEYS)
    trained.clear()
    for what in STOPS:
        stop_at(small, tmp_path / "stopped", what)
        assert not (tmp_path / "stopped/report.html").exists()
    # ISCA was stopped during its training, which had to start again; no other training ran twice.
    results = run(paper.reproduce(small, tmp_path / "stopped", quick=True))
    assert sorted(set(trained)) == sorted(KEYS)
    assert len(trained) <= len(KEYS) + 1
    assert without_seconds(results.results) == without_seconds(straight.results)
    hidden = list((tmp_path / "stopped").rglob(".*"))
    assert not hidden, "an incomplete file is left behind"

    trained.clear()
    before = results.results.read_bytes()
    again = run(paper.reproduce(small, tmp_path / "stopped", quick=True))
    assert not trained
    # The seconds are those of the first run.
    assert again.results.read_bytes() == before


def test_what_is_broken_or_altered_is_made_anew(
    small: NDArray[np.float32], trained: list[str], tmp_path: Path
) -> None:
    results = run(paper.reproduce(small, tmp_path, quick=True))
    wanted, work = without_seconds(results.results), tmp_path / "work"

    def redo() -> list[str]:
        trained.clear()
        assert without_seconds(run(paper.reproduce(small, tmp_path, quick=True)).results) == wanted
        return list(trained)

    model = work / "isca.isca"
    model.write_bytes(model.read_bytes()[:-1000])
    assert redo() == ["isca"]
    (work / "pca.json").write_text("{")
    # Its model is still there.
    assert redo() == []
    altered = work / "kernel-pca-rbf.json"
    altered.write_text(altered.read_text().replace('"accuracy": 0', '"accuracy": 1', 1))
    assert redo() == ["kernel-pca-rbf"]
    picture = next((work / "dataset").glob("0003-*.tiff"))
    content = bytearray(picture.read_bytes())
    content[-200] ^= 0x10
    picture.write_bytes(content)
    # The dataset is made again, and is the same.
    assert redo() == []
    (work / "tests/manifest.csv").unlink()
    assert redo() == []
    (work / "dataset.json").write_bytes(b"\xff\xfe")
    (work / "random.json").write_text('{"stamp": 1, "sha256": 2, "result": []}')
    (work / "random.isca").unlink()
    assert redo() == ["random"]


def test_another_picture_or_other_settings_take_nothing_over(
    small: NDArray[np.float32], trained: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(paper.reproduce(small, tmp_path / "both", quick=True))
    trained.clear()
    other = np.ascontiguousarray(small[:, ::-1])
    results = run(paper.reproduce(other, tmp_path / "both", quick=True, overwrite=True))
    assert sorted(trained) == sorted(KEYS)
    fresh = run(paper.reproduce(other, tmp_path / "fresh", quick=True))
    assert without_seconds(results.results) == without_seconds(fresh.results)
    trained.clear()
    monkeypatch.setitem(plan._QUICK_EPOCHS, "isca", 3)
    stop_at(other, tmp_path / "both", "drawing fig3-confusion")
    assert trained == ["isca"]
    assert not results.report.exists(), "its settings differ from those of the new figures"
    run(paper.reproduce(other, tmp_path / "both", quick=True))
    assert trained == ["isca"]
    trained.clear()
    # As if the program computed the same stages differently.
    monkeypatch.setattr(stage_cache, "_SCHEMA", -1)
    run(paper.reproduce(other, tmp_path / "both", quick=True))
    assert sorted(trained) == sorted(KEYS)


# --- odd cases ---------------------------------------------------------------------------------


def test_a_picture_that_cannot_reach_all_levels(small: NDArray[np.float32], tmp_path: Path) -> None:
    faint = 0.5 + 0.05 * (small - small.mean())
    results = run(paper.reproduce(faint, tmp_path, quick=True, name="<faint> & 'small'"))
    found = json.loads(results.results.read_text("utf-8"))
    assert {missed["kind"] for missed in found["dataset"]["unreachable"]} >= {"blur"}
    missing = {test["image"] for test in found["tests"] if test["achieved_mse"] is None}
    assert 4 in missing
    for method in found["methods"]:
        assert not missing & {answer["image"] for answer in method["tests"]["published"]}
    text = results.report.read_text("utf-8")
    assert "<faint>" not in text
    assert "cannot reach MSE" in text
    assert "jpeg" in {missed["kind"] for missed in found["dataset"]["unreachable"]}
    assert "every level that this picture allows is reached" in text


def test_a_report_on_another_picture_stays(
    small: NDArray[np.float32],
    trained: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(paper.reproduce(small, tmp_path / "out", quick=True, name="mine.png"))
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    trained.clear()
    other = np.ascontiguousarray(small[:, ::-1])
    for picture, quick in ((other, True), (small, False)):
        with pytest.raises(
            PaperError, match=r"report of a quick reproduction on 'mine.png'.*--overwrite"
        ):
            run(paper.reproduce(picture, tmp_path / "out", quick=quick))
    image.save_png(tmp_path / "other.png", other)
    assert (
        cli.main(["reproduce", str(tmp_path / "other.png"), "-o", str(tmp_path / "out"), "--quick"])
        == 1
    )
    assert "Choose another folder" in capsys.readouterr().err
    assert not trained
    assert {
        path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()
    } == before
    # The same picture may be reproduced again.
    stop_at(small, tmp_path / "out", "ISCA: preparing")


@pytest.mark.parametrize("content", ["notes.txt", "work/notes.txt"])
def test_a_folder_with_other_files_is_refused(
    small: NDArray[np.float32], tmp_path: Path, content: str
) -> None:
    (tmp_path / content).parent.mkdir(exist_ok=True)
    (tmp_path / content).write_text("mine")
    with pytest.raises(PaperError, match="holds other files"):
        run(paper.reproduce(small, tmp_path, quick=True))
    assert (tmp_path / content).read_text() == "mine"
    with pytest.raises(PaperError, match="is a file"):
        run(paper.reproduce(small, tmp_path / content, quick=True))


def test_without_its_work_folder_a_finished_reproduction_is_still_ours(
    whole: tuple[paper.Results, list[Progress]], document: dict[str, Any], tmp_path: Path
) -> None:
    """Its README says that the work folder may be deleted then."""
    shutil.copytree(whole[0].report.parent, tmp_path / "out", ignore=shutil.ignore_patterns("work"))
    assert stage_cache.open_folder(tmp_path / "out") == tmp_path / "out"
    stage_cache.check_finished(tmp_path / "out", document["reference_sha256"], True)
    shutil.rmtree(tmp_path / "out" / "work")
    (tmp_path / "out" / "results.json").write_text('{"program": "another"}')
    with pytest.raises(PaperError, match="holds other files"):
        stage_cache.open_folder(tmp_path / "out")


def test_a_folder_of_an_earlier_version_is_still_ours(tmp_path: Path) -> None:
    """The text is that of version 0.1.0 and must not be changed."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "README.txt").write_text(
        "ISCA Studio keeps here what `isca reproduce` has finished, so that it can go on after an "
        "interruption.\n"
        "When report.html is written this folder is no longer needed and may be removed.\n"
    )
    (tmp_path / "figures").mkdir()
    assert stage_cache.open_folder(tmp_path) == tmp_path


def test_a_mark_that_is_no_text_is_not_ours(small: NDArray[np.float32], tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / stage_cache._MARK).write_bytes("Fotos für Jürgen".encode("latin-1"))
    with pytest.raises(PaperError, match="holds other files"):
        run(paper.reproduce(small, tmp_path, quick=True))


@pytest.mark.parametrize("beside", ["figures", "tables", "report.html"])
def test_an_empty_work_folder_is_ours_only_alone(
    small: NDArray[np.float32], tmp_path: Path, beside: str
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / ".hidden").write_text("of the system")
    # An interruption has left it.
    assert stage_cache.open_folder(tmp_path) == tmp_path
    (tmp_path / "work" / stage_cache._MARK).unlink()
    (tmp_path / beside).mkdir()
    (tmp_path / beside / "mine.png").write_text("mine")
    with pytest.raises(PaperError, match="holds other files"):
        run(paper.reproduce(small, tmp_path, quick=True))


@pytest.mark.parametrize("results", [None, "", "{", "[]", "{}"])
def test_a_report_that_does_not_say_what_it_is_on_is_not_replaced(
    small: NDArray[np.float32], tmp_path: Path, results: str | None
) -> None:
    stage_cache.open_folder(tmp_path)
    (tmp_path / "report.html").write_text("dear to me")
    if results is not None:
        (tmp_path / "results.json").write_text(results)
    with pytest.raises(PaperError, match=r"'results.json' cannot be read.*--overwrite"):
        run(paper.reproduce(small, tmp_path, quick=True))
    assert (tmp_path / "report.html").read_text() == "dear to me"
    next(paper.reproduce(small, tmp_path, quick=True, overwrite=True))


def test_full_settings_are_the_published_ones() -> None:
    full = plan.plan(quick=False)
    settings = {method.key: method.settings.resolved() for method in full.methods}
    assert full.dataset.levels == tuple(45.0 * step for step in range(1, 21))
    assert len(full.dataset.kinds) == 6
    assert (settings["isca"].epochs, settings["isca"].rho, settings["isca"].eta) == (200, 1.0, 0.1)
    for kernel in ("linear", "rbf", "sigmoid"):
        one = settings[f"kernel-isca-{kernel}"]
        assert (one.epochs, one.rho, one.eta, one.kernel) == (100, 0.1, 0.1, kernel)
    assert all((s.components, s.block, s.solver) == (4, 8, "admm") for s in settings.values())
    assert all(s.metric == "published" for s in settings.values())


def test_scores_count_as_the_paper_prints() -> None:
    right = records.score(
        {1: [("contrast",)], 4: [("jpeg",), ("blur",)], 7: [("blur",), ("jpeg",)]}
    )
    assert (right.singles, right.of_singles) == (1, 2)
    assert (right.first_of_pair, right.both_of_pair, right.of_pairs) == (1, 0, 1)
    both = records.score({7: [("gaussian-noise",), ("blur",)], 8: []})
    assert (both.first_of_pair, both.both_of_pair, both.of_pairs) == (1, 1, 2)


def test_labels_with_as_many_blocks_each_win_nothing_by_their_order() -> None:
    shares = {"contrast": 0.4, "jpeg": 0.4, "blur": 0.2}
    for first, second in (("contrast", "jpeg"), ("jpeg", "contrast")):
        tied = [
            records.TrialResult(image, "undecided", shares, (first, second)) for image in (1, 6, 12)
        ]
        found = records.score_of(tied)
        assert (found.singles, found.of_singles) == (0, 2)
        assert (found.first_of_pair, found.both_of_pair) == (1, 1)
    found = records.score_of([records.TrialResult(1, "contrast", shares, ("contrast", "jpeg"))])
    assert found.singles == 1
    outvoted = records.TrialResult(
        7, "undecided", {"undecided": 0.6, "blur": 0.4}, ("undecided", "blur")
    )
    assert records.score_of([outvoted]).first_of_pair == 0


# --- the command -------------------------------------------------------------------------------


def test_the_command(
    small: NDArray[np.float32], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image.save_png(tmp_path / "my picture.png", small)
    words = ["reproduce", str(tmp_path / "my picture.png"), "-o", str(tmp_path / "out"), "--quick"]
    assert cli.main([*words, "--threads", "1"]) == 0
    told = capsys.readouterr()
    assert told.out.strip() == str(tmp_path / "out/report.html")
    assert "reproduce: 100% done" in told.err
    assert cli.main([*words, "--json"]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert told.err == ""
    assert found.pop("report") == str(tmp_path / "out/report.html")
    assert found == json.loads((tmp_path / "out/results.json").read_text("utf-8"))
    assert found["image"] == "my picture.png"


def test_an_interrupted_command_says_how_to_continue(
    small: NDArray[np.float32],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> object:
        raise KeyboardInterrupt

    image.save_png(tmp_path / "a b.png", small)
    monkeypatch.setattr(paper.evaluation, "leave_one_out", interrupt)
    picture, folder = str(tmp_path / "a b.png"), str(tmp_path / "out")
    assert cli.main(["reproduce", picture, "-o", folder, "--quick"]) == cli.STOPPED
    told = capsys.readouterr().err
    assert f"to continue: isca reproduce '{picture}' -o {folder} --quick" in told
    assert (tmp_path / "out/work/isca.isca").exists()


def test_a_name_that_is_no_text_can_be_in_a_report() -> None:
    name = command._name_in_report(os.fsdecode(b"/pictures/caf\xe9.png"))
    assert name.encode() == b"caf\\udce9.png"


def test_a_refused_folder_is_an_error_with_advice(
    small: NDArray[np.float32], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert cli.main(["reproduce", "-o", str(tmp_path), "--quick"]) == cli.FAILED
    assert "Choose a new or empty folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "code",
    [
        "import isca_gui.core, isca_gui.core.paper.reproduce, isca_gui.core.paper.figures",
        "import contextlib\nfrom isca_gui import cli\n"
        "with contextlib.suppress(SystemExit): cli.main(['reproduce', '--help'])",
    ],
)
def test_matplotlib_is_loaded_only_to_draw(code: str) -> None:
    tail = "\nimport sys\nassert not {'matplotlib', 'PySide6'} & set(sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code + tail], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
