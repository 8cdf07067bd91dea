from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.engine.pairing import assign


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
