"""Project files: exact, repeatable, complete after any kill, and refused if damaged."""

from __future__ import annotations

import base64
import copy
import itertools
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from isca_gui.core.distortion import dataset
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import model_file, training
from isca_gui.core.progress import Progress, run
from isca_gui.core.projects import document as project_document
from isca_gui.core.projects import folder as project_folder
from isca_gui.core.projects import project
from isca_gui.core.projects.project import (
    FILES,
    SUFFIX,
    Contents,
    Project,
    ProjectError,
    Stored,
    StoredReference,
    StoredRun,
    StoredTest,
    load,
    missing,
    read,
    relocate,
    save,
    without,
)
from isca_gui.core.recognition.evaluation import leave_one_out
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.storage import files

if TYPE_CHECKING:
    from collections.abc import Callable

    from isca_gui.core.model.model import Model

from tests.places import ROOT

FROZEN = {schema: ROOT / "tests" / "data" / f"schema-{schema}.iscaproj" for schema in (1, 2)}
MUTANTS, MUTATED_DOCUMENTS, KILLS = 3000, 3000, 50
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")

REFERENCE = np.random.default_rng(0).random((20, 27), dtype=np.float32)


@pytest.fixture(scope="module")
def work() -> tuple[Project, Contents]:
    """A project with everything in it, not stored yet."""
    spec = DatasetSpec(("blur", "impulse"), (60.0, 300.0), 3)
    made = run(dataset.generate(REFERENCE, spec))
    choices = (
        TrainingSettings(solver="direct", epochs=3),
        TrainingSettings("kernel-isca", "direct", "rbf", epochs=2),
        TrainingSettings("pca"),
    )
    models: dict[int, Model] = {
        n: run(training.train(made, each)) for n, each in enumerate(choices, start=2)
    }  # type: ignore[arg-type]
    evaluation = run(leave_one_out(models[2], threads=1))
    verdict = Recogniser(models[2]).recognise(made.pictures[1]).verdict
    pictures = {1: made.pictures[1], 4: np.random.default_rng(1).random((9, 33), dtype=np.float32)}
    odd = replace(verdict, unusual=math.inf, severity=math.nan)
    return (
        Project(
            StoredReference("photo.png", str(Path(os.path.abspath("photos")) / "photo.png")),
            replace(spec, seed=4),
            TrainingSettings(rho=1, gamma=0.25),
            runs=(
                StoredRun(2, "ISCA 2", evaluation=evaluation),
                StoredRun(3, "Kernel ISCA «3»"),
                StoredRun(4, "PCA", evaluation=replace(evaluation, accuracy=math.nan)),
            ),
            tested=(
                StoredTest(
                    1, "blurred", None, run=2, truth="hidden:blur at MSE 60", verdict=verdict
                ),
                StoredTest(4, "ünï\udc80", "sample:camera", run=0, verdict=odd),
                StoredTest(5, "bad.png", "bad.png", error="It is no picture."),
            ),
            view={"run": 2, "zoom": [1.5, -0.0, 1e300], "docks": {"a": None, "b": True}, "": "\n"},
            layout="AAECAw==",
        ),
        Contents(REFERENCE, made, models, pictures),
    )


@pytest.fixture
def saved(work: tuple[Project, Contents], tmp_path: Path) -> Path:
    run(save(tmp_path / "work.iscaproj", *work))
    return tmp_path / "work.iscaproj"


def everything(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def plain(value: Any) -> Any:
    """Make anything comparable, NaN and arrays included."""
    if is_dataclass(value):
        return {
            each.name: plain(getattr(value, each.name))
            for each in fields(value)
            if each.name != "folder"
        }
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple | list) else repr(value)


def unstored(found: Project) -> Any:
    """A project as before it was stored."""
    return plain(
        replace(
            found,
            dataset=None,
            reference=found.reference and replace(found.reference, picture=None),
            runs=tuple(replace(each, model=None) for each in found.runs),
            tested=tuple(replace(each, picture=None) for each in found.tested),
        )
    )


# --- round trip --------------------------------------------------------------------------------


def test_everything_comes_back(work: tuple[Project, Contents], saved: Path) -> None:
    first, contents = work
    found, again = run(load(saved))
    expected = replace(
        first, tested=(*first.tested[:2], replace(first.tested[2], path=os.path.abspath("bad.png")))
    )
    assert unstored(found) == unstored(expected)
    assert plain(again.reference) == plain(contents.reference)
    assert again.dataset is not None
    assert contents.dataset is not None
    assert again.dataset.digest() == contents.dataset.digest()
    assert again.dataset.entries == contents.dataset.entries
    assert again.models.keys() == contents.models.keys()
    for number, model in contents.models.items():
        assert again.models[number].basis.tobytes() == model.basis.tobytes()
        assert again.models[number].dataset == contents.dataset.digest()  # so its run is not stale
    assert plain(dict(again.pictures)) == plain(dict(contents.pictures))
    verdict = Recogniser(again.models[2]).recognise(again.pictures[1]).verdict
    assert verdict == found.tested[0].verdict


def test_saved_again_it_is_the_same_in_every_byte(saved: Path) -> None:
    before = everything(saved.parent)
    run(save(saved, *run(load(saved))))
    assert everything(saved.parent) == before
    run(save(saved, run(load(saved))[0]))  # without its contents, which are stored already
    assert everything(saved.parent) == before


def test_saved_elsewhere_it_is_the_same_but_for_names(saved: Path, tmp_path: Path) -> None:
    stored = read(saved)
    other = tmp_path / "deep" / "other.iscaproj"
    other.parent.mkdir()
    run(save(other, stored))
    first, second = everything(saved.with_suffix(".files")), everything(other.with_suffix(".files"))
    assert first == second
    assert json.loads(other.read_text())["reference"]["path"].startswith("../")
    assert plain(read(other)) == plain(stored)
    shutil.rmtree(saved.with_suffix(".files"))
    run(load(other))


def test_an_empty_project(tmp_path: Path) -> None:
    path = tmp_path / "a: b?.iscaproj" if os.name == "posix" else tmp_path / "a b.iscaproj"
    run(save(path, Project()))
    found, contents = run(load(path))
    assert plain(found) == plain(Project())
    assert (contents.reference, contents.dataset) == (None, None)


def test_what_it_is_made_of(saved: Path) -> None:
    """The document is JSON with relative paths and SHA-256, the rest the program's own files."""
    document = json.loads(saved.read_bytes())
    assert document["schema"] == 2
    assert document["files"] == "work.files"
    assert not Path(document["reference"]["path"]).is_absolute()
    names = {Path(name).suffix for name in everything(saved.parent)}
    assert names == {".iscaproj", ".isca", ".tiff", ".csv", ".json"}
    stored = document["runs"][0]["model"]
    assert stored["file"] == f"models/{stored['sha256'][:16]}.isca"
    assert saved.read_bytes().isascii()


def test_moved_together_with_its_folder(saved: Path, tmp_path: Path) -> None:
    there = tmp_path / "moved"
    there.mkdir()
    shutil.move(saved, there)
    shutil.move(saved.with_suffix(".files"), there)
    run(load(there / saved.name))
    (there / saved.name).rename(
        there / "new.iscaproj"
    )  # only the document: the folder is still named in it
    run(load(there / "new.iscaproj"))
    (there / "work.files").rename(there / "new.files")  # both
    run(load(there / "new.iscaproj"))


def test_unchanged_files_are_left_alone(work: tuple[Project, Contents], saved: Path) -> None:
    manifest = next(saved.with_suffix(".files").glob("dataset-*/manifest.csv"))
    written = manifest.stat().st_mtime_ns, manifest.stat().st_ino
    run(save(saved, *work))  # all given anew
    assert (manifest.stat().st_mtime_ns, manifest.stat().st_ino) == written


def test_what_is_no_longer_needed_is_removed(saved: Path, tmp_path: Path) -> None:
    folder, stored = saved.with_suffix(".files"), read(saved)
    (folder / "models" / "incoming-1.isca").write_bytes(b"left by a kill")
    (folder / "mine.txt").write_bytes(b"not the program's")
    (folder / "models" / "mine.isca").write_bytes(b"not the program's")
    run(save(saved, replace(stored, runs=stored.runs[:1], tested=(), dataset=None)))
    names = set(everything(folder))
    assert len([name for name in names if name.startswith("models/")]) == 2
    assert {"mine.txt", "models/mine.isca"} <= names
    assert not any("dataset" in name or "incoming" in name for name in names)
    run(load(saved))


def test_a_copy_of_the_document_keeps_its_files(saved: Path) -> None:
    copied = saved.with_name("copy.iscaproj")
    shutil.copy(saved, copied)
    run(save(saved, Project()))
    run(load(copied))


# --- missing files -----------------------------------------------------------------------------


def test_missing_and_altered_files_are_listed(saved: Path) -> None:
    assert run(missing(saved)) == ()
    stored, folder = read(saved), saved.with_suffix(".files")
    assert stored.runs[0].model is not None
    assert stored.dataset is not None
    (folder / stored.runs[0].model.file).unlink()
    (folder / stored.dataset.file / "manifest.csv").write_text("file,label\n")
    lost = run(missing(saved))
    assert [(each.what, each.problem) for each in lost] == [
        ("the dataset", "has been changed"),
        ("the model of ISCA 2", "is missing"),
    ]
    with pytest.raises(
        ProjectError, match=r"(?s)the dataset.*has been changed.*ISCA 2.*is missing"
    ) as raised:
        run(load(saved))
    assert raised.value.missing == lost
    rest, contents = run(load(without(stored, lost)))
    assert set(contents.models) == {3, 4}
    assert rest.dataset is None
    with pytest.raises(ProjectError, match="is missing"):
        run(save(saved, stored))


@pytest.mark.parametrize("chosen", ["elsewhere/work.files", "elsewhere", "renamed"])
def test_relocated(saved: Path, tmp_path: Path, chosen: str) -> None:
    goal = tmp_path / ("renamed" if chosen == "renamed" else "elsewhere/work.files")
    goal.parent.mkdir(exist_ok=True)
    shutil.move(saved.with_suffix(".files"), goal)
    stored = read(saved)
    assert len(run(missing(stored))) == 7
    found = relocate(stored, tmp_path / chosen)
    assert found.folder == str(goal)
    _, contents = run(load(found))
    before = saved.read_bytes()
    run(save(saved, found, contents))
    assert saved.read_bytes() == before
    run(load(saved))


def test_a_wrong_folder_stays_missing(saved: Path, tmp_path: Path) -> None:
    shutil.rmtree(saved.with_suffix(".files"))
    with pytest.raises(ProjectError, match="folder") as raised:
        run(load(relocate(read(saved), tmp_path)))
    assert len(raised.value.missing) == 7
    nothing = without(read(saved), raised.value.missing)
    assert (nothing.reference, nothing.dataset, nothing.runs) == (None, None, ())
    assert [test.name for test in nothing.tested] == ["bad.png"]


def test_what_a_file_manager_leaves_alters_nothing(saved: Path) -> None:
    (folder,) = saved.with_suffix(FILES).glob("dataset-*")
    (folder / "Thumbs.db").write_bytes(b"of the system")
    assert run(load(saved))[1].dataset is not None


def test_a_document_that_could_not_be_opened_again_is_not_written(
    saved: Path, work: tuple[Project, Contents], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = everything(tmp_path)
    monkeypatch.setattr(project, "_MOST_BYTES", saved.stat().st_size)
    longer = replace(work[0], view={"run": 2, "zoom": [0.5] * 1000})
    with pytest.raises(ProjectError, match="too large to be opened again"):
        run(save(saved, longer, work[1]))
    assert everything(tmp_path) == before
    read(saved)


def test_a_damaged_file_is_mended_by_saving(saved: Path, work: tuple[Project, Contents]) -> None:
    before = everything(saved.parent)
    for path in [*saved.with_suffix(".files").rglob("*.isca"), *saved.parent.rglob("manifest.csv")]:
        path.write_bytes(b"damaged")
    run(save(saved, *work))
    assert everything(saved.parent) == before


# --- schemas -----------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", FROZEN)
def test_every_schema_opens_for_ever(schema: int) -> None:
    """The files are frozen: they must never be changed, whatever later schemas look like."""
    frozen = FROZEN[schema]
    found = read(frozen)
    assert found.schema == schema
    assert found.reference == StoredReference(
        "photo.png",
        str(frozen.parent.parent / "photos" / "photo.png"),
        Stored("pictures/" + "a" * 16 + ".tiff", "a" * 64),
    )
    assert found.spec == DatasetSpec(("blur", "blur+jpeg"), (60.0, 300.5), 3)
    assert found.settings == TrainingSettings(
        "kernel-isca", "direct", "rbf", gamma=0.25, seed=2**63 - 1
    )
    assert found.dataset == Stored("dataset-" + "b" * 16, "b" * 64)
    (one,) = found.runs
    assert (one.number, one.name, one.model) == (
        2,
        "ISCA 2",
        Stored("models/" + "c" * 16 + ".isca", "c" * 64),
    )
    assert one.evaluation is not None
    assert one.evaluation.confusion.tolist() == [[0, 1, 0], [0, 2, 1]]
    assert math.isnan(one.evaluation.accuracy)
    first, second = found.tested
    assert first.verdict is not None
    assert first.verdict.parts == ("blur",)
    assert first.verdict.unusual == math.inf
    assert first.left_out == (5 if schema == 2 else None)
    assert second == StoredTest(3, "bad.png", error="It is no picture.")
    assert found.view == {"run": 2, "zoom": [1.5, None, True]}
    assert found.layout == "AAECAw=="
    assert len(run(missing(frozen))) == 4


def test_a_newer_schema_says_so(saved: Path) -> None:
    document = json.loads(saved.read_bytes())
    saved.write_text(json.dumps({"schema": 3, "whatever": document}))
    with pytest.raises(
        ProjectError,
        match=r"newer version of ISCA Studio \(format 3; this version reads formats up to 2\)",
    ):
        run(load(saved))


def test_an_older_schema_is_brought_up_to_date(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = json.loads(saved.read_bytes())
    document["shown"] = document.pop("view")
    saved.write_text(json.dumps(document))
    with pytest.raises(ProjectError, match="has missing or unknown fields"):
        read(saved)
    monkeypatch.setattr(project_document, "SCHEMA", 3)

    def upgrade(old: dict[str, Any]) -> dict[str, Any]:
        return {"view" if key == "shown" else key: value for key, value in old.items()}

    monkeypatch.setitem(project_document.UPGRADES, 2, upgrade)
    found = read(saved)
    assert found.schema == 2
    assert found.view["run"] == 2
    assert run(save(saved, found)).schema == 3
    assert json.loads(saved.read_bytes())["schema"] == 3
    assert read(saved).schema == 3


# --- hostile files -----------------------------------------------------------------------------


def attempt(path: Path, data: bytes) -> Project | None:
    """Read bytes as a project; None if they are refused as they should be."""
    path.write_bytes(data)
    try:
        found = read(path)
    except ProjectError as error:
        message = str(error)
    else:
        message = ""
    if message:
        assert path.name in message
        return None
    again = project_document.write(found, path.parent)
    assert project_document.write(project_document.read(again, path.parent), path.parent) == again
    return found


def test_altered_bytes(saved: Path, tmp_path: Path) -> None:
    whole, chance = saved.read_bytes(), random.Random(5)
    path, refused = tmp_path / "tried.iscaproj", 0
    for _ in range(MUTANTS):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 3))):
            place = chance.randrange(len(data))
            how = chance.randrange(4)
            if how == 0:
                data[place] = chance.randrange(256)
            elif how == 1:
                del data[place : place + chance.choice((1, 2, 200))]
            elif how == 2:
                data[place:place] = chance.choice(
                    (b'"', b"{", b"}", b"[", b",", b"\\u0000", b"9" * 30, b"\xff")
                )
            else:
                data[place:place] = data[place : place + chance.randrange(1, 100)]
        refused += attempt(path, bytes(data)) is None
    assert refused > MUTANTS // 2


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [place for key, item in items for place in ((value, key), *places(item))]


ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**70,
    10**400,
    0.5,
    -0.5,
    1e308,
    "",
    "x",
    "nan",
    "inf",
    "-inf",
    "a\0b",
    "../x",
    "/etc/passwd",
    "..",
    "C:\\x",
    "\ud800",
    [],
    {},
    [[]],
    {"a": 1},
    "é" * 300,
    "f" * 64,
    "F" * 64,
)


def test_altered_values(saved: Path, tmp_path: Path) -> None:
    whole, chance = json.loads(saved.read_bytes()), random.Random(6)
    path, accepted = tmp_path / "tried.iscaproj", 0
    for _ in range(MUTATED_DOCUMENTS):
        document = copy.deepcopy(whole)
        for _ in range(chance.choice((1, 1, 2))):
            container, key = chance.choice(places(document))
            how = chance.randrange(4)
            if how == 0 and isinstance(container, dict):
                container[f"{key}x"] = container.pop(key)
            elif how == 1:
                del container[key]
            else:
                container[key] = chance.choice(ODD)
        found = attempt(path, json.dumps(document).encode())
        if found is not None:
            accepted += 1
            inside = Path(found.folder)
            assert inside.parent == path.parent
            for stored in project_document.stored_files(found):
                assert (inside / stored.file).resolve().is_relative_to(inside.resolve())
    assert accepted > 0


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"null", b"[]", b"1", b'"x"', b"{}", b"\xff\xfe", b"[" * 100_000),
        *(b'{"schema":' + b"9" * 5000 + b"}", b'{"schema": true}', b'{"schema": "1"}'),
        *(b'{"schema": 0}', b'{"schema": 1.0}', b'{"schema": NaN}'),
    ],
    ids=lambda data: repr(data[:20]),
)
def test_what_is_no_project(tmp_path: Path, data: bytes) -> None:
    assert attempt(tmp_path / "tried.iscaproj", data) is None


def changed(path: Path, change: Callable[[Any], object]) -> None:
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["runs"].append(d["runs"][0]), "twice"),
        (lambda d: d["runs"][0].update(model=None), "has no model"),
        (lambda d: d["runs"][0]["model"].update(file="../x.isca"), "a file name is not valid"),
        (lambda d: d["runs"][0]["model"].update(sha256="0"), "SHA-256"),
        (lambda d: d["runs"][0]["evaluation"]["confusion"].pop(), "does not match its classes"),
        (lambda d: d["runs"][0]["evaluation"]["verdicts"].pop(), "do not match each other"),
        (lambda d: d["runs"][0]["evaluation"]["confusion"][0].__setitem__(0, -1), "counts"),
        (lambda d: d["reference"].update(picture=None), "no picture"),
        (lambda d: d["reference"].update(path=""), "path"),
        (lambda d: d["tested"][0].update(error="both"), "both"),
        (lambda d: d["tested"][0]["verdict"]["shares"].pop("undecided"), "undecided"),
        (lambda d: d["tested"][0].update(number=0), "less than 1"),
        (lambda d: d["settings"].update(components=0), "components"),
        (lambda d: d["settings"].update(epochs=2.5), "epochs"),
        (lambda d: d["spec"].update(levels=["nan"]), "level"),
        (lambda d: d["spec"].update(kinds="blur"), "not a list"),
        (lambda d: d.update(files="../other"), "beside it"),
        (lambda d: d.update(files=7), "its files"),
        (lambda d: d.update(layout="***"), "contents are not valid"),
        (lambda d: d.update(view=[]), "view"),
        (lambda d: d.update(dataset="x"), "dataset"),
    ],
)
def test_contradictions_are_named(
    saved: Path, change: Callable[[Any], object], message: str
) -> None:
    changed(saved, change)
    with pytest.raises(ProjectError, match=message):
        run(load(saved))


def test_said_twice(saved: Path) -> None:
    saved.write_text(saved.read_text().replace('"schema": 2,', '"schema": 2, "schema": 2,', 1))
    with pytest.raises(ProjectError, match="twice"):
        read(saved)


@pytest.mark.parametrize("which", ["model", "picture", "dataset"])
def test_a_file_that_is_another_thing(saved: Path, which: str) -> None:
    """The right SHA-256 of the wrong thing is one error too."""
    document = json.loads(saved.read_bytes())
    models = document["runs"][0]["model"], document["tested"][0]["picture"]
    if which == "model":
        document["runs"][0]["model"] = models[1]
    elif which == "picture":
        document["tested"][0]["picture"] = models[0]
    else:
        document["dataset"] = models[0]
    saved.write_text(json.dumps(document))
    for source in (saved, read(saved)):
        with pytest.raises(ProjectError, match=rf"Cannot open project '.*{saved.name}'"):
            run(load(source))


def test_not_a_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.iscaproj", Path("\0.iscaproj"), Path("")):
        with pytest.raises(ProjectError):
            read(path)


@posix
@pytest.mark.parametrize("use", [missing, load])
def test_a_file_whose_name_cannot_be_is_the_one_error(
    saved: Path, use: Callable[[Any], Any]
) -> None:
    document = json.loads(saved.read_bytes())
    document["runs"][0]["model"]["file"] = "a" * 300
    saved.write_text(json.dumps(document))
    for source in (saved, read(saved)):
        with pytest.raises(ProjectError, match=rf"{saved.name}': File name too long"):
            run(use(source))
    with pytest.raises(ProjectError, match="File name too long"):
        relocate(read(saved), saved.parent)


@pytest.mark.parametrize("use", [missing, load])
def test_a_file_that_may_not_be_looked_at_is_the_one_error(
    saved: Path, use: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, **_: object) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    found = read(saved)
    monkeypatch.setattr(Path, "exists", refuse)
    with pytest.raises(ProjectError, match=rf"{saved.name}': Permission denied"):
        run(use(found))


@posix
def test_a_pipe_is_not_waited_for(saved: Path) -> None:
    model = next(saved.with_suffix(".files").glob("models/*.isca"))
    model.unlink()
    os.mkfifo(model)
    assert [each.problem for each in run(missing(saved))] == ["has been changed"]
    saved.unlink()
    os.mkfifo(saved)
    with pytest.raises(ProjectError, match="not a file"):
        read(saved)


# --- what cannot be saved ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (Project(StoredReference("a")), "the reference is neither given nor stored"),
        (Project(runs=(StoredRun(1, "ISCA 1"),)), "the model of ISCA 1 is neither"),
        (Project(tested=(StoredTest(1, "photo"),)), "photo is neither"),
        (Project(view={"a": object()}), "object"),
        (Project(view={"a": math.nan}), "float"),
        (Project(view={1: 2}), "not text"),  # type: ignore[dict-item]
        (Project(layout="é"), "contents are not valid"),
        (Project(tested=(StoredTest(1, "a", error="x"), StoredTest(1, "b", error="x"))), "twice"),
    ],
)
def test_refused_before_anything_is_replaced(saved: Path, made: Project, message: str) -> None:
    before = everything(saved.parent)
    with pytest.raises(ProjectError, match=message):
        run(save(saved, made))
    assert everything(saved.parent) == before


def test_a_view_that_holds_itself(tmp_path: Path) -> None:
    view: dict[str, Any] = {}
    view["self"] = view
    with pytest.raises(ProjectError, match="too deeply"):
        run(save(tmp_path / "a.iscaproj", Project(view=view)))


def test_names_and_places(tmp_path: Path) -> None:
    for path in (
        tmp_path / "a.json",
        tmp_path / ".iscaproj",
        Path(""),
        tmp_path / "none" / "a.iscaproj",
    ):
        with pytest.raises(ProjectError, match="Cannot save project"):
            run(save(path, Project()))


@posix
def test_a_link_is_written_through(tmp_path: Path, work: tuple[Project, Contents]) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link.iscaproj").symlink_to(tmp_path / "disk" / "real.iscaproj")
    run(save(tmp_path / "link.iscaproj", *work))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["disk", "link.iscaproj"]
    assert (tmp_path / "disk" / "real.files").is_dir()
    run(load(tmp_path / "link.iscaproj"))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(view={}, name="", path="//", seed=0, layout=b"")
@example(view={}, name="", path="//a/../b", seed=0, layout=b"")
@given(
    view=st.dictionaries(st.text(), JSON, max_size=4),
    name=st.text(),
    path=st.none()
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
    seed=st.integers(0, 2**63 - 1),
    layout=st.binary(max_size=30),
)
def test_any_document_comes_back(
    tmp_path: Path, view: dict[str, Any], name: str, path: str | None, seed: int, layout: bytes
) -> None:
    made = Project(
        spec=DatasetSpec(seed=seed),
        tested=(StoredTest(1, name, path, error="x"),),
        view=view,
        layout=base64.b64encode(layout).decode(),
        folder=str(tmp_path / "x.files"),
    )
    text = project_document.write(made, tmp_path)
    found = project_document.read(text, tmp_path)
    assert (found.view, found.spec, found.layout, found.tested[0].name) == (
        view,
        made.spec,
        made.layout,
        name,
    )
    if path is not None and not path.startswith("sample:"):
        # Two slashes at the beginning, whose meaning POSIX leaves open, are one in a relative path.
        assert found.tested[0].path == re.sub("^//(?!/)", "/", os.path.abspath(path))
    assert project_document.write(found, tmp_path) == text


# --- stops and kills ---------------------------------------------------------------------------


def test_stopped_anywhere_the_old_project_stands(
    work: tuple[Project, Contents], saved: Path
) -> None:
    document, stop = saved.read_bytes(), 0
    changed_work = (
        replace(work[0], view={}),
        replace(work[1], dataset=None, reference=1 - REFERENCE),
    )
    while True:
        task = save(saved, *changed_work)
        reports = [report for _, report in zip(range(stop), task, strict=False)]
        if len(reports) < stop:
            break
        assert all(
            isinstance(report, Progress) and report.done <= report.total for report in reports
        )
        task.close()
        assert saved.read_bytes() == document
        run(load(saved))
        stop += 1
    assert stop > 5
    assert saved.read_bytes() != document
    run(load(saved))
    assert not [
        name for name in everything(saved.parent) if "incoming" in name or "partial" in name
    ]


@pytest.mark.parametrize("there", [False, True])
def test_stopped_anywhere_a_new_project_leaves_nothing(
    work: tuple[Project, Contents], saved: Path, tmp_path: Path, there: bool
) -> None:
    target, stop = tmp_path / "new" / f"new{SUFFIX}", 0
    target.parent.mkdir()
    if there:  # all that such a folder may hold, of which some would be written again, and more
        shutil.copytree(saved.with_suffix(FILES), target.with_suffix(FILES))
        shutil.rmtree(next(target.with_suffix(FILES).glob("dataset-*")))
        (target.with_suffix(FILES) / "mine.txt").write_text("mine")
    before = everything(target.parent), sorted(target.parent.rglob("*"))
    for source in (
        work,
        (read(saved), Contents()),
    ):  # made here, and taken over from another folder
        for stop in itertools.count():
            task = save(target, *source)
            reports = [report for _, report in zip(range(stop), task, strict=False)]
            if len(reports) < stop:
                break
            task.close()
            assert (everything(target.parent), sorted(target.parent.rglob("*"))) == before
        assert stop > 5
        run(load(target))
        shutil.rmtree(target.parent)
        target.parent.mkdir()
        before = {}, []


@pytest.mark.parametrize(
    "place", [(model_file, "save_model"), (files, "write_text"), (project_folder, "sha256")]
)
def test_a_full_disk_leaves_nothing_of_a_new_project(
    work: tuple[Project, Contents],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: tuple[Any, str],
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*place, full)
    with pytest.raises(ProjectError, match="No space left"):
        run(save(tmp_path / f"new{SUFFIX}", *work))
    assert [*tmp_path.iterdir()] == []


def test_a_project_whose_document_is_there_keeps_its_files_whatever_fails_then(
    work: tuple[Project, Contents], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = files.write_text

    def written(*words: Any) -> None:
        write(*words)
        raise OSError(5, "Input/output error")  # of a drive that is pulled out then

    monkeypatch.setattr(files, "write_text", written)
    with pytest.raises(ProjectError, match="Input/output"):
        run(save(tmp_path / f"new{SUFFIX}", *work))
    run(load(tmp_path / f"new{SUFFIX}"))


def test_a_full_disk_leaves_the_old_project(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = saved.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_text", full)
    with pytest.raises(ProjectError, match="No space left"):
        run(save(saved, Project()))
    assert saved.read_bytes() == document
    run(load(saved))


KILLED = """
import sys
from dataclasses import replace
from isca_gui.core.progress import run
from isca_gui.core.projects.project import Project
from isca_gui.core.projects.project import load
from isca_gui.core.projects.project import save
path = sys.argv[1]
project, contents = run(load(path))
empty = replace(project, dataset=None, runs=project.runs[:1], tested=())
print("ready", flush=True)
while True:
    run(save(path, empty))
    run(save(path, project, contents))
"""


@posix
def test_killed_at_any_moment_it_is_the_old_or_the_new(saved: Path) -> None:
    documents, seen, chance = {saved.read_bytes()}, set(), random.Random(8)
    stored, contents = run(load(saved))
    empty = saved.with_name("empty.iscaproj")
    run(save(empty, replace(stored, dataset=None, runs=stored.runs[:1], tested=())))
    documents.add(empty.read_bytes().replace(b'"empty.files"', b'"work.files"'))
    empty.unlink()
    shutil.rmtree(empty.with_suffix(".files"))
    kills = 0
    while kills < KILLS:
        run(save(saved, stored, contents))
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, saved], stdout=subprocess.PIPE, cwd=ROOT
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            for _ in range(10):
                time.sleep(chance.uniform(0, 0.06))
                process.send_signal(
                    signal.SIGSTOP
                )  # what is on the disk now is what a kill would leave
                os.waitpid(process.pid, os.WUNTRACED)
                document = saved.read_bytes()
                assert document in documents
                snapshot = saved.parent / "snapshot"
                shutil.copytree(saved.with_suffix(".files"), snapshot / "work.files")
                (snapshot / saved.name).write_bytes(document)
                run(load(snapshot / saved.name))
                run(save(snapshot / saved.name, stored, contents))
                left = everything(snapshot)
                assert not [name for name in left if "incoming" in name or "partial" in name]
                run(load(snapshot / saved.name))
                shutil.rmtree(snapshot)
                seen.add(document)
                kills += 1
                process.send_signal(signal.SIGCONT)
            process.kill()
        run(load(saved))
    assert seen == documents


def test_the_generator_reports_what_it_does(saved: Path) -> None:
    reports: list[Progress] = []
    run(load(saved), reports.append)
    assert {"checking the dataset", "reading ISCA 2", "reading blurred"} <= {
        report.what for report in reports
    }
    assert project.SUFFIX == ".iscaproj"
