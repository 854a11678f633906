"""Preferences: they come back, and no file, however broken, stops the start."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.storage.lock import Lock
from isca_gui.core.storage.user_folders import user_folder
from isca_gui.session.preferences import MOST_RECENT, Preferences

if TYPE_CHECKING:
    from pathlib import Path


def test_preferences_come_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "preferences.json"
    written = Preferences(path)
    written.geometry, written.layout, written.theme = "abc", "def", "dark"
    written.spec = DatasetSpec(("blur",), (10.0, 20.5), 3)
    written.settings = TrainingSettings(method="kernel-isca", kernel="rbf", rho=0.5)
    written.presets = {"mine": TrainingSettings(components=2)}
    written.add_recent("a.png")
    written.save()
    read = Preferences(path)
    assert vars(read) == vars(written)


def test_there_is_a_default_for_everything(tmp_path: Path) -> None:
    read = Preferences(tmp_path / "none.json")
    assert read.spec == DatasetSpec()
    assert read.settings == TrainingSettings()
    assert read.theme == "system"
    assert not read.problem


def test_preferences_lie_in_the_configuration_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert user_folder("config") == tmp_path / "isca-studio"
    assert Preferences().path == tmp_path / "isca-studio" / "preferences.json"


def test_recent_files_are_few_and_each_is_named_once(tmp_path: Path) -> None:
    preferences = Preferences(tmp_path / "p.json")
    for number in range(30):
        preferences.add_recent(f"{number % 15}.png")
    assert len(preferences.recent) == MOST_RECENT
    assert preferences.recent[0] == "14.png"
    assert len(set(preferences.recent)) == MOST_RECENT


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"\xff\xfe\x00", b"[1, 2]", b"null", b'"text"', b"[" * 100_000, b"NaN",
        b'{"spec": null}', b'{"spec": {"kinds": "blur"}}',
        b'{"spec": {"kinds": [1], "levels": ["a"]}}',
        b'{"spec": {"levels": []}}', b'{"settings": {"method": "magic"}}',
        b'{"settings": {"components": "4"}}',
        b'{"settings": {"components": true}}', b'{"settings": {"epochs": 1.5}}',
        b'{"settings": []}', b'{"settings": {"seed": -1}}',
        b'{"presets": [], "recent": {"a": 1}, "theme": 3, "geometry": []}',
        b'{"presets": {"a": 1}, "recent": [1, null]}', b'{"unknown": 1}',
    ],
    ids=range(21),
)  # fmt: skip
def test_a_broken_file_never_stops_the_start(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "preferences.json"
    path.write_bytes(content)
    read = Preferences(path)
    assert read.spec == DatasetSpec()
    assert read.settings == TrainingSettings()
    assert read.presets == {}
    assert read.recent == []
    read.save()
    assert not Preferences(path).problem


def test_one_broken_value_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    written = Preferences(path)
    written.settings = TrainingSettings(components=7)
    written.save()
    stored: dict[str, Any] = json.loads(path.read_text())
    stored["spec"]["levels"] = [-1]
    stored["settings"]["something new"] = 1
    path.write_text(json.dumps(stored))
    assert Preferences(path).settings.components == 7
    assert Preferences(path).spec == DatasetSpec()


def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert "folder" in Preferences(tmp_path / "folder").problem


# --- two windows ----------------------------------------------------------------------------------


def test_each_window_writes_only_what_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    Preferences(path).save()
    one, other = Preferences(path), Preferences(path)
    one.presets["mine"] = TrainingSettings(components=2)
    one.theme = "dark"
    one.add_recent("a.png")
    one.save()
    other.presets["yours"] = TrainingSettings(components=3)
    other.add_recent("b.png")
    other.settings = TrainingSettings(epochs=7)
    other.save()
    both = Preferences(path)
    assert both.presets == {
        "mine": TrainingSettings(components=2),
        "yours": TrainingSettings(components=3),
    }
    assert (both.theme, both.recent, both.settings.epochs) == ("dark", ["b.png", "a.png"], 7)
    one.save()
    other.save()
    assert vars(Preferences(path)) == vars(both), "nothing was changed since"
    del one.presets["mine"]
    one.save()
    assert Preferences(path).presets == {"yours": TrainingSettings(components=3)}


def test_what_a_newer_version_has_written_stays(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    path.write_text('{"from the future": [1, 2]}')
    written = Preferences(path)
    written.theme = "dark"
    written.save()
    assert json.loads(path.read_text())["from the future"] == [1, 2]
    assert Preferences(path).theme == "dark"


@pytest.mark.alone
def test_a_lock_that_is_never_given_back_does_not_keep_the_window_open(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    lock = Lock(tmp_path / ".preferences.json.lock")
    written = Preferences(path)
    written.theme = "dark"
    begin = time.monotonic()
    written.save()
    assert time.monotonic() - begin < 5
    lock.release()
    assert Preferences(path).theme == "dark"


def test_of_two_threads_the_later_value_wins(tmp_path: Path) -> None:
    """A save that has waited for its turn writes the values of then, not those of before."""
    path = tmp_path / "preferences.json"
    ours = Preferences(path)
    ours.save()
    lock = Lock(tmp_path / ".preferences.json.lock")
    ours.geometry = "old"
    waiting = threading.Thread(target=ours.save)
    waiting.start()
    time.sleep(0.2)
    ours.geometry = "new"
    lock.release()
    ours.save()
    waiting.join()
    assert Preferences(path).geometry == "new"


def test_what_could_not_be_read_is_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    path.write_text('{"presets": {"mine": {}},}')
    preferences = Preferences(path)
    assert "preferences.broken.json" in preferences.problem
    preferences.save()
    assert (tmp_path / "preferences.broken.json").read_text() == '{"presets": {"mine": {}},}'
    assert Preferences(path).problem == ""
