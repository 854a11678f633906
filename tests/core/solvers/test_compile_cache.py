"""Compiled loops are kept for all processes, and none reads while another writes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

import numba
import pytest

from isca_gui.core.solvers import compiled_loops
from isca_gui.core.solvers.compile_cache import kept, shared
from isca_gui.core.storage.lock import Lock
from tests.commands import full_disk

if TYPE_CHECKING:
    from types import CodeType

from tests.places import ROOT

MODULE = """
import numba
from isca_gui.core.solvers.compile_cache import shared

@shared
@numba.njit(cache=True)
def added(numbers):
    total = 0
    for number in numbers:
        total += number
    return total
"""
WORKER = """
import sys, added
for count in range(int(sys.argv[1]), 24, 3):
    assert added.added((1,) * count) == count
"""


def test_every_compiled_loop_uses_the_locked_cache() -> None:
    for loop in (
        compiled_loops.admm_epoch,
        compiled_loops.orthonormalise,
        compiled_loops.objective,
        compiled_loops._polar_by_svd,
    ):
        assert type(loop._cache._cache_file).__module__ == "isca_gui.core.solvers.compile_cache"


def test_nothing_is_cached_when_compilation_is_disabled() -> None:
    words = [
        sys.executable,
        "-c",
        "from isca_gui.core.solvers import compiled_loops; compiled_loops.prepare(1, 'float64')",
    ]
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    assert subprocess.run(words, env=env, cwd=ROOT).returncode == 0


def tripled(number: int) -> int:
    return 3 * number


def code_of_no_file() -> CodeType:
    return tripled.__code__.replace(co_filename="<nowhere>")


def test_a_loop_works_without_a_cache_folder() -> None:
    function = FunctionType(code_of_no_file(), {}, "tripled")
    # This is what numba says without a folder that it may write.
    with pytest.raises(RuntimeError, match="cannot cache"):
        numba.njit(function, cache=True)
    assert kept(function)(14) == 42


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits")
def test_a_loop_works_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    loop = kept(tripled)
    with full_disk(0):
        assert loop(14) == 42
    assert not list(tmp_path.rglob("*.nbc"))


def test_an_unreadable_cache_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert kept(tripled)(14) == 42
    (index,) = tmp_path.rglob("*.nbi")
    index.unlink()
    index.mkdir()  # whoever reads or writes it fails, root too
    assert kept(tripled)(14) == 42


def test_only_one_process_reads_or_writes_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    @shared
    @numba.njit(cache=True)
    def doubled(number: int) -> int:
        return 2 * number

    folder = Path(doubled._cache.cache_path)
    lock, answers = Lock(folder / ".lock"), []
    other = threading.Thread(target=lambda: answers.append(doubled(21)))
    other.start()
    other.join(0.3)
    assert (answers, list(folder.glob("*.nb?"))) == ([], [])
    lock.release()
    other.join()
    assert answers == [42]
    assert len(list(folder.glob("*.nbc"))) == 1
    assert not (folder / ".lock").exists()


def test_processes_that_compile_at_once_keep_the_code_of_all(tmp_path: Path) -> None:
    (tmp_path / "added.py").write_text(MODULE)
    env = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": f"{tmp_path}:{ROOT}",
    }

    def start(first: int) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", WORKER, str(first)]
        return subprocess.Popen(words, env=env, cwd=tmp_path, stderr=subprocess.PIPE, text=True)

    for worker in [start(first) for first in (1, 2, 3)]:
        assert worker.communicate() == (None, "")
        assert worker.returncode == 0
    assert len(list((tmp_path / "cache").rglob("*.nbc"))) == 23
    check = "import added; added.added((1,) * 7); assert list(added.added.stats.cache_misses) == []"
    again = subprocess.run(
        [sys.executable, "-c", check], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert (again.returncode, again.stderr) == (0, "")


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["empty", "garbage", "cut", "flipped"])
def test_a_damaged_cache_is_compiled_anew_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, damage: str
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert kept(tripled)(14) == 42
    (file,) = tmp_path.rglob(f"*.{suffix}")
    whole = file.read_bytes()
    middle = len(whole) // 2
    altered = {
        "empty": b"",
        "garbage": bytes(range(256)) * 3,
        "cut": whole[:middle],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :],
    }
    file.write_bytes(altered[damage])
    assert kept(tripled)(14) == 42
    again = kept(tripled)
    assert again(14) == 42
    assert list(again.stats.cache_misses) == []


def test_code_without_its_checksum_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert kept(tripled)(14) == 42
    (note,) = tmp_path.rglob("*.sha256")
    note.unlink()
    again = kept(tripled)
    assert again(14) == 42
    assert list(again.stats.cache_hits) == []
    assert note.exists()
