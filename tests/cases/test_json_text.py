"""JSON text to values and places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.cases.sources import (
    SourcePosition,
    TextTarget,
    parse_source,
    pointer_steps,
)
from pytest_extract.core.values import MAX_DEPTH
from pytest_extract.errors import CaseFileError
from tests.strategies import json_values


def read_json(text, first_line=1):
    return parse_source(Path("a.json"), text, "json", first_line)


@given(json_values)
def test_json_reads_as_the_standard_library_reads_it(value):
    text = json.dumps(value)
    assert read_json(text).value == json.loads(text)
    assert not read_json(text).problems


@pytest.mark.parametrize(
    ("text", "steps", "place", "words"),
    [
        ('{"a": 1,\n "a": 2}', (), (2, 2), "duplicate key 'a'"),
        ('[{"b": {"c": 1, "c": 1}}]', (0, "b"), (1, 17), "duplicate key 'c'"),
        ('{"a": [1], "a": [2, 3]}', (), (1, 12), "duplicate key 'a'"),
        ('{"a": {"b": 1}, "a": {"b": 2}}', (), (1, 17), "duplicate key 'a'"),
        ('{"a": [1,\n NaN]}', ("a", 1), (2, 2), "NaN"),
        ('{"a": -Infinity}', ("a",), (1, 7), "-Infinity"),
        ('{"a": 1e999}', ("a",), (1, 7), "out of range"),
        ('{"a": ' + "9" * 5000 + "}", ("a",), (1, 7), "out of range"),
    ],
    ids=["duplicate", "nested", "lists", "mappings", "nan", "infinity", "float", "integer"],
)
def test_a_mistake_that_leaves_the_rest_readable_names_what_it_spoils(text, steps, place, words):
    problems = read_json(text).problems
    assert [(problem.steps, problem.place) for problem in problems] == [(steps, SourcePosition(*place))]
    assert words in problems[0].message


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", (1, 1)),
        ('{"a": 1\n "b": 2}', (2, 2)),
        ("{'a': 1}", (1, 2)),
        ('{"a": 1, "a": 2', (1, 16)),
        ('{"x": {"a": 1, "a": 2}, ', (1, 25)),
    ],
    ids=[
        "empty",
        "missing-comma",
        "quotes",
        "duplicate-and-open",
        "duplicate-inside",
    ],
)
def test_a_text_that_cannot_be_read_says_where(text, place):
    with pytest.raises(CaseFileError) as caught:
        read_json(text)
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize("text", ['{"a": "x,}",\n"b": [1, 2 ],\n }', '{"a": "x,}",\n"b": [1, 2],]'])
def test_a_comma_before_the_end_is_told_at_its_place(text):
    with pytest.raises(CaseFileError, match="not JSON: a comma before the end") as caught:
        read_json(text)
    assert (caught.value.line, caught.value.column) == (2, text.rfind(",") - text.find("\n"))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' * 100_000, "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)])
def test_a_text_that_is_nested_too_deep_is_told(text):
    with pytest.raises(CaseFileError, match="nested deeper than 200 levels"):
        read_json(text)


def test_brackets_inside_strings_do_not_count_as_nesting():
    text = json.dumps(["[" * (2 * MAX_DEPTH)])
    assert read_json(text).value == ["[" * (2 * MAX_DEPTH)]


def test_many_brackets_side_by_side_are_not_deep():
    value = [[{}] for _ in range(2 * MAX_DEPTH)]
    assert read_json(json.dumps(value)).value == value


def test_lines_count_from_where_the_text_begins():
    with pytest.raises(CaseFileError) as caught:
        read_json('{"a" 1}', first_line=7)
    assert (caught.value.line, caught.value.column) == (7, 6)
    assert read_json('{"a": 1, "a": 1}', first_line=7).problems[0].place == SourcePosition(7, 10)


@given(json_values, st.sampled_from([None, 1]))
def test_every_value_and_key_has_its_place(value, indent):
    text = json.dumps(value, indent=indent)
    targets = list(_targets(value))
    places = parse_source(Path("a.json"), text, "json").places(targets)
    assert set(places) == set(targets)
    rows = text.split("\n")
    for target, (line, column) in places.items():
        token = json.dumps(target.steps[-1]) if target.on_key else json.dumps(_reached(value, target.steps))[:1]
        assert rows[line - 1][column - 1 :].startswith(token)


def _targets(value, steps=()):
    yield TextTarget(steps)
    for step, part in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        if isinstance(step, str):
            yield TextTarget((*steps, step), on_key=True)
        yield from _targets(part, (*steps, step))


def _reached(value, steps):
    for step in steps:
        value = value[step]
    return value


@pytest.mark.parametrize(
    ("pointer", "steps"),
    [
        ("", ()),
        ("/a", ("a",)),
        ("/a/1/b~1c", ("a", 1, "b/c")),
        ("/a/1/m~0n", ("a", 1, "m~n")),
        ("/a/2", None),
        ("/x", None),
        ("/a/-", None),
        ("/a/00", None),
        ("/a/01", None),
        ("/a/\u0661", None),
        pytest.param("/a/" + "1" * 5_000, None, id="digits"),
        ("no-slash", None),
    ],
)
def test_pointers_lead_to_paths(pointer, steps):
    assert pointer_steps({"a": [0, {"b/c": 1, "m~n": 2}]}, pointer) == steps
