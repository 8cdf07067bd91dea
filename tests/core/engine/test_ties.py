"""Among equally good pairings rows keep their order."""

from __future__ import annotations

import pytest

from pytest_extract import compile_schema

ROW = {"k": {"type": "string"}, "v": {"type": "object", "properties": {"a": {"type": "integer"}}}}
SCORER = compile_schema({"type": "array", "items": {"type": "object", "properties": ROW}}, semantics="default")


def test_rows_of_which_none_is_right_are_told_in_their_order():
    def row(name, number):
        return {"k": name, "v": {"a": number}}

    gold = [row("x", 1), row("x", 2), row("y", 3), row("x", 4)]
    extracted = [row("y", 9), row("x", 8), row("x", 7), row("x", 6)]
    assert SCORER.score(gold, extracted).arrays[0].pairs == ((0, 1), (1, 2), (2, 0), (3, 3))


def test_the_one_of_several_equal_rows_that_is_wrong_stays_where_it_is():
    def row(number):
        return {"k": "x", "v": {"a": number}}

    gold = [row(1), row(1), row(1), row(2)]
    extracted = [row(7), row(1), row(1), row(2)]
    assert SCORER.score(gold, extracted).arrays[0].pairs == ((0, 0), (1, 1), (2, 2), (3, 3))
    assert SCORER.score(gold, extracted[1:]).arrays[0].missing == (2,)


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
