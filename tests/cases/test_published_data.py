"""Cases made from a published dataset, where it is at hand."""

from __future__ import annotations

import json

import jsonschema

from pytest_extract.cases.schemas import SchemaCache
from tests.shared_data import shared

UNCOMPARED = {"ma_2023_sw_M-table2", "ma_2023_sw_M-table3"}
"""Golds that hold all but one value under a key that the schema does not declare."""


def test_extract_bench_golds_load_or_say_where_they_break_their_schema(load):
    cache = SchemaCache()
    broken = 0
    for gold in sorted(shared("data/extract-bench/dataset").rglob("*.gold.json")):
        (path,) = gold.parents[1].glob("*-schema.json")
        schema, value = (json.loads(file.read_text(encoding="utf-8")) for file in (path, gold))
        pointer = "#/schema_definition" if "schema_definition" in schema else ""
        document = gold.with_name(gold.name.replace(".gold.json", ".pdf"))
        keys = {"document": str(document), "schema": f"{path}{pointer}", "gold": str(gold)}
        loaded = load(keys, cache=cache)
        if gold.name.removesuffix(".gold.json") in UNCOMPARED:
            (error,) = loaded.errors
            assert (error.path, error.line, error.column) == (gold, 3, 3)
            assert error.message.startswith("66 of 67 gold values are compared with nothing: `events` (66); ")
            keys["uncompared"] = "allow"
            loaded = load(keys, cache=cache)
        if jsonschema.Draft202012Validator(schema.get("schema_definition", schema)).is_valid(value):
            assert not loaded.errors
            assert loaded.cases[0].semantics == "extract-bench"
            continue
        broken += 1
        assert not loaded.cases
        assert all(error.path == gold and (error.line or 0) > 1 for error in loaded.errors)
        assert "at " in loaded.errors[0].message
        assert load({**keys, "gates": {"schema": False}}, cache=cache).errors == ()
    assert broken >= 5
