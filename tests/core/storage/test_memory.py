"""Memory that runs out is told in one sentence, with need and have, and nothing hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from isca_gui.core.storage import memory
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="needs limits and /proc")


def test_sizes_are_told_in_units_that_people_know() -> None:
    assert memory.size_text(340e6) == "340 MB"
    assert memory.size_text(1.234e9) == "1.23 GB"
    assert memory.size_text(0.9996e9) == "1 GB"


def test_what_needs_too_much_says_need_and_have() -> None:
    have = memory.free()
    assert have is not None
    memory.require(1.0, "A crumb")
    with pytest.raises(memory.NotEnoughMemory, match=r"^A moon needs about .* GB of memory, and "):
        memory.require(have + 1e15, "A moon")


def test_no_shortage_has_an_empty_message() -> None:
    assert memory.is_shortage(MemoryError())
    assert "not enough memory" in memory.explanation(MemoryError())
    with pytest.raises(MemoryError) as caught:
        np.empty(2**58)
    assert "GB is needed and" in memory.explanation(caught.value)


def limited(megabytes: int, *words: str) -> tuple[int, str]:
    """Run a command with a limit on its address space; return exit code and what it says."""
    import resource

    size = megabytes * 2**20
    done = subprocess.run(
        [sys.executable, "-m", "isca_gui.cli", *words],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stderr


@needs_limits
@pytest.mark.parametrize("megabytes", [600, 450, 250])
@pytest.mark.parametrize("command", ["dataset", "train", "compare"])
def test_a_large_picture_in_little_memory_ends_in_one_sentence(
    tmp_path: Path, command: str, megabytes: int
) -> None:
    large = tmp_path / "large.png"
    Image.new("L", (6000, 4000), 90).save(large, compress_level=1)
    others = {
        "dataset": ("-o", str(tmp_path / "out")),
        "train": ("-o", str(tmp_path / "model.isca")),
        "compare": (str(large),),
    }
    code, said = limited(megabytes, command, str(large), *others[command])
    lines = [line for line in said.splitlines() if line.startswith("isca: ")]
    assert code == 1
    assert len(lines) == 1
    assert "is needed and" in lines[0] or "of memory, and" in lines[0]
    assert lines[0].count("MB") + lines[0].count("GB") >= 1
    assert "Traceback" not in said
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "model.isca").exists()
