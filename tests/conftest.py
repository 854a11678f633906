"""What tests of several modules share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from commands import Done

from isca_gui import cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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
