"""A schema's patterns against golds, outputs and keys that `re` would need ages for."""

from __future__ import annotations

import json

import pytest

from pytest_extract import score, score_text
from pytest_extract.cli import main

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string", "pattern": r"^(\w+\s?)*$"}},
    "patternProperties": {"^(x+)+$": {"type": "integer"}},
    "additionalProperties": False,
}
TEXT = "word " * 2000 + "!"
KEY = "x" * 5000 + "!"
OUTPUTS = {"value": {"a": TEXT}, "key": {"a": "b", KEY: 1}, "undeclared": {"a": "b", "y" + KEY: {KEY: TEXT}}}
GOLD = {"a": "b", "x": 1}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
def test_scores_end(output):
    for made in (score(SCHEMA, GOLD, output), score_text(SCHEMA, GOLD, json.dumps(output))):
        assert not made.gates.schema.passed
        assert made.measures["pass_rate"] == 0.0
    assert score(SCHEMA, output, output, gates={"schema": False}).measures["pass_rate"] == 1.0
    assert score({"anyOf": [SCHEMA, {"type": "object"}]}, GOLD, output).gates.schema.passed


@pytest.mark.timeout(120)
def test_a_run_and_a_check_end(pytester, write_case, write_files, echo, capsys):
    for name, output in OUTPUTS.items():
        write_case(f"output-{name}", output, schema=SCHEMA, gold=GOLD)
        write_case(f"gold-{name}", GOLD, schema=SCHEMA, gold=output)
    result = pytester.runpytest_subprocess("--extract-report=r.jsonl", timeout=100)
    result.assert_outcomes(failed=3, errors=3)
    result.stdout.fnmatch_lines(["*the gold does not satisfy its schema at *"])
    assert main(["check", str(pytester.path)]) == 1
    assert "3 good cases in 6 files" in capsys.readouterr().out
    write_files({"schema.json": SCHEMA, "gold.json": OUTPUTS["value"]})
    assert main(["check", "--schema", "schema.json", "gold.json"]) == 1


def test_a_pattern_that_is_refused_is_a_mistake_with_its_place(write_case, run, echo):
    write_case("a", schema={"type": "object", "properties": {"a": {"pattern": "^[A-Z"}}}, gold={"a": "bb"})
    told = "*a.extract.yaml:*/properties/a/pattern*is no regular expression: unterminated character set*"
    run(errors=1, lines=[told])
