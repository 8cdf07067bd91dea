from __future__ import annotations

import pytest

from pytest_extract.errors import ConfigError, SchemaError
from pytest_extract.systems import ENGINES, SYSTEMS, compare_systems

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


def systems(schema, gold, extracted, names=SYSTEMS, **how):
    return {column.system: column for column in compare_systems(schema, gold, extracted, names, **how)}


def test_a_null_of_the_gold_never_matches_in_deepjsoneval():
    found = systems(SCHEMA, GOLD, GOLD)
    assert found["deepjsoneval"].measures["key_match"] == 0.75
    assert found["sob"].measures["value_accuracy"] == found["struct-extract-eval"].measures["f1"] == 1.0
    assert found["default"].measures["f1"] == 1.0


def test_rows_and_tags_in_another_order_part_the_systems():
    found = systems(SCHEMA, GOLD, {**GOLD, "note": "-", "tags": ["y", "x"], "rows": [{"n": 2}, {"n": 1}]})
    assert found["extract-bench"].measures["pass_rate"] > found["struct-extract-eval"].measures["f1"]
    assert found["sob"].measures["value_accuracy"] == pytest.approx(1 / 6)
    assert found["deepjsoneval"].measures["key_match"] == 0.5  # name and the set of tags


def test_an_undeclared_key_is_seen_by_all_but_extract_bench():
    found = systems(SCHEMA, GOLD, {**GOLD, "note": "-", "extra": 1})
    without = systems(SCHEMA, GOLD, {**GOLD, "note": "-"})
    assert {name for name in SYSTEMS if found[name].measures != without[name].measures} == {
        "default", "struct-extract-eval", "sob", "deepjsoneval",
    }  # fmt: skip


def test_each_system_shows_its_own_measures_and_what_was_assumed():
    found = systems(SCHEMA, GOLD, GOLD)
    assert set(found["sob"].measures) >= {"value_accuracy", "perfect"}
    assert set(found["deepjsoneval"].measures) == {"syntax", "key_match", "strict"}
    assert "x-eval-compare" in " ".join(found["struct-extract-eval"].notes)


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
    columns = systems(schema, gold, extracted)
    rates = {name: columns[name].measures.get("pass_rate", columns[name].measures.get("f1")) for name in ENGINES}
    assert rates.pop(blind) < 1.0  # the other dialect's skip says nothing to it
    assert keys in columns[blind].notes[0]
    assert set(rates.values()) == {1.0}
    assert not any(columns[name].notes for name in rates)


def test_choices_and_references_are_resolved_before_they_are_annotated():
    amount = {"anyOf": [{"type": "integer"}, {"type": "number"}]}
    schema = {"type": "object", "properties": {"total": {"$ref": "#/$defs/amount"}}, "$defs": {"amount": amount}}
    columns = systems(schema, {"total": 5}, {"total": 5.0})
    # several types are compared as by `exact` there, and 5 is not 5.0
    assert columns["struct-extract-eval"].measures["f1"] == 0.0
    assert columns["default"].measures["f1"] == 1.0


def test_a_system_that_cannot_score_by_a_schema_says_so_in_its_column():
    schema = {"type": "object", "properties": {"v": {"type": "integer"}, "a": {"$ref": "#/properties/a"}}}
    columns = systems(schema, {"v": 1}, {"v": 2})
    assert columns["struct-extract-eval"].measures == {}
    assert columns["struct-extract-eval"].notes[0].startswith("cannot score by this schema: ")
    assert columns["default"].measures["pass_rate"] == 0.0


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
    found = systems(schema, {"a": 1, "b": 2}, {"a": 1, "b": 2.0})["struct-extract-eval"]
    assert found.measures["f1"] == 1.0  # `numeric` for b
    assert systems(schema, {"a": 1, "b": 2}, {"a": 1.0, "b": 2})["struct-extract-eval"].measures["f1"] == 0.5


def test_a_failed_schema_gate_says_where_and_what_the_numbers_would_be():
    found = systems(SCHEMA, GOLD, {**GOLD, "name": 5})
    notes = {name: " ".join(column.notes) for name, column in found.items()}
    for system in SYSTEMS:
        assert "breaks the schema at `name`" in notes[system]
    assert "without the schema gate: pass_rate 0.666667" in notes["default"]
    measures = {name: column.measures for name, column in found.items()}
    assert measures["default"]["pass_rate"] == measures["sob"]["json_pass"] == measures["deepjsoneval"]["syntax"] == 0.0
    # the programs of these two do not look, and these are their numbers
    assert measures["extract-bench"]["pass_rate"] == pytest.approx(2 / 3)
    assert measures["struct-extract-eval"]["f1"] == pytest.approx(5 / 6)
    lenient = systems(SCHEMA, GOLD, {**GOLD, "name": 5}, gates={"schema": False})
    assert lenient["default"].measures["pass_rate"] == pytest.approx(2 / 3)
    assert lenient["sob"].measures["json_pass"] == 0.0


def test_an_unknown_system_is_told_with_the_nearest():
    with pytest.raises(ConfigError, match="no system 'extractbench'; did you mean 'extract-bench'"):
        compare_systems(SCHEMA, GOLD, GOLD, ["extractbench"])
