"""Among equally good pairings rows keep their order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract import compile_schema
from pytest_extract.core.engine.ties import MOST_COMPARED, equal_in_order, in_order

ROW = {"k": {"type": "string"}, "v": {"type": "object", "properties": {"a": {"type": "integer"}}}}
SCORER = compile_schema({"type": "array", "items": {"type": "object", "properties": ROW}}, semantics="default")
tables = st.integers(1, 6).flatmap(
    lambda size: st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=size, max_size=size),
        min_size=size,
        max_size=size,
    )
)


@given(scores=tables, order=st.randoms())
def test_the_sum_never_falls_and_no_exchange_that_would_restore_the_order_is_left(scores, order):
    partners = list(range(len(scores)))
    order.shuffle(partners)
    pairs = list(enumerate(partners))
    found = in_order(pairs, lambda i, j: scores[i][j])
    assert sorted(j for _, j in found) == sorted(partners)
    assert sum(scores[i][j] for i, j in found) >= sum(scores[i][j] for i, j in pairs)
    for i, j in found:
        for k, m in found:
            crosses = i < k and j > m and scores[i][j] < 1.0 and scores[k][m] < 1.0
            same = scores[i][m] + scores[k][j] == scores[i][j] + scores[k][m]
            assert not (crosses and same and min(scores[i][m], scores[k][j]) > 0.0)


def test_long_lists_are_put_in_order_too():
    size = MOST_COMPARED * 2
    assert in_order([(i, size - 1 - i) for i in range(size)], lambda _i, _j: 0.5) == [(i, i) for i in range(size)]


def test_rows_of_which_none_is_right_are_told_in_their_order():
    def row(name, number):
        return {"k": name, "v": {"a": number}}

    gold = [row("x", 1), row("x", 2), row("y", 3), row("x", 4)]
    extracted = [row("y", 9), row("x", 8), row("x", 7), row("x", 6)]
    assert SCORER.score(gold, extracted).arrays[0].pairs == ((0, 1), (1, 2), (2, 0), (3, 3))


@given(scores=tables, order=st.randoms(), names=st.lists(st.sampled_from("ab"), min_size=12, max_size=12))
def test_rows_that_are_equal_change_partners_and_nothing_else(scores, order, names):
    ours, theirs = names[: len(scores)], names[6 : 6 + len(scores)]
    partners = list(range(len(scores)))
    order.shuffle(partners)
    pairs = [*enumerate(partners)][: order.randint(0, len(partners))]
    found = equal_in_order(pairs, ours, theirs)
    assert sorted((ours[i], theirs[j]) for i, j in found) == sorted((ours[i], theirs[j]) for i, j in pairs)
    assert len({i for i, _ in found}) == len({j for _, j in found}) == len(pairs)
    assert not [
        1 for i, j in found for k, m in found if i < k and j > m and ours[i] == ours[k] and theirs[j] == theirs[m]
    ]


def test_the_one_of_several_equal_rows_that_is_wrong_stays_where_it_is():
    def row(number):
        return {"k": "x", "v": {"a": number}}

    gold = [row(1), row(1), row(1), row(2)]
    extracted = [row(7), row(1), row(1), row(2)]
    assert SCORER.score(gold, extracted).arrays[0].pairs == ((0, 0), (1, 1), (2, 2), (3, 3))
    assert SCORER.score(gold, extracted[1:]).arrays[0].missing == (2,)
    assert equal_in_order([(0, 1)], "aa", "ba") == [(1, 1)]


@pytest.mark.parametrize("size", [3, 8, 40])
def test_equal_rows_keep_their_order_among_others(size):
    items = {"type": "object", "properties": {"k": {"type": "string"}, "n": {"type": "number"}}}
    scorer = compile_schema({"type": "array", "items": items}, semantics="default")
    gold = [{"k": "x", "n": 1}] * size
    extracted = [{"k": "x", "n": place % 2} for place in range(size)]
    assert scorer.score(gold, extracted).arrays[0].pairs == tuple((place, place) for place in range(size))


def test_rows_that_are_as_good_in_their_order_are_paired_so():
    gold, extracted = ["cbb", "bba", "bbc"], ["cba", "caa", "bcb"]
    items = {"type": "object", "properties": {str(at): {"type": "string"} for at in range(3)}}
    scorer = compile_schema({"type": "array", "items": items}, semantics="default")
    sides = ([{str(at): letter for at, letter in enumerate(row)} for row in rows] for rows in (gold, extracted))
    assert scorer.score(*sides).arrays[0].pairs == ((0, 0), (1, 1), (2, 2))
