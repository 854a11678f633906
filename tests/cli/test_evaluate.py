"""`isca evaluate` and the comparison behind it: figures, tables, documents, refusals."""

from __future__ import annotations

import csv
import json
import math
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isca_gui.cli import evaluate as command
from isca_gui.core.distortion import dataset_folder
from isca_gui.core.distortion.dataset import generate
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model.model_file import load_model, save_model
from isca_gui.core.model.training import train
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run
from isca_gui.core.recognition import evaluation, method_comparison
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.settings import SettingsError, TrainingSettings
from tests.commands import full_disk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commands import Done

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.progress import Progress

SIZE = 64
FRESH_KEYS = [
    "pictures",
    "unreachable",
    "levels",
    "singles",
    "recall",
    "level_error",
    "level_correlation",
    "called_mixtures",
    "called_unlike",
    "one_of_two",
    "top_two",
    "pairs",
    "unlike",
    "unlike_by_kind",
]


@pytest.fixture(scope="module")
def made() -> Dataset:
    """A small dataset: 64×64, six distortions at five levels."""
    camera = image.read(samples.resolve("sample:camera"))
    reference = np.ascontiguousarray(camera[110 : 110 + SIZE, 200 : 200 + SIZE])
    return run(generate(reference, DatasetSpec(levels=(60.0, 120.0, 240.0, 400.0, 600.0))))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, made: Dataset) -> Path:
    """The dataset as a folder, a model of it, and its reference."""
    folder = tmp_path_factory.mktemp("data")
    run(dataset_folder.save(made, folder / "set"))
    save_model(folder / "m.isca", run(train(made, TrainingSettings(solver="direct", epochs=30))))
    image.save_tiff(folder / "reference.tiff", made.reference)
    image.save_png(folder / "noisy.png", made.pictures[8])
    return folder


def document(done: Done) -> dict[str, Any]:
    assert done.code == 0, done.err
    assert done.err == ""
    found: dict[str, Any] = json.loads(done.out)
    return found


# --- a model -----------------------------------------------------------------------------------


def test_leave_one_out_of_a_model(data: Path, isca: Callable[..., Done], made: Dataset) -> None:
    wanted = run(evaluation.leave_one_out(load_model(data / "m.isca")))
    found = document(isca("evaluate", data / "m.isca", "--json"))
    assert list(found) == ["source", "descriptor", "rule", "seed", "fresh", "classes", "rows"]
    assert found["classes"] == list(made.classes)
    (row,) = found["rows"]
    assert list(row) == ["name", "settings", "seconds", "leave_one_out", "fresh"]
    assert (row["name"], row["fresh"]) == ("isca:direct", None)
    left = row["leave_one_out"]
    assert list(left) == ["accuracy", "block_accuracy", "recall", "confusion"]
    assert left["accuracy"] == wanted.accuracy > 0.6
    assert left["confusion"] == wanted.confusion.tolist()
    assert (np.sum(left["confusion"]), np.shape(left["confusion"])) == (31, (7, 8))
    assert left["recall"] == dict(wanted.recall)


def test_the_model_s_table_in_words(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("evaluate", data / "m.isca", "--rule", "majority", "--descriptor", "structural")
    assert done.code == 0
    assert "m.isca: isca:direct, structural descriptor, majority rule" in done.out
    assert "Each of the 31 training pictures, recognised using the others" in done.out
    rows = [line.split() for line in done.out.splitlines() if line.startswith("jpeg")]
    assert sum(map(int, rows[0][1:-1])) == 5
    assert "evaluate: leaving one out, 0 of 31" in done.err


def test_the_reference_of_rounded_pictures_is_known_by_what_sees_luminance(
    tmp_path: Path, isca: Callable[..., Done], made: Dataset
) -> None:
    exact = made.reference * np.float32(0.9) + np.float32(0.03)  # not of whole 8-bit numbers
    few = generate(exact, DatasetSpec(("luminance", "blur"), (45.0, 90.0, 180.0)))
    run(dataset_folder.save(run(few), tmp_path / "set", form="png"))
    assert isca("train", tmp_path / "set", "-o", "m.isca", "--method", "pca").code == 0
    image.save_tiff(tmp_path / "exact.tiff", exact)
    done = isca(
        "evaluate",
        "m.isca",
        "--fresh",
        "1",
        "--reference",
        "exact.tiff",
        "--descriptor",
        "structural",
    )
    assert done.code == 0, done.err


def test_fresh_pictures_of_a_model(data: Path, isca: Callable[..., Done], made: Dataset) -> None:
    words = ("evaluate", data / "m.isca", "--fresh", "1", "--seed", "5")
    found = document(isca(*words, "--reference", data / "reference.tiff", "--json"))
    fresh = found["rows"][0]["fresh"]
    assert list(fresh) == FRESH_KEYS
    model = load_model(data / "m.isca")
    (wanted,) = run(evaluation.score_fresh([Recogniser(model)], made.reference, 1, 5))
    assert fresh["pictures"] == len(wanted.outcomes)
    assert (fresh["singles"], fresh["top_two"], fresh["unlike"]) == (
        *(wanted.singles, wanted.top_two, wanted.unlike),
    )
    assert fresh["level_error"] == wanted.level_error
    assert len(fresh["pairs"]) == 15
    again = document(isca(*words, "--reference", data / "set", "--json", "--threads", "1"))
    assert again["rows"][0]["fresh"] == fresh
    text = isca(*words, "--reference", data / "set").out
    assert f"{wanted.singles:>7.1%}  one distortion: correct verdict" in text
    assert "AUROC by untrained distortion: speckle noise" in text


def test_a_reference_that_the_model_calls_unlike_is_refused(
    tmp_path: Path, isca: Callable[..., Done], made: Dataset
) -> None:
    """Where only lighter pictures are known, the original is the nearest to a darker one."""
    bright = made.reference * np.float32(0.7) + np.float32(0.25)
    few = run(generate(bright, DatasetSpec(("luminance",), (100.0, 300.0, 500.0))))
    save_model(tmp_path / "m.isca", run(train(few, TrainingSettings("pca"))))
    image.save_tiff(tmp_path / "dark.tiff", bright - np.float32(0.2))
    done = isca(
        "evaluate", tmp_path / "m.isca", "--fresh", "1", "--reference", tmp_path / "dark.tiff"
    )
    assert (done.code, done.out) == (1, "")
    assert "is not the reference of" in done.err
    assert "No trained distortion fits" in done.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ["--fresh", "1"],
            2,
            "not stored in the model; name the picture or dataset folder with --reference",
        ),
        (["--range", "0:1"], 2, "--range applies to a picture, but this command reads none"),
        (["--fresh", "1", "--reference", "set", "--range", "0:1"], 2, "set' is a folder"),
        (["--fresh", "-1"], 2, "--fresh must be 0 or more pictures"),
        (["--fresh", "few"], 2, "not a whole number"),
        (["--methods", "pca"], 2, "--methods applies to a dataset"),
        (["--fresh", "1", "--reference", "noisy.png"], 1, "is not the reference of"),
        (
            ["--fresh", "1", "--reference", "sample:camera"],
            1,
            "512×512 pixels, the model's reference 64×64",
        ),
        (["--fresh", "1", "--reference", "none.png"], 1, "Cannot read picture 'none.png'"),
        (["--seed", "-1"], 2, "the seed must be a whole number"),
        (["--csv", "t.json"], 2, "must end in .csv"),
        (["--csv", "none/t.csv"], 1, "there is no folder"),
    ],
)
def test_wrong_use_with_a_model(
    data: Path, isca: Callable[..., Done], words: list[str], code: int, message: str
) -> None:
    places = [str(data / word) if word in ("noisy.png", "set") else word for word in words]
    done = isca("evaluate", data / "m.isca", *places)
    assert done.code == code
    assert message in done.err
    assert "Traceback" not in done.err
    assert os.listdir() == []


# --- a comparison ------------------------------------------------------------------------------


def test_a_comparison_on_one_dataset(data: Path, isca: Callable[..., Done]) -> None:
    words = (
        "evaluate",
        data / "set",
        "--methods",
        "isca:direct,pca,kernel-pca:rbf",
        "--fresh",
        "1",
    )
    found = document(isca(*words, "--csv", "t.csv", "--json"))
    names = ["isca:direct", "pca", "kernel-pca:rbf", "random", "pixels"]
    assert [row["name"] for row in found["rows"]] == names
    assert [row["settings"]["method"] for row in found["rows"]] == [
        "isca",
        "pca",
        "kernel-pca",
        "random",
        "random",
    ]
    assert [row["settings"]["components"] for row in found["rows"]] == [4, 4, 4, 4, 64]
    assert all(list(row["fresh"]) == FRESH_KEYS for row in found["rows"])
    assert len({row["fresh"]["pictures"] for row in found["rows"]}) == 1
    with open("t.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == list(command.COLUMNS)
    assert [row["name"] for row in rows] == names
    for line, row in zip(rows, found["rows"], strict=True):
        assert float(line["accuracy"]) == row["leave_one_out"]["accuracy"]
        assert float(line["singles"]) == row["fresh"]["singles"]
    assert (rows[0]["solver"], rows[0]["kernel"], rows[2]["kernel"]) == ("direct", "", "rbf")
    assert os.listdir() == ["t.csv"]


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits")
def test_what_was_found_is_told_where_the_table_cannot_be_written(
    data: Path, isca: Callable[..., Done]
) -> None:
    with full_disk(10):
        done = isca("evaluate", data / "m.isca", "--csv", "t.csv")
    assert done.code == 1
    assert "of the distorted pictures are recognised" in done.out
    assert done.err.splitlines()[-1] == "isca: 't.csv': File too large."
    assert os.listdir() == []


def test_the_table_of_a_comparison(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("evaluate", data / "set", "--methods", "pca,random,pixels")
    assert done.code == 0, done.err
    head, *rows = [line.split() for line in done.out.splitlines()[1:]]
    assert head == ["method", "accuracy", "blocks", "seconds"]
    assert [row[0] for row in rows] == ["pca", "random", "pixels"]
    assert all(cell.endswith("%") for row in rows for cell in row[1:3])
    assert re.search(r"evaluate: pca: training, \d+ of 1000", done.err)
    assert "evaluate: pixels: leaving one out" in done.err


def test_a_picture_in_place_of_a_dataset(data: Path, isca: Callable[..., Done]) -> None:
    found = document(isca("evaluate", data / "reference.tiff", "--methods", "pca", "--json"))
    assert [row["name"] for row in found["rows"]] == ["pca", "random", "pixels"]
    assert np.sum(found["rows"][0]["leave_one_out"]["confusion"]) > 100


def test_isca_is_the_default() -> None:
    assert command.parse_methods("isca") == [TrainingSettings()]
    assert command.parse_methods("kernel-isca:rbf:direct, random,pixels") == [
        TrainingSettings(method="kernel-isca", kernel="rbf", solver="direct")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "magic",
        "",
        "pca:direct",
        "isca:rbf",
        "isca:magic",
        "isca,isca",
        "isca:admm:direct",
        "random:x",
    ],
)
def test_methods_that_make_no_sense(text: str) -> None:
    with pytest.raises(SettingsError):
        command.parse_methods(text)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["set", "--methods", "magic"], 2, "method must be one of isca"),
        (["set", "--reference", "reference.tiff"], 2, "--reference applies to a model"),
        (["none"], 1, "Cannot read picture"),
    ],
)
def test_wrong_use_with_a_dataset(
    data: Path, isca: Callable[..., Done], words: list[str], code: int, message: str
) -> None:
    done = isca("evaluate", data / words[0], *words[1:])
    assert (done.code, done.out) == (code, "")
    assert message in done.err


def test_no_table_is_written_into_a_dataset_that_is_read(
    data: Path, isca: Callable[..., Done]
) -> None:
    """With a manifest, in which it would not be named, or with a subfolder for each label."""
    whole = sorted(os.listdir(data / "set"))
    for name in ("manifest.csv", "t.csv"):
        for source in (["set"], ["m.isca", "--fresh", "1", "--reference", "set"]):
            places = [str(data / word) if word in ("set", "m.isca") else word for word in source]
            done = isca("evaluate", *places, "--csv", data / "set" / name)
            assert (done.code, done.out) == (2, "")
            assert "is inside the dataset folder" in done.err
    assert sorted(os.listdir(data / "set")) == whole
    os.mkdir("folders")
    done = isca("evaluate", "folders", "--csv", "folders/t.csv")
    assert (done.code, "is inside the dataset folder" in done.err, os.listdir("folders")) == (
        2,
        True,
        [],
    )


# --- the engine --------------------------------------------------------------------------------


def test_plain_pixels_are_compared_as_they_are(made: Dataset) -> None:
    model = run(method_comparison.train_pixels(made, TrainingSettings(), 2))
    assert (model.settings.method, model.settings.components) == ("random", 64)
    assert np.array_equal(model.transform(made.pictures[:1]).shape, (64, 1, 64))
    found = Recogniser(model).recognise(made.pictures[7])
    blocks = model.grid.split_stack(made.pictures).astype(np.float64)
    far = np.linalg.norm(blocks - blocks[:, 7:8], axis=2)
    same = far[:, :1] * 0 + (np.abs(blocks - blocks[:, :1]).max(axis=2) <= 2e-6)
    same[:, 0] = 0
    far[same > 0] = np.inf
    for place, label in enumerate(found.classes):
        members = [index for index, name in enumerate(made.labels) if name == label]
        assert found.distances[:, place] == pytest.approx(far[:, members].min(axis=1), abs=2e-5)
    assert np.abs(model.reconstruct(made.pictures[5]) - made.pictures[5]).max() < 1e-6


def test_compare_reports_one_bar_and_always_adds_both(made: Dataset) -> None:
    reports: list[Progress] = []
    rows = run(method_comparison.compare(made, [], 1, 3, threads=2), reports.append)
    assert [row.name for row in rows] == ["random", "pixels"]
    assert {report.total for report in reports} == {1000}
    done = [report.done for report in reports]
    assert done == sorted(done)
    assert 900 <= done[-1] <= 1000
    assert all(row.fresh is not None and row.seconds > 0 for row in rows)
    random = run(train(made, replace(TrainingSettings(), method="random")))
    assert [rows[0].fresh] == run(
        evaluation.score_fresh([Recogniser(random)], made.reference, 1, 3)
    )


def test_settings_of_one_name_are_told_apart(made: Dataset) -> None:
    settings = [TrainingSettings(method="pca", components=count) for count in (2, 6)]
    rows = run(method_comparison.compare(made, settings))
    assert [row.name for row in rows] == ["pca", "pca (2)", "random", "pixels"]
    assert [row.settings.components for row in rows] == [2, 6, 2, 64]
    assert all(row.fresh is None for row in rows)


def test_what_is_not_known_is_null() -> None:
    empty = evaluation.summarise(())
    found = command._fresh_document(empty)
    assert list(found) == FRESH_KEYS
    assert found["singles"] is found["unlike"] is None
    assert math.isnan(empty.singles)
    json.dumps(found, allow_nan=False)
