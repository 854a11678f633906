"""The `isca` command from end to end: its output, its exit codes, and its files."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

import isca_gui
from isca_gui import bench, cli
from isca_gui.bench.figure import Figure
from isca_gui.cli import demo
from isca_gui.core.distortion import dataset_folder, distortions
from isca_gui.core.distortion.distortions import mse
from isca_gui.core.pictures import image, samples, ssim
from isca_gui.core.progress import run
from tests import pictures
from tests.commands import Done

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

ISCA = [sys.executable, "-m", "isca_gui.cli"]
POSIX = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals, links or terminals")
ENTRY_KEYS = ["label", "target_mse", "achieved_mse", "strength", "seed"]
UNREACHABLE_KEYS = ["kind", "target_mse", "maximum_mse"]
SUMMARY_KEYS = ["pictures", "width", "height", "classes", "entries", "unreachable"]
LEVELS = ("--kinds", "blur", "--levels", "50")


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of a user's shell: buffered output, a terminal 80 columns wide."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return kept | {"COLUMNS": "80"} | changes


def start(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment()} | options
    return subprocess.Popen([*ISCA, *map(str, words)], text=True, encoding="utf-8", **given)


def outside(*words: str | Path, **options: Any) -> Done:
    """Run the command in a process of its own."""
    with start(*words, **options) as process:
        out, err = process.communicate(timeout=120)
    return Done(process.returncode, out or "", err or "")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in that holds picture.png, 64×48."""
    monkeypatch.chdir(tmp_path)
    draw(tmp_path / "picture.png")
    return tmp_path


def draw(path: Path, **options: Any) -> None:
    """Save a textured picture, 64 wide and 48 high."""
    rows, columns = np.mgrid[:48, :64]
    noise = np.random.default_rng(5).random((48, 64))
    grey = 128 + 60 * np.sin(rows / 5) * np.cos(columns / 7) + 50 * (noise - 0.5)
    Image.fromarray(np.rint(grey).astype(np.uint8)).save(path, **options)


def document(done: Done) -> dict[str, Any]:
    """Return the JSON document on standard output, which must hold nothing else."""
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    assert done.out == json.dumps(found, indent=2) + "\n"
    return found


def everything(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files below a folder, including hidden ones."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


# --- help, version, wrong use ------------------------------------------------------------------


def test_help_names_every_command(isca: Callable[..., Done]) -> None:
    done = isca("--help")
    assert done.code == 0
    assert done.err == ""
    for name in ("dataset", "distort", "info", "samples", "bench", "demo"):
        assert f"\n    {name} " in done.out
        assert name in cli.COMMANDS


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(isca: Callable[..., Done], name: str) -> None:
    done = isca(name, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: isca {name} ")


def test_version(isca: Callable[..., Done]) -> None:
    assert isca("--version") == Done(0, f"ISCA Studio {isca_gui.__version__}\n", "")


def test_the_installed_command_is_this_one() -> None:
    script = Path(sysconfig.get_path("scripts"), "isca.exe" if os.name == "nt" else "isca")
    if not script.exists():
        pytest.skip("the package is not installed")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"ISCA Studio {isca_gui.__version__}\n"


def test_warnings_of_libraries_are_not_shown_unless_asked_for(here: Path) -> None:
    """Pillow warns of every picture above 89 megapixels, before our own message."""
    Path("phone.png").write_bytes(
        pictures.png_header(12_000, 9000) + pictures.png_chunk(b"IDAT", b"")
    )
    done = outside("info", "phone.png")
    assert done.code == 1
    assert done.err.startswith("isca: Cannot read picture 'phone.png'")
    assert "Warning" not in done.err
    asked = outside("info", "phone.png", env=environment(PYTHONWARNINGS="default"))
    assert "DecompressionBombWarning" in asked.err


WRONG = [
    # words, exit code, part of the message
    ([], 2, "COMMAND"),
    (["frobnicate"], 2, "invalid choice"),
    (["--frobnicate"], 2, ""),
    (["dataset"], 2, "IMAGE"),
    (["dataset", "picture.png"], 2, "--output"),
    (
        ["dataset", "picture.png", "-o", "d", "--kinds", "fog"],
        2,
        "unknown distortion 'fog'; choose from contrast",
    ),
    (["dataset", "picture.png", "-o", "d", "--kinds", "blur+blur"], 2, "two different parts"),
    (
        ["dataset", "picture.png", "-o", "d", "--kinds", "blur+jpeg+impulse"],
        2,
        "two different parts",
    ),
    (["dataset", "picture.png", "-o", "d", "--kinds", "blur,"], 2, "unknown distortion ''"),
    (
        ["dataset", "picture.png", "-o", "d", "--kinds", "", "--levels", "50"],
        2,
        "unknown distortion ''",
    ),
    (["dataset", "picture.png", "-o", ""], 2, "name is empty"),
    (["dataset", "", "-o", "d"], 2, "name is empty"),
    (["dataset", "picture.png", "-o", "d", "--kinds", "blur,blur"], 2, "named twice"),
    (["dataset", "picture.png", "-o", "d", "--levels", "abc"], 2, "FROM:TO:STEP"),
    (["dataset", "picture.png", "-o", "d", "--levels", ""], 2, "FROM:TO:STEP"),
    (["dataset", "picture.png", "-o", "d", "--levels", "1:2"], 2, "FROM:TO:STEP"),
    (["dataset", "picture.png", "-o", "d", "--levels", "9:1:1"], 2, "a TO not below FROM"),
    (["dataset", "picture.png", "-o", "d", "--levels", "1:9:0"], 2, "step above 0"),
    (["dataset", "picture.png", "-o", "d", "--levels", "1:inf:1"], 2, "FROM:TO:STEP"),
    (["dataset", "picture.png", "-o", "d", "--levels", "1:65000:0.1"], 2, "more than 10000 levels"),
    (["dataset", "picture.png", "-o", "d", "--levels", "0"], 2, "above 0"),
    (["dataset", "picture.png", "-o", "d", "--levels", "nan"], 2, "above 0"),
    (["dataset", "picture.png", "-o", "d", "--levels", "65026"], 2, "at most 65025"),
    (["dataset", "picture.png", "-o", "d", "--levels", "50,50"], 2, "named twice"),
    (["dataset", "picture.png", "-o", "d", "--seed", "-1"], 2, "seed"),
    (["dataset", "picture.png", "-o", "d", "--seed", str(2**63)], 2, "seed"),
    (
        ["dataset", "picture.png", "-o", "d", "--seed", "1.5"],
        2,
        "--seed: '1.5' is not a whole number",
    ),
    (["dataset", "picture.png", "-o", "d", "--format", "jpeg"], 2, "--format"),
    (["dataset", "picture.png", "-o", "d", "--threads", "0"], 2, "--threads"),
    (
        ["dataset", "picture.png", "-o", "d", "--threads", "many"],
        2,
        "--threads: 'many' is not a whole number",
    ),
    (["dataset", "absent.png", "-o", "d"], 1, "Cannot read picture 'absent.png'"),
    (
        ["dataset", "sample:nobody", "-o", "d"],
        1,
        "no sample picture 'sample:nobody'. Choose one of camera",
    ),
    (["dataset", ".", "-o", "d"], 1, "it is a folder"),
    (["dataset", "notes.txt", "-o", "d"], 1, "not a picture that can be read"),
    (["dataset", "empty.png", "-o", "d"], 1, "empty"),
    (["dataset", "picture.png", "-o", "picture.png"], 1, "'picture.png' is a file"),
    (["dataset", "picture.png", "-o", "full"], 1, "holds other files"),
    (["dataset", "picture.png", "-o", "full", "--overwrite"], 1, "holds other files"),
    (["distort", "picture.png", "--kind", "blur", "--mse", "50"], 2, "--output"),
    (["distort", "picture.png", "--kind", "blur", "-o", "x.png"], 2, "--mse"),
    (["distort", "picture.png", "--mse", "50", "-o", "x.png"], 2, "--kind"),
    (
        ["distort", "picture.png", "--kind", "fog", "--mse", "50", "-o", "x.png"],
        2,
        "unknown distortion",
    ),
    (["distort", "picture.png", "--kind", "blur", "--mse", "-5", "-o", "x.png"], 2, "above 0"),
    (["distort", "picture.png", "--kind", "blur", "--mse", "inf", "-o", "x.png"], 2, "above 0"),
    (
        ["distort", "picture.png", "--kind", "blur", "--mse", "much", "-o", "x.png"],
        2,
        "--mse: 'much' is not a number",
    ),
    (
        ["distort", "picture.png", "--kind", "blur", "--mse", "50", "-o", "x.jpg"],
        2,
        ".png or .tiff",
    ),
    (
        ["distort", "picture.png", "--kind", "blur", "--mse", "5", "-o", "x.png", "--bits", "9"],
        2,
        "--bits",
    ),
    (
        ["distort", "picture.png", "--kind", "blur", "--mse", "5", "-o", "x.png", "--seed", "-1"],
        2,
        "seed",
    ),
    (
        ["distort", "picture.png", "--kind", "blur", "--mse", "60000", "-o", "x.png"],
        1,
        "reaches at most MSE",
    ),
    (
        ["distort", "picture.png", "--kind", "blur", "--mse", "50", "-o", "no/x.png"],
        1,
        "Cannot save picture",
    ),
    (
        ["distort", "picture.png", "--kind", "blur", "--mse", "50", "-o", "picture.png"],
        2,
        "picture itself",
    ),
    (
        ["distort", "picture.png", "--kind", "blur", "--mse", "50", "-o", "./full/../picture.png"],
        2,
        "itself",
    ),
    (
        ["distort", "absent.png", "--kind", "blur", "--mse", "50", "-o", "x.png"],
        1,
        "Cannot read picture",
    ),
    (
        ["distort", "sample:nobody", "--kind", "blur", "--mse", "50", "-o", "x.png"],
        1,
        "no sample picture",
    ),
    (["info"], 2, "IMAGE"),
    (["info", "absent.png"], 1, "Cannot read picture 'absent.png'"),
    (["info", "sample:nobody"], 1, "no sample picture"),
    (["info", "full"], 1, "cannot be used as a dataset"),
    (["info", ""], 2, "name is empty"),
    (["info", "full", "--range", "0:1"], 2, "'full' is a folder"),
    (["info", "m.isca", "--range", "0:1"], 2, "'m.isca' is a model"),
    (["train", "full", "-o", "m.isca", "--range", "0:1"], 2, "'full' is a folder"),
    (["info", "picture.png", "--range", "9"], 2, "--range: '9' is not LOW:HIGH"),
    (["info", "picture.png", "--range", "a:b"], 2, "--range: 'a:b' is not LOW:HIGH"),
    (["info", "picture.png", "--range", "1:0"], 2, "lower value first"),
    (["info", "picture.png", "--range", "nan:1"], 2, "--range"),
    (["info", "picture.png", "--range", "0:inf"], 2, "two finite numbers"),
    (["info", "picture.png", "--range=-inf:1"], 2, "two finite numbers"),
    (["info", "picture.png", "--range", "-inf:1"], 2, "two finite numbers"),
    (["info", "picture.png", "--range", "-1e308:1e308"], 2, "two finite numbers"),
    (["info", "picture.png", "--range", "0:9"], 1, "outside the given range 0:9"),
    (["info", "picture.png", "picture.png"], 2, "unrecognized"),
    (["samples", "camera"], 2, "unrecognized"),
    (["bench", "weather"], 2, "no benchmark 'weather'"),
    (["demo", "-o", "picture.png"], 1, "'picture.png' is a file"),
    (["demo", "-o", "full"], 1, "'full' holds other files"),
    (["demo", "-o", ""], 2, "name is empty"),
]


@pytest.mark.parametrize(("words", "code", "message"), WRONG, ids=lambda value: str(value)[:60])
def test_wrong_use(
    here: Path, isca: Callable[..., Done], words: list[str], code: int, message: str
) -> None:
    (here / "notes.txt").write_text("no picture\n")
    (here / "empty.png").write_bytes(b"")
    (here / "full").mkdir()
    (here / "full" / "thesis.txt").write_text("mine")
    before = everything(here)
    done = isca(*words)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err
    assert not re.search(r"invalid \w+ value", done.err), "no names of our functions"
    assert everything(here) == before, "a refused command changes nothing"


# --- samples -----------------------------------------------------------------------------------


def test_samples(isca: Callable[..., Done]) -> None:
    done = isca("samples")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines] == [f"sample:{row.name}" for row in samples.TABLE]
    assert "sample:camera       Photographer with a camera, 512×512" in lines


def test_samples_as_json(isca: Callable[..., Done]) -> None:
    found = document(isca("samples", "--json"))
    assert list(found) == ["samples"]
    assert all(list(row) == ["name", "file", "title"] for row in found["samples"])


@pytest.mark.parametrize("row", samples.TABLE, ids=lambda row: row.name)
def test_every_sample_is_there_and_as_large_as_its_title_says(
    isca: Callable[..., Done], row: Any
) -> None:
    found = document(isca("info", f"sample:{row.name}", "--json"))
    assert row.title.endswith(f", {found['width']}×{found['height']}")


@pytest.mark.parametrize(
    "variables", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_output_is_utf8_whatever_the_locale(variables: dict[str, str]) -> None:
    done = outside("samples", env=environment(**variables))
    assert done.code == 0
    assert "512×512" in done.out


@POSIX
def test_a_reader_that_closes_the_pipe_gets_no_message() -> None:
    command = f"'{sys.executable}' -m isca_gui.cli samples | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=environment())
    assert done.stderr == ""
    assert done.stdout.startswith("sample:camera")
    assert done.stdout.count("\n") == 1


@POSIX
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["samples"], ["samples", "--json"], ["info", "sample:camera"]])
def test_a_closed_pipe_is_quiet(words: list[str], unbuffered: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = outside(*words, stdout=writing, env=environment(PYTHONUNBUFFERED=unbuffered))
    os.close(writing)
    assert (done.code, done.err) == (1, "")


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@FULL
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "words", [["samples"], ["--help"], ["train", "--help"], ["--version"], ["samples", "--json"]]
)
def test_a_full_disk_under_standard_output_is_a_failure(words: list[str], unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        done = outside(*words, stdout=full, env=environment(PYTHONUNBUFFERED=unbuffered))
    assert done.code == 1
    assert done.err == f"isca: cannot write to standard output: {os.strerror(errno.ENOSPC)}\n"


@FULL
def test_a_full_disk_under_standard_error_stops_nothing(here: Path) -> None:
    with open("/dev/full", "w") as full:
        done = outside("dataset", "picture.png", "-o", "set", *LEVELS, stderr=full)
        assert done[:2] == (0, "2 pictures in set\n")
        assert outside("info", "absent.png", stderr=full).code == 1


# --- info --------------------------------------------------------------------------------------


def test_info_of_a_picture(here: Path, isca: Callable[..., Done]) -> None:
    found = document(isca("info", "picture.png", "--json"))
    assert list(found) == [
        "kind",
        "file",
        "format",
        "width",
        "height",
        "pixel_type",
        "frames",
        "mean",
        "variance_0_255",
    ]
    assert (found["kind"], found["file"], found["format"]) == ("picture", "picture.png", "PNG")
    assert (found["width"], found["height"], found["frames"]) == (64, 48, 1)
    pixels = np.asarray(Image.open("picture.png")).astype(float)
    assert found["mean"] == pytest.approx(pixels.mean() / 255, abs=1e-4)
    assert found["variance_0_255"] == pytest.approx(pixels.var(), abs=0.1)
    plain = isca("info", "picture.png")
    assert (plain.code, plain.err) == (0, "")
    assert "pixel type: 8-bit grey\n" in plain.out


def test_range_says_what_black_and_white_are(here: Path, isca: Callable[..., Done]) -> None:
    Image.fromarray(np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16)).save("signed.tiff")
    refused = isca("info", "signed.tiff")
    assert refused.code == 1
    assert "--range LOW:HIGH" in refused.err
    assert document(isca("info", "signed.tiff", "--range=-1:1", "--json"))["mean"] == pytest.approx(
        0.5, abs=1e-3
    )
    for words in (
        ("dataset", "-o", "d", *LEVELS),
        ("distort", "-o", "x.png", "--kind", "blur", "--mse", "9"),
        ("train", "-o", "m.isca", "--method", "pca"),
    ):
        assert isca(words[0], "signed.tiff", "--range=-1:1", *words[1:]).code == 0


@pytest.mark.parametrize("apart", ["-1:1", "-1.0:1", "-1e0:1.5", "-1:+1"])
def test_a_range_that_begins_with_minus_may_stand_apart(
    here: Path, isca: Callable[..., Done], apart: str
) -> None:
    Image.fromarray(np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16)).save("signed.tiff")
    for words in (["signed.tiff", "--range", apart], ["--range", apart, "--", "signed.tiff"]):
        assert isca("info", *words).code == 0


@POSIX
def test_what_stands_after_two_dashes_is_a_name(here: Path, isca: Callable[..., Done]) -> None:
    draw(here / "-1:1.png")
    assert document(isca("info", "--json", "--", "-1:1.png"))["file"] == "-1:1.png"


@pytest.mark.parametrize(
    ("orientation", "size"), [(1, (64, 48)), (3, (64, 48)), (6, (48, 64)), (8, (48, 64))]
)
@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.webp", "a.tiff"])
def test_info_tells_the_size_of_the_turned_picture(
    here: Path, isca: Callable[..., Done], name: str, orientation: int, size: tuple[int, int]
) -> None:
    exif = Image.Exif()
    exif[274] = orientation
    draw(here / name, exif=exif)
    found = document(isca("info", name, "--json"))
    assert (found["width"], found["height"]) == size
    told = image.describe(name)
    assert (told.width, told.height) == size


def test_info_sees_exif_data_behind_the_pixels(here: Path, isca: Callable[..., Done]) -> None:
    exif = Image.Exif()
    exif[274] = 6
    data, end = (here / "picture.png").read_bytes(), pictures.png_chunk(b"IEND", b"")
    late = pictures.png_chunk(b"eXIf", exif.tobytes().removeprefix(b"Exif\0\0"))
    (here / "late.png").write_bytes(data.removesuffix(end) + late + end)
    found = document(isca("info", "late.png", "--json"))
    assert (found["width"], found["height"]) == (48, 64)


def test_info_of_a_folder_with_a_subfolder_per_label(here: Path, isca: Callable[..., Done]) -> None:
    for label in ("original", "fog"):
        (here / "set" / label).mkdir(parents=True)
        draw(here / "set" / label / "a.png")
    found = document(isca("info", "set", "--json"))
    assert found["classes"] == {"original": 1, "fog": 1}


# --- distort -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*distortions.DISTORTIONS, "blur+jpeg", "impulse+luminance"])
def test_distort(here: Path, isca: Callable[..., Done], kind: str) -> None:
    words = (
        "distort",
        "picture.png",
        "--kind",
        kind,
        "--mse",
        "120",
        "--seed",
        "3",
        "-o",
        "out.tiff",
    )
    found = document(isca(*words, "--json"))
    assert list(found) == ["file", "kind", "target_mse", "achieved_mse", "strength", "seed", "ssim"]
    assert (found["file"], found["kind"], found["target_mse"], found["seed"]) == (
        "out.tiff",
        kind,
        120,
        3,
    )
    reached = mse(image.read("out.tiff"), image.read("picture.png"))
    assert found["achieved_mse"] == pytest.approx(reached, rel=1e-6)
    assert reached == pytest.approx(120, rel=0.005)
    assert 0 < found["ssim"] < 1
    plain = isca(*words)
    assert plain.out.startswith(f"out.tiff: {kind}, MSE {reached:.2f} (target 120), strength ")
    assert (plain.code, plain.err, plain.out.count("\n")) == (0, "", 1)


@pytest.mark.parametrize(
    ("name", "bits", "mode"), [("a.png", 8, "L"), ("a.PNG", 16, "I;16"), ("a.tif", 8, "F")]
)
def test_distort_writes_the_file_that_is_asked_for(
    here: Path, isca: Callable[..., Done], name: str, bits: int, mode: str
) -> None:
    words = ("--kind", "gaussian-noise", "--mse", "100", "-o", name, "--bits", str(bits))
    assert isca("distort", "picture.png", *words).code == 0
    with Image.open(name) as written:
        assert written.mode == mode
        assert written.size == (64, 48)


def test_distort_with_another_seed_gives_other_noise(here: Path, isca: Callable[..., Done]) -> None:
    for seed, name in ((1, "a.tiff"), (1, "b.tiff"), (2, "c.tiff")):
        words = ("--kind", "gaussian-noise", "--mse", "100", "--seed", str(seed), "-o", name)
        assert isca("distort", "picture.png", *words).code == 0
    first, same, other = (Path(name).read_bytes() for name in ("a.tiff", "b.tiff", "c.tiff"))
    assert first == same
    assert first != other


@pytest.mark.parametrize(("kind", "wanted"), [("luminance", "0.1"), ("gaussian-noise", "3")])
@pytest.mark.parametrize("bits", ["8", "16"])
def test_the_figures_that_distort_prints_are_those_of_the_file(
    here: Path, isca: Callable[..., Done], kind: str, wanted: str, bits: str
) -> None:
    words = ("--kind", kind, "--mse", wanted, "-o", "out.png", "--bits", bits)
    found = document(isca("distort", "picture.png", *words, "--json"))
    written, reference = image.read("out.png"), image.read("picture.png")
    assert found["achieved_mse"] == pytest.approx(mse(written, reference))
    assert found["ssim"] == pytest.approx(float(ssim.ssim_map(reference, written).mean()))
    assert (
        f"MSE {mse(written, reference):.2f} (target {wanted})"
        in isca("distort", "picture.png", *words).out
    )


@POSIX
def test_distort_does_not_write_over_its_picture_through_a_link(
    here: Path, isca: Callable[..., Done]
) -> None:
    (here / "link.png").symlink_to("picture.png")
    before = everything(here)
    done = isca("distort", "picture.png", "--kind", "blur", "--mse", "50", "-o", "link.png")
    assert done.code == 2
    assert everything(here) == before


# --- dataset -----------------------------------------------------------------------------------


def test_dataset_folder(here: Path, isca: Callable[..., Done]) -> None:
    words = (
        "dataset",
        "picture.png",
        "-o",
        "set",
        "--kinds",
        "blur,jpeg,impulse+blur",
        "--levels",
        "40:80:20",
    )
    found = document(isca(*words, "--seed", "7", "--threads", "2", "--json"))
    assert list(found) == ["folder", *SUMMARY_KEYS]
    assert (found["folder"], found["pictures"], found["unreachable"]) == ("set", 10, [])
    assert (found["width"], found["height"]) == (64, 48)
    assert found["classes"] == {"original": 1, "blur": 3, "jpeg": 3, "impulse+blur": 3}
    assert all(list(entry) == ENTRY_KEYS for entry in found["entries"])
    assert [entry["target_mse"] for entry in found["entries"]] == [0, *([40, 60, 80] * 3)]

    description = json.loads(Path("set/dataset.json").read_text("utf-8"))
    assert list(description) == [
        "schema",
        "program",
        "spec",
        "width",
        "height",
        "format",
        "reference_sha256",
        "unreachable",
    ]
    assert description["spec"] == {
        "kinds": ["blur", "jpeg", "impulse+blur"],
        "levels": [40, 60, 80],
        "seed": 7,
    }
    with open("set/manifest.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["file", *ENTRY_KEYS]
    assert {row["file"] for row in rows} | {"manifest.csv", "dataset.json"} == set(
        os.listdir("set")
    )
    reference = image.read(Path("set", rows[0]["file"]))
    for row, entry in zip(rows, found["entries"], strict=True):
        assert {key: type(entry[key])(row[key]) for key in ENTRY_KEYS} == entry
        assert mse(image.read(Path("set", row["file"])), reference) == pytest.approx(
            entry["achieved_mse"]
        )

    assert document(isca("info", "set", "--json")) == {"kind": "dataset", **found}
    plain = isca("info", "set")
    assert plain.out.splitlines() == [
        "kind: dataset",
        "folder: set",
        "pictures: 10",
        "width: 64",
        "height: 48",
        "classes: 1 original, 3 blur, 3 jpeg, 3 impulse+blur",
    ]


def test_dataset_defaults_are_the_papers(tmp_path: Path, isca: Callable[..., Done]) -> None:
    draw(tmp_path / "a.png")
    done = isca("dataset", tmp_path / "a.png", "-o", tmp_path / "set")
    assert done.code == 0
    assert done.out.startswith(f"121 pictures in {tmp_path / 'set'}\n")
    spec = json.loads((tmp_path / "set" / "dataset.json").read_text("utf-8"))["spec"]
    assert spec == {
        "kinds": list(distortions.DISTORTIONS),
        "levels": [45.0 * step for step in range(1, 21)],
        "seed": 0,
    }


def test_dataset_as_png_files(here: Path, isca: Callable[..., Done]) -> None:
    assert isca("dataset", "picture.png", "-o", "set", "--format", "png", *LEVELS).code == 0
    assert sorted(os.listdir("set")) == [
        "0000-original.png",
        "0001-blur-mse50.png",
        "dataset.json",
        "manifest.csv",
    ]
    found = document(isca("info", "set", "--json"))
    reached = mse(image.read("set/0001-blur-mse50.png"), image.read("set/0000-original.png"))
    assert found["entries"][1]["achieved_mse"] == pytest.approx(reached)


def test_dataset_as_png_files_prints_what_it_has_written(
    here: Path, isca: Callable[..., Done]
) -> None:
    made = document(
        isca("dataset", "picture.png", "-o", "set", "--format", "png", *LEVELS, "--json")
    )
    assert document(isca("info", "set", "--json"))["entries"] == made["entries"]


def test_what_cannot_be_reached_is_said(here: Path, isca: Callable[..., Done]) -> None:
    words = ("dataset", "picture.png", "--kinds", "blur,luminance", "--levels", "50,15000")
    done = isca(*words, "-o", "a")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "4 pictures in a"
    assert len(lines) == 2
    assert lines[1].startswith("left out: blur at MSE 15000; this picture reaches ")
    found = document(isca(*words, "-o", "b", "--json"))
    assert [list(missed) for missed in found["unreachable"]] == [UNREACHABLE_KEYS]
    assert found["unreachable"][0]["kind"] == "blur"
    assert found["unreachable"][0]["maximum_mse"] < 15000
    assert found["classes"] == {"original": 1, "blur": 1, "luminance": 2}
    assert document(isca("info", "b", "--json"))["unreachable"] == found["unreachable"]
    assert isca("info", "b").out.splitlines()[-1] == lines[1]


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(here: Path) -> None:
    kinds = ",".join((*distortions.DISTORTIONS, "gaussian-noise+jpeg"))
    words = ("dataset", "picture.png", "--kinds", kinds, "--levels", "50,300", "--seed")
    for name, seed, threads in (
        ("a", "4", "1"),
        ("b", "4", "3"),
        ("c", "4", "16"),
        ("d", "5", "1"),
    ):
        assert outside(*words, seed, "--threads", threads, "-o", name).code == 0
    first, *others, changed = (everything(here / name) for name in "abcd")
    assert len(first) == 1 + 7 * 2 + 2
    assert others == [first, first]
    assert changed.keys() == first.keys()
    assert changed != first


def test_a_dataset_that_stands_there_is_replaced_only_on_request(
    here: Path, isca: Callable[..., Done]
) -> None:
    assert isca("dataset", "picture.png", "-o", "set", *LEVELS).code == 0
    before = everything(here)
    refused = isca("dataset", "picture.png", "-o", "set", "--kinds", "jpeg", "--levels", "60")
    assert (refused.code, refused.out) == (1, "")
    assert "--overwrite" in refused.err
    assert everything(here) == before
    again = (
        "dataset",
        "picture.png",
        "-o",
        "set",
        "--kinds",
        "jpeg",
        "--levels",
        "60",
        "--overwrite",
    )
    (here / "set" / "notes.txt").write_text("mine")
    assert "notes.txt" in isca(*again).err
    assert {"set/notes.txt": b"mine", **before} == everything(here)
    (here / "set" / "notes.txt").unlink()
    assert isca(*again).code == 0
    assert sorted(os.listdir(here)) == ["picture.png", "set"]
    assert document(isca("info", "set", "--json"))["classes"] == {"original": 1, "jpeg": 1}


def test_a_new_folder_is_made_with_those_above_it_and_an_empty_one_is_used(
    here: Path, isca: Callable[..., Done]
) -> None:
    (here / "empty").mkdir()
    for folder in ("empty", "new/deep/set"):
        assert isca("dataset", "picture.png", "-o", folder, *LEVELS).code == 0
        assert document(isca("info", folder, "--json"))["pictures"] == 2
    assert sorted(os.listdir(here)) == ["empty", "new", "picture.png"]


@pytest.mark.parametrize("flags", [[], ["--overwrite"]])
def test_the_current_folder_is_not_replaced(
    here: Path, isca: Callable[..., Done], monkeypatch: pytest.MonkeyPatch, flags: list[str]
) -> None:
    assert isca("dataset", "picture.png", "-o", "set", *LEVELS).code == 0
    (here / "empty").mkdir()
    before = everything(here)
    for folder in ("empty", "set"):
        monkeypatch.chdir(here / folder)
        for name in (".", f"../{folder}", here / folder):
            done = isca("dataset", here / "picture.png", "-o", name, *LEVELS, *flags)
            assert done.code == 1
            assert "is the current folder" in done.err
    assert isca("demo", "-o", ".").code == 1
    assert everything(here) == before


@POSIX
def test_a_link_to_a_dataset_is_written_through(here: Path, isca: Callable[..., Done]) -> None:
    assert isca("dataset", "picture.png", "-o", "set", *LEVELS).code == 0
    (here / "link").symlink_to("set")
    assert isca("dataset", "picture.png", "-o", "link", *LEVELS, "--overwrite").code == 0
    assert sorted(os.listdir(here)) == ["link", "picture.png", "set"]


@pytest.mark.parametrize("unit", ["x", "é", "😀"])
def test_long_names(here: Path, isca: Callable[..., Done], unit: str) -> None:
    name = unit * (240 // len(unit.encode()))
    assert isca("dataset", "picture.png", "-o", name, *LEVELS).code == 0
    words = ("--kind", "blur", "--mse", "50", "-o", f"{name}.png")
    assert isca("distort", "picture.png", *words).code == 0


NAMES = [
    "with spaces",
    "emoji 😀",
    "Ünïcödé ñ",
    "日本語",
    "-dash",
    "--json",
    "quote'",
    "a,b",
    "100%",
    "sample",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_every_kind(here: Path, isca: Callable[..., Done], name: str) -> None:
    folder = here / name
    folder.mkdir()
    draw(folder / f"{name}.png")
    done = isca("dataset", folder / f"{name}.png", "-o", folder / name, *LEVELS)
    assert (done.code, done.out) == (0, f"2 pictures in {folder / name}\n")
    assert document(isca("info", folder / name, "--json"))["folder"] == str(folder / name)
    words = ("--kind", "blur", "--mse", "50", f"--output={folder / name}2.tiff", "--json")
    assert (
        document(isca("distort", folder / f"{name}.png", *words))["file"]
        == f"{folder / name}2.tiff"
    )
    assert sorted(os.listdir(folder)) == sorted([name, f"{name}.png", f"{name}2.tiff"])


def test_names_that_begin_with_a_dash(here: Path, isca: Callable[..., Done]) -> None:
    draw(here / "-x.png")
    assert isca("info", "-x.png").code == 2
    for words in (["--", "-x.png"], ["./-x.png"]):
        found = document(isca("info", "--json", *words))
        assert (found["file"], found["width"]) == ("-x.png", 64)
    assert isca("dataset", *LEVELS, "--output=-set", "--", "-x.png").code == 0
    assert document(isca("info", "--json", "--", "-set"))["pictures"] == 2


@POSIX
def test_names_that_are_no_text(here: Path) -> None:
    try:
        draw(Path(os.fsdecode(os.fsencode(here) + b"/\xff.png")))
    except OSError:
        pytest.skip("the file system takes text only")
    for words, code in (([b"\xff.png", "--json"], 0), ([b"\xff.png"], 0), ([b"\xfe.png"], 1)):
        done = subprocess.run([*ISCA, "info", *words], capture_output=True, env=environment())
        assert done.returncode == code, done.stderr
        assert b"Traceback" not in done.stderr


def test_a_picture_of_ones_own_with_exif_rotation(tmp_path: Path) -> None:
    photo, folder = tmp_path / "My Photo.jpg", tmp_path / "my dataset"
    colours = np.zeros((40, 72, 3), np.uint8)
    # The left half becomes the top when the picture is rotated.
    colours[:, :36] = (200, 60, 30)
    colours[..., 2] += np.random.default_rng(0).integers(0, 90, (40, 72), dtype=np.uint8)
    picture = Image.fromarray(colours)
    exif = picture.getexif()
    # Orientation 6 asks for a clockwise rotation.
    exif[274] = 6
    picture.save(photo, exif=exif, quality=95)
    done = outside(
        "dataset", photo, "-o", folder, "--kinds", "gaussian-noise,luminance", "--levels", "30,60"
    )
    assert (done.code, done.out) == (0, f"5 pictures in {folder}\n")
    found = document(outside("info", folder, "--json"))
    assert (found["width"], found["height"], found["pictures"]) == (40, 72, 5)
    reference = image.read(folder / "0000-original.tiff")
    assert reference.shape == (72, 40)
    assert reference[:30].mean() > reference[-30:].mean() + 0.2
    assert sorted(os.listdir(tmp_path)) == ["My Photo.jpg", "my dataset"]


# --- progress ----------------------------------------------------------------------------------


def test_progress_is_plain_lines_where_there_is_no_terminal(here: Path) -> None:
    done = outside("dataset", "picture.png", "-o", "set", *LEVELS)
    assert done.out == "2 pictures in set\n"
    assert done.err.splitlines() == [
        "dataset: measuring the distortions, 0 of 1",
        "dataset: distorting, 0 of 1",
        "dataset: saving, 0 of 2",
    ]


def test_json_says_nothing_on_standard_error(here: Path) -> None:
    done = outside("dataset", "picture.png", "-o", "set", *LEVELS, "--json")
    assert document(done)["pictures"] == 2
    assert done.err == ""


@POSIX
def test_progress_is_a_bar_on_a_terminal(here: Path) -> None:
    ours, theirs = os.openpty()
    env = environment(TERM="xterm-256color")
    process = start("dataset", "picture.png", "-o", "set", *LEVELS, stderr=theirs, env=env)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        seen += part
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    text = seen.decode()
    assert (process.returncode, out) == (0, "2 pictures in set\n")
    assert "\x1b[" in text
    assert "━" in text
    assert "dataset: saving" in text
    assert "0 of 1" not in text, "no plain lines beside the bar"
    assert text.rstrip().endswith(("\x1b[2K", "\x1b[?25h")), (
        "the bar is wiped and the cursor is back"
    )


@POSIX
@pytest.mark.parametrize(
    ("words", "code", "out"),
    [
        ("dataset picture.png -o set --kinds blur --levels 50", 0, "2 pictures in set\n"),
        ("info absent.png", 1, ""),
        ("info --frobnicate", 2, ""),
    ],
)
def test_a_closed_standard_error_stops_nothing(here: Path, words: str, code: int, out: str) -> None:
    command = f"'{sys.executable}' -m isca_gui.cli {words} 2>&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stdout) == (code, out)


def test_a_program_without_a_console_works(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert cli.main(["dataset", "picture.png", "-o", "set", *LEVELS]) == 0
    assert cli.main(["info", "absent.png"]) == 1
    with pytest.raises(SystemExit, match="2"):
        cli.main(["info", "--frobnicate"])
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    assert sys.stdout is None
    assert sys.stderr is None


# --- stopping ----------------------------------------------------------------------------------

# Sends the process a signal right when the third picture is being saved.
STOP_WHILE_SAVING = """
import os, sys
from isca_gui import cli
from isca_gui.core.pictures import image
save, count = image.save_tiff, 0

def save_tiff(path, picture):
    global count
    count += 1
    save(path, picture)
    if count == 3:
        assert any(".partial" in name for name in os.listdir())
        os.kill(os.getpid(), int(sys.argv[1]))

image.save_tiff = save_tiff
sys.exit(cli.main(sys.argv[2:]))
"""
SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.alone
@POSIX
@pytest.mark.parametrize("number", SIGNALS)
def test_stopping_the_distorting_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    process = start("dataset", "sample:camera", "-o", "set", cwd=tmp_path)
    assert process.stderr is not None
    for line in process.stderr:
        if "distorting" in line:
            break
    process.send_signal(number)
    asked = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - asked < 5
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "isca: stopped; no incomplete files are left behind"
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == []


@POSIX
@pytest.mark.parametrize("flags", [[], ["--json"]])
@pytest.mark.parametrize("number", SIGNALS)
def test_stopping_the_saving_leaves_nothing(
    here: Path, number: signal.Signals, flags: list[str]
) -> None:
    words = ("dataset", "picture.png", "-o", "set", "--levels", "50,90", *flags)
    command = [sys.executable, "-c", STOP_WHILE_SAVING, str(int(number)), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr
    assert os.listdir(here) == ["picture.png"]


@POSIX
@pytest.mark.parametrize("number", SIGNALS)
def test_stopping_leaves_the_dataset_that_stands_there_whole(
    here: Path, number: signal.Signals
) -> None:
    assert outside("dataset", "picture.png", "-o", "set", *LEVELS).code == 0
    before = everything(here)
    words = ("dataset", "picture.png", "-o", "set", "--levels", "50,90", "--overwrite")
    command = [sys.executable, "-c", STOP_WHILE_SAVING, str(int(number)), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert everything(here) == before


# Sends the process a signal while NumPy, from C, imports datetime.
STOP_WHILE_IMPORTING = """
import os, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "datetime":
            os.kill(os.getpid(), int(sys.argv[1]))

sys.meta_path.insert(0, Finder())
from isca_gui import cli
sys.exit(cli.main(sys.argv[2:]))
"""


@POSIX
@pytest.mark.parametrize("number", SIGNALS)
def test_stopping_while_modules_are_imported(number: signal.Signals) -> None:
    command = [
        sys.executable,
        "-c",
        STOP_WHILE_IMPORTING,
        str(int(number)),
        "info",
        "sample:camera",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 130
    assert done.stderr == "isca: stopped; no incomplete files are left behind\n"


@POSIX
def test_what_a_killed_process_left_is_removed_by_the_next(here: Path) -> None:
    words = ("dataset", "picture.png", "-o", "set", "--levels", "50,90")
    command = [sys.executable, "-c", STOP_WHILE_SAVING, str(int(signal.SIGKILL)), *words]
    subprocess.run(command, capture_output=True, env=environment(), timeout=60)
    assert len(os.listdir(here)) == 2, "picture.png and the leftover"
    assert not (here / "set").exists()
    assert outside(*words).code == 0
    assert sorted(os.listdir(here)) == ["picture.png", "set"]


@POSIX
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("words", [["samples"], ["info", "absent.png"], ["--frobnicate"]])
def test_main_puts_the_handlers_of_signals_back(
    isca: Callable[..., Done], number: signal.Signals, words: list[str]
) -> None:
    before = signal.getsignal(number)
    isca(*words)
    assert signal.getsignal(number) is before


@POSIX
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_is_ignored_stays_ignored(here: Path, number: signal.Signals) -> None:
    script = STOP_WHILE_SAVING.replace("import os, sys", "import os, signal, sys", 1).replace(
        "sys.exit", "signal.signal(int(sys.argv[1]), signal.SIG_IGN)\nsys.exit", 1
    )
    words = ("dataset", "picture.png", "-o", "set", "--levels", "50,90")
    command = [sys.executable, "-c", script, str(int(number)), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 0, done.stderr


# --- demo --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """Where there is no display the package starts the demonstration."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "isca_gui", "-o", "show me"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment())
    return folder, Done(done.returncode, done.stdout, done.stderr)


def test_demo_ends_with_the_path_of_its_report(demonstration: tuple[Path, Done]) -> None:
    folder, done = demonstration
    assert done.code == 0
    report = Path(done.out.removesuffix("\n"))
    assert report.is_absolute()
    assert report.samefile(folder / "show me" / "report.html")
    text = report.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    for row in distortions.TABLE:
        assert row.title in text
    # The letters of an embedded picture may spell anything.
    words = re.sub(r"base64,[\w+/=]+", "", text)
    assert "http" not in words, "the report needs no network"
    sentences = re.findall(r'class="answer"[^>]*>([^<]+)<', words)
    assert [sentence.split(".")[0] for sentence in sentences] == [
        "JPEG, quality about 60",
        "Darker by about 20 grey levels",
        "Blur, σ about 1",
    ]
    assert words.index(sentences[-1]) < words.index("Six distortions with the same error")
    made = run(dataset_folder.load(folder / "show me" / "dataset"))
    assert made.classes == ("original", *distortions.DISTORTIONS)


def test_a_demo_is_replaced_by_the_next(
    demonstration: tuple[Path, Done], isca: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, first = demonstration
    report = folder / "show me" / "report.html"
    before = report.read_text("utf-8")
    monkeypatch.setattr(demo, "_METHODS", {"ISCA": {"solver": "direct", "epochs": 2}})
    monkeypatch.chdir(folder)
    done = isca("demo", "-o", "show me")
    assert (done.code, done.out) == (0, first.out)
    assert report.read_text("utf-8") != before


def add_a_file(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")


def write_another_report(folder: Path) -> None:
    (folder / "report.html").write_text("<!doctype html><title>Mine</title>")


def make_another_dataset(folder: Path) -> None:
    words = ("dataset", "sample:coins", "-o", folder / "dataset", *LEVELS, "--overwrite")
    assert outside(*words).code == 0


def add_to_the_dataset(folder: Path) -> None:
    draw(folder / "dataset" / "mine.png")


def lose_the_dataset(folder: Path) -> None:
    shutil.rmtree(folder / "dataset")


@pytest.mark.parametrize(
    "change",
    [add_a_file, write_another_report, make_another_dataset, add_to_the_dataset, lose_the_dataset],
    ids=lambda change: change.__name__,
)
def test_the_demo_replaces_only_what_it_wrote(
    demonstration: tuple[Path, Done],
    tmp_path: Path,
    isca: Callable[..., Done],
    change: Callable[[Path], None],
) -> None:
    shutil.copytree(demonstration[0] / "show me", tmp_path / "demo")
    change(tmp_path / "demo")
    before = everything(tmp_path)
    done = isca("demo", "-o", tmp_path / "demo")
    assert (done.code, done.out) == (1, "")
    assert str(tmp_path / "demo") in done.err
    assert everything(tmp_path) == before


# The demonstration with one method and fewer epochs: it is stopped when all is trained.
SHORTER = """
from isca_gui.cli import demo
demo._METHODS = {"ISCA": {"solver": "direct", "epochs": 2}}
"""


@POSIX
def test_a_stopped_demo_leaves_nothing(here: Path) -> None:
    script = SHORTER + STOP_WHILE_SAVING
    command = [sys.executable, "-c", script, str(int(signal.SIGTERM)), "demo", "-o", "show"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert os.listdir(here) == ["picture.png"]


def test_the_default_folder_of_the_demo_is_in_its_help(isca: Callable[..., Done]) -> None:
    assert "isca-demo" in isca("demo", "--help").out


def test_benchmarks_are_named_in_the_help(isca: Callable[..., Done]) -> None:
    assert "dataset" in isca("bench", "--help").out


@pytest.mark.parametrize(("value", "code"), [(1.0, 0), (9.0, 1)])
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_missed_bound_fails_in_either_form(
    isca: Callable[..., Done],
    monkeypatch: pytest.MonkeyPatch,
    value: float,
    code: int,
    flags: list[str],
) -> None:
    def measure(*_: object) -> Generator[Any, None, list[Figure]]:
        yield from ()
        return [Figure("time", value, "s", most=6.0)]

    monkeypatch.setattr(bench, "measure", measure)
    done = isca("bench", "dataset", *flags)
    assert done.code == code
    assert "time" in done.out


def test_mistakes_of_the_program_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Sequence[str]) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr("isca_gui.cli.samples.run", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main(["samples"])
