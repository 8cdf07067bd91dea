"""The drafts of JSON Schema: which keyword each knows, as jsonschema reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from jsonschema.validators import validator_for

from pytest_extract.core.validate import Validator
from tests.strategies import json_values

DRAFTS = {name: f"http://json-schema.org/draft-0{name}/schema#" for name in "467"} | {
    name: f"https://json-schema.org/draft/{name}/schema" for name in ("2019-09", "2020-12")
}
LEAVES = st.sampled_from([{"type": "integer"}, {"const": 1}, {"minimum": 2}, {"required": ["b"]}, True, False])
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "dependentRequired": st.just({"a": ["b"]}),
            "dependentSchemas": st.fixed_dictionaries({"a": inner}),
            "if": inner,
            "then": inner,
            "else": inner,
            "contains": inner,
            "minContains": st.integers(0, 2),
            "items": inner | st.lists(inner, max_size=2),
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "additionalItems": inner,
            "properties": st.fixed_dictionaries({"a": inner}),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
        },
    ),
    max_leaves=4,
)
KEYWORDS = [*Draft7Validator.META_SCHEMA["properties"], "$defs", "prefixItems", "dependentRequired", "dependentSchemas"]
ODD_VALUES = json_values | st.sampled_from(
    [
        {"type": "strnig"},
        {"a": {"type": "strnig"}},
        [{"type": "strnig"}],
        {"a": ["b"]},
        ["b"],
        ["b", "b"],
        "(",
        "#",
        "a b",
    ]
)
VALUES = st.sampled_from([{}, {"a": 1}, {"a": 1, "b": 2}, {"a": {"a": 3}}, [], [1], [1, 2, "x"], 1, "a"])


@pytest.mark.parametrize(
    ("schema", "value", "known_by"),
    [
        ({"dependencies": {"a": ["b"]}}, {"a": 1}, ["4", "6", "7", "2019-09", "2020-12"]),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, ["2019-09", "2020-12"]),
        ({"dependentSchemas": {"a": False}}, {"a": 1}, ["2019-09", "2020-12"]),
        ({"if": True, "then": False}, {}, ["7", "2019-09", "2020-12"]),
        ({"const": 1}, 2, ["6", "7", "2019-09", "2020-12"]),
        ({"prefixItems": [False]}, [1], ["2020-12"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) and len(value) else None,
)
def test_each_draft_knows_its_own_keywords(schema, value, known_by):
    refused = [name for name, uri in DRAFTS.items() if not Validator({"$schema": uri, **schema}).is_valid(value)]
    assert refused == known_by
    by_draft_7 = [Validator({"$schema": uri, **schema}).is_valid_draft7(value) for uri in DRAFTS.values()]
    assert by_draft_7 == ["7" not in known_by] * len(DRAFTS)


@given(SCHEMAS.filter(lambda schema: isinstance(schema, dict)), st.sampled_from(sorted(DRAFTS.values())), VALUES)
def test_verdicts_are_those_of_jsonschema(schema, uri, value):
    kind = validator_for({"$schema": uri})
    schema = {"$schema": uri, **schema}
    validator = Validator(schema)
    assert (not validator.problems) == kind(kind.META_SCHEMA).is_valid(schema)
    if not validator.problems:
        assert validator.is_valid(value) == kind(schema).is_valid(value)
    if validator.valid_schema_draft7:
        assert validator.is_valid_draft7(value) == Draft7Validator(schema).is_valid(value)


@given(st.dictionaries(st.sampled_from(KEYWORDS), ODD_VALUES, max_size=3), st.sampled_from(sorted(DRAFTS.values())))
def test_a_schema_satisfies_draft_7_whatever_it_declares(schema, uri):
    for odd in (schema, {"properties": {"a": schema}}, {"definitions": {"a": schema}}):
        declared = {"$schema": uri, **odd}
        if "(" not in str(odd):  # jsonschema asserts no formats
            judge = Draft7Validator(Draft7Validator.META_SCHEMA)
            assert Validator(declared).valid_schema_draft7 == judge.is_valid(declared)
