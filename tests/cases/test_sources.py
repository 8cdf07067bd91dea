"""JSON and YAML text to values, mistakes and places."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st
from yaml.reader import Reader

from pytest_extract.cases import sources
from pytest_extract.cases.sources import SourcePosition, parse_source, pointer_steps
from pytest_extract.core.values import MAX_DEPTH
from pytest_extract.errors import CaseFileError
from tests.strategies import json_values


def read(text, language, first_line=1):
    return parse_source(Path("a"), text, language, first_line)


read_json = partial(read, language="json")
read_yaml = partial(read, language="yaml")


def problems_of(source):
    return [(problem.steps, problem.place, problem.message) for problem in source.mistakes]


# --- values


@given(json_values)
def test_json_reads_as_the_standard_library_reads_it(value):
    text = json.dumps(value)
    assert read_json(text).value == json.loads(text)
    assert not read_json(text).mistakes


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, text) for text in ("no", "yes", "on", "True", "2024-01-02", "1_000", "0o17", "0x1F", "007")),
        *((text, text) for text in ("+1", ".5", "1:30", ".nan", ".inf")),
        ("12", 12),
        ("-0", 0),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("-1.5E-2", -0.015),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("'null'", "null"),
        ('"12"', "12"),
        ("|\n  12\n", "12\n"),
        ("!!str 12", "12"),
    ],
)
def test_plain_scalars_of_yaml_are_read_as_json_reads_them(text, value):
    read = read_yaml(f"key: {text}").value["key"]
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n"])
def test_an_empty_yaml_text_is_null(text):
    assert read_yaml(text).value is None


def test_keys_of_yaml_are_the_text_as_written():
    assert read_yaml("no: 1\n2024: 2\n1.50: 3\n~: 4\n").value == {"no": 1, "2024": 2, "1.50": 3, "~": 4}


def as_yaml(value, indent=None):
    """JSON text that is YAML as well: YAML has no surrogate pairs in escapes, fewer raw characters, more line breaks."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    assume(not Reader.NON_PRINTABLE.search(text))
    assume(not set(text) & set("\x85\u2028\u2029\ufeff"))
    return text


class Dumper(yaml.SafeDumper):
    """Quotes texts: YAML 1.1 writes `1e3` as it is."""


Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


@given(json_values)
def test_json_is_yaml_and_dumped_yaml_reads_back(value):
    dumped = read_yaml(yaml.dump(value, Dumper=Dumper, allow_unicode=True, sort_keys=False))
    assert not dumped.mistakes
    assert json.dumps(dumped.value) == json.dumps(value)
    assert read_yaml(f"a: {as_yaml(value)}").value == {"a": value}


@given(st.text(st.characters(codec="utf-8"), max_size=80))
@example("a: *a")
@example("&a [*a]")
@example("? []\n: 1")
@example("- - - ? x")
def test_any_text_gives_a_value_or_a_text_error(text):
    try:
        read = read_yaml(text)
    except CaseFileError as error:
        told = error.message
    else:
        told = json.dumps(read.value)
        [*read.places([((), False)])]
    assert told


def test_pyyaml_without_libyaml_reads_the_same(monkeypatch):
    text = "a: [1, no, {b: 'q'}]\nd: |\n  text\n"
    with_libyaml = read_yaml(text)
    monkeypatch.delattr(sources.pyyaml(), "CSafeLoader")
    assert read_yaml(text) == with_libyaml
    with pytest.raises(CaseFileError, match="not YAML"):
        read_yaml("a: [1")
    with pytest.raises(CaseFileError, match=r"U\+0001"):
        read_yaml("a: \x01")


# --- mistakes


IN_JSON = [
    ('{"a": 1,\n "a": 2}', (), (2, 2), "duplicate key 'a'"),
    ('[{"b": {"c": 1, "c": 1}}]', (0, "b"), (1, 17), "duplicate key 'c'"),
    ('{"a": [1], "a": [2, 3]}', (), (1, 12), "duplicate key 'a'"),
    ('{"a": {"b": 1}, "a": {"b": 2}}', (), (1, 17), "duplicate key 'a'"),
    ('{"a": [1,\n NaN]}', ("a", 1), (2, 2), "NaN"),
    ('{"a": -Infinity}', ("a",), (1, 7), "-Infinity"),
    ('{"a": 1e999}', ("a",), (1, 7), "out of range"),
    (f'{{"a": {"9" * 5000}}}', ("a",), (1, 7), "out of range"),
]
IN_YAML = [
    ("a: 1\na: 2\n", (), (2, 1), "duplicate key 'a'"),
    ("a:\n  - {b: 1, c: 2, b: 3}\n", ("a", 0), (2, 18), "duplicate key 'b'"),
    ("a: {<<: {b: 1}}\n", ("a",), (1, 5), "merge keys"),
    ("a: [1, 1e999]\n", ("a", 1), (1, 8), "1e999 is out of range"),
    (f"a: {'9' * 5000}\n", ("a",), (1, 4), "out of range"),
    ("a: !!binary aGk=\n", ("a",), (1, 4), "binary"),
    ("a: !!python/object:os.system {}\n", ("a",), (1, 4), "python/object"),
    ("a: !!int 1\n", ("a",), (1, 4), "'tag:yaml.org,2002:int' is no JSON type; leave it out"),
    ("a: !set {c: 1}\n", ("a",), (1, 4), "'!set' is no JSON type"),
    (
        "a: &x 1\n",
        ("a",),
        (1, 4),
        "anchors and aliases (`&`, `*`) are not read; put what cases share under `defaults:`",
    ),
    ("a: [1, *b]\n", ("a", 1), (1, 8), "anchors and aliases"),
    ("a:\n  &k b: 1\n", ("a",), (2, 3), "anchors and aliases"),
    ("a: &x [[]]\n", ("a",), (1, 4), "anchors and aliases"),
]


@pytest.mark.parametrize(
    ("language", "text", "steps", "place", "words"),
    [*(("json", *row) for row in IN_JSON), *(("yaml", *row) for row in IN_YAML)],
    ids=lambda part: str(part)[:30],
)
def test_a_mistake_that_leaves_the_rest_readable(language, text, steps, place, words):
    ((*found, message),) = problems_of(read(text, language))
    assert found == [steps, SourcePosition(*place)]
    assert words in message


DEEP = f"nested deeper than {MAX_DEPTH} levels"
NO_JSON = [
    ("", (1, 1), "not JSON"),
    ('{"a": 1\n "b": 2}', (2, 2), "not JSON"),
    ("{'a': 1}", (1, 2), "not JSON"),
    ('{"a": 1, "a": 2', (1, 16), "not JSON"),
    ('{"x": {"a": 1, "a": 2}, ', (1, 25), "not JSON"),
    ('{"a": "x,}",\n"b": [1, 2 ],\n }', (2, 13), "not JSON: a comma before the end"),
    ('{"a": "x,}",\n"b": [1, 2],]', (2, 12), "not JSON: a comma before the end"),
    ("[" * 100_000, (1, None), DEEP),
    ('{"a": ' * 100_000, (1, None), DEEP),
    ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), (1, None), DEEP),
]
NO_YAML = [
    ("a: [1,\n", (2, 1), "not YAML"),
    ("a:\n\tb: 1\n", (2, 1), "not YAML"),
    ("a: 'x\n", (2, 1), "not YAML"),
    ("a: \x01\n", (1, 4), "U+0001"),
    ("a: '\ud800'\n", (1, 5), "surrogate"),
    ("a: 1\n---\nb: 2\n", (2, 1), "second YAML document"),
    ("? [a]\n: b\n", (1, 3), "a key must be a text"),
    ("a: 1\n*k : 2\n", (2, 1), "anchors and aliases"),
    ("[" * 900, (1, MAX_DEPTH + 1), DEEP),  # beyond 1,000, some versions of libyaml stop before us
    ("- " * 100_000, (1, 2 * MAX_DEPTH + 1), DEEP),
    ("{a: " * 100_000, (1, 4 * MAX_DEPTH + 1), DEEP),
]


@pytest.mark.parametrize(
    ("language", "text", "place", "words"),
    [*(("json", *row) for row in NO_JSON), *(("yaml", *row) for row in NO_YAML)],
    ids=lambda part: ascii(part)[:30],
)
def test_a_text_that_cannot_be_read_says_where(language, text, place, words):
    with pytest.raises(CaseFileError, match=re.escape(words)) as caught:
        read(text, language)
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize("value", [["[" * (2 * MAX_DEPTH)], [[{}] for _ in range(2 * MAX_DEPTH)]], ids=["text", "row"])
def test_many_brackets_are_not_deep_by_themselves(value):
    assert read_json(json.dumps(value)).value == value


def test_lines_count_from_where_the_text_begins():
    with pytest.raises(CaseFileError) as caught:
        read_json('{"a" 1}', first_line=7)
    assert (caught.value.line, caught.value.column) == (7, 6)
    assert read_json('{"a": 1, "a": 1}', first_line=7).mistakes[0].place == SourcePosition(7, 10)


# --- places


def steps_of(value, steps=()):
    yield steps, False
    for step, part in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        if isinstance(step, str):
            yield (*steps, step), True
        yield from steps_of(part, (*steps, step))


@given(json_values, st.sampled_from([None, 1]))
def test_every_value_and_key_has_its_place(value, indent):
    text = json.dumps(value, indent=indent)
    targets = list(steps_of(value))
    rows = text.split("\n")
    for (steps, on_key), (line, column) in zip(targets, read_json(text).places(targets), strict=True):
        token = json.dumps(steps[-1]) if on_key else json.dumps(sources.reached(value, steps))[:1]
        assert rows[line - 1][column - 1 :].startswith(token)
    ranges = read_yaml(as_yaml({"a": value}, indent=1)).ranges()
    assert ranges.keys() == {()} | {("a", *steps) for steps, _ in targets}


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029"])
def test_lines_are_those_of_editors(mark):
    head = f'a: "x{mark}y"  # {mark}\nb:\n- c: 1\n'
    assert [*read_yaml(head).places([(("b", 0, "c"), False)])] == [(3, 6)]
    assert [place for _, place, _ in problems_of(read_yaml(f"{head}  c: 2\n"))] == [SourcePosition(4, 3)]
    with pytest.raises(CaseFileError) as caught:
        read_yaml(f"{head}]")
    assert (caught.value.line, caught.value.column) == (4, 1)


@pytest.mark.parametrize(
    ("pointer", "steps"),
    [
        ("", ()),
        ("/a", ("a",)),
        ("/a/1/b~1c", ("a", 1, "b/c")),
        ("/a/1/m~0n", ("a", 1, "m~n")),
        *((pointer, None) for pointer in ("/a/2", "/x", "/a/-", "/a/00", "/a/01", "/a/\u0661", "no-slash")),
        pytest.param("/a/" + "1" * 5_000, None, id="digits"),
    ],
)
def test_pointers_lead_to_paths(pointer, steps):
    assert pointer_steps({"a": [0, {"b/c": 1, "m~n": 2}]}, pointer) == steps
