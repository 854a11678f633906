"""Boosted decision trees as plain arrays, evaluated with NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DEEPEST = 64


class ForestError(Exception):
    """A file of decision trees is not sound."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose leaf values are summed per output.

    All trees lie one behind the other in the same arrays. A node with `feature` < 0 is a leaf.

    Parameters
    ----------
    roots
        The first node of each tree, shape (tree,).
    outputs
        The output that each tree adds to, shape (tree,).
    feature, threshold, left, right, value
        The nodes, shape (node,): go left where the feature is at most the threshold.
    count
        How many outputs there are.
    """

    roots: NDArray[np.int32]
    outputs: NDArray[np.int16]
    feature: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float32]
    count: int

    def scores(self, features: NDArray[Any]) -> NDArray[np.float64]:
        """Return the summed leaf values, shape (sample, output), for features (sample, feature)."""
        rows = np.atleast_2d(features).astype(np.float32)
        found = np.zeros((len(rows), self.count))
        for row, into in zip(rows, found, strict=True):
            node = self.roots.copy()
            for _ in range(_DEEPEST):
                feature = self.feature[node]
                inside = feature >= 0
                if not inside.any():
                    break
                goes_left = row[feature] <= self.threshold[node]
                child = np.where(goes_left, self.left[node], self.right[node])
                node = np.where(inside, child, node)
            np.add.at(into, self.outputs, self.value[node])
        return found


def forest_from(arrays: dict[str, NDArray[Any]], name: str, features: int) -> Forest:
    """Return the forest stored under a name; a ForestError if its arrays do not fit together."""
    try:
        forest = Forest(
            roots=arrays[f"{name}.roots"].astype(np.int32),
            outputs=arrays[f"{name}.outputs"].astype(np.int16),
            feature=arrays[f"{name}.feature"].astype(np.int16),
            threshold=arrays[f"{name}.threshold"].astype(np.float32),
            left=arrays[f"{name}.left"].astype(np.int32),
            right=arrays[f"{name}.right"].astype(np.int32),
            value=arrays[f"{name}.value"].astype(np.float32),
            count=int(arrays[f"{name}.count"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ForestError(f"{name}: {error}") from error
    _check(forest, features)
    return forest


def _check(forest: Forest, features: int) -> None:
    nodes = forest.feature.size
    shapes = {each.shape for each in (forest.threshold, forest.left, forest.right, forest.value)}
    sound = (
        shapes == {forest.feature.shape} == {(nodes,)}
        and forest.roots.shape == forest.outputs.shape == (forest.roots.size,)
        and forest.feature.max(initial=-1) < features
        and _inside(forest.roots, nodes)
        and _inside(forest.left, nodes)
        and _inside(forest.right, nodes)
        and _inside(forest.outputs, forest.count)
        and bool(np.isfinite(forest.threshold).all() and np.isfinite(forest.value).all())
    )
    if not sound:
        raise ForestError("its arrays do not fit together")


def _inside(indices: NDArray[Any], count: int) -> bool:
    return bool(len(indices) and indices.min() >= 0 and indices.max() < count)
