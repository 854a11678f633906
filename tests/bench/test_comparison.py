"""`isca bench compare`: what is timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.bench import comparison

if TYPE_CHECKING:
    import pytest


def test_all_times_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_TIMES", 1)
    monkeypatch.setattr(comparison, "_COPIES", 2)
    monkeypatch.setattr(comparison, "_LARGE", (200, 300))
    found = {figure.name: figure for figure in comparison.measure(1)}
    assert {name.partition(":")[0] for name in found} == {"compare"}
    bounds = [figure.most for figure in found.values() if figure.most is not None]
    assert bounds == [2.5, 8, 20, 1500]
    pair = found["compare: a 512×512 pair, from the prompt to the answer"].value
    bare = found["compare: bare import of the same libraries"].value
    assert found["compare: a 512×512 pair / bare import"].value == pair / bare
    # NumPy alone takes more.
    assert found["compare: memory of a 12-megapixel pair"].value > 20
