from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.validate import Validator
from pytest_extract.errors import SchemaError
from pytest_extract.schema_tools.resolve import resolve_schema_references as resolve
from tests.strategies import json_values

TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}, "other": {"$ref": "#/$defs/leaf"}},
    "$defs": {
        "leaf": {"type": "string"},
        "node": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}},
        "unused": {"$ref": "#/$defs/unused"},
    },
}


@pytest.mark.parametrize(
    ("schema", "resolved"),
    [
        (
            {"$ref": "#/$defs/A", "description": "mine", "x-eval-compare": "exact", "$defs": {"A": {"type": "string"}}},
            {"type": "string", "description": "mine", "x-eval-compare": "exact"},
        ),
        (
            {
                "properties": {
                    "a": {"$ref": "#/definitions/A", "required": ["y"], "properties": {"y": {"type": "null"}}}
                },
                "definitions": {"A": {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}}},
            },
            {
                "properties": {
                    "a": {
                        "type": "object",
                        "required": ["y", "x"],
                        "properties": {"y": {"type": "null"}, "x": {"type": "string"}},
                    }
                },
                "definitions": {"A": {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}}},
            },
        ),
        (
            {"allOf": [{"required": ["a"]}, {"required": ["b", "a"]}, {"allOf": [{"required": ["c"]}]}]},
            {"required": ["a", "b", "c"]},
        ),
        ({"anyOf": [{"type": ["string", "null"]}, {"type": "number"}]}, {"type": ["string", "null", "number"]}),
        (
            {
                "properties": {"a": {"title": "A", "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}},
                "$defs": {"A": {"enum": ["x"], "type": "string"}},
            },
            {"properties": {"a": {"title": "A", "type": ["string", "null"], "enum": ["x", None]}}},
        ),
        ({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]}, {"type": ["string", "number", "null"]}),
        (
            {"type": ["string", "null"], "anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
            {"type": ["string", "null"], "minLength": 1},
        ),
        (
            {"type": "string", "anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
            {"type": "string", "minLength": 1},
        ),
        (
            {"anyOf": [{"const": 1, "type": "integer"}, {"type": "null"}]},
            {"anyOf": [{"const": 1, "type": "integer"}, {"type": "null"}]},
        ),
        (
            {"anyOf": [{"allOf": [{"type": "array", "items": {}}]}, {"type": "null"}]},
            {"type": ["array", "null"], "items": {}},
        ),
        ({"enum": [{"$ref": "#/nowhere"}]}, {"enum": [{"$ref": "#/nowhere"}]}),
        ({"properties": {"anyOf": {"type": "string"}}}, {"properties": {"anyOf": {"type": "string"}}}),
        (
            {"$ref": "#node", "$defs": {"A": {"$anchor": "node", "type": "string"}}},
            {"$anchor": "node", "type": "string"},
        ),
        ({"items": {"$ref": "#/$defs/A"}, "$defs": {"A": True}}, {"items": True}),
        ({"type": "array", "items": {"$ref": "#"}}, {"type": "array", "items": {"$ref": "#"}}),
    ],
)
def test_resolving_keeps_what_it_can(schema, resolved):
    assert resolve(schema) == resolved


@pytest.mark.parametrize("published", [True, False])
@pytest.mark.parametrize(
    ("branches", "resolved"),
    [
        ([{"type": "string"}, {"type": ["integer", "string"]}], {"type": ["string", "integer"]}),
        (
            [{"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "array"}],
            {"anyOf": [{"type": ["string", "integer"]}, {"type": "array"}]},
        ),
        (
            [{"$ref": "#/$defs/d"}, {"type": "object", "properties": {"a": {}}}],
            {"anyOf": [{"type": ["string", "integer"]}, {"type": "object", "properties": {"a": {}}}]},
        ),
    ],
    ids=["types", "nested", "referred"],
)
def test_lists_of_types_are_made_from_the_outside_in(branches, resolved, published):
    schema = {"anyOf": branches, "$defs": {"d": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}
    assert resolve(schema, published=published) == resolved


def test_a_recursive_reference_stays_with_its_definition():
    node = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}
    assert resolve(TREE) == {
        "type": "object",
        "properties": {"root": node, "other": {"type": "string"}},
        "$defs": {"node": node},
    }


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


def test_what_resolving_keeps_recursive_means_the_same():
    good = {"root": {"kids": [{"kids": []}]}, "other": "x"}
    bad = {"root": {"kids": [{"kids": [5]}]}, "other": "x"}
    for schema in (TREE, resolve(TREE)):
        assert Validator(schema).is_valid(good)
        assert not Validator(schema).is_valid(bad)


@pytest.mark.parametrize(
    ("schema", "published", "message"),
    [
        (TREE, True, r"at /\$defs/node/properties/kids/items: the reference '#/\$defs/node' leads back to itself"),
        ({"items": {"$ref": "#/$defs/no"}}, False, "at /items: the reference '#/\\$defs/no' leads nowhere"),
        ({"items": {"$ref": "http://x.org/s"}}, False, "leads out of this document; only local references"),
        ({"properties": {"a": {"items": {"$ref": "#/properties/a"}}}}, False, r"move what it refers to under `\$defs`"),
        ([], False, "a schema to resolve must be an object, not array"),
        (
            {"$ref": "#/$defs/a0", "$defs": {f"a{i}": {"items": {"$ref": f"#/$defs/a{i + 1}"},
             "contains": {"$ref": f"#/$defs/a{i + 1}"}} for i in range(40)} | {"a40": {}}},
            False,
            "resolving makes more than 100000 schema objects",
        ),
    ],
    ids=["recursive", "dangling", "remote", "not-a-definition", "list", "bomb"],
)  # fmt: skip
def test_what_cannot_be_resolved_is_told_with_its_place(schema, published, message):
    with pytest.raises(SchemaError, match=message):
        resolve(schema, published=published)


def test_too_deep_is_told():
    deep: dict[str, object] = {}
    for _ in range(10_000):
        deep = {"items": deep}
    with pytest.raises(SchemaError, match="nested too deep"):
        resolve(deep)


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
