"""The examples under resources/examples run as scripts, from any folder, with the right results."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = ROOT / "resources" / "examples"


def output_of(name: str, folder: Path) -> str:
    command = [sys.executable, "-X", "utf8", "-W", "error", EXAMPLES / name]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=200
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_every_example_is_run_here() -> None:
    assert [path.name for path in EXAMPLES.glob("*.py")] == ["first_steps.py"]


def test_first_steps(tmp_path: Path) -> None:
    lines = dict(line.split(": ", 1) for line in output_of("first_steps.py", tmp_path).splitlines())
    assert lines["dataset"].startswith("25 pictures of original, ")
    assert lines["model"].startswith(("converged", "max_epochs"))
    assert lines["verdict"].startswith("JPEG compression, strength about MSE ")
    assert int(lines["leave-one-out"].split("%")[0]) >= 60
    assert lines["estimator"].endswith("projections (25, 4)")
    assert [each.name for each in tmp_path.iterdir()] == ["copy.jpg"]
