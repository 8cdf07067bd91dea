"""Where lists break off: recall by position and by length, the edge and its interval."""

from __future__ import annotations

import random

import pytest

from pytest_extract.core.aggregate.slices import FoundRows, Recall, list_recall
from tests.cpu_time import cpu_seconds


def lists(kind, edge, seed=1, count=40):
    """Make lists of 5 to 1,500 rows, of which one row in a hundred is missing, and more beyond an edge."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        length = int(10 ** rng.uniform(0.7, 3.2))
        lost = 0.4 if kind == "length" and length > edge else 0.01
        cut = edge if kind == "position" else length
        made.append(FoundRows(length, tuple(at for at in range(length) if at >= cut or rng.random() < lost)))
    return made


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("edge", [40, 300])
@pytest.mark.parametrize("kind", ["position", "length"])
def test_the_edge_is_found_within_its_interval(kind, edge, seed):
    found = list_recall("items", "", lists(kind, edge, seed)).edge
    assert (found.by, found.low <= edge <= found.high) == (kind, True)
    assert found.before > 0.97
    assert found.after < 0.7
    if kind == "position":
        assert found.at == edge


def test_rows_that_are_missing_by_chance_are_no_edge():
    edges = [list_recall("items", "", lists("none", 0, seed)).edge for seed in range(30)]
    assert sum(edge is not None for edge in edges) <= 4


def test_rows_are_counted_by_position_and_by_length():
    found = list_recall("items", "m", [FoundRows(12, (11,)), FoundRows(3, ()), FoundRows(40, (0, 35))])
    assert (found.lists, found.longest, found.total) == (3, 40, Recall(55, 52))
    assert found.by_position == {10: Recall(23, 22), 30: Recall(22, 21), 100: Recall(10, 9)}
    assert found.by_length == {10: Recall(3, 3), 30: Recall(12, 11), 100: Recall(40, 38)}


def test_one_list_without_its_end_has_an_edge_by_position():
    edge = list_recall("items", "", [FoundRows(200, tuple(range(150, 200)))]).edge
    assert (edge.by, edge.at, edge.after) == ("position", 150, 0.0)


def test_long_lists_take_little_time():
    broken_off = [FoundRows(20_000, tuple(range(12_000, 20_000)))] * 20
    assert cpu_seconds(lambda: list_recall("items", "", broken_off), calls=1) < 3
