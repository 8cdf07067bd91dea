"""Mistakes in case files: told at once, and the good cases still run. And mistakes of models: each kind is named."""

from __future__ import annotations

import pytest

from pytest_extract.core.values import iter_leaves
from pytest_extract.schema_tools.golds import infer_schema
from tests.plugin.conftest import GOLD, RED, STOPPED, plain_and_workers, results
from tests.single_mistakes import SINGLE_MISTAKES, documents_of

MIXED = """\
defaults:
  schema: {type: object, properties: {a: {type: string}}}
  gold: {a: x}
cases:
  - id: good
    text: '{"a": "x"}'
  - id: typo
    text: '{"a": "x"}'
    threshold: {pass_rate: 1}
  - id: bound
    text: '{"a": "x"}'
    thresholds: {pass_rate: 7}
"""


@pytest.fixture
def mixed(write_files, echo):
    write_files({"mixed.extract.yaml": MIXED})


@plain_and_workers
def test_mistakes_are_told_at_once_and_the_good_cases_still_run(mixed, run, workers):
    typo = "*mixed.extract.yaml:9:5: *'threshold'*did you mean 'thresholds'?"
    told = ["*ERROR collecting mixed.extract.yaml*", typo, "*mixed.extract.yaml:12:*: *"]
    run("-v", *workers, passed=1, errors=1, lines=told, status=RED)
    if not workers:
        run("mixed.extract.yaml::good", passed=1)
        run("-x", errors=1, status=STOPPED)


def test_a_file_without_a_good_case_is_one_error_and_other_files_run(pytester, write_case, write_files, run, echo):
    write_case("bad", schema="none.json")
    write_case("bound", repeat={"of": 2, "pass": 3})
    write_files({"acme.gold.json": {**GOLD, "total": "12.50"}, "worse.extract.yaml": "a: ["})
    write_case("gold", gold="acme.gold.json")
    write_case("good")
    told = ["*bad.extract.yaml:1:*none.json*", "*bound.extract.yaml:1:*repeat*", "*acme.gold.json:1:*total*"]
    told += ["*worse.extract.yaml:1:5: not YAML*"]
    run("--collect-only", errors=4, lines=told)
    run(passed=1, errors=4, lines=told)
    pytester.makepyfile(test_broken="import nowhere")  # a broken Python file still stops the run
    run(errors=5, status=STOPPED)


def test_last_failed_knows_mistakes(mixed, write_case, write_files, run):
    write_case("other")
    run(passed=2, errors=1)
    write_files({"mixed.extract.yaml": MIXED.replace("threshold:", "thresholds:")})
    run("--lf", "-v", lines=["*mixed.extract.yaml:12:*"])


def test_of_very_many_mistakes_the_first_are_told_and_the_rest_counted(write_files, run, echo):
    lines = '{"text": "{}", "gold": {}, "extra": 1}\n' * 150
    write_files({"many.extract.yaml": "dataset: records.jsonl\ndefaults: {schema: {}}\n", "records.jsonl": lines})
    for args, shown in (((), 100), (("-vv",), 150)):
        result = run(*args, errors=1)
        assert sum("unknown key 'extra'" in line for line in result.outlines) == shown
        more = "… and 50 more (-vv shows all, and so does `pytest-extract check`)"
        assert result.outlines.count(more) == (shown == 100)


def test_every_mistake_of_a_model_fails_its_case_and_is_named(pytester, write_extractor, write_files, write_suite, run):
    outputs, cases = {}, []
    for number, mistake in enumerate(SINGLE_MISTAKES):
        gold, outputs[f"c{number}"] = documents_of(mistake)
        text = "\n".join([*(str(value) for _, value in iter_leaves(gold)), mistake.text])
        cases.append({"text": text, "schema": infer_schema([gold]), "gold": gold, "gates": {"schema": False}})
    write_files({"outputs.json": outputs})
    write_extractor('return json.loads((HERE / "outputs.json").read_text(encoding="utf-8"))[case.id]', "case")
    write_suite(cases)
    swapped = "*field*swapped fields*mismatch*`net` and `gross` were swapped in 4 rows*"
    run("--extract-report=r.jsonl", failed=len(cases), lines=[swapped]).stdout.fnmatch_lines(["*kinds of mistakes: *"])
    named = {case.case_id: {each.kind for each in case.attempts[0].score.mistakes} for case in results(pytester)}
    wrong = [
        (mistake.what, mistake.kind, named[f"c{number}"])
        for number, mistake in enumerate(SINGLE_MISTAKES)
        if named[f"c{number}"] != {mistake.kind}
    ]
    assert wrong == []
    assert len(SINGLE_MISTAKES) >= 60
