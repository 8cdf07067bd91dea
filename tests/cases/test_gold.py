"""Writing gold: what changed, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_extract.cases.edit import update_gold, with_value
from pytest_extract.cases.sources import parse_source
from pytest_extract.errors import CaseFileError, StoreError
from tests.cpu_time import cpu_seconds
from tests.strategies import json_values

HERE = Path("gold.json")


def edited(text, value, language="json", steps=()):
    return with_value(parse_source(HERE, text, language), steps, value)


@pytest.mark.parametrize(
    ("text", "value", "after"),
    [
        ('{"a": 1, "b": [1,  2]}\n', {"a": 2, "b": [1, 3]}, '{"a": 2, "b": [1,  3]}\n'),
        ('{\n  "a": 1,\n  "b": { "c": 2 }\n}', {"b": {"c": 3}, "a": 1}, '{\n  "a": 1,\n  "b": { "c": 3 }\n}'),
        ('{"a":1,"b":[1]}', {"a": 1, "b": [1, {"c": 2}]}, '{"a":1,"b":[1,{"c":2}]}'),
        ('{\n\t"a": [\n\t\t1\n\t]\n}\n', {"a": [1, 2]}, '{\n\t"a": [\n\t\t1,\n\t\t2\n\t]\n}\n'),
        ('{\n "a": [1, 2],\n "b": 1\n}', {"a": [1], "b": 2}, '{\n "a": [1],\n "b": 2\n}'),
        ('{\n    "a": null\n}', {"a": {"x": [1]}}, '{\n    "a": {\n        "x": [\n            1\n        ]\n    }\n}'),
        ('{"n": "Z\\u00fcrich", "m": "x"}', {"n": "Zürich", "m": "Köln"}, '{"n": "Z\\u00fcrich", "m": "K\\u00f6ln"}'),
        ('{"n": "Zürich", "m": "x"}', {"n": "Zürich", "m": "Köln"}, '{"n": "Zürich", "m": "Köln"}'),
        ('{"b": 1, "a": 2}', {"a": 2, "c": 3, "b": 1}, '{"b": 1, "a": 2, "c": 3}'),
        ("[true, 1.0]", [1, 1], "[1, 1]"),
        (" 1 \n", {"a": 1}, ' {"a": 1} \n'),
        ('{"a": 1.50, "b": 2, "c": 1e3}', {"a": 1.5, "c": 1000.0}, '{"a": 1.50, "c": 1e3}'),
        ('{\n  "a": 1.50,\n  "b": 2\n}', {"a": 1.5}, '{\n  "a": 1.50\n}'),
        ('{"a": 1.50, "b": 2}', {"b": 2, "c": [1]}, '{"b": 2, "c": [1]}'),
        ('{\n  "a": 1.50,\n  "b": 2\n}', {"b": 2}, '{\n  "b": 2\n}'),
        ('{"a":[1.50]}', {"a": [1.5], "b": [1, 2]}, '{"a":[1.50],"b":[1,2]}'),
        ('{\n  "a": 1.50\n}', {"a": 1.5, "b": [2]}, '{\n  "a": 1.50,\n  "b": [\n    2\n  ]\n}'),
        ('{"a": [1.50]}', {"a": [1.5, 2], "b": "x"}, '{"a": [1.50, 2], "b": "x"}'),
    ],
)
def test_json_keeps_its_style(text, value, after):
    assert edited(text, value) == after


YAML = """# the case
id: acme   # stays
gold:
  vendor: {name: ACME, "city": 'Bonn'}   # who
  total: 12.50
  paid:
  # the rows
  items:
    - name: pen
      price: 1.5
    - name: "ink"
      price: 2

  # behind
tags: {a: b}
"""
VENDOR = "{name: ACME, \"city\": 'Bonn'}"
ROWS = '- name: pen\n      price: 1.5\n    - name: "ink"\n      price: 2\n'
PEN, INK = {"name": "pen", "price": 1.5}, {"name": "ink", "price": 2}


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        ({"total": 13}, "total: 12.50", "total: 13"),
        ({"vendor": {"name": "ACME GmbH", "city": "Köln's"}}, VENDOR, "{name: ACME GmbH, \"city\": 'Köln''s'}"),
        ({"vendor": {"name": "no: 1", "city": "x"}}, VENDOR, '{name: "no: 1", "city": \'x\'}'),
        ({"vendor": {"name": "007", "city": "Bonn"}}, "name: ACME", 'name: "007"'),
        ({"vendor": {"name": "true", "city": "Bonn"}}, "name: ACME", 'name: "true"'),
        ({"vendor": None}, VENDOR, "null"),
        ({"paid": True}, "paid:\n", "paid: true\n"),
        ({"paid": {"by": "card"}}, "paid:\n", 'paid: {"by": "card"}\n'),
        ({"items": [PEN]}, ROWS, "- name: pen\n      price: 1.5\n"),
        (
            {"items": [{**PEN, "tags": ["a", "b c"]}, INK]},
            "      price: 1.5\n",
            "      price: 1.5\n      tags:\n        - a\n        - b c\n",
        ),
        ({"items": []}, ROWS, "[]\n"),
    ],
)
def test_yaml_keeps_its_style(change, before, after):
    gold = {**parse_source(HERE, YAML, "yaml").value["gold"], **change}
    assert edited(YAML, gold, "yaml", ("gold",)) == YAML.replace(before, after)


BLOCK = """\
# head
a: 1  # one
# about b
b:  # two
  - x: 1  # row
    y: 2

  - x: 3
# about c
c:
  d: old  # why
  # behind d
tail: z  # end
"""


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        pytest.param({"new": 1}, [("z  # end", "z  # end\nnew: 1")], id="key-added"),
        pytest.param(
            {"a": 2, "new": {"k": ["n"]}},
            [("a: 1", "a: 2"), ("z  # end", "z  # end\nnew:\n  k:\n    - n")],
            id="key-added-and-changed",
        ),
        pytest.param({"a": ...}, [("a: 1  # one\n", "")], id="first-key-gone"),
        pytest.param({"tail": ...}, [("\ntail: z  # end", "")], id="last-key-gone"),
        pytest.param(
            {"c": ..., "tail": ..., "e": 0},
            [("c:\n  d: old  # why\n", ""), ("tail: z  # end\n", ""), ("  - x: 3", "  - x: 3\ne: 0")],
            id="gone-and-added",
        ),
        pytest.param({"c": {"d": "new", "e": 5}}, [("d: old  # why", "d: new  # why\n  e: 5")], id="inner-key"),
        pytest.param(
            {"b": [{"x": 1, "y": 2}, {"x": 3}, {"x": 4}]}, [("  - x: 3", "  - x: 3\n  - x: 4")], id="row-added"
        ),
        pytest.param({"b": [{"x": 1, "y": 2}]}, [("\n  - x: 3", "")], id="last-row-gone"),
        pytest.param(
            {"b": [{"x": 1, "y": 2}, {"x": 3, "z": 4}], "c": {"d": "old", "e": 1}},
            [("  - x: 3", "  - x: 3\n    z: 4"), ("old  # why", "old  # why\n  e: 1")],
            id="keys-in-two-places",
        ),
        pytest.param({"b": [{"y": 2}, {"x": 3}]}, [("- x: 1  # row\n    y: 2", "- y: 2")], id="row-s-first-key-gone"),
    ],
)
def test_a_block_that_gains_or_loses_entries_keeps_its_other_lines(value, changes):
    expected = BLOCK
    for old, new in changes:
        assert expected.count(old) == 1
        expected = expected.replace(old, new)
    gold = {key: part for key, part in {**parse_source(HERE, BLOCK, "yaml").value, **value}.items() if part is not ...}
    assert edited(BLOCK, gold, "yaml") == expected


@pytest.mark.parametrize(
    ("text", "value", "after"),
    [
        # what replaces a list right below its key is indented
        ("a:\n- 1\nb: 1\n", {"a": [], "b": 1}, "a:\n  []\nb: 1\n"),
        ("a:\n- 1\nb: 1\n", {"a": {"x": 1, "y": 2}, "b": 1}, "a:\n  x: 1\n  y: 2\nb: 1\n"),
        ("a:\n- 1\nb: 1\n", {"a": None, "b": 1}, "a:\n  null\nb: 1\n"),
        # a comment stays beside the last item of a flow list that grows
        ("[\n  1, # one\n  2  # two\n]\n", [1, 2, 3, 4], "[\n  1, # one\n  2,  # two\n  3,\n  4\n]\n"),
        ("[\n  1,\n  2,  # two\n]\n", [1, 2, 3, 4], "[\n  1,\n  2,  # two\n  3,\n  4,\n]\n"),
        ("[\n  1,\n  2\n  # end\n]\n", [1, 2, 3, 4], "[\n  1,\n  2,\n  3,\n  4\n  # end\n]\n"),
        # inner and outer entries that end on one line grow in their order
        ("a:\n  b: 1", {"a": {"b": 1, "c": 2}, "d": 3}, "a:\n  b: 1\n  c: 2\nd: 3"),
        # rows that are not those at the end are written anew, lest a comment comes to stand beside another
        ("- a  # first\n- b\n", ["b"], "- b\n"),
        # a text whose lines are not its own is written anew
        ("a: |+\n  x\n\n", {"a": "x\n\n", "d": 3}, 'a: "x\\n\\n"\nd: 3\n\n'),
    ],
)
def test_yaml_is_written_so_that_it_stays_what_it_was(text, value, after):
    assert edited(text, value, "yaml") == after


@pytest.mark.parametrize(
    ("text", "gone", "after"),
    [
        ("[{}, 1.50, {}]", {0}, "[1.50, {}]"),
        ("[{}, 1.50, {}]", {0, 2}, "[1.50]"),
        ("[\n  0, 1,\n  1.50, 3\n]", {1, 3}, "[\n  0,\n  1.50\n]"),
        ("[\n  0,\n  1.50,\n  2\n]", {0, 2}, "[\n  1.50\n]"),
        ("- a  # a\n# b\n- b  # b\n- c  # c\n", {0}, "# b\n- b  # b\n- c  # c\n"),
        ("- - a\n  - b  # b\n- c\n", {1}, "- - a\n  - b  # b\n"),
        ("[ # list\n  a, # a\n  b, # b\n  c, # c\n]\n", {1}, "[ # list\n  a, # a\n  c, # c\n]\n"),
    ],
)
def test_a_row_of_which_it_is_known_that_it_is_gone_is_taken_out_alone(text, gone, after):
    source = parse_source(HERE, text, "json" if text.startswith("[") and "#" not in text else "yaml")
    left = [row for place, row in enumerate(source.value) if place not in gone]
    assert with_value(source, (), left, [(place,) for place in gone]) == after


def test_the_work_grows_no_faster_than_the_changes():
    def seconds(rows: int) -> float:
        source = parse_source(HERE, json.dumps(["a" * 200] * rows, indent=1), "json")
        return cpu_seconds(lambda: with_value(source, (), ["b" * 200] * rows))

    assert seconds(4_000) < 24 * seconds(500)


@given(json_values, json_values, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_any_json_can_become_any_other(old, new, indent, plain):
    text = json.dumps(old, indent=indent, ensure_ascii=plain)
    assert json.dumps(json.loads(edited(text, new)), sort_keys=True) == json.dumps(new, sort_keys=True)


@given(json_values, json_values, st.booleans())
@example({"a": "x"}, {"a": "\x85 \u2028 \x7f"}, False)
@example({"": 1, "b": {"": [1]}}, {"": 2, "b": {"": [3]}}, True)
def test_any_yaml_can_become_any_other(old, new, flow):
    text = "a: 1\ngold: [0]  # here\nz: 2\n" if flow else "a: 1\ngold:\n  - 0  # here\nz: 2\n"
    for value in ([old], [new], [new, old], {"k": new}):
        text = edited(text, value, "yaml", ("gold",))
        read = parse_source(HERE, text, "yaml").value
        assert json.dumps(read, sort_keys=True) == json.dumps({"a": 1, "gold": value, "z": 2}, sort_keys=True)


def test_a_value_that_cannot_be_written_is_refused():
    with pytest.raises(StoreError, match="the value is no JSON"):
        edited("a: 1", float("nan"), "yaml", ("a",))


# --- the files of cases

IN_A_FILE = {"text": "x", "schema": {}, "gold": "g.json"}


@pytest.mark.parametrize(
    ("before", "gold", "after"),
    [
        ('{\r\n "a": 1,\r\n "b": 1\r\n}', {"a": 1, "b": 2, "c": 1}, '{\r\n "a": 1,\r\n "b": 2,\r\n "c": 1\r\n}'),
        ('{\r\n "a": 1,\r\n "b": 1\r\n}', {"a": 1}, '{\r\n "a": 1\r\n}'),
        ('{\n "a": 1,\r\n "b": 1\n}', {"a": 1, "b": 2}, '{\n "a": 1,\n "b": 2\n}'),
        ('{\r\n "a": 1,\n "b": 1\r\n}', {"a": 1, "b": 2}, '{\r\n "a": 1,\r\n "b": 2\r\n}'),
        (
            '\ufeff{\r\n  "a": 1,\r\n  "b": [1]\r\n}\r\n',
            {"a": 2, "b": [1]},
            '\ufeff{\r\n  "a": 2,\r\n  "b": [1]\r\n}\r\n',
        ),
    ],
)
def test_a_gold_file_keeps_mark_and_rights_and_its_lines_end_as_most_of_them_did(
    folder, load_case, before, gold, after
):
    case = load_case(IN_A_FILE, **{"g.json": before})
    path = folder / "g.json"
    path.chmod(0o640)
    assert update_gold(case, gold)
    assert path.read_bytes().decode() == after
    assert os.name == "nt" or path.stat().st_mode & 0o777 == 0o640
    assert not update_gold(case, dict(reversed(gold.items())))


def test_cases_of_one_file_are_updated_one_after_the_other(load):
    text = "defaults: {schema: {}, text: x}\ncases:\n- gold: {a: 1}  # one\n- gold:\n    a: 2\n"
    first, second = load(text).cases
    assert update_gold(first, {"a": 1, "b": [1, 2]})
    assert update_gold(second, {"a": 3})
    after = text.replace("{a: 1}", '{a: 1, "b": [1, 2]}').replace("a: 2", "a: 3")
    assert first.path.read_text(encoding="utf-8") == after


def test_a_line_of_a_dataset_is_changed_alone(folder, load):
    lines = '{"text": "x", "gold": {"a": 1}}\n\n{"text":"y","gold":{"a":1}}\n'
    first, second = load("dataset: d.jsonl\ndefaults: {schema: {}}\n", **{"d.jsonl": lines}).cases
    assert update_gold(second, {"a": [1]})
    assert update_gold(first, None)
    path = folder / "d.jsonl"
    assert path.read_text(encoding="utf-8") == '{"text": "x", "gold": null}\n\n{"text":"y","gold":{"a":[1]}}\n'
    path.write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="line 3 is gone; collect again"):
        update_gold(second, {})


@pytest.mark.parametrize(
    ("content", "changed", "error", "words"),
    [
        ({**IN_A_FILE, "gold": {"a": 1}}, b"text: x\n", StoreError, "is not where it was; collect again"),
        (IN_A_FILE, b'{"a": 1}\n<<<<<<< HEAD\n', CaseFileError, r"g\.json:2:1: not JSON"),
        (IN_A_FILE, '{"a": 1}'.encode("utf-16"), CaseFileError, "is not UTF-8; save the file as UTF-8"),
    ],
)
def test_a_gold_that_changed_since_is_told_and_left_as_it_is(load_case, content, changed, error, words):
    case = load_case(content, **{"g.json": {"a": 1}})
    case.gold_path.write_bytes(changed)
    with pytest.raises(error, match=words):
        update_gold(case, {"a": 2})
    assert case.gold_path.read_bytes() == changed
