from __future__ import annotations

import json

import pytest
from hypothesis import given

from pytest_extract.core import values
from pytest_extract.core.values import canonical_json
from tests.strategies import any_json, json_values, nested


@pytest.mark.parametrize(
    ("gold", "extracted", "same", "python_equal"),
    [
        (1, 1.0, True, True),
        (1, True, False, True),
        ([1], [True], False, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, True, True),
        ({"a": 1}, {"a": 1, "b": 2}, False, False),
        (None, False, False, False),
        ("1", 1, False, False),
        (float("nan"), float("nan"), True, True),
        ([[]], [{}], False, False),
        (nested(5000, 1), nested(5000, 1), True, True),
        (nested(5000, 1), nested(5000, 2), False, False),
        (2**53 + 1, float(2**53), False, False),
    ],
)
def test_equality(gold, extracted, same, python_equal):
    assert values.same(gold, extracted) is same
    assert values.python_equal(gold, extracted) is python_equal
    assert (values.same_key(gold) == values.same_key(extracted)) is same


@given(one=any_json, other=any_json)
def test_keys_are_equal_exactly_where_values_are(one, other):
    assert (values.same_key(one) == values.same_key(other)) is values.same(one, other)
    typed = type(one) is type(other) and values.python_equal(one, other)
    assert (values.typed_key(one) == values.typed_key(other)) is typed


@given(value=json_values)
def test_texts_are_those_of_python_where_python_has_one(value):
    assert canonical_json(value) == json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert values.python_text(value) == str(value)


@pytest.mark.parametrize("core", [1, "x", {"b": [1.5, None], "a": True}])
def test_texts_go_on_where_python_stops(core):
    text = json.dumps(core, sort_keys=True, separators=(",", ":"))
    assert canonical_json(nested(5000, core)) == "[" * 5000 + text + "]" * 5000
    assert canonical_json([10**5000, core]).endswith(f",{text}]")


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
