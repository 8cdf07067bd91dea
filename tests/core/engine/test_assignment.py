from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from pytest_extract.core.engine import assignment
from pytest_extract.core.engine.assignment import assign

LEVELS = {
    "halves": (0.0, 0.5, 1.0),
    "sixths": tuple(n / 6 for n in range(7)),
    "awkward": (0.0, 0.0, 0.1, 0.3, 1 / 3, 2 / 3, 0.7),
}


def random_matrix(rng: random.Random, levels: tuple[float, ...], limit: int = 8) -> list[list[float]]:
    height, width = rng.randint(1, limit), rng.randint(1, limit)
    return [[rng.choice(levels) for _ in range(width)] for _ in range(height)]


def textbook(scores: list[list[float]]) -> list[tuple[int, int]]:  # noqa: C901 - as the description has it
    """The paragraph of scoring.md 2.8, word by word."""
    if len(scores) > len(scores[0]):
        return sorted((row, column) for column, row in textbook([list(row) for row in zip(*scores, strict=True)]))
    cost = [[-score for score in row] for row in scores]
    height, width = len(cost), len(cost[0])
    u, v, row_of, column_of = [0.0] * height, [0.0] * width, [-1] * width, [-1] * height
    for start in range(height):
        remaining, dist = list(reversed(range(width))), [float("inf")] * width
        origin, visited_rows, visited_columns, minval, i, sink = [-1] * width, [start], [], 0.0, start, -1
        while sink < 0:
            lowest, at = float("inf"), -1
            for place, j in enumerate(remaining):
                r = minval + cost[i][j] - u[i] - v[j]
                if r < dist[j]:
                    dist[j], origin[j] = r, i
                if dist[j] < lowest or (dist[j] == lowest and row_of[j] < 0):
                    lowest, at = dist[j], place
            minval, j = lowest, remaining[at]
            visited_columns.append(j)
            remaining[at] = remaining[-1]
            remaining.pop()
            if row_of[j] < 0:
                sink = j
            else:
                i = row_of[j]
                visited_rows.append(i)
        u[start] += minval
        for i in visited_rows[1:]:
            u[i] += minval - dist[column_of[i]]
        for j in visited_columns:
            v[j] -= minval - dist[j]
        while True:
            i = origin[sink]
            row_of[sink] = i
            column_of[i], sink = sink, column_of[i]
            if i == start:
                break
    return list(enumerate(column_of))


@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
def test_ties_fall_as_the_description_says(levels):
    rng = random.Random(len(levels))
    for _ in range(1000):
        matrix = random_matrix(rng, levels)
        assert assign(matrix) == textbook(matrix)


@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize(("limit", "times"), [(8, 2000), (50, 30)], ids=["small", "large"])
def test_ties_fall_as_in_scipy(levels, limit, times, monkeypatch):
    monkeypatch.setattr(assignment, "MOST_CELLS", limit * limit)
    rng = random.Random(limit)
    for _ in range(times):
        matrix = random_matrix(rng, levels, limit)
        rows, columns = linear_sum_assignment(np.array(matrix), maximize=True)
        assert assign(matrix) == list(zip(rows.tolist(), columns.tolist(), strict=True))


@given(
    st.integers(1, 5).flatmap(
        lambda width: st.lists(st.lists(st.floats(0, 1), min_size=width, max_size=width), min_size=1, max_size=5)
    )
)
def test_no_permutation_is_better(matrix):
    found = sum(matrix[row][column] for row, column in assign(matrix))
    tall = matrix if len(matrix) <= len(matrix[0]) else [list(row) for row in zip(*matrix, strict=True)]
    best = max(
        sum(row[column] for row, column in zip(tall, chosen, strict=True))
        for chosen in itertools.permutations(range(len(tall[0])), len(tall))
    )
    assert found == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("matrix", [[], [[]], [[], []]], ids=["no rows", "no columns", "two empty rows"])
def test_nothing_to_assign(matrix):
    assert assign(matrix) == []
