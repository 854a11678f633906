"""The public names of `isca_gui.core` exist, are described, and are loaded on first use only."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

import isca_gui.core
from isca_gui.core import EXPORTS
from tests.places import ROOT

PAGE = (ROOT / "resources" / "reference" / "python-api.md").read_text("utf-8")
TABLES = "\n".join(line for line in PAGE.splitlines() if line.startswith("| `"))


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_exists_and_is_described(name: str) -> None:
    module, attribute = EXPORTS[name]
    value = getattr(isca_gui.core, name)
    assert value is getattr(sys.modules[f"isca_gui.core.{module}"], attribute)
    assert f"`{name}`" in TABLES


def test_nothing_else_is_described_as_public() -> None:
    cells = (line.split("|")[1] for line in TABLES.splitlines())
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert named == set(EXPORTS)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'novelty'"):
        _ = isca_gui.core.novelty
    assert set(EXPORTS) <= set(dir(isca_gui.core))


def test_importing_the_core_loads_none_of_its_libraries() -> None:
    code = "import isca_gui.core, json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert "isca_gui.core" in loaded
    heavy = {
        "numpy",
        "scipy",
        "skimage",
        "PIL",
        "numba",
        "tifffile",
        "sklearn",
        "PySide6",
        "matplotlib",
    }
    assert not loaded & heavy
    assert {name for name in loaded if name.startswith("isca_gui.")} == {"isca_gui.core"}
