"""One process, two workers and a run cut into shards give the same results and the same verdict."""

from __future__ import annotations

import json

import pytest

from pytest_extract.cli import main

CONFTEST = """
import json, os, pytest

@pytest.fixture(scope="session")
def extractor():
    def extract(document):
        gold = json.loads(document.text)
        wrong = int(os.environ.get("WRONG_BELOW", "0"))
        return {**gold, "total": -1} if gold["n"] < wrong else gold
    return extract
"""
CHANGING = {"duration_s", "latency_s"}


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in CHANGING}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def results(path):
    lines = [without_times(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    return sorted(lines, key=lambda line: line["nodeid"])


@pytest.fixture
def suite(pytester):
    pytester.makeconftest(CONFTEST)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "total": {"type": "number"}}}
    golds = [{"n": index, "total": index * 1.5} for index in range(24)]
    cases = [{"id": f"c{gold['n']:02}", "text": json.dumps(gold), "gold": gold} for gold in golds]
    for name, part in (("a", cases[:12]), ("b", cases[12:])):
        (pytester.path / f"{name}.extract.yaml").write_text(json.dumps({"defaults": {"schema": schema}, "cases": part}))
    return pytester


def test_results_and_verdict_are_the_same_however_the_run_is_cut(suite, monkeypatch, capsys):
    path = suite.path
    suite.runpytest("--extract-report=base.jsonl").assert_outcomes(passed=24)
    monkeypatch.setenv("WRONG_BELOW", "9")
    suite.runpytest("--extract-gate=none", "--extract-report=one.jsonl")
    suite.runpytest_subprocess("--extract-gate=none", "--extract-report=two.jsonl", "-n2")
    suite.runpytest("--extract-gate=none", "--extract-report=shard-a.jsonl", "a.extract.yaml")
    suite.runpytest("--extract-gate=none", "--extract-report=shard-b.jsonl", "b.extract.yaml")
    merged = [str(path / name) for name in ("shard-a.jsonl", "shard-b.jsonl")]
    assert main(["merge", *merged, "-o", str(path / "shards.jsonl")]) == 0

    assert results(path / "one.jsonl") == results(path / "two.jsonl") == results(path / "shards.jsonl")
    assert len(results(path / "one.jsonl")) == 24
    capsys.readouterr()
    verdicts = []
    for name in ("one.jsonl", "two.jsonl", "shards.jsonl"):
        status = main(["compare", str(path / "base.jsonl"), str(path / name), "--json"])
        record = json.loads(capsys.readouterr().out)
        record.pop("calls")  # how long a call took differs from run to run
        for case in record["comparison"]["variants"][0]["cases"]:
            case.pop("latency_s")
        verdicts.append((status, record))
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert verdicts[0][0] == 1  # worse
