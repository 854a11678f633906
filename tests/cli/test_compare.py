"""`isca compare` from end to end: answers, files, refusals."""

from __future__ import annotations

import csv
import html
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from isca_gui.core.comparison import batch
from tests import copies
from tests.commands import full_disk

if TYPE_CHECKING:
    from collections.abc import Callable

    from commands import Done

POSIX = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
HEIGHT, WIDTH = 128, 144
KEYS = [
    "file",
    "label",
    "family",
    "parts",
    "order",
    "unlike",
    "probability",
    "probabilities",
    "explained",
    "parameters",
    "severity",
    "damaged_share",
    "shares",
    "mse",
    "psnr",
    "ssim",
    "sentence",
    "width",
    "height",
    "similarity",
    "geometry",
    "regions",
    "colour",
    "file_says",
    "second_opinion",
    "error",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a reference and a folder of copies, some of which are bad."""
    folder = tmp_path_factory.mktemp("data")
    pixels = copies.part("coffee", HEIGHT, WIDTH)
    reference = Image.fromarray(pixels)
    reference.save(folder / "reference.png")
    good = folder / "good"
    good.mkdir()
    reference.save(good / "a-saved.jpg", quality=60)
    Image.fromarray(copies.blurred(pixels, 1.5)).save(good / "b-blurred.png")
    Image.fromarray(copies.shifted(pixels, -20)).save(good / "c-darker.png")
    Image.fromarray(copies.noisy(pixels, 12)).save(good / "d-noisy.png")
    bad = folder / "bad"
    bad.mkdir()
    (bad / "text.png").write_text("no picture", encoding="utf-8")
    (bad / "empty.png").touch()
    whole = (good / "a-saved.jpg").read_bytes()
    (bad / "half.jpg").write_bytes(whole[: len(whole) // 2])
    Image.fromarray(pixels[:20, :20]).save(bad / "tiny.png")
    Image.fromarray(copies.part("astronaut", HEIGHT, WIDTH)).save(folder / "other.png")
    Image.fromarray(pixels[:100]).save(folder / "cropped.png")
    Image.fromarray(copies.warped(pixels)).save(folder / "warped.png")
    return folder


def pictures(done: Done) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(done.out)["pictures"]
    return found


# --- answers ------------------------------------------------------------------------------------


def test_one_copy_one_sentence(data: Path, isca: Callable[..., Done]) -> None:
    copy = data / "good" / "a-saved.jpg"
    done = isca("compare", data / "reference.png", copy)
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(
        rf"{re.escape(str(copy))}: JPEG, quality about (59|60|61)\. The copy lies on its "
        r"quantisation grid.*\. Probability 0\.9\d.*\.\n",
        done.out,
    )


def test_json_has_exactly_the_documented_keys(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("compare", data / "reference.png", data / "good", data / "reference.png", "--json")
    assert (done.code, done.err) == (0, "")
    document = json.loads(done.out)
    assert list(document) == ["reference", "pictures"]
    assert document["reference"] == str(data / "reference.png")
    assert list(batch.KEYS) == KEYS
    for entry in document["pictures"]:
        assert list(entry) == KEYS
        assert (entry["width"], entry["height"], entry["error"]) == (WIDTH, HEIGHT, None)
    assert [entry["label"] for entry in document["pictures"]] == [
        "jpeg",
        "blur",
        "luminance",
        "gaussian-noise",
        "original",
    ]
    saved = document["pictures"][0]
    assert saved["family"] == "compression"
    assert saved["file_says"]["quality"] == 60
    assert abs(saved["parameters"]["jpeg"]["quality"] - 60) <= 3
    same = document["pictures"][-1]
    assert (same["mse"], same["psnr"], same["parts"], same["family"]) == (0, None, [], None)


def test_the_reference_may_be_a_sample(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("compare", "sample:camera", "sample:camera", "--json")
    (found,) = pictures(done)
    assert (found["file"], found["label"]) == ("sample:camera", "original")


def test_another_photograph_is_said_to_be_that(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("compare", data / "reference.png", data / "other.png")
    assert done.code == 0
    assert "This does not show the reference (best match 0." in done.out


def test_a_copy_that_was_cropped(data: Path, isca: Callable[..., Done]) -> None:
    words = ("compare", data / "reference.png", data / "cropped.png")
    done = isca(*words)
    said = f"The same picture, cropped by {HEIGHT - 100} px at the bottom."
    assert done.out == f"{data / 'cropped.png'}: {said}\n"
    (found,) = pictures(isca(*words, "--json", "--csv", "t.csv", "-o", "r.html", "--map", "m.png"))
    assert (found["label"], found["width"], found["height"]) == ("original", WIDTH, 100)
    assert found["geometry"] == {
        "relation": "cropped",
        "scale": [1, 1],
        "shift": [0, 0],
        "crop": {"left": 0, "top": 0, "right": 0, "bottom": HEIGHT - 100},
        "turn": 0,
        "mirrored": False,
        "angle": 0,
        "filter": None,
        "match": found["geometry"]["match"],
    }
    with open("t.csv", encoding="utf-8", newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert row["geometry"].startswith("relation=cropped;scale=1,1;shift=0,0;crop=0,0,0,28;turn=0")
    assert said in html.unescape(Path("r.html").read_text("utf-8"))
    shifted = pictures(isca(*words, "--json", "--align", "shift"))
    assert shifted[0]["geometry"]["relation"] == "cropped"
    done = isca(*words, "--align", "none")
    assert (done.code, done.out) == (1, "")
    assert "144×100 pixels, the reference 144×128" in done.err


def test_another_file_with_the_same_pixels(data: Path, isca: Callable[..., Done]) -> None:
    with Image.open(data / "reference.png") as picture:
        words = PngImagePlugin.PngInfo()
        words.add_text("Comment", "another one")
        picture.save("told.png", pnginfo=words, compress_level=1)
        picture.save("lossless.webp", lossless=True)
        picture.save("plain.tiff")
    done = isca("compare", data / "reference.png", "told.png", "lossless.webp", "plain.tiff")
    assert done.code == 0
    assert done.out.count(": The same picture, pixel for pixel.\n") == 3


def test_csv(data: Path, isca: Callable[..., Done]) -> None:
    words = ("compare", data / "reference.png", data / "good", data / "bad", "--json")
    done = isca(*words, "--csv", "t.csv")
    assert done.code == 1
    with open("t.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    structured = {"regions", "colour", "file_says", "second_opinion"}
    assert list(rows[0]) == [key for key in KEYS if key not in structured]
    assert os.listdir() == ["t.csv"]
    for row, entry in zip(rows, pictures(done), strict=True):
        assert row["file"] == entry["file"]
        if entry["error"] is not None:
            assert row["error"] == entry["error"]
            assert {key for key, cell in row.items() if cell} == {"file", "error"}
            continue
        for key in ("probability", "severity", "mse", "psnr", "ssim", "width"):
            assert float(row[key]) == pytest.approx(entry[key])
        assert (row["label"], row["sentence"]) == (entry["label"], entry["sentence"])


# --- bad files ----------------------------------------------------------------------------------


def test_bad_files_have_one_sentence_each_and_the_rest_is_answered(
    data: Path, isca: Callable[..., Done]
) -> None:
    bad = [data / "bad" / name for name in ("text.png", "empty.png", "half.jpg", "tiny.png")]
    good = data / "good" / "c-darker.png"
    words = ("compare", data / "reference.png", bad[0], bad[1], good, bad[2], bad[3], "none.png")
    done = isca(*words)
    assert done.code == 1
    assert done.out.count("\n") == 1
    assert "Darker by about 20 grey levels" in done.out
    lines = done.err.splitlines()
    assert len(lines) == 5
    for line, name in zip(lines, [*map(str, bad), "none.png"], strict=True):
        assert line.startswith("isca: ")
        assert line.count(name) == 1
    assert "at least 32×32 pixels; the copy has 20×20" in lines[3]
    entries = pictures(isca(*words, "--json", "--threads", "1"))
    assert [list(entry) == ["file", "error"] for entry in entries] == [
        True,
        True,
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize("name", ["bad/text.png", "bad/empty.png", "none.png", "sample:none"])
def test_a_bad_reference_ends_at_once(data: Path, isca: Callable[..., Done], name: str) -> None:
    reference = name if name.startswith("sample:") else data / name
    for words in ((), ("--json",), ("--csv", "t.csv"), ("-o", "r.html"), ("--map", "m.png")):
        done = isca("compare", reference, data / "good" / "a-saved.jpg", *words)
        assert (done.code, done.out) == (1, "")
        assert done.err.count("\n") == 1
        assert name in done.err
        assert os.listdir() == []


def test_a_reference_that_is_too_small(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("compare", data / "bad" / "tiny.png", data / "bad" / "tiny.png")
    assert (done.code, done.out) == (1, "")
    assert "at least 32×32 pixels; the reference has 20×20" in done.err


def test_a_folder_without_pictures(data: Path, isca: Callable[..., Done]) -> None:
    Path("nothing").mkdir()
    done = isca("compare", data / "reference.png", "nothing", data / "reference.png")
    assert done.code == 1
    assert "holds no pictures" in done.err
    assert "The same picture" in done.out


# --- pictures and reports -----------------------------------------------------------------------


def test_the_map_of_one_copy(data: Path, isca: Callable[..., Done]) -> None:
    copy = data / "good" / "b-blurred.png"
    assert isca("compare", data / "reference.png", copy, "--map", "map.png").code == 0
    assert os.listdir() == ["map.png"]
    with Image.open("map.png") as picture:
        assert picture.width == WIDTH
        assert picture.height > HEIGHT


@pytest.mark.parametrize("target", ["maps", "there", "{name}-found.png"])
def test_maps_of_several_copies(data: Path, isca: Callable[..., Done], target: str) -> None:
    Path("there").mkdir()
    done = isca("compare", data / "reference.png", data / "good", "--map", target)
    assert done.code == 0
    ending = "found" if "{" in target else "map"
    folder = Path() if "{" in target else Path(target)
    made = {path.name for path in folder.iterdir() if path.is_file()}
    names = ("a-saved", "b-blurred", "c-darker", "d-noisy")
    assert made == {f"{name}-{ending}.png" for name in names}


def test_one_file_for_several_maps_is_refused(data: Path, isca: Callable[..., Done]) -> None:
    for option in ("--map", "--made-again"):
        done = isca("compare", data / "reference.png", data / "good", option, "one.png")
        assert (done.code, done.out) == (2, "")
        assert f"{option}: for 4 pictures, 'one.png' must be a folder or contain" in done.err
    assert os.listdir() == []


def test_made_again(data: Path, isca: Callable[..., Done]) -> None:
    copy = data / "good" / "c-darker.png"
    assert isca("compare", data / "reference.png", copy, "--made-again", "again.png").code == 0
    with Image.open("again.png") as made, Image.open(copy) as wanted:
        difference = np.asarray(made).astype(int) - np.asarray(wanted)
    assert np.abs(difference).max() <= 1


def test_what_cannot_be_made_again(data: Path, isca: Callable[..., Done]) -> None:
    words = ("compare", data / "reference.png", data / "good", "--made-again", "again")
    done = isca(*words)
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "d-noisy.png' cannot be made again" in done.err
    # The answer itself is not lost.
    assert done.out.count("\n") == 4
    made = sorted(path.name for path in Path("again").iterdir())
    assert made == [f"{name}-made-again.png" for name in ("a-saved", "b-blurred", "c-darker")]


def test_the_report(data: Path, isca: Callable[..., Done]) -> None:
    words = ("compare", data / "reference.png", data / "good", data / "bad" / "text.png", "--json")
    done = isca(*words, "-o", "r.html")
    assert done.code == 1
    assert "isca: report written to r.html\n" in done.err
    page = Path("r.html").read_text("utf-8")
    assert "<script" not in page.lower()
    assert not re.search(r"https?:|src=\"(?!data:)|href=", page)
    text = html.unescape(page)
    for entry in pictures(done):
        assert (entry["error"] or entry["sentence"]) in text
    assert os.listdir() == ["r.html"]


# --- --fail-on ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "name", "code", "found"),
    [
        ("jpeg", "good/a-saved.jpg", 3, "jpeg"),
        ("compression", "good/a-saved.jpg", 3, "compression"),
        ("blur,compression", "good/a-saved.jpg", 3, "compression"),
        ("blur,noise", "good/a-saved.jpg", 0, ""),
        ("tone", "good/c-darker.png", 3, "tone"),
        ("filter", "good/b-blurred.png", 3, "filter"),
        ("unlike", "other.png", 3, "unlike"),
        ("unlike", "warped.png", 3, "unlike"),
        ("unlike", "good/b-blurred.png", 0, ""),
        ("blur,jpeg,tone", "reference.png", 0, ""),
    ],
)
def test_fail_on(
    data: Path, isca: Callable[..., Done], wanted: str, name: str, code: int, found: str
) -> None:
    done = isca("compare", data / "reference.png", data / name, "--fail-on", wanted)
    assert done.code == code, done.out
    message = f"isca: {data / name}: found {found}\n" if found else ""
    assert done.err == message


def test_the_least_probability_that_counts(data: Path, isca: Callable[..., Done]) -> None:
    words = ("compare", data / "reference.png", data / "good" / "a-saved.jpg", "--json")
    (found,) = pictures(isca(*words))
    below = f"{found['probability'] - 1e-6:.9f}"
    assert found["probability"] < 1
    above = f"{found['probability'] / 2 + 0.5:.12f}"
    for least, code in (("0", 3), (below, 3), (above, 0), ("1", 0)):
        done = isca(*words, "--fail-on", "jpeg", "--min-probability", least)
        assert done.code == code


def test_a_bad_file_comes_before_what_was_found(data: Path, isca: Callable[..., Done]) -> None:
    words = ("compare", data / "reference.png", data / "good" / "a-saved.jpg", "none.png")
    assert isca(*words, "--fail-on", "jpeg").code == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fail-on", "fog"], "--fail-on: unknown 'fog'; choose from luminance"),
        (["--fail-on", ""], "--fail-on: unknown ''"),
        (["--fail-on", "original"], "unknown 'original'"),
        (["--min-probability", "1.5"], "--min-probability must be between 0 and 1, not 1.5"),
        (["--min-probability", "nan"], "--min-probability must be between 0 and 1"),
        (["--min-probability", "high"], "--min-probability"),
        (["--csv", "t.txt"], "must end in .csv"),
        (["-o", "t.pdf"], "must end in .html"),
        (["--map", "t.jpg"], "must end in .png"),
        (["--made-again", "t.jpg"], "must end in .png"),
        (["--threads", "0"], "less than 1"),
        (["--align", "turn"], "--align"),
        (["--nonsense"], "unrecognized arguments"),
    ],
)
def test_wrong_use(data: Path, isca: Callable[..., Done], words: list[str], message: str) -> None:
    done = isca("compare", data / "reference.png", data / "good" / "a-saved.jpg", *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err
    assert os.listdir() == []


def test_a_reference_without_copies(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("compare", data / "reference.png")
    assert done.code == 2
    assert "COPY" in done.err


def test_inputs_are_not_overwritten(data: Path, isca: Callable[..., Done]) -> None:
    with Image.open(data / "reference.png") as picture:
        picture.save("copy.png")
        picture.save("reference.png")
    before = Path("copy.png").read_bytes()
    for words in (
        ("--map", "{name}.png"),
        ("--map", "reference.png"),
        ("--made-again", "copy.png"),
    ):
        done = isca("compare", "reference.png", "copy.png", *words)
        assert (done.code, "is also an input" in done.err) == (2, True)
    assert Path("copy.png").read_bytes() == before == Path("reference.png").read_bytes()


def test_places_that_cannot_be_written(data: Path, isca: Callable[..., Done]) -> None:
    copy = data / "good" / "a-saved.jpg"
    for words in (("--csv", "none/t.csv"), ("-o", "none/r.html"), ("--map", "none/m.png")):
        done = isca("compare", data / "reference.png", copy, *words)
        assert (done.code, done.out, "there is no folder" in done.err) == (1, "", True)


# --- the second opinion -------------------------------------------------------------------------


def test_train_asks_isca_as_well(data: Path, isca: Callable[..., Done]) -> None:
    Image.fromarray(copies.part("camera", 64, 64)).save("reference.png")
    Image.fromarray(copies.blurred(copies.part("camera", 64, 64), 2)).save("copy.png")
    (found,) = pictures(isca("compare", "reference.png", "copy.png", "--json", "--train"))
    opinion = found["second_opinion"]
    assert list(opinion) == ["label", "share", "unlike", "agrees", "sentence"]
    assert opinion["agrees"] == (opinion["label"] == found["label"] and not opinion["unlike"])
    assert 0 <= opinion["share"] <= 1
    done = isca("compare", "reference.png", "copy.png", "--train")
    way = "agrees" if opinion["agrees"] else "disagrees"
    assert done.out == (
        f"copy.png: {found['sentence']} ISCA, trained on the reference, {way}: "
        f"{opinion['sentence']}\n"
    )


# --- interruptions ------------------------------------------------------------------------------


@POSIX
def test_ctrl_c_leaves_nothing_half_written(data: Path, tmp_path: Path) -> None:
    words = ["compare", data / "reference.png", *[data / "good" / "a-saved.jpg"] * 2000]
    process = subprocess.Popen(
        [sys.executable, "-m", "isca_gui.cli", *map(str, words), "--csv", "t.csv", "-o", "r.html"],
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


@pytest.mark.skipif(os.name == "nt", reason="needs a limit on the size of files")
def test_a_full_disk_leaves_nothing_half_written(data: Path, isca: Callable[..., Done]) -> None:
    copy = data / "good" / "c-darker.png"
    for words, message in (
        (("--map", "map.png"), "map.png"),
        (("--made-again", "again.png"), "again.png"),
        (("-o", "r.html"), "r.html"),
        (("--csv", "t.csv"), "t.csv"),
    ):
        with full_disk(after=100):
            done = isca("compare", data / "reference.png", copy, *words)
        assert (done.code, message in done.err) == (1, True), done.err
        assert "Traceback" not in done.err
        assert os.listdir() == []


# --- --profile ----------------------------------------------------------------------------------


def test_a_copy_that_breaks_a_limit_sets_the_exit_code(
    isca: Callable[..., Done], data: Path, tmp_path: Path
) -> None:
    limits = tmp_path / "limits.toml"
    words = (
        "compare",
        data / "reference.png",
        data / "good" / "b-blurred.png",
        "--profile",
        limits,
    )
    for most, code in ((0.5, 3), (9, 0)):
        limits.write_text(f"schema = 1\nlimits.blur.sigma = {{ most = {most} }}\n", "utf-8")
        done = isca(*words, "--json")
        assert done.code == code
        assert ("outside the limits: Blur: σ" in done.err) == bool(code)
        (entry,) = json.loads(done.out)["pictures"]
        assert entry["limits"]["passed"] == (code == 0)
        assert len(entry["limits"]["broken"]) == bool(code)
    limits.write_text("schema = 1\nforbid = ['nonsense']\n", "utf-8")
    done = isca(*words)
    assert done.code == 2
    assert "limits.toml" in done.err
    assert "nonsense" in done.err
