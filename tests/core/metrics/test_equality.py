from __future__ import annotations

import json
import math

import pytest
from hypothesis import given

from pytest_extract.core import values
from pytest_extract.core.values import MAX_DEPTH, canonical_json
from tests.strategies import any_json, json_values, nested


@pytest.mark.parametrize(
    ("gold", "extracted", "same", "typed"),
    [
        (1, 1.0, True, False),
        (1, True, False, False),
        ([1], [True], False, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, True, True),
        ({"a": 1}, {"a": 1, "b": 2}, False, False),
        (None, False, False, False),
        ("1", 1, False, False),
        (math.nan, -math.nan, True, True),
        ([math.nan], [float("nan")], True, True),
        ([math.nan], ["nan"], False, False),
        ([[]], [{}], False, False),
        (["list"], [["list"]], False, False),
        ([None, ""], [[], ""], False, False),
        (nested(MAX_DEPTH, 1), nested(MAX_DEPTH, 1), True, True),
        (nested(MAX_DEPTH, 1), nested(MAX_DEPTH, 2), False, False),
        (2**53 + 1, float(2**53), False, False),
    ],
)
def test_equality(gold, extracted, same, typed):
    assert values.same(gold, extracted) is same
    assert (values.typed_key(gold) == values.typed_key(extracted)) is typed


@given(one=any_json, other=any_json)
def test_keys_are_equal_exactly_where_values_are(one, other):
    typed = type(one) is type(other) and one == other
    assert (values.typed_key(one) == values.typed_key(other)) is typed


@given(value=json_values)
def test_texts_are_those_of_python_where_python_has_one(value):
    assert canonical_json(value) == json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize(
    ("text", "folded", "caseless"),
    [
        ("  Acme \n GmbH\u00a0", "Acme GmbH", "acme gmbh"),
        ("e\u0301", "\u00e9", "\u00e9"),
        ("Straße", "Straße", "strasse"),
        ("", "", ""),
    ],
)
def test_folding(text, folded, caseless):
    assert values.fold(text) == folded
    assert values.fold_case(text) == caseless


def test_a_long_value_is_cut():
    assert values.short_json("x" * 100, 10) == '"xxxxxxxxx...'
