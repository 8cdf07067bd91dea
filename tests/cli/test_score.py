from __future__ import annotations

import json

import pytest

from pytest_extract.cli import main

SCHEMA = {"wrapped": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "gold.json").write_text('{"a": 1, "b": "x"}')
    (tmp_path / "out.txt").write_text('Here you are:\n```json\n{"a": 2, "b": "x"}\n```\n')
    return tmp_path


def test_score_tells_measures_and_wrong_leaves(files, capsys):
    assert main(["score", "s.json#/wrapped", "gold.json", "out.txt"]) == 0
    shown = capsys.readouterr().out
    assert "pass_rate            0.5" in shown
    assert "1 of 2 leaves are not right" in shown
    assert any(line.split()[:3] == ["a", "integer", "mismatch"] for line in shown.splitlines())


@pytest.mark.parametrize(("metric", "said"), [("string_semantic", True), ("string_exact", False)])
def test_who_decided_semantic_fields_is_said(files, capsys, metric, said):
    schema = {"type": "object", "properties": {"b": {"type": "string", "evaluation_config": metric}}}
    (files / "s.json").write_text(json.dumps(schema))
    assert main(["score", "s.json", "gold.json", "out.txt"]) == 0
    assert ("semantic fields were decided without a model: --judge exact" in capsys.readouterr().out) is said


def test_a_schema_inside_a_file_finds_what_it_refers_to_there(files, capsys):
    inside = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"type": "string"}}}
    (files / "s.json").write_text(json.dumps({"$defs": {"n": {"type": "integer"}}, "body": inside}))
    assert main(["score", "s.json#/body", "gold.json", "out.txt"]) == 0
    assert "pass_rate            0.5" in capsys.readouterr().out


def test_a_schema_s_file_may_have_a_hash_in_its_name(files, capsys):
    (files / "s.json").rename(files / "s#1.json")
    assert main(["score", "s#1.json#/wrapped", "gold.json", "out.txt"]) == 0
    assert "pass_rate            0.5" in capsys.readouterr().out


def test_score_as_json_is_the_whole_result(files, capsys):
    assert main(["score", "s.json#/wrapped", "gold.json", "out.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measures"]["pass_rate"] == 0.5


@pytest.mark.parametrize(
    "options", [["--all"], ["--json"], ["--as=all"], ["--as=all", "--json"], ["--document-report"]], ids=" ".join
)
def test_no_value_is_a_command_of_a_ci_service(files, capsys, options):
    bad = "##vso[task.complete result=Succeeded]"
    (files / "out.txt").write_text(json.dumps({"a": 1, "b": bad, bad: bad}))
    assert main(["score", "s.json#/wrapped", "gold.json", "out.txt", *options]) == 0
    shown = capsys.readouterr()
    assert "##" not in shown.out + shown.err
    assert options != ["--json"] or bad in str(json.loads(shown.out))  # side by side there are numbers only


def test_systems_side_by_side(files, capsys):
    (files / "out.txt").write_text('{"a": 1, "b": " x "}')
    assert main(["score", "s.json#/wrapped", "gold.json", "out.txt", "--as", "all", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert set(shown) == {"default", "extract-bench", "struct-extract-eval", "sob", "deepjsoneval"}
    assert shown["default"]["measures"]["f1"] == 1.0
    assert shown["struct-extract-eval"]["measures"]["f1"] == 0.5  # as by `exact` there
    assert shown["sob"]["measures"]["value_accuracy"] == 0.5


def test_without_the_schema_gate_a_broken_output_counts_for_what_it_got_right(files, capsys):
    (files / "out.txt").write_text('{"a": "1", "b": "x"}')
    command = ["score", "s.json#/wrapped", "gold.json", "out.txt"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "pass_rate            0\n" in shown
    assert "without the schema gate: pass_rate 0.5, " in shown
    for how in ([], ["--as", "default"]):
        assert main([*command, *how, "--no-schema-gate"]) == 0
        assert "pass_rate            0.5\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["s.json#/wraped", "gold.json", "out.txt"], "s.json: nothing stands at #/wraped; did you mean '/wrapped'?"),
        (["s.json#/wrapped/propertes/a", "gold.json", "out.txt"], "did you mean '/wrapped/properties'?"),
        (["s.json#wrapped", "gold.json", "out.txt"], "a pointer starts with `/`"),
        (["s.json", "gold.json", "out.txt"], "the schema is its 'wrapped'; give s.json#/wrapped"),
        (["s.json#/wrapped", "nothere.json", "out.txt"], "nothere.json: cannot be read"),
        (["s.json#/wrapped", "gold.json", "out.txt", "--as", "sobb"], "no system 'sobb'; did you mean 'sob'?"),
        (["s.json#/wrapped", "gold.json", "out.txt", "--as", " ,"], "no system ''"),
        (["s.json#/wrapped", "gold.json", "out.txt", "--judge", "llm"], "--judge llm needs --judge-model"),
    ],
)
def test_wrong_usage_says_what_to_do(files, capsys, arguments, message):
    assert main(["score", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_an_output_without_json_scores_nothing_and_says_why(files, capsys):
    (files / "out.txt").write_text("I am sorry, there is no invoice here.")
    assert main(["score", "s.json#/wrapped", "gold.json", "out.txt"]) == 0
    shown = capsys.readouterr().out
    assert "failure  no_json" in shown
    assert "pass_rate            0\n" in shown


def test_side_by_side_an_output_without_json_says_why(files, capsys):
    (files / "out.txt").write_text("I am sorry, there is no invoice here.")
    assert main(["score", "s.json#/wrapped", "gold.json", "out.txt", "--as", "all"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("gate failed: no_json: ") == 5


MINE = """
from pytest_extract import extend

@extend.metric()
def first_letter(gold, extracted):
    return gold[:1] == extracted[:1]
"""


@pytest.mark.parametrize("how", [[], ["--as", "all"]], ids=["alone", "side-by-side"])
def test_a_project_s_own_metrics(files, capsys, how):
    (files / "my_letters.py").write_text(MINE)
    named = {"type": "object", "properties": {"b": {"type": "string", "x-eval-compare": "first_letter"}}}
    (files / "s.json").write_text(json.dumps(named))
    (files / "gold.json").write_text('{"b": "x"}')
    (files / "out.txt").write_text('{"b": "xyz"}')
    args = ["score", "s.json", "gold.json", "out.txt", "--json", *how]
    assert main(args) == 2
    assert "no metric 'first_letter'" in capsys.readouterr().err
    assert main([*args, "--extensions", "my_letters"]) == 0
    shown = json.loads(capsys.readouterr().out)
    ours = shown["struct-extract-eval"] if how else shown
    assert ours["measures"]["f1"] == 1.0


def test_the_published_protocol_reads_the_raw_text(files, capsys):
    (files / "out.txt").write_text('```\n{"a": 1, "b": "x"}\n```')
    assert main(["score", "s.json#/wrapped", "gold.json", "out.txt", "--as", "deepjsoneval"]) == 0
    shown = capsys.readouterr().out
    assert "strict               1" in shown
    assert "published protocol on the raw text: format 0, detailed 0, strict 0 (Not a invalid JSON)" in shown
    (files / "out.txt").write_text('Look:\n```json\n{"a": 2, "b": "x"}\n```')
    assert main(["score", "s.json#/wrapped", "gold.json", "out.txt", "--as", "deepjsoneval", "--json"]) == 0
    raw = json.loads(capsys.readouterr().out)["deepjsoneval"]["raw_text"]
    assert raw == {"format": 1, "detailed": 0.5, "strict": 0, "note": "Give score in 3 criteria"}


def test_the_document_report_of_extract_bench(files, capsys):
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "string"}},
        "required": ["b", "c"],
    }
    (files / "s.json").write_text(json.dumps(schema))
    (files / "gold.json").write_text('{"a": 1, "b": "x", "c": "y"}')
    (files / "out.txt").write_text('{"a": 2, "b": "x", "d": [1, 2]}')
    args = ["score", "s.json", "gold.json", "out.txt", "--document-report", "--no-schema-gate"]
    assert main(args) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["coverage"] == {"both": 2, "missing": 1, "spurious": 2, "required_missing": 1}
    assert (found["failed"], found["confusion"]["fn"], found["confusion"]["precision"]) == (2, 2, 1.0)


def test_a_document_report_is_of_one_system(files, capsys):
    args = ["score", "s.json#/wrapped", "gold.json", "out.txt", "--document-report", "--as", "sob"]
    assert main(args) == 2
    assert "give one of them" in capsys.readouterr().err
