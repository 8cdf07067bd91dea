from __future__ import annotations

import re

import pytest
from hypothesis import given

from pytest_extract.core.metrics.base import check_params, with_defaults
from pytest_extract.core.transforms import TRANSFORMS
from pytest_extract.core.values import same
from tests.strategies import any_json

SAMPLE_PARAMS = {
    "round_digits": {"digits": 1},
    "type_convert": {"to": "int"},
    "map_values": {"values": {"a": 1}},
}


def bound(name, params=None):
    spec = TRANSFORMS[name]
    params = SAMPLE_PARAMS.get(name, {}) if params is None else params
    assert check_params(params, spec.params, name) == []
    return spec.make(with_defaults(params, spec.params))


EXAMPLES = [(name, *example) for name, spec in TRANSFORMS.items() for example in spec.examples]


@pytest.mark.parametrize(("name", "before", "after", "params"), EXAMPLES, ids=[str(e[:2]) for e in EXAMPLES])
def test_example_of_the_docs(name, before, after, params):
    assert same(bound(name, params)(before), after)


@pytest.mark.parametrize("name", TRANSFORMS)
@given(value=any_json)
def test_any_value_is_transformed_or_refused_with_a_reason(name, value):
    assert TRANSFORMS[name].examples
    assert bound(name)(None) is None
    refusals = []
    try:
        bound(name)(value)
    except ValueError as refusal:
        refusals.append(str(refusal))
    assert all(reason.startswith(f"{name} needs ") for reason in refusals)


@pytest.mark.parametrize(
    ("name", "params", "value", "reason"),
    [
        ("lowercase", {}, 5, "lowercase needs a string, got an integer: 5"),
        ("round_digits", {"digits": 1}, "x", 'round_digits needs a number, got a string: "x"'),
        ("type_convert", {"to": "int"}, "7.0", 'type_convert needs a value that can become int, got a string: "7.0"'),
        ("type_convert", {"to": "bool"}, 1.0, "type_convert needs a value that can become bool, got a number: 1.0"),
        ("type_convert", {"to": "int"}, float("inf"), "can become int"),
        ("type_convert", {"to": "float"}, 10**400, "can become float"),
        ("round_digits", {"digits": -308}, 1.7e308, "got a number: 1.7e+308"),  # beyond the largest float
    ],
)
def test_wrong_type_is_refused_with_its_reason(name, params, value, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        bound(name, params)(value)
