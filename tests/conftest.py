"""What tests of several modules share."""

from __future__ import annotations

import os
import random
import signal
from typing import TYPE_CHECKING

# Several files at a time: their BLAS threads would wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is loaded

# Begun with "&" in a script: the commands that tests stop by Ctrl-C would not hear it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest
from hypothesis import settings

from isca_gui import cli
from tests.commands import Done

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Wall time: on a busy machine any example may take longer than its deadline.
settings.register_profile(
    "unhurried", settings.default, deadline=None
)  # the rest as it is, also in CI
settings.load_profile("unhurried")

# Begun last, one of these would run on alone at the end.
LONG = {
    *(
        "test_documents.py",
        "test_paper.py",
        "test_random_actions.py",
        "test_training.py",
        "test_cli.py",
    ),
    *("test_projects.py", "test_results.py", "test_project.py", "test_archive.py", "test_admm.py"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="files, and tests within them, in a random order",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order files, each of which one process runs: the longest first, or with --shuffle anyhow.

    A test that leans on one before it is found by shuffling. Files stay together, for what their tests share;
    the longest are not among the last then either.
    """
    seed = config.getoption("shuffle")
    if seed is None:
        items.sort(key=lambda item: item.path.name not in LONG)
        return
    dice = random.Random(seed)
    files = {
        path: dice.random() * (0.6 if path.name in LONG else 1)
        for path in sorted({item.path for item in items})
    }
    dice.shuffle(items)
    items.sort(key=lambda item: files[item.path])


@pytest.fixture
def isca(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Done]:
    """Run the command in this process, which is faster, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str | Path) -> Done:
        capsys.readouterr()
        try:
            code = cli.main([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
        return Done(code, *capsys.readouterr())

    return call
