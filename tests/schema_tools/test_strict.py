"""The strict form of a schema, and the way back from an answer to it."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pytest_extract.core.schema.source import schema_objects
from pytest_extract.core.validate import Validator
from pytest_extract.errors import SchemaError
from pytest_extract.schema_tools.strict import strict_schema
from tests.strategies import schemas

STRING, NULL, INTEGER, NUMBER = ({"type": name} for name in ("string", "null", "integer", "number"))
MAYBE, MAYBE_INTEGER, MAYBE_NUMBER = ({"type": [name, "null"]} for name in ("string", "integer", "number"))


def closed(**properties):
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def open_object(*required, **properties):
    return {"type": "object", "properties": properties, "required": [*required]}


def ref(name):
    return {"$ref": f"#/$defs/{name}"}


def any_of(*branches):
    return {"anyOf": [*branches]}


def rows(items, **more):
    return {"type": "array", "items": items, **more}


NODE = open_object("name", name=STRING, next=ref("Node"))
OF_A = open_object("a", a=STRING)
STRICT = {
    "optional": (open_object(a=STRING), closed(a=MAYBE)),
    "object that may be left out": (
        open_object(a=open_object("b", b=STRING)),
        closed(a=any_of(closed(b=STRING), NULL)),
    ),
    "list": (open_object("a", a=rows(open_object(b=STRING))), closed(a=rows(closed(b=MAYBE)))),
    "null before": (
        open_object(a=any_of(STRING, NULL), b=MAYBE_NUMBER),
        closed(a=any_of(STRING, NULL), b=MAYBE_NUMBER),
    ),
    "enum and const": (
        open_object("b", a={"enum": ["x", "y"]}, b={"const": 3, "enum": [3, 4]}),
        closed(a={**MAYBE, "enum": ["x", "y", None]}, b={**INTEGER, "enum": [3]}),
    ),
    "notes stay, and others go": (
        {**open_object("a", a={**STRING, "description": "d", "default": "", "x-eval-skip": True}), "title": "T"},
        {**closed(a={**STRING, "description": "d"}), "title": "T"},
    ),
    "type is meant": (
        {"properties": {"a": STRING, "b": {"items": STRING}}, "required": ["a", "b"]},
        closed(a=STRING, b=rows(STRING)),
    ),
    "list and object in one type": (
        open_object("a", a={**open_object("b", b=STRING), "type": ["array", "string", "object"], "items": STRING}),
        closed(a=any_of(STRING, closed(b=STRING), rows(STRING))),
    ),
    "recursion": (
        {**open_object("root", root=ref("Node")), "$defs": {"Node": NODE, "Unused": STRING}},
        {**closed(root=ref("Node")), "$defs": {"Node": closed(name=STRING, next=any_of(ref("Node"), NULL))}},
    ),
    "keys beside recursion": (
        {**ref("A"), "$defs": {"A": open_object(a={**ref("A"), "required": ["b"]}, b=STRING)}},
        {
            **closed(a=any_of(ref("a"), NULL), b=MAYBE),
            "$defs": {
                "A": closed(a=any_of(ref("a"), NULL), b=MAYBE),
                "a": closed(a=any_of(ref("a"), NULL), b=STRING),
            },
        },
    ),
    "notes beside a reference": (
        {**open_object("a", a={**ref("A"), "description": "d"}), "$defs": {"A": STRING}},
        {**closed(a={"description": "d", **any_of(ref("A"))}), "$defs": {"A": STRING}},
    ),
    "all of": (
        {
            "allOf": [ref("A"), open_object("b", b=MAYBE_INTEGER)],
            "properties": {"b": {"type": ["integer", "string"]}},
            "$defs": {"A": OF_A},
        },
        closed(b=INTEGER, a=STRING),
    ),
    "a part of all of": (
        {"allOf": [OF_A], "properties": {"b": {"$ref": "#/allOf/0"}}},
        {**closed(b=any_of(ref("0"), NULL), a=STRING), "$defs": {"0": closed(a=STRING)}},
    ),
    "one of the keys": (
        open_object("a", a={**open_object(b=STRING, c=STRING), **any_of({"required": ["b"]}, {"required": ["c"]})}),
        closed(a=any_of(closed(b=STRING, c=MAYBE), closed(b=MAYBE, c=STRING))),
    ),
    "a branch that nothing satisfies": (
        open_object("a", a={**STRING, **any_of(INTEGER, {"enum": ["x"]})}),
        closed(a={**STRING, "enum": ["x"]}),
    ),
    "keys that must be absent": (
        {
            **open_object("a", a=STRING, b={**STRING, "allOf": [False]}, c={**ref("No"), **STRING}, d=False),
            "$defs": {"No": False},
        },
        closed(a=STRING),
    ),
    "nullable behind a reference": (
        {"$ref": "#/definitions/A", "nullable": True, "definitions": {"A": OF_A}},
        closed(value=any_of(ref("A"), NULL)) | {"$defs": {"A": closed(a=STRING)}},
    ),
    "root list": (rows(STRING), closed(value=rows(STRING))),
}


@pytest.mark.parametrize(("schema", "strict"), STRICT.values(), ids=STRICT)
def test_all_keys_are_required_and_optional_ones_may_be_null(schema, strict):
    made = strict_schema(schema)
    assert {name: value for name, value in made.schema.items() if name != "$defs" or name in strict} == strict


@pytest.mark.parametrize(
    ("schema", "keywords"),
    [
        ({**STRING, "pattern": "^x", "format": "date", "minLength": 1}, {"pattern", "format", "minLength"}),
        ({**NUMBER, "minimum": 0, "multipleOf": 2}, {"minimum", "multipleOf"}),
        (rows(STRING, minItems=1, uniqueItems=True), {"minItems", "uniqueItems"}),
        ({"type": "array", "prefixItems": [STRING, INTEGER]}, {"prefixItems"}),
        (rows([STRING]), {"items"}),  # Draft 7
        ({**open_object("b", b=STRING), "additionalProperties": True}, {"additionalProperties"}),
        ({**open_object("b", b=STRING), "if": {}, "then": {}, "not": {}}, {"if", "then", "not"}),
        ({"oneOf": [closed(b=STRING), closed(c=STRING)]}, {"oneOf"}),
        ({"oneOf": [STRING, NULL]}, set()),
        ({"$ref": "#/properties/a/$defs/A", "minLength": 1, "$defs": {"A": STRING}}, {"minLength"}),
    ],
)
def test_what_is_lost_is_listed_with_its_place(schema, keywords):
    assert strict_schema(open_object("a", a=schema)).dropped == dict.fromkeys(keywords, ("/properties/a",))


REFUSED = [
    (open_object(a={"type": "object", "additionalProperties": STRING}), "/properties/a", "additionalProperties"),
    ({**open_object(a=STRING), "additionalProperties": STRING}, "/", "additionalProperties"),
    (open_object(a={"type": "object", "patternProperties": {"^x": STRING}}), "/properties/a", "patternProperties"),
    (open_object(a={"type": "object"}), "/properties/a", "any keys"),
    ({"type": "object", "properties": None, "required": None}, "/", "any keys"),
    (open_object(a={"type": "object", "additionalProperties": True}), "/properties/a", "any keys"),
    (open_object(a={}), "/properties/a", "any value"),
    (open_object(a={"type": "array"}), "/properties/a", "any items"),
    (open_object(a=rows(True)), "/properties/a/items", "any value"),
    (open_object("b", a=STRING), "/", "'b' is required"),
    (open_object(a={"const": {"b": 1}}), "/properties/a", "fixed value"),
    (open_object(a=ref("A")), "/properties/a", "leads nowhere"),
    ({**ref("A"), "$defs": {"A": any_of(ref("A"), STRING)}}, "/$defs/A", "itself"),
    (
        {
            **open_object("b", b=ref("B")),
            "$defs": {"A": any_of(ref("B"), STRING), "B": any_of(open_object(x=ref("A")), ref("A"))},
        },
        "/$defs/B",
        "itself",
    ),
    (
        {
            **open_object(x=ref("A"), y=ref("B")),
            "$defs": {"A": open_object("c", b=ref("B"), c=False), "B": open_object(a=ref("A"), n=STRING)},
        },
        "/$defs/A",
        "no value",
    ),
    ({"properties": 5}, "/properties", "no valid JSON Schema: 5 is an integer, an object was expected"),
    (open_object(a={"properties": "b"}), "/properties/a/properties", '"b" is a string, an object was expected'),
    (open_object(a={"enum": 5}), "/properties/a/enum", "an array was expected"),
    (open_object(["a"], a=STRING), "/required/0", "a string was expected"),
    ({"type": [{}], "nullable": True}, "/type", "no valid JSON Schema"),
    (open_object("a", a=False), "/", "no value"),
    (open_object("a", a={"allOf": [False]}), "/", "no value"),
]


@pytest.mark.parametrize(("schema", "pointer", "told"), REFUSED)
def test_what_no_strict_schema_says_is_refused_with_its_place(schema, pointer, told):
    with pytest.raises(SchemaError) as caught:
        strict_schema(schema)
    assert (caught.value.pointer or "/").startswith(pointer)
    assert told in caught.value.message


ONE_OR_TWO = any_of(open_object("k", k={"const": 1}, b=STRING), open_object("k", k={"const": 2}, b=MAYBE))
RESTORED = [
    (open_object("b", a=STRING, b=STRING), {"a": None, "b": "x"}, {"b": "x"}),
    (open_object(a=MAYBE), {"a": None}, {"a": None}),
    (open_object("a", a=open_object(b=STRING)), {"a": {"b": None}}, {"a": {}}),
    (
        rows(open_object(b=STRING, c=STRING)),
        {"value": [{"b": None, "c": "x"}, {"b": "y", "c": None}]},
        [{"c": "x"}, {"b": "y"}],
    ),
    (
        {**ref("Node"), "$defs": {"Node": NODE}},
        {"name": "a", "next": {"name": "b", "next": None}},
        {"name": "a", "next": {"name": "b"}},
    ),
    ({**open_object(a=ref("A")), "$defs": {"A": any_of(STRING, NULL)}}, {"a": None}, {"a": None}),
    (open_object("a", a=ONE_OR_TWO), {"a": {"k": 2, "b": None}}, {"a": {"k": 2, "b": None}}),
    (open_object(a=open_object(b=INTEGER, c=STRING)), {"a": {"b": "no", "c": None}}, {"a": {"b": "no"}}),
    (open_object(a=STRING), {"a": None, "z": None}, {"z": None}),
    (open_object(a=STRING), [1], [1]),
    (rows(open_object(b=STRING)), [{"b": None}], [{"b": None}]),
]


@pytest.mark.parametrize(("schema", "answer", "value"), RESTORED)
def test_a_null_that_only_the_strict_schema_allows_is_left_out(schema, answer, value):
    assert strict_schema(schema).restored(answer) == value


# --- laws

_names = st.sampled_from(["a", "b", "c"])
_both = {"allOf": [{"type": ["integer", "string"]}, {"enum": [1, "x", 2.5]}]}
_said = [STRING, NULL, INTEGER, MAYBE_NUMBER, {"enum": ["x", 1, None]}, {"const": "x"}]
_leaves = st.sampled_from([*_said, ref("Node"), ref("Either"), _both])


def _objects(inner):
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
        | inner.map(rows)
        | st.lists(inner, min_size=1, max_size=3).map(lambda branches: any_of(*branches))
        | st.lists(_objects(inner), min_size=2, max_size=2).map(lambda parts: {"allOf": parts})
        | st.builds(
            lambda base, keys: {**base, **any_of(*({"required": [key]} for key in keys))},
            _objects(inner),
            st.lists(_names, min_size=1, max_size=2),
        )
    ),
    max_leaves=8,
)
_definitions = {
    "Node": open_object("name", name=STRING, next=ref("Node"), either=ref("Either")),
    "Either": any_of({"type": "boolean"}, closed(a=STRING), open_object("a", a=INTEGER, b=STRING)),
}


def _values(node, definitions, depth=0):
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
def test_an_answer_to_the_strict_schema_satisfies_the_schema_again(schema, data):
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
def test_every_schema_has_a_strict_form_or_a_reason(schema):
    try:
        strict = strict_schema(schema).schema
    except SchemaError:
        return
    assert not Validator(strict).problems
    said = {"type", "enum", "anyOf", "$ref", "items", "properties", "required", "additionalProperties"}
    for _, node in schema_objects(strict):
        assert node.keys() <= said | {"$defs", "title", "description"}
        if "properties" in node:
            assert (node["required"], node["additionalProperties"]) == ([*node["properties"]], False)
    assert strict["type"] == "object"
    assert "anyOf" not in strict


def test_alternatives_of_many_levels_are_looked_through_once():
    levels = 40
    branches = [any_of(ref(f"a{level + 1}"), ref(f"b{level + 1}")) for level in range(levels)]
    definitions = {f"{name}{level}": branch for level, branch in enumerate(branches) for name in "ab"}
    definitions |= {f"a{levels}": STRING, f"b{levels}": INTEGER}
    schema = {**open_object("x", x=ref("a0")), "$defs": definitions}
    assert strict_schema(schema).restored({"x": 5}) == {"x": 5}
