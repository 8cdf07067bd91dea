"""The published systems side by side, and struct-extract-eval over many golds and outputs."""

from __future__ import annotations

import pytest

from pytest_extract.errors import ConfigError, SchemaError
from pytest_extract.systems import ENGINES, SYSTEMS, compare_systems, struct_evaluate
from tests.core.schemas import EXACT, INTEGER, NUMBER, TEXT, array, obj, table
from tests.shared_data import jsonl

STRUCT = "struct-extract-eval"


SCHEMA = obj(name=TEXT, note={"type": ["string", "null"]}, tags=array(TEXT), rows=table(n=INTEGER))
GOLD = {"name": "Ada", "note": None, "tags": ["x", "y"], "rows": [{"n": 1}, {"n": 2}]}


def systems(extracted, schema=SCHEMA, gold=GOLD, **how):
    return {column.system: column for column in compare_systems(schema, gold, extracted, SYSTEMS, **how)}


def test_a_null_of_the_gold_never_matches_in_deepjsoneval():
    found = systems(GOLD)
    assert found["deepjsoneval"].measures == {"syntax": 1.0, "key_match": 0.75, "strict": 1.0}
    assert found["sob"].measures["value_accuracy"] == found[STRUCT].measures["f1"] == 1.0
    assert found["default"].measures["f1"] == 1.0


def test_rows_and_tags_in_another_order_part_the_systems():
    found = systems({**GOLD, "note": "-", "tags": ["y", "x"], "rows": [{"n": 2}, {"n": 1}]})
    assert found["extract-bench"].measures["pass_rate"] > found[STRUCT].measures["f1"]
    assert found["sob"].measures["value_accuracy"] == pytest.approx(1 / 6)
    assert found["deepjsoneval"].measures["key_match"] == 0.5  # name and the set of tags


def test_an_undeclared_key_is_seen_by_all_but_extract_bench():
    found, without = systems({**GOLD, "note": "-", "extra": 1}), systems({**GOLD, "note": "-"})
    blind = [name for name in SYSTEMS if found[name].measures == without[name].measures]
    assert blind == ["extract-bench"]


EXTRACT_BENCH = obj(name=TEXT | {"evaluation_config": "string_fuzzy"}, id=TEXT | {"evaluation_config": "skip"})
X_EVAL = obj(name=EXACT | {"x-eval-transform": ["lowercase"]}, id=TEXT | {"x-eval-skip": True})


@pytest.mark.parametrize(
    ("schema", "blind", "keys"),
    [
        (EXTRACT_BENCH, STRUCT, "does not read `evaluation_config`"),
        (X_EVAL, "extract-bench", "does not read `x-eval-`"),
    ],
)
def test_a_system_is_blind_to_the_annotations_of_the_other(schema, blind, keys):
    columns = systems({"name": "ACME", "id": "2"}, schema, {"name": "Acme", "id": "1"})
    rates = {name: columns[name].measures.get("pass_rate", columns[name].measures.get("f1")) for name in ENGINES}
    assert rates.pop(blind) < 1.0  # the other dialect's skip says nothing to it
    assert keys in columns[blind].notes[0]
    assert set(rates.values()) == {1.0}
    assert not any(columns[name].notes for name in rates)


def test_what_struct_extract_eval_makes_of_a_schema():
    def f1(schema, gold, extracted):
        return systems(extracted, schema, gold)[STRUCT].measures["f1"]

    choice = {"anyOf": [INTEGER, NUMBER]}
    referring = obj(total={"$ref": "#/$defs/amount"}) | {"$defs": {"amount": choice}}
    assert f1(referring, {"total": 5}, {"total": 5.0}) == 0.0, "several types are compared as by `exact` there"
    assert systems({"total": 5.0}, referring, {"total": 5})["default"].measures["f1"] == 1.0
    half = obj(a={"type": "integer", "x-eval-compare": "exact"}, b=NUMBER)
    assert f1(half, {"a": 1, "b": 2}, {"a": 1, "b": 2.0}) == 1.0, "the published default for b, `numeric`"
    assert f1(half, {"a": 1, "b": 2}, {"a": 1.0, "b": 2}) == 0.5
    endless = systems({"v": 2}, obj(v=INTEGER, a={"$ref": "#/properties/a"}), {"v": 1})
    assert endless[STRUCT].measures == {}
    assert endless[STRUCT].notes[0].startswith("cannot score by this schema: ")
    assert endless["default"].measures["pass_rate"] == 0.0


def test_a_mistake_in_the_schema_and_an_unknown_system_are_told():
    wrong = obj(v={"type": "integer", "evaluation_config": "integer_exakt"})
    for system in SYSTEMS:
        with pytest.raises(SchemaError, match="did you mean 'integer_exact'"):
            compare_systems(wrong, {"v": 1}, {"v": 1}, [system])
    with pytest.raises(ConfigError, match="no system 'extractbench'; did you mean 'extract-bench'"):
        compare_systems(SCHEMA, GOLD, GOLD, ["extractbench"])


def test_a_failed_schema_gate_says_where():
    found = systems({**GOLD, "name": 5})
    told = {name for name, column in found.items() if "breaks the schema at `name`" in " ".join(column.notes)}
    assert told == {"default", "sob", "deepjsoneval"}
    measures = {name: column.measures for name, column in found.items()}
    assert measures["default"]["pass_rate"] == measures["sob"]["json_pass"] == measures["deepjsoneval"]["syntax"] == 0.0
    # the programs of these two do not look, and these are their numbers
    assert measures["extract-bench"]["pass_rate"] == pytest.approx(2 / 3)
    assert measures[STRUCT]["f1"] == pytest.approx(5 / 6)
    lenient = systems({**GOLD, "name": 5}, gates={"schema": False})
    assert lenient["default"].measures["pass_rate"] == pytest.approx(2 / 3)
    assert lenient["sob"].measures["json_pass"] == 0.0


# --- many golds and outputs; published runs record by record: `tests/core/test_vectors_xeval.py`

INVOICE = obj(vendor=TEXT, total=NUMBER)


def test_records_fields_and_totals():
    golds = [{"vendor": "ACME", "total": 2.0}, {"vendor": "Beta", "total": 3.0}, {"vendor": "C", "total": 4.0}]
    outputs = [{"vendor": "ACME", "total": 2.4}, '{"vendor": "Betta", "total": 3.0}', "no idea"]
    found = struct_evaluate(INVOICE, golds, outputs, metrics={"string": "exact"})
    assert [record.measures["f1"] for record in found.records] == [0.5, 0.5, 0.0]
    assert (found.run.total_records, found.run.per_field["vendor"].mismatch) == (3, 1)
    assert set(found.run.per_field) == {"vendor", "total"}
    lenient = struct_evaluate(INVOICE, golds, outputs, metrics={"number": {"numeric": {"tolerance": {"abs": 1}}}})
    assert lenient.records[0].measures["f1"] == 1.0


def test_the_published_runs_are_reproduced():
    checked, differing = 0, []
    for vector in jsonl("vectors/xeval.jsonl"):
        if "error" in vector or vector["judge"] or vector["post_process"] or vector["tied_scores"]:
            continue
        run = struct_evaluate(vector["schema"], vector["gold"], vector["extracted"]).run
        expected = vector["expected"]["run"]
        checked += 1
        if (run.mean_f1, run.total_fields) != (pytest.approx(expected["mean_f1"]), expected["total_fields"]):
            differing.append(vector["source"]["case"])
    assert checked > 200
    # differences.md: "Property names with a dot", and the alignment that never falls back to position
    assert differing == ["object:dotted-name", "hungarian:over-limit-is-ordered"]


def test_arguments_that_cannot_be_used():
    with pytest.raises(ConfigError, match="as many outputs as golds are needed, not 1 for 2"):
        struct_evaluate(INVOICE, [{}, {}], [{}])
    with pytest.raises(SchemaError):
        struct_evaluate(3, [{}], [{}])
