"""`pytest-extract merge`: shards into one file, with the same verdict."""

from __future__ import annotations

import json

import pytest

from pytest_extract.cli import main
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.results import dump_result, read_results, write_results
from tests.regression.make import not_run, prompt_changed, result, suite

GOOD = {"n": True, "m": True}


@pytest.fixture
def shards(tmp_path):
    results = prompt_changed(suite(12, GOOD | {"m": False}))
    write_results(tmp_path / "base.jsonl", suite(12, GOOD))
    write_results(tmp_path / "whole.jsonl", results)
    for index in range(3):
        write_results(tmp_path / f"{index}.jsonl", results[index::3])
    return tmp_path


def test_merged_shards_hold_the_results_and_the_verdict_of_the_whole_run(shards, capsys):
    merged = shards / "merged.jsonl"
    assert main(["merge", *(str(shards / f"{index}.jsonl") for index in range(3)), "-o", str(merged)]) == 0
    assert "12 results of 3 files" in capsys.readouterr().err
    whole = read_results(shards / "whole.jsonl").results
    assert snapshot(read_results(merged).results) == snapshot(whole)
    verdicts = []
    for name in ("whole.jsonl", "merged.jsonl"):
        assert main(["compare", "--json", str(shards / "base.jsonl"), str(shards / name)]) == 1
        verdicts.append(json.loads(capsys.readouterr().out))
    assert verdicts[0] == verdicts[1]


def test_without_an_output_file_it_prints_the_lines(shards, capsys):
    assert main(["merge", str(shards / "0.jsonl")]) == 0
    assert capsys.readouterr().out == (shards / "0.jsonl").read_text()


def test_a_case_that_one_shard_did_not_run_is_taken_from_the_other(shards, capsys):
    write_results(shards / "x.jsonl", [not_run("c0")])
    out = shards / "out.jsonl"
    assert main(["merge", str(shards / "x.jsonl"), str(shards / "whole.jsonl"), "-o", str(out)]) == 0
    assert "got further" in capsys.readouterr().err
    assert len(read_results(out).results) == 12


def test_a_conflict_writes_nothing_unless_told_which_to_take(shards, capsys):
    write_results(shards / "x.jsonl", [result("c0", GOOD)])
    out = shards / "out.jsonl"
    arguments = ["merge", str(shards / "whole.jsonl"), str(shards / "x.jsonl"), "-o", str(out)]
    assert main(arguments) == 1
    assert not out.exists()
    assert "::c0: " in capsys.readouterr().err
    assert main([*arguments, "--take-later"]) == 0
    assert next(one for one in read_results(out).results if one.case_id == "c0").outcome == "passed"


def test_a_torn_last_line_is_told(shards, capsys):
    line = dump_result(result("z", GOOD))
    (shards / "torn.jsonl").write_text(f"{line}\n{line[:99]}")
    assert main(["merge", str(shards / "torn.jsonl"), "-o", str(shards / "out.jsonl")]) == 0
    assert "cut off" in capsys.readouterr().err


def test_a_missing_shard_is_usage(shards, capsys):
    assert main(["merge", str(shards / "none.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err
