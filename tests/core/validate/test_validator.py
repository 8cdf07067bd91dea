"""The schema gate's yes or no, with and without jsonschema-rs, and its reasons."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.validate.traits import traits_of
from pytest_extract.core.validate.validator import Validator
from tests.strategies import json_values

ROWS = {
    "type": "object",
    "properties": {
        "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
        "day": {"type": "string", "pattern": r"^\d{4}-\d{2}$"},
    },
    "required": ["rows"],
    "$defs": {"row": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"rows": [{"n": 1}, {"n": 2.0}]}, None),
        ({"rows": [{"n": 1}, {"n": "x"}]}, '`rows[1].n`: "x" is a string, an integer was expected'),
        ({"rows": [{}]}, "`rows[0]`: the required key 'n' is missing"),
        ({"rows": [], "day": "2024-01"}, None),
        ({"rows": [], "day": "2024-01\n"}, "`day`: "),
        ({"rows": [], "day": "٢٠٢٤-٠١"}, "`day`: "),
        ({"rows": [], "day": "2024"}, "`day`: '2024' does not match"),
        ([], "`$`: [] is an array, an object was expected"),
    ],
)
def test_verdict_and_reason(make, value, error):
    validator = make(ROWS)
    found = validator.first_error(value)
    assert validator.is_valid(value) == validator.is_valid_draft7(value) == (error is None)
    assert found is None if error is None else str(found).startswith(error)


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"type": "integer"}, 3.0, True),
        ({"type": "integer"}, True, False),
        ({"enum": [1, "a"]}, True, False),
        ({"enum": [1]}, 1.0, True),
        ({"const": None}, None, True),
        ({"type": "string", "format": "date"}, "no date", True),
        ({"contentMediaType": "application/json"}, "{", True),
        ({"type": "string", "maxLength": 1}, "\ud800", True),
        ({"additionalProperties": {"type": "integer"}}, {"\ud800": 1}, True),
        ({"minimum": 5}, 10**400, True),
        ({"minimum": 5}, -(10**400), False),
        ({"multipleOf": 0.1}, 0.3, False),
        ({"uniqueItems": True}, [1, True, "1"], True),
        ({"uniqueItems": True}, [1, 1.0], False),
        ({"pattern": "(?i)^a$"}, "A", True),
        ({"not": {"pattern": r"^\d$"}}, "٢", True),
        ({"pattern": r"^(?<year>\d{4})-(?<month>\d\d)$"}, "2026-03", True),
        ({"pattern": r"^\cA[^]\w$"}, "\x01\na", True),
        ({"pattern": r"^(?!x)a$"}, "a", True),
        ({"pattern": r"^(?!x)\d\u{31}[$]$"}, "31$", True),
        ({"pattern": r"^(?!x)\d$"}, "٣", False),
        ({"pattern": r"^(?!x)a$"}, "a\n", False),
        ({"patternProperties": {"^a$": {"type": "integer"}}, "additionalProperties": False}, {"a\n": 1}, False),
        (True, {"a": 1}, True),
        (False, {"a": 1}, False),
        ({}, None, True),
    ],
)
def test_both_validators_follow_jsonschema(make, schema, value, valid):
    assert make(schema).is_valid(value) is valid


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (None, "a JSON Schema is an object, not null"),
        ([], "a JSON Schema is an object, not array"),
        ({"properties": {"a": {"type": "strnig"}}}, "at /properties/a/type: "),
        ({"required": "a"}, "at /required: "),
        ({"pattern": "("}, "at /pattern: "),
        ({"$defs": {"a": {"type": "strnig"}}}, "at /$defs/a/type: "),
    ],
)
def test_an_unusable_schema_is_kept_as_a_problem(make, schema, problem):
    validator = make(schema)
    assert not validator.valid_schema
    assert validator.problem.startswith(problem)
    assert not validator.is_valid({})
    assert problem in str(validator.first_error({}))


def test_all_that_is_wrong_with_a_schema_is_told_once(make):
    schema = {
        "type": "objekt",
        "properties": {"type": {"type": ["strng", "null"]}, "b": {"pattern": "(", "minLength": "x"}},
        "required": {},
    }
    assert sorted((problem.pointer, problem.message) for problem in make(schema).problems) == [
        ("/properties/b/minLength", '"x" is a string, an integer was expected'),
        ("/properties/b/pattern", '"(" is no regular expression: missing ), unterminated subpattern at position 0'),
        ("/properties/type/type", '["strng","null"] fits none of the 2 alternatives'),
        ("/required", "{} is an object, an array was expected"),
        ("/type", "no type 'objekt'; did you mean 'object'?"),
    ]
    assert make({"properties": {"type": {"type": "string"}}}).problems == ()


@pytest.mark.parametrize("name", ["type", "properties"])
def test_a_property_may_have_the_name_of_a_keyword(make, name):
    (problem,) = make({"properties": {name: "string"}}).problems
    assert problem.pointer == f"/properties/{name}"
    assert "no type" not in problem.message


@pytest.mark.parametrize(
    ("schema", "declared", "draft7"),
    [
        ({"prefixItems": [{"type": "string"}]}, False, True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [{"type": "string"}]}, True, True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}, False, False),
        ({"$schema": "http://example.org/mine", "prefixItems": [{"type": "string"}]}, False, True),
        ({"$ref": "#/$defs/a", "type": "string", "$defs": {"a": True}}, False, True),
        ({"$defs": {"a": {"type": "strnig"}}}, False, True),
        (True, True, False),
    ],
)
def test_the_declared_draft_and_draft7_are_two_answers(make, schema, declared, draft7):
    validator = make(schema)
    assert validator.is_valid([1]) is declared
    assert validator.is_valid_draft7([1]) is draft7


@pytest.mark.parametrize(
    ("schema", "asked", "unasked"),
    [
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, {"a": 1}, {"b": 1}),
        ({"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}, {"a": 1}, {"b": 1}),
        ({"properties": {"a": {"allOf": [{"$ref": "#/properties/a"}]}}}, {"a": 1}, {"b": 1}),
    ],
    ids=["dangling", "remote", "endless"],
)
def test_a_reference_that_leads_nowhere_admits_nothing(make, schema, asked, unasked):
    validator = make(schema)
    assert validator.valid_schema
    assert validator.is_valid(unasked)
    assert not validator.is_valid(asked)
    assert "cannot be applied" in str(validator.first_error(asked))


def nested(depth, make_level):
    value: object = {}
    for _ in range(depth):
        value = make_level(value)
    return value


def test_deep_values_and_schemas_do_not_crash(make):
    tree = make({"type": "object", "properties": {"a": {"$ref": "#"}}})
    assert tree.is_valid(nested(20, lambda inner: {"a": inner}))
    assert not tree.is_valid(nested(10_000, lambda inner: {"a": inner}))
    assert tree.first_error(nested(10_000, lambda inner: {"a": inner})) is not None
    assert "deep" in make(nested(10_000, lambda inner: {"not": inner})).problem


def test_a_long_value_is_shortened_in_a_reason(make):
    assert len(str(make({"type": "integer"}).first_error(["x" * 100_000]))) < 300


def test_errors_are_limited(make):
    validator = make({"items": {"type": "integer"}})
    assert [str(error.path) for error in validator.errors(["a", 1, "b", "c"], limit=2)] == ["[0]", "[2]"]
    assert validator.errors([1]) == ()


keywords = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null", "any"])
        | st.lists(st.sampled_from(["string", "null", "integer"]), min_size=1, unique=True),
        "enum": st.lists(json_values, min_size=1, max_size=3),
        "const": json_values,
        "minimum": st.integers(-5, 5),
        "maxLength": st.integers(0, 5),
        "minItems": st.integers(0, 3),
        "uniqueItems": st.booleans(),
        "required": st.lists(st.text(max_size=3), max_size=2, unique=True),
        "multipleOf": st.sampled_from([1, 2, 0.5, 0.1]),
        "pattern": st.sampled_from(["^a", r"\d$", "[a-z]+", r"\bx", "[^0]", "(a|b)?", "(?:x)", "("]),
        "format": st.just("date"),
        "$ref": st.sampled_from(["#", "#/properties/a", "#/not", "#/anyOf/0"]),
    },
)
schemas = st.recursive(
    keywords,
    lambda inner: st.builds(
        lambda base, more: {**base, **more},
        keywords,
        st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(st.text(max_size=3) | st.just("a"), inner, max_size=2),
                "items": inner | st.lists(inner, max_size=2),
                "prefixItems": st.lists(inner, min_size=1, max_size=2),
                "additionalProperties": inner | st.booleans(),
                "anyOf": st.lists(inner, min_size=1, max_size=2),
                "oneOf": st.lists(inner, min_size=1, max_size=2),
                "not": inner,
                "contains": inner,
            },
        ),
    ),
    max_leaves=5,
)


@given(schemas, json_values | st.dictionaries(st.text(max_size=3) | st.just("a"), json_values, max_size=3))
def test_jsonschema_rs_never_disagrees_where_it_may_answer(schema, value):
    pytest.importorskip("jsonschema_rs")
    fast, slow = Validator(schema), Validator(schema)
    slow._declared._rust = slow._draft7._rust = None
    assert fast.valid_schema == slow.valid_schema
    assert fast.is_valid(value) == slow.is_valid(value) == (slow.first_error(value) is None)
    assert fast.is_valid_draft7(value) == slow.is_valid_draft7(value)
    assert (fast.first_error(value) is None) == fast.is_valid(value)


@pytest.mark.parametrize(
    ("schema", "rust"),
    [
        (ROWS, True),
        ({"properties": {"a": {"pattern": r"^[A-Z]{2}\d+(?:-\d+)?$"}}}, True),
        ({"properties": {"a": {"pattern": "[^a]"}}}, True),
        ({"not": {"pattern": "a"}}, True),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, False),
        ({"unevaluatedProperties": False}, False),
        ({"$ref": "#"}, False),
        ({"properties": {"child": {"$ref": "#"}}}, True),
    ],
)
def test_where_jsonschema_rs_may_answer(schema, rust):
    assert traits_of(schema).rust is rust


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_mistake_deep_in_alternatives_is_told_in_little_time(keyword):
    parts = {"type": "array", "items": {keyword: [{"$ref": "#/$defs/section"}, {"$ref": "#/$defs/item"}]}}
    made = {"type": "object", "properties": {"title": {"type": "string"}, "parts": parts}, "required": ["title"]}
    validator = Validator({"$defs": {"section": made, "item": made}, "$ref": "#/$defs/section"})
    value = nested(40, lambda inner: {"title": "a", "parts": [inner or {"title": 7}]})
    assert "fits none of the 2 alternatives" in str(validator.first_error(value))


@pytest.mark.skipif(importlib.util.find_spec("jsonschema_rs") is None, reason="Python's engine has other properties")
def test_properties_of_characters_are_those_of_ecma_script():
    assert Validator({"pattern": r"^\p{Lu}\p{L}+$"}).is_valid("Özlem")
