"""Packed projects: they are unpacked completely, and nothing else is ever written."""

from __future__ import annotations

import io
import random
import stat
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isca_gui.core.distortion import dataset
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import training
from isca_gui.core.progress import run
from isca_gui.core.projects import packing, project
from isca_gui.core.projects.document import stored_files
from isca_gui.core.projects.packing import PACKED, pack, unpack
from isca_gui.core.projects.project import (
    Contents,
    Project,
    ProjectError,
    StoredReference,
    StoredRun,
)
from isca_gui.core.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MUTANTS = 400


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a project with a reference, a dataset and a model."""
    reference = np.random.default_rng(0).random((20, 27), dtype=np.float32)
    made = run(dataset.generate(reference, DatasetSpec(("blur", "blur+impulse"), (60.0, 300.0))))
    model = run(training.train(made, TrainingSettings("pca")))
    path = tmp_path_factory.mktemp("saved") / "my work.iscaproj"
    work = Project(StoredReference("photo.png", "/photo.png"), runs=(StoredRun(1, "PCA 1"),))
    run(project.save(path, work, Contents(reference, made, {1: model})))
    return path


@pytest.fixture(scope="module")
def packed(saved: Path) -> bytes:
    target = saved.with_name(f"one{PACKED}")
    run(pack(saved, target))
    return target.read_bytes()


def attempt(content: bytes, folder: Path) -> Path:
    """Unpack a file in a folder of its own."""
    (folder / f"x{PACKED}").write_bytes(content)
    (folder / "out").mkdir()
    return run(unpack(folder / f"x{PACKED}", folder / "out"))


def everything(folder: Path) -> dict[str, bytes]:
    return {
        each.relative_to(folder).as_posix(): each.read_bytes()
        for each in folder.rglob("*")
        if each.is_file()
    }


def test_it_comes_back_whole(saved: Path, packed: bytes, tmp_path: Path) -> None:
    before, old = run(project.load(saved))
    document = attempt(packed, tmp_path)
    assert document.parent == tmp_path / "out"
    after, new = run(project.load(document))
    assert stored_files(after) == stored_files(before)
    assert [each.name for each in after.runs] == ["PCA 1"]
    assert new.dataset is not None
    assert old.dataset is not None
    assert new.dataset.digest() == old.dataset.digest()
    assert new.models[1].basis.tobytes() == old.models[1].basis.tobytes()


def test_the_same_project_gives_the_same_bytes(saved: Path, packed: bytes, tmp_path: Path) -> None:
    run(pack(saved, tmp_path / f"again{PACKED}"))
    assert (tmp_path / f"again{PACKED}").read_bytes() == packed
    run(pack(attempt(packed, tmp_path), tmp_path / f"third{PACKED}"))
    first, third = (
        zipfile.ZipFile(io.BytesIO(each))
        for each in (packed, (tmp_path / f"third{PACKED}").read_bytes())
    )
    assert first.namelist() == third.namelist()


def test_what_is_not_of_the_project_is_not_packed(
    saved: Path, packed: bytes, tmp_path: Path
) -> None:
    stray = saved.with_suffix(".files") / "mine.txt"
    stray.write_text("mine")
    run(pack(saved, tmp_path / f"again{PACKED}"))
    stray.unlink()
    assert (tmp_path / f"again{PACKED}").read_bytes() == packed


@pytest.mark.parametrize("name", [".DS_Store", "Thumbs.db", ".~lock.manifest.csv#", ".thumbnails/"])
def test_hidden_leftovers_in_the_dataset_are_not_packed(
    saved: Path, packed: bytes, name: str, tmp_path: Path
) -> None:
    """Systems leave them behind; packed, they could not be unpacked."""
    (dataset_folder,) = saved.with_suffix(".files").glob("dataset-*")
    stray = dataset_folder / name
    stray.mkdir() if name.endswith("/") else stray.write_text("x")
    try:
        run(pack(saved, tmp_path / f"again{PACKED}"))
    finally:
        stray.rmdir() if name.endswith("/") else stray.unlink()
    assert (tmp_path / f"again{PACKED}").read_bytes() == packed


def test_stopped_half_way_the_old_file_stays(saved: Path, tmp_path: Path) -> None:
    target = tmp_path / f"old{PACKED}"
    target.write_bytes(b"old")
    task = pack(saved, target)
    next(task)
    next(task)
    task.close()
    assert everything(tmp_path) == {target.name: b"old"}


def test_a_missing_file_is_told(saved: Path, packed: bytes, tmp_path: Path) -> None:
    document = attempt(packed, tmp_path)
    next(document.with_suffix(".files").glob("models/*")).unlink()
    with pytest.raises(ProjectError, match="No such file"):
        run(pack(document, tmp_path / f"y{PACKED}"))
    assert not (tmp_path / f"y{PACKED}").exists()
    with pytest.raises(ProjectError, match=r"must end in"):
        run(pack(saved, tmp_path / "y.zip"))


def rewritten(
    packed: bytes, change: Callable[[zipfile.ZipInfo], zipfile.ZipInfo | None], *more: str
) -> bytes:
    """Return the archive with entries changed or left out, and others added."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(packed)) as old, zipfile.ZipFile(stream, "w") as new:
        for entry in old.infolist():
            content, changed = old.read(entry), change(entry)
            if changed is not None:
                new.writestr(changed, content)
        for name in more:
            new.writestr(name, b"more")
    return stream.getvalue()


def same(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    return entry


def linked(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


def compressed(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "/evil",
        "project.files/../../evil",
        "project.files/./x",
        "project.files//x",
        "evil/x",
        "project.files\\..\\evil",
        "C:evil",
        "project.files/a:b",
        "project.files/",
        "project.files/x.",
        ".",
        "other.iscaproj",
        "notes.txt",
        "PROJECT.iscaproj",
        "project.files/..",
        "project.files/x\n",
    ],
)
def test_a_file_that_is_none_of_a_project_is_refused(
    packed: bytes, name: str, tmp_path: Path
) -> None:
    with pytest.raises(ProjectError, match="Cannot open project"):
        attempt(rewritten(packed, same, name), tmp_path)
    assert everything(tmp_path / "out") == {}
    assert {each.name for each in tmp_path.iterdir()} == {"out", f"x{PACKED}"}


@pytest.mark.parametrize(
    "change", [linked, compressed, lambda entry: None if "/" not in entry.filename else entry]
)
def test_another_kind_of_archive_is_refused(
    packed: bytes, change: Callable[..., None], tmp_path: Path
) -> None:
    with pytest.raises(ProjectError):
        attempt(rewritten(packed, change), tmp_path)  # type: ignore[arg-type]
    assert everything(tmp_path / "out") == {}


@pytest.mark.parametrize("content", [b"", b"PK", b"no archive at all" * 100])
def test_what_is_no_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="damaged or is not a packed project"):
        attempt(content, tmp_path)


def test_too_many_files_are_refused(
    packed: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_MOST_FILES", 3)
    with pytest.raises(ProjectError, match="too many files"):
        attempt(packed, tmp_path)


def test_a_folder_or_nothing_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(ProjectError):
            run(unpack(path, tmp_path))


def test_altered_bytes_are_refused_or_change_nothing(
    saved: Path, packed: bytes, tmp_path: Path
) -> None:
    """Whatever is changed, nothing is written outside, and what is loaded is what was packed."""
    dice = random.Random(4)
    wanted, _ = run(project.load(saved))
    loaded = 0
    for turn in range(MUTANTS):
        content = bytearray(packed)
        for _ in range(dice.choice([1, 1, 3])):
            # Names and sizes are at the end, and are changed more often than the rest.
            first = len(content) - 3000 if dice.random() < 0.7 else 0
            place = dice.randrange(first, len(content))
            content[place] ^= 1 << dice.randrange(8)
        if dice.random() < 0.1:
            del content[dice.randrange(len(content)) :]
        folder = tmp_path / str(turn)
        folder.mkdir()
        try:
            found, _ = run(project.load(attempt(bytes(content), folder)))
        except ProjectError:
            pass
        else:
            loaded += 1
            assert stored_files(found) == stored_files(wanted)
        assert {each.name for each in folder.iterdir()} == {"out", f"x{PACKED}"}
    assert {each.name for each in tmp_path.iterdir()} == {str(turn) for turn in range(MUTANTS)}
    assert 0 < loaded < MUTANTS
