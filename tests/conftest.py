"""What tests of several modules share."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from commands import Done

from isca_gui import cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="files, and tests within them, in a random order"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --shuffle, no test can lean on one before it; files stay together, for what their tests share."""
    seed = config.getoption("shuffle")
    if seed is None:
        return
    dice = random.Random(seed)
    files = sorted({item.path for item in items})
    dice.shuffle(files)
    order = {
        path: dice.sample(own, len(own)) for path in files if (own := [i for i in items if i.path == path])
    }
    items[:] = [item for path in files for item in order[path]]


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
