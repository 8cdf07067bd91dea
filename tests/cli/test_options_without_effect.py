"""Options of commands that would change nothing: refused by name, in place of being ignored."""

from __future__ import annotations

import json

import pytest

from pytest_extract.cli import main
from pytest_extract.results import write_results
from tests.core.aggregate.test_run import RUN

REFUSED = [
    ("report run.jsonl --auto-accept=0.9 --output=page.html", "--output has no effect with --auto-accept"),
    ("report run.jsonl --auto-accept=0.9 --by=depth", "--by has no effect with --auto-accept"),
    ("report run.jsonl --auto-accept=0.9 --calibration", "--calibration has no effect with --auto-accept"),
    ("report run.jsonl --calibration -o page.html", "--output has no effect with --calibration"),
    ("report run.jsonl -o page.html --json --samples=9", "--json and --samples have no effect with --output"),
    ("report run.jsonl --by=depth --samples=9", "--samples has no effect with --by"),
    ("report run.jsonl -o page.md --html-pages=all", "--html-pages has no effect without --output=FILE.html"),
    ("leaderboard run.jsonl --samples=9", "--samples has no effect without --as=sob"),
    ("leaderboard run.jsonl --modality=image", "--modality has no effect without --as=sob"),
    ("check --each --id-field=id", "--each and --id-field have no effect without --schema"),
    ("check gold.json --schema=schema.json --evidence --json", "--evidence and --json have no effect with --schema"),
    ("score schema.json gold.json gold.json --judge-model=m", "--judge-model has no effect without --judge=llm"),
    ("score schema.json gold.json gold.json --as=sob --all", "--all has no effect with --document-report or --as"),
    ("import sob run.jsonl here --copy", "--copy has no effect for sob"),
    ("import deepjsoneval run.jsonl here --modality=text", "--modality has no effect for deepjsoneval"),
    ("explain date --all", "--all has no effect beside names"),
    ("explain --markdown --extensions=conftest", "--extensions has no effect with --markdown"),
    ("agree verdicts.yaml --json", "--json has no effect on verdicts"),
    ("agree gold.json gold.json --schema=schema.json --min-kappa=0.8", "--min-kappa has no effect on golds"),
    ("review --list --open", "--open has no effect with --list"),
    ("review --terminal --port=80", "--port has no effect with --terminal"),
    ("draft one.extract.yaml --schema=schema.json", "--schema has no effect without documents"),
    ("schema resolve schema.json --from=openapi --published", "--published has no effect with --from"),
    ("schema infer collections:Counter --each", "--each has no effect for a class"),
]


@pytest.mark.parametrize(("command", "told"), REFUSED)
def test_an_option_that_would_change_nothing_is_refused(command, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_results(tmp_path / "run.jsonl", RUN)
    (tmp_path / "gold.json").write_text('{"a": 1}', encoding="utf-8")
    (tmp_path / "schema.json").write_text('{"type": "object"}', encoding="utf-8")
    (tmp_path / "one.extract.yaml").write_text("{text: a, schema: {}, gold: {}}", encoding="utf-8")

    assert main(command.split()) == 2
    assert told in capsys.readouterr().err


def test_golds_with_warnings_fail_a_strict_check(tmp_path, capsys):
    (tmp_path / "gold.json").write_text("{}", encoding="utf-8")
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "properties": {"a": {"type": "string"}}}', encoding="utf-8")
    command = ["check", str(tmp_path / "gold.json"), f"--schema={schema}"]

    assert (main(command), main([*command, "--strict"])) == (0, 1)
    assert "0 mistakes, 1 warning" in capsys.readouterr().out


def test_coverage_stands_in_the_json_of_a_check(tmp_path, capsys):
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    (tmp_path / "one.extract.yaml").write_text(
        json.dumps({"text": "x", "schema": schema, "gold": {"a": "x"}}), encoding="utf-8"
    )
    main(["check", str(tmp_path), "--coverage", "--json"])

    (coverage,) = [each for each in json.loads(capsys.readouterr().out) if each["kind"] == "coverage"]
    assert coverage["missing"] == {"a": ["absent"], "b": ["a value"]}
    assert 0 < coverage["share"] < 1
