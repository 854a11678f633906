"""Closing the window at any moment ends with exit code 0, within a second, without output."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.gui.closing import MOMENTS
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

MOST = 1.0  # seconds, the end of the process included


def close_at(moment: str, delay: int, folder: Path) -> tuple[int, str, float]:
    """Start the program and close it at a moment; return exit code, output and seconds taken."""
    environment = {
        **os.environ,
        "QT_QPA_PLATFORM": "offscreen",
        "QT_LOGGING_RULES": "qt.qpa.*=false",
        "XDG_CONFIG_HOME": str(folder),
    }
    command = [sys.executable, "-m", "tests.gui.closing", moment, str(delay)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=120
    )
    ended = time.time()
    lines = [line for line in done.stdout.splitlines() if line.startswith("closing ")]
    begun = float(lines[0].split()[1]) if lines else 0.0
    said = "\n".join(
        line
        for line in done.stderr.splitlines()
        if "plugin does not support propagateSizeHints" not in line
    )
    return done.returncode, said, ended - begun


@pytest.mark.alone
@pytest.mark.parametrize("moment", MOMENTS)
def test_closing_at_any_moment_ends_cleanly(moment: str, tmp_path: Path) -> None:
    code, said, seconds = close_at(moment, 20, tmp_path)
    assert (code, said) == (0, "")
    assert seconds < MOST
    assert (tmp_path / "isca-studio" / "preferences.json").exists()
