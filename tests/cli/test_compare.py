"""`pytest-extract compare`: exit status, text, JSON, and mistakes."""

from __future__ import annotations

import re

import pytest

from pytest_extract.regression.baseline import update_baseline
from pytest_extract.results import dump_result, write_results
from tests.commands import write
from tests.regression.make import broken, prompt_changed, result, suite

GOOD = {"n": True, "m": True, "k": True}
BAD = GOOD | {"m": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    runs = {
        "good": suite(60, GOOD),
        "same": prompt_changed(suite(60, GOOD)),
        "bad": prompt_changed(suite(60, BAD)),
        "few": prompt_changed(suite(3, GOOD)),
        "out": [broken(f"c{number}") for number in range(60)],
        "one": [result("a", GOOD, tags={"kind": "x"})],
        "tagged": suite(3, GOOD, tags={"\x1bkind": "scan"}),
    }
    for name, results in runs.items():
        write_results(folder / f"{name}.jsonl", results)
    write_results(folder / "good.parquet", runs["good"])
    update_baseline(folder / "baseline.json", runs["good"])
    line = dump_result(result("a", GOOD))
    write({"odd.jsonl": '{"a": 1}\n{"a": 2}\n', "torn.jsonl": f"{line}\n{line[:50]}"}, folder)
    return folder


@pytest.fixture
def compare(run, folder):
    """Compare two of the runs, by their names, with options."""

    def compare(before, after, options=""):
        files = [folder / (name if "." in name else f"{name}.jsonl") for name in (before, after)]
        return run(f"compare {options}", *files)

    return compare


@pytest.mark.parametrize(
    ("before", "after", "options", "status"),
    [
        ("good", "same", "", 0),
        ("good", "good", "", 0),
        ("good.parquet", "good", "", 0),
        ("good", "good.parquet", "", 0),
        ("few", "few", "", 0),
        ("one", "one", "", 0),  # a results file of one line is no baseline
        ("few", "tagged", "--by \x1bkind", 0),
        ("good", "bad", "", 1),
        ("good", "bad", "--rule inconclusive=warn", 1),
        ("bad", "same", "", 0),
        ("good", "few", "", 3),
        ("good", "few", "--rule inconclusive=warn", 0),
        ("good", "few", "--rule inconclusive=fail", 1),
        ("good", "out", "--rule inconclusive=warn", 3),
        ("good", "same", "--rule margin=0.01", 3),
        ("good", "bad", "--rule measure=f1", 1),
        ("baseline.json", "same", "", 0),
        ("baseline.json", "bad", "--rule max_dead=60", 1),
    ],
)
def test_exit_status(compare, before, after, options, status):
    ended = compare(before, after, options)
    assert (ended.status, ended.err) == (status, "")
    assert re.search(r"^(PASS|UNDECIDED|WORSE)\. ", ended.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("before", "after", "options", "said"),
    [
        ("good", "none", "", "none.jsonl: cannot be read"),
        ("good", "odd", "", "odd.jsonl:1"),
        ("good", "baseline.json", "", "B must be a results file"),
        ("good", "same", "--rule max_dead=-1", "max_dead must be 0 or more"),
        ("good", "same", "--rule measure=pass_rat", "did you mean 'pass_rate'"),
        ("few", "tagged", "--by failure", "--by: no case has the tag 'failure'"),  # which splits values elsewhere
        ("few", "tagged", "--by domain", "--by: no case has the tag 'domain'; known: \\x1bkind, modality\n"),
    ],
)
def test_mistakes_are_usage_and_say_what_is_wrong(compare, before, after, options, said):
    compare(before, after, options).assert_refused(said)


def test_a_torn_last_line_is_told(compare):
    assert compare("torn", "torn").err.count("cut off") == 2


def test_json(compare):
    record = compare("good", "bad", "--json").json
    assert (record["answer"], record["shows"][0]["cases"]) == ("WORSE", 60)
    assert [case["kind"] for case in record["comparison"]["variants"][0]["cases"]] == ["fell"] * 60
