"""Fields as a case names them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.cases.schemas import declared, has_value, is_skipped, unknown_field, without_score
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import ANY_KEY, parse_field, path_text, usual

SCHEMA = {
    "type": "object",
    "properties": {
        "a.b": {"type": "string"},
        "plain": {"type": "object", "properties": {"x": {"type": "string"}}},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "number"}}}},
        "grid": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "object", "properties": {"y": {}}}]},
        "either": {
            "anyOf": [
                {"type": "object", "properties": {"p": {"type": "string"}}},
                {"type": "object", "properties": {"q": {"type": "string"}}},
            ]
        },
        "named": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"v": {"type": "number"}}},
        },
        "dated": {"type": "object", "patternProperties": {"^[0-9]{4}$": {"type": "number"}}},
        "free": {"type": "object"},
        "left": {"type": "object", "properties": {"z": {"type": "string"}}},
    },
}
PROGRAM = compile_schema(SCHEMA, overrides={"left": "skip"}).program


@pytest.mark.parametrize(
    ("text", "steps", "spelling"),
    [
        ("$", (), "$"),
        ("a", ("a",), "a"),
        ("$.a", ("a",), "a"),
        (" a.b ", ("a", "b"), "a.b"),
        ("a[].b", ("a", None, "b"), "a[].b"),
        ("a[3][0].b", ("a", 3, 0, "b"), "a[3][0].b"),
        ("a[-1]", ("a", -1), "a[-1]"),
        ("[].b", (None, "b"), "[].b"),
        ("$[].b", (None, "b"), "[].b"),
        ('["a.b"]', ("a.b",), '["a.b"]'),
        ('x["a.b"].c', ("x", "a.b", "c"), 'x["a.b"].c'),
        ('["plain"]', ("plain",), "plain"),
        ("odd key.c", ("odd key", "c"), '["odd key"].c'),
        ("größe", ("größe",), "größe"),
        ("*", (ANY_KEY,), "*"),
        ("meta.*.v", ("meta", ANY_KEY, "v"), "meta.*.v"),
        ("$.meta.*[]", ("meta", ANY_KEY, None), "meta.*[]"),
        ('meta["*"].v', ("meta", "*", "v"), 'meta["*"].v'),
        (r'["q\"q"]', ('q"q',), r'["q\"q"]'),
    ],
)
def test_fields_are_parsed_and_spelled(text, steps, spelling):
    assert parse_field(text) == steps
    assert path_text(steps) == spelling
    assert usual(text) == spelling


@pytest.mark.parametrize(
    "text", ["", ".", "a.", "a..b", ".a", "a.[0]", "a[", "a[x]", "a]b", "[]a", 'a["b]', r'a["\x"]', "a" + "[]" * 300]
)
def test_what_is_no_field(text):
    assert parse_field(text) is None
    assert usual(text) == text
    assert "is no field; write it as" in (unknown_field(text, PROGRAM, {}) or "")


@given(st.lists(st.none() | st.just(ANY_KEY) | st.integers(-99, 99) | st.text(max_size=6), max_size=6).map(tuple))
def test_the_spelling_reads_back(steps):
    assert parse_field(path_text(steps)) == steps


@given(st.text(st.sampled_from('ab.[]"\\$ -19é*'), max_size=12))
def test_any_text_is_a_field_or_none(text):
    steps = parse_field(text)
    assert steps is None or parse_field(path_text(steps)) == steps


@pytest.mark.parametrize(
    ("field", "there"),
    [
        ("$", True),
        ('["a.b"]', True),
        ("a.b", False),
        ("plain.x", True),
        ("plain.y", False),
        ("plain[]", False),
        ("rows", True),
        ("rows[]", True),
        ("rows[].n", True),
        ("rows[7].n", True),
        ("rows[-1].n", True),
        ("rows.n", False),
        ("grid[][]", True),
        ("grid[0][]", True),
        ("grid[][][]", False),
        ("pair[0]", True),
        ("pair[1].y", True),
        ("pair[].y", True),
        ("pair[0].y", False),
        ("either.p", True),
        ("either.q", True),
        ("either.r", False),
        ("named.anything.v", True),
        ("named.*.v", True),
        ("named.anything.w", False),
        ("dated.2024", True),
        ("dated.x2024", False),
        ('dated["2024"]', True),
        ("dated.*", True),
        ('dated["24"]', False),
        ("free", True),
        ("free.x", False),
        ("left", True),
        ("left.z", True),
        ("left.y", False),
    ],
)
def test_a_field_is_one_of_the_schema_s(field, there):
    assert declared(field, PROGRAM) == there
    assert (unknown_field(field, PROGRAM, None) is None) == there


@pytest.mark.parametrize(
    ("field", "gold", "there"),
    [
        ("more", {"more": 1}, True),
        ("plain.more", {"plain": {"more": [{}, {"x": 1}]}}, True),
        ("plain.more", {"plain": {"x": 1}}, False),
        ("rows[].more", {"rows": [{}, {"more": 1}]}, True),
        ("rows[1].more", {"rows": [{}, {"more": 1}]}, True),
        ("rows[0].more", {"rows": [{}, {"more": 1}]}, False),
        ("rows[-1].more", {"rows": [{}, {"more": 1}]}, False),
        ("plain.*", {"plain": {"more": 1}}, False),
        ("rows.more", {"rows": [{"more": 1}]}, False),
    ],
)
def test_a_field_that_the_gold_has_is_known(field, gold, there):
    assert (unknown_field(field, PROGRAM, gold) is None) == there


@pytest.mark.parametrize(
    ("field", "whole"),
    [
        ("free.x", "free"),
        ("free.rows[].x", "free"),
        ("free.rows[1].x", "free"),
        ("free.*", "free"),
        ("more.x", "more"),
        ("rows[].more[]", "rows[].more"),
    ],
)
def test_a_field_inside_a_value_that_is_compared_as_one_is_told(field, whole):
    gold = {"free": {"x": 1, "rows": [{}, {"x": 1}]}, "more": {"x": 1}, "rows": [{"more": [1]}]}
    problem = f"{field!r} is not compared by itself: the schema declares nothing inside {whole!r}; name that"
    assert unknown_field(field, PROGRAM, gold) == problem


def test_a_field_that_only_the_gold_has_inside_a_skipped_one_is_told():
    assert (
        unknown_field("left.more", PROGRAM, {"left": {"more": 1}})
        == "'left.more' is not compared by itself: the schema declares nothing inside 'left'; name that"
    )


@pytest.mark.parametrize(
    ("field", "there"),
    [
        ("plain.x", True),
        ("plain", True),
        ("rows[].n", True),
        ("rows[0].n", True),
        ("rows[1].n", False),
        ("left", False),
        ("named.*", True),
        ("named.k.v", True),
        ("dated.*", False),
        ("$", True),
    ],
)
def test_whether_the_gold_has_a_value_there(field, there):
    gold = {
        "plain": {"x": "a"},
        "rows": [{"n": 1}, {"n": None}],
        "left": {"z": ""},
        "named": {"k": {"v": 0}},
        "dated": {},
    }
    assert has_value(gold, field) == there


def test_fields_below_a_leaf_with_structure_are_known_under_struct_extract_eval():
    schema = {
        "type": "object",
        "properties": {
            "who": {
                "type": "object",
                "x-eval-compare": "exact",
                "properties": {"name": {"type": "string", "x-eval-compare": "exact"}},
            }
        },
    }
    program = compile_schema(schema).program
    assert declared("who.name", program)
    assert not declared("who.nam", program)


@pytest.mark.parametrize(
    ("field", "scored"),
    [
        ("plain.x", True),
        ("plain", False),
        ("rows", True),
        ("rows[]", False),
        ("rows[].n", True),
        ("rows[0].n", True),
        ("grid", True),
        ("pair[0]", True),
        ("either", False),
        ("either.q", True),
        ("named", False),
        ("named.*.v", True),
        ("free", True),
        ("left", False),
        ("left.z", False),
        ("$", False),
    ],
)
def test_only_a_field_with_a_score_of_its_own_can_be_bounded(field, scored):
    assert (without_score(field, PROGRAM) is None) == scored


def test_the_root_cannot_be_bounded_and_the_advice_names_fields():
    problem = without_score("$", PROGRAM) or ""
    assert problem.startswith("'$' has no score of its own; bound what is in it: ")
    assert "plain.x" in problem


@pytest.mark.parametrize(("field", "skipped"), [("left", True), ("left.z", True), ("plain", False), ("plain.x", False)])
def test_whether_a_field_is_skipped(field, skipped):
    assert is_skipped(field, PROGRAM) == skipped


def test_an_array_without_a_result_cannot_be_bounded():
    leaf = {"type": "string", "x-eval-compare": "exact"}
    rows = {"type": "array", "items": {"type": "object", "properties": {"a": leaf}}}
    program = compile_schema({"type": "object", "properties": {"rows": rows}}).program
    assert without_score("rows", program) == "'rows' has no score of its own; bound what is in it: rows[].a"
    assert without_score("rows[].a", program) is None


def test_a_container_with_a_metric_of_its_own_can_be_bounded():
    program = compile_schema(SCHEMA, overrides={"plain": "exact"}).program
    assert without_score("plain", program) is None


@pytest.mark.parametrize("field", ["z", "x1", "deep.x1"])
def test_a_field_that_the_semantics_do_not_compare_is_told(field):
    keys = {"patternProperties": {"^x": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"deep": {"type": "object", **keys}}, **keys}
    program = compile_schema(schema, semantics="extract-bench").program
    problem = unknown_field(field, program, {"z": 1, "x1": 1, "deep": {"x1": 1}})
    assert problem == (
        f"{field!r} is not compared: the semantics extract-bench compare no keys but those that `properties` declares; "
        "declare it there"
    )
    assert unknown_field(field, compile_schema(schema).program, {"z": 1, "x1": 1, "deep": {"x1": 1}}) is None
