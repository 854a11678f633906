"""Neighbours: which class a block votes for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isca_gui.core.recognition.neighbours import UNDECIDED, Neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence


def points_at(distances: Sequence[float]) -> np.ndarray:
    """Training points of one block, so far from 0."""
    return np.array(distances, np.float32)[None, :, None]


def vote(labels: str, distances: Sequence[float], k: int) -> str | None:
    """Return the class that a block at 0 votes for; the reference, far away, comes first."""
    levels = np.arange(1.0 + len(labels))
    neighbours = Neighbours(points_at([100.0, *distances]), ["original", *labels], levels, k=k)
    winner = int(neighbours.nearest(np.zeros((1, 1), np.float32)).winner[0])
    return None if winner == UNDECIDED else neighbours.classes[winner]


@pytest.mark.parametrize(
    ("labels", "distances", "k", "winner"),
    [
        ("AB", (1, 2), 1, "A"),
        ("AB", (2, 1), 1, "B"),
        ("AB", (1, 1), 1, None),
        ("BA", (1, 1), 1, None),
        ("ABB", (1, 2, 3), 3, "B"),
        ("ABB", (1, 2, 3), 2, "A"),  # one each: the nearer
        ("AABB", (1, 9, 2, 3), 3, "B"),
        ("ABC", (1, 2, 3), 3, "A"),
        ("ABC", (1, 2, 3), 1000, "A"),
        ("ABBB", (1, 2, 3, 4), 1000, "B"),
        ("AAB", (1, 1, 2), 1, "A"),  # a tie within a class is none
    ],
)
def test_the_vote_of_one_block(
    labels: str, distances: tuple[float, ...], k: int, winner: str | None
) -> None:
    assert vote(labels, distances, k) == winner


# Of the k nearest: a tie that decides is undecided, whichever class comes first.
@pytest.mark.parametrize(
    ("labels", "distances", "k"),
    [
        ("CAABB", (1, 2, 3, 2, 3), 5),  # two each, equally near, and one of another class nearer
        ("ABAB", (1, 2, 3, 3), 3),  # the third place is taken by either class
    ],
)
def test_a_tie_among_the_k_nearest_is_not_settled_by_order(
    labels: str, distances: tuple[float, ...], k: int
) -> None:
    renamed = labels.translate(str.maketrans("AB", "BA"))
    assert vote(labels, distances, k) is None
    assert vote(renamed, distances, k) is None


@given(
    labels=st.lists(st.sampled_from("ABCD"), min_size=2, max_size=12),
    numbers=st.data(),
    k=st.sampled_from([1, 1, 2, 3, 5]),
)
@settings(max_examples=150)
def test_the_order_of_the_training_pictures_does_not_matter(
    labels: list[str], numbers: st.DataObject, k: int
) -> None:
    """All distances different."""
    distances = numbers.draw(
        st.lists(st.integers(1, 90), min_size=len(labels), max_size=len(labels), unique=True)
    )
    order = numbers.draw(st.permutations(range(len(labels))))
    first = vote("".join(labels), distances, k)
    assert first is not None
    assert vote("".join(labels[n] for n in order), [distances[n] for n in order], k) == first


def test_pictures_that_do_not_differ_from_the_reference_are_no_examples() -> None:
    points = np.array([[[0.0], [0.0], [5.0]]], np.float32)
    same = np.array([[False, True, False]])
    neighbours = Neighbours(
        points, ["original", "blur", "blur"], np.array([0.0, 1.0, 2.0]), same=same
    )
    near = neighbours.nearest(np.zeros((1, 1), np.float32))
    assert near.winner.tolist() == [0]
    assert near.distances.tolist() == [[0.0, 5.0]]
