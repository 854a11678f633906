"""Files and folders are the old or the new ones, whatever happens in between."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isca_gui.core.storage import files
from tests.commands import full_disk

if TYPE_CHECKING:
    from collections.abc import Iterator

from tests.places import ROOT

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")
pytestmark = posix


def put(path: Path, data: bytes) -> None:
    with files.replacing(path) as stream:
        stream.write(data)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a script in another process and wait until it says that it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL  # it did not end by itself


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(("mask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_follows_the_umask(tmp_path: Path, mask: int, expected: int) -> None:
    os.umask(mask)
    put(tmp_path / "new", b"1")
    assert mode(tmp_path / "new") == expected


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("wanted", [0o600, 0o640, 0o755, 0o444])
def test_a_replaced_file_keeps_its_mode(tmp_path: Path, wanted: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(wanted)
    put(path, b"new")
    assert path.read_bytes() == b"new"
    assert mode(path) == wanted


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    real, link = tmp_path / "elsewhere" / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(Path("elsewhere", "real"))
    put(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert names(tmp_path) == ["elsewhere", "link"]
    assert names(tmp_path / "elsewhere") == ["real"]


def test_old_content_is_there_until_the_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with files.replacing(path) as stream:
        stream.write(b"new" * 100_000)
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new" * 100_000
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("failure", [ValueError, OSError, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("existed", [True, False])
def test_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, failure: type[BaseException], existed: bool
) -> None:
    path = tmp_path / "file"
    if existed:
        path.write_bytes(b"old")
    with pytest.raises(failure), files.replacing(path) as stream:  # noqa: PT012
        stream.write(b"half")
        raise failure
    assert names(tmp_path) == (["file"] if existed else [])
    assert not existed or path.read_bytes() == b"old"


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        put(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_an_error_without_a_name_gets_that_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="too large") as caught, full_disk(10):
        put(tmp_path / "file", bytes(20))
    assert caught.value.filename == str(tmp_path / "file")


@pytest.mark.parametrize(
    "reason", [errno.EINVAL, errno.EACCES, errno.ENOTSUP, errno.EIO, errno.ENOSPC]
)
def test_a_folder_that_cannot_be_flushed_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    """Some network drives cannot flush a folder, or may not; a broken disk is an error."""
    flush = os.fsync

    def as_such_a_drive(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(reason, os.strerror(reason))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", as_such_a_drive)
    broken = reason in (errno.EIO, errno.ENOSPC)
    with pytest.raises(OSError) if broken else contextlib.nullcontext():  # noqa: PT011
        put(tmp_path / "file", b"new")
    with pytest.raises(OSError) if broken else contextlib.nullcontext():  # noqa: PT011
        with files.replacing_folder(tmp_path / "folder") as folder:
            (folder / "inside").write_bytes(b"new")
    assert broken or names(tmp_path) == ["file", "folder"]


def test_a_folder_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "kept").write_bytes(b"")
    with pytest.raises(OSError, match="folder"):
        put(tmp_path / "folder", b"new")
    assert names(tmp_path) == ["folder"]
    assert names(tmp_path / "folder") == ["kept"]


@pytest.mark.parametrize("through", ["itself", "link"])
# Never a real device: run as root, a fault would replace it.
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_pipes_and_sockets_are_not_replaced(tmp_path: Path, kind: str, through: str) -> None:
    path = tmp_path / "it"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            # The path of a socket must be short.
            bound.bind(os.path.relpath(path))
    if through == "link":
        (tmp_path / "link").symlink_to(path)
    before, there = path.stat().st_ino, names(tmp_path)
    with pytest.raises(OSError, match="not an ordinary file"):
        put(tmp_path / ("link" if through == "link" else "it"), b"new")
    assert path.stat().st_ino == before
    assert not stat.S_ISREG(path.stat().st_mode)
    assert names(tmp_path) == there


def test_text_has_the_same_bytes_everywhere(tmp_path: Path) -> None:
    files.write_text(tmp_path / "text", "ä\nb\r\n")
    assert (tmp_path / "text").read_bytes() == b"\xc3\xa4\nb\r\n"


@pytest.mark.parametrize(
    "name", ["x" * 255, "ä" * 120, "図" * 80, "🙂" * 60], ids=lambda name: name[0]
)
def test_every_name_the_system_allows(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"old")  # the system does allow it
    put(tmp_path / name, b"new")
    assert (tmp_path / name).read_bytes() == b"new"
    assert names(tmp_path) == [name]


HOLDING = """
import sys, time
from isca_gui.core.storage import files
with files.replacing(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("name", ["file", "n" * 200])
def test_a_killed_writers_leftover_goes_with_the_next_write(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"old")
    kill(start(HOLDING, path))
    assert path.read_bytes() == b"old"
    assert len(names(tmp_path)) == 2  # the leftover
    put(path, b"new")
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == [name]


USING = """
import sys, time
from isca_gui.core.storage import files
with files.folder_beside(sys.argv[1]) as folder:
    (folder / "inner").mkdir()
    (folder / "inner" / "file").write_bytes(b"half")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_folder_beside_a_file_goes_at_the_end_or_with_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with files.folder_beside(path) as folder:
        (folder / "file").write_bytes(b"half")
        assert folder.parent == tmp_path
        assert folder.name.startswith(".")
        put(path, b"new")
        assert (folder / "file").exists(), "it is in use"
    assert names(tmp_path) == ["file"]
    with pytest.raises(FileNotFoundError), files.folder_beside(path) as folder:
        (folder / "not there").unlink()
    assert names(tmp_path) == ["file"]
    kill(start(USING, path))
    assert len(names(tmp_path)) == 2
    put(path, b"newer")
    assert names(tmp_path) == ["file"]
    kill(start(USING, path))
    with files.folder_beside(path) as folder:
        assert names(tmp_path) == sorted([folder.name, "file"])
    assert names(tmp_path) == ["file"]


def test_a_living_writers_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    process = start(HOLDING, path)
    try:
        with files.replacing(path) as outer:
            outer.write(b"outer")
            put(path, b"inner")
            assert path.read_bytes() == b"inner"
            assert len(names(tmp_path)) == 3
        assert path.read_bytes() == b"outer"
    finally:
        kill(process)


def test_leftovers_of_others_are_kept(tmp_path: Path) -> None:
    host = socket.gethostname()
    kept = [
        ".file.otherhost-1-aaaa.partial",
        f".file.{host}-{2**22 + 1}-aa.txt",
        ".file.partial",
        "file.partial",
        f".other.{host}-{2**22 + 1}-aaaa.partial",
    ]
    for name in kept:
        (tmp_path / name).write_bytes(b"")
    put(tmp_path / "file", b"new")
    assert names(tmp_path) == sorted([*kept, "file"])


@pytest.mark.parametrize("owner", ["x", "", "²", "9" * 30, "-1"])
def test_names_like_ours_do_not_stop_a_write(tmp_path: Path, owner: str) -> None:
    (tmp_path / f".file.{socket.gethostname()}-{owner}-aaaa.partial").write_bytes(b"")
    put(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


WRITING = """
import itertools, sys
from isca_gui.core.storage import files
print("ready", flush=True)
for turn in itertools.count():
    with files.replacing(sys.argv[1]) as stream:
        for _ in range(16):
            stream.write(bytes([turn % 2 + 65]) * 20_000)
"""


def test_killed_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "file"
    whole = {b"A" * 320_000, b"B" * 320_000}
    put(path, b"A" * 320_000)
    moments = random.Random(1)
    for _ in range(8):
        process = start(WRITING, path)
        time.sleep(moments.uniform(0, 0.05))
        kill(process)
        assert path.read_bytes() in whole
    put(path, b"end")
    assert names(tmp_path) == ["file"]


# --- folders --------------------------------------------------------------------------------------


@pytest.fixture(params=["exchange", "renames"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Systems that can swap two names in one step, and those that cannot."""
    if request.param == "renames":
        monkeypatch.setattr(files, "_exchange", lambda first, second: False)
    return request.param


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("existed", ["no", "empty", "full"])
def test_a_folder_takes_its_place(tmp_path: Path, existed: str) -> None:
    target = tmp_path / "deep" / "folder"
    if existed != "no":
        target.mkdir(parents=True)
    if existed == "full":
        (target / "old").write_bytes(b"old")
    with files.replacing_folder(target) as temporary:
        (temporary / "sub").mkdir()
        (temporary / "sub" / "new").write_bytes(b"new")
        assert (names(target) if target.exists() else []) == (["old"] if existed == "full" else [])
    assert names(target) == ["sub"]
    assert (target / "sub" / "new").read_bytes() == b"new"
    assert names(target.parent) == ["folder"]


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("failure", [ValueError, OSError, KeyboardInterrupt])
def test_failure_leaves_the_old_folder(tmp_path: Path, failure: type[BaseException]) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_bytes(b"old")
    with pytest.raises(failure), files.replacing_folder(target) as temporary:  # noqa: PT012
        (temporary / "new").write_bytes(b"new")
        raise failure
    assert names(tmp_path) == ["folder"]
    assert names(target) == ["old"]


@pytest.mark.parametrize("failing", [1, 2])
def test_a_rename_that_fails_leaves_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_bytes(b"old")
    rename, calls = os.rename, []

    def sometimes(source: Path, goal: Path) -> None:
        calls.append(source)
        if len(calls) == failing:
            raise PermissionError(13, "in use by another process")
        rename(source, goal)

    monkeypatch.setattr(files, "_exchange", lambda first, second: False)
    monkeypatch.setattr(os, "rename", sometimes)
    with pytest.raises(PermissionError), files.replacing_folder(target) as temporary:
        (temporary / "new").write_bytes(b"new")
    assert names(tmp_path) == ["folder"]
    assert names(target) == ["old"]


def test_death_between_two_renames_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where names cannot be swapped, a next write must not take the only copy for a leftover."""
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_bytes(b"old")
    script = """
import os, sys
from isca_gui.core.storage import files
files._exchange = lambda first, second: False
rename, calls = os.rename, []
def dying(source, goal):
    calls.append(source)
    if len(calls) == 2:
        print("ready", flush=True)
        import time; time.sleep(60)
    rename(source, goal)
os.rename = dying
with files.replacing_folder(sys.argv[1]) as temporary:
    (temporary / "new").write_bytes(b"new")
"""
    kill(start(script, target))
    monkeypatch.setattr(files, "_exchange", lambda first, second: False)
    with pytest.raises(ValueError, match="stop"), files.replacing_folder(target):
        raise ValueError("stop")
    assert names(tmp_path) == ["folder"]
    assert names(target) == ["old"]


def aside(target: Path) -> Path:
    return files._sibling(target).with_suffix(".aside")


def test_a_folder_left_aside_is_restored_only_where_nothing_is(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    for number in (1, 2):
        left = aside(target)
        left.mkdir()
        (left / str(number)).write_bytes(b"")
        time.sleep(0.05)  # the clock of the file system may be coarse
    files.restore_folder(target)
    assert names(target) == ["2"]  # the newer one
    files.restore_folder(target)
    assert names(target) == ["2"]
    assert len(names(tmp_path)) == 2


@pytest.mark.parametrize(("first", "second"), [("a", "a.b"), ("n" * 80 + "1", "n" * 80 + "2")])
def test_a_folder_left_aside_is_not_taken_for_anothers(
    tmp_path: Path, first: str, second: str
) -> None:
    for left, wanted in ((first, second), (second, first)):
        folder = aside(tmp_path / left)
        folder.mkdir()
        files.restore_folder(tmp_path / wanted)
        assert names(tmp_path) == [folder.name]
        folder.rmdir()


@pytest.mark.usefixtures("umask", "system")
@pytest.mark.parametrize("wanted", [0o700, 0o750, 0o755])
def test_a_replaced_folder_keeps_its_mode(tmp_path: Path, wanted: int) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    target.chmod(wanted)
    with files.replacing_folder(target) as temporary:
        (temporary / "new").write_bytes(b"new")
    assert mode(target) == wanted


def test_windows_flushes_only_what_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    opened: list[int] = []
    real = os.open

    def noted(path: Path, flags: int) -> int:
        opened.append(flags)
        return real(path, flags)

    monkeypatch.setattr(os, "open", noted)
    for system in ("posix", "nt"):
        with monkeypatch.context() as patched:
            patched.setattr(os, "name", system)
            files._sync(tmp_path / "file")
    assert opened == [os.O_RDONLY, os.O_RDWR]


def test_a_linked_folder_is_written_through(tmp_path: Path) -> None:
    real, link = tmp_path / "disk" / "real", tmp_path / "link"
    real.mkdir(parents=True)
    (real / "old").write_bytes(b"old")
    link.symlink_to(real)
    with files.replacing_folder(link) as temporary:
        (temporary / "new").write_bytes(b"new")
    assert names(link) == ["new"]
    assert names(tmp_path) == ["disk", "link"]
    assert link.is_symlink()
    assert names(real) == ["new"]


def read_by_windows(line: str) -> list[str]:
    """Split a command line as Microsoft documents it: 2n backslashes before a quote are n."""
    words: list[str] = []
    word = ""
    quoted = False
    at = 0
    while at < len(line):
        slashes = len(line[at:]) - len(line[at:].lstrip("\\"))
        if slashes:
            at += slashes
            before_quote = line[at : at + 1] == '"'
            word += "\\" * (slashes // 2 if before_quote else slashes)
            if before_quote and slashes % 2:
                word += '"'
                at += 1
            continue
        character = line[at]
        at += 1
        if character == '"':
            quoted = not quoted
        elif character == " " and not quoted:
            words.append(word)
            word = ""
        else:
            word += character
    return [*words, word]


@given(st.lists(st.text(r"""ab .\\"'&|^<>,;()=-_:/ü""", max_size=8), min_size=1, max_size=4))
def test_a_command_can_be_typed_into_either_shell(words: list[str]) -> None:
    assert shlex.split(files.command_line(words, windows=False)) == words
    typed = files.command_line(words, windows=True)
    assert read_by_windows(typed) == words
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", typed)
    assert not re.search(r"[&|<>^,;()]", outside), "cmd.exe or PowerShell would take it apart"


def test_ordinary_words_are_not_quoted() -> None:
    words = ["isca", "train", r"data\set", "-o", r"C:\m.isca", "--epochs", "5"]
    assert files.command_line(words, windows=True) == " ".join(words)


def test_what_file_managers_leave_is_no_content() -> None:
    left = ["Thumbs.db", "thumbs.DB", "desktop.ini", ".DS_Store", "._manifest.csv", ".directory"]
    assert all(map(files.is_left_by_system, left))
    assert not any(map(files.is_content, [*left, ".git"]))
    assert not files.is_left_by_system(".git"), "somebody's work"
    assert files.is_content("manifest.csv")


def test_a_last_sync_that_fails_says_that_the_new_version_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "note.txt"
    file.write_text("old")

    def fail(folder: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(folder))

    monkeypatch.setattr(files, "sync_folder", fail)
    with pytest.raises(OSError, match="the new version was in place") as caught:
        files.write_text(file, "new")
    assert file.read_text() == "new"
    assert caught.value.filename == str(file)
