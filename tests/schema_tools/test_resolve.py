"""Schemas resolved into one plain tree, and those of model APIs translated into JSON Schema."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.validate import Validator
from pytest_extract.errors import ConfigError, SchemaError
from pytest_extract.schema_tools.resolve import as_json_schema, is_gemini
from pytest_extract.schema_tools.resolve import resolve_schema_references as resolve
from tests.strategies import json_values

STRING, NUMBER, NULL = ({"type": name} for name in ("string", "number", "null"))


def any_of(*branches):
    return {"anyOf": [*branches]}


def ref(name):
    return {"$ref": f"#/$defs/{name}"}


OBJECT = {"type": "object", "required": ["x"], "properties": {"x": STRING}}
NODE = {"type": "object", "properties": {"kids": {"type": "array", "items": ref("node")}}}
TREE = {
    "type": "object",
    "properties": {"root": ref("node"), "other": ref("leaf")},
    "$defs": {"leaf": STRING, "node": NODE, "unused": ref("unused")},
}


@pytest.mark.parametrize(
    ("schema", "resolved"),
    [
        (
            {**ref("A"), "description": "mine", "x-eval-compare": "exact", "$defs": {"A": STRING}},
            {**STRING, "description": "mine", "x-eval-compare": "exact"},
        ),
        (
            {"items": {**ref("A"), "required": ["y"], "properties": {"y": NULL}}, "$defs": {"A": OBJECT}},
            {"items": {"type": "object", "required": ["y", "x"], "properties": {"y": NULL, "x": STRING}}},
        ),
        (
            {"items": {"$ref": "#/definitions/A"}, "definitions": {"A": STRING}},
            {"items": STRING, "definitions": {"A": STRING}},
        ),
        (
            {"allOf": [{"required": ["a"]}, {"required": ["b", "a"]}, {"allOf": [{"required": ["c"]}]}]},
            {"required": ["a", "b", "c"]},
        ),
        (any_of({"type": ["string", "null"]}, NUMBER), {"type": ["string", "null", "number"]}),
        (
            {"items": {"title": "A", **any_of(ref("A"), NULL)}, "$defs": {"A": {"enum": ["x"], **STRING}}},
            {"items": {"title": "A", "type": ["string", "null"], "enum": ["x", None]}},
        ),
        (any_of(STRING, NUMBER, NULL), {"type": ["string", "number", "null"]}),
        (
            {"type": ["string", "null"], **any_of({**STRING, "minLength": 1}, NULL)},
            {"type": ["string", "null"], "minLength": 1},
        ),
        ({**STRING, **any_of({**STRING, "minLength": 1}, NULL)}, {**STRING, "minLength": 1}),
        (any_of({"const": 1, "type": "integer"}, NULL), any_of({"const": 1, "type": "integer"}, NULL)),
        (any_of({"allOf": [{"type": "array", "items": {}}]}, NULL), {"type": ["array", "null"], "items": {}}),
        ({"enum": [{"$ref": "#/nowhere"}]}, {"enum": [{"$ref": "#/nowhere"}]}),
        ({"properties": {"anyOf": STRING}}, {"properties": {"anyOf": STRING}}),
        ({"$ref": "#node", "$defs": {"A": {"$anchor": "node", **STRING}}}, {"$anchor": "node", **STRING}),
        ({"items": ref("A"), "$defs": {"A": True}}, {"items": True}),
        ({"type": "array", "items": {"$ref": "#"}}, {"type": "array", "items": {"$ref": "#"}}),
        (TREE, {"type": "object", "properties": {"root": NODE, "other": STRING}, "$defs": {"node": NODE}}),
    ],
)
def test_resolving_keeps_what_it_can(schema, resolved):
    assert resolve(schema) == resolved


TWO_TYPES = {"type": ["string", "integer"]}


@pytest.mark.parametrize("published", [True, False])
@pytest.mark.parametrize(
    ("branches", "resolved"),
    [
        ([STRING, {"type": ["integer", "string"]}], TWO_TYPES),
        ([any_of(STRING, {"type": "integer"}), {"type": "array"}], any_of(TWO_TYPES, {"type": "array"})),
        ([ref("d"), {"type": "object"}], any_of(TWO_TYPES, {"type": "object"})),
    ],
    ids=["types", "nested", "referred"],
)
def test_lists_of_types_are_made_from_the_outside_in(branches, resolved, published):
    schema = {**any_of(*branches), "$defs": {"d": any_of(STRING, {"type": "integer"})}}
    assert resolve(schema, published=published) == resolved


@given(
    branch=st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", ["string", "null"], "object"]),
            "enum": st.lists(st.sampled_from(["x", 1, None]), min_size=1, unique=True),
            "const": st.sampled_from(["x", None]),
            "properties": st.just({"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}),
        },
    ),
    value=st.sampled_from([None, "x", 1, 2, {}, {"a": None}, {"a": 1}]),
)
def test_null_means_the_same_after_resolving(branch, value):
    schema = {"type": "array", "items": {"anyOf": [branch, {"type": "null"}]}}
    assert Validator(resolve(schema)).is_valid([value]) == Validator(schema).is_valid([value])


def nested(levels):
    schema = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


TWICE = {f"a{n}": {"items": ref(f"a{n + 1}"), "contains": ref(f"a{n + 1}")} for n in range(40)}


@pytest.mark.parametrize(
    ("schema", "published", "message"),
    [
        (TREE, True, r"at /\$defs/node/properties/kids/items: the reference '#/\$defs/node' leads back to itself"),
        ({"items": ref("no")}, False, r"at /items: the reference '#/\$defs/no' leads nowhere"),
        ({"items": {"$ref": "http://x.org/s"}}, False, "leads out of this document; only local references"),
        ({"properties": {"a": {"items": {"$ref": "#/properties/a"}}}}, False, r"move what it refers to under `\$defs`"),
        ([], False, "a schema to resolve must be an object, not array"),
        ({**ref("a0"), "$defs": {**TWICE, "a40": {}}}, False, "resolving makes more than 100000 schema objects"),
        (nested(10_000), False, "at items.items.items.items, nested more than 96 levels deep"),
    ],
    ids=["recursive", "dangling", "remote", "not-a-definition", "list", "bomb", "deep"],
)
def test_what_cannot_be_resolved_is_told_with_its_place(schema, published, message):
    with pytest.raises((SchemaError, ConfigError), match=message):
        resolve(schema, published=published)


SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {}, optional={"type": st.sampled_from(["string", "null", "number"]), "title": st.text(max_size=3)}
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "items": inner,
            "anyOf": st.lists(inner, max_size=3),
            "allOf": st.lists(inner, max_size=2),
            "$ref": st.sampled_from(["#", "#/$defs/A", "#/$defs/B"]),
            "required": st.just(["a"]),
        },
    ),
    max_leaves=8,
)


@given(schema=SCHEMAS, one=SCHEMAS, other=SCHEMAS)
def test_any_schema_is_resolved_or_refused_with_a_pointer(schema, one, other):
    whole = {**schema, "$defs": {"A": one, "B": other}}
    refusals = []
    try:
        assert "allOf" not in resolve(resolve(whole)) or "$ref" in str(whole)
    except SchemaError as error:
        refusals.append(error.message)
    assert all("itself" in message for message in refusals)


@given(value=json_values)
def test_any_value_is_resolved_or_refused(value):
    if isinstance(value, dict):
        assert isinstance(resolve(value), dict)
    else:
        with pytest.raises(SchemaError, match="must be an object"):
            resolve(value)


# --- what model APIs take in place of JSON Schema

CONST = {**STRING, "const": "x"}


@pytest.mark.parametrize(
    ("dialect", "wanted"),
    [
        ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
        ({**STRING, "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"$ref": "#/x", "nullable": True}, any_of({"$ref": "#/x"}, NULL)),
        ({**ref("x"), "nullable": True, "$defs": {"x": {}}}, {**any_of(ref("x"), NULL), "$defs": {"x": {}}}),
        ({**CONST, "nullable": True}, any_of(CONST, NULL)),
        ({**NUMBER, "minimum": 0, "exclusiveMinimum": True}, {**NUMBER, "exclusiveMinimum": 0}),
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


def test_null_under_nullable_names_the_dialect():
    error = Validator({"properties": {"a": {"type": "string", "nullable": True}}}).first_error({"a": None})
    assert str(error).startswith("`a`: null where a string was expected; `nullable` is OpenAPI 3.0")
