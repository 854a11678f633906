"""Fixtures and order of all tests."""

from __future__ import annotations

import os
import random
import signal
from typing import TYPE_CHECKING

# The BLAS threads of tests that run side by side would wait for each other. The variable is read
# when NumPy is loaded.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Tests started with "&" in a script ignore Ctrl-C, and so would the commands that they start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest
from hypothesis import settings

from isca_gui import cli
from tests.commands import Done

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# On a busy machine any example may exceed a deadline in wall time; all other settings are kept.
settings.register_profile("no-deadline", settings.default, deadline=None)
settings.load_profile("no-deadline")

# These run first: started last, one of them would run on alone at the end.
LONG = {
    "test_bundle_contents.py",
    "test_documents.py",
    "test_reproduce.py",
    "test_random_actions.py",
    "test_training.py",
    "test_commands.py",
    "test_manager.py",
    "test_autosave.py",
    "test_results_menu.py",
    "test_project.py",
    "test_model_file.py",
    "test_admm.py",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="files, and tests within them, in a random order",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the files, each of which runs in one process: the longest first, or at random.

    Shuffling finds tests that depend on an earlier one. Files stay together, because their tests
    share fixtures, and the longest files are still not among the last.
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
    """Run a command in this process, which is faster, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str | Path) -> Done:
        capsys.readouterr()
        try:
            code = cli.main([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
        return Done(code, *capsys.readouterr())

    return call
