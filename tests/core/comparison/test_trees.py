"""Forests against a recursive walk, and arrays that are no forest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isca_gui.core.comparison.trees import ForestError, forest_from
from tests import reference_comparison as literal

FEATURES = 4
OUTPUTS = 3


@st.composite
def stored_forests(draw: st.DrawFn) -> dict[str, np.ndarray]:
    """The arrays of some random trees, as a file holds them."""
    nodes: list[tuple[int, float, int, int, float]] = []

    def grow(depth: int) -> int:
        place = len(nodes)
        nodes.append((-1, 0.0, 0, 0, draw(st.integers(-8, 8)) / 4))
        if depth and draw(st.booleans()):
            feature = draw(st.integers(0, FEATURES - 1))
            threshold = draw(st.integers(-4, 4)) / 2
            left = grow(depth - 1)
            nodes[place] = (feature, threshold, left, grow(depth - 1), 0.0)
        return place

    count = draw(st.integers(1, 5))
    roots = [grow(4) for _ in range(count)]
    outputs = draw(st.lists(st.integers(0, OUTPUTS - 1), min_size=count, max_size=count))
    feature, threshold, left, right, value = zip(*nodes, strict=True)
    return {
        "f.roots": np.array(roots),
        "f.outputs": np.array(outputs),
        "f.feature": np.array(feature),
        "f.threshold": np.array(threshold),
        "f.left": np.array(left),
        "f.right": np.array(right),
        "f.value": np.array(value),
        "f.count": np.array(OUTPUTS),
    }


ROWS = st.lists(
    st.lists(st.integers(-6, 6).map(lambda half: half / 2), min_size=FEATURES, max_size=FEATURES),
    min_size=1,
    max_size=4,
)


@given(stored_forests(), ROWS)
def test_scores_are_those_of_a_walk(arrays: dict[str, np.ndarray], rows: list[list[float]]) -> None:
    forest = forest_from(arrays, "f", FEATURES)
    wanted = [literal.walk(forest, row) for row in rows]
    assert forest.scores(np.array(rows)) == pytest.approx(np.array(wanted))
    assert forest.scores(np.array(rows[0])) == pytest.approx(np.array(wanted[:1]))


def stump() -> dict[str, Any]:
    """One tree of one decision."""
    return {
        "f.roots": np.array([0]),
        "f.outputs": np.array([0]),
        "f.feature": np.array([1, -1, -1]),
        "f.threshold": np.array([0.5, 0, 0]),
        "f.left": np.array([1, 0, 0]),
        "f.right": np.array([2, 0, 0]),
        "f.value": np.array([0, -1.0, 1.0]),
        "f.count": np.array(1),
    }


def test_at_most_the_threshold_goes_left() -> None:
    forest = forest_from(stump(), "f", 2)
    rows = [[0, 0.5], [0, 0.5001], [9, -3]]
    assert forest.scores(np.array(rows)).ravel().tolist() == [-1, 1, -1]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("f.roots", np.array([3])),
        ("f.roots", np.array([-1])),
        ("f.roots", np.array([], int)),
        ("f.roots", np.array([0, 0])),
        ("f.outputs", np.array([1])),
        ("f.outputs", np.array([-1])),
        ("f.feature", np.array([2, -1, -1])),
        ("f.feature", np.array([1, -1])),
        ("f.feature", np.array([], int)),
        ("f.threshold", np.array([np.nan, 0, 0])),
        ("f.threshold", np.array(["a", "b", "c"])),
        ("f.left", np.array([7, 0, 0])),
        ("f.right", np.array([-2, 0, 0])),
        ("f.value", np.array([0, np.inf, 0])),
        ("f.value", np.array([0.0])),
        ("f.count", np.array(0)),
        ("f.count", np.array([1, 2])),
        ("f.count", np.array("many")),
    ],
)
def test_arrays_that_do_not_fit(key: str, value: np.ndarray) -> None:
    with pytest.raises(ForestError):
        forest_from(stump() | {key: value}, "f", 2)


@pytest.mark.parametrize("key", list(stump()))
def test_missing_arrays(key: str) -> None:
    arrays = stump()
    del arrays[key]
    with pytest.raises(ForestError):
        forest_from(arrays, "f", 2)


def test_a_circle_ends() -> None:
    """A damaged file may send a node back to itself."""
    circle = stump() | {"f.left": np.array([0, 0, 0])}
    assert np.isfinite(forest_from(circle, "f", 2).scores(np.zeros(2))).all()
