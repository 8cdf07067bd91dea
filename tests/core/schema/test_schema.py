"""Reading schemas: keys that would be ignored, references, compositions, choices; any valid JSON Schema is taken."""

from __future__ import annotations

import pytest

from pytest_extract import compile_schema, score
from pytest_extract.core.schema.tree import Schema
from pytest_extract.errors import SchemaError
from tests.core.schemas import INTEGER, NUMBER, TEXT, array, obj


def of(**keys):
    return obj(a={**obj(b=TEXT), **keys})


SLIPS = [
    ("evaluation_confg", "string_fuzzy", "evaluation_config"),
    ("evaluationConfig", {"metrics": []}, "evaluation_config"),
    ("evaluatoin_config", "string_exact", "evaluation_config"),
    ("x_eval_compare", "exact", "x-eval-compare"),
    ("x-evl-compare", "exact", "x-eval-compare"),
    ("properteis", {"c": TEXT}, "properties"),
    ("propertes", {"c": TEXT}, "properties"),
    ("requird", ["b"], "required"),
    ("Required", ["b"], "required"),
    ("itmes", TEXT, "items"),
    ("item", TEXT, "items"),
    ("additional_properties", False, "additionalProperties"),
    ("aditionalProperties", False, "additionalProperties"),
    ("any_of", [TEXT], "anyOf"),
    ("anyof", [TEXT], "anyOf"),
    ("enun", ["x"], "enum"),
    ("tpye", "string", "type"),
    ("typ", ["string", "null"], "type"),
    ("fromat", "date", "format"),
    ("minimun", 3, "minimum"),
    ("maxItem", 3, "maxItems"),
    ("uniqueitems", True, "uniqueItems"),
    ("descripton", "what it is", "description"),
    ("defs", {"c": TEXT}, "$defs"),
]


@pytest.mark.parametrize(("key", "value", "meant"), SLIPS)
def test_a_key_a_letter_or_two_beside_a_known_one_is_a_mistake(key, value, meant):
    with pytest.raises(SchemaError, match=f"no keyword '{key}'; did you mean '{meant.replace('$', '[$]')}'") as caught:
        compile_schema(of(**{key: value}))
    assert caught.value.pointer == f"/properties/a/{key}"


PART = {**TEXT, "x-eval-metric": "fuzzy"}


@pytest.mark.parametrize(
    "schema",
    [
        *(obj() | {"x-eval-metric": 1}, obj(a=PART), array(PART)),
        *(obj() | {"$defs": {"never used": PART}}, {"anyOf": [NUMBER, PART]}),
    ],
)
def test_every_unknown_annotation_is_a_mistake_wherever_it_stands(schema):
    with pytest.raises(SchemaError, match="no annotation 'x-eval-metric'; known: x-eval-align, x-eval-compare,"):
        compile_schema(schema)


@pytest.mark.parametrize(("key", "meant"), [("x-eval-compar", "x-eval-compare"), ("x-eval-rule", "x-eval-rules")])
def test_the_annotation_that_was_meant_is_named(key, meant):
    with pytest.raises(SchemaError, match=f"no annotation '{key}'; did you mean '{meant}'[?]"):
        compile_schema(of(**{key: "fuzzy"}))


def test_all_slips_are_told_at_once_with_other_mistakes():
    with pytest.raises(SchemaError) as caught:
        compile_schema({**of(requird=["b"]), "properteis": {}, "evaluation_config": "nope"})
    pointers = [error.pointer for error in caught.value.errors]
    assert pointers == ["/properteis", "/properties/a/requird", "/evaluation_config"]


DATA = {
    "properties": obj(**{"itmes": TEXT, "requird": TEXT, "x-eval-metric": TEXT, "typ": TEXT}),
    "patterns": {"type": "object", "patternProperties": {"enun": TEXT}},
    "definitions": {"type": "object", "$defs": {"itmes": TEXT}, "definitions": {"typ": TEXT}},
    "constant": {"const": {"properteis": 1}},
    "words": {"enum": [{"requird": []}]},
    "default": {"type": "object", "default": {"x-eval-metric": 1}, "examples": [{"itmes": 1}], "example": {"typ": 1}},
    "inside an own key": {"type": "object", "x-ui": {"properteis": 1}, "widget": {"itmes": {}}},
    "vendor extension": {"type": "string", "x-ui-order": 3, "x-enum-varnames": ["A"], "x-order": 1},
    "far from any": {"type": "string", "label": "L", "unit": "EUR", "group": 1, "aliases": ["a"], "source": "p. 3"},
    "near one that holds something else": {"type": "string", "note": "a text", "ui": {"hidden": True}, "count": 3},
    "of other drafts": {"type": "object", "divisibleBy": 2, "extends": {}, "discriminator": {}, "propertyOrdering": []},
    "two edits from a short keyword": {"type": "object", "refs": {"c": TEXT}, "form": "b", "rows": {}, "tags": ["a"]},
    "put out of use": {"type": "object", "x-deprecated": True, "xrequired": ["b"], "x-format": "date"},
    "definitions by another name": {"properties": {"a": {"$ref": "#/defs/a"}}, "defs": {"a": TEXT}},
}


@pytest.mark.parametrize("schema", DATA.values(), ids=DATA)
def test_data_and_keys_of_others_are_no_mistakes(schema):
    compile_schema(schema)


def test_a_call_that_names_a_system_takes_what_its_program_takes():
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-eval-compare": "exact", "x-eval-mode": 1}}}
    assert score(schema, {"a": "x"}, {"a": "x"}, semantics="struct-extract-eval").measures["f1"] == 1.0
    with pytest.raises(SchemaError, match="no annotation 'x-eval-mode'"):
        compile_schema(schema, semantics="struct-extract-eval", as_published=False)


# --- what a schema says of its places

DEFS = {"$defs": {"d": TEXT, "a/b~c": INTEGER, "x": {"$anchor": "here", "type": "boolean"}}}


def at(schema, *names):
    found = Schema(schema)
    node = found.node(found.root)
    for name in names:
        node = found.node(node.properties[name])
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
    schema = {"$ref": "#/$defs/o", "required": ["b"], "properties": {"b": INTEGER}}
    schema["$defs"] = {"o": {**obj(a=TEXT, b=TEXT), "required": ["a"]}}
    node = at(schema)
    assert (list(node.properties), node.required) == (["b", "a"], {"a", "b"})
    assert at(schema, "b").types == ("integer",)


def test_all_of_is_one_node():
    parts = [{"properties": {"a": {"type": ["string", "number"]}}}, {"properties": {"a": {**TEXT, "minLength": 2}}}]
    assert at({"allOf": parts}, "a").types == ("string",)
    found = Schema({"allOf": [{"prefixItems": [{"type": ["string", "number"]}]}, {"prefixItems": [TEXT, INTEGER]}]})
    places = found.node(found.root).prefix
    assert [found.node(place).types for place in places] == [("string",), ("integer",)]


TYPES = {
    "list": ({"type": ["integer", "null"]}, ("integer",), True),
    "openapi": ({"type": "integer", "nullable": True}, ("integer",), True),
    "any-of-null": ({"anyOf": [INTEGER, {"type": "null"}]}, ("integer",), True),
    "one-of-null-constant": ({"oneOf": [{"const": None}, INTEGER]}, ("integer",), True),
    "enum": ({"enum": ["a", None]}, ("string",), True),
    "const": ({"const": 3}, ("integer",), False),
    "by-properties": ({"properties": {}}, ("object",), False),
    "by-items": ({"items": {}}, ("array",), False),
    "only-null": ({"type": "null"}, (), True),
    "anything": ({}, (), False),
    "single-branch": ({"anyOf": [TEXT]}, ("string",), False),
    "demanding-branches": (obj(a={}) | {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, ("object",), False),
    "not-a-type": ({"type": "strnig"}, (), False),
}


@pytest.mark.parametrize(("schema", "types", "nullable"), TYPES.values(), ids=TYPES)
def test_types(schema, types, nullable):
    node = at(schema)
    assert (node.types, node.nullable, node.branches) == (types, nullable, ())


def test_branches_that_differ_are_a_choice():
    branches = [{"properties": {"a": {}}}, {"properties": {"b": {}}}, {"type": "null"}]
    found = Schema({"properties": {"k": TEXT}, "oneOf": branches})
    node = found.node(found.root)
    assert node.nullable
    assert [list(found.node(branch).properties) for branch in node.branches] == [["a", "k"], ["b", "k"]]


def test_places_of_tuples_in_old_and_new_drafts():
    flag = {"type": "boolean"}
    for schema in (array([TEXT, INTEGER], additionalItems=flag), array(flag, prefixItems=[TEXT, INTEGER])):
        found = Schema(schema)
        node = found.node(found.root)
        types = [found.node(key).types for key in (*node.prefix, node.items)]
        assert types == [("string",), ("integer",), ("boolean",)]


ODD = [True, False, {"properties": 5}, {"type": 3}, {"required": "a"}, {"items": 7}, {"anyOf": {}}, {"$ref": 9}]


@pytest.mark.parametrize("schema", [*ODD, {"patternProperties": {"(": {}}}, {"enum": [[1], {"a": 1}]}], ids=str)
def test_odd_schemas_are_read(schema):
    assert len(list(Schema(schema).walk())) >= 1


CLOSED = {**obj(), "additionalProperties": False}
FITS = {
    "integer": (INTEGER, 3.0, True),
    "no-integer": (INTEGER, 3.5, False),
    "boolean-is-no-integer": (INTEGER, True, False),
    "null": ({"type": ["string", "null"]}, None, True),
    "required": ({"type": "object", "required": ["a"]}, {}, False),
    "constant": ({"properties": {"k": {"const": "a"}}}, {"k": "b"}, False),
    "true-is-not-1": ({"const": 1}, True, False),
    "closed": (CLOSED, {"x": 1}, False),
    "further": ({"type": "object", "additionalProperties": TEXT}, {"x": 1}, False),
    "pattern": ({**CLOSED, "patternProperties": {"^x": INTEGER}}, {"xy": 1}, True),
    "items": ({"type": "array", "items": TEXT}, ["a", 1], False),
    "nested-choice": ({"anyOf": [TEXT, {"type": "array"}]}, [1], True),
}


@pytest.mark.parametrize(("schema", "value", "fits"), FITS.values(), ids=FITS)
def test_fit(schema, value, fits):
    found = Schema(schema)
    assert found.fits(found.node(found.root), value) is fits
