"""Schema coverage: the states of a schema that no gold has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.cli import main
from pytest_extract.golds.lint import SchemaCoverage, schema_coverage

SCHEMA = {
    "type": "object",
    "required": ["vendor"],
    "properties": {
        "vendor": {"type": "string"},
        "currency": {"enum": ["EUR", "USD", None]},
        "paid": {"type": "boolean"},
        "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
        "party": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"name": {"type": "string"}}}]},
        "meta": {"type": "object", "properties": {"page": {"type": "integer"}}},
        "node": {"$ref": "#/$defs/node"},
    },
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
}


def covered(tmp_path: Path, *golds: object, schema: object = SCHEMA) -> SchemaCoverage:
    cases = [{"id": f"c{number}", "text": "x", "schema": schema, "gold": gold} for number, gold in enumerate(golds)]
    (tmp_path / "a.extract.yaml").write_text(json.dumps({"cases": cases}), encoding="utf-8")
    loaded = load_cases(tmp_path / "a.extract.yaml", SchemaCache())
    assert loaded.errors == ()
    (found,) = schema_coverage(loaded.cases)
    return found


def test_what_no_gold_has_is_missing(tmp_path: Path) -> None:
    gold = {"vendor": "A", "currency": "EUR", "paid": True, "items": [{"sku": "x"}, {}], "party": "B"}
    missing = covered(tmp_path, gold).missing
    assert missing.pop("node") == ["a value"]
    assert missing == {
        "currency": ["absent", '"USD"'],
        "paid": ["absent", "false"],
        "items": ["absent", "empty"],
        "party": ["absent", "alternative 2 of 2"],
        "party.name": ["a value", "absent"],
        "meta": ["a value"],
    }


def test_further_golds_cover_more_until_nothing_is_missing(tmp_path: Path) -> None:
    schema = {**SCHEMA, "properties": {name: part for name, part in SCHEMA["properties"].items() if name != "node"}}
    full = {
        "vendor": "A",
        "currency": "EUR",
        "paid": True,
        "items": [{"sku": "x"}, {}],
        "party": "B",
        "meta": {"page": 1},
    }
    golds = [full, {"vendor": "B", "currency": "USD", "paid": False, "items": [], "party": {"name": "C"}, "meta": {}}]
    shares = [covered(tmp_path, *golds[:count], schema=schema).share for count in (1, 2)]
    last = covered(tmp_path, *golds, {"vendor": "C"}, {"vendor": "D", "party": {}}, schema=schema)
    assert shares == sorted(shares)
    assert (last.share, last.missing, last.golds) == (1.0, {}, 4)


def test_a_skipped_field_has_no_states(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "x-eval-skip": True},
            "b": {"type": "string", "x-eval-compare": "exact"},
        },
    }
    assert {state.pattern for state in covered(tmp_path, {"b": "x"}, schema=schema).states} == {"b"}


def test_check_lists_coverage_and_fails_below_a_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    case = {"text": "x", "schema": "s.json", "gold": {"a": "EUR"}}
    Path("s.json").write_text('{"type": "object", "properties": {"a": {"enum": ["EUR", "USD"]}}}')
    Path("a.extract.yaml").write_text(json.dumps(case))
    assert main(["check", "--coverage"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "schema coverage: s.json 50 % (2 of 4 states, 1 gold)",
        '  a: never absent, "USD"',
        "1 good case in 1 file, no mistake",
    ]
    assert main(["check", "--coverage=0.5"]) == 0
    assert main(["check", "--coverage=0.6"]) == 1
    assert "schema coverage: s.json 50 % (2 of 4 states, 1 gold, below 0.6)" in capsys.readouterr().out
    assert main(["check", "--coverage=60"]) == 2
    assert main(["check"]) == 0
    assert "schema coverage" not in capsys.readouterr().out
