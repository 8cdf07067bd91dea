"""What model APIs take in place of JSON Schema is named, and translated."""

from __future__ import annotations

import pytest

from pytest_extract.cases.schemas import wrapped_schema
from pytest_extract.core.validate import Validator
from pytest_extract.schema_tools.resolve import as_json_schema, is_gemini

BILL = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("dialect", "wanted"),
    [
        ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"$ref": "#/x", "nullable": True}, {"anyOf": [{"$ref": "#/x"}, {"type": "null"}]}),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 0}),
        (
            {"$ref": "#/definitions/x", "nullable": True, "definitions": {"x": {}}},
            {"anyOf": [{"$ref": "#/definitions/x"}, {"type": "null"}], "definitions": {"x": {}}},
        ),
        (
            {"type": "string", "const": "x", "nullable": True},
            {"anyOf": [{"type": "string", "const": "x"}, {"type": "null"}]},
        ),
        ({"minimum": 0, "exclusiveMinimum": False, "nullable": False}, {"minimum": 0}),
        (
            {"type": "OBJECT", "properties": {"nullable": {"type": "ARRAY"}}, "propertyOrdering": ["nullable"]},
            {"type": "object", "properties": {"nullable": {"type": "array"}}},
        ),
        ({"enum": ["STRING"]}, {"enum": ["STRING"]}),
    ],
)
def test_a_schema_of_a_dialect_is_translated(dialect, wanted):
    assert as_json_schema(dialect) == wanted
    assert not is_gemini(wanted)


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ({"type": "json_schema", "json_schema": {"name": "b", "schema": BILL}}, "json_schema/schema"),
        ({"type": "json_schema", "name": "b", "schema": BILL}, "schema"),
        ({"type": "function", "function": {"name": "b", "parameters": BILL}}, "function/parameters"),
        ({"type": "function", "name": "b", "parameters": BILL}, "parameters"),
        ({"name": "b", "input/schema": BILL}, "input~1schema"),
        (BILL, None),
    ],
)
def test_a_wrapped_schema_is_pointed_at(value, pointer):
    assert wrapped_schema(value) == pointer


def test_null_under_nullable_names_the_dialect():
    error = Validator({"properties": {"a": {"type": "string", "nullable": True}}}).first_error({"a": None})
    assert str(error).startswith("`a`: null where a string was expected; `nullable` is OpenAPI 3.0")
