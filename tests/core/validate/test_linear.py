"""Patterns of a schema against outputs and keys that nobody vouches for."""

from __future__ import annotations

import random

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.validate.linear import linear_validator
from pytest_extract.core.validate.traits import DRAFTS

HOSTILE = "^(a+)+$"
TEXT = "a" * 5000 + "!"
LATEST = "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"pattern": HOSTILE}, TEXT, False),
        ({"not": {"pattern": HOSTILE}}, TEXT, True),
        ({"patternProperties": {HOSTILE: {"type": "null"}}}, {TEXT: 1}, True),
        ({"patternProperties": {HOSTILE: {}}, "additionalProperties": False}, {TEXT: 1}, False),
        ({"patternProperties": {HOSTILE: {}, "b": {}}, "additionalProperties": {"type": "null"}}, {TEXT: None}, True),
        ({"propertyNames": {"pattern": HOSTILE}}, {TEXT: 1}, False),
        ({"patternProperties": {HOSTILE: {}}, "unevaluatedProperties": False}, {TEXT: 1}, False),
        ({"allOf": [{"patternProperties": {HOSTILE: {}}}], "unevaluatedProperties": False}, {TEXT: 1}, False),
        ({"items": {"$ref": "#/definitions/x"}, "definitions": {"x": {"pattern": HOSTILE}}}, [TEXT], False),
        ({"properties": {"x": {"$id": "urn:x", "$schema": LATEST, "pattern": HOSTILE}}}, {"x": TEXT}, False),
        ({"pattern": r"^(?=(\w+\s?)*$)x"}, "word " * 1000 + "!", False),
    ],
)
def test_no_draft_and_no_keyword_hangs(make, draft, schema, value, valid):
    schema = {"$schema": draft, **schema}
    newer = {"not": 4, "propertyNames": 6, "allOf": 4, "unevaluatedProperties": 2019}
    number = next(number for number in (3, 4, 6, 7, 2019, 2020) if str(number) in draft.replace("-0", ""))
    unknown = [name for name, since in newer.items() if name in schema and number < since]
    validator = make(schema)
    assert validator.is_valid(value) is (valid or bool(unknown))
    assert (validator.first_error(value) is None) is (valid or bool(unknown))


PATTERNED = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.dictionaries(st.sampled_from(["a", "b1"]), st.just({"type": "integer"}), max_size=1),
        "patternProperties": st.dictionaries(
            st.sampled_from(["^a", r"\d$", "b|c", "(?=a)", "^$"]), st.sampled_from([{}, {"type": "integer"}, False])
        ),
        "additionalProperties": st.sampled_from([True, False, {"type": "string"}]),
        "unevaluatedProperties": st.sampled_from([True, False, {"type": "string"}]),
        "propertyNames": st.sampled_from([{"pattern": "^[ab]"}, {"pattern": r"\d"}]),
        "anyOf": st.lists(
            st.fixed_dictionaries({"patternProperties": st.just({"c": {"type": "null"}})}), min_size=1, max_size=2
        ),
    },
)


@given(
    schema=PATTERNED,
    value=st.dictionaries(st.sampled_from(["a", "a1", "b1", "c", "", "d3"]), st.sampled_from([1, "x", None])),
    name=st.sampled_from(sorted(DRAFTS.values())),
)
def test_verdicts_and_messages_are_those_of_jsonschema(schema, value, name):
    published = getattr(jsonschema, name)
    found = [
        [error.message for error in kind(schema).iter_errors(value)]
        for kind in (published, linear_validator(published))
    ]
    assert found[0] == found[1]


def test_jsonschema_itself_is_left_alone():
    assert linear_validator(jsonschema.Draft7Validator) is linear_validator(jsonschema.Draft7Validator)
    assert jsonschema.Draft7Validator({"pattern": r"(a)\1"}).is_valid("aa")
    assert jsonschema.Draft7Validator.VALIDATORS["pattern"].__globals__["re"].__name__ == "re"


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"properties": {"a": {"pattern": r"^(['\"])x\1$"}}}, "/properties/a/pattern"),
        ({"patternProperties": {r"(a)\1": {}}}, "/patternProperties"),
    ],
)
def test_a_pattern_that_cannot_be_linear_is_a_mistake_of_the_schema(make, schema, pointer):
    validator = make(schema)
    (problem,) = validator.problems
    assert problem.pointer == pointer
    assert "has a back reference, which cannot be matched in linear time" in problem.message
    assert not validator.is_valid({"a": "aa", "aa": 1})


def test_what_only_looks_like_a_pattern_is_no_mistake(make):
    schema = {"default": {"pattern": r"(a)\1"}, "properties": {"pattern": {"const": r"(a)\1"}}}
    assert make(schema).problem is None
    assert make(schema).is_valid({"pattern": r"(a)\1"})


@pytest.mark.parametrize("inside", [lambda schema: schema, lambda schema: {"not": schema}])
@pytest.mark.timeout(60)
def test_an_undecided_pattern_admits_nothing_and_is_named(make, inside):
    schema = {"properties": {"a": inside({"pattern": "foo.{1,300}bar|foo(?=x)"})}}
    text = "".join(random.Random(1).choices(["bar", "xxx", "y"], k=50_000))
    validator = make(schema)
    assert not validator.is_valid({"a": text})
    assert str(validator.first_error({"a": text})).startswith(
        "`$`: the pattern 'foo.{1,300}bar|foo(?=x)' cannot be decided within 2,500,000 steps on a text of 1"
    )
    old = {"$schema": "http://json-schema.org/draft-04/schema#", "patternProperties": {r"(a)\1": {}}}
    assert not make(old).is_valid({"aa": 1})
    assert str(make(old).first_error({"aa": 1})).startswith(r"`$`: the pattern '(a)\\1' has a back reference")
