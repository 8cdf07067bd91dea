"""Schemas of plain places compile to what the general way makes of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.compile.nodes import Array, FlatPaths, Object, TableColumn
from pytest_extract.core.compile.plain import compile_plain
from pytest_extract.core.compile.program import compile_program

scalars = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "enum": ["a", "b"], "title": "T"},
        {"type": "integer", "description": "d"},
        {"type": "number", "properties": {"a": {"type": "string"}}},
        {"type": "boolean"},
        {"type": ["string", "null"]},
        {"type": ["number", "null"], "minimum": 0},
    ]
)
names = st.sampled_from(["a", "b", "odd.name", "x y", "[]", "é"])
closed = st.sampled_from([{}, {"additionalProperties": False}, {"required": ["a"]}, {"unevaluatedProperties": True}])
plain = st.recursive(
    scalars,
    lambda inner: (
        st.builds(
            lambda properties, more: {"type": "object", "properties": properties, **more},
            st.dictionaries(names, inner, min_size=1, max_size=3),
            closed,
        )
        | st.builds(lambda items: {"type": "array", "items": items}, inner)
    ),
    max_leaves=10,
)


def shape(value: Any, *, row: bool = False) -> Any:
    """Return a compiled node as nested tuples; tables of cells count only where rows are laid out."""
    if isinstance(value, Object):
        value = value if row else value._replace(bulk=None)
        bulk = value.bulk and (*value.bulk[1:],)
        parts = {**value._asdict(), "bulk": bulk and shape(bulk)}
        return "object", {name: shape(part) for name, part in parts.items()}
    if isinstance(value, Array):
        parts = value._asdict()
        items, table = (shape(parts.pop(name), row=True) for name in ("items", "table"))
        return "array", items, table, {name: shape(part) for name, part in parts.items()}
    if isinstance(value, FlatPaths):
        return type(value).__name__, value.names
    if isinstance(value, TableColumn):
        return tuple(map(shape, value))
    if isinstance(value, tuple):
        return type(value).__name__, *map(shape, value)
    return value


@pytest.mark.parametrize("nulls", [None, "value"])
@given(schema=plain)
def test_both_ways_compile_alike(schema, nulls):
    found = compile_plain(schema, "ours", nulls, "llm")
    expected = compile_program(schema, nulls=nulls, annotated=True)
    assert found is not None
    assert shape(found.root) == shape(expected.root)
    assert list(found.patterns) == list(expected.patterns)
    assert (found.semantics, found.judged, found.judges) == (expected.semantics, False, {})


@pytest.mark.parametrize(
    "place",
    [
        True,
        {},
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "array"},
        {"type": "array", "items": True},
        {"type": "null"},
        {"type": "strnig"},
        {"type": ["string", "integer"]},
        {"type": [{}, "null"]},
        {"type": "string", "nullable": True},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"$ref": "#/$defs/x"},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "patternProperties": {}},
    ],
    ids=str,
)
def test_what_is_not_plain_compiles_the_general_way(place):
    assert compile_plain({"type": "object", "properties": {"p": place}}, "ours", None, "llm") is None


@pytest.mark.parametrize("semantics", ["extract-bench", "struct-extract-eval"])
def test_semantics_that_look_at_more_than_the_kind_of_a_place_have_no_plain_ones(semantics):
    assert compile_plain({"type": "object", "properties": {"p": {"type": "string"}}}, semantics, None, "llm") is None


def test_a_schema_nested_too_deeply_is_not_plain():
    schema: Any = {"type": "string"}
    for _ in range(200):
        schema = {"type": "array", "items": schema}
    assert compile_plain(schema, "ours", None, "llm") is None
