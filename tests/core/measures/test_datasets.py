"""Golds of the published datasets against themselves."""

from __future__ import annotations

import json

from pytest_extract.core.gates import GateConfig, check_output
from pytest_extract.core.measures.published import DocumentPair, DocumentSchema, document_measures
from tests.shared_data import jsonl, shared


def extract_bench():
    for path in sorted(shared("data/extract-bench/dataset").glob("*/*/*-schema.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        for gold in sorted((path.parent / "pdf+gold").glob("*.gold.json")):
            yield gold.name, schema.get("schema_definition", schema), json.loads(gold.read_text(encoding="utf-8"))


def deepjsoneval():
    for row in jsonl("data/deepjsoneval/part.jsonl"):
        yield row["id"], json.loads(row["schema"]), json.loads(row["json"])


def check(golds):
    """Return the share of golds that break their schema; a copy is perfect either way."""
    seen = {True: 0, False: 0}
    for name, schema, gold in golds:
        whole = DocumentSchema(schema)
        assert not whole.validator.problems, name
        sides = DocumentPair(gold, gold, whole)
        measures = document_measures(sides, GateConfig().coverage("text"))
        gates = check_output(sides, None, "text", GateConfig()).gates
        valid = gates.schema.passed
        seen[valid] += 1
        assert measures["perfect"] == measures["json_parse"] == 1.0, name
        assert measures["strict"] == measures["syntax"] == measures["json_pass"] == float(valid), name
        assert measures["value_accuracy"] == measures["faithfulness"] == float(valid), name
        assert gates.coverage.passed, name
        if valid and None not in sides.wanted.values():
            assert measures["key_match"] == 1.0, name
    return seen[False] / sum(seen.values())


def test_extract_bench_golds():
    assert 0.2 < check(extract_bench()) < 0.8


def test_deepjsoneval_golds():
    assert 0.0 < check(deepjsoneval()) < 0.05
