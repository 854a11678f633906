"""The shipped classifier: its file, its probabilities, and files that are damaged."""

from __future__ import annotations

import contextlib
import functools
import io
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isca_gui.core.comparison import classifier
from isca_gui.core.comparison.features import describe_change
from isca_gui.core.comparison.kinds import FAMILIES, KINDS
from isca_gui.core.comparison.pair import Pair
from isca_gui.core.comparison.trees import ForestError
from isca_gui.core.storage import resources
from tests import copies

if TYPE_CHECKING:
    from pathlib import Path


@functools.cache
def shipped_file() -> bytes:
    path = resources.find(classifier.FILE)
    assert path is not None
    return path.read_bytes()


@functools.cache
def small_arrays() -> dict[str, np.ndarray]:
    """The shipped arrays with two trees in each forest, so that a file is written at once."""
    with np.load(io.BytesIO(shipped_file()), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    members = [f"members.{family}" for family in FAMILIES]
    for forest in ("kind", "mixture", "families", *members, "order"):
        nodes = int(arrays[f"{forest}.roots"][2])
        for name in ("roots", "outputs"):
            arrays[f"{forest}.{name}"] = arrays[f"{forest}.{name}"][:2]
        for name in ("feature", "threshold", "left", "right", "value"):
            arrays[f"{forest}.{name}"] = arrays[f"{forest}.{name}"][:nodes]
    return arrays


def stored(arrays: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


@pytest.fixture(scope="module")
def row() -> np.ndarray:
    pixels = copies.part("coffee", 128, 128)
    pair = Pair(pixels.astype(np.float32), copies.blurred(pixels, 1).astype(np.float32))
    return classifier.shipped().row(describe_change(pair))


def test_the_file_is_small_and_executes_nothing() -> None:
    assert len(shipped_file()) < 5_000_000
    with np.load(io.BytesIO(shipped_file()), allow_pickle=False) as file:
        assert {file[name].dtype.kind for name in file.files} <= set("Uif")


def test_its_kinds_are_in_the_table() -> None:
    found = classifier.shipped()
    assert set(found.kinds[:-1]) <= KINDS.keys()
    assert found.kinds[-1] == classifier.NONE
    assert classifier.shipped() is found


def test_probabilities(row: np.ndarray) -> None:
    found = classifier.shipped()
    shares = found.probabilities(row)
    assert list(shares) == list(found.kinds)
    assert sum(shares.values()) == pytest.approx(1)
    assert min(shares.values()) >= 0
    assert max(shares, key=lambda kind: shares[kind]) == "blur"
    assert 0 <= found.mixture_probability(row) < 0.5
    assert all(0 <= share <= 1 for share in found.family_presences(row).values())
    for family in FAMILIES:
        members = found.member_shares(row, family)
        assert tuple(members) == classifier.members_of(family)
        assert sum(members.values()) == pytest.approx(1)


def test_one_of_two_kinds_came_first(row: np.ndarray) -> None:
    found = classifier.shipped()
    for first, second in (("blur", "jpeg"), ("gaussian-noise", "contrast")):
        there = found.first_probability(row, first, second)
        back = found.first_probability(row, second, first)
        assert there + back == pytest.approx(1)


def test_a_row_is_finite_whatever_is_measured() -> None:
    found = classifier.shipped()
    names = found.names
    row = found.row(dict(zip(names, [np.nan, np.inf, -np.inf] * 75, strict=True)))
    assert np.isfinite(row).all()
    with pytest.raises(ForestError, match="asks for"):
        found.row(dict.fromkeys(names[1:], 0.0))


def test_a_sound_file_is_read(tmp_path: Path, row: np.ndarray) -> None:
    (tmp_path / "c.npz").write_bytes(stored(small_arrays()))
    found = classifier.read(tmp_path / "c.npz")
    assert sum(found.probabilities(row).values()) == pytest.approx(1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no classifier",
        b"PK\x03\x04",
        b"\x93NUMPY\x01\x00",
        stored({})[:100],
        stored({}),
        stored({"names": np.array(["a"])}),
    ],
)
def test_what_is_no_classifier(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "c.npz").write_bytes(data)
    with pytest.raises(ForestError, match=r"c\.npz' is not a valid classifier"):
        classifier.read(tmp_path / "c.npz")


def test_other_files_of_numpy_s(tmp_path: Path) -> None:
    np.save(tmp_path / "c.npz.npy", np.zeros(3))
    objects = small_arrays() | {"names": np.array([{}, []], dtype=object)}
    (tmp_path / "objects.npz").write_bytes(stored(objects))
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as file:
        file.writestr("names", "not an array")
    for name in ("c.npz.npy", "objects.npz", "text.npz", "missing.npz", "."):
        with pytest.raises(ForestError):
            classifier.read(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kinds", np.array(["none"])),
        ("kinds", np.array([], "U4")),
        ("kinds", np.array("none")),
        ("kinds", np.array(["fog"] * 21 + ["none"])),
        ("kinds", np.array(["blur"] * 21 + ["none"])),
        ("names", np.array(["log_mse"])),
        ("names", np.array(3)),
        ("temperature", np.array(0.0)),
        ("temperature", np.array(-1.0)),
        ("temperature", np.array(np.nan)),
        ("temperature", np.array(np.inf)),
        ("temperature", np.array([1.0, 2.0])),
        ("temperature", np.array("warm")),
        ("kind.count", np.array(10**9)),
        ("kind.count", np.array(21)),
        ("families.count", np.array(10**12)),
        ("members.noise.count", np.array(3)),
        ("mixture.count", np.array(2)),
        ("order.count", np.array(-1)),
        ("kind.roots", np.array(0)),
        ("kind.feature", np.array([[1, 2], [3, 4]])),
        ("kind.value", np.array(["a"])),
        ("order.threshold", np.array(np.nan)),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, name: str, value: np.ndarray) -> None:
    (tmp_path / "c.npz").write_bytes(stored(small_arrays() | {name: value}))
    with pytest.raises(ForestError):
        classifier.read(tmp_path / "c.npz")


@pytest.mark.parametrize("name", list(small_arrays()))
def test_missing_and_empty_arrays(tmp_path: Path, name: str) -> None:
    arrays = dict(small_arrays())
    removed = arrays.pop(name)
    for changed in (arrays, arrays | {name: removed[:0] if removed.ndim else removed[None][:0]}):
        (tmp_path / "c.npz").write_bytes(stored(changed))
        with pytest.raises(ForestError):
            classifier.read(tmp_path / "c.npz")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(st.data())
def test_damaged_bytes_are_refused_or_harmless(
    tmp_path: Path, row: np.ndarray, data: st.DataObject
) -> None:
    """Never an error of another type, nor probabilities that are none."""
    sound = stored(small_arrays())
    changed = bytearray(sound)
    # The headers of the zip and of its arrays are hit as often as the numbers.
    heads = [place for place in range(len(sound) - 1) if sound[place : place + 2] == b"PK"]
    for _ in range(data.draw(st.integers(1, 4))):
        near = data.draw(st.sampled_from(heads)) + data.draw(st.integers(0, 200))
        place = data.draw(st.sampled_from([near, data.draw(st.integers(0, len(sound) - 1))]))
        changed[min(place, len(sound) - 1)] = data.draw(st.integers(0, 255))
    end = data.draw(st.sampled_from([len(sound), data.draw(st.integers(0, len(sound)))]))
    (tmp_path / "c.npz").write_bytes(changed[:end])
    with contextlib.suppress(ForestError):
        found = classifier.read(tmp_path / "c.npz")
        assert sum(found.probabilities(row).values()) == pytest.approx(1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(st.data())
def test_damaged_numbers_are_refused_or_harmless(
    tmp_path: Path, row: np.ndarray, data: st.DataObject
) -> None:
    """As above with checksums that are right, so that the zip reader notices nothing."""
    arrays = dict(small_arrays())
    name = data.draw(st.sampled_from([key for key in arrays if key not in ("names", "kinds")]))
    array = arrays[name].copy()
    flat = array.reshape(-1)
    place = data.draw(st.integers(0, flat.size - 1))
    wrong: list[Any] = [-1, 0, 7, 30_000]
    if array.dtype.kind == "f":
        wrong += [np.nan, np.inf, -np.inf, 1e30]
    flat[place] = data.draw(st.sampled_from(wrong))
    (tmp_path / "c.npz").write_bytes(stored(arrays | {name: array}))
    with contextlib.suppress(ForestError):
        found = classifier.read(tmp_path / "c.npz")
        assert np.isfinite(list(found.family_presences(row).values())).all()
        assert np.isfinite(list(found.member_shares(row, "noise").values())).all()
        assert sum(found.probabilities(row).values()) == pytest.approx(1)
        assert 0 <= found.first_probability(row, "blur", "jpeg") <= 1
        assert 0 <= found.mixture_probability(row) <= 1
