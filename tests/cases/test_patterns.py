"""Fields as a case names them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.cases.schemas import field_problem, has_value, is_skipped
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import ANY_KEY, parse_field, path_text, usual


def obj(**properties):
    return {"type": "object", "properties": properties}


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
SCHEMA = obj(
    **{"a.b": TEXT},
    plain=obj(x=TEXT),
    rows={"type": "array", "items": obj(n=NUMBER)},
    grid={"type": "array", "items": {"type": "array", "items": NUMBER}},
    pair={"type": "array", "prefixItems": [TEXT, obj(y={})]},
    either={"anyOf": [obj(p=TEXT), obj(q=TEXT)]},
    named={"type": "object", "additionalProperties": obj(v=NUMBER)},
    dated={"type": "object", "patternProperties": {"^[0-9]{4}$": NUMBER}},
    free={"type": "object"},
    left=obj(z=TEXT),
    tree={"$ref": "#/$defs/node"},
)
SCHEMA["$defs"] = {"node": obj(v=TEXT, kids={"type": "array", "items": {"$ref": "#/$defs/node"}})}
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
        ("$[].b", (None, "b"), "[].b"),
        ('x["a.b"].c', ("x", "a.b", "c"), 'x["a.b"].c'),
        ('["plain"]', ("plain",), "plain"),
        ("odd key.c", ("odd key", "c"), '["odd key"].c'),
        ("größe", ("größe",), "größe"),
        ("$.meta.*[]", ("meta", ANY_KEY, None), "meta.*[]"),
        ('meta["*"].v', ("meta", "*", "v"), 'meta["*"].v'),
        (r'["q\"q"]', ('q"q',), r'["q\"q"]'),
    ],
)
def test_fields_are_parsed_and_spelled(text, steps, spelling):
    assert parse_field(text) == steps
    assert path_text(steps) == usual(text) == spelling


@pytest.mark.parametrize(
    "text", ["", ".", "a.", "a..b", ".a", "a.[0]", "a[", "a[x]", "a]b", "[]a", 'a["b]', r'a["\x"]', "a" + "[]" * 300]
)
def test_what_is_no_field(text):
    assert parse_field(text) is None
    assert usual(text) == text
    assert "is no field; write it as" in (field_problem(text, PROGRAM, {}) or "")


@given(
    st.lists(st.none() | st.just(ANY_KEY) | st.integers(-99, 99) | st.text(max_size=6), max_size=6).map(tuple),
    st.text(st.sampled_from('ab.[]"\\$ -19é*'), max_size=12),
)
def test_the_spelling_reads_back_and_any_text_is_a_field_or_none(steps, text):
    assert parse_field(path_text(steps)) == steps
    found = parse_field(text)
    assert found is None or parse_field(path_text(found)) == found


DECLARED = [
    *("$", '["a.b"]', "plain.x", "rows", "rows[]", "rows[].n", "rows[7].n", "rows[-1].n", "grid[][]", "grid[0][]"),
    *("pair[0]", "pair[1].y", "pair[].y", "either.p", "either.q", "named.anything.v", "named.*.v", "free"),
    *("dated.2024", 'dated["2024"]', "dated.*", "left", "left.z", "tree.kids[].kids[].kids[].v"),
]
UNDECLARED = [
    *("a.b", "plain.y", "plain[]", "rows.n", "grid[][][]", "pair[0].y", "either.r", "named.anything.w"),
    *("dated.x2024", 'dated["24"]', "free.x", "left.y", "tree.kids[].kids[].w"),
]


@pytest.mark.parametrize("field", [*DECLARED, *UNDECLARED])
def test_a_field_is_one_of_the_schema_s(field):
    assert (field_problem(field, PROGRAM, None) is None) == (field in DECLARED)


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
    assert (field_problem(field, PROGRAM, gold) is None) == there


@pytest.mark.parametrize(
    "field", ["free.x", "free.rows[].x", "free.rows[1].x", "free.*", "more.x", "rows[].more[]", "left.more"]
)
def test_a_field_inside_a_value_that_is_compared_as_one_is_told(field):
    gold = {
        "free": {"x": 1, "rows": [{}, {"x": 1}]},
        "more": {"x": 1},
        "rows": [{"more": [1]}],
        "left": {"more": 1},
    }
    problem = f"{field!r} is not compared by itself: name what is around it, or declare it in the schema"
    assert field_problem(field, PROGRAM, gold) == problem


FULL = ["$", "plain.x", "plain", "rows[].n", "rows[0].n", "named.*", "named.k.v"]
EMPTY = ["rows[1].n", "left", "dated.*"]


@pytest.mark.parametrize("field", [*FULL, *EMPTY])
def test_whether_the_gold_has_a_value_there(field):
    rows = [{"n": 1}, {"n": None}]
    gold = {"plain": {"x": "a"}, "rows": rows, "left": {"z": ""}, "named": {"k": {"v": 0}}, "dated": {}}
    assert has_value(gold, field) == (field in FULL)


SCORED = ["plain.x", "rows", "rows[].n", "rows[0].n", "grid", "pair[0]", "either.q", "named.*.v", "free"]
UNSCORED = ["plain", "rows[]", "either", "named", "left", "left.z", "$"]


@pytest.mark.parametrize("field", [*SCORED, *UNSCORED])
def test_only_a_field_with_a_score_of_its_own_can_be_bounded(field):
    assert (field_problem(field, PROGRAM, None, bounded=True) is None) == (field in SCORED)
    assert is_skipped(field, PROGRAM) == (field in ("left", "left.z"))


def test_what_has_a_score_depends_on_how_it_is_compared():
    compared = {"x-eval-compare": "exact"}
    rows = compile_schema(obj(rows={"type": "array", "items": obj(a={**TEXT, **compared})})).program
    problem = "'rows' is skipped, or has no score of its own: name the fields in it"
    assert field_problem("rows", rows, None, bounded=True) == problem
    assert field_problem("rows[].a", rows, None, bounded=True) is None
    as_one = compile_schema(SCHEMA, overrides={"plain": "exact"}).program
    assert field_problem("plain", as_one, None, bounded=True) is None
    below_a_leaf = compile_schema(obj(who={**obj(name={**TEXT, **compared}), **compared})).program
    assert field_problem("who.name", below_a_leaf, None) is None
    assert field_problem("who.nam", below_a_leaf, None) is not None


@pytest.mark.parametrize("field", ["z", "x1", "deep.x1"])
def test_a_field_that_the_semantics_do_not_compare_is_told(field):
    keys = {"patternProperties": {"^x": {"type": "integer"}}}
    schema, gold = obj(deep=obj() | keys) | keys, {"z": 1, "x1": 1, "deep": {"x1": 1}}
    told = field_problem(field, compile_schema(schema, semantics="extract-bench").program, gold)
    assert told == f"{field!r} is not compared by itself: name what is around it, or declare it in the schema"
    assert field_problem(field, compile_schema(schema).program, gold) is None
