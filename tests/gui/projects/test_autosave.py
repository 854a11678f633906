"""Unsaved work: autosaved, offered after a crash, and never in anybody's way."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PySide6.QtWidgets import QFileDialog, QMessageBox

from isca_gui import app as program
from isca_gui.core.model import training, training_snapshot
from isca_gui.core.model.training_snapshot import Snapshot, SnapshotError
from isca_gui.core.pictures import image
from isca_gui.core.progress import run
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.solvers.steps import State, Step
from isca_gui.core.storage.lock import Lock
from isca_gui.projects import project_io, recovery_folder
from isca_gui.projects.file_locks import lock_of
from isca_gui.projects.manager import SUFFIX
from isca_gui.session.preferences import Preferences
from isca_gui.session.records import Reference, SessionState
from isca_gui.session.records import Run as Ended
from tests.gui.conftest import SETTINGS, SPEC, rest
from tests.places import ROOT

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.window.main_window import MainWindow

KILLS = int(os.environ.get("ISCA_KILLS", "4"))
INTERVAL = 0.5  # seconds between two autosaves
SLACK = 0.5  # seconds, for a timer that is late
KERNEL = TrainingSettings("kernel-isca", kernel="rbf", epochs=200)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISCA_AUTOSAVE_SECONDS", str(INTERVAL))


@pytest.fixture
def work(picture: NDArray[np.float32], small: Dataset, model: Model) -> SessionState:
    reference = Reference("small.png", picture)
    runs = (Ended(1, "ISCA 1", model, SETTINGS),)
    return SessionState(SPEC, SETTINGS, reference, small, small.digest(), reference, runs, run=1)


def fill(window: MainWindow, work: SessionState) -> None:
    """Put the work into the window as if it had been done there."""
    window.session.set_work(work)


def folders() -> list[Path]:
    return sorted(recovery_folder.root().glob("*")) if recovery_folder.root().exists() else []


def leave(work: SessionState, path: str = "", live: Snapshot | None = None) -> Path:
    """Leave work behind, as a process does that ends without saving it."""
    safe = recovery_folder.RecoveryFolder()
    run(safe.save(work, {}, "", path, live, None))
    folder = safe.folder
    assert folder is not None
    safe.close(keep=True)
    return folder


def states(data: Dataset, settings: TrainingSettings, after: int) -> tuple[State, tuple[Step, ...]]:
    """Train up to an epoch and return the state that is reported there, with all steps."""
    task = training.train(data, settings, due=lambda: True)
    steps: list[Step] = []
    for report in task:
        if isinstance(report, Step):
            steps.append(report)
        if isinstance(report, State) and report.epoch == after:
            task.close()
            return report, tuple(steps)
    raise AssertionError("it ended before")


# --- snapshots of a training ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        TrainingSettings(epochs=9),
        TrainingSettings(solver="direct", epochs=9, tolerance=1e-7),
        replace(KERNEL, epochs=9),
        replace(KERNEL, epochs=9, solver="direct", tolerance=1e-7),
        TrainingSettings(components=9, epochs=9),
    ],
)
def test_a_training_goes_on_from_a_snapshot_bit_by_bit(
    small: Dataset, settings: TrainingSettings, tmp_path: Path
) -> None:
    whole = run(training.train(small, settings))
    state, steps = states(small, settings, 4)
    digest = small.digest()
    height, width = small.reference.shape
    training_snapshot.save(
        tmp_path / "t.npz", Snapshot(3, "ISCA 3", (height, width), settings, state, steps, digest)
    )
    found = training_snapshot.load(tmp_path / "t.npz")
    assert (found.number, found.name, found.dataset) == (3, "ISCA 3", digest)
    model = run(training.restored(small, found.settings, found.state, found.steps))
    assert (model.end, model.state.epoch, len(model.steps)) == ("stopped", 4, 4)
    assert model.known is not None
    assert model.known.descriptors.shape[1] == len(small.entries)
    again = run(training.train(small, settings, resume=model))
    assert again.state.epoch == whole.state.epoch == 9
    assert again.state.u.tobytes() == whole.state.u.tobytes()
    assert again.basis.tobytes() == whole.basis.tobytes()
    assert [step.objective for step in again.steps] == [step.objective for step in whole.steps]


def test_being_asked_where_it_stands_changes_no_training(small: Dataset) -> None:
    settings = TrainingSettings(epochs=6)
    plain = run(training.train(small, settings))
    asked = run(training.train(small, settings, due=lambda: True))
    assert asked.state.u.tobytes() == plain.state.u.tobytes()


def test_a_broken_snapshot_is_refused(small: Dataset, tmp_path: Path) -> None:
    state, steps = states(small, TrainingSettings(epochs=3), 2)
    height, width = small.reference.shape
    path = tmp_path / "t.npz"
    good = Snapshot(1, "a", (height, width), TrainingSettings(epochs=3), state, steps)
    training_snapshot.save(path, good)
    raw = path.read_bytes()
    rng = random.Random(1)
    for _ in range(60):
        mutant = bytearray(raw)
        for _ in range(rng.randint(1, 3)):
            mutant[rng.randrange(len(mutant))] ^= 1 << rng.randrange(8)
        path.write_bytes(mutant[: rng.choice([len(raw), len(raw) // 2])])
        try:
            found = training_snapshot.load(path)
        except SnapshotError as error:
            assert "t.npz" in str(error)  # noqa: PT017
        else:
            assert np.array_equal(found.state.u, state.u), "a flip outside of what is read"
    path.write_bytes(b"")
    with pytest.raises(SnapshotError, match=r"t\.npz"):
        training_snapshot.load(path)
    bad = replace(good, state=replace(state, u=np.full_like(state.u, np.nan)))
    training_snapshot.save(path, bad)
    with pytest.raises(SnapshotError, match="finite"):
        training_snapshot.load(path)
    training_snapshot.save(
        path, replace(good, state=replace(state, u=state.u[:3], v=state.v[:3], j=state.j[:3]))
    )
    with pytest.raises(SnapshotError, match="fit"):
        training_snapshot.load(path)
    with pytest.raises(SnapshotError, match="No such file"):
        training_snapshot.load(tmp_path / "nothing")


# --- autosave -------------------------------------------------------------------------------------


def test_work_is_autosaved_until_it_is_saved(
    qtbot: QtBot, window: MainWindow, work: SessionState, tmp_path: Path
) -> None:
    assert folders() == [], "nothing yet"
    with qtbot.waitSignal(window.recovery.autosaved):
        fill(window, work)
    (folder,) = folders()
    assert (folder / recovery_folder.DOCUMENT).exists()
    assert recovery_folder.find_unsaved_work() == ([], []), "its process lives"
    window.projects._write(str(tmp_path / f"a{SUFFIX}"))
    rest(qtbot, window)
    qtbot.waitUntil(lambda: not (folder / recovery_folder.DOCUMENT).exists())
    with qtbot.waitSignal(window.recovery.autosaved):
        window.session.remove_run(1)
    assert recovery_folder._project_path(folder) == str(tmp_path / f"a{SUFFIX}")
    window.quit()
    (box,) = window.findChildren(QMessageBox)
    box.button(QMessageBox.StandardButton.Discard).click()
    assert folders() == [], "ended in good order"


def test_what_is_discarded_while_a_training_runs_is_not_offered_again(
    qtbot: QtBot, window: MainWindow, work: SessionState
) -> None:
    with qtbot.waitSignal(window.recovery.autosaved):
        fill(window, work)
    window.session.set_settings(replace(KERNEL, epochs=1_000_000))
    window.menu_actions.train()
    qtbot.waitUntil(lambda: window.session.live is not None and len(window.session.live.steps) > 1)
    qtbot.waitUntil(lambda: not window.recovery.busy)
    window.quit()
    (box,) = window.findChildren(QMessageBox)
    box.button(QMessageBox.StandardButton.Discard).click()
    assert not window.isVisible()
    assert folders() == []


def test_work_stays_when_the_window_is_closed_by_the_system(
    qtbot: QtBot, window: MainWindow, work: SessionState
) -> None:
    with qtbot.waitSignal(window.recovery.autosaved):
        fill(window, work)
    window.close()
    found, problems = recovery_folder.find_unsaved_work()
    assert problems == []
    assert [each.what for each in found] == ["small.png (a dataset, 1 run)"]
    found[0].lock.release()


def test_nothing_worth_keeping_leaves_nothing(
    qtbot: QtBot, window: MainWindow, picture: NDArray[np.float32]
) -> None:
    window.session.set_reference(Reference("a", picture))
    qtbot.wait(round(1000 * (INTERVAL + 0.4)))
    window.close()
    assert folders() == []


def test_what_was_autosaved_is_not_written_again(
    qtbot: QtBot, window: MainWindow, work: SessionState
) -> None:
    with qtbot.waitSignal(window.recovery.autosaved):
        fill(window, work)
    (folder,) = folders()
    written = {path: path.stat().st_mtime_ns for path in folder.rglob("*.isca")}
    assert len(written) == 1
    with qtbot.waitSignal(window.recovery.autosaved):
        window.session.set_settings(TrainingSettings(components=3))
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.isca")} == written


def test_a_training_under_way_is_autosaved_and_comes_back(
    qtbot: QtBot, window: MainWindow, work: SessionState, open_window: Callable[[], MainWindow]
) -> None:
    fill(window, replace(work, runs=(), run=0))
    window.session.set_settings(replace(KERNEL, epochs=1_000_000))
    window.menu_actions.train()
    qtbot.waitUntil(lambda: window.recovery._written_training.epoch > 1, timeout=60_000)
    assert [(folder / recovery_folder.TRAINING).exists() for folder in folders()] == [True]
    window.close()
    other = open_window()
    other.recovery.look()
    qtbot.waitUntil(other.notice.isVisible)
    assert "training in progress" in other.notice.label.text()
    other.notice.buttons[0].click()
    rest(qtbot, other)
    (ended,) = other.session.runs
    assert ended.model.end == "stopped"
    assert ended.model.state.epoch > 1
    assert not ended.stale
    other.session.set_settings(replace(ended.settings, epochs=ended.model.state.epoch + 2))
    other.menu_actions.train(ended)
    rest(qtbot, other)
    assert other.session.runs[-1].model.state.epoch == ended.model.state.epoch + 2
    assert [message.text for message in other.session.messages if message.level == "error"] == []


def test_a_training_that_has_ended_leaves_no_snapshot(
    qtbot: QtBot, window: MainWindow, work: SessionState
) -> None:
    fill(window, replace(work, runs=(), run=0))
    window.session.set_settings(TrainingSettings(epochs=1_000_000))
    window.menu_actions.train()
    qtbot.waitUntil(
        lambda: any((folder / recovery_folder.TRAINING).exists() for folder in folders()),
        timeout=60_000,
    )
    window.menu_actions.stop_training()
    qtbot.waitUntil(lambda: window.session.run is not None)
    (folder,) = folders()
    qtbot.waitUntil(lambda: not (folder / recovery_folder.TRAINING).exists())
    window.close()
    found, _ = recovery_folder.find_unsaved_work()
    restored, _, _ = run(recovery_folder.load(found[0]))
    assert [each.number for each in restored.runs] == [1]
    found[0].lock.release()


def test_a_failing_autosave_is_reported_once(
    qtbot: QtBot,
    window: MainWindow,
    work: SessionState,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    fill(window, work)

    def told() -> list[str]:
        return [each.text for each in window.session.messages if "Autosave failed" in each.text]

    qtbot.waitUntil(lambda: bool(told()))
    window.session.set_settings(TrainingSettings(components=3))
    qtbot.wait(round(1000 * (INTERVAL + 0.6)))
    assert len(told()) == 1
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "folder"))
    qtbot.waitUntil(lambda: len(folders()) == 1 and window.recovery._written is not None)
    assert len(told()) == 1, "as soon as it can be written it is, with nothing changed meanwhile"


# --- the offer ------------------------------------------------------------------------------------


def test_work_left_behind_is_restored(qtbot: QtBot, window: MainWindow, work: SessionState) -> None:
    folder = leave(work)
    program.begin(window)
    qtbot.waitUntil(window.notice.isVisible)
    assert "small.png (a dataset, 1 run)" in window.notice.label.text()
    window.notice.buttons[0].click()
    rest(qtbot, window)
    qtbot.waitUntil(lambda: not folder.exists())
    assert not window.notice.isVisible()
    assert [each.number for each in window.session.runs] == [1]
    assert not window.session.runs[0].stale
    assert window.projects.unsaved
    assert len(folders()) == 1, "it is in this process's own folder now"
    window.close()
    assert len(recovery_folder.find_unsaved_work()[0]) == 1


def test_work_is_offered_again_after_restoring_is_stopped(
    qtbot: QtBot, window: MainWindow, work: SessionState
) -> None:
    folder = leave(work)
    window.recovery.look()
    qtbot.waitUntil(window.notice.isVisible)
    window.notice.buttons[0].click()
    assert window.notice.buttons == []
    window.menu_actions.stop()
    qtbot.waitUntil(lambda: len(window.notice.buttons) == 3)
    rest(qtbot, window)
    assert window.session.runs == ()
    window.notice.buttons[0].click()
    qtbot.waitUntil(lambda: not folder.exists())
    assert len(window.session.runs) == 1


def test_work_is_offered_again_after_the_question_is_cancelled(
    qtbot: QtBot, window: MainWindow, work: SessionState, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(work)
    window.session.set_work(replace(work, runs=()))
    window.projects.mark_changed()
    window.recovery.look()
    qtbot.waitUntil(window.notice.isVisible)
    # The user chooses Save, and then no name.
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    for button in (QMessageBox.StandardButton.Cancel, QMessageBox.StandardButton.Save):
        window.notice.buttons[0].click()
        (box,) = (each for each in window.findChildren(QMessageBox) if each.isVisible())
        box.button(button).click()
        assert len(window.notice.buttons) == 3
        rest(qtbot, window)
    assert window.session.runs == ()


def test_work_is_offered_again_after_the_save_before_it_is_stopped(
    qtbot: QtBot,
    window: MainWindow,
    work: SessionState,
    tmp_path: Path,
    saves_may_go_on: threading.Event,
) -> None:
    path = tmp_path / f"mine{SUFFIX}"
    window.session.set_work(replace(work, runs=(), run=0))
    window.projects._write(str(path))
    rest(qtbot, window)
    window.session.set_settings(replace(SETTINGS, seed=5))
    leave(work)
    window.recovery.look()
    qtbot.waitUntil(window.notice.isVisible)
    window.notice.buttons[0].click()
    (box,) = (each for each in window.findChildren(QMessageBox) if each.isVisible())
    saves_may_go_on.clear()
    box.button(QMessageBox.StandardButton.Save).click()
    window.menu_actions.stop()
    saves_may_go_on.set()
    rest(qtbot, window)
    qtbot.waitUntil(lambda: len(window.notice.buttons) == 3)
    assert window.notice.isVisible()
    assert (window.session.settings.seed, window.projects.unsaved) == (5, True)


def test_restored_work_keeps_its_folder_until_it_is_autosaved(
    qtbot: QtBot, window: MainWindow, work: SessionState
) -> None:
    folder = leave(work)
    window.recovery.look()
    qtbot.waitUntil(window.notice.isVisible)
    fill(window, replace(work, runs=(), run=0))
    window.projects._saved_stamp = window.session.stamp  # nothing to ask about
    window.projects.mark_changed()
    window.recovery._timer.stop()
    window.recovery._autosave()  # of the work before
    assert window.recovery.busy
    (orphan,) = window.recovery._unsaved
    window.recovery._adopted.append(orphan)  # restored while that is under way
    qtbot.waitUntil(lambda: not window.recovery.busy)
    assert folder.exists()
    assert window.recovery._adopted == [orphan]
    window.recovery._adopted.clear()
    rest(qtbot, window)


def test_restored_work_belongs_to_its_file_again(
    qtbot: QtBot, window: MainWindow, work: SessionState, tmp_path: Path
) -> None:
    path = tmp_path / f"mine{SUFFIX}"
    run(project_io.save(str(path), replace(work, runs=(), run=0), {}, ""))
    leave(work, str(path))
    window.recovery.look()
    qtbot.waitUntil(window.notice.isVisible)
    window.notice.buttons[0].click()
    rest(qtbot, window)
    assert window.projects.path == str(path)
    assert window.isWindowModified()
    window.projects.save()
    rest(qtbot, window)
    assert not window.projects.unsaved
    other, _ = run(project_io.load(str(path)))
    assert [each.number for each in other.runs] == [1]


def test_restored_work_whose_file_is_open_elsewhere_is_read_only(
    qtbot: QtBot, window: MainWindow, work: SessionState, tmp_path: Path
) -> None:
    path = tmp_path / f"mine{SUFFIX}"
    run(project_io.save(str(path), work, {}, ""))
    leave(work, str(path))
    other = Lock(lock_of(str(path)))
    window.recovery.look()
    qtbot.waitUntil(window.notice.isVisible)
    window.notice.buttons[0].click()
    rest(qtbot, window)
    other.release()
    assert "read-only" in window.windowTitle()
    said = [message.text for message in window.session.messages if message.level == "warning"]
    assert [words for words in said if "another window" in words]


def test_a_file_that_was_saved_since_is_not_written_over(
    qtbot: QtBot, window: MainWindow, work: SessionState, tmp_path: Path
) -> None:
    path = tmp_path / f"mine{SUFFIX}"
    folder = leave(work, str(path))
    os.utime(folder / recovery_folder.DOCUMENT, (1e9, 1e9))
    run(project_io.save(str(path), replace(work, runs=(), run=0), {}, ""))
    window.recovery.look()
    qtbot.waitUntil(window.notice.isVisible)
    window.notice.buttons[0].click()
    rest(qtbot, window)
    assert [each.number for each in window.session.runs] == [1]
    assert window.projects.path == ""
    assert window.projects.unsaved
    assert any("was saved later than this work" in each.text for each in window.session.messages)


def test_work_is_never_offered_as_that_of_another_project(
    work: SessionState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    safe = recovery_folder.RecoveryFolder()
    run(safe.save(work, {}, "", str(tmp_path / f"a{SUFFIX}"), None, None))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(project_io, "save", full)
    with pytest.raises(OSError, match="No space"):
        run(safe.save(work, {}, "", str(tmp_path / f"b{SUFFIX}"), None, None))
    safe.close(keep=True)
    assert recovery_folder.find_unsaved_work() == ([], [])


def test_a_training_whose_dataset_was_replaced_comes_back(
    qtbot: QtBot,
    window: MainWindow,
    work: SessionState,
    small: Dataset,
    open_window: Callable[[], MainWindow],
) -> None:
    fill(window, replace(work, runs=(), run=0))
    window.session.set_settings(TrainingSettings(epochs=1_000_000))
    window.menu_actions.train()
    qtbot.waitUntil(lambda: window.recovery._written_training.epoch > 1, timeout=60_000)
    other_data = replace(small, pictures=np.ascontiguousarray(small.pictures[:, :, ::-1]))
    window.session.set_dataset(other_data, other_data.digest())
    epoch = window.recovery._written_training.epoch
    qtbot.waitUntil(
        lambda: (
            window.recovery._written_training.epoch > epoch + 1
            and not window.recovery._written_training.own_dataset
        )
    )
    window.close()
    other = open_window()
    other.recovery.look()
    qtbot.waitUntil(other.notice.isVisible)
    other.notice.buttons[0].click()
    rest(qtbot, other)
    (ended,) = other.session.runs
    assert ended.model.state.epoch > epoch
    assert (ended.model.dataset, other.session.dataset.digest()) == (
        small.digest(),
        other_data.digest(),
    )
    assert [
        each.text for each in other.session.messages if each.level in ("warning", "error")
    ] == []


def test_several_are_offered_one_after_the_other(
    qtbot: QtBot, window: MainWindow, work: SessionState
) -> None:
    first = leave(replace(work, runs=(), run=0))
    time.sleep(0.02)
    second = leave(work)
    window.recovery.look()
    qtbot.waitUntil(window.notice.isVisible)
    assert "1 run" in window.notice.label.text(), "the newest first"
    window.notice.buttons[1].click()
    rest(qtbot, window)
    assert not second.exists()
    assert window.notice.isVisible()
    window.notice.buttons[2].click()
    assert not window.notice.isVisible()
    assert first.exists()
    found, _ = recovery_folder.find_unsaved_work()
    assert [each.folder for each in found] == [first], "offered again at the next start"
    found[0].lock.release()


def test_a_living_process_is_left_alone(work: SessionState) -> None:
    safe = recovery_folder.RecoveryFolder()
    run(safe.save(work, {}, "", "", None, None))
    assert recovery_folder.find_unsaved_work() == ([], [])
    safe.close(keep=False)
    assert folders() == []


def test_unreadable_work_is_reported_and_kept(
    qtbot: QtBot, window: MainWindow, work: SessionState
) -> None:
    folder = leave(work)
    (folder / recovery_folder.DOCUMENT).write_text("{")
    empty = recovery_folder.root() / "empty"
    empty.mkdir()
    window.recovery.look()
    rest(qtbot, window)
    assert "cannot be used" in window.session.messages[-1].text
    assert folder.exists()
    assert not empty.exists()
    assert not window.notice.isVisible()


def test_a_file_that_was_lost_does_not_take_the_rest_with_it(
    qtbot: QtBot, window: MainWindow, work: SessionState
) -> None:
    folder = leave(work)
    next(folder.rglob("*.isca")).write_bytes(b"damaged")
    window.recovery.look()
    qtbot.waitUntil(window.notice.isVisible)
    window.notice.buttons[0].click()
    rest(qtbot, window)
    assert window.session.runs == ()
    assert window.session.dataset is not None
    assert any(
        "ISCA 1 could not be restored" in message.text for message in window.session.messages
    )
    qtbot.waitUntil(lambda: len(folders()) == 2 and not window.recovery.busy)
    with qtbot.waitSignal(window.recovery.autosaved):
        window.session.set_settings(TrainingSettings(components=3))
    rest(qtbot, window)
    assert folder.exists(), "whoever can mend it finds it there"


# --- killed ---------------------------------------------------------------------------------------


def reaches(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether what came back is at least what there was at a moment."""
    number, epoch = wanted["live"]
    further = {*found["runs"]} >= {*wanted["runs"]} and {*found["tested"]} >= {*wanted["tested"]}
    trained = not number or found["epochs"].get(number, -1) >= epoch or epoch == 0
    return found["dataset"] >= wanted["dataset"] and further and trained


def kill_at(seconds: float, seed: int, folder: Path) -> tuple[float, float, dict[str, Any]]:
    """Kill the program at a moment; return the seconds lost, those of writing, and what is back."""
    log, state = folder / f"log{seed}", folder / f"state{seed}"
    environment = os.environ | {
        "QT_QPA_PLATFORM": "offscreen",
        "XDG_CONFIG_HOME": str(folder / f"config{seed}"),
        "XDG_STATE_HOME": str(state),
        "ISCA_AUTOSAVE_SECONDS": str(INTERVAL),
    }
    arguments = [str(folder / "small.png"), str(log), str(seed)]
    command = [sys.executable, "-m", "tests.gui.working", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    try:
        # There is something to lose. It is autosaved once, but for every fifth run: the first
        # autosave is slow.
        while (
            not log.exists()
            or '"dataset": true' not in log.read_text()
            or (seed % 5 and not saved(state))
        ):
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(seconds)
    finally:
        killed = time.time()
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    found = recovered(state)
    reached = [each["time"] for each in before if reaches(found, each)]
    return (
        killed - max(reached, default=killed),
        writing(before, killed),
        found | {"before": before[-1:]},
    )


def saved(state: Path) -> bool:
    return any(state.rglob(recovery_folder.DOCUMENT))


def writing(before: list[dict[str, Any]], killed: float) -> float:
    """Return the longest time in seconds that an autosave took, finished or not."""
    longest, begun = 0.0, 0.0
    for each in [*before, {"saving": False, "time": killed}]:
        if each["saving"]:
            begun = begun or each["time"]
        elif begun:
            longest, begun = max(longest, each["time"] - begun), 0.0
    return longest


def recovered(state: Path) -> dict[str, Any]:
    """Take over what the killed process left, as the next start does."""
    os.environ["XDG_STATE_HOME"] = str(state)
    found, problems = recovery_folder.find_unsaved_work()
    assert problems == []
    assert len(found) <= 1
    nothing: dict[str, Any] = {"dataset": False, "runs": [], "tested": [], "epochs": {}}
    if not found:
        return nothing
    work, _, told = run(recovery_folder.load(found[0]))
    found[0].lock.release()
    assert told == []
    return {
        "dataset": work.dataset is not None,
        "runs": [run.number for run in work.runs],
        "tested": [test.number for test in work.tested],
        "epochs": {run.number: run.model.state.epoch for run in work.runs},
    }


@pytest.mark.alone
@pytest.mark.timeout(1200)
def test_killed_at_any_moment_hardly_anything_is_lost(
    tmp_path: Path, picture: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # put back afterwards
    image.save_png(tmp_path / "small.png", picture)
    moments = random.Random(6)
    lost, came_back = [], 0
    for seed in range(KILLS):
        seconds, writes, found = kill_at(moments.uniform(0.0, 4.0), seed, tmp_path)
        # What is done during one autosave is in the next, which begins an interval later.
        assert seconds <= max(INTERVAL, writes) + writes + SLACK, (seed, seconds, writes, found)
        lost.append(seconds)
        came_back += found["dataset"]
    assert came_back >= 4 * KILLS // 5
    said = f"lost {np.median(lost):.2f} s in the median, {max(lost):.2f} s at most"
    sys.stdout.write(f"{KILLS} kills, {came_back} with work, {said}\n")


# --- two instances --------------------------------------------------------------------------------

WRITER = """
import sys
from isca_gui.session import preferences
from isca_gui.session.preferences import Preferences
preferences._PATIENCE = 60  # after it the file is written without the lock
for number in range(150):
    written = Preferences(sys.argv[1])
    assert not written.problem, written.problem
    written.add_recent(f"{sys.argv[2]}-{number}")
    written.presets[f"{sys.argv[2]}-{number}"] = written.settings
    written.save()
"""


def test_two_instances_do_not_break_each_others_preferences(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    both = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], cwd=ROOT) for name in "ab"
    ]
    assert [process.wait(240) for process in both] == [0, 0]
    assert Preferences(path).recent[0] in ("a-149", "b-149")
    assert len(Preferences(path).presets) == 300, "none of the other's was lost"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["preferences.json"]
