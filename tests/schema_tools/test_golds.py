"""Schemas inferred from golds, and golds held against their schema."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.validate import Validator
from pytest_extract.core.values import canonical_json
from pytest_extract.errors import ConfigError, SchemaErrors
from pytest_extract.schema_tools.golds import infer_schema, validate_golds
from tests.strategies import any_json, json_values

SCHEMA = {
    "type": "object",
    "required": ["a"],
    "properties": {
        "a": {"type": "string"},
        "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
        "whole": {"type": "object", "properties": {"x": {"type": "string"}}, "x-eval-compare": "exact"},
        "choice": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"n": {"type": "number"}}}]},
        "open": {"type": "object", "properties": {"p": {"type": "string"}}, "additionalProperties": {"type": "number"}},
        "wild": {"type": "object", "patternProperties": {"^x": {"type": "string"}}},
    },
    "$defs": {"row": {"type": "object", "properties": {"n.o": {"type": "integer"}}}},
}


@pytest.mark.parametrize(
    ("gold", "options", "problems"),
    [
        ({"a": "x"}, {"warn_missing": False}, []),
        ({"a": "x", "rwos": []}, {}, ["error rwos the schema declares no such field; did you mean 'rows'?"]),
        ({"rows": [{}, {"no": 1}]}, {}, ["error rows[].no the schema declares no such field; did you mean 'n.o'?"]),
        ({"rows": [{"n.o": 1.5}]}, {"strict_types": True}, []),
        ({"rows": [{"n.o": True}]}, {"strict_types": True}, ['error rows[]["n.o"] integer expected, got boolean']),
        ({"a": 5}, {}, []),
        ({"a": 5}, {"strict_types": True}, ["error a string expected, got integer"]),
        ({"whole": {"y": 1}}, {}, []),
        ({"choice": {"n": 1}}, {"strict_types": True}, []),
        ({"choice": {"m": 1}}, {}, ["error choice.m the schema declares no such field; known: n"]),
        ({"open": {"q": 1}}, {"strict_types": True}, []),
        ({"open": {"q": "x"}}, {"strict_types": True}, ["error open.q number expected, got string"]),
        ({"wild": {"x1": "a", "y": 1}}, {}, ["error wild.y the schema declares no such field"]),
        ({"id": 7, "zz": 1}, {"id_field": "id"}, ["error zz the schema declares no such field"]),
        ({"[]": 1}, {}, ['error ["[]"] the schema declares no such field']),
        ({"a": "x"}, {"id_field": "id"}, ["error id the id is missing"]),
        ({"id": 1.5}, {"id_field": "id"}, ["error id the id must be a string or an integer, not number"]),
    ],
)
def test_errors(gold, options, problems):
    found = validate_golds([gold], SCHEMA, **options)
    errors = [f"{p.severity} {p.pattern} {p.message}" for p in found if p.severity == "error"]
    assert [error.partition("; known: a,")[0] for error in errors] == problems


def test_warnings():
    found = validate_golds([{"rows": "text", "whole": {}, "choice": "x", "open": {"p": "y"}}], SCHEMA)
    assert [str(problem) for problem in found] == [
        "warning: record 0, `rows`: array expected, got string",
        "warning: record 0, `a`: required by the schema, but not there",
        "warning: record 0, `wild`: declared by the schema, but not there",
    ]


def test_records_are_named_by_their_id_and_a_schema_that_cannot_be_read_is_told():
    (problem,) = validate_golds([{"a": "x", "id": "r9", "zz": 1}], SCHEMA, id_field="id", warn_missing=False)
    assert (problem.record, problem.record_id, str(problem.path)) == (0, "r9", "zz")
    with pytest.raises(SchemaErrors, match="x-eval-skip"):
        validate_golds([{}], {"properties": {"a": {"type": "string", "x-eval-skip": "yes"}}})


@given(values=st.lists(json_values, min_size=1, max_size=4))
def test_golds_fit_the_schema_inferred_from_them(values):
    schema = infer_schema(values, widen=True)
    validator = Validator(schema)
    assert all(validator.is_valid(value) for value in values)
    found = validate_golds(values, schema, strict_types=True)
    assert not [problem for problem in found if problem.severity == "error"]


@given(gold=any_json.filter(lambda value: not re.search("NaN|Infinity", canonical_json(value))), other=json_values)
def test_any_gold_is_checked(gold, other):
    assert isinstance(validate_golds([gold], infer_schema([other]), strict_types=True), tuple)


@pytest.mark.parametrize(
    ("scoring", "paths"),
    [
        ({"x-eval-skip": True}, ["o.b"]),  # struct-extract-eval looks into what it skips
        ({"x-eval-skip": True, "x-eval-compare": "exact"}, []),
        ({"x-eval-compare": "exact"}, []),
        ({"evaluation_config": "skip"}, []),
        ({"evaluation_config": "string_exact"}, ["o.b"]),
        ({}, ["o.b"]),
    ],
)
def test_what_is_compared_as_a_whole_is_not_looked_into(scoring, paths):
    inner = {"type": "object", "properties": {"a": {"type": "string"}}, **scoring}
    problems = validate_golds([{"o": {"a": "x", "b": 1}}], {"type": "object", "properties": {"o": inner}})
    assert [str(problem.path) for problem in problems] == paths


# --- inferring

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def obj(*required, **properties):
    return {"type": "object", "properties": properties, **({"required": [*required]} if required else {})}


def rows(items):
    return {"type": "array", "items": items}


@pytest.mark.parametrize(
    ("values", "schema", "wide"),
    [
        ([1, 2.5], WHOLE, {"type": "number"}),
        ([None], TEXT, {"type": ["string", "null"]}),
        ([None, True], {"type": "boolean"}, {"type": ["boolean", "null"]}),
        ([[]], rows(TEXT), rows({})),
        (
            [{"b": 1, "a": "x"}, {"b": None}],
            obj(a=TEXT, b=WHOLE),
            obj("b", a=TEXT, b={"type": ["integer", "null"]}),
        ),
        ([[{"a": 1}], [{"a": "x"}]], rows(obj(a=WHOLE)), rows(obj("a", a={"type": ["integer", "string"]}))),
    ],
)
def test_infer(values, schema, wide):
    assert infer_schema(values) == schema
    assert infer_schema(values, widen=True) == wide


def test_nothing_and_too_deep_are_refused():
    with pytest.raises(ConfigError, match="at least one value"):
        infer_schema([])
    deep: object = 1
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(ConfigError, match="nested more than 96 levels deep"):
        infer_schema([deep])
