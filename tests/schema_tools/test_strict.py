"""The strict form of a schema, and the way back from an answer to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pytest_extract.core.validate import Validator
from pytest_extract.errors import SchemaError
from pytest_extract.schema_tools.strict import strict_schema
from tests.strategies import schemas

STRING, NULL = {"type": "string"}, {"type": "null"}


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def open_object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*required]}


NODE = open_object("name", name=STRING, next={"$ref": "#/$defs/Node"})
STRICT = {
    "optional": (open_object(a=STRING), closed(a={"type": ["string", "null"]})),
    "required": (open_object("a", a=STRING), closed(a=STRING)),
    "nested": (
        open_object("a", a=open_object(b={"type": "integer"})),
        closed(a=closed(b={"type": ["integer", "null"]})),
    ),
    "object that may be left out": (
        open_object(a=open_object("b", b=STRING)),
        closed(a={"anyOf": [closed(b=STRING), NULL]}),
    ),
    "list": (
        open_object("a", a={"type": "array", "items": open_object(b=STRING)}),
        closed(a={"type": "array", "items": closed(b={"type": ["string", "null"]})}),
    ),
    "null before": (
        open_object(a={"anyOf": [STRING, NULL]}, b={"type": ["number", "null"]}),
        closed(a={"anyOf": [STRING, NULL]}, b={"type": ["number", "null"]}),
    ),
    "enum and const": (
        open_object("b", a={"enum": ["x", "y"]}, b={"const": 3, "enum": [3, 4]}),
        closed(a={"type": ["string", "null"], "enum": ["x", "y", None]}, b={"type": "integer", "enum": [3]}),
    ),
    "notes stay, and others go": (
        {**open_object("a", a={**STRING, "description": "d", "default": "", "x-eval-skip": True}), "title": "T"},
        {**closed(a={**STRING, "description": "d"}), "title": "T"},
    ),
    "type is meant": (
        {"properties": {"a": STRING, "b": {"items": STRING}}, "required": ["a", "b"]},
        closed(a=STRING, b={"type": "array", "items": STRING}),
    ),
    "list and object in one type": (
        open_object(
            "a",
            a={"type": ["array", "string", "object"], "items": STRING, "properties": {"b": STRING}, "required": ["b"]},
        ),
        closed(a={"anyOf": [STRING, closed(b=STRING), {"type": "array", "items": STRING}]}),
    ),
    "recursion": (
        {**open_object("root", root={"$ref": "#/$defs/Node"}), "$defs": {"Node": NODE, "Unused": STRING}},
        {
            **closed(root={"$ref": "#/$defs/Node"}),
            "$defs": {"Node": closed(name=STRING, next={"anyOf": [{"$ref": "#/$defs/Node"}, NULL]})},
        },
    ),
    "keys beside recursion": (
        {
            "$ref": "#/$defs/A",
            "$defs": {"A": open_object(a={"$ref": "#/$defs/A", "required": ["b"]}, b=STRING)},
        },
        {
            **closed(a={"anyOf": [{"$ref": "#/$defs/a"}, NULL]}, b={"type": ["string", "null"]}),
            "$defs": {
                "A": closed(a={"anyOf": [{"$ref": "#/$defs/a"}, NULL]}, b={"type": ["string", "null"]}),
                "a": closed(a={"anyOf": [{"$ref": "#/$defs/a"}, NULL]}, b=STRING),
            },
        },
    ),
    "root by reference": (
        {"$ref": "#/definitions/A", "definitions": {"A": open_object("a", a=STRING)}},
        closed(a=STRING),
    ),
    "notes beside a reference": (
        {**open_object("a", a={"$ref": "#/$defs/A", "description": "d"}), "$defs": {"A": STRING}},
        {**closed(a={"description": "d", "anyOf": [{"$ref": "#/$defs/A"}]}), "$defs": {"A": STRING}},
    ),
    "all of": (
        {
            "allOf": [{"$ref": "#/$defs/A"}, open_object("b", b={"type": ["integer", "null"]})],
            "properties": {"b": {"type": ["integer", "string"]}},
            "$defs": {"A": open_object("a", a=STRING)},
        },
        closed(b={"type": "integer"}, a=STRING),
    ),
    "one of the keys": (
        open_object("a", a={**open_object(b=STRING, c=STRING), "anyOf": [{"required": ["b"]}, {"required": ["c"]}]}),
        closed(
            a={
                "anyOf": [
                    closed(b=STRING, c={"type": ["string", "null"]}),
                    closed(b={"type": ["string", "null"]}, c=STRING),
                ]
            }
        ),
    ),
    "a branch that nothing satisfies": (
        open_object("a", a={"type": "string", "anyOf": [{"type": "integer"}, {"enum": ["x"]}]}),
        closed(a={"type": "string", "enum": ["x"]}),
    ),
    "a key that must be absent": (open_object("a", a=STRING, b=False), closed(a=STRING)),
    "keys that must be absent, said beside other keywords": (
        {
            **open_object("a", a=STRING, b={**STRING, "allOf": [False]}, c={"$ref": "#/$defs/No", "type": "string"}),
            "$defs": {"No": False},
        },
        closed(a=STRING),
    ),
    "nullable behind a reference": (
        {"$ref": "#/definitions/A", "nullable": True, "definitions": {"A": open_object("a", a=STRING)}},
        closed(value={"anyOf": [{"$ref": "#/$defs/A"}, NULL]}) | {"$defs": {"A": closed(a=STRING)}},
    ),
    "root list": ({"type": "array", "items": STRING}, closed(value={"type": "array", "items": STRING})),
}


@pytest.mark.parametrize(("schema", "strict"), STRICT.values(), ids=STRICT)
def test_all_keys_are_required_and_optional_ones_may_be_null(schema: Any, strict: Any) -> None:
    made = strict_schema(schema)
    ours = {name: value for name, value in made.schema.items() if name != "$defs" or name in strict}
    assert ours == strict


DROPPED = {
    "words": ({**STRING, "pattern": "^x", "format": "date", "minLength": 1}, {"pattern", "format", "minLength"}),
    "numbers": ({"type": "number", "minimum": 0, "multipleOf": 2}, {"minimum", "multipleOf"}),
    "lists": ({"type": "array", "items": STRING, "minItems": 1, "uniqueItems": True}, {"minItems", "uniqueItems"}),
    "places": ({"type": "array", "prefixItems": [STRING, {"type": "integer"}]}, {"prefixItems"}),
    "places in Draft 7": ({"type": "array", "items": [STRING]}, {"items"}),
    "further keys": ({**open_object("b", b=STRING), "additionalProperties": True}, {"additionalProperties"}),
    "conditions": ({**open_object("b", b=STRING), "if": {}, "then": {}, "not": {}}, {"if", "then", "not"}),
    "one of": ({"oneOf": [closed(b=STRING), closed(c=STRING)]}, {"oneOf"}),
    "one of, beside null": ({"oneOf": [STRING, NULL]}, set()),
}


@pytest.mark.parametrize(("schema", "keywords"), DROPPED.values(), ids=DROPPED)
def test_what_is_lost_is_listed_with_its_place(schema: Any, keywords: set[str]) -> None:
    assert strict_schema(open_object("a", a=schema)).dropped == dict.fromkeys(keywords, ("/properties/a",))


REFUSED = {
    "map": (open_object(a={"type": "object", "additionalProperties": STRING}), "/properties/a", "additionalProperties"),
    "map beside keys": ({**open_object(a=STRING), "additionalProperties": STRING}, "/", "additionalProperties"),
    "patterns": (
        open_object(a={"type": "object", "patternProperties": {"^x": STRING}}),
        "/properties/a",
        "patternProperties",
    ),
    "any keys": (open_object(a={"type": "object"}), "/properties/a", "any keys"),
    "keywords left empty": ({"type": "object", "properties": None, "required": None}, "/", "any keys"),
    "any further keys": (open_object(a={"type": "object", "additionalProperties": True}), "/properties/a", "any keys"),
    "anything": (open_object(a={}), "/properties/a", "any value"),
    "any list": (open_object(a={"type": "array"}), "/properties/a", "any items"),
    "any items": (open_object(a={"type": "array", "items": True}), "/properties/a/items", "any value"),
    "a required key without a schema": (open_object("b", a=STRING), "/", "'b' is required"),
    "an object as a value": (open_object(a={"const": {"b": 1}}), "/properties/a", "fixed value"),
    "nowhere": (open_object(a={"$ref": "#/$defs/A"}), "/properties/a", "leads nowhere"),
    "endless": (
        {"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, STRING]}}},
        "/$defs/A",
        "itself",
    ),
    "endless by two": (
        {
            **open_object("b", b={"$ref": "#/$defs/B"}),
            "$defs": {
                "A": {"anyOf": [{"$ref": "#/$defs/B"}, STRING]},
                "B": {"anyOf": [open_object(x={"$ref": "#/$defs/A"}), {"$ref": "#/$defs/A"}]},
            },
        },
        "/$defs/B",
        "itself",
    ),
    "nothing that holds itself": (
        {
            **open_object(x={"$ref": "#/$defs/A"}, y={"$ref": "#/$defs/B"}),
            "$defs": {
                "A": open_object("c", b={"$ref": "#/$defs/B"}, c=False),
                "B": open_object(a={"$ref": "#/$defs/A"}, n=STRING),
            },
        },
        "/$defs/A",
        "no value",
    ),
    "nothing": (open_object("a", a=False), "/", "no value"),
    "nothing in a part": (open_object("a", a={"allOf": [False]}), "/", "no value"),
}


@pytest.mark.parametrize(("schema", "pointer", "told"), REFUSED.values(), ids=REFUSED)
def test_what_no_strict_schema_says_is_refused_with_its_place(schema: Any, pointer: str, told: str) -> None:
    with pytest.raises(SchemaError) as caught:
        strict_schema(schema)
    assert (caught.value.pointer or "/").startswith(pointer)
    assert told in caught.value.message


RESTORED = {
    "optional": (open_object("b", a=STRING, b=STRING), {"a": None, "b": "x"}, {"b": "x"}),
    "null of its own": (open_object(a={"type": ["string", "null"]}), {"a": None}, {"a": None}),
    "nested": (open_object("a", a=open_object(b=STRING)), {"a": {"b": None}}, {"a": {}}),
    "rows": (
        {"type": "array", "items": open_object(b=STRING, c=STRING)},
        {"value": [{"b": None, "c": "x"}, {"b": "y", "c": None}]},
        [{"c": "x"}, {"b": "y"}],
    ),
    "recursion": (
        {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}},
        {"name": "a", "next": {"name": "b", "next": None}},
        {"name": "a", "next": {"name": "b"}},
    ),
    "null behind a reference": (
        {**open_object(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"anyOf": [STRING, NULL]}}},
        {"a": None},
        {"a": None},
    ),
    "the branch that fits": (
        open_object(
            "a",
            a={
                "anyOf": [
                    open_object("k", k={"const": 1}, b=STRING),
                    open_object("k", k={"const": 2}, b={"type": ["string", "null"]}),
                ]
            },
        ),
        {"a": {"k": 2, "b": None}},
        {"a": {"k": 2, "b": None}},
    ),
    "no branch fits": (
        open_object(a=open_object(b={"type": "integer"}, c=STRING)),
        {"a": {"b": "no", "c": None}},
        {"a": {"b": "no"}},
    ),
    "other keys": (open_object(a=STRING), {"a": None, "z": None}, {"z": None}),
    "no object": (open_object(a=STRING), [1], [1]),
    "bare list": ({"type": "array", "items": open_object(b=STRING)}, [{"b": None}], [{"b": None}]),
}


@pytest.mark.parametrize(("schema", "answer", "value"), RESTORED.values(), ids=RESTORED)
def test_a_null_that_only_the_strict_schema_allows_is_left_out(schema: Any, answer: Any, value: Any) -> None:
    assert strict_schema(schema).restored(answer) == value


# --- laws

_names = st.sampled_from(["a", "b", "c"])
_leaves = st.sampled_from(
    [
        STRING,
        NULL,
        {"type": "integer"},
        {"type": ["number", "null"]},
        {"enum": ["x", 1, None]},
        {"const": "x"},
        {"$ref": "#/$defs/Node"},
        {"$ref": "#/$defs/Either"},
        {"allOf": [{"type": ["integer", "string"]}, {"enum": [1, "x", 2.5]}]},
    ]
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda properties, required, closed: {
            "type": "object",
            "properties": properties,
            "required": sorted(required & properties.keys()),
            **({"additionalProperties": False} if closed else {}),
        },
        st.dictionaries(_names, inner, min_size=1, max_size=3),
        st.sets(_names),
        st.booleans(),
    )


_sayable = st.recursive(
    _leaves,
    lambda inner: (
        _objects(inner)
        | inner.map(lambda items: {"type": "array", "items": items})
        | st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches})
        | st.lists(_objects(inner), min_size=2, max_size=2).map(lambda parts: {"allOf": parts})
        | st.builds(
            lambda base, keys: {**base, "anyOf": [{"required": [key]} for key in keys]},
            _objects(inner),
            st.lists(_names, min_size=1, max_size=2),
        )
    ),
    max_leaves=8,
)
_definitions = {
    "Node": open_object("name", name=STRING, next={"$ref": "#/$defs/Node"}, either={"$ref": "#/$defs/Either"}),
    "Either": {"anyOf": [{"type": "boolean"}, closed(a=STRING), open_object("a", a={"type": "integer"}, b=STRING)]},
}


def _values(node: Any, definitions: Any, depth: int = 0) -> st.SearchStrategy[Any]:
    """Return what a model may answer that is held to a strict schema."""
    if "$ref" in node:
        return _values(definitions[node["$ref"].rpartition("/")[2]], definitions, depth)
    if "anyOf" in node:
        short = [branch for branch in node["anyOf"] if branch == NULL] if depth > 5 else []
        return st.sampled_from(short or node["anyOf"]).flatmap(lambda branch: _values(branch, definitions, depth + 1))
    if "enum" in node:
        return st.sampled_from(node["enum"])
    types = node["type"] if isinstance(node["type"], list) else [node["type"]]
    by_type = {
        "string": lambda: st.sampled_from(["", "x"]),
        "integer": lambda: st.integers(0, 3),
        "number": lambda: st.sampled_from([0, 2.5]),
        "boolean": st.booleans,
        "null": st.none,
        "array": lambda: st.lists(_values(node["items"], definitions, depth + 1), max_size=0 if depth > 5 else 2),
        "object": lambda: st.fixed_dictionaries(
            {name: _values(child, definitions, depth + 1) for name, child in node["properties"].items()}
        ),
    }
    return st.one_of(*(by_type[name]() for name in types))


@given(_sayable, st.data())
def test_an_answer_to_the_strict_schema_satisfies_the_schema_again(schema: Any, data: st.DataObject) -> None:
    schema = {**schema, "$defs": _definitions}
    try:
        strict = strict_schema(schema)
    except SchemaError:
        assume(False)
    assert not strict.dropped
    answer = data.draw(_values(strict.schema, strict.schema.get("$defs", {})))
    assert Validator(strict.schema).is_valid(answer)
    restored = strict.restored(answer)
    assert Validator(schema).is_valid(restored), Validator(schema).errors(restored)


@given(schemas)
@example({"allOf": [{"$ref": "#"}]})
@example({"type": "object", "properties": {"a": {"$ref": "#"}}})
def test_every_schema_has_a_strict_form_or_a_reason(schema: Any) -> None:
    try:
        strict = strict_schema(schema).schema
    except SchemaError:
        return
    assert not Validator(strict).problems
    stack: list[Any] = [strict, *strict.get("$defs", {}).values()]
    while stack:
        node = stack.pop()
        assert node.keys() <= {
            *("type", "enum", "anyOf", "$ref", "items", "properties", "required", "additionalProperties"),
            *("$defs", "title", "description"),
        }
        if "properties" in node:
            assert (node["required"], node["additionalProperties"]) == ([*node["properties"]], False)
        stack += [
            *node.get("properties", {}).values(),
            *node.get("anyOf", ()),
            *([node["items"]] if "items" in node else []),
        ]
    assert strict["type"] == "object"
    assert "anyOf" not in strict


def test_alternatives_of_many_levels_are_looked_through_once():
    levels = 40
    definitions = {
        f"{name}{level}": {"anyOf": [{"$ref": f"#/$defs/{other}{level + 1}"} for other in "ab"]}
        for level in range(levels)
        for name in "ab"
    }
    ends = {f"a{levels}": {"type": "string"}, f"b{levels}": {"type": "integer"}}
    schema = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/a0"}},
        "required": ["x"],
        "$defs": definitions | ends,
    }
    assert strict_schema(schema).restored({"x": 5}) == {"x": 5}
