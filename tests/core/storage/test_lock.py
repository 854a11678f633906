"""Locks: one holder at a time, and none outlives its process."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from isca_gui.core.storage.lock import Lock, Locked
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

HOLD = """
import sys, time
from isca_gui.core.storage.lock import Lock
lock = Lock(sys.argv[1])
print("held", flush=True)
time.sleep(60)
"""
COUNT = """
import sys
from isca_gui.core.storage.lock import Lock, Locked
path, counter, done = sys.argv[1], sys.argv[2], 0
while done < 60:
    try:
        lock = Lock(path)
    except Locked:
        continue
    value = int(open(counter).read())
    open(counter, "w").write(str(value + 1))
    lock.release()
    done += 1
"""


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = Lock(path)
    with pytest.raises(Locked):
        Lock(path)
    first.release()
    first.release()
    assert not path.exists()
    Lock(path).release()


def test_a_lock_follows_its_file_when_a_folder_is_renamed(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    first = Lock(tmp_path / "old" / "lock")
    (tmp_path / "old").rename(tmp_path / "new")
    assert first.is_at(tmp_path / "new" / "lock")
    assert not first.is_at(tmp_path / "old" / "lock")
    (tmp_path / "old").mkdir()
    second = Lock(tmp_path / "old" / "lock")
    assert not first.is_at(second.path)
    first.release()
    assert not first.is_at(tmp_path / "new" / "lock")
    # Releasing the first must not remove the file of the second, which has its old name.
    with pytest.raises(Locked):
        Lock(second.path)
    second.follow(tmp_path / "new" / "lock")
    (tmp_path / "old" / "lock").replace(tmp_path / "new" / "lock")
    second.release()
    assert [*tmp_path.rglob("lock")] == []


def test_a_file_left_behind_can_be_locked(tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(b"")
    Lock(tmp_path / "lock").release()


def test_it_fails_where_there_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nothing"):
        Lock(tmp_path / "nothing" / "lock")


def test_it_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"held\n"
    with pytest.raises(Locked):
        Lock(path)
    process.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
    process.wait()
    assert path.exists()
    Lock(path).release()


def test_two_processes_never_hold_it_together(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    command = [sys.executable, "-c", COUNT, str(tmp_path / "lock"), str(counter)]
    both = [subprocess.Popen(command, cwd=ROOT) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert counter.read_text() == "120"


def test_a_system_without_locks_is_an_error_and_not_another_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("isca_gui.core.storage.lock._lock", none)
    with pytest.raises(OSError, match="No locks available"):
        Lock(tmp_path / "lock")
