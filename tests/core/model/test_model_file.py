"""Model files: exact, repeatable, readable by others, and refused if anything is wrong."""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from isca_gui.core.distortion.dataset import Dataset, Entry
from isca_gui.core.model import model_file
from isca_gui.core.model import model_manifest as manifests
from isca_gui.core.model.model import KernelPart, Model
from isca_gui.core.model.model_file import ModelFileError, load_model, save_model
from isca_gui.core.model.training import train
from isca_gui.core.progress import run
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.solvers.steps import State, Step
from isca_gui.core.storage import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

from tests.places import ROOT

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")
# 20,000 in all: whole files, manifests and numbers, the latter two with a right checksum.
MUTANTS, MUTATED_MANIFESTS, MUTATED_NUMBERS = 14_000, 4_000, 2_000
KILLS = 200

SETTINGS = {
    "isca": TrainingSettings(epochs=3),
    "isca-float64": TrainingSettings(epochs=2, precision="float64", seed=2**63 - 1),
    "isca-direct": TrainingSettings(solver="direct", epochs=3, components=2),
    "kernel-isca": TrainingSettings("kernel-isca", kernel="rbf", epochs=2, gamma=0.3),
    "kernel-isca-direct": TrainingSettings(
        "kernel-isca", "direct", "sigmoid", epochs=2, precision="float64"
    ),
    "pca": TrainingSettings("pca", components=3),
    "kernel-pca": TrainingSettings("kernel-pca", kernel="polynomial", degree=2),
    "random": TrainingSettings("random", components=64),
}


def dataset(height: int = 24, width: int = 29, images: int = 5) -> Dataset:
    pictures = np.random.default_rng(3).random((images, height, width), dtype=np.float32)
    entries = [
        Entry("original", 0, 0, 0, 0),
        *(Entry("blur", 9 * n, 9 * n, 1, 0) for n in range(1, images)),
    ]
    return Dataset(pictures, tuple(entries))


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    return {name: run(train(dataset(), settings)) for name, settings in SETTINGS.items()}  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def small() -> Model:
    """A model of two blocks, whose file is small enough to be tried in many ways."""
    return run(train(dataset(4, 6, 3), TrainingSettings(block=4, components=3, epochs=3)))  # type: ignore[arg-type]


@pytest.fixture
def quick() -> Iterator[Path]:
    """A folder in memory, where there is one: for thousands of files."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def whole(small: Model, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("small") / "small.isca"
    save_model(path, small)
    return path.read_bytes()


def arrays(model: Model) -> dict[str, np.ndarray]:
    parts: list[tuple[object, tuple[str, ...]]] = [
        (model.state, ("u", "v", "j", "lengths")),
        (model, ("offset", "basis")),
    ]
    if model.kernel is not None:
        parts.append((model.kernel, tuple(field.name for field in fields(KernelPart))))
    if model.known is not None:
        parts.append((model.known, ("descriptors",)))
    found = {name: getattr(part, name) for part, names in parts for name in names}
    return {name: array for name, array in found.items() if array is not None}


def assert_same(first: Model, second: Model) -> None:
    assert (first.settings, first.grid, first.end) == (second.settings, second.grid, second.end)
    assert first.dataset == second.dataset
    assert (first.known is None) == (second.known is None)
    if first.known is not None and second.known is not None:
        assert first.known.labels == second.known.labels
        assert first.known.levels == second.known.levels
    for name in ("epoch", "seconds", "objective"):
        assert getattr(first.state, name) == getattr(second.state, name)
    assert repr([replace(step, basis=None) for step in first.steps]) == repr(list(second.steps))
    mine, theirs = arrays(first), arrays(second)
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        assert array.dtype == theirs[name].dtype, name
        assert array.shape == theirs[name].shape, name
        assert array.tobytes() == theirs[name].tobytes(), name


# --- taking a file apart and putting it together again, without the code under test ---------------


def apart(data: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Return the header, the manifest and the bytes of the tensors."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["manifest"]), data[8 + length :]


def together(header: dict[str, Any], manifest: object, body: bytes) -> bytes:
    """Return a file with a correct checksum of whatever it is given."""
    if manifest is not None:
        header["__metadata__"]["manifest"] = json.dumps(manifest, separators=(",", ":"))

    def start(digest: str) -> bytes:
        header["__metadata__"]["sha256"] = digest
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text

    return start(hashlib.sha256(start("0" * 64) + body).hexdigest()) + body


def tensors_of(header: dict[str, Any], body: bytes) -> dict[str, np.ndarray]:
    kinds = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "U8": "u1"}
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], kinds[entry["dtype"]])
        .reshape(entry["shape"])
        .copy()
        for name, entry in header.items()
        if name != "__metadata__"
    }


def made_of(header: dict[str, Any], manifest: object, tensors: dict[str, np.ndarray]) -> bytes:
    """Return a file of tensors, laid out as the program does, with a correct checksum."""
    made: dict[str, Any] = {"__metadata__": header["__metadata__"]}
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    place = 0
    for name in order:
        array = tensors[name]
        kinds = {"float32": "F32", "float64": "F64", "float16": "F16", "int32": "I32"}
        kind = (kinds | {"uint8": "U8"})[str(array.dtype)]
        ends = [place, place + array.nbytes]
        made[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": ends}
        place += array.nbytes
    return together(made, manifest, b"".join(tensors[name].tobytes() for name in order))


def attempt(folder: Path, data: bytes) -> Model | None:
    """Return the model in some bytes, or None if they are refused as they should be."""
    path = folder / "tried.isca"
    path.write_bytes(data)
    try:
        return load_model(path)
    except ModelFileError as error:
        message = str(error)
    assert "tried.isca" in message
    return None


# --- round trip -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETTINGS)
def test_round_trip_is_exact(models: dict[str, Model], name: str, tmp_path: Path) -> None:
    save_model(tmp_path / "a.isca", models[name])
    loaded = load_model(tmp_path / "a.isca")
    assert_same(models[name], loaded)
    picture = dataset().pictures[1:2]
    assert loaded.transform(picture).tobytes() == models[name].transform(picture).tobytes()


@pytest.mark.parametrize("name", SETTINGS)
def test_saved_again_it_has_the_same_bytes(
    models: dict[str, Model], name: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "a.isca", tmp_path / "b.isca"
    save_model(first, models[name])
    save_model(second, load_model(first))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("name", SETTINGS)
def test_others_can_read_it(models: dict[str, Model], name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.isca"
    save_model(path, models[name])
    tensors = safetensors.numpy.load_file(path)
    mine = {key: array for key, array in arrays(models[name]).items() if key != "basis"}
    assert tensors.keys() == mine.keys()
    assert all(np.array_equal(tensors[key], array) for key, array in mine.items())
    with safetensors.safe_open(path, "np") as opened:
        metadata = opened.metadata()
    assert metadata.keys() == {"schema", "manifest", "sha256"}
    manifest = json.loads(metadata["manifest"])
    assert manifest["method"] == models[name].settings.method
    assert manifest["settings"] == vars(models[name].settings)


def test_the_checksum_is_that_of_the_file_with_zeros_in_its_place(whole: bytes) -> None:
    header, _, _ = apart(whole)
    digest = header["__metadata__"]["sha256"]
    assert hashlib.sha256(whole.replace(digest.encode(), b"0" * 64)).hexdigest() == digest


def test_the_helpers_make_what_the_program_makes(whole: bytes) -> None:
    header, manifest, body = apart(whole)
    assert made_of(header, manifest, tensors_of(header, body)) == whole
    assert together(*apart(whole)) == whole


def test_kept_copies_of_the_basis_stay_out(tmp_path: Path) -> None:
    settings = TrainingSettings(epochs=4, keep_every=1)
    model = run(train(dataset(), settings))  # type: ignore[arg-type]
    assert all(step.basis is not None for step in model.steps)
    save_model(tmp_path / "a.isca", model)
    loaded = load_model(tmp_path / "a.isca")
    assert all(step.basis is None for step in loaded.steps)
    assert_same(model, loaded)


def test_a_training_without_an_epoch(small: Model, tmp_path: Path) -> None:
    state = State(small.state.u, small.state.v, small.state.j)
    empty = Model(small.settings, small.grid, state, "stopped")
    save_model(tmp_path / "a.isca", empty)
    loaded = load_model(tmp_path / "a.isca")
    assert loaded.state.objective == math.inf
    assert_same(empty, loaded)
    assert loaded.known is None


@pytest.mark.parametrize("name", SETTINGS)
def test_a_model_that_remembers_nothing(
    models: dict[str, Model], name: str, tmp_path: Path
) -> None:
    bare = replace(models[name], known=None)
    save_model(tmp_path / "a.isca", bare)
    loaded = load_model(tmp_path / "a.isca")
    assert loaded.known is None
    assert_same(bare, loaded)
    with_known = tmp_path / "b.isca"
    save_model(with_known, models[name])
    assert (tmp_path / "a.isca").stat().st_size < with_known.stat().st_size


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_remembered_comes_back(models: dict[str, Model], name: str, tmp_path: Path) -> None:
    model = models[name]
    known = model.known
    assert known is not None
    assert known.labels == ("original", *["blur"] * 4)
    assert known.levels == (0, 9, 18, 27, 36)
    assert known.descriptors.dtype == np.float32
    assert known.descriptors.shape == (model.grid.count, 5, model.settings.components + 3)
    save_model(tmp_path / "a.isca", model)
    picture = dataset().pictures[2]
    mine, theirs = (
        Recogniser(m).recognise(picture) for m in (model, load_model(tmp_path / "a.isca"))
    )
    assert mine.verdict == theirs.verdict
    for field in ("winner", "distances", "nearest", "level", "confidence", "rank"):
        assert getattr(mine, field).tobytes() == getattr(theirs, field).tobytes(), field


@pytest.mark.parametrize("label", ["x", "ß", "雪+jpeg", "a" * 200, 'quo"te\\', "two words", "a,b"])
@pytest.mark.parametrize("level", [0, 0.0, 45.123456789012345, 255.0**2, 5e-324])
def test_labels_and_levels_are_kept_exactly(
    small: Model, label: str, level: float, tmp_path: Path
) -> None:
    assert small.known is not None
    known = replace(small.known, labels=("original", label, label), levels=(0.0, level, 1.0))
    save_model(tmp_path / "a.isca", replace(small, known=known))
    assert_same(replace(small, known=known), load_model(tmp_path / "a.isca"))


def test_descriptors_of_another_byte_order_are_kept(small: Model, tmp_path: Path) -> None:
    assert small.known is not None
    turned = replace(small.known, source=small.known.descriptors.astype(">f4"))
    save_model(tmp_path / "a.isca", replace(small, known=turned))
    assert_same(small, load_model(tmp_path / "a.isca"))


def test_a_very_long_history_is_thinned_out(
    small: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "MOST_STEPS", 10)
    steps = tuple(Step(epoch, 0.5, 0.5) for epoch in range(1, 36))
    long = replace(small, steps=steps, state=replace(small.state, epoch=35))
    for name in ("a.isca", "b.isca"):
        save_model(tmp_path / name, long)
        long = load_model(tmp_path / name)
    assert [step.epoch for step in long.steps] == [3, 7, 11, 15, 19, 23, 27, 31, 35]
    assert (tmp_path / "a.isca").read_bytes() == (tmp_path / "b.isca").read_bytes()


def test_numbers_of_numpy_are_numbers(small: Model, tmp_path: Path) -> None:
    settings = replace(small.settings, seed=np.int64(7), eta=np.float32(0.25))
    save_model(tmp_path / "a.isca", replace(small, settings=settings))
    assert load_model(tmp_path / "a.isca").settings == settings


def test_a_model_of_512_by_512_is_small_enough(tmp_path: Path) -> None:
    model = run(train(dataset(512, 512, 2), TrainingSettings("random")))  # type: ignore[arg-type]
    save_model(tmp_path / "a.isca", model)
    assert (tmp_path / "a.isca").stat().st_size < 40e6


# --- large models, in less precision --------------------------------------------------------------


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "_LARGE", 0)


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("name", ["isca", "isca-float64", "isca-direct", "pca", "random"])
def test_a_large_model_is_stored_with_what_is_needed(
    models: dict[str, Model], name: str, tmp_path: Path
) -> None:
    model = models[name]
    save_model(tmp_path / "a.isca", model)
    stored = load_model(tmp_path / "a.isca")
    # The basis and the reference are exact: the original is recognised as such.
    np.testing.assert_array_equal(stored.basis, model.basis)
    assert model.known is not None
    assert stored.known is not None
    mine, theirs = stored.known.descriptors, model.known.descriptors
    np.testing.assert_array_equal(mine[:, 0], theirs[:, 0])
    np.testing.assert_allclose(mine - mine[:, :1], theirs - theirs[:, :1], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(stored.state.v, model.state.v, rtol=1e-3, atol=1e-5)
    before, after = Recogniser(model), Recogniser(stored)
    for index in range(1, mine.shape[1]):
        assert before.leave_one_out(index).verdict.label == after.leave_one_out(index).verdict.label
    save_model(tmp_path / "b.isca", stored)
    again = load_model(tmp_path / "b.isca")
    np.testing.assert_array_equal(again.basis, stored.basis)


@pytest.mark.usefixtures("all_large")
def test_a_large_model_that_was_stopped_goes_on_exactly(small: Model, tmp_path: Path) -> None:
    stopped = replace(small, end="stopped")
    save_model(tmp_path / "a.isca", stopped)
    state = load_model(tmp_path / "a.isca").state
    for name in ("u", "v", "j"):
        np.testing.assert_array_equal(getattr(state, name), getattr(stopped.state, name))


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("banded", [False, True])
def test_altered_tensors_of_a_large_model_are_refused(
    small: Model, tmp_path: Path, banded: bool
) -> None:
    model = small
    if banded:
        halved = small.state.u.astype(np.float16)
        model = replace(small, state=replace(small.state, u=halved, whole=False))
    save_model(tmp_path / "a.isca", model)
    assert load_model(tmp_path / "a.isca").state.whole != banded
    header, manifest, body = apart((tmp_path / "a.isca").read_bytes())
    tensors = tensors_of(header, body)
    assert ("differences_low" in tensors) == banded
    for name, tensor in tensors.items():
        wrong = (
            {other: each for other, each in tensors.items() if other != name},
            tensors | {name: tensor.astype(np.float64)},
            tensors | {name: tensor[:-1]},
            tensors | {f"{name}_": tensor},
        )
        for index, altered in enumerate(wrong):
            if name == "u" and index == 1 and not banded:
                continue
            assert attempt(tmp_path, made_of(header, manifest, altered)) is None, (name, index)


def remembering(model: Model, **change: object) -> Model:
    assert model.known is not None
    return replace(model, known=replace(model.known, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: replace(m, state=replace(m.state, v=m.state.v * np.nan)), "not finite"),
        (lambda m: replace(m, state=replace(m.state, v=m.state.v[:1])), "does not fit"),
        (lambda m: replace(m, state=replace(m.state, j=m.state.j.astype(np.float16))), "float16"),
        (lambda m: replace(m, end="somehow"), "somehow"),
        (lambda m: replace(m, dataset="x"), "dataset"),
        (lambda m: replace(m, state=replace(m.state, seconds=math.nan)), "JSON"),
        (lambda m: remembering(m, labels=("original", "blur")), "labels and levels"),
        (lambda m: remembering(m, labels=("original", "blur", "")), "label"),
        (lambda m: remembering(m, labels=("original", "blur", "b" * 201)), "label"),
        (lambda m: remembering(m, labels=("original", "blur", 5)), "label"),
        (lambda m: remembering(m, labels=("original", "blur", None)), "label"),
        (lambda m: remembering(m, levels=(0.0, 9.0)), "labels and levels"),
        (lambda m: remembering(m, levels=(0.0, 9.0, math.nan)), "JSON"),
        (lambda m: remembering(m, levels=(0.0, 9.0, math.inf)), "JSON"),
        (lambda m: remembering(m, levels=(0.0, 9.0, -1.0)), "level"),
        (lambda m: remembering(m, levels=(0.0, 9.0, 65026.0)), "level"),
        (lambda m: remembering(m, levels=(0.0, 9.0, "9")), "level"),
        (lambda m: remembering(m, labels=(), levels=()), "descriptors"),
        (
            lambda m: remembering(m, labels=("original", *["blur"] * 3), levels=(0.0,) * 4),
            "does not fit",
        ),
        (lambda m: remembering(m, labels=("original", "blur", "original")), "original"),
        (lambda m: remembering(m, labels=("original", "blur", "unlike")), "unlike"),
        (lambda m: remembering(m, labels=("original", "blur", "undecided")), "undecided"),
        (lambda m: remembering(m, labels=("original", "blur", " blur")), "space"),
        (lambda m: remembering(m, labels=("original", "blur", "\x1b[31mred")), "one line"),
        (lambda m: remembering(m, source=m.known.descriptors[:1]), "does not fit"),
        (lambda m: remembering(m, source=m.known.descriptors[:, :2]), "does not fit"),
        (lambda m: remembering(m, source=m.known.descriptors[:, :, :4]), "does not fit"),
        (lambda m: remembering(m, source=m.known.descriptors.astype(np.float64)), "float32"),
        (lambda m: remembering(m, source=m.known.descriptors.astype(np.int32)), "int32"),
        (lambda m: remembering(m, source=m.known.descriptors * np.nan), "not finite"),
    ],
)
def test_what_could_not_be_read_is_not_written(
    small: Model, tmp_path: Path, change: Callable[[Model], Model], message: str
) -> None:
    with pytest.raises(ModelFileError, match=message):
        save_model(tmp_path / "a.isca", change(small))
    assert not list(tmp_path.iterdir())


# --- damaged files --------------------------------------------------------------------------------


def mutated(data: bytes, dice: random.Random) -> bytes:
    """Change, cut, double, move or insert some bytes; those of the header as often as the rest."""
    made = bytearray(data)
    end = dice.choice((16, 8 + int.from_bytes(data[:8], "little"), len(data)))
    for _ in range(dice.choice((1, 1, 1, 2, 8))):
        place, length = dice.randrange(end), dice.randrange(1, 40)
        match dice.randrange(7):
            case 0 | 1 | 2:
                made[place : place + 1] = bytes([dice.randrange(256)])
            case 3:
                made[place : place + 1] = bytes(
                    [made[min(place, len(made) - 1)] ^ 1 << dice.randrange(8)]
                )
            case 4:
                del made[place : place + length]
            case 5:
                made[place:place] = dice.randbytes(length)
            case 6:
                other = dice.randrange(len(data))
                made[place : place + length] = data[other : other + length]
    return bytes(made)


def test_mutated_files_are_refused_or_are_the_same_model(
    small: Model, whole: bytes, quick: Path
) -> None:
    dice, changed = random.Random(20), 0
    for _ in range(MUTANTS):
        data = mutated(whole, dice)
        loaded = attempt(quick, data)
        changed += data != whole
        if loaded is not None:
            assert_same(small, loaded)
            assert data == whole
    assert changed > 0.9 * MUTANTS


def test_mutated_manifests_with_a_right_checksum_never_crash(whole: bytes, quick: Path) -> None:
    dice = random.Random(21)
    text = json.dumps(apart(whole)[1], separators=(",", ":"))
    for _ in range(MUTATED_MANIFESTS):
        header, _, body = apart(whole)
        header["__metadata__"]["manifest"] = mutated(text.encode(), dice).decode("latin-1")
        attempt(quick, together(header, None, body))


def test_mutated_numbers_with_a_right_checksum_never_crash(whole: bytes, quick: Path) -> None:
    dice = random.Random(22)
    for _ in range(MUTATED_NUMBERS):
        header, manifest, body = apart(whole)
        made = bytearray(body)
        for _ in range(dice.choice((1, 4, 64))):
            place = 4 * dice.randrange(len(body) // 4)
            made[place : place + 4] = dice.randbytes(4)
        loaded = attempt(quick, together(header, manifest, bytes(made)))
        if loaded is not None:
            assert loaded.known is not None
            assert np.isfinite(loaded.basis).all()
            assert np.isfinite(loaded.known.descriptors).all()


@pytest.mark.parametrize("name", SETTINGS)
def test_truncations_are_refused(models: dict[str, Model], name: str, quick: Path) -> None:
    save_model(quick / "a.isca", models[name])
    data = (quick / "a.isca").read_bytes()
    for percent in range(100):
        assert attempt(quick, data[: len(data) * percent // 100]) is None
    for size in (1, 7, 8, 9, len(data) - 1):
        assert attempt(quick, data[:size]) is None
    assert attempt(quick, data + b" ") is None
    assert attempt(quick, data) is not None


def test_truncations_at_every_byte_are_refused(whole: bytes, quick: Path) -> None:
    for size in range(len(whole)):
        assert attempt(quick, whole[:size]) is None


def test_every_byte_matters(whole: bytes, quick: Path) -> None:
    for place in range(len(whole)):
        made = bytearray(whole)
        made[place] ^= 1
        assert attempt(quick, bytes(made)) is None, place


# --- files made on purpose, each with a right checksum --------------------------------------------

ATTACKS: dict[str, Callable[[dict[str, Any], dict[str, Any], bytes], object]] = {
    "unknown tensor": lambda h, m, b: h.update(spy=h["u"]),
    "missing tensor": lambda h, m, b: h.pop("v"),
    "renamed tensor": lambda h, m, b: h.update(theta=h.pop("v")),
    "integers": lambda h, m, b: h["u"].update(dtype="I32"),
    "half precision": lambda h, m, b: h["u"].update(dtype="F16"),
    "a type that is none": lambda h, m, b: h["u"].update(dtype=["F32"]),
    "double instead of single": lambda h, m, b: h["u"].update(dtype="F64", shape=[2, 16, 1]),
    "turned shape": lambda h, m, b: h["u"].update(shape=[16, 2, 2]),
    "flat shape": lambda h, m, b: h["u"].update(shape=[64]),
    "no shape": lambda h, m, b: h["u"].update(shape=[]),
    "negative shape": lambda h, m, b: h["u"].update(shape=[-2, -16, 2]),
    "empty shape": lambda h, m, b: h["u"].update(shape=[0, 16, 2]),
    "huge shape": lambda h, m, b: h["u"].update(shape=[2**40, 2**40, 2**40]),
    "true shape": lambda h, m, b: h["u"].update(shape=[True, 16, 4]),
    "shape of text": lambda h, m, b: h["u"].update(shape="abc"),
    "shape of floats": lambda h, m, b: h["u"].update(shape=[2.0, 16.0, 2.0]),
    "overlapping tensors": lambda h, m, b: h["u"].update(data_offsets=h["v"]["data_offsets"]),
    "tensors exchanged": lambda h, m, b: (
        h["u"].update(data_offsets=h["v"]["data_offsets"]),
        h["v"].update(data_offsets=h["j"]["data_offsets"]),
    ),
    "offsets outside": lambda h, m, b: h["v"].update(data_offsets=[2**60, 2**60 + 256]),
    "offsets negative": lambda h, m, b: h["v"].update(data_offsets=[-256, 0]),
    "tensor is a list": lambda h, m, b: h.update(u=[1, 2]),
    "tensor is null": lambda h, m, b: h.update(u=None),
    "something beside": lambda h, m, b: h["u"].update(more=1),
    "metadata beside": lambda h, m, b: h["__metadata__"].update(format="pt"),
    "schema zero": lambda h, m, b: h["__metadata__"].update(schema="0"),
    "schema of letters": lambda h, m, b: h["__metadata__"].update(schema="one"),
    "schema of other digits": lambda h, m, b: h["__metadata__"].update(schema="١"),
    "schema that never ends": lambda h, m, b: h["__metadata__"].update(schema="9" * 5000),
    "schema a number": lambda h, m, b: h["__metadata__"].update(schema=1),
    "method changed": lambda h, m, b: m.update(method="pca"),
    "method changed twice": lambda h, m, b: [d.update(method="pca") for d in (m, m["settings"])],
    "kernel without its part": lambda h, m, b: (
        m.update(method="kernel-isca"), m["settings"].update(method="kernel-isca"),
    ),
    "unknown method": lambda h, m, b: m["settings"].update(method="magic"),
    "unknown kernel": lambda h, m, b: m["settings"].update(kernel="os.system"),
    "setting missing": lambda h, m, b: m["settings"].pop("eta"),
    "setting beside": lambda h, m, b: m["settings"].update(__class__="x"),
    "setting of another type": lambda h, m, b: m["settings"].update(components="2"),
    "setting true": lambda h, m, b: m["settings"].update(epochs=True),
    "setting a fraction": lambda h, m, b: m["settings"].update(components=2.5),
    "setting null": lambda h, m, b: m["settings"].update(eta=None),
    "setting infinite": lambda h, m, b: m["settings"].update(eta=math.inf),
    "setting not a number": lambda h, m, b: m["settings"].update(eta=math.nan),
    "setting huge": lambda h, m, b: m["settings"].update(eta=10**400),
    "seed negative": lambda h, m, b: m["settings"].update(seed=-1),
    "settings a list": lambda h, m, b: m.update(settings=[]),
    "components changed": lambda h, m, b: m["settings"].update(components=2),
    "precision changed": lambda h, m, b: m["settings"].update(precision="float64"),
    "grid larger": lambda h, m, b: m["grid"].update(height=9),
    "grid huge": lambda h, m, b: m["grid"].update(height=10**30),
    "grid empty": lambda h, m, b: m["grid"].update(height=0),
    "grid of halves": lambda h, m, b: m["grid"].update(height=4.5),
    "grid of other blocks": lambda h, m, b: m["grid"].update(side=8),
    "grid missing": lambda h, m, b: m.pop("grid"),
    "manifest beside": lambda h, m, b: m.update(more=1),
    "unknown end": lambda h, m, b: m.update(end="diverged"),
    "end a list": lambda h, m, b: m.update(end=["stopped"]),
    "epoch negative": lambda h, m, b: m.update(epoch=-1),
    "epoch before its steps": lambda h, m, b: m.update(epoch=1),
    "epoch a fraction": lambda h, m, b: m.update(epoch=3.5),
    "epoch huge": lambda h, m, b: m.update(epoch=10**30),
    "seconds negative": lambda h, m, b: m.update(seconds=-1),
    "seconds infinite": lambda h, m, b: m.update(seconds=math.inf),
    "seconds of text": lambda h, m, b: m.update(seconds="1"),
    "seconds a float's largest": lambda h, m, b: m.update(seconds=1e308),
    "seconds too long for a float": lambda h, m, b: m.update(seconds=10**400),
    "objective too long for a float": lambda h, m, b: m.update(objective=10**400),
    "error too long for a float": lambda h, m, b: m["steps"][0].update(error=10**400),
    "objective of text": lambda h, m, b: m.update(objective="low"),
    "objective not a number": lambda h, m, b: m.update(objective=math.nan),
    "steps not in order": lambda h, m, b: m["steps"].reverse(),
    "steps null": lambda h, m, b: m.update(steps=None),
    "step of numbers": lambda h, m, b: m.update(steps=[1, 2, 3]),
    "step without error": lambda h, m, b: m["steps"][0].pop("error"),
    "step with null error": lambda h, m, b: m["steps"][0].update(error=None),
    "step with a basis": lambda h, m, b: m["steps"][0].update(basis=[1]),
    "dataset a path": lambda h, m, b: m.update(dataset="/etc/passwd"),
    "dataset a number": lambda h, m, b: m.update(dataset=5),
    "program a number": lambda h, m, b: m.update(program=5),
    "labels missing": lambda h, m, b: m.pop("labels"),
    "levels missing": lambda h, m, b: m.pop("levels"),
    "labels null": lambda h, m, b: m.update(labels=None),
    "labels a number": lambda h, m, b: m.update(labels=3),
    "labels empty": lambda h, m, b: m.update(labels=[]),
    "labels and levels empty": lambda h, m, b: m.update(labels=[], levels=[]),
    "one label too few": lambda h, m, b: m["labels"].pop(),
    "one label too many": lambda h, m, b: m["labels"].append("jpeg"),
    "one picture too many": lambda h, m, b: (m["labels"].append("jpeg"), m["levels"].append(9)),
    "one picture too few": lambda h, m, b: (m["labels"].pop(), m["levels"].pop()),
    "100,000 pictures": lambda h, m, b: m.update(labels=["jpeg"] * 10**5, levels=[9] * 10**5),
    "label a number": lambda h, m, b: m["labels"].__setitem__(1, 5),
    "label null": lambda h, m, b: m["labels"].__setitem__(1, None),
    "label true": lambda h, m, b: m["labels"].__setitem__(1, True),
    "label a list": lambda h, m, b: m["labels"].__setitem__(1, ["blur"]),
    "label an object": lambda h, m, b: m["labels"].__setitem__(1, {"blur": 1}),
    "label empty": lambda h, m, b: m["labels"].__setitem__(1, ""),
    "label a little too long": lambda h, m, b: m["labels"].__setitem__(1, "b" * 201),
    "label of two lines": lambda h, m, b: m["labels"].__setitem__(1, "a\nb"),
    "label half a letter": lambda h, m, b: m["labels"].__setitem__(1, "\ud800"),
    "label of spaces": lambda h, m, b: m["labels"].__setitem__(1, "  "),
    "label far too long": lambda h, m, b: m["labels"].__setitem__(1, "b" * 10_000),
    "levels null": lambda h, m, b: m.update(levels=None),
    "levels of text": lambda h, m, b: m.update(levels="123"),
    "levels an object": lambda h, m, b: m.update(levels={"1": 1, "2": 2, "3": 3}),
    "level negative": lambda h, m, b: m["levels"].__setitem__(1, -1.0),
    "level not a number": lambda h, m, b: m["levels"].__setitem__(1, math.nan),
    "level infinite": lambda h, m, b: m["levels"].__setitem__(1, math.inf),
    "level too large": lambda h, m, b: m["levels"].__setitem__(1, 65025.01),
    "level huge": lambda h, m, b: m["levels"].__setitem__(1, 10**400),
    "level of text": lambda h, m, b: m["levels"].__setitem__(1, "9"),
    "level true": lambda h, m, b: m["levels"].__setitem__(1, True),
    "level null": lambda h, m, b: m["levels"].__setitem__(1, None),
    "level a list": lambda h, m, b: m["levels"].__setitem__(1, [9]),
    "descriptors turned": lambda h, m, b: h["descriptors"].update(shape=[3, 2, 5]),
    "descriptors flat": lambda h, m, b: h["descriptors"].update(shape=[30]),
    "descriptors of integers": lambda h, m, b: h["descriptors"].update(dtype="I32"),
    "descriptors null": lambda h, m, b: h.update(descriptors=None),
    "descriptors renamed": lambda h, m, b: h.update(theta=h.pop("descriptors")),
    "descriptors doubled": lambda h, m, b: h.update(known=h["descriptors"]),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_on_header_or_manifest_is_refused(
    attack: str, whole: bytes, tmp_path: Path
) -> None:
    header, manifest, body = apart(whole)
    ATTACKS[attack](header, manifest, body)
    assert attempt(tmp_path, together(header, manifest, body)) is None


# The same with other tensors: what they are made of, put in the place of those in the file.
TENSORS: dict[str, Callable[[dict[str, np.ndarray], dict[str, Any]], object]] = {
    "labels without descriptors": lambda t, m: t.pop("descriptors"),
    "descriptors without labels": lambda t, m: m.update(labels=[], levels=[]),
    "descriptors of float64": lambda t, m: t.update(descriptors=t["descriptors"].astype("f8")),
    "descriptors of float16": lambda t, m: t.update(descriptors=t["descriptors"].astype("f2")),
    "descriptors of int32": lambda t, m: t.update(descriptors=t["descriptors"].astype("i4")),
    "a block too few": lambda t, m: t.update(descriptors=t["descriptors"][:1]),
    "a block too many": lambda t, m: t.update(descriptors=t["descriptors"][[0, 1, 1]]),
    "a picture too few": lambda t, m: t.update(descriptors=t["descriptors"][:, :2]),
    "a picture too many": lambda t, m: t.update(descriptors=t["descriptors"][:, [0, 1, 2, 2]]),
    "a number too few": lambda t, m: t.update(descriptors=t["descriptors"][:, :, :4]),
    "a number too many": lambda t, m: t.update(
        descriptors=t["descriptors"][:, :, [0, 1, 2, 3, 4, 5, 5]]
    ),
    "structural only": lambda t, m: t.update(descriptors=t["descriptors"][:, :, :3]),
    "no numbers": lambda t, m: t.update(descriptors=t["descriptors"][:, :, :0]),
    "no axis of blocks": lambda t, m: t.update(descriptors=t["descriptors"][0]),
    "one axis more": lambda t, m: t.update(descriptors=t["descriptors"][None]),
    "not a number": lambda t, m: t["descriptors"].__setitem__((1, 2, 5), np.nan),
    "infinite": lambda t, m: t["descriptors"].__setitem__((0, 0, 0), -np.inf),
    "pictures of a kernel beside": lambda t, m: t.update(pictures=np.zeros((3, 4, 6), "f4")),
    "an offset beside": lambda t, m: t.update(offset=np.zeros((2, 16), "f4")),
    "U without V": lambda t, m: t.pop("v"),
}


@pytest.mark.parametrize("attack", TENSORS)
def test_an_attack_on_the_tensors_is_refused(attack: str, whole: bytes, tmp_path: Path) -> None:
    header, manifest, body = apart(whole)
    tensors = tensors_of(header, body)
    TENSORS[attack](tensors, manifest)
    assert attempt(tmp_path, made_of(header, manifest, tensors)) is None


# A list is a list: Python would take a text or an object apart into one as well.
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", "abc"),
        ("labels", {"original": 1, "blur": 2, "jpeg": 3}),
        ("steps", ""),
        ("steps", {}),
    ],
)
def test_a_list_that_is_none_is_refused(
    name: str, value: object, whole: bytes, tmp_path: Path
) -> None:
    header, manifest, body = apart(whole)
    manifest[name] = value
    assert attempt(tmp_path, together(header, manifest, body)) is None


def test_a_model_whose_first_picture_is_not_the_reference_is_refused(
    whole: bytes, tmp_path: Path
) -> None:
    """Recognition takes the first training picture for the reference, as `Dataset` ensures."""
    header, manifest, body = apart(whole)
    manifest["labels"].reverse()
    assert attempt(tmp_path, together(header, manifest, body)) is None


def test_a_manifest_written_otherwise_is_refused(whole: bytes, tmp_path: Path) -> None:
    """The same contents in other words: nothing in a file is without meaning."""
    header, manifest, body = apart(whole)
    for text in (json.dumps(manifest, indent=1), json.dumps(dict(reversed(manifest.items())))):
        header["__metadata__"]["manifest"] = text
        assert attempt(tmp_path, together(header, None, body)) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "1", '"x"', "[" * 100_000, '{"program":1}']
)
def test_a_manifest_that_is_none_is_refused(text: str, whole: bytes, tmp_path: Path) -> None:
    header, _, body = apart(whole)
    header["__metadata__"]["manifest"] = text
    assert attempt(tmp_path, together(header, None, body)) is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize("place", [0, 21, 30, 100, 180])  # descriptors, descriptors, J, U, V
def test_numbers_out_of_bounds_are_refused_or_harmless(
    value: float, place: int, whole: bytes, tmp_path: Path
) -> None:
    header, manifest, body = apart(whole)
    numbers = np.frombuffer(body, "<f4").copy()
    numbers[place : place + 9] = value
    loaded = attempt(tmp_path, together(header, manifest, numbers.tobytes()))
    assert (loaded is None) or (np.isfinite(value) and bool(np.isfinite(loaded.basis).all()))


RAW = {
    "nothing": b"",
    "text": b"this is no model file at all, but some text\n" * 9,
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(500),
    "a zip": b"PK\x03\x04" + bytes(500),
    "a pickle": b"\x80\x04\x95\x1d" + bytes(7) + b"\x8c\x05posix\x8c\x06system\x93\x8c\x02ls\x85R.",
    "zeros": bytes(1000),
    "ones": b"\xff" * 1000,
    "header longer than the file": (2**40).to_bytes(8, "little") + b"{}" * 50,
    "no metadata": (8).to_bytes(8, "little") + b"{}      ",
    "a list": (8).to_bytes(8, "little") + b"[]      ",
    "metadata a list": (24).to_bytes(8, "little") + b'{"__metadata__":[1,2,3]}',
    "deep": (100_000).to_bytes(8, "little") + b"[" * 100_000,
    "deep object": (100_000).to_bytes(8, "little") + b'{"a":' * 20_000,
    "no utf-8": (8).to_bytes(8, "little") + b'{"\xff\xfe":1',
    "a long number": (8008).to_bytes(8, "little") + b'{"u":' + b"9" * 8002 + b"}",
}


@pytest.mark.parametrize("name", RAW)
def test_what_is_no_model_file_is_refused(name: str, tmp_path: Path) -> None:
    assert attempt(tmp_path, RAW[name]) is None


def test_a_header_written_otherwise_is_refused(whole: bytes, tmp_path: Path) -> None:
    """The same contents in other words: nothing in a file is without meaning."""
    header, _, body = apart(whole)
    length = int.from_bytes(whole[:8], "little")
    text = whole[8 : 8 + length].rstrip()
    doubled = b'{"u":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},' + text[1:]
    for other in (text + b" " * 64, b" " + text, json.dumps(header).encode(), doubled):
        assert attempt(tmp_path, len(other).to_bytes(8, "little") + other + body) is None


def test_a_file_of_a_newer_format_says_so(whole: bytes, tmp_path: Path) -> None:
    header, manifest, body = apart(whole)
    header["__metadata__"]["schema"] = "3"
    header["novelty"] = header.pop("u")
    (tmp_path / "a.isca").write_bytes(together(header, manifest, body))
    with pytest.raises(
        ModelFileError, match=r"\(format 3; this version reads formats up to 2\)\. Update"
    ):
        load_model(tmp_path / "a.isca")


def test_a_file_beyond_the_cap_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "a.isca").open("wb") as stream:
        stream.truncate(2**20)
    monkeypatch.setattr(model_file, "_MOST_BYTES", 2**20 - 1)
    with pytest.raises(ModelFileError, match="larger than"):
        load_model(tmp_path / "a.isca")


@posix
def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.isca")
    (tmp_path / "loop.isca").symlink_to("loop.isca")
    for path in (
        tmp_path,
        tmp_path / "none.isca",
        tmp_path / "pipe.isca",
        tmp_path / "loop.isca",
        "/dev/zero",
    ):
        with pytest.raises(ModelFileError, match=Path(path).name):
            load_model(path)
    with pytest.raises(ModelFileError):
        load_model("a\0b")


# --- writing --------------------------------------------------------------------------------------


def test_a_failed_save_leaves_the_old_file(
    small: Model, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.isca"
    path.write_bytes(whole)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(ModelFileError, match=r"a\.isca.*No space left"):
        save_model(path, replace(small, end="stopped"))
    assert path.read_bytes() == whole
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.isca"]


def test_where_nothing_can_be_written_is_said(small: Model, tmp_path: Path) -> None:
    (tmp_path / "folder.isca").mkdir()
    for path in (tmp_path / "none" / "a.isca", tmp_path / "folder.isca", tmp_path / "a\0b.isca"):
        with pytest.raises(ModelFileError):
            save_model(path, small)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.isca"]


# A process without threads forks; the fork saves the other model and is killed somewhere on its
# way, or just after it. The time of a save is measured first, and set right so that half of the
# saves come to their end. Every fourth is held before its file takes the other's place: on a fast
# disk too few would be met by chance.
KILL_WHILE_SAVING = """
import os, random, signal, sys, time
from dataclasses import replace
from isca_gui.core.model.model_file import load_model
from isca_gui.core.model.model_file import save_model

path, kills, dice = sys.argv[1], int(sys.argv[2]), random.Random(4)
folder = os.path.dirname(path)
first = load_model(path)
models = {"max_epochs": first, "stopped": replace(first, end="stopped")}
times = []
for _ in range(8):
    begun = time.perf_counter()
    save_model(path, first)
    times.append(time.perf_counter() - begun)
whole = {}
for end, model in models.items():
    save_model(path, model)
    whole[end] = open(path, "rb").read()
duration, old, kept, replaced, partial = sorted(times)[4], "stopped", 0, 0, 0
for number in range(kills):
    new = "max_epochs" if old == "stopped" else "stopped"
    held = number % 4 == 0
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b".")
        if held:
            os.fsync = lambda _: (os.write(writer, b"."), time.sleep(60))
        save_model(path, models[new])
        time.sleep(60)
        os._exit(0)
    os.read(reader, 1)
    until = time.perf_counter() + (0 if held else dice.uniform(0, 2 * duration))
    while time.perf_counter() < until:
        pass
    if held:
        os.read(reader, 1)
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    os.close(reader), os.close(writer)
    end = load_model(path).end
    assert end in (old, new) and open(path, "rb").read() == whole[end], (end, old)
    duration *= 1 if held else 1.1 if end == old else 0.9
    kept, replaced, old = kept + (end == old), replaced + (end == new), end
    partial += len(os.listdir(folder)) > 1
    if dice.random() < 0.5:  # else the next save clears up
        save_model(path, models[old])
        assert os.listdir(folder) == [os.path.basename(path)]
save_model(path, first)
print(kept, replaced, partial)
"""


@posix
def test_killed_while_saving_there_is_a_whole_file(
    models: dict[str, Model], tmp_path: Path
) -> None:
    path = tmp_path / "a.isca"
    save_model(path, models["kernel-isca"])
    command = [sys.executable, "-c", KILL_WHILE_SAVING, str(path), str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    kept, replaced, partial = map(int, done.stdout.split())
    assert kept + replaced == KILLS
    assert min(kept, replaced, partial) > KILLS // 20  # killed before, after, and in between
    assert_same(models["kernel-isca"], load_model(path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.isca"]
