"""Dataset folders: exact, repeatable, safe to overwrite; what is wrong with one is one error."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isca_gui.core.distortion.dataset import Dataset, DatasetError, Entry, generate
from isca_gui.core.distortion.dataset_folder import check_target, load, save, stored_entries
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import Progress, run
from isca_gui.core.storage import files

if TYPE_CHECKING:
    from collections.abc import Callable

from tests.commands import full_disk
from tests.places import ROOT

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def error(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.mean((255 * first.astype(np.float64) - 255 * second.astype(np.float64)) ** 2))


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "manifest.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write(folder: Path, name: str, value: float = 0.5, shape: tuple[int, int] = (16, 16)) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    image.save_png(folder / name, np.full(shape, value))


@pytest.fixture(scope="module")
def made() -> Dataset:
    reference = image.read(samples.folder() / "horse.png")[60:124, 80:152]
    return run(generate(reference, DatasetSpec(levels=(60.0, 800.0), seed=3)))


@pytest.fixture
def saved(made: Dataset, tmp_path: Path) -> Path:
    return run(save(made, tmp_path / "saved"))


# --- round trip -----------------------------------------------------------------------------------


def test_tiff_round_trip_is_exact(made: Dataset, tmp_path: Path) -> None:
    folder = run(save(made, tmp_path / "new" / "deep"))
    loaded = run(load(folder))
    assert loaded.pictures.dtype == np.float32
    assert loaded.pictures.tobytes() == made.pictures.tobytes()
    assert loaded.entries == made.entries
    assert loaded.spec == made.spec
    assert made.unreachable  # or nothing is tested here
    assert loaded.unreachable == made.unreachable
    assert loaded.digest() == made.digest()


def test_png_round_trip_is_near_and_records_its_true_error(made: Dataset, tmp_path: Path) -> None:
    folder = run(save(made, tmp_path / "png", form="png"))
    loaded = run(load(folder))
    assert np.abs(loaded.pictures.astype(float) - made.pictures).max() <= 1 / 510 + 1e-6
    assert loaded.labels == made.labels
    assert [entry.target_mse for entry in loaded.entries] == [
        entry.target_mse for entry in made.entries
    ]
    stored = [image.read(folder / row["file"]) for row in table(folder)]
    for picture, row, entry in zip(stored, table(folder), loaded.entries, strict=True):
        assert entry.achieved_mse == pytest.approx(error(picture, stored[0]), rel=1e-5, abs=1e-6)
        assert float(row["achieved_mse"]) == entry.achieved_mse


def test_png_error_is_true_where_rounding_is_close(tmp_path: Path) -> None:
    """Halfway between two grey levels the file decides, not another way of rounding."""
    halves = ((np.arange(64) + 0.5) / 255).astype(np.float32).reshape(8, 8)
    pictures = np.stack([np.zeros_like(halves), halves])
    entries = Entry("original", 0, 0, 0, 0), Entry("luminance", 1, 1, 1, 0)
    folder = run(save(Dataset(pictures, entries), tmp_path / "png", form="png"))
    first, second = (image.read(folder / row["file"]) for row in table(folder))
    assert float(table(folder)[1]["achieved_mse"]) == pytest.approx(error(first, second), rel=1e-5)


def test_manifest_can_be_read_by_anybody(made: Dataset, saved: Path) -> None:
    header = (saved / "manifest.csv").read_bytes().split(b"\n")[0]
    assert header == b"file,label,target_mse,achieved_mse,strength,seed"
    rows = table(saved)
    assert len(rows) == len(made.entries)
    assert {row["file"] for row in rows} == set(contents(saved)) - {"manifest.csv", "dataset.json"}
    for row, entry, picture in zip(rows, made.entries, made.pictures, strict=True):
        assert row["label"] == entry.label
        numbers = float(row["target_mse"]), float(row["achieved_mse"]), float(row["strength"])
        assert numbers == (entry.target_mse, entry.achieved_mse, entry.strength)
        assert int(row["seed"]) == entry.seed
        assert np.array_equal(image.read(saved / row["file"]), picture)


def test_description_can_be_read_by_anybody(made: Dataset, saved: Path) -> None:
    document = json.loads((saved / "dataset.json").read_text(encoding="utf-8"))
    assert document["schema"] == 1
    assert (document["height"], document["width"]) == (64, 72)
    assert document["spec"]["seed"] == 3
    assert document["spec"]["levels"] == [60.0, 800.0]
    assert [each["kind"] for each in document["unreachable"]] == [
        each.kind for each in made.unreachable
    ]


@pytest.mark.parametrize("form", ["tiff", "png"])
def test_saving_twice_gives_the_same_bytes(made: Dataset, tmp_path: Path, form: str) -> None:
    first, second = (run(save(made, tmp_path / name, form=form)) for name in ("a", "b"))
    assert contents(first) == contents(second)
    again = run(save(run(load(first)), tmp_path / "c", form=form))
    assert contents(again) == contents(first)


def test_progress_and_result(made: Dataset, tmp_path: Path) -> None:
    for task in (save(made, tmp_path / "x"), load(tmp_path / "x")):
        reports: list[Progress] = []
        run(task, reports.append)
        assert [report.done for report in reports] == list(range(len(made.entries) + 1))
        assert {report.total for report in reports} == {len(made.entries)}


def test_any_order_of_rows_puts_the_reference_first(saved: Path, made: Dataset) -> None:
    lines = (saved / "manifest.csv").read_text().splitlines()
    (saved / "manifest.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]))
    loaded = run(load(saved))
    assert loaded.labels[0] == "original"
    np.testing.assert_array_equal(loaded.reference, made.reference)
    assert sorted(loaded.labels) == sorted(made.labels)


def test_another_reference_is_noticed(saved: Path, made: Dataset) -> None:
    image.save_tiff(saved / table(saved)[0]["file"], made.pictures[1])
    with pytest.raises(DatasetError, match="reference"):
        run(load(saved))


# --- overwriting ----------------------------------------------------------------------------------


def test_an_existing_dataset_is_kept_without_overwrite(made: Dataset, saved: Path) -> None:
    before = contents(saved)
    with pytest.raises(DatasetError, match="already"):
        run(save(made, saved))
    assert contents(saved) == before
    smaller = Dataset(made.pictures[:2], made.entries[:2])
    run(save(smaller, saved, overwrite=True))
    assert run(load(saved)).digest() == smaller.digest()
    assert [path.name for path in saved.parent.iterdir()] == ["saved"]


def test_a_dataset_can_be_saved_over_itself(saved: Path) -> None:
    before = contents(saved)
    run(save(run(load(saved)), saved, overwrite=True))
    assert contents(saved) == before


def foreign_folder(folder: Path) -> None:
    folder.mkdir()
    write(folder, "holiday.png")


def foreign_file(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")


def foreign_subfolder(folder: Path) -> None:
    (folder / "mine").mkdir()


def foreign_description(folder: Path) -> None:
    folder.mkdir()
    (folder / "dataset.json").write_text('{"name": "a dataset of another program"}')
    write(folder, "holiday.png")
    write(folder, "cats/cat.png")


def foreign_description_and_picture(folder: Path) -> None:
    folder.mkdir()
    (folder / "dataset.json").write_text('{"name": "a dataset of another program"}')
    write(folder, "holiday.png")


def damaged_manifest(folder: Path) -> None:
    (folder / "manifest.csv").write_text("file,label\nholiday.png\n")
    write(folder, "holiday.png")


def a_file(folder: Path) -> None:
    folder.write_text("mine")


@pytest.mark.parametrize(
    ("prepare", "within_dataset"),
    [
        (foreign_folder, False),
        (foreign_file, True),
        (foreign_subfolder, True),
        (foreign_description, False),
        (foreign_description_and_picture, False),
        (damaged_manifest, True),
        (a_file, False),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.parametrize("overwrite", [True, False])
def test_foreign_files_are_never_overwritten(
    made: Dataset,
    tmp_path: Path,
    prepare: Callable[[Path], None],
    within_dataset: bool,
    overwrite: bool,
) -> None:
    target = tmp_path / "target"
    if within_dataset:
        run(save(made, target))
    prepare(target)
    before = contents(tmp_path)
    with pytest.raises(DatasetError, match="target"):
        check_target(target, overwrite=overwrite)
    with pytest.raises(DatasetError, match="target"):
        run(save(made, target, overwrite=overwrite))
    assert contents(tmp_path) == before


def test_an_empty_folder_can_be_used(made: Dataset, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    run(save(made, tmp_path / "empty"))
    assert run(load(tmp_path / "empty")).digest() == made.digest()


@pytest.mark.parametrize("overwrite", [True, False])
def test_stopping_leaves_no_trace(made: Dataset, saved: Path, overwrite: bool) -> None:
    before = contents(saved.parent)
    task = save(made, saved if overwrite else saved.parent / "other", overwrite=overwrite)
    for _ in range(4):
        next(task)
    task.close()
    assert contents(saved.parent) == before
    assert [path.name for path in saved.parent.iterdir()] == ["saved"]


def test_a_place_that_cannot_be_written(made: Dataset, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DatasetError, match="file"):
        run(save(made, tmp_path / "file" / "dataset"))


@posix
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(made: Dataset, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    with pytest.raises(DatasetError, match="ermission"):
        run(save(made, tmp_path / "locked" / "dataset"))


@posix
def test_a_full_disk_is_told_of_the_folder_that_was_asked_for(
    made: Dataset, tmp_path: Path
) -> None:
    with pytest.raises(DatasetError) as caught, full_disk(1000):
        run(save(made, tmp_path / "out"))
    assert str(caught.value).startswith(f"Cannot write dataset folder '{tmp_path / 'out'}': ")
    assert "permission" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk(made: Dataset, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(saved.parent)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(DatasetError, match="No space"):
            run(save(made, saved, overwrite=True))
    assert contents(saved.parent) == before


@pytest.mark.parametrize("value", [np.nan, np.inf, 1.5])
def test_values_outside_0_to_1_are_not_saved(tmp_path: Path, value: float) -> None:
    entries = Entry("original", 0, 0, 0, 0), Entry("blur", 1, 1, 1, 0)
    wrong = Dataset(
        np.stack([np.zeros((8, 8)), np.full((8, 8), value)]).astype(np.float32), entries
    )
    with pytest.raises(DatasetError):
        run(save(wrong, tmp_path / "wrong"))
    assert not list(tmp_path.iterdir())


def test_an_unknown_form(made: Dataset, tmp_path: Path) -> None:
    with pytest.raises((DatasetError, ValueError), match="bmp"):
        run(save(made, tmp_path / "x", form="bmp"))
    assert not list(tmp_path.iterdir())


@posix
def test_a_linked_dataset_folder_is_overwritten_in_its_place(made: Dataset, tmp_path: Path) -> None:
    run(save(Dataset(made.pictures[:2], made.entries[:2]), tmp_path / "real"))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    run(save(made, tmp_path / "link", overwrite=True))
    assert run(load(tmp_path / "link")).digest() == made.digest()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]
    assert run(load(tmp_path / "real")).digest() == made.digest()


SAVING = """
import itertools, sys
from isca_gui.core.distortion.dataset_folder import load, save
from isca_gui.core.progress import run
datasets = [run(load(name)) for name in sys.argv[1:3]]
print("ready", flush=True)
for turn in itertools.count():
    run(save(datasets[turn % 2], sys.argv[3], overwrite=True))
"""


@posix
def test_killed_at_any_moment(made: Dataset, tmp_path: Path) -> None:
    """A process killed while it overwrites a dataset leaves the old or the new one, whole."""
    halves = [slice(0, 5), slice(0, 9)]
    kept = [Dataset(made.pictures[half], made.entries[half]) for half in halves]
    for name, dataset in zip("ab", kept, strict=True):
        run(save(dataset, tmp_path / name))
    target = tmp_path / "place" / "dataset"
    run(save(kept[0], target))
    digests = {dataset.digest() for dataset in kept}
    moments = random.Random(5)
    leftovers = 0
    for _ in range(15):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVING, tmp_path / "a", tmp_path / "b", target],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(moments.uniform(0, 0.08))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert process.returncode == -signal.SIGKILL
        assert run(load(target)).digest() in digests
        leftovers += len(list(target.parent.iterdir())) - 1
    assert leftovers > 0  # or the moments were badly chosen
    run(save(kept[1], target, overwrite=True))
    assert [path.name for path in target.parent.iterdir()] == ["dataset"]


# --- import ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", ["original/x.png", "chart.png"])
def test_a_subfolder_per_label(tmp_path: Path, reference: str) -> None:
    write(tmp_path, reference, 0.2)
    write(tmp_path, "blur/1.png", 0.4)
    write(tmp_path, "blur/2.PNG", 0.6)
    write(tmp_path, "scratches/3.tif", 0.8)
    (tmp_path / "scratches" / "notes.txt").write_text("no picture")
    write(tmp_path, ".thumbnails/4.png", 0.1)
    (tmp_path / "blur" / "._1.png").write_bytes(b"what a Macintosh leaves behind")
    loaded = run(load(tmp_path))
    assert loaded.labels == ("original", "blur", "blur", "scratches")
    assert loaded.spec is None
    for entry, value in zip(loaded.entries, (0.2, 0.4, 0.6, 0.8), strict=True):
        expected = (round(value * 255) - 51) ** 2
        assert entry.achieved_mse == pytest.approx(expected, abs=0.01)
        assert entry.target_mse == entry.achieved_mse


@pytest.mark.parametrize("name", ["manifest.csv", "dataset.json"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    write(tmp_path, "a.png", 0.2)
    (tmp_path / "manifest.csv").write_text("file,label\na.png,original\n")
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(DatasetError, match="not a file"):
        run(load(tmp_path))


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_a_manifest_of_another_program(tmp_path: Path, ends: str, bom: bytes) -> None:
    write(tmp_path, "a.png", 0.2)
    write(tmp_path, "sub/b, c.png", 0.4)
    text = ends.join(
        ["note,label,file", "x, dust ,'".replace("'", '"sub/b, c.png"'), ",original,a.png", ""]
    )
    (tmp_path / "manifest.csv").write_bytes(bom + text.encode())
    loaded = run(load(tmp_path))
    assert loaded.labels == ("original", "dust")
    assert loaded.entries[1].achieved_mse == pytest.approx(51**2, abs=0.01)
    run(save(loaded, tmp_path / "again"))
    assert run(load(tmp_path / "again")).entries == loaded.entries


def test_everything_wrong_is_listed_in_one_error(tmp_path: Path) -> None:
    write(tmp_path, "reference.png")
    write(tmp_path, "twice.png")
    write(tmp_path, "other-size.png", shape=(16, 24))
    write(tmp_path, "unknown.png")
    (tmp_path / "no-picture.png").write_text("no picture")
    names = [
        "reference.png",
        "twice.png",
        "twice.png",
        "other-size.png",
        "missing.png",
        "no-picture.png",
    ]
    lines = ["file,label", f"{names[0]},original", *(f"{name},blur" for name in names[1:])]
    (tmp_path / "manifest.csv").write_text("\n".join(lines))
    with pytest.raises(DatasetError) as caught:
        run(load(tmp_path))
    message = str(caught.value)
    for name in ["twice.png", "other-size.png", "missing.png", "unknown.png", "no-picture.png"]:
        assert name in message
    assert "reference.png" not in message


def test_all_wrong_sizes_are_listed_in_one_error(tmp_path: Path) -> None:
    write(tmp_path, "original/r.png")
    for index in range(3):
        write(tmp_path, f"blur/{index}.png", shape=(16, 17 + index))
    with pytest.raises(DatasetError) as caught:
        run(load(tmp_path))
    for index in range(3):
        assert f"{index}.png" in str(caught.value)
        assert f"{17 + index}×16" in str(caught.value)


def test_a_long_list_of_problems_stays_readable(tmp_path: Path) -> None:
    write(tmp_path, "original/r.png")
    for index in range(60):
        (tmp_path / "blur").mkdir(exist_ok=True)
        (tmp_path / "blur" / f"{index}.png").write_bytes(b"no picture")
    with pytest.raises(DatasetError, match="more") as caught:
        run(load(tmp_path))
    assert len(str(caught.value).splitlines()) < 30


@pytest.mark.parametrize("originals", [0, 2])
def test_one_reference_is_needed(tmp_path: Path, originals: int) -> None:
    write(tmp_path, "blur/1.png")
    for index in range(originals):
        write(tmp_path, f"original/{index}.png")
    with pytest.raises(DatasetError, match="exactly one"):
        run(load(tmp_path))


def test_an_empty_name_is_not_the_current_folder(
    made: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for task in (load(""), save(made, "")):
        with pytest.raises(DatasetError, match="name of the folder is empty"):
            run(task)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("overwrite", [True, False])
def test_the_current_folder_is_not_replaced(
    made: Dataset, saved: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    monkeypatch.chdir(saved)
    before = contents(saved.parent)
    with pytest.raises(DatasetError, match="current folder"):
        run(save(made, ".", overwrite=overwrite))
    assert contents(saved.parent) == before


def test_what_was_killed_between_renames_comes_back_and_is_protected(
    made: Dataset, saved: Path
) -> None:
    aside = files._sibling(saved).with_suffix(".aside")
    saved.rename(aside)
    with pytest.raises(DatasetError, match="already"):
        run(save(made, saved))
    saved.rename(aside)
    assert run(load(saved)).digest() == made.digest()
    assert [path.name for path in saved.parent.iterdir()] == ["saved"]


@pytest.mark.parametrize("form", ["tiff", "png"])
def test_stored_entries_are_those_of_the_files(made: Dataset, tmp_path: Path, form: str) -> None:
    folder = run(save(made, tmp_path / "set", form=form))
    assert stored_entries(made, form) == run(load(folder)).entries


@pytest.mark.parametrize("name", ["nowhere", "file", "empty"])
def test_no_dataset_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match=name):
        run(load(tmp_path / name))


@pytest.mark.alone
def test_a_manifest_with_many_rows_is_read_quickly(tmp_path: Path) -> None:
    write(tmp_path, "a.png")
    rows = [f"{index}.png,blur" for index in range(20_000)]
    (tmp_path / "manifest.csv").write_text("\n".join(["file,label", "a.png,original", *rows]))
    start = time.monotonic()
    with pytest.raises(DatasetError, match="not there"):
        run(load(tmp_path))
    assert time.monotonic() - start < 2


# --- unsafe labels --------------------------------------------------------------------------------


UNSAFE = [
    "a/b", "..", "../up", "x/../../../../evil", "/absolute", "a\\b", "..\\..\\evil", "c:evil",
    "con", ".hidden", "a:b*?<>|", "two words", "tab\there", "ünïcödé 図", "x" * 300, "🙂" * 70,
    "line\nbreak", "carriage\rreturn", "end\r", " spaces ", " original", "\udcff", "a\u2028b",
    '"quoted"', "nul\0l", "trailing.", "-rf", "a,b", "original2", "'", "%s", "{0}",
]  # fmt: skip


def with_label(label: str) -> Dataset:
    entries = Entry("original", 0, 0, 0, 0), Entry(label, 1, 1, 1, 0)
    pictures = np.stack([np.full((8, 8), 0.25), np.full((8, 8), 0.5)]).astype(np.float32)
    return Dataset(pictures, entries)


def check_label(tmp_path: Path, label: str) -> None:
    outside = tmp_path / "outside"
    shutil.rmtree(outside, ignore_errors=True)
    target = outside / "deep" / "target"
    target.parent.mkdir(parents=True)
    try:
        run(save(with_label(label), target))
    except DatasetError:
        assert not contents(outside)
        assert not list(target.parent.iterdir())
        return
    assert all(name.startswith("deep/target/") for name in contents(outside))
    assert all("/" not in name for name in contents(target))
    loaded = run(load(target))
    assert loaded.labels == ("original", label)
    # Nobody but us needs to be able to write the name, but everybody must be able to copy it.
    assert not any(re.search(r'[<>:"|?*\\\x00-\x1f]', name) for name in contents(target))


@pytest.mark.parametrize("label", UNSAFE, ids=lambda label: ascii(label[:20]))
def test_labels_never_leave_the_folder(tmp_path: Path, label: str) -> None:
    check_label(tmp_path, label)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_label_comes_back_or_is_rejected(tmp_path: Path, label: str) -> None:
    check_label(tmp_path, label)


@posix
@pytest.mark.parametrize("name", [b"fog ", b"fog\r", b"\xff"])
def test_a_subfolder_whose_name_cannot_be_a_label(tmp_path: Path, name: bytes) -> None:
    write(tmp_path, "original/r.png")
    try:
        write(tmp_path, os.fsdecode(name + b"/1.png"))
    except image.ImageError:
        pytest.skip("the file system does not take this name")
    with pytest.raises(DatasetError, match="rename the subfolder"):
        run(load(tmp_path))


def test_only_two_levels_of_folders_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "original/r.png")
    write(tmp_path, "blur/1.png")
    write(tmp_path, "blur/deep/2.png")
    write(tmp_path, "deep/er/3.png")
    iterdir, seen = Path.iterdir, set()

    def noted(folder: Path) -> object:
        seen.add(folder.relative_to(tmp_path).as_posix())
        return iterdir(folder)

    monkeypatch.setattr(Path, "iterdir", noted)
    assert run(load(tmp_path)).labels == ("original", "blur")
    assert seen == {".", "original", "blur", "deep"}


def test_two_references_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="only the reference"):
        run(save(with_label("original"), tmp_path / "set"))
    assert not list(tmp_path.iterdir())


def test_an_imported_label_with_a_path_in_it(tmp_path: Path) -> None:
    write(tmp_path, "in/a.png", 0.2)
    write(tmp_path, "in/b.png", 0.4)
    (tmp_path / "in" / "manifest.csv").write_text(
        "file,label\na.png,original\nb.png,x/../../../evil\n"
    )
    before = contents(tmp_path / "in")
    loaded = run(load(tmp_path / "in"))
    (tmp_path / "out").mkdir()
    try:
        run(save(loaded, tmp_path / "out" / "again"))
    except DatasetError:
        pass
    else:
        assert run(load(tmp_path / "out" / "again")).labels == loaded.labels
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {"again"}
    assert contents(tmp_path / "in") == before


# --- hostile folders ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bad:
    name: str
    data: bytes | str

    def __str__(self) -> str:
        return self.name


HEADER = "file,label,target_mse,achieved_mse,strength,seed\n"
GOOD = HEADER + "r.png,original,0,0,0,0\n"
MANIFESTS = [
    Bad("traversal", GOOD + "../secret.png,blur,1,1,1,0\n"),
    Bad("traversal inside", GOOD + "x/../../secret.png,blur,1,1,1,0\n"),
    Bad("absolute", GOOD + "{outside},blur,1,1,1,0\n"),
    Bad("the folder itself", GOOD + ".,blur,1,1,1,0\n"),
    Bad("itself", GOOD + "manifest.csv,blur,1,1,1,0\n"),
    Bad("no name", GOOD + ",blur,1,1,1,0\n"),
    Bad("no label", GOOD + "b.png,,1,1,1,0\n"),
    Bad("blank label", GOOD + "b.png,  ,1,1,1,0\n"),
    Bad("label with a meaning", GOOD + "b.png,unlike,1,1,1,0\n"),
    Bad("short row", GOOD + "b.png\n"),
    Bad("short row, file last", "label,file\noriginal,r.png\nblur\n"),
    Bad("nan", GOOD + "b.png,blur,nan,1,1,0\n"),
    Bad("nan achieved", GOOD + "b.png,blur,1,nan,1,0\n"),
    Bad("infinite strength", GOOD + "b.png,blur,1,1,inf,0\n"),
    Bad("overflow", GOOD + "b.png,blur,1e999,1,1,0\n"),
    Bad("huge MSE", GOOD + "b.png,blur,1e300,1e300,1,0\n"),
    Bad("negative", GOOD + "b.png,blur,-1,1,1,0\n"),
    Bad("word for a number", GOOD + "b.png,blur,many,1,1,0\n"),
    Bad("broken seed", GOOD + "b.png,blur,1,1,1,1.5\n"),
    Bad("negative seed", GOOD + "b.png,blur,1,1,1,-1\n"),
    Bad("huge seed", GOOD + f"b.png,blur,1,1,1,{10**30}\n"),
    Bad("endless seed", GOOD + "b.png,blur,1,1,1," + "9" * 6000 + "\n"),
    Bad("long name", GOOD + "b" * 300 + ".png,blur,1,1,1,0\n"),
    Bad("long path", GOOD + "b/" * 4000 + "x.png,blur,1,1,1,0\n"),
    Bad("endless field", GOOD + "b" * 200_000 + ",blur,1,1,1,0\n"),
    Bad("zero byte", GOOD + "b\0.png,blur,1,1,1,0\n"),
    Bad("open quote", GOOD + '"b.png,blur,1,1,1,0\n'),
    Bad("empty", ""),
    Bad("header only", HEADER),
    Bad("no header", "r.png,original,0,0,0,0\nb.png,blur,1,1,1,0\n"),
    Bad("other columns", "name,class\nr.png,original\n"),
    Bad("binary", bytes(range(256)) * 40),
    Bad("zeros", bytes(4096)),
    Bad("utf-16", GOOD.encode("utf-16")),
    Bad("latin-1", (GOOD + "b.png,fl\xe4che,1,1,1,0\n").encode("latin-1")),
]


@pytest.mark.parametrize("bad", MANIFESTS, ids=str)
def test_bad_manifests_are_one_error(tmp_path: Path, bad: Bad) -> None:
    folder = tmp_path / "folder"
    for name in ("r.png", "b.png"):
        write(folder, name)
    write(tmp_path, "secret.png")
    data = bad.data
    if isinstance(data, str):
        data = data.replace("{outside}", str(tmp_path / "secret.png")).encode()
    (folder / "manifest.csv").write_bytes(data)
    with pytest.raises(DatasetError, match="folder"):
        run(load(folder))
    # Overwriting does not fail in another way either.
    with pytest.raises(DatasetError, match="folder"):
        run(save(with_label("blur"), folder, overwrite=True))


def described(**changes: object) -> str:
    document = {
        "schema": 1,
        "spec": {"kinds": ["blur"], "levels": [45.0], "seed": 0},
        "reference_sha256": None,
        "unreachable": [],
    }
    return json.dumps(document | changes)


SPEC = {"kinds": ["blur"], "levels": [45.0], "seed": 0}
DESCRIPTIONS = [
    Bad("newer schema", described(schema=2)),
    Bad("much newer schema", described(schema=10**30)),
    Bad("schema as text", described(schema="2")),
    Bad("schema as fraction", described(schema=1.5)),
    Bad("no schema", "{}"),
    Bad("truncated", described()[:-20]),
    Bad("nested lists", "[" * 100_000),
    Bad("nested objects", '{"a":' * 100_000 + "1" + "}" * 100_000),
    Bad("nested in its place", '{"schema": 1, "spec": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    Bad("empty", ""),
    Bad("null", "null"),
    Bad("number", "7"),
    Bad("text", '"schema"'),
    Bad("list", "[1]"),
    Bad("binary", bytes(range(256))),
    Bad("utf-16", described().encode("utf-16")),
    Bad("unknown kind", described(spec=SPEC | {"kinds": ["smear"]})),
    Bad("kind is no text", described(spec=SPEC | {"kinds": [7]})),
    Bad("kinds are no list", described(spec=SPEC | {"kinds": 7})),
    Bad("nan level", described(spec=SPEC | {"levels": [float("nan")]})),
    Bad("infinite level", described(spec=SPEC | {"levels": [float("inf")]})),
    Bad("huge level", described(spec=SPEC | {"levels": [10**400]})),
    Bad("level is text", described(spec=SPEC | {"levels": ["many"]})),
    Bad("infinite seed", described(spec=SPEC | {"seed": float("inf")})),
    Bad("nan seed", described(spec=SPEC | {"seed": float("nan")})),
    Bad("huge seed", described(spec=SPEC | {"seed": 10**400})),
    Bad("endless number", described().replace('"seed": 0', '"seed": ' + "9" * 6000)),
    Bad("spec is a number", described(spec=7)),
    Bad("no levels", described(spec={"kinds": ["blur"], "seed": 0})),
    Bad("unreachable is text", described(unreachable="all")),
    Bad("unreachable is none", described(unreachable=None)),
    Bad("unreachable without numbers", described(unreachable=[{"kind": "blur"}])),
    Bad(
        "unreachable with a huge number",
        described(unreachable=[{"kind": "blur", "target_mse": 10**400, "maximum_mse": 1}]),
    ),
    *(
        Bad(
            f"unreachable with {number}",
            described(unreachable=[{"kind": "blur", "target_mse": 45, "maximum_mse": number}]),
        )
        for number in (float("nan"), float("inf"), -1)
    ),
    Bad("NaN that is not used", described(width=float("nan"))),
    Bad(
        "unreachable beyond a float",
        described(unreachable=[{"kind": "blur", "target_mse": 45, "maximum_mse": 7}]).replace(
            "7", "1e999"
        ),
    ),
    Bad("another reference", described(reference_sha256="0" * 64)),
    Bad("hash is no text", described(reference_sha256=[1])),
]


@pytest.mark.parametrize("bad", DESCRIPTIONS, ids=str)
def test_bad_descriptions_are_one_error(tmp_path: Path, bad: Bad) -> None:
    write(tmp_path, "r.png")
    write(tmp_path, "b.png")
    (tmp_path / "manifest.csv").write_text("file,label\nr.png,original\nb.png,blur\n")
    (tmp_path / "dataset.json").write_text(described())
    assert run(load(tmp_path)).spec == DatasetSpec(("blur",), (45.0,))  # with a good one
    data = bad.data.encode() if isinstance(bad.data, str) else bad.data
    (tmp_path / "dataset.json").write_bytes(data)
    with pytest.raises(DatasetError, match=re.escape(tmp_path.name)):
        run(load(tmp_path))


@pytest.mark.parametrize("name", ["manifest.csv", "dataset.json"])
def test_a_folder_in_place_of_a_file(saved: Path, name: str) -> None:
    (saved / name).unlink()
    (saved / name).mkdir()
    with pytest.raises(DatasetError, match=name):
        run(load(saved))


@given(
    st.binary(max_size=300), st.sampled_from(["manifest.csv", "dataset.json"]), st.integers(0, 400)
)
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_gives_a_dataset_or_the_one_error(
    tmp_path: Path, junk: bytes, name: str, place: int
) -> None:
    folder = tmp_path / "folder"
    if not folder.exists():
        run(save(with_label("blur"), tmp_path / "good"))
        shutil.copytree(tmp_path / "good", folder)
    good = (tmp_path / "good" / name).read_bytes()
    (folder / name).write_bytes(good[:place] + junk + good[place + len(junk) :])
    try:
        loaded = run(load(folder))
    except DatasetError as refusal:
        assert "folder" in str(refusal)  # noqa: PT017 (one of two allowed ends)
    else:
        assert len(loaded.pictures) == 2
    finally:
        (folder / name).write_bytes(good)


@pytest.mark.parametrize("name", ["Thumbs.db", "desktop.ini", ".DS_Store"])
def test_what_a_file_manager_leaves_is_no_part_of_a_dataset(
    saved: Path, made: Dataset, name: str, tmp_path: Path
) -> None:
    (saved / name).write_bytes(b"of the system")
    assert run(load(saved)).digest() == made.digest()
    run(save(made, saved, overwrite=True))
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / name).write_bytes(b"of the system")
    check_target(empty, overwrite=False)
    (empty / "mine.txt").write_text("mine")
    with pytest.raises(DatasetError, match="holds other files"):
        check_target(empty, overwrite=False)
