"""`isca classify`, `isca reconstruct` and `isca bases`: answers, files, refusals."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from isca_gui import cli
from isca_gui.cli import arguments, targets
from isca_gui.cli import classify as command
from isca_gui.core.distortion.dataset import generate
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.distortion.strength_search import distort
from isca_gui.core.model import descriptor, model_file
from isca_gui.core.model.model_file import load_model, save_model
from isca_gui.core.model.training import train
from isca_gui.core.parallel import Workers
from isca_gui.core.pictures import image, samples
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.progress import run
from isca_gui.core.recognition import answer_table as answers
from isca_gui.core.recognition import batch
from isca_gui.core.recognition import vote_map_image as map_picture
from isca_gui.core.recognition import vote_overlays as votes_picture
from isca_gui.core.recognition.recogniser import Recogniser, RecognitionError
from isca_gui.core.recognition.verdict import RULES, Verdict
from isca_gui.core.settings import TrainingSettings
from tests.commands import full_disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from commands import Done

    from isca_gui.core.model.model import Model

POSIX = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
SIZE = 128
KEYS = [
    "file",
    "label",
    "parts",
    "share",
    "runner_up",
    "runner_up_share",
    "margin",
    "severity",
    "nearest_level",
    "unusual",
    "unlike",
    "undecided",
    "shares",
    "components",
    "sentence",
    "width",
    "height",
]


@pytest.fixture(scope="module")
def reference() -> np.ndarray:
    """A part of a sample, in 8 bits as a picture file has them."""
    return np.ascontiguousarray(
        image.read(samples.resolve("sample:camera"))[80 : 80 + SIZE, 160 : 160 + SIZE]
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, reference: np.ndarray) -> Path:
    """A folder with a model, its reference, and a folder of three good pictures and a bad one."""
    folder = tmp_path_factory.mktemp("data")
    made = run(generate(reference, DatasetSpec(levels=(45.0, 100.0, 200.0, 300.0, 450.0, 700.0))))
    save_model(folder / "m.isca", run(train(made, TrainingSettings(solver="direct", epochs=40))))
    kernel = TrainingSettings(method="kernel-pca", kernel="rbf")
    save_model(folder / "kernel.isca", run(train(made, kernel)))
    image.save_png(folder / "reference.png", reference)
    saved = Image.open(folder / "reference.png")
    # This JPEG file is written by another program, with its own tables.
    saved.save(folder / "saved.jpg", quality=10)
    inside = folder / "set"
    inside.mkdir()
    image.save_png(inside / "b-blur.png", distort(reference, "blur", 250.0, 0).picture)
    image.save_png(inside / "a-noise.png", distort(reference, "gaussian-noise", 250.0, 3).picture)
    saved.save(inside / "d.jpeg", quality=10)
    (inside / "c-broken.png").write_bytes(b"no picture")
    (inside / "notes.txt").write_text("no picture either", encoding="utf-8")
    (inside / "deeper").mkdir()
    image.save_png(inside / "deeper" / "e.png", reference)
    return folder


def pictures(done: Done) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(done.out)["pictures"]
    return found


# --- answers -----------------------------------------------------------------------------------


def test_a_jpeg_saved_by_another_program_is_recognised(
    data: Path, isca: Callable[..., Done]
) -> None:
    done = isca("classify", data / "m.isca", data / "saved.jpg")
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(
        rf"{re.escape(str(data / 'saved.jpg'))}: JPEG compression, strength about MSE \d+\. .*\n",
        done.out,
    )
    (found,) = pictures(isca("classify", data / "m.isca", data / "saved.jpg", "--json"))
    true = 255**2 * np.mean(
        (image.read(data / "saved.jpg") - image.read(data / "reference.png")) ** 2
    )
    assert found["label"] == "jpeg"
    assert found["severity"] == pytest.approx(true, rel=0.15)


def test_json_is_one_document_with_fixed_keys(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("classify", data / "m.isca", data / "reference.png", data / "saved.jpg", "--json")
    document = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert list(document) == ["model", "descriptor", "rule", "neighbours", "pictures"]
    assert [document[key] for key in ("model", "descriptor", "rule", "neighbours")] == [
        *(str(data / "m.isca"), "extended", "evidence", 1),
    ]
    first, second = document["pictures"]
    assert list(first) == list(second) == KEYS == list(answers.KEYS)
    assert (first["label"], first["parts"], first["runner_up"]) == ("original", [], None)
    assert first["sentence"].startswith("This is the original")
    assert (second["file"], second["label"]) == (str(data / "saved.jpg"), "jpeg")
    assert (second["parts"], second["width"], second["height"]) == (["jpeg"], SIZE, SIZE)
    assert second["share"] == second["shares"]["jpeg"]
    assert second["margin"] == pytest.approx(second["share"] - second["runner_up_share"])
    assert sum(second["shares"].values()) == pytest.approx(1)
    assert second["undecided"] == second["shares"]["undecided"]


def test_the_answers_are_those_of_the_engine(data: Path, isca: Callable[..., Done]) -> None:
    picture = image.read(data / "set" / "b-blur.png")
    for words, options in (
        ([], {}),
        (["--descriptor", "structural", "--rule", "majority"], {"descriptor": "structural"}),
        (["--neighbours", "3"], {"neighbours": 3}),
    ):
        done = isca("classify", data / "m.isca", data / "set" / "b-blur.png", "--json", *words)
        rule = "majority" if "majority" in words else "evidence"
        wanted = Recogniser(load_model(data / "m.isca"), **options).recognise(picture, rule).verdict
        (found,) = pictures(done)
        assert found["shares"] == dict(wanted.shares)
        assert (found["label"], found["sentence"]) == (wanted.label, wanted.sentence)


@pytest.mark.skipif(os.name == "nt", reason="needs links and pipes")
def test_links_that_lead_nowhere_do_not_keep_a_folder_from_being_read(tmp_path: Path) -> None:
    for name in ("a.png", "b.png", "notes.txt"):
        (tmp_path / name).touch()
    (tmp_path / "c.png").mkdir()
    # Nobody would ever write into this pipe.
    os.mkfifo(tmp_path / "d.png")
    for name in ("gone.png", "loop.png", "loop.txt"):
        (tmp_path / name).symlink_to(name if "loop" in name else "nothing")
    found = [Path(path).name for path in batch.pictures_in(str(tmp_path))]
    assert found == ["a.png", "b.png", "gone.png", "loop.png"]


def test_a_folder_with_one_bad_file(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("classify", data / "m.isca", data / "set")
    assert done.code == 1
    lines = done.out.splitlines()
    names = [os.path.relpath(line.split(": ")[0], data / "set") for line in lines]
    assert names == ["a-noise.png", "b-blur.png", "d.jpeg"]
    assert [line.split(": ")[1].split(",")[0] for line in lines] == [
        "Gaussian noise",
        "Blur",
        "JPEG compression",
    ]
    assert done.err.count("\n") == 1
    assert "c-broken.png" in done.err
    entries = pictures(isca("classify", data / "m.isca", data / "set", "--json", "--threads", "1"))
    assert [list(entry) == KEYS for entry in entries] == [True, True, False, True]
    assert list(entries[2]) == ["file", "error"]
    assert entries[2]["file"].endswith("c-broken.png")


def test_what_is_not_there_is_reported_and_the_rest_goes_on(
    data: Path, isca: Callable[..., Done]
) -> None:
    Path("empty").mkdir()
    done = isca(
        "classify",
        data / "m.isca",
        "none.png",
        "empty",
        "sample:none",
        data / "saved.jpg",
        "--json",
    )
    assert done.code == 1
    entries = pictures(done)
    assert [entry["file"] for entry in entries] == [
        "empty",
        "none.png",
        "sample:none",
        str(data / "saved.jpg"),
    ]
    assert ["error" in entry for entry in entries] == [True, True, True, False]
    assert "holds no pictures" in done.err
    assert "no sample picture 'sample:none'" in done.err


def test_all_pictures_bad_is_still_one_document(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("classify", data / "m.isca", "none.png", "--json", "--csv", "t.csv")
    assert (done.code, pictures(done)[0]["file"]) == (1, "none.png")
    assert len(Path("t.csv").read_text("utf-8").splitlines()) == 2


def test_csv(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("classify", data / "m.isca", data / "set", "--json", "--csv", "t.csv")
    entries = pictures(done)
    with open("t.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == [*KEYS, "error"]
    assert os.listdir() == ["t.csv"]
    for row, entry in zip(rows, entries, strict=True):
        assert row["file"] == entry["file"]
        assert row["error"] == entry.get("error", "")
        if "error" in entry:
            assert not any(row[key] for key in KEYS[1:])
            continue
        for key in ("share", "severity", "unusual", "width"):
            assert float(row[key]) == pytest.approx(entry[key])
        assert row["parts"] == "+".join(entry["parts"])
        assert row["unlike"] == str(entry["unlike"]).lower()
        shares = dict(part.split("=") for part in row["shares"].split(";"))
        assert {name: float(share) for name, share in shares.items()} == pytest.approx(
            entry["shares"], rel=1e-5
        )


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=("C",)), min_size=1).map(str.strip).filter(bool)
        | st.sampled_from(["a=1;b", "\\", ";", "a\\;b=", "c++"]),
        st.integers(0, 8).map(lambda eighths: eighths / 8),
        min_size=1,
    )
)
def test_shares_are_read_back_from_their_cell(shares: dict[str, float]) -> None:
    cell = answers.row({"shares": shares})[answers.COLUMNS.index("shares")]
    parts = re.findall(r"((?:[^;=\\]|\\.)+)=([^;]*)", cell)
    assert {re.sub(r"\\(.)", r"\1", name): float(share) for name, share in parts} == shares


# --- sizes -------------------------------------------------------------------------------------


@pytest.fixture
def larger(tmp_path: Path, reference: np.ndarray) -> Path:
    """A blurred reference with a border of 20 rows and 30 columns on each side."""
    picture = np.pad(
        distort(reference, "blur", 200.0, 0).picture, ((20, 20), (30, 30)), mode="reflect"
    )
    image.save_png(tmp_path / "larger.png", picture)
    return tmp_path / "larger.png"


def test_another_size_is_refused_with_both_named(
    data: Path, larger: Path, isca: Callable[..., Done]
) -> None:
    done = isca("classify", data / "m.isca", larger)
    assert (done.code, done.out) == (1, "")
    assert "188×168 pixels" in done.err
    assert "128×128" in done.err
    assert "--resize or --crop" in done.err
    again = isca("reconstruct", data / "m.isca", larger, "-o", "r.png")
    assert (again.code, "--resize or --crop" in again.err, "classify" in again.err) == (
        1,
        True,
        False,
    )


def test_crop_takes_the_middle(data: Path, larger: Path, isca: Callable[..., Done]) -> None:
    (found,) = pictures(isca("classify", data / "m.isca", larger, "--crop", "--json"))
    assert (found["label"], found["width"], found["height"]) == ("blur", 188, 168)
    assert found["severity"] == pytest.approx(200, rel=0.15)


def test_resize(data: Path, isca: Callable[..., Done]) -> None:
    with Image.open(data / "reference.png") as small:
        small.resize((2 * SIZE, 2 * SIZE), Image.Resampling.BICUBIC).save("double.png")
    (found,) = pictures(isca("classify", data / "m.isca", "double.png", "--resize", "--json"))
    assert (found["width"], found["severity"] < 45) == (2 * SIZE, True)
    done = isca("classify", data / "m.isca", "double.png", "--resize", "--crop")
    assert (done.code, "not allowed with" in done.err) == (2, True)


def test_what_is_too_small_is_not_cropped(data: Path, isca: Callable[..., Done]) -> None:
    with Image.open(data / "reference.png") as whole:
        whole.crop((0, 0, 200, 60)).save("low.png")
    done = isca("classify", data / "m.isca", "low.png", "--crop")
    assert done.code == 1
    assert "200×60" in done.err
    assert "too small to be cropped" in done.err


def test_fit() -> None:
    picture = np.arange(12 * 10, dtype=np.float32).reshape(12, 10) / 120
    assert batch.fit(picture, 12, 10) is picture
    assert np.array_equal(batch.fit(picture, 8, 8, "crop"), picture[2:10, 1:9])
    resized = batch.fit(picture, 24, 20, "resize")
    assert (resized.shape, resized.dtype) == ((24, 20), np.float32)
    assert resized.min() >= 0
    with pytest.raises(RecognitionError, match=r"10×12 pixels.*8×8"):
        batch.fit(picture, 8, 8)


# --- --fail-on ---------------------------------------------------------------------------------


def test_fail_on(data: Path, isca: Callable[..., Done]) -> None:
    words = ("classify", data / "m.isca", data / "reference.png", data / "saved.jpg")
    done = isca(*words, "--fail-on", "blur,jpeg")
    assert done.code == 3
    assert re.fullmatch(r"isca: .*saved\.jpg: found jpeg in \d+% of the damaged blocks\n", done.err)
    assert done.out.count("\n") == 2
    assert isca(*words, "--fail-on", "blur").code == 0
    assert isca(*words, "--fail-on", "jpeg", "--min-share", "1").code == 0
    # A picture that could not be read is more important than what was found.
    assert isca(*words, "none.png", "--fail-on", "jpeg").code == 1


def test_what_two_distortions_do_not_explain_fails_on_unlike(
    tmp_path: Path, isca: Callable[..., Done], reference: np.ndarray
) -> None:
    """Two distortions come nearer to any picture than one; that alone does not make a mixture."""
    made = run(generate(reference, DatasetSpec()))
    save_model(tmp_path / "m.isca", run(train(made, TrainingSettings("pca"))))
    strangers = {
        "negative.png": 1 - reference,
        "noise.png": np.random.default_rng(1).random(reference.shape, np.float32),
        "grey.png": np.full_like(reference, 0.5),
        "moved.png": np.roll(reference, 5, axis=1),
    }
    for name, picture in strangers.items():
        image.save_png(tmp_path / name, picture)
        done = isca("classify", tmp_path / "m.isca", tmp_path / name, "--fail-on", "unlike")
        assert (done.code, "No trained distortion fits" in done.out) == (3, True), done.out
    for pair in ("blur+luminance", "jpeg+luminance", "gaussian-noise+contrast"):
        image.save_png(tmp_path / "two.png", distort(reference, pair, 500.0, 1).picture)
        done = isca("classify", tmp_path / "m.isca", tmp_path / "two.png", "--fail-on", "unlike")
        assert (done.code, "Two distortions together" in done.out) == (0, True), done.out


def test_a_label_with_commas_can_be_named(data: Path, isca: Callable[..., Done]) -> None:
    model = load_model(data / "m.isca")
    assert model.known is not None
    renamed = {"jpeg": "saved, small", "blur": "small"}
    labels = tuple(renamed.get(label, label) for label in model.known.labels)
    save_model("m.isca", replace(model, known=replace(model.known, labels=labels)))
    words = ("classify", "m.isca", data / "saved.jpg", "--fail-on")
    for found in ("saved, small", "contrast,saved, small,unlike"):
        done = isca(*words, found)
        assert (done.code, "found saved, small in" in done.err) == (3, True)
    assert isca(*words, "small,contrast").code == 0
    done = isca(*words, "contrast,saved")
    assert (done.code, done.out) == (2, "")
    assert "does not know 'saved'; choose from contrast" in done.err
    assert "'saved, small'" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fail-on", "blur,fog"], "does not know 'fog'; choose from contrast"),
        (["--fail-on", "original"], "'original' is not a distortion; choose from contrast"),
        (["--fail-on", ""], "does not know ''"),
        (["--min-share", "1.5"], "--min-share must be between 0 and 1"),
        (["--min-share", "nan"], "--min-share must be between 0 and 1"),
        (["--neighbours", "0"], "less than 1"),
        (["--neighbours", "1001"], "--neighbours must be at most 1000"),
        (["--rule", "coin"], "invalid choice"),
        (["--descriptor", "none"], "invalid choice"),
        (["--csv", "t.txt"], "must end in .csv"),
        (["--map", "t.jpg"], "must end in .png"),
        (["--threads", "0"], "less than 1"),
    ],
)
def test_wrong_use(data: Path, isca: Callable[..., Done], words: list[str], message: str) -> None:
    done = isca("classify", data / "m.isca", data / "saved.jpg", *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err
    assert os.listdir() == []


def verdict(**changes: Any) -> Verdict:
    """A verdict of 100 blocks: 60 original, 24 blur, 8 jpeg, 8 undecided."""
    shares = {"original": 0.6, "blur": 0.24, "jpeg": 0.08, "undecided": 0.08}
    components = {"original": 0.6, "blur": 0.24, "jpeg": 0.08}
    start = Verdict(
        label="blur",
        share=0.24,
        runner_up="jpeg",
        runner_up_share=0.08,
        margin=0.16,
        severity=100.0,
        nearest_level=90.0,
        unusual=1.0,
        unlike=False,
        shares=shares,
        components=components,
        parts=("blur", "jpeg"),
        sentence=".",
    )
    return replace(start, **changes)


def test_shares_are_of_the_damaged_blocks() -> None:
    assert command._hits(verdict(), {"blur"}, 0.75) == [("blur", " in 75% of the damaged blocks")]
    assert command._hits(verdict(), {"blur"}, 0.76) == []
    assert command._hits(verdict(), {"jpeg"}, 0.25) == [("jpeg", " in 25% of the damaged blocks")]
    assert command._hits(verdict(parts=("blur",)), {"jpeg"}, 0.0) == []
    mixed = verdict(label="blur+jpeg", shares={"original": 0.5, "blur+jpeg": 0.5, "undecided": 0.0})
    assert command._hits(mixed, {"blur+jpeg"}, 1.0) == [
        ("blur+jpeg", " in 100% of the damaged blocks")
    ]
    assert command._hits(verdict(unlike=True), {"unlike"}, 1.0) == [("unlike", "")]
    assert command._hits(verdict(label="undecided", parts=()), {"undecided"}, 1.0) == [
        ("undecided", "")
    ]


@pytest.mark.parametrize("blurred", range(1, 20))
def test_all_damaged_blocks_are_all_of_them(blurred: int) -> None:
    shares = {"original": (20 - blurred) / 20, "blur": blurred / 20, "undecided": 0.0}
    all_ = verdict(
        shares=shares, components={"original": shares["original"], "blur": shares["blur"]}
    )
    assert command._hits(all_, {"blur"}, 1.0) == [("blur", " in 100% of the damaged blocks")]


def test_choices_are_those_of_the_engine() -> None:
    assert arguments.DESCRIPTORS == tuple(descriptor.DESCRIPTORS)
    assert arguments.RULES == tuple(RULES)
    assert (cli.FAILED, cli.WRONG_USE, cli.FOUND, cli.STOPPED) == (1, 2, 3, 130)


# --- maps --------------------------------------------------------------------------------------


def test_the_map_is_the_votes_over_the_picture(data: Path, isca: Callable[..., Done]) -> None:
    assert (
        isca("classify", data / "m.isca", data / "set" / "b-blur.png", "--map", "map.png").code == 0
    )
    assert os.listdir() == ["map.png"]
    drawn = np.asarray(Image.open("map.png"))
    picture = image.read(data / "set" / "b-blur.png")
    found = Recogniser(load_model(data / "m.isca")).recognise(picture)
    side = SIZE * map_picture.scale_of(SIZE, SIZE)
    assert side == 384
    overlay = votes_picture.vote_overlay(found, side, side)
    wanted = votes_picture.compose(picture, overlay, map_picture.OPACITY)
    assert np.array_equal(drawn[:side, :side], wanted)
    assert drawn.shape[0] > side
    assert drawn.shape[1] > side
    # The colour of blur is green: a certain vote makes a block greener than red.
    blurred = found.winner == found.classes.index("blur")
    sure = np.flatnonzero(blurred & (found.confidence > 0.8))
    assert len(sure) > 10
    scale = map_picture.scale_of(SIZE, SIZE)
    for block in sure[:10]:
        place = found.grid.rectangle(int(block))
        part = drawn[
            place.top * scale : place.bottom * scale, place.left * scale : place.right * scale
        ]
        assert part[..., 1].mean() > part[..., 0].mean()


def test_the_legend_has_every_class(data: Path) -> None:
    picture = image.read(data / "saved.jpg")
    found = Recogniser(load_model(data / "m.isca")).recognise(picture)
    drawn = map_picture.draw(found, picture)
    legend, below = drawn[:384, 384:], drawn[384:]
    for label in found.classes:
        colour = votes_picture.style_of(label).colour
        assert (legend == colour).all(axis=2).sum() > 50, label
    assert not (legend == votes_picture.style_of("undecided").colour).all(axis=2).all()
    # The verdict is written there.
    assert (below < 100).all(axis=2).sum() > 200
    assert (below > 250).all(axis=2).mean() > 0.7


def test_a_long_verdict_is_wrapped_and_a_long_label_shortened(data: Path) -> None:
    picture = image.read(data / "saved.jpg")
    found = Recogniser(load_model(data / "m.isca")).recognise(picture)
    long = replace(found, verdict=replace(found.verdict, sentence="A verdict of many words. " * 20))
    assert map_picture.draw(long, picture).shape[0] > map_picture.draw(found, picture).shape[0] + 60
    other = replace(found, classes=("original", "x" * 500, *found.classes[2:]))
    assert map_picture.draw(other, picture).shape[1] < 384 + 500


def test_a_large_picture_is_not_enlarged() -> None:
    assert map_picture.scale_of(512, 384) == 1
    assert map_picture.scale_of(100, 384) == 1
    assert map_picture.scale_of(8, 8) == 48


@pytest.mark.parametrize("target", ["maps", "there", "{name}-votes.png"])
def test_maps_of_several_pictures(data: Path, isca: Callable[..., Done], target: str) -> None:
    Path("there").mkdir()
    done = isca("classify", data / "m.isca", data / "set", "--map", target)
    assert done.code == 1, "one of the pictures is bad"
    end = "votes" if "{" in target else "map"
    folder = Path() if "{" in target else Path(target)
    made = {path.name for path in folder.iterdir() if path.is_file()}
    assert made == {f"{name}-{end}.png" for name in ("a-noise", "b-blur", "d")}


def test_maps_are_not_put_among_the_pictures_of_a_folder(
    data: Path, isca: Callable[..., Done]
) -> None:
    """The next time, they would be classified themselves."""
    Path("pictures").mkdir()
    image.save_png("pictures/saved.png", image.read(data / "saved.jpg"))
    Path("link").symlink_to("pictures")
    for target in ("pictures", "link", "pictures/{name}-votes.png"):
        done = isca("classify", data / "m.isca", "pictures", "--map", target)
        assert (done.code, done.out) == (2, ""), target
        assert "would later be mistaken for one of the pictures" in done.err
    assert os.listdir("pictures") == ["saved.png"]
    assert isca("classify", data / "m.isca", "pictures/saved.png", "--map", "pictures").code == 0


def test_names_of_one_file_are_told_where_case_makes_no_difference(tmp_path: Path) -> None:
    one, other = str(tmp_path / "IMG-map.png"), str(tmp_path / "img-map.png")
    assert targets.file_identity(one, folds_case=True) == targets.file_identity(
        other, folds_case=True
    )
    assert targets.file_identity(one, folds_case=False) != targets.file_identity(
        other, folds_case=False
    )
    composed, apart = (str(tmp_path / name) for name in ("\u00fc.png", "u\u0308.png"))
    assert targets.file_identity(composed, folds_case=True) == targets.file_identity(
        apart, folds_case=True
    )
    Path(one).write_bytes(b"")
    os.link(one, tmp_path / "same.png")
    assert targets.file_identity(one) == targets.file_identity(str(tmp_path / "same.png"))


def test_maps_that_cannot_be(data: Path, isca: Callable[..., Done]) -> None:
    model = data / "m.isca"
    done = isca("classify", model, data / "set", "--map", "one.png")
    assert done.code == 2
    assert "for 4 pictures, 'one.png' must be a folder or contain {name}" in done.err
    Path("other").mkdir()
    for name in ("saved.png", "other/saved.png"):
        image.save_png(name, image.read(data / "saved.jpg"))
    done = isca("classify", model, "saved.png", "other/saved.png", "--map", "{name}-map.png")
    assert (done.code, "would share the file saved-map.png" in done.err) == (2, True)
    before = Path("saved.png").read_bytes()
    done = isca("classify", model, "saved.png", "--map", "{name}.png")
    assert (done.code, "is also an input" in done.err) == (2, True)
    assert Path("saved.png").read_bytes() == before
    done = isca("classify", model, "saved.png", "--map", "none/{name}.png")
    assert (done.code, "there is no folder" in done.err) == (1, True)


@pytest.mark.parametrize("part", ["manifest.csv", "dataset.json"])
def test_nothing_is_written_into_a_dataset(
    data: Path, isca: Callable[..., Done], part: str
) -> None:
    """It would damage the dataset; beside pictures that are no dataset, files may be written."""
    Path("set").mkdir()
    Path("set", part).write_text("precious")
    image.save_png("set/a.png", image.read(data / "saved.jpg"))
    Path("link").symlink_to("set")
    for words in (
        ("classify", data / "m.isca", "set", "--csv", "set/t.csv"),
        ("classify", data / "m.isca", "set", "--csv", "link/manifest.csv"),
        ("classify", data / "m.isca", data / "saved.jpg", "--csv", "set/t.csv"),
        ("classify", data / "m.isca", "set", "--map", "set"),
        ("classify", data / "m.isca", "set", "--map", "link/{name}-map.png"),
        ("reconstruct", data / "m.isca", data / "saved.jpg", "-o", "set/b.png"),
        ("distort", data / "saved.jpg", "--kind", "blur", "--mse", "100", "-o", "set/b.png"),
    ):
        done = isca(*words)
        assert (done.code, done.out) == (2, ""), words
        assert re.search("is inside the dataset folder|is also an input", done.err), words
        assert sorted(os.listdir("set")) == sorted(["a.png", part]), words
    assert Path("set", part).read_text() == "precious"
    os.remove(Path("set", part))
    done = isca("classify", data / "m.isca", "set", "--csv", "set/manifest.csv")
    assert (done.code, "mistaken for part of a dataset" in done.err) == (2, True)
    assert isca("classify", data / "m.isca", "set", "--csv", "set/t.csv").code == 0
    assert isca("classify", data / "m.isca", "set/a.png", "--map", "set").code == 0
    assert sorted(os.listdir("set")) == ["a-map.png", "a.png", "t.csv"]


@pytest.mark.skipif(os.name == "nt", reason="needs pipes")
def test_a_pipe_is_refused_before_the_work(data: Path, isca: Callable[..., Done]) -> None:
    os.mkfifo("t.csv")
    done = isca("classify", data / "m.isca", data / "saved.jpg", "--csv", "t.csv")
    assert (done.code, done.out, "cannot be written" in done.err) == (1, "", True)


def test_files_that_are_read_are_not_written(data: Path, isca: Callable[..., Done]) -> None:
    Path("pictures.csv").mkdir()
    done = isca("classify", data / "m.isca", data / "saved.jpg", "--csv", "pictures.csv")
    assert (done.code, "cannot be written" in done.err) == (1, True)
    done = isca("classify", data / "m.isca", data / "saved.jpg", "--csv", "none/t.csv")
    assert (done.code, "there is no folder" in done.err) == (1, True)


# --- streaming ---------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 3])
def test_no_more_than_a_window_of_pictures_is_read_ahead(
    data: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    read, taken, most = 0, 0, 0
    original = image.read

    def counted(*words: Any, **options: Any) -> Any:
        nonlocal read, most
        read += 1
        most = max(most, read - taken)
        return original(*words, **options)

    monkeypatch.setattr(batch.image, "read", counted)
    names = [str(data / "saved.jpg"), str(data / "reference.png")] * 15
    recogniser = Recogniser(load_model(data / "m.isca"))
    labels = []
    for answer in batch.recognise_files(recogniser, iter(names), threads=threads):
        taken += 1
        assert answer.recognition is not None
        labels.append(answer.recognition.verdict.label)
    assert labels == ["jpeg", "original"] * 15, "the order is kept"
    assert most <= 2 * threads


def test_memory_does_not_grow_with_the_number_of_pictures(data: Path) -> None:
    recogniser = Recogniser(load_model(data / "m.isca"))

    def peak(count: int) -> int:
        tracemalloc.start()
        # With several threads, it is chance how often they are at their peaks together.
        for answer in batch.recognise_files(
            recogniser, [str(data / "saved.jpg")] * count, threads=1
        ):
            assert answer.error is None
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(4)
    assert peak(60) < 1.3 * peak(8) + 2**18


def test_closing_a_stream_ends_its_work() -> None:
    begun: list[int] = []

    def items() -> Iterator[int]:
        yield from range(1000)

    with Workers(2) as workers:
        found = workers.stream(lambda item: begun.append(item) or item, items())
        assert [next(found), next(found)] == [0, 1]
    assert len(begun) <= 6


def test_an_error_of_what_comes_then_is_the_picture_s_own(data: Path) -> None:
    def then(answer: batch.FileResult) -> None:
        if answer.name.endswith("saved.jpg"):
            raise ImageError("the disk is full")

    names = [str(data / "saved.jpg"), str(data / "reference.png")]
    answers = list(batch.recognise_files(Recogniser(load_model(data / "m.isca")), names, then=then))
    assert [answer.error for answer in answers] == ["the disk is full", None]


@POSIX
def test_ctrl_c_leaves_nothing_half_written(data: Path, tmp_path: Path) -> None:
    words = ["classify", data / "m.isca", *[data / "saved.jpg"] * 3000, "--csv", "t.csv"]
    process = subprocess.Popen(
        [sys.executable, "-m", "isca_gui.cli", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=tmp_path,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "isca: stopped; no incomplete files are left behind\n"
    assert os.listdir(tmp_path) == []


def test_a_model_that_does_not_remember_its_training(data: Path, isca: Callable[..., Done]) -> None:
    save_model("old.isca", replace(load_model(data / "m.isca"), known=None))
    done = isca("classify", "old.isca", data / "saved.jpg")
    assert (done.code, done.out) == (1, "")
    assert "Train it again" in done.err
    found = json.loads(isca("info", "old.isca", "--json").out)
    assert (found["classes"], found["can_classify"]) == ({}, False)
    assert "can classify: True" in isca("info", data / "m.isca").out


# --- isca reconstruct, isca bases --------------------------------------------------------------


@pytest.fixture(scope="module")
def model(data: Path) -> Model:
    return load_model(data / "m.isca")


@pytest.mark.parametrize("name", ["out.png", "out.tiff", "out.TIF"])
def test_reconstruct(data: Path, isca: Callable[..., Done], model: Model, name: str) -> None:
    done = isca("reconstruct", data / "m.isca", data / "saved.jpg", "-o", name)
    assert done.code == 0, done.err
    assert re.fullmatch(
        rf"{name}: 4 components, MSE \d+\.\d\d, SSIM 0\.\d{{3}} \(1 = identical\)\n", done.out
    )
    wanted = np.clip(model.reconstruct(image.read(data / "saved.jpg")), 0, 1)
    assert np.abs(image.read(name) - wanted).max() <= (
        0.5 / 255 + 1e-6 if name.endswith("png") else 0
    )


def test_reconstruct_with_fewer_components(data: Path, isca: Callable[..., Done]) -> None:
    words = ("reconstruct", data / "m.isca", "sample:camera", "-o", "r.png", "--crop", "--json")
    documents = [json.loads(isca(*words, "--components", str(count)).out) for count in (1, 2, 4)]
    assert [list(found) for found in documents] == [["file", "components", "mse", "ssim"]] * 3
    assert [found["components"] for found in documents] == [1, 2, 4]
    errors = [found["mse"] for found in documents]
    assert errors == sorted(errors, reverse=True)
    done = isca(*words, "--components", "5")
    assert (done.code, "this model has 4, not 5" in done.err) == (2, True)


def test_what_cannot_be_reconstructed(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("reconstruct", data / "kernel.isca", data / "saved.jpg", "-o", "r.png")
    assert (done.code, "A kernel model cannot reconstruct" in done.err) == (1, True)
    done = isca("reconstruct", data / "m.isca", "sample:camera", "-o", "r.png")
    assert (done.code, "512×512 pixels" in done.err, "128×128" in done.err) == (1, True, True)
    done = isca("reconstruct", data / "m.isca", data / "saved.jpg", "-o", data / "saved.jpg")
    assert (done.code, "must end in .png" in done.err) == (2, True)
    done = isca(
        "reconstruct", data / "m.isca", data / "reference.png", "-o", data / "reference.png"
    )
    assert (done.code, "is also an input" in done.err) == (2, True)
    assert os.listdir() == []


def test_bases(data: Path, isca: Callable[..., Done], model: Model) -> None:
    done = isca("bases", data / "m.isca", "-o", "bases")
    assert done.code == 0, done.err
    assert done.out.startswith("bases: U, V and J of 4 components")
    assert os.listdir() == ["bases"]
    stems = {f"{which}-{number}" for which in "UVJ" for number in range(1, 5)}
    wanted = {f"{stem}.{end}" for stem in stems for end in ("png", "tiff")}
    assert set(os.listdir("bases")) == wanted | {"bases.json"}
    largest = json.loads(Path("bases/bases.json").read_text("utf-8"))["largest"]
    assert largest == max(np.abs(getattr(model.state, name)).max() for name in "uvj")
    for which in "UVJ":
        for component in range(4):
            values = model.basis_picture(which, component)
            raw = np.asarray(Image.open(f"bases/{which}-{component + 1}.tiff"))
            assert raw.dtype == np.float32
            assert np.array_equal(raw, values)
            grey = np.asarray(Image.open(f"bases/{which}-{component + 1}.png")).astype(float)
            assert np.abs((grey - 128) / 127 * largest - values).max() <= largest / 250
            assert (np.sign(grey - 128) * np.sign(values) >= 0).all()


@POSIX
def test_a_disk_that_fills_up_leaves_the_old_bases(data: Path, isca: Callable[..., Done]) -> None:
    words = ("bases", data / "m.isca", "-o", "bases")
    assert isca(*words).code == 0
    before = {path.name: path.read_bytes() for path in Path("bases").iterdir()}
    with full_disk(max(map(len, before.values())) - 1):
        done = isca(*words, "--overwrite")
    assert (done.code, "Cannot write folder 'bases'" in done.err) == (1, True)
    assert {path.name: path.read_bytes() for path in Path("bases").iterdir()} == before
    assert os.listdir() == ["bases"]


def test_bases_keep_what_is_there(data: Path, isca: Callable[..., Done]) -> None:
    words = ("bases", data / "m.isca", "-o", "bases")
    assert isca(*words).code == 0
    done = isca(*words)
    assert (done.code, "--overwrite" in done.err) == (1, True)
    document = json.loads(isca(*words, "--overwrite", "--json").out)
    assert document == {"folder": "bases", "components": 4, "matrices": ["U", "V", "J"]}
    Path("bases", "mine.txt").write_text("precious", encoding="utf-8")
    done = isca(*words, "--overwrite")
    assert (done.code, "holds other files" in done.err) == (1, True)
    assert Path("bases", "mine.txt").exists()


def test_a_kernel_model_has_no_bases(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("bases", data / "kernel.isca", "-o", "bases")
    assert done.code == 1
    assert "one number per training picture" in done.err
    assert os.listdir() == []
    for words in (["classify", "none.isca", "x.png"], ["bases", "none.isca", "-o", "b"]):
        assert isca(*words).code == 1
    assert model_file.SUFFIX == ".isca"
