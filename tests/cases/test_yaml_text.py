"""YAML text to values and places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st
from yaml.reader import Reader

from pytest_extract.cases import sources
from pytest_extract.cases.sources import SourcePosition, TextTarget, parse_source
from pytest_extract.core.values import MAX_DEPTH
from pytest_extract.errors import CaseFileError
from tests.strategies import json_values


def read_yaml(text):
    return parse_source(Path("a.yaml"), text, "yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("True", "True"),
        ("2024-01-02", "2024-01-02"),
        ("1_000", "1_000"),
        ("0o17", "0o17"),
        ("0x1F", "0x1F"),
        ("007", "007"),
        ("+1", "+1"),
        (".5", ".5"),
        ("1:30", "1:30"),
        (".nan", ".nan"),
        (".inf", ".inf"),
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
def test_plain_scalars_are_read_as_json_reads_them(text, value):
    read = read_yaml(f"key: {text}").value["key"]
    assert read == value
    assert type(read) is type(value)


def test_keys_are_the_text_as_written():
    assert read_yaml("no: 1\n2024: 2\n1.50: 3\n~: 4\n").value == {"no": 1, "2024": 2, "1.50": 3, "~": 4}


def test_files_share_their_keys():
    (first,) = read_yaml("total: 1").value
    (second,) = read_yaml("total: 2").value
    assert first is second


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n"])
def test_an_empty_text_is_null(text):
    assert read_yaml(text).value is None


def _as_yaml(value, indent=None):
    """JSON text that is YAML as well: YAML has no surrogate pairs in escapes, fewer raw characters, more line breaks."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    assume(not Reader.NON_PRINTABLE.search(text))
    assume(not set(text) & set("\x85\u2028\u2029\ufeff"))
    return text


@given(json_values)
def test_json_is_yaml_and_reads_the_same(value):
    text = _as_yaml(value)
    assert read_yaml(f"a: {text}").value == {"a": value}


class Dumper(yaml.SafeDumper):
    """Quotes texts: YAML 1.1 writes `1e3` as it is."""


Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


@given(json_values)
def test_dumped_yaml_reads_back(value):
    text = yaml.dump(value, Dumper=Dumper, allow_unicode=True, sort_keys=False)
    read = read_yaml(text)
    assert not read.problems
    assert json.dumps(read.value) == json.dumps(value)


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
        _places(text, [TextTarget(())])
    assert told


@pytest.mark.parametrize(
    ("text", "steps", "place", "words"),
    [
        ("a: 1\na: 2\n", (), (2, 1), "duplicate key 'a'"),
        ("a:\n  - {b: 1, c: 2, b: 3}\n", ("a", 0), (2, 18), "duplicate key 'b'"),
        ("a: {<<: {b: 1}}\n", ("a",), (1, 5), "merge keys"),
        ("a: [1, 1e999]\n", ("a", 1), (1, 8), "1e999 is out of range"),
        (f"a: {'9' * 5000}\n", ("a",), (1, 4), "out of range"),
        ("a: !!binary aGk=\n", ("a",), (1, 4), "binary"),
        ("a: !!python/object:os.system {}\n", ("a",), (1, 4), "python/object"),
        ("a: !!int 1\n", ("a",), (1, 4), "'tag:yaml.org,2002:int' is no JSON type; leave it out"),
        ("a: [1, *b]\n", ("a", 1), (1, 8), "no anchor &b"),
        ("a: &x [*x]\n", ("a", 0), (1, 8), "inside its own anchor"),
        ("&k a: 1\n*k : 2\n", (), (2, 1), "duplicate key 'a'"),
        ("a: !set {c: 1}\n", ("a",), (1, 4), "'!set' is no JSON type"),
    ],
    ids=[
        "duplicate",
        "nested",
        "merge",
        "infinite",
        "huge",
        "binary",
        "python",
        "tag",
        "alias",
        "cycle",
        "key alias",
        "set",
    ],
)
def test_a_mistake_that_leaves_the_rest_readable_names_what_it_spoils(text, steps, place, words):
    problems = read_yaml(text + "z: fine\n").problems
    assert [(problem.steps, problem.place) for problem in problems] == [(steps, SourcePosition(*place))]
    assert words in problems[0].message


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: [1,\n", (2, 1), "not YAML"),
        ("a:\n\tb: 1\n", (2, 1), "not YAML"),
        ("a: 'x\n", (2, 1), "not YAML"),
        ("a: \x01\n", (1, 4), "U+0001"),
        ("a: '\ud800'\n", (1, 5), "surrogate"),
        ("a: 1\n---\nb: 2\n", (2, 1), "second YAML document"),
        ("? [a]\n: b\n", (1, 3), "a key must be a text"),
        ("&a 1: &b {}\n*b : 2\n", (2, 1), "a key must be a text"),
        ("[" * 900, (1, MAX_DEPTH + 1), "nested deeper"),  # beyond 1,000, some versions of libyaml stop before us
        ("- " * 100_000, (1, 2 * MAX_DEPTH + 1), "nested deeper"),
        ("{a: " * 100_000, (1, 4 * MAX_DEPTH + 1), "nested deeper"),
    ],
    ids=["open", "tab", "quote", "control", "surrogate", "two", "key", "alias as key", "flow", "block", "maps"],
)
def test_a_text_that_cannot_be_read_says_where(text, place, words):
    with pytest.raises(CaseFileError, match=words.replace("+", r"\+")) as caught:
        read_yaml(text)
    assert (caught.value.line, caught.value.column) == place


def test_aliases_are_copies():
    value = read_yaml("a: &x [1, {b: 2}]\nc: *x\nd: *x\n").value
    assert value["c"] == value["d"] == value["a"]
    assert value["c"] is not value["d"]
    assert value["c"][1] is not value["a"][1]


def test_an_anchor_on_a_scalar_and_on_a_key_can_be_used():
    assert read_yaml("&k a: &v 1\nb: *v\nc: *k\n").value == {"a": 1, "b": 1, "c": "a"}


def test_an_alias_can_be_a_key():
    assert read_yaml("a: &x name\nb: {*x : 1}\n").value == {"a": "name", "b": {"name": 1}}


def test_a_billion_laughs_are_cut_short():
    rows = ["l0: &l0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    rows += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(CaseFileError, match="aliases stand for more than") as caught:
        read_yaml("\n".join(rows))
    assert caught.value.line == 5


def test_aliases_cannot_nest_deeper_than_the_bound():
    rows = ["l0: &l0 []", *(f"l{n}: &l{n} [*l{n - 1}]" for n in range(1, 600))]
    with pytest.raises(CaseFileError, match=r"nested deeper|aliases stand for"):
        read_yaml("\n".join(rows))


def test_an_alias_deep_inside_cannot_pass_the_bound():
    half = MAX_DEPTH // 2
    text = f"a: &a {'[' * half}{']' * half}\nb: {'[' * (half + 9)}*a{']' * (half + 9)}\n"
    with pytest.raises(CaseFileError, match="nested deeper"):
        read_yaml(text)


def test_an_alias_alone_is_told():
    (problem,) = read_yaml("*a\n").problems
    assert (problem.steps, problem.place) == ((), SourcePosition(1, 1))


def test_places_of_keys_and_values():
    text = "a: 1\nb:\n  c: [1, {d: 'x'}]\n  e:\n- no\n".replace("- no\n", "")
    wanted = {
        TextTarget(()): SourcePosition(1, 1),
        TextTarget(("b",), on_key=True): SourcePosition(2, 1),
        TextTarget(("b", "c")): SourcePosition(3, 6),
        TextTarget(("b", "c", 1)): SourcePosition(3, 10),
        TextTarget(("b", "c", 1, "d"), on_key=True): SourcePosition(3, 11),
        TextTarget(("b", "c", 1, "d")): SourcePosition(3, 14),
        TextTarget(("b", "e"), on_key=True): SourcePosition(4, 3),
    }
    nowhere = TextTarget(("b", "nowhere"))
    assert _places(text, [*wanted, nowhere]) == {**wanted, nowhere: SourcePosition(2, 1)}


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029"])
def test_lines_are_those_of_editors(mark):
    head = f'a: "x{mark}y"  # {mark}\nb:\n- c: 1\n'
    read = read_yaml(f"{head}  c: 2\n")
    assert [problem.place for problem in read.problems] == [SourcePosition(4, 3)]
    assert _places(head, [TextTarget(("b", 0, "c"))]) == {TextTarget(("b", 0, "c")): SourcePosition(3, 6)}
    with pytest.raises(CaseFileError) as caught:
        read_yaml(f"{head}]")
    assert (caught.value.line, caught.value.column) == (4, 1)


def _places(text, targets):
    return parse_source(Path("a.yaml"), text, "yaml").places(targets)


@given(json_values)
def test_every_value_has_a_place(value):
    text = _as_yaml({"a": value}, indent=1)
    ranges = parse_source(Path("a.yaml"), text, "yaml").ranges()
    assert {("a", *steps) for steps in _paths(value)} | {()} == ranges.keys()


def _paths(value):
    yield ()
    if isinstance(value, dict):
        yield from ((key, *rest) for key, part in value.items() for rest in _paths(part))
    elif isinstance(value, list):
        yield from ((index, *rest) for index, part in enumerate(value) for rest in _paths(part))


def test_pyyaml_without_libyaml_reads_the_same(monkeypatch):
    text = "a: [1, no, {b: &x 'q'}]\nc: *x\nd: |\n  text\n"
    with_libyaml = read_yaml(text)
    monkeypatch.delattr(sources.pyyaml(), "CSafeLoader")
    assert read_yaml(text) == with_libyaml
    with pytest.raises(CaseFileError, match="not YAML"):
        read_yaml("a: [1")
    with pytest.raises(CaseFileError, match=r"U\+0001"):
        read_yaml("a: \x01")
