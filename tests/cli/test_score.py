"""`pytest-extract score`: one output against one gold."""

from __future__ import annotations

import pytest

from tests.commands import write

WRAPPED = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}


@pytest.fixture
def score(run):
    """Score an output against a gold, by the schema inside a file."""
    write({"s.json": {"wrapped": WRAPPED}, "gold.json": {"a": 1, "b": "x"}})
    write({"out.txt": 'Here you are:\n```json\n{"a": 2, "b": "x"}\n```\n'})

    def score(words="", schema="s.json#/wrapped", status=0):
        return run(f"score {schema} gold.json out.txt {words}", status=status)

    return score


def test_score_tells_measures_and_wrong_leaves(score):
    ended = score()
    assert "pass_rate 0.5" in ended.rows
    assert "1 of 2 leaves are not right" in ended.out
    assert any(row.startswith("a integer mismatch") for row in ended.rows)
    assert score("--json").json["measures"]["pass_rate"] == 0.5


@pytest.mark.parametrize(("metric", "said"), [("string_semantic", True), ("string_exact", False)])
def test_who_decided_semantic_fields_is_said(score, metric, said):
    write({"s.json": {"type": "object", "properties": {"b": {"type": "string", "evaluation_config": metric}}}})
    told = "semantic fields were decided without a model: --judge exact"
    assert (told in score(schema="s.json").out) is said


def test_a_schema_inside_a_file_finds_what_it_refers_to_there_whatever_the_name(score):
    inside = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"type": "string"}}}
    write({"s#1.json": {"$defs": {"n": {"type": "integer"}}, "body": inside}})
    assert "pass_rate 0.5" in score(schema="'s#1.json#/body'").rows


@pytest.mark.parametrize("options", ["--all", "--json", "--as=all", "--as=all --json", "--document-report"])
def test_no_value_is_a_command_of_a_ci_service(score, options):
    bad = "##vso[task.complete result=Succeeded]"
    write({"out.txt": {"a": 1, "b": bad, bad: bad}})
    ended = score(options)
    assert "##" not in ended.out + ended.err
    assert options != "--json" or bad in str(ended.json)  # side by side there are numbers only


def test_systems_side_by_side(score):
    write({"out.txt": '{"a": 1, "b": " x "}'})
    shown = score("--as all --json").json
    assert set(shown) == {"default", "extract-bench", "struct-extract-eval", "sob", "deepjsoneval"}
    measures = {name: one["measures"] for name, one in shown.items()}
    assert measures["default"]["f1"] == 1.0
    assert measures["struct-extract-eval"]["f1"] == 0.5  # as by `exact` there
    assert measures["sob"]["value_accuracy"] == 0.5


def test_without_the_schema_gate_a_broken_output_counts_for_what_it_got_right(score):
    write({"out.txt": '{"a": "1", "b": "x"}'})
    shown = score()
    assert "pass_rate 0" in shown.rows
    assert "without the schema gate: pass_rate 0.5, " in shown.out
    for how in ("", "--as default"):
        assert "pass_rate 0.5" in score(f"{how} --no-schema-gate").rows


@pytest.mark.parametrize(
    ("schema", "words", "message"),
    [
        ("s.json#/wraped", "", "s.json: nothing stands at #/wraped; did you mean '/wrapped'?"),
        ("s.json#/wrapped/propertes/a", "", "did you mean '/wrapped/properties'?"),
        ("s.json#wrapped", "", "a pointer starts with `/`"),
        ("s.json", "", "the schema is its 'wrapped'; give s.json#/wrapped"),
        ("nothere.json", "", "nothere.json: cannot be read"),
        ("s.json#/wrapped", "--as sobb", "no system 'sobb'; did you mean 'sob'?"),
        ("s.json#/wrapped", "--as ' ,'", "no system ''"),
        ("s.json#/wrapped", "--judge llm", "--judge llm needs --judge-model"),
        ("s.json#/wrapped", "--document-report --as sob", "give one of them"),
    ],
)
def test_wrong_usage_says_what_to_do(score, schema, words, message):
    assert message in score(words, schema, status=2).err


def test_an_output_without_json_scores_nothing_and_says_why(score):
    write({"out.txt": "I am sorry, there is no invoice here."})
    shown = score()
    assert "failure no_json" in "\n".join(shown.rows)
    assert "pass_rate 0" in shown.rows
    assert score("--as all").out.count("gate failed: no_json: ") == 5


@pytest.mark.parametrize("how", ["", "--as all"])
def test_a_project_s_own_metrics(score, how):
    code = "@extend.metric()\ndef first_letter(gold, extracted):\n    return gold[:1] == extracted[:1]\n"
    field = {"type": "string", "x-eval-compare": "first_letter"}
    write({"my_letters.py": f"from pytest_extract import extend\n{code}", "out.txt": '{"b": "xyz"}'})
    write({"s.json": {"type": "object", "properties": {"b": field}}, "gold.json": {"b": "x"}})
    assert "no metric 'first_letter'" in score(f"--json {how}", "s.json", status=2).err
    shown = score(f"--json {how} --extensions my_letters", "s.json").json
    assert (shown["struct-extract-eval"] if how else shown)["measures"]["f1"] == 1.0


def test_the_published_protocol_reads_the_raw_text(score):
    write({"out.txt": '```\n{"a": 1, "b": "x"}\n```'})
    shown = score("--as deepjsoneval")
    assert "strict 1" in shown.rows
    told = "published protocol on the raw text: format 0, detailed 0, strict 0 (Not a invalid JSON)"
    assert told in shown.out
    write({"out.txt": 'Look:\n```json\n{"a": 2, "b": "x"}\n```'})
    raw = score("--as deepjsoneval --json").json["deepjsoneval"]["raw_text"]
    assert raw == {"format": 1, "detailed": 0.5, "strict": 0, "note": "Give score in 3 criteria"}


def test_the_document_report_of_extract_bench(score):
    properties = {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "string"}}
    write({"s.json": {"type": "object", "properties": properties, "required": ["b", "c"]}})
    write({"gold.json": {"a": 1, "b": "x", "c": "y"}, "out.txt": '{"a": 2, "b": "x", "d": [1, 2]}'})
    found = score("--document-report --no-schema-gate", "s.json").json
    assert found["coverage"] == {"both": 2, "missing": 1, "spurious": 2, "required_missing": 1}
    assert (found["failed"], found["confusion"]["fn"], found["confusion"]["precision"]) == (2, 2, 1.0)
