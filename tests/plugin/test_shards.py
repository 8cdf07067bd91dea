"""One process, two workers and a run cut into shards give the same results and the same verdict."""

import json

import pytest

from pytest_extract.cli import main
from tests.plugin.conftest import text_of

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "total": {"type": "number"}}}
BODY = """
gold = json.loads(document.text)
return {**gold, "total": -1} if gold["n"] < int(os.environ.get("WRONG_BELOW", "0")) else gold
"""


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in {"duration_s", "latency_s"}}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def test_results_and_verdict_are_the_same_however_the_run_is_cut(
    pytester, write_extractor, write_suite, monkeypatch, capsys
):
    write_extractor(BODY)
    cases = [{"id": f"c{number:02}", "gold": {"n": number, "total": number * 1.5}} for number in range(24)]
    write_suite(cases[:12], "a", schema=SCHEMA)
    write_suite(cases[12:], "b", schema=SCHEMA)
    pytester.runpytest("--extract-report=base.jsonl").assert_outcomes(passed=24)
    monkeypatch.setenv("WRONG_BELOW", "9")
    runs = {"one": [], "two": ["-n2"], "shard-a": ["a.extract.yaml"], "shard-b": ["b.extract.yaml"]}
    for name, args in runs.items():
        run = pytester.runpytest_subprocess if name == "two" else pytester.runpytest
        run("--extract-gate=none", f"--extract-report={name}.jsonl", *args)
    assert main(["merge", "shard-a.jsonl", "shard-b.jsonl", "-o", "shards.jsonl"]) == 0
    capsys.readouterr()

    found, verdicts = [], []
    for name in ("one.jsonl", "two.jsonl", "shards.jsonl"):
        lines = [without_times(json.loads(line)) for line in text_of(pytester, name).splitlines()]
        found.append(sorted(lines, key=lambda line: line["nodeid"]))
        status = main(["compare", "base.jsonl", name, "--json"])
        record = json.loads(capsys.readouterr().out)
        record.pop("calls")  # how long a call took differs from run to run
        verdicts.append((status, without_times(record)))
    assert len(found[0]) == 24
    assert found[0] == found[1] == found[2]
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert verdicts[0][0] == pytest.ExitCode.TESTS_FAILED  # worse
