from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.validate import Validator
from pytest_extract.errors import ConfigError
from pytest_extract.schema_tools.golds import infer_schema
from tests.strategies import json_values


@pytest.mark.parametrize(
    ("values", "schema", "wide"),
    [
        ([1, 2.5], {"type": "integer"}, {"type": "number"}),
        ([None], {"type": "string"}, {"type": ["string", "null"]}),
        ([None, True], {"type": "boolean"}, {"type": ["boolean", "null"]}),
        ([[]], {"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {}}),
        (
            [{"b": 1, "a": "x"}, {"b": None}],
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": ["integer", "null"]}},
                "required": ["b"],
            },
        ),
        (
            [[{"a": 1}], [{"a": "x"}]],
            {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
            {
                "type": "array",
                "items": {"type": "object", "properties": {"a": {"type": ["integer", "string"]}}, "required": ["a"]},
            },
        ),
    ],
)
def test_infer(values, schema, wide):
    assert infer_schema(values) == schema
    assert infer_schema(values, widen=True) == wide


@given(values=st.lists(json_values, min_size=1, max_size=4))
def test_a_wide_schema_holds_for_its_values(values):
    validator = Validator(infer_schema(values, widen=True))
    assert all(validator.is_valid(value) for value in values)


def test_nothing_and_too_deep_are_refused():
    with pytest.raises(ConfigError, match="at least one value"):
        infer_schema([])
    deep: object = 1
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(ConfigError, match="nested too deep"):
        infer_schema([deep])
