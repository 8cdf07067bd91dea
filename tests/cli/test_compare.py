"""`pytest-extract compare`: exit status, text, JSON, and mistakes."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from pytest_extract.cli import main
from pytest_extract.core.case_result import Variant
from pytest_extract.regression.baseline import update_baseline
from pytest_extract.results import dump_result, write_results
from tests.regression.make import broken, prompt_changed, result, suite

GOOD = {"n": True, "m": True, "k": True}
BAD = GOOD | {"m": False}


@pytest.fixture
def files(tmp_path):
    runs = {
        "good": suite(60, GOOD),
        "same": prompt_changed(suite(60, GOOD)),
        "bad": prompt_changed(suite(60, BAD)),
        "few": prompt_changed(suite(3, GOOD)),
        "out": [broken(f"c{number}") for number in range(60)],
        "models": suite(12, GOOD, variant=Variant(model="a")) + suite(12, BAD, variant=Variant(model="b")),
    }
    for name, results in runs.items():
        write_results(tmp_path / f"{name}.jsonl", results)
    update_baseline(tmp_path / "baseline.json", runs["good"])
    return tmp_path


@pytest.mark.parametrize(
    ("before", "after", "options", "status"),
    [
        ("good.jsonl", "same.jsonl", [], 0),
        ("good.jsonl", "good.jsonl", [], 0),
        ("few.jsonl", "few.jsonl", [], 0),
        ("good.jsonl", "bad.jsonl", [], 1),
        ("good.jsonl", "bad.jsonl", ["--inconclusive", "pass"], 1),
        ("bad.jsonl", "same.jsonl", [], 0),
        ("good.jsonl", "few.jsonl", [], 3),
        ("good.jsonl", "few.jsonl", ["--inconclusive", "pass"], 0),
        ("good.jsonl", "few.jsonl", ["--inconclusive", "warn"], 0),
        ("good.jsonl", "few.jsonl", ["--inconclusive", "fail"], 1),
        ("good.jsonl", "out.jsonl", [], 3),
        ("good.jsonl", "out.jsonl", ["--inconclusive", "pass"], 3),
        ("good.jsonl", "same.jsonl", ["--rule", "margin=0.01"], 3),
        ("good.jsonl", "bad.jsonl", ["--rule", "measure=f1"], 1),
        ("baseline.json", "same.jsonl", [], 0),
        ("baseline.json", "bad.jsonl", [], 1),
        ("baseline.json", "bad.jsonl", ["--rule", "max_dead=60"], 1),
        ("models.jsonl", "models.jsonl", ["--before-variant", "a", "--after-variant", "b"], 1),
        ("models.jsonl", "models.jsonl", ["--before-variant", "b", "--after-variant", "a"], 0),
    ],
)
def test_exit_status(files, capsys, before, after, options, status):
    assert main(["compare", str(files / before), str(files / after), *options]) == status
    printed = capsys.readouterr()
    assert re.search(r"^(PASS|UNDECIDED|WORSE)\. ", printed.out, re.MULTILINE)
    assert printed.err == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["good.jsonl", "none.jsonl"], "none.jsonl: cannot be read"),
        (["good.jsonl", "baseline.json"], "B must be a results file"),
        (["good.jsonl", "same.jsonl", "--rule", "max_dead=-1"], "max_dead must be 0 or more"),
        (["good.jsonl", "same.jsonl", "--rule", "alpha=0"], "alpha must be"),
        (["good.jsonl", "same.jsonl", "--rule", "measure=pass_rat"], "did you mean 'pass_rate'"),
        (["models.jsonl", "models.jsonl", "--before-variant", "c"], "no variant 'c'"),
    ],
)
def test_mistakes_are_usage_and_say_what_is_wrong(files, capsys, arguments, said):
    paths = [str(files / name) for name in arguments[:2]]
    assert main(["compare", *paths, *arguments[2:]]) == 2
    assert said in capsys.readouterr().err


def test_a_tag_that_no_case_has_is_usage(files, capsys):
    tagged = [replace(each, tags={"\x1bkind": "scan"}) for each in suite(3, GOOD)]
    write_results(files / "tagged.jsonl", tagged)
    paths = [str(files / "few.jsonl"), str(files / "tagged.jsonl")]
    assert main(["compare", *paths, "--by", "\x1bkind"]) == 0
    assert main(["compare", *paths, "--by", "failure"]) == 2
    assert "--by: no case has the tag 'failure'" in capsys.readouterr().err
    assert main(["compare", *paths, "--by", "domain"]) == 2
    assert "--by: no case has the tag 'domain'; known: \\x1bkind, modality\n" in capsys.readouterr().err


def test_a_file_that_holds_no_results_is_usage(files, capsys):
    (files / "odd.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    assert main(["compare", str(files / "good.jsonl"), str(files / "odd.jsonl")]) == 2
    assert "odd.jsonl:1" in capsys.readouterr().err


def test_a_torn_last_line_is_told(files, capsys):
    line = dump_result(result("a", GOOD))
    (files / "torn.jsonl").write_text(f"{line}\n{line[:50]}")
    assert main(["compare", str(files / "torn.jsonl"), str(files / "torn.jsonl")]) == 0
    assert capsys.readouterr().err.count("cut off") == 2


def test_json(files, capsys):
    assert main(["compare", str(files / "good.jsonl"), str(files / "bad.jsonl"), "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["answer"] == "WORSE"
    assert record["shows"][0]["cases"] == 60
    assert [case["kind"] for case in record["comparison"]["variants"][0]["cases"]] == ["fell"] * 60


def test_a_results_file_of_one_line_is_no_baseline(files, capsys):
    one = [replace(result("a", GOOD), tags={"kind": "x"})]
    write_results(files / "one.jsonl", one)
    assert main(["compare", str(files / "one.jsonl"), str(files / "one.jsonl")]) == 0
    assert "\nPASS. " in capsys.readouterr().out
