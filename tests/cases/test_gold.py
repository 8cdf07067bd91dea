"""Writing gold: what changed, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_extract.cases.edit import update_gold, with_value
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.cases.sources import parse_source
from pytest_extract.errors import CaseFileError, StoreError
from tests.cpu_time import cpu_seconds
from tests.strategies import json_values

HERE = Path("gold.json")


def _edited(text: str, value: object, language: str = "json", steps: tuple[str | int, ...] = ()) -> str:
    return with_value(parse_source(HERE, text, language), steps, value)  # type: ignore[arg-type]


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
        ('{"a": 1.50, "b": 2}', {"b": 2, "c": [1]}, '{"b": 2, "c": [1]}'),
        ('{\n  "a": 1.50,\n  "b": 2\n}', {"a": 1.5}, '{\n  "a": 1.50\n}'),
        ('{\n  "a": 1.50,\n  "b": 2\n}', {"b": 2}, '{\n  "b": 2\n}'),
        ('{\n  "a": 1.50\n}', {"a": 1.5, "b": [2]}, '{\n  "a": 1.50,\n  "b": [\n    2\n  ]\n}'),
        ('{"a": [1.50]}', {"a": [1.5, 2], "b": "x"}, '{"a": [1.50, 2], "b": "x"}'),
        ('{"a":[1.50]}', {"a": [1.5], "b": [1, 2]}, '{"a":[1.50],"b":[1,2]}'),
    ],
)
def test_json_keeps_its_style(text, value, after):
    assert _edited(text, value) == after


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


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        ({"total": 13}, "total: 12.50", "total: 13"),
        (
            {"vendor": {"name": "ACME GmbH", "city": "Köln's"}},
            "{name: ACME, \"city\": 'Bonn'}",
            "{name: ACME GmbH, \"city\": 'Köln''s'}",
        ),
        (
            {"vendor": {"name": "no: 1", "city": "x"}},
            "{name: ACME, \"city\": 'Bonn'}",
            '{name: "no: 1", "city": \'x\'}',
        ),
        ({"vendor": {"name": "007", "city": "Bonn"}}, "name: ACME", 'name: "007"'),
        ({"vendor": {"name": "true", "city": "Bonn"}}, "name: ACME", 'name: "true"'),
        ({"vendor": None}, "{name: ACME, \"city\": 'Bonn'}", "null"),
        ({"paid": True}, "paid:\n", "paid: true\n"),
        ({"paid": {"by": "card"}}, "paid:\n", 'paid: {"by": "card"}\n'),
        (
            {"items": [{"name": "pen", "price": 1.5}]},
            '- name: pen\n      price: 1.5\n    - name: "ink"\n      price: 2\n',
            "- name: pen\n      price: 1.5\n",
        ),
        (
            {"items": [{"name": "pen", "price": 1.5, "tags": ["a", "b c"]}, {"name": "ink", "price": 2}]},
            "      price: 1.5\n",
            "      price: 1.5\n      tags:\n        - a\n        - b c\n",
        ),
        ({"items": []}, '- name: pen\n      price: 1.5\n    - name: "ink"\n      price: 2\n', "[]\n"),
    ],
    ids=[
        "number",
        "quotes",
        "colon",
        "digits",
        "word",
        "null",
        "empty",
        "new map",
        "row gone",
        "row grown",
        "rows gone",
    ],
)
def test_yaml_keeps_its_style(change, before, after):
    gold = {**parse_source(HERE, YAML, "yaml").value["gold"], **change}
    assert _edited(YAML, gold, "yaml", ("gold",)) == YAML.replace(before, after)


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
    assert _edited(BLOCK, gold, "yaml", ()) == expected


@pytest.mark.parametrize(
    ("rows", "after"),
    [([], "a:\n  []\nb: 1\n"), ({"x": 1, "y": 2}, "a:\n  x: 1\n  y: 2\nb: 1\n"), (None, "a:\n  null\nb: 1\n")],
)
def test_what_replaces_a_list_right_below_its_key_is_indented(rows, after):
    assert _edited("a:\n- 1\nb: 1\n", {"a": rows, "b": 1}, "yaml", ()) == after


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("[\n  1, # one\n  2  # two, by hand\n]\n", "[\n  1, # one\n  2,  # two, by hand\n  3,\n  4\n]\n"),
        ("[\n  1,\n  2,  # two, by hand\n]\n", "[\n  1,\n  2,  # two, by hand\n  3,\n  4,\n]\n"),
        ("[\n  1,\n  2\n  # end\n]\n", "[\n  1,\n  2,\n  3,\n  4\n  # end\n]\n"),
    ],
)
def test_a_comment_stays_beside_the_last_item_of_a_flow_list_that_grows(text, after):
    assert _edited(text, [1, 2, 3, 4], "yaml", ()) == after


def test_inner_and_outer_entries_that_end_on_one_line_grow_in_their_order():
    assert _edited("a:\n  b: 1", {"a": {"b": 1, "c": 2}, "d": 3}, "yaml", ()) == "a:\n  b: 1\n  c: 2\nd: 3"


def test_rows_that_are_not_those_at_the_end_are_written_anew_lest_a_comment_comes_to_stand_beside_another():
    assert _edited("- a  # first\n- b\n", ["b"], "yaml", ()) == "- b\n"


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


def test_a_text_whose_lines_are_not_its_own_is_written_anew():
    assert _edited("a: |+\n  x\n\n", {"a": "x\n\n", "d": 3}, "yaml", ()) == 'a: "x\\n\\n"\nd: 3\n\n'


def test_the_work_grows_no_faster_than_the_changes():
    def seconds(rows: int) -> float:
        source = parse_source(HERE, json.dumps(["a" * 200] * rows, indent=1), "json")
        return cpu_seconds(lambda: with_value(source, (), ["b" * 200] * rows))

    assert seconds(8_000) < 24 * seconds(1_000)


@given(json_values, json_values, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_any_json_can_become_any_other(old, new, indent, plain):
    text = json.dumps(old, indent=indent, ensure_ascii=plain)
    assert json.dumps(json.loads(_edited(text, new)), sort_keys=True) == json.dumps(new, sort_keys=True)


@given(json_values, json_values, st.booleans())
@example({"a": "x"}, {"a": "\x85 \u2028 \x7f"}, False)
@example({"": 1, "b": {"": [1]}}, {"": 2, "b": {"": [3]}}, True)
def test_any_yaml_can_become_any_other(old, new, flow):
    text = "a: 1\ngold: [0]  # here\nz: 2\n" if flow else "a: 1\ngold:\n  - 0  # here\nz: 2\n"
    for value in ([old], [new], [new, old], {"k": new}):
        text = _edited(text, value, "yaml", ("gold",))
        read = parse_source(HERE, text, "yaml").value
        assert json.dumps(read, sort_keys=True) == json.dumps({"a": 1, "gold": value, "z": 2}, sort_keys=True)


def test_what_is_no_json_or_stands_behind_an_alias_is_refused():
    with pytest.raises(StoreError, match="the value is no JSON"):
        _edited('{"a": 1}', {"a": float("nan")})
    with pytest.raises(StoreError, match="behind a YAML alias"):
        _edited("x: &a {b: 1}\ngold: {c: *a}\n", 2, "yaml", ("gold", "c", "b"))


def test_a_changed_part_behind_an_alias_is_written_out():
    text = "x: &a {b: 1}\ngold: {c: *a, d: 1}\n"
    assert _edited(text, {"c": {"b": 2}, "d": 1}, "yaml", ("gold",)) == 'x: &a {b: 1}\ngold: {c: {"b": 2}, d: 1}\n'


def _cases(folder: Path, **files: str):
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_bytes(text.encode())
    return load_cases(folder / "a.extract.yaml", SchemaCache()).cases


def test_a_gold_file_keeps_line_ends_mark_and_rights(tmp_path):
    (case,) = _cases(
        tmp_path,
        a__extract__yaml="text: x\nschema: {}\ngold: g.json\n",
        g__json='\ufeff{\r\n  "a": 1,\r\n  "b": [1]\r\n}\r\n',
    )
    path = tmp_path / "g.json"
    path.chmod(0o640)
    assert update_gold(case, {"a": 2, "b": [1]})
    assert path.read_bytes().decode() == '\ufeff{\r\n  "a": 2,\r\n  "b": [1]\r\n}\r\n'
    assert os.name == "nt" or path.stat().st_mode & 0o777 == 0o640
    assert not update_gold(case, {"b": [1], "a": 2})


@pytest.mark.parametrize(
    ("before", "gold", "after"),
    [
        ('{\r\n "a": 1,\r\n "b": 1\r\n}', {"a": 1, "b": 2, "c": 1}, '{\r\n "a": 1,\r\n "b": 2,\r\n "c": 1\r\n}'),
        ('{\r\n "a": 1,\r\n "b": 1\r\n}', {"a": 1}, '{\r\n "a": 1\r\n}'),
        ('{\n "a": 1,\r\n "b": 1\n}', {"a": 1, "b": 2}, '{\n "a": 1,\n "b": 2\n}'),
        ('{\r\n "a": 1,\n "b": 1\r\n}', {"a": 1, "b": 2}, '{\r\n "a": 1,\r\n "b": 2\r\n}'),
    ],
)
def test_lines_end_as_most_of_them_did(tmp_path, before, gold, after):
    (case,) = _cases(tmp_path, a__extract__yaml="text: x\nschema: {}\ngold: g.json\n", g__json=before)
    assert update_gold(case, gold)
    assert (tmp_path / "g.json").read_bytes().decode() == after


def test_cases_of_one_file_are_updated_one_after_the_other(tmp_path):
    first, second = _cases(
        tmp_path,
        a__extract__yaml="defaults: {schema: {}, text: x}\ncases:\n- gold: {a: 1}  # one\n- gold:\n    a: 2\n",
    )
    assert update_gold(first, {"a": 1, "b": [1, 2]})
    assert update_gold(second, {"a": 3})
    text = (tmp_path / "a.extract.yaml").read_text(encoding="utf-8")
    assert text == 'defaults: {schema: {}, text: x}\ncases:\n- gold: {a: 1, "b": [1, 2]}  # one\n- gold:\n    a: 3\n'


def test_a_line_of_a_dataset_is_changed_alone(tmp_path):
    first, second = _cases(
        tmp_path,
        a__extract__yaml="dataset: d.jsonl\ndefaults: {schema: {}}\n",
        d__jsonl='{"text": "x", "gold": {"a": 1}}\n\n{"text":"y","gold":{"a":1}}\n',
    )
    assert update_gold(second, {"a": [1]})
    assert update_gold(first, None)
    text = (tmp_path / "d.jsonl").read_text(encoding="utf-8")
    assert text == '{"text": "x", "gold": null}\n\n{"text":"y","gold":{"a":[1]}}\n'


def test_a_gold_that_moved_since_is_told(tmp_path):
    (case,) = _cases(tmp_path, a__extract__yaml="text: x\nschema: {}\ngold: {a: 1}\n")
    (tmp_path / "a.extract.yaml").write_text("text: x\n", encoding="utf-8")
    with pytest.raises(StoreError, match="is not where it was; collect again"):
        update_gold(case, {})


def test_a_line_that_is_gone_is_told(tmp_path):
    (case,) = _cases(
        tmp_path, a__extract__yaml="dataset: d.jsonl\n", d__jsonl='\n{"text": "x", "schema": {}, "gold": 1}'
    )
    (tmp_path / "d.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="line 2 is gone; collect again"):
        update_gold(case, {})


def test_a_gold_that_is_no_json_any_more_is_left_as_it_is(tmp_path):
    (case,) = _cases(tmp_path, a__extract__yaml="text: x\nschema: {}\ngold: g.json\n", g__json='{"a": 1}')
    broken = '{"a": 1}\n<<<<<<< HEAD\n'
    (tmp_path / "g.json").write_text(broken, encoding="utf-8")
    with pytest.raises(CaseFileError, match=r"g\.json:2:1: not JSON"):
        update_gold(case, {"a": 2})
    assert (tmp_path / "g.json").read_text(encoding="utf-8") == broken


def test_a_value_that_would_not_read_back_is_refused():
    text = "gold: &a {b: 1}\nother: *a\n"  # the anchor would go
    with pytest.raises(
        StoreError, match="cannot be written without touching more; another part of the file is its YAML"
    ):
        _edited(text, [1], "yaml", ("gold",))


def test_a_value_that_an_alias_repeats_elsewhere_is_not_changed_there_unseen():
    text = "gold: &a {b: 1}\nother: *a\n"
    with pytest.raises(StoreError, match="another part of the file is its YAML alias; write one of them out"):
        _edited(text, {"b": 2}, "yaml", ("gold",))


def test_a_value_that_the_gold_itself_repeats_is_refused_lest_comments_go():
    with pytest.raises(StoreError, match="another part of the file is its YAML alias; write one of them out"):
        _edited("a: &q x  # keep\nrows: [*q, p]\n", {"a": "y", "rows": ["x", "p"]}, "yaml")


def test_a_gold_that_is_no_utf_8_any_more_is_refused(tmp_path):
    (case,) = _cases(tmp_path, a__extract__yaml="text: x\nschema: {}\ngold: g.json\n", g__json="{}")
    (tmp_path / "g.json").write_bytes('{"a": 1}'.encode("utf-16"))
    with pytest.raises(CaseFileError, match="is not UTF-8; save the file as UTF-8"):
        update_gold(case, {})
