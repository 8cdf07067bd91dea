from __future__ import annotations

import pytest

from pytest_extract.core.matching.columns import Column, Content, LeafColumn
from pytest_extract.core.matching.fit import pair_all_equal
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.values import MISSING

ANY = BoundMetric(name="any", compare=lambda gold, extracted: float(gold == extracted))
NEVER = BoundMetric(name="never", compare=lambda gold, extracted: 0.0, reflexive=False)


def column(gold, extracted, metric=ANY):
    return Column(gold=gold, extracted=extracted, metric=metric)


@pytest.mark.parametrize(
    ("gold", "extracted", "pairs"),
    [
        (["a", "b", "c"], ["c", "a", "b"], [(0, 1), (1, 2), (2, 0)]),
        (["a", "a"], ["a", "a"], [(0, 0), (1, 1)]),
        ([MISSING, "a"], ["a", MISSING], [(0, 1), (1, 0)]),
        ([[1, {"x": 2}]], [[1, {"x": 2}]], [(0, 0)]),
        (["a", "b"], ["a", "c"], None),
        (["a", "a", "b"], ["a", "b", "b"], None),
        ([1], [True], None),
        ([1], [1.0], None),
        ([None], [MISSING], None),
    ],
    ids=["shuffled", "repeats", "missing", "containers", "one differs", "counts", "true", "float", "null"],
)
def test_rows_of_one_column(gold, extracted, pairs):
    assert pair_all_equal([column(gold, extracted)], len(gold)) == pairs


def test_rows_are_equal_in_all_columns():
    first = column(["a", "b"], ["b", "a"])
    assert pair_all_equal([first, column([1, 2], [2, 1])], 2) == [(0, 1), (1, 0)]
    assert pair_all_equal([first, column([1, 2], [1, 2])], 2) is None


def test_no_columns_make_all_rows_equal():
    assert pair_all_equal([], 2) == [(0, 0), (1, 1)]


def test_a_value_that_is_no_match_for_itself_is_not_equal():
    assert pair_all_equal([column(["a"], ["a"], NEVER)], 1) is None


def content(key):
    return Content(key, [LeafColumn([1], 1.0, lambda: [key], counts=True)], 0)


def test_nested_values_are_equal_by_their_contents():
    contents = [content(7), None], [None, content(7)]
    lists = Column(gold=[["a", "b"], []], extracted=[None, ["b", "a"]], pair=NEVER.compare, contents=contents)
    assert pair_all_equal([lists], 2) == [(0, 1), (1, 0)]
    assert pair_all_equal([lists, column("xy", "xy")], 2) is None
