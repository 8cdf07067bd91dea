"""Reading schemas: references, compositions, choices, nullability; any valid JSON Schema is taken."""

from __future__ import annotations

import pytest

from pytest_extract.core.schema.tree import Conformance, Schema

DEFS = {"$defs": {"d": {"type": "string"}, "a/b~c": {"type": "integer"}, "x": {"$anchor": "here", "type": "boolean"}}}


def root_of(schema):
    found = Schema(schema)
    return found.node(found.root)


def at(schema, *names):
    found = Schema(schema)
    node = found.node(found.root)
    for name in names:
        node = found.node(node.properties[name] if name != "[]" else node.items)
    return node


REFERENCES = {
    "definition": ("#/$defs/d", ("string",)),
    "escaped": ("#/$defs/a~1b~0c", ("integer",)),
    "percent": ("#/%24defs/d", ("string",)),
    "anchor": ("#here", ("boolean",)),
    "own-id": ("http://example.test/s.json#/$defs/d", ("string",)),
    "root": ("#", ("object",)),
}


@pytest.mark.parametrize(("ref", "types"), REFERENCES.values(), ids=REFERENCES)
def test_local_references(ref, types):
    schema = {"$id": "http://example.test/s.json", "properties": {"v": {"$ref": ref}}, **DEFS}
    assert at(schema, "v").types == types


@pytest.mark.parametrize(
    "ref", ["#/$defs/none", "http://elsewhere.test/s.json", "other.json#/d", "#nowhere", "#/$defs/d/type/9"]
)
def test_a_reference_that_leads_nowhere_is_said_and_nothing_is_fetched(ref):
    node = at({"properties": {"v": {"$ref": ref}}, **DEFS}, "v")
    assert node.dangling == ref
    assert node.types == ()


@pytest.mark.parametrize(
    "schema", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"anyOf": [{"$ref": "#"}]}], ids=["ref", "all", "any"]
)
def test_a_reference_to_itself_ends(schema):
    assert list(Schema(schema).walk())


def test_what_stands_beside_a_reference_wins_and_the_rest_is_kept():
    schema = {"$ref": "#/$defs/o", "required": ["b"], "properties": {"b": {"type": "integer"}}}
    schema["$defs"] = {
        "o": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    }
    node = root_of(schema)
    assert list(node.properties) == ["b", "a"]
    assert node.required == {"a", "b"}
    assert at(schema, "b").types == ("integer",)


def test_all_of_is_one_node():
    schema = {
        "allOf": [
            {"properties": {"a": {"type": ["string", "number"]}}},
            {"properties": {"a": {"type": "string", "minLength": 2}}},
        ]
    }
    assert at(schema, "a").types == ("string",)


TYPES = {
    "list": ({"type": ["integer", "null"]}, ("integer",), True),
    "openapi": ({"type": "integer", "nullable": True}, ("integer",), True),
    "any-of-null": ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, ("integer",), True),
    "one-of-null-constant": ({"oneOf": [{"const": None}, {"type": "integer"}]}, ("integer",), True),
    "enum": ({"enum": ["a", None]}, ("string",), True),
    "const": ({"const": 3}, ("integer",), False),
    "by-properties": ({"properties": {}}, ("object",), False),
    "by-items": ({"items": {}}, ("array",), False),
    "only-null": ({"type": "null"}, (), True),
    "anything": ({}, (), False),
    "single-branch": ({"anyOf": [{"type": "string"}]}, ("string",), False),
    "demanding-branches": (
        {"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        ("object",),
        False,
    ),
    "not-a-type": ({"type": "strnig"}, (), False),
}


@pytest.mark.parametrize(("schema", "types", "nullable"), TYPES.values(), ids=TYPES)
def test_types(schema, types, nullable):
    node = root_of(schema)
    assert (node.types, node.nullable, node.branches) == (types, nullable, ())


def test_branches_that_differ_are_a_choice():
    schema = {
        "properties": {"k": {"type": "string"}},
        "oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}, {"type": "null"}],
    }
    found = Schema(schema)
    node = found.node(found.root)
    assert node.nullable
    assert [list(found.node(branch).properties) for branch in node.branches] == [["a", "k"], ["b", "k"]]


def test_places_of_tuples_in_old_and_new_drafts():
    for schema in (
        {"items": [{"type": "string"}, {"type": "integer"}], "additionalItems": {"type": "boolean"}},
        {"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": {"type": "boolean"}},
    ):
        found = Schema(schema)
        node = found.node(found.root)
        assert [found.node(key).types for key in (*node.prefix, node.items)] == [
            ("string",),
            ("integer",),
            ("boolean",),
        ]


@pytest.mark.parametrize(
    "schema",
    [
        True,
        False,
        {"properties": 5},
        {"type": 3},
        {"required": "a"},
        {"items": 7},
        {"anyOf": {}},
        {"patternProperties": {"(": {}}},
        {"enum": [[1], {"a": 1}]},
        {"$ref": 9},
    ],
    ids=str,
)
def test_odd_schemas_are_read(schema):
    assert len(list(Schema(schema).walk())) >= 1


FITS = {
    "integer": ({"type": "integer"}, 3.0, True),
    "no-integer": ({"type": "integer"}, 3.5, False),
    "boolean-is-no-integer": ({"type": "integer"}, True, False),
    "null": ({"type": ["string", "null"]}, None, True),
    "required": ({"type": "object", "required": ["a"]}, {}, False),
    "constant": ({"properties": {"k": {"const": "a"}}}, {"k": "b"}, False),
    "true-is-not-1": ({"const": 1}, True, False),
    "closed": ({"type": "object", "properties": {}, "additionalProperties": False}, {"x": 1}, False),
    "further": ({"type": "object", "additionalProperties": {"type": "string"}}, {"x": 1}, False),
    "pattern": (
        {"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False},
        {"xy": 1},
        True,
    ),
    "items": ({"type": "array", "items": {"type": "string"}}, ["a", 1], False),
    "nested-choice": ({"anyOf": [{"type": "string"}, {"type": "array"}]}, [1], True),
}


@pytest.mark.parametrize(("schema", "value", "fits"), FITS.values(), ids=FITS)
def test_fit(schema, value, fits):
    found = Schema(schema)
    assert Conformance(found)(found.node(found.root), value) is fits
