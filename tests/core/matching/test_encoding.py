from __future__ import annotations

import pytest

from pytest_extract.core.matching.columns import Column, strict_key
from pytest_extract.core.matching.encoding import ABSENT, encode
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.metrics.base import BoundMetric, with_defaults
from pytest_extract.core.values import MISSING


def coded(gold, extracted, name, semantics="ours", **params):
    metric = METRICS[name].make(with_defaults(params, METRICS[name].params), semantics)
    return encode(Column(gold=gold, extracted=extracted, metric=metric))


def test_equal_keys_share_a_code():
    found = coded(["a  b", "x"], ["x", "a b", MISSING], "text")
    assert found.equality
    assert found.gold == [found.extracted[1], found.extracted[0]]
    assert found.extracted[2] == ABSENT


@pytest.mark.parametrize(
    ("values", "equality"),
    [
        ([1, 2, 3.0], True),
        ([1.0, 1.0005, 5], True),
        ([1.0, 1.0008, 1.0016], False),
        (["n/a", 1, True], True),
    ],
    ids=["far apart", "groups", "a chain is no equality", "odd values"],
)
def test_a_tolerance_is_an_equality_where_its_values_fall_into_groups(values, equality):
    found = coded(values, values, "number_tolerance", tolerance=0.001)
    assert found.equality is equality
    for i, gold in enumerate(values):
        for j, extracted in enumerate(values):
            assert found.score(found.gold[i], found.extracted[j]) == found.metric.compare(gold, extracted)


def test_a_metric_that_is_not_reflexive_keeps_its_own_word():
    # published: the text "nan" does not equal itself
    found = coded(["nan", "1"], ["nan", "1.0"], "number_exact", "extract-bench")
    assert not found.perfect(found.gold[0])
    assert found.score(found.gold[0], found.extracted[0]) == 0.0
    assert found.score(found.gold[1], found.extracted[1]) == 1.0


def test_values_without_a_key_are_told_apart_by_type():
    metric = BoundMetric(name="any", compare=lambda gold, extracted: 0.5)
    found = encode(Column(gold=[1, True, 1.0, "1", None, [1], [True]], extracted=[[1]], metric=metric))
    assert len(set(found.gold)) == 7
    assert found.extracted == [found.gold[5]]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, False),
        (1, True, False),
        (0, False, False),
        ("1", 1, False),
        (float("nan"), float("nan"), True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1], [1.0], False),
        ([], {}, False),
    ],
)
def test_strict_keys(one, other, same):
    assert (strict_key(one) == strict_key(other)) is same
