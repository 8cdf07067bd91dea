from __future__ import annotations

import pytest

from pytest_extract.errors import ConfigError, SchemaError
from pytest_extract.systems import SYSTEMS, compare_systems

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "note": {"type": ["string", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    },
}
GOLD = {"name": "Ada", "note": None, "tags": ["x", "y"], "rows": [{"n": 1}, {"n": 2}]}


def cells(extracted, systems=SYSTEMS):
    bridge = compare_systems(SCHEMA, GOLD, extracted, systems)
    names = [column.system for column in bridge.columns]
    return {
        path: {
            name: None if cell is None else (str(cell.status), cell.score)
            for name, cell in zip(names, row, strict=True)
        }
        for path, row in bridge.differing.items()
    }


def test_an_identical_output_differs_only_where_a_null_is_seen_differently():
    found = cells(GOLD)
    assert list(found) == ["note"]
    assert found["note"]["deepjsoneval"] == ("mismatch", 0.0)  # a null gold never matches there
    assert found["note"]["sob"] == found["note"]["struct-extract-eval"] == ("match", 1.0)
    assert found["note"]["ours"] is None  # absent on both sides: no result


def test_rows_and_tags_in_another_order_part_the_systems():
    found = cells({**GOLD, "note": "-", "tags": ["y", "x"], "rows": [{"n": 2}, {"n": 1}]})
    assert found["rows[0].n"] == {
        "ours": ("match", 1.0),
        "extract-bench": ("match", 1.0),
        "struct-extract-eval": ("mismatch", 0.0),
        "sob": ("mismatch", 0.0),
        "deepjsoneval": ("mismatch", 0.0),
    }
    assert found["tags[0]"]["deepjsoneval"] == ("match", 1.0)
    assert found["tags[0]"]["sob"] == ("mismatch", 0.0)


def test_an_undeclared_key_is_seen_by_all_but_extract_bench():
    found = cells({**GOLD, "extra": 1})
    assert {name for name, cell in found["extra"].items() if cell == ("hallucination", 0.0)} == {
        "ours", "struct-extract-eval", "sob", "deepjsoneval",
    }  # fmt: skip
    assert found["extra"]["extract-bench"] is None


def test_each_system_shows_its_own_measures_and_what_was_assumed():
    bridge = compare_systems(SCHEMA, GOLD, GOLD)
    measures = {column.system: set(column.measures) for column in bridge.columns}
    assert measures["sob"] >= {"value_accuracy", "perfect"}
    assert measures["deepjsoneval"] == {"syntax", "key_match", "strict"}
    notes = {column.system: " ".join(column.notes) for column in bridge.columns}
    assert "x-eval-compare" in notes["struct-extract-eval"]


EXTRACT_BENCH = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "evaluation_config": "string_fuzzy"},
        "id": {"type": "string", "evaluation_config": "skip"},
    },
}
X_EVAL = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "x-eval-compare": "exact", "x-eval-transform": ["lowercase"]},
        "id": {"type": "string", "x-eval-skip": True},
    },
}


@pytest.mark.parametrize(
    ("schema", "blind", "keys"),
    [
        (EXTRACT_BENCH, "struct-extract-eval", "does not read `evaluation_config`"),
        (X_EVAL, "extract-bench", "does not read `x-eval-*`"),
    ],
    ids=["evaluation_config", "x-eval"],
)
def test_a_system_is_blind_to_the_annotations_of_the_other(schema, blind, keys):
    gold, extracted = {"name": "Acme", "id": "1"}, {"name": "ACME", "id": "2"}
    bridge = compare_systems(schema, gold, extracted)
    columns = {column.system: column for column in bridge.columns}
    assert columns[blind].leaves["id"].status == "mismatch"  # the other dialect's skip says nothing to it
    assert keys in columns[blind].notes[0]
    for system in {"ours", "extract-bench", "struct-extract-eval"} - {blind}:
        assert columns[system].leaves["name"].score == 1.0
        assert columns[system].leaves.get("id") is None or columns[system].leaves["id"].status == "skipped"
        assert not columns[system].notes


def test_choices_and_references_are_resolved_before_they_are_annotated():
    amount = {"anyOf": [{"type": "integer"}, {"type": "number"}]}
    schema = {"type": "object", "properties": {"total": {"$ref": "#/$defs/amount"}}, "$defs": {"amount": amount}}
    bridge = compare_systems(schema, {"total": 5}, {"total": 5.0}, ["struct-extract-eval", "ours"])
    published, ours = bridge.columns
    # several types are compared as by `exact` there, and 5 is not 5.0
    assert (published.leaves["total"].rule, published.leaves["total"].score) == ("exact", 0.0)
    assert ours.leaves["total"].score == 1.0


def test_a_system_that_cannot_score_by_a_schema_says_so_in_its_column():
    schema = {"type": "object", "properties": {"v": {"type": "integer"}, "a": {"$ref": "#/properties/a"}}}
    bridge = compare_systems(schema, {"v": 1}, {"v": 2})
    columns = {column.system: column for column in bridge.columns}
    assert columns["struct-extract-eval"].measures == {}
    assert columns["struct-extract-eval"].notes[0].startswith("cannot score by this schema: ")
    assert columns["ours"].measures["pass_rate"] == 0.0


def test_a_mistake_in_the_schema_is_no_system_s_view():
    wrong = {"type": "object", "properties": {"v": {"type": "integer", "evaluation_config": "integer_exakt"}}}
    for system in SYSTEMS:
        with pytest.raises(SchemaError, match="did you mean 'integer_exact'"):
            compare_systems(wrong, {"v": 1}, {"v": 1}, [system])


def test_leaves_that_are_left_out_get_the_published_defaults():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "x-eval-compare": "exact"}, "b": {"type": "number"}},
    }
    (column,) = compare_systems(schema, {"a": 1, "b": 2}, {"a": 1, "b": 2.0}, ["struct-extract-eval"]).columns
    assert {path: cell.rule for path, cell in column.leaves.items()} == {"a": "exact", "b": "numeric"}


def test_a_failed_schema_gate_says_where_and_what_the_numbers_would_be():
    bridge = compare_systems(SCHEMA, GOLD, {**GOLD, "name": 5})
    notes = {column.system: " ".join(column.notes) for column in bridge.columns}
    for system in SYSTEMS:
        assert "breaks the schema at `name`" in notes[system]
    assert "Without the schema gate: pass_rate 0.666667" in notes["ours"]
    measures = {column.system: column.measures for column in bridge.columns}
    assert measures["ours"]["pass_rate"] == measures["sob"]["json_pass"] == measures["deepjsoneval"]["syntax"] == 0.0
    # the programs of these two do not look, and these are their numbers
    assert measures["extract-bench"]["pass_rate"] == pytest.approx(2 / 3)
    assert measures["struct-extract-eval"]["f1"] == pytest.approx(5 / 6)
    lenient = compare_systems(SCHEMA, GOLD, {**GOLD, "name": 5}, gates={"schema": False})
    assert lenient.columns[0].measures["pass_rate"] == pytest.approx(2 / 3)
    assert lenient.columns[SYSTEMS.index("sob")].measures["json_pass"] == 0.0


def test_each_cell_says_what_was_compared_and_by_which_rule():
    bridge = compare_systems(SCHEMA, GOLD, {**GOLD, "tags": ["y", "x"], "note": "-"})
    cells = dict(zip(SYSTEMS, bridge.differing["tags[0]"], strict=True))
    assert (cells["ours"].gold, cells["ours"].extracted, cells["ours"].rule) == ("x", "x", "text")
    assert (cells["sob"].extracted, cells["sob"].rule) == ("y", "== in its place")
    assert (cells["deepjsoneval"].extracted, cells["deepjsoneval"].rule) == ("x", "in the set")


def test_an_unknown_system_is_told_with_the_nearest():
    with pytest.raises(ConfigError, match="no system 'extractbench'; did you mean 'extract-bench'"):
        compare_systems(SCHEMA, GOLD, GOLD, ["extractbench"])
