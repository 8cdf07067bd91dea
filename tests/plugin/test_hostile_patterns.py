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
def test_a_run_and_a_check_end(pytester, echo, monkeypatch, capsys):
    for name, output in OUTPUTS.items():
        for kind, gold, text in (("output", GOLD, output), ("gold", output, GOLD)):
            case = {"id": f"{kind}-{name}", "schema": SCHEMA, "gold": gold, "text": json.dumps(text)}
            path = pytester.path / f"{kind}-{name}.extract.yaml"
            path.write_text(json.dumps(case), encoding="utf-8")
    result = pytester.runpytest_subprocess("--extract-report=r.jsonl", timeout=100)
    result.assert_outcomes(failed=3, errors=3)
    result.stdout.fnmatch_lines(["*the gold does not satisfy its schema at *"])
    assert main(["check", str(pytester.path)]) == 1
    assert "3 good cases in 6 files" in capsys.readouterr().out
    (pytester.path / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (pytester.path / "gold.json").write_text(json.dumps(OUTPUTS["value"]), encoding="utf-8")
    assert main(["check", "--schema", str(pytester.path / "schema.json"), str(pytester.path / "gold.json")]) == 1


def test_a_pattern_that_is_refused_is_a_mistake_with_its_place(pytester, echo):
    case = {
        "schema": {"type": "object", "properties": {"a": {"pattern": "^[A-Z"}}},
        "gold": {"a": "bb"},
        "text": "{}",
    }
    (pytester.path / "a.extract.yaml").write_text(json.dumps(case, indent=1), encoding="utf-8")
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*a.extract.yaml:*/properties/a/pattern*is no regular expression: unterminated character set*"]
    )
