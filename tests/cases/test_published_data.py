"""Cases made from the published datasets, where they are at hand."""

from __future__ import annotations

import json

import jsonschema
from jsonschema_specifications import REGISTRY

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from tests.shared_data import jsonl, shared


def _valid(schema, gold) -> bool:
    return jsonschema.validators.validator_for(schema)(schema, registry=REGISTRY).is_valid(gold)


UNCOMPARED = {"ma_2023_sw_M-table2", "ma_2023_sw_M-table3"}
"""Golds that hold all but one value under a key that the schema does not declare."""


def test_extract_bench_golds_load_or_say_where_they_break_their_schema(tmp_path):
    cache = SchemaCache()
    broken = 0
    for gold in sorted(shared("data/extract-bench/dataset").rglob("*.gold.json")):
        (schema,) = gold.parents[1].glob("*-schema.json")
        wrapped = "schema_definition" in json.loads(schema.read_text(encoding="utf-8"))
        document = gold.with_name(gold.name.replace(".gold.json", ".pdf"))
        text = f"document: {document}\nschema: {schema}{'#/schema_definition' * wrapped}\ngold: {gold}\n"
        path = tmp_path / f"{gold.stem}.extract.yaml"
        path.write_text(text, encoding="utf-8")
        loaded = load_cases(path, cache)
        value = json.loads(gold.read_text(encoding="utf-8"))
        node = json.loads(schema.read_text(encoding="utf-8"))
        if gold.name.removesuffix(".gold.json") in UNCOMPARED:
            (error,) = loaded.errors
            assert (error.path, error.line, error.column) == (gold, 3, 3)
            assert error.message.startswith("66 of 67 gold values are compared with nothing: `events` (66); ")
            path.write_text(f"{text}uncompared: allow\n", encoding="utf-8")
            loaded = load_cases(path, cache)
        if _valid(node["schema_definition"] if wrapped else node, value):
            assert not loaded.errors
            assert loaded.cases[0].semantics == "extract-bench"
            continue
        broken += 1
        assert not loaded.cases
        assert all(error.path == gold and (error.line or 0) > 1 for error in loaded.errors)
        assert "at " in loaded.errors[0].message
        path.write_text(f"{text}gates: {{schema: false}}\n", encoding="utf-8")
        assert load_cases(path, cache).errors == ()
    assert broken >= 5


def test_deep_json_eval_as_a_dataset(tmp_path):
    rows = list(jsonl("data/deepjsoneval/part.jsonl"))
    lines = [
        {"id": row["id"], "text": row["text"], "schema": json.loads(row["schema"]), "gold": json.loads(row["json"])}
        for row in rows
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (tmp_path / "deep.extract.yaml").write_text("dataset: rows.jsonl\n", encoding="utf-8")
    loaded = load_cases(tmp_path / "deep.extract.yaml", SchemaCache())
    good = [str(line["id"]) for line in lines if _valid(line["schema"], line["gold"])]
    assert [case.id for case in loaded.cases] == good
    bad_lines = {number for number, line in enumerate(lines, start=1) if str(line["id"]) not in good}
    assert {error.line for error in loaded.errors} == bad_lines


def test_the_wrapped_resume_schema_is_not_taken_for_a_schema_that_says_nothing(tmp_path):
    schema = shared("data/extract-bench/dataset/hiring/resume/resume-schema.json")
    (tmp_path / "r.extract.yaml").write_text(f"text: x\nschema: {schema}\ngold: {{}}\n", encoding="utf-8")
    (error,) = load_cases(tmp_path / "r.extract.yaml", SchemaCache()).errors
    assert (error.line, error.column) == (2, 9)
    assert f"write `{schema}#/schema_definition`" in error.message
